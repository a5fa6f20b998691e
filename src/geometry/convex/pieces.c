// SPDX-License-Identifier: MIT
//
// Where the pieces of shapes are, how they bulge, and which one comes next.
//
//   ball        k = r n
//   rim         k = r m,  m = w/|w|,  w = n - (n.a) a,  a the axis         dk/dn = (r/|w|) t t'
//   ellipsoid   k = S n/q,  q^2 = n.S n,  S = R diag(size^2) R'      dk/dn = (S - k k')/q
//
// with t = a x m. A box has 27 features, three digits base 3: - side, free, + side. p is linear in
// the sizes for every shape but meshes.

#include "geometry/convex/pieces.h"

#include "base/base.h"

#include <math.h>
#include <stddef.h>

static const double pi = 3.14159265358979323846;

static const int power3[3] = {1, 3, 9};

// the shares of radius and half length below which a point of a cylinder is not on its rim
static const double on_rim = 1e-6;

// ---- numbers ------------------------------------------------------------------------------------

cri_vec3 cri_v3_orthogonal(cri_vec3 a) {
    // the axis that a is farthest from
    cri_vec3 b = fabs(a.x) <= fabs(a.y) && fabs(a.x) <= fabs(a.z) ? cri_v3(1.0, 0.0, 0.0)
                 : fabs(a.y) <= fabs(a.z)                         ? cri_v3(0.0, 1.0, 0.0)
                                                                  : cri_v3(0.0, 0.0, 1.0);
    cri_vec3 c = cri_v3_cross(a, b);
    return cri_v3_scale(1.0 / cri_v3_norm(c), c);
}

// ---- places ------------------------------------------------------------------------------------

// digit of axis i: -1, 0 free, +1
static int box_digit(int index, int i) {
    return index / power3[i] % 3 - 1;
}

static cri_vec3 unit_axis(int i) {
    return cri_v3(i == 0, i == 1, i == 2);
}

static void cylinder_grow(int feature, cri_vec3 grow[3]) {
    int index = cri_feature_index(feature), cap = index;
    double angle = 0.0, length = 0.0;
    switch (cri_feature_kind(feature)) {
    case CRI_PIECE_VERTEX:
        cap = index / CRI_N_RIM;
        angle = 2.0 * pi * (index % CRI_N_RIM) / CRI_N_RIM;
        length = 1.0;
        break;
    case CRI_PIECE_EDGE:
        if (index == 0) {
            return;
        }
        // middle of a chord
        cap = (index - 1) / CRI_N_RIM;
        angle = 2.0 * pi * ((index - 1) % CRI_N_RIM + 0.5) / CRI_N_RIM;
        length = cos(pi / CRI_N_RIM);
        break;
    case CRI_PIECE_FACE:
    case CRI_PIECE_RIM:
        break;
    }
    grow[0] =
        length > 0.0 ? cri_v3(length * cos(angle), length * sin(angle), 0.0) : cri_v3(0, 0, 0);
    grow[1] = cri_v3(0.0, 0.0, cap ? 1.0 : -1.0);
}

void cri_piece_grow(const cri_shape *shape, int feature, cri_vec3 grow[3]) {
    int index = cri_feature_index(feature);
    grow[0] = grow[1] = grow[2] = cri_v3(0.0, 0.0, 0.0);
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
    case CRI_SHAPE_MESH:
        break;
    case CRI_SHAPE_CAPSULE:
        if (cri_feature_kind(feature) == CRI_PIECE_VERTEX) {
            grow[1].z = index ? 1.0 : -1.0;
        }
        break;
    case CRI_SHAPE_CYLINDER:
        cylinder_grow(feature, grow);
        break;
    case CRI_SHAPE_BOX:
        for (int i = 0; i < 3; i++) {
            grow[i] = cri_v3_scale(box_digit(index, i), unit_axis(i));
        }
        break;
    }
}

static cri_vec3 hull_vertex(const cri_hull *hull, int i) {
    return cri_v3_load(hull->vertex + 3 * (size_t)i);
}

