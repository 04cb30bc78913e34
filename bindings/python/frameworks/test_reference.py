"""The API reference, which pdoc makes from the package: every public module is in it, and every public name says what it is."""

import inspect
import pathlib
import pkgutil
import tempfile
import unittest
import warnings
from importlib import import_module
from typing import Any

import lockgate
import pdoc

MODULES = [it.name for it in pkgutil.walk_packages(lockgate.__path__, "lockgate.") if "._" not in it.name]
#: A package is documented with all that is in it.
TOP = [it for it in MODULES if it.count(".") == 1]


class Reference(unittest.TestCase):
    def test_it_is_made_without_a_warning(self) -> None:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            pdoc.pdoc("lockgate", *TOP, output_directory=pathlib.Path(folder))
            pages = {str(it.relative_to(folder)) for it in pathlib.Path(folder).rglob("*.html")}
        self.assertEqual([str(it.message) for it in heard if "lockgate" in str(it.message)], [])
        self.assertLessEqual({f"{it.replace('.', '/')}.html" for it in TOP}, pages)

    def test_every_public_name_says_what_it_is(self) -> None:
        silent = [
            f"{module}.{name}"
            for module in MODULES
            for name in getattr(import_module(module), "__all__", [])
            if is_documented_here(getattr(import_module(module), name)) is False
        ]
        self.assertEqual(silent, [])


def is_documented_here(thing: Any) -> "bool | None":
    """Whether a class or function of the package has a text of its own; None for anything else."""
    if not (inspect.isclass(thing) or inspect.isfunction(thing)) or not (thing.__module__ or "").startswith("lockgate"):
        return None
    return bool(thing.__doc__)
