// SPDX-License-Identifier: MIT
//
// The implicit step and its laws: flight, momentum, rest, what must not pass through what, and bad
// input. Derivatives: test/gradient_table_implicit.c.

#include "cr_test.h"

#include "sim/implicit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage {
    cr_model *model;
    cr_sim *sim;
    cr_sizes z;
    double x[64];
} stage;

static stage open_stage(const char *text, const char *law) {
    stage s = {0};
    cr_error err = {0};
    if (cr_model_parse(text, strlen(text), "scene", &s.model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(s.model);
    options.law = law;
    if (cr_sim_create(s.model, &options, &s.sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    s.z = cr_model_sizes(s.model);
    assert_true(s.z.n_x <= 64);
    cr_model_defaults(s.model, 0, NULL, s.x, NULL);
    return s;
}

static void close_stage(stage *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
}

static void step(stage *s, double dt) {
    cr_error err = {0};
    if (cr_sim_step(s->sim, dt, s->x, NULL, s->x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(s->sim)->outcome, CR_SOLVED);
}

#define BODY(name, shape, pos)                                                                     \
    "<body name='" name "' pos='" pos "'><freejoint/><geom name='" name "' " shape                 \
    " mass='2'/></body>"
#define SCENE(numbers, world)                                                                      \
    "<mujoco><custom>" numbers "</custom><worldbody>" world "</worldbody></mujoco>"
#define MU(mu) "<numeric name='carom:potential:mu' data='" mu "'/>"
#define FLOOR "<geom name='floor' type='plane' size='9 9 1'/>"

TEST(flight_is_that_of_implicit_euler) {
    stage s = open_stage(SCENE("", BODY("a", "type='box' size='.1 .1 .1'", "1 2 3")), "longrange");
    double z = 3.0, v = 0.0;
    s.x[7] = 0.5;
    for (int k = 0; k < 10; k++) {
        step(&s, 0.02);
        v -= 9.81 * 0.02;
        z += v * 0.02;
        CHECK_CLOSE(s.x[2], z, 1e-10, 0.0);
        CHECK_CLOSE(s.x[9], v, 1e-8, 0.0);
    }
    CHECK_CLOSE(s.x[0], 1.0 + 0.5 * 0.2, 1e-10, 0.0);
    close_stage(&s);
}

TEST(two_bodies_conserve_momentum) {
    stage s = open_stage(SCENE(MU("1e-4"), BODY("a", "type='box' size='.1 .12 .1'", "0 0 0") BODY(
                                               "b", "type='box' size='.1 .1 .1'", ".25 .03 .02")),
                         "longrange");
    double g[128];
    cr_error err = {0};
    cr_model_defaults(s.model, -1, g, NULL, NULL);
    memset(g, 0, 3 * sizeof *g);
    assert_int_equal(cr_sim_set_params(s.sim, g, &err), CR_OK);
    s.x[14] = 1.0;
    for (int k = 0; k < 6; k++) {
        step(&s, 0.02);
    }
    // the first has given some of its momentum to the second
    CHECK_CLOSE(s.x[14] + s.x[20], 1.0, 1e-8, 0.0);
    CHECK_CLOSE(s.x[15] + s.x[21], 0.0, 1e-8, 0.0);
    CHECK(s.x[20] > 0.1);
    close_stage(&s);
}

TEST(a_box_rests_where_its_weight_is_carried) {
    stage s = open_stage(
        SCENE(MU("1e-6"), FLOOR BODY("a", "type='box' size='.1 .12 .1'", "0 0 .104")), "longrange");
    for (int k = 0; k < 30; k++) {
        step(&s, 0.05);
    }
    int n = 0;
    const cr_contact *c = cr_sim_contacts(s.sim, &n);
    assert_int_equal(n, 1);
    CHECK_CLOSE(c[0].impulse[2], 2.0 * 9.81 * 0.05, 0.0, 1e-6);
    CHECK_CLOSE(c[0].normal[2], 1.0, 1e-6, 0.0);
    CHECK(c[0].gap > 1e-4 && c[0].gap < 1e-2);
    close_stage(&s);
}

// a ball of 2 cm against a plate of 2 mm, at 100 of its sizes a step
static void shoot(const char *law) {
    static const char scene[] =
        SCENE("", "<geom name='plate' type='box' size='.001 1 1'/>"
                  "<body name='ball' pos='-.3 .02 .03'><freejoint/>"
                  "<geom name='ball' type='box' size='.01 .012 .009' mass='.1'/></body>");
    stage s = open_stage(scene, law);
    s.x[7] = 200.0;
    for (int k = 0; k < 3; k++) {
        step(&s, 0.01);
        int geom[2];
        CHECK(s.x[0] < 0.0);
        CHECK(!cri_potential_meet(
            s.sim->potential, ((const cri_implicit_record *)s.sim->last->data)->next.pose, geom));
    }
    close_stage(&s);
}

TEST(nothing_tunnels) {
    shoot("longrange");
    shoot("ipc");
    shoot("sdrs");
    shoot("rough");
}

// a pyramid with a dent in its base: a box flies at the dent, every step is solved, and the box
// turns back below the base
TEST(sdrs_pushes_from_where_hulls_begin) {
    static const char scene[] =
        "<mujoco><asset><mesh name='dent' vertex='-.1 -.1 0 .1 -.1 0 .1 .1 0 -.1 .1 0 0 0 .2 0 0 "
        ".15' face='0 1 4 1 2 4 2 3 4 3 0 4 1 0 5 2 1 5 3 2 5 0 3 5'/></asset>"
        "<option gravity='0 0 0'/><worldbody>"
        "<geom name='dent' type='mesh' mesh='dent'/><body name='b' pos='0 0 -.2'><freejoint/>"
        "<geom name='b' type='box' size='.02 .02 .02' mass='.1'/></body></worldbody></mujoco>";
    stage s = open_stage(scene, "sdrs");
    double most = -1.0;
    s.x[9] = 2.0;
    for (int k = 0; k < 40; k++) {
        step(&s, 0.005);
        most = fmax(most, s.x[2]);
    }
    CHECK(most < -0.02 && most > -0.1);
    CHECK(s.x[9] < 0.0); // it comes back
    close_stage(&s);
}

// without a barrier bodies may overlap, at the start too, and are pushed out to where four corners
// carry the weight: mu h = m g/4, h (h + s) = (1e-3)^2/4
// half of the way to a tenth of this gap would be too close for numbers
TEST(a_gap_near_rounding_is_a_start) {
    stage s = open_stage(SCENE(MU("1e-22"), BODY("a", "type='box' size='.1 .1 .1'", "0 0 0")
                                                BODY("b", "type='box' size='.1 .1 .1'", ".2 0 0")),
                         "longrange");
    cr_error err = {0};
    s.x[7] = 0.2 + 3e-10;
    s.x[14] = 1.0;
    CHECK_INT(cr_sim_step(s.sim, 0.02, s.x, NULL, s.x, &err), CR_OK);
    CHECK(s.x[7] - s.x[0] > 0.2);
    close_stage(&s);
}

// a step of two boxes so far apart: where it ends, and the adjoint of its end
static int pull_back(const char *law, double gap, double x[26], double adj[26]) {
    double seed[26];
    stage s = open_stage(SCENE("", BODY("a", "type='box' size='.1 .1 .1'", "0 0 0")
                                       BODY("b", "type='box' size='.1 .1 .1'", "0 .02 .05")),
                         law);
    cr_error err = {0};
    for (int i = 0; i < 26; i++) {
        seed[i] = i + 1;
    }
    s.x[7] = 0.2 + gap;
    s.x[14] = 0.1;
    step(&s, 0.02);
    CHECK_INT(cr_sim_step_vjp(s.sim, seed, adj, NULL, NULL, &err), CR_OK);
    memcpy(x, s.x, 26 * sizeof *x);
    int grad = (int)cr_sim_report(s.sim)->grad;
    close_stage(&s);
    return grad;
}

TEST(a_few_steps_of_descent_see_less_of_a_contact) {
    for (int k = 0; k < 2; k++) {
        double x[2][26], adj[2][26] = {{0}}, apart = 0.0, gap = k ? 5e-3 : 0.5;
        CHECK(!(pull_back("ipc", gap, x[0], adj[0]) & CR_GRAD_UNROLLED));
        CHECK(pull_back("ipc-descent", gap, x[1], adj[1]) & CR_GRAD_UNROLLED);
        CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);
        for (int i = 0; i < 26; i++) {
            apart = fmax(apart, fabs(adj[0][i] - adj[1][i]));
        }
        // matrices of what flies are diagonal here, so that one step is all
        CHECK(k ? apart > 1e-3 : apart < 1e-9);
    }
}

TEST(a_penalty_starts_in_an_overlap_and_carries_the_weight) {
    static const char *const floor[2] = {FLOOR, "<geom type='box' size='1 1 .5' pos='.1 .2 -.5'/>"};
    for (int k = 0; k < 2; k++) {
        char text[1024];
        snprintf(text, sizeof text, SCENE("", "%s%s"), floor[k],
                 BODY("a", "type='box' size='.1 .12 .1'", "0 0 .09"));
        stage s = open_stage(text, "penalty");
        for (int i = 0; i < 60; i++) {
            step(&s, 0.05);
        }
        double h = 2.0 * 9.81 / 4e4, gap = 0.25e-6 / h - h;
        CHECK_CLOSE(s.x[2], 0.1 + gap, 2e-5, 0.0);
        CHECK_CLOSE(s.x[9], 0.0, 1e-4, 0.0);
        close_stage(&s);
    }
}

// three boxes and a plate thrown at each other: the text of a scene, and speeds
static void random_scene(cr_test_rng *rng, char *text, size_t n_byte) {
    size_t used = (size_t)snprintf(text, n_byte, "<mujoco><worldbody>");
    for (int b = 0; b < 4; b++) {
        double thin = b == 3 ? 0.002 : cr_test_uniform(rng, 0.05, 0.2);
        used += (size_t)snprintf(
            text + used, n_byte - used,
            "<body name='b%d' pos='%g %g %g' euler='%g %g %g'><freejoint/><geom type='box' "
            "size='%g %g %g' mass='1' friction='.5'/></body>",
            b, b % 2 + 0.0, b / 2 + 0.0, cr_test_uniform(rng, -0.2, 0.2),
            cr_test_uniform(rng, -180, 180), cr_test_uniform(rng, -180, 180),
            cr_test_uniform(rng, -180, 180), cr_test_uniform(rng, 0.05, 0.2),
            cr_test_uniform(rng, 0.05, 0.2), thin);
    }
    snprintf(text + used, n_byte - used, "</worldbody></mujoco>");
}

// CAROM_SCENES sets how many; 10,000 take some minutes
TEST(random_throws_never_meet) {
    const char *asked = getenv("CAROM_SCENES");
    int n_scene = asked ? atoi(asked) : 4, n_met = 0, n_unsolved = 0;
    cr_test_rng rng = cr_test_rng_of(7);
    for (int k = 0; k < n_scene; k++) {
        char text[2048];
        random_scene(&rng, text, sizeof text);
        stage s = open_stage(text, "longrange");
        for (int b = 0; b < 4; b++) {
            // towards the middle, at up to 40 m/s
            for (int i = 0; i < 3; i++) {
                double middle = i < 2 ? 0.5 - s.x[7 * b + i] : 0.0;
                s.x[28 + 6 * b + i] = 80.0 * cr_test_uniform(&rng, 0.0, 1.0) * middle;
                s.x[28 + 6 * b + 3 + i] = cr_test_uniform(&rng, -20.0, 20.0);
            }
        }
        for (int i = 0; i < 3; i++) {
            cr_error err = {0};
            int geom[2];
            if (cr_sim_step(s.sim, 0.02, s.x, NULL, s.x, &err) != CR_OK) {
                fail_msg("scene %d: %s", k, err.text);
            }
            n_unsolved += cr_sim_report(s.sim)->outcome != CR_SOLVED;
            const cri_implicit_record *record = s.sim->last->data;
            n_met += cri_potential_meet(s.sim->potential, record->next.pose, geom);
        }
        close_stage(&s);
    }
    CHECK_INT(n_met, 0);
    CHECK_INT(n_unsolved, 0);
    if (asked) {
        printf("%d scenes, %d meet, %d steps of %d unsolved\n", n_scene, n_met, n_unsolved,
               3 * n_scene);
    }
}

static cr_status try_start(const char *text, cr_error *err) {
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_status status = cr_model_parse(text, strlen(text), "scene", &model, err);
    if (status == CR_OK) {
        double x[64];
        cr_sim_options options = cr_sim_options_default(model);
        options.law = "longrange";
        cr_model_defaults(model, -1, NULL, x, NULL);
        status = cr_sim_create(model, &options, &sim, err);
        status = status == CR_OK ? cr_sim_step(sim, 0.01, x, NULL, x, err) : status;
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    return status;
}

// steps of 0.08 s, in which a body falls by a third of its size: three boxes that are dropped on a
// floor come to rest on each other
TEST(long_steps_are_stable) {
    stage s = open_stage(SCENE(MU("1e-7"),
                               FLOOR BODY("a", "type='box' size='.1 .1 .1'", "0 0 .2")
                                   BODY("b", "type='box' size='.1 .1 .1'", ".02 .01 .5")
                                       BODY("c", "type='box' size='.1 .1 .1'", "-.02 .02 .8")),
                         "longrange");
    for (int k = 0; k < 40; k++) {
        step(&s, 0.08);
    }
    for (int b = 0; b < 3; b++) {
        const double *v = s.x + s.z.n_q + 6 * b;
        CHECK(fabs(s.x[7 * b + 2] - (0.1 + 0.2 * b)) < 0.02);
        CHECK(hypot(hypot(v[0], v[1]), v[2]) < 0.01);
    }
    close_stage(&s);
}

TEST(bad_input_is_named) {
    cr_error err = {0};
    CHECK_INT(try_start(SCENE("", BODY("a", "type='box' size='.1 .1 .1'", "0 0 0")
                                      BODY("b", "type='box' size='.1 .1 .1'", ".1 0 0")),
                        &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "a and b touch or overlap"));
    CHECK_INT(try_start(SCENE(MU("0"), BODY("a", "size='.1'", "0 0 0")), &err), CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "mu is 0"));
    CHECK_INT(try_start(SCENE("<numeric name='carom:potential:eps' data='-1'/>",
                              BODY("a", "size='.1'", "0 0 0")),
                        &err),
              CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "eps is -1"));
    CHECK_INT(try_start(SCENE("<numeric name='carom:potential:eps:b' data='1'/>",
                              BODY("a", "size='.1'", "0 0 0")),
                        &err),
              CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "names no geom of this scene: 'b'"));
    CHECK_INT(try_start(SCENE("<numeric name='carom:potential:eps:a' data='0'/>",
                              BODY("a", "size='.1'", "0 0 0")),
                        &err),
              CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "eps of a is not more than 0"));
    CHECK_INT(try_start(SCENE("<numeric name='carom:potential:eps:floor' data='1'/>",
                              "<geom name='floor' type='plane' size='1 1 1'/>" BODY(
                                  "a", "size='.1'", "0 0 1")),
                        &err),
              CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "floor is a plane"));
    // one inside of another, whose triangles do not meet
    CHECK_INT(try_start(SCENE("", BODY("a", "type='box' size='.5 .5 .5'", "0 0 0")
                                      BODY("b", "type='box' size='.1 .1 .1'", ".1 0 0")),
                        &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "a and b touch or overlap"));
    CHECK_INT(try_start(SCENE("<numeric name='carom:potential:slip' data='1e-300'/>",
                              "<geom name='floor' type='plane' size='1 1 1'/>" BODY(
                                  "a", "type='box' size='.1 .1 .1'", "0 0 .11")),
                        &err),
              CR_ERR_NUMERIC);
    CHECK(strstr(err.text, "is no number"));
}

