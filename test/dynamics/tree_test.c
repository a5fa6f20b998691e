// SPDX-License-Identifier: MIT
//
// Dynamics of trees: known numbers, identities, conservation, order, closed loops.

#include "dynamics/tree_bench.h"

// n steps of the flow in place
static void run(int n, double t) {
    cr_arena *keep = cri_arena_create(cri_tree_flow_bytes(&b.f.mech, b.unit));
    for (int i = 0; i < n; i++) {
        cri_arena_reset(keep);
        assert_non_null(cri_tree_flow(&b.f.mech, b.unit, &b.f.d,
                                      &(cri_tree_start){b.f.q, b.f.v, b.f.u, t}, b.f.q, b.f.v, keep,
                                      b.scratch));
    }
    cri_arena_destroy(keep);
}

// ---- known numbers -----------------------------------------------------------------------------

// the numbers below are those of the reference implementation in numpy: its vectors(), and for RK4
// its rk4_lie on the same mechanism; 15 digits are given
static const double digits = 1e-13;

TEST(poses_masses_and_accelerations_are_those_of_the_reference) {
    static const double x[3] = {-0.00142923234798061, 0.211648114728871, 0.902280779024061};
    static const double row3[7] = {-0.0979281864344159, -0.0523225025654685, 0,
                                   0.031520583527586,   -0.0174950379509016, 0.00894730535335561,
                                   -0.00598105296215079};
    static const double row6[7] = {-0.0153670507463897,
                                   0.0628400775781796,
                                   0.00632284756468547,
                                   -0.00598105296215079,
                                   0.0250403871320406,
                                   0.00552162930065838,
                                   0.02089};
    static const double bias[7] = {0.602143397952966,   -0.668313418142589, 22.9196728829155,
                                   -0.0083323606490734, -1.01090656013815,  -0.6030340385807,
                                   0.0349701237978834};
    static const double accel[7] = {-0.149222794618914, -0.42827901506019, -8.50787760473944,
                                    -4.24497257335747,  11.8798681364588,  3.63400164730553,
                                    -46.8878722500292};
    open_reference();
    double out[7];
    cri_v3_store(cri_tree_pose(b.tree, 1).pos, out);
    check_all(3, out, x, digits);
    for (int i = 3; i < 7; i += 3) {
        double e[7] = {0};
        e[i] = 1.0;
        cri_tree_multiply(b.tree, e, out);
        check_all(7, out, i == 3 ? row3 : row6, digits);
    }
    cri_tree_bias(b.tree, b.f.v, out, b.scratch);
    check_all(7, out, bias, digits);
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, out, b.scratch);
    // the condition of M takes two digits
    check_all(7, out, accel, 1e-11);
    end();
}

TEST(steps_are_those_of_the_reference) {
    static const double euler_q[8] = {0.103985188029983, 0.196971353811301, 0.701135492069505,
                                      0.491462136967215, 0.505828320490783, -0.503641906339008,
                                      0.49894639821959,  0.303321493005508};
    static const double euler_v[7] = {0.398518802998344, -0.302864618869878, 0.113549206950458,
                                      0.967087081775142, -1.90620768191687,  0.529795415324547,
                                      0.332149300550764};
    static const double rk_q[8] = {0.103992825234096, 0.196980286113608, 0.701571546813316,
                                   0.491361817031661, 0.505988690580877, -0.503674542440808,
                                   0.498849641740512, 0.30483698457669};
    static const double rk_v[7] = {0.398588549756818, -0.303777941136257, 0.114019965456153,
                                   0.962125902081332, -1.8947204391727,   0.533867932638022,
                                   0.284784284828351};
    for (int is_euler = 0; is_euler < 2; is_euler++) {
        open_reference();
        b.f.mech.is_euler = is_euler;
        run(1, 0.01);
        check_all(8, b.f.q, is_euler ? euler_q : rk_q, 1e-12);
        check_all(7, b.f.v, is_euler ? euler_v : rk_v, 1e-12);
        end();
    }
}

