//! Input that is made to break out of the tool it is given to.
//!
//! [`find_attack`] looks at every key and every text of an input: each by itself, and all of them in a row, so
//! that cutting an attack in two does not hide it; as they are written, and as they read once what hides them is
//! taken off. What a call really does is said elsewhere, by its commands, paths and hosts: in here a mention is
//! enough, and so a text about an attack is as suspicious as the attack.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};
use serde_json::{Map, Value};

use super::{Detectors, names};
use crate::call::Call;
use crate::fields::key_words;
use crate::places::hosts::{FIELDS, Host, HostDoubt, Reach, hosts};
use crate::visible::visible;

/// How many characters of a field's name are told.
const FIELD_CHARACTERS_MAX: usize = 80;

/// How often one encoding may be wrapped in another; a `%` that is itself encoded does not count.
const DECODINGS_MAX: usize = 4;

/// What input may be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttackPattern {
    /// To reach a file outside the folder a tool works in.
    PathTraversal,
    /// To run a command of its own.
    ShellInjection,
    /// To change what a database is asked.
    SqlInjection,
    /// To make a tool call on hosts that only it can reach.
    Ssrf,
    /// To make a tool open something else than a web page.
    UrlScheme,
    /// It holds a secret.
    Secret,
}

impl AttackPattern {
    const ALL: [Self; 6] = [
        Self::PathTraversal,
        Self::ShellInjection,
        Self::SqlInjection,
        Self::Ssrf,
        Self::UrlScheme,
        Self::Secret,
    ];

    /// The pattern that a policy calls by this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PathTraversal => "path_traversal",
            Self::ShellInjection => "shell_injection",
            Self::SqlInjection => "sql_injection",
            Self::Ssrf => "ssrf",
            Self::UrlScheme => "url_schemes",
            Self::Secret => "secret_detection",
        }
    }
}

impl fmt::Display for AttackPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const PATH_TRAVERSAL: &[&str] = &[
    r"(^|[^.\w])\.\.(;[^/\\]*)?[/\\]",
    r"[/\\]\.\.($|[/\\;\s,\x22'`)?#&])",
    r"^\s*\.\.\s*$",
    // What a filter leaves that takes `../` out once.
    r"\.\.\.\.(//|\\\\)|\.\.\.[/\\]\.\.?[/\\]",
    // A slash or a dot in more bytes than it needs.
    r"%(c0|e0%80|f0%80%80)%(ae|af|2f|5c)",
    r"/etc/(passwd|shadow|sudoers|gshadow)\b",
    r"/proc/(self|\d+)/(environ|cmdline|fd|mem|maps|root|cwd)\b",
    r"[\\/]windows[\\/]+(win\.ini|system32[\\/]+(config|drivers))",
];

const SHELL_INJECTION: &[&str] = &[
    r"(?s)`.*`",
    r"\$\(",
    r"\$\{ifs\b|\$ifs\b",
    r"[<>]\(\s*\w",
    r"(;|\||&)\s*(sudo|su|rm|mv|cp|cat|tac|head|tail|ls|pwd|id|whoami|uname|hostname|ps|env|printenv|export|echo|printf|touch|mkdir|ln|chmod|chown|kill|killall|shutdown|reboot|dd|mkfs|tee|find|grep|awk|sed|xargs|curl|wget|fetch|nc|ncat|netcat|telnet|ssh|scp|ftp|tftp|ping|nslookup|dig|base64|xxd|openssl|bash|sh|zsh|dash|ksh|csh|fish|busybox|cmd|powershell|pwsh|certutil|python[23]?|perl|ruby|node|php|lua|java|gcc|eval|exec|source|nohup|sleep|crontab|systemctl|docker|kubectl|git|del|net)(\s|$|[;|&<>\x22'`)])",
    // At the start of a line many of them are words of a sentence as well.
    r"[\n\r]\s*(sudo|rm|cat|ls|chmod|chown|dd|mkfs|curl|wget|nc|ncat|netcat|bash|sh|zsh|powershell|pwsh|python[23]?|perl|eval)\s",
    r"/bin/(ba|z|da|k|c|a)?sh\b|/usr/bin/env\s",
    r"/dev/(tcp|udp)/",
    r">>?\s*/(dev|etc|proc|sys|root|home|var|usr|tmp)/",
    r"\b(eval|exec|system|passthru|shell_exec|popen|os\.system|subprocess\.\w+)\s*\(",
    r":\s*\(\s*\)\s*\{",
];

