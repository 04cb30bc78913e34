"""The example of each framework, with a scripted model in the place of a real one."""

import asyncio
import inspect
import pathlib
import sys
import unittest
import unittest.mock
from typing import Any

sys.path.append(str(pathlib.Path(__file__).parents[1] / "example"))

#: What the model calls: two commands of which one is blocked, and two deployments of which one is asked about and one too many.
CALLS = [
    ("bash", {"command": "rm -rf build"}),
    ("backup", {"path": "build"}),
    ("bash", {"command": "rm -rf build"}),
    ("deploy", {"to": "staging"}),
    ("deploy", {"to": "staging"}),
]
TOLD = [
    "delete requires a successful call to backup first.",
    "build is saved",
    "ran rm -rf build",
    "staging is live",
    "deploy has reached its limit of 1 calls per session.",
]


class Examples(unittest.TestCase):
    def check(self, run: Any, model: Any) -> None:
        with unittest.mock.patch("builtins.input", return_value="yes"), unittest.mock.patch("builtins.print"):
            said = run(model, "Deploy to staging.", type(model).__module__)
            said = asyncio.run(said) if inspect.iscoroutine(said) else said
        told = "\n".join(said)
        places = [told.find(it) for it in TOLD]
        self.assertEqual(places, sorted(places), told)
        self.assertNotIn(-1, places, told)

    def test_langchain(self) -> None:
        from langchain_agent import run
        from langchain_core.messages import AIMessage
        from test_langchain import Model

        calls = [[{"name": name, "args": args, "id": f"e{at}"}] for at, (name, args) in enumerate(CALLS)]
        self.check(run, Model(messages=iter([*(AIMessage("", tool_calls=it) for it in calls), AIMessage("done")])))

    def test_openai_agents(self) -> None:
        from agents.testing import ScriptedModel, assistant_message, function_call
        from openai_agent import run

        calls = [[function_call(name, args, call_id=f"e{at}")] for at, (name, args) in enumerate(CALLS)]
        self.check(run, ScriptedModel([*calls, [assistant_message("done")]]))

    def test_pydantic_ai(self) -> None:
        from pydantic_agent import run
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        left = [ModelResponse(parts=[ToolCallPart(name, args, tool_call_id=f"e{at}")]) for at, (name, args) in enumerate(CALLS)]
        self.check(run, FunctionModel(lambda *_: left.pop(0) if left else ModelResponse(parts=[TextPart("done")])))

    def test_adk(self) -> None:
        from adk_agent import run
        from test_adk import Scripted

        self.check(run, Scripted(turns=[[call] for call in CALLS]))
