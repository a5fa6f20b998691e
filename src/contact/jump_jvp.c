// SPDX-License-Identifier: MIT
//
// The chain rule around an island's law, forwards.
//
//   response    w = W G' z:   g_tan = G_tan' z + G' z_tan,   w_tan = W g_tan + W_tan g
//   rate        y = G w:      y_tan = G_tan w + G w_tan
//
//   b_tan = rate of v,   A_tan z = rate of the response to z,   v+_tan = v_tan + response to f
//
// G_tan = J_tan K + J K_tan; for trees K_tan and W_tan are applied by dynamics/tree.h.

#include "contact/jump_parts.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "model/ground_nets.h"

#include <string.h>

/// Tangents of rows and inverse inertia, and work space.
typedef struct tangents {
    const cri_world *world;
    const cri_jump *jump;
    cri_row *row_tan;     // (n) whose J are tangents, of those that move
    bool *is_moved;       // (n) rows that move; the others' tangents are zero, and not set
    double *gap_tan;      // (n)
    double *W_tan;        // (n_dof) free bodies
    cri_tree_tan **tree;  // (n_unit), NULL for free bodies
    double *wide[4];      // (n_v) each
    double *over_body[2]; // (n_body, 6) each
    bool is_still;        // nothing but velocities moves
    cr_arena *scratch;
} tangents;

// first of a ball's dofs in the island's vectors, -1: the limit is none of a ball
static int ball_at(const tangents *t, int a) {
    const cri_limit *l = &t->world->model->limit[t->jump->row[a].near.limit];
    int place = t->jump->block[a][1].place;
    int first = cri_jump_unit(t->world, t->jump, place)->first_v;
    return l->ball >= 0 ? t->jump->at[place] + l->dof[0] - first : -1;
}

// g_tan (n_dof) of g = G' z
static void pull_tan(const tangents *t, const double *z, const double *z_tan, double *g_tan) {
    const cri_jump *jump = t->jump;
    if (z_tan) {
        cri_jump_pull(t->world, jump, z_tan, g_tan);
    } else {
        memset(g_tan, 0, sizeof *g_tan * (size_t)jump->n_dof);
    }
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; t->is_moved[a] && s < 2; s++) {
            int place = jump->block[a][s].place;
            if (place >= 0 && cri_jump_unit(t->world, jump, place)->is_free_body) {
                cri_jump_pull6(t->row_tan[a].J[s][0], z + 3 * a, g_tan + jump->at[place]);
            }
        }
    }
    if (!jump->has_tree) {
        return;
    }
    for (int a = 0; a < jump->n; a++) {
        int at = jump->row[a].near.kind == CRI_NEAR_LIMIT ? ball_at(t, a) : -1;
        if (at >= 0) {
            cri_vec3 row_tan = cri_v3_load(t->row_tan[a].J[1][0]);
            cri_v3_accumulate(cri_v3_scale(z[3 * a], row_tan), g_tan + at);
        }
    }
    double *force = t->over_body[0], *force_tan = t->over_body[1];
    cri_jump_clear_force(t->world, jump, force);
    cri_jump_clear_force(t->world, jump, force_tan);
    cri_jump_body_force(t->world, jump, jump->row, z, force);
    cri_jump_body_force(t->world, jump, t->row_tan, z, force_tan);
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(t->world, jump, k);
        if (u->is_free_body) {
            continue;
        }
        double *wide = t->wide[0];
        memcpy(wide + u->first_v, g_tan + jump->at[k], sizeof *wide * (size_t)u->n_v);
        cri_tree_pull_jvp(jump->state->tree[jump->unit[k]], t->tree[k], force, force_tan, wide);
        memcpy(g_tan + jump->at[k], wide + u->first_v, sizeof *wide * (size_t)u->n_v);
    }
}

// the response to z, found among those kept or added to them; in scratch when there are too many
static cri_jump_base base_of(const tangents *t, const double *z) {
    const cri_jump *jump = t->jump;
    size_t n_byte = sizeof *z * 3 * (size_t)jump->n;
    for (int k = 0; jump->base && k < *jump->n_base; k++) {
        if (memcmp(jump->base[k].z, z, n_byte) == 0) {
            return jump->base[k];
        }
    }
    cri_jump_base base;
    if (jump->base && *jump->n_base < CRI_JUMP_BASES) {
        base = jump->base[(*jump->n_base)++];
        memcpy(base.z, z, n_byte);
    } else {
        base.z = NULL;
        base.g = CR_PUSH_RAW(t->scratch, double, jump->n_dof);
        base.w = CR_PUSH_RAW(t->scratch, double, jump->n_dof);
        base.nu = CR_PUSH_RAW(t->scratch, double, jump->n_row);
    }
    memset(base.nu, 0, sizeof *base.nu * (size_t)jump->n_row);
    cri_jump_pull(t->world, jump, z, base.g);
    cri_jump_respond(t->world, jump, base.g, base.w, base.nu, t->scratch);
    return base;
}

