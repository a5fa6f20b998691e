// SPDX-License-Identifier: MIT
//
// Tensor product of cubic B-splines on a regular grid.
//
//   weights  1/6 ((1-t)^3, 4 - 6t^2 + 3t^3, 1 + 3t + 3t^2 - 3t^3, t^3), derivatives over h, h^2
//   filter   (c[i-1] + 4 c[i] + c[i+1])/6 = f[i] along each axis, straight at the ends: c[0] = f[0]
//   outside  q the nearest point of the box: G(q) + |x - q|
//
// (Unser, Aldroubi, Eden 1993.) The result is linear in the coefficients, so that the adjoint is
// the product of the same weights. At sharp edges of a sampled surface the splines ring within a
// spacing or two.

#include "geometry/field/grid.h"

#include "base/nn/lanes.h"
#include "geometry/mesh/mass.h"
#include "geometry/mesh/tri_tree.h"

#include <math.h>
#include <string.h>

enum { CRI_TRIANGLES_MOST = CRI_MESH_MOST };

/// The cell of a point.
typedef struct cell {
    size_t start;    // of the first coefficient
    double at[3];    // in the cell, 0 to 1
    double per_h;    // 1/h
    bool is_out[3];  // axes along which x is outside of the box
    double apart[3]; // x - q
    double distance;
} cell;

/// Weights of a point's 4^3 coefficients: axis, derivative, coefficient.
typedef double weights[3][3][4];

/// One tridiagonal system for every line along an axis. Entry (i, k) of a block stands at i * inner
/// + k. Six times the matrix has 1 4 1 in its rows, 6 alone in the first and the last.
typedef struct lines {
    int outer, n;
    size_t inner;
    bool is_transposed;
} lines;

enum { BORDER = 3 }; // cells around the mesh; the field leaves out the outermost

// volume below which a mesh is flat, as a share of the cube of its size: rounding of single
// precision
static const double flat = 1e-9;

typedef struct sampling {
    const cri_tri_tree *tree;
    const cri_tri_dipole *dipole;
    int n[3];
    cri_vec3 origin;
    double h;
    double *phi;
} sampling;

// ---- splines ------------------------------------------------------------------------------------

// the four weights at once, as polynomials of t
CRI_INLINE void find_weights(const cell *c, cri_field_order order, weights w) {
    const cri_lanes k0 = {1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0, 0.0}, k1 = {-0.5, 0.0, 0.5, 0.0},
                    k2 = {0.5, -1.0, 0.5, 0.0}, k3 = {-1.0 / 6.0, 0.5, -0.5, 1.0 / 6.0};
    for (int a = 0; a < 3; a++) {
        double t = c->at[a];
        cri_lanes none = k0 + t * (k1 + t * (k2 + t * k3));
        cri_lanes_store(&none, w[a][0]);
        if (order != CRI_FIELD_PHI) {
            cri_lanes first = c->per_h * (k1 + t * (2.0 * k2 + t * (3.0 * k3)));
            cri_lanes second = c->per_h * c->per_h * (2.0 * k2 + t * (6.0 * k3));
            cri_lanes_store(&first, w[a][1]);
            cri_lanes_store(&second, w[a][2]);
        }
    }
}

static void find_cell(const cri_grid *grid, cri_vec3 x, cell *c) {
    const double point[3] = {x.x, x.y, x.z};
    const double origin[3] = {grid->origin.x, grid->origin.y, grid->origin.z};
    double square = 0.0, per_h = 1.0 / grid->h;
    c->start = 0;
    c->per_h = per_h;
    for (int a = 0; a < 3; a++) {
        double last = grid->n[a] - 2;
        double u = (point[a] - origin[a]) * per_h;
        double inside = u > 1.0 ? (u < last ? u : last) : 1.0; // also of a NaN
        c->is_out[a] = !(inside == u);
        c->apart[a] = c->is_out[a] ? (u - inside) * grid->h : 0.0;
        square += c->apart[a] * c->apart[a];
        int i = (int)inside;
        i = i > grid->n[a] - 3 ? grid->n[a] - 3 : i;
        c->start = c->start * (size_t)grid->n[a] + (size_t)(i - 1);
        c->at[a] = inside - i;
    }
    c->distance = square > 0.0 ? sqrt(square) : 0.0;
}

