// SPDX-License-Identifier: MIT
//
// A central-difference system from its definition, and the model that the public interface steps.

#include "central_parts.h"

#include "base/base.h"
#include "points/learn/names.h"

#include <math.h>
#include <string.h>

/// Sweeps over the contacts that a step makes at most; a cradle of ten balls needs nine.
enum { SWEEP_MOST = 16 };

static int n_potential(const cri_central_def *def) {
    switch (def->potential) {
    case CRI_POTENTIAL_NONE:
        return 0;
    case CRI_POTENTIAL_GRAVITY:
        return def->points.n_dim;
    case CRI_POTENTIAL_PENDULUM:
        return 2;
    case CRI_POTENTIAL_SPRING:
        return 1 + def->points.n_dim;
    case CRI_POTENTIAL_NET:
        return cri_mlp_n_weight(&def->potential_net);
    }
    return 0;
}

static void lay_out(cri_central *c, const cri_central_def *def) {
    bool has_net = def->source == CRI_SIGNAL_NET && def->n_contact > 0;
    c->n_body = def->points.n_body;
    c->n_dim = def->points.n_dim;
    c->n_q = def->points.n_body * def->points.n_dim;
    c->n_contact = def->n_contact;
    c->n_visit_most = SWEEP_MOST * def->n_contact;
    c->source = def->source;
    c->projection = def->projection;
    c->potential = def->potential;
    c->potential_net = def->potential_net;
    c->contact_net = def->contact_net;
    c->at_restitution = def->points.n_body;
    c->at_offset = c->at_restitution + def->n_contact;
    c->at_damping = c->at_offset + def->n_contact;
    c->at_potential = c->at_damping + 1;
    c->at_contact_net = c->at_potential + n_potential(def);
    c->n_p = c->at_contact_net + (has_net ? cri_mlp_n_weight(&def->contact_net) : 0);
    c->dt = def->dt;
}

static double *copy_doubles(cr_arena *arena, int n, const double *from) {
    double *to = CR_PUSH(arena, double, n + 1);
    if (to && from) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
    return to;
}

static void fill(cri_central *c, const cri_central_def *def) {
    for (int i = 0; i < c->n_body; i++) {
        c->p0[i] = def->mass[i];
    }
    for (int k = 0; k < c->n_contact; k++) {
        const cri_central_contact *t = &def->touch[k];
        CR_ASSERT(t->i >= 0 && t->i < c->n_body && t->j >= -1 && t->j < c->n_body && t->i != t->j);
        CR_ASSERT(t->is_round ? t->j >= 0 : t->normal != NULL);
        c->touch[k] = *t;
        c->touch[k].normal = t->is_round ? NULL : copy_doubles(c->memory, c->n_dim, t->normal);
        c->touch[k].name = cri_arena_push_text(c->memory, t->name);
        c->p0[c->at_restitution + k] = t->restitution;
        c->p0[c->at_offset + k] = t->offset;
    }
    c->p0[c->at_damping] = def->damping;
    if (def->potential_value && def->potential != CRI_POTENTIAL_NET) {
        memcpy(c->p0 + c->at_potential, def->potential_value,
               (size_t)n_potential(def) * sizeof *c->p0);
    }
}

cri_central *cri_central_create(const cri_central_def *def) {
    CR_ASSERT(def->points.n_body > 0 && def->points.n_dim > 0 && def->n_contact >= 0);
    CR_ASSERT(def->potential != CRI_POTENTIAL_PENDULUM || def->points.n_dim == 1);
    CR_ASSERT(def->potential != CRI_POTENTIAL_NET ||
              def->potential_net.width[0] == def->points.n_body * def->points.n_dim);
    cr_arena *memory = cri_arena_create(4096);
    cri_central *c = memory ? CR_PUSH(memory, cri_central, 1) : NULL;
    if (!c) {
        cri_arena_destroy(memory);
        return NULL;
    }
    c->memory = memory;
    lay_out(c, def);
    c->p0 = CR_PUSH(memory, double, c->n_p);
    c->touch = CR_PUSH(memory, cri_central_contact, c->n_contact + 1);
    c->home = copy_doubles(memory, c->n_q, def->home);
    c->x0 = copy_doubles(memory, 2 * c->n_q, def->x0);
    if (cri_balls_copy(&def->points, &c->points, memory)) {
        fill(c, def);
    }
    if (cri_arena_has_failed(memory)) {
        cri_arena_destroy(memory);
        return NULL;
    }
    return c;
}

