//! The one-line language: one statement a line, plain words, `#` for comments.
//!
//! ```text
//! map bash.command rm as delete          # calls of `bash` that say `rm` are known as `delete`
//! map bash running git push as push      # commands of its scripts that run it, not those that mention it
//! map any shell running rm as delete     # the same for the shell tools of all agents that are known
//! script python.code                     # this field holds a script, too
//! require backup before delete           # each delete spends one successful backup
//! require human-approval before deploy
//! limit send to 3 per session            # or `per read`: each read gives one back
//! block shutdown
//! observe block email                    # only record what the rule would have done
//! mode observe                           # the same for every rule of this file
//! unreadable scripts: block              # or `ask`, `allow`: what happens to scripts that cannot be read
//! claim never delete before backup       # proved over all sessions, or refuted with the shortest one
//! example: backup ok, delete -> allow    # one session, played when the policy is verified
//! ```
//!
//! [`parse`] never fails and never stops at a mistake: each line is read on its own, and every mistake
//! comes with the text it is about and a remedy. Names are any text without white space, keywords
//! included; there are no quotes, wildcards or line continuations. What is legal but odd is told by
//! [`lint`](crate::lint()), not here.

pub(crate) mod claims;
pub(crate) mod words;

use std::num::NonZeroU64;

use lockgate_call::{agent_tools, shell_tools};
use lockgate_pattern::Pattern;
use lockgate_policy::{
    Decision, Diagnostic, DraftRule, LIMIT_MAX, Map, Mode, Scope, ScriptField, Source, Span, Statement,
    Takes, UnreadableLine, closest, without_folder,
};
use words::{PatternText, Word, lines, words_of};

use crate::draft::Draft;

/// How many mistakes one file may have before the rest of it is left unread: a file of another language
/// would otherwise be answered by a report many times its size.
pub const MISTAKES_MAX: usize = 1_000;

/// Reads a file of one-line statements and reports all its mistakes, in file order.
pub fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    let mut parser = Parser { source, draft: Draft::of(source), mode: None, diagnostics: Vec::new() };
    for (line, start) in lines(source.text()) {
        let words = words_of(line, start);
        if parser.diagnostics.len() >= MISTAKES_MAX && !words.is_empty() {
            parser.give_up(&words);
            break;
        }
        parser.line(&words);
    }
    parser.finish()
}

const MAP: &str = "map <tool>.<field> <pattern> as <name>";
const RUNNING: &str = "map <tool> running <program> as <name>";
const SCRIPT: &str = "script <tool>.<field>";
const SEQUENCE: &str = "require <tool> before <tool>";
const APPROVAL: &str = "require human-approval before <tool>";
const LIMIT: &str = "limit <tool> to <N> per <scope>";
const BLOCK: &str = "block <tool>";
const OBSERVE: &str = "observe <rule>";
const MODE: &str = "mode <observe|enforce>";
const UNREADABLE: &str = "unreadable scripts: <ask|block|allow>";

/// The words a line may start with, and the shape of the statement each of them starts.
const KEYWORDS: [(&str, &str); 10] = [
    ("map", MAP),
    ("script", SCRIPT),
    ("require", SEQUENCE),
    ("limit", LIMIT),
    ("block", BLOCK),
    ("observe", OBSERVE),
    ("mode", MODE),
    ("unreadable", UNREADABLE),
    ("claim", "claim <tool> possible"),
    ("example:", "example: <tool> -> <verdict>"),
];

/// What people write who know another rule language, and what we call it.
const SYNONYMS: [(&str, &str); 6] = [
    ("deny", "block"),
    ("forbid", "block"),
    ("need", "require"),
    ("alias", "map"),
    ("shadow", "observe"),
    ("max", "limit"),
];

/// The flags of a regular expression that mean something here.
const REGEX_FLAGS: [char; 3] = ['i', 'm', 's'];

