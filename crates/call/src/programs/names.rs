//! Names of programs: which can be trusted, and the lists in the rows of the table.

/// Folders in which a program's name can be trusted.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// Whether a program is the one its name says: by bare name, or right in a folder of the system.
pub(crate) fn is_trusted(program: &str) -> bool {
    program.rsplit_once('/').is_none_or(|(folder, _)| SYSTEM_FOLDERS.contains(&folder))
}

/// Whether the list holds the word.
pub(crate) fn has(list: &str, word: &str) -> bool {
    // Most words are in no list: look for the text before looking for the word.
    list.contains(word) && list.split_ascii_whitespace().any(|item| item == word)
}
