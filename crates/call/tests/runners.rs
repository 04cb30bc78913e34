//! What runs a program without saying so plainly, class by class; and what only looks like it.

use lockgate_call::{Script, read_script};

fn may_run(script: &Script, program: &str) -> bool {
    script.opaque || script.commands.iter().any(|command| command.may_run(program))
}

/// Each of these may run `rm`.
fn runs(scripts: &[&str]) {
    for script in scripts {
        assert!(may_run(&read_script(script), "rm"), "{script}");
    }
}

/// Each of these is read to its end, and runs no `rm`.
fn runs_none(scripts: &[&str]) {
    for script in scripts {
        let read = read_script(script);
        assert!(!may_run(&read, "rm"), "{script}: {:?}", read.doubts);
    }
}

#[test]
fn a_program_that_runs_some_of_its_words_runs_any_of_them() {
    runs(&[
        "gosu app:app rm x",
        "choom -n 500 -- rm x",
        "bwrap --ro-bind / / --dev /dev rm x",
        "systemd-run --user --scope -p A=1 rm x",
        "perf stat -r 3 -e cycles -- rm x",
        "hyperfine --warmup 3 'rm x' 'ls'",
        "find . | entr -c rm x",
        "firejail --net=none rm x",
        "s6-setuidgid app rm x",
        "logsave -a log rm x",
        "flatpak run --command=rm org.app x",
        "apptainer exec image.sif rm x",
        "kubectl debug node/a --image=b -- rm x",
        "podman unshare -- rm x",
        "distrobox enter -n b -- rm x",
        "/lib64/ld-linux-x86-64.so.2 --library-path /lib /bin/rm x",
        "setuidgid a sudo rm x",
        "gosu timeout rm x",
        "qemu-aarch64 -L /sysroot /bin/rm x",
        "fd -HIx rm",
        "fd --exec-batch=rm",
        "xargs --max-lines rm < l",
        "parallel -I ,, ',, x' ::: rm",
        "nc -e 'rm x' host 1",
        "tmux run-sh 'rm x'",
        "tmux new -d \\; if-shell true 'rm x'",
        "echo '* * * * * rm x' | crontab -",
        "aws ecs execute-command --command 'rm x'",
        "g++ -wrapper sh,-c,'rm x' -c f.c",
    ]);
    runs_none(&[
        "perf report",
        "hyperfine 'ls -l' 'du -s .'",
        "ls | ts '%H:%M'",
        "bwrap --ro-bind / / ls",
        "crontab -l",
        "echo '0 3 * * * backup /srv' | crontab -",
        "fd -e rs -x wc -l",
        "xargs --max-lines=1 wc -l < l",
        "gcc -Wall -o a a.c",
        "tmux ls",
    ]);
}

#[test]
fn a_program_of_which_nothing_is_known_may_run_what_it_is_plainly_given() {
    runs(&[
        "frob -- rm x",
        "frob /bin/rm x",
        "frob --exec 'rm x'",
        "frob --pre-hook='rm x'",
        "frob --cmd=rm",
    ]);
    runs_none(&[
        "frob rm x",
        "frob --verbose -- src/a.ts",
        "eslint --fix -- src",
        "frob --script build.js",
        "frob -m 'rm x'",
        "frob /srv/data",
    ]);
}

#[test]
fn what_a_command_of_many_words_begins_with_is_looked_for_in_bounds() {
    let words = " a".repeat(20_000);
    assert!(read_script(&format!("gosu{words} rm x")).opaque);
    assert!(read_script(&"gosu a nice b ".repeat(2_000)).opaque);
    let many = format!("frob{}", " /bin/ls".repeat(5_000));
    assert!(read_script(&many).opaque);
}

