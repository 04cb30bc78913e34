//! Where a path leads, as far as its text can tell.
//!
//! [`normalise`] folds `.`, `..` and doubled slashes away; [`is_under`] says yes only when the text leaves
//! no doubt. Symbolic links are missing on purpose: this room does no I/O, so whoever runs on the same
//! machine as the tool has to ask about the real path as well.

use std::borrow::Cow;

/// A path whose meaning its text does not settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathDoubt {
    /// Nothing was named.
    #[error("the path is empty")]
    Empty,
    /// A NUL ends the path early for some programs and not for others; control characters hide it from people.
    #[error("the path contains a control character")]
    ControlCharacter,
    /// A shell would replace a leading `~` by a folder we do not know.
    #[error("the path starts at a home folder, which is not known here")]
    Home,
    /// Some part is computed when the call runs.
    #[error("part of the path is known only when the call runs")]
    Computed,
    /// It starts at a folder that is computed when the call runs.
    #[error("the folder the path starts from is known only when the call runs")]
    Folder,
    /// A pattern that may lead out of the folder it starts in.
    #[error("the path is a pattern that may lead anywhere")]
    Glob,
    /// A variable that the tool may put in.
    #[error("the path names a variable, which is not known here")]
    Variable,
    /// `%2e` may be a dot, or not.
    #[error("the path is percent-encoded, and may mean another one")]
    Encoded,
    /// A backslash parts folders on one system and belongs to a name on another.
    #[error("the path has a backslash, which some systems take for a slash")]
    Backslash,
    /// Drives and shares: another system's paths.
    #[error("the path starts at a drive or at another machine")]
    Elsewhere,
    /// Characters that some programs turn into slashes and dots, or that people cannot see.
    #[error("the path has a character that looks like another one, or like none")]
    LookAlike,
    /// Some systems and tools drop spaces and dots at the ends of names.
    #[error("part of the path starts or ends with a space or ends with a dot, which some programs drop")]
    LooseEnd,
    /// `/proc/self/root` and its like lead to another place than they say.
    #[error("the path leads through `/proc` or `/dev/fd` to another one")]
    Magic,
    /// Longer than any system's paths.
    #[error("the path is too long")]
    TooLong,
}

/// The path without `.`, `..`, doubled and trailing slashes, started at `cwd` where it is relative.
///
/// Without a `cwd` a relative path stays relative, and what climbs out of it stays visible as leading `..`.
///
/// # Errors
/// A [`PathDoubt`] when the path, or the `cwd` it needs, is empty, holds a control character or starts with `~`.
pub fn normalise(path: &str, cwd: Option<&str>) -> Result<String, PathDoubt> {
    normal(path, cwd).map(Cow::into_owned)
}

/// The same, borrowed where nothing is to be done: most paths are absolute and plain, and are compared often.
fn normal<'p>(path: &'p str, cwd: Option<&str>) -> Result<Cow<'p, str>, PathDoubt> {
    check(path)?;
    if is_plain(path) {
        return Ok(Cow::Borrowed(path));
    }
    let mut parts = Vec::new();
    let mut absolute = path.starts_with('/');
    if !absolute && let Some(cwd) = cwd {
        check(cwd)?;
        absolute = cwd.starts_with('/');
        walk(&mut parts, cwd, absolute);
    }
    walk(&mut parts, path, absolute);
    let joined = parts.join("/");
    Ok(Cow::Owned(match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".into(),
        // A file that is really called `~` must not turn into the home folder.
        (false, false) if joined.starts_with('~') => format!("./{joined}"),
        (false, false) => joined,
    }))
}

/// Whether a path is absolute and stands as [`normalise`] would leave it.
fn is_plain(path: &str) -> bool {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    path.strip_prefix('/')
        .is_some_and(|rest| rest.is_empty() || rest.as_bytes().split(|byte| *byte == b'/').all(is_plain))
}

/// Whether the path certainly is the folder or lies in it, by its text. Any doubt is a no.
#[must_use]
pub fn is_under(path: &str, folder: &str, cwd: Option<&str>) -> bool {
    normal(path, cwd).and_then(|path| Ok(lies_in(&path, &normal(folder, cwd)?))) == Ok(Some(true))
}

/// Whether a path is a folder or lies in it, as both stand; none if that cannot be told.
pub(crate) fn lies_in(path: &str, folder: &str) -> Option<bool> {
    let (path, folder) = (normal(path, None).ok()?, normal(folder, None).ok()?);
    // From `..` on, a relative path is outside of anything we can compare it with.
    if climbs(&path) || climbs(&folder) || path.starts_with('/') != folder.starts_with('/') {
        return None;
    }
    Some(match &*folder {
        "/" | "." => true,
        folder => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    })
}

