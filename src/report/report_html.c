// SPDX-License-Identifier: MIT
//
// The page of a report: title, facts, tables and parameters as HTML with their bars, then the data
// and the script that draws curves and motions from them. Nothing is loaded from elsewhere, and the
// page forbids it.

#include "report/report_content.h"

#include "base/arena.h"
#include "base/io/file.h"
#include "dynamics/unit.h"
#include "report/report.h"
#include "report/viewer_bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// significant digits of positions, of curves, and of results
enum { DIGITS_POSE = 6, DIGITS_CURVE = 7, DIGITS_RESULT = 12 };

#define FORMAT_VERSION 1

// digits of a table when its column does not say
enum { DIGITS = 6 };

// the bar of a logarithmic column is empty here and full at 1
#define BAR_LEAST (-16.0)

// size of a picture of error bars, and how many standard errors it shows to each side
#define PLOT_WIDTH 190.0
#define PLOT_HEIGHT 20.0
#define PLOT_ERRORS 4.0

// ---- data ---------------------------------------------------------------------------------------

// A report's data as JSON (docs/report.md). Numbers have the digits that drawing needs; what is not
// finite is null. '<' is written as \u003c, so that no text can end the script element that the
// data stand in.

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

static void put_table_data(const cri_report *report, FILE *out) {
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

/// The data as JSON, without '<', so that it can stand in a page. A failed write is seen at commit.
static void report_put_data(const cri_report *report, FILE *out) {
    fprintf(out, "{\"format\":\"carom report\",\"version\":%d,\"carom\":\"%s\"", FORMAT_VERSION,
            CR_VERSION);
    put_text_member(out, "title", report->title, false);
    put_text_member(out, "command", report->command, false);
    put_facts(report, out);
    put_table_data(report, out);
    put_charts(report, out);
    put_motions(report, out);
    fputs("}\n", out);
}

// ---- the page -----------------------------------------------------------------------------------

bool cri_report_has_viewer(void) {
    return cri_viewer_script_bytes > 0;
}

static void put_escaped(FILE *out, const char *text) {
    for (const char *at = text ? text : ""; *at; at++) {
        switch (*at) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*at, out);
        }
    }
}

/// <tag>text</tag>, or <tag class="kind">; nothing without text.
static void put_element(FILE *out, const char *tag, const char *kind, const char *text) {
    if (!text) {
        return;
    }
    fprintf(out, kind ? "<%s class=\"%s\">" : "<%s>", tag, kind);
    put_escaped(out, text);
    fprintf(out, "</%s>", tag);
}

// ---- head --------------------------------------------------------------------------------------

static void put_head(const cri_report *report, FILE *out) {
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n",
          out);
    put_element(out, "title", NULL, report->title);
    fputs("\n<style>\n", out);
    fwrite(cri_viewer_style, 1, cri_viewer_style_bytes, out);
    fputs("</style>\n</head>\n<body>\n<header>\n", out);
    put_element(out, "h1", NULL, report->title);
    put_element(out, "p", "command", report->command);
    if (report->first_fact) {
        fputs("\n<dl class=\"facts\">\n", out);
        for (const cri_report_text *fact = report->first_fact; fact; fact = fact->next) {
            fputs("<div>", out);
            put_element(out, "dt", NULL, fact->name);
            put_element(out, "dd", NULL, fact->text);
            fputs("</div>\n", out);
        }
        fputs("</dl>\n", out);
    }
    fputs("</header>\n", out);
}

static void put_notes(const cri_report *report, FILE *out) {
    bool is_drawn = report->first_chart || report->first_motion;
    bool is_plain = is_drawn && !cri_report_has_viewer();
    if (!report->first_note && !is_plain) {
        return;
    }
    fputs("<section class=\"card notes\">\n", out);
    for (const cri_report_text *note = report->first_note; note; note = note->next) {
        put_element(out, "p", NULL, note->text);
    }
    if (is_plain) {
        fputs("<p>This carom was built without npm, so that its reports have no charts and no "
              "motion: install npm and build again. The data are in this file all the same.</p>\n",
              out);
    }
    fputs("</section>\n", out);
}

