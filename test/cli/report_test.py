#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the command as a stranger would: reports.

    report_test.py PATH-OF-CAROM

Standard library only; test/viewer opens reports in a browser.
"""

import html.parser
import json
import math
import os
import shlex

from command import Command, bounce_height, main

NO_CHARTS = "no charts, for carom was built without npm: install npm and build again"


class Page(html.parser.HTMLParser):
    """Text of the page, its data, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.words = []
        self.loads = []
        self.open = []
        self.data = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        for name in ("src", "href"):
            value = attributes.get(name)
            if value and not value.startswith(("data:", "#")):
                self.loads.append(value)
        kind = "data" if attributes.get("id") == "data" else tag
        if tag not in ("meta", "link", "line", "circle", "path"):
            self.open.append(kind)

    def handle_endtag(self, tag):
        if self.open and tag not in ("line", "circle", "path"):
            self.open.pop()

    def handle_data(self, data):
        kind = self.open[-1] if self.open else ""
        if kind == "data":
            self.data = json.loads(data)
        elif kind not in ("script", "style"):
            self.words.append(data)


class Report(Command):
    def report(self, *arguments):
        done = self.run_carom(*arguments, "--report", self.path("out.html"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stderr == "" or NO_CHARTS in done.stderr, done.stderr)
        with open(self.path("out.html"), encoding="utf-8") as file:
            text = file.read()
        page = Page(text)
        self.assertEqual(page.loads, [])
        self.assertIn("default-src 'none'", text)
        self.assertEqual(NO_CHARTS in done.stderr, "no charts" in " ".join(page.words))
        self.assertEqual(page.data["format"], "carom report")
        return page

    def chart(self, page, title):
        return next(chart for chart in page.data["charts"] if chart["title"] == title)

    def test_a_simulation_has_its_curves_and_motion(self):
        page = self.report("simulate", self.scene, "--key", "drop", "--steps", "200")
        position = self.chart(page, "ball: position")["series"][0]
        for t, z in zip(position["x"], position["lines"][2]["y"]):
            self.assertAlmostEqual(z, bounce_height(t), 5)
        energy = self.chart(page, "Energy")["series"][0]["lines"]
        for total, kinetic, potential in zip(*(line["y"] for line in energy)):
            self.assertAlmostEqual(total, kinetic + potential, 5)
        self.assertAlmostEqual(energy[2]["y"][0], 0.5 * 9.81, 5)
        gaps = self.chart(page, "Gaps")["series"][0]
        for t, gap in zip(gaps["x"], gaps["lines"][0]["y"]):
            self.assertAlmostEqual(gap, bounce_height(t) - 0.1, 5)
        # the first impact turns the speed of the fall: m (1 + e) v
        impulses = self.chart(page, "Impulses of a step")["series"][0]["lines"][0]["y"]
        first = next(value for value in impulses if value > 0.0)
        self.assertAlmostEqual(first, 1.8 * math.sqrt(2.0 * 9.81 * 0.4), 5)
        variant = page.data["motions"][0]["variants"][0]
        self.assertEqual(variant["bodies"], ["ball"])
        self.assertEqual([geom["kind"] for geom in variant["geoms"]], ["plane", "sphere"])
        self.assertEqual(len(variant["time"]), 201)
        for t, pose in zip(variant["time"], variant["poses"]):
            self.assertAlmostEqual(pose[2], bounce_height(t), 5)
        total = sum(contact[7] for contact in variant["contacts"] if contact)
        self.assertAlmostEqual(total, sum(impulses), 4)
        text = " ".join(page.words)
        self.assertIn("carom simulate", text)
        self.assertIn("ball/qpos[2]", text)

    def test_long_runs_make_small_reports(self):
        self.report("simulate", self.scene, "--dt", "0.0005", "--steps", "100000")
        self.assertLess(os.path.getsize(self.path("out.html")), 1 << 20)

    def test_a_gradient_has_its_table_and_target(self):
        page = self.report("gradient", self.scene, "--target", "ball:1,0,0.5@0.6", "--wrt",
                           "floor:ball/restitution,ball/size[0]", "--check")
        table = page.data["tables"][0]
        self.assertEqual([row[0] for row in table["rows"]], ["floor:ball/restitution", "ball/size[0]"])
        for row in table["rows"]:
            self.assertAlmostEqual(row[1], row[2], 6)
            self.assertLess(row[3], 1e-6)
            self.assertEqual(row[4], "agrees")
        self.assertEqual(page.data["motions"][0]["markers"][0]["point"], [1, 0, 0.5])
        self.assertAlmostEqual(page.data["motions"][0]["variants"][0]["time"][-1], 0.6, 9)

    def test_a_fit_has_its_parameters_and_recording(self):
        lines = ["# true floor:ball/restitution = 0.8", "t,ball/qpos[2]"]
        lines += [f"{0.02 * i:.17g},{bounce_height(0.02 * i):.17g}" for i in range(60)]
        data = self.write("data.csv", "\n".join(lines) + "\n")
        page = self.report("fit", self.scene, data, "--key", "drop", "--wrt",
                           "floor:ball/restitution,floor:ball/friction", "--set",
                           "floor:ball/restitution=0.6")
        first, second = page.data["parameters"]
        self.assertEqual((first["start"], first["truth"]), (0.6, 0.8))
        self.assertAlmostEqual(first["value"], 0.8, 6)
        self.assertIsNone(second["error"])
        self.assertEqual(second["note"], "not identifiable")
        self.assertIn("do not depend on floor:ball/friction", " ".join(page.words))
        series = self.chart(page, "ball/qpos[2]")["series"]
        names = [line["name"] for one in series for line in one["lines"]]
        self.assertEqual(names, ["recorded", "found", "start"])
        found = dict(zip(series[1]["x"], series[1]["lines"][0]["y"]))
        for t, z in zip(series[0]["x"], series[0]["lines"][0]["y"]):
            self.assertAlmostEqual(found[t], z, 5)
        names = [variant["name"] for variant in page.data["motions"][0]["variants"]]
        self.assertEqual(names, ["found", "start", "recorded"])

    def test_a_fit_of_several_recordings_shows_each(self):
        data = []
        for k in range(6):
            rows = [0.02 * i for i in range(30 + 5 * k)]
            lines = ["t,ball/qpos[2]"] + [f"{t:.17g},{bounce_height(t):.17g}" for t in rows]
            data.append(self.write(f"drop{k}.csv", "\n".join(lines) + "\n"))
        page = self.report("fit", self.scene, *data, "--key", "drop", "--wrt",
                           "floor:ball/restitution,gravity[2],x0:ball/qpos[1],x0:ball/qpos[2]", "--set",
                           "floor:ball/restitution=0.6", "--noise", "1e-3", "--holdout", "1")
        # two shared values, and the initial ones of the first four of five
        names = [row["name"] for row in page.data["parameters"]]
        self.assertEqual(names, ["floor:ball/restitution", "gravity[2]"] +
                         [f"x0:ball/qpos[{i}] in drop{k}.csv" for k in range(4) for i in (1, 2)])
        for row in page.data["parameters"]:
            # a drop says nothing about where it was to the side
            self.assertEqual(row["error"] is None, "qpos[1]" in row["name"])
        self.assertEqual([motion["name"] for motion in page.data["motions"]],
                         [f"drop{k}.csv" for k in range(4)])
        for k in range(4):
            # each has its own clock, and its curves follow it
            variants = page.data["motions"][k]["variants"]
            self.assertEqual([one["name"] for one in variants], ["found", "start", "recorded"])
            self.assertAlmostEqual(variants[0]["time"][-1], 0.02 * (29 + 5 * k))
            self.assertAlmostEqual(variants[2]["time"][-1], 0.02 * (29 + 5 * k))
            self.assertEqual(self.chart(page, f"ball/qpos[2] in drop{k}.csv")["motion"], k)
            chart = self.chart(page, f"Residuals of drop{k}.csv")
            self.assertEqual(chart["motion"], k)
            largest = max(map(abs, chart["series"][0]["lines"][0]["y"]))
            self.assertLess(largest, 1e-2)
            self.assertGreater(largest, 0.0)
        words = " ".join(page.words)
        for part in ("first 4 of 5 recordings", "drop4.csv: the data do not depend on x0:ball/qpos[1]", "Held out, so that no value comes from them: the last 1 recordings", "Correlation of the errors",
                     "times the noise"):
            self.assertIn(part, words)
        history = self.chart(page, "Residuals during the search")["series"][0]
        self.assertEqual(history["x"], list(range(1, len(history["x"]) + 1)))
        self.assertIn(f"iterations {len(history['x'])} ", " ".join(words.split()) + " ")

    def test_a_linearisation_has_its_matrices(self):
        page = self.report("linearize", self.scene, "--key", "drop", "--dt", "0.01", "--json",
                           self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            result = json.load(file)
        a, b = page.data["tables"]
        for table, matrix, columns in ((a, result["A"], result["state"]),
                                       (b, result["B"], result["controls"])):
            self.assertEqual([column["name"] for column in table["columns"]], [""] + columns)
            self.assertEqual([row[0] for row in table["rows"]], result["state"])
            for row, expected in zip(table["rows"], matrix):
                self.assertEqual(len(row), len(expected) + 1)
                for value, wanted in zip(row[1:], expected):
                    self.assertAlmostEqual(value, wanted, 9)
        # in free flight a position grows by dt times its rate
        fall = a["rows"][result["state"].index("ball/dq[2]")]
        self.assertAlmostEqual(fall[1 + result["state"].index("ball/qvel[2]")], 0.01, 9)
        facts = {fact["name"]: fact["value"] for fact in page.data["facts"]}
        self.assertEqual((facts["gradient"], facts["tangent coordinates"]), ("exact", "12"))

    def test_a_large_linearisation_names_another_way(self):
        bodies = "".join(f"<body pos='{i} 0 1'><freejoint/><geom size='0.1' mass='1'/></body>"
                         for i in range(11))
        scene = self.write("many.xml", f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
        page = self.report("linearize", scene)
        self.assertEqual([table["title"] for table in page.data["tables"]], ["B = dx'/du"])
        self.assertIn("A = dx'/dx has 132 columns, more than a page shows; -o FILE.csv writes them.",
                      page.data["notes"])

    def test_a_benchmark_has_its_rows(self):
        page = self.report("bench", "load", "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertIn("hopper: load, from text to model", file.read())
        self.assertEqual(page.data["title"], "Benchmarks")
        self.assertEqual(len(page.data["tables"][0]["rows"]), 1)
        name, value, unit = page.data["tables"][0]["rows"][0]
        self.assertEqual((name, unit), ("hopper: load, from text to model", "us"))
        self.assertGreater(value, 0.0)
        self.assertEqual(page.data["motions"], [])

    def test_a_report_that_cannot_be_is_refused(self):
        simulate = ["simulate", self.scene, "--steps", "3", "--report"]
        gradient = ["gradient", self.scene, "--target", "ball:1,0,0@0.1", "--wrt", "gravity[2]",
                    "--report"]
        linearize = ["linearize", self.scene, "--report"]
        for command in (simulate, gradient, linearize):
            self.bad(2, ["--report", "out.pdf", ".html"], *command, self.path("out.pdf"))
            self.bad(2, "--report needs a value", *command)
            self.bad(1, "nothere", *command, self.path("nothere/out.html"))
            self.bad(1, "cannot be written", *command, self.folder.name)
            self.bad(1, "/dev/full", *command, "/dev/full")
        # rows of a benchmark are printed as they come
        done = self.run_carom("bench", "load", "--report", self.path("nothere/out.html"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothere/out.html: cannot be written", done.stderr)
        self.bad(2, "comes twice", *simulate, "a.html", "--report", "b.html")
        self.bad(2, "unknown option --report", "laws", "--report", "a.html")
        # no motion is left behind when its report fails
        self.bad(1, "nothere", *simulate, self.path("nothere/out.html"), "-o", self.path("out.csv"),
                 "--json", self.path("out.json"))

    def test_the_command_line_can_be_run_again(self):
        page = self.report("simulate", self.scene, "--steps", "3", "--set", "ball/size[0]=0.2")
        words = shlex.split(page.data["command"])
        self.assertEqual(words, ["carom", "simulate", self.scene, "--steps", "3", "--set",
                                 "ball/size[0]=0.2", "--report", self.path("out.html")])
        os.rename(self.scene, self.path("it's a $(scene).xml"))
        page = self.report("simulate", "it's a $(scene).xml", "--steps", "3")
        self.assertEqual(shlex.split(page.data["command"])[2], "it's a $(scene).xml")


if __name__ == "__main__":
    main()
