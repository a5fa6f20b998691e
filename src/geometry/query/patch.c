// SPDX-License-Identifier: MIT
//
// Contact patches of flat pieces.
//
// Two nearly parallel polygons, or a polygon and a segment, are seen along the normal of one of
// their faces. The corners of what both cover are
//
//   corners of one inside the other     a vertex and a face
//   crossings of their sides            an edge and an edge
//
// each a touch with the normal of those pieces, so that the rate of its gap is that of two material
// points. Only crossings of nearly parallel sides take the normal of the face. Two nearly parallel
// segments touch where an end of one is beside the other. The rim of a cylinder stands for a
// polygon of CRI_N_RIM fixed corners.

#include "geometry/query/patch.h"

#include "base/base.h"

#include <math.h>
#include <stddef.h>

static const double flat_angle = 0.05; // radians; what lies flatter is a patch, as far as margin

static const double same_place = 1e-9; // share of the scale below which two points are one

enum { MAX_POLYGON = 32 };

/// The part of a shape that looks along the normal: a polygon, a segment or a point.
typedef struct flat {
    int dim;
    int n;
    int face; // feature of a polygon
    int feature[MAX_POLYGON];
    cri_vec3 x[MAX_POLYGON];  // without ball
    double q[MAX_POLYGON][2]; // seen along the normal of the reference
    double sign;              // 1 when they are seen counterclockwise
} flat;

/// The face that gives the normal of a patch.
typedef struct reference {
    int shape;
    int face;
    cri_vec3 n;
    cri_vec3 e[2];
} reference;

// ---- flat parts --------------------------------------------------------------------------------

static void add_corner(flat *f, int feature) {
    f->feature[f->n++] = feature;
}

static void flat_box(cri_vec3 d, double angle, flat *f) {
    static const int power3[3] = {1, 3, 9};
    double n[3];
    cri_v3_store(d, n);
    int free[3], base = 0;
    for (int i = 0; i < 3; i++) {
        if (fabs(n[i]) < angle) {
            free[f->dim++] = i;
        } else {
            base += power3[i] * (n[i] > 0.0 ? 2 : 0);
        }
    }
    static const int around[4][2] = {{0, 0}, {2, 0}, {2, 2}, {0, 2}};
    int count = 1 << f->dim;
    for (int k = 0; k < count; k++) {
        int index = base;
        for (int j = 0; j < f->dim; j++) {
            index += power3[free[j]] * (f->dim == 2 ? around[k][j] : 2 * k);
        }
        add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, index));
    }
    if (f->dim == 2) {
        f->face = cri_feature_of(CRI_PIECE_FACE, base + power3[free[0]] + power3[free[1]]);
    }
}

static double sine_between(cri_vec3 a, cri_vec3 b) {
    return cri_v3_norm(cri_v3_cross(a, b));
}

static void flat_mesh(const cri_hull *hull, cri_vec3 d, double angle, flat *f) {
    int best = 0;
    double most = -2.0;
    for (int k = 0; k < hull->n_face; k++) {
        double c = cri_v3_dot(d, cri_v3_load(hull->face_normal + 3 * (size_t)k));
        if (c > most) {
            most = c;
            best = k;
        }
    }
    if (sine_between(d, cri_v3_load(hull->face_normal + 3 * (size_t)best)) < angle) {
        int start = hull->face_start[best], count = hull->face_start[best + 1] - start;
        f->dim = 2;
        f->face = cri_feature_of(CRI_PIECE_FACE, best);
        int kept = count < MAX_POLYGON ? count : MAX_POLYGON;
        for (int k = 0; k < kept; k++) {
            int i = (int)((long long)k * count / kept);
            add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, hull->face_vertex[start + i]));
        }
        return;
    }
    // the highest vertex and its flattest edge
    cri_shape shape = {CRI_SHAPE_MESH, NULL, hull};
    int feature, top = 0, end = -1;
    cri_vec3 x = cri_core_support(&shape, d, &feature, &top);
    double flattest = angle;
    add_corner(f, feature);
    for (int k = hull->link_start[top]; k < hull->link_start[top + 1]; k++) {
        cri_vec3 along = cri_v3_sub(cri_v3_load(hull->vertex + 3 * (size_t)hull->link[k]), x);
        double slope = -cri_v3_dot(d, along) / cri_v3_norm(along);
        if (slope < flattest) {
            flattest = slope;
            end = hull->link[k];
        }
    }
    if (end >= 0) {
        f->dim = 1;
        add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, end));
    }
}

