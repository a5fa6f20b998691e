// SPDX-License-Identifier: MIT
//
// Marching cubes (Lorensen, Cline 1987) with a table made by rule (tools/make_cube_table), first of
// samples, then of a field, with the derivatives of its vertices.
//
// A vertex lies on the edge from sample a to sample b along the unit vector e:
//
//   v = x_a + s h e,  s = phi_a/(phi_a - phi_b)
//
// An ambiguous face cuts off its corners inside, whatever the values: both cells that share it
// agree, and the surface is a manifold; it need not be the topology of the trilinear interpolant.
// Slabs of cells are done one by one along x, and vertices are numbered within two slices.

#include "geometry/mesh/march.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { CRI_MARCH_MOST = 1 << 24 }; // samples of a grid

/// Numbers of vertices at the two slices of a slab. Entry j * nz + k.
typedef struct slab {
    int *edge[3][2]; // along x (one only), y, z
} slab;

typedef struct march {
    const cri_march_box *box;
    const double *phi;
    unsigned char *is_in; // (n) phi < 0
    int row, slice;       // samples in a row along z, and in a slice across x
    slab slab;
    cri_surface *out;
} march;

enum {
    LEAF = 2,    // cells along the side of the smallest cube
    BATCH = 256, // points at a time
    NEWTON = 12, // steps of Newton's method before intervals are halved
    MOST = 60    // steps in all
};

// a step of this part of an edge is the last: the next one would be below its square
static const double short_step = 1e-9;

// slopes along an edge below this part of the chord's count as that
static const double least_slope = 1e-9;

typedef struct sampler {
    const cri_field *field;
    const cri_march_box *box;
    double lipschitz;
    double *phi;
    unsigned char *is_done;
    int n_wait; // samples that wait for their value
    size_t wait[BATCH];
    double at[3 * BATCH], value[BATCH];
} sampler;

/// Cells from lower to upper along each axis.
typedef struct cube {
    int lower[3], upper[3];
} cube;

/// A vertex on its way to the zero: it lies in (low, high) of its edge, whose first end is inside
/// or outside like all before the zero.
typedef struct zero {
    int vertex;
    double low, high;
} zero;

static const cri_vec3 nothing = {0.0, 0.0, 0.0};

// ---- counting ----------------------------------------------------------------------------------

// the eight corners of the cell at (i, j, k): of slice i in bits 0, 2, 4, 6
static unsigned quad(const march *m, const unsigned char *at) {
    return (unsigned)(at[0] | at[m->slice] << 1 | at[m->row] << 2 | at[m->slice + m->row] << 3);
}

// the first byte in memory that is not 0; a lower one will do
static int first_byte(uint64_t word) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_ctzll(word) / 8;
#else
    (void)word;
    return 0;
#endif
}

// The next place from k on whose flags may differ from those behind it in this row or in the rows
// step[0], step[1] and both behind it, n flags long; whole words of nine equal flags are left out.
static int next_mixed(const unsigned char *at, int k, int n, const int step[2]) {
    for (; k + 9 <= n; k += 8) {
        uint64_t even = at[k] ? 0x0101010101010101u : 0, differ = 0;
        for (int r = 0; r < 4; r++) {
            const unsigned char *row = at + k + (r & 1 ? step[0] : 0) + (r & 2 ? step[1] : 0);
            uint64_t here, next;
            memcpy(&here, row, sizeof here);
            memcpy(&next, row + 1, sizeof next);
            differ |= (here ^ even) | (next ^ even);
        }
        if (differ) {
            return k + first_byte(differ);
        }
    }
    return k;
}

static int n_triangle_of(unsigned code) {
    int n = 0;
    while (cri_cube_table[code][n] >= 0) {
        n += 3;
    }
    return n / 3;
}

static bool is_at_border(const cri_march_box *box, int i, int j) {
    return i == 0 || j == 0 || i == box->n[0] - 1 || j == box->n[1] - 1;
}

