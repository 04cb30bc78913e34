"""Edictum's own samples, with a changed import: its README and its page "Rule Types Overview"."""

import asyncio
import contextlib
import json
import pathlib
import tempfile
import unittest
from typing import Any

import lockgate.edictum
from lockgate import Permit
from lockgate.edictum import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStatus,
    AuditAction,
    AuditEvent,
    CollectingAuditSink,
    CompositeSink,
    Edictum,
    EdictumConfigError,
    EdictumDenied,
    EdictumToolError,
    FileAuditSink,
    MarkEvictedError,
    Principal,
    RedactionPolicy,
)
from lockgate.edictum.adapters import Adapter

FILE_SAFETY = """
apiVersion: edictum/v1
kind: Ruleset
metadata:
  name: file-safety
defaults:
  mode: enforce
rules:
  - id: block-sensitive-reads
    type: pre
    tool: read_file
    when:
      args.path:
        contains_any: [".env", ".secret", "credentials", ".pem", "id_rsa"]
    then:
      action: block
      message: "Sensitive file '{args.path}' blocked."
"""

WORKFLOW = """
apiVersion: edictum/v1
kind: Workflow
metadata:
  name: read-before-edit
stages:
  - id: read-context
    tools: [Read]
    exit:
      - condition: file_read("spec.md")
        message: Read the spec before editing
  - id: implement
    entry:
      - condition: stage_complete("read-context")
    tools: [Edit]
    approval:
      message: Human approval required before implementation
"""

OVERVIEW = """
apiVersion: edictum/v1
kind: Ruleset
metadata: {name: my-agent-rules}
defaults: {mode: enforce}
rules:
  - id: block-dotenv
    type: pre
    tool: read_file
    when:
      args.path: { contains: ".env" }
    then:
      action: block
      message: "Read of sensitive file denied: {args.path}"
  - id: pii-in-output
    type: post
    tool: "*"
    when:
      output.text:
        matches_any:
          - '\\b\\d{3}-\\d{2}-\\d{4}\\b'
          - '\\b[A-Z]{2}\\d{2}\\s?\\d{4}\\s?\\d{4}\\s?\\d{4}\\s?\\d{4}\\s?\\d{0,2}\\b'
    then:
      action: redact
      message: "PII pattern detected in output."
  - id: session-limits
    type: session
    limits:
      max_tool_calls: 50
      max_attempts: 120
      max_calls_per_tool:
        deploy_service: 3
        send_notification: 10
    then:
      action: block
      message: "Session limit reached. Summarize progress and stop."
  - id: file-sandbox
    type: sandbox
    tools: [read_file, write_file, edit_file]
    within:
      - /workspace
      - /tmp
    not_within:
      - /workspace/.git
    outside: block
    message: "File access outside workspace: {args.path}"
"""


def ruleset(*rules: str, mode: str = "enforce") -> str:
    head = f"apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: t}}\ndefaults: {{mode: {mode}}}\nrules:\n"
    return head + "".join(f"  - {rule}\n" for rule in rules)


ASK = ruleset("{id: ask, type: pre, tool: deploy, when: {args.to: {exists: true}}, then: {action: ask, message: Really?}}")


async def read_file(path: str) -> str:
    return f"content of {path}"


class Backend:
    """Answers at once, and keeps what it was asked."""

    def __init__(self, approved: Any, status: ApprovalStatus = ApprovalStatus.APPROVED) -> None:
        self.approved, self.status = approved, status
        self.asked: list[dict[str, Any]] = []

    async def request_approval(self, tool_name: str, tool_args: dict[str, Any], message: str, **about: Any) -> ApprovalRequest:
        self.asked.append({"tool": tool_name, "args": tool_args, "message": message, **about})
        return ApprovalRequest("a1", tool_name, tool_args, message, 300)

    async def wait_for_decision(self, approval_id: str, timeout: int | None = None) -> ApprovalDecision:
        if isinstance(self.approved, Exception):
            raise self.approved
        return ApprovalDecision(self.approved, approver="ada", reason=None if self.approved else "not today", status=self.status)


