// SPDX-License-Identifier: MIT
//
// Trained models as weight files and back, and the table of readers by system (model/system.h).

#include "points/learn/weight_file.h"

#include "base/base.h"
#include "base/io/file.h"
#include "base/nn/weights.h"
#include "model/system.h"
#include "points/contact/points_model.h"
#include "points/learn/learner.h"
#include "points/learn/points_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARRAY_MOST = 16 + 4 * CRI_MLP_LAYER_MOST,
    NAME_MOST = 64,
    BODY_MOST = 64,
    TEXT_LENGTH = 4096
};

enum { TEXT_SYSTEM, TEXT_MODEL, TEXT_BODIES, TEXT_CONTACTS, TEXT_ACT, TEXT_PROJECTION, N_TEXT };

static const char *const text_name[N_TEXT] = {"system",   "model",      "bodies",
                                              "contacts", "activation", "projection"};

static const char *const projection_name[] = {"none", "closest", "home"};

/// A file in the making.
typedef struct sheet {
    cri_array array[ARRAY_MOST];
    int n_array;
    cr_arena *arena;
    bool has_failed;
} sheet;

/// A file being read.
typedef struct sheet_read {
    cri_array_file content;
    cri_array_text text[N_TEXT];
    const char *file;
    cr_error *err;
    char *bodies[BODY_MOST];
    char *contacts[BODY_MOST];
    cri_central_contact touch[BODY_MOST];
} sheet_read;

enum { POINTS_TEXT_SYSTEM, TEXT_NAME, TEXT_LAW, TEXT_FORM, N_POINTS_TEXT };

enum { POINTS_ARRAY_MOST = 4 + 2 * CRI_MLP_LAYER_MOST, ROPE_MOST = 100000 };

static const char *const points_text_name[N_POINTS_TEXT] = {"system", "name", "law", "form"};

static const char *const form_name[] = {[CRI_LAGRANGE] = "lagrange", [CRI_HAMILTON] = "hamilton"};

// of coordinates weighted by mass, without and with springs
static const char *const net_names[] = {"weighted-potential", "spring-potential"};

// what older versions wrote: the first of bare coordinates, the second of ropes without springs
static const char *const old_names[] = {"potential/1/w", "weighted-potential/1/w"};

/// A file being read.
typedef struct points_sheet {
    cri_array_file content;
    cri_array_text text[N_POINTS_TEXT];
    const char *file;
    cr_error *err;
} points_sheet;

// ---- learners -----------------------------------------------------------------------------------

// Trained models as HDF5 files, and back as models that simulate.

// ---- writing -----------------------------------------------------------------------------------

static double *add_array(sheet *s, const char *name, int n, int m) {
    CR_ASSERT(s->n_array < ARRAY_MOST);
    cri_array *a = &s->array[s->n_array++];
    *a = (cri_array){.name = cri_arena_push_text(s->arena, name),
                     .rank = m > 0 ? 2 : 1,
                     .extent = {n, m},
                     .value = CR_PUSH(s->arena, double, n *(m > 0 ? m : 1) + 1)};
    s->has_failed |= !a->name || !a->value;
    return a->value;
}

static void add_copy(sheet *s, const char *name, int n, const double *value) {
    double *to = add_array(s, name, n, 0);
    if (to) {
        memcpy(to, value, (size_t)n * sizeof *to);
    }
}

static void add_net(sheet *s, const cri_mlp *net, const char *name, const double *w) {
    double *copy = CR_PUSH(s->arena, double, cri_mlp_n_weight(net));
    if (!copy) {
        s->has_failed = true;
        return;
    }
    memcpy(copy, w, (size_t)cri_mlp_n_weight(net) * sizeof *copy);
    int n = cri_mlp_to_arrays(net, name, copy, s->array + s->n_array, s->arena);
    s->has_failed |= n < 0;
    s->n_array += n > 0 ? n : 0;
}