TEST(adjoints_of_an_euler_step_are_those_of_the_reference) {
    static const double q_expected[7] = {
        1, 1, 1, 0.976776933521457, 1.01008294359793, 1.01521560621877, -0.221929382678739};
    static const double v_expected[7] = {
        1.01, 1.01, 1.01, 1.02557824187764, 0.999812856798474, 1.01151457420287, 0.835746451744978};
    double q_adj[7], v_adj[7], u_adj[8] = {0}, t_adj = 0.0, block[FIXTURE_NUMBERS] = {0}, out[8];
    cri_mech_derived d_adj;
    open_reference();
    b.f.mech.is_euler = true;
    fixture_map(&b.f, block, &d_adj);
    cr_arena *keep = cri_arena_create(0);
    cri_tree_trace *trace =
        cri_tree_flow(&b.f.mech, 0, &b.f.d, &(cri_tree_start){b.f.q, b.f.v, b.f.u, 0.01}, out,
                      v_adj, keep, b.scratch);
    for (int i = 0; i < 7; i++) {
        q_adj[i] = v_adj[i] = 1.0;
    }
    cri_tree_flow_vjp(trace, q_adj, v_adj, u_adj, &t_adj, &d_adj, b.scratch);
    check_all(7, q_adj, q_expected, 1e-12);
    check_all(7, v_adj, v_expected, 1e-12);
    CHECK_CLOSE(u_adj[0], 0.851608499020804, 1e-12, 1e-12);
    CHECK_CLOSE(t_adj, -30.7672808275791, 0.0, 1e-11);
    CHECK_CLOSE(d_adj.link[1].mass, 0.0472747056420742, 1e-12, 1e-11);
    CHECK_CLOSE(d_adj.link[1].com.y, -1.34362149826121, 1e-12, 1e-11);
    CHECK_CLOSE(d_adj.link[1].J[2], 30.3151809849305, 1e-12, 1e-11);
    CHECK_CLOSE(d_adj.joint[1].damping, -0.141430583646423, 1e-12, 1e-11);
    CHECK_CLOSE(d_adj.joint[1].stiffness, -0.127741274853121, 1e-12, 1e-11);
    CHECK_CLOSE(d_adj.joint[1].armature, 15.6632391010859, 1e-12, 1e-11);
    cri_arena_destroy(keep);
    end();
}

// ---- identities --------------------------------------------------------------------------------

// twice the kinetic energy of a body between two motions (6 each)
static double body_product(const cri_link_derived *link, const cri_mat3 *R, const double *x,
                           const double *y) {
    const double *J = link->J;
    cri_vec3 wx = cri_v3_load(x + 3), wy = cri_v3_load(y + 3);
    cri_vec3 cx = cri_v3_add(cri_v3_load(x), cri_m3_mul(R, cri_v3_cross(wx, link->com)));
    cri_vec3 cy = cri_v3_add(cri_v3_load(y), cri_m3_mul(R, cri_v3_cross(wy, link->com)));
    cri_vec3 Jw =
        cri_v3(J[0] * wy.x + J[3] * wy.y + J[4] * wy.z, J[3] * wy.x + J[1] * wy.y + J[5] * wy.z,
               J[4] * wy.x + J[5] * wy.y + J[2] * wy.z);
    return link->mass * cri_v3_dot(cx, cy) + cri_v3_dot(wx, Jw);
}

TEST(mass_matrix_is_that_of_the_bodies) {
    open_zoo(false);
    const cri_unit *unit = b.f.unit + 1;
    static double motion[32][6 * FIXTURE_PARTS];
    for (int i = 0; i < unit->n_v; i++) {
        double e[64] = {0};
        e[unit->first_v + i] = 1.0;
        cri_tree_motion(b.tree, e, motion[i]);
    }
    for (int i = 0; i < unit->n_v; i++) {
        double e[64] = {0}, row[64] = {0};
        e[unit->first_v + i] = 1.0;
        cri_tree_multiply(b.tree, e, row);
        for (int k = 0; k < unit->n_v; k++) {
            int joint = b.f.dof_joint[unit->first_v + i];
            double sum = i == k ? b.f.d.joint[joint].armature : 0.0;
            for (int body = unit->first_body; body < unit->first_body + unit->n_body; body++) {
                cri_pose pose = cri_tree_pose(b.tree, body);
                sum += body_product(b.f.d.link + body, &pose.R, motion[i] + 6 * body,
                                    motion[k] + 6 * body);
            }
            // a sum of about 100 products of order 1
            CHECK_CLOSE(row[unit->first_v + k], sum, 1e-13, 1e-13);
        }
    }
    end();
}