// fills is_in; false when something inside lies at the border
static bool mark_inside(march *m, bool *is_any) {
    bool is_good = true;
    size_t at = 0;
    *is_any = false;
    for (int i = 0; i < m->box->n[0]; i++) {
        for (int j = 0; j < m->box->n[1]; j++, at += (size_t)m->row) {
            unsigned any = 0;
            for (int k = 0; k < m->row; k++) {
                m->is_in[at + (size_t)k] = m->phi[at + (size_t)k] < 0.0;
                any |= m->is_in[at + (size_t)k];
            }
            unsigned ends = m->is_in[at] | m->is_in[at + (size_t)m->row - 1];
            is_good = is_good && !ends && !(any && is_at_border(m->box, i, j));
            *is_any = *is_any || any;
        }
    }
    return is_good;
}

// vertices and triangles
static void count(const march *m, const unsigned char n_triangle[256], long long *n_vertex,
                  long long *n_face) {
    const int *n = m->box->n;
    *n_vertex = *n_face = 0;
    for (int i = 0; i < n[0] - 1; i++) {
        for (int j = 0; j < n[1] - 1; j++) {
            const unsigned char *at = m->is_in + (size_t)i * (size_t)m->slice + j * m->row;
            const int step[2] = {m->slice, m->row};
            for (int k = next_mixed(at, 0, n[2], step); k < n[2] - 1;
                 k = next_mixed(at, k + 1, n[2], step)) {
                unsigned q = quad(m, at + k), next = quad(m, at + k + 1);
                // the three edges at the first corner; those at the far border are not crossed
                *n_vertex += ((q ^ q >> 1) & 1) + ((q ^ q >> 2) & 1) + ((q ^ next) & 1);
                *n_face += n_triangle[q | next << 4];
            }
        }
    }
}

// ---- vertices ----------------------------------------------------------------------------------

// the vertex on the edge from (i, j, k) along axis, when it is crossed
static void add_vertex(march *m, int axis, int side, const int at[3]) {
    const int i = at[0], j = at[1], k = at[2];
    const int step[3] = {m->slice, m->row, 1};
    size_t a = (size_t)i * (size_t)m->slice + (size_t)(j * m->row + k), b = a + (size_t)step[axis];
    if (m->is_in[a] == m->is_in[b]) {
        return;
    }
    cri_surface *s = m->out;
    int v = s->n_vertex++;
    m->slab.edge[axis][side][j * m->row + k] = v;
    double phi_a = m->phi[a], phi_b = m->phi[b];
    s->axis[v] = (unsigned char)axis;
    s->slope[v] = phi_b - phi_a;
    s->share[v] = phi_a / (phi_a - phi_b);
    double *x = s->vertex + 3 * (size_t)v;
    cri_v3_store(cri_v3_mad(m->box->origin, s->h, cri_v3(i, j, k)), x);
    x[axis] += s->share[v] * s->h;
}

// edges along y and z within slice i, and along x to the next one
static void add_slice(march *m, int side, int i, bool is_within) {
    const int *n = m->box->n;
    for (int j = 0; j < n[1] - 1; j++) {
        const unsigned char *at = m->is_in + (size_t)i * (size_t)m->slice + j * m->row;
        const int step[2] = {is_within ? m->row : m->slice, 0};
        for (int k = next_mixed(at, 0, n[2], step); k < n[2] - 1;
             k = next_mixed(at, k + 1, n[2], step)) {
            const int corner[3] = {i, j, k};
            if (is_within) {
                add_vertex(m, 1, side, corner);
                add_vertex(m, 2, side, corner);
            } else {
                add_vertex(m, 0, 0, corner);
            }
        }
    }
}

// ---- triangles ---------------------------------------------------------------------------------

static int vertex_of(const march *m, int edge, int j, int k) {
    int axis = edge >> 2, rank = edge & 3;
    // the lower corner of the edge: rank spread over the other two axes
    int low = rank & 1, high = rank >> 1;
    const int corner[3][3] = {{0, low, high}, {low, 0, high}, {low, high, 0}};
    const int *c = corner[axis];
    int v = m->slab.edge[axis][axis == 0 ? 0 : c[0]][(j + c[1]) * m->row + k + c[2]];
    CR_ASSERT(v >= 0);
    return v;
}

static void add_triangles(march *m, int i) {
    const int *n = m->box->n;
    for (int j = 0; j < n[1] - 1; j++) {
        const unsigned char *at = m->is_in + (size_t)i * (size_t)m->slice + j * m->row;
        const int step[2] = {m->slice, m->row};
        for (int k = next_mixed(at, 0, n[2], step); k < n[2] - 1;
             k = next_mixed(at, k + 1, n[2], step)) {
            unsigned q = quad(m, at + k), next = quad(m, at + k + 1);
            const signed char *edge = cri_cube_table[q | next << 4];
            for (; *edge >= 0; edge += 3) {
                int *face = m->out->face + 3 * (size_t)m->out->n_face++;
                for (int c = 0; c < 3; c++) {
                    face[c] = vertex_of(m, edge[c], j, k);
                }
            }
        }
    }
}

