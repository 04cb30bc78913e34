"""The names of PolicyShield's engine, on Lockgate: ``from lockgate.policyshield import ShieldEngine``.

>>> engine = ShieldEngine("rules.yaml")
>>> result = engine.check("deploy", {"env": "prod"}, context={"user_role": "developer"})

Rules mean what docs/from/policyshield.md says. There is no ``fail_open``: whatever goes wrong blocks. What a tool returned is
given to ``post_check``, which settles the oldest call of that tool and says what may be passed on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import inspect
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ._lockgate import ManualClock, Output, Permit, Question, Refusal
from .errors import AnswerError, LockgateError, PolicyError
from .gate import Gate, Policy
from .guard import plain, settle_failure

__all__ = [
    "ApprovalRequiredError",
    "AsyncShieldEngine",
    "PolicyShieldParseError",
    "PostCheckResult",
    "ShieldEngine",
    "ShieldMode",
    "ShieldResult",
    "Verdict",
    "shield",
]

#: A rules file that is missing or has mistakes.
PolicyShieldParseError = PolicyError

#: How many calls of one tool and session may wait for ``post_check``; older ones count as failed.
WAITING_MAX = 1000


class Verdict(str, enum.Enum):
    """What is decided about a call."""

    ALLOW = "ALLOW"
    BLOCK = "BLOCK"
    APPROVE = "APPROVE"
    REDACT = "REDACT"


class ShieldMode(str, enum.Enum):
    """Whether rules act. In the other two modes everything runs, and results say which rule would have acted."""

    ENFORCE = "ENFORCE"
    AUDIT = "AUDIT"
    DISABLED = "DISABLED"


@dataclasses.dataclass(frozen=True)
class ShieldResult:
    """What is decided about a call. With ``REDACT``, run the tool with ``modified_args``."""

    verdict: Verdict
    rule_id: str | None = None
    message: str = ""
    original_args: dict[str, Any] | None = None
    modified_args: dict[str, Any] | None = None
    approval_id: str | None = None


@dataclasses.dataclass(frozen=True)
class PostCheckResult:
    """What may be passed on of a tool's output: ``redacted_output`` where there is one, nothing if it is blocked."""

    pii_matches: tuple[str, ...] = ()
    redacted_output: Any = None
    session_tainted: bool = False
    blocked: bool = False
    block_reason: str | None = None


class ApprovalRequiredError(LockgateError):
    """A human must answer first: ``engine.answer(error.approval_id, True, "NAME")``, and call again."""

    def __init__(self, message: str, approval_id: str) -> None:
        super().__init__(message)
        self.approval_id = approval_id


class ShieldEngine:
    """A rules file in force."""

    def __init__(
        self,
        rules: str | os.PathLike[str] | Policy,
        mode: ShieldMode = ShieldMode.ENFORCE,
        *,
        store: str = "memory",
        clock: ManualClock | None = None,
    ) -> None:
        self.mode = ShieldMode(mode)
        observes = self.mode is not ShieldMode.ENFORCE
        self.gate = Gate(rules, mode="observe" if observes else "enforce", store=store, clock=clock)
        self.is_killed = False
        self._lock = threading.Lock()
        #: Questions that are open, by what they are about.
        self._questions: dict[str, Question] = {}
        #: Calls that wait for ``post_check``, by session and tool, the oldest first.
        self._waiting: dict[tuple[str, str], deque[str]] = {}

    @property
    def rule_count(self) -> int:
        """How many rules there are."""
        return len(self.gate.policy.rule_names)

    def check(
        self,
        tool_name: str,
        args: dict[str, Any] | None = None,
        session_id: str = "default",
        sender: Any = None,
        context: Mapping[str, Any] | None = None,
    ) -> ShieldResult:
        """Decides about a call. A call that a human was asked about goes on when it is checked again."""
        ruling = self._rule(tool_name, args, session_id, sender, context)
        verdict = ruling.verdict
        told = (verdict.get("obstacles") or verdict.get("observed") or [{}])[0]
        result = ShieldResult(Verdict.ALLOW, told.get("rule"), told.get("reason", ""), original_args=args)
        if isinstance(ruling, Refusal):
            return dataclasses.replace(result, verdict=Verdict.BLOCK, message=ruling.reason)
        if isinstance(ruling, Question):
            reason = told.get("reason") or ruling.sentence
            return dataclasses.replace(result, verdict=Verdict.APPROVE, message=reason, approval_id=ruling.id)
        if ruling.is_masked:
            result = dataclasses.replace(result, verdict=Verdict.REDACT, modified_args=ruling.input)
        self._wait_for(session_id, tool_name, ruling.detach())
        return result

    def post_check(
        self, tool_name: str, result: Any, session_id: str = "default", *, ok: bool = True
    ) -> PostCheckResult:
        """Settles the oldest call of a tool, and says what may be passed on of its result."""
        with self._lock:
            waiting = self._waiting.get((session_id, tool_name))
            call_id = waiting.popleft() if waiting else None
        if call_id is None:
            reason = f"no call of `{tool_name}` is waiting for a result; check it before it runs"
            return PostCheckResult(blocked=True, block_reason=reason)
        session = self.gate.session(session_id)
        return self._told(session.settle(call_id, plain(result), ok=ok), session_id)

    def answer(self, approval_id: str, granted: bool, by: str) -> None:
        """Stores a human's answer; the call goes on when it is checked again."""
        self.gate.answer(approval_id, granted is True, by)

    def kill(self, reason: str = "killed") -> None:
        """Blocks every call of every session."""
        self.gate.halt(reason)
        self.is_killed = True

    def resume(self) -> None:
        """Ends :meth:`kill`."""
        self.gate.resume()
        self.is_killed = False

    def _rule(
        self, tool: str, args: dict[str, Any] | None, session: str, sender: Any, context: Mapping[str, Any] | None
    ) -> Permit | Question | Refusal:
        about = {"sender": sender, "context": dict(context) if context is not None else None}
        key = json.dumps([session, tool, args, about], sort_keys=True, default=repr)
        with self._lock:
            asked = self._questions.pop(key, None)
        ruling: Permit | Question | Refusal | None = None
        if asked is not None:
            try:
                ruling = asked.resume() or asked
            except AnswerError:
                # It was answered on another visit: this is another call.
                ruling = None
        if ruling is None:
            ruling = self.gate.session(session).call(tool, args, **about)
        if isinstance(ruling, Question):
            with self._lock:
                self._questions[key] = ruling
        return ruling

    def _wait_for(self, session: str, tool: str, call_id: str) -> None:
        with self._lock:
            waiting = self._waiting.setdefault((session, tool), deque())
            waiting.append(call_id)
            late = waiting.popleft() if len(waiting) > WAITING_MAX else None
        if late is not None:
            self.gate.session(session).settle(late, None, ok=False)

    def _told(self, output: Output, session: str) -> PostCheckResult:
        blocked = output.decision == "block"
        return PostCheckResult(
            pii_matches=tuple(output.settlement.get("found", ())),
            redacted_output=None if output.is_unchanged or blocked else output.value,
            session_tainted=bool(self.gate.session(session).status().get("tainted", False)),
            blocked=blocked,
            block_reason=output.sentence if blocked else None,
        )


