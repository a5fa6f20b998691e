// SPDX-License-Identifier: MIT
//
// Scenes of boxes for random contact problems, a function a family.
//
// The row of a direction D at point p of bodies i (and j, with the opposite sign) is
//
//   D.(v + w x r) = D.v + (r x D).w,   r = p - x
//
// Half lengths are 0.3 to 1 m, masses of one island spread over up to six decades.

#include "bench/problem_scene.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static const char *const names[CRI_N_FAMILY] = {"single", "patch", "redundant", "stack",
                                                "pile",   "chain", "wedge",     "limits"};

const char *cri_family_name(cri_family family) {
    CR_ASSERT(family >= CRI_FAMILY_NONE && family < CRI_N_FAMILY);
    return family == CRI_FAMILY_NONE ? "none" : names[family];
}

cri_family cri_family_find(const char *name) {
    for (int i = 0; i < CRI_N_FAMILY; i++) {
        if (strcmp(names[i], name) == 0) {
            return (cri_family)i;
        }
    }
    return CRI_FAMILY_NONE;
}

static void cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double a[3]) {
    double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    CR_ASSERT(size > 0.0);
    for (int i = 0; i < 3; i++) {
        a[i] /= size;
    }
}

static double chance(cri_random *r) {
    return cri_random_uniform(r, 0.0, 1.0);
}

static void draw_normal3(cri_random *r, double size, double a[3]) {
    for (int i = 0; i < 3; i++) {
        a[i] = size * cri_random_normal(r);
    }
}

static void draw_box3(cri_random *r, double half, double a[3]) {
    for (int i = 0; i < 3; i++) {
        a[i] = cri_random_uniform(r, -half, half);
    }
}

// ---- rows --------------------------------------------------------------------------------------

static void add_row(const cri_scene *s, int body, const double point[3], const double direction[3],
                    double sign, double *row) {
    if (body < 0) {
        return;
    }
    double arm[3], moment[3];
    for (int i = 0; i < 3; i++) {
        arm[i] = point[i] - s->body[body].x[i];
    }
    cross(arm, direction, moment);
    for (int i = 0; i < 3; i++) {
        row[6 * body + i] = sign * direction[i];
        row[6 * body + 3 + i] = sign * moment[i];
    }
}

void cri_scene_touch_rows(const cri_scene *s, int i, double *rows) {
    const cri_scene_touch *t = &s->touch[i];
    // tangents: across the axis that is least along the normal
    double frame[3][3], axis[3] = {0.0, 0.0, 0.0};
    int least = 0;
    for (int k = 1; k < 3; k++) {
        least = fabs(t->normal[k]) < fabs(t->normal[least]) ? k : least;
    }
    axis[least] = 1.0;
    memcpy(frame[0], t->normal, sizeof frame[0]);
    cross(frame[0], axis, frame[1]);
    normalise(frame[1]);
    cross(frame[0], frame[1], frame[2]);
    for (int r = 0; r < t->n_row; r++) {
        double *row = rows + (size_t)r * 6 * (size_t)s->n_body;
        add_row(s, t->body[0], t->point, frame[r], 1.0, row);
        add_row(s, t->body[1], t->point, frame[r], -1.0, row);
    }
}

void cri_scene_joint_rows(const cri_scene *s, int i, double *rows) {
    const cri_scene_joint *joint = &s->joint[i];
    for (int r = 0; r < 3; r++) {
        double axis[3] = {0.0, 0.0, 0.0};
        axis[r] = 1.0;
        double *row = rows + (size_t)r * 6 * (size_t)s->n_body;
        add_row(s, joint->body[0], joint->point, axis, 1.0, row);
        add_row(s, joint->body[1], joint->point, axis, -1.0, row);
    }
}

double cri_scene_mass_ratio(const cri_scene *s) {
    double least = INFINITY, most = 0.0;
    for (int i = 0; i < s->n_body; i++) {
        least = fmin(least, s->body[i].mass);
        most = fmax(most, s->body[i].mass);
    }
    return most / least;
}

// ---- bodies ------------------------------------------------------------------------------------

// Q (3, 3) of a random unit quaternion
static void draw_rotation(cri_random *r, double Q[9]) {
    double q[4], size = 0.0;
    for (int i = 0; i < 4; i++) {
        q[i] = cri_random_normal(r);
        size += q[i] * q[i];
    }
    CR_ASSERT(size > 0.0);
    double k = 2.0 / size, w = q[0], x = q[1], y = q[2], z = q[3];
    const double R[9] = {
        1.0 - k * (y * y + z * z), k * (x * y - w * z),       k * (x * z + w * y),
        k * (x * y + w * z),       1.0 - k * (x * x + z * z), k * (y * z - w * x),
        k * (x * z - w * y),       k * (y * z + w * x),       1.0 - k * (x * x + y * y)};
    memcpy(Q, R, sizeof R);
}

