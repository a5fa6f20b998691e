// SPDX-License-Identifier: MIT
//
// Every law on one scene, and the sentences about it: each is said where its condition holds, with
// the number that theory gives, and not elsewhere.

#include "optimize/differ.h"

#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/// A comparison of all laws. Released by clear.
typedef struct trial {
    cr_model *model;
    cr_arena *arena;
    cri_target target;
    cri_aim aim;
    cri_selection *selection;
    cri_point point;
    cri_compare_def def;
    cri_compare result;
    cri_differ differ;
} trial;

static void open_trial(trial *t, const char *scene, int n_step, const char *target,
                       const char *stepper) {
    cr_error err = {0};
    *t = (trial){.arena = cri_arena_create(1 << 14)};
    cr_status status = cr_model_parse(scene, strlen(scene), "scene", &t->model, &err);
    if (status == CR_OK) {
        status = cri_target_parse(t->model, target, &t->target, &err);
    }
    cri_aim_options options = {.n_step = n_step};
    if (status == CR_OK) {
        status = cri_aim_init(t->model, &options, 1, &t->target, t->arena, &t->aim, &err);
    }
    if (status == CR_OK) {
        status = cri_selection_create(t->model, "x0:*/qvel*", &t->selection, &err);
    }
    if (status == CR_OK) {
        status = cri_point_push(t->selection, t->aim.schedule.n_step, t->arena, &t->point, &err);
    }
    CHECK_TEXT(err.text, "");
    assert_int_equal(status, CR_OK);
    cr_model_defaults(t->model, -1, t->point.p, t->point.x0, t->point.u);
    t->def = (cri_compare_def){.model = t->model,
                               .options = cr_sim_options_default(t->model),
                               .aim = &t->aim,
                               .point = &t->point,
                               .selection = t->selection};
    t->def.options.stepper = stepper;
}

static void run_trial(trial *t) {
    cr_error err = {0};
    assert_int_equal(cri_compare_run(&t->def, t->arena, &t->result, &err), CR_OK);
    cri_differ_tell(t->model, &t->result, t->def.options.stepper, &t->differ);
}

static void clear(trial *t) {
    cri_selection_destroy(t->selection);
    cri_arena_destroy(t->arena);
    cr_model_destroy(t->model);
}

static int row_of(const trial *t, const char *law) {
    for (int i = 0; i < t->result.n_row; i++) {
        if (strcmp(t->result.row[i].law->name, law) == 0) {
            return i;
        }
    }
    assert_string_equal(law, "a law of the table");
    return -1;
}

static const cri_compare_gap *gap_of(const trial *t, const char *a, const char *b) {
    return &t->result.gap[row_of(t, a)][row_of(t, b)];
}

/// The text of a kind, NULL when it was not said; fails when it was said twice.
static const char *find(const trial *t, cri_differ_kind kind) {
    const char *text = NULL;
    for (int i = 0; i < t->differ.n; i++) {
        if (t->differ.sentence[i].kind == kind) {
            CHECK(text == NULL);
            text = t->differ.sentence[i].text;
        }
    }
    return text;
}

/// Checks that exactly these kinds were said, bits of 1 << kind.
static void check_kinds(const trial *t, unsigned kinds) {
    unsigned said = 0;
    for (int i = 0; i < t->differ.n; i++) {
        // said of every run: laws with steps of their own
        bool is_own = t->differ.sentence[i].kind == CRI_DIFFER_OWN;
        said |= is_own ? 0u : 1u << t->differ.sentence[i].kind;
        CHECK(strlen(t->differ.sentence[i].text) < sizeof t->differ.sentence[i].text - 1);
    }
    CHECK_INT(said, kinds);
}

#define KIND(word) (1u << CRI_DIFFER_##word)

// ---- scenes ------------------------------------------------------------------------------------

/// A ball of 1 kg and radius 0.1 over a floor.
static const char *ball_scene(char text[1024], double mu, double e, double height,
                              const char *velocity) {
    snprintf(text, 1024,
             "<mujoco><option timestep='.005'/><custom>"
             "<numeric name='carom:friction:floor:ball' data='%.17g'/>"
             "<numeric name='carom:restitution:floor:ball' data='%.17g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='ball' pos='0 0 %.17g'>"
             "<freejoint/><geom name='ball' size='.1' mass='1'/></body></worldbody>"
             "<keyframe><key qvel='%s'/></keyframe></mujoco>",
             mu, e, height, velocity);
    return text;
}

