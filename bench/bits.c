// SPDX-License-Identifier: MIT
//
// carom_bits FOLDER [SCENE]: the ledger of bits. One row a scene, law and stepper:
//
//     SCENE LAW STEPPER status path=HASH adjoint=HASH jacobian=HASH contacts=HASH grad= hit= rest=
//
// path      states of all steps, energies, and the report of the rollout
// adjoint   x0_adj, u_adj and p_adj of two seeds, in the middle and at the end
// jacobian  a tangent for each coordinate of the state, and eight of p and u, through all steps
// contacts  contacts of each step with their impulses
// hit, rest impacts and resting contacts, to show that a scene has both
//
// It uses the public interface alone, so that it can be linked with any build; tools/bits compares
// two. Hashes are FNV-1a of bytes: they differ between machines (libm), not between runs.

#include "carom/carom.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// directions of p and of u that are pushed along
enum { N_EXTRA = 8 };

// length of an implicit step, s, so that few of them see a contact too
#define IMPLICIT_DT 0.02

/// A scene, and how many steps show an impact and a rest.
typedef struct ledger_scene {
    const char *name;
    int n_step;
    int n_implicit; // under laws whose step is implicit: each costs some hundred times as much
} ledger_scene;

static const ledger_scene scenes[] = {
    {"sphere", 150, 12},    {"box", 120, 12},   {"capsule", 120, 12}, {"cylinder", 100, 12},
    {"ellipsoid", 120, 12}, {"mesh", 120, 12},  {"field", 40, 12},    {"balls", 120, 12},
    {"stack", 20, 12},      {"mixed", 24, 12},  {"chain", 150, 12},   {"limits", 100, 12},
    {"loops", 100, 12},     {"servo", 150, 12}, {"planar", 120, 12},  {"two_way", 100, 12},
    {"overlap", 20, 12},    {"pile", 24, 3},    {"ant", 40, 8},       {"hopper", 100, 8},
    {"push", 150, 12},
};

/// A law under a stepper; NULL: the law's own.
typedef struct ledger_pair {
    const char *law, *stepper;
} ledger_pair;

static const ledger_pair pairs[] = {
    {"ncp", "located"},      {"ncp", "end"},        {"ncp-poisson", "located"},
    {"ncp-poisson", "end"},  {"cone", "located"},   {"cone", "end"},
    {"cone-reg", "located"}, {"cone-reg", "end"},   {"lcp", "located"},
    {"lcp", "end"},          {"soft", NULL},        {"longrange", NULL},
    {"ipc", NULL},           {"ipc-descent", NULL}, {"sdrs", NULL},
    {"rough", NULL},         {"penalty", NULL},
};

#define N_SCENE ((int)(sizeof scenes / sizeof *scenes))
#define N_PAIR ((int)(sizeof pairs / sizeof *pairs))

// ---- hashes ------------------------------------------------------------------------------------

static const uint64_t hash_start = 14695981039346656037u; // of FNV-1a, as its authors have it

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n_byte) {
    const unsigned char *at = data;
    for (size_t i = 0; i < n_byte; i++) {
        hash = (hash ^ at[i]) * 1099511628211u;
    }
    return hash;
}

static uint64_t hash_numbers(uint64_t hash, const double *value, int n) {
    return hash_bytes(hash, value, sizeof *value * (size_t)n);
}

static uint64_t hash_int(uint64_t hash, int value) {
    return hash_bytes(hash, &value, sizeof value);
}

/// Field by field: padding has no bits of its own.
static uint64_t hash_report(uint64_t hash, const cr_step_report *r) {
    const int whole[] = {(int)r->outcome, r->grad, r->n_event, r->n_capped, r->n_iteration};
    const double real[] = {r->residual, r->least_speed, r->penetration, r->slip_margin};
    hash = hash_bytes(hash, whole, sizeof whole);
    return hash_bytes(hash, real, sizeof real);
}

static uint64_t hash_contact(uint64_t hash, const cr_contact *c) {
    hash = hash_int(hash_int(hash, c->geom[0]), c->geom[1]);
    hash = hash_numbers(hash_numbers(hash, &c->time, 1), &c->gap, 1);
    hash = hash_numbers(hash_numbers(hash, c->point, 3), c->normal, 3);
    hash = hash_numbers(hash, c->impulse, 3);
    return hash_int(hash, 2 * c->is_impact + c->is_sliding);
}

// ---- one row -----------------------------------------------------------------------------------

/// What a row works with.
typedef struct ledger_row {
    cr_sim *sim;
    cr_sizes n;
    int n_step;
    double dt;
    const double *x0; // (n_x)
    double *memory;   // zeros, room for all that a row needs
    uint64_t path, adjoint, jacobian, contacts;
    int grad, n_hit, n_rest;
    cr_error err;
} ledger_row;

static size_t row_numbers(const cr_sizes *n, int n_step) {
    size_t n_seed = (size_t)(n->n_tangent + N_EXTRA);
    return (size_t)(n_step + 1) * (size_t)n->n_x + 4 * (size_t)(n->n_x + n->n_u + n->n_p) +
           n_seed * (size_t)(n->n_tangent + n->n_u + n->n_p);
}

