// SPDX-License-Identifier: MIT
//
// Trees in MJCF: joints, classes, frames, replicas, inertias and meshes, and what they come to.

#include "mjcf_read.h"

// a body on a hinge with this inside
#define BODY(inside) SCENE("<worldbody><body name='a'>" inside "</body></worldbody>")

static void joints_are_read(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        BODY("<body name='b'><joint name='last' type='ball' range='0 90'/></body>"
             "<joint name='h' pos='1 2 3' axis='0 3 4' range='-90 180' ref='90' springref='-180' "
             "stiffness='2' damping='3' armature='4'/>"
             "<joint type='slide' range='-90 180' ref='90' limited='false'/>"));
    assert_int_equal(def.n_body, 2);
    assert_int_equal(def.body[1].parent, 0);
    assert_int_equal(def.n_joint, 3);

    // joints of the outer body come first, though they stand behind
    const cri_joint_def *h = &def.joint[0];
    assert_string_equal(h->name, "h");
    assert_int_equal(h->body, 0);
    assert_int_equal(h->kind, CRI_JOINT_HINGE);
    assert_vec3(h->pos, 1, 2, 3);
    assert_vec3(h->axis, 0, 0.6, 0.8);
    assert_near(h->range[0], -0.5 * PI, 1e-15);
    assert_near(h->range[1], PI, 1e-15);
    assert_near(h->ref, 0.5 * PI, 1e-15);
    assert_near(h->springref, -PI, 1e-15);
    assert_true(h->stiffness == 2.0 && h->damping == 3.0 && h->armature == 4.0);

    const cri_joint_def *slide = &def.joint[1];
    assert_string_equal(slide->name, "joint1");
    assert_int_equal(slide->kind, CRI_JOINT_SLIDE);
    assert_true(isinf(slide->range[0]) && isinf(slide->range[1]));
    assert_true(slide->ref == 90.0);

    const cri_joint_def *ball = &def.joint[2];
    assert_int_equal(ball->body, 1);
    assert_int_equal(ball->kind, CRI_JOINT_BALL);
    assert_near(ball->range[1], 0.5 * PI, 1e-15);
    cri_scene_def_clear(&def);
}

static void classes_inherit(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<default><geom size='1' friction='.1'/><default class='in'><geom size='2 3'/>"
              "<joint damping='5'/><default class='inner'><geom friction='.4'/></default></default>"
              "<geom density='7'/></default><worldbody><body><geom/><geom class='in'/>"
              "<body childclass='in'><joint/><geom class='main'/><geom class='inner'/>"
              "<frame childclass='inner'><geom/></frame><body><geom size='9'/></body></body>"
              "</body></worldbody>"));
    static const double size[] = {1, 2, 1, 2, 2, 9};
    static const double friction[] = {0.1, 0.1, 0.1, 0.4, 0.4, 0.1};
    assert_int_equal(def.n_geom, 6);
    for (int i = 0; i < 6; i++) {
        assert_true(def.geom[i].size[0] == size[i]);
        assert_true(def.geom[i].friction == friction[i]);
        assert_true(def.geom[i].density == 7.0);
    }
    assert_true(def.joint[0].damping == 5.0);
    cri_scene_def_clear(&def);
}

static void a_default_orientation_gives_way_as_in_mujoco(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<default><default class='e'><geom size='1' euler='90 0 0'/></default>"
              "<default class='q'><geom size='1' quat='0 1 0 0'/></default></default>"
              "<worldbody><body><geom class='e' quat='0 0 1 0'/><geom class='q' euler='0 0 90'/>"
              "<geom class='e' axisangle='0 1 0 90'/></body></worldbody>"));
    double h = sqrt(0.5);
    assert_quat(def.geom[0].quat, h, h, 0, 0);
    assert_quat(def.geom[1].quat, h, 0, 0, h);
    assert_quat(def.geom[2].quat, h, 0, h, 0);
    cri_scene_def_clear(&def);
}

static void fromto_becomes_a_pose(void **state) {
    (void)state;
    cri_scene_def def = read_scene(BODY(
        "<geom type='capsule' size='.1' fromto='0 0 0 0 3 4'/>"
        "<geom type='box' size='.1 .7' fromto='1 0 2 1 0 0'/>"
        "<geom type='cylinder' size='.1 9' fromto='0 0 0 2 0 0'/><site fromto='0 0 0 0 0 2'/>"));
    const cri_geom_def *capsule = &def.geom[0];
    assert_vec3(capsule->pos, 0, 1.5, 2);
    assert_true(capsule->size[0] == 0.1 && capsule->size[1] == 2.5 && capsule->size[2] == 0.0);
    // z points from the second end to the first, as MuJoCo 2.2.2 has it
    double angle = atan2(0.6, -0.8);
    assert_quat(capsule->quat, cos(0.5 * angle), sin(0.5 * angle), 0, 0);
    const cri_geom_def *box = &def.geom[1];
    assert_vec3(box->pos, 1, 0, 1);
    assert_quat(box->quat, 1, 0, 0, 0);
    assert_true(box->size[0] == 0.1 && box->size[1] == 0.1 && box->size[2] == 1.0);
    assert_true(def.geom[2].size[1] == 1.0);
    assert_vec3(def.site[0].pos, 0, 0, 1);
    assert_quat(def.site[0].quat, 0, 1, 0, 0);
    cri_scene_def_clear(&def);
}

