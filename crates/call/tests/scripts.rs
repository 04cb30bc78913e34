//! What the gate sees in a script, as tables.

use lockgate_call::{Script, read_script, read_words};
use proptest::prelude::*;

/// One line per command, a `?` before what may run something else; `??` alone when the doubt is elsewhere.
fn see(script: &Script) -> String {
    let mut seen: Vec<String> = script
        .commands
        .iter()
        .map(|command| format!("{}{}", if command.opaque { "?" } else { "" }, command.text))
        .collect();
    if script.opaque && !script.commands.iter().any(|command| command.opaque) {
        seen.push("??".into());
    }
    seen.join(" ¦ ")
}

fn check(rows: &[(&str, &str)]) {
    for (script, seen) in rows {
        assert_eq!(see(&read_script(script)), *seen, "{script}");
    }
}

fn runs(script: &Script, program: &str) -> bool {
    script.commands.iter().any(|command| command.program.as_deref() == Some(program))
}

#[test]
fn what_runs_rm_is_seen_or_doubted() {
    let rows = [
        "rm -rf build/",
        "r''m victim",
        "\"r\"m victim",
        "\\rm victim",
        "r${x}m victim",
        "$(printf 'r%s' m) victim",
        "echo cm0gdmljdGlt | base64 -d | bash",
        "/bin/r? victim",
        "busybox r\"m\" victim",
        "eval 'r''m victim'",
        "bash <<<$'\\162m victim'",
        "sudo rm x",
        "env -i PATH=/bin rm x",
        "FOO=1 rm x",
        "xargs rm < list",
        "find . -name '*.o' -exec rm {} +",
        "cd /tmp; rm x",
        "true && rm x || rm y",
        "(rm x)",
        "{ rm x; }",
        "echo `rm x`",
        "echo $(rm x)",
        "cat <(rm x)",
        "bash -c 'rm x'",
        "sh -lc \"cd a && rm -r b\"",
        "nohup rm x &",
        "timeout 5 rm x",
        "command rm x",
        "exec rm x",
        "time rm x",
        "nice -n 5 rm x",
        "if true; then rm x; fi",
        "for f in *; do rm \"$f\"; done",
        "while read f; do rm \"$f\"; done < list",
        "f() { rm x; }; f",
        "cat <<EOF | sh\nrm x\nEOF",
        "ls\nrm x",
        "ls & rm x",
        "! rm x",
        "/usr/bin/rm x",
        "ssh host rm x",
    ];
    for row in rows {
        let script = read_script(row);
        assert!(script.opaque || runs(&script, "rm"), "{row}");
    }
}

#[test]
fn what_only_mentions_rm_is_left_alone() {
    let rows = [
        "echo 'do not use rm here'",
        "grep -rn 'rm' .",
        "man rm",
        "command -v rm",
        "git commit -m 'stop calling rm in CI'",
        "git commit -m \"$(cat <<'EOF'\nit's (rm) no more; rm is \"gone\"\nEOF\n)\"",
        "ls /usr/bin/rm",
        "cat docs/rm.md",
        "git log --grep=rm",
        "curl https://example.com/rm/index.html",
        "docker run --rm alpine true",
        "# rm nothing\nls",
        "echo \"\\$(rm x)\" '$(rm x)' '`rm x`' \\`rm x\\`",
        "cat <<'EOF'\n$(rm x)\nEOF",
        "cat > clean.sh <<'EOF'\nrm x\nEOF",
        "format c",
        "mkdir permanent",
        "rmdir x",
    ];
    for row in rows {
        let script = read_script(row);
        assert!(!script.opaque && !runs(&script, "rm"), "{row}: {}", see(&script));
    }
}

#[test]
fn a_program_is_known_by_its_name_however_it_is_written() {
    check(&[
        ("r\\m victim", "rm victim"),
        ("$'\\x72m' victim", "rm victim"),
        ("$'r\\155' victim", "rm victim"),
        ("r\\\nm victim", "rm victim"),
        ("a=r;b=m;$a$b victim", "rm victim"),
        ("x='rm -rf'; $x y", "rm -rf y"),
        ("{rm,-rf,/}", "rm -rf /"),
        ("{,rm} x", "rm x"),
        ("$\"rm\" x", "rm x"),
        ("~/bin/rm x", "rm x"),
        ("rm '' \"a  b\"", "rm  a  b"),
    ]);
}

#[test]
fn the_folder_of_a_program_is_kept_beside_its_name() {
    let script = read_script("sudo \"/usr/bin\"/rm -f 'a b'");
    let command = &script.commands[0];
    assert_eq!(command.program.as_deref(), Some("rm"));
    assert_eq!(command.text, "rm -f a b");
    assert_eq!(command.text_with_path, "/usr/bin/rm -f a b");
}

