// SPDX-License-Identifier: MIT
//
// Points as objects of an interaction network: features and relations from a scene.
//
//   a = asinh(1/m):          m-bar += a-bar (-1/m^2)/sqrt(1 + 1/m^2)
//   b = asinh(1/(m lam)):    the same for m lam, of which m has lam and lam has m

#include "points/learn/points_relations.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// ---- who acts on whom --------------------------------------------------------------------------

/// Relations in the making.
typedef struct draft {
    const cri_points_scene *scene;
    cri_relation *relation;
    int n_relation, n_most;
    double *wall; // (n_wall, d)
    int n_wall;
    double *radius;
} draft;

static bool is_wall(const cri_points_touch *t) {
    return t->kind == CRI_TOUCH_WALL || t->kind == CRI_TOUCH_DISK_WALL ||
           t->kind == CRI_TOUCH_RIM_WALL;
}

static void add_relation(draft *d, int receiver, int sender, const double *attribute) {
    CR_ASSERT(d->n_relation < d->n_most);
    cri_relation *r = &d->relation[d->n_relation++];
    *r = (cri_relation){.receiver = receiver, .sender = sender};
    memcpy(r->attribute, attribute, sizeof r->attribute);
}

// index of a place among the objects, the same one for the same place
static int find_wall(draft *d, const double *place) {
    int n = d->scene->s.d, k = 0;
    while (k < d->n_wall && memcmp(d->wall + k * n, place, sizeof *place * (size_t)n) != 0) {
        k++;
    }
    if (k == d->n_wall) {
        memcpy(d->wall + k * n, place, sizeof *place * (size_t)n);
        d->n_wall++;
    }
    return d->scene->s.n_block + k;
}

static int find_plane(draft *d, const cri_points_touch *t) {
    const cri_points_scene *sc = d->scene;
    bool is_box = sc->kind == CRI_POINTS_BALLS || sc->kind == CRI_POINTS_DISKS;
    double place[CRI_AXES], middle = is_box ? 0.5 : 0.0, height = -t->offset;
    for (int c = 0; c < sc->s.d; c++) {
        height += middle * t->normal[c];
    }
    for (int c = 0; c < sc->s.d; c++) {
        // + 0.0 makes one number of both zeros
        place[c] = middle - height * t->normal[c] + 0.0;
    }
    return find_wall(d, place);
}

// both ways between two points of different blocks; -1 is the origin
static void add_pair(draft *d, int a, int b, const double *attribute) {
    static const double origin[CRI_AXES] = {0.0};
    const int *block = d->scene->s.block_of;
    if (a < 0) {
        add_relation(d, block[b], find_wall(d, origin), attribute);
    } else if (block[a] != block[b]) {
        add_relation(d, block[a], block[b], attribute);
        add_relation(d, block[b], block[a], attribute);
    }
}

static void add_touch(draft *d, const cri_points_touch *t) {
    const cri_points_scene *sc = d->scene;
    const int *block = sc->s.block_of;
    bool is_limit = t->kind == CRI_TOUCH_STRETCH || t->kind == CRI_TOUCH_BEND;
    const double attribute[CRI_RELATION_ATTRIBUTES] = {
        is_limit ? 0.0 : sc->p[sc->law.i_mu + t->coefficient], sc->p[sc->law.i_e + t->coefficient],
        1.0};
    if (!is_limit) {
        d->radius[block[t->a]] = t->size[0];
    }
    if (is_wall(t)) {
        add_relation(d, block[t->a], find_plane(d, t), attribute);
        return;
    }
    if (!is_limit) {
        d->radius[block[t->b]] = t->size[1];
    }
    add_pair(d, t->a, t->kind == CRI_TOUCH_BEND ? t->c : t->b, attribute);
}

