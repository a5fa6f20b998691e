// SPDX-License-Identifier: MIT
//
// The options of all commands: the parser, suggestions and the completion of shells read them.

#include "options.h"

// largest count of steps that a run takes; and of what plan counts, where memory ends before time
#define STEPS_LIMIT 2e9
#define PLAN_LIMIT 1e6

// largest count of runs of an experiment, of passes over a recording, of random problems
#define RUNS_LIMIT 64
#define EPOCHS_LIMIT 1e7
#define PROBLEMS_LIMIT 1e8

// largest seed that a double holds with room to count on
#define SEED_LIMIT 1e15

#define AT(field) .at = offsetof(cli_options, field)
#define MANY(field, n) .at = offsetof(cli_options, field), .n_at = offsetof(cli_options, n)

// rows for what repeats
#define FLAG(name, known, field)                                                                   \
    { name, NULL, known, CLI_FLAG, AT(field) }
#define TEXT(name, known, field)                                                                   \
    { name, NULL, known, CLI_TEXT, AT(field), .takes = CLI_TAKES_VALUE }
#define TEXTS(name, known, field, n)                                                               \
    { name, NULL, known, CLI_TEXTS, MANY(field, n), .takes = CLI_TAKES_VALUE }
#define WORD(name, known, field, list)                                                             \
    { name, NULL, known, CLI_WORD, AT(field), .takes = CLI_TAKES_VALUE, .words = (list) }
#define HINT(name, known, field, list)                                                             \
    { name, NULL, known, CLI_TEXT, AT(field), .takes = CLI_TAKES_VALUE, .words = (list) }
#define PATH(name, known, field, what)                                                             \
    { name, NULL, known, CLI_TEXT, AT(field), .takes = (what) }
#define COUNT(name, known, field, low, high)                                                       \
    {                                                                                              \
        name, NULL, known, CLI_COUNT, AT(field), .takes = CLI_TAKES_VALUE, .least = (low),         \
                                                 .most = (high)                                    \
    }
#define SEED(known, field)                                                                         \
    {                                                                                              \
        "--seed", NULL, known, CLI_SEED, AT(field), .takes = CLI_TAKES_VALUE, .least = 0.0,        \
                                                    .most = SEED_LIMIT                             \
    }
#define LENGTH(name, known, field)                                                                 \
    { name, NULL, known, CLI_LENGTH, AT(field), .takes = CLI_TAKES_VALUE }