// ---- tables ------------------------------------------------------------------------------------

static void put_heading(FILE *out, const char *name, const char *unit, bool is_text) {
    fprintf(out, "<th scope=\"col\"%s>", is_text ? " class=\"text\"" : "");
    put_escaped(out, name);
    put_element(out, "span", "unit", unit);
    fputs("</th>", out);
}

static void put_value(FILE *out, double value, int digits) {
    if (isfinite(value)) {
        fprintf(out, "%.*g", digits, value == 0.0 ? 0.0 : value);
    } else {
        fputs("&ndash;", out);
    }
}

static void put_bar(FILE *out, double value) {
    double full = 1.0 - log10(value) / BAR_LEAST;
    fprintf(out, "<span class=\"bar\"><i style=\"width:%.1f%%\"></i></span>",
            100.0 * fmin(fmax(full, 0.0), 1.0));
}

static void put_cell(FILE *out, const cri_report_column *column, const cri_report_cell *cell) {
    int digits = column->digits > 0 ? column->digits : DIGITS;
    if (column->kind == CRI_COLUMN_TEXT) {
        fputs("<td class=\"text\">", out);
    } else {
        fputs("<td>", out);
    }
    if (cell->text) {
        put_escaped(out, cell->text);
    } else {
        if (column->kind == CRI_COLUMN_LOG_BAR && cell->value > 0.0 && isfinite(cell->value)) {
            put_bar(out, cell->value);
        }
        put_value(out, cell->value, digits);
    }
    fputs("</td>", out);
}

static void put_tables(const cri_report *report, FILE *out) {
    for (const cri_report_table_node *table = report->first_table; table; table = table->next) {
        fputs("<section class=\"card table\">\n", out);
        put_element(out, "h2", NULL, table->title);
        fputs("\n<div class=\"scroll\"><table>\n<thead><tr>", out);
        for (int i = 0; i < table->n_column; i++) {
            const cri_report_column *column = &table->column[i];
            put_heading(out, column->name, column->unit, column->kind == CRI_COLUMN_TEXT);
        }
        fputs("</tr></thead>\n<tbody>\n", out);
        for (const cri_report_row_node *row = table->first; row; row = row->next) {
            fputs("<tr>", out);
            for (int i = 0; i < table->n_column; i++) {
                put_cell(out, &table->column[i], &row->cell[i]);
            }
            fputs("</tr>\n", out);
        }
        fputs("</tbody></table></div>\n</section>\n", out);
    }
}

// ---- parameters --------------------------------------------------------------------------------

/// Where a value stands in the picture around the found one, cut off at its edges.
static double place(const cri_report_value *value, double at, double half) {
    double part = (at - value->value) / half;
    return PLOT_WIDTH * (0.5 + 0.5 * fmin(fmax(part, -1.0), 1.0) * 0.94);
}

