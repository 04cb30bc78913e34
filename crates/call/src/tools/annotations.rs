//! What an MCP server says that its own tool does.
//!
//! A server may say too little, so only its warnings count: each may make a rule apply, and none makes one go away.

use crate::call::Call;
use crate::programs::effects::EffectKind;

/// A warning as `metadata.mcp` has it, the annotation that it comes from, and what the tool may do then.
const WARNINGS: [(&str, &str, bool, &[EffectKind]); 3] = [
    ("destructive", "destructiveHint", true, &[EffectKind::Write, EffectKind::Deletion]),
    ("writes", "readOnlyHint", false, &[EffectKind::Write]),
    ("open_world", "openWorldHint", true, &[EffectKind::Upload, EffectKind::Download]),
];

/// The warnings in the annotations of a tool: their names in `metadata.mcp`.
pub fn warnings(says: impl Fn(&str) -> Option<bool>) -> impl Iterator<Item = &'static str> {
    // A tool that only reads destroys nothing, whatever else its server says.
    let is_read_only = says("readOnlyHint") == Some(true);
    let is_said = move |(name, hint, value, _): &(&'static str, &str, bool, &[EffectKind])| {
        says(hint) == Some(*value) && !(is_read_only && *name == "destructive")
    };
    WARNINGS.into_iter().filter(is_said).map(|(name, ..)| name)
}

/// What a tool may do by its annotations.
pub fn warned_effects(says: impl Fn(&str) -> Option<bool>) -> impl Iterator<Item = EffectKind> {
    let said: Vec<&str> = warnings(says).collect();
    WARNINGS
        .into_iter()
        .filter(move |(name, ..)| said.contains(name))
        .flat_map(|(.., kinds)| kinds.iter().copied())
}

/// What a call may do by what the server of its tool says.
pub(crate) fn warned_of(call: &Call) -> impl Iterator<Item = EffectKind> {
    let said = call.about.metadata.as_ref().and_then(|it| it.get("mcp"));
    let is_said = move |name: &str| said.and_then(|said| said.get(name)?.as_bool()) == Some(true);
    WARNINGS.into_iter().filter(move |(name, ..)| is_said(name)).flat_map(|(.., kinds)| kinds.iter().copied())
}
