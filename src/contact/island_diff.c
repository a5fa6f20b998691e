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

#include "contact/island.h"

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

enum { MAX_TERM = 2 + 2 * CRI_MAX_OUTER };

/// J_adj = sum of contact[k] (K dof[k])'.
typedef struct outer_sum {
    int n;
    const double *contact[MAX_TERM]; // (3n)
    const double *dof[MAX_TERM];     // (n_dof)
    double *motion[MAX_TERM];        // (n_body, 6), trees only
} outer_sum;

/// What the parts of one backward pass share.
typedef struct pass {
    const cri_world *world;
    const cri_jump *jump;
    double *q_adj;
    const cri_derived *d_adj;
    double *W_adj; // (n_dof)
    outer_sum sum;
    cr_arena *scratch;
} pass;

/// One side_adjoint of a bilinear form: contact vector (NULL: none), W G' of it, multipliers.
typedef struct side_adjoint {
    const double *contact;
    const double *dof;
    const double *nu;
} side_adjoint;

// vectors z whose A_tan z is needed besides f: q of the reduced system, y of the opening. Only the
// part G_tan W G' z counts, since what is asked of the result is orthogonal to the range of A
enum { MORE_Q, MORE_Y, N_MORE };

/// One body of a contact.
typedef struct side {
    int n;        // dofs that move it
    int *dof;     // (n) of the island
    double *N;    // (n, 6) its motions; NULL: a free body, whose dofs they are
    double *move; // (n, 6) work: derivatives of its motion for those dofs
    double v[6];  // its motions for v, v + w and w_more
    double sum[6];
    double w_more[N_MORE][6];
    double turn[6][12];             // derivatives of J' f of both bodies for its pose
    double rate[6][3];              // and of rhs
    double rate_more[N_MORE][6][3]; // and of A_more
    double gap[6];                  // and of the gap
} side;

typedef struct assembly {
    const cri_world *world;
    const cri_jump *jump;
    cri_contact_split split;
    int n_column;           // 2 n_dof: changes of q, then of v
    double *v, *w;          // (n_v) in the model's dofs
    double *sum;            // (n_v) v + w
    double *w_more[N_MORE]; // (n_v) each, W G' z; NULL: not needed
    double *rhs;            // (3n, n_column)
    double *A_more[N_MORE]; // (3n, n_column) each, NULL: not needed
    double *s;              // (n_dof, n_dof) a column for each change of q
    double *gap;            // (n, n_dof)
    double *body_tan;       // (n_body, 6) zero
    const cri_derived *zero;
    side side[2];
    double *weight; // (3n or n_dof) work
    const double **from, **row;
} assembly;

// ---- tangents -----------------------------------------------------------------------------------

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

// ---- adjoint ------------------------------------------------------------------------------------

// The chain rule around an island's law, backwards.
//
//   v+ = v + W G' f          v_adj = z;  f_adj = G W z;  what stays is the gradient of z' W G' f
//   f = law(A, b, ...)       A_adj = sum_k l_k r_k',  b_adj, mu_adj, e_adj, target_adj
//   b = G v                  v_adj += G' b_adj;  gradient of b_adj' G v
//   A = G W G'               gradient of l_k' G W G' r_k
//
// Each gradient for fixed vectors is that of a bilinear form. With w_l = W G' l, w_r = W G' r it
// has a part for the rows, J_adj += l (K w_r)' + r (K w_l)', formed row by row and never stored,
// and a part for K and W: for free bodies W_adj += (G'l) o (G'r), for trees cri_tree_form_vjp.

// a vector of the model with the island's dofs, when there are trees
static double *push_wide(const pass *p, const double *dof) {
    double *wide = CR_PUSH_RAW(p->scratch, double, p->world->model->mech.n_v);
    cri_jump_scatter(p->world, p->jump, dof, wide);
    return wide;
}

static void add_term(pass *p, const double *contact, const double *dof) {
    outer_sum *sum = &p->sum;
    CR_ASSERT(sum->n < MAX_TERM);
    sum->contact[sum->n] = contact;
    sum->dof[sum->n] = dof;
    if (p->jump->has_tree) {
        double *motion = CR_PUSH_RAW(p->scratch, double, 6 * p->world->model->mech.n_body);
        cri_arena_mark mark = cri_arena_get_mark(p->scratch);
        const double *wide = push_wide(p, dof);
        for (int k = 0; k < p->jump->n_unit; k++) {
            if (!cri_jump_unit(p->world, p->jump, k)->is_free_body) {
                cri_tree_motion(p->jump->state->tree[p->jump->unit[k]], wide, motion);
            }
        }
        cri_arena_rewind(p->scratch, mark);
        sum->motion[sum->n] = motion;
    }
    sum->n++;
}

