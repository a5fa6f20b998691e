// SPDX-License-Identifier: MIT
//
// Memory of trees: what the sizes promise is enough, and a failed allocation is reported. Needs
// WRAP.

#include "alloc_wrap.h"
#include "dynamics/tree_bench.h"

// heap calls of a motion with its derivatives in arenas of the promised sizes
static long count_calls(bool has_ties, bool is_euler) {
    open_zoo(has_ties);
    end();
    const cri_mechanism *m = &b.f.mech;
    b.f.mech.is_euler = is_euler;
    b.keep = cri_arena_create(cri_tree_flow_bytes(m, 1));
    b.scratch = cri_arena_create(cri_tree_scratch_bytes(m, 1));
    double q[64], v[64], q_adj[64] = {0}, v_adj[64] = {0}, u_adj[64] = {0}, t_adj = 0.0;
    double block[FIXTURE_NUMBERS] = {0};
    cri_mech_derived d;
    fixture_map(&b.f, block, &d);
    v_adj[8] = 1.0;
    long before = cr_alloc_count();
    cri_tree_trace *trace = cri_tree_flow(
        m, 1, &b.f.d, &(cri_tree_start){b.f.q, b.f.v, b.f.u, 0.01}, q, v, b.keep, b.scratch);
    CHECK(trace != NULL);
    cri_tree_flow_vjp(trace, q_adj, v_adj, u_adj, &t_adj, &d, b.scratch);
    cri_tree_flow_jvp(trace, q_adj, v_adj, u_adj, 1.0, &d, b.scratch);
    long n = cr_alloc_count() - before;
    end();
    return n;
}

TEST(motions_need_no_more_than_their_sizes_say) {
    for (int i = 0; i < 4; i++) {
        CHECK_INT(count_calls(i % 2 == 1, i / 2 == 1), 0);
    }
}

TEST(maps_need_no_more_than_their_sizes_say) {
    open_zoo(true);
    double w[64] = {0}, nu[64], w_tan[64] = {0}, c[64];
    double q_adj[64] = {0}, block[FIXTURE_NUMBERS] = {0};
    cri_mech_derived d;
    fixture_map(&b.f, block, &d);
    long before = cr_alloc_count();
    cri_tree_solve(b.tree, b.f.v, w, nu);
    cri_tree_tan *tan = cri_tree_tan_push(b.tree, b.f.v, &d, b.scratch);
    cri_tree_solve_jvp(b.tree, tan, b.f.v, w, nu, w_tan, b.scratch);
    cri_arena_reset(b.scratch);
    cri_tree_form form = {.left = w, .right = b.f.v, .left_nu = nu, .right_nu = nu};
    cri_tree_form_vjp(b.tree, &form, 1.0, q_adj, &d, b.scratch);
    cri_tree_bias(b.tree, b.f.v, c, b.scratch);
    CHECK_INT(cr_alloc_count() - before, 0);
    end();
}

TEST(a_motion_without_memory_says_so) {
    open_zoo(false);
    cr_arena *keep = cri_arena_create(16);
    double q[64], v[64];
    const cri_mechanism *m = &b.f.mech;
    int n_failed = 0;
    for (long k = 1;; k++) {
        cri_arena_destroy(keep);
        keep = cri_arena_create(16);
        cr_alloc_fail_at(k);
        cri_tree_trace *trace = cri_tree_flow(
            m, 1, &b.f.d, &(cri_tree_start){b.f.q, b.f.v, b.f.u, 0.01}, q, v, keep, b.scratch);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK((trace == NULL) == has_failed);
        if (!has_failed) {
            break;
        }
        n_failed++;
    }
    CHECK(n_failed > 0);
    cri_arena_destroy(keep);
    end();
}

CR_TEST_MAIN(motions_need_no_more_than_their_sizes_say, maps_need_no_more_than_their_sizes_say,
             a_motion_without_memory_says_so)
