"""The samples of PolicyShield's page about rules, with another import."""

import asyncio
import os
import pathlib
import tempfile
import unittest

from lockgate import LockgateError, ManualClock, Policy
from lockgate.policyshield.approval.memory import InMemoryBackend
from lockgate.policyshield.core.exceptions import ApprovalRequiredError, PolicyShieldParseError
from lockgate.policyshield.core.models import (
    OutputRule,
    PIIType,
    RuleConfig,
    RuleSet,
    Severity,
    ShieldMode,
    TaintChainConfig,
    Verdict,
)
from lockgate.policyshield.core.parser import load_rules, parse_rule_file, parse_rules_from_string
from lockgate.policyshield.decorators import guard, shield
from lockgate.policyshield.integrations.crewai import ToolCallBlockedError, shield_all_crewai_tools
from lockgate.policyshield.shield.async_engine import AsyncShieldEngine
from lockgate.policyshield.shield.engine import ShieldEngine

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
        self.assertEqual([it.pii_type for it in told.pii_matches], [PIIType.EMAIL])

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

    def test_guard_names_the_tool_first(self):
        @guard("exec", engine=engine(), on_block="return_none")
        def run(command):
            return command

        self.assertEqual((run("ls"), run("rm -rf /")), ("ls", None))


class Files(unittest.TestCase):
    """The quick start, and what the parser returns."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def test_quick_start(self):
        path = self.write(
            "rules.yaml",
            """
shield_name: security-policy
version: 1

rules:
  - id: block-shell-injection
    description: "Block destructive shell commands"
    when:
      tool: exec
      args_match:
        command:
          regex: "rm\\\\s+-rf|mkfs|dd\\\\s+if="
    then: block
    severity: critical
    message: "Destructive shell commands are not allowed."
