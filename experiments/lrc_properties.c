// SPDX-License-Identifier: MIT
//
// Table 1 of paper 002, measured: which of four properties each contact law has.
//
//   Barrier-Form    a corner comes down on a face: from 1e-4 to 1e-7 m the energy must grow by as
//                   much in the last tenth as in the one before (a logarithm does, and all that is
//                   steeper). A law without an energy must push at a gap of 1e-7 m at all.
//   Smoothness      the corner slides over the face, its diagonal and its edge, and down beside it
//                   (energies; second derivatives), or through the face, from rest and at 0.1 m/s
//                   (others: derivative of the force): steps a tenth as long must change it a tenth
//                   as much, not more.
//   Non-prehensile  random poses, nearly touching to far, for laws of steps half of them at some
//                   1 m/s: the force on the one box lies in the cone of its corners less those of
//                   the other, wherever there is a force; from a plane or a ball: it points away.
//   Non-vanishing   boxes 1, 10, ... 1e6 sizes apart: there is a force.
//
// A row each with the verdict, 1 or 0, beside the paper's, and one with the figure behind it.

#include "lrc.h"
#include "lrc_probe.h"

#include "base/math/quat.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

// a change below this part, for steps a tenth as long, is smooth: a tenth and some curvature
#define SMOOTH_MOST 0.2

// forces below this are rounding of what is zero
#define FORCE_LEAST 1e-14

#define COMPLEMENTARITY                                                                            \
    { 0, 0, 1, 0 }

static const lrc_law laws[] = {
    {"longrange", "ours", LRC_ENERGY, {1, 1, 1, 1}},
    {"sdrs", "Ye et al. 2025", LRC_ENERGY, {1, 1, 1, 0}},
    {"ipc", "Li et al. 2020", LRC_ENERGY, {1, 0, 1, 0}},
    {"ipc-descent", "Li et al. 2020, another gradient", LRC_ENERGY, {1, 0, 1, 0}},
    {"rough", NULL, LRC_ENERGY, {NAN, NAN, NAN, NAN}},
    {"penalty", "Turpin et al. 2022, Schwarke et al. 2025", LRC_ENERGY, {0, 0, 1, 1}},
    {"soft", "penalties, Guendelman et al. 2003", LRC_BOXES, {0, 0, 1, 0}},
    {"ncp", "complementarity, Werling et al. 2021", LRC_BOXES, COMPLEMENTARITY},
    {"ncp-poisson", "complementarity", LRC_BOXES, COMPLEMENTARITY},
    {"cone", "complementarity", LRC_BOXES, COMPLEMENTARITY},
    {"cone-reg", "complementarity", LRC_BOXES, COMPLEMENTARITY},
    {"lcp", "complementarity", LRC_BOXES, COMPLEMENTARITY},
    {"augmented", NULL, LRC_PLANE, {NAN, NAN, NAN, NAN}},
    {"regressed", NULL, LRC_PLANE, {NAN, NAN, NAN, NAN}},
    {"restitution", NULL, LRC_BALLS, {NAN, NAN, NAN, NAN}},
};

// speeds at which a law of steps is probed besides rest, m/s
#define APPROACH 0.1
#define THROW 1.0

static bool is_energy(const lrc_probe *p) {
    return p->law->kind == LRC_ENERGY;
}

enum { N_LAW = sizeof laws / sizeof laws[0] };

// box 0 on a corner, that corner so far above the top of box 1 and beside its middle
static void set_corner(double gap, double beside, cri_pose pose[2]) {
    cri_vec3 corner[LRC_N_CORNER];
    double low = INFINITY, at = 0.0;
    pose[0] = (cri_pose){.R = cri_quat_rotation(cri_quat_exp(cri_v3(0.5, 0.4, 0.1)))};
    pose[1] = (cri_pose){.R = cri_quat_rotation(cri_quat_exp(cri_v3(0, 0, 0)))};
    lrc_corners(0, &pose[0], corner);
    for (int i = 0; i < LRC_N_CORNER; i++) {
        at = corner[i].z < low ? corner[i].x : at;
        low = fmin(low, corner[i].z);
    }
    pose[0].pos = cri_v3(beside - at, 0.01, 0.5 * lrc_box[1][2] + gap - low);
}

// ---- the four properties -----------------------------------------------------------------------

