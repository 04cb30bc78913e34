//! Every host a call names.
//!
//! [`hosts`] finds URLs in any text and bare hosts where a field or a program expects one, reads them by the
//! rules that browsers and libraries share, and folds every spelling of a host into one. Asking a name server
//! is missing on purpose: a name that leads to a private address is still a name here.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

use crate::call::Call;
use crate::programs::word::{Known, Word};
use crate::shell::reading::{Place, Reading, TOUCHED_MAX, Text, TextKind, Unseen, unseen};
use crate::shell::script::Command;

/// The longest text that is searched for URLs, and the longest URL that is read.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
const URL_BYTES_MAX: usize = 4_096;

/// The longest name a host can have.
const HOST_BYTES_MAX: usize = 255;

/// Last words of keys that hold a URL or a host by custom, so that `evil.com/x` is one without a scheme.
pub(crate) const FIELDS: &[&str] =
    &["url", "uri", "href", "endpoint", "webhook", "callback", "host", "hostname", "domain", "fqdn", "ip"];

/// The same of keys that may as well hold another name.
const LOOSE_FIELDS: &[&str] = &[
    "link",
    "server",
    "origin",
    "proxy",
    "remote",
    "website",
    "site",
    "registry",
    "gateway",
    "upstream",
    "broker",
    "address",
    "addr",
    "peer",
    "nameserver",
];

/// What programs take their words for, and the options whose next word is something else.
const PROGRAMS: &[Program] = &[
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

struct Program {
    names: &'static [&'static str],
    words: Words,
    /// Options whose next word is no host.
    values: &'static str,
}

impl Program {
    /// Whether the word after an option belongs to it: `-o`, also as the last of several letters, `-sSo`.
    fn takes_next(&self, option: &str) -> bool {
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
enum Words {
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
const VERBS: &[&str] = &[
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "A", "AAAA", "MX", "TXT", "NS", "ANY", "SOA",
    "CNAME", "PTR", "SRV", "AXFR",
];

/// What git does with another host.
const GIT_VERBS: &[&str] = &["clone", "remote", "ls-remote", "submodule", "push", "fetch", "pull", "archive"];

/// Options that name a host in any program that knows hosts.
const HOST_OPTIONS: &[&str] = &[
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
const ELSEWHERE: &[(&[&str], &[&str])] = &[
    (&["curl", "curlie"], &["-K", "--config"]),
    (&["wget", "wget2"], &["-i", "-e", "--input-file", "--execute", "--config"]),
    (&["aria2c"], &["-i", "--input-file", "--conf-path"]),
    (&["ssh", "autossh", "mosh", "scp", "sftp"], &["-F"]),
];

/// Settings that lead somewhere else than the words say, by the start of their name.
const LEADING_SETTINGS: &[(&[&str], &[&str])] = &[
    (&["ssh", "autossh", "scp", "sftp"], &["hostname", "proxy"]),
    (&["git"], &["http.", "https.", "url.", "remote.", "core.gitproxy"]),
];

/// Characters that begin or end what a shell puts in.
const COMPUTED: [char; 3] = ['$', '`', ')'];

/// The hosts of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Each host, in the order it is found.
    pub touched: Vec<TouchedHost>,
    /// Why there may be more.
    pub unseen: Vec<Unseen>,
}

/// One host a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedHost {
    /// The URL or host as it stands in the call.
    pub text: String,
    /// Where it stands.
    pub place: Place,
    /// Whether it is only taken for a host, by its look.
    pub is_guess: bool,
    /// The scheme, where one is written.
    pub scheme: Option<String>,
    /// The port, written or usual for the scheme.
    pub port: Option<u16>,
    /// The host, or why it cannot be told.
    pub host: Result<Host, HostDoubt>,
}

/// A host in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    name: String,
    reach: Reach,
}

/// What kind of address a host has, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// A name; where it leads, a name server decides.
    Name,
    /// An address anyone can reach.
    Public,
    /// An address of a private network.
    Private,
    /// This machine, by address or as `localhost`.
    Loopback,
    /// The network at hand.
    LinkLocal,
    /// No particular address, which often means this machine.
    Unspecified,
    /// Where clouds tell their machines secrets.
    Metadata,
    /// An address set aside for something else, such as many receivers or documentation.
    Reserved,
}

