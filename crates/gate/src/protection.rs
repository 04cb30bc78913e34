//! Lockgate protects itself: calls that would change its policy, its state or the switches that hosts have for
//! hooks are refused, by whatever tool or command line, and so are calls that speak of a command for humans.
//!
//! The `call` room says what a call certainly or possibly touches, and where links lead if the door looked. Where that
//! cannot be told whole, a call is refused only if it mentions something protected: a gate that refused every script it
//! cannot read to the end would be switched off. So an agent that hides a name from every reader gets past this;
//! permissions of the system do not have that hole, and the manual says how to use them.

mod openings;
mod patches;
mod wide;

use lockgate_call::{
    Access, Call, Command, Known, Links, Place, SeenCall, Selector, Spot, TouchedPath, Word,
    may_hold_a_script,
    path::{PathDoubt, is_under, normalise},
    visible, without_server,
};

use wide::Reach;

/// Programs that only make what they name, where it is not there yet.
const MAKERS: &[&str] = &["mkdir", "touch"];

/// Programs that never change what they name.
const READERS: &[&str] = &[
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "test",
    "[",
    "[[",
    "diff",
    "cmp",
    "file",
    "du",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "md5sum",
    "sha256sum",
    "cat",
    "head",
    "tail",
    "ls",
    "wc",
    "stat",
    "less",
    "more",
    "nl",
    "tac",
    "bat",
];

/// Programs that do nothing with the files their words may name.
const SPEAKERS: &[&str] = &["echo", "printf", "true", "false", ":", "sleep", "exit", "return"];

/// Programs that leave the next ones in another folder.
const WALKERS: &[&str] = &["cd", "pushd"];

/// Words of the names of tools that take away what their fields name.
const MOVERS: &[&str] = &[
    "move", "rename", "mv", "delete", "remove", "rm", "rmdir", "unlink", "trash", "erase", "relocate",
    "destroy",
];

/// Words of the names of tools that leave their source as it is.
const COPIERS: &[&str] = &["copy", "cp", "duplicate"];

/// What code in another language calls to take away or to link a whole folder.
const TAKERS: &[&str] = &[
    "rename",
    "rmtree",
    "symlink",
    "rmsync",
    "rmdirsync",
    "removedirs",
    "shutil.move",
    "os.link",
    "linksync",
    "remove_tree",
];

/// How such code names the folder it stands in.
const HERE: &[&str] = &["getcwd", "cwd()", "'.'", "\".\"", "curdir"];

/// Options of our own program that write a file, or run programs.
const WRITING_OPTIONS: &[&str] = &["--out", "-o", "--save", "--exec", "--fix", "--state", "--store"];

/// What an agent must leave alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    unchanged: Vec<Guarded>,
    untouched: Vec<Guarded>,
    named: Vec<String>,
    file_names: Vec<String>,
    repositories: Vec<Guarded>,
    marks: Vec<Vec<String>>,
    switches: Vec<String>,
    readers: Vec<String>,
    programs: Vec<(String, Vec<String>)>,
    for_humans: Vec<(String, Vec<String>)>,
    home: Option<String>,
}

/// A protected place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Guarded {
    path: String,
    folded: String,
}

impl Guarded {
    fn new(path: String) -> Self {
        Self { folded: path.to_lowercase(), path }
    }
}

impl Protection {
    /// Nothing is protected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file or folder that may be read and not changed; an absolute path without links.
    #[must_use]
    pub fn unchanged(mut self, path: impl Into<String>) -> Self {
        self.unchanged.push(Guarded::new(path.into()));
        self
    }

    /// A file or folder that may not even be read.
    #[must_use]
    pub fn untouched(mut self, path: impl Into<String>) -> Self {
        self.untouched.push(Guarded::new(path.into()));
        self
    }

