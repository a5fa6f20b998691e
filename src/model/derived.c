// SPDX-License-Identifier: MIT
//
// d = derive(p):  1/m, I, 1/I per body; sizes per geom; friction and restitution per pair.
//
//   mass, inertia   slots of p, or those of the shape with its density (geometry/mass.h)
//   friction        the pair's own slot, else the larger of the two geoms' (as in MJCF)
//   restitution     the same
//
// At a tie of two geoms the body's slot (geom[1]) counts: the derivative for an increase of it.

#include "model/derived.h"

#include "base/arena.h"
#include "geometry/mass.h"

#include <string.h>

enum { N_BODY = sizeof(cri_body_derived) / sizeof(double) };
enum { N_GEOM = sizeof(cri_geom_derived) / sizeof(double) };
enum { N_PAIR = sizeof(cri_pair_derived) / sizeof(double) };

cri_derived cri_derived_push(const cr_model *model, cr_arena *arena) {
    int n_body = model->sizes.n_body, n_geom = model->sizes.n_geom;
    cri_derived d = {.n_double = 3 + N_BODY * n_body + N_GEOM * n_geom + N_PAIR * model->n_pair};
    d.block = CR_PUSH(arena, double, d.n_double);
    if (d.block) {
        d.gravity = d.block;
        d.body = (cri_body_derived *)(d.block + 3);
        d.geom = (cri_geom_derived *)(d.block + 3 + N_BODY * n_body);
        d.pair = (cri_pair_derived *)(d.block + 3 + N_BODY * n_body + N_GEOM * n_geom);
    }
    return d;
}

cr_status cri_params_check(const cr_model *model, const double *p, cr_error *err) {
    for (int i = 0; i < model->sizes.n_p; i++) {
        const cri_slot *s = &model->slot[i];
        bool is_above = s->is_open_lower ? p[i] > s->lower : p[i] >= s->lower;
        if (!isfinite(p[i])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "%s is %g; give a finite number", s->name,
                            p[i]);
        }
        if (!is_above || !(p[i] <= s->upper)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "%s is %g; it must be %s %g%s", s->name, p[i],
                            s->is_open_lower ? "greater than" : "at least", s->lower,
                            isfinite(s->upper) ? " and at most 1" : "");
        }
    }
    return CR_OK;
}

static bool is_ball(const cr_model *m, int b) {
    return m->geom[m->body[b].geom].shape == CRI_SHAPE_SPHERE;
}

static void derive_body(const cr_model *m, const double *p, int b, cri_body_derived *d) {
    const cri_body *body = &m->body[b];
    double mass, inertia[3];
    if (body->slot_density >= 0) {
        const double *size = p + m->geom[body->geom].slot_size;
        double density = p[body->slot_density];
        mass = is_ball(m, b) ? cri_sphere_mass(size[0], density, inertia)
                             : cri_box_mass(size, density, inertia);
    } else {
        mass = p[body->slot_mass];
        memcpy(inertia, p + body->slot_inertia, sizeof inertia);
    }
    d->inv_mass = 1.0 / mass;
    d->inertia = cri_v3_load(inertia);
    d->inv_inertia = cri_v3(1.0 / inertia[0], 1.0 / inertia[1], 1.0 / inertia[2]);
}

static void derive_body_vjp(const cr_model *m, const double *p, int b, const cri_body_derived *d,
                            const cri_body_derived *d_adj, double *p_adj) {
    const cri_body *body = &m->body[b];

    // inv_inertia = 1/inertia, inv_mass = 1/mass
    cri_vec3 square = cri_v3_mul(d->inv_inertia, d->inv_inertia);
    cri_vec3 i_adj = cri_v3_sub(d_adj->inertia, cri_v3_mul(d_adj->inv_inertia, square));
    double mass_adj = -d_adj->inv_mass * d->inv_mass * d->inv_mass;

    // mass, inertia from slots or from the shape
    double inertia_adj[3];
    cri_v3_store(i_adj, inertia_adj);
    if (body->slot_density < 0) {
        p_adj[body->slot_mass] += mass_adj;
        cri_v3_accumulate(i_adj, p_adj + body->slot_inertia);
        return;
    }
    int size = m->geom[body->geom].slot_size, density = body->slot_density;
    if (is_ball(m, b)) {
        cri_sphere_mass_vjp(p[size], p[density], mass_adj, inertia_adj, p_adj + size,
                            p_adj + density);
    } else {
        cri_box_mass_vjp(p + size, p[density], mass_adj, inertia_adj, p_adj + size,
                         p_adj + density);
    }
}

