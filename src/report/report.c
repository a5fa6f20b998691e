// SPDX-License-Identifier: MIT
//
// A report while it is filled: texts, tables and parameters. Lack of memory marks the arena, and
// cri_report_write tells it.

#include "report/report_content.h"

#include "contact/island.h"
#include "dynamics/unit.h"
#include "model/system.h"
#include "sim/sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/// Appends node, which may be NULL for lack of memory, to a list with first and last.
#define CRI_REPORT_APPEND(first, last, node)                                                       \
    do {                                                                                           \
        if (node) {                                                                                \
            if (last) {                                                                            \
                (last)->next = (node);                                                             \
            } else {                                                                               \
                (first) = (node);                                                                  \
            }                                                                                      \
            (last) = (node);                                                                       \
        }                                                                                          \
    } while (0)

// numbers of all poses that a variant should not exceed by far, and frames that it has anyway
enum { NUMBER_AIM = 500000, FRAMES_LEAST = 60 };

// numbers of a pose
enum { N_POSE = 7 };

// longest fact or sentence, bytes
enum { TEXT_LIMIT = 1000 };

// ---- curves -------------------------------------------------------------------------------------

// Curves in bounded memory. Points gather in buckets of stride points each; when all buckets are
// full, neighbours are joined and the stride doubles. A bucket keeps the least and the largest
// value of each curve and which came first, so that an impulse of one step is still seen among a
// million.

// joins two spans, a before b
static cri_report_span join(cri_report_span a, cri_report_span b) {
    if (isnan(a.low)) {
        return b;
    }
    if (isnan(b.low)) {
        return a;
    }
    bool is_low_of_a = a.low <= b.low, is_high_of_a = a.high >= b.high;
    cri_report_span both = {is_low_of_a ? a.low : b.low, is_high_of_a ? a.high : b.high, false};
    if (is_low_of_a == is_high_of_a) {
        both.is_low_first = is_low_of_a ? a.is_low_first : b.is_low_first;
    } else {
        both.is_low_first = is_low_of_a;
    }
    return both;
}

/// A copy in the report's arena; NULL stays NULL.
static const char *report_copy(cri_report *report, const char *text) {
    return text ? cri_arena_push_text(report->memory, text) : NULL;
}

int cri_report_chart(cri_report *report, const cri_report_chart_def *def) {
    if (!report) {
        return -1;
    }
    cri_report_chart_node *node = CR_PUSH(report->memory, cri_report_chart_node, 1);
    if (!node) {
        return -1;
    }
    node->def = (cri_report_chart_def){.title = report_copy(report, def->title),
                                       .x = report_copy(report, def->x),
                                       .x_unit = report_copy(report, def->x_unit),
                                       .y = report_copy(report, def->y),
                                       .unit = report_copy(report, def->unit),
                                       .is_log = def->is_log,
                                       .motion = def->motion};
    CRI_REPORT_APPEND(report->first_chart, report->last_chart, node);
    return report->n_chart++;
}

int cri_report_series(cri_report *report, int chart, int n_line, const cri_report_line *line) {
    CR_ASSERT(n_line > 0);
    if (!report || chart < 0) {
        return -1;
    }
    CR_ASSERT(chart < report->n_chart);
    cr_arena *memory = report->memory;
    cri_report_series_node *node = CR_PUSH(memory, cri_report_series_node, 1);
    cri_report_line *copy = CR_PUSH(memory, cri_report_line, n_line);
    double(*x)[2] = cri_arena_push(memory, sizeof *x * (CRI_REPORT_POINTS + 1));
    cri_report_span *span = CR_PUSH(memory, cri_report_span, (CRI_REPORT_POINTS + 1) * n_line);
    if (!node || !copy || !x || !span) {
        return -1;
    }
    for (int i = 0; i < n_line; i++) {
        copy[i] = (cri_report_line){report_copy(report, line[i].name), line[i].style};
    }
    *node = (cri_report_series_node){
        .chart = chart, .n_line = n_line, .line = copy, .stride = 1, .x = x, .span = span};
    node->number = report->n_series;
    CRI_REPORT_APPEND(report->first_series, report->last_series, node);
    return report->n_series++;
}

