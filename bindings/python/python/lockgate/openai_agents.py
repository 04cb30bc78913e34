"""Lockgate inside the OpenAI Agents SDK.

>>> from agents import Agent, Runner
>>> from lockgate.openai_agents import gate_agent
>>> with gate.session("conversation-17"):
...     await Runner.run(gate_agent(gate, agent), "…")

It hooks into ``Agent.get_all_tools``: each function tool that the agent offers, those of MCP servers too, is wrapped around its
own ``on_invoke_tool``. Agents that it hands off to and clones are gated as well. A call that must not run returns the sentence,
which the model sees as the output.

The SDK turns an error of a tool into a text, so a success cannot be told from outside; the adapter takes note where the SDK
does that, and the call counts as failed. Hosted tools (web search, code interpreter, hosted MCP), computer, shell and patch
tools run elsewhere and are not gated: they are warned about, and an error with ``strict``.
"""

from __future__ import annotations

import contextvars
import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import agents.tool as sdk
from agents import Agent, FunctionTool, Handoff
from dataclasses import replace

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, settle, settle_failure

__all__ = ["gate_agent"]

AnyAgent = TypeVar("AnyAgent", bound=Agent[Any])
SessionFinder = Callable[[Any], "str | Session | None"]

#: The mark that the SDK leaves on the context when its default has turned an error into a text.
HANDLED = getattr(sdk, "_DEFAULT_FAILURE_HANDLED_ATTR", "_agents_default_failure_handled")
#: How such a text begins, where the SDK leaves no mark.
FAILURE = "An error occurred while running the tool"

#: Set when a tool's own error function was called.
_failed: contextvars.ContextVar[list[bool] | None] = contextvars.ContextVar("lockgate_failed", default=None)


def gate_agent(
    gate: Gate,
    agent: AnyAgent,
    *,
    session: str | SessionFinder | None = None,
    is_failure: Callable[[Any], bool] | None = None,
    pause: bool = False,
    strict: bool = False,
) -> AnyAgent:
    """Gates an agent and all agents that it hands off to. The agent itself is changed, and so are its clones.

    ``session`` is a name, or a function that finds it from the context of a run; otherwise the session of the ``with`` block
    counts. With ``pause`` a call that needs a human interrupts the run, and goes on after ``state.approve(item)``; otherwise the
    gate's approver is asked. ``is_failure`` says which outputs are failures, besides errors.
    """
    wrapper = Wrapper(gate, session, is_failure, pause, strict)
    wrapper.gate_all(agent)
    return agent


