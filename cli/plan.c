// SPDX-License-Identifier: MIT
//
// carom plan: initial states and controls that bring bodies to their targets.

#include "plan.h"

#include "base/io/checkpoint.h"
#include "base/io/number.h"
#include "commands.h"
#include "optimize/controls.h"
#include "plan_task.h"
#include "terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// most variables of Gauss-Newton: beyond these it takes minutes a step
#define GAUSS_NEWTON_LIMIT 400

// iterations of one window of a receding horizon
#define WINDOW_ITERATIONS 20

// of a rate or cost that is not given
static double or_else(double value, double other) {
    return value > 0.0 ? value : other;
}

static int or_else_whole(int value, int other) {
    return value > 0 ? value : other;
}

// ---- options -----------------------------------------------------------------------------------

static int read_beta(const char *text, double beta[2]) {
    const char *comma = strchr(text, ',');
    bool is_good = comma &&
                   cri_number_parse(text, (size_t)(comma - text), &beta[0]) == CRI_NUMBER_OK &&
                   cri_number_parse(comma + 1, strlen(comma + 1), &beta[1]) == CRI_NUMBER_OK;
    for (int i = 0; i < 2; i++) {
        is_good = is_good && beta[i] >= 0.0 && beta[i] < 1.0;
    }
    return is_good ? CLI_DONE : cli_usage("--beta %.40s: expected A,B from 0 to below 1", text);
}

/// Is the loss one, as Gauss-Newton needs it?
static bool is_sum_of_squares(const cli_planning *t) {
    const cli_plan_options *o = &t->options->plan;
    bool is_sum = o->n_sine == 0 && o->radius == 0.0 && o->n_focus == 0;
    for (int i = 0; i < t->aim.n_target; i++) {
        is_sum = is_sum && !t->aim.target[i].is_throughout;
    }
    return is_sum;
}

/// The method, and what belongs to it.
static int read_method(cli_planning *t) {
    const cli_plan_options *o = &t->options->plan;
    int n = t->n_variable;
    // where the targets determine the variables Gauss-Newton needs the fewest runs; else it wanders
    // among many solutions, and L-BFGS does better (docs/plan.md has the figures)
    bool is_sum = is_sum_of_squares(t);
    bool is_square = n <= 3 * t->options->n_target && !o->bundle && is_sum;
    cri_method method = is_square ? CRI_METHOD_GAUSS_NEWTON : CRI_METHOD_LBFGS;
    cri_bundle_options bundle = {.seed = o->seed};
    if (o->bundle && !cri_bundle_parse(o->bundle, &bundle)) {
        return cli_usage("--bundle %.40s: expected N:SIGMA, N:SIGMA:first or N:SIGMA:zeroth",
                         o->bundle);
    }
    // differences of losses are too rough for a line search, and surrogates know another loss
    method = bundle.is_zeroth || t->options->surrogate ? CRI_METHOD_ADAM : method;
    if (o->method) {
        (void)cri_method_find(o->method, &method); // the parser took none that is not there
    }
    bool is_newton = method == CRI_METHOD_GAUSS_NEWTON;
    if (is_newton && bundle.n > 0) {
        return cli_usage("--method gauss-newton has no use for --bundle; take lbfgs or adam");
    }
    if (is_newton && !is_sum) {
        return cli_usage(
            "--method gauss-newton has no use for --radius, --focus, --sines and @all; "
            "take lbfgs or adam");
    }
    if (is_newton && n > GAUSS_NEWTON_LIMIT) {
        return cli_usage("--method gauss-newton takes up to %d variables, here are %d; lower their "
                         "number with --knots, or take lbfgs",
                         GAUSS_NEWTON_LIMIT, n);
    }
    t->plan_options = cri_plan_options_default(method);
    t->plan_options.bundle = bundle;
    return o->beta ? read_beta(o->beta, t->plan_options.minimise.beta) : CLI_DONE;
}