static void add_contacts(sheet *s, const cri_central *c, const double *p) {
    if (c->n_contact == 0) {
        return;
    }
    double *body = add_array(s, "touch/body", c->n_contact, 2);
    double *normal = add_array(s, "touch/normal", c->n_contact, c->n_dim);
    for (int k = 0; !s->has_failed && k < c->n_contact; k++) {
        body[2 * k] = c->touch[k].i;
        body[2 * k + 1] = c->touch[k].j;
        for (int i = 0; i < c->n_dim; i++) {
            // zero stands for spheres
            normal[k * c->n_dim + i] = c->touch[k].is_round ? 0.0 : c->touch[k].normal[i];
        }
    }
    add_copy(s, "touch/restitution", c->n_contact, p + c->at_restitution);
    add_copy(s, "touch/offset", c->n_contact, p + c->at_offset);
}

static void add_points(sheet *s, const cri_balls *points) {
    double shape[] = {points->n_dim, points->is_angle ? 1.0 : 0.0, points->length, points->radius,
                      points->spacing};
    add_copy(s, "shape", 5, shape);
}

static void fill_sheet(sheet *s, const cri_learner *learner, const double *p) {
    const cri_central *c = learner->central;
    const cri_baseline *b = learner->baseline;
    int n_body = c ? c->n_body : b->n_body;
    add_points(s, c ? &c->points : &b->points);
    add_copy(s, "dt", 1, c ? &c->dt : &b->dt);
    add_copy(s, "x0", 2 * learner->n_q, c ? c->x0 : b->x0);
    add_copy(s, "mass", n_body, c || b->at_net > 0 ? p : b->mass);
    double n_touch = learner->n_touch;
    add_copy(s, "n_touch", 1, &n_touch);
    if (c) {
        add_copy(s, "home", c->n_q, c->home);
        add_copy(s, "damping", 1, p + c->at_damping);
        add_contacts(s, c, p);
        add_net(s, &c->potential_net, "potential", p + c->at_potential);
        if (c->at_contact_net < c->n_p) {
            add_net(s, &c->contact_net, "contact", p + c->at_contact_net);
        }
        return;
    }
    add_net(s, &b->net, b->kind == CRI_BASELINE_VIN ? "potential" : "rate", p + b->at_net);
    if (b->at_contact_net < b->n_p) {
        add_net(s, &b->contact_net, "contact", p + b->at_contact_net);
    }
}

// names with commas between, which a file of text holds
static void join(char *out, int n, const char *name) {
    size_t used = strlen(out);
    (void)snprintf(out + used, TEXT_LENGTH - used, "%s%s", n > 0 ? "," : "", name);
}

cr_status cri_learner_write(const char *path, const cri_learner *learner, const double *p,
                            cr_error *err) {
    const cri_central *c = learner->central;
    const cri_balls *points = c ? &c->points : &learner->baseline->points;
    sheet s = {.arena = cri_arena_create(1 << 16)};
    char *names = s.arena ? CR_PUSH(s.arena, char, 2 * TEXT_LENGTH) : NULL;
    if (!names) {
        cri_arena_destroy(s.arena);
        return cri_file_fail_memory(err, path);
    }
    fill_sheet(&s, learner, p);
    for (int i = 0; i < points->n_body; i++) {
        join(names, i, points->name[i]);
    }
    for (int k = 0; c && k < c->n_contact; k++) {
        join(names + TEXT_LENGTH, k, c->touch[k].name);
    }
    const cri_mlp *net = c ? &c->potential_net : &learner->baseline->net;
    const char *kind = c ? "central-difference" : cri_learner_name(learner->kind);
    const char *value[N_TEXT] = {kind,
                                 cri_learner_name(learner->kind),
                                 names,
                                 names + TEXT_LENGTH,
                                 cri_activation_name(net->act),
                                 projection_name[c ? c->projection : CRI_PROJECT_NONE]};
    cri_array_text text[N_TEXT];
    for (int k = 0; k < N_TEXT; k++) {
        text[k] = (cri_array_text){text_name[k], cri_arena_push_text(s.arena, value[k])};
        s.has_failed |= !text[k].text;
    }
    cr_status status = CR_ERR_MEMORY;
    if (s.has_failed) {
        (void)cri_file_fail_memory(err, path);
    } else {
        status = cri_arrays_write(path,
                                  &(cri_array_file){.format = CRI_SYSTEM_FORMAT,
                                                    .n_array = s.n_array,
                                                    .array = s.array,
                                                    .n_text = N_TEXT,
                                                    .text = text},
                                  err);
    }
    cri_arena_destroy(s.arena);
    return status;
}

