// SPDX-License-Identifier: MIT
//
// A report's data as JSON (docs/report.md). Numbers have the digits that drawing needs; what is not
// finite is null. '<' is written as \u003c, so that no text can end the script element that the
// data stand in.

#include "report/report_parts.h"

#include <math.h>
#include <string.h>

// significant digits of positions, of curves, and of results
enum { DIGITS_POSE = 6, DIGITS_CURVE = 7, DIGITS_RESULT = 12 };

#define FORMAT_VERSION 1

// ---- values ------------------------------------------------------------------------------------

/// Bytes of the UTF-8 character at text; 0: not valid.
static int character_bytes(const unsigned char *text) {
    static const struct {
        unsigned char mask, value;
        unsigned least;
    } form[4] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (int n = 1; n <= 4; n++) {
        if ((text[0] & form[n - 1].mask) != form[n - 1].value) {
            continue;
        }
        unsigned code = text[0] & (unsigned char)~form[n - 1].mask;
        for (int i = 1; i < n; i++) {
            if ((text[i] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (text[i] & 0x3fu);
        }
        bool is_surrogate = code >= 0xd800 && code < 0xe000;
        return code < form[n - 1].least || code > 0x10ffff || is_surrogate ? 0 : n;
    }
    return 0;
}

static void put_text(FILE *out, const char *text) {
    const unsigned char *at = (const unsigned char *)(text ? text : "");
    fputc('"', out);
    while (*at) {
        int n = character_bytes(at);
        if (n == 0) {
            fputc('?', out);
            n = 1;
        } else if (*at < 0x20 || *at == '<' || *at == '"' || *at == '\\' || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fwrite(at, 1, (size_t)n, out);
        }
        at += n;
    }
    fputc('"', out);
}

static void put_number(FILE *out, double value, int digits) {
    if (isfinite(value)) {
        fprintf(out, "%.*g", digits, value == 0.0 ? 0.0 : value);
    } else {
        fputs("null", out);
    }
}

static void put_numbers(FILE *out, int n, const double *value, int digits) {
    fputc('[', out);
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? "," : "", out);
        put_number(out, value[i], digits);
    }
    fputc(']', out);
}

/// ,"key": with the comma unless it is the first member.
static void put_key(FILE *out, const char *key, bool is_first) {
    fprintf(out, "%s\"%s\":", is_first ? "" : ",", key);
}

static void put_text_member(FILE *out, const char *key, const char *text, bool is_first) {
    put_key(out, key, is_first);
    if (text) {
        put_text(out, text);
    } else {
        fputs("null", out);
    }
}

static void put_number_member(FILE *out, const char *key, double value) {
    put_key(out, key, false);
    put_number(out, value, DIGITS_RESULT);
}

// ---- texts and tables --------------------------------------------------------------------------

static void put_facts(const cri_report *report, FILE *out) {
    put_key(out, "facts", false);
    fputc('[', out);
    for (const cri_report_text *fact = report->first_fact; fact; fact = fact->next) {
        fputs(fact == report->first_fact ? "{" : ",{", out);
        put_text_member(out, "name", fact->name, true);
        put_text_member(out, "value", fact->text, false);
        fputc('}', out);
    }
    fputc(']', out);
    put_key(out, "notes", false);
    fputc('[', out);
    for (const cri_report_text *note = report->first_note; note; note = note->next) {
        fputs(note == report->first_note ? "" : ",", out);
        put_text(out, note->text);
    }
    fputc(']', out);
}

static void put_cells(const cri_report_table_node *table, const cri_report_row_node *row,
                      FILE *out) {
    fputc('[', out);
    for (int i = 0; i < table->n_column; i++) {
        fputs(i > 0 ? "," : "", out);
        if (row->cell[i].text) {
            put_text(out, row->cell[i].text);
        } else {
            put_number(out, row->cell[i].value, DIGITS_RESULT);
        }
    }
    fputc(']', out);
}

static void put_table(const cri_report_table_node *table, FILE *out) {
    fputc('{', out);
    put_text_member(out, "title", table->title, true);
    put_key(out, "columns", false);
    for (int i = 0; i < table->n_column; i++) {
        fputs(i > 0 ? ",{" : "[{", out);
        put_text_member(out, "name", table->column[i].name, true);
        put_text_member(out, "unit", table->column[i].unit, false);
        fputc('}', out);
    }
    fputs("],\"rows\":[", out);
    for (const cri_report_row_node *row = table->first; row; row = row->next) {
        fputs(row == table->first ? "" : ",", out);
        put_cells(table, row, out);
    }
    fputs("]}", out);
}

