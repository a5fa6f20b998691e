// SPDX-License-Identifier: MIT
//
// Systems of points as weight files (base/io/hdf5_file.h), of system "points", and back as models
// that simulate.
//
//     texts    system "points", name (cp3, rope, ...), law, form (lagrange or hamilton)
//     points   of a rope, else 0             dt       s
//     x0       (n_x) a first state           value    (n) mass, lam, gravity, stiffness, friction,
//                                                     restitution, epsilon, as the scene has them
//     potential/...  its net; without one the potential is gravity and springs

#pragma once

#include "points/learn/points_task.h"

/// Writes a scene with the parameters p (n_p), whose potential is net, or the true one if that is
/// NULL. A rope says how many points it has itself.
CR_MUST_CHECK cr_status cri_points_file_write(const char *path, const cri_points_scene *scene,
                                              const cri_mlp *net, const double *p, cr_error *err);

/// A reader of weight files, see model/system_file.h.
CR_MUST_CHECK cr_status cri_points_file_read(const char *bytes, size_t n_byte, const char *file,
                                             cr_model **out, cr_error *err);
