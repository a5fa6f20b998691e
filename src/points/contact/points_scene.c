// SPDX-License-Identifier: MIT
//
// The systems of DCS (paper 000) by name: masses, sizes, contacts and coefficients.
//
//   bp5-e, bp5   five round points in the unit square     bd5, bd1   five disks, one in gravity
//   cp3-e, cp3   three chained masses over a ground       gyro-e, gyro   a top and a wall
//   rope         n points on springs from the origin, limits of stretch and bend
//   billiards    eleven balls on a table without walls, Euler's method
//
// Moments of disks are m r^2/4 an axis. Contacts of boxes come pair by pair, then ball by ball with
// the walls left, bottom, right, top. Rest length of a rope's segment 0.05 m, limits 0.8 and 1.2 of
// it, bend 0.3 rad; spring energy 50 (l - 0.05)^2.

#include "points/contact/points_step.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"bp5-e", "bp5",    "bd5",  "cp3-e",     "cp3",
                                    "rope",  "gyro-e", "gyro", "billiards", "bd1"};

enum { N_NAME = (int)(sizeof names / sizeof names[0]), N_BALL = 5, MOST_POINTS = 100000 };

/// What a builder has said; NULL in arena fails the whole.
typedef struct draft {
    cri_points_scene *scene;
    cri_points_def def;
    const double *mass; // (n_block), NULL: all mass_all
    double mass_all;
    const double *lam;    // (n_lam)
    double gravity;       // m/s^2, along -y or in space -z
    const double *mu, *e; // (n_coefficient)
} draft;

static const double five_masses[N_BALL] = {0.05, 0.1, 0.3, 0.4, 0.5};

static const double five_radii[N_BALL] = {0.05, 0.1, 0.13, 0.15, 0.18};

static const double five_places[10] = {0.1, 0.1, 0.3, 0.8, 0.7, 0.8, 0.25, 0.4, 0.7, 0.4};

typedef struct wall {
    const char *name;
    double normal[2], offset;
} wall;

static const wall walls[4] = {{"left", {1.0, 0.0}, 0.0},
                              {"bottom", {0.0, 1.0}, 0.0},
                              {"right", {-1.0, 0.0}, -1.0},
                              {"top", {0.0, -1.0}, -1.0}};

// draws until something fits: the largest balls of a box take some hundred
enum { MOST_DRAWS = 1000000 };

// ---- systems by name ----------------------------------------------------------------------------

const char *cri_points_scene_name(int i) {
    return i >= 0 && i < N_NAME ? names[i] : NULL;
}

// ---- common ------------------------------------------------------------------------------------

static char *push_pair(cr_arena *arena, const char *body, int i, const char *other, int j) {
    char text[64];
    if (j > 0) {
        snprintf(text, sizeof text, "%s%d:%s%d", body, i, other, j);
    } else {
        snprintf(text, sizeof text, "%s%d:%s", body, i, other);
    }
    return cri_arena_push_text(arena, text);
}

// builds the system, the touches' room, parameters
static bool begin(draft *b, int n_touch, int n_coefficient) {
    cri_points_scene *sc = b->scene;
    if (!cri_points_build(&b->def, &sc->s, sc->arena)) {
        return false;
    }
    const cri_points *s = &sc->s;
    int i_mu = s->n_param, i_e = i_mu + n_coefficient;
    sc->n_x = 2 * s->n_dof;
    sc->n_p = i_e + n_coefficient + 1;
    sc->law.i_mu = i_mu;
    sc->law.i_e = i_e;
    sc->law.i_epsilon = sc->n_p - 1;
    sc->n_coefficient = n_coefficient;
    sc->touch = CR_PUSH(sc->arena, cri_points_touch, n_touch);
    sc->pair = CR_PUSH(sc->arena, const char *, n_coefficient);
    sc->p = CR_PUSH(sc->arena, double, sc->n_p);
    sc->x0 = CR_PUSH(sc->arena, double, sc->n_x);
    if (!sc->touch || !sc->pair || !sc->p || !sc->x0) {
        return false;
    }
    for (int k = 0; k < s->n_block; k++) {
        sc->p[s->i_mass + k] = b->mass ? b->mass[k] : b->mass_all;
    }
    CR_ASSERT(s->n_lam == 0 || b->lam);
    for (int k = 0; k < s->n_lam; k++) {
        sc->p[s->i_lam + k] = b->lam[k];
    }
    for (int k = 0; k < n_coefficient; k++) {
        sc->p[i_mu + k] = b->mu[k];
        sc->p[i_e + k] = b->e[k];
    }
    sc->p[s->i_gravity + s->d - 1] = -b->gravity;
    sc->p[sc->law.i_epsilon] = 0.01; // 1/kg, that of the paper
    sc->pair[0] = "contact";
    return true;
}

