// SPDX-License-Identifier: MIT
//
// carom shape: trains a space of shapes from meshes, and shows what is in one.

#include "commands.h"

#include "base/io/number.h"
#include "scene.h"
#include "shape_data.h"
#include "shape_show.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { EPOCHS = 400, LAYERS = 4, WIDTH = 64 };

static int count_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

// "4x64": layers and width
static int take_net(const char *text, cri_shape_training *t) {
    char tail;
    if (text && (sscanf(text, "%dx%d%c", &t->n_hidden, &t->width, &tail) != 2 || t->n_hidden < 1 ||
                 t->width < 1)) {
        return cli_usage("--net %.40s: expected layers and width, such as 4x64", text);
    }
    return CLI_DONE;
}

static int take_settings(const cli_options *o, cri_shape_training *t) {
    int code = take_net(o->net, t);
    double n = t->n_code;
    if (code == CLI_DONE && o->n_code) {
        code = cli_put_whole("--codes", o->n_code, 1.0, CRI_CODE_MOST, &n);
    }
    t->n_code = (int)n;
    if (code == CLI_DONE && o->rate &&
        (cri_number_parse(o->rate, strlen(o->rate), &t->rate) != CRI_NUMBER_OK ||
         !(t->rate > 0.0 && t->rate <= 1.0))) {
        return cli_usage("--rate %.40s: expected a number above 0 and up to 1", o->rate);
    }
    return code;
}

static int train(const cli_options *o, cr_arena *arena, cr_arena *scratch) {
    const char *extension = o->output ? cli_extension(o->output) : NULL;
    if (!extension || strcmp(extension, ".h5") != 0) {
        return cli_usage("shape train writes a space of shapes: -o FILE.h5");
    }
    if (o->n_word < 2) {
        return cli_usage("shape train needs meshes, folders of them, or a family; see 'carom help "
                         "shape'");
    }
    cri_shape_training t = cri_shape_training_default();
    t.n_hidden = LAYERS;
    t.width = WIDTH;
    shape_data data = {0};
    int code = shape_data_read(o, arena, scratch, &data);
    t.n_code = data.n_code;
    code = code == CLI_DONE ? take_settings(o, &t) : code;
    if (code != CLI_DONE) {
        return code;
    }
    cri_progress progress = cli_terminal_begin(o, "shape");
    t.n_epoch = o->n_epoch > 0 ? o->n_epoch : EPOCHS;
    t.seed = o->seed;
    t.n_thread = count_threads();
    t.checkpoint = o->plan.checkpoint;
    t.progress = &progress;
    cri_shape_space space;
    cri_train_result result;
    cr_error err = {0};
    double begin = cli_seconds();
    cr_status status = cri_shape_train(&data.all, &t, arena, &space, &result, &err);
    cli_terminal_end();
    if (status != CR_OK || cri_shape_space_write(o->output, &space, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (result.stop == CRI_TRAIN_INTERRUPTED) {
        cli_say("interrupted after %d epochs; %.200s has what was learned so far%s", result.n_epoch,
                o->output, t.checkpoint ? ", and the same command goes on" : "");
    }
    printf("%d shapes, codes of %d, %d layers of %d\n", space.n_shape, space.n_code,
           space.net.n_hidden, space.net.width);
    printf("loss %.6g after %d epochs, slope at most %.3f, %.0f s\n", result.loss, result.n_epoch,
           space.slope / 1.1, cli_seconds() - begin);
    return CLI_DONE;
}

static int run(const cli_options *o) {
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    int code = CLI_DONE;
    if (!arena || !scratch) {
        code = cli_failed("no memory");
    } else if (strcmp(o->word[0], "train") == 0) {
        code = train(o, arena, scratch);
    } else {
        code = shape_show(o, arena, scratch);
    }
    cri_arena_destroy(scratch);
    cri_arena_destroy(arena);
    return code;
}

const cli_command cli_shape = {
    .name = "shape",
    .arguments = "train MESH|FOLDER|FAMILY... -o FILE.h5 | show FILE.h5|FAMILY [-o FILE]",
    .summary = "learn a space of shapes, show one",
    .help = "Meshes are closed OBJ or STL files in one frame. A FAMILY is cans, mugs, cameras or\n"
            "animals: shapes that Carom makes itself. See docs/shapes.md.\n\n"
            "  --codes N             numbers that tell shapes apart, else 4, or 2 for few shapes\n"
            "  --net LxW             layers and their width, else 4x64\n"
            "  --epochs N            passes over all points, else 400\n"
            "  --rate R              of Adam, falling to 0, else 0.002\n"
            "  --seed K              of first weights, else 0\n"
            "  --checkpoint FILE     save the state now and then, and go on from it\n\n"
            "show prints the codes with volume and size of their shapes, and with\n\n"
            "  --code A,B,...        that shape alone\n"
            "  -o FILE.png           draws them\n"
            "  -o FILE.obj           writes the mesh of --code\n",
    .known = CLI_SHAPE | CLI_OUTPUT_FILE | CLI_CHECKPOINT,
    .takes = CLI_TAKES_INPUT,
    .words = "train show",
    .n_word_least = 1,
    .n_word_most = CLI_WORD_LIMIT,
    .run = run,
};