// turn = Q diag(1/I) Q', I of a box
static void set_inertia(cri_scene_body *body, const double Q[9]) {
    double inverse[3];
    for (int i = 0; i < 3; i++) {
        double a = body->size[(i + 1) % 3], c = body->size[(i + 2) % 3];
        inverse[i] = 3.0 / (body->mass * (a * a + c * c));
    }
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++) {
            double sum = 0.0;
            for (int k = 0; k < 3; k++) {
                sum += Q[3 * i + k] * inverse[k] * Q[3 * j + k];
            }
            body->turn[3 * i + j] = body->turn[3 * j + i] = sum;
        }
    }
}

// masses in order, upwards or downwards
static void sort_masses(cri_scene *s, double sign) {
    for (int i = 1; i < s->n_body; i++) {
        double mass = s->body[i].mass;
        int j = i;
        for (; j > 0 && sign * s->body[j - 1].mass > sign * mass; j--) {
            s->body[j].mass = s->body[j - 1].mass;
        }
        s->body[j].mass = mass;
    }
}

static void draw_bodies(cri_family family, cri_random *r, int n, cri_scene *s) {
    static const double unturned[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    bool is_turned =
        family == CRI_FAMILY_PILE || family == CRI_FAMILY_CHAIN || family == CRI_FAMILY_SINGLE;
    double half = n > 1 ? cri_random_uniform(r, 0.0, 3.0) : 3.0; // decades to each side of 1 kg
    s->n_body = n;
    for (int i = 0; i < n; i++) {
        s->body[i].mass = cri_random_decade(r, -half, half);
        for (int k = 0; k < 3; k++) {
            s->body[i].size[k] = cri_random_uniform(r, 0.3, 1.0);
        }
    }
    if (family == CRI_FAMILY_STACK && chance(r) < 0.5) {
        sort_masses(s, chance(r) < 0.5 ? 1.0 : -1.0);
    }
    for (int i = 0; i < n; i++) {
        double Q[9];
        memcpy(Q, unturned, sizeof Q);
        if (is_turned) {
            draw_rotation(r, Q);
        }
        set_inertia(&s->body[i], Q);
    }
}

// ---- contacts ----------------------------------------------------------------------------------

static void add_touch(cri_scene *s, int body, int other, const double point[3],
                      const double normal[3], int n_row) {
    CR_ASSERT(s->n_touch < CRI_PROBLEM_CONTACTS);
    cri_scene_touch *t = &s->touch[s->n_touch++];
    *t = (cri_scene_touch){.body = {body, other}, .n_row = n_row};
    memcpy(t->point, point, sizeof t->point);
    memcpy(t->normal, normal, sizeof t->normal);
    normalise(t->normal);
}

static const double up[3] = {0.0, 0.0, 1.0};

static void add_corners(cri_scene *s, int body, int other, double x, double y, double z) {
    for (int k = 0; k < 4; k++) {
        const double point[3] = {k & 1 ? x : -x, k & 2 ? y : -y, z};
        add_touch(s, body, other, point, up, 3);
    }
}

static void make_single(cri_random *r, cri_scene *s) {
    int n = cri_random_whole(r, 1, 3);
    draw_bodies(CRI_FAMILY_SINGLE, r, 1, s);
    for (int k = 0; k < n; k++) {
        double point[3], normal[3];
        draw_normal3(r, 0.4, point);
        draw_normal3(r, 0.3, normal);
        normal[2] += 1.0;
        add_touch(s, 0, -1, point, normal, 3);
    }
}

static void make_patch(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_PATCH, r, 1, s);
    const double *size = s->body[0].size;
    add_corners(s, 0, -1, size[0], size[1], -size[2]);
}

static void make_redundant(cri_random *r, cri_scene *s) {
    int n = cri_random_whole(r, 4, 9);
    draw_bodies(CRI_FAMILY_REDUNDANT, r, 1, s);
    const double *size = s->body[0].size;
    add_corners(s, 0, -1, size[0], size[1], -size[2]);
    for (int k = 4; k < n; k++) {
        double point[3] = {0.0, 0.0, -size[2]};
        point[0] = cri_random_uniform(r, -size[0], size[0]);
        point[1] = cri_random_uniform(r, -size[1], size[1]);
        add_touch(s, 0, -1, point, up, 3);
    }
    if (chance(r) < 0.5) {
        for (int k = 0; k < 2; k++) {
            double point[3];
            memcpy(point, s->touch[k].point, sizeof point);
            add_touch(s, 0, -1, point, up, 3);
        }
    }
}

