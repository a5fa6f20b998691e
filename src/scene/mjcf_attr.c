// SPDX-License-Identifier: MIT
//
// Attributes of MJCF elements: which are allowed, numbers, orientations, names.
//
// Orientations as in MuJoCo, all to a unit quaternion q (w x y z) that takes the local frame to its
// parent's:
//   euler a b c     q = qx(a) qy(b) qz(c), the rotating sequence xyz
//   axisangle u a   q = (cos a/2, u sin a/2)
//   xyaxes x y      columns x, y made orthogonal to x, x cross y
//   zaxis z         the least rotation that takes (0, 0, 1) to z

#include "scene/mjcf_parts.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/number.h"

// longest piece of the file shown in a message, bytes
#define SHOWN 40

// longest name, bytes: two of them and what they own make the name of a parameter
#define NAME_LIMIT 100

// ---- messages ----------------------------------------------------------------------------------

cr_status cri_mjcf_fail(const cri_mjcf *m, cr_status status, const cri_xml_node *node,
                        const char *format, ...) {
    char message[sizeof m->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(m->err, status, m->file, node->line, "<%.*s> %s", SHOWN, node->name,
                         message);
}

cr_status cri_mjcf_fail_memory(const cri_mjcf *m) {
    return cri_file_fail_memory(m->err, m->file);
}

cr_status cri_mjcf_fail_element(const cri_mjcf *m, const cri_xml_node *node, const char *remedy) {
    return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node, "is not supported here: %s", remedy);
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
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                         "has an unknown attribute '%.*s': check its spelling or remove it", SHOWN,
                         attr->name);
}

cr_status cri_mjcf_check_attrs(const cri_mjcf *m, const cri_xml_node *node,
                               const cri_mjcf_rules *rules) {
    for (int i = 0; i < node->n_attr; i++) {
        CR_TRY(check_attr(m, node, &node->attr[i], rules));
    }
    return CR_OK;
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

cr_status cri_mjcf_numbers(const cri_mjcf *m, const cri_xml_node *node, const char *name, int n_min,
                           int n_max, double *out, int *n) {
    const char *value = cri_xml_get(node, name);
    if (n) {
        *n = 0;
    }
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
    if (n) {
        *n = n_found;
    }
    return CR_OK;
}

cr_status cri_mjcf_int(const cri_mjcf *m, const cri_xml_node *node, const char *name, int *out) {
    double value = *out;
    CR_TRY(cri_mjcf_numbers(m, node, name, 1, 1, &value, NULL));
    if (value != floor(value) || value < INT_MIN || value > INT_MAX) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s: %g is not an integer of 32 bits", name,
                             value);
    }
    *out = (int)value;
    return CR_OK;
}

cr_status cri_mjcf_pos(const cri_mjcf *m, const cri_xml_node *node, cri_vec3 *out) {
    double a[3] = {out->x, out->y, out->z};
    CR_TRY(cri_mjcf_numbers(m, node, "pos", 3, 3, a, NULL));
    *out = cri_v3_load(a);
    return CR_OK;
}

// ---- orientations ------------------------------------------------------------------------------

bool cri_mjcf_normalise(int n, double *a) {
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i]));
    }
    if (largest == 0.0) {
        return false;
    }

    // numbers near 1 keep their bits; only extreme ones are scaled first
    bool is_extreme = largest < 1e-100 || largest > 1e100;
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        a[i] = is_extreme ? a[i] / largest : a[i];
        sum += a[i] * a[i];
    }
    for (int i = 0; i < n; i++) {
        a[i] /= sqrt(sum);
    }
    return true;
}

static cri_quat axis_quat(const double axis[3], double angle) {
    double s = sin(0.5 * angle);
    return (cri_quat){cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]};
}

static cri_quat euler_quat(const double angle[3]) {
    const double x[3] = {1, 0, 0};
    const double y[3] = {0, 1, 0};
    const double z[3] = {0, 0, 1};
    cri_quat q = cri_quat_mul(axis_quat(x, angle[0]), axis_quat(y, angle[1]));
    return cri_quat_mul(q, axis_quat(z, angle[2]));
}

static cri_quat zaxis_quat(const double z[3]) {
    // the axis is (0, 0, 1) x z, its length the sine of the angle
    double axis[3] = {-z[1], z[0], 0.0};
    double angle = atan2(hypot(z[0], z[1]), z[2]);
    if (!cri_mjcf_normalise(3, axis)) {
        axis[0] = 1.0;
    }
    return axis_quat(axis, angle);
}

