// SPDX-License-Identifier: MIT
//
// Resolves the names of a selection.
//
// The text is cut at commas into items and at = into sides. Each side expands to a list of names
// with their places; the sides of a tie have lists of one length and are tied entry by entry.

#include "optimize/select.h"

#include "optimize/nearest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// One entry that a side expands to.
typedef struct entry {
    const char *name; // with its prefix, as it is printed
    cri_variable_place place;
} entry;

/// A side of an item, cut up.
typedef struct side {
    const char *text;   // as written
    const char *prefix; // "", "x0:" or "u:"
    const char *name;   // without prefix and step
    const char *suffix; // "[STEP]" or ""
    cr_vector vector;
    int step;
    entry *entry; // (n_entry)
    int n_entry;
} side;

typedef struct builder {
    const cr_model *model;
    cri_selection *selection;
    cr_arena *scratch;
    cr_error *err;
} builder;

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the selection");
}

static int vector_length(const cr_sizes *sizes, cr_vector vector) {
    switch (vector) {
    case CR_VECTOR_P:
        return sizes->n_p;
    case CR_VECTOR_X:
        return sizes->n_x;
    case CR_VECTOR_U:
        return sizes->n_u;
    }
    return 0;
}

/// The text between begin and end, without blanks around it, or NULL.
static char *push_trimmed(cr_arena *arena, const char *begin, const char *end) {
    while (begin < end && (*begin == ' ' || *begin == '\t')) {
        begin++;
    }
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    size_t n = (size_t)(end - begin);
    char *text = CR_PUSH(arena, char, n + 1);
    if (text) {
        memcpy(text, begin, n);
    }
    return text;
}

/// Three pieces in a row, owned by the selection, or NULL.
static char *push_joined(cr_arena *arena, const char *a, const char *b, const char *c) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = CR_PUSH(arena, char, n);
    if (text) {
        snprintf(text, n, "%s%s%s", a, b, c);
    }
    return text;
}

// ---- one side ----------------------------------------------------------------------------------

/// Is name without its last index, which begins at open, a control of its own, such as a motor?
static bool is_control(const builder *b, char *name, char *open) {
    *open = '\0';
    bool is = cr_model_find(b->model, CR_VECTOR_U, name, NULL) >= 0;
    *open = '[';
    return is;
}

/// Takes a step such as [17] off the end of the name of a control, which then ends in ] itself or
/// is whole without it.
static cr_status split_step(builder *b, side *s, char *name) {
    size_t n = strlen(name);
    char *open = strrchr(name, '[');
    if (n == 0 || name[n - 1] != ']' || !open || open == name ||
        (open[-1] != ']' && !is_control(b, name, open))) {
        return CR_OK;
    }
    char *rest = NULL;
    long step = strtol(open + 1, &rest, 10);
    if (rest == open + 1 || strcmp(rest, "]") != 0 || step < 0 || step > INT_MAX) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0,
                        "%.80s: the step in %.20s is not a whole number from 0", s->text, open);
    }
    s->step = (int)step;
    s->suffix = push_joined(b->scratch, open, "", "");
    *open = '\0';
    return s->suffix ? CR_OK : no_memory(b->err);
}

static cr_status split_side(builder *b, const char *text, side *s) {
    *s = (side){.text = text, .prefix = "", .suffix = "", .step = -1};
    if (strncmp(text, "x0:", 3) == 0) {
        s->prefix = "x0:";
        s->vector = CR_VECTOR_X;
    } else if (strncmp(text, "u:", 2) == 0) {
        s->prefix = "u:";
        s->vector = CR_VECTOR_U;
    }
    char *name = push_joined(b->scratch, text + strlen(s->prefix), "", "");
    if (!name) {
        return no_memory(b->err);
    }
    s->name = name;
    return s->vector == CR_VECTOR_U ? split_step(b, s, name) : CR_OK;
}

