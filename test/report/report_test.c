// SPDX-License-Identifier: MIT
//
// Reports: what goes in comes out of the page's data, whatever the texts and numbers are; long runs
// stay small and keep their extremes; files appear whole or not at all. Needs WRAP.

#include "cr_test.h"

#include "alloc_wrap.h"
#include "base/io/file.h"
#include "cr_run.h"
#include "report/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH CAROM_BINARY_DIR "/report_test.html"
#define BEGIN "id=\"data\">"

static const char scene[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
    "<geom name='post' type='box' size='.1 .1 .3' pos='2 0 .3'/>"
    "<body name='ball' pos='0 0 1'><freejoint/><geom name='ball' size='0.1' mass='1'/></body>"
    "</worldbody></mujoco>";

static cri_report *open_report(const char *title) {
    cri_report *report = NULL;
    assert_int_equal(cri_report_create(title, &report, NULL), CR_OK);
    return report;
}

static char *write_text(cri_report *report) {
    cr_error err = {0};
    char *text = NULL;
    size_t n_byte = 0;
    if (!CHECK(cri_report_write(report, PATH, &err) == CR_OK)) {
        cr_test_fail("%s", err.text);
    }
    cri_report_destroy(report);
    assert_int_equal(cri_file_read(PATH, &text, &n_byte, &err), CR_OK);
    remove(PATH);
    return text;
}

/// Writes and releases the report; the data of its page.
static json_t *write_data(cri_report *report) {
    char *text = write_text(report);
    char *begin = strstr(text, BEGIN);
    assert_non_null(begin);
    begin += strlen(BEGIN);
    char *end = strchr(begin, '<');
    assert_non_null(end);
    // nothing in the data could end its element
    CHECK(strncmp(end, "</script>", 9) == 0);
    json_error_t problem;
    json_t *data = json_loadb(begin, (size_t)(end - begin), 0, &problem);
    if (!CHECK(data != NULL)) {
        cr_test_fail("%s at %d", problem.text, problem.position);
    }
    free(text);
    assert_non_null(data);
    return data;
}

static json_t *item(const json_t *object, const char *key, size_t i) {
    json_t *found = json_array_get(json_object_get(object, key), i);
    assert_non_null(found);
    return found;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

// ---- texts and tables --------------------------------------------------------------------------

TEST(texts_come_back_whatever_they_hold) {
    static const char wild[] = "</script><b>&amp; \"quoted\" \\ \n\t\x7f \u00e9\u2192";
    cri_report *report = open_report(wild);
    cri_report_command(report, wild);
    cri_report_fact(report, wild, "%s", wild);
    cri_report_note(report, "%s", wild);
    json_t *data = write_data(report);
    CHECK_TEXT(text_of(data, "format"), "carom report");
    CHECK_INT(number_of(data, "version"), 1);
    CHECK_TEXT(text_of(data, "title"), wild);
    CHECK_TEXT(text_of(data, "command"), wild);
    CHECK_TEXT(text_of(item(data, "facts", 0), "name"), wild);
    CHECK_TEXT(text_of(item(data, "facts", 0), "value"), wild);
    CHECK_TEXT(json_string_value(item(data, "notes", 0)), wild);
    json_decref(data);
}

TEST(texts_that_are_no_utf8_do_not_break_the_page) {
    static const char *const broken[] = {
        "\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        cri_report *report = open_report(broken[i]);
        json_t *data = write_data(report);
        CHECK(strchr(text_of(data, "title"), '?') != NULL);
        json_decref(data);
    }
}

TEST(html_never_holds_a_text_as_markup) {
    cri_report *report = open_report("<i>title");
    cri_report_table(report, "<i>table", 1, &(cri_report_column){.name = "<i>column"});
    cri_report_row(report, &(cri_report_cell){"<i>cell", 0.0});
    cri_report_parameter(
        report, &(cri_report_value){.name = "<i>name", .unit = "<i>unit", .note = "<i>note"});
    char *text = write_text(report);
    CHECK(strstr(text, "<i>") == NULL);
    CHECK(strstr(text, "&lt;i&gt;cell") != NULL);
    free(text);
}

TEST(numbers_that_are_none_become_null) {
    const cri_report_column column[] = {{.name = "a", .kind = CRI_COLUMN_NUMBER},
                                        {.name = "b", .kind = CRI_COLUMN_LOG_BAR}};
    cri_report *report = open_report("numbers");
    cri_report_table(report, "table", 2, column);
    cri_report_row(report, (const cri_report_cell[]){{NULL, NAN}, {NULL, INFINITY}});
    cri_report_row(report, (const cri_report_cell[]){{NULL, -1.5}, {NULL, 0.0}});
    cri_report_row(report, (const cri_report_cell[]){{NULL, 1e300}, {NULL, 1e-300}});
    cri_report_parameter(
        report, &(cri_report_value){
                    .name = "p", .start = INFINITY, .value = 2.0, .error = NAN, .truth = NAN});
    json_t *data = write_data(report);
    const json_t *table = item(data, "tables", 0);
    CHECK(json_is_null(json_array_get(item(table, "rows", 0), 0)));
    CHECK(json_is_null(json_array_get(item(table, "rows", 0), 1)));
    CHECK(json_number_value(json_array_get(item(table, "rows", 1), 0)) == -1.5);
    CHECK(json_number_value(json_array_get(item(table, "rows", 2), 0)) == 1e300);
    const json_t *parameter = item(data, "parameters", 0);
    CHECK(json_is_null(json_object_get(parameter, "start")));
    CHECK(json_is_null(json_object_get(parameter, "error")));
    CHECK(number_of(parameter, "value") == 2.0);
    json_decref(data);
}

// ---- curves ------------------------------------------------------------------------------------

static json_t *series_of(const json_t *data) {
    return item(item(data, "charts", 0), "series", 0);
}

/// A report with n points of two curves: a ramp, and zero but for one point.
static json_t *write_curves(int n, int spike) {
    cri_report *report = open_report("curves");
    int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "t", .unit = "m"});
    int series = cri_report_series(report, chart, 2,
                                   (const cri_report_line[]){{.name = "ramp"}, {.name = "spike"}});
    for (int i = 0; i < n; i++) {
        double y[] = {i, i == spike ? -7.0 : 0.0};
        cri_report_point(report, series, 0.5 * i, y);
    }
    return write_data(report);
}