class Samples(unittest.TestCase):
    def write(self, **texts: str) -> list[str]:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        files = []
        for name, text in texts.items():
            files.append(str(pathlib.Path(folder.name) / f"{name}.yaml"))
            pathlib.Path(files[-1]).write_text(text)
        return files

    def test_block_first(self) -> None:
        guard = Edictum.from_template("file-agent")
        result = guard.evaluate("read_file", {"path": ".env"})
        self.assertEqual(result.decision, "block")
        # The templates are ours, and so are their messages.
        self.assertEqual(result.block_reasons[0], "Files with secrets are not touched.")
        self.assertEqual(guard.evaluate("bash", {"command": "rm -rf /"}).decision, "block")
        self.assertEqual(guard.evaluate("read_file", {"path": "/workspace/notes.md"}).decision, "allow")
        with self.assertRaisesRegex(EdictumConfigError, "Template 'x' not found; there are: coding-agent"):
            Edictum.from_template("x")

    def test_the_templates_are_those_of_the_repository(self) -> None:
        templates = pathlib.Path(__file__).parents[3] / "templates"
        names = sorted(file.stem for file in templates.glob("*.yaml"))
        self.assertEqual([it.name for it in Edictum.list_templates()], names)
        for name in names:
            packed = pathlib.Path(lockgate.edictum.__file__).parent / "templates" / f"{name}.yaml"
            self.assertEqual(packed.read_text(), (templates / f"{name}.yaml").read_text(), f"copy templates/{name}.yaml to the package")

    def test_full_path(self) -> None:
        (file,) = self.write(rules=FILE_SAFETY)
        guard = Edictum.from_yaml(file)
        result = guard.evaluate("read_file", {"path": ".env"})
        self.assertEqual((result.decision, result.block_reasons), ("block", ["Sensitive file '.env' blocked."]))
        self.assertEqual(result.rules[0].rule_id, "block-sensitive-reads")
        self.assertEqual((result.rules[0].rule_type, result.rules[0].passed, result.rules_evaluated), ("precondition", False, 1))

        async def main() -> str:
            with self.assertRaises(EdictumDenied) as denied:
                await guard.run("read_file", {"path": ".env"}, read_file)
            self.assertEqual(denied.exception.reason, "Sensitive file '.env' blocked.")
            self.assertEqual(denied.exception.decision_source, "yaml_precondition")
            self.assertEqual(denied.exception.decision_name, "block-sensitive-reads")
            return await guard.run("read_file", {"path": "notes.md"}, read_file)

        self.assertEqual(asyncio.run(main()), "content of notes.md")

    def test_a_workflow_beside_rules(self) -> None:
        rules, workflow = self.write(rules=FILE_SAFETY, workflow=WORKFLOW)
        backend, sink = Backend(True), CollectingAuditSink()
        guard = Edictum.from_yaml(rules, workflow_path=workflow, approval_backend=backend, audit_sink=sink)

        async def edit() -> Any:
            return await guard.run("Edit", {"file_path": "a.py"}, lambda file_path: "edited", session_id="s1")

        async def main() -> None:
            with self.assertRaisesRegex(EdictumDenied, "Read the spec before editing") as denied:
                await edit()
            self.assertEqual(denied.exception.decision_source, "workflow")
            await guard.run("Read", {"file_path": "spec.md"}, lambda file_path: "the spec", session_id="s1")
            self.assertEqual(await edit(), "edited")

        asyncio.run(main())
        self.assertIn(AuditAction.WORKFLOW_STAGE_ADVANCED, [event.action for event in sink.events])

    def test_the_four_types_of_rules(self) -> None:
        guard = Edictum.from_yaml_string(OVERVIEW)
        inside = {"path": "/workspace/notes.md"}
        for args, reason in [
            ({"path": "/workspace/.env"}, "Read of sensitive file denied: /workspace/.env"),
            ({"path": "/etc/passwd"}, "File access outside workspace: /etc/passwd"),
            ({"path": "/workspace/.git/config"}, "File access outside workspace: /workspace/.git/config"),
        ]:
            result = guard.evaluate("read_file", args)
            self.assertEqual(result.decision, "block")
            self.assertTrue(result.block_reasons[0].startswith(reason), result.block_reasons)
        self.assertEqual([it.rule_type for it in guard.evaluate("read_file", inside).rules], ["precondition", "sandbox"])
        warned = guard.evaluate("read_file", inside, output="SSN 123-45-6789")
        self.assertEqual((warned.decision, warned.warn_reasons), ("warn", ["PII pattern detected in output."]))
        self.assertEqual((warned.rules[-1].rule_type, warned.rules[-1].action), ("postcondition", "redact"))

        async def main() -> None:
            output = await guard.run("read_file", inside, lambda path: "SSN 123-45-6789")
            self.assertEqual(output, "SSN [REDACTED]")
            for _ in range(3):
                await guard.run("deploy_service", {}, lambda: "deployed")
            with self.assertRaisesRegex(EdictumDenied, "Session limit reached. Summarize progress and stop.") as denied:
                await guard.run("deploy_service", {}, lambda: "deployed")
            self.assertEqual(denied.exception.decision_source, "yaml_session")

        asyncio.run(main())


