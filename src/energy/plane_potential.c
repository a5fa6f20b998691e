// SPDX-License-Identifier: MIT
//
// P = min over |n| < 1, d of 12/(1 - |n|) + ell sum_k 1/(sigma_k (n . x_k + d))
//
// (long-range contact potential of triangles, eq. 3 there, with a length ell). For a fixed
// direction the length |n| = z is found in closed form, which leaves W of plane_pair.h:
//
//   z = sqrt(ell W)/(sqrt 12 + sqrt(ell W)),    P = (sqrt 12 + sqrt(ell W))^2
//
// Gradient in corner k: -sigma_k q_k n, q_k = ell/(z s_k^2). Second derivatives by the implicit
// function theorem; in the frame of the plane the length decouples from tilts and offset:
//
//   H = blockdiag(h_k n n') - c g g' - B A^-1 B',   h_k = 2 q_k/s_k,   c = (1 - z) z/(2 ell W)
//   A = (ell/z) (matrix of W, plane_pair.c),        B_k = h_k n (tau_k, 1)' - sigma_k q_k [t1 t2 0]
//
// Analytic while the triangles are apart, also for needles and points.
//
// Half-space: the lower corners at infinity within its face. The plane is then parallel to it, at a
// height delta:  W = min over delta of 3/delta + sum 1/(h_k - delta).

#include "energy/plane_potential.h"

#include <string.h>

static const double sqrt_12 = 3.46410161513775458705;
static const double sigma[6] = {1, 1, 1, -1, -1, -1};

void cri_plane_forces(const cri_plane_pair *plane, double ell, cri_plane_force *out) {
    double root = sqrt(ell * plane->W);
    double z = root / (sqrt_12 + root);
    double rest = sqrt_12 / (sqrt_12 + root); // 1 - z
    if (&out->plane != plane) {
        out->plane = *plane;
    }
    out->excess = root * (2.0 * sqrt_12 + root);
    out->value = 12.0 + out->excess;
    out->ratio = z / ell;
    out->scale = 0.5 * rest * out->ratio / plane->W;
    for (int k = 0; k < 6; k++) {
        double inverse = 1.0 / plane->s[k];
        out->q[k] = inverse * inverse / out->ratio;
        out->h[k] = 2.0 * out->q[k] * inverse;
    }
}

bool cri_plane_potential(const double x[18], double ell, const cri_plane_hint *hint, double *value,
                         double gradient[18], cri_plane_force *cache) {
    cri_vec3 corner[6];
    for (int k = 0; k < 6; k++) {
        corner[k] = cri_v3_load(x + 3 * k);
    }
    if (!cri_plane_solve(corner, hint, &cache->plane)) {
        *value = INFINITY;
        memset(gradient, 0, 18 * sizeof *gradient);
        return false;
    }
    cri_plane_forces(&cache->plane, ell, cache);
    *value = cache->value;
    for (int k = 0; k < 6; k++) {
        cri_v3_store(cri_v3_scale(-sigma[k] * cache->q[k], cache->plane.n), gradient + 3 * k);
    }
    return true;
}

/// out += H v, and returns g . v
static double add_product(const cri_plane_force *f, const double v[18], double out[18]) {
    const cri_plane_pair *p = &f->plane;
    double slope = 0.0, b[3] = {0}, z[3];
    for (int k = 0; k < 6; k++) {
        cri_vec3 w = cri_v3_load(v + 3 * k);
        double along = cri_v3_dot(p->n, w);
        double q = sigma[k] * f->q[k];
        slope -= q * along;
        b[0] += f->h[k] * p->tau[0][k] * along - q * cri_v3_dot(p->t1, w);
        b[1] += f->h[k] * p->tau[1][k] * along - q * cri_v3_dot(p->t2, w);
        b[2] += f->h[k] * along;
    }
    cri_plane_unwind(p, b, z);
    cri_vec3 turn = cri_v3_mad(cri_v3_scale(z[0], p->t1), z[1], p->t2);
    for (int k = 0; k < 6; k++) {
        double q = sigma[k] * f->q[k];
        double move = p->tau[0][k] * z[0] + p->tau[1][k] * z[1] + z[2];
        double along = cri_v3_dot(p->n, cri_v3_load(v + 3 * k)) - f->ratio * move;
        double normal = f->h[k] * along + f->scale * slope * q;
        cri_v3_accumulate(cri_v3_mad(cri_v3_scale(normal, p->n), q * f->ratio, turn), out + 3 * k);
    }
    return slope;
}

void cri_plane_potential_vjp(const cri_plane_force *cache, double value_adj,
                             const double gradient_adj[18], double x_adj[18]) {
    // value and gradient: g value_adj + H gradient_adj
    (void)add_product(cache, gradient_adj, x_adj);
    for (int k = 0; k < 6; k++) {
        double q = -sigma[k] * cache->q[k] * value_adj;
        cri_v3_accumulate(cri_v3_scale(q, cache->plane.n), x_adj + 3 * k);
    }
}

