// SPDX-License-Identifier: MIT
//
// Scenes in several files. The parts are written into a folder of their own.

#include "base/io/xml.h"
#include "mjcf_read.h"

#include <sys/stat.h>

#include "base/io/file.h"

#define FOLDER CAROM_BINARY_DIR "/mjcf_include_test"

#define BALL(name) "<body name='" name "'><freejoint/>\n<geom name='" name "' size='1'/></body>"

static void write_file(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int make_folder(void **state) {
    (void)state;
    // may be left over from a run before
    (void)mkdir(FOLDER, 0777);
    (void)mkdir(FOLDER "/sub", 0777);
    return 0;
}

static cr_status read_main(const char *text, cri_scene_def *def, cr_error *err) {
    return cri_mjcf_read(text, strlen(text), FOLDER "/main.xml", def, err);
}

// err.text ends in this; what stands before is the folder, which may have been cut off
static void expect_end(const char *text, const char *end) {
    cri_scene_def def;
    cr_error err = {0};
    assert_true(read_main(text, &def, &err) != CR_OK);
    size_t n = strlen(err.text);
    size_t n_end = strlen(end);
    assert_true(n >= n_end);
    assert_string_equal(err.text + n - n_end, end);
    assert_null(def.body);
}

static void parts_are_put_in_place(void **state) {
    (void)state;
    write_file("part.xml", "<mujocoinclude><worldbody>" BALL(
                               "b") "<include file='sub/in.xml'/>"
                                    "</worldbody><option timestep='.5'/></mujocoinclude>");
    write_file("sub/in.xml", "<mujoco>\n\n" BALL("c") "<include file='deep.xml'/></mujoco>");
    write_file("sub/deep.xml", "<mujoco>" BALL("d") "<include file='sub/beside.xml'/></mujoco>");
    // MuJoCo looks beside the scene only
    write_file("sub/beside.xml", "<mujoco/>");
    write_file("empty.xml", "<mujoco/>");
    cri_scene_def def;
    cr_error err = {0};
    cr_status status =
        read_main("<mujoco><worldbody>" BALL(
                      "a") "</worldbody><include "
                           "file='./part.xml'/><include file='empty.xml'/><worldbody>" BALL(
                               "e") "</worldbody></mujoco>",
                  &def, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, CR_OK);
    assert_true(def.dt == 0.5);
    assert_int_equal(def.n_body, 5);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(def.body[i].name, names[i]);
    }
    // things know their own file and line
    assert_string_equal(def.body[0].place.file, FOLDER "/main.xml");
    assert_string_equal(def.geom[2].place.file, FOLDER "/sub/in.xml");
    assert_int_equal(def.geom[2].place.line, 4);
    cri_scene_def_clear(&def);
}

static void wrong_includes_are_reported(void **state) {
    (void)state;
    write_file("one.xml",
               "<mujoco><worldbody>\n<include file='sub/two.xml'/></worldbody></mujoco>");
    write_file("sub/two.xml", "<mujoco>\n\n<include file='../one.xml'/></mujoco>");
    expect_end("<mujoco>\n<include file='one.xml'/></mujoco>",
               "two.xml:3: <include> includes a file that it stands in: one.xml < two.xml < "
               "one.xml; remove one");
    expect_end("<mujoco>\n<include file='main.xml'/></mujoco>",
               "main.xml:2: <include> includes a file that it stands in: main.xml < main.xml; "
               "remove one");
    write_file("ball.xml", "<mujoco>" BALL("b") "</mujoco>");
    expect_end("<mujoco><worldbody>\n<include file='ball.xml'/>\n<include file='sub/../ball.xml'/>"
               "</worldbody></mujoco>",
               "main.xml:3: <include> includes 'sub/../ball.xml' a second time, after main.xml:2: "
               "remove one");
    expect_end("<mujoco>\n<include file='none.xml'/></mujoco>",
               "no such file; paths are relative to the file with <include>");
    expect_end("<mujoco>\n<include/></mujoco>", "main.xml:2: <include> has no file: name one");
    expect_end(
        "<mujoco>\n<include file='one.xml'><geom/></include></mujoco>",
        "main.xml:2: <geom> is not supported here: <include> has attributes only; remove it");
}

