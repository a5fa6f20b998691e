#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the scenes of the tasks of paper 002, whose geometry is made of formulas.

    make_tasks.py FOLDER [PANDA]

With PANDA, the folder franka_panda of MuJoCo Menagerie, also panda.xml: the arm with that robot's
own collision meshes.
"""

import math
import os
import sys


def fibonacci(n, radius):
    """Points in even spirals on a sphere."""
    golden = math.pi * (3.0 - math.sqrt(5.0))
    points = []
    for i in range(n):
        z = 1.0 - (2.0 * i + 1.0) / n
        r = math.sqrt(1.0 - z * z)
        points.append((radius * r * math.cos(golden * i), radius * r * math.sin(golden * i),
                       radius * z))
    return points


def numbers(values):
    return " ".join(f"{value:.6g}" for value in values)


def billiards():
    """16 balls of 32 triangles on a floor: 15 in a triangle of five rows, one to play."""
    r = 0.5
    lines = ["""<!--
  Paper 002, Fig. 5: fifteen balls in a triangle and one that is played, of radius 0.5 m, on a floor without
  friction that keeps them in its plane.
-->
<mujoco model="billiards">
  <option timestep="0.04"/>
  <custom>
    <text name="carom:law" data="longrange"/>
    <numeric name="carom:potential:mu" data="1e-7"/>
    <numeric name="carom:potential:eps:cue" data="0.5"/>
  </custom>
  <default>
    <geom density="1" friction="0"/>
  </default>
  <asset>
%s  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1" pos="0 0 -0.503"/>
    <body name="cue" pos="%s">
      <freejoint/>
      <geom name="cue" type="mesh" mesh="ball"/>
    </body>""" % (mesh_of("ball", fibonacci(18, r)), numbers((4.4 * r, 4.4 * r, 0)))]
    for i in range(5):
        for j in range(i + 1):
            at = (1.1 * r * (4 - i) + 2.2 * r * j, -1.905 * r * i, 0)
            lines.append(f"""    <body name="b{i}{j}" pos="{numbers(at)}">
      <freejoint/>
      <geom name="b{i}{j}" type="mesh" mesh="ball"/>
    </body>""")
    return "\n".join(lines) + "\n  </worldbody>\n</mujoco>\n"


HEAD = """<!--
  Paper 002, %s
-->
<mujoco model="%s">
  <option timestep="0.04"/>
  <custom>
    <text name="carom:law" data="longrange"/>
    <numeric name="carom:potential:mu" data="%s"/>
  </custom>
  <default>
    <geom density="%s" friction="0.4"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
"""

# wide shells: with narrow ones the push of a far body rises and falls with distance
EPS = '''
    <numeric name="carom:potential:eps%s" data="%s"/>'''

ROD = """    <body name="rod" pos="%s">
%s      <geom name="rod" type="box" size="%s"/>
    </body>
"""

# half lengths: lying along y, and upright where it does not turn and has to come between cubes
LYING = "0.05 0.4 0.05"
UPRIGHT = "0.05 0.05 0.4"

# kg/m^3, the paper's for its own shapes: a force from afar moves what is light
LIGHT = 3

# kind, axis, stiffness of a servo
AXIS = {"x": ("slide", "1 0 0", 400), "y": ("slide", "0 1 0", 400), "z": ("slide", "0 0 1", 400),
        "turn": ("hinge", "0 0 1", 40), "pitch": ("hinge", "0 1 0", 40), "roll": ("hinge", "1 0 0", 40),
        "around": ("hinge", "0 0 1", 1000), "in": ("slide", "1 0 0", 400)}


def rod(at, axes, size=LYING, lag=0.2):
    """A rod with a servo for each of the axes, that of "around" about the middle of the scene; lag is
    the time that they take, s. Returns its body and the actuators."""
    joints = drives = ""
    for axis in axes.split():
        kind, about, kp = AXIS[axis]
        if axis == "around":
            about += f'" pos="{numbers((-float(at.split()[0]), 0, 0))}'
        joints += (f'      <joint name="rod_{axis}" type="{kind}" axis="{about}" '
                   f'damping="{kp * lag:g}"/>\n')
        drives += f'    <position name="rod_{axis}" joint="rod_{axis}" kp="{kp}"/>\n'
    return ROD % (at, joints, size), f"  </worldbody>\n  <actuator>\n{drives}  </actuator>\n</mujoco>\n"


def weigh(text):
    """The scene with clusters that weigh as many pairs of triangles as they stand for."""
    at = text.index("\n  </custom>")
    return text[:at] + '\n    <text name="carom:potential:clusters" data="whole"/>' + text[at:]


def widen(text, eps, geom=None):
    """The scene with this part of the radii as the width of its shells, or of those of one geom."""
    at = text.index("\n  </custom>")
    return text[:at] + EPS % (":" + geom if geom else "", eps) + text[at:]


def push():
    text = HEAD % ("Fig. 7: a rod under position control pushes a box of 0.3 m over the floor; it starts "
                   "on\n  the wrong side.", "push", "1e-6", LIGHT)
    text = widen(text, 2).replace('size="9 9 1"', 'size="9 9 1" pos="0 0 -0.08"')
    body, drive = rod("2.2 0.6 0.25", "x y z turn pitch roll")
    text += body
    text += """    <body name="box" pos="1.5 0.5 0.08">
      <freejoint/>
      <geom name="box" type="box" size="0.15 0.15 0.15"/>
    </body>
