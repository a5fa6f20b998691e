// SPDX-License-Identifier: MIT
//
// A recorded motion: times and the entries of the state that were observed.

#include "optimize/recording.h"

#include "base/io/file.h"
#include "base/io/number.h"
#include "optimize/robust.h"
#include "optimize/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const cr_model *model;
    const cri_table *table;
    const char *file;
    cr_error *err;
} reader;

static cr_status unknown_column(const reader *in, const char *name) {
    cr_sizes sizes = cr_model_sizes(in->model);
    const char *nearest = cri_name_nearest(in->model, CR_VECTOR_X, name);
    const char *first = cr_model_name(in->model, CR_VECTOR_X, 0);
    const char *last = cr_model_name(in->model, CR_VECTOR_X, sizes.n_x - 1);
    if (nearest) {
        return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, 0,
                             "column %.40s is no entry of the state; did you mean %.40s? "
                             "Columns are t and %.40s to %.40s",
                             name, nearest, first, last);
    }
    return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, 0,
                         "column %.40s is no entry of the state; columns are t and %.40s to %.40s",
                         name, first ? first : "nothing else", last ? last : "nothing else");
}

static cr_status read_columns(const reader *in, cri_recording *out) {
    const cri_table *table = in->table;
    for (int c = 0; c < table->n_col; c++) {
        const char *name = table->name[c];
        if (strcmp(name, "t") == 0) {
            continue;
        }
        int index = cr_model_find(in->model, CR_VECTOR_X, name, NULL);
        if (index < 0) {
            return unknown_column(in, name);
        }
        for (int i = 0; i < table->n_row; i++) {
            size_t at = (size_t)i * (size_t)(table->n_col - 1) + (size_t)out->n_column;
            out->value[at] = table->value[(size_t)i * (size_t)table->n_col + (size_t)c];
        }
        out->x_index[out->n_column++] = index;
    }
    if (out->n_column == 0) {
        return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, 0,
                             "there is nothing beside t; add columns such as %.60s",
                             cr_model_name(in->model, CR_VECTOR_X, 0));
    }
    return CR_OK;
}

static cr_status read_times(const reader *in, cri_recording *out) {
    const cri_table *table = in->table;
    int t = cri_table_find(table, "t");
    if (t < 0) {
        return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, 0,
                             "there is no column t with the times in s");
    }
    if (table->n_row < 2) {
        return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, 0,
                             "a recording needs at least 2 rows, this one has %d", table->n_row);
    }
    double first = table->value[t];
    double before = first;
    for (int i = 0; i < table->n_row; i++) {
        double time = table->value[(size_t)i * (size_t)table->n_col + (size_t)t];
        if (i > 0 && time <= before) {
            return cri_file_fail(in->err, CR_ERR_ARGUMENT, in->file, table->line[i],
                                 "t is %.9g after %.9g; times must increase", time, before);
        }
        out->time[i] = time - first;
        before = time;
    }
    return CR_OK;
}

/// The place that a name means, without a step. False when it is none.
static bool find_place(const cr_model *model, const char *name, cri_variable_place *out) {
    static const struct {
        const char *prefix;
        cr_vector vector;
    } kinds[] = {{"x0:", CR_VECTOR_X}, {"u:", CR_VECTOR_U}, {"", CR_VECTOR_P}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t n = strlen(kinds[k].prefix);
        if (strncmp(name, kinds[k].prefix, n) == 0) {
            int index = cr_model_find(model, kinds[k].vector, name + n, NULL);
            *out = (cri_variable_place){kinds[k].vector, index, -1};
            return index >= 0;
        }
    }
    return false;
}

/// Reads "true NAME = VALUE". False for every other comment.
static bool read_truth(const cr_model *model, const char *comment, cri_truth *out) {
    char name[128] = {0};
    const char *equals = strrchr(comment, '=');
    if (strncmp(comment, "true ", 5) != 0 || !equals) {
        return false;
    }
    const char *begin = comment + 5 + strspn(comment + 5, " ");
    size_t n = equals > begin ? (size_t)(equals - begin) : 0;
    while (n > 0 && begin[n - 1] == ' ') {
        n--;
    }
    if (n == 0 || n >= sizeof name) {
        return false;
    }
    memcpy(name, begin, n);
    const char *number = equals + 1 + strspn(equals + 1, " ");
    size_t n_number = strcspn(number, " \t\r");
    return cri_number_parse(number, n_number, &out->value) == CRI_NUMBER_OK &&
           find_place(model, name, &out->place);
}

