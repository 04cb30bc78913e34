"""Runs the tests of this folder, and closes with a line that `./test` counts."""

import pathlib
import sys
import unittest

tests = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent))
result = unittest.TextTestRunner(stream=sys.stdout).run(tests)
failed = len(result.failures) + len(result.errors)
word = "ok" if result.wasSuccessful() else "FAILED"
print(f"test result: {word}. {result.testsRun - failed} passed; {failed} failed; {len(result.skipped)} ignored")
sys.exit(not result.wasSuccessful())
