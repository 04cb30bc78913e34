"""Lockgate inside Microsoft's Agent Framework.

>>> from agent_framework import Agent
>>> from lockgate.agent_framework import GateMiddleware
>>> agent = Agent(client=client, tools=tools, middleware=[GateMiddleware(gate)])

It hooks in as a function middleware around every tool. The session is the framework's own, if the run has one, unless a name is given
or the run stands inside of ``with gate.session(...)``. Give it as the last middleware: the framework refuses a call whose
arguments are changed after that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware

from .errors import LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, plain, settle_failure

__all__ = ["GateMiddleware"]


class GateMiddleware(FunctionMiddleware):
    """Judges every tool call of an agent. A call that needs a human asks the gate's approver."""

    def __init__(
        self, gate: Gate, *, session: str | Session | None = None, is_failure: Callable[[Any], bool] | None = None
    ) -> None:
        self.gate, self.session, self.is_failure = gate, session, is_failure

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Judges a call, runs its tool and settles it."""
        try:
            session = self._session(context)
            input = context.arguments
            input = input if isinstance(input, dict) else plain(input)
            about = {"id": (context.metadata or {}).get("call_id")}
            ruling = await session.judge_async(context.function.name, dict(input), about)
            permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            context.result = str(error)
            return
        if permit.is_masked:
            context.arguments = permit.input
        try:
            await call_next()
        except BaseException as error:
            settle_failure(permit, error)
            raise
        result: Any = context.result
        try:
            failed = self.is_failure is not None and self.is_failure(result)
            output = permit.settle(told(result), ok=not failed)
        except Exception as error:
            settle_failure(permit, error)
            context.result = f"the tool ran, but its result cannot be passed on: {error}"
            return
        if not output.is_unchanged:
            context.result = output.value if isinstance(output.value, str) else str(output.value)

    def _session(self, context: FunctionInvocationContext) -> Session:
        own = getattr(context.session, "session_id", None)
        return self.gate.session_for(self.session, own)


def told(result: Any) -> Any:
    """A result as rules look at it: a single text as itself."""
    if not isinstance(result, list):
        return plain(result)
    if len(result) == 1 and isinstance(result[0], Content) and result[0].type == "text":
        return result[0].text
    return [it.to_dict() if isinstance(it, Content) else plain(it) for it in result]
