// SPDX-License-Identifier: MIT
//
// Where a body or a site should be at some time, and the loss for being elsewhere.

#include "optimize/target.h"

#include "base/io/number.h"
#include "dynamics/unit.h"
#include "optimize/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// room for a body's name and what cr_model_name adds to it
#define NAME_LIMIT 120

/// One number up to one of the characters in ends. NULL when it is not that.
static const char *read_number(const char *text, const char *ends, double *out) {
    size_t n = strcspn(text, ends);
    return cri_number_parse(text, n, out) == CRI_NUMBER_OK ? text + n : NULL;
}

static cr_status read_place(const char *text, const char *place, cri_target *out, cr_error *err) {
    const char *rest = place;
    for (int i = 0; i < 3; i++) {
        rest = read_number(rest, ",@", &out->point[i]);
        if (!rest || (i < 2 ? *rest != ',' : *rest == ',')) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.80s: expected BODY:X,Y,Z, BODY:X,Y,Z@T or BODY:X,Y,Z@all in m and s",
                            text);
        }
        rest += *rest == ',';
    }
    out->is_throughout = strcmp(rest, "@all") == 0;
    out->has_time = *rest == '@' && !out->is_throughout;
    if (out->has_time && (!read_number(rest + 1, "", &out->time) || out->time < 0.0)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "%.80s: the time behind @ is not a number of seconds from 0", text);
    }
    return CR_OK;
}

/// The body whose position entry is nearest in name, without what belongs to the entry.
static cr_status unknown_body(const cr_model *model, const char *text, const char *entry,
                              cr_error *err) {
    const char *nearest = cri_name_nearest(model, CR_VECTOR_X, entry);
    int n = nearest ? (int)strcspn(nearest, "/") : 0;
    if (n > 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: unknown body or site; did you mean %.*s?",
                        text, n, nearest);
    }
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "%.80s: unknown body or site; 'carom params SCENE' lists the bodies", text);
}

// index of the name that is text[0 .. n)
static int find(int n_name, const char *const *name, const char *text, size_t n) {
    for (int i = 0; i < n_name; i++) {
        if (strlen(name[i]) == n && memcmp(name[i], text, n) == 0) {
            return i;
        }
    }
    return -1;
}

cr_status cri_target_parse(const cr_model *model, const char *text, cri_target *out,
                           cr_error *err) {
    CR_ASSERT(model && text && out);
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n == 0 || n > NAME_LIMIT) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: expected BODY:X,Y,Z or BODY:X,Y,Z@T",
                        text);
    }
    cri_target target = {0};
    CR_TRY(read_place(text, colon + 1, &target, err));

    target.model = model;
    target.body = find(model->sizes.n_body, model->body_name, text, n);
    int site = target.body < 0 ? find(model->mech.n_site, model->site_name, text, n) : -1;
    if (site >= 0) {
        target.body = model->mech.site[site].body;
        target.at = model->mech.site[site].pos;
    } else if (target.body < 0) {
        char entry[NAME_LIMIT + 16];
        snprintf(entry, sizeof entry, "%.*s/qpos[0]", (int)n, text);
        return unknown_body(model, text, entry, err);
    }
    *out = target;
    return CR_OK;
}

cri_vec3 cri_target_place(const cri_target *target, const double *x) {
    return cri_body_position(target->model, target->body, target->at, x);
}

// where the body or site is, less where it should be
static cri_vec3 miss(const cri_target *target, const double *x) {
    return cri_v3_sub(cri_target_place(target, x), cri_v3_load(target->point));
}

double cri_target_distance(const cri_target *target, const double *x) {
    return cri_v3_norm(miss(target, x));
}

double cri_target_loss(const cri_target *target, const double *x) {
    cri_vec3 d = miss(target, x);
    return fmax(0.0, cri_v3_dot(d, d) - target->radius * target->radius);
}

void cri_target_loss_vjp(const cri_target *target, const double *x, double loss_adj,
                         double *x_adj) {
    // loss = max(0, d . d - r^2)
    cri_vec3 d = miss(target, x);
    if (cri_v3_dot(d, d) > target->radius * target->radius) {
        cri_vec3 d_adj = cri_v3_scale(2.0 * loss_adj, d);
        cri_body_position_vjp(target->model, target->body, target->at, x, d_adj, x_adj);
    }
}

double cri_target_scale(const cri_target *target, const double *x) {
    cri_vec3 pos = cri_target_place(target, x);
    cri_vec3 point = cri_v3_load(target->point);
    return cri_v3_dot(pos, pos) + cri_v3_dot(point, point);
}
