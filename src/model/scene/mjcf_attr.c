// SPDX-License-Identifier: MIT
//
// Attributes of MJCF elements: which are allowed, numbers, words, limits; names; default classes.
//
// An attribute is looked up in the element, then in its defaults, strongest first. Lists of numbers
// are laid over each other, weakest first, as in MuJoCo: size="1" over a default size="2 3" is 1 3.

#include "model/scene/mjcf.h"

#include "base/io/file.h"
#include "base/io/number.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// longest piece of the file shown in a message, bytes
#define SHOWN 40

// elements of MJCF, read or not
static const char known_elements[] =
    "mujoco compiler option flag default worldbody custom keyframe asset visual statistic size "
    "sensor actuator tendon equality contact body geom site joint freejoint inertial frame "
    "replicate light camera include attach composite flexcomp plugin deformable motor position "
    "velocity general intvelocity damper cylinder muscle adhesion fixed spatial connect weld "
    "distance flex pair exclude key numeric text tuple mesh texture material hfield skin";

// longest name, bytes: two of them and what they own make the name of a parameter
#define NAME_LIMIT 100

// elements of the kind whose unnamed members begin so
static const struct {
    const char *prefix;
    const char *elements;
} kinds[] = {{"body", "body"},
             {"joint", "joint freejoint"},
             {"geom", "geom"},
             {"site", "site"},
             {"tendon", "fixed"},
             {"actuator", "motor position velocity general"},
             {"equality", "connect weld joint tendon"},
             {"key", "key"},
             {"mesh", "mesh"}};

static const cri_mjcf_rules default_rules = {.read = "class"};

// what defaults are of, in the order of cri_mjcf_family; actuators share theirs
static const char *const family_words[CRI_MJCF_N_FAMILY] = {
    "geom",     "joint",  "site", "mesh", "general motor position velocity",
    "equality", "tendon", "pair"};

// ---- attributes ---------------------------------------------------------------------------------

// ---- messages ----------------------------------------------------------------------------------

cr_status cri_mjcf_fail(const cri_mjcf *m, cr_status status, const cri_xml_node *node,
                        const char *format, ...) {
    CR_ASSERT(status != CR_OK && node);
    char message[sizeof m->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(m->err, status, node->file, node->line, "<%.*s> %s", SHOWN, node->name,
                         message);
}

cr_status cri_mjcf_fail_memory(const cri_mjcf *m) {
    return cri_file_fail_memory(m->err, m->def->file ? m->def->file : "scene");
}

void cri_mjcf_warn(cri_mjcf *m, cri_mjcf_warning what, const cri_xml_node *node, const char *format,
                   ...) {
    if (m->warned & (1u << what)) {
        return;
    }
    m->warned |= 1u << what;
    char message[sizeof m->def->warning];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);

    // as an error, for its readable path
    cr_error line;
    (void)cri_file_fail(&line, CR_OK, node->file, node->line, "%s", message);
    char *text = m->def->warning;
    size_t used = strlen(text);
    size_t room = sizeof m->def->warning - used;
    if (used > 0 && strlen(line.text) + 3 > room) {
        return;
    }
    snprintf(text + used, room, "%s%s", used > 0 ? "; " : "", line.text);
}

cri_place cri_mjcf_place(const cri_xml_node *node) {
    return (cri_place){.file = node->file, .line = node->line};
}

// ---- rules -------------------------------------------------------------------------------------

// the next word of a list, from *at on; false at its end
static bool next_word(const char **at, const char **word, size_t *n) {
    while (cri_number_is_space(**at)) {
        (*at)++;
    }
    *word = *at;
    while (**at && !cri_number_is_space(**at)) {
        (*at)++;
    }
    *n = (size_t)(*at - *word);
    return *n > 0;
}

bool cri_mjcf_is_word(const char *list, const char *word) {
    CR_ASSERT(word);
    size_t n_word = strlen(word);
    const char *at = list ? list : "";
    const char *entry;
    size_t n;
    while (next_word(&at, &entry, &n)) {
        if (n == n_word && memcmp(entry, word, n) == 0) {
            return true;
        }
    }
    return false;
}

