// SPDX-License-Identifier: MIT
//
// Friction that differs along the two tangents: maximum dissipation in an ellipse. N = diag(mu1,
// mu2), u_t the slip,
//
//   f_t = -f_n N^2 u_t / |N u_t|
//
// With m = max(mu1, mu2), S = N/m and g the impulse in the cone of width m,
//
//   f_t = S g_t,   g_t = -m f_n (S u_t) / |S u_t|
//
// So a law that knows one coefficient serves: the tangential rows of the contact Jacobian are
// multiplied by S before A and b are formed. A frictionless direction has an empty row. For mu1 =
// mu2 = 0 the rows stay as they are, S = 1.
//
// Only m S counts: f is the same for (c m, S/c). So at mu1 = mu2, where the maximum has a kink,
//
//   m m_adj = s1 s1_adj + s2 s2_adj,   mu_r_adj = s_r_adj / m whichever is called the larger
//
// and there is none in f; but a law that adds to the diagonal of A notices. At mu1 = mu2 = 0 the
// derivative returned is that of both together, half to each.

#include "contact/ellipse.h"

#include "base/base.h"

cri_ellipse cri_ellipse_of(double mu1, double mu2) {
    CR_ASSERT(mu1 >= 0.0 && mu2 >= 0.0);
    if (mu1 == 0.0 && mu2 == 0.0) {
        return (cri_ellipse){0.0, {1.0, 1.0, 1.0}, -1};
    }
    return mu1 >= mu2 ? (cri_ellipse){mu1, {1.0, 1.0, mu2 / mu1}, 0}
                      : (cri_ellipse){mu2, {1.0, mu1 / mu2, 1.0}, 1};
}

void cri_ellipse_of_vjp(const cri_ellipse *e, const cri_ellipse *adj, double *mu1_adj,
                        double *mu2_adj) {
    CR_ASSERT(e && adj && mu1_adj && mu2_adj);
    if (e->larger < 0) {
        *mu1_adj += 0.5 * adj->size;
        *mu2_adj += 0.5 * adj->size;
        return;
    }
    // size = larger mu, scale = smaller mu / size
    int smaller = 1 - e->larger;
    double scale_adj = adj->scale[1 + smaller] / e->size;
    double size_adj = adj->size - scale_adj * e->scale[1 + smaller];
    *mu1_adj += e->larger == 0 ? size_adj : scale_adj;
    *mu2_adj += e->larger == 0 ? scale_adj : size_adj;
}

cri_ellipse cri_ellipse_of_jvp(const cri_ellipse *e, double mu1_tan, double mu2_tan) {
    CR_ASSERT(e);
    if (e->larger < 0) {
        return (cri_ellipse){.size = 0.5 * (mu1_tan + mu2_tan)};
    }
    cri_ellipse tan = {.size = e->larger == 0 ? mu1_tan : mu2_tan};
    int smaller = 1 - e->larger;
    double mu_tan = e->larger == 0 ? mu2_tan : mu1_tan;
    tan.scale[1 + smaller] = (mu_tan - e->scale[1 + smaller] * tan.size) / e->size;
    return tan;
}