static cri_points_touch *add_touch(cri_points_scene *sc, cri_points_touch_kind kind, int a, int b) {
    cri_points_touch *t = &sc->touch[sc->n_touch++];
    *t = (cri_points_touch){.kind = kind, .a = a, .b = b};
    return t;
}

// ---- boxes -------------------------------------------------------------------------------------

static void set_wall(cri_points_touch *t, const double *normal, double offset) {
    t->normal[0] = normal[0];
    t->normal[1] = normal[1];
    t->tangent[0][0] = -normal[1];
    t->tangent[0][1] = normal[0];
    t->offset = offset;
}

// touches of n balls or disks with each other, and with the walls of the unit square
static bool add_box(cri_points_scene *sc, int n, const double *radius, bool is_disk,
                    bool has_walls) {
    int step = is_disk ? 3 : 1;
    bool is_shared = sc->n_coefficient == 1, has_room = true;
    for (int i = 0; i < n; i++) {
        for (int k = i + 1; k < n; k++) {
            cri_points_touch *t =
                add_touch(sc, is_disk ? CRI_TOUCH_DISKS : CRI_TOUCH_POINTS, step * i, step * k);
            t->size[0] = radius[i];
            t->size[1] = radius[k];
            t->coefficient = is_shared ? 0 : sc->n_touch - 1;
            if (!is_shared) {
                sc->pair[t->coefficient] =
                    push_pair(sc->arena, sc->body_name, i + 1, sc->body_name, k + 1);
                has_room = has_room && sc->pair[t->coefficient];
            }
        }
    }
    for (int i = 0; has_walls && i < 4 * n; i++) {
        const wall *side = &walls[i % 4];
        cri_points_touch *t =
            add_touch(sc, is_disk ? CRI_TOUCH_DISK_WALL : CRI_TOUCH_WALL, step * (i / 4), 0);
        t->size[0] = radius[i / 4];
        t->coefficient = is_shared ? 0 : sc->n_touch - 1;
        set_wall(t, side->normal, side->offset);
        if (!is_shared) {
            sc->pair[t->coefficient] =
                push_pair(sc->arena, sc->body_name, i / 4 + 1, side->name, 0);
            has_room = has_room && sc->pair[t->coefficient];
        }
    }
    return has_room;
}

static bool build_balls(cri_points_scene *sc, bool is_elastic) {
    static const bool is_body[N_BALL] = {false};
    static const double mu[30] = {0.5, 0.4, 0.6, 0.8, 0.9, 1.1, 0.7, 0.1, 0.0, 0.3,
                                  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
                                  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    static const double e[30] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
                                 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8,
                                 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8};
    static const double none = 0.0, one = 1.0;
    static const double even[N_BALL] = {0.1, 0.1, 0.1, 0.1, 0.1};
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = N_BALL, .is_body = is_body},
               .mass = is_elastic ? even : five_masses,
               .mu = is_elastic ? &none : mu,
               .e = is_elastic ? &one : e};
    sc->kind = CRI_POINTS_BALLS;
    sc->body_name = "ball";
    if (!begin(&b, 30, is_elastic ? 1 : 30)) {
        return false;
    }
    memcpy(sc->x0, five_places, sizeof five_places);
    return add_box(sc, N_BALL, is_elastic ? even : five_radii, false, true);
}