static void flat_cylinder(cri_vec3 d, double angle, flat *f) {
    int cap = d.z > 0.0;
    if (hypot(d.x, d.y) < angle) {
        f->dim = 2;
        f->face = cri_feature_of(CRI_PIECE_FACE, cap);
        for (int k = 0; k < CRI_N_RIM; k++) {
            add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, CRI_N_RIM * cap + k));
        }
        return;
    }
    f->dim = fabs(d.z) < angle;
    for (int k = 0; k < 1 + f->dim; k++) {
        add_corner(f, cri_feature_of(CRI_PIECE_RIM, f->dim ? k : cap));
    }
}

static cri_piece piece_of(const cri_pair *pair, int i, int feature) {
    return cri_piece_at(&pair->shape[i], &pair->pose[i].R, i ? pair->apart : cri_v3(0.0, 0.0, 0.0),
                        feature);
}

static void flat_of(const cri_pair *pair, int i, cri_vec3 n, double angle, flat *f) {
    const cri_shape *shape = &pair->shape[i];
    cri_vec3 d = cri_m3_tmul(&pair->pose[i].R, cri_v3_scale(i ? -1.0 : 1.0, n));
    f->dim = f->n = 0;
    f->face = -1;
    switch (shape->kind) {
    case CRI_SHAPE_BOX:
        flat_box(d, angle, f);
        break;
    case CRI_SHAPE_MESH:
        flat_mesh(shape->hull, d, angle, f);
        break;
    case CRI_SHAPE_CYLINDER:
        flat_cylinder(d, angle, f);
        break;
    case CRI_SHAPE_CAPSULE:
        f->dim = fabs(d.z) < angle;
        for (int k = 0; k < 1 + f->dim; k++) {
            add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, f->dim ? k : d.z > 0.0));
        }
        break;
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_ELLIPSOID:
        add_corner(f, cri_feature_of(CRI_PIECE_VERTEX, 0));
        break;
    }
}

int cri_patch_feature(const cri_pair *pair, int i, cri_vec3 n, double angle) {
    CR_ASSERT((i == 0 || i == 1) && angle >= 0.0);
    flat f;
    flat_of(pair, i, n, angle, &f);
    int edge = f.dim == 1 ? cri_edge_between(&pair->shape[i], f.feature[0], f.feature[1]) : -1;
    return f.dim == 2 ? f.face : edge >= 0 ? edge : f.feature[0];
}

// twice the area of a, b, c
static double turn(const double a[2], const double b[2], const double c[2]) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// where the corners are, in space and seen along the normal n of a face with sides e
static void place_corners(const cri_pair *pair, int i, cri_vec3 n, const cri_vec3 e[2], flat *f) {
    for (int k = 0; k < f->n; k++) {
        cri_piece piece = piece_of(pair, i, f->feature[k]);
        f->x[k] = cri_v3_mad(piece.p, i ? -1.0 : 1.0, cri_bulge_at(&piece, n));
        f->q[k][0] = cri_v3_dot(f->x[k], e[0]);
        f->q[k][1] = cri_v3_dot(f->x[k], e[1]);
    }
    double area = 0.0;
    for (int k = 2; k < f->n; k++) {
        area += turn(f->q[0], f->q[k - 1], f->q[k]);
    }
    f->sign = area < 0.0 ? -1.0 : 1.0;
}

// ---- touches -----------------------------------------------------------------------------------

