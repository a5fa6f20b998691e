// SPDX-License-Identifier: MIT
//
// Spaces of shapes, in memory and in files, and the families that they are trained on.

#include "geometry/field/shape_space.h"

#include "base/io/hdf5_file.h"
#include "base/random.h"
#include "geometry/field/field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cri_shape_family {
    const char *name;
    int n_member, n_size, n_code;
    double lower[CRI_SHAPE_FAMILY_PARAMS], upper[CRI_SHAPE_FAMILY_PARAMS];
    void (*build)(const double *size, int k, cri_shape_family_member *m);
};

static const cri_vec3 upright = {0.0, 0.0, 0.0};

static const double quarter = 1.57079632679489661923; // turn, rad

#define FORMAT "carom shapes 1"

enum { FEW = 8, ARRAYS = 2 * (CRI_SKIP_NET_MOST + 1) + FEW };

/// A leaf and what it points to.
typedef struct leaf {
    cri_field_custom custom;
    cri_neural neural;
    cri_skip_net net;
} leaf;

// ---- families to train on -----------------------------------------------------------------------

// Expressions are written in postfix order, as fields are.

static void put(cri_shape_family_member *m, cri_field_kind kind, bool is_posed, int n,
                const double *param) {
    CR_ASSERT(m->field.n_node < CRI_FIELD_NODES &&
              m->field.n_param + n <= CRI_SHAPE_FAMILY_NUMBERS);
    m->node[m->field.n_node++] =
        (cri_field_node){.kind = kind, .is_posed = is_posed, .first = m->field.n_param};
    memcpy(m->param + m->field.n_param, param, sizeof *param * (size_t)n);
    m->field.n_param += n;
}

// a primitive of n sizes at a place, turned by a rotation vector
static void add_leaf(cri_shape_family_member *m, cri_field_kind kind, int n, const double *size,
                     cri_vec3 at, cri_vec3 turn) {
    double param[10];
    memcpy(param, size, sizeof *size * (size_t)n);
    cri_v3_store(at, param + n);
    cri_v3_store(turn, param + n + 3);
    put(m, kind, true, n + 6, param);
}

static void join(cri_shape_family_member *m, cri_field_kind kind, double blend) {
    put(m, kind, false, 1, &blend);
}

// ---- the families ------------------------------------------------------------------------------

// radius, half height, width of the rims, depth of the upper and of the lower recess
static void build_can(const double *s, int k, cri_shape_family_member *m) {
    (void)k;
    const double whole[2] = {s[0], s[1]};
    add_leaf(m, CRI_FIELD_CYLINDER, 2, whole, upright, upright);
    for (int end = 0; end < 2; end++) {
        double z = end ? -s[1] : s[1];
        const double recess[2] = {s[0] - s[2], s[3 + end]};
        add_leaf(m, CRI_FIELD_CYLINDER, 2, recess, cri_v3(0.0, 0.0, z), upright);
        join(m, CRI_FIELD_DIFFERENCE, 0.04);
    }
}

// radius, half height, wall, bottom, reach, half height and thickness of the handle
static void build_mug(const double *s, int k, cri_shape_family_member *m) {
    (void)k;
    const double outer[2] = {s[0], s[1]}, inner[2] = {s[0] - s[2], s[1]};
    // the handle begins within the wall
    double half = 0.5 * (s[4] + s[2]), x = s[0] - s[2] + half;
    const double bow[4] = {half, s[6], s[5], 0.8 * s[6]};
    const double hole[3] = {half - 1.6 * s[6], 2.0 * s[6], s[5] - 1.6 * s[6]};
    add_leaf(m, CRI_FIELD_CYLINDER, 2, outer, upright, upright);
    add_leaf(m, CRI_FIELD_ROUNDED_BOX, 4, bow, cri_v3(x, 0.0, 0.0), upright);
    add_leaf(m, CRI_FIELD_BOX, 3, hole, cri_v3(x, 0.0, 0.0), upright);
    join(m, CRI_FIELD_DIFFERENCE, 0.03);
    join(m, CRI_FIELD_UNION, 0.05);
    add_leaf(m, CRI_FIELD_CYLINDER, 2, inner, cri_v3(0.0, 0.0, s[3]), upright);
    join(m, CRI_FIELD_DIFFERENCE, 0.03);
}

