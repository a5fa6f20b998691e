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

#include "geometry/query/patch.h"

#include "base/base.h"
#include "geometry/mesh/hull_tree.h"

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

/// Vertices of a mesh that are chosen: the lowest one first.
typedef struct choice {
    int n, vertex[CRI_MAX_TOUCH];
} choice;

// adds a vertex that is not there, while there is room
static void choice_add(choice *c, int i) {
    bool is_new = c->n < CRI_MAX_TOUCH;
    for (int k = 0; k < c->n; k++) {
        is_new &= c->vertex[k] != i;
    }
    if (is_new) {
        c->vertex[c->n++] = i;
    }
}

// the vertices of a part, or its extremes along six directions of the plane when they are many;
// whether these are all
static bool choose_part(const cri_hull_part *part, cri_vec3 x, cri_vec3 y, choice *c) {
    enum { N_LINE = 3 };
    int list[CRI_MAX_TOUCH + 1], n = cri_hull_below(part, CRI_MAX_TOUCH + 1, list);
    for (int k = 0; n <= CRI_MAX_TOUCH && k < n; k++) {
        choice_add(c, list[k]);
    }
    cri_vec3 line[N_LINE] = {x, cri_v3_add(x, y), cri_v3_sub(x, y)};
    for (int k = 0; n > CRI_MAX_TOUCH && k < N_LINE; k++) {
        int end[2];
        cri_hull_ends(part, line[k], end);
        choice_add(c, end[0]);
        choice_add(c, end[1]);
    }
    return n <= CRI_MAX_TOUCH;
}

// the lowest vertex of a hull; a pose that is not finite has none: any will do
static int lowest_vertex(const cri_hull *hull, cri_vec3 z, double *lowest) {
    cri_hull_part all = cri_hull_part_of(hull, z, INFINITY);
    int low = cri_hull_farthest(&all, cri_v3_scale(-1.0, z), -INFINITY);
    low = low >= 0 ? low : 0;
    *lowest = cri_v3_dot(z, cri_v3_load(hull->vertex + 3 * (size_t)low));
    return low;
}

// the lowest vertex, then those within the margin; where they are many, those that touch, then what
// is next, then the outline of all
static int plane_mesh(const cri_pair *pair, double margin, cri_narrow_touch *touch) {
    static const double share[] = {1e-4, 1e-2}; // of the margin, over what touches or is next
    enum { N_SHARE = sizeof share / sizeof *share };
    const cri_hull *hull = pair->shape[1].hull;
    const cri_mat3 *R = &pair->pose[0].R;
    // axes of the plane in the frame of the mesh, scaled so that lines 60 degrees apart are sums
    cri_vec3 x = cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 0));
    cri_vec3 y = cri_v3_scale(sqrt(3.0), cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 1)));
    cri_vec3 z = cri_m3_tmul(&pair->pose[1].R, cri_m3_column(R, 2));
    double height = cri_v3_dot(cri_m3_column(R, 2), pair->apart), lowest;
    choice c = {.n = 1, .vertex = {lowest_vertex(hull, z, &lowest)}}, outline = c;
    cri_hull_part part = cri_hull_part_of(hull, z, margin - height);
    bool are_all = choose_part(&part, x, y, &outline);
    for (int k = 0; !are_all && k < N_SHARE; k++) {
        // in an overlap all that touches is one level: the deepest alone would not hold the rest
        double top = fmin(fmax(lowest, -height) + share[k] * margin, margin - height);
        // a face that lies flat is all there is, at every level
        if (part.high > top) {
            cri_hull_part level = cri_hull_part_of(hull, z, top);
            (void)choose_part(&level, x, y, &c);
        }
    }
    for (int k = 0; k < outline.n; k++) {
        choice_add(&c, outline.vertex[k]);
    }
    for (int k = 0; k < c.n; k++) {
        plane_touch(pair, cri_feature_of(CRI_PIECE_VERTEX, c.vertex[k]), &touch[k]);
    }
    // again, as heights are rounded otherwise here
    return keep_within(margin, c.n, touch);
}

// by the tree: the lowest vertex that approaches or is far enough; -1: none
static int next_vertex(const cri_pair *pair, const cri_plane_asked *asked) {
    const cri_hull *hull = pair->shape[1].hull;
    cri_vec3 z = cri_m3_column(&pair->pose[0].R, 2);
    double height = cri_v3_dot(z, pair->apart);
    z = cri_m3_tmul(&pair->pose[1].R, z);
    cri_vec3 down = cri_v3_scale(-1.0, z);
    cri_hull_part closing = cri_hull_part_of(hull, asked->rate, asked->most_rate);
    int next = cri_hull_farthest(&closing, down, -INFINITY);
    if (isfinite(asked->least_gap)) {
        double least =
            next < 0 ? -INFINITY : cri_v3_dot(down, cri_v3_load(hull->vertex + 3 * (size_t)next));
        cri_hull_part far = cri_hull_part_of(hull, down, height - asked->least_gap);
        int above = cri_hull_farthest(&far, down, least);
        next = above >= 0 ? above : next;
    }
    return next;
}

bool cri_plane_next(const cri_shape shape[2], const cri_pose pose[2], const cri_plane_asked *asked,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch) {
    CR_ASSERT(shape[0].kind == CRI_SHAPE_PLANE && shape[1].kind == CRI_SHAPE_MESH && touch);
    cri_pair pair = cri_pair_of(shape, pose);
    int next = next_vertex(&pair, asked);
    if (next < 0) {
        return false;
    }
    plane_touch(&pair, cri_feature_of(CRI_PIECE_VERTEX, next), touch);
    if (filter(context, touch)) {
        return true;
    }
    // one that is not wanted is in the way of others: all are asked
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
