#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/tour.md, pasted line by line into a shell.

    tour_test.py CAROM TOUR

Runs in an empty folder, where 'carom examples examples' puts the scenes, as an installed carom would.
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

CAROM, TOUR = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
FIRST = 'export PATH="$PWD/build/release:$PATH"'


def commands():
    """The indented lines that begin with a command."""
    with open(TOUR, encoding="utf-8") as file:
        lines = [line[4:].rstrip("\n") for line in file if line.startswith("    ")]
    return [line for line in lines if line.split()[0] in ("carom", "export")]


class Tour(unittest.TestCase):
    def test_it_begins_with_the_line_that_the_demo_prints(self):
        self.assertEqual(commands()[0], FIRST)

    def test_every_command_works(self):
        lines = commands()[1:]
        self.assertGreater(len(lines), 10)
        with tempfile.TemporaryDirectory() as folder:
            # carom is found by its name alone
            os.mkdir(os.path.join(folder, "bin"))
            os.symlink(CAROM, os.path.join(folder, "bin", "carom"))
            environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
            for line in ["carom examples examples", *lines]:
                begin = time.monotonic()
                done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, timeout=300,
                                      capture_output=True, text=True, check=False)
                with self.subTest(line):
                    said = [row for row in done.stderr.splitlines() if "no charts" not in row]
                    self.assertEqual((done.returncode, said), (0, []))
                print(f"{time.monotonic() - begin:6.1f} s  {line[:80]}")


if __name__ == "__main__":
    unittest.main()
