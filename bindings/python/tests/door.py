"""`lockgate gate` once more, on the Python package: the pages of `spec/` are played through it.

It takes the arguments of the real program that the pages use, and answers each line with what the package says.
"""

import argparse
import json
import sys

import lockgate


class Door:
    def __init__(self, files, mode):
        self.clock = lockgate.ManualClock()
        self.gate = lockgate.Gate(lockgate.Policy(*files), mode=mode, clock=self.clock)
        self.questions = {}

    def respond(self, line):
        kind, body = next((key, value) for key, value in line.items() if key != "at")
        if "at" in line:
            self.clock.set(line["at"])
        return getattr(self, kind)(body)

    def session_of(self, body, **options):
        return self.gate.session(body.get("session", "default"), **options)

    def tell(self, ruling):
        verdict = ruling.verdict
        if isinstance(ruling, lockgate.Permit):
            # The result comes with another line.
            ruling.detach()
        elif isinstance(ruling, lockgate.Question):
            self.questions[ruling.id] = ruling
        return verdict

    def call(self, body):
        body = dict(body)
        tool, input = body.pop("tool"), body.pop("input", {})
        session = self.session_of(body, unattended=body.pop("ask", None) == "none")
        body.pop("session", None)
        return self.tell(session.call(tool, input, **body))

    def result(self, body):
        return self.session_of(body).settle(body["id"], body.get("output"), ok=body["ok"]).settlement

    def answer(self, body):
        question = self.questions.get(body["approval"])
        if question is None:
            raise lockgate.AnswerError(f"no question `{body['approval']}` is open")
        try:
            ruling = question.answer(body["granted"], body.get("by") or "a human")
        except lockgate.AnswerError:
            # Too late: the question ends by its timeout.
            ruling = question.resume()
        return self.tell(ruling)

    def net(self, body):
        session = self.session_of(body)
        switch, name = ("activate", body["activate"]) if "activate" in body else ("deactivate", body["deactivate"])
        return {"text": getattr(session, switch)(name)}

    def halt(self, body):
        target = self.session_of(body) if "session" in body else self.gate
        target.halt(body["reason"])
        return {}

    def resume(self, body):
        target = self.session_of(body) if "session" in body else self.gate
        target.resume()
        return {}

    def session(self, body):
        self.gate.session(body["id"]).describe(**body.get("attributes", {}))
        return {}

    def user(self, body):
        self.session_of(body).hear(body["says"])
        return {}

    def untaint(self, body):
        self.session_of(body).untaint()
        return {}

    def stage(self, body):
        stage = body.get("reset", body.get("set"))
        self.session_of(body).move_stage(body["workflow"], stage, drop_evidence="reset" in body)
        return {}

    def status(self, body):
        return self.session_of(body).status()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command", choices=["gate"])
    arguments.add_argument("--clock", choices=["lines"])
    arguments.add_argument("--mode", default="enforce")
    arguments.add_argument("files", nargs="+")
    parsed = arguments.parse_args()
    door = Door(parsed.files, parsed.mode)
    for line in sys.stdin:
        try:
            answer = door.respond(json.loads(line))
        except lockgate.LockgateError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
