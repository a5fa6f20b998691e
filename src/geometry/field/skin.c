// SPDX-License-Identifier: MIT
//
// Narrow phase of two fields with meshes.
//
// A ball with centre c and radius r around triangles of the owner is out of reach when phi(c) >
// L (r + margin), L the largest slope of the other's field; the same test goes down the owner's
// tree and ends at triangles. Every corner within the margin is a touch. What a triangle may be
// lower than its lowest corner is bounded by the gradient there, for convex fields: where that is a
// share of the margin, may be the deepest of all or the only point within the margin, the lowest
// point is looked for (triangle_min.h). A triangle that is large beside the other body may have
// several lowest points, or a whole region: it is cut into pieces that are small enough, each that
// may be in reach begins a search.

#include "geometry/field/skin.h"

#include "geometry/mesh/triangle_min.h"
#include "geometry/query/patch.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/// A point on a triangle of the owner, seen from both fields.
typedef struct skin_spot {
    int owner, face;
    double weight[3];
    cri_vec3 v[3]; // corners in the owner's frame
    cri_vec3 P[3]; // in the world
    cri_vec3 V[3]; // in the other's frame
    cri_vec3 p;    // the point in the world
    cri_vec3 x, y; // in the owner's and in the other's frame
} skin_spot;

/// A piece of a triangle by the weights w of its corners: its middle, a radius around it, and its
/// longest side, from corner side to the next.
typedef struct skin_cut {
    double mid[3], radius;
    cri_vec3 centre;
    int side;
} skin_cut;

enum { PIECES_DEEP = 24, STARTS = 8 };

/// A piece of a triangle where a search may begin.
typedef struct skin_start {
    double phi, radius, mid[3];
    cri_vec3 centre;
} skin_start;

/// The lowest of them, each well apart from the others.
typedef struct skin_starts {
    int n;
    skin_start of[STARTS];
} skin_starts;

/// A triangle V in a field of that slope; pieces are cut down to radius, and those matter that may
/// be below least.
typedef struct skin_piece_rule {
    const cri_field *field;
    const cri_vec3 *V;
    double slope, radius, least;
} skin_piece_rule;

/// A tree placed in a field of that slope, and a value; large is the longest side of a triangle
/// that is not cut into pieces.
typedef struct skin_below_rule {
    const cri_field *field;
    const cri_tri_tree *tree;
    const cri_pose *place;
    double slope, bound, large;
} skin_below_rule;

static const double far_away = 4.0; // sides of a triangle from the vertex to the lowest point

static const double search_size = 0.5; // of the body's radius: the triangle that is searched

enum { BALLS = 32, OPEN = BALLS * CRI_TRI_DEPTH };

/// Balls that are open, each with a value that phi at its centre cannot exceed.
typedef struct open_balls {
    int n, at[OPEN];
    double most[OPEN];
} open_balls;

/// Corners in the field, each once.
typedef struct corners {
    int n;
    int *number; // (n_vertex) -1: not among them
    double *x, *phi, *g;
} corners;

enum { PATCHES = 32, LEVELS = 3 };

static const double same_angle = 0.01; // radians between normals of a patch

static const double same_place = 1e-4; // share of the scale within which the deeper point stays

static const double same_gap = 1e-9; // of the scale: no point is deeper than another by less

static const double share[LEVELS] = {0.02, 0.2, 1.0}; // of the margin, above the deepest point

/// Points to be sorted by two numbers each.
typedef struct keys {
    double (*key)[2];
    int *order;
} keys;

/// The points of one patch and where they are seen along its normal.
typedef struct patch_points {
    int n;
    int *member; // in the pool
    keys plane;
    int *hull;
} patch_points;

enum { POOL = 4096, KEPT = 256 };

static const double large = 0.5; // longest side over the other's radius from which on it is cut

static const double piece = 0.125; // radius of a piece, likewise

static const double opposite = 0.9962; // cosine between normals when both count: 5 degrees

static const double worth = 0.1; // of the margin: a gain for which a triangle is searched

static const double same_spot = 1e-7; // of the scale: two searches that ended at one point

/// A corner of the owner's mesh in the other's field.
typedef struct seen {
    cri_vec3 V;
    cri_field_value v;
    bool is_taken; // is a touch already
} seen;

/// Triangles of one skin in the field of the other.
typedef struct search {
    const cri_skin *skin;
    const cri_pose *pose;
    int owner;
    const cri_field *field;   // of the other
    bool is_flat;             // the other is a half-space: lowest points are corners
    bool is_sharp;            // where the field has no gradient it has an edge
    const cri_tri_tree *tree; // of the owner
    cri_pose place;           // from the owner's frame to the other's
    double slope, margin, reach, scale;
    double deepest; // phi so far
    int n_face;
    int *face;   // candidates
    int *number; // (n_vertex) of a corner that was seen, -1: not yet
    int n_seen;
    seen *seen;
    int n_pool;
    cri_narrow_touch *pool, *kept; // (POOL), (KEPT)
    cr_arena *scratch;
} search;

/// A node and a value that phi at its centre cannot exceed.
typedef struct reach_node {
    int at;
    double most;
} reach_node;

/// A triangle of the owner in the other's frame, and the search for its lowest points.
typedef struct triangle {
    int face;
    cri_vec3 V[3];
    int first;   // in the pool
    int n_piece; // begun
} triangle;

static const double whole[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};

/// The lowest point so far.
typedef struct lowest {
    double phi;
    int face; // -1: none yet
    cri_triangle_min min;
} lowest;

/// A node and the least value that it may have.
typedef struct open_node {
    int at;
    double least;
} open_node;

/// Sides of the active corners and their curvature, when the weights may move.
typedef struct bend_matrix {
    int n, active[3];
    double B[3];
    cri_vec3 E[2];
} bend_matrix;

/// Adjoints of one touch on their way.
typedef struct reverse {
    const cri_skin *skin;
    const cri_pose *pose;
    const skin_spot *spot;
    cri_skin_diff *own, *other;
    cri_vec3 p;    // of the point
    cri_vec3 P[3]; // of the corners, in the world
} reverse;

/// a in the frame of a pose, and a point there.
static inline cri_vec3 pose_into(const cri_pose *pose, cri_vec3 x) {
    return cri_m3_tmul(&pose->R, cri_v3_sub(x, pose->pos));
}

static inline cri_vec3 pose_out(const cri_pose *pose, cri_vec3 x) {
    return cri_v3_add(pose->pos, cri_m3_mul(&pose->R, x));
}

/// The frame of one pose seen from another.
static inline cri_pose pose_between(const cri_pose *owner, const cri_pose *other) {
    cri_pose out = {.pos = pose_into(other, owner->pos)};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            double sum = 0.0;
            for (int l = 0; l < 3; l++) {
                sum += other->R.m[3 * l + i] * owner->R.m[3 * l + k];
            }
            out.R.m[3 * i + k] = sum;
        }
    }
    return out;
}

/// How much a field bends: |tr H|.
static inline double bend_of(const double H[6]) {
    return fabs(H[0] + H[1] + H[2]);
}

// ---- a half-space -------------------------------------------------------------------------------

// The lowest point of a smooth field on the plane.
//
// A mesh is a polyhedron, and would roll like one. Where the field of the body is smooth, the touch
// of a vertex with the plane is followed by the minimum of phi over the plane from its foot on:
// grad phi is then along the plane's normal, and the touch is owned by the plane, with the point's
// coordinates x, y for weights. The derivatives are those of a lowest point within a triangle of
// the plane, around the point and of any size (below).
//
// The minimum counts when it is close to the vertex, the field is curved there and the curvature is
// seen by the mesh: |H| times the side of its triangles below 1. An edge that the mesh cuts off is
// left to the mesh.

/// A triangle in the plane z = 0 around a point, whose corners are size away from it.
static void skin_plane_triangle(double x, double y, double size, cri_vec3 corner[3]) {
    // half, and the height of an equilateral triangle
    corner[0] = cri_v3(x + size, y, 0.0);
    corner[1] = cri_v3(x - 0.5 * size, y + 0.8660254037844386 * size, 0.0);
    corner[2] = cri_v3(x - 0.5 * size, y - 0.8660254037844386 * size, 0.0);
}