// the value that a list of name=value has for name, NULL when it has none
static const char *fixed_value(const char *list, const char *name, size_t *n_value) {
    size_t n_name = strlen(name);
    const char *at = list ? list : "";
    const char *entry;
    size_t n;
    while (next_word(&at, &entry, &n)) {
        if (n > n_name && entry[n_name] == '=' && memcmp(entry, name, n_name) == 0) {
            *n_value = n - n_name - 1;
            return entry + n_name + 1;
        }
    }
    return NULL;
}

// true when every word of value is the wanted one, as text or as number
static bool has_only(const char *value, const char *wanted, size_t n_wanted) {
    const char *word;
    size_t n;
    while (next_word(&value, &word, &n)) {
        double a, b;
        bool is_text = n == n_wanted && memcmp(word, wanted, n) == 0;
        bool is_number = cri_number_parse(word, n, &a) == CRI_NUMBER_OK &&
                         cri_number_parse(wanted, n_wanted, &b) == CRI_NUMBER_OK && a == b;
        if (!is_text && !is_number) {
            return false;
        }
    }
    return true;
}

// looks for a word nearer to name than *slack, which becomes its distance less one; entries
// name=value stand for the name
static void seek_nearest(const char *list, const char *name, int *slack, char near[SHOWN]) {
    const char *at = list ? list : "";
    const char *entry;
    size_t n;
    while (next_word(&at, &entry, &n)) {
        char word[SHOWN];
        snprintf(word, sizeof word, "%.*s", (int)n, entry);
        word[strcspn(word, "=")] = '\0';
        int d = cri_text_distance(name, word);
        if (d <= *slack) {
            *slack = d - 1;
            memcpy(near, word, sizeof word);
        }
    }
}

cr_status cri_mjcf_fail_element(const cri_mjcf *m, const cri_xml_node *node, const char *remedy) {
    char near[SHOWN] = "";
    int slack = cri_text_slack(strlen(node->name));
    if (!cri_mjcf_is_word(known_elements, node->name)) {
        seek_nearest(known_elements, node->name, &slack, near);
    }
    if (near[0]) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node, "is unknown: did you mean <%s>?", near);
    }
    return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node, "is not supported here: %s", remedy);
}

static cr_status fail_attr(const cri_mjcf *m, const cri_xml_node *node, const char *name,
                           const cri_mjcf_rules *rules) {
    // what is refused would be no help
    char near[SHOWN] = "";
    int slack = cri_text_slack(strlen(name));
    seek_nearest(rules->read, name, &slack, near);
    seek_nearest(rules->ignored, name, &slack, near);
    seek_nearest(rules->fixed, name, &slack, near);
    if (near[0]) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "has an unknown attribute '%.*s': did you mean '%s'?", SHOWN, name,
                             near);
    }
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                         "has an unknown attribute '%.*s': check its spelling or remove it", SHOWN,
                         name);
}

static cr_status check_attr(const cri_mjcf *m, const cri_xml_node *node, const cri_xml_attr *attr,
                            const cri_mjcf_rules *rules) {
    if (cri_mjcf_is_word(rules->read, attr->name) || cri_mjcf_is_word(rules->ignored, attr->name)) {
        return CR_OK;
    }
    size_t n = 0;
    const char *wanted = fixed_value(rules->fixed, attr->name, &n);
    if (wanted && has_only(attr->value, wanted, n)) {
        return CR_OK;
    }
    if (wanted) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node, "%s=\"%.*s\" is not supported: %s",
                             attr->name, SHOWN, attr->value, rules->remedy);
    }
    if (cri_mjcf_is_word(rules->refused, attr->name)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node, "%s is not supported: %s", attr->name,
                             rules->remedy);
    }
    return fail_attr(m, node, attr->name, rules);
}

cr_status cri_mjcf_check_attrs(const cri_mjcf *m, const cri_xml_node *node,
                               const cri_mjcf_rules *rules) {
    CR_ASSERT(rules);
    for (int i = 0; i < node->n_attr; i++) {
        CR_TRY(check_attr(m, node, &node->attr[i], rules));
    }
    return CR_OK;
}