CRI_INLINE double dot4(const double *a, const double *b) {
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
}

// sums along y, then x, of whole rows, and along z at last
CRI_INLINE void sum_value_body(const cri_grid *grid, const cell *c, cri_field_value *out) {
    size_t row = (size_t)grid->n[2], slab = row * (size_t)grid->n[1];
    weights w;
    find_weights(c, CRI_FIELD_PHI, w);
    cri_lanes sum = {0.0}, line;
    for (int i = 0; i < 4; i++) {
        const double *at = grid->coef + c->start + (size_t)i * slab;
        cri_lanes part = {0.0};
        for (int j = 0; j < 4; j++, at += row) {
            cri_lanes_load(at, &line);
            part += w[1][0][j] * line;
        }
        sum += w[0][0][i] * part;
    }
    double s[4];
    cri_lanes_store(&sum, s);
    out->phi = dot4(s, w[2][0]);
}

CRI_LANES(sum_value, (const cri_grid *grid, const cell *c, cri_field_value *out), (grid, c, out))

// all derivatives up to the second
CRI_INLINE void sum_all_body(const cri_grid *grid, const cell *c, cri_field_value *out) {
    size_t row = (size_t)grid->n[2], slab = row * (size_t)grid->n[1];
    weights w;
    find_weights(c, CRI_FIELD_HESSIAN, w);
    double(*wx)[4] = w[0], (*wy)[4] = w[1], (*wz)[4] = w[2];
    // rows by their derivatives along x and y: none, x, y, xx, xy, yy
    cri_lanes sum[6] = {{0.0}}, line;
    for (int i = 0; i < 4; i++) {
        const double *at = grid->coef + c->start + (size_t)i * slab;
        cri_lanes y0 = {0.0}, y1 = {0.0}, y2 = {0.0};
        for (int j = 0; j < 4; j++, at += row) {
            cri_lanes_load(at, &line);
            y0 += wy[0][j] * line;
            y1 += wy[1][j] * line;
            y2 += wy[2][j] * line;
        }
        sum[0] += wx[0][i] * y0;
        sum[1] += wx[1][i] * y0;
        sum[2] += wx[0][i] * y1;
        sum[3] += wx[2][i] * y0;
        sum[4] += wx[1][i] * y1;
        sum[5] += wx[0][i] * y2;
    }
    double s[6][4];
    for (int k = 0; k < 6; k++) {
        cri_lanes_store(&sum[k], s[k]);
    }
    out->phi = dot4(s[0], wz[0]);
    out->g = cri_v3(dot4(s[1], wz[0]), dot4(s[2], wz[0]), dot4(s[0], wz[1]));
    const double H[6] = {dot4(s[3], wz[0]), dot4(s[5], wz[0]), dot4(s[0], wz[2]),
                         dot4(s[4], wz[0]), dot4(s[1], wz[1]), dot4(s[2], wz[1])};
    memcpy(out->H, H, sizeof H);
}

CRI_LANES(sum_all, (const cri_grid *grid, const cell *c, cri_field_value *out), (grid, c, out))

// G(q) + |x - q|: axes outside of the box have the slope of the distance alone
static void add_outside(const cell *c, cri_field_value *out) {
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    double g[3], e[3];
    cri_v3_store(out->g, g);
    for (int a = 0; a < 3; a++) {
        e[a] = c->apart[a] / c->distance;
        g[a] = c->is_out[a] ? e[a] : g[a];
    }
    out->g = cri_v3_load(g);
    for (int k = 0; k < 6; k++) {
        int i = pair[k][0], j = pair[k][1];
        if (c->is_out[i] || c->is_out[j]) {
            out->H[k] = c->is_out[i] && c->is_out[j] ? ((i == j) - e[i] * e[j]) / c->distance : 0.0;
        }
    }
}

