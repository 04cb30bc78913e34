"""PolicyShield's tools for CrewAI: ``shield_all_crewai_tools(tools, engine)``. CrewAI itself is not needed."""

from __future__ import annotations

from typing import Any

from ...errors import LockgateError
from ..decorators import permit_for, run
from ..engine import ShieldEngine
from ..exceptions import CallDenied

__all__ = ["CrewAIShieldTool", "ToolCallBlockedError", "shield_all_crewai_tools", "shield_crewai_tools"]


class ToolCallBlockedError(LockgateError):
    """A call must not run."""


class CrewAIShieldTool:
    """A tool whose every call is judged. A blocked call returns its text, or raises with ``on_block="raise"``."""

    def __init__(
        self, wrapped_tool: Any, engine: ShieldEngine, session_id: str = "default", on_block: str = "return_message"
    ) -> None:
        self.wrapped_tool, self.engine, self.session_id, self.on_block = wrapped_tool, engine, session_id, on_block

    @property
    def name(self) -> str:
        """The tool's name."""
        return getattr(self.wrapped_tool, "name", type(self.wrapped_tool).__name__)

    @property
    def description(self) -> str:
        """What the tool says of itself."""
        return getattr(self.wrapped_tool, "description", "")

    def run(self, **arguments: Any) -> Any:
        """Judges a call, runs the tool and settles."""
        try:
            return run(permit_for(self.engine, self.name, arguments, self.session_id), self.wrapped_tool._run)
        except CallDenied as error:
            if self.on_block == "raise":
                raise ToolCallBlockedError(f"PolicyShield BLOCKED: {error}") from error
            return f"BLOCKED: {error}"

    _run = run


def shield_all_crewai_tools(tools: list[Any], engine: ShieldEngine, **options: Any) -> list[CrewAIShieldTool]:
    """The same tools, each judged before it runs."""
    return [CrewAIShieldTool(tool, engine, **options) for tool in tools]


shield_crewai_tools = shield_all_crewai_tools