cr_status cri_mjcf_check_children(const cri_mjcf *m, const cri_xml_node *node, const char *list) {
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (cri_mjcf_is_word(list, child->name)) {
            continue;
        }
        char remedy[160];
        snprintf(remedy, sizeof remedy, "<%s> has %s only; remove it", node->name,
                 list ? list : "attributes");
        return cri_mjcf_fail_element(m, child, remedy);
    }
    return CR_OK;
}

// ---- layers ------------------------------------------------------------------------------------

cri_mjcf_elem cri_mjcf_bare(const cri_xml_node *node) {
    return (cri_mjcf_elem){.node = node};
}

// layer i of the element, 0 the weakest
static const cri_xml_node *layer_at(const cri_mjcf_elem *e, int i) {
    return i < e->n_base ? e->base[i] : e->node;
}

const char *cri_mjcf_get(const cri_mjcf_elem *e, const char *name, const cri_xml_node **from) {
    for (int i = e->n_base; i >= 0; i--) {
        const char *value = cri_xml_get(layer_at(e, i), name);
        if (value) {
            if (from) {
                *from = layer_at(e, i);
            }
            return value;
        }
    }
    return NULL;
}

// ---- numbers -----------------------------------------------------------------------------------

static int count_words(const char *value) {
    const char *word;
    size_t length;
    int n = 0;
    while (next_word(&value, &word, &length)) {
        n++;
    }
    return n;
}

static cr_status parse_numbers(const cri_mjcf *m, const cri_xml_node *node, const char *name,
                               const char *value, double *out) {
    const char *word;
    size_t length;
    for (int i = 0; next_word(&value, &word, &length); i++) {
        cri_number_kind kind = cri_number_parse(word, length, &out[i]);
        if (kind != CRI_NUMBER_OK) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s: '%.*s' %s, expected a finite number",
                                 name, length < SHOWN ? (int)length : SHOWN, word,
                                 cri_number_text(kind));
        }
    }
    return CR_OK;
}

static cr_status layer_numbers(const cri_mjcf *m, const cri_xml_node *node, const char *name,
                               int n_min, int n_max, double *out, int *n) {
    *n = 0;
    const char *value = cri_xml_get(node, name);
    if (!value) {
        return CR_OK;
    }
    int n_found = count_words(value);
    if (n_found < n_min || n_found > n_max) {
        char range[32] = "";
        if (n_min < n_max) {
            snprintf(range, sizeof range, "%d to ", n_min);
        }
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" has %d numbers, expected %s%d",
                             name, SHOWN, value, n_found, range, n_max);
    }
    CR_TRY(parse_numbers(m, node, name, value, out));
    *n = n_found;
    return CR_OK;
}

cr_status cri_mjcf_numbers(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, int n_min,
                           int n_max, double *out, int *n) {
    CR_ASSERT(n_min > 0 && n_min <= n_max && out);
    int n_most = 0;
    for (int i = 0; i <= e->n_base; i++) {
        int n_here;
        CR_TRY(layer_numbers(m, layer_at(e, i), name, n_min, n_max, out, &n_here));
        n_most = n_here > n_most ? n_here : n_most;
    }
    if (n) {
        *n = n_most;
    }
    return CR_OK;
}

cr_status cri_mjcf_vector(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, double **out,
                          int *n) {
    CR_ASSERT(out && n);
    *out = NULL;
    *n = 0;
    const cri_xml_node *from = e->node;
    const char *value = cri_mjcf_get(e, name, &from);
    if (!value) {
        return CR_OK;
    }
    int n_found = count_words(value);
    if (n_found == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, from, "%s is empty: give numbers or remove it",
                             name);
    }
    double *a = CR_PUSH(m->def->memory, double, n_found);
    if (!a) {
        return cri_mjcf_fail_memory(m);
    }
    CR_TRY(parse_numbers(m, from, name, value, a));
    *out = a;
    *n = n_found;
    return CR_OK;
}