static double *push_force(const pass *p, const double *contact) {
    double *force = CR_PUSH_RAW(p->scratch, double, 6 * p->world->model->mech.n_body);
    cri_jump_clear_force(p->world, p->jump, force);
    cri_jump_body_force(p->world, p->jump, p->jump->row, contact, force);
    return force;
}

// gradient of left . (K W K') right for what is inside K and W of the trees
static void trees_vjp(const pass *p, side_adjoint left, side_adjoint right) {
    if (!p->jump->has_tree) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(p->scratch);
    cri_tree_form form = {.left = push_wide(p, left.dof), .right = push_wide(p, right.dof)};
    form.left_force = left.contact ? push_force(p, left.contact) : NULL;
    form.right_force = right.contact ? push_force(p, right.contact) : NULL;
    for (int k = 0; k < p->jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(p->world, p->jump, k);
        if (u->is_free_body) {
            continue;
        }
        form.left_nu = u->n_row > 0 ? left.nu + p->jump->row_at[k] : NULL;
        form.right_nu = u->n_row > 0 ? right.nu + p->jump->row_at[k] : NULL;
        cri_tree_form_vjp(p->jump->state->tree[p->jump->unit[k]], &form, 1.0, p->q_adj,
                          &p->d_adj->mech, p->scratch);
    }
    cri_arena_rewind(p->scratch, mark);
}

// W G' z with multipliers, pushed on scratch; g (n_dof), if not NULL, gets G' z
static side_adjoint push_response(const pass *p, const double *z, double *g) {
    const cri_jump *jump = p->jump;
    double *w = CR_PUSH_RAW(p->scratch, double, jump->n_dof);
    double *nu = CR_PUSH(p->scratch, double, jump->n_row + 1);
    cri_jump_pull(p->world, jump, z, w);
    if (g) {
        memcpy(g, w, sizeof *g * (size_t)jump->n_dof);
    }
    cri_jump_respond(p->world, jump, w, w, nu, p->scratch);
    return (side_adjoint){z, w, nu};
}

// the row of a ball's limit turns with its axis; those of hinges and slides are constants
static void ball_limit_vjp(const pass *p, int a) {
    const cri_jump *jump = p->jump;
    const cri_limit *l = &p->world->model->limit[jump->row[a].near.limit];
    if (l->ball < 0) {
        return;
    }
    int place = jump->block[a][1].place;
    int at = jump->at[place] + l->dof[0] - cri_jump_unit(p->world, jump, place)->first_v;
    cri_vec3 axis_adj = {0};
    for (int k = 0; k < p->sum.n; k++) {
        // row = -axis
        axis_adj = cri_v3_mad(axis_adj, -p->sum.contact[k][3 * a], cri_v3_load(p->sum.dof[k] + at));
    }
    cri_v3_accumulate(cri_limit_axis_vjp(l, jump->state->x, axis_adj), p->q_adj + l->dof[0]);
}

// passes J_adj on to poses and sizes, row by row
static void rows_vjp(const pass *p) {
    const cri_jump *jump = p->jump;
    const cri_mechanism *mech = &p->world->model->mech;
    for (int a = 0; a < jump->n; a++) {
        const cri_near *near = &jump->row[a].near;
        double J_adj[2][3][6] = {{{0}}};
        if (near->kind == CRI_NEAR_LIMIT) {
            ball_limit_vjp(p, a);
            continue;
        }
        for (int ks = 0; ks < 2 * p->sum.n; ks++) {
            int k = ks / 2, s = ks % 2, unit = near->unit[s];
            if (unit < 0) {
                continue;
            }
            const double *motion = mech->unit[unit].is_free_body
                                       ? p->sum.dof[k] + jump->at[jump->block[a][s].place]
                                       : p->sum.motion[k] + 6 * near->body[s];
            for (int ri = 0; ri < 18; ri++) {
                J_adj[s][ri / 6][ri % 6] += p->sum.contact[k][3 * a + ri / 6] * motion[ri % 6];
            }
        }
        cri_row_at_vjp(p->world, &jump->row[a], jump->state, J_adj, p->q_adj, p->d_adj);
    }
}

static void coefficients_vjp(const pass *p, const cri_contact_adj *adj) {
    for (int a = 0; a < p->jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(p->world, &p->jump->row[a].near);
        int at_friction = p->jump->is_back[a] ? c.at_friction_back : c.at_friction;
        if (at_friction >= 0) {
            p->d_adj->block[at_friction] += adj->mu[a];
        }
        const cri_row *row = &p->jump->row[a];
        if (row->near.has_two_frictions) {
            cri_pair_derived *pair_adj = &p->d_adj->pair[row->near.pair];
            cri_ellipse_of_vjp(&row->ellipse, &(cri_ellipse){.size = adj->mu[a]},
                               &pair_adj->friction, &pair_adj->friction2);
        }
        if (c.at_restitution >= 0 && p->jump->has_e[a]) {
            p->d_adj->block[c.at_restitution] += adj->e[a];
        }
    }
}

