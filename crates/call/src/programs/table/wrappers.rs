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
            valued: "-f --format",
            writes: "-o --output",
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
    // Their options are many and theirs alone: what they run begins at one of their words.
    Program {
        names: "gosu su-exec chpst setuidgid softlimit runcon sg cpulimit trickle rlwrap prlimit setpriv \
            valgrind perf firejail bwrap proot xvfb-run systemd-run systemd-inhibit capsh dotenv \
            faketime numactl schedtool cgexec nsjail hyperfine entr watchexec chronic ifne ts choom \
            logsave start-stop-daemon coresched tini dumb-init catatonit envdir envuidgid setlock \
            lckdo pee mispipe pgrphack fghack argv0 execlineb s6-setuidgid s6-envuidgid s6-envdir \
            s6-softlimit s6-setlock s6-setsid s6-applyuidgid s6-sudo s6-fdholder-daemon s6-ioconnect \
            s6-tcpclient s6-tcpserver s6-ipcclient s6-ipcserver s6-background s6-supervise runsv \
            runsvdir daemonize daemon supervise fakechroot minijail0 isolate sandbox-exec systemd-nspawn \
            schroot lxc-attach lxc-execute jexec jail gksu gksudo kdesu kdesudo beesu please calife sux \
            torify usewithtor graftcp mgraftcp socksify datefudge optirun primusrun vglrun gamemoderun \
            mangohud gamescope cage xinit startx wine wine64 box64 box86 FEXInterpreter qemu-x86_64 \
            qemu-i386 qemu-aarch64 qemu-arm qemu-x86_64-static qemu-aarch64-static qemu-arm-static \
            qemu-riscv64 qemu-ppc64le qemu-s390x gdbserver ccache sccache distcc icecc bear scan-build \
            intercept-build checkinstall heaptrack uftrace kcov py-spy memray scalene viztracer austin \
            poop multitime sysdig stap dtrace dtruss truss ktrace taskpolicy timelimit gtime ttyrec \
            asciinema reptyr wezterm foot urxvt rxvt st xdg-terminal-exec i3-msg \
            swaymsg hyprctl xdotool dbus-send gdbus busctl qdbus launchctl run-parts anacron tcpserver \
            tcpsvd sslclient websocketd ttyd gotty shell2http incrontab chokidar \
            onchange reflex modd gow watchmedo rerun xe rust-parallel rush forever honcho foreman forego \
            envconsul chamber aws-okta saml2aws teller summon berglas dotenvx env-cmd cross-env with-env \
            cross-env-shell npm-run-all run-s run-p flox lima orb wsl wsl.exe pdsh dsh clush \
            pssh parallel-ssh mussh prsync dbclient plink psexec salt salt-call salt-ssh fab ansible \
            ansible-console arch ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 \
            ld-musl-x86_64.so.1 ld-musl-aarch64.so.1 krun sysbox-runc toolbx bpftrace pueue sem",
        wrappers: &[Wrapper::LOOSE],
        ..Program::PLAIN
    },
    Program { names: "rr", wrappers: &[Wrapper { verb: "record", ..Wrapper::LOOSE }], ..Program::PLAIN },
    Program { names: "busybox.static", wrappers: &[AS_IT_IS], ..Program::PLAIN },
    Program {
        names: "direnv",
        wrappers: &[Wrapper::RUNNER, Wrapper { verb: "exec", operands: 1, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "xargs gxargs",
        is_only_a_program: true,
        wrappers: &[Wrapper {
            // Their values are glued to the last three, if there are any.
            flags: "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty \
                --max-lines --eof --show-limits",
            valued: "-I -n -P -d -s -L -E -a -R -S -J --max-args --max-procs --delimiter --max-chars \
                --arg-file --process-slot-var",
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
            valued: "-e -p -s -u -E -a -b -P -I -O -S -X --trace --attach --string-limit",
            writes: "-o --output",
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "script",
        wrappers: &[Wrapper {
            flags: "-a -e -f -q --append --return --flush --quiet --force",
            valued: "-E -m -o --echo",
            writes: ". -I -O -B -T --log-in --log-out --log-io --log-timing",
            scripts: "-c --command",
            operands: 1,
            rest: Rest::WordsOrShell,
            ..Wrapper::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "at batch",
        wrappers: &[
            Wrapper {
                never_with: "-f",
                queries: "-l -c -r -d",
                rest: Rest::Input,
                own: true,
                ..Wrapper::PLAIN
            },
            Wrapper { only_with: "-f", files: "-f", ..Wrapper::HOST },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "crontab fcrontab",
        wrappers: &[Wrapper {
            queries: "-l -r -e",
            valued: "-u -c",
            rest: Rest::Timetable,
            own: true,
            ..Wrapper::PLAIN
        }],
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
