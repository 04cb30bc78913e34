//! What a call amounts to, as the rules of one file see it.
//!
//! [`FileMaps::deeds`] turns a call into [`Deed`]s. A doubt never opens a gate: a deed that the maps only
//! suspect is *possible*, and possible deeds are restricted like certain ones but earn nothing. What the
//! rules then say about a deed is decided elsewhere.

use std::sync::Arc;

use lockgate_call::{Call, Command, Known, Script, Word, is_script_field};
use lockgate_pattern::{Match, Pattern};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    decision::Decision,
    hash::{HashMap, HashSet},
    names::{NameId, Names},
    rule::Mode,
    scripts::Scripts,
    statement::{Module, Takes},
};

/// What a call amounts to: a name, and whether that is certain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deed {
    /// The name rules know it by.
    pub name: Arc<str>,
    /// Whether the call really is this, or only may be.
    pub certain: bool,
    /// Whether a success of the call proves a success of this deed: nothing is earned by `cp a b || true`.
    pub is_confirmed: bool,
    /// Whether it was seen in the call, or only follows from a script that cannot be read.
    pub basis: Basis,
    /// The number of the name, where the policy knows it.
    pub id: Option<NameId>,
    /// The tool, where `name` is the dotted `tool.action`: rules without a dot see this one.
    pub tool: Option<NameId>,
}

/// Why a deed is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// The call is it, or mentions it.
    #[default]
    Seen,
    /// It is the tool itself, called with a script that cannot be read.
    Unread,
    /// It is a name that a map could give to what cannot be read.
    Guessed,
}

/// The deeds of one call, in the order in which they would happen.
pub type Deeds = SmallVec<[Deed; 2]>;

impl Deed {
    /// Whether a success of the call counts as a success of this deed. Nothing is earned by a doubt.
    pub fn earns(&self) -> bool {
        self.certain && self.is_confirmed
    }

    fn certain(id: NameId, names: &Names) -> Option<Self> {
        let name = names.get(id)?.name.clone();
        let basis = Basis::Seen;
        Some(Self { name, certain: true, is_confirmed: true, basis, id: Some(id), tool: None })
    }

    pub(crate) fn named(name: &str, names: &Names) -> Self {
        let known = names.find(name).and_then(|id| Self::certain(id, names));
        known.unwrap_or_else(|| Self {
            name: Arc::from(name),
            certain: true,
            is_confirmed: true,
            basis: Basis::Seen,
            id: None,
            tool: None,
        })
    }

    fn doubted(&self) -> Self {
        Self { certain: false, is_confirmed: false, ..self.clone() }
    }

    fn doubted_by(&self, basis: Basis) -> Self {
        Self { basis, ..self.doubted() }
    }

    /// The tool's own name, or with an action and a rule that speaks of `tool.action`, that.
    pub(crate) fn of_tool(call: &Call, tool: Option<NameId>, names: &Names) -> Self {
        let known = tool.and_then(|tool| names.get(tool));
        // A base has no dot of its own: `a.b.c` is the action `b.c` of `a`, never `c` of `a.b`.
        let action = known.filter(|known| known.has_actions).and_then(|_| call.input.get("action"));
        if let Some(Value::String(action)) = action {
            return Self { tool, ..Self::named(&format!("{}.{action}", call.tool), names) };
        }
        tool.and_then(|tool| Self::certain(tool, names)).unwrap_or_else(|| Self::named(&call.tool, names))
    }
}

/// The maps of one file, by the tool they rename.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileMaps {
    tools: HashMap<NameId, ToolMaps>,
    /// What the file says about scripts that cannot be read.
    unreadable: Option<Decision>,
}

/// The maps of one tool. Fields that hold scripts are read command by command, others as they are.
#[derive(Clone, Debug, Default)]
struct ToolMaps {
    /// The maps of fields that are no scripts, in file order.
    plain: Vec<ToolMap>,
    /// The others, in file order.
    scripts: Vec<ToolMap>,
    /// The fields that hold scripts because the file says so.
    declared: HashSet<String>,
}

#[derive(Clone, Debug)]
struct ToolMap {
    takes: Takes,
    deed: Deed,
}

