// SPDX-License-Identifier: MIT
//
// Scenes that the experiments of paper 002 write themselves, and a run of them.

#pragma once

#include "experiment.h"

#include "base/base.h"
#include "carom/carom.h"

enum { LRC_TEXT_BYTES = 1 << 17 };

/// A text in the making.
typedef struct lrc_text {
    char *at; // (LRC_TEXT_BYTES), owned
    size_t used;
} lrc_text;

CR_MUST_CHECK cr_status lrc_text_open(lrc_text *text, cr_error *err);
void lrc_text_close(lrc_text *text);
void lrc_put(lrc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// A scene under a law, and its state, first the default one.
typedef struct lrc_stage {
    cr_model *model;
    cr_sim *sim;
    cr_sizes z;
    double *x; // (n_x)
} lrc_stage;

/// Release with lrc_stage_close, also after a failure.
CR_MUST_CHECK cr_status lrc_stage_open(const lrc_text *text, const char *law, lrc_stage *out,
                                       cr_error *err);
void lrc_stage_close(lrc_stage *stage);
