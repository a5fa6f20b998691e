// SPDX-License-Identifier: MIT
//
// Contact forces against MuJoCo, where soft and rigid contact agree: at rest, whatever yields has
// done so, and forces are what statics asks for.
//
//   block on a slope       sum of forces (m g sin a, m g cos a), a < atan mu
//   friction angle         starts to slide at atan mu
//   stack of three         forces between neighbours carry everything above
//
// MuJoCo has elliptic cones here, and as many iterations as it takes. It creeps while it sticks, at
// about 1 mm/s, and a sliding block hops; so its friction angle is known to 1e-3, and forces of
// sliding blocks are not compared. Gravity is tilted instead of the floor.

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

#include "carom/carom.h"
#include "support/cr_test.h"

// of the weight: MuJoCo's stack on a slope creeps on and keeps 2e-7 however long it stands; Carom's
// own to the rounding of its solves
#define TOLERANCE 1e-6
#define OWN_TOLERANCE 1e-9

// g of all scenes, and the step of both
static const double g = 9.81, dt = 0.002;

enum { N_BOX = 3, N_X = 13 * N_BOX };

typedef struct pile {
    int n_box;
    mjModel *m;
    mjData *d;
    cr_model *model;
    cr_sim *sim;
    double x[N_X];
} pile;

// a warning would make MuJoCo write a file into the working folder
static void ignore(const char *text) {
    (void)text;
}

// boxes on each other, all of one size (else MuJoCo's never come to rest), of masses 1, 2, 3 kg
static void write_scene(int n_box, double mu, double angle, char *text, size_t n_byte) {
    int n = snprintf(text, n_byte,
                     "<mujoco><option timestep='%.17g' gravity='%.17g 0 %.17g'/>"
                     "<default><geom friction='%.17g'/></default><worldbody>"
                     "<geom name='floor' type='plane' size='9 9 1'/>",
                     dt, g * sin(angle), -g * cos(angle), mu);
    for (int i = 0; i < n_box; i++) {
        n += snprintf(text + n, n_byte - (size_t)n,
                      "<body name='b%d' pos='0 0 %.17g'><freejoint/><geom name='b%d' type='box' "
                      "size='0.2 0.1 0.05' mass='%d'/></body>",
                      i, 0.05 + 0.1 * i, i, i + 1);
    }
    snprintf(text + n, n_byte - (size_t)n, "</worldbody></mujoco>");
}

static void open_mujoco(pile *s, const char *text) {
    const char *path = CAROM_BINARY_DIR "/mujoco_contact.xml";
    char error[500] = "";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    mju_user_warning = ignore;
    s->m = mj_loadXML(path, NULL, error, sizeof error);
    s->d = s->m ? mj_makeData(s->m) : NULL;
    remove(path);
    if (!s->d) {
        fail_msg("MuJoCo: %s", error);
    }
    s->m->opt.cone = mjCONE_ELLIPTIC;
    s->m->opt.solver = mjSOL_NEWTON;
    s->m->opt.iterations = 200;
    s->m->opt.tolerance = 0.0;
}