/// Why a host cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostDoubt {
    /// By no rule a host.
    #[error("what stands for a host is none")]
    Invalid,
    /// Some part is computed when the call runs.
    #[error("the host is known only when the call runs")]
    Computed,
    /// A program that goes somewhere, and nobody says where.
    #[error("the program is told elsewhere where to go")]
    Elsewhere,
    /// Longer than we read.
    #[error("the address is too long")]
    TooLong,
}

/// Hosts as a rule names them: `example.com`, or `*.example.com` for all names below it, or `*` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    is_below: bool,
    /// None for all hosts.
    name: Option<String>,
}

/// Every host a call names.
#[must_use]
pub fn hosts(call: &Call) -> Hosts {
    Reading::of(call).hosts()
}

impl TouchedHost {
    /// Whether the host certainly fits. Any doubt is a no.
    #[must_use]
    pub fn matches(&self, pattern: &HostPattern) -> bool {
        self.host.as_ref().is_ok_and(|host| pattern.fits(host))
    }

    /// Whether the host may fit. Any doubt is a yes.
    #[must_use]
    pub fn may_match(&self, pattern: &HostPattern) -> bool {
        self.host.as_ref().map_or(true, |host| pattern.fits(host))
    }
}

impl HostPattern {
    /// Reads a pattern in any spelling of its host.
    ///
    /// # Errors
    /// [`HostDoubt::Invalid`] when it is no host, or has a `*` elsewhere than before its first dot.
    pub fn parse(text: &str) -> Result<Self, HostDoubt> {
        if text == "*" {
            return Ok(Self { is_below: true, name: None });
        }
        let (is_below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        if name.contains('*') {
            return Err(HostDoubt::Invalid);
        }
        let host = Host::parse(name)?;
        if is_below && host.is_address() {
            return Err(HostDoubt::Invalid);
        }
        Ok(Self { is_below, name: Some(host.name) })
    }

    /// Whether it takes in the host: label by label, so that `*.good.com` is neither `good.com` nor `notgood.com`.
    #[must_use]
    pub fn fits(&self, host: &Host) -> bool {
        match &self.name {
            None => true,
            Some(name) if self.is_below => {
                !host.is_address()
                    && host
                        .name
                        .strip_suffix(name.as_str())
                        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Some(name) => host.name == *name,
        }
    }
}

impl Host {
    /// Reads a host in any spelling: `EVIL.com.`, `0x7f.1`, `[::ffff:127.0.0.1]`, `evil。com`.
    ///
    /// # Errors
    /// A [`HostDoubt`] when it is none.
    pub fn parse(text: &str) -> Result<Self, HostDoubt> {
        if text.len() > URL_BYTES_MAX {
            return Err(HostDoubt::TooLong);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        let bare: Result<Ipv6Addr, _> = text.parse();
        let host = match bare {
            Ok(address) => url::Host::Ipv6(address),
            Err(_) => url::Host::parse(text).map_err(|_| HostDoubt::Invalid)?,
        };
        Ok(match host {
            url::Host::Ipv4(address) => Self::address(IpAddr::V4(address)),
            url::Host::Ipv6(address) => Self::address(IpAddr::V6(address).to_canonical()),
            url::Host::Domain(name) => {
                let name = name.trim_end_matches('.').to_owned();
                let is_name = |label: &str| !label.is_empty() && label.len() <= 63;
                if name.len() > HOST_BYTES_MAX
                    || !name.split('.').all(is_name)
                    || !name.chars().all(is_name_character)
                {
                    return Err(HostDoubt::Invalid);
                }
                let reach = reach_of_name(&name);
                Self { name, reach }
            }
        })
    }

    fn address(address: IpAddr) -> Self {
        Self { name: address.to_string(), reach: reach_of(address) }
    }

    /// The host in its one spelling: lower case, in ASCII, without brackets or a last dot.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of address it has.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether it is an address and not a name.
    fn is_address(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

fn reach_of_name(name: &str) -> Reach {
    match name {
        "localhost" | "localhost.localdomain" | "ip6-localhost" | "ip6-loopback" => Reach::Loopback,
        "metadata.google.internal" | "metadata.goog" | "metadata" | "instance-data" => Reach::Metadata,
        name if name.ends_with(".localhost") => Reach::Loopback,
        _ => Reach::Name,
    }
}

fn reach_of(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_of_v4(address),
        IpAddr::V6(address) => reach_of_v6(address),
    }
}

fn reach_of_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if matches!(
            address.octets(),
            [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] | [168, 63, 129, 16]
        ) =>
        {
            Reach::Metadata
        }
        (0, 0, 0) if address.is_unspecified() => Reach::Unspecified,
        (127, ..) => Reach::Loopback,
        (169, 254, _) => Reach::LinkLocal,
        _ if address.is_private() => Reach::Private,
        // Networks behind a provider's translation are as private as any.
        (100, 64..=127, _) => Reach::Private,
        (0 | 224..=255, ..) | (192, 0, 0 | 2) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => {
            Reach::Reserved
        }
        _ => Reach::Public,
    }
}

fn reach_of_v6(address: Ipv6Addr) -> Reach {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        _ if address.is_unspecified() => Reach::Unspecified,
        _ if address.is_loopback() => Reach::Loopback,
        _ if address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Reach::Metadata,
        (0xfe80..=0xfebf, ..) => Reach::LinkLocal,
        (0xfc00..=0xfdff, ..) | (0xfec0..=0xfeff, ..) => Reach::Private,
        (0xff00..=0xffff, ..) | (0x2001, 0xdb8, ..) => Reach::Reserved,
        // Addresses that carry one of version 4: compatible, translated, and 6to4.
        (0, 0, 0, 0, 0 | 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        _ => Reach::Public,
    }
}

impl Reading<'_> {
    /// Every host the call names.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        let mut finder = Finder::default();
        finder.found.unseen.clone_from(&self.unseen);
        for text in &self.texts {
            finder.field(text);
        }
        for script in &self.scripts {
            for (i, command) in script.script.commands.iter().enumerate() {
                let place = |word| match word {
                    Some(word) => Place::Word { field: script.selector.clone(), command: i, word },
                    None => Place::Around { field: script.selector.clone(), command: i },
                };
                finder.command(command, &place);
            }
        }
        finder.found
    }
}

