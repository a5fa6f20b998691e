// SPDX-License-Identifier: MIT
//
// Scenes that are read, for the tests of the MJCF reader.

#pragma once

#include "model/scene/mjcf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

// a scene around the inside of <mujoco>
#define SCENE(inside) "<mujoco>" inside "</mujoco>"

static inline cri_scene_def read_scene(const char *text) {
    cri_scene_def def;
    cr_error err = {0};
    cr_status status = cri_mjcf_read(text, strlen(text), "s.xml", &def, &err);
    if (status != CR_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    return def;
}

static inline void assert_near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) {
        print_message("%.17g differs from %.17g\n", a, b);
    }
    assert_true(fabs(a - b) <= tolerance);
}

static inline void assert_quat(cri_quat q, double w, double x, double y, double z) {
    // a few roundings of sine, cosine and one square root
    double sign = q.w * w + q.x * x + q.y * y + q.z * z < 0.0 ? -1.0 : 1.0;
    assert_near(sign * q.w, w, 1e-15);
    assert_near(sign * q.x, x, 1e-15);
    assert_near(sign * q.y, y, 1e-15);
    assert_near(sign * q.z, z, 1e-15);
}

static inline void assert_vec3(cri_vec3 a, double x, double y, double z) {
    // a few roundings of numbers below 10
    assert_near(a.x, x, 4e-15);
    assert_near(a.y, y, 4e-15);
    assert_near(a.z, z, 4e-15);
}
