// SPDX-License-Identifier: MIT
//
// MJCF scenes that are refused, and what the user is told.

#include "scene/mjcf.h"

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

static void expect_one(const refused *r) {
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

static void expect(const refused *r, size_t n) {
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

static void broken_files_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {"", CR_ERR_SYNTAX, 1, "is empty: expected XML"},
        {HEAD "<worldbody>\n", CR_ERR_SYNTAX, 3,
         "not valid XML: no element found; the file ends too early"},
        {HEAD "<worldbody></body>", CR_ERR_SYNTAX, 2, "not valid XML: mismatched tag"},
        {"<robot name='r'/>", CR_ERR_SYNTAX, 1, "<robot> is no MJCF scene: expected <mujoco>"},
        {HEAD TAIL, CR_ERR_UNSUPPORTED, 1,
         "<mujoco> has no bodies: add a <body> with <freejoint/> to <worldbody>"},
        {HEAD "<worldbody>" FLOOR "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 1,
         "<mujoco> has no bodies: add a <body> with <freejoint/> to <worldbody>"},
    };
    EXPECT(cases);
}

static void unknown_elements_are_reported(void **state) {
    (void)state;
    static const char *const section = "<actuator> is not supported here: remove it; scenes are "
                                       "free bodies on planes, in one file";
    const refused cases[] = {
        {BEFORE("<actuator><motor joint='j'/></actuator>"), CR_ERR_UNSUPPORTED, 2, section},
        {BEFORE("<include file='other.xml'/>"), CR_ERR_UNSUPPORTED, 2,
         "<include> is not supported here: remove it; scenes are free bodies on planes, in one "
         "file"},
        {HEAD "<worldbody>\n<frame/>" BALL "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<frame> is not supported here: the world has free bodies and planes only"},
        {BODY("<freejoint/><geom size='1'/>\n<body/>"), CR_ERR_UNSUPPORTED, 4,
         "<body> is not supported here: a body has <freejoint>, <geom>, <inertial> only, and "
         "stands "
         "directly under <worldbody>"},
        {BEFORE("<option><flags/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<flags> is not supported here: <option> has <flag> only; remove it"},
        {BEFORE("<keyframe><frame/></keyframe>"), CR_ERR_UNSUPPORTED, 2,
         "<frame> is not supported here: <keyframe> has <key> only; remove it"},
        {CUSTOM("<number/>"), CR_ERR_UNSUPPORTED, 2,
         "<number> is not supported here: <custom> has <numeric>, <text>, <tuple>"},
    };
    EXPECT(cases);
}

static void unknown_attributes_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {"<mujoco modle='m'>" WORLD TAIL, CR_ERR_SYNTAX, 1,
         "<mujoco> has an unknown attribute 'modle': check its spelling or remove it"},
        {GEOM("size='1' fricton='.5'"), CR_ERR_SYNTAX, 3,
         "<geom> has an unknown attribute 'fricton': check its spelling or remove it"},
        {BEFORE("<option dt='.1'/>"), CR_ERR_SYNTAX, 2,
         "<option> has an unknown attribute 'dt': check its spelling or remove it"},
        {BEFORE("<keyframe><key pos='1'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> has an unknown attribute 'pos': check its spelling or remove it"},
        {BODY("<freejoint damping='0'/><geom size='1'/>"), CR_ERR_SYNTAX, 3,
         "<freejoint> has an unknown attribute 'damping': check its spelling or remove it"},
        {HEAD "<worldbody name='w'>" BALL "</worldbody>" TAIL, CR_ERR_SYNTAX, 2,
         "<worldbody> has an unknown attribute 'name': check its spelling or remove it"},
    };
    EXPECT(cases);
}

