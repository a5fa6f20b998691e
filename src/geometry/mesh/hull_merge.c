// SPDX-License-Identifier: MIT
//
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

#include "geometry/mesh/hull_parts.h"
#include "geometry/mesh/hull_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const cri_hull_facets *in;
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

static cri_vec3 point_of(const merger *m, int i) {
    return cri_v3_load(m->in->point + 3 * i);
}

// twice the area, along the outward normal
static cri_vec3 area_of(const merger *m, int facet) {
    const int *v = m->in->facet[facet].v;
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
static bool is_near(const merger *m, int facet, cri_vec3 normal, cri_vec3 origin) {
    const int *v = m->in->facet[facet].v;
    double longest = 0.0;
    for (int k = 0; k < 3; k++) {
        cri_vec3 p = point_of(m, v[k]);
        if (!(fabs(cri_v3_dot(normal, cri_v3_sub(p, origin))) <= m->tolerance)) {
            return false;
        }
        longest = fmax(longest, cri_v3_norm(cri_v3_sub(point_of(m, v[(k + 1) % 3]), p)));
    }
    return cri_v3_dot(normal, area_of(m, facet)) > -m->tolerance * longest;
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
        const cri_hull_facet *f = &m->in->facet[member[i]];
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
    const cri_hull_facets *in = m->in;
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

bool cri_hull_merge(const cri_hull_facets *in, cr_arena *arena, cr_arena *scratch, cri_hull *out) {
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
