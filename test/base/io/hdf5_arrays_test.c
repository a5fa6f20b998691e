// SPDX-License-Identifier: MIT
//
// Named arrays as HDF5 files: there and back, damaged, and without memory. Needs WRAP.

#include "base/io/hdf5_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "support/alloc_wrap.h"
#include "support/cr_test.h"

static const char *const path = "hdf5_arrays_test.h5";

static char w_name[] = "net/1/w", b_name[] = "net/1/b", m_name[] = "mass", e_name[] = "net/none";
static char kind[] = "central-difference";
static double w_value[6] = {1.0 / 3.0, -0.0, 5e-324, 1e308, 0.1, 2.0}, b_value[2] = {3.0, 4.0};
static double m_value[1] = {0.5};

static cri_array arrays[4] = {{.name = w_name, .rank = 2, .extent = {2, 3}, .value = w_value},
                              {.name = b_name, .rank = 1, .extent = {2}, .value = b_value},
                              {.name = m_name, .rank = 1, .extent = {1}, .value = m_value},
                              {.name = e_name, .rank = 3, .extent = {2, 0, 4}, .value = m_value}};

static cr_status write_sample(cr_error *err) {
    cri_array_text text[2] = {{"kind", kind}, {"left out", NULL}};
    return cri_arrays_write(
        path,
        &(cri_array_file){
            .format = "carom weights 1", .n_array = 4, .array = arrays, .n_text = 2, .text = text},
        err);
}

#ifndef CAROM_HAS_HDF5

TEST(a_build_without_hdf5_says_so) {
    cr_error err = {0};
    CHECK_INT(write_sample(&err), CR_ERR_UNSUPPORTED);
    cri_array_file content = {.format = "carom weights 1"};
    CHECK_INT(cri_arrays_parse("x", 1, path, &content, &err), CR_ERR_UNSUPPORTED);
    cri_arrays_clear(&content);
    SKIP("the rest: libhdf5-dev is missing");
}

CR_TEST_MAIN(a_build_without_hdf5_says_so)

#else

static void check_arrays(const cri_array_file *c) {
    CHECK_INT(c->n_array, 4);
    for (int i = 0; i < c->n_array; i++) {
        const cri_array *a = &c->array[i];
        size_t n = 1;
        CHECK_TEXT(a->name, arrays[i].name);
        CHECK_INT(a->rank, arrays[i].rank);
        for (int k = 0; k < a->rank; k++) {
            CHECK_INT(a->extent[k], arrays[i].extent[k]);
            n *= (size_t)a->extent[k];
        }
        CHECK(memcmp(a->value, arrays[i].value, n * sizeof *a->value) == 0);
    }
    CHECK(cri_arrays_find(c, "mass") == &c->array[2]);
    CHECK(cri_arrays_find(c, "net/1") == NULL);
}

TEST(arrays_and_texts_come_back) {
    cr_error err = {0};
    CHECK_INT(write_sample(&err), CR_OK);
    cri_array_text text[2] = {{"kind", NULL}, {"left out", NULL}};
    cri_array_file c = {.format = "carom weights 1", .n_text = 2, .text = text};
    CHECK_INT(cri_arrays_read(path, &c, &err), CR_OK);
    check_arrays(&c);
    CHECK_TEXT(text[0].text, kind);
    CHECK(!text[1].text);
    cri_arrays_clear(&c);
    CHECK(!c.array && !text[0].text);
}

TEST(equal_content_gives_equal_bytes) {
    char *bytes[2] = {NULL, NULL};
    size_t n[2] = {0, 1};
    cr_error err = {0};
    for (int k = 0; k < 2; k++) {
        CHECK_INT(write_sample(&err), CR_OK);
        CHECK_INT(cri_file_read(path, &bytes[k], &n[k], &err), CR_OK);
    }
    CHECK(n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0);
    free(bytes[0]);
    free(bytes[1]);
}

TEST(other_files_are_refused) {
    cr_error err = {0};
    CHECK_INT(write_sample(&err), CR_OK);
    cri_array_file c = {.format = "carom weights 2"};
    CHECK_INT(cri_arrays_read(path, &c, &err), CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "the format is 'carom weights 1', expected 'carom weights 2'"));
    cri_arrays_clear(&c);
    CHECK_INT(cri_arrays_parse("t,y\n", 4, "x.h5", &c, &err), CR_ERR_SYNTAX);
    cri_arrays_clear(&c);
    CHECK_INT(cri_arrays_read("no such file.h5", &c, &err), CR_ERR_FILE);
    cri_arrays_clear(&c);
    CHECK_INT(cri_arrays_write("no such folder/x.h5", &(cri_array_file){.format = "f"}, &err),
              CR_ERR_FILE);
    w_value[0] = NAN;
    c.format = "carom weights 1";
    CHECK_INT(write_sample(&err), CR_OK);
    CHECK_INT(cri_arrays_read(path, &c, &err), CR_ERR_SYNTAX);
    CHECK(strstr(err.text, "'net/1/w' has a number that is not finite"));
    cri_arrays_clear(&c);
    w_value[0] = 1.0 / 3.0;
}

TEST(damaged_files_are_refused_or_read_as_they_were) {
    char *bytes = NULL;
    size_t n = 0;
    cr_error err = {0};
    CHECK_INT(write_sample(&err), CR_OK);
    CHECK_INT(cri_file_read(path, &bytes, &n, &err), CR_OK);
    for (size_t i = 0; i < n; i += 5) {
        cri_array_file c = {.format = "carom weights 1"};
        bytes[i] = (char)(bytes[i] ^ 0x41);
        // a flipped byte may lie where nothing is
        if (cri_arrays_parse(bytes, n, path, &c, &err) == CR_OK) {
            check_arrays(&c);
        }
        cri_arrays_clear(&c);
        bytes[i] = (char)(bytes[i] ^ 0x41);
    }
    for (size_t i = 0; i < n; i += 97) {
        cri_array_file c = {.format = "carom weights 1"};
        CHECK(cri_arrays_parse(bytes, i, path, &c, &err) != CR_OK);
        cri_arrays_clear(&c);
    }
    free(bytes);
}

TEST(lack_of_memory_is_told) {
    cr_error err = {0};
    for (long k = 1; k < 1000; k++) {
        cri_array_text text = {"kind", NULL};
        cri_array_file c = {.format = "carom weights 1", .n_text = 1, .text = &text};
        long live = cr_alloc_live();
        cr_alloc_fail_at(k);
        cr_status status = write_sample(&err);
        if (status == CR_OK) {
            status = cri_arrays_read(path, &c, &err);
        }
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        cri_arrays_clear(&c);
        CHECK_INT(cr_alloc_live(), live);
        CHECK(has_failed ? status != CR_OK : status == CR_OK);
        if (!has_failed) {
            break;
        }
    }
    remove(path);
}

CR_TEST_MAIN(arrays_and_texts_come_back, equal_content_gives_equal_bytes, other_files_are_refused,
             damaged_files_are_refused_or_read_as_they_were, lack_of_memory_is_told)

#endif
