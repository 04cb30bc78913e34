//! An open file: its findings, and what it says about a place in it.

use lockgate::engine::{
    Diagnostic, Policy, Severity, Source,
    gate::Rulebook,
    languages::{KnownTools, check_names, read},
    prover::prove,
};
use serde_json::{Value, json};

use super::meaning::{KEYWORDS, TAILS, meaning};

/// The longest file that is proved at every change, in lines.
const PROVED_LINES_MAX: usize = 300;

pub(super) struct Document {
    pub(super) source: Source,
    findings: Vec<Diagnostic>,
    policy: Option<std::sync::Arc<Policy>>,
}

impl Document {
    pub(super) fn new(source: Source, known: &KnownTools) -> Self {
        let sources = [source];
        let (policy, mut findings) = read(&sources);
        check_names(&mut findings, &sources, known, policy.as_ref());
        let [source] = sources;
        let mut compiled = None;
        if let Some(policy) = policy {
            let rulebook = Rulebook::new(policy);
            if source.text().lines().count() <= PROVED_LINES_MAX {
                findings.extend(prove(&rulebook).findings.into_iter().map(|it| it.diagnostic));
            }
            compiled = Some(rulebook.policy.clone());
        }
        findings.retain(|it| it.source == source);
        Self { source, findings, policy: compiled }
    }

    pub(super) fn diagnostics(&self) -> Value {
        let of = |it: &Diagnostic| {
            let severity = match it.severity {
                Severity::Error => 1,
                Severity::Warning => 2,
                _ => 3,
            };
            let remedy = it.remedy.as_ref().map(|remedy| format!("\ntry: {remedy}")).unwrap_or_default();
            json!({
                "range": self.range(it.span.start, it.span.end),
                "severity": severity,
                "code": it.code,
                "source": "lockgate",
                "message": format!("{}{remedy}", it.message),
            })
        };
        Value::from(self.findings.iter().map(of).collect::<Vec<_>>())
    }

    /// The byte that a place in the editor is at; columns are counted in UTF-16.
    pub(super) fn offset(&self, line: usize, character: usize) -> usize {
        let text = self.source.text();
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let rest = text.get(start..).unwrap_or_default();
        let mut left = character;
        for (at, c) in rest.char_indices() {
            if c == '\n' || left < c.len_utf16() {
                return start + at;
            }
            left -= c.len_utf16();
        }
        text.len()
    }

    pub(super) fn position(&self, at: usize) -> Value {
        let before = self.source.text().get(..at).unwrap_or(self.source.text());
        let line = before.matches('\n').count();
        let last = before.rsplit('\n').next().unwrap_or_default();
        json!({"line": line, "character": last.encode_utf16().count()})
    }

    fn range(&self, start: usize, end: usize) -> Value {
        json!({"start": self.position(start), "end": self.position(end)})
    }

    /// The line at a place, and where it starts.
    fn line(&self, at: usize) -> (&str, usize) {
        let text = self.source.text();
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        (text.get(start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default(), start)
    }

    /// The word at a place, with where it starts.
    fn word(&self, at: usize) -> (&str, usize) {
        let (line, start) = self.line(at);
        let is_end = |c: char| c.is_whitespace() || c == ',';
        let inner = at.saturating_sub(start);
        let from = line.get(..inner).and_then(|before| before.rfind(is_end)).map_or(0, |end| end + 1);
        let word = line.get(from..).and_then(|rest| rest.split(is_end).next()).unwrap_or_default();
        (word, start + from)
    }

    /// What the sentence means, and the net that it became.
    pub(super) fn hover(&self, at: usize) -> Option<Value> {
        let (line, start) = self.line(at);
        let mut text = meaning(line)?.to_owned();
        let number = self.source.text().get(..start).map_or(1, |before| before.matches('\n').count() + 1);
        let policy = self.policy.iter();
        let nets = policy.flat_map(|policy| policy.nets()).filter(|net| net.place.line == number);
        for net in nets {
            text.push_str(&format!("\n\nNet `{}`, proved exactly.", net.name));
        }
        Some(json!({"contents": {"kind": "markdown", "value": text}}))
    }

    /// Where the word at a place is defined: `tools`, `source`, `hours` or a map.
    pub(super) fn definition(&self, at: usize, uri: &str) -> Option<Value> {
        let (word, _) = self.word(at);
        let word = word.split('.').next().filter(|word| !word.is_empty())?;
        let mut start = 0;
        for line in self.source.text().split_inclusive('\n') {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let is_it = match words.as_slice() {
                ["tools" | "source" | "hours", name, "=", ..] => *name == word,
                ["map", .., "as", name] => *name == word,
                _ => false,
            };
            if is_it {
                let range = self.range(start, start + line.trim_end().len());
                return Some(json!({"uri": uri, "range": range}));
            }
            start += line.len();
        }
        None
    }

    /// Keywords at the start of a line; tools, words of the file and tails behind it.
    pub(super) fn completion(&self, at: usize, tools: &[String]) -> Value {
        let (line, start) = self.line(at);
        let before = line.get(..at.saturating_sub(start)).unwrap_or_default();
        let is_first = !before.trim_start().contains(char::is_whitespace);
        let item =
            |label: &str, kind: u8, detail: &str| json!({"label": label, "kind": kind, "detail": detail});
        if is_first {
            let keywords = KEYWORDS.iter().map(|(word, shape, _)| item(word, 14, shape));
            return Value::from(keywords.collect::<Vec<_>>());
        }
        let mut items: Vec<Value> = tools.iter().map(|tool| item(tool, 3, "a tool")).collect();
        for line in self.source.text().lines() {
            if let [kind @ ("tools" | "source" | "hours"), name, "=", ..] =
                line.split_whitespace().collect::<Vec<_>>().as_slice()
            {
                items.push(item(name, 6, kind));
            }
        }
        items.extend(TAILS.iter().map(|(word, detail)| item(word, 14, detail)));
        Value::from(items)
    }

    /// What the remedies of findings in a range would change.
    pub(super) fn actions(&self, range: &Value, uri: &str) -> Value {
        let line = |pointer: &str| range.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        let (first, last) = (line("/start/line"), line("/end/line"));
        let mut actions = Vec::new();
        for finding in &self.findings {
            let at = self
                .position(finding.span.start)
                .pointer("/line")
                .and_then(Value::as_u64)
                .unwrap_or_default();
            if !(first..=last).contains(&at) {
                continue;
            }
            let Some((range, text)) = self.fix(finding) else { continue };
            actions.push(json!({
                "title": format!("Write `{text}`"),
                "kind": "quickfix",
                "edit": {"changes": {uri: [{"range": range, "newText": text}]}},
            }));
        }
        Value::from(actions)
    }

    /// The text that a remedy names, and what it replaces: the line where it is a sentence, otherwise the underlined words.
    fn fix(&self, finding: &Diagnostic) -> Option<(Value, String)> {
        let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
        if let Some(word) = finding.label.strip_prefix("did you mean ").and_then(quoted) {
            return Some((self.range(finding.span.start, finding.span.end), word));
        }
        let remedy = finding.remedy.as_ref()?.strip_prefix("write ")?;
        let text = quoted(remedy).filter(|text| !text.contains(['<', '…']))?;
        let (line, start) = self.line(finding.span.start);
        let keyword = line.split_whitespace().next().unwrap_or_default();
        let is_sentence = text.split_whitespace().next() == Some(keyword);
        let body = line.split('#').next().unwrap_or_default().trim_end();
        Some(match is_sentence {
            true => (self.range(start, start + body.len()), text),
            false => (self.range(finding.span.start, finding.span.end), text),
        })
    }
}
