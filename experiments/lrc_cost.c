// SPDX-License-Identifier: MIT
//
// lrc-cost, Fig. 6 and A.6.5 of paper 002: what a frame costs, forward and gradient.
//
//   balls     16 of 32 to 388 triangles, 15 in a triangle, the last one thrown at them: processor
//             time on one thread, its growth with the number of triangles, two threads by the wall,
//             the same under ipc, and one sum of the potential by all pairs and by sphere trees
//   stones    ten lumps of 276 triangles, not convex, as many as the paper's bunnies, whose mesh is
//             not ours to ship: strewn over 2 x 2 m, with a rod of 0.8 m that sweeps through them,
//             and in a heap, two rows of five 0.36 m apart, before a rod of 1.8 m
//   bunnies   in the place of the strewn stones, when the environment has CAROM_BUNNY, the path of
//             a scene that tools/bunny_scene wrote
//
// Frames of 0.04 s, eps 0.1, solved to 1e-9. Times are this machine's; growth and ratios say more.

#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "lrc.h"
#include "lrc_inside.h"
#include "lrc_stage.h"

#include "base/io/file.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define RADIUS 0.5

// ---- scenes ------------------------------------------------------------------------------------

// point i of n on a unit sphere: even spirals; 2.39996... is the golden angle
static void spiral(int i, int n, double x[3]) {
    double z = 1.0 - (2.0 * i + 1.0) / n, r = sqrt(1.0 - z * z), a = 2.399963229728653 * i;
    x[0] = r * cos(a);
    x[1] = r * sin(a);
    x[2] = z;
}

// stiffness: mu, 1e-7 for longrange; of ipc it is the usual 10
static void write_balls(lrc_text *t, int n_vertex, double stiffness) {
    lrc_put(t,
            "<mujoco><option timestep='.04'/><custom><numeric name='carom:potential:mu' "
            "data='%g'/></custom><asset><mesh name='ball' vertex='",
            stiffness);
    for (int i = 0; i < n_vertex; i++) {
        double x[3];
        spiral(i, n_vertex, x);
        lrc_put(t, "%.9g %.9g %.9g ", RADIUS * x[0], RADIUS * x[1], RADIUS * x[2]);
    }
    lrc_put(t, "'/></asset><worldbody><geom type='plane' size='9 9 1' friction='.2'/>");
    for (int k = 0; k < 16; k++) {
        int i = k < 1 ? 0 : k < 3 ? 1 : k < 6 ? 2 : k < 10 ? 3 : 4, j = k - i * (i + 1) / 2;
        bool is_cue = k == 15;
        double x = is_cue ? 4.4 : 1.1 * (4 - i) + 2.2 * j, y = is_cue ? 4.4 : -1.905 * i;
        lrc_put(t,
                "<body pos='%.9g %.9g %.9g'><freejoint/><geom type='mesh' mesh='ball' density='1' "
                "friction='.3'/></body>",
                RADIUS * x, RADIUS * y, 1.1 * RADIUS);
    }
    lrc_put(t, "</worldbody></mujoco>");
}

enum { N_STONE_VERTEX = 140 };

// are all points on one side of three of them? then they are a face of the hull
static bool is_face(double x[N_STONE_VERTEX][3], int a, int b, int c) {
    double u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = x[b][i] - x[a][i];
        v[i] = x[c][i] - x[a][i];
    }
    const double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                         u[0] * v[1] - u[1] * v[0]};
    int n_above = 0, n_below = 0;
    for (int k = 0; k < N_STONE_VERTEX && (n_above == 0 || n_below == 0); k++) {
        double h =
            n[0] * (x[k][0] - x[a][0]) + n[1] * (x[k][1] - x[a][1]) + n[2] * (x[k][2] - x[a][2]);
        n_above += k != a && k != b && k != c && h > 0.0;
        n_below += k != a && k != b && k != c && h < 0.0;
    }
    return n_above == 0;
}

