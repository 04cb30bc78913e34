"""Edictum's adapter for LangChain and LangGraph."""

from __future__ import annotations

from typing import Any

from ...langchain import GateMiddleware
from . import Adapter, refuse

__all__ = ["LangChainAdapter"]


class LangChainAdapter(Adapter):
    """``create_agent(model, tools, middleware=[adapter.as_middleware()])``, or a wrapper for a ``ToolNode``."""

    def as_middleware(self, on_postcondition_warn: Any = None) -> GateMiddleware:
        """The middleware of an agent."""
        refuse(on_postcondition_warn)
        return GateMiddleware(self._guard.gate, session=self.session)

    def as_tool_wrapper(self, on_postcondition_warn: Any = None) -> Any:
        """For ``ToolNode(tools, wrap_tool_call=…)``."""
        return self.as_middleware(on_postcondition_warn).wrap_tool_call

    def as_async_tool_wrapper(self, on_postcondition_warn: Any = None) -> Any:
        """For ``ToolNode(tools, awrap_tool_call=…)``."""
        return self.as_middleware(on_postcondition_warn).awrap_tool_call
