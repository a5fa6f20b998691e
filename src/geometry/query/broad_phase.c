// SPDX-License-Identifier: MIT
//
// Pairs of overlapping boxes by a tree of bounding boxes.
//
// The boxes are halved again and again at the median of their centres, along the axis on which the
// centres spread most; a node bounds all boxes below it. Pairs are those within the left half,
// those within the right half, and those across:
//
//   within(node)  = within(left), within(right), across(left, right)
//   across(a, b)  = nothing when their bounds are apart, else across(children of the larger, other)
//
// Halving at the median keeps the depth at log2 n whatever the sizes are, and for scattered boxes
// across() stops after the few nodes near the border, so that O(n log n) comparisons do. A node
// whose boxes are all of one group is not searched against that group. Boxes without a finite
// centre (planes) stay outside and are searched one by one against the tree and against each other.
//
// Nodes lie in the order of a walk that visits the node, its left half, its right half: a node over
// m boxes has 2m - 1 entries, its left child follows it, its right child follows that one's
// entries.

#include "geometry/query/broad_phase.h"

#include <math.h>

#include "base/base.h"

typedef struct node {
    cri_box3 box;
    int group; // of all boxes below, -1 when they differ
} node;

// a node with the range of boxes it stands for
typedef struct subtree {
    int at;    // node
    int first; // in order
    int n;
} subtree;

typedef struct search {
    const cri_box3 *box;
    const int *group;
    cri_box_pair *pair;
    void *context;
    long long n_test;
    int n_bounded;  // the boxes in the tree; the others stand behind them
    int *order;     // (n) boxes, those of a node next to each other
    double *centre; // (n, 3) twice the centres
    node *nodes;    // (2 n_bounded - 1)
} search;

static subtree left_of(subtree t) {
    return (subtree){t.at + 1, t.first, t.n / 2};
}

static subtree right_of(subtree t) {
    int n_left = t.n / 2;
    return (subtree){t.at + 2 * n_left, t.first + n_left, t.n - n_left};
}

// ---- tree --------------------------------------------------------------------------------------