static bool push_slab(march *m, cr_arena *scratch) {
    for (int side = 0; side < 2; side++) {
        for (int axis = 0; axis < 3; axis++) {
            m->slab.edge[axis][side] = CR_PUSH_RAW(scratch, int, m->slice);
        }
    }
    return !cri_arena_has_failed(scratch);
}

static void swap(int **pair) {
    int *first = pair[0];
    pair[0] = pair[1];
    pair[1] = first;
}

static void make_surface(march *m) {
    add_slice(m, 0, 0, true);
    for (int i = 0; i < m->box->n[0] - 1; i++) {
        add_slice(m, 0, i, false);
        add_slice(m, 1, i + 1, true);
        add_triangles(m, i);
        swap(m->slab.edge[1]);
        swap(m->slab.edge[2]);
    }
}

static bool push_surface(cr_arena *arena, size_t n_vertex, size_t n_face, cri_surface *out) {
    out->vertex = CR_PUSH_RAW(arena, double, 3 * n_vertex);
    out->face = CR_PUSH_RAW(arena, int, 3 * n_face);
    out->axis = CR_PUSH_RAW(arena, unsigned char, n_vertex);
    out->share = CR_PUSH_RAW(arena, double, n_vertex);
    out->slope = CR_PUSH_RAW(arena, double, n_vertex);
    return !cri_arena_has_failed(arena);
}

static cr_status refuse_size(cr_error *err, const cri_march_box *box) {
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "a grid of %d x %d x %d samples: 2 to %d along an axis and %d in all are "
                    "possible",
                    box->n[0], box->n[1], box->n[2], 1 << 12, CRI_MARCH_MOST);
}

static bool is_size_good(const cri_march_box *box) {
    long long n = 1;
    for (int a = 0; a < 3; a++) {
        if (box->n[a] < 2 || box->n[a] > 1 << 12) {
            return false;
        }
        n *= box->n[a];
    }
    return n <= CRI_MARCH_MOST;
}

cr_status cri_march(const cri_march_box *box, const double *sample, cr_arena *arena,
                    cr_arena *scratch, cri_surface *out, cr_error *err) {
    CR_ASSERT(box && sample && arena != scratch && out);
    *out = (cri_surface){.h = box->h};
    if (!is_size_good(box)) {
        return refuse_size(err, box);
    }
    march m = {.box = box, .phi = sample, .out = out};
    m.row = box->n[2];
    m.slice = box->n[1] * box->n[2];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    m.is_in = CR_PUSH_RAW(scratch, unsigned char, (size_t)box->n[0] * (size_t)m.slice);
    cr_status status = CR_OK;
    bool is_any = false;
    if (!m.is_in || !push_slab(&m, scratch)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a surface");
    } else if (!mark_inside(&m, &is_any)) {
        status = cri_fail(err, CR_ERR_ARGUMENT, 0,
                          "what is inside reaches the border of the grid; choose a larger box");
    } else if (!is_any) {
        status = cri_fail(err, CR_ERR_ARGUMENT, 0,
                          "no sample of the grid is inside; choose a finer one");
    }
    if (status == CR_OK) {
        unsigned char n_triangle[256];
        for (unsigned c = 0; c < 256; c++) {
            n_triangle[c] = (unsigned char)n_triangle_of(c);
        }
        long long n_vertex, n_face;
        count(&m, n_triangle, &n_vertex, &n_face);
        if (push_surface(arena, (size_t)n_vertex, (size_t)n_face, out)) {
            make_surface(&m);
            CR_ASSERT(out->n_vertex == n_vertex && out->n_face == n_face);
        } else {
            status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a surface of %lld triangles",
                              n_face);
        }
    }
    cri_arena_rewind(scratch, mark);
    return status;
}

// ---- fields -------------------------------------------------------------------------------------

