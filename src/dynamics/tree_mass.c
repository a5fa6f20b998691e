// SPDX-License-Identifier: MIT
//
// Mass matrix of a unit, its sparse factor, and the solve with equalities.
//
// Composite inertias (Featherstone, Rigid Body Dynamics Algorithms, section 6.2): I_parent += I_n
// from the leaves, M_ij = S_i . I_n S_j for dof i of node n and its ancestors j, plus armature.
// Then
//
//   M + h D = L' D L     from the last dof to the first, entries of ancestors only: no fill-in
//
// Rows of ancestors are beginnings of the row itself, so all loops run over contiguous numbers.
//
// Equalities: G = E (M + h D)^-1 E', scaled, by Cholesky with pivoting. Rows behind the rank get no
// multiplier: they follow from the others, so w is unique.

#include "dynamics/tree_parts.h"

#include "base/math/dense.h"

#include <string.h>

/// Pivots of the scaled G below this are redundant rows: G is rounded to about 1e-15, which leaves
/// five digits on either side.
#define RANK_TOLERANCE 1e-10

void cri_tree_body_inertia(const cri_link_derived *link, const cri_mat3 *R, cri_vec3 place,
                           cri_spatial_inertia *sum) {
    cri_vec3 c = cri_v3_add(place, cri_m3_mul(R, link->com));
    cri_spatial_inertia I = {.mass = link->mass, .h = cri_v3_scale(link->mass, c)};
    cri_inertia_rotate(R, link->J, I.J);
    cri_inertia_add_moment(cri_v3_scale(0.5, I.h), c, I.J);
    cri_inertia_accumulate(&I, sum);
}

// rows of the dofs of node n, whose subtree has the inertia I
static void mass_rows(cri_tree *tree, const cri_tree_node *node, const cri_spatial_inertia *I,
                      double armature) {
    const cri_tree_plan *plan = tree->plan;
    for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
        cri_spatial F = cri_inertia_apply(I, tree->S[i]);
        for (int e = plan->row[i]; e < plan->row[i + 1]; e++) {
            tree->M[e] = cri_sp_dot(F, tree->S[plan->ancestor[e]]);
        }
        tree->M[plan->row[i + 1] - 1] += armature;
    }
}

void cri_tree_mass(cri_tree *tree) {
    const cri_tree_plan *plan = tree->plan;
    const cri_unit *unit = tree->unit;
    size_t n_byte = sizeof *tree->I * (size_t)(plan->n_node + 1);
    memset(tree->I, 0, n_byte);
    for (int b = 0; b < plan->n_body; b++) {
        cri_tree_body_inertia(tree->d->link + unit->first_body + b, &tree->pose[b].R,
                              tree->place[b], tree->I + plan->body_node[b]);
    }
    cri_spatial_inertia *sum = tree->plan->composite;
    memcpy(sum, tree->I, n_byte);
    for (int k = plan->n_node; k > 0; k--) {
        const cri_tree_node *node = plan->node + k;
        double armature = tree->d->joint[unit->first_joint + k - 1].armature;
        mass_rows(tree, node, sum + k, armature);
        if (node->parent > 0) {
            cri_inertia_accumulate(sum + k, sum + node->parent);
        }
    }
}

// L' D L of M + h D
static void factor_tree(const cri_tree *tree, double h, double *H) {
    const cri_tree_plan *plan = tree->plan;
    memcpy(H, tree->M, sizeof *H * (size_t)plan->n_entry);
    if (h > 0.0) {
        for (int i = 0; i < plan->n_v; i++) {
            int joint = tree->mech->dof_joint[tree->unit->first_v + i];
            H[plan->row[i + 1] - 1] += h * tree->d->joint[joint].damping;
        }
        for (int i = 0; i < plan->n_actuator; i++) {
            int dof;
            double c;
            if (cri_tree_drive_damping(tree, i, &c, &dof)) {
                H[plan->row[dof + 1] - 1] += h * c;
            }
        }
    }
    for (int i = plan->n_v - 1; i >= 0; i--) {
        double *Hi = H + plan->row[i];
        const int *ancestor = plan->ancestor + plan->row[i];
        int depth = plan->row[i + 1] - plan->row[i] - 1;
        double inverse = 1.0 / Hi[depth];
        for (int k = depth - 1; k >= 0; k--) {
            double *Hk = H + plan->row[ancestor[k]], l = Hi[k] * inverse;
            for (int e = 0; e <= k; e++) {
                Hk[e] -= l * Hi[e];
            }
            Hi[k] = l;
        }
    }
}