// without fmin's and fmax's care for NaN, which no box in the tree has
static double smaller(double a, double b) {
    return a < b ? a : b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

// by centre, equal ones by index
static bool is_before(const search *s, int axis, int i, int j) {
    double a = s->centre[3 * i + axis];
    double b = s->centre[3 * j + axis];
    return a < b || (a == b && i < j);
}

static int median_of_three(const search *s, int axis, int i, int j, int k) {
    if (is_before(s, axis, i, j) != is_before(s, axis, i, k)) {
        return i;
    }
    return is_before(s, axis, j, i) != is_before(s, axis, j, k) ? j : k;
}

// reorders the range until the first n_left boxes come before the others
static void halve(search *s, int axis, int first, int last, int n_left) {
    int *order = s->order;
    int border = first + n_left;
    while (last - first > 1) {
        int pivot = median_of_three(s, axis, order[first], order[first + (last - first) / 2],
                                    order[last - 1]);
        int i = first;
        int j = last - 1;
        while (i <= j) {
            while (is_before(s, axis, order[i], pivot)) {
                i++;
            }
            while (is_before(s, axis, pivot, order[j])) {
                j--;
            }
            if (i <= j) {
                int swapped = order[i];
                order[i++] = order[j];
                order[j--] = swapped;
            }
        }
        // the boxes between j and i are where they belong
        if (border <= j) {
            last = j + 1;
        } else if (border >= i) {
            first = i;
        } else {
            return;
        }
    }
}

static int widest_axis(const search *s, subtree t) {
    int widest = 0;
    double most = -1.0;
    for (int axis = 0; axis < 3; axis++) {
        double lower = INFINITY;
        double upper = -INFINITY;
        for (int k = t.first; k < t.first + t.n; k++) {
            double c = s->centre[3 * s->order[k] + axis];
            lower = smaller(lower, c);
            upper = larger(upper, c);
        }
        if (upper - lower > most) {
            most = upper - lower;
            widest = axis;
        }
    }
    return widest;
}

static void build(search *s, subtree t) {
    node *out = &s->nodes[t.at];
    if (t.n == 1) {
        int i = s->order[t.first];
        *out = (node){s->box[i], s->group && s->group[i] >= 0 ? s->group[i] : -1};
        return;
    }
    halve(s, widest_axis(s, t), t.first, t.first + t.n, t.n / 2);
    build(s, left_of(t));
    build(s, right_of(t));
    const node *left = &s->nodes[left_of(t).at];
    const node *right = &s->nodes[right_of(t).at];
    for (int axis = 0; axis < 3; axis++) {
        out->box.lower[axis] = smaller(left->box.lower[axis], right->box.lower[axis]);
        out->box.upper[axis] = larger(left->box.upper[axis], right->box.upper[axis]);
    }
    out->group = left->group == right->group ? left->group : -1;
}

// ---- search ------------------------------------------------------------------------------------

static bool can_meet(search *s, const cri_box3 *a, const cri_box3 *b) {
    s->n_test++;
    return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] &&
           b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

static bool report(search *s, int i, int j) {
    return i < j ? s->pair(s->context, i, j) : s->pair(s->context, j, i);
}

static bool is_same_group(int a, int b) {
    return a >= 0 && a == b;
}

static bool across(search *s, subtree a, subtree b) {
    const node *node_a = &s->nodes[a.at];
    const node *node_b = &s->nodes[b.at];
    if (is_same_group(node_a->group, node_b->group) || !can_meet(s, &node_a->box, &node_b->box)) {
        return true;
    }
    if (a.n == 1 && b.n == 1) {
        return report(s, s->order[a.first], s->order[b.first]);
    }
    if (a.n >= b.n) {
        return across(s, left_of(a), b) && across(s, right_of(a), b);
    }
    return across(s, a, left_of(b)) && across(s, a, right_of(b));
}

static bool within(search *s, subtree t) {
    if (t.n == 1 || s->nodes[t.at].group >= 0) {
        return true;
    }
    return within(s, left_of(t)) && within(s, right_of(t)) && across(s, left_of(t), right_of(t));
}

// box i, which is not in the tree, against those that are
static bool against(search *s, int i, int group, subtree t) {
    const node *other = &s->nodes[t.at];
    if (is_same_group(group, other->group) || !can_meet(s, &s->box[i], &other->box)) {
        return true;
    }
    if (t.n == 1) {
        return report(s, i, s->order[t.first]);
    }
    return against(s, i, group, left_of(t)) && against(s, i, group, right_of(t));
}

// pairs with a box outside the tree
static bool search_unbounded(search *s, int n) {
    for (int a = s->n_bounded; a < n; a++) {
        int i = s->order[a];
        int group = s->group ? s->group[i] : -1;
        if (s->n_bounded > 0 && !against(s, i, group, (subtree){0, 0, s->n_bounded})) {
            return false;
        }
        for (int b = a + 1; b < n; b++) {
            int j = s->order[b];
            bool is_wanted = !s->group || !is_same_group(group, s->group[j]);
            if (is_wanted && can_meet(s, &s->box[i], &s->box[j]) && !report(s, i, j)) {
                return false;
            }
        }
    }
    return true;
}

// ---- the whole ---------------------------------------------------------------------------------

// fills order: boxes with a finite centre, then the others
static void set_apart(search *s, int n) {
    int n_unbounded = 0;
    for (int i = 0; i < n; i++) {
        double *c = s->centre + 3 * i;
        for (int axis = 0; axis < 3; axis++) {
            c[axis] = s->box[i].lower[axis] + s->box[i].upper[axis];
        }
        if (cri_all_finite(3, c)) {
            s->order[s->n_bounded++] = i;
        } else {
            s->order[n - ++n_unbounded] = i;
        }
    }
}

bool cri_broad_phase_counted(int n, const cri_box3 *box, const int *group, cri_box_pair *pair,
                             void *context, cr_arena *scratch, long long *n_test) {
    CR_ASSERT(n >= 0 && (box || n == 0) && pair);
    if (n < 2) {
        return true;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    search s = {.box = box, .group = group, .pair = pair, .context = context};
    s.order = CR_PUSH_RAW(scratch, int, n);
    s.centre = CR_PUSH_RAW(scratch, double, 3 * (size_t)n);
    s.nodes = CR_PUSH_RAW(scratch, node, 2 * (size_t)n - 1);
    bool is_done = s.order && s.centre && s.nodes;
    if (is_done) {
        set_apart(&s, n);
        subtree all = {0, 0, s.n_bounded};
        if (s.n_bounded > 0) {
            build(&s, all);
        }
        is_done = (s.n_bounded == 0 || within(&s, all)) && search_unbounded(&s, n);
    }
    if (n_test) {
        *n_test += s.n_test;
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}

bool cri_broad_phase(int n, const cri_box3 *box, const int *group, cri_box_pair *pair,
                     void *context, cr_arena *scratch) {
    return cri_broad_phase_counted(n, box, group, pair, context, scratch, NULL);
}

size_t cri_broad_phase_bytes(int n) {
    CR_ASSERT(n >= 0);
    // three pushes, of at most 32 bytes each beside their contents
    return 96 + (size_t)n * (sizeof(int) + 3 * sizeof(double) + 2 * sizeof(node));
}
