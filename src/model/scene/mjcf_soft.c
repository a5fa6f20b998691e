// SPDX-License-Identifier: MIT
//
// How soft contacts and limits of an MJCF scene are: solref, solimp and solmix, which the law soft
// alone reads (energy/soft.h).

#include "model/scene/mjcf_parts.h"

#include <stdio.h>

// MuJoCo's own defaults, which a shorter list leaves
static const cri_softness usual = {.ref = {0.02, 1.0}, .imp = {0.9, 0.95, 0.001, 0.5, 2.0}};

// says once that other laws do not read it
static void warn(cri_mjcf *m, const cri_mjcf_elem *e, const char *name, bool is_limit) {
    const cri_xml_node *from = e->node;
    (void)cri_mjcf_get(e, name, &from);
    cri_mjcf_warn(m, is_limit ? CRI_MJCF_WARN_LIMIT : CRI_MJCF_WARN_SOFT, from,
                  "%s counts for the law soft alone: %s of the others are rigid", name,
                  is_limit ? "limits" : "contacts");
}

static cr_status check(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_softness *s) {
    // stiffness and damping are given as their negatives
    if ((s->ref[0] > 0.0) != (s->ref[1] > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "solref is %g %g, expected two positive numbers (time constant, "
                             "damping ratio) or two that are not (-stiffness, -damping)",
                             s->ref[0], s->ref[1]);
    }
    if (s->imp[2] < 0.0 || s->imp[4] < 1.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "solimp has width %g and power %g, expected 0 or more, 1 or more",
                             s->imp[2], s->imp[4]);
    }
    return CR_OK;
}

cr_status cri_mjcf_softness(cri_mjcf *m, const cri_mjcf_elem *e, bool is_limit, cri_softness *out) {
    const char *ref = is_limit ? "solreflimit" : "solref";
    const char *imp = is_limit ? "solimplimit" : "solimp";
    *out = usual;
    out->has_ref = cri_mjcf_get(e, ref, NULL) != NULL;
    out->has_imp = cri_mjcf_get(e, imp, NULL) != NULL;
    CR_TRY(cri_mjcf_numbers(m, e, ref, 1, 2, out->ref, NULL));
    CR_TRY(cri_mjcf_numbers(m, e, imp, 1, 5, out->imp, NULL));
    const char *found = out->has_ref ? ref : out->has_imp ? imp : NULL;
    if (!is_limit) {
        out->has_mix = cri_mjcf_get(e, "solmix", NULL) != NULL;
        CR_TRY(cri_mjcf_amount(m, e, "solmix", &out->mix));
        found = !found && out->has_mix ? "solmix" : found;
    }
    if (found) {
        warn(m, e, found, is_limit);
    }
    return check(m, e, out);
}

void cri_mjcf_warn_margin(cri_mjcf *m, const cri_mjcf_elem *e, int condim) {
    static const char *const words[] = {"margin", "gap", "solreffriction"};
    const char *found = condim > 3 ? "condim" : NULL;
    for (size_t k = 0; !found && k < sizeof words / sizeof words[0]; k++) {
        found = cri_mjcf_get(e, words[k], NULL) ? words[k] : NULL;
    }
    if (found) {
        const cri_xml_node *from = e->node;
        (void)cri_mjcf_get(e, found, &from);
        cri_mjcf_warn(m, CRI_MJCF_WARN_MARGIN, from,
                      "%s has no effect: contacts begin at touching, with sliding friction only",
                      found);
    }
}