/// Joins neighbours; an even number of buckets is full.
static void halve_curve(cri_report_series_node *s) {
    for (int i = 0; i < s->n_bucket / 2; i++) {
        s->x[i][0] = s->x[2 * i][0];
        s->x[i][1] = s->x[2 * i + 1][1];
        const cri_report_span *a = s->span + (size_t)(2 * i) * (size_t)s->n_line;
        cri_report_span *to = s->span + (size_t)i * (size_t)s->n_line;
        for (int k = 0; k < s->n_line; k++) {
            to[k] = join(a[k], a[s->n_line + k]);
        }
    }
    s->n_bucket /= 2;
    s->stride *= 2;
}

void cri_report_point(cri_report *report, int series, double x, const double *y) {
    if (!report || series < 0 || !isfinite(x)) {
        return;
    }
    // what was begun last is filled most
    cri_report_series_node *s = report->current_series;
    if (!s || s->number != series) {
        s = report->first_series;
        while (s && s->number != series) {
            s = s->next;
        }
        report->current_series = s;
    }
    CR_ASSERT(s);
    if (s->n_bucket == CRI_REPORT_POINTS) {
        halve_curve(s);
    }
    cri_report_span *span = s->span + (size_t)s->n_bucket * (size_t)s->n_line;
    for (int k = 0; k < s->n_line; k++) {
        double value = isfinite(y[k]) ? y[k] : NAN;
        cri_report_span here = {value, value, true};
        span[k] = s->n_filled > 0 ? join(span[k], here) : here;
    }
    if (s->n_filled == 0) {
        s->x[s->n_bucket][0] = x;
    }
    s->x[s->n_bucket][1] = x;
    if (++s->n_filled == s->stride) {
        s->n_bucket++;
        s->n_filled = 0;
    }
}

int cri_report_n_point(const cri_report_series_node *series) {
    int n = series->n_bucket + (series->n_filled > 0);
    return series->stride > 1 ? 2 * n : n;
}

double cri_report_x(const cri_report_series_node *series, int point) {
    bool is_pair = series->stride > 1;
    return is_pair ? series->x[point / 2][point % 2] : series->x[point][0];
}

double cri_report_y(const cri_report_series_node *series, int line, int point) {
    bool is_pair = series->stride > 1;
    size_t bucket = (size_t)(is_pair ? point / 2 : point);
    const cri_report_span *span = &series->span[bucket * (size_t)series->n_line + (size_t)line];
    bool is_first = is_pair ? point % 2 == 0 : true;
    return is_first == span->is_low_first ? span->low : span->high;
}

// ---- motions ------------------------------------------------------------------------------------

// Motions in bounded memory. A frame stands for stride steps: its poses are those after the last of
// them, its contacts those of all, impulses of the same place of a pair added up. When all frames
// are full, every second one is left out and its contacts go to the next; frame 0 is the start.

void cri_report_motion(cri_report *report, const char *name) {
    if (!report) {
        return;
    }
    cri_report_motion_node *node = CR_PUSH(report->memory, cri_report_motion_node, 1);
    if (node) {
        node->name = report_copy(report, name);
    }
    CRI_REPORT_APPEND(report->first_motion, report->last_motion, node);
}

void cri_report_marker(cri_report *report, const char *name, const double point[3]) {
    if (!report || cri_arena_has_failed(report->memory)) {
        return;
    }
    cri_report_motion_node *motion = report->last_motion;
    CR_ASSERT(motion);
    cri_report_marker_node *node = CR_PUSH(report->memory, cri_report_marker_node, 1);
    if (node) {
        node->name = report_copy(report, name);
        memcpy(node->point, point, sizeof node->point);
    }
    CRI_REPORT_APPEND(motion->first_marker, motion->last_marker, node);
}

// ---- shapes ------------------------------------------------------------------------------------

