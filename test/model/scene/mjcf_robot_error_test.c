// SPDX-License-Identifier: MIT
//
// MJCF scenes with actuators, tendons, equalities, meshes and replicas that are refused.

#include "mjcf_refused.h"

// a scene with a hinge, a slide, a ball, two sites and a tendon, before this on line 4
#define ROBOT(part)                                                                                \
    HEAD "<worldbody><body name='a'><joint name='hinge'/><joint name='slide' type='slide'/>"       \
         "<geom name='g' size='1'/><site name='s'/><body name='b'><joint name='ball' "             \
         "type='ball'/><geom name='h' size='1'/><site name='t'/></body></body></worldbody>\n"      \
         "<tendon><fixed name='t'><joint joint='hinge' coef='1'/></fixed></tendon>\n" part TAIL

// a scene with this mesh on line 2, which collides
#define MESH(attrs)                                                                                \
    HEAD "<asset><mesh name='m' " attrs "/></asset>"                                               \
         "<worldbody><body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>" TAIL

#define TETRA "vertex='0 0 0 1 0 0 0 1 0 0 0 1' "

static void wrong_actuators_are_reported(void **state) {
    (void)state;
#define ACTUATOR(part) ROBOT("<actuator>" part "</actuator>")
    static const refused cases[] = {
        {ACTUATOR("<motor/>"), CR_ERR_SYNTAX, 4,
         "<motor> acts on nothing: add joint, tendon or site"},
        {ACTUATOR("<motor joint='hing'/>"), CR_ERR_SYNTAX, 4,
         "<motor> joint=\"hing\" is unknown: did you mean 'hinge'?"},
        {ACTUATOR("<motor joint='wheel'/>"), CR_ERR_SYNTAX, 4,
         "<motor> joint=\"wheel\" is unknown: the scene has hinge, slide, ball"},
        {ACTUATOR("<motor joint='hinge' site='s'/>"), CR_ERR_SYNTAX, 4,
         "<motor> has both joint and site: remove one"},
        {ACTUATOR("<motor joint='hinge' refsite='s'/>"), CR_ERR_SYNTAX, 4,
         "<motor> has refsite without site: remove it"},
        {ACTUATOR("<motor jointinparent='ball'/>"), CR_ERR_UNSUPPORTED, 4,
         "<motor> jointinparent of a ball or free joint is not supported: use a site and refsite"},
        {ACTUATOR("<position joint='ball'/>"), CR_ERR_UNSUPPORTED, 4,
         "<position> feeds back from a ball, a free joint or a site: use a <motor>, or stiffness "
         "and damping of the joint"},
        {ACTUATOR("<position joint='hinge' kp='-1'/>"), CR_ERR_SYNTAX, 4,
         "<position> kp is -1, expected 0 or more"},
        {ACTUATOR("<position joint='hinge' inheritrange='1'/>"), CR_ERR_SYNTAX, 4,
         "<position> inherits the range of something without limits: give ctrlrange"},
        {ACTUATOR("<position joint='hinge' inheritrange='1' ctrlrange='0 1'/>"), CR_ERR_SYNTAX, 4,
         "<position> has both ctrlrange and inheritrange: remove one"},
        {ACTUATOR("<position joint='hinge' dampratio='1'/>"), CR_ERR_UNSUPPORTED, 4,
         "<position> dampratio=\"1\" is not supported: give kp and kv as numbers; actuators act on "
         "a joint, a fixed tendon or a site, without activation"},
        {ACTUATOR("<motor joint='hinge' ctrlrange='1 0'/>"), CR_ERR_SYNTAX, 4,
         "<motor> ctrlrange is 1 0, expected two numbers, the smaller one first"},
        {ACTUATOR("<general joint='hinge' dyntype='integrator'/>"), CR_ERR_UNSUPPORTED, 4,
         "<general> dyntype=\"integrator\" is not supported: use gaintype=\"fixed\", "
         "biastype=\"none\" or \"affine\", dyntype=\"none\""},
        {ACTUATOR("<muscle joint='hinge'/>"), CR_ERR_UNSUPPORTED, 4,
         "<muscle> is not supported here: actuators are motor, position, velocity or general, "
         "without activation; use one of them"},
        {ACTUATOR("<motor cranksite='s' slidersite='t'/>"), CR_ERR_UNSUPPORTED, 4,
         "<motor> cranksite is not supported: actuators act on a joint, a fixed tendon or a site, "
         "without activation"},
        {ACTUATOR("<motor name='m' joint='hinge'/><motor name='m' joint='slide'/>"), CR_ERR_SYNTAX,
         4, "two actuators have the name 'm', the other on line 4: rename one"},
    };
#undef ACTUATOR
    EXPECT(cases);
}

