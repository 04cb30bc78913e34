//! Programs that run other programs: the table.
//!
//! A row says how a wrapper's command line is built, so that what it runs can be found in there; a wrapper
//! that is missing is seen as an ordinary program. Those whose command lines follow rules of their own, such
//! as shells and `find`, stand in `unwrap.rs`; languages other than the shell's in `interpreters.rs`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::names::{SHELLS, has};

/// How a wrapper's command line is built. Lists are words with spaces between them.
pub(crate) struct Wrapper {
    pub(crate) names: &'static str,
    /// The words that make it one: `docker` runs something with `exec`, not with `ps`. They may stand anywhere.
    pub(crate) verb: &'static str,
    /// Options without a value. After one in no list, the next word may be its value or the command.
    pub(crate) flags: &'static str,
    /// Options whose value is the next word.
    pub(crate) valued: &'static str,
    /// Options whose value is a script.
    pub(crate) scripts: &'static str,
    /// Options whose value is a setting, `key=value`, and some of those name a program.
    pub(crate) settings: &'static str,
    /// Options with which it only talks about its arguments.
    pub(crate) queries: &'static str,
    /// Options with which it starts no shell where it is given no command.
    pub(crate) shellless: &'static str,
    /// What an operand begins with whom no shell is given: the account that hosts of git have for everybody.
    pub(crate) guest: Option<&'static str>,
    /// Options without which it starts no shell then; any, if the list is empty.
    pub(crate) shell_only_with: &'static str,
    /// Words between the options and the command, such as the time limit of `timeout`.
    pub(crate) operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assignments: bool,
    /// How the rest is run.
    pub(crate) rest: Rest,
    /// Whether it does something of its own that a rule could mean, and is listed beside what it runs.
    pub(crate) own: bool,
    /// Whether it may run nothing at all, or more than once.
    pub(crate) repeats: bool,
}

/// How a wrapper runs the words after its options.
pub(crate) enum Rest {
    /// As a program and its arguments.
    Words,
    /// As a program with further arguments taken from standard input.
    WordsAndInput,
    /// As words; a shell that reads standard input when there are none.
    WordsOrShell,
    /// As words; when there are none, as something made for it, which may well be a shell.
    WordsOrEntry,
    /// As further words of the script in an option, else as words.
    WordsOfScript,
    /// Joined by spaces, as a script.
    Script,
    /// Joined as a script, into which arguments are put that stand after `:::` or come from standard input.
    ScriptAndInput,
    /// Joined as a script; a shell that reads standard input when there is none.
    ScriptOrShell,
    /// Each word is a script of its own.
    Scripts,
    /// Not at all: only the script of an option is run, else a shell that reads standard input.
    Shell,
    /// Not at all, but standard input is a script.
    Input,
    /// Not at all, but a key and a value that may name a program.
    Setting,
    /// Not at all.
    Nothing,
}

const PLAIN: Wrapper = Wrapper {
    names: "",
    verb: "",
    flags: "",
    valued: "",
    scripts: "",
    settings: "",
    queries: "",
    shellless: "",
    guest: None,
    shell_only_with: "",
    operands: 0,
    assignments: false,
    rest: Rest::Words,
    own: false,
    repeats: false,
};

/// A program with deeds of its own that runs something only where an option says so.
const HOST: Wrapper = Wrapper { rest: Rest::Nothing, own: true, ..PLAIN };

/// A program with deeds of its own that runs what stands after a verb.
const RUNNER: Wrapper = Wrapper { own: true, ..PLAIN };

const CONTAINER_FLAGS: &str = "-d -i -t -P --detach --interactive --tty --rm --init --privileged --read-only \
    --publish-all --no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --no-TTY -T \
    --no-deps --service-ports --use-aliases --build --quiet -q";

