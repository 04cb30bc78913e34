"""Audit events and where they go.

These events are for the program's own eyes. The record that can be verified is Lockgate's audit log, which a gate with a
store keeps (``store="sqlite:FILE"``; docs/audit.md).
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import json
import os
import re
import sys
from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from ..errors import LockgateError

__all__ = [
    "AuditAction",
    "AuditEvent",
    "AuditSink",
    "CollectingAuditSink",
    "CompositeSink",
    "FileAuditSink",
    "MarkEvictedError",
    "RedactionPolicy",
    "StdoutAuditSink",
]


class AuditAction(str, enum.Enum):
    """What has happened."""

    CALL_DENIED = "call_denied"
    CALL_WOULD_DENY = "call_would_deny"
    CALL_ALLOWED = "call_allowed"
    CALL_EXECUTED = "call_executed"
    CALL_FAILED = "call_failed"
    CALL_APPROVAL_REQUESTED = "call_approval_requested"
    CALL_APPROVAL_GRANTED = "call_approval_granted"
    CALL_APPROVAL_DENIED = "call_approval_denied"
    CALL_APPROVAL_TIMEOUT = "call_approval_timeout"
    POSTCONDITION_WARNING = "postcondition_warning"
    WORKFLOW_STAGE_ADVANCED = "workflow_stage_advanced"
    WORKFLOW_COMPLETED = "workflow_completed"


@dataclasses.dataclass
class AuditEvent:
    """One event. Arguments are masked by the guard's redaction policy."""

    action: AuditAction = AuditAction.CALL_DENIED
    tool_name: str = ""
    tool_args: dict[str, Any] = dataclasses.field(default_factory=dict)
    call_id: str = ""
    run_id: str = ""
    session_id: str | None = None
    parent_session_id: str | None = None
    environment: str = ""
    principal: dict[str, Any] | None = None
    decision_source: str | None = None
    decision_name: str | None = None
    reason: str | None = None
    contracts_evaluated: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    workflow: dict[str, Any] | None = None
    tool_success: bool | None = None
    error: str | None = None
    duration_ms: int = 0
    result_summary: str | None = None
    postconditions_passed: bool | None = None
    session_attempt_count: int = 0
    session_execution_count: int = 0
    mode: str = "enforce"
    policy_version: str | None = None
    policy_error: bool = False
    timestamp: datetime.datetime = dataclasses.field(
        default_factory=lambda: datetime.datetime.now(datetime.timezone.utc)
    )

    def line(self) -> str:
        """The event as one line of JSON, without arguments that are too long for one."""
        fields = dataclasses.asdict(self)
        fields["action"] = self.action.value
        fields["timestamp"] = self.timestamp.isoformat()
        return json.dumps(RedactionPolicy().cap_payload(fields), default=str)


@runtime_checkable
class AuditSink(Protocol):
    """Takes events. If it raises before a tool runs, the tool does not run."""

    async def emit(self, event: AuditEvent) -> None:
        """Takes one event."""
        ...


class MarkEvictedError(LockgateError):
    """Events after a mark are no longer kept."""


class CollectingAuditSink:
    """Keeps the latest events in memory. A mark is a place among all events; :meth:`since_mark` says what came after it."""

    def __init__(self, max_events: int = 50_000) -> None:
        if max_events < 1:
            raise ValueError(f"max_events must be >= 1, got {max_events}")
        self._events: deque[AuditEvent] = deque(maxlen=max_events)
        self._count = 0

    @property
    def events(self) -> list[AuditEvent]:
        """The events, the oldest first."""
        return list(self._events)

    async def emit(self, event: AuditEvent) -> None:
        """Keeps one event."""
        self._events.append(event)
        self._count += 1

    def mark(self) -> int:
        """The place after the latest event."""
        return self._count

    def since_mark(self, mark: int) -> list[AuditEvent]:
        """The events after a mark; an error if some of them are no longer kept."""
        if mark > self._count:
            raise ValueError(f"Mark {mark} is ahead of total emitted ({self._count})")
        first = self._count - len(self._events)
        if mark < first:
            raise MarkEvictedError(f"Mark {mark} references evicted events: the first that is kept is {first}")
        return list(self._events)[mark - first :]

    def filter(self, action: AuditAction) -> list[AuditEvent]:
        """The events of one kind."""
        return [event for event in self._events if event.action == action]

    def last(self) -> AuditEvent:
        """The latest event; ``IndexError`` if there is none."""
        return self._events[-1]

    def clear(self) -> None:
        """Forgets all events. Marks from before are no longer good."""
        self._events.clear()

    def __len__(self) -> int:
        return len(self._events)


class StdoutAuditSink:
    """Writes one line of JSON for each event. What they hold was masked by the guard."""

    def __init__(self, redaction: RedactionPolicy | None = None) -> None:
        self.redaction = redaction

    async def emit(self, event: AuditEvent) -> None:
        """Writes one event."""
        sys.stdout.write(event.line() + "\n")
        sys.stdout.flush()


