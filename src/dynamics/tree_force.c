// SPDX-License-Identifier: MIT
//
// Forces on the dofs of a unit: springs, damping, tendons, actuators, generalised forces.
//
//   spring     -k (q - springref);  free: -k (x - x_spring);  rotations: -k t, t = log(q_spring* q)
//   damping    -d v on every dof
//   tendon     -k (l - springlength) - d l', along its coefficients
//   actuator   f = gain u + b0 + b1 l + b2 l' within its limits, u within its own
//     dofs     l = gear sum coef q, and gear f coef on the dofs
//     ball     gear_i f on the dofs of a joint, l = 0
//     site     f R_ref (gear[0:3], gear[3:6]), a wrench at the site, l = 0
//   spin       w x J w on the spin w of a free body, where the mechanism omits the gyroscopic term
//              of the recursion; J about the centre of mass, w and J in the body's frame
//
// Rotations turn back the short way. Their tangent is t_tan = Jr(t)^-1 xi, with
//   Jr(t)^-1 a = a + t x a/2 + s t x (t x a),   s = (1 - s1/(2 s2))/|t|^2
// where s1, s2 are those of cri_so3. Singular at half a turn. At a limit the side inside counts.

#include "dynamics/tree.h"

/// A site and what its wrench acts between.
typedef struct grip {
    int node[2];    // of the site and of its reference, 0: none
    int frame_node; // on which R rides
    cri_vec3 x[2];  // points, from O
    cri_vec3 g1;    // R gear, force and torque for f = 1
    cri_vec3 g2;
    cri_mat3 R;
} grip;

/// Numbers of a joint in a tree.
typedef struct joint_view {
    const cri_joint *joint;
    const cri_joint_derived *d;
    const double *q; // its own
    int first;       // dof
    int turn;        // dof of its rotation vector, -1: none
} joint_view;

// dof of the free body's spin
enum { SPIN = 3 };

// ---- actuators ----------------------------------------------------------------------------------

// Actuators of a unit. Formulas: tree_force.c.
//
// A site's force f1 = f R g1 and torque f2 = f R g2, gear g = (g1, g2), act at its point x; if
// there is a reference site, they act at its point y the other way. For motions L
//
//   power    f1 . p + f2 . s,   p = at(L_x, x) - at(L_y, y),   s = w_x - w_y
//   x_adj    f1 x w_x         y_adj   -f1 x w_y         turn of R   f1 x p + f2 x s
//
// where x and y ride on their bodies and R on the reference's, or the site's own without one. As in
// MuJoCo 2.2.2: ancestors of both feel the couple (x - y) x f1.