static void make_stack(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_STACK, r, cri_random_whole(r, 2, 8), s);
    double z = 0.0;
    for (int i = 0; i < s->n_body; i++) {
        const double *size = s->body[i].size, *below = s->body[i > 0 ? i - 1 : 0].size;
        s->body[i].x[2] = z + size[2];
        add_corners(s, i, i - 1, fmin(size[0], below[0]), fmin(size[1], below[1]), z);
        z += 2.0 * size[2];
    }
}

static void make_pile(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_PILE, r, cri_random_whole(r, 3, CRI_SCENE_BODIES), s);
    for (int i = 0; i < s->n_body; i++) {
        draw_box3(r, 1.0, s->body[i].x);
    }
    int n = cri_random_whole(r, s->n_body, CRI_PROBLEM_CONTACTS);
    for (int k = 0; k < n; k++) {
        int i = cri_random_whole(r, 0, s->n_body - 1);
        int j = cri_random_whole(r, -1, s->n_body - 1);
        j = j == i ? -1 : j;
        double point[3], normal[3] = {0.0, 0.0, 1.0}, shake[3];
        draw_normal3(r, j < 0 ? 0.4 : 0.2, point);
        draw_normal3(r, 0.5, shake);
        for (int c = 0; c < 3; c++) {
            double xi = s->body[i].x[c], xj = j < 0 ? xi : s->body[j].x[c];
            point[c] += 0.5 * (xi + xj);
            normal[c] = j < 0 ? normal[c] : xi - xj;
        }
        normalise(normal);
        for (int c = 0; c < 3 && j >= 0; c++) {
            normal[c] += shake[c];
        }
        add_touch(s, i, j, point, normal, 3);
    }
}

static void add_joint(cri_scene *s, int body, int other, double x) {
    CR_ASSERT(s->n_joint < CRI_SCENE_JOINTS);
    s->joint[s->n_joint++] = (cri_scene_joint){{body, other}, {x, 0.0, 0.0}};
}

static void make_chain(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_CHAIN, r, cri_random_whole(r, 2, 6), s);
    for (int i = 0; i < s->n_body; i++) {
        s->body[i].x[0] = i;
    }
    for (int i = 0; i + 1 < s->n_body; i++) {
        add_joint(s, i, i + 1, i + 0.5);
    }
    if (chance(r) < 0.3) {
        add_joint(s, 0, -1, -0.5);
    }
    for (int i = 0; i < s->n_body; i++) {
        int n = cri_random_whole(r, 1, 3);
        for (int k = 0; k < n; k++) {
            double point[3];
            draw_normal3(r, 0.4, point);
            point[0] += i;
            add_touch(s, i, -1, point, up, 3);
        }
    }
}

static void make_wedge(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_WEDGE, r, 1, s);
    int n = cri_random_whole(r, 2, 5);
    for (int k = 0; k < n; k++) {
        double point[3], normal[3];
        draw_normal3(r, 1.0, normal);
        draw_normal3(r, 0.3, point);
        normalise(normal);
        add_touch(s, 0, -1, point, normal, 3);
        if (chance(r) < 0.7) {
            // the wall opposite: A is singular, and impulses of both may grow together
            for (int c = 0; c < 3; c++) {
                point[c] -= 0.3 * normal[c];
                normal[c] = -normal[c];
            }
            add_touch(s, 0, -1, point, normal, 3);
        }
    }
}

static void make_limits(cri_random *r, cri_scene *s) {
    draw_bodies(CRI_FAMILY_LIMITS, r, 3, s);
    for (int i = 0; i < s->n_body; i++) {
        draw_box3(r, 1.0, s->body[i].x);
    }
    int n = cri_random_whole(r, 3, 8);
    for (int k = 0; k < n; k++) {
        int i = cri_random_whole(r, 0, s->n_body - 1);
        double point[3], normal[3];
        draw_normal3(r, 0.3, point);
        draw_normal3(r, 1.0, normal);
        for (int c = 0; c < 3; c++) {
            point[c] += s->body[i].x[c];
        }
        add_touch(s, i, -1, point, normal, cri_random_whole(r, 1, 3));
    }
}

typedef void make_function(cri_random *r, cri_scene *s);

static make_function *const makers[CRI_N_FAMILY] = {
    make_single, make_patch, make_redundant, make_stack,
    make_pile,   make_chain, make_wedge,     make_limits,
};

void cri_scene_make(cri_family family, cri_random *r, cri_scene *out) {
    CR_ASSERT(family >= 0 && family < CRI_N_FAMILY);
    makers[family](r, out);
    CR_ASSERT(out->n_body <= CRI_SCENE_BODIES && out->n_touch >= 1);
}
