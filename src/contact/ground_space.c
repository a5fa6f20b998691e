// SPDX-License-Identifier: MIT
//
// What nets see of the patch of a body with a fixed surface, in space: two tangents, the twist of
// lines and surfaces, and the normals of ends (contact/ground_corners.c).
//
// They see it along its slip, so that they need not learn that friction has no direction of
// its own: with (cos, sin) = (c_0, c_1)/|c_t|, a the mean of A over the ends, and d = sqrt(a/A_22),
//
//   T = [cos sin; -m sin, m cos] on the tangents, m d on the twist, 1 on normals
//   B = T A T',   y = T c
//   s = sum |y_i|,   N = sum over ends |y_i| + 0.0001 s
//   y_i/s but y_1, which is zero;  y_i/N of ends;  B_ij/a but B_22 = a and, of a point, B_nn = a;
//   log(0.01 + s);  h, what would bring these rows to rest (contact/ground_still.c)
//
// m = +-1 mirrors, so that the twist is not negative (of a point, B_1n). They say impulses h in the
// same frame, g = T' h, counted in closing/a, closing = the mean of max(0, -c_i) over all ends: no
// kink where these close alike, as those of a body that lies flat. Of a surface they see the first
// three ends. Where nothing slips the frame is that of the tangents, and its derivative is taken to
// be zero.

#include "contact/ground.h"

#include "base/base.h"
#include "contact/ground_still.h"

#include <math.h>
#include <string.h>

// normal speeds are told apart down to this part of all, as slow as they are in training
static const double part = 1e-4;
// speeds below it are slow, m/s
static const double slow = 0.01;

enum { LEAD = CRI_GROUND_LEAD };

// ---- the frame of the slip ---------------------------------------------------------------------

// mean of A over the ends that nets see
static double mean_of(const cri_ground *patch, const double *A) {
    int k = patch->n_row, first = patch->n_tangent, last = cri_ground_rows(patch->kind);
    double sum = 0.0;
    for (int i = first; i < last; i++) {
        for (int j = first; j < last; j++) {
            sum += A[i * k + j];
        }
    }
    return sum / ((last - first) * (last - first));
}

static void add_mean_adj(const cri_ground *patch, double mean_adj, double *A_adj) {
    int k = patch->n_row, first = patch->n_tangent, last = cri_ground_rows(patch->kind);
    for (int i = first; i < last; i++) {
        for (int j = first; j < last; j++) {
            A_adj[i * k + j] += mean_adj / ((last - first) * (last - first));
        }
    }
}

cri_ground_turn cri_ground_turn_of(const cri_ground *patch) {
    cri_ground_turn turn = {1.0, 0.0, 1.0, 1.0};
    int k = patch->n_row;
    if (patch->n_tangent < 2) {
        return turn;
    }
    double r = hypot(patch->c[0], patch->c[1]);
    if (r > 0.0) {
        turn.cosine = patch->c[0] / r;
        turn.sine = patch->c[1] / r;
    }
    if (patch->n_tangent > 2) {
        turn.side = patch->c[2] < 0.0 ? -1.0 : 1.0;
        turn.twist = turn.side * sqrt(mean_of(patch, patch->A) / patch->A[2 * (k + 1)]);
    } else {
        bool is_right = turn.cosine * patch->A[k + 2] < turn.sine * patch->A[2];
        turn.side = is_right ? -1.0 : 1.0;
    }
    return turn;
}

void cri_ground_turn_of_vjp(const cri_ground *patch, const cri_ground_turn *adj, double *A_adj,
                            double *c_adj) {
    if (patch->n_tangent < 2) {
        return;
    }
    cri_ground_turn turn = cri_ground_turn_of(patch);
    double r = hypot(patch->c[0], patch->c[1]);
    // cos, sin of the angle of (c_0, c_1)
    double angle_adj = turn.cosine * adj->sine - turn.sine * adj->cosine;
    if (r > 0.0) {
        c_adj[0] -= angle_adj * turn.sine / r;
        c_adj[1] += angle_adj * turn.cosine / r;
    }
    // twist = sqrt(a/A_22)
    if (patch->n_tangent > 2) {
        double a = mean_of(patch, patch->A), half = 0.5 * adj->twist * turn.twist;
        A_adj[2 * (patch->n_row + 1)] -= half / patch->A[2 * (patch->n_row + 1)];
        add_mean_adj(patch, half / a, A_adj);
    }
}

