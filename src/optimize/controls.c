// SPDX-License-Identifier: MIT
//
// What a plan may change. Each item is resolved once as if it were constant; a sequence then takes
// the place of its constant: variable k holds the steps s with floor(s K / n_step) = k.

#include "optimize/controls.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/io/number.h"
#include "model/model.h"
#include "optimize/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;

// between the first frequencies, Hz
#define FIRST_FREQUENCY 0.5

// room for a name and what is added to it
#define NAME_LIMIT 160

// most variables of one plan: a search through more would never end
#define VARIABLE_LIMIT 1000000

/// One item of the text.
typedef struct item {
    char *text; // without [*] when it is a sequence
    bool is_sequence;
    int n_variable;
} item;

typedef struct builder {
    const cr_model *model;
    int n_step;
    int n_knot;
    item *item;
    int n_item;
    cr_arena *scratch;
    cr_error *err;
} builder;

// ---- sums of sines ------------------------------------------------------------------------------

// Sequences of controls as sums of sines.

static bool is_value_of_step(const cri_variable *variable, int step) {
    return variable->n_place == 1 && variable->place[0].vector == CR_VECTOR_U &&
           variable->place[0].step == step;
}

// "u:hip sine 2 frequency" from "u:hip[0]"
static const char *name_of(const char *first, int k, int part, cr_arena *arena) {
    static const char *const word[3] = {"amplitude", "frequency", "phase"};
    char *name = CR_PUSH(arena, char, NAME_LIMIT);
    const char *end = strrchr(first, '[');
    if (name) {
        snprintf(name, NAME_LIMIT, "%.*s sine %d %s", end ? (int)(end - first) : 99, first, k + 1,
                 word[part]);
    }
    return name;
}

cr_status cri_waves_create(const cri_selection *selection, int n_step, int n_dt, const double *dt,
                           int n_sine, cr_arena *arena, cri_waves *out, cr_error *err) {
    CR_ASSERT(selection && n_step > 0 && n_sine > 0);
    for (int j = 0; j < selection->n_variable; j++) {
        if (!is_value_of_step(&selection->variable[j], j % n_step)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.80s is no sequence with a value every step; sines are for u:NAME[*] "
                            "alone, without knots",
                            selection->variable[j].name);
        }
    }
    int n_sequence = selection->n_variable / n_step, n = 3 * n_sine * n_sequence;
    double *time = CR_PUSH(arena, double, n_step);
    const char **name = CR_PUSH(arena, const char *, n);
    if (!time || !name) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d sines", n_sine);
    }
    for (int i = 1; i < n_step; i++) {
        time[i] = time[i - 1] + dt[n_dt > 1 ? i - 1 : 0];
    }
    for (int i = 0; i < n; i++) {
        const char *first = selection->variable[i / (3 * n_sine) * n_step].name;
        name[i] = name_of(first, i / 3 % n_sine, i % 3, arena);
        if (!name[i]) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d sines", n_sine);
        }
    }
    *out = (cri_waves){n_sequence, n_step, n_sine, n, time, name};
    return CR_OK;
}

void cri_waves_begin(const cri_waves *w, const cri_domain *of_values, cri_domain *domain,
                     double *z) {
    double last = w->n_step > 1 ? w->time[w->n_step - 1] / (w->n_step - 1) : 1.0;
    for (int i = 0; i < w->n; i += 3) {
        const cri_domain *u = &of_values[i / (3 * w->n_sine) * w->n_step];
        double most = fmax(fabs(u->lower), fabs(u->upper));
        domain[i] = (cri_domain){.lower = -most, .upper = most};
        // four steps a period, no fewer
        domain[i + 1] = (cri_domain){.lower = 0.0, .upper = 0.25 / last};
        domain[i + 2] = (cri_domain){.lower = -INFINITY, .upper = INFINITY};
        z[i] = z[i + 2] = 0.0;
        z[i + 1] = fmin(FIRST_FREQUENCY * (i / 3 % w->n_sine + 1), domain[i + 1].upper);
    }
}

void cri_waves_write(const cri_waves *w, const double *z, double *values) {
    memset(values, 0, sizeof *values * (size_t)(w->n_sequence * w->n_step));
    for (int i = 0; i < w->n; i += 3) {
        double *u = values + (size_t)(i / (3 * w->n_sine)) * (size_t)w->n_step;
        for (int t = 0; t < w->n_step; t++) {
            u[t] += z[i] * sin(two_pi * z[i + 1] * w->time[t] + z[i + 2]);
        }
    }
}

void cri_waves_write_vjp(const cri_waves *w, const double *z, const double *values_adj,
                         double *z_adj) {
    for (int i = 0; i < w->n; i += 3) {
        const double *u_adj = values_adj + (size_t)(i / (3 * w->n_sine)) * (size_t)w->n_step;
        for (int t = 0; t < w->n_step; t++) {
            // u += a sin(angle), angle = 2 pi f t + phi
            double angle = two_pi * z[i + 1] * w->time[t] + z[i + 2];
            double angle_adj = u_adj[t] * z[i] * cos(angle);
            z_adj[i] += u_adj[t] * sin(angle);
            z_adj[i + 1] += angle_adj * two_pi * w->time[t];
            z_adj[i + 2] += angle_adj;
        }
    }
}

