// SPDX-License-Identifier: MIT
//
// Curves of a run, filled step by step.
//
//   free bodies    position, velocity, spin: a chart each, of the first bodies
//   joints         angles, displacements and their rates: one chart of all; spins of balls
//   energy         kinetic T = E(q, v) - E(q, 0), potential E(q, 0), and their sum
//   gaps           signed distance of every pair that may touch, where they are few; else the
//                  least gap of the contacts that act
//   impulses       of a step: along the normal, and across it by friction

#include "report.h"

#include "contact/pair.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// free bodies with charts of their own, joints in one chart, pairs with curves of their own
enum { BODY_LIMIT = 6, LINE_LIMIT = 16, PAIR_LIMIT = 4, GROUP_LIMIT = 3 * BODY_LIMIT + 8 };

/// Entries of x that one chart shows.
typedef struct state_group {
    int series;
    int n;
    int entry[LINE_LIMIT];
} state_group;

struct cli_track {
    cri_report *report;
    cr_sim *sim;
    cr_arena *memory;
    bool has_curves;
    int n_group;
    state_group group[GROUP_LIMIT];
    int energy; // series
    int gap;
    int impulse;
    int n_pair; // with curves of their own; 0: sums over all
    cri_near pair[PAIR_LIMIT];
    double *x;       // (n_x) work
    cri_state state; // of x
};

// ---- states ------------------------------------------------------------------------------------

static void add_group(cli_track *track, const cri_report_chart_def *def, int n, const int *entry,
                      const cri_report_line *line) {
    if (n == 0 || track->n_group == GROUP_LIMIT) {
        return;
    }
    state_group *group = &track->group[track->n_group++];
    int chart = cri_report_chart(track->report, def);
    group->series = cri_report_series(track->report, chart, n, line);
    group->n = n;
    memcpy(group->entry, entry, sizeof *entry * (size_t)n);
}

/// Three numbers of a free body from entry first on.
static void add_vector(cli_track *track, const char *body, const char *what, const char *unit,
                       int first) {
    static const cri_report_line line[] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
    char title[160];
    snprintf(title, sizeof title, "%.100s: %s", body, what);
    int entry[] = {first, first + 1, first + 2};
    cri_report_chart_def def = {.title = title, .unit = unit};
    add_group(track, &def, 3, entry, line);
}

static void add_free_bodies(cli_track *track) {
    const cr_model *model = track->sim->model;
    int n_free = 0;
    for (int j = 0; j < model->mech.n_joint; j++) {
        const cri_joint *joint = &model->mech.joint[j];
        if (joint->kind == CRI_JOINT_FREE && ++n_free <= BODY_LIMIT) {
            const char *name = model->body_name[joint->body];
            add_vector(track, name, "position", "m", joint->q);
            add_vector(track, name, "velocity", "m/s", model->sizes.n_q + joint->v);
        }
    }
    if (n_free > BODY_LIMIT) {
        cri_report_note(track->report, "Curves are those of the first %d of %d free bodies.",
                        BODY_LIMIT, n_free);
    }
}

/// Of free bodies, and of ball joints relative to what they hang on.
static void add_spins(cli_track *track) {
    const cr_model *model = track->sim->model;
    int n = 0;
    for (int j = 0; j < model->mech.n_joint && n < BODY_LIMIT; j++) {
        const cri_joint *joint = &model->mech.joint[j];
        bool is_free = joint->kind == CRI_JOINT_FREE;
        if (is_free || joint->kind == CRI_JOINT_BALL) {
            int first = model->sizes.n_q + joint->v + (is_free ? 3 : 0);
            add_vector(track, is_free ? model->body_name[joint->body] : model->joint_name[j],
                       "spin in its own axes", "rad/s", first);
            n++;
        }
    }
}

/// All hinges or all slides.
static void add_joints(cli_track *track, cri_joint_kind kind, bool is_rate) {
    static const char *const title[2][2] = {{"Joint angles", "Joint speeds"},
                                            {"Joint displacements", "Joint slide speeds"}};
    static const char *const unit[2][2] = {{"rad", "rad/s"}, {"m", "m/s"}};
    const cr_model *model = track->sim->model;
    int n = 0, entry[LINE_LIMIT];
    cri_report_line line[LINE_LIMIT];
    for (int j = 0; j < model->mech.n_joint && n < LINE_LIMIT; j++) {
        const cri_joint *joint = &model->mech.joint[j];
        if (joint->kind == kind) {
            entry[n] = is_rate ? model->sizes.n_q + joint->v : joint->q;
            line[n++] = (cri_report_line){.name = model->joint_name[j]};
        }
    }
    int row = kind == CRI_JOINT_SLIDE;
    cri_report_chart_def def = {.title = title[row][is_rate], .unit = unit[row][is_rate]};
    add_group(track, &def, n, entry, line);
}

