"""Lockgate inside LangChain and LangGraph.

>>> from langchain.agents import create_agent
>>> from lockgate.langchain import GateMiddleware
>>> agent = create_agent(model, tools, middleware=[GateMiddleware(gate)])

The middleware wraps the execution of every tool, so nothing runs past it. For a graph of your own, give
``wrap_tool_call`` and ``awrap_tool_call`` of a middleware to its ``ToolNode``. The session is the ``thread_id`` of the run,
unless a name is given or the run stands inside of ``with gate.session(...)``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.types import Command, interrupt

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, LockgateError
from .gate import Gate, Session
from .guard import permit_of, permit_of_async, plain, settle_failure

__all__ = ["GateMiddleware"]

Result = ToolMessage | Command[Any]


class GateMiddleware(AgentMiddleware[Any, Any]):
    """Judges every tool call of an agent.

    With ``pause`` a call that needs a human interrupts the graph with ``{"question", "tool", "input", "text"}`` and goes on
    when it is resumed with ``True``, or with ``{"granted": True, "by": NAME}``; this needs a checkpointer. Otherwise the
    gate's approver is asked.
    """

    def __init__(self, gate: Gate, *, session: str | Session | None = None, pause: bool = False) -> None:
        super().__init__()
        self.gate = gate
        self.session = session
        self.pause = pause

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Result]) -> Result:
        """Judges a call, runs its tool and settles it."""
        try:
            session = self._session(request)
            permit = self._paused(session, request) if self.pause else permit_of(session, self._judge(session, request))
        except LockgateError as error:
            return refused(request, error)
        try:
            result = handler(judged(request, permit))
        except BaseException as error:
            settle_failure(permit, error)
            raise
        return settled(permit, result)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Result]]) -> Result:
        """The same for asynchronous runs."""
        try:
            session = self._session(request)
            if self.pause:
                permit = self._paused(session, request)
            else:
                ruling = await session.judge_async(*called(request))
                permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            return refused(request, error)
        try:
            result = await handler(judged(request, permit))
        except BaseException as error:
            settle_failure(permit, error)
            raise
        return settled(permit, result)

    def _session(self, request: Any) -> Session:
        config = getattr(request.runtime, "config", None) or {}
        return self.gate.session_for(self.session, config.get("configurable", {}).get("thread_id"))

    def _judge(self, session: Session, request: Any) -> Permit | Question | Refusal:
        return session.judge(*called(request))

    def _paused(self, session: Session, request: Any) -> Permit:
        """Interrupts the graph for each question. On the second visit the same call meets the same question."""
        tool, input, about = called(request)
        ruling = session.call(tool, input, **about)
        while isinstance(ruling, Question):
            answer = interrupt(
                {"question": ruling.id, "tool": ruling.tool, "input": ruling.input, "text": ruling.text}
            )
            by = "the human at the graph"
            if isinstance(answer, dict):
                by, answer = str(answer.get("by") or by), answer.get("granted")
            # Somebody may have answered elsewhere while the graph was paused.
            ruling = ruling.resume() or ruling.answer(answer is True, by)
        if isinstance(ruling, Refusal):
            raise Blocked(ruling)
        return ruling


def called(request: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The tool, its input and its id."""
    call = request.tool_call
    return call["name"], call["args"], {"id": call["id"]}


def judged(request: Any, permit: Permit) -> Any:
    """The request with the input that the rules agree to."""
    return request.override(tool_call={**request.tool_call, "args": permit.input})


def refused(request: Any, error: LockgateError) -> ToolMessage:
    """What the model sees of a call that must not run, whatever the reason."""
    call = request.tool_call
    return ToolMessage(str(error), tool_call_id=call["id"], name=call["name"], status="error")


def settled(permit: Permit, result: Result) -> Result:
    """Settles a call that ran, and returns what may be passed on of its result."""
    if not isinstance(result, ToolMessage):
        # A command changes the state of the graph; its updates are the program's own.
        permit.settle(None)
        return result
    output = permit.settle(plain(result.content), ok=result.status != "error")
    if output.is_unchanged:
        return result
    value = output.value if isinstance(output.value, (str, list)) else str(output.value)
    # The artifact is the same result once more.
    return result.model_copy(update={"content": value, "artifact": None})