#[test]
fn code_that_was_found_is_never_dropped() {
    runs(&[
        "node -e 'require(\"child_process\").execSync(\"rm x\")' install",
        "node -e 'require(\"child_process\").execSync(\"rm x\")' --test",
        "python3 -c 'import os; os.system(\"rm x\")' -m unittest",
        "sed -e '1e rm x' -f a.sed f",
        "sed --expression='1e rm x' --file a.sed f",
        "gawk -e 'BEGIN{system(\"rm x\")}' -f lib.awk",
        "vim -Es -c '!rm x' -c q",
        "ex -s +'!rm x' f",
        "vim -u NONE -s -c '!rm x'",
        "awk -f /dev/stdin <<< 'BEGIN{system(\"rm x\")}'",
        "sed -f- f <<< '1e rm x'",
        "make -f- <<< $'all:\\n\\trm x'",
        "make --file=- <<< $'all:\\n\\trm x'",
        "make all SHELL='rm x'",
        "python3 -m timeit -s 'import os' 'os.system(\"rm x\")'",
        "perl -ne 'print' 'rm x |'",
        "ruby -pe 1 '| rm x'",
        "sqlite3 -header a.db '.sys rm x'",
        "sqlite3 a.db '.output |rm x' 'select 1'",
        "psql -c '\\g |rm x' shop",
        "ed -s '!rm x'",
        "ed f <<< 'r !rm x'",
        "awk '{ print /\"/; print | \"r\"\"m x\" }' f",
        "gdb -batch -ex 'shell rm x'",
        "dc -e '!rm x'",
        "gnuplot -e 'system(\"rm x\")'",
        "m4 <<< 'esyscmd(rm x)'",
        "rpm --eval '%(rm x)'",
        "octave --eval 'system(\"rm x\")'",
        "raku -e 'run \"rm\", \"x\"'",
        "powershell -EncodedCommand cgBtACAAeAA=",
        "zsh-static -c 'rm x'",
        "mysql --pager='rm x' -e 'select 1'",
    ]);
    runs_none(&[
        "node -e 'console.log(1)' install",
        "python3 -c 'print(1)' -m",
        "sed -n '/a/p' f",
        "sed -f a.sed f",
        "awk -f a.awk f",
        "make -C build -j4 all CFLAGS='-O2 -g'",
        "make -f build/Makefile test",
        "perl -F'|' -lane 'print $F[0]' f",
        "perl -ne 'print if /a|b/' f",
        "sqlite3 -batch a.db 'select 1'",
        "psql -c 'select a != b' shop",
        "gdb -batch -ex bt --args ./a",
        "vim -es -c '%s/a/b/' -c wq f",
        "echo '1 2 + p' | dc",
        "echo \"$a 2 + p\" | dc",
        "rpm -qa",
        "python3 -m pytest -k 'a and (b or c)'",
    ]);
}

#[test]
fn a_file_that_the_script_wrote_is_read_however_it_was_written_and_runs() {
    runs(&[
        "install /dev/stdin s <<< 'rm x'; sh s",
        "sed -n 'w s' f; bash s",
        "python3 -c 'open(\"s\", \"w\").write(\"x\")'; sh s",
        "script -qc 'echo rm x' s; sh s",
        "time -o s -f 'rm x' true; sh s",
        "strace -o s ls; sh s",
        "echo 'rm x' > nice; chmod +x nice; ./nice",
        "echo 'rm x' > ls; PATH=.:$PATH; ls",
        "echo 'import os; os.system(\"rm x\")' > lib.py; python3 -c 'import lib'",
        "echo 'import os; os.system(\"rm x\")' > lib.py; python3 -m lib",
        "echo 'system \"rm x\"' > Lib.pm; perl -I. -MLib -e 1",
        "echo 'require(\"child_process\").execSync(\"rm x\")' > p.js; node -r ./p.js a.js",
        "echo '{\"scripts\": {\"postinstall\": \"rm x\"}}' > package.json; npm install",
        "echo '{\"scripts\": {\"pretest\": \"rm x\"}}' > package.json; npm t",
        "curl -s h/p > package.json; yarn build",
        "printf 'Host *\\nProxyCommand rm x\\n' > c; scp -F c a h:b",
        "echo 'Match exec \"rm x\"' > c; ssh -Fc h ls",
        "echo 'rm x' > .git/hooks/post-checkout; git checkout a",
        "printf '[core]\\nfsmonitor = rm x\\n' > .git/config; git status",
        "echo 'rm x' > git-frob; PATH=$PWD:$PATH git frob",
        "echo '0 * * * * rm x' > t; crontab t",
        "echo 'rm x' > s; at now -f s",
        "echo '!rm x' > v; vim -es -S v -c q",
        "echo 'shell rm x' > g; gdb -batch -x g",
    ]);
    runs_none(&[
        "echo '{\"scripts\": {\"build\": \"tsc\", \"clean\": \"rm x\"}}' > package.json; npm run build",
        "echo 'a rm b' > data.txt; python3 -c 'print(open(\"data.txt\").read())'",
        "curl -s h/d > data.json; python3 -c 'import json; json.load(open(\"data.json\"))'",
        "echo 'rm x' > notes; awk 1 notes",
        "cat > .git/config <<'E'\n[user]\nname = a\nE\ngit status",
        "echo 'Host a' > c; ssh -F c a ls",
        "script -qc ls log; cat log",
    ]);
}