// where = along . position of the body that nets know
static void add_where(const pass *p, double where_adj) {
    const cri_ground_nets *nets = cri_jump_placed(p->world);
    if (nets) {
        cri_state_pose_vjp(p->world->model, p->jump->state, nets->body_index,
                           cri_v3_scale(where_adj, nets->along), (cri_vec3){0}, p->q_adj);
    }
}

static void inverse_mass_vjp(const pass *p) {
    for (int k = 0; k < p->jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(p->world, p->jump, k);
        if (u->is_free_body) {
            cri_body_derived *body = &p->d_adj->body[u->first_body];
            const double *W_adj = p->W_adj + p->jump->at[k];
            body->inv_mass += W_adj[0] + W_adj[1] + W_adj[2];
            body->inv_inertia = cri_v3_add(body->inv_inertia, cri_v3_load(W_adj + 3));
        }
    }
}

// v+ = v + W G' f: returns f_adj
static double *velocity_vjp(pass *p, const double *z) {
    const cri_jump *jump = p->jump;
    double *f_adj = CR_PUSH_RAW(p->scratch, double, 3 * jump->n);
    double *Wz = CR_PUSH_RAW(p->scratch, double, jump->n_dof);
    double *nu = CR_PUSH(p->scratch, double, jump->n_row + 1);
    double *Gf = CR_PUSH_RAW(p->scratch, double, jump->n_dof);
    cri_jump_respond(p->world, jump, z, Wz, nu, p->scratch);
    side_adjoint right = push_response(p, jump->f, Gf);
    for (int i = 0; i < jump->n_dof; i++) {
        p->W_adj[i] += z[i] * Gf[i];
    }
    trees_vjp(p, (side_adjoint){NULL, Wz, nu}, right);
    add_term(p, jump->f, Wz);
    cri_jump_push(p->world, jump, Wz, f_adj);
    return f_adj;
}

// A = G W G', as a sum of outer products
static void matrix_vjp(pass *p, const cri_contact_adj *adj) {
    int n_dof = p->jump->n_dof;
    double *gl = CR_PUSH_RAW(p->scratch, double, n_dof);
    double *gr = CR_PUSH_RAW(p->scratch, double, n_dof);
    for (int k = 0; k < adj->n_outer; k++) {
        side_adjoint right = push_response(p, adj->right[k], gr);
        side_adjoint left = push_response(p, adj->left[k], gl);
        add_term(p, adj->left[k], right.dof);
        add_term(p, adj->right[k], left.dof);
        trees_vjp(p, left, right);
        for (int i = 0; i < n_dof; i++) {
            p->W_adj[i] += gl[i] * gr[i];
        }
    }
}

// drift and target = opening(A, targets)
static void opening_vjp(const pass *p, cri_contact_adj *adj, double *target_adj) {
    for (int a = 0; a < p->jump->n; a++) {
        adj->drift[3 * a] += adj->target[a];
    }
    cri_opening_find_vjp(&p->jump->opening, adj->drift, target_adj, adj, p->scratch);
}

void cri_jump_solve_vjp(const cri_world *world, const cri_jump *jump, const double *v_out_adj,
                        double *v_adj, double *q_adj, const cri_derived *d_adj, double *target_adj,
                        cr_arena *scratch) {
    CR_ASSERT(jump->law_cache && v_adj && q_adj && target_adj);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pass p = {.world = world, .jump = jump, .q_adj = q_adj, .d_adj = d_adj, .scratch = scratch};
    double *z = CR_PUSH_RAW(scratch, double, jump->n_dof);
    double *none = CR_PUSH(scratch, double, jump->n_dof + jump->n_row + 1);
    p.W_adj = CR_PUSH(scratch, double, jump->n_dof);
    cri_jump_gather(world, jump, v_out_adj, z);

    // v+ = v + W G' f
    double *f_adj = velocity_vjp(&p, z);

    // f = law(A, b, mu, e, target)
    cri_contact_adj adj = {.weights = d_adj->weights};
    cri_contact_problem problem = cri_jump_problem(world, jump);
    world->law->vjp(&problem, jump->law_cache, jump->f, f_adj, &adj, scratch);
    coefficients_vjp(&p, &adj);
    add_where(&p, adj.where);
    memcpy(target_adj, adj.target, sizeof *target_adj * (size_t)jump->n);
    if (jump->opening.n > 0) {
        opening_vjp(&p, &adj, target_adj);
    }

    // A = G W G'
    matrix_vjp(&p, &adj);

    // b = G v
    add_term(&p, adj.b, jump->v);
    trees_vjp(&p, (side_adjoint){adj.b, none, none}, (side_adjoint){NULL, jump->v, none});
    double *Gb = CR_PUSH_RAW(scratch, double, jump->n_dof);
    cri_jump_pull(world, jump, adj.b, Gb);
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        for (int i = 0; i < u->n_v; i++) {
            v_adj[u->first_v + i] += z[jump->at[k] + i] + Gb[jump->at[k] + i];
        }
    }
    inverse_mass_vjp(&p);
    rows_vjp(&p);
    cri_arena_rewind(scratch, mark);
}

