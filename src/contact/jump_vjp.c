// SPDX-License-Identifier: MIT
//
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

#include "contact/jump_parts.h"

#include "base/base.h"
#include "model/ground_nets.h"

#include <string.h>

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

/// One side of a bilinear form: contact vector (NULL: none), W G' of it, multipliers.
typedef struct side {
    const double *contact;
    const double *dof;
    const double *nu;
} side;

// gradient of left . (K W K') right for what is inside K and W of the trees
static void trees_vjp(const pass *p, side left, side right) {
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
static side push_response(const pass *p, const double *z, double *g) {
    const cri_jump *jump = p->jump;
    double *w = CR_PUSH_RAW(p->scratch, double, jump->n_dof);
    double *nu = CR_PUSH(p->scratch, double, jump->n_row + 1);
    cri_jump_pull(p->world, jump, z, w);
    if (g) {
        memcpy(g, w, sizeof *g * (size_t)jump->n_dof);
    }
    cri_jump_respond(p->world, jump, w, w, nu, p->scratch);
    return (side){z, w, nu};
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
    side right = push_response(p, jump->f, Gf);
    for (int i = 0; i < jump->n_dof; i++) {
        p->W_adj[i] += z[i] * Gf[i];
    }
    trees_vjp(p, (side){NULL, Wz, nu}, right);
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
        side right = push_response(p, adj->right[k], gr);
        side left = push_response(p, adj->left[k], gl);
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
    trees_vjp(&p, (side){adj.b, none, none}, (side){NULL, jump->v, none});
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
