// SPDX-License-Identifier: MIT
//
// What values an unknown may take.

#pragma once

#include <math.h>
#include <stdbool.h>

/// lower <= z <= upper, strictly above lower when is_open. Infinite: no bound.
typedef struct cri_domain {
    double lower;
    double upper;
    bool is_open;
} cri_domain;

/// The value nearest to to that may follow from. An open bound is approached by at most nine tenths
/// of the way, so that it is never reached.
static inline double cri_domain_clamp(const cri_domain *domain, double from, double to) {
    double lower = domain->is_open ? domain->lower + 0.1 * (from - domain->lower) : domain->lower;
    return fmin(fmax(to, lower), domain->upper);
}

/// True when z lies on a closed bound and a fall along -slope would leave the domain.
static inline bool cri_domain_blocks(const cri_domain *domain, double z, double slope) {
    bool is_low = !domain->is_open && z <= domain->lower && slope > 0.0;
    bool is_high = z >= domain->upper && slope < 0.0;
    return is_low || is_high;
}
