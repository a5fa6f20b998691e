// SPDX-License-Identifier: MIT
//
// Random contact problems for tests and benchmarks of the laws: docs/laws/problems.md describes
// them. A family and a seed name a problem to the last bit.

#pragma once

#include "base/arena.h"
#include "contact/law.h"

#include <stdint.h>

typedef enum cri_family {
    CRI_FAMILY_SINGLE,    // one body, 1 to 3 contacts
    CRI_FAMILY_PATCH,     // a box on its four corners
    CRI_FAMILY_REDUNDANT, // 4 to 11 points of one face, some of them twice
    CRI_FAMILY_STACK,     // 2 to 8 boxes, four points a face
    CRI_FAMILY_PILE,      // 3 to 10 bodies, up to 40 contacts
    CRI_FAMILY_CHAIN,     // 2 to 6 bodies on ball joints, 1 to 3 contacts each
    CRI_FAMILY_WEDGE,     // one body between opposed walls
    CRI_FAMILY_LIMITS,    // contacts of one, two and three rows mixed
    CRI_N_FAMILY,
    CRI_FAMILY_NONE = -1, // of a problem from elsewhere
} cri_family;

/// Most contacts of a problem.
#define CRI_PROBLEM_CONTACTS 40

/// A problem and where it comes from. Its arrays live in the arena that it was made in.
typedef struct cri_problem {
    cri_contact_problem data;
    cri_family family;
    uint64_t seed;
    double mass_ratio; // heaviest to lightest body
} cri_problem;

/// "single" ...; "none" for CRI_FAMILY_NONE.
const char *cri_family_name(cri_family family);

/// CRI_FAMILY_NONE when there is none of that name.
cri_family cri_family_find(const char *name);

/// Makes the problem; its arrays stay in keep. Both arenas have room (cri_problem_bytes).
cri_problem cri_problem_make(cri_family family, uint64_t seed, cr_arena *keep, cr_arena *scratch);

/// Room that cri_problem_make needs in each arena.
size_t cri_problem_bytes(void);
