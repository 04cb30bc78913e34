//! A call, together with everything that is seen in it.
//!
//! A door looks at a call once ([`SeenCall::look`]), and all who judge it read the [`SeenCall`]: scripts, paths and hosts
//! are found when they are first asked for, and kept. Readers differ in which fields they take for scripts, so there is
//! a [`Reading`] for each set of fields; sets that make no difference to an input share one. The call itself never changes
//! afterwards. What a rule thinks of all this is missing on purpose.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::call::{Call, Time};
use crate::contents::{Contents, Place, TextKind, Unseen};
use crate::effects::{self, Effects};
use crate::fields::ScriptFields;
use crate::json::selector::Selector;
use crate::places::hosts::{self, Hosts};
use crate::places::links::Links;
use crate::places::paths::{self, Files, Paths, TouchedPath};
use crate::places::versions::Versions;
use crate::shell::cache::ScriptCache;
use crate::shell::script::Script;

/// A call, together with everything that is seen in it.
///
/// A copy starts without what was found: what a session keeps stays small.
pub struct SeenCall {
    call: Call,
    links: Option<Links>,
    /// What version control would change, where the door looked.
    versions: Option<Versions>,
    /// Made with the first script or reading: rules about other tools need none.
    found: OnceLock<Arc<Findings>>,
}

/// What was found in a call so far.
#[derive(Debug, Default)]
struct Findings {
    scripts: ScriptCache,
    readings: OnceLock<Box<Found>>,
}

/// What was found with one set of script fields, and after it what was found with others.
#[derive(Debug)]
struct Found {
    fields: ScriptFields,
    contents: Contents,
    paths: OnceLock<(Paths, Vec<TouchedPath>)>,
    names: OnceLock<Result<Vec<TouchedPath>, Unseen>>,
    hosts: OnceLock<Hosts>,
    effects: OnceLock<Effects>,
    next: OnceLock<Box<Found>>,
}

/// A call as it is read by those who take certain fields for scripts.
#[derive(Clone, Copy)]
pub struct Reading<'s> {
    call: &'s Call,
    found: &'s Found,
}

impl SeenCall {
    /// Looks at a call. `eyes` are the files of the machine that the tool runs on, for a door that can see them; without
    /// them, [`SeenCall::links`] has nothing to say.
    ///
    /// If reading the call or looking at its files panics, the call gets an objection: it is blocked, whatever rules say.
    #[must_use]
    pub fn look(call: Call, eyes: Option<&dyn Files>) -> Self {
        let seen = Self { call, links: None, versions: None, found: OnceLock::new() };
        let Some(files) = eyes else { return seen };
        match catch_unwind(AssertUnwindSafe(|| (seen.look_up(files), seen.look_ahead(files)))) {
            Ok((links, versions)) => {
                let versions = Some(versions).filter(|versions| !versions.is_empty());
                Self { links: Some(links), versions, ..seen }
            }
            Err(_) => Self::not_seen(seen.call),
        }
    }

    /// A call that Lockgate failed to look at. What was found until then is dropped.
    fn not_seen(mut call: Call) -> Self {
        let why = "Lockgate panicked while it looked at this call, so the call is blocked.";
        call.about.objection.get_or_insert_with(|| why.to_owned());
        Self::looked_at(call, None)
    }

    /// Looks up every path that a reader may find in the call, whatever it takes for a script.
    fn look_up(&self, files: &dyn Files) -> Links {
        let mut readings: Vec<Reading<'_>> = Vec::with_capacity(1);
        for fields in [ScriptFields::Likely, ScriptFields::LikelyShell, ScriptFields::Customary] {
            let reading = self.reading(&fields);
            if !readings.iter().any(|known| std::ptr::eq(known.found, reading.found)) {
                readings.push(reading);
            }
        }
        let touched = readings.iter().flat_map(|reading| {
            // Where there are too many names to list, everyone who judges the call has a doubt without us.
            let names = reading.names().unwrap_or_default();
            reading.paths().touched.iter().chain(names).chain(reading.standing())
        });
        Links::look(self.call.about.cwd.as_deref(), touched, files)
    }

    /// Has the door look at what version control and patches would change.
    fn look_ahead(&self, files: &dyn Files) -> Versions {
        let reading = self.reading(&ScriptFields::Likely);
        let mut versions = Versions::default();
        for ((field, script), (source, _)) in reading.scripts().zip(reading.script_texts()) {
            let standing = |index: usize| {
                let is_there = |place: &&TouchedPath| matches!(&place.place, Place::Word { field: other, command, .. } if other == field && *command == index);
                reading.standing().iter().find(is_there).cloned()
            };
            versions.look(source, script, &standing, files);
        }
        versions
    }

    /// A call that was looked at before and kept, with where its paths led at the time.
    #[must_use]
    pub fn looked_at(call: Call, links: Option<Links>) -> Self {
        Self { call, links, versions: None, found: OnceLock::new() }
    }

    /// The same call with what version control would have changed at the time.
    #[must_use]
    pub fn with_versions(self, versions: Option<Versions>) -> Self {
        Self { versions, ..self }
    }

    /// What version control and patches would change; none if the door has no eyes, or saw no such command.
    #[must_use]
    pub fn versions(&self) -> Option<&Versions> {
        self.versions.as_ref()
    }

