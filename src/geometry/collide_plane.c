// SPDX-License-Identifier: MIT
//
// Everything on a plane, shape 0: gap = n.x_1 of points x_1 of shape 1, n the plane's normal.
//
//   sphere, ellipsoid   the lowest point
//   capsule             both ends
//   box, mesh           the vertices
//   cylinder            the lowest points of both rims, and fixed points of the lower rim
//
// The lowest point of a rim runs away as the cylinder comes to stand; the fixed ones do not.

#include "geometry/patch.h"

#include "base/base.h"

#include <math.h>
#include <stddef.h>

static void plane_touch(const cri_pair *pair, int feature, cri_narrow_touch *touch) {
    const cri_mat3 *R = &pair->pose[0].R;
    cri_vec3 n = cri_m3_column(R, 2);
    cri_piece piece = cri_piece_at(&pair->shape[1], &pair->pose[1].R, pair->apart, feature);
    cri_vec3 x = cri_v3_sub(piece.p, cri_bulge_at(&piece, n));
    double gap = cri_v3_dot(n, x);
    cri_meet meet = {.n = n, .gap = gap, .x = cri_v3_mad(x, -gap, n)};
    meet.u[0] = cri_v3_dot(x, cri_m3_column(R, 0));
    meet.u[1] = cri_v3_dot(x, cri_m3_column(R, 1));
    int face = cri_feature_of(CRI_PIECE_FACE, 0);
    cri_touch_fill(pair->pose, &meet, cri_touch_kind_of(CRI_TOUCH_ALONG, 0, face),
                   (int[2]){face, feature}, touch);
}

// the lowest of n touches comes first
static void lowest_first(int n, cri_narrow_touch *touch) {
    int low = 0;
    for (int k = 1; k < n; k++) {
        if (touch[k].gap < touch[low].gap) {
            low = k;
        }
    }
    cri_narrow_touch t = touch[0];
    touch[0] = touch[low];
    touch[low] = t;
}

// those after the first stay when they are within margin
static int keep_within(double margin, int n, cri_narrow_touch *touch) {
    int kept = 1;
    for (int k = 1; k < n; k++) {
        if (touch[k].gap <= margin) {
            touch[kept++] = touch[k];
        }
    }
    return kept;
}

static int plane_cylinder(const cri_pair *pair, double margin, cri_narrow_touch *touch) {
    // below this sine of the tilt the lowest point of a rim is rounding
    static const double upright = 1e-9;
    cri_vec3 d = cri_m3_tmul(&pair->pose[1].R, cri_m3_column(&pair->pose[0].R, 2));
    int cap = d.z < 0.0, n = 0;
    if (hypot(d.x, d.y) > upright) {
        plane_touch(pair, cri_feature_of(CRI_PIECE_RIM, cap), &touch[n++]);
        plane_touch(pair, cri_feature_of(CRI_PIECE_RIM, 1 - cap), &touch[n++]);
    }
    // nearer to standing than to lying
    if (fabs(d.z) > sqrt(0.5)) {
        for (int k = 0; k < CRI_N_RIM; k += 2) {
            plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, CRI_N_RIM * cap + k), &touch[n++]);
            // the same point as that of the rim
            cri_vec3 apart = cri_v3_sub(touch[n - 1].point[1], touch[0].point[1]);
            n -= n > 1 && cri_v3_norm(apart) <= 1e-9 * pair->scale;
        }
    }
    lowest_first(n, touch);
    return keep_within(margin, n, touch);
}

/// The extremes of points along a line: their places and values.
typedef struct extremes {
    int at[2];
    double value[2];
} extremes;

static inline void extremes_add(extremes *e, int i, double h) {
    if (h < e->value[0]) {
        e->value[0] = h;
        e->at[0] = i;
    }
    if (h > e->value[1]) {
        e->value[1] = h;
        e->at[1] = i;
    }
}

/// Vertices of a mesh within a height, and their extremes along six directions of the plane.
typedef struct level {
    double top; // over the lowest vertex
    int n, low[CRI_MAX_TOUCH];
    extremes line[3];
} level;

enum { LEVELS = 3 };

// of the margin: what touches, what is next, and all
static const double level_share[LEVELS] = {1e-4, 1e-2, 1.0};

static void level_add(level *l, int i, double x, double y) {
    if (l->n++ < CRI_MAX_TOUCH) {
        l->low[l->n - 1] = i;
    }
    extremes_add(&l->line[0], i, x);
    extremes_add(&l->line[1], i, x + y);
    extremes_add(&l->line[2], i, x - y);
}

