//! Finds the hosts in texts and in the words of commands.

use std::net::IpAddr;

use super::address::{
    Address, COMPUTED, has_url, is_computed, is_local, is_scheme_character, is_web_scheme,
    starts_scheme_relative, starts_with_scheme, until,
};
use super::host::{Host, HostDoubt, URL_BYTES_MAX};
use super::tables::{FIELDS, LOOSE_FIELDS};
use super::touched::{Hosts, TouchedHost};
use crate::contents::{Place, TOUCHED_MAX, Text, TextKind, Unseen, unseen};
use crate::programs::names::has;
use crate::programs::network::{HOST_OPTIONS, Network, VERBS, Words};
use crate::programs::program::Grammar;
use crate::programs::word::{Known, Word};
use crate::shell::environment::is_proxy;
use crate::shell::script::Command;

/// The longest text that is searched for URLs, and the longest URL that is read.
pub(super) const TEXT_BYTES_MAX: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Finder {
    pub(super) found: Hosts,
    /// How many texts were read as URLs.
    pub(super) tried: usize,
}

impl Finder {
    pub(super) fn field(&mut self, text: &Text) {
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
    pub(super) fn urls(&mut self, text: &str, place: &Place, known: Known) {
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

    pub(super) fn url(&mut self, text: &str, place: &Place, is_computed: bool) {
        let is_listed = self.found.touched.iter().any(|host| host.text == text && host.place == *place);
        if !is_listed {
            let address =
                if is_computed { Address::doubt(HostDoubt::Computed) } else { Address::of_url(text) };
            self.add(text, place, false, address);
        }
    }

    /// The hosts of a command; `is_led` if the script leads such programs elsewhere by variables.
    pub(super) fn command(
        &mut self,
        command: &Command,
        is_led: bool,
        place: &dyn Fn(Option<usize>) -> Place,
    ) {
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
            if is_proxy(name) {
                self.host_word(value, &place(None));
            }
        }
        let row = command.row();
        if row.is_none() && !command.words.is_empty() {
            self.looks(command, place);
        }
        let sets = row.is_some_and(|row| row.grammar == Grammar::Git) && sets_address(command);
        if is_led && row.is_some_and(|row| row.network.is_some()) || sets {
            self.add(&command.text, &place(Some(0)), false, Address::doubt(HostDoubt::Elsewhere));
        }
        if let Some(network) = command.row().and_then(|row| row.network) {
            let mut words = command.words.iter().skip(1);
            if let Some(word) = words.position(|word| network.leads_elsewhere(&word.text)) {
                let address = Address::doubt(HostDoubt::Elsewhere);
                self.add(&command.text, &place(Some(word + 1)), false, address);
            }
            self.program(network, command, place);
            let goes = matches!(network.words, Words::Urls | Words::Hosts | Words::First);
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
    pub(super) fn program(
        &mut self,
        network: &Network,
        command: &Command,
        place: &dyn Fn(Option<usize>) -> Place,
    ) {
        let mut option = "";
        let mut operands = 0_usize;
        for (i, word) in command.words.iter().enumerate().skip(1) {
            let place = place(Some(i));
            let before = std::mem::take(&mut option);
            let text = word.text.as_str();
            if text.starts_with('-') {
                option = text;
                self.glued(network, word, &place);
            } else if network.takes_next(before)
                || text.is_empty()
                || VERBS.contains(&text)
                || text.starts_with('+')
            {
                // A value, a verb, or a setting.
            } else if HOST_OPTIONS.contains(&before) {
                self.host_word(word, &place);
            } else {
                match network.words {
                    Words::Urls | Words::Hosts => self.host_word(word, &place),
                    // What follows is a port or a command for the other side, and before that command options.
                    Words::First => {
                        operands += 1;
                        match operands {
                            1 => self.host_word(word, &place),
                            _ if word.text.bytes().all(|byte| byte.is_ascii_digit()) => {}
                            _ => return,
                        }
                    }
                    Words::Names => self.name(word, &place),
                    Words::Remotes => self.remote(word, command, &place),
                    Words::Pairs => self.pair(word, &place),
                    Words::Options => {}
                }
            }
        }
    }

    /// A host glued to its option: `--proxy=host`, `-xhost`.
    pub(super) fn glued(&mut self, network: &Network, word: &Word, place: &Place) {
        let host = match word.text.split_once('=') {
            Some((option, value)) => HOST_OPTIONS.contains(&option).then_some(value),
            None => HOST_OPTIONS
                .iter()
                .filter(|option| option.len() == 2 && !network.takes_next(option))
                // Only where `-h` is the host, `-help` is one.
                .filter(|option| **option != "-h" || network.words == Words::Options)
                .find_map(|option| word.text.strip_prefix(option)),
        };
        if let Some(host) = host.filter(|host| !host.is_empty()) {
            self.host_word(&Word { text: host.to_owned(), known: word.known }, place);
        }
    }

    /// A word that is a host or a URL, with or without a scheme.
    pub(super) fn host_word(&mut self, word: &Word, place: &Place) {
        if has_url(&word.text) {
            return;
        }
        let text = word.text.strip_prefix('@').unwrap_or(&word.text);
        let is_computed = word.known == Known::Unknown && is_computed(text);
        let address = if is_computed { Address::doubt(HostDoubt::Computed) } else { Address::bare(text) };
        self.add(&word.text, place, false, address);
    }

    /// `user@host:path`, unless it is `HEAD:main`.
    pub(super) fn remote(&mut self, word: &Word, command: &Command, place: &Place) {
        let Some((host, _)) = word.text.split_once(':') else { return };
        if host.contains(['/', ' ']) || host.len() < 2 || has_url(&word.text) {
            return;
        }
        if let Some(verbs) = command.row().and_then(|row| row.verbs) {
            let goes = |verb: &str| has(verbs.remote, verb) || has(verbs.perhaps_remote, verb);
            let Some(verb) = command.words.iter().find(|word| goes(&word.text)) else { return };
            // `HEAD:main` says which branch goes where.
            if has(verbs.refs, &verb.text) && !host.contains(['@', '.']) {
                return;
            }
        }
        let host = host.rsplit('@').next().unwrap_or(host);
        self.host_word(&Word { text: host.to_owned(), known: word.known }, place);
    }

    /// A word that is a host only by its look.
    fn name(&mut self, word: &Word, place: &Place) {
        let is_computed = word.known == Known::Unknown;
        if is_computed || starts_scheme_relative(&word.text) || Address::bare(&word.text).is_telling() {
            self.host_word(word, place);
        }
    }

    /// The words of a program that is not known, where they look like nothing but a host.
    fn looks(&mut self, command: &Command, place: &dyn Fn(Option<usize>) -> Place) {
        for (i, word) in command.words.iter().enumerate().skip(1) {
            let text = word.text.as_str();
            if word.known == Known::Certain && !has_url(text) && looks_like_host(text) {
                self.add(text, &place(Some(i)), true, Address::bare(host_part(text)));
            }
        }
    }

    /// `TCP:host:80`, `OPENSSL:host:443,verify=0`.
    pub(super) fn pair(&mut self, word: &Word, place: &Place) {
        // `s_client host:443`
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if word.text.split_once(':').is_some_and(|(host, port)| host.contains('.') && is_port(port)) {
            return self.host_word(word, place);
        }
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
    pub(super) fn device(&mut self, word: &Word, place: &Place) {
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

    pub(super) fn add(&mut self, text: &str, place: &Place, is_guess: bool, address: Address) {
        if self.is_full() {
            return unseen(&mut self.found.unseen, Unseen::TooManyPlaces);
        }
        let Address { scheme, port, host } = address;
        let text = text.chars().take(URL_BYTES_MAX).collect();
        self.found.touched.push(TouchedHost { text, place: place.clone(), is_guess, scheme, port, host });
    }

    pub(super) fn is_full(&self) -> bool {
        self.found.touched.len() >= TOUCHED_MAX
    }
}

/// Whether git is told by a setting where to go from now on: `git config http.proxy host`.
fn sets_address(command: &Command) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    let settings = command.row().and_then(|row| row.network).map_or("", |network| network.settings);
    let is_setting = |word: &str| {
        let word = word.to_ascii_lowercase();
        settings.split_ascii_whitespace().any(|start| word.starts_with(start))
    };
    let asks = |word: &str| {
        word.starts_with("--get") || matches!(word, "get" | "-l" | "--list" | "list" | "--unset")
    };
    let has_value = || words().zip(words().skip(1)).any(|(key, _)| is_setting(key));
    words().any(|word| word == "config") && has_value() && !words().any(asks)
}

/// Whether a word can hardly be anything but a host: `//host/share`, `user@host:path`, `host:443`, `host.com`.
fn looks_like_host(text: &str) -> bool {
    const ENDS: [&str; 9] = [".com", ".net", ".org", ".info", ".biz", ".xyz", ".ru", ".cn", ".onion"];
    let host = host_part(text);
    let is_host =
        |host: &str| !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let name = host.split(':').next().unwrap_or_default();
    let after = host.split_once(':').map(|(_, after)| after);
    let is_address = after.is_some_and(|after| after.starts_with('/') || after.parse::<u16>().is_ok());
    is_host(name)
        && (starts_scheme_relative(text)
            || name.contains('.') && (is_address || text.contains('@'))
            || ENDS.iter().any(|end| name.ends_with(end)))
}

/// What names the host in a word: without a user before it and a path behind it.
fn host_part(text: &str) -> &str {
    let text = text.trim_start_matches('/');
    let text = text.rsplit_once('@').map_or(text, |(_, host)| host);
    text.split(['/', '?', '#']).next().unwrap_or_default()
}
