// SPDX-License-Identifier: MIT
//
// A report while it is filled: texts, tables and parameters. Lack of memory marks the arena, and
// cri_report_write tells it.

#include "report/report_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// longest fact or sentence, bytes
enum { TEXT_LIMIT = 1000 };

cr_status cri_report_create(const char *title, cri_report **out, cr_error *err) {
    *out = NULL;
    cr_arena *memory = cri_arena_create(1 << 16);
    cri_report *report = memory ? CR_PUSH(memory, cri_report, 1) : NULL;
    if (!report) {
        cri_arena_destroy(memory);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a report");
    }
    report->memory = memory;
    report->title = cri_report_copy(report, title);
    *out = report;
    return CR_OK;
}

void cri_report_destroy(cri_report *report) {
    if (report) {
        for (const cri_report_model_node *m = report->first_model; m; m = m->next) {
            cr_model_destroy(m->model);
        }
        cri_arena_destroy(report->memory);
    }
}

void cri_report_own_model(cri_report *report, cr_model *model) {
    if (!report || !model) {
        return;
    }
    cri_report_model_node *node = CR_PUSH(report->memory, cri_report_model_node, 1);
    if (node) {
        node->model = model;
        CRI_REPORT_APPEND(report->first_model, report->last_model, node);
    } else {
        // a report that lacks memory is not written
        cr_model_destroy(model);
    }
}

const char *cri_report_copy(cri_report *report, const char *text) {
    return text ? cri_arena_push_text(report->memory, text) : NULL;
}

void cri_report_command(cri_report *report, const char *text) {
    if (report) {
        report->command = cri_report_copy(report, text);
    }
}

static cri_report_text *push_text(cri_report *report, const char *name, const char *format,
                                  va_list args) {
    char text[TEXT_LIMIT];
    vsnprintf(text, sizeof text, format, args);
    cri_report_text *node = CR_PUSH(report->memory, cri_report_text, 1);
    if (node) {
        node->name = cri_report_copy(report, name);
        node->text = cri_report_copy(report, text);
    }
    return node;
}

void cri_report_fact(cri_report *report, const char *name, const char *format, ...) {
    if (!report) {
        return;
    }
    va_list args;
    va_start(args, format);
    cri_report_text *node = push_text(report, name, format, args);
    va_end(args);
    CRI_REPORT_APPEND(report->first_fact, report->last_fact, node);
}

void cri_report_note(cri_report *report, const char *format, ...) {
    if (!report) {
        return;
    }
    va_list args;
    va_start(args, format);
    cri_report_text *node = push_text(report, NULL, format, args);
    va_end(args);
    CRI_REPORT_APPEND(report->first_note, report->last_note, node);
}

// ---- tables ------------------------------------------------------------------------------------

void cri_report_table(cri_report *report, const char *title, int n_column,
                      const cri_report_column *column) {
    CR_ASSERT(n_column > 0);
    if (!report) {
        return;
    }
    cri_report_table_node *node = CR_PUSH(report->memory, cri_report_table_node, 1);
    cri_report_column *copy = CR_PUSH(report->memory, cri_report_column, n_column);
    if (!node || !copy) {
        return;
    }
    for (int i = 0; i < n_column; i++) {
        copy[i] = column[i];
        copy[i].name = cri_report_copy(report, column[i].name);
        copy[i].unit = cri_report_copy(report, column[i].unit);
    }
    node->title = cri_report_copy(report, title);
    node->n_column = n_column;
    node->column = copy;
    CRI_REPORT_APPEND(report->first_table, report->last_table, node);
}

void cri_report_row(cri_report *report, const cri_report_cell *cell) {
    if (!report || cri_arena_has_failed(report->memory)) {
        return;
    }
    cri_report_table_node *table = report->last_table;
    CR_ASSERT(table);
    cri_report_row_node *node = CR_PUSH(report->memory, cri_report_row_node, 1);
    cri_report_cell *copy = CR_PUSH(report->memory, cri_report_cell, table->n_column);
    if (!node || !copy) {
        return;
    }
    for (int i = 0; i < table->n_column; i++) {
        copy[i] = (cri_report_cell){cri_report_copy(report, cell[i].text), cell[i].value};
    }
    node->cell = copy;
    CRI_REPORT_APPEND(table->first, table->last, node);
}

void cri_report_parameter(cri_report *report, const cri_report_value *value) {
    if (!report) {
        return;
    }
    cri_report_value_node *node = CR_PUSH(report->memory, cri_report_value_node, 1);
    if (node) {
        node->value = *value;
        node->value.name = cri_report_copy(report, value->name);
        node->value.unit = cri_report_copy(report, value->unit);
        node->value.note = cri_report_copy(report, value->note);
    }
    CRI_REPORT_APPEND(report->first_value, report->last_value, node);
}
