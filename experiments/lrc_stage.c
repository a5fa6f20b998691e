// SPDX-License-Identifier: MIT

#include "lrc_stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

cr_status lrc_text_open(lrc_text *text, cr_error *err) {
    *text = (lrc_text){.at = malloc(LRC_TEXT_BYTES)};
    return text->at ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

void lrc_text_close(lrc_text *text) {
    free(text->at);
    text->at = NULL;
}

void lrc_put(lrc_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->at + text->used, LRC_TEXT_BYTES - text->used, format, args);
    va_end(args);
    CR_ASSERT(n >= 0 && text->used + (size_t)n < LRC_TEXT_BYTES);
    text->used += (size_t)n;
}

cr_status lrc_stage_open(const lrc_text *text, const char *law, lrc_stage *out, cr_error *err) {
    *out = (lrc_stage){0};
    CR_TRY(cr_model_parse(text->at, text->used, "scene", &out->model, err));
    cr_sim_options options = cr_sim_options_default(out->model);
    options.law = law;
    CR_TRY(cr_sim_create(out->model, &options, &out->sim, err));
    out->z = cr_model_sizes(out->model);
    out->x = calloc((size_t)out->z.n_x, sizeof *out->x);
    if (!out->x) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    cr_model_defaults(out->model, -1, NULL, out->x, NULL);
    return CR_OK;
}

void lrc_stage_close(lrc_stage *stage) {
    cr_sim_destroy(stage->sim);
    cr_model_destroy(stage->model);
    free(stage->x);
    *stage = (lrc_stage){0};
}
