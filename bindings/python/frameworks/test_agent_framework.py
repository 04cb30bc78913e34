"""Microsoft's Agent Framework with a client of our own, as its tests have it."""

import asyncio
import unittest
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from lockgate import Gate, Policy
from lockgate.agent_framework import GateMiddleware
from stories import Call, Stories, in_session


class Scripted(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    """Makes these calls, one list a turn, and then stops."""

    count = 0

    def __init__(self, turns: list[list[Call]]) -> None:
        super().__init__()
        self.turns = list(turns)

    def contents(self) -> list[Content]:
        made = []
        for name, args in self.turns.pop(0) if self.turns else []:
            Scripted.count += 1
            made.append(Content.from_function_call(call_id=f"c{Scripted.count}", name=name, arguments=args))
        return made or [Content.from_text("done")]

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        contents = self.contents()

        async def updates() -> Any:
            yield ChatResponseUpdate(contents=contents, role="assistant")

        async def response() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", contents)])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else response()


class AgentFramework(Stories, unittest.TestCase):
    LEFT_OUT = {
        "a_question_pauses": "an approval of the framework is for a tool and not for a call; the approver is asked",
        "a_tool_that_runs_elsewhere": "tools that the provider of the model runs never come here; leave them out",
    }
    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent = Agent(client=Scripted(list(turns)), tools=self.functions(), middleware=[GateMiddleware(gate)])
        with in_session(gate, session):
            if stream:
                streamed = agent.run("go", stream=True)
                async for _ in streamed:
                    pass
                response = await streamed.get_final_response()
            else:
                response = await agent.run("go")
        contents = [it for message in response.messages for it in message.contents]
        told = {it.call_id: str(it.result) + str(it.exception or "") for it in contents if it.type == "function_result"}
        return [told[it.call_id] for it in contents if it.type == "function_call"]

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))

        def agent(turns: list[list[Call]], more: tuple[Any, ...] = ()) -> Agent:
            tools = [*self.functions(), *more]
            return Agent(client=Scripted(turns), name="a", tools=tools, middleware=[GateMiddleware(gate)])

        inner = agent([[("send", {"to": "b"})]]).as_tool(name="another", description="another agent")
        outer = agent([[("send", {"to": "a"})], [("another", {"task": "send"})]], (inner,))
        with gate.session("s1"):
            asyncio.run(outer.run("go"))
        self.assertEqual(self.ran, ["send a"])

    def test_the_session_of_the_framework_counts(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))

        async def story() -> None:
            turns = [[("send", {"to": "a"})], [], [("send", {"to": "b"})]]
            agent = Agent(client=Scripted(turns), tools=self.functions(), middleware=[GateMiddleware(gate)])
            session = agent.create_session()
            await agent.run("go", session=session)
            await agent.run("go", session=session)

        asyncio.run(story())
        self.assertEqual(self.ran, ["send a"])
