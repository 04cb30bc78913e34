"""Lockgate inside Google's Agent Development Kit.

>>> from google.adk.runners import Runner
>>> from lockgate.adk import GatePlugin
>>> runner = Runner(agent=agent, plugins=[GatePlugin(gate)], …)

It hooks in as a plugin of the runner, around the tools of all agents, sub-agents and toolsets. The session is ADK's own, which
sub-agents share, unless a name is given or the run stands inside of ``with gate.session(...)``. Give it as the last plugin: a
callback that answers in the place of a tool after the gate has agreed counts as its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, plain, settle_failure

__all__ = ["GatePlugin"]


class Waiting(LockgateError):
    """A human was asked by the framework."""


class GatePlugin(BasePlugin):
    """Judges every tool call of a runner.

    With ``pause`` a call that needs a human requests ADK's own confirmation, and goes on when the host answers
    ``adk_request_confirmation``; otherwise the gate's approver is asked. ``is_failure`` says which results are failures, besides
    errors.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        session: str | Session | None = None,
        pause: bool = False,
        is_failure: Callable[[Any], bool] | None = None,
        name: str = "lockgate",
    ) -> None:
        super().__init__(name=name)
        self.gate, self.session, self.pause, self.is_failure = gate, session, pause, is_failure
        #: Calls that run. Callbacks come for refused calls too, which must not be settled.
        self._running: dict[tuple[str, str], Permit] = {}

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Judges a call. What it returns is the answer in the place of the tool's."""
        try:
            session = self._session(tool_context)
            about = {"id": tool_context.function_call_id}
            if self.pause:
                permit = confirmed(session, tool.name, tool_args, about, tool_context)
            else:
                permit = await permit_of_async(session, await session.judge_async(tool.name, tool_args, about))
        except LockgateError as error:
            return {"error": str(error)}
        if permit.is_masked:
            # ADK runs the tool with this very dict.
            tool_args.clear()
            tool_args.update(permit.input)
        self._running[self._key(tool_context)] = permit
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """Settles a call that ran, and returns what may be passed on if that is something else."""
        permit = self._running.pop(self._key(tool_context), None)
        if permit is None:
            return None
        try:
            failed = self.is_failure is not None and self.is_failure(result)
            output = permit.settle(plain(result), ok=not failed)
        except Exception as error:
            settle_failure(permit, error)
            return {"error": f"the tool ran, but its result cannot be passed on: {error}"}
        if output.is_unchanged:
            return None
        return output.value if isinstance(output.value, dict) else {"result": output.value}

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Any
    ) -> dict[str, Any] | None:
        """Settles a call that raised or was cancelled. The error goes on."""
        permit = self._running.pop(self._key(tool_context), None)
        if permit is not None:
            settle_failure(permit, error)
        return None

    def _session(self, tool_context: Any) -> Session:
        return self.gate.session_for(self.session, tool_context.session.id)

    def _key(self, tool_context: Any) -> tuple[str, str]:
        return tool_context.session.id, tool_context.function_call_id


def confirmed(
    session: Session, tool: str, args: dict[str, Any], about: dict[str, Any], tool_context: Any
) -> Permit:
    """Requests a confirmation for a question; when the call comes again, ADK says what was answered."""
    ruling = session.call(tool, args, **about)
    if isinstance(ruling, Question):
        answer = tool_context.tool_confirmation
        answered = ruling.resume()
        if answered is None and answer is None:
            tool_context.request_confirmation(hint=ruling.text)
            # The pause is not a result that the model should speak about.
            tool_context.actions.skip_summarization = True
            raise Waiting("This call waits for a human's confirmation.")
        ruling = answered or ruling.answer(answer.confirmed is True, "the human at the run")
    if isinstance(ruling, Question):
        raise LockgateError(f"{ruling.sentence} Another human must agree; call again.")
    if isinstance(ruling, Refusal):
        raise Blocked(ruling)
    return ruling