cr_status cri_mjcf_int(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, int *out) {
    double value = *out;
    CR_TRY(cri_mjcf_numbers(m, e, name, 1, 1, &value, NULL));
    if (value != floor(value) || value < INT_MIN || value > INT_MAX) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "%s: %g is not an integer of 32 bits", name,
                             value);
    }
    *out = (int)value;
    return CR_OK;
}

cr_status cri_mjcf_amount(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name,
                          double *out) {
    CR_TRY(cri_mjcf_numbers(m, e, name, 1, 1, out, NULL));
    if (*out < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "%s is %g, expected 0 or more", name, *out);
    }
    return CR_OK;
}

cr_status cri_mjcf_vec3(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name,
                        cri_vec3 *out) {
    double a[3] = {out->x, out->y, out->z};
    CR_TRY(cri_mjcf_numbers(m, e, name, 3, 3, a, NULL));
    *out = cri_v3_load(a);
    return CR_OK;
}

// ---- words -------------------------------------------------------------------------------------

// "a, b or c" of words, as far as it fits
static void write_choice(const char *words, char *text, size_t size) {
    int n = count_words(words);
    size_t used = 0;
    const char *word;
    size_t length;
    for (int i = 0; next_word(&words, &word, &length); i++) {
        const char *before = i == 0 ? "" : i == n - 1 ? " or " : ", ";
        int n_written = snprintf(text + used, size - used, "%s%.*s", before, (int)length, word);
        if (n_written < 0 || (size_t)n_written >= size - used) {
            return;
        }
        used += (size_t)n_written;
    }
}

cr_status cri_mjcf_choice(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name,
                          const char *words, int *out) {
    CR_ASSERT(words && out);
    const cri_xml_node *from = e->node;
    const char *value = cri_mjcf_get(e, name, &from);
    if (!value) {
        return CR_OK;
    }
    const char *at = words;
    const char *word;
    size_t length;
    for (int i = 0; next_word(&at, &word, &length); i++) {
        if (strlen(value) == length && memcmp(value, word, length) == 0) {
            *out = i;
            return CR_OK;
        }
    }
    char list[120] = "";
    write_choice(words, list, sizeof list);
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, from, "%s=\"%.*s\" is unknown: expected %s", name, SHOWN,
                         value, list);
}

cr_status cri_mjcf_bool(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, bool *out) {
    int value = *out;
    CR_TRY(cri_mjcf_choice(m, e, name, "false true", &value));
    *out = value != 0;
    return CR_OK;
}

cr_status cri_mjcf_limits(const cri_mjcf *m, const cri_mjcf_elem *e, const char *limited,
                          const char *range, double unit, double out[2]) {
    CR_ASSERT(unit > 0.0);
    double a[2] = {0.0, 0.0};
    int mode = 2;
    out[0] = -INFINITY;
    out[1] = INFINITY;
    CR_TRY(cri_mjcf_numbers(m, e, range, 2, 2, a, NULL));
    CR_TRY(cri_mjcf_choice(m, e, limited, "false true auto", &mode));
    bool has_range = a[0] != 0.0 || a[1] != 0.0;
    if (mode == 2 && !m->set.has_autolimits && has_range) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "has %s and no %s: add it, or set autolimits=\"true\" in <compiler>",
                             range, limited);
    }
    bool is_limited = mode == 1 || (mode == 2 && has_range);
    if (!is_limited) {
        return CR_OK;
    }
    if (!(a[0] < a[1])) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "%s is %g %g, expected two numbers, the smaller one first", range,
                             a[0], a[1]);
    }
    out[0] = unit * a[0];
    out[1] = unit * a[1];
    return CR_OK;
}

// ---- names --------------------------------------------------------------------------------------

// Names in MJCF: what they stand for, what is nearest to a wrong one, what comes twice.
//
// Things without a name are called by their kind and their number in document order, those with a
// name counted: geom0, geom1, ... Where the file gives such a name to another one, _ is appended.

// ---- names of things without one ---------------------------------------------------------------

