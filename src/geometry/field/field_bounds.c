// SPDX-License-Identifier: MIT
//
// How steep a field can be, and a box around its surface: those of its leaves, combined.

#include "geometry/field/field.h"

#include "base/math/quat.h"
#include "geometry/field/field_parts.h"
#include "geometry/field/grid.h"

#include <math.h>

double cri_field_lipschitz(const cri_field *field) {
    double most = 1.0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (node->kind == CRI_FIELD_GRID) {
            // outside of its box the slopes along and across it add up
            double inside = node->grid->lipschitz;
            most = fmax(most, sqrt(1.0 + inside * inside));
        } else if (node->kind == CRI_FIELD_CUSTOM) {
            most = fmax(most, node->custom->lipschitz);
        }
    }
    return most;
}

typedef struct range {
    cri_vec3 lower, upper;
} range;

static range leaf_range(const cri_field *field, const cri_field_node *node) {
    const double *p = field->param + node->first;
    range r;
    if (node->kind == CRI_FIELD_GRID) {
        r = (range){cri_v3_scale(p[0], node->grid->lower), cri_v3_scale(p[0], node->grid->upper)};
    } else if (node->kind == CRI_FIELD_CUSTOM) {
        r = (range){cri_v3_load(node->custom->lower), cri_v3_load(node->custom->upper)};
    } else {
        cri_vec3 e = cri_field_shape_extent(node->kind, p);
        r = (range){cri_v3_scale(-1.0, e), e};
    }
    if (!node->is_posed) {
        return r;
    }
    // the box around the turned box
    const double *pose = p + cri_field_node_params(node) - 6;
    cri_so3 turn = cri_so3_of(cri_v3_load(pose + 3));
    cri_vec3 half = cri_v3_scale(0.5, cri_v3_sub(r.upper, r.lower));
    cri_vec3 centre = cri_v3_scale(0.5, cri_v3_add(r.upper, r.lower)), e = cri_v3(0.0, 0.0, 0.0);
    const cri_vec3 axis[3] = {{half.x, 0.0, 0.0}, {0.0, half.y, 0.0}, {0.0, 0.0, half.z}};
    for (int a = 0; a < 3; a++) {
        cri_vec3 turned = cri_so3_rotate(&turn, axis[a]);
        e = cri_v3_add(e, cri_v3(fabs(turned.x), fabs(turned.y), fabs(turned.z)));
    }
    centre = cri_v3_add(cri_so3_rotate(&turn, centre), cri_v3_load(pose));
    return (range){cri_v3_sub(centre, e), cri_v3_add(centre, e)};
}

static cri_vec3 lowest(cri_vec3 a, cri_vec3 b) {
    return cri_v3(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
}

static cri_vec3 highest(cri_vec3 a, cri_vec3 b) {
    return cri_v3(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
}

void cri_field_bounds(const cri_field *field, cri_vec3 *lower, cri_vec3 *upper) {
    range stack[CRI_FIELD_NODES];
    int depth = 0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (node->kind < CRI_FIELD_UNION) {
            stack[depth++] = leaf_range(field, node);
            continue;
        }
        CR_ASSERT(depth >= 2);
        range *a = &stack[depth - 2];
        const range *b = &stack[depth - 1];
        double k = field->param[node->first];
        if (node->kind == CRI_FIELD_UNION) {
            // a blend adds to the surface where both values are below its width
            cri_vec3 wide = cri_v3(k, k, k);
            a->lower = cri_v3_sub(lowest(a->lower, b->lower), wide);
            a->upper = cri_v3_add(highest(a->upper, b->upper), wide);
        } else if (node->kind == CRI_FIELD_INTERSECTION) {
            a->lower = highest(a->lower, b->lower);
            a->upper = highest(a->lower, lowest(a->upper, b->upper));
        }
        depth--;
    }
    *lower = stack[0].lower;
    *upper = stack[0].upper;
}
