#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes bounce.csv, a recording of a bouncing ball, from closed forms alone.

The ball is a solid sphere over a plane at height 0. Between impacts its centre follows a parabola
and its spin is constant. At an impact with normal speed v_n < 0 and slip s (the tangential velocity
of the contact point, from velocity and spin)

    normal impulse      j = m (1 + e) |v_n|
    sticking impulse    2/7 m |s|          brings a solid sphere's slip to zero
    tangential impulse  min(mu j, 2/7 m |s|), against s

Gaussian noise is added to the positions. No simulator takes part, so what a fit finds can be
compared with the true values, which are written as comments. The seed is fixed, so that the file
comes out the same each time.
"""

import math
import random
import sys
from pathlib import Path

FRICTION = 0.12
RESTITUTION = 0.75
RADIUS = 0.05
GRAVITY = 9.81
POSITION = (0.0, 0.0, 0.5)
VELOCITY = (6.0, 1.0, 0.0)
RATE = 60.0
DURATION = 1.6
NOISE = 0.001
SEED = 20240229


def bounce(v, w, friction, restitution, radius):
    """Velocity and spin (both in world axes) after an impact on the plane."""
    # velocity of the contact point, which is at -radius on the z axis
    slip = (v[0] - radius * w[1], v[1] + radius * w[0])
    speed = math.hypot(*slip)
    normal = (1.0 + restitution) * -v[2]
    tangent = min(friction * normal, 2.0 / 7.0 * speed)

    # impulse over mass
    jx, jy = (-tangent * s / speed for s in slip) if speed > 0.0 else (0.0, 0.0)
    v = (v[0] + jx, v[1] + jy, -restitution * v[2])

    # torque about the centre over inertia 2/5 m r^2
    k = 2.5 / radius
    w = (w[0] + k * jy, w[1] - k * jx, w[2])
    return v, w


def fly(x, v, t):
    """Position and velocity after a time t without contact."""
    x = (x[0] + v[0] * t, x[1] + v[1] * t, x[2] + v[2] * t - 0.5 * GRAVITY * t * t)
    return x, (v[0], v[1], v[2] - GRAVITY * t)


def fall_time(x, v, radius):
    """Time until the ball touches the plane."""
    height = max(x[2] - radius, 0.0)
    return (v[2] + math.sqrt(v[2] * v[2] + 2.0 * GRAVITY * height)) / GRAVITY


def record(friction, restitution, radius):
    """Rows (t, x, y, z) without noise."""
    x, v, w = POSITION, VELOCITY, (0.0, 0.0, 0.0)
    start = 0.0
    touch = fall_time(x, v, radius)
    rows = []
    for k in range(int(DURATION * RATE) + 1):
        t = k / RATE
        while t > touch:
            x, v = fly(x, v, touch - start)
            x = (x[0], x[1], radius)
            v, w = bounce(v, w, friction, restitution, radius)
            start = touch
            touch += fall_time(x, v, radius)
        rows.append((t, *fly(x, v, t - start)[0]))
    return rows


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("bounce.csv")
    noise = random.Random(SEED)
    lines = [
        "# a ball thrown sideways onto a floor, made by make_bounce.py",
        f"# true floor:ball/friction = {FRICTION}",
        f"# true floor:ball/restitution = {RESTITUTION}",
        f"# true ball/size[0] = {RADIUS}",
        f"# noise {NOISE}",
        "t,ball/qpos[0],ball/qpos[1],ball/qpos[2]",
    ]
    for t, *x in record(FRICTION, RESTITUTION, RADIUS):
        cells = [repr(t)] + [f"{a + noise.gauss(0.0, NOISE):.6f}" for a in x]
        lines.append(",".join(cells))
    path.write_bytes(("\n".join(lines) + "\n").encode("ascii"))


if __name__ == "__main__":
    main()