static skin_spot skin_spot_of(const cri_skin skin[2], const cri_pose pose[2], int owner, int face,
                              const double weight[3]) {
    skin_spot s = {.owner = owner, .face = face, .p = {0.0, 0.0, 0.0}};
    memcpy(s.weight, weight, sizeof s.weight);
    if (!skin[owner].tree) {
        skin_plane_triangle(weight[0], weight[1], 1.0, s.v);
        s.weight[0] = s.weight[1] = s.weight[2] = 1.0 / 3.0;
        weight = s.weight;
    }
    for (int l = 0; l < 3; l++) {
        if (skin[owner].tree) {
            s.v[l] = cri_triangle_corner(&skin[owner].tree->mesh, face, l);
        }
        s.P[l] = pose_out(&pose[owner], s.v[l]);
        s.V[l] = pose_into(&pose[1 - owner], s.P[l]);
        s.p = cri_v3_mad(s.p, weight[l], s.P[l]);
        s.x = cri_v3_mad(l ? s.x : cri_v3(0.0, 0.0, 0.0), weight[l], s.v[l]);
        s.y = cri_v3_mad(l ? s.y : cri_v3(0.0, 0.0, 0.0), weight[l], s.V[l]);
    }
    return s;
}

static cri_vec3 unit(cri_vec3 a) {
    double length = cri_v3_norm(a);
    return length > 0.0 ? cri_v3_scale(1.0 / length, a) : cri_v3(0.0, 0.0, 1.0);
}

// from the owner to the other
static cri_vec3 direction(const cri_skin skin[2], const cri_pose pose[2], const skin_spot *spot,
                          bool own, cri_vec3 g) {
    if (!own) {
        return cri_v3_scale(-1.0, cri_m3_mul(&pose[1 - spot->owner].R, unit(g)));
    }
    cri_field_value v;
    cri_field_eval(skin[spot->owner].field, spot->x, CRI_FIELD_GRADIENT, &v);
    return cri_m3_mul(&pose[spot->owner].R, unit(v.g));
}

/// Normal, gap and points of a touch with the spot's point. own: the owner's field has the normal.
static void skin_touch_fill(const cri_skin skin[2], const cri_pose pose[2], const skin_spot *spot,
                            bool own, const cri_field_value *other, cri_narrow_touch *touch) {
    int o = spot->owner, j = 1 - o;
    double slope = cri_v3_norm(other->g);
    cri_vec3 dir = direction(skin, pose, spot, own, other->g);
    touch->gap = slope > 0.0 ? other->phi / slope : other->phi;
    touch->normal = cri_v3_scale(o ? -1.0 : 1.0, dir);
    touch->point[o] = spot->p;
    touch->point[j] = cri_v3_mad(spot->p, touch->gap, dir);
}

