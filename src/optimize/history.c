// SPDX-License-Identifier: MIT
//
// Losses of the iterations of a fit.

#include "optimize/history.h"

void cri_history_keep(cri_fit_history *history, long long i, double value) {
    if (i <= history->last) {
        return;
    }
    history->last = i;
    if (i % history->every == 0 && history->n == CRI_HISTORY_LIMIT) {
        history->n /= 2;
        history->every *= 2;
        for (int k = 0; k < history->n; k++) {
            history->value[k] = history->value[2 * k + 1];
        }
    }
    if (i % history->every == 0) {
        history->value[history->n++] = value;
    }
}