cr_status cri_recording_push(const cr_model *model, const cri_table *table, const char *file,
                             cr_arena *arena, cri_recording *out, cr_error *err) {
    CR_ASSERT(model && table && file);
    reader in = {model, table, file, err};
    cri_recording recording = {.n_sample = table->n_row, .file = file};
    size_t n_cell = (size_t)table->n_row * (size_t)table->n_col;
    recording.time = CR_PUSH(arena, double, table->n_row + 1);
    recording.value = CR_PUSH(arena, double, n_cell + 1);
    recording.x_index = CR_PUSH(arena, int, table->n_col + 1);
    recording.truth = CR_PUSH(arena, cri_truth, table->n_comment + 1);
    if (!recording.time || !recording.value || !recording.x_index || !recording.truth) {
        return cri_file_fail_memory(err, file);
    }
    CR_TRY(read_times(&in, &recording));
    CR_TRY(read_columns(&in, &recording));
    for (int i = 0; i < table->n_comment; i++) {
        cri_truth *truth = &recording.truth[recording.n_truth];
        recording.n_truth += read_truth(model, table->comment[i], truth);
    }
    *out = recording;
    return CR_OK;
}

bool cri_recording_truth(const cri_recording *recording, const cri_variable *variable,
                         double *value) {
    for (int i = 0; i < recording->n_truth; i++) {
        const cri_variable_place *told = &recording->truth[i].place;
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector == told->vector && place->index == told->index) {
                *value = recording->truth[i].value;
                return true;
            }
        }
    }
    return false;
}

// rms distance of points from the middle of their frame: about the size of what is seen
static double cloud_size(const cri_recording *recording) {
    int w = recording->n_column;
    double sum = 0.0;
    for (int i = 0; i < recording->n_sample; i++) {
        const double *frame = recording->cloud + 3 * (size_t)i * (size_t)w;
        for (int a = 0; a < 3; a++) {
            double mean = 0.0;
            for (int c = 0; c < w; c++) {
                mean += frame[3 * c + a] / w;
            }
            for (int c = 0; c < w; c++) {
                double d = cri_recording_weight(recording, c) * (frame[3 * c + a] - mean);
                sum += d * d / w;
            }
        }
    }
    return sqrt(sum / recording->n_sample);
}

// of a size that depth cameras see, this part is noise
static const double cloud_noise = 0.01;

double cri_recording_noise(const cri_recording *recording) {
    if (recording->cloud) {
        return cloud_noise * cloud_size(recording);
    }
    int n = recording->n_sample - 3;
    double *size = n > 0 ? malloc((size_t)n * sizeof *size) : NULL;
    if (!size) {
        return INFINITY;
    }
    double sum = 0.0;
    for (int c = 0; c < recording->n_column; c++) {
        const double *v = recording->value + c;
        int w = recording->n_column;
        for (int i = 0; i < n; i++) {
            size[i] = fabs(v[(i + 3) * w] - 3.0 * v[(i + 2) * w] + 3.0 * v[(i + 1) * w] - v[i * w]);
        }
        // a third difference sums 1 + 9 + 9 + 1 variances
        double sigma = cri_recording_weight(recording, c) * cri_robust_scale(n, size) / sqrt(20.0);
        sum += sigma * sigma;
    }
    free(size);
    return sqrt(sum / recording->n_column);
}

double cri_recording_spread(const cri_recording *recording) {
    if (recording->cloud) {
        return cloud_size(recording);
    }
    double sum = 0.0;
    int w = recording->n_column;
    for (int c = 0; c < w; c++) {
        double mean = 0.0;
        for (int i = 0; i < recording->n_sample; i++) {
            mean += recording->value[i * w + c] / recording->n_sample;
        }
        for (int i = 0; i < recording->n_sample; i++) {
            double d = cri_recording_weight(recording, c) * (recording->value[i * w + c] - mean);
            sum += d * d / recording->n_sample;
        }
    }
    return sqrt(sum / w);
}
