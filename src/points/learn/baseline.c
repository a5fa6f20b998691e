// SPDX-License-Identifier: MIT
//
// Baselines: steps by residual nets and by velocity Verlet with a net, made from definitions, and
// the models that the public interface steps.

#include "points/learn/baseline.h"

#include "base/base.h"
#include "points/learn/names.h"

#include <math.h>
#include <string.h>

extern const cri_system_kind cri_resnet_kind;

extern const cri_system_kind cri_resnetcontact_kind;

extern const cri_system_kind cri_vin_kind;

static const char *const laws[] = {"none", NULL};

/// Adjoints on their way back through a step, (n_row, n_q) each.
typedef struct back {
    double *g;  // of g(q1), then of g(q)
    double *q1; //
    double *q;  //
} back;

// ---- residual nets ------------------------------------------------------------------------------

// Residual nets as steps: s' = s + h net(s), or s' = s + h net(s, c) with touch signals c.
//
// Source: paper 001, (51)-(54). c is thresholded in prediction and constant in the vjp; in training
// it is the measured touched. Smooth where c is constant.

static bool predict_signal(const cri_baseline *b, const cri_system_batch *batch, double *touched,
                           cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    bool is_done = cri_mlp_value(&b->contact_net, batch->p + b->at_contact_net, batch->n_row,
                                 batch->x, touched, NULL, arena);
    for (int k = 0; is_done && k < batch->n_row * b->n_signal; k++) {
        touched[k] = touched[k] > 0.0 ? 1.0 : 0.0;
    }
    cri_arena_rewind(arena, mark);
    return is_done;
}

bool cri_residual_step(const cri_baseline *b, const cri_system_batch *batch, const double *touched,
                       double *x_next, cri_residual_cache *cache, cr_arena *arena) {
    cri_residual_cache own;
    cri_residual_cache *k = cache ? cache : &own;
    size_t n_x = 2 * (size_t)b->n_q;
    size_t n_in = n_x + (size_t)b->n_signal;
    size_t n_row = (size_t)batch->n_row;
    *k = (cri_residual_cache){.n_in = (int)n_in,
                              .in = CR_PUSH_RAW(arena, double, n_row *n_in),
                              .rate = CR_PUSH_RAW(arena, double, n_row *n_x),
                              .touched = CR_PUSH(arena, double, n_row *(size_t)b->n_signal + 1),
                              .is_failed = CR_PUSH(arena, bool, n_row)};
    if (cri_arena_has_failed(arena)) {
        return false;
    }
    if (touched) {
        memcpy(k->touched, touched, n_row * (size_t)b->n_signal * sizeof *touched);
    } else if (b->n_signal > 0 && !predict_signal(b, batch, k->touched, arena)) {
        return false;
    }
    for (size_t row = 0; row < n_row; row++) {
        memcpy(k->in + n_in * row, batch->x + n_x * row, n_x * sizeof *k->in);
        memcpy(k->in + n_in * row + n_x, k->touched + (size_t)b->n_signal * row,
               (size_t)b->n_signal * sizeof *k->in);
    }
    if (!cri_mlp_value(&b->net, batch->p + b->at_net, batch->n_row, k->in, k->rate,
                       cache ? &k->net : NULL, arena)) {
        return false;
    }
    for (size_t row = 0; row < n_row; row++) {
        double *next = x_next + n_x * row;
        for (size_t i = 0; i < n_x; i++) {
            next[i] = batch->x[n_x * row + i] + batch->h * k->rate[n_x * row + i];
        }
        k->is_failed[row] = !cri_all_finite((int)n_x, next);
        if (k->is_failed[row]) {
            memcpy(next, batch->x + n_x * row, n_x * sizeof *next);
        }
    }
    return true;
}