static pile open_pile(int n_box, double mu, double angle) {
    pile s = {.n_box = n_box};
    char text[2000];
    cr_error err = {0};
    write_scene(n_box, mu, angle, text, sizeof text);
    open_mujoco(&s, text);
    if (cr_model_parse(text, strlen(text), "pile", &s.model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(s.model);
    if (cr_sim_create(s.model, &options, &s.sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_model_defaults(s.model, -1, NULL, s.x, NULL);
    return s;
}

static void close_pile(pile *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
    mj_deleteData(s->d);
    mj_deleteModel(s->m);
}

static void step_carom(pile *s, int n) {
    cr_error err = {0};
    for (int i = 0; i < n; i++) {
        if (cr_sim_step(s->sim, dt, s->x, NULL, s->x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
        CHECK_INT(cr_sim_report(s->sim)->outcome, CR_SOLVED);
    }
}

static void step_mujoco(pile *s, int n) {
    for (int i = 0; i < n; i++) {
        mj_step(s->m, s->d);
    }
}

// geoms are numbered from the floor up: adds a force on the second of two geoms to that on the
// upper one
static void add_force(const int geom[2], const double *force, double scale, double sum[N_BOX][3]) {
    int upper = geom[0] > geom[1] ? geom[0] : geom[1];
    double sign = geom[1] == upper ? scale : -scale;
    assert_true(upper >= 1 && upper <= N_BOX);
    for (int k = 0; k < 3; k++) {
        sum[upper - 1][k] += sign * force[k];
    }
}

// force of the last step on box i from what is below it
static void carom_forces(pile *s, double sum[N_BOX][3]) {
    int n;
    const cr_contact *contact = cr_sim_contacts(s->sim, &n);
    memset(sum, 0, sizeof(double[N_BOX][3]));
    for (int i = 0; i < n; i++) {
        add_force(contact[i].geom, contact[i].impulse, 1.0 / dt, sum);
    }
}

static void mujoco_forces(pile *s, double sum[N_BOX][3]) {
    mj_forward(s->m, s->d);
    memset(sum, 0, sizeof(double[N_BOX][3]));
    for (int i = 0; i < s->d->ncon; i++) {
        const mjContact *contact = &s->d->contact[i];
        double wrench[6], force[3];
        int geom[2] = {contact->geom1, contact->geom2};
        mj_contactForce(s->m, s->d, i, wrench);
        mju_mulMatTVec(force, contact->frame, wrench, 3, 3);
        add_force(geom, force, 1.0, sum);
    }
}

// forces of a pile that sticks, after a time for MuJoCo to settle; what carries box i carries all
// above
static void compare_rest(int n_box, double mu, double angle, double seconds, double *most) {
    pile s = open_pile(n_box, mu, angle);
    double ours[N_BOX][3], theirs[N_BOX][3], above = 0.0;
    step_carom(&s, 100);
    step_mujoco(&s, (int)(seconds / dt));
    carom_forces(&s, ours);
    mujoco_forces(&s, theirs);
    for (int i = n_box - 1; i >= 0; i--) {
        above += i + 1;
        double expected[3] = {-above * g * sin(angle), 0.0, above * g * cos(angle)};
        for (int k = 0; k < 3; k++) {
            *most = fmax(*most, fabs(ours[i][k] - theirs[i][k]) / (above * g));
            CHECK_CLOSE(ours[i][k], expected[k], OWN_TOLERANCE * above * g, 0.0);
            if (!CHECK_CLOSE(theirs[i][k], ours[i][k], TOLERANCE * above * g, 0.0)) {
                cr_test_fail("%d boxes, angle %g: box %d, axis %d", n_box, angle, i, k);
            }
        }
    }
    close_pile(&s);
}

TEST(a_block_on_a_slope_is_held_as_in_mujoco) {
    // atan 0.5 = 0.4636
    static const double angle[] = {0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.46};
    double most = 0.0;
    for (size_t i = 0; i < sizeof angle / sizeof angle[0]; i++) {
        compare_rest(1, 0.5, angle[i], 2.0, &most);
    }
    print_message("block on 7 slopes   forces %.0e of the weight\n", most);
}

TEST(a_stack_of_three_weighs_as_in_mujoco) {
    double most = 0.0;
    compare_rest(3, 0.8, 0.0, 8.0, &most);
    compare_rest(3, 0.8, 0.2, 8.0, &most);
    print_message("stack, 2 slopes     forces %.0e of the weight\n", most);
}

// speed down the slope after one second from rest
static double slide(double mu, double angle, bool is_mujoco) {
    pile s = open_pile(1, mu, angle);
    int n = (int)lround(1.0 / dt);
    if (is_mujoco) {
        step_mujoco(&s, n);
    } else {
        step_carom(&s, n);
    }
    double speed = is_mujoco ? s.d->qvel[0] : s.x[7];
    close_pile(&s);
    return speed;
}

TEST(blocks_start_to_slide_at_the_friction_angle) {
    static const double coefficient[] = {0.2, 0.5, 0.9};
    for (size_t i = 0; i < sizeof coefficient / sizeof coefficient[0]; i++) {
        double mu = coefficient[i], angle = atan(mu), least = 0.0, most = 1.0;
        // ours is exact on either side, to what a speed of 1e-6 m/s tells
        double below = angle - 1e-6, above = angle + 1e-6;
        CHECK_CLOSE(slide(mu, below, false), 0.0, 1e-12, 0.0);
        CHECK_CLOSE(slide(mu, above, false), g * (sin(above) - mu * cos(above)), 1e-12, 1e-6);
        // MuJoCo's: faster than 1 cm/s, which is ten times its creep
        while (most - least > 1e-5) {
            double middle = 0.5 * (least + most);
            *(slide(mu, middle, true) > 0.01 ? &most : &least) = middle;
        }
        // 1 cm/s in 1 s: 1e-3 of g, about 1e-3 rad beyond; creep 1e-3 m/s on either side
        CHECK_CLOSE(most, angle, 2e-3, 0.0);
        print_message("mu %.1f              slides at %.5f, MuJoCo at %.4f\n", mu, angle, most);
    }
}

CR_TEST_MAIN(a_block_on_a_slope_is_held_as_in_mujoco, a_stack_of_three_weighs_as_in_mujoco,
             blocks_start_to_slide_at_the_friction_angle)
