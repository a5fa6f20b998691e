// SPDX-License-Identifier: MIT
//
// The result of carom fit for human eyes: shared values and those of a single recording in full,
// those of many recordings summed up, then a sentence for everything that is not as it should be.

#include "fit_print.h"

#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// residuals this many times the noise of the recording are worth a word
#define NOISE_FACTOR 3.0

// so are errors with this correlation, and a recording that fits this much worse than the rest
#define CORRELATION_WORD 0.95
#define OUTLIER_FACTOR 3.0

// sentences of one kind before they are summed up
#define SENTENCE_LIMIT 6

static void print_cell(bool is_there, double value, const char *format) {
    char cell[32] = "-";
    if (is_there && isfinite(value)) {
        snprintf(cell, sizeof cell, format, value);
    }
    printf("  %12s", cell);
}

static int name_width(const cri_fit *fit) {
    int width = 4;
    for (int i = 0; i < fit->n_entry; i++) {
        int length = (int)strlen(fit->entry[i].name);
        width = length > width ? length : width;
    }
    return width;
}

bool cli_fit_truth(const cri_fit_problem *problem, const cri_fit_entry *entry, double *truth) {
    const cri_variable *variable = &problem->selection->variable[entry->variable];
    int first = entry->recording < 0 ? 0 : entry->recording;
    int end = entry->recording < 0 ? problem->n_recording : first + 1;
    for (int k = first; k < end; k++) {
        if (cri_recording_truth(&problem->recording[k], variable, truth)) {
            return true;
        }
    }
    return false;
}

static void print_entries(const cri_fit_problem *problem, const cri_fit *fit, int n, int width) {
    bool has_truth = false;
    const cri_fit_entry *all = fit->entry;
    double start = cli_largest(n, &all->start, sizeof *all);
    double value = cli_largest(n, &all->value, sizeof *all);
    double deviation = cli_largest(n, &all->deviation, sizeof *all);
    for (int k = 0; k < problem->n_recording; k++) {
        has_truth = has_truth || problem->recording[k].n_truth > 0;
    }
    printf("%-*s", width, "name");
    if (has_truth) {
        printf("  %12s", "true");
    }
    printf("  %12s  %12s  %14s\n", "start", "found", "standard error");
    for (int i = 0; i < n; i++) {
        const cri_fit_entry *e = &fit->entry[i];
        printf("%-*s", width, e->name);
        if (has_truth) {
            double truth = 0.0;
            bool is_told = cli_fit_truth(problem, e, &truth);
            print_cell(is_told, truth, "%.6g");
        }
        print_cell(true, cli_shown(e->start, start), "%.6g");
        print_cell(true, cli_shown(e->value, value), "%.6g");
        printf("  ");
        print_cell(true, cli_shown(e->deviation, deviation), "%.2g");
        printf("%s\n", e->is_at_bound ? "  at its bound" : "");
    }
}

// ---- many recordings ---------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int n, double *value) {
    qsort(value, (size_t)n, sizeof *value, by_size);
    return n > 0 ? value[n / 2] : NAN;
}

/// One line for each initial value, over all recordings.
static void print_summary(const cri_fit *fit, int width) {
    int n_own = (fit->n_entry - fit->n_shared) / fit->n_recording;
    double *value = calloc((size_t)fit->n_recording, sizeof *value);
    if (!value) {
        return;
    }
    printf("\ninitial values of %d recordings (all of them with --json and -o)\n",
           fit->n_recording);
    printf("%-*s  %12s  %12s  %12s  %14s\n", width, "name", "least", "median", "largest",
           "standard error");
    for (int i = 0; i < n_own; i++) {
        const cri_fit_entry *first = &fit->entry[fit->n_shared + i];
        int n_known = 0;
        for (int k = 0; k < fit->n_recording; k++) {
            double deviation = first[(size_t)k * (size_t)n_own].deviation;
            if (isfinite(deviation)) {
                value[n_known++] = deviation;
            }
        }
        double deviation = median(n_known, value);
        for (int k = 0; k < fit->n_recording; k++) {
            value[k] = first[(size_t)k * (size_t)n_own].value;
        }
        double middle = median(fit->n_recording, value);
        double largest = cli_largest(fit->n_recording, value, sizeof *value);
        printf("%-*s", width, first->name);
        print_cell(true, cli_shown(value[0], largest), "%.6g");
        print_cell(true, cli_shown(middle, largest), "%.6g");
        print_cell(true, value[fit->n_recording - 1], "%.6g");
        printf("  ");
        print_cell(true, deviation, "%.2g");
        putchar('\n');
    }
    free(value);
}

