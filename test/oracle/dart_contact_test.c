// SPDX-License-Identifier: MIT
//
// Contacts against DART 6.12: a box that is thrown onto a floor and a chain of three links.
//
// DART solves a boxed LCP: friction along two axes of its own, here those of the world, each
// bounded by mu times a normal impulse, and that is the one found before friction is added. Law
// ncp bounds friction by a circle, lcp by an octagon that has corners on the tangents, and the
// tangents of a floor are the axes x and y too (contact/island.c). So the three agree where
//
//   contacts stick         by friction well below its bound
//   mu = 0                 an LCP in normal impulses, without approximation
//   a flat thing slides    along an axis, where circle, octagon and square touch; all corners
//                          share the weight, friction does not change its sum
//
// and nowhere else: between the axes the square gives up to sqrt 2 mu, which is tested against
// closed forms, and where friction changes normal impulses (a corner or an edge that slides) DART's
// bound is another number. Velocities after the impact are compared at equal states: Carom's step
// "end" flies first and then jumps, DART jumps at once, in a step too short to matter.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carom/carom.h"
#include "dart_chain.h"
#include "support/cr_test.h"

// what DART makes of rigid contact: DART's overlap over the half width of a link (4e-8), its
// diagonal 1e-9 too large
#define TOLERANCE 1e-7

// of contacts in DART, m: it wants an overlap, and an edge is none before it is larger than
// rounding
#define DEPTH 1e-9

enum { N_LINK = 3, N_Q = 9, N_V = 8, N_THROW = 50 };

enum { N_LAW = 2 };
static const char *const laws[N_LAW] = {"ncp", "lcp"};

// ---- one scene in both -------------------------------------------------------------------------

typedef struct pair {
    dart_chain_def def;
    dart_chain *dart;
    cr_model *model, *smooth_model;
    cr_sim *sim, *smooth; // as it is, and without friction
    int n_q, n_v;
    double dt; // of Carom
} pair;

static void write_scene(const dart_chain_def *def, char *text, size_t n_byte) {
    const double *h = def->half, *g = def->gravity;
    int n = snprintf(text, n_byte,
                     "<mujoco><option gravity='%.17g %.17g %.17g'/>"
                     "<default><geom friction='%.17g' contype='0' conaffinity='1'/></default>"
                     "<worldbody><geom name='floor' type='plane' size='9 9 1' contype='1'/>",
                     g[0], g[1], g[2], def->mu);
    for (int i = 0; i < def->n_link; i++) {
        double place = i == 0 ? 0.0 : i == 1 ? h[0] : 2.0 * h[0];
        n += snprintf(text + n, n_byte - (size_t)n,
                      "<body name='l%d' pos='%.17g 0 0'>%s<geom name='l%d' type='box' "
                      "size='%.17g %.17g %.17g' pos='%.17g 0 0' mass='%.17g'/>",
                      i, place, i == 0 ? "<freejoint/>" : "<joint type='hinge' axis='0 1 0'/>", i,
                      h[0], h[1], h[2], i == 0 ? 0.0 : h[0], def->mass);
    }
    for (int i = 0; i < def->n_link; i++) {
        n += snprintf(text + n, n_byte - (size_t)n, "</body>");
    }
    snprintf(text + n, n_byte - (size_t)n, "</worldbody></mujoco>");
}

