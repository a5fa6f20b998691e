// SPDX-License-Identifier: MIT
//
// From two shapes to their touches.
//
//   planes             all points of a shape
//   sphere, capsule    nearest points of two points or segments
//   all others         nearest points of the cores or their least depth (gjk.c) say which pieces
//                      touch; those are solved to rounding (touch.c), and when they leave a
//                      piece its neighbour is next
//
// Flat pieces that lie on each other have more points, patch.c. Of two convex shapes apart, pieces
// that meet inside their bounds are the nearest points; in an overlap they are a local minimum of
// the depth, next to the least one.

#include "geometry/query/narrow.h"

#include "base/base.h"
#include "base/math/quat.h"
#include "base/math/vec3.h"
#include "geometry/mesh/hull_tree.h"
#include "geometry/query/patch.h"

#include <math.h>
#include <stddef.h>

/// Vertices of a mesh that are chosen: the lowest one first.
typedef struct choice {
    int n, vertex[CRI_MAX_TOUCH];
} choice;

// radians that a right angle may be off by: rounding, the accuracy of epa with round shapes
enum { MAX_MOVE = 8, N_ACROSS = 3 };

static const double across[N_ACROSS] = {0.05, 1e-3, 1e-7};

// Round cores, in three attempts: Newton's method from a first guess, then from a better one, then
// whatever is known best.
static const struct {
    double distance; // share of it that is left to Newton
    double depth;    // likewise; another way out may be as good but for that
    double close;    // share of the scale below which Newton takes over at once
} attempts[] = {{1e-2, 1e-3, 1e-2}, {1e-3, 1e-3, 0.0}, {1e-11, 1e-11, 0.0}};

enum { N_ATTEMPT = sizeof attempts / sizeof *attempts };

// share of the scale: the depth next to which there is no other one, at a first guess
static const double little = 5e-3;

// ---- spheres by formula -------------------------------------------------------------------------

// Gap g, normal n and arms rho of primitive pairs.
//
//   plane n.x = d, sphere       g = n.x - d - r         rho_1 = -r n
//   spheres, D = x_1 - x_0      g = |D| - r_0 - r_1     n = D/|D|   rho_0 = r_0 n   rho_1 = -r_1 n
//
// Smooth except for two spheres with one centre, which nothing can reach from outside; there the
// normal is +z.

cri_touch cri_plane_sphere(cri_vec3 normal, double offset, cri_vec3 pos, double radius) {
    CR_VALIDATE(fabs(cri_v3_dot(normal, normal) - 1.0) < 1e-6);
    CR_VALIDATE(radius >= 0.0);
    return (cri_touch){.gap = cri_v3_dot(normal, pos) - offset - radius,
                       .normal = normal,
                       .arm = {[1] = cri_v3_scale(-radius, normal)}};
}

void cri_plane_sphere_vjp(cri_vec3 normal, const cri_touch *adj, cri_vec3 *pos_adj,
                          double *offset_adj, double *radius_adj) {
    // arm = -r n
    *radius_adj -= cri_v3_dot(adj->arm[1], normal);

    // gap = n.x - d - r
    *pos_adj = cri_v3_mad(*pos_adj, adj->gap, normal);
    *offset_adj -= adj->gap;
    *radius_adj -= adj->gap;
}

cri_touch cri_plane_sphere_jvp(cri_vec3 normal, cri_vec3 pos_tan, double offset_tan,
                               double radius_tan) {
    return (cri_touch){.gap = cri_v3_dot(normal, pos_tan) - offset_tan - radius_tan,
                       .arm = {[1] = cri_v3_scale(-radius_tan, normal)}};
}

// D/|D|, +z for a zero D
static cri_vec3 direction(cri_vec3 delta, double *distance) {
    *distance = cri_v3_norm(delta);
    return *distance > 0.0 ? cri_v3_scale(1.0 / *distance, delta) : cri_v3(0.0, 0.0, 1.0);
}

cri_touch cri_sphere_sphere(cri_vec3 delta, double radius0, double radius1) {
    CR_VALIDATE(radius0 > 0.0 && radius1 > 0.0);
    double distance;
    cri_vec3 n = direction(delta, &distance);
    return (cri_touch){.gap = distance - radius0 - radius1,
                       .normal = n,
                       .arm = {cri_v3_scale(radius0, n), cri_v3_scale(-radius1, n)}};
}

