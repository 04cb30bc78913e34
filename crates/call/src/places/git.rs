//! Which files a command line of git would change, as far as its words tell.
//!
//! [`changes`] reads the verbs and options that are in [`VERBS`]; whatever else is written gives no answer, and so does a
//! command that only a run of it can explain. Asking git is missing on purpose: a door does that.

use crate::places::version_change::VersionChange;
use crate::programs::names::has;
use crate::programs::program::Verbs;
use crate::programs::table::program;

/// A verb, its options without a value and those with one.
struct Verb {
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
}

const fn verb(name: &'static str, flags: &'static str, valued: &'static str) -> Verb {
    Verb { name, flags, valued }
}

const VERBS: &[Verb] = &[
    verb(
        "checkout",
        "-q --quiet -f --force --detach -t --track --no-track --guess --no-guess --progress --no-progress",
        "-b -B --orphan",
    ),
    verb(
        "switch",
        "-q --quiet -f --force --discard-changes -d --detach -t --track --no-track --guess --no-guess --progress \
         --no-progress",
        "-c -C --create --force-create --orphan",
    ),
    verb("reset", "-q --quiet --hard --keep --merge", ""),
    verb("restore", "-q --quiet -W --worktree -S --staged --progress --no-progress", "-s --source"),
    verb("stash", "-q --quiet -k --keep-index -u --include-untracked -a --all --index", "-m --message"),
    verb("clean", "-f --force -d -q --quiet -x -X", "-e --exclude"),
    verb(
        "merge",
        "-q --quiet -v --verbose --ff --no-ff --ff-only --squash --no-squash --commit --no-commit --edit -e --no-edit \
         --stat -n --no-stat",
        "-m -F",
    ),
    verb("rebase", "-q --quiet -v --verbose --stat --no-stat -n --no-autosquash", ""),
    verb("cherry-pick", "-x -n --no-commit -e --edit -s --signoff --ff --allow-empty", ""),
    verb("revert", "-n --no-commit -e --edit --no-edit -s --signoff", ""),
    verb("worktree", "-f --force --detach -q --quiet --checkout", "-b -B"),
    verb("rm", "-r -f --force -q --quiet", ""),
    verb("checkout-index", "-a --all -f --force -q --quiet -u", ""),
    verb(
        "apply",
        "-R --reverse --index -3 --3way --reject -v --verbose -q --quiet --recount",
        "-p -C --whitespace",
    ),
    verb("am", "-3 --3way -q --quiet -k --keep -s --signoff --no-verify", ""),
];

/// The options of `patch` that leave the files to the patch.
const PATCH: Verb = verb(
    "patch",
    "-N --forward -R --reverse -s --quiet --silent -f --force -t --batch -u --unified --verbose -b --backup",
    "-p --strip -i --input -F --fuzz",
);

/// How little a command changes that runs before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quiet {
    /// Nothing that git would be asked about.
    Reads,
    /// Nothing but where the branch stands.
    Commits,
}