// ---- reading -----------------------------------------------------------------------------------

static cr_status refuse(const sheet_read *r, const char *what) {
    return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0, "is no model of weights: %s", what);
}

// an array of n numbers, NULL: there is none of that size
static const double *numbers(const sheet_read *r, const char *name, int n) {
    const cri_array *a = cri_arrays_find(&r->content, name);
    int size = a ? 1 : -1;
    for (int k = 0; a && k < a->rank; k++) {
        size *= a->extent[k];
    }
    return a && size == n ? a->value : NULL;
}

// splits names at commas, in place; -1 when there are too many
static int split(char *text, char **name) {
    int n = 0;
    for (char *at = text; at && *at && n < BODY_MOST; n++) {
        name[n] = at;
        at = strchr(at, ',');
        if (at) {
            *at++ = '\0';
        }
    }
    return n < BODY_MOST ? n : -1;
}

static cr_status read_points(sheet_read *r, cri_learner_def *def) {
    const double *shape = numbers(r, "shape", 5);
    const double *dt = numbers(r, "dt", 1);
    int n_body = split(r->text[TEXT_BODIES].text, r->bodies);
    if (!shape || !dt || !(*dt > 0.0) || n_body < 1 || shape[0] < 1.0 || shape[0] > 3.0 ||
        shape[0] != (int)shape[0] || (shape[1] != 0.0 && shape[0] != 1.0)) {
        return refuse(r, "bodies, shape or time step are missing or wrong");
    }
    def->points = (cri_balls){.n_body = n_body,
                              .n_dim = (int)shape[0],
                              .name = (const char *const *)r->bodies,
                              .is_angle = shape[1] != 0.0,
                              .length = shape[2],
                              .radius = shape[3],
                              .spacing = shape[4]};
    def->dt = *dt;
    def->mass = numbers(r, "mass", n_body);
    def->x0 = numbers(r, "x0", 2 * n_body * def->points.n_dim);
    bool has_mass = def->mass != NULL;
    for (int i = 0; has_mass && i < n_body; i++) {
        has_mass = def->mass[i] > 0.0;
    }
    return has_mass && def->x0 ? CR_OK : refuse(r, "masses or the first state are wrong");
}

static cr_status read_contacts(sheet_read *r, cri_learner_def *def) {
    int n = split(r->text[TEXT_CONTACTS].text, r->contacts);
    int n_dim = def->points.n_dim;
    const double *body = numbers(r, "touch/body", 2 * n);
    const double *normal = numbers(r, "touch/normal", n * n_dim);
    const double *restitution = numbers(r, "touch/restitution", n);
    const double *offset = numbers(r, "touch/offset", n);
    if (n < 0 || (n > 0 && (!body || !normal || !restitution || !offset))) {
        return refuse(r, "contacts are missing or wrong");
    }
    for (int k = 0; k < n; k++) {
        double square = 0.0;
        for (int i = 0; i < n_dim; i++) {
            square += normal[k * n_dim + i] * normal[k * n_dim + i];
        }
        int i = (int)body[2 * k];
        int j = (int)body[2 * k + 1];
        bool is_round = square == 0.0;
        bool is_good = i >= 0 && i < def->points.n_body && j >= -1 && j < def->points.n_body &&
                       i != j && (!is_round || j >= 0) && restitution[k] >= 0.0 &&
                       restitution[k] <= 1.0;
        if (!is_good || (!is_round && !(square > 0.99 && square < 1.01))) {
            return refuse(r, "a contact names no body, or its normal or restitution is wrong");
        }
        r->touch[k] = (cri_central_contact){i,
                                            j,
                                            is_round,
                                            is_round ? NULL : normal + (size_t)(k * n_dim),
                                            offset[k],
                                            restitution[k],
                                            r->contacts[k]};
    }
    def->n_contact = n;
    def->touch = r->touch;
    return CR_OK;
}

// weights into p, when the shape in the file is the one that the model has
static cr_status take_net(const sheet_read *r, const char *name, const cri_mlp *net, double *w) {
    cri_mlp found = {0};
    CR_TRY(cri_mlp_shape(&r->content, r->file, name, &found, r->err));
    bool is_same = found.n_layer == net->n_layer && found.has_no_last_bias == net->has_no_last_bias;
    for (int k = 0; is_same && k <= net->n_layer; k++) {
        is_same = found.width[k] == net->width[k];
    }
    if (!is_same) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                             "is no model of weights: the layers of '%s' do not fit", name);
    }
    cri_mlp_from_arrays(&r->content, name, net, w);
    return CR_OK;
}

