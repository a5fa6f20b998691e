// SPDX-License-Identifier: MIT
//
// Forms, their derivatives, and the plans of primitives.
//
//   linear   v = sum_k theta_k T_k          theta_adj_k += T_k . v_adj
//   marched  v on an edge along e, phi(v) = 0 (march.c has it for all vertices):
//            theta_adj -= (e . v_adj)/(e . g) dphi/dtheta at v
//            or, by the rule along the normal, theta_adj -= (n . v_adj)/|g| dphi/dtheta at v
//
// The lattice of a marched mesh: spacings are 2^(k/2) 0.9417 m, k the largest integer that gives
// the cells asked for along the longest side of the box around the surface; planes stand at
// (i + shift) h. These numbers are such that sizes people write down hit neither a change of
// spacing nor a plane of samples, and that no edge lies in a plane x = y or the like, where shapes
// with equal sizes have their creases.

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

// bits 0, 1, 2 of a corner are the signs of x, y, z
static const int box_face[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                 2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};

static const double spacing_unit = 0.9417;

static const double lattice_shift[3] = {0.3819, 0.2963, 0.4451};

static const cri_vec3 nothing = {0.0, 0.0, 0.0};

// ---- plans --------------------------------------------------------------------------------------

// Meshes of primitives whose vertices are linear in the sizes.
//
// Round ones are turned on a lathe: a profile of points (rho, z) from the lower to the upper pole,
// each a sum of sizes, goes once around z. An ellipsoid has the unit sphere's coordinates one by
// one; a box its eight corners. Vertices lie on the surface, so that a mesh is within its convex
// shape by (angle between neighbours)^2/8 of the radius: 1.2e-3 for AROUND, 3e-4 for AROUND_RIM,
// which a sharp rim gets, where no field helps out on a plane (skin.c).

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

// ---- making ------------------------------------------------------------------------------------

static cri_march_box lattice_of(const cri_field *field, int n_cell) {
    cri_vec3 lower, upper;
    cri_field_bounds(field, &lower, &upper);
    cri_vec3 size = cri_v3_sub(upper, lower);
    double longest = fmax(size.x, fmax(size.y, size.z));
    double level = floor(2.0 * log2(longest / (n_cell * spacing_unit)));
    cri_march_box box = {.h = spacing_unit * exp2(0.5 * level)};
    double low[3], high[3], start[3];
    cri_v3_store(lower, low);
    cri_v3_store(upper, high);
    for (int a = 0; a < 3; a++) {
        // two cells more on each side
        double first = floor(low[a] / box.h - lattice_shift[a]) - 2.0;
        double last = ceil(high[a] / box.h - lattice_shift[a]) + 2.0;
        start[a] = (first + lattice_shift[a]) * box.h;
        box.n[a] = last - first < 1e6 ? (int)(last - first) + 1 : 0;
    }
    box.origin = cri_v3_load(start);
    return box;
}

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a shape");
}

// vertices of a linear mesh
static double *linear_vertices(const cri_form_plan *plan, const double *param, cr_arena *arena) {
    size_t n = 3 * (size_t)plan->n_vertex;
    double *vertex = CR_PUSH(arena, double, n);
    for (int k = 0; vertex && k < plan->n_param; k++) {
        const double *T = plan->linear + n * (size_t)k;
        for (size_t i = 0; i < n; i++) {
            vertex[i] += param[k] * T[i];
        }
    }
    return vertex;
}

static void measure(cri_form *form) {
    const cri_triangles *mesh = &form->tree.mesh;
    const cri_tri_node *root = &form->tree.node[0];
    form->radius = 0.0;
    form->width = INFINITY;
    for (int v = 0; v < mesh->n_vertex; v++) {
        form->radius = fmax(form->radius, cri_v3_norm(cri_v3_load(mesh->vertex + 3 * (size_t)v)));
    }
    for (int a = 0; a < 3; a++) {
        form->width = fmin(form->width, root->upper[a] - root->lower[a]);
    }
}

