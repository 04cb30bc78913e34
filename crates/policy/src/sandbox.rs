//! What calls may reach.
//!
//! [`Sandbox::judge`] looks at every path, command and host of a call, wherever it hides, and says whether all of
//! them lie inside the boundaries. What cannot be told is a doubt, never a pass; so is a call that has something to
//! say but nothing a boundary could judge. Looking at files is missing on purpose: whoever can see them hands in
//! what links lead to, with the call (`about.links`) and once for the boundaries ([`Sandbox::resolve`]).

use lockgate_call::{
    Access, Call, Command, Files, HostPattern, Links, Place, Script, SeenCall, Selector, TouchedHost,
    TouchedPath, Unseen, may_hold_a_script, path::is_under, visible,
};
use regex::Regex;
use serde_json::{Map, Value};

/// How many of the commands that may run are named in a refusal.
const COMMANDS_SHOWN_MAX: usize = 12;

/// The most characters of a call that are shown in a sentence.
const SHOWN_CHARS_MAX: usize = 120;

/// What stands around a command and is no program.
const STRUCTURE: &[&str] = &[
    "(…)", "$(…)", "${…}", "<(…)", ">(…)", "if", "while", "until", "for", "select", "case", "coproc",
    "function",
];

/// Variables that change how programs speak, not what they do.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBUG",
    "VERBOSE",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "REPLY",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "LOG_LEVEL",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Fields that set variables for what the call runs, without what stands between words.
const ENVIRONMENT_FIELDS: &[&str] =
    &["env", "envs", "environ", "environment", "envvars", "environmentvariables", "vars", "variables"];

/// Fields that say where a call runs, without what stands between words.
const FOLDER_FIELDS: &[&str] = &["cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory"];

/// Programs that go into every folder they are given.
const WALKERS: &[&str] =
    &["find", "fd", "fdfind", "du", "tree", "tar", "gtar", "bsdtar", "rsync", "mv", "rg", "ag", "ack"];

/// Programs that search in files, where the first word is what they search for; and their options with a value.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack"];
const SEARCH_VALUED: &[&str] = &[
    "-A",
    "-B",
    "-C",
    "-D",
    "-d",
    "-g",
    "-j",
    "-m",
    "-M",
    "-t",
    "-T",
    "--after-context",
    "--before-context",
    "--color",
    "--context",
    "--exclude",
    "--exclude-dir",
    "--glob",
    "--include",
    "--max-count",
    "--type",
];

/// What calls may reach, as an author writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundaries {
    /// Folders that every path must lie in; empty for no boundary.
    pub within: Vec<String>,
    /// Folders that no path may lie in.
    pub not_within: Vec<String>,
    /// Programs that may run, by name or, with a folder, as written; none for no boundary.
    pub commands: Option<Vec<String>>,
    /// Hosts that may be reached, as globs; none for no boundary.
    pub domains: Option<Vec<String>>,
    /// Hosts that may not be reached, as globs.
    pub not_domains: Vec<String>,
}

/// What calls may reach, ready to judge.
#[derive(Clone, Debug)]
pub struct Sandbox {
    boundaries: Boundaries,
    within: Vec<Folder>,
    not_within: Vec<Folder>,
    domains: Option<Vec<Domain>>,
    not_domains: Vec<Domain>,
}

/// Whether a call stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// All it reaches is inside.
    Inside,
    /// Something is not, for a human: "`/etc/passwd` is outside of `/desk`".
    Outside(String),
    /// Something may be, or cannot be told.
    Doubt(String),
}

/// An entry of a boundary that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// A folder that no path could lie in.
    #[error("`{0}` is not a folder: write a path without control characters, from `/` on")]
    Folder(String),
    /// A host that no address could have.
    #[error("`{0}` is not a host: write a name such as `example.com`, or a pattern such as `*.example.com`")]
    Domain(String),
    /// A program without a name.
    #[error("`{0}` is not a program: write its name, without options")]
    Command(String),
}

