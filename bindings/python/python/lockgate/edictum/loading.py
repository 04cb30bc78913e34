"""Rulesets, workflows and templates as files and texts."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from .._lockgate import read_data
from ..errors import PolicyError
from ..gate import Policy
from .model import EdictumConfigError, MissingRulesetError

__all__ = ["TemplateInfo"]

TEMPLATES = pathlib.Path(__file__).parent / "templates"
#: The name of the ruleset with tools that are declared in code.
DECLARED = "declared-tools.yaml"
#: First words of selectors that are not the program's to define.
BUILT_IN = frozenset(("args", "env", "environment", "metadata", "output", "principal", "tool"))


@dataclasses.dataclass(frozen=True)
class TemplateInfo:
    """A ruleset to start from."""

    name: str
    path: pathlib.Path
    builtin: bool


def templates_in(folders: list[str | os.PathLike[str]] | None) -> list[TemplateInfo]:
    """The templates of folders and of the package; the first of a name counts."""
    found: dict[str, TemplateInfo] = {}
    for folder in [*(pathlib.Path(it) for it in folders or []), TEMPLATES]:
        for file in sorted(folder.glob("*.yaml")):
            found.setdefault(file.stem, TemplateInfo(file.stem, file, folder == TEMPLATES))
    return list(found.values())


def version_of(files: list[str | os.PathLike[str]], texts: Mapping[str, str]) -> str | None:
    """The SHA-256 of the only file or text; None where there are several."""
    written = [pathlib.Path(it).read_bytes() for it in files if pathlib.Path(it).is_file()]
    written += [text.encode() for name, text in texts.items() if name != DECLARED]
    return hashlib.sha256(written[0]).hexdigest() if len(written) == 1 and len(files) <= 1 else None


def joined(given: list[tuple[list[Any], Mapping[str, str]]]) -> dict[str, str]:
    """The texts of several guards as one policy in which each rule does what it did in its own.

    Rulesets of one policy are layers: a later one replaces rules of the same name, and its defaults count for all. Here
    nothing is replaced, so each rule gets the mode of its file, and a name that comes twice is a mistake.
    """
    texts: dict[str, str] = {}
    seen: set[str] = set()
    for at, (files, own) in enumerate(given):
        written = [(os.fspath(it), pathlib.Path(it).read_text("utf-8")) for it in files]
        for name, text in [*written, *own.items()]:
            read = read_data(name, text)
            mode = (read.get("defaults") or {}).get("mode") if isinstance(read, dict) else None
            for rule in read.get("rules", []) if mode is not None and name != DECLARED else []:
                rule.setdefault("mode", mode)
                if rule["id"] in seen:
                    raise EdictumConfigError(f"Duplicate rule id '{rule['id']}': give one of the rules another name")
                seen.add(rule["id"])
            texts[f"{at}/{name.replace(os.sep, '-')}"] = json.dumps(read)
    return texts


def load(
    files: list[str | os.PathLike[str]], texts: Mapping[str, str], options: Mapping[str, Any]
) -> Policy:
    """The policy of these files and texts."""
    selectors = options.get("custom_selectors") or {}
    clashes = sorted(BUILT_IN & set(selectors))
    if clashes:
        raise EdictumConfigError(f"custom selectors clash with built-in selectors: {', '.join(clashes)}")
    for prefix, function in selectors.items():
        if not callable(function):
            raise EdictumConfigError(f"the custom selector `{prefix}` is not callable")
    for file in files:
        if not pathlib.Path(file).exists():
            raise MissingRulesetError(f"no such file: `{os.fspath(file)}`")
    try:
        return Policy(*files, texts=texts, selectors=list(selectors))
    except PolicyError as error:
        raise EdictumConfigError(f"{mistake_in(texts)}: {error}", error.diagnostics) from error


def mistake_in(texts: Mapping[str, str]) -> str:
    """What is wrong with a text, in Edictum's words."""
    for name, text in texts.items():
        try:
            if not isinstance(read_data(name, text), dict):
                return "a ruleset must be a mapping"
        except PolicyError:
            return "YAML parse error"
    return "Schema validation failed"


def mode_of(files: list[str | os.PathLike[str]], texts: Mapping[str, str]) -> str | None:
    """What the first ruleset says that its rules do."""
    written = [(os.fspath(it), pathlib.Path(it).read_text("utf-8")) for it in files if pathlib.Path(it).is_file()]
    for name, text in [*written, *((name, text) for name, text in texts.items() if name != DECLARED)]:
        read = read_data(name, text)
        if isinstance(read, dict) and isinstance(read.get("defaults"), dict):
            return read["defaults"].get("mode")
    return None


def declared(tools: Mapping[str, Mapping[str, Any]] | None) -> dict[str, str]:
    """Tools that are declared in code, as a ruleset whose only rule is switched off."""
    if not tools:
        return {}
    idle = {"action": "block", "message": "not in force"}
    rule = {"id": "declared-tools", "type": "pre", "tool": "*", "enabled": False, "then": idle}
    rule["when"] = {"tool.name": {"exists": True}}
    head = {"apiVersion": "edictum/v1", "kind": "Ruleset", "metadata": {"name": "declared-tools"}}
    bundle = {**head, "defaults": {"mode": "enforce"}, "tools": {key: dict(it) for key, it in tools.items()}}
    return {DECLARED: json.dumps({**bundle, "rules": [rule]})}


def workflow_text(path: Any, content: str | bytes | None) -> dict[str, str]:
    """A workflow that is given as a text."""
    if path is not None and content is not None:
        raise EdictumConfigError("give `workflow_path` or `workflow_content`, not both")
    return {} if content is None else {"workflow.yaml": text_of(content)}


def text_of(content: str | bytes) -> str:
    """A file's content as text."""
    try:
        return content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError as error:
        raise EdictumConfigError("the ruleset is not UTF-8; save it as UTF-8") from error


def refuse(custom_operators: Any, backend: Any, return_report: bool) -> None:
    """Says what is not here, and what to do instead."""
    if custom_operators:
        raise EdictumConfigError("custom operators are not here; use a custom selector that answers true or false")
    if backend is not None:
        raise EdictumConfigError("storage backends are not here; give `store=\"sqlite:FILE\"`")
    if return_report:
        raise EdictumConfigError("there is no composition report; overrides are in `guard.gate.policy.findings`")
