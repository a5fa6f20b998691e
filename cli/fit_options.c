// SPDX-License-Identifier: MIT
//
// What the options of carom fit say about noise, priors, bounds and what is held out.

#include "fit_options.h"

#include "io/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool parse(const char *text, size_t n, double *out) {
    return cri_number_parse(text, n, out) == CRI_NUMBER_OK;
}

/// Resolves the first n characters of text, with a prefix. NULL after a line on stderr.
static cri_selection *resolve(const cli_scene *scene, const char *option, const char *prefix,
                              const char *text, size_t n, int *code) {
    size_t n_byte = strlen(prefix) + n + 1;
    char *name = CR_PUSH(scene->memory, char, n_byte);
    if (!name) {
        *code = cli_failed("no memory for %s", option);
        return NULL;
    }
    snprintf(name, n_byte, "%s%.*s", prefix, (int)n, text);
    cr_error err = {0};
    cri_selection *selection = NULL;
    if (cri_selection_create(scene->model, name, &selection, &err) != CR_OK) {
        *code = cli_error_in(option, &err);
    }
    return selection;
}

// ---- noise -------------------------------------------------------------------------------------

/// Takes one SIGMA or NAME=SIGMA to sigma (n_x).
static int take_noise(const cli_scene *scene, const char *text, double *sigma) {
    const char *equals = strrchr(text, '=');
    const char *number = equals ? equals + 1 : text;
    double value = 0.0;
    if (!parse(number, strlen(number), &value) || !(value > 0.0)) {
        return cli_usage("--noise %.80s: expected SIGMA or NAME=SIGMA with a number above 0", text);
    }
    if (!equals) {
        for (int i = 0; i < scene->sizes.n_x; i++) {
            sigma[i] = value;
        }
        return CLI_DONE;
    }
    int code = CLI_DONE;
    // columns have the names of the state, without x0:
    const char *prefix = strncmp(text, "x0:", 3) == 0 ? "" : "x0:";
    cri_selection *s = resolve(scene, "--noise", prefix, text, (size_t)(equals - text), &code);
    for (int i = 0; s && i < s->n_variable; i++) {
        sigma[s->variable[i].place[0].index] = value;
    }
    cri_selection_destroy(s);
    return code;
}

/// Gives the columns of one recording their noise.
static int set_noise(const cli_scene *scene, const double *sigma, cri_recording *recording) {
    recording->sigma = CR_PUSH(scene->memory, double, recording->n_column);
    if (!recording->sigma) {
        return cli_failed("no memory for --noise");
    }
    for (int c = 0; c < recording->n_column; c++) {
        int i = recording->x_index[c];
        if (!(sigma[i] > 0.0)) {
            return cli_usage("--noise: nothing is said about column %.60s of %.60s; add --noise "
                             "SIGMA for all columns, before those with names",
                             cr_model_name(scene->model, CR_VECTOR_X, i), recording->file);
        }
        recording->sigma[c] = sigma[i];
    }
    return CLI_DONE;
}

int cli_fit_noise(const cli_scene *scene, const cli_options *options, int n_recording,
                  cri_recording *recording) {
    double *sigma = CR_PUSH(scene->memory, double, scene->sizes.n_x);
    int code = sigma ? CLI_DONE : cli_failed("no memory for --noise");
    for (int i = 0; i < options->n_noise && code == CLI_DONE; i++) {
        code = take_noise(scene, options->noise[i], sigma);
    }
    for (int k = 0; k < n_recording && options->n_noise > 0 && code == CLI_DONE; k++) {
        code = set_noise(scene, sigma, &recording[k]);
    }
    return code;
}

// ---- priors and bounds -------------------------------------------------------------------------

/// NAME=FIRST:SECOND, where a missing number is NaN.
typedef struct pair_option {
    const char *option;
    const char *text;
    size_t n_name;
    double first;
    double second;
} pair_option;

