// SPDX-License-Identifier: MIT
//
// Nets against numbers of an independent implementation, and against themselves: values by hand,
// gradients by differences of values, rows alone and in a batch, no memory.

#include "base/nn/mlp.h"

#include "alloc_wrap.h"
#include "base/io/checkpoint.h"
#include "base/random.h"
#include "cr_test.h"
#include "net_of.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W_MOST = 4000, ROW_MOST = 8 };

static const double points[2][3] = {{0.1, -0.2, 0.3}, {1.0, 0.5, -1.0}};

/// Numbers for the net 3-4-4-1 at these points with the adjoints below.
typedef struct known {
    cri_activation act;
    double v[2], g[6], x_adj[6];
    double sums[6]; // of each array of weights: sum of adjoint times cos(0), cos(1), ...
} known;

static const known tables[] = {
    {.act = CRI_ACT_SOFTPLUS,
     .v = {-0.486773933375416, -0.325699952421479},
     .g = {0.087446912861664, 0.0365697104410586, -0.0419827197677964, 0.0849676980425915,
           0.0369925757697554, -0.0389777903416159},
     .x_adj = {0.0459202663942227, 0.0204788901035122, -0.0204605019392974, -0.049384379399276,
               -0.0227031819930273, 0.0211593309226184},
     .sums = {-0.0283862441411975, 0.00021707813394972, 0.0205913517662952, -0.0413395132508184,
              0.279095807426409, -0.2}},
    {.act = CRI_ACT_TANH,
     .v = {-0.019475859866508, 0.604695027576031},
     .g = {0.51166681664305, 0.223662996536461, -0.233604520282348, 0.158428715805231,
           0.0755008736166679, -0.0645645244987026},
     .x_adj = {0.158920518979894, 0.0381226942038637, -0.111525625510982, -0.098394037000707,
               -0.0874978464476864, -0.0103850301074886},
     .sums = {-0.101362748350623, -0.232092788830113, 0.175224624645516, -0.130610702767955,
              1.27928786116931, -0.2}},
};

TEST(value_gradient_and_adjoints_are_those_of_the_derivation) {
    static const double u[6] = {1.0, 0.5, -0.25, -0.3, 0.7, 0.2}, v_adj[2] = {0.4, -0.6};
    cr_arena *arena = cri_arena_create(1000), *work = cri_arena_create(1000);
    for (int k = 0; k < 2; k++) {
        const known *t = &tables[k];
        cri_mlp net = {.n_layer = 3, .width = {3, 4, 4, 1}, .act = t->act};
        double w[W_MOST], v[2], g[6], x_adj[6] = {0.0}, w_adj[W_MOST] = {0.0};
        cri_mlp_cache cache;
        fill_weights(&net, w);
        CHECK_INT(cri_mlp_n_weight(&net), 12 + 4 + 16 + 4 + 4 + 1);
        CHECK(cri_mlp_gradient(&net, w, 2, points[0], v, g, &cache, arena));
        CHECK(cri_mlp_gradient_vjp(&net, w, &cache, v_adj, u, x_adj, w_adj, work));
        for (int i = 0; i < 6; i++) {
            CHECK_CLOSE(g[i], t->g[i], 1e-14, 1e-13); // 15 digits are given
            CHECK_CLOSE(x_adj[i], t->x_adj[i], 1e-14, 1e-13);
            double sum = 0.0;
            int at = cri_mlp_place(&net, 1 + i / 2, i % 2);
            int end = i % 2 ? cri_mlp_place(&net, 2 + i / 2, false)
                            : cri_mlp_place(&net, 1 + i / 2, true);
            for (int j = at; j < end; j++) {
                sum += w_adj[j] * cos(j - at);
            }
            CHECK_CLOSE(sum, t->sums[i], 1e-14, 1e-13);
        }
        CHECK_CLOSE(v[0], t->v[0], 1e-14, 1e-13);
        CHECK_CLOSE(v[1], t->v[1], 1e-14, 1e-13);
    }
    cri_arena_destroy(arena);
    cri_arena_destroy(work);
}

/// Nets of every kind: no hidden layer, one with few and with many inputs, several.
static const cri_mlp nets[] = {
    {.n_layer = 1, .width = {3, 1}},
    {.n_layer = 2, .width = {1, 21, 1}},
    {.n_layer = 2, .width = {3, 9, 1}, .has_no_last_bias = true},
    {.n_layer = 2, .width = {6, 9, 1}},
    {.n_layer = 3, .width = {2, 7, 5, 1}, .has_no_last_bias = true},
    {.n_layer = 4, .width = {3, 6, 9, 4, 1}},
};
enum { N_NET = sizeof nets / sizeof *nets };

