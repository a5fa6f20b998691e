// SPDX-License-Identifier: MIT
//
// Actuators, tendons, equalities, contacts, flags and keyframes of MJCF, and what they come to.

#include "mjcf_read.h"

// hinges h and k, a slide, a ball, a free body; sites s (on the hinge's body) and w (world)
#define ROBOT(part)                                                                                \
    SCENE("<worldbody><site name='w'/><geom name='floor' type='plane'/><body name='a'>"            \
          "<joint name='h' damping='1' stiffness='2' range='-1 1'/><geom name='g' size='1'/>"      \
          "<site name='s' pos='1 0 0' euler='0 0 90'/><body name='b'><joint name='k'/>"            \
          "<joint name='x' type='slide'/><geom name='l' size='1'/></body></body><body name='c'>"   \
          "<joint name='o' type='ball'/><geom name='m' size='1'/><site name='t' pos='0 2 0' "      \
          "euler='90 0 0'/>"                                                                       \
          "</body><body name='d'><freejoint name='f'/><geom name='n' "                             \
          "size='1'/></body></worldbody>" part)

static void check_servo(const cri_actuator_def *a, double gain, double b0, double b1, double b2) {
    assert_true(a->gain == gain);
    assert_true(a->bias[0] == b0 && a->bias[1] == b1 && a->bias[2] == b2);
}

static void actuators_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        ROBOT("<tendon><fixed name='t'><joint joint='h' coef='2'/><joint joint='x' coef='-1'/>"
              "</fixed></tendon><actuator><motor joint='h' gear='3' ctrlrange='-1 2'/>"
              "<position joint='k' kp='4' kv='.5' forcerange='-3 3' ctrlrange='0 1' "
              "ctrllimited='false'/><velocity joint='x' kv='6'/><general tendon='t' gainprm='7 8' "
              "biastype='affine' biasprm='1 2 3 4'/><general joint='h' biasprm='1 2 3'/>"
              "<motor joint='o' gear='1 2 3'/><motor joint='f' gear='1 2 3 4 5 6'/>"
              "<motor site='s'/><motor name='last' site='s' refsite='w'/><motor "
              "jointinparent='h'/></actuator>"));
    assert_int_equal(def.n_actuator, 10);
    const cri_actuator_def *a = def.actuator;
    check_servo(&a[0], 1, 0, 0, 0);
    assert_int_equal(a[0].kind, CRI_DRIVE_DOFS);
    assert_string_equal(a[0].name, "actuator0");
    assert_true(a[0].joint == 0 && a[0].tendon == -1 && a[0].site == -1 && a[0].ref_site == -1);
    assert_true(a[0].gear[0] == 3.0 && a[0].gear[1] == 0.0);
    assert_true(a[0].ctrl[0] == -1.0 && a[0].ctrl[1] == 2.0 && isinf(a[0].force[0]));
    check_servo(&a[1], 4, 0, -4, -0.5);
    assert_true(a[1].force[0] == -3.0 && a[1].force[1] == 3.0 && isinf(a[1].ctrl[1]));
    check_servo(&a[2], 6, 0, 0, -6);
    check_servo(&a[3], 7, 1, 2, 3);
    assert_true(a[3].joint == -1 && a[3].tendon == 0);
    // without biastype affine there is none
    check_servo(&a[4], 1, 0, 0, 0);
    assert_int_equal(a[5].kind, CRI_DRIVE_BALL);
    assert_int_equal(a[6].kind, CRI_DRIVE_BALL);
    assert_true(a[6].gear[5] == 6.0);
    assert_int_equal(a[7].kind, CRI_DRIVE_SITE);
    assert_true(a[7].site == 1 && a[7].ref_site == -1);
    assert_true(a[8].site == 1 && a[8].ref_site == 0);
    assert_string_equal(a[8].name, "last");
    assert_int_equal(a[9].kind, CRI_DRIVE_DOFS);
    cri_scene_def_clear(&def);
}