// w_tan (n_dof) of w = W G' z
static void response(const tangents *t, const cri_jump_base *base, const double *z,
                     const double *z_tan, double *w_tan) {
    const cri_jump *jump = t->jump;
    const double *g = base->g, *w = base->w, *nu = base->nu;
    if (t->is_still) {
        cri_jump_pull(t->world, jump, z_tan, w_tan);
        cri_jump_respond(t->world, jump, w_tan, w_tan, NULL, t->scratch);
        return;
    }
    pull_tan(t, z, z_tan, w_tan);
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(t->world, jump, k);
        int at = jump->at[k];
        if (u->is_free_body) {
            for (int i = at; i < at + u->n_v; i++) {
                w_tan[i] = jump->W[i] * w_tan[i] + t->W_tan[i] * g[i];
            }
            continue;
        }
        size_t n_byte = sizeof *w * (size_t)u->n_v;
        CR_ASSERT(t->wide[0] && t->wide[1] && t->wide[2]);
        memcpy(t->wide[0] + u->first_v, w_tan + at, n_byte);
        memcpy(t->wide[1] + u->first_v, w + at, n_byte);
        cri_tree_solve_jvp(jump->state->tree[jump->unit[k]], t->tree[k], t->wide[0], t->wide[1],
                           nu + jump->row_at[k], t->wide[2], t->scratch);
        memcpy(w_tan + at, t->wide[2] + u->first_v, n_byte);
    }
}

// adds one side of contact a to y_tan (3)
static void side_rate(const tangents *t, int a, int s, const double *w, const double *w_tan,
                      double *y_tan) {
    const cri_near *near = &t->jump->row[a].near;
    int unit = near->unit[s];
    if (unit < 0) {
        return;
    }
    const double *motion, *motion_tan;
    if (t->world->model->mech.unit[unit].is_free_body) {
        int at = t->jump->at[t->jump->block[a][s].place];
        motion = w + at;
        motion_tan = w_tan + at;
    } else {
        CR_ASSERT(t->over_body[0] && t->over_body[1]);
        motion = t->over_body[0] + 6 * near->body[s];
        motion_tan = t->over_body[1] + 6 * near->body[s];
    }
    const double *J = t->jump->row[a].J[s][0], *J_tan = t->row_tan[a].J[s][0];
    for (int r = 0; r < 3; r++) {
        double still = t->is_moved[a] ? cri_dot(6, J_tan + 6 * r, motion) : 0.0;
        y_tan[r] += still + cri_dot(6, J + 6 * r, motion_tan);
    }
}

// y_tan of a limit, row r
static double limit_rate(const tangents *t, int a, int r, const double *w, const double *w_tan) {
    const cri_block *block = &t->jump->block[a][1];
    int n_v = cri_jump_unit(t->world, t->jump, block->place)->n_v, at = ball_at(t, a);
    double rate = cri_dot(n_v, block->G + r * n_v, w_tan + t->jump->at[block->place]);
    return r == 0 && at >= 0 ? rate + cri_dot(3, t->row_tan[a].J[1][0], w + at) : rate;
}

// y_tan (3n) of y = G w
static void rate(const tangents *t, const double *w, const double *w_tan, double *y_tan) {
    const cri_jump *jump = t->jump;
    if (t->is_still) {
        cri_jump_push(t->world, jump, w_tan, y_tan);
        return;
    }
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(t->world, jump, k);
        if (u->is_free_body) {
            continue;
        }
        const cri_tree *tree = jump->state->tree[jump->unit[k]];
        size_t n_byte = sizeof *w * (size_t)u->n_v;
        CR_ASSERT(t->wide[0] && t->wide[1]);
        memcpy(t->wide[0] + u->first_v, w + jump->at[k], n_byte);
        memcpy(t->wide[1] + u->first_v, w_tan + jump->at[k], n_byte);
        cri_tree_motion(tree, t->wide[0], t->over_body[0]);
        cri_tree_motion_jvp(tree, t->tree[k], t->wide[0], t->wide[1], t->over_body[1]);
    }
    memset(y_tan, 0, sizeof *y_tan * 3 * (size_t)jump->n);
    for (int a = 0; a < jump->n; a++) {
        if (jump->row[a].near.kind == CRI_NEAR_LIMIT) {
            for (int r = 0; r < 3; r++) {
                y_tan[3 * a + r] = limit_rate(t, a, r, w, w_tan);
            }
            continue;
        }
        side_rate(t, a, 0, w, w_tan, y_tan + 3 * a);
        side_rate(t, a, 1, w, w_tan, y_tan + 3 * a);
    }
}

