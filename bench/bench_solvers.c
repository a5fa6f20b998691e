// SPDX-License-Identifier: MIT
//
// carom bench solvers: random problems (docs/laws/problems.md), each solved from nothing and judged
// by contact/certificate.h, which shares nothing with the solvers.
//
// Problem k is of family k mod 8 with seed K + k/8. Threads share the problems out; every result
// has its own place, so that the table does not depend on their number. Times are the exception.

#define _POSIX_C_SOURCE 200809L

#include "bench_solvers.h"

#include "bench/certificate.h"
#include "bench/problem_file.h"
#include "bench/problem_make.h"
#include "bench_process.h"
#include "bench_spheres.h"
#include "cli/scene.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef _OPENMP
#include <omp.h>
#endif

// problems a law when nobody says: about a second each
#define N_PROBLEM 160

// problems of an instruction count: two of each family
#define N_COUNTED (2 * CRI_N_FAMILY)

#define THREAD_LIMIT 64

/// What came of one problem.
typedef struct outcome {
    cri_verdict verdict;
    bool is_disputed; // called solved by the law, not by the certificate
    bool is_rounded;  // solved thanks to the absolute terms, not within 1e-10 alone
    int n_iteration;
    double residual;
    double seconds;
} outcome;

/// Memory of one thread, and the first thing that went wrong in it.
typedef struct worker {
    cr_arena *keep, *scratch;
    int code;
    cr_error err;
} worker;

typedef struct job {
    const cri_law *law;
    int n;
    uint64_t seed;
    const char *folder; // NULL: nothing is kept
    const cri_progress *progress;
} job;

/// Rows for the JSON file.
typedef struct table {
    int n_most;
    int *n;
    cri_bench_row *row;
} table;

static const char *const verdicts[] = {"solved", "loosely", "unsolved"};

__attribute__((format(printf, 4, 5))) static void add(const table *t, double value,
                                                      const char *unit, const char *format, ...) {
    if (*t->n == t->n_most) {
        return;
    }
    cri_bench_row *row = &t->row[(*t->n)++];
    *row = (cri_bench_row){.value = value, .unit = unit};
    va_list args;
    va_start(args, format);
    vsnprintf(row->name, sizeof row->name, format, args);
    va_end(args);
}

// ---- solves ------------------------------------------------------------------------------------

static bool worker_begin(worker *w) {
    *w = (worker){.keep = cri_arena_create(1 << 20), .scratch = cri_arena_create(1 << 20)};
    return w->keep && w->scratch;
}

static void worker_end(worker *w) {
    cri_arena_destroy(w->keep);
    cri_arena_destroy(w->scratch);
}

/// Empties the arenas and makes problem k of a job.
static bool make(worker *w, int k, uint64_t seed, cri_problem *problem) {
    cri_arena_reset(w->keep);
    cri_arena_reset(w->scratch);
    if (!cri_arena_reserve(w->keep, cri_problem_bytes()) ||
        !cri_arena_reserve(w->scratch, cri_problem_bytes())) {
        return false;
    }
    *problem = cri_problem_make((cri_family)(k % CRI_N_FAMILY), seed + (uint64_t)(k / CRI_N_FAMILY),
                                w->keep, w->scratch);
    return true;
}

static bool solve(worker *w, const cri_law *law, const cri_contact_problem *problem,
                  cri_trial *trial, outcome *out) {
    double start = cli_seconds();
    if (!cri_trial_run(law, problem, trial, w->keep, w->scratch)) {
        return false;
    }
    *out = (outcome){
        .verdict = trial->verdict,
        .is_disputed = trial->report.outcome == CR_SOLVED && trial->verdict != CRI_SOLVED,
        .is_rounded = trial->verdict == CRI_SOLVED && trial->certificate.strict > 1.0,
        .n_iteration = trial->report.n_iteration,
        .residual = trial->certificate.residual,
        .seconds = cli_seconds() - start,
    };
    return true;
}

static cr_status keep_problem(const job *j, const cri_problem *problem, const cri_trial *trial,
                              cr_error *err) {
    char path[4096], remark[160];
    snprintf(path, sizeof path, "%s/%s-%s-%" PRIu64 ".txt", j->folder, j->law->name,
             cri_family_name(problem->family), problem->seed);
    snprintf(remark, sizeof remark, "%s: residual %.3g of the tolerance, %d linear solves",
             verdicts[trial->verdict], trial->certificate.residual, trial->report.n_iteration);
    cri_problem_text text = {.problem = *problem, .remark = remark, .impulse = trial->f};
    snprintf(text.law, sizeof text.law, "%s", j->law->name);
    return cri_problem_write(path, &text, err);
}

