// SPDX-License-Identifier: MIT
//
// Assembly of an island's contact problem and its solve.
//
//   G = J K,   A = G W G',   b = G v,   v+ = v + W G' f
//
// For a free body K = 1 and W is diagonal; for a tree W is applied through its factor
// (dynamics/tree.h). Rows of a limit are constants. Everything is dense within the island.

#include "contact/jump_parts.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "model/ground_nets.h"

#include <math.h>
#include <string.h>

// terms of the derivatives that are held at once, see jump_vjp.c
enum { MAX_TERM = 2 + 2 * CRI_MAX_OUTER };

/// A contact's block in the dofs of one unit: factors of G W G'.
typedef struct part {
    int contact;
    int n;               // rows
    double GW[18];       // of a free body
    double Gt[24];       // (6, 4) its G by columns, the last of them zero
    const double *left;  // (n, n_v)
    const double *right; // (n, n_v)
} part;

size_t cri_jump_bytes(const cri_world *world, int n, const cri_contact_ref *ref) {
    CR_ASSERT(world && n > 0 && ref);
    const cri_mechanism *mech = &world->model->mech;
    size_t m = 3 * (size_t)n, n_dof = 0, n_row = 0, tree = 0, work = 0, last_bytes = 0;
    int last = -1; // contacts of one tree follow each other
    for (int a = 0; a < n; a++) {
        for (int s = 0; s < 2; s++) {
            int unit = ref[a].near->unit[s];
            if (unit < 0) {
                continue;
            }
            const cri_unit *u = &mech->unit[unit];
            n_dof += (size_t)u->n_v;
            n_row += (size_t)u->n_row;
            if (!u->is_free_body) {
                size_t need = cri_tree_scratch_bytes(mech, unit);
                last_bytes = unit == last ? last_bytes : cri_tree_room(mech, &world->d->mech, unit);
                last = unit;
                tree += last_bytes;
                work = need > work ? need : work;
            }
        }
    }
    bool has_tree = tree > 0;
    size_t wide = has_tree ? 6 * (size_t)mech->n_body + (size_t)mech->n_v : 0;
    size_t smooth = world->smoothing > 0.0 ? world->law->n_byte_smooth(n) : 0;
    return world->law->n_byte(n) + cri_jump_link_bytes(world, n) + smooth + cri_opening_bytes(n) +
           tree + work +
           sizeof(double) * (3 * m * m + (MAX_TERM + 14) * (n_dof + n_row) + 16 * m + 6 * n_dof +
                             (MAX_TERM + 8) * wide) +
           CRI_JUMP_BASES * (sizeof(double) * (m + 2 * n_dof + n_row) + sizeof(cri_jump_base)) +
           (2 * sizeof(cri_row) + sizeof(cri_block) * 2 + sizeof(part) + sizeof(double) * 80) *
               (size_t)n +
           64 * (MAX_TERM + 64) + 8192;
}

// ---- products ----------------------------------------------------------------------------------

void cri_jump_pull(const cri_world *world, const cri_jump *jump, const double *z, double *out) {
    memset(out, 0, sizeof *out * (size_t)jump->n_dof);
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; s < 2; s++) {
            const cri_block *block = &jump->block[a][s];
            if (block->place < 0) {
                continue;
            }
            int n_v = cri_jump_unit(world, jump, block->place)->n_v;
            double *o = out + jump->at[block->place];
            if (n_v == 6) {
                cri_jump_pull6(block->G, z + 3 * a, o);
                continue;
            }
            for (int r = 0; r < 3; r++) {
                double weight = z[3 * a + r];
                for (int i = 0; i < n_v; i++) {
                    o[i] += block->G[r * n_v + i] * weight;
                }
            }
        }
    }
}

void cri_jump_push(const cri_world *world, const cri_jump *jump, const double *w, double *out) {
    for (int a = 0; a < jump->n; a++) {
        for (int r = 0; r < 3; r++) {
            double sum = 0.0;
            for (int s = 0; s < 2; s++) {
                const cri_block *block = &jump->block[a][s];
                if (block->place >= 0) {
                    int n_v = cri_jump_unit(world, jump, block->place)->n_v;
                    sum += cri_dot(n_v, block->G + r * n_v, w + jump->at[block->place]);
                }
            }
            out[3 * a + r] = sum;
        }
    }
}

