// SPDX-License-Identifier: MIT
//
// Systems of points as weight files, and back.

#include "points/learn/points_file.h"

#include "base/base.h"
#include "base/io/file.h"
#include "base/nn/weights.h"
#include "model/system_file.h"
#include "points/contact/points_model.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_SYSTEM, TEXT_NAME, TEXT_LAW, TEXT_FORM, N_TEXT };
enum { ARRAY_MOST = 4 + 2 * CRI_MLP_LAYER_MOST, ROPE_MOST = 100000 };

static const char *const text_name[N_TEXT] = {"system", "name", "law", "form"};
static const char *const form_name[] = {[CRI_LAGRANGE] = "lagrange", [CRI_HAMILTON] = "hamilton"};

// of coordinates weighted by mass, without and with springs
static const char *const net_names[] = {"weighted-potential", "spring-potential"};

// what older versions wrote: the first of bare coordinates, the second of ropes without springs
static const char *const old_names[] = {"potential/1/w", "weighted-potential/1/w"};

static const char *net_name_of(const cri_points_scene *sc) {
    return net_names[sc->s.n_spring > 0];
}

// numbers that are no weights of a potential
static int n_value(const cri_points_scene *sc) {
    return sc->law.i_epsilon + 1;
}

// ---- writing -----------------------------------------------------------------------------------

static bool put(cri_array *a, const char *name, int n, const double *value, cr_arena *arena) {
    *a = (cri_array){.name = cri_arena_push_text(arena, name),
                     .rank = 1,
                     .extent = {n},
                     .value = CR_PUSH(arena, double, n)};
    if (a->value) {
        memcpy(a->value, value, (size_t)n * sizeof *value);
    }
    return a->name && a->value;
}

static int put_net(const cri_points_scene *sc, const cri_mlp *net, const double *p, cri_array *out,
                   cr_arena *arena) {
    int n = cri_mlp_n_weight(net);
    double *w = CR_PUSH(arena, double, n);
    if (!w) {
        return -1;
    }
    memcpy(w, p + sc->potential.first, (size_t)n * sizeof *w);
    return cri_mlp_to_arrays(net, net_name_of(sc), w, out, arena);
}

cr_status cri_points_file_write(const char *path, const cri_points_scene *sc, const cri_mlp *net,
                                const double *p, cr_error *err) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_array array[ARRAY_MOST];
    double n_point = sc->kind == CRI_POINTS_ROPE ? sc->s.n_point : 0;
    const char *value[N_TEXT] = {"points", sc->name, sc->law.law->name, form_name[sc->form]};
    cri_array_text text[N_TEXT];
    bool is_built = arena && put(&array[0], "points", 1, &n_point, arena) &&
                    put(&array[1], "dt", 1, &sc->dt, arena) &&
                    put(&array[2], "x0", sc->n_x, sc->x0, arena) &&
                    put(&array[3], "value", n_value(sc), p, arena);
    for (int k = 0; k < N_TEXT && is_built; k++) {
        text[k] = (cri_array_text){text_name[k], cri_arena_push_text(arena, value[k])};
        is_built = text[k].text != NULL;
    }
    int n = is_built && net ? put_net(sc, net, p, array + 4, arena) : 0;
    cr_status status = is_built && n >= 0
                           ? cri_arrays_write(path,
                                              &(cri_array_file){.format = CRI_SYSTEM_FORMAT,
                                                                .n_array = 4 + n,
                                                                .array = array,
                                                                .n_text = N_TEXT,
                                                                .text = text},
                                              err)
                           : cri_file_fail_memory(err, path);
    cri_arena_destroy(arena);
    return status;
}

// ---- reading -----------------------------------------------------------------------------------

/// A file being read.
typedef struct sheet {
    cri_array_file content;
    cri_array_text text[N_TEXT];
    const char *file;
    cr_error *err;
} sheet;

// an array of n numbers; NULL, and the error says why, when there is none
static const double *take(const sheet *s, const char *name, int n) {
    const cri_array *a = cri_arrays_find(&s->content, name);
    bool is_list = a && a->rank == 1;
    if (is_list && a->extent[0] == n) {
        return a->value;
    }
    if (is_list) {
        (void)cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0,
                            "'%s' has %d numbers, but those of a '%.40s' are %d", name,
                            a->extent[0], s->text[TEXT_NAME].text, n);
    } else {
        (void)cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0,
                            "is no model of weights: there is no list '%s'", name);
    }
    return NULL;
}