TEST(short_curves_come_back_point_by_point) {
    json_t *data = write_curves(1000, 10);
    const json_t *series = series_of(data);
    CHECK_INT(json_array_size(json_object_get(series, "x")), 1000);
    const json_t *ramp = item(series, "lines", 0);
    for (size_t i = 0; i < 1000; i++) {
        CHECK(json_number_value(item(series, "x", i)) == 0.5 * (double)i);
        CHECK(json_number_value(item(ramp, "y", i)) == (double)i);
    }
    json_decref(data);
}

TEST(long_curves_stay_small_and_keep_their_extremes) {
    static const int spikes[] = {0, 1, 777, 123456, 999998, 999999};
    for (size_t k = 0; k < sizeof spikes / sizeof *spikes; k++) {
        json_t *data = write_curves(1000000, spikes[k]);
        const json_t *series = series_of(data);
        size_t n = json_array_size(json_object_get(series, "x"));
        CHECK(n <= 2 * CRI_REPORT_POINTS + 2 && n >= CRI_REPORT_POINTS);
        double last = -1.0, low = 0.0, sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            double x = json_number_value(item(series, "x", i));
            double y = json_number_value(item(item(series, "lines", 1), "y", i));
            CHECK(x >= last);
            last = x;
            low = fmin(low, y);
            sum += y;
            // a ramp goes up inside each pair as well
            double ramp = json_number_value(item(item(series, "lines", 0), "y", i));
            CHECK_CLOSE(ramp, 2.0 * x, 1.0, 1e-6); // seven digits
        }
        CHECK(low == -7.0 && sum == -7.0); // one point of it, at any stride
        CHECK_CLOSE(last, 0.5 * 999999, 0.1, 1e-6);
        json_decref(data);
    }
}