TEST(motions_are_rates_of_poses) {
    open_zoo(false);
    static const double h = 1e-6;
    const cri_unit *unit = b.f.unit + 1;
    double motion[6 * FIXTURE_PARTS];
    cri_pose pose[2][FIXTURE_PARTS];
    cri_tree_motion(b.tree, b.f.v, motion);
    for (int side = 0; side < 2; side++) {
        double q[64], step = side == 0 ? -h : h;
        memcpy(q, b.f.q, sizeof q);
        for (int j = unit->first_joint; j < unit->first_joint + unit->n_joint; j++) {
            const cri_joint *joint = b.f.joint + j;
            const double *w = b.f.v + joint->v;
            int n = joint->n_v == 1 ? 1 : joint->n_v - 3;
            for (int i = 0; i < n; i++) {
                q[joint->q + i] += step * w[i];
            }
            if (joint->n_v > 1) {
                cri_quat turn = cri_quat_exp(cri_v3_scale(step, cri_v3_load(w + n)));
                cri_quat moved = cri_quat_mul(cri_q4_load(q + joint->q + n), turn);
                cri_q4_store(moved, q + joint->q + n);
            }
        }
        cri_tree_poses(&b.f.mech, 1, q, pose[side]);
    }
    for (int body = unit->first_body; body < unit->first_body + unit->n_body; body++) {
        cri_vec3 moved = cri_v3_sub(pose[1][body].pos, pose[0][body].pos);
        double rate[3];
        cri_v3_store(cri_v3_scale(0.5 / h, moved), rate);
        // h^2, and rounding over h
        check_all(3, rate, motion + 6 * body, 1e-9);
        // R' R_tan = [w]x, whose entry (2, 1) is w_x
        cri_mat3 R = cri_tree_pose(b.tree, body).R;
        double wx = 0.0;
        for (int i = 0; i < 3; i++) {
            const double *hi = pose[1][body].R.m, *lo = pose[0][body].R.m;
            wx += R.m[3 * i + 2] * (hi[3 * i + 1] - lo[3 * i + 1]) * 0.5 / h;
        }
        CHECK_CLOSE(wx, motion[6 * body + 3], 1e-9, 1e-9);
    }
    end();
}

TEST(pulling_one_body_is_part_of_pulling_all) {
    open_zoo(false);
    double all[64] = {0}, one[64] = {0}, force[6 * FIXTURE_PARTS];
    for (int i = 0; i < 6 * b.f.mech.n_body; i++) {
        force[i] = fixture_random(&b.f);
    }
    cri_tree_pull(b.tree, force, all);
    for (int body = 2; body < b.f.mech.n_body; body++) {
        cri_tree_pull_body(b.tree, body, force + 6 * body, one);
    }
    check_all(b.f.mech.n_v, one, all, 1e-14);
    // K' is the transpose of K
    double motion[6 * FIXTURE_PARTS], left = 0.0, right = 0.0;
    cri_tree_motion(b.tree, b.f.v, motion);
    for (int i = 12; i < 6 * b.f.mech.n_body; i++) {
        left += force[i] * motion[i];
    }
    for (int i = 6; i < b.f.mech.n_v; i++) {
        right += all[i] * b.f.v[i];
    }
    CHECK_CLOSE(left, right, 1e-13, 1e-13);
    end();
}

TEST(a_solve_keeps_the_equalities_and_balances) {
    open_zoo(true);
    int n = b.f.mech.n_v;
    double g[64] = {0}, w[64] = {0}, Mw[64] = {0}, again[64] = {0}, nu[64];
    for (int i = 6; i < n; i++) {
        g[i] = fixture_random(&b.f);
    }
    cri_tree_solve(b.tree, g, w, nu);
    cri_tree_multiply(b.tree, w, Mw);
    // W M W = W: what is allowed by the equalities stays
    cri_tree_solve(b.tree, Mw, again, NULL);
    // twelve rows of a badly scaled G
    check_all(n, again, w, 1e-11);
    // g - M w = E' nu does no work on what is allowed
    double work = 0.0;
    for (int i = 6; i < n; i++) {
        work += (g[i] - Mw[i]) * w[i];
    }
    CHECK_CLOSE(work, 0.0, 1e-12, 0.0);
    CHECK_CLOSE(fabs(nu[0]) > 1e-6, 1.0, 0.0, 0.0);
    end();
}