// is it of that kind, with a name that begins like those of the kind's unnamed members?
static bool is_reserved(const cri_xml_node *node, const char *prefix, const char *elements) {
    const char *name = cri_xml_get(node, "name");
    size_t n = strlen(prefix);
    return name && strncmp(name, prefix, n) == 0 && name[n] >= '0' && name[n] <= '9' &&
           cri_mjcf_is_word(elements, node->name);
}

// counts what is reserved below node, and lists it when there is a list
static int reserve(const cri_xml_node *node, const cri_xml_node **list, int n) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (is_reserved(node, kinds[k].prefix, kinds[k].elements)) {
            if (list) {
                list[n] = node;
            }
            n++;
        }
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        n = reserve(child, list, n);
    }
    return n;
}

bool cri_mjcf_reserve_names(cri_mjcf *m, const cri_xml_node *root) {
    CR_ASSERT(root && !m->reserved);
    m->n_reserved = reserve(root, NULL, 0);
    m->reserved = CR_PUSH(m->scratch, const cri_xml_node *, m->n_reserved + 1);
    return m->reserved && reserve(root, m->reserved, 0) == m->n_reserved;
}

static bool is_taken(const cri_mjcf *m, const char *prefix, const char *name) {
    const char *elements = "";
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        elements = strcmp(kinds[k].prefix, prefix) == 0 ? kinds[k].elements : elements;
    }
    for (int i = 0; i < m->n_reserved; i++) {
        if (cri_mjcf_is_word(elements, m->reserved[i]->name) &&
            strcmp(cri_xml_get(m->reserved[i], "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

cr_status cri_mjcf_name(const cri_mjcf *m, const cri_xml_node *node, const char *suffix,
                        const char *prefix, int i, const char **out) {
    CR_ASSERT(suffix && prefix && i >= 0);
    char text[NAME_LIMIT + 1];
    const char *name = cri_xml_get(node, "name");
    size_t n;
    if (!name || !*name) {
        n = (size_t)snprintf(text, sizeof text, "%s%d", prefix, i);
        while (n < NAME_LIMIT && is_taken(m, prefix, text)) {
            text[n++] = '_';
            text[n] = '\0';
        }
    } else {
        n = strlen(name) + strlen(suffix);
        snprintf(text, sizeof text, "%s%s", name, suffix);
    }
    if (n >= NAME_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has a name of %zu bytes, at most %d are read",
                             n, NAME_LIMIT - 1);
    }
    *out = cri_arena_push_text(m->def->memory, text);
    return *out ? CR_OK : cri_mjcf_fail_memory(m);
}

// ---- lists of names ----------------------------------------------------------------------------

static int count_of(const cri_mjcf *m, cri_mjcf_kind kind) {
    const cri_scene_def *def = m->def;
    switch (kind) {
    case CRI_MJCF_BODIES:
        return def->n_body;
    case CRI_MJCF_JOINTS:
        return def->n_joint;
    case CRI_MJCF_GEOMS:
        return def->n_geom;
    case CRI_MJCF_SITES:
        return def->n_site;
    case CRI_MJCF_TENDONS:
        return def->n_tendon;
    case CRI_MJCF_ACTUATORS:
        return def->n_actuator;
    case CRI_MJCF_EQUALITIES:
        return def->n_equality;
    case CRI_MJCF_KEYS:
        return def->n_key;
    case CRI_MJCF_MESHES:
        return m->n_mesh;
    }
    return 0;
}

static cri_mjcf_label label_of(const cri_mjcf *m, cri_mjcf_kind kind, int i) {
    const cri_scene_def *def = m->def;
    switch (kind) {
    case CRI_MJCF_BODIES:
        return (cri_mjcf_label){def->body[i].name, def->body[i].place};
    case CRI_MJCF_JOINTS:
        return (cri_mjcf_label){def->joint[i].name, def->joint[i].place};
    case CRI_MJCF_GEOMS:
        return (cri_mjcf_label){def->geom[i].name, def->geom[i].place};
    case CRI_MJCF_SITES:
        return (cri_mjcf_label){def->site[i].name, def->site[i].place};
    case CRI_MJCF_TENDONS:
        return (cri_mjcf_label){def->tendon[i].name, def->tendon[i].place};
    case CRI_MJCF_ACTUATORS:
        return (cri_mjcf_label){def->actuator[i].name, def->actuator[i].place};
    case CRI_MJCF_EQUALITIES:
        return (cri_mjcf_label){def->equality[i].name, def->equality[i].place};
    case CRI_MJCF_KEYS:
        return (cri_mjcf_label){def->key[i].name, def->key[i].place};
    case CRI_MJCF_MESHES:
        return (cri_mjcf_label){m->mesh[i].name, cri_mjcf_place(m->mesh[i].elem.node)};
    }
    return (cri_mjcf_label){0};
}

// all names of a kind in scratch memory, NULL when there is none
static cri_mjcf_label *push_labels(const cri_mjcf *m, cri_mjcf_kind kind, int *n) {
    *n = count_of(m, kind);
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, *n + 1);
    for (int i = 0; label && i < *n; i++) {
        label[i] = label_of(m, kind, i);
    }
    return label;
}

// ---- references --------------------------------------------------------------------------------

// the label nearest to name, NULL when none is near
static const char *nearest_label(const char *name, const cri_mjcf_label *label, int n) {
    const char *best = NULL;
    int limit = cri_text_slack(strlen(name));
    for (int i = 0; i < n; i++) {
        int d = cri_text_distance(name, label[i].name);
        if (d <= limit) {
            best = label[i].name;
            limit = d - 1;
        }
    }
    return best;
}

/// Fails for a name that nothing has: suggests a near one, else lists some.
static cr_status mjcf_fail_unknown(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                                   const char *name, const cri_mjcf_label *label, int n) {
    const char *near = nearest_label(name, label, n);
    if (near) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: did you mean '%.*s'?",
                             attr, SHOWN, name, SHOWN, near);
    }
    if (n == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: the scene has none",
                             attr, SHOWN, name);
    }
    char list[80] = "";
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        CR_ASSERT(label[i].name);
        size_t length = strlen(label[i].name);
        if (used + length + 8 > sizeof list) {
            snprintf(list + used, sizeof list - used, used > 0 ? ", ..." : "...");
            break;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 label[i].name);
    }
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: the scene has %s", attr,
                         SHOWN, name, list);
}