// limited to [range[0], range[1]]
static double limit(double x, const double *range, bool *is_free) {
    *is_free = x >= range[0] && x <= range[1];
    return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

static cri_tree_drive tree_drive_of(const cri_tree *tree, int actuator, const double *v,
                                    const double *u) {
    CR_ASSERT(actuator >= 0 && actuator < tree->mech->n_actuator);
    const cri_actuator *act = tree->mech->actuator + actuator;
    const cri_actuator_derived *d = tree->d->actuator + actuator;
    cri_tree_drive drive = {0};
    drive.control = limit(u[actuator], act->ctrl, &drive.is_control_free);
    double force = d->gain * drive.control + d->bias[0];
    if (act->kind == CRI_DRIVE_DOFS) {
        cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
        drive.length = cri_tree_length(tree, &c);
        drive.rate = cri_tree_rate(tree, &c, v);
        force += d->gear[0] * (d->bias[1] * drive.length + d->bias[2] * drive.rate);
    }
    drive.force = limit(force, act->force, &drive.is_force_free);
    return drive;
}

bool cri_tree_drive_damping(const cri_tree *tree, int i, double *c, int *dof) {
    const cri_tree_plan *plan = tree->plan;
    const cri_actuator *act = tree->mech->actuator + plan->actuator[i];
    const cri_actuator_derived *d = tree->d->actuator + plan->actuator[i];
    *c = 0.0;
    *dof = 0;
    bool is_simple = act->kind == CRI_DRIVE_DOFS && act->joint >= 0;
    if (!tree->mech->has_implicit_drives || !is_simple || !tree->drive[i].is_force_free) {
        return false;
    }
    *dof = tree->mech->joint[act->joint].v - tree->unit->first_v;
    *c = -d->gear[0] * d->gear[0] * d->bias[2];
    // feedback that speeds up stays explicit where it would outweigh half the inertia
    bool is_kept = tree->h * *c > -0.5 * tree->M[plan->row[*dof + 1] - 1];
    *c = is_kept ? *c : 0.0;
    return is_kept;
}

static grip grip_of(const cri_tree *tree, int actuator) {
    const cri_actuator *act = tree->mech->actuator + actuator;
    const double *gear = tree->d->actuator[actuator].gear;
    bool has_reference = act->ref_site >= 0;
    const cri_site *site[2] = {tree->mech->site + act->site,
                               tree->mech->site + (has_reference ? act->ref_site : act->site)};
    grip g = {0};
    for (int i = 0; i < 2; i++) {
        cri_pose pose = cri_tree_any_pose(tree, site[i]->body);
        cri_vec3 point = cri_v3_add(pose.pos, cri_m3_mul(&pose.R, site[i]->pos));
        cri_mat3 turn = cri_quat_rotation(site[i]->quat);
        g.node[i] = cri_tree_node_of(tree, site[i]->body);
        g.x[i] = cri_v3_sub(point, tree->origin);
        g.R = cri_m3_product(&pose.R, &turn);
    }
    g.frame_node = g.node[1];
    g.node[1] = has_reference ? g.node[1] : 0;
    g.g1 = cri_m3_mul(&g.R, cri_v3_load(gear));
    g.g2 = cri_m3_mul(&g.R, cri_v3_load(gear + 3));
    return g;
}

// F -= the wrenches of force f1 and torque f2
static void grip_apply(const grip *g, cri_vec3 f1, cri_vec3 f2, cri_spatial *F) {
    for (int i = 0; i < 2; i++) {
        cri_spatial w = cri_sp_wrench(g->x[i], f1);
        w.w = cri_v3_add(w.w, f2);
        F[g->node[i]] = cri_sp_mad(F[g->node[i]], i == 0 ? -1.0 : 1.0, w);
    }
}

static void tree_drive_apply(const cri_tree *tree, int actuator, double force, double *tau,
                             cri_spatial *F) {
    const cri_actuator *act = tree->mech->actuator + actuator;
    const double *gear = tree->d->actuator[actuator].gear;
    if (act->kind == CRI_DRIVE_SITE) {
        grip g = grip_of(tree, actuator);
        grip_apply(&g, cri_v3_scale(force, g.g1), cri_v3_scale(force, g.g2), F);
    } else if (act->kind == CRI_DRIVE_BALL) {
        const cri_joint *joint = tree->mech->joint + act->joint;
        for (int i = 0; i < joint->n_v; i++) {
            tau[joint->v - tree->unit->first_v + i] += gear[i] * force;
        }
    } else {
        cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
        cri_tree_add_along(tree, &c, gear[0] * force, tau);
    }
}

// ---- adjoint -----------------------------------------------------------------------------------

// of a wrench f at a site: returns f_adj, adds to Y_adj and gear_adj
static double grip_vjp_part(const grip *g, double f, const cri_spatial *L, cri_spatial *Y_adj,
                            double *gear_adj) {
    cri_vec3 f1 = cri_v3_scale(f, g->g1), f2 = cri_v3_scale(f, g->g2);
    cri_vec3 p = cri_v3_sub(cri_sp_at(L[g->node[0]], g->x[0]), cri_sp_at(L[g->node[1]], g->x[1]));
    cri_vec3 s = cri_v3_sub(L[g->node[0]].w, L[g->node[1]].w);
    for (int i = 0; i < 2; i++) {
        int n = g->node[i];
        cri_vec3 x_adj = cri_v3_cross(f1, L[n].w);
        Y_adj[n] = cri_sp_mad(Y_adj[n], i == 0 ? 1.0 : -1.0, cri_sp_wrench(g->x[i], x_adj));
    }
    cri_vec3 turn = cri_v3_add(cri_v3_cross(f1, p), cri_v3_cross(f2, s));
    Y_adj[g->frame_node].w = cri_v3_add(Y_adj[g->frame_node].w, turn);
    if (gear_adj) {
        cri_v3_accumulate(cri_v3_scale(f, cri_m3_tmul(&g->R, p)), gear_adj);
        cri_v3_accumulate(cri_v3_scale(f, cri_m3_tmul(&g->R, s)), gear_adj + 3);
    }
    return cri_v3_dot(p, g->g1) + cri_v3_dot(s, g->g2);
}

// f_adj of what the force f does to the dofs; adds to gear_adj unless NULL
static double apply_vjp_part(const cri_tree *tree, int actuator, double f, const double *lambda,
                             const cri_spatial *L, cri_spatial *Y_adj, double *gear_adj) {
    const cri_actuator *act = tree->mech->actuator + actuator;
    const double *gear = tree->d->actuator[actuator].gear;
    if (act->kind == CRI_DRIVE_SITE) {
        grip g = grip_of(tree, actuator);
        return grip_vjp_part(&g, f, L, Y_adj, gear_adj);
    }
    if (act->kind == CRI_DRIVE_DOFS) {
        cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
        double along = cri_tree_rate(tree, &c, lambda);
        if (gear_adj) {
            gear_adj[0] += f * along;
        }
        return gear[0] * along;
    }
    const cri_joint *joint = tree->mech->joint + act->joint;
    double f_adj = 0.0;
    for (int i = 0; i < joint->n_v; i++) {
        double l = lambda[joint->v - tree->unit->first_v + i];
        f_adj += gear[i] * l;
        if (gear_adj) {
            gear_adj[i] += f * l;
        }
    }
    return f_adj;
}

static void tree_drive_vjp_part(const cri_tree *tree, int i, const double *lambda,
                                const cri_spatial *L, const cri_tree_force_adj *adj) {
    int actuator = tree->plan->actuator[i];
    const cri_actuator *act = tree->mech->actuator + actuator;
    const cri_actuator_derived *d = tree->d->actuator + actuator;
    cri_actuator_derived *d_adj = adj->d ? adj->d->actuator + actuator : NULL;
    const cri_tree_drive *drive = tree->drive + i;
    double f_adj =
        apply_vjp_part(tree, actuator, drive->force, lambda, L, adj->Y, d_adj ? d_adj->gear : NULL);
    if (!drive->is_force_free) {
        return;
    }
    // f = gain u + b0 + gear (b1 length + b2 rate)
    if (adj->u && drive->is_control_free) {
        adj->u[actuator] += d->gain * f_adj;
    }
    if (d_adj) {
        d_adj->gain += f_adj * drive->control;
        d_adj->bias[0] += f_adj;
    }
    if (act->kind != CRI_DRIVE_DOFS) {
        return;
    }
    cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
    cri_tree_add_along(tree, &c, f_adj * d->gear[0] * d->bias[1], adj->q);
    cri_tree_add_along(tree, &c, f_adj * d->gear[0] * d->bias[2], adj->v);
    if (d_adj) {
        d_adj->gear[0] += f_adj * (d->bias[1] * drive->length + d->bias[2] * drive->rate);
        d_adj->bias[1] += f_adj * d->gear[0] * drive->length;
        d_adj->bias[2] += f_adj * d->gear[0] * drive->rate;
    }
}

// ---- tangent -----------------------------------------------------------------------------------

// f_tan of the force of actuator i
static double force_jvp_part(const cri_tree *tree, int i, const cri_accel_tan *tan,
                             const cri_actuator_derived *dd) {
    int actuator = tree->plan->actuator[i];
    const cri_actuator *act = tree->mech->actuator + actuator;
    const cri_actuator_derived *d = tree->d->actuator + actuator;
    const cri_tree_drive *drive = tree->drive + i;
    if (!drive->is_force_free) {
        return 0.0;
    }
    double f_tan = dd->gain * drive->control + dd->bias[0];
    if (drive->is_control_free) {
        f_tan += d->gain * tan->u[actuator];
    }
    if (act->kind != CRI_DRIVE_DOFS) {
        return f_tan;
    }
    cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
    double length_tan = cri_tree_rate(tree, &c, tan->q);
    double rate_tan = cri_tree_rate(tree, &c, tan->v);
    f_tan += d->gear[0] * (d->bias[1] * length_tan + d->bias[2] * rate_tan);
    f_tan += d->gear[0] * (dd->bias[1] * drive->length + dd->bias[2] * drive->rate);
    return f_tan + dd->gear[0] * (d->bias[1] * drive->length + d->bias[2] * drive->rate);
}

// dF -= change of the wrenches
static void grip_jvp_part(const grip *g, double f, double f_tan, const double *gear_tan,
                          const cri_spatial *Y, cri_spatial *dF) {
    cri_vec3 turn = Y[g->frame_node].w;
    cri_vec3 f1 = cri_v3_scale(f, g->g1), f2 = cri_v3_scale(f, g->g2);
    cri_vec3 d1 = cri_v3_mad(cri_v3_cross(turn, f1), f_tan, g->g1);
    cri_vec3 d2 = cri_v3_mad(cri_v3_cross(turn, f2), f_tan, g->g2);
    d1 = cri_v3_mad(d1, f, cri_m3_mul(&g->R, cri_v3_load(gear_tan)));
    d2 = cri_v3_mad(d2, f, cri_m3_mul(&g->R, cri_v3_load(gear_tan + 3)));
    grip_apply(g, d1, d2, dF);

    // the points move
    for (int i = 0; i < 2; i++) {
        int n = g->node[i];
        cri_vec3 moment = cri_v3_cross(cri_sp_at(Y[n], g->x[i]), f1);
        dF[n].w = cri_v3_mad(dF[n].w, i == 0 ? -1.0 : 1.0, moment);
    }
}

static void tree_drive_jvp_part(const cri_tree *tree, int i, const cri_accel_tan *tan,
                                const cri_tree_tan *turn, double *tau_tan, cri_spatial *dF) {
    static const cri_actuator_derived zero = {0};
    int actuator = tree->plan->actuator[i];
    const cri_actuator *act = tree->mech->actuator + actuator;
    const double *gear = tree->d->actuator[actuator].gear;
    const cri_actuator_derived *dd = tan->d ? tan->d->actuator + actuator : &zero;
    double f = tree->drive[i].force, f_tan = force_jvp_part(tree, i, tan, dd);
    if (act->kind == CRI_DRIVE_SITE) {
        grip g = grip_of(tree, actuator);
        grip_jvp_part(&g, f, f_tan, dd->gear, turn->Y, dF);
    } else if (act->kind == CRI_DRIVE_BALL) {
        const cri_joint *joint = tree->mech->joint + act->joint;
        for (int k = 0; k < joint->n_v; k++) {
            tau_tan[joint->v - tree->unit->first_v + k] += gear[k] * f_tan + dd->gear[k] * f;
        }
    } else {
        cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
        cri_tree_add_along(tree, &c, gear[0] * f_tan + dd->gear[0] * f, tau_tan);
    }
}

// ---- springs, dampers, gravity ------------------------------------------------------------------

// ---- combinations of hinges and slides ---------------------------------------------------------

cri_tendon cri_tree_combination(const cri_mechanism *mech, const int *joint, int tendon) {
    static const double one = 1.0;
    return *joint >= 0 ? (cri_tendon){1, joint, &one} : mech->tendon[tendon];
}

double cri_tree_length(const cri_tree *tree, const cri_tendon *c) {
    double sum = 0.0;
    for (int i = 0; i < c->n; i++) {
        sum += c->coef[i] * tree->q[tree->mech->joint[c->joint[i]].q - tree->unit->first_q];
    }
    return sum;
}

double cri_tree_rate(const cri_tree *tree, const cri_tendon *c, const double *v) {
    double sum = 0.0;
    for (int i = 0; i < c->n; i++) {
        sum += c->coef[i] * v[tree->mech->joint[c->joint[i]].v - tree->unit->first_v];
    }
    return sum;
}

void cri_tree_add_along(const cri_tree *tree, const cri_tendon *c, double s, double *g) {
    for (int i = 0; i < c->n; i++) {
        g[tree->mech->joint[c->joint[i]].v - tree->unit->first_v] += s * c->coef[i];
    }
}

// ---- springs and damping -----------------------------------------------------------------------

// rotation vector from the spring's orientation to q, the short way
static cri_vec3 spring_turn(cri_quat rest, cri_quat q) {
    return cri_quat_log(cri_quat_mul((cri_quat){rest.w, -rest.x, -rest.y, -rest.z}, q));
}

static joint_view view_joint(const cri_tree *tree, int node) {
    int j = tree->unit->first_joint + node - 1;
    const cri_joint *joint = tree->mech->joint + j;
    int first = joint->v - tree->unit->first_v;
    int turn = joint->kind == CRI_JOINT_FREE   ? first + 3
               : joint->kind == CRI_JOINT_BALL ? first
                                               : -1;
    return (joint_view){joint, tree->d->joint + j, tree->q + joint->q - tree->unit->first_q, first,
                        turn};
}

static cri_vec3 joint_turn(const joint_view *view) {
    int at = view->joint->kind == CRI_JOINT_FREE ? 3 : 0;
    return spring_turn(view->joint->q_spring, cri_q4_load(view->q + at));
}

static cri_vec3 joint_shift(const joint_view *view) {
    return cri_v3_sub(cri_v3_load(view->q), view->joint->x_spring);
}

static void joint_forces(const joint_view *view, const double *v, double *tau) {
    const cri_joint_derived *d = view->d;
    int first = view->first;
    for (int i = first; i < first + view->joint->n_v; i++) {
        tau[i] -= d->damping * v[i];
    }
    if (view->turn < 0) {
        tau[first] -= d->stiffness * (view->q[0] - d->springref);
        return;
    }
    if (d->stiffness == 0.0) {
        return;
    }
    cri_v3_accumulate(cri_v3_scale(-d->stiffness, joint_turn(view)), tau + view->turn);
    if (view->joint->kind == CRI_JOINT_FREE) {
        cri_v3_accumulate(cri_v3_scale(-d->stiffness, joint_shift(view)), tau + first);
    }
}

static void joint_forces_vjp(const joint_view *view, const double *v, const double *lambda,
                             double *q_adj, double *v_adj, cri_joint_derived *d_adj) {
    const cri_joint_derived *d = view->d;
    int first = view->first;
    double damping_adj = 0.0, stiffness_adj = 0.0, springref_adj = 0.0;
    for (int i = first; i < first + view->joint->n_v; i++) {
        v_adj[i] -= d->damping * lambda[i];
        damping_adj -= lambda[i] * v[i];
    }
    if (view->turn < 0) {
        q_adj[first] -= d->stiffness * lambda[first];
        springref_adj = d->stiffness * lambda[first];
        stiffness_adj = -lambda[first] * (view->q[0] - d->springref);
    } else if (d->stiffness != 0.0 || d_adj) {
        cri_vec3 t = joint_turn(view), l = cri_v3_load(lambda + view->turn);
        stiffness_adj = -cri_v3_dot(l, t);
        cri_vec3 back = cri_so3_right_inverse(cri_v3_scale(-1.0, t), l);
        cri_v3_accumulate(cri_v3_scale(-d->stiffness, back), q_adj + view->turn);
    }
    if (view->joint->kind == CRI_JOINT_FREE) {
        cri_vec3 l = cri_v3_load(lambda + first);
        stiffness_adj -= cri_v3_dot(l, joint_shift(view));
        cri_v3_accumulate(cri_v3_scale(-d->stiffness, l), q_adj + first);
    }
    if (d_adj) {
        d_adj->damping += damping_adj;
        d_adj->stiffness += stiffness_adj;
        d_adj->springref += springref_adj;
    }
}

static void joint_forces_jvp(const joint_view *view, const double *v, const double *q_tan,
                             const double *v_tan, const cri_joint_derived *d_tan, double *tau_tan) {
    static const cri_joint_derived zero = {0};
    const cri_joint_derived *d = view->d, *dd = d_tan ? d_tan : &zero;
    int first = view->first;
    for (int i = first; i < first + view->joint->n_v; i++) {
        tau_tan[i] -= d->damping * v_tan[i] + dd->damping * v[i];
    }
    if (view->turn < 0) {
        tau_tan[first] -= d->stiffness * (q_tan[first] - dd->springref) +
                          dd->stiffness * (view->q[0] - d->springref);
        return;
    }
    if (d->stiffness == 0.0 && dd->stiffness == 0.0) {
        return;
    }
    cri_vec3 t = joint_turn(view),
             t_tan = cri_so3_right_inverse(t, cri_v3_load(q_tan + view->turn));
    cri_v3_accumulate(cri_v3_scale(-d->stiffness, t_tan), tau_tan + view->turn);
    cri_v3_accumulate(cri_v3_scale(-dd->stiffness, t), tau_tan + view->turn);
    if (view->joint->kind == CRI_JOINT_FREE) {
        cri_v3_accumulate(cri_v3_scale(-d->stiffness, cri_v3_load(q_tan + first)), tau_tan + first);
        cri_v3_accumulate(cri_v3_scale(-dd->stiffness, joint_shift(view)), tau_tan + first);
    }
}

// ---- tendons -----------------------------------------------------------------------------------

static void tendon_force(const cri_tree *tree, int i, const double *v, double *tau) {
    const cri_tendon *t = tree->mech->tendon + i;
    const cri_tendon_derived *d = tree->d->tendon + i;
    double stretch = cri_tree_length(tree, t) - d->springlength;
    double force = -d->stiffness * stretch - d->damping * cri_tree_rate(tree, t, v);
    cri_tree_add_along(tree, t, force, tau);
}

static void tendon_force_vjp(const cri_tree *tree, int i, const double *v, const double *lambda,
                             const cri_tree_force_adj *adj) {
    const cri_tendon *t = tree->mech->tendon + i;
    const cri_tendon_derived *d = tree->d->tendon + i;
    double force_adj = cri_tree_rate(tree, t, lambda);
    cri_tree_add_along(tree, t, -d->stiffness * force_adj, adj->q);
    cri_tree_add_along(tree, t, -d->damping * force_adj, adj->v);
    if (adj->d) {
        cri_tendon_derived *d_adj = adj->d->tendon + i;
        d_adj->stiffness -= force_adj * (cri_tree_length(tree, t) - d->springlength);
        d_adj->springlength += force_adj * d->stiffness;
        d_adj->damping -= force_adj * cri_tree_rate(tree, t, v);
    }
}

static void tendon_force_jvp(const cri_tree *tree, int i, const double *v, const double *q_tan,
                             const double *v_tan, const cri_tendon_derived *d_tan,
                             double *tau_tan) {
    static const cri_tendon_derived zero = {0};
    const cri_tendon *t = tree->mech->tendon + i;
    const cri_tendon_derived *d = tree->d->tendon + i, *dd = d_tan ? d_tan : &zero;
    double stretch = cri_tree_length(tree, t) - d->springlength;
    double force_tan = -d->stiffness * (cri_tree_rate(tree, t, q_tan) - dd->springlength) -
                       dd->stiffness * stretch - d->damping * cri_tree_rate(tree, t, v_tan) -
                       dd->damping * cri_tree_rate(tree, t, v);
    cri_tree_add_along(tree, t, force_tan, tau_tan);
}

// ---- what takes the gyroscopic term away -------------------------------------------------------

static const cri_link_derived *spin_link(const cri_tree *tree) {
    CR_ASSERT(tree->plan->n_v == SPIN + 3 && tree->unit->n_body == 1);
    return tree->d->link + tree->unit->first_body;
}

// J x, with J six numbers
static cri_vec3 tensor_apply(const double *J, cri_vec3 x) {
    return cri_v3(J[0] * x.x + J[3] * x.y + J[4] * x.z, J[3] * x.x + J[1] * x.y + J[5] * x.z,
                  J[4] * x.x + J[5] * x.y + J[2] * x.z);
}

static void spin_force(const cri_tree *tree, const double *v, double *tau) {
    cri_vec3 w = cri_v3_load(v + SPIN);
    cri_v3_accumulate(cri_v3_cross(w, tensor_apply(spin_link(tree)->J, w)), tau + SPIN);
}

static void spin_force_vjp(const cri_tree *tree, const double *lambda,
                           const cri_tree_force_adj *adj) {
    const double *J = spin_link(tree)->J;
    cri_vec3 w = cri_v3_load(tree->v + SPIN), l = cri_v3_load(lambda + SPIN);

    // l . (w x J w) = y . J w,  y = l x w
    cri_vec3 y = cri_v3_cross(l, w);
    cri_v3_accumulate(cri_v3_cross(tensor_apply(J, w), l), adj->v + SPIN);
    cri_v3_accumulate(tensor_apply(J, y), adj->v + SPIN);
    if (adj->d) {
        double *J_adj = adj->d->link[tree->unit->first_body].J;
        J_adj[0] += y.x * w.x;
        J_adj[1] += y.y * w.y;
        J_adj[2] += y.z * w.z;
        J_adj[3] += y.x * w.y + y.y * w.x;
        J_adj[4] += y.x * w.z + y.z * w.x;
        J_adj[5] += y.y * w.z + y.z * w.y;
    }
}

// J_tan NULL: zero
static cri_vec3 spin_force_jvp(const cri_tree *tree, cri_vec3 w_tan, const double *J_tan) {
    const double *J = spin_link(tree)->J;
    cri_vec3 w = cri_v3_load(tree->v + SPIN), Jw_tan = tensor_apply(J, w_tan);
    if (J_tan) {
        Jw_tan = cri_v3_add(Jw_tan, tensor_apply(J_tan, w));
    }
    return cri_v3_add(cri_v3_cross(w_tan, tensor_apply(J, w)), cri_v3_cross(w, Jw_tan));
}

// ---- all forces --------------------------------------------------------------------------------

void cri_tree_forces(cri_tree *tree, const double *v, const double *u, double *tau,
                     cri_spatial *F) {
    const cri_tree_plan *plan = tree->plan;
    const double *applied = u + tree->mech->n_actuator + tree->unit->first_v;
    for (int i = 0; i < plan->n_v; i++) {
        tau[i] += applied[i];
    }
    for (int n = 1; n <= plan->n_node; n++) {
        joint_view view = view_joint(tree, n);
        joint_forces(&view, v, tau);
    }
    if (tree->mech->omits_gyro) {
        spin_force(tree, v, tau);
    }
    for (int i = 0; i < plan->n_tendon; i++) {
        tendon_force(tree, plan->tendon[i], v, tau);
    }
    for (int i = 0; i < plan->n_actuator; i++) {
        tree->drive[i] = tree_drive_of(tree, plan->actuator[i], v, u);
        tree_drive_apply(tree, plan->actuator[i], tree->drive[i].force, tau, F);
    }
}

void cri_tree_forces_vjp_part(const cri_tree *tree, const double *lambda, const cri_spatial *L,
                              const cri_tree_force_adj *adj) {
    const cri_tree_plan *plan = tree->plan;
    for (int i = 0; i < plan->n_actuator; i++) {
        tree_drive_vjp_part(tree, i, lambda, L, adj);
    }
    for (int i = 0; i < plan->n_tendon; i++) {
        tendon_force_vjp(tree, plan->tendon[i], tree->v, lambda, adj);
    }
    for (int n = 1; n <= plan->n_node; n++) {
        joint_view view = view_joint(tree, n);
        cri_joint_derived *d_adj = adj->d ? adj->d->joint + tree->unit->first_joint + n - 1 : NULL;
        joint_forces_vjp(&view, tree->v, lambda, adj->q, adj->v, d_adj);
    }
    if (tree->mech->omits_gyro) {
        spin_force_vjp(tree, lambda, adj);
    }
    if (adj->u) {
        double *applied = adj->u + tree->mech->n_actuator + tree->unit->first_v;
        for (int i = 0; i < plan->n_v; i++) {
            applied[i] += lambda[i];
        }
    }
}

void cri_tree_forces_jvp_part(const cri_tree *tree, const cri_accel_tan *tan,
                              const cri_tree_tan *turn, double *tau_tan, cri_spatial *dF) {
    const cri_tree_plan *plan = tree->plan;
    int first_v = tree->unit->first_v, first_joint = tree->unit->first_joint;
    const double *q_tan = tan->q, *v_tan = tan->v;
    const double *applied = tan->u + tree->mech->n_actuator + first_v;
    for (int i = 0; i < plan->n_v; i++) {
        tau_tan[i] += applied[i];
    }
    for (int n = 1; n <= plan->n_node; n++) {
        joint_view view = view_joint(tree, n);
        const cri_joint_derived *d_tan = tan->d ? tan->d->joint + first_joint + n - 1 : NULL;
        joint_forces_jvp(&view, tree->v, q_tan, v_tan, d_tan, tau_tan);
    }
    if (tree->mech->omits_gyro) {
        const double *J_tan = tan->d ? tan->d->link[tree->unit->first_body].J : NULL;
        cri_vec3 force_tan = spin_force_jvp(tree, cri_v3_load(v_tan + SPIN), J_tan);
        cri_v3_accumulate(force_tan, tau_tan + SPIN);
    }
    for (int i = 0; i < plan->n_tendon; i++) {
        int t = plan->tendon[i];
        const cri_tendon_derived *d_tan = tan->d ? tan->d->tendon + t : NULL;
        tendon_force_jvp(tree, t, tree->v, q_tan, v_tan, d_tan, tau_tan);
    }
    for (int i = 0; i < plan->n_actuator; i++) {
        tree_drive_jvp_part(tree, i, tan, turn, tau_tan, dF);
    }
}

// R (rows of 2 n_v numbers) += k times the outer product of the coefficients, at column first
static void add_outer(const cri_tree *tree, const cri_tendon *c, double k, int first, double *R) {
    for (int i = 0; i < c->n; i++) {
        int dof = tree->mech->joint[c->joint[i]].v - tree->unit->first_v;
        double *row = R + (size_t)dof * 2 * (size_t)tree->plan->n_v + first;
        cri_tree_add_along(tree, c, k * c->coef[i], row);
    }
}

// springs of rotations and of free bodies
static void turn_jac_part(const joint_view *view, int n_column, double *R) {
    double k = view->d->stiffness;
    cri_vec3 t = joint_turn(view);
    for (int c = 0; c < 3; c++) {
        double column[3];
        cri_v3_store(cri_so3_right_inverse(t, cri_v3(c == 0, c == 1, c == 2)), column);
        for (int r = 0; r < 3; r++) {
            R[(size_t)(view->turn + r) * (size_t)n_column + view->turn + c] -= k * column[r];
        }
        if (view->joint->kind == CRI_JOINT_FREE) {
            R[(size_t)(view->first + c) * (size_t)n_column + view->first + c] -= k;
        }
    }
}

void cri_tree_forces_jac_part(const cri_tree *tree, double *R) {
    const cri_tree_plan *plan = tree->plan;
    int n = plan->n_v;
    for (int k = 1; k <= plan->n_node; k++) {
        joint_view view = view_joint(tree, k);
        for (int i = view.first; i < view.first + view.joint->n_v; i++) {
            R[i * 2 * n + n + i] -= view.d->damping;
        }
        if (view.turn < 0) {
            R[view.first * 2 * n + view.first] -= view.d->stiffness;
        } else if (view.d->stiffness != 0.0) {
            turn_jac_part(&view, 2 * n, R);
        }
    }
    for (int c = 0; tree->mech->omits_gyro && c < 3; c++) {
        double column[3];
        cri_v3_store(spin_force_jvp(tree, cri_v3(c == 0, c == 1, c == 2), NULL), column);
        for (int r = 0; r < 3; r++) {
            R[(SPIN + r) * 2 * n + n + SPIN + c] += column[r];
        }
    }
    for (int i = 0; i < plan->n_tendon; i++) {
        const cri_tendon *t = tree->mech->tendon + plan->tendon[i];
        const cri_tendon_derived *d = tree->d->tendon + plan->tendon[i];
        add_outer(tree, t, -d->stiffness, 0, R);
        add_outer(tree, t, -d->damping, n, R);
    }
    for (int i = 0; i < plan->n_actuator; i++) {
        const cri_actuator *act = tree->mech->actuator + plan->actuator[i];
        const cri_actuator_derived *d = tree->d->actuator + plan->actuator[i];
        if (act->kind == CRI_DRIVE_DOFS && tree->drive[i].is_force_free) {
            // gear f along the coefficients, f = ... + gear (b1 length + b2 rate)
            cri_tendon c = cri_tree_combination(tree->mech, &act->joint, act->tendon);
            double square = d->gear[0] * d->gear[0];
            add_outer(tree, &c, square * d->bias[1], 0, R);
            add_outer(tree, &c, square * d->bias[2], n, R);
        }
    }
}

// ---- energy ------------------------------------------------------------------------------------

// springs of joints and tendons
static double spring_energy(const cri_tree *tree) {
    double sum = 0.0;
    for (int n = 1; n <= tree->plan->n_node; n++) {
        joint_view view = view_joint(tree, n);
        double square = 0.0;
        if (view.turn < 0) {
            double shift = view.q[0] - view.d->springref;
            square = shift * shift;
        } else if (view.d->stiffness != 0.0) {
            cri_vec3 t = joint_turn(&view);
            bool is_free = view.joint->kind == CRI_JOINT_FREE;
            cri_vec3 x = is_free ? joint_shift(&view) : cri_v3(0.0, 0.0, 0.0);
            square = cri_v3_dot(t, t) + cri_v3_dot(x, x);
        }
        sum += 0.5 * view.d->stiffness * square;
    }
    for (int i = 0; i < tree->plan->n_tendon; i++) {
        int t = tree->plan->tendon[i];
        double stretch =
            cri_tree_length(tree, tree->mech->tendon + t) - tree->d->tendon[t].springlength;
        sum += 0.5 * tree->d->tendon[t].stiffness * stretch * stretch;
    }
    return sum;
}

double cri_tree_energy(const cri_tree *tree, const double *v) {
    CR_ASSERT(tree && v);
    const cri_tree_plan *plan = tree->plan;
    const double *own = v + tree->unit->first_v;
    cri_vec3 g = cri_v3_load(tree->d->gravity);
    cri_spatial *V = tree->plan->work[0];
    V[0] = (cri_spatial){{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    cri_tree_spread(tree, own, V);
    double sum = spring_energy(tree);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_spatial_inertia *I = tree->I + n;
        sum += 0.5 * cri_sp_dot(V[n], cri_inertia_apply(I, V[n]));
        sum -= cri_v3_dot(g, I->h) + I->mass * cri_v3_dot(g, tree->origin);
    }
    for (int i = 0; i < plan->n_v; i++) {
        int joint = tree->mech->dof_joint[tree->unit->first_v + i];
        sum += 0.5 * tree->d->joint[joint].armature * own[i] * own[i];
    }
    return sum;
}