void cri_central_destroy(cri_central *c) {
    if (c) {
        cri_arena_destroy(c->memory);
    }
}

static void release(void *self) {
    cri_central_destroy(self);
}

// ---- names -------------------------------------------------------------------------------------

static char *potential_name(const cri_central *c, int k, cr_arena *arena) {
    switch (c->potential) {
    case CRI_POTENTIAL_GRAVITY:
        return cri_name_push(arena, "gravity[%d]", k);
    case CRI_POTENTIAL_PENDULUM:
        return cri_name_push(arena, "%s", k == 0 ? "gravity" : "length");
    case CRI_POTENTIAL_SPRING:
        return k == 0 ? cri_name_push(arena, "stiffness") : cri_name_push(arena, "rest[%d]", k - 1);
    case CRI_POTENTIAL_NONE:
    case CRI_POTENTIAL_NET:
        break;
    }
    return NULL;
}

// a closest point moves with the offset; a gap alone is a threshold, and a net does not ask for it
static const char *held_offset(const cri_central *c) {
    if (c->projection == CRI_PROJECT_CLOSEST) {
        return NULL;
    }
    return c->source == CRI_SIGNAL_GAP ? cri_held_by_threshold
                                       : "not used: the contact net says when";
}

static bool name_bodies(const cri_central *c, const double *p, cri_system_slot *slot,
                        cr_arena *arena) {
    bool is_done = true;
    for (int i = 0; i < c->n_body; i++) {
        is_done &= cri_slot_set(&slot[i], cri_name_push(arena, "%s/mass", c->points.name[i]), p[i]);
        slot[i].lower = 0.0;
        slot[i].is_open_lower = true;
    }
    for (int k = 0; k < c->n_contact; k++) {
        int at = c->at_restitution + k;
        const char *name = c->touch[k].name;
        is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "%s/restitution", name), p[at]);
        slot[at].lower = 0.0;
        slot[at].upper = 1.0;
        at = c->at_offset + k;
        is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "%s/offset", name), p[at]);
        slot[at].held = held_offset(c);
    }
    int at = c->at_damping;
    is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "damping"), p[at]);
    return is_done;
}

static bool name_slots(const cri_central *c, const double *p, cri_system_slot *slot,
                       cr_arena *arena) {
    if (!name_bodies(c, p, slot, arena)) {
        return false;
    }
    int at = c->at_potential;
    if (c->potential == CRI_POTENTIAL_NET) {
        if (!cri_slot_set_net(slot + at, &c->potential_net, "potential", p + at, arena)) {
            return false;
        }
    } else {
        for (int k = at; k < c->at_contact_net; k++) {
            if (!cri_slot_set(&slot[k], potential_name(c, k - at, arena), p[k])) {
                return false;
            }
        }
    }
    if (c->potential == CRI_POTENTIAL_PENDULUM) {
        slot[at + 1].lower = 0.0;
        slot[at + 1].is_open_lower = true;
    }
    at = c->at_contact_net;
    if (at < c->n_p && !cri_slot_set_net(slot + at, &c->contact_net, "contact", p + at, arena)) {
        return false;
    }
    for (int k = at; k < c->n_p; k++) {
        slot[k].held = cri_held_by_threshold;
    }
    return true;
}

cr_status cri_central_model(cri_central *c, const double *p, cr_model **out, cr_error *err) {
    cr_arena *scratch = cri_arena_create(1 << 16);
    cri_system_slot *slot = scratch ? CR_PUSH(scratch, cri_system_slot, c->n_p) : NULL;
    cri_balls_layout layout;
    if (!slot || !name_slots(c, p ? p : c->p0, slot, scratch) ||
        !cri_balls_lay_out(&c->points, &layout, scratch)) {
        cri_arena_destroy(scratch);
        cri_central_destroy(c);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a system");
    }
    cri_system_def def = {.kind = &cri_central_kind,
                          .self = c,
                          .release = release,
                          .dt = c->dt,
                          .n_q = c->n_q,
                          .n_u = c->n_q,
                          .n_p = c->n_p,
                          .n_body = c->n_body,
                          .slot = slot,
                          .body = layout.body,
                          .coordinate = layout.coordinate,
                          .u_name = layout.u_name,
                          .x0 = c->x0};
    cr_status status = cri_model_from_system(&def, out, err);
    cri_arena_destroy(scratch);
    return status;
}
