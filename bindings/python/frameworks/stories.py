"""The stories that every adapter must tell alike: what runs, what the model sees, and what the gate remembers.

A test of a framework inherits :class:`Stories` and says in :meth:`Stories.play` how an agent of that framework is run with a model
that makes scripted calls. A framework without a feature names the story in ``LEFT_OUT``, with the reason.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from lockgate import Gate, Policy

#: One call of the model: a tool and its arguments.
Call = tuple[str, dict[str, Any]]

MASKING = "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]"
WITHHELD = 'output_rules: [{id: k, tool: read, block_patterns: ["PRIVATE KEY"], message: That file holds a key.}]\nrules: []'
NET = "kind: Net\nname: n\nplaces: {a: 1}\ntransitions: [{name: s, inputs: [a], outputs: [a], tools: [send]}]"


class Stories:
    """The table. It is mixed into a ``TestCase``."""

    ran: list[str]
    works: bool
    #: Stories that this framework cannot tell, and why.
    LEFT_OUT: dict[str, str] = {}

    async def play(self, gate: Gate, *turns: list[Call], session: str | None = "s1", stream: bool = False) -> list[str]:
        """Runs an agent whose model makes these calls, one list a turn. Returns what it saw of each, in its order."""
        raise NotImplementedError

    def setUp(self) -> None:
        reason = self.LEFT_OUT.get(self._testMethodName.removeprefix("test_"))
        if reason:
            self.skipTest(reason)
        self.ran: list[str] = []
        self.works = True

    def functions(self) -> list[Callable[..., str]]:
        """The tools of every agent."""

        def backup() -> str:
            """Backs up."""
            self.ran.append("backup")
            if not self.works:
                raise OSError("disk full")
            return "saved"

        def delete(path: str) -> str:
            """Deletes a file."""
            self.ran.append(f"delete {path}")
            return "deleted"

        def read(path: str) -> str:
            """Reads a file."""
            self.ran.append(f"read {path}")
            return "-----BEGIN PRIVATE KEY-----"

        def search(query: str) -> str:
            """Searches."""
            self.ran.append(f"search {query}")
            return "found bob@example.com"

        def send(to: str) -> str:
            """Sends a mail."""
            self.ran.append(f"send {to}")
            return "sent"

        return [backup, delete, read, search, send]

    def tell(self, gate: Gate, *turns: list[Call], **options: Any) -> list[str]:
        return asyncio.run(self.play(gate, *turns, **options))

    def assertTold(self, text: str, told: str) -> None:
        self.assertIn(text, told)

    def test_allowed_blocked_masked_and_withheld_in_one_batch(self) -> None:
        texts = {"m.yaml": MASKING, "w.yaml": WITHHELD, "r.rules": "require backup before delete"}
        batch = [("send", {"to": "ada"}), ("delete", {"path": "x"}), ("search", {"query": "ada@example.com"}), ("read", {"path": "k"})]
        sent, deleted, searched, read = self.tell(Gate(Policy(texts=texts)), batch)
        self.assertEqual(sorted(self.ran), ["read k", "search [EMAIL]", "send ada"])
        self.assertTold("sent", sent)
        self.assertTold("delete requires a successful call to backup first.", deleted)
        self.assertTold("found [EMAIL]", searched)
        self.assertTold("That file holds a key.", read)
        self.assertNotIn("PRIVATE KEY", read)

    def test_a_failure_earns_nothing_and_a_success_opens(self) -> None:
        gate = Gate(Policy.rules("require backup before delete"))
        self.works = False
        try:
            self.tell(gate, [("backup", {})])
        except OSError:
            # Some frameworks end the run with the tool's own error.
            pass
        self.works = True
        self.assertEqual(gate.session("s1").status()["pending"], [])
        self.tell(gate, [("delete", {"path": "x"})])
        self.assertEqual(self.ran, ["backup"])
        told = self.tell(gate, [("backup", {})], [("delete", {"path": "x"})])
        self.assertEqual(self.ran, ["backup", "backup", "delete x"])
        self.assertTold("deleted", told[-1])
        self.assertEqual(gate.session("s1").status()["pending"], [])

    def test_limits_are_exact_within_a_batch(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))
        self.tell(gate, [("send", {"to": "a"}), ("send", {"to": "b"}), ("send", {"to": "c"})])
        self.assertEqual(len(self.ran), 1)

    def test_only_a_plain_yes_of_the_approver_lets_a_call_pass(self) -> None:
        def fails(_: Any) -> bool:
            raise RuntimeError("no")

        async def agrees(_: Any) -> bool:
            return True

        answers: list[tuple[Any, int]] = [
            (lambda _: True, 1), (agrees, 1), (lambda _: False, 0), (lambda _: "yes", 0), (fails, 0), (None, 0),
        ]
        for approver, runs in answers:
            self.ran.clear()
            gate = Gate(Policy.rules("require human-approval before send"), approver=approver)
            self.tell(gate, [("send", {"to": "ada"})])
            self.assertEqual(len(self.ran), runs)

    def test_a_gate_that_is_broken_runs_nothing(self) -> None:
        def slips(*_: Any) -> None:
            raise ValueError("a slip")

        gate = Gate(Policy(texts={"n.yaml": NET}), validators={"n": slips})
        (told,) = self.tell(gate, [("send", {"to": "ada"})])
        self.assertTold("a validator failed", told)
        self.assertEqual(self.ran, [])

    def test_a_refused_call_earns_nothing(self) -> None:
        # Some frameworks fire the events of a result for calls that never ran.
        gate = Gate(Policy.rules("require human-approval before delete\nrequire delete before send"))
        self.tell(gate, [("delete", {"path": "x"})], [("send", {"to": "ada"})])
        self.assertEqual((self.ran, gate.session("s1").status()["pending"]), ([], []))

    def test_a_tool_that_is_not_there_leaves_nothing_behind(self) -> None:
        gate = Gate(Policy.rules("require nothing before send\nlimit delete to 1 per session"))
        with contextlib.suppress(Exception):
            # Some frameworks end the run.
            self.tell(gate, [("nothing", {})], [("send", {"to": "ada"})])
        self.tell(gate, [("delete", {"path": "x"})])
        self.assertEqual((self.ran, gate.session("s1").status()["pending"]), (["delete x"], []))

    def test_without_a_session_nothing_runs(self) -> None:
        (told,) = self.tell(Gate(Policy.rules("block x")), [("send", {"to": "ada"})], session=None)
        self.assertTold("no session", told)
        self.assertEqual(self.ran, [])

    def test_sessions_are_apart_and_runs_of_one_session_share_it(self) -> None:
        gate = Gate(Policy.rules("limit send to 1 per session"))

        async def all_at_once() -> None:
            names = ["ada", "bob", "ada", "bob"]
            await asyncio.gather(*(self.play(gate, [("send", {"to": name})], session=name) for name in names))

        asyncio.run(all_at_once())
        self.assertEqual(sorted(self.ran), ["send ada", "send bob"])

    def test_streams_are_judged_alike(self) -> None:
        gate = Gate(Policy(texts={"m.yaml": MASKING, "r.rules": "limit send to 1 per session"}))
        batch = [("search", {"query": "ada@example.com"}), ("send", {"to": "a"}), ("send", {"to": "b"})]
        told = self.tell(gate, batch, stream=True)
        self.assertEqual(len([it for it in self.ran if it.startswith("send")]), 1)
        self.assertTold("found [EMAIL]", told[0])

    def test_observing_lets_everything_run_and_is_heard(self) -> None:
        heard: list[int] = []
        gate = Gate(
            Policy.rules("block send"), mode="observe", on_decision=lambda _, verdict: heard.append(len(verdict["observed"]))
        )
        self.tell(gate, [("send", {"to": "ada"})])
        self.assertEqual((self.ran, heard), (["send ada"], [1]))

    def test_what_the_user_said_is_heard(self) -> None:
        gate = Gate(Policy.rules("send.to must come from user"))
        gate.session("s1").hear("Please write to ada@example.com.")
        self.tell(gate, [("send", {"to": "ada@example.com"}), ("send", {"to": "eve@evil.example"})])
        self.assertEqual(self.ran, ["send ada@example.com"])


def in_session(gate: Gate, name: str | None) -> Any:
    """The session of a ``with`` block, where there is one."""
    return contextlib.nullcontext() if name is None else gate.session(name)