cr_status cri_mjcf_find(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                        cri_mjcf_kind kind, int *out) {
    const char *name = cri_xml_get(node, attr);
    if (!name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no %s: name one", attr);
    }
    if (kind == CRI_MJCF_BODIES && strcmp(name, "world") == 0) {
        *out = -1;
        return CR_OK;
    }
    int n = count_of(m, kind);
    for (int i = 0; i < n; i++) {
        cri_mjcf_label label = label_of(m, kind, i);
        CR_ASSERT(label.name);
        if (strcmp(label.name, name) == 0) {
            *out = i;
            return CR_OK;
        }
    }
    const cri_mjcf_label *all = push_labels(m, kind, &n);
    return all ? mjcf_fail_unknown(m, node, attr, name, all, n) : cri_mjcf_fail_memory(m);
}

// ---- uniqueness --------------------------------------------------------------------------------

static int compare_labels(const void *a, const void *b) {
    const cri_mjcf_label *left = a;
    const cri_mjcf_label *right = b;
    int order = strcmp(left->name, right->name);
    order = order ? order : strcmp(left->place.file, right->place.file);
    int line = left->place.line;
    return order ? order : (line > right->place.line) - (line < right->place.line);
}

static cr_status fail_twice(const cri_mjcf *m, const char *what, const cri_mjcf_label *first,
                            const cri_mjcf_label *second) {
    char where[96];
    if (strcmp(first->place.file, second->place.file) == 0) {
        snprintf(where, sizeof where, "on line %d", first->place.line);
    } else {
        cr_error other;
        (void)cri_file_fail(&other, CR_OK, first->place.file, first->place.line, "%s", "");
        snprintf(where, sizeof where, "at %.*s", (int)strcspn(other.text, " ") - 1, other.text);
    }
    return cri_file_fail(m->err, CR_ERR_SYNTAX, second->place.file, second->place.line,
                         "two %s have the name '%.*s', the other %s: rename one", what, SHOWN,
                         second->name, where);
}