void cri_sphere_sphere_vjp(cri_vec3 delta, double radius0, double radius1, const cri_touch *adj,
                           cri_vec3 *delta_adj, double *radius0_adj, double *radius1_adj) {
    double distance;
    cri_vec3 n = direction(delta, &distance);

    // arm_0 = r_0 n,  arm_1 = -r_1 n,  gap = |D| - r_0 - r_1
    cri_vec3 n_adj = cri_v3_mad(adj->normal, radius0, adj->arm[0]);
    n_adj = cri_v3_mad(n_adj, -radius1, adj->arm[1]);
    *radius0_adj += cri_v3_dot(adj->arm[0], n) - adj->gap;
    *radius1_adj -= cri_v3_dot(adj->arm[1], n) + adj->gap;

    // n = D/|D|
    *delta_adj = cri_v3_mad(*delta_adj, adj->gap, n);
    if (distance > 0.0) {
        cri_vec3 tangent = cri_v3_mad(n_adj, -cri_v3_dot(n, n_adj), n);
        *delta_adj = cri_v3_mad(*delta_adj, 1.0 / distance, tangent);
    }
}

cri_touch cri_sphere_sphere_jvp(cri_vec3 delta, double radius0, double radius1, cri_vec3 delta_tan,
                                double radius0_tan, double radius1_tan) {
    double distance;
    cri_vec3 n = direction(delta, &distance);
    double along = cri_v3_dot(n, delta_tan);
    cri_vec3 n_tan = {0};
    if (distance > 0.0) {
        n_tan = cri_v3_scale(1.0 / distance, cri_v3_mad(delta_tan, -along, n));
    }
    return (cri_touch){
        .gap = along - radius0_tan - radius1_tan,
        .normal = n_tan,
        .arm = {cri_v3_mad(cri_v3_scale(radius0, n_tan), radius0_tan, n),
                cri_v3_mad(cri_v3_scale(-radius1, n_tan), -radius1_tan, n)},
    };
}

// ---- everything on a plane ----------------------------------------------------------------------

// The plane is shape 0: gap = n.x_1 of points x_1 of shape 1, n the plane's normal.
//
//   sphere, ellipsoid   the lowest point
//   capsule             both ends
//   box, mesh           the vertices
//   cylinder            the lowest points of both rims, and fixed points of the lower rim
//
// The lowest point of a rim runs away as the cylinder comes to stand; the fixed ones do not.

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

/// Two shapes at their places.
static cri_pair pair_of(const cri_shape shape[2], const cri_pose pose[2]) {
    cri_pair pair = {shape, pose, cri_v3_sub(pose[1].pos, pose[0].pos), 0.0};
    pair.scale = cri_v3_norm(pair.apart) + cri_bounding_radius(&shape[1]);
    if (shape[0].kind != CRI_SHAPE_PLANE) {
        pair.scale += cri_bounding_radius(&shape[0]);
    }
    return pair;
}