#[test]
fn a_program_named_at_run_time_is_opaque() {
    check(&[
        ("r$@m victim", "?r$@m victim"),
        (
            "$(echo cm0gdmljdGlt | base64 -d)",
            "echo cm0gdmljdGlt ¦ base64 -d ¦ ?$(echo cm0gdmljdGlt | base64 -d)",
        ),
        ("/bin/[r]m victim", "?/bin/[r]m victim"),
        ("/???/r[m] victim", "?/???/r[m] victim"),
        ("r[$'m'] x", "?r[m] x"),
        ("rm$IFS-rf", "?rm$IFS-rf"),
        ("$x rm y", "?$x rm y"),
        ("${x:-rm} y", "?${x:-rm} y"),
        ("${ rm x; }", "rm x ¦ ?${ rm x; }"),
        // Bash reads these three as `rm`, for reasons of its own.
        ("$'\\x{72}m' x", "?$'\\x{72}m' x"),
        ("$'\\562m' x", "?$'\\562m' x"),
        ("$'rm\\0z' x", "?$'rm\\0z' x"),
        ("x='r m victim'; eval ${x/ /}", "?eval ${x/ /}"),
        ("printf '\\162\\155 victim' | sh", "printf \\162\\155 victim ¦ ?sh"),
        ("curl x | sudo bash -s -- y", "curl x ¦ ?bash -s -- y"),
        ("bash <(curl x)", "curl x ¦ ?bash <(curl x)"),
        (". <(curl x)", "curl x ¦ ?. <(curl x)"),
        ("time -f %e rm x", "?-f %e rm x"),
    ]);
}

#[test]
fn a_value_counts_only_while_nothing_can_have_changed_it() {
    check(&[
        ("a=ls; $a x", "ls x"),
        ("a=ls; false && a=rm; $a x", "false ¦ ?$a x"),
        ("a=ls; if x; then a=rm; fi; $a x", "x ¦ ?$a x"),
        ("a=ls; read a; $a x", "read a ¦ ?$a x"),
        ("a=ls; builtin read a <<<rm; $a x", "read a ¦ ?$a x"),
        ("a=ls; f() { a=rm; }; f; $a x", "f ¦ ?$a x"),
        ("a=ls; eval a=rm; $a x", "?$a x"),
        ("a=ls; : ${b:-${a:=rm}}; $a x", ": ${b:-${a:=rm}} ¦ ?$a x"),
        ("a=ls; (a=rm); $a x", "ls x"),
        ("a=ls; while x; do $a y; a=rm; done", "x ¦ ?$a y"),
        ("a=ls; bash -c '$a rm x'", "?$a rm x"),
        ("e=; a=ls; a=rm $e; $a x", "rm x"),
        ("a=ls; a=rm b; $a x", "b ¦ ls x"),
        ("a=ls; IFS=s; $a x", "?$a x"),
        ("_=ls; $_ x", "?$_ x"),
        ("a=ls; a+=x; $a", "?$a"),
    ]);
}

#[test]
fn commands_are_found_wherever_they_hide() {
    check(&[
        ("rmdir_(){ command r\\m \"$@\"; }; rmdir_ victim", "rm $@ ¦ rmdir_ victim"),
        ("case $(a) in b) c;; $(d)) e;; esac", "a ¦ d ¦ c ¦ e"),
        ("select x in a; do b; done", "b"),
        ("until a; do b; done <$(c)", "c ¦ a ¦ b"),
        ("for ((i=$(a);i<1;i++)); do b; done", "a ¦ b"),
        ("[[ $(a) == b && -f $(c) ]]", "a ¦ c"),
        ("((x=$(a)))", "a"),
        ("((i < 5)) && ((i++))", ""),
        ("((rm -rf /x))", "rm -rf /x"),
        ("coproc a b", "a b"),
        ("a=(b $(c))", "c"),
        ("echo \"${x:-'$(a)'}\" ${y[$(b)]} $[ $(c) ]", "a ¦ b ¦ c ¦ echo ${x:-'$(a)'} ${y[$(b)]} $[ $(c) ]"),
        ("echo $((1+$(a)+2))", "a ¦ echo $((1+$(a)+2))"),
        ("echo $((1+2)) $(((1)))", "echo $((1+2)) $(((1)))"),
        ("cat <<A\n$(a) `b` ${x:-$(c)} $((1+2))\nA", "a ¦ b ¦ c ¦ cat"),
        ("echo `a \\`b\\``", "b ¦ a `b` ¦ echo `a \\`b\\``"),
        ("echo `r\\\\m x`", "rm x ¦ echo `r\\\\m x`"),
        ("echo \"$(a \"$(b \"$(c)\")\")\"", "c ¦ b \"$(c)\" ¦ a $(b \"$(c)\") ¦ echo $(a \"$(b \"$(c)\")\")"),
        ("echo $(a # )\nb)", "a ¦ b ¦ echo $(a # )\nb)"),
        ("{ a; } |& b", "a ¦ b"),
        ("trap 'a b' EXIT; trap - EXIT", "a b ¦ trap - EXIT"),
        ("alias ls='rm x'", "alias ls=rm x ¦ rm x"),
        ("cat <<'E' | sudo sh\na\nE", "cat ¦ a"),
        ("cat <<< 'a b' | cat | sh", "cat ¦ cat ¦ a b"),
        ("echo a b | sh", "echo a b ¦ a b"),
        ("{ sh; } <<E\na\nE", "a"),
        ("x='$(rm y)'; echo ${x@P}", "echo ${x@P} ¦ ??"),
        ("if", "??"),
        ("echo 'a", "??"),
        ("a\0b", "??"),
        ("", ""),
    ]);
}

