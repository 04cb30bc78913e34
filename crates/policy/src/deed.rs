//! What a call amounts to, as the rules of one file see it.
//!
//! [`FileMaps::deeds`] turns a call into [`Deed`]s. A doubt never opens a gate: a deed that the maps only
//! suspect is *possible*, and possible deeds are restricted like certain ones but earn nothing. What the
//! rules then say about a deed is decided elsewhere.

use std::sync::Arc;

use lockgate_call::{Call, Command, Script, is_script_field, read_script, read_words};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    draft::Map,
    hash::HashMap,
    names::{NameId, Names},
    pattern::{Match, Pattern},
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
    pub(crate) id: Option<NameId>,
    /// The tool, where `name` is the dotted `tool.action`: rules without a dot see this one.
    pub(crate) tool: Option<NameId>,
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
        Some(Self { name, certain: true, is_confirmed: true, id: Some(id), tool: None })
    }

    fn named(name: &str, names: &Names) -> Self {
        let known = names.find(name).and_then(|id| Self::certain(id, names));
        known.unwrap_or_else(|| Self {
            name: Arc::from(name),
            certain: true,
            is_confirmed: true,
            id: None,
            tool: None,
        })
    }

    fn doubted(&self) -> Self {
        Self { certain: false, is_confirmed: false, ..self.clone() }
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
}

/// The maps of one tool. Fields that hold scripts are read command by command, others as they are.
#[derive(Clone, Debug, Default)]
struct ToolMaps {
    plain: Vec<FieldMap>,
    scripts: Vec<(String, Vec<FieldMap>)>,
}

#[derive(Clone, Debug)]
struct FieldMap {
    field: String,
    pattern: Pattern,
    deed: Deed,
}

impl FileMaps {
    pub(crate) fn new(maps: &[Map], names: &mut Names) -> Self {
        let mut tools: HashMap<NameId, ToolMaps> = HashMap::default();
        for map in maps {
            let of_tool = tools.entry(names.add(&map.tool)).or_default();
            names.add(&map.name);
            let deed = Deed::named(&map.name, names);
            let field_map = FieldMap { field: map.field.clone(), pattern: map.pattern.clone(), deed };
            if !is_script_field(&map.field) {
                of_tool.plain.push(field_map);
                continue;
            }
            match of_tool.scripts.iter_mut().find(|(field, _)| *field == map.field) {
                Some((_, maps)) => maps.push(field_map),
                None => of_tool.scripts.push((map.field.clone(), vec![field_map])),
            }
        }
        Self { tools }
    }

    /// The tools these maps rename.
    pub(crate) fn tools(&self) -> impl Iterator<Item = NameId> {
        self.tools.keys().copied()
    }

    /// What a call of a mapped tool amounts to; `itself` is the deed named after the tool.
    pub(crate) fn deeds(&self, call: &Call, itself: Deed) -> Deeds {
        let mut deeds = Deeds::new();
        if let Some(maps) = itself.tool.or(itself.id).and_then(|tool| self.tools.get(&tool)) {
            maps.take_plain(call, &itself, &mut deeds);
            for (field, field_maps) in &maps.scripts {
                match call.input.get(field) {
                    Some(Value::String(text)) => {
                        take_script(field_maps, &read_script(text), text, &itself, &mut deeds);
                    }
                    Some(Value::Array(items)) => {
                        let words: Option<Vec<String>> =
                            items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                        match words {
                            Some(words) => {
                                take_script(
                                    field_maps,
                                    &read_words(&words),
                                    &words.join(" "),
                                    &itself,
                                    &mut deeds,
                                );
                            }
                            None => take_opaque(field_maps, &itself, &mut deeds),
                        }
                    }
                    Some(Value::Object(_)) => take_opaque(field_maps, &itself, &mut deeds),
                    // A number, a flag or nothing is no script; the call is the tool itself.
                    Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
                }
            }
        }
        if deeds.is_empty() {
            deeds.push(itself);
        }
        deeds
    }
}

impl ToolMaps {
    /// Fields that are no scripts: the first map of the file that matches names the call.
    fn take_plain(&self, call: &Call, itself: &Deed, deeds: &mut Deeds) {
        for map in &self.plain {
            let Some(Value::String(text)) = call.input.get(&map.field) else { continue };
            match map.pattern.find(text) {
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
}

/// Reads a script command by command, then as a whole for what only the whole text shows.
fn take_script(maps: &[FieldMap], script: &Script, text: &str, itself: &Deed, deeds: &mut Deeds) {
    if script.opaque {
        take_opaque(maps, itself, deeds);
    }
    // What some command already matched needs no second look at the whole text.
    let mut explained: SmallVec<[bool; 8]> = SmallVec::from_elem(false, maps.len());
    for command in &script.commands {
        let finds: SmallVec<[Match; 8]> =
            maps.iter().map(|map| find_in_command(&map.pattern, command)).collect();
        for (explained, find) in explained.iter_mut().zip(&finds) {
            *explained |= *find != Match::No;
        }
        // The first map of the file that takes the command for certain ends the search. What an earlier map only
        // sees mentioned is possible as well: by the order of the file it would have come first.
        let mut is_taken = false;
        for (map, find) in maps.iter().zip(&finds) {
            match find {
                Match::No => {}
                Match::At(0) => {
                    deeds.push(Deed { is_confirmed: command.is_confirmed, ..map.deed.clone() });
                    is_taken = true;
                    break;
                }
                Match::At(_) | Match::Unsure => push_once(deeds, map.deed.doubted()),
            }
        }
        if !is_taken {
            push_once(deeds, if script.opaque { itself.doubted() } else { itself.clone() });
        }
    }
    for (map, explained) in maps.iter().zip(explained) {
        if !explained && map.pattern.find(text) != Match::No {
            push_once(deeds, map.deed.doubted());
        }
    }
}

/// A script nobody can read may do anything its maps could name.
fn take_opaque(maps: &[FieldMap], itself: &Deed, deeds: &mut Deeds) {
    for map in maps {
        push_once(deeds, map.deed.doubted());
    }
    push_once(deeds, itself.doubted());
}

/// Where a pattern meets a command: at its very start, somewhere else, or not.
fn find_in_command(pattern: &Pattern, command: &Command) -> Match {
    // The program may be written with its folder and the pattern with or without it; both readings count.
    let as_named = pattern.find(&command.text);
    let as_written = pattern.find(&command.text_with_path);
    match (as_named, as_written) {
        (Match::At(0), _) | (_, Match::At(0)) => Match::At(0),
        (Match::No, other) | (other, _) => other,
    }
}

/// The tool itself and a mere suspicion count once per call, however many commands raise them.
fn push_once(deeds: &mut Deeds, deed: Deed) {
    let known = deeds.iter_mut().find(|known| known.name == deed.name);
    match known {
        // A later certainty is worth more than an earlier suspicion.
        Some(known) => known.certain |= deed.certain,
        None => deeds.push(deed),
    }
}
