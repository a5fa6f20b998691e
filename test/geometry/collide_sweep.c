// SPDX-License-Identifier: MIT
//
// collide_sweep [N] [--table FILE]: cri_distance against the brute-force distance, N random pairs
// of every two kinds of shapes.
//
// Shapes have sizes 0.05 to 1 and stand from deep in each other to apart by two sizes; a fifth of
// the pairs have parallel axes, where faces and edges are parallel too, and a fifth come within
// 1e-3 of touching. Errors count against the better of two lower bounds, the oracle's and that
// along the normal under test, so that a missed optimum of the oracle is not held against the
// library.
//
// Returns 1 when a limit below is exceeded. FILE gets the table as Markdown.

#include "base/arena.h"
#include "geometry/mesh/hull.h"
#include "geometry/query/narrow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/brute_distance.h"
#include "support/random_shape.h"

// what the table must keep, m; shapes are of order 1
#define GAP_LIMIT 1e-9
#define DEPTH_LIMIT 1e-9
// deep overlaps with two ways out that are nearly equally long: one in so many may take the longer,
// by no more than this
#define LONGER_SHARE 500
#define LONGER_LIMIT 1e-3
#define WITNESS_LIMIT 1e-9

// distances below this have no sign to get wrong
#define SIGN_FLOOR 1e-9

typedef struct tally {
    int n_apart, n_overlap;
    int n_sign, n_nan;
    int n_longer; // overlaps whose way out is not the shortest
    int n_oracle; // the oracle's optimum was the worse one
    double gap;   // worst error, m, apart
    double depth; // likewise, overlapping
    double witness;
    double off; // farthest point from its own shape
} tally;

typedef struct trial {
    cri_shape shape[2];
    cri_pose pose[2];
    random_shape owner[2];
} trial;

// ---- random pairs ------------------------------------------------------------------------------

// points all around, or a prism, whose faces have many corners
static const cri_hull *random_hull(cr_test_rng *rng, cr_arena *arena) {
    double point[3 * 24];
    int n = (int)cr_test_uniform(rng, 4.0, 20.0);
    bool is_prism = cr_test_uniform(rng, 0.0, 1.0) < 0.3;
    double size = cr_test_uniform(rng, 0.05, 1.0);
    n = is_prism ? 2 * (3 + n / 4) : n;
    for (int i = 0; i < n; i++) {
        double angle = 2.0 * 3.14159265358979323846 * (i / 2) / (n / 2);
        cri_vec3 p = cri_v3_scale(cr_test_uniform(rng, 0.5, 1.0), random_unit(rng));
        p = is_prism ? cri_v3(cos(angle), sin(angle), i % 2 ? 0.4 : -0.4) : p;
        cri_v3_store(cri_v3_scale(size, p), point + 3 * i);
    }
    const cri_hull *hull = NULL;
    cr_error err = {0};
    if (cri_hull_build(n, point, arena, &hull, &err) != CR_OK) {
        fprintf(stderr, "collide_sweep: no hull of %d points: %s\n", n, err.text);
        exit(1);
    }
    return hull;
}

