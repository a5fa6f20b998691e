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

static int run(const cli_options *options) {
    cri_law_row row[LAW_LIMIT];
    int n = 0;
    int n_plain = 0;
    while (cri_law_at(n_plain)) {
        n_plain++;
    }
    for (; n < LAW_LIMIT; n++) {
        const cri_law *law = n < n_plain ? cri_law_at(n) : cri_law_learned_at(n - n_plain);
        if (!law) {
            break;
        }
        row[n] = (cri_law_row){law->name, law->summary, law->promise, law->needs_nets};
        printf("%-12s  %s\n", law->name, law->summary);
        cli_print_paragraph(INDENT, law->promise ? law->promise : "");
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