/// What a command line of git would change; none where its words do not tell.
pub(crate) fn changes(words: &[&str]) -> Option<Vec<VersionChange>> {
    let (name, rest) = verb_of(words)?;
    if !verbs()?.is_own(name) {
        return Some(vec![VersionChange::Alias { name: name.to_owned() }]);
    }
    let (sub, rest) = match (name, rest.first().copied()) {
        ("stash", Some(sub @ ("push" | "save" | "pop" | "apply"))) => (sub, rest.get(1..)?),
        ("stash", Some(sub)) if !sub.starts_with('-') => return None,
        ("worktree", Some("add")) => ("add", rest.get(1..)?),
        ("worktree", _) => return None,
        _ => ("", rest),
    };
    let read = Read::of(VERBS.iter().find(|verb| verb.name == name)?, rest)?;
    let version = |version: &str, paths: &[&str]| VersionChange::Version {
        version: version.to_owned(),
        paths: owned(paths),
    };
    let operands = read.operands.as_slice();
    Some(match name {
        "checkout" | "switch" => match (operands, read.paths.as_deref()) {
            ([], Some(paths)) => vec![VersionChange::Index { paths: owned(paths) }],
            ([one], Some(paths)) if !paths.is_empty() => vec![version(one, paths)],
            ([], None) if read.has("-f --force --discard-changes") => vec![version("HEAD", &[])],
            ([], None) => Vec::new(),
            ([one], None) if name == "switch" || read.has_value() => vec![version(one, &[])],
            ([first, rest @ ..], None) => {
                vec![VersionChange::VersionOrPath { first: (*first).to_owned(), rest: owned(rest) }]
            }
            _ => return None,
        },
        "reset" => match operands {
            _ if !read.has("--hard --keep --merge") || read.paths.is_some() => return None,
            [] => vec![version("HEAD", &[])],
            [one] => vec![version(one, &[])],
            _ => return None,
        },
        "restore" => {
            let paths = read.all_paths();
            match read.value("-s --source") {
                _ if paths.is_empty() => return None,
                Some(from) => vec![version(from, &paths)],
                // Both would come from the last commit.
                None if read.has("-S --staged") => vec![version("HEAD", &paths)],
                None => vec![VersionChange::Index { paths: owned(&paths) }],
            }
        }
        "stash" if ["pop", "apply"].contains(&sub) => match operands {
            [] => vec![VersionChange::Stash { version: "stash@{0}".to_owned() }],
            [one] if one.chars().all(|c| c.is_ascii_digit()) => {
                vec![VersionChange::Stash { version: format!("stash@{{{one}}}") }]
            }
            [one] => vec![VersionChange::Stash { version: (*one).to_owned() }],
            _ => return None,
        },
        "stash" => {
            let paths = if sub == "save" { Vec::new() } else { read.all_paths() };
            let mut changes = vec![version("HEAD", &paths)];
            let ignored = read.has("-a --all");
            if ignored || read.has("-u --include-untracked") {
                changes.push(VersionChange::Untracked { ignored, paths: owned(&paths) });
            }
            changes
        }
        "clean" => {
            vec![VersionChange::Untracked { ignored: read.has("-x -X"), paths: owned(&read.all_paths()) }]
        }
        "merge" | "cherry-pick" if is_listed(operands) => {
            operands.iter().map(|it| version(it, &[])).collect()
        }
        "revert" if is_listed(operands) => {
            operands.iter().map(|it| version(&format!("{it}^"), &[])).collect()
        }
        "rebase" => match operands {
            [one] => vec![version(one, &[]), VersionChange::Commits { since: (*one).to_owned() }],
            _ => return None,
        },
        "worktree" => match operands {
            [_] => vec![version("HEAD", &[])],
            [_, one] => vec![version(one, &[])],
            _ => return None,
        },
        "rm" => vec![VersionChange::Tracked { paths: owned(&read.all_paths()) }],
        "checkout-index" => vec![VersionChange::Index { paths: Vec::new() }],
        _ => return None,
    })
}

/// The files that `git apply` and `git am` are given, or none of it where it is another command; an empty list where they
/// read their input.
pub(crate) fn patch_files<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let (name, rest) = verb_of(words).filter(|(name, _)| ["apply", "am"].contains(name))?;
    let read = Read::of(VERBS.iter().find(|verb| verb.name == name)?, rest)?;
    Some(read.all_paths())
}

/// The files that `patch` is given; none where its words say which files it changes, or cannot be read.
pub(crate) fn files_of_patch<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let read = Read::of(&PATCH, words.get(1..)?)?;
    let inputs: Vec<&str> =
        read.values.iter().filter(|it| ["-i", "--input"].contains(&it.0)).map(|it| it.1).collect();
    (read.operands.is_empty() && read.paths.is_none()).then_some(inputs)
}

/// How quiet a command of git is; none where it may change anything.
pub(crate) fn quietness(words: &[&str]) -> Option<Quiet> {
    let (name, rest) = verb_of(words)?;
    let only_shows = rest.iter().all(|word| has("-a -v -vv -r --list --show-current --all", word));
    match name {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "describe" | "blame"
        | "grep" | "shortlog" | "add" | "push" => Some(Quiet::Reads),
        "branch" if only_shows => Some(Quiet::Reads),
        "commit" => Some(Quiet::Commits),
        // What it does to files is judged by itself; of all names, only that of the last commit means another one then.
        "checkout" | "switch" => {
            let read = Read::of(VERBS.iter().find(|verb| verb.name == name)?, rest)?;
            let is_plain = !read.has_value() && read.paths.is_none() && read.operands.len() == 1;
            is_plain.then_some(Quiet::Commits)
        }
        _ => None,
    }
}

fn verbs() -> Option<&'static Verbs> {
    program("git")?.verbs
}