// the quaternion of a rotation with rows R, by its largest component
static cri_quat rotation_quat(double R[3][3]) {
    double trace = R[0][0] + R[1][1] + R[2][2];
    double q[4]; // w x y z
    if (trace > 0.0) {
        q[0] = 1.0 + trace;
        q[1] = R[2][1] - R[1][2];
        q[2] = R[0][2] - R[2][0];
        q[3] = R[1][0] - R[0][1];
    } else {
        int i = R[1][1] > R[0][0] ? 1 : 0;
        i = R[2][2] > R[i][i] ? 2 : i;
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        q[0] = R[k][j] - R[j][k];
        q[1 + i] = 1.0 + R[i][i] - R[j][j] - R[k][k];
        q[1 + j] = R[j][i] + R[i][j];
        q[1 + k] = R[k][i] + R[i][k];
    }
    bool is_valid = cri_mjcf_normalise(4, q);
    CR_ASSERT(is_valid);
    return cri_q4_load(q);
}

// false when the two axes span no plane
static bool xyaxes_quat(double a[6], cri_quat *out) {
    double *x = a;
    double *y = a + 3;
    if (!cri_mjcf_normalise(3, x) || !cri_mjcf_normalise(3, y)) {
        return false;
    }
    double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    for (int i = 0; i < 3; i++) {
        y[i] -= along * x[i];
    }

    // what is left of a unit vector that was nearly parallel is rounding
    if (hypot(hypot(y[0], y[1]), y[2]) < 1e-10 || !cri_mjcf_normalise(3, y)) {
        return false;
    }
    double R[3][3];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        R[i][0] = x[i];
        R[i][1] = y[i];
        R[i][2] = x[j] * y[k] - x[k] * y[j];
    }
    *out = rotation_quat(R);
    return true;
}

// out from the numbers a of one specifier; false when they give no direction
static bool quat_from(const char *name, double *a, double angle_unit, cri_quat *out) {
    if (strcmp(name, "quat") == 0) {
        bool is_valid = cri_mjcf_normalise(4, a);
        *out = cri_q4_load(a);
        return is_valid;
    }
    if (strcmp(name, "euler") == 0) {
        const double angle[3] = {angle_unit * a[0], angle_unit * a[1], angle_unit * a[2]};
        *out = euler_quat(angle);
        return true;
    }
    if (strcmp(name, "xyaxes") == 0) {
        return xyaxes_quat(a, out);
    }
    bool is_valid = cri_mjcf_normalise(3, a);
    *out = strcmp(name, "zaxis") == 0 ? zaxis_quat(a) : axis_quat(a, angle_unit * a[3]);
    return is_valid;
}

cr_status cri_mjcf_orientation(const cri_mjcf *m, const cri_xml_node *node, cri_quat *out) {
    static const struct {
        const char *name;
        int n;
    } kind[] = {{"quat", 4}, {"euler", 3}, {"axisangle", 4}, {"xyaxes", 6}, {"zaxis", 3}};

    const char *first = NULL;
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
        const char *name = kind[i].name;
        double a[6] = {0};
        int n = 0;
        CR_TRY(cri_mjcf_numbers(m, node, name, kind[i].n, kind[i].n, a, &n));
        if (n == 0) {
            continue;
        }
        if (first) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "has both %s and %s: give one orientation only", first, name);
        }
        first = name;
        if (!quat_from(name, a, m->angle_unit, out)) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" %s", name, SHOWN,
                                 cri_xml_get(node, name),
                                 kind[i].n == 6 ? "has parallel or zero axes" : "is zero");
        }
    }
    return CR_OK;
}

// ---- names -------------------------------------------------------------------------------------

cr_status cri_mjcf_name(const cri_mjcf *m, const cri_xml_node *node, const char *prefix, int i,
                        char **out) {
    char number[32];
    const char *name = cri_xml_get(node, "name");
    if (!name || !*name) {
        snprintf(number, sizeof number, "%s%d", prefix, i);
        name = number;
    }
    size_t n = strlen(name) + 1;
    if (n > NAME_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has a name of %zu bytes, at most %d are read",
                             n - 1, NAME_LIMIT - 1);
    }
    *out = malloc(n);
    if (!*out) {
        return cri_mjcf_fail_memory(m);
    }
    memcpy(*out, name, n);
    return CR_OK;
}

static int compare_labels(const void *a, const void *b) {
    const cri_mjcf_label *left = a;
    const cri_mjcf_label *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

cr_status cri_mjcf_check_unique(const cri_mjcf *m, const char *what, cri_mjcf_label *label, int n) {
    if (n > 1) {
        qsort(label, (size_t)n, sizeof *label, compare_labels);
    }
    for (int i = 1; i < n; i++) {
        if (strcmp(label[i - 1].name, label[i].name) == 0) {
            return cri_file_fail(m->err, CR_ERR_SYNTAX, m->file, label[i].line,
                                 "two %s have the name '%.*s', the other on line %d: rename one",
                                 what, SHOWN, label[i].name, label[i - 1].line);
        }
    }
    return CR_OK;
}
