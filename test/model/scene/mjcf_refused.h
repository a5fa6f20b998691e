// SPDX-License-Identifier: MIT
//
// Scenes that are refused: text, line and message, for the tests of the MJCF reader.

#pragma once

#include "model/scene/mjcf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// the parts of a scene, each on a line of its own
#define HEAD "<mujoco>\n"
#define FLOOR "<geom name='floor' type='plane' size='1 1 1'/>\n"
#define BALL "<body name='ball'><freejoint/><geom name='ball' size='.1'/></body>\n"
#define WORLD "<worldbody>\n" FLOOR BALL "</worldbody>\n"
#define TAIL "</mujoco>\n"

typedef struct refused {
    const char *text;
    cr_status status;
    int line;
    const char *message; // after "s.xml:LINE: "
} refused;

static inline void expect_one(const refused *r) {
    cri_scene_def def;
    cr_error err = {0};
    char message[300];
    snprintf(message, sizeof message, "s.xml:%d: %s", r->line, r->message);
    cr_status status = cri_mjcf_read(r->text, strlen(r->text), "s.xml", &def, &err);
    assert_string_equal(err.text, message);
    assert_int_equal(status, r->status);
    assert_int_equal(err.status, r->status);
    assert_int_equal(err.line, r->line);
    assert_int_equal(def.n_body, 0);
    assert_null(def.body);
    assert_int_equal(cri_mjcf_read(r->text, strlen(r->text), "s.xml", &def, NULL), r->status);
}

static inline void expect(const refused *r, size_t n) {
    for (size_t i = 0; i < n; i++) {
        expect_one(&r[i]);
    }
}

#define EXPECT(cases) expect(cases, sizeof(cases) / sizeof((cases)[0]))

// a body with this inside, on line 3
#define BODY(inside) HEAD "<worldbody>\n<body name='a'>" inside "</body></worldbody>" TAIL

// a ball whose geom has these attributes, on line 3
#define GEOM(attrs) BODY("<freejoint/><geom " attrs "/>")

// a good scene after this, which stands on line 2
#define BEFORE(part) HEAD part "\n" WORLD TAIL

// a good scene with this in <custom>, on line 2
#define CUSTOM(part) BEFORE("<custom>" part "</custom>")
