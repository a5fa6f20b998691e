// SPDX-License-Identifier: MIT
//
// Robots and bench scenes as their authors wrote them, and the scenes for comparison with MuJoCo.

#include "mjcf_read.h"

#include "base/io/file.h"

// a file shared between projects; the test is skipped when it is not there
static void shared_path(const char *name, char *path, size_t n) {
    const char *shared = getenv("CAROM_SHARED");
    snprintf(path, n, "%s/%s", shared ? shared : CAROM_SOURCE_DIR "/../shared", name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("SKIP: no %s; CAROM_SHARED may name the folder above it\n", name);
        skip();
    }
    fclose(f);
}

static cri_scene_def read_text(char *text, size_t n, const char *path) {
    cri_scene_def def;
    cr_error err = {0};
    cr_status status = cri_mjcf_read(text, n, path, &def, &err);
    if (status != CR_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    free(text);
    return def;
}

static cri_scene_def read_file(const char *path) {
    char *text;
    size_t n;
    assert_int_equal(cri_file_read(path, &text, &n, NULL), CR_OK);
    return read_text(text, n, path);
}

// how many of each thing a scene has
typedef struct counts {
    int body, joint, geom, mesh, site, tendon, actuator, equality, pair, exclude, key;
} counts;

static void check_counts(const cri_scene_def *def, counts c) {
    assert_int_equal(def->n_body, c.body);
    assert_int_equal(def->n_joint, c.joint);
    assert_int_equal(def->n_geom, c.geom);
    assert_int_equal(def->n_mesh, c.mesh);
    assert_int_equal(def->n_site, c.site);
    assert_int_equal(def->n_tendon, c.tendon);
    assert_int_equal(def->n_actuator, c.actuator);
    assert_int_equal(def->n_equality, c.equality);
    assert_int_equal(def->n_pair, c.pair);
    assert_int_equal(def->n_exclude, c.exclude);
    assert_int_equal(def->n_key, c.key);
}

static int joint_named(const cri_scene_def *def, const char *name) {
    for (int i = 0; i < def->n_joint; i++) {
        if (strcmp(def->joint[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no joint %s", name);
    return -1;
}

static void both_ants_are_read(void **state) {
    (void)state;
    char path[512];
    shared_path("data/robots/ant/ant.xml", path, sizeof path);
    cri_scene_def def = read_file(path);
    check_counts(&def, (counts){.body = 13, .joint = 9, .geom = 18, .actuator = 8});
    assert_true(def.dt == 0.01);
    assert_int_equal(def.joint[0].kind, CRI_JOINT_FREE);
    assert_true(def.joint[0].armature == 0.0);
    const cri_joint_def *ankle = &def.joint[joint_named(&def, "ankle_2")];
    assert_near(ankle->range[0], -70.0 / 180.0 * PI, 1e-15);
    assert_near(ankle->range[1], -30.0 / 180.0 * PI, 1e-15);
    assert_vec3(ankle->axis, sqrt(0.5), sqrt(0.5), 0);
    assert_true(ankle->armature == 1.0 && ankle->damping == 1.0);
    assert_string_equal(def.body[3].name, "body3");
    // geoms: floor, torso, then the first leg from (0 0 0) to (.2 .2 0)
    assert_int_equal(def.geom[2].shape, CRI_SHAPE_CAPSULE);
    assert_near(def.geom[2].size[1], 0.5 * hypot(0.2, 0.2), 1e-15);
    assert_vec3(def.geom[2].pos, 0.1, 0.1, 0);
    assert_true(def.geom[2].density == 5.0 && def.geom[2].contype == 0);
    assert_true(def.actuator[7].gear[0] == 150.0 && def.actuator[7].ctrl[1] == 1.0);
    assert_int_equal(def.actuator[0].joint, joint_named(&def, "hip_4"));
    cri_scene_def_clear(&def);

    shared_path("data/robots/ant/ant_gym.xml", path, sizeof path);
    def = read_file(path);
    check_counts(&def, (counts){.body = 13, .joint = 9, .geom = 14, .actuator = 8});
    assert_int_equal(def.integrator, CRI_INTEGRATOR_RK4);
    assert_non_null(strstr(def.warning, "ant_gym.xml:9: margin has no effect"));
    cri_scene_def_clear(&def);
}

// blanks every occurrence of piece; how many
static int blank(char *text, const char *piece) {
    int n = 0;
    for (char *at = strstr(text, piece); at; at = strstr(at, piece)) {
        memset(at, ' ', strlen(piece));
        n++;
    }
    return n;
}

static void the_panda_is_read(void **state) {
    (void)state;
    char path[512];
    shared_path("data/robots/franka_panda/panda.xml", path, sizeof path);
    char *text;
    size_t n;
    assert_int_equal(cri_file_read(path, &text, &n, NULL), CR_OK);

    // the data lack the meshes for drawing, among them the one that the fingers collide with
    cri_scene_def def;
    cr_error err = {0};
    if (cri_mjcf_read(text, n, path, &def, &err) == CR_OK) {
        cri_scene_def_clear(&def);
    } else {
        assert_non_null(strstr(err.text, "panda.xml:114: <mesh> file=\"finger_0.obj\" cannot be "
                                         "opened: no such file"));
    }
    assert_int_equal(blank(text, "<geom mesh=\"finger_0\" class=\"collision\"/>"), 2);
    def = read_text(text, n, path);
    check_counts(&def, (counts){.body = 11,
                                .joint = 9,
                                .geom = 21,
                                .mesh = 11,
                                .tendon = 1,
                                .actuator = 8,
                                .equality = 1,
                                .exclude = 1,
                                .key = 1});
    assert_int_equal(def.integrator, CRI_INTEGRATOR_IMPLICIT);
    double mass = 0.0;
    for (int i = 0; i < def.n_body; i++) {
        assert_true(def.body[i].has_inertial);
        mass += def.body[i].mass;
    }
    // the sum of the file's eleven masses
    assert_near(mass, 17.451901, 1e-14);
    const cri_joint_def *finger = &def.joint[joint_named(&def, "finger_joint2")];
    assert_int_equal(finger->kind, CRI_JOINT_SLIDE);
    assert_true(finger->range[1] == 0.04 && finger->armature == 0.1);
    assert_true(def.joint[3].range[0] == -3.0718 && def.joint[3].range[1] == -0.0698);
    assert_quat(def.body[2].quat, sqrt(0.5), -sqrt(0.5), 0, 0);
    const cri_actuator_def *grip = &def.actuator[7];
    assert_true(grip->tendon == 0 && grip->gain == 0.01568627451 && grip->bias[1] == -100.0);
    assert_true(grip->ctrl[1] == 255.0 && grip->force[0] == -100.0);
    assert_true(def.equality[0].poly[1] == 1.0 && def.tendon[0].coef[1] == 0.5);
    assert_int_equal(def.key[0].n_qpos, 9);
    assert_int_equal(def.key[0].n_ctrl, 8);
    cri_scene_def_clear(&def);

    shared_path("data/robots/franka_panda/panda_nohand.xml", path, sizeof path);
    def = read_file(path);
    check_counts(&def, (counts){.body = 9,
                                .joint = 7,
                                .geom = 10,
                                .mesh = 10,
                                .site = 1,
                                .actuator = 7,
                                .exclude = 1,
                                .key = 1});
    assert_non_null(strstr(def.warning, "cannot be opened: only drawn, left out"));
    cri_scene_def_clear(&def);
}

static void the_bench_scenes_are_read(void **state) {
    (void)state;
    static const struct {
        const char *name;
        counts c;
    } scenes[] = {
        {"a_ball", {.body = 1, .joint = 1, .geom = 2}},
        {"a2_ballroll", {.body = 1, .joint = 1, .geom = 2, .pair = 1, .key = 1}},
        {"b_billiards", {.body = 16, .joint = 16, .geom = 17, .pair = 16, .key = 1}},
        // every pair slides freely: 16 balls, 120 pairs
        {"b2_billiards2d", {.body = 16, .joint = 32, .geom = 16, .pair = 120, .key = 1}},
        {"c_antpush", {.body = 10, .joint = 17, .geom = 11, .actuator = 12, .pair = 10, .key = 1}},
        {"d_gather",
         {.body = 11, .joint = 11, .geom = 12, .site = 2, .actuator = 3, .pair = 11, .key = 1}},
        {"e_push",
         {.body = 2, .joint = 2, .geom = 3, .site = 2, .actuator = 3, .pair = 2, .key = 1}},
        {"f_box", {.body = 1, .joint = 1, .geom = 2, .pair = 1, .key = 1}},
        {"g_chain", {.body = 3, .joint = 3, .geom = 4, .pair = 3, .key = 1}},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        char name[64];
        char path[512];
        snprintf(name, sizeof name, "bench-scenes/%s.xml", scenes[i].name);
        shared_path(name, path, sizeof path);
        cri_scene_def def = read_file(path);
        check_counts(&def, scenes[i].c);
        cri_scene_def_clear(&def);
    }
}

static void the_scenes_for_comparison_are_read(void **state) {
    (void)state;
    // as many as MuJoCo 2.2.2 has, less the two equalities of loops.xml that are not active
    static const struct {
        const char *name;
        counts c;
    } scenes[] = {
        {"joints", {.body = 9, .joint = 11, .geom = 9, .key = 1}},
        // 28 pairs: listed, or decided by priority or condim
        {"geoms", {.body = 9, .joint = 8, .geom = 16, .mesh = 2, .pair = 28, .exclude = 2}},
        {"frames", {.body = 8, .joint = 7, .geom = 8, .site = 8, .key = 1}},
        {"actuators",
         {.body = 5, .joint = 6, .geom = 5, .site = 4, .tendon = 3, .actuator = 14, .key = 1}},
        {"loops", {.body = 12, .joint = 12, .geom = 12, .tendon = 2, .equality = 6, .key = 1}},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, CAROM_SOURCE_DIR "/test/oracle/scenes/%s.xml", scenes[i].name);
        cri_scene_def def = read_file(path);
        check_counts(&def, scenes[i].c);
        cri_scene_def_clear(&def);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ants_are_read),
        cmocka_unit_test(the_panda_is_read),
        cmocka_unit_test(the_bench_scenes_are_read),
        cmocka_unit_test(the_scenes_for_comparison_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