TEST(gaps_of_a_curve_stay_gaps) {
    cri_report *report = open_report("gaps");
    int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "t", .is_log = true});
    int series = cri_report_series(report, chart, 1, &(cri_report_line){.name = "a"});
    const double y[] = {1.0, NAN, INFINITY, -INFINITY, 2.0};
    for (int i = 0; i < 5; i++) {
        cri_report_point(report, series, i, &y[i]);
    }
    cri_report_point(report, series, NAN, &y[0]); // nowhere
    json_t *data = write_data(report);
    const json_t *line = item(series_of(data), "lines", 0);
    CHECK_INT(json_array_size(json_object_get(line, "y")), 5);
    for (size_t i = 1; i < 4; i++) {
        CHECK(json_is_null(item(line, "y", i)));
    }
    json_decref(data);
}

// ---- motions -----------------------------------------------------------------------------------

static const json_t *variant_of(const json_t *data) {
    return item(item(data, "motions", 0), "variants", 0);
}

/// A ball that rises by 1 mm a step; each step has one contact of 1 N s.
static json_t *write_motion(int n_step) {
    cr_run run = cr_run_open(scene, NULL, 1, 0.01);
    cri_report *report = open_report("motion");
    cri_report_motion(report, "motion");
    cri_report_variant(report, "one", run.sim);
    cr_contact contact = {.geom = {0, 2}, .point = {0.0, 0.0, 0.1}, .impulse = {0.0, 0.0, 1.0}};
    cri_report_frame(report, 0.0, run.x, 0, NULL);
    for (int k = 1; k <= n_step; k++) {
        run.x[2] = 1.0 + 1e-3 * k;
        cri_report_frame(report, 0.01 * k, run.x, 1, &contact);
    }
    json_t *data = write_data(report);
    cr_run_close(&run);
    return data;
}

TEST(frames_of_a_short_motion_are_all_there) {
    json_t *data = write_motion(50);
    const json_t *variant = variant_of(data);
    CHECK_INT(json_array_size(json_object_get(variant, "time")), 51);
    CHECK_TEXT(json_string_value(item(variant, "bodies", 0)), "ball");
    CHECK_INT(json_array_size(json_object_get(variant, "bodies")), 1);
    CHECK_CLOSE(json_number_value(json_array_get(item(variant, "poses", 50), 2)), 1.05, 0, 1e-6);
    CHECK(json_number_value(json_array_get(item(variant, "poses", 50), 3)) == 1.0);
    // two geoms, point, impulse, impact
    CHECK_INT(json_array_size(item(variant, "contacts", 0)), 0);
    CHECK_INT(json_array_size(item(variant, "contacts", 1)), 9);
    const json_t *ball = item(variant, "geoms", 2);
    CHECK_TEXT(text_of(ball, "kind"), "sphere");
    CHECK_INT(number_of(ball, "body"), 0);
    CHECK_INT(number_of(item(variant, "geoms", 1), "body"), -1);
    CHECK_CLOSE(json_number_value(item(item(variant, "geoms", 1), "pose", 0)), 2.0, 0, 1e-12);
    CHECK_CLOSE(json_number_value(item(ball, "size", 0)), 0.1, 0, 1e-12);
    json_decref(data);
}

TEST(long_motions_stay_small_and_lose_no_impulse) {
    static const int lengths[] = {599, 600, 601, 602, 1199, 1200, 1201, 100000};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int n_step = lengths[k];
        json_t *data = write_motion(n_step);
        const json_t *variant = variant_of(data);
        size_t n = json_array_size(json_object_get(variant, "time"));
        CHECK(n <= CRI_REPORT_FRAMES + 2 && n > CRI_REPORT_FRAMES / 2 - 1);
        CHECK(json_number_value(item(variant, "time", 0)) == 0.0);
        double end = json_number_value(item(variant, "time", n - 1));
        CHECK_CLOSE(end, 0.01 * n_step, 0.0, 1e-6); // seven digits
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            const json_t *contacts = item(variant, "contacts", i);
            sum += json_number_value(json_array_get(contacts, 7)); // 0 where there is none
            double t = json_number_value(item(variant, "time", i));
            double z = json_number_value(json_array_get(item(variant, "poses", i), 2));
            CHECK_CLOSE(z, 1.0 + 0.1 * t, 0.0, 2e-5); // six digits of both
        }
        CHECK_CLOSE(sum, n_step, 0.0, 1e-5);
        json_decref(data);
    }
}

