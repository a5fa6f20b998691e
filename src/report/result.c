// SPDX-License-Identifier: MIT
//
// Results of the commands as JSON files.

#include "report/result.h"

#include "base/io/file.h"
#include "base/io/json_file.h"
#include "learned/augmented.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// digits that bring every double back
#define DIGITS 17

// ---- nets of contact patches --------------------------------------------------------------------

// Accuracies and confusion matrices of the nets of contact patches as JSON.

static json_t *confusion(const cri_augmented_score *s) {
    json_t *rows = json_array();
    for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
        const int *n = s->confusion[i];
        json_array_append_new(rows, json_pack("[i, i, i]", n[0], n[1], n[2]));
    }
    return rows;
}

static json_t *kinds(const cri_nets_result *r) {
    json_t *list = json_array();
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &r->score[k];
        if (!cri_ground_has(r->nets->is_spatial, k)) {
            continue;
        }
        json_t *spin = r->sampling ? json_real(r->sampling->spin[k]) : json_null();
        json_array_append_new(list, json_pack("{s:s, s:o, s:i, s:i, s:f, s:o, s:f, s:f}", "kind",
                                              cri_ground_kind_name(k), "spin", spin, "train",
                                              s->n_train, "test", s->n_test, "accuracy",
                                              s->accuracy, "confusion", confusion(s), "friction",
                                              s->friction, "impulse_pdd", r->pdd[k].impulse));
    }
    return list;
}

// ranges of speeds, m/s
static json_t *sampling(const cri_ground_sampling *of) {
    return of ? json_pack("{s:f, s:f, s:f}", "along", of->along, "closing", of->closing, "opening",
                          of->opening)
              : json_null();
}

cr_status cri_result_nets(const char *path, const cri_nets_result *r, cr_error *err) {
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:f}", "system", "augmented", "scene",
                  r->scene, "law", r->law, "body", r->nets->body, "surface", r->nets->surface,
                  "sampling", sampling(r->sampling), "kinds", kinds(r), "seconds", r->seconds);
    return cri_json_write(path, root, true, JSON_INDENT(2), err);
}

