// SPDX-License-Identifier: MIT
//
// From all points of a contact to the outlines of its patches.
//
// Points are taken deepest first. One belongs to the first patch whose first normal is within 0.01
// radians of its own. In the plane across that normal the convex hull stays (Andrew's monotone
// chain), and the deepest point: what hull points can push, friction apart from spin about the
// normal, inner points push no better. That holds for points of one gap: where the margin is wide,
// a lower point within the outline of higher ones is the next to hit, and so the points nearest to
// the deepest one in gap have outlines of their own. What is still more than CRI_MAX_TOUCH is
// thinned out by cri_patch_reduce.

#include "geometry/field/skin_parts.h"
#include "geometry/query/patch.h"

#include <math.h>
#include <string.h>

enum { PATCHES = 32, LEVELS = 3 };

static const double same_angle = 0.01; // radians between normals of a patch
static const double same_place = 1e-4; // share of the scale within which the deeper point stays

static const double same_gap = 1e-9; // of the scale: no point is deeper than another by less

static const double share[LEVELS] = {0.02, 0.2, 1.0}; // of the margin, above the deepest point

/// Points to be sorted by two numbers each.
typedef struct keys {
    double (*key)[2];
    int *order;
} keys;

static bool is_before(const keys *k, int a, int b) {
    const double *x = k->key[a], *y = k->key[b];
    return x[0] != y[0] ? x[0] < y[0] : x[1] != y[1] ? x[1] < y[1] : a < b;
}

static void sift(const keys *k, int root, int n) {
    for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && is_before(k, k->order[child], k->order[child + 1])) {
            child++;
        }
        if (!is_before(k, k->order[root], k->order[child])) {
            return;
        }
        int other = k->order[root];
        k->order[root] = k->order[child];
        k->order[child] = other;
        root = child;
    }
}

// order (n) is a permutation; no heap call, which qsort may make
static void sort(const keys *k, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) {
        sift(k, i, n);
    }
    for (int i = n - 1; i > 0; i--) {
        int other = k->order[0];
        k->order[0] = k->order[i];
        k->order[i] = other;
        sift(k, 0, i);
    }
}

static double turn(const double *a, const double *b, const double *c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// hull (n + 1) of sorted points, counterclockwise; a point or two are hulls too
static int hull_of(const keys *k, int n, int *hull) {
    int m = 0;
    for (int pass = 0; pass < 2; pass++) {
        int start = m;
        for (int i = 0; i < n; i++) {
            int at = k->order[pass ? n - 1 - i : i];
            while (m >= start + 2 &&
                   turn(k->key[hull[m - 2]], k->key[hull[m - 1]], k->key[at]) <= 0.0) {
                m--;
            }
            hull[m++] = at;
        }
        // the last point begins the other chain
        m -= n > 1;
    }
    return n > 1 ? m : 1;
}

// Leaves points in order that lie strictly inside the quadrilateral of the extreme ones out: they
// are on no hull, and need not be sorted (Akl, Toussaint 1978). Returns how many stay.
static int drop_inner(const keys *k, int n) {
    const int *order = k->order;
    int end[4] = {order[0], order[0], order[0], order[0]}; // left, low, right, high
    for (int i = 1; i < n; i++) {
        const double *x = k->key[order[i]];
        end[0] = x[0] < k->key[end[0]][0] ? order[i] : end[0];
        end[1] = x[1] < k->key[end[1]][1] ? order[i] : end[1];
        end[2] = x[0] > k->key[end[2]][0] ? order[i] : end[2];
        end[3] = x[1] > k->key[end[3]][1] ? order[i] : end[3];
    }
    int n_left = 0;
    for (int i = 0; i < n; i++) {
        int at = order[i];
        bool is_inner = true;
        for (int e = 0; e < 4 && is_inner; e++) {
            is_inner = turn(k->key[end[e]], k->key[end[(e + 1) % 4]], k->key[at]) > 0.0;
        }
        k->order[n_left] = at;
        n_left += !is_inner;
    }
    return n_left;
}

/// The points of one patch and where they are seen along its normal.
typedef struct patch_points {
    int n;
    int *member; // in the pool
    keys plane;
    int *hull;
} patch_points;

static void project(const cri_narrow_touch *pool, patch_points *p) {
    cri_vec3 n = pool[p->member[0]].normal, o = pool[p->member[0]].point[0];
    cri_vec3 t = cri_v3_orthogonal(n), b = cri_v3_cross(n, t);
    for (int i = 0; i < p->n; i++) {
        cri_vec3 d = cri_v3_sub(pool[p->member[i]].point[0], o);
        p->plane.key[i][0] = cri_v3_dot(d, t);
        p->plane.key[i][1] = cri_v3_dot(d, b);
        p->plane.order[i] = i;
    }
}

// is there a deeper one in the patch beside it?
static bool is_beside(const cri_patch *patch, const cri_narrow_touch *t, double least) {
    for (int k = 0; k < patch->n; k++) {
        if (cri_v3_norm(cri_v3_sub(patch->touch[k].point[0], t->point[0])) <= least) {
            return true;
        }
    }
    return false;
}

// the outline of the first n members, into patch
static void add_outline(const cri_narrow_touch *pool, patch_points *p, int n, double least,
                        cri_patch *patch) {
    p->n = n;
    project(pool, p);
    n = drop_inner(&p->plane, n);
    sort(&p->plane, n);
    int n_hull = hull_of(&p->plane, n, p->hull);
    int room = CRI_MAX_POOL - patch->n, n_tried = n_hull < room ? n_hull : room;
    for (int k = 0; k < n_tried; k++) {
        const cri_narrow_touch *t = &pool[p->member[p->hull[(long long)k * n_hull / n_tried]]];
        if (!is_beside(patch, t, least)) {
            patch->touch[patch->n++] = *t;
        }
    }
}

// the deepest point and the outlines, at most CRI_MAX_TOUCH; members come deepest first
static int reduce_patch(const cri_narrow_touch *pool, patch_points *p, double margin, double scale,
                        cri_narrow_touch out[CRI_MAX_TOUCH]) {
    cri_patch patch = {.n = 0};
    int n = 0, n_all = p->n;
    double deepest = pool[p->member[0]].gap;
    for (int level = 0; level < LEVELS; level++) {
        int before = n;
        while (n < n_all && pool[p->member[n]].gap <= deepest + share[level] * margin) {
            n++;
        }
        n = level == LEVELS - 1 ? n_all : n;
        if (n > before) {
            add_outline(pool, p, n, same_place * scale, &patch);
        }
    }
    // of equals a point of the outline is the deepest: an inner one would take its place
    out[0] = pool[p->member[0]];
    for (int k = patch.n - 1; k >= 0; k--) {
        out[0] = patch.touch[k].gap <= deepest + same_gap * scale ? patch.touch[k] : out[0];
    }
    const cri_pair pair = {.scale = scale};
    return cri_patch_reduce(&pair, &patch, margin, 1, out);
}

static int drop_kinks(int n, cri_narrow_touch *pool) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (!(pool[i].cache.kind & CRI_SKIN_KINK)) {
            pool[kept++] = pool[i];
        }
    }
    return kept > 0 ? kept : n;
}