// all of a level or its extremes, behind those that are chosen; returns their new number
static int level_choose(const level *l, int n, int *chosen) {
    bool has_few = l->n <= CRI_MAX_TOUCH;
    for (int k = 0; k < (has_few ? l->n : 6) && n < CRI_MAX_TOUCH; k++) {
        int i = has_few ? l->low[k] : l->line[k / 2].at[k % 2];
        bool is_new = i >= 0;
        for (int j = 0; j < n; j++) {
            is_new &= chosen[j] != i;
        }
        if (is_new) {
            chosen[n++] = i;
        }
    }
    return n;
}

static int lowest_vertex(const cri_hull *hull, cri_vec3 z_axis, double *lowest) {
    int bottom = 0;
    *lowest = INFINITY;
    for (int i = 0; i < hull->n_vertex; i++) {
        double z = cri_v3_dot(z_axis, cri_v3_load(hull->vertex + 3 * (size_t)i));
        if (z < *lowest) {
            *lowest = z;
            bottom = i;
        }
    }
    return bottom;
}

// the lowest vertex, then those of each level, or its extremes where they are many
static int plane_mesh(const cri_pair *pair, double margin, cri_narrow_touch *touch) {
    const cri_hull *hull = pair->shape[1].hull;
    const cri_mat3 *R = &pair->pose[0].R;
    // axes of the plane in the frame of the mesh, scaled so that lines 60 degrees apart are sums
    cri_vec3 x_axis = cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 0));
    cri_vec3 y_axis = cri_v3_scale(sqrt(3.0), cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 1)));
    cri_vec3 z_axis = cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 2));
    double height = cri_v3_dot(cri_m3_column(R, 2), pair->apart), lowest;
    int chosen[CRI_MAX_TOUCH] = {lowest_vertex(hull, z_axis, &lowest)}, n = 1;
    level of[LEVELS];
    for (int k = 0; k < LEVELS; k++) {
        of[k] = (level){.top = fmin(lowest + level_share[k] * margin, margin - height), .n = 0};
        for (int i = 0; i < 3; i++) {
            of[k].line[i] = (extremes){{-1, -1}, {INFINITY, -INFINITY}};
        }
    }
    of[LEVELS - 1].top = margin - height;
    for (int i = 0; i < hull->n_vertex && margin >= 0.0; i++) {
        cri_vec3 p = cri_v3_load(hull->vertex + 3 * (size_t)i);
        double z = cri_v3_dot(z_axis, p);
        if (z > of[LEVELS - 1].top) {
            continue;
        }
        double x = cri_v3_dot(x_axis, p), y = cri_v3_dot(y_axis, p);
        for (int k = LEVELS - 1; k >= 0 && z <= of[k].top; k--) {
            level_add(&of[k], i, x, y);
        }
    }
    for (int k = 0; k < LEVELS; k++) {
        n = level_choose(&of[k], n, chosen);
    }
    for (int k = 0; k < n; k++) {
        plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, chosen[k]), &touch[k]);
    }
    // again, as heights are rounded otherwise here
    return keep_within(margin, n, touch);
}

bool cri_plane_next(const cri_shape shape[2], const cri_pose pose[2], cri_touch_filter filter,
                    const void *context, cri_narrow_touch *touch) {
    CR_ASSERT(shape[0].kind == CRI_SHAPE_PLANE && shape[1].kind == CRI_SHAPE_MESH && touch);
    cri_pair pair = cri_pair_of(shape, pose);
    cri_vec3 z_axis = cri_m3_tmul(&pose[1].R, cri_m3_column(&pose[0].R, 2));
    double lowest = INFINITY;
    for (int i = 0; i < shape[1].hull->n_vertex; i++) {
        double z = cri_v3_dot(z_axis, cri_v3_load(shape[1].hull->vertex + 3 * (size_t)i));
        if (z < lowest) {
            cri_narrow_touch t;
            plane_touch(&pair, cri_feature_of(CRI_PIECE_VERTEX, i), &t);
            lowest = filter(context, &t) ? z : lowest;
            *touch = lowest == z ? t : *touch;
        }
    }
    return isfinite(lowest);
}

int cri_collide_plane(const cri_pair *pair, double margin, cri_narrow_touch *touch) {
    CR_ASSERT(touch);
    switch (pair->shape[1].kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
        break;
    case CRI_SHAPE_CAPSULE:
        for (int k = 0; k < 2; k++) {
            plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, k), &touch[k]);
        }
        lowest_first(2, touch);
        return keep_within(margin, 2, touch);
    case CRI_SHAPE_BOX:
        for (int k = 0; k < 8; k++) {
            int index = (k & 1) * 2 + (k & 2) * 3 + (k & 4) / 2 * 9;
            plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, index), &touch[k]);
        }
        lowest_first(8, touch);
        return keep_within(margin, 8, touch);
    case CRI_SHAPE_CYLINDER:
        return plane_cylinder(pair, margin, touch);
    case CRI_SHAPE_MESH:
        return plane_mesh(pair, margin, touch);
    }
    plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, 0), &touch[0]);
    return 1;
}