#[derive(Clone, Debug)]
struct Folder {
    text: String,
    /// The folder behind all links.
    real: String,
}

#[derive(Clone, Debug)]
enum Domain {
    Host(HostPattern),
    Glob(Regex),
}

impl Sandbox {
    /// Reads the boundaries.
    ///
    /// # Errors
    /// A [`SandboxError`] for the first entry that means nothing: one that never fits would silently open a gate,
    /// or close it.
    pub fn new(boundaries: Boundaries) -> Result<Self, SandboxError> {
        let folders = |folders: &[String]| {
            folders.iter().map(|text| Folder::parse(text)).collect::<Result<Vec<_>, _>>()
        };
        let domains = |domains: &[String]| {
            domains.iter().map(|text| Domain::parse(text)).collect::<Result<Vec<_>, _>>()
        };
        let is_program = |name: &&String| !name.is_empty() && !name.contains(char::is_whitespace);
        if let Some(name) = boundaries.commands.iter().flatten().find(|name| !is_program(name)) {
            return Err(SandboxError::Command(name.clone()));
        }
        Ok(Self {
            within: folders(&boundaries.within)?,
            not_within: folders(&boundaries.not_within)?,
            domains: boundaries.domains.as_deref().map(domains).transpose()?,
            not_domains: domains(&boundaries.not_domains)?,
            boundaries,
        })
    }

    /// The boundaries as they were written.
    #[must_use]
    pub fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    /// Follows the links of the boundaries themselves, once: a folder is then known by both its names. Whoever opens
    /// a policy on the machine the tools run on does this.
    pub fn resolve(&mut self, files: &dyn Files) {
        for folder in self.within.iter_mut().chain(&mut self.not_within) {
            if let Some(real) = files.canonical(&folder.text) {
                folder.real = real;
            }
        }
    }

    /// Whether all that the call reaches is inside.
    #[must_use]
    pub fn judge(&self, call: &Call) -> Reached {
        if !self.bounds_paths() && !self.bounds_hosts() && self.boundaries.commands.is_none() {
            return Reached::Inside;
        }
        let lists_commands = self.boundaries.commands.is_some();
        // Where commands are listed, what may be code is read as a script: that it is none is a doubt then.
        let is_script = |key: &str| may_hold_a_script(key) && (lists_commands || !is_code_field(key));
        let reading = SeenCall::with_script_fields(call, is_script);
        let mut look =
            Look { sandbox: self, call, reading: &reading, outside: None, doubt: None, judged: false };
        look.at_commands();
        look.at_settings(&call.input);
        if self.bounds_paths() {
            look.at_paths();
        }
        if self.bounds_hosts() {
            look.at_hosts();
        }
        look.answer()
    }

    fn bounds_paths(&self) -> bool {
        !self.within.is_empty() || !self.not_within.is_empty()
    }

    fn bounds_hosts(&self) -> bool {
        self.domains.is_some() || !self.not_domains.is_empty()
    }