// centre and ends of the axes, at rest
static void place_disk(double *x, const double *centre) {
    for (int k = 0; k < 3; k++) {
        x[2 * k] = centre[0] + (k == 1);
        x[2 * k + 1] = centre[1] + (k == 2);
    }
}

static bool build_disks(cri_points_scene *sc) {
    static const bool is_body[N_BALL] = {true, true, true, true, true};
    static const double mu[30] = {0.3, 0.5, 0.1, 0.4, 1.4, 0.9, 0.8, 0.0, 0.2, 0.6,
                                  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
                                  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    static const double e[30] = {0.2, 0.4, 0.1, 0.9, 0.8, 0.3, 1.0, 0.9, 0.7, 0.0,
                                 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8,
                                 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8};
    double lam[2 * N_BALL];
    for (int i = 0; i < N_BALL; i++) {
        lam[2 * i] = lam[2 * i + 1] = 0.25 * five_radii[i] * five_radii[i];
    }
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = N_BALL, .is_body = is_body},
               .mass = five_masses,
               .lam = lam,
               .mu = mu,
               .e = e};
    sc->kind = CRI_POINTS_DISKS;
    sc->body_name = "disk";
    if (!begin(&b, 30, 30)) {
        return false;
    }
    for (int i = 0; i < N_BALL; i++) {
        place_disk(sc->x0 + 6 * i, five_places + 2 * i);
    }
    return add_box(sc, N_BALL, five_radii, true, true);
}

static bool build_throw(cri_points_scene *sc) {
    static const bool is_body[1] = {true};
    static const double radius = 0.1, lam[2] = {0.0025, 0.0025}, mu = 0.2, e = 0.8;
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = 1, .is_body = is_body},
               .mass_all = 0.1,
               .lam = lam,
               .gravity = 9.81,
               .mu = &mu,
               .e = &e};
    sc->kind = CRI_POINTS_DISKS;
    sc->body_name = "disk";
    if (!begin(&b, 4, 1)) {
        return false;
    }
    place_disk(sc->x0, (double[]){0.25, 0.65});
    return add_box(sc, 1, &radius, true, true);
}

static bool build_billiards(cri_points_scene *sc) {
    static const bool is_body[11] = {false};
    static const double mu = 0.0, e = 0.8;
    double radius[11];
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = 11, .is_body = is_body},
               .mass_all = 1.0,
               .mu = &mu,
               .e = &e};
    sc->kind = CRI_POINTS_BILLIARDS;
    sc->body_name = "ball";
    sc->dt = 0.003;
    sc->n_step = 1024;
    sc->tableau = &cri_rk_euler;
    if (!begin(&b, 55, 1)) {
        return false;
    }
    // the white ball, then four layers
    double *x = sc->x0;
    *x++ = 0.1;
    *x++ = 0.5;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k <= i; k++) {
            *x++ = 0.5 + 0.06 * i;
            *x++ = 0.5 + 0.06 * k - 0.021 * i;
        }
    }
    sc->x0[2 * 11] = 0.3;
    for (int i = 0; i < 11; i++) {
        radius[i] = 0.03;
    }
    return add_box(sc, 11, radius, false, false);
}

// ---- chains ------------------------------------------------------------------------------------

