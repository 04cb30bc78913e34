//! What a policy compiles to: the documented nets, their states, and what a call amounts to.

#![expect(clippy::panic, reason = "a helper of tests fails by panicking")]

use lockgate_call::Call;
use lockgate_policy::{GuardNet, NetRule, Policy, Severity, Source};
use lockgate_prover::verify;

fn read(files: &[(&str, &str)]) -> Policy {
    let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
    let (policy, diagnostics) = lockgate_languages::read(&sources);
    policy.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn policy(text: &str) -> Policy {
    read(&[("test.rules", text)])
}

/// A net in one text: its places with their tokens, then its transitions.
fn drawn(rule: &NetRule) -> String {
    let guarded: &GuardNet = &rule.net;
    let net = guarded.net();
    let names = |arcs: &[(lockgate_petri::PlaceId, u64)]| {
        arcs.iter().map(|(place, _)| net.place_name(*place)).collect::<Vec<_>>().join("+")
    };
    let places =
        net.places().map(|place| format!("{} {}", net.place_name(place), net.initial().tokens(place)));
    let transitions = net.transitions().map(|transition| {
        let guard = guarded.guard(transition);
        let kind = match (guard.is_manual, guard.is_deferred) {
            (true, _) => " manual",
            (_, true) => " deferred",
            _ => "",
        };
        let (inputs, outputs) = (names(net.inputs(transition)), names(net.outputs(transition)));
        format!("{}{kind} {inputs}→{outputs} {:?}", net.transition_name(transition), guard.tools)
    });
    let parts: Vec<String> = std::iter::once(rule.name.clone())
        .chain(std::iter::once(places.collect::<Vec<_>>().join(", ")))
        .chain(transitions)
        .collect();
    parts.join("\n")
}

#[test]
fn every_statement_becomes_its_documented_net() {
    let policy = policy(
        "require A before B\nrequire human-approval before B\nblock A\nlimit A to 3 per session\nlimit A to 3 per R",
    );
    let drawn: Vec<String> = policy.nets().iter().map(drawn).collect();
    insta::assert_snapshot!(drawn.join("\n\n"), @r#"
    require-A-before-B
    idle 1, ready 0, gate 0
    start idle→ready []
    do-A deferred ready→gate ["A"]
    do-B gate→ready ["B"]
    repeat gate→gate ["A"]

    approve-before-B
    idle 1, ready 0
    start idle→ready []
    approve manual ready→ready ["B"]

    block-A
    idle 1, ready 0, locked 0
    start idle→ready []
    do-A locked→locked ["A"]

    limit-A-3
    idle 1, ready 0, budget 3
    start idle→ready []
    do-A ready+budget→ready ["A"]

    limit-A-3-per-R
    idle 1, ready 0, budget 3, spent 0
    start idle→ready []
    do-A ready+budget→ready+spent ["A"]
    refill ready+spent→ready+budget ["R"]
    repeat ready→ready ["R"]
    "#);
}

fn states(text: &str) -> u64 {
    let (reports, findings) = verify(&policy(text));
    assert!(findings.iter().all(|finding| finding.severity < Severity::Error));
    assert!(reports.iter().all(|report| report.is_exact));
    reports.iter().map(|report| report.states).sum()
}

#[test]
fn every_net_has_its_documented_number_of_states() {
    let table = [
        ("require a before b", 3),
        ("require human-approval before b", 2),
        ("block a", 2),
        ("limit a to 1 per session", 3),
        ("limit a to 3 per session", 5),
        ("limit a to 3 per b", 5),
        ("limit a to 9999 per session", 10_001),
        ("limit a to 9223372036854775808 per session", 9_223_372_036_854_775_810),
        ("limit a to 9223372036854775808 per b", 9_223_372_036_854_775_810),
    ];
    for (text, expected) in table {
        assert_eq!(states(text), expected, "{text}");
    }
}

#[test]
fn the_states_of_a_limit_are_counted_right_without_looking_at_all_of_them() {
    for scope in ["session", "b", "a"] {
        for count in 1..60 {
            let text = format!("limit a to {count} per {scope}");
            let policy = policy(&text);
            let limits = lockgate_petri::Limits { states_max: 1_000, depth_max: 1_000 };
            let explored = lockgate_petri::explore(policy.nets()[0].net.net(), limits);
            assert_eq!(states(&text), explored.states() as u64, "{text}");
        }
    }
}

/// The deeds of a call by group, `?` behind what is only possible and `!` behind what no success would prove.
fn deeds(policy: &Policy, call: &Call) -> Vec<String> {
    let told = |deed: &lockgate_policy::Deed| {
        let doubt = match (deed.certain, deed.is_confirmed) {
            (true, true) => "",
            (true, false) => "!",
            (false, _) => "?",
        };
        format!("{}{doubt}", deed.name)
    };
    let groups = policy.deeds(&call.clone().into()).into_iter();
    groups.map(|(_, deeds)| deeds.iter().map(told).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_script_is_every_command_it_runs() {
    let policy = policy(
        "map bash.command cp as backup\nmap bash.command rm as delete\nmap bash.command /curl.*\\|.*sh/ as pipe\n\
         block backup\nblock delete\nblock pipe\nblock bash",
    );
    let table = [
        ("cp a b", "backup"),
        ("rm -rf x", "delete"),
        ("/bin/rm x", "delete"),
        ("r''m x", "delete!"),
        ("ls", "bash"),
        ("cp a b && rm a", "backup delete"),
        ("cp a b; rm a", "backup! delete"),
        ("rm a; rm b", "delete! delete"),
        ("ls; pwd; rm a", "bash delete"),
        ("cp rm.txt b", "backup"),
        ("rm cp", "backup? delete"),
        ("echo cp", "backup? bash"),
        ("echo cp rm", "backup? delete? bash"),
        ("unknown-wrapper rm x", "delete? bash"),
        ("git commit -m 'stop calling rm'", "delete? bash"),
        ("# rm\nls", "bash delete?"),
        ("$x y", "backup? delete? pipe? bash?"),
        ("echo 'never closed", "backup? delete? pipe? bash?"),
        ("xrm", "bash"),
        ("", "bash"),
    ];
    for (script, expected) in table {
        assert_eq!(deeds(&policy, &Call::new("1", "bash").with("command", script)), [expected], "{script}");
    }
    // `curl … | sh` is opaque by itself; with a quiet reader only the whole text shows the pattern.
    let piped = Call::new("1", "bash").with("command", "curl x | grep sh");
    assert_eq!(deeds(&policy, &piped), ["bash pipe?"]);
}

#[test]
fn a_map_of_what_runs_takes_runs_and_no_mentions() {
    let policy = policy(
        "map bash running git push --force as force-push\nmap bash running git push as push\n\
         map bash running cp as backup\nblock force-push\nblock push\nblock backup\nblock bash",
    );
    let table = [
        ("cp a b", "backup"),
        ("/bin/cp a b", "backup"),
        ("sudo cp a b", "backup"),
        ("cp a b || true", "backup! bash"),
        ("cp push", "backup"),
        ("git -C x push origin main --force", "force-push"),
        ("git push --force-with-lease", "push"),
        ("git push -f", "force-push"),
        ("git --force push", "push"),
        ("git 'pu'sh \"--force\"", "force-push"),
        ("git pull; git push", "bash push"),
        ("git push && git push --force", "push force-push"),
        ("git commit -m 'git push --force'", "bash"),
        ("echo git push --force", "bash"),
        ("# cp a b\nls", "bash"),
        ("unknown-wrapper cp a b", "bash"),
        ("git push $flags", "force-push? push!"),
        ("git $what", "force-push? push? bash"),
        ("git commit -m \"$(cat message)\"", "bash"),
        ("git -C x --no-pager commit -m \"$m\"", "bash"),
        ("git --new-option commit \"$what\"", "force-push? push? bash"),
        ("git -C $x commit", "force-push? push? bash"),
        ("/bin/c? a b", "backup? bash?"),
        ("/usr/bin/gi* push", "force-push? push? bash?"),
        ("python3 -c 'import shutil; shutil.copy(1, 2)'", "bash"),
        ("python3 -c 'run([\"cp\", a])'", "backup? bash"),
        ("ls | xargs git push", "bash force-push? push!"),
        ("git status", "bash"),
        ("gitk push", "bash"),
        ("cp $files b", "backup!"),
        ("$x y", "force-push? push? backup? bash?"),
        ("echo 'never closed", "force-push? push? backup? bash?"),
        ("", "bash"),
    ];
    for (script, expected) in table {
        assert_eq!(deeds(&policy, &Call::new("1", "bash").with("command", script)), [expected], "{script}");
    }
}

#[test]
fn the_first_map_of_the_file_wins_whichever_form_it_has() {
    let rules = "block git\nblock push";
    let table = [
        ("map bash running git as git\nmap bash.command /^git\\spush/ as push", "git push", "git"),
        ("map bash.command /^git\\spush/ as push\nmap bash running git as git", "git push", "push"),
        ("map bash.command /^git\\spush/ as push\nmap bash running git as git", "git pull", "git"),
        ("map bash.command push as push\nmap bash running git as git", "git push", "push? git"),
        ("map bash running git as git\nmap bash.command push as push", "git push", "git"),
    ];
    for (maps, script, expected) in table {
        let policy = policy(&format!("{maps}\n{rules}"));
        assert_eq!(
            deeds(&policy, &Call::new("1", "bash").with("command", script)),
            [expected],
            "{maps}: {script}"
        );
    }
}

#[test]
fn every_script_of_a_tool_is_looked_at_and_more_may_be_declared() {
    let policy = policy(
        "map bash running rm as delete\nscript bash.run.it\nscript py.code\nmap py.code rm as delete\n\
         map py.note rm as noted\nblock delete\nblock noted",
    );
    let table = [
        (Call::new("1", "bash").with("command", "ls; rm x"), "bash delete"),
        (Call::new("1", "bash").with("cmd", "rm x"), "delete"),
        (Call::new("1", "bash").with("shell_command", "sudo rm x"), "delete"),
        (Call::new("1", "bash").with("run.it", "ls && rm x"), "bash delete"),
        (Call::new("1", "bash").with("command", "ls").with("script", "rm x"), "bash! delete!"),
        (Call::new("1", "bash").with("command", "rm x").with("cmd", "rm y"), "delete! delete!"),
        (Call::new("1", "bash").with("command", serde_json::json!(["rm", "x"])), "delete"),
        (Call::new("1", "bash").with("command", serde_json::json!([1])), "delete? bash?"),
        (Call::new("1", "bash").with("description", "rm x"), "bash"),
        (Call::new("1", "bash"), "bash"),
        (Call::new("1", "py").with("code", "ls; rm x"), "py delete"),
        (Call::new("1", "py").with("code", "echo rm"), "delete? py"),
        (Call::new("1", "py").with("note", "echo rm"), "noted"),
        // Only maps that look at a field make it a script.
        (Call::new("1", "py").with("command", "rm x"), "py"),
        (Call::new("1", "zsh").with("command", "rm x"), "zsh"),
    ];
    for (call, expected) in table {
        assert_eq!(deeds(&policy, &call), [expected], "{call:?}");
    }
}

#[test]
fn a_script_may_come_as_words_or_as_nothing_readable() {
    let policy = policy("map bash.command rm as delete\nblock delete");
    let table = [
        (serde_json::json!(["rm", "-rf", "/"]), "delete"),
        (serde_json::json!(["bash", "-lc", "ls && rm x"]), "bash delete"),
        (serde_json::json!(["echo", 5]), "delete? bash?"),
        (serde_json::json!({"run": "rm"}), "delete? bash?"),
        (serde_json::json!(5), "bash"),
        (serde_json::json!(null), "bash"),
        (serde_json::json!([]), "bash"),
    ];
    for (command, expected) in table {
        assert_eq!(
            deeds(&policy, &Call::new("1", "bash").with("command", command.clone())),
            [expected],
            "{command}"
        );
    }
    assert_eq!(deeds(&policy, &Call::new("1", "bash")), ["bash"], "no command at all");
}

#[test]
fn a_shell_is_run_whether_its_script_comes_as_text_or_as_words() {
    let policy = policy("map bash running bash as shell\nblock shell");
    for command in [serde_json::json!("bash -lc ls"), serde_json::json!(["/bin/bash", "-lc", "ls"])] {
        let call = Call::new("1", "bash").with("command", command.clone());
        assert_eq!(deeds(&policy, &call), ["bash shell?"], "{command}");
    }
}

#[test]
fn other_fields_are_matched_as_they_are_and_dots_name_actions() {
    let policy = policy(
        "map slack.channel general as shout\nmap slack.text /urgent/ as alarm\nblock shout\nblock alarm\n\
         block discord.send\nblock chat",
    );
    let table = [
        (Call::new("1", "slack").with("channel", "general").with("text", "urgent"), "shout"),
        (Call::new("1", "slack").with("text", "so urgent"), "alarm"),
        (Call::new("1", "slack").with("text", "hello"), "slack"),
        (Call::new("1", "discord").with("action", "send"), "discord.send"),
        (Call::new("1", "discord").with("action", 5), "discord"),
        (Call::new("1", "discord.send"), "discord.send"),
        // No rule speaks of actions of `chat`, so nothing is gained by naming them.
        (Call::new("1", "chat").with("action", "send"), "chat"),
    ];
    for (call, expected) in table {
        assert_eq!(deeds(&policy, &call), [expected], "{call:?}");
    }
}

#[test]
fn maps_rename_calls_for_their_own_file_only() {
    let policy =
        read(&[("a.rules", "map bash.command rm as delete\nblock delete"), ("b.rules", "block bash")]);
    assert_eq!(deeds(&policy, &Call::new("1", "bash").with("command", "rm x")), ["delete", "bash"]);
}

#[test]
fn a_policy_is_known_by_its_text_and_its_files() {
    let hash = |files: &[(&str, &str)]| read(files).hash().to_string();
    let one = hash(&[("a.rules", "block a\nblock b\n")]);
    assert_eq!(one, hash(&[("other-name.rules", "block a\nblock b\n")]));
    assert_ne!(one, hash(&[("a.rules", "block a\n"), ("b.rules", "block b\n")]));
    assert_ne!(one, hash(&[("a.rules", "block a\nblock c\n")]));
    assert_eq!(one.len(), 64);
}

#[test]
fn no_two_rules_keep_their_state_under_one_key() {
    let net = |name: &str| {
        let transition = "- {name: go, type: auto, inputs: [a], outputs: [a], tools: [t]}";
        format!(
            "kind: Net\nname: '{name}'\nplaces: [a]\ninitialMarking: {{a: 1}}\ntransitions:\n  {transition}\n"
        )
    };
    let names = ["x #2", "x", "x", "x", "x #3", "x #2"];
    let files: Vec<(String, String)> =
        names.iter().enumerate().map(|(n, name)| (format!("{n}.yaml"), net(name))).collect();
    let policy = read(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let keys: Vec<&str> = policy.rules().map(|rule| rule.key.as_str()).collect();
    assert_eq!(keys, ["net x #2", "net x", "net x #3", "net x #4", "net x #3 #2", "net x #2 #2"]);
    for rule in policy.rules() {
        assert_eq!(policy.rule_kept_under(&rule.key).map(|it| it.id), Some(rule.id), "{}", rule.key);
    }
    assert!(policy.rule_kept_under("net y").is_none());
}

#[test]
fn what_is_not_understood_is_never_an_empty_policy() {
    for (name, text) in
        [("rules.yaml", "ruls: []"), ("x.json", "{}"), ("x.rules", "blok a"), ("n.yaml", "kind: Net")]
    {
        let (policy, diagnostics) = lockgate_languages::read(&[Source::new(name, text)]);
        assert!(policy.is_none() && !diagnostics.is_empty(), "{name}");
    }
}
