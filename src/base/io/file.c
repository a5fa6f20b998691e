// SPDX-License-Identifier: MIT
//
// Whole files in memory, and error texts that begin with FILE:LINE.
//
// Files are read in growing pieces and never asked for their size first, so pipes work too.

#define _POSIX_C_SOURCE 200809L

#include "base/io/file.h"

#include "base/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// a path longer than this would leave no room for the message
#define PATH_SHOWN 64

// most files fit into the first piece
#define FIRST_PIECE ((size_t)64 << 10)

// ---- messages ----------------------------------------------------------------------------------

static bool is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *cri_file_name(const char *path) {
    return is_standard(path) ? "standard input" : path;
}

// the path, or of a long one its end from a '/' on
static const char *shown_path(const char *path) {
    path = cri_file_name(path);
    size_t n = strlen(path);
    if (n <= PATH_SHOWN) {
        return path;
    }
    const char *tail = path + n - PATH_SHOWN;
    const char *slash = strchr(tail, '/');
    return slash ? slash + 1 : tail;
}

// length of the UTF-8 sequence at s, 0 when it is broken
static int utf8_length(const unsigned char *s) {
    int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4) {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

// control characters and broken UTF-8 become '?'
static void make_printable(char *text) {
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        int n = utf8_length(s);
        if (n == 0 || *s < 0x20 || *s == 0x7f) {
            *s = '?';
            n = 1;
        }
        s += n;
    }
}

cr_status cri_file_fail(cr_error *err, cr_status status, const char *file, int line,
                        const char *format, ...) {
    if (!err) {
        return status;
    }
    char message[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);

    if (line > 0) {
        cri_fail(err, status, line, "%s:%d: %s", shown_path(file), line, message);
    } else {
        cri_fail(err, status, 0, "%s: %s", shown_path(file), message);
    }
    make_printable(err->text);
    return status;
}

cr_status cri_file_fail_memory(cr_error *err, const char *file) {
    return cri_file_fail(err, CR_ERR_MEMORY, file, 0, "out of memory while reading");
}

// ---- reading -----------------------------------------------------------------------------------

static cr_status fail_open(const char *path, int code, cr_error *err) {
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return cri_file_fail(err, CR_ERR_FILE, path, 0, "no such file");
    case EACCES:
    case EPERM:
        return cri_file_fail(err, CR_ERR_FILE, path, 0, "may not be read: check its permissions");
    case EISDIR:
        return cri_file_fail(err, CR_ERR_FILE, path, 0, "is a directory, expected a file");
    case ENOMEM:
        return cri_file_fail_memory(err, path);
    default:
        return cri_file_fail(err, CR_ERR_FILE, path, 0, "cannot be read: %s", strerror(code));
    }
}

// reads stream to its end into *text; on failure *text is freed by the caller
static cr_status read_all(FILE *stream, const char *path, char **text, size_t *n_byte,
                          cr_error *err) {
    size_t size = FIRST_PIECE;
    size_t n = 0;
    for (;;) {
        // one byte is kept for the NUL
        char *larger = realloc(*text, size + 1);
        if (!larger) {
            return cri_file_fail_memory(err, path);
        }
        *text = larger;
        errno = 0;
        n += fread(*text + n, 1, size - n, stream);
        if (ferror(stream)) {
            return fail_open(path, errno ? errno : EIO, err);
        }
        if (n > CRI_FILE_LIMIT) {
            return cri_file_fail(err, CR_ERR_FILE, path, 0, "is larger than %d MiB",
                                 (int)(CRI_FILE_LIMIT >> 20));
        }
        if (n < size) {
            break;
        }
        size = size <= CRI_FILE_LIMIT / 2 ? 2 * size : CRI_FILE_LIMIT + 1;
    }
    (*text)[n] = '\0';
    *n_byte = n;
    return CR_OK;
}

/// A stream of its own on descriptor 0, which stays open.
static FILE *open_standard(void) {
    int own = dup(STDIN_FILENO);
    FILE *stream = own >= 0 ? fdopen(own, "rb") : NULL;
    if (!stream && own >= 0) {
        close(own);
    }
    return stream;
}

cr_status cri_file_read(const char *path, char **text, size_t *n_byte, cr_error *err) {
    CR_ASSERT(path && text && n_byte);
    *text = NULL;
    *n_byte = 0;

    errno = 0;
    FILE *stream = is_standard(path) ? open_standard() : fopen(path, "rb");
    if (!stream) {
        return fail_open(path, errno ? errno : EIO, err);
    }
    cr_status status = read_all(stream, path, text, n_byte, err);
    fclose(stream);
    if (status != CR_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

// ---- writing ------------------------------------------------------------------------------------

// Files that appear whole or not at all.

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
