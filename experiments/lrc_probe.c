// SPDX-License-Identifier: MIT
//
// The force between two boxes under any law.
//
// Nets have two layers, 6000 samples a kind and 60 epochs, less than usual: what they answer at
// rest, approach and distance is asked, not how well.

#include "lrc_probe.h"

#include "base/math/quat.h"
#include "contact/law.h"
#include "energy/barrier.h"
#include "energy/penalty.h"
#include "model/scene/load.h"

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

static const char plane_scene[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><geom name='ground' type='plane' size='9 9 1' "
    "friction='.6'/><body name='a'><freejoint/><geom type='box' size='.1 .06 .04' mass='1' "
    "friction='.6'/></body></worldbody></mujoco>";

// radii of two balls together, m
#define BALL_OFFSET 0.2

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
        bool is_local = strcmp(name, "rough") != 0; // ipc, also with another gradient
        cri_barrier_options options = {is_local ? CRI_BARRIER_LOCAL : CRI_BARRIER_GLOBAL, IPC_REACH,
                                       1.0};
        const cri_barrier_body a = {body[0], p->owner[0]}, b = {body[1], p->owner[1]};
        cri_barrier_pair(&options, &a, &b, CRI_LONGRANGE_HESSIAN, &p->result);
    }
    *force = cri_v3_scale(-1.0, cri_v3_load(p->result.g + 3));
    return isfinite(p->result.value);
}

// ---- laws of the simulator ---------------------------------------------------------------------

static bool boxes_force(lrc_probe *p, const cri_pose pose[2], cri_vec3 *force) {
    double x[26] = {0}, next[26];
    for (int k = 0; k < 2; k++) {
        cri_v3_store(pose[k].pos, x + 7 * k);
        cri_q4_store(cri_quat_of_rotation(&pose[k].R), x + 7 * k + 3);
    }
    cri_v3_store(p->velocity, x + 14);
    if (cr_sim_step(p->sim, h, x, NULL, next, NULL) != CR_OK) {
        return false;
    }
    // one kilogram
    *force = cri_v3_scale(1.0 / h, cri_v3_sub(cri_v3_load(next + 14), p->velocity));
    return true;
}

// the first box over the upper face of the second, whose axes and middle are the frame
static cri_pose over_face(const cri_pose pose[2]) {
    cri_vec3 away = cri_m3_tmul(&pose[1].R, cri_v3_sub(pose[0].pos, pose[1].pos));
    cri_mat3 back;
    for (int i = 0; i < 9; i++) {
        back.m[i] = pose[1].R.m[3 * (i % 3) + i / 3];
    }
    return (cri_pose){.R = cri_m3_product(&back, &pose[0].R),
                      .pos = cri_v3_sub(away, cri_v3(0, 0, 0.5 * lrc_box[1][2]))};
}

static bool plane_force(lrc_probe *p, const cri_pose pose[2], cri_vec3 *force) {
    double x[13] = {0}, next[13];
    cri_pose at = over_face(pose);
    cri_vec3 v = cri_m3_tmul(&pose[1].R, p->velocity);
    cri_v3_store(at.pos, x);
    cri_q4_store(cri_quat_of_rotation(&at.R), x + 3);
    cri_v3_store(v, x + 7);
    if (cr_sim_step(p->sim, h, x, NULL, next, NULL) != CR_OK) {
        return false;
    }
    cri_vec3 change = cri_v3_sub(cri_v3_load(next + 7), v);
    *force = cri_v3_scale(1.0 / h, cri_m3_mul(&pose[1].R, change));
    return true;
}

