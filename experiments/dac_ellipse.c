// SPDX-License-Identifier: MIT
//
// dac-ellipse: real impacts (Fazeli and others, CoRL 2017; paper 003 cites them). An ellipse of 35
// and 25 mm, 36.4 g, radius of gyration k = 19.2 mm, falls in a vertical plane on a flat surface;
// states before and after 1000 single impacts. Nets with restitution learn from every second record
// that is not flagged and predict the others. Error of a bounce:
//
//   sqrt(dvx^2 + dvz^2 + k^2 domega^2) over the same norm of the velocity after
//
// The surface is not the same everywhere: restitution is 0.66 near x = -0.33 m and 0.47 at -0.46
// and -0.2 (means of the half that nets learn from), and no velocity says so. So nets are also
// tried with the place along the surface among their inputs.
//
// Inputs, width, penalty, epochs and the number of nets, ours and PDD's alike, are chosen by
// cross-validation within the half that they learn from; the other half is looked at once. So few
// samples leave much to the first weights: what is said of a bounce is the mean of nets that differ
// in these alone (a mean of velocities that do not approach does not approach either). One net, and
// nets with the other inputs, stand beside it.
//
// The rival GS is Coulomb friction with Newton's restitution (law `lcp`) and the two coefficients
// that are best on the half that nets learn from. The file is looked for as
// $CAROM_SHARED/data/planar_impact/ellipse_bounces.csv, with ../shared for CAROM_SHARED that is not
// set; where it is not, and for --model generated, bounces are made up, as similar as can be:
// restitution that falls with the closing speed and hangs on angle and place, friction that is not
// Coulomb's, and noise of 2 %.

#include "dac.h"

#include "base/base.h"
#include "base/io/table.h"
#include "base/random.h"
#include "learned/augmented.h"
#include "model/scene/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, N_HALF = 2, N_GRID = 11, N_MEMBER = 8, N_COUNT = 4 };

static const double gyration = 0.0192;

static const char text[] =
    "<mujoco model='ellipse'><option timestep='0.002' gravity='0 0 -9.81'/><custom>"
    "<numeric name='carom:friction:ground:shape' data='%g'/>"
    "<numeric name='carom:restitution:ground:shape' data='%g'/></custom>"
    "<worldbody><geom name='ground' type='plane' size='5 5 0.1'/><body name='ellipse'>"
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
    "<joint type='hinge' axis='0 -1 0'/>"
    "<inertial pos='0 0 0' mass='0.0364' diaginertia='1e-5 1.3418496e-5 1e-5'/>"
    "<geom name='shape' type='ellipsoid' size='0.035 0.02 0.025'/></body></worldbody></mujoco>";

/// Bounces, and what a law makes of them.
typedef struct bounces {
    int n;
    double q[3 * MOST], before[3 * MOST], after[3 * MOST], said[3 * MOST];
} bounces;

static cri_ground_record record_of(const bounces *b, bool has_place) {
    return (cri_ground_record){.n = b->n,
                               .q = b->q,
                               .before = b->before,
                               .after = b->after,
                               .noise = 0.01,
                               .reach = 1e-9,
                               .gap = INFINITY,
                               .has_place = has_place};
}

// ---- data --------------------------------------------------------------------------------------

static void add(bounces *b, const double *q, const double *before, const double *after) {
    if (b->n < MOST) {
        memcpy(b->q + 3 * b->n, q, sizeof *q * 3);
        memcpy(b->before + 3 * b->n, before, sizeof *q * 3);
        memcpy(b->after + 3 * b->n++, after, sizeof *q * 3);
    }
}

