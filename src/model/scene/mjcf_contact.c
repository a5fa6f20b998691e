// SPDX-License-Identifier: MIT
//
// Contacts of an MJCF scene: softness, pairs of geoms (listed and excluded ones), their friction,
// and what <custom> says.
//
// Friction of a pair as in MuJoCo: its own coefficient; else that of the geom with the higher
// priority; else the larger one. A pair whose condim comes to 1 has none, as a coefficient of its
// own. Two sliding coefficients act along the tangents of contact/island.h, as in MuJoCo; but there
// the tangents of a capsule on a plane turn with the capsule.

#include "model/scene/mjcf.h"

#include "model/scene/ground_file.h"
#include "model/scene/shape_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// MuJoCo's own defaults, which a shorter list leaves
static const cri_softness usual = {.ref = {0.02, 1.0}, .imp = {0.9, 0.95, 0.001, 0.5, 2.0}};

const cri_mjcf_rules cri_mjcf_pair_rules = {
    .read = "name class geom1 geom2 condim friction solref solimp solreffriction margin gap",
};

static const cri_mjcf_rules exclude_rules = {.read = "body1 body2", .ignored = "name"};

#define PREFIX "carom:"

static const char *const known_texts =
    "a text is law, stepper, weights, gyroscopic, inertia:BODY, shape:GEOM, vertices:GEOM or "
    "potential:clusters";

static const char *const known_numbers =
    "a numeric is potential:mu, eps[:GEOM], length, reach or slip, restitution:GEOM[:GEOM], "
    "friction:GEOM:GEOM or slide:GEOM:GEOM";

// ---- softness -----------------------------------------------------------------------------------

// How soft contacts and limits of an MJCF scene are: solref, solimp and solmix, which the law soft
// alone reads (energy/soft.h).

// says once that other laws do not read it
static void warn(cri_mjcf *m, const cri_mjcf_elem *e, const char *name, bool is_limit) {
    const cri_xml_node *from = e->node;
    (void)cri_mjcf_get(e, name, &from);
    cri_mjcf_warn(m, is_limit ? CRI_MJCF_WARN_LIMIT : CRI_MJCF_WARN_SOFT, from,
                  "%s counts for the law soft alone: %s of the others are rigid", name,
                  is_limit ? "limits" : "contacts");
}

static cr_status check(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_softness *s) {
    // stiffness and damping are given as their negatives
    if ((s->ref[0] > 0.0) != (s->ref[1] > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "solref is %g %g, expected two positive numbers (time constant, "
                             "damping ratio) or two that are not (-stiffness, -damping)",
                             s->ref[0], s->ref[1]);
    }
    if (s->imp[2] < 0.0 || s->imp[4] < 1.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "solimp has width %g and power %g, expected 0 or more, 1 or more",
                             s->imp[2], s->imp[4]);
    }
    return CR_OK;
}

cr_status cri_mjcf_softness(cri_mjcf *m, const cri_mjcf_elem *e, bool is_limit, cri_softness *out) {
    const char *ref = is_limit ? "solreflimit" : "solref";
    const char *imp = is_limit ? "solimplimit" : "solimp";
    *out = usual;
    out->has_ref = cri_mjcf_get(e, ref, NULL) != NULL;
    out->has_imp = cri_mjcf_get(e, imp, NULL) != NULL;
    CR_TRY(cri_mjcf_numbers(m, e, ref, 1, 2, out->ref, NULL));
    CR_TRY(cri_mjcf_numbers(m, e, imp, 1, 5, out->imp, NULL));
    const char *found = out->has_ref ? ref : out->has_imp ? imp : NULL;
    if (!is_limit) {
        out->has_mix = cri_mjcf_get(e, "solmix", NULL) != NULL;
        CR_TRY(cri_mjcf_amount(m, e, "solmix", &out->mix));
        found = !found && out->has_mix ? "solmix" : found;
    }
    if (found) {
        warn(m, e, found, is_limit);
    }
    return check(m, e, out);
}