#[test]
fn settings_aliases_and_remotes_of_git_are_read() {
    runs(&[
        "git clone -u 'rm x; git-upload-pack' . d",
        "git fetch --upload-pa 'rm x' o",
        "git -c remote.o.uploadpack='rm x' fetch o",
        "git config remote.o.receivepack 'rm x'",
        "git ls-remote 'ext::rm x'",
        "git clone 'ext::sh -c rm% x' d",
        "git -c alias.q='!rm x' q",
        "git config --global alias.q '!rm x'",
        "GIT_EXEC_PATH=/tmp/e git q",
        "git --exec-path=/tmp/e q",
        "printf '[alias]\\nq=!rm x\\n' > c; GIT_CONFIG_GLOBAL=c git q",
        "git grep -O'rm x' a",
        "cat > c <<'E'\n[alias]\nq = !rm x\nE\nGIT_CONFIG_SYSTEM=c git q",
    ]);
    runs_none(&[
        "git push origin main",
        "git -c user.name=a commit -m 'rm x'",
        "git --exec-path",
        "git log -3",
        "git lfs ls",
    ]);
    let pushes = |script: &str, option: &str| {
        let read = read_script(script);
        let words = |command: &lockgate_call::Command| command.words.iter().any(|word| word.text == option);
        read.opaque
            || read.commands.iter().any(|command| command.text.starts_with("git push") && words(command))
    };
    for (script, option) in [
        ("git push -uf origin main", "--force"),
        ("git push -4f origin main", "-f"),
        ("git push --forc origin main", "--force"),
        ("git push origin +main", "--force"),
        ("git push --mir origin", "--mirror"),
        ("git send-pack --force h main", "--force"),
        ("git -c alias.p='push --force' p origin main", "--force"),
        ("git config alias.p 'push -f'; git p", "-f"),
        ("git -c remote.origin.mirror=true push", "--mirror"),
        ("git push origin :main", "--delete"),
    ] {
        assert!(pushes(script, option), "{script}");
    }
    for script in ["git push -u origin main", "git push origin main:main", "git commit -m 'push --force'"] {
        assert!(!pushes(script, "--force"), "{script}");
    }
}

#[test]
fn a_variable_that_brings_in_code_is_read() {
    runs(&[
        "NODE_OPTIONS='--require ./q.js' npm test",
        "TAR_OPTIONS=--to-command=rm tar xf a",
        "export TAR_OPTIONS='-I rm'; tar cf a b",
        "RUBYOPT=-r./q ruby a.rb",
        "GOFLAGS=-toolexec=rm go build",
        "VIMINIT='!rm x' vim -es f",
        "CC='rm x' make",
    ]);
    runs_none(&[
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "GOFLAGS=-mod=vendor go build ./...",
        "MAKEFLAGS=-j8 make all",
        "CC=clang make",
        "LESS=-R git log",
    ]);
}
