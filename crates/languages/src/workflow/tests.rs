//! What a workflow file may say, what it may not, and what it becomes.

use std::sync::Arc;

use lockgate_pattern::ToolGlob;
use lockgate_policy::{
    Diagnostic, Severity, Span,
    workflow::{Condition, Progress, Ran, Requirement, Sight, Step},
};

use super::*;
use crate::{
    Draft,
    detect::{Language, detect},
    ruleset::CustomNames,
    yaml::told,
};

const HEAD: &str = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: t}\n";

/// A workflow with everything in it.
const WHOLE: &str = r#"apiVersion: edictum/v1
kind: Workflow
metadata:
  name: release
  version: "2026-04-04"
  description: from the notes to the tag
stages:
  - id: read
    description: read first
    entry:
      - condition: file_read("README.md")
        message: Read the README first
    tools: [Read, "mcp__*"]
    exit:
      - condition: file_read("notes/plan.md")
      - condition: mcp_result_matches("mcp__ci__status", "outcome", "passing")
  - id: build.it
    entry:
      - condition: stage_complete("read")
    tools: [Edit, Bash]
    checks:
      - command_not_matches: '^git push'
        message: Push belongs in ship
      - command_matches: '^(git|npm) '
    exit:
      - condition: command_matches("^npm test$")
        message: Run the tests
      - condition: command_not_matches("^npm publish")
      - condition: exec("git diff --quiet", exit_code=1)
  - id: review
    approval: {message: May it be shipped?}
  - id: ship
    entry:
      - condition: approval("review")
    tools: [Bash]
    exit:
      - condition: approval()
  - id: done
    terminal: true
"#;

fn read(text: &str) -> (Draft, Vec<Diagnostic>) {
    crate::parse::parse(&Source::new("t.yaml", text), &[], &CustomNames::default())
}

/// The mistakes and warnings of a file.
fn mistakes(text: &str) -> String {
    told(&read(text).1)
}

/// The findings about a file without mistakes.
fn findings(text: &str) -> String {
    let (draft, diagnostics) = read(text);
    assert_eq!(told(&diagnostics), "", "{text}");
    told(&crate::lint(&draft))
}

fn workflow(text: &str) -> DraftWorkflow {
    let (draft, diagnostics) = read(text);
    assert_eq!(told(&diagnostics), "", "{text}");
    draft.workflow.unwrap()
}

/// A file with these stages, each written in one line.
fn stages(stages: &[&str]) -> String {
    let stages: String = stages.iter().map(|stage| format!("  - {{{stage}}}\n")).collect();
    format!("{HEAD}stages:\n{stages}")
}

/// A file whose second stage can be left when this holds; the condition stands as it is.
fn leaving(condition: &str) -> String {
    format!(
        "{HEAD}stages:\n  - id: a\n  - id: b\n    tools: [Bash]\n    exit:\n      - condition: |-\n          {condition}\n"
    )
}

/// What a condition of the stage `b` becomes, or what is wrong with it.
fn condition(text: &str) -> String {
    let (draft, diagnostics) = read(&leaving(text));
    if !diagnostics.is_empty() {
        return diagnostics
            .iter()
            .map(|mistake| {
                let place = mistake.source.slice(mistake.span).trim_end();
                format!("{} at `{place}` | {}", mistake.message, mistake.remedy.as_deref().unwrap())
            })
            .collect();
    }
    let workflow = draft.workflow.unwrap();
    workflow.stages[1].exit[0].text.to_string()
}