/// Frame of a geom that cannot move.
static cri_pose pose_of_static(const cr_model *model, const cri_geom *geom, double offset) {
    cri_pose pose = cri_model_static_pose(model, geom->body);
    pose.pos = cri_v3_add(pose.pos, cri_m3_mul(&pose.R, geom->pos));
    pose.R = cri_m3_product(&pose.R, &geom->R);
    if (geom->shape == CRI_SHAPE_PLANE) {
        // along its normal the plane stands where its offset says
        double move = offset - cri_v3_dot(geom->normal, pose.pos);
        pose.pos = cri_v3_mad(pose.pos, move, geom->normal);
    }
    return pose;
}

// an orientation whose z axis is the normal
static cri_quat quat_along(cri_vec3 normal) {
    cri_frame frame = cri_frame_of(normal);
    const cri_vec3 column[] = {frame.axis[1], frame.axis[2], frame.axis[0]};
    cri_mat3 R;
    for (int c = 0; c < 3; c++) {
        R.m[c] = column[c].x;
        R.m[3 + c] = column[c].y;
        R.m[6 + c] = column[c].z;
    }
    return cri_quat_of_rotation(&R);
}

// balls at the bodies of a system, then its walls
static void take_system(cri_report *report, cri_report_variant_node *v) {
    const cr_model *model = v->model;
    const cri_quat upright = {.w = 1.0};
    for (int b = 0; b < v->n_body; b++) {
        v->shape[b] = (cri_report_shape){.kind = CRI_SHAPE_SPHERE,
                                         .body = b,
                                         .quat = upright,
                                         .size = {model->system_radius[b]},
                                         .name = report_copy(report, model->body_name[b])};
    }
    for (int i = 0; i < model->n_system_wall; i++) {
        const cri_system_wall *wall = &model->system_wall[i];
        v->shape[v->n_body + i] =
            (cri_report_shape){.kind = CRI_SHAPE_PLANE,
                               .body = -1,
                               .pos = cri_v3_scale(wall->offset, wall->normal),
                               .quat = quat_along(wall->normal),
                               .size = {wall->offset},
                               .name = report_copy(report, wall->name)};
    }
}

// the surface of a field, as faces of three corners; NULL: no memory
static const cri_hull *surface_of(cri_report *report, const cri_triangles *mesh) {
    cri_hull *out = CR_PUSH(report->memory, cri_hull, 1);
    double *vertex = CR_PUSH(report->memory, double, 3 * mesh->n_vertex);
    int *start = CR_PUSH(report->memory, int, mesh->n_face + 1);
    int *face = CR_PUSH(report->memory, int, 3 * mesh->n_face);
    if (!out || !vertex || !start || !face) {
        return NULL;
    }
    memcpy(vertex, mesh->vertex, sizeof *vertex * 3 * (size_t)mesh->n_vertex);
    memcpy(face, mesh->face, sizeof *face * 3 * (size_t)mesh->n_face);
    for (int f = 0; f <= mesh->n_face; f++) {
        start[f] = 3 * f;
    }
    *out = (cri_hull){.n_vertex = mesh->n_vertex,
                      .n_face = mesh->n_face,
                      .vertex = vertex,
                      .face_start = start,
                      .face_vertex = face};
    return out;
}

static void take_shapes(cri_report *report, cri_report_variant_node *v, const cr_sim *sim) {
    const cr_model *model = v->model;
    for (int g = 0; g < v->n_shape; g++) {
        const cri_geom *geom = &model->geom[g];
        cri_report_shape *shape = &v->shape[g];
        *shape = (cri_report_shape){.kind = geom->shape,
                                    .body = -1,
                                    .pos = geom->pos,
                                    .quat = geom->quat,
                                    .hull = geom->hull,
                                    .name = report_copy(report, model->geom_name[g])};
        memcpy(shape->size, sim->d.geom[g].size, sizeof shape->size);
        if (geom->shape == CRI_SHAPE_FIELD) {
            shape->hull = surface_of(report, &sim->d.forms->form[g].tree.mesh);
        }
        for (int b = 0; b < v->n_body; b++) {
            shape->body = v->body[b] == geom->body ? b : shape->body;
        }
        if (shape->body < 0) {
            cri_pose pose = pose_of_static(model, geom, shape->size[0]);
            shape->pos = pose.pos;
            shape->quat = cri_quat_of_rotation(&pose.R);
        }
    }
}