    /// A name that a file or folder may have anywhere and that is ours then: it may be read and not made, changed or
    /// removed.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.named.push(name.to_lowercase());
        self
    }

    /// The user's home folder, which `~` stands for.
    #[must_use]
    pub fn home(mut self, folder: impl Into<String>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// The name of a protected file, for paths of which only the end is known.
    #[must_use]
    pub fn file_name(mut self, name: &str) -> Self {
        self.file_names.push(name.to_lowercase());
        self
    }

    /// A folder whose version control holds protected files, so that it can bring back other versions of them.
    #[must_use]
    pub fn tracked(mut self, folder: impl Into<String>) -> Self {
        self.repositories.push(Guarded::new(folder.into()));
        self
    }

    /// A program and those of its verbs that only a human may use: calls that speak of both are refused.
    #[must_use]
    pub fn for_humans(mut self, program: &str, verbs: &[&str]) -> Self {
        let verbs = verbs.iter().map(|verb| verb.to_lowercase()).collect();
        self.for_humans.push((program.to_lowercase(), verbs));
        self
    }

    /// Texts that, all together in one call that cannot be told whole, are taken for a try at something protected.
    #[must_use]
    pub fn mark(mut self, texts: &[&str]) -> Self {
        self.marks.push(texts.iter().map(|text| text.to_lowercase()).collect());
        self
    }

    /// A word of a command line that switches hooks off.
    #[must_use]
    pub fn switch(mut self, text: &str) -> Self {
        self.switches.push(text.to_lowercase());
        self
    }

    /// Tools that only read the files their fields name.
    #[must_use]
    pub fn readers(mut self, tools: &[&str]) -> Self {
        self.readers.extend(tools.iter().map(|tool| (*tool).to_owned()));
        self
    }

    /// A program that an agent may run only with one of these as its first word.
    #[must_use]
    pub fn program(mut self, name: &str, harmless: &[&str]) -> Self {
        self.programs.push((name.to_owned(), harmless.iter().map(|word| (*word).to_owned()).collect()));
        self
    }

    /// Why a call is refused, if it is.
    pub(crate) fn objection(&self, call: &Call) -> Option<String> {
        for (program, verbs) in &self.for_humans {
            if let Some(verb) = openings::found(&call.input, program, verbs) {
                return Some(format!(
                    "the call speaks of `{program}` and `{verb}` together, and only a human may run `{program} {verb}`. \
                     If it is only text, leave one of the two words out; otherwise ask the human to run it."
                ));
            }
        }
        let reading = SeenCall::with_script_fields(call, may_hold_a_script);
        let commands = || reading.scripts().flat_map(|(_, script)| &script.commands);
        if let Some(word) = commands().find_map(|command| self.forbidden_run(command)) {
            return Some(format!("`{}` is for humans, not for agents.", visible(&word)));
        }
        let look = Look {
            reads_only: self.is_reader(&call.tool) && reading.scripts().next().is_none(),
            tool: tool_words(&call.tool),
            links: call.about.links.as_ref(),
            reading: &reading,
        };
        let found = reading.paths();
        let standing = reading.standing();
        let wide = self.wide(&look, &found.touched, &standing).or_else(|| self.patched(&look, call));
        if let Some(reason) = wide {
            return Some(reason);
        }
        let names = reading.names();
        let may_hide = !found.unseen.is_empty() || names.is_err();
        let mut has_doubt = may_hide || commands().any(|command| command.opaque || command.code.is_some());
        for path in &found.touched {
            match self.touched(&look, path, true) {
                Ok(is_told) => has_doubt |= !is_told,
                Err(reason) => return Some(reason),
            }
        }
        for path in &names.unwrap_or_default() {
            match self.touched(&look, path, false) {
                Ok(is_told) => has_doubt |= !is_told,
                Err(reason) => return Some(reason),
            }
        }
        if let Some(word) = commands().find_map(|command| self.marked_word(command)) {
            let word = visible(word);
            return Some(format!("`{word}` names what an agent must leave alone: leave it to a human."));
        }
        if has_doubt {
            let text = everything(&reading).to_lowercase();
            if self.marks.iter().any(|mark| mark.iter().all(|part| text.contains(part))) {
                return Some(
                    "the call mentions what an agent must leave alone, and what it does cannot be told. Use plain \
                     commands, or leave it to a human."
                        .to_owned(),
                );
            }
        }
        None
    }

    /// Whether it can be told where one path leads; the reason where it leads to something protected. `is_path` is
    /// false for a text that only a tool may take for one.
    fn touched(&self, look: &Look<'_>, path: &TouchedPath, is_path: bool) -> Result<bool, String> {
        let is_field = matches!(path.place, Place::Field(_));
        // A text of several lines only looks like a path; tools that trim one take off what stands around it.
        if path.is_guess && is_field && path.text.trim().contains('\n') {
            return Ok(true);
        }
        let command = command_of(look.reading, &path.place);
        let program = command.and_then(|command| command.program.as_deref());
        let runs = |programs: &[&str]| program.is_some_and(|program| programs.contains(&program));
        let has = |words: &[&str]| is_field && look.tool.iter().any(|word| words.contains(&word.as_str()));
        // What is harmless to run was looked at above; what it writes is named by an option.
        let is_ours = || {
            let writes = |word: &Word| WRITING_OPTIONS.iter().any(|option| word.text.starts_with(option));
            self.programs.iter().any(|(name, _)| program == Some(name))
                && !command.is_some_and(|command| command.words.iter().any(writes))
        };
        let takes = command.and_then(|command| command.code.as_deref()).is_some_and(|code| {
            let code = code.to_lowercase();
            TAKERS.iter().any(|taker| code.contains(taker))
        });
        let is_read = match path.access {
            _ if look.reads_only => true,
            // A tool that is not known to copy or to read may move what it names its source.
            Access::Reads => (!is_field || has(COPIERS)) && !runs(WALKERS),
            _ => runs(READERS) || is_ours(),
        };
        let is_moved = (path.access == Access::Writes && !runs(MAKERS)) || has(MOVERS) || takes;
        let done = Done { is_read, is_moved };
        let refused = |protected: &str| {
            let (path, protected) = (visible(&path.text), visible(protected));
            Err(format!("`{path}` would reach `{protected}`, which an agent must leave alone."))
        };
        if is_path
            && !is_read
            && !runs(SPEAKERS)
            && let Some(name) = self.own_name(path, look.links)
        {
            return refused(name);
        }
        let spots = match &path.spots {
            // Where a relative path starts from nowhere that is known, it may lead anywhere.
            Ok(spots) if spots.iter().all(|spot| spot.path.starts_with('/')) => spots,
            // `rm -rf .*` may climb to anything.
            Err(PathDoubt::Glob) if path.access == Access::Writes => {
                let path = visible(&path.text);
                return Err(format!("`{path}` may reach what an agent must leave alone: name the files."));
            }
            _ => {
                if let Some(protected) = self.met_at_home(path, done) {
                    return refused(protected);
                }
                let name = path.text.rsplit('/').next().unwrap_or_default().to_lowercase();
                if path.access == Access::Writes && self.file_names.contains(&name) {
                    return refused(&name);
                }
                return Ok(false);
            }
        };
        match spots.iter().find_map(|spot| self.met(path, spot, look.links, done)) {
            Some(protected) => refused(protected),
            None => Ok(true),
        }
    }

    /// The name in a path that is ours wherever it stands, in its text or behind links.
    fn own_name(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let holds = |text: &str, name: &str| text.to_lowercase().split(['/', '\\']).any(|part| part == name);
        let real = |spot: &Spot| links.and_then(|links| spot.canonical(links));
        let name = self.named.iter().find(|name| {
            holds(&path.text, name)
                || path.spots.as_ref().is_ok_and(|spots| {
                    spots.iter().any(|spot| {
                        holds(&spot.path, name) || real(spot).is_some_and(|real| holds(&real, name))
                    })
                })
        });
        name.map(String::as_str)
    }

    /// A word of a command that names something protected in a way that is not read as a path, such as `of=.lockgate/x`.
    fn marked_word<'c>(&self, command: &'c Command) -> Option<&'c str> {
        let program = command.program.as_deref().unwrap_or_default();
        let is_ours = self.programs.iter().any(|(name, _)| program == name);
        // The code of another language is looked at where a doubt is.
        if READERS.contains(&program) || SPEAKERS.contains(&program) || is_ours || command.code.is_some() {
            return None;
        }
        let is_marked = |word: &&Word| {
            let text = word.text.to_lowercase();
            let names = |mark: &Vec<String>| mark.iter().all(|part| text.contains(part));
            // Prose has blanks; what only mentions a path in an address is not one.
            !text.contains(char::is_whitespace) && !text.contains("://") && self.marks.iter().any(names)
        };
        let is_glued = |word: &&Word| word.text.starts_with('-') || word.text.contains('=');
        let mut words = command.words.iter().skip(1);
        words.find(|word| is_glued(word) && is_marked(word)).map(|word| word.text.as_str())
    }

    /// Commands and tools that change whatever lies in a folder, where something protected lies in it.
    fn wide(&self, look: &Look<'_>, touched: &[TouchedPath], standing: &[TouchedPath]) -> Option<String> {
        let words: Vec<&str> = look.tool.iter().map(String::as_str).collect();
        if wide::is_version_tool(&words) && !self.repositories.is_empty() {
            return Some(told_wide("the tool", "may bring back another version of", "the policy"));
        }
        for place in standing {
            let Some(command) = command_of(look.reading, &place.place) else { continue };
            let Some((field, index)) = index_of(&place.place) else { continue };
            let code = command.code.as_deref().map(str::to_lowercase);
            let takes_here = code.is_some_and(|code| {
                TAKERS.iter().any(|taker| code.contains(taker)) && HERE.iter().any(|here| code.contains(here))
            });
            let reach = match wide::reach(command) {
                None if takes_here => Reach::Here("may move or link all of"),
                None => continue,
                Some(reach) => reach,
            };
            let text = visible(&command.text);
            let here = || self.held(place, look.links);
            let (why, held) = match &reach {
                Reach::Here(why) | Reach::Anything(why) => (*why, here()),
                Reach::Tracked(why) => (*why, self.versioned(place, look.links)),
                Reach::Words(at, why) => {
                    let is_named = |path: &&TouchedPath| match &path.place {
                        Place::Word { field: other, command, word } => {
                            other == field && *command == index && at.contains(word)
                        }
                        _ => false,
                    };
                    (*why, touched.iter().filter(is_named).find_map(|path| self.held(path, look.links)))
                }
            };
            if let Some(held) = held {
                return Some(told_wide(&text, why, held));
            }
        }
        None
    }

    /// The protected place that is a folder, lies in it, or holds it.
    fn held(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let done = Done { is_read: false, is_moved: true };
        let Ok(spots) = path.spots.as_ref() else {
            // Where a command stands in a folder that is computed, that may be any.
            let any = || self.unchanged.first().filter(|_| path.spots == Err(PathDoubt::Folder));
            return self.met_at_home(path, done).or_else(|| any().map(|any| any.path.as_str()));
        };
        let known = spots.iter().filter(|spot| spot.path.starts_with('/'));
        known.into_iter().find_map(|spot| self.met(path, spot, links, done))
    }

    /// The protected place that a path below `~` may reach, where the call does not say what `~` is.
    fn met_at_home(&self, path: &TouchedPath, done: Done) -> Option<&str> {
        let home = self.home.as_deref()?;
        let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|start| path.text.strip_prefix(start))?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let text = normalise(&format!("{home}{rest}"), None).ok()?.to_lowercase();
        let is_in = |it: &&Guarded| is_under(&text, &it.folded, None);
        let takes_along = |it: &&Guarded| done.is_moved && is_under(&it.folded, &text, None);
        let untouched = self.untouched.iter().find(is_in);
        let changed = || self.unchanged.iter().filter(|_| !done.is_read).find(is_in);
        let all = || self.untouched.iter().chain(&self.unchanged).find(takes_along);
        untouched.or_else(changed).or_else(all).map(|it| it.path.as_str())
    }

    /// The folder under version control that a place lies in or holds.
    fn versioned(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let Ok(spots) = path.spots.as_ref() else {
            return self.repositories.first().map(|repository| repository.path.as_str());
        };
        let overlaps = |one: &str, other: &str| is_under(one, other, None) || is_under(other, one, None);
        let found = self.repositories.iter().find(|repository| {
            spots.iter().any(|spot| {
                let real = links.and_then(|links| spot.canonical(links)).map(|real| real.to_lowercase());
                overlaps(&spot.path.to_lowercase(), &repository.folded)
                    || real.is_some_and(|real| overlaps(&real, &repository.folded))
            })
        });
        found.map(|repository| repository.path.as_str())
    }

    /// A patch in a text of the call that would change something protected.
    fn patched(&self, look: &Look<'_>, call: &Call) -> Option<String> {
        if look.reads_only {
            return None;
        }
        let cwd = call.about.cwd.as_deref();
        let texts = look
            .reading
            .strings()
            .map(|(_, text)| text)
            .chain(look.reading.script_texts().map(|(text, _)| text));
        for name in texts.flat_map(patches::files) {
            let path = normalise(name, cwd).unwrap_or_else(|_| name.to_owned()).to_lowercase();
            let is_own = |own: &&String| path.split('/').any(|part| part == own.as_str());
            let is_met = |it: &&Guarded| is_under(&path, &it.folded, None);
            let protected = self.named.iter().find(is_own).map(String::as_str);
            let protected = protected.or_else(|| {
                self.unchanged.iter().chain(&self.untouched).find(is_met).map(|it| it.path.as_str())
            });
            if let Some(protected) = protected {
                let (name, protected) = (visible(name), visible(protected));
                return Some(format!(
                    "a patch in the call would change `{name}`: `{protected}` is what an agent must leave alone."
                ));
            }
        }
        None
    }

    fn is_reader(&self, tool: &str) -> bool {
        self.readers.iter().any(|reader| reader == without_server(tool))
    }

    /// The protected place that a path may reach; on systems that tell cases apart and on those that do not.
    fn met(&self, path: &TouchedPath, spot: &Spot, links: Option<&Links>, done: Done) -> Option<&str> {
        let Done { is_read, is_moved } = done;
        let real = links.and_then(|links| spot.canonical(links)).map(|real| real.to_lowercase());
        let text = spot.path.to_lowercase();
        // A file that has another name too may be a protected one: its own name is all that can be compared.
        let name_of = |path: &str| path.rsplit('/').next().map(ToOwned::to_owned);
        let may_be_another = |protected: &&Guarded| {
            links.is_some() && real.is_none() && name_of(&text) == name_of(&protected.folded)
        };
        let is_in = |path: &str, folder: &str| is_under(path, folder, None);
        let may_be = |protected: &&Guarded| {
            path.may_be_under(&protected.path, None)
                || real.as_ref().is_some_and(|real| is_in(real, &protected.folded))
                || is_in(&text, &protected.folded)
                || may_be_another(protected)
        };
        // Whoever removes or moves a folder, does so to all that lies in it.
        let takes_along = |protected: &&Guarded| {
            is_moved
                && (is_in(&protected.folded, &text)
                    || real.as_ref().is_some_and(|real| is_in(&protected.folded, real)))
        };
        let untouched = self.untouched.iter().find(may_be);
        let changed = || self.unchanged.iter().filter(|_| !is_read).find(may_be);
        let all = || self.untouched.iter().chain(&self.unchanged).find(takes_along);
        untouched.or_else(changed).or_else(all).map(|protected| protected.path.as_str())
    }

    /// The beginning of a command line that an agent must not run.
    fn forbidden_run(&self, command: &Command) -> Option<String> {
        let is_switch = |text: &str| {
            let text = text.to_lowercase();
            self.switches.iter().any(|switch| text.contains(switch))
        };
        let assigned = command.assignments.iter().map(|(_, word)| word);
        if let Some(word) = command.words.iter().chain(assigned).find(|word| is_switch(&word.text)) {
            return Some(word.text.clone());
        }
        let (_, harmless) = self.programs.iter().find(|(name, _)| command.program.as_ref() == Some(name))?;
        let first = command.words.get(1);
        let is_harmless = |word: &Word| word.known == Known::Certain && harmless.contains(&word.text);
        let runs_others = command.words.iter().any(|word| word.text.starts_with("--exec"));
        if first.is_none_or(is_harmless) && !runs_others {
            return None;
        }
        Some(command.words.iter().take(2).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    }
}