/// The lowest point of the other's field on the half-space that is skin o, from its point (x, y):
/// fills all of touch but its id. False when there is none nearby that is a smooth minimum.
static bool skin_plane_find(const cri_skin skin[2], const cri_pose pose[2], int o, double x,
                            double y, cri_narrow_touch *touch) {
    const cri_skin *body = &skin[1 - o];
    const double third = 1.0 / 3.0, start[3] = {third, third, third};
    double size = search_size * body->tree->node[0].radius, B[3], at[3] = {0.0, 0.0, 0.0};
    cri_vec3 corner[3], V[3];
    skin_plane_triangle(x, y, size, corner);
    for (int l = 0; l < 3; l++) {
        V[l] = pose_into(&pose[1 - o], pose_out(&pose[o], corner[l]));
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
    skin_spot spot = skin_spot_of(skin, pose, o, -1, at);
    touch->cache =
        (cri_touch_cache){.kind = CRI_SKIN_OWN | (o ? CRI_SKIN_OWNER : 0), .feature = {-1, 0}};
    memcpy(touch->cache.u, at, sizeof at);
    skin_touch_fill(skin, pose, &spot, true, &m.v, touch);
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
    cri_vec3 foot = pose_into(&pose[o], touch->point[1 - o]);
    cri_narrow_touch t = {.gap = 0.0};
    if (!skin_plane_find(skin, pose, o, foot.x, foot.y, &t)) {
        return false;
    }
    cri_field_value v;
    cri_vec3 y = pose_into(&pose[1 - o], t.point[o]);
    cri_field_eval(skin[1 - o].field, y, CRI_FIELD_HESSIAN, &v);
    double bend = fabs(v.H[0]) + fabs(v.H[1]) + fabs(v.H[2]);
    double away = hypot(t.cache.u[0] - foot.x, t.cache.u[1] - foot.y);
    if (!(away <= far_away * side) || !(bend * side < 1.0)) {
        return false;
    }
    *touch = t;
    return true;
}

/// Puts lowest points of the field in the place of vertices, for touches of a half-space and a skin
/// whose field is smooth. Returns how many of the n touches are left.
static int skin_plane_polish(const cri_skin skin[2], const cri_pose pose[2], int n,
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

// ---- pieces of large triangles ------------------------------------------------------------------

// Pieces of a triangle that is large beside the body that it meets: two halves each, by the middle
// of the longest side, so that a long narrow one has few; and those of them from which the lowest
// point is searched.

static void skin_cut_of(const cri_vec3 V[3], const double w[3][3], skin_cut *c) {
    cri_vec3 corner[3];
    double longest = -1.0;
    c->centre = cri_v3(0.0, 0.0, 0.0);
    c->radius = 0.0;
    c->side = 0;
    for (int k = 0; k < 3; k++) {
        c->mid[k] = (w[0][k] + w[1][k] + w[2][k]) / 3.0;
        c->centre = cri_v3_mad(c->centre, c->mid[k], V[k]);
        corner[k] = cri_v3_mad(cri_v3_scale(w[k][0], V[0]), w[k][1], V[1]);
        corner[k] = cri_v3_mad(corner[k], w[k][2], V[2]);
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 side = cri_v3_sub(corner[(k + 1) % 3], corner[k]);
        c->radius = cri_larger(c->radius, cri_v3_norm(cri_v3_sub(corner[k], c->centre)));
        if (cri_v3_dot(side, side) > longest) {
            longest = cri_v3_dot(side, side);
            c->side = k;
        }
    }
}

/// The weights of a half, 0 or 1.
static void skin_half_of(const double w[3][3], const skin_cut *c, int which, double part[3][3]) {
    int a = c->side, b = (a + 1) % 3;
    memcpy(part, w, 3 * sizeof part[0]);
    for (int l = 0; l < 3; l++) {
        part[which == 0 ? b : a][l] = 0.5 * (w[a][l] + w[b][l]);
    }
}

static void add_start(skin_starts *all, const skin_start *one) {
    int at = all->n;
    for (int i = 0; i < all->n; i++) {
        double apart = cri_v3_norm(cri_v3_sub(all->of[i].centre, one->centre));
        at = at == all->n && apart < 2.0 * fmax(all->of[i].radius, one->radius) ? i : at;
    }
    if (at == STARTS) {
        // the highest makes room
        at = 0;
        for (int i = 1; i < STARTS; i++) {
            at = all->of[i].phi > all->of[at].phi ? i : at;
        }
    }
    if (at == all->n) {
        all->of[all->n++] = *one;
    } else if (one->phi < all->of[at].phi) {
        all->of[at] = *one;
    }
}

/// Adds the pieces of the piece w where a search may begin: such a triangle may have its lowest
/// point anywhere.
static void skin_starts_find(const skin_piece_rule *rule, const double w[3][3], int depth,
                             skin_starts *out) {
    skin_cut c;
    skin_cut_of(rule->V, w, &c);
    double phi = cri_field_phi(rule->field, c.centre);
    if (phi - rule->slope * c.radius >= rule->least) {
        return;
    }
    // a quarter of the distance is near enough to begin from
    if (c.radius <= rule->radius || c.radius <= 0.25 * phi || depth == PIECES_DEEP) {
        add_start(out, &(skin_start){phi, c.radius, {c.mid[0], c.mid[1], c.mid[2]}, c.centre});
        return;
    }
    for (int k = 0; k < 2; k++) {
        double part[3][3];
        skin_half_of(w, &c, k, part);
        skin_starts_find(rule, (const double(*)[3])part, depth + 1, out);
    }
}

// ---- many points at once ------------------------------------------------------------------------

// Triangles of one skin that may be low in the net of another, by many points at once.
//
// A ball (c, r) of the tree is left out when phi(c) - L r >= bound, L the slope, as one by one
// (below), but 32 balls are asked together, and those not at all that cannot be left out by the
// value at the ball above. Of the triangles that remain all corners v_k are asked together, with
// gradients; with the lowest corner l and the longest side a, a triangle is left out when
//
//   phi_l - L a/sqrt 3 >= bound          no point is farther from the nearest corner
//   phi_l - max_k (v_l - v_k).g_l >= bound        the gap of Frank-Wolfe (triangle_min.h), where
//                                                 the search itself would end
//
// the second for triangles alone that are not cut into pieces, each with its own search.

/// Is it a net? Those are quick for many points at once alone.
static bool field_is_slow(const cri_field *field) {
    bool is = false;
    for (int k = 0; k < field->n_node; k++) {
        const cri_field_node *node = &field->node[k];
        is = is || (node->kind == CRI_FIELD_CUSTOM && node->custom->many);
    }
    return is;
}

// the triangles of a ball, or the two in it
static int expand(const skin_below_rule *r, int at, double most, open_balls *open, int n_face,
                  int *face) {
    const cri_tri_node *node = &r->tree->node[at];
    for (int k = 0; k < node->n; k++) {
        face[n_face++] = r->tree->order[node->first + k];
    }
    const int child[2] = {node->right, at + 1};
    for (int k = 0; k < 2 && node->n == 0; k++) {
        cri_vec3 apart = cri_v3_sub(r->tree->node[child[k]].centre, node->centre);
        CR_ASSERT(open->n < OPEN);
        open->at[open->n] = child[k];
        open->most[open->n++] = most + r->slope * cri_v3_norm(apart);
    }
    return n_face;
}

// triangles of all balls that may be below the bound
static int find_faces_below(const skin_below_rule *r, int *face) {
    const cri_tri_node *node = r->tree->node;
    open_balls open;
    int n_face = 0;
    open.n = 1;
    open.at[0] = 0;
    open.most[0] = INFINITY;
    while (open.n > 0) {
        double x[3 * BALLS], phi[BALLS];
        int asked[BALLS], m = 0;
        while (open.n > 0 && m < BALLS) {
            int at = open.at[--open.n];
            double most = open.most[open.n];
            if (most - r->slope * node[at].radius < r->bound) {
                n_face = expand(r, at, most, &open, n_face, face);
                continue;
            }
            cri_v3_store(pose_out(r->place, node[at].centre), x + 3 * m);
            asked[m++] = at;
        }
        cri_field_phi_many(r->field, m, x, phi);
        for (int i = 0; i < m; i++) {
            if (phi[i] - r->slope * node[asked[i]].radius < r->bound) {
                n_face = expand(r, asked[i], phi[i], &open, n_face, face);
            }
        }
    }
    return n_face;
}

static bool push_corners(const skin_below_rule *r, int n_face, const int *face, cr_arena *scratch,
                         corners *c) {
    const cri_tri_tree *tree = r->tree;
    size_t n_vertex = (size_t)tree->mesh.n_vertex;
    c->n = 0;
    c->number = CR_PUSH_RAW(scratch, int, n_vertex);
    c->x = CR_PUSH_RAW(scratch, double, 7 * n_vertex);
    if (!c->number || !c->x) {
        return false;
    }
    memset(c->number, 0xff, sizeof *c->number * n_vertex);
    for (int i = 0; i < n_face; i++) {
        for (int k = 0; k < 3; k++) {
            int v = tree->mesh.face[3 * (size_t)face[i] + (size_t)k];
            if (c->number[v] < 0) {
                cri_vec3 V = cri_v3_load(tree->mesh.vertex + 3 * (size_t)v);
                cri_v3_store(pose_out(r->place, V), c->x + 3 * (size_t)c->n);
                c->number[v] = c->n++;
            }
        }
    }
    c->phi = c->x + 3 * n_vertex;
    c->g = c->phi + n_vertex;
    return true;
}

// may a triangle be below the bound? *low_phi gets its lowest corner's value
static bool may_be_below(const skin_below_rule *r, int face, const corners *c, double *low_phi) {
    cri_vec3 V[3];
    double phi[3], longest = 0.0, gain = 0.0;
    int at[3], low = 0;
    for (int k = 0; k < 3; k++) {
        at[k] = c->number[r->tree->mesh.face[3 * (size_t)face + (size_t)k]];
        V[k] = cri_v3_load(c->x + 3 * (size_t)at[k]);
        phi[k] = c->phi[at[k]];
        low = phi[k] < phi[low] ? k : low;
    }
    cri_vec3 g = cri_v3_load(c->g + 3 * (size_t)at[low]);
    for (int k = 0; k < 3; k++) {
        longest = cri_larger(longest, cri_v3_norm(cri_v3_sub(V[(k + 1) % 3], V[k])));
        gain = cri_larger(gain, cri_v3_dot(cri_v3_sub(V[low], V[k]), g));
    }
    *low_phi = phi[low];
    return phi[low] - r->slope * 0.578 * longest < r->bound &&
           (longest > r->large || phi[low] - gain < r->bound);
}

/// Triangles of the tree that may have a point with phi < bound: into *face, that with the lowest
/// corner first. Returns how many, -1 when scratch has no memory; the caller rewinds it. It needs
/// no more than cri_skins_scratch_bytes.
static int skin_below(const skin_below_rule *r, cr_arena *scratch, int **face) {
    corners c;
    double least = INFINITY;
    int n = 0, n_face;
    *face = CR_PUSH_RAW(scratch, int, r->tree->mesh.n_face);
    if (!*face) {
        return -1;
    }
    n_face = find_faces_below(r, *face);
    if (!push_corners(r, n_face, *face, scratch, &c)) {
        return -1;
    }
    cri_field_gradient_many(r->field, c.n, c.x, c.phi, c.g);
    for (int i = 0; i < n_face; i++) {
        double low_phi;
        int one = (*face)[i];
        if (may_be_below(r, one, &c, &low_phi)) {
            (*face)[n++] = one;
            if (low_phi < least) {
                (*face)[n - 1] = (*face)[0];
                (*face)[0] = one;
                least = low_phi;
            }
        }
    }
    return n;
}

// ---- outlines -----------------------------------------------------------------------------------

// Points are taken deepest first. One belongs to the first patch whose first normal is within 0.01
// radians of its own. In the plane across that normal the convex hull stays (Andrew's monotone
// chain), and the deepest point: what hull points can push, friction apart from spin about the
// normal, inner points push no better. That holds for points of one gap: where the margin is wide,
// a lower point within the outline of higher ones is the next to hit, and so the points nearest to
// the deepest one in gap have outlines of their own. What is still more than CRI_MAX_TOUCH is
// thinned out by cri_patch_reduce.

static bool is_before(const keys *k, int a, int b) {
    const double *x = k->key[a], *y = k->key[b];
    return x[0] != y[0] ? x[0] < y[0] : x[1] != y[1] ? x[1] < y[1] : a < b;
}

static void sift(const keys *k, int root, int n) {
    for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && is_before(k, k->order[child], k->order[child + 1])) {
            child++;
        }
        if (!is_before(k, k->order[root], k->order[child])) {
            return;
        }
        int other = k->order[root];
        k->order[root] = k->order[child];
        k->order[child] = other;
        root = child;
    }
}

// order (n) is a permutation; no heap call, which qsort may make
static void sort(const keys *k, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) {
        sift(k, i, n);
    }
    for (int i = n - 1; i > 0; i--) {
        int other = k->order[0];
        k->order[0] = k->order[i];
        k->order[i] = other;
        sift(k, 0, i);
    }
}

