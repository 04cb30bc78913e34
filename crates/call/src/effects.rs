//! What a call does: its effects, each with its place.
//!
//! [`find`] puts together what the table of programs, the table of agents' tools, paths and hosts say about a call. A call
//! has as many effects as it has; none replaces another. An [`EffectPattern`] is how a rule names some of them. What is
//! not known to do anything has no effect here: a rule about tools that are unknown names the tools.

mod finds;
mod pattern;
mod secrets;
mod target;

use crate::call::Call;
use crate::contents::{Contents, Place, ReadScript, Unseen};
use crate::json::selector::Selector;
use crate::places::hosts::{Hosts, TouchedHost};
use crate::places::paths::{Paths, TouchedPath};
use crate::programs::effects::{EffectFit, EffectKind, EffectRow, EffectTarget, operands, rows_of};
use crate::programs::files::{Access, Change};
use crate::programs::program::{Program, Verbs};
use crate::programs::table::alike::{
    CONTAINERS, COPIES, FILTERS, MOUNTS, MOVES, QUIET, SHORT_VALUED, VERSIONS,
};
use crate::programs::word::{Known, Word};
use crate::shell::script::{Command, RedirectionKind};
use crate::tools::input::may_type;
use crate::tools::{Does, does, warned_of};

use finds::{found_in, is_find};
pub use pattern::{EffectPattern, EffectPlaces, PlaceFit};
use secrets::{is_secret, names_secret};
pub use target::Target;

/// What a call does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Each effect, in the order it is found.
    pub found: Vec<Effect>,
    /// Whether it may do anything besides: a script cannot be read.
    pub is_open: bool,
    /// Whether it may only because somebody may type into a console that it starts.
    pub only_waits: bool,
}

/// One thing that a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What it does.
    pub kind: EffectKind,
    /// Whether it does so, or only may.
    pub certain: bool,
    /// Whether a success of the call proves that it did.
    pub is_confirmed: bool,
    /// Where.
    pub target: Target,
}

impl Effects {
    /// The words of the effects, each once and in the order of the manual; what the call only may do ends in `?`.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let of = |kind: EffectKind| {
            let mut alike = self.found.iter().filter(|effect| effect.kind == kind).peekable();
            alike.peek()?;
            let doubt = if alike.any(|effect| effect.certain) { "" } else { "?" };
            Some(format!("{}{doubt}", kind.word()))
        };
        EffectKind::ALL.into_iter().filter_map(of).collect()
    }
}

/// What a call does, by what was found in it.
pub(crate) fn find(
    call: &Call,
    contents: &Contents,
    paths: &Paths,
    standing: &[TouchedPath],
    hosts: &Hosts,
) -> Effects {
    let mut finder = Finder { paths, standing, hosts, effects: Effects::default(), found: None };
    for script in &contents.scripts {
        finder.script(script);
    }
    if contents.scripts.is_empty() {
        finder.tool(call);
    }
    warned_of(call).for_each(|kind| finder.push(kind, false, false, Target::Unknown));
    let has_gaps = !contents.unseen.is_empty() || !paths.unseen.is_empty();
    finder.effects.is_open |= has_gaps && !contents.scripts.is_empty();
    let is_opaque = |unseen: &Unseen| matches!(unseen, Unseen::OpaqueScript(_));
    let waits = |read: &ReadScript| !read.script.opaque || read.script.only_waits;
    finder.effects.only_waits = finder.effects.is_open
        && contents.scripts.iter().all(waits)
        && contents.unseen.iter().chain(&paths.unseen).all(is_opaque)
        && !may_type(&call.input);
    finder.effects
}

struct Finder<'r> {
    paths: &'r Paths,
    standing: &'r [TouchedPath],
    hosts: &'r Hosts,
    effects: Effects,
    /// The places of what `find` finds in the script that is read.
    found: Option<Vec<Target>>,
}