bool cri_plane_next(const cri_shape shape[2], const cri_pose pose[2], const cri_plane_asked *asked,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch) {
    CR_ASSERT(shape[0].kind == CRI_SHAPE_PLANE && shape[1].kind == CRI_SHAPE_MESH && touch);
    cri_pair pair = pair_of(shape, pose);
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

/// All touches with a plane, shape 0.
static int collide_plane(const cri_pair *pair, double margin, cri_narrow_touch *touch) {
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

// ---- two shapes ---------------------------------------------------------------------------------

static cri_piece piece_of(const cri_pair *pair, int i, int feature) {
    return cri_piece_at(&pair->shape[i], &pair->pose[i].R, i ? pair->apart : cri_v3(0.0, 0.0, 0.0),
                        feature);
}

// ---- which pieces ------------------------------------------------------------------------------

// of a face and a piece that crosses it: the corner of that piece's shape lowest over the face
static void lower(const cri_pair *pair, const cri_piece piece[2], cri_found *found) {
    int other = piece[0].dim == 2 ? 1 : 0, hint[2] = {0, 0};
    cri_vec3 n = cri_m3_mul(&pair->pose[1 - other].R,
                            cri_face_normal(&pair->shape[1 - other], found->feature[1 - other]));
    found->meet.n = cri_v3_scale(other ? 1.0 : -1.0, n);
    cri_corner c = cri_pair_corner(pair, found->meet.n, hint);
    found->feature[other] = c.feature[other];
}

// A rim whose cap the other piece is over: along the axis phi has a kink, and a maximum when what
// is between is less than the radius off the axis.
static bool is_over_cap(const cri_pair *pair, const cri_piece piece[2], const cri_found *found,
                        int i) {
    if (cri_feature_kind(found->feature[i]) != CRI_PIECE_RIM || piece[1 - i].dim > 0) {
        return false;
    }
    double side = cri_feature_index(found->feature[i]) ? 1.0 : -1.0;
    cri_vec3 n = cri_v3_scale(i ? -side : side, cri_m3_column(&pair->pose[i].R, 2));
    cri_vec3 v = cri_v3_sub(piece[1].p, piece[0].p);
    v = cri_v3_sub(v, cri_bulge_at(&piece[1 - i], n));
    double along = cri_v3_dot(v, n);
    double off = cri_v3_norm(cri_v3_mad(v, -along, n));
    // apart there is one maximum only, in an overlap the one at hand: less than 8 degrees away
    return off <= piece[i].radius && (along > 0.0 || cri_v3_dot(n, found->meet.n) > 0.99);
}

// after Newton's method ended at the kink of a rim: the cap there
static bool to_cap(const cri_pair *pair, cri_found *found) {
    for (int i = 0; i < 2; i++) {
        cri_vec3 d = cri_m3_tmul(&pair->pose[i].R, cri_v3_scale(i ? -1.0 : 1.0, found->meet.n));
        // sine of an angle that is near enough
        if (cri_feature_kind(found->feature[i]) == CRI_PIECE_RIM && hypot(d.x, d.y) < 0.02) {
            found->feature[i] = cri_feature_of(CRI_PIECE_FACE, d.z > 0.0);
            return true;
        }
    }
    return false;
}

// from piece to piece until both points are inside and the normal is in both cones
static bool settle(const cri_pair *pair, cri_found *found) {
    int *feature = found->feature;
    for (int move = 0; move < MAX_MOVE; move++) {
        cri_piece piece[2] = {piece_of(pair, 0, feature[0]), piece_of(pair, 1, feature[1])};
        bool over[2] = {is_over_cap(pair, piece, found, 0), is_over_cap(pair, piece, found, 1)};
        if (over[0] || over[1]) {
            int i = over[0] ? 0 : 1;
            feature[i] = cri_feature_of(CRI_PIECE_FACE, cri_feature_index(feature[i]));
            piece[i] = piece_of(pair, i, feature[i]);
        }
        found->meeting = cri_pieces_meet(piece, pair->scale, &found->meet);
        if (found->meeting == CRI_MEET_CROSSED) {
            lower(pair, piece, found);
            continue;
        }
        if (found->meeting == CRI_MEET_NONE && to_cap(pair, found)) {
            continue;
        }
        if (found->meeting != CRI_MEET_POINT) {
            return found->meeting == CRI_MEET_FLAT;
        }
        // rounding first, then what a turn between two pieces may leave
        double slack = (move < MAX_MOVE / 2 ? 1e-12 : 1e-10) * pair->scale;
        bool has_moved = false;
        for (int i = 0; i < 2; i++) {
            cri_vec3 out = cri_m3_tmul(&pair->pose[i].R, found->meet.n);
            out = cri_v3_scale(i ? -1.0 : 1.0, out);
            int next =
                cri_piece_step(&pair->shape[i], feature[i], out, found->meet.u + 2 * i, slack);
            has_moved |= next != feature[i];
            feature[i] = next;
        }
        if (!has_moved) {
            return true;
        }
    }
    return false;
}

// the pieces around the corners that gjk or epa ended with
static void guess_pieces(const cri_pair *pair, const cri_nearest *near, cri_found *found) {
    for (int i = 0; i < 2; i++) {
        const cri_mat3 *R = &pair->pose[i].R;
        cri_vec3 x = {0};
        int feature[4];
        for (int k = 0; k < near->n; k++) {
            x = cri_v3_mad(x, near->weight[k], near->corner[k].x[i]);
            feature[k] = near->corner[k].feature[i];
        }
        if (i == 0) {
            found->x = x;
        }
        x = cri_m3_tmul(R, i ? cri_v3_sub(x, pair->apart) : x);
        cri_vec3 out = cri_m3_tmul(R, cri_v3_scale(i ? -1.0 : 1.0, near->normal));
        found->feature[i] = cri_piece_spanned(&pair->shape[i], near->n, feature, x, out);
    }
    double ball[2] = {cri_core_radius(&pair->shape[0]), cri_core_radius(&pair->shape[1])};
    found->x = cri_v3_mad(found->x, ball[0], near->normal);
    found->meet.gap = near->separation - ball[0] - ball[1];
    found->meet.n = near->normal;
}

// what is known, with the normal held
static void hold(const cri_pair *pair, cri_found *found) {
    cri_piece piece[2] = {piece_of(pair, 0, found->feature[0]),
                          piece_of(pair, 1, found->feature[1])};
    found->meeting = CRI_MEET_POINT;
    found->meet.x = found->x;
    cri_pieces_hold(piece, &found->meet);
}

// the shapes support the meeting's normal where it says, and what is known is no nearer
static bool is_right(const cri_pair *pair, const cri_found *found, const cri_nearest *near) {
    double ball = cri_core_radius(&pair->shape[0]) + cri_core_radius(&pair->shape[1]);
    double slack = 1e-10 * pair->scale, separation = found->meet.gap + ball;
    int hint[2] = {near->hint[0], near->hint[1]};
    cri_corner c = cri_pair_corner(pair, found->meet.n, hint);
    return fabs(cri_v3_dot(c.w, found->meet.n) - separation) <= slack &&
           separation >= near->separation - slack;
}

// the pieces that may look along the local direction d
static int guesses(const cri_shape *shape, cri_vec3 d, int feature, int guess[4]) {
    if (shape->kind != CRI_SHAPE_CYLINDER) {
        int hint = 0;
        guess[0] = feature;
        cri_core_support(shape, d, &guess[1], &hint);
        return guess[1] == feature ? 1 : 2;
    }
    guess[0] = cri_feature_of(CRI_PIECE_RIM, d.z >= 0.0);
    guess[1] = cri_feature_of(CRI_PIECE_EDGE, 0);
    guess[2] = cri_feature_of(CRI_PIECE_FACE, d.z >= 0.0);
    guess[3] = cri_feature_of(CRI_PIECE_RIM, d.z < 0.0);
    return 4;
}

// the pieces across the normal, then corners and every piece of a cylinder in turn; false, and what
// gjk or epa found, when none is right
static bool retry(const cri_pair *pair, const cri_nearest *near, cri_found *found) {
    cri_found best, try;
    guess_pieces(pair, near, &best);
    try = best;
    int n[2], guess[2][4];
    for (int i = 0; i < 2; i++) {
        cri_vec3 d = cri_v3_scale(i ? -1.0 : 1.0, near->normal);
        n[i] =
            guesses(&pair->shape[i], cri_m3_tmul(&pair->pose[i].R, d), best.feature[i], guess[i]);
    }
    for (int k = -N_ACROSS; k < n[0] * n[1]; k++) {
        for (int i = 0; i < 2; i++) {
            int pick = i ? k % n[1] : k / n[1];
            try.feature[i] =
                k < 0 ? cri_patch_feature(pair, i, near->normal, across[-1 - k]) : guess[i][pick];
        }
        try.meet.n = near->normal;
        if (settle(pair, &try) && is_right(pair, &try, near)) {
            *found = try;
            return true;
        }
    }
    hold(pair, &best);
    *found = best;
    return false;
}

static void find_general(const cri_pair *pair, int k, cri_found *found) {
    for (; k < N_ATTEMPT; k++) {
        cri_nearest near;
        bool is_apart = cri_gjk(pair, attempts[k].distance, attempts[k].close * pair->scale, &near);
        if (!is_apart && !cri_epa(pair, attempts[k].depth, &near)) {
            // a flat difference: take any direction across
            near.normal = cri_v3(0.0, 0.0, 1.0);
            near.separation = 0.0;
            near.n = 1;
            near.weight[0] = 1.0;
        }
        if (is_apart && near.separation < 0.0) {
            near.separation = fmax(near.separation, -little * pair->scale);
        }
        guess_pieces(pair, &near, found);
        if (settle(pair, found) && is_right(pair, found, &near)) {
            return;
        }
        if (k > 0 && retry(pair, &near, found)) {
            return;
        }
    }
}

// ---- points and segments -----------------------------------------------------------------------

static double clamp(double a, double limit) {
    return fmin(fmax(a, -limit), limit);
}

static int axis_feature(const cri_shape *shape, double u) {
    if (shape->kind == CRI_SHAPE_SPHERE) {
        return cri_feature_of(CRI_PIECE_VERTEX, 0);
    }
    return fabs(u) < shape->size[1] ? cri_feature_of(CRI_PIECE_EDGE, 0)
                                    : cri_feature_of(CRI_PIECE_VERTEX, u > 0.0);
}

// coordinates of the nearest points of two segments, a point being one of length 0
static void nearest_on_axes(const cri_pair *pair, double u[2]) {
    cri_vec3 a0 = cri_m3_column(&pair->pose[0].R, 2), a1 = cri_m3_column(&pair->pose[1].R, 2);
    double h0 = pair->shape[0].kind == CRI_SHAPE_CAPSULE ? pair->shape[0].size[1] : 0.0;
    double h1 = pair->shape[1].kind == CRI_SHAPE_CAPSULE ? pair->shape[1].size[1] : 0.0;
    double b = cri_v3_dot(a0, a1), c0 = cri_v3_dot(a0, pair->apart);
    double c1 = cri_v3_dot(a1, pair->apart);
    cri_vec3 cross = cri_v3_cross(a0, a1);
    double det = cri_v3_dot(cross, cross);
    // the two lines, then each coordinate within its segment given the other
    u[0] = det > 1e-18 ? clamp((c0 - b * c1) / det, h0) : clamp(c0, h0);
    u[1] = clamp(b * u[0] - c1, h1);
    u[0] = clamp(c0 + b * u[1], h0);
    u[1] = clamp(b * u[0] - c1, h1);
}

static bool is_axis(const cri_shape *shape) {
    return shape->kind == CRI_SHAPE_SPHERE || shape->kind == CRI_SHAPE_CAPSULE;
}

static void find_axes(const cri_pair *pair, cri_found *found) {
    double u[2];
    nearest_on_axes(pair, u);
    cri_piece piece[2];
    for (int i = 0; i < 2; i++) {
        found->feature[i] = axis_feature(&pair->shape[i], u[i]);
        piece[i] = piece_of(pair, i, found->feature[i]);
    }
    // when nothing else says so: across both axes, up
    cri_vec3 cross =
        cri_v3_cross(cri_m3_column(&pair->pose[0].R, 2), cri_m3_column(&pair->pose[1].R, 2));
    found->meet.n = cri_v3(0.0, 0.0, 1.0);
    if (piece[0].dim + piece[1].dim == 2 && cri_v3_dot(cross, pair->apart) != 0.0) {
        found->meet.n = cri_v3_scale(copysign(1.0, cri_v3_dot(cross, pair->apart)), cross);
    }
    found->x = piece[0].p;
    found->meeting = cri_pieces_meet(piece, pair->scale, &found->meet);
}

static void find(const cri_pair *pair, cri_found *found) {
    if (is_axis(&pair->shape[0]) && is_axis(&pair->shape[1])) {
        find_axes(pair, found);
    } else {
        find_general(pair, cri_pair_is_round(pair) ? 0 : 1, found);
    }
}

// ---- touches -----------------------------------------------------------------------------------

// the nearest of a patch, for pieces in parallel
static void take_nearest(const cri_pair *pair, const cri_patch *patch, cri_narrow_touch *touch) {
    int best = 0;
    for (int k = 1; k < patch->n; k++) {
        // of equal ones the first
        if (patch->touch[k].gap < patch->touch[best].gap - 1e-12 * pair->scale) {
            best = k;
        }
    }
    *touch = patch->touch[best];
}

static int collide(const cri_pair *pair, double margin, bool is_single, cri_narrow_touch *touch) {
    cri_found found;
    cri_patch patch;
    patch.n = 0;
    find(pair, &found);
    bool is_flat = found.meeting == CRI_MEET_FLAT;
    if (is_flat || (!is_single && found.meet.gap <= margin)) {
        cri_patch_find(pair, &found, &patch);
    }
    if (is_flat && patch.n == 0) {
        // not over each other after all: again, with all care
        find_general(pair, N_ATTEMPT - 1, &found);
        is_flat = found.meeting == CRI_MEET_FLAT;
        cri_patch_find(pair, &found, &patch);
    }
    if (is_flat && patch.n == 0) {
        // between the chords of a rim and its circle there are no corners
        hold(pair, &found);
        is_flat = false;
    }
    if (is_flat) {
        take_nearest(pair, &patch, touch);
    } else {
        cri_touch_kind kind = found.meet.is_singular ? CRI_TOUCH_HELD : CRI_TOUCH_FREE;
        cri_touch_fill(pair->pose, &found.meet, cri_touch_kind_of(kind, 0, 0), found.feature,
                       touch);
    }
    return is_single ? 1 : cri_patch_reduce(pair, &patch, margin, 1, touch);
}

// spheres on planes and on each other, which are most of many scenes
static bool touch_sphere(const cri_shape shape[2], const cri_pose pose[2],
                         cri_narrow_touch *touch) {
    cri_vec3 apart = cri_v3_sub(pose[1].pos, pose[0].pos);
    cri_meet meet = {.is_singular = false};
    int feature[2] = {cri_feature_of(CRI_PIECE_VERTEX, 0), cri_feature_of(CRI_PIECE_VERTEX, 0)};
    int kind;
    if (shape[1].kind != CRI_SHAPE_SPHERE) {
        return false;
    }
    if (shape[0].kind == CRI_SHAPE_PLANE) {
        const cri_mat3 *R = &pose[0].R;
        meet.n = cri_m3_column(R, 2);
        double height = cri_v3_dot(meet.n, apart);
        meet.gap = height - shape[1].size[0];
        meet.x = cri_v3_mad(apart, -height, meet.n);
        meet.u[0] = cri_v3_dot(apart, cri_m3_column(R, 0));
        meet.u[1] = cri_v3_dot(apart, cri_m3_column(R, 1));
        feature[0] = cri_feature_of(CRI_PIECE_FACE, 0);
        kind = cri_touch_kind_of(CRI_TOUCH_ALONG, 0, feature[0]);
    } else if (shape[0].kind == CRI_SHAPE_SPHERE) {
        double r0 = shape[0].size[0], r1 = shape[1].size[0], length = cri_v3_norm(apart);
        // one centre: up
        bool is_held = length <= 1e-13 * (length + r0 + r1);
        meet.n = is_held ? cri_v3(0.0, 0.0, 1.0) : cri_v3_scale(1.0 / length, apart);
        meet.gap = (is_held ? cri_v3_dot(meet.n, apart) : length) - r0 - r1;
        meet.x = cri_v3_scale(r0, meet.n);
        kind = cri_touch_kind_of(is_held ? CRI_TOUCH_HELD : CRI_TOUCH_FREE, 0, 0);
    } else {
        return false;
    }
    cri_touch_fill(pose, &meet, kind, feature, touch);
    return true;
}

int cri_collide(const cri_shape shape[2], const cri_pose pose[2], double margin,
                cri_narrow_touch touch[CRI_MAX_TOUCH]) {
    CR_ASSERT(margin >= 0.0 && touch);
    CR_VALIDATE(isfinite(pose[0].pos.x) && isfinite(pose[1].pos.x));
    CR_ASSERT(shape[1].kind != CRI_SHAPE_PLANE);
    if (touch_sphere(shape, pose, touch)) {
        return 1;
    }
    cri_pair pair = pair_of(shape, pose);
    if (shape[0].kind == CRI_SHAPE_PLANE) {
        return collide_plane(&pair, margin, touch);
    }
    return collide(&pair, margin, false, touch);
}

void cri_distance(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch) {
    CR_ASSERT(touch);
    CR_ASSERT(shape[1].kind != CRI_SHAPE_PLANE);
    if (touch_sphere(shape, pose, touch)) {
        return;
    }
    cri_pair pair = pair_of(shape, pose);
    if (shape[0].kind == CRI_SHAPE_PLANE) {
        cri_narrow_touch all[CRI_MAX_TOUCH];
        collide_plane(&pair, -INFINITY, all);
        *touch = all[0];
        return;
    }
    collide(&pair, 0.0, true, touch);
}
