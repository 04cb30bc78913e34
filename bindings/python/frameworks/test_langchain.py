"""LangChain with its own fake model: what runs, what the model is told, and what a human answers."""

import unittest
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from lockgate import Gate, Policy
from lockgate.langchain import GateMiddleware
from stories import Call, Stories


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


class LangChain(Stories, unittest.TestCase):
    LEFT_OUT = {
        "a_tool_that_runs_elsewhere": "tools that the provider of the model runs never come here; leave them out",
    }
    count = 0

    def agent(self, gate: Gate, *turns: list[Call], pause: bool = False, more: tuple[Any, ...] = ()) -> Any:
        messages = [AIMessage("", tool_calls=[self.made(*call) for call in turn]) for turn in turns]
        return create_agent(
            Model(messages=iter([*messages, AIMessage("done")])),
            [*(tool(it) for it in self.functions()), *more],
            middleware=[GateMiddleware(gate, pause=pause)],
            checkpointer=InMemorySaver() if pause else None,
        )

    def made(self, name: str, args: dict[str, Any]) -> Any:
        LangChain.count += 1
        return {"name": name, "args": args, "id": f"c{LangChain.count}"}

    def run_agent(self, agent: Any, start: Any = None) -> Any:
        return agent.invoke(start or {"messages": [("user", "go")]}, {"configurable": {"thread_id": "s1"}})

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        agent, start = self.agent(gate, *turns), {"messages": [("user", "go")]}
        config: Any = {"configurable": {"thread_id": session}} if session else {}
        if stream:
            async for state in agent.astream(start, config, stream_mode="values"):
                pass
        else:
            state = await agent.ainvoke(start, config)
        return [str(it.content) for it in state["messages"] if isinstance(it, ToolMessage)]

    def test_synchronous_runs_are_guarded_too(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session\nrequire backup before delete"))
        batch = [("send", {"to": "a"}), ("send", {"to": "b"}), ("delete", {"path": "x"})]
        state = self.run_agent(self.agent(gate, batch))
        told = [it for it in state["messages"] if isinstance(it, ToolMessage)]
        self.assertEqual((len(self.ran), [it.status for it in told].count("error")), (1, 2))

    def test_sub_agents_share_the_session(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))

        @tool
        def ask_another() -> str:
            """Runs another agent."""
            return str(self.run_agent(self.agent(gate, [("send", {"to": "b"})]))["messages"][-1].content)

        self.run_agent(self.agent(gate, [("send", {"to": "a"})], [("ask_another", {})], more=(ask_another,)))
        self.assertEqual(self.ran, ["send a"])

    def test_a_question_interrupts_and_goes_on_with_the_answer(self) -> None:
        for answer, ran in [(True, ["delete x"]), ({"granted": True, "by": "ada"}, ["delete x"]), ("yes", []), (False, [])]:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before delete"))
            agent = self.agent(gate, [("delete", {"path": "x"})], pause=True)
            state = self.run_agent(agent)
            (asked,) = state["__interrupt__"]
            self.assertEqual((asked.value["tool"], asked.value["input"]), ("delete", {"path": "x"}))
            self.assertEqual(self.ran, [])
            self.run_agent(agent, start=Command(resume=answer))
            self.assertEqual(self.ran, ran, answer)
