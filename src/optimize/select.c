// SPDX-License-Identifier: MIT
//
// Resolves the names of a selection.
//
// The text is cut at commas into items and at = into sides. Each side expands to a list of names
// with their places; the sides of a tie have lists of one length and are tied entry by entry.

#include "optimize/select.h"

#include "base/base.h"
#include "base/math/quat.h"
#include "contact/law.h"
#include "energy/potential.h"
#include "model/model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// longer names are not compared: nobody mistypes them by hand
#define NAME_LIMIT 64

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

// ---- names --------------------------------------------------------------------------------------

// Names that match a pattern, and the name that a mistyped one may have meant.

bool cri_name_matches(const char *pattern, const char *name) {
    const char *star = NULL;
    const char *resume = name;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            // let the last star take one more character
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

const char *cri_name_nearest(const cr_model *model, cr_vector vector, const char *text) {
    size_t length = strlen(text);
    if (length == 0 || length > NAME_LIMIT) {
        return NULL;
    }

    // a third of the characters may be wrong; beyond that a guess would only confuse
    int best = 2 + (int)length / 3;
    const char *nearest = NULL;
    for (int i = 0;; i++) {
        const char *name = cr_model_name(model, vector, i);
        if (!name) {
            return nearest;
        }
        if (strlen(name) > NAME_LIMIT) {
            continue;
        }
        int d = cri_text_distance(text, name);
        if (d < best) {
            best = d;
            nearest = name;
        }
    }
}

// ---- entries and tangents -----------------------------------------------------------------------

// Single entries of a state x and tangent coordinates.
//
//   theta = 2 Im(q* o dq) / |q|       dq = 1/2 q o (0, theta)
//
// Every other number of x is its own tangent.

void cri_tangent_of_entry(const cr_model *model, const double *x, int i, double *x_tan) {
    const cr_sizes *sizes = &model->sizes;
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        x_tan[sizes->n_v + i - sizes->n_q] += 1.0;
        return;
    }
    cri_entry e = cri_model_q_entry(model, i);
    if (e.quat < 0) {
        x_tan[e.theta] += 1.0;
        return;
    }
    double raw_tan[4] = {0.0};
    raw_tan[i - e.quat] = 1.0;
    cri_vec3 theta = cri_quat_tangent(cri_q4_load(x + e.quat), raw_tan);
    cri_v3_accumulate(theta, x_tan + e.theta);
}

double cri_entry_of_tangent(const cr_model *model, const double *x, int i, const double *x_tan) {
    const cr_sizes *sizes = &model->sizes;
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        return x_tan[sizes->n_v + i - sizes->n_q];
    }
    cri_entry e = cri_model_q_entry(model, i);
    if (e.quat < 0) {
        return x_tan[e.theta];
    }
    const double *theta = x_tan + e.theta;
    cri_quat q = cri_quat_normalise(cri_q4_load(x + e.quat));
    cri_quat half = {0.0, 0.5 * theta[0], 0.5 * theta[1], 0.5 * theta[2]};
    double dq[4];
    cri_q4_store(cri_quat_mul(q, half), dq);
    return dq[i - e.quat];
}

// ---- resolving ----------------------------------------------------------------------------------

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

// ---- values, adjoints and tangents --------------------------------------------------------------

// Values, adjoints and tangents between the variables of a selection and the vectors of a run.
//
// Writing is linear: variable z_j goes to all its places. The adjoint of a variable is the sum over
// its places; a control over the whole run sums over all rows of u.

cr_status cri_selection_check_steps(const cri_selection *selection, int n_step, cr_error *err) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].step >= n_step) {
                return cri_fail(err, CR_ERR_ARGUMENT, 0,
                                "%.80s: the run has %d steps, the last is [%d]", variable->name,
                                n_step, n_step - 1);
            }
        }
    }
    return CR_OK;
}

/// The geom of whose size a parameter is, -1: of none.
static int geom_of_size(const cr_model *m, int slot) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        if (slot >= m->geom[g].slot_size && slot < m->geom[g].slot_size + m->geom[g].n_size) {
            return g;
        }
    }
    return -1;
}

/// A coordinate of a vertex?
static bool is_of_vertex(const cr_model *m, int slot) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        int first = m->geom[g].slot_vertex;
        if (first >= 0 && slot >= first && slot < first + 3 * m->geom[g].surface.n_vertex) {
            return true;
        }
    }
    return false;
}

cr_status cri_selection_check_law(const cri_selection *selection, const char *name, cr_error *err) {
    const cri_law *law = cri_law_find_any(name);
    bool is_smooth = law && law->is_energy && law->form == CRI_POTENTIAL_LONGRANGE;
    bool has_sizes = !law || !law->is_energy || is_smooth;
    for (int j = 0; !is_smooth && j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector != CR_VECTOR_P) {
                continue;
            }
            bool is_vertex = is_of_vertex(selection->model, place->index);
            if (is_vertex || (!has_sizes && geom_of_size(selection->model, place->index) >= 0)) {
                return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                                "%.80s: the law %.40s has no derivatives for %s; longrange has",
                                variable->name, name, is_vertex ? "vertices" : "sizes");
            }
        }
    }
    return CR_OK;
}

static bool has_single_step(const cri_selection *selection) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].step >= 0) {
                return true;
            }
        }
    }
    return false;
}

bool cri_selection_has(const cri_selection *selection, cr_vector vector) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].vector == vector) {
                return true;
            }
        }
    }
    return false;
}

cr_status cri_point_push(const cri_selection *selection, int n_step, cr_arena *arena,
                         cri_point *out, cr_error *err) {
    CR_ASSERT(n_step >= 0);
    return cri_point_push_rows(selection, has_single_step(selection) ? n_step : 1, arena, out, err);
}

