// SPDX-License-Identifier: MIT
//
// A system of points: its blocks of mass, the pattern of S = J Minv J', parameters.
//
//   point   Minv = 1/m                   body   Minv_ab = (1/m) (1 + [a = b > 0]/lam_a)
//   body    T = m/2 (|v_0|^2 + sum_k lam_k |v_k - v_0|^2)
//
// A body's own ties are |e_k| = 1 and e_j.e_k = 0, e_k = x_k - x_0: S is then diagonal where they
// hold. S_ef is not zero where ties e and f touch the same block.
//
// Adjoints, G = Minv_adj:  m_adj -= sum_ab G_ab Minv_ab/m,  lam_k_adj -= G_kk/(m lam_k^2).
// Source: DCS (paper 000), sections 3 and S.1; moments m lam in every place.

#include "points/system/points.h"

#include "base/base.h"

#include <string.h>

// ---- blocks ------------------------------------------------------------------------------------

static bool push_blocks(const cri_points_def *def, cri_points *s, cr_arena *arena) {
    cri_mass_block *block = CR_PUSH(arena, cri_mass_block, def->n_block);
    int n_body = 0;
    for (int k = 0; block && k < def->n_block; k++) {
        int n = def->is_body[k] ? s->d + 1 : 1;
        block[k] = (cri_mass_block){.first = s->n_point, .n = n, .lam = -1, .entry = s->n_minv};
        if (def->is_body[k]) {
            block[k].lam = s->n_lam;
            s->n_lam += s->d;
            n_body++;
        }
        s->n_point += n;
        s->n_minv += n * n;
    }
    s->block = block;
    s->n_dof = s->d * s->n_point;
    s->n_tie = def->n_tie + n_body * s->d * (s->d + 1) / 2;
    int *block_of = CR_PUSH(arena, int, s->n_point);
    double *unit = CR_PUSH(arena, double, s->n_minv);
    if (!block || !block_of || !unit) {
        return false;
    }
    for (int k = 0; k < def->n_block; k++) {
        for (int a = 0; a < block[k].n; a++) {
            block_of[block[k].first + a] = k;
            unit[block[k].entry + a * block[k].n + a] = 1.0;
        }
    }
    s->block_of = block_of;
    s->unit = unit;
    return true;
}

// |e_k| = 1 and e_j.e_k = 0
static cri_tie *add_body_ties(const cri_points *s, const cri_mass_block *b, cri_tie *tie) {
    for (int k = 1; k < b->n; k++) {
        *tie++ = (cri_tie){.kind = CRI_TIE_DISTANCE,
                           .n_point = 2,
                           .point = {b->first, b->first + k},
                           .length = 1.0};
    }
    for (int j = 1; j < b->n; j++) {
        for (int k = j + 1; k < b->n; k++) {
            *tie++ = (cri_tie){.kind = CRI_TIE_ANGLE,
                               .n_point = 3,
                               .point = {b->first + j, b->first + k, b->first}};
        }
    }
    CR_ASSERT(b->n == s->d + 1);
    return tie;
}

static bool push_ties(const cri_points_def *def, cri_points *s, cr_arena *arena) {
    cri_tie *tie = CR_PUSH(arena, cri_tie, s->n_tie + 1), *next = tie;
    int *first = CR_PUSH(arena, int, s->n_tie + 1);
    if (!tie || !first) {
        return false;
    }
    for (int k = 0; k < s->n_block; k++) {
        if (s->block[k].lam >= 0) {
            next = add_body_ties(s, &s->block[k], next);
        }
    }
    for (int e = 0; e < def->n_tie; e++) {
        *next++ = def->tie[e];
    }
    for (int e = 0; e < s->n_tie; e++) {
        CR_ASSERT(tie[e].n_point > 0 && tie[e].n_point <= CRI_TIE_POINTS);
        first[e + 1] = first[e] + tie[e].n_point;
    }
    s->n_slot = first[s->n_tie];
    int *point = CR_PUSH(arena, int, s->n_slot + 1);
    for (int e = 0; point && e < s->n_tie; e++) {
        for (int k = 0; k < tie[e].n_point; k++) {
            CR_ASSERT(tie[e].point[k] >= 0 && tie[e].point[k] < s->n_point);
            point[first[e] + k] = tie[e].point[k];
        }
    }
    s->tie = tie;
    s->slot_first = first;
    s->slot_point = point;
    return point != NULL;
}

// ---- groups ------------------------------------------------------------------------------------

