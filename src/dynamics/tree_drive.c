// SPDX-License-Identifier: MIT
//
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

#include "dynamics/tree_parts.h"

// limited to [range[0], range[1]]
static double limit(double x, const double *range, bool *is_free) {
    *is_free = x >= range[0] && x <= range[1];
    return x < range[0] ? range[0] : x > range[1] ? range[1] : x;
}

cri_tree_drive cri_tree_drive_of(const cri_tree *tree, int actuator, const double *v,
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

/// A site and what its wrench acts between.
typedef struct grip {
    int node[2];    // of the site and of its reference, 0: none
    int frame_node; // on which R rides
    cri_vec3 x[2];  // points, from O
    cri_vec3 g1;    // R gear, force and torque for f = 1
    cri_vec3 g2;
    cri_mat3 R;
} grip;

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

void cri_tree_drive_apply(const cri_tree *tree, int actuator, double force, double *tau,
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

void cri_tree_drive_vjp_part(const cri_tree *tree, int i, const double *lambda,
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

void cri_tree_drive_jvp_part(const cri_tree *tree, int i, const cri_accel_tan *tan,
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
