// SPDX-License-Identifier: MIT
//
// Meshes of primitives whose vertices are linear in the sizes.
//
// Round ones are turned on a lathe: a profile of points (rho, z) from the lower to the upper pole,
// each a sum of sizes, goes once around z. An ellipsoid has the unit sphere's coordinates one by
// one; a box its eight corners. Vertices lie on the surface, so that a mesh is within its convex
// shape by (angle between neighbours)^2/8 of the radius: 1.2e-3 for AROUND, 3e-4 for AROUND_RIM,
// which a sharp rim gets, where no field helps out on a plane (skin_plane.c).

#include "geometry/field/form.h"

#include <math.h>
#include <string.h>

enum { AROUND = 64, AROUND_RIM = 128, UPWARDS = 32, MOST_RING = UPWARDS + 4 };

#define PI 3.14159265358979323846

/// A point of a profile: coefficients of the sizes in rho and in z.
typedef struct profile_point {
    double rho[2], z[2];
} profile_point;

/// Rings of vertices, and a pole below and above.
typedef struct lathe {
    int n_ring;
    int n_around;
    profile_point pole[2];
    profile_point ring[MOST_RING];
} lathe;

static lathe lathe_of(cri_field_kind kind) {
    lathe l = {.n_around = kind == CRI_FIELD_CYLINDER ? AROUND_RIM : AROUND};
    if (kind == CRI_FIELD_CYLINDER) {
        l.n_ring = 2;
        for (int side = 0; side < 2; side++) {
            double sign = side ? 1.0 : -1.0;
            l.pole[side] = (profile_point){{0.0, 0.0}, {0.0, sign}};
            l.ring[side] = (profile_point){{1.0, 0.0}, {0.0, sign}};
        }
        return l;
    }
    // a sphere, whose equator a capsule has twice
    double half = kind == CRI_FIELD_CAPSULE ? 1.0 : 0.0;
    for (int side = 0; side < 2; side++) {
        double sign = side ? 1.0 : -1.0;
        l.pole[side] = (profile_point){{0.0, 0.0}, {sign, sign * half}};
    }
    for (int i = 1; i < UPWARDS; i++) {
        double up = PI * ((double)i / UPWARDS - 0.5);
        bool is_equator = 2 * i == UPWARDS;
        for (int twice = 0; twice <= (is_equator && half > 0.0); twice++) {
            double sign = is_equator ? (twice ? 1.0 : -1.0) : (up > 0.0 ? 1.0 : -1.0);
            l.ring[l.n_ring++] = (profile_point){{is_equator ? 1.0 : cos(up), 0.0},
                                                 {is_equator ? 0.0 : sin(up), sign * half}};
        }
    }
    return l;
}

static void put_face(int *face, int *n, int a, int b, int c) {
    face[3 * *n] = a;
    face[3 * *n + 1] = b;
    face[3 * *n + 2] = c;
    ++*n;
}

// counterclockwise from outside; vertex 0 is the lower pole, 1 the upper one
static int lathe_faces(const lathe *l, int *face) {
    int n = 0;
    for (int k = 0; k < l->n_around; k++) {
        int next = (k + 1) % l->n_around, top = 2 + (l->n_ring - 1) * l->n_around;
        put_face(face, &n, 0, 2 + next, 2 + k);
        put_face(face, &n, 1, top + k, top + next);
        for (int r = 0; r + 1 < l->n_ring; r++) {
            int low = 2 + r * l->n_around, high = low + l->n_around;
            put_face(face, &n, low + k, low + next, high + next);
            put_face(face, &n, low + k, high + next, high + k);
        }
    }
    return n;
}

// coefficients of size k in the vertices (n_vertex, 3)
static void lathe_vertices(const lathe *l, int k, double *T) {
    for (int side = 0; side < 2; side++) {
        T[3 * side + 2] = l->pole[side].z[k];
    }
    for (int r = 0; r < l->n_ring; r++) {
        for (int i = 0; i < l->n_around; i++) {
            double *v = T + 3 * (2 + (size_t)(r * l->n_around) + (size_t)i);
            double angle = 2.0 * PI * i / l->n_around;
            v[0] = l->ring[r].rho[k] * cos(angle);
            v[1] = l->ring[r].rho[k] * sin(angle);
            v[2] = l->ring[r].z[k];
        }
    }
}

