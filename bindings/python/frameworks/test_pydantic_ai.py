"""Pydantic AI with its own function model: what runs, what the model is told, and what a human answers."""

import unittest
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from lockgate import Gate, Policy
from lockgate.pydantic_ai import GateCapability
from stories import Call, Stories, in_session


class PydanticAi(Stories, unittest.TestCase):
    LEFT_OUT = {
        "without_a_session_nothing_runs": "every run has a conversation",
        "a_tool_that_runs_elsewhere": "tools that the provider of the model runs never come here; leave them out",
    }
    count = 0

    def agent(self, gate: Gate, *turns: list[Call], pause: bool = False) -> Agent[Any, Any]:
        left = list(turns)

        def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
            if not left:
                return ModelResponse(parts=[TextPart("done")])
            return ModelResponse(parts=[self.made(*call) for call in left.pop(0)])

        async def stream(_: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
            for at, part in enumerate(answer(_, info).parts):
                if isinstance(part, TextPart):
                    yield part.content
                elif isinstance(part, ToolCallPart):
                    yield {at: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}

        output: Any = [str, DeferredToolRequests] if pause else str
        model = FunctionModel(answer, stream_function=stream)
        tools = [Tool(it, takes_ctx=False) for it in self.functions()]
        return Agent(model, output_type=output, tools=tools, capabilities=[GateCapability(gate, pause=pause)])

    def made(self, name: str, args: dict[str, Any]) -> ToolCallPart:
        PydanticAi.count += 1
        return ToolCallPart(name, args, tool_call_id=f"c{PydanticAi.count}")

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent = self.agent(gate, *turns)
        with in_session(gate, session):
            if stream:
                async with agent.run_stream("go") as result:
                    await result.get_output()
            else:
                result: Any = await agent.run("go")  # type: ignore[no-redef]
        parts = [part for message in result.all_messages() for part in message.parts]
        return [str(part.content) for part in parts if part.part_kind in ("tool-return", "retry-prompt")]

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        outer = self.agent(gate, [("send", {"to": "a"})], [("another", {})])

        @outer.tool_plain
        async def another() -> str:
            """Runs another agent."""
            return str((await self.agent(gate, [("send", {"to": "b"})]).run("go")).output)

        with gate.session("s1"):
            outer.run_sync("go")
        self.assertEqual(self.ran, ["send a"])

    def test_the_conversation_is_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        for to in ["a", "b"]:
            self.agent(gate, [("send", {"to": to})]).run_sync("go", conversation_id="c1")
        self.agent(gate, [("send", {"to": "c"})]).run_sync("go", conversation_id="c2")
        self.assertEqual(self.ran, ["send a", "send c"])

    def test_a_question_defers_the_run_and_goes_on_with_the_answer(self) -> None:
        for answer, ran in [(True, ["delete x"]), (ToolDenied("no"), [])]:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before delete"))
            agent = self.agent(gate, [("delete", {"path": "x"})], pause=True)
            with gate.session("s1"):
                first = agent.run_sync("go")
                (asked,) = first.output.approvals
                self.assertEqual(first.output.metadata[asked.tool_call_id]["input"], {"path": "x"})
                self.assertEqual(self.ran, [])
                answers = DeferredToolResults(approvals={asked.tool_call_id: answer})
                agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)
            self.assertEqual(self.ran, ran)
