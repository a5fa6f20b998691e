// SPDX-License-Identifier: MIT
//
// d = derive(p):
//
//   mass, com, J    slots of p, or those of the body's shapes with their densities
//                   (geometry/mesh/mass.h)
//   free bodies     1/m, I, 1/I of the same numbers
//   servos          position: gain = kp, bias = 0 -kp -kv; velocity: gain = kv, bias = 0 0 -kv
//   the rest        slots of p, in another order
//   a system        p itself (model/system.h)

#include "model/derived.h"

#include "base/arena.h"
#include "geometry/field/form.h"
#include "model/ground_nets.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 12 };

enum { N_BODY = sizeof(cri_body_derived) / sizeof(double) };

enum { N_GEOM = sizeof(cri_geom_derived) / sizeof(double) };

enum { N_PAIR = sizeof(cri_pair_derived) / sizeof(double) };

enum { N_LINK = sizeof(cri_link_derived) / sizeof(double) };

enum { N_JOINT = sizeof(cri_joint_derived) / sizeof(double) };

enum { N_ACTUATOR = sizeof(cri_actuator_derived) / sizeof(double) };

enum { N_TENDON = sizeof(cri_tendon_derived) / sizeof(double) };

enum { N_BIAS = 4 }; // gain and bias, in front of gear

enum { MAX_SOLID = 64 };

/// The solids of a body, with the moments of fields at the parameters at hand.
typedef struct solids {
    int n;
    cri_solid solid[MAX_SOLID];
    int geom[MAX_SOLID];
    double moment[MAX_SOLID][10];
    cri_solid_diff diff[MAX_SOLID];
} solids;

/// A run of numbers that stands both in p and in d, there perhaps with the other sign.
typedef struct copy {
    double *in_d;
    int slot;
    int n;
    bool is_negated;
} copy;

typedef void copy_visitor(const copy *c, void *context);

// ---- forms of geoms -----------------------------------------------------------------------------

// Forms of geoms, made anew where a parameter has changed.

bool cri_forms_begin(const cr_model *m, cri_forms *forms) {
    *forms = (cri_forms){0};
    if (m->n_form == 0) {
        return true;
    }
    forms->memory = cri_arena_create(FIRST_BYTES);
    forms->scratch = cri_arena_create(FIRST_BYTES);
    return forms->memory && forms->scratch;
}

void cri_forms_clear(cri_forms *forms) {
    cri_arena_destroy(forms->memory);
    cri_arena_destroy(forms->scratch);
    *forms = (cri_forms){0};
}

// parameters of a geom's plan; a hull has none of its own
static const double *params_of(const cri_geom *geom, const double *p) {
    static const double one = 1.0;
    if (geom->shape == CRI_SHAPE_MESH) {
        return &one;
    }
    return p + (geom->shape == CRI_SHAPE_FIELD ? geom->slot_shape : geom->slot_size);
}

bool cri_forms_are_of(const cr_model *m, const double *p, const cri_forms *forms) {
    CR_ASSERT(p && forms);
    const double *own = forms->param;
    for (int g = 0; g < m->sizes.n_geom && forms->form; g++) {
        const cri_geom *geom = &m->geom[g];
        int n = geom->plan ? geom->plan->n_param : 0;
        if (n > 0 && memcmp(own, params_of(geom, p), sizeof *p * (size_t)n) != 0) {
            return false;
        }
        own += n;
    }
    return forms->form != NULL;
}

static cr_status make(const cr_model *m, const double *p, cri_forms *forms, cr_error *err) {
    int n_geom = m->sizes.n_geom, n_param = 0;
    for (int g = 0; g < n_geom; g++) {
        n_param += m->geom[g].plan ? m->geom[g].plan->n_param : 0;
    }
    cri_form *form = CR_PUSH(forms->memory, cri_form, n_geom);
    double *own = CR_PUSH(forms->memory, double, n_param + 1);
    if (!form || !own) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    forms->param = own;
    for (int g = 0; g < n_geom; g++) {
        const cri_geom *geom = &m->geom[g];
        if (!geom->plan) {
            continue;
        }
        cr_error why = {0};
        const double *param = params_of(geom, p);
        cr_status status =
            cri_form_make(geom->plan, param, forms->memory, forms->scratch, &form[g], &why);
        if (status != CR_OK) {
            return cri_fail(err, status, 0, "the shape of geom %.60s: %.150s", m->geom_name[g],
                            why.text);
        }
        memcpy(own, param, sizeof *own * (size_t)geom->plan->n_param);
        own += geom->plan->n_param;
        // what derivatives of the mass will push: vertices, and phi at those of a marched mesh
        size_t n = 3 * (size_t)form[g].tree.mesh.n_vertex + (size_t)form[g].surface.n_vertex;
        if (!cri_arena_reserve(forms->scratch, sizeof(double) * n + 256)) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
        }
    }
    forms->n_param = n_param;
    forms->form = form;
    return CR_OK;
}