// p and e in the frame of the mesh
static void place_mesh(const cri_hull *hull, int feature, cri_piece *piece) {
    int index = cri_feature_index(feature);
    switch (cri_feature_kind(feature)) {
    case CRI_PIECE_VERTEX:
        piece->p = hull_vertex(hull, index);
        break;
    case CRI_PIECE_EDGE: {
        cri_vec3 a = hull_vertex(hull, hull->edge[4 * index]);
        cri_vec3 b = hull_vertex(hull, hull->edge[4 * index + 1]);
        cri_vec3 along = cri_v3_sub(b, a);
        double length = cri_v3_norm(along);
        piece->dim = 1;
        piece->p = cri_v3_scale(0.5, cri_v3_add(a, b));
        piece->e[0] = cri_v3_scale(1.0 / length, along);
        piece->reach[0] = 0.5 * length;
        break;
    }
    case CRI_PIECE_FACE: {
        cri_vec3 normal = cri_v3_load(hull->face_normal + 3 * (size_t)index);
        piece->dim = 2;
        piece->p = hull_vertex(hull, hull->face_vertex[hull->face_start[index]]);
        piece->e[0] = cri_v3_orthogonal(normal);
        piece->e[1] = cri_v3_cross(normal, piece->e[0]);
        break;
    }
    case CRI_PIECE_RIM:
        CR_ASSERT(false);
    }
}

static void place_cylinder(const cri_shape *shape, int feature, cri_piece *piece) {
    int index = cri_feature_index(feature);
    cri_piece_kind kind = cri_feature_kind(feature);
    bool is_side = kind == CRI_PIECE_EDGE && index == 0;
    if (is_side) {
        piece->dim = 1;
        piece->e[0] = unit_axis(2);
        piece->reach[0] = shape->size[1];
    } else if (kind == CRI_PIECE_EDGE) {
        double angle = 2.0 * pi * ((index - 1) % CRI_N_RIM + 0.5) / CRI_N_RIM;
        piece->dim = 1;
        piece->e[0] = cri_v3(-sin(angle), cos(angle), 0.0);
        piece->reach[0] = shape->size[0] * sin(pi / CRI_N_RIM);
    } else if (kind == CRI_PIECE_FACE) {
        piece->dim = 2;
        piece->e[0] = unit_axis(0);
        piece->e[1] = unit_axis(1);
    }
    if (is_side || kind == CRI_PIECE_RIM) {
        piece->bulge = CRI_BULGE_RIM;
        piece->radius = shape->size[0];
    }
}

static void place_box(const cri_shape *shape, int feature, cri_piece *piece) {
    double p[3];
    for (int i = 0; i < 3; i++) {
        int digit = box_digit(cri_feature_index(feature), i);
        p[i] = digit * shape->size[i];
        if (digit == 0) {
            piece->reach[piece->dim] = shape->size[i];
            piece->e[piece->dim++] = unit_axis(i);
        }
    }
    piece->p = cri_v3_load(p);
}

// everything in the frame of the shape
static cri_piece piece_local(const cri_shape *shape, int feature) {
    cri_piece piece = {.size = shape->size};
    cri_vec3 grow[3];
    if (shape->kind == CRI_SHAPE_MESH) {
        place_mesh(shape->hull, feature, &piece);
        return piece;
    }
    bool has_place = shape->kind == CRI_SHAPE_CAPSULE || shape->kind == CRI_SHAPE_CYLINDER;
    if (has_place) {
        cri_piece_grow(shape, feature, grow);
    }
    for (int i = 0; i < 3 && has_place; i++) {
        piece.p = cri_v3_mad(piece.p, shape->size[i], grow[i]);
    }
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        piece.dim = 2;
        piece.e[0] = unit_axis(0);
        piece.e[1] = unit_axis(1);
        break;
    case CRI_SHAPE_CAPSULE:
        if (cri_feature_kind(feature) == CRI_PIECE_EDGE) {
            piece.dim = 1;
            piece.e[0] = unit_axis(2);
            piece.reach[0] = shape->size[1];
        }
        piece.bulge = CRI_BULGE_BALL;
        piece.radius = shape->size[0];
        break;
    case CRI_SHAPE_SPHERE:
        piece.bulge = CRI_BULGE_BALL;
        piece.radius = shape->size[0];
        break;
    case CRI_SHAPE_ELLIPSOID:
        piece.bulge = CRI_BULGE_ELLIPSOID;
        break;
    case CRI_SHAPE_CYLINDER:
        place_cylinder(shape, feature, &piece);
        break;
    case CRI_SHAPE_BOX:
        place_box(shape, feature, &piece);
        break;
    case CRI_SHAPE_MESH:
        break;
    }
    return piece;
}