static void put_tables(const cri_report *report, FILE *out) {
    put_key(out, "tables", false);
    fputc('[', out);
    for (const cri_report_table_node *table = report->first_table; table; table = table->next) {
        fputs(table == report->first_table ? "" : ",", out);
        put_table(table, out);
    }
    fputc(']', out);
    put_key(out, "parameters", false);
    fputc('[', out);
    for (const cri_report_value_node *node = report->first_value; node; node = node->next) {
        fputs(node == report->first_value ? "{" : ",{", out);
        put_text_member(out, "name", node->value.name, true);
        put_text_member(out, "unit", node->value.unit, false);
        put_number_member(out, "start", node->value.start);
        put_number_member(out, "value", node->value.value);
        put_number_member(out, "error", node->value.error);
        put_number_member(out, "truth", node->value.truth);
        put_text_member(out, "note", node->value.note, false);
        fputc('}', out);
    }
    fputc(']', out);
}

// ---- curves ------------------------------------------------------------------------------------

static const char *style_name(cri_report_style style) {
    switch (style) {
    case CRI_LINE_SOLID:
        return "solid";
    case CRI_LINE_DASHED:
        return "dashed";
    case CRI_LINE_POINTS:
        return "points";
    case CRI_LINE_STEMS:
        return "stems";
    }
    return "solid";
}

static void put_series(const cri_report_series_node *series, FILE *out) {
    int n = cri_report_n_point(series);
    fputs("{\"x\":[", out);
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? "," : "", out);
        put_number(out, cri_report_x(series, i), DIGITS_CURVE);
    }
    fputs("],\"lines\":[", out);
    for (int k = 0; k < series->n_line; k++) {
        fputs(k > 0 ? ",{" : "{", out);
        put_text_member(out, "name", series->line[k].name, true);
        put_text_member(out, "style", style_name(series->line[k].style), false);
        fputs(",\"y\":[", out);
        for (int i = 0; i < n; i++) {
            fputs(i > 0 ? "," : "", out);
            put_number(out, cri_report_y(series, k, i), DIGITS_CURVE);
        }
        fputs("]}", out);
    }
    fputs("]}", out);
}

static void put_charts(const cri_report *report, FILE *out) {
    put_key(out, "charts", false);
    fputc('[', out);
    int number = 0;
    for (const cri_report_chart_node *chart = report->first_chart; chart; chart = chart->next) {
        fputs(number > 0 ? ",\n{" : "{", out);
        put_text_member(out, "title", chart->def.title, true);
        put_text_member(out, "x", chart->def.x, false);
        put_text_member(out, "xUnit", chart->def.x_unit, false);
        put_text_member(out, "y", chart->def.y, false);
        put_text_member(out, "unit", chart->def.unit, false);
        fprintf(out, ",\"log\":%s,\"motion\":%d,\"series\":[", chart->def.is_log ? "true" : "false",
                chart->def.motion);
        bool is_first = true;
        for (const cri_report_series_node *s = report->first_series; s; s = s->next) {
            if (s->chart == number) {
                fputs(is_first ? "" : ",", out);
                put_series(s, out);
                is_first = false;
            }
        }
        fputs("]}", out);
        number++;
    }
    fputc(']', out);
}

// ---- motions -----------------------------------------------------------------------------------

static const char *shape_name(cri_shape_kind kind) {
    static const char *const name[CRI_N_SHAPE] = {
        [CRI_SHAPE_PLANE] = "plane",       [CRI_SHAPE_SPHERE] = "sphere",
        [CRI_SHAPE_CAPSULE] = "capsule",   [CRI_SHAPE_ELLIPSOID] = "ellipsoid",
        [CRI_SHAPE_CYLINDER] = "cylinder", [CRI_SHAPE_BOX] = "box",
        [CRI_SHAPE_MESH] = "mesh",         [CRI_SHAPE_FIELD] = "mesh"};
    return name[kind];
}

static void put_hull(const cri_hull *hull, FILE *out) {
    fputs(",\"vertices\":", out);
    put_numbers(out, 3 * hull->n_vertex, hull->vertex, DIGITS_POSE);
    fputs(",\"faces\":[", out);
    for (int f = 0; f < hull->n_face; f++) {
        fputs(f > 0 ? ",[" : "[", out);
        for (int i = hull->face_start[f]; i < hull->face_start[f + 1]; i++) {
            fprintf(out, "%s%d", i > hull->face_start[f] ? "," : "", hull->face_vertex[i]);
        }
        fputc(']', out);
    }
    fputc(']', out);
}