void cri_grid_eval(const cri_grid *grid, cri_vec3 x, cri_field_order order, cri_field_value *out) {
    CR_ASSERT(grid && out);
    cell c;
    find_cell(grid, x, &c);
    if (order == CRI_FIELD_PHI) {
        sum_value(grid, &c, out);
        out->phi += c.distance;
        return;
    }
    sum_all(grid, &c, out);
    if (c.distance > 0.0) {
        add_outside(&c, out);
    }
    out->phi += c.distance;
}

void cri_grid_eval_vjp(const cri_grid *grid, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                       double *coef_adj) {
    CR_ASSERT(grid && coef_adj);
    size_t row = (size_t)grid->n[2], slab = row * (size_t)grid->n[1];
    cell c;
    weights w;
    find_cell(grid, x, &c);
    find_weights(&c, CRI_FIELD_GRADIENT, w);
    double b[3];
    cri_v3_store(g_adj, b);
    for (int a = 0; a < 3; a++) {
        b[a] = c.is_out[a] ? 0.0 : b[a];
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            double *at = coef_adj + c.start + (size_t)i * slab + (size_t)j * row;
            double wx = w[0][0][i], wy = w[1][0][j];
            double across = phi_adj * wx * wy + b[0] * w[0][1][i] * wy + b[1] * wx * w[1][1][j];
            for (int k = 0; k < 4; k++) {
                at[k] += across * w[2][0][k] + b[2] * wx * wy * w[2][1][k];
            }
        }
    }
}

// ---- filter ------------------------------------------------------------------------------------

static double diagonal(const lines *l, int i) {
    return i == 0 || i == l->n - 1 ? 6.0 : 4.0;
}

static double below(const lines *l, int i) {
    return i == (l->is_transposed ? 1 : l->n - 1) ? 0.0 : 1.0;
}

static double above(const lines *l, int i) {
    return i == (l->is_transposed ? l->n - 2 : 0) ? 0.0 : 1.0;
}

static void solve_block(const lines *l, double *f) {
    double pivot[CRI_GRID_MOST], factor;
    pivot[0] = diagonal(l, 0);
    for (int i = 1; i < l->n; i++) {
        factor = below(l, i) / pivot[i - 1];
        pivot[i] = diagonal(l, i) - factor * above(l, i - 1);
        double *at = f + (size_t)i * l->inner;
        const double *before = at - l->inner;
        for (size_t k = 0; k < l->inner; k++) {
            at[k] -= factor * before[k];
        }
    }
    for (int i = l->n - 1; i >= 0; i--) {
        double *at = f + (size_t)i * l->inner;
        const double *behind = i < l->n - 1 ? at + l->inner : at;
        double up = i < l->n - 1 ? above(l, i) / 6.0 : 0.0;
        for (size_t k = 0; k < l->inner; k++) {
            at[k] = (at[k] - up * behind[k]) * 6.0 / pivot[i];
        }
    }
}

static void filter(const int n[3], bool is_transposed, double *f) {
    for (int a = 0; a < 3; a++) {
        CR_ASSERT(n[a] >= CRI_GRID_LEAST && n[a] <= CRI_GRID_MOST);
        lines l = {.outer = 1, .n = n[a], .inner = 1, .is_transposed = is_transposed};
        for (int b = 0; b < 3; b++) {
            l.outer *= b < a ? n[b] : 1;
            l.inner *= b > a ? (size_t)n[b] : 1;
        }
        for (int o = 0; o < l.outer; o++) {
            solve_block(&l, f + (size_t)o * (size_t)l.n * l.inner);
        }
    }
}

void cri_grid_filter(const int n[3], double *f) {
    filter(n, false, f);
}

void cri_grid_filter_vjp(const int n[3], double *f_adj) {
    filter(n, true, f_adj);
}

// largest slope at the samples, where the splines' own box is
static double steepest(const cri_grid *grid) {
    double most = 1.0;
    for (int i = 1; i < grid->n[0] - 1; i++) {
        for (int j = 1; j < grid->n[1] - 1; j++) {
            for (int k = 1; k < grid->n[2] - 1; k++) {
                cri_field_value v;
                cri_vec3 at = cri_v3_mad(grid->origin, grid->h, cri_v3(i, j, k));
                cri_grid_eval(grid, at, CRI_FIELD_GRADIENT, &v);
                most = fmax(most, cri_v3_dot(v.g, v.g));
            }
        }
    }
    return sqrt(most);
}