impl Finder<'_> {
    fn push(&mut self, kind: EffectKind, certain: bool, is_confirmed: bool, target: Target) {
        let effect = Effect { kind, certain, is_confirmed, target };
        if !self.effects.found.contains(&effect) {
            self.effects.found.push(effect);
        }
    }

    /// A tool that is given no script.
    fn tool(&mut self, call: &Call) {
        let Some((does, is_common)) = does(&call.tool) else { return };
        let certain = !is_common;
        let touched: Vec<TouchedPath> = self.paths.touched.clone();
        let deletes = call.tool.to_ascii_lowercase().contains("delete");
        let kind = match does {
            Does::ReadsFile | Does::Looks => EffectKind::Read,
            Does::Writes if deletes => EffectKind::Deletion,
            Does::Writes => EffectKind::Write,
            Does::Fetches => {
                for host in self.hosts.touched.clone() {
                    self.push(EffectKind::Download, certain && !host.is_guess, true, Target::Host(host));
                }
                return;
            }
            // Whatever it types may be a command.
            Does::Types => return self.open(),
            Does::RunsScript | Does::Notes | Does::StartsAgent | Does::Asks | Does::Unknown => return,
        };
        for path in touched {
            if kind == EffectKind::Read && is_secret(&path) {
                self.push(
                    EffectKind::SecretRead,
                    certain && !path.is_guess,
                    true,
                    Target::Path(path.clone()),
                );
            }
            self.push(kind, certain && !path.is_guess, true, Target::Path(path));
        }
    }

    fn script(&mut self, read: &ReadScript) {
        if read.script.opaque {
            self.open();
        }
        self.found = found_in(read, &self.paths.touched, self.standing);
        let is_fed = read.source.contains('|') || read.source.contains("<<");
        let fed = is_fed.then(|| read.source.to_ascii_lowercase());
        for (index, command) in read.script.commands.iter().enumerate() {
            if command.opaque {
                self.open();
            }
            self.command(&read.selector, index, command);
            if let Some(fed) = &fed {
                self.fed(fed, command);
            }
        }
    }

    /// What a program is told by its input, as far as the script itself says it: `echo 'DROP TABLE x' | psql`.
    fn fed(&mut self, folded: &str, command: &Command) {
        for row in command.program.as_deref().map(rows_of).unwrap_or_default() {
            if row.is_said_in(folded) {
                self.push(row.kind, false, false, Target::Nothing);
            }
        }
    }

    fn open(&mut self) {
        self.effects.is_open = true;
        self.push(EffectKind::UnreadableScript, true, true, Target::Nothing);
    }

    fn command(&mut self, field: &Selector, index: usize, command: &Command) {
        let is_here = |place: &Place| match place {
            Place::Word { field: other, command, .. } | Place::Around { field: other, command } => {
                *command == index && other == field
            }
            Place::Field(_) => false,
        };
        let touched: Vec<&TouchedPath> = self.paths.touched.iter().filter(|it| is_here(&it.place)).collect();
        let hosts: Vec<&TouchedHost> = self.hosts.touched.iter().filter(|it| is_here(&it.place)).collect();
        let is_confirmed = command.is_confirmed;
        if let Some(program) = &command.program {
            self.push(EffectKind::Execution, true, is_confirmed, Target::Program(program.clone()));
            if command
                .reached_by
                .iter()
                .any(|by| by.strip_prefix("function ").is_some_and(|it| it.trim() == program))
            {
                // A function that calls itself never ends.
                self.push(EffectKind::Disruption, false, false, Target::Nothing);
            }
        }
        self.devices(&hosts, is_confirmed);
        let mut deleted: Vec<usize> = Vec::new();
        let arguments = command.words.get(1..).unwrap_or_default();
        let verbs = command.row().and_then(Program::verbs);
        let takes_value = |option: &str| {
            let is_short = |(program, short): &(&str, &str)| {
                command.program.as_deref() == Some(program) && *short == option
            };
            verbs.is_some_and(|verbs: &Verbs| verbs.takes_value(option))
                || VALUED.contains(&option)
                || SHORT_VALUED.iter().any(is_short)
        };
        for row in command.program.as_deref().map(rows_of).unwrap_or_default() {
            let certain = match row.fit(arguments, command.is_told, &takes_value) {
                EffectFit::No => continue,
                EffectFit::Possible => false,
                EffectFit::Certain => true,
            };
            let confirmed = is_confirmed && certain;
            for (target, word) in self.targets(row, field, index, command, &touched, &hosts) {
                deleted.extend(word.filter(|_| row.kind == EffectKind::Deletion));
                self.push(row.kind, certain, confirmed, target);
            }
        }
        self.emptied(command, &touched);
        self.files(command, &touched, &deleted);
        if let Some(code) = &command.code {
            self.code(code);
        }
    }

    /// Files that a command empties because it writes nothing into them: `: > x`.
    fn emptied(&mut self, command: &Command, touched: &[&TouchedPath]) {
        if !says_nothing(command) {
            return;
        }
        let empties = |path: &TouchedPath| {
            matches!(path.place, Place::Around { .. })
                && command
                    .redirections
                    .iter()
                    .any(|to| to.kind == RedirectionKind::Writes && to.target.text == path.text)
        };
        for path in touched.iter().filter(|path| empties(path)) {
            let certain = !path.is_guess && path.spots.is_ok();
            self.push(EffectKind::Deletion, certain, command.is_confirmed, Target::Path((*path).clone()));
        }
    }

    /// Code in another language that names what deletes or sends.
    fn code(&mut self, code: &str) {
        let names = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if names(CODE_DELETES) {
            self.push(EffectKind::Deletion, false, false, Target::Unknown);
        }
        if names(CODE_SENDS) {
            self.push(EffectKind::Upload, false, false, Target::Unknown);
        }
        if names(CODE_FORKS) {
            self.push(EffectKind::Disruption, false, false, Target::Nothing);
        }
    }

    /// A shell opens `/dev/tcp/HOST/PORT` in both directions.
    fn devices(&mut self, hosts: &[&TouchedHost], is_confirmed: bool) {
        for host in hosts.iter().filter(|host| host.text.starts_with("/dev/")) {
            for kind in [EffectKind::Upload, EffectKind::Download] {
                self.push(kind, true, is_confirmed, Target::Host((*host).clone()));
            }
        }
    }

    /// Where a row's effect happens, and which word says so.
    fn targets(
        &self,
        row: &EffectRow,
        field: &Selector,
        index: usize,
        command: &Command,
        touched: &[&TouchedPath],
        hosts: &[&TouchedHost],
    ) -> Vec<(Target, Option<usize>)> {
        let arguments = command.words.get(1..).unwrap_or_default();
        let words: Vec<&Word> = operands(arguments, &|_| false);
        let number = |word: &Word| arguments.iter().position(|it| std::ptr::eq(it, word)).map(|at| at + 1);
        let chosen: Vec<usize> = match row.target {
            EffectTarget::Nothing => return vec![(Target::Nothing, None)],
            EffectTarget::Path(path) => return vec![(Target::At(path.to_owned()), None)],
            EffectTarget::Here => {
                let is_here = |it: &&TouchedPath| matches!(&it.place, Place::Word { field: other, command, .. } if *command == index && other == field);
                let here = self.standing.iter().find(is_here).cloned();
                return vec![(here.map_or(Target::Unknown, Target::Path), None)];
            }
            EffectTarget::Hosts => {
                let named: Vec<_> = hosts.iter().map(|host| (Target::Host((*host).clone()), None)).collect();
                return if named.is_empty() { vec![(Target::Unknown, None)] } else { named };
            }
            EffectTarget::Operands => words.iter().copied().filter_map(number).collect(),
            EffectTarget::First => words.iter().copied().take(1).filter_map(number).collect(),
            EffectTarget::Rest => words.iter().copied().skip(1).filter_map(number).collect(),
            EffectTarget::Last => words.iter().copied().rev().take(1).filter_map(number).collect(),
            EffectTarget::Assigned => {
                let is_output = |word: &&Word| word.text.starts_with("of=");
                words.iter().copied().filter(is_output).filter_map(number).collect()
            }
        };
        let mut targets = Vec::new();
        if is_find(command) {
            let found = self.found.clone().unwrap_or_else(|| vec![Target::Unknown]);
            return found.into_iter().map(|target| (target, None)).collect();
        }
        for at in chosen {
            if let Some(found) = self.found.as_ref().filter(|_| command.is_run_by_find())
                && command.words.get(at).is_some_and(|word| word.text == "{}")
            {
                targets.extend(found.iter().cloned().map(|target| (target, Some(at))));
                continue;
            }
            let is_word = |it: &&&TouchedPath| matches!(&it.place, Place::Word { word, .. } if *word == at);
            // Where a program takes a part of the word for a path as well, both count.
            let found: Vec<&&TouchedPath> = touched.iter().filter(is_word).collect();
            let whole = found.iter().any(|path| !path.is_guess);
            for path in found.into_iter().filter(|path| !whole || !path.is_guess) {
                let is_part = row.target == EffectTarget::Assigned && path.text.starts_with("of=");
                if !is_part {
                    targets.push((Target::Path((*path).clone()), Some(at)));
                }
            }
            if targets.is_empty() {
                targets.push((Target::Unknown, Some(at)));
            }
        }
        if command.is_fed() || targets.is_empty() {
            targets.push((Target::Unknown, None));
        }
        targets
    }

    /// What a command does to the files that it names.
    fn files(&mut self, command: &Command, touched: &[&TouchedPath], deleted: &[usize]) {
        let program = command.program.as_deref().unwrap_or_default();
        // Without a program, words are looked through: `for i in /etc/*`.
        let unknown = if command.words.is_empty() { Change::Reads } else { Change::Anything };
        let change = command.row().map_or(unknown, |row| row.files().change());
        let last = command.words.len().saturating_sub(1);
        let is_copy = COPIES.contains(&program);
        let is_quiet = QUIET.contains(&program) || is_quiet_git(command) || only_looks(command);
        let is_output =
            |at: usize| at.checked_sub(1).and_then(|at| command.words.get(at)).is_some_and(is_output_option);
        let is_reader = change == Change::Reads || runs_elsewhere(command);
        for path in touched {
            let at = match &path.place {
                Place::Word { word, .. } => Some(*word),
                Place::Around { .. } | Place::Field(_) => None,
            };
            if at.is_some_and(|at| deleted.contains(&at)) {
                continue;
            }
            let certain = !path.is_guess && command.is_confirmed;
            let is_target = is_copy && at == Some(last);
            let (reads, writes) = match path.access {
                Access::Reads => (true, false),
                Access::Writes => (is_copy && !is_target, true),
                Access::Runs => (false, false),
                // What is moved is no longer where it was.
                Access::Unknown if is_copy => (!is_target, is_target || MOVES.contains(&program)),
                Access::Unknown if at.is_some_and(is_output) => (false, true),
                Access::Unknown => {
                    (true, !is_reader && !path.is_guess && change == Change::Anything && !is_quiet)
                }
            };
            let target = || Target::Path((*path).clone());
            let keeps_nothing = |path: &TouchedPath| {
                lies_below(path, STREAMS) || MOUNTS.contains(&program) && lies_below(path, MOUNTED)
            };
            if writes && !keeps_nothing(path) {
                self.push(EffectKind::Write, certain && path.access == Access::Writes, certain, target());
            }
            if reads && !path.is_guess {
                self.push(EffectKind::Read, certain && path.access == Access::Reads, certain, target());
            }
            let shows = at.is_none() || !is_quiet;
            if reads && shows && is_secret(path) {
                self.push(EffectKind::SecretRead, certain && path.access == Access::Reads, certain, target());
            }
        }
        let is_talk = change == Change::Nothing || is_quiet || is_copy;
        let texts = command.words.iter().enumerate().skip(1);
        let texts = texts.filter(|(at, _)| !is_talk && !is_output(*at)).map(|(_, word)| word);
        // Code in another language, and words such as `HEAD:.env`, name files that are no path of the command itself.
        let skip = usize::from(
            command.row().is_some_and(|row| row.files().search().takes_pattern())
                || FILTERS.contains(&program),
        );
        // What `find` found by its name is read by whoever is given it: `find . -name .env -exec cat {} +`.
        let is_given = !is_talk && (command.is_fed() || command.is_run_by_find());
        let is_found = |target: &Target| matches!(target, Target::At(path) if names_secret(path));
        if texts.skip(skip).any(|word| names_secret(&word.text))
            || command.code.as_deref().is_some_and(names_secret)
            || is_given && self.found.iter().flatten().any(is_found)
        {
            self.push(EffectKind::SecretRead, false, false, Target::Nothing);
        }
    }
}

