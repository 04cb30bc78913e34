"""Lockgate inside Strands Agents.

>>> from strands import Agent
>>> from lockgate.strands import GateHooks
>>> agent = Agent(model=model, tools=tools, hooks=[GateHooks(gate, session="conversation-17")])

It hooks into ``BeforeToolCallEvent`` and ``AfterToolCallEvent``, which every call of every tool passes. A call that must not run is
cancelled with the sentence, which the model sees as an error. Give the hooks to sub-agents too; by the name of the session they
share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, plain, settle_failure

__all__ = ["GateHooks"]


class GateHooks(HookProvider):
    """Judges every tool call of an agent.

    ``session`` is a name, or a function that finds it from the ``invocation_state`` of a run; otherwise the session of the ``with``
    block counts. With ``pause`` a call that needs a human interrupts the run and goes on with an ``interruptResponse`` of ``True``;
    otherwise the gate's approver is asked.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        session: str | Callable[[dict[str, Any]], str | None] | None = None,
        pause: bool = False,
        is_failure: Callable[[Any], bool] | None = None,
    ) -> None:
        self.gate, self.session, self.pause, self.is_failure = gate, session, pause, is_failure
        self._running: dict[str, Permit] = {}

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Called by the agent."""
        registry.add_callback(BeforeToolCallEvent, self.before)
        registry.add_callback(AfterToolCallEvent, self.after)

    async def before(self, event: BeforeToolCallEvent) -> None:
        """Judges a call."""
        use = event.tool_use
        try:
            session = self._session(event.invocation_state)
            about = {"id": use["toolUseId"]}
            if self.pause:
                permit = interrupted(session, event, use, about)
            else:
                ruling = await session.judge_async(use["name"], use["input"], about)
                permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            event.cancel_tool = str(error) or "blocked"
            return
        if permit.is_masked:
            event.tool_use = {**use, "input": permit.input}
        self._running[use["toolUseId"]] = permit

    async def after(self, event: AfterToolCallEvent) -> None:
        """Settles a call that ran. The event also comes for calls that were cancelled."""
        permit = self._running.pop(event.tool_use["toolUseId"], None)
        if permit is None:
            return
        result = event.result
        try:
            failed = event.exception is not None or result.get("status") == "error" or event.cancel_message is not None
            failed = failed or (self.is_failure is not None and self.is_failure(result))
            output = permit.settle(plain(result["content"]), ok=not failed)
        except Exception as error:
            settle_failure(permit, error)
            text = f"the tool ran, but its result cannot be passed on: {error}"
            event.result = {**result, "status": "error", "content": [{"text": text}]}
            return
        if not output.is_unchanged:
            content = output.value if isinstance(output.value, list) else [{"text": str(output.value)}]
            event.result = {**result, "content": content}

    def _session(self, state: dict[str, Any]) -> Session:
        named = self.session(state) if callable(self.session) else self.session
        return self.gate.session_for(named, None)


def interrupted(session: Session, event: BeforeToolCallEvent, use: Any, about: dict[str, Any]) -> Permit:
    """Interrupts the run for a question; when it goes on, the same call meets the same question."""
    ruling = session.call(use["name"], use["input"], **about)
    if isinstance(ruling, Question):
        reason = {"question": ruling.id, "tool": ruling.tool, "input": ruling.input, "text": ruling.text}
        answer = event.interrupt("lockgate", reason=reason)
        # Somebody may have answered elsewhere while the run was paused.
        ruling = ruling.resume() or ruling.answer(answer is True, "the human at the run")
    if isinstance(ruling, Question):
        raise LockgateError(f"{ruling.sentence} Another human must agree; call again.")
    if isinstance(ruling, Refusal):
        raise Blocked(ruling)
    return ruling