static cr_status fill(const sheet_read *r, const cri_learner *learner, double *p) {
    const cri_central *c = learner->central;
    const cri_baseline *b = learner->baseline;
    if (c) {
        memcpy(p, c->p0, (size_t)c->n_p * sizeof *p);
        const double *damping = numbers(r, "damping", 1);
        p[c->at_damping] = damping ? *damping : 0.0;
        CR_TRY(take_net(r, "potential", &c->potential_net, p + c->at_potential));
        return c->at_contact_net < c->n_p
                   ? take_net(r, "contact", &c->contact_net, p + c->at_contact_net)
                   : CR_OK;
    }
    memcpy(p, b->mass, (size_t)b->at_net * sizeof *p);
    CR_TRY(take_net(r, b->kind == CRI_BASELINE_VIN ? "potential" : "rate", &b->net, p + b->at_net));
    return b->at_contact_net < b->n_p
               ? take_net(r, "contact", &b->contact_net, p + b->at_contact_net)
               : CR_OK;
}

// widths of hidden layers, which the model is made with
static cr_status read_sizes(const sheet_read *r, cri_learner_def *def) {
    bool is_rate = def->kind == CRI_LEARN_RESNET || def->kind == CRI_LEARN_RESNETCONTACT;
    bool is_plain = def->kind == CRI_LEARN_RESNET || def->kind == CRI_LEARN_VIN;
    cri_mlp net = {0};
    CR_TRY(cri_mlp_shape(&r->content, r->file, is_rate ? "rate" : "potential", &net, r->err));
    def->n_hidden = net.width[1];
    const double *n_touch = numbers(r, "n_touch", 1);
    if (is_rate && n_touch && *n_touch >= 0.0 && *n_touch < BODY_MOST) {
        def->n_contact = (int)*n_touch;
    }
    if (!is_plain && def->n_contact > 0) {
        CR_TRY(cri_mlp_shape(&r->content, r->file, "contact", &net, r->err));
        def->n_signal = net.width[1];
    }
    return CR_OK;
}

static cr_status build(sheet_read *r, cr_model **out) {
    cri_learner_def def = {0};
    int kind = cri_learner_find(r->text[TEXT_MODEL].text);
    if (kind < 0 || !cri_activation_find(r->text[TEXT_ACT].text, &def.act)) {
        return refuse(r, "its model or activation is not known");
    }
    def.kind = (cri_learner_kind)kind;
    for (int k = 0; k < 3; k++) {
        if (strcmp(projection_name[k], r->text[TEXT_PROJECTION].text) == 0) {
            def.projection = (cri_projection)k;
        }
    }
    CR_TRY(read_points(r, &def));
    CR_TRY(read_contacts(r, &def));
    CR_TRY(read_sizes(r, &def));
    cri_learner learner = {0};
    if (!cri_learner_create(&def, &learner)) {
        return cri_file_fail_memory(r->err, r->file);
    }
    const double *home = learner.central ? numbers(r, "home", learner.n_q) : NULL;
    if (home) {
        memcpy(learner.central->home, home, (size_t)learner.n_q * sizeof *home);
    }
    double *p = calloc((size_t)learner.n_p, sizeof *p);
    cr_status status = p ? fill(r, &learner, p) : cri_file_fail_memory(r->err, r->file);
    if (status != CR_OK) {
        cri_learner_clear(&learner);
    } else if (learner.central) {
        status = cri_central_model(learner.central, p, out, r->err);
    } else {
        status = cri_baseline_model(learner.baseline, p, out, r->err);
    }
    free(p);
    return status;
}