cr_status cri_forms_make(const cr_model *m, const double *p, cri_forms *forms, cr_error *err) {
    CR_ASSERT(p && forms);
    if (m->n_form == 0 || cri_forms_are_of(m, p, forms)) {
        return CR_OK;
    }
    cri_arena_reset(forms->memory);
    forms->form = NULL;
    forms->param = NULL;
    return make(m, p, forms, err);
}

// ---- derived values -----------------------------------------------------------------------------

cri_derived cri_derived_push(const cr_model *model, cr_arena *arena) {
    CR_ASSERT(model && arena);
    const cri_mechanism *mech = &model->mech;
    if (model->system_kind) {
        return (cri_derived){.block = CR_PUSH(arena, double, model->sizes.n_p),
                             .n_double = model->sizes.n_p};
    }
    int n_body = mech->n_body, n_geom = model->sizes.n_geom;
    cri_derived d = {.n_double = 4 + (N_BODY + N_LINK) * n_body + N_GEOM * n_geom +
                                 N_PAIR * model->n_pair + N_JOINT * mech->n_joint +
                                 N_ACTUATOR * mech->n_actuator + N_TENDON * mech->n_tendon +
                                 model->n_shape + model->n_corner +
                                 (model->nets ? model->nets->n_weight : 0)};
    d.block = CR_PUSH(arena, double, d.n_double);
    double *at = d.block;
    if (at) {
        d.mech.gravity = at;
        at += 3;
        d.body = (cri_body_derived *)at;
        at += N_BODY * n_body;
        d.mech.link = (cri_link_derived *)at;
        at += N_LINK * n_body;
        d.geom = (cri_geom_derived *)at;
        at += N_GEOM * n_geom;
        d.pair = (cri_pair_derived *)at;
        at += N_PAIR * model->n_pair;
        d.mech.joint = (cri_joint_derived *)at;
        at += N_JOINT * mech->n_joint;
        d.mech.actuator = (cri_actuator_derived *)at;
        at += N_ACTUATOR * mech->n_actuator;
        d.mech.tendon = (cri_tendon_derived *)at;
        at += N_TENDON * mech->n_tendon;
        d.shape = at;
        at += model->n_shape;
        d.vertex = at;
        at += model->n_corner;
        d.mu = at;
        at += 1;
        d.weights = model->nets ? at : NULL;
    }
    return d;
}

cr_status cri_params_check(const cr_model *model, const double *p, cr_error *err) {
    CR_ASSERT(model && p);
    for (int i = 0; i < model->sizes.n_p; i++) {
        const cri_slot *s = &model->slot[i];
        bool is_above = s->is_open_lower ? p[i] > s->lower : p[i] >= s->lower;
        if (!isfinite(p[i])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "%s is %g; give a finite number", s->name,
                            p[i]);
        }
        if (!is_above || !(p[i] <= s->upper)) {
            char most[40] = "";
            if (isfinite(s->upper)) {
                snprintf(most, sizeof most, " and at most %g", s->upper);
            }
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "%s is %g; it must be %s %g%s", s->name, p[i],
                            s->is_open_lower ? "greater than" : "at least", s->lower, most);
        }
    }
    return CR_OK;
}

// leading minors of the tensor
static bool is_positive(const double *J) {
    double minor = J[0] * J[1] - J[3] * J[3];
    double det = J[0] * (J[1] * J[2] - J[5] * J[5]) - J[3] * (J[3] * J[2] - J[5] * J[4]) +
                 J[4] * (J[3] * J[5] - J[1] * J[4]);
    return J[0] > 0.0 && minor > 0.0 && det > 0.0;
}