static void settings_that_would_change_the_motion_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {BEFORE("<compiler eulerseq='zyx'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> eulerseq=\"zyx\" is not supported: only MuJoCo's default is read; remove it "
         "and adapt the scene"},
        {BEFORE("<compiler settotalmass='3'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> settotalmass=\"3\" is not supported: only MuJoCo's default is read; remove it "
         "and adapt the scene"},
        {BEFORE("<compiler inertiagrouprange='0 5'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> inertiagrouprange is not supported: only MuJoCo's default is read; remove it "
         "and adapt the scene"},
        {BEFORE("<compiler angle='grad'/>"), CR_ERR_SYNTAX, 2,
         "<compiler> angle=\"grad\" is unknown: expected degree or radian"},
        {BEFORE("<option wind='0 1 0'/>"), CR_ERR_UNSUPPORTED, 2,
         "<option> wind=\"0 1 0\" is not supported: bodies move in a vacuum and all pairs collide; "
         "remove it"},
        {BEFORE("<option><flag contact='disable'/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<flag> contact=\"disable\" is not supported: remove it, and set gravity=\"0 0 0\" or "
         "contype and conaffinity instead"},
        {BEFORE("<option timestep='0'/>"), CR_ERR_SYNTAX, 2,
         "<option> timestep is 0, expected more than 0"},
        {BEFORE("<option timestep='-.01'/>"), CR_ERR_SYNTAX, 2,
         "<option> timestep is -0.01, expected more than 0"},
    };
    EXPECT(cases);
}

static void classes_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {BEFORE("<default><default class='c'/></default>"), CR_ERR_UNSUPPORTED, 2,
         "<default> is not supported here: classes are not read; write the attributes into the "
         "elements"},
        {BEFORE("<default><body/></default>"), CR_ERR_UNSUPPORTED, 2,
         "<body> is not supported here: only defaults of <geom> are read"},
        {GEOM("class='c'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> class is not supported: use a solid sphere or box with size, without class"},
        {HEAD "<worldbody>\n<body childclass='c'/></worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<body> childclass is not supported: bodies move freely under gravity and have no class; "
         "remove it"},
    };
    EXPECT(cases);
}

static void bad_numbers_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {BEFORE("<option gravity='0 0'/>"), CR_ERR_SYNTAX, 2,
         "<option> gravity=\"0 0\" has 2 numbers, expected 3"},
        {BEFORE("<option gravity='0 0 0 0'/>"), CR_ERR_SYNTAX, 2,
         "<option> gravity=\"0 0 0 0\" has 4 numbers, expected 3"},
        {BEFORE("<option gravity=''/>"), CR_ERR_SYNTAX, 2,
         "<option> gravity=\"\" has 0 numbers, expected 3"},
        {GEOM("size='1 2 3 4'"), CR_ERR_SYNTAX, 3,
         "<geom> size=\"1 2 3 4\" has 4 numbers, expected 1 to 3"},
        {GEOM("size='nan'"), CR_ERR_SYNTAX, 3,
         "<geom> size: 'nan' is NaN, expected a finite number"},
        {GEOM("size='-inf'"), CR_ERR_SYNTAX, 3,
         "<geom> size: '-inf' is infinite, expected a finite number"},
        {GEOM("size='1e999'"), CR_ERR_SYNTAX, 3,
         "<geom> size: '1e999' is infinite, expected a finite number"},
        {GEOM("size='.1' mass='1kg'"), CR_ERR_SYNTAX, 3,
         "<geom> mass: '1kg' is not a number, expected a finite number"},
        {GEOM("size='.1' pos='0 0 x'"), CR_ERR_SYNTAX, 3,
         "<geom> pos: 'x' is not a number, expected a finite number"},
        {GEOM("size='.1,.2'"), CR_ERR_SYNTAX, 3,
         "<geom> size: '.1,.2' is not a number, expected a finite number"},
        {GEOM("size='.1' contype='1.5'"), CR_ERR_SYNTAX, 3,
         "<geom> contype: 1.5 is not an integer of 32 bits"},
        {GEOM("size='.1' conaffinity='1e10'"), CR_ERR_SYNTAX, 3,
         "<geom> conaffinity: 1e+10 is not an integer of 32 bits"},
    };
    EXPECT(cases);
}