// Samples where they can matter, and the way back to the parameters.
//
// A cube with centre c and half diagonal r has no zero when |phi(c)| > L r, L the largest slope:
// cubes are halved down to two cells a side, and only those that may have one are sampled; the
// others get phi(c), whose sign is theirs. A vertex is a zero of the field on its edge, not of the
// line between the samples at its ends: what the field is like away from its surface, kinks inside
// a box for one, does not count. With v_adj the adjoint of a vertex, e the direction of its edge,
//
//   edge     phi(v) = 0:  dv = -e dphi/(e . g),  theta_adj -= (e . v_adj)/(e . g) dphi/dtheta at v
//   normal   theta_adj -= (n . v_adj)/|g| dphi/dtheta at v, n = g/|g|; distances have |g| = 1
//
// (Remelli et al. 2020 for the second.) Where an edge has several zeros the vertex is one of them.

cri_march_box cri_march_box_of(const cri_field *field, int n_longest) {
    CR_ASSERT(n_longest >= 1);
    cri_vec3 lower, upper;
    cri_field_bounds(field, &lower, &upper);
    cri_vec3 size = cri_v3_sub(upper, lower);
    double h = fmax(size.x, fmax(size.y, size.z)) / n_longest;
    const double cells[3] = {size.x / h, size.y / h, size.z / h};
    cri_march_box box = {.h = h};
    double start[3];
    cri_v3_store(lower, start);
    for (int a = 0; a < 3; a++) {
        // two more on each side, and what a whole number adds on both
        int n = (int)ceil(cells[a] - 1e-9) + 4;
        box.n[a] = n + 1;
        start[a] -= 0.5 * (n - cells[a]) * h;
    }
    box.origin = cri_v3_load(start);
    return box;
}

// ---- samples -----------------------------------------------------------------------------------

static size_t index_of(const sampler *s, int i, int j, int k) {
    return ((size_t)i * (size_t)s->box->n[1] + (size_t)j) * (size_t)s->box->n[2] + (size_t)k;
}

static void fill(sampler *s, const cube *c, double phi) {
    for (int i = c->lower[0]; i <= c->upper[0]; i++) {
        for (int j = c->lower[1]; j <= c->upper[1]; j++) {
            double *row = s->phi + index_of(s, i, j, 0);
            for (int k = c->lower[2]; k <= c->upper[2]; k++) {
                row[k] = phi;
            }
        }
    }
}

static void take_waiting(sampler *s) {
    cri_field_phi_many(s->field, s->n_wait, s->at, s->value);
    for (int i = 0; i < s->n_wait; i++) {
        s->phi[s->wait[i]] = s->value[i];
    }
    s->n_wait = 0;
}

static void put_waiting(sampler *s, int i, int j, int k) {
    size_t at = index_of(s, i, j, k);
    if (s->is_done[at]) {
        return;
    }
    cri_vec3 x = cri_v3_mad(s->box->origin, s->box->h, cri_v3(i, j, k));
    cri_v3_store(x, s->at + 3 * (size_t)s->n_wait);
    s->is_done[at] = 1;
    s->wait[s->n_wait++] = at;
    if (s->n_wait == BATCH) {
        take_waiting(s);
    }
}

static void take(sampler *s, const cube *c) {
    for (int i = c->lower[0]; i <= c->upper[0]; i++) {
        for (int j = c->lower[1]; j <= c->upper[1]; j++) {
            for (int k = c->lower[2]; k <= c->upper[2]; k++) {
                put_waiting(s, i, j, k);
            }
        }
    }
}

static int split(const cube *c, int size, cube *part) {
    int n = 0;
    for (int k = 0; k < 8; k++) {
        cube child = *c;
        bool is_empty = false;
        for (int a = 0; a < 3; a++) {
            int middle = c->lower[a] + size / 2;
            if (k >> a & 1) {
                child.lower[a] = middle;
                is_empty = is_empty || middle >= c->upper[a];
            } else {
                child.upper[a] = middle < c->upper[a] ? middle : c->upper[a];
            }
        }
        if (!is_empty) {
            part[n++] = child;
        }
    }
    return n;
}

