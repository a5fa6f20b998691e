// SPDX-License-Identifier: MIT
//
// The cube of marching cubes. Private to the files of this folder.

#pragma once

/// Edges of the triangles for each pattern of corners inside, three each, -1 behind the last.
/// Corner c has x, y, z in its bits 0, 1, 2; edge e runs along axis e/4.
extern const signed char cri_cube_table[256][16];
