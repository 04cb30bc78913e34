"""Lockgate inside LlamaIndex.

>>> from llama_index.core.agent.workflow import FunctionAgent
>>> from lockgate.llama_index import gate_tools
>>> agent = FunctionAgent(llm=llm, tools=gate_tools(gate, tools))

It wraps each tool in one that judges its ``call`` and ``acall``. A call that must not run is answered with an error output, which the
model sees. LlamaIndex has no session of its own: run the agent inside of ``with gate.session(...)``, or give a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolOutput
from llama_index.core.tools.types import adapt_to_async_tool

from ._lockgate import Permit
from .errors import LockgateError
from .gate import Gate, Session
from .guard import permit_of, permit_of_async, plain, settle_failure

__all__ = ["gate_tools"]


def gate_tools(gate: Gate, tools: Iterable[Any], *, session: str | None = None) -> list[AsyncBaseTool]:
    """The same tools, each judged before it runs. Plain functions become tools."""
    made = [FunctionTool.from_defaults(it) if not hasattr(it, "metadata") and callable(it) else it for it in tools]
    return [GatedTool(gate, adapt_to_async_tool(it), session) for it in made]


class GatedTool(AsyncBaseTool):
    """A tool whose every call is judged. A call that needs a human asks the gate's approver."""

    def __init__(self, gate: Gate, tool: AsyncBaseTool, session: str | None) -> None:
        self.gate, self.tool, self._named = gate, tool, session

    @property
    def metadata(self) -> Any:
        """What the model is shown of the tool."""
        return self.tool.metadata

    def __getattr__(self, name: str) -> Any:
        # The agent asks a function tool whether it wants the context of the workflow.
        if name in ("requires_context", "ctx_param_name", "partial_params"):
            return getattr(self.tool, name)
        raise AttributeError(name)

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Judges a call, runs the tool and settles it."""
        kept, input = self._split(kwargs)
        try:
            session = self._session(args)
            permit = permit_of(session, session.judge(self.metadata.get_name(), input, {}))
        except LockgateError as error:
            return refused(self.metadata.get_name(), input, error)
        return self._settled(permit, lambda: self.tool.call(**kept, **permit.input))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """The same for asynchronous runs."""
        kept, input = self._split(kwargs)
        try:
            session = self._session(args)
            ruling = await session.judge_async(self.metadata.get_name(), input, {})
            permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            return refused(self.metadata.get_name(), input, error)
        try:
            output = await self.tool.acall(**kept, **permit.input)
        except BaseException as error:
            settle_failure(permit, error)
            raise
        return self._settled(permit, lambda: output)

    def _session(self, args: tuple[Any, ...]) -> Session:
        if args:
            raise LockgateError("a gated tool takes arguments by name only; rules need a name for each")
        return self.gate.session_for(self._named, None)

    def _split(self, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The context of the workflow is the program's own."""
        own = getattr(self.tool, "ctx_param_name", None)
        return {key: it for key, it in kwargs.items() if key == own}, {key: it for key, it in kwargs.items() if key != own}

    def _settled(self, permit: Permit, run: Callable[[], ToolOutput]) -> ToolOutput:
        input = permit.input
        try:
            result = run()
            output = permit.settle(plain(result.content), ok=not result.is_error)
        except BaseException as error:
            settle_failure(permit, error)
            raise
        if output.is_unchanged:
            return result
        # The raw output is the same result once more.
        return ToolOutput(
            content=str(output.value),
            tool_name=result.tool_name,
            raw_input={"kwargs": input},
            raw_output=output.value,
            is_error=result.is_error,
        )


def refused(name: str, input: dict[str, Any], error: LockgateError) -> ToolOutput:
    """What the model sees of a call that must not run."""
    return ToolOutput(content=str(error), tool_name=name, raw_input={"kwargs": input}, raw_output=str(error), is_error=True)