static cr_status add_entry(builder *b, side *s, const char *name, int index) {
    char *full = push_joined(b->selection->memory, s->prefix, name, s->suffix);
    if (!full) {
        return no_memory(b->err);
    }
    s->entry[s->n_entry++] = (entry){full, {s->vector, index, s->step}};
    return CR_OK;
}

/// True when name is base followed by one index such as [2].
static bool is_entry_of(const char *name, const char *base) {
    size_t n = strlen(base);
    return strncmp(name, base, n) == 0 && name[n] == '[' && strchr(name + n + 1, '[') == NULL;
}

static cr_status unknown_name(const builder *b, const side *s, const cr_error *why) {
    if (strchr(s->name, '*')) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0,
                        "%.80s: no name fits; 'carom params SCENE' lists them", s->text);
    }
    // a pair of geoms or a servo: the model knows why it has no such number
    bool is_told = why->text[0] && strncmp(why->text, "no parameter", 12) != 0;
    if (s->vector == CR_VECTOR_P && is_told) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "%.230s", why->text);
    }
    const char *nearest = cri_name_nearest(b->model, s->vector, s->name);
    if (nearest) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "%.80s: unknown name; did you mean %s%s?",
                        s->text, s->prefix, nearest);
    }
    return cri_fail(b->err, CR_ERR_ARGUMENT, 0,
                    "%.80s: unknown name; 'carom params SCENE' lists them", s->text);
}

/// A pattern fits a whole name, or a name without its index: */size fits box/size[2].
static bool fits_pattern(const char *pattern, const char *name) {
    char base[512];
    size_t n = strcspn(name, "[");
    if (cri_name_matches(pattern, name) || n >= sizeof base) {
        return cri_name_matches(pattern, name);
    }
    memcpy(base, name, n);
    base[n] = '\0';
    return cri_name_matches(pattern, base);
}

/// The list of entries that a side stands for.
static cr_status expand_side(builder *b, side *s) {
    int n = vector_length(&b->selection->sizes, s->vector);
    s->entry = CR_PUSH(b->scratch, entry, n + 1);
    if (!s->entry) {
        return no_memory(b->err);
    }

    CR_ASSERT(s->name);
    cr_error why = {0};
    bool is_pattern = strchr(s->name, '*') != NULL;
    int found = is_pattern ? -1 : cr_model_find(b->model, s->vector, s->name, &why);
    if (found >= 0) {
        return add_entry(b, s, s->name, found);
    }
    for (int i = 0; i < n; i++) {
        const char *name = cr_model_name(b->model, s->vector, i);
        CR_ASSERT(name);
        if (is_pattern ? fits_pattern(s->name, name) : is_entry_of(name, s->name)) {
            CR_TRY(add_entry(b, s, name, i));
        }
    }
    return s->n_entry > 0 ? CR_OK : unknown_name(b, s, &why);
}

// ---- one item ----------------------------------------------------------------------------------

static bool same_place(const cri_variable_place *a, const cri_variable_place *b) {
    // a control over the whole run holds each of its steps
    bool is_same_step = a->step == b->step || a->step < 0 || b->step < 0;
    return a->vector == b->vector && a->index == b->index && is_same_step;
}

static cr_status refuse_double(const builder *b, const entry *e, const cri_variable_place *place,
                               int n) {
    for (int i = 0; i < n; i++) {
        if (same_place(&place[i], &e->place)) {
            return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "%.80s is named twice", e->name);
        }
    }
    return CR_OK;
}

