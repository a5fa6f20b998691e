// SPDX-License-Identifier: MIT
//
// Laws of nets take the patch of a body in a plane by its two ends (contact/ground.h): what lies
// between them, or beside them along the hinge's axis, follows and would add nothing but rows. So
// the cost of a solve does not depend on how many touches there are.

#include "contact/jump.h"

#include "base/base.h"
#include "model/ground_nets.h"

#include <math.h>

// m, along the surface
static const double one_place = 1e-6;

int cri_jump_thin(const cri_world *world, int n, cri_contact_ref *ref) {
    CR_ASSERT(n > 0 && ref);
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || nets->is_spatial || nets->has_other) {
        return n;
    }
    double least = INFINITY, most = -INFINITY;
    int first = 0, last = 0;
    for (int i = 0; i < n; i++) {
        const cri_near *near = ref[i].near;
        if (near->body[1] != nets->body_index || near->unit[0] >= 0) {
            // something else touches as well: the law sees all of it
            return n;
        }
        double at = cri_v3_dot(nets->along, ref[i].touch->point[1]);
        first = at < least ? i : first;
        last = at > most ? i : last;
        least = fmin(least, at);
        most = fmax(most, at);
    }
    cri_contact_ref end[2] = {ref[first], ref[last]};
    ref[0] = end[0];
    if (most - least <= one_place) {
        return 1;
    }
    ref[1] = end[1];
    return 2;
}
