// SPDX-License-Identifier: MIT
//
// Motions as HDF5 files: there and back, damaged, foreign, and without memory. Needs WRAP.

#include "base/io/hdf5_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_wrap.h"
#include "support/cr_test.h"

enum { N_ROW = 5, N_Q = 3, N_V = 2, N_U = 1 };

static const char *const q_name[] = {"ball/qpos[0]", "ball/qpos[1]", "h\xc3\xa4nger/qpos"};
static const char *const v_name[] = {"ball/qvel[0]", "v"};
static const char *const u_name[] = {"ball/force[0]"};
static const double time[N_ROW] = {0.0, 0.005, 0.01, 0.015, 0.02};

// numbers that CSV finds hard: no short decimal, tiny, huge, signed zero
static const double q_value[N_ROW * N_Q] = {1.0 / 3.0, -0.0, 5e-324, 1e308, 0.1, 2.0,  3.0, 4.0,
                                            5.0,       6.0,  7.0,    1e-17, 9.0, 10.0, 11.0};
static const double v_value[N_ROW * N_V] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const double u_value[N_ROW * N_U] = {-1, -2, -3, -4, -5};

static cri_track sample(void) {
    return (cri_track){
        .n_row = N_ROW,
        .time = time,
        .part = {{N_Q, q_value, q_name}, {N_V, v_value, v_name}, {N_U, u_value, u_name}},
        .scene = "scene.xml",
        .law = "ncp",
        .dt = 0.005,
    };
}

TEST(names_and_signatures) {
    CHECK(cri_hdf5_is_name("run.h5"));
    CHECK(cri_hdf5_is_name("a/b.hdf5"));
    CHECK(!cri_hdf5_is_name(".h5"));
    CHECK(!cri_hdf5_is_name("run.csv"));
    CHECK(!cri_hdf5_is_name("h5"));
    CHECK(!cri_hdf5_is_name(""));
    CHECK(cri_hdf5_is_file("\x89HDF\r\n\x1a\n...", 11));
    CHECK(!cri_hdf5_is_file("\x89HDF\r\n\x1a\n", 7));
    CHECK(!cri_hdf5_is_file("t,ball/qpos[0]\n", 15));
}

#ifndef CAROM_HAS_HDF5

TEST(a_build_without_hdf5_says_so) {
    cri_track motion = sample();
    char *bytes = (char *)1;
    size_t n_byte = 1;
    cr_error err = {0};
    CHECK_INT(cri_hdf5_make(&motion, "run.h5", &bytes, &n_byte, &err), CR_ERR_UNSUPPORTED);
    CHECK(!bytes && n_byte == 0);
    CHECK(strstr(err.text, "run.h5: this carom was built without HDF5"));
    cri_table t;
    CHECK_INT(cri_hdf5_parse("x", 1, "run.h5", &t, &err), CR_ERR_UNSUPPORTED);
    CHECK_INT(t.n_row, 0);
    SKIP("the rest: libhdf5-dev is missing");
}

CR_TEST_MAIN(names_and_signatures, a_build_without_hdf5_says_so)

#else

#include "base/io/hdf5_api.h"

// here the library is linked as usual, and its constants open it
#undef H5OPEN
#define H5OPEN H5open(),

static char *make(const cri_track *motion, size_t *n_byte) {
    char *bytes = NULL;
    cr_error err = {0};
    if (!CHECK_INT(cri_hdf5_make(motion, "run.h5", &bytes, n_byte, &err), CR_OK)) {
        print_message("%s\n", err.text);
    }
    return bytes;
}

TEST(a_motion_comes_back_bit_by_bit) {
    cri_track motion = sample();
    size_t n_byte = 0;
    char *bytes = make(&motion, &n_byte);
    CHECK(cri_hdf5_is_file(bytes, n_byte));
    cri_table t;
    cr_error err = {0};
    CHECK_INT(cri_hdf5_parse(bytes, n_byte, "run.h5", &t, &err), CR_OK);
    CHECK_INT(t.n_row, N_ROW);
    CHECK_INT(t.n_col, 1 + N_Q + N_V);
    CHECK_INT(t.n_comment, 0);
    CHECK_TEXT(t.name[0], "t");
    for (int i = 0; i < N_Q; i++) {
        CHECK_TEXT(t.name[1 + i], q_name[i]);
    }
    for (int i = 0; i < N_V; i++) {
        CHECK_TEXT(t.name[1 + N_Q + i], v_name[i]);
    }
    for (int k = 0; k < N_ROW; k++) {
        const double *row = t.value + (size_t)k * (size_t)t.n_col;
        CHECK(memcmp(row, time + k, sizeof *row) == 0);
        CHECK(memcmp(row + 1, q_value + (size_t)k * N_Q, N_Q * sizeof *row) == 0);
        CHECK(memcmp(row + 1 + N_Q, v_value + (size_t)k * N_V, N_V * sizeof *row) == 0);
        CHECK_INT(t.line[k], 0);
    }
    cri_table_clear(&t);
    free(bytes);
}