cri_piece cri_piece_at(const cri_shape *shape, const cri_mat3 *R, cri_vec3 pos, int feature) {
    CR_ASSERT(feature >= 0);
    cri_piece piece = piece_local(shape, feature);
    piece.R = R;
    piece.p = cri_v3_add(pos, cri_m3_mul(R, piece.p));
    for (int i = 0; i < piece.dim; i++) {
        piece.e[i] = cri_m3_mul(R, piece.e[i]);
    }
    return piece;
}

cri_vec3 cri_face_normal(const cri_shape *shape, int feature) {
    int index = cri_feature_index(feature);
    CR_VALIDATE(cri_feature_kind(feature) == CRI_PIECE_FACE);
    if (shape->kind == CRI_SHAPE_MESH) {
        return cri_v3_load(shape->hull->face_normal + 3 * (size_t)index);
    }
    if (shape->kind == CRI_SHAPE_BOX) {
        return cri_v3(box_digit(index, 0), box_digit(index, 1), box_digit(index, 2));
    }
    return cri_v3(0.0, 0.0, shape->kind == CRI_SHAPE_PLANE || index ? 1.0 : -1.0);
}

// ---- bulges ------------------------------------------------------------------------------------

// direction m of a rim's point; any when n is the axis itself
static cri_vec3 rim_direction(const cri_piece *piece, cri_vec3 n, double *across) {
    cri_vec3 local = cri_m3_tmul(piece->R, n);
    *across = sqrt(local.x * local.x + local.y * local.y);
    cri_vec3 m = *across > 0.0 ? cri_v3(local.x / *across, local.y / *across, 0.0) : unit_axis(0);
    return cri_m3_mul(piece->R, m);
}

// S a
static cri_vec3 ellipsoid_square(const cri_piece *piece, cri_vec3 a) {
    cri_vec3 s = cri_v3_load(piece->size);
    return cri_m3_mul(piece->R, cri_v3_mul(cri_v3_mul(s, s), cri_m3_tmul(piece->R, a)));
}

cri_vec3 cri_bulge_at(const cri_piece *piece, cri_vec3 n) {
    switch (piece->bulge) {
    case CRI_BULGE_NONE:
        break;
    case CRI_BULGE_BALL:
        return cri_v3_scale(piece->radius, n);
    case CRI_BULGE_RIM: {
        double across;
        return cri_v3_scale(piece->radius, rim_direction(piece, n, &across));
    }
    case CRI_BULGE_ELLIPSOID: {
        cri_vec3 Sn = ellipsoid_square(piece, n);
        return cri_v3_scale(1.0 / sqrt(cri_v3_dot(n, Sn)), Sn);
    }
    }
    return cri_v3(0.0, 0.0, 0.0);
}

static void bend(const cri_piece *piece, cri_vec3 n, int count, const cri_vec3 *a, cri_vec3 *out) {
    switch (piece->bulge) {
    case CRI_BULGE_NONE:
        break;
    case CRI_BULGE_BALL:
        for (int k = 0; k < count; k++) {
            out[k] = cri_v3_scale(piece->radius, a[k]);
        }
        return;
    case CRI_BULGE_RIM: {
        double across;
        cri_vec3 m = rim_direction(piece, n, &across);
        if (across == 0.0) {
            break;
        }
        cri_vec3 t = cri_v3_cross(cri_m3_column(piece->R, 2), m);
        for (int k = 0; k < count; k++) {
            out[k] = cri_v3_scale(piece->radius / across * cri_v3_dot(t, a[k]), t);
        }
        return;
    }
    case CRI_BULGE_ELLIPSOID: {
        cri_vec3 Sn = ellipsoid_square(piece, n);
        double q = sqrt(cri_v3_dot(n, Sn));
        cri_vec3 kn = cri_v3_scale(1.0 / q, Sn);
        for (int k = 0; k < count; k++) {
            cri_vec3 Sa = ellipsoid_square(piece, a[k]);
            out[k] = cri_v3_scale(1.0 / q, cri_v3_mad(Sa, -cri_v3_dot(kn, a[k]), kn));
        }
        return;
    }
    }
    for (int k = 0; k < count; k++) {
        out[k] = cri_v3(0.0, 0.0, 0.0);
    }
}