static void read_numbers(cli_planning *t) {
    const cli_plan_options *o = &t->options->plan;
    cri_plan_options *p = &t->plan_options;
    int limit = o->horizon > 0 ? WINDOW_ITERATIONS : p->iteration_limit;
    p->minimise.rate = or_else(o->rate, p->minimise.rate);
    p->minimise.halve = o->halve;
    p->tolerance = or_else(o->tolerance, p->tolerance);
    p->spread = or_else(o->spread, p->spread);
    p->iteration_limit = or_else_whole(o->n_iteration, limit);
    p->n_start = or_else_whole(o->n_start, 1);
    p->n_sample = o->n_sample;
    p->seed = o->seed;
    p->n_thread = o->n_thread;
    p->progress = &t->progress;
    p->checkpoint = o->resume ? o->resume : o->checkpoint;
}

static int check_options(const cli_options *options) {
    const cli_plan_options *o = &options->plan;
    if (options->n_target == 0) {
        return cli_usage("plan needs --target BODY:X,Y,Z; see 'carom help plan'");
    }
    if (!o->controls) {
        return cli_usage("plan needs --controls NAMES; see 'carom help plan'");
    }
    if (o->n_sine > 0 && (o->horizon > 0 || o->n_knot > 0)) {
        return cli_usage("--sines %d: not with --horizon or --knots", o->n_sine);
    }
    if (o->execute > 0 && (o->horizon == 0 || o->execute > o->horizon)) {
        return cli_usage("--execute %d: expected %s", o->execute,
                         o->horizon ? "at most the steps of --horizon" : "with --horizon");
    }
    if (o->n_focus > 0 && o->horizon == 0) {
        return cli_usage("--focus %d: expected with --horizon", o->n_focus);
    }
    if (o->checkpoint && o->resume) {
        return cli_usage("--checkpoint and --resume: give one, both save and go on");
    }
    if (o->resume && !cri_checkpoint_exists(o->resume)) {
        return cli_failed("%.150s: there is no such checkpoint; --checkpoint begins one",
                          o->resume);
    }
    int code = cli_plan_task_check(options);
    return code == CLI_DONE && options->output ? cli_check_format(options->output) : code;
}

// ---- preparation -------------------------------------------------------------------------------

/// What only an equal run has: a checkpoint of another one is refused.
static int hash_problem(const cli_planning *t, uint64_t *out) {
    const cli_options *o = t->options;
    uint64_t h = 0;
    int code = cli_scene_hash(&t->scene, o, &h);
    h = cri_hash_text(h, o->plan.controls);
    h = cri_hash_text(h, o->plan.bundle ? o->plan.bundle : "");
    h = cri_hash_text(h, o->surrogate ? o->surrogate : "");
    for (int i = 0; i < o->n_target; i++) {
        h = cri_hash_text(h, o->target[i]);
    }
    for (int i = 0; i < o->n_bound; i++) {
        h = cri_hash_text(h, o->bound[i]);
    }
    const cri_plan_options *p = &t->plan_options;
    const double numbers[] = {o->smoothing,        p->minimise.rate, p->tolerance,
                              p->spread,           o->plan.cost,     p->minimise.beta[0],
                              p->minimise.beta[1], o->plan.radius};
    const int64_t wholes[] = {t->aim.schedule.n_step,
                              (int64_t)p->minimise.method,
                              p->n_start,
                              p->n_sample,
                              o->plan.n_sine,
                              o->plan.n_knot,
                              p->minimise.halve,
                              o->plan.horizon,
                              o->plan.execute,
                              o->plan.n_focus,
                              (int64_t)o->plan.seed};
    h = cri_hash(h, numbers, sizeof numbers);
    h = cri_hash(h, wholes, sizeof wholes);
    *out = h;
    return code;
}

/// The plan's own variables, their domains and start: those of the selection, or waves.
static int name_variables(cli_planning *t) {
    const cri_schedule *schedule = &t->aim.schedule;
    cr_arena *memory = t->scene.memory;
    int n_sine = t->options->plan.n_sine;
    cr_error err = {0};
    t->n_variable = t->selection->n_variable;
    if (n_sine > 0) {
        if (cri_waves_create(t->selection, schedule->n_step, schedule->n_dt, schedule->dt, n_sine,
                             memory, &t->waves, &err) != CR_OK) {
            return cli_error_in("--sines", &err);
        }
        cri_domain *domain = CR_PUSH(memory, cri_domain, t->waves.n);
        t->z = CR_PUSH(memory, double, t->waves.n);
        if (!domain || !t->z) {
            return cli_failed("no memory for %d variables", t->waves.n);
        }
        cri_waves_begin(&t->waves, t->domain, domain, t->z);
        t->domain = domain;
        t->n_variable = t->waves.n;
        t->name = t->waves.name;
        return CLI_DONE;
    }
    t->name = CR_PUSH(memory, const char *, t->n_variable);
    for (int j = 0; t->name && j < t->n_variable; j++) {
        t->name[j] = t->selection->variable[j].name;
    }
    return t->name ? CLI_DONE : cli_failed("no memory for %d names", t->n_variable);
}

