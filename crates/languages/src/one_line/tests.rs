//! What the one-line language accepts, refuses and says.

use lockgate_call::shell_tools;
use lockgate_policy::{Scope, Statement, Takes};

use super::{meant::probable_count, pattern::PatternText, *};
use crate::render;

/// All mistakes of a text, drawn as its author sees them.
fn said(text: &str) -> String {
    render(&parse(&Source::new("ci.rules", text)).1, false)
}

/// What a file says, in one line each: our own words for the statements, so that a misread one shows.
fn read(text: &str) -> String {
    let (draft, diagnostics) = parse(&Source::new("ci.rules", text));
    let mistakes =
        diagnostics.iter().map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message));
    let rules = draft.rules.iter().map(|rule| match (&rule.statement, rule.mode) {
        (statement, Mode::Observe) => format!("observe {}", said_by(statement)),
        (statement, Mode::Enforce) => said_by(statement),
    });
    let maps = draft.maps.iter().map(|map| match &map.takes {
        Takes::Field { field, .. } => format!("{:?}.{field:?} as {:?}", map.tool, map.name),
        Takes::Running { program, words } => {
            format!("{:?} running {program:?} {words:?} as {:?}", map.tool, map.name)
        }
    });
    let scripts =
        draft.scripts.iter().map(|script| format!("{:?}.{:?} is a script", script.tool, script.field));
    mistakes.chain(rules).chain(maps).chain(scripts).collect::<Vec<_>>().join("\n")
}

fn said_by(statement: &Statement) -> String {
    match statement {
        Statement::Sequence { prerequisite, dependent } => format!("{dependent:?} after {prerequisite:?}"),
        Statement::Approval { tool } => format!("{tool:?} asks"),
        Statement::Block { tool } => format!("{tool:?} never"),
        Statement::Limit { tool, count, scope: Scope::Session } => format!("{tool:?} {count} times"),
        Statement::Limit { tool, count, scope: Scope::Action(action) } => {
            format!("{tool:?} {count} times, again after {action:?}")
        }
        Statement::Net(_) => "a net".into(),
    }
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(read(text), *expected, "for {text:?}");
    }
}

