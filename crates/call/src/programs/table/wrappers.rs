//! Programs whose work is to run another program: with other rights, later, or often.

use crate::programs::program::Program;
use crate::programs::wrappers::{Rest, Wrapper};

/// It runs what stands behind its options, which say nothing about it.
const AS_IT_IS: Wrapper = Wrapper { flags: "-c -f -w -i -d -m -s -u --fork --wait --ctty", ..Wrapper::PLAIN };

const SUDO: Wrapper = Wrapper {
    flags: "-A -b -B -E -e -H -i -K -k -l -n -N -P -S -s -V -v -L --askpass --background --bell \
        --preserve-env --edit --set-home --login --remove-timestamp --reset-timestamp --list \
        --non-interactive --no-update --preserve-groups --stdin --shell --version --validate \
        --disable-internal-agent --keep-cwd",
    valued: "-u -g -h -p -C -T -R -D -r -t -U -a -c --user --group --host --prompt --close-from \
        --command-timeout --chroot --chdir --role --type --other-user --auth-type --login-class",
    shellless: "-l -v -V -K -e --list --validate --version --remove-timestamp --edit",
    assignments: true,
    rest: Rest::WordsOrShell,
    ..Wrapper::PLAIN
};

const SU: Wrapper = Wrapper {
    valued: "-s -g -G -w --shell --group --supp-group --whitelist-environment",
    scripts: "-c --command --session-command",
    rest: Rest::Shell,
    ..Wrapper::PLAIN
};