"""
    return text + drive


def halton(i, base):
    f, x = 1.0, 0.0
    while i:
        f /= base
        x += f * (i % base)
        i //= base
    return x


def many(name, figure, body, drive, side=2.0):
    """Ten cubes in a square, by the numbers of Halton so that none overlap, and a rod."""
    text = weigh(widen(HEAD % (figure, name, "3e-8", LIGHT), 1, "rod"))
    text += body
    for i in range(10):
        at = (side * (halton(i + 1, 2) - 0.5), side * (halton(i + 1, 3) - 0.5), 0.11)
        text += f"""    <body name="c{i}" pos="{numbers(at)}">
      <freejoint/>
      <geom name="c{i}" type="box" size="0.1 0.1 0.1"/>
    </body>
"""
    return text + drive


def gather():
    """The rod turns about the middle, goes in and out, up and down, and turns about itself:
    docs/tasks.md says why."""
    return many("gather", "Fig. 7: a rod gathers ten cubes.", *rod("-1.6 0 0.12", "around in z turn"))


def sort():
    """As gather, with a slow upright rod on a wider circle and more room between cubes."""
    return many("sort", "Fig. 8: a rod sorts ten cubes to two sides.",
                *rod("-2.4 0 0.47", "around in z", UPRIGHT, 0.5), 3.0)


def hull(points):
    """Triangles of the convex hull of points of which none lies inside, outward."""
    def sub(a, b):
        return [a[k] - b[k] for k in range(3)]

    def above(face, p):
        a, b, c = (points[k] for k in face)
        u, v, w = sub(b, a), sub(c, a), sub(p, a)
        return (w[0] * (u[1] * v[2] - u[2] * v[1]) + w[1] * (u[2] * v[0] - u[0] * v[2]) +
                w[2] * (u[0] * v[1] - u[1] * v[0])) > 1e-12

    faces = [(0, 1, 2), (0, 2, 1)]
    for i in range(3, len(points)):
        seen = [face for face in faces if above(face, points[i])]
        edges = {(face[k], face[(k + 1) % 3]) for face in seen for k in range(3)}
        faces = [face for face in faces if face not in seen]
        faces += [(a, b, i) for a, b in edges if (b, a) not in edges]
    return sorted(faces)


def hare(seat=-1.0):
    """A body with two ears, 140 points and 276 triangles, not convex: points of a sphere moved along
    their rays, and up to the height of the seat, if there is one above them; returns points and
    triangles."""
    sphere = fibonacci(140, 1.0)
    faces = hull(sphere)
    points = []
    for x, y, z in sphere:
        r = 0.1 + 0.035 * max(0.0, x) ** 2 + 0.01 * max(0.0, -z)
        for side in (-1, 1):
            ear = (-0.25, 0.5 * side, 0.83)
            along = x * ear[0] + y * ear[1] + z * ear[2]
            r += 0.09 * math.exp(-14.0 * (1.0 - along))
        points.append((1.15 * r * x, 1.1 * r * y, max(seat, r * z)))
    return points, faces


def mesh_of(name, points, faces=None):
    text = f'    <mesh name="{name}" vertex="{numbers(x for p in points for x in p)}"'
    if faces:
        text += f'\n      face="{" ".join(str(k) for face in faces for k in face)}"'
    return text + "/>\n"


def bunny():
    """Ten hares of 276 triangles where gather has cubes, 2772 triangles and the floor. They sit:
    round ones roll away."""
    points, faces = hare(-0.06)
    low = min(point[2] for point in points)
    text = HEAD % ("Fig. 14: a rod gathers ten shapes that are not convex.", "bunny", "1e-10", LIGHT)
    text = weigh(widen(text, 0.25, "rod"))
    text = text.replace("  <worldbody>", f"""  <asset>
{mesh_of("hare", points, faces)}  </asset>
  <worldbody>""")
    body, drive = rod("-1.6 0 0.12", "around in z turn")
    text += body
    for i in range(10):
        at = (2.0 * halton(i + 1, 2) - 1.0, 2.0 * halton(i + 1, 3) - 1.0, 0.01 - low)
        text += f"""    <body name="c{i}" pos="{numbers(at)}" euler="0 0 {36 * i}">
      <freejoint/>
      <geom name="c{i}" type="mesh" mesh="hare"/>
    </body>
