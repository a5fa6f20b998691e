// SPDX-License-Identifier: MIT
//
// Scenes and tables when the heap gives out: every allocation fails once. Needs WRAP.

#include "carom/carom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/table.h"
#include "model/scene/mjcf.h"
#include "support/alloc_wrap.h"

// one of each thing that takes memory, and more pairs than fit at first
static const char scene[] =
    "<mujoco><default><geom size='.1'/></default><worldbody><geom name='f' type='plane' size='1 1 "
    "1' priority='1'/><body name='a'><freejoint/><geom name='a'/></body><body><freejoint/><geom/>"
    "</body><body><freejoint/><geom/></body><body><freejoint/><geom/></body><body><freejoint/>"
    "<geom/></body><body><freejoint/><geom/></body><body><freejoint/><geom/></body><body>"
    "<freejoint/><geom/></body><body><freejoint/><geom name='b'/></body></worldbody><keyframe><key "
    "qvel='1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 "
    "3 4 5 6 1 2 3 4 5 6'/></keyframe><custom><numeric name='carom:restitution:a:b' data='.5'/>"
    "</custom></mujoco>";

// call allocates, releases everything again and returns what became of it
static void fail_every_allocation(cr_status (*call)(cr_error *err)) {
    cr_error err = {0};
    assert_int_equal(call(&err), CR_OK);
    long live = cr_alloc_live();
    int n_failed = 0;
    for (long k = 1;; k++) {
        cr_alloc_fail_at(k);
        err = (cr_error){0};
        cr_status status = call(&err);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        assert_int_equal(cr_alloc_live(), live);
        if (!has_failed) {
            assert_int_equal(status, CR_OK);
            break;
        }
        // expat and realloc may do without; what fails must say so
        if (status != CR_OK) {
            assert_int_equal(status, CR_ERR_MEMORY);
            assert_int_equal(err.status, CR_ERR_MEMORY);
            assert_true(err.text[0] != '\0');
            n_failed++;
        }
    }
    assert_true(n_failed > 3);
}

// a robot: everything that a definition has a list for, a class and a mesh
static const char robot[] =
    "<mujoco><default><default class='c'><geom size='.1'/></default></default><asset><mesh "
    "name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 2 1 0 1 3 1 2 3 0 3 2'/></asset><worldbody>"
    "<site name='w'/><replicate count='20' sep='_'><body name='a' childclass='c'><joint name='h'/>"
    "<geom/><geom type='mesh' mesh='m'/><site name='s'/></body></replicate></worldbody><tendon>"
    "<fixed name='t'><joint joint='h_00' coef='1'/></fixed></tendon><actuator><motor tendon='t'/>"
    "<motor site='s_01' refsite='w'/></actuator><equality><joint joint1='h_02' joint2='h_03'/>"
    "</equality><contact><exclude body1='a_00' body2='a_01'/></contact><keyframe><key ctrl='1 2'/>"
    "</keyframe></mujoco>";

static cr_status read_robot(cr_error *err) {
    cri_scene_def def;
    cr_status status = cri_mjcf_read(robot, strlen(robot), "s.xml", &def, err);
    if (status == CR_OK) {
        cri_scene_def_clear(&def);
    }
    return status;
}

static cr_status parse_scene(cr_error *err) {
    cr_model *model;
    cr_status status = cr_model_parse(scene, strlen(scene), "s.xml", &model, err);
    cr_model_destroy(model);
    return status;
}

static cr_status load_scene(cr_error *err) {
    cr_model *model;
    cr_status status = cr_model_load(CAROM_SOURCE_DIR "/examples/bounce.xml", &model, err);
    cr_model_destroy(model);
    return status;
}

static cr_status read_table(cr_error *err) {
    cri_table table;
    cr_status status = cri_table_read(CAROM_SOURCE_DIR "/examples/bounce.csv", &table, err);
    cri_table_clear(&table);
    return status;
}

static void a_scene_survives_the_failure_of_every_allocation(void **state) {
    (void)state;
    fail_every_allocation(parse_scene);
    fail_every_allocation(load_scene);
    fail_every_allocation(read_robot);
}

static void a_table_survives_the_failure_of_every_allocation(void **state) {
    (void)state;
    fail_every_allocation(read_table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_survives_the_failure_of_every_allocation),
        cmocka_unit_test(a_table_survives_the_failure_of_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