TEST(frames_that_are_not_finite_are_left_out) {
    cr_run run = cr_run_open(scene, NULL, 1, 0.01);
    cri_report *report = open_report("motion");
    cri_report_motion(report, "motion");
    cri_report_marker(report, "target", (const double[]){1.0, NAN, 0.0});
    cri_report_variant(report, "one", run.sim);
    run.x[0] = NAN;
    cri_report_frame(report, 0.0, run.x, 0, NULL);
    run.x[0] = 0.0;
    cri_report_frame(report, NAN, run.x, 0, NULL);
    memset(run.x + 3, 0, 4 * sizeof *run.x); // a quaternion without direction
    cri_report_frame(report, 0.0, run.x, 0, NULL);
    json_t *data = write_data(report);
    CHECK_INT(json_array_size(json_object_get(variant_of(data), "time")), 0);
    CHECK(json_is_null(item(item(item(data, "motions", 0), "markers", 0), "point", 1)));
    json_decref(data);
    cr_run_close(&run);
}

TEST(a_frame_keeps_the_strongest_contacts) {
    cr_run run = cr_run_open(scene, NULL, 1, 0.01);
    cri_report *report = open_report("contacts");
    cri_report_motion(report, "motion");
    cri_report_variant(report, "one", run.sim);
    enum { N = 3 * CRI_REPORT_CONTACTS };
    cr_contact contact[N];
    for (int i = 0; i < N; i++) {
        contact[i] = (cr_contact){.geom = {0, 2}, .impulse = {0.0, 0.0, i % 7 + 1.0}};
    }
    contact[5].impulse[2] = NAN; // dropped
    contact[N / 2].impulse[2] = 100.0;
    cri_report_frame(report, 0.0, run.x, N, contact);
    json_t *data = write_data(report);
    const json_t *list = item(variant_of(data), "contacts", 0);
    CHECK_INT(json_array_size(list), 9 * CRI_REPORT_CONTACTS);
    double largest = 0.0, least = INFINITY;
    for (size_t i = 0; i < CRI_REPORT_CONTACTS; i++) {
        double f = json_number_value(json_array_get(list, 9 * i + 7));
        largest = fmax(largest, f);
        least = fmin(least, f);
    }
    CHECK(largest == 100.0 && least >= 5.0);
    json_decref(data);
    cr_run_close(&run);
}

TEST(a_report_may_be_empty_or_not_wanted) {
    json_t *data = write_data(open_report(""));
    CHECK_INT(json_array_size(json_object_get(data, "motions")), 0);
    json_decref(data);
    data = write_motion(0);
    CHECK_INT(json_array_size(json_object_get(variant_of(data), "time")), 1);
    json_decref(data);

    // nothing happens to NULL
    cri_report_command(NULL, "");
    cri_report_fact(NULL, "", "%s", "");
    cri_report_note(NULL, "%s", "");
    cri_report_table(NULL, "", 1, &(cri_report_column){.name = ""});
    cri_report_row(NULL, NULL);
    cri_report_parameter(NULL, &(cri_report_value){.name = ""});
    CHECK_INT(cri_report_chart(NULL, &(cri_report_chart_def){.title = ""}), -1);
    CHECK_INT(cri_report_series(NULL, -1, 1, &(cri_report_line){.name = ""}), -1);
    cri_report_point(NULL, -1, 0.0, NULL);
    cri_report_motion(NULL, "");
    cri_report_variant(NULL, "", NULL);
    cri_report_frame(NULL, 0.0, NULL, 0, NULL);
    cri_report_marker(NULL, "", NULL);
    cri_report_destroy(NULL);
}