static double turn(const double *a, const double *b, const double *c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// hull (n + 1) of sorted points, counterclockwise; a point or two are hulls too
static int hull_of(const keys *k, int n, int *hull) {
    int m = 0;
    for (int pass = 0; pass < 2; pass++) {
        int start = m;
        for (int i = 0; i < n; i++) {
            int at = k->order[pass ? n - 1 - i : i];
            while (m >= start + 2 &&
                   turn(k->key[hull[m - 2]], k->key[hull[m - 1]], k->key[at]) <= 0.0) {
                m--;
            }
            hull[m++] = at;
        }
        // the last point begins the other chain
        m -= n > 1;
    }
    return n > 1 ? m : 1;
}

// Leaves points in order that lie strictly inside the quadrilateral of the extreme ones out: they
// are on no hull, and need not be sorted (Akl, Toussaint 1978). Returns how many stay.
static int drop_inner(const keys *k, int n) {
    const int *order = k->order;
    int end[4] = {order[0], order[0], order[0], order[0]}; // left, low, right, high
    for (int i = 1; i < n; i++) {
        const double *x = k->key[order[i]];
        end[0] = x[0] < k->key[end[0]][0] ? order[i] : end[0];
        end[1] = x[1] < k->key[end[1]][1] ? order[i] : end[1];
        end[2] = x[0] > k->key[end[2]][0] ? order[i] : end[2];
        end[3] = x[1] > k->key[end[3]][1] ? order[i] : end[3];
    }
    int n_left = 0;
    for (int i = 0; i < n; i++) {
        int at = order[i];
        bool is_inner = true;
        for (int e = 0; e < 4 && is_inner; e++) {
            is_inner = turn(k->key[end[e]], k->key[end[(e + 1) % 4]], k->key[at]) > 0.0;
        }
        k->order[n_left] = at;
        n_left += !is_inner;
    }
    return n_left;
}

static void project(const cri_narrow_touch *pool, patch_points *p) {
    cri_vec3 n = pool[p->member[0]].normal, o = pool[p->member[0]].point[0];
    cri_vec3 t = cri_v3_orthogonal(n), b = cri_v3_cross(n, t);
    for (int i = 0; i < p->n; i++) {
        cri_vec3 d = cri_v3_sub(pool[p->member[i]].point[0], o);
        p->plane.key[i][0] = cri_v3_dot(d, t);
        p->plane.key[i][1] = cri_v3_dot(d, b);
        p->plane.order[i] = i;
    }
}

// is there a deeper one in the patch beside it?
static bool is_beside(const cri_patch *patch, const cri_narrow_touch *t, double least) {
    for (int k = 0; k < patch->n; k++) {
        if (cri_v3_norm(cri_v3_sub(patch->touch[k].point[0], t->point[0])) <= least) {
            return true;
        }
    }
    return false;
}

// the outline of the first n members, into patch
static void add_outline(const cri_narrow_touch *pool, patch_points *p, int n, double least,
                        cri_patch *patch) {
    p->n = n;
    project(pool, p);
    n = drop_inner(&p->plane, n);
    sort(&p->plane, n);
    int n_hull = hull_of(&p->plane, n, p->hull);
    int room = CRI_MAX_POOL - patch->n, n_tried = n_hull < room ? n_hull : room;
    for (int k = 0; k < n_tried; k++) {
        const cri_narrow_touch *t = &pool[p->member[p->hull[(long long)k * n_hull / n_tried]]];
        if (!is_beside(patch, t, least)) {
            patch->touch[patch->n++] = *t;
        }
    }
}

// the deepest point and the outlines, at most CRI_MAX_TOUCH; members come deepest first
static int reduce_patch(const cri_narrow_touch *pool, patch_points *p, double margin, double scale,
                        cri_narrow_touch out[CRI_MAX_TOUCH]) {
    cri_patch patch = {.n = 0};
    int n = 0, n_all = p->n;
    double deepest = pool[p->member[0]].gap;
    for (int level = 0; level < LEVELS; level++) {
        int before = n;
        while (n < n_all && pool[p->member[n]].gap <= deepest + share[level] * margin) {
            n++;
        }
        n = level == LEVELS - 1 ? n_all : n;
        if (n > before) {
            add_outline(pool, p, n, same_place * scale, &patch);
        }
    }
    // of equals a point of the outline is the deepest: an inner one would take its place
    out[0] = pool[p->member[0]];
    for (int k = patch.n - 1; k >= 0; k--) {
        out[0] = patch.touch[k].gap <= deepest + same_gap * scale ? patch.touch[k] : out[0];
    }
    const cri_pair pair = {.scale = scale};
    return cri_patch_reduce(&pair, &patch, margin, 1, out);
}

static int drop_kinks(int n, cri_narrow_touch *pool) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (!(pool[i].cache.kind & CRI_SKIN_KINK)) {
            pool[kept++] = pool[i];
        }
    }
    return kept > 0 ? kept : n;
}

// the patch of a normal; n_patch when there is none
static int patch_of(int n_patch, const cri_vec3 *normal, cri_vec3 n) {
    for (int k = 0; k < n_patch; k++) {
        cri_vec3 apart = cri_v3_sub(n, normal[k]);
        if (cri_v3_dot(apart, apart) < same_angle * same_angle) {
            return k;
        }
    }
    return n_patch;
}

/// Of touches in scratch order: clusters by normal, outlines, at most n_most. Returns how many.
static int skin_reduce(int n, cri_narrow_touch *pool, double margin, double scale, int n_most,
                       cri_narrow_touch *touch, cr_arena *scratch) {
    n = drop_kinks(n, pool);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    keys depth = {.key = cri_arena_push_raw(scratch, sizeof *depth.key * (size_t)n),
                  .order = CR_PUSH_RAW(scratch, int, n)};
    patch_points p = {.member = CR_PUSH_RAW(scratch, int, n),
                      .hull = CR_PUSH_RAW(scratch, int, 2 * n + 2)};
    p.plane.key = cri_arena_push_raw(scratch, sizeof *p.plane.key * (size_t)n);
    p.plane.order = CR_PUSH_RAW(scratch, int, n);
    int *patch = CR_PUSH_RAW(scratch, int, n), n_patch = 0, n_out = 0;
    if (cri_arena_has_failed(scratch)) {
        cri_arena_rewind(scratch, mark);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        depth.key[i][0] = pool[i].gap;
        depth.key[i][1] = pool[i].id;
        depth.order[i] = i;
    }
    sort(&depth, n);
    cri_vec3 normal[PATCHES];
    for (int i = 0; i < n; i++) {
        int at = depth.order[i], k = patch_of(n_patch, normal, pool[at].normal);
        patch[at] = k < PATCHES ? k : -1;
        if (k == n_patch && k < PATCHES) {
            normal[n_patch++] = pool[at].normal;
        }
    }
    for (int k = 0; k < n_patch; k++) {
        p.n = 0;
        for (int i = 0; i < n; i++) {
            if (patch[depth.order[i]] == k) {
                p.member[p.n++] = depth.order[i];
            }
        }
        cri_narrow_touch out[CRI_MAX_TOUCH];
        int count = reduce_patch(pool, &p, margin, scale, out);
        for (int i = 0; i < count && n_out < n_most; i++) {
            touch[n_out++] = out[i];
        }
    }
    cri_arena_rewind(scratch, mark);
    return n_out;
}

// ---- triangles in reach ------------------------------------------------------------------------

static double phi_at(const search *s, cri_vec3 x) {
    return s->is_flat ? x.z : cri_field_phi(s->field, x);
}

// Where phi cannot be out of reach, by its value at a ball above and the slope, it is not looked
// up: on a face that lies on another that is every other level of the tree.
static void find_faces(search *s) {
    reach_node stack[CRI_TRI_DEPTH];
    int n = 1;
    stack[0] = (reach_node){0, INFINITY};
    while (n > 0) {
        reach_node top = stack[--n];
        const cri_tri_node *node = &s->tree->node[top.at];
        double limit = s->slope * (node->radius + s->margin);
        if (!(top.most <= limit)) {
            top.most = phi_at(s, pose_out(&s->place, node->centre));
        }
        if (top.most > limit) {
            continue;
        }
        for (int i = 0; i < node->n; i++) {
            s->face[s->n_face++] = s->tree->order[node->first + i];
        }
        if (node->n == 0) {
            const int child[2] = {node->right, top.at + 1};
            CR_ASSERT(n + 2 <= CRI_TRI_DEPTH);
            for (int k = 0; k < 2; k++) {
                cri_vec3 apart = cri_v3_sub(s->tree->node[child[k]].centre, node->centre);
                stack[n++] = (reach_node){child[k], top.most + s->slope * cri_v3_norm(apart)};
            }
        }
    }
}

static seen *see(search *s, int vertex) {
    int *number = &s->number[vertex];
    if (*number < 0) {
        *number = s->n_seen++;
        seen *c = &s->seen[*number];
        c->is_taken = false;
        c->V = pose_out(&s->place, cri_v3_load(s->tree->mesh.vertex + 3 * (size_t)vertex));
        cri_field_eval(s->field, c->V, CRI_FIELD_HESSIAN, &c->v);
    }
    return &s->seen[*number];
}

// ---- touches -----------------------------------------------------------------------------------

// Whether the inside of a triangle meets a sharp edge or corner of the other's field: its gradient
// there is any of several, and turns with a radius that is the distance. The other's own mesh has
// that edge, and meets the triangle from its side. Sides of the mesh of a smooth field are as much
// its inside: they would count from where the lowest point leaves a triangle, all at once.
static bool is_edge(const search *s, const cri_triangle_min *m) {
    int active[3] = {0}, least = s->skin[s->owner].is_round ? 2 : 3;
    if (cri_triangle_active(m->weight, active) < least || !s->skin[1 - s->owner].tree ||
        !(m->v.phi < 0.01 * s->reach)) {
        return false;
    }
    return m->is_settled ? bend_of(m->v.H) * m->v.phi > 0.9 : s->is_sharp;
}