bool cri_residual_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                           const cri_residual_cache *cache, const double *x_next_adj, double *x_adj,
                           double *p_adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    size_t n_x = 2 * (size_t)b->n_q;
    size_t n_in = (size_t)cache->n_in;
    size_t n_row = (size_t)batch->n_row;
    double *rate_adj = CR_PUSH(work, double, n_row *n_x);
    double *in_adj = CR_PUSH(work, double, n_row *n_in);
    if (!rate_adj || !in_adj) {
        return false;
    }
    // x_next = x + h rate
    for (size_t k = 0; k < n_row * n_x; k++) {
        rate_adj[k] = cache->is_failed[k / n_x] ? 0.0 : batch->h * x_next_adj[k];
    }
    // rate = net(x, touched)
    if (!cri_mlp_value_vjp(&b->net, batch->p + b->at_net, &cache->net, rate_adj, in_adj,
                           p_adj ? p_adj + b->at_net : NULL, work)) {
        return false;
    }
    for (size_t row = 0; x_adj && row < n_row; row++) {
        for (size_t i = 0; i < n_x && !cache->is_failed[row]; i++) {
            x_adj[n_x * row + i] += x_next_adj[n_x * row + i] + in_adj[n_in * row + i];
        }
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as systems --------------------------------------------------------------------------------

static bool residual_kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                               cri_system_row *row, const void **cache, cr_arena *arena) {
    const cri_baseline *b = self;
    cri_residual_cache *kept = CR_PUSH(arena, cri_residual_cache, 1);
    if (!kept || !cri_residual_step(b, batch, NULL, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], 0};
        for (int c = 0; c < b->n_signal; c++) {
            row[k].n_event += kept->touched[k * b->n_signal + c] > 0.0;
        }
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool residual_kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                              const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                              cr_arena *work) {
    (void)u_adj;
    return cri_residual_step_vjp(self, batch, cache, x_next_adj, x_adj, p_adj, work);
}

const cri_system_kind cri_resnet_kind = {
    .name = "resnet", .law = laws, .step = residual_kind_step, .vjp = residual_kind_vjp};

const cri_system_kind cri_resnetcontact_kind = {
    .name = "resnetcontact", .law = laws, .step = residual_kind_step, .vjp = residual_kind_vjp};

// ---- velocity Verlet ----------------------------------------------------------------------------

// Velocity Verlet with a learned potential (variational integrator network):
//
//   q1 = q + h v - h^2/2 Minv g(q),   v1 = v - h/2 Minv (g(q) + g(q1)),   g = dV/dq
//
// Source: paper 001, appendix. It has no contacts. Smooth.

// q1 and v1 of one entry have the same mass
static double mass_of(const cri_baseline *b, const double *p, int k) {
    return p[k % b->n_q / b->n_dim];
}

static bool push_cache(const cri_baseline *b, int n_row, cri_verlet_cache *cache, cr_arena *arena) {
    int n = n_row * b->n_q;
    *cache = (cri_verlet_cache){
        .q = CR_PUSH_RAW(arena, double, n),
        .q1 = CR_PUSH_RAW(arena, double, n),
        .g = {CR_PUSH_RAW(arena, double, n), CR_PUSH_RAW(arena, double, n)},
        .is_failed = CR_PUSH(arena, bool, n_row),
    };
    return !cri_arena_has_failed(arena);
}

bool cri_verlet_step(const cri_baseline *b, const cri_system_batch *batch, double *x_next,
                     cri_verlet_cache *cache, cr_arena *arena) {
    cri_verlet_cache own;
    cri_verlet_cache *c = cache ? cache : &own;
    if (!push_cache(b, batch->n_row, c, arena)) {
        return false;
    }
    const double *w = batch->p + b->at_net;
    size_t n_q = (size_t)b->n_q;
    double h = batch->h;
    for (size_t row = 0; row < (size_t)batch->n_row; row++) {
        memcpy(c->q + n_q * row, batch->x + 2 * n_q * row, n_q * sizeof *c->q);
    }
    if (!cri_mlp_gradient(&b->net, w, batch->n_row, c->q, NULL, c->g[0], cache ? &c->net[0] : NULL,
                          arena)) {
        return false;
    }
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        double v = batch->x[(size_t)(k / b->n_q) * 2 * n_q + n_q + (size_t)(k % b->n_q)];
        c->q1[k] = c->q[k] + h * v - 0.5 * h * h * c->g[0][k] / mass_of(b, batch->p, k);
    }
    if (!cri_mlp_gradient(&b->net, w, batch->n_row, c->q1, NULL, c->g[1], cache ? &c->net[1] : NULL,
                          arena)) {
        return false;
    }
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        size_t at = (size_t)(k / b->n_q) * 2 * n_q + (size_t)(k % b->n_q);
        double kick = 0.5 * h * (c->g[0][k] + c->g[1][k]) / mass_of(b, batch->p, k);
        x_next[at] = c->q1[k];
        x_next[at + n_q] = batch->x[at + n_q] - kick;
    }
    for (size_t row = 0; row < (size_t)batch->n_row; row++) {
        double *next = x_next + 2 * n_q * row;
        c->is_failed[row] = !cri_all_finite(2 * b->n_q, next);
        if (c->is_failed[row]) {
            memcpy(next, batch->x + 2 * n_q * row, 2 * n_q * sizeof *next);
        }
    }
    return true;
}