#define BOX "type='box' size='.1 .1 .1'"
#define THREE BODY("a", BOX, "0 0 0") BODY("b", BOX, ".4 .1 0") BODY("c", BOX, "3 0 0")

// speed of a and b after a step apart from each other
static void push_apart(const char *text, double speed[2]) {
    stage s = open_stage(text, "longrange");
    step(&s, 0.01);
    speed[0] = s.x[s.z.n_q];
    speed[1] = s.x[s.z.n_q + 6];
    close_stage(&s);
}

TEST(shells_of_one_geom_are_those_of_its_pairs) {
    double narrow[2], wide[2], of_a[2], of_b[2], of_c[2];
    push_apart(SCENE(MU("1e-4"), THREE), narrow);
    push_apart(SCENE(MU("1e-4") "<numeric name='carom:potential:eps' data='2'/>", THREE), wide);
    push_apart(SCENE(MU("1e-4") "<numeric name='carom:potential:eps:a' data='2'/>", THREE), of_a);
    push_apart(SCENE(MU("1e-4") "<numeric name='carom:potential:eps:b' data='2'/>", THREE), of_b);
    push_apart(SCENE(MU("1e-4") "<numeric name='carom:potential:eps:c' data='2'/>", THREE), of_c);
    for (int i = 0; i < 2; i++) {
        double part = fabs(wide[i] - narrow[i]);
        CHECK(part > 0.1 * fabs(wide[i]));
        // c is beyond the shells of both
        CHECK(fabs(of_a[i] - wide[i]) < 1e-9 * part && fabs(of_b[i] - wide[i]) < 1e-9 * part);
        CHECK(fabs(of_c[i] - narrow[i]) < 1e-9 * part);
    }
}