/// Long options with a value that stand before what a program is told to do, whatever the program.
const VALUED: &[&str] = &[
    "--namespace",
    "--context",
    "--kubeconfig",
    "--kube-context",
    "--connection",
    "--profile",
    "--region",
    "--project",
    "-chdir",
    "--repo",
    "--app",
    "--prefix",
    "--cwd",
    "--dir",
    "--config",
    "--git-dir",
    "--work-tree",
    "--subscription",
    "--account",
];

/// Whether the word behind an option is a file that is made.
fn is_output_option(word: &Word) -> bool {
    matches!(word.text.as_str(), "-out" | "-keyout" | "--output" | "--outfile" | "--output-file")
}

/// Whether a program only looks at something, by what it is told: `promtool check rules /etc/x`, `rpm -qf /etc/x`.
fn only_looks(command: &Command) -> bool {
    if command.program.as_deref().is_some_and(|program| told_to_look(program, &command.words)) {
        return command.code.is_none() && !command.opaque;
    }
    let looks = |word: &Word| word.known == Known::Certain && LOOKS.contains(&word.text.as_str());
    let first = command.words.iter().skip(1).find(|word| !word.text.starts_with('-'));
    command.row().is_none() && command.code.is_none() && !command.opaque && first.is_some_and(looks)
}

