//! Every path a call touches.
//!
//! [`paths`] finds them in fields, nested values and the words and redirections of scripts, and says for each
//! where it may lead, or why that cannot be told. What is merely taken for a path is marked as a guess, so
//! that a rule can be strict where a display is quiet. Looking at files is missing on purpose: a door on the
//! same machine lends its eyes as [`Files`].

mod finder;
mod folders;
mod look;
mod shape;
mod tables;
mod touched;

use crate::call::Call;
use crate::contents::{Contents, Place, TOUCHED_MAX, Text, TextKind, Unseen};
use crate::fields::ScriptFields;
use crate::programs::files::Access;
use crate::shell::cache::ScriptCache;

use finder::Finder;
use folders::Folders;
use look::{Look, look};
use shape::{field_access, is_web_address, looks_like_a_path};
use tables::FOLDER_FIELDS;
pub use touched::{Files, Paths, Spot, TouchedPath};

/// Every path a call touches.
///
/// Relative ones start at the call's working folder; `~` and variables are those the host tells in
/// `about.context.env`, such as `{"env": {"HOME": "/home/me"}}`.
#[must_use]
pub fn paths(call: &Call) -> Paths {
    let contents = Contents::of(&call.input, &ScriptFields::Customary, &ScriptCache::default());
    find(call, &contents).0
}

/// Every path that the call touches; and the folder that each command of its scripts stands in, as the path `.` at the
/// command's first word. With `-C` and the like, that is the folder that the command goes to itself.
pub(crate) fn find(call: &Call, contents: &Contents) -> (Paths, Vec<TouchedPath>) {
    let (start, folders) = folders_of(call, contents);
    let mut finder = Finder {
        call,
        found: Paths::default(),
        home_may_change: false,
        dots_fit: false,
        is_led: false,
        standing: Vec::new(),
    };
    finder.found.unseen.clone_from(&contents.unseen);
    for text in &contents.texts {
        // What names the folder starts where the call would stand without it.
        let names_folder = FOLDER_FIELDS.contains(&text.key.as_str());
        finder.field(text, if names_folder { &start } else { &folders });
    }
    for script in &contents.scripts {
        finder.script(script, &folders);
    }
    (finder.found, finder.standing)
}

/// Every text of a field that is not a path by its name or look, read as one: a tool may take any of them for the name of
/// a file. What cannot be one is left out.
///
/// # Errors
/// When there are more of them than we list: any of the rest may be one.
pub(crate) fn find_names(call: &Call, contents: &Contents) -> Result<Vec<TouchedPath>, Unseen> {
    let (_, folders) = folders_of(call, contents);
    let is_name = |text: &&Text| {
        text.kind != TextKind::Number
            && (text.kind == TextKind::Key || field_access(&text.key).is_none())
            && !looks_like_a_path(&text.text)
            && !is_web_address(&text.text)
    };
    let touched = |text: &Text| {
        let spots = look(&text.text, Look::Field, call).and_then(|looked| folders.spots(&looked)).ok()?;
        Some(TouchedPath {
            text: text.text.clone(),
            place: Place::Field(text.selector.clone()),
            access: Access::Unknown,
            is_guess: true,
            spots: Ok(spots),
        })
    };
    let names = contents.texts.iter().filter(is_name).filter_map(touched);
    let names: Vec<TouchedPath> = names.take(TOUCHED_MAX + 1).collect();
    if names.len() > TOUCHED_MAX { Err(Unseen::TooManyPlaces) } else { Ok(names) }
}

/// The folder that the call starts in, and with it those that its fields name.
fn folders_of(call: &Call, contents: &Contents) -> (Folders, Folders) {
    let start = Folders { known: vec![call.about.cwd.clone()], unknown: false };
    let folders = start.with_fields(call, contents);
    (start, folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::ReadScript;
    use crate::json::selector::Selector;
    use crate::programs::word::{Known, Word};
    use crate::shell::script::{Command, Redirection, RedirectionKind, Script};

    /// The paths of one command as a script's reader would hand it on.
    fn see(command: Command) -> Vec<(String, Access)> {
        let mut call = Call::new("1", "bash");
        call.about.cwd = Some("/desk".into());
        let mut contents = Contents::of(&call.input, &ScriptFields::Customary, &ScriptCache::default());
        let script = Script { commands: vec![command], ..Script::default() };
        let selector = Selector::parse("command").unwrap();
        contents.scripts.push(ReadScript { source: String::new(), selector, script: script.into() });
        let shown = |path: TouchedPath| match path.spots {
            Ok(spots) => (spots[0].path.clone(), path.access),
            Err(doubt) => (format!("?{doubt:?}"), path.access),
        };
        find(&call, &contents).0.touched.into_iter().map(shown).collect()
    }

    fn word(text: &str, known: Known) -> Word {
        Word { text: text.into(), known }
    }

    fn cat() -> Command {
        let mut command = crate::read_script("cat").commands.remove(0);
        command.redirections.clear();
        command
    }

    #[test]
    fn a_redirection_touches_its_file() {
        let rows = [
            (RedirectionKind::Reads, "../x", Known::Certain, vec![("/x", Access::Reads)]),
            (RedirectionKind::Writes, "/etc/x", Known::Certain, vec![("/etc/x", Access::Writes)]),
            (RedirectionKind::Appends, "a", Known::Certain, vec![("/desk/a", Access::Writes)]),
            (RedirectionKind::Writes, "$x", Known::Unknown, vec![("?Computed", Access::Writes)]),
            (RedirectionKind::Writes, "/dev/null", Known::Certain, vec![]),
        ];
        for (kind, target, known, seen) in rows {
            let redirections = vec![Redirection { kind, target: word(target, known) }];
            let expected: Vec<_> = seen.into_iter().map(|(path, access)| (path.to_owned(), access)).collect();
            assert_eq!(see(Command { redirections, ..cat() }), expected, "{target}");
        }
    }

    #[test]
    fn a_shell_pattern_stands_for_the_folder_it_looks_in() {
        for (pattern, seen) in
            [("src/*.rs", "/desk/src"), ("../*/x", "/"), ("*/../../x", "?Glob"), (".*", "?Glob")]
        {
            let words = vec![word("cat", Known::Certain), word(pattern, Known::Glob)];
            assert_eq!(see(Command { words, ..cat() }), [(seen.to_owned(), Access::Reads)], "{pattern}");
        }
    }

    #[test]
    fn what_comes_from_elsewhere_is_a_doubt() {
        let reached_by = vec!["xargs".to_owned()];
        assert_eq!(see(Command { reached_by, ..cat() }), [("?Computed".to_owned(), Access::Reads)]);
    }

    #[test]
    fn what_find_puts_in_is_seen_where_it_starts() {
        let words = vec![word("cat", Known::Certain), word("{}", Known::Unknown), word("a", Known::Certain)];
        let reached_by = vec!["find -exec".to_owned()];
        assert_eq!(see(Command { words, reached_by, ..cat() }), [("/desk/a".to_owned(), Access::Reads)]);
    }

    #[test]
    fn what_is_set_for_a_command_may_name_a_file() {
        let assignments = vec![("A".to_owned(), word("/etc/x", Known::Certain))];
        assert_eq!(see(Command { assignments, ..cat() }), [("/etc/x".to_owned(), Access::Unknown)]);
    }
}
