// SPDX-License-Identifier: MIT
//
// Checkpoints: what is written comes back to the last bit, and nothing else is taken for it.

#include "base/io/checkpoint.h"

#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME CAROM_BINARY_DIR "/checkpoint_test.ck"

typedef struct numbers {
    double real[4];
    int64_t whole[3];
    double history[8];
    int64_t n_history;
} numbers;

static int list(numbers *n, cri_checkpoint_array *array) {
    array[0] = (cri_checkpoint_array){"real", n->real, NULL, 4, 4};
    array[1] = (cri_checkpoint_array){"whole", NULL, n->whole, 3, 3};
    array[2] = (cri_checkpoint_array){"history", n->history, NULL, n->n_history, 8};
    return 3;
}

static numbers some(void) {
    return (numbers){.real = {0.1, -0.0, INFINITY, 5e-324},
                     .whole = {-1, INT64_MAX, 7},
                     .history = {3.0, 2.0, 1.0},
                     .n_history = 3};
}

static void save(uint64_t problem) {
    numbers n = some();
    cri_checkpoint_array array[3];
    assert_int_equal(cri_checkpoint_write(FILE_NAME, problem, list(&n, array), array, NULL), CR_OK);
}

TEST(numbers_come_back_to_the_last_bit) {
    save(42);
    numbers want = some();
    numbers got = {.n_history = 0};
    cri_checkpoint_array array[3];
    int n = list(&got, array);
    CHECK(cri_checkpoint_exists(FILE_NAME));
    CHECK_INT(cri_checkpoint_read(FILE_NAME, 42, n, array, NULL), CR_OK);
    CHECK(memcmp(got.real, want.real, sizeof want.real) == 0);
    CHECK(memcmp(got.whole, want.whole, sizeof want.whole) == 0);
    CHECK(memcmp(got.history, want.history, sizeof want.history) == 0);
    CHECK_INT(array[2].n, 3);
    remove(FILE_NAME);
    CHECK(!cri_checkpoint_exists(FILE_NAME));
}

// reading fails with a text, and changes nothing
static void check_refused(uint64_t problem, int n_array, cri_checkpoint_array *array,
                          const numbers *n, const char *part) {
    numbers before = *n;
    cr_error err = {0};
    CHECK(cri_checkpoint_read(FILE_NAME, problem, n_array, array, &err) != CR_OK);
    if (!CHECK(strstr(err.text, part) != NULL)) {
        cr_test_fail("%s", err.text);
    }
    CHECK(memcmp(&before, n, sizeof before) == 0);
}

TEST(other_problems_and_other_arrays_are_refused) {
    save(42);
    numbers n = some();
    cri_checkpoint_array array[3];
    int n_array = list(&n, array);
    check_refused(43, n_array, array, &n, "another scene");
    check_refused(42, n_array - 1, array, &n, "another scene");
    array[2].n_most = 2;
    check_refused(42, n_array, array, &n, "another scene");
    list(&n, array);
    array[0].name = "rael";
    check_refused(42, n_array, array, &n, "another scene");
    list(&n, array);
    array[1] = (cri_checkpoint_array){"whole", n.real, NULL, 3, 3};
    check_refused(42, n_array, array, &n, "another scene");
    remove(FILE_NAME);
    check_refused(42, n_array, array, &n, "no such file");
}

TEST(damage_is_noticed_at_every_byte_and_length) {
    save(42);
    unsigned char bytes[1024];
    FILE *file = fopen(FILE_NAME, "rb");
    assert_non_null(file);
    size_t n_byte = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(n_byte > 100 && n_byte < sizeof bytes);
    numbers n = some();
    cri_checkpoint_array array[3];
    for (size_t i = 0; i < 2 * n_byte; i++) {
        bool is_cut = i >= n_byte;
        file = fopen(FILE_NAME, "wb");
        assert_non_null(file);
        bytes[i % n_byte] ^= is_cut ? 0 : 0x10;
        fwrite(bytes, 1, is_cut ? i - n_byte : n_byte, file);
        bytes[i % n_byte] ^= is_cut ? 0 : 0x10;
        fclose(file);
        cr_error err = {0};
        CHECK(cri_checkpoint_read(FILE_NAME, 42, list(&n, array), array, &err) != CR_OK);
        CHECK(strstr(err.text, "checkpoint") != NULL);
    }
    remove(FILE_NAME);
}

TEST(a_full_disk_leaves_the_old_file) {
    numbers n = some();
    cri_checkpoint_array array[3];
    int n_array = list(&n, array);
    cr_error err = {0};
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        SKIP("there is no /dev/full");
    }
    fclose(full);
    CHECK_INT(cri_checkpoint_write("/dev/full", 1, n_array, array, &err), CR_ERR_FILE);
    CHECK(strstr(err.text, "/dev/full") != NULL);
    CHECK_INT(cri_checkpoint_write("/nowhere/at/all", 1, n_array, array, &err), CR_ERR_FILE);
}

CR_TEST_MAIN(numbers_come_back_to_the_last_bit, other_problems_and_other_arrays_are_refused,
             damage_is_noticed_at_every_byte_and_length, a_full_disk_leaves_the_old_file)
