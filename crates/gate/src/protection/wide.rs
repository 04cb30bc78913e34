//! Commands that change whatever lies in a folder, without a word about each file.
//!
//! [`reach`] says which folders a command would change so, by the words that name them or by the folder it stands in.
//! Whether something protected lies there is for the caller to say. Programs that are missing here are judged by the
//! paths they name.

use lockgate_call::{
    Command, Known, Program, Redirection, RedirectionKind, Script, Search, Spread, Word, fits_glob,
};

use super::git::git;
use super::reach::{REMOVES, Reach};

/// Names of files that Lockgate and agents keep their settings in; a pattern that fits one of them is not harmless.
const SAMPLES: &[&str] = &[
    ".lockgate",
    "lockgate.toml",
    "policy.rules",
    "policy.yaml",
    "policy.yml",
    "policy.json",
    "lockgate.db",
    "lockgate.db-wal",
    "lockgate.key",
    "settings.json",
    "settings.local.json",
    "hooks.json",
    "config.toml",
    ".mcp.json",
];

const PUTS: &str = "may put any file into";

/// What a command does to whole folders; none where it does no such thing.
pub(super) fn reach(command: &Command) -> Option<Reach> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let row = command.row()?;
    match row.files().spread() {
        Spread::None => None,
        Spread::Git => git(row.verbs()?, command),
        Spread::Find => find(command, false),
        Spread::Copies => copied(&command.words),
        Spread::LastWord => last_operand(&words).map(|at| Reach::Words(vec![at], PUTS)),
        Spread::Here => Some(Reach::Here(PUTS)),
        Spread::Extracts => is_extracting(&words).then_some(Reach::Here(PUTS)),
        Spread::ExtractsFirst => {
            words.get(1).is_some_and(|word| word.contains('x')).then_some(Reach::Here(PUTS))
        }
        Spread::Unzips => (!has(&["-l", "-t", "-p", "-v", "-Z"])).then(|| into_option(&words, &["-d"])),
        Spread::ExtractsByWord => has(&["x", "e"]).then(|| glued_output(&words)),
        Spread::Patches if has(&["--dry-run"]) => None,
        Spread::Patches => Some(match into_option(&words, &["-d", "--directory"]) {
            Reach::Here(_) => Reach::Here("may change any file in"),
            other => other,
        }),
        Spread::ExtractsByModule => {
            let extracts = has(&["zipfile", "tarfile"]) && has(&["-e", "--extract"]);
            extracts.then_some(Reach::Here(PUTS))
        }
        Spread::Removes => is_recursive(command).then(|| removes_computed(command)).flatten(),
        Spread::Moves => removes_computed(command),
    }
}

/// The place of the last word that is not an option.
fn last_operand(words: &[&str]) -> Option<usize> {
    let at = words.iter().rposition(|word| !word.starts_with('-'))?;
    (at > 0).then_some(at)
}

fn into_option(words: &[&str], options: &[&str]) -> Reach {
    let at = words.iter().position(|word| options.contains(word)).map(|at| at.saturating_add(1));
    match at.filter(|at| *at < words.len()) {
        Some(at) => Reach::Words(vec![at], PUTS),
        None => Reach::Here(PUTS),
    }
}

/// `7z x a.7z -oout`: the word of the option, which the reader of paths reads as one.
fn glued_output(words: &[&str]) -> Reach {
    match words.iter().position(|word| word.len() > 2 && word.starts_with("-o")) {
        Some(at) => Reach::Words(vec![at], PUTS),
        None => Reach::Here(PUTS),
    }
}

fn is_extracting(words: &[&str]) -> bool {
    let is_long = |word: &&str| ["--extract", "--get"].contains(word);
    let is_short = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    let old = words.get(1).is_some_and(|word| !word.starts_with('-') && word.contains('x'));
    old || words.iter().skip(1).any(|word| is_long(word) || is_short(word))
}

