// SPDX-License-Identifier: MIT
//
// The certificate of a contact law: with u = A f + c and rho = 3/trace A_ii, for every contact
//
//   |f - P(f - rho u)| <= 1e-10 (|f| + rho max(|b|, |c|)) + 64 eps rho (|A||f|)
//                         + (2 + mu) rho 1e-12 m/s
//
// The bracket is at least rho 1e-6 of the largest speed: a contact at rest has no scale of its own.
// |f| counts up to rho 1e8 of it: masses may differ by 1e6, but an impulse that runs away to
// infinity, where no solution exists, must not hide its miss behind its own size.
// The second term is the rounding of f itself, through cancellation at great mass ratios. The third
// is a speed of 1e-12 m/s in each row, as P turns it into impulse: a kilogram at room temperature
// trembles with 6e-11 m/s, so that no law of rigid bodies says anything about it.
//
//   laws           P                                                  one phase: c_n = b_n - t,
//   ncp, -poisson  p_n = max(l, z_n), z_t cut to the disc mu p_n      t = max(e max(0, -b_n), v*),
//   lcp            the same with the octagon of d_k at 45 k degrees   t = v* for plain contacts
//   cone, -reg     nearest point of |p_t| <= mu p_n, p_n >= l
//
// Two phases, when the law reports a compression f_c: c = b, l = 0 for f_c, then
// c = A f_c + b - v* e_n, l = e f_c,n (0 for plain contacts) for f - f_c, and |f_c| + |f - f_c| in
// place of |f|: the same impulse is not judged harder because it has come in two parts. Where v*
// counts, tangents are less the drift of the problem, if it has one. A law that shifts the diagonal
// of A is judged with it.

#include "bench/certificate.h"

#include "base/base.h"

#include <float.h>
#include <math.h>
#include <string.h>

// m/s, see above
static const long double no_speed = 1e-12L;

typedef enum kind {
    DISC,
    OCTAGON,
    CONE,
} kind;

static const struct {
    const char *name;
    kind kind;
} laws[] = {
    {"ncp", DISC}, {"ncp-poisson", DISC}, {"lcp", OCTAGON}, {"cone", CONE}, {"cone-reg", CONE},
};

/// One phase of a law.
typedef struct phase {
    kind kind;
    const cri_contact_problem *problem;
    const double *shift;       // (n) or NULL
    const double *f;           // (3n) what is judged, less the compression
    const double *compression; // (3n) NULL in the first phase
    bool is_newton;            // the normal row has restitution
    long double largest;       // speed
} phase;

static int find(const char *law) {
    for (int i = 0; i < (int)(sizeof laws / sizeof laws[0]); i++) {
        if (strcmp(laws[i].name, law) == 0) {
            return i;
        }
    }
    return -1;
}

bool cri_certificate_knows(const char *law) {
    return find(law) >= 0;
}

