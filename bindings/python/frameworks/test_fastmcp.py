"""A FastMCP server with its own client in memory."""

import asyncio
import unittest
from typing import Any

from fastmcp import Client, FastMCP

from lockgate import Gate, Policy
from lockgate.fastmcp import GateMiddleware
from stories import Call, Stories


class FastMcp(Stories, unittest.TestCase):
    LEFT_OUT = {
        "streams_are_judged_alike": "MCP has no streams of results",
        "a_question_pauses": "a call of MCP cannot pause; the approver is asked",
        "sub_agents": "a server does not see agents; it finds the session from the request",
        "a_tool_that_runs_elsewhere": "a server has only tools of its own",
    }

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        server = FastMCP("s", middleware=[GateMiddleware(gate, session=session)])
        for function in self.functions():
            server.tool(function)
        told: list[str] = []
        async with Client(server) as client:
            for turn in turns:
                calls = [client.call_tool(name, args, raise_on_error=False) for name, args in turn]
                for result in await asyncio.gather(*calls):
                    told.append(" ".join(str(getattr(it, "text", it)) for it in result.content))
                    # The structured content is the same result once more.
                    if result.structured_content is not None:
                        self.assertIn(str(result.structured_content["result"]), told[-1])
        return told

    def test_the_session_is_found_from_the_request(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        users = iter(["ada", "bob", "ada"])
        server = FastMCP("s", middleware=[GateMiddleware(gate, session=lambda context: next(users))])
        for function in self.functions():
            server.tool(function)

        async def story() -> None:
            async with Client(server) as client:
                for to in ["a", "b", "c"]:
                    await client.call_tool("send", {"to": to}, raise_on_error=False)

        asyncio.run(story())
        self.assertEqual(self.ran, ["send a", "send b"])

    def test_a_session_that_cannot_be_found_runs_nothing(self) -> None:
        def slips(_: Any) -> str:
            raise RuntimeError("a slip")

        server = FastMCP("s", middleware=[GateMiddleware(Gate(Policy.rules("block x")), session=slips)])
        for function in self.functions():
            server.tool(function)

        async def story() -> Any:
            async with Client(server) as client:
                return await client.call_tool("send", {"to": "a"}, raise_on_error=False)

        self.assertIn("Lockgate failed", asyncio.run(story()).content[0].text)
        self.assertEqual(self.ran, [])