const SQL_INJECTION: &[&str] = &[
    r"\bunion\b\W+(all\W+|distinct\W+)?select\b",
    r"['\x22`)]\s*(or|and|\|\||&&|xor)\s*(not\s+)?['\x22`(]?\s*[\w.]+\s*['\x22`)]?\s*(=|<|>|!=|like\b|in\b|is\b|between\b|rlike\b)",
    r"\b(or|and)\s+\(?\s*(\d+)\s*=\s*\d+",
    r"\b(or|and)\s+(true|not\s+false|1)\s*(--|#|/\*|;|$)",
    r"['\x22`)]\s*;?\s*(--|#|/\*)",
    r";\s*(drop|delete|insert|update|alter|truncate|create|grant|revoke|exec|execute|declare|merge|replace|shutdown|select|copy|attach)\b",
    r"\b(drop|truncate)\s+(table|database|schema|view|index|user)\b",
    r"\b(sleep|benchmark|pg_sleep|load_file|extractvalue|updatexml|xp_cmdshell|sp_executesql|dbms_\w+)\s*\(",
    r"\bxp_cmdshell\b|\bwaitfor\s+delay\b|\binto\s+(out|dump)file\b|\binformation_schema\b|\bsysobjects\b|\bsqlite_master\b",
    r"/\*!\d*",
    r"\bhaving\s+\d+\s*=\s*\d+|\border\s+by\s+\d+\s*(--|#)",
];

const SSRF: &[&str] = &[
    r"(^|[^\d.])(169\.254\.169\.254|169\.254\.170\.2|100\.100\.100\.200|168\.63\.129\.16)($|[^\d])",
    r"\bfd00:0?ec2::0?254\b",
    r"\bmetadata\.(google\.internal|goog)\b|\binstance-data\b",
    r"/latest/(meta-data|user-data|api/token)|/computemetadata/v1|/metadata/(instance|identity)\b",
];

/// Names that lead to an address written in them, or to this machine.
const REBINDING: &[&str] = &[
    "nip.io",
    "sslip.io",
    "xip.io",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "1u.ms",
    "rbndr.us",
];

const URL_SCHEMES: &[&str] = &[
    r"(^|[^\w+.-])file:[/\\]",
    r"(^|[^\w+.-])(gopher|dict|ldaps?|ldapi|tftp|sftp|netdoc|jndi|rmi|iiop|smb|nfs|php|phar|zlib|glob|expect|ogg|rar|ssh2|compress\.\w+|view-source|ms-\w+|chrome|resource|about|res|mhtml|mk|its):[/\\]",
    r"(^|[^\w+.-])(javascript|vbscript|livescript|jscript)\s*:",
    r"(^|[^\w+.-])(jar|view-source|feed|wyciwyg|blob|filesystem|jndi|url):\w+:",
    r"(^|[^\w+.-])data:\s*(text/(html|xml|javascript|ecmascript|x-\w+)|application/(xhtml|xml|javascript|ecmascript|x-\w+)|image/svg|[^,;\s]*;\s*(charset=[^;,]*;)?base64)",
];

