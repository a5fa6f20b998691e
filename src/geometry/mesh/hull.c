// SPDX-License-Identifier: MIT
//
// Convex hull of points: quickhull with exact signs (Barber, Dobkin, Huhdanpaa 1996).
//
// A tetrahedron grows by one point at a time. Every triangle keeps a list of points strictly above
// it; the farthest one, p, is taken, the triangles that see p are removed, and the rim of the hole
// is joined with p:
//
//   p sees abc        p lies strictly above the plane of a, b, c
//   new triangle      a b p, for a side a b between a triangle that sees p and one that does not
//
// The points of removed triangles go to a new triangle that they see, or else are inside: whoever
// sees a removed and a kept triangle also sees one of the new ones between them.
//
// Signs are exact, on coordinates rounded to a grid of 2^-50 of the size of the cloud. Hence the
// triangles that see p are always a disc, no side of its rim is in line with p, and duplicates and
// coplanar points need no case of their own. What is left are triangles in one plane, which
// cri_hull_merge makes polygons. No random choices: the same points give the same hull.

#include "geometry/mesh/hull_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/math/orient.h"

// a cloud thinner than this share of its size is flat: five times the tolerance of cri_hull_merge
#define FLAT 1e-6

// points that are counted as int and whose triangles are as well
#define POINT_LIMIT (1 << 27)

typedef struct facet {
    cri_hull_facet side;
    int outside; // first point of the list, -1: empty
    int mark;    // the round that has seen it, see find_visible
    bool is_used;
    bool is_pending; // of the slot, whoever uses it
} facet;

typedef struct rim_side {
    int a, b;
    int kept; // triangle outside the hole
} rim_side;

typedef struct builder {
    int n_point;
    const double *point; // (n_point, 3)
    double *grid;        // (n_point, 3) integers
    double size;         // half the diagonal of the bounding box
    facet *facet;        // (n_slot)
    int n_slot;          // in use or free
    int *free_slot;      // (n_free)
    int n_free;
    int *next;    // (n_point) lists of points
    int *starts;  // (n_point) new triangle whose side 0 starts at a point
    int *pending; // triangles to look at
    int n_pending;
    int *stack;
    int *visible;
    int n_visible;
    rim_side *rim;
    int n_rim;
    int round;
} builder;

// ---- points ------------------------------------------------------------------------------------

// coordinates on the grid; false when the size is zero or not finite
static bool fill_grid(builder *b) {
    double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX};
    double high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
    for (int i = 0; i < b->n_point; i++) {
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], b->point[3 * i + k]);
            high[k] = fmax(high[k], b->point[3 * i + k]);
        }
    }
    double half = 0.0;
    double centre[3];
    for (int k = 0; k < 3; k++) {
        centre[k] = 0.5 * low[k] + 0.5 * high[k];
        half = fmax(half, 0.5 * high[k] - 0.5 * low[k]);
        b->size = hypot(b->size, 0.5 * high[k] - 0.5 * low[k]);
    }
    if (!(half > DBL_MIN) || !(b->size < DBL_MAX)) {
        return false;
    }

    // a power of two leaves all bits that fit
    int exponent;
    (void)frexp(half, &exponent);
    for (int i = 0; i < 3 * b->n_point; i++) {
        b->grid[i] = rint(ldexp(b->point[i] - centre[i % 3], 50 - exponent));
        CR_ASSERT(fabs(b->grid[i]) <= CRI_ORIENT_LIMIT);
    }
    return true;
}

static const double *at(const builder *b, int i) {
    return b->grid + 3 * i;
}

static bool sees(const builder *b, int point, const facet *f) {
    const int *v = f->side.v;
    return cri_orient(at(b, v[0]), at(b, v[1]), at(b, v[2]), at(b, point)) < 0;
}

static cri_vec3 grid_point(const builder *b, int i) {
    return cri_v3_load(at(b, i));
}

// ---- the first tetrahedron ---------------------------------------------------------------------

// the two points farthest apart along one axis
static void widest_pair(const builder *b, int out[2]) {
    double widest = -1.0;
    for (int k = 0; k < 3; k++) {
        int low = 0;
        int high = 0;
        for (int i = 1; i < b->n_point; i++) {
            low = at(b, i)[k] < at(b, low)[k] ? i : low;
            high = at(b, i)[k] > at(b, high)[k] ? i : high;
        }
        double width = at(b, high)[k] - at(b, low)[k];
        if (width > widest) {
            widest = width;
            out[0] = low;
            out[1] = high;
        }
    }
}