cr_status cri_point_push_rows(const cri_selection *selection, int n_u_row, cr_arena *arena,
                              cri_point *out, cr_error *err) {
    const cr_sizes *sizes = &selection->sizes;
    out->n_u_row = n_u_row;
    out->p = CR_PUSH(arena, double, sizes->n_p);
    out->x0 = CR_PUSH(arena, double, sizes->n_x);
    out->u = CR_PUSH(arena, double, (size_t)out->n_u_row *(size_t)sizes->n_u);
    if (!out->p || !out->x0 || !out->u) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the controls of %d steps", n_u_row);
    }
    return CR_OK;
}

/// The number at a place; of a control over the whole run, the one of the given row.
static double *at_place(const cri_selection *selection, const cri_point *point,
                        const cri_variable_place *place, int row) {
    switch (place->vector) {
    case CR_VECTOR_P:
        return point->p + place->index;
    case CR_VECTOR_X:
        return point->x0 + place->index;
    case CR_VECTOR_U:
        break;
    }
    int u_row = place->step >= 0 ? place->step : row;
    CR_ASSERT(u_row < point->n_u_row);
    return point->u + (size_t)u_row * (size_t)selection->sizes.n_u + place->index;
}

/// How many numbers a place stands for.
static int place_rows(const cri_point *point, const cri_variable_place *place) {
    return place->vector == CR_VECTOR_U && place->step < 0 ? point->n_u_row : 1;
}

/// The fewest digits that stand for value.
static void print_short(double value, char text[32]) {
    int digits = 6;
    do {
        snprintf(text, 32, "%.*g", digits++, value);
    } while (digits <= 17 && strtod(text, NULL) != value);
}

static cr_status refuse_tie(const cri_selection *selection, const cri_variable *variable, int k,
                            const double value[2], cr_error *err) {
    static const char *const prefix[] = {"", "x0:", "u:"};
    const cri_variable_place *place = &variable->place[k];
    char first[32], other[32];
    print_short(value[0], first);
    print_short(value[1], other);
    // without a step: --set takes whole runs
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "%.80s: tied values start at %s and %s; make them equal, such as --set "
                    "%s%.60s=%s",
                    variable->name, first, other, prefix[place->vector],
                    cr_model_name(selection->model, place->vector, place->index), first);
}

cr_status cri_selection_check_ties(const cri_selection *selection, const cri_point *point,
                                   cr_error *err) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        double first = *at_place(selection, point, &variable->place[0], 0);
        for (int k = 1; k < variable->n_place; k++) {
            double other = *at_place(selection, point, &variable->place[k], 0);
            if (other != first) {
                return refuse_tie(selection, variable, k, (double[]){first, other}, err);
            }
        }
    }
    return CR_OK;
}

double cri_selection_value(const cri_selection *selection, int j, const cri_point *point) {
    return *at_place(selection, point, &selection->variable[j].place[0], 0);
}

void cri_selection_read(const cri_selection *selection, const cri_point *point, double *z) {
    for (int j = 0; j < selection->n_variable; j++) {
        z[j] = cri_selection_value(selection, j, point);
    }
}

void cri_selection_put(const cri_selection *selection, int j, double value, cri_point *point) {
    const cri_variable *variable = &selection->variable[j];
    for (int k = 0; k < variable->n_place; k++) {
        const cri_variable_place *place = &variable->place[k];
        for (int row = 0; row < place_rows(point, place); row++) {
            *at_place(selection, point, place, row) = value;
        }
    }
}

void cri_selection_write(const cri_selection *selection, const double *z, cri_point *point) {
    for (int j = 0; j < selection->n_variable; j++) {
        cri_selection_put(selection, j, z[j], point);
    }
}

void cri_selection_write_vjp(const cri_selection *selection, const cri_point *point_adj,
                             double *z_adj) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            // place = z_j, in every row
            for (int row = 0; row < place_rows(point_adj, place); row++) {
                z_adj[j] += *at_place(selection, point_adj, place, row);
            }
        }
    }
}

// ---- tangents ----------------------------------------------------------------------------------

void cri_variable_p_tan(const cri_variable *variable, double *p_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector == CR_VECTOR_P) {
            p_tan[variable->place[k].index] = 1.0;
        }
    }
}

void cri_variable_x0_tan(const cri_variable *variable, const cr_model *model, const double *x0,
                         double *x0_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector == CR_VECTOR_X) {
            cri_tangent_of_entry(model, x0, variable->place[k].index, x0_tan);
        }
    }
}

void cri_variable_u_tan(const cri_variable *variable, int step, double *u_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        const cri_variable_place *place = &variable->place[k];
        if (place->vector == CR_VECTOR_U && (place->step < 0 || place->step == step)) {
            u_tan[place->index] = 1.0;
        }
    }
}

cri_domain cri_selection_domain(const cri_selection *selection, const cr_model *model, int i) {
    CR_ASSERT(i >= 0 && i < selection->n_variable);
    cri_domain domain = {-INFINITY, INFINITY, false};
    const cri_variable *variable = &selection->variable[i];
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector != CR_VECTOR_P) {
            continue;
        }
        double lower = -INFINITY;
        double upper = INFINITY;
        bool is_open = false;
        cr_model_domain(model, variable->place[k].index, &lower, &upper, &is_open);
        if (lower > domain.lower || (lower == domain.lower && is_open)) {
            domain.lower = lower;
            domain.is_open = is_open;
        }
        domain.upper = fmin(domain.upper, upper);
    }
    return domain;
}
