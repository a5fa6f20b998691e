// SPDX-License-Identifier: MIT
//
// Names, patterns and ties become variables; values, adjoints and tangents go where they belong.

#include "optimize/select.h"

#include "scene_fixture.h"

#include "base/math/quat.h"

#include <math.h>
#include <stdlib.h>

static cri_selection *select(const cr_model *model, const char *text) {
    cri_selection *selection = NULL;
    cr_error err = {0};
    if (cri_selection_create(model, text, &selection, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    assert_non_null(selection);
    return selection;
}

/// Text of the refusal of a selection.
static void check_refused(const cr_model *model, const char *text, const char *expected) {
    cri_selection *selection = NULL;
    cr_error err = {0};
    CHECK_INT(cri_selection_create(model, text, &selection, &err), CR_ERR_ARGUMENT);
    CHECK(selection == NULL);
    if (!strstr(err.text, expected)) {
        cr_test_fail("%s: \"%s\" lacks \"%s\"", text, err.text, expected);
    }
    CHECK(strchr(err.text, '\n') == NULL);
}

TEST(a_star_fits_any_characters) {
    CHECK(cri_name_matches("*", ""));
    CHECK(cri_name_matches("*", "ball/mass"));
    CHECK(cri_name_matches("ball/*", "ball/mass"));
    CHECK(cri_name_matches("*/mass", "ball/mass"));
    CHECK(cri_name_matches("*a*s", "ball/mass"));
    CHECK(cri_name_matches("*ss*ss", "ss/mass"));
    CHECK(!cri_name_matches("*/mas", "ball/mass"));
    CHECK(!cri_name_matches("ball", "ball/mass"));
    CHECK(!cri_name_matches("b*x", "ball/mass"));
}

TEST(single_names_keep_their_spelling_and_order) {
    cr_model *model = fixture_model();
    cri_selection *s = select(model, "ball/mass, gravity[2],x0:ball/qvel[2], u:box/torque[1][17]");
    CHECK_INT(s->n_variable, 4);
    CHECK_TEXT(s->variable[0].name, "ball/mass");
    CHECK_TEXT(s->variable[3].name, "u:box/torque[1][17]");
    CHECK_INT(s->variable[1].place[0].vector, CR_VECTOR_P);
    CHECK_INT(s->variable[1].place[0].index, cr_model_find(model, CR_VECTOR_P, "gravity[2]", NULL));
    CHECK_INT(s->variable[2].place[0].vector, CR_VECTOR_X);
    CHECK_INT(s->variable[2].place[0].index,
              cr_model_find(model, CR_VECTOR_X, "ball/qvel[2]", NULL));
    CHECK_INT(s->variable[3].place[0].vector, CR_VECTOR_U);
    CHECK_INT(s->variable[3].place[0].step, 17);
    CHECK_INT(s->variable[0].place[0].step, -1);
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(the_geoms_of_a_pair_come_in_either_order) {
    cr_model *model = fixture_model();
    cri_selection *a = select(model, "floor:ball/friction");
    cri_selection *b = select(model, "ball:floor/friction");
    CHECK_INT(a->variable[0].place[0].index, b->variable[0].place[0].index);
    CHECK_TEXT(b->variable[0].name, "ball:floor/friction");
    cri_selection_destroy(a);
    cri_selection_destroy(b);
    cr_model_destroy(model);
}

TEST(a_name_without_index_stands_for_all_entries) {
    cr_model *model = fixture_model();
    cri_selection *s = select(model, "box/size,x0:ball/qpos,u:ball/force");
    CHECK_INT(s->n_variable, 3 + 7 + 3);
    CHECK_TEXT(s->variable[2].name, "box/size[2]");
    CHECK_TEXT(s->variable[3].name, "x0:ball/qpos[0]");
    CHECK_TEXT(s->variable[12].name, "u:ball/force[2]");
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(patterns_fit_names_of_one_vector) {
    cr_model *model = fixture_model();
    cr_sizes sizes = cr_model_sizes(model);
    cri_selection *s = select(model, "*");
    CHECK_INT(s->n_variable, sizes.n_p);
    cri_selection_destroy(s);
    s = select(model, "*/mass,x0:*,u:box/*");
    CHECK_INT(s->n_variable, 2 + sizes.n_x + 6);
    CHECK_TEXT(s->variable[1].name, "box/mass");
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(tied_names_share_one_variable) {
    cr_model *model = fixture_model();
    cri_selection *s = select(model, "ball/mass=box/mass,x0:ball/qvel=x0:box/qvel");
    CHECK_INT(s->n_variable, 1 + 6);
    CHECK_TEXT(s->variable[0].name, "ball/mass=box/mass");
    CHECK_INT(s->variable[0].n_place, 2);
    CHECK_TEXT(s->variable[6].name, "x0:ball/qvel[5]=x0:box/qvel[5]");
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(wrong_names_are_refused_with_a_remedy) {
    cr_model *model = fixture_model();
    check_refused(model, "ball/mas", "did you mean ball/mass?");
    check_refused(model, "bal/mass", "did you mean ball/mass?");
    check_refused(model, "x0:ball/qpso[1]", "did you mean x0:ball/qpos[1]?");
    check_refused(model, "somethingelse", "carom params SCENE");
    check_refused(model, "", "missing");
    check_refused(model, "ball/mass,", "missing");
    check_refused(model, "ball/mass,,box/mass", "missing");
    check_refused(model, "ball/mass=", "missing");
    check_refused(model, "zz*", "no name fits");
    check_refused(model, "u:ball/force[0][-1]", "whole number");
    check_refused(model, "u:ball/force[0][x]", "whole number");
    check_refused(model, "ball/size=box/size", "tied");
    check_refused(model, "floor:wall/friction", "floor:wall");
    cr_model_destroy(model);
}

TEST(a_place_named_twice_is_refused) {
    cr_model *model = fixture_model();
    check_refused(model, "ball/mass,ball/mass", "twice");
    check_refused(model, "*/mass,box/mass", "twice");
    check_refused(model, "ball/mass=ball/mass", "twice");
    check_refused(model, "floor:ball/friction,ball:floor/friction", "twice");
    check_refused(model, "u:ball/force[0],u:ball/force[0][3]", "twice");
    cri_selection *s = select(model, "u:ball/force[0][2],u:ball/force[0][3]");
    CHECK_INT(s->n_variable, 2);
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(long_and_odd_text_is_refused_without_harm) {
    cr_model *model = fixture_model();
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, 'a', 100000);
    text[100000] = '\0';
    check_refused(model, text, "unknown name");
    memset(text, '[', 100000);
    check_refused(model, text, "unknown name");
    memset(text, '*', 50000);
    check_refused(model, text, "no name fits");
    free(text);
    check_refused(model, "u:", "unknown name");
    check_refused(model, "u:]", "unknown name");
    check_refused(model, "u:][1]", "unknown name");
    cr_model_destroy(model);
}

// ---- values ------------------------------------------------------------------------------------

TEST(values_go_to_all_places_and_adjoints_come_back_as_sums) {
    cr_model *model = fixture_model();
    cri_selection *s =
        select(model, "ball/mass=box/mass,x0:box/qvel[0],u:ball/force[0],u:ball/force[1][2]");
    cr_arena *arena = cri_arena_create(1024);
    cri_point point = {0};
    CHECK_INT(cri_point_push(s, 5, arena, &point, NULL), CR_OK);
    CHECK_INT(point.n_u_row, 5);
    const double z[4] = {3.0, -1.0, 7.0, 9.0};
    cri_selection_write(s, z, &point);
    cr_sizes sizes = cr_model_sizes(model);
    CHECK(point.p[cr_model_find(model, CR_VECTOR_P, "box/mass", NULL)] == 3.0);
    CHECK(point.u[4 * sizes.n_u] == 7.0);
    CHECK(point.u[2 * sizes.n_u + 1] == 9.0);
    CHECK(point.u[3 * sizes.n_u + 1] == 0.0);
    double back[4] = {0};
    cri_selection_read(s, &point, back);
    for (int i = 0; i < 4; i++) {
        CHECK(back[i] == z[i]);
    }

    // of the numbers just written: two masses, one velocity, five rows, one row
    double z_adj[4] = {100.0, 0.0, 0.0, 0.0};
    cri_selection_write_vjp(s, &point, z_adj);
    CHECK(z_adj[0] == 106.0 && z_adj[1] == -1.0 && z_adj[2] == 35.0 && z_adj[3] == 9.0);
    CHECK_INT(cri_selection_check_steps(s, 3, NULL), CR_OK);
    CHECK_INT(cri_selection_check_steps(s, 2, NULL), CR_ERR_ARGUMENT);
    CHECK(cri_selection_has(s, CR_VECTOR_U) && cri_selection_has(s, CR_VECTOR_X));
    cri_arena_destroy(arena);
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(tangents_are_ones_at_the_places) {
    cr_model *model = fixture_model();
    cr_sizes sizes = cr_model_sizes(model);
    cri_selection *s = select(model, "ball/mass=box/mass,u:box/torque[2][1],x0:box/qvel[5]");
    double *p_tan = calloc(3 * (size_t)sizes.n_p, sizeof *p_tan);
    double *u_tan = calloc(3 * (size_t)sizes.n_u, sizeof *u_tan);
    double *x_tan = calloc(3 * (size_t)sizes.n_tangent, sizeof *x_tan);
    double *x = calloc((size_t)sizes.n_x, sizeof *x);
    assert_true(p_tan && u_tan && x_tan && x);
    cr_model_defaults(model, -1, NULL, x, NULL);
    for (int j = 0; j < 3; j++) {
        cri_variable_p_tan(&s->variable[j], p_tan + j * sizes.n_p);
        cri_variable_x0_tan(&s->variable[j], model, x, x_tan + j * sizes.n_tangent);
    }
    CHECK(p_tan[cr_model_find(model, CR_VECTOR_P, "ball/mass", NULL)] == 1.0);
    CHECK(p_tan[cr_model_find(model, CR_VECTOR_P, "box/mass", NULL)] == 1.0);
    CHECK(p_tan[sizes.n_p + cr_model_find(model, CR_VECTOR_P, "box/mass", NULL)] == 0.0);
    cri_variable_u_tan(&s->variable[1], 0, u_tan + sizes.n_u);
    CHECK(u_tan[sizes.n_u + 11] == 0.0);
    cri_variable_u_tan(&s->variable[1], 1, u_tan + sizes.n_u);
    CHECK(u_tan[sizes.n_u + 11] == 1.0);
    CHECK(x_tan[2 * sizes.n_tangent + sizes.n_tangent - 1] == 1.0);
    free(p_tan);
    free(u_tan);
    free(x_tan);
    free(x);
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

TEST(domains_of_tied_names_intersect) {
    cr_model *model = fixture_model();
    cri_selection *s = select(model, "ball/mass,floor:ball/restitution=floor:ball/friction,"
                                     "x0:ball/qpos[0]");
    cri_domain mass = cri_selection_domain(s, model, 0);
    CHECK(mass.lower == 0.0 && mass.is_open);
    cri_domain tied = cri_selection_domain(s, model, 1);
    CHECK(tied.lower == 0.0 && !tied.is_open && tied.upper == 1.0);
    cri_domain free_one = cri_selection_domain(s, model, 2);
    CHECK(isinf(free_one.lower) && isinf(free_one.upper));
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

// ---- tangent coordinates -----------------------------------------------------------------------

TEST(quaternion_entries_and_tangents_match_differences) {
    cr_model *model = fixture_model();
    cr_sizes sizes = cr_model_sizes(model);
    double x[26] = {0};
    assert_true(sizes.n_x == 26 && sizes.n_tangent == 24);
    cr_model_defaults(model, -1, NULL, x, NULL);
    // not of length one
    const double raw[4] = {0.9, -0.4, 0.3, 0.8};
    memcpy(x + 7 + 3, raw, sizeof raw);
    const double h = 1e-6;
    for (int i = 0; i < 4; i++) {
        double theta[24] = {0};
        cri_tangent_of_entry(model, x, 7 + 3 + i, theta);
        // both sides after normalising: dq = (q(raw + h e_i) - q(raw - h e_i)) / 2h
        double up[26];
        double down[26];
        memcpy(up, x, sizeof up);
        memcpy(down, x, sizeof down);
        up[7 + 3 + i] += h;
        down[7 + 3 + i] -= h;
        CHECK(cri_model_normalise(model, up) < 0 && cri_model_normalise(model, down) < 0);
        for (int k = 0; k < 4; k++) {
            double dq = (up[10 + k] - down[10 + k]) / (2.0 * h);
            // central differences err by h^2
            CHECK_CLOSE(cri_entry_of_tangent(model, x, 10 + k, theta), dq, 1e-9, 1e-9);
        }
    }
    memset(x + 10, 0, 4 * sizeof *x);
    CHECK_INT(cri_model_normalise(model, x), 1); // the joint of the box
    cr_model_destroy(model);
}

CR_TEST_MAIN(a_star_fits_any_characters, single_names_keep_their_spelling_and_order,
             the_geoms_of_a_pair_come_in_either_order, a_name_without_index_stands_for_all_entries,
             patterns_fit_names_of_one_vector, tied_names_share_one_variable,
             wrong_names_are_refused_with_a_remedy, a_place_named_twice_is_refused,
             long_and_odd_text_is_refused_without_harm,
             values_go_to_all_places_and_adjoints_come_back_as_sums,
             tangents_are_ones_at_the_places, domains_of_tied_names_intersect,
             quaternion_entries_and_tangents_match_differences)
