// SPDX-License-Identifier: MIT
//
// Depth cameras.
//
// A ray o + t d, |d| = 1, goes on by phi/L, L the largest slope, and so passes through nothing
// (sphere tracing, Hart 1996); all rays of a thing go together, so that nets see batches. It hits
// where phi < 1e-7 of the thing's size, after which one secant takes it to the surface; it is lost
// behind the box around the thing. The loss of a point p with y = R'(p - x), k = 2 phi/n:
//
//   x_adj -= k R g      rot_adj += k (g x y)      theta_adj += k dphi/dtheta

#include "geometry/query/depth.h"

#include <math.h>
#include <string.h>

static const double touch = 1e-7; // of the size of a thing
enum { STEP_MOST = 512 };

const char *cri_camera_fault(const cri_camera *c) {
    if (c->width < 1 || c->height < 1 || (double)c->width * c->height > CRI_CAMERA_MOST) {
        return "a picture has 1 to 16777216 pixels";
    }
    const double number[] = {c->fx,         c->fy,         c->cx,        c->cy,
                             c->pose.pos.x, c->pose.pos.y, c->pose.pos.z};
    if (!cri_all_finite(7, number) || !cri_all_finite(9, c->pose.R.m)) {
        return "a number of the camera is not finite";
    }
    return c->fx > 0.0 && c->fy > 0.0 ? NULL : "focal lengths are positive";
}

// direction of a pixel in the camera's frame, its depth one
static cri_vec3 pixel_ray(const cri_camera *c, int u, int v) {
    return cri_v3((u + 0.5 - c->cx) / c->fx, -(v + 0.5 - c->cy) / c->fy, -1.0);
}

// ---- rays --------------------------------------------------------------------------------------

/// Rays of one thing, in its frame.
typedef struct rays {
    int n;
    int *pixel;
    double *t, *end;      // metres along the ray
    double *phi, *before; // now, and one step ago
    double *step;         // the last one
    double *d;            // (n, 3) unit
    double *at;           // (n, 3)
} rays;

static bool push_rays(cr_arena *arena, int n, rays *r) {
    r->pixel = CR_PUSH_RAW(arena, int, n);
    r->t = CR_PUSH_RAW(arena, double, n);
    r->end = CR_PUSH_RAW(arena, double, n);
    r->phi = CR_PUSH_RAW(arena, double, n);
    r->before = CR_PUSH_RAW(arena, double, n);
    r->step = CR_PUSH_RAW(arena, double, n);
    r->d = CR_PUSH_RAW(arena, double, 3 * (size_t)n);
    r->at = CR_PUSH_RAW(arena, double, 3 * (size_t)n);
    return !cri_arena_has_failed(arena);
}

// the part of a ray within a box; false: none
static bool clip(cri_vec3 o, cri_vec3 d, cri_vec3 lower, cri_vec3 upper, double *t0, double *t1) {
    const double from[3] = {o.x, o.y, o.z}, along[3] = {d.x, d.y, d.z};
    const double low[3] = {lower.x, lower.y, lower.z}, high[3] = {upper.x, upper.y, upper.z};
    *t0 = 0.0;
    *t1 = INFINITY;
    for (int a = 0; a < 3; a++) {
        double s0 = (low[a] - from[a]) / along[a], s1 = (high[a] - from[a]) / along[a];
        // beside the box of a ray along it: both infinite of one sign; on its face: NaN, which
        // leaves the others to decide
        *t0 = fmax(*t0, fmin(s0, s1));
        *t1 = fmin(*t1, fmax(s0, s1));
    }
    return *t0 <= *t1 && isfinite(*t0);
}

static void keep_ray(rays *r, int from, int to) {
    r->pixel[to] = r->pixel[from];
    r->t[to] = r->t[from];
    r->end[to] = r->end[from];
    r->phi[to] = r->phi[from];
    r->before[to] = r->before[from];
    r->step[to] = r->step[from];
    memmove(r->d + 3 * (size_t)to, r->d + 3 * (size_t)from, 3 * sizeof *r->d);
}

