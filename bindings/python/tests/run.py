"""Runs the tests of this folder, or of the one that is named, and closes with a line that `./test` counts."""

import pathlib
import sys
import unittest

folder = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).parent)
tests = unittest.defaultTestLoader.discover(folder)
result = unittest.TextTestRunner(stream=sys.stdout).run(tests)
failed = len(result.failures) + len(result.errors)
word = "ok" if result.wasSuccessful() else "FAILED"
print(f"test result: {word}. {result.testsRun - failed} passed; {failed} failed; {len(result.skipped)} ignored")
sys.exit(not result.wasSuccessful())
