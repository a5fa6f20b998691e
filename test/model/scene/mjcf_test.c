// SPDX-License-Identifier: MIT
//
// MJCF scenes that are read, and what they come to. mjcf_error_test.c has those that are not.

#include "mjcf_read.h"

// a scene with one ball, around what comes before its <worldbody>
#define WITH_BALL(before)                                                                          \
    SCENE(before "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"                       \
                 "<body name='ball'><freejoint/><geom name='ball' size='.1'/></body></worldbody>")

static void a_scene_without_settings_has_the_defaults_of_mujoco(void **state) {
    (void)state;
    cri_scene_def def =
        read_scene(SCENE("\n<worldbody>\n<body>\n<freejoint/>\n<geom size='.1'/>\n</body>\n"
                         "</worldbody>"));
    assert_true(def.dt == 0.002);
    assert_true(def.gravity[0] == 0.0 && def.gravity[1] == 0.0 && def.gravity[2] == -9.81);
    assert_string_equal(def.law, "");
    assert_string_equal(def.stepper, "");
    assert_int_equal(def.n_body, 1);
    assert_int_equal(def.n_geom, 1);
    assert_int_equal(def.n_pair, 0);
    assert_int_equal(def.n_key, 0);
    assert_int_equal(def.integrator, CRI_INTEGRATOR_ANY);
    assert_true(def.has_contact && def.filters_parents);
    assert_int_equal(def.n_joint, 1);
    assert_string_equal(def.joint[0].name, "joint0");
    assert_int_equal(def.joint[0].kind, CRI_JOINT_FREE);

    const cri_body_def *body = &def.body[0];
    assert_string_equal(body->name, "body0");
    assert_int_equal(body->place.line, 3);
    assert_string_equal(body->place.file, "s.xml");
    assert_int_equal(body->parent, -1);
    assert_true(body->pos.x == 0.0 && body->quat.w == 1.0);
    assert_false(body->has_inertial);
    assert_false(body->is_shape_inertia);

    const cri_geom_def *geom = &def.geom[0];
    assert_string_equal(geom->name, "geom0");
    assert_int_equal(geom->shape, CRI_SHAPE_SPHERE);
    assert_int_equal(geom->body, 0);
    assert_int_equal(geom->place.line, 5);
    assert_true(geom->size[0] == 0.1);
    assert_true(!geom->has_mass && geom->density == 1000.0);
    assert_int_equal(geom->mesh, -1);
    assert_int_equal(geom->condim, 3);
    assert_int_equal(geom->priority, 0);
    assert_true(geom->friction == 1.0 && geom->restitution == 0.0);
    assert_int_equal(geom->contype, 1);
    assert_int_equal(geom->conaffinity, 1);
    cri_scene_def_clear(&def);
}

static void unnamed_things_get_free_names(void **state) {
    (void)state;
    // the first body would be body0, which comes later, and body0_ is there too; a geom named
    // joint0 takes nothing from the joint
    cri_scene_def def = read_scene(SCENE(
        "<worldbody><body><freejoint/><geom size='1' name='joint0'/></body><body><freejoint/>"
        "<geom size='1'/></body><body name='body0'><freejoint name='joint1'/><geom size='1'/>"
        "</body><body name='body0_'><freejoint/><geom size='1' name='geom'/></body></worldbody>"));
    assert_int_equal(def.n_body, 4);
    assert_string_equal(def.body[0].name, "body0__");
    assert_string_equal(def.body[1].name, "body1");
    assert_string_equal(def.body[2].name, "body0");
    assert_string_equal(def.joint[0].name, "joint0");
    assert_string_equal(def.joint[1].name, "joint1_");
    assert_string_equal(def.geom[1].name, "geom1");
    cri_scene_def_clear(&def);
}

static void settings_are_read_wherever_they_stand(void **state) {
    (void)state;
    // the angle unit comes after the body that it is for
    cri_scene_def def = read_scene(
        SCENE("<worldbody><body euler='0 0 1.5707963267948966'><freejoint/><geom size='1'/></body>"
              "</worldbody><option timestep='.01' integrator='RK4' gravity='1 2 3'>"
              "<flag gravity='enable' energy='enable'/></option><compiler angle='radian' "
              "autolimits='true' eulerseq='xyz' coordinate='local' boundmass='0.0'/>"));
    assert_true(def.dt == 0.01);
    assert_true(def.gravity[0] == 1.0 && def.gravity[1] == 2.0 && def.gravity[2] == 3.0);
    assert_quat(def.body[0].quat, sqrt(0.5), 0, 0, sqrt(0.5));
    assert_int_equal(def.integrator, CRI_INTEGRATOR_RK4);
    cri_scene_def_clear(&def);
}

