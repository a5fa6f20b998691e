// SPDX-License-Identifier: MIT
//
// With c' next, c and r its value and rate now, over a step h:
//
//   dof        a (c' - c - h r)^2/(2 h^2) + d (c' - c)^2/(2 h) + k (c' - rest)^2/2 - f c'
//   tendon     d (c' - c)^2/(2 h) + k (c' - rest)^2/2
//   actuator   minus the work of f = gain u + b0 + b1 l' + b2 (l' - l)/h, l = gear c, within limits
//
// so that each force is the one of the motion, taken at the end of the step. A ball or free joint
// turns by t = log(q* q'); its terms are those of a dof in t, and a spring k |log(rest* q')|^2/2:
//
//   gradient  Jr(t)^-T e,  e = a (t - h r)/h^2 + d t/h - f,      Jr as in tree_force.c
//
// Its second derivatives are symmetrised: where the whole gradient is zero they are symmetric.

#include "energy/joint_energy.h"

#include <math.h>
#include <string.h>

static const double one = 1.0;

// the joint of linear dof i, NULL: it turns
static const cri_joint *linear_joint(const cri_mechanism *mech, int i) {
    const cri_joint *j = &mech->joint[mech->dof_joint[i]];
    bool is_turn = j->kind == CRI_JOINT_BALL || (j->kind == CRI_JOINT_FREE && i - j->v >= 3);
    return is_turn ? NULL : j;
}

static void dof_term(const cri_joint_step *s, int i, cri_joint_term *t) {
    const cri_joint *j = linear_joint(s->mech, i);
    t->n = j ? 1 : 0;
    if (!j) {
        return;
    }
    const cri_joint_derived *d = &s->d->joint[s->mech->dof_joint[i]];
    int at = j->q + i - j->v;
    const double spring[3] = {j->x_spring.x, j->x_spring.y, j->x_spring.z};
    bool is_free = j->kind == CRI_JOINT_FREE;
    double rest = is_free ? spring[i - j->v] : d->springref;
    double h = s->h, f = s->u[s->mech->n_actuator + i];
    double moved = s->next[at] - s->now[at], x = moved - h * s->rate[i], y = s->next[at] - rest;
    t->own_dof = i;
    t->next = s->next[at];
    t->coef = &one;
    t->value = 0.5 * (d->armature * x * x / (h * h) + d->damping * moved * moved / h +
                      d->stiffness * y * y) -
               f * s->next[at];
    t->slope = d->armature * x / (h * h) + d->damping * moved / h + d->stiffness * y - f;
    t->bend = d->armature / (h * h) + d->damping / h + d->stiffness;
    t->slope_now = -d->armature / (h * h) - d->damping / h;
    t->slope_rate = -d->armature / h;
    t->u = s->mech->n_actuator + i;
    t->slope_u = -1.0;
    // stiffness, damping, armature, rest position
    t->n_param = is_free ? 3 : 4;
    t->param = &d->stiffness - s->d->gravity;
    t->slope_param[0] = y;
    t->slope_param[1] = moved / h;
    t->slope_param[2] = x / (h * h);
    t->slope_param[3] = -d->stiffness;
}

// the combination of a tendon, or of one joint: its value next and now; dofs by joint
static void combine(const cri_joint_step *s, const cri_tendon *c, double *next, double *now) {
    *next = *now = 0.0;
    for (int i = 0; i < c->n; i++) {
        int q = s->mech->joint[c->joint[i]].q;
        *next += c->coef[i] * s->next[q];
        *now += c->coef[i] * s->now[q];
    }
}

static void tendon_term(const cri_joint_step *s, int i, cri_joint_term *t) {
    const cri_tendon *c = &s->mech->tendon[i];
    const cri_tendon_derived *d = &s->d->tendon[i];
    double next, now, h = s->h;
    combine(s, c, &next, &now);
    double moved = next - now, y = next - d->springlength;
    t->n = -c->n;
    t->dof = c->joint;
    t->coef = c->coef;
    t->next = next;
    t->value = 0.5 * (d->damping * moved * moved / h + d->stiffness * y * y);
    t->slope = d->damping * moved / h + d->stiffness * y;
    t->bend = d->damping / h + d->stiffness;
    t->slope_now = -d->damping / h;
    t->n_param = 3;
    t->param = &d->stiffness - s->d->gravity;
    t->slope_param[0] = y;
    t->slope_param[1] = moved / h;
    t->slope_param[2] = -d->stiffness;
}