/// Adds a touch, unless there is one at that place or no room.
static void patch_add(const cri_pair *pair, const cri_meet *meet, int kind, const int feature[2],
                      cri_patch *patch) {
    cri_vec3 point = cri_v3_add(pair->pose[0].pos, meet->x);
    double least = same_place * pair->scale;
    for (int k = 0; k < patch->n; k++) {
        if (cri_v3_norm(cri_v3_sub(patch->touch[k].point[0], point)) <= least) {
            return;
        }
    }
    if (patch->n < CRI_MAX_POOL) {
        cri_touch_fill(pair->pose, meet, kind, feature, &patch->touch[patch->n++]);
    }
}

static double length_of(const double a[2], const double b[2]) {
    double x = b[0] - a[0], y = b[1] - a[1];
    return sqrt(x * x + y * y);
}

// within slack of the inside of a polygon of any orientation
static bool is_inside(const flat *f, const double q[2], double slack) {
    for (int k = 0; k < f->n; k++) {
        const double *a = f->q[k], *b = f->q[k + 1 < f->n ? k + 1 : 0];
        if (f->sign * turn(a, b, q) < -slack * length_of(a, b)) {
            return false;
        }
    }
    return true;
}

// also when one just touches the other
static bool do_cross(const double a[2], const double b[2], const double c[2], const double d[2]) {
    double tc = turn(a, b, c), td = turn(a, b, d), ta = turn(c, d, a), tb = turn(c, d, b);
    return tc * td <= 0.0 && ta * tb <= 0.0 && tc != td && ta != tb;
}

// the point of shape i is inside the bounds of its piece
static bool is_within(const cri_pair *pair, const reference *ref, const flat *f, int i,
                      const cri_piece *piece, const cri_meet *meet) {
    double slack = same_place * pair->scale;
    if (piece->dim == 2) {
        cri_vec3 x = i ? cri_v3_mad(meet->x, meet->gap, meet->n) : meet->x;
        double q[2] = {cri_v3_dot(x, ref->e[0]), cri_v3_dot(x, ref->e[1])};
        return is_inside(&f[i], q, slack);
    }
    return piece->dim == 0 || fabs(meet->u[2 * i]) <= piece->reach[0] + slack;
}

// with the normal of the two pieces; with that of the reference where nearly parallel edges have
// one far from it
static void add_pieces(const cri_pair *pair, const reference *ref, const flat *f,
                       const int feature[2], cri_patch *patch) {
    cri_piece piece[2] = {piece_of(pair, 0, feature[0]), piece_of(pair, 1, feature[1])};
    cri_meet meet = {.n = ref->n};
    if (cri_pieces_meet(piece, pair->scale, &meet) == CRI_MEET_POINT &&
        sine_between(meet.n, ref->n) < 3.0 * flat_angle &&
        is_within(pair, ref, f, 0, &piece[0], &meet) &&
        is_within(pair, ref, f, 1, &piece[1], &meet)) {
        patch_add(pair, &meet, cri_touch_kind_of(CRI_TOUCH_FREE, 0, 0), feature, patch);
        return;
    }
    meet.n = ref->n;
    if (cri_pieces_meet_along(piece, &meet)) {
        int kind = cri_touch_kind_of(CRI_TOUCH_ALONG, ref->shape, ref->face);
        patch_add(pair, &meet, kind, feature, patch);
    }
}

// corners of flat i inside the polygon of the other
static void add_corners(const cri_pair *pair, const reference *ref, const flat *f, int i,
                        cri_patch *patch) {
    for (int k = 0; k < f[i].n && f[1 - i].dim == 2; k++) {
        if (is_inside(&f[1 - i], f[i].q[k], same_place * pair->scale)) {
            int feature[2];
            feature[i] = f[i].feature[k];
            feature[1 - i] = f[1 - i].face;
            add_pieces(pair, ref, f, feature, patch);
        }
    }
}