static void bodies_and_geoms_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(SCENE(
        "<worldbody><light pos='0 0 3'/><site name='s'/>"
        "<geom name='floor' type='plane' size='5 5 .1' pos='0 0 -1' friction='.5 .005 .0001'/>"
        "<body name='a' pos='1 2 3' quat='0 2 0 0'><joint type='free' damping='0' name='j'/>"
        "<geom type='box' size='.1 .2 .3' mass='2' contype='2' conaffinity='6' rgba='1 0 0 1' "
        "solref='.02 1' condim='4'/><camera name='c'/></body>"
        "<body name='b'><inertial pos='0 0 0' mass='3' diaginertia='1 2 3'/><freejoint/>"
        "<geom name='g' size='.4' density='0'/></body></worldbody>"));
    assert_int_equal(def.n_body, 2);
    assert_int_equal(def.n_geom, 3);

    const cri_geom_def *floor = &def.geom[0];
    assert_int_equal(floor->shape, CRI_SHAPE_PLANE);
    assert_int_equal(floor->body, -1);
    assert_true(floor->pos.z == -1.0 && floor->friction == 0.5);

    const cri_geom_def *box = &def.geom[1];
    assert_string_equal(box->name, "geom1");
    assert_int_equal(box->shape, CRI_SHAPE_BOX);
    assert_true(box->size[0] == 0.1 && box->size[1] == 0.2 && box->size[2] == 0.3);
    assert_true(box->has_mass && box->mass == 2.0);
    assert_int_equal(box->condim, 4);
    assert_int_equal(box->contype, 2);
    assert_int_equal(box->conaffinity, 6);
    assert_true(def.body[0].pos.y == 2.0);
    assert_quat(def.body[0].quat, 0, 1, 0, 0);

    const cri_body_def *b = &def.body[1];
    assert_true(b->has_inertial && b->mass == 3.0);
    assert_true(b->inertia[0] == 1.0 && b->inertia[1] == 2.0 && b->inertia[2] == 3.0);
    assert_true(b->inertia[3] == 0.0 && b->inertia[4] == 0.0 && b->inertia[5] == 0.0);
    assert_int_equal(def.geom[2].body, 1);
    cri_scene_def_clear(&def);
}

// the quaternion of a plane with these orientation attributes
static cri_quat plane_quat(const char *before, const char *attrs) {
    char text[512];
    snprintf(text, sizeof text,
             SCENE("%s<worldbody><geom type='plane' size='1 1 1' %s/><body><freejoint/>"
                   "<geom size='1'/></body></worldbody>"),
             before, attrs);
    cri_scene_def def = read_scene(text);
    cri_quat q = def.geom[0].quat;
    cri_scene_def_clear(&def);
    return q;
}