TEST(a_repeated_equality_changes_nothing) {
    double once[64] = {0}, twice[64] = {0}, g[64] = {0};
    for (int repeat = 0; repeat < 2; repeat++) {
        begin();
        fixture_zoo(&b.f);
        fixture_zoo_ties(&b.f);
        for (int e = 0; repeat == 1 && e < 2; e++) {
            b.f.equality[b.f.mech.n_equality] = b.f.equality[e];
            b.f.equality[b.f.mech.n_equality++].unit = -1;
        }
        fixture_unit(&b.f, 2);
        fixture_close(&b.f);
        fixture_settle(&b.f, 1, 0.0);
        open_unit(1);
        double *a = repeat == 0 ? once : twice;
        for (int i = 6; i < b.f.mech.n_v; i++) {
            g[i] = 0.1 * i;
        }
        memcpy(b.f.u + b.f.mech.n_actuator, g, sizeof *g * (size_t)b.f.mech.n_v);
        cri_tree_solve(b.tree, g, a, NULL);
        cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, a + 32, b.scratch);
        end();
    }
    check_all(64, twice, once, 1e-9);
}

TEST(accelerations_do_not_depend_on_the_place) {
    double near[64] = {0}, far[64] = {0};
    open_reference();
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, near, b.scratch);
    b.f.q[0] += 1e6;
    cri_tree_set(b.tree, b.f.q, b.scratch);
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, far, b.scratch);
    // positions on the tree lose six digits
    check_all(7, far, near, 1e-7);
    end();
}

// ---- conservation and order --------------------------------------------------------------------

// a chain of all kinds of joints, without damping
static void open_chain(void) {
    begin();
    fixture *f = &b.f;
    fixture_body(f, -1, 1.0);
    fixture_joint(f, CRI_JOINT_SLIDE);
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_body(f, 0, 0.8);
    fixture_joint(f, CRI_JOINT_BALL);
    fixture_body(f, 1, 0.6);
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_body(f, -1, 0.6);
    fixture_joint(f, CRI_JOINT_FREE);
    fixture_body(f, 3, 0.5);
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_tendon(f, 1, 3);
    for (int j = 0; j < f->mech.n_joint; j++) {
        f->joint_d[j].damping = 0.0;
    }
    f->tendon_d[0].damping = 0.0;
    fixture_unit(f, 0);
    fixture_close(f);
    memset(f->u, 0, sizeof f->u);
    open_unit(0);
}

TEST(a_swinging_chain_keeps_its_energy) {
    open_chain();
    double start = cri_tree_energy(b.tree, b.f.v);
    run(1000, 1e-3);
    cri_tree_set(b.tree, b.f.q, b.scratch);
    // it falls and swings by tens of joules; order 4 at 1 ms
    CHECK_CLOSE(cri_tree_energy(b.tree, b.f.v), start, 1e-8, 0.0);
    end();
}

TEST(steps_are_of_order_four) {
    static const int n_step[3] = {25, 50, 800};
    double q[3][64];
    for (int k = 0; k < 3; k++) {
        open_chain();
        run(n_step[k], 0.25 / n_step[k]);
        memcpy(q[k], b.f.q, sizeof b.f.q);
        end();
    }
    double coarse = 0.0, fine = 0.0;
    for (int i = 0; i < b.f.mech.n_q; i++) {
        coarse = fmax(coarse, fabs(q[0][i] - q[2][i]));
        fine = fmax(fine, fabs(q[1][i] - q[2][i]));
    }
    double order = log2(coarse / fine);
    CHECK(order > 3.7 && order < 4.5);
    CHECK(coarse < 1e-3);
}

