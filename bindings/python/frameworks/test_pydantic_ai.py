"""Pydantic AI with its own function model: what runs, what the model is told, and what a human answers."""

import asyncio
import unittest
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from lockgate import Gate, Policy
from lockgate.pydantic_ai import GateCapability

MASKING = "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]"


class PydanticAi(unittest.TestCase):
    def agent(self, gate: Gate, *turns: list[tuple[str, dict[str, Any]]], pause: bool = False) -> Agent[Any, Any]:
        self.ran: list[str] = []
        self.told: list[str] = []
        left = list(turns)

        def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            self.told = [
                str(part.content) for message in messages for part in message.parts if part.part_kind == "tool-return"
            ]
            if not left:
                return ModelResponse(parts=[TextPart("done")])
            made = [
                ToolCallPart(name, args, tool_call_id=f"{name}-{len(left)}-{at}")
                for at, (name, args) in enumerate(left.pop(0))
            ]
            return ModelResponse(parts=made)

        output: Any = [str, DeferredToolRequests] if pause else str
        agent = Agent(
            FunctionModel(model), output_type=output, capabilities=[GateCapability(gate, pause=pause)]
        )

        @agent.tool_plain
        def backup() -> str:
            self.ran.append("backup")
            return "saved"

        @agent.tool_plain
        def delete(path: str = "data") -> str:
            self.ran.append(f"delete {path}")
            return "deleted"

        @agent.tool_plain
        def search(query: str) -> str:
            self.ran.append(f"search {query}")
            return "found bob@example.com"

        return agent

    def test_a_blocked_call_does_not_run_and_the_model_is_told_why(self) -> None:
        gate = Gate(Policy.rules("require backup before delete"))
        agent = self.agent(gate, [("delete", {})], [("backup", {})], [("delete", {"path": "x"})])
        agent.run_sync("go")
        self.assertEqual(self.ran, ["backup", "delete x"])
        self.assertIn("delete requires a successful call to backup first.", self.told[0])

    def test_parallel_calls_keep_a_limit(self) -> None:
        gate = Gate(Policy.rules("limit delete to 1 per session"))
        self.agent(gate, [("delete", {}), ("delete", {}), ("delete", {})]).run_sync("go")
        self.assertEqual(len(self.ran), 1)

    def test_inputs_and_outputs_are_masked(self) -> None:
        gate = Gate(Policy(texts={"p.yaml": MASKING}))
        self.agent(gate, [("search", {"query": "ada@example.com"})]).run_sync("go")
        self.assertEqual((self.ran, self.told), (["search [EMAIL]"], ["found [EMAIL]"]))

    def test_the_session_of_a_with_block_counts(self) -> None:
        gate = Gate(Policy.rules("limit delete to 1 per session"))

        async def twice() -> None:
            with gate.session("s1"):
                await self.agent(gate, [("delete", {})]).run("go")
                await self.agent(gate, [("delete", {})]).run("go")

        asyncio.run(twice())
        self.assertEqual(self.ran, [])

    def test_a_question_defers_the_run_and_goes_on_with_the_answer(self) -> None:
        for answer, ran in [(True, ["delete x"]), (ToolDenied("no"), [])]:
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
