// SPDX-License-Identifier: MIT
//
// carom shape show: the shapes of a space or of a family, in numbers and pictures.

#include "shape_show.h"

#include "base/io/file.h"
#include "base/io/number.h"
#include "base/io/png_file.h"
#include "base/math/quat.h"
#include "geometry/field/shape_space.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"
#include "geometry/query/depth.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TILE = 192, COLUMNS = 6, CELLS = 64, TILE_MOST = 96 };

/// What is shown: members of a family, or codes of a space.
typedef struct exhibit {
    const cri_shape_family *family; // NULL: a space
    cri_shape_space space;
    int n;
    double *code; // (n, n_code)
} exhibit;

/// One shape at a time.
typedef struct piece {
    cri_shape_family_member member;
    cri_space_field made;
    const cri_field *field;
    char name[CRI_SPACE_NAME];
} piece;

static void take(const exhibit *e, int k, piece *p) {
    if (e->family) {
        cri_shape_family_make(e->family, k, &p->member);
        p->field = &p->member.field;
        (void)snprintf(p->name, sizeof p->name, "%s", p->member.name);
        return;
    }
    cri_space_field_make(&e->space, 1.0, e->code + k * e->space.n_code, &p->made);
    p->field = &p->made.field;
    (void)snprintf(p->name, sizeof p->name, "%s",
                   e->code == e->space.code ? e->space.name[k] : "code");
}

// numbers with commas between
static int take_code(const char *text, cr_arena *arena, exhibit *e) {
    cr_error err = {0};
    int n = e->space.n_code;
    double *code = CR_PUSH(arena, double, n);
    if (!code) {
        return cli_failed("no memory for a code");
    }
    for (int k = 0; k < n; k++) {
        size_t length = strcspn(text, ",");
        bool is_last = text[length] == '\0';
        if (cri_number_parse(text, length, &code[k]) != CRI_NUMBER_OK || is_last != (k == n - 1)) {
            return cli_usage("--code: expected %d numbers with commas between", n);
        }
        text += length + (is_last ? 0 : 1);
    }
    if (cri_shape_space_check(&e->space, code, &err) != CR_OK) {
        return cli_failed("--code: %s", err.text);
    }
    e->code = code;
    e->n = 1;
    return CLI_DONE;
}

static int open_exhibit(const cli_options *o, cr_arena *arena, exhibit *e) {
    e->family = cri_shape_family_find(o->word[1]);
    if (e->family) {
        e->n = cri_shape_family_count(e->family);
        return o->code ? cli_usage("--code is for spaces of shapes, %.60s is a family", o->word[1])
                       : CLI_DONE;
    }
    cr_error err = {0};
    if (cri_shape_space_read(o->word[1], arena, &e->space, &err) != CR_OK) {
        return cli_error(&err);
    }
    e->n = e->space.n_shape;
    e->code = e->space.code;
    return o->code ? take_code(o->code, arena, e) : CLI_DONE;
}

// ---- numbers and meshes ------------------------------------------------------------------------

static int mesh_of(const piece *p, cr_arena *arena, cr_arena *scratch, cri_surface *out) {
    cri_march_box box = cri_march_box_of(p->field, CELLS);
    cr_error err = {0};
    cri_arena_reset(arena);
    return cri_surface_of_field(p->field, &box, arena, scratch, out, &err) == CR_OK
               ? CLI_DONE
               : cli_failed("%s: %s", p->name, err.text);
}

// the surface in numbers: volume, extents, how many holes
static void print_piece(const exhibit *e, int k, const piece *p, const cri_surface *s) {
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * s->n_vertex; i++) {
        lower[i % 3] = fmin(lower[i % 3], s->vertex[i]);
        upper[i % 3] = fmax(upper[i % 3], s->vertex[i]);
    }
    cri_mesh_mass mass = {0};
    if (!cri_mesh_integrals(s->n_vertex, s->vertex, s->n_face, s->face, &mass)) {
        mass.volume = NAN;
    }
    // Euler: v - e + f with e = 3 f/2
    int euler = s->n_vertex - s->n_face / 2;
    printf("%-16s volume %-9.4g size %.3g x %.3g x %.3g, Euler characteristic %d", p->name,
           mass.volume, upper[0] - lower[0], upper[1] - lower[1], upper[2] - lower[2], euler);
    for (int c = 0; !e->family && c < e->space.n_code; c++) {
        printf("%s%.4g", c ? "," : ", code ", e->code[k * e->space.n_code + c]);
    }
    putchar('\n');
}