// half width, half depth, half height, radius and length of the lens, half width and place of the
// hump
static void build_camera(const double *s, int k, cri_shape_family_member *m) {
    (void)k;
    const double body[4] = {s[0], s[1], s[2], 0.06}, lens[2] = {s[3], 0.5 * (s[4] + s[1])};
    const double hump[4] = {s[5], 0.8 * s[1], 0.2, 0.05};
    add_leaf(m, CRI_FIELD_ROUNDED_BOX, 4, body, upright, upright);
    add_leaf(m, CRI_FIELD_CYLINDER, 2, lens, cri_v3(0.0, -s[1] - 0.5 * s[4] + 0.5 * s[1], -0.05),
             cri_v3(quarter, 0.0, 0.0));
    join(m, CRI_FIELD_UNION, 0.05);
    add_leaf(m, CRI_FIELD_ROUNDED_BOX, 4, hump, cri_v3(s[6], 0.0, s[2]), upright);
    join(m, CRI_FIELD_UNION, 0.05);
}

static void build_beast(cri_shape_family_member *m) {
    const double trunk[3] = {0.5, 0.27, 0.26}, head[1] = {0.22}, leg[2] = {0.1, 0.22};
    const double tail[2] = {0.06, 0.12};
    add_leaf(m, CRI_FIELD_ELLIPSOID, 3, trunk, cri_v3(0.05, 0.0, 0.0), upright);
    add_leaf(m, CRI_FIELD_SPHERE, 1, head, cri_v3(-0.55, 0.0, 0.32), upright);
    join(m, CRI_FIELD_UNION, 0.2);
    for (int k = 0; k < 4; k++) {
        cri_vec3 at = cri_v3(k & 1 ? 0.38 : -0.27, k & 2 ? 0.15 : -0.15, -0.3);
        add_leaf(m, CRI_FIELD_CAPSULE, 2, leg, at, upright);
        join(m, CRI_FIELD_UNION, 0.1);
    }
    add_leaf(m, CRI_FIELD_CAPSULE, 2, tail, cri_v3(0.6, 0.0, 0.15), cri_v3(0.0, 0.7, 0.0));
    join(m, CRI_FIELD_UNION, 0.1);
}

static void build_float(cri_shape_family_member *m) {
    const double ring[2] = {0.62, 0.2}, hole[2] = {0.25, 0.6}, head[1] = {0.22};
    const double tail[2] = {0.07, 0.1};
    add_leaf(m, CRI_FIELD_CYLINDER, 2, ring, cri_v3(0.15, 0.0, -0.1), upright);
    add_leaf(m, CRI_FIELD_SPHERE, 1, head, cri_v3(-0.5, 0.0, 0.25), upright);
    join(m, CRI_FIELD_UNION, 0.25);
    add_leaf(m, CRI_FIELD_CAPSULE, 2, tail, cri_v3(0.72, 0.0, 0.1), cri_v3(0.0, 0.7, 0.0));
    join(m, CRI_FIELD_UNION, 0.1);
    add_leaf(m, CRI_FIELD_CYLINDER, 2, hole, cri_v3(0.175, 0.0, 0.0), upright);
    join(m, CRI_FIELD_DIFFERENCE, 0.15);
}

static void build_animal(const double *s, int k, cri_shape_family_member *m) {
    (void)s;
    if (k == 0) {
        build_beast(m);
    } else {
        build_float(m);
    }
}

static const cri_shape_family families[] = {
    {"cans", 24, 5, 4, {0.32, 0.45, 0.08, 0.06, 0.06}, {0.6, 0.75, 0.14, 0.2, 0.2}, build_can},
    {"mugs",
     22,
     7,
     4,
     {0.38, 0.4, 0.1, 0.12, 0.3, 0.26, 0.08},
     {0.52, 0.65, 0.15, 0.2, 0.42, 0.38, 0.1},
     build_mug},
    {"cameras",
     22,
     7,
     4,
     {0.5, 0.16, 0.3, 0.16, 0.15, 0.12, -0.3},
     {0.78, 0.28, 0.48, 0.28, 0.45, 0.25, 0.3},
     build_camera},
    {"animals", 2, 0, 2, {0.0}, {0.0}, build_animal},
};