// a lump: the faces of a ball of 140 vertices, whose distances from the middle swell and shrink
static void write_stone(lrc_text *t) {
    static double x[N_STONE_VERTEX][3];
    lrc_put(t, "<mesh name='stone' vertex='");
    for (int i = 0; i < N_STONE_VERTEX; i++) {
        spiral(i, N_STONE_VERTEX, x[i]);
        double r = 0.13 * (1.0 + 0.25 * sin(3.0 * x[i][0]) * cos(4.0 * x[i][1] + 1.0) -
                           0.2 * exp(-8.0 * (1.0 - x[i][2]) * (1.0 - x[i][2])));
        lrc_put(t, "%.6g %.6g %.6g ", r * x[i][0], r * x[i][1], r * x[i][2]);
    }
    lrc_put(t, "' face='");
    for (int a = 0; a < N_STONE_VERTEX; a++) {
        for (int b = 0; b < N_STONE_VERTEX; b++) {
            for (int c = 0; c < N_STONE_VERTEX; c++) {
                // counted once, turned outwards
                if (a < b && a < c && b != c && is_face(x, a, b, c)) {
                    lrc_put(t, "%d %d %d ", a, b, c);
                }
            }
        }
    }
    lrc_put(t, "'/>");
}

enum { N_STONE = 10 };

// in two rows, or anywhere on 2 x 2 m, 0.36 m apart at least
static void place_stones(bool is_heap, cri_random *draw, double at[N_STONE][2]) {
    for (int k = 0; k < N_STONE; k++) {
        double least = is_heap ? 1.0 : 0.0;
        int row = k / 5;
        at[k][0] = 0.36 * (k % 5) + cri_random_uniform(draw, -0.02, 0.02);
        at[k][1] = 0.36 * row - 0.2 + cri_random_uniform(draw, -0.02, 0.02);
        while (least < 0.36) {
            least = INFINITY;
            at[k][0] = cri_random_uniform(draw, -1.0, 1.0);
            at[k][1] = cri_random_uniform(draw, -1.0, 1.0);
            for (int i = 0; i < k; i++) {
                least = fmin(least, hypot(at[k][0] - at[i][0], at[k][1] - at[i][1]));
            }
        }
    }
}

static void write_stones(lrc_text *t, bool is_heap) {
    cri_random draw = cri_random_of(1, 0x73746f6eu);
    double at[N_STONE][2];
    place_stones(is_heap, &draw, at);
    lrc_put(t, "<mujoco><option timestep='.04'/><custom><numeric name='carom:potential:mu' "
               "data='5e-9'/></custom><asset>");
    write_stone(t);
    lrc_put(t,
            "</asset><worldbody><geom type='plane' size='9 9 1' friction='.4'/><body name='rod' "
            "pos='%g 0 %g'><joint type='slide' axis='1 0 0' name='rod'/><geom type='box' "
            "size='%s' mass='5'/></body>",
            is_heap ? -0.35 : -1.35, is_heap ? 0.2 : 0.15, is_heap ? ".05 .9 .1" : ".05 .4 .05");
    for (int k = 0; k < N_STONE; k++) {
        lrc_put(t,
                "<body pos='%.6g %.6g .165' euler='0 0 %.6g'><freejoint/><geom type='mesh' "
                "mesh='stone' density='1' friction='.4'/></body>",
                at[k][0], at[k][1], cri_random_uniform(&draw, -180.0, 180.0));
    }
    lrc_put(t, "</worldbody></mujoco>");
}

// ---- time --------------------------------------------------------------------------------------