/// Makes one variable of entry i of each side.
static cr_status add_variable(builder *b, const side *sides, int n_side, int i) {
    cri_selection *selection = b->selection;
    cri_variable_place *place = CR_PUSH(selection->memory, cri_variable_place, n_side);
    if (!place) {
        return no_memory(b->err);
    }
    const char *name = sides[0].entry[i].name;
    for (int k = 0; k < n_side; k++) {
        const entry *e = &sides[k].entry[i];
        CR_TRY(refuse_double(b, e, place, k));
        for (int j = 0; j < selection->n_variable; j++) {
            const cri_variable *other = &selection->variable[j];
            CR_TRY(refuse_double(b, e, other->place, other->n_place));
        }
        place[k] = e->place;
        name = k == 0 ? name : push_joined(selection->memory, name, "=", e->name);
        if (!name) {
            return no_memory(b->err);
        }
    }
    selection->variable[selection->n_variable++] = (cri_variable){name, place, n_side};
    return CR_OK;
}

static int count_char(const char *text, char c) {
    int n = 0;
    for (; *text; text++) {
        n += *text == c;
    }
    return n;
}

static cr_status add_item(builder *b, char *item) {
    if (!*item) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "a name is missing beside a comma");
    }
    int n_side = 1 + count_char(item, '=');
    side *sides = CR_PUSH(b->scratch, side, n_side);
    if (!sides) {
        return no_memory(b->err);
    }
    char *begin = item;
    for (int k = 0; k < n_side; k++) {
        char *end = begin + strcspn(begin, "=");
        char *text = push_trimmed(b->scratch, begin, end);
        if (!text) {
            return no_memory(b->err);
        }
        if (!*text) {
            return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "%.80s: a name is missing beside =", item);
        }
        CR_TRY(split_side(b, text, &sides[k]));
        CR_TRY(expand_side(b, &sides[k]));
        if (sides[k].n_entry != sides[0].n_entry) {
            return cri_fail(b->err, CR_ERR_ARGUMENT, 0,
                            "%.80s: %d and %d entries cannot be tied one by one", item,
                            sides[0].n_entry, sides[k].n_entry);
        }
        begin = end + 1;
    }
    for (int i = 0; i < sides[0].n_entry; i++) {
        CR_TRY(add_variable(b, sides, n_side, i));
    }
    return CR_OK;
}

static cr_status add_items(builder *b, const char *text) {
    cri_selection *selection = b->selection;
    const cr_sizes *sizes = &selection->sizes;

    // no place comes twice, but each item may be about another step of the same controls
    int n_item = 1 + count_char(text, ',');
    size_t limit = (size_t)(sizes->n_p + sizes->n_x) + (size_t)n_item * (size_t)sizes->n_u;
    selection->variable = CR_PUSH(selection->memory, cri_variable, limit);
    if (!selection->variable) {
        return no_memory(b->err);
    }
    for (const char *begin = text;; begin++) {
        const char *end = begin + strcspn(begin, ",");
        cri_arena_reset(b->scratch);
        char *item = push_trimmed(b->scratch, begin, end);
        if (!item) {
            return no_memory(b->err);
        }
        CR_TRY(add_item(b, item));
        if (!*end) {
            return CR_OK;
        }
        begin = end;
    }
}

// ---- the selection -----------------------------------------------------------------------------

cr_status cri_selection_create(const cr_model *model, const char *text, cri_selection **out,
                               cr_error *err) {
    CR_ASSERT(model && text && out);
    *out = NULL;
    cri_selection *selection = calloc(1, sizeof *selection);
    builder b = {model, selection, cri_arena_create(4096), err};
    cr_status status = CR_ERR_MEMORY;
    if (selection) {
        selection->model = model;
        selection->sizes = cr_model_sizes(model);
        selection->memory = cri_arena_create(4096);
    }
    if (selection && selection->memory && b.scratch) {
        status = add_items(&b, text);
    } else {
        no_memory(err);
    }
    cri_arena_destroy(b.scratch);
    if (status != CR_OK) {
        cri_selection_destroy(selection);
        return status;
    }
    *out = selection;
    return CR_OK;
}

void cri_selection_destroy(cri_selection *selection) {
    if (selection) {
        cri_arena_destroy(selection->memory);
        free(selection);
    }
}