cri_ground_turn cri_ground_turn_of_jvp(const cri_ground *patch, const double *A_tan,
                                       const double *c_tan) {
    cri_ground_turn tan = {0.0, 0.0, 0.0, 0.0};
    if (patch->n_tangent < 2) {
        return tan;
    }
    cri_ground_turn turn = cri_ground_turn_of(patch);
    tan.side = turn.side;
    double r = hypot(patch->c[0], patch->c[1]);
    double angle_tan = r > 0.0 ? (turn.cosine * c_tan[1] - turn.sine * c_tan[0]) / r : 0.0;
    tan.cosine = -turn.sine * angle_tan;
    tan.sine = turn.cosine * angle_tan;
    if (patch->n_tangent > 2) {
        int at = 2 * (patch->n_row + 1);
        double a = mean_of(patch, patch->A);
        tan.twist = 0.5 * turn.twist * (mean_of(patch, A_tan) / a - A_tan[at] / patch->A[at]);
    }
    return tan;
}

void cri_ground_turn_back(const cri_ground *patch, const cri_ground_turn *turn, double *g) {
    if (patch->n_tangent < 2) {
        return;
    }
    double along = g[0], across = turn->side * g[1];
    g[0] = turn->cosine * along - turn->sine * across;
    g[1] = turn->sine * along + turn->cosine * across;
    g[2] *= patch->n_tangent > 2 ? turn->twist : 1.0;
}

// ---- inputs ------------------------------------------------------------------------------------

/// What inputs are made of, or its adjoint or tangent.
typedef struct seen {
    double B[LEAD * LEAD]; // (k, k)
    double y[LEAD];        // y_0 = |c_t|, y_1 = 0
    double s, N, a, closing;
} seen;

// T (k, k)
static void matrix_of(const cri_ground_turn *turn, int n_tangent, int k, double one, double *T) {
    memset(T, 0, sizeof *T * (size_t)(k * k));
    for (int i = n_tangent; i < k; i++) {
        T[i * (k + 1)] = one;
    }
    T[0] = turn->cosine;
    T[1] = turn->sine;
    T[k] = -turn->side * turn->sine;
    T[k + 1] = turn->side * turn->cosine;
    if (n_tangent > 2) {
        T[2 * (k + 1)] = turn->twist;
    }
}

// out (k, k) += X M Y' with M's rows n apart
static void add_product(int k, const double *X, int n, const double *M, const double *Y,
                        double *out) {
    double XM[LEAD * LEAD] = {0.0};
    CR_ASSERT(k <= LEAD);
    for (int i = 0; i < k * k; i++) {
        for (int l = 0; l < k; l++) {
            XM[i] += X[i / k * k + l] * M[l * n + i % k];
        }
    }
    for (int i = 0; i < k * k; i++) {
        for (int l = 0; l < k; l++) {
            out[i] += XM[i / k * k + l] * Y[i % k * k + l];
        }
    }
}

// mean of max(0, -c_i) over all ends, along c_tan: c itself, or its tangent
static double closing_of(const cri_ground *patch, const double *c_tan) {
    double sum = 0.0;
    for (int i = patch->n_tangent; i < patch->n_row; i++) {
        sum -= patch->c[i] < 0.0 ? c_tan[i] : 0.0;
    }
    return sum / (patch->n_row - patch->n_tangent);
}

static void add_closing_adj(const cri_ground *patch, double closing_adj, double *c_adj) {
    for (int i = patch->n_tangent; i < patch->n_row; i++) {
        c_adj[i] -= patch->c[i] < 0.0 ? closing_adj / (patch->n_row - patch->n_tangent) : 0.0;
    }
}