#[derive(Default)]
struct Finder {
    found: Hosts,
    /// How many texts were read as URLs.
    tried: usize,
}

impl Finder {
    fn field(&mut self, text: &Text<'_>) {
        let place = Place::Field(text.selector.clone());
        let last = text.key.rsplit('_').next().unwrap_or_default();
        let singular = last.strip_suffix('s').unwrap_or(last);
        let is_in = |table: &[&str]| table.contains(&last) || table.contains(&singular);
        let whole = text.text.trim();
        if text.kind != TextKind::Key && (is_in(FIELDS) || is_in(LOOSE_FIELDS)) {
            if !whole.is_empty() && !is_local(whole) {
                let address = Address::bare(whole);
                let is_guess = !is_in(FIELDS) && !address.is_telling();
                self.add(whole, &place, is_guess, address);
            }
        } else if text.kind == TextKind::Number {
            return;
        } else if whole.parse::<IpAddr>().is_ok() {
            self.add(whole, &place, true, Address::bare(whole));
        } else if !whole.contains(' ') && (starts_with_scheme(whole) || starts_scheme_relative(whole)) {
            // Read whole as well: what ends an address in prose may be part of it here.
            let address = Address::bare(whole);
            if address.is_telling() || starts_with_scheme(whole) {
                self.add(whole, &place, true, address);
            }
        }
        if text.text.len() > TEXT_BYTES_MAX {
            return unseen(&mut self.found.unseen, Unseen::TooLong(text.selector.clone()));
        }
        self.urls(&text.text, &place, Known::Certain);
    }

    /// Every URL within a text.
    fn urls(&mut self, text: &str, place: &Place, known: Known) {
        for (colon, _) in text.match_indices(':') {
            let (Some(before), Some(after)) = (text.get(..colon), text.get(colon + 1..)) else { continue };
            let start = before.rfind(|c: char| !is_scheme_character(c)).map_or(0, |at| {
                at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            });
            let scheme = before.get(start..).unwrap_or_default();
            let is_web = is_web_scheme(scheme)
                && after.starts_with(|c: char| !c.is_whitespace() && c != '"' && c != '\'');
            let is_other = after.starts_with("//") && scheme.starts_with(|c: char| c.is_ascii_alphabetic());
            if !(is_web || is_other) || scheme.eq_ignore_ascii_case("file") {
                continue;
            }
            self.tried += 1;
            if self.tried > TOUCHED_MAX {
                return unseen(&mut self.found.unseen, Unseen::TooManyPlaces);
            }
            let rest = text.get(start..).unwrap_or_default();
            let rest = rest.get(..rest.floor_char_boundary(URL_BYTES_MAX + 4)).unwrap_or_default();
            let whole = until(rest, |c| c.is_whitespace() || "<>\"".contains(c));
            let short = until(whole, |c| "'`|^{}),;".contains(c)).trim_end_matches(['.', '!', '?', ':']);
            // What stands right before it may turn the address into a part of another one.
            let joined = before.get(..start).and_then(|before| before.rsplit(char::is_whitespace).next());
            let is_computed = known == Known::Unknown
                && (joined.is_some_and(|joined| joined.contains(COMPUTED)) || is_computed(whole));
            // In prose a mark after the address is not part of it; where it may be, both are listed.
            let (of_short, of_whole) = (Address::of_url(short).host, Address::of_url(whole).host);
            if of_whole.is_ok() || of_short.is_err() {
                self.url(whole, place, is_computed);
            }
            if of_short.is_ok() && of_short != of_whole {
                self.url(short, place, is_computed);
            }
        }
    }