static double limited(double x, const double *range, bool *is_free) {
    *is_free = x >= range[0] && x <= range[1];
    return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

static void drive_term(const cri_joint_step *s, int i, cri_joint_term *t) {
    const cri_actuator *act = &s->mech->actuator[i];
    const cri_actuator_derived *d = &s->d->actuator[i];
    cri_tendon c =
        act->joint >= 0 ? (cri_tendon){1, &act->joint, &one} : s->mech->tendon[act->tendon];
    double next, now, h = s->h, gear = d->gear[0];
    bool is_control_free, is_free;
    combine(s, &c, &next, &now);
    double control = limited(s->u[i], act->ctrl, &is_control_free);
    double rise = d->bias[1] + d->bias[2] / h; // of the force with the length next
    double rate = gear * (next - now) / h;
    double wanted = d->gain * control + d->bias[0] + d->bias[1] * gear * next + d->bias[2] * rate;
    double force = limited(wanted, act->force, &is_free);
    t->n = -c.n;
    t->dof = c.joint;
    t->coef = c.coef;
    t->next = next;
    // minus the work since the force would have been zero, or since length zero
    t->value = rise != 0.0 ? -(0.5 * force * force + force * (wanted - force)) / rise
                           : -force * gear * next;
    t->slope = -gear * force;
    t->bend = is_free ? -gear * gear * rise : 0.0;
    t->slope_now = is_free ? gear * gear * d->bias[2] / h : 0.0;
    t->u = i;
    t->slope_u = is_free && is_control_free ? -gear * d->gain : 0.0;
    // gain, bias, gear
    t->n_param = 5;
    t->param = &d->gain - s->d->gravity;
    double free_gear = is_free ? gear : 0.0;
    t->slope_param[0] = -free_gear * control;
    t->slope_param[1] = -free_gear;
    t->slope_param[2] = -free_gear * gear * next;
    t->slope_param[3] = -free_gear * rate;
    t->slope_param[4] = -force - free_gear * (d->bias[1] * next + d->bias[2] * (next - now) / h);
}

int cri_joint_n_term(const cri_mechanism *mech) {
    return mech->n_v + mech->n_actuator + mech->n_tendon;
}

void cri_joint_term_at(const cri_joint_step *s, int i, cri_joint_term *t) {
    const cri_mechanism *mech = s->mech;
    memset(t, 0, sizeof *t);
    t->u = -1;
    if (i < mech->n_v) {
        dof_term(s, i, t);
    } else if (i < mech->n_v + mech->n_actuator) {
        drive_term(s, i - mech->n_v, t);
    } else {
        tendon_term(s, i - mech->n_v - mech->n_actuator, t);
    }
}

// dof number k of a term, whose joints stand in for dofs when n is negative
static int dof_of(const cri_joint_step *s, const cri_joint_term *t, int k) {
    if (t->n < 0) {
        return s->mech->joint[t->dof[k]].v;
    }
    return t->dof ? t->dof[k] : t->own_dof;
}

static int count_of(const cri_joint_term *t) {
    return t->n < 0 ? -t->n : t->n;
}

// ---- turns -------------------------------------------------------------------------------------

static cri_vec3 column(int k) {
    return cri_v3(k == 0, k == 1, k == 2);
}

static void store_column(cri_vec3 a, int k, double M[9]) {
    M[k] = a.x;
    M[3 + k] = a.y;
    M[6 + k] = a.z;
}

static cri_quat conjugate(const double *q) {
    return (cri_quat){q[0], -q[1], -q[2], -q[3]};
}

/// The turn t of a joint since now, and e, the gradient in t.
typedef struct turn {
    cri_vec3 t, e, slip; // slip = t - h r
    double stiff;        // of e in t
} turn;

static turn turn_of(const cri_joint_step *s, const cri_joint_derived *d, int at, int dof) {
    double h = s->h;
    turn r;
    r.t = cri_quat_log(cri_quat_mul(conjugate(s->now + at), cri_q4_load(s->next + at)));
    r.slip = cri_v3_mad(r.t, -h, cri_v3_load(s->rate + dof));
    r.stiff = d->armature / (h * h) + d->damping / h;
    r.e = cri_v3_scale(d->armature / (h * h), r.slip);
    r.e = cri_v3_mad(r.e, d->damping / h, r.t);
    r.e = cri_v3_sub(r.e, cri_v3_load(s->u + s->mech->n_actuator + dof));
    return r;
}

// second derivatives, and those for the turn now
static void turn_bends(const turn *r, cri_turn_term *out) {
    cri_vec3 back = cri_v3_scale(-1.0, r->t);
    double M[9], by_next[9];
    for (int k = 0; k < 3; k++) {
        // d(Jr(t)^-T e): Jr(t)^-T a = Jr(-t)^-1 a
        cri_vec3 a = cri_v3_scale(r->stiff, cri_so3_right_inverse(back, column(k)));
        cri_vec3 b = cri_so3_right_inverse_bend(back, r->e, cri_v3_scale(-1.0, column(k)));
        store_column(cri_v3_add(a, b), k, M);
    }
    const cri_mat3 bend = {{M[0], M[1], M[2], M[3], M[4], M[5], M[6], M[7], M[8]}};
    for (int k = 0; k < 3; k++) {
        store_column(cri_m3_mul(&bend, cri_so3_right_inverse(r->t, column(k))), k, by_next);
        cri_vec3 now = cri_m3_mul(&bend, cri_so3_right_inverse(back, column(k)));
        store_column(cri_v3_scale(-1.0, now), k, out->now);
    }
    for (int k = 0; k < 9; k++) {
        out->H[k] += 0.5 * (by_next[k] + by_next[3 * (k % 3) + k / 3]);
    }
}

static void turn_spring(const cri_joint *j, double k, const double *next, cri_turn_term *out) {
    cri_quat rest = {j->q_spring.w, -j->q_spring.x, -j->q_spring.y, -j->q_spring.z};
    cri_vec3 t = cri_quat_log(cri_quat_mul(rest, cri_q4_load(next)));
    double H[9];
    out->value += 0.5 * k * cri_v3_dot(t, t);
    cri_v3_accumulate(cri_v3_scale(k, t), out->g);
    cri_v3_store(t, out->of_param[0]);
    for (int i = 0; i < 3; i++) {
        store_column(cri_so3_right_inverse(t, column(i)), i, H);
    }
    for (int i = 0; i < 9; i++) {
        out->H[i] += 0.5 * k * (H[i] + H[3 * (i % 3) + i / 3]);
    }
}

bool cri_turn_term_at(const cri_joint_step *s, int joint, cri_turn_term *out) {
    const cri_joint *j = &s->mech->joint[joint];
    const cri_joint_derived *d = &s->d->joint[joint];
    if (j->n_q < 4) {
        return false;
    }
    int skip = j->kind == CRI_JOINT_FREE ? 3 : 0, dof = j->v + skip, at = j->q + skip;
    memset(out, 0, sizeof *out);
    out->dof = dof;
    out->first_u = s->mech->n_actuator + dof;
    out->param = &d->stiffness - s->d->gravity;
    turn r = turn_of(s, d, at, dof);
    cri_vec3 back = cri_v3_scale(-1.0, r.t), f = cri_v3_load(s->u + out->first_u);
    out->value = 0.5 * d->armature * cri_v3_dot(r.slip, r.slip) / (s->h * s->h) +
                 0.5 * d->damping * cri_v3_dot(r.t, r.t) / s->h - cri_v3_dot(f, r.t);
    cri_v3_store(cri_so3_right_inverse(back, r.e), out->g);
    cri_v3_store(cri_v3_scale(1.0 / s->h, r.t), out->of_param[1]);
    cri_v3_store(cri_v3_scale(1.0 / (s->h * s->h), cri_so3_right_inverse(back, r.slip)),
                 out->of_param[2]);
    for (int k = 0; k < 3; k++) {
        cri_vec3 a = cri_so3_right_inverse(back, column(k));
        store_column(cri_v3_scale(-d->armature / s->h, a), k, out->rate);
        store_column(cri_v3_scale(-1.0, a), k, out->u);
    }
    turn_bends(&r, out);
    turn_spring(j, d->stiffness, s->next + at, out);
    return true;
}

// ---- sums --------------------------------------------------------------------------------------

cr_status cri_joint_energy_check(const cri_mechanism *mech, cr_error *err) {
    if (mech->n_equality > 0) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "the implicit step has no <equality>; remove it, or choose a law of "
                        "impulses");
    }
    for (int i = 0; i < mech->n_actuator; i++) {
        if (mech->actuator[i].kind != CRI_DRIVE_DOFS) {
            return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                            "the implicit step drives hinges, slides and tendons alone; actuator "
                            "%d acts on a site, a ball or a free joint: use forces on dofs",
                            i);
        }
    }
    return CR_OK;
}

