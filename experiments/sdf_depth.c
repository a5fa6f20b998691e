// SPDX-License-Identifier: MIT
//
// Pose and size from depth pictures (paper 004, Table 2): a ball or a cube flies against a wall,
// with gravity or without, 46 frames of 640 x 480 at 30 Hz with noise 1e-4 d^2 from 20 m away.
// First the first frame alone by the paper's rule,
//
//   min over pose and size of mean phi(R'(p - x))^2,  descent with rate 0.1, 200 steps at most,
//   until the loss changes by less than 1e-5 and the size by less than 1e-3,
//
// then all frames through the simulation by the search of carom fit. Frames carry the time of their
// pose; the published program compares them one frame off. Errors are root mean squares, in metres
// and radians; the paper's figures for position and angle are squared, their roots stand here.

#include "sdf_film.h"

#include "base/math/quat.h"
#include "sdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_FRAME = 46, N_POINT = 400, RUNS_QUICK = 3, RUNS_FULL = 20, STEP_MOST = 200 };

static const double frame_time = 1.0 / 30.0;

/// One column of the table.
typedef struct column {
    const char *name;
    bool is_cube, has_gravity;
    double paper[9]; // position, rotation, size: start, frame, trajectory each
} column;

static const column columns[] = {
    {"ball without gravity", false, false, {0.2, 0.237, 0.176, NAN, NAN, NAN, 0.512, 0.163, 0.022}},
    {"ball with gravity", false, true, {0.2, 0.237, 0.210, NAN, NAN, NAN, 0.512, 0.163, 0.014}},
    {"cube without gravity",
     true,
     false,
     {0.2, 0.277, 0.152, 0.367, 0.032, 0.045, 0.512, 0.137, 0.029}},
};

enum { N_COLUMN = sizeof columns / sizeof *columns };

static const char *const ball_names = "thing/size[0],x0:thing/qpos[0],x0:thing/qpos[1],"
                                      "x0:thing/qpos[2]";
static const char *const cube_names = "thing/size[0]=thing/size[1]=thing/size[2],x0:thing/qpos[0],"
                                      "x0:thing/qpos[1],x0:thing/qpos[2],x0:thing/qpos[3],"
                                      "x0:thing/qpos[4],x0:thing/qpos[5],x0:thing/qpos[6]";

static void write_scene(const column *c, size_t n_byte, char *text) {
    (void)snprintf(text, n_byte,
                   "<mujoco><option timestep='0.03333333333333333' gravity='0 %g 0'/><custom>"
                   "<numeric name='carom:restitution:floor:thing' data='0.5'/>"
                   "<numeric name='carom:restitution:wall:thing' data='0.5'/></custom><worldbody>"
                   "<geom name='floor' type='box' pos='0 -0.5 0' size='10 0.5 10' friction='0.25'/>"
                   "<geom name='wall' type='box' pos='5 5 0' size='0.5 5 5' friction='0.25'/>"
                   "<body name='thing' pos='0 5 0'><freejoint/>"
                   "<inertial pos='0 0 0' mass='1' diaginertia='0.4 0.4 0.4'/>"
                   "<geom name='thing' type='%s' size='%s' friction='0.25'/></body></worldbody>"
                   "<keyframe><key qvel='5 0 0 0 0 0'/></keyframe></mujoco>",
                   c->has_gravity ? -10.0 : 0.0, c->is_cube ? "box" : "sphere",
                   c->is_cube ? "1 1 1" : "1");
}

// 640 x 480, 20 m away, from above and to the side
static cri_camera view(void) {
    double quarter = 0.78539816339744830962; // pi/4
    cri_quat q = cri_quat_mul(cri_quat_exp(cri_v3(0.0, quarter, 0.0)),
                              cri_quat_exp(cri_v3(-quarter, 0.0, 0.0)));
    cri_mat3 R = cri_quat_rotation(q);
    return (cri_camera){.width = 640,
                        .height = 480,
                        .fx = 515.0,
                        .fy = 515.0,
                        .cx = 319.5,
                        .cy = 239.5,
                        .pose = {cri_m3_mul(&R, cri_v3(0.0, 0.0, 20.0)), R}};
}

// ---- one run -----------------------------------------------------------------------------------

/// Pose and size, true or found.
typedef struct guess {
    double pos[3], quat[4], size;
} guess;

static void disturb(cri_random *stream, guess *g) {
    for (int a = 0; a < 3; a++) {
        g->pos[a] += 0.1 * cri_random_normal(stream);
    }
    for (int a = 0; a < 4; a++) {
        g->quat[a] += 0.1 * cri_random_normal(stream);
    }
    cri_q4_store(cri_quat_normalise(cri_q4_load(g->quat)), g->quat);
}

static void put(const column *c, const guess *g, sdf_scene *s) {
    int at = s->model->geom[s->geom].slot_size;
    for (int a = 0; a < (c->is_cube ? 3 : 1); a++) {
        s->p[at + a] = g->size;
    }
    memcpy(s->x0, g->pos, sizeof g->pos);
    memcpy(s->x0 + 3, g->quat, sizeof g->quat);
}

static guess take(const sdf_scene *s) {
    guess g = {.size = s->p[s->model->geom[s->geom].slot_size]};
    memcpy(g.pos, s->x0, sizeof g.pos);
    memcpy(g.quat, s->x0 + 3, sizeof g.quat);
    return g;
}