void cri_report_variant(cri_report *report, const char *name, const cr_sim *sim) {
    if (!report || cri_arena_has_failed(report->memory)) {
        return;
    }
    CR_ASSERT(report->last_motion && sim);
    cr_arena *memory = report->memory;
    const cr_model *model = sim->model;
    cri_report_variant_node *v = CR_PUSH(memory, cri_report_variant_node, 1);
    double *x = CR_PUSH(memory, double, model->sizes.n_x);
    int *body = CR_PUSH(memory, int, model->sizes.n_body + 1);
    if (!v || !x || !body || !cri_arena_reserve(memory, cri_state_bytes(model))) {
        return;
    }
    *v = (cri_report_variant_node){.name = report_copy(report, name),
                                   .model = model,
                                   .x = x,
                                   .body = body,
                                   .n_shape = model->system_kind
                                                  ? model->sizes.n_body + model->n_system_wall
                                                  : model->sizes.n_geom,
                                   .stride = 1};
    cri_state_push(model, x, &v->state, memory);
    for (int b = 0; b < model->sizes.n_body; b++) {
        if (model->system_kind || model->mech.link[b].unit >= 0) {
            body[v->n_body++] = b;
        }
    }
    int n_number = N_POSE * (v->n_body > 0 ? v->n_body : 1);
    int limit = NUMBER_AIM / n_number;
    limit = limit < FRAMES_LEAST ? FRAMES_LEAST : limit;
    v->limit = (limit < CRI_REPORT_FRAMES ? limit : CRI_REPORT_FRAMES) | 1;
    v->shape = CR_PUSH(memory, cri_report_shape, v->n_shape + 1);
    v->frame = CR_PUSH(memory, cri_report_frame_data, v->limit + 1);
    v->pose = CR_PUSH(memory, double, (size_t)(v->limit + 1) * (size_t)n_number);
    if (!v->shape || !v->frame || !v->pose) {
        return;
    }
    if (model->system_kind) {
        take_system(report, v);
    } else {
        take_shapes(report, v, sim);
    }
    CRI_REPORT_APPEND(report->last_motion->first, report->last_motion->last, v);
}

// ---- contacts ----------------------------------------------------------------------------------

static double strength(const cri_report_touch *touch) {
    return cri_v3_norm(cri_v3_load(touch->impulse));
}

/// Adds to the frame's touch of the same place, or to those that there are while there is room, or
/// instead of the weakest.
static void add_touch(cr_arena *memory, cri_report_frame_data *frame,
                      const cri_report_touch *touch) {
    if (!frame->touch) {
        frame->touch = CR_PUSH_RAW(memory, cri_report_touch, CRI_REPORT_CONTACTS);
        if (!frame->touch) {
            return;
        }
    }
    int weakest = 0;
    for (int i = 0; i < frame->n_touch; i++) {
        cri_report_touch *old = &frame->touch[i];
        if (old->geom[0] == touch->geom[0] && old->geom[1] == touch->geom[1] &&
            old->place == touch->place) {
            for (int k = 0; k < 3; k++) {
                old->impulse[k] += touch->impulse[k];
                old->point[k] = touch->point[k];
            }
            old->is_impact = old->is_impact || touch->is_impact;
            return;
        }
        weakest = strength(old) < strength(&frame->touch[weakest]) ? i : weakest;
    }
    if (frame->n_touch < CRI_REPORT_CONTACTS) {
        frame->touch[frame->n_touch++] = *touch;
    } else if (strength(touch) > strength(&frame->touch[weakest])) {
        frame->touch[weakest] = *touch;
    }
}

