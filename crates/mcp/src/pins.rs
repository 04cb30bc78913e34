//! Tool definitions, pinned on first sight.
//!
//! What a server says about a tool is an instruction to the model. [`Pins::take_in`] keeps the first definition of
//! every tool, and a server that says something else later is shown with a notice instead, and its tool is not called
//! ([`Pins::objection`]) until a human has looked at the change ([`waiting`]) and accepted it ([`accept`]). One file
//! per server holds all of it, shared by every proxy of that server. Only the latest accepted definition counts: going
//! back to an older one is a change too, because a human may have accepted the newer one to be rid of the older.
//!
//! Whether a definition is honest is not looked at here: a server that lies from the first day is pinned as it is.

mod file;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path};

use lockgate::engine::call::{canonical_json, visible};
use serde::Serialize;
use serde_json::{Map, Value};

use file::{Definition, Kept, KeptPin, KeptWaiting, PinFile};
pub use file::{FILE_BYTES_MAX, PinError, PinErrorKind, SERVER_NAME_BYTES_MAX, SERVERS_MAX};

/// How many tools of one server are pinned.
pub const TOOLS_MAX: usize = 4096;

/// The largest definition of one tool, as canonical JSON, in bytes.
pub const DEFINITION_BYTES_MAX: usize = 256 * 1024;

/// The longest name of a tool, in bytes.
pub const TOOL_NAME_BYTES_MAX: usize = 512;

/// What is said of a tool whose definition counts for nothing.
pub const BLOCKED: &str = "Blocked by Lockgate: the definition of this tool has changed; a human must look at it \
                           (`lockgate mcp accept`).";

/// The pinned definitions of one server.
#[derive(Debug)]
pub struct Pins {
    file: PinFile,
    kept: Kept,
    /// The listing that is being taken in, page by page; none where it was refused.
    listing: Option<BTreeMap<String, Definition>>,
    /// The latest definition of each tool that this process was given.
    seen: BTreeMap<String, SeenDefinition>,
}

#[derive(Clone, Debug)]
struct SeenDefinition {
    definition: Definition,
    /// The tool that it is, under a new name.
    renamed_from: Option<String>,
}

/// What a client is shown of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownTool {
    /// What the server said.
    AsIs,
    /// This, which holds nothing of what the server said but the tool's name.
    Instead(Map<String, Value>),
}

/// A definition that waits for a human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTool {
    /// The server's name, as given to [`Pins::open`].
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The name that the tool was pinned under, where it is the name that has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// When the change was seen, in milliseconds since 1970.
    pub seen_at_ms: u64,
    /// What was pinned.
    pub old: Map<String, Value>,
    /// What the server says now.
    pub new: Map<String, Value>,
    /// So that exactly what was looked at is accepted.
    #[serde(skip)]
    sha256: String,
}

impl Pins {
    /// The pins of a server, from its file in this folder; both are made when there is something to keep.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, is about another server, or could have been changed by others.
    pub fn open(folder: &Path, server: &str) -> Result<Self, PinError> {
        let mut file = PinFile::new(folder, server)?;
        let kept = file.read()?.unwrap_or_default();
        Ok(Self { file, kept, listing: Some(BTreeMap::new()), seen: BTreeMap::new() })
    }

    /// Takes in one page of a listing of tools, and says what a client is to be shown of each. New tools are pinned.
    ///
    /// # Errors
    /// When the file cannot be used, and when the page is not a valid list: a tool without a name, or one that appears
    /// in the listing twice. Then no page counts until a new listing begins.
    pub fn take_in(
        &mut self,
        page: &[Map<String, Value>],
        is_first: bool,
    ) -> Result<Vec<ShownTool>, PinError> {
        let earlier = if is_first { Some(BTreeMap::new()) } else { self.listing.take() };
        self.listing = None;
        let Some(mut listing) = earlier else {
            return Err(PinError::listing(
                "an earlier page of this listing was refused; list the tools again",
            ));
        };
        let mut names = Vec::new();
        for tool in page {
            let name = name_of(tool)?;
            if listing.len() == TOOLS_MAX {
                return Err(PinError::listing(format!("the server lists more than {TOOLS_MAX} tools")));
            }
            if listing.insert(name.clone(), definition_of(&name, tool)?).is_some() {
                let name = visible(&name);
                return Err(PinError::listing(format!("the server lists the tool `{name}` twice")));
            }
            names.push(name);
        }
        // All that was listed so far and not only this page: the old name of a renamed tool may stand on a later page.
        self.change(|kept, seen| {
            listing.iter().for_each(|(name, definition)| keep(kept, seen, &listing, name, definition));
            Ok(())
        })?;
        let shown = names.iter().map(|name| self.shown(name)).collect();
        self.listing = Some(listing);
        Ok(shown)
    }