static int root_of(int *parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void join(int *parent, int i, int j) {
    int a = root_of(parent, i), b = root_of(parent, j);
    parent[a > b ? a : b] = a > b ? b : a;
}

static bool push_groups(cri_points *s, cr_arena *arena) {
    int *group = CR_PUSH_RAW(arena, int, s->n_point);
    if (!group) {
        return false;
    }
    for (int i = 0; i < s->n_point; i++) {
        group[i] = i;
    }
    for (int i = 0; i < s->n_point; i++) {
        join(group, i, s->block[s->block_of[i]].first);
    }
    for (int e = 0; e < s->n_tie; e++) {
        for (int k = s->slot_first[e]; k < s->slot_first[e + 1]; k++) {
            join(group, s->slot_point[s->slot_first[e]], s->slot_point[k]);
        }
    }
    for (int i = 0; i < s->n_point; i++) {
        group[i] = root_of(group, i);
    }
    s->group_of = group;
    return true;
}

// ---- pattern of S ------------------------------------------------------------------------------

static bool share_block(const cri_points *s, int e, int f) {
    for (int a = s->slot_first[e]; a < s->slot_first[e + 1]; a++) {
        for (int b = s->slot_first[f]; b < s->slot_first[f + 1]; b++) {
            if (s->block_of[s->slot_point[a]] == s->block_of[s->slot_point[b]]) {
                return true;
            }
        }
    }
    return false;
}

// terms of S_ef at entry; NULL counts them
static int list_terms(const cri_points *s, int e, int f, int entry, cri_tie_term *term) {
    int n = 0;
    for (int a = s->slot_first[e]; a < s->slot_first[e + 1]; a++) {
        for (int b = s->slot_first[f]; b < s->slot_first[f + 1]; b++) {
            int i = s->slot_point[a], j = s->slot_point[b], k = s->block_of[i];
            if (k != s->block_of[j]) {
                continue;
            }
            const cri_mass_block *m = &s->block[k];
            if (term) {
                term[n] =
                    (cri_tie_term){entry, a, b, m->entry + (i - m->first) * m->n + (j - m->first)};
            }
            n++;
        }
    }
    return n;
}

static int walk_terms(const cri_points *s, cri_tie_term *term) {
    int n = 0;
    const int *place = s->fill.place;
    for (int e = 0; e < s->n_tie; e++) {
        for (int at = s->pattern.first[e]; at < s->pattern.first[e + 1]; at++) {
            int f = s->pattern.index[at];
            // the factor reads one triangle
            n += place[f] <= place[e] ? list_terms(s, e, f, at, term ? term + n : NULL) : 0;
        }
    }
    return n;
}

static bool push_pattern(cri_points *s, cr_arena *arena) {
    int n = s->n_tie, n_entry = 0;
    if (n == 0) {
        return true;
    }
    int *first = CR_PUSH(arena, int, n + 1);
    for (int e = 0; first && e < n; e++) {
        for (int f = 0; f < n; f++) {
            n_entry += share_block(s, e, f);
        }
        first[e + 1] = n_entry;
    }
    int *index = CR_PUSH(arena, int, n_entry);
    if (!first || !index) {
        return false;
    }
    for (int e = 0, at = 0; e < n; e++) {
        for (int f = 0; f < n; f++) {
            if (share_block(s, e, f)) {
                index[at++] = f;
            }
        }
    }
    s->pattern = (cri_pattern){.n = n, .first = first, .index = index};
    int n_most = n * (n - 1) / 2;
    if (!cri_arena_reserve(arena, cri_fill_bytes(n, n_entry, n_most)) ||
        !cri_fill_find(&s->pattern, NULL, n_most, &s->fill, arena)) {
        return false;
    }
    s->n_term = walk_terms(s, NULL);
    cri_tie_term *term = CR_PUSH(arena, cri_tie_term, s->n_term);
    s->term = term;
    return term && walk_terms(s, term) == s->n_term;
}

static bool push_springs(const cri_points_def *def, cri_points *s, cr_arena *arena) {
    cri_spring *spring = CR_PUSH(arena, cri_spring, def->n_spring + 1);
    for (int k = 0; spring && k < def->n_spring; k++) {
        spring[k] = def->spring[k];
        CR_ASSERT(spring[k].to >= 0 && spring[k].to < s->n_point && spring[k].from < s->n_point);
    }
    s->n_spring = def->n_spring;
    s->spring = spring;
    return spring != NULL;
}

bool cri_points_build(const cri_points_def *def, cri_points *out, cr_arena *arena) {
    CR_ASSERT(def && (def->d == 2 || def->d == 3) && def->n_block > 0 && out && arena);
    cri_points s = {.d = def->d, .n_block = def->n_block};
    if (!push_blocks(def, &s, arena) || !push_ties(def, &s, arena) || !push_groups(&s, arena) ||
        !push_pattern(&s, arena) || !push_springs(def, &s, arena)) {
        return false;
    }
    s.i_lam = s.n_block;
    s.i_gravity = s.i_lam + s.n_lam;
    s.i_stiffness = s.i_gravity + s.d;
    s.n_param = s.i_stiffness + (s.n_spring > 0);
    *out = s;
    return true;
}

// ---- masses ------------------------------------------------------------------------------------

void cri_points_masses(const cri_points *s, const double *p, double *minv) {
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        double m = p[s->i_mass + k];
        CR_ASSERT(m > 0.0);
        for (int a = 0; a < b->n * b->n; a++) {
            minv[b->entry + a] = 1.0 / m;
        }
        for (int a = 1; a < b->n; a++) {
            double lam = p[s->i_lam + b->lam + a - 1];
            CR_ASSERT(lam > 0.0);
            minv[b->entry + a * (b->n + 1)] += 1.0 / (m * lam);
        }
    }
}

