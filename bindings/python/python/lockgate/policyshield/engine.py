"""PolicyShield's engine, on a gate."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from .._lockgate import ManualClock, Output, Permit, Question, Refusal
from ..errors import AnswerError, LockgateError
from ..gate import Gate, Policy, Session
from ..guard import plain
from .approval import ApprovalBackend, ApprovalRequest
from .models import PIIMatch, PostCheckResult, RuleSet, ShieldMode, ShieldResult, Verdict, found
from .rules import load_rules, policy_of

__all__ = ["AsyncShieldEngine", "ShieldEngine"]

#: How many calls of one tool and session may wait for ``post_check``; older ones count as failed.
WAITING_MAX = 1000

#: Options of PolicyShield's engine that are elsewhere here, and where.
ELSEWHERE = {
    "approval_cache": "give the rule an `approval_strategy`",
    "canary_router": "try a new policy with `lockgate diff` and `mode=ShieldMode.AUDIT`",
    "budget_tracker": "write `rate_limits` into the rules file",
    "llm_guard": "no model judges calls here; ask it in a tool of its own and write a rule about the tool",
    "otel_exporter": "give the gate a listener: `engine.gate` takes `on_decision`",
    "pii_detector": "write `pii_patterns` into the rules file",
    "rate_limiter": "write `rate_limits` into the rules file",
    "sanitizer": "write `sanitizer` into the rules file",
    "session_manager": "give the engine a `store`",
    "webhook_notifier": "`lockgate serve` sends webhooks",
}


class ShieldEngine:
    """Rules in force. Whatever goes wrong blocks, also with ``fail_open=True``."""

    def __init__(
        self,
        rules: RuleSet | Policy | str | os.PathLike[str],
        mode: ShieldMode = ShieldMode.ENFORCE,
        *,
        approval_backend: ApprovalBackend | None = None,
        trace_recorder: Any = None,
        fail_open: bool = False,
        store: str = "memory",
        clock: ManualClock | None = None,
        **elsewhere: Any,
    ) -> None:
        for option, value in elsewhere.items():
            if option not in ELSEWHERE:
                raise TypeError(f"ShieldEngine has no option `{option}`")
            if value is not None:
                raise LockgateError(f"`{option}` is not here; {ELSEWHERE[option]}")
        self._rules, self._store, self._clock = rules, store, clock
        self._mode = ShieldMode(mode)
        self.approval_backend = approval_backend
        self._tracer = trace_recorder
        self.is_killed = False
        self._lock = threading.RLock()
        #: Questions that are open, by what they are about.
        self._questions: dict[str, Question] = {}
        #: Calls that wait for ``post_check``, by session and tool, the oldest first.
        self._waiting: dict[tuple[str, str], deque[str]] = {}
        #: Sessions that are moved when rules or the mode change.
        self._sessions: set[str] = set()
        self.session_manager = SessionManager(self)
        self.gate = self._open(policy_of(rules), {})

    @property
    def mode(self) -> ShieldMode:
        """Whether rules act."""
        return self._mode

    @mode.setter
    def mode(self, mode: ShieldMode) -> None:
        self._change(self._rules, ShieldMode(mode))

    @property
    def rules(self) -> RuleSet:
        """The rules as data."""
        if isinstance(self._rules, RuleSet):
            return self._rules
        if isinstance(self._rules, Policy):
            raise LockgateError("this engine was given a policy; its rules are in `engine.gate.policy`")
        return load_rules(self._rules)

    @property
    def rule_count(self) -> int:
        """How many rules there are."""
        return len(self._rules.rules) if isinstance(self._rules, RuleSet) else len(self.gate.policy.rule_names)

    def get_policy_summary(self) -> str:
        """The rules in a few lines, for a model."""
        rules = self.rules
        head = [f"PolicyShield: {rules.shield_name} v{rules.version}", f"Default: {rules.default_verdict.value}"]
        told = [f"  - [{it.then.value}] {it.id}: {it.message or it.description or it.id}" for it in rules.rules]
        return "\n".join([*head, f"Rules: {len(told)}", *told])

    def reload_rules(self, path: str | os.PathLike[str] | None = None) -> None:
        """Puts the rules of another file in force, or those of the same file as it is now. Sessions go on under them."""
        if path is None and isinstance(self._rules, (RuleSet, Policy)):
            raise LockgateError("this engine was not given a file; name one")
        self._change(self._rules if path is None else path, self._mode)

    def check(
        self,
        tool_name: str,
        args: dict[str, Any] | None = None,
        session_id: str = "default",
        sender: Any = None,
        context: Mapping[str, Any] | None = None,
    ) -> ShieldResult:
        """Decides about a call. A call that a human was asked about goes on when it is checked again."""
        with self._lock:
            ruling = self.rule(tool_name, args, session_id, sender, context)
            result = self._result(ruling, args)
            if isinstance(ruling, Permit):
                self._wait_for(session_id, tool_name, ruling.detach())
        if self._tracer is not None:
            pii_types = [it.pii_type.value for it in result.pii_matches]
            traced = {"session_id": session_id, "tool": tool_name, "verdict": result.verdict, "rule_id": result.rule_id}
            self._tracer.record(**traced, pii_types=pii_types, latency_ms=0.0, args=args)
        return result

    def post_check(
        self, tool_name: str, result: Any, session_id: str = "default", *, ok: bool = True
    ) -> PostCheckResult:
        """Settles the oldest call of a tool, and says what may be passed on of its result.

        A result without a check is that of a call that ran nonetheless: it is judged and counted now, without arguments.
        """
        with self._lock:
            waiting = self._waiting.get((session_id, tool_name))
            call_id = waiting.popleft() if waiting else None
            if call_id is None:
                ruling = self.rule(tool_name, {}, session_id, None, None)
                if not isinstance(ruling, Permit):
                    reason = f"`{tool_name}` was not checked before it ran, and may not run: {ruling.verdict['reason']}"
                    return PostCheckResult(blocked=True, block_reason=reason)
                call_id = ruling.detach()
            output = self._session(session_id).settle(call_id, plain(result), ok=ok)
        return self._told(output, session_id)

    def answer(self, approval_id: str, granted: bool, by: str) -> None:
        """Stores a human's answer; the call goes on when it is checked again."""
        self.gate.answer(approval_id, granted is True, by)

    def get_approval_status(self, approval_id: str) -> dict[str, Any]:
        """Where a question stands: ``pending``, ``approved`` or ``denied``."""
        backend = self.approval_backend
        answer = backend.wait_for_response(approval_id, timeout=0.0) if backend is not None else None
        if answer is None:
            return {"status": "pending", "responder": None}
        return {"status": "approved" if answer.approved is True else "denied", "responder": answer.responder}

    def kill(self, reason: str = "Kill switch activated") -> None:
        """Blocks every call of every session."""
        with self._lock:
            self.gate.halt(reason)
            self.is_killed = True

    def resume(self) -> None:
        """Ends :meth:`kill`."""
        with self._lock:
            self.gate.resume()
            self.is_killed = False

    def rule(
        self, tool: str, args: dict[str, Any] | None, session: str, sender: Any, context: Mapping[str, Any] | None
    ) -> Permit | Question | Refusal:
        """Judges a call, or goes on with the question that was asked about the same call before."""
        about = {"sender": sender, "context": dict(context) if context is not None else None}
        key = json.dumps([session, tool, args, about], sort_keys=True, default=repr)
        with self._lock:
            ruling = self._resumed(self._questions.pop(key, None))
            if ruling is None:
                ruling = self._session(session).call(tool, args, **about)
                if isinstance(ruling, Question) and self.approval_backend is not None:
                    told = leading(ruling)
                    message = told.get("reason") or "Approval required"
                    asked = ApprovalRequest(ruling.id, tool, ruling.input, told.get("rule") or "", message, session)
                    self.approval_backend.submit(asked)
            if isinstance(ruling, Question):
                self._questions[key] = ruling
        return ruling

    def _resumed(self, asked: Question | None) -> Permit | Question | Refusal | None:
        if asked is None:
            return None
        try:
            ruling = asked.resume()
            if ruling is None and self.approval_backend is not None:
                answer = self.approval_backend.wait_for_response(asked.id, timeout=0.0)
                if answer is not None:
                    ruling = asked.answer(answer.approved is True, answer.responder or "the approval backend")
            return ruling or asked
        except AnswerError:
            # It was answered on another visit: this is another call.
            return None

    def _result(self, ruling: Permit | Question | Refusal, args: dict[str, Any] | None) -> ShieldResult:
        told = leading(ruling)
        matches = self._seen(ruling, args) if told else []
        rule, reason = told.get("rule"), told.get("reason", "")
        if isinstance(ruling, Refusal):
            if rule == "halted":
                rule = "__kill_switch__"
            return ShieldResult(Verdict.BLOCK, rule, ruling.reason, matches, args)
        if isinstance(ruling, Question):
            return ShieldResult(Verdict.APPROVE, rule, reason or ruling.sentence, matches, args, approval_id=ruling.id)
        if self._mode is ShieldMode.AUDIT and reason:
            reason = f"[AUDIT] {reason}"
        if ruling.is_masked:
            return ShieldResult(Verdict.REDACT, rule, reason, matches, args, ruling.input)
        return ShieldResult(Verdict.ALLOW, rule, reason, matches, args)

    def _seen(self, ruling: Permit | Question | Refusal, args: dict[str, Any] | None) -> list[PIIMatch]:
        """The sensitive data in a call that a rule has something to say about."""
        seen = self.gate.policy.see(ruling.tool, args).get("sensitive", ())
        return [match for it in seen for match in found(it["kinds"], it["field"])]

    def _session(self, name: str) -> Session:
        self._sessions.add(name)
        return self.gate.session(name)

    def _open(self, policy: Policy, saved: Mapping[str, str]) -> Gate:
        mode = "enforce" if self._mode is ShieldMode.ENFORCE else "observe"
        return Gate(policy, mode=mode, store=self._store, clock=self._clock, restore=saved)

    def _change(self, rules: RuleSet | Policy | str | os.PathLike[str], mode: ShieldMode) -> None:
        """Another gate for the same sessions. If the rules have a mistake, nothing changes."""
        policy = policy_of(rules)
        with self._lock:
            in_memory = self._store == "memory"
            saved = {name: self.gate.session(name).to_json() for name in self._sessions} if in_memory else {}
            self._rules, self._mode = rules, mode
            self.gate = self._open(policy, saved)
            self._questions.clear()
            for name in self._sessions:
                self.gate.session(name).accept_policy("the program that changed its rules")

    def _wait_for(self, session: str, tool: str, call_id: str) -> None:
        waiting = self._waiting.setdefault((session, tool), deque())
        waiting.append(call_id)
        if len(waiting) > WAITING_MAX:
            self.gate.session(session).settle(waiting.popleft(), None, ok=False)

    def _told(self, output: Output, session: str) -> PostCheckResult:
        blocked = output.decision == "block"
        return PostCheckResult(
            pii_matches=found(output.settlement.get("found", ())),
            redacted_output=None if output.is_unchanged or blocked else output.value,
            session_tainted=self.session_manager.get(session).pii_tainted,
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


class SessionManager:
    """The sessions of an engine."""

    def __init__(self, engine: ShieldEngine) -> None:
        self._engine = engine

    def get(self, session_id: str) -> SessionState:
        """Where a session stands."""
        return SessionState(self._engine, session_id)

    get_or_create = get


class SessionState:
    """Where one session stands, as the gate knows it now."""

    def __init__(self, engine: ShieldEngine, session_id: str) -> None:
        self._engine, self.session_id = engine, session_id

    @property
    def _status(self) -> dict[str, Any]:
        return self._engine.gate.session(self.session_id).status()

    @property
    def pii_tainted(self) -> bool:
        """Whether sensitive data was seen in results."""
        return bool(self._status.get("tainted", False))

    @property
    def taint_details(self) -> str | None:
        """The kinds of sensitive data that were seen."""
        kinds = self._status.get("taints", [])
        return f"PII detected: {', '.join(kinds)}" if kinds else None

    @property
    def total_calls(self) -> int:
        """How many calls were let pass."""
        return self._status["counters"]["tool_calls"]

    def clear_taint(self) -> None:
        """Forgets that sensitive data was seen: what that closed is open again."""
        self._engine.gate.session(self.session_id).untaint()


def leading(ruling: Permit | Question | Refusal) -> dict[str, Any]:
    """The first that is said about a call."""
    verdict = ruling.verdict
    return (verdict.get("obstacles") or verdict.get("observed") or [{}])[0]
