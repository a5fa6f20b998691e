// SPDX-License-Identifier: MIT
//
// The gradient table: one row for every differentiable function of src/, at one point for every
// branch.
//
//   math      rotations, least squares               gradient_table_math.c
//   body      shapes, parameters, smooth motion      gradient_table_body.c
//   state     positions and poses of bodies          gradient_table_state.c
//   tree      dynamics of trees                      gradient_table_tree.c
//   solver    friction problems                      gradient_table_solver.c
//   law       contact laws                           gradient_table_law.c
//   ground    contact laws made of nets              gradient_table_ground.c
//   space     the same in space                      gradient_table_space.c
//   cone      the cone programme on its path         gradient_table_cone.c
//   contact   pairs of shapes, frames                gradient_table_contact.c
//   near      touches of geoms and limits, rows      gradient_table_near.c
//   jump      velocity jumps                         gradient_table_jump*.c
//   motion    motion with resting contacts           gradient_table_motion.c
//   step      both steppers                          gradient_table_step.c
//   sim       steps and rollouts of raw numbers      gradient_table_sim.c
//
// The differences run the whole function again, so every decision in it is taken again.

#include "gradient_table.h"

#include "sim/search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- rows --------------------------------------------------------------------------------------

/// The row under test, and which of its inputs move.
static struct {
    const table_row *row;
    int n;
    int index[TABLE_LIMIT];
} current;

static void spread(const double *x, double *all) {
    memcpy(all, current.row->x, sizeof *all * (size_t)current.row->n_in);
    for (int i = 0; i < current.n; i++) {
        all[current.index[i]] = x[i];
    }
}

static void row_forward(const double *x, double *y, void *cache) {
    (void)cache;
    double all[TABLE_LIMIT];
    spread(x, all);
    current.row->forward(all, y);
    for (int j = 0; j < current.row->n_out; j++) {
        y[j] += current.row->size > 0.0 ? current.row->size : 1.0;
    }
}

static void row_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    double all[TABLE_LIMIT], adj[TABLE_LIMIT] = {0};
    spread(x, all);
    // what stands in the adjoints already must stay
    for (int i = 0; i < current.n; i++) {
        adj[current.index[i]] = x_adj[i];
    }
    current.row->vjp(all, y_adj, adj);
    for (int i = 0; i < current.n; i++) {
        x_adj[i] = adj[current.index[i]];
    }
}

static void row_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    double all[TABLE_LIMIT], tan[TABLE_LIMIT] = {0};
    spread(x, all);
    for (int i = 0; i < current.n; i++) {
        tan[current.index[i]] = x_tan[i];
    }
    current.row->jvp(all, tan, y_tan);
}

void table_check(const table_row *row) {
    double point[TABLE_LIMIT];
    int positive[TABLE_LIMIT] = {0}, side[TABLE_LIMIT] = {0};
    assert_true(row->n_in <= TABLE_LIMIT && row->n_out <= TABLE_LIMIT);
    current.row = row;
    current.n = 0;
    for (int i = 0; i < row->n_in; i++) {
        table_move move = row->move ? row->move[i] : TABLE_FREE;
        if (move == TABLE_HELD) {
            continue;
        }
        positive[current.n] = move == TABLE_POSITIVE;
        side[current.n] = move == TABLE_UP ? 1 : move == TABLE_DOWN ? -1 : 0;
        point[current.n] = row->x[i];
        current.index[current.n++] = i;
    }
    cr_test_vjp(&(cr_vjp_case){.name = row->name,
                               .vjp_name = row->vjp_name,
                               .jvp_name = row->jvp_name,
                               .n_in = current.n,
                               .n_out = row->n_out,
                               .forward = row_forward,
                               .vjp = row->vjp ? row_vjp : NULL,
                               .jvp = row->jvp ? row_jvp : NULL,
                               .points = point,
                               .n_points = 1,
                               .step = row->step,
                               .tolerance = row->tolerance,
                               .positive = positive,
                               .side = side});
}

