// SPDX-License-Identifier: MIT
//
// HDF5 at run time, by the name under which the build found it. That name carries the number of its
// binary interface, so that the header's types and constants hold.
//
// Nothing is kept between calls: the loader knows what it has loaded, and looking up fifty names
// takes microseconds.

#include "base/io/hdf5_api.h"

#include <dlfcn.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/hdf5_file.h"

// a symbol's address into a pointer of whatever type; POSIX has them all of one size
static bool find(void *library, const char *name, void *pointer) {
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_calls(void *library, cri_hdf5_api *out) {
    bool is_whole = true;
#define FIND(name) is_whole = find(library, "H5" #name, &out->name) && is_whole;
    CRI_HDF5_CALLS(FIND)
#undef FIND
    return is_whole;
}

// Ids are variables of the library, set once it is open. A program that is linked with HDF5 as well
// may have moved them into itself (a copy relocation), so they are sought there first, where the
// library too finds them.
static bool find_ids(void *library, cri_hdf5_api *out) {
    const struct {
        const char *name;
        hid_t *id;
    } rows[] = {
        {"H5T_C_S1_g", &out->c_s1},
        {"H5T_NATIVE_DOUBLE_g", &out->native_double},
        {"H5T_IEEE_F64LE_g", &out->ieee_f64le},
        {"H5P_CLS_FILE_ACCESS_ID_g", &out->file_access},
        {"H5P_CLS_FILE_CREATE_ID_g", &out->file_create},
        {"H5P_CLS_GROUP_CREATE_ID_g", &out->group_create},
        {"H5P_CLS_DATASET_CREATE_ID_g", &out->dataset_create},
    };
    void *program = dlopen(NULL, RTLD_LAZY);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hid_t *id = NULL;
        if (!(program && find(program, rows[i].name, (void *)&id)) &&
            !find(library, rows[i].name, (void *)&id)) {
            return false;
        }
        *rows[i].id = *id;
    }
    return true;
}

cr_status cri_hdf5_load_from(const char *library, const char *file, cri_hdf5_api *out,
                             cr_error *err) {
    *out = (cri_hdf5_api){0};
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        return cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                             "HDF5 cannot be loaded (%.120s); use CSV, or install HDF5", dlerror());
    }
    bool is_whole = find_calls(handle, out);
    if (is_whole) {
        // at the end of the program it would complain about damaged files once more
        out->dont_atexit();
        is_whole = out->open() >= 0 && find_ids(handle, out);
    }
    return is_whole ? CR_OK
                    : cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                                    "%.80s is not the HDF5 that carom was built with; use CSV, or "
                                    "build again",
                                    library);
}

cr_status cri_hdf5_load(const char *file, cri_hdf5_api *out, cr_error *err) {
    return cri_hdf5_load_from(CAROM_HDF5_FILE, file, out, err);
}

cr_status cri_hdf5_check(const char *file, cr_error *err) {
    cri_hdf5_api h5;
    return cri_hdf5_load(file, &h5, err);
}
