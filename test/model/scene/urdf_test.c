// SPDX-License-Identifier: MIT
//
// URDF: every joint type, frames, inertia, shapes and meshes; texts of errors; the WAM arm.

// mkdtemp
#define _POSIX_C_SOURCE 200809L

#include "model/scene/urdf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "cr_test.h"

#define WAM CAROM_SOURCE_DIR "/../shared/data/robots/wam/wam.urdf"

static cr_error err;

static cri_scene_def read(const char *text) {
    cri_scene_def def;
    if (cri_urdf_read(text, strlen(text), "r.urdf", &def, &err) != CR_OK) {
        cr_test_fail("%s", err.text);
        assert_non_null(def.memory);
    }
    return def;
}

static void refuse(const char *text, const char *message) {
    cri_scene_def def;
    CHECK(cri_urdf_read(text, strlen(text), "r.urdf", &def, &err) != CR_OK);
    CHECK_TEXT(err.text, message);
    CHECK(!def.memory && def.n_body == 0);
}

static void check_vec(cri_vec3 v, double x, double y, double z) {
    // rounding of a few products
    CHECK_CLOSE(v.x, x, 1e-15, 0.0);
    CHECK_CLOSE(v.y, y, 1e-15, 0.0);
    CHECK_CLOSE(v.z, z, 1e-15, 0.0);
}

// ---- trees -------------------------------------------------------------------------------------

static const char every_joint[] =
    "<?xml version='1.0'?>\n"
    "<robot name='r'>\n"
    "<material name='m'/>\n"
    "<link name='tip'/>\n"
    "<link name='a'><inertial><mass value='2'/><inertia ixx='1' iyy='2' "
    "izz='3'/></inertial></link>\n"
    "<link name='b'/><link name='c'/><link name='world'/><link name='d'/>\n"
    "<joint name='weld' type='fixed'><parent link='b'/><child link='tip'/>"
    "<origin xyz='1 2 3'/></joint>\n"
    "<joint name='fly' type='floating'><parent link='world'/><child link='a'/></joint>\n"
    "<joint name='spin' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 0 -2'/>"
    "<dynamics damping='0.5' friction='0.1'/><limit effort='3' velocity='1'/></joint>\n"
    "<joint name='bend' type='revolute'><parent link='a'/><child link='c'/>"
    "<limit lower='-1' upper='2' effort='3' velocity='1'/></joint>\n"
    "<joint name='push' type='prismatic'><parent link='c'/><child link='d'/><axis xyz='0 3 4'/>"
    "<limit upper='0.1' effort='0' velocity='0'/>"
    "<mimic joint='bend' multiplier='2' offset='0.5'/></joint>\n"
    "<transmission name='t'/>\n"
    "</robot>\n";

TEST(every_joint_type_is_read) {
    cri_scene_def def = read(every_joint);
    // depth first from the world, children in the order of their joints
    static const char *const name[] = {"a", "b", "tip", "c", "d"};
    static const int parent[] = {-1, 0, 1, 0, 3};
    CHECK_INT(def.n_body, 5);
    for (int i = 0; i < def.n_body && i < 5; i++) {
        CHECK_TEXT(def.body[i].name, name[i]);
        CHECK_INT(def.body[i].parent, parent[i]);
        CHECK(def.body[i].has_inertial == (i == 0));
    }
    CHECK_INT(def.body[0].place.line, 5);
    check_vec(def.body[2].pos, 1, 2, 3);

    static const char *const joint[] = {"fly", "spin", "bend", "push"};
    static const cri_joint_kind kind[] = {CRI_JOINT_FREE, CRI_JOINT_HINGE, CRI_JOINT_HINGE,
                                          CRI_JOINT_SLIDE};
    static const int body[] = {0, 1, 3, 4};
    CHECK_INT(def.n_joint, 4);
    for (int i = 0; i < def.n_joint && i < 4; i++) {
        CHECK_TEXT(def.joint[i].name, joint[i]);
        CHECK_INT(def.joint[i].kind, kind[i]);
        CHECK_INT(def.joint[i].body, body[i]);
    }
    check_vec(def.joint[1].axis, 0, 0, -1);
    check_vec(def.joint[2].axis, 1, 0, 0);
    check_vec(def.joint[3].axis, 0, 0.6, 0.8);
    CHECK(isinf(def.joint[1].range[0]) && isinf(def.joint[1].range[1]));
    CHECK(def.joint[1].damping == 0.5);
    CHECK(def.joint[2].range[0] == -1.0 && def.joint[2].range[1] == 2.0);
    CHECK(def.joint[3].range[0] == 0.0 && def.joint[3].range[1] == 0.1);
    cri_scene_def_clear(&def);
}

