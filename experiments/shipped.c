// SPDX-License-Identifier: MIT
//
// Where the files that come with Carom are, found when they are wanted: an installed tree may be
// moved, and the source tree may be gone.

#define _POSIX_C_SOURCE 200809L

#include "shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

/// Folder of the running program, without its last slash; false where the system does not tell.
static bool program_folder(char folder[CRI_SHIPPED_LIMIT]) {
#ifdef __APPLE__
    char link[CRI_SHIPPED_LIMIT];
    uint32_t size = sizeof link;
    bool is_known = _NSGetExecutablePath(link, &size) == 0 && realpath(link, folder);
#else
    ssize_t n = readlink("/proc/self/exe", folder, CRI_SHIPPED_LIMIT - 1);
    bool is_known = n > 0 && n < CRI_SHIPPED_LIMIT - 1;
    folder[is_known ? n : 0] = '\0';
#endif
    char *slash = is_known ? strrchr(folder, '/') : NULL;
    if (slash) {
        *slash = '\0';
    }
    return slash;
}

/// Puts folder/more/name into path; false when it is too long or nothing is there.
static bool is_there(const char *folder, const char *more, const char *name,
                     char path[CRI_SHIPPED_LIMIT]) {
    int n = snprintf(path, CRI_SHIPPED_LIMIT, "%s%s/%s", folder, more, name);
    return n > 0 && n < CRI_SHIPPED_LIMIT && access(path, F_OK) == 0;
}

cr_status cri_shipped_path(const char *name, char path[CRI_SHIPPED_LIMIT], cr_error *err) {
    // the user's word is the only place that counts when it was given
    const char *given = getenv("CAROM_DATA");
    if (given && *given) {
        if (is_there(given, "", name, path)) {
            return CR_OK;
        }
        return cri_fail(err, CR_ERR_FILE, 0,
                        "%.60s is not in %.80s, which CAROM_DATA names; it should name the folder "
                        "share/carom of an installation",
                        name, given);
    }
    char folder[CRI_SHIPPED_LIMIT];
    if (program_folder(folder) && (is_there(folder, "/share/carom", name, path) ||
                                   is_there(folder, "/" CAROM_DATA_FROM_PROGRAM, name, path))) {
        return CR_OK;
    }
    return cri_fail(err, CR_ERR_FILE, 0,
                    "%.60s, which comes with Carom, is not beside the program in %.80s; set "
                    "CAROM_DATA to the folder share/carom of an installation",
                    name, folder);
}