struct Parser<'t> {
    source: &'t Source,
    draft: Draft,
    /// What the `mode` line says, and where.
    mode: Option<(Mode, Span)>,
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Parser<'t> {
    fn line(&mut self, words: &[Word<'t>]) {
        match words {
            [] => {}
            [first, ..] if first.text == "map" => self.map(words),
            [first, ..] if first.text == "script" => self.script(words),
            [first, ..] if first.text == "mode" => self.mode(words),
            [first, ..] if first.text == "claim" => self.claim(words),
            [first, ..] if first.text.starts_with("example:") => self.example(words),
            [first, rest @ ..] if first.text == "observe" => self.observe(*first, rest),
            _ => self.rule(words, span_of(words), Mode::Enforce),
        }
    }

    fn finish(mut self) -> (Draft, Vec<Diagnostic>) {
        if let Some((Mode::Observe, _)) = self.mode {
            self.draft.rules.iter_mut().for_each(|rule| rule.mode = Mode::Observe);
            self.draft.unreadable.iter_mut().for_each(|line| line.mode = Mode::Observe);
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        (self.draft, self.diagnostics)
    }

    /// `mode observe` or `mode enforce`, once, anywhere in the file.
    fn mode(&mut self, words: &[Word<'t>]) {
        let Some([_, value]) = self.shaped(words, MODE) else {
            return;
        };
        let mode = match value.text {
            "observe" => Mode::Observe,
            "enforce" => Mode::Enforce,
            other => {
                let meant = closest(other, ["observe", "enforce"]);
                self.report(
                    self.error(
                        "unknown-mode",
                        value.span(),
                        format!("unknown mode '{other}'. Expected 'observe' or 'enforce'"),
                    )
                    .label(meant.map_or("not a mode".into(), did_you_mean))
                    .remedy(
                        "write `mode observe` to only record what the rules would do, `mode enforce` to act",
                    ),
                );
                return;
            }
        };
        if let Some((_, first)) = self.mode {
            let line = self.source.place(first).line;
            self.report(
                self.error(
                    "second-mode",
                    span_of(words),
                    "the mode of this file is set twice",
                )
                .label(format!("first set in line {line}"))
                .remedy(
                    "keep one `mode` line; to only observe some rules, write `observe` before each of them",
                ),
            );
            return;
        }
        self.mode = Some((mode, span_of(words)));
    }

    /// `observe RULE`. The rule's own words are counted from 1, as without the prefix.
    fn observe(&mut self, prefix: Word<'t>, rule: &[Word<'t>]) {
        let Some(last) = rule.last() else {
            self.report(
                self.error(
                    "observe-without-rule",
                    prefix.span(),
                    "'observe <rule>' expects a rule, got none",
                )
                .label("observe what?")
                .remedy("write the rule behind it, as in `observe block deploy`"),
            );
            return;
        };
        let span = Span::new(prefix.start, last.span().end);
        match rule.first() {
            Some(word) if ["map", "script", "mode", "observe", "claim", "example:"].contains(&word.text) => {
                self.report(
                self.error(
                    "observe-without-rule",
                    word.span(),
                    format!("'{OBSERVE}' expects a rule, got '{}'", word.text),
                )
                .label("not a rule")
                .remedy("write `observe` before `require`, `limit` or `block` only, or `mode observe` for the whole file"),
                );
            }
            _ => self.rule(rule, span, Mode::Observe),
        }
    }

    fn rule(&mut self, words: &[Word<'t>], span: Span, mode: Mode) {
        if let Some(wants) = self.unreadable(words) {
            return self.take_unreadable(wants, span, mode);
        }
        if self.is_permission(words) {
            return;
        }
        let statement = match words {
            [first, ..] if first.text == "unreadable" => return,
            [first, ..] if first.text == "require" => self.require(words),
            [first, ..] if first.text == "limit" => self.limit(words),
            [first, ..] if first.text == "block" => self.block(words),
            _ => return self.unknown_keyword(words),
        };
        self.draft.rules.extend(statement.map(|statement| DraftRule { statement, span, mode }));
    }

    /// `unreadable scripts: ask`, or `ask about any unreadable script`; the same with `block` and `allow`.
    fn unreadable(&mut self, words: &[Word<'t>]) -> Option<Decision> {
        let spoken: Vec<&str> = texts(words).collect();
        match spoken.as_slice() {
            ["ask", "about", "any", "unreadable", "script" | "scripts"] => return Some(Decision::Ask),
            ["block", "any", "unreadable", "script" | "scripts"] => return Some(Decision::Block),
            ["allow", "any", "unreadable", "script" | "scripts"] => return Some(Decision::Allow),
            ["unreadable", ..] => {}
            _ => return None,
        }
        let [_, _, value] = self.shaped(words, UNREADABLE)?;
        match value.text {
            "ask" => Some(Decision::Ask),
            "block" => Some(Decision::Block),
            "allow" => Some(Decision::Allow),
            other => {
                let meant = closest(other, ["ask", "block", "allow"]);
                self.report(
                    self.error(
                        "unknown-verdict",
                        value.span(),
                        format!("unknown verdict '{other}'. Expected 'ask', 'block' or 'allow'"),
                    )
                    .label(meant.map_or("not a verdict for scripts".into(), did_you_mean))
                    .remedy("write `unreadable scripts: ask` to ask a human about them, `block` to refuse them, `allow` to let them pass"),
                );
                None
            }
        }
    }

    fn take_unreadable(&mut self, wants: Decision, span: Span, mode: Mode) {
        if let Some(first) = &self.draft.unreadable {
            let line = self.source.place(first.span).line;
            self.report(
                self.error(
                    "second-unreadable",
                    span,
                    "this file says twice what happens to unreadable scripts",
                )
                .label(format!("first said in line {line}"))
                .remedy("keep one of the two lines"),
            );
            return;
        }
        self.draft.unreadable = Some(UnreadableLine { wants, span, mode });
    }

    fn require(&mut self, words: &[Word<'t>]) -> Option<Statement> {
        // Only the second word makes it an approval: a tool that has to wait may well be called `human-approval`.
        if words.get(1).is_some_and(|word| word.text == "human-approval") {
            let [_, _, _, tool] = self.shaped(words, APPROVAL)?;
            self.no_wildcards(&[*tool])?;
            return Some(Statement::Approval { tool: tool.text.into() });
        }
        let [_, prerequisite, _, dependent] = self.shaped(words, SEQUENCE)?;
        self.no_wildcards(&[*prerequisite, *dependent])?;
        Some(Statement::Sequence { prerequisite: prerequisite.text.into(), dependent: dependent.text.into() })
    }

    fn block(&mut self, words: &[Word<'t>]) -> Option<Statement> {
        let [_, tool] = self.shaped(words, BLOCK)?;
        self.no_wildcards(&[*tool])?;
        Some(Statement::Block { tool: tool.text.into() })
    }

    fn limit(&mut self, words: &[Word<'t>]) -> Option<Statement> {
        let [_, tool, _, count, _, scope] = self.shaped(words, LIMIT)?;
        let count = self.count(*count, *tool)?;
        self.no_wildcards(&[*tool, *scope])?;
        let scope = match scope.text {
            "session" => Scope::Session,
            action => Scope::Action(action.into()),
        };
        Some(Statement::Limit { tool: tool.text.into(), count, scope })
    }

    /// Names are taken letter by letter, so a rule about `file_*` would never see a call. Gives nothing where there is one.
    fn no_wildcards(&mut self, names: &[Word<'t>]) -> Option<()> {
        let Some(name) = names.iter().find(|name| name.text.contains('*')).copied() else { return Some(()) };
        let remedy = match name.text {
            "*" => {
                "write `default_verdict: block` into a `.yaml` file to close every tool that no rule opens"
                    .to_owned()
            }
            text => format!(
                "write one line for each tool, or a rule with `when: {{tool: \"{text}\"}}` into a `.yaml` file"
            ),
        };
        self.report(
            self.error("wildcard", name.span(), format!("`{}` is not the name of a tool", name.text))
                .label("there are no wildcards in names")
                .remedy(remedy),
        );
        None
    }

    /// Tells what to write instead of `Bash(rm *)`, which is how agents write permissions.
    fn is_permission(&mut self, words: &[Word<'t>]) -> bool {
        let Some(at) = words.iter().skip(1).position(|word| permitted_tool(word.text).is_some()) else {
            return false;
        };
        let (before, rest) = words.split_at(at + 1);
        let length = rest.iter().position(|word| word.text.ends_with(')')).map_or(rest.len(), |end| end + 1);
        let (permission, after) = rest.split_at(length);
        let span = span_of(permission);
        let text = self.source.slice(span).to_owned();
        let is_map = before.first().is_some_and(|word| word.text == "map");
        let remedy = match permission_remedy(&text) {
            Some((map, name)) if is_map => {
                let given = after.last().map_or(name.as_str(), |word| word.text);
                format!("write `{} as {given}`", map.trim_end_matches(&format!(" as {name}")))
            }
            Some((map, name)) => {
                let rule =
                    texts(before).chain([name.as_str()]).chain(texts(after)).collect::<Vec<_>>().join(" ");
                format!("write `{map}` and `{rule}`")
            }
            None => {
                "name the calls that are meant with `map TOOL.FIELD PATTERN as NAME`, and write NAME here"
                    .to_owned()
            }
        };
        self.report(
            self.error(
                "permission-syntax",
                span,
                format!("`{text}` is a permission of an agent, not the name of a tool"),
            )
            .label("a name has no brackets here")
            .remedy(remedy),
        );
        true
    }

    /// Decimal digits with an optional `+`. Nothing is cut off or rounded: a limit that is not the one on
    /// the page is worse than none.
    fn count(&mut self, word: Word<'t>, tool: Word<'t>) -> Option<NonZeroU64> {
        let text = word.text;
        let digits = text.strip_prefix('+').unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let value = digits.parse::<u64>().ok().filter(|value| *value <= LIMIT_MAX);
        if is_number && value.is_none() {
            self.report(
                self.error(
                    "limit-too-large",
                    word.span(),
                    format!("limit count must be at most {LIMIT_MAX}, got '{text}'"),
                )
                .label("more than a limit can count")
                .remedy(format!("write `{LIMIT_MAX}` or less, or leave the limit out")),
            );
            return None;
        }
        let count = value.filter(|_| is_number).and_then(NonZeroU64::new);
        if count.is_none() {
            let remedy = match probable_count(text) {
                Some(0) => format!("write `block {}` to forbid it altogether", tool.text),
                Some(probable) => format!("write `{probable}`, if that is the number you mean"),
                None => "write a whole number of calls, as in `limit send to 3 per session`".into(),
            };
            self.report(
                self.error(
                    "bad-count",
                    word.span(),
                    format!("limit count must be a positive integer, got '{text}'"),
                )
                .label("not a whole number from 1")
                .remedy(remedy),
            );
        }
        count
    }

    fn map(&mut self, words: &[Word<'t>]) {
        if words.get(1).is_some_and(|tool| permitted_tool(tool.text).is_some()) && self.is_permission(words) {
            return;
        }
        if words.get(1).is_some_and(|tool| tool.text.contains('*')) {
            self.no_wildcards(words.get(1..2).unwrap_or_default());
            return;
        }
        let joined = self.with_shell_as_one_word(words);
        let words = joined.as_deref().unwrap_or(words);
        // With a field, `running` in five words is a pattern like any other.
        if let [_, tool, running, ..] = words
            && running.text == "running"
            && (!tool.text.contains('.') || words.len() > 5)
        {
            return self.running(words);
        }
        let Some([_, target, pattern, _, name]) = self.shaped(words, MAP) else {
            return;
        };
        let target = self.target(*target);
        let pattern = self.pattern(*pattern);
        if let (Some((tool, field)), Some(pattern)) = (target, pattern) {
            self.put(tool, &Takes::Field { field: field.into(), pattern }, *name, words);
        }
    }

    /// The words of a map with `any shell` as one of them, in the place of the tool. A tool may still be called `any`:
    /// no map of such a tool has `shell` behind it.
    fn with_shell_as_one_word(&self, words: &[Word<'t>]) -> Option<Vec<Word<'t>>> {
        let [map, any, shell, rest @ ..] = words else { return None };
        let is_shell = shell.text == "shell" || shell.text.starts_with("shell.");
        if any.text != "any" || !is_shell {
            return None;
        }
        let text = self.source.text().get(any.start..shell.span().end)?;
        let shells = Word { text, start: any.start };
        Some([*map, shells].into_iter().chain(rest.iter().copied()).collect())
    }

    /// `map TOOL running PROGRAM [ARG…] as NAME`. Arguments may be any words, `as` included: the last one counts.
    fn running(&mut self, words: &[Word<'t>]) {
        let Some(([_, tool, _, program, arguments @ ..], [r#as, name])) = words.split_last_chunk() else {
            return self.too_few_for_running(words);
        };
        if r#as.text != "as" {
            self.report(
                self.error(
                    "expected-word",
                    r#as.span(),
                    format!("expected 'as' at position {}, got '{}'", words.len() - 1, r#as.text),
                )
                .label("expected `as`")
                .remedy(format!("put `as` before the name, which is the last word: `… as {}`", name.text)),
            );
        }
        if let Some((bare, _)) = tool.text.split_once('.') {
            let rest = words.get(2..).unwrap_or_default();
            let right: Vec<&str> = ["map", bare].into_iter().chain(texts(rest)).collect();
            self.report(
                self.error(
                    "unexpected-field",
                    tool.span(),
                    format!("expected a tool without a field (e.g., bash), got '{}'", tool.text),
                )
                .label("`running` looks at every script of the tool")
                .remedy(format!("write `{}`", right.join(" "))),
            );
        }
        if program.text.contains('/') {
            self.report(
                self.error(
                    "program-with-folder",
                    program.span(),
                    format!("a program is known by its name alone, not as '{}'", program.text),
                )
                .label("neither a path nor a pattern")
                .remedy(format!("write `{}`; it is taken from every folder", without_folder(program.text))),
            );
        }
        let words_of_arguments = texts(arguments).map(str::to_owned).collect();
        let takes = Takes::Running { program: program.text.into(), words: words_of_arguments };
        self.put(tool.text, &takes, *name, words);
    }

    fn too_few_for_running(&mut self, words: &[Word<'t>]) {
        let expected = RUNNING.split(' ').count();
        let got = words.len();
        self.report(
            self.error(
                "token-count",
                span_of(words),
                format!("'{RUNNING}' expects at least {expected} tokens, got {got}"),
            )
            .label(format!("{} too few", expected.saturating_sub(got)))
            .remedy(format!("write `{}`", completed(texts(words), RUNNING))),
        );
    }

    fn put(&mut self, tool: &str, takes: &Takes, name: Word<'t>, statement: &[Word<'t>]) {
        let span = span_of(statement);
        let is_any_shell = is_any_shell(tool);
        for tool in self.tools_named(tool, statement) {
            let (takes, name) = (takes.clone(), name.text.to_owned());
            self.draft.maps.push(Map { tool, takes, name, span, is_any_shell });
        }
    }

    /// The tools that stand in the place of one: `any shell`, or several with `|` between them.
    fn tools_named(&mut self, text: &str, statement: &[Word<'t>]) -> Vec<String> {
        if is_any_shell(text) {
            return shell_tools().into_iter().map(str::to_owned).collect();
        }
        if text.split('|').any(str::is_empty) {
            let word = statement.get(1).map_or_else(|| span_of(statement), Word::span);
            self.report(
                self.error("empty-target", word, format!("a name is missing beside `|` in '{text}'"))
                    .label("one of the tools has no name")
                    .remedy("write the tools with one `|` between them, as in `Bash|Shell`"),
            );
            return Vec::new();
        }
        let mut tools: Vec<String> = Vec::new();
        for tool in text.split('|') {
            if !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
        tools
    }

    /// `script TOOL.FIELD`, anywhere in the file.
    fn script(&mut self, words: &[Word<'t>]) {
        let Some([_, target]) = self.shaped(words, SCRIPT) else {
            return;
        };
        if let Some((tool, field)) = self.target(*target) {
            for tool in self.tools_named(tool, words) {
                self.draft.scripts.push(ScriptField { tool, field: field.to_owned(), span: span_of(words) });
            }
        }
    }

    /// `TOOL.FIELD`, split at the first dot: the others belong to the field.
    fn target(&mut self, word: Word<'t>) -> Option<(&'t str, &'t str)> {
        let text = word.text;
        let Some((tool, field)) = text.split_once('.') else {
            self.report(
                self.error(
                    "missing-field",
                    word.span(),
                    format!("expected <tool>.<field> (e.g., bash.command), got '{text}'"),
                )
                .label("which field of its input?")
                .remedy(format!("write `{text}.command`, if the field `command` is meant")),
            );
            return None;
        };
        if tool.is_empty() || field.is_empty() {
            let missing = if tool.is_empty() { "tool" } else { "field" };
            self.report(
                self.error(
                    "empty-target",
                    word.span(),
                    format!("tool and field must be non-empty in '{text}'"),
                )
                .label(format!("the {missing} is missing"))
                .remedy("write the tool, a dot and the field of its input, as in `bash.command`"),
            );
            return None;
        }
        Some((tool, field))
    }

    fn pattern(&mut self, word: Word<'t>) -> Option<Pattern> {
        let (body, flags) = match PatternText::read(word.text) {
            PatternText::Word => {
                self.warn_of_flags_misread(word);
                return Some(Pattern::word(word.text));
            }
            PatternText::Regex { body: "", .. } => {
                self.report(
                    self.error("empty-regex", word.span(), "empty regex pattern")
                        .label("matches every text")
                        .remedy("write what the field has to contain, as in `/^rm/`, or `/./` for any text"),
                );
                return None;
            }
            PatternText::Regex { body, flags } => (body, flags),
        };
        let body_start = word.start + 1;
        if flags.contains(|flag| !REGEX_FLAGS.contains(&flag)) {
            self.unknown_flags(word, body, flags);
            return None;
        }
        if !flags.is_empty() && PatternText::has_bare_slash(body) {
            self.report(
                Diagnostic::warning(
                    "looks-like-path",
                    self.source,
                    word.span(),
                    format!("`{}` is read as a regular expression with the flags `{flags}`", word.text),
                )
                .label("or is this a path?")
                .remedy(format!(
                    "write `/{}/` for the path, or `\\/` for each slash within the regular expression",
                    escape_slashes(word.text)
                )),
            );
        }
        Pattern::regex(body, flags)
            .map_err(|error| {
                // Kept within the body whatever the engine says: it may count in a translated text.
                let at = error.at.unwrap_or(0..body.len());
                let start = body.floor_char_boundary(at.start);
                let end = body.floor_char_boundary(at.end).max(start);
                let at = Span::new(body_start + start, body_start + end);
                self.report(
                    self.error("invalid-regex", at, format!("invalid regular expression: {}", error.message))
                        .label("here")
                        .remedy("put a `\\` before a character that is meant literally, or write a plain word without slashes"),
                );
            })
            .ok()
    }

    fn unknown_flags(&mut self, word: Word<'t>, body: &str, flags: &str) {
        let (known, unknown): (String, String) = flags.chars().partition(|flag| REGEX_FLAGS.contains(flag));
        let end = word.span().end;
        self.report(
            self.error(
                "unknown-regex-flag",
                Span::new(end.saturating_sub(flags.len()), end),
                format!("unknown regex flag '{unknown}'. Supported flags are 'i', 'm', and 's'"),
            )
            .label("not supported here")
            .remedy(format!("write `/{body}/{known}`, or `/{}/` if it is a path", escape_slashes(word.text))),
        );
    }

    /// `/rm/q` and `/rm/I` are plain words, and so are `/bin/rm` and `/usr/bin/dd`; only the former look
    /// as if flags were meant.
    fn warn_of_flags_misread(&mut self, word: Word<'t>) {
        let Some((body, flags)) = word.text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) else {
            return;
        };
        let looks_like_flags =
            flags.chars().count() == 1 || PatternText::are_flags(&flags.to_ascii_lowercase());
        if looks_like_flags {
            self.report(
                Diagnostic::warning(
                    "looks-like-regex",
                    self.source,
                    word.span(),
                    format!("`{}` is read as plain text: `{flags}` is not a regex flag", word.text),
                )
                .label("matches this text, slashes included")
                .remedy(format!(
                    "write `/{body}/i` for a regular expression; the flags are `i`, `m` and `s`"
                )),
            );
        }
    }

    fn unknown_keyword(&mut self, words: &[Word<'t>]) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        let text = first.text;
        let synonym =
            SYNONYMS.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(text)).map(|(_, ours)| *ours);
        let meant = synonym.or_else(|| closest(text, KEYWORDS.map(|(keyword, _)| keyword)));
        let meant = meant.and_then(|meant| KEYWORDS.into_iter().find(|(keyword, _)| *keyword == meant));
        let remedy = match meant {
            // Neither has one shape, and both have a parser that tells what is wrong with the rest.
            Some((keyword @ ("claim" | "example:"), _)) if !rest.is_empty() => {
                let said: Vec<&str> = [keyword].into_iter().chain(texts(rest)).collect();
                format!("write `{}`", said.join(" "))
            }
            Some((keyword, shape)) => {
                format!("write `{}`", completed([keyword].into_iter().chain(texts(rest)), shape))
            }
            None if text == "allow" => "leave the line out: what no rule names passes".into(),
            None => "start the line with `require`, `limit`, `block`, `map`, `script`, `observe`, `mode`, `unreadable scripts:`, `claim` or `example:`, or with `#` for a comment".into(),
        };
        self.report(
            self.error(
                "unknown-keyword",
                first.span(),
                format!("unknown keyword '{text}'. Expected 'map', 'require', 'limit', or 'block'"),
            )
            .label(meant.map_or("no statement starts like this".into(), |(keyword, _)| did_you_mean(keyword)))
            .remedy(remedy),
        );
    }

    /// The words of a statement, if there are as many as its shape has. Fixed words that differ are
    /// reported, but do not keep the other words from being looked at.
    fn shaped<'w, const N: usize>(
        &mut self,
        words: &'w [Word<'t>],
        shape: &str,
    ) -> Option<&'w [Word<'t>; N]> {
        let Ok(exact) = <&[Word<'t>; N]>::try_from(words) else {
            self.wrong_count(words, shape, N);
            return None;
        };
        for (position, (word, expected)) in words.iter().zip(shape.split(' ')).enumerate() {
            if !expected.starts_with('<') && word.text != expected && position > 0 {
                self.wrong_word(words, shape, position, *word, expected);
            }
        }
        Some(exact)
    }

    fn wrong_count(&mut self, words: &[Word<'t>], shape: &str, expected: usize) {
        let got = words.len();
        let surplus = words.get(expected..).unwrap_or_default();
        let (span, label, remedy) = if surplus.is_empty() {
            let missing = expected.saturating_sub(got);
            (span_of(words), format!("{missing} too few"), self.remedy_for_too_few(words, shape))
        } else {
            (span_of(surplus), format!("{} too many", surplus.len()), remedy_for_too_many(words, surplus))
        };
        self.report(
            self.error("token-count", span, format!("'{shape}' expects {expected} tokens, got {got}"))
                .label(label)
                .remedy(remedy),
        );
    }

    fn remedy_for_too_few(&self, words: &[Word<'t>], shape: &str) -> String {
        let end = span_of(words).end;
        let cut_by_comment = self.source.text().get(end..).is_some_and(|rest| rest.starts_with('#'));
        match words {
            [keyword, _, pattern] if keyword.text == "map" && cut_by_comment => {
                format!("write `/{}#…/`: outside of slashes a `#` starts a comment", pattern.text)
            }
            _ => format!("write `{}`", completed(texts(words), shape)),
        }
    }

    fn wrong_word(
        &mut self,
        words: &[Word<'t>],
        shape: &str,
        position: usize,
        word: Word<'t>,
        expected: &str,
    ) {
        let statement = corrected(words, shape);
        let remedy = match words {
            // Never a bare correction here: whoever writes `after` means the other way round.
            [_, first, _, second] if expected == "before" => {
                format!("write `{statement}`, if `{}` has to wait for `{}`", second.text, first.text)
            }
            _ => format!("write `{statement}`"),
        };
        let meant = closest(word.text, [expected]);
        self.report(
            self.error(
                "expected-word",
                word.span(),
                format!("expected '{expected}' at position {}, got '{}'", position + 1, word.text),
            )
            .label(meant.map_or_else(|| format!("expected `{expected}`"), did_you_mean))
            .remedy(remedy),
        );
    }

    fn give_up(&mut self, words: &[Word<'t>]) {
        self.report(
            self.error("too-many-mistakes", span_of(words), format!("more than {MISTAKES_MAX} mistakes"))
                .label("not read from here on")
                .remedy("mend the mistakes above first, or check that this is a file of one-line rules"),
        );
    }

    fn error(&self, code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.source, span, message)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// Where the comment of a line starts.
pub(crate) fn comment_start(line: &str) -> Option<usize> {
    words::comment_start(line)
}

/// From the first to the last of these words.
fn span_of(words: &[Word<'_>]) -> Span {
    let start = words.first().map_or(0, |word| word.start);
    Span::new(start, words.last().map_or(start, |word| word.span().end))
}

/// The tool of a text such as `Bash(rm` or `Read(./.env)`, as the permissions of agents name calls.
pub(crate) fn permitted_tool(text: &str) -> Option<&str> {
    let (tool, _) = text.split_once('(')?;
    let is_known = shell_tools().contains(&tool)
        || tool.starts_with("mcp__")
        || agent_tools("claude-code").is_some_and(|agent| agent.has(tool));
    is_known.then_some(tool)
}

/// The map for a permission on a shell such as `Bash(git push:*)`, and the name it gives.
pub(crate) fn permission_remedy(text: &str) -> Option<(String, String)> {
    let (tool, inner) = text.split_once('(')?;
    let inner = inner.trim_end_matches(')').trim_end_matches('*').trim_end_matches(':');
    let words: Vec<&str> = inner.split_whitespace().filter(|word| !word.contains('*')).collect();
    if words.is_empty()
        || !shell_tools().contains(&tool)
        || words.iter().any(|word| word.contains(['/', '#']))
    {
        return None;
    }
    let name = words.iter().take(2).map(|word| word.trim_start_matches('-')).collect::<Vec<_>>().join("-");
    Some((format!("map any shell running {} as {name}", words.join(" ")), name))
}

/// Whether a tool is written as `any shell`: no single word has white space in it.
fn is_any_shell(tool: &str) -> bool {
    tool.contains(char::is_whitespace)
}

fn texts<'t>(words: &[Word<'t>]) -> impl Iterator<Item = &'t str> {
    words.iter().map(|word| word.text)
}

fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

/// The statement with its fixed words put right.
fn corrected(words: &[Word<'_>], shape: &str) -> String {
    let right = |(word, expected): (&Word<'_>, &str)| match expected.starts_with('<') {
        true => word.text.to_owned(),
        false => expected.to_owned(),
    };
    words.iter().zip(shape.split(' ')).map(right).collect::<Vec<_>>().join(" ")
}

/// The statement with what it lacks filled in, or its bare shape where the words do not fit into it.
fn completed<'t>(words: impl Iterator<Item = &'t str>, shape: &'t str) -> String {
    let mut rest = words.peekable();
    let mut filled = Vec::new();
    let mut slots = shape.split(' ').peekable();
    while let Some(slot) = slots.next() {
        let is_fixed = !slot.starts_with('<');
        let next_fixed = slots.peek().copied();
        match rest.next_if(|word| if is_fixed { *word == slot } else { Some(*word) != next_fixed }) {
            Some(word) => filled.push(word),
            None => filled.push(slot),
        }
    }
    if rest.peek().is_some() { shape.to_owned() } else { filled.join(" ") }
}

fn remedy_for_too_many(words: &[Word<'_>], surplus: &[Word<'_>]) -> String {
    let keyword = words.first().map_or("", |word| word.text);
    let is_open_regex = |word: &Word<'_>| word.text.starts_with('/') && word.text.rfind('/') == Some(0);
    if keyword == "map" && words.get(2).is_some_and(is_open_regex) {
        "write `\\s` for a space within a pattern, as in `/git\\spush/`".into()
    } else if keyword == "require" && words.iter().skip(1).any(|word| is_human(&word.text.to_lowercase())) {
        let tool = words.last().map_or("deploy", |word| word.text);
        format!("write `require human-approval before {tool}`, with a hyphen")
    } else if keyword == "limit" && surplus.last().is_some_and(|word| period_seconds(word.text).is_some()) {
        let tool = words.get(1).map_or("deploy", |word| word.text);
        format!(
            "write `per session`; limits over time are `rate_limits` of a `.yaml` file: `- {{tool: {tool}, max_calls: 3, window_seconds: 3600}}`"
        )
    } else if words.iter().any(|word| word.text.contains(['"', '\''])) {
        "write names without spaces and quotes; a name ends at the next space".into()
    } else if surplus.iter().any(|word| KEYWORDS.iter().any(|(keyword, _)| *keyword == word.text)) {
        "write one statement a line".into()
    } else if keyword == "block" {
        "write one `block` line for each tool".into()
    } else {
        "put a `#` before what is meant as a comment".into()
    }
}

/// Whether a word means the human of `human-approval`, in lower case.
pub(crate) fn is_human(word: &str) -> bool {
    ["human", "humans", "approval", "approvals"].contains(&word)
}

/// How many seconds a period has that somebody may have meant by a word after `per`: `hour`, `days`, `24h`.
pub(crate) fn period_seconds(word: &str) -> Option<u64> {
    let word = word.to_lowercase();
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = word.split_at_checked(digits)?;
    let unit = unit.trim_start_matches(['-', '_']);
    let seconds = match unit {
        "second" | "seconds" | "sec" | "secs" => 1,
        "minute" | "minutes" | "min" | "mins" => 60,
        "hour" | "hours" | "hr" | "hrs" | "hourly" => 3_600,
        "day" | "days" | "daily" => 86_400,
        "week" | "weeks" | "weekly" => 604_800,
        "month" | "months" | "monthly" => 2_592_000,
        "year" | "years" | "yearly" => 31_536_000,
        // Single letters are units only behind a number.
        "s" if digits > 0 => 1,
        "m" if digits > 0 => 60,
        "h" if digits > 0 => 3_600,
        "d" if digits > 0 => 86_400,
        "w" if digits > 0 => 604_800,
        _ => return None,
    };
    let number = if number.is_empty() { 1 } else { number.parse::<u64>().ok()? };
    number.checked_mul(seconds)
}

fn escape_slashes(text: &str) -> String {
    text.replace('/', "\\/")
}

/// The number someone probably means who writes `3abc`, `3.9`, `1e3`, `1_000` or `0x10`; 0 for less than 1.
fn probable_count(text: &str) -> Option<u64> {
    // Beyond this doubles skip numbers, and we would propose another one than was written.
    const DOUBLE_MAX: f64 = 9_007_199_254_740_992.0;
    let plain = text.replace(['_', ',', '\''], "");
    if let Some(digits) = plain.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|count| *count <= LIMIT_MAX);
    }
    match plain.parse::<f64>() {
        Ok(value) => (value <= DOUBLE_MAX).then_some(value.max(0.0) as u64),
        Err(_) => plain
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
            .filter(|count| *count <= LIMIT_MAX),
    }
}

#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod tests;