void cri_mjcf_warn_margin(cri_mjcf *m, const cri_mjcf_elem *e, int condim) {
    static const char *const words[] = {"margin", "gap", "solreffriction"};
    const char *found = condim > 3 ? "condim" : NULL;
    for (size_t k = 0; !found && k < sizeof words / sizeof words[0]; k++) {
        found = cri_mjcf_get(e, words[k], NULL) ? words[k] : NULL;
    }
    if (found) {
        const cri_xml_node *from = e->node;
        (void)cri_mjcf_get(e, found, &from);
        cri_mjcf_warn(m, CRI_MJCF_WARN_MARGIN, from,
                      "%s has no effect: contacts begin at touching, with sliding friction only",
                      found);
    }
}

// ---- pairs --------------------------------------------------------------------------------------

/// The pair i < j, NULL when there is none; and a new one, NULL for lack of memory.
static cri_pair_def *mjcf_find_pair(const cri_scene_def *def, int i, int j) {
    CR_ASSERT(i <= j);
    for (int k = 0; k < def->n_pair; k++) {
        cri_pair_def *pair = &def->pair[k];
        if (pair->geom[0] == i && pair->geom[1] == j) {
            return pair;
        }
    }
    return NULL;
}

static cri_pair_def *mjcf_add_pair(cri_scene_def *def, int i, int j, cri_place place) {
    CR_ASSERT(i < j);
    cri_pair_def *list = cri_scene_def_grow(def, def->pair, def->n_pair, sizeof *list);
    if (!list) {
        return NULL;
    }
    def->pair = list;
    cri_pair_def *pair = &def->pair[def->n_pair++];
    *pair = (cri_pair_def){.geom = {i, j}, .place = place};
    return pair;
}

// by their masks alone
static bool is_masked(const cri_geom_def *a, const cri_geom_def *b) {
    bool has_bits = (a->contype & b->conaffinity) || (b->contype & a->conaffinity);
    return a->body == b->body || !has_bits;
}

/// True when geoms i and j touch by their masks or because they are listed.
static bool mjcf_may_touch(const cri_scene_def *def, int i, int j) {
    CR_ASSERT(i >= 0 && j >= 0 && i < def->n_geom && j < def->n_geom);
    if (!is_masked(&def->geom[i], &def->geom[j])) {
        return true;
    }
    const cri_pair_def *pair = mjcf_find_pair(def, i, j);
    return pair && pair->is_listed;
}

// ---- <contact> ---------------------------------------------------------------------------------

static bool is_plane_and_capsule(const cri_scene_def *def, const cri_pair_def *pair) {
    cri_shape_kind a = def->geom[pair->geom[0]].shape, b = def->geom[pair->geom[1]].shape;
    return (a == CRI_SHAPE_PLANE && b == CRI_SHAPE_CAPSULE) ||
           (a == CRI_SHAPE_CAPSULE && b == CRI_SHAPE_PLANE);
}

// friction and condim of a listed pair
static cr_status read_pair(cri_mjcf *m, const cri_mjcf_elem *e, cri_pair_def *pair) {
    double friction[5] = {1.0, 1.0, 0.0, 0.0, 0.0};
    int n;
    int condim = 0;
    CR_TRY(cri_mjcf_numbers(m, e, "friction", 1, 5, friction, &n));
    CR_TRY(cri_mjcf_int(m, e, "condim", &condim));
    bool is_known = condim == 0 || condim == 1 || condim == 3 || condim == 4 || condim == 6;
    if (!is_known) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "condim is %d, expected 1, 3, 4 or 6",
                             condim);
    }
    double least = n > 1 && friction[1] < friction[0] ? friction[1] : friction[0];
    if (n > 0 && least < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "friction is %g, expected 0 or more",
                             least);
    }
    bool has_two = n > 1 && friction[0] != friction[1] && condim != 1;
    if (has_two && is_plane_and_capsule(m->def, pair)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, e->node,
                             "friction differs along and across a capsule on a plane: give the "
                             "same number twice, or directions of the world by carom:friction");
    }
    CR_TRY(cri_mjcf_softness(m, e, false, &pair->softness));
    cri_mjcf_warn_margin(m, e, condim);
    if (n == 1 && friction[0] != 1.0 && condim != 1) {
        cri_mjcf_warn(m, CRI_MJCF_WARN_FRICTION, e->node,
                      "<pair> friction has one number, which counts for both directions; in MuJoCo "
                      "the second one is 1: give it twice");
    }
    pair->has_friction = n > 0 || condim == 1;
    pair->friction = condim == 1 ? 0.0 : n > 0 ? friction[0] : 0.0;
    pair->has_two_frictions = has_two;
    pair->friction2 = has_two ? friction[1] : 0.0;
    pair->condim = condim;
    return CR_OK;
}

