#!/bin/bash
# SPDX-License-Identifier: MIT
#
# header.sh INCLUDE_DIR: carom.h stands alone, in C and in C++, without a warning.
set -eu -o pipefail

include=$1
n=0

# compile LANGUAGE STANDARD COMPILER: carom.h alone and twice in a row
compile() {
    if command -v "$3" >/dev/null; then
        printf '#include <carom/carom.h>\n#include <carom/carom.h>\n' |
            "$3" -x "$1" "-std=$2" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
                "-I$include" -
        n=$((n + 1))
    fi
}

for compiler in c++ g++ clang++; do
    compile c++ c++17 $compiler
done
for compiler in cc gcc clang; do
    compile c c11 $compiler
    compile c c17 $compiler
done
echo "header: $n compilations without a warning"
[ $n -ge 3 ]
