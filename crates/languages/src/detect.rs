//! Which language a policy file is written in.
//!
//! The content decides: a file with a top-level `kind: Net` is a hand-written net, one with `kind: Ruleset` is a ruleset,
//! `kind: Workflow` a workflow, and a YAML or JSON file without `kind` and with a key such as `rules` has when/then rules.
//! Anything else that is not YAML or JSON by name is one statement a line. [`detect`] walks a file once at most, and stops
//! at the first key that decides. A file that breaks off early still says what it wants to be, so that its mistake is
//! reported as one of that language.

use lockgate_policy::{Source, closest};

use crate::yaml::{WalkEnd, walk_outermost};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    OneLine,
    WhenThen,
    Ruleset,
    Workflow,
    Net,
    /// YAML or JSON by name, and none of the above.
    Unknown,
}

/// The kinds of files that are read as rulesets; the second is the format's old name.
const RULESET_KINDS: [&str; 2] = ["Ruleset", "ContractBundle"];

/// Any of these at the top makes a file without `kind` one of when/then rules.
const WHEN_THEN_KEYS: [&str; 12] = [
    "shield_name",
    "rules",
    "default_verdict",
    "honeypots",
    "taint_chain",
    "output_rules",
    "sanitizer",
    "rate_limits",
    "include",
    "pii_patterns",
    "claims",
    "examples",
];

/// Which language a file is written in.
pub(crate) fn detect(source: &Source) -> Language {
    // Looking for the words first spares long files of one-line rules a second reading.
    let has_head = ["kind", "apiVersion"].iter().any(|word| source.text().contains(word));
    let has_yaml_name = has_yaml_name(source);
    if !has_head && !has_yaml_name {
        return Language::OneLine;
    }
    let mut outline = Outline { has_head, ..Outline::default() };
    let end = walk_outermost(source, |key, word| {
        outline.take(key, word);
        outline.early().is_none()
    });
    if let WalkEnd::Broken { is_scalar } = end {
        outline.take_lines(source.text(), is_scalar);
    }
    match outline.early().or_else(|| outline.late()) {
        Some(Language::WhenThen) | None if !has_yaml_name => Language::OneLine,
        found => found.unwrap_or(Language::Unknown),
    }
}

/// Whether a file is read as YAML, whatever its language.
pub(crate) fn is_yaml(source: &Source) -> bool {
    detect(source) != Language::OneLine
}

fn has_yaml_name(source: &Source) -> bool {
    let extension = source.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    ["yaml", "yml", "json"].contains(&extension)
}

/// What the outermost mapping of a file says about its language, as far as it was read.
#[derive(Default)]
struct Outline {
    /// Whether the file may have a `kind` or an `apiVersion`.
    has_head: bool,
    kind: Option<String>,
    version: Option<String>,
    has_kind_key: bool,
    has_stages: bool,
    has_rules: bool,
    has_when_then_key: bool,
}

impl Outline {
    /// Takes a key, and the word behind it where that is known.
    fn take(&mut self, key: &str, word: Option<&str>) {
        self.has_kind_key |= key == "kind";
        self.has_stages |= key == "stages";
        self.has_rules |= key == "rules";
        self.has_when_then_key |= WHEN_THEN_KEYS.contains(&key);
        if let Some(word) = word {
            self.take_word(key, word);
        }
    }

    /// Takes the word behind a key. The first one counts.
    fn take_word(&mut self, key: &str, word: &str) {
        match key {
            "kind" if self.kind.is_none() => self.kind = Some(word.to_owned()),
            "apiVersion" if self.version.is_none() => self.version = Some(word.to_owned()),
            _ => {}
        }
    }

    /// Takes the lines of a file that breaks off. What was read before that place counts more.
    fn take_lines(&mut self, text: &str, is_scalar: bool) {
        let bare = |word: &str| word.trim_matches(|edge: char| " \t\r{,}\"'".contains(edge)).to_owned();
        let is_net = |(key, value): (&str, &str)| bare(key) == "kind" && bare(value) == "Net";
        let lines = || text.lines().filter_map(|line| line.split_once(':'));
        if !is_scalar && self.kind.is_none() && lines().any(is_net) {
            self.kind = Some("Net".to_owned());
        }
        for (key, value) in lines() {
            if !is_scalar {
                self.take_word(&bare(key), &bare(value));
            }
            // Only a line that is not indented can be a key of the outermost mapping.
            let key = key.trim_end().trim_matches(['"', '\'']);
            self.has_kind_key |= key == "kind";
            self.has_when_then_key |= WHEN_THEN_KEYS.contains(&key);
        }
    }

    /// The language, if nothing that follows can change it.
    fn early(&self) -> Option<Language> {
        match self.kind.as_deref() {
            Some("Net") => Some(Language::Net),
            Some("Workflow") => Some(Language::Workflow),
            Some(kind) if RULESET_KINDS.contains(&kind) => Some(Language::Ruleset),
            _ if !self.has_head && self.has_when_then_key => Some(Language::WhenThen),
            _ => None,
        }
    }

    /// The language of a file that has been read. A misspelt kind must not turn it into something else.
    fn late(&self) -> Option<Language> {
        let is_edictum = self.version.as_deref().is_some_and(|version| version.starts_with("edictum/"));
        let has_stages = self.has_stages && !self.has_rules;
        let is_workflow = match self.kind.as_deref() {
            Some(kind) => {
                closest(kind, ["Workflow", "Ruleset", "Net"]) == Some("Workflow")
                    && (is_edictum || has_stages)
            }
            None => is_edictum && has_stages,
        };
        match () {
            () if is_workflow => Some(Language::Workflow),
            () if is_edictum => Some(Language::Ruleset),
            () if !self.has_kind_key && self.has_when_then_key => Some(Language::WhenThen),
            () => None,
        }
    }
}