"""
    return text + drive


# the arm's frames as its maker publishes them: origin in the frame before, turn about x; the joint
# then turns about z
FRANKA = [((0, 0, 0.333), 0), ((0, 0, 0), -90), ((0, -0.316, 0), 90), ((0.0825, 0, 0), 90),
          ((-0.0825, 0.384, 0), -90), ((0, 0, 0), 90), ((0.088, 0, 0), 90)]

# angles that are zero here, degrees: the hand points down, low over the floor
HOME = [0.0, 8.0, 0.0, -162.0, 0.0, 170.0, 45.0]

# where a link's shape stands in its frame, and the axis along it
SHAPE = [((0, 0, -0.1), "z"), ((0, -0.12, 0), "y"), ((0.04, 0, -0.06), "z"),
         ((-0.05, 0.14, 0), "y"), ((0, 0, -0.15), "z"), ((0.044, 0, 0), "x"), ((0, 0, 0.1), "z")]

# files of the robot's collision meshes by link, in the frames above, and where the hand is on the last
PANDA = [["link0.stl"], ["link1.stl"], ["link2.stl"], ["link3.stl"], ["link4.stl"],
         [f"link5_collision_{k}.obj" for k in range(3)], ["link6.stl"], ["link7.stl", "hand.stl"]]
HAND = 'pos="0 0 0.107" euler="0 0 -45"'

TURN = {"x": "0 90 0", "y": "90 0 0", "z": "0 0 0"}


def shapes_of(link, panda):
    """Geoms of a link, without names: capsules of our own or the robot's meshes."""
    if panda:
        return [f'mesh="{file}"' + (" " + HAND if file == "hand.stl" else "") for file in PANDA[link]]
    place, axis = SHAPE[link - 1] if link > 0 else ((0, 0, 0.14), "z")
    turn = f' euler="{TURN[axis]}"' if link > 0 else ""
    return [f'mesh="link" pos="{numbers(place)}"{turn}']


def link_of(link, panda, pad):
    """A link's geoms as lines; the first has its name."""
    text = ""
    for k, shape in enumerate(shapes_of(link, panda)):
        mesh, _, place = shape.partition(" ")
        kind = f'type="mesh" {mesh} contype="2" conaffinity="0"'
        text += f"""{pad}<geom name="link{link}{'abc'[k - 1] if k else ''}" {kind}{' ' * bool(place)}{place}/>
"""
    return text


def arm(panda=None):
    """Seven joints, eight links of 1758 triangles, a hare of 276: 14340 triangles and the floor."""
    points, faces = hare()
    low = min(point[2] for point in points)
    # a capsule's points, 0.1 m thick and 0.24 m long
    link = [(0.05 * x, 0.05 * y, 0.05 * z + (0.07 if z > 0 else -0.07))
            for x, y, z in fibonacci(881, 1.0)]
    meshes = mesh_of("link", link)
    if panda:
        folder = os.path.join(os.path.abspath(panda), "assets")
        meshes = "".join(f"""    <mesh name="{file}" file="{os.path.join(folder, file)}"/>
""" for files in PANDA for file in files)
    text = HEAD % ("Fig. 15: an arm of seven joints pushes a shape that is not convex.", "arm", "1e-8",
                   LIGHT)
    text = text.replace("  <worldbody>", f"""  <asset>
{meshes}{mesh_of("hare", points, faces)}  </asset>
  <worldbody>""").replace('friction="0.4"/>', 'friction="0.4" conaffinity="3"/>')
    text += link_of(0, panda, "    ")
    drive = ""
    for k, ((at, turn), home) in enumerate(zip(FRANKA, HOME)):
        pad = "  " * (k + 2)
        a, b = math.radians(turn) / 2.0, math.radians(home) / 2.0
        quat = (math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), -math.sin(a) * math.sin(b),
                math.cos(a) * math.sin(b))
        text += f"""{pad}<body name="link{k + 1}" pos="{numbers(at)}" quat="{numbers(quat)}">
{pad}  <joint name="joint{k + 1}" axis="0 0 1" damping="20" armature="0.1"/>
""" + link_of(k + 1, panda, pad + "  ")
        drive += f"""    <position name="joint{k + 1}" joint="joint{k + 1}" kp="100"/>
"""
    text += "".join("  " * (k + 2) + "</body>\n" for k in reversed(range(7)))
    text += f"""    <body name="hare" pos="{numbers((0.62, 0, 0.01 - low))}">
      <freejoint/>
      <geom name="hare" type="mesh" mesh="hare"/>
    </body>
  </worldbody>
  <actuator>
"""
    return text + drive + "  </actuator>\n</mujoco>\n"