/// How a map meets a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    No,
    /// The command cannot be read, so it may be what the map looks for.
    Unread,
    /// The command mentions what the map looks for, or may turn out to be it.
    Possible,
    /// The command is what the map looks for.
    Certain,
}

impl FileMaps {
    pub(crate) fn new(module: &Module, names: &mut Names) -> Self {
        let mut declared: HashMap<&str, HashSet<String>> = HashMap::default();
        for script in &module.scripts {
            declared.entry(&script.tool).or_default().insert(script.field.clone());
        }
        let mut tools: HashMap<NameId, ToolMaps> = HashMap::default();
        for map in &module.maps {
            let of_tool = tools.entry(names.add(&map.tool)).or_insert_with(|| ToolMaps {
                declared: declared.remove(map.tool.as_str()).unwrap_or_default(),
                ..ToolMaps::default()
            });
            names.add(&map.name);
            let tool_map = ToolMap { takes: map.takes.clone(), deed: Deed::named(&map.name, names) };
            match &map.takes {
                Takes::Field { field, .. } if !of_tool.is_script(field) => of_tool.plain.push(tool_map),
                Takes::Field { .. } | Takes::Running { .. } => of_tool.scripts.push(tool_map),
            }
        }
        // A line that only observes changes nothing.
        let line = module.unreadable.as_ref().filter(|line| line.mode == Mode::Enforce);
        let unreadable = line.map(|line| line.wants);
        Self { tools, unreadable }
    }

    /// What the file says about scripts that cannot be read.
    pub(crate) fn unreadable(&self) -> Option<Decision> {
        self.unreadable
    }

    /// Whether the file says that this field of a tool holds a script.
    pub(crate) fn declares_script(&self, tool: NameId, field: &str) -> bool {
        self.tools.get(&tool).is_some_and(|maps| maps.declared.contains(field))
    }

    /// The maps for a tool, in the order they are asked.
    pub(crate) fn of_tool(&self, tool: NameId) -> impl Iterator<Item = (&Takes, &Arc<str>)> {
        let maps = self.tools.get(&tool).into_iter().flat_map(|maps| maps.plain.iter().chain(&maps.scripts));
        maps.map(|map| (&map.takes, &map.deed.name))
    }

    /// Whether some map looks into scripts of a tool, or may be unsure about a field.
    pub(crate) fn reads_scripts(&self, tool: NameId) -> bool {
        let may_doubt =
            |map: &ToolMap| matches!(&map.takes, Takes::Field { pattern, .. } if !pattern.is_linear());
        self.tools.get(&tool).is_some_and(|maps| !maps.scripts.is_empty() || maps.plain.iter().any(may_doubt))
    }

    /// The names these maps give.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let maps = self.tools.values().flat_map(|maps| maps.plain.iter().chain(&maps.scripts));
        maps.map(|map| &*map.deed.name)
    }

    /// The tools these maps rename.
    pub(crate) fn tools(&self) -> impl Iterator<Item = NameId> {
        self.tools.keys().copied()
    }

    /// What a call of a mapped tool amounts to; `itself` is the deed named after the tool.
    pub(crate) fn deeds<'c>(&self, call: &'c Call, itself: Deed, scripts: &mut Scripts<'c>) -> Deeds {
        let mut deeds = Deeds::new();
        if let Some(maps) = itself.tool.or(itself.id).and_then(|tool| self.tools.get(&tool)) {
            maps.take_plain(call, &itself, &mut deeds);
            // Who lets unreadable scripts pass does not guess what they are.
            let guesses = self.unreadable != Some(Decision::Allow);
            maps.take_scripts(call, &itself, guesses, scripts, &mut deeds);
        }
        if deeds.is_empty() {
            deeds.push(itself);
        }
        deeds
    }
}

impl ToolMaps {
    fn is_script(&self, field: &str) -> bool {
        is_script_field(field) || self.declared.contains(field)
    }

