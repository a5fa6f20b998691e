// SPDX-License-Identifier: MIT
//
// Points behind the interface of systems (model/system.h). Every point is a body with a slide along
// each axis, so that q is x; an extended body is called by its centre, the ends of its axes by
// theirs: disk1, disk1.x, disk1.y.
//
// A law needs two arenas that do not mix, and a step is given one: the other is one of a few that
// the system keeps, taken and given back atomically, so that steps of many threads make no heap
// call once each has its own.

#include "points/contact/points_model.h"

#include "base/base.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *const law_names[] = {"cone", "cone-reg", "lcp", "ncp", "ncp-poisson", NULL};

enum { N_SPARE = 64, FIRST_BYTES = 1 << 16 };

/// A scene and arenas that wait for a step.
typedef struct points_self {
    cri_points_scene *scene;
    struct spares *spares;
} points_self;

typedef struct spares {
    _Atomic(cr_arena *) arena[N_SPARE];
} spares;

// one that nobody uses, or a new one; NULL when there is no memory
static cr_arena *take_spare(const points_self *self) {
    for (int i = 0; i < N_SPARE; i++) {
        cr_arena *arena = atomic_exchange(&self->spares->arena[i], NULL);
        if (arena) {
            cri_arena_reset(arena);
            return arena;
        }
    }
    return cri_arena_create(FIRST_BYTES);
}

static void give_spare(const points_self *self, cr_arena *arena) {
    for (int i = 0; i < N_SPARE && arena; i++) {
        cr_arena *none = NULL;
        if (atomic_compare_exchange_strong(&self->spares->arena[i], &none, arena)) {
            return;
        }
    }
    cri_arena_destroy(arena);
}

// the scene with the law and the step of a batch
static cri_points_scene scene_of(const points_self *self, const cri_system_batch *batch) {
    cri_points_scene scene = *self->scene;
    scene.law.law = cri_law_find(law_names[batch->law]);
    scene.dt = scene.law.dt = batch->h;
    return scene;
}

static void fill_rows(const cri_points_tape *tape, cri_system_row *row) {
    for (int b = 0; b < tape->B; b++) {
        const cri_points_jump *jump = &tape->jump[b];
        row[b] = (cri_system_row){.is_failed = tape->has_failed[b]};
        for (int i = 0; !row[b].is_failed && i < jump->n; i++) {
            row[b].n_event += jump->f[3 * i] > 0.0;
        }
    }
}

static bool points_step(const void *object, const cri_system_batch *batch, double *x_next,
                        cri_system_row *row, const void **cache, cr_arena *arena) {
    const points_self *self = object;
    const cri_points_scene scene = scene_of(self, batch);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    cr_arena *scratch = take_spare(self);
    const cri_points_tape *tape = scratch ? cri_points_step(&scene, batch->p, batch->n_row,
                                                            batch->x, x_next, NULL, arena, scratch)
                                          : NULL;
    give_spare(self, scratch);
    if (tape) {
        fill_rows(tape, row);
    }
    if (cache) {
        *cache = tape;
    } else {
        cri_arena_rewind(arena, mark);
    }
    return tape != NULL;
}

static bool points_pull(const void *object, const cri_system_batch *batch, const void *cache,
                        const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                        cr_arena *work) {
    (void)u_adj; // there are no controls
    const points_self *self = object;
    const cri_points_scene scene = scene_of(self, batch);
    cri_arena_mark mark = cri_arena_get_mark(work);
    size_t n = (size_t)batch->n_row * (size_t)scene.n_x;
    double *own_x = x_adj ? x_adj : CR_PUSH(work, double, n);
    double *own_p = p_adj ? p_adj : CR_PUSH(work, double, scene.n_p);
    bool is_well = own_x && own_p &&
                   cri_points_step_vjp(&scene, batch->p, cache, x_next_adj, own_x, own_p, work);
    cri_arena_rewind(work, mark);
    return is_well;
}

static double points_energy(const void *object, const double *p, const double *x, cr_arena *work) {
    const cri_points_scene *scene = ((const points_self *)object)->scene;
    double T, V;
    if (!cri_arena_reserve(work, sizeof(double) * (size_t)scene->n_x + 256)) {
        return NAN;
    }
    cri_points_energy(scene, p, 1, x, &T, &V, work);
    return T + V;
}

const cri_system_kind cri_points_system = {.name = "points",
                                           .law = law_names,
                                           .step = points_step,
                                           .vjp = points_pull,
                                           .energy = points_energy};

// ---- the model ---------------------------------------------------------------------------------

static void release(void *object) {
    points_self *self = object;
    for (int i = 0; i < N_SPARE; i++) {
        cri_arena_destroy(atomic_load(&self->spares->arena[i]));
    }
    // self and its spares lie on the scene's arena
    cri_points_scene_destroy(self->scene);
}

static cri_vec3 axis_of(int c) {
    return (cri_vec3){c == 0, c == 1, c == 2};
}