TEST(words_of_the_potential_change_the_push) {
    static const char *const words[] = {
        "<text name='carom:potential:clusters' data='whole'/>",
        "<numeric name='carom:potential:length' data='2'/>",
        "<numeric name='carom:potential:eps' data='1'/>",
    };
    double plain[2], single[2], own[2];
    push_apart(SCENE(MU("1e-4"), THREE), plain);
    push_apart(SCENE(MU("1e-4") "<text name='carom:potential:clusters' data='single'/>", THREE),
               single);
    CHECK(single[0] == plain[0] && single[1] == plain[1]);
    for (int k = 0; k < 3; k++) {
        char text[2048];
        snprintf(text, sizeof text, SCENE(MU("1e-4") "%s", THREE), words[k]);
        push_apart(text, own);
        CHECK(fabs(own[0] - plain[0]) > 0.01 * fabs(plain[0]));
    }
}

TEST(triangles_without_area_are_left_out) {
    static const double vertex[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0};
    static const int triangle[] = {0, 1, 4, 0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3, 2, 2, 3};
    cr_arena *arena = cri_arena_create(1024);
    cri_tessellation t;
    cr_error err = {0};
    const cri_mesh_view mesh = {5, 6, vertex, triangle}, needles = {5, 1, vertex, triangle};
    assert_int_equal(cri_tessellate(CRI_SHAPE_MESH, &mesh, arena, &t, &err), CR_OK);
    CHECK_INT(t.n_triangle, 4);
    CHECK_INT(cri_tessellate(CRI_SHAPE_MESH, &needles, arena, &t, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "without area"));
    cri_arena_destroy(arena);
}

