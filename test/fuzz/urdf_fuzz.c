// SPDX-License-Identifier: MIT
//
// URDF: any bytes become a scene definition whose numbers agree, or are refused. Meshes are sought
// in a folder that does not exist.

#include "model/scene/urdf.h"

#include "fuzz.h"

#define NAME "/nonexistent/fuzz/f.urdf"

static void check_def(const cri_scene_def *def) {
    for (int i = 0; i < def->n_body; i++) {
        const cri_body_def *body = &def->body[i];
        FUZZ_CHECK(body->name && body->parent >= -1 && body->parent < i && body->place.line > 0);
        FUZZ_CHECK(cri_all_finite(6, body->inertia) && body->mass >= 0.0);
    }
    for (int i = 0; i < def->n_joint; i++) {
        const cri_joint_def *joint = &def->joint[i];
        FUZZ_CHECK(joint->name && joint->range[0] < joint->range[1]);
        FUZZ_CHECK(joint->body >= 0 && joint->body < def->n_body);
        FUZZ_CHECK(i == 0 || def->joint[i - 1].body < joint->body);
        FUZZ_CHECK(fabs(cri_v3_norm(joint->axis) - 1.0) < 1e-12);
    }
    for (int i = 0; i < def->n_geom; i++) {
        FUZZ_CHECK(def->geom[i].body >= -1 && def->geom[i].body < def->n_body);
    }
    for (int i = 0; i < def->n_equality; i++) {
        const int *object = def->equality[i].object;
        FUZZ_CHECK(object[0] >= 0 && object[0] < def->n_joint && object[0] != object[1]);
        FUZZ_CHECK(object[1] >= 0 && object[1] < def->n_joint);
    }
    FUZZ_CHECK(memchr(def->warning, '\0', sizeof def->warning));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cri_scene_def def;
    cr_error err;
    cr_status status = cri_urdf_read((const char *)data, size, NAME, &def, &err);
    if (status == CR_OK) {
        check_def(&def);
    } else {
        fuzz_check_error(status, &err, NAME);
        FUZZ_CHECK(!def.memory);
    }
    cri_scene_def_clear(&def);
    return 0;
}