// four points of a tetrahedron; the last two are as far from the line and plane of the others as
// any. Returns how many there are when the cloud is flat.
static int first_points(const builder *b, int out[4]) {
    widest_pair(b, out);
    cri_vec3 origin = grid_point(b, out[0]);
    cri_vec3 line = cri_v3_sub(grid_point(b, out[1]), origin);
    double length = cri_v3_norm(line);
    cri_vec3 normal = cri_v3(0, 0, 0);
    double farthest = 0.0;
    for (int i = 0; i < b->n_point; i++) {
        cri_vec3 area = cri_v3_cross(line, cri_v3_sub(grid_point(b, i), origin));
        double distance = cri_v3_norm(area) / length;
        if (distance > farthest) {
            farthest = distance;
            normal = area;
            out[2] = i;
        }
    }
    if (farthest < FLAT * length) {
        return 2;
    }
    double area = cri_v3_norm(normal);
    farthest = 0.0;
    for (int i = 0; i < b->n_point; i++) {
        double distance = cri_v3_dot(normal, cri_v3_sub(grid_point(b, i), origin)) / area;
        if (fabs(distance) > farthest) {
            farthest = fabs(distance);
            out[3] = i;
        }
    }
    return farthest < FLAT * length ? 3 : 4;
}

static int take_slot(builder *b) {
    int i = b->n_free > 0 ? b->free_slot[--b->n_free] : b->n_slot++;
    b->facet[i] = (facet){.outside = -1, .is_used = true, .is_pending = b->facet[i].is_pending};
    return i;
}

// the triangles with points above them wait for their turn
static void queue(builder *b, const int *facets, int n) {
    for (int i = 0; i < n; i++) {
        facet *f = &b->facet[facets[i]];
        if (f->outside >= 0 && !f->is_pending) {
            f->is_pending = true;
            b->pending[b->n_pending++] = facets[i];
        }
    }
}

// puts a point on the list of the first of n triangles that it sees; the farthest stays first
static void assign(builder *b, int point, const int *facets, int n) {
    for (int i = 0; i < n; i++) {
        facet *f = &b->facet[facets[i]];
        if (!sees(b, point, f)) {
            continue;
        }
        const int *v = f->side.v;
        int first = f->outside;
        bool is_farther =
            first < 0 || cri_orient_volume(at(b, v[0]), at(b, v[1]), at(b, v[2]), at(b, point)) <
                             cri_orient_volume(at(b, v[0]), at(b, v[1]), at(b, v[2]), at(b, first));
        if (is_farther) {
            b->next[point] = first;
            f->outside = point;
        } else {
            b->next[point] = b->next[first];
            b->next[first] = point;
        }
        return;
    }
}

static void make_tetrahedron(builder *b, const int p[4]) {
    // the fourth point is below the first triangle
    bool is_below = cri_orient(at(b, p[0]), at(b, p[1]), at(b, p[2]), at(b, p[3])) > 0;
    const int q[4] = {p[0], p[is_below ? 1 : 2], p[is_below ? 2 : 1], p[3]};
    static const cri_hull_facet side[4] = {{{0, 1, 2}, {1, 2, 3}},
                                           {{1, 0, 3}, {0, 3, 2}},
                                           {{2, 1, 3}, {0, 1, 3}},
                                           {{0, 2, 3}, {0, 2, 1}}};
    int all[4];
    for (int f = 0; f < 4; f++) {
        all[f] = take_slot(b);
        b->facet[f].side = side[f];
        for (int k = 0; k < 3; k++) {
            b->facet[f].side.v[k] = q[side[f].v[k]];
        }
    }
    for (int i = 0; i < b->n_point; i++) {
        assign(b, i, all, 4);
    }
    queue(b, all, 4);
}

// ---- one point more ----------------------------------------------------------------------------

// the triangles that see a point, from one of them on, and the rim of the hole that they leave
static void find_visible(builder *b, int point, int start) {
    b->round++;
    b->n_visible = 0;
    b->n_rim = 0;
    int n_stack = 0;
    b->stack[n_stack++] = start;
    b->facet[start].mark = b->round;
    while (n_stack > 0) {
        int i = b->stack[--n_stack];
        b->visible[b->n_visible++] = i;
        const cri_hull_facet *side = &b->facet[i].side;
        for (int k = 0; k < 3; k++) {
            facet *other = &b->facet[side->next[k]];
            if (other->mark == b->round) {
                continue;
            }
            if (sees(b, point, other)) {
                other->mark = b->round;
                b->stack[n_stack++] = side->next[k];
            } else {
                b->rim[b->n_rim++] = (rim_side){side->v[k], side->v[(k + 1) % 3], side->next[k]};
            }
        }
    }
}

static void link_kept(cri_hull_facet *kept, const rim_side *side, int made) {
    for (int k = 0; k < 3; k++) {
        if (kept->v[k] == side->b && kept->v[(k + 1) % 3] == side->a) {
            kept->next[k] = made;
        }
    }
}

// the new triangles around a point go to made (n_rim)
static void close_hole(builder *b, int point, int *made) {
    for (int i = 0; i < b->n_rim; i++) {
        const rim_side *side = &b->rim[i];
        made[i] = take_slot(b);
        b->facet[made[i]].side = (cri_hull_facet){{side->a, side->b, point}, {side->kept, -1, -1}};
        b->starts[side->a] = made[i];
        link_kept(&b->facet[side->kept].side, side, made[i]);
    }
    for (int i = 0; i < b->n_rim; i++) {
        int follower = b->starts[b->rim[i].b];
        b->facet[made[i]].side.next[1] = follower;
        b->facet[follower].side.next[2] = made[i];
    }
}

