// SPDX-License-Identifier: MIT
//
// Points and depth frames for carom fit.
//
// CSV: columns t, x, y, z, a row for each point, in the world; rows of one time are a frame. HDF5
// of the format "carom depth 1": either points (n, 4) with rows t x y z, or
//   time (n)                  s
//   depth (n, height, width)  m along the view, 0: nothing seen
//   mask (n, height, width)   not 0 where the geom is seen; may be left out
//   camera (6)                fx, fy, cx, cy, width, height
//   pose (7)                  position and quaternion w x y z of the camera, which looks along -z

#include "fit_depth.h"

#include "base/io/hdf5_file.h"
#include "base/io/table.h"
#include "base/math/quat.h"
#include "optimize/replay.h"

#include <stdio.h>
#include <string.h>

enum { POINTS = 200, FRAME_MOST = 100000 };

/// Frames of one file.
typedef struct frames {
    const cli_scene *scene;
    const char *file;
    int geom, n_point;
    int n;
    cri_cloud_frame *frame;
} frames;

static int settle(const frames *f, cri_recording *out) {
    cr_error err = {0};
    cri_cloud_def def = {f->geom, f->n, f->frame, f->n_point, f->file};
    return cri_cloud_push(f->scene->model, &def, f->scene->memory, out, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

// rows t x y z, place by column, of equal times in a row
static int take_rows(frames *f, int n_row, int n_col, const double *value, const int column[4]) {
    f->frame = CR_PUSH(f->scene->memory, cri_cloud_frame, n_row + 1);
    double *point = CR_PUSH(f->scene->memory, double, 3 * (size_t)n_row + 1);
    if (!f->frame || !point) {
        return cli_failed("%.200s: no memory for %d points", f->file, n_row);
    }
    for (int i = 0; i < n_row; i++) {
        const double *row = value + (size_t)i * (size_t)n_col;
        double t = row[column[0]];
        if (f->n == 0 || f->frame[f->n - 1].time != t) {
            f->frame[f->n++] = (cri_cloud_frame){.time = t, .point = point + 3 * (size_t)i};
        }
        for (int a = 0; a < 3; a++) {
            point[3 * (size_t)i + (size_t)a] = row[column[a + 1]];
        }
        f->frame[f->n - 1].n++;
    }
    return CLI_DONE;
}

static int read_table(frames *f) {
    static const char *const name[4] = {"t", "x", "y", "z"};
    cri_table table;
    cr_error err = {0};
    int column[4], code = CLI_DONE;
    if (cri_table_read(f->file, &table, &err) != CR_OK) {
        return cli_error(&err);
    }
    for (int a = 0; a < 4 && code == CLI_DONE; a++) {
        column[a] = cri_table_find(&table, name[a]);
        if (column[a] < 0) {
            code = cli_failed("%.200s: no column %s; points need columns t, x, y, z", f->file,
                              name[a]);
        }
    }
    code = code == CLI_DONE ? take_rows(f, table.n_row, table.n_col, table.value, column) : code;
    cri_table_clear(&table);
    return code;
}

// ---- depth frames ------------------------------------------------------------------------------

static const cri_array *find(const cri_array_file *content, const char *name, int rank) {
    const cri_array *a = cri_arrays_find(content, name);
    return a && a->rank == rank ? a : NULL;
}

static int take_camera(const frames *f, const cri_array_file *content, const cri_array *depth,
                       cri_camera *out) {
    const cri_array *camera = find(content, "camera", 1), *pose = find(content, "pose", 1);
    if (!camera || camera->extent[0] != 6 || !pose || pose->extent[0] != 7) {
        return cli_failed("%.200s: depth frames need the arrays camera (fx, fy, cx, cy, width, "
                          "height) and pose (position, quaternion)",
                          f->file);
    }
    const double *c = camera->value;
    if (c[4] != depth->extent[2] || c[5] != depth->extent[1]) {
        return cli_failed(
            "%.200s: the camera has pictures of %g x %g, but the depth frames are %d x "
            "%d",
            f->file, c[4], c[5], depth->extent[2], depth->extent[1]);
    }
    cri_quat q = cri_q4_load(pose->value + 3);
    if (!(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z > 0.0)) {
        return cli_failed("%.200s: the quaternion of the camera is zero", f->file);
    }
    *out = (cri_camera){
        .width = depth->extent[2],
        .height = depth->extent[1],
        .fx = c[0],
        .fy = c[1],
        .cx = c[2],
        .cy = c[3],
        .pose = {.pos = cri_v3_load(pose->value), .R = cri_quat_rotation(cri_quat_normalise(q))}};
    const char *fault = cri_camera_fault(out);
    return fault ? cli_failed("%.200s: %s", f->file, fault) : CLI_DONE;
}

// points of one picture, those outside of the mask left out
static int take_picture(frames *f, const cri_camera *camera, double time, double *depth,
                        const double *mask) {
    int n_pixel = camera->width * camera->height, n = 0;
    for (int i = 0; i < n_pixel; i++) {
        depth[i] = mask && mask[i] == 0.0 ? 0.0 : depth[i];
        if (depth[i] < 0.0) {
            return cli_failed("%.200s: frame %d has a depth of %g at pixel %d, %d; 0 stands for "
                              "nothing seen",
                              f->file, f->n + 1, depth[i], i % camera->width, i / camera->width);
        }
        n += depth[i] > 0.0;
    }
    double *point = CR_PUSH(f->scene->memory, double, 3 * (size_t)n + 1);
    if (!point) {
        return cli_failed("%.200s: no memory for %d points", f->file, n);
    }
    f->frame[f->n++] =
        (cri_cloud_frame){time, cri_depth_points(camera, depth, NULL, 0, n, point), point};
    return CLI_DONE;
}

static int take_pictures(frames *f, const cri_array_file *content) {
    const cri_array *time = find(content, "time", 1), *depth = find(content, "depth", 3);
    const cri_array *mask = cri_arrays_find(content, "mask");
    if (!time || !depth || time->extent[0] != depth->extent[0]) {
        return cli_failed(
            "%.200s: needs the arrays time (n) and depth (n, height, width), or points "
            "(n, 4)",
            f->file);
    }
    if (mask && (mask->rank != 3 || memcmp(mask->extent, depth->extent, 3 * sizeof(int)) != 0)) {
        return cli_failed("%.200s: mask and depth are of different sizes", f->file);
    }
    cri_camera camera = {0};
    int code = take_camera(f, content, depth, &camera);
    int n = depth->extent[0];
    f->frame = CR_PUSH(f->scene->memory, cri_cloud_frame, n + 1);
    if (code == CLI_DONE && !f->frame) {
        return cli_failed("%.200s: no memory for %d frames", f->file, n);
    }
    size_t n_pixel = (size_t)depth->extent[1] * (size_t)depth->extent[2];
    for (int k = 0; k < n && code == CLI_DONE; k++) {
        code = take_picture(f, &camera, time->value[k], depth->value + (size_t)k * n_pixel,
                            mask ? mask->value + (size_t)k * n_pixel : NULL);
    }
    return code;
}

static int read_arrays(frames *f) {
    cri_array_file content = {.format = "carom depth 1"};
    cr_error err = {0};
    if (cri_arrays_read(f->file, &content, &err) != CR_OK) {
        cri_arrays_clear(&content);
        return cli_error(&err);
    }
    static const int column[4] = {0, 1, 2, 3};
    const cri_array *points = find(&content, "points", 2);
    int code = points && points->extent[1] == 4
                   ? take_rows(f, points->extent[0], 4, points->value, column)
                   : take_pictures(f, &content);
    cri_arrays_clear(&content);
    return code;
}

int cli_fit_depth(const cli_scene *scene, const cli_options *o, int k, cri_recording *out) {
    const char *text = o->depth[k], *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        return cli_usage("--depth %.80s: expected GEOM=FILE", text);
    }
    frames f = {.scene = scene, .file = equals + 1, .geom = -1, .n_point = POINTS};
    size_t n_byte = (size_t)(equals - text);
    for (int g = 0; g < scene->sizes.n_geom; g++) {
        const char *name = scene->model->geom_name[g];
        f.geom = strlen(name) == n_byte && memcmp(name, text, n_byte) == 0 ? g : f.geom;
    }
    if (f.geom < 0) {
        return cli_usage("--depth %.80s: the scene has no geom of this name", text);
    }
    cri_field_node leaf;
    cri_field field;
    if (!cri_cloud_field(scene->model, f.geom, scene->p, &leaf, &field)) {
        return cli_usage("--depth %.80s: planes and convex meshes have no distance field; see "
                         "docs/shapes.md",
                         text);
    }
    double n = POINTS;
    int code = o->n_point ? cli_put_whole("--points", o->n_point, 1.0, 100000.0, &n) : CLI_DONE;
    f.n_point = (int)n;
    const char *extension = cli_extension(f.file);
    bool is_hdf5 = extension && (strcmp(extension, ".h5") == 0 || strcmp(extension, ".hdf5") == 0);
    if (code == CLI_DONE) {
        code = is_hdf5 ? read_arrays(&f) : read_table(&f);
    }
    return code == CLI_DONE ? settle(&f, out) : code;
}
