"""The example projects, run as a user would run them."""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[3]


def printed(*command: str, **variables: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=True)
    return done.stdout


class Examples(unittest.TestCase):
    def test_the_example_tells_its_model_what_to_do_next(self) -> None:
        said = printed(sys.executable, str(ROOT / "bindings/python/example/agent.py"))
        lines = [line.strip() for line in said.splitlines() if line.startswith("  ")]
        self.assertRegex(lines[0], r"^not run: delete requires a successful call to backup first\..*backup\.$")
        self.assertEqual(lines[1:3], ["build is saved", "ran rm -rf build"])
        self.assertRegex(lines[3], r"^not run: deploy was rejected by human review\.")
        self.assertEqual(lines[4], "staging is live")
        self.assertRegex(lines[5], r"^not run: deploy has reached its limit of 1 calls per session\.")
        self.assertIn("`deploy`", said)

    def test_the_line_protocol_needs_no_package(self) -> None:
        program = os.environ.get("LOCKGATE")
        if not program:
            self.skipTest("LOCKGATE does not name the program")
        said = printed(sys.executable, str(ROOT / "examples/gate.py"), str(ROOT / "bindings/python/example/policy.rules")).splitlines()
        self.assertIn("not run: delete requires a successful call to backup first.", said[0])
        self.assertTrue(said[1].endswith("-> backup ran") and said[2].endswith("-> bash ran"), said)
