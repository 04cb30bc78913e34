//! Walks through a script and lists what it may run.
//!
//! [`Reader`] follows the grammar's tree, the words' substitutions and whatever wrappers hand on, with one count
//! of every limit for all of them together. What it does not understand becomes a doubt of the whole script.
//! There is no order of time in here beyond that of the text: what runs later is found later.

use std::borrow::Cow;
use std::mem::{replace, take};
use std::panic::catch_unwind;

use rable::{Node, NodeKind};

use crate::programs::files::Change;
use crate::programs::names::has;
use crate::programs::program::{Builtin, Program};
use crate::programs::starts::{is_console, is_plain_start};
use crate::programs::table;
use crate::programs::word::{Field, Word};
use crate::shell::confirm::confirm;
use crate::shell::environment;
use crate::shell::outline::{self, Reading};
use crate::shell::scan::Place;
use crate::shell::script::{Command, Redirection, RedirectionKind, SCRIPT_BYTES_MAX, Script, TOO_LONG};
use crate::shell::variables::Variables;
use crate::shell::words::{IN_PARAMETER, Inside, look_into, resolve};
use crate::shell::written::Written;

use names::short;
use quoted::Quoted;
use steps::parser_steps;
use sums::{set_in_sums, sets_unknown_in_sums};

mod again;
mod files;
mod interpret;
mod loops;
mod names;
mod nodes;
mod quoted;
mod run;
mod settings;
mod steps;
mod sums;
mod values;

use loops::{Loop, Source};

/// How deep commands may be nested, by brackets, loops, quotes and wrappers together.
const NESTING_MAX: usize = 64;

/// The most commands that are listed.
const COMMANDS_MAX: usize = 2_000;

/// The most `$(`, `<(`, `>(` and pairs of backticks in one script.
const SUBSTITUTIONS_MAX: usize = 64;

/// The most bytes of a script times the square of how deep its substitutions are nested: so the parser's time grows.
const NESTED_BYTES_MAX: usize = 256 * 1024;

/// How often the limits of one script may be used up again by scripts within it.
const ROUNDS_MAX: usize = 4;

/// The most readings of commands that may begin at several words.
const READINGS_MAX: usize = 128;

/// The most code that is read in files because other code names them.
const BROUGHT_BYTES_MAX: usize = 256 * 1024;

/// The most variables that are listed as set.
const SETS_MAX: usize = 256;

/// The most reasons that are given for a doubt.
const DOUBTS_MAX: usize = 8;

/// What comes on a command's standard input.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// What the whole script was given. It may be a terminal, into which somebody types while the script runs.
    Open,
    /// A file, or what another command has read to its end: nobody writes there while the script runs.
    Given,
    /// This text.
    Text(String),
    /// Something another command writes.
    Computed,
    /// What the commands around a substitution read: it may be any of these.
    Around,
}

impl Input {
    /// Whether the script itself gives it.
    fn is_told(&self) -> bool {
        matches!(self, Self::Given | Self::Text(_) | Self::Computed)
    }
}

/// What stands around a command.
type Around = Cow<'static, str>;

/// What the next command that is listed brings with it.
#[derive(Default)]
struct Attached {
    redirections: Vec<Redirection>,
    assignments: Vec<(String, Word)>,
    wrapper_places: Vec<Word>,
    is_told: bool,
    is_fed_below: bool,
    is_group: bool,
}

