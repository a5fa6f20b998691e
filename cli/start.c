// SPDX-License-Identifier: MIT
//
// Where the command starts: chooses the code for this machine's vector instructions, and runs it.
//
// The two variants print the same bits (cmake/vectors.cmake). CAROM_VECTORS=plain in the
// environment takes the one without AVX, to compare them.

#include "start.h"

#ifdef CAROM_DISPATCH
#include <stdlib.h>
#include <string.h>

int cli_command_main_plain(int argc, char **argv);
int cli_command_main_avx(int argc, char **argv);

int main(int argc, char **argv) {
    const char *wanted = getenv("CAROM_VECTORS");
    bool is_plain = wanted && strcmp(wanted, "plain") == 0;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx") && !is_plain ? cli_command_main_avx(argc, argv)
                                                      : cli_command_main_plain(argc, argv);
}
#else
int main(int argc, char **argv) {
    return cli_command_main(argc, argv);
}
#endif