// false when there is no such file
static bool read_measured(bounces half[N_HALF], cr_error *err) {
    static const char *const column[] = {"x0",     "z0",  "theta0", "vx0",    "vz0",
                                         "omega0", "vx1", "vz1",    "omega1", "flagged"};
    const char *root = getenv("CAROM_SHARED");
    char path[512];
    (void)snprintf(path, sizeof path, "%.400s/data/planar_impact/ellipse_bounces.csv",
                   root ? root : "../shared");
    cri_table table;
    int at[10];
    if (cri_table_read(path, &table, err) != CR_OK) {
        return false;
    }
    bool is_good = true;
    for (int k = 0; k < 10; k++) {
        at[k] = cri_table_find(&table, column[k]);
        is_good = is_good && at[k] >= 0;
    }
    for (int i = 0; i < table.n_row && is_good; i++) {
        double x[10];
        for (int k = 0; k < 10; k++) {
            x[k] = table.value[(size_t)i * (size_t)table.n_col + (size_t)at[k]];
        }
        if (x[9] == 0.0) {
            add(&half[i % 2], x, x + 3, x + 6);
        }
    }
    cri_table_clear(&table);
    return is_good;
}

// a bounce with restitution e and the friction part mu of the normal impulse, no further than stick
static void bounce(cri_random *r, double *q, double *before, double *after) {
    static const double a = 0.035, b = 0.025, m = 0.0364;
    double angle = cri_random_uniform(r, -3.1415, 3.1415), s = sin(angle), c = cos(angle);
    double size = hypot(a * s, b * c), x = -a * a * s / size, y = -b * b * c / size;
    double arm[2] = {c * x - s * y, s * x + c * y}, inertia = m * gyration * gyration;
    double place = cri_random_uniform(r, -0.46, -0.2);
    memcpy(q, (double[3]){place, -arm[1], angle}, sizeof *q * 3);
    before[0] = cri_random_uniform(r, -1.2, 0.2);
    before[1] = cri_random_uniform(r, -2.9, -2.2);
    before[2] = cri_random_uniform(r, -8.0, 8.0);
    double slip = before[0] - arm[1] * before[2], closing = -(before[1] + arm[0] * before[2]);
    double Att = 1.0 / m + arm[1] * arm[1] / inertia, Ann = 1.0 / m + arm[0] * arm[0] / inertia;
    double Ant = -arm[0] * arm[1] / inertia;
    double e = 0.8 - 0.06 * closing + 0.05 * cos(2.0 * angle) - 10.0 * pow(place + 0.33, 2.0);
    e = fmin(fmax(e, 0.0), 1.0);
    double mu = 0.12 + 0.1 * fabs(slip) / (0.5 + fabs(slip));
    // first to rest along the surface, then what the cone allows of it
    double det = Att * Ann - Ant * Ant, up = (1.0 + e) * closing;
    double pt = (-slip * Ann - Ant * up) / det, pn = (Att * up + Ant * slip) / det;
    if (fabs(pt) > mu * pn) {
        double sign = pt > 0.0 ? 1.0 : -1.0;
        pn = up / (Ann + sign * mu * Ant);
        pt = sign * mu * pn;
    }
    after[0] = before[0] + pt / m;
    after[1] = before[1] + pn / m;
    after[2] = before[2] + (arm[0] * pn - arm[1] * pt) / inertia;
    for (int k = 0; k < 3; k++) {
        after[k] += 0.02 * (k == 2 ? 20.0 : 1.0) * cri_random_normal(r);
    }
}

static void generate(uint64_t seed, bounces half[N_HALF]) {
    cri_random r = cri_random_of(seed, 77);
    for (int i = 0; i < 844; i++) {
        double q[3], before[3], after[3];
        bounce(&r, q, before, after);
        add(&half[i % 2], q, before, after);
    }
}

// ---- errors ------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// median of the relative errors of b->said
static double judge(const bounces *b) {
    static double error[MOST];
    for (int i = 0; i < b->n; i++) {
        double off = 0.0, size = 0.0;
        for (int k = 0; k < 3; k++) {
            double scale = k == 2 ? gyration : 1.0, is = b->after[3 * i + k];
            off += pow(scale * (b->said[3 * i + k] - is), 2.0);
            size += pow(scale * is, 2.0);
        }
        error[i] = sqrt(off / size);
    }
    qsort(error, (size_t)b->n, sizeof *error, by_size);
    return b->n > 0 ? 0.5 * (error[(b->n - 1) / 2] + error[b->n / 2]) : (double)NAN;
}