#[derive(Default)]
pub(crate) struct Reader {
    found: Script,
    variables: Variables,
    written: Written,
    around: Vec<Around>,
    attached: Attached,
    /// Where the commands are listed that run what is read now.
    open: Vec<usize>,
    /// How many commands are opaque only because they wait for what is typed.
    consoles: usize,
    /// Whether a text that was read may connect a console to something else than a terminal.
    hides_consoles: bool,
    /// Whether there is another doubt.
    is_doubted: bool,
    /// Whether the script feeds what is read now.
    is_told: bool,
    /// Whether the next command is fed by one that lists files.
    is_fed_below: bool,
    /// Whether what is read now may be passed by.
    is_conditional: bool,
    /// Whether the shell may have ended before what is read now.
    may_have_stopped: bool,
    depth: usize,
    /// How many readings of commands were tried that may begin at several words.
    readings: usize,
    /// How much code was read in files because other code names them.
    brought_bytes: usize,
    bytes: usize,
    substitutions: usize,
    /// How many scripts, one within the other, are read now.
    scripts: usize,
    /// The line of the outermost script that is read now, where it has several.
    line: Option<usize>,
    /// Where the lines of the outermost script end, in characters, where it has several.
    line_ends: Vec<usize>,
    /// Names that may stand for anything from their definition on.
    aliases: Vec<String>,
    /// The outlines of all scripts that were read, for comparison with the second reading.
    outlines: Vec<String>,
    /// Whether what is read now is part of a text that is read twice already.
    is_compared: bool,
    /// What stands quoted in the script and would run once an index or a sum takes it in.
    quoted: Quoted,
    /// How far the parser may go down, at most, where we stand.
    steps_max: usize,
    is_cramped: bool,
    /// Whether what is read now stands behind `time`, which some shells take for a program with options.
    is_timed: bool,
    /// The text that is read now.
    source: Source,
    /// The loops around what is read now whose variables are bound.
    loops: Vec<Loop>,
}

impl Reader {
    pub(crate) fn new(steps_max: usize) -> Self {
        Self { steps_max, ..Self::default() }
    }

    /// Whether a script was left out because there is no room for it here.
    pub(crate) fn is_cramped(&self) -> bool {
        self.is_cramped
    }

    pub(crate) fn found(self) -> Script {
        let mut found = self.found;
        let opaque = found.commands.iter().filter(|command| command.opaque).count();
        // Files and variables that it sets may tell a console what to run: `.psqlrc`, `VIMINIT`.
        let makes_files = |row: &Program| row.files().change() >= Change::Copies;
        let prepares = |it: &Command| {
            !it.assignments.is_empty()
                || !it.redirections.is_empty()
                || !it.opaque
                    && !it.program.as_deref().is_some_and(is_console)
                    && it.row().is_none_or(makes_files)
        };
        let sets = !found.sets.is_empty() || !self.written.is_empty() || found.commands.iter().any(prepares);
        let hides = self.is_doubted || self.hides_consoles || sets;
        found.only_waits = self.consoles > 0 && opaque == self.consoles && !hides;
        found
    }

    /// Reads a script, the outermost or one within.
    pub(crate) fn script(&mut self, text: &str, input: &Input) {
        self.scripts += 1;
        self.read_script(text, input);
        self.scripts -= 1;
        if self.scripts == 0 {
            self.line = None;
            self.line_ends.clear();
        }
    }

