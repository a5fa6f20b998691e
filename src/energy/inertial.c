// SPDX-License-Identifier: MIT
//
// With T = [R t] (3 x 4) and the second moments S = int rho (X, 1)(X, 1)' of the body (4 x 4),
//
//   E = tr(D S D')/(2 h^2) - g' T S e4,    D = T_next - 2 T_now + T_last
//   G = dE/dT_next = D S/h^2 - g (S e4)',  F = G e4,  N = G[:, :3] R_next'
//   S = [Sigma, m c; m c', m],             Sigma = tr(J)/2 - J + m c c'
//   Hess = int rho J' J/h^2 = [tr(Q) I - Q, [m R c]x; -[m R c]x, m I]/h^2,  Q = R Sigma R'
//
// which is exact for rigid bodies, with gyroscopic effects. Along a motion l = (w, v) of the next
// pose, L = [[w]x R_next, v], the number L : G has the derivatives
//
//   T_now -2 L S/h^2,  T_last L S/h^2,  g -L S e4,  S sym(L' D/h^2 - L' g e4')

#include "energy/inertial.h"

#include <string.h>

/// T = [R t], or a change of it.
static void matrix_of(const cri_pose *p, double T[12]) {
    for (int i = 0; i < 3; i++) {
        memcpy(T + 4 * i, p->R.m + 3 * i, 3 * sizeof *T);
    }
    T[3] = p->pos.x;
    T[7] = p->pos.y;
    T[11] = p->pos.z;
}

// [[w]x R, v]
static void motion_matrix(const cri_pose *p, const double motion[6], double L[12]) {
    cri_vec3 w = cri_v3_load(motion);
    for (int k = 0; k < 3; k++) {
        cri_vec3 column = cri_v3_cross(w, cri_v3(p->R.m[k], p->R.m[3 + k], p->R.m[6 + k]));
        L[k] = column.x;
        L[4 + k] = column.y;
        L[8 + k] = column.z;
        L[4 * k + 3] = motion[3 + k];
    }
}

// N = A[:, :3] R', F = A e4
static void affine_of(const cri_pose *p, const double A[12], double F[3], double N[9]) {
    for (int i = 0; i < 3; i++) {
        cri_v3_store(cri_m3_mul(&p->R, cri_v3_load(A + 4 * i)), N + 3 * i);
        F[i] = A[4 * i + 3];
    }
}

// the same as a force (6)
static void force_of(const cri_pose *p, const double A[12], double force[6]) {
    double N[9];
    affine_of(p, A, force + 3, N);
    force[0] = N[7] - N[5];
    force[1] = N[2] - N[6];
    force[2] = N[3] - N[1];
}

static void moments_of(const cri_link_derived *link, double S[16]) {
    const double *J = link->J, m = link->mass;
    double c[4] = {link->com.x, link->com.y, link->com.z, 1.0};
    double half = 0.5 * (J[0] + J[1] + J[2]);
    const double own[16] = {half - J[0], -J[3], -J[4],       0, -J[3], half - J[1], -J[5], 0,
                            -J[4],       -J[5], half - J[2], 0, 0,     0,           0,     0};
    for (int k = 0; k < 16; k++) {
        S[k] = own[k] + m * c[k / 4] * c[k % 4];
    }
}

// adds the link's part of an adjoint of S
static void moments_vjp(const cri_link_derived *link, const double A[16], cri_link_derived *adj) {
    double m = link->mass, c[4] = {link->com.x, link->com.y, link->com.z, 1.0}, Ac[4] = {0};
    for (int k = 0; k < 16; k++) {
        Ac[k / 4] += 0.5 * (A[k] + A[4 * (k % 4) + k / 4]) * c[k % 4];
    }
    // S = own(J) + m c c'
    adj->mass += c[0] * Ac[0] + c[1] * Ac[1] + c[2] * Ac[2] + Ac[3];
    adj->com = cri_v3_add(adj->com, cri_v3_scale(2.0 * m, cri_v3_load(Ac)));
    double half = 0.5 * (A[0] + A[5] + A[10]);
    adj->J[0] += half - A[0];
    adj->J[1] += half - A[5];
    adj->J[2] += half - A[10];
    adj->J[3] -= A[1] + A[4];
    adj->J[4] -= A[2] + A[8];
    adj->J[5] -= A[6] + A[9];
}

static void moments_jvp(const cri_link_derived *link, const cri_link_derived *tan, double S[16]) {
    double c[4] = {link->com.x, link->com.y, link->com.z, 1.0};
    double d[4] = {tan->com.x, tan->com.y, tan->com.z, 0.0};
    cri_link_derived own = {.J = {0}};
    memcpy(own.J, tan->J, sizeof own.J);
    moments_of(&own, S);
    for (int k = 0; k < 16; k++) {
        S[k] += tan->mass * c[k / 4] * c[k % 4] +
                link->mass * (c[k / 4] * d[k % 4] + d[k / 4] * c[k % 4]);
    }
}