static void add_tie(draft *d, const cri_tie *t) {
    static const double none[CRI_RELATION_ATTRIBUTES] = {0.0};
    if (t->kind == CRI_TIE_ANCHOR || (t->kind == CRI_TIE_JOINT && t->axis == 0)) {
        add_pair(d, -1, t->point[0], none);
    } else if (t->kind == CRI_TIE_DISTANCE) {
        add_pair(d, t->point[0], t->point[1], none);
    }
}

static double mean_radius(const draft *d) {
    double sum = 0.0;
    for (int k = 0; k < d->scene->s.n_block; k++) {
        sum += d->radius[k];
    }
    return sum / d->scene->s.n_block;
}

// of what has a size or links; 1 m otherwise
static double unit_of(const draft *d) {
    const cri_points *s = &d->scene->s;
    double radius = mean_radius(d);
    return radius > 0.0 ? radius : s->n_spring > 0 ? s->spring[0].length : 1.0;
}

const cri_points_relations *cri_points_relations_push(const cri_points_scene *scene,
                                                      const cri_interaction_size *size) {
    const cri_points *s = &scene->s;
    int n_most = 2 * (scene->n_touch + s->n_tie), n_point = s->block[0].n;
    cr_arena *arena = scene->arena;
    draft d = {.scene = scene,
               .relation = CR_PUSH(arena, cri_relation, n_most),
               .n_most = n_most,
               .wall = CR_PUSH(arena, double, (scene->n_touch + 1) * s->d),
               .radius = CR_PUSH(arena, double, s->n_block)};
    cri_points_relations *out = CR_PUSH(arena, cri_points_relations, 1);
    if (!d.relation || !d.wall || !d.radius || !out) {
        return NULL;
    }
    for (int i = 0; i < scene->n_touch; i++) {
        add_touch(&d, &scene->touch[i]);
    }
    for (int i = 0; i < s->n_tie; i++) {
        add_tie(&d, &s->tie[i]);
    }
    for (int k = 0; k < s->n_block; k++) {
        CR_ASSERT(s->block[k].n == n_point); // objects are of one kind
    }
    *out = (cri_points_relations){
        .scene = scene, .wall = d.wall, .radius = d.radius, .unit = unit_of(&d)};
    out->net = (cri_interaction){.n_object = s->n_block + d.n_wall,
                                 .n_active = s->n_block,
                                 .n_state = 2 * n_point * s->d,
                                 .n_fixed = n_point > 1 ? 2 + s->d : 2,
                                 .n_external = n_point * s->d,
                                 .n_out = n_point * s->d,
                                 .n_attribute = CRI_RELATION_ATTRIBUTES,
                                 .n_relation = d.n_relation,
                                 .relation = d.relation};
    cri_interaction_shape(&out->net, size);
    return out;
}

// ---- features ----------------------------------------------------------------------------------

// of one row: objects (n_object, n_state + n_fixed)
static void fill_objects(const cri_points_relations *r, const double *p, const double *x,
                         double *objects) {
    const cri_points *s = &r->scene->s;
    int half = r->net.n_state / 2;
    for (int k = 0; k < r->net.n_object; k++) {
        if (k >= s->n_block) {
            for (int i = 0; i < half; i++) {
                objects[i] = r->wall[(k - s->n_block) * s->d + i % s->d] / r->unit;
            }
            objects += r->net.n_state + r->net.n_fixed;
            continue;
        }
        const cri_mass_block *b = &s->block[k];
        for (int i = 0; i < half; i++) {
            objects[i] = x[b->first * s->d + i] / r->unit;
        }
        memcpy(objects + half, x + s->n_dof + b->first * s->d, sizeof *x * (size_t)half);
        objects += r->net.n_state;
        *objects++ = asinh(1.0 / p[s->i_mass + k]);
        for (int i = 0; b->lam >= 0 && i < s->d; i++) {
            *objects++ = asinh(1.0 / (p[s->i_mass + k] * p[s->i_lam + b->lam + i]));
        }
        *objects++ = r->radius[k] / r->unit;
    }
}