// ---- matrix of the derivative -------------------------------------------------------------------

// The derivative of an island's jump as a matrix, for laws whose tangents are one linear solve.
//
// With w = W G' f, and K the bodies' motions, a unit change of q_k gives
//
//   s = W (G_tan' f - M_tan w),   rhs = G_tan (v + w) + G s - drift_tan,    v+_tan = s + W G' f_tan
//
// and one of v_k the same with s = e_k and rhs = G e_k, where restitution scales what is of v. All
// right-hand sides go through the law at once.
//
// G = J K. J depends on q through the poses of two bodies, 6 numbers each: its derivatives are
// formed for these, and brought to dofs by K. What K and M do is in dynamics/tree_flow.c.

size_t cri_jump_jac_bytes(const cri_world *world, const cri_jump *jump) {
    const cri_mechanism *mech = &world->model->mech;
    size_t n = (size_t)jump->n, n_dof = (size_t)jump->n_dof, wide = (size_t)mech->n_v, tree = 0;
    if (!world->law->split) {
        return 0;
    }
    for (int k = 0; k < jump->n_unit; k++) {
        if (!mech->unit[jump->unit[k]].is_free_body) {
            tree += cri_tree_jac_bytes(mech, jump->unit[k]) +
                    cri_tree_scratch_bytes(mech, jump->unit[k]);
        }
    }
    size_t number = 26 * n * n_dof + 3 * (3 * n + n_dof) + n_dof * n_dof + n * n_dof + 6 * wide +
                    24 * wide + 12 * (size_t)mech->n_body + 2 * n_dof + 15 * n;
    return sizeof(double) * number + sizeof(int) * 2 * wide + tree +
           world->law->n_byte_many(jump->n, 2 * jump->n_dof) + 32 * 64;
}

// ---- geometry ----------------------------------------------------------------------------------

// w (n_v) = W G' z in the model's dofs
static void respond(const assembly *y, const double *z, double *w, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *own = CR_PUSH_RAW(scratch, double, y->jump->n_dof);
    cri_jump_pull(y->world, y->jump, z, own);
    cri_jump_respond(y->world, y->jump, own, own, NULL, scratch);
    cri_jump_scatter(y->world, y->jump, own, w);
    cri_arena_rewind(scratch, mark);
}

// motion of a body for rates (n_v)
static void motion_of(const side *b, const int *wide, const double *rate, double *motion) {
    if (!b->N) {
        memcpy(motion, rate + wide[0], 6 * sizeof *motion);
        return;
    }
    memset(motion, 0, 6 * sizeof *motion);
    for (int e = 0; e < b->n; e++) {
        cri_add_scaled(6, rate[wide[e]], b->N + 6 * e, motion);
    }
}

// side s of contact a: dofs and motions
static void open_side(assembly *y, int a, int s, int *wide, double *columns) {
    const cri_near *near = &y->jump->row[a].near;
    side *b = &y->side[s];
    int unit = near->unit[s];
    b->n = 0;
    if (unit < 0) {
        return;
    }
    const cri_unit *u = &y->world->model->mech.unit[unit];
    // contacts within a unit have one block, on side 1
    bool is_one = near->unit[0] == near->unit[1];
    int at = y->jump->at[y->jump->block[a][is_one ? 1 : s].place];
    b->N = NULL;
    if (u->is_free_body) {
        b->n = 6;
        for (int i = 0; i < 6; i++) {
            wide[i] = u->first_v + i;
        }
    } else {
        b->N = columns;
        b->n = cri_tree_body_columns(y->jump->state->tree[unit], near->body[s], wide, columns);
    }
    for (int e = 0; e < b->n; e++) {
        b->dof[e] = at + wide[e] - u->first_v;
    }
    motion_of(b, wide, y->v, b->v);
    motion_of(b, wide, y->sum, b->sum);
    for (int z = 0; z < N_MORE; z++) {
        if (y->w_more[z]) {
            motion_of(b, wide, y->w_more[z], b->w_more[z]);
        }
    }
}

// what restitution adds to the velocity before along the normal of contact a
static double more_of_v(const assembly *y, int a, int r) {
    return r == 0 ? y->split.of_b[a] - 1.0 : 0.0;
}

// J_r . (motion of v, scaled, and of w) for row r of contact a
static double row_rate(const assembly *y, int a, int r, const double *J, const side *b) {
    double more = more_of_v(y, a, r), rate = cri_dot(6, J, b->sum);
    return more != 0.0 ? rate + more * cri_dot(6, J, b->v) : rate;
}

