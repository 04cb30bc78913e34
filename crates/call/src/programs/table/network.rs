//! Programs that go to other machines.

use crate::programs::consoles::Console;
use crate::programs::files::{FileUse, Spread, Walks};
use crate::programs::interpreters::{Dialect, Interpreter};
use crate::programs::network::{Network, Words};
use crate::programs::program::{Program, SettingsFiles};
use crate::programs::wrappers::{Rest, Wrapper};

const HTTP: Network =
    Network { words: Words::First, values: "-o -d --output --dir --out --auth --timeout", ..Network::PLAIN };

const NETCAT: Network =
    Network { words: Words::First, values: "-p -s -w -q -i -I -O -T -X -c -e -m -b", ..Network::PLAIN };

const SSH: Network = Network {
    words: Words::First,
    values: "-b -c -D -e -E -F -i -I -l -L -m -O -o -p -P -Q -R -S -w -B",
    elsewhere: "-F",
    ..Network::PLAIN
};

/// Commands for a transfer of files, among which `!x` runs `x` here.
pub(super) const TRANSFER: Interpreter = Interpreter {
    code: "-c -e --command",
    files: "-f",
    data: usize::MAX,
    trusts_input: true,
    dialect: Dialect::Editor,
    ..Interpreter::PLAIN
};

