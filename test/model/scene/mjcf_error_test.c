// SPDX-License-Identifier: MIT
//
// MJCF scenes that are refused, and what the user is told.

#include "mjcf_refused.h"

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
    static const refused cases[] = {
        {BEFORE("<deformable/>"), CR_ERR_UNSUPPORTED, 2,
         "<deformable> is not supported here: remove it; plugins and soft bodies are not "
         "simulated"},
        {HEAD "<worldbody>\n<boody/>" BALL "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<boody> is unknown: did you mean <body>?"},
        {HEAD "<worldbody>\n<goem/>" BALL "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<goem> is unknown: did you mean <geom>?"},
        {HEAD "<worldbody>\n<lamp/>" BALL "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<lamp> is not supported here: expected body, joint, freejoint, geom, site, inertial, "
         "frame, replicate, light or camera"},
        {BEFORE("<wordlbody/>"), CR_ERR_UNSUPPORTED, 2,
         "<wordlbody> is unknown: did you mean <worldbody>?"},
        {BODY("<freejoint/><geom size='1'/>\n<composite/>"), CR_ERR_UNSUPPORTED, 4,
         "<composite> is not supported here: soft and composite bodies are not read; write the "
         "bodies out"},
        {BODY("<freejoint/><geom size='1'/>\n<attach/>"), CR_ERR_UNSUPPORTED, 4,
         "<attach> is not supported here: use <include>, or write it out"},
        {BODY("<freejoint/><geom size='1'>\n<plugin/></geom>"), CR_ERR_UNSUPPORTED, 4,
         "<plugin> is not supported here: <geom> has attributes only; remove it"},
        {HEAD "<worldbody>\n<joint/>" BALL "</worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<joint> is not supported here: the world has no joints; move it into a <body>"},
        {BEFORE("<option><flags/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<flags> is unknown: did you mean <flag>?"},
        {BEFORE("<option><key/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<key> is not supported here: <option> has flag only; remove it"},
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
         "<mujoco> has an unknown attribute 'modle': did you mean 'model'?"},
        {GEOM("size='1' fricton='.5'"), CR_ERR_SYNTAX, 3,
         "<geom> has an unknown attribute 'fricton': did you mean 'friction'?"},
        {GEOM("size='1' frictoin='.5'"), CR_ERR_SYNTAX, 3,
         "<geom> has an unknown attribute 'frictoin': did you mean 'friction'?"},
        {GEOM("size='1' Friction='.5'"), CR_ERR_SYNTAX, 3,
         "<geom> has an unknown attribute 'Friction': did you mean 'friction'?"},
        {BEFORE("<option dt='.1'/>"), CR_ERR_SYNTAX, 2,
         "<option> has an unknown attribute 'dt': check its spelling or remove it"},
        {BEFORE("<keyframe><key pos='1'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> has an unknown attribute 'pos': did you mean 'qpos'?"},
        {BODY("<freejoint damping='0'/><geom size='1'/>"), CR_ERR_SYNTAX, 3,
         "<freejoint> has an unknown attribute 'damping': check its spelling or remove it"},
        {HEAD "<worldbody name='w'>" BALL "</worldbody>" TAIL, CR_ERR_SYNTAX, 2,
         "<worldbody> has an unknown attribute 'name': check its spelling or remove it"},
    };
    EXPECT(cases);
}

static void settings_that_would_change_the_motion_are_refused(void **state) {
    (void)state;
#define MASSES                                                                                     \
    " is not supported: remove it, use local coordinates and give masses in <inertial> or <geom>"
    static const refused cases[] = {
        {BEFORE("<compiler settotalmass='3'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> settotalmass=\"3\"" MASSES},
        {BEFORE("<compiler boundmass='.1'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> boundmass=\".1\"" MASSES},
        {BEFORE("<compiler coordinate='global'/>"), CR_ERR_UNSUPPORTED, 2,
         "<compiler> coordinate=\"global\"" MASSES},
        {BEFORE("<compiler eulerseq='xyw'/>"), CR_ERR_SYNTAX, 2,
         "<compiler> eulerseq=\"xyw\" is no sequence: expected three letters of xyzXYZ"},
        {BEFORE("<compiler inertiagrouprange='0 .5'/>"), CR_ERR_SYNTAX, 2,
         "<compiler> inertiagrouprange: 0.5 is no group: expected 0 to 5"},
        {BEFORE("<compiler angle='grad'/>"), CR_ERR_SYNTAX, 2,
         "<compiler> angle=\"grad\" is unknown: expected degree or radian"},
        {BEFORE("<compiler autolimits='yes'/>"), CR_ERR_SYNTAX, 2,
         "<compiler> autolimits=\"yes\" is unknown: expected false or true"},
        {BEFORE("<option><flag eulerdamp='disable'/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<flag> eulerdamp=\"disable\" is not supported: remove it: contacts have the coefficients "
         "of "
         "their geoms, damping is implicit"},
        {BEFORE("<option wind='0 1 0'/>"), CR_ERR_UNSUPPORTED, 2,
         "<option> wind=\"0 1 0\" is not supported: bodies move in a vacuum, all pairs collide, "
         "all "
         "actuators act; remove it"},
        {BEFORE("<option integrator='leapfrog'/>"), CR_ERR_SYNTAX, 2,
         "<option> integrator=\"leapfrog\" is unknown: expected Euler, RK4, implicit or "
         "implicitfast"},
        {BEFORE("<option><flag contact='off'/></option>"), CR_ERR_SYNTAX, 2,
         "<flag> contact=\"off\" is unknown: expected disable or enable"},
        {BEFORE("<option><flag override='enable'/></option>"), CR_ERR_UNSUPPORTED, 2,
         "<flag> override=\"enable\" is not supported: remove it: contacts have the coefficients "
         "of their geoms, damping is implicit"},
        {BEFORE("<option timestep='0'/>"), CR_ERR_SYNTAX, 2,
         "<option> timestep is 0, expected more than 0"},
        {BEFORE("<option timestep='-.01'/>"), CR_ERR_SYNTAX, 2,
         "<option> timestep is -0.01, expected more than 0"},
    };
#undef MASSES
    EXPECT(cases);
}

static void wrong_classes_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {BEFORE("<default><default/></default>"), CR_ERR_SYNTAX, 2,
         "<default> has no class: name one"},
        {BEFORE("<default><default class='c'/><default class='c'/></default>"), CR_ERR_SYNTAX, 2,
         "<default> opens the class 'c' a second time: rename or join them"},
        {BEFORE("<default><body/></default>"), CR_ERR_UNSUPPORTED, 2,
         "<body> is not supported here: defaults are read of geom, joint, site, mesh, pair, "
         "equality, tendon, general, motor, position, velocity"},
        {BEFORE("<default><geom sise='1'/></default>"), CR_ERR_SYNTAX, 2,
         "<geom> has an unknown attribute 'sise': did you mean 'size'?"},
        {BEFORE("<default><geom size='a'/></default>"), CR_ERR_SYNTAX, 2,
         "<geom> size: 'a' is not a number, expected a finite number"},
        {GEOM("class='c'"), CR_ERR_SYNTAX, 3, "<geom> class=\"c\" is unknown: the scene has main"},
        {"<mujoco><default><default class='visual'/><default class='collision'/></default>\n"
         "<worldbody>\n<body childclass='visuel'/></worldbody>" TAIL,
         CR_ERR_SYNTAX, 3, "<body> childclass=\"visuel\" is unknown: did you mean 'visual'?"},
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
         "<body> quat=\"0 0 0 0\" is zero: give a direction"},
        {HEAD "<worldbody>\n<body axisangle='0 0 0 1'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> axisangle=\"0 0 0 1\" is zero: give a direction"},
        {HEAD "<worldbody>\n<body zaxis='0 0 0'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> zaxis=\"0 0 0\" is zero: give a direction"},
        {HEAD "<worldbody>\n<body xyaxes='1 2 3 2 4 6'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> xyaxes=\"1 2 3 2 4 6\" has parallel or zero axes: give two directions"},
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
        {GEOM("type='capsule' size='1'"), CR_ERR_SYNTAX, 3,
         "<geom> has 1 numbers in size, expected 2, radius and half length (1 with fromto)"},
        {GEOM("type='ellipsoid' size='1 1'"), CR_ERR_SYNTAX, 3,
         "<geom> has 2 numbers in size, expected 3 half axes (1 with fromto)"},
        {GEOM("type='capsule' fromto='0 0 0 1 0 0'"), CR_ERR_SYNTAX, 3,
         "<geom> has 0 numbers in size, expected 2, radius and half length (1 with fromto)"},
        {GEOM("type='capsule' size='1' fromto='1 0 0 1 0 0'"), CR_ERR_SYNTAX, 3,
         "<geom> fromto has two equal ends: move one of them"},
        {GEOM("size='1' fromto='0 0 0 1 0 0'"), CR_ERR_SYNTAX, 3,
         "<geom> has fromto and is no capsule, cylinder, box or ellipsoid: use pos"},
        {GEOM("size='1' mass='-2'"), CR_ERR_SYNTAX, 3, "<geom> mass is -2, expected 0 or more"},
        {GEOM("size='1' density='-1'"), CR_ERR_SYNTAX, 3,
         "<geom> density is -1, expected 0 or more"},
        {GEOM("size='1' friction='-.5'"), CR_ERR_SYNTAX, 3,
         "<geom> friction is -0.5, expected 0 or more"},
        {GEOM("size='1' condim='2'"), CR_ERR_SYNTAX, 3,
         "<geom> condim is 2, expected 1, 3, 4 or 6"},
        {GEOM("type='ball' size='1'"), CR_ERR_SYNTAX, 3,
         "<geom> type=\"ball\" is unknown: expected plane, sphere, capsule, ellipsoid, cylinder, "
         "box, mesh, hfield or sdf"},
    };
    EXPECT(cases);
}

static void geoms_that_are_not_simulated_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {GEOM("type='hfield'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> type=\"hfield\" is not supported: use a mesh or boxes"},
        {GEOM("type='sdf'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> type=\"sdf\" is not supported: use a mesh or boxes"},
        {GEOM("size='1' shellinertia='true'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> shellinertia=\"true\" is not supported: use a solid shape or a mesh"},
        {GEOM("type='plane' size='1 1 1'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> is a plane on a body that moves: move it into <worldbody>"},
        {BODY("<freejoint/><geom size='1'/><body>\n<geom type='plane'/></body>"),
         CR_ERR_UNSUPPORTED, 4, "<geom> is a plane on a body that moves: move it into <worldbody>"},
        {GEOM("type='box' mesh='m'"), CR_ERR_UNSUPPORTED, 3,
         "<geom> fits a primitive to mesh=\"m\": add type=\"mesh\", or remove mesh and give a "
         "size"},
        {GEOM("type='mesh'"), CR_ERR_SYNTAX, 3, "<geom> is a mesh without mesh: name one"},
        {GEOM("type='mesh' mesh='m'"), CR_ERR_SYNTAX, 3,
         "<geom> mesh=\"m\" is unknown: the scene has none"},
    };
    EXPECT(cases);
}

static void bodies_that_are_not_simulated_are_refused(void **state) {
    (void)state;
    static const refused cases[] = {
        {BODY("<freejoint/>\n<freejoint/><geom size='1'/>"), CR_ERR_SYNTAX, 4,
         "<freejoint> is the second of a body with a free joint, after line 3: remove one"},
        {BODY("<freejoint/>\n<joint/><geom size='1'/>"), CR_ERR_SYNTAX, 4,
         "<joint> is the second of a body with a free joint, after line 3: remove one"},
        {BODY("<joint type='ball'/>\n<joint/><geom size='1'/>"), CR_ERR_SYNTAX, 4,
         "<joint> turns a body after its ball joint of line 3: remove one"},
        {BODY("<geom size='1'/><body>\n<freejoint/></body>"), CR_ERR_SYNTAX, 4,
         "<freejoint> is free in a body inside another: move the body to <worldbody>"},
        {BODY("<joint actuatorfrcrange='-1 1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<joint> actuatorfrcrange is not simulated: use forcerange of the actuators"},
        {BODY("<joint frictionloss='.1'/>"), CR_ERR_UNSUPPORTED, 3,
         "<joint> frictionloss=\".1\" is not supported: joints have linear springs and damping "
         "only; "
         "use damping or remove it"},
        {BODY("<joint axis='0 0 0'/>"), CR_ERR_SYNTAX, 3, "<joint> axis is zero: give a direction"},
        {BODY("<joint damping='-1'/>"), CR_ERR_SYNTAX, 3,
         "<joint> damping is -1, expected 0 or more"},
        {BODY("<joint range='2 1'/>"), CR_ERR_SYNTAX, 3,
         "<joint> range is 2 1, expected two numbers, the smaller one first"},
        {BODY("<joint limited='true'/>"), CR_ERR_SYNTAX, 3,
         "<joint> range is 0 0, expected two numbers, the smaller one first"},
        {BODY("<joint type='ball' range='10 20'/>"), CR_ERR_SYNTAX, 3,
         "<joint> range of a ball begins at 10, expected 0 and the largest angle"},
        {"<mujoco><compiler autolimits='false'/>\n<worldbody>\n<body><joint range='0 1'/></body>"
         "</worldbody>" TAIL,
         CR_ERR_SYNTAX, 3,
         "<joint> has range and no limited: add it, or set autolimits=\"true\" in <compiler>"},
        {HEAD "<worldbody>\n<body mocap='true'/></worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<body> mocap=\"true\" is not supported: bodies move by joints and under full gravity; "
         "remove it"},
        {HEAD "<worldbody>\n<body gravcomp='1'/></worldbody>" TAIL, CR_ERR_UNSUPPORTED, 3,
         "<body> gravcomp=\"1\" is not supported: bodies move by joints and under full gravity; "
         "remove it"},
        {HEAD "<worldbody>\n<body name='world'/></worldbody>" TAIL, CR_ERR_SYNTAX, 3,
         "<body> has the name of <worldbody>, 'world': rename it"},
    };
    EXPECT(cases);
}

static void bad_inertias_are_reported(void **state) {
    (void)state;
#define INERTIAL(attrs) BODY("<freejoint/><inertial " attrs "/><geom size='1'/>")
#define IMPOSSIBLE                                                                                 \
    " is impossible: each principal moment must be above 0 and at most the sum of the other two"
    static const refused cases[] = {
        {INERTIAL("pos='0 0 0' mass='1'"), CR_ERR_SYNTAX, 3,
         "<inertial> needs mass and one of diaginertia, fullinertia"},
        {INERTIAL("mass='0' diaginertia='1 1 1'"), CR_ERR_SYNTAX, 3,
         "<inertial> mass is 0, expected more than 0"},
        {INERTIAL("mass='1' diaginertia='1 1 0'"), CR_ERR_SYNTAX, 3,
         "<inertial> diaginertia" IMPOSSIBLE},
        {INERTIAL("mass='1' diaginertia='1 3 1' euler='1 2 3'"), CR_ERR_SYNTAX, 3,
         "<inertial> diaginertia" IMPOSSIBLE},
        // principal moments 1 - 2, 1, 1 + 2
        {INERTIAL("mass='1' fullinertia='1 1 1 2 0 0'"), CR_ERR_SYNTAX, 3,
         "<inertial> fullinertia" IMPOSSIBLE},
        {INERTIAL("mass='1' fullinertia='1 1 1 0 0 0' diaginertia='1 1 1'"), CR_ERR_SYNTAX, 3,
         "<inertial> has both diaginertia and fullinertia: remove one"},
        {INERTIAL("mass='1' fullinertia='1 1 1 0 0 0' euler='1 0 0'"), CR_ERR_SYNTAX, 3,
         "<inertial> has fullinertia and an orientation: remove one"},
        {INERTIAL("mass='1' diaginertia='1 1 1'/>\n<inertial mass='1' diaginertia='1 1 1'"),
         CR_ERR_SYNTAX, 4, "<inertial> is the second of its body, after line 3: remove one"},
        {BODY("<freejoint/><frame>\n<inertial/></frame>"), CR_ERR_UNSUPPORTED, 4,
         "<inertial> is not supported here: move it directly into a <body>"},
    };
#undef IMPOSSIBLE
#undef INERTIAL
    EXPECT(cases);
}

static void names_that_come_twice_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {HEAD "<worldbody>\n" BALL
              "<body name='ball'><freejoint/><geom size='1'/></body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 4, "two bodies have the name 'ball', the other on line 3: rename one"},
        {HEAD "<worldbody>\n<geom name='g' type='plane'/>\n<body><freejoint/>\n<geom name='g' "
              "size='1'/></body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 5, "two geoms have the name 'g', the other on line 3: rename one"},
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
        {BEFORE("<keyframe><key qpos=''/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> qpos is empty: give numbers or remove it"},
        {BEFORE("<keyframe><key qvel='1 2 x'/></keyframe>"), CR_ERR_SYNTAX, 2,
         "<key> qvel: 'x' is not a number, expected a finite number"},
        {BEFORE("<keyframe><key act='1'/></keyframe>"), CR_ERR_UNSUPPORTED, 2,
         "<key> act is not supported: actuators have no activation and bodies no mocap; remove it"},
        {BEFORE("<keyframe><key mpos='1 2 3'/></keyframe>"), CR_ERR_UNSUPPORTED, 2,
         "<key> mpos is not supported: actuators have no activation and bodies no mocap; remove "
         "it"},
    };
    EXPECT(cases);
}

static void bad_custom_entries_are_reported(void **state) {
    (void)state;
#define TEXTS                                                                                      \
    "a text is law, stepper, weights, gyroscopic, inertia:BODY, shape:GEOM, vertices:GEOM or "     \
    "potential:clusters"
#define NUMBERS                                                                                    \
    "a numeric is potential:mu, eps[:GEOM], length, reach or slip, restitution:GEOM[:GEOM], "      \
    "friction:GEOM:GEOM or slide:GEOM:GEOM"
    static const refused cases[] = {
        {CUSTOM("<text name='carom:vertices:ball' data='parameters'/>"), CR_ERR_SYNTAX, 2,
         "<text> geom 'ball' has no mesh: its size moves it"},
        {CUSTOM("<text name='carom:potential:clusters' data='all'/>"), CR_ERR_SYNTAX, 2,
         "<text> 'all': expected single or whole"},
        {CUSTOM("<text name='carom:lwa' data='ncp'/>"), CR_ERR_SYNTAX, 2,
         "<text> 'carom:lwa': " TEXTS},
        {CUSTOM("<numeric name='carom:mass:ball' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'carom:mass:ball': " NUMBERS},
        {CUSTOM("<numeric name='carom:law' data='1'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> 'carom:law': " NUMBERS},
        {CUSTOM("<text name='carom:law' data=''/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"\" is no name of a law"},
        {CUSTOM("<text name='carom:inertia:floor' data='shape'/>"), CR_ERR_SYNTAX, 2,
         "<text> names no body of this scene: 'floor'"},
        {CUSTOM("<text name='carom:inertia:ball' data='box'/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"box\" is unknown: expected shape or shape origin"},
        {CUSTOM("<text name='carom:inertia:ball' data='shape centre'/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"shape centre\" is unknown: expected shape or shape origin"},
        {CUSTOM("<text name='carom:gyroscopic' data='no'/>"), CR_ERR_SYNTAX, 2,
         "<text> data=\"no\" is unknown: expected on or off"},
        {HEAD
         "<custom><text name='carom:inertia:b' data='shape'/></custom><worldbody><body name='b'>"
         "<freejoint/><inertial mass='1' diaginertia='1 1 1'/><geom "
         "size='1'/></body></worldbody>" TAIL,
         CR_ERR_SYNTAX, 2, "<text> contradicts <inertial> of body 'b': remove one of them"},
    };
#undef TEXTS
#undef NUMBERS
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
        {CUSTOM("<numeric name='carom:friction:floor:ball' data='1 -2'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> friction is -2, expected 0 or more"},
        {CUSTOM("<numeric name='carom:friction:floor:ball' data='1 2 3'/>"), CR_ERR_SYNTAX, 2,
         "<numeric> data=\"1 2 3\" has 3 numbers, expected 1 to 2"},
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
        cmocka_unit_test(wrong_classes_are_reported),
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
