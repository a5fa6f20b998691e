// SPDX-License-Identifier: MIT
//
// JSON documents to files.

#include "base/io/json_file.h"

#include "base/io/file.h"

#include <stdlib.h>

// digits that bring every double back
#define DIGITS 17

cr_status cri_json_write(const char *path, json_t *root, bool is_built, size_t flags,
                         cr_error *err) {
    char *dump = root && is_built ? json_dumps(root, flags | JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(root);
    if (!dump) {
        return cri_file_fail_memory(err, path);
    }
    cri_atomic_file file;
    cr_status status = cri_atomic_open(path, &file, err);
    if (status == CR_OK) {
        // a failed write is seen at commit
        fputs(dump, file.stream);
        fputc('\n', file.stream);
        status = cri_atomic_commit(&file, err);
    }
    free(dump);
    return status;
}