// opens the bytes with HDF5 itself
static hid_t open_bytes(char *bytes, size_t n_byte) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    H5Pset_file_image(access, bytes, n_byte);
    hid_t file = H5Fopen("/dev/null/test", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

static void check_text(hid_t file, const char *name, const char *expected) {
    char text[64] = {0};
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    CHECK(H5Tget_size(type) < sizeof text);
    CHECK(H5Aread(attribute, type, text) >= 0);
    CHECK_TEXT(text, expected);
    H5Tclose(type);
    H5Aclose(attribute);
}

TEST(the_file_has_what_the_header_says) {
    cri_track motion = sample();
    size_t n_byte = 0;
    char *bytes = make(&motion, &n_byte);
    hid_t file = open_bytes(bytes, n_byte);
    check_text(file, "format", "carom trajectory 1");
    check_text(file, "scene", "scene.xml");
    check_text(file, "law", "ncp");
    double dt = 0.0;
    hid_t attribute = H5Aopen(file, "dt", H5P_DEFAULT);
    CHECK(H5Aread(attribute, H5T_NATIVE_DOUBLE, &dt) >= 0);
    CHECK(dt == 0.005);
    H5Aclose(attribute);

    // the control, which tables leave out
    hid_t set = H5Dopen2(file, "ctrl", H5P_DEFAULT);
    double u[N_ROW] = {0};
    CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, u) >= 0);
    CHECK(memcmp(u, u_value, sizeof u) == 0);
    check_text(set, "names", "ball/force[0]");
    H5Dclose(set);
    H5Fclose(file);
    free(bytes);

    motion.part[CRI_MOTION_CTRL].value = NULL;
    bytes = make(&motion, &n_byte);
    file = open_bytes(bytes, n_byte);
    CHECK(H5Lexists(file, "ctrl", H5P_DEFAULT) == 0);
    H5Fclose(file);
    free(bytes);
}

static void check_matrix(hid_t file, const char *name, int n, const double *expected) {
    double value[6] = {0};
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    CHECK(memcmp(value, expected, (size_t)n * sizeof *value) == 0);
    H5Dclose(set);
}

TEST(a_map_has_its_matrices_and_names) {
    const double A[4] = {1.0, 0.1, -0.2, 1.5}, B[2] = {0.25, -3.0};
    const char *const state[2] = {"b/dq", "b/qv"}, *const control[1] = {"push"};
    cri_map map = {2, 1, A, B, state, control, "scene.xml", "cone", 0.01, 7};
    char *bytes = NULL;
    size_t n_byte = 0;
    assert_int_equal(cri_hdf5_make_map(&map, "map.h5", &bytes, &n_byte, NULL), CR_OK);
    hid_t file = open_bytes(bytes, n_byte);
    check_text(file, "format", "carom linearisation 1");
    check_text(file, "scene", "scene.xml");
    check_text(file, "law", "cone");
    check_matrix(file, "A", 4, A);
    check_matrix(file, "B", 2, B);
    hid_t set = H5Dopen2(file, "B", H5P_DEFAULT);
    check_text(set, "names", "push");
    check_text(set, "rows", "b/dqb/qv"); // two strings of four bytes
    H5Dclose(set);
    H5Fclose(file);
    free(bytes);
    // without controls
    map.n_u = 0;
    assert_int_equal(cri_hdf5_make_map(&map, "map.h5", &bytes, &n_byte, NULL), CR_OK);
    file = open_bytes(bytes, n_byte);
    check_matrix(file, "A", 4, A);
    CHECK(H5Lexists(file, "B", H5P_DEFAULT) > 0);
    H5Fclose(file);
    free(bytes);
}