cr_status cri_derived_check(const cr_model *model, const cri_derived *d, cr_error *err) {
    CR_ASSERT(model && d->block);
    if (model->system_kind) {
        return CR_OK;
    }
    if (!cri_all_finite(d->n_double, d->block)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "some mass or inertia is too large or too small for a number");
    }
    for (int b = 0; b < model->mech.n_body; b++) {
        const cri_body *body = &model->body[b];
        if (body->n_inertia == 6 && d->mech.link[b].mass > 0.0 && !is_positive(d->mech.link[b].J)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%s/inertia has a direction without positive moment of inertia; raise "
                            "the first three or bring the others nearer to 0",
                            model->body_name[b]);
        }
    }
    return CR_OK;
}

/// The solid parts of a body at p, up to n_max; returns how many. For bodies whose inertia follows
/// from their shapes.
static int body_solids(const cr_model *m, int b, const double *p, int n_max, cri_solid *solid,
                       int *geom) {
    CR_ASSERT(b >= 0 && b < m->mech.n_body && n_max >= 0);
    const cri_body *body = &m->body[b];
    int n = 0;
    for (int i = 0; i < body->n_geom && n < n_max; i++) {
        int g = m->geom_of_body[body->first_geom + i];
        const cri_geom *gm = &m->geom[g];
        if (gm->slot_density < 0) {
            continue;
        }
        geom[n] = g;
        int slot = gm->shape == CRI_SHAPE_FIELD ? gm->slot_shape : gm->slot_size;
        solid[n++] = (cri_solid){.kind = gm->solid,
                                 .size = p + (gm->n_size + gm->n_shape > 0 ? slot : 0),
                                 .moment = gm->moment,
                                 .density = p[gm->slot_density],
                                 .pos = gm->pos,
                                 .R = gm->R};
    }
    return n;
}

static bool is_from_shapes(const cr_model *m, int b) {
    return m->body[b].slot_mass < 0 && m->mech.link[b].unit >= 0;
}

static bool is_free(const cr_model *m, int b) {
    int unit = m->mech.link[b].unit;
    return unit >= 0 && m->mech.unit[unit].is_free_body;
}

// volume, centre, inertia
static void store_moments(const cri_mesh_mass *mass, double moment[10]) {
    moment[0] = mass->volume;
    memcpy(moment + 1, mass->centre, sizeof mass->centre);
    memcpy(moment + 4, mass->inertia, sizeof mass->inertia);
}

static cri_mesh_mass load_moments(const double moment[10]) {
    cri_mesh_mass mass = {.volume = moment[0]};
    memcpy(mass.centre, moment + 1, sizeof mass.centre);
    memcpy(mass.inertia, moment + 4, sizeof mass.inertia);
    return mass;
}

static const cri_form *form_of(const cri_derived *d, int geom) {
    return d->forms ? &d->forms->form[geom] : NULL;
}

static void find_solids(const cr_model *m, const double *p, int b, const cri_derived *d,
                        solids *s) {
    s->n = body_solids(m, b, p, MAX_SOLID, s->solid, s->geom);
    for (int i = 0; i < s->n; i++) {
        s->diff[i] = (cri_solid_diff){.density = 0.0};
        if (s->solid[i].kind == CRI_SHAPE_FIELD && form_of(d, s->geom[i])) {
            store_moments(&form_of(d, s->geom[i])->mass, s->moment[i]);
            s->solid[i].moment = s->moment[i];
        }
    }
}

// slots that sizes of a solid stand for
static int size_slots(const cri_geom *g, int *slot) {
    bool is_field = g->shape == CRI_SHAPE_FIELD;
    *slot = is_field ? g->slot_shape : g->slot_size;
    if (g->solid == CRI_SHAPE_FIELD || g->solid == CRI_SHAPE_MESH) {
        return 0;
    }
    return is_field ? g->n_shape : g->n_size;
}

static void derive_body(const cr_model *m, const double *p, int b, cri_derived *d) {
    const cri_body *body = &m->body[b];
    cri_link_derived *link = &d->mech.link[b];
    if (is_from_shapes(m, b)) {
        solids s;
        find_solids(m, p, b, d, &s);
        cri_inertia sum = cri_inertia_of(s.n, s.solid);
        sum = body->is_at_origin ? cri_inertia_at_origin(&sum) : sum;
        *link = (cri_link_derived){.mass = sum.mass, .com = sum.com};
        memcpy(link->J, sum.J, sizeof link->J);
    } else if (body->slot_mass >= 0) {
        *link = (cri_link_derived){.mass = p[body->slot_mass]};
        link->com = body->slot_com >= 0 ? cri_v3_load(p + body->slot_com) : cri_v3(0, 0, 0);
        memcpy(link->J, p + body->slot_inertia, sizeof(double) * (size_t)body->n_inertia);
    }
    if (is_free(m, b)) {
        cri_body_derived *f = &d->body[b];
        f->inv_mass = 1.0 / link->mass;
        f->inertia = cri_v3_load(link->J);
        f->inv_inertia = cri_v3(1.0 / link->J[0], 1.0 / link->J[1], 1.0 / link->J[2]);
    }
}

