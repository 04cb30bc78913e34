//! What the linter says, and what it keeps quiet about.

use lockgate_policy::Source;

use super::{file::NAMES_COMPARED_MAX, *};
use crate::{one_line::parse, render};

fn findings(text: &str) -> Vec<Diagnostic> {
    let (draft, mistakes) = parse(&Source::new("ci.rules", text));
    assert!(mistakes.is_empty(), "{mistakes:?}");
    lint(&draft)
}

fn said(text: &str) -> String {
    render(&findings(text), false)
}

fn codes(text: &str) -> Vec<&'static str> {
    findings(text).iter().map(|finding| finding.code).collect()
}

#[test]
fn a_rule_that_lifts_itself_is_told() {
    insta::assert_snapshot!(said("limit a to 1 per a\nrequire a before a"), @r"
    warning[self-limit]: a limit of `a` per `a` never refuses a call
     --> ci.rules:1:1
      |
    1 | limit a to 1 per a
      | ^^^^^^^^^^^^^^^^^^ each call gives back what it spends
      |
      = try: write `limit a to 1 per session`, or name another tool after `per`

    warning[self-requirement]: `a` is required before itself
     --> ci.rules:2:1
      |
    2 | require a before a
      | ^^^^^^^^^^^^^^^^^^ never refuses a call
      |
      = try: name the tool that has to come first, or leave the rule out
    ");
}

#[test]
fn a_rule_written_twice_shows_both_places() {
    insta::assert_snapshot!(said("block a\nblock b\nblock  a # again\nobserve block a"), @r"
    warning[duplicate-rule]: `block a` is written twice
     --> ci.rules:3:1
      |
    3 | block  a # again
      | ^^^^^^^^ the same rule as in line 1
      |
      = try: leave one of them out
    ");
}

#[test]
fn a_map_nobody_uses_is_told_with_the_closest_name() {
    insta::assert_snapshot!(said("map bash.command rm as delete\nrequire backup before delet"), @r"
    warning[unused-map]: no rule of this file names `delete`
     --> ci.rules:1:24
      |
    1 | map bash.command rm as delete
      |                        ^^^^^^ did you mean `delet`?
      |
      = try: write `as delet`, or the rule into this file: maps rename calls only for the rules of their own file
    ");
}

#[test]
fn a_map_for_another_file_is_told() {
    insta::assert_snapshot!(said("map bash.command rm as delete\nblock deploy"), @r"
    warning[unused-map]: no rule of this file names `delete`
     --> ci.rules:1:24
      |
    1 | map bash.command rm as delete
      |                        ^^^^^^ renames calls for no rule
      |
      = try: write the rule into this file: maps rename calls only for the rules of their own file
    ");
}

#[test]
fn a_map_that_only_exempts_is_a_note() {
    insta::assert_snapshot!(said("map bash.command ls as harmless\nblock bash"), @r"
    note[unused-map]: no rule of this file names `harmless`
     --> ci.rules:1:24
      |
    1 | map bash.command ls as harmless
      |                        ^^^^^^^^ only keeps these calls from the rules on `bash`

    note[hidden-tool]: this rule does not see the calls of `bash` that a map renames
     --> ci.rules:2:7
      |
    2 | block bash
      |       ^^^^ line 1 renames some to `harmless`
      |
      = try: write a rule for `harmless` too, unless those calls are meant to pass
    ");
}

#[test]
fn a_map_behind_an_equal_one_is_told() {
    insta::assert_snapshot!(said("map bash.command rm as delete\nmap bash.command rm as remove\nmap bash.cmd rm as remove\nblock delete\nblock remove"), @r"
    warning[hidden-map]: this map is never used: an earlier one takes its calls
     --> ci.rules:2:1
      |
    2 | map bash.command rm as remove
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ line 1 has the same pattern and comes first
      |
      = try: leave one of them out, or name `delete` in the rules
    ");
}

#[test]
fn a_map_of_what_runs_behind_a_wider_one_is_told() {
    insta::assert_snapshot!(said("map bash running git as git\nmap bash running git push as push\nblock git\nblock push"), @r"
    warning[hidden-map]: this map is never used: an earlier one takes its calls
     --> ci.rules:2:1
      |
    2 | map bash running git push as push
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ line 1 takes all of them and comes first
      |
      = try: leave one of them out, or name `git` in the rules
    ");
    for (first, second, is_hidden) in [
        ("running git push", "running git push", true),
        ("running git push", "running git push --force", true),
        ("running git --force", "running git push --force", true),
        ("running git push --force", "running git push", false),
        ("running git --force push", "running git push --force", false),
        ("running git", "running got", false),
        ("running -a", "running -b", false),
    ] {
        let text = format!("map bash {first} as a\nmap bash {second} as b\nblock a\nblock b");
        assert_eq!(codes(&text).contains(&"hidden-map"), is_hidden, "{first}, then {second}");
    }
}

#[test]
fn a_script_declared_in_vain_is_told() {
    insta::assert_snapshot!(said("script bash.cmd\nscript sql.text\nscript py.code\nscript py.code\nmap py running rm as delete\nblock delete"), @r"
    note[usual-script]: `cmd` is read as a script anyway
     --> ci.rules:1:1
      |
    1 | script bash.cmd
      | ^^^^^^^^^^^^^^^ says nothing new
      |
      = try: leave the line out

    warning[unused-script]: no map of this file looks at `sql.text`
     --> ci.rules:2:1
      |
    2 | script sql.text
      | ^^^^^^^^^^^^^^^ read by no map
      |
      = try: write a map for it, as in `map sql running rm as delete`

    warning[duplicate-script]: `py.code` is declared twice
     --> ci.rules:4:1
      |
    4 | script py.code
      | ^^^^^^^^^^^^^^ first in line 3
      |
      = try: leave one of them out
    ");
}

#[test]
fn a_rule_behind_maps_is_a_note() {
    insta::assert_snapshot!(said("map bash.command rm as delete\nblock bash\nblock bash.run\nrequire backup before delete"), @r"
    note[hidden-tool]: this rule does not see the calls of `bash` that a map renames
     --> ci.rules:2:7
      |
    2 | block bash
      |       ^^^^ line 1 renames some to `delete`
      |
      = try: write a rule for `delete` too, unless those calls are meant to pass

    note[hidden-tool]: this rule does not see the calls of `bash` that a map renames
     --> ci.rules:3:7
      |
    3 | block bash.run
      |       ^^^^ line 1 renames some to `delete`
      |
      = try: write a rule for `delete` too, unless those calls are meant to pass
    ");
}

#[test]
fn a_pattern_without_text_to_match_is_told() {
    insta::assert_snapshot!(said("map bash.command /[^\\s\\S]/ as never\nblock never"), @r"
    warning[impossible-pattern]: the pattern of this map matches no text at all
     --> ci.rules:1:1
      |
    1 | map bash.command /[^\s\S]/ as never
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ renames nothing
      |
      = try: write what the field contains, as a plain word or between slashes
    ");
}

#[test]
fn a_pattern_for_the_other_engine_is_a_note() {
    insta::assert_snapshot!(said("map bash.command /rm(?=\\s)/ as delete\nblock delete"), @r"
    note[not-linear]: the pattern of this map has look-around or back-references
     --> ci.rules:1:1
      |
    1 | map bash.command /rm(?=\s)/ as delete
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ runs on an engine that may give up
      |
      = try: do without them if you can: a text the engine gives up on is restricted and earns nothing
    ");
}

#[test]
fn a_misspelt_name_is_told() {
    insta::assert_snapshot!(said("require backup before delete\nlimit backup to 3 per session\nblock bakcup"), @r"
    warning[misspelt]: `bakcup` looks like a misspelt `backup`
     --> ci.rules:3:7
      |
    3 | block bakcup
      |       ^^^^^^ used once, `backup` 2 times
      |
      = try: write `backup`, unless both are tools
    ");
}

#[test]
fn a_word_taken_as_a_tool_is_told() {
    insta::assert_snapshot!(said("limit send to 3 per Session\nrequire human_approval before deploy"), @r"
    warning[looks-like-keyword]: `Session` is taken as the name of a tool
     --> ci.rules:1:21
      |
    1 | limit send to 3 per Session
      |                     ^^^^^^^ did you mean `session`?
      |
      = try: write `session`, unless a tool is really called `Session`

    warning[looks-like-keyword]: `human_approval` is taken as the name of a tool
     --> ci.rules:2:9
      |
    2 | require human_approval before deploy
      |         ^^^^^^^^^^^^^^ did you mean `human-approval`?
      |
      = try: write `require human-approval before deploy`, unless a tool is really called `human_approval`
    ");
}

#[test]
fn a_name_taken_letter_by_letter_is_told() {
    insta::assert_snapshot!(said("block 'rm'\nblock rm;"), @r#"
    warning[literal-name]: this name is taken letter by letter
     --> ci.rules:1:7
      |
    1 | block 'rm'
      |       ^^^^ quotes are part of the name
      |
      = try: write the name as the tool spells it

    warning[literal-name]: this name is taken letter by letter
     --> ci.rules:2:7
      |
    2 | block rm;
      |       ^^^ the last character is part of the name
      |
      = try: write the name as the tool spells it
    "#);
    insta::assert_snapshot!(said("map bash running \"git push\" as push\nblock push"), @r#"
    warning[literal-name]: this word is taken letter by letter
     --> ci.rules:1:18
      |
    1 | map bash running "git push" as push
      |                  ^^^^ quotes are part of the name
      |
      = try: write the word as the program gets it
    "#);
    assert!(findings("block \"deploy\"").is_empty());
    let listed = findings("block rm,mv");
    assert_eq!(listed[0].code, "literal-name");
    assert_eq!(listed[0].remedy.as_deref(), Some("write `rm, mv`"));
    for word in ["all", "everything", "anything"] {
        assert_eq!(findings(&format!("block {word}"))[0].code, "looks-like-keyword", "{word}");
    }
    let invisible = findings("block r\u{200b}m");
    assert_eq!(invisible[0].label, "`r\\u{200b}m` has an invisible character");
}

#[test]
fn sound_files_are_passed_in_silence() {
    for text in [
        "",
        "block a\nobserve block a\nlimit a to 2 per session\nlimit a to 3 per session",
        "require lint before test\nrequire test before deploy\nrequire human-approval before deploy",
        "map bash.command cp as backup\nmap bash.command rm as delete\nrequire backup before delete",
        "map bash.command rm as delete\nmap bash.command unlink as delete\nblock delete",
        "map bash.command rm as delete\nmap zsh.command rm as delete\nblock delete",
        "map bash.command rm as bash\nblock bash",
        "map bash running git push --force as force-push\nmap bash running git push as push\nblock force-push\nblock push",
        "script py.code\nmap py.code rm as delete\nblock delete",
        "script py.code\nmap py running rm as delete\nblock delete",
    ] {
        assert_eq!(said(text), "", "for {text:?}");
    }
}

#[test]
fn neighbours_are_no_misspellings() {
    for (rare, frequent, is_told) in [
        ("bakcup", "backup", true),
        ("Bash", "bash", true),
        ("read-file", "read_file", true),
        ("readfile", "readFile", true),
        ("chat.sendMesage", "chat.sendMessage", true),
        ("deployment", "deploiment", true),
        ("send", "sent", false),
        ("fetch", "match", false),
        ("install", "uninstall", false),
        ("stage1", "stage2", false),
        ("chat.send", "chat.read", false),
        ("git-pull", "git-push", false),
        ("getUser", "setUser", false),
        ("readFile", "sendFile", false),
    ] {
        let text = format!("block {rare}\nblock {frequent}\nlimit {frequent} to 3 per session");
        assert_eq!(codes(&text).contains(&"misspelt"), is_told, "for {rare} and {frequent}");
    }
}

#[test]
fn comparisons_have_a_bound() {
    let file = |names: usize| {
        let others = (0..names - 2).map(|n| format!("block {n}\n")).collect::<String>();
        format!("block backup\nlimit backup to 2 per session\nblock bakcup\n{others}")
    };
    assert_eq!(codes(&file(NAMES_COMPARED_MAX)), ["misspelt"]);
    assert!(codes(&file(NAMES_COMPARED_MAX + 1)).is_empty());

    let pair = |length: usize| {
        let name = "x".repeat(length);
        format!("block {name}\nlimit {name} to 2 per session\nblock {}y", "x".repeat(length - 1))
    };
    assert_eq!(codes(&pair(NAME_COMPARED_BYTES_MAX)), ["misspelt"]);
    assert!(codes(&pair(NAME_COMPARED_BYTES_MAX + 1)).is_empty());

    let rivals = |between: usize| {
        let maps = (0..between).map(|n| format!("map b.c {n} as x\n")).collect::<String>();
        format!("block x\n{maps}map b.c last as x\nmap b.c last as x")
    };
    assert_eq!(codes(&rivals(MAPS_COMPARED_MAX - 1)), ["hidden-map"]);
    assert!(codes(&rivals(MAPS_COMPARED_MAX)).is_empty());
}