// ---- results ------------------------------------------------------------------------------------

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *numbers(int n, const double *value) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++) {
        // takes the reference, and fails when either is NULL
        if (json_array_append_new(array, number(value[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/// Text that may not be UTF-8, such as a path: what JSON cannot hold becomes '?'.
static json_t *text(const char *value) {
    json_t *string = json_string(value);
    if (string) {
        return string;
    }
    char plain[256] = {0};
    for (size_t i = 0; i + 1 < sizeof plain && value[i]; i++) {
        plain[i] = (unsigned char)value[i] < 0x80 ? value[i] : '?';
    }
    return json_string(plain);
}

/// Adds a member whose reference is taken. False when either is missing.
static bool put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

/// Writes root, whose reference is taken, when it was built without a failure.
static cr_status write(const char *path, json_t *root, bool is_built, cr_error *err) {
    return cri_json_write(path, root, is_built, JSON_INDENT(2), err);
}

cr_status cri_result_simulate(const char *path, const cri_simulate_result *result, cr_error *err) {
    json_t *root = json_object();
    bool is_built = put(root, "scene", text(result->scene)) &&
                    put(root, "law", text(result->law)) && put(root, "dt", number(result->dt)) &&
                    put(root, "steps", json_integer(result->n_step)) &&
                    put(root, "qpos", numbers(result->n_q, result->x)) &&
                    put(root, "qvel", numbers(result->n_v, result->x + result->n_q)) &&
                    put(root, "energy", numbers(2, result->energy)) &&
                    put(root, "max_penetration", number(result->max_penetration)) &&
                    put(root, "seconds", number(result->seconds));
    return write(path, root, is_built, err);
}

cr_status cri_result_gradient(const char *path, const cri_gradient_result *result, cr_error *err) {
    json_t *root = json_object();
    bool is_built =
        put(root, "scene", text(result->scene)) && put(root, "law", text(result->law)) &&
        put(root, "loss", number(result->loss)) && put(root, "status", text(result->status));
    json_t *entries = is_built ? json_array() : NULL;
    is_built = is_built && put(root, "entries", entries);
    for (int i = 0; i < result->n_entry && is_built; i++) {
        const cri_gradient_entry *entry = &result->entry[i];
        json_t *object = json_object();
        is_built = json_array_append_new(entries, object) == 0 &&
                   put(object, "name", text(entry->name)) &&
                   put(object, "value", number(entry->value));
        if (result->is_checked && is_built) {
            is_built = put(object, "difference", number(entry->difference)) &&
                       put(object, "error", number(entry->error));
        }
        if (entry->held && is_built) {
            is_built = put(object, "held", text(entry->held));
        }
    }
    is_built = is_built && put(root, "seconds_forward", number(result->seconds_forward)) &&
               put(root, "seconds_gradient", number(result->seconds_gradient));
    return write(path, root, is_built, err);
}

static bool put_fit_entry(json_t *parameters, const cri_fit_problem *problem,
                          const cri_fit_entry *entry) {
    json_t *object = json_object();
    bool is_built =
        json_array_append_new(parameters, object) == 0 && put(object, "name", text(entry->name)) &&
        put(object, "start", number(entry->start)) && put(object, "value", number(entry->value)) &&
        put(object, "stderr", number(entry->deviation)) &&
        put(object, "identifiable", json_boolean(entry->is_identifiable));
    if (is_built && entry->recording >= 0) {
        is_built = put(object, "recording", text(problem->recording[entry->recording].file));
    }
    if (is_built && entry->why[0]) {
        is_built = put(object, "note", text(entry->why));
    }
    return is_built;
}

static bool put_fit_details(json_t *root, const cri_fit_problem *problem, const cri_fit *fit) {
    json_t *rows = json_array();
    json_t *recordings = json_array();
    bool is_built = put(root, "rms", number(fit->rms)) &&
                    put(root, "iterations", json_integer(fit->n_iteration)) &&
                    put(root, "stop", text(cri_lsq_stop_text(fit->stop)));
    // both references are taken, whether they are there or not
    is_built = put(root, "correlation", rows) && is_built;
    is_built = put(root, "recordings", recordings) && is_built;
    int n = fit->n_correlated;
    for (int i = 0; i < n && is_built; i++) {
        const double *row = fit->correlation + (size_t)i * (size_t)n;
        is_built = json_array_append_new(rows, numbers(n, row)) == 0;
    }
    for (int k = 0; k < fit->n_recording && is_built; k++) {
        json_t *object = json_object();
        is_built = json_array_append_new(recordings, object) == 0 &&
                   put(object, "file", text(problem->recording[k].file)) &&
                   put(object, "rms", number(fit->rms_of[k]));
    }
    return is_built;
}

cr_status cri_result_fit(const char *path, const cri_fit_problem *problem, const cri_fit *fit,
                         double seconds, cr_error *err) {
    json_t *root = json_object();
    bool is_built = put(root, "loss", number(fit->loss));
    json_t *parameters = is_built ? json_array() : NULL;
    is_built = is_built && put(root, "parameters", parameters);
    for (int i = 0; i < fit->n_entry && is_built; i++) {
        is_built = put_fit_entry(parameters, problem, &fit->entry[i]);
    }
    is_built = is_built && put(root, "heldout", number(fit->held_out)) &&
               put(root, "seconds", number(seconds)) && put_fit_details(root, problem, fit);
    return write(path, root, is_built, err);
}

cr_status cri_result_fit_table(const char *path, const cri_fit_problem *problem, const cri_fit *fit,
                               cr_error *err) {
    cri_atomic_file file;
    CR_TRY(cri_atomic_open(path, &file, err));
    fputs("name,recording,start,value,stderr,identifiable\n", file.stream);
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *entry = &fit->entry[i];
        const char *recording =
            entry->recording >= 0 ? problem->recording[entry->recording].file : "";
        fprintf(file.stream, "%s,\"%s\",%.*g,%.*g,", entry->name, recording, DIGITS, entry->start,
                DIGITS, entry->value);
        if (isfinite(entry->deviation)) {
            fprintf(file.stream, "%.*g", DIGITS, entry->deviation);
        }
        fprintf(file.stream, ",%d\n", entry->is_identifiable);
    }
    return cri_atomic_commit(&file, err);
}

static json_t *compare_row(const cri_compare_result *result, int i) {
    const cri_compare_row *row = &result->compare->row[i];
    char status[64];
    cri_compare_text(result->compare, i, status);
    json_t *object = json_object(), *targets = json_array();
    bool is_built = put(object, "law", text(row->law->name)) &&
                    put(object, "status", text(status)) && put(object, "loss", number(row->loss)) &&
                    put(object, "max_penetration", number(row->max_penetration)) &&
                    put(object, "energy_change", number(row->energy_change)) &&
                    put(object, "gradient_error", number(row->gradient_error)) &&
                    put(object, "gradient_norm", number(row->gradient_norm)) &&
                    put(object, "step_us", number(row->step_us)) &&
                    put(object, "gradient_us", number(row->gradient_us)) &&
                    put(object, "reason", row->reason[0] ? text(row->reason) : json_null()) &&
                    put(object, "checked", json_integer(row->n_checked)) &&
                    put(object, "undecided", json_integer(row->n_undecided)) &&
                    put(object, "wrong", json_integer(row->n_wrong)) &&
                    put(object, "impacts", json_integer(row->report.n_event));
    for (int k = 0; k < result->n_target && is_built; k++) {
        is_built = json_array_append_new(targets, numbers(3, row->target + 3 * k)) == 0;
    }
    // the reference goes to object, also when that fails
    if (!put(object, "targets", targets) || !is_built) {
        json_decref(object);
        return NULL;
    }
    return object;
}

cr_status cri_result_compare(const char *path, const cri_compare_result *result, cr_error *err) {
    json_t *root = json_object(), *rows = json_array();
    bool is_built = put(root, "rows", rows);
    for (int i = 0; i < result->compare->n_row && is_built; i++) {
        is_built = json_array_append_new(rows, compare_row(result, i)) == 0;
    }
    is_built = is_built && put(root, "scene", text(result->scene)) &&
               put(root, "stepper", text(result->stepper)) &&
               put(root, "steps", json_integer(result->n_step));
    json_t *entries = is_built ? json_array() : NULL;
    is_built = is_built && put(root, "entries", entries);
    for (int i = 0; i < result->selection->n_variable && is_built; i++) {
        is_built = json_array_append_new(entries, text(result->selection->variable[i].name)) == 0;
    }
    json_t *sentences = is_built ? json_array() : NULL;
    is_built = is_built && put(root, "sentences", sentences);
    for (int i = 0; i < result->differ->n && is_built; i++) {
        const cri_differ_sentence *sentence = &result->differ->sentence[i];
        json_t *object = json_object();
        is_built = json_array_append_new(sentences, object) == 0 &&
                   put(object, "kind", text(cri_differ_word(sentence->kind))) &&
                   put(object, "text", text(sentence->text));
    }
    return write(path, root, is_built, err);
}

static bool put_controls(json_t *root, const cri_plan_result *result) {
    json_t *array = json_array();
    bool is_built = put(root, "controls", array);
    for (int j = 0; j < result->n_control && is_built; j++) {
        json_t *object = json_object();
        is_built = json_array_append_new(array, object) == 0 &&
                   put(object, "name", text(result->control[j])) &&
                   put(object, "start", number(result->plan->start[j])) &&
                   put(object, "value", number(result->plan->z[j]));
    }
    return is_built;
}

static bool put_targets(json_t *root, const cri_plan_result *result) {
    json_t *array = json_array();
    bool is_built = put(root, "targets", array);
    for (int i = 0; i < result->n_target && is_built; i++) {
        json_t *object = json_object();
        is_built = json_array_append_new(array, object) == 0 &&
                   put(object, "name", text(result->target[i])) &&
                   put(object, "distance", number(result->plan->distance[i]));
    }
    return is_built;
}

cr_status cri_result_plan(const char *path, const cri_plan_result *result, cr_error *err) {
    const cri_plan *plan = result->plan;
    json_t *root = json_object();
    bool is_built =
        put(root, "scene", text(result->scene)) && put(root, "law", text(result->law)) &&
        put(root, "method", text(result->method)) && put(root, "loss", number(plan->loss)) &&
        put(root, "cost", number(plan->cost)) &&
        put(root, "status", text(cri_plan_stop_word(plan->stop))) &&
        put(root, "iterations", json_integer(plan->n_iteration)) && put_controls(root, result) &&
        put_targets(root, result) && put(root, "seconds", number(result->seconds)) &&
        put(root, "history", numbers(plan->n_history, plan->history));
    return write(path, root, is_built, err);
}

static json_t *texts(int n, const char *const *value) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++) {
        if (json_array_append_new(array, text(value[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *matrix(int n_row, int n_col, const double *value) {
    json_t *array = json_array();
    for (int i = 0; i < n_row; i++) {
        if (json_array_append_new(array, numbers(n_col, value + (size_t)i * (size_t)n_col)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

cr_status cri_result_linear(const char *path, const cri_linear_result *result, cr_error *err) {
    const cri_linearisation *map = result->map;
    char label[64];
    cri_grad_text(map->grad, label);
    json_t *root = json_object();
    bool is_built =
        put(root, "scene", text(result->scene)) && put(root, "law", text(result->law)) &&
        put(root, "dt", number(result->dt)) && put(root, "step", json_integer(result->at_step)) &&
        put(root, "status", text(label)) && put(root, "state", texts(map->n, result->row)) &&
        put(root, "controls", texts(map->n_u, result->column)) &&
        put(root, "A", matrix(map->n, map->n, map->A)) &&
        put(root, "B", matrix(map->n, map->n_u, map->B));
    return write(path, root, is_built, err);
}

cr_status cri_result_bench(const char *path, int n_row, const cri_bench_row *row, cr_error *err) {
    json_t *root = json_object();
    json_t *rows = json_array();
    bool is_built = put(root, "rows", rows);
    for (int i = 0; i < n_row && is_built; i++) {
        json_t *object = json_object();
        is_built =
            json_array_append_new(rows, object) == 0 && put(object, "name", text(row[i].name)) &&
            put(object, "value", number(row[i].value)) && put(object, "unit", text(row[i].unit));
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_experiment(const char *path, const cri_experiment_file *result,
                                cr_error *err) {
    json_t *root = json_object();
    json_t *rows = json_array();
    bool is_built = put(root, "experiment", text(result->experiment)) &&
                    put(root, "mode", text(result->mode)) &&
                    put(root, "seed", number(result->seed)) &&
                    put(root, "seconds", number(result->seconds)) && put(root, "rows", rows);
    for (int i = 0; i < result->n_row && is_built; i++) {
        const cri_experiment_row *row = &result->row[i];
        json_t *object = json_object();
        is_built =
            json_array_append_new(rows, object) == 0 && put(object, "name", text(row->name)) &&
            put(object, "value", number(row->value)) && put(object, "paper", number(row->paper)) &&
            put(object, "unit", text(row->unit)) && put(object, "better", text(row->better));
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_learn(const char *path, const cri_learn_result *result, cr_error *err) {
    json_t *root = json_object();
    json_t *data = json_array();
    json_t *contacts = json_array();
    bool is_built =
        put(root, "system", text(result->kind)) && put(root, "model", text(result->model)) &&
        put(root, "data", data) && put(root, "contacts", contacts) &&
        put(root, "windows", json_integer(result->n_window)) &&
        put(root, "epochs", json_integer(result->n_epoch)) &&
        put(root, "loss", number(result->loss)) && put(root, "rmse", number(result->rmse)) &&
        put(root, "heldout", number(result->heldout)) &&
        put(root, "seconds", number(result->seconds));
    for (int i = 0; i < result->n_file && is_built; i++) {
        is_built = json_array_append_new(data, text(result->file[i])) == 0;
    }
    for (int i = 0; i < result->n_contact && is_built; i++) {
        json_t *object = json_object();
        is_built = json_array_append_new(contacts, object) == 0 &&
                   put(object, "name", text(result->contact[i].name)) &&
                   put(object, "restitution", number(result->contact[i].restitution)) &&
                   put(object, "friction", number(result->contact[i].friction)) &&
                   put(object, "touches", json_integer(result->contact[i].n_touch));
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_params(const char *path, int n_row, const cri_name_row *row, cr_error *err) {
    static const char *const prefix[] = {"", "x0:", "u:"};
    json_t *root = json_object();
    json_t *entries = json_array();
    bool is_built = put(root, "entries", entries);
    for (int i = 0; i < n_row && is_built; i++) {
        json_t *object = json_object();
        char name[256];
        snprintf(name, sizeof name, "%s%s", prefix[row[i].vector], row[i].name);
        is_built = json_array_append_new(entries, object) == 0 && put(object, "name", text(name)) &&
                   put(object, "value", number(row[i].value)) &&
                   put(object, "lower", number(row[i].lower)) &&
                   put(object, "upper", number(row[i].upper));
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_laws(const char *path, int n_law, const cri_law_row *law, cr_error *err) {
    json_t *root = json_object();
    json_t *laws = json_array();
    bool is_built = put(root, "laws", laws);
    for (int i = 0; i < n_law && is_built; i++) {
        json_t *object = json_object();
        is_built = json_array_append_new(laws, object) == 0 &&
                   put(object, "name", text(law[i].name)) &&
                   put(object, "summary", text(law[i].summary)) &&
                   put(object, "promise", text(law[i].promise ? law[i].promise : "")) &&
                   put(object, "needs_nets", json_boolean(law[i].needs_nets)) &&
                   put(object, "is_energy", json_boolean(law[i].is_energy)) &&
                   put(object, "system", law[i].serves ? text(law[i].serves) : json_null());
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_names(const char *path, const char *what, int n, const char *(*row)[2],
                           cr_error *err) {
    json_t *root = json_object();
    json_t *list = json_array();
    bool is_built = put(root, what, list);
    for (int i = 0; i < n && is_built; i++) {
        json_t *object = json_object();
        is_built = json_array_append_new(list, object) == 0 &&
                   put(object, "name", text(row[i][0])) && put(object, "summary", text(row[i][1]));
    }
    return write(path, root, is_built, err);
}

cr_status cri_result_version(const char *path, const char *commit, int n,
                             const cri_build_part *part, cr_error *err) {
    json_t *root = json_object();
    json_t *build = json_object();
    bool is_built = put(root, "version", text(CR_VERSION)) && put(root, "commit", text(commit)) &&
                    put(root, "build", build);
    for (int i = 0; i < n && is_built; i++) {
        is_built = put(build, part[i].name, json_boolean(part[i].is_there));
    }
    return write(path, root, is_built, err);
}

void cri_compare_text(const cri_compare *compare, int i, char words[64]) {
    const cri_compare_row *row = &compare->row[i];
    if (row->has_gradient) {
        cri_grad_text(row->report.grad, words);
    } else {
        const char *word = row->has_motion ? "refused" : "failed";
        snprintf(words, 64, "%s", row->reason[0] ? word : "interrupted");
    }
}

void cri_grad_text(int grad, char words[64]) {
    static const struct {
        int bit;
        const char *word;
    } classes[] = {{CR_GRAD_DISCRETE, "discrete"},       {CR_GRAD_AVERAGED, "averaged"},
                   {CR_GRAD_ONE_SIDED, "one-sided"},     {CR_GRAD_SMOOTHED, "smoothed"},
                   {CR_GRAD_DIFFERENCES, "differences"}, {CR_GRAD_SURROGATE, "surrogate"},
                   {CR_GRAD_UNROLLED, "unrolled"},       {CR_GRAD_REFUSED, "refused"}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (grad & classes[i].bit) {
            n += (size_t)snprintf(words + n, 64 - n, "%s%s", n > 0 ? ", " : "", classes[i].word);
        }
    }
    if (n == 0) {
        snprintf(words, 64, "exact");
    }
}