static void wrong_tendons_are_reported(void **state) {
    (void)state;
#define TENDON(part) ROBOT("<tendon>" part "</tendon>")
    static const refused cases[] = {
        {TENDON("<spatial/>"), CR_ERR_UNSUPPORTED, 4,
         "<spatial> is not supported here: tendons are <fixed> combinations of joints; use one"},
        {TENDON("<fixed/>"), CR_ERR_SYNTAX, 4, "<fixed> has no joints: add <joint joint coef/>"},
        {TENDON("<fixed><joint joint='ball' coef='1'/></fixed>"), CR_ERR_SYNTAX, 4,
         "<joint> joint=\"ball\" is neither hinge nor slide: use one"},
        {TENDON("<fixed springlength='1 2'><joint joint='hinge' coef='1'/></fixed>"),
         CR_ERR_UNSUPPORTED, 4,
         "<fixed> springlength with a dead band is not supported: give one length"},
        {TENDON("<fixed frictionloss='1'><joint joint='hinge' coef='1'/></fixed>"),
         CR_ERR_UNSUPPORTED, 4,
         "<fixed> frictionloss=\"1\" is not supported: tendons have stiffness, damping and a range "
         "only; remove it"},
    };
#undef TENDON
    EXPECT(cases);
}

static void wrong_equalities_are_reported(void **state) {
    (void)state;
#define EQUALITY(part) ROBOT("<equality>" part "</equality>")
    static const refused cases[] = {
        {EQUALITY("<connect body1='a'/>"), CR_ERR_SYNTAX, 4,
         "<connect> has no anchor: give a point in body1"},
        {EQUALITY("<connect anchor='0 0 0'/>"), CR_ERR_SYNTAX, 4,
         "<connect> has no body1: name one"},
        {EQUALITY("<connect body1='a' body2='a' anchor='0 0 0'/>"), CR_ERR_SYNTAX, 4,
         "<connect> links a body to itself: name another one"},
        {EQUALITY("<connect site1='s' site2='t'/>"), CR_ERR_UNSUPPORTED, 4,
         "<connect> between sites is not supported: use body1, body2 and anchor"},
        {EQUALITY("<weld body1='c'/>"), CR_ERR_SYNTAX, 4,
         "<weld> body1=\"c\" is unknown: the scene has a, b"},
        {EQUALITY("<joint joint1='ball'/>"), CR_ERR_SYNTAX, 4,
         "<joint> joint1=\"ball\" is neither hinge nor slide: use one"},
        {EQUALITY("<joint joint1='hinge' joint2='hinge'/>"), CR_ERR_SYNTAX, 4,
         "<joint> has joint1 and joint2 alike: name another one"},
        {EQUALITY("<joint joint1='hinge' polycoef='1 2'/>"), CR_ERR_SYNTAX, 4,
         "<joint> polycoef=\"1 2\" has 2 numbers, expected 5"},
        {EQUALITY("<tendon tendon1='x'/>"), CR_ERR_SYNTAX, 4,
         "<tendon> tendon1=\"x\" is unknown: the scene has t"},
        {EQUALITY("<distance/>"), CR_ERR_UNSUPPORTED, 4,
         "<distance> is not supported here: equalities are connect, weld, joint and tendon"},
    };
#undef EQUALITY
    EXPECT(cases);
}

static void wrong_contacts_are_reported(void **state) {
    (void)state;
#define CONTACT(part) ROBOT("<contact>" part "</contact>")
    static const refused cases[] = {
        {CONTACT("<pair geom1='g'/>"), CR_ERR_SYNTAX, 4, "<pair> has no geom2: name one"},
        {CONTACT("<pair geom1='g' geom2='g'/>"), CR_ERR_SYNTAX, 4,
         "<pair> lists two geoms of one body: they never collide; remove it"},
        {CONTACT("<pair geom1='g' geom2='h'/><pair geom1='h' geom2='g'/>"), CR_ERR_SYNTAX, 4,
         "<pair> lists this pair again: remove one"},
        {CONTACT("<pair geom1='g' geom2='h' friction='1 -2'/>"), CR_ERR_SYNTAX, 4,
         "<pair> friction is -2, expected 0 or more"},
        {"<mujoco><worldbody>\n" FLOOR "<body><freejoint/><geom name='rod' type='capsule' "
         "size='1 1'/></body></worldbody>\n<contact><pair geom1='rod' geom2='floor' "
         "friction='1 2'/></contact></mujoco>",
         CR_ERR_UNSUPPORTED, 4,
         "<pair> friction differs along and across a capsule on a plane: give the same number "
         "twice, or directions of the world by carom:friction"},
        {CONTACT("<pair geom1='g' geom2='h' condim='2'/>"), CR_ERR_SYNTAX, 4,
         "<pair> condim is 2, expected 1, 3, 4 or 6"},
        {CONTACT("<exclude body1='a' body2='earth'/>"), CR_ERR_SYNTAX, 4,
         "<exclude> body2=\"earth\" is unknown: the scene has a, b"},
        {CONTACT("<touch/>"), CR_ERR_UNSUPPORTED, 4,
         "<touch> is not supported here: <contact> has pair exclude only; remove it"},
    };
#undef CONTACT
    EXPECT(cases);
}

