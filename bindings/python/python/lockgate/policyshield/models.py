"""The values that PolicyShield's API takes and returns."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

__all__ = [
    "ChainCondition",
    "OutputRule",
    "PIIMatch",
    "PIIType",
    "PostCheckResult",
    "RuleConfig",
    "RuleSet",
    "Severity",
    "ShieldMode",
    "ShieldResult",
    "TaintChainConfig",
    "Verdict",
]


class Verdict(str, enum.Enum):
    """What is decided about a call."""

    ALLOW = "ALLOW"
    BLOCK = "BLOCK"
    APPROVE = "APPROVE"
    REDACT = "REDACT"


class Severity(str, enum.Enum):
    """How bad it is: of several rules that want the same, the most severe is named."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class PIIType(str, enum.Enum):
    """Kinds of sensitive data."""

    EMAIL = "EMAIL"
    PHONE = "PHONE"
    CREDIT_CARD = "CREDIT_CARD"
    SSN = "SSN"
    IBAN = "IBAN"
    IP_ADDRESS = "IP_ADDRESS"
    PASSPORT = "PASSPORT"
    DATE_OF_BIRTH = "DATE_OF_BIRTH"
    INN = "INN"
    SNILS = "SNILS"
    RU_PASSPORT = "RU_PASSPORT"
    RU_PHONE = "RU_PHONE"
    SECRET = "SECRET"
    CUSTOM = "CUSTOM"


class ShieldMode(str, enum.Enum):
    """Whether rules act. In the other two modes everything runs, and results say which rule would have acted."""

    ENFORCE = "ENFORCE"
    AUDIT = "AUDIT"
    DISABLED = "DISABLED"


@dataclasses.dataclass(frozen=True)
class RuleConfig:
    """One rule. ``tool`` is for rules without ``when``."""

    id: str
    description: str = ""
    when: dict[str, Any] = dataclasses.field(default_factory=dict)
    then: Verdict = Verdict.ALLOW
    message: str | None = None
    severity: Severity = Severity.LOW
    enabled: bool = True
    approval_strategy: str | None = None
    chain: list[dict[str, Any]] | None = None
    tool: str | list[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "then", verdict_of(self.then))
        object.__setattr__(self, "severity", Severity(str(getattr(self.severity, "value", self.severity)).upper()))

    def as_written(self) -> dict[str, Any]:
        """The rule as a rules file has it."""
        when = dict(self.when)
        if self.tool is not None:
            when.setdefault("tool", self.tool)
        if self.chain is not None:
            when["chain"] = [dataclasses.asdict(it) if dataclasses.is_dataclass(it) else it for it in self.chain]
        return kept(
            id=self.id,
            description=self.description or None,
            when=when or None,
            then=self.then.value,
            message=self.message,
            severity=self.severity.value,
            enabled=self.enabled,
            approval_strategy=self.approval_strategy,
        )


@dataclasses.dataclass(frozen=True)
class ChainCondition:
    """A call that must have been made before, within a time."""

    tool: str
    within_seconds: float = 300.0
    min_count: int = 1
    verdict: str | None = None


@dataclasses.dataclass(frozen=True)
class OutputRule:
    """What a result must not be."""

    id: str
    tool: str = ".*"
    max_size: int | None = None
    block_patterns: list[str] = dataclasses.field(default_factory=list)
    then: Verdict = Verdict.BLOCK
    message: str = ""

    def as_written(self) -> dict[str, Any]:
        """The rule as a rules file has it."""
        return kept(
            id=self.id,
            tool=self.tool,
            max_size=self.max_size,
            block_patterns=list(self.block_patterns) or None,
            message=self.message or None,
        )


@dataclasses.dataclass(frozen=True)
class TaintChainConfig:
    """Tools that are closed once a result held sensitive data."""

    enabled: bool = False
    outgoing_tools: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class RuleSet:
    """The rules of a file, or rules that a program writes itself."""

    shield_name: str
    version: int
    rules: list[RuleConfig]
    default_verdict: Verdict = Verdict.ALLOW
    taint_chain: TaintChainConfig = TaintChainConfig()
    honeypots: list[dict[str, Any]] | None = None
    output_rules: list[OutputRule] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "default_verdict", verdict_of(self.default_verdict))

    def enabled_rules(self) -> list[RuleConfig]:
        """The rules that are switched on."""
        return [rule for rule in self.rules if rule.enabled]

    def _nothing(self) -> list[RuleConfig]:
        """A file without a rule is a mistake. A list in a program is empty on purpose, and its engine still has a kill switch."""
        allows = self.default_verdict is Verdict.ALLOW
        return [RuleConfig("no-rules", when={"tool": ".*"})] if allows else []

    def text(self) -> str:
        """The rules as the text of a rules file."""
        taint = self.taint_chain
        written = kept(
            shield_name=self.shield_name,
            version=self.version,
            default_verdict=self.default_verdict.value,
            rules=[rule.as_written() for rule in self.rules or self._nothing()],
            taint_chain={"enabled": True, "outgoing_tools": list(taint.outgoing_tools)} if taint.enabled else None,
            honeypots=self.honeypots,
            output_rules=[rule.as_written() for rule in self.output_rules] or None,
        )
        return json.dumps(written)


@dataclasses.dataclass(frozen=True)
class PIIMatch:
    """Sensitive data of a kind that was found, and the argument it was found in."""

    pii_type: PIIType
    field: str = ""


@dataclasses.dataclass(frozen=True)
class ShieldResult:
    """What is decided about a call. With ``REDACT``, run the tool with ``modified_args``."""

    verdict: Verdict
    rule_id: str | None = None
    message: str = ""
    pii_matches: list[PIIMatch] = dataclasses.field(default_factory=list)
    original_args: dict[str, Any] | None = None
    modified_args: dict[str, Any] | None = None
    approval_id: str | None = None


@dataclasses.dataclass(frozen=True)
class PostCheckResult:
    """What may be passed on of a tool's output: ``redacted_output`` where there is one, nothing if it is blocked."""

    pii_matches: list[PIIMatch] = dataclasses.field(default_factory=list)
    redacted_output: Any = None
    session_tainted: bool = False
    blocked: bool = False
    block_reason: str | None = None


def verdict_of(word: Any) -> Verdict:
    """A verdict in any case of letters."""
    return word if isinstance(word, Verdict) else Verdict(str(word).upper())


def kept(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value is not None}


def found(kinds: Any, field: str = "") -> list[PIIMatch]:
    """What the gate found, in PolicyShield's words."""
    known = PIIType.__members__
    return [PIIMatch(known.get(str(kind).upper().replace("-", "_"), PIIType.CUSTOM), field) for kind in kinds]