// d asinh(1/a) / da
static double slope_of(double a) {
    return -1.0 / (a * sqrt(1.0 + a * a));
}

static void pull_objects(const cri_points_relations *r, const double *p, const double *objects_adj,
                         double *x_adj, double *p_adj) {
    const cri_points *s = &r->scene->s;
    int half = r->net.n_state / 2;
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        for (int i = 0; i < half; i++) {
            x_adj[b->first * s->d + i] += objects_adj[i] / r->unit;
            x_adj[s->n_dof + b->first * s->d + i] += objects_adj[half + i];
        }
        objects_adj += r->net.n_state;
        double m = p[s->i_mass + k];
        p_adj[s->i_mass + k] += *objects_adj++ * slope_of(m);
        for (int i = 0; b->lam >= 0 && i < s->d; i++) {
            double lam = p[s->i_lam + b->lam + i], inner = *objects_adj++ * slope_of(m * lam);
            p_adj[s->i_mass + k] += inner * lam;
            p_adj[s->i_lam + b->lam + i] += inner * m;
        }
        objects_adj++; // the radius is constant
    }
}

// ---- the net on states -------------------------------------------------------------------------

bool cri_points_relate(const cri_points_relations *r, const double *p, int B, const double *x,
                       double *out, cri_points_relations_tape *tape, cr_arena *keep) {
    const cri_points_scene *sc = r->scene;
    size_t D = (size_t)sc->s.n_dof, n_b = (size_t)B;
    size_t n = (size_t)r->net.n_object * ((size_t)r->net.n_state + (size_t)r->net.n_fixed);
    double *objects = CR_PUSH(keep, double, n_b *n);
    double *q = CR_PUSH_RAW(keep, double, n_b *D), *external = CR_PUSH(keep, double, n_b *D);
    *tape = (cri_points_relations_tape){0};
    if (!objects || !q || !external) {
        return false;
    }
    for (size_t b = 0; b < n_b; b++) {
        fill_objects(r, p, x + 2 * b * D, objects + b * n);
        memcpy(q + b * D, x + 2 * b * D, sizeof *q * D);
    }
    return sc->potential.grad(&sc->potential, p, B, q, external, &tape->potential, keep) &&
           cri_interaction_value(&r->net, p + sc->n_p, B, objects, external, out, &tape->net, keep);
}

bool cri_points_relate_vjp(const cri_points_relations *r, const double *p,
                           const cri_points_relations_tape *tape, const double *out_adj,
                           double *x_adj, double *p_adj, cr_arena *scratch) {
    const cri_points_scene *sc = r->scene;
    int B = tape->net.B;
    size_t D = (size_t)sc->s.n_dof, n_b = (size_t)B;
    size_t n = (size_t)r->net.n_object * ((size_t)r->net.n_state + (size_t)r->net.n_fixed);
    size_t own = sc->potential.n_byte ? sc->potential.n_byte(&sc->potential, B) : 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *objects_adj = CR_PUSH(scratch, double, n_b *n);
    double *q_adj = CR_PUSH(scratch, double, n_b *D);
    double *external_adj = CR_PUSH(scratch, double, n_b *D);
    bool is_done = objects_adj && q_adj && external_adj &&
                   cri_interaction_value_vjp(&r->net, p + sc->n_p, &tape->net, out_adj, objects_adj,
                                             external_adj, p_adj + sc->n_p, scratch) &&
                   cri_arena_reserve(scratch, own + 64 * D * sizeof(double));
    if (is_done) {
        sc->potential.grad_vjp(&sc->potential, p, B, tape->potential, external_adj, q_adj, p_adj,
                               scratch);
    }
    for (size_t b = 0; is_done && b < n_b; b++) {
        pull_objects(r, p, objects_adj + b * n, x_adj + 2 * b * D, p_adj);
        for (size_t i = 0; i < D; i++) {
            x_adj[2 * b * D + i] += q_adj[b * D + i];
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}
