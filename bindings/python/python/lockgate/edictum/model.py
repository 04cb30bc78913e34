"""The values that Edictum's API takes and returns."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable

from ..errors import LockgateError, PolicyError

__all__ = [
    "ApprovalBackend",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalStatus",
    "EdictumConfigError",
    "EdictumDenied",
    "EdictumToolError",
    "EvaluationResult",
    "Principal",
    "RuleResult",
    "ToolCall",
]


class EdictumDenied(LockgateError):  # noqa: N818
    """A call must not run. ``reason`` is the leading obstacle's; ``decision_name`` is the rule."""

    def __init__(self, reason: str, decision_source: str | None = None, decision_name: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.decision_source = decision_source
        self.decision_name = decision_name


class EdictumConfigError(PolicyError):
    """Rules or a workflow cannot be loaded, or an option asks for what is not here. Every mistake is in the message."""


class MissingRulesetError(EdictumConfigError, FileNotFoundError):
    """A file of rules or of a workflow does not exist."""


class EdictumToolError(LockgateError):
    """The tool ran and failed. The message is what may be passed on of its result."""


@dataclasses.dataclass(frozen=True)
class Principal:
    """Who calls: rules look at it as ``principal.…``."""

    user_id: str | None = None
    service_id: str | None = None
    org_id: str | None = None
    role: str | None = None
    ticket_ref: str | None = None
    claims: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A call as callbacks and custom selectors see it."""

    tool_name: str
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    call_id: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))
    run_id: str = ""
    parent_call_id: str | None = None
    environment: str = "production"
    principal: Principal | None = None
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class RuleResult:
    """What one rule says to a call or to an output."""

    rule_id: str
    rule_type: str
    passed: bool
    message: str | None = None
    tags: list[str] = dataclasses.field(default_factory=list)
    observed: bool = False
    action: str = "warn"
    policy_error: bool = False


@dataclasses.dataclass(frozen=True)
class EvaluationResult:
    """What all rules say to a call by itself: ``allow``, ``block`` or ``warn``."""

    decision: str
    tool_name: str
    rules: list[RuleResult] = dataclasses.field(default_factory=list)
    block_reasons: list[str] = dataclasses.field(default_factory=list)
    warn_reasons: list[str] = dataclasses.field(default_factory=list)
    rules_evaluated: int = 0
    policy_error: bool = False


class ApprovalStatus(str, enum.Enum):
    """Where a request for approval stands."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    TIMEOUT = "timeout"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


@dataclasses.dataclass(frozen=True)
class ApprovalRequest:
    """A question that a backend has taken on."""

    approval_id: str
    tool_name: str
    tool_args: dict[str, Any]
    message: str
    timeout: int
    timeout_action: str = "block"
    principal: dict[str, Any] | None = None
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    session_id: str | None = None
    created_at: datetime.datetime = dataclasses.field(default_factory=_now)


@dataclasses.dataclass(frozen=True)
class ApprovalDecision:
    """A human's answer. Only ``approved is True`` is a yes."""

    approved: bool
    approver: str | None = None
    reason: str | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    timestamp: datetime.datetime = dataclasses.field(default_factory=_now)


@runtime_checkable
class ApprovalBackend(Protocol):
    """What a program gives to ask a human."""

    def request_approval(
        self, tool_name: str, tool_args: dict[str, Any], message: str, **about: Any
    ) -> Awaitable[ApprovalRequest]:
        """Asks. ``about`` has timeout, timeout_action, principal, metadata and session_id."""
        ...

    def wait_for_decision(self, approval_id: str, timeout: int | None = None) -> Awaitable[ApprovalDecision]:
        """Waits for the answer."""
        ...