static bool build_pendulum(cri_points_scene *sc, bool is_elastic) {
    static const bool is_body[3] = {false};
    static const double length[3] = {0.35, 0.4, 0.35}, up[2] = {0.0, 1.0};
    static const double elastic[3] = {0.2, 0.13, 0.15}, other[3] = {0.1, 0.2, 0.15};
    double mu = is_elastic ? 0.0 : 0.5, e = is_elastic ? 1.0 : 0.0;
    cri_tie tie[3];
    for (int k = 0; k < 3; k++) {
        tie[k] = (cri_tie){.kind = k == 0 ? CRI_TIE_ANCHOR : CRI_TIE_DISTANCE,
                           .n_point = k == 0 ? 1 : 2,
                           .point = {k == 0 ? 0 : k - 1, k},
                           .length = length[k]};
    }
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = 3, .is_body = is_body, .n_tie = 3, .tie = tie},
               .mass = is_elastic ? elastic : other,
               .gravity = 9.81,
               .mu = &mu,
               .e = &e};
    sc->kind = CRI_POINTS_PENDULUM;
    sc->body_name = "mass";
    if (!begin(&b, 1, 1)) {
        return false;
    }
    // straight to the right: hanging it would reach the ground
    for (int k = 0; k < 3; k++) {
        sc->x0[2 * k] = length[0] + (k > 0 ? length[1] : 0.0) + (k > 1 ? length[2] : 0.0);
    }
    // the others cannot reach the ground
    cri_points_touch *t = add_touch(sc, CRI_TOUCH_WALL, 2, 0);
    t->size[0] = 0.1;
    set_wall(t, up, -1.0);
    return true;
}

static bool build_rope(cri_points_scene *sc, int n) {
    static const double none = 0.0;
    bool *is_body = CR_PUSH(sc->arena, bool, n);
    cri_spring *spring = CR_PUSH(sc->arena, cri_spring, n);
    if (!is_body || !spring) {
        return false;
    }
    for (int k = 0; k < n; k++) {
        spring[k] = (cri_spring){.from = k - 1, .to = k, .length = 0.05};
    }
    draft b = {.scene = sc,
               .def = {.d = 2, .n_block = n, .is_body = is_body, .n_spring = n, .spring = spring},
               .mass_all = 0.1,
               .gravity = 9.81,
               .mu = &none,
               .e = &none};
    sc->kind = CRI_POINTS_ROPE;
    sc->body_name = "point";
    sc->dt = 0.005;
    sc->n_step = 20;
    if (!begin(&b, 2 * n - 1, 1)) {
        return false;
    }
    sc->p[sc->s.i_stiffness] = 50.0;
    for (int k = 0; k < n; k++) {
        cri_points_touch *t = add_touch(sc, CRI_TOUCH_STRETCH, k - 1, k);
        t->size[0] = 0.8 * 0.05;
        t->size[1] = 1.2 * 0.05;
        sc->x0[2 * k + 1] = -0.05 * (k + 1);
        if (k > 0) {
            t = add_touch(sc, CRI_TOUCH_BEND, k - 2, k - 1);
            t->c = k;
            t->size[0] = 0.3;
        }
    }
    return true;
}

// ---- top ---------------------------------------------------------------------------------------

static bool build_top(cri_points_scene *sc, bool is_elastic) {
    static const bool is_body[1] = {true};
    static const double lam[3] = {0.24, 0.24, 0.04};
    double mu = is_elastic ? 0.0 : 0.1, e = is_elastic ? 1.0 : 0.8;
    cri_tie tie[3];
    for (int c = 0; c < 3; c++) {
        // the body point -0.5 e_3 stays at the origin
        tie[c] = (cri_tie){
            .kind = CRI_TIE_JOINT, .n_point = 2, .point = {0, 3}, .weight = {1.5, -0.5}, .axis = c};
    }
    draft b = {.scene = sc,
               .def = {.d = 3, .n_block = 1, .is_body = is_body, .n_tie = 3, .tie = tie},
               .mass_all = 0.1,
               .lam = lam,
               .gravity = 9.81,
               .mu = &mu,
               .e = &e};
    sc->kind = CRI_POINTS_TOP;
    sc->body_name = "top";
    sc->dt = 0.02;
    if (!begin(&b, 1, 1)) {
        return false;
    }
    for (int k = 0; k < 4; k++) {
        sc->x0[3 * k + 2] = 0.5;
        if (k > 0) {
            sc->x0[3 * k + k - 1] += 1.0;
        }
    }
    cri_points_touch *t = add_touch(sc, CRI_TOUCH_RIM_WALL, 0, 0);
    t->size[0] = 0.3;
    t->normal[1] = t->tangent[0][0] = t->tangent[1][2] = 1.0;
    t->offset = -0.33;
    t->n_sample = 20;
    t->turn = 0.314;
    return true;
}

