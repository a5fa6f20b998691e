// SPDX-License-Identifier: MIT
//
// Damaged scenes: cut off at every byte, and with flipped bytes. The reader and the builder either
// make a model or say why not; the sanitizers watch the rest. Every run has the same variants.

#include "model/scene/mjcf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/file.h"

enum { N_FLIPPED = 700 };

static const char *const scenes[] = {
    CAROM_SOURCE_DIR "/examples/bounce.xml",
    CAROM_SOURCE_DIR "/examples/box.xml",
    CAROM_SOURCE_DIR "/examples/two_balls.xml",
    CAROM_SOURCE_DIR "/test/oracle/scenes/actuators.xml",
    CAROM_SOURCE_DIR "/test/oracle/scenes/geoms.xml",
};

// as many kinds of elements and attributes as fit
static const char dense[] =
    "<mujoco model='m'><compiler angle='radian' eulerseq='xYz' autolimits='true'/><option "
    "timestep='.01' gravity='0 0 -9' wind='0 0 0' integrator='RK4'><flag gravity='enable'/>"
    "</option><default><geom friction='.5' condim='3'/><motor gear='2'/><default class='c'><joint "
    "axis='0 1 0' damping='.1'/></default></default><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 "
    "0 0 0 1' face='0 2 1 0 1 3 1 2 3 0 3 2' scale='1 1 2'/></asset><worldbody><geom name='f' "
    "type='plane' size='1 1 1' zaxis='0 1 1' priority='1'/><site name='w'/><body name='a' pos='0 0 "
    "1' xyaxes='1 0 0 0 1 0' childclass='c'><joint type='free'/><inertial mass='1' diaginertia='1 "
    "1 1' pos='0 0 0'/><geom size='.1' axisangle='0 0 1 0'/><site name='s' euler='0 1 0'/><body "
    "name='b'><joint name='h' range='-1 1' ref='.1'/><geom type='capsule' size='.1' fromto='0 0 0 "
    "1 0 0'/></body></body><body euler='1 2 3'><freejoint/><geom type='box' size='1 2 3' "
    "density='10' contype='0' conaffinity='0'/></body><frame pos='1 0 0' euler='0 0 1'><replicate "
    "count='2' offset='1 0 0' sep='_'><body name='r'><joint name='q' type='slide'/><geom "
    "type='mesh' mesh='m'/></body></replicate></frame></worldbody><tendon><fixed name='t' "
    "stiffness='1'><joint joint='h' coef='1'/></fixed></tendon><actuator><motor joint='h' "
    "ctrlrange='-1 1'/><position tendon='t' kp='3'/><motor site='s' refsite='w' gear='1 0 0 0 0 "
    "1'/></actuator><equality><connect body1='a' body2='r_0' anchor='0 0 0'/><joint joint1='q_0' "
    "joint2='q_1' polycoef='0 1 0 0 0'/></equality><contact><pair geom1='f' geom2='geom1' "
    "friction='.1'/><exclude body1='a' body2='b'/></contact><keyframe><key qpos='0 0 1 1 0 0 0 .1 "
    "0 0 5 1 0 0 0 1 2' qvel='1 2 3 4 5 6 7 8 9 0 1 2 3 4 5' ctrl='1 2 3'/></keyframe><custom>"
    "<numeric name='carom:restitution:geom1:f' data='.5'/><text name='carom:law' data='ncp'/>"
    "</custom></mujoco>";

// xorshift
static uint32_t next_random(uint32_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

// memory of the exact size lets the address sanitizer see a read behind the end
static void try_variant(const char *text, size_t n, int n_flip, uint32_t *seed) {
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    for (int i = 0; i < n_flip; i++) {
        // half of the new bytes are text, so that more variants survive the XML
        uint32_t r = next_random(seed);
        char byte = (char)(r & 1 ? 32 + (r >> 8) % 95 : r >> 8);
        copy[next_random(seed) % n] = byte;
    }
    cr_model *model = (cr_model *)1;
    cr_error err = {0};
    cr_status status = cr_model_parse(copy, n, "s.xml", &model, &err);
    if (status == CR_OK) {
        assert_non_null(model);
    } else {
        assert_null(model);
        assert_int_equal(err.status, status);
        assert_memory_equal(err.text, "s.xml:", 6);
        assert_true(strlen(err.text) > 10);
        assert_null(strchr(err.text, '\n'));
    }
    cr_model_destroy(model);
    free(copy);
}

static void damage(const char *text, size_t n) {
    uint32_t seed = 2463534242u;
    try_variant(text, n, 0, &seed);
    for (size_t cut = 0; cut < n; cut++) {
        try_variant(text, cut, 0, &seed);
    }
    for (int k = 0; k < N_FLIPPED; k++) {
        try_variant(text, n, 1 + k % 4, &seed);
    }
}

static void a_damaged_scene_parses_or_says_why(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        char *text;
        size_t n;
        assert_int_equal(cri_file_read(scenes[i], &text, &n, NULL), CR_OK);
        damage(text, n);
        free(text);
    }
}

static void a_damaged_dense_scene_parses_or_says_why(void **state) {
    (void)state;
    cr_model *model;
    assert_int_equal(cr_model_parse(dense, strlen(dense), "s.xml", &model, NULL), CR_OK);
    cr_model_destroy(model);
    damage(dense, strlen(dense));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_scene_parses_or_says_why),
        cmocka_unit_test(a_damaged_dense_scene_parses_or_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