// the patch of a normal; n_patch when there is none
static int patch_of(int n_patch, const cri_vec3 *normal, cri_vec3 n) {
    for (int k = 0; k < n_patch; k++) {
        cri_vec3 apart = cri_v3_sub(n, normal[k]);
        if (cri_v3_dot(apart, apart) < same_angle * same_angle) {
            return k;
        }
    }
    return n_patch;
}

int cri_skin_reduce(int n, cri_narrow_touch *pool, double margin, double scale, int n_most,
                    cri_narrow_touch *touch, cr_arena *scratch) {
    n = drop_kinks(n, pool);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    keys depth = {.key = cri_arena_push_raw(scratch, sizeof *depth.key * (size_t)n),
                  .order = CR_PUSH_RAW(scratch, int, n)};
    patch_points p = {.member = CR_PUSH_RAW(scratch, int, n),
                      .hull = CR_PUSH_RAW(scratch, int, 2 * n + 2)};
    p.plane.key = cri_arena_push_raw(scratch, sizeof *p.plane.key * (size_t)n);
    p.plane.order = CR_PUSH_RAW(scratch, int, n);
    int *patch = CR_PUSH_RAW(scratch, int, n), n_patch = 0, n_out = 0;
    if (cri_arena_has_failed(scratch)) {
        cri_arena_rewind(scratch, mark);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        depth.key[i][0] = pool[i].gap;
        depth.key[i][1] = pool[i].id;
        depth.order[i] = i;
    }
    sort(&depth, n);
    cri_vec3 normal[PATCHES];
    for (int i = 0; i < n; i++) {
        int at = depth.order[i], k = patch_of(n_patch, normal, pool[at].normal);
        patch[at] = k < PATCHES ? k : -1;
        if (k == n_patch && k < PATCHES) {
            normal[n_patch++] = pool[at].normal;
        }
    }
    for (int k = 0; k < n_patch; k++) {
        p.n = 0;
        for (int i = 0; i < n; i++) {
            if (patch[depth.order[i]] == k) {
                p.member[p.n++] = depth.order[i];
            }
        }
        cri_narrow_touch out[CRI_MAX_TOUCH];
        int count = reduce_patch(pool, &p, margin, scale, out);
        for (int i = 0; i < count && n_out < n_most; i++) {
            touch[n_out++] = out[i];
        }
    }
    cri_arena_rewind(scratch, mark);
    return n_out;
}