// whether the owner's field is flatter there and has nearly the opposite normal
static bool is_own_flatter(const search *s, const skin_spot *spot, const cri_field_value *v) {
    double mine = bend_of(v->H);
    if (!(mine * s->scale > 1e-9)) {
        return false;
    }
    cri_field_value w;
    cri_field_eval(s->skin[s->owner].field, spot->x, CRI_FIELD_HESSIAN, &w);
    cri_vec3 a = cri_m3_mul(&s->place.R, w.g);
    return bend_of(w.H) < mine &&
           -cri_v3_dot(a, v->g) > opposite * cri_v3_norm(a) * cri_v3_norm(v->g);
}

// a number for a corner, a side or the inside of a triangle, the same from both its triangles
static int id_of(const search *s, int face, const double weight[3], int extra) {
    int active[3] = {0}, n = cri_triangle_active(weight, active);
    const int *v = s->tree->mesh.face + 3 * (size_t)face;
    uint64_t key = (uint64_t)face;
    if (n == 1) {
        key = (uint64_t)v[active[0]];
    } else if (n == 2) {
        uint64_t a = (uint64_t)v[active[0]], b = (uint64_t)v[active[1]];
        key = a < b ? a << 32 | b : b << 32 | a;
    }
    key = key * 8 + (uint64_t)(2 * n + s->owner) + (uint64_t)extra * 0x9e3779b97f4a7c15u;
    key ^= key >> 31;
    key *= 0xbf58476d1ce4e5b9u;
    return (int)(key >> 33 & 0x7fffffff);
}

static cri_narrow_touch touch_of(const search *s, int face, const cri_triangle_min *m, int extra) {
    int active[3] = {0}, n = cri_triangle_active(m->weight, active);
    double B[3];
    skin_spot spot = skin_spot_of(s->skin, s->pose, s->owner, face, m->weight);
    cri_narrow_touch t = {.cache = {.kind = s->owner ? CRI_SKIN_OWNER : 0, .feature = {face, 0}}};
    bool is_flat = n > 1 && !cri_triangle_bend(spot.V, n, active, m->v.H, B);
    bool own = !m->is_settled || is_own_flatter(s, &spot, &m->v);
    t.cache.kind |= (is_flat ? CRI_SKIN_FLAT : 0) | (own ? CRI_SKIN_OWN : 0) |
                    (m->is_settled ? 0 : CRI_SKIN_KINK);
    memcpy(t.cache.u, m->weight, sizeof m->weight);
    t.id = id_of(s, face, m->weight, is_flat ? extra : 0);
    skin_touch_fill(s->skin, s->pose, &spot, own, &m->v, &t);
    return t;
}

static void add_touch(search *s, int face, const cri_triangle_min *m, int extra) {
    double slope = cri_v3_norm(m->v.g);
    if (!(m->v.phi <= s->margin * slope) || is_edge(s, m)) {
        return;
    }
    // a full pool goes on with its outlines
    if (s->n_pool == POOL) {
        s->n_pool = skin_reduce(POOL, s->pool, s->margin, s->scale, KEPT, s->kept, s->scratch);
        memcpy(s->pool, s->kept, sizeof *s->kept * (size_t)s->n_pool);
    }
    s->pool[s->n_pool++] = touch_of(s, face, m, extra);
}

// a side's lowest point is found from both its triangles, and a large one's from several pieces
static bool is_found(const search *s, int first, const skin_spot *spot) {
    for (int k = first; k < s->n_pool; k++) {
        cri_vec3 apart = cri_v3_sub(s->pool[k].point[s->owner], spot->p);
        if (cri_v3_dot(apart, apart) <= same_spot * same_spot * s->scale * s->scale) {
            return true;
        }
    }
    return false;
}

// the lowest point near start, if it is below bound
static void search_from(search *s, triangle *t, const double start[3], double bound) {
    cri_triangle_min m;
    if (!cri_triangle_min_below(s->field, t->V, start, bound, &m)) {
        return;
    }
    s->deepest = cri_smaller(s->deepest, m.v.phi);
    skin_spot spot = skin_spot_of(s->skin, s->pose, s->owner, t->face, m.weight);
    int active[3] = {0}, n = cri_triangle_active(m.weight, active);
    // corners are touches already
    if (n > 1 && !is_found(s, n == 2 ? 0 : t->first, &spot)) {
        add_touch(s, t->face, &m, ++t->n_piece);
    }
}

// corners of a piece as weights w
static void search_pieces(search *s, triangle *t, const double w[3][3], int depth) {
    skin_cut c;
    skin_cut_of(t->V, w, &c);
    if (cri_field_phi(s->field, c.centre) > s->slope * (c.radius + s->margin)) {
        return;
    }
    if (c.radius <= piece * s->reach || depth == PIECES_DEEP) {
        search_from(s, t, c.mid, s->margin * s->slope);
        return;
    }
    for (int k = 0; k < 2; k++) {
        double part[3][3];
        skin_half_of(w, &c, k, part);
        search_pieces(s, t, (const double(*)[3])part, depth + 1);
    }
}

// corners of a triangle; each is a touch once
static void take_corners(search *s, int face) {
    for (int k = 0; k < 3; k++) {
        seen *c = see(s, s->tree->mesh.face[3 * (size_t)face + (size_t)k]);
        if (!c->is_taken) {
            cri_triangle_min m = {.x = c->V, .v = c->v, .is_settled = true};
            memcpy(m.weight, whole[k], sizeof m.weight);
            c->is_taken = true;
            s->deepest = cri_smaller(s->deepest, c->v.phi);
            add_touch(s, face, &m, 0);
        }
    }
}

// below which value a point within a triangle matters whose lowest corner has phi: it is the only
// one within the margin, lower than the corner by its share, or deeper than all
static double bound_of(const search *s, double phi) {
    double margin = s->margin * s->slope;
    return phi > margin ? margin : cri_larger(phi - worth * margin, s->deepest);
}

static void search_triangle(search *s, int face) {
    triangle t = {.face = face, .first = s->n_pool};
    const seen *c[3];
    int low = 0;
    double longest = 0.0, gain = 0.0;
    for (int k = 0; k < 3; k++) {
        c[k] = see(s, s->tree->mesh.face[3 * (size_t)face + (size_t)k]);
        t.V[k] = c[k]->V;
        low = c[k]->v.phi < c[low]->v.phi ? k : low;
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 side = cri_v3_sub(t.V[(k + 1) % 3], t.V[k]);
        longest = cri_larger(longest, cri_v3_dot(side, side));
        gain = cri_larger(gain, cri_v3_dot(cri_v3_sub(t.V[low], t.V[k]), c[low]->v.g));
    }
    longest = sqrt(longest);
    // no point is farther from the nearest corner than the longest side over sqrt 3
    if (c[low]->v.phi > s->slope * (longest * 0.578 + s->margin)) {
        return;
    }
    if (longest > large * s->reach) {
        search_pieces(s, &t, whole, 0);
        return;
    }
    double bound = bound_of(s, c[low]->v.phi);
    if (c[low]->v.phi - gain < bound && gain > cri_triangle_min_tolerance(t.V)) {
        search_from(s, &t, whole[low], bound);
    }
}

// ---- both ways ---------------------------------------------------------------------------------

static bool search_way(search *s, cr_arena *scratch) {
    int n_vertex = s->tree->mesh.n_vertex;
    s->n_face = s->n_seen = 0;
    s->face = CR_PUSH_RAW(scratch, int, s->tree->mesh.n_face);
    s->number = CR_PUSH_RAW(scratch, int, n_vertex);
    if (cri_arena_has_failed(scratch)) {
        return false;
    }
    find_faces(s);
    int n_corner = s->n_face < n_vertex / 3 ? 3 * s->n_face : n_vertex;
    s->seen = CR_PUSH_RAW(scratch, seen, n_corner + 1);
    if (!s->seen) {
        return false;
    }
    memset(s->number, 0xff, sizeof *s->number * (size_t)n_vertex);
    s->deepest = INFINITY;
    for (int i = 0; i < s->n_face; i++) {
        take_corners(s, s->face[i]);
    }
    for (int i = 0; i < s->n_face && !s->is_flat; i++) {
        search_triangle(s, s->face[i]);
    }
    return true;
}

