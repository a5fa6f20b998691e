// SPDX-License-Identifier: MIT

#include "lrc_inside.h"

#include "sim/implicit.h"

bool lrc_surfaces_meet(const cr_sim *sim) {
    const cri_implicit_record *record = sim->last->data;
    int geom[2];
    return cri_potential_meet(sim->potential, record->next.pose, geom);
}

// pairs have options of their own
static void set_brute(cri_potential *potential, bool is_brute) {
    for (int i = 0; i < potential->n_pair + potential->n_half; i++) {
        potential->pair[i].options.is_brute = is_brute;
    }
}

double lrc_potential_at(cr_sim *sim, const double *x, bool is_brute) {
    const cri_body_sum none = {0};
    const cri_potential_notes notes = {0};
    set_brute(sim->potential, is_brute);
    cri_frames_set(&sim->frames, x);
    cri_potential_forget(sim->potential);
    double value =
        cri_potential_sum(sim->potential, &sim->frames, 1.0, &none, &notes, sim->scratch);
    set_brute(sim->potential, false);
    return value;
}