static bool plan_lathe(cri_field_kind kind, cr_arena *arena, cri_form_plan *plan) {
    lathe l = lathe_of(kind);
    plan->n_vertex = 2 + l.n_ring * l.n_around;
    plan->n_param = kind == CRI_FIELD_SPHERE ? 1 : kind == CRI_FIELD_ELLIPSOID ? 3 : 2;
    size_t n = 3 * (size_t)plan->n_vertex;
    int *face = CR_PUSH(arena, int, 6 * (size_t)(l.n_ring * l.n_around));
    double *T = CR_PUSH(arena, double, n *(size_t)plan->n_param);
    double *unit = kind == CRI_FIELD_ELLIPSOID ? CR_PUSH(arena, double, n) : T;
    if (!face || !T || !unit) {
        return false;
    }
    plan->n_face = lathe_faces(&l, face);
    for (int k = 0; k < plan->n_param && kind != CRI_FIELD_ELLIPSOID; k++) {
        lathe_vertices(&l, k, T + n * (size_t)k);
    }
    if (kind == CRI_FIELD_ELLIPSOID) {
        // half axis k has the unit sphere's coordinate k
        lathe_vertices(&l, 0, unit);
        for (size_t i = 0; i < n; i++) {
            T[n * (i % 3) + i] = unit[i];
        }
    }
    plan->face = face;
    plan->linear = T;
    plan->is_round = kind != CRI_FIELD_CYLINDER;
    return true;
}

// bits 0, 1, 2 of a corner are the signs of x, y, z
static const int box_face[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                 2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};

static bool plan_box(cr_arena *arena, cri_form_plan *plan) {
    double *T = CR_PUSH(arena, double, 3 * 24);
    for (int v = 0; T && v < 8; v++) {
        for (int a = 0; a < 3; a++) {
            T[24 * a + 3 * v + a] = v >> a & 1 ? 1.0 : -1.0;
        }
    }
    plan->n_vertex = 8;
    plan->n_face = 12;
    plan->n_param = 3;
    plan->face = box_face;
    plan->linear = T;
    return T != NULL;
}

bool cri_form_plan_primitive(cri_field_kind kind, cr_arena *arena, cri_form_plan *plan) {
    CR_ASSERT(arena && plan);
    CR_ASSERT(kind == CRI_FIELD_SPHERE || kind == CRI_FIELD_BOX || kind == CRI_FIELD_CYLINDER ||
              kind == CRI_FIELD_CAPSULE || kind == CRI_FIELD_ELLIPSOID);
    // the distance to an ellipsoid is an estimate
    plan->is_convex = kind != CRI_FIELD_ELLIPSOID;
    return kind == CRI_FIELD_BOX ? plan_box(arena, plan) : plan_lathe(kind, arena, plan);
}

bool cri_form_plan_mesh(const cri_triangles *mesh, cr_arena *arena, cri_form_plan *plan) {
    size_t n_vertex = 3 * (size_t)mesh->n_vertex, n_face = 3 * (size_t)mesh->n_face;
    double *T = CR_PUSH_RAW(arena, double, n_vertex);
    int *face = CR_PUSH_RAW(arena, int, n_face);
    if (!T || !face) {
        return false;
    }
    memcpy(T, mesh->vertex, sizeof *T * n_vertex);
    memcpy(face, mesh->face, sizeof *face * n_face);
    plan->n_vertex = mesh->n_vertex;
    plan->n_face = mesh->n_face;
    plan->n_param = 1;
    plan->face = face;
    plan->linear = T;
    return true;
}

// ---- half-spaces -------------------------------------------------------------------------------

static void half_space_eval(const void *self, const double *param, cri_vec3 x,
                            cri_field_order order, cri_field_value *out) {
    (void)self;
    (void)param;
    out->phi = x.z;
    if (order >= CRI_FIELD_GRADIENT) {
        out->g = cri_v3(0.0, 0.0, 1.0);
    }
    if (order >= CRI_FIELD_HESSIAN) {
        memset(out->H, 0, sizeof out->H);
    }
}

static void half_space_back(const void *self, const double *param, cri_vec3 x, double phi_adj,
                            cri_vec3 g_adj, cri_vec3 *x_adj, double *param_adj) {
    (void)self;
    (void)param;
    (void)x;
    (void)g_adj;
    (void)param_adj;
    x_adj->z += phi_adj;
}

static void half_space_along(const void *self, const double *param, cri_vec3 x, cri_vec3 x_tan,
                             const double *param_tan, double *phi_tan, cri_vec3 *g_tan) {
    (void)self;
    (void)param;
    (void)x;
    (void)param_tan;
    *phi_tan = x_tan.z;
    *g_tan = cri_v3(0.0, 0.0, 0.0);
}

const cri_form_plan *cri_form_half_space(void) {
    static const cri_field_custom half_space = {.lipschitz = 1.0,
                                                .lower = {-1.0, -1.0, -1.0},
                                                .upper = {1.0, 1.0, 0.0},
                                                .eval = half_space_eval,
                                                .vjp = half_space_back,
                                                .jvp = half_space_along};
    static const cri_field_node node = {.kind = CRI_FIELD_CUSTOM, .custom = &half_space};
    static const cri_form_plan plan = {
        .n_node = 1, .node = &node, .is_convex = true, .is_half_space = true};
    return &plan;
}
