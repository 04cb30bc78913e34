"""Rules files as PolicyShield's parser returns them.

The gate reads a file itself; what is returned here is for programs that look at rules or change them.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from .._lockgate import read_data
from ..errors import PolicyError
from ..gate import Policy
from .models import OutputRule, RuleConfig, RuleSet, TaintChainConfig, Verdict

__all__ = ["PolicyShieldParseError", "load_rules", "parse_rule_file", "parse_rules_from_string", "policy_of"]

#: A rules file that is missing or has mistakes.
PolicyShieldParseError = PolicyError

SUFFIXES = (".yaml", ".yml")


def parse_rule_file(file_path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a rules file holds, before anything in it is looked at."""
    path = pathlib.Path(file_path)
    if not path.exists():
        raise PolicyShieldParseError(f"File not found: {path}")
    if path.suffix not in SUFFIXES:
        raise PolicyShieldParseError(f"Not a YAML file: {path}")
    return mapping(str(path), path.read_text("utf-8"))


def parse_rules_from_string(yaml_text: str) -> RuleSet:
    """The rules of a text. It is read and checked as a policy first."""
    Policy(texts={"rules.yaml": yaml_text})
    return rule_set(mapping("rules.yaml", yaml_text), "rules")


def load_rules(path: str | os.PathLike[str]) -> RuleSet:
    """The rules of a file, or of the files of a folder. They are read and checked as a policy first."""
    path = pathlib.Path(path)
    if path.is_file():
        Policy(path)
        return rule_set(included(path), path.stem)
    if not path.is_dir():
        raise PolicyShieldParseError(f"Path does not exist: {path}")
    files = sorted((it for it in path.iterdir() if it.suffix in SUFFIXES), key=lambda it: it.stem)
    if not files:
        raise PolicyShieldParseError(f"No YAML files found in {path}")
    Policy(*files)
    joined: dict[str, Any] = {}
    for file in files:
        read = parse_rule_file(file)
        for key in ("rules", "output_rules", "honeypots"):
            if read.get(key):
                joined[key] = [*joined.get(key, []), *read.pop(key)]
        joined = {**read, **joined}
    return rule_set(joined, path.name)


def policy_of(rules: RuleSet | Policy | str | os.PathLike[str]) -> Policy:
    """The policy of a file, of a folder, or of rules that a program wrote."""
    if isinstance(rules, Policy):
        return rules
    if isinstance(rules, RuleSet):
        return Policy(texts={"rules.yaml": rules.text()})
    return Policy(rules)


def mapping(name: str, text: str) -> dict[str, Any]:
    """A text that must hold a mapping."""
    try:
        read = read_data(name, text)
    except PolicyError as error:
        raise PolicyShieldParseError(f"Invalid YAML: {error}", error.diagnostics) from error
    if not isinstance(read, dict):
        raise PolicyShieldParseError(f"{name}: the root must be a mapping")
    return read


def included(path: pathlib.Path) -> dict[str, Any]:
    """A file with the rules of the files that it includes, which come first."""
    read = parse_rule_file(path)
    rules: list[Any] = []
    for name in read.pop("include", []):
        rules += included(path.parent / name).get("rules", [])
    return {**read, "rules": rules + read.get("rules", [])}


def rule_set(read: Mapping[str, Any], name: str) -> RuleSet:
    """Rules as data, from what a file says."""
    raw = {rule["id"]: rule for rule in read.get("rules", [])}
    return RuleSet(
        shield_name=read.get("shield_name", name),
        version=int(read.get("version", 1)),
        rules=[rule_config(inherited(rule, raw)) for rule in raw.values()],
        default_verdict=read.get("default_verdict", Verdict.ALLOW),
        taint_chain=TaintChainConfig(**read.get("taint_chain", {})),
        honeypots=read.get("honeypots"),
        output_rules=[output_rule(rule) for rule in read.get("output_rules", [])],
    )


def inherited(rule: dict[str, Any], all_rules: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A rule with what it takes from the rule that it extends."""
    parent = rule.get("extends")
    if parent is None:
        return rule
    return {**inherited(all_rules[parent], all_rules), **rule}


def rule_config(rule: Mapping[str, Any]) -> RuleConfig:
    when = dict(rule.get("when") or {})
    tool = rule.get("tool", rule.get("tool_name"))
    if tool is not None:
        when.setdefault("tool", tool)
    return RuleConfig(
        id=rule["id"],
        description=rule.get("description", ""),
        chain=when.pop("chain", rule.get("chain")),
        when=when,
        then=rule.get("then") or rule["verdict"],
        message=rule.get("message"),
        severity=rule.get("severity", "LOW"),
        enabled=rule.get("enabled", True),
        approval_strategy=rule.get("approval_strategy"),
    )


def output_rule(rule: Mapping[str, Any]) -> OutputRule:
    return OutputRule(
        id=rule.get("id", f"output_{rule['tool']}"),
        tool=rule["tool"],
        max_size=rule.get("max_size"),
        block_patterns=rule.get("block_patterns", []),
        then=rule.get("then", Verdict.BLOCK),
        message=rule.get("message", ""),
    )
