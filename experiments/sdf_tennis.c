// SPDX-License-Identifier: MIT
//
// A tennis ball against a wall and the floor, seen by a depth camera (paper 004, Fig. 8). The
// recording of the paper is not public: this one is made up with its camera (640 x 480, 30 Hz), its
// ball (3.24 cm, 58 g) and a noise of 2 mm at 1 m. What is known beforehand is what the paper
// knows: gravity and the planes. Radius and position start from the extent of the first frame's
// points, as
//
//   r = half the largest extent,  x = mean of the points, r further along the ray,
//   v = (x_1 - x_0)/H + g H upwards,  friction 0.15, restitution 0.7
//
// then the first frame alone by the paper's descent (rate 0.1, 200 steps, until loss and radius
// change by less than 1e-7 and 1e-5), and all frames by the search of carom fit.

#include "sdf_film.h"

#include "sdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_FRAME = 15, N_POINT = 400, RUNS_QUICK = 3, RUNS_FULL = 20, STEP_MOST = 200 };

static const double H = 1.0 / 30.0, g = 9.81;
static const double true_radius = 0.0324;

static const char *const scene_text =
    "<mujoco><option timestep='0.03333333333333333' gravity='0 -9.81 0'/><custom>"
    "<numeric name='carom:restitution:floor:ball' data='0.76'/>"
    "<numeric name='carom:restitution:wall:ball' data='0.76'/>"
    "<numeric name='carom:friction:floor:ball' data='0.2'/>"
    "<numeric name='carom:friction:wall:ball' data='0.2'/></custom><worldbody>"
    "<geom name='floor' type='box' pos='0 -0.5 0' size='0.75 0.5 0.75'/>"
    "<geom name='wall' type='box' pos='0.85 0.75 0' size='0.5 0.75 0.75'/>"
    "<body name='ball' pos='-0.3 0.5 0'><freejoint/>"
    "<inertial pos='0 0 0' mass='0.058' diaginertia='3.7e-5 3.7e-5 3.7e-5'/>"
    "<geom name='ball' type='sphere' size='0.0324'/></body></worldbody>"
    "<keyframe><key qvel='2.2 0.5 0.1 0 0 0'/></keyframe></mujoco>";

static const char *const names =
    "ball/size[0],floor:ball/restitution=wall:ball/restitution,"
    "floor:ball/friction=wall:ball/friction,x0:ball/qpos[0],x0:ball/qpos[1],x0:ball/qpos[2],"
    "x0:ball/qvel[0],x0:ball/qvel[1],x0:ball/qvel[2]";

/// What is found.
typedef struct guess {
    double radius;
    cri_vec3 pos, vel;
} guess;

static cri_camera view(void) {
    return (cri_camera){
        640, 480, 515.0, 515.0, 319.5, 239.5, {{0.0, 0.4, 1.3}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}}};
}

// radius and middle of a frame's points by the paper's rule
static void first_guess(const cri_camera *camera, const cri_cloud_frame *f, double *radius,
                        cri_vec3 *pos) {
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    cri_vec3 sum = cri_v3(0.0, 0.0, 0.0);
    for (int i = 0; i < f->n; i++) {
        const double *p = f->point + 3 * (size_t)i;
        for (int a = 0; a < 3; a++) {
            lower[a] = fmin(lower[a], p[a]);
            upper[a] = fmax(upper[a], p[a]);
        }
        sum = cri_v3_add(sum, cri_v3_load(p));
    }
    *radius = 0.5 * fmax(upper[0] - lower[0], fmax(upper[1] - lower[1], upper[2] - lower[2]));
    cri_vec3 mean = cri_v3_scale(1.0 / f->n, sum), ray = cri_v3_sub(mean, camera->pose.pos);
    *pos = cri_v3_mad(mean, *radius / cri_v3_norm(ray), ray);
}

