// SPDX-License-Identifier: MIT
//
// MJCF: any bytes become a scene definition, or are refused. Files that they name are sought in a
// folder that does not exist.

#include "model/scene/mjcf.h"

#include "fuzz.h"

#define NAME "/nonexistent/fuzz/f.xml"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cri_scene_def def;
    cr_error err;
    cr_status status = cri_mjcf_read((const char *)data, size, NAME, &def, &err);
    if (status == CR_OK) {
        FUZZ_CHECK(def.n_body >= 0 && def.n_geom >= 0);
        FUZZ_CHECK(cri_all_finite(3, def.gravity));
    } else {
        fuzz_check_error(status, &err, "/nonexistent/fuzz/");
    }
    cri_scene_def_clear(&def);
    return 0;
}
