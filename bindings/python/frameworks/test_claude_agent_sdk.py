"""The Claude Agent SDK in front of a program of our own: it sends the events of its hooks, and no model is needed."""

import asyncio
import json
import unittest
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport, query

from lockgate import Gate, Policy
from lockgate.claude_agent_sdk import hooks
from stories import Call, Stories


class Program(Transport):
    """Runs scripted calls as the real program does: hooks before and after each tool, all of a turn at once."""

    def __init__(self, turns: list[list[Call]], tools: dict[str, Any], session: str, agent: str | None = None) -> None:
        self.turns, self.tools, self.session, self.agent = turns, tools, session, agent
        self.out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.hooks: dict[str, Any] = {}
        self.told: list[str] = []
        self.count = 0

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def end_input(self) -> None: ...

    def is_ready(self) -> bool:
        return True

    async def write(self, data: str) -> None:
        sent = json.loads(data)
        if sent["type"] == "control_request":
            self.hooks = sent["request"].get("hooks") or {}
            answer = {"subtype": "success", "request_id": sent["request_id"], "response": {"hook_on_failure_supported": True}}
            await self.out.put({"type": "control_response", "response": answer})
        elif sent["type"] == "control_response":
            self.replies[sent["response"]["request_id"]].set_result(sent["response"])
        elif sent["type"] == "user":
            self.task = asyncio.create_task(self.work(sent["message"]["content"]))

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self.out.get()) is not None:
            yield message

    async def fire(self, event: str, call_id: str | None, **fields: Any) -> dict[str, Any]:
        """What the hooks of an event say; a failure blocks where they ask for that."""
        said: dict[str, Any] = {}
        for matcher in self.hooks.get(event, []):
            for callback in matcher["hookCallbackIds"]:
                self.count += 1
                request = f"r{self.count}"
                self.replies[request] = asyncio.get_running_loop().create_future()
                input = {"hook_event_name": event, "session_id": self.session, "cwd": "/work", "tool_use_id": call_id, **fields}
                if self.agent:
                    input["agent_id"] = self.agent
                body = {"subtype": "hook_callback", "callback_id": callback, "input": input, "tool_use_id": call_id}
                await self.out.put({"type": "control_request", "request_id": request, "request": body})
                reply = await self.replies[request]
                if reply["subtype"] == "error":
                    assert matcher["onFailure"] == "block"
                    return {"permissionDecision": "deny", "permissionDecisionReason": reply["error"]}
                said.update(reply["response"].get("hookSpecificOutput", {}))
        return said

    async def call(self, name: str, args: dict[str, Any], call_id: str) -> str:
        said = await self.fire("PreToolUse", call_id, tool_name=name, tool_input=args)
        if said.get("permissionDecision") == "deny":
            return said["permissionDecisionReason"]
        args = said.get("updatedInput", args)
        try:
            response = {"type": "text", "text": self.tools[name](**args)}
        except Exception as error:
            await self.fire("PostToolUseFailure", call_id, tool_name=name, tool_input=args, error=str(error))
            return f"error: {error}"
        said = await self.fire("PostToolUse", call_id, tool_name=name, tool_input=args, tool_response=response)
        told = said.get("updatedToolOutput", response)
        # The real program keeps the result of its own tools unless the new one has their shape.
        assert set(told) == set(response)
        return str(told["text"])

    async def work(self, prompt: str) -> None:
        await self.fire("UserPromptSubmit", None, prompt=prompt)
        for at, turn in enumerate(self.turns):
            calls = [self.call(name, args, f"{self.session}-{id(self)}-{at}-{n}") for n, (name, args) in enumerate(turn)]
            self.told += await asyncio.gather(*calls)
        result = {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1}
        await self.out.put({**result, "num_turns": 1, "session_id": self.session, "result": "done"})
        await self.out.put(None)


class ClaudeAgentSdk(Stories, unittest.TestCase):
    LEFT_OUT = {
        "without_a_session_nothing_runs": "every run of the program has a session",
        "streams_are_judged_alike": "the program always streams",
        "a_question_pauses": "a hook cannot pause a run; the approver is asked",
        "a_tool_that_runs_elsewhere": "the hooks see every tool of the program",
    }

    async def play(
        self,
        gate: Gate,
        *turns: list[Call],
        session: str | None = "s1",
        stream: bool = False,
        agent: str | None = None,
        prompt: str = "go",
        hears: bool = False,
    ) -> list[str]:
        tools = {it.__name__: it for it in self.functions()}
        program = Program(list(turns), tools, session or "", agent)
        options = ClaudeAgentOptions(hooks=hooks(gate, hears=hears))
        async for _ in query(prompt=prompt, options=options, transport=program):
            pass
        return program.told

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        self.tell(gate, [("send", {"to": "a"})])
        self.tell(gate, [("send", {"to": "b"})], agent="sub")
        self.assertEqual(self.ran, ["send a"])

    def test_submitted_prompts_are_the_users_words_where_the_host_says_so(self) -> None:
        for hears, runs in [(True, 1), (False, 0)]:
            self.ran.clear()
            gate = Gate(Policy.rules("send.to must come from user"))
            self.tell(gate, [("send", {"to": "ada@example.com"})], prompt="write to ada@example.com", hears=hears)
            self.assertEqual(len(self.ran), runs)

    def test_a_call_that_may_run_is_left_to_the_permissions_of_the_program(self) -> None:
        made = hooks(Gate(Policy.rules("block x")))
        said = asyncio.run(
            made["PreToolUse"][0].hooks[0](
                {"session_id": "s", "tool_name": "send", "tool_input": {}, "tool_use_id": "1"}, "1", {"signal": None}  # type: ignore[arg-type]
            )
        )
        self.assertEqual(said, {})

    def test_an_event_that_cannot_be_read_blocks(self) -> None:
        made = hooks(Gate(Policy.rules("block x")))
        said: Any = asyncio.run(made["PreToolUse"][0].hooks[0]({"session_id": "s"}, "1", {"signal": None}))  # type: ignore[arg-type]
        self.assertEqual(said["hookSpecificOutput"]["permissionDecision"], "deny")