    /// Why a tool must not be called now; nothing where its definition is the pinned one, or was never listed.
    ///
    /// # Errors
    /// When the file cannot be used: then no tool may be called.
    pub fn objection(&mut self, tool: &str) -> Result<Option<String>, PinError> {
        self.kept = self.file.read()?.unwrap_or_default();
        let told = visible(tool);
        let renamed = |old: &str| {
            let old = visible(old);
            format!(
                "the tool `{told}` was pinned as `{old}` and has been renamed; a human must look at it: \
                 `lockgate mcp accept`"
            )
        };
        let changed = format!(
            "the definition of the tool `{told}` has changed since it was pinned; a human must look at it: \
             `lockgate mcp accept`"
        );
        let Some(seen) = self.seen.get(tool).cloned() else {
            // Another proxy of this server has seen what this one was not given yet.
            let waiting = self.kept.waiting.get(tool);
            return Ok(waiting.map(|it| it.renamed_from.as_deref().map_or(changed, renamed)));
        };
        match self.kept.pinned.get(tool) {
            Some(pin) if pin.definition == seen.definition => return Ok(None),
            None if seen.renamed_from.is_none() => {
                return Ok(Some(format!(
                    "the tool `{told}` is not pinned any more; list the tools again, or start the client again"
                )));
            }
            _ => {}
        }
        // Another proxy may have seen the old definition meanwhile and taken the question back. What another has put in
        // its place stays: it says what the tool was renamed from, and a human decides about one at a time.
        if !self.kept.waiting.contains_key(tool) {
            self.change(|kept, _| {
                ask(kept, tool, &seen.definition, seen.renamed_from.clone());
                Ok(())
            })?;
        }
        Ok(Some(seen.renamed_from.as_deref().map_or(changed, renamed)))
    }