// ---- where laws agree --------------------------------------------------------------------------

TEST(what_touches_nothing_has_one_motion) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.5, 2.0, "1 0 0 0 0 0"), 20, "ball:0,0,0", "located");
    run_trial(&t);
    check_kinds(&t, KIND(NOTHING));
    CHECK(strstr(find(&t, CRI_DIFFER_NOTHING), "and do not: they are at most 0 m apart") != NULL);
    for (int i = 0; i < t.result.n_row; i++) {
        const cri_compare_row *row = &t.result.row[i];
        CHECK(row->has_motion && row->has_gradient);
        CHECK_INT(row->facts.n_contact, 0);
        // steps of first order have another flight
        CHECK(row->law->stepper ||
              (t.result.gap[i][0].most == 0.0 && isnan(t.result.gap[i][0].from)));
    }
    // a difference would be said to be a defect
    t.result.gap[1][0].most = 0.5;
    cri_differ_tell(t.model, &t.result, "located", &t.differ);
    CHECK(strstr(find(&t, CRI_DIFFER_NOTHING), "0.5 m apart: that is a defect") != NULL);
    clear(&t);
}

TEST(rigid_laws_agree_on_a_bounce_without_friction) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.0, 0.8, 0.5, "1 0.4 0 0 0 0"), 160, "ball:1,0,0", "located");
    run_trial(&t);
    check_kinds(&t, KIND(SMOOTH) | KIND(SOFT));
    CHECK(strstr(find(&t, CRI_DIFFER_SMOOTH), "must agree, and do") != NULL);
    CHECK(gap_of(&t, "ncp", "lcp")->most <= 1e-9);
    CHECK(gap_of(&t, "ncp", "cone")->most <= 1e-9);
    // cone-reg bounces with (1 + e)(1 - q) - 1, q = 0.01/1.01, instead of e: after the fall of
    // 0.4 m that is less speed by 1.8 q
    double w = sqrt(2.0 * 9.81 * 0.4), q = 0.01 / 1.01;
    const cri_compare_gap *soft = gap_of(&t, "cone", "cone-reg");
    CHECK(soft->most > 0.0 && soft->most < 1.8 * q * w);
    CHECK_CLOSE(soft->from, 0.29, 1e-12, 0.0); // the fall takes 0.2856 s
    CHECK(strstr(find(&t, CRI_DIFFER_SOFT), "cone-reg is soft: cone and cone-reg are up to"));
    CHECK_INT(t.result.row[0].facts.n_impact, t.result.row[0].report.n_event);
    CHECK_INT(t.result.row[0].facts.n_rough, 0);
    CHECK_CLOSE(t.result.row[0].facts.first.time, sqrt(2.0 * 0.4 / 9.81), 1e-9, 0.0);
    // a difference would not be passed over
    t.result.gap[1][0].most = 1e-3;
    cri_differ_tell(t.model, &t.result, "located", &t.differ);
    CHECK(strstr(find(&t, CRI_DIFFER_SMOOTH), "must agree, but they are 0.001 m apart") != NULL);
    clear(&t);
}

TEST(what_sticks_and_does_not_bounce_is_the_same_for_rigid_laws) {
    trial t;
    open_trial(&t,
               "<mujoco><option gravity='1 0 -9.81' timestep='.005'/><worldbody>"
               "<geom name='floor' type='plane' size='9 9 1'/><body name='box' pos='0 0 .1'>"
               "<freejoint/><geom name='box' type='box' size='.2 .2 .1' mass='1'/></body>"
               "</worldbody></mujoco>",
               40, "box:0,0,0", "located");
    run_trial(&t);
    check_kinds(&t, KIND(STICK) | KIND(SOFT));
    CHECK_INT(t.result.row[0].facts.n_touched, 40);
    CHECK(strstr(find(&t, CRI_DIFFER_SOFT), "only in impacts that leave again") != NULL);
    clear(&t);
}

