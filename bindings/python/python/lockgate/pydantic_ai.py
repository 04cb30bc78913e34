"""Lockgate inside Pydantic AI.

>>> from pydantic_ai import Agent
>>> from lockgate.pydantic_ai import GateCapability
>>> agent = Agent(model, capabilities=[GateCapability(gate)])

The capability wraps the execution of every tool, toolsets and MCP servers included. The session is the run's
``conversation_id``, unless a name is given or the run stands inside of ``with gate.session(...)``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, settle, settle_failure

__all__ = ["GateCapability"]


@dataclass
class GateCapability(AbstractCapability[Any]):
    """Judges every tool call of an agent.

    With ``pause`` a call that needs a human ends the run with ``DeferredToolRequests`` (which the output type must
    include) and goes on when the run is continued with an approval for its id. Otherwise the gate's approver is asked.
    """

    gate: Gate
    session: str | Session | None = None
    pause: bool = False

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: Any,
        tool_def: Any,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Judges a call, runs its tool and settles it."""
        try:
            session = self.gate.session_for(self.session, getattr(ctx, "conversation_id", None))
            about = {"id": call.tool_call_id}
            if self.pause:
                permit = paused(session, ctx, call.tool_name, args, about)
            else:
                ruling = await session.judge_async(call.tool_name, args, about)
                permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            raise ToolFailed(str(error)) from error
        try:
            value = await handler(permit.input)
        except BaseException as error:
            settle_failure(permit, error)
            raise
        return settle(permit, value)


def paused(
    session: Session, ctx: RunContext[Any], tool: str, args: dict[str, Any], about: dict[str, Any]
) -> Permit:
    """Defers the call for its question; when it comes again, the framework says what was answered."""
    ruling = session.call(tool, args, **about)
    if isinstance(ruling, Question):
        answered = ruling.resume()
        if answered is None and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"question": ruling.id, "text": ruling.text, "input": ruling.input})
        ruling = answered or ruling.answer(True, "the human at the run")
    if isinstance(ruling, Question):
        raise ApprovalRequired(metadata={"question": ruling.id, "text": ruling.text, "input": ruling.input})
    if isinstance(ruling, Refusal):
        raise Blocked(ruling)
    return ruling