cr_status cri_form_make(const cri_form_plan *plan, const double *param, cr_arena *arena,
                        cr_arena *scratch, cri_form *out, cr_error *err) {
    CR_ASSERT(plan && arena && scratch && arena != scratch && out);
    *out = (cri_form){.plan = plan, .radius = INFINITY, .width = INFINITY};
    double *copy = CR_PUSH(arena, double, plan->n_param + 1);
    if (!copy) {
        return no_memory(err);
    }
    for (int k = 0; k < plan->n_param; k++) {
        copy[k] = param[k];
    }
    out->field = (cri_field){plan->n_node, plan->node, plan->n_param, copy};
    CR_TRY(cri_field_check(&out->field, err));
    if (plan->is_half_space) {
        return CR_OK;
    }
    cri_triangles mesh = {plan->n_vertex, plan->n_face, NULL, plan->face};
    if (plan->linear) {
        mesh.vertex = linear_vertices(plan, copy, arena);
    } else {
        cri_march_box box = lattice_of(&out->field, plan->n_cell);
        CR_TRY(cri_surface_of_field(&out->field, &box, arena, scratch, &out->surface, err));
        mesh = (cri_triangles){out->surface.n_vertex, out->surface.n_face, out->surface.vertex,
                               out->surface.face};
    }
    if (!mesh.vertex || !cri_tri_tree_build(&mesh, arena, scratch, &out->tree)) {
        return no_memory(err);
    }
    if (!cri_mesh_integrals(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &out->mass) ||
        !(out->mass.volume > 0.0)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the shape has no volume");
    }
    measure(out);
    return CR_OK;
}

cri_skin cri_form_skin(const cri_form *form) {
    const cri_form_plan *plan = form->plan;
    return (cri_skin){.field = &form->field,
                      .tree = plan->is_half_space ? NULL : &form->tree,
                      .is_round = plan->is_round,
                      .is_convex = plan->is_convex};
}

// ---- vertices ----------------------------------------------------------------------------------

// how far a vertex at x moves back for a unit of phi: e/(e . g) or n/|g|
static cri_vec3 motion_of(const cri_form *form, int vertex, cri_vec3 x) {
    const cri_surface *s = &form->surface;
    if (form->plan->rule == CRI_VERTEX_EDGE) {
        double back[3] = {0.0, 0.0, 0.0};
        back[s->axis[vertex]] = s->h / s->slope[vertex];
        return cri_v3_load(back);
    }
    cri_field_value v;
    cri_field_eval(&form->field, x, CRI_FIELD_GRADIENT, &v);
    double square = cri_v3_dot(v.g, v.g);
    return square > 0.0 ? cri_v3_scale(1.0 / square, v.g) : nothing;
}

void cri_form_vertex_vjp(const cri_form *form, int vertex, cri_vec3 v_adj, double *param_adj) {
    const cri_form_plan *plan = form->plan;
    CR_ASSERT(!plan->is_half_space && vertex >= 0 && vertex < form->tree.mesh.n_vertex);
    if (plan->linear) {
        for (int k = 0; k < plan->n_param; k++) {
            size_t at = 3 * ((size_t)k * (size_t)plan->n_vertex + (size_t)vertex);
            param_adj[k] += cri_v3_dot(cri_v3_load(plan->linear + at), v_adj);
        }
        return;
    }
    cri_vec3 x = cri_v3_load(form->surface.vertex + 3 * (size_t)vertex);
    double w = -cri_v3_dot(motion_of(form, vertex, x), v_adj);
    cri_field_vjp(&form->field, x, w, nothing, NULL, param_adj);
}

cri_vec3 cri_form_vertex_jvp(const cri_form *form, int vertex, const double *param_tan) {
    const cri_form_plan *plan = form->plan;
    CR_ASSERT(!plan->is_half_space && vertex >= 0 && vertex < form->tree.mesh.n_vertex);
    cri_vec3 out = nothing, g_tan;
    if (plan->linear) {
        for (int k = 0; k < plan->n_param; k++) {
            size_t at = 3 * ((size_t)k * (size_t)plan->n_vertex + (size_t)vertex);
            out = cri_v3_mad(out, param_tan[k], cri_v3_load(plan->linear + at));
        }
        return out;
    }
    cri_vec3 x = cri_v3_load(form->surface.vertex + 3 * (size_t)vertex);
    double phi_tan;
    cri_field_jvp(&form->field, x, nothing, param_tan, &phi_tan, &g_tan);
    return cri_v3_scale(-phi_tan, motion_of(form, vertex, x));
}

// ---- mass --------------------------------------------------------------------------------------