// growth of the energy over the last tenth of the gap, over that before; or the force at 1e-7
static double measure_barrier(lrc_probe *p, bool *has_it) {
    static const double gap[4] = {1e-4, 1e-5, 1e-6, 1e-7};
    double value[4] = {0};
    cri_pose pose[2];
    cri_vec3 force = {0};
    for (int i = 0; i < 4; i++) {
        set_corner(gap[i], 0.02, pose);
        bool is_there = lrc_probe_force(p, pose, &force);
        value[i] = is_there && is_energy(p) ? p->result.value : NAN;
    }
    if (!is_energy(p)) {
        *has_it = cri_v3_norm(force) > FORCE_LEAST;
        return cri_v3_norm(force);
    }
    double growth = (value[3] - value[2]) / (value[2] - value[1]);
    // a tenth for what falls while a logarithm grows
    *has_it = value[1] > value[0] && growth > 0.9;
    return growth;
}

/// Largest change of a law's second derivatives in one of n steps of a path.
static double largest_change(lrc_probe *p, int n, const double from[2], const double to[2]) {
    double last[144] = {0}, now[144] = {0}, most = 0.0, before[3] = {0};
    const bool has_energy = is_energy(p);
    int n_value = has_energy ? 144 : 3, skip = has_energy ? 1 : 2;
    for (int i = 0; i <= n; i++) {
        double t = (double)i / n;
        cri_pose pose[2];
        cri_vec3 force;
        // beside and gap, and no sample on the border itself
        set_corner(from[1] + (to[1] - from[1]) * t + 1e-7, from[0] + (to[0] - from[0]) * t, pose);
        if (!lrc_probe_force(p, pose, &force)) {
            return NAN;
        }
        double f[3];
        cri_v3_store(force, f);
        for (int k = 0; k < n_value; k++) {
            now[k] = has_energy ? p->result.H[k] : (f[k] - before[k]) * n;
            most = i >= skip ? fmax(most, fabs(now[k] - last[k])) : most;
        }
        memcpy(last, now, sizeof last);
        memcpy(before, f, sizeof before);
    }
    return most;
}

static double measure_smoothness(lrc_probe *p, bool *has_it) {
    // over the face within the reach of all, over its edge, down beside it; or through it
    static const double path[][2][2] = {{{0.01, 0.005}, {0.098, 0.005}},
                                        {{0.098, 0.005}, {0.104, 0.001}},
                                        {{0.104, 0.001}, {0.106, -0.02}}};
    static const double through[2][2] = {{0.02, 0.002}, {0.02, -0.002}};
    double worst = 0.0;
    for (int k = 0; k < (is_energy(p) ? 3 : 2); k++) {
        const double *from = is_energy(p) ? path[k][0] : through[0];
        const double *to = is_energy(p) ? path[k][1] : through[1];
        p->velocity = cri_v3(0, 0, is_energy(p) || k == 0 ? 0.0 : -APPROACH);
        double coarse = largest_change(p, 200, from, to);
        double fine = largest_change(p, 2000, from, to);
        worst = fmax(worst, coarse > 0.0 ? fine / coarse : 0.0);
    }
    p->velocity = cri_v3(0, 0, 0);
    *has_it = worst < SMOOTH_MOST;
    return worst;
}