static void find_surface(const cri_grid *grid, const double *sample, cri_vec3 *lower,
                         cri_vec3 *upper) {
    int least[3] = {grid->n[0], grid->n[1], grid->n[2]}, most[3] = {0, 0, 0};
    for (int i = 0; i < grid->n[0]; i++) {
        for (int j = 0; j < grid->n[1]; j++) {
            for (int k = 0; k < grid->n[2]; k++, sample++) {
                const int at[3] = {i, j, k};
                for (int a = 0; a < 3 && *sample < 0.0; a++) {
                    least[a] = at[a] < least[a] ? at[a] : least[a];
                    most[a] = at[a] > most[a] ? at[a] : most[a];
                }
            }
        }
    }
    // the surface is less than a spacing away from samples inside, and splines ring a little
    *lower =
        cri_v3_mad(grid->origin, grid->h, cri_v3(least[0] - 1.5, least[1] - 1.5, least[2] - 1.5));
    *upper = cri_v3_mad(grid->origin, grid->h, cri_v3(most[0] + 1.5, most[1] + 1.5, most[2] + 1.5));
}

bool cri_grid_of_samples(const int n[3], cri_vec3 origin, double h, const double *sample,
                         cr_arena *arena, cri_grid *out) {
    CR_ASSERT(sample && out && h > 0.0);
    size_t n_sample = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    double *coef = CR_PUSH_RAW(arena, double, n_sample);
    if (!coef) {
        return false;
    }
    memcpy(coef, sample, n_sample * sizeof *coef);
    cri_grid_filter(n, coef);
    *out = (cri_grid){.n = {n[0], n[1], n[2]}, .origin = origin, .h = h, .coef = coef};
    out->lipschitz = steepest(out);
    find_surface(out, sample, &out->lower, &out->upper);
    return true;
}

// ---- the distance of a mesh ---------------------------------------------------------------------

// Distance: the nearest triangle, found in the tree; a neighbour's distance plus the spacing bounds
// it. Sign: two neighbours of which one is more than the spacing away from the surface have the
// same; elsewhere the winding number decides, inside is w > 1/2, so that meshes that cut themselves
// have an inside too.

static void find_box(const cri_triangles *mesh, double lower[3], double upper[3]) {
    for (int a = 0; a < 3; a++) {
        lower[a] = INFINITY;
        upper[a] = -INFINITY;
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->n_vertex; i++) {
        lower[i % 3] = fmin(lower[i % 3], mesh->vertex[i]);
        upper[i % 3] = fmax(upper[i % 3], mesh->vertex[i]);
    }
}

static double longest(const double lower[3], const double upper[3]) {
    return fmax(upper[0] - lower[0], fmax(upper[1] - lower[1], upper[2] - lower[2]));
}

cr_status cri_triangles_check(const cri_triangles *mesh, cr_error *err) {
    if (mesh->n_face < 1 || mesh->n_vertex < 1) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh has no triangles; a closed surface is needed");
    }
    if (mesh->n_face > CRI_TRIANGLES_MOST) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh has %d triangles, at most %d are possible; simplify it",
                        mesh->n_face, CRI_TRIANGLES_MOST);
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->n_face; i++) {
        if (mesh->face[i] < 0 || mesh->face[i] >= mesh->n_vertex) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "triangle %zu of the mesh has vertex %d, but there are %d", i / 3,
                            mesh->face[i], mesh->n_vertex);
        }
    }
    if (!cri_all_finite(3 * mesh->n_vertex, mesh->vertex)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a vertex of the mesh is not finite");
    }
    int side[2];
    if (!cri_mesh_is_closed(mesh->n_face, mesh->face, side)) {
        if (side[0] < 0) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "every triangle of the mesh uses a vertex twice");
        }
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh is not closed: the side from vertex %d to vertex %d does not "
                        "belong to two triangles that run round in one sense; close its holes",
                        side[0], side[1]);
    }
    cri_mesh_mass mass;
    double lower[3], upper[3];
    find_box(mesh, lower, upper);
    double size = longest(lower, upper);
    bool is_solid =
        cri_mesh_integrals(mesh->n_vertex, mesh->vertex, mesh->n_face, mesh->face, &mass);
    if (!is_solid || fabs(mass.volume) < flat * size * size * size) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the mesh encloses no volume");
    }
    if (mass.volume < 0.0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh is inside out: its triangles run clockwise seen from outside; "
                        "turn them round");
    }
    return CR_OK;
}