    fn read_script(&mut self, text: &str, input: &Input) {
        let brackets: usize = ["$(", "<(", ">("].iter().map(|open| text.matches(open).count()).sum();
        let substitutions = brackets.saturating_add(text.matches('`').count() / 2);
        self.bytes = self.bytes.saturating_add(text.len());
        self.substitutions = self.substitutions.saturating_add(substitutions);
        if text.contains('\0') {
            // Shells drop it, so what they read is not what we would read.
            return self.doubt("the script contains a NUL character");
        }
        if text.len() > SCRIPT_BYTES_MAX || self.bytes > SCRIPT_BYTES_MAX * ROUNDS_MAX {
            return self.doubt(TOO_LONG);
        }
        if substitutions > SUBSTITUTIONS_MAX || self.substitutions > SUBSTITUTIONS_MAX * ROUNDS_MAX {
            return self.doubt("the script has too many substitutions to be read");
        }
        if self.is_cramped || parser_steps(text) > self.steps_max {
            self.is_cramped = true;
            return;
        }
        if !is_plain(text) {
            self.hides_consoles = true;
        }
        let again = if self.is_compared { None } else { outline::of_script(text) };
        // Without the second reading each substitution may stand in the one before.
        let levels = again.as_ref().map_or(substitutions, |again| again.levels);
        if !self.is_compared && levels.saturating_mul(levels).saturating_mul(text.len()) > NESTED_BYTES_MAX {
            return self.doubt("the script is nested too deeply to be read");
        }
        set_in_sums(text).iter().for_each(|name| self.sets(name));
        if sets_unknown_in_sums(text) {
            self.variables.freeze();
        }
        let outer = (replace(&mut self.source, Source::new(text)), take(&mut self.loops));
        match catch_unwind(|| rable::parse(text, false)) {
            Ok(Ok(nodes)) => {
                if self.scripts == 1 && has_lines(text) {
                    let ends = text.chars().enumerate().filter(|(_, c)| *c == '\n');
                    self.line_ends = ends.map(|(at, _)| at).collect();
                }
                self.compared(again, |reader| {
                    reader.outlines.push(outline::of_nodes(&nodes));
                    nodes.iter().for_each(|node| reader.node(node, input));
                });
                if self.depth == 0 {
                    confirm(&mut self.found, &nodes);
                }
            }
            Ok(Err(error)) => {
                self.line = self.line.or_else(|| Some(error.line()).filter(|_| has_lines(text)));
                self.doubt(&format!("the script cannot be parsed: {}", error.message()));
            }
            // A parser's mistake must not end the process that holds the gate.
            Err(_) => self.doubt("the script cannot be parsed"),
        }
        (self.source, self.loops) = outer;
    }

    /// Remembers the line of the outermost script in which a command stands, for the doubts about it. What is read
    /// within a command counts as standing where that begins.
    fn come_to(&mut self, node: &Node) {
        if self.scripts == 1 && !self.line_ends.is_empty() && !node.span.is_empty() {
            self.line = Some(self.line_ends.partition_point(|end| *end < node.span.start) + 1);
        }
    }

    /// Reads a text, and doubts it unless the second reading finds no script in there that this one has not read.
    fn compared(&mut self, again: Option<Reading>, read: impl FnOnce(&mut Self)) {
        if self.is_compared {
            return read(self);
        }
        let before = self.outlines.len();
        self.is_compared = true;
        read(self);
        self.is_compared = false;
        let read = self.outlines.get(before..).unwrap_or_default();
        if !again.is_some_and(|again| again.outlines.iter().all(|outline| read.contains(outline))) {
            // It is not about one line, unless about a value in there.
            let line = self.line.take();
            self.line = line.filter(|_| self.scripts > 1);
            self.doubt("the script can be read in more than one way");
            self.line = line;
        }
        self.outlines.truncate(before);
    }

    /// Reads a text that does not stand in the script as it is written.
    fn apart(&mut self, read: impl FnOnce(&mut Self)) {
        let before = replace(&mut self.is_compared, false);
        read(self);
        self.is_compared = before;
    }