// ---- variables of a plan ------------------------------------------------------------------------

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the controls");
}

/// True for u:NAME[*], unless [*] stands for the indices of NAME itself, as in u:BODY/force[*].
static bool is_sequence(const cr_model *model, char *text) {
    size_t n = strlen(text);
    if (strncmp(text, "u:", 2) != 0 || n < 6 || strcmp(text + n - 3, "[*]") != 0) {
        return false;
    }
    text[n - 3] = '\0';
    bool is_index = false;
    for (int i = 0; i < model->sizes.n_u; i++) {
        const char *name = cr_model_name(model, CR_VECTOR_U, i);
        is_index = is_index || (strncmp(name, text + 2, n - 5) == 0 && name[n - 5] == '[');
    }
    text[n - 3] = '[';
    return !is_index;
}

/// Cuts the text at its commas.
static cr_status split(builder *b, const char *text) {
    b->n_item = 1;
    for (const char *c = text; *c; c++) {
        b->n_item += *c == ',';
    }
    b->item = CR_PUSH(b->scratch, item, b->n_item);
    char *rest = cri_arena_push_text(b->scratch, text);
    if (!b->item || !rest) {
        return no_memory(b->err);
    }
    for (int i = 0; i < b->n_item; i++) {
        char *end = rest + strcspn(rest, ",");
        char *next = *end ? end + 1 : end;
        while (*rest == ' ' || *rest == '\t') {
            rest++;
        }
        while (end > rest && (end[-1] == ' ' || end[-1] == '\t')) {
            end--;
        }
        *end = '\0';
        b->item[i] = (item){.text = rest, .is_sequence = is_sequence(b->model, rest)};
        if (b->item[i].is_sequence) {
            if (strchr(rest, '=')) {
                return cri_fail(b->err, CR_ERR_ARGUMENT, 0, "%.80s: sequences cannot be tied",
                                rest);
            }
            rest[strlen(rest) - 3] = '\0';
        }
        rest = next;
    }
    return CR_OK;
}

/// All items as if they were constant, and how many variables each has.
static cr_status resolve(builder *b, const char *text, cri_selection **out) {
    size_t room = strlen(text) + 1;
    char *joined = CR_PUSH(b->scratch, char, room);
    if (!joined) {
        return no_memory(b->err);
    }
    size_t used = 0;
    for (int i = 0; i < b->n_item; i++) {
        cri_selection *single = NULL;
        CR_TRY(cri_selection_create(b->model, b->item[i].text, &single, b->err));
        b->item[i].n_variable = single->n_variable;
        cri_selection_destroy(single);
        used +=
            (size_t)snprintf(joined + used, room - used, "%s%s", i > 0 ? "," : "", b->item[i].text);
    }
    return cri_selection_create(b->model, joined, out, b->err);
}

/// Variable k of a sequence.
static cr_status add_piece(const builder *b, cri_selection *selection, const cri_variable *constant,
                           int k) {
    long long n = b->n_step;
    int first = (int)((k * n + b->n_knot - 1) / b->n_knot);
    int last = (int)(((k + 1) * n + b->n_knot - 1) / b->n_knot) - 1;
    int n_place = last - first + 1;
    cri_variable_place *place = CR_PUSH(selection->memory, cri_variable_place, n_place);
    char name[NAME_LIMIT];
    int length = first == last
                     ? snprintf(name, sizeof name, "%s[%d]", constant->name, first)
                     : snprintf(name, sizeof name, "%s[%d:%d]", constant->name, first, last);
    if (length >= NAME_LIMIT) {
        return cri_fail(b->err, CR_ERR_UNSUPPORTED, 0, "%.80s...: the name is too long",
                        constant->name);
    }
    char *own = cri_arena_push_text(selection->memory, name);
    if (!place || !own) {
        return no_memory(b->err);
    }
    for (int i = 0; i < n_place; i++) {
        place[i] = constant->place[0];
        place[i].step = first + i;
    }
    selection->variable[selection->n_variable++] = (cri_variable){own, place, n_place};
    return CR_OK;
}

/// Puts sequences in the place of their constants.
static cr_status expand(const builder *b, cri_selection *selection) {
    const cri_variable *constant = selection->variable;
    size_t n = 0;
    for (int i = 0; i < b->n_item; i++) {
        size_t each = b->item[i].is_sequence ? (size_t)b->n_knot : 1;
        n += (size_t)b->item[i].n_variable * each;
    }
    if (n > VARIABLE_LIMIT) {
        return cri_fail(b->err, CR_ERR_ARGUMENT, 0,
                        "%zu variables are too many; give fewer values with --knots", n);
    }
    selection->variable = CR_PUSH(selection->memory, cri_variable, n);
    selection->n_variable = 0;
    if (!selection->variable) {
        return no_memory(b->err);
    }
    for (int i = 0; i < b->n_item; i++) {
        for (int j = 0; j < b->item[i].n_variable; j++, constant++) {
            if (!b->item[i].is_sequence) {
                selection->variable[selection->n_variable++] = *constant;
            }
            for (int k = 0; k < b->n_knot && b->item[i].is_sequence; k++) {
                CR_TRY(add_piece(b, selection, constant, k));
            }
        }
    }
    return CR_OK;
}