void cli_plan_put(cli_planning *t, const double *z) {
    if (t->waves.n == 0) {
        cri_selection_write(t->selection, z, &t->point);
        return;
    }
    double *value = CR_PUSH(t->scene.memory, double, t->selection->n_variable);
    if (value) {
        cri_waves_write(&t->waves, z, value);
        cri_selection_write(t->selection, value, &t->point);
    }
}

static int read_controls(cli_planning *t) {
    const cli_plan_options *o = &t->options->plan;
    const cr_model *model = t->scene.model;
    cr_error err = {0};
    // the controls that a receding horizon carries out have a value every step
    int n_knot = o->horizon > 0 ? 0 : o->n_knot;
    if (cri_controls_create(model, o->controls, t->aim.schedule.n_step, n_knot, &t->selection,
                            &err) != CR_OK) {
        return cli_error_in("--controls", &err);
    }
    int n = t->selection->n_variable;
    t->domain = CR_PUSH(t->scene.memory, cri_domain, n);
    t->z = CR_PUSH(t->scene.memory, double, n);
    if (!t->domain || !t->z) {
        return cli_failed("no memory for %d variables", n);
    }
    cri_controls_domain(t->selection, model, t->domain);
    int code = cli_scene_bounds(t->options, t->selection, t->domain);
    if (code != CLI_DONE) {
        return code;
    }
    if (o->cost > 0.0 && !cri_selection_has(t->selection, CR_VECTOR_U)) {
        return cli_usage("--cost %g: it is for controls u:NAME, and --controls has none", o->cost);
    }
    bool has_control = t->scene.has_control || cri_selection_has(t->selection, CR_VECTOR_U);
    if (o->file && !has_control) {
        return cli_usage(
            "--plan: there are no controls over time; --json FILE has the values of a plan");
    }
    code = cli_scene_point(&t->scene, t->selection, &t->aim.schedule, true, &t->point);
    if (code == CLI_DONE && !t->scene.has_table &&
        cri_selection_check_ties(t->selection, &t->point, &err) != CR_OK) {
        code = cli_error_in("--controls", &err);
    }
    if (code == CLI_DONE) {
        cri_selection_read(t->selection, &t->point, t->z);
        code = name_variables(t);
    }
    return code;
}

static bool is_sequence(const cri_variable *variable) {
    const cri_variable_place *place = &variable->place[0];
    return place->vector == CR_VECTOR_U && place->step >= 0;
}

/// What a receding horizon needs.
static int check_receding(const cli_planning *t) {
    for (int j = 0; j < t->selection->n_variable; j++) {
        if (!is_sequence(&t->selection->variable[j])) {
            return cli_usage("--horizon: %.80s cannot change while the run goes on; controls are "
                             "u:NAME[*] then",
                             t->selection->variable[j].name);
        }
    }
    if (t->aim.schedule.n_dt > 1) {
        return cli_usage("--horizon: the times of targets must be multiples of the step, %g s",
                         t->scene.dt);
    }
    return CLI_DONE;
}

static int prepare(cli_planning *t, const cli_options *options) {
    t->options = options;
    int code = check_options(options);
    if (code == CLI_DONE) {
        code = cli_scene_begin(options, false, &t->scene, &t->sim);
    }
    if (code == CLI_DONE) {
        code = cli_targets_read(&t->scene, options, &t->target, &t->aim);
    }
    if (code == CLI_DONE) {
        code = read_controls(t);
    }
    if (code == CLI_DONE && options->plan.horizon > 0) {
        code = check_receding(t);
    }
    if (code == CLI_DONE) {
        code = read_method(t);
    }
    if (code == CLI_DONE) {
        read_numbers(t);
        code = t->plan_options.checkpoint ? hash_problem(t, &t->plan_options.problem) : CLI_DONE;
    }
    return code;
}

