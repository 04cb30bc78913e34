"""What the package adds to the library: values that cross the border, guarded functions, callbacks, errors, threads."""

import asyncio
import gc
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings

import lockgate
from lockgate import Blocked, Gate, InputError, LockgateError, Permit, Policy, PolicyError, Question, Refusal


def gate(rules, **options):
    return Gate(Policy.rules(rules), **options)


class Policies(unittest.TestCase):
    def test_all_mistakes_are_told_with_their_places(self):
        with self.assertRaises(PolicyError) as caught:
            Policy.rules("requier backup before delete\nblock")
        self.assertIn("did you mean `require`?", str(caught.exception))
        self.assertEqual([it["line"] for it in caught.exception.diagnostics], [1, 2])

    def test_a_policy_that_is_missing_or_void_is_not_in_force(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = os.path.join(folder, "empty.rules")
            open(empty, "w").close()
            for path in ["missing.rules", folder, empty]:
                with self.assertRaises(PolicyError):
                    Gate.open(path)
        with self.assertRaises(PolicyError):
            Policy()

    def test_claims_are_proved_and_differences_found(self):
        policy = Policy.rules("require test before deploy\nclaim never deploy before test")
        self.assertEqual([claim["holds"] for claim in policy.verify()["claims"]], [True])
        self.assertTrue(policy.diff(Policy.rules("limit deploy to 1 per session")))
        self.assertEqual(policy.rule_names, ["require-test-before-deploy"])


class Calls(unittest.TestCase):
    def test_a_call_is_run_asked_about_or_refused(self):
        session = gate("require backup before delete\nrequire human-approval before deploy").session("s1")
        refusal = session.call("delete", {"path": "data"})
        self.assertIsInstance(refusal, Refusal)
        self.assertEqual(refusal.reason, "delete requires a successful call to backup first.")
        self.assertEqual(refusal.next, ["backup"])
        permit = session.call("backup")
        self.assertIsInstance(permit, Permit)
        permit.settle("12 files")
        self.assertEqual(session.call("delete", {"path": "data"}).input, {"path": "data"})
        question = session.call("deploy", {"to": "production"}, id="d1")
        self.assertIsInstance(question, Question)
        self.assertIn('input: {"to":"production"}', question.text)
        self.assertEqual(session.questions(), [question.id])
        self.assertIsInstance(question.answer(True, "ada"), Permit)
        with self.assertRaises(lockgate.AnswerError):
            question.answer(True, "bob")

    def test_a_permit_that_is_dropped_is_a_failure_and_one_that_was_settled_is_gone(self):
        session = gate("require backup before delete").session("s1")
        session.call("backup")
        gc.collect()
        self.assertIsInstance(session.call("delete"), Refusal)
        permit = session.call("backup")
        permit.settle()
        for use in [lambda: permit.input, permit.settle, permit.detach, lambda: permit.verdict]:
            with self.assertRaises(LockgateError):
                use()

    def test_only_plain_json_crosses_the_border(self):
        session = gate("block nothing_here").session("s1")
        deep = {}
        for _ in range(200):
            deep = {"deeper": deep}
        for value in [math.nan, math.inf, 2**70, b"bytes", {1: 2}, {"x": {3}}, "\ud800", object(), deep]:
            with self.assertRaises(InputError, msg=repr(value)[:40]):
                session.call("tool", {"value": value})
        with self.assertRaises(InputError):
            session.call("tool", ["not", "an", "object"])
        plain = {"a": [1, -2, 2**63, 1.5, True, None, "é"], "b": {"c": []}}
        self.assertEqual(session.call("tool", plain).input, plain)
        self.assertEqual(session.call("tool", {"pair": (1, 2)}).input, {"pair": [1, 2]})

    def test_what_is_not_known_about_a_call_is_refused(self):
        session = gate("block nothing_here").session("s1")
        with self.assertRaises(LockgateError):
            session.call("tool", {}, colour="red")
        with self.assertRaises(InputError):
            session.call("tool", {}, cwd=7)
        for nameless in [lambda: session.call("", {}), lambda: session.gate.session("").call("tool")]:
            with self.assertRaises(InputError):
                nameless()

    def test_inputs_and_outputs_are_masked(self):
        policy = Policy(texts={"p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]"})
        permit = Gate(policy).session("s1").call("search", {"query": "who is ada@example.com"})
        self.assertTrue(permit.is_masked)
        self.assertEqual(permit.input, {"query": "who is [EMAIL]"})
        output = permit.settle("found bob@example.com")
        self.assertEqual((output.value, output.decision), ("found [EMAIL]", "redact"))


class GuardedFunctions(unittest.TestCase):
    def test_a_function_runs_only_when_the_rules_agree(self):
        guard, ran = gate("require backup before delete"), []

        @guard.tool
        def backup():
            ran.append("backup")
            return "ok"

        @guard.tool
        def delete(path, /, *, force=False):
            ran.append(("delete", path, force))

        with guard.session("s1"):
            with self.assertRaises(Blocked) as caught:
                delete("data")
            self.assertIn("requires a successful call to backup first", str(caught.exception))
            self.assertEqual(backup(), "ok")
            delete("data", force=True)
        self.assertEqual(ran, ["backup", ("delete", "data", True)])

    def test_an_exception_is_a_failure_and_passes_on(self):
        guard = gate("require backup before delete")

        @guard.tool
        def backup():
            raise OSError("disk full")

        with guard.session("s1") as session:
            with self.assertRaises(OSError):
                backup()
            self.assertIsInstance(session.call("delete"), Refusal)
            self.assertEqual(session.status()["pending"], [])

    def test_the_tool_gets_what_was_judged(self):
        policy = Policy(texts={"p.yaml": "mask: label\nrules: [{id: m, when: {tool: search}, then: redact}]"})
        guard = Gate(policy)

        class Tools:
            @guard.tool
            def search(self, query, **rest):
                return f"{query} {rest} bob@example.com"

        with guard.session("s1"):
            found = Tools().search("ada@example.com", also="eve@example.com")
        self.assertEqual(found, "[EMAIL] {'also': '[EMAIL]'} [EMAIL]")

    def test_without_a_session_nothing_runs(self):
        guard = gate("block nothing_here")
        tool = guard.tool(lambda: self.fail("it ran"))
        with self.assertRaises(LockgateError):
            tool()
        with gate("block nothing_here").session("of another gate"), self.assertRaises(LockgateError):
            tool()

    def test_only_true_from_an_approver_is_a_yes(self):
        def fails(_):
            raise RuntimeError("nobody there")

        async def coroutine(_):
            return True

        for approver, runs in [
            (lambda _: True, True),
            (lambda _: False, False),
            (lambda _: "no", False),
            (lambda _: 1, False),
            (lambda _: None, False),
            (fails, False),
            (coroutine, False),
            (None, False),
        ]:
            guard, ran = gate("require human-approval before deploy", approver=approver), []
            deploy = guard.tool(name="deploy")(lambda: ran.append(1))
            with guard.session("s1"):
                try:
                    deploy()
                except Blocked:
                    pass
            self.assertEqual(bool(ran), runs, approver)

    def test_an_approver_that_takes_too_long_is_not_a_yes(self):
        async def sleeps(question):
            await asyncio.sleep(60)
            return True

        guarded = gate("require human-approval before deploy", approver=sleeps, wait_seconds=0.05)

        @guarded.tool
        async def deploy():
            return "deployed"

        async def story():
            with guarded.session("s1"):
                await deploy()

        with self.assertRaisesRegex(Blocked, "no human answered"):
            asyncio.run(story())

    def test_coroutines_are_guarded_too(self):
        async def approve(question):
            await asyncio.sleep(0)
            return question.tool == "deploy"

        guard = gate("require human-approval before deploy\nlimit deploy to 1 per session", approver=approve)

        @guard.tool
        async def deploy(to):
            await asyncio.sleep(0)
            return to

        async def both():
            with guard.session("s1"):
                return await asyncio.gather(deploy("a"), deploy("b"), return_exceptions=True)

        one, other = sorted(asyncio.run(both()), key=lambda it: isinstance(it, Blocked))
        self.assertIn(one, ("a", "b"))
        self.assertIsInstance(other, Blocked)

    def test_a_cancelled_call_is_settled_as_failed(self):
        guard = gate("require backup before delete")

        @guard.tool
        async def backup():
            await asyncio.sleep(60)

        async def cancelled():
            with guard.session("s1"):
                task = asyncio.create_task(backup())
                await asyncio.sleep(0.01)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        asyncio.run(cancelled())
        status = guard.session("s1").status()
        self.assertEqual((status["pending"], status["counters"]["attempts"]), ([], 1))

    def test_results_that_rules_cannot_look_at_are_not_passed_on(self):
        guard = gate("block nothing_here")
        tool = guard.tool(name="tool")(object)
        with guard.session("s1"), self.assertRaises(InputError):
            tool()
        for function in [lambda *names: None]:
            with self.assertRaises(LockgateError):
                guard.tool(function)

        def stream():
            yield 1

        with self.assertRaises(LockgateError):
            guard.tool(stream)


NET = """
kind: Net
name: guarded
places: {ready: 1}
transitions:
  - {name: write, tools: [write], inputs: [ready], outputs: [ready]}
"""


class Callbacks(unittest.TestCase):
    def guarded(self, validator):
        return Gate(Policy(texts={"net.yaml": NET}), validators={"guarded": validator}).session("s1")

    def test_a_validator_sees_the_call_and_keeps_notes(self):
        seen = []

        def once(attempt, notes):
            seen.append(attempt)
            notes["count"] = notes.get("count", 0) + 1
            return "only once" if notes["count"] > 1 else None

        session = self.guarded(once)
        self.assertIsInstance(session.call("write", {"path": "a"}), Permit)
        self.assertEqual(session.call("write").reason, "only once")
        self.assertEqual(session.notes("guarded"), {"count": 1})
        self.assertEqual((seen[0]["call"]["input"], seen[0]["marking"]), ({"path": "a"}, {"ready": 1}))

    def test_a_validator_that_fails_refuses(self):
        def raises(attempt, notes):
            raise KeyError("x")

        async def coroutine(attempt, notes):
            return None

        def bad_notes(attempt, notes):
            notes["x"] = object()

        def leaves(attempt, notes):
            raise SystemExit(3)

        for validator in [raises, coroutine, bad_notes, leaves, lambda a, n: True, lambda a, n: 0, lambda: None, 7]:
            self.assertIsInstance(self.guarded(validator).call("write"), Refusal, validator)

    def test_a_validator_must_not_ask_the_gate_that_waits_for_it(self):
        session = self.guarded(lambda attempt, notes: session.call("write") and None)
        refusal = session.call("write")
        self.assertIn("must not ask the gate", refusal.reason)

    def test_listeners_hear_every_decision_and_cannot_break_it(self):
        heard = []

        def listener(call, verdict):
            heard.append((call["tool"], verdict["verdict"]))
            raise RuntimeError("ignored")

        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            session = gate("block shutdown", on_decision=listener).session("s1")
            self.assertIsInstance(session.call("read"), Permit)
            session.call("shutdown")
        finally:
            sys.unraisablehook = hook
        self.assertEqual(heard, [("read", "allow"), ("shutdown", "block")])

    def test_memory_is_flat_over_many_calls(self):
        # A million: LOCKGATE_MEMORY_CALLS=1000000.
        count = int(os.environ.get("LOCKGATE_MEMORY_CALLS", "20000"))
        session = self.guarded(lambda attempt, notes: None)

        def play(calls):
            for number in range(calls):
                session.call("write", {"path": f"file-{number}"}).settle("written")
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        if not os.path.exists("/proc/self/statm"):
            self.skipTest("this system does not tell how much memory a process has")
        play(count // 4)
        before = play(count // 4)
        grown = play(count) - before
        self.assertLess(grown, 4_000_000, f"{grown} bytes more after {count} calls")

    def test_a_hundred_thousand_callbacks_leave_nothing_behind(self):
        class Validator:
            def __call__(self, attempt, notes):
                return "no"

        validator = Validator()
        session = self.guarded(validator)
        before = sys.getrefcount(validator)
        for _ in range(100_000):
            session.call("write")
        self.assertEqual(sys.getrefcount(validator), before)

    def test_a_success_does_not_count_if_its_hook_fails(self):
        net = NET.replace("{ready: 1}", "{ready: 1, read: 0}")
        net += "  - {name: read, tools: [read], inputs: [ready], outputs: [read], deferred: true}\n"

        async def later(success, notes):
            pass

        for hook in [lambda success, notes: 1 / 0, lambda success, notes: notes.update(bad={1}), later]:
            session = Gate(Policy(texts={"net.yaml": net}), on_results={"guarded": hook}).session("s1")
            with self.quiet():
                session.call("read").settle("text")
            self.assertEqual(session.status()["nets"][0]["marking"], {"ready": 1})

    def test_a_call_that_cannot_be_described_is_blocked(self):
        ruleset = (
            "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: r}\ndefaults: {mode: enforce}\nrules:\n"
            "  - {id: risky, type: pre, tool: '*', when: {risk.level: {equals: high}}, "
            "then: {action: block, message: too risky}}\n"
        )
        with self.assertRaises(PolicyError):
            Policy(texts={"r.yaml": ruleset})
        answers = {"low": Permit, "high": Refusal}
        policy = Policy(texts={"r.yaml": ruleset}, selectors=["risk"])
        for level, expected in answers.items():
            gate = Gate(policy, describe={"risk": lambda call, level=level: {"level": level}})
            self.assertIsInstance(gate.session("s1").call("read"), expected)
        for describe in [lambda call: 1 / 0, lambda call: {1, 2}, lambda call: object()]:
            with self.quiet():
                ruling = Gate(policy, describe={"risk": describe}).session("s1").call("read")
            self.assertIsInstance(ruling, Refusal)

    def quiet(self):
        """What is told on standard error belongs to the test."""
        return unittest.mock.patch("sys.unraisablehook", lambda unraisable: None)


class Threads(unittest.TestCase):
    def test_a_limit_holds_for_many_threads_with_validators(self):
        rules = Policy(texts={"net.yaml": NET, "p.rules": "limit write to 10 per session"})
        session = Gate(rules, validators={"guarded": lambda attempt, notes: None}).session("s1")
        passed = []

        def many():
            for _ in range(50):
                if isinstance(ruling := session.call("write"), Permit):
                    passed.append(ruling.detach())

        threads = [threading.Thread(target=many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(passed), 10)

    def test_permits_may_be_dropped_while_validators_run(self):
        session = Gate(
            Policy(texts={"net.yaml": NET}), validators={"guarded": lambda attempt, notes: None}
        ).session("s1")
        threads = [
            threading.Thread(target=lambda: [session.call("write") for _ in range(200)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertFalse(any(thread.is_alive() for thread in threads))


class Stores(unittest.TestCase):
    def test_sessions_go_on_in_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            store = f"sqlite:{os.path.join(folder, 'lockgate.db')}"
            script = (
                "import lockgate, sys\n"
                "gate = lockgate.Gate(lockgate.Policy.rules('limit send to 1 per session'), store=sys.argv[1])\n"
                "print(type(gate.session('s1').call('send')).__name__)\n"
            )
            said = [
                subprocess.run([sys.executable, "-c", script, store], capture_output=True, text=True, check=True)
                for _ in range(2)
            ]
            self.assertEqual([it.stdout.strip() for it in said], ["Permit", "Refusal"])

    def test_a_store_that_cannot_be_used_is_an_error(self):
        for store in ["sqlite:", "postgres:x", "nothing"]:
            with self.assertRaises(LockgateError):
                gate("block x", store=store)
        with self.assertRaises(lockgate.StoreError):
            gate("block x", store=f"sqlite:{__file__}/lockgate.db")


class About(unittest.TestCase):
    """What the host knows about a session."""

    TEXTS = {"r.yaml": "rules: [{id: r, when: {tool: send, sender: {name: eve}}, then: block, message: Not for Eve.}]"}

    def test_it_is_told_with_each_call_of_the_session(self):
        gate = lockgate.Gate(lockgate.Policy(texts=self.TEXTS))

        @gate.tool
        def send(to):
            return "sent"

        eve, ada = {"sender": {"name": "eve"}}, {"sender": {"name": "ada"}}
        for about, passes in [(eve, False), (ada, True), (lambda tool, input: {"sender": {"name": f"{tool} {input['to']}"}}, True), (lambda *_: eve, False)]:
            with gate.session("s", about=about) as session:
                # An adapter that names the same session gets the one around it.
                self.assertIs(gate.session_for("s", None), session)
                self.assertIsNot(gate.session_for("t", None), session)
                if passes:
                    self.assertEqual(send(to="x"), "sent")
                else:
                    self.assertRaisesRegex(lockgate.Blocked, "Not for Eve", send, to="x")
        session = gate.session("s", about=eve)
        self.assertIsInstance(session.call("send", {}, **ada), lockgate.Permit)
        self.assertIsInstance(session.call("send", {}, sender=None), lockgate.Refusal)

    def test_what_cannot_be_told_blocks(self):
        gate = lockgate.Gate(lockgate.Policy(texts=self.TEXTS))

        async def later(*_):
            return {}

        for about in [{"unknown": 1}, lambda *_: 1 / 0, later, lambda *_: 7]:
            with self.assertRaises(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gate.session("s", about=about).call("send")


if __name__ == "__main__":
    unittest.main()