cr_status cri_controls_create(const cr_model *model, const char *text, int n_step, int n_knot,
                              cri_selection **out, cr_error *err) {
    CR_ASSERT(n_step > 0 && n_knot >= 0);
    *out = NULL;
    if (n_knot > n_step) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%d knots are more than the %d steps they are for",
                        n_knot, n_step);
    }
    builder b = {.model = model,
                 .n_step = n_step,
                 .n_knot = n_knot > 0 ? n_knot : n_step,
                 .scratch = cri_arena_create(4096),
                 .err = err};
    cri_selection *selection = NULL;
    cr_status status = b.scratch ? split(&b, text) : no_memory(err);
    if (status == CR_OK) {
        status = resolve(&b, text, &selection);
    }
    if (status == CR_OK) {
        status = expand(&b, selection);
    }
    if (status == CR_OK) {
        status = cri_selection_check_steps(selection, n_step, err);
    }
    cri_arena_destroy(b.scratch);
    if (status != CR_OK) {
        cri_selection_destroy(selection);
        return status;
    }
    *out = selection;
    return CR_OK;
}

// ---- bounds ------------------------------------------------------------------------------------

void cri_controls_domain(const cri_selection *selection, const cr_model *model,
                         cri_domain *domain) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        domain[j] = cri_selection_domain(selection, model, j);
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector == CR_VECTOR_U && place->index < model->mech.n_actuator) {
                const double *range = model->mech.actuator[place->index].ctrl;
                domain[j].lower = fmax(domain[j].lower, range[0]);
                domain[j].upper = fmin(domain[j].upper, range[1]);
            }
        }
    }
}

/// One side of LOW:HIGH, which may be empty.
static bool read_limit(const char *text, size_t n, double none, double *out) {
    *out = none;
    return n == 0 || cri_number_parse(text, n, out) == CRI_NUMBER_OK;
}

/// True when some place of the variable is meant by one of the named ones.
static bool is_named(const cri_variable *variable, const cri_selection *named) {
    for (int i = 0; i < named->n_variable; i++) {
        const cri_variable_place *want = &named->variable[i].place[0];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector == want->vector && place->index == want->index &&
                (want->step < 0 || place->step < 0 || want->step == place->step)) {
                return true;
            }
        }
    }
    return false;
}

static cr_status narrow(const cri_selection *selection, const cri_selection *named,
                        const char *text, const double limit[2], cri_domain *domain,
                        cr_error *err) {
    bool is_any = false;
    for (int j = 0; j < selection->n_variable; j++) {
        if (!is_named(&selection->variable[j], named)) {
            continue;
        }
        is_any = true;
        domain[j].is_open = domain[j].is_open && domain[j].lower >= limit[0];
        domain[j].lower = fmax(domain[j].lower, limit[0]);
        domain[j].upper = fmin(domain[j].upper, limit[1]);
        bool is_point = domain[j].lower == domain[j].upper && domain[j].is_open;
        if (!(domain[j].lower <= domain[j].upper) || is_point) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.80s: no value of %.60s is left, it would lie from %g to %g", text,
                            selection->variable[j].name, domain[j].lower, domain[j].upper);
        }
    }
    return is_any ? CR_OK
                  : cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: that is not among the chosen names",
                             text);
}

cr_status cri_controls_bound(const cri_selection *selection, const char *text, cri_domain *domain,
                             cr_error *err) {
    const char *equals = strrchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    const char *low = equals ? equals + 1 : text;
    size_t n_low = strcspn(low, ":");
    double limit[2];
    if (n == 0 || n >= NAME_LIMIT || low[n_low] != ':' ||
        !read_limit(low, n_low, -INFINITY, &limit[0]) ||
        !read_limit(low + n_low + 1, strlen(low + n_low + 1), INFINITY, &limit[1])) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: expected NAME=LOW:HIGH", text);
    }
    if (limit[0] > limit[1]) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: the lower limit is above the upper", text);
    }
    char name[NAME_LIMIT];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    if (is_sequence(selection->model, name)) {
        name[n - 3] = '\0';
    }
    cri_selection *named = NULL;
    CR_TRY(cri_selection_create(selection->model, name, &named, err));
    cr_status status = narrow(selection, named, text, limit, domain, err);
    cri_selection_destroy(named);
    return status;
}

void cri_controls_seconds(const cri_selection *selection, int n_step, int n_dt, const double *dt,
                          double *weight) {
    double total = 0.0;
    for (int s = 0; s < n_step; s++) {
        total += dt[n_dt > 1 ? s : 0];
    }
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        weight[j] = 0.0;
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector == CR_VECTOR_U) {
                weight[j] += place->step < 0 ? total : dt[n_dt > 1 ? place->step : 0];
            }
        }
    }
}