static void run_problem(worker *w, const job *j, int k, outcome *out) {
    cri_problem problem;
    cri_trial trial;
    *out = (outcome){.verdict = CRI_UNSOLVED, .residual = INFINITY};
    if (w->code != CLI_DONE) {
        return;
    }
    if (!make(w, k, j->seed, &problem) || !solve(w, j->law, &problem.data, &trial, out)) {
        w->code = CLI_FAILED;
        snprintf(w->err.text, sizeof w->err.text, "no memory for the problems");
        return;
    }
    if (j->folder && trial.verdict != CRI_SOLVED &&
        keep_problem(j, &problem, &trial, &w->err) != CR_OK) {
        w->code = CLI_FAILED;
    }
}

/// Solves the problems. Told to stop, it leaves the rest undone.
static int run_job(const job *j, outcome *out) {
    worker workers[THREAD_LIMIT];
    int n_thread = 1, code = CLI_DONE, n_done = 0;
    bool is_stopped = false;
#ifdef _OPENMP
    n_thread = omp_get_max_threads() < THREAD_LIMIT ? omp_get_max_threads() : THREAD_LIMIT;
#endif
    for (int t = 0; t < n_thread; t++) {
        workers[t].code = CLI_DONE;
        code = worker_begin(&workers[t]) ? code : CLI_FAILED;
    }
    if (code != CLI_DONE) {
        cli_failed("no memory for the problems");
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(n_thread) schedule(dynamic)
#endif
    for (int k = 0; k < (code == CLI_DONE ? j->n : 0); k++) {
        int thread = 0;
#ifdef _OPENMP
        thread = omp_get_thread_num();
#endif
        bool is_skipped;
#ifdef _OPENMP
#pragma omp critical
#endif
        {
            cri_progress_state state = {"problem", n_done++, j->n, NAN};
            is_stopped = is_stopped || !cri_progress_tell(j->progress, &state);
            is_skipped = is_stopped;
        }
        if (!is_skipped) {
            run_problem(&workers[thread], j, k, &out[k]);
        }
    }
    for (int t = 0; t < n_thread; t++) {
        if (code == CLI_DONE && workers[t].code != CLI_DONE) {
            code = cli_failed("%s", workers[t].err.text);
        }
        worker_end(&workers[t]);
    }
    return code;
}

int cli_bench_solves(const char *name, int n) {
    const cri_law *law = cri_law_find(name);
    worker w;
    if (!law || !cri_certificate_knows(name)) {
        return cli_usage("unknown law %.40s", name);
    }
    int code = worker_begin(&w) ? CLI_DONE : CLI_FAILED;
    for (int k = 0; k < N_COUNTED && code == CLI_DONE; k++) {
        cri_problem problem;
        bool is_good = make(&w, k, 1, &problem);
        size_t n_byte = is_good ? law->n_byte(problem.data.n) : 0;
        // problems and certificates are not part of the count: the runs differ in solves alone
        for (int i = 0; i < n && is_good; i++) {
            cri_arena_mark mark = cri_arena_get_mark(w.keep);
            double *f = CR_PUSH(w.keep, double, 3 * problem.data.n);
            bool *is_sliding = CR_PUSH(w.keep, bool, problem.data.n);
            is_good = f && is_sliding && cri_arena_reserve(w.keep, n_byte) &&
                      cri_arena_reserve(w.scratch, n_byte);
            if (is_good) {
                cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
                law->solve(&problem.data, f, false, &report, w.keep, w.scratch);
            }
            cri_arena_rewind(w.keep, mark);
        }
        code = is_good ? CLI_DONE : CLI_FAILED;
    }
    worker_end(&w);
    return code == CLI_DONE ? code : cli_failed("no memory for the problems");
}

// ---- table -------------------------------------------------------------------------------------

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Entry at a share of n sorted numbers.
static double quantile(const double *sorted, int n, double share) {
    int at = (int)ceil(share * n) - 1;
    return sorted[at < 0 ? 0 : at];
}

/// One line: every step-th of n outcomes from first on. sorted has room for n.
static void print_line(const table *t, const char *law, const char *family, int n,
                       const outcome *all, double *sorted, int first, int step) {
    int count[3] = {0}, n_disputed = 0, n_rounded = 0, n_own = 0;
    double worst = 0.0;
    for (int k = first; k < n; k += step) {
        count[all[k].verdict]++;
        n_disputed += all[k].is_disputed;
        n_rounded += all[k].is_rounded;
        worst = fmax(worst, all[k].residual);
        sorted[n_own++] = all[k].n_iteration;
    }
    if (n_own == 0) {
        return;
    }
    qsort(sorted, (size_t)n_own, sizeof *sorted, compare);
    double median = quantile(sorted, n_own, 0.5), most = quantile(sorted, n_own, 0.99);
    for (int k = first, i = 0; k < n; k += step) {
        sorted[i++] = 1e6 * all[k].seconds;
    }
    qsort(sorted, (size_t)n_own, sizeof *sorted, compare);
    double microseconds = quantile(sorted, n_own, 0.5);
    printf("%-12s %-10s %8d %8d %8d %8d %8d %8d %7.0f %7.0f %10.2g %10.1f\n", law, family, n_own,
           count[0], n_rounded, count[1], count[2], n_disputed, median, most, worst, microseconds);
    fflush(stdout);
    for (int v = 0; v < 3; v++) {
        add(t, count[v], "problems", "%s, %s: %s", law, family, verdicts[v]);
    }
    add(t, n_rounded, "problems", "%s, %s: solved within absolute terms", law, family);
    add(t, n_disputed, "problems", "%s, %s: disputed", law, family);
    add(t, median, "linear solves", "%s, %s: median", law, family);
    add(t, most, "linear solves", "%s, %s: 99 %%", law, family);
    add(t, worst, "tolerances", "%s, %s: worst residual", law, family);
    add(t, microseconds, "us", "%s, %s: median time", law, family);
}

/// Two spheres under one law: without restitution, which is what other programs solve, and with.
static int run_spheres(const cri_law *law, const table *t) {
    static const double restitution[] = {0.0, 0.5};
    for (int i = 0; i < 2; i++) {
        cli_spheres_times times;
        double e = restitution[i];
        int code = cli_bench_spheres(law, e, &times);
        if (code != CLI_DONE) {
            return code;
        }
        printf("%-12s two spheres, e = %.1f: solve %.2f us, with cache %.2f, vjp %.2f; "
               "f_n %.4f, residual %.2g\n",
               law->name, e, 1e6 * times.solve, 1e6 * times.prepared, 1e6 * times.vjp, times.f_n,
               times.residual);
        add(t, 1e6 * times.solve, "us", "%s, two spheres, e = %.1f: solve", law->name, e);
        add(t, 1e6 * times.prepared, "us", "%s, two spheres, e = %.1f: solve with cache", law->name,
            e);
        add(t, 1e6 * times.vjp, "us", "%s, two spheres, e = %.1f: vjp", law->name, e);
        add(t, times.f_n, "N s", "%s, two spheres, e = %.1f: f_n", law->name, e);
        add(t, times.residual, "tolerances", "%s, two spheres, e = %.1f: residual", law->name, e);
    }
    return CLI_DONE;
}

static int count_instructions(const cri_law *law, const table *t) {
    static const struct {
        const char *work, *unit, *title;
        int n_before, n_step, n_each;
    } counts[] = {
        {"solvers", "Ir/solve", "mean of 16 problems", 1, 1, N_COUNTED},
        {"spheres", "Ir/solve", "two spheres", 10, 100, 1},
        {"spheres-vjp", "Ir/vjp", "two spheres, vjp", 10, 100, 1},
    };
    int code = CLI_DONE;
    for (int i = 0; i < 3 && code == CLI_DONE; i++) {
        double instructions = 0.0;
        code = cli_bench_instructions(&(cli_bench_count){.work = counts[i].work,
                                                         .scene = law->name,
                                                         .n_before = counts[i].n_before,
                                                         .n_step = counts[i].n_step},
                                      &instructions, NULL);
        if (code == CLI_DONE) {
            instructions /= counts[i].n_each;
            printf("%-12s %.6g %s, %s\n", law->name, instructions, counts[i].unit, counts[i].title);
            add(t, instructions, counts[i].unit, "%s: %s", law->name, counts[i].title);
        }
    }
    return code;
}

static void print_head(void) {
    // rounded: part of solved, see outcome; disputed: called solved by the law alone
    printf("%-12s %-10s %8s %8s %8s %8s %8s %8s %15s %10s %10s\n", "law", "family", "problems",
           "solved", "rounded", "loosely", "unsolved", "disputed", "solves 50, 99 %", "residual",
           "us");
}

static int run_law(const cli_options *options, const cri_law *law, const table *t) {
    job j = {.law = law,
             .n = options->n_problem > 0 ? options->n_problem : N_PROBLEM,
             .seed = options->seed,
             .folder = options->keep};
    outcome *all = calloc((size_t)j.n, sizeof *all);
    double *sorted = calloc((size_t)j.n, sizeof *sorted);
    if (!all || !sorted) {
        free(all);
        free(sorted);
        return cli_failed("no memory for %d problems", j.n);
    }
    cri_progress progress = cli_terminal_begin(options, law->name);
    j.progress = &progress;
    int code = run_job(&j, all);
    cli_terminal_end();
    bool is_whole = !cli_terminal_is_interrupted();
    if (code == CLI_DONE && !is_whole) {
        cli_say("interrupted; %s has no row", law->name);
    }
    if (code == CLI_DONE && is_whole) {
        print_line(t, law->name, "all", j.n, all, sorted, 0, 1);
        for (int i = 0; options->use_families && i < CRI_N_FAMILY; i++) {
            print_line(t, law->name, cri_family_name((cri_family)i), j.n, all, sorted, i,
                       CRI_N_FAMILY);
        }
    }
    free(all);
    free(sorted);
    if (code == CLI_DONE && is_whole) {
        code = run_spheres(law, t);
    }
    if (code == CLI_DONE && is_whole && cli_bench_has_valgrind()) {
        code = count_instructions(law, t);
    }
    return code;
}

// ---- files -------------------------------------------------------------------------------------

static int run_file(const cli_options *options, const char *path, worker *w, const table *t) {
    cri_problem_text text;
    cr_error err = {0};
    cri_arena_reset(w->keep);
    cri_arena_reset(w->scratch);
    if (cri_problem_read(path, &text, w->keep, &err) != CR_OK) {
        return cli_error(&err);
    }
    const cri_law *law = cri_law_find(options->law ? options->law : text.law);
    if (!law || !cri_certificate_knows(law->name)) {
        return cli_failed("%.200s: there is no law %.40s; choose one with --law", path,
                          options->law ? options->law : text.law);
    }
    cri_trial trial;
    outcome out;
    if (!solve(w, law, &text.problem.data, &trial, &out)) {
        return cli_failed("no memory for %.200s", path);
    }
    printf("%-40s %-12s %4d contacts  %-8s %6d solves  residual %.2g, contact %d  %.1f us\n", path,
           law->name, text.problem.data.n, verdicts[out.verdict], out.n_iteration, out.residual,
           trial.certificate.contact, 1e6 * out.seconds);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    add(t, out.residual, "tolerances", "%.30s, %s: residual", name, law->name);
    add(t, out.n_iteration, "linear solves", "%.30s, %s: solves", name, law->name);
    return CLI_DONE;
}

int cli_bench_solvers(const cli_options *options, int n_most, cri_bench_row *row, int *n_row) {
    table t = {n_most, n_row, row};
    int code = CLI_DONE;
    if (options->law && !cri_law_find(options->law)) {
        return cli_usage("--law %.40s: unknown; 'carom laws' lists them", options->law);
    }
    if (options->n_word > 1) {
        worker w;
        code = worker_begin(&w) ? CLI_DONE : cli_failed("no memory for the problems");
        for (int i = 1; i < options->n_word && code == CLI_DONE; i++) {
            code = run_file(options, options->word[i], &w, &t);
        }
        worker_end(&w);
        return code;
    }
    if (options->keep && mkdir(options->keep, 0777) != 0 && errno != EEXIST) {
        return cli_failed("--keep %.200s: %s", options->keep, strerror(errno));
    }
    print_head();
    for (int i = 0; cri_law_at(i) && code == CLI_DONE && !cli_terminal_is_interrupted(); i++) {
        const cri_law *law = cri_law_at(i);
        bool is_wanted = !options->law || strcmp(options->law, law->name) == 0;
        if (is_wanted && cri_certificate_knows(law->name)) {
            code = run_law(options, law, &t);
        }
    }
    return code;
}
