// SPDX-License-Identifier: MIT
//
// OBJ: any bytes become a mesh with a hull and a mass, or are refused.

#include "mesh_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_mesh(data, size, "f.obj");
}
