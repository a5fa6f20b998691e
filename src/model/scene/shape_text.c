// SPDX-License-Identifier: MIT
//
// A parser by recursive descent. Nodes come out in postfix order; an operator over more than two
// shapes is one node for each shape behind the first.

#include "model/scene/shape_text.h"

#include "base/io/number.h"
#include "geometry/field/shape_space.h"
#include "model/scene/mjcf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PARAM = 256, WORD_BYTES = 64, MOST_DEPTH = 16, PATH_BYTES = 1024 };

static const char *const known_shapes =
    "sphere, box, rounded-box, cylinder, capsule, ellipsoid, mesh, neural, hull, union, "
    "intersection, difference";

typedef struct leaf_rule {
    const char *name;
    cri_field_kind kind;
    int n_least, n_most; // numbers
    const char *what;
} leaf_rule;

static const leaf_rule leaves[] = {
    {"sphere", CRI_FIELD_SPHERE, 1, 1, "the radius"},
    {"box", CRI_FIELD_BOX, 3, 3, "3 half lengths"},
    {"rounded-box", CRI_FIELD_ROUNDED_BOX, 4, 4, "3 half lengths and a radius"},
    {"cylinder", CRI_FIELD_CYLINDER, 2, 2, "radius and half length"},
    {"capsule", CRI_FIELD_CAPSULE, 2, 2, "radius and half length"},
    {"ellipsoid", CRI_FIELD_ELLIPSOID, 3, 3, "3 half axes"},
    {"mesh", CRI_FIELD_GRID, 0, 1, "nothing, or a scale"},
};

static const struct {
    const char *name;
    cri_field_kind kind;
} operators[] = {{"union", CRI_FIELD_UNION},
                 {"intersection", CRI_FIELD_INTERSECTION},
                 {"difference", CRI_FIELD_DIFFERENCE}};

/// One reading.
typedef struct reader {
    const char *at;
    const char *file;
    cr_arena *arena;
    cri_form_def *out;
    double *param; // (MOST_PARAM)
    cr_error *err;
} reader;

static void skip_space(reader *r) {
    while (isspace((unsigned char)*r->at)) {
        r->at++;
    }
}