bool cri_form_mass_vjp(const cri_form *form, const cri_mesh_mass *adj, cr_arena *scratch,
                       double *param_adj) {
    const cri_form_plan *plan = form->plan;
    const cri_triangles *mesh = &form->tree.mesh;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *vertex_adj = CR_PUSH(scratch, double, 3 * (size_t)mesh->n_vertex);
    bool is_good = vertex_adj != NULL;
    if (is_good) {
        cri_mesh_integrals_vjp(mesh->n_vertex, mesh->vertex, mesh->n_face, mesh->face, adj,
                               vertex_adj);
    }
    if (is_good && !plan->linear) {
        is_good = cri_surface_of_field_vjp(&form->field, &form->surface, plan->rule, vertex_adj,
                                           scratch, param_adj);
    }
    for (int v = 0; is_good && plan->linear && v < mesh->n_vertex; v++) {
        cri_form_vertex_vjp(form, v, cri_v3_load(vertex_adj + 3 * (size_t)v), param_adj);
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

bool cri_form_mass_jvp(const cri_form *form, const double *param_tan, cr_arena *scratch,
                       cri_mesh_mass *tan) {
    const cri_form_plan *plan = form->plan;
    const cri_triangles *mesh = &form->tree.mesh;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *vertex_tan = CR_PUSH(scratch, double, 3 * (size_t)mesh->n_vertex);
    bool is_good = vertex_tan != NULL;
    if (is_good && !plan->linear) {
        is_good = cri_surface_of_field_jvp(&form->field, &form->surface, plan->rule, param_tan,
                                           scratch, vertex_tan);
    }
    for (int v = 0; is_good && plan->linear && v < mesh->n_vertex; v++) {
        cri_v3_store(cri_form_vertex_jvp(form, v, param_tan), vertex_tan + 3 * (size_t)v);
    }
    *tan = (cri_mesh_mass){.volume = 0.0};
    if (is_good) {
        *tan = cri_mesh_integrals_jvp(mesh->n_vertex, mesh->vertex, mesh->n_face, mesh->face,
                                      vertex_tan);
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// ---- touches -----------------------------------------------------------------------------------

// the vertices of the triangle that a touch lies on; false: it lies on a half-space
static bool corners_of(const cri_form *const form[2], const cri_narrow_touch *touch, int *owner,
                       int vertex[3]) {
    *owner = touch->cache.kind & CRI_SKIN_OWNER ? 1 : 0;
    const cri_form *own = form[*owner];
    for (int l = 0; l < 3 && !own->plan->is_half_space; l++) {
        vertex[l] = own->tree.mesh.face[3 * (size_t)touch->cache.feature[0] + (size_t)l];
    }
    return !own->plan->is_half_space;
}

void cri_form_touch_vjp(const cri_form *const form[2], const cri_pose pose[2],
                        const cri_narrow_touch *touch, const cri_touch_diff *touch_adj,
                        cri_form_diff adj[2]) {
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    int owner, vertex[3] = {0};
    cri_vec3 corner[3] = {nothing, nothing, nothing};
    bool has_corners = corners_of(form, touch, &owner, vertex);
    cri_skin_diff diff[2];
    for (int i = 0; i < 2; i++) {
        diff[i] = (cri_skin_diff){adj[i].pos, adj[i].rot, adj[i].param, NULL};
    }
    diff[owner].corner = has_corners && adj[owner].param ? corner : NULL;
    cri_skin_touch_vjp(skin, pose, touch, touch_adj, diff);
    for (int i = 0; i < 2; i++) {
        adj[i].pos = diff[i].pos;
        adj[i].rot = diff[i].rot;
    }
    for (int l = 0; l < 3 && diff[owner].corner; l++) {
        if (cri_v3_dot(corner[l], corner[l]) > 0.0) {
            cri_form_vertex_vjp(form[owner], vertex[l], corner[l], adj[owner].param);
        }
    }
}

cri_touch_diff cri_form_touch_jvp(const cri_form *const form[2], const cri_pose pose[2],
                                  const cri_narrow_touch *touch, const cri_form_diff tan[2]) {
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    int owner, vertex[3] = {0};
    cri_vec3 corner[3];
    bool has_corners = corners_of(form, touch, &owner, vertex);
    cri_skin_diff diff[2];
    for (int i = 0; i < 2; i++) {
        diff[i] = (cri_skin_diff){tan[i].pos, tan[i].rot, tan[i].param, NULL};
    }
    if (has_corners && tan[owner].param) {
        for (int l = 0; l < 3; l++) {
            corner[l] = cri_form_vertex_jvp(form[owner], vertex[l], tan[owner].param);
        }
        diff[owner].corner = corner;
    }
    return cri_skin_touch_jvp(skin, pose, touch, diff);
}
