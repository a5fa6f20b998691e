// SPDX-License-Identifier: MIT
//
// A fit that is interrupted anywhere goes on to the same bits, from a file that is whole, and from
// no other.

#define _POSIX_C_SOURCE 200809L

#include "optimize/journal.h"

#include "base/io/checkpoint.h"
#include "toss_fixture.h"

#include <sys/stat.h>

static const char file[] = CAROM_BINARY_DIR "/journal_test.ck";

static const cri_journal_def saved = {file, "toss.xml with made.csv", {1, 2, 3}};

/// Ticks that are left, those that came, and what they were of.
typedef struct counter {
    int left;
    int n;
    int n_iteration;
    int n_start;
    int n_parameter;
} counter;

static bool count(void *context, const cri_progress_state *state) {
    counter *c = context;
    c->n++;
    c->n_iteration += strcmp(state->what, "iteration") == 0;
    c->n_start += strcmp(state->what, "other start") == 0;
    c->n_parameter += strcmp(state->what, "parameter") == 0;
    return c->left-- > 0;
}

/// Runs with so many ticks.
static cri_fit run_for(fixture *f, int n_tick, counter *c) {
    *c = (counter){.left = n_tick};
    cri_progress progress = {count, c};
    f->problem.progress = &progress;
    cri_fit fit = run(f);
    f->problem.progress = NULL;
    return fit;
}

