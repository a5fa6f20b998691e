// SPDX-License-Identifier: MIT
//
// Equalities against MuJoCo: their residuals and Jacobians, row by row.
//
// They are soft springs there and hard here, and MuJoCo has no rate of the Jacobian, so that their
// accelerations cannot be compared. Points, joints and tendons have the same rows in both. For the
// orientation of a weld MuJoCo takes, with e = q1* q0 q_rel and the factor t = torquescale,
//
//   residual vec(e)        rows  t/2 (e_0 - [vec e]x) R1^T (w0 - w1)
//
// and Carom residual 2 vec(q0 q_rel q1*) = 2 R1 vec(e), turned to e_0 >= 0, and rows w0 - w1.

#include <stdlib.h>

#include "dynamics/tree_parts.h"
#include "mujoco_both.h"
#include "support/cr_test.h"

// unit of row i of MuJoCo's Jacobian
static int unit_of_row(const both *s, int row) {
    const double *J = s->d->efc_J + (size_t)row * (size_t)s->m->nv;
    for (int i = 0; i < s->mech->n_unit; i++) {
        const cri_unit *unit = &s->mech->unit[i];
        if (mju_norm(J + unit->first_v, unit->n_v) > 0.0) {
            return i;
        }
    }
    return -1;
}

// Carom's residual and rows (n, 1 + n_v) of an equality, those of a weld in MuJoCo's form
static void rows_of(const both *s, const cri_tree *tree, int i, int eq, int n, double *out) {
    const cri_tree_tie *tie = tree->tie + i;
    int n_v = s->m->nv;
    double r[6] = {tie->apart.x, tie->apart.y, tie->apart.z, tie->turn.x, tie->turn.y, tie->turn.z};
    for (int k = 0; k < n; k++) {
        out[k * (1 + n_v)] = n == 1 ? tie->value : r[k];
        mju_copy(out + k * (1 + n_v) + 1 + tree->unit->first_v,
                 tree->E + (size_t)(tie->row + k) * (size_t)tree->unit->n_v, tree->unit->n_v);
    }
    if (n < 6) {
        return;
    }
    const double *data = s->m->eq_data + (size_t)mjNEQDATA * (size_t)eq;
    const double *q0 = s->d->xquat + 4 * s->m->eq_obj1id[eq];
    const double *q1 = s->d->xquat + 4 * s->m->eq_obj2id[eq];
    double back[4], wanted[4], e[4];
    mju_mulQuat(wanted, q0, data + 6);
    mju_negQuat(back, q1);
    mju_mulQuat(e, back, wanted);
    double sign = e[0] < 0.0 ? -1.0 : 1.0;
    for (int k = 0; k < 1 + n_v; k++) {
        double world[3], body[3], cross[3];
        for (int c = 0; c < 3; c++) {
            world[c] = out[(3 + c) * (1 + n_v) + k];
        }
        mju_rotVecQuat(body, world, back);
        mju_cross(cross, e + 1, body);
        for (int c = 0; c < 3; c++) {
            out[(3 + c) * (1 + n_v) + k] =
                0.5 * (k == 0 ? sign * body[c] : data[10] * (e[0] * body[c] - cross[c]));
        }
    }
}

void compare_equalities(const both *s, worst *w) {
    mjModel *m = s->m;
    mjData *d = s->d;
    m->opt.disableflags &= ~mjDSBL_EQUALITY;
    m->opt.jacobian = mjJAC_DENSE;
    mj_forward(m, d);
    int *next = calloc((size_t)s->mech->n_unit + 1, sizeof *next);
    int n_seen = 0;
    for (int row = 0; row < d->ne;) {
        int eq = d->efc_id[row];
        int n = m->eq_type[eq] == mjEQ_WELD ? 6 : m->eq_type[eq] == mjEQ_CONNECT ? 3 : 1;
        int unit = unit_of_row(s, row);
        if (!CHECK(unit >= 0 && next[unit] < s->mech->unit[unit].n_equality)) {
            break;
        }
        double *carom = numbers(n * (1 + m->nv));
        double *mujoco = numbers(n * (1 + m->nv));
        for (int k = 0; k < n; k++) {
            mujoco[k * (1 + m->nv)] = d->efc_pos[row + k];
            mju_copy(mujoco + k * (1 + m->nv) + 1, d->efc_J + (size_t)(row + k) * (size_t)m->nv,
                     m->nv);
        }
        rows_of(s, s->tree[unit], next[unit]++, eq, n, carom);
        compare("residual or row of an equality", s, n * (1 + m->nv), carom, mujoco, TOLERANCE,
                &w->rows);
        free(carom);
        free(mujoco);
        row += n;
        n_seen++;
    }
    CHECK_INT(n_seen, s->mech->n_equality);
    free(next);
    m->opt.disableflags |= mjDSBL_EQUALITY;
    mj_forward(m, d);
}