static void add_contacts(cr_arena *memory, cri_report_frame_data *frame, int n,
                         const cr_contact *contact) {
    for (int i = 0; i < n; i++) {
        const cr_contact *c = &contact[i];
        bool is_limit = c->geom[0] < 0 || c->geom[1] < 0; // of a joint: it has no place
        if (is_limit || !cri_all_finite(3, c->impulse) || !cri_all_finite(3, c->point)) {
            continue;
        }
        cri_report_touch touch = {.geom = {c->geom[0], c->geom[1]}, .is_impact = c->is_impact};
        memcpy(touch.point, c->point, sizeof touch.point);
        memcpy(touch.impulse, c->impulse, sizeof touch.impulse);
        for (int k = 0; k < i; k++) {
            touch.place +=
                contact[k].geom[0] == c->geom[0] && contact[k].geom[1] == c->geom[1] ? 1 : 0;
        }
        add_touch(memory, frame, &touch);
    }
}

// ---- frames ------------------------------------------------------------------------------------

/// Leaves every second frame out; their number is odd.
static void halve_motion(cr_arena *memory, cri_report_variant_node *v) {
    size_t n_number = N_POSE * (size_t)v->n_body;
    int n = (v->n_frame + 1) / 2;
    for (int i = 1; i < n; i++) {
        cri_report_frame_data *from = &v->frame[2 * i], *left = &v->frame[2 * i - 1];
        for (int k = 0; k < left->n_touch; k++) {
            add_touch(memory, from, &left->touch[k]);
        }
        // the memory for touches changes place, so that none is lost
        cri_report_frame_data spare = v->frame[i];
        v->frame[i] = *from;
        *from = spare;
        memcpy(v->pose + (size_t)i * n_number, v->pose + (size_t)(2 * i) * n_number,
               n_number * sizeof *v->pose);
    }
    v->n_frame = n;
    v->stride *= 2;
    for (int i = n; i <= v->limit; i++) {
        v->frame[i].n_touch = 0;
    }
}

static void take_poses(cri_report_variant_node *v, double *pose) {
    if (!v->model->system_kind) {
        cri_state_set(v->model, &v->state);
    }
    for (int b = 0; b < v->n_body; b++, pose += N_POSE) {
        if (v->model->system_kind) {
            cri_v3_store(cri_body_position(v->model, b, (cri_vec3){0}, v->x), pose);
            cri_q4_store((cri_quat){.w = 1.0}, pose + 3);
            continue;
        }
        const cri_pose *from = &v->state.pose[v->body[b]];
        cri_v3_store(from->pos, pose);
        cri_q4_store(cri_quat_of_rotation(&from->R), pose + 3);
    }
}

void cri_report_frame(cri_report *report, double t, const double *x, int n_contact,
                      const cr_contact *contact) {
    if (!report || cri_arena_has_failed(report->memory)) {
        return;
    }
    cri_report_variant_node *v = report->last_motion ? report->last_motion->last : NULL;
    CR_ASSERT(v);
    if (!isfinite(t) || !cri_all_finite(v->model->sizes.n_x, x)) {
        return;
    }
    if (v->n_frame == v->limit) {
        halve_motion(report->memory, v);
    }
    memcpy(v->x, x, sizeof *x * (size_t)v->model->sizes.n_x);
    if (cri_model_normalise(v->model, v->x) >= 0) {
        return;
    }
    take_poses(v, v->pose + (size_t)v->n_frame * N_POSE * (size_t)v->n_body);
    cri_report_frame_data *frame = &v->frame[v->n_frame];
    frame->t = t;
    add_contacts(report->memory, frame, n_contact, contact);
    // the start is a frame of its own
    if (++v->n_filled == (v->n_frame == 0 ? 1 : v->stride)) {
        v->n_frame++;
        v->n_filled = 0;
    }
}

int cri_report_n_frame(const cri_report_variant_node *variant) {
    return variant->n_frame + (variant->n_filled > 0);
}

// ---- texts, tables and parameters ---------------------------------------------------------------

cr_status cri_report_create(const char *title, cri_report **out, cr_error *err) {
    *out = NULL;
    cr_arena *memory = cri_arena_create(1 << 16);
    cri_report *report = memory ? CR_PUSH(memory, cri_report, 1) : NULL;
    if (!report) {
        cri_arena_destroy(memory);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a report");
    }
    report->memory = memory;
    report->title = report_copy(report, title);
    *out = report;
    return CR_OK;
}

