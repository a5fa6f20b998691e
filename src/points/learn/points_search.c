// SPDX-License-Identifier: MIT
//
// Coefficients that a descent cannot find. Friction of a contact that sticks in the model has no
// slope, nor has a restitution that the target velocity hides, although another value would slide
// or bounce as the data do. So each is looked for among values over its whole range, on the windows
// in which its contact acts.

#include "points/learn/points_finish_parts.h"

#include <math.h>
#include <string.h>

enum { N_VALUE = 20 };

static const double friction_most = 2.0; // that is looked for

// does a contact of the class act in the window, by the data?
static bool has_class(const cri_finish *f, int b, int class) {
    const cri_points_scene *sc = f->l->scene;
    const double *x = f->data->x + (size_t)b * CRI_WINDOW_STATES * (size_t)f->data->n_x;
    for (int i = 0; i < sc->n_touch; i++) {
        for (int t = 1; t < CRI_WINDOW_STATES && sc->touch[i].coefficient == class; t++) {
            if (cri_points_gap(&sc->s, &sc->touch[i], x + t * f->data->n_x) < 0.0) {
                return true;
            }
        }
    }
    return false;
}

// the best of w_i and values over its range
static cri_pass_end search_number(cri_finish *f, double *w, int i, int n, const int *window,
                                  bool *has_changed) {
    bool is_mu = i < f->l->scene->law.i_e;
    double least, best = w[i], sum;
    cri_pass_end end = cri_finish_sum(f, w, n, window, (double)INFINITY, &least);
    memcpy(f->w_trial, w, sizeof *w * (size_t)f->l->n_w);
    for (int k = 0; k <= N_VALUE && end == CRI_PASS_DONE; k++) {
        double share = (double)k / N_VALUE;
        f->w_trial[i] = is_mu ? friction_most * share : 6.0 * share - 3.0;
        end = cri_finish_sum(f, f->w_trial, n, window, least, &sum);
        if (end == CRI_PASS_DONE && sum < least) {
            least = sum;
            best = f->w_trial[i];
            *has_changed = true;
        }
    }
    w[i] = best;
    return end;
}

cri_pass_end cri_finish_search(cri_finish *f, double *w, bool *has_changed) {
    const cri_points_scene *sc = f->l->scene;
    cri_pass_end end = CRI_PASS_DONE;
    *has_changed = false;
    for (int class = 0; class < sc->n_coefficient && end == CRI_PASS_DONE; class ++) {
        int n = 0;
        for (int b = 0; b < f->data->n; b++) {
            if (has_class(f, b, class)) {
                f->window[n++] = b;
            }
        }
        end = search_number(f, w, sc->law.i_mu + class, n, f->window, has_changed);
        if (end == CRI_PASS_DONE) {
            end = search_number(f, w, sc->law.i_e + class, n, f->window, has_changed);
        }
    }
    return end;
}