static void add_term(const cri_joint_step *s, const cri_joint_term *t, double *g, double *H) {
    size_t n_v = (size_t)s->mech->n_v;
    for (int i = 0; i < count_of(t); i++) {
        int a = dof_of(s, t, i);
        g[a] += t->coef[i] * t->slope;
        for (int k = 0; H && k < count_of(t); k++) {
            H[(size_t)a * n_v + (size_t)dof_of(s, t, k)] += t->coef[i] * t->coef[k] * t->bend;
        }
    }
}

void cri_joint_term_add(const cri_joint_term *t, int n_v, double *g, double *H) {
    CR_ASSERT(t->n >= 0);
    const cri_joint_step s = {.mech = &(cri_mechanism){.n_v = n_v}};
    add_term(&s, t, g, H);
}

double cri_joint_energy(const cri_joint_step *s, double *g, double *H, double *size) {
    size_t n_v = (size_t)s->mech->n_v;
    double sum = 0.0;
    cri_joint_term t;
    for (int i = 0; i < cri_joint_n_term(s->mech); i++) {
        cri_joint_term_at(s, i, &t);
        sum += t.value;
        // c' is rounded before a rest position or a control is taken from it
        *size += fabs(t.value) + fabs(t.slope * t.next);
        add_term(s, &t, g, H);
    }
    cri_turn_term r;
    for (int j = 0; j < s->mech->n_joint; j++) {
        if (!cri_turn_term_at(s, j, &r)) {
            continue;
        }
        sum += r.value;
        *size += fabs(r.value);
        for (int i = 0; i < 3; i++) {
            g[r.dof + i] += r.g[i];
            for (int k = 0; H && k < 3; k++) {
                H[(size_t)(r.dof + i) * n_v + (size_t)(r.dof + k)] += r.H[3 * i + k];
            }
        }
    }
    return sum;
}

