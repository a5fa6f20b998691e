// SPDX-License-Identifier: MIT
//
// Assembly of an island's contact problem, and the chain rule around its law.
//
//   v+ = v + W J' f          v_adj = z;  W_adj += z o (J'f);  J_adj += f (W z)';  f_adj = J W z
//   f = law(A, b, ...)       A_adj = sum_k l_k r_k',  b_adj, mu_adj, e_adj, target_adj
//   b = J v                  v_adj += J' b_adj;  J_adj += b_adj v'
//   A = J W J'               J_adj += sum_k l_k (W J' r_k)' + r_k (W J' l_k)'
//                            W_adj += sum_k (J'l_k) o (J'r_k)
//
// So J_adj is a sum of outer products a w' of contact vectors with body vectors; it is never stored
// as a matrix, only formed row by row. Everything is dense within the island.

#include "contact/jump.h"

#include "base/base.h"

#include <string.h>

enum { MAX_TERM = 2 + 2 * CRI_MAX_OUTER };

/// J_adj = sum of contact[k] body[k]'.
typedef struct outer_sum {
    int n;
    const double *contact[MAX_TERM]; // (3n)
    const double *body[MAX_TERM];    // (6 n_body)
} outer_sum;

size_t cri_jump_bytes(const cri_world *world, int n) {
    size_t m = 3 * (size_t)n;
    // at most two bodies a contact, twelve numbers each, in up to MAX_TERM vectors
    return world->law->n_byte(n) +
           sizeof(double) * (2 * m * m + (MAX_TERM + 8) * 12 * (size_t)n + 16 * m) +
           (2 * sizeof(cri_row) + sizeof(double) * 80) * (size_t)n + 4096;
}

static int place_of(cri_jump *jump, int body) {
    for (int k = 0; k < jump->n_body; k++) {
        if (jump->body[k] == body) {
            return k;
        }
    }
    jump->body[jump->n_body] = body;
    return jump->n_body++;
}

// out (6 n_body) = J' z
static void transpose_multiply(const cri_jump *jump, const double *z, double *out) {
    memset(out, 0, sizeof *out * 6 * (size_t)jump->n_body);
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; s < 2; s++) {
            int k = jump->local[a][s];
            for (int r = 0; k >= 0 && r < 3; r++) {
                const double *J = jump->row[a].J[s][r];
                for (int i = 0; i < 6; i++) {
                    out[6 * k + i] += J[i] * z[3 * a + r];
                }
            }
        }
    }
}

static double dot6(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

// out (3n) = J w
static void multiply(const cri_jump *jump, const double *w, double *out) {
    for (int a = 0; a < jump->n; a++) {
        for (int r = 0; r < 3; r++) {
            double sum = 0.0;
            for (int s = 0; s < 2; s++) {
                int k = jump->local[a][s];
                sum += k >= 0 ? dot6(jump->row[a].J[s][r], w + 6 * k) : 0.0;
            }
            out[3 * a + r] = sum;
        }
    }
}

// A_ab += J_a W J_b' for one shared body
static void add_block(const cri_jump *jump, int a, int b, int s, int t) {
    int m = 3 * jump->n;
    const double *W = jump->W + 6 * jump->local[a][s];
    for (int r = 0; r < 3; r++) {
        double JW[6];
        for (int i = 0; i < 6; i++) {
            JW[i] = jump->row[a].J[s][r][i] * W[i];
        }
        for (int c = 0; c < 3; c++) {
            jump->A[(size_t)(3 * a + r) * (size_t)m + 3 * b + c] += dot6(JW, jump->row[b].J[t][c]);
        }
    }
}

static void assemble(const cri_jump *jump) {
    int m = 3 * jump->n;
    for (int a = 0; a < jump->n; a++) {
        for (int b = a; b < jump->n; b++) {
            for (int st = 0; st < 4; st++) {
                int s = st / 2, t = st % 2;
                if (jump->local[a][s] >= 0 && jump->local[a][s] == jump->local[b][t]) {
                    add_block(jump, a, b, s, t);
                }
            }
        }
    }
    // the lower half is the upper one, so that A is symmetric to the last bit
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < i; j++) {
            jump->A[(size_t)i * (size_t)m + j] = jump->A[(size_t)j * (size_t)m + i];
        }
    }
}