// ---- planning ----------------------------------------------------------------------------------

static int plan_whole(cli_planning *t, cr_error *err) {
    bool has_control = t->scene.has_control || cri_selection_has(t->selection, CR_VECTOR_U);
    cri_shot_def def = {.model = t->scene.model,
                        .sim_options = &t->scene.sim_options,
                        .selection = t->selection,
                        .waves = t->waves.n > 0 ? &t->waves : NULL,
                        .domain = t->domain,
                        .start = &t->point,
                        .has_control = has_control,
                        .n_target = t->options->n_target,
                        .target = t->target,
                        .aim = {.n_step = t->options->n_step, .dt = t->scene.dt},
                        .cost = t->options->plan.cost};
    t->scene.has_control = has_control;
    if (cri_plan_solve(&def, &t->plan_options, t->z, t->scene.memory, &t->plan, err) != CR_OK) {
        return cli_error(err);
    }
    cli_plan_put(t, t->plan.z);
    return CLI_DONE;
}

/// Receding horizon; the plan then is what was carried out.
static int plan_receding(cli_planning *t, cr_error *err) {
    const cli_plan_options *o = &t->options->plan;
    cri_plan *plan = &t->plan;
    cri_receding_def def = {.model = t->scene.model,
                            .sim_options = &t->scene.sim_options,
                            .controls = o->controls,
                            .bound = t->options->bound,
                            .n_bound = t->options->n_bound,
                            .n_knot = o->n_knot,
                            .p = t->point.p,
                            .x = t->point.x0,
                            .n_target = t->options->n_target,
                            .target = t->target,
                            .n_step = t->aim.schedule.n_step,
                            .dt = t->aim.schedule.dt[0],
                            .horizon = o->horizon,
                            .execute = or_else_whole(o->execute, 1 + (o->horizon - 1) / 4),
                            .n_focus = o->n_focus,
                            .cost = o->cost};
    cri_receding result = {0};
    t->scene.has_control = true;
    if (cri_receding_run(&def, &t->plan_options, t->point.u, t->scene.memory, &result, err) !=
        CR_OK) {
        return cli_error(err);
    }
    *plan = (cri_plan){.stop = result.stop,
                       .distance = result.distance,
                       .history = result.history,
                       .n_history = result.n_window,
                       .n_iteration = result.n_iteration,
                       .start = t->z,
                       .n_start = 1};
    t->n_window = result.n_window;
    plan->z = CR_PUSH(t->scene.memory, double, t->selection->n_variable);
    if (!plan->z) {
        return cli_failed("no memory for %d variables", t->selection->n_variable);
    }
    cri_selection_read(t->selection, &t->point, plan->z);
    plan->loss = NAN; // of the targets that it came to
    for (int i = 0; i < def.n_target; i++) {
        double d = result.distance[i];
        plan->loss = isnan(d) ? plan->loss : d * d + (isnan(plan->loss) ? 0.0 : plan->loss);
    }
    for (int j = 0; j < t->selection->n_variable; j++) {
        plan->cost += o->cost * def.dt * plan->z[j] * plan->z[j];
    }
    return CLI_DONE;
}

static int run(const cli_options *options) {
    cli_planning t = {0};
    cr_error err = {0};
    int code = prepare(&t, options);
    code = code == CLI_DONE ? cli_plan_task_save(options) : code;
    if (code == CLI_DONE) {
        t.progress = cli_terminal_begin(options, "plan");
        double start = cli_seconds();
        code = options->plan.horizon > 0 ? plan_receding(&t, &err) : plan_whole(&t, &err);
        t.seconds = cli_seconds() - start;
        cli_terminal_end();
    }
    if (code == CLI_DONE) {
        cli_plan_print(&t);
        code = cli_plan_write(&t);
        code = code == CLI_DONE ? cli_plan_page(&t) : code;
        code = code == CLI_DONE ? cli_plan_judge(&t, &err) : code;
    }
    cr_sim_destroy(t.sim);
    cri_selection_destroy(t.selection);
    cli_scene_close(&t.scene);
    return code;
}