#[test]
fn each_statement_says_what_it_says() {
    check(&[
        ("require backup before delete", r#""delete" after "backup""#),
        ("require human-approval before deploy", r#""deploy" asks"#),
        ("block shutdown", r#""shutdown" never"#),
        ("limit send to 3 per session", r#""send" 3 times"#),
        ("limit send to 3 per read", r#""send" 3 times, again after "read""#),
        ("map bash.command rm as delete", r#""bash"."command" as "delete""#),
        ("map bash running git as git", r#""bash" running "git" [] as "git""#),
        ("map bash running git push -f as push", r#""bash" running "git" ["push", "-f"] as "push""#),
        ("script python.code", r#""python"."code" is a script"#),
        ("observe block email", r#"observe "email" never"#),
        ("mode enforce\nobserve block a\nblock b", "observe \"a\" never\n\"b\" never"),
        ("block a\nblock b\nmode observe", "observe \"a\" never\nobserve \"b\" never"),
    ]);
}

#[test]
fn names_are_any_words() {
    check(&[
        ("block block", r#""block" never"#),
        ("require before before before", r#""before" after "before""#),
        ("limit limit to 3 per limit", r#""limit" 3 times, again after "limit""#),
        ("block observe\nblock mode", "\"observe\" never\n\"mode\" never"),
        ("observe observe", "observe-without-rule: 'observe <rule>' expects a rule, got 'observe'"),
        ("block a;\nblock a?", "\"a;\" never\n\"a?\" never"),
        ("require a before human-approval", r#""human-approval" after "a""#),
        ("require human-approval before human-approval", r#""human-approval" asks"#),
        ("require Human-Approval before b", r#""b" after "Human-Approval""#),
        ("limit a to 3 per Session", r#""a" 3 times, again after "Session""#),
        ("limit a.b to 3 per session.x", r#""a.b" 3 times, again after "session.x""#),
        ("map bash.a.b rm as d.e", r#""bash"."a.b" as "d.e""#),
        ("map bash.command running as busy", r#""bash"."command" as "busy""#),
        ("map running running running as running", r#""running" running "running" [] as "running""#),
        ("map bash running as as as", r#""bash" running "as" [] as "as""#),
        ("map bash running sed as as as as", r#""bash" running "sed" ["as", "as"] as "as""#),
        ("script script.script", r#""script"."script" is a script"#),
    ]);
}

#[test]
fn a_map_may_speak_of_several_tools_or_of_any_shell() {
    let each = |line: &dyn Fn(&str) -> String| {
        shell_tools().iter().map(|tool| line(tool)).collect::<Vec<_>>().join("\n")
    };
    let running = each(&|tool| format!(r#""{tool}" running "rm" ["-r"] as "delete""#));
    let field = each(&|tool| format!(r#""{tool}"."command" as "x""#));
    check(&[
        ("map any shell running rm -r as delete", &running),
        ("map any\t shell   running rm -r as delete # really", &running),
        ("map any shell.command /a#b/ as x", &field),
        (
            "map Bash|Shell|Bash running rm as delete",
            "\"Bash\" running \"rm\" [] as \"delete\"\n\"Shell\" running \"rm\" [] as \"delete\"",
        ),
        ("map Bash|Shell.command rm as d", "\"Bash\".\"command\" as \"d\"\n\"Shell\".\"command\" as \"d\""),
        ("map a.b|c rm as d", r#""a"."b|c" as "d""#),
        ("script a|b.c", "\"a\".\"c\" is a script\n\"b\".\"c\" is a script"),
        ("map Bash| running rm as d", "empty-target: a name is missing beside `|` in 'Bash|'"),
        // A tool that is called `any` or `shell` keeps its name.
        ("map any running shell as x", r#""any" running "shell" [] as "x""#),
        ("map shell running rm as x", r#""shell" running "rm" [] as "x""#),
        ("map shell.command rm as x", r#""shell"."command" as "x""#),
        ("map any.shell rm as x", r#""any"."shell" as "x""#),
        ("block any\nblock shell", "\"any\" never\n\"shell\" never"),
        (
            "map any shell rm as delete",
            "missing-field: expected <tool>.<field> (e.g., bash.command), got 'any shell'",
        ),
    ]);
}

#[test]
fn what_no_tool_is_called_is_a_mistake_with_what_to_write() {
    insta::assert_snapshot!(said("block file_*\nblock Bash(rm *)\nrequire human-approval before Bash(git push:*)\nmap Bash(ls) as list\nblock Read(./.env)\n"), @r#"
    error[wildcard]: `file_*` is not the name of a tool
     --> ci.rules:1:7
      |
    1 | block file_*
      |       ^^^^^^ there are no wildcards in names
      |
      = try: write one line for each tool, or a rule with `when: {tool: "file_*"}` into a `.yaml` file

    error[permission-syntax]: `Bash(rm *)` is a permission of an agent, not the name of a tool
     --> ci.rules:2:7
      |
    2 | block Bash(rm *)
      |       ^^^^^^^^^^ a name has no brackets here
      |
      = try: write `map any shell running rm as rm` and `block rm`

    error[permission-syntax]: `Bash(git push:*)` is a permission of an agent, not the name of a tool
     --> ci.rules:3:31
      |
    3 | require human-approval before Bash(git push:*)
      |                               ^^^^^^^^^^^^^^^^ a name has no brackets here
      |
      = try: write `map any shell running git push as git-push` and `require human-approval before git-push`

    error[permission-syntax]: `Bash(ls)` is a permission of an agent, not the name of a tool
     --> ci.rules:4:5
      |
    4 | map Bash(ls) as list
      |     ^^^^^^^^ a name has no brackets here
      |
      = try: write `map any shell running ls as list`

    error[permission-syntax]: `Read(./.env)` is a permission of an agent, not the name of a tool
     --> ci.rules:5:7
      |
    5 | block Read(./.env)
      |       ^^^^^^^^^^^^ a name has no brackets here
      |
      = try: name the calls that are meant with `map TOOL.FIELD PATTERN as NAME`, and write NAME here
    "#);
    check(&[
        ("block backup(path)", r#""backup(path)" never"#),
        ("limit a to 3 per b*", "wildcard: `b*` is not the name of a tool"),
        ("require * before b", "wildcard: `*` is not the name of a tool"),
        ("map b* running rm as x", "wildcard: `b*` is not the name of a tool"),
    ]);
}

#[test]
fn white_space_and_comments_are_javascripts() {
    let a = r#""a" never"#;
    check(&[
        ("", ""),
        (" \t\n\n# block a\n", ""),
        ("block a # really", a),
        ("block a#b", a),
        ("\u{feff}block\u{a0}a\u{2028}", a),
        ("\tblock\u{b}\u{c}\u{3000}a\r\n", a),
        ("block\ra", a),
        ("block a\u{85}b", "\"a\\u{85}b\" never"),
        ("block a\u{200b}b", "\"a\\u{200b}b\" never"),
    ]);
}

#[test]
fn a_hash_between_the_slashes_of_a_pattern_starts_no_comment() {
    let map = r#""bash"."command" as "x""#;
    let short = "token-count: 'map <tool>.<field> <pattern> as <name>' expects 5 tokens, got 3";
    check(&[
        ("map bash.command /a#b/ as x", map),
        ("map bash.command /a#b#c/i as x # d", map),
        (r"map bash.command /\/#\// as x", map),
        ("map bash.command /[/#]/ as x", map),
        (r"map bash.command /a\\#b/ as x", map),
        ("map bash.command /a/#b as x", short),
        ("map bash.command /a/i#b/c as x", short),
        ("map bash.command /etc#b as x", short),
        ("map bash.command a#b/ as x", short),
    ]);
}

#[test]
fn a_pattern_is_a_regular_expression_only_if_flags_end_it() {
    let regex = |body, flags| PatternText::Regex { body, flags };
    for (text, expected) in [
        ("rm", PatternText::Word),
        ("/", PatternText::Word),
        ("/etc", PatternText::Word),
        ("/usr/bin/rm", PatternText::Word),
        ("/bin/dd", PatternText::Word),
        ("/rm/q", PatternText::Word),
        ("/rm/I", PatternText::Word),
        ("a/b/", PatternText::Word),
        ("//", regex("", "")),
        ("/rm/", regex("rm", "")),
        ("/rm/ims", regex("rm", "ims")),
        ("/a/b/", regex("a/b", "")),
        ("/a/b/i", regex("a/b", "i")),
        ("/bin/su", regex("bin", "su")),
    ] {
        assert_eq!(PatternText::read(text), expected, "for {text:?}");
    }
}

#[test]
fn counts_are_whole_numbers_up_to_the_largest_limit() {
    let bad = |count: &str| format!("bad-count: limit count must be a positive integer, got '{count}'");
    let large = |count: &str| {
        format!("limit-too-large: limit count must be at most 9223372036854775808, got '{count}'")
    };
    for (count, expected) in [
        ("1", r#""a" 1 times"#.into()),
        ("+3", r#""a" 3 times"#.into()),
        ("007", r#""a" 7 times"#.into()),
        ("9223372036854775808", r#""a" 9223372036854775808 times"#.into()),
        ("9223372036854775809", large("9223372036854775809")),
        ("99999999999999999999", large("99999999999999999999")),
        ("0", bad("0")),
        ("+", bad("+")),
        ("++3", bad("++3")),
        ("-1", bad("-1")),
        ("3abc", bad("3abc")),
        ("3.9", bad("3.9")),
        ("1e3", bad("1e3")),
        ("0x10", bad("0x10")),
        ("٣", bad("٣")),
    ] {
        assert_eq!(read(&format!("limit a to {count} per session")), expected, "for {count}");
    }
}

#[test]
fn a_bad_count_comes_with_the_number_probably_meant() {
    for (text, expected) in [
        ("3abc", Some(3)),
        ("3.9", Some(3)),
        ("1e3", Some(1000)),
        ("1_000", Some(1000)),
        ("1,000", Some(1000)),
        ("0x10", Some(16)),
        ("0", Some(0)),
        ("-1", Some(0)),
        ("three", None),
        ("inf", None),
        ("1e300", None),
        ("nan", None),
        ("9223372036854775809x", None),
    ] {
        assert_eq!(probable_count(text), expected, "for {text}");
    }
}

#[test]
fn a_misspelt_keyword_is_named_with_its_neighbour() {
    insta::assert_snapshot!(said("blok shutdown\nRequire backup before delete\ndeny email\nallow ls\nfrobnicate"), @r"
    error[unknown-keyword]: unknown keyword 'blok'. Expected 'map', 'require', 'limit', or 'block'
     --> ci.rules:1:1
      |
    1 | blok shutdown
      | ^^^^ did you mean `block`?
      |
      = try: write `block shutdown`

    error[unknown-keyword]: unknown keyword 'Require'. Expected 'map', 'require', 'limit', or 'block'
     --> ci.rules:2:1
      |
    2 | Require backup before delete
      | ^^^^^^^ did you mean `require`?
      |
      = try: write `require backup before delete`

    error[unknown-keyword]: unknown keyword 'deny'. Expected 'map', 'require', 'limit', or 'block'
     --> ci.rules:3:1
      |
    3 | deny email
      | ^^^^ did you mean `block`?
      |
      = try: write `block email`

    error[unknown-keyword]: unknown keyword 'frobnicate'. Expected 'map', 'require', 'limit', or 'block'
     --> ci.rules:5:1
      |
    5 | frobnicate
      | ^^^^^^^^^^ no statement starts like this
      |
      = try: start the line with `require`, `limit`, `block`, `allow`, `ask about`, `otherwise`, `keep`, `mask sensitive data in results of`, `withhold results of`, `tools`, `hours`, `source`, `links in`, `timezone`, `include`, `map`, `script`, `observe`, `mode`, `unreadable scripts:`, `claim` or `example:`, or with `#` for a comment
    ");
}

#[test]
fn too_few_words_are_filled_in() {
    insta::assert_snapshot!(said("require backup before\nmap bash.command rm delete\nlimit send to 3\nblock # all\nmap bash.command a#b as x"), @r"
    error[token-count]: 'require <tool> before <tool>' expects 4 tokens, got 3
     --> ci.rules:1:1
      |
    1 | require backup before
      | ^^^^^^^^^^^^^^^^^^^^^ 1 too few
      |
      = try: write `require backup before <tool>`

    error[token-count]: 'map <tool>.<field> <pattern> as <name>' expects 5 tokens, got 4
     --> ci.rules:2:1
      |
    2 | map bash.command rm delete
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 too few
      |
      = try: write `map bash.command rm as delete`

    error[token-count]: 'limit <tool> to <N> per <scope>' expects 6 tokens, got 4
     --> ci.rules:3:1
      |
    3 | limit send to 3
      | ^^^^^^^^^^^^^^^ 2 too few
      |
      = try: write `limit send to 3 per <scope>`

    error[token-count]: 'block <tool>' expects 2 tokens, got 1
     --> ci.rules:4:1
      |
    4 | block # all
      | ^^^^^ 1 too few
      |
      = try: write `block <tool>`

    error[token-count]: 'map <tool>.<field> <pattern> as <name>' expects 5 tokens, got 3
     --> ci.rules:5:1
      |
    5 | map bash.command a#b as x
      | ^^^^^^^^^^^^^^^^^^ 2 too few
      |
      = try: write `/a#…/`: outside of slashes a `#` starts a comment
    ");
}

#[test]
fn too_many_words_are_underlined() {
    insta::assert_snapshot!(said("block a b\nblock a block b\nblock \"a b\"\nrequire human approval before deploy\nmap bash.command /git push/ as push\nlimit a to 3 per session please"), @r#"
    error[token-count]: 'block <tool>' expects 2 tokens, got 3
     --> ci.rules:1:9
      |
    1 | block a b
      |         ^ 1 too many
      |
      = try: write one `block` line for each tool

    error[token-count]: 'block <tool>' expects 2 tokens, got 4
     --> ci.rules:2:9
      |
    2 | block a block b
      |         ^^^^^^^ 2 too many
      |
      = try: write one statement a line

    error[token-count]: 'block <tool>' expects 2 tokens, got 3
     --> ci.rules:3:10
      |
    3 | block "a b"
      |          ^^ 1 too many
      |
      = try: write names without spaces and quotes; a name ends at the next space

    error[token-count]: 'require <tool> before <tool>' expects 4 tokens, got 5
     --> ci.rules:4:31
      |
    4 | require human approval before deploy
      |                               ^^^^^^ 1 too many
      |
      = try: write `require human-approval before deploy`, with a hyphen

    error[token-count]: 'map <tool>.<field> <pattern> as <name>' expects 5 tokens, got 6
     --> ci.rules:5:32
      |
    5 | map bash.command /git push/ as push
      |                                ^^^^ 1 too many
      |
      = try: write `\s` for a space within a pattern, as in `/git\spush/`

    error[token-count]: 'limit <tool> to <N> per <scope>' expects 6 tokens, got 7
     --> ci.rules:6:26
      |
    6 | limit a to 3 per session please
      |                          ^^^^^^ 1 too many
      |
      = try: put a `#` before what is meant as a comment
    "#);
}

#[test]
fn a_wrong_word_in_between_is_underlined() {
    insta::assert_snapshot!(said("require a after b\nrequire a befor b\nlimit a for three each session"), @r"
    error[expected-word]: expected 'before' at position 3, got 'after'
     --> ci.rules:1:11
      |
    1 | require a after b
      |           ^^^^^ expected `before`
      |
      = try: write `require a before b`, if `b` has to wait for `a`

    error[expected-word]: expected 'before' at position 3, got 'befor'
     --> ci.rules:2:11
      |
    2 | require a befor b
      |           ^^^^^ did you mean `before`?
      |
      = try: write `require a before b`, if `b` has to wait for `a`

    error[expected-word]: expected 'to' at position 3, got 'for'
     --> ci.rules:3:9
      |
    3 | limit a for three each session
      |         ^^^ expected `to`
      |
      = try: write `limit a to three per session`

    error[bad-count]: limit count must be a positive integer, got 'three'
     --> ci.rules:3:13
      |
    3 | limit a for three each session
      |             ^^^^^ not a whole number from 1
      |
      = try: write a whole number of calls, as in `limit send to 3 per session`

    error[expected-word]: expected 'per' at position 5, got 'each'
     --> ci.rules:3:19
      |
    3 | limit a for three each session
      |                   ^^^^ expected `per`
      |
      = try: write `limit a to three per session`
    ");
}

#[test]
fn a_bad_count_names_the_number_meant() {
    insta::assert_snapshot!(said("limit a to 3abc per session\nlimit a to 0 per session\nlimit a to many per session\nlimit a to 9223372036854775809 per session"), @r"
    error[bad-count]: limit count must be a positive integer, got '3abc'
     --> ci.rules:1:12
      |
    1 | limit a to 3abc per session
      |            ^^^^ not a whole number from 1
      |
      = try: write `3`, if that is the number you mean

    error[bad-count]: limit count must be a positive integer, got '0'
     --> ci.rules:2:12
      |
    2 | limit a to 0 per session
      |            ^ not a whole number from 1
      |
      = try: write `block a` to forbid it altogether

    error[bad-count]: limit count must be a positive integer, got 'many'
     --> ci.rules:3:12
      |
    3 | limit a to many per session
      |            ^^^^ not a whole number from 1
      |
      = try: write a whole number of calls, as in `limit send to 3 per session`

    error[limit-too-large]: limit count must be at most 9223372036854775808, got '9223372036854775809'
     --> ci.rules:4:12
      |
    4 | limit a to 9223372036854775809 per session
      |            ^^^^^^^^^^^^^^^^^^^ more than a limit can count
      |
      = try: write `9223372036854775808` or less, or leave the limit out
    ");
}

#[test]
fn a_map_says_which_field_of_which_tool() {
    insta::assert_snapshot!(said("map bash rm as delete\nmap .command rm as delete\nmap bash.command rm to delete"), @r"
    error[missing-field]: expected <tool>.<field> (e.g., bash.command), got 'bash'
     --> ci.rules:1:5
      |
    1 | map bash rm as delete
      |     ^^^^ which field of its input?
      |
      = try: write `bash.command`, if the field `command` is meant

    error[empty-target]: tool and field must be non-empty in '.command'
     --> ci.rules:2:5
      |
    2 | map .command rm as delete
      |     ^^^^^^^^ the tool is missing
      |
      = try: write the tool, a dot and the field of its input, as in `bash.command`

    error[expected-word]: expected 'as' at position 4, got 'to'
     --> ci.rules:3:21
      |
    3 | map bash.command rm to delete
      |                     ^^ expected `as`
      |
      = try: write `map bash.command rm as delete`
    ");
}

#[test]
fn a_map_of_what_runs_says_tool_program_and_name() {
    insta::assert_snapshot!(said("map bash running\nmap bash running as push\nmap bash running git push\nmap bash running git push to push\nmap bash.command running git push as push\nmap bash running /usr/bin/rm as delete\nmap bash running /rm/ as delete"), @r"
    error[token-count]: 'map <tool> running <program> as <name>' expects at least 6 tokens, got 3
     --> ci.rules:1:1
      |
    1 | map bash running
      | ^^^^^^^^^^^^^^^^ 3 too few
      |
      = try: write `map bash running <program> as <name>`

    error[token-count]: 'map <tool> running <program> as <name>' expects at least 6 tokens, got 5
     --> ci.rules:2:1
      |
    2 | map bash running as push
      | ^^^^^^^^^^^^^^^^^^^^^^^^ 1 too few
      |
      = try: write `map bash running <program> as push`

    error[token-count]: 'map <tool> running <program> as <name>' expects at least 6 tokens, got 5
     --> ci.rules:3:1
      |
    3 | map bash running git push
      | ^^^^^^^^^^^^^^^^^^^^^^^^^ 1 too few
      |
      = try: write `map bash running git as push`

    error[expected-word]: expected 'as' at position 6, got 'to'
     --> ci.rules:4:27
      |
    4 | map bash running git push to push
      |                           ^^ expected `as`
      |
      = try: put `as` before the name, which is the last word: `… as push`

    error[unexpected-field]: expected a tool without a field (e.g., bash), got 'bash.command'
     --> ci.rules:5:5
      |
    5 | map bash.command running git push as push
      |     ^^^^^^^^^^^^ `running` looks at every script of the tool
      |
      = try: write `map bash running git push as push`

    error[program-with-folder]: a program is known by its name alone, not as '/usr/bin/rm'
     --> ci.rules:6:18
      |
    6 | map bash running /usr/bin/rm as delete
      |                  ^^^^^^^^^^^ neither a path nor a pattern
      |
      = try: write `rm`; it is taken from every folder

    error[program-with-folder]: a program is known by its name alone, not as '/rm/'
     --> ci.rules:7:18
      |
    7 | map bash running /rm/ as delete
      |                  ^^^^ neither a path nor a pattern
      |
      = try: write `rm`; it is taken from every folder
    ");
}

#[test]
fn a_script_says_which_field_of_which_tool() {
    insta::assert_snapshot!(said("script python\nscript python.code please\nobserve script python.code"), @r"
    error[missing-field]: expected <tool>.<field> (e.g., bash.command), got 'python'
     --> ci.rules:1:8
      |
    1 | script python
      |        ^^^^^^ which field of its input?
      |
      = try: write `python.command`, if the field `command` is meant

    error[token-count]: 'script <tool>.<field>' expects 2 tokens, got 3
     --> ci.rules:2:20
      |
    2 | script python.code please
      |                    ^^^^^^ 1 too many
      |
      = try: put a `#` before what is meant as a comment

    error[observe-without-rule]: 'observe <rule>' expects a rule, got 'script'
     --> ci.rules:3:9
      |
    3 | observe script python.code
      |         ^^^^^^ not a rule
      |
      = try: write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file
    ");
}

#[test]
fn a_bad_pattern_is_underlined_within_the_slashes() {
    insta::assert_snapshot!(said("map bash.command // as x\nmap bash.command /rm/gi as x\nmap bash.command /bin/su as x\nmap bash.command /rm/q as x\nmap bash.command /opt/lib/s as x"), @r"
    error[empty-regex]: empty regex pattern
     --> ci.rules:1:18
      |
    1 | map bash.command // as x
      |                  ^^ matches every text
      |
      = try: write what the field has to contain, as in `/^rm/`, or `/./` for any text

    error[unknown-regex-flag]: unknown regex flag 'g'. Supported flags are 'i', 'm', and 's'
     --> ci.rules:2:22
      |
    2 | map bash.command /rm/gi as x
      |                      ^^ not supported here
      |
      = try: write `/rm/i`, or `/\/rm\/gi/` if it is a path

    error[unknown-regex-flag]: unknown regex flag 'u'. Supported flags are 'i', 'm', and 's'
     --> ci.rules:3:23
      |
    3 | map bash.command /bin/su as x
      |                       ^^ not supported here
      |
      = try: write `/bin/s`, or `/\/bin\/su/` if it is a path

    warning[looks-like-regex]: `/rm/q` is read as plain text: `q` is not a regex flag
     --> ci.rules:4:18
      |
    4 | map bash.command /rm/q as x
      |                  ^^^^^ matches this text, slashes included
      |
      = try: write `/rm/i` for a regular expression; the flags are `i`, `m` and `s`

    warning[looks-like-path]: `/opt/lib/s` is read as a regular expression with the flags `s`
     --> ci.rules:5:18
      |
    5 | map bash.command /opt/lib/s as x
      |                  ^^^^^^^^^^ or is this a path?
      |
      = try: write `/\/opt\/lib\/s/` for the path, or `\/` for each slash within the regular expression
    ");
}

#[test]
fn modes_are_said_once_and_right() {
    insta::assert_snapshot!(said("mode observ\nmode observe\nmode enforce\nmode\nobserve\nobserve map bash.command rm as x"), @r"
    error[unknown-mode]: unknown mode 'observ'. Expected 'observe' or 'enforce'
     --> ci.rules:1:6
      |
    1 | mode observ
      |      ^^^^^^ did you mean `observe`?
      |
      = try: write `mode observe` to only record what the rules would do, `mode enforce` to act

    error[second-mode]: the mode of this file is set twice
     --> ci.rules:3:1
      |
    3 | mode enforce
      | ^^^^^^^^^^^^ first set in line 2
      |
      = try: keep one `mode` line; to only observe some rules, write `observe` before each of them

    error[token-count]: 'mode <observe|enforce>' expects 2 tokens, got 1
     --> ci.rules:4:1
      |
    4 | mode
      | ^^^^ 1 too few
      |
      = try: write `mode <observe|enforce>`

    error[observe-without-rule]: 'observe <rule>' expects a rule, got none
     --> ci.rules:5:1
      |
    5 | observe
      | ^^^^^^^ observe what?
      |
      = try: write the rule behind it, as in `observe block deploy`

    error[observe-without-rule]: 'observe <rule>' expects a rule, got 'map'
     --> ci.rules:6:9
      |
    6 | observe map bash.command rm as x
      |         ^^^ not a rule
      |
      = try: write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file
    ");
}

#[test]
fn a_bad_regular_expression_is_underlined_where_it_goes_wrong() {
    // Another room words it; that it is placed within the slashes is ours.
    let (_, diagnostics) = parse(&Source::new("ci.rules", "block a\nmap bash.command /a(b/ as x"));
    let [diagnostic] = diagnostics.as_slice() else { panic!("one mistake: {diagnostics:?}") };
    assert!(diagnostic.message.starts_with("invalid regular expression: "), "{diagnostic}");
    let place = diagnostic.source.place(diagnostic.span);
    assert_eq!((diagnostic.code, place.line), ("invalid-regex", 2));
    assert!((19..=22).contains(&place.column), "{place}");
}

#[test]
fn all_mistakes_are_told_in_file_order_up_to_a_number() {
    let lines_wrong = |count: usize| parse(&Source::new("ci.rules", "oops\n".repeat(count))).1;
    assert_eq!(lines_wrong(MISTAKES_MAX).len(), MISTAKES_MAX);
    let one_more = lines_wrong(MISTAKES_MAX + 50);
    assert_eq!(one_more.len(), MISTAKES_MAX + 1);
    insta::assert_snapshot!(one_more.last().unwrap(), @"ci.rules:1001:1: error[too-many-mistakes]: more than 1000 mistakes");
}

#[test]
fn a_rules_place_is_its_statement_without_the_comment() {
    let source = Source::new("ci.rules", "\n  observe block a # why\n\tmap b.c /d#e/ as f# g");
    let (draft, _) = parse(&source);
    assert_eq!(source.slice(draft.rules[0].span), "observe block a");
    assert_eq!(source.slice(draft.maps[0].span), "map b.c /d#e/ as f");
}

/// Words that a statement is made of, and what else people and attackers type.
fn scraps() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let word = prop_oneof![
        proptest::sample::select(vec![
            "map",
            "running",
            "script",
            "bash",
            "require",
            "limit",
            "block",
            "observe",
            "mode",
            "before",
            "to",
            "per",
            "as",
            "session",
            "enforce",
            "human-approval",
            "bash.command",
            "3",
            "3abc",
            "/a#b/",
            "/(/",
            "//",
            "/é[/gi",
            "#",
            "\n",
            "\r\n",
            "\u{feff}",
            "\u{1b}[31m",
            "\t",
            "é",
            "字",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_every_span_lies_in_it(text in scraps()) {
        let source = Source::new("any.rules", text.as_str());
        let (draft, mut diagnostics) = parse(&source);
        diagnostics.extend(crate::lint(&draft));
        let spans = diagnostics.iter().map(|diagnostic| diagnostic.span);
        for span in spans.chain(draft.rules.iter().map(|rule| rule.span)).chain(draft.maps.iter().map(|map| map.span)) {
            assert!(text.get(span.start..span.end).is_some(), "{span:?}");
        }
        for drawn in [render(&diagnostics, false), diagnostics.iter().map(ToString::to_string).collect()] {
            assert!(!drawn.contains('\u{1b}'), "an escape sequence reached the terminal: {drawn:?}");
        }
    }

    #[test]
    fn what_is_read_and_written_again_reads_the_same(text in scraps()) {
        let (draft, _) = parse(&Source::new("any.rules", text));
        let written: Vec<_> = draft.rules.iter().map(|rule| written(&rule.statement)).collect();
        let (again, diagnostics) = parse(&Source::new("again.rules", written.join("\n")));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let statements = |draft: &Draft| draft.rules.iter().map(|rule| said_by(&rule.statement)).collect::<Vec<_>>();
        assert_eq!(statements(&again), statements(&draft));
    }
}

fn written(statement: &Statement) -> String {
    match statement {
        Statement::Sequence { prerequisite, dependent } => {
            format!("require {prerequisite} before {dependent}")
        }
        Statement::Approval { tool } => format!("require human-approval before {tool}"),
        Statement::Block { tool } => format!("block {tool}"),
        Statement::Limit { tool, count, scope: Scope::Session } => {
            format!("limit {tool} to {count} per session")
        }
        Statement::Limit { tool, count, scope: Scope::Action(action) } => {
            format!("limit {tool} to {count} per {action}")
        }
        Statement::Net(_) => unreachable!("no net is written in one line"),
    }
}

#[test]
fn what_happens_to_unreadable_scripts_is_said_in_two_spellings() {
    let rows = [
        ("unreadable scripts: ask", "ask enforce"),
        ("unreadable scripts: block", "block enforce"),
        ("unreadable scripts: allow # on purpose", "allow enforce"),
        ("unreadable scripts: ask except consoles", "ask enforce except consoles"),
        ("unreadable scripts: allow except consoles", "token-count"),
        ("ask about any unreadable script", "ask enforce"),
        ("block any unreadable script", "block enforce"),
        ("block any unreadable scripts", "block enforce"),
        ("allow any unreadable script", "allow enforce"),
        ("observe unreadable scripts: block", "block observe"),
        ("mode observe\nunreadable scripts: block", "block observe"),
        ("unreadable scripts: deny", "unknown-verdict"),
        ("unreadable scripts: Ask", "unknown-verdict"),
        ("unreadable scripts ask", "expected-word ask enforce"),
        ("unreadable script: ask", "expected-word ask enforce"),
        ("unreadable scripts:", "token-count"),
        ("unreadable scripts: ask block", "token-count"),
        ("unreadable scripts: ask\nunreadable scripts: ask", "second-unreadable ask enforce"),
        ("block any", "none"),
        ("block unreadable", "none"),
    ];
    for (text, expected) in rows {
        let (draft, diagnostics) = parse(&Source::new("x.rules", text));
        let mut told: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.code.to_owned()).collect();
        told.extend(draft.module.unreadable.map(|line| {
            let except = if line.except_consoles { " except consoles" } else { "" };
            format!("{} {:?}{except}", line.wants.word(), line.mode).to_lowercase()
        }));
        let told = if told.is_empty() { "none".to_owned() } else { told.join(" ") };
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn a_file_is_bounded_and_what_fits_is_read_once() {
    let codes = |text: &str| -> Vec<&'static str> {
        parse(&Source::new("ci.rules", text)).1.iter().map(|mistake| mistake.code).collect()
    };
    let comment = "#".repeat(FILE_BYTES_MAX);
    assert_eq!(codes(&comment), [""; 0]);
    assert_eq!(codes(&format!("{comment}#")), ["file-too-large"]);
    // The longest hostile files: one word, many words, many mistakes. Each line is told about at most once.
    assert_eq!(codes(&"x".repeat(FILE_BYTES_MAX)).len(), 1);
    assert_eq!(codes(&format!("block {}", "a ".repeat(FILE_BYTES_MAX / 2 - 3))).len(), 1);
    assert_eq!(codes(&"blokc a\n".repeat(FILE_BYTES_MAX / 8)).len(), MISTAKES_MAX + 1);
    let (draft, mistakes) = parse(&Source::new("ci.rules", "block a\n".repeat(FILE_BYTES_MAX / 8)));
    assert_eq!((draft.rules.len(), mistakes.len()), (FILE_BYTES_MAX / 8, 0));
}
