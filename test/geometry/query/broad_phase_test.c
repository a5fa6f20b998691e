// SPDX-License-Identifier: MIT
//
// Pairs of overlapping boxes, against comparing all with all.

#include "geometry/query/broad_phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_wrap.h"
#include "support/cr_test.h"

enum { MAX_SMALL = 300 };

// what the callback saw
typedef struct found {
    int n;
    int n_wrong; // not i < j, or out of range, or seen before
    int stop_at; // ends the search at this call, 0: never
    unsigned long long hash;
    unsigned char seen[MAX_SMALL][MAX_SMALL];
} found;

static bool note(void *context, int i, int j) {
    found *f = context;
    bool is_good = 0 <= i && i < j && j < MAX_SMALL && !f->seen[i][j];
    f->n_wrong += !is_good;
    if (is_good) {
        f->seen[i][j] = 1;
    }
    // the order counts, too
    f->hash = (f->hash ^ (unsigned long long)(i * MAX_SMALL + j)) * 1099511628211ULL;
    f->n++;
    return f->n != f->stop_at;
}

static bool count(void *context, int i, int j) {
    (void)i;
    (void)j;
    ++*(long long *)context;
    return true;
}

static bool is_pair(const cri_box3 *a, const cri_box3 *b) {
    for (int axis = 0; axis < 3; axis++) {
        if (!(a->lower[axis] <= b->upper[axis]) || !(b->lower[axis] <= a->upper[axis])) {
            return false;
        }
    }
    return true;
}

// returns the number of pairs
static int check_set(const char *name, int n, const cri_box3 *box, const int *group,
                     cr_arena *scratch) {
    found *f = calloc(1, sizeof *f);
    found *again = calloc(1, sizeof *again);
    int n_pair = 0;
    CHECK(cri_broad_phase(n, box, group, note, f, scratch));
    CHECK(cri_broad_phase(n, box, group, note, again, scratch));
    CHECK(f->hash == again->hash);
    CHECK_INT(f->n_wrong, 0);
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            bool is_apart = group && group[i] >= 0 && group[i] == group[j];
            bool is_wanted = !is_apart && is_pair(&box[i], &box[j]);
            n_pair += is_wanted;
            if (f->seen[i][j] != is_wanted) {
                cr_test_fail("%s: boxes %d and %d of %d: %s", name, i, j, n,
                             is_wanted ? "missed" : "too many");
            }
        }
    }
    free(f);
    free(again);
    return n_pair;
}

static cri_box3 random_box(cr_test_rng *rng, double smallest, double largest) {
    cri_box3 b;
    double size = smallest * pow(largest / smallest, cr_test_uniform(rng, 0.0, 1.0));
    for (int axis = 0; axis < 3; axis++) {
        double c = cr_test_uniform(rng, -1.0, 1.0);
        double half = size * cr_test_uniform(rng, 0.2, 1.0);
        b.lower[axis] = c - half;
        b.upper[axis] = c + half;
    }
    return b;
}

TEST(random_boxes_give_the_pairs_of_all_with_all) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    cr_test_rng rng = cr_test_rng_of(1);
    cri_box3 box[MAX_SMALL];
    int group[MAX_SMALL];
    int n_all = 0;
    for (int run = 0; run < 200; run++) {
        int n = run < 40 ? run : (int)cr_test_uniform(&rng, 2.0, MAX_SMALL);
        for (int i = 0; i < n; i++) {
            // sizes over three decades
            box[i] = random_box(&rng, 1e-3, 1.0);
            group[i] = (int)cr_test_uniform(&rng, -2.0, 4.0);
        }
        n_all += check_set("random", n, box, NULL, scratch);
        n_all += check_set("groups", n, box, group, scratch);
    }
    // enough of them for the comparison to mean something
    CHECK(n_all > 10000);
    cri_arena_destroy(scratch);
}