void cri_points_masses_vjp(const cri_points *s, const double *p, const double *minv_adj,
                           double *p_adj) {
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        const double *G = minv_adj + b->entry;
        double m = p[s->i_mass + k], sum = 0.0;
        // Minv_aa += 1/(m lam_a)
        for (int a = 1; a < b->n; a++) {
            double lam = p[s->i_lam + b->lam + a - 1], g = G[a * (b->n + 1)] / lam;
            sum += g;
            p_adj[s->i_lam + b->lam + a - 1] -= g / (m * lam);
        }
        // Minv_ab = 1/m
        for (int a = 0; a < b->n * b->n; a++) {
            sum += G[a];
        }
        p_adj[s->i_mass + k] -= sum / (m * m);
    }
}

void cri_points_masses_jvp(const cri_points *s, const double *p, const double *p_tan,
                           double *minv_tan) {
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        double m = p[s->i_mass + k], m_tan = p_tan[s->i_mass + k];
        for (int a = 0; a < b->n * b->n; a++) {
            minv_tan[b->entry + a] = -m_tan / (m * m);
        }
        for (int a = 1; a < b->n; a++) {
            int at = s->i_lam + b->lam + a - 1;
            double lam = p[at];
            minv_tan[b->entry + a * (b->n + 1)] -= (m_tan / m + p_tan[at] / lam) / (m * lam);
        }
    }
}

double cri_points_kinetic(const cri_points *s, const double *p, const double *v) {
    double sum = 0.0;
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        const double *v0 = v + b->first * s->d;
        double T = 0.0;
        for (int c = 0; c < s->d; c++) {
            T += v0[c] * v0[c];
            for (int a = 1; a < b->n; a++) {
                double rate = v0[a * s->d + c] - v0[c];
                T += p[s->i_lam + b->lam + a - 1] * rate * rate;
            }
        }
        sum += 0.5 * p[s->i_mass + k] * T;
    }
    return sum;
}

// blocks of one point each: long ropes spend their time here
static void times_points(const cri_points *s, const double *minv, const double *y, double *out) {
    for (int k = 0; k < s->n_point; k++) {
        for (int c = 0; c < s->d; c++) {
            *out++ = 0.0 + minv[k] * *y++; // never -0, as a sum
        }
    }
}

void cri_minv_times(const cri_points *s, const double *minv, const double *y, double *out) {
    if (s->n_minv == s->n_point) {
        times_points(s, minv, y, out);
        return;
    }
    int d = s->d;
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        for (int a = 0; a < b->n; a++) {
            const double *row = minv + b->entry + a * b->n;
            for (int c = 0; c < d; c++) {
                double sum = 0.0;
                for (int j = 0; j < b->n; j++) {
                    sum += row[j] * y[(b->first + j) * d + c];
                }
                out[(b->first + a) * d + c] = sum;
            }
        }
    }
}

void cri_minv_add_outer(const cri_points *s, const double *left, const double *right,
                        double *minv_adj) {
    int d = s->d;
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        for (int a = 0; a < b->n; a++) {
            for (int j = 0; j < b->n; j++) {
                const double *l = left + (b->first + a) * d, *r = right + (b->first + j) * d;
                double sum = l[0] * r[0] + l[1] * r[1] + (d > 2 ? l[2] * r[2] : 0.0);
                minv_adj[b->entry + a * b->n + j] += sum;
            }
        }
    }
}