static cr_status predict(const char *scene, cri_ground_nets *nets, const char *law, bounces *b,
                         cr_error *err) {
    cr_model *model = NULL;
    CR_TRY(cri_model_parse_with(scene, strlen(scene), "ellipse", nets, &model, err));
    cri_ground_record record = record_of(b, false);
    cr_status status = cri_ground_predict(model, law, &record, b->said, err);
    cr_model_destroy(model);
    return status;
}

// the best of 11 x 11 coefficients on the first half, and its error on the second
static cr_status run_coulomb(bounces half[N_HALF], cri_experiment_result *out, cr_error *err) {
    double best = INFINITY, mu = 0.0, e = 0.0;
    char scene[2000];
    for (int i = 0; i < N_GRID * N_GRID; i++) {
        int row = i / N_GRID, column = i % N_GRID;
        double own_mu = 0.1 + 0.02 * row, own_e = 0.45 + 0.02 * column;
        (void)snprintf(scene, sizeof scene, text, own_mu, own_e);
        CR_TRY(predict(scene, NULL, "lcp", &half[0], err));
        double median = judge(&half[0]);
        if (median < best) {
            best = median;
            mu = own_mu;
            e = own_e;
        }
    }
    (void)snprintf(scene, sizeof scene, text, mu, e);
    CR_TRY(predict(scene, NULL, "lcp", &half[1], err));
    cri_experiment_add(out, "%", "lower", 100.0 * judge(&half[1]), NAN,
                       "GS: median error, unseen half (mu %.2f, e %.2f)", mu, e);
    return CR_OK;
}

// ---- nets --------------------------------------------------------------------------------------

/// How nets are trained.
typedef struct setting {
    int width[3];
    double l2;
    int n_epoch;
    bool has_place;
    bool is_regressed; // the rival
} setting;

// every width with every penalty and every length
static setting setting_at(int i, bool is_regressed, bool has_place) {
    static const int width[2][3] = {{16, 16, 8}, {32, 32, 16}}, n_epoch[3] = {150, 300, 600};
    static const double l2[4] = {2e-5, 1e-4, 5e-4, 2e-3};
    setting out = {.l2 = l2[i / 2 % 4],
                   .n_epoch = n_epoch[i / 8],
                   .has_place = has_place,
                   .is_regressed = is_regressed};
    memcpy(out.width, width[i % 2], sizeof out.width);
    return out;
}

enum { N_SETTING = 24 };

static const char *law_of(bool is_regressed) {
    return is_regressed ? "regressed" : "augmented";
}

static const char *name_of(bool is_regressed) {
    return is_regressed ? "PDD" : "ours";
}

static const char *inputs_of(bool has_place) {
    return has_place ? "with place" : "patch alone";
}

// a bounce seen from behind, the velocity along the ground, the angle and its rate reversed: as
// true of an ellipse at that place of a level ground, and another sample for nets, which do not
// know that
static void mirror(const bounces *from, bounces *to) {
    *to = *from;
    for (int i = 0; i < from->n; i++) {
        double q[3], before[3], after[3];
        for (int k = 0; k < 3; k++) {
            double sign = k == 1 ? 1.0 : -1.0;
            q[k] = k == 2 ? -from->q[3 * i + k] : from->q[3 * i + k];
            before[k] = sign * from->before[3 * i + k];
            after[k] = sign * from->after[3 * i + k];
        }
        add(to, q, before, after);
    }
}