static int take_pair(const char *option, const char *text, pair_option *out) {
    const char *equals = strrchr(text, '=');
    const char *colon = equals ? strchr(equals, ':') : NULL;
    *out = (pair_option){.option = option, .text = text, .first = NAN, .second = NAN};
    bool is_bound = strcmp(option, "--bound") == 0;
    bool is_good = colon != NULL;
    if (is_good) {
        out->n_name = (size_t)(equals - text);
        size_t n = (size_t)(colon - equals - 1);
        is_good = (n == 0 && is_bound) || parse(equals + 1, n, &out->first);
        is_good = is_good &&
                  ((!colon[1] && is_bound) || parse(colon + 1, strlen(colon + 1), &out->second));
    }
    if (!is_good) {
        return cli_usage("%s %.80s: expected NAME=%s with numbers", option, text,
                         is_bound ? "LOW:HIGH" : "MEAN:SIGMA");
    }
    return CLI_DONE;
}

/// The variable of the fit with a place, -1: none.
static int find_variable(const cri_selection *selection, const cri_variable_place *place) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *own = &variable->place[k];
            if (own->vector == place->vector && own->index == place->index &&
                own->step == place->step) {
                return j;
            }
        }
    }
    return -1;
}

/// What priors and bounds go to.
typedef struct settling {
    cri_fit_problem *problem;
    cri_unknowns unknowns;
    cri_domain *bound; // (n_variable)
    cri_prior *prior;  // room for one a variable
} settling;

/// Told for each variable of the fit that an option names.
typedef int take_variable(settling *to, const pair_option *pair, int variable);

static int for_variables(const cli_scene *scene, const pair_option *pair, take_variable *take,
                         settling *to) {
    int code = CLI_DONE;
    cri_selection *s = resolve(scene, pair->option, "", pair->text, pair->n_name, &code);
    for (int i = 0; s && i < s->n_variable && code == CLI_DONE; i++) {
        int variable = find_variable(to->problem->selection, &s->variable[i].place[0]);
        if (variable < 0) {
            code = cli_usage("%s %.80s: %.60s is not in --wrt", pair->option, pair->text,
                             s->variable[i].name);
        } else if (cri_unknowns_find_turn(&to->unknowns, variable) >= 0) {
            code = cli_usage("%s %.80s: %.60s is part of a quaternion, which is fitted as a whole",
                             pair->option, pair->text, s->variable[i].name);
        } else {
            code = take(to, pair, variable);
        }
    }
    cri_selection_destroy(s);
    return code;
}

static int take_prior(settling *to, const pair_option *pair, int variable) {
    cri_fit_problem *problem = to->problem;
    if (!(pair->second > 0.0)) {
        return cli_usage("--prior %.80s: SIGMA must be above 0", pair->text);
    }
    // the last one of a variable counts
    int i = 0;
    while (i < problem->n_prior && to->prior[i].variable != variable) {
        i++;
    }
    to->prior[i] = (cri_prior){variable, pair->first, pair->second};
    problem->n_prior += i == problem->n_prior;
    return CLI_DONE;
}

static int take_bound(settling *to, const pair_option *pair, int variable) {
    const cri_fit_problem *problem = to->problem;
    cri_domain *bound = &to->bound[variable];
    bound->lower = isnan(pair->first) ? -INFINITY : pair->first;
    bound->upper = isnan(pair->second) ? INFINITY : pair->second;
    const cri_variable_place *place = problem->selection->variable[variable].place;
    cri_domain domain = cri_selection_domain(problem->selection, problem->model, variable);
    if (bound->lower > bound->upper || bound->lower > domain.upper || bound->upper < domain.lower ||
        (domain.is_open && bound->upper <= domain.lower)) {
        return cli_usage("--bound %.80s: there is no value between the bounds", pair->text);
    }
    double start = place->vector == CR_VECTOR_P ? problem->p[place->index] : bound->lower;
    if (start < bound->lower || start > bound->upper) {
        return cli_usage("--bound %.80s: the start value %g is outside; give another with --set",
                         pair->text, start);
    }
    return CLI_DONE;
}

// ---- robust loss, held-out part ----------------------------------------------------------------

static int take_robust(const char *text, cri_fit_problem *problem) {
    size_t n = strcspn(text, ":");
    bool is_huber = n == 5 && strncmp(text, "huber", n) == 0;
    bool is_cauchy = n == 6 && strncmp(text, "cauchy", n) == 0;
    bool is_good = is_huber || is_cauchy;
    if (is_good && text[n] == ':') {
        is_good =
            parse(text + n + 1, strlen(text + n + 1), &problem->tuning) && problem->tuning > 0.0;
    }
    if (!is_good) {
        return cli_usage("--robust %.40s: expected huber or cauchy, or with a constant such as "
                         "huber:1.345",
                         text);
    }
    problem->loss = is_huber ? CRI_LOSS_HUBER : CRI_LOSS_CAUCHY;
    return CLI_DONE;
}