    fn url(&mut self, text: &str, place: &Place, is_computed: bool) {
        let is_listed = self.found.touched.iter().any(|host| host.text == text && host.place == *place);
        if !is_listed {
            let address =
                if is_computed { Address::doubt(HostDoubt::Computed) } else { Address::of_url(text) };
            self.add(text, place, false, address);
        }
    }

    fn command(&mut self, command: &Command, place: &dyn Fn(Option<usize>) -> Place) {
        let count = self.found.touched.len();
        for (i, word) in command.words.iter().enumerate() {
            self.urls(&word.text, &place(Some(i)), word.known);
            self.device(word, &place(Some(i)));
        }
        for redirection in &command.redirections {
            self.device(&redirection.target, &place(None));
        }
        for (name, value) in &command.assignments {
            self.urls(&value.text, &place(None), value.known);
            if name.to_ascii_lowercase().ends_with("_proxy") {
                self.host_word(value, &place(None));
            }
        }
        let name = command.program.as_deref().unwrap_or_default();
        if let Some(word) = command.words.iter().skip(1).position(|word| leads_elsewhere(name, &word.text)) {
            let address = Address::doubt(HostDoubt::Elsewhere);
            self.add(&command.text, &place(Some(word + 1)), false, address);
        }
        if let Some(program) = PROGRAMS.iter().find(|program| program.names.contains(&name)) {
            self.program(program, command, place);
            let goes = matches!(program.words, Words::Urls | Words::Hosts | Words::First);
            let asks = command.words.get(1..).is_some_and(|words| {
                !words.is_empty()
                    && words.iter().all(|word| matches!(word.text.as_str(), "--version" | "-V" | "--help"))
            });
            if goes && !asks && self.found.touched.len() == count {
                let address = Address::doubt(HostDoubt::Elsewhere);
                self.add(&command.text, &place(Some(0)), false, address);
            }
        }
    }

    /// The words a program takes for hosts.
    fn program(&mut self, program: &Program, command: &Command, place: &dyn Fn(Option<usize>) -> Place) {
        let mut option = "";
        for (i, word) in command.words.iter().enumerate().skip(1) {
            let place = place(Some(i));
            let before = std::mem::take(&mut option);
            let text = word.text.as_str();
            if text.starts_with('-') {
                option = text;
                self.glued(program, word, &place);
            } else if program.takes_next(before)
                || text.is_empty()
                || VERBS.contains(&text)
                || text.starts_with('+')
            {
                // A value, a verb, or a setting.
            } else if HOST_OPTIONS.contains(&before) {
                self.host_word(word, &place);
            } else {
                match program.words {
                    Words::Urls | Words::Hosts => self.host_word(word, &place),
                    // What follows is a port or a command for the other side.
                    Words::First => return self.host_word(word, &place),
                    Words::Remotes => self.remote(word, command, &place),
                    Words::Pairs => self.pair(word, &place),
                    Words::Options => {}
                }
            }
        }
    }

    /// A host glued to its option: `--proxy=host`, `-xhost`.
    fn glued(&mut self, program: &Program, word: &Word, place: &Place) {
        let host = match word.text.split_once('=') {
            Some((option, value)) => HOST_OPTIONS.contains(&option).then_some(value),
            None => HOST_OPTIONS
                .iter()
                .filter(|option| option.len() == 2 && !program.takes_next(option))
                // Only where `-h` is the host, `-help` is one.
                .filter(|option| **option != "-h" || program.words == Words::Options)
                .find_map(|option| word.text.strip_prefix(option)),
        };
        if let Some(host) = host.filter(|host| !host.is_empty()) {
            self.host_word(&Word { text: host.to_owned(), known: word.known }, place);
        }
    }

