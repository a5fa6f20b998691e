// SPDX-License-Identifier: MIT
//
// The force between two boxes under any law.

#include "lrc_probe.h"

#include "contact/hull_barrier.h"
#include "contact/law.h"
#include "contact/penalty.h"
#include "math/quat.h"

#include <math.h>
#include <string.h>

const double lrc_box[2][3] = {{0.2, 0.12, 0.08}, {0.2, 0.2, 0.2}};

// reach of the local barriers (experiments of paper 002), m
#define IPC_REACH 0.01
#define SDRS_REACH 0.1

// rounding of the penalty, as in the law, m
#define PENALTY_LENGTH 1e-3

// of a step from rest, s
static const double h = 0.01;

static const char scene[] =
    "<mujoco><option gravity='0 0 0'/><default><geom type='box' friction='0'/></default>"
    "<worldbody><body name='a'><freejoint/><geom size='.1 .06 .04' mass='1'/></body>"
    "<body name='b' pos='9 0 0'><freejoint/><geom size='.1 .1 .1' mass='1'/></body></worldbody>"
    "</mujoco>";

void lrc_corners(int k, const cri_pose *pose, cri_vec3 out[LRC_N_CORNER]) {
    for (int i = 0; i < LRC_N_CORNER; i++) {
        cri_vec3 at = {(i & 4 ? 0.5 : -0.5) * lrc_box[k][0], (i & 2 ? 0.5 : -0.5) * lrc_box[k][1],
                       (i & 1 ? 0.5 : -0.5) * lrc_box[k][2]};
        out[i] = cri_v3_add(pose->pos, cri_m3_mul(&pose->R, at));
    }
}

// ---- energies ----------------------------------------------------------------------------------

static const cri_pose unmoved = {.R = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}}};

static cr_status build_trees(lrc_probe *p, cr_error *err) {
    static const int triangle[36] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                     2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
    for (int k = 0; k < 2; k++) {
        cri_vec3 corner[LRC_N_CORNER];
        double vertex[3 * LRC_N_CORNER];
        lrc_corners(k, &unmoved, corner);
        for (int i = 0; i < LRC_N_CORNER; i++) {
            cri_v3_store(corner[i], vertex + 3 * i);
        }
        CR_TRY(cri_sphere_tree_build(CRI_SPHERE_LAYERED, LRC_N_CORNER, vertex, 12, triangle,
                                     p->arena, &p->tree[k], err));
        p->owner[k] = cri_barrier_owners(&p->tree[k], p->arena);
        if (!p->owner[k]) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
        }
    }
    return CR_OK;
}

static bool energy_force(lrc_probe *p, const cri_pose pose[2], cri_vec3 *force) {
    cri_longrange_body body[2];
    double vertex[2][3 * LRC_N_CORNER];
    cri_arena_reset(p->scratch);
    for (int k = 0; k < 2; k++) {
        cri_vec3 corner[LRC_N_CORNER];
        lrc_corners(k, &unmoved, corner);
        for (int i = 0; i < LRC_N_CORNER; i++) {
            cri_v3_store(corner[i], vertex[k] + 3 * i);
        }
        if (!cri_longrange_place(&p->tree[k], vertex[k], &pose[k], p->scratch, &body[k])) {
            return false;
        }
    }
    const char *name = p->law->name;
    if (strcmp(name, "longrange") == 0) {
        cri_longrange_options options = cri_longrange_default();
        cri_longrange_pair(&options, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, NULL, &p->result);
    } else if (strcmp(name, "sdrs") == 0) {
        cri_hull_barrier_pair(SDRS_REACH, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, &p->result);
    } else if (strcmp(name, "penalty") == 0) {
        cri_penalty_pair(PENALTY_LENGTH, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, &p->result);
    } else {
        bool is_local = strcmp(name, "ipc") == 0;
        cri_barrier_options options = {is_local ? CRI_BARRIER_LOCAL : CRI_BARRIER_GLOBAL, IPC_REACH,
                                       1.0};
        const cri_barrier_body a = {body[0], p->owner[0]}, b = {body[1], p->owner[1]};
        cri_barrier_pair(&options, &a, &b, CRI_LONGRANGE_HESSIAN, &p->result);
    }
    *force = cri_v3_scale(-1.0, cri_v3_load(p->result.g + 3));
    return isfinite(p->result.value);
}

// ---- laws of the simulator ---------------------------------------------------------------------

static bool step_force(lrc_probe *p, const cri_pose pose[2], cri_vec3 *force) {
    double x[26] = {0}, next[26];
    for (int k = 0; k < 2; k++) {
        cri_v3_store(pose[k].pos, x + 7 * k);
        cri_q4_store(cri_quat_of_rotation(&pose[k].R), x + 7 * k + 3);
    }
    if (cr_sim_step(p->sim, h, x, NULL, next, NULL) != CR_OK) {
        return false;
    }
    // one kilogram
    *force = cri_v3_scale(1.0 / h, cri_v3_load(next + 14));
    return true;
}

// ---- both --------------------------------------------------------------------------------------

cr_status lrc_probe_open(const lrc_law *law, lrc_probe *out, cr_error *err) {
    *out = (lrc_probe){.law = law};
    out->arena = cri_arena_create(1 << 16);
    out->scratch = cri_arena_create(1 << 16);
    if (!out->arena || !out->scratch) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    if (law->is_energy) {
        return build_trees(out, err);
    }
    CR_TRY(cr_model_parse(scene, sizeof scene - 1, "boxes", &out->model, err));
    cr_sim_options options = cr_sim_options_default(out->model);
    options.law = law->name;
    options.use_gradient = false;
    return cr_sim_create(out->model, &options, &out->sim, err);
}

void lrc_probe_close(lrc_probe *probe) {
    cr_sim_destroy(probe->sim);
    cr_model_destroy(probe->model);
    cri_arena_destroy(probe->arena);
    cri_arena_destroy(probe->scratch);
}

bool lrc_probe_force(lrc_probe *probe, const cri_pose pose[2], cri_vec3 *force) {
    return probe->law->is_energy ? energy_force(probe, pose, force)
                                 : step_force(probe, pose, force);
}