    /// Fields that are no scripts: the first map of the file that matches names the call.
    fn take_plain(&self, call: &Call, itself: &Deed, deeds: &mut Deeds) {
        for map in &self.plain {
            let Takes::Field { field, pattern } = &map.takes else { continue };
            let Some(Value::String(text)) = call.input.get(field) else { continue };
            match pattern.find(text) {
                Match::No => {}
                Match::At(_) => {
                    deeds.push(map.deed.clone());
                    return;
                }
                Match::Unsure => {
                    push_once(deeds, map.deed.doubted());
                    push_once(deeds, itself.clone());
                }
            }
        }
    }

    /// Fields that are scripts: each is read for the maps of that field and for those of what any script runs.
    fn take_scripts<'c>(
        &self,
        call: &'c Call,
        itself: &Deed,
        guesses: bool,
        scripts: &mut Scripts<'c>,
        deeds: &mut Deeds,
    ) {
        for (field, value) in call.input.iter().filter(|(field, _)| self.is_script(field)) {
            let maps: SmallVec<[&ToolMap; 8]> =
                self.scripts.iter().filter(|map| map.takes.looks_at(field)).collect();
            if maps.is_empty() {
                continue;
            }
            match value {
                // A number, a flag or nothing is no script; the call is the tool itself.
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
                Value::String(_) | Value::Array(_) | Value::Object(_) => match scripts.of(call, field, value)
                {
                    Some((script, text)) => take_script(&maps, script, text, itself, guesses, deeds),
                    None => take_opaque(&maps, itself, guesses, deeds),
                },
            }
        }
    }
}

/// Reads a script command by command, then as a whole for what only the whole shows.
fn take_script(
    maps: &[&ToolMap],
    script: &Script,
    text: &str,
    itself: &Deed,
    guesses: bool,
    deeds: &mut Deeds,
) {
    if script.opaque {
        take_opaque(maps, itself, guesses, deeds);
    }
    // What some command already matched needs no second look at the whole.
    let mut explained: SmallVec<[bool; 8]> = SmallVec::from_elem(false, maps.len());
    for command in &script.commands {
        let fits: SmallVec<[Fit; 8]> = maps.iter().map(|map| map.takes.fit(command)).collect();
        for (explained, fit) in explained.iter_mut().zip(&fits) {
            *explained |= matches!(fit, Fit::Possible | Fit::Certain);
        }
        // The first map of the file that takes the command for certain ends the search. What an earlier map only
        // sees mentioned is possible as well: by the order of the file it would have come first.
        let mut is_taken = false;
        for (map, fit) in maps.iter().zip(&fits) {
            match fit {
                Fit::Unread if guesses => push_once(deeds, map.deed.doubted_by(Basis::Guessed)),
                Fit::No | Fit::Unread => {}
                Fit::Possible => push_once(deeds, map.deed.doubted()),
                Fit::Certain => {
                    deeds.push(Deed { is_confirmed: command.is_confirmed, ..map.deed.clone() });
                    is_taken = true;
                    break;
                }
            }
        }
        if !is_taken {
            let is_doubtful = script.opaque || command.opaque;
            push_once(deeds, if is_doubtful { itself.doubted_by(Basis::Unread) } else { itself.clone() });
        }
    }
    for (map, _) in maps.iter().zip(explained).filter(|(_, explained)| !explained) {
        if map.takes.shows_in(script, text) {
            push_once(deeds, map.deed.doubted());
        }
    }
}

/// A script nobody can read may do anything its maps could name.
fn take_opaque(maps: &[&ToolMap], itself: &Deed, guesses: bool, deeds: &mut Deeds) {
    for map in maps.iter().filter(|_| guesses) {
        push_once(deeds, map.deed.doubted_by(Basis::Guessed));
    }
    push_once(deeds, itself.doubted_by(Basis::Unread));
}

impl Takes {
    /// The same for two that take the same.
    pub fn key(&self) -> String {
        match self {
            Self::Field { field, pattern } => format!("{field} {}", pattern.key()),
            Self::Running { program, words } => format!("running {program} {words:?}"),
        }
    }

    fn looks_at(&self, script: &str) -> bool {
        match self {
            Self::Field { field, .. } => field == script,
            Self::Running { .. } => true,
        }
    }

