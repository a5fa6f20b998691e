// SPDX-License-Identifier: MIT
//
// Shapes and names of the nets of contact patches. A classifier has three outputs, a regressor one
// for each row of the reduced problem, and restitution where nets have learned it.

#include "model/ground_nets.h"

#include "base/base.h"

void cri_ground_nets_shape(int n_hidden, const int *width, cri_ground_nets *nets) {
    CR_ASSERT(n_hidden >= 1 && n_hidden <= CRI_GROUND_HIDDEN && width && nets);
    nets->n_weight = 0;
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        cri_ground_kind kind = (cri_ground_kind)(i / 2);
        cri_mlp *net = &nets->net[i];
        nets->first[i] = nets->n_weight;
        *net = (cri_mlp){0};
        if (!cri_ground_has_net(nets, i)) {
            continue;
        }
        *net = (cri_mlp){.n_layer = n_hidden + 1, .act = CRI_ACT_TANH};
        net->width[0] = cri_ground_all_inputs(kind, nets->has_applied, nets->has_place);
        for (int l = 0; l < n_hidden; l++) {
            CR_ASSERT(width[l] >= 1 && width[l] <= CRI_GROUND_WIDTH);
            net->width[l + 1] = width[l];
        }
        net->width[n_hidden + 1] =
            i % 2 == 0 ? CRI_GROUND_CLASSES : cri_ground_outputs(kind, nets->has_restitution);
        nets->n_weight += cri_mlp_n_weight(net);
    }
}

const char *cri_ground_kind_name(int kind) {
    static const char *const name[CRI_GROUND_KINDS] = {"point", "line", "point", "line", "surface"};
    CR_ASSERT(kind >= 0 && kind < CRI_GROUND_KINDS);
    return name[kind];
}

const char *cri_ground_net_name(int net) {
    static const char *const name[CRI_GROUND_NETS] = {
        "point/class",    "point/friction", "line/class",    "line/friction", "point/class",
        "point/friction", "line/class",     "line/friction", "surface/class", "surface/friction"};
    CR_ASSERT(net >= 0 && net < CRI_GROUND_NETS);
    return name[net];
}