static cr_status add_listed(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_elem e;
    int geom[2];
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_PAIR, &cri_mjcf_pair_rules, NULL, &e));
    CR_TRY(cri_mjcf_find(m, node, "geom1", CRI_MJCF_GEOMS, &geom[0]));
    CR_TRY(cri_mjcf_find(m, node, "geom2", CRI_MJCF_GEOMS, &geom[1]));
    int i = geom[0] < geom[1] ? geom[0] : geom[1];
    int j = geom[0] < geom[1] ? geom[1] : geom[0];
    if (m->def->geom[i].body == m->def->geom[j].body) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "lists two geoms of one body: they never collide; remove it");
    }
    if (mjcf_find_pair(m->def, i, j)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "lists this pair again: remove one");
    }
    cri_pair_def *pair = mjcf_add_pair(m->def, i, j, cri_mjcf_place(node));
    if (!pair) {
        return cri_mjcf_fail_memory(m);
    }
    pair->is_listed = true;
    return read_pair(m, &e, pair);
}

static cr_status add_exclude(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    cri_exclude_def exclude = {.place = cri_mjcf_place(node)};
    CR_TRY(cri_mjcf_check_attrs(m, node, &exclude_rules));
    CR_TRY(cri_mjcf_find(m, node, "body1", CRI_MJCF_BODIES, &exclude.body[0]));
    CR_TRY(cri_mjcf_find(m, node, "body2", CRI_MJCF_BODIES, &exclude.body[1]));
    cri_exclude_def *list = cri_scene_def_grow(def, def->exclude, def->n_exclude, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->exclude = list;
    def->exclude[def->n_exclude++] = exclude;
    return CR_OK;
}

cr_status cri_mjcf_read_contact(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *section = root->child; section; section = section->next) {
        if (strcmp(section->name, "contact") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, section, &(cri_mjcf_rules){0}));
        CR_TRY(cri_mjcf_check_children(m, section, "pair exclude"));
        for (const cri_xml_node *node = section->child; node; node = node->next) {
            CR_TRY(cri_mjcf_check_children(m, node, NULL));
            bool is_pair = strcmp(node->name, "pair") == 0;
            CR_TRY(is_pair ? add_listed(m, node) : add_exclude(m, node));
        }
    }
    return CR_OK;
}

// ---- friction ----------------------------------------------------------------------------------

// the coefficient of one pair, when it is not simply the larger of the two
static cr_status rank_pair(cri_mjcf *m, int i, int j, cri_pair_def *pair) {
    cri_scene_def *def = m->def;
    const cri_geom_def *a = &def->geom[i];
    const cri_geom_def *b = &def->geom[j];
    int first = a->priority >= b->priority ? i : j;
    bool is_ranked = a->priority != b->priority;
    int condim = a->condim > b->condim ? a->condim : b->condim;
    condim = is_ranked ? def->geom[first].condim : condim;
    condim = pair && pair->condim > 0 ? pair->condim : condim;
    if (!is_ranked && condim > 1) {
        return CR_OK;
    }
    if (!pair) {
        pair = mjcf_add_pair(def, i, j, def->geom[first].place);
    }
    if (!pair) {
        return cri_mjcf_fail_memory(m);
    }
    if (!pair->has_friction) {
        pair->has_friction = condim <= 1;
        pair->friction = 0.0;
        pair->friction_geom = 1 + first;
    }
    return CR_OK;
}

// do all geoms have one priority and friction? Then no pair is special
static bool are_alike(const cri_scene_def *def) {
    bool are = true;
    for (int i = 0; i < def->n_geom; i++) {
        are = are && def->geom[i].priority == def->geom[0].priority && def->geom[i].condim > 1;
    }
    return are;
}