/// Whether one of its words makes a program look at what it otherwise changes.
fn told_to_look(program: &str, words: &[Word]) -> bool {
    let is_said = |(_, said): &(&str, &str)| {
        let says = |word: &Word| {
            said.split(' ').any(|it| it == word.text || it.len() == 2 && word.text.starts_with(it))
        };
        words.iter().skip(1).any(|word| word.known == Known::Certain && says(word))
    };
    LOOKING.iter().filter(|(known, _)| *known == program).any(is_said)
}

/// Programs, and the words with which they only look; of options with one letter more letters may follow.
const LOOKING: &[(&str, &str)] = &[
    ("rpm", "-q -V --query --verify --checksig"),
    ("dpkg", "-S -L -l -s -I --search --listfiles --list --status --info"),
    ("nginx", "-t -T"),
    ("sshd", "-t -T"),
    ("visudo", "-c --check"),
    ("sfdisk", "-d -l -V --dump --list --verify"),
    ("blockdev", "--report --getsize64 --getsz --getss --getbsz --getro --getra --getmaxsect"),
    ("btrfs", "show list df usage status check dump-tree"),
    ("nvme", "smart-log list id-ctrl id-ns error-log show-regs list-ns"),
    ("dscl", "list read -list -read -ls search"),
    ("pacman", "-Q -Si -Ss -F"),
    ("apachectl", "-t -S configtest"),
];

