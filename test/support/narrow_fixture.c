// SPDX-License-Identifier: MIT

#include "narrow_fixture.h"

#include "base/math/quat.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

// ---- hulls -------------------------------------------------------------------------------------

static cri_vec3 vertex_at(const fixture_hull *h, int i) {
    return cri_v3_load(h->vertex + 3 * i);
}

// corners on the plane, counterclockwise from outside
static void add_face(fixture_hull *h, cri_vec3 normal, double offset) {
    cri_hull *hull = &h->hull;
    int start = hull->n_face ? h->face_start[hull->n_face] : 0, n = 0;
    int *on = h->face_vertex + start;
    cri_vec3 centre = {0};
    for (int i = 0; i < hull->n_vertex; i++) {
        if (fabs(cri_v3_dot(normal, vertex_at(h, i)) - offset) < 1e-9) {
            on[n++] = i;
            centre = cri_v3_add(centre, vertex_at(h, i));
        }
    }
    centre = cri_v3_scale(1.0 / n, centre);
    cri_vec3 e0 = cri_v3_sub(vertex_at(h, on[0]), centre), e1 = cri_v3_cross(normal, e0);
    double angle[FIXTURE_VERTEX];
    for (int k = 0; k < n; k++) {
        int v = on[k], j = k;
        cri_vec3 arm = cri_v3_sub(vertex_at(h, v), centre);
        double a = atan2(cri_v3_dot(arm, e1), cri_v3_dot(arm, e0));
        for (; j > 0 && angle[j - 1] > a; j--) {
            angle[j] = angle[j - 1];
            on[j] = on[j - 1];
        }
        angle[j] = a;
        on[j] = v;
    }
    cri_v3_store(normal, h->face_normal + 3 * hull->n_face);
    h->face_offset[hull->n_face++] = offset;
    h->face_start[hull->n_face] = start + n;
}

static bool has_face(const fixture_hull *h, cri_vec3 normal) {
    for (int f = 0; f < h->hull.n_face; f++) {
        if (cri_v3_dot(normal, cri_v3_load(h->face_normal + 3 * f)) > 1.0 - 1e-12) {
            return true;
        }
    }
    return false;
}

// the plane through three corners, when all others are behind it
static void try_face(fixture_hull *h, const int corner[3]) {
    cri_vec3 a = vertex_at(h, corner[0]);
    cri_vec3 normal = cri_v3_cross(cri_v3_sub(vertex_at(h, corner[1]), a),
                                   cri_v3_sub(vertex_at(h, corner[2]), a));
    normal = cri_v3_scale(1.0 / cri_v3_norm(normal), normal);
    double highest = 0.0, lowest = 0.0;
    for (int i = 0; i < h->hull.n_vertex; i++) {
        double height = cri_v3_dot(normal, cri_v3_sub(vertex_at(h, i), a));
        highest = fmax(highest, height);
        lowest = fmin(lowest, height);
    }
    if (highest > 1e-9 && lowest < -1e-9) {
        return;
    }
    normal = cri_v3_scale(highest > 1e-9 ? -1.0 : 1.0, normal);
    if (!has_face(h, normal)) {
        add_face(h, normal, cri_v3_dot(normal, a));
    }
}

static void add_edge(fixture_hull *h, int a, int b, int face) {
    for (int e = 0; e < h->hull.n_edge; e++) {
        if (h->edge[4 * e] == b && h->edge[4 * e + 1] == a) {
            h->edge[4 * e + 3] = face;
            return;
        }
    }
    int *edge = h->edge + 4 * h->hull.n_edge++;
    edge[0] = a;
    edge[1] = b;
    edge[2] = face;
    edge[3] = -1;
}

static void point_into(fixture_hull *h) {
    h->hull.vertex = h->vertex;
    h->hull.face_start = h->face_start;
    h->hull.face_vertex = h->face_vertex;
    h->hull.face_normal = h->face_normal;
    h->hull.face_offset = h->face_offset;
    h->hull.edge = h->edge;
    h->hull.link_start = h->link_start;
    h->hull.link = h->link;
}