    /// Goes one level down, unless that is too deep.
    fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= NESTING_MAX {
            return self.doubt("the script is nested too deeply to be read");
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// Reads what stands within something that is told of every command in there.
    fn within(&mut self, around: impl Into<Around>, read: impl FnOnce(&mut Self)) {
        self.around.push(around.into());
        read(self);
        self.around.pop();
    }

    /// Reads what may be passed by.
    fn perhaps(&mut self, read: impl FnOnce(&mut Self)) {
        let before = replace(&mut self.is_conditional, true);
        read(self);
        self.is_conditional = before;
    }

    /// Reads what runs in a shell of its own: its variables are a copy, and it may end alone.
    fn subshell(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.variables.clone();
        let may_have_stopped = self.may_have_stopped;
        self.deeper(read);
        self.may_have_stopped = may_have_stopped;
        self.variables.back_from_subshell(before);
    }

    fn command(
        &mut self,
        node: &Node,
        assignments: &[Node],
        words: &[Node],
        redirects: &[Node],
        input: &Input,
    ) {
        self.is_told = input.is_told();
        let is_fed_below = take(&mut self.is_fed_below);
        let fields = self.words(words);
        let mut set = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let value = self.resolved(std::slice::from_ref(assignment));
            // With a program it holds for that program alone.
            set.extend(self.assign(assignment, &value, fields.is_empty()));
        }
        if !assignments.is_empty() && fields.first().is_some_and(may_keep_assignments) {
            self.variables.forget();
        }
        let (input_now, files) = self.redirected(redirects, input);
        if files.iter().any(|file| file.kind != RedirectionKind::Reads) {
            let output =
                if fields.is_empty() { Input::Text(String::new()) } else { self.output(node, input) };
            self.write_files(redirects, &output);
        }
        if fields.is_empty() {
            // What programs after it find there, by a variable that leads them elsewhere, is listed alone.
            set.retain(|(name, _)| environment::leads_elsewhere(name));
            if !set.is_empty() {
                self.attached.assignments = take(&mut set);
                self.list(Vec::new(), None, false, None);
            }
        }
        self.attached.redirections.extend(files);
        self.attached.assignments.extend(set);
        self.attached.is_told = input_now.is_told();
        self.attached.is_fed_below = is_fed_below;
        let is_plain =
            |first: &&Field| is_named_like_an_option(first) && !self.is_timed && self.aliases.is_empty();
        if let Some(name) = fields.first().filter(is_plain) {
            // Only behind a wrapper such a word is an option.
            let name = name.text.clone();
            self.list(fields, Some(name), false, None);
        } else {
            self.run(fields, &input_now);
        }
        // A script that could not be read leaves its files behind.
        self.list_files();
        self.attached = Attached::default();
    }

    /// Resolves words, reads what they run while they are expanded, and keeps what they would run if expanded again.
    fn words(&mut self, words: &[Node]) -> Vec<Field> {
        let fields = self.resolved(words);
        fields.iter().for_each(|field| self.quoted.keep(field));
        fields
    }

