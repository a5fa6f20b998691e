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

#include "geometry/field/skin_parts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { POOL = 4096, KEPT = 256 };

static const double large = 0.5;   // longest side over the other's radius from which on it is cut
static const double piece = 0.125; // radius of a piece, likewise
static const double opposite = 0.9962; // cosine between normals when both count: 5 degrees
static const double worth = 0.1;       // of the margin: a gain for which a triangle is searched
static const double same_spot = 1e-7;  // of the scale: two searches that ended at one point

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

// ---- triangles in reach ------------------------------------------------------------------------

static double phi_at(const search *s, cri_vec3 x) {
    return s->is_flat ? x.z : cri_field_phi(s->field, x);
}

/// A node and a value that phi at its centre cannot exceed.
typedef struct reach_node {
    int at;
    double most;
} reach_node;

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
            top.most = phi_at(s, cri_pose_out(&s->place, node->centre));
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
        c->V = cri_pose_out(&s->place, cri_v3_load(s->tree->mesh.vertex + 3 * (size_t)vertex));
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
    return m->is_settled ? cri_bend_of(m->v.H) * m->v.phi > 0.9 : s->is_sharp;
}

// whether the owner's field is flatter there and has nearly the opposite normal
static bool is_own_flatter(const search *s, const cri_skin_spot *spot, const cri_field_value *v) {
    double mine = cri_bend_of(v->H);
    if (!(mine * s->scale > 1e-9)) {
        return false;
    }
    cri_field_value w;
    cri_field_eval(s->skin[s->owner].field, spot->x, CRI_FIELD_HESSIAN, &w);
    cri_vec3 a = cri_m3_mul(&s->place.R, w.g);
    return cri_bend_of(w.H) < mine &&
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
    cri_skin_spot spot = cri_skin_spot_of(s->skin, s->pose, s->owner, face, m->weight);
    cri_narrow_touch t = {.cache = {.kind = s->owner ? CRI_SKIN_OWNER : 0, .feature = {face, 0}}};
    bool is_flat = n > 1 && !cri_triangle_bend(spot.V, n, active, m->v.H, B);
    bool own = !m->is_settled || is_own_flatter(s, &spot, &m->v);
    t.cache.kind |= (is_flat ? CRI_SKIN_FLAT : 0) | (own ? CRI_SKIN_OWN : 0) |
                    (m->is_settled ? 0 : CRI_SKIN_KINK);
    memcpy(t.cache.u, m->weight, sizeof m->weight);
    t.id = id_of(s, face, m->weight, is_flat ? extra : 0);
    cri_skin_touch_fill(s->skin, s->pose, &spot, own, &m->v, &t);
    return t;
}

static void add_touch(search *s, int face, const cri_triangle_min *m, int extra) {
    double slope = cri_v3_norm(m->v.g);
    if (!(m->v.phi <= s->margin * slope) || is_edge(s, m)) {
        return;
    }
    // a full pool goes on with its outlines
    if (s->n_pool == POOL) {
        s->n_pool = cri_skin_reduce(POOL, s->pool, s->margin, s->scale, KEPT, s->kept, s->scratch);
        memcpy(s->pool, s->kept, sizeof *s->kept * (size_t)s->n_pool);
    }
    s->pool[s->n_pool++] = touch_of(s, face, m, extra);
}

// a side's lowest point is found from both its triangles, and a large one's from several pieces
static bool is_found(const search *s, int first, const cri_skin_spot *spot) {
    for (int k = first; k < s->n_pool; k++) {
        cri_vec3 apart = cri_v3_sub(s->pool[k].point[s->owner], spot->p);
        if (cri_v3_dot(apart, apart) <= same_spot * same_spot * s->scale * s->scale) {
            return true;
        }
    }
    return false;
}

/// A triangle of the owner in the other's frame, and the search for its lowest points.
typedef struct triangle {
    int face;
    cri_vec3 V[3];
    int first;   // in the pool
    int n_piece; // begun
} triangle;

// the lowest point near start, if it is below bound
static void search_from(search *s, triangle *t, const double start[3], double bound) {
    cri_triangle_min m;
    if (!cri_triangle_min_below(s->field, t->V, start, bound, &m)) {
        return;
    }
    s->deepest = cri_smaller(s->deepest, m.v.phi);
    cri_skin_spot spot = cri_skin_spot_of(s->skin, s->pose, s->owner, t->face, m.weight);
    int active[3] = {0}, n = cri_triangle_active(m.weight, active);
    // corners are touches already
    if (n > 1 && !is_found(s, n == 2 ? 0 : t->first, &spot)) {
        add_touch(s, t->face, &m, ++t->n_piece);
    }
}