/// The model in the bytes of a file, which stands in messages.
static cr_status learner_read(const char *bytes, size_t n_byte, const char *file, cr_model **out,
                              cr_error *err) {
    *out = NULL;
    sheet_read *r = calloc(1, sizeof *r);
    if (!r) {
        return cri_file_fail_memory(err, file);
    }
    r->file = file;
    r->err = err;
    r->content = (cri_array_file){.format = CRI_SYSTEM_FORMAT, .n_text = N_TEXT, .text = r->text};
    for (int k = 0; k < N_TEXT; k++) {
        r->text[k].name = text_name[k];
    }
    cr_status status = cri_arrays_parse(bytes, n_byte, file, &r->content, err);
    for (int k = 0; status == CR_OK && k < N_TEXT; k++) {
        if (!r->text[k].text) {
            status = refuse(r, "a text is missing");
        }
    }
    if (status == CR_OK) {
        status = build(r, out);
    }
    cri_arrays_clear(&r->content);
    free(r);
    return status;
}

// ---- points with contact ------------------------------------------------------------------------

// Systems of points as weight files, and back.

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
    cri_array array[POINTS_ARRAY_MOST];
    double n_point = sc->kind == CRI_POINTS_ROPE ? sc->s.n_point : 0;
    const char *value[N_POINTS_TEXT] = {"points", sc->name, sc->law.law->name, form_name[sc->form]};
    cri_array_text text[N_POINTS_TEXT];
    bool is_built = arena && put(&array[0], "points", 1, &n_point, arena) &&
                    put(&array[1], "dt", 1, &sc->dt, arena) &&
                    put(&array[2], "x0", sc->n_x, sc->x0, arena) &&
                    put(&array[3], "value", n_value(sc), p, arena);
    for (int k = 0; k < N_POINTS_TEXT && is_built; k++) {
        text[k] = (cri_array_text){points_text_name[k], cri_arena_push_text(arena, value[k])};
        is_built = text[k].text != NULL;
    }
    int n = is_built && net ? put_net(sc, net, p, array + 4, arena) : 0;
    cr_status status = is_built && n >= 0
                           ? cri_arrays_write(path,
                                              &(cri_array_file){.format = CRI_SYSTEM_FORMAT,
                                                                .n_array = 4 + n,
                                                                .array = array,
                                                                .n_text = N_POINTS_TEXT,
                                                                .text = text},
                                              err)
                           : cri_file_fail_memory(err, path);
    cri_arena_destroy(arena);
    return status;
}

// ---- reading -----------------------------------------------------------------------------------

// an array of n numbers; NULL, and the error says why, when there is none
static const double *take(const points_sheet *s, const char *name, int n) {
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
static cr_status take_points_net(const points_sheet *s, cri_points_scene *sc) {
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
static cr_status take_potential(const points_sheet *s, cri_points_scene *sc) {
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
    return cri_arrays_find(&s->content, first) ? take_points_net(s, sc) : CR_OK;
}

static cr_status fill_points(const points_sheet *s, cri_points_scene *sc) {
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

static cr_status build_points(const points_sheet *s, cr_model **out) {
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
    cr_status status = fill_points(s, sc);
    if (status != CR_OK) {
        cri_points_scene_destroy(sc);
        return status;
    }
    return cri_points_model_create(sc, out, s->err);
}

/// A reader of weight files, see model/system.h.
static cr_status points_file_read(const char *bytes, size_t n_byte, const char *file,
                                  cr_model **out, cr_error *err) {
    *out = NULL;
    points_sheet s = {.file = file, .err = err};
    s.content =
        (cri_array_file){.format = CRI_SYSTEM_FORMAT, .n_text = N_POINTS_TEXT, .text = s.text};
    for (int k = 0; k < N_POINTS_TEXT; k++) {
        s.text[k].name = points_text_name[k];
    }
    cr_status status = cri_arrays_parse(bytes, n_byte, file, &s.content, err);
    for (int k = 0; status == CR_OK && k < N_POINTS_TEXT; k++) {
        if (!s.text[k].text) {
            status = cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                                   "is no model of weights: the text '%s' is missing",
                                   points_text_name[k]);
        }
    }
    if (status == CR_OK) {
        status = build_points(&s, out);
    }
    cri_arrays_clear(&s.content);
    return status;
}

// ---- readers ------------------------------------------------------------------------------------

const cri_system_reader cri_system_readers[] = {
    {"central-difference", learner_read}, {"resnet", learner_read},
    {"resnetcontact", learner_read},      {"vin", learner_read},
    {"points", points_file_read},         {NULL, NULL},
};