// the end of the third bar
static cri_vec3 tip_of_three(void) {
    cri_pose pose[3];
    cri_tree_poses(&b.f.mech, 0, b.f.q, pose);
    return cri_v3_add(pose[2].pos, cri_m3_mul(&pose[2].R, cri_v3(1.0, 0.0, 0.0)));
}

// bars of 1 m in the x z plane, hinges about y, the end of the third tied to the world: of the
// three rows the one along y says nothing. A hanging rhombus, off its rest at pi/2 and away from
// where all bars are in line, or askew: a rhombus closes by sums of angles, which no step misses.
static void open_four_bars(bool is_askew) {
    begin();
    fixture *f = &b.f;
    for (int i = 0; i < 3; i++) {
        cri_link *link = fixture_body(f, i - 1, 1.0);
        link->pos = cri_v3(i == 0 ? 0.0 : 1.0, 0.0, 0.0);
        link->quat = (cri_quat){1.0, 0.0, 0.0, 0.0};
        f->link_d[i] = (cri_link_derived){1.0, {0.5, 0.0, 0.0}, {0.01, 0.1, 0.1, 0.0, 0.0, 0.0}};
        cri_joint *joint = fixture_joint(f, CRI_JOINT_HINGE);
        joint->pos = cri_v3(0.0, 0.0, 0.0);
        joint->axis = cri_v3(0.0, 1.0, 0.0);
        joint->ref = 0.0;
        f->joint_d[i] = (cri_joint_derived){0};
    }
    cri_equality *eq = fixture_equality(f, CRI_EQUALITY_CONNECT, 2, -1);
    eq->anchor[0] = cri_v3(1.0, 0.0, 0.0);
    eq->anchor[1] = cri_v3(1.0, 0.0, 0.0);
    fixture_unit(f, 0);
    fixture_close(f);
    const double q[3] = {0.9, -0.9, 0.9 + acos(-1.0)};
    memcpy(f->q, q, sizeof q);
    if (is_askew) {
        f->q[1] -= 0.3;
        f->equality[0].anchor[1] = tip_of_three();
    }
    memset(f->v, 0, sizeof f->v);
    memset(f->u, 0, sizeof f->u);
    open_unit(0);
}

// largest over the steps
static double swing_four_bars(int n_step, double h) {
    fixture *f = &b.f;
    double largest = 0.0, fastest = 0.0;
    for (int i = 0; i < n_step; i++) {
        run(1, h);
        cri_vec3 apart = cri_v3_sub(tip_of_three(), f->equality[0].anchor[1]);
        largest = fmax(largest, cri_v3_norm(apart));
        fastest = fmax(fastest, fabs(f->v[0]));
    }
    CHECK(fastest > 1.0);
    return largest;
}

TEST(a_four_bar_loop_stays_closed) {
    open_four_bars(false);
    double start = cri_tree_energy(b.tree, b.f.v);
    // errors of order 4 at 1 ms, pulled back within 20 ms
    CHECK(swing_four_bars(1000, 1e-3) < 1e-9);
    cri_tree_set(b.tree, b.f.q, b.scratch);
    CHECK_CLOSE(cri_tree_energy(b.tree, b.f.v), start, 1e-7, 0.0);
    end();
}

TEST(eulers_steps_do_not_hold_a_loop_open) {
    open_four_bars(true);
    b.f.mech.is_euler = true;
    double opening = swing_four_bars(500, 2e-3);
    end();
    print_message("opens by %.2e m\n", opening);
    // some T^2 h/2 times the rate of E' v; damping E v, not a step's rate, has T h E' v, 6e-5 m
    CHECK(opening < 1e-5);
}

CR_TEST_MAIN(poses_masses_and_accelerations_are_those_of_the_reference,
             steps_are_those_of_the_reference, adjoints_of_an_euler_step_are_those_of_the_reference,
             mass_matrix_is_that_of_the_bodies, motions_are_rates_of_poses,
             pulling_one_body_is_part_of_pulling_all, a_solve_keeps_the_equalities_and_balances,
             a_repeated_equality_changes_nothing, accelerations_do_not_depend_on_the_place,
             a_swinging_chain_keeps_its_energy, steps_are_of_order_four,
             a_four_bar_loop_stays_closed, eulers_steps_do_not_hold_a_loop_open)