// ---- by name -----------------------------------------------------------------------------------

static bool build(cri_points_scene *sc, int i, int n) {
    switch (i) {
    case 0:
    case 1:
        return build_balls(sc, i == 0);
    case 2:
        return build_disks(sc);
    case 3:
    case 4:
        return build_pendulum(sc, i == 3);
    case 5:
        return build_rope(sc, n);
    case 6:
    case 7:
        return build_top(sc, i == 6);
    case 8:
        return build_billiards(sc);
    default:
        return build_throw(sc);
    }
}

cr_status cri_points_scene_create(const char *name, int n, cri_points_scene **out, cr_error *err) {
    CR_ASSERT(name && out);
    *out = NULL;
    int i = 0;
    while (i < N_NAME && strcmp(names[i], name) != 0) {
        i++;
    }
    if (i == N_NAME) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "no system '%.40s'; there are bp5-e, bp5, bd5, bd1, cp3-e, cp3, rope, "
                        "gyro-e, gyro and billiards",
                        name);
    }
    n = n == 0 ? 200 : n;
    if (n < 1 || n > MOST_POINTS) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a rope has 1 to %d points, not %d", MOST_POINTS,
                        n);
    }
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_scene *sc = arena ? CR_PUSH(arena, cri_points_scene, 1) : NULL;
    bool has_room = sc != NULL;
    if (has_room) {
        *sc = (cri_points_scene){.arena = arena,
                                 .name = names[i],
                                 .dt = 0.01,
                                 .n_step = 100,
                                 .tableau = &cri_rk_38,
                                 .has_contact = true};
        has_room = build(sc, i, n);
    }
    if (!has_room) {
        cri_arena_destroy(arena);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the system '%s'", name);
    }
    sc->law.law = cri_law_find("cone");
    sc->law.dt = sc->dt;
    sc->law.share = 8.0; // steps, that of the paper's experiments
    sc->potential = cri_points_true_potential(&sc->s);
    *out = sc;
    return CR_OK;
}

void cri_points_scene_destroy(cri_points_scene *scene) {
    if (scene) {
        cri_arena_destroy(scene->arena);
    }
}

bool cri_points_scene_set_law(cri_points_scene *scene, const char *law) {
    const cri_law *found = cri_law_find(law);
    scene->law.law = found ? found : scene->law.law;
    return found != NULL;
}

/// Puts a potential in place of the true one. Its n_param parameters stand behind the others, zero;
/// p grows on the arena. False when there is no memory.
static bool points_scene_set_potential(cri_points_scene *scene,
                                       const cri_points_potential *potential) {
    int first = scene->law.i_epsilon + 1, n = first + potential->n_param;
    double *p = CR_PUSH(scene->arena, double, n);
    if (!p) {
        return false;
    }
    memcpy(p, scene->p, sizeof *p * (size_t)first);
    scene->p = p;
    scene->n_p = n;
    scene->potential = *potential;
    scene->potential.first = first;
    return true;
}

bool cri_points_scene_set_net(cri_points_scene *scene, const cri_mlp *net) {
    cri_points_net_def *def = CR_PUSH(scene->arena, cri_points_net_def, 1);
    if (!def) {
        return false;
    }
    *def = (cri_points_net_def){net, &scene->s};
    const cri_points_potential potential = cri_points_net(def);
    return points_scene_set_potential(scene, &potential);
}