/// The verb and the words behind it; none where options before it say something that is not known here.
fn verb_of<'a, 'w>(words: &'a [&'w str]) -> Option<(&'w str, &'a [&'w str])> {
    let mut at = 1;
    loop {
        let word = *words.get(at)?;
        let value = || words.get(at.saturating_add(1)).copied().unwrap_or_default();
        let step = match word {
            "-C" => 2,
            "-c" if ["user.", "advice.", "color.", "gc."].iter().any(|it| value().starts_with(it)) => 2,
            "-P" | "-p" | "--no-pager" | "--paginate" => 1,
            _ if word.starts_with('-') => return None,
            _ => return Some((word, words.get(at.saturating_add(1)..)?)),
        };
        at = at.saturating_add(step);
    }
}

fn is_listed(operands: &[&str]) -> bool {
    !operands.is_empty() && !operands.iter().any(|it| it.contains("..") || it.starts_with('^'))
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The words behind a verb.
struct Read<'w> {
    flags: Vec<&'w str>,
    values: Vec<(&'w str, &'w str)>,
    operands: Vec<&'w str>,
    /// What stands behind `--`.
    paths: Option<Vec<&'w str>>,
}

impl<'w> Read<'w> {
    /// Reads the words; none where an option is not known.
    fn of(verb: &Verb, words: &[&'w str]) -> Option<Self> {
        let mut read = Self { flags: Vec::new(), values: Vec::new(), operands: Vec::new(), paths: None };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            if word == "--" {
                read.paths = Some(words.collect());
                break;
            } else if word == "-" || !word.starts_with('-') {
                read.operands.push(word);
            } else if has(verb.flags, word) {
                read.flags.push(word);
            } else if has(verb.valued, word) {
                read.values.push((word, words.next()?));
            } else if let Some((option, value)) = word.split_once('=').filter(|it| has(verb.valued, it.0)) {
                read.values.push((option, value));
            } else if let Some((option, value)) = word.split_at_checked(2)
                && option == "-p"
                && has(verb.valued, option)
                && value.chars().all(|c| c.is_ascii_digit())
            {
                read.values.push((option, value));
            } else {
                read.cluster(verb, word)?;
            }
        }
        Some(read)
    }

    /// `-qf`: several letters at once.
    fn cluster(&mut self, verb: &Verb, word: &'w str) -> Option<()> {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        for letter in letters.chars() {
            let flag = verb.flags.split_ascii_whitespace().find(|flag| {
                let mut signs = flag.chars();
                signs.next() == Some('-') && signs.next() == Some(letter) && signs.next().is_none()
            });
            self.flags.push(flag?);
        }
        Some(())
    }

    fn has(&self, options: &str) -> bool {
        self.flags.iter().any(|flag| has(options, flag))
    }

    fn has_value(&self) -> bool {
        !self.values.is_empty()
    }

    fn value(&self, options: &str) -> Option<&'w str> {
        self.values.iter().find(|(option, _)| has(options, option)).map(|it| it.1)
    }

    fn all_paths(&self) -> Vec<&'w str> {
        self.operands.iter().chain(self.paths.iter().flatten()).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_say_what_they_change() {
        for (line, told) in [
            ("git checkout main", "VersionOrPath { first: \"main\", rest: [] }"),
            ("git checkout -b x", ""),
            ("git checkout -b x main", "Version { version: \"main\", paths: [] }"),
            ("git checkout -qf", "Version { version: \"HEAD\", paths: [] }"),
            ("git checkout -- a", "Index { paths: [\"a\"] }"),
            ("git checkout main -- a", "Version { version: \"main\", paths: [\"a\"] }"),
            ("git switch -q main", "Version { version: \"main\", paths: [] }"),
            ("git -C x reset --hard", "Version { version: \"HEAD\", paths: [] }"),
            ("git reset main", "?"),
            ("git restore .", "Index { paths: [\".\"] }"),
            ("git restore --source=a .", "Version { version: \"a\", paths: [\".\"] }"),
            ("git restore -SW .", "Version { version: \"HEAD\", paths: [\".\"] }"),
            ("git stash", "Version { version: \"HEAD\", paths: [] }"),
            ("git stash pop 1", "Stash { version: \"stash@{1}\" }"),
            ("git stash branch x", "?"),
            ("git clean -fdx -e a", "Untracked { ignored: true, paths: [] }"),
            ("git merge -m x topic", "Version { version: \"topic\", paths: [] }"),
            ("git merge -X theirs topic", "?"),
            ("git merge", "?"),
            ("git cherry-pick a..b", "?"),
            ("git revert HEAD", "Version { version: \"HEAD^\", paths: [] }"),
            ("git worktree add ../x main", "Version { version: \"main\", paths: [] }"),
            ("git rm -rf '*'", "Tracked { paths: [\"'*'\"] }"),
            ("git x", "Alias { name: \"x\" }"),
            ("git --work-tree=/x checkout main", "?"),
            ("git -c core.worktree=/x checkout main", "?"),
            ("git -c user.name=a checkout main", "VersionOrPath { first: \"main\", rest: [] }"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let changes = changes(&words).map(|it| it.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>());
            assert_eq!(changes.map_or("?".to_owned(), |it| it.join(", ")), told, "{line}");
        }
    }

    #[test]
    fn patches_are_named_or_read() {
        let apply = |line: &'static str| patch_files(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(apply("git apply -p1 -3 a.patch"), Some(vec!["a.patch"]));
        assert_eq!(apply("git apply --directory=x a.patch"), None);
        assert_eq!(apply("git am"), Some(vec![]));
        let patch = |line: &'static str| files_of_patch(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(patch("patch -p1 -i a.patch"), Some(vec!["a.patch"]));
        assert_eq!(patch("patch -p1"), Some(vec![]));
        assert_eq!(patch("patch a.txt a.patch"), None);
        assert_eq!(patch("patch -d x"), None);
    }
}