static void fit_frame(const cri_cloud_frame *f, guess *found) {
    cri_field_node leaf = {.kind = CRI_FIELD_SPHERE};
    double before = INFINITY, rate = 0.1;
    for (int k = 0; k < STEP_MOST; k++) {
        cri_field field = {1, &leaf, 1, &found->radius};
        cri_pose pose = {found->pos, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        cri_pose_diff adj = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
        double loss = cri_depth_loss(&field, &pose, f->n, f->point), slope = 0.0;
        cri_depth_loss_vjp(&field, &pose, f->n, f->point, 1.0, &adj, &slope);
        bool is_done = fabs(loss - before) < 1e-7 && fabs(rate * slope) < 1e-5;
        found->radius -= rate * slope;
        found->pos = cri_v3_mad(found->pos, -rate, adj.pos);
        before = loss;
        if (is_done) {
            return;
        }
    }
}

/// Sums over runs.
typedef struct score {
    double radius[3], error[3]; // start, first frame, all frames
    double pos[3], vel, restitution, friction;
} score;

static void judge(const guess *truth, const guess *found, int stage, score *s) {
    s->radius[stage] += found->radius;
    s->error[stage] += fabs(found->radius - truth->radius);
    s->pos[stage] += cri_v3_norm(cri_v3_sub(found->pos, truth->pos));
}

static int slot_of(const sdf_scene *s, const char *name) {
    int slot = cr_model_find(s->model, CR_VECTOR_P, name, NULL);
    CR_ASSERT(slot >= 0);
    return slot;
}

static void put(sdf_scene *s, const guess *found) {
    s->p[slot_of(s, "ball/size[0]")] = found->radius;
    cri_v3_store(found->pos, s->x0);
    cri_v3_store(found->vel, s->x0 + s->sizes.n_q);
}

static cr_status run_one(sdf_scene *s, uint64_t seed, score *sum, cr_error *err) {
    cri_cloud_frame frame[N_FRAME];
    sdf_camera camera = {view(), 2e-3, H, N_FRAME};
    guess truth = {true_radius, cri_v3_load(s->x0), cri_v3_load(s->x0 + s->sizes.n_q)}, found;
    double restitution = s->p[slot_of(s, "wall:ball/restitution")];
    double friction = s->p[slot_of(s, "wall:ball/friction")], radius;
    CR_TRY(sdf_film(s, &camera, seed, frame, err));
    cri_vec3 next;
    first_guess(&camera.camera, &frame[0], &found.radius, &found.pos);
    first_guess(&camera.camera, &frame[1], &radius, &next);
    found.vel = cri_v3_scale(1.0 / H, cri_v3_sub(next, found.pos));
    found.vel.y += g * H;
    judge(&truth, &found, 0, sum);
    fit_frame(&frame[0], &found);
    judge(&truth, &found, 1, sum);
    put(s, &found);
    static const char *const pair[2] = {"floor:ball", "wall:ball"};
    for (int k = 0; k < 2; k++) {
        char name[40];
        (void)snprintf(name, sizeof name, "%s/restitution", pair[k]);
        s->p[slot_of(s, name)] = 0.7;
        (void)snprintf(name, sizeof name, "%s/friction", pair[k]);
        s->p[slot_of(s, name)] = 0.15;
    }
    CR_TRY(sdf_fit(s, names, N_FRAME, frame, N_POINT, H, err));
    found = (guess){s->p[slot_of(s, "ball/size[0]")], cri_v3_load(s->x0),
                    cri_v3_load(s->x0 + s->sizes.n_q)};
    judge(&truth, &found, 2, sum);
    sum->vel += cri_v3_norm(cri_v3_sub(found.vel, truth.vel));
    sum->restitution += fabs(s->p[slot_of(s, "wall:ball/restitution")] - restitution);
    sum->friction += fabs(s->p[slot_of(s, "wall:ball/friction")] - friction);
    return CR_OK;
}

static void add_rows(const score *s, int n, cri_experiment_result *out) {
    static const char *const stage[3] = {"start", "first frame", "all frames"};
    static const double paper[3] = {2.96, 3.68, 3.13}, error[3] = {0.28, 0.44, 0.11};
    for (int k = 0; k < 3; k++) {
        cri_experiment_add(out, "cm", "match", 100.0 * s->radius[k] / n, paper[k],
                           "radius, truth 3.24, %s", stage[k]);
    }
    for (int k = 0; k < 3; k++) {
        cri_experiment_add(out, "cm", "lower", 100.0 * s->error[k] / n, error[k],
                           "radius error, %s", stage[k]);
    }
    for (int k = 0; k < 3; k++) {
        cri_experiment_add(out, "cm", "lower", 100.0 * s->pos[k] / n, NAN, "position error, %s",
                           stage[k]);
    }
    cri_experiment_add(out, "m/s", "lower", s->vel / n, NAN, "velocity error, all frames");
    cri_experiment_add(out, "", "lower", s->restitution / n, NAN, "restitution error, all frames");
    cri_experiment_add(out, "", "lower", s->friction / n, NAN, "friction error, all frames");
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *o,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    int n_run = o->n_run > 0 ? o->n_run : o->is_full ? RUNS_FULL : RUNS_QUICK, n = 0;
    score sum = {.vel = 0.0};
    for (; n < n_run && !out->is_interrupted; n++) {
        sdf_scene scene;
        cr_status status = sdf_scene_open(scene_text, "ball", &scene, err);
        if (status == CR_OK) {
            status = run_one(&scene, o->seed + (uint64_t)n, &sum, err);
        }
        sdf_scene_close(&scene);
        if (status != CR_OK) {
            return status;
        }
        out->is_interrupted =
            !cri_progress_tell(o->progress, &(cri_progress_state){"run", n + 1, n_run, NAN});
    }
    add_rows(&sum, n, out);
    return CR_OK;
}

const cri_experiment cri_sdf_tennis = {
    "sdf-tennis", "paper 004, Fig. 8: a tennis ball from depth pictures, made up", NULL, run};