#[test]
fn wrappers_are_taken_off() {
    check(&[
        ("sudo -nu root -- rm x", "rm x"),
        ("sudo -u root A=1 rm x", "rm x"),
        ("sudo -l", "sudo -l"),
        ("doas rm x", "rm x"),
        ("env - A=1 rm x", "rm x"),
        ("env +=y rm x", "rm x"),
        ("env -iS'rm -f' 'a b'", "rm -f a b"),
        ("env -S bash -c 'rm x'", "rm x"),
        ("env -S A=1 rm x", "rm x"),
        ("env", "env"),
        ("timeout --sig KILL 5 rm x", "rm x"),
        ("timeout $t rm x", "?timeout $t rm x ¦ rm x"),
        ("nice -5 ionice -c3 stdbuf -oL setsid rm x", "rm x"),
        ("builtin command exec -a ls rm x", "rm x"),
        ("xargs -0 -n1 rm -f", "rm -f"),
        ("xargs -0I{} rm {}", "rm {}"),
        ("xargs -I% % x", "?% x"),
        ("xargs sh -c", "?sh -c"),
        ("xargs", "xargs"),
        ("parallel -j 4 rm {} ::: a b", "rm $1"),
        ("parallel ::: 'rm x' ls", "rm x ¦ ls"),
        ("parallel {} x ::: rm", "?$1 x"),
        ("watch -n1 'rm x; ls'", "rm x ¦ ls"),
        ("flock /tmp/l rm x; flock /tmp/l -c 'rm y'", "rm x ¦ rm y"),
        ("chroot /mnt rm x", "rm x"),
        ("unshare -rm rm x", "rm x"),
        ("strace -f -o log rm x", "rm x"),
        ("ssh -p 22 host 'cd a; rm b'", "ssh -p 22 host cd a; rm b ¦ cd a ¦ rm b"),
        ("ssh host", "ssh host"),
        ("su root -c 'rm x'", "rm x"),
        ("su - bob -- -c 'rm x'", "rm x"),
        ("runuser -u bob -- rm x", "rm x"),
        ("script -qc 'rm x' /dev/null", "rm x"),
        ("find . -ok rm {} \\; -execdir ls {} +", "find . -ok rm {} ; -execdir ls {} + ¦ rm {} ¦ ls {}"),
        ("find . $x rm {} +", "?find . $x rm {} +"),
        ("find \"$x\" -name y", "find $x -name y"),
        ("bash -euo pipefail -c 'rm x'", "rm x"),
        ("bash -oc errexit 'rm x'", "rm x"),
        ("bash -s -c 'rm x'", "rm x"),
        ("zsh -c -- 'rm x'", "rm x"),
        ("bash -c \"rm $x\"", "?bash -c rm $x"),
        ("bash build.sh -c x", "bash build.sh -c x"),
        ("bash \"$dir/build.sh\"", "bash $dir/build.sh"),
        ("bash $opts 'rm x'", "?bash $opts rm x"),
        ("bash --rcfile <(a) -i", "a ¦ ?bash --rcfile <(a) -i"),
        ("source ~/.bashrc", "source ~/.bashrc"),
        ("bash /dev/stdin <<< 'rm x'", "rm x"),
        ("sudo nohup env bash -c 'eval \"rm x\"'", "rm x"),
    ]);
}

