// SPDX-License-Identifier: MIT
//
// The page of a report: title, facts, tables and parameters as HTML with their bars, then the data
// and the script that draws curves and motions from them. Nothing is loaded from elsewhere, and the
// page forbids it.

#include "base/io/atomic_file.h"
#include "base/io/file.h"
#include "report/report_parts.h"
#include "report/viewer_bundle.h"

#include <math.h>

// digits of a table when its column does not say
enum { DIGITS = 6 };

// the bar of a logarithmic column is empty here and full at 1
#define BAR_LEAST (-16.0)

// size of a picture of error bars, and how many standard errors it shows to each side
#define PLOT_WIDTH 190.0
#define PLOT_HEIGHT 20.0
#define PLOT_ERRORS 4.0

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
    cri_report_put_data(report, out);
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