    /// The commands that may run, as they are shown.
    fn may_run(&self) -> String {
        let all = self.boundaries.commands.iter().flatten();
        let names: Vec<String> =
            all.clone().take(COMMANDS_SHOWN_MAX).map(|name| format!("`{name}`")).collect();
        match all.count().saturating_sub(names.len()) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

impl Folder {
    fn parse(text: &str) -> Result<Self, SandboxError> {
        // What nothing can lie in, not even itself, is no folder.
        if !is_under(text, text, None) {
            return Err(SandboxError::Folder(visible(text)));
        }
        Ok(Self { text: text.to_owned(), real: text.to_owned() })
    }

    /// Whether a path, as text, is the folder or lies in it, under one of its names.
    fn holds(&self, path: &str) -> bool {
        is_under(path, &self.text, None) || is_under(path, &self.real, None)
    }

    /// The same where capital letters are small ones, as on some machines.
    fn may_hold(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        [&self.text, &self.real].iter().any(|folder| is_under(&path, &folder.to_lowercase(), None))
    }

    /// Whether it lies in the folder at a path.
    fn lies_below(&self, path: &str) -> bool {
        is_under(&self.text, path, None) || is_under(&self.real, path, None)
    }
}

impl Domain {
    fn parse(text: &str) -> Result<Self, SandboxError> {
        let wrong = || SandboxError::Domain(visible(text));
        if let Ok(pattern) = HostPattern::parse(text) {
            return Ok(Self::Host(pattern));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.*?[]!:".contains(c);
        if !text.contains(['*', '?', '[']) || !text.chars().all(is_plain) {
            return Err(wrong());
        }
        Regex::new(&glob_as_regex(text)).map(Self::Glob).map_err(|_| wrong())
    }

    fn fits(&self, host: &TouchedHost) -> bool {
        match self {
            Self::Host(pattern) => host.matches(pattern),
            Self::Glob(glob) => host.host.as_ref().is_ok_and(|host| glob.is_match(host.name())),
        }
    }
}

/// A glob over host names: a star also stands for dots.
fn glob_as_regex(glob: &str) -> String {
    let mut regex = String::from("(?i)^");
    let mut letters = glob.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => match letters.as_str().split_once(']').filter(|(set, _)| !set.is_empty()) {
                Some((set, after)) => {
                    let (sign, set) = set.strip_prefix('!').map_or(("", set), |set| ("^", set));
                    regex.push_str(&format!("[{sign}{}]", set.replace(['[', '^', '&'], "")));
                    letters = after.chars();
                }
                None => regex.push_str(r"\["),
            },
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    regex + "$"
}

/// Whether a field of this name holds code that need not be the shell's.
fn is_code_field(key: &str) -> bool {
    ["code", "program", "run", "exec", "execute", "eval"].iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// One look at a call.
struct Look<'l> {
    sandbox: &'l Sandbox,
    call: &'l Call,
    reading: &'l SeenCall<'l>,
    outside: Option<String>,
    doubt: Option<String>,
    /// Whether some boundary had something to judge.
    judged: bool,
}

impl<'l> Look<'l> {
    fn answer(mut self) -> Reached {
        if !self.judged && self.call.input.values().any(has_text) {
            self.doubt("nothing in the call tells what it would reach".to_owned());
        }
        match (self.outside, self.doubt) {
            (Some(what), _) => Reached::Outside(what),
            (None, Some(what)) => Reached::Doubt(what),
            (None, None) => Reached::Inside,
        }
    }

    fn outside(&mut self, what: String) {
        self.outside.get_or_insert(what);
    }

    fn doubt(&mut self, what: String) {
        self.doubt.get_or_insert(what);
    }

    fn at_commands(&mut self) {
        let reading = self.reading;
        for (_, script) in reading.scripts() {
            if self.sandbox.boundaries.commands.is_some() {
                self.judged = true;
                self.at_script(script);
            }
            for command in &script.commands {
                // Whatever it runs by the way may also reach anything.
                if let Some(why) = command.runs_unread() {
                    self.doubt(format!("`{}`: {why}", shown(&command.text)));
                }
            }
        }
    }

    /// Fields that say how a command is run: variables for it, the shell, arguments of a program named elsewhere.
    fn at_settings(&mut self, input: &Map<String, Value>) {
        let lists_commands = self.sandbox.boundaries.commands.is_some();
        let has_script = self.reading.scripts().next().is_some();
        for (key, value) in input {
            let name = fold(key);
            let changes = |name: &String| may_change_programs(name) && has_script;
            if ENVIRONMENT_FIELDS.contains(&name.as_str())
                && let Some(variable) = variables(value).iter().find(|name| changes(name))
            {
                self.doubt(format!(
                    "`{}` sets `{}`, by which a program may become another",
                    shown(key),
                    shown(variable)
                ));
            }
            if lists_commands && name == "shell" && value.as_str().is_some_and(|shell| !is_plain_shell(shell))
            {
                self.not_listed(value.as_str().unwrap_or_default());
            }
            let is_unread = may_hold_a_script(key) && !value.is_string() && !is_list_of_words(value);
            let is_alone = !has_script && ["args", "arguments"].contains(&name.as_str());
            if lists_commands && (is_unread || is_alone) && has_text(value) {
                self.doubt(format!("`{}` may say what to run, and cannot be read", shown(key)));
            }
            if let Value::Object(inner) = value {
                self.at_settings(inner);
            }
            for inner in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
                self.at_settings(inner);
            }
        }
    }

    fn at_script(&mut self, script: &Script) {
        if script.opaque {
            let why = script
                .doubts
                .first()
                .map_or("the script may run more than can be read in it", String::as_str);
            self.doubt(why.to_owned());
        }
        if let Some(name) = script.sets.iter().find(|name| may_change_programs(name)) {
            self.doubt(format!("the script sets `{}`, by which a program may become another", shown(name)));
        }
        script.commands.iter().for_each(|command| self.at_command(command));
    }

    fn at_command(&mut self, command: &Command) {
        let around = command.reached_by.iter().filter_map(|by| by.split(' ').next());
        for program in around.filter(|by| !STRUCTURE.contains(by) && !by.ends_with('=')) {
            if !self.is_listed(program) {
                self.not_listed(program);
            }
        }
        let Some(first) = command.words.first() else { return };
        let Some(program) = &command.program else {
            return self
                .doubt(format!("which program `{}` is, is only known when it runs", shown(&first.text)));
        };
        let is_named = first.text == *program || first.text.ends_with(&format!("/{program}"));
        let may_run =
            is_named && command.is_trusted() && self.is_listed(program) || self.is_listed(&first.text);
        if !may_run {
            self.not_listed(&first.text);
        } else if command.opaque {
            self.doubt(format!("what `{}` runs is only known when the script runs", shown(program)));
        }
    }

    fn not_listed(&mut self, program: &str) {
        let listed = self.sandbox.may_run();
        self.outside(format!("`{}` is not among the commands that may run: {listed}", shown(program)));
    }

    fn is_listed(&self, program: &str) -> bool {
        self.sandbox.boundaries.commands.iter().flatten().any(|listed| listed == program)
    }

    fn at_paths(&mut self) {
        let reading = self.reading;
        let found = reading.paths();
        found.unseen.iter().for_each(|unseen| self.doubt(unseen.to_string()));
        if reading.scripts().any(|(_, script)| !script.commands.is_empty()) {
            self.at_start();
        }
        for path in &found.touched {
            let command = self.command_at(&path.place);
            let is_system_program = path.access == Access::Runs && command.is_some_and(Command::is_trusted);
            let is_shell = is_plain_shell(&path.text) && path.place.to_string().ends_with("shell");
            if !is_system_program && !is_shell {
                self.judged = true;
                self.at_path(path, command);
            }
        }
        match reading.names() {
            Ok(names) => names.iter().for_each(|name| self.at_name(name)),
            Err(unseen) => self.doubt(unseen.to_string()),
        }
        if self.call.about.links.as_ref().is_some_and(Links::is_overfull) {
            self.doubt(Unseen::TooManyPlaces.to_string());
        }
    }

    /// The folder where scripts start: programs look around there without being told.
    fn at_start(&mut self) {
        self.judged = true;
        let call = self.call;
        if let Some(folder) = &call.about.cwd {
            let real = call.about.links.as_ref().map(|links| links.canonical(folder));
            self.at_place(folder, folder, real, false);
        }
        // A field that says so is a path, and judged as one.
        let told = call.input.iter().filter(|(key, _)| FOLDER_FIELDS.contains(&fold(key).as_str()));
        let folders: Vec<&str> =
            told.filter_map(|(_, value)| value.as_str()).chain(call.about.cwd.as_deref()).collect();
        if folders.is_empty() {
            self.doubt("nobody tells where the call would run: hand in its working folder, `cwd`".to_owned());
        }
        if let Some(command) = self.walker_here() {
            folders.iter().for_each(|folder| self.at_walk(folder, command));
        }
    }

    /// A command that goes through the folder it stands in.
    fn walker_here(&self) -> Option<&'l Command> {
        let reading = self.reading;
        reading.scripts().flat_map(|(_, script)| &script.commands).find(|command| walks_here(command))
    }

    fn at_path(&mut self, path: &TouchedPath, command: Option<&Command>) {
        let spots = match &path.spots {
            Ok(spots) => spots,
            Err(doubt) => return self.doubt(format!("`{}`: {doubt}", shown(&path.text))),
        };
        let mut path = path.clone();
        // Where only a field tells the folder, it is believed: nobody told another.
        let believed: Vec<_> = spots.iter().filter(|spot| spot.path.starts_with('/')).cloned().collect();
        if self.call.about.cwd.is_none() && !believed.is_empty() {
            path.spots = Ok(believed);
        }
        let links = self.call.about.links.as_ref();
        let files = links.map(|links| links as &dyn Files);
        let may_lie = |folder: &&Folder| {
            path.may_be_under(&folder.text, files) || path.may_be_under(&folder.real, files)
        };
        let is_told = |path: &TouchedPath| {
            path.spots.as_ref().is_ok_and(|spots| spots.iter().all(|spot| spot.path.starts_with('/')))
        };
        if !is_told(&path) {
            return self.doubt(format!(
                "`{}` starts from a folder that nobody tells: hand in the call's working folder, `cwd`",
                shown(&path.text)
            ));
        }
        if let Some(folder) = self.sandbox.not_within.iter().find(may_lie) {
            let is_in = path.spots.iter().flatten().any(|spot| folder.may_hold(&spot.path));
            let lies = if is_in { "is in" } else { "may lead into" };
            return self.misses(
                format!("`{}` {lies} `{}`", shown(&path.text), folder.text),
                path.is_guess.then_some("a path"),
            );
        }
        for spot in path.spots.iter().flatten() {
            let real = links.map(|links| spot.canonical(links));
            self.at_place(&path.text, &spot.path, real, path.is_guess);
            if let Some(command) = command.filter(|command| walks(command)) {
                self.at_walk(&spot.path, command);
            }
            let moves = command.is_some_and(|command| {
                matches!(command.program.as_deref(), Some("cd" | "pushd"))
                    || !command.wrapper_places.is_empty()
            });
            if let Some(walker) = self.walker_here().filter(|_| moves) {
                self.at_walk(&spot.path, walker);
            }
        }
    }

    /// One place, by its text and, where somebody looked, behind its links.
    fn at_place(&mut self, text: &str, path: &str, real: Option<Option<String>>, is_guess: bool) {
        let real =
            match real {
                Some(None) => return self.doubt(format!(
                    "where `{}` leads cannot be told: it could not be looked at, or its file has other names",
                    shown(text)
                )),
                Some(real) => real,
                None => None,
            };
        let sandbox = self.sandbox;
        for place in std::iter::once(path).chain(real.as_deref()) {
            let leads =
                if place == path { String::new() } else { format!(" leads to `{}`, which", shown(place)) };
            let what = if let Some(folder) = sandbox.not_within.iter().find(|folder| folder.may_hold(place)) {
                format!("`{}`{leads} is in `{}`", shown(text), folder.text)
            } else if !sandbox.within.is_empty() && !sandbox.within.iter().any(|folder| folder.holds(place)) {
                let folders: Vec<String> =
                    sandbox.within.iter().map(|folder| format!("`{}`", folder.text)).collect();
                format!("`{}`{leads} is outside of {}", shown(text), folders.join(", "))
            } else {
                continue;
            };
            self.misses(what, is_guess.then_some("a path"));
        }
    }

    /// Takes in that something is not inside; of what is only taken for a path or a host, that is a doubt.
    fn misses(&mut self, what: String, taken_for: Option<&str>) {
        match taken_for {
            Some(kind) => self.doubt(format!("{what}, if it is meant as {kind}")),
            None => self.outside(what),
        }
    }

    /// A program that goes into all that lies below a folder.
    fn at_walk(&mut self, path: &str, command: &Command) {
        if let Some(folder) = self.sandbox.not_within.iter().find(|folder| folder.lies_below(path)) {
            let what = format!("`{}` goes through `{}`", shown(&command.text), folder.text);
            self.doubt(what);
        }
    }

    /// A text that a tool may take for the name of a file: only what certainly leads where it must not counts.
    fn at_name(&mut self, name: &TouchedPath) {
        let links = self.call.about.links.as_ref();
        for spot in name.spots.iter().flatten().filter(|spot| spot.path.starts_with('/')) {
            let real = links.and_then(|links| spot.canonical(links)).filter(|real| *real != spot.path);
            let sandbox = self.sandbox;
            let is_in = |place: &str| sandbox.not_within.iter().any(|folder| folder.may_hold(place));
            let is_out = |place: &str| {
                !sandbox.within.is_empty() && !sandbox.within.iter().any(|folder| folder.holds(place))
            };
            // Whatever the text says, a link is a file: somebody has seen it.
            let leads_out =
                real.as_deref().is_some_and(|real| is_in(real) || is_out(real) && !is_out(&spot.path));
            if is_in(&spot.path) || leads_out {
                self.doubt(format!("`{}` may be a file that is not inside", shown(&name.text)));
            }
        }
    }

    fn at_hosts(&mut self) {
        let reading = self.reading;
        let found = reading.hosts();
        found.unseen.iter().for_each(|unseen| self.doubt(unseen.to_string()));
        for host in &found.touched {
            self.judged = true;
            self.at_host(host);
        }
        for (_, script) in reading.scripts() {
            for command in script.commands.iter().filter(|command| command.goes_unread()) {
                let names_host = |host: &TouchedHost| {
                    self.command_at(&host.place).is_some_and(|named| std::ptr::eq(named, command))
                };
                if !found.touched.iter().any(names_host) {
                    self.doubt(format!("`{}` goes to a host that it does not name", shown(&command.text)));
                }
            }
        }
        if !self.sandbox.bounds_paths() {
            // A file's address is no host, and there is no boundary that would judge the file.
            let paths = reading.paths();
            let is_address = |path: &&TouchedPath| fold(&path.text).starts_with("file:");
            if let Some(path) = paths.touched.iter().find(is_address) {
                self.doubt(format!(
                    "`{}` is a file, and no folder is told that it may lie in",
                    shown(&path.text)
                ));
            }
        }
    }

    fn at_host(&mut self, host: &TouchedHost) {
        let text = shown(&host.text);
        if let Err(doubt) = &host.host {
            return self.doubt(format!("`{text}`: {doubt}"));
        }
        let fits = |domain: &&Domain| domain.fits(host);
        let what = if self.sandbox.not_domains.iter().any(|domain| fits(&domain)) {
            format!("`{text}` is a host that may not be reached")
        } else if self
            .sandbox
            .domains
            .as_ref()
            .is_some_and(|domains| !domains.iter().any(|domain| fits(&domain)))
        {
            format!("`{text}` is not among the hosts that may be reached")
        } else if has_two_readings(&host.text) {
            return self.doubt(format!("`{text}` leads to one host or another, depending on who reads it"));
        } else {
            return;
        };
        self.misses(what, host.is_guess.then_some("a host"));
    }

    /// The command a place stands in.
    fn command_at(&self, place: &Place) -> Option<&'l Command> {
        let (field, command): (&Selector, usize) = match place {
            Place::Word { field, command, .. } | Place::Around { field, command } => (field, *command),
            Place::Field(_) => return None,
        };
        let mut scripts = self.reading.scripts().filter(|(selector, _)| *selector == field);
        scripts.find_map(|(_, script)| script.commands.get(command))
    }
}