// y += M' a
static void add_back(const double M[9], const double *a, double *y) {
    for (int k = 0; k < 9; k++) {
        y[k % 3] += M[k] * a[k / 3];
    }
}

void cri_joint_energy_vjp(const cri_joint_step *s, const double *l, double *q_adj, double *v_adj,
                          double *u_adj, const cri_mech_derived *d_adj) {
    cri_joint_term t;
    for (int i = 0; i < cri_joint_n_term(s->mech); i++) {
        cri_joint_term_at(s, i, &t);
        double along = 0.0;
        for (int k = 0; k < count_of(&t); k++) {
            along += t.coef[k] * l[dof_of(s, &t, k)];
        }
        for (int k = 0; k < count_of(&t); k++) {
            q_adj[dof_of(s, &t, k)] += along * t.slope_now * t.coef[k];
            v_adj[dof_of(s, &t, k)] += along * t.slope_rate * t.coef[k];
        }
        if (t.u >= 0) {
            u_adj[t.u] += along * t.slope_u;
        }
        for (int k = 0; k < t.n_param; k++) {
            d_adj->gravity[t.param + k] += along * t.slope_param[k];
        }
    }
    cri_turn_term r;
    for (int j = 0; j < s->mech->n_joint; j++) {
        if (!cri_turn_term_at(s, j, &r)) {
            continue;
        }
        const double *a = l + r.dof;
        add_back(r.now, a, q_adj + r.dof);
        add_back(r.rate, a, v_adj + r.dof);
        add_back(r.u, a, u_adj + r.first_u);
        for (int k = 0; k < 3; k++) {
            d_adj->gravity[r.param + k] += cri_v3_dot(cri_v3_load(r.of_param[k]), cri_v3_load(a));
        }
    }
}

// y += M a
static void add_forth(const double M[9], const double *a, double *y) {
    for (int k = 0; k < 9; k++) {
        y[k / 3] += M[k] * a[k % 3];
    }
}

void cri_joint_energy_jvp(const cri_joint_step *s, const cri_joint_tan *tan, double *g_tan) {
    cri_joint_term t;
    for (int i = 0; i < cri_joint_n_term(s->mech); i++) {
        cri_joint_term_at(s, i, &t);
        double slope = t.u >= 0 ? t.slope_u * tan->u[t.u] : 0.0;
        for (int k = 0; k < count_of(&t); k++) {
            int dof = dof_of(s, &t, k);
            slope += t.coef[k] * (t.slope_now * tan->q[dof] + t.slope_rate * tan->v[dof]);
        }
        for (int k = 0; tan->d && k < t.n_param; k++) {
            slope += t.slope_param[k] * tan->d->gravity[t.param + k];
        }
        for (int k = 0; k < count_of(&t); k++) {
            g_tan[dof_of(s, &t, k)] += slope * t.coef[k];
        }
    }
    cri_turn_term r;
    for (int j = 0; j < s->mech->n_joint; j++) {
        if (!cri_turn_term_at(s, j, &r)) {
            continue;
        }
        add_forth(r.now, tan->q + r.dof, g_tan + r.dof);
        add_forth(r.rate, tan->v + r.dof, g_tan + r.dof);
        add_forth(r.u, tan->u + r.first_u, g_tan + r.dof);
        for (int k = 0; tan->d && k < 3; k++) {
            double p = tan->d->gravity[r.param + k];
            cri_v3_accumulate(cri_v3_scale(p, cri_v3_load(r.of_param[k])), g_tan + r.dof);
        }
    }
}