TEST(equal_motions_give_equal_bytes) {
    cri_track motion = sample();
    size_t n_byte[2];
    char *bytes[2] = {make(&motion, &n_byte[0]), make(&motion, &n_byte[1])};
    CHECK(n_byte[0] == n_byte[1] && memcmp(bytes[0], bytes[1], n_byte[0]) == 0);
    free(bytes[0]);
    free(bytes[1]);
}

TEST(long_and_wide_motions) {
    // names of more than 64 KiB, which HDF5 stores in another way, and more than one chunk
    enum { N_WIDE = 5000, N_LONG = 40 };
    static char text[N_WIDE][24];
    static const char *name[N_WIDE];
    static double value[N_LONG * N_WIDE];
    static double t[N_LONG];
    for (int i = 0; i < N_WIDE; i++) {
        snprintf(text[i], sizeof text[i], "body_%d/qpos[%d]", i / 7, i % 7);
        name[i] = text[i];
    }
    for (int k = 0; k < N_LONG; k++) {
        t[k] = k;
        for (int i = 0; i < N_WIDE; i++) {
            value[k * N_WIDE + i] = k + 1e-4 * i;
        }
    }
    cri_track motion = {.n_row = N_LONG, .time = t, .scene = "", .law = "ncp"};
    motion.part[CRI_MOTION_QPOS] = (cri_motion_block){N_WIDE, value, name};
    size_t n_byte = 0;
    char *bytes = make(&motion, &n_byte);
    cri_table back;
    cr_error err = {0};
    CHECK_INT(cri_hdf5_parse(bytes, n_byte, "wide.h5", &back, &err), CR_OK);
    CHECK_INT(back.n_col, N_WIDE + 1);
    CHECK_TEXT(back.name[N_WIDE], name[N_WIDE - 1]);
    int n_wrong = 0;
    for (int k = 0; k < N_LONG && back.n_row == N_LONG; k++) {
        n_wrong += memcmp(back.value + (size_t)k * (N_WIDE + 1) + 1, value + (size_t)k * N_WIDE,
                          N_WIDE * sizeof *value) != 0;
    }
    CHECK_INT(n_wrong, 0);
    cri_table_clear(&back);
    free(bytes);
}

// ---- damage ------------------------------------------------------------------------------------

TEST(a_cut_off_file_is_refused_at_every_length) {
    cri_track motion = sample();
    size_t n_byte = 0;
    char *bytes = make(&motion, &n_byte);
    int n_taken = 0;
    int n_silent = 0;
    for (size_t n = 0; n < n_byte; n += n < 64 ? 1 : 7) {
        // a copy of that length, so that the sanitizer sees who reads beyond
        char *cut = malloc(n + 1);
        memcpy(cut, bytes, n);
        cri_table t = {.n_row = 1};
        cr_error err = {0};
        n_taken += cri_hdf5_parse(cut, n, "cut.h5", &t, &err) == CR_OK;
        n_silent += strncmp(err.text, "cut.h5: ", 8) != 0 || t.value != NULL;
        free(cut);
    }
    CHECK_INT(n_taken, 0);
    CHECK_INT(n_silent, 0);
    free(bytes);
}

TEST(a_wrong_byte_is_refused_or_without_effect) {
    cri_track motion = sample();
    size_t n_byte = 0;
    char *bytes = make(&motion, &n_byte);
    cri_table good;
    CHECK_INT(cri_hdf5_parse(bytes, n_byte, "a.h5", &good, NULL), CR_OK);
    size_t n_number = (size_t)good.n_row * (size_t)good.n_col;
    int n_changed = 0;
    int n_refused = 0;
    for (size_t i = 0; i < n_byte; i += 3) {
        char before = bytes[i];
        bytes[i] = (char)(before ^ (i % 2 ? 0xff : 0x04));
        cri_table t;
        cr_error err = {0};
        if (cri_hdf5_parse(bytes, n_byte, "a.h5", &t, &err) != CR_OK) {
            n_refused++;
        } else if (t.n_row != good.n_row || t.n_col != good.n_col ||
                   memcmp(t.value, good.value, n_number * sizeof(double)) != 0) {
            n_changed++;
        }
        cri_table_clear(&t);
        bytes[i] = before;
    }
    CHECK_INT(n_changed, 0);
    // all that is read has a checksum; the rest is room between
    CHECK(n_refused > (int)n_byte / 3 / 2);
    cri_table_clear(&good);
    free(bytes);
}