/// Whether setting the variable may make a program another one, or make it run others. A name with a small letter is
/// the script's own.
fn may_change_programs(name: &str) -> bool {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_own = name.chars().any(|c| c.is_ascii_lowercase());
    !(is_name && (is_own || HARMLESS.contains(&name) || name.starts_with("LC_")))
}

/// The variables that a field for them sets: as keys, as `NAME=value`, or as the names of a list.
fn variables(value: &Value) -> Vec<String> {
    let before_sign = |text: &str| text.split_once('=').map(|(name, _)| name.trim().to_owned());
    match value {
        Value::String(text) => text.split_whitespace().filter_map(before_sign).collect(),
        Value::Object(object) => object.keys().cloned().collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item {
                Value::String(text) => Vec::from_iter(before_sign(text)),
                Value::Object(entry) => {
                    let names = ["name", "key"].iter().filter_map(|key| entry.get(*key)?.as_str());
                    names.map(ToOwned::to_owned).collect()
                }
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether programs disagree about the host of an address: to browsers a backslash ends it, to others it is part of
/// the name of a user.
fn has_two_readings(address: &str) -> bool {
    let authority = address.split_once("//").map_or(address, |(_, rest)| rest);
    authority.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('\\'))
}

/// Whether a text names a shell as it stands in any system.
fn is_plain_shell(text: &str) -> bool {
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|folder| text.strip_prefix(folder));
    ["sh", "bash", "zsh", "dash", "ksh", "fish"].contains(&name.unwrap_or(text))
}

fn is_list_of_words(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// Whether a command goes into the folders below those it is given.
fn walks(command: &Command) -> bool {
    let program = command.program.as_deref().unwrap_or_default();
    let is_recursive = |text: &str| {
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(['r', 'R', 'a']))
            || ["--recursive", "--dereference-recursive", "--archive"].contains(&text)
    };
    // A short option of another meaning, such as the `-a` of `ls`, is no walk.
    let takes = matches!(
        program,
        "grep"
            | "egrep"
            | "fgrep"
            | "cp"
            | "rm"
            | "chmod"
            | "chown"
            | "chgrp"
            | "zip"
            | "scp"
            | "diff"
            | "shred"
    );
    let lists_all = program == "ls"
        && command.words.iter().any(|word| {
            word.text == "--recursive"
                || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('R')
        });
    WALKERS.contains(&program)
        || lists_all
        || takes && command.words.iter().skip(1).any(|word| is_recursive(&word.text))
}

/// Whether a command goes into the folder it stands in, because it is given no other.
fn walks_here(command: &Command) -> bool {
    let program = command.program.as_deref().unwrap_or_default();
    let is_searcher = SEARCHERS.contains(&program);
    if !walks(command) || !(is_searcher || matches!(program, "find" | "fd" | "fdfind" | "du" | "tree" | "ls"))
    {
        return false;
    }
    let mut words = command.words.iter().skip(1).map(|word| word.text.as_str());
    let mut operands = 0_usize;
    let mut has_pattern = false;
    while let Some(word) = words.next() {
        if is_searcher && SEARCH_VALUED.contains(&word) {
            words.next();
        } else if is_searcher && matches!(word, "-e" | "-f" | "--regexp" | "--file") {
            has_pattern = true;
            words.next();
        } else if word.starts_with('-') {
            // What `find` is to look for, not where.
            if program == "find" {
                break;
            }
        } else {
            operands += 1;
        }
    }
    let takes_pattern = is_searcher && !has_pattern || matches!(program, "fd" | "fdfind");
    operands <= usize::from(takes_pattern)
}

/// Whether a value holds a text that could name something.
fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(object) => {
            object.iter().any(|(key, value)| has_text(value) || !key.is_empty() && value.is_object())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A name in one spelling: small letters, nothing between words.
fn fold(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '_' && *c != '-')
        .flat_map(char::to_lowercase)
        .collect()
}

/// A text as it is shown: without characters a terminal would obey, and not too long.
fn shown(text: &str) -> String {
    let mut shown: String = visible(text).chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