#[test]
fn a_whole_workflow_is_read() {
    let workflow = workflow(WHOLE);
    assert_eq!((workflow.name.as_str(), workflow.version.as_deref()), ("release", Some("2026-04-04")));
    let drawn: Vec<String> = workflow
        .stages
        .iter()
        .map(|stage| {
            let texts = |requirements: &[Requirement]| {
                requirements.iter().map(|it| it.key.to_string()).collect::<Vec<_>>().join(" & ")
            };
            let tools =
                stage.tools.as_ref().map(|tools| tools.iter().map(ToolGlob::text).collect::<Vec<_>>());
            let checks: Vec<String> = stage
                .checks
                .iter()
                .map(|it| format!("{}{}", if it.forbids { "not " } else { "" }, it.pattern))
                .collect();
            format!(
                "{} in[{}] tools{tools:?} checks{checks:?} out[{}] {:?} {}",
                stage.id,
                texts(&stage.entry),
                texts(&stage.exit),
                stage.approval,
                stage.is_terminal
            )
        })
        .collect();
    insta::assert_snapshot!(drawn.join("\n"), @r#"
    read in[file_read("README.md")] toolsSome(["Read", "mcp__*"]) checks[] out[file_read("notes/plan.md") & mcp_result_matches("mcp__ci__status", "outcome", "passing")] None false
    build.it in[stage_complete("read")] toolsSome(["Edit", "Bash"]) checks["not ^git push", "^(git|npm) "] out[build.it: command_matches("^npm test$") & build.it: command_not_matches("^npm publish") & exec("git diff --quiet", exit_code=1)] None false
    review in[] toolsNone checks[] out[] Some("May it be shipped?") false
    ship in[approval("review")] toolsSome(["Bash"]) checks[] out[approval("ship")] None false
    done in[] toolsNone checks[] out[] None true
    "#);
    assert_eq!(findings(WHOLE), "");
    let (policy, diagnostics) = crate::read(&[Source::new("t.yaml", WHOLE)]);
    assert_eq!(told(&diagnostics), "");
    let policy = policy.unwrap();
    assert_eq!(policy.workflows()[0].stages.len(), 5);
    assert_eq!(policy.workflows()[0].place.line, 4, "a workflow stands where its name does");
}

#[test]
fn a_file_says_itself_that_it_is_a_workflow() {
    for (text, expected) in [
        ("kind: Workflow\n", true),
        ("{\"kind\": \"Workflow\"}", true),
        ("a: [\nkind: Workflow\n", true),
        ("apiVersion: edictum/v1\nkind: workflow\nstages: []\n", true),
        ("apiVersion: edictum/v1\nkind: Workflwo\n", true),
        ("kind: WorkFlow\nstages: []\n", true),
        ("apiVersion: edictum/v1\nstages: []\n", true),
        ("apiVersion: edictum/v1\nrules: []\n", false),
        ("apiVersion: edictum/v1\nkind: Ruleset\nstages: []\n", false),
        ("apiVersion: edictum/v1\nkind: Rulset\n", false),
        ("kind: Net\nstages: []\n", false),
        ("kind: Workflows of mine\n", false),
        ("a: {kind: Workflow}\n", false),
        ("require a before b # kind: Workflow\n", false),
    ] {
        assert_eq!(detect(&Source::new("a.yaml", text)) == Language::Workflow, expected, "{text}");
    }
    for text in
        ["kind: Workflow\n", "apiVersion: edictum/v1\nkind: Workflwo\nstages: []\n", "kind: Workfolw\n"]
    {
        let (policy, _) = crate::read(&[Source::new("a.yaml", text)]);
        assert!(policy.is_none(), "what is not understood is never an empty policy: {text}");
    }
}

#[test]
fn every_mistake_of_a_file_is_told_at_once() {
    let text = r#"apiVersion: edictum/v2
kind: workflow
metadata: {name: My Flow, owner: me}
limits: {}
stages:
  - id: Read
    tool: [Read]
    terminal: yes
  - id: b
    description: no
    tools: [a/b, '', "x\ty", no]
    entry: {condition: approval()}
    checks:
      - {command_matches: a, command_not_matches: b}
      - {message: x}
      - {command_matches: 'a(b', mesage: x}
      - {command_matches: ''}
    exit:
      - {message: x}
      - condition: file_read('x')
      - condition: [a]
      - condition: stage_completed("b")
    approval: {}
  - b
  - id: b
    approval: yes please
    tools: []
    exit: []
  - description: nameless
"#;
    insta::assert_snapshot!(mistakes(text), @r#"
    1:13 unknown-value `apiVersion` cannot be `edictum/v2` | did you mean `edictum/v1`?
    2:7 unknown-value `kind` cannot be `workflow` | did you mean `Workflow`?
    3:18 bad-name `name` cannot be `My Flow` | use lower-case letters, digits, `.`, `_` and `-`, and begin with a letter or digit
    3:27 unknown-key `metadata` has no key `owner` | leave it out; the keys are `name`, `version`, `description`
    4:1 unknown-key the workflow has no key `limits` | leave it out; the keys are `apiVersion`, `kind`, `metadata`, `stages`, `claims`, `examples`
    6:9 bad-name `id` cannot be `Read` | use lower-case letters, digits, `.`, `_` and `-`, and begin with a letter or digit
    7:5 unknown-key a stage has no key `tool` | did you mean `tools`?
    8:15 wrong-type `terminal` must be `true` or `false`, not the text `yes` | write `true` or `false`, without quotes
    10:18 yaml-older older YAML reads `no` as false | put it in quotes to make it a text
    11:13 bad-name no tool has `/` in its name | write the tool's name as the agent calls it
    11:18 wrong-type an entry of `tools` must be a text, not an empty text | write a word or a quoted text
    11:22 bad-name no tool has `\t` in its name | write the tool's name as the agent calls it
    11:30 yaml-older older YAML reads `no` as false | put it in quotes to make it a text
    12:12 wrong-type `entry` must be a list, not a mapping | write `[a, b]`, or one `- a` a line
    14:51 one-of-keys a check cannot have both `command_matches` and `command_not_matches` | make two checks of it
    15:9 missing-key a check has none of `command_matches`, `command_not_matches` | add one of them
    16:29 bad-pattern `command_matches`: `(` is never closed: write `\(` for the character | write a regular expression as Python has it
    16:34 unknown-key a check has no key `mesage` | did you mean `message`?
    17:27 wrong-type `command_matches` must be a text, not an empty text | write a word or a quoted text
    19:9 missing-key a condition has no `condition` | add `condition: …`
    20:30 bad-condition texts stand in double quotes, not in single ones | write `"x"`
    21:20 wrong-type `condition` must be a text, not a list | write a word or a quoted text
    22:20 unknown-condition no condition is called `stage_completed` | did you mean `stage_complete`?
    23:15 missing-key `approval` has no `message` | add `message: …`
    24:5 wrong-type a stage must be a mapping, not the text `b` | write `key: value` lines under it
    25:9 duplicate-id `b` is already in `stages`, in line 9 | leave one of the two out, or rename it
    26:15 wrong-type `approval` must be a mapping, not the text `yes please` | write `key: value` lines under it
    27:12 empty-list `tools` is an empty list | name a tool, or leave the key out to open every tool
    29:5 missing-key a stage has no `id` | add `id: …`
    "#);
    insta::assert_snapshot!(mistakes("kind: Workflow\n"), @r#"
    1:1 missing-key the workflow has no `apiVersion` | add `apiVersion: …`
    1:1 missing-key the workflow has no `metadata` | add `metadata: …`
    1:1 missing-key the workflow has no `stages` | add `stages: …`
    "#);
    insta::assert_snapshot!(mistakes(&format!("{HEAD}stages: []\n")), @r#"
    4:9 empty-list `stages` is an empty list | write at least one stage
    "#);
    insta::assert_snapshot!(mistakes(&format!("{WHOLE}---\na: 1\n")), @r#"
    40:1 second-document a second document begins here | keep one document, and put the others into files of their own
    "#);
}

#[test]
fn mistakes_are_drawn_with_the_text_they_are_about() {
    let text = r#"apiVersion: edictum/v1
kind: Workflow
metadata: {name: t}
stages:
  - id: test
    tools: [Bash]
    exit:
      - condition: command_matches("^npm (test$")
  - id: ship
    entry:
      - condition: stage_complete("tset")
      - condition: command_matches("^npm test$")
"#;
    insta::assert_snapshot!(crate::render(&read(text).1, false), @r#"
    error[bad-pattern]: `command_matches`: `(` is never closed: write `\(` for the character
     --> t.yaml:8:42
      |
    8 |       - condition: command_matches("^npm (test$")
      |                                          ^^^^^^
      |
      = try: write a regular expression as Python has it

    error[unknown-stage]: no stage is called `tset`
      --> t.yaml:11:20
       |
    11 |       - condition: stage_complete("tset")
       |                    ^^^^^^^^^^^^^^^^^^^^^^
       |
       = try: did you mean `test`?

    error[never-holds]: `ship` has run no command before it begins
      --> t.yaml:12:20
       |
    12 |       - condition: command_matches("^npm test$")
       |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = try: move the condition to the `exit` of the stage before
    "#);
}

#[test]
fn conditions_have_one_spelling() {
    for (written, expected) in [
        (r#"stage_complete("a")"#, r#"stage_complete("a")"#),
        (r#"  file_read ( "a b.md" ) "#, r#"file_read("a b.md")"#),
        ("approval()", r#"approval("b")"#),
        ("approval( )", r#"approval("b")"#),
        (r#"approval("a")"#, r#"approval("a")"#),
        (r#"command_matches("^\d+\.\"x\"$")"#, r#"command_matches("^\\d+\\.\"x\"$")"#),
        (r#"command_matches("^\\d")"#, r#"command_matches("^\\d")"#),
        (r#"command_not_matches("a\x41\u00e9\U0001F600\101\'")"#, r#"command_not_matches("aAé😀A'")"#),
        (r#"exec("npm test")"#, r#"exec("npm test")"#),
        (r#"exec("npm  test", exit_code=0)"#, r#"exec("npm test")"#),
        (r#"exec("sh -c 'a && b > c'" , exit_code = 255)"#, r#"exec("sh -c 'a && b > c'", exit_code=255)"#),
        (r#"mcp_result_matches("a","b","")"#, r#"mcp_result_matches("a", "b", "")"#),
    ] {
        assert_eq!(condition(written), expected, "{written}");
        assert_eq!(condition(expected), expected, "the one spelling means itself: {written}");
    }
}

#[test]
fn a_condition_that_cannot_be_read_says_why() {
    let wrong = [
        "true",
        r#"not file_read("a")"#,
        r#""file_read""#,
        r#"file_raed("a")"#,
        r#"FILE_READ("a")"#,
        "approval",
        "file_read",
        "file_read()",
        r#"file_read("a", "b")"#,
        r#"file_read("")"#,
        r#"file_read(" ")"#,
        "file_read(notes/a.md)",
        "file_read('a')",
        r#"file_read("a"#,
        r#"file_read("a\"#,
        r#"file_read("a""#,
        r#"file_read("a",)"#,
        r#"file_read(,"a")"#,
        r#"file_read("a") and file_read("b")"#,
        r#"file_read("a"))"#,
        "file_read(\"a\tb\")",
        r#"file_read("a\n")"#,
        r#"file_read("a\x1")"#,
        r#"file_read("a\ud800")"#,
        r#"file_read("\N{DASH}")"#,
        r#"file_read("\0")"#,
        r#"file_read(path="a")"#,
        r#"stage_complete("c")"#,
        r#"stage_complete("b")"#,
        r#"approval("c")"#,
        r#"approval("a", "b")"#,
        r#"command_matches("\bnpm")"#,
        r#"command_matches("")"#,
        r#"command_matches("a(b")"#,
        r#"command_not_matches("a\\(b[")"#,
        r#"mcp_result_matches("a", "b")"#,
        r#"mcp_result_matches("a", "", "c")"#,
        r#"mcp_result_matches("a", "b", "c\"d")"#,
        r#"mcp_result_matches("a", "b", "c\d")"#,
        r#"exec("")"#,
        r#"exec("''")"#,
        r#"exec("a", 1)"#,
        r#"exec("a", "b")"#,
        r#"exec(exit_code=1)"#,
        r#"exec(exit_code=1, "a")"#,
        r#"exec("a", exit_code=1, exit_code=2)"#,
        r#"exec("a", exitcode=1)"#,
        r#"exec("a", exit_code=)"#,
        r#"exec("a", exit_code=256)"#,
        r#"exec("a", exit_code=-1)"#,
        r#"exec("a", exit_code=+1)"#,
        r#"exec("a", exit_code=99999999999)"#,
        r#"exec("a", exit_code="1")"#,
        r#"exec("a 'b")"#,
        r#"exec("FOO=1 a")"#,
    ];
    let told: Vec<String> = wrong.iter().map(|text| format!("{text}\n  {}", condition(text))).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    true
      no condition is called `true` at `true` | write one of `stage_complete`, `file_read`, `approval`, `command_matches`, `command_not_matches`, `exec`, `mcp_result_matches`
    not file_read("a")
      no condition is called `not` at `not` | conditions are not joined: all of a list must hold; write one of `stage_complete`, `file_read`, `approval`, `command_matches`, `command_not_matches`, `exec`, `mcp_result_matches`
    "file_read"
      a condition begins with the name of a function at `"file_read"` | write one of `stage_complete`, `file_read`, `approval`, `command_matches`, `command_not_matches`, `exec`, `mcp_result_matches`
    file_raed("a")
      no condition is called `file_raed` at `file_raed` | did you mean `file_read`?
    FILE_READ("a")
      no condition is called `FILE_READ` at `FILE_READ` | did you mean `file_read`?
    approval
      `approval` needs brackets behind it at `approval` | write `approval()` or `approval("stage")`
    file_read
      `file_read` needs brackets behind it at `file_read` | write `file_read("path")`
    file_read()
      `file_read` needs a text at `file_read()` | write `file_read("path")`
    file_read("a", "b")
      `file_read` does not take 2 texts at `file_read("a", "b")` | write `file_read("path")`
    file_read("")
      `file_read` is asked about an empty text at `` | write `file_read("path")`
    file_read(" ")
      `file_read` is asked about an empty text at `` | write `file_read("path")`
    file_read(notes/a.md)
      `notes/a.md` must stand in double quotes at `notes/a.md` | write `"notes/a.md"`
    file_read('a')
      texts stand in double quotes, not in single ones at `'a'` | write `"a"`
    file_read("a
      a double quote is missing at the end of the text at `"a` | close the quote
    file_read("a\
      a double quote is missing at the end of the text at `"a\` | close the quote
    file_read("a"
      `file_read` is not closed at `` | write `file_read("path")`
    file_read("a",)
      `file_read` lacks an argument here at `` | write `file_read("path")`
    file_read(,"a")
      `file_read` lacks an argument here at `` | write `file_read("path")`
    file_read("a") and file_read("b")
      a condition ends with its closing bracket at `and file_read("b")` | write each condition as an entry of its own; all of a list must hold
    file_read("a"))
      a condition ends with its closing bracket at `)` | write each condition as an entry of its own; all of a list must hold
    file_read("a	b")
      the text holds the control character `\t` at `` | take it out
    file_read("a\n")
      `\n` is a control character here at `\n` | for a backslash itself write two: `\\n`
    file_read("a\x1")
      this escape is not a character at `\x` | write 2 digits of base 16 that are one, or `\\` for a backslash itself
    file_read("a\ud800")
      this escape is not a character at `\u` | write 4 digits of base 16 that are one, or `\\` for a backslash itself
    file_read("\N{DASH}")
      `\N{…}` is not read here at `\N` | write the character itself, or its number as `\u0041`
    file_read("\0")
      `\0` is a control character here at `\0` | for a backslash itself write two: `\\0`
    file_read(path="a")
      `file_read` has no argument `path` at `path="a"` | write `file_read("path")`
    stage_complete("c")
      no stage is called `c` at `stage_complete("c")` | did you mean `a`?
    stage_complete("b")
      `b` cannot have ended before it ends at `stage_complete("b")` | name an earlier stage, or leave the condition out: stages come in the order of the file
    approval("c")
      no stage is called `c` at `approval("c")` | did you mean `a`?
    approval("a", "b")
      `approval` does not take 2 texts at `approval("a", "b")` | write `approval()` or `approval("stage")`
    command_matches("\bnpm")
      `\b` is a control character here at `\b` | for a backslash itself write two: `\\b`
    command_matches("")
      `command_matches` is asked about an empty text at `` | write `command_matches("expression")`
    command_matches("a(b")
      `command_matches`: `(` is never closed: write `\(` for the character at `(b` | write a regular expression as Python has it
    command_not_matches("a\\(b[")
      `command_not_matches`: `[` is never closed: write `\[` for the character at `a\\(b[` | write a regular expression as Python has it
    mcp_result_matches("a", "b")
      `mcp_result_matches` does not take 2 texts at `mcp_result_matches("a", "b")` | write `mcp_result_matches("tool", "field", "value")`
    mcp_result_matches("a", "", "c")
      `mcp_result_matches` is asked about an empty text at `` | write `mcp_result_matches("tool", "field", "value")`
    mcp_result_matches("a", "b", "c\"d")
      `mcp_result_matches` takes no quotes and no backslashes at `c\"d` | compare with a text that has none
    mcp_result_matches("a", "b", "c\d")
      `mcp_result_matches` takes no quotes and no backslashes at `c\d` | compare with a text that has none
    exec("")
      the command is empty at `` | name a program, as in `exec("npm test")`
    exec("''")
      the command is empty at `''` | name a program, as in `exec("npm test")`
    exec("a", 1)
      `1` must stand in double quotes at `1` | write `"1"`
    exec("a", "b")
      `exec` does not take 2 texts at `exec("a", "b")` | write `exec("command")` or `exec("command", exit_code=1)`
    exec(exit_code=1)
      `exit_code` stands once, behind the command at `exit_code=1` | write `exec("command")` or `exec("command", exit_code=1)`
    exec(exit_code=1, "a")
      `exit_code` stands once, behind the command at `exit_code=1` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=1, exit_code=2)
      `exit_code` stands once, behind the command at `exit_code=2` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exitcode=1)
      `exec` has no argument `exitcode` at `exitcode=1` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=)
      `exit_code` must be a number from 0 to 255, not `` at `exit_code=` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=256)
      `exit_code` must be a number from 0 to 255, not `256` at `exit_code=256` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=-1)
      `exit_code` must be a number from 0 to 255, not `-1` at `exit_code=-1` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=+1)
      `exit_code` must be a number from 0 to 255, not `+1` at `exit_code=+1` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code=99999999999)
      `exit_code` must be a number from 0 to 255, not `99999999999` at `exit_code=99999999999` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a", exit_code="1")
      `exit_code` must be a number from 0 to 255, not `"1"` at `exit_code="1"` | write `exec("command")` or `exec("command", exit_code=1)`
    exec("a 'b")
      a quote of the command is not closed at `a 'b` | close it, or write `\\` before a quote that is meant as itself
    exec("FOO=1 a")
      `FOO=1` is not a program: only a shell sets variables like this at `FOO=1 a` | write `env FOO=1 …`
    "#);
    let long = format!(r#"command_matches("{}")"#, "a".repeat(10_001));
    assert!(condition(&long).contains("longer than"), "{}", condition(&long));
}

#[test]
fn what_only_a_shell_would_do_is_no_command() {
    let live = [
        ("a | b", "|"),
        ("a && b", "&&"),
        ("a & b", "&"),
        ("a; b", ";"),
        ("a > b", ">"),
        ("a 2>&1", ">"),
        ("a < b", "<"),
        ("a $(b)", "$("),
        ("a `b`", "`"),
        ("a *.txt", "*"),
        ("a x?", "?"),
        ("a [xy].txt", "["),
        ("a ~/x", "~"),
        ("a $HOME", "$HOME"),
        ("a ${HOME}", "${"),
        ("a $?", "$?"),
        ("a {x,y}", "{"),
        ("a {1..3}", "{"),
        ("a # b", "#"),
        ("! a", "!"),
        ("(a)", "("),
        (r#"a \"$HOME\""#, "$HOME"),
        (r#"a \"x`b`\""#, "`"),
        ("a $'x'", "$'"),
        ("a 'x' | b", "|"),
        ("a x'y'*", "*"),
    ];
    for (command, piece) in live {
        let told = condition(&format!("exec(\"{command}\")"));
        let expected = format!("`{piece}` means something to a shell only");
        assert!(told.starts_with(&expected), "{command}: {told}");
        assert!(told.ends_with("or put the text in single quotes"), "{told}");
    }
    let plain: [(&str, &[&str]); 10] = [
        ("a 'b | c' d", &["a", "b | c", "d"]),
        (r#"a \"b && *\""#, &["a", "b && *"]),
        (r"a b\\ c \\$x \\*", &["a", "b c", "$x", "*"]),
        ("sh -c 'a | b $HOME'", &["sh", "-c", "a | b $HOME"]),
        ("[ -f x ]", &["[", "-f", "x", "]"]),
        ("find . -exec x {} +", &["find", ".", "-exec", "x", "{}", "+"]),
        ("a x~ y#z a=b", &["a", "x~", "y#z", "a=b"]),
        ("grep x$ y", &["grep", "x$", "y"]),
        (r#"a \"x$\" ''"#, &["a", "x$", ""]),
        ("a !b", &["a", "!b"]),
    ];
    for (command, words) in plain {
        let workflow = workflow(&leaving(&format!("exec(\"{command}\", exit_code=3)")));
        let Condition::Exec(exec) = &workflow.stages[1].exit[0].condition else { panic!("no exec") };
        assert_eq!(exec.words, words, "{command}");
        assert_eq!(exec.exit_code, 3);
    }
}

#[test]
fn what_can_never_happen_is_a_mistake() {
    let rows = [
        stages(&["id: a, terminal: true", "id: b"]),
        stages(&["id: a, tools: [Bash], checks: [{command_matches: 'a^'}]", "id: b"]),
        stages(&["id: a", r#"id: b, entry: [{condition: 'stage_complete("b")'}]"#]),
        stages(&[r#"id: a, entry: [{condition: 'stage_complete("b")'}]"#, "id: b"]),
        stages(&["id: a", r#"id: b, entry: [{condition: 'command_matches("^x")'}]"#]),
        stages(&["id: a", r#"id: b, exit: [{condition: 'command_matches("^x")'}]"#]),
        stages(&["id: a", r#"id: b, terminal: true, exit: [{condition: 'command_matches("^x")'}]"#]),
        stages(&[
            "id: abc",
            r#"id: b, entry: [{condition: 'approval("acb")'}, {condition: 'stage_complete("zzz")'}]"#,
        ]),
    ];
    insta::assert_snapshot!(rows.map(|text| mistakes(&text)).join("\n"), @r#"
    5:10 unreachable-stage nothing comes after the terminal stage `a`, and `b` does | move the terminal stage to the end
    5:10 stuck-stage `a` accepts no call, and nothing ends it | look for a slip in the expressions of its checks
    6:33 never-holds `b` cannot have ended before it ends | name an earlier stage, or leave the condition out: stages come in the order of the file
    5:33 never-holds `b` comes later, so it cannot have ended here | name an earlier stage, or leave the condition out: stages come in the order of the file
    6:33 never-holds `b` has run no command before it begins | move the condition to the `exit` of the stage before
    6:32 never-holds `b` names no tools, so no command ever runs in it | give the stage `tools`, or move the condition to the `exit` of the stage before
    6:48 never-holds the terminal stage `b` names no tools, so no command ever runs in it | give the stage `tools`
    6:33 unknown-stage no stage is called `acb` | did you mean `abc`?
    6:65 unknown-stage no stage is called `zzz` | the stages are `abc`, `b`
    "#);
    let good = [
        stages(&[r#"id: a, tools: [Bash], entry: [{condition: 'command_matches("^x")'}]"#]),
        stages(&["id: a, tools: [Bash], checks: [{command_matches: 'a^'}], approval: {message: m}", "id: b"]),
        stages(&[r#"id: a, entry: [{condition: 'approval("b")'}]"#, "id: b"]),
        stages(&[
            "id: a",
            r#"id: b, tools: [Bash], terminal: true, exit: [{condition: 'command_matches("^x")'}]"#,
        ]),
    ];
    for text in good {
        assert_eq!(mistakes(&text), "", "{text}");
    }
}

#[test]
fn what_its_author_probably_does_not_mean_is_found() {
    let rows = [
        stages(&["id: a", "id: b, tools: [x]"]),
        stages(&["id: a", "id: b, terminal: true"]),
        stages(&["id: a, tools: ['x*']", "id: b, tools: [y]"]),
        stages(&["id: a, tools: [x, y]", "id: b, approval: {message: m}", "id: c, tools: [y]"]),
        stages(&["id: a, tools: [x]", "id: b, approval: {message: m}"]),
        stages(&["id: a, tools: [x], checks: [{command_not_matches: ^a}]", "id: b, tools: [x]"]),
        stages(&["id: a, tools: ['Bash ', '{x,y}']"]),
        stages(&["id: a, tools: [x]", "id: b, terminal: true, tools: [Bash]"]),
        stages(&["id: a, tools: [x]", r#"id: b, terminal: true, exit: [{condition: 'file_read("x")'}]"#]),
        stages(&["id: a, tools: [x]", "id: b, terminal: true, approval: {message: m}"]),
        stages(&["id: a, tools: [Bash], checks: [{command_not_matches: 'a^'}, {command_matches: '(?!x)y'}]"]),
        stages(&[r#"id: a, tools: [Bash], exit: [{condition: 'command_matches("npm test")'}]"#]),
        stages(&[r#"id: a, tools: [Bash], exit: [{condition: 'command_matches("a^")'}]"#]),
        stages(&["id: a, tools: [x]", r#"id: b, entry: [{condition: 'command_not_matches("^x")'}]"#]),
        stages(&[r#"id: a, exit: [{condition: 'command_not_matches("^x")'}]"#, "id: b"]),
        stages(&[r#"id: a, exit: [{condition: 'file_read("docs/*.md")'}]"#, "id: b"]),
        stages(&[
            r#"id: a, tools: [ci], exit: [{condition: 'mcp_result_matches("ci*", "a", "b")'}]"#,
            "id: b",
        ]),
        stages(&[
            r#"id: a, tools: [x], exit: [{condition: 'mcp_result_matches("ci", "a", "b")'}]"#,
            "id: b, tools: [ci]",
        ]),
    ];
    insta::assert_snapshot!(rows.map(|text| findings(&text)).join("\n"), @r#"
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 endless-stage no call ends `a`, so `b` never begins | say with `exit` or `approval` when it ends
    5:10 odd-tool-name the tool `Bash ` is taken letter by letter | globs have `*`, `?` and `[…]`, and spaces count: name each tool
    5:10 odd-tool-name the tool `{x,y}` is taken letter by letter | globs have `*`, `?` and `[…]`, and spaces count: name each tool
    6:10 idle-tools the workflow is complete where `b` begins: no tool is open in it | give it an `exit`: its tools are open until that holds; or leave its tools out
    6:10 idle-condition no tool is open in the terminal stage `b`, whether its `exit` holds or not | give it `tools`, or leave `exit` out
    6:10 idle-approval no human is asked at the end of `b`: nothing comes after it | move `approval` to the stage before
    5:59 impossible-pattern no text matches `a^` | look for a slip in the expression
    5:84 not-linear `(?!x)y` needs an engine that may give up; a text it gives up on opens nothing | write it without look-around and back-references if you can
    5:47 not-from-start `npm test` is shown only by a command that begins with it | write `^` in front of it, so that readers see that too
    5:47 impossible-pattern no text matches `a^` | look for a slip in the expression
    6:33 idle-condition `b` has run no command before it begins, so this always holds | move the condition to the `exit` of the stage before
    5:32 idle-condition no command ever runs in `a`, so this always holds | move the condition to the `exit` of the stage before
    5:32 glob-as-name `docs/*.md` is the name of one file, not a glob | name each file in a condition of its own
    5:45 glob-as-name `ci*` is the name of one tool, not a glob | name the tool whose result is meant
    5:44 idle-condition `ci` is open in no stage up to here, so it cannot have a result | add it to the `tools` of a stage
    "#);
    let quiet = [
        stages(&["id: a, tools: [x]", "id: b, tools: [y]"]),
        stages(&["id: a, tools: ['x*']", "id: b, terminal: true"]),
        stages(&["id: a, tools: ['x*'], approval: {message: m}", "id: b, tools: [y]"]),
        stages(&["id: a, tools: [x, y]", "id: b, tools: [y, z]"]),
        stages(&["id: a, tools: [x]", "id: b"]),
        stages(&["id: a, tools: [x], checks: [{command_matches: ^a}]", "id: b, tools: [x]"]),
        stages(&[
            "id: a, tools: [x], checks: [{command_not_matches: ^a}]",
            "id: b, tools: [x], checks: [{command_matches: ^a}]",
        ]),
        stages(&[r#"id: a, tools: [Bash], exit: [{condition: 'command_matches("(?i)^npm")'}]"#]),
        stages(&[r#"id: a, tools: [Bash], exit: [{condition: 'command_matches("\\Anpm")'}]"#]),
        stages(&[r#"id: a, tools: ['c*'], exit: [{condition: 'mcp_result_matches("ci", "a", "b")'}]"#]),
        stages(&[r#"id: a, tools: [x], entry: [{condition: 'mcp_result_matches("ci", "a", "b")'}]"#]),
        stages(&[
            "id: a, tools: [x]",
            r#"id: b, terminal: true, tools: [Read], exit: [{condition: 'file_read("x")'}]"#,
        ]),
    ];
    for text in quiet {
        assert_eq!(findings(&text), "", "{text}");
    }
}

#[test]
fn a_version_is_taken_as_it_is_written() {
    let version = |written: &str| {
        let text = format!(
            "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {{name: t, version: {written}}}\nstages: [{{id: a}}]\n"
        );
        let (draft, diagnostics) = read(&text);
        (draft.workflow.unwrap().version, told(&diagnostics))
    };
    for (written, expected) in
        [("1", "1"), ("1.5", "1.5"), ("v2", "v2"), ("'1.10'", "1.10"), ("1.2.3", "1.2.3")]
    {
        assert_eq!(version(written), (Some(expected.into()), String::new()), "{written}");
    }
    for written in ["1.10", "2026-04-04", "1_000", "1e3", "yes"] {
        let (found, told) = version(written);
        assert_eq!(found.as_deref(), Some(written));
        assert!(told.contains("two-readings"), "{written}: {told}");
    }
    assert_eq!(version("~"), (None, String::new()));
    for written in ["true", "[1]", "''", "0x1F"] {
        assert!(version(written).1.contains("wrong-type"), "{written}: {:?}", version(written));
    }
}

#[test]
fn a_message_may_be_left_out_or_empty() {
    let text = stages(&[
        "id: a, tools: [Bash], checks: [{command_matches: '^a', message: ''}, {command_matches: '^b', message: m}]",
        r#"id: b, entry: [{condition: 'stage_complete("a")', message: ~}]"#,
    ]);
    let workflow = workflow(&text);
    let messages: Vec<Option<&str>> =
        workflow.stages[0].checks.iter().map(|it| it.message.as_deref()).collect();
    assert_eq!(messages, [None, Some("m")]);
    assert_eq!(workflow.stages[1].entry[0].message, None);
}

#[test]
fn anchors_are_followed() {
    let text = format!(
        "{HEAD}stages:\n  - id: a\n    tools: &t [Bash]\n    exit: &e\n      - condition: file_read(\"x\")\n  - id: b\n    tools: *t\n    exit: *e\n"
    );
    let workflow = workflow(&text);
    assert_eq!(workflow.stages[1].tools, workflow.stages[0].tools);
    assert_eq!(&*workflow.stages[1].exit[0].text, "file_read(\"x\")");
}

#[test]
fn every_bound_holds_one_past_it() {
    let repeated = |count: usize, item: &str| vec![item; count].join(", ");
    let file = |count: usize| {
        let stages: String = (0..count).map(|number| format!("  - id: s{number}\n")).collect();
        mistakes(&format!("{HEAD}stages:\n{stages}"))
    };
    assert_eq!(file(STAGES_MAX), "");
    assert!(file(STAGES_MAX + 1).contains("`stages` holds more than"));

    let tools = |count: usize| mistakes(&stages(&[&format!("id: a, tools: [{}]", repeated(count, "x"))]));
    assert_eq!(tools(TOOLS_MAX), "");
    assert!(tools(TOOLS_MAX + 1).contains("`tools` holds more than"));

    let checks = |count: usize| {
        mistakes(&stages(&[&format!("id: a, checks: [{}]", repeated(count, "{command_matches: x}"))]))
    };
    assert_eq!(checks(CHECKS_MAX), "");
    assert!(checks(CHECKS_MAX + 1).contains("`checks` holds more than"));

    for key in ["entry", "exit"] {
        let conditions = |count: usize| {
            mistakes(&stages(&[&format!("id: a, {key}: [{}]", repeated(count, "{condition: approval()}"))]))
        };
        assert_eq!(conditions(REQUIREMENTS_MAX), "");
        assert!(conditions(REQUIREMENTS_MAX + 1).contains(&format!("`{key}` holds more than")));
    }

    let message = |count: usize| {
        let message = "é".repeat(count);
        let gate = format!("id: a, exit: [{{condition: approval(), message: {message}}}]");
        let human = format!("id: b, approval: {{message: {message}}}");
        mistakes(&stages(&[&gate, &human])).matches("out-of-range").count()
    };
    assert_eq!((message(MESSAGE_CHARS_MAX), message(MESSAGE_CHARS_MAX + 1)), (0, 2));

    let exactly = |bytes: usize| {
        let text = stages(&["id: a"]);
        mistakes(&format!("{text}#{}", "x".repeat(bytes - text.len() - 1)))
    };
    assert_eq!(exactly(WORKFLOW_BYTES_MAX), "");
    assert!(exactly(WORKFLOW_BYTES_MAX + 1).contains("a workflow has at most"));

    assert_eq!(
        condition(&format!("exec(\"a\", exit_code={})", conditions::EXIT_CODE_MAX)),
        "exec(\"a\", exit_code=255)"
    );
    assert!(
        condition(&format!("exec(\"a\", exit_code={})", conditions::EXIT_CODE_MAX + 1))
            .contains("from 0 to 255")
    );
}

/// Every mistake can be shown in its place.
fn check_places(text: &str) {
    let source = Source::new("t.yaml", text);
    let (draft, diagnostics) = parse(&source);
    for diagnostic in &diagnostics {
        let Span { start, end } = diagnostic.span;
        assert!(source.text().get(start..end).is_some(), "{diagnostic:?} of {text:?}");
        assert!(diagnostic.remedy.is_some(), "{diagnostic:?}");
    }
    if !diagnostics.iter().any(|it| it.severity == Severity::Error) {
        assert!(!draft.workflow.unwrap().stages.is_empty());
    }
}

/// Whether some call takes a session that stands in a stage out of it.
fn can_be_left(workflow: &Workflow, at: usize) -> bool {
    let ids: Vec<Arc<str>> = workflow.stages.iter().map(|stage| stage.id.clone()).collect();
    let progress = Progress {
        active_stage: ids[at].clone(),
        completed_stages: ids[..at].to_vec(),
        fingerprint: workflow.fingerprint.clone(),
        ..Progress::default()
    };
    let tools = ["x", "y", "xx", "yy", "other"];
    let commands = ["a", "b", "c"];
    let calls = tools.into_iter().flat_map(|tool| {
        let with = commands.map(|command| lockgate_call::Call::new("1", tool).with("command", command));
        with.into_iter().chain([lockgate_call::Call::new("1", tool)])
    });
    calls.into_iter().any(|call| {
        let call = call.into();
        let sight = Sight::of(&call, lockgate_call::ScriptFields::Customary);
        let considered = workflow.consider(&progress, &sight, &Ran::default());
        considered.steps.iter().any(|step| matches!(step, Step::Advanced { .. } | Step::Completed { .. }))
    })
}

proptest::proptest! {
    #[test]
    fn a_stage_is_called_endless_only_where_no_call_ends_it(
        tools in proptest::collection::vec("|, tools: \\[(x|y|x, y|'x\\*'|xx|x, 'y\\*')\\]", 2..5),
        checks in proptest::collection::vec("|||, checks: \\[\\{command_(not_)?matches: '\\^(a|b)\\$'\\}\\]", 5),
        ends in proptest::collection::vec("|||, approval: \\{message: m\\}", 5),
        is_terminal: bool,
    ) {
        let last = tools.len() - 1;
        let lines: Vec<String> = tools.iter().zip(checks.iter().zip(&ends)).enumerate().map(|(at, (tools, (checks, end)))| {
            let terminal = if is_terminal && at == last { ", terminal: true" } else { "" };
            format!("id: s{at}{tools}{checks}{end}{terminal}")
        }).collect();
        let text = stages(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let (policy, diagnostics) = crate::read(&[Source::new("t.yaml", text.as_str())]);
        let policy = policy.unwrap();
        let workflow = &policy.workflows()[0];
        for (at, stage) in workflow.stages.iter().enumerate().take(last) {
            let is_told = diagnostics.iter().any(|it| it.code == "endless-stage" && it.span == stage.span);
            let has_end = stage.approval.is_some();
            let can_be_left = can_be_left(workflow, at);
            proptest::prop_assert!(!is_told || !can_be_left, "s{} ends in {}", at, text);
            // With checks nobody can tell by a few commands.
            let is_plain = workflow.stages.iter().all(|stage| stage.checks.is_empty());
            proptest::prop_assert!(is_told || can_be_left || has_end || !is_plain, "s{} is endless in {}", at, text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in r".{0,60}|(kind: Workflow\n|stages:\n|  - |id: a\n|condition: |exec\(|\x22|'|\)|\\|é|\[|\]){0,30}") {
        check_places(&text);
    }

    #[test]
    fn no_mutation_makes_it_panic(edits in proptest::collection::vec((0..WHOLE.len(), 0..4_usize, r"[a-z:\[\]{}\x22'()\\ \n-]{0,3}|é|\x00"), 1..6)) {
        let mut text = WHOLE.to_owned();
        for (at, cut, put) in edits {
            let start = text.floor_char_boundary(at.min(text.len()));
            let end = text.ceil_char_boundary((start + cut).min(text.len()));
            text.replace_range(start..end, &put);
        }
        check_places(&text);
    }

    #[test]
    fn a_condition_means_its_one_spelling(text in r#"(file_read|command_not_matches|exec|approval|file_raed)\(("[a-z \\"'é$.*|x0-9]{0,12}"|a)?(, ?exit_code=[0-9]{1,3})?\)"#) {
        let stage: Arc<str> = "s".into();
        if let Ok(condition) = conditions::parse(&text, &stage) {
            let spelled = conditions::spelled(&condition);
            let again = conditions::parse(&spelled, &stage).map(|it| conditions::spelled(&it));
            proptest::prop_assert_eq!(again.as_deref(), Ok(spelled.as_str()), "{}", text);
        }
    }

    #[test]
    fn a_command_that_is_read_is_what_its_words_say(words in proptest::collection::vec("[a-z$*'\" |;&\\\\~#{}\\[\\]!=é-]{1,6}", 1..5)) {
        let read = exec::words(&exec::joined(&words));
        // Joined words are quoted, so nothing in them is live; only the first may be an assignment.
        match read {
            Ok(read) => proptest::prop_assert_eq!(read, words),
            Err((message, _)) => proptest::prop_assert!(message.contains("is not a program"), "{} {:?}", message, words),
        }
    }
}
