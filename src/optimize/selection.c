// SPDX-License-Identifier: MIT
//
// Values, adjoints and tangents between the variables of a selection and the vectors of a run.
//
// Writing is linear: variable z_j goes to all its places. The adjoint of a variable is the sum over
// its places; a control over the whole run sums over all rows of u.

#include "optimize/select.h"

#include "contact/law.h"
#include "energy/potential.h"
#include "model/model.h"
#include "optimize/tangent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cr_status cri_selection_check_steps(const cri_selection *selection, int n_step, cr_error *err) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].step >= n_step) {
                return cri_fail(err, CR_ERR_ARGUMENT, 0,
                                "%.80s: the run has %d steps, the last is [%d]", variable->name,
                                n_step, n_step - 1);
            }
        }
    }
    return CR_OK;
}

/// The geom of whose size a parameter is, -1: of none.
static int geom_of_size(const cr_model *m, int slot) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        if (slot >= m->geom[g].slot_size && slot < m->geom[g].slot_size + m->geom[g].n_size) {
            return g;
        }
    }
    return -1;
}

/// A coordinate of a vertex?
static bool is_of_vertex(const cr_model *m, int slot) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        int first = m->geom[g].slot_vertex;
        if (first >= 0 && slot >= first && slot < first + 3 * m->geom[g].surface.n_vertex) {
            return true;
        }
    }
    return false;
}

cr_status cri_selection_check_law(const cri_selection *selection, const char *name, cr_error *err) {
    const cri_law *law = cri_law_find_any(name);
    bool is_smooth = law && law->is_energy && law->form == CRI_POTENTIAL_LONGRANGE;
    bool has_sizes = !law || !law->is_energy || is_smooth;
    for (int j = 0; !is_smooth && j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            if (place->vector != CR_VECTOR_P) {
                continue;
            }
            bool is_vertex = is_of_vertex(selection->model, place->index);
            if (is_vertex || (!has_sizes && geom_of_size(selection->model, place->index) >= 0)) {
                return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                                "%.80s: the law %.40s has no derivatives for %s; longrange has",
                                variable->name, name, is_vertex ? "vertices" : "sizes");
            }
        }
    }
    return CR_OK;
}

static bool has_single_step(const cri_selection *selection) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].step >= 0) {
                return true;
            }
        }
    }
    return false;
}

bool cri_selection_has(const cri_selection *selection, cr_vector vector) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].vector == vector) {
                return true;
            }
        }
    }
    return false;
}

cr_status cri_point_push(const cri_selection *selection, int n_step, cr_arena *arena,
                         cri_point *out, cr_error *err) {
    CR_ASSERT(n_step >= 0);
    return cri_point_push_rows(selection, has_single_step(selection) ? n_step : 1, arena, out, err);
}

cr_status cri_point_push_rows(const cri_selection *selection, int n_u_row, cr_arena *arena,
                              cri_point *out, cr_error *err) {
    const cr_sizes *sizes = &selection->sizes;
    out->n_u_row = n_u_row;
    out->p = CR_PUSH(arena, double, sizes->n_p);
    out->x0 = CR_PUSH(arena, double, sizes->n_x);
    out->u = CR_PUSH(arena, double, (size_t)out->n_u_row *(size_t)sizes->n_u);
    if (!out->p || !out->x0 || !out->u) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the controls of %d steps", n_u_row);
    }
    return CR_OK;
}

/// The number at a place; of a control over the whole run, the one of the given row.
static double *at_place(const cri_selection *selection, const cri_point *point,
                        const cri_variable_place *place, int row) {
    switch (place->vector) {
    case CR_VECTOR_P:
        return point->p + place->index;
    case CR_VECTOR_X:
        return point->x0 + place->index;
    case CR_VECTOR_U:
        break;
    }
    int u_row = place->step >= 0 ? place->step : row;
    CR_ASSERT(u_row < point->n_u_row);
    return point->u + (size_t)u_row * (size_t)selection->sizes.n_u + place->index;
}

/// How many numbers a place stands for.
static int place_rows(const cri_point *point, const cri_variable_place *place) {
    return place->vector == CR_VECTOR_U && place->step < 0 ? point->n_u_row : 1;
}

