"""Which adapter tells which story, from the tests: `python3 bindings/stories.py --write` puts it into docs/frameworks.md.

A tick stands for a test that runs the real framework; a dash for a reason that the test's file gives. Where there is neither,
this ends with an error. No framework is needed: the tests are only read.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent / "docs" / "frameworks.md"
BEGIN = "<!-- made by bindings/stories.py -->\n"

#: What every adapter must do, and how tests of it are called.
STORIES = [
    ("allowed, blocked, masked and withheld calls in one parallel batch", "allowed blocked masked and withheld in one batch"),
    ("a failure earns nothing, and a success opens", "a failure earns nothing and a success opens"),
    ("limits are exact among parallel calls", "limits are exact within a batch"),
    ("only a plain yes of the approver lets a call pass", "only a plain yes of the approver lets a call pass"),
    ("a question becomes the framework's own pause, and the same call goes on with the answer", "a question .*"),
    ("a gate that is broken runs nothing", "a gate that is broken runs nothing"),
    ("a tool that is not there leaves nothing behind", "a tool that is not there leaves nothing behind"),
    ("a refused call earns nothing, whatever events the framework fires", "a refused call earns nothing"),
    ("sub-agents and hand-offs share the session", "(sub agents|hand offs|an agent as a tool).*"),
    ("streams are judged alike", "streams are judged alike"),
    ("without a session nothing runs", "without a session nothing runs"),
    ("sessions are apart, and runs of one session share it", "sessions are apart and runs of one session share it"),
    ("observing lets everything run and is heard", "observing lets everything run and is heard"),
    ("the user's words reach provenance", "what the user said is heard"),
    ("a tool that runs elsewhere is told of, or refused", "(a tool that runs elsewhere|hosted tools).*"),
]


class Adapter:
    """The tests of one adapter: their names, and what is left out, with reasons."""

    def __init__(self, name: str, tests: list[str], left_out: dict[str, str]) -> None:
        self.name = name
        self.tests = [words(it) for it in tests]
        self.left_out = {words(key): reason for key, reason in left_out.items()}

    def tells(self, pattern: str) -> bool:
        return any(re.fullmatch(pattern, it) for it in self.tests) and self.reason(pattern) is None

    def reason(self, pattern: str) -> str | None:
        return next((reason for key, reason in self.left_out.items() if re.fullmatch(pattern, key)), None)


def words(name: str) -> str:
    """The name of a test as words alone."""
    return " ".join(re.findall(r"[a-z]+", name.removeprefix("test_").lower()))


def python_adapters() -> list[Adapter]:
    folder = HERE / "python" / "frameworks"
    classes = lambda path: (it for it in ast.parse(path.read_text()).body if isinstance(it, ast.ClassDef))  # noqa: E731
    methods = lambda it: [child.name for child in it.body if isinstance(child, ast.FunctionDef) and child.name.startswith("test_")]  # noqa: E731
    shared = [name for it in classes(folder / "stories.py") for name in methods(it)]
    adapters = []
    for path in sorted(folder.glob("test_*.py")):
        for it in classes(path):
            if not any(isinstance(base, ast.Name) and base.id == "Stories" for base in it.bases):
                continue
            given = [child.value for child in it.body if isinstance(child, ast.Assign) and child.targets[0].id == "LEFT_OUT"]  # type: ignore[attr-defined]
            left_out = ast.literal_eval(given[0]) if given else {}
            adapters.append(Adapter(f"Python: {titled(path.stem.removeprefix('test_'))}", shared + methods(it), left_out))
    return adapters


def node_adapters() -> list[Adapter]:
    folder = HERE / "node" / "frameworks"
    shared = re.findall(r'^    story\("([^"]+)"', (folder / "stories.js").read_text(), re.M)
    adapters = []
    for path in sorted(folder.glob("*.test.js")):
        text = path.read_text()
        if 'from "./stories.js"' not in text or "stories(" not in text:
            continue
        left_out = dict(re.findall(r'^\s*(?:const leftOut = \{ )?"([^"]+)": "([^"]+)"', text, re.M))
        own = [it.split(": ", 1)[-1] for it in re.findall(r'\bit\("([^"]+)"', text)]
        adapters.append(Adapter(f"Node: {titled(path.name.removesuffix('.test.js'))}", shared + own, left_out))
    return adapters


def titled(stem: str) -> str:
    return TITLES.get(stem.replace("-", "_"), stem)


TITLES = {
    "adk": "Google ADK",
    "agent_framework": "Agent Framework",
    "ai": "Vercel AI SDK",
    "claude_agent_sdk": "Claude Agent SDK",
    "crewai": "CrewAI",
    "fastmcp": "FastMCP",
    "langchain": "LangChain, LangGraph",
    "llama_index": "LlamaIndex",
    "mastra": "Mastra",
    "mcp": "MCP SDK",
    "openai_agents": "OpenAI Agents SDK",
    "pydantic_ai": "Pydantic AI",
    "strands": "Strands Agents",
}


def table(adapters: list[Adapter]) -> str:
    """The page's part that is made here."""
    numbers = range(1, len(STORIES) + 1)
    lines = [f"| adapter | {' | '.join(map(str, numbers))} |", "|---" * (len(STORIES) + 1) + "|"]
    reasons: dict[str, list[str]] = {}
    for adapter in adapters:
        cells = []
        for number, (title, pattern) in zip(numbers, STORIES):
            reason = adapter.reason(pattern)
            if adapter.tells(pattern):
                cells.append("✓")
            elif reason is not None:
                cells.append("–")
                reasons.setdefault(adapter.name, []).append(f"{number}: {reason}")
            else:
                sys.exit(f"error: {adapter.name} has no test and no reason for: {title}")
        lines.append(f"| {adapter.name} | {' | '.join(cells)} |")
    told = [f"{number}. {title}" for number, (title, _) in zip(numbers, STORIES)]
    left_out = [f"- {name}: {'; '.join(it)}" for name, it in reasons.items()]
    return "\n".join([*told, "", *lines, "", "The dashes:", "", *left_out, ""])


def main() -> None:
    made = BEGIN + "\n" + table(python_adapters() + node_adapters())
    head, found, _ = PAGE.read_text().partition(BEGIN)
    if "--write" in sys.argv:
        PAGE.write_text(head + made)
    elif not found or PAGE.read_text() != head + made:
        sys.exit("error: docs/frameworks.md is not fresh; `python3 bindings/stories.py --write` writes it")


if __name__ == "__main__":
    main()