// adds the fast path's adjoint to that of the link
static void free_body_vjp(const cri_body_derived *f, const cri_body_derived *f_adj,
                          cri_link_derived *link_adj) {
    // inv_inertia = 1/inertia, inv_mass = 1/mass
    cri_vec3 square = cri_v3_mul(f->inv_inertia, f->inv_inertia);
    cri_vec3 i_adj = cri_v3_sub(f_adj->inertia, cri_v3_mul(f_adj->inv_inertia, square));
    cri_v3_accumulate(i_adj, link_adj->J);
    link_adj->mass -= f_adj->inv_mass * f->inv_mass * f->inv_mass;
}

// adjoint of mass, com and J from the body's shapes
static void shapes_vjp(const cr_model *m, const double *p, int b, const cri_derived *d,
                       const cri_link_derived *adj, double *p_adj) {
    solids s;
    find_solids(m, p, b, d, &s);
    cri_inertia sum = {.mass = adj->mass, .com = adj->com};
    memcpy(sum.J, adj->J, sizeof sum.J);
    if (m->body[b].is_at_origin) {
        cri_inertia own = cri_inertia_of(s.n, s.solid), own_adj = {0};
        cri_inertia_at_origin_vjp(&own, &sum, &own_adj);
        sum = own_adj;
    }
    cri_inertia_of_vjp(s.n, s.solid, &sum, s.diff);
    for (int i = 0; i < s.n; i++) {
        const cri_geom *g = &m->geom[s.geom[i]];
        int slot, n_size = size_slots(g, &slot);
        p_adj[g->slot_density] += s.diff[i].density;
        for (int k = 0; k < n_size; k++) {
            p_adj[slot + k] += s.diff[i].size[k];
        }
        bool is_wanted = false; // the surface is dear to pull back over
        for (int k = 0; k < 10; k++) {
            is_wanted = is_wanted || s.diff[i].moment[k] != 0.0;
        }
        if (is_wanted && g->solid == CRI_SHAPE_FIELD && form_of(d, s.geom[i])) {
            cri_mesh_mass mass_adj = load_moments(s.diff[i].moment);
            // scratch has met its largest need when the forms were made
            bool is_good = cri_form_mass_vjp(form_of(d, s.geom[i]), &mass_adj, d->forms->scratch,
                                             p_adj + g->slot_shape);
            CR_ASSERT(is_good);
        }
    }
}

static void derive_body_vjp(const cr_model *m, const double *p, int b, const cri_derived *d,
                            const cri_derived *d_adj, double *p_adj) {
    const cri_body *body = &m->body[b];
    cri_link_derived link_adj = d_adj->mech.link[b];
    if (is_free(m, b)) {
        free_body_vjp(&d->body[b], &d_adj->body[b], &link_adj);
    }
    if (is_from_shapes(m, b)) {
        shapes_vjp(m, p, b, d, &link_adj, p_adj);
    } else if (body->slot_mass >= 0) {
        p_adj[body->slot_mass] += link_adj.mass;
        for (int i = 0; i < body->n_inertia; i++) {
            p_adj[body->slot_inertia + i] += link_adj.J[i];
        }
        if (body->slot_com >= 0) {
            cri_v3_accumulate(link_adj.com, p_adj + body->slot_com);
        }
    }
}

