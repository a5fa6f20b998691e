// SPDX-License-Identifier: MIT
//
// A smooth field on a half-space: the lowest point of the field on the plane.
//
// A mesh is a polyhedron, and would roll like one. Where the field of the body is smooth, the touch
// of a vertex with the plane is followed by the minimum of phi over the plane from its foot on:
// grad phi is then along the plane's normal, and the touch is owned by the plane, with the point's
// coordinates x, y for weights. The derivatives are those of a lowest point within a triangle of
// the plane, around the point and of any size (skin_diff.c).
//
// The minimum counts when it is close to the vertex, the field is curved there and the curvature is
// seen by the mesh: |H| times the side of its triangles below 1. An edge that the mesh cuts off is
// left to the mesh.

#include "geometry/field/skin_parts.h"

#include <math.h>
#include <string.h>

static const double far_away = 4.0;    // sides of a triangle from the vertex to the lowest point
static const double search_size = 0.5; // of the body's radius: the triangle that is searched

void cri_skin_plane_triangle(double x, double y, double size, cri_vec3 corner[3]) {
    // half, and the height of an equilateral triangle
    corner[0] = cri_v3(x + size, y, 0.0);
    corner[1] = cri_v3(x - 0.5 * size, y + 0.8660254037844386 * size, 0.0);
    corner[2] = cri_v3(x - 0.5 * size, y - 0.8660254037844386 * size, 0.0);
}

bool cri_skin_plane_find(const cri_skin skin[2], const cri_pose pose[2], int o, double x, double y,
                         cri_narrow_touch *touch) {
    const cri_skin *body = &skin[1 - o];
    const double third = 1.0 / 3.0, start[3] = {third, third, third};
    double size = search_size * body->tree->node[0].radius, B[3], at[3] = {0.0, 0.0, 0.0};
    cri_vec3 corner[3], V[3];
    cri_skin_plane_triangle(x, y, size, corner);
    for (int l = 0; l < 3; l++) {
        V[l] = cri_pose_into(&pose[1 - o], cri_pose_out(&pose[o], corner[l]));
    }
    cri_triangle_min m;
    cri_triangle_min_find(body->field, V, start, &m);
    int active[3] = {0}, n = cri_triangle_active(m.weight, active);
    if (!m.is_settled || n < 3 || !cri_triangle_bend(V, n, active, m.v.H, B)) {
        return false;
    }
    for (int l = 0; l < 3; l++) {
        at[0] += m.weight[l] * corner[l].x;
        at[1] += m.weight[l] * corner[l].y;
    }
    cri_skin_spot spot = cri_skin_spot_of(skin, pose, o, -1, at);
    touch->cache =
        (cri_touch_cache){.kind = CRI_SKIN_OWN | (o ? CRI_SKIN_OWNER : 0), .feature = {-1, 0}};
    memcpy(touch->cache.u, at, sizeof at);
    cri_skin_touch_fill(skin, pose, &spot, true, &m.v, touch);
    return true;
}

static double longest_side(const cri_triangles *mesh, int face) {
    double longest = 0.0;
    for (int k = 0; k < 3; k++) {
        cri_vec3 side = cri_v3_sub(cri_triangle_corner(mesh, face, (k + 1) % 3),
                                   cri_triangle_corner(mesh, face, k));
        longest = fmax(longest, cri_v3_norm(side));
    }
    return longest;
}

// the touch of a vertex, replaced when it may be
static bool follow(const cri_skin skin[2], const cri_pose pose[2], int o, double side,
                   cri_narrow_touch *touch) {
    cri_vec3 foot = cri_pose_into(&pose[o], touch->point[1 - o]);
    cri_narrow_touch t = {.gap = 0.0};
    if (!cri_skin_plane_find(skin, pose, o, foot.x, foot.y, &t)) {
        return false;
    }
    cri_field_value v;
    cri_vec3 y = cri_pose_into(&pose[1 - o], t.point[o]);
    cri_field_eval(skin[1 - o].field, y, CRI_FIELD_HESSIAN, &v);
    double bend = fabs(v.H[0]) + fabs(v.H[1]) + fabs(v.H[2]);
    double away = hypot(t.cache.u[0] - foot.x, t.cache.u[1] - foot.y);
    if (!(away <= far_away * side) || !(bend * side < 1.0)) {
        return false;
    }
    *touch = t;
    return true;
}

int cri_skin_plane_polish(const cri_skin skin[2], const cri_pose pose[2], int n,
                          cri_narrow_touch *touch) {
    int o = skin[0].tree ? 1 : 0, kept = 0, n_followed = 0;
    if (skin[o].tree || !skin[1 - o].is_round) {
        return n;
    }
    for (int k = 0; k < n; k++) {
        cri_narrow_touch t = touch[k];
        double side = longest_side(&skin[1 - o].tree->mesh, t.cache.feature[0]);
        bool is_beside = false;
        // vertices around a lowest point are the same contact
        for (int i = 0; i < n_followed; i++) {
            cri_vec3 apart = cri_v3_sub(t.point[1 - o], touch[i].point[1 - o]);
            is_beside = is_beside || cri_v3_norm(apart) <= far_away * side;
        }
        if (is_beside) {
            continue;
        }
        bool is_followed = follow(skin, pose, o, side, &t);
        if (is_followed) {
            // lowest points stand first, numbered as they come
            t.id = n_followed;
            touch[kept] = touch[n_followed];
            touch[n_followed++] = t;
        } else {
            touch[kept] = t;
        }
        kept++;
    }
    int deepest = 0;
    for (int k = 1; k < kept; k++) {
        deepest = touch[k].gap < touch[deepest].gap ? k : deepest;
    }
    if (deepest > 0) {
        cri_narrow_touch first = touch[0];
        touch[0] = touch[deepest];
        touch[deepest] = first;
    }
    return kept;
}