/// The rollout and its adjoint.
static cr_status roll(ledger_row *row) {
    const cr_sizes *n = &row->n;
    cr_rollout rollout = {.n_step = row->n_step, .dt = &row->dt, .n_dt = 1};
    double *path = row->memory, *x0_adj = path + (row->n_step + 1) * n->n_x;
    double *u_adj = x0_adj + n->n_x, *p_adj = u_adj + n->n_u, *seed = p_adj + n->n_p;
    cr_status status = cr_sim_rollout(row->sim, &rollout, row->x0, path, NULL, &row->err);
    row->path = hash_numbers(hash_start, path, (row->n_step + 1) * n->n_x);
    const cr_step_report *report = cr_sim_report(row->sim);
    row->path = hash_report(row->path, report);
    row->grad = report->grad;
    row->n_hit = report->n_event;
    if (status != CR_OK) {
        return status;
    }
    for (int i = 0; i < n->n_x; i++) {
        seed[i] = 1.0 + 0.1 * i; // any numbers do
    }
    cr_seed seeds[2] = {{row->n_step / 2, seed}, {row->n_step, seed}};
    cr_status is_good = cr_sim_rollout_vjp(row->sim, 2, seeds, x0_adj, u_adj, p_adj, &row->err);
    row->adjoint = hash_numbers(hash_int(hash_start, (int)is_good), x0_adj, n->n_x);
    row->adjoint = hash_numbers(hash_numbers(row->adjoint, u_adj, n->n_u), p_adj, n->n_p);
    return CR_OK;
}

/// Steps one by one: contacts, energies and tangents.
static cr_status step(ledger_row *row) {
    const cr_sizes *n = &row->n;
    int n_seed = n->n_tangent + N_EXTRA;
    double *x = row->memory, *x_tan = x + n->n_x;
    double *u_tan = x_tan + n_seed * n->n_tangent, *p_tan = u_tan + n_seed * n->n_u;
    memset(row->memory, 0, sizeof *x * row_numbers(n, row->n_step));
    memcpy(x, row->x0, sizeof *x * (size_t)n->n_x);
    for (int i = 0; i < n->n_tangent; i++) {
        x_tan[i * n->n_tangent + i] = 1.0;
    }
    for (int k = 0; k < N_EXTRA; k++) {
        int seed = n->n_tangent + k;
        u_tan[seed * n->n_u + k % n->n_u] = 1.0;
        p_tan[seed * n->n_p + k * n->n_p / N_EXTRA] = 1.0;
    }
    row->contacts = row->jacobian = hash_start;
    bool has_tangent = true;
    for (int k = 0; k < row->n_step; k++) {
        cr_status status = cr_sim_step(row->sim, row->dt, x, NULL, x, &row->err);
        if (status != CR_OK) {
            return status;
        }
        has_tangent = has_tangent && cr_sim_step_jac(row->sim, n_seed, x_tan, u_tan, p_tan, x_tan,
                                                     &row->err) == CR_OK;
        int n_contact = 0;
        const cr_contact *contact = cr_sim_contacts(row->sim, &n_contact);
        for (int i = 0; i < n_contact; i++) {
            row->contacts = hash_contact(row->contacts, &contact[i]);
            row->n_rest += !contact[i].is_impact;
        }
        double energy = cr_sim_energy(row->sim, x);
        row->path = hash_numbers(row->path, &energy, 1);
    }
    row->path = hash_numbers(row->path, x, n->n_x);
    row->jacobian = has_tangent ? hash_numbers(hash_start, x_tan, n_seed * n->n_tangent) : 0;
    return CR_OK;
}

static void print_row(const ledger_scene *scene, const ledger_pair *pair, cr_status status,
                      const ledger_row *row) {
    printf("%-9s %-11s %-8s %-11s ", scene->name, pair->law, pair->stepper ? pair->stepper : "own",
           cr_status_text(status));
    printf("path=%016" PRIx64 " adjoint=%016" PRIx64 " jacobian=%016" PRIx64 " contacts=%016" PRIx64
           " grad=%d hit=%d rest=%d\n",
           row->path, row->adjoint, row->jacobian, row->contacts, row->grad, row->n_hit,
           row->n_rest);
}

static void run_row(const cr_model *model, const ledger_scene *scene, const ledger_pair *pair) {
    ledger_row row = {.n = cr_model_sizes(model), .n_step = scene->n_step};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = pair->law;
    options.stepper = pair->stepper;
    options.use_gradient = true;
    row.dt = row.n.dt;
    if (!pair->stepper && strcmp(pair->law, "soft") != 0) {
        row.n_step = scene->n_implicit;
        row.dt = IMPLICIT_DT;
    }
    double *x0 = calloc((size_t)row.n.n_x, sizeof *x0);
    row.memory = calloc(row_numbers(&row.n, row.n_step), sizeof *row.memory);
    if (!x0 || !row.memory) {
        fputs("carom_bits: no memory\n", stderr);
        exit(1);
    }
    cr_model_defaults(model, -1, NULL, x0, NULL);
    row.x0 = x0;
    cr_status status = cr_sim_create(model, &options, &row.sim, &row.err);
    status = status == CR_OK ? roll(&row) : status;
    status = status == CR_OK ? step(&row) : status;
    print_row(scene, pair, status, &row);
    cr_sim_destroy(row.sim);
    free(row.memory);
    free(x0);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fputs("usage: carom_bits FOLDER [SCENE]\n", stderr);
        return 2;
    }
    for (int i = 0; i < N_SCENE; i++) {
        char path[1024];
        cr_model *model = NULL;
        cr_error err = {0};
        if (argc == 3 && strcmp(argv[2], scenes[i].name) != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s.xml", argv[1], scenes[i].name);
        if (cr_model_load(path, &model, &err) != CR_OK) {
            fprintf(stderr, "carom_bits: %s\n", err.text);
            return 1;
        }
        for (int k = 0; k < N_PAIR; k++) {
            run_row(model, &scenes[i], &pairs[k]);
            fflush(stdout);
        }
        cr_model_destroy(model);
    }
    return 0;
}
