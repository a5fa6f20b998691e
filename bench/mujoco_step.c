// SPDX-License-Identifier: MIT
//
// mujoco_step SCENE N: runs N steps of MuJoCo, the integrator being the scene's, from a random
// state high above the ground, where nothing touches.
//
// The cost of one step in instructions is (Ir(2 N) - Ir(N)) / N, which leaves out loading:
//
//     for n in 100 200; do
//         valgrind --tool=callgrind --callgrind-out-file=/dev/null mujoco_step ant.xml $n
//     done
//
// Prints how many contacts and constraint rows there were in all, which should be none.

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// how far a free body is lifted, m
#define HEIGHT 50.0

// splitmix64; uniform in [lower, upper)
static double uniform(uint64_t *state, double lower, double upper) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return lower + (upper - lower) * ((double)((z ^ z >> 31) >> 11) * 0x1p-53);
}

// hinges and slides near the middle of their ranges, so that no limit is reached
static void set_random_state(const mjModel *m, mjData *d) {
    uint64_t rng = 1;
    for (int j = 0; j < m->njnt; j++) {
        mjtNum *q = d->qpos + m->jnt_qposadr[j];
        bool is_limited = m->jnt_limited[j];
        double lower = is_limited ? m->jnt_range[2 * j] : -0.5;
        double upper = is_limited ? m->jnt_range[2 * j + 1] : 0.5;
        double middle = 0.5 * (lower + upper);
        switch (m->jnt_type[j]) {
        case mjJNT_FREE:
            q[2] += HEIGHT;
            q += 3;
            // falls through to the quaternion
            __attribute__((fallthrough));
        case mjJNT_BALL:
            for (int k = 0; k < 4; k++) {
                q[k] = uniform(&rng, -1.0, 1.0);
            }
            mju_normalize4(q);
            break;
        default:
            *q = uniform(&rng, middle - 0.1 * (upper - lower), middle + 0.1 * (upper - lower));
        }
    }
    for (int i = 0; i < m->nv; i++) {
        d->qvel[i] = uniform(&rng, -0.1, 0.1);
    }
    for (int i = 0; i < m->nu; i++) {
        d->ctrl[i] = uniform(&rng, -1e-4, 1e-4);
    }
}

int main(int argc, char **argv) {
    char error[500] = "";
    int n = argc == 3 ? atoi(argv[2]) : 0;
    if (n < 1) {
        fprintf(stderr, "usage: mujoco_step SCENE N\n");
        return 2;
    }
    mjModel *m = mj_loadXML(argv[1], NULL, error, sizeof error);
    mjData *d = m ? mj_makeData(m) : NULL;
    if (!d) {
        fprintf(stderr, "mujoco_step: %s: %s\n", argv[1], error);
        return 1;
    }
    set_random_state(m, d);
    long n_contact = 0;
    long n_row = 0;
    for (int i = 0; i < n; i++) {
        mj_step(m, d);
        n_contact += d->ncon;
        n_row += d->nefc;
    }
    printf("%d steps of %g s, %ld contacts, %ld constraint rows, last qpos[0] %.17g\n", n,
           m->opt.timestep, n_contact, n_row, d->qpos[0]);
    mj_deleteData(d);
    mj_deleteModel(m);
    return 0;
}