// of n cubes those that may have a zero, to the front; the others are filled
static int sort_out(sampler *s, int n, cube *c) {
    int n_left = 0;
    double half = 0.5 * s->box->h;
    for (int first = 0; first < n; first += BATCH) {
        int n_here = n - first < BATCH ? n - first : BATCH;
        for (int i = 0; i < n_here; i++) {
            const int *low = c[first + i].lower, *high = c[first + i].upper;
            cri_vec3 middle = cri_v3(low[0] + high[0], low[1] + high[1], low[2] + high[2]);
            cri_v3_store(cri_v3_mad(s->box->origin, half, middle), s->at + 3 * (size_t)i);
        }
        cri_field_phi_many(s->field, n_here, s->at, s->value);
        for (int i = 0; i < n_here; i++) {
            const cube own = c[first + i];
            cri_vec3 diagonal = cri_v3(own.upper[0] - own.lower[0], own.upper[1] - own.lower[1],
                                       own.upper[2] - own.lower[2]);
            double reach = s->lipschitz * half * cri_v3_norm(diagonal) * (1.0 + 1e-9);
            if (fabs(s->value[i]) > reach) {
                fill(s, &own, s->value[i]);
            } else {
                c[n_left++] = own;
            }
        }
    }
    return n_left;
}

// level by level, so that samples that cost are taken many at a time and after all that is filled
static bool sample_all(sampler *s, cr_arena *scratch) {
    cube *level = CR_PUSH_RAW(scratch, cube, 1);
    int n = 1, size = LEAF;
    if (!level) {
        return false;
    }
    level[0] = (cube){{0, 0, 0}, {s->box->n[0] - 1, s->box->n[1] - 1, s->box->n[2] - 1}};
    while (size < level->upper[0] || size < level->upper[1] || size < level->upper[2]) {
        size *= 2;
    }
    for (n = sort_out(s, n, level); size > LEAF; size /= 2) {
        cube *next = CR_PUSH_RAW(scratch, cube, 8 * (size_t)n + 1);
        int n_next = 0;
        for (int i = 0; next && i < n; i++) {
            n_next += split(&level[i], size, next + n_next);
        }
        if (!next) {
            return false;
        }
        level = next;
        n = sort_out(s, n_next, level);
    }
    for (int i = 0; i < n; i++) {
        take(s, &level[i]);
    }
    take_waiting(s);
    return true;
}

// ---- zeros on edges ----------------------------------------------------------------------------

static double *along(const cri_surface *s, int v) {
    return s->vertex + 3 * (size_t)v + s->axis[v];
}

// one step for the value and slope at the vertex; true when it was the last
static bool approach(cri_surface *s, zero *z, int step, double phi, double slope) {
    int v = z->vertex;
    double t = s->share[v], next = t - phi / slope;
    bool is_before = (phi < 0.0) == (s->slope[v] > 0.0);
    z->low = is_before ? t : z->low;
    z->high = is_before ? z->high : t;
    if (step >= NEWTON || !(next >= z->low && next <= z->high)) {
        next = phi == 0.0 ? t : 0.5 * (z->low + z->high);
    }
    *along(s, v) += (next - t) * s->h;
    s->share[v] = next;
    if (fabs(next - t) > short_step && step + 1 < MOST) {
        return false;
    }
    double sign = s->slope[v] < 0.0 ? -1.0 : 1.0, chord = fabs(s->slope[v]);
    s->slope[v] = sign * fmax(sign * slope, least_slope * chord);
    return true;
}

// vertices first to first + n, from the zero of the chord on
static void find_zeros(const cri_field *field, cri_surface *s, int first, int n) {
    zero z[BATCH];
    double at[3 * BATCH], phi[BATCH], g[3 * BATCH];
    for (int i = 0; i < n; i++) {
        z[i] = (zero){first + i, 0.0, 1.0};
    }
    for (int step = 0; n > 0; step++) {
        for (int i = 0; i < n; i++) {
            memcpy(at + 3 * i, s->vertex + 3 * (size_t)z[i].vertex, 3 * sizeof *at);
        }
        cri_field_gradient_many(field, n, at, phi, g);
        int n_left = 0;
        for (int i = 0; i < n; i++) {
            double slope = s->h * g[3 * i + s->axis[z[i].vertex]];
            if (!approach(s, &z[i], step, phi[i], slope)) {
                z[n_left++] = z[i];
            }
        }
        n = n_left;
    }
}

