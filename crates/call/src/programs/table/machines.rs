//! Containers, virtual machines and clouds.

use crate::programs::consoles::Console;
use crate::programs::program::{Program, Verbs};
use crate::programs::wrappers::{Rest, Wrapper};

const CONTAINER_FLAGS: &str = "-d -i -t -P --detach --interactive --tty --rm --init --privileged \
    --read-only --publish-all --no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust \
    --no-TTY -T --no-deps --service-ports --use-aliases --build --quiet -q";

const CONTAINER_VALUED: &str = "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach \
    --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-period --cpu-quota \
    --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device --dns --dns-option --dns-search \
    --domainname --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --hostname --index \
    --ip --ip6 --ipc --isolation --label --label-file --link --log-driver --log-opt --mac-address --memory \
    --memory-swap --mount --name --network --net --network-alias --pid --pids-limit --platform --publish \
    --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --storage-opt \
    --sysctl --tmpfs --ulimit --user --userns --uts --volume --volume-driver --volumes-from --workdir";

const IN_CONTAINER: Wrapper = Wrapper {
    verb: "exec",
    flags: CONTAINER_FLAGS,
    valued: CONTAINER_VALUED,
    operands: 1,
    ..Wrapper::RUNNER
};

const NEW_CONTAINER: Wrapper = Wrapper {
    verb: "run",
    flags: CONTAINER_FLAGS,
    valued: CONTAINER_VALUED,
    scripts: "--entrypoint --health-cmd",
    shell_only_with: "-i --interactive",
    operands: 1,
    rest: Rest::WordsOrEntry,
    ..Wrapper::RUNNER
};

const CONTAINERS: &[Wrapper] = &[IN_CONTAINER, NEW_CONTAINER];

const CONTAINERS_AND_SPACES: &[Wrapper] =
    &[IN_CONTAINER, NEW_CONTAINER, Wrapper { verb: "unshare", ..Wrapper::LOOSE }];

const CONTAINER_CONSOLES: &[Console] = &[
    Console { verbs: "attach", ..Console::PLAIN },
    // `docker start -ai web`
    Console { verbs: "start", unless: "run exec", only_with: "-i --interactive", ..Console::PLAIN },
];

const IN_POD: Wrapper = Wrapper {
    verb: "exec",
    flags: "-i -t -q -it --stdin --tty --quiet",
    valued: "-c -n -f --container --namespace --filename --context --kubeconfig --pod-running-timeout",
    operands: 1,
    ..Wrapper::RUNNER
};

const PODS: &[Wrapper] = &[
    IN_POD,
    Wrapper { verb: "debug", only_with: "--", ..Wrapper::LOOSE },
    Wrapper { verb: "create job", ..Wrapper::LOOSE },
    Wrapper { verb: "rsh", ..Wrapper::LOOSE },
    Wrapper {
        verb: "run",
        flags: "-i -t -it --rm --stdin --tty --command --quiet --attach",
        valued: "-n --image --namespace --context --restart --env --labels -l --overrides --port",
        shell_only_with: "-i --stdin",
        operands: 1,
        rest: Rest::WordsOrEntry,
        ..Wrapper::RUNNER
    },
];

/// They run something in a container, a sandbox or another environment after one of these verbs.
const ENVIRONMENTS: &[Wrapper] = &[
    Wrapper { verb: "exec", ..Wrapper::LOOSE },
    Wrapper { verb: "run", ..Wrapper::LOOSE },
    Wrapper { verb: "shell", ..Wrapper::LOOSE },
    Wrapper { verb: "enter", ..Wrapper::LOOSE },
    Wrapper { verb: "ssh", ..Wrapper::LOOSE },
    Wrapper { verb: "environment", ..Wrapper::LOOSE },
    Wrapper { verb: "unshare", ..Wrapper::LOOSE },
    Wrapper { verb: "start", ..Wrapper::LOOSE },
];

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "apptainer singularity guix flatpak snap buildah crun runc youki ctr crictl limactl colima multipass \
            docker-machine lerna devbox devenv",
        wrappers: ENVIRONMENTS,
        ..Program::PLAIN
    },
    Program {
        names: "toolbox distrobox",
        wrappers: ENVIRONMENTS,
        consoles: &[Console { verbs: "enter", unless: "--", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program { names: "distrobox-enter", wrappers: &[Wrapper::LOOSE], ..Program::PLAIN },
    Program {
        names: "docker",
        is_only_a_program: true,
        wrappers: CONTAINERS,
        consoles: CONTAINER_CONSOLES,
        verbs: Some(&Verbs {
            valued: "-c -l -H --config --context --host --log-level",
            flags: "-D --debug --tls",
            ..Verbs::PLAIN
        }),
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "podman nerdctl",
        is_only_a_program: true,
        wrappers: CONTAINERS_AND_SPACES,
        consoles: CONTAINER_CONSOLES,
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "docker-compose podman-compose",
        is_only_a_program: true,
        wrappers: CONTAINERS,
        ..Program::PLAIN
    },
    Program {
        names: "kubectl",
        is_only_a_program: true,
        wrappers: PODS,
        consoles: &[Console { verbs: "attach", ..Console::PLAIN }],
        verbs: Some(&Verbs {
            valued: "-n -s --namespace --context --cluster --user --kubeconfig --server",
            ..Verbs::PLAIN
        }),
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "oc",
        wrappers: PODS,
        consoles: &[Console { verbs: "attach", ..Console::PLAIN }],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program { names: "k3s microk8s", wrappers: &[IN_POD], ..Program::PLAIN },
    Program { names: "helm", is_only_a_program: true, goes_unread: true, ..Program::PLAIN },
    Program {
        names: "lxc incus",
        wrappers: &[Wrapper { verb: "exec", operands: 1, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "machinectl",
        wrappers: &[Wrapper { verb: "shell", operands: 1, rest: Rest::WordsOrShell, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "vagrant",
        wrappers: &[Wrapper { verb: "ssh", scripts: "-c --command", rest: Rest::Shell, ..Wrapper::HOST }],
        ..Program::PLAIN
    },
    Program {
        names: "gcloud",
        is_only_a_program: true,
        wrappers: &[Wrapper { verb: "ssh", scripts: "--command", rest: Rest::Shell, ..Wrapper::HOST }],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "aws",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "execute-command", scripts: "--command", ..Wrapper::HOST },
            Wrapper { verb: "send-command", opaque: "--parameters", ..Wrapper::HOST },
        ],
        consoles: &[Console { verbs: "start-session execute-command", ..Console::PLAIN }],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "az",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "run-command", scripts: "--scripts --script", ..Wrapper::HOST },
            Wrapper { verb: "exec", scripts: "--exec-command --command", ..Wrapper::HOST },
            Wrapper { verb: "command invoke", scripts: "-c --command", ..Wrapper::HOST },
        ],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program { names: "terraform tofu pulumi", is_only_a_program: true, goes_unread: true, ..Program::PLAIN },
    Program {
        names: "railway",
        consoles: &[Console { verbs: "shell", unless: "-c --command", ..Console::PLAIN }],
        ..Program::PLAIN
    },
];
