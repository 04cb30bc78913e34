//! What programs take their words for, where those may name a host: the tables.

/// What programs take their words for, and the options whose next word is something else.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        names: &["curl", "curlie"],
        words: Words::Urls,
        values: "-A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -X -y -Y -z --output --header --data \
            --data-raw --data-binary --data-urlencode --json --form --request --user --user-agent --cookie \
            --cookie-jar --max-time --connect-timeout --retry --write-out --upload-file --cacert --cert --key \
            --output-dir --range --limit-rate",
    },
    Program {
        names: &["wget", "wget2"],
        words: Words::Urls,
        values: "-O -o -a -P -U -t -T -w -Q -A -R -D -I -X -l -e -i -B --output-document --output-file --user-agent \
            --header --post-data --post-file --directory-prefix --tries --timeout",
    },
    Program {
        names: &[
            "http", "https", "xh", "xhs", "aria2c", "lynx", "w3m", "links", "elinks", "ab", "wrk", "hey",
            "axel",
        ],
        words: Words::First,
        values: "-o -d --output --dir --out --auth --timeout",
    },
    Program {
        names: &["ssh", "mosh", "autossh"],
        words: Words::First,
        values: "-b -c -D -e -E -F -i -I -l -L -m -O -o -p -P -Q -R -S -w -B",
    },
    Program {
        names: &["nc", "ncat", "netcat", "telnet", "ftp", "lftp", "tftp", "whois", "rlogin", "rsh"],
        words: Words::First,
        values: "-p -s -w -q -i -I -O -T -X -x -c -e -m -b",
    },
    Program {
        names: &[
            "ping",
            "ping6",
            "traceroute",
            "tracepath",
            "mtr",
            "nmap",
            "dig",
            "host",
            "nslookup",
            "drill",
        ],
        words: Words::Hosts,
        values: "-c -i -W -w -s -t -p -m -I -oN -oX -oG -oA",
    },
    Program { names: &["scp", "sftp", "rsync"], words: Words::Remotes, values: "" },
    Program { names: &["git", "hg", "svn"], words: Words::Remotes, values: "" },
    Program { names: &["socat", "openssl"], words: Words::Pairs, values: "" },
    Program {
        names: &[
            "mysql",
            "psql",
            "mongo",
            "mongosh",
            "redis-cli",
            "pg_dump",
            "mysqldump",
            "smbclient",
            "ldapsearch",
        ],
        words: Words::Options,
        values: "",
    },
];

pub(crate) struct Program {
    pub(crate) names: &'static [&'static str],
    pub(crate) words: Words,
    /// Options whose next word is no host.
    pub(crate) values: &'static str,
}

impl Program {
    /// Whether the word after an option belongs to it: `-o`, also as the last of several letters, `-sSo`.
    pub(crate) fn takes_next(&self, option: &str) -> bool {
        let is_value = |option: &str| self.values.split_whitespace().any(|value| value == option);
        let letters = option.strip_prefix('-').unwrap_or_default();
        if is_value(option) || letters.starts_with('-') {
            return is_value(option);
        }
        let takes = |letter: char| {
            let option = format!("-{letter}");
            is_value(&option) || HOST_OPTIONS.contains(&option.as_str())
        };
        // The first letter that takes a value takes the others as its value.
        match letters.char_indices().find(|(_, letter)| takes(*letter)) {
            Some((at, letter)) => at + letter.len_utf8() == letters.len() && is_value(&format!("-{letter}")),
            None => false,
        }
    }
}

/// What a program takes its words for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// URLs, with or without a scheme.
    Urls,
    /// Hosts, with or without a user.
    Hosts,
    /// A host, and after it something else.
    First,
    /// Files here or elsewhere: `user@host:path`.
    Remotes,
    /// Addresses in pieces: `TCP:host:80`, `-connect host:443`.
    Pairs,
    /// A host only behind an option.
    Options,
}

/// Words that stand before or after hosts: what to do there, and what to ask for.
pub(crate) const VERBS: &[&str] = &[
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "A", "AAAA", "MX", "TXT", "NS", "ANY", "SOA",
    "CNAME", "PTR", "SRV", "AXFR",
];

/// What git does with another host.
pub(crate) const GIT_VERBS: &[&str] =
    &["clone", "remote", "ls-remote", "submodule", "push", "fetch", "pull", "archive"];

/// Options that name a host in any program that knows hosts.
pub(crate) const HOST_OPTIONS: &[&str] = &[
    "-h",
    "-H",
    "-J",
    "-W",
    "-x",
    "-connect",
    "--host",
    "--hostname",
    "--url",
    "--proxy",
    "--preproxy",
    "--server",
    "--connect-to",
    "--resolve",
    "--socks5",
    "--socks5-hostname",
    "--socks4",
    "--remote",
    "--referer",
];

/// Options by which a program is told elsewhere where to go.
pub(crate) const ELSEWHERE: &[(&[&str], &[&str])] = &[
    (&["curl", "curlie"], &["-K", "--config"]),
    (&["wget", "wget2"], &["-i", "-e", "--input-file", "--execute", "--config"]),
    (&["aria2c"], &["-i", "--input-file", "--conf-path"]),
    (&["ssh", "autossh", "mosh", "scp", "sftp"], &["-F"]),
];

/// Settings that lead somewhere else than the words say, by the start of their name.
pub(crate) const LEADING_SETTINGS: &[(&[&str], &[&str])] = &[
    (&["ssh", "autossh", "scp", "sftp"], &["hostname", "proxy"]),
    (&["git"], &["http.", "https.", "url.", "remote.", "core.gitproxy"]),
];

/// Programs that fetch or send by settings of their own.
pub(crate) const GOERS: &str = "apk apt apt-get aws az brew bun bundle cargo dnf docker gcloud gem gh glab go helm kubectl \
    nerdctl npm npx pip pip3 pipx pnpm podman poetry rclone s3cmd terraform twine uv uvx yarn yum";
