// SPDX-License-Identifier: MIT
//
// The potential of a learned model (DCS, paper 000): a net V(x; w) on all coordinates, of which
// motion sees the gradient alone. The adjoint of the gradient is that of nn/mlp.h.

#include "dynamics/points_net.h"

#include "base/base.h"

#include <string.h>

bool cri_net_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *g, const void **cache, cr_arena *keep) {
    const cri_mlp *net = self->context;
    size_t n = (size_t)B * (size_t)net->width[0];
    cri_mlp_cache *c = CR_PUSH(keep, cri_mlp_cache, 1);
    double *kept = CR_PUSH_RAW(keep, double, n);
    if (!c || !kept) {
        return false;
    }
    // the net borrows its input
    memcpy(kept, x, sizeof *x * n);
    *cache = c;
    return cri_mlp_gradient(net, p + self->first, B, kept, NULL, g, c, keep);
}

void cri_net_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *u, double *x_adj, double *p_adj, cr_arena *scratch) {
    (void)B;
    bool has_room = cri_mlp_gradient_vjp(self->context, p + self->first, cache, NULL, u, x_adj,
                                         p_adj + self->first, scratch);
    CR_ASSERT(has_room); // n_byte has been reserved
}

// pairs of every layer, one more of the widest, and what a single layer asks for
static size_t net_bytes(const cri_points_potential *self, int B) {
    const cri_mlp *net = self->context;
    size_t sum = 0, most = 0;
    for (int l = 0; l <= net->n_layer; l++) {
        size_t n = (size_t)net->width[l];
        sum += n;
        most = n > most ? n : most;
    }
    return sizeof(double) * (6 * (size_t)B * sum + ((size_t)net->width[0] + 2) * (most + 8)) + 8192;
}

cri_points_potential cri_points_net(const cri_mlp *net) {
    CR_ASSERT(net && net->width[net->n_layer] == 1 && net->act != CRI_ACT_RELU);
    return (cri_points_potential){.context = net,
                                  .n_param = cri_mlp_n_weight(net),
                                  .n_byte = net_bytes,
                                  .grad = cri_net_grad,
                                  .grad_vjp = cri_net_grad_vjp};
}