static void shapes_jvp(const cr_model *m, const double *p, int b, const cri_derived *d,
                       const double *p_tan, cri_link_derived *tan) {
    solids s;
    find_solids(m, p, b, d, &s);
    for (int i = 0; i < s.n; i++) {
        const cri_geom *g = &m->geom[s.geom[i]];
        int slot, n_size = size_slots(g, &slot);
        s.diff[i].density = p_tan[g->slot_density];
        for (int k = 0; k < n_size; k++) {
            s.diff[i].size[k] = p_tan[slot + k];
        }
        if (g->solid == CRI_SHAPE_FIELD && form_of(d, s.geom[i])) {
            cri_mesh_mass mass_tan;
            bool is_good = cri_form_mass_jvp(form_of(d, s.geom[i]), p_tan + g->slot_shape,
                                             d->forms->scratch, &mass_tan);
            CR_ASSERT(is_good);
            store_moments(&mass_tan, s.diff[i].moment);
        }
    }
    cri_inertia sum = cri_inertia_of_jvp(s.n, s.solid, s.diff);
    if (m->body[b].is_at_origin) {
        cri_inertia own = cri_inertia_of(s.n, s.solid);
        sum = cri_inertia_at_origin_jvp(&own, &sum);
    }
    *tan = (cri_link_derived){.mass = sum.mass, .com = sum.com};
    memcpy(tan->J, sum.J, sizeof tan->J);
}

static void derive_body_jvp(const cr_model *m, const double *p, int b, const cri_derived *d,
                            const double *p_tan, cri_derived *d_tan) {
    const cri_body *body = &m->body[b];
    cri_link_derived *tan = &d_tan->mech.link[b];
    if (is_from_shapes(m, b)) {
        shapes_jvp(m, p, b, d, p_tan, tan);
    } else if (body->slot_mass >= 0) {
        *tan = (cri_link_derived){.mass = p_tan[body->slot_mass]};
        tan->com = body->slot_com >= 0 ? cri_v3_load(p_tan + body->slot_com) : cri_v3(0, 0, 0);
        memcpy(tan->J, p_tan + body->slot_inertia, sizeof(double) * (size_t)body->n_inertia);
    }
    if (is_free(m, b)) {
        const cri_body_derived *f = &d->body[b];
        cri_body_derived *f_tan = &d_tan->body[b];
        cri_vec3 square = cri_v3_mul(f->inv_inertia, f->inv_inertia);
        f_tan->inv_mass = -tan->mass * f->inv_mass * f->inv_mass;
        f_tan->inertia = cri_v3_load(tan->J);
        f_tan->inv_inertia = cri_v3_scale(-1.0, cri_v3_mul(square, f_tan->inertia));
    }
}

// gain, bias and gear; what is not visited here stays 0
static void visit_actuator(const cr_model *m, cri_actuator_derived *d, int a, copy_visitor *visit,
                           void *context) {
    int slot = m->slot_actuator[a];
    switch (m->mech.actuator[a].servo) {
    case CRI_SERVO_GENERAL:
        visit(&(copy){.in_d = &d->gain, .slot = slot, .n = N_BIAS}, context);
        slot += N_BIAS;
        break;
    case CRI_SERVO_POSITION:
        visit(&(copy){.in_d = &d->gain, .slot = slot, .n = 1}, context);
        visit(&(copy){.in_d = &d->bias[1], .slot = slot, .n = 1, .is_negated = true}, context);
        visit(&(copy){.in_d = &d->bias[2], .slot = slot + 1, .n = 1, .is_negated = true}, context);
        slot += 2;
        break;
    case CRI_SERVO_VELOCITY:
        visit(&(copy){.in_d = &d->gain, .slot = slot, .n = 1}, context);
        visit(&(copy){.in_d = &d->bias[2], .slot = slot, .n = 1, .is_negated = true}, context);
        slot += 1;
        break;
    }
    visit(&(copy){.in_d = d->gear, .slot = slot, .n = m->n_gear[a]}, context);
}

static void visit_geom(const cri_geom *geom, const cri_derived *d, cri_geom_derived *own,
                       copy_visitor *visit, void *context) {
    visit(&(copy){.in_d = own->size, .slot = geom->slot_size, .n = geom->n_size}, context);
    visit(
        &(copy){.in_d = d->shape + geom->first_shape, .slot = geom->slot_shape, .n = geom->n_shape},
        context);
    if (geom->slot_vertex >= 0) {
        visit(&(copy){.in_d = d->vertex + geom->first_vertex,
                      .slot = geom->slot_vertex,
                      .n = 3 * geom->surface.n_vertex},
              context);
    }
    visit(&(copy){.in_d = &own->friction, .slot = geom->slot_friction, .n = 1}, context);
    visit(&(copy){.in_d = &own->restitution, .slot = geom->slot_restitution, .n = 1}, context);
}