// derivatives for pose number c of side s
static void turn_side(assembly *y, int a, int s, int c) {
    const cri_row *row = &y->jump->row[a];
    const double *f = y->jump->f + 3 * a;
    side *b = &y->side[s];
    double J_tan[2][3][6], *seed = y->body_tan + 6 * row->near.body[s] + c;
    *seed = 1.0;
    b->gap[c] = cri_row_at_jvp(y->world, row, y->jump->state, NULL, y->body_tan, y->zero, J_tan);
    *seed = 0.0;
    memset(b->turn[c], 0, sizeof b->turn[c]);
    for (int r = 0; r < 3; r++) {
        b->rate[c][r] = b->rate_more[MORE_Q][c][r] = b->rate_more[MORE_Y][c][r] = 0.0;
        for (int t = 0; t < 2; t++) {
            const side *other = &y->side[t];
            if (other->n == 0) {
                continue;
            }
            const double *J = J_tan[t][r];
            b->rate[c][r] += row_rate(y, a, r, J, other);
            for (int z = 0; z < N_MORE; z++) {
                b->rate_more[z][c][r] += y->w_more[z] ? cri_dot(6, J, other->w_more[z]) : 0.0;
            }
            cri_add_scaled(6, f[r], J, b->turn[c] + 6 * t);
        }
    }
}

// three rows, width apart, += motion' rate
static void bring_rates(const double *motion, const double rate[6][3], size_t width, double *to) {
    for (size_t r = 0; r < 3; r++) {
        double sum = 0.0;
        for (int c = 0; c < 6; c++) {
            sum += motion[c] * rate[c][r];
        }
        to[r * width] += sum;
    }
}

// adds the derivatives for dof k, which moves the pose of a side by motion (6)
static void bring_to_dof(assembly *y, int a, const side *b, const double *motion, int k) {
    size_t width = (size_t)y->n_column;
    double gap = 0.0;
    for (int c = 0; c < 6; c++) {
        gap += motion[c] * b->gap[c];
    }
    y->gap[(size_t)a * (width / 2) + (size_t)k] += gap;
    bring_rates(motion, b->rate, width, y->rhs + 3 * (size_t)a * width + (size_t)k);
    for (int z = 0; z < N_MORE; z++) {
        if (y->A_more[z]) {
            bring_rates(motion, b->rate_more[z], width,
                        y->A_more[z] + 3 * (size_t)a * width + (size_t)k);
        }
    }
}

// s += K' (derivatives of J' f for dof k), whose bodies' parts are turn (12)
static void bring_forces(const assembly *y, const double *turn, int k) {
    int n_dof = y->n_column / 2;
    for (int t = 0; t < 2; t++) {
        const side *b = &y->side[t];
        for (int e = 0; e < b->n; e++) {
            double g = b->N ? cri_dot(6, b->N + 6 * e, turn + 6 * t) : turn[6 * t + e];
            y->s[(size_t)b->dof[e] * (size_t)n_dof + (size_t)k] += g;
        }
    }
}

// adds scale times J_r K_tan rate to row r, of which to is the first number; K_tan rate is in move
static void bring_motion(const cri_row *row, const side *b, int s, int r, double scale,
                         double *to) {
    for (int e = 0; e < b->n; e++) {
        to[b->dof[e]] += scale * cri_dot(6, row->J[s][r], b->move + 6 * e);
    }
}

// J K_tan (v + w) and J K_tan w_more of a tree
static void bring_motions(assembly *y, int a, int s) {
    const cri_row *row = &y->jump->row[a];
    const side *b = &y->side[s];
    const cri_tree *tree = y->jump->state->tree[row->near.unit[s]];
    size_t width = (size_t)y->n_column;
    double *rhs = y->rhs + 3 * (size_t)a * width, more = more_of_v(y, a, 0);
    cri_tree_body_motion_jac(tree, row->near.body[s], y->sum, b->move);
    for (size_t r = 0; r < 3; r++) {
        bring_motion(row, b, s, (int)r, 1.0, rhs + r * width);
    }
    if (more != 0.0) {
        cri_tree_body_motion_jac(tree, row->near.body[s], y->v, b->move);
        bring_motion(row, b, s, 0, more, rhs);
    }
    for (int z = 0; z < N_MORE; z++) {
        if (!y->w_more[z]) {
            continue;
        }
        cri_tree_body_motion_jac(tree, row->near.body[s], y->w_more[z], b->move);
        for (size_t r = 0; r < 3; r++) {
            bring_motion(row, b, s, (int)r, 1.0, y->A_more[z] + (3 * (size_t)a + r) * width);
        }
    }
}