// ---- where they differ -------------------------------------------------------------------------

TEST(a_ball_that_slides_along_a_corner_is_lifted_by_the_cone_alone) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.0, 0.1, "1 0 0 0 0 0"), 60, "ball:1,0,0", "located");
    run_trial(&t);
    check_kinds(&t, KIND(LIFT) | KIND(CORNER) | KIND(SOFT));
    const cri_contact_facts *f = &t.result.row[0].facts;
    // friction 0.3 of what slip is left after one step: 7/2 mu g of it goes in a second
    CHECK_CLOSE(f->lift.value, 0.3 * (1.0 - 3.5 * 0.3 * 9.81 * 0.005), 1e-9, 0.0);
    // it slides for 2/(7 mu g) = 0.0971 s, through 19 steps, and rolls at the end of the 20th
    CHECK_INT(f->n_sliding, 19);
    CHECK_INT(f->n_touched, 60);
    CHECK(f->turn.value < 1e-9);
    const cri_compare_row *cone = &t.result.row[row_of(&t, "cone")];
    CHECK(cone->facts.n_touched < 50);
    CHECK(gap_of(&t, "ncp-poisson", "cone")->most > 1e-4);
    CHECK(gap_of(&t, "ncp", "lcp")->most <= 1e-9);
    CHECK(strstr(find(&t, CRI_DIFFER_LIFT), "cone and cone-reg lift what slides") != NULL);
    CHECK(strstr(find(&t, CRI_DIFFER_LIFT), "here up to 0.28 m/s (floor and ball, 0 s)") != NULL);
    clear(&t);
}

TEST(slip_between_corners_turns_the_octagons_friction) {
    static const double angle[] = {10.0, 22.5, 35.0, 100.0};
    for (int k = 0; k < 4; k++) {
        char scene[1024], velocity[80], word[40];
        double a = angle[k] * pi / 180.0, off = fabs(remainder(angle[k], 45.0));
        snprintf(velocity, sizeof velocity, "%.17g %.17g 0 0 0 0", cos(a), sin(a));
        trial t;
        open_trial(&t, ball_scene(scene, 0.3, 0.0, 0.1, velocity), 10, "ball:1,0,0", "located");
        run_trial(&t);
        check_kinds(&t, KIND(LIFT) | KIND(OCTAGON) | KIND(SOFT));
        CHECK_CLOSE(t.result.row[0].facts.turn.value, off * pi / 180.0, 1e-9, 0.0);
        snprintf(word, sizeof word, "up to %.1f degrees off the slip", off);
        CHECK(strstr(find(&t, CRI_DIFFER_OCTAGON), word) != NULL);
        CHECK(gap_of(&t, "ncp", "lcp")->most > 1e-6);
        clear(&t);
    }
}

TEST(newton_and_poisson_part_on_a_corner_with_friction) {
    trial t;
    open_trial(&t,
               "<mujoco><option timestep='.002'/><custom>"
               "<numeric name='carom:restitution:floor:box' data='.5'/>"
               "<numeric name='carom:friction:floor:box' data='.5'/></custom><worldbody>"
               "<geom name='floor' type='plane' size='9 9 1'/>"
               "<body name='box' pos='0 0 .4' euler='17 29 11'>"
               "<freejoint/><geom name='box' type='box' size='.2 .1 .05' mass='1'/></body>"
               "</worldbody><keyframe><key qvel='1 .5 0 1 2 .5'/></keyframe></mujoco>",
               130, "box:0,0,0", "located");
    run_trial(&t);
    const char *text = find(&t, CRI_DIFFER_RESTITUTION);
    CHECK(text && strstr(text, "(ncp and lcp)") &&
          strstr(text, "(ncp-poisson, cone and cone-reg)"));
    CHECK(text && strstr(text, "ncp and ncp-poisson are up to"));
    CHECK(gap_of(&t, "ncp", "ncp-poisson")->most > 1e-5);
    CHECK(t.result.row[0].facts.n_parting > 0);
    CHECK(find(&t, CRI_DIFFER_SMOOTH) == NULL && find(&t, CRI_DIFFER_STICK) == NULL);
    clear(&t);
}