void fixture_hull_of(int n, const double *point, fixture_hull *out) {
    memset(out, 0, sizeof *out);
    memcpy(out->vertex, point, sizeof *point * 3 * (size_t)n);
    out->hull.n_vertex = n;
    for (int i = 0; i < n; i++) {
        out->hull.radius = fmax(out->hull.radius, cri_v3_norm(vertex_at(out, i)));
        for (int j = i + 1; j < n; j++) {
            for (int k = j + 1; k < n; k++) {
                try_face(out, (int[3]){i, j, k});
            }
        }
    }
    for (int f = 0; f < out->hull.n_face; f++) {
        int start = out->face_start[f], end = out->face_start[f + 1];
        for (int k = start; k < end; k++) {
            add_edge(out, out->face_vertex[k], out->face_vertex[k + 1 < end ? k + 1 : start], f);
        }
    }
    int n_link = 0;
    for (int i = 0; i < n; i++) {
        out->link_start[i] = n_link;
        for (int e = 0; e < out->hull.n_edge; e++) {
            const int *v = out->edge + 4 * e;
            if (v[0] == i || v[1] == i) {
                out->link[n_link++] = v[0] == i ? v[1] : v[0];
            }
        }
    }
    out->link_start[n] = n_link;
    point_into(out);
}

void fixture_solid(int which, double radius, fixture_hull *out) {
    static const double tetrahedron[] = {1, 1, 1, -1, -1, 1, -1, 1, -1, 1, -1, -1};
    double point[36];
    int n = 0;
    if (which == 0) {
        n = 4;
        memcpy(point, tetrahedron, sizeof tetrahedron);
    } else if (which == 1) {
        for (n = 0; n < 8; n++) {
            cri_v3_store(cri_v3(n & 1 ? 1 : -1, n & 2 ? 1 : -1, n & 4 ? 1 : -1), point + 3 * n);
        }
    } else {
        // (0, +-1, +-golden ratio) and its turns
        double g = 0.5 * (1.0 + sqrt(5.0));
        for (n = 0; n < 12; n++) {
            double a[3] = {0.0, n & 1 ? 1.0 : -1.0, n & 2 ? g : -g};
            for (int k = 0; k < 3; k++) {
                point[3 * n + (k + n / 4) % 3] = a[k];
            }
        }
    }
    double scale = radius / cri_v3_norm(cri_v3_load(point));
    for (int i = 0; i < 3 * n; i++) {
        point[i] *= scale;
    }
    fixture_hull_of(n, point, out);
}

// ---- pairs -------------------------------------------------------------------------------------

cri_mat3 fixture_turn(cri_vec3 rotation_vector) {
    return cri_quat_rotation(cri_quat_exp(rotation_vector));
}

cri_vec3 fixture_direction(cr_test_rng *rng) {
    for (;;) {
        // one after the other: arguments have no order
        cri_vec3 v;
        v.x = cr_test_uniform(rng, -1, 1);
        v.y = cr_test_uniform(rng, -1, 1);
        v.z = cr_test_uniform(rng, -1, 1);
        double length = cri_v3_norm(v);
        if (length > 0.1 && length < 1.0) {
            return cri_v3_scale(1.0 / length, v);
        }
    }
}

void fixture_settle(fixture_pair *pair) {
    pair->scale = cri_v3_norm(cri_v3_sub(pair->pose[1].pos, pair->pose[0].pos));
    for (int i = 0; i < 2; i++) {
        bool is_mesh = pair->shape[i].kind == CRI_SHAPE_MESH;
        point_into(&pair->hull[i]);
        pair->shape[i].size = pair->size[i];
        pair->shape[i].hull = is_mesh ? &pair->hull[i].hull : NULL;
        bool is_plane = pair->shape[i].kind == CRI_SHAPE_PLANE;
        pair->scale += is_plane ? 1.0 : cri_bounding_radius(&pair->shape[i]);
    }
}

static bool happens(cr_test_rng *rng, double probability) {
    return cr_test_uniform(rng, 0, 1) < probability;
}

static cri_mat3 random_rotation(cr_test_rng *rng) {
    if (happens(rng, 0.25)) {
        return fixture_turn(cri_v3(0, 0, 0));
    }
    if (happens(rng, 0.33)) {
        // eighths of a turn about an axis
        double angle = 0.25 * pi * floor(cr_test_uniform(rng, 0, 8));
        int axis = (int)cr_test_uniform(rng, 0, 3);
        return fixture_turn(cri_v3_scale(angle, cri_v3(axis == 0, axis == 1, axis == 2)));
    }
    double angle = cr_test_uniform(rng, 0, pi);
    return fixture_turn(cri_v3_scale(angle, fixture_direction(rng)));
}