// ---- samples -----------------------------------------------------------------------------------

// the neighbour before (i, j, k), or -1
static long neighbour(const sampling *s, int i, int j, int k) {
    long at = ((long)i * s->n[1] + j) * s->n[2] + k;
    if (k > 0) {
        return at - 1;
    }
    if (j > 0) {
        return at - s->n[2];
    }
    return i > 0 ? at - (long)s->n[1] * s->n[2] : -1;
}

static void sample_all(const sampling *s) {
    long at = 0;
    for (int i = 0; i < s->n[0]; i++) {
        for (int j = 0; j < s->n[1]; j++) {
            for (int k = 0; k < s->n[2]; k++, at++) {
                cri_vec3 x = cri_v3_mad(s->origin, s->h, cri_v3(i, j, k));
                long before = neighbour(s, i, j, k);
                double last = before < 0 ? 0.0 : s->phi[before];
                double bound = before < 0 ? INFINITY : (fabs(last) + s->h) * (1.0 + 1e-9);
                double distance = cri_tri_tree_distance(s->tree, x, bound);
                bool is_inside = last < 0.0;
                if (before < 0 || fmax(fabs(last), distance) <= s->h * (1.0 + 1e-9)) {
                    is_inside = cri_tri_tree_winding(s->tree, s->dipole, x) > 0.5;
                }
                s->phi[at] = is_inside ? -distance : distance;
            }
        }
    }
}

cr_status cri_grid_of_mesh(const cri_triangles *mesh, int n_longest, cr_arena *arena, cri_grid *out,
                           cr_error *err) {
    CR_ASSERT(mesh && arena && out);
    *out = (cri_grid){0};
    CR_TRY(cri_triangles_check(mesh, err));
    if (n_longest < 2 * BORDER + 4 || n_longest > CRI_GRID_MOST / 2) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a grid of %d samples along its longest side: %d to %d are possible",
                        n_longest, 2 * BORDER + 4, CRI_GRID_MOST / 2);
    }
    double lower[3], upper[3], start[3];
    find_box(mesh, lower, upper);
    sampling s = {.h = longest(lower, upper) / (n_longest - 1 - 2 * BORDER)};
    size_t n_sample = 1;
    for (int a = 0; a < 3; a++) {
        int cells = (int)ceil((upper[a] - lower[a]) / s.h - 1e-9) + 2 * BORDER;
        s.n[a] = cells + 1;
        start[a] = 0.5 * (lower[a] + upper[a]) - 0.5 * cells * s.h;
        n_sample *= (size_t)s.n[a];
    }
    s.origin = cri_v3_load(start);
    cr_arena *own = cri_arena_create(1 << 16), *scratch = cri_arena_create(1 << 16);
    cri_tri_tree tree;
    bool is_good = own && scratch && cri_tri_tree_build(mesh, own, scratch, &tree);
    if (is_good) {
        cri_tri_dipole *dipole = CR_PUSH_RAW(own, cri_tri_dipole, tree.n_node);
        s.phi = CR_PUSH_RAW(own, double, n_sample);
        s.tree = &tree;
        s.dipole = dipole;
        is_good = dipole && s.phi;
        if (is_good) {
            cri_tri_tree_dipoles(&tree, dipole);
            sample_all(&s);
            is_good = cri_grid_of_samples(s.n, s.origin, s.h, s.phi, arena, out);
        }
    }
    cri_arena_destroy(own);
    cri_arena_destroy(scratch);
    return is_good
               ? CR_OK
               : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a grid of %zu samples", n_sample);
}
