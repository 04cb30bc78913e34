//! Maps: what a call amounts to, as the rules of one file see it.
//!
//! [`FileMaps::deeds`] turns a call into [`Deed`]s. A script is taken command by command; whether a map meets a command
//! is decided in `fit.rs`. Parsing is missing on purpose: the call has its scripts.

mod fit;

use std::sync::Arc;

use lockgate_call::{Call, Script, ScriptFields, SeenCall, is_script_field, may_type};
use lockgate_pattern::Match;
use serde_json::Value;
use smallvec::SmallVec;

use fit::Fit;

use crate::{
    decision::Decision,
    deed::{Basis, Deed, Deeds},
    hash::{HashMap, HashSet},
    names::{NameId, Names},
    phrase::RunningPhrase,
    rule::Mode,
    scripts::Scripts,
    statement::{Module, Takes},
};

/// The maps of one file, by the tool they rename.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileMaps {
    tools: HashMap<NameId, ToolMaps>,
    /// The fields of other tools that hold scripts because the file says so.
    declared: HashMap<NameId, HashSet<String>>,
    /// What the file says about scripts that cannot be read.
    unreadable: Option<Decision>,
    /// Whether it excepts consoles that are started in plain sight.
    excepts_consoles: bool,
}

/// The maps of one tool. Fields that hold scripts are read command by command, others as they are.
#[derive(Clone, Debug, Default)]
struct ToolMaps {
    /// The maps of fields that are not scripts, in file order.
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
        let excepts_consoles = line.is_some_and(|line| line.except_consoles);
        let declared = declared.into_iter().map(|(tool, fields)| (names.add(tool), fields)).collect();
        Self { tools, declared, unreadable, excepts_consoles }
    }

    /// What the file says about scripts that cannot be read.
    pub(crate) fn unreadable(&self) -> Option<Decision> {
        self.unreadable
    }

    /// Whether the file excepts consoles that are started in plain sight.
    pub(crate) fn excepts_consoles(&self) -> bool {
        self.excepts_consoles
    }

    /// The fields of a tool that hold scripts because the file says so.
    pub(crate) fn declared_scripts(&self, tool: NameId) -> impl Iterator<Item = &String> {
        let mapped = self.tools.get(&tool).into_iter().flat_map(|maps| &maps.declared);
        mapped.chain(self.declared.get(&tool).into_iter().flatten())
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
    pub(crate) fn deeds<'c>(&self, call: &'c SeenCall, itself: Deed, scripts: &mut Scripts<'c>) -> Deeds {
        let mut deeds = Deeds::new();
        if let Some(maps) = itself.tool.or(itself.id).and_then(|tool| self.tools.get(&tool)) {
            maps.take_plain(call, &itself, &mut deeds);
            // A file that lets unreadable scripts pass does not guess what they are.
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

    /// Fields that are not scripts: the first map of the file that matches names the call.
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
        call: &'c SeenCall,
        itself: &Deed,
        guesses: bool,
        scripts: &mut Scripts<'c>,
        deeds: &mut Deeds,
    ) {
        let fields = || call.input.iter().filter(|(field, _)| self.is_script(field));
        // With several scripts it is not known which one the tool runs.
        let is_alone = fields().filter(|(_, value)| value.is_string() || value.is_array()).count() == 1;
        for (field, value) in fields() {
            let maps: SmallVec<[&ToolMap; 8]> =
                self.scripts.iter().filter(|map| map.takes.looks_at(field)).collect();
            if maps.is_empty() {
                continue;
            }
            match value {
                // A number, a flag or nothing is not a script; the call is the tool itself.
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
                Value::String(_) | Value::Array(_) | Value::Object(_) => match scripts.of(call, field, value)
                {
                    Some((script, text)) => {
                        let start = deeds.len();
                        // Somebody may type into what a call starts whose input says so.
                        let typed = script.only_waits && !may_type(&call.input);
                        let guess = guesses.then_some(if typed { Basis::Typed } else { Basis::Guessed });
                        take_script(&maps, script, text, itself, guess, deeds);
                        let read = deeds.iter_mut().skip(start).filter(|_| !is_alone);
                        read.for_each(|deed| deed.is_confirmed = false);
                    }
                    None => take_opaque(&maps, itself, guesses.then_some(Basis::Guessed), deeds),
                },
            }
        }
    }
}

/// What the scripts of a call are, where they run what a phrase names: a deed for each command that does, or may.
pub(crate) fn running(call: &SeenCall, fields: &ScriptFields, phrase: &RunningPhrase, deed: &Deed) -> Deeds {
    let declared = match fields {
        ScriptFields::Declared(names) => names.iter().cloned().collect(),
        _ => HashSet::default(),
    };
    let RunningPhrase { program, words, .. } = phrase.clone();
    let map = ToolMap { takes: Takes::Running { program, words }, deed: deed.clone() };
    let maps = ToolMaps { plain: Vec::new(), scripts: vec![map], declared };
    let itself = Deed { name: Arc::default(), id: None, ..deed.clone() };
    let mut deeds = Deeds::new();
    maps.take_scripts(call, &itself, true, &mut Scripts::default(), &mut deeds);
    deeds.retain(|found| found.name == deed.name);
    deeds
}

/// Reads a script command by command, then as a whole for what only the whole shows.
fn take_script(
    maps: &[&ToolMap],
    script: &Script,
    text: &str,
    itself: &Deed,
    guess: Option<Basis>,
    deeds: &mut Deeds,
) {
    if script.opaque {
        take_opaque(maps, itself, guess, deeds);
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
                Fit::Unread => {
                    guess.into_iter().for_each(|basis| push_once(deeds, map.deed.doubted_by(basis)));
                }
                Fit::No => {}
                Fit::Possible => push_once(deeds, map.deed.doubted()),
                Fit::Certain => {
                    let is_confirmed = command.is_confirmed && map.takes.is_work(command);
                    deeds.push(Deed { is_confirmed, ..map.deed.clone() });
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

/// A script that cannot be read may do anything its maps could name.
fn take_opaque(maps: &[&ToolMap], itself: &Deed, guess: Option<Basis>, deeds: &mut Deeds) {
    for map in maps {
        guess.into_iter().for_each(|basis| push_once(deeds, map.deed.doubted_by(basis)));
    }
    push_once(deeds, itself.doubted_by(Basis::Unread));
}

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
