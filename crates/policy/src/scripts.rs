//! The scripts in a call's input, each read once.

use std::{borrow::Cow, sync::Arc};

use lockgate_call::{Command, Script, SeenCall, is_script_field, may_type};
use serde_json::Value;
use smallvec::SmallVec;

/// The scripts of one call, each read once however many files have maps for it.
#[derive(Default)]
pub(crate) struct Scripts<'c> {
    read: SmallVec<[(&'c str, Option<ReadScript<'c>>); 1]>,
}

/// A script and the text it was read from.
pub(crate) type ReadScript<'c> = (Arc<Script>, Cow<'c, str>);

impl<'c> Scripts<'c> {
    /// The script in a field, and its text; none where the value is nothing a shell could be given.
    pub(crate) fn of(
        &mut self,
        call: &SeenCall,
        field: &'c str,
        value: &'c Value,
    ) -> Option<&ReadScript<'c>> {
        let known = self.read.iter().position(|(name, _)| *name == field);
        let at = known.unwrap_or_else(|| {
            self.read.push((field, call.script_in(value)));
            self.read.len() - 1
        });
        self.read.get(at)?.1.as_ref()
    }

    /// Why the scripts that were read so far cannot be read to the end, in words.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut doubts: Vec<String> = Vec::new();
        for (field, script) in &self.read {
            for doubt in doubts_of(field, script.as_ref().map(|(script, _)| &**script)) {
                if !doubts.contains(&doubt) {
                    doubts.push(doubt);
                }
            }
        }
        doubts
    }
}

/// Why the scripts of a call cannot be read, in words; empty where they can, or there is none.
pub fn unreadable_scripts(call: &SeenCall, declared: &[(String, String)]) -> Vec<String> {
    scripts_of(call, declared).doubts()
}

/// Scripts that cannot be read, as a line speaks of them.
#[derive(Clone, Debug)]
pub struct UnreadableTest {
    /// Fields that hold scripts although their names do not say so, with the tool.
    pub declared: Vec<(String, String)>,
    /// Whether a console that is started in plain sight is no doubt.
    pub except_consoles: bool,
}

impl UnreadableTest {
    /// Why the scripts of a call cannot be read, in words; empty where they can.
    #[must_use]
    pub fn doubts(&self, call: &SeenCall) -> Vec<String> {
        let mut scripts = scripts_of(call, &self.declared);
        if self.except_consoles && !may_type(&call.input) {
            scripts.read.retain(|(_, read)| !read.as_ref().is_some_and(|(script, _)| script.only_waits));
        }
        scripts.doubts()
    }
}

/// The scripts in the fields of a call that hold scripts by custom or because a file says so.
fn scripts_of<'c>(call: &'c SeenCall, declared: &[(String, String)]) -> Scripts<'c> {
    let is_declared =
        |field: &str| declared.iter().any(|(tool, declared)| *tool == call.tool && declared == field);
    let mut scripts = Scripts::default();
    for (field, value) in call.input.iter().filter(|(field, _)| is_script_field(field) || is_declared(field))
    {
        if matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_)) {
            scripts.of(call, field, value);
        }
    }
    scripts
}

fn doubts_of(field: &str, script: Option<&Script>) -> Vec<String> {
    let Some(script) = script else {
        return vec![format!("`{field}` holds neither a text nor a list of words")];
    };
    let mut doubts = script.doubts.clone();
    // A program that is written as a glob is a doubt about its command alone.
    for glob in script.commands.iter().filter(|command| command.opaque).filter_map(Command::program_glob) {
        doubts.push(format!("the program `{glob}` is only known when the script runs"));
    }
    if doubts.is_empty() && script.opaque {
        doubts.push("the script cannot be read".to_owned());
    }
    doubts
}
