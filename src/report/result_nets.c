// SPDX-License-Identifier: MIT
//
// Accuracies and confusion matrices of the nets of contact patches as JSON.

#include "report/result_nets.h"

#include "base/io/json_file.h"

static json_t *confusion(const cri_augmented_score *s) {
    json_t *rows = json_array();
    for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
        const int *n = s->confusion[i];
        json_array_append_new(rows, json_pack("[i, i, i]", n[0], n[1], n[2]));
    }
    return rows;
}

static json_t *kinds(const cri_nets_result *r) {
    json_t *list = json_array();
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &r->score[k];
        if (!cri_ground_has(r->nets->is_spatial, k)) {
            continue;
        }
        json_t *spin = r->sampling ? json_real(r->sampling->spin[k]) : json_null();
        json_array_append_new(list, json_pack("{s:s, s:o, s:i, s:i, s:f, s:o, s:f, s:f}", "kind",
                                              cri_ground_kind_name(k), "spin", spin, "train",
                                              s->n_train, "test", s->n_test, "accuracy",
                                              s->accuracy, "confusion", confusion(s), "friction",
                                              s->friction, "impulse_pdd", r->pdd[k].impulse));
    }
    return list;
}

// ranges of speeds, m/s
static json_t *sampling(const cri_ground_sampling *of) {
    return of ? json_pack("{s:f, s:f, s:f}", "along", of->along, "closing", of->closing, "opening",
                          of->opening)
              : json_null();
}

cr_status cri_result_nets(const char *path, const cri_nets_result *r, cr_error *err) {
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:f}", "system", "augmented", "scene",
                  r->scene, "law", r->law, "body", r->nets->body, "surface", r->nets->surface,
                  "sampling", sampling(r->sampling), "kinds", kinds(r), "seconds", r->seconds);
    return cri_json_write(path, root, true, JSON_INDENT(2), err);
}
