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

/// Law number i: impulse laws, those with a step of their own, those made of nets.
static const cri_law *law_at(int i) {
    static const cri_law *(*const table[])(int) = {cri_law_at, cri_law_stepped_at,
                                                   cri_law_learned_at};
    for (size_t kind = 0; kind < sizeof table / sizeof table[0]; kind++) {
        int n = 0;
        while (table[kind](n)) {
            n++;
        }
        if (i < n) {
            return table[kind](i);
        }
        i -= n;
    }
    return NULL;
}

const char *cli_law_name(int i) {
    int n = 0;
    for (; law_at(n); n++) {
        if (n == i) {
            return law_at(i)->name;
        }
    }
    bool is_of_system = i - n < (int)(sizeof of_systems / sizeof *of_systems);
    return is_of_system ? of_systems[i - n].name : NULL;
}

static int run(const cli_options *options) {
    cri_law_row row[LAW_LIMIT];
    int n = 0;
    for (; n < LAW_LIMIT && law_at(n); n++) {
        const cri_law *law = law_at(n);
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
    .known = CLI_JSON,
    .n_word_least = 0,
    .n_word_most = 0,
    .run = run,
};