const CONTAINER_VALUED: &str = "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --blkio-weight \
    --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-period --cpu-quota --cpu-shares --cpus \
    --cpuset-cpus --cpuset-mems --detach-keys --device --dns --dns-option --dns-search --domainname \
    --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --hostname --index --ip --ip6 --ipc \
    --isolation --label --label-file --link --log-driver --log-opt --mac-address --memory --memory-swap --mount \
    --name --network --net --network-alias --pid --pids-limit --platform --publish --pull --restart --runtime \
    --security-opt --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit --user \
    --userns --uts --volume --volume-driver --volumes-from --workdir";

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: "nohup setsid builtin busybox toybox unbuffer fakeroot catchsegv dbus-run-session torsocks \
            proxychains proxychains4 tsocks nocorrect noglob caffeinate linux32 linux64 setarch pseudo \
            dbus-launch eatmydata",
        flags: "-c -f -w -i -d -m -s -u --fork --wait --ctty",
        ..PLAIN
    },
    Wrapper {
        names: "sudo doas pkexec run0",
        flags: "-A -b -B -E -e -H -i -K -k -l -n -N -P -S -s -V -v -L --askpass --background --bell \
            --preserve-env --edit --set-home --login --remove-timestamp --reset-timestamp --list \
            --non-interactive --no-update --preserve-groups --stdin --shell --version --validate \
            --disable-internal-agent --keep-cwd",
        valued: "-u -g -h -p -C -T -R -D -r -t -U -a -c --user --group --host --prompt --close-from \
            --command-timeout --chroot --chdir --role --type --other-user --auth-type --login-class",
        shellless: "-l -v -V -K -e --list --validate --version --remove-timestamp --edit",
        assignments: true,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "env",
        flags: "-i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal \
            --list-signal-handling",
        valued: "-u -C -P -a --unset --chdir --argv0",
        scripts: "-S --split-string",
        assignments: true,
        rest: Rest::WordsOfScript,
        ..PLAIN
    },
    Wrapper {
        names: "time",
        flags: "-p -v -q -a -l -h --portability --verbose --quiet --append",
        valued: "-f -o --format --output",
        ..PLAIN
    },
    Wrapper {
        names: "timeout gtimeout",
        flags: "-v -f -p --preserve-status --foreground --verbose",
        valued: "-k -s --kill-after --signal",
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: "nice", valued: "-n --adjustment", ..PLAIN },
    Wrapper {
        names: "ionice",
        flags: "-t --ignore",
        valued: "-c -n -p -P -u --class --classdata --pid",
        ..PLAIN
    },
    Wrapper {
        names: "taskset chrt",
        flags: "-a -c -p -b -f -i -o -r -R -m -v --all-tasks --cpu-list --pid --batch --fifo --idle --other --rr",
        valued: "-T -P -D",
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: "stdbuf", valued: "-i -o -e --input --output --error", ..PLAIN },
    Wrapper { names: "command", flags: "-p", queries: "-v -V", ..PLAIN },
    Wrapper { names: "exec", flags: "-c -l", valued: "-a", ..PLAIN },
    Wrapper {
        names: "gosu su-exec chpst setuidgid softlimit runcon sg newgrp cpulimit trickle rlwrap prlimit setpriv \
            valgrind perf firejail bwrap proot xvfb-run systemd-run systemd-inhibit capsh dotenv direnv faketime \
            catchsegv numactl schedtool cgexec nsjail hyperfine entr watchexec chronic ifne ts socat",
        own: true,
        ..PLAIN
    },
    Wrapper {
        names: "xargs gxargs",
        flags: "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty",
        valued: "-I -n -P -d -s -L -E -a -R -S -J --max-args --max-procs --delimiter --max-chars --max-lines \
            --arg-file --process-slot-var",
        rest: Rest::WordsAndInput,
        repeats: true,
        ..PLAIN
    },
    Wrapper {
        names: "watch",
        flags: "-b -c -C -d -e -f -g -p -r -t -w -x --beep --color --no-color --differences --errexit --follow \
            --chgexit --precise --no-rerun --no-title --no-wrap --exec",
        valued: "-n -q -s --interval --equexit --shotsdir",
        rest: Rest::Script,
        ..PLAIN
    },
    Wrapper {
        names: "flock",
        flags: "-e -F -n -o -s -u -x --exclusive --no-fork --nonblock --nb --close --shared --unlock --verbose",
        valued: "-w -E --wait --timeout --conflict-exit-code",
        scripts: "-c --command",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: "chroot",
        flags: "--skip-chdir",
        valued: "--userspec --groups",
        operands: 1,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "unshare nsenter",
        flags: "-m -u -i -n -p -U -C -T -r -c -f -F -a -e --mount --uts --ipc --net --pid --user --cgroup --time \
            --map-root-user --map-current-user --fork --mount-proc --kill-child --keep-caps --preserve-credentials \
            --all --env --no-fork",
        valued: "-S -G -R -w -t --setuid --setgid --root --wd --target --map-user --map-group --map-users \
            --map-groups --propagation --setgroups",
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "strace ltrace",
        flags: "-f -c -C -q -v -t -T -y -Y -i -r -d -D -k -z -Z -w -L --follow-forks --summary-only --quiet",
        valued: "-o -e -p -s -u -E -a -b -P -I -O -S -X -n -A -F -l -x -U --output --trace --attach --string-limit",
        ..PLAIN
    },
    Wrapper {
        names: "ssh autossh",
        flags: "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
        valued: "-b -c -D -E -e -F -I -i -J -L -l -m -O -p -Q -R -S -W -w -B -P",
        settings: "-o",
        shellless: "-N -V -G -Q -O -W",
        guest: Some("git@"),
        operands: 1,
        rest: Rest::ScriptOrShell,
        own: true,
        ..PLAIN
    },
    Wrapper { names: "sshpass", valued: "-p -f -d -P", flags: "-e -v", ..RUNNER },
    Wrapper { names: "scp sftp", valued: "-S", scripts: "-S", settings: "-o", ..HOST },
    Wrapper { names: "rsync", scripts: "-e --rsh --rsync-path", ..HOST },
    Wrapper {
        names: "su",
        valued: "-s -g -G -w --shell --group --supp-group --whitelist-environment",
        scripts: "-c --command --session-command",
        rest: Rest::Shell,
        ..PLAIN
    },
    Wrapper {
        names: "script",
        flags: "-a -e -f -q -t --append --return --flush --quiet --force",
        valued: "-E -I -O -B -T -m -o --echo --log-in --log-out --log-io --log-timing",
        scripts: "-c --command",
        operands: 1,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "parallel",
        flags: "-0 -k -q -r -t -v -X -m -u -i --null --keep-order --quote --no-run-if-empty --verbose --xargs --group \
            --ungroup --line-buffer --lb --bar --progress --eta --dry-run --pipe --tag --will-cite --shuf --resume",
        valued: "-j -N -n -P -S -a -I -d -C -L -s --jobs --max-procs --colsep --delimiter --arg-file --joblog \
            --results --delay --timeout --retries --sshlogin --max-args --workdir --wd --tmpdir --load \
            --memfree --halt --env --tagstring",
        rest: Rest::ScriptAndInput,
        repeats: true,
        ..PLAIN
    },
    Wrapper { names: "eval", rest: Rest::Script, ..PLAIN },
    Wrapper { names: "mapfile readarray", valued: "-d -n -O -s -u -c", scripts: "-C", repeats: true, ..HOST },
    Wrapper {
        names: "compgen complete",
        valued: "-A -F -G -P -S -W -X -o",
        scripts: "-C",
        repeats: true,
        ..HOST
    },
    Wrapper { names: "repeat", operands: 1, repeats: true, ..PLAIN },
    Wrapper { names: "at batch", queries: "-l -c -r -d -f", rest: Rest::Input, own: true, ..PLAIN },
    Wrapper { names: "crontab", queries: "-l -r -e", rest: Rest::Input, own: true, ..PLAIN },
    Wrapper {
        names: "docker podman nerdctl docker-compose podman-compose",
        verb: "exec",
        flags: CONTAINER_FLAGS,
        valued: CONTAINER_VALUED,
        operands: 1,
        ..RUNNER
    },
    Wrapper {
        names: "docker podman nerdctl docker-compose podman-compose",
        verb: "run",
        flags: CONTAINER_FLAGS,
        valued: CONTAINER_VALUED,
        scripts: "--entrypoint --health-cmd",
        shell_only_with: "-i --interactive",
        operands: 1,
        rest: Rest::WordsOrEntry,
        ..RUNNER
    },
    Wrapper {
        names: "kubectl oc k3s microk8s",
        verb: "exec",
        flags: "-i -t -q -it --stdin --tty --quiet",
        valued: "-c -n -f --container --namespace --filename --context --kubeconfig --pod-running-timeout",
        operands: 1,
        ..RUNNER
    },
    Wrapper {
        names: "kubectl oc",
        verb: "run",
        flags: "-i -t -it --rm --stdin --tty --command --quiet --attach",
        valued: "-n --image --namespace --context --restart --env --labels -l --overrides --port",
        shell_only_with: "-i --stdin",
        operands: 1,
        rest: Rest::WordsOrEntry,
        ..RUNNER
    },
    Wrapper { names: "lxc incus", verb: "exec", operands: 1, ..RUNNER },
    Wrapper { names: "ip", verb: "netns exec", operands: 1, ..RUNNER },
    Wrapper { names: "machinectl", verb: "shell", operands: 1, rest: Rest::WordsOrShell, ..RUNNER },
    Wrapper { names: "vagrant", verb: "ssh", scripts: "-c --command", rest: Rest::Shell, ..HOST },
    Wrapper { names: "gcloud", verb: "ssh", scripts: "--command", rest: Rest::Shell, ..HOST },
    Wrapper {
        names: "npx bunx uvx pnpx",
        flags: "-y -q --yes --no --no-install --quiet --bun --ignore-existing",
        valued: "-p --package --from --with --python",
        scripts: "-c --call",
        ..RUNNER
    },
    Wrapper { names: "npm pnpm yarn bun", verb: "exec", scripts: "-c --call", ..RUNNER },
    Wrapper { names: "npm", verb: "x", scripts: "-c --call", ..RUNNER },
    Wrapper { names: "pnpm yarn bun", verb: "dlx", ..RUNNER },
    Wrapper { names: "bun", verb: "x", ..RUNNER },
    Wrapper {
        names: "uv",
        verb: "run",
        flags: "--isolated --no-project --no-sync --frozen --locked --offline --active --exact --no-dev --quiet -q",
        valued: "-p -m --python --with --with-editable --with-requirements --extra --group --package --project \
            --directory --env-file --module",
        ..RUNNER
    },
    Wrapper { names: "uv", verb: "tool run", valued: "--from --with --python -p", ..RUNNER },
    Wrapper {
        names: "poetry pipenv pdm hatch rye pixi conda mamba micromamba op doppler infisical",
        verb: "run",
        ..RUNNER
    },
    Wrapper { names: "pipx", verb: "run", valued: "--spec --python --index-url", ..RUNNER },
    Wrapper {
        names: "bundle rbenv pyenv nodenv asdf mise rtx fnm volta cargo aws-vault sops",
        verb: "exec",
        ..RUNNER
    },
    Wrapper { names: "aws-vault direnv", verb: "exec", operands: 1, ..RUNNER },
    Wrapper {
        names: "nix-shell",
        scripts: "--run --command",
        valued: "-A -I --attr",
        rest: Rest::Shell,
        ..HOST
    },
    Wrapper { names: "nix", verb: "-c", ..RUNNER },
    Wrapper { names: "nix", verb: "--command", ..RUNNER },
    Wrapper { names: "screen", valued: "-S -t -c -s -e -h -p", ..RUNNER },
    Wrapper {
        names: "tmux",
        verb: "new-session",
        valued: "-s -n -c -t -e -x -y -F",
        rest: Rest::Script,
        ..RUNNER
    },
    Wrapper { names: "tmux", verb: "neww", valued: "-n -c -t -e -F", rest: Rest::Script, ..RUNNER },
    Wrapper { names: "tmux", verb: "splitw", valued: "-c -t -e -l -p -F", rest: Rest::Script, ..RUNNER },
    Wrapper { names: "tmux", verb: "send", valued: "-t -N", rest: Rest::Scripts, ..RUNNER },
    Wrapper { names: "tmux", verb: "new", valued: "-s -n -c -t -e -x -y -F", rest: Rest::Script, ..RUNNER },
    Wrapper { names: "tmux", verb: "new-window", valued: "-n -c -t -e -F", rest: Rest::Script, ..RUNNER },
    Wrapper {
        names: "tmux",
        verb: "split-window",
        valued: "-c -t -e -l -p -F",
        rest: Rest::Script,
        ..RUNNER
    },
    Wrapper { names: "tmux", verb: "run-shell", valued: "-t -d", rest: Rest::Script, ..RUNNER },
    Wrapper { names: "tmux", verb: "send-keys", valued: "-t -N", rest: Rest::Scripts, ..RUNNER },
    Wrapper { names: "concurrently", rest: Rest::Scripts, ..RUNNER },
    Wrapper { names: "nodemon", scripts: "-x --exec", ..HOST },
    Wrapper { names: "git", scripts: "--upload-pack --receive-pack --exec", settings: "-c --config", ..HOST },
    Wrapper { names: "git", verb: "config", rest: Rest::Setting, ..HOST },
    Wrapper { names: "git", verb: "config set", rest: Rest::Setting, ..HOST },
    Wrapper { names: "git", verb: "rebase", scripts: "-x --exec", ..HOST },
    Wrapper { names: "git", verb: "difftool", scripts: "-x --extcmd", ..HOST },
    Wrapper { names: "git", verb: "bisect run", ..RUNNER },
    Wrapper {
        names: "git",
        verb: "submodule foreach",
        flags: "-q --quiet --recursive",
        rest: Rest::Script,
        ..RUNNER
    },
    Wrapper {
        names: "git",
        verb: "filter-branch",
        scripts: "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter \
            --tag-name-filter",
        ..HOST
    },
    Wrapper {
        names: "tar gtar bsdtar",
        scripts: "-I -F --to-command --use-compress-program --info-script --new-volume-script --rsh-command \
            --rmt-command",
        settings: "--checkpoint-action",
        ..HOST
    },
    Wrapper { names: "sort gsort", scripts: "--compress-program", ..HOST },
    Wrapper { names: "split", scripts: "--filter", ..HOST },
    Wrapper { names: "install ginstall", scripts: "--strip-program", ..HOST },
    Wrapper { names: "sdiff diff3", scripts: "--diff-program", ..HOST },
    Wrapper { names: "wget wget2", scripts: "--use-askpass", ..HOST },
    Wrapper { names: "tcpdump", scripts: "-z", ..HOST },
    Wrapper { names: "bat batcat delta", scripts: "--pager", ..HOST },
    Wrapper { names: "zip", scripts: "-TT --unzip-command", ..HOST },
    Wrapper { names: "man", scripts: "-P -H --pager --html", ..HOST },
    Wrapper { names: "rg", scripts: "--pre --hostname-bin", ..HOST },
    Wrapper { names: "go", scripts: "-exec --exec -toolexec --toolexec -vettool --vettool", ..HOST },
    Wrapper { names: "npm pnpm yarn", scripts: "--script-shell", ..HOST },
    Wrapper { names: "cargo", settings: "--config", ..HOST },
    Wrapper { names: "fd fdfind", verb: "-x", repeats: true, ..RUNNER },
    Wrapper { names: "fd fdfind", verb: "-X", repeats: true, ..RUNNER },
    Wrapper { names: "fd fdfind", verb: "--exec", repeats: true, ..RUNNER },
    Wrapper { names: "fd fdfind", verb: "--exec-batch", repeats: true, ..RUNNER },
    Wrapper { names: "xterm gnome-terminal konsole alacritty kitty", verb: "-e", ..RUNNER },
];

