// SPDX-License-Identifier: MIT
//
// Derivatives of a touch of two skins.
//
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

#include "geometry/field/skin_parts.h"

#include <math.h>
#include <string.h>

cri_skin_spot cri_skin_spot_of(const cri_skin skin[2], const cri_pose pose[2], int owner, int face,
                               const double weight[3]) {
    cri_skin_spot s = {.owner = owner, .face = face, .p = {0.0, 0.0, 0.0}};
    memcpy(s.weight, weight, sizeof s.weight);
    if (!skin[owner].tree) {
        cri_skin_plane_triangle(weight[0], weight[1], 1.0, s.v);
        s.weight[0] = s.weight[1] = s.weight[2] = 1.0 / 3.0;
        weight = s.weight;
    }
    for (int l = 0; l < 3; l++) {
        if (skin[owner].tree) {
            s.v[l] = cri_triangle_corner(&skin[owner].tree->mesh, face, l);
        }
        s.P[l] = cri_pose_out(&pose[owner], s.v[l]);
        s.V[l] = cri_pose_into(&pose[1 - owner], s.P[l]);
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
static cri_vec3 direction(const cri_skin skin[2], const cri_pose pose[2], const cri_skin_spot *spot,
                          bool own, cri_vec3 g) {
    if (!own) {
        return cri_v3_scale(-1.0, cri_m3_mul(&pose[1 - spot->owner].R, unit(g)));
    }
    cri_field_value v;
    cri_field_eval(skin[spot->owner].field, spot->x, CRI_FIELD_GRADIENT, &v);
    return cri_m3_mul(&pose[spot->owner].R, unit(v.g));
}

void cri_skin_touch_fill(const cri_skin skin[2], const cri_pose pose[2], const cri_skin_spot *spot,
                         bool own, const cri_field_value *other, cri_narrow_touch *touch) {
    int o = spot->owner, j = 1 - o;
    double slope = cri_v3_norm(other->g);
    cri_vec3 dir = direction(skin, pose, spot, own, other->g);
    touch->gap = slope > 0.0 ? other->phi / slope : other->phi;
    touch->normal = cri_v3_scale(o ? -1.0 : 1.0, dir);
    touch->point[o] = spot->p;
    touch->point[j] = cri_v3_mad(spot->p, touch->gap, dir);
}

bool cri_skin_touch_again(const cri_skin skin[2], const cri_pose pose[2], cri_narrow_touch *touch) {
    const cri_touch_cache *cache = &touch->cache;
    int o = cache->kind & CRI_SKIN_OWNER ? 1 : 0;
    if (!skin[o].tree) {
        return cri_skin_plane_find(skin, pose, o, cache->u[0], cache->u[1], touch);
    }
    cri_skin_spot spot = cri_skin_spot_of(skin, pose, o, cache->feature[0], cache->u);
    cri_triangle_min min = {.is_settled = true};
    memcpy(min.weight, cache->u, sizeof min.weight);
    int before[3] = {0}, after[3] = {0}, n_before = cri_triangle_active(cache->u, before);
    // a corner need not be the lowest point of its triangle
    if (n_before == 1 || cache->kind & (CRI_SKIN_FLAT | CRI_SKIN_KINK)) {
        cri_field_eval(skin[1 - o].field, spot.y, CRI_FIELD_HESSIAN, &min.v);
    } else {
        cri_triangle_min_find(skin[1 - o].field, spot.V, cache->u, &min);
        spot = cri_skin_spot_of(skin, pose, o, cache->feature[0], min.weight);
    }
    bool is_same = min.is_settled && n_before == cri_triangle_active(min.weight, after) &&
                   memcmp(before, after, sizeof before) == 0;
    cri_skin_touch_fill(skin, pose, &spot, cache->kind & CRI_SKIN_OWN, &min.v, touch);
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
    cri_skin_spot spot = cri_skin_spot_of(skin, pose, o, cache->feature[0], cache->u);
    cri_field_value v;
    cri_field_eval(skin[1 - o].field, spot.y, CRI_FIELD_GRADIENT, &v);
    cri_vec3 dir = cri_m3_mul(&pose[1 - o].R, unit(v.g));
    return o ? dir : cri_v3_scale(-1.0, dir);
}

/// Sides of the active corners and their curvature, when the weights may move.
typedef struct bend {
    int n, active[3];
    double B[3];
    cri_vec3 E[2];
} bend;

static bool find_bend(const cri_skin_spot *spot, int kind, const double H[6], bend *b) {
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

/// Adjoints of one touch on their way.
typedef struct reverse {
    const cri_skin *skin;
    const cri_pose *pose;
    const cri_skin_spot *spot;
    cri_skin_diff *own, *other;
    cri_vec3 p;    // of the point
    cri_vec3 P[3]; // of the corners, in the world
} reverse;

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
    const cri_skin_spot *s = r->spot;
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
static void weights_adjoint(reverse *r, const cri_field_value *v, const bend *b) {
    const cri_skin_spot *s = r->spot;
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
    cri_skin_spot spot = cri_skin_spot_of(skin, pose, o, touch->cache.feature[0], touch->cache.u);
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
    bend b;
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

static cri_vec3 weights_tangent(const cri_skin *other, const cri_skin_spot *s,
                                const cri_field_value *v, const bend *b, const cri_vec3 V_tan[3],
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
    cri_skin_spot s = cri_skin_spot_of(skin, pose, o, touch->cache.feature[0], touch->cache.u);
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
    bend b;
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