class AsyncShieldEngine(ShieldEngine):
    """The same for asyncio."""

    async def check(self, *args: Any, **kwargs: Any) -> ShieldResult:  # type: ignore[override]
        """Decides about a call, without keeping the event loop waiting for a disk."""
        return await self._later(super().check, *args, **kwargs)

    async def post_check(self, *args: Any, **kwargs: Any) -> PostCheckResult:  # type: ignore[override]
        """Settles a call in the same way."""
        return await self._later(super().post_check, *args, **kwargs)

    async def _later(self, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.gate.is_slow:
            return await asyncio.to_thread(work, *args, **kwargs)
        return work(*args, **kwargs)


def shield(
    engine: ShieldEngine,
    tool_name: str | None = None,
    session_id: str = "default",
    on_block: str = "raise",
    context: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Guards a function: it runs with the input that the rules agree to, and its output is masked or withheld.

    A call that must not run raises ``PermissionError``, or returns None with ``on_block="return_none"``.
    """
    if on_block not in ("raise", "return_none"):
        raise LockgateError(f"`{on_block}` is not known; use `raise` or `return_none`")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = tool_name or function.__name__
        signature = inspect.signature(function)
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        if any(it.kind not in named for it in signature.parameters.values()):
            raise LockgateError(f"`{name}` takes arguments without names; rules need a name for each")

        def judged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Permit | None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            ruling = engine._rule(name, dict(bound.arguments), session_id, None, context)
            if isinstance(ruling, Permit):
                return ruling
            if on_block == "return_none":
                return None
            if isinstance(ruling, Question):
                raise ApprovalRequiredError(ruling.sentence, ruling.id)
            raise PermissionError(ruling.sentence)

        def settled(permit: Permit, value: Any) -> Any:
            output = permit.settle(plain(value))
            if output.decision == "block" and on_block == "raise":
                raise PermissionError(output.sentence or "the output is withheld")
            return value if output.is_unchanged else (None if output.decision == "block" else output.value)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def shielded_async(*args: Any, **kwargs: Any) -> Any:
                permit = judged(args, kwargs)
                if permit is None:
                    return None
                try:
                    value = await function(**permit.input)
                except BaseException as error:
                    settle_failure(permit, error)
                    raise
                return settled(permit, value)

            return shielded_async

        @functools.wraps(function)
        def shielded(*args: Any, **kwargs: Any) -> Any:
            permit = judged(args, kwargs)
            if permit is None:
                return None
            try:
                value = function(**permit.input)
            except BaseException as error:
                settle_failure(permit, error)
                raise
            return settled(permit, value)

        return shielded

    return decorate
