//! Command lines that follow rules of their own: shells, `find`, `source`, `trap` and `alias`.

use super::inner::Inner;
use super::program::Language;
use super::word::{Field, Known};

/// What a shell runs.
pub(super) fn shell(arguments: &[Field], language: Language) -> (Vec<Inner>, Vec<Field>) {
    let mut assignments = Vec::new();
    let inner = shell_script(arguments, language, &mut assignments);
    (inner, assignments)
}

/// The same, and the variables that its options stand for.
fn shell_script(arguments: &[Field], language: Language, assignments: &mut Vec<Field>) -> Vec<Inner> {
    let mut words = arguments.iter();
    let (mut from_option, mut from_input) = (false, false);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let is_option = word.is_certain() && text.starts_with(['-', '+']) && text != "-";
        let inner = match text {
            "--" if word.is_certain() => break,
            // It talks about itself. Where a shell does not know the option, it ends.
            "--version" | "--help" if word.is_certain() && arguments.len() == 1 => return found,
            "--rcfile" | "--init-file" => {
                found.extend(words.next().map(file));
                continue;
            }
            _ if text.starts_with("--command") || text.starts_with("--init-command") => Inner::Unknown,
            // PowerShell knows many ways to write the option that takes a script.
            _ if is_option && text.starts_with(['-', '+']) && text.len() > 2 && text.contains("ommand") => {
                Inner::Unknown
            }
            // And some whose script is encoded.
            _ if is_option && language == Language::Other && is_encoded(text) => Inner::Unknown,
            _ if is_option && text.starts_with("--") => continue,
            _ if is_option => {
                from_option |= text.contains('c');
                from_input |= text.contains('s');
                // Each `o` takes a word, wherever it stands among the letters.
                let set = words.as_slice().iter().take(text.matches(['o', 'O']).count());
                // With `nullglob` a word that fits no file goes away, and the next one is the program.
                if set.clone().any(|option| option.text.contains("null") || !option.is_certain()) {
                    found.push(Inner::Unknown);
                }
                let changes = |option: &Field| variable_of_option(&option.text).map(Field::certain);
                assignments.extend(set.clone().filter_map(changes));
                words = words.as_slice().get(set.count()..).unwrap_or_default().iter();
                continue;
            }
            _ if from_option => Inner::Script(word.clone()),
            // It might be `-c`, with the script behind it.
            _ if !word.is_certain() && (word.splits || !text.contains('/')) => Inner::Unknown,
            _ if from_input => Inner::Input,
            _ => file(word),
        };
        found.push(inner);
        return found;
    }
    found.push(match words.next() {
        Some(word) if from_option => Inner::Script(word.clone()),
        None if from_option => Inner::Unknown,
        Some(word) if !from_input => file(word),
        _ => Inner::Input,
    });
    found
}

/// Whether an option of PowerShell takes a script that is encoded: `-enc`, `-EncodedCommand`.
fn is_encoded(option: &str) -> bool {
    let option = option.trim_start_matches(['-', '+']).to_ascii_lowercase();
    option.starts_with('e') && option != "ep" && !option.starts_with("ex")
}

/// The variable that does what an option of a shell does to the names of files and folders.
pub(crate) fn variable_of_option(option: &str) -> Option<&'static str> {
    match option {
        "cdable_vars" => Some("CDPATH="),
        "dotglob" => Some("GLOBIGNORE="),
        _ => None,
    }
}

/// What reading a file as a script runs.
pub(super) fn file(word: &Field) -> Inner {
    match word.text.as_str() {
        "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => Inner::Input,
        text if text.contains("/dev/") || text.contains("/proc/") => Inner::Unknown,
        text if text.contains("<(") => Inner::Unknown,
        _ => Inner::File(word.clone()),
    }
}

/// What `source` runs. A bare name is looked for where programs are, so it is one: `. rm x`.
pub(super) fn source(arguments: &[Field]) -> Vec<Inner> {
    let arguments = match arguments {
        [option, rest @ ..] if option.text == "--" => rest,
        all => all,
    };
    let Some(first) = arguments.first() else { return Vec::new() };
    let is_program = first.is_certain() && !first.text.contains(['/', '.']) && first.text != "-";
    let program = is_program.then(|| Inner::ProgramUnlessFile(arguments.to_vec()));
    std::iter::once(file(first)).chain(program).collect()
}

pub(super) fn find(arguments: &[Field]) -> Vec<Inner> {
    let runs = |word: &Field| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &Field| matches!(word.text.as_str(), ";" | "+");
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while words.by_ref().any(runs) {
        let mut inner: Vec<_> = words.by_ref().take_while(|word| !ends(word)).cloned().collect();
        blur(&mut inner, "{}");
        found.push(Inner::Words(inner));
    }
    // Something that looks like the end of a command whose beginning is not to be seen.
    let marks = |word: &Field| ends(word) || word.text.contains("{}");
    if found.is_empty() && arguments.iter().any(marks) && arguments.iter().any(|word| !word.is_certain()) {
        found.push(Inner::Unknown);
    }
    found
}

pub(super) fn trap(arguments: &[Field]) -> Vec<Inner> {
    let mut words = arguments.iter().skip_while(|word| word.text == "--");
    match words.next() {
        Some(word) if !matches!(word.text.as_str(), "-" | "-l" | "-p" | "-lp") && words.next().is_some() => {
            vec![Inner::Script(word.clone())]
        }
        _ => vec![],
    }
}

pub(super) fn alias(arguments: &[Field]) -> Vec<Inner> {
    let script = |word: &Field| {
        let (_, value) = word.text.split_once('=')?;
        Some(Inner::Script(Field { text: value.to_owned(), ..*word }))
    };
    arguments.iter().filter_map(script).collect()
}

/// Marks the words in which the wrapper will put something of its own.
pub(super) fn blur(words: &mut [Field], mark: &str) {
    for word in words {
        if word.text.contains(mark) {
            word.known = Known::Unknown;
        }
    }
}
