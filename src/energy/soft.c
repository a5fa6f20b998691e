// SPDX-License-Identifier: MIT
//
// Soft contacts: the terms of soft.h, and one island's solve.
//
//   x = |r|/width,  y = x (power 1), m (x/m)^p below the midpoint m,
//   1 - (1 - m) ((1 - x)/(1 - m))^p above it
//   d = d0 + y (d1 - d0)
//   solref > 0:  K = 1/(d1 t z)^2, B = 2/(d1 t), t time constant, z damping ratio
//   else         K = -solref[0]/d1^2, B = -solref[1]/d1
//
// A + R is positive definite, so the impulse is unique and the solvers of friction's convex kind
// find it as they find that of cone-reg.

#include "energy/soft.h"

#include "base/base.h"
#include "contact/island.h"
#include "solvers/friction.h"

#include <math.h>
#include <string.h>

// MuJoCo's defaults of solref, solimp and solmix
static const double usual_ref[2] = {0.02, 1.0}, usual_imp[5] = {0.9, 0.95, 0.001, 0.5, 2.0};
static const double usual_mix = 1.0;

// MuJoCo keeps impedances and the midpoint within these, and divisors above the last
#define IMP_LEAST 1e-4
#define IMP_MOST 0.9999
#define LEAST 1e-15

static size_t soft_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return cri_friction_bytes(n) + cri_blocks_bytes(n) + sizeof(double) * (m * m + 8 * m) + 1024;
}

const cri_law cri_law_soft = {
    .name = "soft",
    .summary = "springs and dampers as MuJoCo's solref and solimp say",
    .promise = "Convex: one impulse, found in every step. What touches sinks in, what sticks "
               "creeps, what slides is lifted a little; there is no restitution but that of the "
               "spring. The motion is that of mj_step with Euler and elliptic cones. Gradients are "
               "differences of the step, made for comparison.",
    .is_regularised = true,
    .is_soft = true,
    .stepper = "soft",
    .n_byte = soft_bytes,
};

// ---- softness ----------------------------------------------------------------------------------

static double clamp(double x, double least, double most) {
    return fmin(fmax(x, least), most);
}

cri_soft_terms cri_soft_terms_of(const double *ref, const double *imp, double gap, double h) {
    CR_ASSERT(ref && imp && h > 0.0);
    double d0 = clamp(imp[0], IMP_LEAST, IMP_MOST), d1 = clamp(imp[1], IMP_LEAST, IMP_MOST);
    double width = imp[2], middle = clamp(imp[3], IMP_LEAST, IMP_MOST), power = fmax(imp[4], 1.0);
    cri_soft_terms t = {.d = 0.5 * (d0 + d1)};
    if (d0 != d1 && width > LEAST) {
        double x = fmin(fabs(gap) / width, 1.0);
        double y = x <= middle ? middle * pow(x / middle, power)
                               : 1.0 - (1.0 - middle) * pow((1.0 - x) / (1.0 - middle), power);
        t.d = d0 + (power == 1.0 ? x : y) * (d1 - d0);
    }
    if (ref[0] > 0.0) {
        double time = fmax(ref[0], 2.0 * h);
        t.K = 1.0 / fmax(LEAST, d1 * d1 * time * time * ref[1] * ref[1]);
        t.B = 2.0 / fmax(LEAST, d1 * time);
    } else {
        t.K = -ref[0] / fmax(LEAST, d1 * d1);
        t.B = -ref[1] / fmax(LEAST, d1);
    }
    return t;
}

static cri_softness settled(const cri_softness *s) {
    cri_softness out = *s;
    memcpy(out.ref, s->has_ref ? s->ref : usual_ref, sizeof out.ref);
    memcpy(out.imp, s->has_imp ? s->imp : usual_imp, sizeof out.imp);
    out.mix = s->has_mix ? s->mix : usual_mix;
    return out;
}

// the mean of two; of two kinds of solref, or of stiffnesses, the smaller numbers, as in MuJoCo
static cri_softness mean(const cri_softness *a, const cri_softness *b) {
    double sum = a->mix + b->mix;
    double k = sum >= LEAST ? a->mix / sum : 0.5;
    k = sum >= LEAST && a->mix < LEAST ? 0.0 : k;
    k = sum >= LEAST && b->mix < LEAST ? 1.0 : k;
    cri_softness out = *a;
    bool has_times = a->ref[0] > 0.0 && b->ref[0] > 0.0;
    for (int i = 0; i < 2; i++) {
        out.ref[i] = has_times ? k * a->ref[i] + (1.0 - k) * b->ref[i] : fmin(a->ref[i], b->ref[i]);
    }
    for (int i = 0; i < 5; i++) {
        out.imp[i] = k * a->imp[i] + (1.0 - k) * b->imp[i];
    }
    return out;
}