static void actuators_share_their_defaults(void **state) {
    (void)state;
    // what MuJoCo 2.2.2 makes of the same elements
    cri_scene_def def = read_scene(
        ROBOT("<default><general gainprm='5' biastype='affine' biasprm='1 2 3' gear='7'/>"
              "<default class='p'><position kp='3'/></default><default class='v'><velocity kv='4'/>"
              "</default></default><actuator><motor joint='h'/><position joint='h' kp='9'/>"
              "<velocity joint='h'/><position joint='h'/><motor joint='h' class='p'/><general "
              "joint='h' class='p'/><general joint='h' class='v'/><position joint='h' class='v'/>"
              "<general joint='h'/></actuator>"));
    static const double expected[][4] = {{1, 0, 0, 0},  {9, 0, -9, 0}, {5, 0, 0, -5},
                                         {5, 0, -5, 0}, {1, 0, 0, 0},  {3, 0, -3, 0},
                                         {4, 0, 0, -4}, {4, 0, -4, 0}, {5, 1, 2, 3}};
    assert_int_equal(def.n_actuator, 9);
    for (int i = 0; i < 9; i++) {
        const double *e = expected[i];
        check_servo(&def.actuator[i], e[0], e[1], e[2], e[3]);
        assert_true(def.actuator[i].gear[0] == 7.0);
    }
    cri_scene_def_clear(&def);

    // kv of a default position stays
    def = read_scene(ROBOT("<default><position kp='1' kv='2'/></default><actuator><position "
                           "joint='h' kp='3'/></actuator>"));
    check_servo(&def.actuator[0], 3, 0, -3, -2);
    cri_scene_def_clear(&def);
}

static void a_position_inherits_the_range_of_its_joint(void **state) {
    (void)state;
    cri_scene_def def = read_scene(ROBOT(
        "<compiler angle='radian'/><default><position inheritrange='.5'/></default><tendon><fixed "
        "name='t' range='2 6'><joint joint='k' coef='1'/></fixed></tendon><actuator><position "
        "joint='h'/><position tendon='t' inheritrange='2'/><motor joint='k'/></actuator>"));
    assert_true(def.actuator[0].ctrl[0] == -0.5 && def.actuator[0].ctrl[1] == 0.5);
    assert_true(def.actuator[1].ctrl[0] == 0.0 && def.actuator[1].ctrl[1] == 8.0);
    assert_true(isinf(def.actuator[2].ctrl[0]));
    cri_scene_def_clear(&def);
}

static void tendons_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        ROBOT("<default><tendon stiffness='1'/></default><tendon><fixed range='-2 3' damping='4' "
              "springlength='.5'><joint joint='k' coef='2'/><joint joint='x' coef='-1'/></fixed>"
              "<fixed name='t' springlength='-1'><joint joint='h' coef='1'/></fixed></tendon>"));
    assert_int_equal(def.n_tendon, 2);
    const cri_tendon_def *t = &def.tendon[0];
    assert_string_equal(t->name, "tendon0");
    assert_int_equal(t->n, 2);
    assert_true(t->joint[0] == 1 && t->joint[1] == 2);
    assert_true(t->coef[0] == 2.0 && t->coef[1] == -1.0);
    assert_true(t->range[0] == -2.0 && t->range[1] == 3.0);
    assert_true(t->stiffness == 1.0 && t->damping == 4.0 && t->springlength == 0.5);
    assert_true(isnan(def.tendon[1].springlength) && isinf(def.tendon[1].range[0]));
    cri_scene_def_clear(&def);
}

// MuJoCo 2.2.2 gives tendon_lengthspring 0.7 for this tendon: not that of the reference pose, 0.5
static void a_tendon_rests_where_its_joints_do(void **state) {
    (void)state;
    static const char text[] =
        SCENE("<compiler angle='radian'/><worldbody><body><joint name='j' ref='.25' "
              "springref='.35'/><geom size='1'/></body></worldbody><tendon><fixed name='t' "
              "stiffness='3'><joint joint='j' coef='2'/></fixed></tendon>");
    cr_model *model = NULL;
    assert_int_equal(cr_model_parse(text, sizeof text - 1, "s.xml", &model, NULL), CR_OK);
    int slot = cr_model_find(model, CR_VECTOR_P, "t/springlength", NULL);
    assert_true(slot >= 0);
    double *p = calloc((size_t)cr_model_sizes(model).n_p, sizeof *p);
    assert_non_null(p);
    cr_model_defaults(model, -1, p, NULL, NULL);
    assert_true(p[slot] == 0.7);
    free(p);
    cr_model_destroy(model);
}