void cri_points_param_name(const cri_points_scene *sc, int i, char *out, size_t n_byte) {
    const cri_points *s = &sc->s;
    const cri_points_law *law = &sc->law;
    CR_ASSERT(i >= 0 && i < sc->n_p && out && n_byte > 0);
    if (i < s->i_lam) {
        snprintf(out, n_byte, "%s%d/mass", sc->body_name, i - s->i_mass + 1);
    } else if (i < s->i_gravity) {
        snprintf(out, n_byte, "%s%d/lam[%d]", sc->body_name, (i - s->i_lam) / s->d + 1,
                 (i - s->i_lam) % s->d);
    } else if (i < s->i_stiffness) {
        snprintf(out, n_byte, "gravity[%d]", i - s->i_gravity);
    } else if (i < s->n_param) {
        snprintf(out, n_byte, "stiffness");
    } else if (i < law->i_e) {
        snprintf(out, n_byte, "%s/friction", sc->pair[i - law->i_mu]);
    } else if (i < law->i_epsilon) {
        snprintf(out, n_byte, "%s/restitution", sc->pair[i - law->i_e]);
    } else if (i == law->i_epsilon) {
        snprintf(out, n_byte, "epsilon");
    } else {
        snprintf(out, n_byte, "potential[%d]", i - law->i_epsilon - 1);
    }
}

void cri_points_point_name(const cri_points_scene *sc, int i, char *out, size_t n_byte) {
    static const char *const end[] = {"", ".x", ".y", ".z"};
    const cri_points *s = &sc->s;
    int block = s->block_of[i];
    snprintf(out, n_byte, "%s%d%s", sc->body_name, block + 1, end[i - s->block[block].first]);
}

cr_status cri_points_check(const cri_points_scene *sc, const double *p, cr_error *err) {
    const cri_points *s = &sc->s;
    const cri_points_law *law = &sc->law;
    for (int i = 0; i < sc->n_p; i++) {
        bool is_positive = i < s->i_gravity;
        bool is_coefficient = i >= law->i_mu && i <= law->i_epsilon;
        double low = is_positive || is_coefficient ? 0.0 : -INFINITY;
        double high = i >= law->i_e && i < law->i_epsilon ? 1.0 : INFINITY;
        if (!isfinite(p[i]) || p[i] < low || p[i] > high || (is_positive && p[i] == 0.0)) {
            char name[64];
            cri_points_param_name(sc, i, name, sizeof name);
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "%s of system '%s' is %g; it must be %s", name,
                            sc->name, p[i],
                            is_positive       ? "positive"
                            : high < INFINITY ? "between 0 and 1"
                            : is_coefficient  ? "at least 0"
                                              : "a finite number");
        }
    }
    return CR_OK;
}

// ---- initial states -----------------------------------------------------------------------------

// Initial states of the systems of DCS (paper 000, App. H), drawn until nothing overlaps:
//
//   balls, disks   places U(0, 1); v N(0, 1), of disks N(0, 1)/2; angle U(0, 6.28), rate N(0, 1)/2
//   pendulum       absolute angles q U(0, 3.14), rates N(0, 1);   x = l sin q, y = -l cos q, summed
//   rope           the same, every angle the last one plus U(-0.3, 0.3), rest lengths
//   top            ZXZ angles U(-1.5, 1.5); rates U(-4.5, 4.5), U(-0.3, 0.3), +-1.5 N(7, 1)
//   billiards      as it is set up
//
// R = Rz(a) Rx(b) Rz(c), angular velocity a' z + b' Rz(a) x + c' R z.

static void draw_balls(const cri_points_scene *sc, cri_random *r, double *x) {
    int D = sc->s.n_dof;
    for (int i = 0; i < D; i++) {
        x[i] = cri_random_uniform(r, 0.0, 1.0);
    }
    for (int i = 0; i < D; i++) {
        x[D + i] = cri_random_normal(r);
    }
}

static void draw_disks(const cri_points_scene *sc, cri_random *r, double *x) {
    int D = sc->s.n_dof;
    for (int i = 0; i < sc->s.n_block; i++) {
        double at[2], speed[2];
        for (int c = 0; c < 2; c++) {
            at[c] = cri_random_uniform(r, 0.0, 1.0);
            speed[c] = 0.5 * cri_random_normal(r);
        }
        double angle = cri_random_uniform(r, 0.0, 6.28), rate = 0.5 * cri_random_normal(r);
        double arm[3][2] = {{0.0, 0.0}, {cos(angle), sin(angle)}, {-sin(angle), cos(angle)}};
        for (int k = 0; k < 3; k++) {
            double *q = x + 6 * i + 2 * k, *v = q + D;
            q[0] = at[0] + arm[k][0];
            q[1] = at[1] + arm[k][1];
            v[0] = speed[0] - rate * arm[k][1];
            v[1] = speed[1] + rate * arm[k][0];
        }
    }
}