static void add_crossings(const cri_pair *pair, const reference *ref, const flat *f,
                          cri_patch *patch) {
    CR_ASSERT(f[0].n > 1 && f[1].n > 1);
    int n0 = f[0].dim == 2 ? f[0].n : 1, n1 = f[1].dim == 2 ? f[1].n : 1;
    for (int j = 0; j < n0; j++) {
        int j1 = j + 1 < f[0].n ? j + 1 : 0;
        for (int k = 0; k < n1; k++) {
            int k1 = k + 1 < f[1].n ? k + 1 : 0;
            if (!do_cross(f[0].q[j], f[0].q[j1], f[1].q[k], f[1].q[k1])) {
                continue;
            }
            int feature[2] = {cri_edge_between(&pair->shape[0], f[0].feature[j], f[0].feature[j1]),
                              cri_edge_between(&pair->shape[1], f[1].feature[k], f[1].feature[k1])};
            if (feature[0] >= 0 && feature[1] >= 0) {
                add_pieces(pair, ref, f, feature, patch);
            }
        }
    }
}

// an end, piece i, and the point of the other edge beside it, along n
static cri_meet beside(const cri_piece piece[2], int i, cri_vec3 n) {
    cri_vec3 x[2];
    for (int k = 0; k < 2; k++) {
        x[k] = cri_v3_mad(piece[k].p, k ? -1.0 : 1.0, cri_bulge_at(&piece[k], n));
    }
    cri_vec3 e = piece[1 - i].e[0], apart = cri_v3_sub(x[i], x[1 - i]);
    x[1 - i] = cri_v3_mad(x[1 - i], cri_v3_dot(apart, e), e);
    cri_meet meet = {.n = n, .x = x[0], .gap = cri_v3_dot(n, cri_v3_sub(x[1], x[0]))};
    cri_pieces_hold(piece, &meet);
    return meet;
}

// ends of one of two edges beside the other
static void add_ends(const cri_pair *pair, const int edge[2], cri_vec3 n, cri_patch *patch) {
    cri_piece line[2];
    int end[2][2];
    for (int i = 0; i < 2; i++) {
        line[i] = piece_of(pair, i, edge[i]);
        cri_edge_ends(&pair->shape[i], edge[i], end[i]);
    }
    double angle = sine_between(line[0].e[0], line[1].e[0]);
    for (int k = 0; k < 4 && angle < flat_angle; k++) {
        int i = k / 2, other = 1 - i, feature[2];
        cri_piece piece[2];
        feature[i] = end[i][k % 2];
        feature[other] = edge[other];
        piece[i] = piece_of(pair, i, feature[i]);
        piece[other] = line[other];
        cri_meet meet = {.n = n};
        cri_touch_kind kind = CRI_TOUCH_FREE;
        // without balls lines in contact have no direction between them
        if (cri_pieces_meet(piece, pair->scale, &meet) != CRI_MEET_POINT || meet.is_singular ||
            sine_between(meet.n, n) > 0.5) {
            meet = beside(piece, i, n);
            kind = CRI_TOUCH_HELD;
        }
        bool is_far = kind == CRI_TOUCH_HELD && angle > same_place;
        if (!is_far && fabs(meet.u[2 * other]) <= line[other].reach[0] + same_place * pair->scale) {
            patch_add(pair, &meet, cri_touch_kind_of(kind, 0, 0), feature, patch);
        }
    }
}

static cri_vec3 face_along(const cri_pair *pair, int i, int face) {
    cri_vec3 n = cri_m3_mul(&pair->pose[i].R, cri_face_normal(&pair->shape[i], face));
    return cri_v3_scale(i ? -1.0 : 1.0, n);
}

// the face that is part of the touch, else the one most across its normal
static reference choose_reference(const cri_pair *pair, const cri_found *found, const flat *f) {
    int best = f[0].dim == 2 ? 0 : 1;
    if (f[0].dim == 2 && f[1].dim == 2) {
        double tilt[2];
        for (int i = 0; i < 2; i++) {
            tilt[i] = cri_v3_norm(cri_v3_cross(found->meet.n, face_along(pair, i, f[i].face)));
        }
        // rounding does not change the choice
        best = tilt[1] < tilt[0] - 1e-9;
    }
    cri_piece face = piece_of(pair, best, f[best].face);
    return (reference){
        best, f[best].face, face_along(pair, best, f[best].face), {face.e[0], face.e[1]}};
}

