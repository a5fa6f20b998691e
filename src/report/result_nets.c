// SPDX-License-Identifier: MIT
//
// Accuracies and confusion matrices of the nets of contact patches as JSON.

#include "report/result_nets.h"

#include "io/atomic_file.h"
#include "io/file.h"

#include <jansson.h>
#include <stdlib.h>

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
        json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:f, s:o, s:f, s:f}", "kind",
                                              k ? "line" : "point", "train", s->n_train, "test",
                                              s->n_test, "accuracy", s->accuracy, "confusion",
                                              confusion(s), "friction", s->friction, "impulse_pdd",
                                              r->pdd[k].impulse));
    }
    return list;
}

cr_status cri_result_nets(const char *path, const cri_nets_result *r, cr_error *err) {
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:f}", "system", "augmented", "scene",
                             r->scene, "law", r->law, "body", r->nets->body, "surface",
                             r->nets->surface, "kinds", kinds(r), "seconds", r->seconds);
    char *dump = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    if (!dump) {
        return cri_file_fail_memory(err, path);
    }
    cri_atomic_file file;
    cr_status status = cri_atomic_open(path, &file, err);
    if (status == CR_OK) {
        // a failed write is seen at commit
        fprintf(file.stream, "%s\n", dump);
        status = cri_atomic_commit(&file, err);
    }
    free(dump);
    return status;
}