static void start_rays(const cri_camera *c, const cri_seen *s, cri_vec3 o, rays *r) {
    cri_vec3 lower, upper;
    cri_field_bounds(s->field, &lower, &upper);
    // rays begin outside, also where the surface lies on the box
    double more = 0.01 * cri_v3_norm(cri_v3_sub(upper, lower));
    lower = cri_v3_sub(lower, cri_v3(more, more, more));
    upper = cri_v3_add(upper, cri_v3(more, more, more));
    for (int v = 0; v < c->height; v++) {
        for (int u = 0; u < c->width; u++) {
            cri_vec3 d = cri_m3_tmul(&s->pose.R, cri_m3_mul(&c->pose.R, pixel_ray(c, u, v)));
            d = cri_v3_scale(1.0 / cri_v3_norm(d), d);
            double t0, t1;
            if (clip(o, d, lower, upper, &t0, &t1)) {
                r->pixel[r->n] = v * c->width + u;
                r->t[r->n] = t0;
                r->end[r->n] = t1;
                r->before[r->n] = INFINITY;
                cri_v3_store(d, r->d + 3 * (size_t)r->n++);
            }
        }
    }
}

static void place(const rays *r, cri_vec3 o) {
    for (int i = 0; i < r->n; i++) {
        cri_v3_store(cri_v3_mad(o, r->t[i], cri_v3_load(r->d + 3 * (size_t)i)),
                     r->at + 3 * (size_t)i);
    }
}

/// A picture while it is made.
typedef struct picture {
    const cri_camera *camera;
    const cri_seen *seen;
    int k; // of the thing at hand
    double *depth;
    int *which;
    double *normal;
} picture;

// a ray that has come to the surface at t
static void hit(const picture *p, const rays *r, int i, cri_vec3 o, double t) {
    const cri_camera *c = p->camera;
    int pixel = r->pixel[i];
    cri_vec3 ray = pixel_ray(c, pixel % c->width, pixel / c->width);
    double depth = t / cri_v3_norm(ray);
    if (p->which[pixel] >= 0 && p->depth[pixel] <= depth) {
        return;
    }
    p->depth[pixel] = depth;
    p->which[pixel] = p->k;
    if (p->normal) {
        cri_field_value v;
        cri_vec3 at = cri_v3_mad(o, t, cri_v3_load(r->d + 3 * (size_t)i));
        cri_field_eval(p->seen->field, at, CRI_FIELD_GRADIENT, &v);
        cri_vec3 n = cri_m3_mul(&p->seen->pose.R, v.g);
        double length = cri_v3_norm(n);
        cri_v3_store(cri_v3_scale(length > 0.0 ? 1.0 / length : 0.0, n),
                     p->normal + 3 * (size_t)pixel);
    }
}

static void trace(const picture *p, rays *r, cri_vec3 o) {
    const cri_field *field = p->seen->field;
    cri_vec3 lower, upper;
    cri_field_bounds(field, &lower, &upper);
    double near = touch * cri_v3_norm(cri_v3_sub(upper, lower)), L = cri_field_lipschitz(field);
    for (int step = 0; step < STEP_MOST && r->n > 0; step++) {
        place(r, o);
        cri_field_phi_many(field, r->n, r->at, r->phi);
        int kept = 0;
        for (int i = 0; i < r->n; i++) {
            double phi = r->phi[i], t = r->t[i];
            if (!(phi > near)) {
                // the zero of the line through the last two values; a ray that began inside has one
                double fall = r->before[i] - phi;
                if (isfinite(fall) && fall > 0.0) {
                    hit(p, r, i, o, t + phi * r->step[i] / fall);
                }
                continue;
            }
            r->before[i] = phi;
            r->step[i] = phi / L;
            r->t[i] += r->step[i];
            if (r->t[i] <= r->end[i]) {
                keep_ray(r, i, kept++);
            }
        }
        r->n = kept;
    }
}