enum { FAMILIES = sizeof families / sizeof *families };

const cri_shape_family *cri_shape_family_at(int i) {
    return i >= 0 && i < FAMILIES ? &families[i] : NULL;
}

const cri_shape_family *cri_shape_family_find(const char *name) {
    for (int i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i].name, name) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

int cri_shape_family_count(const cri_shape_family *family) {
    return family->n_member;
}

int cri_shape_family_code(const cri_shape_family *family) {
    return family->n_code;
}

void cri_shape_family_make(const cri_shape_family *family, int k, cri_shape_family_member *out) {
    CR_ASSERT(family && k >= 0 && k < family->n_member);
    *out = (cri_shape_family_member){.n_size = family->n_size};
    (void)snprintf(out->name, sizeof out->name, "%s%02d", family->name, k);
    cri_random stream = cri_random_of((uint64_t)(family - families), (uint64_t)k);
    for (int i = 0; i < family->n_size; i++) {
        out->size[i] = cri_random_uniform(&stream, family->lower[i], family->upper[i]);
    }
    family->build(out->size, k, out);
    out->field.node = out->node;
    out->field.param = out->param;
}

// ---- spaces -------------------------------------------------------------------------------------

bool cri_shape_space_push(cr_arena *arena, cri_shape_space *s) {
    s->w = CR_PUSH(arena, double, cri_skip_net_n_weight(&s->net));
    s->code = CR_PUSH(arena, double, s->n_shape * s->n_code + 1);
    s->name = cri_arena_push(arena, sizeof *s->name * (size_t)s->n_shape);
    return s->w && s->code && s->name;
}

// ---- files -------------------------------------------------------------------------------------

static char *names_of(const cri_shape_space *s) {
    size_t room = ((size_t)s->n_shape + 1) * (CRI_SPACE_NAME + 1), at = 0;
    char *text = calloc(room, 1);
    for (int i = 0; text && i < s->n_shape; i++) {
        at += (size_t)snprintf(text + at, room - at, "%s\n", s->name[i]);
    }
    return text;
}

cr_status cri_shape_space_write(const char *path, const cri_shape_space *s, cr_error *err) {
    cri_array array[ARRAYS];
    char name[ARRAYS][24];
    int n = 0;
    for (int l = 0; l <= s->net.n_hidden; l++) {
        int in = cri_skip_net_in(&s->net, l), out = cri_skip_net_out(&s->net, l);
        (void)snprintf(name[n], sizeof name[n], "net/%d/w", l);
        array[n] = (cri_array){name[n], 2, {out, in}, s->w + cri_skip_net_place(&s->net, l, false)};
        n++;
        (void)snprintf(name[n], sizeof name[n], "net/%d/b", l);
        array[n] = (cri_array){name[n], 1, {out}, s->w + cri_skip_net_place(&s->net, l, true)};
        n++;
    }
    double bounds[6], centre[3], beta = s->net.beta, skip = s->net.skip, scale = s->scale,
                                 slope = s->slope;
    memcpy(bounds, s->lower, sizeof s->lower);
    memcpy(bounds + 3, s->upper, sizeof s->upper);
    cri_v3_store(s->centre, centre);
    const cri_array few[FEW - 1] = {{"codes", 2, {s->n_shape, s->n_code}, s->code},
                                    {"centre", 1, {3}, centre},
                                    {"scale", 1, {1}, &scale},
                                    {"slope", 1, {1}, &slope},
                                    {"beta", 1, {1}, &beta},
                                    {"skip", 1, {1}, &skip},
                                    {"bounds", 2, {2, 3}, bounds}};
    memcpy(array + n, few, sizeof few);
    char *names = names_of(s);
    if (!names) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to write %s", path);
    }
    cri_array_text text = {"shapes", names};
    cr_status status =
        cri_arrays_write(path, &(cri_array_file){FORMAT, n + FEW - 1, array, 1, &text}, err);
    free(names);
    return status;
}