/// What a call does to one path.
#[derive(Clone, Copy)]
struct Done {
    is_read: bool,
    is_moved: bool,
}

/// What is known of a call.
struct Look<'l> {
    reads_only: bool,
    /// The words of the tool's name.
    tool: Vec<String>,
    links: Option<&'l Links>,
    reading: &'l SeenCall<'l>,
}

/// The command that is given the word at a place, or stands there.
fn command_of<'r>(reading: &'r SeenCall<'_>, place: &Place) -> Option<&'r Command> {
    let Place::Word { field, command, .. } = place else { return None };
    let mut scripts = reading.scripts().filter(|(selector, _)| *selector == field);
    scripts.find_map(|(_, script)| script.commands.get(*command))
}

fn index_of(place: &Place) -> Option<(&Selector, usize)> {
    match place {
        Place::Word { field, command, .. } => Some((field, *command)),
        _ => None,
    }
}

/// The words of a tool's name, in small letters: `mcp__fs__moveFile` is `mcp`, `fs`, `move`, `file`.
fn tool_words(tool: &str) -> Vec<String> {
    let mut words = Vec::from([String::new()]);
    let mut after_small = false;
    for c in tool.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        after_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn told_wide(what: &str, why: &str, held: &str) -> String {
    let held = visible(held);
    format!(
        "`{what}` {why} the folder of `{held}`, which an agent must leave alone: name the files it is about, work in a \
         folder of its own, or ask a human."
    )
}

fn everything(reading: &SeenCall<'_>) -> String {
    let mut text = String::new();
    for part in reading.strings().map(|(_, text)| text).chain(reading.script_texts().map(|(text, _)| text)) {
        text.push_str(part);
        text.push('\n');
    }
    text
}
