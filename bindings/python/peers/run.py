"""Runs a peer's own tests against our names for it, and counts them file by file.

``python run.py edictum FOLDER`` or ``python run.py policyshield FOLDER``, with the package on the path and pytest installed; what
follows is for pytest. The tests are not changed and not kept here: ``import edictum`` gets ``lockgate.edictum``. A test is

- *left out* if it uses a name that the surface does not have: what is private there, or another part of the peer;
- *by design* if ``edictum.txt`` beside this file names it with a reason: our meaning is safer, or the text is another;
- *failed* otherwise, and then this ends with 1.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import pathlib
import re
import sys
import types
from collections import Counter, defaultdict
from typing import Any

import pytest

LEFT_OUT = "is not part of the surface"
PRIVATE = re.compile(r"AttributeError: .* has no attribute '_[a-z]")
COLUMNS = ("passed", "by design", "left out", "failed", "skipped")


class Missing:
    """A name that the surface does not have. To import it is no harm; to use it ends the test."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LookupError(f"`{self.name}.{name}` {LEFT_OUT}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LookupError(f"`{self.name}` {LEFT_OUT}")

    def __mro_entries__(self, _: Any) -> Any:
        raise LookupError(f"`{self.name}` {LEFT_OUT}")


class Alias(types.ModuleType):
    """A module of the peer: ours under its name."""

    target: types.ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.target is not None and hasattr(self.target, name):
            return getattr(self.target, name)
        return Missing(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the peer."""

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.peer and not name.startswith(f"{self.peer}."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Alias(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        try:
            module.__dict__["target"] = importlib.import_module(f"lockgate.{module.__name__}")
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("lockgate."):
                raise


class Counts:
    """What became of each test."""

    def __init__(self, reasons: dict[str, str]) -> None:
        self.reasons = reasons
        self.files: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.failed: list[tuple[str, str]] = []
        self.used: set[str] = set()

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.count(report.nodeid, str(report.longrepr))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.count(report.nodeid, str(report.longrepr))
        elif report.skipped:
            self.files[report.nodeid.split("::")[0]]["skipped"] += 1
        elif report.when == "call":
            self.files[report.nodeid.split("::")[0]]["passed"] += 1

    def count(self, test: str, told: str) -> None:
        word = "failed"
        reason = next((it for it in self.reasons if test == it or test.startswith((f"{it}::", f"{it}[", f"{it}/"))), None)
        if LEFT_OUT in told or PRIVATE.search(told):
            word = "left out"
        elif reason is not None:
            word = "by design"
            self.used.add(reason)
        else:
            last = [line for line in told.splitlines() if line.startswith("E  ")] or told.splitlines()[-1:]
            self.failed.append((test, last[0].removeprefix("E").strip()[:160] if last else ""))
        self.files[test.split("::")[0]][word] += 1

    def show(self) -> None:
        width = max([len(file) for file in self.files] or [4])
        print(f"\n{'file':{width}}  " + "  ".join(COLUMNS))
        total: Counter[str] = Counter()
        for file, counts in sorted(self.files.items()):
            total += counts
            print(f"{file:{width}}  " + "  ".join(f"{counts[it]:>{len(it)}}" for it in COLUMNS))
        print(f"{'all':{width}}  " + "  ".join(f"{total[it]:>{len(it)}}" for it in COLUMNS))
        for test in sorted(self.used):
            print(f"by design: {test}: {self.reasons[test]}")
        for test, why in self.failed:
            print(f"failed: {test}\n    {why}")
        for test in sorted(set(self.reasons) - self.used):
            print(f"no such failure: {test}; take it out of the list")


def reasons_of(peer: str) -> dict[str, str]:
    """Failures by design: a test, two spaces or more, and the reason."""
    lines = pathlib.Path(__file__).with_name(f"{peer}.txt").read_text().splitlines()
    told = (line.split("  ", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {test: reason.strip() for test, reason in told}


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] not in ("edictum", "policyshield"):
        print("usage: python run.py edictum|policyshield FOLDER [PYTEST OPTIONS]", file=sys.stderr)
        return 2
    peer, folder, *options = sys.argv[1:]
    sys.meta_path.insert(0, Finder(peer))
    counts = Counts(reasons_of(peer))
    quiet = ["-p", "no:cacheprovider", "-p", "no:terminal", "-o", "asyncio_mode=auto", "--rootdir", folder]
    pytest.main([folder, *quiet, "--continue-on-collection-errors", *options], plugins=[counts])
    counts.show()
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