    fn fit(&self, command: &Command) -> Fit {
        match self {
            Self::Field { pattern, .. } => match fit_of_pattern(pattern, command) {
                // Its text is not all of what it runs.
                Fit::No if command.opaque => Fit::Unread,
                fit => fit,
            },
            Self::Running { program, words } => match may_run(command, program) {
                Fit::Certain => fit_of_words(program, words, command.words.get(1..).unwrap_or_default()),
                // What else runs has words of its own.
                doubt => doubt,
            },
        }
    }

    /// Whether a script as a whole shows what none of its commands is: the text crosses from one command to the
    /// next, or a wrapper was taken off. Both are only possible: a wrapper must not hide what it runs from later maps.
    fn shows_in(&self, script: &Script, text: &str) -> bool {
        match self {
            Self::Field { pattern, .. } => pattern.find(text) != Match::No,
            Self::Running { program, .. } => {
                let is_wrapper = |around: &String| {
                    let first = around.split(' ').next().unwrap_or_default();
                    first.rsplit('/').next() == Some(program)
                };
                script.commands.iter().any(|command| command.reached_by.iter().any(is_wrapper))
            }
        }
    }
}

/// Where a pattern meets a command: at its very start, somewhere else, or not.
fn fit_of_pattern(pattern: &Pattern, command: &Command) -> Fit {
    // The program may be written with its folder and the pattern with or without it; both readings count.
    match (pattern.find(&command.text), pattern.find(&command.text_with_path)) {
        (Match::At(0), _) | (_, Match::At(0)) => Fit::Certain,
        (Match::No, Match::No) => Fit::No,
        _ => Fit::Possible,
    }
}

/// Whether a command is a run of this program, or may turn out to run it.
fn may_run(command: &Command, program: &str) -> Fit {
    // Code in another language that names the program may well start it.
    let is_named = |code: &String| {
        code.split(|c: char| !c.is_alphanumeric() && !"_-.+".contains(c)).any(|it| it == program)
    };
    match &command.program {
        Some(known) if known == program => Fit::Certain,
        _ if command.code.as_ref().is_some_and(is_named) => Fit::Possible,
        _ if !command.may_run(program) => Fit::No,
        // The names that fit a glob are few; what is computed may be any.
        _ if command.program_glob().is_some() => Fit::Possible,
        _ => Fit::Unread,
    }
}

/// Whether the arguments have these words in this order, whatever stands between them.
fn fit_of_words(program: &str, words: &[String], arguments: &[Word]) -> Fit {
    let is_certain =
        |argument: &Word, word: &String| argument.known == Known::Certain && argument.text == *word;
    if has_in_order(words, arguments, is_certain) {
        return Fit::Certain;
    }
    // `git commit -m "$(…)"` is a commit, whatever its message turns out to be.
    if let (Some(first), Some(known)) = (words.first(), subcommand(program, arguments))
        && known != first
    {
        return Fit::No;
    }
    // What is computed when the script runs may become any number of words.
    let is_unknown = arguments.iter().any(|argument| argument.known == Known::Unknown);
    if is_unknown || has_in_order(words, arguments, |argument, word| may_be(argument, word)) {
        return Fit::Possible;
    }
    Fit::No
}

/// Programs whose first argument says what they do, with the options that may stand before it: those with a value
/// of their own, and those without.
const SUBCOMMANDS: &[(&str, &[&str], &[&str])] = &[
    (
        "git",
        &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"],
        &["-p", "-P", "--paginate", "--no-pager", "--bare", "--no-replace-objects", "--literal-pathspecs"],
    ),
    (
        "docker",
        &["--config", "-c", "--context", "-H", "--host", "-l", "--log-level"],
        &["-D", "--debug", "--tls"],
    ),
    (
        "kubectl",
        &["-n", "--namespace", "--context", "--cluster", "--user", "--kubeconfig", "-s", "--server"],
        &[],
    ),
];

/// What a program of [`SUBCOMMANDS`] is told to do, if that is certain.
fn subcommand<'a>(program: &str, arguments: &'a [Word]) -> Option<&'a String> {
    let (_, valued, flags) = SUBCOMMANDS.iter().find(|(name, ..)| *name == program)?;
    let mut words = arguments.iter();
    loop {
        let word = words.next().filter(|word| word.known == Known::Certain)?;
        match word.text.as_str() {
            option if valued.contains(&option) => {
                // A value that may become several words may hold what is looked for.
                words.next().filter(|value| value.known == Known::Certain)?;
            }
            option if flags.contains(&option) => {}
            // Of an option that is not known here, nobody can tell whether it has a value.
            option if option.starts_with('-') => return None,
            _ => return Some(&word.text),
        }
    }
}