/// The corners of a mesh stand in the first variant of a motion alone, when the others share them.
static void put_shapes(const cri_report_variant_node *v, const cri_report_variant_node *first,
                       FILE *out) {
    put_key(out, "geoms", false);
    fputc('[', out);
    for (int g = 0; g < v->n_shape; g++) {
        const cri_report_shape *shape = &v->shape[g];
        double pose[7];
        cri_v3_store(shape->pos, pose);
        cri_q4_store(shape->quat, pose + 3);
        fputs(g > 0 ? ",{" : "{", out);
        put_text_member(out, "name", shape->name, true);
        put_text_member(out, "kind", shape_name(shape->kind), false);
        fprintf(out, ",\"body\":%d,\"size\":", shape->body);
        put_numbers(out, 3, shape->size, DIGITS_POSE);
        put_key(out, "pose", false);
        put_numbers(out, 7, pose, DIGITS_POSE);
        bool is_known = v != first && v->model == first->model && shape->kind != CRI_SHAPE_FIELD;
        if (shape->hull && !is_known) {
            put_hull(shape->hull, out);
        }
        fputc('}', out);
    }
    fputc(']', out);
}

/// One array a frame: two geoms, point, impulse, and 1 for an impact, contact after contact.
static void put_touches(const cri_report_frame_data *frame, FILE *out) {
    fputc('[', out);
    for (int i = 0; i < frame->n_touch; i++) {
        const cri_report_touch *touch = &frame->touch[i];
        fprintf(out, "%s%d,%d", i > 0 ? "," : "", touch->geom[0], touch->geom[1]);
        for (int k = 0; k < 6; k++) {
            fputc(',', out);
            put_number(out, k < 3 ? touch->point[k] : touch->impulse[k - 3], DIGITS_POSE);
        }
        fputs(touch->is_impact ? ",1" : ",0", out);
    }
    fputc(']', out);
}

static void put_variant(const cri_report_variant_node *v, const cri_report_variant_node *first,
                        FILE *out) {
    int n = cri_report_n_frame(v);
    fputc('{', out);
    put_text_member(out, "name", v->name, true);
    put_key(out, "bodies", false);
    fputc('[', out);
    for (int b = 0; b < v->n_body; b++) {
        fputs(b > 0 ? "," : "", out);
        put_text(out, v->model->body_name[v->body[b]]);
    }
    fputc(']', out);
    put_shapes(v, first, out);
    fputs(",\"time\":[", out);
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? "," : "", out);
        put_number(out, v->frame[i].t, DIGITS_CURVE);
    }
    fputs("],\"poses\":[\n", out);
    int n_number = 7 * v->n_body;
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? ",\n" : "", out);
        put_numbers(out, n_number, v->pose + (size_t)i * (size_t)n_number, DIGITS_POSE);
    }
    fputs("],\"contacts\":[", out);
    for (int i = 0; i < n; i++) {
        fputs(i > 0 ? "," : "", out);
        put_touches(&v->frame[i], out);
    }
    fputs("]}", out);
}

static void put_motions(const cri_report *report, FILE *out) {
    put_key(out, "motions", false);
    fputc('[', out);
    for (const cri_report_motion_node *m = report->first_motion; m; m = m->next) {
        fputs(m == report->first_motion ? "{" : ",\n{", out);
        put_text_member(out, "name", m->name, true);
        put_key(out, "markers", false);
        fputc('[', out);
        for (const cri_report_marker_node *mark = m->first_marker; mark; mark = mark->next) {
            fputs(mark == m->first_marker ? "{" : ",{", out);
            put_text_member(out, "name", mark->name, true);
            put_key(out, "point", false);
            put_numbers(out, 3, mark->point, DIGITS_POSE);
            fputc('}', out);
        }
        fputs("],\"variants\":[", out);
        for (const cri_report_variant_node *v = m->first; v; v = v->next) {
            fputs(v == m->first ? "" : ",", out);
            put_variant(v, m->first, out);
        }
        fputs("]}", out);
    }
    fputc(']', out);
}

void cri_report_put_data(const cri_report *report, FILE *out) {
    fprintf(out, "{\"format\":\"carom report\",\"version\":%d,\"carom\":\"%s\"", FORMAT_VERSION,
            CR_VERSION);
    put_text_member(out, "title", report->title, false);
    put_text_member(out, "command", report->command, false);
    put_facts(report, out);
    put_tables(report, out);
    put_charts(report, out);
    put_motions(report, out);
    fputs("}\n", out);
}