// corners of a piece as weights w
static void search_pieces(search *s, triangle *t, const double w[3][3], int depth) {
    cri_skin_cut c;
    cri_skin_cut_of(t->V, w, &c);
    if (cri_field_phi(s->field, c.centre) > s->slope * (c.radius + s->margin)) {
        return;
    }
    if (c.radius <= piece * s->reach || depth == CRI_SKIN_PIECES_DEEP) {
        search_from(s, t, c.mid, s->margin * s->slope);
        return;
    }
    for (int k = 0; k < 2; k++) {
        double part[3][3];
        cri_skin_half_of(w, &c, k, part);
        search_pieces(s, t, (const double(*)[3])part, depth + 1);
    }
}

static const double whole[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};

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
    s->place = cri_pose_between(&s->pose[owner], &s->pose[1 - owner]);
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
        n = cri_skin_reduce(s.n_pool, s.pool, margin, s.scale, n_most, touch, scratch);
        n = cri_skin_plane_polish(skin, pose, n, touch);
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

/// The lowest point so far.
typedef struct lowest {
    double phi;
    int face; // -1: none yet
    cri_triangle_min min;
} lowest;

static void lower_from(search *s, triangle *t, const double start[3], lowest *best) {
    cri_triangle_min m;
    cri_triangle_min_find(s->field, t->V, start, &m);
    if (m.v.phi < best->phi && !is_edge(s, &m)) {
        *best = (lowest){m.v.phi, t->face, m};
    }
}

static void lower_pieces(search *s, triangle *t, lowest *best) {
    cri_skin_starts all = {.n = 0};
    const cri_skin_piece_rule rule = {s->field, t->V, s->slope, piece * s->reach, best->phi};
    cri_skin_starts_find(&rule, whole, 0, &all);
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
        t.V[k] = cri_pose_out(&s->place, cri_triangle_corner(&s->tree->mesh, face, k));
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

/// A node and the least value that it may have.
typedef struct open_node {
    int at;
    double least;
} open_node;

static open_node open_at(const search *s, int at) {
    const cri_tri_node *node = &s->tree->node[at];
    double phi = phi_at(s, cri_pose_out(&s->place, node->centre));
    return (open_node){at, phi - s->slope * node->radius};
}

// of a net: the triangles that may be below, by many points at once
static bool lower_many(search *s, lowest *best) {
    cri_arena_mark mark = cri_arena_get_mark(s->scratch);
    const cri_skin_below_rule rule = {s->field, s->tree,   &s->place,
                                      s->slope, best->phi, large * s->reach};
    int *face, n = cri_skin_below(&rule, s->scratch, &face);
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
        cri_vec3 c = cri_pose_out(&s->place, ball->centre);
        double phi = phi_at(s, c), away = 0.2 * ball->radius; // so far an estimate is good enough
        if (phi <= ball->radius + away) {
            continue;
        }
        cri_field_value v;
        cri_field_eval(s->field, c, CRI_FIELD_GRADIENT, &v);
        cri_vec3 n = cri_m3_mul(&s->pose[1 - o].R, v.g); // from the other to the owner
        cri_vec3 centre = cri_pose_out(&s->pose[o], ball->centre);
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
    int first = cri_field_is_slow(skin[1].field) && !cri_field_is_slow(skin[0].field);
    for (int k = 0; k < 2; k++) {
        int o = k == 0 ? first : 1 - first;
        if (!skin[o].tree) {
            continue;
        }
        begin_way(&s, o);
        // what the other way found need not be beaten by more than the slope allows
        lowest best = {.phi = touch->gap > 0.0 ? s.slope * touch->gap : 0.0, .face = -1};
        bool is_many = isfinite(best.phi) && cri_field_is_slow(s.field);
        if (!is_many || !lower_many(&s, &best)) {
            lower_way(&s, &best);
        }
        if (best.face >= 0) {
            cri_narrow_touch t = touch_of(&s, best.face, &best.min, 0);
            *touch = t.gap < touch->gap ? t : *touch;
        }
    }
    cri_skin_plane_polish(skin, pose, 1, touch);
}