const cli_command cli_plan = {
    .name = "plan",
    .arguments = "SCENE --target ... --controls NAMES",
    .summary = "states and controls that reach targets",
    .help =
        "SCENE may be a task file (.json, or - with one), which has the scene and all options in\n"
        "it; options behind it replace those of the file.\n\n"
        "  --target BODY:X,Y,Z[@T]  where a body or site should be, in m, at T s (at the end\n"
        "                        without @T, after every step with @all); may be repeated\n"
        "  --radius R            within R m of its target a body has no loss and has reached it\n"
        "  --controls NAMES      what may change, comma separated: x0:ball/qvel[*] (initial\n"
        "                        state), u:MOTOR (constant), u:MOTOR[*] (a value every step);\n"
        "                        it starts from the scene's values, --set and --control\n"
        "  --knots K             hold each u:NAME[*] over K equal pieces of the run\n"
        "  --sines K             each u:NAME[*] is a sum of K sines, whose amplitudes, "
        "frequencies\n"
        "                        and phases are planned\n"
        "  --bound NAME=LOW:HIGH  limits, either may be left out; actuators have their ctrlrange\n"
        "  --cost W              adds W times the sum of u^2 dt over steps and chosen controls to\n"
        "                        the loss, which is the sum of the squared distances in m^2\n"
        "  --tolerance M         a target is reached within M m, else 0.001\n"
        "  --steps N             number of steps; without it up to the last target, or 1 s\n\n"
        "How to search:\n"
        "  --method NAME         gauss-newton (default up to three variables a target), lbfgs\n"
        "                        (else), adam (with --bundle N:SIGMA:zeroth)\n"
        "  --iterations N        at most N, else 200; of a window of --horizon, else 20\n"
        "  --rate R              adam: length of a step, else 0.1; lbfgs: of the first, else 1;\n"
        "                        gauss-newton: longest step of what is smaller than it, else 1\n"
        "  --beta A,B            adam: decay of mean and square, else 0.9,0.999\n"
        "  --halve N             adam: back to the best and half the rate after N iterations\n"
        "                        without a fall, else never\n"
        "  --starts N            search from N starts, drawn within the bounds but for the first\n"
        "  --samples N           begin each search at the best of N draws like these\n"
        "  --spread S            where there are no bounds: from a bell that wide, else 1\n"
        "  --seed K              of the starts and of --bundle\n"
        "  --threads N           for --starts; the result does not depend on it\n"
        "  --bundle N:SIGMA[:zeroth]  gradients as means over N random changes of size SIGMA; "
        "with\n"
        "                        zeroth from losses alone: a slope where nothing touches yet\n"
        "  --smoothing K         gradients of a smoothed contact law, cone and cone-reg only\n"
        "  --surrogate LAW       longrange: gradients of that law's steps along the motion: "
        "bodies\n"
        "                        feel what they have not touched; adam unless --method says "
        "otherwise\n"
        "  --horizon H           receding horizon: plan H steps, carry out E, plan again\n"
        "  --execute E           the E of --horizon, else a quarter of H\n"
        "  --focus N             of the bodies out of place N count in a window, the farthest,\n"
        "                        each until it is there or no longer comes nearer; else all\n\n"
        "What to keep:\n"
        "  --checkpoint FILE     save there every 10 iterations, at Ctrl-C and at the end; go on\n"
        "                        from it when it is there, to the same bits\n"
        "  --resume FILE         the same, but FILE must be there\n"
        "  --save-task FILE      the task: scene and all options, which 'carom plan FILE.json' "
        "runs\n"
        "                        again to the same bits\n"
        "  --plan FILE           controls over time as CSV, for 'carom simulate --control FILE'\n"
        "  -o FILE               the motion, CSV or HDF5 (.h5, .hdf5)\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with curves, tables and the motion to play\n\n"
        "  --dt S, --law LAW, --outside W, --stepper NAME, --set NAME=VALUE, --key NAME,\n"
        "  --control FILE, --overlap refuse  as for 'carom gradient'\n\n"
        "Ends with 0 when every target is reached, or at the minimum of a loss with --cost; else\n"
        "with 1 and the reason, 2 for wrong usage, 130 at Ctrl-C. The best plan is shown and\n"
        "written in any case.\n",
    .known = CLI_JSON | CLI_RUN | CLI_CONTROL | CLI_STEPS | CLI_TARGET | CLI_SURROGATE |
             CLI_SMOOTHING | CLI_OUTPUT | CLI_PLAN | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
