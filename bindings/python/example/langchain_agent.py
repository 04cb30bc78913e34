"""A LangChain agent behind a gate: ``python3 langchain_agent.py MODEL`` with the model's key, such as ``anthropic:claude-sonnet-5``."""

import sys
from typing import Any

from langchain.agents import create_agent
from lockgate.langchain import GateMiddleware

from tools import GATE, TOOLS


def run(model: Any, prompt: str, thread: str) -> list[str]:
    """One turn of a conversation; returns what its messages say."""
    agent = create_agent(model, TOOLS, middleware=[GateMiddleware(GATE)])
    # The thread is the session of the gate.
    state = agent.invoke({"messages": [("user", prompt)]}, {"configurable": {"thread_id": thread}})
    return [str(message.content) for message in state["messages"]]


if __name__ == "__main__":
    print("\n".join(run(sys.argv[1], "Deploy to staging.", "conversation-17")))
