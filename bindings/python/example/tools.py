"""The tools of the example agents, and the gate before them. None of them does anything."""

import pathlib

from lockgate import Gate, Question


def backup(path: str) -> str:
    """Saves a folder elsewhere."""
    return f"{path} is saved"


def bash(command: str) -> str:
    """Runs a command in a shell."""
    return f"ran {command}"


def deploy(to: str) -> str:
    """Makes the program live."""
    return f"{to} is live"


def ask(question: Question) -> bool:
    """Asks whoever sits at the terminal."""
    print(question.text)
    return input("yes? ") == "yes"


TOOLS = [backup, bash, deploy]
GATE = Gate.open(pathlib.Path(__file__).parent / "policy.rules", approver=ask)