def ant():
    """A ball with four legs of two links, moving in a plane with a turn, beside a box."""
    text = HEAD % ("Fig. 9: an ant of nine links, 16 degrees of freedom, twelve of them driven, and a "
                   "box.", "ant", "1e-8", LIGHT)
    text = weigh(widen(text, 0.5, "box")).replace('timestep="0.04"', 'timestep="0.02"')
    text = text.replace("  <worldbody>", f"""  <asset>
{mesh_of("ball", fibonacci(18, 0.1333))}  </asset>
  <worldbody>""").replace('friction="0.4"/>', 'friction="0.4" conaffinity="3"/>')
    kind = 'contype="2" conaffinity="0"'
    upper, lower, thick, lift = 0.1476, 0.2952, 0.0533, math.radians(10.0)
    text += f"""    <body name="ant" pos="0 0 0.25">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="turn" type="hinge" axis="0 0 1"/>
      <geom name="body" type="mesh" mesh="ball" {kind}/>
"""
    drive = ""
    for k in range(4):
        turn = 45 + 90 * k
        knee = (upper * math.cos(lift), 0.0, upper * math.sin(lift))
        foot = (lower * math.cos(math.radians(45) - lift), 0.0,
                -lower * math.sin(math.radians(45) - lift))
        text += f"""      <body name="leg{k}" euler="0 0 {turn}" pos="{numbers((0.1333 * math.cos(math.radians(turn)), 0.1333 * math.sin(math.radians(turn)), 0))}">
        <joint name="swing{k}" axis="0 0 1" range="-90 90" damping="1" armature="0.02"/>
        <joint name="raise{k}" axis="0 1 0" range="-90 90" damping="1" armature="0.02"/>
        <geom name="leg{k}" type="box" size="{thick} {thick} {thick}" fromto="0 0 0 {numbers(knee)}" {kind}/>
        <body name="foot{k}" pos="{numbers(knee)}">
          <joint name="bend{k}" axis="0 1 0" range="-90 90" damping="1" armature="0.02"/>
          <geom name="foot{k}" type="box" size="{thick} {thick} {thick}" fromto="0 0 0 {numbers(foot)}" {kind}/>
        </body>
      </body>
"""
        for joint in ("swing", "raise", "bend"):
            drive += f"""    <position name="{joint}{k}" joint="{joint}{k}" kp="10" ctrllimited="true" ctrlrange="-1.2 1.2"/>
"""
    text += """    </body>
    <body name="box" pos="0.9 0 0.16">
      <freejoint/>
      <geom name="box" type="box" size="0.15 0.15 0.15"/>
    </body>
  </worldbody>
  <actuator>
"""
    return text + drive + "  </actuator>\n</mujoco>\n"


SCENES = {
    "billiards": billiards,
    "push": push,
    "gather": gather,
    "sort": sort,
    "ant": ant,
    "bunny": bunny,
    "arm": arm,
}

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: make_tasks.py FOLDER [PANDA]")
    for folder in (sys.argv[1], *(os.path.join(panda, "assets") for panda in sys.argv[2:])):
        if not os.path.isdir(folder):
            sys.exit(f"make_tasks.py: {folder}: no such folder")
    texts = {scene: make() for scene, make in SCENES.items()}
    if len(sys.argv) > 2:
        texts["panda"] = arm(sys.argv[2])
    for scene, text in texts.items():
        with open(os.path.join(sys.argv[1], scene + ".xml"), "w", encoding="utf-8") as file:
            file.write(text)
