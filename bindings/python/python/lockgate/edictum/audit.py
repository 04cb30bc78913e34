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

__all__ = [
    "AuditAction",
    "AuditEvent",
    "AuditSink",
    "CollectingAuditSink",
    "CompositeSink",
    "FileAuditSink",
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
    WORKFLOW_STAGE_ADVANCED = "workflow_stage_advanced"
    WORKFLOW_COMPLETED = "workflow_completed"


@dataclasses.dataclass
class AuditEvent:
    """One event. Arguments are masked by the guard's redaction policy."""

    action: AuditAction
    tool_name: str = ""
    tool_args: dict[str, Any] = dataclasses.field(default_factory=dict)
    call_id: str = ""
    run_id: str = ""
    session_id: str | None = None
    environment: str = ""
    principal: dict[str, Any] | None = None
    decision_source: str | None = None
    decision_name: str | None = None
    reason: str | None = None
    workflow: dict[str, Any] | None = None
    tool_success: bool | None = None
    postconditions_passed: bool | None = None
    session_attempt_count: int = 0
    session_execution_count: int = 0
    mode: str = "enforce"
    policy_version: str | None = None
    timestamp: datetime.datetime = dataclasses.field(
        default_factory=lambda: datetime.datetime.now(datetime.timezone.utc)
    )

    def line(self) -> str:
        """The event as one line of JSON."""
        fields = dataclasses.asdict(self)
        fields["action"] = self.action.value
        fields["timestamp"] = self.timestamp.isoformat()
        return json.dumps(fields, default=str)


@runtime_checkable
class AuditSink(Protocol):
    """Takes events. If it raises before a tool runs, the tool does not run."""

    async def emit(self, event: AuditEvent) -> None:
        """Takes one event."""
        ...


class CollectingAuditSink:
    """Keeps the latest events in memory."""

    def __init__(self, max_events: int = 50_000) -> None:
        self._events: deque[AuditEvent] = deque(maxlen=max_events)

    @property
    def events(self) -> list[AuditEvent]:
        """The events, the oldest first."""
        return list(self._events)

    async def emit(self, event: AuditEvent) -> None:
        """Keeps one event."""
        self._events.append(event)

    def filter(self, action: AuditAction) -> list[AuditEvent]:
        """The events of one kind."""
        return [event for event in self._events if event.action == action]

    def last(self) -> AuditEvent:
        """The latest event; ``IndexError`` if there is none."""
        return self._events[-1]

    def clear(self) -> None:
        """Forgets all events."""
        self._events.clear()

    def __len__(self) -> int:
        return len(self._events)


class StdoutAuditSink:
    """Writes one line of JSON for each event."""

    async def emit(self, event: AuditEvent) -> None:
        """Writes one event."""
        sys.stdout.write(event.line() + "\n")
        sys.stdout.flush()


class FileAuditSink:
    """Appends one line of JSON for each event to a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    async def emit(self, event: AuditEvent) -> None:
        """Appends one event."""
        await asyncio.to_thread(self._append, event.line() + "\n")

    def _append(self, line: str) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(line)


class CompositeSink:
    """Hands each event to several sinks, in their order. All of them get it, even if one fails."""

    def __init__(self, sinks: Iterable[AuditSink]) -> None:
        self.sinks = list(sinks)
        if not self.sinks:
            raise ValueError("a composite sink needs at least one sink")

    async def emit(self, event: AuditEvent) -> None:
        """Hands on one event; raises the first error after all have got it."""
        failed: Exception | None = None
        for sink in self.sinks:
            try:
                await sink.emit(event)
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed


#: Parts of names whose values are not written into events.
SENSITIVE = re.compile(r"(^|[_\-])(pass(word|phrase|wd)?|secrets?|tokens?|keys?|credentials?|auth(orization)?|apikey)($|[_\-])")
#: Counts of tokens are not tokens.
HARMLESS = re.compile(r"^(max|num|input|output|total|completion|prompt|cached|reasoning)_tokens$")
TEXT_MAX = 1000


class RedactionPolicy:
    """What is masked in the arguments of events: values of sensitive names. Long texts are cut."""

    def __init__(self, sensitive_keys: Iterable[str] = ()) -> None:
        self._names = {name.lower().replace("-", "_") for name in sensitive_keys}

    def redact_args(self, value: Any) -> Any:
        """The same value with sensitive parts masked."""
        if isinstance(value, dict):
            return {key: "[REDACTED]" if self._hides(key) else self.redact_args(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact_args(item) for item in value]
        if isinstance(value, str) and len(value) > TEXT_MAX:
            return value[: TEXT_MAX - 3] + "..."
        return value

    def _hides(self, name: Any) -> bool:
        plain = str(name).lower().replace("-", "_")
        return plain in self._names or (SENSITIVE.search(plain) is not None and HARMLESS.match(plain) is None)
