"""Google's ADK with a model of our own, as its tests have it."""

import asyncio
import unittest
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from lockgate import Gate, Policy
from lockgate.adk import GatePlugin
from stories import Call, Stories


class Scripted(BaseLlm):
    """Makes these calls, one list a turn, and then stops."""

    model: str = "scripted"
    turns: list[Any] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        turn = self.turns.pop(0) if self.turns else []
        parts = [types.Part.from_function_call(name=name, args=dict(args)) for name, args in turn]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text="done")]))


def message(*parts: types.Part) -> types.Content:
    return types.Content(role="user", parts=list(parts))


class Adk(Stories, unittest.TestCase):
    LEFT_OUT = {
        "without_a_session_nothing_runs": "every run of ADK has a session",
        "a_tool_that_runs_elsewhere": "tools that the provider of the model runs never come here; leave them out",
    }

    def runner(self, gate: Gate, *turns: list[Call], pause: bool = False, tools: list[Any] | None = None) -> InMemoryRunner:
        agent = LlmAgent(name="a", model=Scripted(turns=list(turns)), tools=tools or list(self.functions()))
        return InMemoryRunner(agent=agent, app_name="app", plugins=[GatePlugin(gate, pause=pause)])

    async def run_in(self, runner: InMemoryRunner, session: str, content: types.Content, stream: bool = False) -> list[Any]:
        known = await runner.session_service.get_session(app_name="app", user_id="u", session_id=session)
        if known is None:
            await runner.session_service.create_session(app_name="app", user_id="u", session_id=session)
        config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        events = runner.run_async(user_id="u", session_id=session, new_message=content, run_config=config)
        return [event async for event in events]

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        runner = self.runner(gate, *turns)
        events = await self.run_in(runner, session or "", message(types.Part(text="go")), stream)
        return [str(it.response) for event in events for it in event.get_function_responses()]

    def test_a_question_requests_confirmation_and_goes_on_with_the_answer(self) -> None:
        for confirmed, runs in [(True, ["delete x"]), (False, [])]:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before delete"))
            runner = self.runner(gate, [("delete", {"path": "x"})], pause=True)

            async def story() -> list[Any]:
                events = await self.run_in(runner, "s1", message(types.Part(text="go")))
                calls = [it for event in events for it in event.get_function_calls()]
                (asked,) = [it for it in calls if it.name == "adk_request_confirmation"]
                self.assertEqual(self.ran, [])
                answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": confirmed})
                return await self.run_in(runner, "s1", message(types.Part(function_response=answer)))

            asyncio.run(story())
            self.assertEqual(self.ran, runs)
            self.assertEqual(gate.session("s1").questions(), [])

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        inner = LlmAgent(name="inner", model=Scripted(turns=[[("send", {"to": "a"})]]), tools=list(self.functions()))
        outer = LlmAgent(
            name="outer",
            model=Scripted(turns=[[("send", {"to": "b"})], [("transfer_to_agent", {"agent_name": "inner"})]]),
            tools=list(self.functions()),
            sub_agents=[inner],
        )
        runner = InMemoryRunner(agent=outer, app_name="app", plugins=[GatePlugin(gate)])
        asyncio.run(self.run_in(runner, "s1", message(types.Part(text="go"))))
        self.assertEqual(self.ran, ["send b"])

    def test_an_agent_as_a_tool_shares_a_session_that_is_named(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        inner = LlmAgent(name="inner", model=Scripted(turns=[[("send", {"to": "a"})]]), tools=list(self.functions()))
        turns = [[("send", {"to": "b"})], [("inner", {"request": "send"})]]
        runner = self.runner(gate, *turns, tools=[*self.functions(), AgentTool(inner)])
        with gate.session("s1"):
            asyncio.run(self.run_in(runner, "s1", message(types.Part(text="go"))))
        self.assertEqual(self.ran, ["send b"])
