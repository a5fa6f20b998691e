// SPDX-License-Identifier: MIT
//
// Does an impulse obey its law? Judged from the raw data alone, by code that shares nothing with
// the solvers, in long double.

#pragma once

#include "contact/law.h"

/// The worst contact of a problem.
typedef struct cri_certificate {
    double residual; // miss by tolerance: at most 1 is solved; infinite when f is not finite
    double strict;   // largest miss by the tolerance without its absolute terms
    int contact;
    int phase; // 0, or 1 for restitution
} cri_certificate;

/// What an impulse is worth.
typedef enum cri_verdict {
    CRI_SOLVED,   // to 1e-10, relative
    CRI_LOOSELY,  // to 1e-6
    CRI_UNSOLVED, // worse
} cri_verdict;

/// True for laws that can be certified.
bool cri_certificate_knows(const char *law);

/// Judges f (3n), with compression (3n) and shift (n) as the law reports them, NULL without.
cri_certificate cri_certificate_of(const char *law, const cri_contact_problem *problem,
                                   const double *f, const double *compression, const double *shift);

cri_verdict cri_certificate_verdict(const cri_certificate *c);

/// A cold solve of a problem and its judgement.
typedef struct cri_trial {
    cri_verdict verdict;
    cri_certificate certificate;
    cri_law_report report;
    const double *f; // (3n), in keep
} cri_trial;

/// Solves from nothing, without what derivatives need. False when there is no memory.
bool cri_trial_run(const cri_law *law, const cri_contact_problem *problem, cri_trial *out,
                   cr_arena *keep, cr_arena *scratch);

/// Nearest point that the law's projection gives to z, for one contact: the tests prove it.
void cri_certificate_project(const char *law, const long double z[3], double mu, long double l,
                             long double p[3]);
