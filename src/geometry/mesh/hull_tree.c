// SPDX-License-Identifier: MIT
//
// A balanced tree: node k has the children 2k and 2k + 1, the root is 1, and leaf l of the 2^depth
// last nodes has the vertices order[n l / 2^depth, n (l + 1) / 2^depth). A node whose vertices lie
// within h, by axes, of the segment from m - e to m + e has none beyond
//
//   d.x <= d.m + |d.e| + |d|.h
//
// along d, so that it need not be entered when another vertex is as far, or when its lowest point
// is above the limit. Along the rim of a face, where vertices are many, h is next to nothing (a box
// would reach beyond a slanting rim by half its length), and visits grow with the logarithm of
// their number, though every vertex of that face is the lowest but for rounding.

#include "geometry/mesh/hull_tree.h"

#include "base/base.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// vertices of a leaf at most, and of a hull that needs no tree
enum { MOST_LEAF = 8, MOST_FLAT = 32, MOST_DEPTH = 24, N_BOUND = 9 };

// of the radius: what rounding makes of a distance along a direction of length 2
static const double rounding = 1e-14;

// ---- the tree ----------------------------------------------------------------------------------

typedef struct keyed {
    double key;
    int vertex;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->vertex - y->vertex;
}

static int first_of(int n, int depth, int leaf) {
    return (int)((long long)n * leaf >> depth);
}

// the axis along which vertices spread most
static int longest_axis(const cri_hull *hull, int n, const keyed *list) {
    double most = -1.0;
    int longest = 0;
    for (int axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++) {
            double x = hull->vertex[3 * (size_t)list[i].vertex + (size_t)axis];
            low = fmin(low, x);
            high = fmax(high, x);
        }
        longest = high - low > most ? axis : longest;
        most = fmax(most, high - low);
    }
    return longest;
}

static cri_vec3 vertex_of(const cri_hull *hull, int i) {
    return cri_v3_load(hull->vertex + 3 * (size_t)i);
}

// the segment from the first to the last of sorted vertices, and how far they are from it
static void fill_bound(const cri_hull *hull, int n, const keyed *list, double *bound) {
    cri_vec3 a = vertex_of(hull, list[0].vertex), b = vertex_of(hull, list[n - 1].vertex);
    cri_vec3 along = cri_v3_sub(b, a), most = cri_v3(0.0, 0.0, 0.0);
    double square = cri_v3_dot(along, along);
    for (int i = 0; i < n; i++) {
        cri_vec3 x = cri_v3_sub(vertex_of(hull, list[i].vertex), a);
        double t = square > 0.0 ? fmin(fmax(cri_v3_dot(x, along) / square, 0.0), 1.0) : 0.0;
        cri_vec3 off = cri_v3_mad(x, -t, along);
        most =
            cri_v3(fmax(most.x, fabs(off.x)), fmax(most.y, fabs(off.y)), fmax(most.z, fabs(off.z)));
    }
    cri_v3_store(cri_v3_mad(a, 0.5, along), bound);
    cri_v3_store(cri_v3_scale(0.5, along), bound + 3);
    cri_v3_store(most, bound + 6);
}

// where the first number of a node is; the others follow at every second place, so that two
// children are lanes of one vector
static inline size_t bound_at(int node) {
    return 2 * N_BOUND * (size_t)(node / 2) + (size_t)(node % 2);
}

bool cri_hull_tree_build(cri_hull *hull, cr_arena *arena, cr_arena *scratch) {
    CR_ASSERT(hull && arena && scratch);
    int n = hull->n_vertex, depth = 0;
    if (n <= MOST_FLAT) {
        return true;
    }
    while (((n - 1) >> depth) + 1 > MOST_LEAF) {
        depth++;
    }
    CR_ASSERT(depth <= MOST_DEPTH);
    int n_leaf = 1 << depth;
    double *bound = CR_PUSH(arena, double, N_BOUND * 2 * (size_t)n_leaf);
    int *order = CR_PUSH(arena, int, n);
    keyed *list = CR_PUSH(scratch, keyed, n);
    if (!bound || !order || !list) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        list[i].vertex = i;
    }
    for (int node = 1, level = 0; node < 2 * n_leaf; node++) {
        level += node == 2 << level;
        int leaf = (node - (1 << level)) << (depth - level);
        int from = first_of(n, depth, leaf);
        int count = first_of(n, depth, leaf + (1 << (depth - level))) - from;
        size_t axis = (size_t)longest_axis(hull, count, list + from);
        for (int i = from; i < from + count; i++) {
            list[i].key = hull->vertex[3 * (size_t)list[i].vertex + axis];
        }
        // halves for the children
        qsort(list + from, (size_t)count, sizeof *list, by_key);
        double own[N_BOUND];
        fill_bound(hull, count, list + from, own);
        for (int k = 0; k < N_BOUND; k++) {
            bound[bound_at(node) + 2 * (size_t)k] = own[k];
        }
    }
    for (int i = 0; i < n; i++) {
        order[i] = list[i].vertex;
    }
    hull->tree_depth = depth;
    hull->tree_bound = bound;
    hull->tree_order = order;
    return true;
}

