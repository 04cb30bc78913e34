//! The commands of a shell script.
//!
//! [`read_script`] lists every simple command a script may run, wherever it hides. What it cannot know is
//! said aloud: a command whose program is named only at run time is opaque, and so is its script. Nothing
//! is ever run, matched against files or looked up, and a script past one of the limits below is opaque.

use std::thread;

use crate::programs::names::is_trusted;
use crate::programs::table::is_shell;
use crate::programs::word::Field;
use crate::shell::confirm::confirm_words;
use crate::shell::reader::{Input, Reader};
use crate::shell::script::{SCRIPT_BYTES_MAX, Script, TOO_LONG};

/// How far the parser may go down where we stand. It goes one call deeper for every bracket, so a script with
/// many could use up the stack of a thread, which ends the process; it gets a stack of its own.
const STEPS_HERE: usize = 1_024;

/// Enough for the longest script made of nothing but brackets, twice over. Only what is used is ever taken.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// Reads a script and lists the simple commands it may run.
#[must_use]
pub fn read_script(text: &str) -> Script {
    read(text.len(), |reader| reader.script(text, &Input::Open))
}

/// Reads a command given as a list of words, none of which a shell will touch: `["rm", "-rf", "/"]`.
#[must_use]
pub fn read_words(words: &[String]) -> Script {
    if let Some(script) = shell_script(words) {
        let shell = words.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let mut script = read_script(script);
        for command in &mut script.commands {
            command.reached_by.insert(0, format!("{shell} -c"));
        }
        return script;
    }
    let bytes = words.iter().map(String::len).fold(0, usize::saturating_add);
    let fields: Vec<Field> = words.iter().map(Field::certain).collect();
    let mut script = read(bytes, |reader| reader.run(fields.clone(), &Input::Open));
    confirm_words(&mut script, words);
    script
}

/// The script in words such as `["bash", "-lc", "make"]`. So hosts hand one to a shell: nothing else stands around
/// it, and its success is the script's.
pub(crate) fn shell_script(words: &[String]) -> Option<&str> {
    let [path, option, script] = words else { return None };
    let shell = path.rsplit('/').next().unwrap_or_default();
    (matches!(option.as_str(), "-c" | "-lc") && is_shell(shell) && is_trusted(path)).then_some(script)
}

/// Whether a field of this name holds a script by custom: `command`, `cmd`, `script`, `shell_command`, `bash_command`.
#[must_use]
pub fn is_script_field(name: &str) -> bool {
    ["command", "cmd", "script", "shell_command", "bash_command"].contains(&name)
}

/// Reads where we stand if that is safe, else on a stack of its own.
fn read(bytes: usize, start: impl Fn(&mut Reader) + Sync) -> Script {
    if bytes > SCRIPT_BYTES_MAX {
        return Script { opaque: true, doubts: vec![TOO_LONG.into()], ..Script::default() };
    }
    let read_up_to = |steps_max| {
        let mut reader = Reader::new(steps_max);
        start(&mut reader);
        reader.read_quoted();
        reader
    };
    let reader = read_up_to(STEPS_HERE);
    if !reader.is_cramped() {
        return reader.found();
    }
    let read_all = || read_up_to(usize::MAX).found();
    thread::scope(|scope| {
        let reading = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read_all).ok()?;
        reading.join().ok()
    })
    .unwrap_or_else(|| Script {
        opaque: true,
        doubts: vec!["there was no room to read the script".into()],
        ..Script::default()
    })
}