/// `cp -r a/. b` and `cp -rT a b` copy what lies in `a` into `b`; `cp -al a b` makes second names of everything in `a`.
fn copied(words: &[Word]) -> Option<Reach> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let short = |letters: &[char]| {
        let is_one =
            |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains(letters);
        texts.iter().skip(1).any(|word| is_one(&word))
    };
    let long = |options: &[&str]| texts.iter().any(|word| options.contains(word));
    let operands: Vec<usize> =
        (1..texts.len()).filter(|at| !texts.get(*at).is_some_and(|it| it.starts_with('-'))).collect();
    let (last, sources) = operands.split_last()?;
    if short(&['l', 's']) || long(&["--link", "--symbolic-link"]) {
        return Some(Reach::Words(sources.to_vec(), "would make other names of what lies in"));
    }
    if !short(&['r', 'R', 'a']) && !long(&["--recursive", "--archive"]) {
        return None;
    }
    // What lies in a folder is copied, not the folder; or names that begin with a dot.
    let spills = |at: &usize| {
        let Some(word) = words.get(*at) else { return true };
        let name = word.text.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
        word.known == Known::Unknown
            || matches!(name, "." | "..")
            || (word.known == Known::Glob && name.starts_with('.'))
    };
    let is_spilt = short(&['T']) || long(&["--no-target-directory"]) || sources.iter().any(spills);
    is_spilt.then(|| Reach::Words(vec![*last], PUTS))
}

/// Whether a script lists files with this command and changes what is listed: `find . | xargs rm`. What else looks at them in
/// between is taken to choose.
pub(super) fn is_listed_for_change(command: &Command, script: &Script) -> bool {
    let is_search = |other: &Command| other.row().is_some_and(|row| row.files().search() == Search::Contents);
    if !is_find(command) || script.commands.iter().any(is_search) {
        return false;
    }
    let is_changer = |other: &Command| other.row().is_some_and(|row| !row.is_harmless() && !is_find(other));
    let reads_names = script.commands.iter().any(|other| other.program.as_deref() == Some("read"));
    let writes_unknown = |other: &Command| {
        let is_written =
            |it: &Redirection| it.kind != RedirectionKind::Reads && it.target.known == Known::Unknown;
        other.redirections.iter().any(is_written)
            || (is_changer(other) && other.words.iter().any(|word| word.known == Known::Unknown))
    };
    let mut others = script.commands.iter();
    others.any(|other| (other.is_fed() && is_changer(other)) || (reads_names && writes_unknown(other)))
}

fn is_find(command: &Command) -> bool {
    command.row().is_some_and(|row| row.files().spread() == Spread::Find)
}

/// What a command that lists files reaches, where others change what it lists.
pub(super) fn found(command: &Command) -> Option<Reach> {
    find(command, true)
}

fn find(command: &Command, is_fed_on: bool) -> Option<Reach> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let runs_others = words.windows(2).any(|pair| match pair {
        ["-exec" | "-execdir" | "-ok" | "-okdir", program] => {
            let row = lockgate_call::program(program.rsplit('/').next().unwrap_or(program));
            !row.is_some_and(Program::is_harmless)
        }
        _ => false,
    });
    let acts = words.iter().any(|word| *word == "-delete" || word.starts_with("-fprint") || *word == "-fls");
    if !acts && !runs_others && !is_fed_on {
        return None;
    }
    let is_open = words.iter().any(|word| ["-o", "-or", "!", "-not", ","].contains(word));
    // Only names that fit are touched, unless the expression has other branches.
    let names = command.words.windows(2).filter_map(|pair| match pair {
        [option, name] if ["-name", "-iname"].contains(&option.text.as_str()) => Some(name),
        _ => None,
    });
    let is_narrow = |name: &Word| {
        !name.text.contains('$') && !SAMPLES.iter().any(|sample| fits_glob(&name.text.to_lowercase(), sample))
    };
    if !is_open && names.into_iter().any(is_narrow) {
        return None;
    }
    let starts = |word: &&str| {
        word.starts_with('-') && !["-H", "-L", "-P"].contains(word) || ["(", "!"].contains(word)
    };
    let end = words.iter().skip(1).position(starts).map_or(words.len(), |at| at.saturating_add(1));
    let folders: Vec<usize> =
        (1..end).filter(|at| words.get(*at).is_some_and(|it| !it.starts_with('-'))).collect();
    Some(match folders.is_empty() {
        true => Reach::Here(REMOVES),
        false => Reach::Words(folders, REMOVES),
    })
}

fn is_recursive(command: &Command) -> bool {
    command.words.iter().skip(1).any(|word| {
        word.text == "--recursive"
            || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(['r', 'R']))
    })
}

/// `rm -r $(ls -A)`, `… | xargs rm -r`.
fn removes_computed(command: &Command) -> Option<Reach> {
    let is_list = |text: &str| text.starts_with("$(") || text.starts_with('`');
    let is_listed = |word: &Word| word.known == Known::Unknown && is_list(&word.text);
    let computes = command.is_fed() || command.words.iter().skip(1).any(is_listed);
    computes.then_some(Reach::Anything("removes or moves files whose names are computed"))
}