static void mistakes_in_a_part_name_the_part(void **state) {
    (void)state;
    write_file("bad.xml",
               "<mujoco>\n<worldbody>\n<body><geom size='0'/></body></worldbody></mujoco>");
    expect_end("<mujoco><include file='bad.xml'/></mujoco>",
               "bad.xml:3: <geom> size is 0, expected more than 0");
    write_file("broken.xml", "<mujoco>\n<worldbody></mujoco>");
    expect_end("<mujoco><include file='broken.xml'/></mujoco>",
               "broken.xml:2: not valid XML: mismatched tag");
    write_file("robot.xml", "<robot/>");
    expect_end("<mujoco><include file='robot.xml'/></mujoco>",
               "robot.xml:1: <robot> is no part of a scene: expected <mujoco> or <mujocoinclude>");
    write_file("twin.xml", "<mujoco><worldbody>\n" BALL("a") "</worldbody></mujoco>");
    cri_scene_def def;
    cr_error err = {0};
    const char *text = "<mujoco><worldbody>\n\n" BALL("a") "</worldbody><include "
                                                           "file='twin.xml'/></mujoco>";
    assert_int_equal(read_main(text, &def, &err), CR_ERR_SYNTAX);
    assert_non_null(strstr(err.text, "twin.xml:2: two bodies have the name 'a', the other at "));
    assert_non_null(strstr(err.text, "main.xml:3: rename one"));
}

// frames in frames, with something in the innermost
static void nest(int n, const char *inside, char *out) {
    out += sprintf(out, "<mujoco>");
    for (int i = 0; i < n; i++) {
        out += sprintf(out, i == 0 ? "<worldbody>" : "<frame>");
    }
    out += sprintf(out, "%s", inside);
    for (int i = n - 1; i >= 0; i--) {
        out += sprintf(out, i == 0 ? "</worldbody>" : "</frame>");
    }
    sprintf(out, "</mujoco>");
}

static void depth_counts_over_files(void **state) {
    (void)state;
    // two files that are shallow enough, and together are not
    enum { N = 3 * CRI_XML_DEPTH / 4 };
    static char text[16 * N + 200];
    nest(N, BALL("a"), text);
    cri_scene_def def;
    cr_error err = {0};
    assert_int_equal(read_main(text, &def, &err), CR_OK);
    cri_scene_def_clear(&def);
    strcpy(text, "<mujoco>");
    char *at = text + strlen(text);
    for (int i = 0; i < N; i++) {
        at += sprintf(at, "<frame>");
    }
    for (int i = 0; i < N; i++) {
        at += sprintf(at, "</frame>");
    }
    strcpy(at, "</mujoco>");
    write_file("deep.xml", text);
    nest(N, "<include file='deep.xml'/>", text);
    expect_end(text, "deep.xml:1: <frame> is nested deeper than 512 with what includes it: nest "
                     "less");
}

static void meshes_are_sought_beside_the_scene(void **state) {
    (void)state;
    write_file("sub/t.obj",
               "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
#define INSIDE(compiler, file)                                                                     \
    "<mujoco><compiler " compiler "/><asset><mesh file='" file "'/></asset><worldbody><body>"      \
    "<freejoint/><geom type='mesh' mesh='t'/></body></worldbody></mujoco>"
    static const char *const texts[] = {
        INSIDE("meshdir='sub'", "t.obj"),
        INSIDE("assetdir='sub/'", "t.obj"),
        INSIDE("", "sub/t.obj"),
        INSIDE("meshdir='sub' assetdir='none' strippath='true'", "elsewhere/t.obj"),
    };
#undef INSIDE
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cri_scene_def def;
        cr_error err = {0};
        cr_status status = read_main(texts[i], &def, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(status, CR_OK);
        assert_int_equal(def.n_mesh, 1);
        assert_int_equal(def.mesh[0].n_vertex, 4);
        assert_int_equal(def.mesh[0].n_face, 4);
        cri_scene_def_clear(&def);
    }
    write_file("sub/t.obj", "v 0 0 x\n");
    expect_end("<mujoco><asset><mesh file='none.obj'/></asset><worldbody><body>\n<freejoint/><geom "
               "type='mesh' mesh='none'/></body></worldbody></mujoco>",
               "main.xml:1: <mesh> file=\"none.obj\" cannot be opened: no such file; check it and "
               "meshdir, which is relative to the scene");
    cri_scene_def def;
    cr_error err = {0};
    assert_int_equal(read_main(texts[0], &def, &err), CR_ERR_SYNTAX);
    assert_non_null(strstr(err.text, "main.xml:1: <mesh> cannot be read: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_put_in_place),
        cmocka_unit_test(wrong_includes_are_reported),
        cmocka_unit_test(mistakes_in_a_part_name_the_part),
        cmocka_unit_test(depth_counts_over_files),
        cmocka_unit_test(meshes_are_sought_beside_the_scene),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
