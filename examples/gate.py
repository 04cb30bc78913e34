"""The line protocol from Python, without the package: ``python3 gate.py demo.rules``.

It needs the program `lockgate` in the PATH, or in LOCKGATE. docs/protocol.md has every line.
"""

import json
import os
import subprocess
import sys


class Gate:
    """One `lockgate gate` process. If it is gone, nothing runs."""

    def __init__(self, *policy: str) -> None:
        program = os.environ.get("LOCKGATE", "lockgate")
        self.process = subprocess.Popen(
            [program, "gate", *policy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.count = 0

    def ask(self, **line) -> dict:
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the gate is gone, so nothing runs")
        return json.loads(answer)

    def run(self, tool: str, function, **input):
        """Judges a call, runs it, and reports its result. Returns what the model may see."""
        self.count += 1
        call_id = str(self.count)
        verdict = self.ask(call={"id": call_id, "tool": tool, "input": input, "ask": "none"})
        if verdict.get("verdict") not in ("allow", "redact"):
            return f"not run: {verdict.get('reason') or verdict.get('error')}"
        try:
            output, ok = function(**verdict.get("input", input)), True
        except Exception as error:
            output, ok = str(error), False
        settled = self.ask(result={"id": call_id, "ok": ok, "output": output})
        return settled.get("output", output)


if __name__ == "__main__":
    gate = Gate(*sys.argv[1:])
    for tool, input in [
        ("bash", {"command": "rm -rf build"}),
        ("backup", {"path": "build"}),
        ("bash", {"command": "rm -rf build"}),
    ]:
        print(tool, json.dumps(input), "->", gate.run(tool, lambda **given: f"{tool} ran", **input))
