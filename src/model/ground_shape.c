// SPDX-License-Identifier: MIT
//
// A shape in words: for each geom its kind and half sizes, with the distance of its centre from the
// centre of mass where there is one; of a mesh the number of its corners and their largest and mean
// distance from there. None of these changes with the frame that a scene gives the body, as its
// place in a mechanism does.

#include "model/ground_body.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// m: nearer is at the centre of mass
static const double centred = 1e-9;
// numbers of six digits that are written by different ways
static const double same = 1e-5;

static const char *kind_name(cri_shape_kind kind) {
    static const char *const name[CRI_N_SHAPE] = {
        [CRI_SHAPE_PLANE] = "plane",       [CRI_SHAPE_SPHERE] = "sphere",
        [CRI_SHAPE_CAPSULE] = "capsule",   [CRI_SHAPE_ELLIPSOID] = "ellipsoid",
        [CRI_SHAPE_CYLINDER] = "cylinder", [CRI_SHAPE_BOX] = "box",
        [CRI_SHAPE_MESH] = "mesh",         [CRI_SHAPE_FIELD] = "field",
    };
    return name[kind];
}

// appends, as far as there is room
static void append(size_t n_byte, char *out, const char *format, double value) {
    size_t used = strlen(out);
    (void)snprintf(out + used, n_byte - used, format, value);
}

static void add_mesh(const cri_geom *geom, cri_vec3 com, size_t n_byte, char *out) {
    const cri_hull *hull = geom->hull;
    double most = 0.0, mean = 0.0;
    for (int i = 0; i < hull->n_vertex; i++) {
        cri_vec3 at = cri_m3_mul(&geom->R, cri_v3_load(hull->vertex + 3 * i));
        double r = cri_v3_norm(cri_v3_sub(cri_v3_add(geom->pos, at), com));
        most = fmax(most, r);
        mean += r / hull->n_vertex;
    }
    append(n_byte, out, " of %g corners", hull->n_vertex);
    append(n_byte, out, " to %.6g", most);
    append(n_byte, out, " (%.6g)", mean);
}

void cri_ground_shape(const cr_model *m, const cri_derived *d, int body, size_t n_byte, char *out) {
    CR_ASSERT(m && d && body >= 0 && n_byte > 0 && out);
    cri_vec3 com = d->mech.link[body].com;
    out[0] = '\0';
    for (int g = 0; g < m->sizes.n_geom; g++) {
        const cri_geom *geom = &m->geom[g];
        if (geom->body != body || (geom->contype | geom->conaffinity) == 0) {
            continue;
        }
        size_t used = strlen(out);
        (void)snprintf(out + used, n_byte - used, "%s%s", used > 0 ? " + " : "",
                       kind_name(geom->shape));
        if (geom->shape == CRI_SHAPE_MESH && geom->hull) {
            add_mesh(geom, com, n_byte, out);
            continue;
        }
        for (int k = 0; k < geom->n_size; k++) {
            append(n_byte, out, " %.6g", d->geom[g].size[k]);
        }
        double off = cri_v3_norm(cri_v3_sub(geom->pos, com));
        if (off > centred) {
            append(n_byte, out, " at %.6g", off);
        }
    }
}

bool cri_ground_same_shape(const char *a, const char *b) {
    bool is_same = true;
    while (is_same && *a && *b) {
        char *a_end, *b_end;
        double x = strtod(a, &a_end), y = strtod(b, &b_end);
        if (a_end > a && b_end > b) {
            is_same = fabs(x - y) <= same * fmax(fabs(x), fabs(y));
            a = a_end;
            b = b_end;
            continue;
        }
        is_same = *a++ == *b++;
    }
    return is_same && *a == *b;
}