static void add_point(builder *b, int start) {
    int point = b->facet[start].outside;
    find_visible(b, point, start);

    // the points of the hole in one list, its triangles free
    int orphan = -1;
    for (int i = 0; i < b->n_visible; i++) {
        facet *f = &b->facet[b->visible[i]];
        for (int p = f->outside; p >= 0;) {
            int next = b->next[p];
            if (p != point) {
                b->next[p] = orphan;
                orphan = p;
            }
            p = next;
        }
        f->outside = -1;
        f->is_used = false;
    }
    for (int i = b->n_visible - 1; i >= 0; i--) {
        b->free_slot[b->n_free++] = b->visible[i];
    }

    int *made = b->stack;
    close_hole(b, point, made);
    for (int p = orphan; p >= 0;) {
        int next = b->next[p];
        assign(b, p, made, b->n_rim);
        p = next;
    }
    queue(b, made, b->n_rim);
}

// ---- all of it ---------------------------------------------------------------------------------

static bool push_builder(builder *b, cr_arena *scratch) {
    // a triangulated hull of n points has 2 n - 4 triangles at most
    size_t n = (size_t)b->n_point;
    size_t n_facet = 2 * n + 4;
    b->grid = CR_PUSH_RAW(scratch, double, 3 * n);
    b->facet = CR_PUSH(scratch, facet, n_facet);
    b->free_slot = CR_PUSH_RAW(scratch, int, n_facet);
    b->next = CR_PUSH_RAW(scratch, int, n);
    b->starts = CR_PUSH_RAW(scratch, int, n);
    b->pending = CR_PUSH_RAW(scratch, int, n_facet);
    b->stack = CR_PUSH_RAW(scratch, int, n_facet);
    b->visible = CR_PUSH_RAW(scratch, int, n_facet);
    b->rim = CR_PUSH_RAW(scratch, rim_side, n_facet);
    return !cri_arena_has_failed(scratch);
}

// the triangles in use, numbered anew
static bool compact(const builder *b, cr_arena *scratch, cri_hull_facets *out) {
    cri_hull_facet *facets = CR_PUSH_RAW(scratch, cri_hull_facet, b->n_slot);
    int *moved = CR_PUSH_RAW(scratch, int, b->n_slot);
    if (!facets || !moved) {
        return false;
    }
    int n = 0;
    for (int i = 0; i < b->n_slot; i++) {
        moved[i] = n;
        if (b->facet[i].is_used) {
            facets[n++] = b->facet[i].side;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            facets[i].next[k] = moved[facets[i].next[k]];
        }
    }
    *out = (cri_hull_facets){b->n_point, b->point, n, facets, b->size};
    return true;
}

static cr_status build(builder *b, cr_arena *arena, cr_arena *scratch, cri_hull *out,
                       cr_error *err) {
    if (!push_builder(b, scratch)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory for a convex hull");
    }
    if (!cri_all_finite(3 * b->n_point, b->point)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a point of the convex hull is not finite");
    }
    int first[4] = {0};
    int n_first = fill_grid(b) ? first_points(b, first) : 1;
    if (n_first < 4) {
        static const char *const where[] = {"", "in one place", "on one line", "in one plane"};
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "all %d points lie %s and enclose no volume: use a mesh with thickness",
                        b->n_point, where[n_first]);
    }
    make_tetrahedron(b, first);
    while (b->n_pending > 0) {
        int f = b->pending[--b->n_pending];
        b->facet[f].is_pending = false;
        if (b->facet[f].is_used && b->facet[f].outside >= 0) {
            add_point(b, f);
        }
    }
    cri_hull_facets facets;
    if (!compact(b, scratch, &facets) || !cri_hull_merge(&facets, arena, scratch, out)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory for a convex hull");
    }
    return CR_OK;
}

cr_status cri_hull_build(int n, const double *point, cr_arena *arena, const cri_hull **out,
                         cr_error *err) {
    CR_ASSERT(n >= 0 && (point || n == 0) && arena && out);
    *out = NULL;
    if (n < 4) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "%d points enclose no volume: a convex hull needs four or more", n);
    }
    if (n > POINT_LIMIT) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a convex hull of more than %d points",
                        POINT_LIMIT);
    }
    cr_arena *scratch = cri_arena_create((size_t)64 << 10);
    cri_hull *hull = scratch ? CR_PUSH(arena, cri_hull, 1) : NULL;
    if (!hull) {
        cri_arena_destroy(scratch);
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory for a convex hull");
    }
    builder b = {.n_point = n, .point = point};
    cr_status status = build(&b, arena, scratch, hull, err);
    cri_arena_destroy(scratch);
    if (status == CR_OK) {
        *out = hull;
    }
    return status;
}
