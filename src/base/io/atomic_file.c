// SPDX-License-Identifier: MIT
//
// Files that appear whole or not at all.

#define _POSIX_C_SOURCE 200809L

#include "base/io/atomic_file.h"

#include "base/io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Number of the descriptor that a name stands for, -1: it is a file's.
static int descriptor_of(const char *path) {
    int n = -1;
    char tail;
    return sscanf(path, "/dev/fd/%9d%c", &n, &tail) == 1 ? n : -1;
}

static cr_status refuse(cr_error *err, const char *path) {
    cr_status status = errno == ENOMEM ? CR_ERR_MEMORY : CR_ERR_FILE;
    const char *name = descriptor_of(path) >= 0 ? "the output" : path;
    return cri_file_fail(err, status, name, 0, "cannot be written: %s", strerror(errno));
}

/// A stream of its own on an open descriptor.
static FILE *open_descriptor(int descriptor) {
    int own = dup(descriptor);
    FILE *stream = own >= 0 ? fdopen(own, "w") : NULL;
    if (!stream && own >= 0) {
        int reason = errno;
        close(own);
        errno = reason;
    }
    return stream;
}

/// Opens a file of a fresh name beside path, readable as umask wants it.
static FILE *open_temporary(const char *path, char **temporary) {
    static const char ending[] = ".XXXXXX";
    size_t n = strlen(path);
    char *name = malloc(n + sizeof ending);
    if (!name) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(name, path, n);
    memcpy(name + n, ending, sizeof ending);
    int descriptor = mkstemp(name);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!stream) {
        int reason = errno;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(name);
        }
        free(name);
        errno = reason;
        return NULL;
    }
    mode_t mask = umask(0);
    umask(mask);
    // a file that stays private is no reason to lose a result
    (void)fchmod(descriptor, 0666 & ~mask);
    *temporary = name;
    return stream;
}

cr_status cri_atomic_open(const char *path, cri_atomic_file *out, cr_error *err) {
    *out = (cri_atomic_file){.path = path};
    int descriptor = descriptor_of(path);
    if (descriptor >= 0) {
        out->stream = open_descriptor(descriptor);
        return out->stream ? CR_OK : refuse(err, path);
    }
    struct stat info;
    bool is_there = lstat(path, &info) == 0;
    if (is_there && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return refuse(err, path);
    }
    bool is_direct = is_there && !S_ISREG(info.st_mode);
    out->stream = is_direct ? fopen(path, "w") : open_temporary(path, &out->temporary);
    return out->stream ? CR_OK : refuse(err, path);
}

cr_status cri_atomic_commit(cri_atomic_file *file, cr_error *err) {
    bool is_good = fflush(file->stream) == 0 && !ferror(file->stream);
    if (is_good && file->temporary) {
        is_good = fsync(fileno(file->stream)) == 0;
    }
    int reason = errno;
    if (fclose(file->stream) != 0 && is_good) {
        is_good = false;
        reason = errno;
    }
    file->stream = NULL;
    errno = reason;
    if (is_good && file->temporary) {
        is_good = rename(file->temporary, file->path) == 0;
    }
    cr_status status = is_good ? CR_OK : refuse(err, file->path);
    if (!is_good && file->temporary) {
        unlink(file->temporary);
    }
    free(file->temporary);
    file->temporary = NULL;
    return status;
}

void cri_atomic_cancel(cri_atomic_file *file) {
    if (file->stream) {
        fclose(file->stream);
    }
    if (file->temporary) {
        unlink(file->temporary);
    }
    free(file->temporary);
    *file = (cri_atomic_file){0};
}
