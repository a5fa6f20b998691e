// SPDX-License-Identifier: MIT
//
// What the options of carom fit say about noise, priors, bounds and what is held out.

#include "fit_options.h"

#include "base/io/number.h"

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

/// Takes one SIGMA or NAME=SIGMA to sigma (n_x + 1).
static int take_noise(const cli_scene *scene, const char *text, double *sigma) {
    const char *equals = strrchr(text, '=');
    const char *number = equals ? equals + 1 : text;
    double value = 0.0;
    if (!parse(number, strlen(number), &value) || !(value > 0.0)) {
        return cli_usage("--noise %.80s: expected SIGMA or NAME=SIGMA with a number above 0", text);
    }
    if (!equals) {
        for (int i = 0; i <= scene->sizes.n_x; i++) {
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
        if (i < 0) {
            // points of a surface have the noise of all columns
            if (!(sigma[scene->sizes.n_x] > 0.0)) {
                return cli_usage("--noise: nothing is said about the points of %.60s; add --noise "
                                 "SIGMA, before those with names",
                                 recording->file);
            }
            recording->sigma[c] = sigma[scene->sizes.n_x];
            continue;
        }
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
    // the last one is for what has no name
    double *sigma = CR_PUSH(scene->memory, double, scene->sizes.n_x + 1);
    int code = sigma ? CLI_DONE : cli_failed("no memory for --noise");
    for (int i = 0; i < options->n_noise && code == CLI_DONE; i++) {
        code = take_noise(scene, options->noise[i], sigma);
    }
    for (int k = 0; k < n_recording && options->n_noise > 0 && code == CLI_DONE; k++) {
        code = set_noise(scene, sigma, &recording[k]);
    }
    return code;
}

// ---- priors ------------------------------------------------------------------------------------

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

static int refuse_turn(const char *option, const char *name) {
    return cli_usage("%s: %.60s is part of a quaternion, which is fitted as a whole", option, name);
}

/// The prior of one variable; the last one of a variable counts.
static void put_prior(settling *to, cri_prior prior) {
    int *n = &to->problem->n_prior;
    int i = 0;
    while (i < *n && to->prior[i].variable != prior.variable) {
        i++;
    }
    to->prior[i] = prior;
    *n += i == *n;
}

/// Takes NAME=MEAN:SIGMA for all variables that NAME fits.
static int take_prior(const cli_scene *scene, const char *text, settling *to) {
    const char *equals = strrchr(text, '=');
    const char *colon = equals ? strchr(equals, ':') : NULL;
    cri_prior prior = {0};
    if (!colon || !parse(equals + 1, (size_t)(colon - equals - 1), &prior.mean) ||
        !parse(colon + 1, strlen(colon + 1), &prior.sigma)) {
        return cli_usage("--prior %.80s: expected NAME=MEAN:SIGMA with numbers", text);
    }
    if (!(prior.sigma > 0.0)) {
        return cli_usage("--prior %.80s: SIGMA must be above 0", text);
    }
    int code = CLI_DONE;
    cri_selection *s = resolve(scene, "--prior", "", text, (size_t)(equals - text), &code);
    for (int i = 0; s && i < s->n_variable && code == CLI_DONE; i++) {
        prior.variable = find_variable(to->problem->selection, &s->variable[i].place[0]);
        if (prior.variable < 0) {
            code = cli_usage("--prior %.80s: %.60s is not in --wrt", text, s->variable[i].name);
        } else if (cri_unknowns_find_turn(&to->unknowns, prior.variable) >= 0) {
            code = refuse_turn("--prior", s->variable[i].name);
        } else {
            put_prior(to, prior);
        }
    }
    cri_selection_destroy(s);
    return code;
}

// ---- bounds ------------------------------------------------------------------------------------

/// Takes every --bound; values that the scene gives must lie between.
static int take_bounds(const cli_options *options, settling *to) {
    const cri_fit_problem *problem = to->problem;
    const cri_selection *selection = problem->selection;
    int code = cli_scene_bounds(options, selection, to->bound);
    for (int j = 0; j < selection->n_variable && code == CLI_DONE; j++) {
        const cri_variable *variable = &selection->variable[j];
        const cri_domain *bound = &to->bound[j];
        cri_domain domain = cri_selection_domain(selection, problem->model, j);
        bool is_bounded = bound->lower > domain.lower || bound->upper < domain.upper;
        bool is_p = variable->place[0].vector == CR_VECTOR_P;
        double start = is_p ? problem->p[variable->place[0].index] : bound->lower;
        if (is_bounded && cri_unknowns_find_turn(&to->unknowns, j) >= 0) {
            code = refuse_turn("--bound", variable->name);
        } else if (is_bounded && (start < bound->lower || start > bound->upper)) {
            code = cli_usage("--bound: the start value %g of %.80s is outside; give another with "
                             "--set",
                             start, variable->name);
        }
    }
    return code;
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

static int take_known(const cli_scene *scene, const cli_options *options, settling *to) {
    cr_error err = {0};
    if (cri_unknowns_push(to->problem->selection, scene->memory, &to->unknowns, &err) != CR_OK) {
        return cli_error(&err);
    }
    int code = CLI_DONE;
    for (int i = 0; i < options->n_prior && code == CLI_DONE; i++) {
        code = take_prior(scene, options->prior[i], to);
    }
    return code == CLI_DONE ? take_bounds(options, to) : code;
}

int cli_fit_settle(const cli_scene *scene, const cli_options *options, cri_fit_problem *problem) {
    size_t n = (size_t)problem->selection->n_variable;
    bool *is_given = CR_PUSH(scene->memory, bool, scene->sizes.n_x);
    cri_domain *bound = CR_PUSH(scene->memory, cri_domain, n);
    cri_prior *prior = CR_PUSH(scene->memory, cri_prior, n);
    if (!is_given || !bound || !prior) {
        return cli_failed("no memory for %zu variables", n);
    }
    for (int j = 0; j < problem->selection->n_variable; j++) {
        bound[j] = cri_selection_domain(problem->selection, problem->model, j);
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
        code = take_known(scene, options, &to);
    }
    if (code == CLI_DONE && options->robust) {
        code = take_robust(options->robust, problem);
    }
    if (code == CLI_DONE && options->holdout) {
        code = take_holdout(options->holdout, problem);
    }
    return code;
}