pub(super) const ROWS: &[Program] = &[
    Program { names: "nohup", wrappers: &[AS_IT_IS], keeps_status: true, ..Program::PLAIN },
    Program {
        names: "setsid busybox toybox unbuffer fakeroot dbus-run-session torsocks proxychains proxychains4 \
            tsocks caffeinate linux32 linux64 setarch pseudo dbus-launch eatmydata",
        wrappers: &[AS_IT_IS],
        ..Program::PLAIN
    },
    Program { names: "catchsegv", wrappers: &[AS_IT_IS, Wrapper::RUNNER], ..Program::PLAIN },
    Program {
        names: "sudo doas",
        is_only_a_program: true,
        wrappers: &[SUDO],
        keeps_status: true,
        ..Program::PLAIN
    },
    Program { names: "pkexec run0", wrappers: &[SUDO], ..Program::PLAIN },
    Program { names: "su", is_only_a_program: true, wrappers: &[SU], ..Program::PLAIN },
    // With a user given as an option it takes a command as `sudo` does, else as `su` does.
    Program {
        names: "runuser",
        wrappers: &[Wrapper { only_with: "-u", ..SUDO }, Wrapper { never_with: "-u", ..SU }],
        ..Program::PLAIN
    },
    Program {
        names: "env",
        wrappers: &[Wrapper {
            flags: "-i -0 -v --ignore-environment --null --debug --block-signal --default-signal \
                --ignore-signal --list-signal-handling",
            valued: "-u -C -P -a --unset --chdir --argv0",
            scripts: "-S --split-string",
            assignments: true,
            rest: Rest::WordsOfScript,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "time",
        wrappers: &[Wrapper {
            flags: "-p -v -q -a -l -h --portability --verbose --quiet --append",
            valued: "-f -o --format --output",
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "timeout gtimeout",
        wrappers: &[Wrapper {
            flags: "-v -f -p --preserve-status --foreground --verbose",
            valued: "-k -s --kill-after --signal",
            operands: 1,
            ..Wrapper::PLAIN
        }],
        keeps_status: true,
        ..Program::PLAIN
    },
    Program {
        names: "nice",
        wrappers: &[Wrapper { valued: "-n --adjustment", ..Wrapper::PLAIN }],
        keeps_status: true,
        ..Program::PLAIN
    },
    Program {
        names: "ionice",
        wrappers: &[Wrapper {
            flags: "-t --ignore",
            valued: "-c -n -p -P -u --class --classdata --pid",
            ..Wrapper::PLAIN
        }],
        keeps_status: true,
        ..Program::PLAIN
    },
    Program {
        names: "taskset chrt",
        wrappers: &[Wrapper {
            flags: "-a -c -p -b -f -i -o -r -R -m -v --all-tasks --cpu-list --pid --batch --fifo --idle \
                --other --rr",
            valued: "-T -P -D",
            operands: 1,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "stdbuf",
        wrappers: &[Wrapper { valued: "-i -o -e --input --output --error", ..Wrapper::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "gosu su-exec chpst setuidgid softlimit runcon sg cpulimit trickle rlwrap prlimit setpriv \
            valgrind perf firejail bwrap proot xvfb-run systemd-run systemd-inhibit capsh dotenv faketime \
            numactl schedtool cgexec nsjail hyperfine entr watchexec chronic ifne ts",
        wrappers: &[Wrapper::RUNNER],
        ..Program::PLAIN
    },
    Program {
        names: "direnv",
        wrappers: &[Wrapper::RUNNER, Wrapper { verb: "exec", operands: 1, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "xargs gxargs",
        is_only_a_program: true,
        wrappers: &[Wrapper {
            flags: "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty",
            valued: "-I -n -P -d -s -L -E -a -R -S -J --max-args --max-procs --delimiter --max-chars \
                --max-lines --arg-file --process-slot-var",
            rest: Rest::WordsAndInput,
            repeats: true,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "parallel",
        wrappers: &[Wrapper {
            flags: "-0 -k -q -r -t -v -X -m -u -i --null --keep-order --quote --no-run-if-empty --verbose \
                --xargs --group --ungroup --line-buffer --lb --bar --progress --eta --dry-run --pipe --tag \
                --will-cite --shuf --resume",
            valued: "-j -N -n -P -S -a -I -d -C -L -s --jobs --max-procs --colsep --delimiter --arg-file \
                --joblog --results --delay --timeout --retries --sshlogin --max-args --workdir --wd \
                --tmpdir --load --memfree --halt --env --tagstring",
            rest: Rest::ScriptAndInput,
            repeats: true,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "watch",
        wrappers: &[Wrapper {
            flags: "-b -c -C -d -e -f -g -p -r -t -w -x --beep --color --no-color --differences --errexit \
                --follow --chgexit --precise --no-rerun --no-title --no-wrap --exec",
            valued: "-n -q -s --interval --equexit --shotsdir",
            rest: Rest::Script,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "flock",
        wrappers: &[Wrapper {
            flags: "-e -F -n -o -s -u -x --exclusive --no-fork --nonblock --nb --close --shared --unlock \
                --verbose",
            valued: "-w -E --wait --timeout --conflict-exit-code",
            scripts: "-c --command",
            operands: 1,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "chroot",
        wrappers: &[Wrapper {
            flags: "--skip-chdir",
            valued: "--userspec --groups",
            operands: 1,
            rest: Rest::WordsOrShell,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "unshare nsenter",
        wrappers: &[Wrapper {
            flags: "-m -u -i -n -p -U -C -T -r -c -f -F -a -e --mount --uts --ipc --net --pid --user \
                --cgroup --time --map-root-user --map-current-user --fork --mount-proc --kill-child \
                --keep-caps --preserve-credentials --all --env --no-fork",
            valued: "-S -G -R -w -t --setuid --setgid --root --wd --target --map-user --map-group \
                --map-users --map-groups --propagation --setgroups",
            rest: Rest::WordsOrShell,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "strace ltrace",
        wrappers: &[Wrapper {
            flags: "-f -c -C -q -v -t -T -y -Y -i -r -d -D -k -z -Z -w -L --follow-forks --summary-only \
                --quiet",
            valued: "-o -e -p -s -u -E -a -b -P -I -O -S -X -n -A -F -l -x -U --output --trace --attach \
                --string-limit",
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "script",
        wrappers: &[Wrapper {
            flags: "-a -e -f -q -t --append --return --flush --quiet --force",
            valued: "-E -I -O -B -T -m -o --echo --log-in --log-out --log-io --log-timing",
            scripts: "-c --command",
            operands: 1,
            rest: Rest::WordsOrShell,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "at batch",
        wrappers: &[Wrapper { queries: "-l -c -r -d -f", rest: Rest::Input, own: true, ..Wrapper::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "crontab",
        wrappers: &[Wrapper { queries: "-l -r -e", rest: Rest::Input, own: true, ..Wrapper::PLAIN }],
        ..Program::PLAIN
    },
    Program { names: "systemctl", is_only_a_program: true, ..Program::PLAIN },
    Program {
        names: "concurrently",
        wrappers: &[Wrapper { rest: Rest::Scripts, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "nodemon",
        wrappers: &[Wrapper { scripts: "-x --exec", ..Wrapper::HOST }],
        ..Program::PLAIN
    },
];