void cri_report_destroy(cri_report *report) {
    if (report) {
        for (const cri_report_model_node *m = report->first_model; m; m = m->next) {
            cr_model_destroy(m->model);
        }
        cri_arena_destroy(report->memory);
    }
}

void cri_report_own_model(cri_report *report, cr_model *model) {
    if (!report || !model) {
        return;
    }
    cri_report_model_node *node = CR_PUSH(report->memory, cri_report_model_node, 1);
    if (node) {
        node->model = model;
        CRI_REPORT_APPEND(report->first_model, report->last_model, node);
    } else {
        // a report that lacks memory is not written
        cr_model_destroy(model);
    }
}

void cri_report_command(cri_report *report, const char *text) {
    if (report) {
        report->command = report_copy(report, text);
    }
}

static cri_report_text *push_text(cri_report *report, const char *name, const char *format,
                                  va_list args) {
    char text[TEXT_LIMIT];
    vsnprintf(text, sizeof text, format, args);
    cri_report_text *node = CR_PUSH(report->memory, cri_report_text, 1);
    if (node) {
        node->name = report_copy(report, name);
        node->text = report_copy(report, text);
    }
    return node;
}

void cri_report_fact(cri_report *report, const char *name, const char *format, ...) {
    if (!report) {
        return;
    }
    va_list args;
    va_start(args, format);
    cri_report_text *node = push_text(report, name, format, args);
    va_end(args);
    CRI_REPORT_APPEND(report->first_fact, report->last_fact, node);
}

void cri_report_note(cri_report *report, const char *format, ...) {
    if (!report) {
        return;
    }
    va_list args;
    va_start(args, format);
    cri_report_text *node = push_text(report, NULL, format, args);
    va_end(args);
    CRI_REPORT_APPEND(report->first_note, report->last_note, node);
}

// ---- tables ------------------------------------------------------------------------------------

void cri_report_table(cri_report *report, const char *title, int n_column,
                      const cri_report_column *column) {
    CR_ASSERT(n_column > 0);
    if (!report) {
        return;
    }
    cri_report_table_node *node = CR_PUSH(report->memory, cri_report_table_node, 1);
    cri_report_column *copy = CR_PUSH(report->memory, cri_report_column, n_column);
    if (!node || !copy) {
        return;
    }
    for (int i = 0; i < n_column; i++) {
        copy[i] = column[i];
        copy[i].name = report_copy(report, column[i].name);
        copy[i].unit = report_copy(report, column[i].unit);
    }
    node->title = report_copy(report, title);
    node->n_column = n_column;
    node->column = copy;
    CRI_REPORT_APPEND(report->first_table, report->last_table, node);
}

void cri_report_row(cri_report *report, const cri_report_cell *cell) {
    if (!report || cri_arena_has_failed(report->memory)) {
        return;
    }
    cri_report_table_node *table = report->last_table;
    CR_ASSERT(table);
    cri_report_row_node *node = CR_PUSH(report->memory, cri_report_row_node, 1);
    cri_report_cell *copy = CR_PUSH(report->memory, cri_report_cell, table->n_column);
    if (!node || !copy) {
        return;
    }
    for (int i = 0; i < table->n_column; i++) {
        copy[i] = (cri_report_cell){report_copy(report, cell[i].text), cell[i].value};
    }
    node->cell = copy;
    CRI_REPORT_APPEND(table->first, table->last, node);
}

void cri_report_parameter(cri_report *report, const cri_report_value *value) {
    if (!report) {
        return;
    }
    cri_report_value_node *node = CR_PUSH(report->memory, cri_report_value_node, 1);
    if (node) {
        node->value = *value;
        node->value.name = report_copy(report, value->name);
        node->value.unit = report_copy(report, value->unit);
        node->value.note = report_copy(report, value->note);
    }
    CRI_REPORT_APPEND(report->first_value, report->last_value, node);
}