void cri_tree_back(const cri_tree *tree, const cri_tree_factor *factor, double *x) {
    const cri_tree_plan *plan = tree->plan;
    for (int i = plan->n_v - 1; i >= 0; i--) {
        int end = plan->row[i + 1] - 1;
        // what acts on one leg is zero on the others
        for (int e = plan->row[i]; x[i] != 0.0 && e < end; e++) {
            x[plan->ancestor[e]] -= factor->H[e] * x[i];
        }
    }
    for (int i = 0; i < plan->n_v; i++) {
        int end = plan->row[i + 1] - 1;
        double sum = x[i] / factor->H[end];
        for (int e = plan->row[i]; e < end; e++) {
            sum -= factor->H[e] * x[plan->ancestor[e]];
        }
        x[i] = sum;
    }
}

void cri_tree_half_rows(const cri_tree *tree, int n, const double *G, double *Z) {
    // M = L' D L, so that z = D^-1/2 L'^-1 g
    const cri_tree_plan *plan = tree->plan;
    const double *H = tree->plain.H;
    memcpy(Z, G, sizeof *Z * (size_t)n * (size_t)plan->n_v);
    for (int r = 0; r < n; r++, Z += plan->n_v) {
        for (int i = plan->n_v - 1; i >= 0; i--) {
            double z = Z[i];
            if (z == 0.0) {
                continue;
            }
            int end = plan->row[i + 1] - 1;
            for (int e = plan->row[i]; e < end; e++) {
                Z[plan->ancestor[e]] -= H[e] * z;
            }
            Z[i] = z / sqrt(H[end]);
        }
    }
}

// ---- equalities --------------------------------------------------------------------------------

// Cholesky of the scaled G in place, rows in the order of their pivots
static void factor_rows(int n, cri_tree_factor *f) {
    double *G = f->G;
    f->rank = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = G[f->order[i] * n + f->order[i]] > G[f->order[best] * n + f->order[best]] ? i
                                                                                             : best;
        }
        int p = f->order[best];
        f->order[best] = f->order[k];
        f->order[k] = p;
        double pivot = G[p * n + p];
        if (!(pivot > RANK_TOLERANCE)) {
            return;
        }
        // column k of the factor stands in column p of G
        double root = sqrt(pivot);
        G[p * n + p] = root;
        for (int i = k + 1; i < n; i++) {
            G[f->order[i] * n + p] /= root;
        }
        for (int i = k + 1; i < n; i++) {
            int a = f->order[i];
            for (int j = k + 1; j <= i; j++) {
                int b = f->order[j];
                G[a * n + b] -= G[a * n + p] * G[b * n + p];
                G[b * n + a] = G[a * n + b];
            }
        }
        f->rank = k + 1;
    }
}

// nu = G^-1 nu over the rows within the rank, 0 elsewhere
static void solve_rows(int n, const cri_tree_factor *f, double *nu) {
    for (int i = 0; i < n; i++) {
        nu[i] *= f->scale[i];
    }
    for (int k = 0; k < f->rank; k++) {
        int p = f->order[k];
        nu[p] /= f->G[p * n + p];
        for (int i = k + 1; i < f->rank; i++) {
            nu[f->order[i]] -= f->G[f->order[i] * n + p] * nu[p];
        }
    }
    for (int k = f->rank - 1; k >= 0; k--) {
        int p = f->order[k];
        for (int i = k + 1; i < f->rank; i++) {
            nu[p] -= f->G[f->order[i] * n + p] * nu[f->order[i]];
        }
        nu[p] /= f->G[p * n + p];
    }
    for (int k = f->rank; k < n; k++) {
        nu[f->order[k]] = 0.0;
    }
    for (int i = 0; i < n; i++) {
        nu[i] *= f->scale[i];
    }
}

