"""A ruleset in force, with the methods of Edictum."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import inspect
import json
import logging
import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from .._lockgate import Permit, Question, Refusal
from ..gate import Gate, Policy, Session
from ..guard import plain
from .audit import AuditAction, AuditEvent, AuditSink, CollectingAuditSink, CompositeSink, RedactionPolicy
from .loading import TemplateInfo, declared, joined, load, mode_of, refuse, templates_in, text_of, version_of, workflow_text
from .model import (
    ApprovalBackend,
    ApprovalDecision,
    ApprovalStatus,
    EdictumConfigError,
    EdictumDenied,
    EdictumToolError,
    EvaluationResult,
    Principal,
    RuleResult,
    ToolCall,
)

__all__ = ["Edictum"]

Ruling = Permit | Question | Refusal
PrincipalResolver = Callable[[str, dict[str, Any]], "Principal | None"]

logger = logging.getLogger(__name__)

#: How long a backend is given, in seconds, as Edictum does. The rule's own ``timeout`` is kept by the gate.
APPROVAL_SECONDS = 300
#: Edictum's words for the kinds of rules.
TYPES = {"check": "precondition", "sandbox": "sandbox", "session": "session_contract", "output": "postcondition"}
SOURCES = {"check": "yaml_precondition", "sandbox": "yaml_sandbox", "session": "yaml_session"}

#: The call that is judged now, for custom selectors.
_judged: contextvars.ContextVar[ToolCall | None] = contextvars.ContextVar("lockgate_edictum_call", default=None)


class Edictum:
    """Rules in force. Make one with :meth:`from_yaml`, :meth:`from_yaml_string` or :meth:`from_template`."""

    def __init__(
        self,
        policy: Policy,
        *,
        mode: str | None = None,
        audit_sink: AuditSink | list[AuditSink] | None = None,
        redaction: RedactionPolicy | None = None,
        environment: str = "production",
        on_block: Callable[[ToolCall, str, str | None], None] | None = None,
        on_allow: Callable[[ToolCall], None] | None = None,
        custom_selectors: Mapping[str, Callable[[ToolCall], dict[str, Any]]] | None = None,
        success_check: Callable[[str, Any], bool] | None = None,
        principal: Principal | None = None,
        principal_resolver: PrincipalResolver | None = None,
        approval_backend: ApprovalBackend | None = None,
        workflow_exec_evaluator_enabled: bool = False,
        store: str = "memory",
    ) -> None:
        """Puts a policy in force. ``store`` is where sessions are: ``memory`` or ``sqlite:FILE``."""
        self.mode = mode or "enforce"
        self.environment = environment
        self.redaction = redaction or RedactionPolicy()
        #: The latest events, whatever the other sinks are.
        self.local_sink = CollectingAuditSink()
        sinks = audit_sink if isinstance(audit_sink, list) else [audit_sink] if audit_sink is not None else []
        self.audit_sink = CompositeSink([self.local_sink, *sinks]) if sinks else self.local_sink
        self._on_block, self._on_allow = on_block, on_allow
        self._success_check = success_check or succeeded
        self._principal, self._principal_resolver = principal, principal_resolver
        self._approval_backend = approval_backend
        self._session_id = str(uuid.uuid4())
        #: What :meth:`from_multiple` joins: files, texts and options.
        self._given: tuple[list[Any], Mapping[str, str], Mapping[str, Any]] = ([], {}, {})
        self._version: str | None = None
        #: The Lockgate gate, for the adapters of agent frameworks.
        self.gate = Gate(
            policy,
            mode=self.mode,
            store=store,
            approver=self._approved if approval_backend is not None else None,
            describe={prefix: selector(function) for prefix, function in (custom_selectors or {}).items()},
            run_programs=workflow_exec_evaluator_enabled,
        )
        self._has_workflow = bool(self.gate.session(self._session_id).status().get("workflows"))

    @classmethod
    def from_yaml(
        cls,
        *paths: str | os.PathLike[str],
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        workflow_path: str | os.PathLike[str] | None = None,
        workflow_content: str | bytes | None = None,
        custom_operators: Mapping[str, Any] | None = None,
        backend: Any = None,
        return_report: bool = False,
        **options: Any,
    ) -> Edictum:
        """Loads rulesets, and a workflow beside them. Options are those of the constructor."""
        if not paths:
            raise EdictumConfigError("from_yaml() requires at least one path")
        refuse(custom_operators, backend, return_report)
        files = [*paths, *([workflow_path] if workflow_path is not None else [])]
        texts = {**declared(tools), **workflow_text(workflow_path, workflow_content)}
        return cls._of(files, texts, options)

    @classmethod
    def from_yaml_string(
        cls,
        content: str | bytes,
        *,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        workflow_path: str | os.PathLike[str] | None = None,
        workflow_content: str | bytes | None = None,
        custom_operators: Mapping[str, Any] | None = None,
        backend: Any = None,
        **options: Any,
    ) -> Edictum:
        """The same from a text."""
        refuse(custom_operators, backend, False)
        files = [workflow_path] if workflow_path is not None else []
        texts = {**declared(tools), "ruleset.yaml": text_of(content)}
        texts.update(workflow_text(workflow_path, workflow_content))
        return cls._of(files, texts, options)

    @classmethod
    def from_bundle_dict(cls, bundle: Mapping[str, Any], **options: Any) -> Edictum:
        """The same from what a ruleset's YAML would be read as."""
        return cls.from_yaml_string(json.dumps(bundle), **options)

    @classmethod
    def from_multiple(cls, guards: list[Edictum]) -> Edictum:
        """The rules of several guards together, with the options of the first. Two rules of one name are a mistake."""
        if not guards:
            raise EdictumConfigError("from_multiple() requires at least one guard")
        return cls._of([], joined([guard._given[:2] for guard in guards]), guards[0]._given[2])

    @classmethod
    def _of(
        cls, files: list[str | os.PathLike[str]], texts: Mapping[str, str], options: Mapping[str, Any]
    ) -> Edictum:
        guard = cls(load(files, texts, options), **options)
        # Each file's own mode is kept by the gate; this is what the guard says of itself.
        guard.mode = options.get("mode") or mode_of(files, texts) or "enforce"
        guard._given, guard._version = (files, texts, options), version_of(files, texts)
        return guard

    @classmethod
    def from_template(
        cls, name: str, *, template_dirs: list[str | os.PathLike[str]] | None = None, **options: Any
    ) -> Edictum:
        """Loads a ruleset by its name, from folders of yours or from those of the package."""
        known = cls.list_templates(template_dirs)
        for template in known:
            if template.name == name:
                return cls.from_yaml(template.path, **options)
        names = ", ".join(it.name for it in known)
        raise EdictumConfigError(f"Template '{name}' not found; there are: {names}")

    @classmethod
    def list_templates(cls, template_dirs: list[str | os.PathLike[str]] | None = None) -> list[TemplateInfo]:
        """The templates of folders of yours and of the package; the first of a name counts."""
        return templates_in(template_dirs)

    @property
    def policy_version(self) -> str:
        """What the policy is: the SHA-256 of one ruleset's text, or a hash of several files in their order."""
        return self._version or self.gate.policy.hash

    def set_principal(self, principal: Principal) -> None:
        """Who calls from now on, where a call does not say."""
        self._principal = principal

    async def close(self) -> None:
        """There is nothing to close; it is here so that programs need no change."""

    def evaluate(
        self,
        tool_name: str,
        args: dict[str, Any],
        *,
        principal: Principal | None = None,
        output: Any = None,
        environment: str | None = None,
    ) -> EvaluationResult:
        """What all rules say to a call by itself. Sessions and workflows take no part, and nothing runs."""
        call = ToolCall(tool_name, args, principal=principal, environment=environment or self.environment)
        token = _judged.set(call)
        try:
            verdict, settlement = self.gate.evaluate(tool_name, args, output, **about(call))
        finally:
            _judged.reset(token)
        failed = {it["rule"]: it for it in [*verdict["obstacles"], *verdict.get("observed", [])]}
        found = {it["rule"]: it for it in settlement.get("rules", [])} if output is not None else {}
        known = self.gate.policy.rules_about(tool_name)
        calls = [it for kind in ("check", "sandbox") for it in known if it["kind"] == kind]
        results = [result_of(it, failed.pop(it["rule"], None)) for it in calls]
        # Sessions take no part here; what is left is said by nets and by the gate itself.
        sessions = {it["rule"] for it in known if it["kind"] == "session"}
        results += [
            RuleResult(name, "precondition", False, it["reason"], observed=it["mode"] == "observe")
            for name, it in failed.items()
            if name not in sessions
        ]
        if output is not None:
            results += [result_of(it, found.get(it["rule"])) for it in known if it["kind"] == "output"]
        bad = [it for it in results if not it.passed and not it.observed]
        blocks = [it.message or "" for it in bad if it.rule_type != "postcondition"]
        warns = [it.message or "" for it in bad if it.rule_type == "postcondition"]
        decision = "block" if blocks else "warn" if warns else "allow"
        return EvaluationResult(decision, tool_name, results, blocks, warns, len(results))

    def evaluate_batch(self, calls: list[dict[str, Any]]) -> list[EvaluationResult]:
        """:meth:`evaluate` for dicts with ``tool``, ``args``, ``principal``, ``output`` and ``environment``."""
        results = []
        for call in calls:
            given = call.get("principal")
            principal = Principal(**given) if isinstance(given, Mapping) else given
            results.append(
                self.evaluate(
                    call["tool"],
                    call.get("args") or {},
                    principal=principal,
                    output=call.get("output"),
                    environment=call.get("environment"),
                )
            )
        return results

    async def run(
        self,
        tool_name: str,
        args: dict[str, Any],
        tool_callable: Callable[..., Any],
        *,
        session_id: str | None = None,
        environment: str | None = None,
        principal: Principal | None = None,
        metadata: dict[str, Any] | None = None,
        parent_call_id: str | None = None,
    ) -> Any:
        """Judges a call, runs ``tool_callable(**args)`` with the input that the rules agree to, and settles it.

        Raises :class:`EdictumDenied` if it must not run, :class:`EdictumToolError` if the tool failed.
        """
        session = self.gate.session(session_id or self._session_id)
        call = ToolCall(
            tool_name,
            args,
            run_id=session.name,
            parent_call_id=parent_call_id,
            environment=environment or self.environment,
            principal=principal or self.principal_of(tool_name, args),
            metadata=metadata or {},
        )
        before = self._stages(session)
        token = _judged.set(call)
        try:
            ruling = await session.acall(tool_name, args, id=call.call_id, parent=parent_call_id, **about(call))
        finally:
            _judged.reset(token)
        permit = await self._permit(session, call, ruling)
        before = await self._tell_stages(session, call, before)
        return await self._execute(session, call, permit, tool_callable, before)

    async def _permit(self, session: Session, call: ToolCall, ruling: Ruling) -> Permit:
        while isinstance(ruling, Question):
            ruling = await self._ask(session, call, ruling)
        verdict = ruling.verdict
        if isinstance(ruling, Refusal):
            await self._deny(session, call, verdict, ruling.reason)
        for it in verdict.get("observed", []):
            await self._emit(session, call, AuditAction.CALL_WOULD_DENY, it, it["reason"], mode="observe")
        try:
            await self._emit(session, call, AuditAction.CALL_ALLOWED)
        except BaseException:
            ruling.settle("not run: the audit sink failed", ok=False)
            raise
        if self._on_allow:
            told(self._on_allow, call)
        return ruling

    async def _ask(self, session: Session, call: ToolCall, question: Question) -> Ruling:
        verdict = question.verdict
        obstacle = first(verdict)
        if self._approval_backend is None:
            question.answer(False, "no approval backend")
            reason = f"Approval required but no approval backend configured: {obstacle['reason']}"
            await self._deny(session, call, verdict, reason)
        await self._emit(session, call, AuditAction.CALL_APPROVAL_REQUESTED, obstacle, obstacle["reason"])
        decision = await self._answer(call, session.name, question, obstacle["reason"])
        if decision is not None and decision.status == ApprovalStatus.TIMEOUT:
            await self._emit(session, call, AuditAction.CALL_APPROVAL_TIMEOUT, obstacle, obstacle["reason"])
            # The gate knows whether every asking rule takes silence for a yes, and whether its time is over.
            return await asyncio.to_thread(question.wait, 0.0)
        granted = decision is not None and decision.approved is True
        by = (decision.approver if decision is not None else None) or "the approval backend"
        # Somebody may have answered elsewhere in the meantime.
        ruling = question.resume() or question.answer(granted, by)
        if isinstance(ruling, Refusal):
            reason = (decision.reason if decision is not None and not granted else None) or obstacle["reason"]
            await self._emit(session, call, AuditAction.CALL_APPROVAL_DENIED, obstacle, reason)
            await self._deny(session, call, ruling.verdict if granted else verdict, reason, emits=granted)
        await self._emit(session, call, AuditAction.CALL_APPROVAL_GRANTED, obstacle, obstacle["reason"])
        return ruling

    async def _answer(self, call: ToolCall, session: str, question: Question, reason: str) -> ApprovalDecision | None:
        """What the backend says; None, which is a no, if it fails."""
        backend = self._approval_backend
        if backend is None:
            return None
        try:
            request = await backend.request_approval(
                tool_name=call.tool_name,
                tool_args=question.input,
                message=reason,
                timeout=APPROVAL_SECONDS,
                timeout_action="block",
                principal=dataclasses.asdict(call.principal) if call.principal else None,
                session_id=session,
            )
            return await backend.wait_for_decision(request.approval_id, APPROVAL_SECONDS)
        except Exception:
            logger.exception("the approval backend failed, so the call is not approved")
            return None

    async def _approved(self, question: Question) -> bool:
        """What the backend says about a call of a framework's adapter."""
        call = ToolCall(question.tool, question.input)
        decision = await self._answer(call, question.verdict["session"], question, first(question.verdict)["reason"])
        return decision is not None and decision.approved is True

    async def _execute(
        self,
        session: Session,
        call: ToolCall,
        permit: Permit,
        tool: Callable[..., Any],
        before: list[dict[str, Any]],
    ) -> Any:
        try:
            value = tool(**permit.input)
            if inspect.isawaitable(value):
                value = await value
            output, ok = plain(value), self._success_check(call.tool_name, value)
        except Exception as error:
            value = output = str(error)
            ok = False
        except BaseException as error:
            permit.settle(f"{type(error).__name__}: {error}", ok=False)
            raise
        settled = permit.settle(output, ok=ok is True)
        value = value if settled.is_unchanged else settled.value
        action = AuditAction.CALL_EXECUTED if ok else AuditAction.CALL_FAILED
        clean = not settled.settlement.get("rules")
        await self._emit(session, call, action, tool_success=bool(ok), postconditions_passed=clean)
        await self._tell_stages(session, call, before)
        if not ok:
            raise EdictumToolError(str(value))
        return value

    async def _deny(
        self, session: Session, call: ToolCall, verdict: dict[str, Any], reason: str, emits: bool = True
    ) -> None:
        obstacle = first(verdict)
        if emits:
            await self._emit(session, call, AuditAction.CALL_DENIED, obstacle, reason)
        if self._on_block:
            told(self._on_block, call, reason, obstacle["rule"])
        raise EdictumDenied(reason, self._source(call, obstacle), obstacle["rule"])

    def _source(self, call: ToolCall, obstacle: Mapping[str, Any]) -> str:
        for rule in self.gate.policy.rules_about(call.tool_name):
            if rule["rule"] == obstacle["rule"] and rule["kind"] in SOURCES:
                return SOURCES[rule["kind"]]
        return "workflow" if self._has_workflow and obstacle.get("file") else "precondition"

    async def _emit(
        self,
        session: Session,
        call: ToolCall,
        action: AuditAction,
        obstacle: Mapping[str, Any] | None = None,
        reason: str | None = None,
        **fields: Any,
    ) -> None:
        counters = session.status()["counters"]
        event = AuditEvent(
            action,
            tool_name=call.tool_name,
            tool_args=self.redaction.redact_args(call.args),
            call_id=call.call_id,
            run_id=call.run_id,
            session_id=session.name,
            environment=call.environment,
            principal=dataclasses.asdict(call.principal) if call.principal else None,
            decision_source=self._source(call, obstacle) if obstacle else None,
            decision_name=obstacle["rule"] if obstacle else None,
            contracts_evaluated=[self._evaluated(call, obstacle)] if obstacle else [],
            reason=reason,
            session_attempt_count=counters["attempts"],
            session_execution_count=counters["tool_calls"],
            policy_version=self.policy_version,
            **{"mode": self.mode, "workflow": next(iter(self._stages(session)), None), **fields},
        )
        await self.audit_sink.emit(event)

    def _evaluated(self, call: ToolCall, obstacle: Mapping[str, Any]) -> dict[str, Any]:
        told = {"name": obstacle["rule"], "type": self._source(call, obstacle), "passed": False}
        return {**told, "message": obstacle.get("reason"), "metadata": {"tags": obstacle.get("tags", [])}}

    def _stages(self, session: Session) -> list[dict[str, Any]]:
        return session.status()["workflows"] if self._has_workflow else []

    async def _tell_stages(
        self, session: Session, call: ToolCall, before: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Emits an event for each workflow that has moved."""
        after = self._stages(session)
        for old, new in zip(before, after):
            if old["active_stage"] != new["active_stage"]:
                is_over = not new["active_stage"]
                action = AuditAction.WORKFLOW_COMPLETED if is_over else AuditAction.WORKFLOW_STAGE_ADVANCED
                moved = {**new, "stage_id": old["active_stage"], "to_stage_id": new["active_stage"]}
                await self._emit(session, call, action, workflow=moved)
        return after

    def principal_of(self, tool: str, args: dict[str, Any]) -> Principal | None:
        """Who calls, where the call does not say."""
        if self._principal_resolver is not None:
            return self._principal_resolver(tool, args)
        return self._principal


def succeeded(_tool: str, value: Any) -> bool:
    """Edictum's own test: ``{"is_error": …}`` and texts that begin with ``error:`` or ``fatal:`` are failures."""
    if isinstance(value, dict):
        return not value.get("is_error")
    return not (isinstance(value, str) and value[:7].lower().startswith(("error:", "fatal:")))


def selector(function: Callable[[ToolCall], dict[str, Any]]) -> Callable[[dict[str, Any]], Any]:
    """A custom selector as the gate calls it."""

    def describe(seen: dict[str, Any]) -> Any:
        call = _judged.get()
        if call is None or call.tool_name != seen["tool"]:
            call = ToolCall(seen["tool"], seen["input"], call_id=seen["id"], run_id=seen["session"])
        return function(call)

    return describe


def about(call: ToolCall) -> dict[str, Any]:
    """What the gate is told beside the tool and its input."""
    return {"environment": call.environment, "principal": known(call.principal), "metadata": call.metadata or None}


def known(principal: Principal | None) -> dict[str, Any] | None:
    """What is known of who calls."""
    if principal is None:
        return None
    return {key: value for key, value in dataclasses.asdict(principal).items() if value is not None}


def result_of(rule: Mapping[str, Any], found: Mapping[str, Any] | None) -> RuleResult:
    """What a rule says, by what was found of it."""
    kind, tags = TYPES[rule["kind"]], rule.get("tags", [])
    if found is None:
        return RuleResult(rule["rule"], kind, True, tags=tags)
    action = found["verdict"] if rule["kind"] == "output" else "warn"
    observed = found["mode"] == "observe"
    return RuleResult(rule["rule"], kind, False, found["reason"], tags, observed, action)


def first(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The leading obstacle."""
    obstacles = verdict["obstacles"]
    return obstacles[0] if obstacles else {"rule": None, "reason": verdict["reason"]}


def told(function: Callable[..., Any], *args: Any) -> None:
    """Calls a function that changes nothing; what goes wrong in it is logged."""
    try:
        function(*args)
    except Exception:
        logger.exception("a callback raised")