// ---- energy, gaps, impulses --------------------------------------------------------------------

/// Keeps the pairs that may touch when they are few, else none. False when there is none at all.
static bool find_pairs(cli_track *track) {
    const cr_model *model = track->sim->model;
    int n_geom = model->sizes.n_geom, n = 0;
    for (int a = 0; a < n_geom && n <= PAIR_LIMIT; a++) {
        for (int b = a + 1; b < n_geom && n <= PAIR_LIMIT; b++) {
            int pair = -1;
            bool is_still = model->geom[a].unit < 0 && model->geom[b].unit < 0;
            if (is_still || !cri_model_may_collide(model, a, b, &pair)) {
                continue;
            }
            if (n < PAIR_LIMIT) {
                track->pair[n] = cri_near_geoms(model, a, b, pair);
            }
            n++;
        }
    }
    track->n_pair = n <= PAIR_LIMIT ? n : 0;
    return n > 0;
}

static void add_energy(cli_track *track) {
    static const cri_report_line line[] = {
        {.name = "total"}, {.name = "kinetic"}, {.name = "potential"}};
    int chart =
        cri_report_chart(track->report, &(cri_report_chart_def){.title = "Energy", .unit = "J"});
    track->energy = cri_report_series(track->report, chart, 3, line);
}

static void add_contacts(cli_track *track) {
    const cr_model *model = track->sim->model;
    char name[PAIR_LIMIT][164], friction[PAIR_LIMIT][176];
    cri_report_line gap[PAIR_LIMIT], impulse[2 * PAIR_LIMIT];
    int n = track->n_pair;
    for (int i = 0; i < n; i++) {
        const int *geom = track->pair[i].geom;
        snprintf(name[i], sizeof *name, "%.80s:%.80s", model->geom_name[geom[0]],
                 model->geom_name[geom[1]]);
        snprintf(friction[i], sizeof *friction, "%.163s friction", name[i]);
        gap[i] = (cri_report_line){.name = name[i]};
        impulse[2 * i] = (cri_report_line){name[i], CRI_LINE_STEMS};
        impulse[2 * i + 1] = (cri_report_line){friction[i], CRI_LINE_STEMS};
    }
    if (n == 0) {
        gap[0] = (cri_report_line){.name = "least of all contacts"};
        impulse[0] = (cri_report_line){"all contacts", CRI_LINE_STEMS};
        impulse[1] = (cri_report_line){"all contacts, friction", CRI_LINE_STEMS};
        n = 1;
    }
    cri_report *report = track->report;
    int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "Gaps", .unit = "m"});
    track->gap = cri_report_series(report, chart, n, gap);
    chart = cri_report_chart(report,
                             &(cri_report_chart_def){.title = "Impulses of a step", .unit = "N s"});
    track->impulse = cri_report_series(report, chart, 2 * n, impulse);
}

static void put_energy(cli_track *track, double t, const double *x) {
    const cr_sizes *sizes = &track->sim->model->sizes;
    double total = cr_sim_energy(track->sim, x);
    memcpy(track->x, x, sizeof *x * (size_t)sizes->n_q);
    memset(track->x + sizes->n_q, 0, sizeof *x * (size_t)sizes->n_v);
    double potential = cr_sim_energy(track->sim, track->x);
    double y[] = {total, total - potential, potential};
    cri_report_point(track->report, track->energy, t, y);
}

/// Which pair with curves of its own a contact belongs to; -1: none.
static int pair_of(const cli_track *track, const cr_contact *contact) {
    for (int i = 0; i < track->n_pair; i++) {
        const int *geom = track->pair[i].geom;
        if (geom[0] == contact->geom[0] && geom[1] == contact->geom[1]) {
            return i;
        }
    }
    return track->n_pair > 0 ? -1 : 0;
}

