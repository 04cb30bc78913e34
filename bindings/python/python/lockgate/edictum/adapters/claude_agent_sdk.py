"""Edictum's adapter for the Claude Agent SDK."""

from __future__ import annotations

from typing import Any

from ...claude_agent_sdk import Hooks, hooks
from . import Adapter, refuse

__all__ = ["ClaudeAgentSDKAdapter"]


class ClaudeAgentSDKAdapter(Adapter):
    """``ClaudeAgentOptions(hooks=adapter.to_sdk_hooks())``, or callables for a loop of the program's own."""

    def to_sdk_hooks(self) -> dict[str, Any]:
        """The hooks for the options of the SDK."""
        return hooks(self._guard.gate, session=self.session)

    def to_hook_callables(self, on_postcondition_warn: Any = None) -> dict[str, Any]:
        """``pre_tool_use(tool_name, tool_input, tool_use_id)`` and ``post_tool_use(tool_use_id=…, tool_response=…)``."""
        refuse(on_postcondition_warn)
        made = Hooks(self._guard.gate, self.session, None)

        async def pre_tool_use(tool_name: str, tool_input: dict[str, Any], tool_use_id: str, **_: Any) -> dict[str, Any]:
            return await made.before({"tool_name": tool_name, "tool_input": tool_input}, tool_use_id, None)

        async def post_tool_use(tool_use_id: str, tool_response: Any = None, **_: Any) -> dict[str, Any]:
            return await made.after({"tool_response": tool_response}, tool_use_id, None)

        return {"pre_tool_use": pre_tool_use, "post_tool_use": post_tool_use}