TEST(a_mimic_is_an_equality_and_a_word_in_the_warning) {
    cri_scene_def def = read(every_joint);
    CHECK_INT(def.n_equality, 1);
    const cri_equality_def *e = &def.equality[0];
    CHECK_INT(e->kind, CRI_EQUALITY_JOINT);
    CHECK_INT(e->object[0], 3);
    CHECK_INT(e->object[1], 2);
    CHECK(e->poly[0] == 0.5 && e->poly[1] == 2.0 && e->poly[2] == 0.0);
    CHECK_TEXT(def.warning,
               "effort limits of 3 joints have no effect; friction of 1 joints has no effect; 1 "
               "mimic joints became equalities; 1 elements for other programs were passed over");
    cri_scene_def_clear(&def);
}

TEST(a_root_that_is_not_the_world_is_a_body_that_stands_still) {
    cri_scene_def def = read("<robot name='r'><link name='base'/></robot>");
    CHECK_INT(def.n_body, 1);
    CHECK_INT(def.n_joint, 0);
    CHECK_INT(def.body[0].parent, -1);
    CHECK_TEXT(def.warning, "");
    CHECK(def.dt == 0.002 && def.gravity[2] == -9.81);
    cri_scene_def_clear(&def);
}

TEST(elements_for_other_programs_are_counted) {
    cri_scene_def def =
        read("<robot name='r'><gazebo/><d:x/><link name='a'><contact/><d:y/></link>"
             "<link name='b'/><joint name='j' type='fixed'><parent link='a'/><child "
             "link='b'/><calibration rising='0'/></joint></robot>");
    CHECK_TEXT(def.warning, "5 elements for other programs were passed over");
    cri_scene_def_clear(&def);
}

