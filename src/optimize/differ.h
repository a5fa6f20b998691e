// SPDX-License-Identifier: MIT
//
// Where theory says that contact laws differ, or that they cannot, on a run that was compared.
//
// Each sentence has a condition on the contacts of the run (optimize/compare.h) and gives
// what was measured. Theory is about properties of laws, such as is_lifting (contact/law.h); what a
// property makes of the motion is the distance of two laws that differ in nothing else.

#pragma once

#include "optimize/compare.h"

typedef enum cri_differ_kind {
    CRI_DIFFER_NOTHING,     // no contact: they cannot
    CRI_DIFFER_SMOOTH,      // single contacts without friction: the rigid ones must agree
    CRI_DIFFER_STICK,       // nothing slid or bounced: no property of a rigid law came into play
    CRI_DIFFER_LIFT,        // something slid
    CRI_DIFFER_OCTAGON,     // and not along a corner
    CRI_DIFFER_CORNER,      // and always along one
    CRI_DIFFER_RESTITUTION, // an impact with e > 0, and friction or neighbours
    CRI_DIFFER_SOFT,        // a contact that a regularised law softens
    CRI_DIFFER_ENERGY,      // energy grew
    CRI_DIFFER_AVERAGED,    // several impacts at once, gradients are averages
    CRI_DIFFER_END,         // impacts at the end of a step, gradients are those of that map
    CRI_DIFFER_OWN,         // a law that is a step of its own
} cri_differ_kind;

enum { CRI_DIFFER_LIMIT = 24 };

typedef struct cri_differ_sentence {
    cri_differ_kind kind;
    char text[480];
} cri_differ_sentence;

typedef struct cri_differ {
    int n;
    cri_differ_sentence sentence[CRI_DIFFER_LIMIT];
} cri_differ;

/// One word for a kind, such as "lift".
const char *cri_differ_word(cri_differ_kind kind);

/// The sentences of a comparison made with this stepper.
void cri_differ_tell(const cr_model *model, const cri_compare *compare, const char *stepper,
                     cri_differ *out);