/// The fewest digits that stand for value.
static void print_short(double value, char text[32]) {
    int digits = 6;
    do {
        snprintf(text, 32, "%.*g", digits++, value);
    } while (digits <= 17 && strtod(text, NULL) != value);
}

static cr_status refuse_tie(const cri_selection *selection, const cri_variable *variable, int k,
                            const double value[2], cr_error *err) {
    static const char *const prefix[] = {"", "x0:", "u:"};
    const cri_variable_place *place = &variable->place[k];
    char first[32], other[32];
    print_short(value[0], first);
    print_short(value[1], other);
    // without a step: --set takes whole runs
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "%.80s: tied values start at %s and %s; make them equal, such as --set "
                    "%s%.60s=%s",
                    variable->name, first, other, prefix[place->vector],
                    cr_model_name(selection->model, place->vector, place->index), first);
}

cr_status cri_selection_check_ties(const cri_selection *selection, const cri_point *point,
                                   cr_error *err) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        double first = *at_place(selection, point, &variable->place[0], 0);
        for (int k = 1; k < variable->n_place; k++) {
            double other = *at_place(selection, point, &variable->place[k], 0);
            if (other != first) {
                return refuse_tie(selection, variable, k, (double[]){first, other}, err);
            }
        }
    }
    return CR_OK;
}

double cri_selection_value(const cri_selection *selection, int j, const cri_point *point) {
    return *at_place(selection, point, &selection->variable[j].place[0], 0);
}

void cri_selection_read(const cri_selection *selection, const cri_point *point, double *z) {
    for (int j = 0; j < selection->n_variable; j++) {
        z[j] = cri_selection_value(selection, j, point);
    }
}

void cri_selection_put(const cri_selection *selection, int j, double value, cri_point *point) {
    const cri_variable *variable = &selection->variable[j];
    for (int k = 0; k < variable->n_place; k++) {
        const cri_variable_place *place = &variable->place[k];
        for (int row = 0; row < place_rows(point, place); row++) {
            *at_place(selection, point, place, row) = value;
        }
    }
}

void cri_selection_write(const cri_selection *selection, const double *z, cri_point *point) {
    for (int j = 0; j < selection->n_variable; j++) {
        cri_selection_put(selection, j, z[j], point);
    }
}

void cri_selection_write_vjp(const cri_selection *selection, const cri_point *point_adj,
                             double *z_adj) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            const cri_variable_place *place = &variable->place[k];
            // place = z_j, in every row
            for (int row = 0; row < place_rows(point_adj, place); row++) {
                z_adj[j] += *at_place(selection, point_adj, place, row);
            }
        }
    }
}

// ---- tangents ----------------------------------------------------------------------------------

void cri_variable_p_tan(const cri_variable *variable, double *p_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector == CR_VECTOR_P) {
            p_tan[variable->place[k].index] = 1.0;
        }
    }
}

void cri_variable_x0_tan(const cri_variable *variable, const cr_model *model, const double *x0,
                         double *x0_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector == CR_VECTOR_X) {
            cri_tangent_of_entry(model, x0, variable->place[k].index, x0_tan);
        }
    }
}

void cri_variable_u_tan(const cri_variable *variable, int step, double *u_tan) {
    for (int k = 0; k < variable->n_place; k++) {
        const cri_variable_place *place = &variable->place[k];
        if (place->vector == CR_VECTOR_U && (place->step < 0 || place->step == step)) {
            u_tan[place->index] = 1.0;
        }
    }
}

cri_domain cri_selection_domain(const cri_selection *selection, const cr_model *model, int i) {
    CR_ASSERT(i >= 0 && i < selection->n_variable);
    cri_domain domain = {-INFINITY, INFINITY, false};
    const cri_variable *variable = &selection->variable[i];
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector != CR_VECTOR_P) {
            continue;
        }
        double lower = -INFINITY;
        double upper = INFINITY;
        bool is_open = false;
        cr_model_domain(model, variable->place[k].index, &lower, &upper, &is_open);
        if (lower > domain.lower || (lower == domain.lower && is_open)) {
            domain.lower = lower;
            domain.is_open = is_open;
        }
        domain.upper = fmin(domain.upper, upper);
    }
    return domain;
}