static seen look(const cri_ground *patch) {
    int k = cri_ground_rows(patch->kind), first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch);
    double T[LEAD * LEAD] = {0}, ends = 0.0;
    matrix_of(&turn, first, k, 1.0, T);
    seen at = {.a = mean_of(patch, patch->A)};
    add_product(k, T, patch->n_row, patch->A, T, at.B);
    at.y[0] = hypot(patch->c[0], patch->c[1]);
    if (first > 2) {
        at.y[2] = turn.twist * patch->c[2];
    }
    at.s = at.y[0] + fabs(at.y[2]) * (first > 2 ? 1.0 : 0.0);
    for (int i = first; i < k; i++) {
        at.y[i] = patch->c[i];
        ends += fabs(at.y[i]);
    }
    at.s += ends;
    at.N = ends + part * at.s;
    at.closing = closing_of(patch, patch->c);
    return at;
}

static double sign_of(double x) {
    return x < 0.0 ? -1.0 : 1.0;
}

// is B_ij an input?
static bool is_input(const cri_ground *patch, int i, int j) {
    bool is_twist = i == 2 && j == 2 && patch->n_tangent > 2;
    bool is_mean = i == 2 && j == 2 && patch->kind == CRI_GROUND_SPACE_POINT;
    return j >= i && !is_twist && !is_mean;
}

double cri_ground_space_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]) {
    int k = cri_ground_rows(patch->kind), at = 0;
    seen is = look(patch);
    CR_ASSERT(is.s > 0.0 && is.a > 0.0);
    for (int i = 0; i < k; i++) {
        if (i != 1) {
            input[at++] = is.y[i] / is.s;
        }
    }
    for (int i = patch->n_tangent; i < k; i++) {
        input[at++] = is.y[i] / is.N;
    }
    for (int i = 0; i < k * k; i++) {
        if (is_input(patch, i / k, i % k)) {
            input[at++] = is.B[i] / is.a;
        }
    }
    input[at++] = log(slow + is.s);
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    memcpy(input + at, still.h, sizeof *input * (size_t)k);
    CR_ASSERT(at + k == cri_ground_inputs(patch->kind));
    return is.closing / is.a;
}

// adjoints of B, y and a to A and c
static void look_back(const cri_ground *patch, const seen *is, const seen *adj, double *A_adj,
                      double *c_adj) {
    int k = cri_ground_rows(patch->kind), n = patch->n_row, first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch), turn_adj = {0.0, 0.0, 0.0, 0.0};
    double T[LEAD * LEAD] = {0}, both[LEAD * LEAD] = {0}, T_adj[LEAD * LEAD] = {0};
    matrix_of(&turn, first, k, 1.0, T);
    // B = T A T':  T_adj = (B_adj + B_adj') T A,  A_adj = T' B_adj T
    double eye[LEAD * LEAD] = {0}, turned[LEAD * LEAD] = {0}, Tt[LEAD * LEAD] = {0};
    for (int i = 0; i < k; i++) {
        eye[i * (k + 1)] = 1.0;
    }
    for (int i = 0; i < k * k; i++) {
        both[i] = adj->B[i] + adj->B[i % k * k + i / k];
        Tt[i] = T[i % k * k + i / k];
    }
    double TA[LEAD * LEAD] = {0};
    add_product(k, T, n, patch->A, eye, TA);
    add_product(k, both, k, TA, eye, T_adj);
    add_product(k, Tt, k, adj->B, Tt, turned);
    for (int i = 0; i < k * k; i++) {
        A_adj[i / k * n + i % k] += turned[i];
    }
    turn_adj.cosine = T_adj[0] + turn.side * T_adj[k + 1];
    turn_adj.sine = T_adj[1] - turn.side * T_adj[k];
    // y_0 = |c_t|,  y_2 = twist c_2
    c_adj[0] += is->y[0] > 0.0 ? turn.cosine * adj->y[0] : 0.0;
    c_adj[1] += is->y[0] > 0.0 ? turn.sine * adj->y[0] : 0.0;
    if (first > 2) {
        c_adj[2] += turn.twist * adj->y[2];
        turn_adj.twist = T_adj[2 * (k + 1)] + adj->y[2] * patch->c[2];
    }
    for (int i = first; i < k; i++) {
        c_adj[i] += adj->y[i];
    }
    add_mean_adj(patch, adj->a, A_adj);
    cri_ground_turn_of_vjp(patch, &turn_adj, A_adj, c_adj);
    add_closing_adj(patch, adj->closing, c_adj);
}