// the paper's descent on one frame
static void fit_frame(const column *c, const cri_cloud_frame *f, guess *g) {
    double before = INFINITY, rate = 0.1;
    for (int k = 0; k < STEP_MOST; k++) {
        double size[3] = {g->size, g->size, g->size}, size_adj[3] = {0.0}, quat_adj[4] = {0.0};
        cri_field_node leaf = {.kind = c->is_cube ? CRI_FIELD_BOX : CRI_FIELD_SPHERE};
        cri_field field = {1, &leaf, c->is_cube ? 3 : 1, size};
        cri_pose pose = {cri_v3_load(g->pos), cri_quat_rotation(cri_q4_load(g->quat))};
        cri_pose_diff adj = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
        double loss = cri_depth_loss(&field, &pose, f->n, f->point);
        cri_depth_loss_vjp(&field, &pose, f->n, f->point, 1.0, &adj, size_adj);
        cri_quat_normalise_vjp(cri_q4_load(g->quat), adj.rot, quat_adj);
        double step = -rate * (size_adj[0] + size_adj[1] + size_adj[2]);
        double next = fmin(fmax(g->size + step, 0.5), 2.5);
        bool is_done = fabs(loss - before) < 1e-5 && fabs(next - g->size) < 1e-3;
        before = loss;
        g->size = next;
        cri_v3_accumulate(cri_v3_scale(-rate, adj.pos), g->pos);
        for (int a = 0; a < 4; a++) {
            g->quat[a] -= rate * quat_adj[a];
        }
        cri_q4_store(cri_quat_normalise(cri_q4_load(g->quat)), g->quat);
        if (is_done) {
            return;
        }
    }
}

// squares of the errors in position, rotation and size
static void judge(const guess *truth, const guess *g, int stage, double sum[9]) {
    double square = 0.0, dot = 0.0;
    for (int a = 0; a < 3; a++) {
        square += (g->pos[a] - truth->pos[a]) * (g->pos[a] - truth->pos[a]);
    }
    for (int a = 0; a < 4; a++) {
        dot += g->quat[a] * truth->quat[a];
    }
    double angle = 2.0 * acos(fmin(1.0, fabs(dot)));
    sum[stage] += square;
    sum[3 + stage] += angle * angle;
    sum[6 + stage] += fabs(g->size - truth->size);
}

static cr_status run_one(const column *c, sdf_scene *s, uint64_t seed, double sum[9],
                         cr_error *err) {
    cri_cloud_frame frame[N_FRAME];
    cri_random stream = cri_random_of(seed, 9);
    guess truth = {{0.0, 5.0, 0.0}, {1.0, 0.0, 0.0, 0.0}, 0.0};
    truth.size = cri_random_uniform(&stream, 0.5, 1.5);
    disturb(&stream, &truth);
    guess g = truth;
    disturb(&stream, &g);
    g.size += cri_random_uniform(&stream, 0.0, 1.0);
    sdf_camera camera = {view(), 1e-4, frame_time, N_FRAME};
    put(c, &truth, s);
    CR_TRY(sdf_film(s, &camera, seed, frame, err));
    judge(&truth, &g, 0, sum);
    fit_frame(c, &frame[0], &g);
    judge(&truth, &g, 1, sum);
    put(c, &g, s);
    CR_TRY(
        sdf_fit(s, c->is_cube ? cube_names : ball_names, N_FRAME, frame, N_POINT, frame_time, err));
    g = take(s);
    judge(&truth, &g, 2, sum);
    return CR_OK;
}

// ---- all ---------------------------------------------------------------------------------------

static void add_rows(const column *c, int n, const double sum[9], cri_experiment_result *out) {
    static const char *const what[3] = {"position", "rotation", "size"};
    static const char *const stage[3] = {"start", "first frame", "all frames"};
    for (int k = 0; k < 9; k++) {
        if (k / 3 == 1 && !c->is_cube) {
            continue; // a ball has none
        }
        double value = k < 6 ? sqrt(sum[k] / n) : sum[k] / n;
        cri_experiment_add(out, k / 3 == 1 ? "rad" : "m", k % 3 ? "lower" : "match", value,
                           c->paper[k], "%s, %s error, %s", c->name, what[k / 3], stage[k % 3]);
    }
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *o,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    int n_run = o->n_run > 0 ? o->n_run : o->is_full ? RUNS_FULL : RUNS_QUICK;
    for (int k = 0; k < N_COLUMN; k++) {
        char text[2000];
        double sum[9] = {0.0};
        int n = 0;
        write_scene(&columns[k], sizeof text, text);
        for (int i = 0; i < n_run && !out->is_interrupted; i++) {
            sdf_scene scene;
            cr_status status = sdf_scene_open(text, "thing", &scene, err);
            if (status == CR_OK) {
                status = run_one(&columns[k], &scene, o->seed + (uint64_t)i, sum, err);
            }
            sdf_scene_close(&scene);
            if (status != CR_OK) {
                return status;
            }
            n++;
            out->is_interrupted =
                !cri_progress_tell(o->progress, &(cri_progress_state){"run", k * n_run + i + 1,
                                                                      N_COLUMN * n_run, NAN});
        }
        if (n > 0) {
            add_rows(&columns[k], n, sum, out);
        }
    }
    return CR_OK;
}

const cri_experiment cri_sdf_depth = {
    "sdf-depth", "paper 004, Table 2: pose and size from depth pictures", NULL, run};