/// The first pattern among those wanted that the input has, and the field that has it; `all of it`
/// where only the fields together do.
#[must_use]
pub fn find_attack(input: &Map<String, Value>, wanted: &[AttackPattern]) -> Option<(AttackPattern, String)> {
    let texts = Texts::of(input);
    wanted.iter().find_map(|pattern| {
        let field = match pattern {
            AttackPattern::Secret => secret(input),
            AttackPattern::Ssrf => {
                texts.search(&|text| is_like(&SETS.ssrf, text) || has_inner_url(text)).or_else(|| {
                    let bare = texts.list.iter().find(|text| text.is_host_field && is_inner_host(&text.text));
                    bare.map(Text::field).or_else(|| inner_host(input))
                })
            }
            AttackPattern::PathTraversal => texts.search(&|text| is_like(&SETS.path_traversal, text)),
            AttackPattern::ShellInjection => texts.search(&|text| is_like(&SETS.shell_injection, text)),
            AttackPattern::SqlInjection => texts.search(&|text| {
                is_like(&SETS.sql_injection, text) || is_like(&SETS.sql_injection, &without_comments(text))
            }),
            AttackPattern::UrlScheme => texts.search(&|text| is_like(&SETS.url_schemes, text)),
        };
        field.map(|field| (*pattern, field))
    })
}

struct Sets {
    path_traversal: Result<RegexSet, regex::Error>,
    shell_injection: Result<RegexSet, regex::Error>,
    sql_injection: Result<RegexSet, regex::Error>,
    ssrf: Result<RegexSet, regex::Error>,
    url_schemes: Result<RegexSet, regex::Error>,
}

static SETS: LazyLock<Sets> = LazyLock::new(|| {
    let set = |patterns: &[&str]| RegexSetBuilder::new(patterns).case_insensitive(true).build();
    Sets {
        path_traversal: set(PATH_TRAVERSAL),
        shell_injection: set(SHELL_INJECTION),
        sql_injection: set(SQL_INJECTION),
        ssrf: set(SSRF),
        url_schemes: set(URL_SCHEMES),
    }
});

/// Whether a text is like any row of a table. A table that cannot be read finds everything suspicious; a test
/// sees to it that all can.
fn is_like(set: &Result<RegexSet, regex::Error>, text: &str) -> bool {
    set.as_ref().map_or(true, |set| set.is_match(text))
}

/// One key or text of an input.
struct Text<'a> {
    text: Cow<'a, str>,
    path: String,
    /// Whether a host may stand here without a scheme.
    is_host_field: bool,
}

impl Text<'_> {
    fn field(&self) -> String {
        let mut shown: String = visible(&self.path).chars().take(FIELD_CHARACTERS_MAX).collect();
        if self.path.chars().count() > FIELD_CHARACTERS_MAX {
            shown.push('…');
        }
        shown
    }
}

/// All keys and texts of an input.
#[derive(Default)]
struct Texts<'a> {
    list: Vec<Text<'a>>,
    /// The values in a row, and the same with each key before its value.
    values: String,
    everything: String,
}

impl<'a> Texts<'a> {
    fn of(input: &'a Map<String, Value>) -> Self {
        let mut texts = Self::default();
        texts.object(input, "");
        texts
    }

    fn object(&mut self, object: &'a Map<String, Value>, path: &str) {
        for (key, value) in object {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            // A path is only told, and only its beginning: it must not grow with the depth of the input.
            let path: String = path.chars().take(2 * FIELD_CHARACTERS_MAX).collect();
            self.everything.extend([key.as_str(), " "]);
            self.list.push(Text { text: Cow::Borrowed(key), path: path.clone(), is_host_field: false });
            let words = key_words(key);
            let last = words.rsplit('_').next().unwrap_or_default();
            let is_host_field = FIELDS.contains(&last) || FIELDS.contains(&last.trim_end_matches('s'));
            self.value(value, &path, is_host_field);
        }
    }

