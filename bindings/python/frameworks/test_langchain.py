"""LangChain with its own fake model: what runs, what the model is told, and what a human answers."""

import asyncio
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

MASKING = "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]"


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def calls(*names: str, **args: Any) -> AIMessage:
    made = [{"name": name, "args": args, "id": f"{name}-{at}"} for at, name in enumerate(names)]
    return AIMessage("", tool_calls=made)


class LangChain(unittest.TestCase):
    def agent(self, gate: Gate, *turns: AIMessage, pause: bool = False) -> Any:
        self.ran: list[str] = []

        @tool
        def backup() -> str:
            """Backs up."""
            self.ran.append("backup")
            return "saved"

        @tool
        def broken() -> str:
            """Fails."""
            self.ran.append("broken")
            raise OSError("disk full")

        @tool
        def delete(path: str = "data") -> str:
            """Deletes."""
            self.ran.append(f"delete {path}")
            return "deleted"

        @tool
        def search(query: str) -> str:
            """Searches."""
            self.ran.append(f"search {query}")
            return "found bob@example.com"

        return create_agent(
            Model(messages=iter([*turns, AIMessage("done")])),
            [backup, broken, delete, search],
            middleware=[GateMiddleware(gate, pause=pause)],
            checkpointer=InMemorySaver() if pause else None,
        )

    def run_agent(self, agent: Any, thread: str = "t1", start: Any = None) -> Any:
        config = {"configurable": {"thread_id": thread}}
        return agent.invoke(start or {"messages": [("user", "go")]}, config)

    def told(self, state: Any) -> list[tuple[str, str]]:
        return [(it.status, str(it.content)) for it in state["messages"] if isinstance(it, ToolMessage)]

    def test_a_blocked_call_does_not_run_and_the_model_is_told_why(self) -> None:
        gate = Gate(Policy.rules("require backup before delete"))
        state = self.run_agent(self.agent(gate, calls("delete"), calls("backup"), calls("delete", path="x")))
        self.assertEqual(self.ran, ["backup", "delete x"])
        (status, text), *rest = self.told(state)
        self.assertEqual(status, "error")
        self.assertIn("delete requires a successful call to backup first.", text)
        self.assertEqual(rest, [("success", "saved"), ("success", "deleted")])

    def test_parallel_calls_keep_a_limit(self) -> None:
        gate = Gate(Policy.rules("limit delete to 1 per session"))
        self.run_agent(self.agent(gate, calls("delete", "delete", "delete")))
        self.assertEqual(len(self.ran), 1)

    def test_asynchronous_runs_are_guarded_too(self) -> None:
        gate = Gate(Policy.rules("block delete"))
        agent = self.agent(gate, calls("delete"))
        state = asyncio.run(agent.ainvoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}}))
        self.assertEqual((self.ran, self.told(state)[0][0]), ([], "error"))

    def test_inputs_and_outputs_are_masked(self) -> None:
        gate = Gate(Policy(texts={"p.yaml": MASKING}))
        state = self.run_agent(self.agent(gate, calls("search", query="ada@example.com")))
        self.assertEqual(self.ran, ["search [EMAIL]"])
        self.assertEqual(self.told(state), [("success", "found [EMAIL]")])

    def test_a_tool_that_raises_earns_nothing(self) -> None:
        gate = Gate(Policy.rules("require broken before delete"))
        with self.assertRaises(OSError):
            self.run_agent(self.agent(gate, calls("broken")))
        self.assertEqual(gate.session("t1").status()["pending"], [])
        self.run_agent(self.agent(gate, calls("delete")))
        self.assertEqual(self.ran, [])

    def test_a_question_interrupts_and_goes_on_with_the_answer(self) -> None:
        for answer, ran in [(True, ["delete x"]), ({"granted": True, "by": "ada"}, ["delete x"]), ("yes", []), (False, [])]:
            gate = Gate(Policy.rules("require human-approval before delete"))
            agent = self.agent(gate, calls("delete", path="x"), pause=True)
            state = self.run_agent(agent)
            (asked,) = state["__interrupt__"]
            self.assertEqual((asked.value["tool"], asked.value["input"]), ("delete", {"path": "x"}))
            self.assertEqual(self.ran, [])
            self.run_agent(agent, start=Command(resume=answer))
            self.assertEqual(self.ran, ran, answer)

    def test_without_a_session_nothing_runs(self) -> None:
        agent = self.agent(Gate(Policy.rules("block shutdown")), calls("backup"))
        state = agent.invoke({"messages": [("user", "go")]})
        self.assertEqual(self.ran, [])
        self.assertIn("no session", self.told(state)[0][1])