const cli_option cli_option_table[] = {
    {"--help", "-h", 0, CLI_FLAG, AT(use_help)},
    {"--quiet", "-q", 0, CLI_FLAG, AT(use_quiet)},
    PATH("--json", CLI_JSON, json, CLI_TAKES_STREAM),
    PATH("--report", CLI_REPORT, report, CLI_TAKES_FILE),
    {"--output", "-o", CLI_OUTPUT, CLI_TEXT, AT(output), .takes = CLI_TAKES_STREAM},
    {"--output", "-o", CLI_OUTPUT_FILE, CLI_TEXT, AT(output), .takes = CLI_TAKES_FILE},
    PATH("--checkpoint", CLI_CHECKPOINT | CLI_PLAN, plan.checkpoint, CLI_TAKES_FILE),

    // a scene and its run
    {"--law", NULL, CLI_LAW, CLI_TEXT, AT(law), .takes = CLI_TAKES_LAW},
    {"--stepper", NULL, CLI_STEPPER, CLI_TEXT, AT(stepper), .takes = CLI_TAKES_STEPPER},
    WORD("--outside", CLI_OUTSIDE, outside, "net analytic stop"),
    WORD("--overlap", CLI_OVERLAP, overlap, "warn refuse"),
    TEXT("--key", CLI_KEY, key),
    TEXTS("--set", CLI_SET, set, n_set),
    PATH("--control", CLI_CONTROL, control, CLI_TAKES_INPUT),
    COUNT("--steps", CLI_STEPS, n_step, 1.0, STEPS_LIMIT),
    COUNT("--at-step", CLI_AT_STEP, at_step, 0.0, STEPS_LIMIT),
    LENGTH("--dt", CLI_DT, dt),
    FLAG("--print", CLI_AT_STEP, use_print),

    // gradients
    TEXTS("--target", CLI_TARGET, target, n_target),
    TEXT("--wrt", CLI_WRT, wrt),
    FLAG("--check", CLI_CHECK, use_check),
    {"--smoothing", NULL, CLI_SMOOTHING, CLI_AMOUNT, AT(smoothing), .takes = CLI_TAKES_VALUE},
    HINT("--surrogate", CLI_SURROGATE, surrogate, "longrange"),

    // fit
    TEXTS("--noise", CLI_FIT, noise, n_noise),
    TEXTS("--prior", CLI_FIT, prior, n_prior),
    TEXTS("--bound", CLI_FIT | CLI_PLAN, bound, n_bound),
    HINT("--robust", CLI_FIT, robust, "huber cauchy"),
    TEXT("--holdout", CLI_FIT, holdout),
    {"--depth", NULL, CLI_FIT, CLI_TEXTS, MANY(depth, n_depth), .takes = CLI_TAKES_INPUT},
    TEXT("--points", CLI_FIT, n_point),

    // plan
    TEXT("--controls", CLI_PLAN, plan.controls),
    WORD("--method", CLI_PLAN, plan.method, "adam lbfgs gauss-newton"),
    TEXT("--bundle", CLI_PLAN, plan.bundle),
    PATH("--resume", CLI_PLAN, plan.resume, CLI_TAKES_FILE),
    PATH("--save-task", CLI_PLAN, plan.save_task, CLI_TAKES_FILE),
    PATH("--plan", CLI_PLAN, plan.file, CLI_TAKES_STREAM),
    TEXT("--beta", CLI_PLAN, plan.beta),
    LENGTH("--rate", CLI_PLAN, plan.rate),
    LENGTH("--tolerance", CLI_PLAN, plan.tolerance),
    LENGTH("--cost", CLI_PLAN, plan.cost),
    LENGTH("--radius", CLI_PLAN, plan.radius),
    LENGTH("--spread", CLI_PLAN, plan.spread),
    COUNT("--iterations", CLI_PLAN, plan.n_iteration, 1.0, PLAN_LIMIT),
    COUNT("--starts", CLI_PLAN, plan.n_start, 1.0, PLAN_LIMIT),
    COUNT("--samples", CLI_PLAN, plan.n_sample, 1.0, PLAN_LIMIT),
    COUNT("--sines", CLI_PLAN, plan.n_sine, 1.0, PLAN_LIMIT),
    COUNT("--knots", CLI_PLAN, plan.n_knot, 1.0, PLAN_LIMIT),
    COUNT("--halve", CLI_PLAN, plan.halve, 1.0, PLAN_LIMIT),
    COUNT("--threads", CLI_PLAN, plan.n_thread, 1.0, PLAN_LIMIT),
    COUNT("--horizon", CLI_PLAN, plan.horizon, 1.0, PLAN_LIMIT),
    COUNT("--execute", CLI_PLAN, plan.execute, 1.0, PLAN_LIMIT),
    COUNT("--focus", CLI_PLAN, plan.n_focus, 1.0, PLAN_LIMIT),
    SEED(CLI_PLAN, plan.seed),

    // learn, shape, experiment
    SEED(CLI_PROBLEMS | CLI_EXPERIMENT | CLI_LEARN | CLI_SHAPE, seed),
    COUNT("--epochs", CLI_LEARN | CLI_SHAPE | CLI_EXPERIMENT, n_epoch, 1.0, EPOCHS_LIMIT),
    TEXT("--rate", CLI_LEARN | CLI_SHAPE, rate),
    HINT("--model", CLI_LEARN, model,
         "cdl cdl-notouch resnet resnetcontact vin cm-clnn cm-chnn cmr-clnn cmr-chnn lcp-clnn true "
         "augmented regressed"),
    TEXT("--model", CLI_EXPERIMENT, model),
    TEXT("--start", CLI_EXPERIMENT, start),
    COUNT("--runs", CLI_EXPERIMENT, n_run, 1.0, RUNS_LIMIT),
    FLAG("--quick", CLI_EXPERIMENT, is_quick),
    FLAG("--full", CLI_EXPERIMENT, is_full),
    TEXTS("--touch", CLI_LEARN, touch, n_touch),
    WORD("--touch-held", CLI_LEARN, touch_held, "each first"),
    WORD("--starts", CLI_LEARN, starts, "rows fitted"),
    TEXT("--q", CLI_LEARN, q),
    TEXT("--v", CLI_LEARN, v),
    TEXT("--time", CLI_LEARN, time),
    TEXT("--l2", CLI_LEARN, l2),
    TEXT("--static", CLI_LEARN, mu_static),
    TEXT("--restitution", CLI_LEARN, restitution),
    HINT("--epsilon", CLI_LEARN, epsilon, "learn"),
    HINT("--damping", CLI_LEARN, damping, "learn"),
    PATH("--holdout", CLI_LEARN, holdout, CLI_TAKES_INPUT),
    FLAG("--place", CLI_LEARN, use_place),
    TEXT("--codes", CLI_SHAPE, n_code),
    TEXT("--net", CLI_SHAPE, net),
    TEXT("--code", CLI_SHAPE, code),

    // bench
    COUNT("--problems", CLI_PROBLEMS, n_problem, 1.0, PROBLEMS_LIMIT),
    PATH("--keep", CLI_PROBLEMS, keep, CLI_TAKES_FOLDER),
    FLAG("--families", CLI_PROBLEMS, use_families),
    {"--work", NULL, CLI_WORK, CLI_TEXT, AT(work), .takes = CLI_TAKES_VALUE, .is_hidden = true},
    {0},
};