static bool is_same(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_same(const cri_fit *a, const cri_fit *b) {
    CHECK(is_same(a->loss, b->loss) && is_same(a->rms, b->rms));
    CHECK(is_same(a->usual, b->usual) && is_same(a->held_out, b->held_out));
    CHECK(a->stop == b->stop && !a->is_interrupted && !b->is_interrupted);
    CHECK(a->n_iteration == b->n_iteration && a->n_stage == b->n_stage);
    CHECK_INT(a->n_restart, b->n_restart);
    CHECK_INT(a->history_every, b->history_every);
    assert_int_equal(a->n_history, b->n_history);
    CHECK(memcmp(a->history, b->history, (size_t)a->n_history * sizeof *a->history) == 0);
    assert_int_equal(a->n_entry, b->n_entry);
    for (int i = 0; i < a->n_entry; i++) {
        CHECK(is_same(a->entry[i].value, b->entry[i].value));
        CHECK(is_same(a->entry[i].deviation, b->entry[i].deviation) ||
              (isnan(a->entry[i].deviation) && isnan(b->entry[i].deviation)));
        CHECK_TEXT(a->entry[i].why, b->entry[i].why);
    }
    size_t n = (size_t)a->n_correlated * (size_t)a->n_correlated;
    CHECK(memcmp(a->correlation, b->correlation, n * sizeof *a->correlation) == 0);
}

/// Cuts a fit off at many places, and in slices.
static void check_cuts(fixture *f, const counter *whole_count, const cri_fit *whole) {
    int n = whole_count->n;
    int every = n < 30 ? 1 : n / 7;
    f->problem.checkpoint = &saved;
    counter c;
    for (int k = 0; k < n; k += every) {
        remove(file);
        cri_fit cut = run_for(f, k, &c);
        CHECK(cut.is_interrupted && isnan(cut.held_out));
        cri_fit rest = run_for(f, 100000, &c);
        check_same(&rest, whole);
        // what was done is not done again: only the tick that said stop comes once more
        CHECK_INT(c.n, n - k);
    }
    remove(file);
    cri_fit fit = {.is_interrupted = true};
    int n_run = 0;
    while (fit.is_interrupted && n_run < n) {
        fit = run_for(f, n / 7, &c);
        n_run++;
    }
    check_same(&fit, whole);
    CHECK(n_run > 6);
    // and what is whole is only told again
    fit = run_for(f, 0, &c);
    check_same(&fit, whole);
    CHECK_INT(c.n, 0);
    remove(file);
}

static void set_parameter(const fixture *f, const char *name, double value) {
    f->start.p[cr_model_find(f->model, CR_VECTOR_P, name, NULL)] = value;
}

/// Three throws from one place with noise, of which the last is held out.
static void open_throws(fixture *f) {
    open_fixture(f, toss_text,
                 "floor:ball/friction,floor:ball/restitution,x0:ball/qvel[0],x0:ball/qvel[2]");
    set_parameter(f, "floor:ball/friction", 0.12);
    set_parameter(f, "floor:ball/restitution", 0.75);
    cr_test_rng rng = cr_test_rng_of(3);
    for (int k = 0; k < 3; k++) {
        const double x0[N_STATE] = {0, 0, .5, 1, 0, 0, 0, 1.5 + k, 0, 0.5 * k};
        memcpy(f->x0[k], x0, sizeof x0);
        record(f, k, f->start.p, 3, 1e-3, &rng);
    }
    // sticks, and hardly bounces
    set_parameter(f, "floor:ball/friction", 0.9);
    set_parameter(f, "floor:ball/restitution", 0.1);
    f->problem.n_recording = 3;
    f->problem.n_held_out = 1;
    f->problem.loss = CRI_LOSS_HUBER;
}

TEST(a_fit_goes_on_within_stages_restarts_and_what_is_held_out) {
    fixture f;
    open_throws(&f);
    counter c;
    cri_fit whole = run_for(&f, 100000, &c);
    CHECK(c.n_start > 64 && c.n_iteration > 50 && isfinite(whole.held_out));
    check_cuts(&f, &c, &whole);
    clear(&f);
}

TEST(a_fit_goes_on_within_the_search_for_plateaus) {
    fixture f;
    open_edge(&f, 0.01, 1);
    counter c;
    cri_fit whole = run_for(&f, 100000, &c);
    CHECK(c.n_parameter > 0 && c.n_iteration > whole.n_iteration);
    CHECK(strstr(whole.entry[0].why, "at least") != NULL);
    check_cuts(&f, &c, &whole);
    clear(&f);
}

TEST(the_search_for_plateaus_stops_when_told) {
    fixture f;
    open_edge(&f, 0.01, 1);
    counter c;
    cri_fit whole = run_for(&f, 100000, &c);
    int n_search = c.n_parameter + c.n_iteration - whole.n_iteration;
    for (int k = 1; k <= n_search; k++) {
        counter now;
        cri_fit cut = run_for(&f, c.n - k, &now);
        CHECK_INT(now.n, c.n - k + 1);
        // the values are there, not all that is said about them
        CHECK(cut.is_interrupted && cut.stop == whole.stop);
        CHECK(is_same(cut.entry[0].value, whole.entry[0].value));
    }
    clear(&f);
}

/// A fit of the toss from a file that is not its own.
static void check_refused(fixture *f, const cri_journal_def *def, const char *words) {
    f->problem.checkpoint = def;
    cri_fit fit;
    cr_error err = {0};
    CHECK(cri_fit_run(&f->problem, f->arena, &fit, &err) != CR_OK);
    if (!strstr(err.text, words) || !strstr(err.text, "journal_test.ck")) {
        cr_test_fail("\"%s\" lacks \"%s\"", err.text, words);
    }
}

TEST(a_checkpoint_of_another_fit_is_refused) {
    fixture f;
    open_edge(&f, 0.01, 1);
    f.problem.checkpoint = &saved;
    remove(file);
    counter c;
    run_for(&f, 5, &c);
    static const char *const words[] = {"another scene", "another recording", "another option"};
    for (int i = 0; i < CRI_JOURNAL_N_PART; i++) {
        cri_journal_def other = saved;
        other.label = "box.xml with other.csv";
        other.part[i]++;
        check_refused(&f, &other, words[i]);
        check_refused(&f, &other, "toss.xml with made.csv");
        check_refused(&f, &other, "box.xml with other.csv");
    }
    // numbers that say they are of this fit, and are not
    f.problem.loss = CRI_LOSS_CAUCHY;
    check_refused(&f, &saved, "does not go with this fit");
    double zero = 0.0;
    cri_checkpoint_array array = {"x", &zero, NULL, 1, 1};
    CHECK_INT(cri_checkpoint_write(file, 5, 1, &array, NULL), CR_OK);
    check_refused(&f, &saved, "other work than toss.xml");
    remove(file);
    clear(&f);
}

static const char folder[] = CAROM_BINARY_DIR "/journal_test";
static const char inside[] = CAROM_BINARY_DIR "/journal_test/fit.ck";

/// Takes the folder away after some time.
static bool take_away(void *context, const cri_progress_state *state) {
    (void)state;
    int *left = context;
    if (--*left == 0) {
        CHECK_INT(remove(inside), 0);
        CHECK_INT(remove(folder), 0);
    }
    return true;
}

TEST(a_checkpoint_that_cannot_be_written_keeps_the_fit) {
    fixture f;
    open_edge(&f, 0.01, 1);
    const cri_journal_def def = {inside, "a with b", {1, 2, 3}};
    f.problem.checkpoint = &def;
    cri_fit fit;
    cr_error err = {0};
    CHECK(cri_fit_run(&f.problem, f.arena, &fit, &err) != CR_OK);
    CHECK(strstr(err.text, "journal_test/fit.ck") != NULL);

    assert_int_equal(mkdir(folder, 0777), 0);
    int left = 3;
    cri_progress progress = {take_away, &left};
    f.problem.progress = &progress;
    fit = run(&f);
    CHECK(fit.is_interrupted && fit.stop == CRI_LSQ_STOPPED);
    CHECK(fit.unsaved.status != CR_OK && strstr(fit.unsaved.text, "journal_test/fit.ck"));
    CHECK(isfinite(fit.entry[0].value) && fit.n_iteration > 0);
    clear(&f);
}

CR_TEST_MAIN(a_fit_goes_on_within_stages_restarts_and_what_is_held_out,
             a_fit_goes_on_within_the_search_for_plateaus, the_search_for_plateaus_stops_when_told,
             a_checkpoint_of_another_fit_is_refused,
             a_checkpoint_that_cannot_be_written_keeps_the_fit)