// everything that is copied as it stands, or negated
static void visit_copies(const cr_model *m, const cri_derived *d, copy_visitor *visit,
                         void *context) {
    visit(&(copy){.in_d = d->mech.gravity, .slot = 0, .n = 3}, context);
    for (int g = 0; g < m->sizes.n_geom; g++) {
        visit_geom(&m->geom[g], d, &d->geom[g], visit, context);
    }
    for (int k = 0; k < m->n_pair; k++) {
        const cri_geom_pair *pair = &m->pair[k];
        if (pair->slot_friction >= 0) {
            visit(&(copy){.in_d = &d->pair[k].friction, .slot = pair->slot_friction, .n = 1},
                  context);
        }
        if (pair->slot_friction2 >= 0) {
            visit(&(copy){.in_d = &d->pair[k].friction2, .slot = pair->slot_friction2, .n = 1},
                  context);
        }
        if (pair->slot_friction_back >= 0) {
            visit(&(copy){.in_d = &d->pair[k].friction_back,
                          .slot = pair->slot_friction_back,
                          .n = 1},
                  context);
        }
        if (pair->slot_restitution >= 0) {
            visit(&(copy){.in_d = &d->pair[k].restitution, .slot = pair->slot_restitution, .n = 1},
                  context);
        }
    }
    for (int j = 0; j < m->mech.n_joint; j++) {
        if (m->slot_joint[j] >= 0) {
            bool has_rest = m->mech.joint[j].n_q == 1;
            visit(&(copy){.in_d = &d->mech.joint[j].stiffness,
                          .slot = m->slot_joint[j],
                          .n = has_rest ? 4 : 3},
                  context);
        }
    }
    for (int a = 0; a < m->mech.n_actuator; a++) {
        visit_actuator(m, &d->mech.actuator[a], a, visit, context);
    }
    for (int k = 0; k < m->mech.n_tendon; k++) {
        visit(&(copy){.in_d = &d->mech.tendon[k].stiffness, .slot = m->slot_tendon[k], .n = 3},
              context);
    }
    if (m->slot_mu >= 0) {
        visit(&(copy){.in_d = d->mu, .slot = m->slot_mu, .n = 1}, context);
    }
    if (m->nets) {
        visit(&(copy){.in_d = d->weights, .slot = m->slot_nets, .n = m->nets->n_weight}, context);
    }
}

static void copy_in(const copy *c, void *context) {
    const double *p = (const double *)context + c->slot;
    for (int i = 0; i < c->n; i++) {
        c->in_d[i] = c->is_negated ? -p[i] : p[i];
    }
}

static void copy_out(const copy *c, void *context) {
    double *p_adj = context;
    for (int i = 0; i < c->n; i++) {
        p_adj[c->slot + i] += c->is_negated ? -c->in_d[i] : c->in_d[i];
    }
}

void cri_derive(const cr_model *m, const double *p, cri_derived *d) {
    CR_ASSERT(d->block);
    CR_VALIDATE(cri_all_finite(m->sizes.n_p, p));
    if (m->system_kind) {
        memcpy(d->block, p, sizeof *p * (size_t)m->sizes.n_p);
        return;
    }
    visit_copies(m, d, copy_in, (double *)p);
    for (int b = 0; b < m->mech.n_body; b++) {
        derive_body(m, p, b, d);
    }
}

void cri_derive_vjp(const cr_model *m, const double *p, const cri_derived *d,
                    const cri_derived *d_adj, double *p_adj) {
    CR_ASSERT(d_adj->block && p_adj);
    for (int i = 0; m->system_kind && i < m->sizes.n_p; i++) {
        p_adj[i] += d_adj->block[i];
    }
    if (m->system_kind) {
        return;
    }
    visit_copies(m, d_adj, copy_out, p_adj);
    for (int b = 0; b < m->mech.n_body; b++) {
        derive_body_vjp(m, p, b, d, d_adj, p_adj);
    }
}

void cri_derive_jvp(const cr_model *m, const double *p, const cri_derived *d, const double *p_tan,
                    cri_derived *d_tan) {
    CR_ASSERT(d_tan->block && p_tan);
    if (m->system_kind) {
        memcpy(d_tan->block, p_tan, sizeof *p_tan * (size_t)m->sizes.n_p);
        return;
    }
    visit_copies(m, d_tan, copy_in, (double *)p_tan);
    for (int b = 0; b < m->mech.n_body; b++) {
        derive_body_jvp(m, p, b, d, p_tan, d_tan);
    }
}