// trains on one, and predicts the others
static cr_status train(const cri_experiment_options *options, const setting *by,
                       const bounces *from, bounces *to[], cri_experiment_result *out,
                       cr_error *err) {
    char scene[2000];
    (void)snprintf(scene, sizeof scene, text, 0.2, 0.6);
    cr_arena *arena = cri_arena_create(1 << 20);
    bounces *both = arena ? CR_PUSH(arena, bounces, 1) : NULL;
    cr_model *model = NULL;
    cr_status status = both ? cr_model_parse(scene, strlen(scene), "ellipse", &model, err)
                            : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    if (status == CR_OK) {
        mirror(from, both);
    }
    cri_ground_record record = both ? record_of(both, by->has_place) : (cri_ground_record){0};
    cri_augmented_options o = cri_augmented_options_recorded(&record);
    o.is_regressed = by->is_regressed;
    o.sampling.seed = options->seed;
    o.progress = options->progress;
    memcpy(o.width, by->width, sizeof by->width);
    o.l2 = by->l2;
    o.n_epoch = by->n_epoch;
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS] = {0};
    if (status == CR_OK) {
        status = cri_augmented_train(model, &o, &nets, score, arena, err);
    }
    for (int k = 0; to[k] && status == CR_OK; k++) {
        status = predict(scene, &nets, law_of(by->is_regressed), to[k], err);
    }
    out->is_interrupted = out->is_interrupted || score[0].is_interrupted;
    cr_model_destroy(model);
    cri_arena_destroy(arena);
    return status;
}

// counts of nets whose mean is tried
static const int count[N_COUNT] = {1, 2, 4, N_MEMBER};

// trains nets that differ in their first weights on one, and predicts the others by the mean of
// what they say
static cr_status train_members(const cri_experiment_options *options, const setting *by,
                               int n_member, const bounces *from, bounces *to[], bounces *kept,
                               cri_experiment_result *out, cr_error *err) {
    bounces *sum = calloc(N_HALF, sizeof *sum);
    if (!sum) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    cr_status status = CR_OK;
    for (int m = 0; m < n_member && status == CR_OK && !out->is_interrupted; m++) {
        cri_experiment_options member = *options;
        member.seed = options->seed + 1000 * (uint64_t)m;
        status = train(&member, by, from, to, out, err);
        for (int k = 0; to[k]; k++) {
            for (int i = 0; i < 3 * to[k]->n; i++) {
                sum[k].said[i] += to[k]->said[i];
                to[k]->said[i] = sum[k].said[i] / (m + 1);
            }
        }
        // of the first, by each number of nets
        for (int c = 0; c < N_COUNT && kept && to[0]; c++) {
            for (int i = 0; i < to[0]->n && count[c] == m + 1; i++) {
                add(&kept[c], to[0]->q + 3 * i, to[0]->before + 3 * i, to[0]->after + 3 * i);
                memcpy(kept[c].said + 3 * (kept[c].n - 1), to[0]->said + 3 * i, 3 * sizeof(double));
            }
        }
    }
    free(sum);
    return status;
}

// errors on the folds of the first half, each predicted from the others, by the first n_count
// numbers of nets: all folds' predictions, whose median counts
static cr_status validate(const cri_experiment_options *options, const setting *by, int n_count,
                          const bounces *half, double error[N_COUNT], cri_experiment_result *out,
                          cr_error *err) {
    int n_fold = options->is_full ? 5 : 2;
    bounces *part = calloc(2 + N_COUNT, sizeof *part), *kept = part + 2;
    if (!part) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    bounces *own[] = {part + 1, NULL};
    cr_status status = CR_OK;
    for (int f = 0; f < n_fold && status == CR_OK && !out->is_interrupted; f++) {
        part[0].n = part[1].n = 0;
        for (int i = 0; i < half->n; i++) {
            add(&part[i % n_fold == f], half->q + 3 * i, half->before + 3 * i, half->after + 3 * i);
        }
        status = train_members(options, by, count[n_count - 1], &part[0], own, kept, out, err);
    }
    for (int c = 0; c < n_count; c++) {
        error[c] = status == CR_OK && kept[c].n > 0 ? judge(&kept[c]) : INFINITY;
    }
    free(part);
    return status;
}

// the setting that folds like best, and its error there
static cr_status choose(const cri_experiment_options *options, bool is_regressed, bool has_place,
                        const bounces *half, setting *best, double *least,
                        cri_experiment_result *out, cr_error *err) {
    *best = setting_at(0, is_regressed, has_place);
    *least = INFINITY;
    for (int i = 0; i < N_SETTING && !out->is_interrupted; i += options->is_full ? 1 : 5) {
        setting own = setting_at(i, is_regressed, has_place);
        double error[N_COUNT] = {INFINITY};
        CR_TRY(validate(options, &own, 1, half, error, out, err));
        *best = error[0] < *least ? own : *best;
        *least = fmin(*least, error[0]);
    }
    cri_experiment_add(out, "%", "lower", 100.0 * *least, NAN,
                       "%s: median error, folds, %s (width %d, l2 %g, %d epochs)",
                       name_of(is_regressed), inputs_of(has_place), best->width[0], best->l2,
                       best->n_epoch);
    return CR_OK;
}