static int write_obj(const char *path, const cri_surface *s) {
    cri_atomic_file file;
    cr_error err = {0};
    if (cri_atomic_open(path, &file, &err) != CR_OK) {
        return cli_error(&err);
    }
    for (int i = 0; i < s->n_vertex; i++) {
        const double *x = s->vertex + 3 * (size_t)i;
        (void)fprintf(file.stream, "v %.9g %.9g %.9g\n", x[0], x[1], x[2]);
    }
    for (int f = 0; f < s->n_face; f++) {
        const int *v = s->face + 3 * (size_t)f;
        (void)fprintf(file.stream, "f %d %d %d\n", v[0] + 1, v[1] + 1, v[2] + 1);
    }
    return cri_atomic_commit(&file, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

// ---- pictures ----------------------------------------------------------------------------------

// from the front, to the right and from above, so far away that it fills the tile
static cri_camera camera_of(const cri_field *field) {
    cri_vec3 lower, upper;
    cri_field_bounds(field, &lower, &upper);
    cri_vec3 middle = cri_v3_scale(0.5, cri_v3_add(lower, upper));
    double radius = 0.5 * cri_v3_norm(cri_v3_sub(upper, lower)), away = 5.0 * radius;
    cri_vec3 back = cri_v3(0.45, -0.75, 0.48), right, up;
    back = cri_v3_scale(1.0 / cri_v3_norm(back), back);
    right = cri_v3_cross(cri_v3(0.0, 0.0, 1.0), back);
    right = cri_v3_scale(1.0 / cri_v3_norm(right), right);
    up = cri_v3_cross(back, right);
    return (cri_camera){
        .width = TILE,
        .height = TILE,
        .fx = 2.6 * TILE,
        .fy = 2.6 * TILE,
        .cx = 0.5 * TILE,
        .cy = 0.5 * TILE,
        .pose = {.pos = cri_v3_mad(middle, away, back),
                 .R = {{right.x, up.x, back.x, right.y, up.y, back.y, right.z, up.z, back.z}}}};
}

static bool draw(const piece *p, unsigned char *grey, int stride, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *depth = CR_PUSH_RAW(scratch, double, TILE *TILE);
    double *normal = CR_PUSH_RAW(scratch, double, 3 * TILE * TILE);
    int *which = CR_PUSH_RAW(scratch, int, TILE *TILE);
    cri_camera camera = camera_of(p->field);
    cri_seen seen = {p->field, {.pos = {0.0, 0.0, 0.0}, .R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}}};
    const cri_vec3 light = {0.2, -0.7, 0.69};
    bool is_good = depth && normal && which &&
                   cri_depth_render(&camera, 1, &seen, depth, which, normal, scratch);
    for (int i = 0; is_good && i < TILE * TILE; i++) {
        double shade = 250.0;
        if (which[i] == 0) {
            shade =
                60.0 + 150.0 * fmax(0.0, cri_v3_dot(light, cri_v3_load(normal + 3 * (size_t)i)));
        }
        grey[i / TILE * stride + i % TILE] = (unsigned char)shade;
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

static int show_all(const cli_options *o, const exhibit *e, bool is_picture, cr_arena *scratch) {
    int n = e->n < TILE_MOST ? e->n : TILE_MOST, n_column = n < COLUMNS ? n : COLUMNS;
    int n_row = (n + n_column - 1) / n_column, width = n_column * TILE, height = n_row * TILE;
    cr_arena *own = cri_arena_create(1 << 20), *keep = cri_arena_create(1 << 20);
    unsigned char *grey =
        own && keep ? CR_PUSH_RAW(keep, unsigned char, (size_t)width *(size_t)height) : NULL;
    piece *p = grey ? CR_PUSH(keep, piece, 1) : NULL;
    int code = p ? CLI_DONE : cli_failed("no memory for %d pictures", n);
    if (p) {
        memset(grey, 255, (size_t)width * (size_t)height);
    }
    for (int k = 0; p && k < e->n && code == CLI_DONE; k++) {
        cri_surface surface;
        take(e, k, p);
        code = mesh_of(p, own, scratch, &surface);
        if (code == CLI_DONE) {
            print_piece(e, k, p, &surface);
        }
        if (code == CLI_DONE && o->output && !is_picture) {
            code = write_obj(o->output, &surface);
        }
        size_t at = (size_t)(k / n_column * TILE) * (size_t)width + (size_t)(k % n_column * TILE);
        if (code == CLI_DONE && is_picture && k < n && !draw(p, grey + at, width, scratch)) {
            code = cli_failed("no memory for a picture");
        }
    }
    cr_error err = {0};
    if (code == CLI_DONE && is_picture &&
        cri_png_write(o->output, width, height, grey, &err) != CR_OK) {
        code = cli_error(&err);
    }
    cri_arena_destroy(own);
    cri_arena_destroy(keep);
    return code;
}

int shape_show(const cli_options *o, cr_arena *arena, cr_arena *scratch) {
    if (o->n_word != 2) {
        return cli_usage("shape show takes one space of shapes or family; see 'carom help shape'");
    }
    const char *extension = o->output ? cli_extension(o->output) : NULL;
    bool is_picture = extension && strcmp(extension, ".png") == 0;
    bool is_mesh = extension && strcmp(extension, ".obj") == 0;
    if (o->output && !is_picture && !is_mesh) {
        return cli_usage("-o %.80s: expected a name that ends in .png or .obj", o->output);
    }
    exhibit e = {0};
    int code = open_exhibit(o, arena, &e);
    if (code == CLI_DONE && is_mesh && e.n != 1) {
        return cli_usage("-o %.80s: one mesh of %d shapes; pick one with --code", o->output, e.n);
    }
    return code == CLI_DONE ? show_all(o, &e, is_picture, scratch) : code;
}