// Translations of a pose: those of both bodies together change nothing, and neither do those of a
// body that touches a plane which stands still, but for the gap.
static bool shift_side(assembly *y, int a, int s, int c) {
    const cri_near *near = &y->jump->row[a].near;
    side *b = &y->side[s], *other = &y->side[1 - s];
    bool is_plane = near->kind == CRI_NEAR_PLANE_SPHERE || near->kind == CRI_NEAR_PLANE_CAPSULE ||
                    near->kind == CRI_NEAR_PLANE_BOX;
    bool is_known = s == 1 && other->n > 0;
    if (c >= 3 || !(is_known || (is_plane && other->n == 0))) {
        return false;
    }
    if (is_known) {
        b->gap[c] = -other->gap[c];
        for (int i = 0; i < 12; i++) {
            b->turn[c][i] = -other->turn[c][i];
        }
        for (int r = 0; r < 3; r++) {
            b->rate[c][r] = -other->rate[c][r];
            for (int z = 0; z < N_MORE; z++) {
                b->rate_more[z][c][r] = -other->rate_more[z][c][r];
            }
        }
        return true;
    }
    double normal[3];
    cri_v3_store(y->jump->row[a].touch.normal, normal);
    b->gap[c] = normal[c];
    memset(b->turn[c], 0, sizeof b->turn[c]);
    memset(b->rate[c], 0, sizeof b->rate[c]);
    for (int z = 0; z < N_MORE; z++) {
        memset(b->rate_more[z][c], 0, sizeof b->rate_more[z][c]);
    }
    return true;
}

static void add_touch(assembly *y, int a, int *wide, double *columns) {
    int n_v = y->world->model->mech.n_v;
    open_side(y, a, 0, wide, columns);
    open_side(y, a, 1, wide + n_v, columns + 6 * n_v);
    for (int s = 0; s < 2; s++) {
        side *b = &y->side[s];
        for (int c = 0; b->n > 0 && c < 6; c++) {
            if (!shift_side(y, a, s, c)) {
                turn_side(y, a, s, c);
            }
        }
        for (int c = 0; !b->N && c < b->n; c++) {
            double motion[6] = {0.0};
            motion[c] = 1.0;
            bring_to_dof(y, a, b, motion, b->dof[c]);
            bring_forces(y, b->turn[c], b->dof[c]);
        }
        for (int e = 0; b->N && e < b->n; e++) {
            double turn[12] = {0.0};
            bring_to_dof(y, a, b, b->N + 6 * e, b->dof[e]);
            for (int c = 0; c < 6; c++) {
                cri_add_scaled(12, b->N[6 * e + c], b->turn[c], turn);
            }
            bring_forces(y, turn, b->dof[e]);
        }
        if (b->n > 0 && b->N) {
            bring_motions(y, a, s);
        }
    }
}

// the gap of a limit has its row for a derivative; that of a ball turns
static void add_limit(assembly *y, int a) {
    const cri_jump *jump = y->jump;
    const cri_limit *l = &y->world->model->limit[jump->row[a].near.limit];
    const cri_block *block = &jump->block[a][1];
    const cri_unit *u = cri_jump_unit(y->world, jump, block->place);
    int at = jump->at[block->place], n_dof = jump->n_dof;
    memcpy(y->gap + (size_t)a * (size_t)n_dof + at, block->G, sizeof(double) * (size_t)u->n_v);
    for (int c = 0; l->ball >= 0 && c < 3; c++) {
        double row[3];
        cri_vec3 turn = cri_v3(c == 0, c == 1, c == 2);
        cri_v3_store(cri_v3_scale(-1.0, cri_limit_axis_jvp(l, jump->state->x, turn)), row);
        int first = at + l->dof[0] - u->first_v;
        double *to = y->rhs + 3 * (size_t)a * (size_t)y->n_column + first + c;
        *to += cri_dot(3, row, y->sum + l->dof[0]);
        *to += more_of_v(y, a, 0) * cri_dot(3, row, y->v + l->dof[0]);
        for (int z = 0; z < N_MORE; z++) {
            if (y->A_more[z]) {
                y->A_more[z][to - y->rhs] += cri_dot(3, row, y->w_more[z] + l->dof[0]);
            }
        }
        for (int i = 0; i < 3; i++) {
            y->s[(size_t)(first + i) * (size_t)n_dof + (size_t)(first + c)] +=
                jump->f[3 * a] * row[i];
        }
    }
}

// ---- right-hand sides --------------------------------------------------------------------------

// s = W (G_tan' f - M_tan w) from what J_tan gives
static void solve_changes(const assembly *y, cr_arena *scratch) {
    const cri_jump *jump = y->jump;
    int n_dof = jump->n_dof;
    double *force = NULL;
    if (jump->has_tree) {
        force = CR_PUSH_RAW(scratch, double, 6 * y->world->model->mech.n_body);
        cri_jump_clear_force(y->world, jump, force);
        cri_jump_body_force(y->world, jump, jump->row, jump->f, force);
    }
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(y->world, jump, k);
        int at = jump->at[k];
        double *rows = y->s + (size_t)at * (size_t)n_dof;
        if (!u->is_free_body) {
            const cri_tree *tree = jump->state->tree[jump->unit[k]];
            cri_tree_response_jac(tree, y->w, force, n_dof, rows + at, scratch);
            cri_tree_solve_many(tree, n_dof, rows);
            continue;
        }
        for (int i = 0; i < 6; i++, rows += n_dof) {
            for (int c = 0; c < n_dof; c++) {
                rows[c] *= jump->W[at + i];
            }
        }
    }
}