static void derive_body_jvp(const cr_model *m, const double *p, int b, const cri_body_derived *d,
                            const double *p_tan, cri_body_derived *d_tan) {
    const cri_body *body = &m->body[b];
    double mass_tan, inertia_tan[3];
    if (body->slot_density >= 0) {
        int size = m->geom[body->geom].slot_size;
        double density = p[body->slot_density], density_tan = p_tan[body->slot_density];
        mass_tan =
            is_ball(m, b)
                ? cri_sphere_mass_jvp(p[size], density, p_tan[size], density_tan, inertia_tan)
                : cri_box_mass_jvp(p + size, density, p_tan + size, density_tan, inertia_tan);
    } else {
        mass_tan = p_tan[body->slot_mass];
        memcpy(inertia_tan, p_tan + body->slot_inertia, sizeof inertia_tan);
    }
    cri_vec3 square = cri_v3_mul(d->inv_inertia, d->inv_inertia);
    d_tan->inv_mass = -mass_tan * d->inv_mass * d->inv_mass;
    d_tan->inertia = cri_v3_load(inertia_tan);
    d_tan->inv_inertia = cri_v3_scale(-1.0, cri_v3_mul(square, d_tan->inertia));
}

// the pair's own slot, else the larger of the two geoms', the second at a tie
static int source(const double *p, int own, int first, int second) {
    if (own >= 0) {
        return own;
    }
    return p[first] > p[second] ? first : second;
}

void cri_derive(const cr_model *m, const double *p, cri_derived *d, cri_derive_cache *cache) {
    CR_ASSERT(d->block && cache);
    CR_VALIDATE(cri_all_finite(m->sizes.n_p, p));
    memcpy(d->gravity, p, 3 * sizeof *p);
    for (int b = 0; b < m->sizes.n_body; b++) {
        derive_body(m, p, b, &d->body[b]);
    }
    for (int g = 0; g < m->sizes.n_geom; g++) {
        for (int i = 0; i < m->geom[g].n_size; i++) {
            d->geom[g].size[i] = p[m->geom[g].slot_size + i];
        }
    }
    for (int k = 0; k < m->n_pair; k++) {
        const cri_pair *pair = &m->pair[k];
        const cri_geom *a = &m->geom[pair->geom[0]], *b = &m->geom[pair->geom[1]];
        cri_derive_cache *c = &cache[k];
        c->slot_friction = source(p, pair->slot_friction, a->slot_friction, b->slot_friction);
        c->slot_restitution =
            source(p, pair->slot_restitution, a->slot_restitution, b->slot_restitution);
        c->is_friction_tied = pair->slot_friction < 0 && p[a->slot_friction] == p[b->slot_friction];
        c->is_restitution_tied =
            pair->slot_restitution < 0 && p[a->slot_restitution] == p[b->slot_restitution];
        d->pair[k] = (cri_pair_derived){p[c->slot_friction], p[c->slot_restitution]};
    }
}

void cri_derive_vjp(const cr_model *m, const double *p, const cri_derived *d,
                    const cri_derive_cache *cache, const cri_derived *d_adj, double *p_adj) {
    CR_ASSERT(d_adj->block && p_adj);
    for (int k = 0; k < m->n_pair; k++) {
        p_adj[cache[k].slot_friction] += d_adj->pair[k].friction;
        p_adj[cache[k].slot_restitution] += d_adj->pair[k].restitution;
    }
    for (int g = 0; g < m->sizes.n_geom; g++) {
        for (int i = 0; i < m->geom[g].n_size; i++) {
            p_adj[m->geom[g].slot_size + i] += d_adj->geom[g].size[i];
        }
    }
    for (int b = 0; b < m->sizes.n_body; b++) {
        derive_body_vjp(m, p, b, &d->body[b], &d_adj->body[b], p_adj);
    }
    for (int i = 0; i < 3; i++) {
        p_adj[i] += d_adj->gravity[i];
    }
}

void cri_derive_jvp(const cr_model *m, const double *p, const cri_derived *d,
                    const cri_derive_cache *cache, const double *p_tan, cri_derived *d_tan) {
    CR_ASSERT(d_tan->block && p_tan);
    memcpy(d_tan->gravity, p_tan, 3 * sizeof *p_tan);
    for (int b = 0; b < m->sizes.n_body; b++) {
        derive_body_jvp(m, p, b, &d->body[b], p_tan, &d_tan->body[b]);
    }
    for (int g = 0; g < m->sizes.n_geom; g++) {
        for (int i = 0; i < m->geom[g].n_size; i++) {
            d_tan->geom[g].size[i] = p_tan[m->geom[g].slot_size + i];
        }
    }
    for (int k = 0; k < m->n_pair; k++) {
        d_tan->pair[k] =
            (cri_pair_derived){p_tan[cache[k].slot_friction], p_tan[cache[k].slot_restitution]};
    }
}
