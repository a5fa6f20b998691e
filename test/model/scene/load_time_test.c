// SPDX-License-Identifier: MIT
//
// How long robots take to load: the Panda with its eleven collision meshes, and the WAM with eight,
// in less than 20 ms, so that loading is not felt. It is the least of several times of the process,
// which a busy machine lengthens little.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "carom/carom.h"
#include "support/cr_test.h"

#define LIMIT_MS 20.0

enum { N_REPEAT = 20 };

static const char *robot(const char *file) {
    static char path[1000];
    const char *root = getenv("CAROM_SHARED");
    snprintf(path, sizeof path, "%s/data/robots/%s", root ? root : CAROM_SOURCE_DIR "/../shared",
             file);
    return path;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check_time(const char *name, const char *path) {
    double least = INFINITY;
    for (int i = 0; i < N_REPEAT; i++) {
        cr_model *model = NULL;
        cr_error err = {0};
        double start = now_ms();
        cr_status status = cr_model_load(path, &model, &err);
        least = fmin(least, now_ms() - start);
        cr_model_destroy(model);
        if (status != CR_OK) {
            cr_test_fail("%s", err.text);
            return;
        }
    }
    print_message("%s loads in %.2f ms\n", name, least);
    CHECK(least < LIMIT_MS);
}

TEST(the_panda_loads_fast) {
    const char *path = robot("franka_panda/panda.xml");
    if (access(path, R_OK) != 0) {
        SKIP("the robot models (../shared/data/robots) are not here");
    }
    // without the visual meshes, which are not there
    static const char copy[] = CAROM_BINARY_DIR "/load_time_panda.xml";
    char command[3000];
    snprintf(command, sizeof command, "python3 '%s/tools/oracle_panda' '%s' '%s'", CAROM_SOURCE_DIR,
             path, copy);
    if (CHECK(system(command) == 0)) {
        check_time("the Panda", copy);
    }
}

TEST(the_wam_loads_fast) {
    const char *path = robot("wam/wam.urdf");
    if (access(path, R_OK) != 0) {
        SKIP("the robot models (../shared/data/robots) are not here");
    }
    check_time("the WAM", path);
}

CR_TEST_MAIN(the_panda_loads_fast, the_wam_loads_fast)
