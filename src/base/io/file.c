// SPDX-License-Identifier: MIT
//
// Whole files in memory, and error texts that begin with FILE:LINE.
//
// Files are read in growing pieces and never asked for their size first, so pipes work too.

#define _POSIX_C_SOURCE 200809L

#include "base/io/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