static void bad_orientations_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {HEAD "<worldbody>\n<body quat='0 0 0 0'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> quat=\"0 0 0 0\" is zero"},
        {HEAD "<worldbody>\n<body axisangle='0 0 0 1'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> axisangle=\"0 0 0 1\" is zero"},
        {HEAD "<worldbody>\n<body zaxis='0 0 0'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> zaxis=\"0 0 0\" is zero"},
        {HEAD "<worldbody>\n<body xyaxes='1 2 3 2 4 6'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> xyaxes=\"1 2 3 2 4 6\" has parallel or zero axes"},
        {HEAD "<worldbody>\n<body quat='1 0 0 0' euler='0 0 0'/></worldbody>" TAIL, CR_ERR_SYNTAX,
         3, "<body> has both quat and euler: give one orientation only"},
    };
    EXPECT(cases);
}

static void impossible_geoms_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {GEOM("size='0'"), CR_ERR_SYNTAX, 3, "<geom> size is 0, expected more than 0"},
        {GEOM("size='-1'"), CR_ERR_SYNTAX, 3, "<geom> size is -1, expected more than 0"},
        {GEOM("type='box' size='1 1 0'"), CR_ERR_SYNTAX, 3,
         "<geom> size is 0, expected more than 0"},
        {GEOM(""), CR_ERR_SYNTAX, 3, "<geom> has 0 numbers in size, expected 1, the radius"},
        {GEOM("type='box' size='1 1'"), CR_ERR_SYNTAX, 3,
         "<geom> has 2 numbers in size, expected 3 half lengths of the box"},
        {GEOM("size='1' mass='0'"), CR_ERR_SYNTAX, 3, "<geom> mass is 0, expected more than 0"},
        {GEOM("size='1' mass='-2'"), CR_ERR_SYNTAX, 3, "<geom> mass is -2, expected more than 0"},
        {GEOM("size='1' density='0'"), CR_ERR_SYNTAX, 3,
         "<geom> density is 0, expected more than 0"},
        {GEOM("size='1' friction='-.5'"), CR_ERR_SYNTAX, 3,
         "<geom> friction is -0.5, expected 0 or more"},
        {GEOM("size='1' condim='2'"), CR_ERR_SYNTAX, 3,
         "<geom> condim is 2, expected 1, 3, 4 or 6"},
        {GEOM("type='ball' size='1'"), CR_ERR_SYNTAX, 3,
         "<geom> type=\"ball\" is unknown: expected sphere, box or plane"},
    };
    EXPECT(cases);
}