static void every_orientation_becomes_a_quaternion(void **state) {
    (void)state;
    double h = sqrt(0.5);
    assert_quat(plane_quat("", ""), 1, 0, 0, 0);
    assert_quat(plane_quat("", "quat='2 0 0 0'"), 1, 0, 0, 0);
    assert_quat(plane_quat("", "quat='1 1 1 1'"), 0.5, 0.5, 0.5, 0.5);
    assert_quat(plane_quat("", "quat='1e300 0 1e300 0'"), h, 0, h, 0);
    assert_quat(plane_quat("", "quat='0 0 3e-320 0'"), 0, 0, 1, 0);
    assert_quat(plane_quat("", "axisangle='0 3 0 90'"), h, 0, h, 0);
    assert_quat(plane_quat("", "euler='90 0 0'"), h, h, 0, 0);
    // the z axis of the turned frame: first about x, then about the new z
    assert_quat(plane_quat("", "euler='90 0 90'"), 0.5, 0.5, -0.5, 0.5);
    assert_quat(plane_quat("", "zaxis='0 0 5'"), 1, 0, 0, 0);
    assert_quat(plane_quat("", "zaxis='0 0 -1'"), 0, 1, 0, 0);
    assert_quat(plane_quat("", "zaxis='1 0 0'"), h, 0, h, 0);
    assert_quat(plane_quat("", "zaxis='0 -2 0'"), h, h, 0, 0);
    assert_quat(plane_quat("", "xyaxes='1 0 0 0 1 0'"), 1, 0, 0, 0);
    assert_quat(plane_quat("", "xyaxes='0 1 0 -3 9 0'"), h, 0, 0, h);
    // rotations by 180 degrees about each axis, where the trace says nothing
    assert_quat(plane_quat("", "xyaxes='1 0 0 0 -1 0'"), 0, 1, 0, 0);
    assert_quat(plane_quat("", "xyaxes='-1 0 0 0 1 0'"), 0, 0, 1, 0);
    assert_quat(plane_quat("", "xyaxes='-1 0 0 0 -1 0'"), 0, 0, 0, 1);
    const char *radian = "<compiler angle='radian'/>";
    assert_quat(plane_quat(radian, "axisangle='1 0 0 1'"), cos(0.5), sin(0.5), 0, 0);
}

static void orientations_agree_with_mujoco(void **state) {
    (void)state;
    // MuJoCo 2.2.2 gives these for the same attributes, printed with 17 digits
    cri_quat a = plane_quat("", "euler='17 29 11'");
    assert_quat(a, 0.94955806323292635, 0.16617678659447843, 0.23277410250913327,
                0.1286117309872418);
    cri_quat b = plane_quat("", "xyaxes='1 2 3 -3 .5 2'");
    assert_quat(b, 0.66068052449919579, 0.44399534401126295, -0.23073174551302114,
                0.55958220187591956);
    cri_quat c = plane_quat("", "zaxis='1 -2 .3'");
    assert_quat(c, 0.75265286226565997, 0.58890655891970467, 0.29445327945985234, 0);
}