/// A picture of PLOT_ERRORS standard errors around the found value, or of the way from the start.
static void put_plot(const cri_report_value *value, FILE *out) {
    bool has_error = isfinite(value->error) && value->error > 0.0;
    double way = fabs(value->start - value->value);
    double half = has_error ? PLOT_ERRORS * value->error : 1.2 * way;
    if (!isfinite(value->value) || !isfinite(half) || half <= 0.0) {
        return;
    }
    double y = 0.5 * PLOT_HEIGHT, centre = place(value, value->value, half);
    fprintf(out, "<svg class=\"plot\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" ",
            PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
    fprintf(out,
            "aria-hidden=\"true\"><line class=\"axis\" x1=\"0\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>",
            PLOT_WIDTH, y, y);
    for (int k = 2; k >= 1 && has_error; k--) {
        double a = place(value, value->value - k * value->error, half);
        double b = place(value, value->value + k * value->error, half);
        fprintf(out, "<line class=\"error%d\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", k, a,
                b, y, y);
    }
    if (isfinite(value->truth)) {
        fprintf(out, "<line class=\"truth\" x1=\"%.1f\" x2=\"%.1f\" y1=\"2\" y2=\"%g\"/>",
                place(value, value->truth, half), place(value, value->truth, half),
                PLOT_HEIGHT - 2.0);
    }
    if (isfinite(value->start) && way <= half) {
        fprintf(out, "<circle class=\"start\" cx=\"%.1f\" cy=\"%g\" r=\"3.5\"/>",
                place(value, value->start, half), y);
    } else if (isfinite(value->start)) {
        // beyond the edge: an arrow towards it
        double edge = value->start < value->value ? 1.0 : PLOT_WIDTH - 1.0;
        double in = value->start < value->value ? edge + 6.0 : edge - 6.0;
        fprintf(out, "<path class=\"start\" d=\"M%g %g L%g %g L%g %g Z\"/>", edge, y, in, y - 4.0,
                in, y + 4.0);
    }
    fprintf(out, "<circle class=\"found\" cx=\"%.1f\" cy=\"%g\" r=\"3.5\"/></svg>", centre, y);
}

static void put_parameter(const cri_report_value *value, bool has_truth, FILE *out) {
    fputs("<tr><td class=\"text\">", out);
    put_escaped(out, value->name);
    put_element(out, "span", "unit", value->unit);
    fputs("</td><td>", out);
    put_value(out, value->start, DIGITS);
    fputs("</td><td class=\"strong\">", out);
    put_value(out, value->value, DIGITS);
    fputs("</td><td>", out);
    put_value(out, value->error, 2);
    if (has_truth) {
        fputs("</td><td>", out);
        put_value(out, value->truth, DIGITS);
    }
    fputs("</td><td class=\"text\">", out);
    put_plot(value, out);
    put_element(out, "span", "remark", value->note);
    fputs("</td></tr>\n", out);
}

static void put_parameters(const cri_report *report, FILE *out) {
    if (!report->first_value) {
        return;
    }
    bool has_truth = false;
    for (const cri_report_value_node *node = report->first_value; node; node = node->next) {
        has_truth = has_truth || isfinite(node->value.truth);
    }
    fputs("<section class=\"card table\">\n<h2>Parameters</h2>\n<div class=\"scroll\"><table>\n"
          "<thead><tr>",
          out);
    put_heading(out, "name", NULL, true);
    put_heading(out, "start", NULL, false);
    put_heading(out, "found", NULL, false);
    put_heading(out, "standard error", NULL, false);
    if (has_truth) {
        put_heading(out, "true", NULL, false);
    }
    put_heading(out, "found, with standard errors", NULL, true);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (const cri_report_value_node *node = report->first_value; node; node = node->next) {
        put_parameter(&node->value, has_truth, out);
    }
    fputs("</tbody></table></div>\n<p class=\"legend\"><i class=\"found\"></i> found, bars of one "
          "and two standard errors "
          "<i class=\"start\"></i> start, an arrow when it is beyond the picture",
          out);
    fputs(has_truth ? " <i class=\"truth\"></i> true</p>\n</section>\n" : "</p>\n</section>\n",
          out);
}

// ---- page --------------------------------------------------------------------------------------

static void put_page(const cri_report *report, FILE *out) {
    put_head(report, out);
    fputs("<main>\n<div id=\"motions\"></div>\n<div id=\"charts\"></div>\n<div id=\"tables\">\n",
          out);
    put_notes(report, out);
    put_parameters(report, out);
    put_tables(report, out);
    fputs("</div>\n</main>\n<footer>carom " CR_VERSION "</footer>\n"
          "<script type=\"application/json\" id=\"data\">",
          out);
    report_put_data(report, out);
    fputs("</script>\n", out);
    if (cri_report_has_viewer()) {
        fputs("<script>", out);
        fwrite(cri_viewer_script, 1, cri_viewer_script_bytes, out);
        fputs("</script>\n", out);
    }
    fputs("</body>\n</html>\n", out);
}

cr_status cri_report_write(const cri_report *report, const char *path, cr_error *err) {
    CR_ASSERT(report && path);
    if (cri_arena_has_failed(report->memory)) {
        return cri_file_fail_memory(err, path);
    }
    cri_atomic_file file;
    CR_TRY(cri_atomic_open(path, &file, err));
    put_page(report, file.stream);
    return cri_atomic_commit(&file, err);
}
