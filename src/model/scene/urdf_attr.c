// SPDX-License-Identifier: MIT
//
// Attributes of URDF elements: numbers, frames, messages.
//
// rpy turns about the fixed axes x, y, z in this order: q = qz(yaw) qy(pitch) qx(roll).

#include "model/scene/urdf_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/number.h"

cr_status cri_urdf_fail(const cri_urdf *u, cr_status status, const cri_xml_node *node,
                        const char *format, ...) {
    CR_ASSERT(status != CR_OK && node);
    char message[sizeof u->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(u->err, status, u->file, node->line, "<%.*s> %s", CRI_URDF_SHOWN,
                         node->name, message);
}

cr_status cri_urdf_fail_memory(const cri_urdf *u) {
    return cri_file_fail_memory(u->err, u->file);
}

const cri_xml_node *cri_urdf_child(const cri_xml_node *node, const char *name) {
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, name) == 0) {
            return child;
        }
    }
    return NULL;
}

// the next word of a text, from *at on; false at its end
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

bool cri_urdf_is_word(const char *list, const char *word) {
    const char *entry;
    size_t n;
    while (next_word(&list, &entry, &n)) {
        if (strlen(word) == n && memcmp(entry, word, n) == 0) {
            return true;
        }
    }
    return false;
}

bool cri_urdf_is_extension(const char *list, const cri_xml_node *node) {
    return cri_urdf_is_word(list, node->name) || strchr(node->name, ':');
}

cr_status cri_urdf_need(const cri_urdf *u, const cri_xml_node *node, const char *name,
                        const char **out) {
    CR_ASSERT(name && out);
    *out = cri_xml_get(node, name);
    if (!*out || !**out) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "has no %s: add %s=\"...\"", name, name);
    }
    return CR_OK;
}

cr_status cri_urdf_numbers(const cri_urdf *u, const cri_xml_node *node, const char *name, int n,
                           double *out, bool *is_given) {
    CR_ASSERT(n > 0 && out);
    const char *value = cri_xml_get(node, name);
    if (is_given) {
        *is_given = value != NULL;
    }
    if (!value) {
        return CR_OK;
    }
    const char *at = value;
    const char *word;
    size_t length;
    int n_found = 0;
    for (; next_word(&at, &word, &length); n_found++) {
        double number = 0.0;
        cri_number_kind kind = cri_number_parse(word, length, &number);
        if (kind != CRI_NUMBER_OK) {
            return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "%s: '%.*s' %s, expected a finite number",
                                 name, length < CRI_URDF_SHOWN ? (int)length : CRI_URDF_SHOWN, word,
                                 cri_number_text(kind));
        }
        if (n_found < n) {
            out[n_found] = number;
        }
    }
    if (n_found != n) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "%s=\"%.*s\" has %d numbers, expected %d",
                             name, CRI_URDF_SHOWN, value, n_found, n);
    }
    return CR_OK;
}

cr_status cri_urdf_need_number(const cri_urdf *u, const cri_xml_node *node, const char *name,
                               double *out) {
    const char *value;
    CR_TRY(cri_urdf_need(u, node, name, &value));
    return cri_urdf_numbers(u, node, name, 1, out, NULL);
}

cr_status cri_urdf_need_positive(const cri_urdf *u, const cri_xml_node *node, const char *name,
                                 double *out) {
    CR_TRY(cri_urdf_need_number(u, node, name, out));
    if (!(*out > 0.0)) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "%s=\"%.*s\" must be larger than zero", name,
                             CRI_URDF_SHOWN, cri_xml_get(node, name));
    }
    return CR_OK;
}

static cri_quat axis_quat(int axis, double angle) {
    double q[4] = {cos(0.5 * angle), 0.0, 0.0, 0.0};
    q[1 + axis] = sin(0.5 * angle);
    return cri_q4_load(q);
}

cr_status cri_urdf_origin(const cri_urdf *u, const cri_xml_node *node, cri_vec3 *pos,
                          cri_quat *quat) {
    double xyz[3] = {0};
    double rpy[3] = {0};
    const cri_xml_node *origin = cri_urdf_child(node, "origin");
    if (origin) {
        CR_TRY(cri_urdf_numbers(u, origin, "xyz", 3, xyz, NULL));
        CR_TRY(cri_urdf_numbers(u, origin, "rpy", 3, rpy, NULL));
    }
    *pos = cri_v3_load(xyz);
    cri_quat q = cri_quat_mul(axis_quat(2, rpy[2]), axis_quat(1, rpy[1]));
    *quat = cri_quat_normalise(cri_quat_mul(q, axis_quat(0, rpy[0])));
    return CR_OK;
}

bool cri_urdf_normalise(double a[3]) {
    double largest = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
    if (!(largest > 0.0)) {
        return false;
    }
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        a[i] /= largest;
        sum += a[i] * a[i];
    }
    for (int i = 0; i < 3; i++) {
        a[i] /= sqrt(sum);
    }
    return true;
}