// ---- scenes ------------------------------------------------------------------------------------

void table_turn(cri_quat a, cri_quat b, double *theta) {
    cri_quat p = cri_quat_mul((cri_quat){a.w, -a.x, -a.y, -a.z}, b);
    double sign = p.w < 0.0 ? -1.0 : 1.0;
    cri_vec3 im = cri_v3_scale(sign, cri_v3(p.x, p.y, p.z));
    double sine = cri_v3_norm(im);
    // angle over sine; 2 at zero, where the first term left out is sine^2/3
    double ratio = sine > 1e-9 ? 2.0 * atan2(sine, sign * p.w) / sine : 2.0;
    cri_v3_store(cri_v3_scale(ratio, im), theta);
}

cr_sim_options table_options(const char *stepper, const char *law) {
    return (cr_sim_options){.stepper = stepper,
                            .law = law,
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-9,
                            .eps_time = 1e-9,
                            .event_cap = 32,
                            .use_gradient = true};
}

static void must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fail_msg("%s: %s", cr_status_text(status), err->text);
    }
}

void table_open(table_stage *s, const char *mjcf, const cr_sim_options *options) {
    cr_error err = {0};
    memset(s, 0, sizeof *s);
    must(cr_model_parse(mjcf, strlen(mjcf), "table scene", &s->model, &err), &err);
    must(cr_sim_create(s->model, options, &s->sim, &err), &err);
    s->sim->has_cache = true; // rows call what cr_sim_step would
    s->n = cr_model_sizes(s->model);
    s->n_d = s->sim->d.n_double;
    assert_true(s->n.n_x <= TABLE_LIMIT && s->n_d <= TABLE_LIMIT);
    cr_model_defaults(s->model, -1, NULL, s->x, NULL);
    assert_int_equal(cri_model_normalise(s->model, s->x), -1);
    memcpy(s->next, s->x, sizeof s->x);
    memcpy(s->d, s->sim->d.block, sizeof(double) * (size_t)s->n_d);
}

/// A kind of body: boxes and balls do not collide with each other.
typedef struct kind {
    char letter;
    double share; // of the floor's restitution
    const char *inertial, *geom;
} kind;

static const kind kinds[] = {
    {'o', 0.8, "mass='1.2' diaginertia='0.2 0.3 0.4'", "type='sphere' size='0.7' friction='0.1'"},
    {'p', 0.9, "mass='0.9' diaginertia='0.3 0.2 0.25'", "type='sphere' size='0.6' friction='0.2'"},
    {'q', 0.7, "mass='1.1' diaginertia='0.3 0.25 0.4'", "type='sphere' size='0.5' friction='0.15'"},
    {'r', 0.8, "mass='1.2' diaginertia='0.3 0.3 0.3'", "type='sphere' size='0.7' friction='0.1'"},
    {'x', 0.7, "mass='0.8' diaginertia='0.6 0.4 0.8'",
     "type='box' size='0.5 0.6 0.8' friction='0.12' contype='2' conaffinity='2'"},
    {'s', 0.6, "mass='1.2' diaginertia='0.5 0.6 0.9'",
     "type='box' size='0.9 0.8 0.2' friction='0.13' contype='2' conaffinity='2'"},
};

static const kind *kind_of(char letter) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (kinds[k].letter == letter) {
            return &kinds[k];
        }
    }
    fail_msg("no body %c", letter);
    return NULL;
}