// out (3 x 4) += s A S
static void add_product(double s, const double A[12], const double S[16], double out[12]) {
    for (int k = 0; k < 12; k++) {
        const double *a = A + 4 * (k / 4), *b = S + k % 4;
        out[k] += s * (a[0] * b[0] + a[1] * b[4] + a[2] * b[8] + a[3] * b[12]);
    }
}

static void difference_of(const cri_inertial_path *path, double D[12]) {
    double now[12], last[12];
    matrix_of(path->next, D);
    matrix_of(path->now, now);
    matrix_of(path->last, last);
    for (int k = 0; k < 12; k++) {
        D[k] = (D[k] - now[k]) - (now[k] - last[k]);
    }
}

void cri_inertial_energy(const cri_link_derived *link, const cri_inertial_path *path,
                         cri_inertial_force *out) {
    double S[16], D[12], T[12], G[12] = {0};
    double h2 = path->h * path->h;
    moments_of(link, S);
    difference_of(path, D);
    matrix_of(path->next, T);
    add_product(1.0 / h2, D, S, G);
    out->value = 0.0;
    for (int k = 0; k < 12; k++) {
        out->value += 0.5 * D[k] * G[k] - path->gravity[k / 4] * T[k] * S[4 * (k % 4) + 3];
    }
    for (int k = 0; k < 12; k++) {
        G[k] -= path->gravity[k / 4] * S[4 * (k % 4) + 3];
    }
    affine_of(path->next, G, out->F, out->N);
}

void cri_inertial_energy_vjp(const cri_link_derived *link, const cri_inertial_path *path,
                             const double motion[6], cri_inertial_adj *adj) {
    double S[16], D[12], L[12], LS[12] = {0}, A[16] = {0}, force[6];
    double h2 = path->h * path->h;
    moments_of(link, S);
    difference_of(path, D);
    motion_matrix(path->next, motion, L);
    add_product(1.0, L, S, LS);

    // T_now, T_last, g
    force_of(path->now, LS, force);
    for (int k = 0; k < 6; k++) {
        adj->now[k] -= 2.0 / h2 * force[k];
    }
    force_of(path->last, LS, force);
    for (int k = 0; k < 6; k++) {
        adj->last[k] += force[k] / h2;
    }
    for (int i = 0; i < 3; i++) {
        adj->gravity[i] -= LS[4 * i + 3];
    }

    // S
    for (int k = 0; k < 16; k++) {
        for (int i = 0; i < 3; i++) {
            double d = D[4 * i + k % 4] / h2 - (k % 4 == 3 ? path->gravity[i] : 0.0);
            A[k] += L[4 * i + k / 4] * d;
        }
    }
    moments_vjp(link, A, &adj->link);
}

void cri_inertial_energy_jvp(const cri_link_derived *link, const cri_inertial_path *path,
                             const cri_inertial_tan *tan, double force[6]) {
    double S[16], S_tan[16], D[12], M[12], G[12] = {0};
    double h2 = path->h * path->h;
    moments_of(link, S);
    motion_matrix(path->now, tan->now, M);
    add_product(-2.0 / h2, M, S, G);
    motion_matrix(path->last, tan->last, M);
    add_product(1.0 / h2, M, S, G);
    for (int k = 0; tan->gravity && k < 12; k++) {
        G[k] -= tan->gravity[k / 4] * S[4 * (k % 4) + 3];
    }
    if (tan->link) {
        moments_jvp(link, tan->link, S_tan);
        difference_of(path, D);
        add_product(1.0 / h2, D, S_tan, G);
        for (int k = 0; k < 12; k++) {
            G[k] -= path->gravity[k / 4] * S_tan[4 * (k % 4) + 3];
        }
    }
    force_of(path->next, G, force);
}

void cri_inertial_hessian(const cri_link_derived *link, const cri_pose *next, double h,
                          double H[36]) {
    double S[16], inv = 1.0 / (h * h);
    moments_of(link, S);
    cri_mat3 Sigma = {{S[0], S[1], S[2], S[4], S[5], S[6], S[8], S[9], S[10]}};
    cri_mat3 half = cri_m3_product(&next->R, &Sigma);
    double Q[9];
    for (int k = 0; k < 9; k++) {
        Q[k] = cri_v3_dot(cri_v3_load(half.m + 3 * (k / 3)), cri_v3_load(next->R.m + 3 * (k % 3)));
    }
    cri_vec3 a = cri_v3_scale(link->mass, cri_m3_mul(&next->R, link->com));
    const double cross[9] = {0, -a.z, a.y, a.z, 0, -a.x, -a.y, a.x, 0};
    for (int k = 0; k < 9; k++) {
        int i = k / 3, j = k % 3;
        H[6 * i + j] = inv * ((i == j ? Q[0] + Q[4] + Q[8] : 0.0) - Q[3 * j + i]);
        H[6 * i + 3 + j] = inv * cross[k];
        H[6 * (3 + i) + j] = -inv * cross[k];
        H[6 * (3 + i) + 3 + j] = i == j ? inv * link->mass : 0.0;
    }
}