static void wrong_meshes_are_reported(void **state) {
    (void)state;
    static const refused cases[] = {
        {MESH("file='none.stl'"), CR_ERR_FILE, 2,
         "<mesh> file=\"none.stl\" cannot be opened: no such file; check it and meshdir, which is "
         "relative to the scene"},
        {MESH(""), CR_ERR_SYNTAX, 2, "<mesh> has neither file nor vertex: give one"},
        {MESH("vertex='0 0 0 1 0 0 0 1 0'"), CR_ERR_SYNTAX, 2,
         "<mesh> vertex has 9 numbers, expected 3 a vertex and 4 vertices or more"},
        {MESH(TETRA "face='0 1'"), CR_ERR_SYNTAX, 2,
         "<mesh> face has 2 numbers, expected 3 a triangle"},
        {MESH(TETRA "face='0 1 4'"), CR_ERR_SYNTAX, 2,
         "<mesh> face: 4 is no vertex, expected 0 to 3"},
        {MESH(TETRA "face='0 1 .5'"), CR_ERR_SYNTAX, 2,
         "<mesh> face: 0.5 is no vertex, expected 0 to 3"},
        {MESH(TETRA "scale='1 0 1'"), CR_ERR_SYNTAX, 2,
         "<mesh> has a zero in scale, or a zero refquat: expected other numbers"},
        {MESH(TETRA "builtin='sphere'"), CR_ERR_UNSUPPORTED, 2,
         "<mesh> builtin is not supported: meshes are solid and come from an OBJ or STL file or "
         "from vertex; adapt it"},
    };
    EXPECT(cases);
}

static void wrong_replicas_are_reported(void **state) {
    (void)state;
#define WORLD_WITH(part) HEAD "<worldbody>\n" part "</worldbody>" TAIL
    static const refused cases[] = {
        {WORLD_WITH("<replicate><body/></replicate>"), CR_ERR_SYNTAX, 3,
         "<replicate> has no count, or not one of 0 to 250000"},
        {WORLD_WITH("<replicate count='-1'><body/></replicate>"), CR_ERR_SYNTAX, 3,
         "<replicate> has no count, or not one of 0 to 250000"},
        {WORLD_WITH("<replicate count='2' offsett='1 0 0'/>"), CR_ERR_SYNTAX, 3,
         "<replicate> has an unknown attribute 'offsett': did you mean 'offset'?"},
        // stopped in time, with and without bodies
        {WORLD_WITH("<replicate count='250000'><replicate count='250000'><light/></replicate>"
                    "</replicate>"),
         CR_ERR_UNSUPPORTED, 3, "<replicate> makes too many replicas: at most 250000 are read"},
        {WORLD_WITH("<replicate count='25000'><body/><body/><body/><body/><body/><body/><body/>"
                    "<body/><body/><body/><body/></replicate>"),
         CR_ERR_UNSUPPORTED, 3,
         "<body> is one too many: at most 250000 bodies, joints, geoms and sites are read"},
        {WORLD_WITH("<frame euler='1 2'/>"), CR_ERR_SYNTAX, 3,
         "<frame> euler=\"1 2\" has 2 numbers, expected 3"},
    };
#undef WORLD_WITH
    EXPECT(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_actuators_are_reported),
        cmocka_unit_test(wrong_tendons_are_reported),
        cmocka_unit_test(wrong_equalities_are_reported),
        cmocka_unit_test(wrong_contacts_are_reported),
        cmocka_unit_test(wrong_meshes_are_reported),
        cmocka_unit_test(wrong_replicas_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