static long double norm(const long double a[3]) {
    return sqrtl(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// ---- projections -------------------------------------------------------------------------------

// x cut to the disc
static void cut_disc(long double radius, long double x[2]) {
    long double r = hypotl(x[0], x[1]);
    if (r > radius) {
        x[0] *= radius / r;
        x[1] *= radius / r;
    }
}

// the nearest point of the octagon with corners at 45 k degrees, by trying every side
static void cut_octagon(long double radius, long double x[2]) {
    const long double h = sqrtl(0.5L);
    const long double d[9][2] = {{1, 0},   {h, h},  {0, 1},  {-h, h}, {-1, 0},
                                 {-h, -h}, {0, -1}, {h, -h}, {1, 0}};
    long double nearest = INFINITY, best[2] = {0.0L, 0.0L};
    bool is_inside = true;
    for (int k = 0; k < 8; k++) {
        long double side[2] = {d[k + 1][0] - d[k][0], d[k + 1][1] - d[k][1]};
        long double from[2] = {x[0] - radius * d[k][0], x[1] - radius * d[k][1]};
        is_inside = is_inside && side[0] * from[1] - side[1] * from[0] >= 0.0L;
        long double length2 = radius * (side[0] * side[0] + side[1] * side[1]);
        long double t = length2 > 0.0L ? (side[0] * from[0] + side[1] * from[1]) / length2 : 0.0L;
        t = fminl(1.0L, fmaxl(0.0L, t));
        long double p[2] = {radius * (d[k][0] + t * side[0]), radius * (d[k][1] + t * side[1])};
        long double distance = hypotl(x[0] - p[0], x[1] - p[1]);
        if (distance < nearest) {
            nearest = distance;
            memcpy(best, p, sizeof best);
        }
    }
    if (!is_inside) {
        memcpy(x, best, sizeof best);
    }
}

// the nearest point of the cone above l: along the cone's side, but not below l
static void project_cone(long double mu, long double l, long double p[3]) {
    long double r = hypotl(p[1], p[2]);
    if (p[0] < l || r > mu * p[0]) {
        long double side = (p[0] + mu * r) / (1.0L + mu * mu);
        // inside the slab above the disc at l nothing but the height changes
        p[0] = r <= mu * l ? l : fmaxl(l, side);
        cut_disc(mu * p[0], p + 1);
    }
}

static void project(kind k, long double mu, long double l, long double p[3]) {
    if (k == CONE) {
        project_cone(mu, l, p);
        return;
    }
    p[0] = fmaxl(l, p[0]);
    if (k == DISC) {
        cut_disc(mu * p[0], p + 1);
    } else {
        cut_octagon(mu * p[0], p + 1);
    }
}

void cri_certificate_project(const char *law, const long double z[3], double mu, long double l,
                             long double p[3]) {
    int k = find(law);
    CR_ASSERT(k >= 0);
    memcpy(p, z, 3 * sizeof *p);
    project(laws[k].kind, mu, l, p);
}

// ---- judgement ---------------------------------------------------------------------------------

// f less the compression
static long double impulse(const phase *ph, int i) {
    return (long double)ph->f[i] - (ph->compression ? (long double)ph->compression[i] : 0.0L);
}

// c and u = A f + c of row i; returns (|A||f|)_i
static long double row_of(const phase *ph, int i, long double *c, long double *u) {
    const cri_contact_problem *p = ph->problem;
    int m = 3 * p->n, k = i / 3;
    const double *row = p->A + (size_t)i * (size_t)m;
    long double before = p->b[i], moved = 0.0L, size = 0.0L;
    for (int j = 0; j < m; j++) {
        long double a = row[j];
        long double first = ph->compression ? (long double)ph->compression[j] : 0.0L;
        if (j == i && ph->shift) {
            a += ph->shift[k];
        }
        before += a * first;
        moved += a * impulse(ph, j);
        size += fabsl(a) * (fabsl(first) + fabsl(impulse(ph, j)));
    }
    bool takes_target = ph->compression || ph->is_newton;
    if (i % 3 != 0 && takes_target && p->drift) {
        before -= p->drift[i];
    }
    if (i % 3 == 0 && takes_target) {
        long double bounce = p->is_plain[k] || ph->compression
                                 ? -INFINITY
                                 : p->e[k] * fmaxl(0.0L, -(long double)p->b[i]);
        before -= fmaxl(bounce, p->target[k]);
    }
    *c = before;
    *u = before + moved;
    return size;
}

// a miss by its tolerance; what is not finite is infinitely wrong
static double ratio(long double miss, long double tolerance) {
    if (!isfinite(miss) || !isfinite(tolerance)) {
        return INFINITY;
    }
    return tolerance > 0.0L ? (double)(miss / tolerance) : miss > 0.0L ? INFINITY : 0.0;
}

// misses of contact i by its tolerance, with the absolute terms and without
static cri_certificate judge(const phase *ph, int i) {
    const cri_contact_problem *p = ph->problem;
    size_t m = 3 * (size_t)p->n, at = 3 * (size_t)i;
    long double trace = 0.0L, size = 0.0L, u[3], c[3], b[3], f[3], first[3], z[3];
    for (int r = 0; r < 3; r++) {
        trace += p->A[(at + (size_t)r) * (m + 1)] + (ph->shift ? ph->shift[i] : 0.0);
    }
    long double rho = trace > 0.0L ? 3.0L / trace : 1.0L;
    for (int r = 0; r < 3; r++) {
        size = fmaxl(size, row_of(ph, 3 * i + r, &c[r], &u[r]));
        b[r] = p->b[3 * i + r];
        f[r] = impulse(ph, 3 * i + r);
        first[r] = ph->compression ? ph->compression[3 * i + r] : 0.0;
        z[r] = f[r] - rho * u[r];
    }
    long double l = 0.0L;
    if (ph->compression && !p->is_plain[i]) {
        l = p->e[i] * fmaxl(0.0L, ph->compression[3 * i]);
    }
    project(ph->kind, p->mu[i], l, z);
    long double miss[3] = {f[0] - z[0], f[1] - z[1], f[2] - z[2]};
    long double own = fminl(norm(f) + norm(first), 1e8L * rho * ph->largest);
    long double scale = own + rho * fmaxl(norm(b), norm(c));
    scale = 1e-10L * fmaxl(scale, 1e-6L * rho * ph->largest);
    long double floor = 64.0L * DBL_EPSILON * rho * size + (2.0L + p->mu[i]) * rho * no_speed;
    return (cri_certificate){.residual = ratio(norm(miss), scale + floor),
                             .strict = ratio(norm(miss), scale),
                             .contact = i};
}

static void judge_all(const phase *ph, int number, cri_certificate *worst) {
    for (int i = 0; i < ph->problem->n; i++) {
        cri_certificate own = judge(ph, i);
        worst->strict = fmax(worst->strict, own.strict);
        if (own.residual > worst->residual) {
            worst->residual = own.residual;
            worst->contact = i;
            worst->phase = number;
        }
    }
}

cri_certificate cri_certificate_of(const char *law, const cri_contact_problem *p, const double *f,
                                   const double *compression, const double *shift) {
    int k = find(law);
    CR_ASSERT(k >= 0 && p->n > 0 && f);
    phase ph = {.kind = laws[k].kind, .problem = p, .shift = shift, .f = f};
    for (int i = 0; i < 3 * p->n; i++) {
        ph.largest = fmaxl(ph.largest, fmaxl(fabsl(p->b[i]), fabsl(p->target[i / 3])));
    }
    cri_certificate worst = {0};
    if (!compression) {
        ph.is_newton = true;
        judge_all(&ph, 0, &worst);
        return worst;
    }
    ph.f = compression;
    judge_all(&ph, 0, &worst);
    ph.f = f;
    ph.compression = compression;
    judge_all(&ph, 1, &worst);
    return worst;
}

cri_verdict cri_certificate_verdict(const cri_certificate *c) {
    // 1e-6 is 1e4 of the tolerance 1e-10
    return c->residual <= 1.0 ? CRI_SOLVED : c->residual <= 1e4 ? CRI_LOOSELY : CRI_UNSOLVED;
}

bool cri_trial_run(const cri_law *law, const cri_contact_problem *p, cri_trial *out, cr_arena *keep,
                   cr_arena *scratch) {
    CR_ASSERT(cri_certificate_knows(law->name));
    size_t n_byte = law->n_byte(p->n);
    double *f = CR_PUSH(keep, double, 3 * p->n);
    bool *is_sliding = CR_PUSH(keep, bool, p->n);
    if (!f || !is_sliding || !cri_arena_reserve(keep, n_byte) ||
        !cri_arena_reserve(scratch, n_byte)) {
        return false;
    }
    *out = (cri_trial){.report = {.margin = 1.0, .is_sliding = is_sliding}, .f = f};
    law->solve(p, f, false, &out->report, keep, scratch);
    out->certificate =
        cri_certificate_of(law->name, p, f, out->report.compression, out->report.shift);
    out->verdict = cri_certificate_verdict(&out->certificate);
    return true;
}
