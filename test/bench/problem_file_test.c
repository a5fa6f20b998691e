// SPDX-License-Identifier: MIT
//
// Contact problems as text: nothing is lost, and what is wrong is named with its line.

#include "bench/problem_file.h"
#include "cr_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH CAROM_BINARY_DIR "/problem_file_test.txt"

static cr_arena *open_arena(void) {
    cr_arena *arena = cri_arena_create(1 << 16);
    assert_non_null(arena);
    return arena;
}

static void check_same(int n, const double *a, const double *b) {
    CHECK(memcmp(a, b, sizeof *a * (size_t)n) == 0);
}

static void check_round_trip(int family, uint64_t seed, bool has_impulse) {
    cr_arena *keep = open_arena(), *scratch = open_arena();
    assert_true(cri_arena_reserve(keep, cri_problem_bytes()));
    assert_true(cri_arena_reserve(scratch, cri_problem_bytes()));
    cri_problem_text out = {.problem = cri_problem_make((cri_family)family, seed, keep, scratch),
                            .law = "ncp",
                            .remark = "hard # to solve"};
    const cri_contact_problem *p = &out.problem.data;
    int m = 3 * p->n;
    out.impulse = has_impulse ? p->b : NULL; // any numbers will do
    cr_error err = {0};
    CHECK_INT(cri_problem_write(PATH, &out, &err), CR_OK);
    cri_problem_text in;
    if (CHECK(cri_problem_read(PATH, &in, keep, &err) == CR_OK)) {
        const cri_contact_problem *q = &in.problem.data;
        CHECK_INT(q->n, p->n);
        CHECK_INT(in.problem.family, family);
        CHECK(in.problem.seed == seed);
        CHECK_TEXT(in.law, "ncp");
        check_same(m * m, q->A, p->A);
        check_same(m, q->b, p->b);
        check_same(p->n, q->mu, p->mu);
        check_same(p->n, q->e, p->e);
        check_same(p->n, q->target, p->target);
        CHECK(memcmp(q->is_plain, p->is_plain, (size_t)p->n) == 0);
        CHECK((in.impulse != NULL) == has_impulse);
        if (has_impulse) {
            check_same(m, in.impulse, p->b);
        }
    }
    cri_arena_destroy(keep);
    cri_arena_destroy(scratch);
    remove(PATH);
}

TEST(a_problem_comes_back_bit_for_bit) {
    for (int family = 0; family < CRI_N_FAMILY; family++) {
        check_round_trip(family, (uint64_t)family, family % 2);
    }
    check_round_trip(CRI_FAMILY_PATCH, UINT64_MAX, true);
}

// the reader refuses text and says so
static void check_refused(const char *text, const char *part) {
    FILE *file = fopen(PATH, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    cr_arena *keep = open_arena();
    cri_problem_text in;
    cr_error err = {0};
    CHECK(cri_problem_read(PATH, &in, keep, &err) != CR_OK);
    if (!CHECK(strstr(err.text, part) != NULL)) {
        cr_test_fail("expected '%s' in '%s'", part, err.text);
    }
    cri_arena_destroy(keep);
    remove(PATH);
}

#define HEAD "carom-problem 1\nlaw ncp\nfamily none\nseed 1\ncontacts 1\n"
#define CONTACT HEAD "contact 0.5 0.2 0 plain\n"
#define VELOCITY CONTACT "velocity -1 0 0\n"

TEST(what_is_wrong_is_named) {
    check_refused("", "expected 'carom-problem', found ''");
    check_refused("carom-problem 2\n", ":1: expected '1', found '2'");
    check_refused("carom-problem 1\nlaw ncp\nfamily heap\n", ":3: unknown family 'heap'");
    check_refused("carom-problem 1\nlaw ncp\nfamily none\nseed -1\n", ":4: expected a whole");
    check_refused("carom-problem 1\nlaw a\nfamily none\nseed 18446744073709551616\n", ":4: ");
    check_refused("carom-problem 1\nlaw a\nfamily none\nseed 1\ncontacts 0\n", "from 1 to 200");
    check_refused("carom-problem 1\nlaw a\nfamily none\nseed 1\ncontacts 1.5\n", "whole number");
    check_refused(HEAD "contact -1 0 0 plain\n", ":6: expected a number from 0");
    check_refused(HEAD "contact 1 1.5 0 plain\n", "from 0 to 1");
    check_refused(HEAD "contact 1 nan 0 plain\n", "is NaN");
    check_refused(HEAD "contact 1 0 0 soft\n", "expected 'plain' or 'bouncing', found 'soft'");
    check_refused(CONTACT "# remark\nvelocity 1 2\n", ":9: expected a number, ''");
    check_refused(VELOCITY "matrix -1 0 1 0 0 1\n", ":8: expected a number from 0");
    check_refused(VELOCITY "matrix 1 0 1 0 0 1 7\n", "expected the end of the file, found '7'");
    check_refused(VELOCITY "matrix 1 0 1 0 0 1 impulse 1 2\n", "expected a number");
}

TEST(a_file_that_is_not_there_is_named) {
    cr_arena *keep = open_arena();
    cri_problem_text in;
    cr_error err = {0};
    CHECK_INT(cri_problem_read("no_such_problem.txt", &in, keep, &err), CR_ERR_FILE);
    CHECK(strstr(err.text, "no_such_problem.txt") != NULL);
    cri_arena_destroy(keep);
}

CR_TEST_MAIN(a_problem_comes_back_bit_for_bit, what_is_wrong_is_named,
             a_file_that_is_not_there_is_named)
