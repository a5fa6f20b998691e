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
// hull_merge makes polygons. No random choices: the same points give the same hull.

#include "geometry/mesh/hull.h"

#include "base/math/orient.h"
#include "geometry/mesh/hull_tree.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A triangle of the hull, counterclockwise from outside. Side k goes from v[k] to v[(k + 1) % 3].
typedef struct hull_facet {
    int v[3];
    int next[3]; // triangle on the other side of each side
} hull_facet;

/// A triangulated hull, numbers into the points that it was built of.
typedef struct hull_facets {
    int n_point;
    const double *point; // (n_point, 3)
    int n;
    const hull_facet *facet; // (n)
    double size;             // half the diagonal of the bounding box
} hull_facets;

// shares of the size; the first is three roundings to single precision, 2^-24 each
static const double tolerances[] = {2e-7, 1e-9, 1e-11, 1e-13, -1.0};

typedef struct ranked {
    double area;
    int facet;
} ranked;

typedef struct side_key {
    int low, high; // vertices
    int face;
    bool is_forward; // the face goes from low to high
} side_key;

typedef struct merger {
    const hull_facets *in;
    double tolerance; // metres
    ranked *order;    // (n) triangles, largest first
    int *region;      // (n) face of a triangle, -1: none yet
    int *member;      // (n) triangles of the region that grows
    int n_member;
    int n_face;
    int *loop_next;  // (n_point) vertex behind a vertex on the rim of a face
    int *stamp;      // (n_point) last face that has a vertex on its rim
    int *degree;     // (n_point) faces around a vertex
    int *start;      // (n + 1) into corner
    int *corner;     // (3 n) loops of all faces
    int *moved;      // (n_point) number in the hull, -1: none
    side_key *side;  // (3 n)
    int *link_start; // (n_point + 1) into link
    int *link;       // (3 n)
    int n_vertex;
} merger;

// a cloud thinner than this share of its size is flat: five times the tolerance of hull_merge
#define FLAT 1e-6

// points that are counted as int and whose triangles are as well
#define POINT_LIMIT (1 << 27)