TEST(boxes_that_touch_overlap) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    // a grid of 6^3 unit cubes: integers are exact, neighbours touch at faces, edges and corners
    cri_box3 box[216];
    for (int i = 0; i < 216; i++) {
        int at[3] = {i % 6, i / 6 % 6, i / 36};
        for (int axis = 0; axis < 3; axis++) {
            box[i].lower[axis] = at[axis];
            box[i].upper[axis] = at[axis] + 1;
        }
    }
    // of 6^2 ordered pairs along an axis 16 are neighbours or equal; minus the box itself, halved
    CHECK_INT(check_set("grid", 216, box, NULL, scratch), (16 * 16 * 16 - 216) / 2);

    // flat boxes and points touch as well
    cri_box3 flat[3] = {{{0, 0, 0}, {1, 1, 0}}, {{1, 1, 0}, {1, 1, 0}}, {{1, 1, 0}, {2, 2, 2}}};
    CHECK_INT(check_set("flat", 3, flat, NULL, scratch), 3);
    // the next double above 1 does not
    flat[2].lower[0] = nextafter(1.0, 2.0);
    CHECK_INT(check_set("flat, apart", 3, flat, NULL, scratch), 1);
    cri_arena_destroy(scratch);
}

TEST(infinite_boxes_meet_what_they_reach) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    cr_test_rng rng = cr_test_rng_of(2);
    cri_box3 box[MAX_SMALL];
    int group[MAX_SMALL];
    int n_all = 0;
    for (int run = 0; run < 100; run++) {
        // in the last runs all of them are
        double part = run < 80 ? 0.1 : 1.0;
        for (int i = 0; i < 120; i++) {
            box[i] = random_box(&rng, 1e-2, 0.3);
            group[i] = -1;
            if (cr_test_uniform(&rng, 0.0, 1.0) >= part) {
                continue;
            }
            group[i] = i % 3 - 1;
            for (int axis = 0; axis < 3; axis++) {
                int side = (int)cr_test_uniform(&rng, 0.0, 4.0);
                box[i].lower[axis] = side & 1 ? -INFINITY : box[i].lower[axis];
                box[i].upper[axis] = side & 2 ? INFINITY : box[i].upper[axis];
            }
        }
        n_all += check_set("infinite", 120, box, NULL, scratch);
        n_all += check_set("infinite, groups", 120, box, group, scratch);
    }
    CHECK(n_all > 10000);

    // a floor below everything, one that holds everything, and nothing at all
    const cri_box3 floor = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, -9.0}};
    const cri_box3 space = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    const cri_box3 nothing = {{NAN, 0.0, 0.0}, {1.0, NAN, 1.0}};
    box[0] = floor;
    box[1] = space;
    box[2] = nothing;
    for (int i = 3; i < 50; i++) {
        box[i] = random_box(&rng, 1e-6, 1e-5);
    }
    int n_pair = check_set("floor", 50, box, NULL, scratch);
    // space meets the floor and the 47 small ones
    CHECK(n_pair >= 48 && n_pair < 48 + 47);
    cri_arena_destroy(scratch);
}

TEST(equal_boxes_all_meet) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    cri_box3 box[100];
    int group[100];
    for (int i = 0; i < 100; i++) {
        box[i] = (cri_box3){{-1, 2, 3}, {1, 4, 5}};
        group[i] = 7;
    }
    CHECK_INT(check_set("equal", 100, box, NULL, scratch), 100 * 99 / 2);
    CHECK_INT(check_set("one group", 100, box, group, scratch), 0);
    long long n_test = 0;
    long long n_pair = 0;
    CHECK(cri_broad_phase_counted(100, box, group, count, &n_pair, scratch, &n_test));
    // a group is passed over as a whole
    CHECK_INT(n_test, 0);

    // huge coordinates, whose sums overflow
    for (int i = 0; i < 100; i++) {
        box[i] = (cri_box3){{1.5e308, -1.7e308, 0}, {1.6e308, 1.7e308, i % 2}};
    }
    CHECK_INT(check_set("huge", 100, box, NULL, scratch), 100 * 99 / 2);
    cri_arena_destroy(scratch);
}