    /// What a client is shown of a tool that has just been taken in.
    fn shown(&self, tool: &str) -> ShownTool {
        let seen = self.seen.get(tool);
        let own = self.kept.pinned.get(tool);
        if let (Some(pin), Some(seen)) = (own, seen)
            && pin.definition == seen.definition
        {
            return ShownTool::AsIs;
        }
        let old = seen.and_then(|seen| self.kept.pinned.get(seen.renamed_from.as_ref()?));
        let schema = own.or(old).and_then(|pin| pin.definition.object().remove("inputSchema"));
        let schema = schema.unwrap_or_else(|| serde_json::json!({"type": "object"}));
        let fields = [("name", tool.into()), ("description", BLOCKED.into()), ("inputSchema", schema)];
        ShownTool::Instead(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Changes the stored pins under an exclusive lock.
    fn change(
        &mut self,
        how: impl Fn(&mut Kept, &mut BTreeMap<String, SeenDefinition>) -> Result<(), PinError>,
    ) -> Result<(), PinError> {
        let _alone = self.file.lock()?;
        let before = self.file.read()?.unwrap_or_default();
        let (mut kept, mut seen) = (before.clone(), self.seen.clone());
        how(&mut kept, &mut seen)?;
        if kept.pinned.len().max(kept.waiting.len()) > TOOLS_MAX {
            let reason = format!("the server has named more than {TOOLS_MAX} tools so far");
            return Err(PinError::listing(reason));
        }
        if kept != before {
            self.file.write(&kept)?;
        }
        (self.kept, self.seen) = (kept, seen);
        Ok(())
    }
}

/// All definitions that wait, of all servers.
///
/// # Errors
/// When a file cannot be read or is damaged.
pub fn waiting(folder: &Path) -> Result<Vec<ChangedTool>, PinError> {
    let mut found = Vec::new();
    for (server, kept) in file::read_all(folder)? {
        for (tool, it) in &kept.waiting {
            let old = kept.pinned.get(it.renamed_from.as_ref().unwrap_or(tool));
            found.push(ChangedTool {
                server: server.clone(),
                tool: tool.clone(),
                renamed_from: it.renamed_from.clone(),
                old: old.map(|pin| pin.definition.object()).unwrap_or_default(),
                new: it.definition.object(),
                seen_at_ms: it.seen_at_ms,
                sha256: it.definition.sha256().to_owned(),
            });
        }
    }
    found.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
    Ok(found)
}

/// Pins what waited, exactly as it was looked at.
///
/// # Errors
/// When the file cannot be used, and when the server has said something else meanwhile: look again then.
pub fn accept(folder: &Path, looked_at: &ChangedTool) -> Result<(), PinError> {
    let mut pins = Pins::open(folder, &looked_at.server)?;
    pins.change(|kept, _| {
        let waits = kept.waiting.remove(&looked_at.tool);
        let Some(waits) = waits.filter(|it| it.definition.sha256() == looked_at.sha256) else {
            return Err(PinError::moved(&looked_at.tool));
        };
        pin(kept, &looked_at.tool, waits.definition);
        Ok(())
    })
}

/// Pins a tool, or asks about it, or takes a question back.
fn keep(
    kept: &mut Kept,
    seen: &mut BTreeMap<String, SeenDefinition>,
    listing: &BTreeMap<String, Definition>,
    name: &str,
    definition: &Definition,
) {
    let mut renamed_from = None;
    match kept.pinned.get(name) {
        Some(pin) if pin.definition == *definition => {
            kept.waiting.remove(name);
        }
        Some(_) => ask(kept, name, definition, None),
        None => match old_name(kept, listing, name, definition) {
            Some(old) => {
                ask(kept, name, definition, Some(old.clone()));
                renamed_from = Some(old);
            }
            None => {
                kept.waiting.remove(name);
                pin(kept, name, definition.clone());
            }
        },
    }
    seen.insert(name.to_owned(), SeenDefinition { definition: definition.clone(), renamed_from });
}

/// The pinned tool that is not listed any more and that this one would be under another name.
fn old_name(
    kept: &Kept,
    listing: &BTreeMap<String, Definition>,
    name: &str,
    definition: &Definition,
) -> Option<String> {
    let is_gone = |old: &&String| kept.pinned.contains_key(*old) && !listing.contains_key(*old);
    // Once taken for a renamed tool, it stays one: otherwise a second change would let it pass as a new one.
    let known = kept.waiting.get(name).and_then(|it| it.renamed_from.as_ref()).filter(is_gone);
    let alike = || {
        let nameless = definition.nameless_sha256();
        let is_alike = |(_, pin): &(&String, &KeptPin)| pin.definition.nameless_sha256() == nameless;
        let mut pins = kept.pinned.iter().filter(|(old, _)| !listing.contains_key(*old));
        pins.find(is_alike).map(|(old, _)| old)
    };
    known.or_else(alike).cloned()
}

/// Lets a definition wait for a human.
fn ask(kept: &mut Kept, name: &str, definition: &Definition, renamed_from: Option<String>) {
    let is_same = |it: &KeptWaiting| it.definition == *definition && it.renamed_from == renamed_from;
    if kept.waiting.get(name).is_some_and(is_same) {
        return;
    }
    let waits = KeptWaiting { definition: definition.clone(), renamed_from, seen_at_ms: file::now_ms() };
    kept.waiting.insert(name.to_owned(), waits);
}

fn pin(kept: &mut Kept, name: &str, definition: Definition) {
    kept.pinned.insert(name.to_owned(), KeptPin { definition, pinned_at_ms: file::now_ms() });
}

fn name_of(tool: &Map<String, Value>) -> Result<String, PinError> {
    match tool.get("name").and_then(Value::as_str) {
        None | Some("") => Err(PinError::listing("the server lists a tool without a name")),
        Some(name) if name.len() > TOOL_NAME_BYTES_MAX => Err(PinError::listing(format!(
            "the server lists a tool whose name is longer than {TOOL_NAME_BYTES_MAX} bytes"
        ))),
        Some(name) => Ok(name.to_owned()),
    }
}

fn definition_of(name: &str, tool: &Map<String, Value>) -> Result<Definition, PinError> {
    let text = canonical_json(tool);
    if text.len() > DEFINITION_BYTES_MAX {
        return Err(PinError::listing(format!(
            "the definition of the tool `{}` is longer than {DEFINITION_BYTES_MAX} bytes",
            visible(name)
        )));
    }
    Ok(Definition::new(text))
}