TEST(balls_that_touch_are_several_contacts_at_once) {
    trial t;
    open_trial(&t,
               "<mujoco><option gravity='0 0 0' timestep='.01'/><custom>"
               "<numeric name='carom:restitution:a:b' data='1'/>"
               "<numeric name='carom:restitution:b:c' data='1'/></custom><worldbody>"
               "<body name='a' pos='-.3 0 0'><freejoint/><geom name='a' size='.1' mass='1'/></body>"
               "<body name='b'><freejoint/><geom name='b' size='.1' mass='1'/></body>"
               "<body name='c' pos='.2 0 0'><freejoint/><geom name='c' size='.1' mass='1'/></body>"
               "</worldbody><keyframe><key qvel='1 0 0 0 0 0  0 0 0 0 0 0  0 0 0 0 0 0'/>"
               "</keyframe></mujoco>",
               20, "c:1,0,0", "located");
    run_trial(&t);
    CHECK(t.result.row[0].facts.together.value == 2.0);
    CHECK(find(&t, CRI_DIFFER_RESTITUTION) != NULL);
    CHECK(find(&t, CRI_DIFFER_SMOOTH) == NULL);
    clear(&t);
}

/// Kane's pendulum, whose tip is about to touch the floor: energy grows under Newton's restitution.
static void pendulum_scene(const char *actuator, char text[2048]) {
    static const char rod[] = "<inertial pos='0 0 -.5' mass='1' diaginertia='.0833333333 "
                              ".0833333333 .001'/>";
    double a = 20.0 * pi / 180.0, b = 30.0 * pi / 180.0;
    snprintf(text, 2048,
             "<mujoco><compiler angle='radian'/><option gravity='0 0 0' integrator='RK4' "
             "timestep='1e-5'/><custom><numeric name='carom:restitution:floor:tip' data='.5'/>"
             "<numeric name='carom:friction:floor:tip' data='.5'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='upper' pos='0 0 %.17g'>"
             "<joint name='j' axis='0 -1 0'/>%s<body name='lower' pos='0 0 -1'>"
             "<joint axis='0 -1 0'/>%s<geom name='tip' pos='0 0 -1' size='.01'/></body></body>"
             "</worldbody>%s<keyframe><key qpos='%.17g %.17g' qvel='-.1 -.1'/></keyframe></mujoco>",
             cos(a) + cos(b) + 0.01 + 1e-7, rod, rod, actuator, a, b - a);
}

TEST(energy_that_newtons_restitution_adds_is_said) {
    char scene[2048];
    trial t;
    pendulum_scene("", scene);
    open_trial(&t, scene, 3, "lower:0,0,0", "located");
    run_trial(&t);
    const char *text = find(&t, CRI_DIFFER_ENERGY);
    CHECK(text && strstr(text, "ncp 0.") && strstr(text, "lcp 0."));
    CHECK(text && !strstr(text, "poisson") && !strstr(text, "cone"));
    CHECK(text && strstr(text, "Poisson's did not"));
    // energy after over energy before is 1.699 (docs/laws)
    const cri_compare_row *ncp = &t.result.row[row_of(&t, "ncp")];
    CHECK_CLOSE(1.0 + ncp->energy_change / t.result.energy_scale, 1.699, 1e-3, 0.0);
    CHECK_CLOSE(ncp->facts.gain.value, ncp->energy_change, 1e-9, 1e-6);
    CHECK(t.result.row[row_of(&t, "ncp-poisson")].energy_change < 0.0);
    clear(&t);

    // a motor may have done it
    pendulum_scene("<actuator><motor joint='j'/></actuator>", scene);
    open_trial(&t, scene, 3, "lower:0,0,0", "located");
    run_trial(&t);
    CHECK(t.result.is_driven && find(&t, CRI_DIFFER_ENERGY) == NULL);
    clear(&t);
}