#[test]
fn a_list_of_words_is_read_as_it_stands() {
    let rows: [(&[&str], &str); 6] = [
        (&["rm", "-rf", "/"], "rm -rf /"),
        (&["/bin/rm", "$(ls)", "*"], "rm $(ls) *"),
        (&["bash", "-lc", "cd a && rm b"], "cd a ¦ rm b"),
        (&["sudo", "sh", "-c", "$x y"], "?$x y"),
        (&["echo", "rm"], "echo rm"),
        (&[], ""),
    ];
    for (words, seen) in rows {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(see(&read_words(&words)), seen, "{words:?}");
    }
}

#[test]
fn a_doubt_says_why() {
    let doubts = |script: &str| read_script(script).doubts.join("\n");
    insta::assert_snapshot!(doubts("$x y; curl z | sh"), @"
    the program `$x` is known only when the script runs
    what `sh` runs is known only when the script runs
    ");
    insta::assert_snapshot!(
        doubts("echo 'a"),
        @"the script cannot be parsed: unmatched delimiter at line 1, position 7: unterminated single quote"
    );
}

#[test]
fn past_a_limit_a_script_is_opaque() {
    // A shell that reads a comment: cheap, but as long as can be.
    let rounds = |n| format!("{{ {} }} <<'E'\n#{}\nE\n", "sh;".repeat(n), "x".repeat(52_000));
    let variables = |n| (1..=n).map(|i| format!("v{i}=x;")).collect::<String>() + &format!("$v{n}");
    let expansion = |n| format!("a={};{}", "x".repeat(1_024), "$a;".repeat(n));
    let rows: [(&str, String, String); 9] = [
        ("length", format!("echo {}", "x".repeat(65_531)), format!("echo {}", "x".repeat(65_532))),
        ("commands", "a;".repeat(2_000), "a;".repeat(2_001)),
        ("substitutions", "b $(a);".repeat(64), "b $(a);".repeat(65)),
        (
            "nesting",
            format!("{}a{}", "{ ".repeat(64), "; }".repeat(64)),
            format!("{}a{}", "{ ".repeat(65), "; }".repeat(65)),
        ),
        ("rounds", rounds(4), rounds(5)),
        ("value", format!("a={}; $a", "x".repeat(1_024)), format!("a={}; $a", "x".repeat(1_025))),
        ("variables", variables(64), variables(65)),
        ("expansion", expansion(256), expansion(257)),
        ("braces", "{a,b}".repeat(6), "{a,b}".repeat(7)),
    ];
    for (limit, within, past) in rows {
        assert!(!read_script(&within).opaque, "within {limit}: {:?}", read_script(&within).doubts);
        assert!(read_script(&past).opaque, "past {limit}");
    }
    assert_eq!(read_script("$a;$b;$c;$d;$e;$f;$g;$h").doubts.len(), 8);
    assert_eq!(read_script("$a;$b;$c;$d;$e;$f;$g;$h;$i").doubts.len(), 8);
}

#[test]
fn hostile_scripts_end_soon() {
    let nested = |open: &str, close: &str, n: usize| format!("{}a{}", open.repeat(n), close.repeat(n));
    let scripts = [
        nested("$(echo ", ")", 64),
        nested("\"$(echo ", ")\"", 64),
        nested("<(a ", ")", 64),
        nested("$((1+", "))", 64),
        nested("${x:-", "}", 5_000),
        nested("{ ", "; }", 20_000),
        nested("if ", "; then a; fi", 4_000),
        "(".repeat(65_536),
        "$(".repeat(30_000),
        "[[ ".repeat(20_000),
        "{a,b}".repeat(10_000),
        format!("a=xx;{} echo $a", "a=$a$a;".repeat(5_000)),
        format!("a={};{}", "x".repeat(1_000), "echo $a$a$a$a$a$a$a$a$a$a;".repeat(2_000)),
        (0..8_000).map(|i| format!("v{i}=1;")).collect::<String>() + &"(v=2);".repeat(500),
        "{ sh; sh; sh; sh; sh; sh; sh; } <<'E'\nsh; sh; sh\nE\n".repeat(1_000),
        "$a;".repeat(20_000),
        "<<a ".repeat(10_000),
        "case a in ".repeat(5_000),
        "`".repeat(60),
        "sudo ".repeat(12_000) + "rm x",
    ];
    for script in scripts {
        let start = std::time::Instant::now();
        let _ = read_script(&script);
        let shown: String = script.chars().take(30).collect();
        assert!(start.elapsed().as_secs() < 10, "{shown}… took {:?}", start.elapsed());
    }
}

#[test]
fn real_one_liners_are_read() {
    let Ok(data) = std::env::var("LOCKGATE_DATA") else {
        println!("SKIPPED: set LOCKGATE_DATA to the folder with shell/nl2bash.txt to read its one-liners");
        return;
    };
    let text = std::fs::read_to_string(format!("{data}/shell/nl2bash.txt")).unwrap();
    let scripts: Vec<Script> = text.lines().map(read_script).collect();
    let unread = |script: &&Script| {
        script.doubts.iter().any(|doubt| doubt.contains("parse") || doubt.contains("read"))
    };
    let (all, unread) = (scripts.len(), scripts.iter().filter(unread).count());
    println!(
        "{all} one-liners, {unread} unread, {} opaque",
        scripts.iter().filter(|script| script.opaque).count()
    );
    assert!(all > 10_000 && unread * 100 < all);
}

/// Pieces from which hostile scripts are made.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm",
        "r",
        "m",
        " ",
        "'",
        "\"",
        "\\",
        "$(",
        ")",
        "`",
        "${",
        "}",
        "$'",
        "\\x72",
        "{",
        ",",
        ";",
        "\n",
        "|",
        "&",
        "(",
        "((",
        "))",
        "[[ ",
        "]]",
        "if ",
        "then ",
        "fi",
        "for ",
        "do ",
        "done",
        " in ",
        "case ",
        "esac",
        "eval ",
        "bash -c ",
        "echo ",
        "env ",
        "a=",
        "$a",
        "<(",
        "#",
        "!",
        "$[",
        "${a:-",
        "<<<",
        "<<E\n",
        "\nE\n",
        "$((",
        "*",
        "[",
        "é",
        "\0",
        "=",
        "sudo ",
        "xargs ",
        "find . -exec ",
        "parallel ",
        "function f ",
        "coproc ",
        "~",
        ">",
        "<&",
        "{a,b}",
        "$\"",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fail(text in any::<String>(), words in prop::collection::vec(any::<String>(), 0..4)) {
        let _ = (read_script(&text), read_words(&words));
    }

    #[test]
    fn no_script_makes_the_reader_fail(script in pieces()) {
        let _ = read_script(&script);
    }

    #[test]
    fn a_dangerous_command_cannot_be_wrapped_out_of_sight(layers in prop::collection::vec(0..LAYERS.len(), 0..6)) {
        let script = layers.iter().fold("rm -rf x".to_owned(), |script, layer| LAYERS[*layer](&script));
        let seen = read_script(&script);
        prop_assert!(seen.opaque || runs(&seen, "rm"), "{script}");
    }

    #[test]
    fn what_stands_beside_a_command_cannot_hide_it(before in pieces(), after in pieces()) {
        // A line of its own, unless an open quote, comment or heredoc swallows it: then bash would not run it.
        let alone = format!("{before}\ntrue\n{after}");
        if runs(&read_script(&alone), "true") {
            let seen = read_script(&format!("{before}\nrm x\n{after}"));
            prop_assert!(seen.opaque || runs(&seen, "rm"));
        }
    }
}