static void load_inverse_mass(const cri_body_derived *d, double *W) {
    W[0] = W[1] = W[2] = d->inv_mass;
    cri_v3_store(d->inv_inertia, W + 3);
}

void cri_jump_begin(const cri_world *world, int n, const int *feature, const double *x,
                    cri_jump *jump, cr_arena *keep) {
    CR_ASSERT(n > 0);
    *jump = (cri_jump){.n = n, .x = x};
    jump->row = CR_PUSH_RAW(keep, cri_row, n);
    jump->local = cri_arena_push_raw(keep, sizeof *jump->local * (size_t)n);
    jump->body = CR_PUSH_RAW(keep, int, 2 * n);
    jump->A = CR_PUSH(keep, double, 9 * n * n + 9 * n);
    jump->b = jump->A + 9 * n * n;
    jump->f = jump->b + 3 * n;
    jump->mu = jump->f + 3 * n;
    jump->e = jump->mu + n;
    jump->target = jump->e + n;
    jump->is_plain = CR_PUSH(keep, bool, 3 * n);
    jump->has_e = jump->is_plain + n;
    jump->is_sliding = jump->has_e + n;
    for (int a = 0; a < n; a++) {
        jump->row[a] = cri_row_at(world, feature[a], x);
        const cri_pair_derived *pair = &world->d->pair[jump->row[a].pair];
        jump->mu[a] = pair->friction;
        jump->e[a] = pair->restitution;
        jump->has_e[a] = true;
        for (int s = 0; s < 2; s++) {
            int body = jump->row[a].body[s];
            jump->local[a][s] = body >= 0 ? place_of(jump, body) : -1;
        }
    }
    jump->W = CR_PUSH_RAW(keep, double, 12 * jump->n_body);
    jump->v = jump->W + 6 * jump->n_body;
    for (int k = 0; k < jump->n_body; k++) {
        load_inverse_mass(&world->d->body[jump->body[k]], jump->W + 6 * k);
    }
    assemble(jump);
}

static cri_contact_problem problem_of(const cri_jump *jump) {
    return (cri_contact_problem){.n = jump->n,
                                 .A = jump->A,
                                 .b = jump->b,
                                 .mu = jump->mu,
                                 .e = jump->e,
                                 .target = jump->target,
                                 .is_plain = jump->is_plain};
}

void cri_jump_solve(const cri_world *world, cri_jump *jump, const double *v, bool has_cache,
                    double *v_out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(v && v_out && keep != scratch);
    CR_VALIDATE(cri_all_finite(3 * jump->n, jump->f));
    for (int k = 0; k < jump->n_body; k++) {
        memcpy(jump->v + 6 * k, v + 6 * jump->body[k], 6 * sizeof *v);
    }
    multiply(jump, jump->v, jump->b);
    cri_contact_problem problem = problem_of(jump);
    jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
    jump->law_cache = world->law->solve(&problem, jump->f, has_cache, &jump->report, keep, scratch);

    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *Jf = CR_PUSH_RAW(scratch, double, 6 * jump->n_body);
    transpose_multiply(jump, jump->f, Jf);
    for (int k = 0; k < jump->n_body; k++) {
        for (int i = 6 * k; i < 6 * k + 6; i++) {
            v_out[6 * jump->body[k] + i - 6 * k] = jump->v[i] + jump->W[i] * Jf[i];
        }
    }
    cri_arena_rewind(scratch, mark);
}

// W o (J' z), pushed on scratch
static double *push_response(const cri_jump *jump, const double *z, cr_arena *scratch) {
    double *out = CR_PUSH_RAW(scratch, double, 6 * jump->n_body);
    transpose_multiply(jump, z, out);
    for (int i = 0; i < 6 * jump->n_body; i++) {
        out[i] *= jump->W[i];
    }
    return out;
}

static void add_term(outer_sum *sum, const double *contact, const double *body) {
    sum->contact[sum->n] = contact;
    sum->body[sum->n++] = body;
}