// numbers of an array of this name and size; false: there is none
static bool take(const cri_array_file *content, const char *name, int n, double *out) {
    const cri_array *a = cri_arrays_find(content, name);
    long size = a ? 1 : 0;
    for (int i = 0; a && i < a->rank; i++) {
        size *= a->extent[i];
    }
    if (!a || size != n) {
        return false;
    }
    memcpy(out, a->value, sizeof *out * (size_t)n);
    return true;
}

// what the arrays say about the net, by their sizes
static bool shape_of(const cri_array_file *content, cri_shape_space *s) {
    double centre[3], bounds[6], skip;
    const cri_array *codes = cri_arrays_find(content, "codes");
    const cri_array *first = cri_arrays_find(content, "net/0/w");
    const cri_array *second = cri_arrays_find(content, "net/1/w");
    if (!codes || codes->rank != 2 || !first || first->rank != 2 || !second || second->rank != 2 ||
        !take(content, "centre", 3, centre) || !take(content, "scale", 1, &s->scale) ||
        !take(content, "slope", 1, &s->slope) || !take(content, "beta", 1, &s->net.beta) ||
        !take(content, "skip", 1, &skip) || !take(content, "bounds", 6, bounds)) {
        return false;
    }
    char name[24];
    int n_layer = 0;
    do {
        (void)snprintf(name, sizeof name, "net/%d/w", ++n_layer);
    } while (n_layer <= CRI_SKIP_NET_MOST && cri_arrays_find(content, name));
    s->n_shape = codes->extent[0];
    s->n_code = codes->extent[1];
    s->net.n_in = first->extent[1];
    s->net.n_hidden = n_layer - 1;
    s->net.width = second->extent[1];
    s->net.skip = skip >= 0.0 && skip <= CRI_SKIP_NET_MOST ? (int)skip : -1;
    s->centre = cri_v3_load(centre);
    memcpy(s->lower, bounds, sizeof s->lower);
    memcpy(s->upper, bounds + 3, sizeof s->upper);
    bool is_box =
        s->lower[0] < s->upper[0] && s->lower[1] < s->upper[1] && s->lower[2] < s->upper[2];
    return s->n_code <= CRI_CODE_MOST && s->n_shape <= CRI_SPACE_SHAPES &&
           s->net.n_in == 3 + s->n_code && !cri_skip_net_fault(&s->net) && s->scale > 0.0 &&
           s->slope > 0.0 && is_box && s->net.n_hidden * s->net.width <= CRI_NEURAL_UNITS;
}

static bool take_weights(const cri_array_file *content, cri_shape_space *s) {
    bool is_good = take(content, "codes", s->n_shape * s->n_code, s->code);
    for (int l = 0; is_good && l <= s->net.n_hidden; l++) {
        char name[24];
        int in = cri_skip_net_in(&s->net, l), out = cri_skip_net_out(&s->net, l);
        (void)snprintf(name, sizeof name, "net/%d/w", l);
        is_good = take(content, name, in * out, s->w + cri_skip_net_place(&s->net, l, false));
        (void)snprintf(name, sizeof name, "net/%d/b", l);
        is_good = is_good && take(content, name, out, s->w + cri_skip_net_place(&s->net, l, true));
    }
    return is_good;
}

static void take_names(const char *text, cri_shape_space *s) {
    for (int i = 0; i < s->n_shape; i++) {
        size_t n = text ? strcspn(text, "\n") : 0;
        if (n > 0) {
            (void)snprintf(s->name[i], CRI_SPACE_NAME, "%.*s", (int)n, text);
        } else {
            (void)snprintf(s->name[i], CRI_SPACE_NAME, "shape%d", i);
        }
        text = text && text[n] ? text + n + 1 : NULL;
    }
}

static cr_status settle(cri_array_file *content, const char *file, cr_arena *arena,
                        cri_shape_space *out, cr_error *err) {
    *out = (cri_shape_space){0};
    if (!shape_of(content, out)) {
        return cri_fail(err, CR_ERR_SYNTAX, 0,
                        "%s: its arrays are no space of shapes; write one with 'carom shape train'",
                        file);
    }
    if (!cri_shape_space_push(arena, out)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "%s: no memory for a space of shapes", file);
    }
    if (!take_weights(content, out)) {
        return cri_fail(err, CR_ERR_SYNTAX, 0,
                        "%s: the layers of its net do not fit together; write it again with "
                        "'carom shape train'",
                        file);
    }
    take_names(content->text[0].text, out);
    return CR_OK;
}