static void frames_move_what_they_hold(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<worldbody><frame pos='0 0 1' euler='0 0 90'><body name='a' pos='1 0 0'>"
              "<frame pos='2 0 0' euler='90 0 0'><frame pos='0 0 1'>"
              "<joint axis='0 0 1' pos='0 0 1'/><geom size='1'/>"
              "<geom type='capsule' size='1' fromto='0 0 2 0 0 0'/><site pos='1 0 0'/>"
              "<body name='b' pos='0 0 1'/></frame></frame><geom size='2'/></body></frame>"
              "</worldbody>"));
    double h = sqrt(0.5);
    assert_vec3(def.body[0].pos, 0, 1, 1);
    assert_quat(def.body[0].quat, h, 0, 0, h);
    // the inner frames: origin 2 0 0, turned by 90 degrees about x, so their z is -y of the body
    assert_vec3(def.joint[0].pos, 2, -2, 0);
    assert_vec3(def.joint[0].axis, 0, -1, 0);
    assert_vec3(def.geom[0].pos, 2, -1, 0);
    assert_quat(def.geom[0].quat, h, h, 0, 0);
    assert_vec3(def.geom[1].pos, 2, -2, 0);
    assert_quat(def.geom[1].quat, h, h, 0, 0);
    assert_vec3(def.site[0].pos, 3, -1, 0);
    assert_string_equal(def.body[1].name, "b");
    assert_vec3(def.body[1].pos, 2, -2, 0);
    assert_int_equal(def.body[1].parent, 0);
    assert_vec3(def.geom[2].pos, 0, 0, 0);
    cri_scene_def_clear(&def);
}

static void replicas_are_numbered_and_placed(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<worldbody><replicate count='10' sep='-' offset='1 0 0' euler='0 0 90'>"
              "<body name='a' pos='0 0 1'><replicate count='2'><geom name='g' size='1'/><geom "
              "size='1'/></replicate><joint name='j'/></body></replicate></worldbody>"));
    assert_int_equal(def.n_body, 10);
    assert_int_equal(def.n_geom, 40);
    assert_string_equal(def.body[0].name, "a-00");
    assert_string_equal(def.body[9].name, "a-09");
    assert_string_equal(def.joint[3].name, "j-03");
    // inner numbers stand before outer ones
    assert_string_equal(def.geom[0].name, "g0-00");
    assert_string_equal(def.geom[1].name, "geom1");
    assert_string_equal(def.geom[6].name, "g1-01");
    // a square: each step is along the x axis of the replica before
    static const double corner[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    for (int k = 0; k < 5; k++) {
        assert_vec3(def.body[k].pos, corner[k][0], corner[k][1], 1);
        assert_quat(def.body[k].quat, cos(0.25 * PI * k), 0, 0, sin(0.25 * PI * k));
    }
    cri_scene_def_clear(&def);
}

static void inertias_are_turned_into_body_axes(void **state) {
    (void)state;
    cri_scene_def def = read_scene(SCENE(
        "<worldbody><body><freejoint/><inertial pos='1 2 3' mass='4' diaginertia='1 2 2.5' "
        "euler='0 0 90'/></body><body><freejoint/><inertial mass='1' fullinertia='3 4 5 .1 .2 "
        ".3'/></body></worldbody>"));
    assert_vec3(def.body[0].com, 1, 2, 3);
    static const double expected[2][6] = {{2, 1, 2.5, 0, 0, 0}, {3, 4, 5, 0.1, 0.2, 0.3}};
    for (int b = 0; b < 2; b++) {
        assert_true(def.body[b].has_inertial);
        for (int k = 0; k < 6; k++) {
            // a few roundings of numbers below 10
            assert_near(def.body[b].inertia[k], expected[b][k], 1e-15);
        }
    }
    cri_scene_def_clear(&def);
}