// ---- questions ---------------------------------------------------------------------------------

typedef double two __attribute__((vector_size(16)));
typedef double near_two __attribute__((vector_size(16), aligned(8), may_alias));
typedef long long two_bits __attribute__((vector_size(16)));

/// A direction and the sizes of its parts.
typedef struct way {
    cri_vec3 d, size;
} way;

/// Where a node is along a direction, but for rounding.
typedef struct span {
    double low, high;
} span;

static way way_of(cri_vec3 d) {
    return (way){d, cri_v3(fabs(d.x), fabs(d.y), fabs(d.z))};
}

static inline span span_of(const cri_hull *hull, int node, const way *w) {
    const double *b = hull->tree_bound + bound_at(node);
    double middle = cri_v3_dot(cri_v3(b[0], b[2], b[4]), w->d);
    double half = fabs(cri_v3_dot(cri_v3(b[6], b[8], b[10]), w->d)) +
                  cri_v3_dot(cri_v3(b[12], b[14], b[16]), w->size);
    return (span){middle - half, middle + half};
}

static inline two dot_of_two(const near_two *x, const two d[3]) {
    return x[0] * d[0] + x[1] * d[1] + x[2] * d[2];
}

// how far both children of a node go
static inline two reach_of_children(const cri_hull *hull, int node, const two d[3],
                                    const two size[3]) {
    const near_two *b = (const near_two *)(hull->tree_bound + bound_at(2 * node));
    two slant = dot_of_two(b + 3, d);
    slant = (two)((two_bits)slant & LLONG_MAX); // its size
    return dot_of_two(b, d) + (slant + dot_of_two(b + 6, size));
}

// the vertices under a node: order[from, to)
static void range_of(const cri_hull *hull, int node, int *from, int *to) {
    int level = 0, depth = hull->tree_depth;
    while (node >> (level + 1) > 0) {
        level++;
    }
    int leaf = (node - (1 << level)) << (depth - level);
    *from = first_of(hull->n_vertex, depth, leaf);
    *to = first_of(hull->n_vertex, depth, leaf + (1 << (depth - level)));
}

static double slack_of(const cri_hull *hull) {
    return rounding * hull->radius;
}

cri_hull_part cri_hull_part_of(const cri_hull *hull, cri_vec3 z, double limit) {
    cri_hull_part part = {.hull = hull, .z = z, .limit = limit};
    part.high = hull->tree_order ? -INFINITY : INFINITY;
    way up = way_of(z);
    int todo[MOST_DEPTH + 2], n_todo = hull->tree_order ? 1 : 0;
    todo[0] = 1;
    while (n_todo > 0) {
        int node = todo[--n_todo];
        span height = span_of(hull, node, &up);
        if (height.low > limit + slack_of(hull)) {
            continue;
        }
        bool is_below = height.high <= limit - slack_of(hull);
        if (is_below || node >= 1 << hull->tree_depth || part.n_node + n_todo + 2 > CRI_HULL_PART) {
            part.node[part.n_node++] = node;
            part.high = height.high > part.high ? height.high : part.high;
            continue;
        }
        todo[n_todo++] = 2 * node + 1;
        todo[n_todo++] = 2 * node;
    }
    part.high += slack_of(hull);
    return part;
}

/// A node that waits, and how far it goes.
typedef struct waiting {
    int node;
    double reach;
} waiting;

/// What is looked for, and what was found.
typedef struct search {
    const cri_hull_part *part;
    way along;
    double most;
    int best;
} search;