// f lies in the cone of three of the edges, by Caratheodory
static bool is_in_cone(cri_vec3 f, int n, const cri_vec3 *edge) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            cri_vec3 c = cri_v3_cross(edge[i], edge[j]), cf = cri_v3_cross(f, edge[j]);
            cri_vec3 ci = cri_v3_cross(edge[i], f);
            for (int k = 0; k < j; k++) {
                double det = cri_v3_dot(edge[k], c);
                if (det != 0.0 && cri_v3_dot(f, c) / det >= 0.0 &&
                    cri_v3_dot(edge[k], cf) / det >= 0.0 && cri_v3_dot(edge[k], ci) / det >= 0.0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static double measure_pushes(lrc_probe *p, uint64_t seed, int n, bool *has_it) {
    static const double gap[] = {-1e-3, 1e-5, 1e-3, 0.05, 1.0};
    int n_force = 0, n_push = 0;
    for (int i = 0; i < n; i++) {
        cri_random draw = cri_random_of(seed, 0x70757368u + (uint64_t)i);
        cri_pose pose[2];
        cri_vec3 corner[2][LRC_N_CORNER], edge[LRC_N_CORNER * LRC_N_CORNER], way, force;
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < 2; k++) {
            cri_vec3 turn = {cri_random_normal(&draw), cri_random_normal(&draw),
                             cri_random_normal(&draw)};
            pose[k] = (cri_pose){.R = cri_quat_rotation(cri_quat_exp(turn))};
            lrc_corners(k, &pose[k], corner[k]);
        }
        // along a normal of the second, so that the boxes are as far apart as its gap says
        way = cri_m3_mul(&pose[1].R, cri_v3(0, 0, 1));
        for (int c = 0; c < LRC_N_CORNER; c++) {
            low = fmin(low, cri_v3_dot(way, corner[0][c]));
            high = fmax(high, cri_v3_dot(way, corner[1][c]));
        }
        double apart = high - low + gap[i % 5];
        pose[0].pos = cri_v3_scale(apart, way);
        if (!is_energy(p) && i % 2 == 1) {
            p->velocity = cri_v3(THROW * cri_random_normal(&draw), THROW * cri_random_normal(&draw),
                                 THROW * cri_random_normal(&draw));
        } else {
            p->velocity = cri_v3(0, 0, 0);
        }
        if (!lrc_probe_force(p, pose, &force) || cri_v3_norm(force) <= FORCE_LEAST) {
            continue;
        }
        lrc_corners(0, &pose[0], corner[0]);
        for (int c = 0; c < LRC_N_CORNER * LRC_N_CORNER; c++) {
            edge[c] = cri_v3_sub(corner[0][c / LRC_N_CORNER], corner[1][c % LRC_N_CORNER]);
        }
        n_force++;
        n_push += p->law->kind == LRC_PLANE || p->law->kind == LRC_BALLS
                      ? cri_v3_dot(force, way) >= 0.0
                      : is_in_cone(force, LRC_N_CORNER * LRC_N_CORNER, edge);
    }
    p->velocity = cri_v3(0, 0, 0);
    *has_it = n_force > 0 && n_push == n_force;
    return n_force > 0 ? (double)n_push / n_force : NAN;
}

// how many sizes apart there is a force still
static double measure_reach(lrc_probe *p, bool *has_it) {
    double most = 0.0;
    for (int decade = 0; decade <= 6; decade++) {
        double far = pow(10.0, decade);
        cri_pose pose[2];
        cri_vec3 force;
        set_corner(0.2 * far, 0.02, pose);
        bool is_felt = lrc_probe_force(p, pose, &force) && cri_v3_norm(force) > FORCE_LEAST;
        most = is_felt ? far : most;
    }
    *has_it = most >= 1e6;
    return most;
}

// ---- the table ---------------------------------------------------------------------------------

static void tell(const lrc_law *law, uint64_t seed, bool is_full, lrc_probe *p,
                 cri_experiment_result *out) {
    static const char *const word[4] = {"Barrier-Form", "Smoothness", "Non-prehensile",
                                        "Non-vanishing"};
    static const char *const energy[4] = {"growth of energy to 1e-7 m over that to 1e-6",
                                          "change of H in a tenth of a step, over a step",
                                          "forces that push, share", "felt at sizes apart"};
    static const char *const step[4] = {"force at 1e-7 m", "change of dF in a tenth, over a step",
                                        "forces that push, share", "felt at sizes apart"};
    static const char *const where[] = {"", "", " (box and plane)", " (balls)"};
    bool has_it[4];
    double figure[4] = {measure_barrier(p, &has_it[0]), measure_smoothness(p, &has_it[1]),
                        measure_pushes(p, seed, is_full ? 500 : 50, &has_it[2]),
                        measure_reach(p, &has_it[3])};
    for (int k = 0; k < 4; k++) {
        cri_experiment_add(out, "", "match", has_it[k], law->table[k], "%s%s %s", law->name,
                           where[law->kind], word[k]);
        cri_experiment_add(out, k == 3 ? "sizes" : "", "match", figure[k], NAN, "  %s",
                           (law->kind == LRC_ENERGY ? energy : step)[k]);
    }
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    for (int k = 0; k < N_LAW; k++) {
        if (options->model && strcmp(options->model, laws[k].name) != 0) {
            continue;
        }
        cri_progress_state state = {"law", k, N_LAW, NAN};
        if (!cri_progress_tell(options->progress, &state)) {
            out->is_interrupted = true;
            break;
        }
        lrc_probe p;
        cr_status status = lrc_probe_open(&laws[k], options->seed, options->progress, &p, err);
        if (status == CR_OK) {
            tell(&laws[k], options->seed, options->is_full, &p, out);
        }
        lrc_probe_close(&p);
        CR_TRY(status);
    }
    return CR_OK;
}

const cri_experiment cri_lrc_properties = {
    .name = "lrc-properties",
    .summary = "paper 002, table 1: four properties of every contact law, measured",
    .models = "longrange sdrs ipc ipc-descent rough penalty soft ncp ncp-poisson cone cone-reg lcp "
              "augmented regressed restitution",
    .run = run,
};
