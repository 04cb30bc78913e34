//! What programs take their words for, where those may name a host.

use super::names::has;

/// How a program names the hosts it goes to.
#[derive(Debug)]
pub(crate) struct Network {
    /// What it takes its words for.
    pub(crate) words: Words,
    /// Options whose next word is not a host.
    pub(crate) values: &'static str,
    /// Options by which it is told elsewhere where to go.
    pub(crate) elsewhere: &'static str,
    /// Settings that lead somewhere else than the words say, by the start of their name.
    pub(crate) settings: &'static str,
}

/// What a program takes its words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Names, some of which are hosts by their look: `//host/share`, `host:27017/db`.
    Names,
    /// A host only behind an option.
    Options,
}

impl Network {
    pub(crate) const PLAIN: Self = Self { words: Words::Options, values: "", elsewhere: "", settings: "" };

    /// Whether the word after an option belongs to it: `-o`, also as the last of several letters, `-sSo`.
    pub(crate) fn takes_next(&self, option: &str) -> bool {
        let is_value = |option: &str| has(self.values, option);
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

    /// Whether a word tells it to look elsewhere for where to go.
    pub(crate) fn leads_elsewhere(&self, word: &str) -> bool {
        let is_option = |option: &str| match (option.strip_prefix("--"), word.strip_prefix("--")) {
            // Long options may be cut short, short ones glued together.
            (Some(option), Some(word)) => {
                let name = word.split('=').next().unwrap_or_default();
                name.len() > 1 && option.starts_with(name)
            }
            (None, None) => word.starts_with('-') && word.contains(option.trim_start_matches('-')),
            _ => false,
        };
        let setting = word.trim_start_matches("-o").trim_start_matches("-c").to_ascii_lowercase();
        let is_setting = |start: &str| setting.starts_with(start) && setting.contains(['=', ' ']);
        self.elsewhere.split_ascii_whitespace().any(is_option)
            || self.settings.split_ascii_whitespace().any(is_setting)
    }
}

/// Words that stand before or after hosts: what to do there, and what to ask for.
pub(crate) const VERBS: &[&str] = &[
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "A", "AAAA", "MX", "TXT", "NS", "ANY", "SOA",
    "CNAME", "PTR", "SRV", "AXFR",
];

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
    "--keyserver",
    "--domains",
    "--jump",
    "--uri",
    "--endpoint",
    "--endpoint-url",
    "--registry",
    "--index-url",
    "--extra-index-url",
    "--doh-url",
    "--ipfs-gateway",
];