void cri_ground_space_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                                double *A_adj, double *c_adj) {
    int k = cri_ground_rows(patch->kind), at = cri_ground_inputs(patch->kind) - 1 - k;
    seen is = look(patch), adj = {.closing = scale_adj / is.a};

    // h
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    cri_ground_still_vjp(&still, input_adj + at + 1, adj.B, adj.y);

    // scale = closing/a
    adj.a = -scale_adj * is.closing / (is.a * is.a);

    // log(0.01 + s)
    adj.s = input_adj[at--] / (slow + is.s);

    // B_ij/a
    for (int i = k * k - 1; i >= 0; i--) {
        if (is_input(patch, i / k, i % k)) {
            adj.B[i] += input_adj[at] / is.a;
            adj.a -= input_adj[at--] * is.B[i] / (is.a * is.a);
        }
    }

    // y_i/N of ends
    for (int i = k - 1; i >= patch->n_tangent; i--, at--) {
        adj.y[i] += input_adj[at] / is.N;
        adj.N -= input_adj[at] * is.y[i] / (is.N * is.N);
    }

    // y_i/s
    for (int i = k - 1; i >= 0; i--) {
        if (i != 1) {
            adj.y[i] += input_adj[at] / is.s;
            adj.s -= input_adj[at--] * is.y[i] / (is.s * is.s);
        }
    }

    // N = sum over ends |y_i| + part s,  s = sum |y_i|
    adj.s += part * adj.N;
    for (int i = 0; i < k; i++) {
        double own = adj.s + (i >= patch->n_tangent ? adj.N : 0.0);
        adj.y[i] += i == 1 ? 0.0 : own * sign_of(is.y[i]);
    }
    look_back(patch, &is, &adj, A_adj, c_adj);
}

static seen look_moving(const cri_ground *patch, const seen *is, const double *A_tan,
                        const double *c_tan) {
    int k = cri_ground_rows(patch->kind), n = patch->n_row, first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch);
    cri_ground_turn turn_tan = cri_ground_turn_of_jvp(patch, A_tan, c_tan);
    double T[LEAD * LEAD] = {0}, T_tan[LEAD * LEAD] = {0}, ends = 0.0;
    matrix_of(&turn, first, k, 1.0, T);
    matrix_of(&turn_tan, first, k, 0.0, T_tan);
    seen tan = {.a = mean_of(patch, A_tan)};
    add_product(k, T, n, A_tan, T, tan.B);
    add_product(k, T_tan, n, patch->A, T, tan.B);
    add_product(k, T, n, patch->A, T_tan, tan.B);
    tan.y[0] = is->y[0] > 0.0 ? turn.cosine * c_tan[0] + turn.sine * c_tan[1] : 0.0;
    tan.s = tan.y[0];
    if (first > 2) {
        tan.y[2] = turn.twist * c_tan[2] + turn_tan.twist * patch->c[2];
        tan.s += sign_of(is->y[2]) * tan.y[2];
    }
    for (int i = first; i < k; i++) {
        tan.y[i] = c_tan[i];
        ends += sign_of(is->y[i]) * c_tan[i];
    }
    tan.s += ends;
    tan.N = ends + part * tan.s;
    tan.closing = closing_of(patch, c_tan);
    return tan;
}

double cri_ground_space_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                                  double input_tan[CRI_GROUND_INPUTS]) {
    int k = cri_ground_rows(patch->kind), at = 0;
    seen is = look(patch), tan = look_moving(patch, &is, A_tan, c_tan);
    for (int i = 0; i < k; i++) {
        if (i != 1) {
            input_tan[at++] = (tan.y[i] - is.y[i] / is.s * tan.s) / is.s;
        }
    }
    for (int i = patch->n_tangent; i < k; i++) {
        input_tan[at++] = (tan.y[i] - is.y[i] / is.N * tan.N) / is.N;
    }
    for (int i = 0; i < k * k; i++) {
        if (is_input(patch, i / k, i % k)) {
            input_tan[at++] = (tan.B[i] - is.B[i] / is.a * tan.a) / is.a;
        }
    }
    input_tan[at++] = tan.s / (slow + is.s);
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    cri_ground_still_jvp(&still, tan.B, tan.y, input_tan + at);
    return (tan.closing - is.closing / is.a * tan.a) / is.a;
}