class Events(unittest.TestCase):
    """Secrets stay out of events, and a program can ask what came since."""

    def test_secrets_are_masked_by_name_by_value_and_within_commands(self) -> None:
        policy = RedactionPolicy(sensitive_keys={"ssn"}, safe_compound_keys={"sort_key"}, custom_patterns=[(r"ticket-\d+", "TICKET")])
        cases = [
            ({"password": "x", "api-key": "y", "SSN": "z"}, {"password": "[REDACTED]", "api-key": "[REDACTED]", "SSN": "[REDACTED]"}),
            ({"max_tokens": 5, "sort_keys": True, "sort_key": "a"}, {"max_tokens": 5, "sort_keys": True, "sort_key": "a"}),
            ({"a": ["sk-" + "a" * 24, "AKIAIOSFODNN7EXAMPLE", "ghp_" + "b" * 36]}, {"a": ["[REDACTED]"] * 3}),
            ({"command": "mysql --password hunter2 -u root"}, {"command": "mysql --password [REDACTED] -u root"}),
            ({"command": "export API_KEY=abc; psql postgres://ada:secret@db/x"}, {"command": "export API_KEY=[REDACTED] psql postgres://ada:[REDACTED]@db/x"}),
            ({"note": "see ticket-42", "long": "x" * 2000}, {"note": "see TICKET", "long": "x" * 997 + "..."}),
        ]
        for args, told in cases:
            self.assertEqual(policy.redact_args(args), told)
        off = RedactionPolicy(detect_secret_values=False)
        self.assertEqual(off.redact_args({"a": "sk-" + "a" * 24, "token": "x"}), {"a": "sk-" + "a" * 24, "token": "[REDACTED]"})
        self.assertLessEqual(len(policy.redact_result("x" * 900)), 500)
        self.assertTrue(policy.cap_payload({"tool_args": {"a": "x" * 40_000}})["_truncated"])

    def test_marks_say_what_came_since(self) -> None:
        sink = CollectingAuditSink(max_events=2)

        async def story() -> None:
            first = sink.mark()
            for tool in ["a", "b"]:
                await sink.emit(AuditEvent(AuditAction.CALL_ALLOWED, tool_name=tool))
            self.assertEqual([it.tool_name for it in sink.since_mark(first)], ["a", "b"])
            second = sink.mark()
            await sink.emit(AuditEvent(AuditAction.CALL_ALLOWED, tool_name="c"))
            self.assertEqual([it.tool_name for it in sink.since_mark(second)], ["c"])
            self.assertRaises(MarkEvictedError, sink.since_mark, first)
            self.assertRaises(ValueError, sink.since_mark, 9)

        asyncio.run(story())
        self.assertRaises(ValueError, CollectingAuditSink, 0)


