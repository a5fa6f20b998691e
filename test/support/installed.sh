#!/bin/bash
# SPDX-License-Identifier: MIT
#
# installed.sh SOURCE_DIR BUILD_DIR CMAKE CC: installs into a temporary prefix, moves the tree to show
# that it may be moved, compiles README's program and the examples against it by pkg-config (shared
# and static) and by find_package, and runs it. No file may name a folder of the build, and data are
# those of the installation.
set -eu -o pipefail

source_dir=$1
build_dir=$2
cmake=$3
cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the first C block of README.md that is a whole program
awk '/^```c$/ {inside = 1; text = ""; next}
     /^```/ {if (inside && text ~ /int main\(/) {printf "%s", text; exit} inside = 0}
     inside {text = text $0 "\n"}' "$source_dir/README.md" >"$work/program.c" 2>/dev/null || true
if [ ! -s "$work/program.c" ]; then
    echo "installed: README.md has no C program yet, skipped"
    exit 77
fi
if ! command -v pkg-config >/dev/null; then
    echo "installed: pkg-config is missing, skipped"
    exit 77
fi

DESTDIR="$work/stage" "$cmake" --install "$build_dir" --prefix /opt/carom >/dev/null
mv "$work/stage/opt/carom" "$work/moved"
prefix="$work/moved"
lib=$(dirname "$(find "$prefix" -name libcarom.so)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
if grep -rl -e "$source_dir" -e "$build_dir" -e "$work/stage" "$prefix"; then
    echo "installed: the files above name a folder of the build"
    exit 1
fi

# run NAME COMMAND...: README's paths start at the source folder
run() {
    local name=$1
    shift
    if ! (cd "$source_dir" && "$@" >"$work/$name.out"); then
        echo "installed: the program failed ($name)"
        exit 1
    fi
    if [ ! -s "$work/$name.out" ]; then
        echo "installed: the program printed nothing ($name)"
        exit 1
    fi
}

warnings="-std=c17 -Wall -Wextra -Wpedantic -Werror"

# the line that README gives works for every example too
for program in "$work/program.c" "$prefix"/share/carom/examples/*.c; do
    if ! "$cc" $warnings "$program" $(pkg-config --cflags --libs carom) -o "$work/by_pkg_config"; then
        echo "installed: README's line does not compile $program"
        exit 1
    fi
done
"$cc" $warnings "$work/program.c" $(pkg-config --cflags --libs carom) -o "$work/by_pkg_config"
LD_LIBRARY_PATH="$lib" run pkg_config "$work/by_pkg_config"

"$cc" $warnings "$work/program.c" -o "$work/by_archive" $(pkg-config --cflags carom) \
    "$lib/libcarom.a" $(pkg-config --static --libs-only-l --libs-only-other carom | sed 's/-lcarom\b//')
run archive "$work/by_archive"

mkdir "$work/project"
cp "$work/program.c" "$work/project/"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(user C)
find_package(carom 0.2 REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE carom::carom m)
add_executable(static program.c)
target_link_libraries(static PRIVATE carom::carom_static m)
END
"$cmake" -S "$work/project" -B "$work/project/build" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DCMAKE_C_COMPILER=$cc" >"$work/log" || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/project/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
run shared "$work/project/build/shared"
run static "$work/project/build/static"

for name in archive shared static; do
    if ! cmp -s "$work/pkg_config.out" "$work/$name.out"; then
        echo "installed: pkg-config and $name print different things"
        exit 1
    fi
done

# the command finds what was installed with it, wherever that is now, and CAROM_DATA's when it is given
carom="$prefix/bin/carom"
"$carom" --help >/dev/null
(cd "$work" && "$carom" examples examples >/dev/null && "$carom" simulate examples/bounce.xml >/dev/null)
if ! diff -r "$prefix/share/carom/examples" "$work/examples"; then
    echo "installed: carom examples copied something else"
    exit 1
fi
if CAROM_DATA="$work/project" "$carom" examples "$work/other" 2>"$work/log" ||
    ! grep -q 'CAROM_DATA' "$work/log"; then
    echo "installed: CAROM_DATA names a folder without examples, and nothing said so"
    exit 1
fi
CAROM_DATA="$prefix/share/carom" "$carom" examples "$work/other" >/dev/null
for file in bin/carom share/carom/shapes/cans.h5 share/doc/carom/LICENSE share/man/man1/carom.1 \
    share/man/man1/carom-fit.1 share/bash-completion/completions/carom \
    share/zsh/site-functions/_carom share/fish/vendor_completions.d/carom.fish; do
    if [ ! -s "$prefix/$file" ]; then
        echo "installed: $file is missing"
        exit 1
    fi
done
echo "installed: README's program and the examples, by pkg-config and find_package, shared and static"
