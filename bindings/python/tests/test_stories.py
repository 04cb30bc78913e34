"""The page about adapters says which story each of them tells."""

import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "stories.py"


class Page(unittest.TestCase):
    def test_the_table_of_adapters_is_fresh(self) -> None:
        checked = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