static cri_mat3 identity(void) {
    return (cri_mat3){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

static double reach(const cri_shape *shape) {
    double r = shape->kind == CRI_SHAPE_PLANE ? 0.5 : cri_bounding_radius(shape);
    return fmin(r, 2.0);
}

static void make_trial(cr_test_rng *rng, const cri_shape_kind kind[2], cr_arena *arena, trial *t) {
    for (int i = 0; i < 2; i++) {
        const cri_hull *hull = kind[i] == CRI_SHAPE_MESH ? random_hull(rng, arena) : NULL;
        random_shape_init(rng, kind[i], 0.05, 1.0, hull, &t->owner[i]);
        t->shape[i] = t->owner[i].shape;
        t->pose[i] = (cri_pose){random_unit(rng), random_rotation(rng)};
    }
    double choice = cr_test_uniform(rng, 0.0, 1.0);
    if (choice < 0.2) {
        t->pose[0].R = t->pose[1].R = identity();
    }
    double size = fmax(t->owner[0].size[0], t->owner[1].size[0]);
    double most = reach(&t->shape[0]) + reach(&t->shape[1]) + 2.0 * size;
    cri_vec3 n = random_unit(rng);
    n = choice < 0.1 ? cri_v3(0, 0, 1) : n;
    n = t->shape[0].kind == CRI_SHAPE_PLANE ? cri_m3_mul(&t->pose[0].R, cri_v3(0, 0, 1)) : n;
    // more of them near than far
    double u = cr_test_uniform(rng, t->shape[0].kind == CRI_SHAPE_PLANE ? -0.7 : 0.05, 1.0);
    double offset = most * u * fabs(u);
    t->pose[1].pos = cri_v3_mad(t->pose[0].pos, offset, n);
    if (choice > 0.8) {
        // to within 1e-3 of touching along the normal
        double now = brute_separation(t->shape, t->pose, n);
        double wanted = 1e-3 * pow(10.0, cr_test_uniform(rng, -4.0, 0.0));
        wanted = choice > 0.9 ? wanted : -wanted;
        t->pose[1].pos = cri_v3_mad(t->pose[1].pos, wanted - now, n);
    }
}

// ---- comparison --------------------------------------------------------------------------------

static bool is_finite_touch(const cri_narrow_touch *touch) {
    double sum = touch->gap + cri_v3_dot(touch->normal, cri_v3(1, 1, 1));
    for (int i = 0; i < 2; i++) {
        sum += cri_v3_dot(touch->point[i], cri_v3(1, 1, 1));
    }
    return isfinite(sum);
}

// how far a witness point is from its own shape
static double distance_off(const trial *t, int i, cri_vec3 p) {
    if (t->shape[i].kind == CRI_SHAPE_PLANE) {
        cri_vec3 n = cri_m3_mul(&t->pose[i].R, cri_v3(0, 0, 1));
        return fmax(cri_v3_dot(n, cri_v3_sub(p, t->pose[i].pos)), 0.0);
    }
    static brute_body body;
    brute_body_of(&t->shape[i], &t->pose[i], &body);
    double d = cri_v3_norm(cri_v3_sub(p, brute_project(&body, p)));
    return fmax(d - body.radius, 0.0);
}

// a pair beyond the limits, with all its numbers
static void print_trial(const trial *t, double gap, double truth) {
    printf("    gap %.17g, should be %.17g\n", gap, truth);
    for (int i = 0; i < 2; i++) {
        const double *m = t->pose[i].R.m;
        printf("    %s size %.17g %.17g %.17g pos %.17g %.17g %.17g\n      R",
               shape_kind_name(t->shape[i].kind), t->owner[i].size[0], t->owner[i].size[1],
               t->owner[i].size[2], t->pose[i].pos.x, t->pose[i].pos.y, t->pose[i].pos.z);
        for (int k = 0; k < 9; k++) {
            printf(" %.17g", m[k]);
        }
        const cri_hull *hull = t->shape[i].hull;
        for (int k = 0; hull && k < 3 * hull->n_vertex; k++) {
            printf("%s%.17g", k == 0 ? "\n      vertices " : " ", hull->vertex[k]);
        }
        printf("\n");
    }
}

static void compare(const trial *t, tally *out) {
    cri_narrow_touch touch;
    memset(&touch, 0xff, sizeof touch);
    cri_distance(t->shape, t->pose, &touch);
    if (!is_finite_touch(&touch)) {
        out->n_nan++;
        return;
    }
    brute_distance oracle = brute_distance_of(t->shape, t->pose);
    double truth = oracle.value;
    double length = cri_v3_norm(touch.normal);
    if (truth < 0.0 && fabs(length - 1.0) < 1e-9) {
        double along = brute_separation(t->shape, t->pose, touch.normal);
        out->n_oracle += along > truth + DEPTH_LIMIT;
        truth = fmax(truth, along);
    }
    bool is_apart = truth > 0.0;
    double error = fabs(touch.gap - truth);
    out->n_apart += is_apart;
    out->n_overlap += !is_apart;
    out->n_sign += fabs(truth) > SIGN_FLOOR && (touch.gap > 0.0) != is_apart;
    out->gap = is_apart ? fmax(out->gap, error) : out->gap;
    out->depth = is_apart ? out->depth : fmax(out->depth, error);
    out->n_longer += !is_apart && error > DEPTH_LIMIT;
    if (error > (is_apart ? GAP_LIMIT : DEPTH_LIMIT)) {
        print_trial(t, touch.gap, truth);
    }
    cri_vec3 span = cri_v3_sub(touch.point[1], touch.point[0]);
    double miss = cri_v3_norm(cri_v3_mad(span, -touch.gap, touch.normal));
    out->witness = fmax(out->witness, fmax(miss, fabs(length - 1.0)));
    for (int i = 0; i < 2; i++) {
        out->off = fmax(out->off, distance_off(t, i, touch.point[i]));
    }
}

// ---- output ------------------------------------------------------------------------------------

static void print_head(FILE *file, int n, bool is_table) {
    if (is_table) {
        fprintf(
            file,
            "# Distances of shapes\n\n"
            "Signed distances of `cri_distance` against a brute-force oracle that shares no code "
            "with it\n(`test/support/brute_distance.c`), made by\n\n"
            "    build/release/test/collide_sweep %d --table docs/collision.md\n\n"
            "Each row has %d random pairs with sizes 0.05 to 1 m, from deep overlap to two sizes "
            "apart, a fifth\nof them with parallel axes, a fifth within 1 mm of touching. Errors "
            "are the worst of all, in m;\n\"witness\" is |p1 - p0 - gap n|, \"off\" how far a "
            "witness point lies outside its shape.\n\nA depth error above 1e-10 m is a deep "
            "overlap "
            "with two ways out that are nearly equally long, of which\nthe longer one was taken; "
            "the "
            "error is the difference. The touch is a proper one all the same.\n\n",
            n, n);
    }
    fprintf(file,
            "| pair | apart | overlap | gap error | depth error | wrong signs | NaN | witness "
            "| off |\n|---|---|---|---|---|---|---|---|---|\n");
}

static void print_row(FILE *file, const cri_shape_kind kind[2], const tally *t) {
    fprintf(file, "| %s, %s | %d | %d | %.1e | %.1e | %d | %d | %.1e | %.1e |\n",
            shape_kind_name(kind[0]), shape_kind_name(kind[1]), t->n_apart, t->n_overlap, t->gap,
            t->depth, t->n_sign, t->n_nan, t->witness, t->off);
}

static bool is_good(const tally *t) {
    return t->n_sign == 0 && t->n_nan == 0 && t->gap <= GAP_LIMIT && t->depth <= LONGER_LIMIT &&
           LONGER_SHARE * t->n_longer <= t->n_overlap && t->witness <= WITNESS_LIMIT &&
           t->off <= WITNESS_LIMIT;
}

static bool sweep(int n, const cri_shape_kind kind[2], cr_arena *arena, FILE *table) {
    cr_test_rng rng = cr_test_rng_of((uint64_t)(100 * kind[0] + kind[1]));
    tally total = {0};
    for (int i = 0; i < n; i++) {
        trial t;
        cri_arena_reset(arena);
        // planes come first, the others in any order
        bool is_swapped = kind[0] != CRI_SHAPE_PLANE && i % 2 == 1;
        const cri_shape_kind order[2] = {kind[is_swapped], kind[!is_swapped]};
        make_trial(&rng, order, arena, &t);
        compare(&t, &total);
    }
    print_row(stdout, kind, &total);
    fflush(stdout);
    if (total.n_oracle > 0) {
        printf("    the oracle was worse in %d\n", total.n_oracle);
    }
    if (table) {
        print_row(table, kind, &total);
    }
    return is_good(&total);
}

int main(int argc, char **argv) {
    int n = 200;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--table") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else {
            n = atoi(argv[i]);
        }
    }
    FILE *table = path ? fopen(path, "w") : NULL;
    cr_arena *arena = cri_arena_create(1 << 16);
    if (n < 1 || (path && !table) || !arena) {
        fprintf(stderr, "usage: collide_sweep [N] [--table FILE]\n");
        return 2;
    }
    print_head(stdout, n, false);
    if (table) {
        print_head(table, n, true);
    }
    bool is_all_good = true;
    for (int a = CRI_SHAPE_PLANE; a < CRI_SHAPE_FIELD; a++) {
        for (int b = a == CRI_SHAPE_PLANE ? CRI_SHAPE_SPHERE : a; b < CRI_SHAPE_FIELD; b++) {
            const cri_shape_kind kind[2] = {a, b};
            is_all_good = sweep(n, kind, arena, table) && is_all_good;
        }
    }
    cri_arena_destroy(arena);
    if (table && fclose(table) != 0) {
        fprintf(stderr, "collide_sweep: %s cannot be written\n", path);
        return 1;
    }
    printf("%s\n", is_all_good ? "within the limits" : "BEYOND THE LIMITS");
    return is_all_good ? 0 : 1;
}
