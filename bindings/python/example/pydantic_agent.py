"""A Pydantic AI agent behind a gate: ``python3 pydantic_agent.py MODEL`` with the model's key, such as ``anthropic:claude-sonnet-5``."""

import sys
from typing import Any

from lockgate.pydantic_ai import GateCapability
from pydantic_ai import Agent

from tools import GATE, TOOLS


def run(model: Any, prompt: str, conversation: str) -> list[str]:
    """One turn of a conversation; returns what its tools said and the answer."""
    agent = Agent(model, tools=TOOLS, capabilities=[GateCapability(GATE)])
    # The conversation is the session of the gate.
    result = agent.run_sync(prompt, conversation_id=conversation)
    parts = [part for message in result.all_messages() for part in message.parts]
    return [str(part.content) for part in parts if part.part_kind in ("tool-return", "text")]


if __name__ == "__main__":
    print("\n".join(run(sys.argv[1], "Deploy to staging.", "conversation-17")))