TEST(a_box_that_lands_flat_has_an_averaged_gradient) {
    static const char scene[] =
        "<mujoco><option timestep='.005'/><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/><body name='box' pos='0 0 .15'>"
        "<freejoint/><geom name='box' type='box' size='.2 .2 .1' mass='1'/></body>"
        "</worldbody></mujoco>";
    trial t;
    open_trial(&t, scene, 30, "box:0,0,0", "located");
    run_trial(&t);
    const char *text = find(&t, CRI_DIFFER_AVERAGED);
    CHECK(text && strstr(text, "(4 contacts: floor and box, 0.101 s)"));
    CHECK(find(&t, CRI_DIFFER_END) == NULL);
    clear(&t);
    open_trial(&t, scene, 30, "box:0,0,0", "end");
    run_trial(&t);
    CHECK(find(&t, CRI_DIFFER_END) != NULL);
    CHECK(find(&t, CRI_DIFFER_AVERAGED) == NULL);
    // soft contacts give way everywhere, not in impacts alone
    CHECK(strstr(find(&t, CRI_DIFFER_SOFT), "cone-reg is soft") != NULL);
    clear(&t);
}

// ---- the comparison itself ---------------------------------------------------------------------

TEST(rows_are_what_each_law_gives_on_its_own) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.5, 0.3, "2 .5 0 0 0 0"), 100, "ball:1,0,0", "located");
    run_trial(&t);
    int n_law = 0;
    for (; cri_law_at(n_law); n_law++) {
    }
    for (int i = 0; cri_law_stepped_at(i); i++) {
        n_law += !cri_law_stepped_at(i)->is_energy;
    }
    CHECK_INT(t.result.n_row, n_law);
    for (int i = 0; i < t.result.n_row; i++) {
        const cri_compare_row *row = &t.result.row[i];
        cr_sim_options options = t.def.options;
        options.law = row->law->name;
        options.stepper = row->law->stepper ? NULL : options.stepper;
        options.use_gradient = true;
        cr_sim *sim = NULL;
        double loss = 0.0;
        assert_int_equal(cr_sim_create(t.model, &options, &sim, NULL), CR_OK);
        double energy = cr_sim_energy(sim, t.point.x0);
        assert_int_equal(cri_aim_run(&t.aim, sim, &t.point, &loss, NULL), CR_OK);
        CHECK(row->loss == loss);
        CHECK(row->energy_change == cr_sim_energy(sim, t.aim.x_end) - energy);
        CHECK_INT(row->report.n_event, cr_sim_report(sim)->n_event);
        CHECK(memcmp(row->target, t.aim.x_end, 3 * sizeof(double)) == 0);
        cr_sim_destroy(sim);
        CHECK_INT(row->n_checked, 6);
        CHECK_INT(row->n_wrong + row->n_undecided, 0);
        CHECK(row->gradient_error < 1e-5 && row->gradient_norm > 0.0);
        CHECK(isnan(row->step_us)); // nobody gave a clock
    }
    clear(&t);
}

TEST(a_law_that_does_not_take_the_options_has_a_row_with_the_reason) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.5, 0.3, "2 .5 0 0 0 0"), 60, "ball:1,0,0", "located");
    t.def.options.smoothing = 1e-4; // convex laws alone
    run_trial(&t);
    for (int i = 0; i < t.result.n_row; i++) {
        const cri_compare_row *row = &t.result.row[i];
        bool is_convex = row->law->is_lifting;
        CHECK(row->has_motion == is_convex && row->has_gradient == is_convex);
        CHECK((strstr(row->reason, "no smoothed gradient") != NULL) == !is_convex);
        CHECK(isnan(row->loss) == !is_convex && isnan(row->target[0]) == !is_convex);
    }
    CHECK(find(&t, CRI_DIFFER_SOFT) != NULL && find(&t, CRI_DIFFER_OCTAGON) == NULL);
    clear(&t);
}

TEST(a_loss_without_end_is_no_motion) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.5, 0.3, "0 0 1e200 0 0 0"), 60, "ball:1,0,0",
               "located");
    run_trial(&t);
    for (int i = 0; i < t.result.n_row; i++) {
        CHECK(!t.result.row[i].has_motion && !t.result.row[i].has_gradient);
        CHECK(strstr(t.result.row[i].reason, "not a finite number") != NULL);
    }
    CHECK_INT(t.differ.n, 0);
    clear(&t);
}

