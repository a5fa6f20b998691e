// SPDX-License-Identifier: MIT
//
// Random shapes in random poses, for tests of geometry.

#include "random_shape.h"

#include <math.h>

cri_vec3 random_unit(cr_test_rng *rng) {
    for (;;) {
        double x = cr_test_uniform(rng, -1.0, 1.0);
        double y = cr_test_uniform(rng, -1.0, 1.0);
        double z = cr_test_uniform(rng, -1.0, 1.0);
        double length = sqrt(x * x + y * y + z * z);
        if (length > 0.1 && length < 1.0) {
            return cri_v3(x / length, y / length, z / length);
        }
    }
}

cri_mat3 random_rotation(cr_test_rng *rng) {
    cri_vec3 a = random_unit(rng);
    cri_vec3 b;
    cri_vec3 c;
    do {
        b = random_unit(rng);
        c = cri_v3_cross(a, b);
    } while (cri_v3_norm(c) < 0.1);
    c = cri_v3_scale(1.0 / cri_v3_norm(c), c);
    b = cri_v3_cross(c, a);
    return (cri_mat3){{a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z}};
}

void random_shape_init(cr_test_rng *rng, cri_shape_kind kind, double least, double most,
                       const cri_hull *hull, random_shape *out) {
    for (int i = 0; i < 3; i++) {
        out->size[i] = least * pow(most / least, cr_test_uniform(rng, 0.0, 1.0));
    }
    out->shape = (cri_shape){kind, out->size, kind == CRI_SHAPE_MESH ? hull : NULL};
}

const char *shape_kind_name(cri_shape_kind kind) {
    static const char *const name[] = {"plane",    "sphere", "capsule", "ellipsoid",
                                       "cylinder", "box",    "mesh"};
    return name[kind];
}