cri_softness cri_soft_mix(const cr_model *model, const cri_near *near) {
    CR_ASSERT(model && near);
    if (near->kind == CRI_NEAR_LIMIT) {
        return settled(&model->limit[near->limit].softness);
    }
    const cri_geom *g0 = &model->geom[near->geom[0]], *g1 = &model->geom[near->geom[1]];
    cri_softness a = settled(&g0->softness), b = settled(&g1->softness);
    cri_softness out = g0->priority == g1->priority  ? mean(&a, &b)
                       : g0->priority > g1->priority ? a
                                                     : b;
    const cri_softness *own = near->pair >= 0 ? &model->pair[near->pair].softness : NULL;
    if (own && own->has_ref) {
        memcpy(out.ref, own->ref, sizeof out.ref);
    }
    if (own && own->has_imp) {
        memcpy(out.imp, own->imp, sizeof out.imp);
    }
    return out;
}

// ---- inverse masses ----------------------------------------------------------------------------

size_t cri_soft_weigh_bytes(const cr_model *model) {
    size_t room = 0;
    for (int u = 0; u < model->mech.n_unit; u++) {
        size_t need = cri_tree_bytes(&model->mech, u) + cri_tree_scratch_bytes(&model->mech, u);
        room = model->mech.unit[u].is_free_body || need < room ? room : need;
    }
    return room + 2 * sizeof(double) * (size_t)model->sizes.n_v + 1024;
}

// mean over three directions of 1/mass at the body's centre of mass
static double weigh_body(const cr_model *m, const cri_derived *d, const cri_tree *tree, int body,
                         double *g, double *w) {
    const cri_unit *u = &m->mech.unit[m->mech.link[body].unit];
    cri_pose pose = cri_tree_pose(tree, body);
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        cri_vec3 axis = {i == 0, i == 1, i == 2};
        double force[6];
        memset(g, 0, sizeof *g * (size_t)m->sizes.n_v);
        cri_v3_store(axis, force);
        cri_v3_store(cri_v3_cross(d->mech.link[body].com, cri_m3_tmul(&pose.R, axis)), force + 3);
        cri_tree_pull_body(tree, body, force, g);
        cri_tree_solve(tree, g, w, NULL);
        for (int k = u->first_v; k < u->first_v + u->n_v; k++) {
            sum += g[k] * w[k] / 3.0;
        }
    }
    return sum;
}

static double weigh_limit(const cr_model *m, const cri_tree *tree, const cri_limit *limit,
                          double *g, double *w) {
    const cri_unit *u = &m->mech.unit[limit->unit];
    double sum = 0.0;
    // a ball has the mean of its three dofs
    int n_row = limit->ball >= 0 ? 3 : 1;
    for (int r = 0; r < n_row; r++) {
        memset(g, 0, sizeof *g * (size_t)m->sizes.n_v);
        for (int i = 0; i < limit->n; i++) {
            g[limit->dof[i]] = limit->ball < 0 ? limit->coef[i] : (double)(i == r);
        }
        cri_tree_solve(tree, g, w, NULL);
        for (int k = u->first_v; k < u->first_v + u->n_v; k++) {
            sum += g[k] * w[k] / n_row;
        }
    }
    return sum;
}

static bool weigh_tree(const cr_model *m, const cri_derived *d, int unit, double *g,
                       cri_soft_weights *out, cr_arena *scratch) {
    const cri_unit *u = &m->mech.unit[unit];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_tree *tree = cri_tree_push(&m->mech, unit, &d->mech, scratch);
    if (!tree) {
        return false;
    }
    cri_tree_set(tree, m->x_placed, scratch);
    double *w = g + m->sizes.n_v;
    for (int b = u->first_body; b < u->first_body + u->n_body; b++) {
        if (m->mech.link[b].unit == unit) {
            out->body[b] = weigh_body(m, d, tree, b, g, w);
        }
    }
    for (int k = 0; k < m->n_limit; k++) {
        if (m->limit[k].unit == unit) {
            out->limit[k] = weigh_limit(m, tree, &m->limit[k], g, w);
        }
    }
    cri_arena_rewind(scratch, mark);
    return true;
}