// radius that pictures show: that of the first touch of a centre, else 1 cm
static double radius_of(const cri_points_scene *sc, int point) {
    for (int i = 0; i < sc->n_touch; i++) {
        const cri_points_touch *t = &sc->touch[i];
        bool is_round = t->kind < CRI_TOUCH_STRETCH;
        bool is_pair = t->kind == CRI_TOUCH_POINTS || t->kind == CRI_TOUCH_DISKS;
        if (is_round && t->a == point) {
            return t->size[0];
        }
        if (is_pair && t->b == point) {
            return t->size[1];
        }
    }
    return 0.01;
}

static bool fill_bodies(const cri_points_scene *sc, cri_system_def *def) {
    const cri_points *s = &sc->s;
    cri_system_body *body = CR_PUSH(sc->arena, cri_system_body, s->n_point);
    cri_system_coordinate *q = CR_PUSH(sc->arena, cri_system_coordinate, s->n_dof);
    for (int i = 0; body && q && i < s->n_point; i++) {
        char name[48];
        cri_points_point_name(sc, i, name, sizeof name);
        body[i] = (cri_system_body){.name = cri_arena_push_text(sc->arena, name),
                                    .radius = radius_of(sc, i)};
        if (!body[i].name) {
            return false;
        }
        for (int c = 0; c < s->d; c++) {
            q[i * s->d + c] =
                (cri_system_coordinate){.body = i, .kind = CRI_JOINT_SLIDE, .axis = axis_of(c)};
        }
    }
    def->n_body = s->n_point;
    def->body = body;
    def->coordinate = q;
    return body && q;
}

static bool fill_slots(const cri_points_scene *sc, cri_system_def *def) {
    cri_system_slot *slot = CR_PUSH(sc->arena, cri_system_slot, sc->n_p);
    const cri_points_law *law = &sc->law;
    for (int i = 0; slot && i < sc->n_p; i++) {
        char name[64];
        bool is_positive = i < sc->s.i_gravity;
        bool is_coefficient = i >= law->i_mu && i <= law->i_epsilon;
        bool is_share = i >= law->i_e && i < law->i_epsilon;
        cri_points_param_name(sc, i, name, sizeof name);
        slot[i] = (cri_system_slot){.name = cri_arena_push_text(sc->arena, name),
                                    .value = sc->p[i],
                                    .lower = is_positive || is_coefficient ? 0.0 : -INFINITY,
                                    .upper = is_share ? 1.0 : INFINITY,
                                    .is_open_lower = is_positive};
        if (!slot[i].name) {
            return false;
        }
    }
    def->slot = slot;
    return slot != NULL;
}

// walls that several touches share are shown once
static bool fill_walls(const cri_points_scene *sc, cri_system_def *def) {
    cri_system_wall *wall = CR_PUSH(sc->arena, cri_system_wall, sc->n_touch + 1);
    for (int i = 0; wall && i < sc->n_touch; i++) {
        const cri_points_touch *t = &sc->touch[i];
        bool is_wall = t->kind == CRI_TOUCH_WALL || t->kind == CRI_TOUCH_DISK_WALL ||
                       t->kind == CRI_TOUCH_RIM_WALL;
        bool is_known = false;
        for (int k = 0; k < def->n_wall; k++) {
            const double *n = t->normal;
            is_known = is_known || (wall[k].normal.x == n[0] && wall[k].normal.y == n[1] &&
                                    wall[k].normal.z == n[2] && wall[k].offset == t->offset);
        }
        if (is_wall && !is_known) {
            char name[16];
            snprintf(name, sizeof name, "wall%d", def->n_wall + 1);
            wall[def->n_wall] =
                (cri_system_wall){.name = cri_arena_push_text(sc->arena, name),
                                  .normal = {t->normal[0], t->normal[1], t->normal[2]},
                                  .offset = t->offset};
            if (!wall[def->n_wall++].name) {
                return false;
            }
        }
    }
    def->wall = wall;
    return wall != NULL;
}

cr_status cri_points_model_create(cri_points_scene *scene, cr_model **out, cr_error *err) {
    CR_ASSERT(scene && out);
    CR_ASSERT(cri_system_find_law(&cri_points_system, scene->law.law->name) >= 0);
    *out = NULL;
    points_self *self = CR_PUSH(scene->arena, points_self, 1);
    spares *s = CR_PUSH(scene->arena, spares, 1);
    cri_system_def def = {.kind = &cri_points_system,
                          .self = self,
                          .release = release,
                          .law = scene->law.law->name,
                          .dt = scene->dt,
                          .n_q = scene->s.n_dof,
                          .n_p = scene->n_p,
                          .x0 = scene->x0};
    if (!self || !s || !fill_bodies(scene, &def) || !fill_slots(scene, &def) ||
        !fill_walls(scene, &def)) {
        cri_points_scene_destroy(scene);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a model of points");
    }
    *self = (points_self){.scene = scene, .spares = s};
    return cri_model_from_system(&def, out, err);
}
