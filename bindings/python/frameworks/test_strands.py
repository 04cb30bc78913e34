"""Strands Agents with a model of our own, as its tests have it."""

import asyncio
import json
import unittest
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models.model import Model

from lockgate import Gate, Policy
from lockgate.strands import GateHooks
from stories import Call, Stories, in_session


class Scripted(Model):
    """Makes these calls, one list a turn, and then stops."""

    count = 0

    def __init__(self, turns: list[list[Call]]) -> None:
        self.turns = list(turns)

    def get_config(self) -> Any:
        return {}

    def update_config(self, **_: Any) -> None: ...

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        turn = self.turns.pop(0) if self.turns else []
        yield {"messageStart": {"role": "assistant"}}
        for name, args in turn:
            Scripted.count += 1
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"t{Scripted.count}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
            yield {"contentBlockStop": {}}
        if not turn:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn else "end_turn"}}


class Strands(Stories, unittest.TestCase):
    LEFT_OUT = {
        "a_tool_that_runs_elsewhere": "every tool of an agent runs in the program",
    }
    def agent(self, gate: Gate, turns: tuple[list[Call], ...], **options: Any) -> Agent:
        tools = [tool(it) for it in self.functions()]
        return Agent(model=Scripted(list(turns)), tools=tools, hooks=[GateHooks(gate, **options)], callback_handler=None)

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent = self.agent(gate, turns)
        with in_session(gate, session):
            if stream:
                async for _ in agent.stream_async("go"):
                    pass
            else:
                await agent.invoke_async("go")
        order = [it["toolUse"]["toolUseId"] for message in agent.messages for it in message["content"] if "toolUse" in it]
        results = {it["toolResult"]["toolUseId"]: it["toolResult"] for m in agent.messages for it in m["content"] if "toolResult" in it}
        return [str(results[it]["content"]) for it in order]

    def test_a_question_interrupts_the_run_and_goes_on_with_the_answer(self) -> None:
        for answer, runs in [(True, 1), (False, 0), ("yes", 0)]:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before delete"))
            agent = self.agent(gate, ([("delete", {"path": "x"})],), session="s1", pause=True)

            async def story() -> None:
                first = await agent.invoke_async("go")
                (asked,) = first.interrupts
                self.assertEqual((asked.reason["input"], self.ran), ({"path": "x"}, []))
                reply = {"interruptResponse": {"interruptId": asked.id, "response": answer}}
                await agent.invoke_async([reply])

            asyncio.run(story())
            self.assertEqual(len(self.ran), runs)
            self.assertEqual(gate.session("s1").questions(), [])

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        for to in ["a", "b"]:
            asyncio.run(self.agent(gate, ([("send", {"to": to})],), session="s1").invoke_async("go"))
        self.assertEqual(self.ran, ["send a"])