cr_status cri_mjcf_check_unique(const cri_mjcf *m, const char *what, cri_mjcf_label *label, int n) {
    CR_ASSERT(n >= 0 && (label || n == 0));
    if (n > 1) {
        qsort(label, (size_t)n, sizeof *label, compare_labels);
    }
    for (int i = 1; i < n; i++) {
        if (strcmp(label[i - 1].name, label[i].name) == 0) {
            return fail_twice(m, what, &label[i - 1], &label[i]);
        }
    }
    return CR_OK;
}

cr_status cri_mjcf_check_names(const cri_mjcf *m, cri_mjcf_kind kind) {
    static const char *const what[] = {"bodies",    "joints",     "geoms",     "sites", "tendons",
                                       "actuators", "equalities", "keyframes", "meshes"};
    int n;
    cri_mjcf_label *label = push_labels(m, kind, &n);
    return label ? cri_mjcf_check_unique(m, what[kind], label, n) : cri_mjcf_fail_memory(m);
}

// ---- default classes ----------------------------------------------------------------------------

// Default classes of MJCF.
//
// A class has for each family of elements a list of layers: those of its parent at the time it was
// opened, then its own. Which class an element has: its class, else the childclass nearest above
// it, else main.

// -1: none that is read
static int family_of(const char *name) {
    for (int f = 0; f < CRI_MJCF_N_FAMILY; f++) {
        if (cri_mjcf_is_word(family_words[f], name)) {
            return f;
        }
    }
    return -1;
}

static const cri_mjcf_rules *rules_of(cri_mjcf_family family, const char *name) {
    switch (family) {
    case CRI_MJCF_GEOM:
        return &cri_mjcf_geom_rules;
    case CRI_MJCF_JOINT:
        return &cri_mjcf_joint_rules;
    case CRI_MJCF_SITE:
        return &cri_mjcf_site_rules;
    case CRI_MJCF_MESH:
        return &cri_mjcf_mesh_rules;
    case CRI_MJCF_ACTUATOR:
        return cri_mjcf_actuator_rules(name);
    case CRI_MJCF_EQUALITY:
        return &cri_mjcf_equality_rules;
    case CRI_MJCF_TENDON:
        return &cri_mjcf_tendon_rules;
    case CRI_MJCF_PAIR:
        return &cri_mjcf_pair_rules;
    }
    return NULL;
}

// ---- reading -----------------------------------------------------------------------------------

// a list that holds n layers has room for the next power of two
static const cri_xml_node **grow_layers(cri_mjcf *m, const cri_xml_node **layer, int n) {
    bool is_full = (n & (n - 1)) == 0;
    if (!is_full) {
        return layer;
    }
    const cri_xml_node **larger = CR_PUSH(m->scratch, const cri_xml_node *, n > 0 ? 2 * n : 1);
    if (larger && n > 0) {
        memcpy(larger, layer, (size_t)n * sizeof *larger);
    }
    return larger;
}

static cr_status add_layer(cri_mjcf *m, cri_mjcf_class *class, int family,
                           const cri_xml_node *node) {
    CR_ASSERT(class);
    int n = class->n_layer[family];
    const cri_xml_node **layer = grow_layers(m, class->layer[family], n);
    if (!layer) {
        return cri_mjcf_fail_memory(m);
    }
    layer[n] = node;
    class->layer[family] = layer;
    class->n_layer[family] = n + 1;
    return CR_OK;
}

