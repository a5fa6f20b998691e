// SPDX-License-Identifier: MIT
//
// Coulomb's law by polygons that know where friction points: the disc of each contact becomes
//
//   corners at   axis + (0, +-1, +-3) width,  axis +- 110 degrees,  axis + 180 degrees
//
// a linear complementarity problem (lcp.c), which Lemke's method solves whatever the start. Its
// friction is the next axis. A fan that has its friction within +-width narrows, so that the
// polygon becomes the disc where it matters; one that has not widens, up to an octagon's 22.5
// degrees. Nothing says that axes settle, and after four turns they go only half of the way; but
// classes do settle, mostly in one or two turns, and the point is then good enough for Newton's
// method.

#include "solvers/friction_fan.h"

#include "base/base.h"
#include "solvers/lcp.h"

#include <math.h>

enum { N_CORNER = 8 };
enum { N_FULL = 4 }; // turns before axes are held back

static const double widest = 0.39269908169872414; // radians
static const double narrowest = 1e-3;
static const double aside = 1.9198621771937625;
static const double half_turn = 3.1415926535897932;
// of the width, a factor a turn
static const double narrow = 0.4, widen = 2.5;

size_t cri_fans_bytes(int n) {
    return sizeof(double) * 18 * (size_t)n + 2 * cri_lcp_bytes(10 * n) + 256;
}

// the angle of friction; that of before where there is none
static double angle_of(const double *f, double before) {
    return f[1] != 0.0 || f[2] != 0.0 ? atan2(f[2], f[1]) : before;
}

cri_fans cri_fans_open(int n, const double *f, cr_arena *arena) {
    CR_ASSERT(n > 0 && f);
    cri_fans fans = {.n = n, .axis = CR_PUSH_RAW(arena, double, (2 + 2 * N_CORNER) * n)};
    fans.width = fans.axis + n;
    fans.corner = fans.width + n;
    for (int i = 0; i < n; i++) {
        fans.axis[i] = angle_of(f + 3 * i, 0.0);
        fans.width[i] = widest;
    }
    return fans;
}

static void set_corners(double axis, double width, double *corner) {
    const double angle[N_CORNER] = {0.0,          width, -width, 3.0 * width,
                                    -3.0 * width, aside, -aside, half_turn};
    for (int k = 0; k < N_CORNER; k++) {
        corner[2 * k] = cos(axis + angle[k]);
        corner[2 * k + 1] = sin(axis + angle[k]);
    }
}

void cri_fans_turn(cri_fans *fans, const cri_friction *p, double *f, cr_arena *scratch) {
    CR_ASSERT(fans->n == p->n && f && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    for (int i = 0; i < p->n; i++) {
        set_corners(fans->axis[i], fans->width[i], fans->corner + 2 * N_CORNER * i);
    }
    const cri_lcp lcp = cri_polygon_lcp(p, fans->corner, scratch);
    double *z = CR_PUSH_RAW(scratch, double, lcp.n);
    cri_lcp_lemke(&lcp, z, scratch);
    cri_polygon_impulse(p, fans->corner, z, f);
    for (int i = 0; i < p->n; i++) {
        double axis = angle_of(f + 3 * i, fans->axis[i]);
        double off = remainder(axis - fans->axis[i], 2.0 * half_turn);
        // a little more than the corner, for rounding
        bool is_within = fabs(off) <= 1.1 * fans->width[i];
        fans->width[i] = is_within ? fmax(narrowest, narrow * fans->width[i])
                                   : fmin(widest, widen * fans->width[i]);
        fans->axis[i] += (fans->n_turn < N_FULL ? 1.0 : 0.5) * off;
    }
    fans->n_turn++;
    cri_arena_rewind(scratch, mark);
}