cr_status cri_mjcf_rank_pairs(cri_mjcf *m) {
    cri_scene_def *def = m->def;
    int n_given = def->n_pair;
    // pairs with something of their own first, then those without
    for (int k = 0; k < n_given; k++) {
        CR_TRY(rank_pair(m, def->pair[k].geom[0], def->pair[k].geom[1], &def->pair[k]));
    }
    if (are_alike(def)) {
        return CR_OK;
    }
    for (int i = 0; i < def->n_geom; i++) {
        for (int j = i + 1; j < def->n_geom; j++) {
            const cri_geom_def *a = &def->geom[i];
            const cri_geom_def *b = &def->geom[j];
            bool is_plain = a->priority == b->priority && (a->condim > 1 || b->condim > 1);
            if (is_plain || is_masked(a, b)) {
                continue;
            }
            bool is_given = false;
            for (int k = 0; k < n_given && !is_given; k++) {
                is_given = def->pair[k].geom[0] == i && def->pair[k].geom[1] == j;
            }
            if (!is_given) {
                CR_TRY(rank_pair(m, i, j, NULL));
            }
        }
    }
    return CR_OK;
}

// ---- <custom> -----------------------------------------------------------------------------------

// What MJCF lacks, from <custom>.
//
//   text     carom:law                       contact law
//   text     carom:stepper                   located, end
//   text     carom:weights                   file of a learned contact law's nets
//   text     carom:inertia:BODY              shape: mass and inertia follow size and density;
//                                            shape origin: with the centre put at the origin
//   text     carom:gyroscopic                on, off: free bodies without w x J w
//   text     carom:shape:GEOM                a distance field (model/scene/shape_text.h)
//   text     carom:vertices:GEOM             parameters: the vertices of its mesh are some
//   text     carom:potential:clusters        single, whole: what far parts of bodies count for
//   numeric  carom:potential:WORD            mu, eps, length, reach, slip of laws that are energies
//   numeric  carom:potential:eps:GEOM        its pairs with other geoms, the larger of two
//   numeric  carom:restitution:GEOM          one geom; a pair takes the larger of its two
//   numeric  carom:restitution:GEOM:GEOM     one pair
//   numeric  carom:friction:GEOM:GEOM        one pair; two numbers: along the two tangents
//   numeric  carom:slide:GEOM:GEOM           friction of the second geom over the first along a
//                                            direction, against it, and the direction

// ---- entries -----------------------------------------------------------------------------------

// index of the geom whose name is the first n bytes of name, -1 when there is none
static int find_geom(const cri_scene_def *def, const char *name, size_t n) {
    for (int i = 0; i < def->n_geom; i++) {
        const char *own = def->geom[i].name;
        if (strncmp(own, name, n) == 0 && own[n] == '\0') {
            return i;
        }
    }
    return -1;
}

// splits GEOM:GEOM; names may have colons, so every one of them is tried
static bool find_geoms(const cri_scene_def *def, const char *names, int geom[2]) {
    for (const char *colon = strchr(names, ':'); colon; colon = strchr(colon + 1, ':')) {
        geom[0] = find_geom(def, names, (size_t)(colon - names));
        geom[1] = find_geom(def, colon + 1, strlen(colon + 1));
        if (geom[0] >= 0 && geom[1] >= 0) {
            return true;
        }
    }
    return false;
}

// the pair that names says, with its geoms in document order
static cr_status pair_by_names(cri_mjcf *m, const cri_xml_node *node, const char *names,
                               cri_pair_def **out) {
    int geom[2];
    if (!find_geoms(m->def, names, geom)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "'%.60s' is no pair of geoms: expected GEOM:GEOM, two names of this "
                             "scene",
                             names);
    }
    int i = geom[0] < geom[1] ? geom[0] : geom[1];
    int j = geom[0] < geom[1] ? geom[1] : geom[0];
    if (!mjcf_may_touch(m->def, i, j)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "'%.60s' never collide: remove the entry, or change contype and "
                             "conaffinity",
                             names);
    }
    *out = mjcf_find_pair(m->def, i, j);
    if (!*out) {
        *out = mjcf_add_pair(m->def, i, j, cri_mjcf_place(node));
    }
    return *out ? CR_OK : cri_mjcf_fail_memory(m);
}

