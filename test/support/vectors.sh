#!/bin/bash
# SPDX-License-Identifier: MIT
#
# vectors.sh CAROM EXAMPLES: code with and without AVX gives the same bits: states, gradients, fits
# and plans, as JSON without its times.
set -eu -o pipefail

carom=$1
examples=$2
if [ "$(nm "$carom" | grep -c cli_command_main_avx)" -eq 0 ]; then
    echo "vectors: this build has one variant, skipped"
    exit 77
fi
if ! grep -qw avx /proc/cpuinfo; then
    echo "vectors: this machine has no AVX, skipped"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prints the JSON of a file without times
without_times='
import json, sys
def strip(value):
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if "seconds" not in k and not k.endswith("_us")}
    if isinstance(value, list):
        return [strip(v) for v in value if not (isinstance(v, dict) and v.get("unit") in ("s", "ms"))]
    return value
print(json.dumps(strip(json.load(open(sys.argv[1]))), indent=1))'

n=0
# same COMMAND...: both variants, and their JSON
same() {
    n=$((n + 1))
    "$carom" "$@" --json "$work/avx.json" >/dev/null
    CAROM_VECTORS=plain "$carom" "$@" --json "$work/plain.json" >/dev/null
    for file in avx plain; do
        python3 -c "$without_times" "$work/$file.json" >"$work/$file"
    done
    if ! cmp -s "$work/avx" "$work/plain"; then
        echo "vectors: other bits without AVX: carom $*"
        diff "$work/avx" "$work/plain" | head -n 6
        exit 1
    fi
}

cd "$examples"
for scene in bounce box hopper push planks rectangle two_balls; do
    same simulate $scene.xml --steps 40
done
same gradient box.xml --target box:1,0,0@0.6 --wrt '*/friction,*/mass,x0:box/qvel[0]'
same gradient hopper.xml --target torso:0,0,0.5@0.08 --wrt 'u:knee,x0:shin/qpos[0],x0:up/qvel'
same fit bounce.xml bounce.csv --wrt 'floor:ball/friction,floor:ball/restitution,x0:ball/qvel[0]'
same plan throw.xml --target ball:2.5,0.5,0.15@1.1 --controls 'x0:ball/qvel[0],x0:ball/qvel[1],x0:ball/qvel[2]'
same experiment dac-capsule
same experiment cdl-step
echo "vectors: $n runs with the same bits with and without AVX"
