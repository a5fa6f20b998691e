// SPDX-License-Identifier: MIT
//
// Motions as CSV. A failed write shows when the file is committed.

#include "report/trajectory.h"

void cri_trajectory_header(cri_atomic_file *file, const cr_model *model) {
    fputs("t", file->stream);
    for (int i = 0; i < cr_model_sizes(model).n_x; i++) {
        fprintf(file->stream, ",%s", cr_model_name(model, CR_VECTOR_X, i));
    }
    fputc('\n', file->stream);
}

void cri_trajectory_row(cri_atomic_file *file, int n_x, double t, const double *x) {
    fprintf(file->stream, "%.12g", t);
    for (int i = 0; i < n_x; i++) {
        fprintf(file->stream, ",%.17g", x[i]);
    }
    fputc('\n', file->stream);
}
