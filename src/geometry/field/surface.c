// SPDX-License-Identifier: MIT
//
// The surface of a field: samples where they can matter, and the way back to the parameters.
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

#include "geometry/mesh/march.h"

#include <math.h>
#include <string.h>

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

/// A vertex on its way to the zero: it lies in (low, high) of its edge, whose first end is inside
/// or outside like all before the zero.
typedef struct zero {
    int vertex;
    double low, high;
} zero;

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

static const cri_vec3 nothing = {0.0, 0.0, 0.0};

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