""",
        )
        engine = ShieldEngine(rules=path)
        result = engine.check("exec", {"command": "rm -rf /"})
        self.assertEqual((result.verdict, result.message), (Verdict.BLOCK, "Destructive shell commands are not allowed."))
        self.assertEqual(engine.check("web_search", {"query": "best restaurants"}).verdict, Verdict.ALLOW)
        (rule,) = load_rules(path).rules
        self.assertEqual((rule.id, rule.then, rule.severity), ("block-shell-injection", Verdict.BLOCK, Severity.CRITICAL))
        self.assertIn("[BLOCK] block-shell-injection: Destructive", engine.get_policy_summary())

    def test_files_are_read_as_rules_with_what_they_include_and_inherit(self):
        self.write("base.yaml", "shield_name: base\nversion: 1\nrules:\n  - {id: r1, when: {tool: exec}, then: BLOCK, message: Base}\n")
        path = self.write(
            "main.yaml",
            "include: [base.yaml]\nshield_name: main\nversion: 2\nrules:\n  - {id: r2, extends: r3, then: allow}\n"
            "  - {id: r3, when: {tool: read, chain: [{tool: a, within_seconds: 5}]}, then: block, message: M}\n",
        )
        rules = load_rules(path)
        self.assertEqual((rules.shield_name, rules.version, [it.id for it in rules.rules]), ("main", 2, ["r1", "r2", "r3"]))
        self.assertEqual((rules.rules[1].when, rules.rules[1].then), ({"tool": "read"}, Verdict.ALLOW))
        self.assertEqual(rules.rules[2].chain, [{"tool": "a", "within_seconds": 5}])
        self.assertEqual(len(load_rules(self.folder).rules), 3)
        self.assertEqual(parse_rules_from_string("rules: [{id: a, when: {tool: x}, then: block}]").rules[0].when, {"tool": "x"})

    def test_what_is_wrong_with_a_file_is_told(self):
        cases = [
            (load_rules, "nope", "does not exist"),
            (parse_rule_file, "nope.yaml", "File not found"),
            (parse_rule_file, self.write("rules.txt", "a"), "Not a YAML file"),
            (parse_rule_file, self.write("bad.yaml", "a: [b"), "Invalid YAML"),
            (parse_rule_file, self.write("list.yaml", "- a"), "root must be a mapping"),
            (load_rules, self.write("verdict.yaml", "rules: [{id: a, when: {tool: x}, then: EXPLODE}]"), "EXPLODE"),
        ]
        for read, path, message in cases:
            with self.assertRaisesRegex(PolicyShieldParseError, message):
                read(path)

    def test_rules_are_reloaded_and_sessions_go_on(self):
        first = self.write("a.yaml", "rules: [{id: r, when: {tool: send, chain: [{tool: read, within_seconds: 99}]}, then: block}]")
        second = self.write("b.yaml", "rules: [{id: r2, when: {tool: send, session: {total_calls: {gt: 0}}}, then: block, message: Again}]")
        shielded = ShieldEngine(first)
        shielded.check("read")
        self.assertIs(shielded.check("send").verdict, Verdict.BLOCK)
        with self.assertRaises(PolicyShieldParseError):
            shielded.reload_rules(self.folder / "nope.yaml")
        self.assertEqual(shielded.check("send").rule_id, "r")
        shielded.reload_rules(second)
        self.assertEqual((shielded.check("send").rule_id, shielded.rule_count), ("r2", 1))
        shielded.mode = ShieldMode.AUDIT
        result = shielded.check("send")
        self.assertEqual((result.verdict, result.message), (Verdict.ALLOW, "[AUDIT] Again"))


class Code(unittest.TestCase):
    """Rules that a program writes."""

    def rules(self, *rules, **options):
        return RuleSet(shield_name="test", version=1, rules=list(rules), **options)

    def test_rules_from_code_mean_what_a_file_means(self):
        block = RuleConfig(id="block-exec", description="Block exec calls", when={"tool": "exec"}, then=Verdict.BLOCK, message="no exec")
        shielded = ShieldEngine(self.rules(block, RuleConfig(id="mask", tool="send_.*", then="redact")))
        self.assertEqual(shielded.check("exec").message, "no exec")
        self.assertEqual(shielded.check("send_mail", {"body": "Contact: john@example.com"}).verdict, Verdict.REDACT)
        self.assertEqual(shielded.rules.enabled_rules()[0].id, "block-exec")
        off = ShieldEngine(self.rules(RuleConfig(id="off", when={"tool": "exec"}, then=Verdict.BLOCK, enabled=False), block))
        self.assertEqual(off.check("exec").rule_id, "block-exec")
        with self.assertRaisesRegex(PolicyShieldParseError, "exce"):
            ShieldEngine(self.rules(RuleConfig(id="a", when={"tools": "exce"}, then=Verdict.BLOCK)))

    def test_an_engine_without_rules_has_a_kill_switch(self):
        for mode in [ShieldMode.ENFORCE, ShieldMode.AUDIT]:
            shielded = ShieldEngine(self.rules(default_verdict=Verdict.ALLOW), mode)
            shielded.kill(reason="Active exploit detected")
            result = shielded.check("any_tool", {})
            self.assertEqual((result.verdict, result.rule_id), (Verdict.BLOCK, "__kill_switch__"))
            self.assertIn("Active exploit", result.message)
            shielded.resume()
            self.assertIs(shielded.check("any_tool", {}).verdict, Verdict.ALLOW)
            self.assertEqual((shielded.is_killed, shielded.rule_count), (False, 0))
        closed = ShieldEngine(self.rules(default_verdict="block")).check("any_tool")
        self.assertEqual((closed.verdict, closed.rule_id), (Verdict.BLOCK, "__default__"))

    def test_what_a_rule_found_is_told(self):
        shielded = ShieldEngine(self.rules(RuleConfig(id="r", when={"tool": "send"}, then=Verdict.REDACT)))
        (match,) = shielded.check("send", {"text": "Email: test@example.com"}).pii_matches
        self.assertEqual((match.pii_type, match.field), (PIIType.EMAIL, "text"))

    def test_a_tainted_session_is_closed_until_somebody_clears_it(self):
        taint = TaintChainConfig(enabled=True, outgoing_tools=["send_message"])
        shielded = ShieldEngine(self.rules(RuleConfig(id="all", then=Verdict.ALLOW), taint_chain=taint))
        self.assertIs(shielded.check("web_search", {"query": "x"}, session_id="s1").verdict, Verdict.ALLOW)
        told = shielded.post_check("web_search", "user email is john@corp.com", session_id="s1")
        self.assertTrue(told.session_tainted)
        result = shielded.check("send_message", {"text": "hello"}, session_id="s1")
        self.assertEqual((result.verdict, result.rule_id), (Verdict.BLOCK, "__pii_taint__"))
        self.assertIs(shielded.check("read_file", session_id="s1").verdict, Verdict.ALLOW)
        session = shielded.session_manager.get("s1")
        self.assertEqual((session.pii_tainted, session.taint_details), (True, "PII detected: EMAIL"))
        session.clear_taint()
        self.assertIs(shielded.check("send_message", {"text": "hello"}, session_id="s1").verdict, Verdict.ALLOW)

    def test_a_result_without_a_check_is_that_of_a_call_that_ran(self):
        rule = OutputRule(id="pat", tool="read_db", block_patterns=["password"])
        shielded = ShieldEngine(self.rules(RuleConfig(id="no", when={"tool": "exec"}, then=Verdict.BLOCK), output_rules=[rule]))
        self.assertTrue(shielded.post_check("read_db", "password: abc").blocked)
        self.assertFalse(shielded.post_check("other", "password: abc").blocked)
        self.assertEqual(shielded.session_manager.get("default").total_calls, 2)
        self.assertIn("was not checked before it ran", shielded.post_check("exec", "done").block_reason)

    def test_a_backend_asks_a_human(self):
        for approved, verdict in [(True, Verdict.ALLOW), (False, Verdict.BLOCK), ("yes", Verdict.BLOCK)]:
            backend = InMemoryBackend()
            shielded = ShieldEngine(self.rules(RuleConfig(id="ask", when={"tool": "deploy"}, then=Verdict.APPROVE)), approval_backend=backend)
            asked = shielded.check("deploy", {"to": "x"})
            self.assertIs(asked.verdict, Verdict.APPROVE)
            (request,) = backend.pending()
            self.assertEqual((request.request_id, request.args, request.rule_id), (asked.approval_id, {"to": "x"}, "ask"))
            self.assertEqual(shielded.get_approval_status(asked.approval_id)["status"], "pending")
            backend.respond(request.request_id, approved, "ada")
            self.assertIs(shielded.check("deploy", {"to": "x"}).verdict, verdict)

    def test_options_that_are_elsewhere_say_where(self):
        with self.assertRaisesRegex(LockgateError, "`sanitizer` into the rules file"):
            ShieldEngine(Policy(texts={"r.yaml": RULES}), sanitizer=object())
        with self.assertRaises(TypeError):
            ShieldEngine(Policy(texts={"r.yaml": RULES}), sanitiser=None)
        # Whatever fails blocks, whatever this says.
        self.assertIs(engine(fail_open=True).check("exec", {"command": "rm -rf /"}).verdict, Verdict.BLOCK)

    def test_tools_of_crewai_are_wrapped(self):
        class Exec:
            name, description, ran = "exec", "runs", []

            def _run(self, command):
                self.ran.append(command)
                if command == "secret":
                    raise PermissionError("the tool's own")
                return f"{command} ada@example.com"

        (tool,) = shield_all_crewai_tools([Exec()], engine())
        self.assertEqual((tool.name, tool.run(command="ls")), ("exec", "ls ada@example.com"))
        self.assertTrue(tool.run(command="rm -rf /").startswith("BLOCKED: "))
        with self.assertRaisesRegex(PermissionError, "the tool's own"):
            tool.run(command="secret")
        (strict,) = shield_all_crewai_tools([Exec()], engine(), on_block="raise")
        with self.assertRaises(ToolCallBlockedError):
            strict._run(command="rm -rf /")
        self.assertEqual(Exec.ran, ["ls", "secret"])


if __name__ == "__main__":
    unittest.main()