static void apply_A_tan(const void *context, const double *z, double *out) {
    const tangents *t = context;
    if (t->is_still) {
        memset(out, 0, sizeof *out * 3 * (size_t)t->jump->n);
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    cri_jump_base base = base_of(t, z);
    double *w_tan = CR_PUSH_RAW(t->scratch, double, t->jump->n_dof);
    response(t, &base, z, NULL, w_tan);
    rate(t, base.w, w_tan, out);
    cri_arena_rewind(t->scratch, mark);
}

// tangent of the drift (3n), pushed on scratch; target (n) gets its normal part
static double *opening_tan(const tangents *t, double *target) {
    const cri_opening *o = &t->jump->opening;
    int n = t->jump->n;
    double *drift = CR_PUSH_RAW(t->scratch, double, 3 * n);
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *A_tan_y = CR_PUSH_RAW(t->scratch, double, 6 * n), *A_tan_s = A_tan_y + 3 * n;
    apply_A_tan(t, o->y, A_tan_y);
    apply_A_tan(t, o->s, A_tan_s);
    cri_opening_find_jvp(o, target, A_tan_y, A_tan_s, drift, t->scratch);
    for (int a = 0; a < n; a++) {
        target[a] = drift[3 * a];
        drift[3 * a] = 0.0;
    }
    cri_arena_rewind(t->scratch, mark);
    return drift;
}

// tangents of the law's data that do not need A: b = G v, mu, e, target
static cri_contact_tan data_tangents(const tangents *t, const cri_jump_tan *tan,
                                     const double *v_tan) {
    const cri_jump *jump = t->jump;
    double *b = CR_PUSH_RAW(t->scratch, double, 3 * jump->n);
    double *mu = CR_PUSH(t->scratch, double, jump->n);
    double *e = CR_PUSH(t->scratch, double, jump->n);
    double *target = CR_PUSH(t->scratch, double, jump->n);
    rate(t, jump->v, v_tan, b);
    for (int a = 0; a < jump->n; a++) {
        target[a] = tan->target ? tan->target[a] : 0.0;
        target[a] += tan->target_of_gap ? tan->target_of_gap[a] * t->gap_tan[a] : 0.0;
    }
    double *drift = jump->opening.n > 0 ? opening_tan(t, target) : NULL;
    for (int a = 0; !tan->is_fixed && a < jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(t->world, &jump->row[a].near);
        int at_friction = jump->is_back[a] ? c.at_friction_back : c.at_friction;
        mu[a] = at_friction >= 0 ? tan->d->block[at_friction] : 0.0;
        const cri_row *row = &jump->row[a];
        if (row->near.has_two_frictions) {
            const cri_pair_derived *pair_tan = &tan->d->pair[row->near.pair];
            mu[a] = cri_ellipse_of_jvp(&row->ellipse, pair_tan->friction, pair_tan->friction2).size;
        }
        e[a] = c.at_restitution >= 0 && jump->has_e[a] ? tan->d->block[c.at_restitution] : 0.0;
    }
    return (cri_contact_tan){.apply_A = apply_A_tan,
                             .context = t,
                             .b = b,
                             .mu = mu,
                             .e = e,
                             .target = target,
                             .drift = drift,
                             .weights = tan->is_fixed ? NULL : tan->d->weights};
}

// the row of a ball's limit is minus its axis, others are constants: tangent in J[1][0]
static void limit_tan(const cri_world *world, const cri_jump *jump, int a, const double *q_tan,
                      double J_tan[2][3][6]) {
    const cri_limit *l = &world->model->limit[jump->row[a].near.limit];
    memset(J_tan, 0, sizeof(double) * 36);
    if (l->ball >= 0) {
        cri_vec3 theta = cri_v3_load(q_tan + l->dof[0]);
        cri_vec3 axis_tan = cri_limit_axis_jvp(l, jump->state->x, theta);
        cri_v3_store(cri_v3_scale(-1.0, axis_tan), J_tan[1][0]);
    }
}

// does a seed move the row of contact a?
static bool moves_row(const cri_jump *jump, int a, const cri_jump_tan *tan) {
    const cri_near *near = &jump->row[a].near;
    bool is_moved = !tan->is_fixed || near->kind == CRI_NEAR_LIMIT;
    for (int s = 0; s < 2 && !is_moved; s++) {
        const double *body = tan->body_tan + 6 * near->body[s];
        for (int i = 0; near->unit[s] >= 0 && i < 6; i++) {
            is_moved = is_moved || body[i] != 0.0;
        }
    }
    return is_moved;
}

static tangents tangents_push(const cri_world *world, const cri_jump *jump, const cri_jump_tan *tan,
                              cr_arena *scratch) {
    tangents t = {.world = world, .jump = jump, .scratch = scratch, .is_still = tan->is_still};
    t.gap_tan = CR_PUSH(scratch, double, jump->n);
    if (tan->is_still) {
        return t;
    }
    t.row_tan = CR_PUSH_RAW(scratch, cri_row, jump->n);
    t.is_moved = CR_PUSH_RAW(scratch, bool, jump->n);
    t.W_tan = CR_PUSH(scratch, double, jump->n_dof);
    t.tree = CR_PUSH(scratch, cri_tree_tan *, jump->n_unit);
    for (int i = 0; jump->has_tree && i < 4; i++) {
        t.wide[i] = CR_PUSH_RAW(scratch, double, world->model->mech.n_v);
    }
    for (int i = 0; jump->has_tree && i < 2; i++) {
        t.over_body[i] = CR_PUSH_RAW(scratch, double, 6 * world->model->mech.n_body);
    }
    for (int a = 0; a < jump->n; a++) {
        t.is_moved[a] = moves_row(jump, a, tan);
        if (t.is_moved[a] || jump->has_tree) {
            t.gap_tan[a] = cri_row_at_jvp(world, &jump->row[a], jump->state, tan->q, tan->body_tan,
                                          tan->d, t.row_tan[a].J);
        }
        if (jump->row[a].near.kind == CRI_NEAR_LIMIT) {
            limit_tan(world, jump, a, tan->q, t.row_tan[a].J);
        }
    }
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        if (u->is_free_body) {
            cri_jump_load_inverse(&tan->d->body[u->first_body], t.W_tan + jump->at[k]);
        } else {
            t.tree[k] = cri_tree_tan_push(jump->state->tree[jump->unit[k]], tan->q,
                                          tan->is_fixed ? NULL : &tan->d->mech, scratch);
        }
    }
    return t;
}