bool cri_depth_render(const cri_camera *c, int n, const cri_seen *seen, double *depth, int *which,
                      double *normal, cr_arena *scratch) {
    CR_ASSERT(!cri_camera_fault(c) && depth && which);
    int n_pixel = c->width * c->height;
    for (int i = 0; i < n_pixel; i++) {
        depth[i] = 0.0;
        which[i] = -1;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    rays r = {0};
    bool is_good = push_rays(scratch, n_pixel, &r);
    for (int k = 0; is_good && k < n; k++) {
        picture p = {c, &seen[k], k, depth, which, normal};
        cri_vec3 o = cri_m3_tmul(&seen[k].pose.R, cri_v3_sub(c->pose.pos, seen[k].pose.pos));
        r.n = 0;
        start_rays(c, &seen[k], o, &r);
        trace(&p, &r, o);
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// ---- pictures ----------------------------------------------------------------------------------

void cri_depth_disturb(const cri_camera *c, double noise, cri_random *stream, double *depth) {
    for (int i = 0; i < c->width * c->height; i++) {
        if (depth[i] > 0.0) {
            double d = depth[i] + noise * depth[i] * depth[i] * cri_random_normal(stream);
            depth[i] = d > 0.0 ? d : 0.0;
        }
    }
}

static bool has_stranger(const cri_camera *c, const int *which, int u, int v, int k) {
    for (int b = v - 1; b <= v + 1; b++) {
        for (int a = u - 1; a <= u + 1; a++) {
            bool is_inside = a >= 0 && a < c->width && b >= 0 && b < c->height;
            if (!is_inside || which[b * c->width + a] != k) {
                return true;
            }
        }
    }
    return false;
}

bool cri_depth_erode(const cri_camera *c, int k, int *which, double *depth, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    size_t n = (size_t)c->width * (size_t)c->height;
    int *before = CR_PUSH_RAW(scratch, int, n);
    if (before) {
        memcpy(before, which, sizeof *which * n);
    }
    for (int i = 0; before && i < (int)n; i++) {
        if (before[i] == k && has_stranger(c, before, i % c->width, i / c->width, k)) {
            which[i] = -1;
            depth[i] = 0.0;
        }
    }
    cri_arena_rewind(scratch, mark);
    return before != NULL;
}

int cri_depth_points(const cri_camera *c, const double *depth, const int *which, int k, int n_most,
                     double *point) {
    int n = 0;
    for (int i = 0; i < c->width * c->height && n < n_most; i++) {
        if (depth[i] > 0.0 && (!which || which[i] == k)) {
            cri_vec3 at = cri_v3_scale(depth[i], pixel_ray(c, i % c->width, i / c->width));
            cri_v3_store(cri_v3_add(c->pose.pos, cri_m3_mul(&c->pose.R, at)),
                         point + 3 * (size_t)n++);
        }
    }
    return n;
}

// ---- loss --------------------------------------------------------------------------------------

// a point of the world in the frame of a pose
static cri_vec3 inward(const cri_pose *pose, const double *point) {
    return cri_m3_tmul(&pose->R, cri_v3_sub(cri_v3_load(point), pose->pos));
}

double cri_depth_loss(const cri_field *field, const cri_pose *pose, int n, const double *point) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        double phi = cri_field_phi(field, inward(pose, point + 3 * (size_t)i));
        sum += phi * phi;
    }
    return n > 0 ? sum / n : 0.0;
}

void cri_depth_loss_vjp(const cri_field *field, const cri_pose *pose, int n, const double *point,
                        double loss_adj, cri_pose_diff *pose_adj, double *param_adj) {
    const cri_vec3 none = {0.0, 0.0, 0.0};
    for (int i = 0; i < n; i++) {
        cri_vec3 y = inward(pose, point + 3 * (size_t)i);
        cri_field_value v;
        cri_field_eval(field, y, CRI_FIELD_GRADIENT, &v);
        double k = 2.0 * loss_adj * v.phi / n;
        // loss += phi(y)^2/n, y = R'(p - x)
        if (param_adj) {
            cri_field_vjp(field, y, k, none, NULL, param_adj);
        }
        if (pose_adj) {
            pose_adj->pos = cri_v3_mad(pose_adj->pos, -k, cri_m3_mul(&pose->R, v.g));
            pose_adj->rot = cri_v3_mad(pose_adj->rot, k, cri_v3_cross(v.g, y));
        }
    }
}

double cri_depth_loss_jvp(const cri_field *field, const cri_pose *pose, int n, const double *point,
                          const cri_pose_diff *pose_tan, const double *param_tan) {
    double sum = 0.0;
    cri_vec3 moved = cri_m3_tmul(&pose->R, pose_tan->pos), g_tan;
    for (int i = 0; i < n; i++) {
        cri_vec3 y = inward(pose, point + 3 * (size_t)i);
        cri_vec3 y_tan = cri_v3_sub(cri_v3_cross(y, pose_tan->rot), moved);
        double phi_tan, phi = cri_field_phi(field, y);
        cri_field_jvp(field, y, y_tan, param_tan, &phi_tan, &g_tan);
        sum += 2.0 * phi * phi_tan / n;
    }
    return sum;
}