static double value_at(const cri_mlp *net, const double *w, const double *x, cr_arena *arena) {
    double out = 0.0;
    CHECK(cri_mlp_value(net, w, 1, x, &out, NULL, arena));
    return out;
}

// of one net: gradient against differences of the value, and with and without v
static void check_gradient(const cri_mlp *net) {
    cr_arena *arena = cri_arena_create(1000);
    double w[W_MOST], x[ROW_MOST * 6], g[ROW_MOST * 6], again[ROW_MOST * 6], v[ROW_MOST];
    int n_in = net->width[0];
    fill_weights(net, w);
    for (int i = 0; i < ROW_MOST * n_in; i++) {
        x[i] = cos(3.0 * i);
    }
    CHECK(cri_mlp_gradient(net, w, ROW_MOST, x, v, g, NULL, arena));
    CHECK(cri_mlp_gradient(net, w, ROW_MOST, x, NULL, again, NULL, arena));
    for (int r = 0; r < ROW_MOST; r++) {
        CHECK_CLOSE(value_at(net, w, x + r * n_in, arena), v[r], 1e-15, 1e-15);
        double alone[6];
        CHECK(cri_mlp_gradient(net, w, 1, x + r * n_in, NULL, alone, NULL, arena));
        CHECK(memcmp(alone, again + r * n_in, sizeof *alone * (size_t)n_in) == 0);
        for (int i = r * n_in; i < (r + 1) * n_in; i++) {
            const double step = 1e-5;
            double before = x[i];
            x[i] = before + step;
            double up = value_at(net, w, x + r * n_in, arena);
            x[i] = before - step;
            double down = value_at(net, w, x + r * n_in, arena);
            x[i] = before;
            // rounding 1e-16/1e-5, third derivative below 10 times 1e-10
            CHECK_CLOSE(g[i], (up - down) / (2.0 * step), 1e-9, 0.0);
            CHECK_CLOSE(g[i], again[i], 1e-14, 1e-13);
        }
    }
    cri_arena_destroy(arena);
}

TEST(gradients_are_those_of_the_value) {
    for (int k = 0; k < N_NET; k++) {
        cri_mlp net = nets[k];
        check_gradient(&net);
        net.act = CRI_ACT_TANH;
        check_gradient(&net);
    }
}

// adjoints of u . g by the vjp that a cache with values takes, and by the other
static void compare_paths(const cri_mlp *net) {
    cr_arena *arena = cri_arena_create(1000);
    enum { N = ROW_MOST * 6 };
    double w[W_MOST], x[N], g[N], v[ROW_MOST], u[N], v_adj[ROW_MOST] = {0.0};
    double x_adj[2][N] = {{0.0}}, w_adj[2][W_MOST] = {{0.0}};
    int n = ROW_MOST * net->width[0];
    fill_weights(net, w);
    for (int i = 0; i < n; i++) {
        x[i] = cos(3.0 * i);
        u[i] = sin(2.0 * i);
    }
    cri_mlp_cache cache;
    CHECK(cri_mlp_gradient(net, w, ROW_MOST, x, v, g, &cache, arena));
    CHECK(cri_mlp_gradient_vjp(net, w, &cache, v_adj, u, x_adj[0], w_adj[0], arena));
    CHECK(cri_mlp_gradient(net, w, ROW_MOST, x, NULL, g, &cache, arena));
    CHECK(cri_mlp_gradient_vjp(net, w, &cache, NULL, u, x_adj[1], NULL, arena));
    CHECK(cri_mlp_gradient_vjp(net, w, &cache, NULL, u, NULL, w_adj[1], arena));
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(x_adj[0][i], x_adj[1][i], 1e-14, 1e-13); // another order of sums
    }
    for (int i = 0; i < cri_mlp_n_weight(net); i++) {
        CHECK_CLOSE(w_adj[0][i], w_adj[1][i], 1e-14, 1e-13);
    }
    cri_arena_destroy(arena);
}

TEST(adjoints_are_the_same_with_and_without_values_and_for_each_alone) {
    for (int k = 0; k < N_NET; k++) {
        cri_mlp net = nets[k];
        compare_paths(&net);
        net.act = CRI_ACT_TANH;
        compare_paths(&net);
    }
}