// one coefficient, or one for each tangent
static cr_status set_friction(cri_mjcf *m, const cri_xml_node *node, const char *names, int n,
                              const double *value) {
    for (int i = 0; i < n; i++) {
        if (value[i] < 0.0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "friction is %g, expected 0 or more",
                                 value[i]);
        }
    }
    cri_pair_def *pair = NULL;
    CR_TRY(pair_by_names(m, node, names, &pair));
    CR_ASSERT(pair);
    if (pair->has_friction) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "gives the friction of '%.60s' again", names);
    }
    pair->has_friction = true;
    pair->friction = value[0];
    pair->has_two_frictions = n > 1 && value[0] != value[1];
    pair->friction2 = pair->has_two_frictions ? value[1] : 0.0;
    return CR_OK;
}

// coefficients along and against a direction, and the direction: five numbers
static cr_status set_slide(cri_mjcf *m, const cri_xml_node *node, const char *names, int n,
                           const double *value) {
    cri_vec3 way = {value[2], value[3], value[4]};
    double length = cri_v3_norm(way);
    if (n != 5 || !(length > 0.0 && isfinite(length))) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "expected five numbers: friction along a direction, friction against "
                             "it, and the direction, not zero");
    }
    int geom[2] = {0, 0};
    CR_TRY(set_friction(m, node, names, 1, value));
    if (value[1] < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "friction is %g, expected 0 or more",
                             value[1]);
    }
    cri_pair_def *pair = NULL;
    CR_TRY(pair_by_names(m, node, names, &pair));
    CR_ASSERT(pair);
    find_geoms(m->def, names, geom);
    pair->has_sides = true;
    pair->friction_back = value[1];
    pair->slide = cri_v3_scale((geom[1] == pair->geom[1] ? 1.0 : -1.0) / length, way);
    return CR_OK;
}

static cr_status set_restitution(cri_mjcf *m, const cri_xml_node *node, const char *names,
                                 double value) {
    if (value < 0.0 || value > 1.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "restitution is %g, expected 0 to 1", value);
    }
    int geom = find_geom(m->def, names, strlen(names));
    if (geom >= 0) {
        m->def->geom[geom].restitution = value;
        return CR_OK;
    }
    if (!strchr(names, ':')) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "names no geom of this scene: '%.60s'", names);
    }
    cri_pair_def *pair = NULL;
    CR_TRY(pair_by_names(m, node, names, &pair));
    CR_ASSERT(pair);
    if (pair->has_restitution) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "gives the restitution of '%.60s' again",
                             names);
    }
    pair->has_restitution = true;
    pair->restitution = value;
    return CR_OK;
}

static cr_status set_inertia(cri_mjcf *m, const cri_xml_node *node, const char *name,
                             const char *data) {
    cri_body_def *body = NULL;
    for (int i = 0; i < m->def->n_body && !body; i++) {
        body = strcmp(m->def->body[i].name, name) == 0 ? &m->def->body[i] : NULL;
    }
    if (!body) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "names no body of this scene: '%.60s'", name);
    }
    bool is_origin = strcmp(data, "shape origin") == 0;
    if (!is_origin && strcmp(data, "shape") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "data=\"%.40s\" is unknown: expected shape or shape origin", data);
    }
    if (body->has_inertial) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "contradicts <inertial> of body '%.60s': remove one of them", name);
    }
    body->is_shape_inertia = true;
    body->is_origin_inertia = is_origin;
    return CR_OK;
}

static cr_status set_gyroscopic(cri_mjcf *m, const cri_xml_node *node, const char *data) {
    m->def->omits_gyro = strcmp(data, "off") == 0;
    m->def->gyro_place = cri_mjcf_place(node);
    if (!m->def->omits_gyro && strcmp(data, "on") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "data=\"%.40s\" is unknown: expected on or off", data);
    }
    return CR_OK;
}