cr_status cri_shape_space_read(const char *path, cr_arena *arena, cri_shape_space *out,
                               cr_error *err) {
    cri_array_text text = {"shapes", NULL};
    cri_array_file content = {.format = FORMAT, .n_text = 1, .text = &text};
    cr_status status = cri_arrays_read(path, &content, err);
    status = status == CR_OK ? settle(&content, path, arena, out, err) : status;
    cri_arrays_clear(&content);
    return status;
}

// ---- codes -------------------------------------------------------------------------------------

void cri_shape_space_range(const cri_shape_space *s, int k, double *lower, double *upper) {
    CR_ASSERT(k >= 0 && k < s->n_code);
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < s->n_shape; i++) {
        least = fmin(least, s->code[i * s->n_code + k]);
        most = fmax(most, s->code[i * s->n_code + k]);
    }
    // a space of one shape has some room too
    double more = fmax(0.5 * (most - least), 0.01);
    *lower = least - more;
    *upper = most + more;
}

cr_status cri_shape_space_check(const cri_shape_space *s, const double *code, cr_error *err) {
    for (int k = 0; k < s->n_code; k++) {
        double lower, upper;
        cri_shape_space_range(s, k, &lower, &upper);
        if (!(code[k] >= lower && code[k] <= upper)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "number %d of the code is %g, outside of the space of shapes: choose "
                            "it from %.4g to %.4g",
                            k, code[k], lower, upper);
        }
    }
    return CR_OK;
}

void cri_space_field_make(const cri_shape_space *s, double size, const double *code,
                          cri_space_field *out) {
    CR_ASSERT(size > 0.0);
    double lower[3], upper[3];
    for (int a = 0; a < 3; a++) {
        lower[a] = size * s->lower[a];
        upper[a] = size * s->upper[a];
    }
    out->neural = (cri_neural){&s->net, s->w, cri_v3_scale(size, s->centre), size * s->scale};
    out->custom = cri_neural_custom(&out->neural, s->slope, lower, upper);
    out->node = (cri_field_node){.kind = CRI_FIELD_CUSTOM, .custom = &out->custom};
    out->field = (cri_field){1, &out->node, s->n_code, code};
}

// ---- leaves ------------------------------------------------------------------------------------

const cri_field_custom *cri_space_leaf_copy(const cri_field_custom *from, cr_arena *arena) {
    const cri_neural *neural = from->self;
    size_t n_weight = (size_t)cri_skip_net_n_weight(neural->net), n = 2 * (size_t)from->n_param;
    leaf *l = CR_PUSH(arena, leaf, 1);
    double *w = CR_PUSH_RAW(arena, double, n_weight);
    double *turned = CR_PUSH_RAW(arena, double, n_weight);
    double *range = CR_PUSH_RAW(arena, double, n + 1);
    if (!l || !w || !turned || !range) {
        return NULL;
    }
    memcpy(w, neural->w, sizeof *w * n_weight);
    memcpy(range, from->range, sizeof *range * n);
    cri_skip_net_turn(neural->net, w, turned);
    l->net = *neural->net;
    l->net.turned = turned;
    l->neural = (cri_neural){&l->net, w, neural->centre, neural->scale};
    l->custom = *from;
    l->custom.self = &l->neural;
    l->custom.range = range;
    return &l->custom;
}

const cri_field_custom *cri_space_leaf_push(const cri_shape_space *s, double size,
                                            cr_arena *arena) {
    cri_space_field f;
    double range[2 * CRI_CODE_MOST];
    cri_space_field_make(s, size, s->code, &f);
    for (int k = 0; k < s->n_code; k++) {
        cri_shape_space_range(s, k, &range[2 * k], &range[2 * k + 1]);
    }
    f.custom.range = range;
    return cri_space_leaf_copy(&f.custom, arena);
}

const double *cri_shape_space_find(const cri_shape_space *s, const char *name) {
    for (int i = 0; i < s->n_shape; i++) {
        if (strcmp(s->name[i], name) == 0) {
            return s->code + (size_t)i * (size_t)s->n_code;
        }
    }
    return NULL;
}