// ---- foreign files -----------------------------------------------------------------------------

// a file that another program may have written
typedef struct foreign {
    const char *format; // NULL: none
    hid_t type;         // of time; 0: double
    int time_rank;      // 0: no time
    int n_row;          // of qpos; -1: none
    const char *names;  // one string for all columns, NULL: none
    bool is_one_name;   // names has one string, whatever the columns
    double value;       // of the first number in qpos
} foreign;

static void put_attribute(hid_t owner, const char *name, int n, const char *text) {
    // of variable length, as h5py writes them
    const char *all[] = {text, "b", "c"};
    hsize_t extent = (hsize_t)n;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t space = n > 1 ? H5Screate_simple(1, &extent, NULL) : H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Awrite(attribute, type, all) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static hid_t put_dataset(hid_t file, const char *name, hid_t type, int rank, int n_row,
                         const double *value) {
    hsize_t extent[2] = {(hsize_t)n_row, N_Q};
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    H5Sclose(space);
    return set;
}

// parses such a file; the oldest kind of superblock, as most programs write it
static cr_status parse_foreign(const foreign *f, cri_table *t, cr_error *err) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    hid_t file = H5Fcreate("/dev/null/foreign", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (f->format) {
        put_attribute(file, "format", 1, f->format);
    }
    double value[N_ROW * N_Q];
    memcpy(value, q_value, sizeof value);
    value[0] = f->value;
    if (f->time_rank > 0) {
        const double *data = f->time_rank == 1 ? time : q_value;
        H5Dclose(put_dataset(file, "time", f->type ? f->type : H5T_NATIVE_DOUBLE, f->time_rank,
                             N_ROW, data));
    }
    if (f->n_row >= 0) {
        hid_t set = put_dataset(file, "qpos", H5T_NATIVE_DOUBLE, 2, f->n_row, value);
        if (f->names) {
            put_attribute(set, "names", f->is_one_name ? 1 : N_Q, f->names);
        }
        H5Dclose(set);
    }
    H5Fflush(file, H5F_SCOPE_LOCAL);
    size_t n_byte = (size_t)H5Fget_file_image(file, NULL, 0);
    char *bytes = malloc(n_byte);
    CHECK(H5Fget_file_image(file, bytes, n_byte) == (ssize_t)n_byte);
    H5Fclose(file);
    cr_status status = cri_hdf5_parse(bytes, n_byte, "f.h5", t, err);
    free(bytes);
    return status;
}

static const char format[] = "carom trajectory 1";

TEST(a_foreign_file_with_the_right_contents_is_taken) {
    foreign f = {.format = format, .time_rank = 1, .n_row = N_ROW, .names = "a", .value = 7.0};
    cri_table t;
    cr_error err = {0};
    CHECK_INT(parse_foreign(&f, &t, &err), CR_OK);
    CHECK_TEXT(err.text, "");
    CHECK_INT(t.n_col, 4);
    CHECK_TEXT(t.name[1], "a");
    CHECK_TEXT(t.name[3], "c");
    CHECK(t.value && t.value[1] == 7.0 && t.value[4] == 0.005);
    cri_table_clear(&t);

    // single precision is converted
    f.type = H5T_NATIVE_FLOAT;
    CHECK_INT(parse_foreign(&f, &t, &err), CR_OK);
    CHECK(t.value && t.value[4] == (double)0.005F);
    cri_table_clear(&t);
}

TEST(foreign_files_are_refused_with_a_reason) {
    const struct {
        foreign f;
        const char *text;
    } rows[] = {
        {{NULL, 0, 1, N_ROW, "a", false, 0}, "the attribute 'format' is missing"},
        {{"carom trajectory 2", 0, 1, N_ROW, "a", false, 0}, "format is 'carom trajectory 2'"},
        {{format, 0, 0, N_ROW, "a", false, 0}, "the dataset 'time' is missing"},
        {{format, 0, 2, N_ROW, "a", false, 0}, "'time' is no list of numbers"},
        {{format, H5T_NATIVE_INT, 1, N_ROW, "a", false, 0}, "'time' does not hold floating"},
        {{format, 0, 1, N_ROW - 1, "a", false, 0}, "'qpos' has 4 rows, 'time' has 5"},
        {{format, 0, 1, N_ROW, NULL, false, 0}, "the attribute 'names' is missing"},
        {{format, 0, 1, N_ROW, "a", true, 0}, "'names' has not one string a column"},
        {{format, 0, 1, N_ROW, "b", false, 0}, "two columns have the name 'b'"},
        {{format, 0, 1, N_ROW, "t", false, 0}, "two columns have the name 't'"},
        {{format, 0, 1, N_ROW, "", false, 0}, "a column has no name"},
        {{format, 0, 1, N_ROW, "a", false, NAN}, "'qpos' has a number that is not finite in row 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cri_table t = {.n_row = 1};
        cr_error err = {0};
        CHECK_INT(parse_foreign(&rows[i].f, &t, &err), CR_ERR_SYNTAX);
        if (!CHECK(strncmp(err.text, "f.h5: ", 6) == 0 && strstr(err.text, rows[i].text))) {
            print_message("row %d: %s\n", (int)i, err.text);
        }
        CHECK(t.n_row == 0 && !t.value);
    }
    cri_table t;
    cr_error err = {0};
    CHECK_INT(cri_hdf5_parse("t,x\n0,1\n", 8, "f.h5", &t, &err), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "f.h5: is no HDF5 file, as its name says");
}

TEST(a_library_that_is_missing_or_another_is_refused) {
    cri_hdf5_api h5;
    cr_error err = {0};
    CHECK_INT(cri_hdf5_load_from("libhdf5_nowhere.so.1", "a.h5", &h5, &err), CR_ERR_UNSUPPORTED);
    CHECK(strncmp(err.text, "a.h5: HDF5 cannot be loaded (libhdf5_nowhere.so.1", 49) == 0);
    CHECK(strstr(err.text, "; use CSV, or install HDF5"));

    // NULL is this program with all that it is linked with
    CHECK_INT(cri_hdf5_load_from(NULL, "a.h5", &h5, &err), CR_OK);
    CHECK(h5.Fopen == H5Fopen && h5.file_access == H5P_FILE_ACCESS);

    // one that every program has
    CHECK_INT(cri_hdf5_load_from("libc.so.6", "a.h5", &h5, &err), CR_ERR_UNSUPPORTED);
    CHECK_TEXT(err.text, "a.h5: libc.so.6 is not the HDF5 that carom was built with; use CSV, or "
                         "build again");
}

TEST(without_memory_nothing_is_left) {
    cri_track motion = sample();
    size_t n_byte = 0;
    char *good = make(&motion, &n_byte);
    long live = cr_alloc_live();
    int n_failed = 0;
    bool has_failed = true;
    for (long k = 1; has_failed; k++) {
        char *bytes = NULL;
        size_t n = 0;
        cr_error err = {0};
        cr_alloc_fail_at(k);
        cr_status status = cri_hdf5_make(&motion, "run.h5", &bytes, &n, &err);
        has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(status, has_failed ? CR_ERR_MEMORY : CR_OK);
        CHECK(has_failed == !bytes);
        free(bytes);
        n_failed += has_failed;
        CHECK_INT(cr_alloc_live(), live);
    }
    for (long k = 1; k == 1 || has_failed; k++) {
        cri_table t;
        cr_error err = {0};
        cr_alloc_fail_at(k);
        cr_status status = cri_hdf5_parse(good, n_byte, "run.h5", &t, &err);
        has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(status, has_failed ? CR_ERR_MEMORY : CR_OK);
        cri_table_clear(&t);
        n_failed += has_failed;
        CHECK_INT(cr_alloc_live(), live);
    }
    CHECK(n_failed > 10);
    free(good);
}

CR_TEST_MAIN(names_and_signatures, a_motion_comes_back_bit_by_bit,
             the_file_has_what_the_header_says, a_map_has_its_matrices_and_names,
             equal_motions_give_equal_bytes, long_and_wide_motions,
             a_cut_off_file_is_refused_at_every_length, a_wrong_byte_is_refused_or_without_effect,
             a_foreign_file_with_the_right_contents_is_taken,
             foreign_files_are_refused_with_a_reason,
             a_library_that_is_missing_or_another_is_refused, without_memory_nothing_is_left)

#endif
