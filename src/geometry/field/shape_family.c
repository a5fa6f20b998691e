// SPDX-License-Identifier: MIT
//
// Families of shapes. Expressions are written in postfix order, as fields are.

#include "geometry/field/shape_family.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct cri_shape_family {
    const char *name;
    int n_member, n_size, n_code;
    double lower[CRI_SHAPE_FAMILY_PARAMS], upper[CRI_SHAPE_FAMILY_PARAMS];
    void (*build)(const double *size, int k, cri_shape_family_member *m);
};

static const cri_vec3 upright = {0.0, 0.0, 0.0};
static const double quarter = 1.57079632679489661923; // turn, rad

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
static void leaf(cri_shape_family_member *m, cri_field_kind kind, int n, const double *size,
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
    leaf(m, CRI_FIELD_CYLINDER, 2, whole, upright, upright);
    for (int end = 0; end < 2; end++) {
        double z = end ? -s[1] : s[1];
        const double recess[2] = {s[0] - s[2], s[3 + end]};
        leaf(m, CRI_FIELD_CYLINDER, 2, recess, cri_v3(0.0, 0.0, z), upright);
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
    leaf(m, CRI_FIELD_CYLINDER, 2, outer, upright, upright);
    leaf(m, CRI_FIELD_ROUNDED_BOX, 4, bow, cri_v3(x, 0.0, 0.0), upright);
    leaf(m, CRI_FIELD_BOX, 3, hole, cri_v3(x, 0.0, 0.0), upright);
    join(m, CRI_FIELD_DIFFERENCE, 0.03);
    join(m, CRI_FIELD_UNION, 0.05);
    leaf(m, CRI_FIELD_CYLINDER, 2, inner, cri_v3(0.0, 0.0, s[3]), upright);
    join(m, CRI_FIELD_DIFFERENCE, 0.03);
}

// half width, half depth, half height, radius and length of the lens, half width and place of the
// hump
static void build_camera(const double *s, int k, cri_shape_family_member *m) {
    (void)k;
    const double body[4] = {s[0], s[1], s[2], 0.06}, lens[2] = {s[3], 0.5 * (s[4] + s[1])};
    const double hump[4] = {s[5], 0.8 * s[1], 0.2, 0.05};
    leaf(m, CRI_FIELD_ROUNDED_BOX, 4, body, upright, upright);
    leaf(m, CRI_FIELD_CYLINDER, 2, lens, cri_v3(0.0, -s[1] - 0.5 * s[4] + 0.5 * s[1], -0.05),
         cri_v3(quarter, 0.0, 0.0));
    join(m, CRI_FIELD_UNION, 0.05);
    leaf(m, CRI_FIELD_ROUNDED_BOX, 4, hump, cri_v3(s[6], 0.0, s[2]), upright);
    join(m, CRI_FIELD_UNION, 0.05);
}

static void build_beast(cri_shape_family_member *m) {
    const double trunk[3] = {0.5, 0.27, 0.26}, head[1] = {0.22}, leg[2] = {0.1, 0.22};
    const double tail[2] = {0.06, 0.12};
    leaf(m, CRI_FIELD_ELLIPSOID, 3, trunk, cri_v3(0.05, 0.0, 0.0), upright);
    leaf(m, CRI_FIELD_SPHERE, 1, head, cri_v3(-0.55, 0.0, 0.32), upright);
    join(m, CRI_FIELD_UNION, 0.2);
    for (int k = 0; k < 4; k++) {
        cri_vec3 at = cri_v3(k & 1 ? 0.38 : -0.27, k & 2 ? 0.15 : -0.15, -0.3);
        leaf(m, CRI_FIELD_CAPSULE, 2, leg, at, upright);
        join(m, CRI_FIELD_UNION, 0.1);
    }
    leaf(m, CRI_FIELD_CAPSULE, 2, tail, cri_v3(0.6, 0.0, 0.15), cri_v3(0.0, 0.7, 0.0));
    join(m, CRI_FIELD_UNION, 0.1);
}

static void build_float(cri_shape_family_member *m) {
    const double ring[2] = {0.62, 0.2}, hole[2] = {0.25, 0.6}, head[1] = {0.22};
    const double tail[2] = {0.07, 0.1};
    leaf(m, CRI_FIELD_CYLINDER, 2, ring, cri_v3(0.15, 0.0, -0.1), upright);
    leaf(m, CRI_FIELD_SPHERE, 1, head, cri_v3(-0.5, 0.0, 0.25), upright);
    join(m, CRI_FIELD_UNION, 0.25);
    leaf(m, CRI_FIELD_CAPSULE, 2, tail, cri_v3(0.72, 0.0, 0.1), cri_v3(0.0, 0.7, 0.0));
    join(m, CRI_FIELD_UNION, 0.1);
    leaf(m, CRI_FIELD_CYLINDER, 2, hole, cri_v3(0.175, 0.0, 0.0), upright);
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

const char *cri_shape_family_name(const cri_shape_family *family) {
    return family->name;
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
