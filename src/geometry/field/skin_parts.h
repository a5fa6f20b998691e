// SPDX-License-Identifier: MIT
//
// What the files skin*.c share.

#pragma once

#include "geometry/field/skin.h"
#include "geometry/mesh/triangle_min.h"

#include <math.h>

/// A point on a triangle of the owner, seen from both fields.
typedef struct cri_skin_spot {
    int owner, face;
    double weight[3];
    cri_vec3 v[3]; // corners in the owner's frame
    cri_vec3 P[3]; // in the world
    cri_vec3 V[3]; // in the other's frame
    cri_vec3 p;    // the point in the world
    cri_vec3 x, y; // in the owner's and in the other's frame
} cri_skin_spot;

cri_skin_spot cri_skin_spot_of(const cri_skin skin[2], const cri_pose pose[2], int owner, int face,
                               const double weight[3]);

/// Normal, gap and points of a touch with the spot's point. own: the owner's field has the normal.
void cri_skin_touch_fill(const cri_skin skin[2], const cri_pose pose[2], const cri_skin_spot *spot,
                         bool own, const cri_field_value *other, cri_narrow_touch *touch);

/// Of touches in scratch order: clusters by normal, outlines, at most n_most. Returns how many.
int cri_skin_reduce(int n, cri_narrow_touch *pool, double margin, double scale, int n_most,
                    cri_narrow_touch *touch, cr_arena *scratch);

/// A triangle in the plane z = 0 around a point, whose corners are size away from it.
void cri_skin_plane_triangle(double x, double y, double size, cri_vec3 corner[3]);

/// The lowest point of the other's field on the half-space that is skin o, from its point (x, y):
/// fills all of touch but its id. False when there is none nearby that is a smooth minimum.
bool cri_skin_plane_find(const cri_skin skin[2], const cri_pose pose[2], int o, double x, double y,
                         cri_narrow_touch *touch);

/// Puts lowest points of the field in the place of vertices, for touches of a half-space and a skin
/// whose field is smooth. Returns how many of the n touches are left.
int cri_skin_plane_polish(const cri_skin skin[2], const cri_pose pose[2], int n,
                          cri_narrow_touch *touch);

/// a in the frame of a pose, and a point there.
static inline cri_vec3 cri_pose_into(const cri_pose *pose, cri_vec3 x) {
    return cri_m3_tmul(&pose->R, cri_v3_sub(x, pose->pos));
}

static inline cri_vec3 cri_pose_out(const cri_pose *pose, cri_vec3 x) {
    return cri_v3_add(pose->pos, cri_m3_mul(&pose->R, x));
}

/// The frame of one pose seen from another.
static inline cri_pose cri_pose_between(const cri_pose *owner, const cri_pose *other) {
    cri_pose out = {.pos = cri_pose_into(other, owner->pos)};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            double sum = 0.0;
            for (int l = 0; l < 3; l++) {
                sum += other->R.m[3 * l + i] * owner->R.m[3 * l + k];
            }
            out.R.m[3 * i + k] = sum;
        }
    }
    return out;
}

/// How much a field bends: |tr H|.
static inline double cri_bend_of(const double H[6]) {
    return fabs(H[0] + H[1] + H[2]);
}

/// A piece of a triangle by the weights w of its corners: its middle, a radius around it, and its
/// longest side, from corner side to the next.
typedef struct cri_skin_cut {
    double mid[3], radius;
    cri_vec3 centre;
    int side;
} cri_skin_cut;

void cri_skin_cut_of(const cri_vec3 V[3], const double w[3][3], cri_skin_cut *c);

/// The weights of a half, 0 or 1.
void cri_skin_half_of(const double w[3][3], const cri_skin_cut *c, int which, double part[3][3]);

enum { CRI_SKIN_PIECES_DEEP = 24, CRI_SKIN_STARTS = 8 };

/// A piece of a triangle where a search may begin.
typedef struct cri_skin_start {
    double phi, radius, mid[3];
    cri_vec3 centre;
} cri_skin_start;

/// The lowest of them, each well apart from the others.
typedef struct cri_skin_starts {
    int n;
    cri_skin_start of[CRI_SKIN_STARTS];
} cri_skin_starts;

/// A triangle V in a field of that slope; pieces are cut down to radius, and those matter that may
/// be below least.
typedef struct cri_skin_piece_rule {
    const cri_field *field;
    const cri_vec3 *V;
    double slope, radius, least;
} cri_skin_piece_rule;

/// Adds the pieces of the piece w where a search may begin: such a triangle may have its lowest
/// point anywhere.
void cri_skin_starts_find(const cri_skin_piece_rule *rule, const double w[3][3], int depth,
                          cri_skin_starts *out);

/// Is it a net? Those are quick for many points at once alone.
bool cri_field_is_slow(const cri_field *field);

/// A tree placed in a field of that slope, and a value; large is the longest side of a triangle
/// that is not cut into pieces.
typedef struct cri_skin_below_rule {
    const cri_field *field;
    const cri_tri_tree *tree;
    const cri_pose *place;
    double slope, bound, large;
} cri_skin_below_rule;

/// Triangles of the tree that may have a point with phi < bound: into *face, that with the lowest
/// corner first. Returns how many, -1 when scratch has no memory; the caller rewinds it. It needs
/// no more than cri_skins_scratch_bytes.
int cri_skin_below(const cri_skin_below_rule *rule, cr_arena *scratch, int **face);