// of where = along . position of the body that nets know
static double where_rate(const cri_world *world, const double *body_tan) {
    const cri_ground_nets *nets = cri_jump_placed(world);
    return nets ? cri_v3_dot(cri_v3_load(body_tan + 6 * nets->body_index), nets->along) : 0.0;
}

void cri_jump_solve_jvp(const cri_world *world, const cri_jump *jump, const cri_jump_tan *tan,
                        double *v_out_tan, cr_arena *scratch) {
    CR_ASSERT(jump->law_cache && tan->v && tan->q && tan->body_tan && tan->d);
    CR_ASSERT(!tan->is_still || tan->is_fixed);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    tangents t = tangents_push(world, jump, tan, scratch);
    double *v_tan = CR_PUSH_RAW(scratch, double, jump->n_dof);
    double *f_tan = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    cri_jump_gather(world, jump, tan->v, v_tan);

    // f = law(A, b, mu, e, target)
    cri_contact_tan data = data_tangents(&t, tan, v_tan);
    data.is_exact = tan->is_exact;
    data.where = tan->is_still ? 0.0 : where_rate(world, tan->body_tan);
    cri_contact_problem problem = cri_jump_problem(world, jump);
    world->law->jvp(&problem, jump->law_cache, jump->f, &data, f_tan, scratch);

    // v+ = v + W G' f
    cri_jump_base base = base_of(&t, jump->f);
    double *w_tan = CR_PUSH_RAW(scratch, double, jump->n_dof);
    response(&t, &base, jump->f, f_tan, w_tan);
    for (int i = 0; i < jump->n_dof; i++) {
        w_tan[i] += v_tan[i];
    }
    cri_jump_scatter(world, jump, w_tan, v_out_tan);
    cri_arena_rewind(scratch, mark);
}