cri_vec3 cri_bulge_bend(const cri_piece *piece, cri_vec3 n, cri_vec3 a) {
    cri_vec3 out;
    bend(piece, n, 1, &a, &out);
    return out;
}

void cri_bulge_bend_two(const cri_piece *piece, cri_vec3 n, const cri_vec3 a[2], cri_vec3 out[2]) {
    bend(piece, n, 2, a, out);
}

void cri_bulge_grow(const cri_piece *piece, cri_vec3 n, cri_vec3 a, double size_adj[3]) {
    switch (piece->bulge) {
    case CRI_BULGE_NONE:
        break;
    case CRI_BULGE_BALL:
        size_adj[0] += cri_v3_dot(a, n);
        break;
    case CRI_BULGE_RIM: {
        double across;
        size_adj[0] += cri_v3_dot(a, rim_direction(piece, n, &across));
        break;
    }
    case CRI_BULGE_ELLIPSOID: {
        // k_i = s_i^2 n_i/q, q dq/ds_j = s_j n_j^2, in the shape's frame
        double nl[3], al[3];
        cri_v3_store(cri_m3_tmul(piece->R, n), nl);
        cri_v3_store(cri_m3_tmul(piece->R, a), al);
        double q2 = 0.0, ak = 0.0;
        for (int i = 0; i < 3; i++) {
            double sn = piece->size[i] * nl[i];
            q2 += sn * sn;
            ak += al[i] * piece->size[i] * sn;
        }
        double q = sqrt(q2);
        for (int i = 0; i < 3; i++) {
            double sn = piece->size[i] * nl[i];
            size_adj[i] += 2.0 * al[i] * sn / q - ak / (q * q2) * sn * nl[i];
        }
        break;
    }
    }
}

// ---- farthest points ----------------------------------------------------------------------------

// Farthest points of shapes, and the way from one piece to the next.
//
// A mesh climbs over the links of its hull: on a convex polyhedron a vertex with no higher
// neighbour is highest.

static int hull_climb(const cri_hull *hull, cri_vec3 direction, int start) {
    int best = start;
    double height = cri_v3_dot(direction, hull_vertex(hull, best));
    for (;;) {
        int from = best;
        for (int k = hull->link_start[from]; k < hull->link_start[from + 1]; k++) {
            double h = cri_v3_dot(direction, hull_vertex(hull, hull->link[k]));
            if (h > height) {
                height = h;
                best = hull->link[k];
            }
        }
        if (best == from) {
            return best;
        }
    }
}

double cri_core_radius(const cri_shape *shape) {
    return shape->kind == CRI_SHAPE_SPHERE || shape->kind == CRI_SHAPE_CAPSULE ? shape->size[0]
                                                                               : 0.0;
}

static cri_vec3 box_support(const cri_shape *shape, cri_vec3 d, int *feature) {
    int index = (d.x < 0.0 ? 0 : 2) + (d.y < 0.0 ? 0 : 6) + (d.z < 0.0 ? 0 : 18);
    *feature = cri_feature_of(CRI_PIECE_VERTEX, index);
    return cri_v3(copysign(shape->size[0], d.x < 0.0 ? -1.0 : 1.0),
                  copysign(shape->size[1], d.y < 0.0 ? -1.0 : 1.0),
                  copysign(shape->size[2], d.z < 0.0 ? -1.0 : 1.0));
}