/// Keys of settings whose value names a program: whole, by their start and by their end.
const RUNNING_KEYS: &str = "exec proxycommand localcommand knownhostscommand core.pager core.editor \
    core.sshcommand core.fsmonitor core.askpass core.gitproxy sequence.editor diff.external credential.helper \
    include.path core.hookspath init.templatedir browser.cmd interactive.difffilter uploadpack.packobjectshook";
const RUNNING_KEYS_STARTING: [&str; 3] = ["alias.", "pager.", "includeif."];
const RUNNING_KEYS_ENDING: [&str; 14] = [
    ".program",
    ".command",
    ".cmd",
    ".clean",
    ".smudge",
    ".process",
    ".textconv",
    ".driver",
    ".helper",
    ".runner",
    ".linker",
    ".rustc",
    ".rustc-wrapper",
    ".rustc-workspace-wrapper",
];

/// Programs with rules of their own, in `unwrap.rs`.
const OTHERS: [&str; 7] = ["find", "alias", "trap", "fc", "source", ".", "runuser"];

/// The rows by name: every command of every script asks.
static ROWS: LazyLock<HashMap<&str, Vec<&Wrapper>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<&Wrapper>> = HashMap::new();
    for wrapper in WRAPPERS {
        for name in wrapper.names.split_ascii_whitespace() {
            rows.entry(name).or_default().push(wrapper);
        }
    }
    rows
});

/// The rows of a program.
pub(crate) fn wrappers(program: &str) -> &'static [&'static Wrapper] {
    ROWS.get(program).map_or(&[], Vec::as_slice)
}

/// All names of programs that run others.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.keys().copied().chain(SHELLS).chain(OTHERS)
}

/// The script a setting makes its program run: `core.pager=less` does, `user.name=x` does not.
pub(crate) fn script_of_setting<'a>(key: &str, value: &'a str) -> Option<&'a str> {
    let key = key.to_ascii_lowercase();
    let runs = has(RUNNING_KEYS, &key)
        || RUNNING_KEYS_STARTING.iter().any(|start| key.starts_with(start))
        || RUNNING_KEYS_ENDING.iter().any(|end| key.ends_with(end));
    match value.strip_prefix('!') {
        Some(script) => Some(script),
        // Without the mark it is one of git's own commands.
        None if key.starts_with("alias.") => None,
        None => runs.then_some(value),
    }
}
