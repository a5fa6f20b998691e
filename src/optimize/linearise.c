// SPDX-License-Identifier: MIT
//
// A step as a linear map of small changes: a column of A or B is the tangent of one unit change.

#include "optimize/linearise.h"

#include <stdio.h>
#include <string.h>

cr_status cri_linearise(const cr_model *model, cr_sim *sim, double dt, const double *x,
                        const double *u, cr_arena *arena, cri_linearisation *out, cr_error *err) {
    cr_sizes sizes = cr_model_sizes(model);
    size_t n = (size_t)sizes.n_tangent;
    size_t n_u = (size_t)sizes.n_u;
    size_t n_seed = n + n_u;
    *out = (cri_linearisation){.n = sizes.n_tangent, .n_u = sizes.n_u};
    out->A = CR_PUSH(arena, double, n *n);
    out->B = CR_PUSH(arena, double, n *n_u);
    out->x_next = CR_PUSH(arena, double, sizes.n_x);
    double *x_tan = CR_PUSH(arena, double, n_seed *n);
    double *u_tan = CR_PUSH(arena, double, n_seed *n_u);
    if (!out->A || !out->B || !out->x_next || !x_tan || !u_tan) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a Jacobian of %zu columns", n_seed);
    }
    for (size_t s = 0; s < n_seed; s++) {
        *(s < n ? &x_tan[s * n + s] : &u_tan[s * n_u + s - n]) = 1.0;
    }
    CR_TRY(cr_sim_step(sim, dt, x, u, out->x_next, err));
    out->grad = cr_sim_report(sim)->grad;
    CR_TRY(cr_sim_step_jac(sim, (int)n_seed, x_tan, u_tan, NULL, x_tan, err));
    for (size_t s = 0; s < n_seed; s++) {
        for (size_t i = 0; i < n; i++) {
            *(s < n ? &out->A[i * n + s] : &out->B[i * n_u + s - n]) = x_tan[s * n + i];
        }
    }
    return CR_OK;
}

void cri_tangent_name(const cr_model *model, int i, char *text, size_t n_byte) {
    cr_sizes sizes = cr_model_sizes(model);
    CR_ASSERT(i >= 0 && i < sizes.n_tangent);
    const char *name = cr_model_name(model, CR_VECTOR_X, sizes.n_q + i % sizes.n_v);
    const char *part = strstr(name, "/qvel");
    CR_ASSERT(part);
    if (i >= sizes.n_v) {
        snprintf(text, n_byte, "%s", name);
    } else {
        snprintf(text, n_byte, "%.*s/dq%s", (int)(part - name), name, part + strlen("/qvel"));
    }
}
