// SPDX-License-Identifier: MIT
//
// carom laws: the contact laws that --law takes.

#include "commands.h"

#include "contact/law.h"
#include "report/result.h"
#include "scene.h"
#include "text.h"

#include <stdio.h>

// more laws than there will be
#define LAW_LIMIT 64

// where the promises begin, below the summaries
#define INDENT 14

// the law of a kind of system, which no scene takes
static const cri_law_row of_systems[] = {
    {"restitution", "impulses of central-difference systems, which weight files hold",
     "Behind a touch the normal velocity is -e times that before it, the force of the step "
     "included; bodies share the impulse by their masses. Contacts act one after the other, again "
     "while a pair still approaches because its neighbour has acted. Momentum is kept to rounding, "
     "with e = 1 energy at the touch too. When to touch comes from gaps or from a net. No "
     "friction.",
     false, false, "central-difference"},
};

static void put_law(const cri_law_row *law) {
    printf("%-12s  %s\n", law->name, law->summary);
    cli_print_paragraph(INDENT, law->promise ? law->promise : "");
}

static int run(const cli_options *options) {
    cri_law_row row[LAW_LIMIT];
    int n = 0;
    // impulse laws, those with a step of their own, those made of nets
    static const cri_law *(*const table[])(int) = {cri_law_at, cri_law_stepped_at,
                                                   cri_law_learned_at};
    size_t kind = 0;
    for (int first = 0; n < LAW_LIMIT; n++) {
        const cri_law *law = table[kind](n - first);
        while (!law && ++kind < sizeof table / sizeof table[0]) {
            first = n;
            law = table[kind](0);
        }
        if (!law) {
            break;
        }
        row[n] = (cri_law_row){law->name,       law->summary,   law->promise,
                               law->needs_nets, law->is_energy, NULL};
        put_law(&row[n]);
    }
    for (size_t i = 0; i < sizeof of_systems / sizeof *of_systems && n < LAW_LIMIT; i++, n++) {
        row[n] = of_systems[i];
        put_law(&row[n]);
    }
    cr_error err = {0};
    if (options->json && cri_result_laws(options->json, n, row, &err) != CR_OK) {
        return cli_error(&err);
    }
    return CLI_DONE;
}

const cli_command cli_laws = {
    .name = "laws",
    .arguments = "",
    .summary = "the contact laws, and what each promises",
    .help = "  --json FILE           the list as JSON\n",
    .known = 0,
    .n_word_least = 0,
    .n_word_most = 0,
    .run = run,
};
