// SPDX-License-Identifier: MIT
//
// Attributes of MJCF elements: which are allowed, numbers, words, limits.
//
// An attribute is looked up in the element, then in its defaults, strongest first. Lists of numbers
// are laid over each other, weakest first, as in MuJoCo: size="1" over a default size="2 3" is 1 3.

#include "model/scene/mjcf_parts.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/number.h"

// longest piece of the file shown in a message, bytes
#define SHOWN 40

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

// elements of MJCF, read or not
static const char elements[] =
    "mujoco compiler option flag default worldbody custom keyframe asset visual statistic size "
    "sensor actuator tendon equality contact body geom site joint freejoint inertial frame "
    "replicate light camera include attach composite flexcomp plugin deformable motor position "
    "velocity general intvelocity damper cylinder muscle adhesion fixed spatial connect weld "
    "distance flex pair exclude key numeric text tuple mesh texture material hfield skin";

cr_status cri_mjcf_fail_element(const cri_mjcf *m, const cri_xml_node *node, const char *remedy) {
    char near[SHOWN] = "";
    int slack = cri_text_slack(strlen(node->name));
    if (!cri_mjcf_is_word(elements, node->name)) {
        seek_nearest(elements, node->name, &slack, near);
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