static cr_status set_shape(cri_mjcf *m, const cri_xml_node *node, const char *name,
                           const char *data) {
    int geom = find_geom(m->def, name, strlen(name));
    cri_form_def *form = CR_PUSH(m->def->memory, cri_form_def, 1);
    cr_error own = {0};
    if (!form) {
        return cri_mjcf_fail_memory(m);
    }
    if (geom < 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "names no geom of this scene: '%.60s'", name);
    }
    if (m->def->geom[geom].shape == CRI_SHAPE_PLANE) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "geom '%.60s' is a plane: give the geom another type", name);
    }
    cr_status status = cri_shape_text_read(data, m->def->file, m->def->memory, form, &own);
    if (status != CR_OK) {
        return cri_mjcf_fail(m, status, node, "data: %.170s", own.text);
    }
    if (form->is_hull && m->def->geom[geom].shape != CRI_SHAPE_MESH) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "data=\"hull\" wants a geom of type mesh");
    }
    form->place = cri_mjcf_place(node);
    m->def->geom[geom].form = form;
    return CR_OK;
}

static cr_status set_vertices(cri_mjcf *m, const cri_xml_node *node, const char *name,
                              const char *data) {
    int geom = find_geom(m->def, name, strlen(name));
    if (geom < 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "names no geom of this scene: '%.60s'", name);
    }
    if (m->def->geom[geom].shape != CRI_SHAPE_MESH) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "geom '%.60s' has no mesh: its size moves it",
                             name);
    }
    if (strcmp(data, "parameters") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "data=\"%.40s\" is unknown: expected parameters", data);
    }
    m->def->geom[geom].has_vertices = true;
    return CR_OK;
}

// out (32 bytes) from data
static cr_status set_word(cri_mjcf *m, const cri_xml_node *node, const char *data, char *out) {
    size_t n = strlen(data);
    if (n == 0 || n >= sizeof m->def->law) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "data=\"%.40s\" is no name of a law", data);
    }
    memcpy(out, data, n + 1);
    return CR_OK;
}

// the nets of a file beside the scene's
static cr_status set_weights(cri_mjcf *m, const cri_xml_node *node, const char *data) {
    char *path = cri_mjcf_path(m->scratch, m->def->file, "", data);
    m->def->nets = CR_PUSH(m->def->memory, cri_ground_nets, 1);
    if (!path || !m->def->nets) {
        return cri_mjcf_fail_memory(m);
    }
    cr_error own = {0};
    cr_status status = cri_ground_file_read(path, m->def->nets, m->def->memory, &own);
    return status == CR_OK ? CR_OK : cri_mjcf_fail(m, status, node, "%.150s", own.text);
}

// width of the shells of one geom's pairs
static cr_status set_eps(cri_mjcf *m, const cri_xml_node *node, const char *name, double value) {
    int geom = find_geom(m->def, name, strlen(name));
    if (geom >= 0 && m->def->geom[geom].shape == CRI_SHAPE_PLANE) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "%.60s is a plane, whose shells are those of "
                             "the other geom: set eps without a name",
                             name);
    }
    if (geom < 0 || !(value > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             geom < 0 ? "names no geom of this scene: '%.60s'"
                                      : "eps of %.60s is not more than 0",
                             name);
    }
    m->def->geom[geom].eps = value;
    return CR_OK;
}

// a number of laws that are energies, all of them positive
static cr_status set_potential(cri_mjcf *m, const cri_xml_node *node, const char *word,
                               double value) {
    cri_potential_numbers *n = &m->def->potential;
    const struct {
        const char *word;
        double *to;
    } known[] = {{"mu", &n->mu},
                 {"eps", &n->eps},
                 {"length", &n->length},
                 {"reach", &n->reach},
                 {"slip", &n->slip}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(word, known[i].word) == 0) {
            if (!(value > 0.0)) {
                return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s is %g, expected more than 0", word,
                                     value);
            }
            *known[i].to = value;
            n->has_mu = n->has_mu || i == 0;
            return CR_OK;
        }
    }
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                         "'%.40s' is unknown: expected mu, eps, length, reach or slip", word);
}

// what a cluster of the long-range potential counts for
static cr_status set_clusters(cri_mjcf *m, const cri_xml_node *node, const char *data) {
    bool is_whole = strcmp(data, "whole") == 0;
    if (!is_whole && strcmp(data, "single") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "'%.40s': expected single or whole", data);
    }
    m->def->potential.has_whole_clusters = is_whole;
    return CR_OK;
}

