"""An agent of the OpenAI Agents SDK behind a gate: ``python3 openai_agent.py MODEL`` with OPENAI_API_KEY."""

import asyncio
import sys
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from lockgate.openai_agents import gate_agent

from tools import GATE, TOOLS


async def run(model: Any, prompt: str, conversation: str) -> list[str]:
    """One turn of a conversation; returns what its tools said and the answer."""
    agent = gate_agent(GATE, Agent(name="deployer", tools=[function_tool(it) for it in TOOLS]), session=conversation)
    result = await Runner.run(agent, prompt, run_config=RunConfig(model=model))
    outputs = [str(it.output) for it in result.new_items if it.type == "tool_call_output_item"]
    return [*outputs, str(result.final_output)]


if __name__ == "__main__":
    print("\n".join(asyncio.run(run(sys.argv[1], "Deploy to staging.", "conversation-17"))))
