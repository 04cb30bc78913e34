"""The OpenAI Agents SDK with its own scripted model."""

import asyncio
import unittest
import warnings
from typing import Any

from agents import Agent, RunConfig, Runner, RunState, WebSearchTool, function_tool, handoff, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from lockgate import Gate, LockgateError, Policy
from lockgate.openai_agents import gate_agent
from stories import Call, Stories, in_session

set_tracing_disabled(True)


class OpenAiAgents(Stories, unittest.TestCase):
    count = 0

    def script(self, *turns: list[Call]) -> ScriptedModel:
        steps: list[Any] = []
        for turn in turns:
            calls = []
            for name, args in turn:
                OpenAiAgents.count += 1
                calls.append(function_call(name, args, call_id=f"c{OpenAiAgents.count}"))
            steps.append(calls)
        return ScriptedModel([*steps, [assistant_message("done")]])

    def agent(self, **options: Any) -> Agent[Any]:
        return Agent(name="a", tools=[function_tool(it) for it in self.functions()], **options)

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent = gate_agent(gate, self.agent())
        config = RunConfig(model=self.script(*turns))
        with in_session(gate, session):
            if stream:
                result: Any = Runner.run_streamed(agent, "go", run_config=config)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, "go", run_config=config)
        return [str(it.output) for it in result.new_items if it.type == "tool_call_output_item"]

    async def run_agent(self, agent: Agent[Any], *turns: list[Call]) -> Any:
        return await Runner.run(agent, "go", run_config=RunConfig(model=self.script(*turns)))

    def test_hand_offs_and_clones_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        other = Agent(name="other", tools=[function_tool(it) for it in self.functions()])
        first = gate_agent(gate, self.agent(handoffs=[handoff(other)]), session="s1")
        asyncio.run(self.run_agent(first, [("send", {"to": "a"})], [("transfer_to_other", {})], [("send", {"to": "b"})]))
        self.assertEqual(self.ran, ["send a"])
        asyncio.run(self.run_agent(first.clone(name="clone"), [("send", {"to": "c"})]))
        self.assertEqual(self.ran, ["send a"])

    def test_an_error_function_of_its_own_counts_as_a_failure(self) -> None:
        gate = Gate(Policy.rules("require backup before delete"))

        @function_tool(failure_error_function=lambda ctx, error: "it went well")
        def backup() -> str:
            raise OSError("disk full")

        tools = [backup, *(function_tool(it) for it in self.functions() if it.__name__ == "delete")]
        agent = gate_agent(gate, Agent(name="a", tools=tools), session="s1")
        result = asyncio.run(self.run_agent(agent, [("backup", {})], [("delete", {"path": "x"})]))
        told = [it.output for it in result.new_items if it.type == "tool_call_output_item"]
        self.assertEqual((self.ran, told[0]), ([], "it went well"))

    def test_a_question_interrupts_the_run_and_goes_on_hours_later(self) -> None:
        for approves, runs in [(True, 1), (False, 0)]:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before delete\nlimit send to 1 per session"))
            agent = gate_agent(gate, self.agent(), session="s1", pause=True)
            config = RunConfig(model=self.script([("delete", {"path": "x"}), ("send", {"to": "a"})]))

            async def story() -> None:
                first = await Runner.run(agent, "go", run_config=config)
                self.assertEqual(len(first.interruptions), 1)
                self.assertNotIn("delete x", self.ran)
                # The state is written down and read again, as it would be in another process.
                state = await RunState.from_string(agent, first.to_state().to_string())
                (item,) = state.get_interruptions()
                state.approve(item) if approves else state.reject(item)
                await Runner.run(agent, state, run_config=config)

            asyncio.run(story())
            self.assertEqual((self.ran.count("delete x"), self.ran.count("send a")), (runs, 1))
            if approves:
                self.assertEqual(gate.session("s1").status()["pending"], [])

    def test_hosted_tools_are_told_and_strict_refuses_them(self) -> None:
        gate = Gate(Policy.rules("block x"))
        agent = Agent(name="a", tools=[WebSearchTool()])
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            asyncio.run(gate_agent(gate, agent).get_all_tools(None))  # type: ignore[arg-type]
        self.assertIn("is not gated", str(heard[0].message))
        strict = gate_agent(gate, Agent(name="b", tools=[WebSearchTool()]), strict=True)
        with self.assertRaisesRegex(LockgateError, "not gated"):
            asyncio.run(strict.get_all_tools(None))  # type: ignore[arg-type]