fn has_in_order(words: &[String], arguments: &[Word], is: impl Fn(&Word, &String) -> bool) -> bool {
    let mut missing = words.iter().peekable();
    for argument in arguments {
        // One argument that is a glob may become several words.
        while missing.next_if(|word| is(argument, word)).is_some() && argument.known != Known::Certain {}
    }
    missing.peek().is_none()
}

/// Whether an argument may reach the program as this word. Of a glob only its plain ends are compared.
fn may_be(argument: &Word, word: &str) -> bool {
    let text = argument.text.as_str();
    match argument.known {
        Known::Certain => text == word,
        Known::Unknown => true,
        Known::Glob => {
            let start = text.split(GLOB).next().unwrap_or_default();
            let end = text.rsplit(GLOB).next().unwrap_or_default();
            word.len() >= start.len() + end.len() && word.starts_with(start) && word.ends_with(end)
        }
    }
}

/// Characters that a glob may begin or end with, extended ones included.
const GLOB: [char; 12] = ['*', '?', '[', ']', '(', ')', '{', '}', '@', '+', '!', '~'];

/// The tool itself and a mere suspicion count once per call, however many commands raise them.
fn push_once(deeds: &mut Deeds, deed: Deed) {
    let known = deeds.iter_mut().find(|known| known.name == deed.name);
    match known {
        // A later certainty is worth more than an earlier suspicion.
        Some(known) => {
            known.certain |= deed.certain;
            known.basis = known.basis.min(deed.basis);
        }
        None => deeds.push(deed),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn words(text: &str) -> Vec<Word> {
        let known = |word: &str| match word {
            word if word.contains('$') => Known::Unknown,
            word if word.contains('*') || word.contains('?') || word.contains('(') => Known::Glob,
            _ => Known::Certain,
        };
        text.split_whitespace().map(|word| Word { text: word.into(), known: known(word) }).collect()
    }

    #[test]
    fn words_stand_in_order_and_a_doubt_is_only_possible() {
        let table = [
            ("push", "push", Fit::Certain),
            ("push", "-C x push origin", Fit::Certain),
            ("push --force", "push origin --force", Fit::Certain),
            ("push --force", "--force push", Fit::No),
            ("push push", "push", Fit::No),
            ("push push", "push x push", Fit::Certain),
            ("", "", Fit::Certain),
            ("", "$x", Fit::Certain),
            ("push", "", Fit::No),
            ("push", "$x", Fit::Possible),
            ("push --force", "$x", Fit::Possible),
            ("push", "$x push", Fit::Certain),
            // Files may be called like words, and the shell lists them all.
            ("push", "add *", Fit::Possible),
            ("push", "add *.rs", Fit::No),
            ("push", "pu*h", Fit::Possible),
            ("push", "pus*sh", Fit::No),
            ("push", "@(push|pull)", Fit::Possible),
            ("-f push", "*", Fit::Possible),
            ("push -f", "push* *", Fit::Possible),
            ("push -f", "*.rs push", Fit::No),
        ];
        for (wanted, arguments, expected) in table {
            let wanted: Vec<String> = wanted.split_whitespace().map(str::to_owned).collect();
            assert_eq!(
                fit_of_words("prog", &wanted, &words(arguments)),
                expected,
                "{wanted:?} in `{arguments}`"
            );
        }
    }

    #[test]
    fn a_wrapper_is_possible_beside_what_it_runs() {
        let mut script = lockgate_call::read_script("rm x");
        script.commands[0].reached_by = vec!["/usr/bin/sudo -u me".into(), "bash -c".into()];
        for (program, expected) in [("sudo", true), ("bash", true), ("me", false), ("rm", false)] {
            let takes = Takes::Running { program: program.into(), words: Vec::new() };
            assert_eq!(takes.shows_in(&script, "sudo -u me bash -c 'rm x'"), expected, "{program}");
        }
    }
}