// ---- sentences ---------------------------------------------------------------------------------

static void print_open(const cri_fit *fit) {
    int n_more = 0;
    int n_said = 0;
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *entry = &fit->entry[i];
        bool is_own = entry->recording >= 0 && fit->n_recording > 1;
        if (!entry->why[0]) {
            continue;
        }
        if (is_own && n_said >= SENTENCE_LIMIT) {
            n_more++;
            continue;
        }
        n_said += is_own;
        puts(entry->why);
    }
    if (n_more > 0) {
        printf("and so on for %d more initial values; --json has them all\n", n_more);
    }
}

static void print_correlations(const cri_fit *fit) {
    int n = fit->n_correlated;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double c = fit->correlation[i * n + j];
            if (fabs(c) > CORRELATION_WORD) {
                printf("%s and %s can hardly be told apart: their errors are correlated by %.3f\n",
                       fit->entry[i].name, fit->entry[j].name, c);
            }
        }
    }
}

bool cli_fit_doubt(const cri_fit *fit, char text[CLI_DOUBT_LIMIT]) {
    snprintf(text, CLI_DOUBT_LIMIT,
             "the residuals are %.3g times the noise that the recording shows: the scene does not "
             "explain it\nwith these variables, or the fit ended in a wrong minimum; try other "
             "start values (--set)",
             fit->usual / fit->noise);
    return fit->usual > NOISE_FACTOR * fit->noise;
}

static void print_fit(const cri_fit_problem *problem, const cri_fit *fit, double seconds) {
    bool has_noise = problem->recording[0].sigma != NULL;
    const char *unit = has_noise ? " times the noise" : "";
    printf("\nrms residual %.4g%s over %d numbers; %s after %d iterations in %d stages, %.3g s\n",
           fit->rms, unit, fit->n_residual, cri_lsq_stop_text(fit->stop), fit->n_iteration,
           fit->n_stage, seconds);
    if (problem->loss != CRI_LOSS_SQUARES) {
        printf("usual residual %.4g%s, from the median\n", fit->usual, unit);
    }
    if (fit->n_held_out > 0) {
        printf("held out: rms %.4g%s over %d numbers of %s\n", fit->held_out, unit, fit->n_held_out,
               problem->n_recording == 1 ? "the end of the recording" : "other recordings");
    }
    char doubt[CLI_DOUBT_LIMIT];
    if (cli_fit_doubt(fit, doubt)) {
        puts(doubt);
        if (fit->n_entry == fit->n_shared) {
            puts(
                "the initial state is the scene's; where recordings start elsewhere, add x0:BODY/* "
                "to --wrt");
        }
    }
    for (int k = 0; k < fit->n_recording && fit->n_recording > 1; k++) {
        if (fit->rms_of[k] > OUTLIER_FACTOR * fit->usual) {
            printf("%s fits worse than the others: rms %.4g\n", problem->recording[k].file,
                   fit->rms_of[k]);
        }
    }
}

void cli_fit_print(const cri_fit_problem *problem, const cri_fit *fit, double seconds) {
    int width = name_width(fit);
    bool is_single = fit->n_recording == 1;
    print_entries(problem, fit, is_single ? fit->n_entry : fit->n_shared, width);
    if (!is_single && fit->n_entry > fit->n_shared) {
        print_summary(fit, width);
    }
    print_fit(problem, fit, seconds);
    print_open(fit);
    print_correlations(fit);
}
