// SPDX-License-Identifier: MIT
//
// Smoothed derivatives of the cone programme in its own units.
//
//   A~ = r A r,  c~ = r c/k,  l~ = l/(r k),  f = k r f~,    r_i = sqrt(3/trace A_ii), k = |data|
//   df = r D(r (dA f + dc), k dmu, dl/r),    D: derivative on the path of (A~, c~, mu, l~), linear
//
// Energies scale with k^2, so the path's parameter is kappa k^2 in joules; it and the scales are
// constants for the derivative. A solve that follows another has at least the k of that, or the
// little that is left to do would hardly be smoothed. dA meets the impulse f of the solution, not
// the path's own: that of redundant contacts is another one, and who applies f to bodies has to
// apply the same.

#include "solvers/cone_qp.h"

#include "base/base.h"
#include "solvers/friction_parts.h"

#include <math.h>
#include <string.h>

size_t cri_cone_smooth_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return cri_cone_path_bytes(n) + cri_friction_scale_bytes(n) +
           sizeof(double) * (m * m + 4 * m + 2 * (size_t)n) + 256;
}

bool cri_cone_smooth_at(const cri_friction *p, double kappa, double k_least, const double *f,
                        cri_cone_smooth *out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && kappa > 0.0 && k_least >= 0.0 && f && out && keep != scratch);
    int n = p->n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_scaled s = cri_friction_scale(p, f, scratch);
    double *A = CR_PUSH_RAW(keep, double, m *m + 2 * n), *l = A + m * m, *r = l + n;
    memcpy(A, s.A, sizeof *A * (size_t)m * (size_t)m);
    for (int i = 0; i < n; i++) {
        r[i] = sqrt(cri_friction_rho(p, i));
    }
    *out = (cri_cone_smooth){.r = r, .k = fmax(k_least, s.r[0] / r[0])};
    double share = s.r[0] / r[0] / out->k;
    for (int i = 0; i < m; i++) {
        s.c[i] *= share;
        s.g[i] *= share;
    }
    for (int i = 0; i < n; i++) {
        l[i] = s.l[i] *= share;
    }
    cri_friction scaled = cri_scaled_problem(&s);
    bool is_centred = cri_cone_path_at(&scaled, kappa, s.g, &out->path, keep, scratch);
    cri_arena_rewind(scratch, mark);
    // the derivatives do not read c
    out->scaled = (cri_friction){.kind = p->kind, .n = n, .A = A, .mu = p->mu, .l = l};
    return is_centred;
}

void cri_cone_smooth_vjp(const cri_cone_smooth *smooth, const double *f_adj, double *p,
                         double *mu_adj, double *l_adj, cr_arena *scratch) {
    CR_ASSERT(smooth->path.n > 0 && f_adj && p);
    int n = smooth->path.n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *scaled_adj = CR_PUSH_RAW(scratch, double, m);
    double *mu_inc = CR_PUSH(scratch, double, 2 * n), *l_inc = mu_inc + n;
    // df = r D(...)
    for (int i = 0; i < m; i++) {
        scaled_adj[i] = smooth->r[i / 3] * f_adj[i];
    }
    cri_cone_path_vjp(&smooth->scaled, &smooth->path, scaled_adj, p, mu_inc, l_inc, scratch);
    // D(r (dA f + dc), k dmu, dl/r)
    for (int i = 0; i < m; i++) {
        p[i] *= smooth->r[i / 3];
    }
    for (int i = 0; i < n; i++) {
        mu_adj[i] += smooth->k * mu_inc[i];
        l_adj[i] += l_inc[i] / smooth->r[i];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_cone_smooth_jvp(const cri_cone_smooth *smooth, const double *rhs, const double *mu_tan,
                         const double *l_tan, double *f_tan, cr_arena *scratch) {
    CR_ASSERT(smooth->path.n > 0 && rhs && f_tan);
    int n = smooth->path.n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *scaled = CR_PUSH_RAW(scratch, double, m + 2 * n), *mu = scaled + m, *l = mu + n;
    for (int i = 0; i < m; i++) {
        scaled[i] = smooth->r[i / 3] * rhs[i];
    }
    for (int i = 0; i < n; i++) {
        mu[i] = smooth->k * mu_tan[i];
        l[i] = l_tan[i] / smooth->r[i];
    }
    cri_cone_path_jvp(&smooth->scaled, &smooth->path, scaled, mu, l, f_tan, scratch);
    for (int i = 0; i < m; i++) {
        f_tan[i] *= smooth->r[i / 3];
    }
    cri_arena_rewind(scratch, mark);
}