static void the_compiler_decides_where_masses_come_from(void **state) {
    (void)state;
#define INSIDE                                                                                     \
    "<worldbody><body><freejoint/><inertial mass='1' diaginertia='1 1 3'/><geom size='1'/>"        \
    "<geom size='1' group='4'/></body></worldbody>"
    // a thin plate would have 2, so 3 is impossible and becomes the mean
    cri_scene_def def = read_scene(SCENE("<compiler balanceinertia='true'/>" INSIDE));
    assert_true(def.body[0].has_inertial);
    for (int k = 0; k < 6; k++) {
        assert_near(def.body[0].inertia[k], k < 3 ? 5.0 / 3.0 : 0.0, 1e-15);
    }
    cri_scene_def_clear(&def);

    def = read_scene(SCENE("<compiler balanceinertia='true' inertiafromgeom='true' "
                           "inertiagrouprange='0 3'/>" INSIDE));
    assert_false(def.body[0].has_inertial);
    assert_false(def.geom[0].has_mass);
    assert_true(def.geom[1].has_mass && def.geom[1].mass == 0.0);
    cri_scene_def_clear(&def);

    def = read_scene(SCENE("<compiler balanceinertia='true' inertiafromgeom='false'/>" INSIDE));
    assert_true(def.body[0].has_inertial);
    assert_true(def.geom[0].has_mass && def.geom[0].mass == 0.0);
    cri_scene_def_clear(&def);
#undef INSIDE
}

static void meshes_are_scaled_and_placed(void **state) {
    (void)state;
    cri_scene_def def = read_scene(
        SCENE("<asset><mesh name='m' vertex='0 0 0 1 0 0 0 2 0 0 0 3' face='0 2 1' scale='2 2 -2' "
              "refpos='1 0 0' refquat='1 0 0 1'/><mesh vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"
              "<worldbody><body><freejoint/><geom type='mesh' mesh='mesh1'/><geom type='mesh' "
              "mesh='m'/></body></worldbody>"));
    assert_int_equal(def.n_mesh, 2);
    // MuJoCo 2.2.2 has these points for the same attributes: minus refpos, turned back, then scaled
    static const double vertex[12] = {0, 2, 0, 0, 0, 0, 4, 2, 0, 0, 2, -6};
    const cri_mesh_def *m = &def.mesh[0];
    assert_string_equal(m->name, "m");
    assert_int_equal(m->n_vertex, 4);
    for (int i = 0; i < 12; i++) {
        // a few roundings of numbers below 10
        assert_near(m->vertex[i], vertex[i], 4e-15);
    }
    // mirrored, so that the triangle keeps its outer side
    assert_int_equal(m->n_face, 1);
    assert_true(m->face[0] == 0 && m->face[1] == 1 && m->face[2] == 2);
    assert_string_equal(def.mesh[1].name, "mesh1");
    assert_int_equal(def.mesh[1].n_face, 0);
    assert_int_equal(def.geom[0].mesh, 1);
    assert_int_equal(def.geom[1].mesh, 0);
    cri_scene_def_clear(&def);
}

static void geoms_that_only_show_a_mesh_are_left_out(void **state) {
    (void)state;
#define MESHES                                                                                     \
    "<asset><mesh file='d/none.obj'/><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"
#define GHOST "type='mesh' contype='0' conaffinity='0'"
    cri_scene_def def = read_scene(
        SCENE(MESHES "\n<worldbody><geom " GHOST " mesh='none'/><body><freejoint/>"
                     "<inertial mass='1' diaginertia='1 1 1'/><geom " GHOST " mesh='none'/>"
                     "<geom " GHOST " mesh='m'/><geom name='last' size='1'/></body></worldbody>"));
    assert_int_equal(def.n_geom, 1);
    assert_int_equal(def.n_mesh, 0);
    assert_string_equal(def.geom[0].name, "last");
    assert_string_equal(def.warning,
                        "s.xml:1: <mesh> 'd/none.obj' cannot be opened: only drawn, left out");
    cri_scene_def_clear(&def);

    // without <inertial> the mass counts, and a listed pair collides
    def = read_scene(SCENE(MESHES "<worldbody><body><freejoint/><geom " GHOST " mesh='m'/></body>"
                                  "<body name='b'><freejoint/><inertial mass='1' diaginertia='1 1 "
                                  "1'/><geom name='c' " GHOST " mesh='m'/><geom " GHOST
                                  " mesh='m'/></body></worldbody><contact><pair geom1='geom0' "
                                  "geom2='c'/></contact>"));
    assert_int_equal(def.n_geom, 2);
    assert_int_equal(def.n_mesh, 1);
    assert_int_equal(def.n_pair, 1);
    assert_true(def.pair[0].is_listed && def.pair[0].geom[1] == 1);
    cri_scene_def_clear(&def);
#undef GHOST
#undef MESHES
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_are_read),
        cmocka_unit_test(classes_inherit),
        cmocka_unit_test(a_default_orientation_gives_way_as_in_mujoco),
        cmocka_unit_test(fromto_becomes_a_pose),
        cmocka_unit_test(frames_move_what_they_hold),
        cmocka_unit_test(replicas_are_numbered_and_placed),
        cmocka_unit_test(inertias_are_turned_into_body_axes),
        cmocka_unit_test(the_compiler_decides_where_masses_come_from),
        cmocka_unit_test(meshes_are_scaled_and_placed),
        cmocka_unit_test(geoms_that_only_show_a_mesh_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