// links one after another; every angle is drawn anew, or follows the last one
static void draw_links(const cri_points_scene *sc, cri_random *r, bool is_rope, double *x) {
    double at[4] = {0.0}, q = 0.0;
    int D = sc->s.n_dof;
    for (int k = 0; k < sc->s.n_point; k++) {
        double l = is_rope ? sc->s.spring[k].length : sc->s.tie[k].length;
        bool is_free = !is_rope || k == 0;
        q = is_free ? cri_random_uniform(r, 0.0, 3.14) : q + cri_random_uniform(r, -0.3, 0.3);
        double w = cri_random_normal(r);
        at[0] += l * sin(q);
        at[1] -= l * cos(q);
        at[2] += l * cos(q) * w;
        at[3] += l * sin(q) * w;
        memcpy(x + 2 * k, at, 2 * sizeof *at);
        memcpy(x + D + 2 * k, at + 2, 2 * sizeof *at);
    }
}

static void draw_top(cri_random *r, double *x) {
    double angle[3];
    for (int i = 0; i < 3; i++) {
        angle[i] = cri_random_uniform(r, -1.5, 1.5);
    }
    double turn = cri_random_uniform(r, -4.5, 4.5), nod = cri_random_uniform(r, -0.3, 0.3);
    double sign = cri_random_whole(r, 0, 1) ? 1.0 : -1.0;
    double spin = sign * 1.5 * (7.0 + cri_random_normal(r));
    double ca = cos(angle[0]), sa = sin(angle[0]), cb = cos(angle[1]), sb = sin(angle[1]);
    double cc = cos(angle[2]), sc = sin(angle[2]);
    double R[3][3] = {{ca * cc - sa * cb * sc, -ca * sc - sa * cb * cc, sa * sb},
                      {sa * cc + ca * cb * sc, -sa * sc + ca * cb * cc, -ca * sb},
                      {sb * sc, sb * cc, cb}};
    double omega[3] = {nod * ca + spin * R[0][2], nod * sa + spin * R[1][2], turn + spin * R[2][2]};
    for (int k = 0; k < 4; k++) {
        double *q = x + 3 * k, *v = q + 12;
        for (int c = 0; c < 3; c++) {
            q[c] = 0.5 * R[c][2] + (k > 0 ? R[c][k - 1] : 0.0);
        }
        for (int c = 0; c < 3; c++) {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            v[c] = omega[i] * q[j] - omega[j] * q[i];
        }
    }
}

bool cri_points_overlap(const cri_points_scene *scene, const double *x) {
    for (int i = 0; i < scene->n_touch; i++) {
        if (cri_points_gap(&scene->s, &scene->touch[i], x) < 0.0) {
            return true;
        }
    }
    return false;
}

bool cri_points_sample(const cri_points_scene *scene, cri_random *r, double *x) {
    CR_ASSERT(scene && r && x);
    for (int n = 0; n < MOST_DRAWS; n++) {
        switch (scene->kind) {
        case CRI_POINTS_BALLS:
            draw_balls(scene, r, x);
            break;
        case CRI_POINTS_DISKS:
            draw_disks(scene, r, x);
            break;
        case CRI_POINTS_PENDULUM:
        case CRI_POINTS_ROPE:
            draw_links(scene, r, scene->kind == CRI_POINTS_ROPE, x);
            break;
        case CRI_POINTS_TOP:
            draw_top(r, x);
            break;
        case CRI_POINTS_BILLIARDS:
            memcpy(x, scene->x0, sizeof *x * (size_t)scene->n_x);
            return true;
        }
        if (!cri_points_overlap(scene, x)) {
            return true;
        }
    }
    return false;
}