// passes J_adj on to poses and sizes, row by row
static void rows_vjp(const cri_world *world, const cri_jump *jump, const outer_sum *sum,
                     double *q_adj, const cri_derived *d_adj) {
    for (int a = 0; a < jump->n; a++) {
        double J_adj[2][3][6] = {{{0}}};
        for (int k = 0; k < sum->n; k++) {
            for (int sr = 0; sr < 6; sr++) {
                int s = sr / 3, r = sr % 3, place = jump->local[a][s];
                for (int i = 0; place >= 0 && i < 6; i++) {
                    J_adj[s][r][i] += sum->contact[k][3 * a + r] * sum->body[k][6 * place + i];
                }
            }
        }
        cri_row_at_vjp(world, &jump->row[a], jump->x, J_adj, q_adj, d_adj);
    }
}

static void coefficients_vjp(const cri_jump *jump, const cri_contact_adj *adj,
                             const cri_derived *d_adj) {
    for (int a = 0; a < jump->n; a++) {
        cri_pair_derived *pair = &d_adj->pair[jump->row[a].pair];
        pair->friction += adj->mu[a];
        pair->restitution += jump->has_e[a] ? adj->e[a] : 0.0;
    }
}

void cri_jump_solve_vjp(const cri_world *world, const cri_jump *jump, const double *v_out_adj,
                        double *v_adj, double *q_adj, const cri_derived *d_adj, double *target_adj,
                        cr_arena *scratch) {
    CR_ASSERT(jump->law_cache && v_adj && q_adj && target_adj);
    int n_local = 6 * jump->n_body;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *z = CR_PUSH_RAW(scratch, double, n_local);
    double *Wz = CR_PUSH_RAW(scratch, double, n_local);
    double *f_adj = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    double *W_adj = CR_PUSH(scratch, double, n_local);
    double *Jt = CR_PUSH_RAW(scratch, double, n_local);
    outer_sum sum = {0};

    // v+ = v + W J' f
    for (int i = 0; i < n_local; i++) {
        z[i] = v_out_adj[6 * jump->body[i / 6] + i % 6];
        Wz[i] = jump->W[i] * z[i];
    }
    transpose_multiply(jump, jump->f, Jt);
    for (int i = 0; i < n_local; i++) {
        W_adj[i] += z[i] * Jt[i];
    }
    add_term(&sum, jump->f, Wz);
    multiply(jump, Wz, f_adj);

    // f = law(A, b, mu, e, target)
    cri_contact_adj adj;
    cri_contact_problem problem = problem_of(jump);
    world->law->vjp(&problem, jump->law_cache, jump->f, f_adj, &adj, scratch);
    coefficients_vjp(jump, &adj, d_adj);
    memcpy(target_adj, adj.target, sizeof *target_adj * (size_t)jump->n);

    // b = J v,  A = J W J'
    add_term(&sum, adj.b, jump->v);
    for (int k = 0; k < adj.n_outer; k++) {
        double *right = push_response(jump, adj.right[k], scratch);
        double *left = push_response(jump, adj.left[k], scratch);
        add_term(&sum, adj.left[k], right);
        add_term(&sum, adj.right[k], left);
        for (int i = 0; i < n_local; i++) {
            W_adj[i] += left[i] * right[i] / (jump->W[i] * jump->W[i]);
        }
    }
    transpose_multiply(jump, adj.b, Jt);
    for (int k = 0; k < jump->n_body; k++) {
        cri_body_derived *body = &d_adj->body[jump->body[k]];
        for (int i = 0; i < 6; i++) {
            v_adj[6 * jump->body[k] + i] += z[6 * k + i] + Jt[6 * k + i];
        }
        body->inv_mass += W_adj[6 * k] + W_adj[6 * k + 1] + W_adj[6 * k + 2];
        body->inv_inertia = cri_v3_add(body->inv_inertia, cri_v3_load(W_adj + 6 * k + 3));
    }
    rows_vjp(world, jump, &sum, q_adj, d_adj);
    cri_arena_rewind(scratch, mark);
}

/// What A_tan z = J_tan W J' z + J W_tan J' z + J W J_tan' z needs.
typedef struct tangent_context {
    const cri_jump *jump;
    const cri_jump *tan; // a copy of jump whose rows hold J_tan
    const double *W_tan;
    double *work[3]; // (6 n_body), (6 n_body), (3n)
} tangent_context;