static double seconds(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Seconds a frame.
typedef struct cost {
    double forward, gradient, params; // processor; params: with the adjoint of all parameters
    double wall;                      // forward and gradient, by the clock
    double own;                       // of these, processor time of the first thread
    int n_step;                       // Newton steps, of all frames
    int n_open;                       // frames not solved, which have no gradient
} cost;

// forward, and the adjoint of the state; lowers least (seconds by the clock) to what it took
static cr_status time_frame(lrc_stage *s, double *work, cost *sum, double *least, cr_error *err) {
    size_t n_x = (size_t)s->z.n_x;
    double wall = seconds(CLOCK_MONOTONIC), start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double own = seconds(CLOCK_THREAD_CPUTIME_ID);
    CR_TRY(cr_sim_step(s->sim, 0.04, s->x, NULL, s->x, err));
    double end = seconds(CLOCK_PROCESS_CPUTIME_ID);
    sum->forward += end - start;
    if (cr_sim_report(s->sim)->outcome == CR_SOLVED) {
        sum->n_step += cr_sim_report(s->sim)->n_iteration;
        memset(work, 0, sizeof *work * 2 * n_x);
        work[0] = 1.0;
        CR_TRY(cr_sim_step_vjp(s->sim, work, work + n_x, NULL, NULL, err));
        sum->gradient += seconds(CLOCK_PROCESS_CPUTIME_ID) - end;
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    *least = fmin(*least, wall);
    sum->wall += wall;
    sum->own += seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    return CR_OK;
}

// least (n_frame): as above, NULL: not wanted
static cr_status time_frames(lrc_stage *s, int n_frame, const cri_experiment_options *options,
                             cri_experiment_result *out, cost *sum, double *least, cr_error *err) {
    size_t n_x = (size_t)s->z.n_x, n_p = (size_t)s->z.n_p;
    double *work = calloc(2 * n_x + n_p, sizeof *work);
    cr_status status = work ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    *sum = (cost){0};
    int k = 0;
    for (; work && status == CR_OK && k < n_frame; k++) {
        cri_progress_state state = {"frames", k, n_frame, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (out->is_interrupted) {
            break;
        }
        double own_least = INFINITY;
        status = time_frame(s, work, sum, least ? &least[k] : &own_least, err);
        if (status == CR_OK && cr_sim_report(s->sim)->outcome != CR_SOLVED) {
            sum->n_open++;
        } else if (status == CR_OK && !least) {
            double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
            status = cr_sim_step_vjp(s->sim, work, work + n_x, NULL, work + 2 * n_x, err);
            sum->params += seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
        }
    }
    double inv = 1.0 / (k > 0 ? k : 1);
    sum->forward *= inv;
    sum->gradient *= inv;
    sum->params *= inv;
    sum->wall *= inv;
    free(work);
    return status;
}

static void use_threads(int n) {
#ifdef _OPENMP
    omp_set_num_threads(n);
#else
    (void)n;
#endif
}

static cr_status time_balls(int n_vertex, const char *law, int n_frame,
                            const cri_experiment_options *options, cri_experiment_result *out,
                            cost *sum, double *least, cr_error *err) {
    lrc_text t;
    lrc_stage s = {0};
    CR_TRY(lrc_text_open(&t, err));
    write_balls(&t, n_vertex, strcmp(law, "ipc") == 0 ? 10.0 : 1e-7);
    cr_status status = lrc_stage_open(&t, law, &s, err);
    if (status == CR_OK) {
        s.x[s.z.n_q + 6 * 15 + 1] = -8.0; // the cue ball
        status = time_frames(&s, n_frame, options, out, sum, least, err);
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

// seconds of one sum of values, nothing remembered, by all pairs or by trees
static cr_status time_sum(int n_vertex, bool is_brute, double *out, cr_error *err) {
    lrc_text t;
    lrc_stage s = {0};
    CR_TRY(lrc_text_open(&t, err));
    write_balls(&t, n_vertex, 1e-7);
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    if (status == CR_OK) {
        double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        double value = lrc_potential_at(s.sim, s.x, is_brute);
        *out = isfinite(value) ? seconds(CLOCK_PROCESS_CPUTIME_ID) - start : NAN;
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

// ---- rows --------------------------------------------------------------------------------------

static double exponent(double first, double last, double ratio) {
    return log(last / first) / log(ratio);
}

static void add_open(const cost *c, int n_frame, cri_experiment_result *out) {
    cri_experiment_add(out, "", "lower", (double)c->n_open / n_frame, NAN,
                       "  share of frames not solved to 1e-9");
}

static cr_status run_sizes(const cri_experiment_options *options, cri_experiment_result *out,
                           cr_error *err) {
    static const int n_vertex[] = {18, 48, 96, 144, 196};
    // Fig. 6, at both ends: sphere tree, forward and gradient
    static const double paper[] = {0.6, NAN, NAN, NAN, 3.18};
    double first = 0.0;
    int n_frame = options->is_full ? 100 : 4;
    for (int i = 0; i < 5; i += options->is_full ? 1 : 4) {
        int n_triangle = 16 * (2 * n_vertex[i] - 4);
        cost c;
        CR_TRY(time_balls(n_vertex[i], "longrange", n_frame, options, out, &c, NULL, err));
        if (out->is_interrupted) {
            return CR_OK;
        }
        double both = c.forward + c.gradient;
        cri_experiment_add(out, "s", "lower", both, paper[i], "%d triangles, a frame", n_triangle);
        cri_experiment_add(out, "", "lower", c.gradient / c.forward, NAN,
                           "  gradient over forward");
        cri_experiment_add(out, "", "lower", c.params / c.forward, NAN,
                           "  with all parameters, over forward");
        cri_experiment_add(out, "", "lower", (double)c.n_step / n_frame, NAN,
                           "  Newton steps a frame");
        add_open(&c, n_frame, out);
        first = i == 0 ? both : first;
        if (i == 4) {
            cri_experiment_add(out, "", "lower", exponent(first, both, 388.0 / 32.0),
                               exponent(0.6, 3.18, 388.0 / 32.0), "exponent of triangles");
        }
    }
    return CR_OK;
}

enum { MOST_FRAMES = 100 };

// forward and gradient by the clock, of every frame the least of some turns: other programs only
// make a frame longer
static cr_status compare_threads(const cri_experiment_options *options, cri_experiment_result *out,
                                 cr_error *err) {
    int n_turn = options->is_full ? 3 : 5, n_frame = options->is_full ? MOST_FRAMES : 4;
    double least[2][MOST_FRAMES], turn[2] = {INFINITY, INFINITY}, own[2] = {INFINITY, INFINITY};
    double sum[2] = {0.0, 0.0};
    for (int k = 0; k < MOST_FRAMES; k++) {
        least[0][k] = least[1][k] = INFINITY;
    }
    for (int i = 0; i < 2 * n_turn; i++) {
        cost c;
        use_threads(1 + i % 2);
        cr_status status =
            time_balls(196, "longrange", n_frame, options, out, &c, least[i % 2], err);
        use_threads(1);
        CR_TRY(status);
        if (out->is_interrupted) {
            return CR_OK;
        }
        turn[i % 2] = fmin(turn[i % 2], c.wall);
        own[i % 2] = fmin(own[i % 2], c.own);
    }
    for (int k = 0; k < 2 * n_frame; k++) {
        sum[k % 2] += least[k % 2][k / 2];
    }
    cri_experiment_add(out, "", "higher", sum[0] / sum[1], NAN,
                       "6208 triangles, two threads, times faster");
    cri_experiment_add(out, "", "higher", turn[0] / turn[1], NAN, "  by the least whole turn");
    // what a machine with two idle processors would gain, if threads wait without spinning
    cri_experiment_add(out, "", "higher", own[0] / own[1], NAN,
                       "  by processor time of the first thread");
    return CR_OK;
}

static cr_status run_rivals(const cri_experiment_options *options, cri_experiment_result *out,
                            cr_error *err) {
    int n_frame = options->is_full ? 20 : 4, n_large = options->is_full ? 96 : 48;
    double sum[2][2] = {{0}}, ratio = (2.0 * n_large - 4.0) / 32.0;
    cost c;
    for (int i = 0; i < 2; i++) {
        CR_TRY(time_balls(i ? 196 : 18, "ipc", n_frame, options, out, &c, NULL, err));
        if (out->is_interrupted) {
            return CR_OK;
        }
        cri_experiment_add(out, "s", "lower", c.forward + c.gradient, 0.5,
                           "ipc, %d triangles, a frame", i ? 6208 : 512);
        add_open(&c, n_frame, out);
        for (int k = 0; k < 2; k++) {
            CR_TRY(time_sum(i ? n_large : 18, k == 1, &sum[k][i], err));
        }
    }
    cri_experiment_add(out, "", "match", exponent(sum[1][0], sum[1][1], ratio),
                       exponent(3.35, 604.5, 388.0 / 32.0), "all pairs, one sum, exponent");
    cri_experiment_add(out, "", "lower", exponent(sum[0][0], sum[0][1], ratio), NAN,
                       "sphere trees, one sum, exponent");
    cri_experiment_add(out, "", "higher", sum[1][1] / sum[0][1], NAN,
                       "all pairs over sphere trees, %d triangles", 16 * (2 * n_large - 4));
    return compare_threads(options, out, err);
}

static cr_status run_stones(bool is_heap, const cri_experiment_options *options,
                            cri_experiment_result *out, cr_error *err) {
    int n_frame = options->is_full ? 50 : 6;
    const char *bunnies = is_heap ? NULL : getenv("CAROM_BUNNY");
    lrc_text t = {0};
    lrc_stage s = {0};
    cost c;
    if (bunnies) {
        CR_TRY(cri_file_read(bunnies, &t.at, &t.used, err));
    } else {
        CR_TRY(lrc_text_open(&t, err));
        write_stones(&t, is_heap);
    }
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    if (status == CR_OK && s.z.n_v != 1 + 6 * N_STONE) {
        status = cri_file_fail(err, CR_ERR_ARGUMENT, bunnies, 0,
                               "no rod and ten bunnies; tools/bunny_scene writes what CAROM_BUNNY "
                               "names");
    }
    if (status == CR_OK) {
        s.x[s.z.n_q] = 1.0; // the rod
        status = time_frames(&s, n_frame, options, out, &c, NULL, err);
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    if (status == CR_OK && !out->is_interrupted) {
        cri_experiment_add(out, "s", "lower", c.forward + c.gradient, is_heap ? NAN : 3.89,
                           "%s, 2772 triangles and a floor, a frame",
                           bunnies   ? "ten bunnies strewn (CAROM_BUNNY)"
                           : is_heap ? "ten stones in a heap"
                                     : "ten stones strewn (for want of CAROM_BUNNY)");
        cri_experiment_add(out, "", "lower", c.gradient / c.forward, NAN,
                           "  gradient over forward");
        cri_experiment_add(out, "", "lower", (double)c.n_step / n_frame, NAN,
                           "  Newton steps a frame");
        add_open(&c, n_frame, out);
    }
    return status;
}

static cr_status run_cost(const cri_experiment *self, const cri_experiment_options *options,
                          cri_experiment_result *out, cr_error *err) {
    (void)self;
    use_threads(1);
    cr_status status = run_sizes(options, out, err);
    for (int k = 0; status == CR_OK && !out->is_interrupted && k < 2; k++) {
        status = run_stones(k == 1, options, out, err);
    }
    if (status == CR_OK && !out->is_interrupted) {
        status = run_rivals(options, out, err);
    }
    use_threads(options->n_thread);
    return status;
}

const cri_experiment cri_lrc_cost = {
    .name = "lrc-cost",
    .summary = "processor time of a frame by number of triangles (Fig. 6, A.6.5 of paper 002)",
    .run = run_cost,
};
