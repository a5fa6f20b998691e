// SPDX-License-Identifier: MIT
//
// Baselines from their definitions, and the models that the public interface steps.

#include "points/learn/baseline.h"

#include "base/base.h"
#include "points/learn/names.h"

#include <string.h>

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