// v1 = v - h/2 Minv (g + g1): the part of both gradients; the masses
static void kick_vjp(const cri_baseline *b, const cri_system_batch *batch,
                     const cri_verlet_cache *c, const double *x_next_adj, double *p_adj,
                     const back *a) {
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        int row = k / b->n_q;
        size_t at = (size_t)row * 2 * (size_t)b->n_q + (size_t)(k % b->n_q);
        double mass = mass_of(b, batch->p, k);
        double v1_adj = c->is_failed[row] ? 0.0 : x_next_adj[at + (size_t)b->n_q];
        a->q1[k] = c->is_failed[row] ? 0.0 : x_next_adj[at];
        a->g[k] = -0.5 * batch->h * v1_adj / mass;
        if (p_adj) {
            p_adj[k % b->n_q / b->n_dim] +=
                0.5 * batch->h * (c->g[0][k] + c->g[1][k]) * v1_adj / (mass * mass);
        }
    }
}

// q1 = q + h v - h^2/2 Minv g
static void drift_vjp(const cri_baseline *b, const cri_system_batch *batch,
                      const cri_verlet_cache *c, double *p_adj, const back *a) {
    double half = 0.5 * batch->h * batch->h;
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        double mass = mass_of(b, batch->p, k);
        a->g[k] -= half * a->q1[k] / mass;
        a->q[k] += a->q1[k];
        if (p_adj) {
            p_adj[k % b->n_q / b->n_dim] += half * c->g[0][k] * a->q1[k] / (mass * mass);
        }
    }
}

bool cri_verlet_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                         const cri_verlet_cache *cache, const double *x_next_adj, double *x_adj,
                         double *p_adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n = batch->n_row * b->n_q;
    back a = {CR_PUSH(work, double, n), CR_PUSH(work, double, n), CR_PUSH(work, double, n)};
    if (!a.g || !a.q1 || !a.q) {
        return false;
    }
    const double *w = batch->p + b->at_net;
    double *w_adj = p_adj ? p_adj + b->at_net : NULL;
    kick_vjp(b, batch, cache, x_next_adj, p_adj, &a);
    if (!cri_mlp_gradient_vjp(&b->net, w, &cache->net[1], NULL, a.g, a.q1, w_adj, work)) {
        return false;
    }
    drift_vjp(b, batch, cache, p_adj, &a);
    if (!cri_mlp_gradient_vjp(&b->net, w, &cache->net[0], NULL, a.g, a.q, w_adj, work)) {
        return false;
    }
    for (int k = 0; x_adj && k < n; k++) {
        int row = k / b->n_q;
        size_t at = (size_t)row * 2 * (size_t)b->n_q + (size_t)(k % b->n_q);
        double v1_adj = cache->is_failed[row] ? 0.0 : x_next_adj[at + (size_t)b->n_q];
        x_adj[at] += a.q[k];
        x_adj[at + (size_t)b->n_q] += v1_adj + batch->h * a.q1[k];
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as a system -------------------------------------------------------------------------------

static bool verlet_kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                             cri_system_row *row, const void **cache, cr_arena *arena) {
    cri_verlet_cache *kept = CR_PUSH(arena, cri_verlet_cache, 1);
    if (!kept || !cri_verlet_step(self, batch, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], 0};
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool verlet_kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                            const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                            cr_arena *work) {
    (void)u_adj;
    return cri_verlet_step_vjp(self, batch, cache, x_next_adj, x_adj, p_adj, work);
}

static double kind_energy(const void *self, const double *p, const double *x, cr_arena *work) {
    const cri_baseline *b = self;
    cri_arena_mark mark = cri_arena_get_mark(work);
    double energy = 0.0;
    if (!cri_mlp_value(&b->net, p + b->at_net, 1, x, &energy, NULL, work)) {
        energy = NAN;
    }
    cri_arena_rewind(work, mark);
    for (int k = 0; k < b->n_q; k++) {
        energy += 0.5 * p[k / b->n_dim] * x[b->n_q + k] * x[b->n_q + k];
    }
    return energy;
}

