// SPDX-License-Identifier: MIT
//
// Trained models as HDF5 files, and back as models that simulate.
//
//     texts     system, model, bodies and contacts (names with commas between), activation,
//               projection, shape (point or angle)
//     arrays    dt, x0, mass, home, length, damping; touch/body (n_contact, 2), touch/normal
//               (n_contact, n_dim), touch/restitution, touch/offset; nets under potential/, rate/
//               and contact/

#pragma once

#include "points/learn/learner.h"

CR_MUST_CHECK cr_status cri_learner_write(const char *path, const cri_learner *learner,
                                          const double *p, cr_error *err);

/// The model in the bytes of a file, which stands in messages.
CR_MUST_CHECK cr_status cri_learner_read(const char *bytes, size_t n_byte, const char *file,
                                         cr_model **out, cr_error *err);