static int take_holdout(const char *text, cri_fit_problem *problem) {
    bool is_single = problem->n_recording == 1;
    int n_all = is_single ? problem->recording[0].n_sample : problem->n_recording;
    int n_least = is_single ? 2 : 1;
    double value = 0.0;
    bool is_good = parse(text, strlen(text), &value) && value > 0.0;
    if (!is_good || (value >= 1.0 && value != floor(value))) {
        return cli_usage("--holdout %.40s: expected a fraction below 1 or a whole number", text);
    }
    double n = value < 1.0 ? ceil(value * n_all - 1e-9) : value;
    if (n > n_all - n_least) {
        return cli_usage("--holdout %.40s: of %d %s at least %d must be left to fit", text, n_all,
                         is_single ? "rows" : "recordings", n_least);
    }
    problem->n_held_out = (int)n;
    return CLI_DONE;
}

// ---- all ---------------------------------------------------------------------------------------

/// Marks the entries of x0 that --set named.
static int mark_given(const cli_scene *scene, const cli_options *options, bool *is_given) {
    int code = CLI_DONE;
    for (int i = 0; i < options->n_set && code == CLI_DONE; i++) {
        const char *text = options->set[i];
        const char *equals = strchr(text, '=');
        if (strncmp(text, "x0:", 3) != 0 || !equals) {
            continue;
        }
        cri_selection *s = resolve(scene, "--set", "", text, (size_t)(equals - text), &code);
        for (int j = 0; s && j < s->n_variable; j++) {
            is_given[s->variable[j].place[0].index] = true;
        }
        cri_selection_destroy(s);
    }
    return code;
}

static int take_pairs(const cli_scene *scene, const cli_options *options, settling *to) {
    cr_error err = {0};
    if (cri_unknowns_push(to->problem->selection, scene->memory, &to->unknowns, &err) != CR_OK) {
        return cli_error(&err);
    }
    int code = CLI_DONE;
    for (int i = 0; i < options->n_prior && code == CLI_DONE; i++) {
        pair_option pair;
        code = take_pair("--prior", options->prior[i], &pair);
        if (code == CLI_DONE) {
            code = for_variables(scene, &pair, take_prior, to);
        }
    }
    for (int i = 0; i < options->n_bound && code == CLI_DONE; i++) {
        pair_option pair;
        code = take_pair("--bound", options->bound[i], &pair);
        if (code == CLI_DONE) {
            code = for_variables(scene, &pair, take_bound, to);
        }
    }
    return code;
}

int cli_fit_settle(const cli_scene *scene, const cli_options *options, cri_fit_problem *problem) {
    size_t n = (size_t)problem->selection->n_variable;
    bool *is_given = CR_PUSH(scene->memory, bool, scene->sizes.n_x);
    cri_domain *bound = CR_PUSH(scene->memory, cri_domain, n);
    cri_prior *prior = CR_PUSH(scene->memory, cri_prior, n);
    if (!is_given || !bound || !prior) {
        return cli_failed("no memory for %zu variables", n);
    }
    for (size_t j = 0; j < n; j++) {
        bound[j] = (cri_domain){-INFINITY, INFINITY, false};
    }
    problem->bound = bound;
    problem->prior = prior;
    problem->is_x0_given = is_given;
    if (options->n_prior > 0 && options->n_noise == 0) {
        return cli_usage("--prior needs --noise: without it nothing says what a prior weighs "
                         "against the data");
    }
    int code = mark_given(scene, options, is_given);
    if (code == CLI_DONE) {
        settling to = {.problem = problem, .bound = bound, .prior = prior};
        code = take_pairs(scene, options, &to);
    }
    if (code == CLI_DONE && options->robust) {
        code = take_robust(options->robust, problem);
    }
    if (code == CLI_DONE && options->holdout) {
        code = take_holdout(options->holdout, problem);
    }
    return code;
}