class Several(unittest.TestCase):
    """Guards together, and what a guard says of itself."""

    def test_the_rules_of_several_guards_hold_together(self) -> None:
        bash = ruleset("{id: no-bash, type: pre, tool: Bash, when: {args.command: {exists: true}}, then: {action: block, message: No Bash.}}")
        write = ruleset("{id: no-write, type: pre, tool: Write, when: {args.path: {exists: true}}, then: {action: block, message: No Write.}}", mode="observe")
        first, second = Edictum.from_yaml_string(bash, environment="staging"), Edictum.from_yaml_string(write)
        self.assertEqual((first.mode, second.mode), ("enforce", "observe"))
        both = Edictum.from_multiple([first, second])
        self.assertEqual((both.environment, both.mode), ("staging", "enforce"))
        self.assertEqual(both.evaluate("Bash", {"command": "ls"}).block_reasons, ["No Bash."])
        # Each file keeps its mode.
        self.assertEqual(both.evaluate("Write", {"path": "a"}).decision, "allow")
        self.assertTrue(both.evaluate("Write", {"path": "a"}).rules[0].observed)
        with self.assertRaisesRegex(EdictumConfigError, "at least one guard"):
            Edictum.from_multiple([])
        with self.assertRaises(EdictumConfigError):
            Edictum.from_multiple([first, first])
        # In one policy a later file's mode would count for all of them.
        self.assertEqual(Edictum.from_multiple([second, first]).evaluate("Bash", {"command": "ls"}).decision, "block")

    def test_mistakes_are_told_in_its_words(self) -> None:
        for text, message in [("not: valid: {{{", "YAML parse error"), ("- a list", "must be a mapping"), (ruleset(), "Schema validation failed")]:
            with self.assertRaisesRegex(EdictumConfigError, message):
                Edictum.from_yaml_string(text)
        for selectors, message in [({"args": dict}, "clash with built-in"), ({"risk": "x"}, "not callable")]:
            with self.assertRaisesRegex(EdictumConfigError, message):
                Edictum.from_yaml_string(FILE_SAFETY, custom_selectors=selectors)  # type: ignore[arg-type]

    def test_adapters_tell_who_calls(self) -> None:
        text = ruleset("{id: sre, type: pre, tool: deploy, when: {not: {principal.role: {equals: sre}}}, then: {action: block, message: Only SREs.}}")
        guard = Edictum.from_yaml_string(text)
        for options, passes in [({}, False), ({"principal": Principal(role="sre")}, True), ({"principal_resolver": lambda tool, args: Principal(role=args["as"])}, True)]:
            session = Adapter(guard, "s1", **options).session
            self.assertEqual(isinstance(session.call("deploy", {"as": "sre"}), Permit), passes)
        with self.assertRaisesRegex(EdictumConfigError, "action: redact"):
            Adapter(guard, on_postcondition_warn=print)