TEST(deep_and_wide_trees_are_numbered_depth_first) {
    // link i hangs on link i/2 - 1 or so: a binary tree, listed backwards
    enum { N = 200, SIZE = 64 * 1024 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    int n = snprintf(text, SIZE, "<robot name='r'>");
    for (int i = N; i >= 1; i--) {
        n += snprintf(text + n, (size_t)(SIZE - n), "<link name='l%d'/>", i);
        if (i > 1) {
            n += snprintf(text + n, (size_t)(SIZE - n),
                          "<joint name='j%d' type='continuous'><parent link='l%d'/><child "
                          "link='l%d'/></joint>",
                          i, i / 2, i);
        }
    }
    n += snprintf(text + n, (size_t)(SIZE - n), "</robot>");
    assert_true(n < SIZE);
    cri_scene_def def = read(text);
    free(text);
    CHECK_INT(def.n_body, N);
    CHECK_INT(def.n_joint, N - 1);
    for (int i = 1; i < def.n_body; i++) {
        int me = atoi(def.body[i].name + 1);
        int parent = def.body[i].parent;
        CHECK(parent < i);
        CHECK_INT(atoi(def.body[parent].name + 1), me / 2);
        CHECK_INT(def.joint[i - 1].body, i);
        // contiguous: the body before is the parent or below it
        int before = i - 1;
        while (before > parent) {
            before = def.body[before].parent;
        }
        CHECK_INT(before, parent);
    }
    cri_scene_def_clear(&def);
}

// ---- links -------------------------------------------------------------------------------------

TEST(rpy_turns_about_fixed_axes) {
    cri_scene_def def = read("<robot name='r'><link name='world'/><link name='a'/>"
                             "<joint name='j' type='fixed'><parent link='world'/><child link='a'/>"
                             "<origin rpy='0.3 -0.7 1.1'/></joint></robot>");
    // Rz(1.1) Ry(-0.7) Rx(0.3), written out
    cri_mat3 R = cri_quat_rotation(def.body[0].quat);
    double cr = cos(0.3), sr = sin(0.3), cp = cos(-0.7), sp = sin(-0.7), cy = cos(1.1),
           sy = sin(1.1);
    const double expected[9] = {cy * cp,
                                cy * sp * sr - sy * cr,
                                cy * sp * cr + sy * sr,
                                sy * cp,
                                sy * sp * sr + cy * cr,
                                sy * sp * cr - cy * sr,
                                -sp,
                                cp * sr,
                                cp * cr};
    for (int i = 0; i < 9; i++) {
        CHECK_CLOSE(R.m[i], expected[i], 1e-15, 0.0); // a dozen roundings
    }
    cri_scene_def_clear(&def);
}

TEST(the_inertia_is_turned_into_body_axes) {
    // a quarter turn about z takes x to y and y to -x
    cri_scene_def def =
        read("<robot name='r'><link name='a'><inertial><origin xyz='1 2 3' rpy='0 0 "
             "1.5707963267948966'/><mass value='4'/><inertia ixx='1' ixy='0.1' ixz='0.2' iyy='2' "
             "iyz='0.3' izz='3' iyx='9'/></inertial></link></robot>");
    const double expected[6] = {2, 1, 3, -0.1, -0.3, 0.2};
    CHECK(def.body[0].mass == 4.0);
    check_vec(def.body[0].com, 1, 2, 3);
    for (int i = 0; i < 6; i++) {
        CHECK_CLOSE(def.body[0].inertia[i], expected[i], 1e-15, 0.0); // pi/2 is rounded
    }
    cri_scene_def_clear(&def);
}

TEST(shapes_have_half_sizes) {
    cri_scene_def def = read(
        "<robot name='r'><link name='a'>"
        "<collision><origin xyz='0 0 1'/><geometry><sphere radius='0.5'/></geometry></collision>"
        "<visual><geometry><mesh filename='none.dae'/></geometry></visual>"
        "<collision name='x'><geometry><box size='1 2 3'/></geometry></collision>"
        "<collision><geometry><cylinder radius='0.1' length='4'/></geometry></collision>"
        "</link></robot>");
    CHECK_INT(def.n_geom, 3);
    CHECK_INT(def.geom[0].shape, CRI_SHAPE_SPHERE);
    CHECK_INT(def.geom[1].shape, CRI_SHAPE_BOX);
    CHECK_INT(def.geom[2].shape, CRI_SHAPE_CYLINDER);
    CHECK(def.geom[0].size[0] == 0.5 && def.geom[0].pos.z == 1.0);
    CHECK(def.geom[1].size[0] == 0.5 && def.geom[1].size[1] == 1.0 && def.geom[1].size[2] == 1.5);
    CHECK(def.geom[2].size[0] == 0.1 && def.geom[2].size[1] == 2.0);
    CHECK_TEXT(def.geom[0].name, "a");
    CHECK_TEXT(def.geom[2].name, "a.2");
    CHECK(def.geom[0].contype == 1 && def.geom[0].conaffinity == 0 && def.geom[0].mesh == -1);
    cri_scene_def_clear(&def);
}

// ---- meshes ------------------------------------------------------------------------------------

static void write_file(const char *path, const char *text) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

#define LINK(name, mesh)                                                                           \
    "<link name='" name "'><collision><geometry><mesh " mesh "/></geometry></collision></link>"
#define JOINT(parent, child)                                                                       \
    "<joint name='" child "' type='fixed'><parent link='" parent "'/><child link='" child          \
    "'/></joint>"

TEST(meshes_are_found_scaled_and_shared) {
    char folder[] = CAROM_BINARY_DIR "/urdf_XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    char file[64];
    snprintf(path, sizeof path, "%s/m.obj", folder);
    snprintf(file, sizeof file, "%s/r.urdf", folder);
    write_file(path, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    static const char text[] = "<robot name='r'>" LINK("a", "filename='package://p/deep/m.obj'")
        LINK("b", "filename='m.obj' scale='1 1 1'") LINK("c", "filename='m.obj' scale='2 3 -4'")
            JOINT("a", "b") JOINT("b", "c") "</robot>";
    cri_scene_def def;
    CHECK_INT(cri_urdf_read(text, strlen(text), file, &def, &err), CR_OK);
    CHECK_INT(def.n_mesh, 2);
    CHECK_INT(def.geom[0].mesh, 0);
    CHECK_INT(def.geom[1].mesh, 0);
    CHECK_INT(def.geom[2].mesh, 1);
    CHECK_TEXT(def.mesh[0].name, "m");
    CHECK_TEXT(def.mesh[1].name, "m.1");
    CHECK(def.mesh[1].vertex[3] == 2.0 && def.mesh[1].vertex[7] == 3.0);
    CHECK(def.mesh[1].vertex[11] == -4.0);
    // a mirror image keeps its outside
    CHECK(def.mesh[0].face[1] == 2 && def.mesh[1].face[1] == 1);
    cri_scene_def_clear(&def);
    CHECK(remove(path) == 0 && remove(folder) == 0);
}

TEST(a_missing_mesh_is_an_error) {
    refuse(
        "<robot name='r'>" LINK("a", "filename='package://p/meshes/none.stl'") "</robot>",
        "r.urdf:1: <mesh> file 'package://p/meshes/none.stl' is neither beside the URDF nor in a "
        "folder meshes there: copy it to one of them");
    // found by the fuzzer: a folder can be opened
    refuse(
        "<robot name='r'>" LINK("a", "filename='/'") "</robot>",
        "r.urdf:1: <mesh> file '/' is neither beside the URDF nor in a folder meshes there: copy "
        "it to one of them");
    refuse("<robot name='r'>" LINK("a", "filename='m.stl' scale='1 0 1'") "</robot>",
           "r.urdf:1: <mesh> scale has a zero, which leaves no volume");
    refuse("<robot name='r'>" LINK("a", "file='m.stl'") "</robot>",
           "r.urdf:1: <mesh> has no filename: add filename=\"...\"");
}

// ---- errors ------------------------------------------------------------------------------------

#define ROBOT(inside) "<robot name='r'>\n" inside "</robot>"
#define TWO(joint) ROBOT("<link name='world'/><link name='b'/>\n" joint)
#define ENDS "<parent link='world'/><child link='b'/>"

TEST(trees_that_are_none_are_errors) {
    refuse("<mujoco/>", "r.urdf:1: <mujoco> is no URDF: expected <robot>");
    refuse(ROBOT(""), "r.urdf:1: <robot> has no links: add a <link>");
    refuse(ROBOT("<link/>"), "r.urdf:2: <link> has no name: add name=\"...\"");
    refuse(ROBOT("<link name='a'/>\n<link name='a'/>"),
           "r.urdf:3: two links have the name 'a', the other on line 2: rename one");
    refuse(ROBOT("<link name='a'/>\n<link name='b'/>"),
           "r.urdf:3: <link> 'b' has no joint to a parent, and neither has 'a': join them, a robot "
           "is one tree");
    refuse(ROBOT("<link name='a'/>" JOINT("a", "a")),
           "r.urdf:1: <robot> has no root: its joints make a cycle, remove one of them");
    refuse(
        ROBOT("<link name='w'/><link name='a'/><link name='b'/>" JOINT("a", "b") JOINT("b", "a")),
        "r.urdf:2: <link> 'a' hangs in a cycle of joints: remove one of them");
    refuse(
        ROBOT("<link name='a'/><link name='b'/><link name='c'/>" JOINT(
            "a", "c") "\n"
                      "<joint name='k' type='fixed'><parent link='b'/><child link='c'/></joint>"),
        "r.urdf:3: <joint> 'k' gives the link 'c' a second parent, the first is on line 2: close "
        "loops with an equality in MJCF");
    refuse(ROBOT("<link name='a'/>" JOINT("a", "b")),
           "r.urdf:2: <child> names the link 'b', which does not exist: check its spelling");
    refuse(ROBOT("<link name='a'/><joint name='j' type='fixed'><parent link='a'/></joint>"),
           "r.urdf:2: <joint> has no <child>: add <child link=\"...\"/>");
    refuse(ROBOT("<link name='a'/><lnik name='b'/>"),
           "r.urdf:2: <lnik> is not known in a robot: check its spelling or remove it");
    refuse(ROBOT("<link name='a'/><xacro:if/>"),
           "r.urdf:2: <xacro:if> is xacro: run xacro first and read what it writes");
}

TEST(wrong_joints_are_errors) {
    refuse(TWO("<joint name='j' type='planar'>" ENDS "</joint>"),
           "r.urdf:3: <joint> of type planar is not read: use MJCF with two slides and a hinge");
    refuse(TWO("<joint name='j' type='rotary'>" ENDS "</joint>"),
           "r.urdf:3: <joint> has the unknown type 'rotary': use fixed, revolute, continuous, "
           "prismatic or floating");
    refuse(TWO("<joint name='j'>" ENDS "</joint>"),
           "r.urdf:3: <joint> has no type: add type=\"...\"");
    refuse(TWO("<joint name='j' type='revolute'>" ENDS "</joint>"),
           "r.urdf:3: <joint> has no range: add <limit lower=\"...\" upper=\"...\"/>, or make it "
           "continuous or fixed");
    refuse(
        TWO("<joint name='j' type='revolute'>" ENDS "<limit lower='1' upper='-1'/></joint>"),
        "r.urdf:3: <limit> lower 1 is not below upper -1: exchange them, or make the joint fixed");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<axis xyz='0 0 0'/></joint>"),
           "r.urdf:3: <axis> xyz is zero: an axis needs a direction");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<axis xyz='0 1'/></joint>"),
           "r.urdf:3: <axis> xyz=\"0 1\" has 2 numbers, expected 3");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<origin xyz='0 x 0'/></joint>"),
           "r.urdf:3: <origin> xyz: 'x' is not a number, expected a finite number");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<mimic joint='k'/></joint>"),
           "r.urdf:3: <mimic> names the joint 'k', which does not exist: check its spelling");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<mimic joint='j'/></joint>"),
           "r.urdf:3: <mimic> ties 'j' to 'j': both must be different revolute, continuous or "
           "prismatic joints");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<dynamics damping='-1'/></joint>"),
           "r.urdf:3: <dynamics> damping -1 must not be negative");
    refuse(TWO("<joint name='j' type='continuous'>" ENDS "<motor/></joint>"),
           "r.urdf:3: <motor> is not known in a joint: check its spelling or remove it");
    refuse(ROBOT("<link name='a'/><link name='b'/>\n<joint name='j' type='floating'><parent "
                 "link='a'/><child link='b'/></joint>"),
           "r.urdf:3: <joint> of type floating starts at the link 'a': only a link named world may "
           "carry one");
}