// W g of one unit
static void respond_unit(const cri_world *world, const cri_jump *jump, int k, const double *g,
                         double *w, double *nu, cr_arena *scratch) {
    const cri_unit *u = cri_jump_unit(world, jump, k);
    if (u->is_free_body) {
        for (int i = 0; i < u->n_v; i++) {
            w[i] = jump->W[jump->at[k] + i] * g[i];
        }
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *wide = CR_PUSH_RAW(scratch, double, world->model->mech.n_v);
    memcpy(wide + u->first_v, g, sizeof *g * (size_t)u->n_v);
    cri_tree_solve(jump->state->tree[jump->unit[k]], wide, wide, nu ? nu + jump->row_at[k] : NULL);
    memcpy(w, wide + u->first_v, sizeof *w * (size_t)u->n_v);
    cri_arena_rewind(scratch, mark);
}

void cri_jump_respond(const cri_world *world, const cri_jump *jump, const double *g, double *w,
                      double *nu, cr_arena *scratch) {
    CR_ASSERT(g && w && scratch);
    for (int k = 0; k < jump->n_unit; k++) {
        respond_unit(world, jump, k, g + jump->at[k], w + jump->at[k], nu, scratch);
    }
}

void cri_jump_gather(const cri_world *world, const cri_jump *jump, const double *wide,
                     double *out) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memcpy(out + jump->at[k], wide + u->first_v, sizeof *out * (size_t)u->n_v);
    }
}

void cri_jump_scatter(const cri_world *world, const cri_jump *jump, const double *in,
                      double *wide) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memcpy(wide + u->first_v, in + jump->at[k], sizeof *in * (size_t)u->n_v);
    }
}

void cri_jump_clear(const cri_world *world, const cri_jump *jump, double *v) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memset(v + u->first_v, 0, sizeof *v * (size_t)u->n_v);
    }
}

void cri_jump_clear_force(const cri_world *world, const cri_jump *jump, double *force) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        if (!u->is_free_body) {
            memset(force + 6 * u->first_body, 0, sizeof *force * 6 * (size_t)u->n_body);
        }
    }
}

void cri_jump_body_force(const cri_world *world, const cri_jump *jump, const cri_row *row,
                         const double *z, double *force) {
    CR_ASSERT(row && z && force);
    for (int a = 0; a < jump->n; a++) {
        const cri_near *near = &jump->row[a].near;
        for (int s = 0; s < 2 && near->kind != CRI_NEAR_LIMIT; s++) {
            if (near->unit[s] < 0 || world->model->mech.unit[near->unit[s]].is_free_body) {
                continue;
            }
            cri_jump_pull6(row[a].J[s][0], z + 3 * a, force + 6 * near->body[s]);
        }
    }
}

// do nets know another body than one of these, or another surface?
static bool has_foreign(const cri_world *world, const cri_jump *jump) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    bool has = false;
    for (int a = 0; nets && a < jump->n; a++) {
        const cri_near *near = &jump->row[a].near;
        bool is_other = nets->has_other ? near->body[0] != nets->other_index : near->unit[0] >= 0;
        has = has || near->kind == CRI_NEAR_LIMIT || is_other || near->body[1] != nets->body_index;
    }
    return has;
}

cri_contact_problem cri_jump_problem(const cri_world *world, const cri_jump *jump) {
    CR_ASSERT(jump->n > 0 && jump->row);
    return (cri_contact_problem){.n = jump->n,
                                 .A = jump->A,
                                 .b = jump->b,
                                 .mu = jump->mu,
                                 .e = jump->e,
                                 .target = jump->target,
                                 .drift = jump->opening.n > 0 ? jump->opening.drift : NULL,
                                 .pivots = jump->opening.psd.n > 0 ? &jump->opening.psd : NULL,
                                 .is_plain = jump->is_plain,
                                 .has_e = jump->has_e,
                                 .nets = world->model->nets,
                                 .weights = world->d->weights,
                                 .outside = world->outside,
                                 .is_foreign = has_foreign(world, jump),
                                 .link = jump->link};
}