void fixture_random(cr_test_rng *rng, cri_shape_kind kind0, cri_shape_kind kind1,
                    fixture_pair *out) {
    bool is_equal = happens(rng, 0.2);
    for (int i = 0; i < 2; i++) {
        out->shape[i].kind = i ? kind1 : kind0;
        for (int k = 0; k < 3; k++) {
            out->size[i][k] = is_equal ? 1.0 : pow(10.0, cr_test_uniform(rng, -1, 1));
        }
        if (out->shape[i].kind == CRI_SHAPE_MESH) {
            fixture_solid((int)cr_test_uniform(rng, 0, 3), out->size[i][0], &out->hull[i]);
        }
        out->pose[i].R = random_rotation(rng);
        double far = cr_test_uniform(rng, 0, 2);
        out->pose[i].pos = cri_v3_scale(far, fixture_direction(rng));
    }
    fixture_settle(out);
    double reach = cri_bounding_radius(&out->shape[1]);
    reach += kind0 == CRI_SHAPE_PLANE ? 0.0 : cri_bounding_radius(&out->shape[0]);
    cri_vec3 d = happens(rng, 0.2) ? cri_v3(0, 0, 1) : fixture_direction(rng);
    double share = happens(rng, 0.2) ? 0.0 : happens(rng, 0.3) ? 0.3 : 2.0;
    share *= cr_test_uniform(rng, 0, 1);
    out->pose[1].pos = cri_v3_mad(out->pose[0].pos, share * reach, d);
    if (kind0 != CRI_SHAPE_PLANE && happens(rng, 0.3)) {
        // supporting planes across d touch
        out->pose[1].pos = cri_v3_mad(out->pose[1].pos, -fixture_separation(out, d), d);
    }
    fixture_settle(out);
}

// ---- what is known -----------------------------------------------------------------------------

// height of the supporting plane, from the origin
static double height_of(const cri_shape *shape, cri_vec3 d) {
    const double *s = shape->size;
    double highest = -INFINITY;
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        return 0.0;
    case CRI_SHAPE_SPHERE:
        return s[0];
    case CRI_SHAPE_CAPSULE:
        return s[0] + s[1] * fabs(d.z);
    case CRI_SHAPE_ELLIPSOID:
        return cri_v3_norm(cri_v3(s[0] * d.x, s[1] * d.y, s[2] * d.z));
    case CRI_SHAPE_CYLINDER:
        return s[0] * hypot(d.x, d.y) + s[1] * fabs(d.z);
    case CRI_SHAPE_BOX:
        return s[0] * fabs(d.x) + s[1] * fabs(d.y) + s[2] * fabs(d.z);
    case CRI_SHAPE_MESH:
        for (int i = 0; i < shape->hull->n_vertex; i++) {
            highest = fmax(highest, cri_v3_dot(d, cri_v3_load(shape->hull->vertex + 3 * i)));
        }
    }
    return highest;
}

double fixture_separation(const fixture_pair *pair, cri_vec3 n) {
    cri_vec3 apart = cri_v3_sub(pair->pose[1].pos, pair->pose[0].pos);
    cri_vec3 d0 = cri_m3_tmul(&pair->pose[0].R, n);
    cri_vec3 d1 = cri_m3_tmul(&pair->pose[1].R, cri_v3_scale(-1.0, n));
    return cri_v3_dot(n, apart) - height_of(&pair->shape[0], d0) - height_of(&pair->shape[1], d1);
}

double fixture_outside(const fixture_pair *pair, int i, cri_vec3 point) {
    const cri_shape *shape = &pair->shape[i];
    const double *s = shape->size;
    cri_vec3 x = cri_m3_tmul(&pair->pose[i].R, cri_v3_sub(point, pair->pose[i].pos));
    double most = -INFINITY;
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        return x.z;
    case CRI_SHAPE_SPHERE:
        return cri_v3_norm(x) - s[0];
    case CRI_SHAPE_CAPSULE:
        x.z -= fmin(fmax(x.z, -s[1]), s[1]);
        return cri_v3_norm(x) - s[0];
    case CRI_SHAPE_ELLIPSOID:
        // less than the distance, by no more than the ratio of the half axes
        return (cri_v3_norm(cri_v3(x.x / s[0], x.y / s[1], x.z / s[2])) - 1.0) *
               fmin(s[0], fmin(s[1], s[2]));
    case CRI_SHAPE_CYLINDER:
        return fmax(hypot(x.x, x.y) - s[0], fabs(x.z) - s[1]);
    case CRI_SHAPE_BOX:
        return fmax(fabs(x.x) - s[0], fmax(fabs(x.y) - s[1], fabs(x.z) - s[2]));
    case CRI_SHAPE_MESH:
        for (int f = 0; f < shape->hull->n_face; f++) {
            cri_vec3 normal = cri_v3_load(shape->hull->face_normal + 3 * f);
            most = fmax(most, cri_v3_dot(normal, x) - shape->hull->face_offset[f]);
        }
    }
    return most;
}