/// Text that grows at its end.
typedef struct text {
    char data[6000];
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(text *t, const char *format, ...) {
    size_t end = strlen(t->data);
    va_list rest;
    va_start(rest, format);
    int n = vsnprintf(t->data + end, sizeof t->data - end, format, rest);
    va_end(rest);
    assert_true(n >= 0 && (size_t)n < sizeof t->data - end);
}

// coefficients of the pairs of each body with the floor, and of balls with each other
static void add_pairs(text *t, const table_scene *scene) {
    for (const char *c = scene->bodies; *c; c++) {
        add(t, "<numeric name='carom:friction:floor:%c' data='%.17g", *c, scene->friction);
        add(t, scene->friction2 > 0.0 ? " %.17g'/>" : "'/>", scene->friction2);
        add(t, "<numeric name='carom:restitution:floor:%c' data='%.17g'/>", *c, scene->restitution);
        for (const char *o = scene->bodies; o < c; o++) {
            if (!strchr("xs", *c) && !strchr("xs", *o)) {
                add(t, "<numeric name='carom:friction:%c:%c' data='%s'/>", *o, *c,
                    scene->friction2 > 0.0 ? "0.1 0.3" : "0.1");
                add(t, "<numeric name='carom:restitution:%c:%c' data='0.2'/>", *o, *c);
            }
        }
    }
}

void table_open_scene(table_stage *s, const table_scene *scene, const cr_sim_options *options) {
    text t = {""};
    add(&t, "<mujoco><option gravity='%s'/><custom>", scene->gravity ? scene->gravity : "0 0 0");
    add(&t, "<numeric name='carom:restitution:floor' data='%.17g'/>", scene->restitution);
    for (const char *c = scene->bodies; *c; c++) {
        add(&t, "<numeric name='carom:restitution:%c' data='%.17g'/>", *c,
            kind_of(*c)->share * scene->restitution);
    }
    if (scene->has_pairs) {
        add_pairs(&t, scene);
    }
    add(&t,
        "</custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1' zaxis='%s' friction='%.17g' contype='3'/>",
        scene->normal ? scene->normal : "0 0 1", scene->friction);
    for (const char *c = scene->bodies; *c; c++) {
        add(&t, "<body name='%c'><freejoint/><inertial pos='0 0 0' %s/><geom name='%c' %s/></body>",
            *c, kind_of(*c)->inertial, *c, kind_of(*c)->geom);
    }
    add(&t, "</worldbody><keyframe><key qpos='%s' qvel='%s'/></keyframe></mujoco>", scene->qpos,
        scene->qvel);
    table_open(s, t.data, options);
}

void table_close(table_stage *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
}

static int find_geom(const table_stage *s, const char *name) {
    for (int g = 0; g < s->n.n_geom; g++) {
        if (strcmp(s->model->geom_name[g], name) == 0) {
            return g;
        }
    }
    fail_msg("no geom %s", name);
    return -1;
}

cri_near table_near(const table_stage *s, const table_contact *c) {
    int pair = -1;
    if (!c->geom[0]) {
        assert_true(c->slot < s->model->n_limit);
        return cri_near_limit(s->model, c->slot);
    }
    int a = find_geom(s, c->geom[0]), b = find_geom(s, c->geom[1]);
    assert_true(cri_model_may_collide(s->model, a, b, &pair));
    return cri_near_geoms(s->model, a, b, pair);
}

void table_set_trees(const table_stage *s, cri_state *state, cr_arena *keep, cr_arena *scratch) {
    for (int u = 0; u < s->model->mech.n_unit; u++) {
        if (!s->model->mech.unit[u].is_free_body) {
            assert_non_null(cri_state_tree(s->model, &s->sim->d, state, u, keep, scratch));
        }
    }
}

void table_displace(const table_stage *s, const double *y, double *x) {
    int n_q = s->n.n_q, n_v = s->n.n_v;
    for (int j = 0; j < s->model->mech.n_joint; j++) {
        const cri_joint *joint = &s->model->mech.joint[j];
        int n = joint->n_v == 1 ? 1 : joint->n_v - 3, q = joint->q;
        const double *step = y + joint->v;
        for (int i = 0; i < n; i++) {
            x[q + i] = s->x[q + i] + step[i];
        }
        if (joint->n_v > 1) {
            cri_quat turn = cri_quat_exp(cri_v3_load(step + n));
            cri_q4_store(cri_quat_mul(cri_q4_load(s->x + q + n), turn), x + q + n);
        }
    }
    for (int i = 0; i < n_v; i++) {
        x[n_q + i] = s->x[n_q + i] + y[n_v + i];
    }
}

void table_output(const table_stage *s, const double *x, double *y) {
    for (int j = 0; j < s->model->mech.n_joint; j++) {
        const cri_joint *joint = &s->model->mech.joint[j];
        int n = joint->n_v == 1 ? 1 : joint->n_v - 3, q = joint->q;
        memcpy(y + joint->v, x + q, sizeof *y * (size_t)n);
        if (joint->n_v > 1) {
            table_turn(cri_q4_load(s->next + q + n), cri_q4_load(x + q + n), y + joint->v + n);
        }
    }
    memcpy(y + s->n.n_v, x + s->n.n_q, sizeof *y * (size_t)s->n.n_v);
}

// ---- derived parameters ------------------------------------------------------------------------

void table_set_derived(table_stage *s, const double *d) {
    memcpy(s->sim->d.block, d, sizeof *d * (size_t)s->n_d);
    assert_true(cri_scan_prepare(s->sim));
}

static void set_moves(const table_stage *s, const double *from, int n, table_move how,
                      table_move *move) {
    for (int i = 0; i < n; i++) {
        move[from - s->sim->d.block + i] = how;
    }
}

// numbers that nothing reads are held: those of the other kind of body
static void move_body(const table_stage *s, int b, table_move *move) {
    const cri_derived *d = &s->sim->d;
    int unit = s->model->mech.link[b].unit;
    bool is_free = unit >= 0 && s->model->mech.unit[unit].is_free_body;
    const double *body = &d->body[b].inv_mass, *link = &d->mech.link[b].mass;
    set_moves(s, body, 7, is_free ? TABLE_POSITIVE : TABLE_HELD, move);
    set_moves(s, link, 10, is_free || unit < 0 ? TABLE_HELD : TABLE_FREE, move);
    if (unit >= 0 && !is_free && d->mech.link[b].mass > 0.0) {
        set_moves(s, link, 1, TABLE_POSITIVE, move);
    }
}

void table_move_derived(const table_stage *s, table_move *move) {
    const cri_derived *d = &s->sim->d;
    set_moves(s, d->block, s->n_d, TABLE_FREE, move);
    for (int b = 0; b < s->n.n_body; b++) {
        move_body(s, b, move);
    }
    // sizes of geoms, but for a plane's offset
    for (int g = 0; g < s->n.n_geom; g++) {
        bool is_plane = s->model->geom[g].shape == CRI_SHAPE_PLANE;
        set_moves(s, d->geom[g].size, 3, TABLE_HELD, move);
        set_moves(s, d->geom[g].size, s->model->geom[g].n_size,
                  is_plane ? TABLE_FREE : TABLE_POSITIVE, move);
    }
    // gears that have no slot
    for (int a = 0; a < s->model->mech.n_actuator; a++) {
        int n_gear = s->model->n_gear[a];
        set_moves(s, d->mech.actuator[a].gear + n_gear, 6 - n_gear, TABLE_HELD, move);
    }
}

void table_begin_derived_adj(table_stage *s) {
    memset(s->sim->d_adj.block, 0, sizeof(double) * (size_t)s->n_d);
}

void table_add_derived_adj(const table_stage *s, double *adj) {
    for (int i = 0; i < s->n_d; i++) {
        adj[i] += s->sim->d_adj.block[i];
    }
}

int main(void) {
    int n_failed = gradient_table_math() + gradient_table_body() + gradient_table_state() +
                   gradient_table_tree() + gradient_table_solver() + gradient_table_law() +
                   gradient_table_ground() + gradient_table_space() + gradient_table_cone() +
                   gradient_table_contact() + gradient_table_near() + gradient_table_jump() +
                   gradient_table_jump_tree() + gradient_table_motion() + gradient_table_step() +
                   gradient_table_sim() + gradient_table_points() + gradient_table_points_jump();
    return cr_test_exit(n_failed);
}
