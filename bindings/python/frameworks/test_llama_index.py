"""LlamaIndex with its own mock model."""

import asyncio
import unittest
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from lockgate import Gate, Policy
from lockgate.llama_index import gate_tools
from stories import Call, Stories, in_session


class LlamaIndex(Stories, unittest.TestCase):
    LEFT_OUT = {
        "streams_are_judged_alike": "every run of an agent streams",
        "a_question_pauses": "a tool cannot pause an agent; the approver is asked",
        "a_tool_that_runs_elsewhere": "every tool of an agent runs in the program",
    }
    count = 0

    def agent(self, gate: Gate, turns: tuple[list[Call], ...], **options: Any) -> FunctionAgent:
        left = list(turns)

        def answer(_: Any, **__: Any) -> ChatMessage:
            blocks: list[Any] = []
            for name, args in left.pop(0) if left else []:
                LlamaIndex.count += 1
                blocks.append(ToolCallBlock(tool_name=name, tool_kwargs=args, tool_call_id=f"c{LlamaIndex.count}"))
            return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks) if blocks else ChatMessage(role=MessageRole.ASSISTANT, content="done")

        return FunctionAgent(llm=MockFunctionCallingLLM(response_generator=answer), tools=gate_tools(gate, self.functions()), **options)

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent = self.agent(gate, turns)
        told: dict[str, str] = {}
        with in_session(gate, session):
            handler = agent.run("go")
            async for event in handler.stream_events():
                if isinstance(event, ToolCallResult):
                    told[event.tool_id] = str(event.tool_output.content)
            await handler
        return [told[it] for it in sorted(told, key=lambda it: int(it[1:]))]

    def test_hand_offs_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        first = self.agent(
            gate,
            ([("send", {"to": "a"})], [("handoff", {"to_agent": "second", "reason": "it sends"})]),
            name="first",
            description="sends",
            can_handoff_to=["second"],
        )
        second = self.agent(gate, ([("send", {"to": "b"})],), name="second", description="sends too")

        async def story() -> None:
            with gate.session("s1"):
                await AgentWorkflow(agents=[first, second], root_agent="first").run("go")

        asyncio.run(story())
        self.assertEqual(self.ran, ["send a"])

    def test_a_call_without_an_agent_is_judged_too(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        (send,) = [it for it in gate_tools(gate, self.functions(), session="s1") if it.metadata.name == "send"]
        self.assertEqual([send.call(to="a").is_error, send.call(to="b").is_error], [False, True])
        self.assertTrue(send.call("a").is_error)
        self.assertEqual(self.ran, ["send a"])