static void euler_sequences_turn_about_moving_and_fixed_axes(void **state) {
    (void)state;
    // MuJoCo 2.2.2 gives these for the same attributes, printed with 17 digits
    static const struct {
        const char *sequence;
        double q[4];
    } cases[] = {
        {"xyz",
         {0.94955806323292635, 0.16617678659447843, 0.23277410250913327, 0.1286117309872418}},
        {"zyx",
         {0.95665228231467037, 0.054935448849837476, 0.26020541233059319, 0.1187082583296768}},
        {"XYZ",
         {0.95665228231467037, 0.1187082583296768, 0.26020541233059319, 0.054935448849837476}},
        {"zYx", {0.94955806323292635, 0.1286117309872418, 0.26020541233059319, 0.1187082583296768}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char before[64];
        snprintf(before, sizeof before, "<compiler eulerseq='%s'/>", cases[i].sequence);
        const double *q = cases[i].q;
        assert_quat(plane_quat(before, "euler='17 29 11'"), q[0], q[1], q[2], q[3]);
    }
}

static void the_default_class_applies_to_every_geom(void **state) {
    (void)state;
    cri_scene_def def = read_scene(SCENE(
        "<default class='main'><geom type='box' size='1 2 3' friction='.2' density='7' contype='4' "
        "conaffinity='5' rgba='1 1 1 1'/><site size='1'/><joint damping='0'/></default>"
        "<worldbody><body><freejoint/><geom/></body><body><freejoint/><geom size='9' friction='.3' "
        "contype='1'/></body></worldbody>"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(def.geom[i].shape, CRI_SHAPE_BOX);
        assert_true(def.geom[i].density == 7.0);
        assert_int_equal(def.geom[i].conaffinity, 5);
        assert_true(def.geom[i].size[1] == 2.0 && def.geom[i].size[2] == 3.0);
    }
    assert_true(def.geom[0].friction == 0.2 && def.geom[0].size[0] == 1.0);
    assert_true(def.geom[1].friction == 0.3 && def.geom[1].size[0] == 9.0);
    assert_int_equal(def.geom[0].contype, 4);
    assert_int_equal(def.geom[1].contype, 1);
    cri_scene_def_clear(&def);
}

static void custom_entries_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(WITH_BALL(
        "<custom><text name='carom:law' data='ncp'/><text name='carom:stepper' data='end'/>"
        "<numeric name='carom:restitution:ball' data='.25'/>\n"
        "<numeric name='carom:restitution:ball:floor' data='.5'/>"
        "<numeric name='carom:friction:floor:ball' data='0'/>"
        "<text name='carom:inertia:ball' data='shape origin'/>"
        "<text name='carom:gyroscopic' data='off'/>"
        "<text name='other' data='x'/><numeric name='mine' size='3' data='1 2 3'/>"
        "<tuple name='t'><element objtype='body' objname='ball'/></tuple></custom>"));
    assert_string_equal(def.law, "ncp");
    assert_string_equal(def.stepper, "end");
    assert_true(def.geom[0].restitution == 0.0 && def.geom[1].restitution == 0.25);
    assert_true(def.body[0].is_shape_inertia && def.body[0].is_origin_inertia);
    assert_true(def.omits_gyro);
    assert_int_equal(def.n_pair, 1);
    const cri_pair_def *pair = &def.pair[0];
    assert_int_equal(pair->geom[0], 0);
    assert_int_equal(pair->geom[1], 1);
    assert_true(pair->has_restitution && pair->restitution == 0.5);
    assert_true(pair->has_friction && pair->friction == 0.0);
    assert_int_equal(pair->place.line, 2);
    cri_scene_def_clear(&def);
}

static void names_with_colons_are_told_apart(void **state) {
    (void)state;
    cri_scene_def def =
        read_scene(SCENE("<custom><numeric name='carom:restitution:a:b:c' data='.5'/>"
                         "<numeric name='carom:restitution:a:b' data='.25'/></custom>"
                         "<worldbody><body><freejoint/><geom name='a:b' size='1'/></body>"
                         "<body><freejoint/><geom name='c' size='1'/></body></worldbody>"));
    assert_int_equal(def.n_pair, 1);
    assert_true(def.pair[0].restitution == 0.5);
    assert_true(def.geom[0].restitution == 0.25);
    cri_scene_def_clear(&def);
}

// three geoms: a floor and two balls with these attributes
static cri_scene_def ranked(const char *floor, const char *a, const char *b, const char *custom) {
    char text[1024];
    snprintf(text, sizeof text,
             SCENE("<custom>%s</custom><worldbody><geom name='floor' type='plane' size='1 1 1' %s/>"
                   "<body><freejoint/><geom name='a' size='1' %s/></body>"
                   "<body><freejoint/><geom name='b' size='1' %s/></body></worldbody>"),
             custom, floor, a, b);
    return read_scene(text);
}

static void the_geom_of_higher_priority_decides_friction(void **state) {
    (void)state;
    cri_scene_def def = ranked("priority='1' friction='.3'", "friction='.7'", "", "");
    assert_int_equal(def.n_pair, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(def.pair[i].geom[0], 0);
        assert_int_equal(def.pair[i].geom[1], i + 1);
        assert_true(!def.pair[i].has_friction && def.pair[i].friction_geom == 1);
        assert_false(def.pair[i].has_restitution);
    }
    cri_scene_def_clear(&def);

    def = ranked("", "priority='-1'", "friction='.1'", "");
    assert_int_equal(def.n_pair, 2);
    assert_true(def.pair[0].geom[1] == 1 && def.pair[0].friction_geom == 1);
    assert_true(def.pair[1].geom[0] == 1 && def.pair[1].friction_geom == 3);
    cri_scene_def_clear(&def);

    def = ranked("priority='2'", "priority='2'", "priority='2'", "");
    assert_int_equal(def.n_pair, 0);
    cri_scene_def_clear(&def);
}

static void a_coefficient_of_the_pair_outranks_priority(void **state) {
    (void)state;
    cri_scene_def def = ranked("priority='1' friction='.3'", "", "",
                               "<numeric name='carom:friction:a:floor' data='.9'/>"
                               "<numeric name='carom:restitution:floor:b' data='.4'/>");
    assert_int_equal(def.n_pair, 2);
    assert_true(def.pair[0].geom[1] == 1 && def.pair[0].friction == 0.9);
    assert_true(def.pair[1].geom[1] == 2 && def.pair[1].friction_geom == 1);
    assert_true(def.pair[1].has_restitution && def.pair[1].restitution == 0.4);
    cri_scene_def_clear(&def);
}

static void pairs_that_cannot_touch_get_no_coefficient(void **state) {
    (void)state;
    cri_scene_def def = ranked("priority='1'", "contype='0' conaffinity='0'", "", "");
    assert_int_equal(def.n_pair, 1);
    assert_int_equal(def.pair[0].geom[1], 2);
    cri_scene_def_clear(&def);
}

static void two_geoms_of_condim_one_slide_freely(void **state) {
    (void)state;
    cri_scene_def def = ranked("condim='1'", "condim='1'", "", "");
    assert_int_equal(def.n_pair, 1);
    assert_int_equal(def.pair[0].geom[1], 1);
    assert_true(def.pair[0].has_friction && def.pair[0].friction == 0.0);
    cri_scene_def_clear(&def);

    def = ranked("condim='1' priority='1'", "condim='3'", "contype='0' conaffinity='0'", "");
    assert_int_equal(def.n_pair, 1);
    assert_true(def.pair[0].friction == 0.0);
    cri_scene_def_clear(&def);
}

static void keyframes_are_read(void **state) {
    (void)state;
    cri_scene_def def =
        read_scene(WITH_BALL("<keyframe><key name='k' time='3' qpos='1 2 3 0 0 2 0' "
                             "qvel='1 2 3\n4 5 6'/><key qvel='6 5 4 3 2 1'/></keyframe>"));
    assert_int_equal(def.n_key, 2);
    const double qpos[7] = {1, 2, 3, 0, 0, 2, 0}; // as written: the builder normalises
    const double qvel[6] = {1, 2, 3, 4, 5, 6};
    assert_string_equal(def.key[0].name, "k");
    assert_int_equal(def.key[0].n_qpos, 7);
    assert_int_equal(def.key[0].n_qvel, 6);
    assert_memory_equal(def.key[0].qpos, qpos, sizeof qpos);
    assert_memory_equal(def.key[0].qvel, qvel, sizeof qvel);
    assert_string_equal(def.key[1].name, "key1");
    assert_null(def.key[1].qpos);
    assert_null(def.key[1].ctrl);
    assert_int_equal(def.key[1].n_qpos, 0);
    assert_true(def.key[1].qvel[0] == 6.0);
    cri_scene_def_clear(&def);
}

static void what_cannot_change_the_motion_is_passed_over(void **state) {
    (void)state;
    cri_scene_def def = read_scene(WITH_BALL(
        "<asset><texture name='t' builtin='checker'/><mesh file='x.stl'/></asset><visual><map/>"
        "</visual><statistic extent='1'/><size nconmax='9'/><sensor><framepos objtype='body' "
        "objname='ball'/></sensor><compiler meshdir='m'><lengthrange/></compiler>"));
    assert_int_equal(def.n_body, 1);
    cri_scene_def_clear(&def);
}

// ---- files -------------------------------------------------------------------------------------

static cr_model *load(const char *path) {
    cr_model *model;
    cr_error err = {0};
    cr_status status = cr_model_load(path, &model, &err);
    if (status != CR_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    return model;
}

static double value_of(const cr_model *model, const char *name) {
    double p[64];
    cr_model_defaults(model, -1, p, NULL, NULL);
    int i = cr_model_find(model, CR_VECTOR_P, name, NULL);
    assert_true(i >= 0 && i < 64);
    return p[i];
}

static void the_examples_become_models(void **state) {
    (void)state;
    cr_model *bounce = load(CAROM_SOURCE_DIR "/examples/bounce.xml");
    assert_true(cr_model_sizes(bounce).dt == 0.005);
    assert_true(value_of(bounce, "floor:ball/friction") == 0.3);
    assert_true(value_of(bounce, "floor:ball/restitution") == 0.5);
    assert_true(value_of(bounce, "ball/size[0]") == 0.06);
    assert_true(value_of(bounce, "ball/density") == 1000.0);
    double x[13];
    cr_model_defaults(bounce, -1, NULL, x, NULL);
    assert_true(x[2] == 0.5 && x[3] == 1.0 && x[7] == 6.0 && x[8] == 1.0);
    assert_int_equal(cr_model_find(bounce, CR_VECTOR_X, "ball/qvel[0]", NULL), 7);
    assert_int_equal(cr_model_find_key(bounce, "throw"), 0);
    cr_model_destroy(bounce);

    cr_model *balls = load(CAROM_SOURCE_DIR "/examples/two_balls.xml");
    assert_true(value_of(balls, "left/mass") == 1.0 && value_of(balls, "right/mass") == 2.0);
    assert_true(value_of(balls, "right:left/restitution") == 0.8);
    cr_model_destroy(balls);

    cr_model *box = load(CAROM_SOURCE_DIR "/examples/box.xml");
    assert_near(value_of(box, "box/inertia[0]"), (0.01 + 0.0025) / 3.0, 1e-16);
    cr_model_destroy(box);
    cr_model_destroy(load(CAROM_SOURCE_DIR "/examples/roll.xml"));
    cr_model *planks = load(CAROM_SOURCE_DIR "/examples/planks.xml");
    assert_int_equal(cr_model_sizes(planks).n_body, 20);
    cr_model_destroy(planks);
}

// a file shared between projects, false when it is not there
static bool shared_path(const char *name, char *path, size_t n) {
    const char *shared = getenv("CAROM_SHARED");
    snprintf(path, n, "%s/bench-scenes/%s", shared ? shared : CAROM_SOURCE_DIR "/../shared", name);
    FILE *f = fopen(path, "rb");
    if (f) {
        fclose(f);
    }
    return f != NULL;
}

static void the_bench_scenes_become_models(void **state) {
    (void)state;
    char ball[512], roll[512], box[512];
    bool has_all = shared_path("a_ball.xml", ball, sizeof ball) &&
                   shared_path("a2_ballroll.xml", roll, sizeof roll) &&
                   shared_path("f_box.xml", box, sizeof box);
    if (!has_all) {
        print_message("SKIP: no bench scenes; CAROM_SHARED may name the folder above them\n");
        skip();
    }
    cr_model *m = load(ball);
    assert_true(value_of(m, "ball/mass") == 1.0 && value_of(m, "geom1/size[0]") == 0.1);
    assert_true(value_of(m, "geom1/friction") == 1.0);
    cr_model_destroy(m);

    // the floor has priority
    m = load(roll);
    assert_true(value_of(m, "floor:geom1/friction") == 1.0);
    assert_int_equal(cr_model_find_key(m, "roll"), 0);
    cr_model_destroy(m);
    m = load(box);
    assert_true(value_of(m, "floor:geom1/friction") == 1.0);
    assert_true(value_of(m, "geom1/friction") == 0.5);
    assert_true(cr_model_sizes(m).dt == 0.001);
    cr_model_destroy(m);
}

static void loading_a_missing_file_is_an_error(void **state) {
    (void)state;
    cr_model *model = (cr_model *)1;
    cr_error err = {0};
    assert_int_equal(cr_model_load("no_such.xml", &model, &err), CR_ERR_FILE);
    assert_null(model);
    assert_string_equal(err.text, "no_such.xml: no such file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_without_settings_has_the_defaults_of_mujoco),
        cmocka_unit_test(unnamed_things_get_free_names),
        cmocka_unit_test(settings_are_read_wherever_they_stand),
        cmocka_unit_test(bodies_and_geoms_are_read),
        cmocka_unit_test(every_orientation_becomes_a_quaternion),
        cmocka_unit_test(orientations_agree_with_mujoco),
        cmocka_unit_test(euler_sequences_turn_about_moving_and_fixed_axes),
        cmocka_unit_test(the_default_class_applies_to_every_geom),
        cmocka_unit_test(custom_entries_are_read),
        cmocka_unit_test(names_with_colons_are_told_apart),
        cmocka_unit_test(the_geom_of_higher_priority_decides_friction),
        cmocka_unit_test(a_coefficient_of_the_pair_outranks_priority),
        cmocka_unit_test(pairs_that_cannot_touch_get_no_coefficient),
        cmocka_unit_test(two_geoms_of_condim_one_slide_freely),
        cmocka_unit_test(keyframes_are_read),
        cmocka_unit_test(what_cannot_change_the_motion_is_passed_over),
        cmocka_unit_test(the_examples_become_models),
        cmocka_unit_test(the_bench_scenes_become_models),
        cmocka_unit_test(loading_a_missing_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
