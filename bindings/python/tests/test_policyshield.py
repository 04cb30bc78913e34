"""The samples of PolicyShield's page about rules, with another import."""

import asyncio
import os
import tempfile
import unittest

from lockgate import LockgateError, ManualClock, Policy
from lockgate.policyshield import (
    ApprovalRequiredError,
    AsyncShieldEngine,
    PolicyShieldParseError,
    ShieldEngine,
    ShieldMode,
    Verdict,
    shield,
)

RULES = """
shield_name: samples
version: 1
rules:
  - id: anti-exfiltration
    when: {tool: send_email, chain: [{tool: read_database, within_seconds: 120}]}
    then: block
    severity: critical
    message: "Data exfiltration: read_database to send_email"
  - id: retry-storm
    when: {tool: exec, chain: [{tool: exec, within_seconds: 10, min_count: 5}]}
    then: block
    message: "Retry storm detected: too many exec calls in 10 seconds"
  - id: no-rm
    when: {tool: [exec, shell_run], args_match: {command: {regex: "rm\\\\s+-rf"}}}
    then: block
    message: no recursive deletion
  - id: admin-only-delete
    when: {tool: delete_.*, context: {user_role: "!admin"}}
    then: block
    message: Only admins can delete
  - id: untrusted
    when: {tool: write, sender: {name: untrusted-agent}}
    then: block
    message: not from there
  - {id: ask-first, when: {tool: deploy}, then: approve, message: a human decides}
  - {id: mask, when: {tool: search}, then: redact}
"""


def engine(rules=RULES, **options):
    return ShieldEngine(Policy(texts={"rules.yaml": rules}), **options)


class Samples(unittest.TestCase):
    def test_chains_look_back(self):
        clock = ManualClock(0)
        shielded = engine(clock=clock)
        self.assertIs(shielded.check("send_email").verdict, Verdict.ALLOW)
        self.assertIs(shielded.check("read_database").verdict, Verdict.ALLOW)
        result = shielded.check("send_email")
        self.assertEqual((result.verdict, result.rule_id), (Verdict.BLOCK, "anti-exfiltration"))
        self.assertIn("Data exfiltration", result.message)
        self.assertIs(shielded.check("send_email", session_id="other").verdict, Verdict.ALLOW)
        clock.set(121_000)
        self.assertIs(shielded.check("send_email").verdict, Verdict.ALLOW)
        verdicts = [shielded.check("exec", {"command": "ls"}).verdict for _ in range(6)]
        self.assertEqual(verdicts, [Verdict.ALLOW] * 5 + [Verdict.BLOCK])

    def test_arguments_context_and_sender_are_looked_at(self):
        shielded = engine()
        self.assertEqual(shielded.check("exec", {"command": "rm -rf /"}).rule_id, "no-rm")
        developer = {"user_role": "developer", "environment": "production"}
        self.assertIs(shielded.check("delete_user", {}, context=developer).verdict, Verdict.BLOCK)
        self.assertIs(shielded.check("delete_user", {}, context={"user_role": "admin"}).verdict, Verdict.ALLOW)
        self.assertIs(shielded.check("write", {}, sender={"name": "untrusted-agent"}).verdict, Verdict.BLOCK)
        self.assertIs(shielded.check("write", {}, sender={"name": "ada"}).verdict, Verdict.ALLOW)

    def test_inputs_and_outputs_are_masked(self):
        shielded = engine()
        result = shielded.check("search", {"query": "ada@example.com"})
        self.assertIs(result.verdict, Verdict.REDACT)
        self.assertNotIn("ada@example.com", result.modified_args["query"])
        self.assertEqual(result.original_args, {"query": "ada@example.com"})
        told = shielded.post_check("search", "found bob@example.com")
        self.assertNotIn("bob@example.com", told.redacted_output)
        self.assertTrue(told.pii_matches)
        # There is nothing to pass on of what was never checked.
        self.assertTrue(shielded.post_check("search", "bob@example.com").blocked)

    def test_an_approval_goes_on_once(self):
        for granted, verdict in [(True, Verdict.ALLOW), (False, Verdict.BLOCK), ("yes", Verdict.BLOCK)]:
            shielded = engine()
            first = shielded.check("deploy", {"to": "x"})
            self.assertEqual((first.verdict, first.message), (Verdict.APPROVE, "a human decides"))
            self.assertEqual(shielded.check("deploy", {"to": "x"}).approval_id, first.approval_id)
            self.assertNotEqual(shielded.check("deploy", {"to": "y"}).approval_id, first.approval_id)
            shielded.answer(first.approval_id, granted, "ada")
            self.assertIs(shielded.check("deploy", {"to": "x"}).verdict, verdict)
            self.assertIs(shielded.check("deploy", {"to": "x"}).verdict, Verdict.APPROVE)

    def test_the_kill_switch_and_the_modes(self):
        shielded = engine()
        shielded.kill("an incident")
        self.assertIs(shielded.check("read").verdict, Verdict.BLOCK)
        shielded.resume()
        self.assertIs(shielded.check("read").verdict, Verdict.ALLOW)
        audit = engine(mode=ShieldMode.AUDIT)
        result = audit.check("exec", {"command": "rm -rf /"})
        self.assertEqual((result.verdict, result.rule_id), (Verdict.ALLOW, "no-rm"))

    def test_a_file_with_mistakes_or_without_rules_is_not_in_force(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.yaml")
            for text in ["", "rules: [{id: r, then: blok}]"]:
                with open(path, "w") as file:
                    file.write(text)
                with self.assertRaises(PolicyShieldParseError):
                    ShieldEngine(path)
            with self.assertRaises(PolicyShieldParseError):
                ShieldEngine(os.path.join(folder, "missing.yaml"))

    def test_the_asynchronous_engine_decides_alike(self):
        shielded = AsyncShieldEngine(Policy(texts={"rules.yaml": RULES}))

        async def run():
            checked = await shielded.check("search", {"query": "ada@example.com"})
            return checked, await shielded.post_check("search", "bob@example.com")

        checked, told = asyncio.run(run())
        self.assertIs(checked.verdict, Verdict.REDACT)
        self.assertNotIn("bob@example.com", told.redacted_output)


class Decorator(unittest.TestCase):
    def test_a_function_runs_only_when_the_rules_agree(self):
        shielded, ran = engine(), []

        @shield(shielded, tool_name="exec")
        def run(command):
            ran.append(command)
            return command

        self.assertEqual(run("ls"), "ls")
        with self.assertRaises(PermissionError):
            run(command="rm -rf /")
        self.assertEqual(ran, ["ls"])

        @shield(shielded, on_block="return_none", tool_name="exec")
        async def quietly(command):
            ran.append(command)
            return command

        self.assertIsNone(asyncio.run(quietly("rm -rf /")))
        self.assertEqual(asyncio.run(quietly("ls")), "ls")

        @shield(shielded, tool_name="search")
        def search(query):
            return f"{query} bob@example.com"

        self.assertNotIn("@example.com", search("ada@example.com"))
        with self.assertRaises(LockgateError):
            shield(shielded)(lambda *args: None)

    def test_a_question_is_raised_and_the_call_goes_on_after_the_answer(self):
        shielded = engine()

        @shield(shielded)
        def deploy(to):
            return f"{to} is live"

        with self.assertRaises(ApprovalRequiredError) as caught:
            deploy("eu")
        shielded.answer(caught.exception.approval_id, True, "ada")
        self.assertEqual(deploy("eu"), "eu is live")


if __name__ == "__main__":
    unittest.main()
