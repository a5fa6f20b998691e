// SPDX-License-Identifier: MIT
//
// Triangle meshes from OBJ and STL files.
//
// Lengths are those of the file. Vertices at the same place are one vertex, polygons are fans of
// triangles, and triangles that use a vertex twice are dropped. The name decides the format: .obj
// or .stl in any case.

#pragma once

#include "base/arena.h"
#include "base/base.h"

/// A file of more triangles than these is refused before it is read: simplify it.
enum { CRI_MESH_MOST = 1000000 };

/// A mesh as read. Arrays live in the arena that was given.
typedef struct cri_mesh_data {
    int n_vertex;
    int n_face;     // 0: the file has points only (OBJ)
    double *vertex; // (n_vertex, 3) finite
    int *face;      // (n_face, 3) counterclockwise from outside, as the file has them
} cri_mesh_data;

/// Reads a file. On failure the outputs are 0 and NULL, and err names file, line or byte, and what
/// would help.
CR_MUST_CHECK cr_status cri_mesh_read(const char *path, cr_arena *arena, int *n_vertex,
                                      double **vertex, int *n_face, int **face, cr_error *err);

// for tests

/// As cri_mesh_read, from memory. name stands in messages, and its end says which format it is.
CR_MUST_CHECK cr_status cri_mesh_parse(const char *text, size_t n_byte, const char *name,
                                       cr_arena *arena, cri_mesh_data *out, cr_error *err);