/// Verbs of tools for version control that change files.
pub(super) fn is_version_tool(words: &[&str]) -> bool {
    words.contains(&"git")
        && words.iter().any(|word| {
            [
                "checkout", "reset", "restore", "stash", "clean", "apply", "revert", "switch", "merge",
                "rebase", "pull", "am",
            ]
            .contains(word)
        })
}

#[cfg(test)]
mod tests {
    use lockgate_call::read_script;

    use super::*;

    fn told(script: &str) -> String {
        let script = read_script(script);
        match reach(&script.commands[0]) {
            None => "-".to_owned(),
            Some(Reach::Here(_)) => "here".to_owned(),
            Some(Reach::Words(at, _)) => {
                at.iter().map(|at| script.commands[0].words[*at].text.clone()).collect::<Vec<_>>().join(" ")
            }
            Some(Reach::Tracked(_)) => "tracked".to_owned(),
            Some(Reach::Alias(_)) => "alias".to_owned(),
            Some(Reach::Elsewhere(_)) => "elsewhere".to_owned(),
            Some(Reach::Anything(_)) => "anything".to_owned(),
        }
    }

    #[test]
    fn commands_reach_what_they_say_and_no_more() {
        for (script, reach) in [
            ("git status", "-"),
            ("git checkout -b topic", "-"),
            ("git switch -c topic", "-"),
            ("git checkout -q HEAD~1", "tracked"),
            ("git -c user.name=a -C x revert --no-edit HEAD", "tracked"),
            ("git checkout -- src/a.rs", "src/a.rs"),
            ("git checkout HEAD~1 -- .", "."),
            ("git --work-tree=. checkout HEAD~1 -- :/", "elsewhere"),
            ("GIT_DIR=/x/.git git checkout -f HEAD~1", "elsewhere"),
            ("git --git-dir=/x/.git status", "-"),
            ("git config core.worktree /x", "elsewhere"),
            ("git config user.name x", "-"),
            ("git co main", "alias"),
            ("git checkout main -- '*.rules'", "here"),
            ("git rm -qf '*.rules'", "here"),
            ("git rm src/a.rs", "src/a.rs"),
            ("git restore --pathspec-from-file=x", "here"),
            ("git clean -fd -e x", "here"),
            ("git restore .", "."),
            ("git restore --staged .", "-"),
            ("git reset HEAD~1", "-"),
            ("git reset -q --hard HEAD~1", "tracked"),
            ("git stash", "tracked"),
            ("git stash -u", "here"),
            ("git stash list", "-"),
            ("git clean -fdx", "here"),
            ("git clean -fd build", "build"),
            ("git clean -n", "-"),
            ("git rm -rqf .", "."),
            ("git rm --cached x", "-"),
            ("git apply e.patch", "here"),
            ("git apply --check e.patch", "-"),
            ("patch -p1 < e.patch", "here"),
            ("tar xf x.tar", "here"),
            ("tar -xzf x.tgz -C build", "here"),
            ("tar czf x.tgz src", "-"),
            ("unzip -oq x.zip", "here"),
            ("unzip x.zip -d out", "out"),
            ("unzip -l x.zip", "-"),
            ("cp a b", "-"),
            ("cp -r src lib", "-"),
            ("cp -r src/. .", "."),
            ("cp -rT src .", "."),
            ("cp -r src/.l* .", "."),
            ("cp -al . ../copy", "."),
            ("rsync -a src/ .", "."),
            ("find . -name '*.pyc' -delete", "-"),
            ("find . -name '*.rs' -exec grep x {} +", "-"),
            ("find . -name '*.rules' -delete", "."),
            ("find . -mindepth 1 -delete", "."),
            ("find -delete", "here"),
            ("find a b -name '*.tmp' -o -delete", "a b"),
            ("find ~ -name settings.json -exec truncate -s0 {} ';'", "~"),
            ("rm -rf $(ls -A)", "anything"),
            ("rm -rf $TMP/x", "-"),
            ("rm $(cat list)", "-"),
        ] {
            // What `find` runs stands as a command of its own.
            let is_first = read_script(script).commands[0].program.as_deref() == script.split(' ').next();
            if is_first {
                assert_eq!(told(script), reach, "{script}");
            } else {
                let script_read = read_script(script);
                let any = script_read.commands.iter().filter_map(super::reach).next();
                assert_eq!(any.is_none(), reach == "-", "{script}: {any:?}");
            }
        }
    }
}