// where contacts are along the tangents, for nets in space; NULL: not wanted, or frames differ
static const double *places(const cri_world *world, const cri_jump *jump, cr_arena *keep) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || !nets->is_spatial) {
        return NULL;
    }
    double *place = CR_PUSH_RAW(keep, double, 2 * jump->n);
    for (int a = 0; a < jump->n; a++) {
        const cri_row *row = &jump->row[a];
        for (int r = 0; r < 2; r++) {
            place[2 * a + r] = cri_v3_dot(row->touch.point[1], row->frame.axis[r + 1]);
        }
    }
    return place;
}

// the part of b that forces made, for nets that want it
static const double *applied(const cri_world *world, const cri_jump *jump, cr_arena *keep) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || !nets->has_applied || !jump->before) {
        return NULL;
    }
    double *own = CR_PUSH_RAW(keep, double, jump->n_dof);
    double *out = CR_PUSH_RAW(keep, double, 3 * jump->n);
    cri_jump_gather(world, jump, jump->before, own);
    cri_jump_push(world, jump, own, out);
    for (int i = 0; i < 3 * jump->n; i++) {
        out[i] = jump->b[i] - out[i];
    }
    return out;
}

// ---- assembly ----------------------------------------------------------------------------------

// place of a unit in the island, added when it is new
static int place_of(const cri_world *world, cri_jump *jump, int unit) {
    for (int k = 0; k < jump->n_unit; k++) {
        if (jump->unit[k] == unit) {
            return k;
        }
    }
    const cri_unit *u = &world->model->mech.unit[unit];
    int k = jump->n_unit++;
    jump->unit[k] = unit;
    jump->at[k] = jump->n_dof;
    jump->row_at[k] = jump->n_row;
    jump->n_dof += u->n_v;
    jump->n_row += u->n_row;
    jump->has_tree = jump->has_tree || !u->is_free_body;
    return k;
}

// G of one side in a tree's dofs: rows of J through K, or those of a limit; adds to G
static void fill_tree_block(const cri_world *world, const cri_jump *jump, int a, int s, double *G) {
    const cri_row *row = &jump->row[a];
    int unit = row->near.unit[s];
    const cri_unit *u = &world->model->mech.unit[unit];
    if (row->near.kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &world->model->limit[row->near.limit];
        cri_limit_add_row(l, jump->state->x, 1.0, u->first_v, G);
        return;
    }
    cri_tree_pull_rows(jump->state->tree[unit], row->near.body[s], 3, row->J[s][0], G);
}

// the blocks of contact a
static void fill_blocks(const cri_world *world, cri_jump *jump, int a, cr_arena *keep,
                        cr_arena *scratch) {
    const cri_row *row = &jump->row[a];
    jump->block[a][0].place = jump->block[a][1].place = -1;
    bool is_one = row->near.unit[0] == row->near.unit[1];
    for (int s = 1; s >= 0; s--) {
        int unit = row->near.unit[s];
        if (unit < 0 || (s == 0 && is_one)) {
            continue;
        }
        cri_block *block = &jump->block[a][s];
        const cri_unit *u = &world->model->mech.unit[unit];
        block->place = place_of(world, jump, unit);
        if (u->is_free_body) {
            block->G = row->J[s][0];
            continue;
        }
        double *G = CR_PUSH(keep, double, 6 * u->n_v), *Y = G + 3 * u->n_v;
        fill_tree_block(world, jump, a, s, G);
        if (is_one && row->near.kind != CRI_NEAR_LIMIT) {
            fill_tree_block(world, jump, a, 0, G);
        }
        // a limit has one row
        int n_row = row->near.kind == CRI_NEAR_LIMIT ? 1 : 3;
        block->G = block->right = G;
        block->left = Y;
        if (u->n_row == 0) {
            cri_tree_half_rows(jump->state->tree[unit], n_row, G, Y);
            block->right = Y;
            continue;
        }
        for (int r = 0; r < n_row; r++) {
            respond_unit(world, jump, block->place, G + r * u->n_v, Y + r * u->n_v, NULL, scratch);
        }
    }
}