bool cri_soft_weigh(const cr_model *m, const cri_derived *d, cri_soft_weights *out,
                    cr_arena *scratch) {
    CR_ASSERT(m && d && out && scratch);
    if (!cri_arena_reserve(scratch, cri_soft_weigh_bytes(m))) {
        return false;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *g = CR_PUSH(scratch, double, 2 * m->sizes.n_v);
    bool is_good = g != NULL;
    memset(out->body, 0, sizeof *out->body * (size_t)m->sizes.n_body);
    for (int u = 0; is_good && u < m->mech.n_unit; u++) {
        if (m->mech.unit[u].is_free_body) {
            int b = m->mech.unit[u].first_body;
            out->body[b] = d->body[b].inv_mass;
        } else {
            is_good = weigh_tree(m, d, u, g, out, scratch);
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// ---- an island ---------------------------------------------------------------------------------

static double weight_of(const cri_soft_weights *weights, const cri_near *near) {
    if (near->kind == CRI_NEAR_LIMIT) {
        return weights->limit[near->limit];
    }
    double w = 0.0;
    for (int s = 0; s < 2; s++) {
        w += near->body[s] >= 0 ? weights->body[near->body[s]] : 0.0;
    }
    return w;
}

// c = G v_free - G v - h a*, and A + R in place of A; Gv (3n) is G v
static void fill_contact(const cri_world *world, const cri_soft_weights *weights, cri_jump *jump,
                         int a, double h, const double *Gv, double *c) {
    const cri_row *row = &jump->row[a];
    size_t to_next = 3 * (size_t)jump->n + 1;
    cri_softness s = cri_soft_mix(world->model, &row->near);
    cri_soft_terms t = cri_soft_terms_of(s.ref, s.imp, row->touch.gap, h);
    double R = (1.0 - t.d) / t.d * weight_of(weights, &row->near);
    for (int r = 0; r < 3; r++) {
        // of two coefficients MuJoCo's tangents have R (1, mu1^2/mu2^2), here in scaled rows
        double along = r > 0 ? row->ellipse.scale[1] : 1.0;
        c[r] = jump->b[3 * a + r] - (1.0 - h * t.B) * Gv[3 * a + r];
        jump->A[((size_t)3 * (size_t)a + (size_t)r) * to_next] += fmax(LEAST, R * along * along);
    }
    c[0] += h * t.K * t.d * row->touch.gap;
}

void cri_soft_solve(const cri_world *world, const cri_soft_weights *weights, cri_jump *jump,
                    const double *v, const double *v_free, double h, double *impulse,
                    cr_arena *scratch) {
    CR_ASSERT(world && weights && jump && jump->n > 0 && h > 0.0);
    int m = 3 * jump->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *Gv = CR_PUSH_RAW(scratch, double, 2 * m), *c = Gv + m;
    double *l = CR_PUSH(scratch, double, jump->n);
    double *dofs = CR_PUSH_RAW(scratch, double, jump->n_dof);
    cri_jump_gather(world, jump, v, dofs);
    cri_jump_push(world, jump, dofs, Gv);
    cri_jump_gather(world, jump, v_free, jump->v);
    cri_jump_push(world, jump, jump->v, jump->b);
    for (int a = 0; a < jump->n; a++) {
        fill_contact(world, weights, jump, a, h, Gv, c + 3 * a);
    }
    cri_friction problem = {.kind = CRI_CONVEX,
                            .n = jump->n,
                            .A = jump->A,
                            .c = c,
                            .b = c,
                            .mu = jump->mu,
                            .l = l,
                            .blocks = cri_blocks_find(jump->n, jump->A, scratch)};
    jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
    bool is_finite = cri_all_finite(m, c) && cri_all_finite(m * m, jump->A);
    if (is_finite) {
        cri_solve_report r = cri_friction_solve(&problem, jump->f, scratch);
        jump->report.outcome = r.outcome;
        jump->report.n_iteration = r.n_iteration;
        jump->report.residual = r.residual;
    } else {
        memset(jump->f, 0, sizeof *jump->f * (size_t)m);
        jump->report.outcome = CR_ITERATION_LIMIT;
    }
    for (int a = 0; a < jump->n; a++) {
        const double *f = jump->f + 3 * a;
        jump->is_sliding[a] =
            f[0] > 0.0 && cri_tangent_size(f) >= (1.0 - 1e-10) * jump->mu[a] * f[0];
    }
    cri_jump_pull(world, jump, jump->f, dofs);
    cri_jump_scatter(world, jump, dofs, impulse);
    cri_arena_rewind(scratch, mark);
}