TEST(a_mesh_with_a_needle_is_told_of) {
#define SOLID(faces)                                                                               \
    "<mujoco><asset><mesh name='m' vertex='0 0 0 .1 0 0 0 .1 0 0 0 .1' face='" faces               \
    "'/></asset><worldbody>" FLOOR BODY("a", "type='mesh' mesh='m'",                               \
                                        "0 0 .3") "</worldbody></mujoco>"
    stage whole = open_stage(SOLID("0 2 1 0 1 3 0 3 2 1 2 3"), "longrange");
    stage s = open_stage(SOLID("0 2 1 0 1 3 0 3 2 1 2 3 1 1 2"), "longrange");
    const char *warning = cr_model_warning(s.model);
    CHECK(!cr_model_warning(whole.model));
    assert_non_null(warning);
    CHECK_TEXT(warning, "mesh m: 1 triangle has no area");
    step(&whole, 0.02);
    step(&s, 0.02);
    for (int i = 0; i < s.z.n_x; i++) {
        CHECK_CLOSE(s.x[i], whole.x[i], 1e-14, 0);
    }
    close_stage(&s);
    close_stage(&whole);
}

// a carriage on a long arm, held by a strong spring: joints round its place to 1e-14 m, and with
// the spring's 3e4 N that is what the energy cannot tell
TEST(a_strong_spring_far_away_is_solved) {
    stage s = open_stage(
        SCENE("", "<body><joint type='hinge' axis='0 0 1' stiffness='1e6'/>"
                  "<geom size='.1' mass='1' contype='0' conaffinity='0'/><body pos='50 0 0'>"
                  "<joint type='slide' axis='1 0 0' stiffness='1e5'/><geom name='a' type='box' "
                  "size='.1 .1 .1' mass='20'/></body></body>"),
        "longrange");
    s.x[0] = 0.7;
    s.x[1] = 0.3;
    int most = 0;
    for (int k = 0; k < 100; k++) {
        step(&s, 0.01);
        int n = cr_sim_report(s.sim)->n_iteration;
        most = n > most ? n : most;
    }
    CHECK(most <= 8);
    close_stage(&s);
}