// true, and goes on behind it, when c comes next
static bool take(reader *r, char c) {
    skip_space(r);
    if (*r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

// the next word, empty when there is none
static void peek_word(reader *r, char word[WORD_BYTES]) {
    skip_space(r);
    size_t n = 0;
    while (is_word(r->at[n]) && n + 1 < WORD_BYTES) {
        n++;
    }
    memcpy(word, r->at, n);
    word[n] = '\0';
    if (!isalpha((unsigned char)word[0])) {
        word[0] = '\0';
    }
}

static bool take_word(reader *r, const char *expected) {
    char word[WORD_BYTES];
    peek_word(r, word);
    if (strcmp(word, expected) != 0) {
        return false;
    }
    r->at += strlen(word);
    return true;
}

static cr_status fail(reader *r, const char *what, const char *expected) {
    skip_space(r);
    char here[24];
    snprintf(here, sizeof here, "%.20s", r->at);
    return cri_fail(r->err, CR_ERR_SYNTAX, 0, "%s at '%s': expected %.150s", what,
                    *here ? here : "the end", expected);
}

// up to n_most numbers; returns how many, -1 when one is no finite number
static int take_numbers(reader *r, int n_most, double *out) {
    for (int n = 0; n < n_most; n++) {
        skip_space(r);
        size_t n_byte = strspn(r->at, "+-.0123456789eE");
        if (n_byte == 0 || isalpha((unsigned char)*r->at)) {
            return n;
        }
        if (cri_number_parse(r->at, n_byte, &out[n]) != CRI_NUMBER_OK) {
            return -1;
        }
        r->at += n_byte;
    }
    return n_most;
}

static cr_status add_node(reader *r, cri_field_kind kind, cri_field_node **out) {
    cri_form_def *f = r->out;
    if (f->n_node == CRI_FIELD_NODES || f->n_param + CRI_CODE_MOST + 8 > MOST_PARAM) {
        return cri_fail(r->err, CR_ERR_SYNTAX, 0, "more than %d shapes and operators",
                        CRI_FIELD_NODES);
    }
    *out = &f->node[f->n_node++];
    **out = (cri_field_node){.kind = kind, .first = f->n_param};
    return CR_OK;
}

// at X Y Z, turn RX RY RZ
static cr_status read_pose(reader *r, cri_field_node *node) {
    CR_ASSERT(node);
    double pose[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < 2; k++) {
        const char *word = k == 0 ? "at" : "turn";
        if (!take_word(r, word)) {
            continue;
        }
        if (take_numbers(r, 3, pose + 3 * k) != 3) {
            return fail(r, word, "3 numbers");
        }
        node->is_posed = true;
    }
    if (node->is_posed) {
        memcpy(r->param + r->out->n_param, pose, sizeof pose);
        r->out->n_param += 6;
    }
    return CR_OK;
}

static cr_status read_leaf(reader *r, const leaf_rule *rule) {
    cri_field_node *node = NULL;
    CR_TRY(add_node(r, rule->kind, &node));
    double *number = r->param + r->out->n_param;
    number[0] = 1.0;
    int n = take_numbers(r, rule->n_most, number);
    if (n < rule->n_least) {
        return fail(r, rule->name, rule->what);
    }
    r->out->n_param += rule->n_most;
    return read_pose(r, node);
}

// a path: up to a space or what may follow a shape
static bool take_path(reader *r, char path[PATH_BYTES]) {
    skip_space(r);
    size_t n = strcspn(r->at, " \t\r\n,();");
    if (n == 0 || n >= PATH_BYTES) {
        return false;
    }
    memcpy(path, r->at, n);
    path[n] = '\0';
    r->at += n;
    return true;
}

// numbers, the name of a shape, or nothing: the mean of all codes
static cr_status read_code(reader *r, const cri_shape_space *s, double *code) {
    int n_code = s->n_code, n = 0;
    if (take_word(r, "like")) {
        char name[WORD_BYTES];
        peek_word(r, name);
        const double *found = cri_shape_space_find(s, name);
        if (!found) {
            return fail(r, "like", "the name of a shape of the space; 'carom shape show' has them");
        }
        r->at += strlen(name);
        memcpy(code, found, sizeof *code * (size_t)n_code);
        return CR_OK;
    }
    n = take_numbers(r, n_code, code);
    for (int i = 0; n == 0 && i < s->n_shape; i++) {
        for (int k = 0; k < n_code; k++) {
            code[k] = (i > 0 ? code[k] : 0.0) + s->code[i * n_code + k] / s->n_shape;
        }
    }
    if (n != 0 && n != n_code) {
        char what[64];
        snprintf(what, sizeof what, "%d numbers of the code, or none", n_code);
        return fail(r, "neural", what);
    }
    return cri_shape_space_check(s, code, r->err);
}

// FILE [size S] [CODE... | like NAME]
static cr_status read_neural(reader *r) {
    char name[PATH_BYTES];
    if (!take_path(r, name)) {
        return fail(r, "neural", "a file of 'carom shape train'");
    }
    char *path = cri_mjcf_path(r->arena, r->file ? r->file : "", "", name);
    cri_field_node *node = NULL;
    cri_shape_space space;
    double size = 1.0;
    if (!path) {
        return cri_fail(r->err, CR_ERR_MEMORY, 0, "out of memory");
    }
    CR_TRY(add_node(r, CRI_FIELD_CUSTOM, &node));
    CR_ASSERT(node);
    CR_TRY(cri_shape_space_read(path, r->arena, &space, r->err));
    if (take_word(r, "size") && (take_numbers(r, 1, &size) != 1 || !(size > 0.0))) {
        return fail(r, "size", "a number above 0");
    }
    CR_TRY(read_code(r, &space, r->param + r->out->n_param));
    node->custom = cri_space_leaf_push(&space, size, r->arena);
    if (!node->custom) {
        return cri_fail(r->err, CR_ERR_MEMORY, 0, "out of memory");
    }
    r->out->n_param += space.n_code;
    return read_pose(r, node);
}

static cr_status read_shape(reader *r, int depth);

static cr_status read_operator(reader *r, const char *name, cri_field_kind kind, int depth) {
    double width = 0.0;
    int n = take_numbers(r, 1, &width);
    if (n < 0 || width < 0.0 || !take(r, '(')) {
        return fail(r, name, "a width of 0 or more, if any, and '('");
    }
    CR_TRY(read_shape(r, depth + 1));
    if (!take(r, ',')) {
        return fail(r, name, "',' and another shape");
    }
    do {
        cri_field_node *node = NULL;
        CR_TRY(read_shape(r, depth + 1));
        CR_TRY(add_node(r, kind, &node));
        r->param[r->out->n_param++] = width;
    } while (take(r, ','));
    return take(r, ')') ? CR_OK : fail(r, name, "',' or ')'");
}

static cr_status read_shape(reader *r, int depth) {
    char word[WORD_BYTES];
    peek_word(r, word);
    if (depth > MOST_DEPTH) {
        return cri_fail(r->err, CR_ERR_SYNTAX, 0, "brackets are more than %d deep", MOST_DEPTH);
    }
    for (size_t k = 0; k < sizeof leaves / sizeof *leaves; k++) {
        if (strcmp(word, leaves[k].name) == 0) {
            r->at += strlen(word);
            return read_leaf(r, &leaves[k]);
        }
    }
    if (take_word(r, "neural")) {
        return read_neural(r);
    }
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        if (strcmp(word, operators[k].name) == 0) {
            r->at += strlen(word);
            return read_operator(r, operators[k].name, operators[k].kind, depth);
        }
    }
    return fail(r, "unknown shape", known_shapes);
}

static cr_status read_count(reader *r, const char *name, int least, int most, int *out) {
    double value = 0.0;
    if (take_numbers(r, 1, &value) != 1 || !(value >= least && value <= most) ||
        value != floor(value)) {
        return cri_fail(r->err, CR_ERR_SYNTAX, 0, "%s: expected a whole number from %d to %d", name,
                        least, most);
    }
    *out = (int)value;
    return CR_OK;
}

static cr_status read_option(reader *r) {
    if (take_word(r, "cells")) {
        return read_count(r, "cells", 4, 160, &r->out->n_cell);
    }
    if (take_word(r, "samples")) {
        return read_count(r, "samples", 16, 256, &r->out->n_sample);
    }
    if (take_word(r, "vertex")) {
        bool is_normal = take_word(r, "normal");
        r->out->rule = is_normal ? CRI_VERTEX_NORMAL : CRI_VERTEX_EDGE;
        return is_normal || take_word(r, "edge") ? CR_OK : fail(r, "vertex", "edge or normal");
    }
    return fail(r, "unknown option", "cells N, samples N, vertex edge or vertex normal");
}

cr_status cri_shape_text_read(const char *text, const char *file, cr_arena *arena,
                              cri_form_def *out, cr_error *err) {
    CR_ASSERT(text && arena && out);
    *out = (cri_form_def){0};
    reader r = {.at = text, .file = file, .arena = arena, .out = out, .err = err};
    r.param = CR_PUSH(arena, double, MOST_PARAM);
    if (!r.param) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    out->param = r.param;
    if (take_word(&r, "hull")) {
        out->is_hull = true;
    } else {
        CR_TRY(read_shape(&r, 0));
    }
    while (take(&r, ';')) {
        CR_TRY(read_option(&r));
    }
    skip_space(&r);
    return *r.at ? fail(&r, "more text", "the end, or ';' and an option") : CR_OK;
}