cri_vec3 cri_core_support(const cri_shape *shape, cri_vec3 d, int *feature, int *hint) {
    const double *size = shape->size;
    *feature = cri_feature_of(CRI_PIECE_VERTEX, 0);
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        CR_ASSERT(false);
        break;
    case CRI_SHAPE_SPHERE:
        break;
    case CRI_SHAPE_CAPSULE:
        *feature = cri_feature_of(CRI_PIECE_VERTEX, d.z >= 0.0);
        return cri_v3(0.0, 0.0, d.z >= 0.0 ? size[1] : -size[1]);
    case CRI_SHAPE_ELLIPSOID: {
        cri_vec3 s = cri_v3_load(size);
        cri_vec3 sd = cri_v3_mul(s, d);
        double q = cri_v3_norm(sd);
        return q > 0.0 ? cri_v3_scale(1.0 / q, cri_v3_mul(s, sd)) : cri_v3(size[0], 0.0, 0.0);
    }
    case CRI_SHAPE_CYLINDER: {
        double across = sqrt(d.x * d.x + d.y * d.y);
        double scale = across > 0.0 ? size[0] / across : 0.0;
        *feature = cri_feature_of(CRI_PIECE_RIM, d.z >= 0.0);
        return cri_v3(across > 0.0 ? scale * d.x : size[0], scale * d.y,
                      d.z >= 0.0 ? size[1] : -size[1]);
    }
    case CRI_SHAPE_BOX:
        return box_support(shape, d, feature);
    case CRI_SHAPE_MESH:
        *hint = hull_climb(shape->hull, d, *hint);
        *feature = cri_feature_of(CRI_PIECE_VERTEX, *hint);
        return hull_vertex(shape->hull, *hint);
    }
    return cri_v3(0.0, 0.0, 0.0);
}

cri_vec3 cri_support(const cri_shape *shape, cri_vec3 direction) {
    CR_ASSERT(shape->kind != CRI_SHAPE_PLANE);
    int feature, hint = 0;
    cri_vec3 x = cri_core_support(shape, direction, &feature, &hint);
    double length = cri_v3_norm(direction), radius = cri_core_radius(shape);
    return length > 0.0 ? cri_v3_mad(x, radius / length, direction)
                        : cri_v3_mad(x, radius, cri_v3(0.0, 0.0, 1.0));
}

double cri_bounding_radius(const cri_shape *shape) {
    const double *size = shape->size;
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        return INFINITY;
    case CRI_SHAPE_SPHERE:
        return size[0];
    case CRI_SHAPE_CAPSULE:
        return size[0] + size[1];
    case CRI_SHAPE_ELLIPSOID:
        return fmax(size[0], fmax(size[1], size[2]));
    case CRI_SHAPE_CYLINDER:
        return hypot(size[0], size[1]);
    case CRI_SHAPE_BOX:
        return cri_v3_norm(cri_v3_load(size));
    case CRI_SHAPE_MESH:
        return shape->hull->radius;
    }
    return INFINITY;
}

// ---- features of several vertices --------------------------------------------------------------

static int hull_edge(const cri_hull *hull, int a, int b) {
    for (int e = 0; e < hull->n_edge; e++) {
        const int *v = hull->edge + 4 * (size_t)e;
        if ((v[0] == a && v[1] == b) || (v[0] == b && v[1] == a)) {
            return e;
        }
    }
    return -1;
}

static int digit(int index, int i) {
    return index / power3[i] % 3 - 1;
}