class FileAuditSink:
    """Appends one line of JSON for each event to a file."""

    def __init__(self, path: str | os.PathLike[str], redaction: RedactionPolicy | None = None) -> None:
        self._path, self.redaction = os.fspath(path), redaction

    async def emit(self, event: AuditEvent) -> None:
        """Appends one event."""
        await asyncio.to_thread(self._append, event.line() + "\n")

    def _append(self, line: str) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(line)


class CompositeSink:
    """Hands each event to several sinks, in their order. All of them get it, even if one fails."""

    def __init__(self, sinks: Iterable[AuditSink]) -> None:
        self._sinks = list(sinks)
        if not self._sinks:
            raise ValueError("CompositeSink requires at least one sink")

    @property
    def sinks(self) -> list[AuditSink]:
        """The sinks, in their order."""
        return list(self._sinks)

    async def emit(self, event: AuditEvent) -> None:
        """Hands on one event; raises after all have got it."""
        failed: list[Exception] = []
        for sink in self._sinks:
            try:
                await sink.emit(event)
            except Exception as error:
                failed.append(error)
        if failed:
            raise several("CompositeSink: one or more sinks failed", failed)


def several(message: str, errors: list[Exception]) -> Exception:
    """One error for several, which Python has from 3.11 on."""
    return ExceptionGroup(message, errors) if sys.version_info >= (3, 11) else errors[0]


#: What is written in the place of a secret.
MASK = "[REDACTED]"
#: Names whose values are secret wherever they stand.
SECRET_NAMES = frozenset(
    ("api_tokens", "connection_string", "database_url", "db_passwords", "encryption_keys", "jwt_tokens", "oauth_secrets", "privatekey", "user_credentials")
)
#: Parts of names whose values are not written into events.
SENSITIVE = re.compile(r"(^|[_\-])(pass(words?|phrase|wd)?|secrets?|tokens?|keys?|credentials?|auth(orization)?|apikey)($|[_\-])")
#: What tokens are counted of; counts of tokens are not tokens.
COUNTED = "max num input output total completion prompt cached cache audio reasoning"
#: Names that only look like those of secrets.
SAFE_NAMES = frozenset((*(f"{it}_tokens" for it in COUNTED.split()), "sort_keys", "index_keys"))
#: Values that are secrets, whatever their name.
SECRET_VALUE = re.compile(
    r"sk-[A-Za-z0-9_-]{20}|AKIA[A-Z0-9]{16}|eyJ[\w-]{20,}\.|gh[opsu]_\w{36}|github_pat_\w{22}|xox[abps]-[\w-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY"
)
#: Secrets within commands and addresses.
WITHIN = [
    (r"(\b\w*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)\w*=)\S+", r"\1" + MASK),
    (r"(\s-p\s*|--(?:password|token|secret|api-key)[= ]\s*)\S+", r"\1" + MASK),
    (r"(://[^\s:/@]+:)[^\s@]+(@)", r"\1" + MASK + r"\2"),
]
TEXT_MAX = 1000
RESULT_MAX = 500
PAYLOAD_MAX = 32_768


class RedactionPolicy:
    """What is masked in events: values of sensitive names, values that look like secrets, and secrets in commands.

    ``custom_patterns`` are pairs of an expression and what is put in its place; ``safe_compound_keys`` are names that only look
    sensitive. Long texts are cut.
    """

    def __init__(
        self,
        sensitive_keys: Iterable[str] | None = None,
        custom_patterns: Iterable[tuple[str, str]] | None = None,
        detect_secret_values: bool = True,
        safe_compound_keys: Iterable[str] | None = None,
    ) -> None:
        self._names = SECRET_NAMES | {plain(name) for name in sensitive_keys or ()}
        self._safe = SAFE_NAMES | {plain(name) for name in safe_compound_keys or ()}
        self._patterns = [(re.compile(pattern), to) for pattern, to in [*(custom_patterns or ()), *WITHIN]]
        self._looks_at_values = detect_secret_values

    def redact_args(self, value: Any) -> Any:
        """The same value with sensitive parts masked."""
        if isinstance(value, dict):
            return {key: MASK if self._hides(key) else self.redact_args(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact_args(item) for item in value]
        if not isinstance(value, str):
            return value
        if self._looks_at_values:
            if SECRET_VALUE.match(value):
                return MASK
            value = self.redact_bash_command(value)
        return cut(value, TEXT_MAX)

    def redact_bash_command(self, command: str) -> str:
        """A command without the secrets in it."""
        for pattern, to in self._patterns:
            command = pattern.sub(to, command)
        return command

    def redact_result(self, result: str, max_length: int = RESULT_MAX) -> str:
        """A result without the secrets in it, cut."""
        return cut(self.redact_bash_command(result), max_length)

    def cap_payload(self, data: dict[str, Any]) -> dict[str, Any]:
        """The fields of an event, without its arguments if they are too long for one line."""
        if len(json.dumps(data, default=str)) <= PAYLOAD_MAX:
            return data
        data.pop("result_summary", None)
        data.update({"_truncated": True, "tool_args": {"_redacted": "payload exceeded 32KB"}})
        return data

    def _hides(self, name: Any) -> bool:
        name = plain(name)
        return name in self._names or (name not in self._safe and SENSITIVE.search(name) is not None)


def plain(name: Any) -> str:
    return str(name).lower().replace("-", "_")


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