fn check(path: &str) -> Result<(), PathDoubt> {
    if path.is_empty() {
        Err(PathDoubt::Empty)
    } else if path.chars().any(char::is_control) {
        Err(PathDoubt::ControlCharacter)
    } else if path.starts_with('~') {
        Err(PathDoubt::Home)
    } else {
        Ok(())
    }
}

fn walk<'a>(parts: &mut Vec<&'a str>, path: &'a str, absolute: bool) {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") | None if !absolute => parts.push(".."),
                _ => drop(parts.pop()),
            },
            name => parts.push(name),
        }
    }
}

fn climbs(path: &str) -> bool {
    path == ".." || path.starts_with("../")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_folded_without_looking_it_up() {
        let rows = [
            ("a/b", None, "a/b"),
            ("./a//b/./c/", None, "a/b/c"),
            ("a/../b", None, "b"),
            ("a/..", None, "."),
            ("../x", None, "../x"),
            ("a/../../x", None, "../x"),
            ("../../x/..", None, "../.."),
            ("/..", None, "/"),
            ("//etc//passwd", None, "/etc/passwd"),
            ("x", Some("/desk"), "/desk/x"),
            ("../x", Some("/desk/a"), "/desk/x"),
            ("../../../etc", Some("/desk"), "/etc"),
            ("/etc", Some("/desk"), "/etc"),
            ("../x", Some("a"), "x"),
            ("...", None, "..."),
            ("./~/x", None, "./~/x"),
            ("a\\..\\b", None, "a\\..\\b"),
            ("/", None, "/"),
            ("/srv/data", Some("/desk"), "/srv/data"),
            ("/srv/data/", None, "/srv/data"),
            ("/srv/./data", None, "/srv/data"),
            ("/srv/..data", None, "/srv/..data"),
        ];
        for (path, cwd, folded) in rows {
            assert_eq!(normalise(path, cwd).as_deref(), Ok(folded), "{path} in {cwd:?}");
        }
    }

    proptest! {
        #[test]
        fn a_path_is_plain_when_folding_leaves_it_as_it_is(path in "/?([a.]{0,3}/){0,4}[a.]{0,3}") {
            prop_assume!(!path.is_empty());
            let mut parts = Vec::new();
            walk(&mut parts, &path, true);
            let folded = format!("/{}", parts.join("/"));
            prop_assert_eq!(is_plain(&path), path == folded, "{}", folded);
        }
    }

    #[test]
    fn a_path_that_cannot_be_trusted_is_a_doubt() {
        let rows = [
            ("", None, PathDoubt::Empty),
            ("a\0b", None, PathDoubt::ControlCharacter),
            ("a\nb", None, PathDoubt::ControlCharacter),
            ("a\u{85}b", None, PathDoubt::ControlCharacter),
            ("~/x", None, PathDoubt::Home),
            ("~root/x", Some("/desk"), PathDoubt::Home),
            ("x", Some(""), PathDoubt::Empty),
            ("x", Some("/wo\0rk"), PathDoubt::ControlCharacter),
        ];
        for (path, cwd, doubt) in rows {
            assert_eq!(normalise(path, cwd), Err(doubt), "{path:?} in {cwd:?}");
        }
    }

    #[test]
    fn only_what_is_certainly_inside_is_under_a_folder() {
        let rows = [
            ("/desk/a", "/desk", None, true),
            ("/desk", "/desk/", None, true),
            ("/deskshop", "/desk", None, false),
            ("/desk/../etc", "/desk", None, false),
            ("/desk/a/../b", "/desk", None, true),
            ("a", "/desk", Some("/desk"), true),
            ("../a", "/desk", Some("/desk"), false),
            ("a", "/desk", None, false),
            ("a/b", "a", None, true),
            ("a/../../a/b", "a", None, false),
            ("../a", "..", None, false),
            ("a", ".", None, true),
            ("..", ".", None, false),
            ("/etc", ".", None, false),
            ("/anything", "/", None, true),
            ("/desk/a\0", "/desk", None, false),
            ("~/desk", "/", None, false),
        ];
        for (path, folder, cwd, under) in rows {
            assert_eq!(is_under(path, folder, cwd), under, "{path:?} under {folder} in {cwd:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_changes_nothing(path in "[a-c./~\\\\]{0,12}", cwd in proptest::option::of("/[a-c./]{0,6}")) {
            if let Ok(once) = normalise(&path, cwd.as_deref()) {
                assert_eq!(normalise(&once, cwd.as_deref()), Ok(once.clone()));
            }
        }
    }
}
