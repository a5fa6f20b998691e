// SPDX-License-Identifier: MIT
//
// What a report holds until it is written. Lists are chained in the order in which they were begun;
// everything lives in the report's arena.

#pragma once

#include "base/arena.h"
#include "dynamics/unit.h"
#include "report/report.h"

#include <stdio.h>

/// A pair of texts, or a sentence when name is NULL.
typedef struct cri_report_text {
    struct cri_report_text *next;
    const char *name;
    const char *text;
} cri_report_text;

typedef struct cri_report_row_node {
    struct cri_report_row_node *next;
    cri_report_cell *cell; // (n_column)
} cri_report_row_node;

typedef struct cri_report_table_node {
    struct cri_report_table_node *next;
    const char *title;
    int n_column;
    cri_report_column *column;
    cri_report_row_node *first, *last;
} cri_report_table_node;

typedef struct cri_report_value_node {
    struct cri_report_value_node *next;
    cri_report_value value;
} cri_report_value_node;

/// Least and largest value of an interval, and which came first; NAN: none.
typedef struct cri_report_span {
    double low, high;
    bool is_low_first;
} cri_report_span;

/// Curves over common x. A bucket stands for stride points; the one behind the last is being
/// filled.
typedef struct cri_report_series_node {
    struct cri_report_series_node *next;
    int number;
    int chart;
    int n_line;
    cri_report_line *line; // (n_line)
    int n_bucket;          // full ones
    int stride;            // points a bucket
    int n_filled;          // points of the bucket that is being filled
    double (*x)[2];        // (CRI_REPORT_POINTS + 1) first and last of a bucket
    cri_report_span *span; // (CRI_REPORT_POINTS + 1, n_line)
} cri_report_series_node;

typedef struct cri_report_chart_node {
    struct cri_report_chart_node *next;
    cri_report_chart_def def;
} cri_report_chart_node;

/// A contact of a frame: impulses of the same place of the same pair are added up.
typedef struct cri_report_touch {
    int geom[2];
    int place; // its number among those of the pair in one step
    double point[3];
    double impulse[3];
    bool is_impact;
} cri_report_touch;

typedef struct cri_report_frame_data {
    double t;
    int n_touch;
    cri_report_touch *touch; // (CRI_REPORT_CONTACTS), NULL until there is one
} cri_report_frame_data;

typedef struct cri_report_shape {
    cri_shape_kind kind;
    double size[3];
    int body; // in the list of moving bodies, -1: does not move
    cri_vec3 pos;
    cri_quat quat; // in the body, or in the world
    const cri_hull *hull;
    const char *name;
} cri_report_shape;

/// One way a motion went. Frames are stride steps apart; the one behind the last is being filled.
typedef struct cri_report_variant_node {
    struct cri_report_variant_node *next;
    const char *name;
    const cr_model *model;
    cri_state state; // of the frame at hand
    double *x;       // (n_x) what it points to
    int n_shape;
    cri_report_shape *shape;
    int n_body;
    int *body; // (n_body) bodies that move
    int limit; // full frames, odd
    int n_frame;
    int stride;
    int n_filled;                 // steps of the frame that is being filled
    cri_report_frame_data *frame; // (limit + 1)
    double *pose;                 // (limit + 1, n_body, 7) position, quaternion
} cri_report_variant_node;

typedef struct cri_report_marker_node {
    struct cri_report_marker_node *next;
    const char *name;
    double point[3];
} cri_report_marker_node;

typedef struct cri_report_model_node {
    struct cri_report_model_node *next;
    cr_model *model;
} cri_report_model_node;

typedef struct cri_report_motion_node {
    struct cri_report_motion_node *next;
    const char *name;
    cri_report_variant_node *first, *last;
    cri_report_marker_node *first_marker, *last_marker;
} cri_report_motion_node;

struct cri_report {
    cr_arena *memory;
    const char *title;
    const char *command;
    cri_report_text *first_fact, *last_fact;
    cri_report_text *first_note, *last_note;
    cri_report_table_node *first_table, *last_table;
    cri_report_value_node *first_value, *last_value;
    cri_report_chart_node *first_chart, *last_chart;
    cri_report_series_node *first_series, *last_series;
    cri_report_motion_node *first_motion, *last_motion;
    cri_report_model_node *first_model, *last_model; // owned
    cri_report_series_node *current_series;          // filled last
    int n_chart;
    int n_series;
};

/// Points of a series as they are written: one a bucket, two when a bucket stands for several.
int cri_report_n_point(const cri_report_series_node *series);
double cri_report_x(const cri_report_series_node *series, int point);
double cri_report_y(const cri_report_series_node *series, int line, int point);

/// Frames of a variant, that being filled too.
int cri_report_n_frame(const cri_report_variant_node *variant);