// what follows prefix in name, NULL when name does not begin with it
static const char *after(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

static cr_status read_text(cri_mjcf *m, const cri_xml_node *node, const char *name) {
    const char *data = cri_xml_get(node, "data");
    data = data ? data : "";
    const char *body = after(name, PREFIX "inertia:");
    if (body) {
        return set_inertia(m, node, body, data);
    }
    const char *geom = after(name, PREFIX "shape:");
    if (geom) {
        return set_shape(m, node, geom, data);
    }
    const char *vertices = after(name, PREFIX "vertices:");
    if (vertices) {
        return set_vertices(m, node, vertices, data);
    }
    // whether there is such a law or stepper is for the sim to say, who has their tables
    if (strcmp(name, PREFIX "law") == 0) {
        m->def->law_place = cri_mjcf_place(node);
        return set_word(m, node, data, m->def->law);
    }
    if (strcmp(name, PREFIX "stepper") == 0) {
        m->def->stepper_place = cri_mjcf_place(node);
        return set_word(m, node, data, m->def->stepper);
    }
    if (strcmp(name, PREFIX "gyroscopic") == 0) {
        return set_gyroscopic(m, node, data);
    }
    if (strcmp(name, PREFIX "weights") == 0) {
        return set_weights(m, node, data);
    }
    if (strcmp(name, PREFIX "potential:clusters") == 0) {
        return set_clusters(m, node, data);
    }
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "'%.40s': %s", name, known_texts);
}

static cr_status read_numeric(cri_mjcf *m, const cri_xml_node *node, const char *name) {
    const char *restitution = after(name, PREFIX "restitution:");
    const char *friction = after(name, PREFIX "friction:");
    const char *potential = after(name, PREFIX "potential:");
    const char *slide = after(name, PREFIX "slide:");
    if (!restitution && !friction && !slide && !potential) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "'%.40s': %s", name, known_numbers);
    }
    double value[5] = {0.0};
    int n;
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_numbers(m, &e, "data", 1, slide ? 5 : (friction ? 2 : 1), value, &n));
    if (n == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "'%.40s' has no data", name);
    }
    const char *of_geom = potential ? after(potential, "eps:") : NULL;
    if (of_geom) {
        return set_eps(m, node, of_geom, value[0]);
    }
    if (potential) {
        return set_potential(m, node, potential, value[0]);
    }
    if (slide) {
        return set_slide(m, node, slide, n, value);
    }
    return restitution ? set_restitution(m, node, restitution, value[0])
                       : set_friction(m, node, friction, n, value);
}

// an entry of ours, else its name is NULL
static const char *carom_name(const cri_xml_node *node) {
    const char *name = cri_xml_get(node, "name");
    return name && after(name, PREFIX) ? name : NULL;
}

static cr_status read_custom(cri_mjcf *m, const cri_xml_node *custom) {
    CR_TRY(cri_mjcf_check_attrs(m, custom, &(cri_mjcf_rules){0}));
    int n = 0;
    for (const cri_xml_node *node = custom->child; node; node = node->next) {
        n++;
    }
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, n + 1);
    if (!label) {
        return cri_mjcf_fail_memory(m);
    }
    n = 0;
    for (const cri_xml_node *node = custom->child; node; node = node->next) {
        if (!cri_mjcf_is_word("numeric text tuple", node->name)) {
            return cri_mjcf_fail_element(m, node, "<custom> has <numeric>, <text>, <tuple>");
        }
        if (carom_name(node)) {
            label[n++] = (cri_mjcf_label){carom_name(node), cri_mjcf_place(node)};
        }
    }
    CR_TRY(cri_mjcf_check_unique(m, "entries", label, n));

    for (const cri_xml_node *node = custom->child; node; node = node->next) {
        const char *name = carom_name(node);
        if (!name) {
            continue;
        }
        bool is_numeric = strcmp(node->name, "numeric") == 0;
        CR_TRY(is_numeric ? read_numeric(m, node, name) : read_text(m, node, name));
    }
    return CR_OK;
}

cr_status cri_mjcf_read_custom(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "custom") == 0) {
            CR_TRY(read_custom(m, node));
        }
    }
    return CR_OK;
}