static bool balls_force(lrc_probe *p, const cri_pose pose[2], cri_vec3 *force) {
    double x[12] = {0}, next[12], low = INFINITY;
    cri_pose at = over_face(pose);
    cri_vec3 corner[LRC_N_CORNER], v = cri_m3_tmul(&pose[1].R, p->velocity);
    lrc_corners(0, &at, corner);
    for (int i = 0; i < LRC_N_CORNER; i++) {
        low = fmin(low, corner[i].z);
    }
    x[2] = BALL_OFFSET + low;
    cri_v3_store(v, x + 6);
    cri_system_row row;
    cri_system_batch batch = {p->balls->p0, h, 1, 0, x, NULL};
    cri_arena_reset(p->scratch);
    if (!cri_central_kind.step(p->balls, &batch, next, &row, NULL, p->scratch)) {
        return false;
    }
    cri_vec3 change = cri_v3_sub(cri_v3_load(next + 6), v);
    *force = cri_v3_scale(1.0 / h, cri_m3_mul(&pose[1].R, change));
    return true;
}

// ---- both --------------------------------------------------------------------------------------

static cr_status open_sim(const lrc_law *law, lrc_probe *out, cr_error *err) {
    cr_sim_options options = cr_sim_options_default(out->model);
    options.law = law->name;
    options.use_gradient = false;
    return cr_sim_create(out->model, &options, &out->sim, err);
}

static cr_status train(const lrc_law *law, uint64_t seed, const cri_progress *progress,
                       lrc_probe *out, cr_error *err) {
    cr_model *plain = NULL;
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    cri_augmented_options o = cri_augmented_options_default();
    o.sampling.seed = seed;
    o.progress = progress;
    o.is_regressed = strcmp(law->name, "regressed") == 0;
    o.n_hidden = 2;
    o.n_epoch = 60;
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        o.n_sample[k] = 6000;
    }
    CR_TRY(cr_model_parse(plane_scene, sizeof plane_scene - 1, "plane", &plain, err));
    cr_status status = cri_augmented_train(plain, &o, &nets, score, out->arena, err);
    if (status == CR_OK) {
        status = cri_model_parse_with(plane_scene, sizeof plane_scene - 1, "plane", &nets,
                                      &out->model, err);
    }
    cr_model_destroy(plain);
    return status;
}

static cr_status make_balls(lrc_probe *out, cr_error *err) {
    static const char *const name[2] = {"a", "b"};
    static const double mass[2] = {1.0, 1.0};
    const cri_central_contact touch = {0, 1, true, NULL, BALL_OFFSET, 0.5, "a:b"};
    out->balls =
        cri_central_create(&(cri_central_def){.points = {.n_body = 2, .n_dim = 3, .name = name},
                                              .mass = mass,
                                              .n_contact = 1,
                                              .touch = &touch,
                                              .potential = CRI_POTENTIAL_NONE});
    return out->balls ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

cr_status lrc_probe_open(const lrc_law *law, uint64_t seed, const cri_progress *progress,
                         lrc_probe *out, cr_error *err) {
    *out = (lrc_probe){.law = law};
    out->arena = cri_arena_create(1 << 16);
    out->scratch = cri_arena_create(1 << 16);
    if (!out->arena || !out->scratch) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    switch (law->kind) {
    case LRC_ENERGY:
        return build_trees(out, err);
    case LRC_BALLS:
        return make_balls(out, err);
    case LRC_PLANE:
        CR_TRY(train(law, seed, progress, out, err));
        return open_sim(law, out, err);
    case LRC_BOXES:
        CR_TRY(cr_model_parse(scene, sizeof scene - 1, "boxes", &out->model, err));
    }
    return open_sim(law, out, err);
}

void lrc_probe_close(lrc_probe *probe) {
    cri_central_destroy(probe->balls);
    cr_sim_destroy(probe->sim);
    cr_model_destroy(probe->model);
    cri_arena_destroy(probe->arena);
    cri_arena_destroy(probe->scratch);
}

bool lrc_probe_force(lrc_probe *probe, const cri_pose pose[2], cri_vec3 *force) {
    switch (probe->law->kind) {
    case LRC_ENERGY:
        return energy_force(probe, pose, force);
    case LRC_PLANE:
        return plane_force(probe, pose, force);
    case LRC_BALLS:
        return balls_force(probe, pose, force);
    case LRC_BOXES:
        break;
    }
    return boxes_force(probe, pose, force);
}
