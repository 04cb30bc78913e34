"""LlamaIndex with its own mock model."""

import unittest
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from lockgate import Gate, Policy
from lockgate.llama_index import gate_tools
from stories import Call, Stories, in_session


class LlamaIndex(Stories, unittest.TestCase):
    LEFT_OUT = {"streams_are_judged_alike": "every run of an agent streams"}
    count = 0

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        left = list(turns)

        def answer(_: Any, **__: Any) -> ChatMessage:
            blocks: list[Any] = []
            for name, args in left.pop(0) if left else []:
                LlamaIndex.count += 1
                blocks.append(ToolCallBlock(tool_name=name, tool_kwargs=args, tool_call_id=f"c{LlamaIndex.count}"))
            return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks) if blocks else ChatMessage(role=MessageRole.ASSISTANT, content="done")

        agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=answer), tools=gate_tools(gate, self.functions()))
        told: dict[str, str] = {}
        with in_session(gate, session):
            handler = agent.run("go")
            async for event in handler.stream_events():
                if isinstance(event, ToolCallResult):
                    told[event.tool_id] = str(event.tool_output.content)
            await handler
        return [told[it] for it in sorted(told, key=lambda it: int(it[1:]))]

    def test_a_call_without_an_agent_is_judged_too(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        (send,) = [it for it in gate_tools(gate, self.functions(), session="s1") if it.metadata.name == "send"]
        self.assertEqual([send.call(to="a").is_error, send.call(to="b").is_error], [False, True])
        self.assertTrue(send.call("a").is_error)
        self.assertEqual(self.ran, ["send a"])