/// What programs are told that then only look.
const LOOKS: &[&str] = &[
    "check", "list", "ls", "show", "info", "status", "describe", "inspect", "validate", "lint", "version",
    "help",
];

/// Whether a path begins with one of these, whatever it may be.
fn lies_below(path: &TouchedPath, starts: &[&str]) -> bool {
    let is = |path: &str| starts.iter().any(|start| path.starts_with(start));
    path.spots.as_ref().is_ok_and(|spots| !spots.is_empty() && spots.iter().all(|spot| is(&spot.path)))
}

/// Devices that keep nothing, and memory that a restart empties: terminals, serial lines, cameras, sound.
const STREAMS: &[&str] = &[
    "/dev/tty",
    "/dev/pts/",
    "/dev/serial/",
    "/dev/rfcomm",
    "/dev/cu.",
    "/dev/video",
    "/dev/snd/",
    "/dev/dsp",
    "/dev/dri/",
    "/dev/input/",
    "/dev/usb/lp",
    "/dev/shm/",
    "/dev/fd/",
];

/// What a mount covers: devices, and where users mount.
const MOUNTED: &[&str] = &["/dev/", "/mnt", "/media/"];

/// Whether a command prints nothing, whatever it is connected to.
fn says_nothing(command: &Command) -> bool {
    let arguments = command.words.get(1..).unwrap_or_default();
    let all = |texts: &[&str]| arguments.iter().all(|word| texts.contains(&word.text.as_str()));
    match command.words.first().map(|word| word.text.as_str()) {
        None => !command.is_group,
        Some(":" | "true") => true,
        Some("echo") => arguments.iter().any(|word| word.text == "-n") && all(&["-n", ""]),
        Some("printf") => !arguments.is_empty() && all(&[""]),
        Some("cat") => !arguments.is_empty() && all(&["/dev/null"]),
        Some(_) => false,
    }
}