    /// A word that is a host or a URL, with or without a scheme.
    fn host_word(&mut self, word: &Word, place: &Place) {
        if has_url(&word.text) {
            return;
        }
        let text = word.text.strip_prefix('@').unwrap_or(&word.text);
        let is_computed = word.known == Known::Unknown && is_computed(text);
        let address = if is_computed { Address::doubt(HostDoubt::Computed) } else { Address::bare(text) };
        self.add(&word.text, place, false, address);
    }

    /// `user@host:path`, unless it is `HEAD:main`.
    fn remote(&mut self, word: &Word, command: &Command, place: &Place) {
        let Some((host, _)) = word.text.split_once(':') else { return };
        if host.contains(['/', ' ']) || host.len() < 2 || has_url(&word.text) {
            return;
        }
        if command.program.as_deref() == Some("git") {
            let verb = command.words.iter().find(|word| GIT_VERBS.contains(&word.text.as_str()));
            let Some(verb) = verb else { return };
            // `HEAD:main` says which branch goes where.
            if matches!(verb.text.as_str(), "push" | "fetch" | "pull") && !host.contains(['@', '.']) {
                return;
            }
        }
        let host = host.rsplit('@').next().unwrap_or(host);
        self.host_word(&Word { text: host.to_owned(), known: word.known }, place);
    }

    /// `TCP:host:80`, `OPENSSL:host:443,verify=0`.
    fn pair(&mut self, word: &Word, place: &Place) {
        let mut parts = word.text.split([':', ',']);
        let kind = parts.next().unwrap_or_default().to_ascii_uppercase();
        let connects = ["TCP", "UDP", "SCTP", "OPENSSL", "SSL", "SOCKS", "PROXY"]
            .iter()
            .any(|name| kind.starts_with(name));
        if connects
            && !kind.contains("LISTEN")
            && let Some(host) = parts.next()
        {
            self.host_word(&Word { text: host.to_owned(), known: word.known }, place);
        }
    }

    /// `/dev/tcp/host/80`, which a shell opens as a connection.
    fn device(&mut self, word: &Word, place: &Place) {
        let rest = word.text.strip_prefix("/dev/tcp/").or_else(|| word.text.strip_prefix("/dev/udp/"));
        if let Some(rest) = rest {
            let (host, port) = rest.split_once('/').unwrap_or((rest, ""));
            let host = if word.known == Known::Unknown && is_computed(host) {
                Err(HostDoubt::Computed)
            } else {
                Host::parse(host)
            };
            self.add(&word.text, place, false, Address { scheme: None, port: port.parse().ok(), host });
        }
    }

    fn add(&mut self, text: &str, place: &Place, is_guess: bool, address: Address) {
        if self.is_full() {
            return unseen(&mut self.found.unseen, Unseen::TooManyPlaces);
        }
        let Address { scheme, port, host } = address;
        let text = text.chars().take(URL_BYTES_MAX).collect();
        self.found.touched.push(TouchedHost { text, place: place.clone(), is_guess, scheme, port, host });
    }

    fn is_full(&self) -> bool {
        self.found.touched.len() >= TOUCHED_MAX
    }
}

/// Whether a word tells the program to look elsewhere for where to go.
fn leads_elsewhere(program: &str, word: &str) -> bool {
    let is_option = |option: &&str| match (option.strip_prefix("--"), word.strip_prefix("--")) {
        // Long options may be cut short, short ones glued together.
        (Some(option), Some(word)) => {
            let name = word.split('=').next().unwrap_or_default();
            name.len() > 1 && option.starts_with(name)
        }
        (None, None) => word.starts_with('-') && word.contains(option.trim_start_matches('-')),
        _ => false,
    };
    let setting = word.trim_start_matches("-o").trim_start_matches("-c").to_ascii_lowercase();
    let is_setting = |start: &&str| setting.starts_with(start) && setting.contains(['=', ' ']);
    let finds = |table: &[(&[&str], &[&str])], fits: &dyn Fn(&&str) -> bool| {
        table.iter().any(|(programs, texts)| programs.contains(&program) && texts.iter().any(fits))
    };
    finds(ELSEWHERE, &is_option) || finds(LEADING_SETTINGS, &is_setting)
}

/// What a text says about where to go.
struct Address {
    scheme: Option<String>,
    port: Option<u16>,
    host: Result<Host, HostDoubt>,
}