/// Ways to run a script that a shell would run too.
const LAYERS: &[fn(&str) -> String] = &[
    |script| format!("( {script} )"),
    |script| format!("{{ {script}; }}"),
    |script| format!("true && {script}"),
    |script| format!("ls; {script} # done"),
    |script| format!("! {script}"),
    |script| format!("echo $( {script})"),
    |script| format!("echo \"$({script}\n)\""),
    |script| format!("cat <({script}\n)"),
    |script| format!("if {script}\nthen :; fi"),
    |script| format!("while {script}\ndo :; done"),
    |script| format!("case a in a) {script}\n;; esac"),
    |script| format!("f() {{ {script}\n}}; f"),
    |script| format!("bash -c '{}'", script.replace('\'', r"'\''")),
    |script| format!("eval '{}'", script.replace('\'', r"'\''")),
    |script| format!("sudo -u root sh -ec '{}'", script.replace('\'', r"'\''")),
    |script| format!("find . -exec sh -c '{}' \\;", script.replace('\'', r"'\''")),
    |script| format!("bash <<'END{}'\n{script}\nEND{0}", script.len()),
    |script| format!("cat <<'END{}' | sh\n{script}\nEND{0}", script.len()),
    |script| format!("trap '{}' EXIT", script.replace('\'', r"'\''")),
    |script| format!("echo `{}`", script.replace('\\', r"\\").replace('`', r"\`").replace('$', r"\$")),
    |script| format!("x=${{y:-$({script}\n)}}"),
];