// boxes of n equal spheres that fill a cube to about a third, or with sizes over three decades
static long long comparisons(int n, bool is_equal, bool has_floor, cr_arena *scratch,
                             long long *n_pair) {
    cr_test_rng rng = cr_test_rng_of((uint64_t)n);
    cri_box3 *box = malloc((size_t)n * sizeof *box);
    // n spheres of this radius have a third of the volume of the unit cube
    double radius = 0.43 * pow(n, -1.0 / 3.0);
    for (int i = 0; i < n; i++) {
        double decade = is_equal ? 0.0 : 3.0 * cr_test_uniform(&rng, -1.0, 0.0);
        double half = radius * pow(10.0, decade);
        for (int axis = 0; axis < 3; axis++) {
            double c = cr_test_uniform(&rng, 0.0, 1.0);
            box[i].lower[axis] = c - half;
            box[i].upper[axis] = c + half;
        }
    }
    if (has_floor) {
        box[n / 2] = (cri_box3){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, 0.0}};
    }
    long long n_test = 0;
    *n_pair = 0;
    CHECK(cri_broad_phase_counted(n, box, NULL, count, n_pair, scratch, &n_test));
    free(box);
    return n_test;
}

TEST(comparisons_grow_like_n_log_n) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    for (int kind = 0; kind < 4; kind++) {
        double before = 0.0;
        for (int n = 1000; n <= 8000; n *= 2) {
            long long n_pair = 0;
            double ratio = (double)comparisons(n, kind & 1, kind & 2, scratch, &n_pair);
            ratio /= n * log2(n);
            if (cr_test_tolerance_scale() == 0.0) {
                print_message("kind %d n %d: %.3f n log2 n comparisons, %.2f n pairs\n", kind, n,
                              ratio, (double)n_pair / n);
            }
            // a sweep along one axis grows by 2^(2/3) here, all with all by 2; n log n not at all,
            // but for the surface of the cube, which is a part of 6 n^(-1/3) of it
            CHECK(before == 0.0 || ratio < 1.15 * before);
            // 2.2 were measured
            CHECK(ratio < 3.0);
            before = ratio;
        }
    }
    cri_arena_destroy(scratch);
}

TEST(the_callback_ends_the_search) {
    cr_arena *scratch = cri_arena_create(1 << 10);
    cri_box3 box[20];
    found *f = calloc(1, sizeof *f);
    for (int i = 0; i < 20; i++) {
        // every fourth one is infinite, so that all ways of finding a pair are ended once
        box[i] = (cri_box3){{0, 0, 0}, {1, 1, i % 4 == 0 ? INFINITY : 1.0}};
    }
    for (int stop = 1; stop <= 190; stop++) {
        *f = (found){.stop_at = stop};
        CHECK(!cri_broad_phase(20, box, NULL, note, f, scratch));
        CHECK_INT(f->n, stop);
    }
    *f = (found){.stop_at = 191};
    CHECK(cri_broad_phase(20, box, NULL, note, f, scratch));
    CHECK_INT(f->n, 190);
    free(f);
    cri_arena_destroy(scratch);
}

TEST(without_memory_there_is_no_search) {
    cr_test_rng rng = cr_test_rng_of(3);
    cri_box3 box[200];
    for (int i = 0; i < 200; i++) {
        box[i] = random_box(&rng, 0.1, 1.0);
    }
    int n_failed = 0;
    for (long k = 1;; k++) {
        cr_arena *scratch = cri_arena_create(16);
        long long n_pair = 0;
        cr_alloc_fail_at(k);
        bool is_done = cri_broad_phase(200, box, NULL, count, &n_pair, scratch);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK(is_done == !has_failed);
        CHECK(is_done == (n_pair > 0));
        cri_arena_destroy(scratch);
        if (!has_failed) {
            break;
        }
        n_failed++;
    }
    CHECK(n_failed > 0);
}

TEST(the_announced_room_is_enough) {
    cri_box3 box[200];
    memset(box, 0, sizeof box);
    for (int n = 0; n <= 200; n++) {
        cr_arena *scratch = cri_arena_create(0);
        long long n_pair = 0;
        CHECK(cri_arena_reserve(scratch, cri_broad_phase_bytes(n)));
        long before = cr_alloc_count();
        CHECK(cri_broad_phase(n, box, NULL, count, &n_pair, scratch));
        CHECK_INT(cr_alloc_count(), before);
        CHECK_INT(n_pair, n * (n - 1) / 2);
        cri_arena_destroy(scratch);
    }
}

CR_TEST_MAIN(random_boxes_give_the_pairs_of_all_with_all, boxes_that_touch_overlap,
             infinite_boxes_meet_what_they_reach, equal_boxes_all_meet,
             comparisons_grow_like_n_log_n, the_callback_ends_the_search,
             without_memory_there_is_no_search, the_announced_room_is_enough)