// a servo many turns from zero against a damper: its force is a difference of large numbers
TEST(a_servo_many_turns_away_is_solved) {
    static const char scene[] =
        "<mujoco><custom><numeric name='carom:potential:mu' data='1e-3'/></custom><worldbody>"
        "<geom type='box' size='.1 .1 .1' pos='1 .5 0'/>"
        "<body><joint name='j' type='hinge' axis='0 0 1' damping='500'/>"
        "<geom name='a' type='box' size='.1 .1 .1' pos='1 0 0' mass='.02'/></body></worldbody>"
        "<actuator><position joint='j' kp='1000'/></actuator></mujoco>";
    stage s = open_stage(scene, "longrange");
    cr_error err = {0};
    int most = 0;
    s.x[0] = -1256.6370614359173; // 200 turns
    for (int k = 0; k < 100; k++) {
        const double u[2] = {-1256.637 - 0.01 * k, 0.0};
        assert_int_equal(cr_sim_step(s.sim, 0.04, s.x, u, s.x, &err), CR_OK);
        CHECK_INT(cr_sim_report(s.sim)->outcome, CR_SOLVED);
        int n = cr_sim_report(s.sim)->n_iteration;
        most = n > most ? n : most;
    }
    CHECK(most <= 8);
    close_stage(&s);
}