    /// Resolves words and reads what they run while they are expanded.
    fn resolved(&mut self, words: &[Node]) -> Vec<Field> {
        let mut inside = Vec::new();
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            if let NodeKind::Word { value, .. } = &word.kind {
                self.quoted.look_for_sums(value);
            }
            resolve(word, &mut self.variables, &mut inside, &mut fields);
        }
        self.inside(inside);
        for field in &mut fields {
            if let Some(bound) = self.loops.iter_mut().rev().find_map(|it| it.bound(field)) {
                *field = bound;
            }
        }
        fields
    }

    /// Resolves words that are read elsewhere.
    fn peek(&mut self, words: &[Node]) -> Vec<Field> {
        let mut fields = Vec::with_capacity(words.len());
        words.iter().for_each(|word| resolve(word, &mut self.variables, &mut Vec::new(), &mut fields));
        fields
    }

    fn text(&mut self, text: &str, place: Place) {
        self.quoted.look_for_sums(text);
        if text.contains('=') {
            // It may assign, as `${x:=value}` does.
            self.variables.forget();
        }
        let mut inside = Vec::new();
        look_into(text, place, "$(…)", &mut inside);
        if text.contains(['$', '`']) {
            let again = if self.is_compared { None } else { outline::of_quoted(text) };
            self.compared(again, |reader| reader.inside(inside));
        }
    }

    fn inside(&mut self, inside: Vec<Inside<'_>>) {
        for inner in inside {
            let (around, node, text) = match inner {
                Inside::Node(node, around) => (around, Some(node), String::new()),
                Inside::Text(text, around) => (around, None, text),
                Inside::Unknown => {
                    self.doubt("the script contains a substitution that cannot be read");
                    continue;
                }
            };
            let before = self.is_conditional;
            self.is_conditional |= around == IN_PARAMETER;
            // Its places are counted from its own start.
            self.scripts += 1;
            let input = if self.is_told { Input::Computed } else { Input::Around };
            self.subshell(|reader| {
                reader.within(around, |reader| match node {
                    Some(node) => {
                        reader.outlines.push(outline::of_nodes(std::slice::from_ref(node)));
                        reader.node(node, &input);
                    }
                    None => reader.script(&text, &input),
                });
            });
            self.scripts -= 1;
            self.is_conditional = before;
        }
    }

    fn list(&mut self, words: Vec<Field>, program: Option<String>, opaque: bool, code: Option<String>) {
        if self.found.commands.len() >= COMMANDS_MAX {
            return self.doubt("the script has too many commands to be listed");
        }
        let bytes = words.iter().map(|word| word.text.len().saturating_add(1)).sum();
        let mut text_with_path = String::with_capacity(bytes);
        for word in words.iter().filter(|word| word.is_certain() || !word.text.is_empty()) {
            if !text_with_path.is_empty() {
                text_with_path.push(' ');
            }
            text_with_path.push_str(&word.text);
        }
        let folder = match (&program, words.first()) {
            (Some(program), Some(first)) => first.text.len().saturating_sub(program.len()),
            _ => 0,
        };
        let text = text_with_path.get(folder..).unwrap_or_default().to_owned();
        let Attached { redirections, assignments, wrapper_places, is_told, is_fed_below, is_group } =
            take(&mut self.attached);
        self.found.commands.push(Command {
            program,
            text,
            text_with_path,
            words: words.into_iter().map(Word::from).collect(),
            redirections,
            assignments,
            wrapper_places,
            is_unconditional: !self.is_conditional && !self.may_have_stopped,
            reached_by: self.around.iter().map(|around| around.clone().into_owned()).collect(),
            code,
            opaque,
            is_told,
            is_fed_below,
            is_group,
            is_confirmed: false,
        });
    }

    fn doubt_what_runs(&mut self, program: &str) {
        self.doubt(&what_runs(program));
    }

    /// Doubts what a program runs that waits for somebody to type it.
    fn doubt_what_is_typed(&mut self, program: &str, words: &[Field]) {
        let raises = self
            .around
            .iter()
            .any(|around| has(table::alike::RAISING, around.split(' ').next().unwrap_or_default()));
        if raises || !is_plain_start(program, words.get(1..).unwrap_or_default()) {
            return self.doubt_what_runs(program);
        }
        self.consoles = self.consoles.saturating_add(1);
        self.tell_doubt(&what_runs(program));
    }

    fn doubt(&mut self, why: &str) {
        self.is_doubted = true;
        self.tell_doubt(why);
    }

    fn tell_doubt(&mut self, why: &str) {
        self.found.opaque = true;
        let why = match self.line {
            Some(line) => format!("{why} (line {line})"),
            None => why.to_owned(),
        };
        if self.found.doubts.len() < DOUBTS_MAX && !self.found.doubts.contains(&why) {
            self.found.doubts.push(why);
        }
    }
}

fn what_runs(program: &str) -> String {
    format!("what `{}` runs is only known when the script runs", short(program))
}

/// Whether a script is one line whose commands are connected to nothing but what the script itself is: a console in
/// another one may read what the script gives it in some way that is not followed.
fn is_plain(text: &str) -> bool {
    let connects = ['<', '|', '\n', '`'];
    !text.trim().contains(connects) && !text.contains("coproc")
}

/// Whether a text has more than one line, so that it matters in which of them something stands.
fn has_lines(text: &str) -> bool {
    text.trim_end().contains('\n')
}

/// Whether a program is called like an option. No shell reads it as anything but a name; of dashes alone one does.
fn is_named_like_an_option(program: &Field) -> bool {
    let text = program.text.as_str();
    let has_name = !text.trim_start_matches('-').is_empty();
    program.is_certain() && text.starts_with('-') && has_name && !text.contains('/')
}

/// Whether variables set for this program alone may stay set: some shells, and bash in one of its modes, keep those of
/// special builtins.
fn may_keep_assignments(program: &Field) -> bool {
    let keeps = |row: &Program| row.is(Builtin::KeepsAssignments);
    !program.is_certain() || table::program(&program.text).is_some_and(keeps)
}