impl Address {
    /// Reads a URL, or what would be one behind a scheme.
    fn bare(text: &str) -> Self {
        if starts_with_scheme(text) {
            return Self::of_url(text);
        }
        // A scheme whose own port is the least likely to be written, for that would not be told.
        let start = if starts_scheme_relative(text) { "ftp:" } else { "ftp://" };
        match (Url::parse(&format!("{start}{text}")), Host::parse(text)) {
            _ if text.len() > URL_BYTES_MAX => Self::doubt(HostDoubt::TooLong),
            (Ok(url), _) => Self { scheme: None, port: url.port(), host: host_of(&url) },
            // An address of version 6 without brackets.
            (Err(_), host) => Self { scheme: None, port: None, host },
        }
    }

    /// Whether it can hardly be anything but a host: an address, or a name with a dot.
    fn is_telling(&self) -> bool {
        self.host.as_ref().is_ok_and(|host| host.reach != Reach::Name || host.name.contains('.'))
    }

    fn doubt(doubt: HostDoubt) -> Self {
        Self { scheme: None, port: None, host: Err(doubt) }
    }

    fn of_url(text: &str) -> Self {
        if text.len() > URL_BYTES_MAX {
            return Self::doubt(HostDoubt::TooLong);
        }
        match Url::parse(text) {
            Ok(url) => Self {
                scheme: Some(url.scheme().to_owned()),
                port: url.port_or_known_default(),
                host: host_of(&url),
            },
            Err(_) => Self::doubt(HostDoubt::Invalid),
        }
    }
}

/// In schemes the rules do not know, a host is any text: it is read again.
fn host_of(url: &Url) -> Result<Host, HostDoubt> {
    url.host_str().ok_or(HostDoubt::Invalid).and_then(Host::parse)
}

/// Whether a text begins like a URL: `x://`, or `https:` and the like, which need no slashes.
fn starts_with_scheme(text: &str) -> bool {
    let plain: String =
        text.chars().take(URL_BYTES_MAX).filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    plain.trim_start().split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(is_scheme_character)
            && (rest.starts_with("//") || is_web_scheme(scheme))
    })
}

/// `//host`, also with backslashes.
fn starts_scheme_relative(text: &str) -> bool {
    let is_slash = |c: Option<char>| matches!(c, Some('/' | '\\'));
    // Tabs and new lines are dropped before anything else.
    let mut start = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    is_slash(start.next()) && is_slash(start.next())
}

/// Schemes whose addresses browsers find a host in, however few slashes there are.
fn is_web_scheme(scheme: &str) -> bool {
    ["http", "https", "ws", "wss", "ftp"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

fn is_scheme_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+.-".contains(c)
}

/// Whether a text in a field for addresses names no host: a path on a host named elsewhere, a file, data.
fn is_local(text: &str) -> bool {
    let starts = |start: &str| text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    (text.starts_with(['/', '?', '#', '.']) && !starts_scheme_relative(text))
        || ["file:", "data:", "mailto:", "about:", "urn:", "blob:", "tel:"]
            .iter()
            .any(|scheme| starts(scheme))
}

/// Whether [`Finder::urls`] finds something in the text.
fn has_url(text: &str) -> bool {
    starts_with_scheme(text) || text.contains("://")
}

/// Whether the part of a URL that names the host may hold something computed.
fn is_computed(text: &str) -> bool {
    let authority = text.split_once("//").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    text.starts_with(COMPUTED) || authority.contains(COMPUTED) || authority.contains(['*', '[', '{', '~'])
}

fn until(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    text.split(is_end).next().unwrap_or_default()
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::script::{Redirection, RedirectionKind};

    #[test]
    fn what_stands_around_a_command_may_name_a_host() {
        let word = |text: &str| Word { text: text.into(), known: Known::Certain };
        let mut command = crate::read_script("cat").commands.remove(0);
        command.redirections =
            vec![Redirection { kind: RedirectionKind::Reads, target: word("/dev/tcp/0x7f.1/80") }];
        command.assignments =
            vec![("HTTPS_PROXY".into(), word("evil.com:8080")), ("A".into(), word("http://b.com"))];
        let mut finder = Finder::default();
        finder.command(&command, &|_| Place::Field(crate::Selector::default()));
        let seen: Vec<_> =
            finder.found.touched.iter().map(|host| host.host.as_ref().unwrap().name()).collect();
        assert_eq!(seen, ["127.0.0.1", "evil.com", "b.com"]);
    }
}