int cri_edge_between(const cri_shape *shape, int feature_a, int feature_b) {
    int a = cri_feature_index(feature_a), b = cri_feature_index(feature_b);
    switch (shape->kind) {
    case CRI_SHAPE_CAPSULE:
        return cri_feature_of(CRI_PIECE_EDGE, 0);
    case CRI_SHAPE_CYLINDER:
        if (cri_feature_kind(feature_a) == CRI_PIECE_RIM) {
            return cri_feature_of(CRI_PIECE_EDGE, 0);
        }
        // the chord from a to its successor, whichever of the two that is
        if ((a + 1) % CRI_N_RIM != b % CRI_N_RIM) {
            a = b;
        }
        return cri_feature_of(CRI_PIECE_EDGE, 1 + a);
    case CRI_SHAPE_BOX: {
        int index = 0, n_free = 0;
        for (int i = 0; i < 3; i++) {
            int same = digit(a, i) == digit(b, i);
            index += power3[i] * (same ? digit(a, i) + 1 : 1);
            n_free += !same;
        }
        return n_free == 1 ? cri_feature_of(CRI_PIECE_EDGE, index) : -1;
    }
    case CRI_SHAPE_MESH: {
        int edge = hull_edge(shape->hull, a, b);
        return edge < 0 ? -1 : cri_feature_of(CRI_PIECE_EDGE, edge);
    }
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
        break;
    }
    return -1;
}

void cri_edge_ends(const cri_shape *shape, int feature, int end[2]) {
    int index = cri_feature_index(feature);
    cri_piece_kind kind = CRI_PIECE_VERTEX;
    CR_ASSERT(cri_feature_kind(feature) == CRI_PIECE_EDGE);
    end[0] = 0;
    end[1] = 1;
    if (shape->kind == CRI_SHAPE_MESH) {
        end[0] = shape->hull->edge[4 * index];
        end[1] = shape->hull->edge[4 * index + 1];
    } else if (shape->kind == CRI_SHAPE_BOX) {
        int i = digit(index, 0) == 0 ? 0 : digit(index, 1) == 0 ? 1 : 2;
        end[0] = index - power3[i];
        end[1] = index + power3[i];
    } else if (shape->kind == CRI_SHAPE_CYLINDER && index == 0) {
        kind = CRI_PIECE_RIM;
    } else if (shape->kind == CRI_SHAPE_CYLINDER) {
        int first = index - 1, cap = first / CRI_N_RIM;
        end[0] = first;
        end[1] = CRI_N_RIM * cap + (first + 1) % CRI_N_RIM;
    }
    end[0] = cri_feature_of(kind, end[0]);
    end[1] = cri_feature_of(kind, end[1]);
}

static int hull_face_along(const cri_hull *hull, cri_vec3 d) {
    int best = 0;
    double most = -INFINITY;
    for (int f = 0; f < hull->n_face; f++) {
        double c = cri_v3_dot(d, cri_v3_load(hull->face_normal + 3 * (size_t)f));
        if (c > most) {
            most = c;
            best = f;
        }
    }
    return cri_feature_of(CRI_PIECE_FACE, best);
}

static int mesh_spanned(const cri_hull *hull, int n, const int *feature, cri_vec3 d) {
    int other = 0;
    for (int k = 1; k < n; k++) {
        if (feature[k] != feature[0]) {
            if (other && feature[other] != feature[k]) {
                return hull_face_along(hull, d);
            }
            other = k;
        }
    }
    if (!other) {
        return feature[0];
    }
    int edge = hull_edge(hull, cri_feature_index(feature[0]), cri_feature_index(feature[other]));
    return edge < 0 ? hull_face_along(hull, d) : cri_feature_of(CRI_PIECE_EDGE, edge);
}

static int box_spanned(int n, const int *feature, cri_vec3 d) {
    double size[3];
    cri_v3_store(d, size);
    int index = cri_feature_index(feature[0]), n_free = 0;
    for (int i = 0; i < 3; i++) {
        bool is_free = false;
        for (int k = 1; k < n; k++) {
            is_free |=
                digit(cri_feature_index(feature[k]), i) != digit(cri_feature_index(feature[0]), i);
        }
        n_free += is_free;
        index -= is_free ? power3[i] * digit(index, i) : 0;
    }
    if (n_free == 3) {
        // inside: the face that looks along d
        int i = fabs(size[0]) > fabs(size[1]) ? 0 : 1;
        i = fabs(size[2]) > fabs(size[i]) ? 2 : i;
        index += power3[i] * (size[i] < 0.0 ? -1 : 1);
        n_free = 2;
    }
    return cri_feature_of((cri_piece_kind)n_free, index);
}

