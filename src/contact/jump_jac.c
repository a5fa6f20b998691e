// SPDX-License-Identifier: MIT
//
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
// formed for these, and brought to dofs by K. What K and M do is in dynamics/tree_jac.c.

#include "contact/jump_parts.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <string.h>

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