// of the ball around a mesh
static double radius_of(const cri_skin *skin) {
    return skin->tree ? skin->tree->node[0].radius : INFINITY;
}

static void begin(search *s, const cri_skin skin[2], const cri_pose pose[2]) {
    CR_ASSERT(skin[0].tree || skin[1].tree);
    double radius[2] = {radius_of(&skin[0]), radius_of(&skin[1])};
    double larger = fmax(radius[0], radius[1]);
    s->skin = skin;
    s->pose = pose;
    s->scale = isfinite(larger) ? larger : fmin(radius[0], radius[1]);
}

static void begin_way(search *s, int owner) {
    s->owner = owner;
    s->tree = s->skin[owner].tree;
    s->field = s->skin[1 - owner].field;
    s->is_flat = !s->skin[1 - owner].tree;
    s->slope = cri_field_lipschitz(s->field);
    s->is_sharp = true;
    for (int k = 0; k < s->field->n_node; k++) {
        cri_field_kind kind = s->field->node[k].kind;
        s->is_sharp = s->is_sharp && kind != CRI_FIELD_GRID && kind != CRI_FIELD_CUSTOM;
    }
    s->reach = radius_of(&s->skin[1 - owner]);
    s->place = pose_between(&s->pose[owner], &s->pose[1 - owner]);
}

// all touches within the margin, in the pool; false for lack of memory
static bool collect(search *s, const cri_skin skin[2], const cri_pose pose[2]) {
    begin(s, skin, pose);
    s->pool = CR_PUSH_RAW(s->scratch, cri_narrow_touch, POOL);
    s->kept = CR_PUSH_RAW(s->scratch, cri_narrow_touch, KEPT);
    bool is_good = s->pool && s->kept;
    for (int o = 0; o < 2 && is_good; o++) {
        if (skin[o].tree) {
            begin_way(s, o);
            is_good = search_way(s, s->scratch);
        }
    }
    return is_good;
}

