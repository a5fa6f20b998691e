// SPDX-License-Identifier: MIT
//
// Trained models as HDF5 files, and back as models that simulate. Learners:
//
//     texts     system, model, bodies and contacts (names with commas between), activation,
//               projection, shape (point or angle)
//     arrays    dt, x0, mass, home, length, damping; touch/body (n_contact, 2), touch/normal
//               (n_contact, n_dim), touch/restitution, touch/offset; nets under potential/, rate/
//               and contact/
//
// Systems of points with contact:
//
//     texts     system "points", name (cp3, rope, ...), law, form (lagrange or hamilton)
//     points    of a rope, else 0            dt       s
//     x0        (n_x) a first state          value    (n) mass, lam, gravity, stiffness, friction,
//                                                     restitution, epsilon, as the scene has them
//     potential/...  its net; without one the potential is gravity and springs

#pragma once

#include "points/learn/learner.h"
#include "points/learn/points_train.h"

CR_MUST_CHECK cr_status cri_learner_write(const char *path, const cri_learner *learner,
                                          const double *p, cr_error *err);

/// Writes a scene with the parameters p (n_p), whose potential is net, or the true one if that is
/// NULL. A rope says how many points it has itself.
CR_MUST_CHECK cr_status cri_points_file_write(const char *path, const cri_points_scene *scene,
                                              const cri_mlp *net, const double *p, cr_error *err);
