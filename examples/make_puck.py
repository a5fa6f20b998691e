#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes puck.csv, what a camera saw of a puck that slides, hits a rail and comes to rest.

No simulator takes part. The puck stands on three feet. While it slides, foot i with velocity u_i is
held back by mu N_i against u_i, and the normal forces N_i follow from three balances,

    sum N_i = m g          sum N_i (r_i - centre) = h sum F_i     (moments about the centre of mass)

with h the height of the centre of mass over the feet. That is integrated with steps of 10 us; the
direction u/|u| is smoothed below 10 um/s, where the puck is taken for resting. At the rail, in a
point at the height of the centre of mass,

    normal impulse      j = m (1 + e) v_x
    sticking impulse    |u_t| / (1/m + R^2/I)
    tangential impulse  min(mu_rail j, the sticking one), against u_t = v_y + R w

Frames come 30 times a second, with noise of 1 mm in the position and of 5 mrad in the angle, which
is written as the two numbers of a quaternion about the vertical. The seed is fixed, so that the
file comes out the same each time.
"""

import math
import random
import sys
from pathlib import Path

FRICTION = 0.18
RAIL_FRICTION = 0.12
RESTITUTION = 0.8
MASS, INERTIA = 0.2, 1.6e-4
GRAVITY = 9.81
HEIGHT = 0.015
RADIUS = 0.04
RAIL = 0.6
FEET = [(0.03 * math.cos(a), 0.03 * math.sin(a)) for a in (0.0, 2.0 * math.pi / 3.0, -2.0 * math.pi / 3.0)]
START = [0.05, -0.4, 0.02]
SPEED = [1.5, 1.3, 6.0]
RATE = 30.0
DURATION = 1.5
STEP = 1e-5
SMOOTH = 1e-5
NOISE = 0.001
NOISE_ANGLE = 0.005
SEED = 1


def solve(a, b):
    """Three linear equations by Cramer's rule."""
    def det(m):
        return (m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]))
    whole = det(a)
    columns = [[[b[i] if j == k else a[i][j] for j in range(3)] for i in range(3)] for k in range(3)]
    return [det(m) / whole for m in columns]


def acceleration(q, v):
    """Of x, y and the angle."""
    c, s = math.cos(q[2]), math.sin(q[2])
    arms = [(c * x - s * y, s * x + c * y) for x, y in FEET]
    pull = []
    for x, y in arms:
        u = (v[0] - v[2] * y, v[1] + v[2] * x)
        size = math.sqrt(u[0] * u[0] + u[1] * u[1] + SMOOTH * SMOOTH)
        pull.append((-FRICTION * u[0] / size, -FRICTION * u[1] / size))
    # a force F at the height -h turns the puck like a shift of N by h F/N: sum N r + h sum N pull = 0
    rows = [[1.0, 1.0, 1.0],
            [arms[i][0] + HEIGHT * pull[i][0] for i in range(3)],
            [arms[i][1] + HEIGHT * pull[i][1] for i in range(3)]]
    normal = solve(rows, [MASS * GRAVITY, 0.0, 0.0])
    fx = sum(n * p[0] for n, p in zip(normal, pull))
    fy = sum(n * p[1] for n, p in zip(normal, pull))
    torque = sum(n * (a[0] * p[1] - a[1] * p[0]) for n, a, p in zip(normal, arms, pull))
    return (fx / MASS, fy / MASS, torque / INERTIA)


def bounce(v):
    """Velocity after the impact on the rail."""
    slip = v[1] + RADIUS * v[2]
    normal = (1.0 + RESTITUTION) * v[0] * MASS
    stick = abs(slip) / (1.0 / MASS + RADIUS * RADIUS / INERTIA)
    tangent = -math.copysign(min(RAIL_FRICTION * normal, stick), slip)
    return [-RESTITUTION * v[0], v[1] + tangent / MASS, v[2] + RADIUS * tangent / INERTIA]


def record():
    """Rows (t, x, y, angle) without noise."""
    q, v = list(START), list(SPEED)
    n_step = round(1.0 / RATE / STEP)
    step = 1.0 / RATE / n_step
    rows = [(0.0, *q)]
    for k in range(1, int(DURATION * RATE) + 1):
        for _ in range(n_step):
            if max(abs(v[0]), abs(v[1]), RADIUS * abs(v[2])) < SMOOTH:
                break
            a = acceleration(q, v)
            middle = [q[i] + 0.5 * step * v[i] for i in range(3)]
            a = acceleration(middle, [v[i] + 0.5 * step * a[i] for i in range(3)])
            q = [q[i] + step * (v[i] + 0.5 * step * a[i]) for i in range(3)]
            v = [v[i] + step * a[i] for i in range(3)]
            if q[0] > RAIL - RADIUS and v[0] > 0.0:
                back = (q[0] - RAIL + RADIUS) / v[0]
                q = [q[i] - back * v[i] for i in range(3)]
                v = bounce(v)
                q = [q[i] + back * v[i] for i in range(3)]
        rows.append((k / RATE, *q))
    return rows


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("puck.csv")
    noise = random.Random(SEED)
    lines = [
        "# a puck that slides, hits a rail and stops, made by make_puck.py",
        f"# true table/friction = {FRICTION}",
        f"# true rail:rim/friction = {RAIL_FRICTION}",
        f"# true rail:rim/restitution = {RESTITUTION}",
        f"# noise {NOISE} m, {NOISE_ANGLE} rad",
        "t,puck/qpos[0],puck/qpos[1],puck/qpos[3],puck/qpos[6]",
    ]
    for t, x, y, angle in record():
        half = 0.5 * (angle + noise.gauss(0.0, NOISE_ANGLE))
        cells = [x + noise.gauss(0.0, NOISE), y + noise.gauss(0.0, NOISE), math.cos(half), math.sin(half)]
        lines.append(",".join([f"{t:.6f}"] + [f"{a:.6f}" for a in cells]))
    path.write_bytes(("\n".join(lines) + "\n").encode("ascii"))


if __name__ == "__main__":
    main()