    fn value(&mut self, value: &'a Value, path: &str, is_host_field: bool) {
        match value {
            Value::String(text) => {
                self.values.extend([text.as_str(), " "]);
                self.everything.extend([text.as_str(), " "]);
                self.list.push(Text { text: Cow::Borrowed(text), path: path.to_owned(), is_host_field });
            }
            Value::Number(number) if is_host_field => {
                let text = Cow::Owned(number.to_string());
                self.list.push(Text { text, path: path.to_owned(), is_host_field });
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(item, path, is_host_field)),
            Value::Object(object) => self.object(object, path),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The field in which a search finds something in any reading, or `all of it`.
    fn search(&self, is_found: &dyn Fn(&str) -> bool) -> Option<String> {
        let is_in = |text: &str| readings(text).iter().any(|reading| is_found(reading));
        let one = self.list.iter().find(|text| is_in(&text.text));
        one.map(Text::field)
            .or_else(|| (is_in(&self.values) || is_in(&self.everything)).then(|| "all of it".to_owned()))
    }
}

/// A text as it is written, and as it reads with wide letters made plain, encodings undone, and without the
/// characters that readers of addresses skip.
fn readings(text: &str) -> Vec<Cow<'_, str>> {
    let mut readings = vec![Cow::Borrowed(text)];
    let mut plain: Cow<'_, str> = Cow::Borrowed(text);
    if !text.is_ascii() {
        plain = Cow::Owned(text.chars().map(narrow).collect());
        readings.push(plain.clone());
    }
    for _ in 0..DECODINGS_MAX {
        let decoded = percent_decoded(&plain);
        if decoded == plain {
            break;
        }
        readings.push(Cow::Owned(decoded.clone()));
        plain = Cow::Owned(decoded);
    }
    let is_skipped =
        |c: char| matches!(c, '\t' | '\n' | '\r' | '\0' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}');
    if plain.contains(is_skipped) {
        readings.push(Cow::Owned(plain.chars().filter(|c| !is_skipped(*c)).collect()));
    }
    readings
}

/// The plain letter of a wide one, and the plain mark of those that look alike.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => u32::from(c).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(c),
        '\u{2024}' | '\u{3002}' | '\u{ff61}' => '.',
        '\u{2215}' | '\u{2044}' | '\u{29f8}' => '/',
        '\u{2216}' | '\u{29f5}' => '\\',
        '\u{2018}' | '\u{2019}' | '\u{02bc}' => '\'',
        c if c.is_whitespace() && c != '\n' => ' ',
        c => c,
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, mut behind)) = rest.split_first() {
        // `%25252e` is a dot that was encoded three times.
        while *byte == b'%'
            && let [b'2', b'5', inner @ ..] = behind
            && inner.iter().take(2).filter(|b| b.is_ascii_hexdigit()).count() == 2
        {
            behind = inner;
        }
        let digit = |i: usize| behind.get(i).and_then(|b| char::from(*b).to_digit(16));
        rest = behind;
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// SQL with its comments made spaces: `union/**/select`.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("/*") {
        plain.extend([before, " "]);
        match behind.split_once("*/") {
            Some((_, behind)) => rest = behind,
            None => return plain,
        }
    }
    plain.push_str(rest);
    plain
}

/// Whether a URL in the text leads to a host that is not for everybody.
///
/// Readers differ on where the host of a crooked URL is, so every place where one may see it is looked at:
/// behind the slashes, and behind each `@`.
fn has_inner_url(text: &str) -> bool {
    let mut starts: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
    starts.extend(text.match_indices("//").map(|(at, _)| at));
    starts.extend(text.match_indices("\\\\").map(|(at, _)| at));
    starts.sort_unstable();
    // Neither a row of slashes nor what stands behind it is read twice.
    let (mut slashes_end, mut url_end) = (0, 0);
    starts.into_iter().any(|start| {
        let is_web = text.get(..start).is_some_and(ends_with_web_scheme);
        let rest = text.get(start..).filter(|_| start >= slashes_end).unwrap_or_default();
        let slashes = rest.bytes().take_while(|b| matches!(b, b'/' | b'\\')).count();
        slashes_end = slashes_end.max(start + slashes);
        if slashes < 2 && !is_web {
            return false;
        }
        let url = rest.get(slashes..).unwrap_or_default();
        if is_inner_host(host_part(url)) {
            return true;
        }
        if start + slashes < url_end {
            return false;
        }
        let length = url.find(is_url_end).unwrap_or(url.len());
        url_end = start + slashes + length;
        let mut behind = url.get(..length).unwrap_or_default().split('@').skip(1);
        behind.any(|host| is_inner_host(host_part(host)))
    })
}