cr_status cri_surface_of_field(const cri_field *field, const cri_march_box *box, cr_arena *arena,
                               cr_arena *scratch, cri_surface *out, cr_error *err) {
    CR_ASSERT(field && box && arena != scratch && out);
    double n = (double)box->n[0] * box->n[1] * box->n[2];
    bool is_good = n <= CRI_MARCH_MOST && box->n[0] > 1 && box->n[1] > 1 && box->n[2] > 1;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double none = 0.0, *phi = &none;
    if (is_good) {
        sampler *s = CR_PUSH_RAW(scratch, sampler, 1);
        phi = CR_PUSH_RAW(scratch, double, n);
        unsigned char *is_done = CR_PUSH(scratch, unsigned char, n);
        if (s) {
            *s = (sampler){.field = field, .box = box, .lipschitz = cri_field_lipschitz(field)};
            s->phi = phi;
            s->is_done = is_done;
        }
        if (cri_arena_has_failed(scratch) || !sample_all(s, scratch)) {
            *out = (cri_surface){0};
            cri_arena_rewind(scratch, mark);
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %.0f samples", n);
        }
    }
    // a grid of a wrong size is refused there before it is read
    cr_status status = cri_march(box, phi, arena, scratch, out, err);
    cri_arena_rewind(scratch, mark);
    for (int first = 0; first < out->n_vertex; first += BATCH) {
        int n_left = out->n_vertex - first;
        find_zeros(field, out, first, n_left < BATCH ? n_left : BATCH);
    }
    return status;
}

// ---- derivatives -------------------------------------------------------------------------------

// n/|g|: how far the surface moves for a unit of phi
static cri_vec3 inverse_slope(const cri_field *field, cri_vec3 x) {
    cri_field_value v;
    cri_field_eval(field, x, CRI_FIELD_GRADIENT, &v);
    double square = cri_v3_dot(v.g, v.g);
    return square > 0.0 ? cri_v3_scale(1.0 / square, v.g) : nothing;
}

bool cri_surface_of_field_vjp(const cri_field *field, const cri_surface *surface,
                              cri_vertex_rule rule, const double *vertex_adj, cr_arena *scratch,
                              double *param_adj) {
    if (rule == CRI_VERTEX_NORMAL) {
        for (int v = 0; v < surface->n_vertex; v++) {
            cri_vec3 x = cri_v3_load(surface->vertex + 3 * (size_t)v), n = inverse_slope(field, x);
            double w = -cri_v3_dot(n, cri_v3_load(vertex_adj + 3 * (size_t)v));
            cri_field_vjp(field, x, w, nothing, NULL, param_adj);
        }
        return true;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *phi_adj = CR_PUSH_RAW(scratch, double, surface->n_vertex);
    for (int v = 0; phi_adj && v < surface->n_vertex; v++) {
        double v_adj = vertex_adj[3 * (size_t)v + surface->axis[v]];
        phi_adj[v] = -surface->h * v_adj / surface->slope[v];
    }
    if (phi_adj) {
        cri_field_phi_many_vjp(field, surface->n_vertex, surface->vertex, phi_adj, param_adj);
    }
    cri_arena_rewind(scratch, mark);
    return phi_adj != NULL;
}

bool cri_surface_of_field_jvp(const cri_field *field, const cri_surface *surface,
                              cri_vertex_rule rule, const double *param_tan, cr_arena *scratch,
                              double *vertex_tan) {
    if (rule == CRI_VERTEX_NORMAL) {
        for (int v = 0; v < surface->n_vertex; v++) {
            cri_vec3 x = cri_v3_load(surface->vertex + 3 * (size_t)v);
            double phi_tan;
            cri_vec3 g_tan;
            cri_field_jvp(field, x, nothing, param_tan, &phi_tan, &g_tan);
            cri_v3_store(cri_v3_scale(-phi_tan, inverse_slope(field, x)),
                         vertex_tan + 3 * (size_t)v);
        }
        return true;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *phi_tan = CR_PUSH_RAW(scratch, double, surface->n_vertex);
    if (phi_tan) {
        cri_field_phi_many_jvp(field, surface->n_vertex, surface->vertex, param_tan, phi_tan);
        memset(vertex_tan, 0, sizeof *vertex_tan * 3 * (size_t)surface->n_vertex);
    }
    for (int v = 0; phi_tan && v < surface->n_vertex; v++) {
        vertex_tan[3 * (size_t)v + surface->axis[v]] = -surface->h * phi_tan[v] / surface->slope[v];
    }
    cri_arena_rewind(scratch, mark);
    return phi_tan != NULL;
}