static void apply_A_tan(const void *context, const double *z, double *out) {
    const tangent_context *c = context;
    int n_local = 6 * c->jump->n_body;
    double *Jz = c->work[0], *w = c->work[1], *first = c->work[2];
    transpose_multiply(c->jump, z, Jz);
    transpose_multiply(c->tan, z, w);
    for (int i = 0; i < n_local; i++) {
        w[i] = c->jump->W[i] * w[i] + c->W_tan[i] * Jz[i];
        Jz[i] *= c->jump->W[i];
    }
    multiply(c->tan, Jz, first);
    multiply(c->jump, w, out);
    for (int i = 0; i < 3 * c->jump->n; i++) {
        out[i] += first[i];
    }
}

// tangents of the law's data that do not need A: b = J v, mu, e, target
static cri_contact_tan data_tangents(const cri_jump *jump, const cri_jump *rows_tan,
                                     const cri_jump_tan *tan, const double *v_tan,
                                     cr_arena *scratch) {
    double *b = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    double *b2 = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    double *mu = CR_PUSH_RAW(scratch, double, jump->n);
    double *e = CR_PUSH_RAW(scratch, double, jump->n);
    double *target = CR_PUSH(scratch, double, jump->n);
    multiply(rows_tan, jump->v, b);
    multiply(jump, v_tan, b2);
    for (int i = 0; i < 3 * jump->n; i++) {
        b[i] += b2[i];
    }
    for (int a = 0; a < jump->n; a++) {
        const cri_pair_derived *pair = &tan->d->pair[jump->row[a].pair];
        mu[a] = pair->friction;
        e[a] = jump->has_e[a] ? pair->restitution : 0.0;
        target[a] = tan->target ? tan->target[a] : 0.0;
    }
    return (cri_contact_tan){.apply_A = apply_A_tan, .b = b, .mu = mu, .e = e, .target = target};
}

void cri_jump_solve_jvp(const cri_world *world, const cri_jump *jump, const cri_jump_tan *tan,
                        double *v_out_tan, cr_arena *scratch) {
    CR_ASSERT(jump->law_cache && tan->v && tan->q && tan->d);
    int n_local = 6 * jump->n_body;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_jump rows_tan = *jump;
    rows_tan.row = CR_PUSH_RAW(scratch, cri_row, jump->n);
    double *v_tan = CR_PUSH_RAW(scratch, double, n_local);
    double *W_tan = CR_PUSH_RAW(scratch, double, n_local);
    double *f_tan = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    for (int a = 0; a < jump->n; a++) {
        cri_row_at_jvp(world, &jump->row[a], jump->x, tan->q, tan->d, rows_tan.row[a].J);
    }
    for (int k = 0; k < jump->n_body; k++) {
        memcpy(v_tan + 6 * k, tan->v + 6 * jump->body[k], 6 * sizeof *v_tan);
        load_inverse_mass(&tan->d->body[jump->body[k]], W_tan + 6 * k);
    }

    // f = law(A, b, mu, e, target)
    cri_contact_tan data = data_tangents(jump, &rows_tan, tan, v_tan, scratch);
    tangent_context context = {.jump = jump, .tan = &rows_tan, .W_tan = W_tan};
    context.work[0] = CR_PUSH_RAW(scratch, double, n_local);
    context.work[1] = CR_PUSH_RAW(scratch, double, n_local);
    context.work[2] = CR_PUSH_RAW(scratch, double, 3 * jump->n);
    data.context = &context;
    cri_contact_problem problem = problem_of(jump);
    world->law->jvp(&problem, jump->law_cache, jump->f, &data, f_tan, scratch);

    // v+ = v + W J' f
    double *Jf = CR_PUSH_RAW(scratch, double, n_local);
    double *Jf_tan = CR_PUSH_RAW(scratch, double, n_local);
    double *J_tan_f = CR_PUSH_RAW(scratch, double, n_local);
    transpose_multiply(jump, jump->f, Jf);
    transpose_multiply(jump, f_tan, Jf_tan);
    transpose_multiply(&rows_tan, jump->f, J_tan_f);
    for (int i = 0; i < n_local; i++) {
        v_out_tan[6 * jump->body[i / 6] + i % 6] =
            v_tan[i] + W_tan[i] * Jf[i] + jump->W[i] * (Jf_tan[i] + J_tan_f[i]);
    }
    cri_arena_rewind(scratch, mark);
}