class Wrapper:
    """How the tools of one group of agents are wrapped."""

    def __init__(
        self,
        gate: Gate,
        session: str | SessionFinder | None,
        is_failure: Callable[[Any], bool] | None,
        pause: bool,
        strict: bool,
    ) -> None:
        self.gate, self.session, self.is_failure = gate, session, is_failure
        self.pause, self.strict = pause, strict
        self.warned: set[str] = set()
        #: Rulings between the SDK's question whether a call needs approval, and its run.
        self.ruled: dict[str, Permit | Refusal] = {}

    def gate_all(self, agent: Agent[Any]) -> None:
        """Gates an agent, and those that it hands off to."""
        if getattr(type(agent), "_lockgate_gated", False):
            return
        agent.__class__ = gated_class(type(agent), self)
        for other in agent.handoffs:
            if isinstance(other, Agent):
                self.gate_all(other)
            else:
                self.gate_handoff(other)

    def gate_handoff(self, handoff: Handoff[Any, Any]) -> None:
        """Gates the agent of a hand-off, which is known when it happens."""
        invoke = handoff.on_invoke_handoff

        async def gated(ctx: Any, text: str) -> Any:
            agent = await invoke(ctx, text)
            self.gate_all(agent)
            return agent

        handoff.on_invoke_handoff = gated

    def wrap(self, tool: Any) -> Any:
        """A tool whose every call is judged."""
        if not isinstance(tool, FunctionTool):
            self.tell(getattr(tool, "name", type(tool).__name__))
            return tool

        async def invoke(ctx: Any, text: str) -> Any:
            return await self.invoke(tool, ctx, text)

        async def needs_approval(ctx: Any, input: dict[str, Any], call_id: str) -> bool:
            own = tool.needs_approval
            own = own if isinstance(own, bool) else await own(ctx, input, call_id)
            return own or await self.asks(tool.name, ctx, input, call_id)

        if self.pause:
            return replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)
        return replace(tool, on_invoke_tool=invoke)

    def tell(self, name: str) -> None:
        text = f"`{name}` runs elsewhere and is not gated; leave it out"
        if self.strict:
            raise LockgateError(text)
        if name not in self.warned:
            self.warned.add(name)
            warnings.warn(text, stacklevel=2)

    def find(self, ctx: Any) -> Session:
        named = self.session(ctx) if callable(self.session) else self.session
        return named if isinstance(named, Session) else self.gate.session_for(named, None)

    async def asks(self, tool: str, ctx: Any, input: dict[str, Any], call_id: str) -> bool:
        """Whether a human must agree. What was decided otherwise counts when the call runs."""
        ruling = await self.find(ctx).acall(tool, input, id=call_id)
        if isinstance(ruling, Question):
            return True
        self.ruled[call_id] = ruling
        return False

    async def permit(self, tool: str, ctx: Any, text: str) -> Permit:
        session, call_id = self.find(ctx), ctx.tool_call_id
        if not self.pause:
            ruling = await session.judge_async(tool, parsed(text), {"id": call_id})
            return await permit_of_async(session, ruling)
        earlier = self.ruled.pop(call_id, None)
        judged = earlier if earlier is not None else await session.acall(tool, parsed(text), id=call_id)
        if isinstance(judged, Question):
            # The SDK only runs a call that it has interrupted for after `state.approve`.
            judged = judged.resume() or judged.answer(True, "the human at the run")
        if isinstance(judged, Permit):
            return judged
        if isinstance(judged, Refusal):
            raise Blocked(judged)
        raise LockgateError(f"{judged.sentence} Another human must agree; call again.")

    async def invoke(self, tool: FunctionTool, ctx: Any, text: str) -> Any:
        """Judges a call, runs its tool and settles it."""
        try:
            permit = await self.permit(tool.name, ctx, text)
        except LockgateError as error:
            return str(error)
        noted = [False]
        token = _failed.set(noted)
        try:
            # The text of the model is left alone where nothing is masked.
            judged = json.dumps(permit.input) if permit.is_masked else text
            output = await noting(tool).on_invoke_tool(ctx, judged)
        except BaseException as error:
            settle_failure(permit, error)
            raise
        finally:
            _failed.reset(token)
        is_handled = noted[0] or bool(ctx.__dict__.pop(HANDLED, False))

        def failed(value: Any) -> bool:
            is_told = isinstance(value, str) and value.startswith(FAILURE)
            return is_handled or is_told or (self.is_failure is not None and self.is_failure(value))

        return settle(permit, output, failed)


def noting(tool: FunctionTool) -> FunctionTool:
    """The tool, with an error function of its own that takes note when it is called."""
    if getattr(tool, "_use_default_failure_error_function", True):
        return tool
    own = getattr(tool, "_failure_error_function", None)
    if own is None:
        return tool

    def note(ctx: Any, error: Exception) -> Any:
        noted = _failed.get()
        if noted is not None:
            noted[0] = True
        return own(ctx, error)

    return sdk.set_function_tool_failure_error_function(replace(tool), note)


def gated_class(base: type[Agent[Any]], wrapper: Wrapper) -> type[Agent[Any]]:
    """A class of agents whose tools are gated; a clone has the same class."""

    class Gated(base):  # type: ignore[misc, valid-type]
        _lockgate_gated = True

        async def get_all_tools(self, run_context: Any) -> list[Any]:
            return [wrapper.wrap(tool) for tool in await super().get_all_tools(run_context)]

    Gated.__name__ = Gated.__qualname__ = base.__name__
    return Gated


def parsed(text: str) -> dict[str, Any]:
    """The arguments as the model wrote them."""
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise LockgateError("the arguments are not JSON; write them as a JSON object") from error