fn ends_with_web_scheme(text: &str) -> bool {
    let text = text.strip_suffix(':').unwrap_or_default();
    ["http", "https", "ws", "wss", "ftp"].iter().any(|scheme| {
        let end = text.len().checked_sub(scheme.len()).and_then(|at| text.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(scheme))
    })
}

fn is_url_end(c: char) -> bool {
    c.is_whitespace() || "\"'`<>|".contains(c)
}

/// The part of a text up to where a host must have ended.
fn host_part(text: &str) -> &str {
    let is_bracketed = text.starts_with('[');
    let is_end =
        |c: char| is_url_end(c) || "/\\?#@,;)}".contains(c) || (!is_bracketed && c == ':') || c == ']';
    let end = text.find(is_end).unwrap_or(text.len());
    let bracket = usize::from(is_bracketed && text.get(end..).is_some_and(|rest| rest.starts_with(']')));
    text.get(..end + bracket).unwrap_or_default()
}

/// Whether a host, written in any way and with or without a port, is not for everybody.
fn is_inner_host(text: &str) -> bool {
    let text = text.trim();
    let is_inner = |host: Result<Host, HostDoubt>| match host {
        Ok(host) => {
            let name = host.name();
            let is_below = |zone: &&str| {
                name.strip_suffix(*zone).is_some_and(|left| left.is_empty() || left.ends_with('.'))
            };
            let is_address = matches!(
                host.reach(),
                Reach::Private | Reach::Loopback | Reach::LinkLocal | Reach::Unspecified | Reach::Metadata
            );
            is_address || REBINDING.iter().any(is_below)
        }
        // Longer than any host: padded to hide one.
        Err(doubt) => doubt == HostDoubt::TooLong,
    };
    !text.is_empty() && (is_inner(Host::parse(text)) || is_inner(Host::parse(host_part(text))))
}

/// The hosts that the programs of a call are told to call on.
fn inner_host(input: &Map<String, Value>) -> Option<String> {
    let call = Call { input: input.clone(), ..Call::new("", "") };
    let inner = hosts(&call)
        .touched
        .into_iter()
        .find(|touched| touched.host.as_ref().is_ok_and(|host| is_inner_host(host.name())))?;
    Some(visible(&inner.place.to_string()).chars().take(FIELD_CHARACTERS_MAX).collect())
}

fn secret(input: &Map<String, Value>) -> Option<String> {
    let detectors = Detectors::standard();
    let is_secret = |text: &str| detectors.find(text).iter().any(super::Hit::is_secret);
    let texts = Texts::of(input);
    let one = texts.list.iter().find(|text| is_secret(&text.text)).map(Text::field);
    one.or_else(|| secret_key(input))
}

/// A key that says that what stands below is secret.
fn secret_key(object: &Map<String, Value>) -> Option<String> {
    object.iter().find_map(|(key, value)| {
        let holds =
            |value: &Value| value.as_str().is_some_and(|text| text.is_empty() || names::is_reference(text));
        if names::hides(key, value) && !holds(value) {
            return Some(visible(key).chars().take(FIELD_CHARACTERS_MAX).collect());
        }
        within(value)
    })
}

fn within(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => secret_key(object),
        Value::Array(items) => items.iter().find_map(within),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        let sets =
            [&SETS.path_traversal, &SETS.shell_injection, &SETS.sql_injection, &SETS.ssrf, &SETS.url_schemes];
        for set in sets {
            assert!(set.is_ok(), "{set:?}");
        }
    }
}