class Guards(unittest.TestCase):
    def run_guard(self, guard: Edictum, tool: str, args: dict[str, Any], function: Any, **options: Any) -> Any:
        return asyncio.run(guard.run(tool, args, function, **options))

    def test_principals_come_from_the_call_the_resolver_or_the_guard(self) -> None:
        text = ruleset(
            "{id: sre, type: pre, tool: deploy, when: {not: {principal.role: {equals: sre}}}, then: {action: block, message: Only SREs.}}"
        )
        sre = Principal(role="sre", claims={"team": "a"})
        self.assertEqual(Edictum.from_yaml_string(text).evaluate("deploy", {}).decision, "block")
        self.assertEqual(Edictum.from_yaml_string(text).evaluate("deploy", {}, principal=sre).decision, "allow")
        guard = Edictum.from_yaml_string(text)
        with self.assertRaises(EdictumDenied):
            self.run_guard(guard, "deploy", {}, lambda: "ok")
        self.assertEqual(self.run_guard(guard, "deploy", {}, lambda: "ok", principal=sre), "ok")
        guard.set_principal(sre)
        self.assertEqual(self.run_guard(guard, "deploy", {}, lambda: "ok"), "ok")
        resolved = Edictum.from_yaml_string(text, principal_resolver=lambda tool, args: sre)
        self.assertEqual(self.run_guard(resolved, "deploy", {}, lambda: "ok"), "ok")

    def test_a_batch_is_evaluated_call_by_call(self) -> None:
        guard = Edictum.from_yaml_string(FILE_SAFETY)
        calls = [{"tool": "read_file", "args": {"path": ".env"}, "principal": {"role": "x"}}, {"tool": "read_file", "args": {"path": "a"}}]
        self.assertEqual([it.decision for it in guard.evaluate_batch(calls)], ["block", "allow"])

    def test_a_human_is_asked_through_the_backend(self) -> None:
        with self.assertRaisesRegex(EdictumDenied, "Approval required but no approval backend configured: Really?"):
            self.run_guard(Edictum.from_yaml_string(ASK), "deploy", {"to": "prod"}, lambda to: "ok")
        for approved, status, runs in [
            (True, ApprovalStatus.APPROVED, True),
            (False, ApprovalStatus.DENIED, False),
            ("yes", ApprovalStatus.APPROVED, False),
            (False, ApprovalStatus.TIMEOUT, False),
            (RuntimeError("gone"), ApprovalStatus.PENDING, False),
        ]:
            backend = Backend(approved, status)
            guard = Edictum.from_yaml_string(ASK, approval_backend=backend)
            with self.subTest(approved=approved, status=status):
                if runs:
                    self.assertEqual(self.run_guard(guard, "deploy", {"to": "prod"}, lambda to: "ok"), "ok")
                else:
                    with self.assertRaises(EdictumDenied), self.assertLogs() if isinstance(approved, Exception) else contextlib.nullcontext():
                        self.run_guard(guard, "deploy", {"to": "prod"}, lambda to: "ok")
                self.assertEqual((backend.asked[0]["args"], backend.asked[0]["message"]), ({"to": "prod"}, "Really?"))

    def test_a_tool_that_fails_raises_and_is_settled(self) -> None:
        guard = Edictum.from_yaml_string(FILE_SAFETY)

        def broken() -> str:
            raise OSError("disk full")

        with self.assertRaisesRegex(EdictumToolError, "disk full"):
            self.run_guard(guard, "x", {}, broken)
        for value in ["Error: no", {"is_error": True}]:
            with self.assertRaises(EdictumToolError):
                self.run_guard(guard, "x", {}, lambda value=value: value)
        strict = Edictum.from_yaml_string(FILE_SAFETY, success_check=lambda tool, value: value == "good")
        with self.assertRaises(EdictumToolError):
            self.run_guard(strict, "x", {}, lambda: "bad")
        self.assertEqual(guard.gate.session(guard._session_id).status()["pending"], [])

    def test_events_say_what_happened(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file, sink = f"{folder}/audit.jsonl", CollectingAuditSink()
            guard = Edictum.from_yaml_string(FILE_SAFETY, audit_sink=CompositeSink([sink, FileAuditSink(file)]))
            self.run_guard(guard, "read_file", {"path": "a", "api_key": "k"}, lambda path, api_key: "ok", session_id="s1")
            with self.assertRaises(EdictumDenied):
                self.run_guard(guard, "read_file", {"path": ".env"}, read_file, session_id="s1")
            actions = ["call_allowed", "call_executed", "call_denied"]
            self.assertEqual([it.action.value for it in sink.events], actions)
            lines = [json.loads(line) for line in pathlib.Path(file).read_text().splitlines()]
            self.assertEqual([it["action"] for it in lines], actions)
        self.assertEqual([it.action.value for it in guard.local_sink.events], actions)
        self.assertEqual(sink.events[0].tool_args, {"path": "a", "api_key": "[REDACTED]"})
        self.assertEqual((sink.last().decision_name, sink.last().session_id), ("block-sensitive-reads", "s1"))
        self.assertEqual((sink.events[1].tool_success, sink.events[1].session_execution_count), (True, 1))
        self.assertEqual(RedactionPolicy({"ssn"}).redact_args({"ssn": "1", "max_tokens": 5}), {"ssn": "[REDACTED]", "max_tokens": 5})

    def test_a_sink_that_fails_before_the_tool_keeps_it_from_running(self) -> None:
        class Broken:
            async def emit(self, event: Any) -> None:
                raise OSError("disk full")

        ran: list[int] = []
        guard = Edictum.from_yaml_string(FILE_SAFETY, audit_sink=Broken())
        # One error, or a group of them where Python has groups.
        with self.assertRaisesRegex(Exception, "disk full|sinks failed"):
            self.run_guard(guard, "x", {}, lambda: ran.append(1))
        self.assertEqual(ran, [])
        self.assertEqual(guard.gate.session(guard._session_id).status()["pending"], [])

    def test_callbacks_hear_and_change_nothing(self) -> None:
        heard: list[Any] = []

        def slips(call: Any) -> None:
            raise ValueError("a slip")

        guard = Edictum.from_yaml_string(
            FILE_SAFETY, on_block=lambda call, reason, rule: heard.append((call.tool_name, reason, rule)), on_allow=slips
        )
        with self.assertLogs():
            self.run_guard(guard, "x", {}, lambda: "ok")
        with self.assertRaises(EdictumDenied):
            self.run_guard(guard, "read_file", {"path": ".env"}, read_file)
        self.assertEqual(heard, [("read_file", "Sensitive file '.env' blocked.", "block-sensitive-reads")])

    def test_observing_lets_everything_run(self) -> None:
        observing = FILE_SAFETY.replace("mode: enforce", "mode: observe")
        for guard in [Edictum.from_yaml_string(observing), Edictum.from_yaml_string(FILE_SAFETY, mode="observe")]:
            self.assertEqual(self.run_guard(guard, "read_file", {"path": ".env"}, read_file), "content of .env")
            self.assertEqual(guard.local_sink.events[0].action, AuditAction.CALL_WOULD_DENY)
        result = Edictum.from_yaml_string(observing).evaluate("read_file", {"path": ".env"})
        self.assertEqual((result.decision, result.rules[0].observed, result.rules[0].passed), ("allow", True, False))

    def test_custom_selectors_see_the_call(self) -> None:
        text = ruleset("{id: risk, type: pre, tool: pay, when: {risk.score: {gt: 5}}, then: {action: block, message: Too risky.}}")
        guard = Edictum.from_yaml_string(text, custom_selectors={"risk": lambda call: {"score": call.args["amount"] / 10}})
        self.assertEqual([guard.evaluate("pay", {"amount": it}).decision for it in (10, 100)], ["allow", "block"])
        broken = Edictum.from_yaml_string(text, custom_selectors={"risk": lambda call: 1 / 0})
        with self.assertRaises(EdictumDenied):
            self.run_guard(broken, "pay", {"amount": 1}, lambda amount: "paid")

    def test_tools_can_be_declared_in_code(self) -> None:
        text = ruleset("{id: w, type: post, tool: '*', when: {output.text: {contains: x}}, then: {action: block, message: No.}}")
        guard = Edictum.from_yaml_string(text, tools={"save": {"side_effect": "write"}})
        self.assertEqual(self.run_guard(guard, "save", {}, lambda: "x"), "x")
        self.assertIn("No.", self.run_guard(guard, "load", {}, lambda: "x"))
        observing = Edictum.from_yaml_string(text.replace("enforce", "observe"), tools={"save": {"side_effect": "write"}})
        self.assertEqual(self.run_guard(observing, "load", {}, lambda: "x"), "x")

    def test_what_cannot_be_loaded_says_why(self) -> None:
        with self.assertRaises(EdictumConfigError) as failed:
            Edictum.from_yaml_string(FILE_SAFETY.replace("args.path", "arg.path"))
        self.assertEqual(failed.exception.diagnostics[0]["code"], "unknown-selector")
        for options, word in [
            ({"custom_operators": {"x": len}}, "custom selector"),
            ({"backend": object()}, "store"),
            ({"workflow_path": "a", "workflow_content": "b"}, "not both"),
        ]:
            with self.assertRaisesRegex(EdictumConfigError, word):
                Edictum.from_yaml_string(FILE_SAFETY, **options)  # type: ignore[arg-type]
        with self.assertRaises(EdictumConfigError):
            Edictum.from_yaml()

    def test_a_cancelled_run_is_settled_as_a_failure(self) -> None:
        guard = Edictum.from_yaml_string(FILE_SAFETY)

        async def main() -> None:
            async def long() -> None:
                await asyncio.sleep(60)

            task = asyncio.create_task(guard.run("x", {}, long, session_id="s1"))
            await asyncio.sleep(0.05)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        self.assertEqual(guard.gate.session("s1").status()["pending"], [])
