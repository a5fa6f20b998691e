// SPDX-License-Identifier: MIT
//
// What the rows of points share. Their vectors begin with a state [x | v], off the ties where
// nothing asks to be on them, and go on with the parameters.

#pragma once

#include "gradient_row.h"
#include "points/system/points_fixture.h"

static struct {
    cri_points_scene *scene;
    fixture_rooms rooms;
    double p[TABLE_LIMIT]; // of the call
    double minv[64], minv_tan[64], minv_adj[64];
    bool has_failed[4];
    double x[TABLE_LIMIT];
    table_move move[TABLE_LIMIT];
    int n_in;
    cri_points_call call;
    const void *cache;
    cri_points_flow_cache flow;
    cri_points_jump jump;
    const cri_points_tape *tape;
    int B;
    double tolerance; // of jumps, 0: the usual
} stage;

// parameters inside their domains
static inline void spread_parameters(double *p) {
    const cri_points_law *law = &stage.scene->law;
    for (int i = 0; i < stage.scene->n_coefficient; i++) {
        p[law->i_mu + i] = 0.31 + 0.02 * cos(i);
        p[law->i_e + i] = 0.55 + 0.1 * cos(2 * i + 1);
    }
    for (int i = 0; i < stage.scene->s.n_block; i++) {
        p[i] *= 1.0 + 0.1 * cos(3 * i);
    }
}

static inline void open_stage(const char *name, int n) {
    memset(&stage, 0, sizeof stage);
    stage.rooms = fixture_open();
    stage.scene = fixture_scene(name, n);
    stage.scene->law.through_target = true;
    spread_parameters(stage.scene->p);
    stage.B = 1;
}

static inline void close_stage(void) {
    cri_points_scene_destroy(stage.scene);
    fixture_close(&stage.rooms);
}

// the point [state | p]
static inline void set_point(const double *state) {
    int n = stage.B * stage.scene->n_x;
    memcpy(stage.x, state, sizeof *state * (size_t)n);
    memcpy(stage.x + n, stage.scene->p, sizeof *state * (size_t)stage.scene->n_p);
    for (int i = 0; i < stage.scene->n_p; i++) {
        bool is_mass = i < stage.scene->s.i_gravity;
        stage.move[n + i] = is_mass ? TABLE_POSITIVE : TABLE_FREE;
    }
    // edges of friction and restitution
    const cri_points_law *law = &stage.scene->law;
    for (int i = law->i_mu; i < law->i_epsilon; i++) {
        double value = stage.scene->p[i];
        if (value == 0.0) {
            stage.move[n + i] = TABLE_UP;
        } else if (i >= law->i_e && value == 1.0) {
            stage.move[n + i] = TABLE_DOWN;
        }
    }
    stage.n_in = n + stage.scene->n_p;
}

static inline const double *p_of(const double *x) {
    return x + stage.B * stage.scene->n_x;
}

static inline void begin_call(const double *p) {
    cri_arena_reset(stage.rooms.keep);
    cri_arena_reset(stage.rooms.scratch);
    memcpy(stage.p, p, sizeof *p * (size_t)stage.scene->n_p);
    cri_points_masses(&stage.scene->s, p, stage.minv);
    memset(stage.has_failed, 0, sizeof stage.has_failed);
    memset(stage.minv_adj, 0, sizeof stage.minv_adj);
    stage.call = (cri_points_call){.s = &stage.scene->s,
                                   .form = stage.scene->form,
                                   .tableau = stage.scene->tableau,
                                   .potential = &stage.scene->potential,
                                   .p = stage.p,
                                   .minv = stage.minv,
                                   .B = 1,
                                   .has_failed = stage.has_failed,
                                   .keep = stage.rooms.keep,
                                   .scratch = stage.rooms.scratch};
}

static inline cri_points_tan tan_of(const double *x, const double *x_tan) {
    cri_points_masses_jvp(&stage.scene->s, p_of(x), p_of(x_tan), stage.minv_tan);
    return (cri_points_tan){.p = p_of(x_tan), .minv = stage.minv_tan};
}

static inline cri_points_adj adj_to(double *x_adj) {
    return (cri_points_adj){.p = x_adj + stage.scene->n_x, .minv = stage.minv_adj};
}

static inline void end_adj(const double *x, double *x_adj) {
    cri_points_masses_vjp(&stage.scene->s, p_of(x), stage.minv_adj, x_adj + stage.scene->n_x);
}

static inline void check_row(const char *name, const char *vjp, const char *jvp, table_row row) {
    row.name = name;
    row.vjp_name = vjp;
    row.jvp_name = jvp;
    row.n_in = row.n_in ? row.n_in : stage.n_in;
    row.x = row.x ? row.x : stage.x;
    row.move = row.move ? row.move : stage.move;
    table_check(&row);
}

static inline void chain_point(double *state) {
    fixture_chain((double[]){0.3, -0.2, 0.5}, (double[]){1.0, -2.0, 1.5}, state);
    for (int i = 0; i < 12; i++) {
        state[i] += 0.01 * cos(2 * i);
    }
}

static inline void top_point(double *state) {
    fixture_top((double[]){0.3, 1.2, -0.4}, (double[]){0.5, -1.0, 3.0}, state);
    for (int i = 0; i < 24; i++) {
        state[i] += 0.01 * cos(2 * i);
    }
}

static inline void rope_point(double *state) {
    for (int i = 0; i < 4; i++) {
        state[2 * i] = 0.02 * (i + 1) + 0.004 * cos(5 * i);
        state[2 * i + 1] = -0.045 * (i + 1) + 0.003 * sin(4 * i);
        state[8 + 2 * i] = cos(i);
        state[8 + 2 * i + 1] = sin(3 * i);
    }
}