// a class with copies of its parent's layers, at the end of the list
static cr_status open_class(cri_mjcf *m, const cri_mjcf_class *parent, const cri_xml_node *node,
                            cri_mjcf_class **out) {
    CR_ASSERT(parent);
    const char *name = cri_xml_get(node, "class");
    if (!name || !*name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no class: name one");
    }
    cri_mjcf_class **end = &m->main;
    while (*end) {
        if (strcmp((*end)->name, name) == 0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "opens the class '%.40s' a second time: rename or join them",
                                 name);
        }
        end = &(*end)->next;
    }
    cri_mjcf_class *class = CR_PUSH(m->scratch, cri_mjcf_class, 1);
    if (!class) {
        return cri_mjcf_fail_memory(m);
    }
    class->name = name;
    *end = class;
    for (int f = 0; f < CRI_MJCF_N_FAMILY; f++) {
        for (int i = 0; i < parent->n_layer[f]; i++) {
            CR_TRY(add_layer(m, class, f, parent->layer[f][i]));
        }
    }
    *out = class;
    return CR_OK;
}

static cr_status read_layer(cri_mjcf *m, cri_mjcf_class *class, const cri_xml_node *node) {
    static const char *const ignored = "material camera light";

    int family = family_of(node->name);
    if (family < 0 && cri_mjcf_is_word(ignored, node->name)) {
        return CR_OK;
    }
    if (family < 0) {
        return cri_mjcf_fail_element(
            m, node,
            "defaults are read of geom, joint, site, mesh, pair, equality, "
            "tendon, general, motor, position, velocity");
    }
    CR_TRY(cri_mjcf_check_attrs(m, node, rules_of((cri_mjcf_family)family, node->name)));
    return add_layer(m, class, family, node);
}

// layers of this class first, so that the classes in it have them wherever they stand
static cr_status read_class(cri_mjcf *m, cri_mjcf_class *class, const cri_xml_node *node) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &default_rules));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "default") != 0) {
            CR_TRY(read_layer(m, class, child));
        }
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "default") != 0) {
            continue;
        }
        cri_mjcf_class *inner = NULL;
        CR_TRY(open_class(m, class, child, &inner));
        CR_ASSERT(inner);
        CR_TRY(read_class(m, inner, child));
    }
    return CR_OK;
}

cr_status cri_mjcf_read_defaults(cri_mjcf *m, const cri_xml_node *root) {
    m->main = CR_PUSH(m->scratch, cri_mjcf_class, 1);
    if (!m->main) {
        return cri_mjcf_fail_memory(m);
    }
    m->main->name = "main";
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "default") != 0) {
            continue;
        }
        // the outermost class may have another name
        const char *name = cri_xml_get(node, "class");
        m->main->name = name && *name ? name : m->main->name;
        CR_TRY(read_class(m, m->main, node));
    }
    return CR_OK;
}

// ---- use ---------------------------------------------------------------------------------------

static cr_status fail_class(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                            const char *name) {
    int n = 0;
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        n++;
    }
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, n);
    if (!label) {
        return cri_mjcf_fail_memory(m);
    }
    n = 0;
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        label[n++] = (cri_mjcf_label){.name = class->name};
    }
    return mjcf_fail_unknown(m, node, attr, name, label, n);
}

cr_status cri_mjcf_find_class(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                              const cri_mjcf_class **out) {
    const char *name = cri_xml_get(node, attr);
    if (!name) {
        return CR_OK;
    }
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        if (strcmp(class->name, name) == 0) {
            *out = class;
            return CR_OK;
        }
    }
    if (strcmp(name, "main") == 0) {
        *out = m->main;
        return CR_OK;
    }
    return fail_class(m, node, attr, name);
}

cr_status cri_mjcf_open(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_family family,
                        const cri_mjcf_rules *rules, const cri_mjcf_class *usual,
                        cri_mjcf_elem *out) {
    CR_ASSERT(m->main && rules);
    CR_TRY(cri_mjcf_check_attrs(m, node, rules));
    const cri_mjcf_class *class = usual ? usual : m->main;
    CR_TRY(cri_mjcf_find_class(m, node, "class", &class));
    *out = (cri_mjcf_elem){
        .node = node, .base = class->layer[family], .n_base = class->n_layer[family]};
    return CR_OK;
}