static void put_gaps(cli_track *track, double t, const double *x, int n_contact,
                     const cr_contact *contact) {
    double y[PAIR_LIMIT] = {NAN};
    const cr_model *model = track->sim->model;
    if (track->n_pair > 0) {
        memcpy(track->x, x, sizeof *x * (size_t)model->sizes.n_x);
        cri_model_normalise(model, track->x);
        cri_state_set(model, &track->state);
    }
    for (int i = 0; i < track->n_pair; i++) {
        cri_narrow_touch touch[CRI_MOST_SLOT];
        CR_ASSERT(track->pair[i].n_slot <= CRI_MOST_SLOT);
        cri_near_touches(&track->sim->world, &track->pair[i], &track->state, 0.0, touch);
        y[i] = touch[0].gap;
        for (int k = 1; k < track->pair[i].n_slot; k++) {
            y[i] = fmin(y[i], touch[k].gap);
        }
    }
    for (int i = 0; i < n_contact && track->n_pair == 0; i++) {
        y[0] = fmin(y[0], contact[i].gap);
    }
    cri_report_point(track->report, track->gap, t, y);
}

static void put_impulses(cli_track *track, double t, int n_contact, const cr_contact *contact) {
    double y[2 * PAIR_LIMIT] = {0};
    for (int i = 0; i < n_contact; i++) {
        int pair = pair_of(track, &contact[i]);
        if (pair < 0) {
            continue;
        }
        cri_vec3 f = cri_v3_load(contact[i].impulse), normal = cri_v3_load(contact[i].normal);
        double along = cri_v3_dot(f, normal);
        y[2 * pair] += along;
        y[2 * pair + 1] += cri_v3_norm(cri_v3_mad(f, -along, normal));
    }
    cri_report_point(track->report, track->impulse, t, y);
}

// ---- track -------------------------------------------------------------------------------------

static void put(cli_track *track, double t, const double *x, int n_contact,
                const cr_contact *contact) {
    cri_report_frame(track->report, t, x, n_contact, contact);
    if (!track->has_curves) {
        return;
    }
    for (int g = 0; g < track->n_group; g++) {
        const state_group *group = &track->group[g];
        double y[LINE_LIMIT];
        for (int i = 0; i < group->n; i++) {
            y[i] = x[group->entry[i]];
        }
        cri_report_point(track->report, group->series, t, y);
    }
    if (track->gap >= 0) {
        put_gaps(track, t, x, n_contact, contact);
        put_impulses(track, t, n_contact, contact);
    }
    // last: contacts are valid until the next call on the sim
    put_energy(track, t, x);
}

cli_track *cli_track_begin(cri_report *report, const char *name, cr_sim *sim, double t,
                           const double *x0, bool has_curves) {
    if (!report) {
        return NULL;
    }
    const cr_model *model = sim->model;
    cri_report_variant(report, name, sim);
    cr_arena *memory = cri_arena_create(1 << 14);
    cli_track *track = memory ? CR_PUSH(memory, cli_track, 1) : NULL;
    double *x = memory ? CR_PUSH(memory, double, model->sizes.n_x) : NULL;
    if (!track || !x || !cri_arena_reserve(memory, cri_state_bytes(model))) {
        cri_arena_destroy(memory);
        return NULL;
    }
    *track = (cli_track){.report = report,
                         .sim = sim,
                         .memory = memory,
                         .has_curves = has_curves,
                         .gap = -1,
                         .impulse = -1,
                         .x = x};
    cri_state_push(model, x, &track->state, memory);
    if (has_curves) {
        add_free_bodies(track);
        add_joints(track, CRI_JOINT_HINGE, false);
        add_joints(track, CRI_JOINT_SLIDE, false);
        add_energy(track);
        if (find_pairs(track)) {
            add_contacts(track);
        }
        add_joints(track, CRI_JOINT_HINGE, true);
        add_joints(track, CRI_JOINT_SLIDE, true);
        add_spins(track);
    }
    put(track, t, x0, 0, NULL);
    return track;
}

void cli_track_step(cli_track *track, double t, const double *x) {
    if (!track) {
        return;
    }
    int n_contact = 0;
    const cr_contact *contact = cr_sim_contacts(track->sim, &n_contact);
    put(track, t, x, contact ? n_contact : 0, contact);
}

void cli_track_end(cli_track *track) {
    if (track) {
        cri_arena_destroy(track->memory);
    }
}