static void equalities_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        ROBOT("<tendon><fixed name='t'><joint joint='h' coef='2'/></fixed></tendon><equality>"
              "<connect body1='a' body2='c' anchor='1 2 3'/><connect body1='a' anchor='0 0 0' "
              "active='false'/><weld body1='c' body2='world'/><weld body1='a' body2='d' "
              "relpose='1 2 3 0 2 0 0' torquescale='9'/><weld site1='s' site2='t'/>"
              "<joint joint1='h'/><joint joint1='h' joint2='k' polycoef='1 2 3 4 5'/><tendon "
              "tendon1='t'/></equality>"));
    assert_int_equal(def.n_equality, 7);
    const cri_equality_def *q = def.equality;
    assert_int_equal(q[0].kind, CRI_EQUALITY_CONNECT);
    assert_true(q[0].object[0] == 0 && q[0].object[1] == 2 && q[0].has_anchor);
    assert_vec3(q[0].anchor[0], 1, 2, 3);
    assert_int_equal(q[1].kind, CRI_EQUALITY_WELD);
    assert_true(q[1].object[0] == 2 && q[1].object[1] == -1 && !q[1].has_relative);
    assert_true(q[2].has_relative);
    assert_vec3(q[2].relative_pos, 1, 2, 3);
    assert_quat(q[2].relative, 0, 1, 0, 0);

    // site s is at 1 0 0 of a, turned about z; site t at 0 2 0 of c, turned about x, so that the
    // origin of c is 2 along z of t, which is z of a
    assert_true(q[3].object[0] == 0 && q[3].object[1] == 2 && q[3].has_relative);
    assert_vec3(q[3].relative_pos, 1, 0, 2);
    assert_quat(q[3].relative, 0.5, -0.5, -0.5, 0.5);

    assert_int_equal(q[4].kind, CRI_EQUALITY_JOINT);
    assert_true(q[4].object[0] == 0 && q[4].object[1] == -1);
    assert_true(q[4].poly[0] == 0.0 && q[4].poly[1] == 1.0);
    assert_true(q[5].object[1] == 1 && q[5].poly[0] == 1.0 && q[5].poly[4] == 5.0);
    assert_int_equal(q[6].kind, CRI_EQUALITY_TENDON);
    cri_scene_def_clear(&def);
}

static void contacts_are_listed_and_excluded(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        ROBOT("<contact><pair geom1='m' geom2='g' friction='.3 .3'/><pair geom1='floor' geom2='g' "
              "condim='1'/><pair geom1='n' geom2='l'/><exclude body1='a' body2='world'/>"
              "</contact><custom><numeric name='carom:restitution:g:m' data='.5'/></custom>"));
    assert_int_equal(def.n_pair, 3);
    const cri_pair_def *p = def.pair;
    assert_true(p[0].is_listed && p[0].geom[0] == 1 && p[0].geom[1] == 3);
    assert_true(p[0].has_friction && p[0].friction == 0.3);
    assert_true(p[0].has_restitution && p[0].restitution == 0.5);
    assert_true(p[1].has_friction && p[1].friction == 0.0);
    assert_true(!p[2].has_friction && p[2].friction_geom == 0);
    assert_int_equal(def.n_exclude, 1);
    assert_true(def.exclude[0].body[0] == 0 && def.exclude[0].body[1] == -1);
    cri_scene_def_clear(&def);
}