    /// Where the call's paths really lead; none if the door that it came by has no eyes.
    #[must_use]
    pub fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// What is seen of the call if these fields are taken for scripts.
    #[must_use]
    pub fn reading(&self, fields: &ScriptFields) -> Reading<'_> {
        let Findings { scripts, readings } = self.findings();
        let mut place = readings;
        loop {
            let found = place.get_or_init(|| Box::new(Found::of(&self.call, fields, scripts)));
            if found.serves(fields) {
                return Reading { call: &self.call, found };
            }
            place = &found.next;
        }
    }

    /// What a text of the call would run as a script.
    #[must_use]
    pub fn script(&self, text: &str) -> Arc<Script> {
        self.findings().scripts.script(text)
    }

    /// What a value of the input would run as a script, and its text; none where it is neither a text nor a list of
    /// words.
    #[must_use]
    pub fn script_in<'v>(&self, value: &'v Value) -> Option<(Arc<Script>, Cow<'v, str>)> {
        match value {
            Value::String(text) => Some((self.script(text), Cow::Borrowed(text.as_str()))),
            Value::Array(items) => {
                let words: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                words.map(|words| (self.findings().scripts.words(&words), Cow::Owned(words.join(" "))))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    /// The same call under another id. What was found in the one counts for the other.
    #[must_use]
    pub fn with_id(&self, id: String) -> Self {
        self.findings();
        Self {
            call: Call { id, ..self.call.clone() },
            links: self.links.clone(),
            versions: self.versions.clone(),
            found: self.found.clone(),
        }
    }

    /// The same call at another moment.
    #[must_use]
    pub fn at(mut self, at: Time) -> Self {
        self.call.at = at;
        self
    }

    /// The call alone.
    #[must_use]
    pub fn into_call(self) -> Call {
        self.call
    }

    fn findings(&self) -> &Findings {
        self.found.get_or_init(Arc::default)
    }
}

/// A call whose links are not looked up.
impl From<Call> for SeenCall {
    fn from(call: Call) -> Self {
        Self::look(call, None)
    }
}

/// For entries that take a call either way: one that a door looked at, or a bare one, whose links are not known.
impl<'c> From<&'c SeenCall> for Cow<'c, SeenCall> {
    fn from(call: &'c SeenCall) -> Self {
        Self::Borrowed(call)
    }
}

impl From<&Call> for Cow<'_, SeenCall> {
    fn from(call: &Call) -> Self {
        Self::Owned(call.clone().into())
    }
}

impl Deref for SeenCall {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

impl Clone for SeenCall {
    fn clone(&self) -> Self {
        Self::looked_at(self.call.clone(), self.links.clone()).with_versions(self.versions.clone())
    }
}

/// What was found so far makes no difference to a call.
impl PartialEq for SeenCall {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call && self.links == other.links && self.versions == other.versions
    }
}

impl fmt::Debug for SeenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenCall")
            .field("call", &self.call)
            .field("links", &self.links)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

impl Found {
    fn of(call: &Call, fields: &ScriptFields, scripts: &ScriptCache) -> Self {
        Self {
            fields: fields.clone(),
            contents: Contents::of(&call.input, fields, scripts),
            paths: OnceLock::new(),
            names: OnceLock::new(),
            hosts: OnceLock::new(),
            effects: OnceLock::new(),
            next: OnceLock::new(),
        }
    }

    fn serves(&self, fields: &ScriptFields) -> bool {
        self.fields == *fields || self.contents.would_be_same(fields)
    }
}

impl<'s> Reading<'s> {
    /// The scripts of the call, each with the field it stands in.
    pub fn scripts(self) -> impl Iterator<Item = (&'s Selector, &'s Script)> {
        self.found.contents.scripts.iter().map(|read| (&read.selector, &*read.script))
    }

    /// The same, each with its text: a command that is given as a list of words as a shell would be given it.
    pub fn script_texts(self) -> impl Iterator<Item = (&'s str, &'s Script)> {
        self.found.contents.scripts.iter().map(|read| (&*read.source, &*read.script))
    }

    /// The strings of the call that are in no script field.
    pub fn strings(self) -> impl Iterator<Item = (&'s Selector, &'s str)> {
        let strings = self.found.contents.texts.iter().filter(|text| text.kind == TextKind::String);
        strings.map(|text| (&text.selector, &*text.text))
    }

    /// Why some of the call was not looked at, or not understood.
    #[must_use]
    pub fn unseen(self) -> &'s [Unseen] {
        &self.found.contents.unseen
    }

    /// Every path the call touches.
    #[must_use]
    pub fn paths(self) -> &'s Paths {
        &self.paths_and_standing().0
    }

    /// The folder that each command of the call's scripts stands in, as the path `.` at the command's first word; with
    /// `-C` and the like, the folder it goes to itself.
    #[must_use]
    pub fn standing(self) -> &'s [TouchedPath] {
        &self.paths_and_standing().1
    }

    /// Every text of a field that is not a path by its name or look, read as one: a tool may take any of them for
    /// the name of a file. What cannot be one is left out.
    ///
    /// # Errors
    /// When there are more of them than we list: any of the rest may be one.
    pub fn names(self) -> Result<&'s [TouchedPath], &'s Unseen> {
        let Self { call, found } = self;
        let names = found.names.get_or_init(|| paths::find_names(call, &found.contents));
        names.as_ref().map(Vec::as_slice)
    }

    /// Every host the call names.
    #[must_use]
    pub fn hosts(self) -> &'s Hosts {
        self.found.hosts.get_or_init(|| hosts::find(&self.found.contents))
    }

    /// What the call does, as far as it is seen: each effect with its place.
    #[must_use]
    pub fn effects(self) -> &'s Effects {
        let find =
            || effects::find(self.call, &self.found.contents, self.paths(), self.standing(), self.hosts());
        self.found.effects.get_or_init(find)
    }

    fn paths_and_standing(self) -> &'s (Paths, Vec<TouchedPath>) {
        let Self { call, found } = self;
        found.paths.get_or_init(|| paths::find(call, &found.contents))
    }
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("fields", &self.found.fields).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