// ---- files -------------------------------------------------------------------------------------

TEST(a_report_that_cannot_be_written_leaves_nothing) {
    cri_report *report = open_report("lost");
    cr_error err = {0};
    CHECK_INT(cri_report_write(report, CAROM_BINARY_DIR "/no/such/folder.html", &err), CR_ERR_FILE);
    CHECK(strstr(err.text, "folder.html") != NULL);
    if (access("/dev/full", W_OK) == 0) {
        CHECK_INT(cri_report_write(report, "/dev/full", &err), CR_ERR_FILE);
        CHECK(strstr(err.text, "/dev/full") != NULL);
    }
    CHECK_INT(cri_report_write(report, CAROM_BINARY_DIR, &err), CR_ERR_FILE);
    cri_report_destroy(report);
}

TEST(a_report_replaces_an_older_one_whole) {
    FILE *old = fopen(PATH, "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    cri_report *report = open_report("new");
    CHECK_INT(cri_report_write(report, PATH, NULL), CR_OK);
    char *text = write_text(report);
    CHECK(strncmp(text, "<!doctype html>", 15) == 0);
    CHECK(strstr(text, "</html>") != NULL);
    free(text);
}

static cr_status fill_and_write(const cr_run *run, cr_error *err) {
    cri_report *report = NULL;
    CR_TRY(cri_report_create("memory", &report, err));
    cri_report_fact(report, "name", "%d", 1);
    cri_report_table(report, "table", 1, &(cri_report_column){.name = "a"});
    cri_report_parameter(report, &(cri_report_value){.name = "p"});
    cri_report_motion(report, "motion");
    cri_report_marker(report, "target", (const double[]){0.0, 0.0, 0.0});
    cri_report_variant(report, "one", run->sim);
    cr_contact contact = {.geom = {0, 2}, .impulse = {0.0, 0.0, 1.0}};
    for (int k = 0; k < 2000; k++) {
        cri_report_frame(report, k, run->x, 1, &contact);
    }
    for (int i = 0; i < 8; i++) {
        int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "t"});
        int series = cri_report_series(report, chart, 1, &(cri_report_line){.name = "a"});
        cri_report_point(report, series, 0.0, (const double[]){1.0});
        cri_report_row(report, &(cri_report_cell){"cell", 0.0});
    }
    cr_status status = cri_report_write(report, PATH, err);
    cri_report_destroy(report);
    return status;
}

TEST(lack_of_memory_is_told_and_leaves_no_file) {
    cr_run run = cr_run_open(scene, NULL, 1, 0.01);
    remove(PATH);
    long live = cr_alloc_live();
    int n_failed = 0;
    for (long k = 1;; k++) {
        cr_error err = {0};
        cr_alloc_fail_at(k);
        cr_status status = fill_and_write(&run, &err);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(cr_alloc_live(), live);
        if (!has_failed) {
            CHECK_INT(status, CR_OK);
            break;
        }
        n_failed++;
        CHECK(status == CR_ERR_MEMORY || status == CR_ERR_FILE);
        CHECK(err.text[0] != '\0');
        CHECK(access(PATH, F_OK) != 0);
    }
    CHECK(n_failed > 4);
    remove(PATH);
    cr_run_close(&run);
}

CR_TEST_MAIN(texts_come_back_whatever_they_hold, texts_that_are_no_utf8_do_not_break_the_page,
             html_never_holds_a_text_as_markup, numbers_that_are_none_become_null,
             short_curves_come_back_point_by_point, long_curves_stay_small_and_keep_their_extremes,
             gaps_of_a_curve_stay_gaps, frames_of_a_short_motion_are_all_there,
             long_motions_stay_small_and_lose_no_impulse, frames_that_are_not_finite_are_left_out,
             a_frame_keeps_the_strongest_contacts, a_report_may_be_empty_or_not_wanted,
             a_report_that_cannot_be_written_leaves_nothing, a_report_replaces_an_older_one_whole,
             lack_of_memory_is_told_and_leaves_no_file)
