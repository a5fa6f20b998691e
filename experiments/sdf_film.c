// SPDX-License-Identifier: MIT
//
// Motions in front of a depth camera.

#include "sdf_film.h"

#include "base/math/quat.h"

#include <string.h>

cr_status sdf_scene_open(const char *text, const char *geom, sdf_scene *out, cr_error *err) {
    *out = (sdf_scene){.memory = cri_arena_create(1 << 20)};
    if (!out->memory) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a scene");
    }
    CR_TRY(cr_model_parse(text, strlen(text), "scene", &out->model, err));
    cr_sim_options options = cr_sim_options_default(out->model);
    CR_TRY(cr_sim_create(out->model, &options, &out->sim, err));
    out->sizes = cr_model_sizes(out->model);
    out->p = CR_PUSH(out->memory, double, out->sizes.n_p);
    out->x0 = CR_PUSH(out->memory, double, out->sizes.n_x);
    if (!out->p || !out->x0) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a scene");
    }
    cr_model_defaults(out->model, 0, out->p, out->x0, NULL);
    for (int g = 0; g < out->sizes.n_geom; g++) {
        out->geom = strcmp(out->model->geom_name[g], geom) == 0 ? g : out->geom;
    }
    return CR_OK;
}

void sdf_scene_close(sdf_scene *scene) {
    cr_sim_destroy(scene->sim);
    cr_model_destroy(scene->model);
    cri_arena_destroy(scene->memory);
}

/// Pictures of one frame.
typedef struct picture {
    double *depth, *point;
    int *which;
} picture;

static bool push_picture(const cri_camera *c, cr_arena *arena, picture *out) {
    size_t n = (size_t)c->width * (size_t)c->height;
    out->depth = CR_PUSH_RAW(arena, double, n);
    out->which = CR_PUSH_RAW(arena, int, n);
    out->point = CR_PUSH_RAW(arena, double, 3 * n);
    return out->depth && out->which && out->point;
}

static bool take_frame(const sdf_scene *s, const sdf_camera *c, const double *x, cri_random *stream,
                       const picture *pic, cri_cloud_frame *frame, cr_arena *scratch) {
    cri_field_node leaf;
    cri_seen seen;
    cri_field field;
    if (!cri_cloud_field(s->model, s->geom, s->p, &leaf, &field)) {
        return false;
    }
    seen.field = &field;
    seen.pose.pos = cri_v3_load(x);
    seen.pose.R = cri_quat_rotation(cri_quat_normalise(cri_q4_load(x + 3)));
    if (!cri_depth_render(&c->camera, 1, &seen, pic->depth, pic->which, NULL, scratch) ||
        !cri_depth_erode(&c->camera, 0, pic->which, pic->depth, scratch)) {
        return false;
    }
    cri_depth_disturb(&c->camera, c->noise, stream, pic->depth);
    int n = cri_depth_points(&c->camera, pic->depth, pic->which, 0,
                             c->camera.width * c->camera.height, pic->point);
    double *point = CR_PUSH_RAW(s->memory, double, 3 * (size_t)n + 1);
    if (point) {
        memcpy(point, pic->point, sizeof *point * 3 * (size_t)n);
    }
    frame->n = n;
    frame->point = point;
    return point != NULL;
}

cr_status sdf_film(sdf_scene *s, const sdf_camera *c, uint64_t seed, cri_cloud_frame *frame,
                   cr_error *err) {
    cr_arena *scratch = cri_arena_create(1 << 20);
    double *x = CR_PUSH(s->memory, double, s->sizes.n_x);
    cri_random stream = cri_random_of(seed, 77);
    picture pic;
    cr_status status = cr_sim_set_params(s->sim, s->p, err);
    bool is_good = scratch && x && push_picture(&c->camera, scratch, &pic);
    if (is_good) {
        memcpy(x, s->x0, sizeof *x * (size_t)s->sizes.n_x);
    }
    for (int k = 0; k < c->n_frame && is_good && status == CR_OK; k++) {
        frame[k] = (cri_cloud_frame){.time = k * c->dt};
        is_good = take_frame(s, c, x, &stream, &pic, &frame[k], scratch);
        if (is_good && k + 1 < c->n_frame) {
            status = cr_sim_step(s->sim, c->dt, x, NULL, x, err);
        }
    }
    cri_arena_destroy(scratch);
    return is_good || status != CR_OK ? status
                                      : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a film");
}

// the values of a fit into p and x0
static void take_values(sdf_scene *s, const cri_selection *selection, const cri_fit *fit) {
    cri_point point = {.p = s->p, .x0 = s->x0, .n_u_row = 0};
    for (int e = 0; e < fit->n_entry; e++) {
        cri_selection_put(selection, fit->entry[e].variable, fit->entry[e].value, &point);
    }
    (void)cri_model_normalise(s->model, s->x0);
}

cr_status sdf_fit(sdf_scene *s, const char *names, int n_frame, const cri_cloud_frame *frame,
                  int n_point, double dt, cr_error *err) {
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_selection *selection = NULL;
    cri_recording recording;
    cr_status status = arena ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a fit");
    if (status == CR_OK) {
        status = cri_selection_create(s->model, names, &selection, err);
    }
    if (status == CR_OK) {
        cri_cloud_def def = {s->geom, n_frame, frame, n_point, "film"};
        status = cri_cloud_push(s->model, &def, arena, &recording, err);
    }
    if (status == CR_OK) {
        cri_fit fit;
        cri_fit_problem problem = {.model = s->model,
                                   .sim_options = cr_sim_options_default(s->model),
                                   .selection = selection,
                                   .n_recording = 1,
                                   .recording = &recording,
                                   .dt = dt,
                                   .p = s->p,
                                   .x0 = s->x0,
                                   .n_thread = 1};
        status = cri_fit_run(&problem, arena, &fit, err);
        if (status == CR_OK) {
            take_values(s, selection, &fit);
        }
    }
    cri_selection_destroy(selection);
    cri_arena_destroy(arena);
    return status;
}