static void geoms_that_are_not_simulated_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {GEOM("type='capsule' size='1 1'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> type=\"capsule\" is not supported: use a sphere, a box or a plane"},
        {GEOM("size='1' fromto='0 0 0 1 0 0'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> fromto is not supported: use a solid sphere or box with size, without class"},
        {GEOM("size='1' shellinertia='true'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> shellinertia=\"true\" is not supported: use a solid sphere or box with size, "
         "without class"},
        {GEOM("size='1' pos='0 0 .1'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> is not at the origin of its body: move or turn the <body> instead"},
        {GEOM("type='box' size='1 1 1' euler='0 0 1'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> is not at the origin of its body: move or turn the <body> instead"},
        {GEOM("type='plane' size='1 1 1'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> is a plane on a body: move it into <worldbody>"},
        {HEAD "<worldbody>\n<geom type='box' size='1 1 1'/>" BALL "</worldbody>" TAIL,
         CR_ERR_UNSUPPORTED, 3,
         "<geom> is fixed to the world and no plane: use a plane, or a <body> with <freejoint/> "
         "around it"},
    };
    EXPECT(cases);
}

static void bodies_that_are_not_simulated_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {BODY("<geom size='1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<body> has no joint and would be fixed: add <freejoint/>"},
        {BODY("<freejoint/>"), CR_ERR_UNSUPPORTED, 3,
         "<body> has no geom: add a <geom> of type sphere or box"},
        {BODY("<freejoint/>\n<freejoint/><geom size='1'/>"), CR_ERR_UNSUPPORTED, 4,
         "<freejoint> is the second of its body, after line 3: use a single <freejoint/>"},
        {BODY("<freejoint/><geom size='1'/>\n<geom size='1'/>"), CR_ERR_UNSUPPORTED, 4,
         "<geom> is the second of its body, after line 3: give each body a single geom"},
        {BODY("<joint axis='1 0 0'/><geom size='1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<joint> of type hinge (the default) is not supported: use <freejoint/>"},
        {BODY("<joint type='ball'/><geom size='1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<joint> of type ball is not supported: use <freejoint/>"},
        {BODY("<joint type='free' damping='.1'/><geom size='1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<joint> damping=\".1\" is not supported: a free joint has no springs, damping, friction "
         "or class; use <freejoint/>"},
        {HEAD "<worldbody>\n<body mocap='true'/></worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<body> mocap=\"true\" is not supported: bodies move freely under gravity and have no "
         "class; remove it"},
    };
    EXPECT(cases);
}

static void bad_inertias_are_reported(void **state) {
    (void)state;
#define INERTIAL(attrs) BODY("<freejoint/><inertial " attrs "/><geom size='1'/>")
    static const refused cases[] = {
        {INERTIAL("pos='0 0 0' mass='1'"), CR_ERR_SYNTAX, 3,
         "<inertial> needs both mass and diaginertia"},
        {INERTIAL("mass='0' diaginertia='1 1 1'"), CR_ERR_SYNTAX, 3,
         "<inertial> mass is 0, expected more than 0"},
        {INERTIAL("mass='1' diaginertia='1 1 0'"), CR_ERR_SYNTAX, 3,
         "<inertial> diaginertia 0 is impossible: each moment must be above 0 and at most the sum "
         "of the other two"},
        {INERTIAL("mass='1' diaginertia='1 3 1'"), CR_ERR_SYNTAX, 3,
         "<inertial> diaginertia 3 is impossible: each moment must be above 0 and at most the sum "
         "of the other two"},
        {INERTIAL("mass='1' diaginertia='1 1 1' pos='0 .1 0'"), CR_ERR_UNSUPPORTED, 3,
         "<inertial> is not at the origin of its body: only pos=\"0 0 0\" without rotation is "
         "simulated"},
        {INERTIAL("mass='1' fullinertia='1 1 1 0 0 0'"), CR_ERR_UNSUPPORTED, 3,
         "<inertial> fullinertia is not supported: turn the body to its principal axes and give "
         "diaginertia"},
    };
#undef INERTIAL
    EXPECT(cases);
}

static void names_that_come_twice_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {HEAD "<worldbody>\n" BALL
              "<body name='ball'><freejoint/><geom size='1'/></body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 4, "two bodies have the name 'ball', the other on line 3: rename one"},
        // the unnamed one is geom1
        {HEAD "<worldbody>\n<geom name='geom1' type='plane'/>\n<body><freejoint/>\n<geom size='1'/>"
              "</body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 5, "two geoms have the name 'geom1', the other on line 3: rename one"},
        {BEFORE("<keyframe><key name='k'/><key name='k'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "two keyframes have the name 'k', the other on line 2: rename one"},
        {CUSTOM("<text name='carom:law' data='a'/><text name='carom:law' data='b'/>"),
         CR_ERR_SYNTAX, 2,
         "two entries have the name 'carom:law', the other on line 2: rename one"},
    };
    EXPECT(cases);
}

static void a_name_too_long_is_refused(void **state) {
    (void)state;
    char text[600];
    snprintf(text, sizeof text, HEAD "<worldbody>\n<body name='%0150d'/></worldbody>" TAIL, 7);
    expect_one(
        &(refused){text, CR_ERR_SYNTAX, 3, "<body> has a name of 150 bytes, at most 99 are read"});
}

static void bad_keyframes_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {BEFORE("<keyframe><key qpos='0 0 1 1 0 0'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> qpos=\"0 0 1 1 0 0\" has 6 numbers, expected 7"},
        {BEFORE("<keyframe><key qvel='0 0 1 1 0 0 0'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> qvel=\"0 0 1 1 0 0 0\" has 7 numbers, expected 6"},
        {BEFORE("<keyframe><key qpos='0 0 1 0 0 0 0'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> qpos: the quaternion of 'ball' is zero"},
        {BEFORE("<keyframe><key ctrl='1'/></keyframe>"), CR_ERR_UNSUPPORTED, 2,
         "<key> ctrl is not supported: a scene has neither actuators nor mocap bodies; remove it"},
    };
    EXPECT(cases);
}

static void bad_custom_entries_are_reported(void **state) {
    (void)state;
#define KNOWN                                                                                      \
    "expected carom: law, stepper, inertia:BODY (text), restitution:GEOM, restitution:GEOM:GEOM, " \
    "friction:GEOM:GEOM (numeric)"
    static const refused cases[] = {
        {CUSTOM("<text name='carom:lwa' data='ncp'/>"), CR_ERR_SYNTAX, 2,
         "<text> 'carom:lwa': " KNOWN},
        {CUSTOM("<numeric name='carom:mass:ball' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'carom:mass:ball': " KNOWN},
        {CUSTOM("<numeric name='carom:law' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'carom:law': " KNOWN},
        {CUSTOM("<text name='carom:law' data=''/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"\" is no name of a law"},
        {CUSTOM("<text name='carom:inertia:floor' data='shape'/>"), CR_ERR_SYNTAX, 2,
         "<text> names no body of this scene: 'floor'"},
        {CUSTOM("<text name='carom:inertia:ball' data='box'/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"box\" is unknown: expected shape"},
        {HEAD
         "<custom><text name='carom:inertia:b' data='shape'/></custom><worldbody><body name='b'>"
         "<freejoint/><inertial mass='1' diaginertia='1 1 1'/><geom "
         "size='1'/></body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 2, "<text> contradicts <inertial> of body 'b': remove one of them"},
    };
#undef KNOWN
    EXPECT(cases);
}

static void bad_coefficients_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {CUSTOM("<numeric name='carom:restitution:ball'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'carom:restitution:ball' has no data"},
        {CUSTOM("<numeric name='carom:restitution:ball' data='1 2'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> data=\"1 2\" has 2 numbers, expected 1"},
        {CUSTOM("<numeric name='carom:restitution:ball' data='1.5'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> restitution is 1.5, expected 0 to 1"},
        {CUSTOM("<numeric name='carom:restitution:bell' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> names no geom of this scene: 'bell'"},
        {CUSTOM("<numeric name='carom:restitution:floor:bell' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'floor:bell' is no pair of geoms: expected GEOM:GEOM, two names of this scene"},
        {CUSTOM("<numeric name='carom:friction:ball' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'ball' is no pair of geoms: expected GEOM:GEOM, two names of this scene"},
        {CUSTOM("<numeric name='carom:friction:floor:ball' data='-1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> friction is -1, expected 0 or more"},
        {CUSTOM("<numeric name='carom:friction:ball:ball' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'ball:ball' never collide: remove the entry, or change contype and "
         "conaffinity"},
        {CUSTOM("<numeric name='carom:friction:floor:ball' data='1'/>"
                "<numeric name='carom:friction:ball:floor' data='1'/>"),
         CR_ERR_SYNTAX, 2, "<numeric> gives the friction of 'ball:floor' again"},
        {CUSTOM("<numeric name='carom:restitution:floor:ball' data='1'/>"
                "<numeric name='carom:restitution:ball:floor' data='1'/>"),
         CR_ERR_SYNTAX, 2, "<numeric> gives the restitution of 'ball:floor' again"},
    };
    EXPECT(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_are_reported),
        cmocka_unit_test(unknown_elements_are_reported),
        cmocka_unit_test(unknown_attributes_are_reported),
        cmocka_unit_test(settings_that_would_change_the_motion_are_refused),
        cmocka_unit_test(classes_are_refused),
        cmocka_unit_test(bad_numbers_are_reported),
        cmocka_unit_test(bad_orientations_are_reported),
        cmocka_unit_test(impossible_geoms_are_reported),
        cmocka_unit_test(geoms_that_are_not_simulated_are_refused),
        cmocka_unit_test(bodies_that_are_not_simulated_are_refused),
        cmocka_unit_test(bad_inertias_are_reported),
        cmocka_unit_test(names_that_come_twice_are_reported),
        cmocka_unit_test(a_name_too_long_is_refused),
        cmocka_unit_test(bad_keyframes_are_reported),
        cmocka_unit_test(bad_custom_entries_are_reported),
        cmocka_unit_test(bad_coefficients_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