void cri_plane_potential_jvp(const cri_plane_force *cache, const double x_tan[18],
                             double *value_tan, double gradient_tan[18]) {
    memset(gradient_tan, 0, 18 * sizeof *gradient_tan);
    *value_tan = add_product(cache, x_tan, gradient_tan);
}

// ---- half-space --------------------------------------------------------------------------------

/// Height of the plane: root of a monotone function. A flat triangle has it in the middle, one that
/// stands on a corner at sqrt(3)/(1 + sqrt(3)) of the lowest height, others between.
static double half_plane_height(const double height[3], double lowest) {
    double low = 0.5 * lowest, high = 0.635 * lowest, x = low;
    for (int step = 0; step < 100; step++) {
        double f1 = -3.0 / (x * x), f2 = 6.0 / (x * x * x);
        for (int k = 0; k < 3; k++) {
            double inverse = 1.0 / (height[k] - x);
            f1 += inverse * inverse;
            f2 += 2.0 * inverse * inverse * inverse;
        }
        if (f1 > 0.0) {
            high = x;
        } else {
            low = x;
        }
        double next = x - f1 / f2;
        if (!(next >= low && next <= high)) {
            next = 0.5 * (low + high);
        }
        // Newton's last step squares a relative error of 1e-9
        bool is_last = fabs(next - x) <= 1e-9 * x;
        x = next;
        if (is_last) {
            break;
        }
    }
    return x;
}

bool cri_half_potential(const double height[3], double ell, cri_half_force *out) {
    memset(out, 0, sizeof *out);
    double lowest = fmin(height[0], fmin(height[1], height[2]));
    if (!(lowest > 0.0)) {
        out->value = INFINITY;
        out->excess = INFINITY;
        return false;
    }
    double x = half_plane_height(height, lowest);
    double W = 3.0 / x, curve = 6.0 / (x * x * x), slope[3], stiff[3];
    for (int k = 0; k < 3; k++) {
        double inverse = 1.0 / (height[k] - x);
        W += inverse;
        slope[k] = -inverse * inverse;
        stiff[k] = 2.0 * inverse * inverse * inverse;
        curve += stiff[k];
    }
    // P of W, and its derivatives
    double root = sqrt(ell * W);
    double P1 = ell * (1.0 + sqrt_12 / root);
    double P2 = -0.5 * sqrt_12 * ell * ell / (root * root * root);
    out->excess = root * (2.0 * sqrt_12 + root);
    out->value = 12.0 + out->excess;
    for (int i = 0; i < 3; i++) {
        out->g[i] = P1 * slope[i];
        for (int j = 0; j < 3; j++) {
            double bend = (i == j ? stiff[i] : 0.0) - stiff[i] * stiff[j] / curve;
            out->H[3 * i + j] = P1 * bend + P2 * slope[i] * slope[j];
        }
    }
    return true;
}

void cri_half_potential_vjp(const cri_half_force *cache, double value_adj, const double g_adj[3],
                            double height_adj[3]) {
    for (int i = 0; i < 3; i++) {
        const double *row = cache->H + 3 * i; // symmetric
        height_adj[i] += cache->g[i] * value_adj + row[0] * g_adj[0] + row[1] * g_adj[1];
        height_adj[i] += row[2] * g_adj[2];
    }
}

void cri_half_potential_jvp(const cri_half_force *cache, const double height_tan[3],
                            double *value_tan, double g_tan[3]) {
    *value_tan = 0.0;
    for (int i = 0; i < 3; i++) {
        const double *row = cache->H + 3 * i;
        *value_tan += cache->g[i] * height_tan[i];
        g_tan[i] = row[0] * height_tan[0] + row[1] * height_tan[1] + row[2] * height_tan[2];
    }
}

// ---- far away ----------------------------------------------------------------------------------

void cri_centred_potential(double L, double ell, double value[3]) {
    double rho = sqrt(ell / L);
    value[0] = 12.0 * rho * (2.0 + rho);
    value[1] = -12.0 * rho * (1.0 + rho) / L;
    value[2] = 12.0 * rho * (1.5 + 2.0 * rho) / (L * L);
}

void cri_blend_weight(double L, double d1, double d2, double phi[3]) {
    double width = d2 - d1;
    double t = fmin(fmax((L - d1) / width, 0.0), 1.0);
    phi[0] = t * t * t * (10.0 + t * (6.0 * t - 15.0));
    phi[1] = 30.0 * t * t * (1.0 - t) * (1.0 - t) / width;
    phi[2] = 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t) / (width * width);
}
