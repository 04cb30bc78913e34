"""PolicyShield's tools for LangChain: ``shield_all_tools(tools, engine)``.

``lockgate.langchain.GateMiddleware(engine.gate)`` covers an agent's tools without wrapping each.
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.tools import BaseTool, ToolException

from ..decorators import permit_for, run
from ..engine import ShieldEngine
from ..exceptions import CallDenied

__all__ = ["PolicyShieldTool", "shield_all_tools"]


class PolicyShieldTool(BaseTool):
    """A tool whose every call is judged. A blocked call raises ``ToolException``, or returns its text."""

    wrapped_tool: Any = None
    engine: Any = None
    session_id: str = "default"
    block_behavior: str = "raise"

    def __init__(self, wrapped_tool: BaseTool, engine: ShieldEngine, **options: Any) -> None:
        about = {"name": wrapped_tool.name, "description": wrapped_tool.description, "args_schema": wrapped_tool.args_schema}
        super().__init__(**about, wrapped_tool=wrapped_tool, engine=engine, **options)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        # A tool without names for its arguments takes one text, which rules see as `input`.
        is_text = not kwargs and bool(args) and isinstance(args[0], str)
        given = {"input": args[0]} if is_text else kwargs or dict(args[0] if args else {})

        def call(**judged: Any) -> Any:
            return self.wrapped_tool._run(judged["input"]) if is_text else self.wrapped_tool._run(**judged)

        try:
            return run(permit_for(self.engine, self.name, given, self.session_id), call)
        except CallDenied as error:
            if self.block_behavior == "raise":
                raise ToolException(f"PolicyShield BLOCKED: {error}") from error
            return f"BLOCKED: {error}"

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self._run, *args, **kwargs)


def shield_all_tools(tools: list[BaseTool], engine: ShieldEngine, **options: Any) -> list[PolicyShieldTool]:
    """The same tools, each judged before it runs."""
    return [PolicyShieldTool(wrapped_tool=tool, engine=engine, **options) for tool in tools]