// less the tangents of targets and drift, by columns of changes of q
static void add_targets(const assembly *y, const double *target_of_gap, cr_arena *scratch) {
    const cri_opening *o = &y->jump->opening;
    int n = y->jump->n, n_dof = y->jump->n_dof;
    size_t width = (size_t)y->n_column;
    double *target = CR_PUSH_RAW(scratch, double, 7 * n), *A_y = target + n, *drift = A_y + 3 * n;
    for (int k = 0; k < n_dof; k++) {
        memset(drift, 0, sizeof *drift * 3 * (size_t)n);
        for (int a = 0; a < n; a++) {
            target[a] = target_of_gap[a] * y->gap[(size_t)a * (size_t)n_dof + (size_t)k];
            drift[3 * a] = target[a];
        }
        if (o->n > 0) {
            for (int i = 0; i < 3 * n; i++) {
                A_y[i] = y->A_more[MORE_Y][(size_t)i * width + (size_t)k];
            }
            cri_opening_find_jvp(o, target, A_y, NULL, drift, scratch);
        }
        for (int i = 0; i < 3 * n; i++) {
            double part = i % 3 == 0 ? y->split.of_target[i / 3] : 1.0;
            y->rhs[(size_t)i * width + (size_t)k] -= part * drift[i];
        }
    }
}

// Does the opening need no more than A_tan y? Where the targets contradict each other s has a part,
// and where pivots are weak the null space is not that of A: both go seed by seed.
static bool has_easy_opening(const cri_jump *jump) {
    const cri_opening *o = &jump->opening;
    bool is_easy = o->n == 0 || o->rank == o->psd.rank;
    for (int i = 0; is_easy && i < 3 * o->n; i++) {
        is_easy = o->s[i] == 0.0;
    }
    return is_easy;
}

static int rows_of(const cri_jump *jump, int a) {
    return jump->row[a].near.kind == CRI_NEAR_LIMIT ? 1 : 3;
}

// rhs of one row += [G s, G], where it has the entries G (n_v) in the dofs from at on
static void add_velocity(const assembly *y, int n_v, int at, const double *G, double scale,
                         double *rhs) {
    int n_dof = y->jump->n_dof, n = 0;
    for (int i = 0; i < n_v; i++) {
        if (G[i] != 0.0) {
            y->weight[n] = G[i];
            y->from[n++] = y->s + (size_t)(at + i) * (size_t)n_dof;
            rhs[n_dof + at + i] += scale * G[i];
        }
    }
    cri_add_combination(n_dof, n, y->weight, y->from, rhs);
}

static void add_velocities(const assembly *y) {
    const cri_jump *jump = y->jump;
    for (int a = 0; a < jump->n; a++) {
        double *rhs = y->rhs + 3 * (size_t)a * (size_t)y->n_column;
        for (int r = 0; r < rows_of(jump, a); r++, rhs += y->n_column) {
            double scale = r == 0 ? y->split.of_b[a] : 1.0;
            for (int t = 0; t < 2; t++) {
                const cri_block *block = &jump->block[a][t];
                if (block->place >= 0) {
                    int n_v = cri_jump_unit(y->world, jump, block->place)->n_v;
                    add_velocity(y, n_v, jump->at[block->place], block->G + r * n_v, scale, rhs);
                }
            }
        }
    }
}

// out (n_column, n_dof) = [s', 1]
static void begin_out(const assembly *y, double *out) {
    size_t n_dof = (size_t)y->jump->n_dof;
    cri_clear_rows(y->jump->n_dof, y->jump->n_dof, out + n_dof * n_dof);
    for (size_t k = 0; k < n_dof; k++) {
        for (size_t i = 0; i < n_dof; i++) {
            out[k * n_dof + i] = y->s[i * n_dof + k];
        }
        out[(n_dof + k) * n_dof + k] = 1.0;
    }
}

// rows of G W in the dofs of unit k, into GW, and of f_tan that go with them; returns their number
static int gather_rows(const assembly *y, int k, double *GW) {
    const cri_jump *jump = y->jump;
    const cri_unit *u = cri_jump_unit(y->world, jump, k);
    int n = 0;
    for (int a = 0; a < jump->n; a++) {
        const cri_block *block = &jump->block[a][jump->block[a][0].place == k ? 0 : 1];
        if (block->place != k) {
            continue;
        }
        for (int r = 0; r < rows_of(jump, a); r++, n++) {
            const double *G = block->G + r * u->n_v;
            double *row = GW + (size_t)n * (size_t)u->n_v;
            for (int i = 0; i < u->n_v; i++) {
                row[i] = u->is_free_body ? G[i] * jump->W[jump->at[k] + i] : G[i];
            }
            y->from[n] = row;
            y->row[n] = y->rhs + (size_t)(3 * a + r) * (size_t)y->n_column;
        }
    }
    return n;
}

