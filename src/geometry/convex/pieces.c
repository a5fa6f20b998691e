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