// the blocks of unit k; returns their number
static int find_parts(const cri_world *world, const cri_jump *jump, int k, part *parts) {
    const double *W = jump->W + jump->at[k];
    bool is_free = cri_jump_unit(world, jump, k)->is_free_body;
    int n = 0;
    for (int a = 0; a < jump->n; a++) {
        const cri_block *block = &jump->block[a][jump->block[a][0].place == k ? 0 : 1];
        if (block->place != k) {
            continue;
        }
        part *p = &parts[n++];
        p->contact = a;
        p->n = jump->row[a].near.kind == CRI_NEAR_LIMIT ? 1 : 3;
        p->left = is_free ? p->GW : block->left;
        p->right = is_free ? block->G : block->right;
        for (int r = 0; is_free && r < 18; r += 6) {
            for (int i = 0; i < 6; i++) {
                p->GW[r + i] = block->G[r + i] * W[i];
                p->Gt[4 * i + r / 6] = block->G[r + i];
                p->Gt[4 * i + 3] = 0.0;
            }
        }
    }
    return n;
}

// A_ab += G_a W G_b' for one shared unit with n_v dofs
static void add_block(const cri_jump *jump, int n_v, const part *a, const part *b) {
    size_t m = 3 * (size_t)jump->n;
    double *A = jump->A + 3 * (size_t)a->contact * m + 3 * (size_t)b->contact;
    for (int r = 0; r < a->n; r++, A += m) {
        const double *left = a->left + r * n_v;
        for (int c = 0; c < b->n; c++) {
            A[c] += cri_dot(n_v, left, b->right + c * n_v);
        }
    }
}

// the same for a free body
static void add_free_block(const cri_jump *jump, const part *a, const part *b) {
    size_t m = 3 * (size_t)jump->n;
    double *A = jump->A + 3 * (size_t)a->contact * m + 3 * (size_t)b->contact;
    for (int r = 0; r < 3; r++, A += m) {
        const double *left = a->GW + 6 * r;
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        for (int i = 0; i < 6; i++) {
            for (int c = 0; c < 4; c++) {
                sum[c] += left[i] * b->Gt[4 * i + c];
            }
        }
        A[0] += sum[0];
        A[1] += sum[1];
        A[2] += sum[2];
    }
}

// A_ba = A_ab', so that A is symmetric to the last bit
static void mirror_block(const cri_jump *jump, int a, int b) {
    size_t m = 3 * (size_t)jump->n;
    const double *from = jump->A + 3 * (size_t)a * m + 3 * (size_t)b;
    double *to = jump->A + 3 * (size_t)b * m + 3 * (size_t)a;
    for (size_t r = 0; r < 3; r++) {
        for (size_t c = 0; c < 3; c++) {
            to[c * m + r] = from[r * m + c];
        }
    }
}

// across a limit nothing moves, along a frictionless tangent nothing acts: any positive entry keeps
// the impulse of such a row at zero
static void fill_empty_rows(const cri_jump *jump, int a) {
    const cri_row *row = &jump->row[a];
    size_t to_next = 3 * (size_t)jump->n + 1, at = 3 * (size_t)a * to_next;
    for (size_t r = 1; r < 3; r++) {
        if (row->near.kind == CRI_NEAR_LIMIT || row->ellipse.scale[r] == 0.0) {
            jump->A[at + r * to_next] = jump->A[at];
        }
    }
}

static void assemble(const cri_world *world, const cri_jump *jump, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    part *parts = CR_PUSH_RAW(scratch, part, jump->n);
    for (int k = 0; k < jump->n_unit; k++) {
        int n_v = cri_jump_unit(world, jump, k)->n_v, n = find_parts(world, jump, k, parts);
        bool is_free = cri_jump_unit(world, jump, k)->is_free_body;
        for (int i = 0; i < n; i++) {
            for (int j = i; j < n; j++) {
                if (is_free) {
                    add_free_block(jump, &parts[i], &parts[j]);
                } else {
                    add_block(jump, n_v, &parts[i], &parts[j]);
                }
                // two units may share a pair of contacts: the last of them has the sum
                mirror_block(jump, parts[i].contact, parts[j].contact);
            }
        }
    }
    for (int a = 0; a < jump->n; a++) {
        fill_empty_rows(jump, a);
    }
    cri_arena_rewind(scratch, mark);
}

