// SPDX-License-Identifier: MIT
//
// Marching cubes (Lorensen, Cline 1987) with a table made by rule (tools/make_cube_table).
//
// A vertex lies on the edge from sample a to sample b along the unit vector e:
//
//   v = x_a + s h e,  s = phi_a/(phi_a - phi_b)
//
// An ambiguous face cuts off its corners inside, whatever the values: both cells that share it
// agree, and the surface is a manifold; it need not be the topology of the trilinear interpolant.
// Slabs of cells are done one by one along x, and vertices are numbered within two slices.

#include "geometry/mesh/march.h"

#include "geometry/mesh/march_parts.h"

#include <stdint.h>
#include <string.h>

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
