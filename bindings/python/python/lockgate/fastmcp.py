"""Lockgate inside MCP servers that are built with FastMCP.

>>> from fastmcp import FastMCP
>>> from lockgate.fastmcp import GateMiddleware
>>> server = FastMCP("files", middleware=[GateMiddleware(gate, session=lambda context: user_of(context))])

It hooks in as a middleware around ``tools/call``. A call that must not run is answered as an error of the tool, which the model
sees. Give the session: today's MCP has none that lasts, so a limit would never be reached without a name for the conversation or
the user, for example from a token or a header. Add it last, next to the tools, so that no other middleware changes a call
after it was judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult

from .errors import LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, settle_failure

__all__ = ["GateMiddleware"]


class GateMiddleware(Middleware):
    """Judges every tool call of a server. A call that needs a human asks the gate's approver."""

    def __init__(
        self, gate: Gate, *, session: str | Callable[[MiddlewareContext[Any]], str | None] | None = None
    ) -> None:
        super().__init__()
        self.gate, self.session = gate, session

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: Callable[..., Any]) -> ToolResult:
        """Judges a call, runs its tool and settles it."""
        call = context.message
        try:
            session = self._session(context)
            ruling = await session.judge_async(call.name, dict(call.arguments or {}), {})
            permit = await permit_of_async(session, ruling)
        except LockgateError as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            raise ToolError(f"Lockgate failed, so the tool did not run: {error}") from error
        try:
            judged = call.model_copy(update={"arguments": permit.input})
            result = await call_next(context.copy(message=judged))
        except BaseException as error:
            settle_failure(permit, error)
            raise
        try:
            content = [it.model_dump(mode="json", exclude_none=True) for it in result.content]
            value = {"content": content, "structured_content": result.structured_content}
            output = permit.settle(value, ok=not result.is_error)
        except Exception as error:
            settle_failure(permit, error)
            raise ToolError(f"the tool ran, but its result cannot be passed on: {error}") from error
        if output.is_unchanged:
            return result
        if output.decision == "block" or not isinstance(output.value, dict):
            raise ToolError(output.sentence or "the output is withheld")
        # The structured content is the same result once more, so both are replaced.
        kinds = [type(it) for it in result.content]
        masked = [kind.model_validate(it) for kind, it in zip(kinds, output.value["content"])]
        structured = output.value.get("structured_content")
        return ToolResult(content=masked, structured_content=structured, meta=result.meta, is_error=result.is_error)

    def _session(self, context: MiddlewareContext[Any]) -> Session:
        named = self.session(context) if callable(self.session) else self.session
        return self.gate.session_for(named, None)