// rows of one kind in an equality are measured by the largest of them: points by points, turns by
// turns
static void scale_rows(const cri_tree *tree, cri_tree_factor *f) {
    int n = tree->plan->n_row;
    for (int first = 0, e = 0; e < tree->plan->n_equality; e++) {
        cri_equality_kind kind = tree->mech->equality[tree->unit->first_equality + e].kind;
        int n_block = kind == CRI_EQUALITY_WELD ? 2 : 1;
        int size = kind == CRI_EQUALITY_CONNECT || kind == CRI_EQUALITY_WELD ? 3 : 1;
        for (int block = 0; block < n_block; block++, first += size) {
            double largest = 0.0;
            for (int i = first; i < first + size; i++) {
                largest = fmax(largest, f->G[i * n + i]);
            }
            for (int i = first; i < first + size; i++) {
                f->scale[i] = largest > 0.0 ? 1.0 / sqrt(largest) : 0.0;
            }
        }
    }
}

void cri_tree_factor_mass(const cri_tree *tree, double h, cri_tree_factor *factor) {
    CR_ASSERT(h >= 0.0);
    const cri_tree_plan *plan = tree->plan;
    int n = plan->n_row, n_v = plan->n_v;
    factor_tree(tree, h, factor->H);
    if (n == 0) {
        return;
    }
    memcpy(factor->Y, tree->E, sizeof(double) * (size_t)n * (size_t)n_v);
    for (int i = 0; i < n; i++) {
        factor->order[i] = i;
        cri_tree_back(tree, factor, factor->Y + i * n_v);
        for (int j = 0; j < n; j++) {
            factor->G[i * n + j] = cri_dot(n_v, tree->E + j * n_v, factor->Y + i * n_v);
        }
    }
    scale_rows(tree, factor);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            factor->G[i * n + j] *= factor->scale[i] * factor->scale[j];
        }
    }
    factor_rows(n, factor);
}

void cri_tree_back_tied(const cri_tree *tree, const cri_tree_factor *factor, const double *e,
                        double *w, double *nu) {
    int n = tree->plan->n_row, n_v = tree->plan->n_v;
    cri_tree_back(tree, factor, w);
    for (int i = 0; i < n; i++) {
        nu[i] = cri_dot(n_v, tree->E + i * n_v, w) - (e ? e[i] : 0.0);
    }
    if (n > 0) {
        solve_rows(n, factor, nu);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_v; k++) {
            w[k] -= factor->Y[i * n_v + k] * nu[i];
        }
    }
}

// ---- products ----------------------------------------------------------------------------------

void cri_tree_multiply(const cri_tree *tree, const double *g, double *out) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(g != out);
    g += tree->unit->first_v;
    out += tree->unit->first_v;
    for (int i = 0; i < plan->n_v; i++) {
        int end = plan->row[i + 1] - 1;
        double sum = tree->M[end] * g[i];
        for (int e = plan->row[i]; e < end; e++) {
            int k = plan->ancestor[e];
            sum += tree->M[e] * g[k];
            out[k] += tree->M[e] * g[i];
        }
        out[i] = sum;
    }
}

void cri_tree_solve(const cri_tree *tree, const double *g, double *w, double *nu) {
    CR_ASSERT(g && w);
    const cri_tree_plan *plan = tree->plan;
    double *own = w + tree->unit->first_v;
    if (w != g) {
        memcpy(own, g + tree->unit->first_v, sizeof *w * (size_t)plan->n_v);
    }
    cri_tree_back_tied(tree, &tree->plain, NULL, own, nu ? nu : tree->plan->work_row);
}