// the median error of the unseen half, and of the seen one
static cr_status predict_unseen(const cri_experiment_options *options, const setting *by, int n_net,
                                bounces half[N_HALF], double error[N_HALF],
                                cri_experiment_result *out, cr_error *err) {
    bounces *both[] = {&half[0], &half[1], NULL};
    CR_TRY(train_members(options, by, n_net, &half[0], both, NULL, out, err));
    error[0] = 100.0 * judge(&half[0]);
    error[1] = 100.0 * judge(&half[1]);
    return CR_OK;
}

static cr_status run_nets(const cri_experiment_options *options, bool is_regressed,
                          bounces half[N_HALF], cri_experiment_result *out, cr_error *err) {
    const char *name = name_of(is_regressed);
    setting best[2];
    double least[2], by_count[N_COUNT] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (int k = 0; k < 2; k++) {
        CR_TRY(choose(options, is_regressed, k == 1, half, &best[k], &least[k], out, err));
    }
    int won = least[1] < least[0] ? 1 : 0, c = 0;
    CR_TRY(validate(options, &best[won], N_COUNT, half, by_count, out, err));
    for (int i = 1; i < N_COUNT; i++) {
        c = by_count[i] < by_count[c] ? i : c;
    }
    double error[3][N_HALF] = {{0}};
    const setting *by[3] = {&best[won], &best[won], &best[1 - won]};
    for (int i = 0; i < 3 && !out->is_interrupted; i++) {
        CR_TRY(predict_unseen(options, by[i], i == 1 ? 1 : count[c], half, error[i], out, err));
    }
    if (out->is_interrupted) {
        return CR_OK;
    }
    cri_experiment_add(out, "%", "lower", 100.0 * by_count[c], NAN,
                       "%s: median error, folds, %s, mean of %d", name, inputs_of(won), count[c]);
    cri_experiment_add(out, "%", "lower", error[2][1], NAN, "%s: median error, unseen half, %s",
                       name, inputs_of(1 - won));
    cri_experiment_add(out, "%", "lower", error[1][1], NAN,
                       "%s: median error, unseen half, one net", name);
    cri_experiment_add(out, "%", "lower", error[0][0], NAN, "%s: median error, seen half", name);
    cri_experiment_add(out, "%", "lower", error[0][1], NAN, "%s: median error, unseen half", name);
    return CR_OK;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    bounces *half = calloc(N_HALF, sizeof *half);
    if (!half) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    bool wants_made = options->model && strcmp(options->model, "generated") == 0;
    bool is_measured = !wants_made && read_measured(half, err);
    if (!is_measured && options->model && !wants_made) {
        free(half);
        return cri_fail(
            err, CR_ERR_FILE, 0,
            "the measured bounces (planar_impact/ellipse_bounces.csv) are not here: set "
            "CAROM_SHARED, or take --model generated");
    }
    if (!is_measured) {
        generate(options->seed, half);
    }
    cri_experiment_add(out, "", "match", half[1].n, NAN, "bounces to predict, %s",
                       is_measured  ? "measured"
                       : wants_made ? "generated"
                                    : "generated (no planar_impact/ellipse_bounces.csv here)");
    cr_status status = run_nets(options, false, half, out, err);
    status = status == CR_OK ? run_nets(options, true, half, out, err) : status;
    status = status == CR_OK ? run_coulomb(half, out, err) : status;
    free(half);
    return status;
}

const cri_experiment cri_dac_ellipse = {
    .name = "dac-ellipse",
    .summary = "real impacts of an ellipse: half of them predicts the other half",
    .models = "measured generated",
    .run = run,
};