static void a_pair_has_one_friction_or_two(void **state) {
    (void)state;
#define PAIR(attrs, entry)                                                                         \
    SCENE("<worldbody><geom name='floor' type='plane' size='1 1 1'/><body><freejoint/>"            \
          "<geom name='a' size='1'/></body></worldbody><contact><pair geom1='a' "                  \
          "geom2='floor' " attrs "/></contact><custom>" entry "</custom>")
    static const struct {
        const char *scene;
        bool has_two;
        double first, second;
    } cases[] = {
        {PAIR("friction='.3 .4 0.1'", ""), true, 0.3, 0.4},
        {PAIR("friction='.3 0'", ""), true, 0.3, 0.0},
        {PAIR("friction='.3 .3'", ""), false, 0.3, 0.0},
        {PAIR("friction='.3'", ""), false, 0.3, 0.0},
        {PAIR("friction='.3 .4' condim='1'", ""), false, 0.0, 0.0},
        {PAIR("", "<numeric name='carom:friction:a:floor' data='.5 .2'/>"), true, 0.5, 0.2},
        {PAIR("", "<numeric name='carom:friction:a:floor' data='.5 .5'/>"), false, 0.5, 0.0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        cri_scene_def def = read_scene(cases[k].scene);
        assert_int_equal(def.n_pair, 1);
        const cri_pair_def *p = &def.pair[0];
        assert_true(p->has_friction && p->has_two_frictions == cases[k].has_two);
        assert_true(p->friction == cases[k].first && p->friction2 == cases[k].second);
        // one number means something else in MuJoCo
        assert_true((strstr(def.warning, "one number") != NULL) == (k == 3));
        cri_scene_def_clear(&def);
    }
#undef PAIR
}

static void a_listed_pair_without_friction_follows_priority(void **state) {
    (void)state;
#define PAIR(attrs)                                                                                \
    SCENE("<worldbody><body><freejoint/><geom name='a' size='1' contype='0' conaffinity='0' "      \
          "condim='1'/></body><body><freejoint/><geom name='b' size='1' priority='1'/></body>"     \
          "</worldbody><contact><pair geom1='a' geom2='b' " attrs "/></contact>")
    cri_scene_def def = read_scene(PAIR(""));
    assert_int_equal(def.n_pair, 1);
    assert_true(!def.pair[0].has_friction && def.pair[0].friction_geom == 2);
    cri_scene_def_clear(&def);
    def = read_scene(PAIR("condim='1'"));
    assert_true(def.pair[0].has_friction && def.pair[0].friction == 0.0);
    cri_scene_def_clear(&def);
#undef PAIR

    // condim of the pair outranks that of its geoms
    def = read_scene(SCENE("<default><geom size='1' condim='1'/></default><worldbody><body>"
                           "<freejoint/><geom name='a'/></body><body><freejoint/><geom name='b'/>"
                           "</body></worldbody><contact><pair geom1='a' geom2='b' condim='3'/>"
                           "</contact>"));
    assert_int_equal(def.n_pair, 1);
    assert_true(!def.pair[0].has_friction && def.pair[0].friction_geom == 0);
    cri_scene_def_clear(&def);
}

static void flags_take_out_what_they_disable(void **state) {
    (void)state;
#define FLAG(attrs)                                                                                \
    ROBOT("<option><flag " attrs "/></option><equality><weld body1='a'/></equality><actuator>"     \
          "<position joint='h' ctrlrange='0 1'/></actuator>")
    cri_scene_def def = read_scene(FLAG("contact='disable' filterparent='disable'"));
    assert_true(!def.has_contact && !def.filters_parents);
    assert_true(def.n_equality == 1 && def.joint[0].damping == 1.0);
    assert_true(def.gravity[2] == -9.81 && def.actuator[0].gain == 1.0);
    cri_scene_def_clear(&def);

    def = read_scene(FLAG("constraint='disable' passive='disable'"));
    assert_false(def.has_contact);
    assert_int_equal(def.n_equality, 0);
    assert_true(isinf(def.joint[0].range[0]));
    assert_true(def.joint[0].damping == 0.0 && def.joint[0].stiffness == 0.0);
    cri_scene_def_clear(&def);

    def = read_scene(FLAG("gravity='disable' actuation='disable' clampctrl='disable'"));
    assert_true(def.gravity[2] == 0.0);
    assert_true(def.actuator[0].gain == 0.0 && def.actuator[0].bias[1] == 0.0);
    assert_true(isinf(def.actuator[0].ctrl[0]));
    cri_scene_def_clear(&def);

    def = read_scene(FLAG("limit='disable' spring='disable' equality='disable'"));
    assert_true(def.has_contact && def.n_equality == 0 && isinf(def.joint[0].range[1]));
    assert_true(def.joint[0].damping == 1.0 && def.joint[0].stiffness == 0.0);
    cri_scene_def_clear(&def);
#undef FLAG
}

static void what_has_no_effect_is_said_once_each(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<default><geom solref='1 1'/></default>\n<worldbody><body><joint solreflimit='1 1'/>"
              "\n<geom size='1'/><geom size='1' margin='1'/></body></worldbody>"));
    assert_string_equal(
        def.warning,
        "s.xml:2: solreflimit counts for the law soft alone: limits of the others are rigid; "
        "s.xml:1: solref counts for the law soft alone: contacts of the others are rigid; "
        "s.xml:3: margin has no effect: contacts begin at touching, with sliding friction only");
    cri_scene_def_clear(&def);
}

static void keyframes_have_controls(void **state) {
    (void)state;
    cri_scene_def def = read_scene(ROBOT("<keyframe><key ctrl='1 2'/></keyframe>"));
    assert_int_equal(def.key[0].n_ctrl, 2);
    assert_true(def.key[0].ctrl[1] == 2.0);
    assert_null(def.key[0].qpos);
    cri_scene_def_clear(&def);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actuators_are_read),
        cmocka_unit_test(actuators_share_their_defaults),
        cmocka_unit_test(a_position_inherits_the_range_of_its_joint),
        cmocka_unit_test(tendons_are_read),
        cmocka_unit_test(a_tendon_rests_where_its_joints_do),
        cmocka_unit_test(equalities_are_read),
        cmocka_unit_test(contacts_are_listed_and_excluded),
        cmocka_unit_test(a_pair_has_one_friction_or_two),
        cmocka_unit_test(a_listed_pair_without_friction_follows_priority),
        cmocka_unit_test(flags_take_out_what_they_disable),
        cmocka_unit_test(what_has_no_effect_is_said_once_each),
        cmocka_unit_test(keyframes_have_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