/// Whether what it is told to do is done in a container, by a command that is seen for itself.
fn runs_elsewhere(command: &Command) -> bool {
    let is = |names: &[&str], at: Option<&Word>| at.is_some_and(|word| names.contains(&word.text.as_str()));
    is(CONTAINERS, command.words.first())
        && command.words.iter().skip(1).any(|word| is(&["exec", "run"], Some(word)))
}

/// Names in code of other languages that delete files.
const CODE_DELETES: &[&str] = &[
    "rmtree",
    "unlink",
    "os.remove",
    ".remove(",
    "removedirs",
    "rmdir",
    "rmSync",
    "rm_rf",
    "rm_r",
    "FileUtils.rm",
    "File.delete",
    "unlinkSync",
    "rimraf",
    "remove_dir_all",
    "deleteTree",
    "truncate(",
    "emptyDir",
    "fs.rm(",
];

/// Names in code of other languages that start processes without end.
const CODE_FORKS: &[&str] = &["os.fork(", "fork while", "fork until", "fork()"];

/// Names in code of other languages that send something.
const CODE_SENDS: &[&str] = &[
    "socket.socket",
    "import socket",
    "fsockopen",
    "TCPSocket",
    "IO::Socket",
    "use Socket",
    ".post(",
    ".put(",
    "http.request",
    "net.connect",
    "net.Socket",
    "smtplib",
    "ftplib",
    "paramiko",
    "XMLHttpRequest",
    "urlopen(",
    "method: 'POST'",
    "method: \"POST\"",
    "method:'POST'",
    "method:\"POST\"",
    "Net::HTTP.post",
    "createConnection",
];

/// Whether git is told to do something that shows no file.
fn is_quiet_git(command: &Command) -> bool {
    let shows = |text: &str| {
        matches!(text, "show" | "diff" | "cat-file" | "log" | "blame" | "grep" | "archive" | "stash")
    };
    command.program.as_deref() == Some(VERSIONS) && !command.words.iter().any(|word| shows(&word.text))
}
