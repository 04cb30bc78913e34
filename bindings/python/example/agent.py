"""An agent with three tools behind a gate. Its model is a script here: what it wants to call, turn by turn.

``python3 agent.py`` prints what the model would see.
"""

import json
import pathlib

from lockgate import Blocked, Gate

# A real program shows question.text to a human and waits.
gate = Gate.open(
    pathlib.Path(__file__).parent / "policy.rules", approver=lambda question: question.input["to"] == "staging"
)


@gate.tool
def backup(path: str) -> str:
    return f"{path} is saved"


@gate.tool
def bash(command: str) -> str:
    return f"ran {command}"


@gate.tool
def deploy(to: str) -> str:
    return f"{to} is live"


MODEL = [
    (bash, {"command": "ls; rm -rf build"}),
    (backup, {"path": "build"}),
    (bash, {"command": "rm -rf build"}),
    (deploy, {"to": "production"}),
    (deploy, {"to": "staging"}),
    (deploy, {"to": "staging"}),
]

with gate.session("conversation-17") as session:
    for tool, arguments in MODEL:
        try:
            seen = tool(**arguments)
        except Blocked as blocked:
            seen = f"not run: {blocked}"
        print(f"{tool.__name__} {json.dumps(arguments)}\n  {seen}")
    print(session.prompt())
