// SPDX-License-Identifier: MIT
//
// What the readers of mesh files share. Private to src/io.

#pragma once

#include "base/io/mesh_file.h"

#include <stdint.h>

/// Longest piece of the file shown in a message, bytes.
#define CRI_MESH_SHOWN 40

/// A place in a text.
typedef struct cri_mesh_text {
    const char *text;
    size_t n_byte;
    size_t at;
    int line;
    const char *file;
    cr_error *err;
} cri_mesh_text;

typedef struct cri_mesh_word {
    const char *text;
    size_t n;
} cri_mesh_word;

cri_mesh_text cri_mesh_text_begin(const char *text, size_t n_byte, const char *file, cr_error *err);

/// The next word of the line; false at its end. A backslash before the end of a line continues it,
/// '#' begins a comment.
bool cri_mesh_next_in_line(cri_mesh_text *t, cri_mesh_word *word);

/// Goes to the next line; false behind the last one.
bool cri_mesh_next_line(cri_mesh_text *t);

/// The next word on this line or a later one; false at the end of the text.
bool cri_mesh_next_word(cri_mesh_text *t, cri_mesh_word *word);

/// True when word is name, in any case.
bool cri_mesh_is(const cri_mesh_word *word, const char *name);

/// Fails with FILE:LINE.
cr_status cri_mesh_fail(const cri_mesh_text *t, cr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Reads one finite number.
cr_status cri_mesh_number(const cri_mesh_text *t, const cri_mesh_word *word, double *out);

/// Refuses a file of too many triangles.
CR_MUST_CHECK cr_status cri_mesh_check_count(int64_t n_face, const char *file, cr_error *err);

/// The formats. Vertices come as the file has them, not merged; every index is in range.
CR_MUST_CHECK cr_status cri_obj_parse(const char *text, size_t n_byte, const char *file,
                                      cr_arena *arena, cri_mesh_data *out, cr_error *err);
CR_MUST_CHECK cr_status cri_stl_parse(const char *text, size_t n_byte, const char *file,
                                      cr_arena *arena, cri_mesh_data *out, cr_error *err);
