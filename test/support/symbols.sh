#!/bin/bash
# SPDX-License-Identifier: MIT
#
# symbols.sh HEADER SHARED_LIBRARY ARCHIVE: the shared library exports the functions that carom.h
# declares and nothing else, needs no HDF5 to start, and no object holds data that can change.
set -eu -o pipefail

header=$1
shared=$2
archive=$3
status=0

declared=$(tr '\n' ' ' <"$header" | grep -oE 'CR_API [^;#]*;' | grep -oE '\bcr_[a-z0-9_]+\(' |
    tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$shared" | awk '{print $3}' | sort -u)

missing=$(comm -23 <(echo "$declared") <(echo "$exported"))
extra=$(comm -13 <(echo "$declared") <(echo "$exported"))
if [ -n "$missing" ]; then
    echo "declared in carom.h, not in the library:" $missing
    status=1
fi
if [ -n "$extra" ]; then
    echo "exported, not declared in carom.h:" $extra
    status=1
fi

# it has libraries behind it that take longer to load than most runs; src/base/io/hdf5_api.h
if readelf -d "$shared" | grep 'NEEDED.*hdf5'; then
    echo "the library above is loaded at every start"
    status=1
fi

# .data.rel.ro is constant once the program runs
mutable=$(objdump -t "$archive" | awk '/ O / || /\*COM\*/ {
    for (i = 1; i <= NF; i++)
        if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && $i !~ /^\.data\.rel\.ro/) print $i, $NF
}')
if [ -n "$mutable" ]; then
    echo "mutable globals:"
    echo "$mutable"
    status=1
fi
echo "symbols: $(echo "$exported" | wc -l) exported"
exit $status
