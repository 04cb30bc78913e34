"""Lockgate inside the Claude Agent SDK.

>>> from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
>>> from lockgate.claude_agent_sdk import hooks
>>> options = ClaudeAgentOptions(hooks=hooks(gate))

It hooks into ``PreToolUse``, ``PostToolUse`` and ``PostToolUseFailure``, which the program runs before and after each tool, those of
sub-agents and MCP servers too. The hooks are registered so that a failure or a timeout blocks; a program too old for that is
refused by the SDK when it connects. A call that may run is left to the permissions of the program: the gate never widens
them. The session is Claude's own, which sub-agents share, unless a name is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import HookMatcher

from ._lockgate import Output, Permit
from .errors import LockgateError
from .gate import Gate, Session
from .guard import permit_of_async, plain

__all__ = ["hooks"]

#: How long a hook may take beyond what the gate waits for a human, in seconds.
MARGIN = 30.0
#: How long the approver has, as long as a question is open.
ANSWER_SECONDS = 600.0


def hooks(
    gate: Gate,
    *,
    session: str | Session | None = None,
    hears: bool = False,
    is_failure: Callable[[Any], bool] | None = None,
) -> dict[str, list[HookMatcher]]:
    """The hooks for ``ClaudeAgentOptions``.

    A call that needs a human asks the gate's approver. With ``hears`` every submitted prompt counts as the user's own words, for
    rules such as ``must come from user``: only where prompts are what the human wrote. ``is_failure`` says which results are
    failures, besides errors.
    """
    hook = Hooks(gate, session, is_failure)
    wait = (gate.wait_seconds or (ANSWER_SECONDS if gate.approver else 0.0)) + MARGIN
    made = {
        "PreToolUse": [HookMatcher(hooks=[hook.before], timeout=wait, on_failure="block")],
        "PostToolUse": [HookMatcher(hooks=[hook.after], timeout=MARGIN, on_failure="block")],
        "PostToolUseFailure": [HookMatcher(hooks=[hook.failed], timeout=MARGIN)],
    }
    if hears:
        made["UserPromptSubmit"] = [HookMatcher(hooks=[hook.prompted], timeout=MARGIN, on_failure="block")]
    return made


class Hooks:
    """The functions that the SDK calls."""

    def __init__(self, gate: Gate, session: str | Session | None, is_failure: Callable[[Any], bool] | None) -> None:
        self.gate, self.session, self.is_failure = gate, session, is_failure

    def find(self, event: Any) -> Session:
        return self.gate.session_for(self.session, event.get("session_id"))

    async def before(self, event: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Judges a call."""
        try:
            session = self.find(event)
            about = {"id": tool_use_id or event.get("tool_use_id"), "cwd": event.get("cwd"), "parent": event.get("agent_id")}
            ruling = await session.judge_async(event["tool_name"], event["tool_input"], about)
            permit = await permit_of_async(session, ruling)
        except Exception as error:
            reason = str(error) if isinstance(error, LockgateError) else f"Lockgate failed: {error!r}"
            return {"hookSpecificOutput": denial(reason)}
        return {"hookSpecificOutput": passing(permit)} if permit.is_masked else passed(permit)

    async def after(self, event: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Settles a call that ran."""
        response = event.get("tool_response")
        try:
            failed = ended_badly(response) or (self.is_failure is not None and self.is_failure(response))
            call_id = tool_use_id or event["tool_use_id"]
            output = self.find(event).settle(call_id, plain(response), ok=not failed)
        except Exception as error:
            return replaced(response, f"the tool ran, but its result cannot be passed on: {error}")
        return {} if output.is_unchanged else replaced(response, shown(output))

    async def failed(self, event: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Settles a call that failed."""
        try:
            self.find(event).settle(tool_use_id or event["tool_use_id"], event.get("error"), ok=False)
        except LockgateError:
            # The call lapses, which opens nothing.
            pass
        return {}

    async def prompted(self, event: Any, _id: str | None, _: Any) -> dict[str, Any]:
        """Tells the gate what the user said."""
        self.find(event).hear(event["prompt"])
        return {}


def denial(reason: str) -> dict[str, Any]:
    """What a call that must not run is answered with."""
    return {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }


def passing(permit: Permit) -> dict[str, Any]:
    """What a call that runs with another input is answered with."""
    answer = {"hookEventName": "PreToolUse", "updatedInput": permit.input}
    permit.detach()
    return answer


def passed(permit: Permit) -> dict[str, Any]:
    """The result comes with another event, by the id of the call."""
    permit.detach()
    return {}


def ended_badly(response: Any) -> bool:
    """A command that was interrupted or goes on in the background has not succeeded."""
    if not isinstance(response, dict):
        return False
    return bool(response.get("interrupted") or response.get("backgroundTaskId") or response.get("is_error"))


def shown(output: Output) -> Any:
    return output.value if output.decision != "block" else output.sentence or "the output is withheld"


def replaced(response: Any, value: Any) -> dict[str, Any]:
    """Puts a value in the place of a result. Built-in tools keep theirs unless the new one has its shape."""
    told = value if type(value) is type(response) else in_shape(response, str(value))
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": told}}


def in_shape(response: Any, text: str) -> Any:
    """A value of the same shape whose texts are this one."""
    if isinstance(response, dict):
        # What a field called `type` says is part of the shape.
        return {key: it if key == "type" else in_shape(it, text) for key, it in response.items()}
    if isinstance(response, list):
        return [in_shape(it, text) for it in response]
    return text if isinstance(response, str) or response is None else response