// every edge once in each direction: closed, and all triangles turned the same way
TEST(shapes_are_closed_surfaces) {
    static const int n_triangle[] = {0, 128, 160, 128, 64, 12};
    cr_arena *arena = cri_arena_create(1 << 14);
    for (int kind = CRI_SHAPE_SPHERE; kind <= CRI_SHAPE_BOX; kind++) {
        cri_tessellation t;
        assert_int_equal(cri_tessellate((cri_shape_kind)kind, NULL, arena, &t, NULL), CR_OK);
        CHECK_INT(t.n_triangle, n_triangle[kind]);
        for (int i = 0; i < 3 * t.n_triangle; i++) {
            int a = t.triangle[i], b = t.triangle[i - i % 3 + (i + 1) % 3], n = 0;
            for (int k = 0; k < 3 * t.n_triangle; k++) {
                n += t.triangle[k] == b && t.triangle[k - k % 3 + (k + 1) % 3] == a;
            }
            CHECK_INT(n, 1);
        }
        static const double size[3] = {0.5, 0.7, 0.9};
        const cri_pose frame = {.R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        double x[480], volume = 0.0;
        cri_tessellation_place(&t, size, &frame, x);
        for (int i = 0; i < t.n_triangle; i++) {
            const int *c = t.triangle + 3 * i;
            cri_vec3 cross = cri_v3_cross(cri_v3_load(x + 3 * c[1]), cri_v3_load(x + 3 * c[2]));
            volume += cri_v3_dot(cri_v3_load(x + 3 * c[0]), cross) / 6.0;
        }
        CHECK(volume > 0.0);
    }
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(flight_is_that_of_implicit_euler, two_bodies_conserve_momentum,
             a_box_rests_where_its_weight_is_carried, nothing_tunnels,
             sdrs_pushes_from_where_hulls_begin, a_gap_near_rounding_is_a_start,
             a_few_steps_of_descent_see_less_of_a_contact,
             a_penalty_starts_in_an_overlap_and_carries_the_weight, random_throws_never_meet,
             long_steps_are_stable, bad_input_is_named, shells_of_one_geom_are_those_of_its_pairs,
             words_of_the_potential_change_the_push, triangles_without_area_are_left_out,
             a_mesh_with_a_needle_is_told_of, a_strong_spring_far_away_is_solved,
             a_servo_many_turns_away_is_solved, shapes_are_closed_surfaces)