int cri_piece_spanned(const cri_shape *shape, int n, const int *feature, cri_vec3 x, cri_vec3 d) {
    CR_ASSERT(n > 0 && feature);
    switch (shape->kind) {
    case CRI_SHAPE_CAPSULE:
        for (int k = 1; k < n; k++) {
            if (feature[k] != feature[0]) {
                return cri_feature_of(CRI_PIECE_EDGE, 0);
            }
        }
        break;
    case CRI_SHAPE_CYLINDER: {
        double r = shape->size[0], h = shape->size[1];
        bool in_side = fabs(x.z) < (1.0 - on_rim) * h,
             in_cap = hypot(x.x, x.y) < (1.0 - on_rim) * r;
        // inside both while an overlap is not resolved yet: as the direction says
        if (in_side && in_cap) {
            in_side = fabs(d.z) < hypot(d.x, d.y);
        }
        return in_side  ? cri_feature_of(CRI_PIECE_EDGE, 0)
               : in_cap ? cri_feature_of(CRI_PIECE_FACE, d.z >= 0.0)
                        : cri_feature_of(CRI_PIECE_RIM, x.z >= 0.0);
    }
    case CRI_SHAPE_BOX:
        return box_spanned(n, feature, d);
    case CRI_SHAPE_MESH:
        return mesh_spanned(shape->hull, n, feature, d);
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
        break;
    }
    return feature[0];
}

// ---- from piece to piece -----------------------------------------------------------------------

static int box_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                    double slack) {
    int index = cri_feature_index(feature), k = 0, n_free = 0;
    double n[3];
    cri_v3_store(normal, n);
    bool has_left = false;
    for (int i = 0; i < 3; i++) {
        if (digit(index, i) == 0) {
            double past = fabs(u[k]) - shape->size[i];
            if (past > slack) {
                index += power3[i] * (u[k] < 0.0 ? -1 : 1);
                has_left = true;
            } else {
                n_free++;
            }
            k++;
        }
    }
    for (int i = 0; i < 3 && !has_left; i++) {
        // the other end is farther out: between, or there
        if (-digit(index, i) * n[i] * 2.0 * shape->size[i] > slack) {
            index -= power3[i] * digit(index, i) * (n_free < 2 ? 1 : 2);
            n_free += n_free < 2;
        }
    }
    return cri_feature_of((cri_piece_kind)n_free, index);
}

static int capsule_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                        double slack) {
    int index = cri_feature_index(feature);
    if (cri_feature_kind(feature) == CRI_PIECE_EDGE) {
        return fabs(u[0]) > shape->size[1] + slack ? cri_feature_of(CRI_PIECE_VERTEX, u[0] > 0.0)
                                                   : feature;
    }
    double past = (index ? -normal.z : normal.z) * 2.0 * shape->size[1];
    return past > slack ? cri_feature_of(CRI_PIECE_EDGE, 0) : feature;
}

static int cylinder_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                         double slack) {
    int index = cri_feature_index(feature);
    switch (cri_feature_kind(feature)) {
    case CRI_PIECE_EDGE:
        return index == 0 && fabs(u[0]) > shape->size[1] + slack
                   ? cri_feature_of(CRI_PIECE_RIM, u[0] > 0.0)
                   : feature;
    case CRI_PIECE_FACE:
        if ((normal.z > 0.0) != index) {
            return cri_feature_of(CRI_PIECE_FACE, 1 - index);
        }
        return hypot(u[0], u[1]) > shape->size[0] + slack ? cri_feature_of(CRI_PIECE_RIM, index)
                                                          : feature;
    case CRI_PIECE_RIM:
        // a rim whose normal is the axis says nothing about where on the cap
        if (hypot(normal.x, normal.y) < on_rim) {
            return cri_feature_of(CRI_PIECE_FACE, normal.z > 0.0);
        }
        return (index ? -normal.z : normal.z) * 2.0 * shape->size[1] > slack
                   ? cri_feature_of(CRI_PIECE_EDGE, 0)
                   : feature;
    case CRI_PIECE_VERTEX:
        break;
    }
    return feature;
}

