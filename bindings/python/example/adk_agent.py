"""An agent of Google's ADK behind a gate: ``python3 adk_agent.py MODEL`` with the model's key, such as ``gemini-3-flash``."""

import asyncio
import sys
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types
from lockgate.adk import GatePlugin

from tools import GATE, TOOLS


async def run(model: Any, prompt: str, conversation: str) -> list[str]:
    """One turn of a conversation; returns what its events say."""
    agent = LlmAgent(name="deployer", model=model, tools=list(TOOLS))
    runner = InMemoryRunner(agent=agent, app_name="example", plugins=[GatePlugin(GATE)])
    # ADK's session is the session of the gate.
    await runner.session_service.create_session(app_name="example", user_id="ada", session_id=conversation)
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    said = []
    async for event in runner.run_async(user_id="ada", session_id=conversation, new_message=message):
        said += [str(it.response) for it in event.get_function_responses()]
    return said


if __name__ == "__main__":
    print("\n".join(asyncio.run(run(sys.argv[1], "Deploy to staging.", "conversation-17"))))
