// SPDX-License-Identifier: MIT
//
// The patch of a body with a fixed surface, in space. Contacts have places x in the plane of their
// tangents; the ends of the patch are the corners of their hull, one, two or more. Rows:
//
//   0, 1     the tangents, means over the ends
//   2        the twist, of lines and surfaces: half the difference of one tangent at two ends
//   3..      the normals of ends (2.. of a point)
//
// The velocities of two ends differ by omega x (x_b - x_a), so that the difference along tangent k
// is the spin about the normal times an arm; k is the one with the longer arm, the sign that of the
// spin. Coefficients of all rows are constants: places choose, they are in no number, and what
// varies with the pose does so through A and c.
//
// Of a surface nets see three ends, which come first: the rearmost along the slip, the one farthest
// from it, and the farthest from the line between, again the rearmost of those that are equally
// far; the others follow. What nets see of them: contact/ground_space.c.

#include "contact/ground.h"

#include "base/base.h"

#include <math.h>

// m: nearer is one place, narrower is a line
static const double same_place = 1e-6;
// distances that differ by less of themselves are equal
static const double same_size = 1e-6;

/// A corner of the patch.
typedef struct corner {
    double x[2];
    int contact; // one of those that are there
} corner;

static double cross(const double *o, const double *a, const double *b) {
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
}

static double distance(const double *a, const double *b) {
    return hypot(b[0] - a[0], b[1] - a[1]);
}

static bool is_before(const corner *a, const corner *b) {
    return a->x[0] < b->x[0] || (a->x[0] == b->x[0] && a->x[1] < b->x[1]);
}

// places without repetition, by their first coordinate
static int sort_places(const cri_contact_problem *p, corner *out) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        corner own = {{p->place[2 * i], p->place[2 * i + 1]}, i};
        bool is_new = true;
        for (int j = 0; j < n; j++) {
            is_new = is_new && distance(own.x, out[j].x) > same_place;
        }
        int at = is_new ? n++ : -1;
        for (; at > 0 && is_before(&own, &out[at - 1]); at--) {
            out[at] = out[at - 1];
        }
        if (at >= 0) {
            out[at] = own;
        }
    }
    return n;
}

// does b lie on the line from a to c, or inside?
static bool is_idle(const corner *a, const corner *b, const corner *c) {
    return cross(a->x, b->x, c->x) <= same_place * distance(a->x, c->x);
}

// corners of the hull (room for n + 1 of them), counter-clockwise
static int find_hull(int n, const corner *sorted, corner *hull) {
    int n_hull = 0, least = 1;
    for (int i = 0; i < n; i++) {
        while (n_hull > least && is_idle(&hull[n_hull - 2], &hull[n_hull - 1], &sorted[i])) {
            n_hull--;
        }
        hull[n_hull++] = sorted[i];
    }
    least = n_hull;
    for (int i = n - 2; i >= 0; i--) {
        while (n_hull > least && is_idle(&hull[n_hull - 2], &hull[n_hull - 1], &sorted[i])) {
            n_hull--;
        }
        hull[n_hull++] = sorted[i];
    }
    return n > 1 ? n_hull - 1 : n;
}

// moves corner from to place to
static void bring(corner *hull, int from, int to) {
    corner own = hull[from];
    hull[from] = hull[to];
    hull[to] = own;
}

// how far a corner is along the slip
static double ahead(const corner *own, const double *slip) {
    return own->x[0] * slip[0] + own->x[1] * slip[1];
}

// the ends that nets see come first
static void order(int n, const double *slip, corner *hull) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        best = ahead(&hull[i], slip) < ahead(&hull[best], slip) ? i : best;
    }
    bring(hull, best, 0);
    best = 1;
    for (int i = 2; i < n; i++) {
        double own = distance(hull[0].x, hull[i].x), most = distance(hull[0].x, hull[best].x);
        best = own > (1.0 + same_size) * most ? i : best;
    }
    if (n > 1) {
        bring(hull, best, 1);
    }
    best = 2;
    for (int i = 3; i < n; i++) {
        double own = fabs(cross(hull[0].x, hull[1].x, hull[i].x));
        double most = fabs(cross(hull[0].x, hull[1].x, hull[best].x));
        bool is_rear = ahead(&hull[i], slip) < ahead(&hull[best], slip);
        best = own > (1.0 + same_size) * most || (is_rear && own >= (1.0 - same_size) * most)
                   ? i
                   : best;
    }
    if (n > 3) {
        bring(hull, best, 2);
    }
}

// adds part times the mean of row r over the contacts at a corner
static void add_mean(const cri_contact_problem *p, const corner *at, int r, double weight,
                     double *row) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        n += distance(p->place + 2 * i, at->x) <= same_place;
    }
    for (int i = 0; i < p->n; i++) {
        bool is_there = distance(p->place + 2 * i, at->x) <= same_place;
        row[3 * i + r] += is_there ? weight / n : 0.0;
    }
}

static void fill_twist(const cri_contact_problem *p, const corner *a, const corner *b,
                       double *row) {
    double x = b->x[0] - a->x[0], y = b->x[1] - a->x[1];
    int r = fabs(y) > fabs(x) ? 1 : 2;
    double sign = r == 1 ? (y < 0.0 ? 1.0 : -1.0) : (x < 0.0 ? -1.0 : 1.0);
    add_mean(p, b, r, 0.5 * sign, row);
    add_mean(p, a, r, -0.5 * sign, row);
}

bool cri_ground_reduce_space(const cri_contact_problem *p, cri_ground *patch, cr_arena *keep) {
    int m = 3 * p->n;
    *patch = (cri_ground){.kind = CRI_GROUND_SPACE_POINT, .n = p->n, .n_tangent = 2, .n_row = 3};
    corner *sorted = CR_PUSH(keep, corner, p->n), *hull = CR_PUSH(keep, corner, 2 * p->n + 1);
    int n_end = find_hull(sort_places(p, sorted), sorted, hull);
    patch->R = CR_PUSH(keep, double, CRI_GROUND_ROWS *m);
    if (n_end > CRI_GROUND_ENDS) {
        return false;
    }
    double slip[2] = {0.0, 0.0};
    for (int r = 0; r < 2; r++) {
        double *row = patch->R + (size_t)r * (size_t)m;
        for (int i = 0; i < n_end; i++) {
            add_mean(p, &hull[i], r + 1, 1.0 / n_end, row);
        }
        for (int k = 0; k < m; k++) {
            slip[r] += row[k] * (p->b[k] - (p->drift ? p->drift[k] : 0.0));
        }
    }
    order(n_end, slip, hull);
    if (n_end > 1) {
        patch->kind = n_end > 2 ? CRI_GROUND_SPACE_SURFACE : CRI_GROUND_SPACE_LINE;
        patch->n_tangent = 3;
        fill_twist(p, &hull[0], &hull[1], patch->R + 2 * (size_t)m);
    }
    patch->n_row = patch->n_tangent + n_end;
    for (int i = 0; i < n_end; i++) {
        add_mean(p, &hull[i], 0, 1.0, patch->R + (size_t)(patch->n_tangent + i) * (size_t)m);
    }
    cri_ground_fill(p, patch);
    return true;
}