static void open_carom(const dart_chain_def *def, const char *law, cr_model **model, cr_sim **sim) {
    char text[3000];
    cr_error err = {0};
    write_scene(def, text, sizeof text);
    if (cr_model_parse(text, strlen(text), "chain", model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(*model);
    options.stepper = "end";
    options.law = law;
    if (cr_sim_create(*model, &options, sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
}

// carom_dt is Carom's step, def->dt that of DART
static pair open_pair(const dart_chain_def *def, const char *law, double carom_dt) {
    pair s = {.def = *def, .n_q = 6 + def->n_link, .n_v = 5 + def->n_link, .dt = carom_dt};
    dart_chain_def smooth = *def;
    smooth.mu = 0.0;
    open_carom(def, law, &s.model, &s.sim);
    open_carom(&smooth, law, &s.smooth_model, &s.smooth);
    s.dart = dart_chain_create(def);
    return s;
}

static void close_pair(pair *s) {
    dart_chain_destroy(s->dart);
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
    cr_sim_destroy(s->smooth);
    cr_model_destroy(s->smooth_model);
}

// one step of Carom in place; fails when the solve did
static void step_carom(cr_sim *sim, double dt, double *x) {
    cr_error err = {0};
    if (cr_sim_step(sim, dt, x, NULL, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(sim)->outcome, CR_SOLVED);
}

// height of the lowest corner of all links
static double lowest(const dart_chain_def *def, const double *q) {
    double w = q[3], x = q[4], y = q[5], z = q[6], height = q[2], least = INFINITY;
    // the world's vertical in the frame of a link; hinges turn it about y
    double up[3] = {2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)};
    for (int i = 0; i < def->n_link; i++) {
        if (i > 0) {
            height += up[0] * (i == 1 ? def->half[0] : 2.0 * def->half[0]);
            double c = cos(q[6 + i]), sine = sin(q[6 + i]);
            double across = up[0] * c - up[2] * sine;
            up[2] = up[0] * sine + up[2] * c;
            up[0] = across;
        }
        double centre = height + (i > 0 ? up[0] * def->half[0] : 0.0), reach = 0.0;
        for (int k = 0; k < 3; k++) {
            reach += fabs(up[k]) * def->half[k];
        }
        least = fmin(least, centre - reach);
    }
    return least;
}

// ---- impacts -----------------------------------------------------------------------------------

typedef struct tally {
    int n, n_left_out; // compared, of another kind than asked for
    double error;
} tally;

// true when each contact of the last step sticks, by at most half of what friction may do in DART:
// mu times the normal impulse at that point when start is thrown without friction
static bool sticks(pair *s, const double *start) {
    double x[N_Q + N_V];
    int n, n_smooth;
    memcpy(x, start, sizeof *x * (size_t)(s->n_q + s->n_v));
    step_carom(s->smooth, s->dt, x);
    const cr_contact *contact = cr_sim_contacts(s->sim, &n);
    const cr_contact *smooth = cr_sim_contacts(s->smooth, &n_smooth);
    for (int i = 0; i < n; i++) {
        double bound = 0.0;
        for (int j = 0; j < n_smooth; j++) {
            const double *a = contact[i].point, *b = smooth[j].point;
            // corners are 5 cm apart and more
            bool is_same = hypot(a[0] - b[0], a[1] - b[1]) < 1e-6;
            bound = is_same ? s->def.mu * smooth[j].impulse[2] : bound;
        }
        const double *f = contact[i].impulse;
        if (contact[i].is_sliding || 2.0 * hypot(f[0], f[1]) > bound) {
            return false;
        }
    }
    return true;
}

// states of one impact; flown is Carom's flight alone
typedef struct impact {
    double start[N_Q + N_V], flown[N_Q + N_V], ours[N_Q + N_V];
    double theirs[N_V]; // DART's velocities after
    int n_contact;      // Carom's
} impact;

// impact of Carom from x, lowered so that it just overlaps at the end of the step
static void carom_impact(pair *s, const double *x, impact *hit) {
    size_t n_byte = sizeof *x * (size_t)(s->n_q + s->n_v);
    memcpy(hit->start, x, n_byte);
    hit->start[2] += 10.0;
    memcpy(hit->flown, hit->start, n_byte);
    step_carom(s->sim, s->dt, hit->flown);
    // rounding is 1e-15; an overlap of 1e-11 m asks for 1e-9 m/s
    double shift = lowest(&s->def, hit->flown) + 1e-11;
    hit->start[2] -= shift;
    hit->flown[2] -= shift;
    memcpy(hit->ours, hit->start, n_byte);
    step_carom(s->sim, s->dt, hit->ours);
    const cr_contact *contact = cr_sim_contacts(s->sim, &hit->n_contact);
    CHECK(hit->n_contact > 0 && contact[0].is_impact);
}

// that of DART, at the state flown
static void dart_impact(pair *s, impact *hit) {
    double q[N_Q];
    memcpy(q, hit->flown, sizeof *q * (size_t)s->n_q);
    q[2] -= DEPTH;
    dart_chain_set(s->dart, q, hit->flown + s->n_q);
    dart_chain_step(s->dart);
    dart_chain_get(s->dart, hit->theirs);
}

// compares velocities after, relative to those before; nothing when must_stick and a contact does
// not
static void throw_both(pair *s, const double *x, bool must_stick, tally *t) {
    impact hit;
    double scale = 0.0, most = 0.0;
    carom_impact(s, x, &hit);
    if (must_stick && !sticks(s, hit.start)) {
        t->n_left_out++;
        return;
    }
    dart_impact(s, &hit);
    for (int i = 0; i < s->n_v; i++) {
        scale = fmax(scale, fabs(hit.flown[s->n_q + i]));
        most = fmax(most, fabs(hit.ours[s->n_q + i] - hit.theirs[i]));
    }
    t->n++;
    t->error = fmax(t->error, most / scale);
    if (!CHECK_CLOSE(most / scale, 0.0, TOLERANCE, 0.0)) {
        cr_test_fail("throw %d, %d contacts", t->n, hit.n_contact);
    }
}

// a random throw; planar: turned about y alone, so that an edge hits the floor
static void draw_throw(cr_test_rng *rng, const pair *s, bool is_planar, double *x) {
    double *v = x + s->n_q, norm = 0.0;
    for (int i = 0; i < s->n_q; i++) {
        x[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    x[4] *= is_planar ? 0.0 : 1.0;
    x[6] *= is_planar ? 0.0 : 1.0;
    for (int i = 3; i < 7; i++) {
        norm += x[i] * x[i];
    }
    for (int i = 3; i < 7; i++) {
        x[i] /= sqrt(norm);
    }
    // down faster than any corner can turn up: arms are shorter than 1 m
    for (int i = 0; i < s->n_v; i++) {
        v[i] = cr_test_uniform(rng, -0.5, 0.5) - (i == 2 ? 3.0 : 0.0);
    }
    // along the edge so slowly that both its corners stay down
    if (is_planar) {
        v[1] *= 0.1;
        v[3] = v[5] = 0.0;
    }
}

static const double box_half[3] = {0.2, 0.1, 0.05}, link_half[3] = {0.2, 0.025, 0.025};

// the thrown box and the chain of the benchmarks; DART jumps at once
static dart_chain_def impact_def(int n_link, double mu) {
    dart_chain_def def = {.n_link = n_link,
                          .mass = n_link == 1 ? 1.0 : 0.3,
                          .mu = mu,
                          .gravity = {0.0, 0.0, -9.81},
                          .dt = 1e-10};
    memcpy(def.half, n_link == 1 ? box_half : link_half, sizeof def.half);
    return def;
}

static void throw_many(int n_link, double mu, bool must_stick, const char *law) {
    dart_chain_def def = impact_def(n_link, mu);
    pair s = open_pair(&def, law, 1e-3);
    cr_test_rng rng = cr_test_rng_of(7);
    tally corner = {0}, edge = {0};
    for (int i = 0; i < 2 * N_THROW; i++) {
        double x[N_Q + N_V];
        bool is_planar = i % 2 == 1;
        draw_throw(&rng, &s, is_planar, x);
        throw_both(&s, x, must_stick, is_planar ? &edge : &corner);
    }
    print_message("%-3s %s, mu %.1f: corners %.0e (%d), edges %.0e (%d)\n", law,
                  n_link == 1 ? "box  " : "chain", mu, corner.error, corner.n, edge.error, edge.n);
    // at least half of them are compared
    CHECK(2 * corner.n >= N_THROW && 2 * edge.n >= N_THROW);
    close_pair(&s);
}

// friction that holds nearly every impact
TEST(impacts_that_stick_have_dart_velocities) {
    for (int i = 0; i < N_LAW; i++) {
        throw_many(1, 3.0, true, laws[i]);
        throw_many(N_LINK, 3.0, true, laws[i]);
    }
}

TEST(impacts_without_friction_have_dart_velocities) {
    for (int i = 0; i < N_LAW; i++) {
        throw_many(1, 0.0, false, laws[i]);
        throw_many(N_LINK, 0.0, false, laws[i]);
    }
}

// flat on the floor, down with 1 m/s and along it with 2 m/s, too fast to be stopped
static void draw_slide(const pair *s, double angle_deg, double *x) {
    const double radian = 3.14159265358979323846 / 180.0;
    memset(x, 0, sizeof *x * (N_Q + N_V));
    x[3] = 1.0;
    x[s->n_q] = 2.0 * cos(angle_deg * radian);
    x[s->n_q + 1] = 2.0 * sin(angle_deg * radian);
    x[s->n_q + 2] = -1.0;
}

TEST(flat_things_slide_along_an_axis_as_in_dart) {
    for (int i = 0; i < 2 * N_LAW; i++) {
        dart_chain_def def = impact_def(i < N_LAW ? 1 : N_LINK, 0.3);
        pair s = open_pair(&def, laws[i % N_LAW], 1e-3);
        tally t = {0};
        for (int k = 0; k < 4; k++) {
            double x[N_Q + N_V];
            draw_slide(&s, 90.0 * k, x);
            throw_both(&s, x, false, &t);
        }
        print_message("%-3s %s slides along an axis: %.0e (%d)\n", laws[i % N_LAW],
                      i < N_LAW ? "box  " : "chain", t.error, t.n);
        close_pair(&s);
    }
}

// the point of the unit circle (ncp), of the octagon in it (lcp) or of the square around it (dart)
// that is farthest along u
static void farthest(const char *shape, const double u[2], double out[2]) {
    const double c = strcmp(shape, "dart") == 0 ? 1.0 : sqrt(0.5);
    const double corner[8][2] = {{c, c},   {-c, c},  {-c, -c},  {c, -c},
                                 {1., 0.}, {0., 1.}, {-1., 0.}, {0., -1.}};
    double most = 0.0, r = hypot(u[0], u[1]);
    // those on the axes lie on the sides of the square
    for (int k = 0; k < 8; k++) {
        double along = corner[k][0] * u[0] + corner[k][1] * u[1];
        if (along > most) {
            most = along;
            memcpy(out, corner[k], sizeof corner[k]);
        }
    }
    if (strcmp(shape, "ncp") == 0) {
        out[0] = u[0] / r;
        out[1] = u[1] / r;
    }
}

// Friction on a flat box moves the centre of pressure along itself, so that the box does not turn,
// and of 1 m/s down it takes mu times the farthest point off the speed along the floor. The angles
// are so far from multiples of 22.5 degrees that slip keeps its octant.
TEST(between_the_axes_each_has_its_own_friction) {
    static const double angle_deg[] = {12.0, 32.0, 58.0, 78.0, 148.0, 212.0, 302.0};
    const int n_angle = (int)(sizeof angle_deg / sizeof angle_deg[0]);
    double error = 0.0, apart = INFINITY;
    for (int i = 0; i < N_LAW * n_angle; i++) {
        const char *law = laws[i / n_angle];
        dart_chain_def def = impact_def(1, 0.3);
        pair s = open_pair(&def, law, 1e-3);
        double x[N_Q + N_V], ours[2], theirs[2], gap = 0.0;
        impact hit;
        draw_slide(&s, angle_deg[i % n_angle], x);
        carom_impact(&s, x, &hit);
        dart_impact(&s, &hit);
        const double *before = hit.flown + s.n_q, *after = hit.ours + s.n_q;
        farthest(law, before, ours);
        farthest("dart", before, theirs);
        for (int k = 0; k < s.n_v; k++) {
            double take = k < 2 ? def.mu * -before[2] : 0.0, kept = k == 2 ? 0.0 : before[k];
            error = fmax(error, fabs(after[k] - kept + (k < 2 ? take * ours[k] : 0.0)));
            error = fmax(error, fabs(hit.theirs[k] - kept + (k < 2 ? take * theirs[k] : 0.0)));
            gap = fmax(gap, fabs(after[k] - hit.theirs[k]));
        }
        apart = fmin(apart, gap);
        close_pair(&s);
    }
    print_message("between the axes, against closed forms: %.0e; from DART at least %.2f m/s\n",
                  error, apart);
    CHECK_CLOSE(error, 0.0, TOLERANCE, 0.0);
    // mu (1 - 1/sqrt 2) w, of the octagon at its corner of 45 degrees
    CHECK(apart > 0.08);
}

// ---- rest --------------------------------------------------------------------------------------

// sum of the impulses of the last step over its length
static void carom_force(pair *s, double force[3]) {
    int n_contact;
    const cr_contact *contact = cr_sim_contacts(s->sim, &n_contact);
    memset(force, 0, 3 * sizeof *force);
    for (int i = 0; i < n_contact; i++) {
        for (int k = 0; k < 3; k++) {
            force[k] += contact[i].impulse[k] / s->dt;
        }
    }
}

// steps of both on a floor that is tilted by the angle, from rest; once Carom has sunk in as far as
// its target velocity of overlaps carries the weight, forces and the speeds gained, against each
// other and against m a = m g + f of a rigid block
static void rest_both(int n_link, double angle, const char *law, tally *t) {
    const double g = 9.81, mu = 0.5;
    dart_chain_def def = impact_def(n_link, mu);
    def.gravity[0] = g * sin(angle);
    def.gravity[2] = -g * cos(angle);
    def.dt = 1e-3;
    pair s = open_pair(&def, law, def.dt);
    double x[N_Q + N_V] = {[3] = 1.0}, q[N_Q], v[2][N_V], w[2][N_V], f[3], dart_f[3], height[2];
    x[2] = def.half[2];
    memcpy(q, x, sizeof q);
    q[2] -= 1e-6; // DART lets an overlap be
    dart_chain_set(s.dart, q, x + s.n_q);
    const int n_step = 200;
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < n_step; i++) {
            step_carom(s.sim, s.dt, x);
            dart_chain_step(s.dart);
        }
        memcpy(v[half], x + s.n_q, sizeof *v[0] * (size_t)s.n_v);
        height[half] = x[2];
        dart_chain_get(s.dart, w[half]);
    }
    carom_force(&s, f);
    CHECK(dart_chain_force(s.dart, dart_f) >= 4);
    CHECK_CLOSE(height[1], height[0], TOLERANCE * def.half[2], 0.0);

    double weight = def.mass * n_link * g, pull = fmax(0.0, sin(angle) - mu * cos(angle));
    double hold = fmin(sin(angle), mu * cos(angle)), speed = g * pull * n_step * def.dt;
    double expected[3] = {-weight * hold, 0.0, weight * cos(angle)};
    for (int k = 0; k < 3; k++) {
        t->error = fmax(t->error, fabs(f[k] - dart_f[k]) / weight);
        CHECK_CLOSE(f[k] / weight, expected[k] / weight, TOLERANCE, 0.0);
        CHECK_CLOSE(dart_f[k] / weight, expected[k] / weight, TOLERANCE, 0.0);
    }
    for (int k = 0; k < s.n_v; k++) {
        CHECK_CLOSE(v[1][k] - v[0][k], k == 0 ? speed : 0.0, TOLERANCE, 0.0);
        CHECK_CLOSE(w[1][k] - w[0][k], k == 0 ? speed : 0.0, TOLERANCE, 0.0);
    }
    t->n++;
    close_pair(&s);
}

// atan 0.5 = 0.4636
TEST(boxes_and_chains_at_rest_weigh_as_in_dart) {
    static const double angle[] = {0.0, 0.2, 0.45, 0.48, 0.6};
    for (int i = 0; i < N_LAW; i++) {
        tally t = {0};
        for (int k = 0; k < 10; k++) {
            rest_both(k < 5 ? 1 : N_LINK, angle[k % 5], laws[i], &t);
        }
        print_message("%-3s forces on slopes: %.0e (%d)\n", laws[i], t.error, t.n);
    }
}

CR_TEST_MAIN(impacts_that_stick_have_dart_velocities, impacts_without_friction_have_dart_velocities,
             flat_things_slide_along_an_axis_as_in_dart, between_the_axes_each_has_its_own_friction,
             boxes_and_chains_at_rest_weigh_as_in_dart)