void cri_patch_find(const cri_pair *pair, const cri_found *found, cri_patch *patch) {
    flat f[2] = {{.n = 0}, {.n = 0}};
    cri_vec3 n = found->meet.n;
    if (found->meeting == CRI_MEET_FLAT && cri_feature_kind(found->feature[0]) == CRI_PIECE_EDGE &&
        cri_feature_kind(found->feature[1]) == CRI_PIECE_EDGE) {
        add_ends(pair, found->feature, n, patch);
        return;
    }
    for (int i = 0; i < 2; i++) {
        flat_of(pair, i, n, flat_angle, &f[i]);
        if (f[i].dim == 0) {
            return;
        }
    }
    if (f[0].dim == 1 && f[1].dim == 1) {
        int edge[2];
        for (int i = 0; i < 2; i++) {
            edge[i] = cri_edge_between(&pair->shape[i], f[i].feature[0], f[i].feature[1]);
        }
        if (edge[0] >= 0 && edge[1] >= 0) {
            add_ends(pair, edge, n, patch);
        }
        return;
    }
    reference ref = choose_reference(pair, found, f);
    for (int i = 0; i < 2; i++) {
        place_corners(pair, i, ref.n, ref.e, &f[i]);
    }
    add_corners(pair, &ref, f, 1 - ref.shape, patch);
    add_corners(pair, &ref, f, ref.shape, patch);
    add_crossings(pair, &ref, f, patch);
}

// ---- reduction ---------------------------------------------------------------------------------

// under its own name or another
static bool is_there(const cri_narrow_touch *touch, int n, const cri_narrow_touch *t,
                     double least) {
    for (int k = 0; k < n; k++) {
        cri_vec3 apart = cri_v3_sub(touch[k].point[0], t->point[0]);
        if (touch[k].id == t->id || cri_v3_norm(apart) <= least) {
            return true;
        }
    }
    return false;
}

// the wanted points one by one
static int take_all(const cri_patch *patch, const bool *is_wanted, int n, cri_narrow_touch *touch) {
    for (int k = 0; k < patch->n; k++) {
        if (is_wanted[k]) {
            touch[n++] = patch->touch[k];
        }
    }
    return n;
}

int cri_patch_reduce(const cri_pair *pair, const cri_patch *patch, double margin, int n,
                     cri_narrow_touch *touch) {
    CR_ASSERT(n > 0 && margin >= 0.0);
    bool is_wanted[CRI_MAX_POOL];
    int n_wanted = 0;
    for (int k = 0; k < patch->n; k++) {
        const cri_narrow_touch *t = &patch->touch[k];
        is_wanted[k] = t->gap <= margin && !is_there(touch, n, t, same_place * pair->scale);
        // two crossings may have the hash of one
        for (int j = 0; j < k && is_wanted[k]; j++) {
            is_wanted[k] = !is_wanted[j] || patch->touch[j].id != t->id;
        }
        n_wanted += is_wanted[k];
    }
    if (n + n_wanted <= CRI_MAX_TOUCH) {
        return take_all(patch, is_wanted, n, touch);
    }
    // the outline: again and again the point farthest from those that are taken
    while (n < CRI_MAX_TOUCH) {
        int best = -1;
        double most = -1.0;
        for (int k = 0; k < patch->n; k++) {
            double nearest = INFINITY;
            for (int j = 0; j < n && is_wanted[k]; j++) {
                cri_vec3 apart = cri_v3_sub(patch->touch[k].point[0], touch[j].point[0]);
                nearest = fmin(nearest, cri_v3_dot(apart, apart));
            }
            if (is_wanted[k] && nearest > most) {
                most = nearest;
                best = k;
            }
        }
        touch[n++] = patch->touch[best];
        is_wanted[best] = false;
    }
    return n;
}