// value, gradient and both vjps of a net; false for lack of memory
static bool run_all(const cri_mlp *net, const double *w) {
    cr_arena *arena = cri_arena_create(64);
    double x[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, out[2], g[6], adj[6] = {0.0}, w_adj[W_MOST] = {0};
    cri_mlp_cache cache;
    bool is_good = arena && cri_mlp_value(net, w, 1, x, out, &cache, arena) &&
                   cri_mlp_value_vjp(net, w, &cache, out, adj, w_adj, arena) &&
                   cri_mlp_gradient(net, w, 1, x, NULL, g, &cache, arena) &&
                   cri_mlp_gradient_vjp(net, w, &cache, NULL, g, adj, w_adj, arena);
    cri_arena_destroy(arena);
    return is_good;
}

TEST(lack_of_memory_is_told) {
    double w[W_MOST];
    for (int i = 0; i < N_NET; i++) {
        fill_weights(&nets[i], w);
        for (long k = 1;; k++) {
            cr_alloc_fail_at(k);
            bool is_good = run_all(&nets[i], w);
            bool has_failed = cr_alloc_has_failed();
            cr_alloc_fail_at(0);
            CHECK(is_good != has_failed);
            if (!has_failed) {
                break;
            }
        }
    }
}

TEST(softplus_keeps_no_last_values_unless_asked_for) {
    const cri_mlp *net = &nets[5];
    double w[W_MOST], x[3] = {0.1, 0.2, 0.3}, v, g[3];
    cr_arena *arena = cri_arena_create(1000);
    cri_mlp_cache cache;
    fill_weights(net, w);
    CHECK(cri_mlp_gradient(net, w, 1, x, NULL, g, &cache, arena));
    CHECK(cache.a[2] && !cache.a[3] && cache.s[3]);
    CHECK(cri_mlp_gradient(net, w, 1, x, &v, g, &cache, arena));
    CHECK(cache.a[3] && cache.s[3] && cache.a[3] != cache.s[3]);
    cri_arena_destroy(arena);
}

static uint64_t mix(uint64_t hash, int n, const double *x) {
    return cri_hash(hash, x, sizeof *x * (size_t)n);
}

// gcc and clang, without optimisation and with, at 128, 256 and 512 bits, gave this hash
TEST(bits_are_those_of_every_machine) {
    enum { N = 600, ROWS = 20 };
    static const cri_mlp shapes[3] = {{.n_layer = 2, .width = {1, 45, 1}},
                                      {.n_layer = 3, .width = {2, 30, 19, 1}},
                                      {.n_layer = 2, .width = {3, 29, 1}, .act = CRI_ACT_TANH}};
    double z[N], a[N], s[N], w[W_MOST], w_adj[W_MOST] = {0.0}, x_adj[N] = {0.0};
    cr_arena *arena = cri_arena_create(1000);
    cri_random stream = cri_random_of(1, 2);
    uint64_t hash = CRI_HASH_START;
    for (int i = 0; i < N; i++) {
        z[i] = cri_random_uniform(&stream, -30.0, 30.0);
    }
    for (int i = 0; i < W_MOST; i++) {
        w[i] = cri_random_uniform(&stream, -0.2, 0.2);
    }
    for (int k = CRI_ACT_SOFTPLUS; k <= CRI_ACT_RELU; k++) {
        cri_activate((cri_activation)k, N, z, a, s);
        hash = mix(mix(hash, N, a), N, s);
    }
    cri_cross_entropy(N, z, w, a);
    hash = mix(hash, N, a);
    for (int k = 0; k < 3; k++) {
        const cri_mlp *net = &shapes[k];
        cri_mlp_cache cache;
        CHECK(cri_mlp_gradient(net, w, ROWS, z, NULL, a, &cache, arena));
        CHECK(cri_mlp_gradient_vjp(net, w, &cache, NULL, w, x_adj, w_adj, arena));
        hash = mix(hash, ROWS * net->width[0], a);
        CHECK(cri_mlp_value(net, w, ROWS, z, a, &cache, arena));
        CHECK(cri_mlp_value_vjp(net, w, &cache, w, x_adj, w_adj, arena));
        hash = mix(mix(mix(hash, ROWS, a), N, x_adj), W_MOST, w_adj);
    }
    cri_arena_destroy(arena);
    CHECK(hash == 0x4425cb65f0141fa2u);
}

CR_TEST_MAIN(value_gradient_and_adjoints_are_those_of_the_derivation,
             gradients_are_those_of_the_value,
             adjoints_are_the_same_with_and_without_values_and_for_each_alone,
             lack_of_memory_is_told, softplus_keeps_no_last_values_unless_asked_for,
             bits_are_those_of_every_machine)