// out += f_tan' G W
static void collect(const assembly *y, double *out, cr_arena *scratch) {
    const cri_jump *jump = y->jump;
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(y->world, jump, k);
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *GW = CR_PUSH_RAW(scratch, double, 3 * jump->n * u->n_v);
        int n = gather_rows(y, k, GW);
        if (!u->is_free_body) {
            cri_tree_solve_rows(jump->state->tree[jump->unit[k]], n, GW, scratch);
        }
        double *to = out + jump->at[k];
        for (int c = 0; c < y->n_column; c++, to += jump->n_dof) {
            for (int i = 0; i < n; i++) {
                y->weight[i] = y->row[i][c];
            }
            cri_add_combination(u->n_v, n, y->weight, y->from, to);
        }
        cri_arena_rewind(scratch, mark);
    }
}

static void assembly_push(assembly *y, const cri_derived *zero, cr_arena *scratch) {
    const cri_jump *jump = y->jump;
    size_t n = (size_t)jump->n, n_dof = (size_t)jump->n_dof;
    int n_v = y->world->model->mech.n_v;
    y->n_column = 2 * jump->n_dof;
    y->zero = zero;
    size_t most = 3 * n > n_dof ? 3 * n : n_dof;
    y->weight = CR_PUSH_RAW(scratch, double, most);
    y->from = CR_PUSH_RAW(scratch, const double *, most);
    y->row = CR_PUSH_RAW(scratch, const double *, most);
    y->v = CR_PUSH(scratch, double, (3 + N_MORE) * n_v);
    y->w = y->v + n_v;
    y->sum = y->w + n_v;
    y->rhs = CR_PUSH_RAW(scratch, double, 6 * n * n_dof);
    y->s = CR_PUSH_RAW(scratch, double, n_dof *n_dof);
    cri_clear_rows(3 * jump->n, y->n_column, y->rhs);
    cri_clear_rows(jump->n_dof, jump->n_dof, y->s);
    y->gap = CR_PUSH(scratch, double, n *n_dof);
    y->body_tan = CR_PUSH(scratch, double, 6 * y->world->model->mech.n_body);
    for (int s = 0; s < 2; s++) {
        y->side[s].dof = CR_PUSH_RAW(scratch, int, n_v);
        y->side[s].move = CR_PUSH_RAW(scratch, double, 6 * n_v);
    }
    cri_jump_scatter(y->world, jump, jump->v, y->v);
    respond(y, jump->f, y->w, scratch);
    for (int i = 0; i < n_v; i++) {
        y->sum[i] = y->v[i] + y->w[i];
    }
    const double *more[N_MORE] = {y->split.q, jump->opening.n > 0 ? jump->opening.y : NULL};
    for (int z = 0; z < N_MORE; z++) {
        if (more[z]) {
            y->w_more[z] = y->sum + (1 + z) * n_v;
            y->A_more[z] = CR_PUSH(scratch, double, 6 * n * n_dof);
            respond(y, more[z], y->w_more[z], scratch);
        }
    }
}

bool cri_jump_jac(const cri_world *world, const cri_jump *jump, const cri_derived *zero,
                  const double *target_of_gap, double *out, cr_arena *scratch) {
    CR_ASSERT(jump->law_cache && zero && target_of_gap && out);
    cri_contact_problem problem = cri_jump_problem(world, jump);
    assembly y = {.world = world, .jump = jump};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    y.split.of_b = CR_PUSH_RAW(scratch, double, 2 * jump->n);
    y.split.of_target = y.split.of_b + jump->n;
    if (!world->law->split || jump->n_row > 0 || !has_easy_opening(jump) ||
        !world->law->split(&problem, jump->law_cache, &y.split)) {
        cri_arena_rewind(scratch, mark);
        return false;
    }
    assembly_push(&y, zero, scratch);
    int n_v = world->model->mech.n_v;
    int *wide = CR_PUSH_RAW(scratch, int, 2 * n_v);
    double *columns = CR_PUSH_RAW(scratch, double, 12 * n_v);
    for (int a = 0; a < jump->n; a++) {
        if (jump->row[a].near.kind == CRI_NEAR_LIMIT) {
            add_limit(&y, a);
        } else {
            add_touch(&y, a, wide, columns);
        }
    }
    solve_changes(&y, scratch);
    add_targets(&y, target_of_gap, scratch);
    add_velocities(&y);
    world->law->jvp_many(jump->law_cache, y.n_column, y.rhs, y.A_more[MORE_Q], scratch);
    begin_out(&y, out);
    collect(&y, out, scratch);
    cri_arena_rewind(scratch, mark);
    return true;
}