// the net behind the other numbers, its shape on the scene's arena
static cr_status take_net(const sheet *s, cri_points_scene *sc) {
    cri_mlp *net = CR_PUSH(sc->arena, cri_mlp, 1);
    if (!net) {
        return cri_file_fail_memory(s->err, s->file);
    }
    CR_TRY(cri_mlp_shape(&s->content, s->file, net_name_of(sc), net, s->err));
    net->act = CRI_ACT_SOFTPLUS;
    if (net->width[0] != sc->s.n_dof || net->width[net->n_layer] != 1) {
        return cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0,
                             "its potential takes %d numbers and gives %d, but a '%.40s' has %d "
                             "coordinates and one potential",
                             net->width[0], net->width[net->n_layer], sc->name, sc->s.n_dof);
    }
    if (!cri_points_scene_set_net(sc, net)) {
        return cri_file_fail_memory(s->err, s->file);
    }
    cri_mlp_from_arrays(&s->content, net_name_of(sc), net, sc->p + sc->potential.first);
    return CR_OK;
}

// the net, if there is one
static cr_status take_potential(const sheet *s, cri_points_scene *sc) {
    bool has_springs = sc->s.n_spring > 0;
    for (int k = 0; k <= has_springs; k++) {
        if (cri_arrays_find(&s->content, old_names[k])) {
            return cri_file_fail(s->err, CR_ERR_UNSUPPORTED, s->file, 0,
                                 "its potential is of %s, from an older version: train it again",
                                 k == 0 ? "coordinates that are not weighted by mass"
                                        : "a rope without springs");
        }
    }
    char first[64];
    (void)snprintf(first, sizeof first, "%s/1/w", net_name_of(sc));
    return cri_arrays_find(&s->content, first) ? take_net(s, sc) : CR_OK;
}

static cr_status fill(const sheet *s, cri_points_scene *sc) {
    const double *dt = take(s, "dt", 1);
    const double *x0 = dt ? take(s, "x0", sc->n_x) : NULL;
    const double *value = x0 ? take(s, "value", n_value(sc)) : NULL;
    if (!value) {
        return CR_ERR_SYNTAX;
    }
    if (!(*dt > 0.0)) {
        return cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0, "its time step is %g s", *dt);
    }
    sc->dt = sc->law.dt = *dt;
    memcpy(sc->x0, x0, (size_t)sc->n_x * sizeof *x0);
    memcpy(sc->p, value, (size_t)n_value(sc) * sizeof *value);
    CR_TRY(take_potential(s, sc));
    bool is_hamilton = strcmp(s->text[TEXT_FORM].text, form_name[CRI_HAMILTON]) == 0;
    sc->form = is_hamilton ? CRI_HAMILTON : CRI_LAGRANGE;
    const char *law = s->text[TEXT_LAW].text;
    if (cri_system_find_law(&cri_points_system, law) < 0 || !cri_points_scene_set_law(sc, law)) {
        return cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0, "points have no law '%.40s'", law);
    }
    cr_error own = {0};
    return cri_points_check(sc, sc->p, &own) == CR_OK
               ? CR_OK
               : cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0, "%.200s", own.text);
}

static cr_status build(const sheet *s, cr_model **out) {
    const double *n_point = take(s, "points", 1);
    if (!n_point) {
        return CR_ERR_SYNTAX;
    }
    if (!(*n_point >= 0.0 && *n_point <= ROPE_MOST)) {
        return cri_file_fail(s->err, CR_ERR_SYNTAX, s->file, 0, "a rope of %g points", *n_point);
    }
    cri_points_scene *sc = NULL;
    cr_error own = {0};
    if (cri_points_scene_create(s->text[TEXT_NAME].text, (int)*n_point, &sc, &own) != CR_OK) {
        return cri_file_fail(s->err, own.status, s->file, 0, "%.200s", own.text);
    }
    cr_status status = fill(s, sc);
    if (status != CR_OK) {
        cri_points_scene_destroy(sc);
        return status;
    }
    return cri_points_model_create(sc, out, s->err);
}

cr_status cri_points_file_read(const char *bytes, size_t n_byte, const char *file, cr_model **out,
                               cr_error *err) {
    *out = NULL;
    sheet s = {.file = file, .err = err};
    s.content = (cri_array_file){.format = CRI_SYSTEM_FORMAT, .n_text = N_TEXT, .text = s.text};
    for (int k = 0; k < N_TEXT; k++) {
        s.text[k].name = text_name[k];
    }
    cr_status status = cri_arrays_parse(bytes, n_byte, file, &s.content, err);
    for (int k = 0; status == CR_OK && k < N_TEXT; k++) {
        if (!s.text[k].text) {
            status =
                cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                              "is no model of weights: the text '%s' is missing", text_name[k]);
        }
    }
    if (status == CR_OK) {
        status = build(&s, out);
    }
    cri_arrays_clear(&s.content);
    return status;
}
