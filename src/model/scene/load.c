// SPDX-License-Identifier: MIT
//
// A file or text to a model. An HDF5 file holds a system with its weights, which the reader of that
// system builds (model/system.h). Else its root element decides the format: mujoco is MJCF,
// robot is URDF. If it is neither, or cannot be seen without a parser (UTF-16), the ending .urdf
// decides, else MJCF.

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/io/file.h"
#include "base/io/hdf5_file.h"
#include "base/io/number.h"
#include "model/model.h"
#include "model/scene/load.h"
#include "model/scene/mjcf.h"
#include "model/scene/urdf.h"
#include "model/system.h"

typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static bool is_at(const cursor *c, const char *word) {
    size_t n = strlen(word);
    return (size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0;
}

// behind the next such mark, or at the end
static void skip_past(cursor *c, const char *mark) {
    while (c->at < c->end && !is_at(c, mark)) {
        c->at++;
    }
    c->at += c->at < c->end ? strlen(mark) : 0;
}

// to the first element, past a byte order mark, blanks, comments and instructions
static void skip_prologue(cursor *c) {
    if (is_at(c, "\xEF\xBB\xBF")) {
        c->at += 3;
    }
    while (c->at < c->end) {
        if (cri_number_is_space(*c->at)) {
            c->at++;
        } else if (is_at(c, "<!--")) {
            c->at += 4;
            skip_past(c, "-->");
        } else if (is_at(c, "<?")) {
            skip_past(c, "?>");
        } else {
            return;
        }
    }
}

// does an element of that name begin here?
static bool is_element(const cursor *c, const char *name) {
    size_t n = 1 + strlen(name);
    if ((size_t)(c->end - c->at) <= n || *c->at != '<' || memcmp(c->at + 1, name, n - 1) != 0) {
        return false;
    }
    char next = c->at[n];
    return cri_number_is_space(next) || next == '>' || next == '/';
}

static bool is_urdf(const char *text, size_t n_byte, const char *name) {
    static const char ending[] = ".urdf";
    size_t n = strlen(name);
    size_t n_ending = sizeof ending - 1;
    bool has_ending = n > n_ending && strcmp(name + n - n_ending, ending) == 0;
    if (n_byte == 0) {
        return has_ending;
    }
    cursor c = {text, text + n_byte};
    skip_prologue(&c);
    return is_element(&c, "robot") || (has_ending && !is_element(&c, "mujoco"));
}

// a file of weights, by the name of its system
static cr_status parse_system(const char *bytes, size_t n_byte, const char *file, cr_model **out,
                              cr_error *err) {
    cri_array_text name = {.name = "system"};
    cri_array_file content = {.format = CRI_SYSTEM_FORMAT, .n_text = 1, .text = &name};
    cr_status status = cri_arrays_parse(bytes, n_byte, file, &content, err);
    const cri_system_reader *reader = cri_system_readers;
    while (status == CR_OK && name.text && reader->kind && strcmp(reader->kind, name.text) != 0) {
        reader++;
    }
    if (status == CR_OK && (!name.text || !reader->kind)) {
        status = cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                               "holds weights of no system that is known here: '%.40s'",
                               name.text ? name.text : "");
    }
    cri_arrays_clear(&content);
    return status == CR_OK ? reader->read(bytes, n_byte, file, out, err) : status;
}

cr_status cri_model_parse_with(const char *text, size_t n_byte, const char *name,
                               struct cri_ground_nets *nets, cr_model **out, cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && name && out);
    *out = NULL;
    if (cri_hdf5_is_file(text, n_byte)) {
        return parse_system(text, n_byte, name, out, err);
    }
    cri_scene_def def;
    if (is_urdf(text, n_byte, name)) {
        CR_TRY(cri_urdf_read(text, n_byte, name, &def, err));
    } else {
        CR_TRY(cri_mjcf_read(text, n_byte, name, &def, err));
    }
    def.nets = nets ? nets : def.nets;
    cr_status status = cri_model_build(&def, out, err);
    cri_scene_def_clear(&def);
    return status;
}

cr_status cr_model_parse(const char *text, size_t n_byte, const char *name, cr_model **out,
                         cr_error *err) {
    return cri_model_parse_with(text, n_byte, name, NULL, out, err);
}

cr_status cri_model_load_with(const char *path, struct cri_ground_nets *nets, cr_model **out,
                              cr_error *err) {
    CR_ASSERT(path && out);
    *out = NULL;
    char *text;
    size_t n_byte;
    CR_TRY(cri_file_read(path, &text, &n_byte, err));
    cr_status status = cri_model_parse_with(text, n_byte, cri_file_name(path), nets, out, err);
    free(text);
    return status;
}

cr_status cr_model_load(const char *path, cr_model **out, cr_error *err) {
    return cri_model_load_with(path, NULL, out, err);
}