static inline cri_vec3 vertex_at(const cri_hull *hull, int k, int *i) {
    *i = hull->tree_order ? hull->tree_order[k] : k;
    return vertex_of(hull, *i);
}

static void look_through(search *s, int from, int to) {
    for (int k = from; k < to; k++) {
        int i;
        cri_vec3 x = vertex_at(s->part->hull, k, &i);
        double far = cri_v3_dot(s->along.d, x);
        if (far > s->most && cri_v3_dot(s->part->z, x) <= s->part->limit) {
            s->most = far;
            s->best = i;
        }
    }
}

// the vertices under a node, the better child first
static void look_under(search *s, waiting top) {
    const cri_hull *hull = s->part->hull;
    double slack = slack_of(hull);
    if (top.reach <= s->most + slack) {
        return;
    }
    int n_leaf = 1 << hull->tree_depth, n = 1;
    const cri_vec3 w = s->along.d, z = s->along.size;
    const two d[3] = {{w.x, w.x}, {w.y, w.y}, {w.z, w.z}};
    const two size[3] = {{z.x, z.x}, {z.y, z.y}, {z.z, z.z}};
    waiting list[MOST_DEPTH + 2];
    list[0] = top;
    while (n > 0) {
        waiting own = list[--n];
        if (own.reach <= s->most + slack) {
            continue;
        }
        if (own.node >= n_leaf) {
            look_through(s, first_of(hull->n_vertex, hull->tree_depth, own.node - n_leaf),
                         first_of(hull->n_vertex, hull->tree_depth, own.node - n_leaf + 1));
            continue;
        }
        two reach = reach_of_children(hull, own.node, d, size);
        waiting left = {2 * own.node, reach[0]}, right = {2 * own.node + 1, reach[1]};
        bool is_right = right.reach > left.reach;
        list[n++] = is_right ? left : right;
        list[n++] = is_right ? right : left;
    }
}

// the vertices under the nodes of a part (spans along d), the most promising first so that others
// need not be entered; sign -1: against d
static int look_among(const cri_hull_part *part, const span *along, cri_vec3 d, double sign,
                      double least) {
    search s = {.part = part, .along = way_of(cri_v3_scale(sign, d)), .most = least, .best = -1};
    if (!part->hull->tree_order) {
        look_through(&s, 0, part->hull->n_vertex);
        return s.best;
    }
    double reach[CRI_HULL_PART];
    int best = 0, n = part->n_node;
    for (int k = 0; k < n; k++) {
        reach[k] = sign > 0.0 ? along[k].high : -along[k].low;
        best = reach[k] > reach[best] ? k : best;
    }
    for (int k = 0; k < n; k++) {
        int at = k == 0 ? best : (k <= best ? k - 1 : k);
        look_under(&s, (waiting){part->node[at], reach[at]});
    }
    return s.best;
}

static void fill_spans(const cri_hull_part *part, cri_vec3 d, span along[CRI_HULL_PART]) {
    way w = way_of(d);
    for (int k = 0; k < part->n_node; k++) {
        along[k] = span_of(part->hull, part->node[k], &w);
    }
}

int cri_hull_farthest(const cri_hull_part *part, cri_vec3 d, double least) {
    span along[CRI_HULL_PART];
    fill_spans(part, d, along);
    return look_among(part, along, d, 1.0, least);
}

void cri_hull_ends(const cri_hull_part *part, cri_vec3 d, int end[2]) {
    span along[CRI_HULL_PART];
    fill_spans(part, d, along);
    end[0] = look_among(part, along, d, -1.0, -INFINITY);
    end[1] = look_among(part, along, d, 1.0, -INFINITY);
}

int cri_hull_below(const cri_hull_part *part, int most, int *out) {
    CR_ASSERT(most > 0 && out);
    const cri_hull *hull = part->hull;
    int n = 0, n_range = hull->tree_order ? part->n_node : 1;
    bool is_whole = part->high <= part->limit;
    for (int j = 0; j < n_range; j++) {
        int from = 0, to = hull->n_vertex;
        if (hull->tree_order) {
            range_of(hull, part->node[j], &from, &to);
        }
        for (int k = from; k < to && n < most; k++) {
            int i = hull->tree_order ? hull->tree_order[k] : k;
            if (is_whole || cri_v3_dot(part->z, vertex_of(hull, i)) <= part->limit) {
                out[n++] = i;
            }
        }
    }
    return n;
}