#define BODY(inside) ROBOT("<link name='a'>" inside "</link>")
#define SHAPE(shape) BODY("<collision><geometry>" shape "</geometry></collision>")

TEST(wrong_links_are_errors) {
    refuse(BODY("<mass value='1'/>"),
           "r.urdf:2: <mass> is not known in a link: check its spelling or remove it");
    refuse(
        BODY("<inertial><mass value='1'/></inertial>"),
        "r.urdf:2: <inertial> needs <mass value> and <inertia ixx iyy izz>: add the one missing");
    refuse(BODY("<inertial><mass value='-1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
           "r.urdf:2: <mass> value=\"-1\" must not be negative");
    refuse(BODY("<inertial><mass value='1'/><inertia ixx='1' iyy='1'/></inertial>"),
           "r.urdf:2: <inertia> has no izz: add izz=\"...\"");
    refuse(BODY("<collision/>"), "r.urdf:2: <collision> needs one <geometry> with one shape: use a "
                                 "<collision> for each");
    refuse(SHAPE("<cone/>"),
           "r.urdf:2: <cone> is no shape that is read: use sphere, box, cylinder, "
           "capsule or mesh");
    refuse(SHAPE("<sphere radius='0'/>"),
           "r.urdf:2: <sphere> radius=\"0\" must be larger than zero");
    refuse(SHAPE("<box size='1 -1 1'/>"),
           "r.urdf:2: <box> size=\"1 -1 1\" must be larger than zero in all directions");
    refuse(SHAPE("<cylinder radius='1'/>"),
           "r.urdf:2: <cylinder> has no length: add length=\"...\"");
}

// every beginning of a file and many flipped bytes are read or refused with a text
TEST(damaged_files_are_read_or_refused) {
    size_t n = sizeof every_joint - 1;
    char *copy = malloc(n);
    assert_non_null(copy);
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, every_joint, n);
        for (int bit = 0; bit < 8; bit += 3) {
            copy[i] = (char)(every_joint[i] ^ 1 << bit);
            cri_scene_def def;
            cr_status status = cri_urdf_read(copy, bit == 0 ? i : n, "r.urdf", &def, &err);
            CHECK(status == CR_OK || strncmp(err.text, "r.urdf:", 7) == 0);
            cri_scene_def_clear(&def);
        }
    }
    free(copy);
}