int cri_skins_collide(const cri_skin skin[2], const cri_pose pose[2], double margin, int n_most,
                      cri_narrow_touch *touch, cr_arena *scratch) {
    CR_ASSERT(margin >= 0.0 && n_most > 0 && touch && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    search s = {.margin = margin, .scratch = scratch};
    int n = 0;
    if (collect(&s, skin, pose) && s.n_pool > 0) {
        n = skin_reduce(s.n_pool, s.pool, margin, s.scale, n_most, touch, scratch);
        n = skin_plane_polish(skin, pose, n, touch);
    }
    cri_arena_rewind(scratch, mark);
    return n;
}

bool cri_skins_next(const cri_skin skin[2], const cri_pose pose[2], double margin,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch,
                    cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    search s = {.margin = margin, .scratch = scratch};
    touch->gap = INFINITY;
    if (collect(&s, skin, pose)) {
        for (int k = 0; k < s.n_pool; k++) {
            if (s.pool[k].gap < touch->gap && filter(context, &s.pool[k])) {
                *touch = s.pool[k];
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return isfinite(touch->gap);
}

size_t cri_skins_scratch_bytes(const cri_triangles *mesh) {
    // the pool and what its reduction needs, with 64 bytes more for a push
    size_t pool = sizeof(cri_narrow_touch) * (POOL + KEPT) + 128 * (size_t)POOL;
    size_t way = sizeof(int) * ((size_t)mesh->n_face + (size_t)mesh->n_vertex) +
                 sizeof(seen) * ((size_t)mesh->n_vertex + 1);
    return pool + 2 * way + 64 * 20;
}

// ---- the lowest point --------------------------------------------------------------------------

static void lower_from(search *s, triangle *t, const double start[3], lowest *best) {
    cri_triangle_min m;
    cri_triangle_min_find(s->field, t->V, start, &m);
    if (m.v.phi < best->phi && !is_edge(s, &m)) {
        *best = (lowest){m.v.phi, t->face, m};
    }
}

static void lower_pieces(search *s, triangle *t, lowest *best) {
    skin_starts all = {.n = 0};
    const skin_piece_rule rule = {s->field, t->V, s->slope, piece * s->reach, best->phi};
    skin_starts_find(&rule, whole, 0, &all);
    for (int i = 0; i < all.n; i++) {
        if (all.of[i].phi - s->slope * all.of[i].radius < best->phi) {
            lower_from(s, t, all.of[i].mid, best);
        }
    }
}

static void lower_triangle(search *s, int face, lowest *best) {
    triangle t = {.face = face};
    double phi[3], longest = 0.0;
    int low = 0;
    for (int k = 0; k < 3; k++) {
        t.V[k] = pose_out(&s->place, cri_triangle_corner(&s->tree->mesh, face, k));
        phi[k] = phi_at(s, t.V[k]);
        low = phi[k] < phi[low] ? k : low;
    }
    for (int k = 0; k < 3; k++) {
        longest = cri_larger(longest, cri_v3_norm(cri_v3_sub(t.V[(k + 1) % 3], t.V[k])));
    }
    if (s->is_flat && phi[low] < best->phi) {
        *best = (lowest){phi[low], face, {.x = t.V[low], .is_settled = true}};
        memcpy(best->min.weight, whole[low], sizeof whole[low]);
        cri_field_eval(s->field, t.V[low], CRI_FIELD_HESSIAN, &best->min.v);
    }
    if (s->is_flat || phi[low] - s->slope * 0.578 * longest >= best->phi) {
        return;
    }
    lower_from(s, &t, whole[low], best);
    if (longest > large * s->reach) {
        lower_pieces(s, &t, best);
    }
}

static open_node open_at(const search *s, int at) {
    const cri_tri_node *node = &s->tree->node[at];
    double phi = phi_at(s, pose_out(&s->place, node->centre));
    return (open_node){at, phi - s->slope * node->radius};
}

// of a net: the triangles that may be below, by many points at once
static bool lower_many(search *s, lowest *best) {
    cri_arena_mark mark = cri_arena_get_mark(s->scratch);
    const skin_below_rule rule = {s->field, s->tree,   &s->place,
                                  s->slope, best->phi, large * s->reach};
    int *face, n = skin_below(&rule, s->scratch, &face);
    for (int i = 0; i < n; i++) {
        lower_triangle(s, face[i], best);
    }
    cri_arena_rewind(s->scratch, mark);
    return n >= 0;
}

static void lower_way(search *s, lowest *best) {
    open_node stack[CRI_TRI_DEPTH];
    int n = 1;
    stack[0] = open_at(s, 0);
    while (n > 0) {
        open_node top = stack[--n];
        const cri_tri_node *node = &s->tree->node[top.at];
        if (top.least >= best->phi) {
            continue;
        }
        for (int i = 0; i < node->n; i++) {
            lower_triangle(s, s->tree->order[node->first + i], best);
        }
        if (node->n == 0) {
            // the lower child first
            open_node a = open_at(s, top.at + 1), b = open_at(s, node->right);
            CR_ASSERT(n + 2 <= CRI_TRI_DEPTH);
            stack[n++] = a.least < b.least ? b : a;
            stack[n++] = a.least < b.least ? a : b;
        }
    }
}

// the ball around one mesh is well away from the other, convex skin
static bool is_far(search *s, cri_narrow_touch *touch) {
    for (int o = 0; o < 2; o++) {
        const cri_skin *own = &s->skin[o], *other = &s->skin[1 - o];
        if (!own->tree || !other->is_convex) {
            continue;
        }
        begin_way(s, o);
        const cri_tri_node *ball = &own->tree->node[0];
        cri_vec3 c = pose_out(&s->place, ball->centre);
        double phi = phi_at(s, c), away = 0.2 * ball->radius; // so far an estimate is good enough
        if (phi <= ball->radius + away) {
            continue;
        }
        cri_field_value v;
        cri_field_eval(s->field, c, CRI_FIELD_GRADIENT, &v);
        cri_vec3 n = cri_m3_mul(&s->pose[1 - o].R, v.g); // from the other to the owner
        cri_vec3 centre = pose_out(&s->pose[o], ball->centre);
        *touch = (cri_narrow_touch){.gap = phi - ball->radius};
        touch->normal = cri_v3_scale(o ? 1.0 : -1.0, n);
        touch->point[o] = cri_v3_mad(centre, -ball->radius, n);
        touch->point[1 - o] = cri_v3_mad(centre, -phi, n);
        return true;
    }
    return false;
}

void cri_skins_distance(const cri_skin skin[2], const cri_pose pose[2], cri_narrow_touch *touch,
                        cr_arena *scratch) {
    CR_ASSERT(touch && scratch);
    search s = {.margin = INFINITY, .scratch = scratch};
    begin(&s, skin, pose);
    if (is_far(&s, touch)) {
        return;
    }
    *touch = (cri_narrow_touch){.gap = INFINITY};
    // a net is asked last: what the other found leaves little of it
    int first = field_is_slow(skin[1].field) && !field_is_slow(skin[0].field);
    for (int k = 0; k < 2; k++) {
        int o = k == 0 ? first : 1 - first;
        if (!skin[o].tree) {
            continue;
        }
        begin_way(&s, o);
        // what the other way found need not be beaten by more than the slope allows
        lowest best = {.phi = touch->gap > 0.0 ? s.slope * touch->gap : 0.0, .face = -1};
        bool is_many = isfinite(best.phi) && field_is_slow(s.field);
        if (!is_many || !lower_many(&s, &best)) {
            lower_way(&s, &best);
        }
        if (best.face >= 0) {
            cri_narrow_touch t = touch_of(&s, best.face, &best.min, 0);
            *touch = t.gap < touch->gap ? t : *touch;
        }
    }
    skin_plane_polish(skin, pose, 1, touch);
}

// ---- derivatives --------------------------------------------------------------------------------

// Notation: o the owner, j the other; corners v_l of the triangle in o, P_l = x_o + R_o v_l in the
// world, V_l = R_j'(P_l - x_j) in j; p = sum w_l P_l, y its place in j; phi, g, H there;
// gap = phi/|g|, dir the unit vector from o to j: -R_j g/|g|, or R_o g_o/|g_o| of the owner's
// field.
//
// The weights of the active corners (E their sides from the first, in j) hold E g = 0:
//
//   dp = sum w dP + E' z,  (E H E') z = -(dE g + E (H dy + X dtheta)),  dy with the weights held
//
// and with seed b on p in j:  (E H E') mu = E b,  q = E' mu: the field gets the seed -q on g, V_l
// gets w_l (-H q) and, but for the first one, -mu_k g; the first one gets the sum of mu_k g.

bool cri_skin_touch_again(const cri_skin skin[2], const cri_pose pose[2], cri_narrow_touch *touch) {
    const cri_touch_cache *cache = &touch->cache;
    int o = cache->kind & CRI_SKIN_OWNER ? 1 : 0;
    if (!skin[o].tree) {
        return skin_plane_find(skin, pose, o, cache->u[0], cache->u[1], touch);
    }
    skin_spot spot = skin_spot_of(skin, pose, o, cache->feature[0], cache->u);
    cri_triangle_min min = {.is_settled = true};
    memcpy(min.weight, cache->u, sizeof min.weight);
    int before[3] = {0}, after[3] = {0}, n_before = cri_triangle_active(cache->u, before);
    // a corner need not be the lowest point of its triangle
    if (n_before == 1 || cache->kind & (CRI_SKIN_FLAT | CRI_SKIN_KINK)) {
        cri_field_eval(skin[1 - o].field, spot.y, CRI_FIELD_HESSIAN, &min.v);
    } else {
        cri_triangle_min_find(skin[1 - o].field, spot.V, cache->u, &min);
        spot = skin_spot_of(skin, pose, o, cache->feature[0], min.weight);
    }
    bool is_same = min.is_settled && n_before == cri_triangle_active(min.weight, after) &&
                   memcmp(before, after, sizeof before) == 0;
    skin_touch_fill(skin, pose, &spot, cache->kind & CRI_SKIN_OWN, &min.v, touch);
    memcpy(touch->cache.u, min.weight, sizeof min.weight);
    return is_same;
}

cri_vec3 cri_skin_gap_direction(const cri_skin skin[2], const cri_pose pose[2],
                                const cri_narrow_touch *touch) {
    const cri_touch_cache *cache = &touch->cache;
    int o = cache->kind & CRI_SKIN_OWNER ? 1 : 0;
    if (!(cache->kind & CRI_SKIN_OWN)) {
        return touch->normal;
    }
    skin_spot spot = skin_spot_of(skin, pose, o, cache->feature[0], cache->u);
    cri_field_value v;
    cri_field_eval(skin[1 - o].field, spot.y, CRI_FIELD_GRADIENT, &v);
    cri_vec3 dir = cri_m3_mul(&pose[1 - o].R, unit(v.g));
    return o ? dir : cri_v3_scale(-1.0, dir);
}

static bool find_bend(const skin_spot *spot, int kind, const double H[6], bend_matrix *b) {
    b->n = cri_triangle_active(spot->weight, b->active);
    if (b->n < 2 || kind & (CRI_SKIN_FLAT | CRI_SKIN_KINK)) {
        return false;
    }
    for (int k = 1; k < b->n; k++) {
        b->E[k - 1] = cri_v3_sub(spot->V[b->active[k]], spot->V[b->active[0]]);
    }
    // what was curved when the touch was found
    cri_triangle_bend(spot->V, b->n, b->active, H, b->B);
    return true;
}

// ---- adjoint -----------------------------------------------------------------------------------

// u = g/|g|: adjoint of g for that of u
static cri_vec3 unit_adjoint(cri_vec3 g, cri_vec3 u_adj) {
    double length = cri_v3_norm(g);
    cri_vec3 u = unit(g);
    return length > 0.0 ? cri_v3_scale(1.0 / length, cri_v3_mad(u_adj, -cri_v3_dot(u, u_adj), u))
                        : cri_v3(0.0, 0.0, 0.0);
}

// z = R'(p - x): z_adj to p (returned), x and R
static cri_vec3 into_adjoint(const cri_pose *pose, cri_vec3 z, cri_vec3 z_adj, cri_skin_diff *adj) {
    cri_vec3 out = cri_m3_mul(&pose->R, z_adj);
    adj->pos = cri_v3_sub(adj->pos, out);
    adj->rot = cri_v3_add(adj->rot, cri_v3_cross(z_adj, z));
    return out;
}

// gap and dir at the point, to p and to the fields
static void spot_adjoint(reverse *r, const cri_field_value *v, bool own, double gap_adj,
                         cri_vec3 dir_adj) {
    const skin_spot *s = r->spot;
    int o = s->owner, j = 1 - o;
    double slope = cri_v3_norm(v->g), inverse = slope > 0.0 ? 1.0 / slope : 1.0;
    // gap = phi/|g|
    double phi_adj = gap_adj * inverse;
    cri_vec3 g_adj = cri_v3(0.0, 0.0, 0.0);
    if (slope > 0.0) {
        g_adj = cri_v3_scale(-gap_adj * v->phi * inverse * inverse * inverse, v->g);
    }
    if (!own) {
        // dir = -R_j g/|g|
        cri_vec3 u_adj = cri_v3_scale(-1.0, cri_m3_tmul(&r->pose[j].R, dir_adj));
        r->other->rot = cri_v3_add(r->other->rot, cri_v3_cross(unit(v->g), u_adj));
        g_adj = cri_v3_add(g_adj, unit_adjoint(v->g, u_adj));
    } else {
        // dir = R_o g_o/|g_o|
        cri_field_value mine;
        cri_field_eval(r->skin[o].field, s->x, CRI_FIELD_GRADIENT, &mine);
        cri_vec3 u_adj = cri_m3_tmul(&r->pose[o].R, dir_adj), x_adj = cri_v3(0.0, 0.0, 0.0);
        r->own->rot = cri_v3_add(r->own->rot, cri_v3_cross(unit(mine.g), u_adj));
        cri_field_vjp(r->skin[o].field, s->x, 0.0, unit_adjoint(mine.g, u_adj), &x_adj,
                      r->own->param);
        r->p = cri_v3_add(r->p, into_adjoint(&r->pose[o], s->x, x_adj, r->own));
    }
    cri_vec3 y_adj = cri_v3(0.0, 0.0, 0.0);
    cri_field_vjp(r->skin[j].field, s->y, phi_adj, g_adj, &y_adj, r->other->param);
    r->p = cri_v3_add(r->p, into_adjoint(&r->pose[j], s->y, y_adj, r->other));
}

// the weights follow what moves the lowest point
static void weights_adjoint(reverse *r, const cri_field_value *v, const bend_matrix *b) {
    const skin_spot *s = r->spot;
    const cri_pose *pose = &r->pose[1 - s->owner];
    cri_vec3 seed = cri_m3_tmul(&pose->R, r->p), q = cri_v3(0.0, 0.0, 0.0), V_adj[3] = {{0}};
    double rhs[2] = {0.0, 0.0}, mu[2];
    for (int k = 1; k < b->n; k++) {
        rhs[k - 1] = cri_v3_dot(b->E[k - 1], seed);
    }
    cri_triangle_bend_solve(b->n, b->B, rhs, mu);
    for (int k = 1; k < b->n; k++) {
        q = cri_v3_mad(q, mu[k - 1], b->E[k - 1]);
        V_adj[b->active[k]] = cri_v3_mad(V_adj[b->active[k]], -mu[k - 1], v->g);
        V_adj[b->active[0]] = cri_v3_mad(V_adj[b->active[0]], mu[k - 1], v->g);
    }
    cri_vec3 y_adj = cri_v3(0.0, 0.0, 0.0);
    cri_field_vjp(r->skin[1 - s->owner].field, s->y, 0.0, cri_v3_scale(-1.0, q), &y_adj,
                  r->other->param);
    for (int l = 0; l < 3; l++) {
        V_adj[l] = cri_v3_mad(V_adj[l], s->weight[l], y_adj);
        r->P[l] = cri_v3_add(r->P[l], into_adjoint(pose, s->V[l], V_adj[l], r->other));
    }
}

void cri_skin_touch_vjp(const cri_skin skin[2], const cri_pose pose[2],
                        const cri_narrow_touch *touch, const cri_touch_diff *touch_adj,
                        cri_skin_diff adj[2]) {
    int kind = touch->cache.kind, o = kind & CRI_SKIN_OWNER ? 1 : 0, j = 1 - o;
    skin_spot spot = skin_spot_of(skin, pose, o, touch->cache.feature[0], touch->cache.u);
    reverse r = {.skin = skin, .pose = pose, .spot = &spot, .own = &adj[o], .other = &adj[j]};
    cri_field_value v;
    cri_field_eval(skin[j].field, spot.y, CRI_FIELD_HESSIAN, &v);
    double sign = o ? -1.0 : 1.0;
    cri_vec3 dir = cri_v3_scale(sign, touch->normal), far_adj = touch_adj->point[j];
    // point_j = p + gap dir, normal = +-dir
    cri_vec3 dir_adj = cri_v3_mad(cri_v3_scale(sign, touch_adj->normal), touch->gap, far_adj);
    double gap_adj = touch_adj->gap + cri_v3_dot(dir, far_adj);
    r.p = cri_v3_add(touch_adj->point[o], far_adj);
    spot_adjoint(&r, &v, kind & CRI_SKIN_OWN, gap_adj, dir_adj);
    bend_matrix b;
    if (find_bend(&spot, kind, v.H, &b)) {
        weights_adjoint(&r, &v, &b);
    }
    // P_l = x_o + R_o v_l
    for (int l = 0; l < 3; l++) {
        cri_vec3 P_adj = cri_v3_mad(r.P[l], spot.weight[l], r.p);
        cri_vec3 v_adj = cri_m3_tmul(&pose[o].R, P_adj);
        adj[o].pos = cri_v3_add(adj[o].pos, P_adj);
        adj[o].rot = cri_v3_add(adj[o].rot, cri_v3_cross(spot.v[l], v_adj));
        if (adj[o].corner) {
            adj[o].corner[l] = cri_v3_add(adj[o].corner[l], v_adj);
        }
    }
}

// ---- tangent -----------------------------------------------------------------------------------

// z = R'(p - x)
static cri_vec3 into_tangent(const cri_pose *pose, cri_vec3 z, cri_vec3 p_tan,
                             const cri_skin_diff *tan) {
    cri_vec3 moved = cri_m3_tmul(&pose->R, cri_v3_sub(p_tan, tan->pos));
    return cri_v3_sub(moved, cri_v3_cross(tan->rot, z));
}

static cri_vec3 weights_tangent(const cri_skin *other, const skin_spot *s, const cri_field_value *v,
                                const bend_matrix *b, const cri_vec3 V_tan[3],
                                const double *param_tan) {
    cri_vec3 y_tan = cri_v3(0.0, 0.0, 0.0), g_tan, moved = cri_v3(0.0, 0.0, 0.0);
    double phi_tan, rhs[2] = {0.0, 0.0}, z[2];
    for (int l = 0; l < 3; l++) {
        y_tan = cri_v3_mad(y_tan, s->weight[l], V_tan[l]);
    }
    cri_field_jvp(other->field, s->y, y_tan, param_tan, &phi_tan, &g_tan);
    for (int k = 1; k < b->n; k++) {
        cri_vec3 E_tan = cri_v3_sub(V_tan[b->active[k]], V_tan[b->active[0]]);
        rhs[k - 1] = -cri_v3_dot(E_tan, v->g) - cri_v3_dot(b->E[k - 1], g_tan);
    }
    cri_triangle_bend_solve(b->n, b->B, rhs, z);
    for (int k = 1; k < b->n; k++) {
        cri_vec3 side = cri_v3_sub(s->P[b->active[k]], s->P[b->active[0]]);
        moved = cri_v3_mad(moved, z[k - 1], side);
    }
    return moved;
}

cri_touch_diff cri_skin_touch_jvp(const cri_skin skin[2], const cri_pose pose[2],
                                  const cri_narrow_touch *touch, const cri_skin_diff tan[2]) {
    int kind = touch->cache.kind, o = kind & CRI_SKIN_OWNER ? 1 : 0, j = 1 - o;
    skin_spot s = skin_spot_of(skin, pose, o, touch->cache.feature[0], touch->cache.u);
    cri_field_value v;
    cri_field_eval(skin[j].field, s.y, CRI_FIELD_HESSIAN, &v);
    cri_vec3 V_tan[3], p_tan = cri_v3(0.0, 0.0, 0.0), g_tan, dir_tan;
    for (int l = 0; l < 3; l++) {
        cri_vec3 v_tan = cri_v3_cross(tan[o].rot, s.v[l]);
        if (tan[o].corner) {
            v_tan = cri_v3_add(v_tan, tan[o].corner[l]);
        }
        cri_vec3 P_tan = cri_v3_add(tan[o].pos, cri_m3_mul(&pose[o].R, v_tan));
        V_tan[l] = into_tangent(&pose[j], s.V[l], P_tan, &tan[j]);
        p_tan = cri_v3_mad(p_tan, s.weight[l], P_tan);
    }
    bend_matrix b;
    if (find_bend(&s, kind, v.H, &b)) {
        p_tan = cri_v3_add(p_tan, weights_tangent(&skin[j], &s, &v, &b, V_tan, tan[j].param));
    }
    double slope = cri_v3_norm(v.g), inverse = slope > 0.0 ? 1.0 / slope : 1.0, phi_tan;
    cri_vec3 y_tan = into_tangent(&pose[j], s.y, p_tan, &tan[j]);
    cri_field_jvp(skin[j].field, s.y, y_tan, tan[j].param, &phi_tan, &g_tan);
    double stretch = slope > 0.0 ? cri_v3_dot(v.g, g_tan) * inverse * inverse : 0.0;
    double gap_tan = inverse * (phi_tan - v.phi * stretch);
    if (kind & CRI_SKIN_OWN) {
        cri_field_value mine;
        cri_field_eval(skin[o].field, s.x, CRI_FIELD_GRADIENT, &mine);
        cri_vec3 x_tan = into_tangent(&pose[o], s.x, p_tan, &tan[o]), u = unit(mine.g);
        cri_field_jvp(skin[o].field, s.x, x_tan, tan[o].param, &phi_tan, &g_tan);
        // the derivative of g/|g| is symmetric
        dir_tan = cri_v3_add(unit_adjoint(mine.g, g_tan), cri_v3_cross(tan[o].rot, u));
        dir_tan = cri_m3_mul(&pose[o].R, dir_tan);
    } else {
        dir_tan = cri_v3_add(unit_adjoint(v.g, g_tan), cri_v3_cross(tan[j].rot, unit(v.g)));
        dir_tan = cri_v3_scale(-1.0, cri_m3_mul(&pose[j].R, dir_tan));
    }
    double sign = o ? -1.0 : 1.0;
    cri_touch_diff out = {.gap = gap_tan, .normal = cri_v3_scale(sign, dir_tan)};
    cri_vec3 dir = cri_v3_scale(sign, touch->normal);
    out.point[o] = p_tan;
    out.point[j] = cri_v3_mad(cri_v3_mad(p_tan, gap_tan, dir), touch->gap, dir_tan);
    return out;
}