const SSH_FILES: SettingsFiles =
    SettingsFiles { names: "config ssh_config", options: "-F", ..SettingsFiles::PLAIN };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "curl curlie",
        is_only_a_program: true,
        network: Some(&Network {
            words: Words::Urls,
            values: "-A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -X -y -Y -z --output \
                --header --data --data-raw --data-binary --data-urlencode --json --form --request --user \
                --user-agent --cookie --cookie-jar --max-time --connect-timeout --retry --write-out \
                --upload-file --cacert --cert --key --output-dir --range --limit-rate",
            elsewhere: "-K --config",
            ..Network::PLAIN
        }),
        files: FileUse { lists: "-K --config", ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "wget wget2",
        is_only_a_program: true,
        wrappers: &[Wrapper { scripts: "--use-askpass", ..Wrapper::HOST }],
        network: Some(&Network {
            words: Words::Urls,
            values: "-O -o -a -P -U -t -T -w -Q -A -R -D -I -X -l -e -i -B --output-document --output-file \
                --user-agent --header --post-data --post-file --directory-prefix --tries --timeout",
            elsewhere: "-i -e -H --input-file --execute --config --span-hosts",
            ..Network::PLAIN
        }),
        files: FileUse { lists: "-i --input-file", ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "http https xh xhs lynx w3m links elinks ab wrk hey axel",
        network: Some(&HTTP),
        ..Program::PLAIN
    },
    Program {
        names: "aria2c",
        wrappers: &[Wrapper {
            scripts: "--on-download-complete --on-download-start --on-download-stop --on-download-error \
                --on-download-pause --on-bt-download-complete",
            ..Wrapper::HOST
        }],
        network: Some(&Network { elsewhere: "-i --input-file --conf-path", ..HTTP }),
        ..Program::PLAIN
    },
    Program {
        names: "ssh autossh",
        is_only_a_program: true,
        wrappers: &[Wrapper {
            flags: "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
            valued: "-b -c -D -E -e -F -I -i -J -L -l -m -O -p -Q -R -S -W -w -B -P",
            settings: "-o",
            shellless: "-N -V -G -Q -O -W",
            guest: Some("git@"),
            operands: 1,
            rest: Rest::ScriptOrShell,
            own: true,
            ..Wrapper::PLAIN
        }],
        settings: Some(&SSH_FILES),
        network: Some(&Network { settings: "hostname proxy", ..SSH }),
        ..Program::PLAIN
    },
    Program {
        names: "sshpass",
        wrappers: &[Wrapper { valued: "-p -f -d -P", flags: "-e -v", ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "mosh",
        wrappers: &[Wrapper { scripts: "--ssh --server", ..Wrapper::HOST }],
        consoles: &[Console::PLAIN],
        network: Some(&SSH),
        ..Program::PLAIN
    },
    Program {
        names: "scp",
        is_only_a_program: true,
        wrappers: &[Wrapper { valued: "-S", scripts: "-S", settings: "-o", ..Wrapper::HOST }],
        files: FileUse { walks: Walks::IfRecursive, ..FileUse::UNKNOWN },
        settings: Some(&SSH_FILES),
        network: Some(&Network { words: Words::Remotes, values: "", settings: "hostname proxy", ..SSH }),
        ..Program::PLAIN
    },
    Program {
        names: "sftp",
        is_only_a_program: true,
        wrappers: &[Wrapper { valued: "-S", scripts: "-S", settings: "-o", ..Wrapper::HOST }],
        interpreter: Some(&Interpreter { files: "-b", ..TRANSFER }),
        consoles: &[Console { unless: "-b", ..Console::PLAIN }],
        settings: Some(&SSH_FILES),
        network: Some(&Network { words: Words::Remotes, values: "", settings: "hostname proxy", ..SSH }),
        ..Program::PLAIN
    },
    Program {
        names: "rsync",
        is_only_a_program: true,
        wrappers: &[Wrapper { scripts: "-e --rsh --rsync-path", ..Wrapper::HOST }],
        files: FileUse {
            walks: Walks::Always,
            spread: Spread::LastWord,
            lists: "--files-from --include-from --exclude-from",
            ..FileUse::UNKNOWN
        },
        network: Some(&Network { words: Words::Remotes, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "nc ncat netcat nc.openbsd nc.traditional",
        is_only_a_program: true,
        wrappers: &[Wrapper {
            valued: "-p -s -w -q -i -I -O -T -X -x -m -b",
            scripts: "-e -c --exec --sh-exec --lua-exec",
            ..Wrapper::HOST
        }],
        network: Some(&NETCAT),
        ..Program::PLAIN
    },
    Program {
        names: "ftp telnet",
        is_only_a_program: true,
        interpreter: Some(&TRANSFER),
        consoles: &[Console::PLAIN],
        network: Some(&NETCAT),
        ..Program::PLAIN
    },
    Program {
        names: "lftp",
        interpreter: Some(&TRANSFER),
        consoles: &[Console { unless: "-c -f --version --help", ..Console::PLAIN }],
        network: Some(&NETCAT),
        ..Program::PLAIN
    },
    Program { names: "tftp whois rlogin rsh", network: Some(&NETCAT), ..Program::PLAIN },
    Program {
        names: "ping ping6 traceroute tracepath mtr nmap dig host nslookup drill",
        network: Some(&Network {
            words: Words::Hosts,
            values: "-c -i -W -w -s -t -p -m -I -oN -oX -oG -oA",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "socat",
        wrappers: &[Wrapper::RUNNER],
        consoles: &[Console { verbs: "- STDIO STDIN READLINE", ..Console::PLAIN }],
        network: Some(&Network { words: Words::Pairs, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "sshfs lftpget curlftpfs unison bbcp",
        wrappers: &[Wrapper { settings: "-o", scripts: "-sshcmd", ..Wrapper::HOST }],
        network: Some(&Network { words: Words::Remotes, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "ssh-keyscan ssh-copy-id sslscan testssl nikto whatweb httping hping3 fping arping iperf iperf3 snmpwalk \
            snmpget rpcinfo showmount ntpdate whois6 finger rusers",
        network: Some(&Network {
            words: Words::Hosts,
            values: "-p -t -T -f -O -i -c -s -w",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "mail mailx mutt neomutt sendmail msmtp swaks s-nail ssmtp",
        network: Some(&Network {
            words: Words::Hosts,
            values: "-s -a -A -r -f -F -S -q -X -C -i -E --header --body --attach --data",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "gpg gpg2 dirmngr-client",
        network: Some(&Network { words: Words::Options, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "openssl",
        network: Some(&Network { words: Words::Pairs, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program { names: "tcpdump", wrappers: &[Wrapper { scripts: "-z", ..Wrapper::HOST }], ..Program::PLAIN },
    Program {
        names: "ip",
        wrappers: &[Wrapper { verb: "netns exec", operands: 1, ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program { names: "rclone s3cmd gsutil", is_only_a_program: true, goes_unread: true, ..Program::PLAIN },
];