static void push_arrays(cri_jump *jump, cr_arena *keep) {
    int n = jump->n;
    jump->row = CR_PUSH_RAW(keep, cri_row, n);
    jump->block = cri_arena_push_raw(keep, sizeof *jump->block * (size_t)n);
    jump->unit = CR_PUSH_RAW(keep, int, 6 * n);
    jump->at = jump->unit + 2 * n;
    jump->row_at = jump->at + 2 * n;
    jump->A = CR_PUSH_RAW(keep, double, 9 * n * n + 9 * n);
    cri_clear_rows(3 * n, 3 * n, jump->A);
    jump->b = jump->A + 9 * n * n;
    jump->f = jump->b + 3 * n;
    jump->mu = jump->f + 3 * n;
    jump->e = jump->mu + n;
    jump->target = jump->e + n;
    cri_clear_rows(1, 9 * n, jump->b);
    jump->is_plain = CR_PUSH(keep, bool, 4 * n);
    jump->has_e = jump->is_plain + n;
    jump->is_sliding = jump->has_e + n;
    jump->is_back = jump->is_sliding + n;
}

// trees at the state, and inverse inertia of free bodies
static void prepare_units(const cri_world *world, cri_jump *jump, cr_arena *keep,
                          cr_arena *scratch) {
    const cri_mechanism *mech = &world->model->mech;
    int n_dof = 0;
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; s < 2; s++) {
            int unit = jump->row[a].near.unit[s];
            n_dof += unit >= 0 ? mech->unit[unit].n_v : 0;
            if (unit >= 0 && !mech->unit[unit].is_free_body) {
                cri_tree *tree =
                    cri_state_tree(world->model, world->d, jump->state, unit, keep, scratch);
                CR_ASSERT(tree); // the caller has reserved room
            }
        }
    }
    jump->W = CR_PUSH_RAW(keep, double, 2 * n_dof);
    jump->v = jump->W + n_dof;
}

void cri_jump_begin(const cri_world *world, int n, const cri_contact_ref *ref, cri_state *state,
                    cri_jump *jump, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(world && ref && state && jump && keep && scratch);
    CR_ASSERT(n > 0);
    *jump = (cri_jump){.n = n, .state = state, .n_byte = cri_jump_bytes(world, n, ref)};
    push_arrays(jump, keep);
    for (int a = 0; a < n; a++) {
        cri_row_at(world, ref[a].near, ref[a].touch, state, &jump->row[a]);
        cri_coefficients c = cri_near_coefficients(world, ref[a].near);
        jump->mu[a] = c.friction;
        jump->e[a] = c.restitution;
        jump->has_e[a] = true;
        jump->has_sides = jump->has_sides || c.has_sides;
    }
    prepare_units(world, jump, keep, scratch);
    for (int a = 0; a < n; a++) {
        fill_blocks(world, jump, a, keep, scratch);
    }
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        if (u->is_free_body) {
            cri_jump_load_inverse(&world->d->body[u->first_body], jump->W + jump->at[k]);
        }
    }
    assemble(world, jump, scratch);
}

// room for the responses that tangents keep
static void push_bases(cri_jump *jump, cr_arena *keep) {
    int m = 3 * jump->n, n = m + 2 * jump->n_dof + jump->n_row;
    jump->n_base = CR_PUSH(keep, int, 1);
    jump->base = CR_PUSH_RAW(keep, cri_jump_base, CRI_JUMP_BASES);
    double *at = CR_PUSH_RAW(keep, double, CRI_JUMP_BASES *n);
    for (int k = 0; k < CRI_JUMP_BASES; k++, at += n) {
        double *g = at + m;
        jump->base[k] = (cri_jump_base){at, g, g + jump->n_dof, g + 2 * jump->n_dof};
    }
}

