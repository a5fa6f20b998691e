#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns recorded tosses of a cube into a scene and recordings for carom fit.

    cube_toss.py TOSSES.csv FOLDER [COUNT [FRAMES]]

TOSSES.csv has the columns toss, t, px, py, pz, qw, qx, qy, qz, one row a camera frame (the cube of
ContactNets, Pfrommer, Halm and Posa, CoRL 2020). The first COUNT tosses (20), each from three frames
before its first contact on and FRAMES (40) frames long, go to FOLDER/toss*.csv, and a scene with first
guesses to FOLDER/cube.xml. Longer pieces are chaotic: the cube falls on another face. Then

    carom fit FOLDER/cube.xml FOLDER/toss*.csv --robust cauchy --holdout 0.25 --noise 1e-3 \\
        --noise 'cube/qpos[3]=4e-3' --noise 'cube/qpos[4]=4e-3' --noise 'cube/qpos[5]=4e-3' \\
        --noise 'cube/qpos[6]=4e-3' \\
        --wrt 'floor:cube/*,cube/size[0]=cube/size[1]=cube/size[2],x0:cube/*'
"""

import csv
import sys
from pathlib import Path

HALF_WIDTH = 0.0508
MASS = 0.37
INERTIA = 1.0e-3

SCENE = f"""<mujoco model="cube">
  <option timestep="0.007" gravity="0 0 -9.667"/>
  <custom>
    <numeric name="carom:friction:floor:cube" data="0.3"/>
    <numeric name="carom:restitution:floor:cube" data="0.1"/>
  </custom>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="cube" pos="0 0 0.3">
      <freejoint/>
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
      <geom name="cube" type="box" size="{HALF_WIDTH} {HALF_WIDTH} {HALF_WIDTH}"/>
    </body>
  </worldbody>
</mujoco>
"""
COLUMNS = ["t"] + [f"cube/qpos[{i}]" for i in range(7)]
KEYS = ("t", "px", "py", "pz", "qw", "qx", "qy", "qz")


def height(row):
    """Of the lowest corner over the floor."""
    w, x, y, z = (float(row[k]) for k in ("qw", "qx", "qy", "qz"))
    third = (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))
    return float(row["pz"]) - HALF_WIDTH * sum(abs(a) for a in third)


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__.strip())
    folder = Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    frames = int(sys.argv[4]) if len(sys.argv) > 4 else 40
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cube.xml").write_text(SCENE, encoding="ascii")
    tosses = {}
    with open(sys.argv[1], encoding="ascii") as file:
        for row in csv.DictReader(file):
            tosses.setdefault(row["toss"], []).append(row)
    for name, rows in list(tosses.items())[:count]:
        first = next((i for i, row in enumerate(rows) if height(row) < 0.0), len(rows))
        piece = rows[max(first - 3, 0):][:frames]
        lines = [",".join(COLUMNS)] + [",".join(row[k] for k in KEYS) for row in piece]
        (folder / f"toss{int(name):03d}.csv").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
