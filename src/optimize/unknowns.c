// SPDX-License-Identifier: MIT
//
// The unknowns of a fit behind the variables of a selection.
//
//   q = q_start exp(theta)      body-frame tangent of q for a change of theta: Jr(theta) dtheta

#include "optimize/unknowns.h"

#include "base/math/quat.h"
#include "model/model.h"

#include <string.h>

static bool is_own(const cri_variable *variable) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector != CR_VECTOR_X) {
            return false;
        }
    }
    return true;
}

/// The variable that stands for entry i of x alone, -1: none.
static int find_single(const cri_selection *selection, int i) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        bool is_single = variable->n_place == 1 && variable->place[0].vector == CR_VECTOR_X;
        if (is_single && variable->place[0].index == i) {
            return j;
        }
    }
    return -1;
}

/// Is variable j part of a quaternion that is selected whole?
static bool find_turn(const cri_selection *selection, int j, cri_turn *out) {
    const cri_variable *variable = &selection->variable[j];
    int index = variable->place[0].index;
    if (variable->n_place != 1 || index >= selection->sizes.n_q) {
        return false;
    }
    cri_entry entry = cri_model_q_entry(selection->model, index);
    *out = (cri_turn){.quat = entry.quat, .theta = entry.theta};
    for (int k = 0; k < 4 && entry.quat >= 0; k++) {
        out->variable[k] = find_single(selection, entry.quat + k);
        if (out->variable[k] < 0) {
            return false;
        }
    }
    return entry.quat >= 0;
}

static void add_own(cri_unknowns *out, int j) {
    out->own_variable[out->n_own_variable++] = j;
    cri_turn turn;
    if (!find_turn(out->selection, j, &turn)) {
        out->own[out->n_own++] = j;
    } else if (cri_unknowns_find_turn(out, j) < 0) {
        turn.own = out->n_own;
        out->turn[out->n_turn++] = turn;
        for (int k = 0; k < 3; k++) {
            out->own[out->n_own++] = -1;
        }
    }
}

cr_status cri_unknowns_push(const cri_selection *selection, cr_arena *arena, cri_unknowns *out,
                            cr_error *err) {
    int n = selection->n_variable;
    cri_unknowns unknowns = {.selection = selection};
    unknowns.shared = CR_PUSH(arena, int, n);
    unknowns.own = CR_PUSH(arena, int, n);
    unknowns.own_variable = CR_PUSH(arena, int, n);
    unknowns.turn = CR_PUSH(arena, cri_turn, n / 4 + 1);
    if (!unknowns.shared || !unknowns.own || !unknowns.own_variable || !unknowns.turn) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d unknowns", n);
    }
    for (int j = 0; j < n; j++) {
        if (is_own(&selection->variable[j])) {
            add_own(&unknowns, j);
        } else {
            unknowns.shared[unknowns.n_shared++] = j;
        }
    }
    *out = unknowns;
    return CR_OK;
}

int cri_unknowns_find(const cri_unknowns *unknowns, int variable) {
    for (int i = 0; i < unknowns->n_own; i++) {
        if (unknowns->own[i] == variable) {
            return i;
        }
    }
    return -1;
}

int cri_unknowns_find_turn(const cri_unknowns *unknowns, int variable) {
    for (int t = 0; t < unknowns->n_turn; t++) {
        for (int k = 0; k < 4; k++) {
            if (unknowns->turn[t].variable[k] == variable) {
                return t;
            }
        }
    }
    return -1;
}

void cri_unknowns_read(const cri_unknowns *unknowns, const cri_point *point, double *shared,
                       double *own) {
    for (int i = 0; i < unknowns->n_shared; i++) {
        shared[i] = cri_selection_value(unknowns->selection, unknowns->shared[i], point);
    }
    for (int i = 0; i < unknowns->n_own; i++) {
        int variable = unknowns->own[i];
        own[i] = variable < 0 ? 0.0 : cri_selection_value(unknowns->selection, variable, point);
    }
}

void cri_unknowns_write(const cri_unknowns *unknowns, const double *shared, const double *own,
                        const double *base, cri_point *point) {
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_selection_put(unknowns->selection, unknowns->shared[i], shared[i], point);
    }
    for (int i = 0; i < unknowns->n_own; i++) {
        if (unknowns->own[i] >= 0) {
            cri_selection_put(unknowns->selection, unknowns->own[i], own[i], point);
        }
    }
    for (int t = 0; t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        cri_quat q = cri_quat_normalise(cri_q4_load(base + 4 * t));
        cri_quat by = cri_quat_exp(cri_v3_load(own + turn->own));
        cri_q4_store(cri_quat_normalise(cri_quat_mul(q, by)), point->x0 + turn->quat);
    }
}

// ---- tangents ----------------------------------------------------------------------------------

void cri_unknowns_p_tan(const cri_unknowns *unknowns, double *p_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_p = (size_t)selection->sizes.n_p;
    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    memset(p_tan, 0, n * n_p * sizeof *p_tan);
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_variable_p_tan(&selection->variable[unknowns->shared[i]], p_tan + (size_t)i * n_p);
    }
}

void cri_unknowns_u_tan(const cri_unknowns *unknowns, int step, double *u_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_u = (size_t)selection->sizes.n_u;
    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    memset(u_tan, 0, n * n_u * sizeof *u_tan);
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_variable_u_tan(&selection->variable[unknowns->shared[i]], step,
                           u_tan + (size_t)i * n_u);
    }
}

void cri_unknowns_x0_tan(const cri_unknowns *unknowns, const double *own, const double *x0,
                         double *x0_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_tangent = (size_t)selection->sizes.n_tangent;
    int n_shared = unknowns->n_shared;
    memset(x0_tan, 0, (size_t)(n_shared + unknowns->n_own) * n_tangent * sizeof *x0_tan);
    for (int i = 0; i < n_shared + unknowns->n_own; i++) {
        int variable = i < n_shared ? unknowns->shared[i] : unknowns->own[i - n_shared];
        if (variable >= 0) {
            cri_variable_x0_tan(&selection->variable[variable], selection->model, x0,
                                x0_tan + (size_t)i * n_tangent);
        }
    }
    for (int t = 0; t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        cri_so3 by = cri_so3_of(cri_v3_load(own + turn->own));
        for (int a = 0; a < 3; a++) {
            cri_vec3 axis = {a == 0 ? 1.0 : 0.0, a == 1 ? 1.0 : 0.0, a == 2 ? 1.0 : 0.0};
            double *row = x0_tan + (size_t)(n_shared + turn->own + a) * n_tangent;
            cri_v3_accumulate(cri_so3_right(&by, axis), row + turn->theta);
        }
    }
}