// side of a face that x is farthest beyond, -1: inside
static int hull_side_beyond(const cri_hull *hull, int face, cri_vec3 x, double slack) {
    cri_vec3 normal = cri_v3_load(hull->face_normal + 3 * (size_t)face);
    int worst = -1, start = hull->face_start[face], end = hull->face_start[face + 1];
    double most = slack;
    for (int k = start; k < end; k++) {
        int next = k + 1 < end ? k + 1 : start;
        cri_vec3 a = hull_vertex(hull, hull->face_vertex[k]);
        cri_vec3 along = cri_v3_sub(hull_vertex(hull, hull->face_vertex[next]), a);
        cri_vec3 out = cri_v3_cross(along, normal);
        double past = cri_v3_dot(out, cri_v3_sub(x, a)) / cri_v3_norm(out);
        if (past > most) {
            most = past;
            worst = hull_edge(hull, hull->face_vertex[k], hull->face_vertex[next]);
        }
    }
    return worst;
}

static int mesh_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                     double slack) {
    const cri_hull *hull = shape->hull;
    int index = cri_feature_index(feature);
    cri_piece_kind kind = cri_feature_kind(feature);
    cri_mat3 one = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    cri_piece piece = cri_piece_at(shape, &one, cri_v3(0.0, 0.0, 0.0), feature);
    cri_vec3 x = piece.p;
    if (kind == CRI_PIECE_EDGE && fabs(u[0]) > piece.reach[0] + slack) {
        return cri_feature_of(CRI_PIECE_VERTEX, hull->edge[4 * index + (u[0] > 0.0)]);
    }
    if (kind == CRI_PIECE_FACE) {
        x = cri_v3_mad(cri_v3_mad(x, u[0], piece.e[0]), u[1], piece.e[1]);
        if (cri_v3_dot(normal, cri_v3_load(hull->face_normal + 3 * (size_t)index)) < 0.0) {
            return hull_face_along(hull, normal);
        }
        int edge = hull_side_beyond(hull, index, x, slack);
        return edge < 0 ? feature : cri_feature_of(CRI_PIECE_EDGE, edge);
    }
    int high = hull_climb(hull, normal, kind == CRI_PIECE_VERTEX ? index : hull->edge[4 * index]);
    double past = cri_v3_dot(normal, cri_v3_sub(hull_vertex(hull, high), x));
    if (past <= slack) {
        return feature;
    }
    if (kind == CRI_PIECE_EDGE) {
        // the face whose normal is nearer
        const int *e = hull->edge + 4 * (size_t)index;
        double c0 = cri_v3_dot(normal, cri_v3_load(hull->face_normal + 3 * (size_t)e[2]));
        double c1 = cri_v3_dot(normal, cri_v3_load(hull->face_normal + 3 * (size_t)e[3]));
        return cri_feature_of(CRI_PIECE_FACE, c0 >= c1 ? e[2] : e[3]);
    }
    // the steepest edge
    int steepest = -1;
    double most = 0.0;
    for (int k = hull->link_start[index]; k < hull->link_start[index + 1]; k++) {
        cri_vec3 along = cri_v3_sub(hull_vertex(hull, hull->link[k]), x);
        double slope = cri_v3_dot(normal, along) / cri_v3_norm(along);
        if (slope > most) {
            most = slope;
            steepest = hull->link[k];
        }
    }
    return steepest < 0 ? feature
                        : cri_feature_of(CRI_PIECE_EDGE, hull_edge(hull, index, steepest));
}

int cri_piece_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                   double slack) {
    CR_ASSERT(feature >= 0);
    switch (shape->kind) {
    case CRI_SHAPE_CAPSULE:
        return capsule_step(shape, feature, normal, u, slack);
    case CRI_SHAPE_CYLINDER:
        return cylinder_step(shape, feature, normal, u, slack);
    case CRI_SHAPE_BOX:
        return box_step(shape, feature, normal, u, slack);
    case CRI_SHAPE_MESH:
        return mesh_step(shape, feature, normal, u, slack);
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
        break;
    }
    return feature;
}