typedef struct facet {
    hull_facet side;
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

// ---- polygons -----------------------------------------------------------------------------------

// From a triangulated hull to polygons, edges and links.
//
// Triangles whose corners lie within a tolerance of one plane become one face. Regions grow from
// the largest triangle that is left, first around its own plane, then around the mean plane of what
// was found. The tolerance covers coordinates that were rounded to single precision, as STL files
// have them. A vertex between fewer than three faces is none of the polyhedron and goes.
//
// The result must be a polyhedron: every face one simple loop, convex but for the tolerance, every
// edge in two faces, and V - E + F = 2 (Euler). When it is not, smaller tolerances are tried; the
// triangles themselves are the last resort.
//
// The plane of a face has the area vector of its polygon (Newell) as normal and supports the hull:
// its offset is the largest of all vertices, found by climbing.

static cri_vec3 point_of(const merger *m, int i) {
    return cri_v3_load(m->in->point + 3 * i);
}

// twice the area, along the outward normal
static cri_vec3 area_of(const merger *m, int which) {
    const int *v = m->in->facet[which].v;
    cri_vec3 a = point_of(m, v[0]);
    return cri_v3_cross(cri_v3_sub(point_of(m, v[1]), a), cri_v3_sub(point_of(m, v[2]), a));
}

static int compare_areas(const void *left, const void *right) {
    const ranked *a = left;
    const ranked *b = right;
    if (a->area != b->area) {
        return a->area < b->area ? 1 : -1;
    }
    return a->facet - b->facet;
}

// ---- regions -----------------------------------------------------------------------------------

// all corners within the tolerance, and not facing the other way; the normal of a triangle that is
// thinner than the tolerance says nothing
static bool is_near(const merger *m, int which, cri_vec3 normal, cri_vec3 origin) {
    const int *v = m->in->facet[which].v;
    double longest = 0.0;
    for (int k = 0; k < 3; k++) {
        cri_vec3 p = point_of(m, v[k]);
        if (!(fabs(cri_v3_dot(normal, cri_v3_sub(p, origin))) <= m->tolerance)) {
            return false;
        }
        longest = fmax(longest, cri_v3_norm(cri_v3_sub(point_of(m, v[(k + 1) % 3]), p)));
    }
    return cri_v3_dot(normal, area_of(m, which)) > -m->tolerance * longest;
}

// all free triangles near a plane that hang together with a seed
static void flood(merger *m, int seed, cri_vec3 normal, cri_vec3 origin) {
    m->n_member = 0;
    m->member[m->n_member++] = seed;
    m->region[seed] = m->n_face;
    for (int i = 0; i < m->n_member; i++) {
        for (int k = 0; k < 3; k++) {
            int other = m->in->facet[m->member[i]].next[k];
            if (m->region[other] < 0 && is_near(m, other, normal, origin)) {
                m->region[other] = m->n_face;
                m->member[m->n_member++] = other;
            }
        }
    }
}

// the mean plane of the region; false when it has no area
static bool mean_plane(const merger *m, cri_vec3 *normal, cri_vec3 *origin) {
    cri_vec3 area = cri_v3(0, 0, 0);
    cri_vec3 sum = cri_v3(0, 0, 0);
    for (int i = 0; i < m->n_member; i++) {
        area = cri_v3_add(area, area_of(m, m->member[i]));
        for (int k = 0; k < 3; k++) {
            sum = cri_v3_add(sum, point_of(m, m->in->facet[m->member[i]].v[k]));
        }
    }
    double length = cri_v3_norm(area);
    if (!(length > 0.0)) {
        return false;
    }
    *normal = cri_v3_scale(1.0 / length, area);
    *origin = cri_v3_scale(1.0 / (3.0 * m->n_member), sum);
    return true;
}

static void grow(merger *m, int seed) {
    m->n_member = 1;
    m->member[0] = seed;
    m->region[seed] = m->n_face;

    // around the seed's plane, then around the mean plane
    for (int round = 0; round < 2; round++) {
        cri_vec3 normal, origin;
        if (m->tolerance < 0.0 || !mean_plane(m, &normal, &origin)) {
            break;
        }
        for (int i = 0; i < m->n_member; i++) {
            m->region[m->member[i]] = -1;
        }
        flood(m, seed, normal, origin);
    }
    m->n_face++;
}

// ---- loops -------------------------------------------------------------------------------------

// the rim of one face as a loop of corners; false when it is not one simple loop
static bool trace(merger *m, const int *member, int n_member, int face) {
    int first = -1;
    int n_side = 0;
    for (int i = 0; i < n_member; i++) {
        const hull_facet *f = &m->in->facet[member[i]];
        for (int k = 0; k < 3; k++) {
            if (m->region[f->next[k]] == face) {
                continue;
            }
            int a = f->v[k];
            if (m->stamp[a] == face) {
                return false;
            }
            m->stamp[a] = face;
            m->loop_next[a] = f->v[(k + 1) % 3];
            m->degree[a]++;
            first = first < 0 ? a : first;
            n_side++;
        }
    }
    int n = 0;
    int at = m->start[face];
    for (int v = first; n < n_side && (n == 0 || v != first); n++) {
        m->corner[at++] = v;
        v = m->loop_next[v];
    }
    m->start[face + 1] = at;
    return n == n_side && n >= 3;
}

// loops of all faces, from the triangles ordered by face
static bool trace_all(merger *m) {
    int n = m->in->n;
    // a counting sort, in lists that are free until the loops are traced
    int *count = m->loop_next;
    memset(count, 0, (size_t)m->n_face * sizeof *count);
    for (int i = 0; i < n; i++) {
        count[m->region[i]]++;
    }
    int *offset = m->moved;
    int sum = 0;
    for (int f = 0; f < m->n_face; f++) {
        offset[f] = sum;
        sum += count[f];
    }
    for (int i = 0; i < n; i++) {
        m->member[offset[m->region[i]]++] = i;
    }
    m->start[0] = 0;
    for (int f = 0, begin = 0; f < m->n_face; f++) {
        int end = offset[f];
        if (!trace(m, m->member + begin, end - begin, f)) {
            return false;
        }
        begin = end;
    }
    return true;
}

// drops corners between fewer than three faces and numbers the others; false when a face is left
// with fewer than three
static bool drop_corners(merger *m) {
    m->n_vertex = 0;
    for (int i = 0; i < m->in->n_point; i++) {
        m->moved[i] = m->degree[i] >= 3 ? m->n_vertex++ : -1;
    }
    int n = 0;
    for (int f = 0, begin = 0; f < m->n_face; f++) {
        int end = m->start[f + 1];
        m->start[f] = n;
        for (int i = begin; i < end; i++) {
            if (m->moved[m->corner[i]] >= 0) {
                m->corner[n++] = m->corner[i];
            }
        }
        if (n - m->start[f] < 3) {
            return false;
        }
        begin = end;
    }
    m->start[m->n_face] = n;
    return true;
}

static cri_vec3 polygon_area(const merger *m, int face) {
    cri_vec3 origin = point_of(m, m->corner[m->start[face]]);
    cri_vec3 sum = cri_v3(0, 0, 0);
    for (int i = m->start[face] + 1; i + 1 < m->start[face + 1]; i++) {
        cri_vec3 a = cri_v3_sub(point_of(m, m->corner[i]), origin);
        cri_vec3 b = cri_v3_sub(point_of(m, m->corner[i + 1]), origin);
        sum = cri_v3_add(sum, cri_v3_cross(a, b));
    }
    return sum;
}

// no corner of a merged face lies deeper than ten tolerances inside the line of its neighbours
static bool is_convex(const merger *m, int face) {
    const int *corner = m->corner + m->start[face];
    int n = m->start[face + 1] - m->start[face];
    cri_vec3 area = polygon_area(m, face);
    double length = cri_v3_norm(area);
    if (!(length > 0.0)) {
        return n == 3;
    }
    for (int i = 0; n > 3 && i < n; i++) {
        cri_vec3 a = point_of(m, corner[(i + n - 1) % n]);
        cri_vec3 ab = cri_v3_sub(point_of(m, corner[i]), a);
        cri_vec3 ac = cri_v3_sub(point_of(m, corner[(i + 1) % n]), a);
        double turn = cri_v3_dot(cri_v3_cross(ab, ac), area) / length;
        if (!(turn >= -10.0 * fmax(m->tolerance, 0.0) * cri_v3_norm(ac))) {
            return false;
        }
    }
    return true;
}

// ---- edges -------------------------------------------------------------------------------------

static int compare_sides(const void *left, const void *right) {
    const side_key *a = left;
    const side_key *b = right;
    if (a->low != b->low) {
        return a->low - b->low;
    }
    if (a->high != b->high) {
        return a->high - b->high;
    }
    return b->is_forward - a->is_forward;
}

// sides of all faces, the two of an edge behind each other; false when they do not pair up
static bool pair_sides(merger *m) {
    int n = 0;
    for (int f = 0; f < m->n_face; f++) {
        for (int i = m->start[f]; i < m->start[f + 1]; i++) {
            int follower = i + 1 < m->start[f + 1] ? i + 1 : m->start[f];
            int a = m->moved[m->corner[i]];
            int b = m->moved[m->corner[follower]];
            m->side[n++] = (side_key){a < b ? a : b, a < b ? b : a, f, a < b};
        }
    }
    qsort(m->side, (size_t)n, sizeof *m->side, compare_sides);
    for (int i = 0; i < n; i += 2) {
        const side_key *s = &m->side[i];
        bool is_pair = i + 1 < n && s[0].low == s[1].low && s[0].high == s[1].high &&
                       s[0].is_forward && !s[1].is_forward;
        bool is_repeated = i + 2 < n && s[0].low == s[2].low && s[0].high == s[2].high;
        if (!is_pair || is_repeated) {
            return false;
        }
    }
    return m->n_vertex - n / 2 + m->n_face == 2;
}

// faces with one tolerance; false when they are no polyhedron
static bool merge(merger *m, double tolerance) {
    int n = m->in->n;
    m->tolerance = tolerance * m->in->size;
    m->n_face = 0;
    for (int i = 0; i < n; i++) {
        m->region[i] = -1;
    }
    for (int i = 0; i < m->in->n_point; i++) {
        m->stamp[i] = -1;
        m->degree[i] = 0;
    }
    for (int i = 0; i < n; i++) {
        if (m->region[m->order[i].facet] < 0) {
            grow(m, m->order[i].facet);
        }
    }
    if (m->n_face < 4 || !trace_all(m) || !drop_corners(m)) {
        return false;
    }
    for (int f = 0; f < m->n_face; f++) {
        if (!is_convex(m, f)) {
            return false;
        }
    }
    return pair_sides(m);
}

// ---- the hull ----------------------------------------------------------------------------------

// vertices, loops and edges; false for lack of memory
static bool fill_lists(const merger *m, cr_arena *arena, cri_hull *hull) {
    int n_corner = m->start[m->n_face];
    int n_edge = n_corner / 2;
    double *vertex = CR_PUSH(arena, double, 3 * m->n_vertex);
    int *start = CR_PUSH(arena, int, m->n_face + 1);
    int *corner = CR_PUSH(arena, int, n_corner);
    int *edge = CR_PUSH(arena, int, 4 * n_edge);
    int *link_start = CR_PUSH(arena, int, m->n_vertex + 1);
    int *link = CR_PUSH(arena, int, n_corner);
    if (!vertex || !start || !corner || !edge || !link_start || !link) {
        return false;
    }
    for (int i = 0; i < m->in->n_point; i++) {
        if (m->moved[i] >= 0) {
            memcpy(vertex + 3 * m->moved[i], m->in->point + 3 * i, 3 * sizeof *vertex);
        }
    }
    memcpy(start, m->start, ((size_t)m->n_face + 1) * sizeof *start);
    for (int i = 0; i < n_corner; i++) {
        corner[i] = m->moved[m->corner[i]];
    }
    for (int e = 0; e < n_edge; e++) {
        const side_key *s = &m->side[2 * e];
        const int row[4] = {s[0].low, s[0].high, s[0].face, s[1].face};
        memcpy(edge + 4 * e, row, sizeof row);
        link_start[row[0] + 1]++;
        link_start[row[1] + 1]++;
    }
    for (int v = 0; v < m->n_vertex; v++) {
        link_start[v + 1] += link_start[v];
    }

    // each start moves to its end while the list fills, and all move back by one
    for (int e = 0; e < n_edge; e++) {
        const int *row = edge + 4 * e;
        link[link_start[row[0]]++] = row[1];
        link[link_start[row[1]]++] = row[0];
    }
    memmove(link_start + 1, link_start, (size_t)m->n_vertex * sizeof *link_start);
    link_start[0] = 0;
    *hull = (cri_hull){.n_vertex = m->n_vertex,
                       .n_face = m->n_face,
                       .n_edge = n_edge,
                       .vertex = vertex,
                       .face_start = start,
                       .face_vertex = corner,
                       .edge = edge,
                       .link_start = link_start,
                       .link = link};
    return true;
}

// neighbours of every point on the triangulated hull: points that were dropped still count for
// planes
static void link_points(merger *m) {
    const hull_facets *in = m->in;
    memset(m->link_start, 0, ((size_t)in->n_point + 1) * sizeof *m->link_start);
    for (int i = 0; i < 3 * in->n; i++) {
        m->link_start[in->facet[i / 3].v[i % 3] + 1]++;
    }
    for (int i = 0; i < in->n_point; i++) {
        m->link_start[i + 1] += m->link_start[i];
    }

    // each start moves to its end while the list fills, and all move back by one
    for (int i = 0; i < 3 * in->n; i++) {
        const int *v = in->facet[i / 3].v;
        m->link[m->link_start[v[i % 3]]++] = v[(i + 1) % 3];
    }
    memmove(m->link_start + 1, m->link_start, (size_t)in->n_point * sizeof *m->link_start);
    m->link_start[0] = 0;
}

// the largest normal . x of all points, climbing from one of them
static double support(const merger *m, cri_vec3 normal, int point) {
    double best = cri_v3_dot(normal, point_of(m, point));
    for (bool is_moving = true; is_moving;) {
        is_moving = false;
        int from = point;
        for (int i = m->link_start[from]; i < m->link_start[from + 1]; i++) {
            double height = cri_v3_dot(normal, point_of(m, m->link[i]));
            if (height > best) {
                best = height;
                point = m->link[i];
                is_moving = true;
            }
        }
    }
    return best;
}

static bool fill_planes(merger *m, cr_arena *arena, cri_hull *hull) {
    double *normal = CR_PUSH(arena, double, 3 * hull->n_face);
    double *offset = CR_PUSH(arena, double, hull->n_face);
    if (!normal || !offset) {
        return false;
    }
    link_points(m);
    for (int f = 0; f < hull->n_face; f++) {
        cri_vec3 area = polygon_area(m, f);
        double length = cri_v3_norm(area);
        // a triangle so thin that its area is lost has no plane of its own: any support will do
        cri_vec3 n = length > 0.0 ? cri_v3_scale(1.0 / length, area) : cri_v3(0, 0, 1);
        cri_v3_store(n, normal + 3 * f);
        offset[f] = -INFINITY;
        for (int i = m->start[f]; i < m->start[f + 1]; i++) {
            offset[f] = fmax(offset[f], support(m, n, m->corner[i]));
        }
    }
    hull->face_normal = normal;
    hull->face_offset = offset;
    return true;
}

static void fill_bounds(cri_hull *hull) {
    cri_vec3 sum = cri_v3(0, 0, 0);
    for (int i = 0; i < hull->n_vertex; i++) {
        cri_vec3 p = cri_v3_load(hull->vertex + 3 * i);
        hull->radius = fmax(hull->radius, cri_v3_norm(p));
        sum = cri_v3_add(sum, p);
    }
    cri_v3_store(cri_v3_scale(1.0 / hull->n_vertex, sum), hull->centre);
}

/// Merges coplanar triangles and fills a hull, in arena. False for lack of memory.
static bool hull_merge(const hull_facets *in, cr_arena *arena, cr_arena *scratch, cri_hull *out) {
    CR_ASSERT(in && arena && scratch && arena != scratch && out);
    // a hull has more triangles than corners
    merger m = {.in = in};
    m.order = CR_PUSH(scratch, ranked, in->n);
    m.region = CR_PUSH(scratch, int, in->n);
    m.member = CR_PUSH(scratch, int, in->n);
    int n_list = in->n_point > in->n ? in->n_point : in->n;
    m.loop_next = CR_PUSH(scratch, int, n_list);
    m.stamp = CR_PUSH(scratch, int, in->n_point);
    m.degree = CR_PUSH(scratch, int, in->n_point);
    m.start = CR_PUSH(scratch, int, in->n + 1);
    m.corner = CR_PUSH(scratch, int, 3 * (size_t)in->n);
    m.moved = CR_PUSH(scratch, int, n_list);
    m.side = CR_PUSH(scratch, side_key, 3 * (size_t)in->n);
    m.link_start = CR_PUSH(scratch, int, (size_t)in->n_point + 1);
    m.link = CR_PUSH(scratch, int, 3 * (size_t)in->n);
    if (cri_arena_has_failed(scratch)) {
        return false;
    }
    for (int i = 0; i < in->n; i++) {
        m.order[i] = (ranked){cri_v3_norm(area_of(&m, i)), i};
    }
    qsort(m.order, (size_t)in->n, sizeof *m.order, compare_areas);

    bool is_merged = false;
    for (size_t i = 0; !is_merged && i < sizeof tolerances / sizeof tolerances[0]; i++) {
        is_merged = merge(&m, tolerances[i]);
    }
    // triangles alone always are a polyhedron: quickhull made them so
    CR_ASSERT(is_merged);
    if (!fill_lists(&m, arena, out) || !fill_planes(&m, arena, out)) {
        return false;
    }
    fill_bounds(out);
    return cri_hull_tree_build(out, arena, scratch);
}

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
    static const hull_facet side[4] = {{{0, 1, 2}, {1, 2, 3}},
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
        const hull_facet *side = &b->facet[i].side;
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

static void link_kept(hull_facet *kept, const rim_side *side, int made) {
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
        b->facet[made[i]].side = (hull_facet){{side->a, side->b, point}, {side->kept, -1, -1}};
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
static bool compact(const builder *b, cr_arena *scratch, hull_facets *out) {
    hull_facet *facets = CR_PUSH_RAW(scratch, hull_facet, b->n_slot);
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
    *out = (hull_facets){b->n_point, b->point, n, facets, b->size};
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
    hull_facets facets;
    if (!compact(b, scratch, &facets) || !hull_merge(&facets, arena, scratch, out)) {
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