const cri_system_kind cri_vin_kind = {.name = "vin",
                                      .law = laws,
                                      .step = verlet_kind_step,
                                      .vjp = verlet_kind_vjp,
                                      .energy = kind_energy};

// ---- definitions and models ---------------------------------------------------------------------

cri_baseline *cri_baseline_create(const cri_baseline_def *def) {
    CR_ASSERT(def->points.n_body > 0 && def->points.n_dim > 0);
    bool is_vin = def->kind == CRI_BASELINE_VIN;
    bool has_contact_net = def->kind == CRI_BASELINE_RESNETCONTACT;
    cr_arena *memory = cri_arena_create(4096);
    cri_baseline *b = memory ? CR_PUSH(memory, cri_baseline, 1) : NULL;
    if (!b) {
        cri_arena_destroy(memory);
        return NULL;
    }
    *b = (cri_baseline){.kind = def->kind,
                        .n_body = def->points.n_body,
                        .n_dim = def->points.n_dim,
                        .n_q = def->points.n_body * def->points.n_dim,
                        .n_signal = has_contact_net ? def->n_signal : 0,
                        .net = def->net,
                        .contact_net = def->contact_net,
                        .at_net = is_vin ? def->points.n_body : 0,
                        .dt = def->dt,
                        .memory = memory};
    b->at_contact_net = b->at_net + cri_mlp_n_weight(&def->net);
    b->n_p = b->at_contact_net + (has_contact_net ? cri_mlp_n_weight(&def->contact_net) : 0);
    b->mass = CR_PUSH(memory, double, b->n_body);
    b->x0 = CR_PUSH(memory, double, 2 * b->n_q);
    if (cri_balls_copy(&def->points, &b->points, memory)) {
        for (int i = 0; i < b->n_body; i++) {
            b->mass[i] = def->mass ? def->mass[i] : 1.0;
        }
    }
    if (cri_arena_has_failed(memory)) {
        cri_arena_destroy(memory);
        return NULL;
    }
    if (def->x0) {
        memcpy(b->x0, def->x0, 2 * (size_t)b->n_q * sizeof *b->x0);
    }
    return b;
}

void cri_baseline_destroy(cri_baseline *b) {
    if (b) {
        cri_arena_destroy(b->memory);
    }
}

static void release(void *self) {
    cri_baseline_destroy(self);
}

static bool name_slots(const cri_baseline *b, const double *p, cri_system_slot *slot,
                       cr_arena *arena) {
    for (int i = 0; i < b->at_net; i++) {
        if (!cri_slot_set(&slot[i], cri_name_push(arena, "%s/mass", b->points.name[i]), p[i])) {
            return false;
        }
        slot[i].lower = 0.0;
        slot[i].is_open_lower = true;
    }
    const char *name = b->kind == CRI_BASELINE_VIN ? "potential" : "rate";
    if (!cri_slot_set_net(slot + b->at_net, &b->net, name, p + b->at_net, arena)) {
        return false;
    }
    int at = b->at_contact_net;
    if (at < b->n_p && !cri_slot_set_net(slot + at, &b->contact_net, "contact", p + at, arena)) {
        return false;
    }
    for (int k = at; k < b->n_p; k++) {
        slot[k].held = cri_held_by_threshold;
    }
    return true;
}

cr_status cri_baseline_model(cri_baseline *b, const double *p, cr_model **out, cr_error *err) {
    static const cri_system_kind *const kinds[] = {&cri_resnet_kind, &cri_resnetcontact_kind,
                                                   &cri_vin_kind};
    cr_arena *scratch = cri_arena_create(1 << 16);
    cri_system_slot *slot = scratch ? CR_PUSH(scratch, cri_system_slot, b->n_p) : NULL;
    cri_balls_layout layout;
    if (!slot || !name_slots(b, p, slot, scratch) ||
        !cri_balls_lay_out(&b->points, &layout, scratch)) {
        cri_arena_destroy(scratch);
        cri_baseline_destroy(b);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a system");
    }
    cri_system_def def = {.kind = kinds[b->kind],
                          .self = b,
                          .release = release,
                          .dt = b->dt,
                          .n_q = b->n_q,
                          .n_u = 0,
                          .n_p = b->n_p,
                          .n_body = b->n_body,
                          .slot = slot,
                          .body = layout.body,
                          .coordinate = layout.coordinate,
                          .u_name = layout.u_name,
                          .x0 = b->x0};
    cr_status status = cri_model_from_system(&def, out, err);
    cri_arena_destroy(scratch);
    return status;
}