TEST(a_law_without_a_motion_is_not_spoken_of) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.0, 0.1, "1 .3 0 0 0 0"), 40, "ball:1,0,0", "located");
    run_trial(&t);
    t.result.row[row_of(&t, "cone-reg")].has_motion = false;
    cri_differ_tell(t.model, &t.result, "located", &t.differ);
    CHECK(find(&t, CRI_DIFFER_SOFT) == NULL);
    CHECK(strncmp(find(&t, CRI_DIFFER_LIFT), "cone lifts what slides", 22) == 0);
    t.result.row[row_of(&t, "ncp-poisson")].has_motion = false;
    cri_differ_tell(t.model, &t.result, "located", &t.differ);
    CHECK(find(&t, CRI_DIFFER_LIFT) == NULL); // nothing to measure it by
    for (int i = 0; i < t.result.n_row; i++) {
        t.result.row[i].has_motion = false;
    }
    cri_differ_tell(t.model, &t.result, "located", &t.differ);
    CHECK_INT(t.differ.n, 0);
    clear(&t);
}

static bool stop_after(void *context, const cri_progress_state *state) {
    int *left = context;
    CHECK(state->done <= state->total);
    return --*left > 0;
}

TEST(a_comparison_that_is_stopped_keeps_what_it_has) {
    char scene[1024];
    for (int left = 1; left < 200; left += 37) {
        int count = left;
        cri_progress progress = {stop_after, &count};
        trial t;
        open_trial(&t, ball_scene(scene, 0.3, 0.5, 0.3, "2 .5 0 0 0 0"), 60, "ball:1,0,0",
                   "located");
        t.def.progress = &progress;
        run_trial(&t);
        CHECK(t.result.is_stopped);
        CHECK_INT(count, 0);
        bool is_moved = left > 60;
        for (int i = 0; i < t.result.n_row; i++) {
            CHECK(t.result.row[i].has_motion == is_moved);
            CHECK(isnan(t.result.row[i].loss) == !is_moved);
            CHECK_INT(t.result.row[i].reason[0], 0);
        }
        CHECK((t.differ.n > 0) == is_moved);
        clear(&t);
    }
}

static double slow_clock(void) {
    static double now;
    return now += 0.5;
}

TEST(differences_keep_to_their_time) {
    char scene[1024];
    trial t;
    open_trial(&t, ball_scene(scene, 0.3, 0.5, 0.3, "2 .5 0 0 0 0"), 60, "ball:1,0,0", "located");
    t.def.seconds = slow_clock;
    t.def.check_longest = 40.0; // 80 looks at the clock: two entries of 36 runs
    run_trial(&t);
    for (int i = 0; i < t.result.n_row; i++) {
        CHECK_INT(t.result.row[i].n_checked, 2);
        CHECK(t.result.row[i].has_gradient && !t.result.is_stopped);
        CHECK_CLOSE(t.result.row[i].step_us, 0.5e6 / 60.0, 1e-6, 0.0);
        CHECK_CLOSE(t.result.row[i].gradient_us, 0.5e6 / 60.0, 1e-6, 0.0);
    }
    clear(&t);
}

CR_TEST_MAIN(what_touches_nothing_has_one_motion, rigid_laws_agree_on_a_bounce_without_friction,
             what_sticks_and_does_not_bounce_is_the_same_for_rigid_laws,
             a_ball_that_slides_along_a_corner_is_lifted_by_the_cone_alone,
             slip_between_corners_turns_the_octagons_friction,
             newton_and_poisson_part_on_a_corner_with_friction,
             balls_that_touch_are_several_contacts_at_once,
             energy_that_newtons_restitution_adds_is_said,
             a_box_that_lands_flat_has_an_averaged_gradient,
             rows_are_what_each_law_gives_on_its_own, a_law_without_a_motion_is_not_spoken_of,
             a_loss_without_end_is_no_motion,
             a_law_that_does_not_take_the_options_has_a_row_with_the_reason,
             a_comparison_that_is_stopped_keeps_what_it_has, differences_keep_to_their_time)