// Targets become what can be had. A contact that has to give way for another leaves its
// restitution: Newton's max(e ..., target) would not let it.
static void find_opening(cri_jump *jump, bool has_cache, cr_arena *keep, cr_arena *scratch) {
    const cri_opening *o = &jump->opening;
    cri_opening_find(jump->n, jump->A, jump->target, has_cache, &jump->opening, keep, scratch);
    double most = 0.0;
    for (int a = 0; a < o->n; a++) {
        most = fmax(most, fabs(o->drift[3 * a]));
    }
    for (int a = 0; a < o->n; a++) {
        // a thousandth of the largest: less is rounding, or gaps that agree to first order
        bool gives_way = jump->target[a] >= 0.0 && o->drift[3 * a] < -1e-3 * most;
        jump->is_plain[a] = jump->is_plain[a] || gives_way;
        jump->target[a] = o->drift[3 * a];
    }
}

// what has a frictionless tangent slides, whatever the other does. Where that one sticks,
// velocities grow with |mu| of the frictionless one, a kink whose derivative is taken to be zero.
static void note_frictionless(cri_jump *jump) {
    for (int a = 0; a < jump->n; a++) {
        const double *scale = jump->row[a].ellipse.scale;
        if ((scale[1] == 0.0 || scale[2] == 0.0) && jump->f[3 * a] > 0.0) {
            jump->report.is_one_sided = jump->report.is_one_sided || !jump->is_sliding[a];
            jump->is_sliding[a] = true;
        }
    }
}

// the law's solve, once more for each turn of a side
static void solve_by_law(const cri_world *world, cri_jump *jump, bool has_cache, cr_arena *keep,
                         cr_arena *scratch) {
    cri_contact_problem problem = cri_jump_problem(world, jump);
    problem.link = problem.is_foreign ? NULL : cri_jump_link(world, jump, keep, scratch);
    problem.place = problem.is_foreign ? NULL : places(world, jump, keep);
    problem.applied = applied(world, jump, keep);
    problem.where = cri_jump_where(world, jump);
    jump->link = problem.link;
    problem.smoothing = world->smoothing;
    if (jump->has_sides) {
        cri_jump_begin_sides(world, jump);
    }
    cri_arena_mark mark = cri_arena_get_mark(keep);
    jump->law_cache = world->law->solve(&problem, jump->f, has_cache, &jump->report, keep, scratch);
    int n_try = 2 * jump->n + 2;
    while (jump->has_sides && cri_jump_turn_sides(world, jump)) {
        if (n_try-- == 0) {
            jump->report.outcome = CR_ITERATION_LIMIT;
            return;
        }
        cri_arena_rewind(keep, mark);
        jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
        jump->law_cache =
            world->law->solve(&problem, jump->f, has_cache, &jump->report, keep, scratch);
    }
}

void cri_jump_solve(const cri_world *world, cri_jump *jump, const double *v, bool has_cache,
                    double *v_out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(jump->n > 0 && v && v_out && keep && scratch);
    cri_jump_gather(world, jump, v, jump->v);
    cri_jump_push(world, jump, jump->v, jump->b);
    jump->opening = (cri_opening){0};
    jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
    bool is_finite = cri_all_finite(3 * jump->n, jump->b) && cri_all_finite(jump->n, jump->target);
    for (int i = 0; i < 3 * jump->n; i++) {
        // A_ij^2 <= A_ii A_jj: no other entry is larger
        is_finite = is_finite && isfinite(jump->A[(size_t)i * (3 * (size_t)jump->n + 1)]);
    }
    if (!is_finite) {
        // speeds or levers beyond all numbers: no impulse, and the report says so
        memset(jump->f, 0, sizeof *jump->f * 3 * (size_t)jump->n);
        jump->report.outcome = CR_ITERATION_LIMIT;
        jump->law_cache = NULL;
        cri_jump_scatter(world, jump, jump->v, v_out);
        return;
    }
    find_opening(jump, has_cache, keep, scratch);
    solve_by_law(world, jump, has_cache, keep, scratch);
    note_frictionless(jump);
    jump->base = NULL;
    if (has_cache) {
        push_bases(jump, keep);
    }

    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *w = CR_PUSH_RAW(scratch, double, jump->n_dof);
    cri_jump_pull(world, jump, jump->f, w);
    cri_jump_respond(world, jump, w, w, NULL, scratch);
    for (int i = 0; i < jump->n_dof; i++) {
        w[i] += jump->v[i];
    }
    cri_jump_scatter(world, jump, w, v_out);
    cri_arena_rewind(scratch, mark);
}