// ---- the WAM -----------------------------------------------------------------------------------

TEST(the_wam_is_read) {
    char *text = NULL;
    size_t n_byte = 0;
    if (cri_file_read(WAM, &text, &n_byte, &err) != CR_OK) {
        SKIP("the robot models (../shared/data/robots) are not here");
    }
    cri_scene_def def;
    cr_status status = cri_urdf_read(text, n_byte, WAM, &def, &err);
    free(text);
    if (status != CR_OK) {
        cr_test_fail("%s", err.text);
        return;
    }
    CHECK_INT(def.n_body, 8);
    CHECK_INT(def.n_joint, 7);
    CHECK_INT(def.n_geom, 8);
    CHECK_INT(def.n_mesh, 8);
    // masses of the eight links, in the file's order from the base to the hand
    static const double mass[] = {9.97059584, 10.76768767, 3.87493756, 1.80228141,
                                  2.40016804, 0.12376019,  0.41797364, 0.06864753};
    for (int i = 0; i < def.n_body && i < 8; i++) {
        CHECK(def.body[i].mass == mass[i]);
        CHECK_INT(def.body[i].parent, i - 1);
        CHECK(def.mesh[i].n_face >= 12);
    }
    for (int i = 0; i < def.n_joint && i < 7; i++) {
        char name[8];
        snprintf(name, sizeof name, "/j%d", i + 1);
        CHECK_TEXT(def.joint[i].name, name);
        CHECK_INT(def.joint[i].body, i + 1);
        CHECK_INT(def.joint[i].kind, CRI_JOINT_HINGE);
    }
    CHECK(def.joint[3].range[0] == -0.9 && def.joint[3].range[1] == 3.1);
    // by MuJoCo 2.2.2: the same file without its visuals, body_iquat times body_inertia; it finds
    // principal axes to 1e-6 or so
    static const double inertia[6] = {0.05911076980, 0.05927043,    0.00324550024,
                                      7.3791835e-06, 0.00249612251, 1.76883086e-05};
    for (int i = 0; i < 6; i++) {
        CHECK_CLOSE(def.body[3].inertia[i], inertia[i], 1e-6 * inertia[1], 0.0);
    }
    CHECK_TEXT(def.warning, "effort limits of 7 joints have no effect");
    cri_scene_def_clear(&def);
}

CR_TEST_MAIN(every_joint_type_is_read, a_mimic_is_an_equality_and_a_word_in_the_warning,
             a_root_that_is_not_the_world_is_a_body_that_stands_still,
             elements_for_other_programs_are_counted, deep_and_wide_trees_are_numbered_depth_first,
             rpy_turns_about_fixed_axes, the_inertia_is_turned_into_body_axes,
             shapes_have_half_sizes, meshes_are_found_scaled_and_shared, a_missing_mesh_is_an_error,
             trees_that_are_none_are_errors, wrong_joints_are_errors, wrong_links_are_errors,
             damaged_files_are_read_or_refused, the_wam_is_read)
