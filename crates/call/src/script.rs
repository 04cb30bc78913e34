//! The commands of a shell script.
//!
//! [`read_script`] lists every simple command a script may run, wherever it hides. What it cannot know is
//! said aloud: a command whose program is named only at run time is opaque, and so is its script. Nothing
//! is ever run, matched against files or looked up, and a script past one of the limits below is opaque.

use std::panic::catch_unwind;
use std::thread;

use rable::{ListOperator, Node, NodeKind};

use crate::confirm::{confirm, confirm_words};
use crate::scan::Place;
use crate::unwrap::{Inner, unwrap};
use crate::variables::Variables;
use crate::words::{Field, Inside, look_into, resolve};
use crate::wrappers::is_shell;

/// The longest script that is read.
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// How deep commands may be nested, by brackets, loops, quotes and wrappers together.
const NESTING_MAX: usize = 64;

/// The most commands that are listed.
const COMMANDS_MAX: usize = 2_000;

/// The most `$(`, `<(` and `>(` in one script: the parser's time grows with the cube of their nesting.
const SUBSTITUTIONS_MAX: usize = 64;

/// The most reasons that are given for a doubt, and the longest name in one.
const DOUBTS_MAX: usize = 8;
const NAME_CHARS_MAX: usize = 60;

/// The longest script that is read where we stand. The parser goes one call deeper for every bracket, so a
/// longer one could use up the stack of a thread, which ends the process; it gets a stack of its own.
const SCRIPT_BYTES_HERE: usize = 256;

/// Enough for the longest script made of nothing but brackets, twice over. Only what is used is ever taken.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// How often the limits above may be used up again by scripts within the script.
const ROUNDS_MAX: usize = 4;

/// What a script would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands it may run, roughly as a shell would come to them: `$(a)` before `echo $(a)`.
    pub commands: Vec<Command>,
    /// Whether it may run more than is listed: it could not be read, or a program is named only at run time.
    pub opaque: bool,
    /// Why it is opaque, in words.
    pub doubts: Vec<String>,
}

/// One program a script may run, as seen after taking off `sudo`, `env`, `xargs`, `sh -c` and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name of the program without its folder; none when it is computed at run time.
    pub program: Option<String>,
    /// The program without its folder and the words that reach it, unquoted and joined by one space.
    /// What is not known before the script runs stands as it is written.
    pub text: String,
    /// The same with the program's folder, where one is written: `/bin/rm x`.
    pub text_with_path: String,
    /// Whether it may run something other than what is listed.
    pub opaque: bool,
    /// Whether a success of the whole script proves that this command ran and succeeded.
    pub is_confirmed: bool,
}

/// Reads a script and lists the simple commands it may run.
#[must_use]
pub fn read_script(text: &str) -> Script {
    read(text.len(), |reader| reader.script(text, &Input::Given))
}

/// Reads a command given as a list of words, none of which a shell will touch: `["rm", "-rf", "/"]`.
#[must_use]
pub fn read_words(words: &[String]) -> Script {
    if let [shell, "-c" | "-lc", script] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        && is_shell(shell.rsplit('/').next().unwrap_or_default())
    {
        // So hosts hand a script to a shell, and nothing but the shell stands around it.
        return read_script(script);
    }
    let bytes = words.iter().map(String::len).fold(0, usize::saturating_add);
    let fields: Vec<Field> = words.iter().map(Field::certain).collect();
    let mut script = read(bytes, |reader| reader.run(&fields, &Input::Given));
    confirm_words(&mut script, words);
    script
}

/// Whether a field of this name holds a script by custom: `command`, `cmd`, `script`, `shell_command`, `bash_command`.
#[must_use]
pub fn is_script_field(name: &str) -> bool {
    ["command", "cmd", "script", "shell_command", "bash_command"].contains(&name)
}

/// Reads where we stand if that is safe, else on a stack of its own.
fn read(bytes: usize, start: impl Fn(&mut Reader) + Sync) -> Script {
    let read_up_to = |bytes_max| {
        let mut reader = Reader { bytes_max, ..Reader::default() };
        start(&mut reader);
        reader
    };
    if bytes <= SCRIPT_BYTES_HERE {
        let reader = read_up_to(SCRIPT_BYTES_HERE);
        if !reader.cramped {
            return reader.found;
        }
    } else if bytes > SCRIPT_BYTES_MAX {
        let mut reader = Reader::default();
        reader.doubt(TOO_LONG);
        return reader.found;
    }
    let read_all = || read_up_to(SCRIPT_BYTES_MAX).found;
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

const TOO_LONG: &str = "the script is too long to be read";

/// What comes on a command's standard input.
#[derive(Clone, Debug)]
enum Input {
    /// What the whole script was given, or a file: not written by the script.
    Given,
    /// This text.
    Text(String),
    /// Something another command writes.
    Computed,
}

/// What a wrapper makes us look at next.
enum Next<'a> {
    Words(Vec<Field>),
    Script(String, &'a Input),
}

#[derive(Default)]
struct Reader {
    found: Script,
    variables: Variables,
    depth: usize,
    bytes: usize,
    /// The longest script that may be read here.
    bytes_max: usize,
    /// Whether a script within was too long to be read here.
    cramped: bool,
    substitutions: usize,
}

impl Reader {
    /// Reads a script, the outermost or one within.
    fn script(&mut self, text: &str, input: &Input) {
        let substitutions = ["$(", "<(", ">("].iter().map(|open| text.matches(open).count()).sum();
        self.bytes = self.bytes.saturating_add(text.len());
        self.substitutions = self.substitutions.saturating_add(substitutions);
        if text.contains('\0') {
            // Shells drop it, so what they read is not what we would read.
            return self.doubt("the script contains a NUL character");
        }
        if text.len() > self.bytes_max || self.bytes > SCRIPT_BYTES_MAX * ROUNDS_MAX {
            self.cramped = true;
            return self.doubt(TOO_LONG);
        }
        if substitutions > SUBSTITUTIONS_MAX || self.substitutions > SUBSTITUTIONS_MAX * ROUNDS_MAX {
            return self.doubt("the script has too many substitutions to be read");
        }
        match catch_unwind(|| rable::parse(text, false)) {
            Ok(Ok(nodes)) => {
                nodes.iter().for_each(|node| self.node(node, input));
                if self.depth == 0 {
                    confirm(&mut self.found, &nodes);
                }
            }
            Ok(Err(error)) => self.doubt(&format!("the script cannot be parsed: {error}")),
            // A parser's mistake must not end the process that holds the gate.
            Err(_) => self.doubt("the script cannot be parsed"),
        }
    }

    /// Goes one level down, unless that is too deep.
    fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= NESTING_MAX {
            return self.doubt("the script is nested too deeply to be read");
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// Reads what runs in a shell of its own: its variables are a copy.
    fn subshell(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.variables.clone();
        self.deeper(read);
        self.variables.back_from_subshell(before);
    }

    /// Reads what may run never, once or often: no value from before or within is certain.
    fn block(&mut self, nodes: &[&Node], redirects: &[Node], input: &Input) {
        let input = self.redirected(redirects, input);
        for node in nodes {
            self.variables.forget();
            self.deeper(|reader| reader.node(node, &input));
        }
        self.variables.forget();
    }

    fn node(&mut self, node: &Node, input: &Input) {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.command(assignments, words, redirects, input);
            }
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands, input),
            NodeKind::List { .. } => self.list_of_commands(node, input),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                self.deeper(|reader| reader.node(pipeline, input));
            }
            NodeKind::Subshell { body, redirects } => {
                let input = self.redirected(redirects, input);
                self.subshell(|reader| reader.node(body, &input));
            }
            NodeKind::Coproc { command, .. } => {
                self.subshell(|reader| reader.node(command, &Input::Computed));
            }
            NodeKind::BraceGroup { body, redirects } => self.block(&[body], redirects, input),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                let mut nodes: Vec<&Node> = vec![condition, then_body];
                nodes.extend(else_body.as_deref());
                self.block(&nodes, redirects, input);
            }
            NodeKind::While { condition, body, redirects }
            | NodeKind::Until { condition, body, redirects } => {
                self.block(&[condition, body], redirects, input);
            }
            NodeKind::For { words, body, redirects, .. }
            | NodeKind::Select { words, body, redirects, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.block(&[body], redirects, input);
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                [init, cond, incr].into_iter().for_each(|text| self.text(text, Place::Quoted));
                self.block(&[body], redirects, input);
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.words(std::slice::from_ref(word));
                patterns.iter().for_each(|case| drop(self.words(&case.patterns)));
                let bodies: Vec<&Node> = patterns.iter().filter_map(|case| case.body.as_ref()).collect();
                self.block(&bodies, redirects, input);
            }
            NodeKind::Function { body, .. } => {
                // From now on any command may be the function, with whatever it assigns and reads.
                self.variables.freeze();
                self.deeper(|reader| reader.node(body, &Input::Computed));
            }
            NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
                self.text(raw_content, Place::Quoted);
                self.block(&[], redirects, input);
                if looks_like_a_command(raw_content) {
                    // Shells without arithmetic commands see two subshells.
                    self.subshell(|reader| reader.script(raw_content, input));
                }
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.condition(body);
                self.block(&[], redirects, input);
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.doubt("the script contains something that cannot be read"),
        }
    }

    /// Reads `a; b; c`, which the grammar nests to the left: a long script is not a deep one.
    fn list_of_commands(&mut self, list: &Node, input: &Input) {
        let mut spine = Vec::new();
        let mut first = list;
        while let NodeKind::List { items } = &first.kind {
            let Some((item, following)) = items.split_first() else {
                return;
            };
            spine.push((item.operator, following));
            first = &item.command;
        }
        self.deeper(|reader| reader.node(first, input));
        for (mut operator, following) in spine.into_iter().rev() {
            for item in following {
                self.after(operator);
                self.deeper(|reader| reader.node(&item.command, input));
                if matches!(operator, Some(ListOperator::And | ListOperator::Or)) {
                    // It may or may not have run.
                    self.variables.forget();
                }
                operator = item.operator;
            }
            self.after(operator);
        }
    }

    fn after(&mut self, operator: Option<ListOperator>) {
        if operator == Some(ListOperator::Background) {
            // It ran in a shell of its own, so what it assigned does not hold here.
            self.variables.forget();
        }
    }

    fn condition(&mut self, node: &Node) {
        self.deeper(|reader| match &node.kind {
            NodeKind::UnaryTest { operand: inner, .. }
            | NodeKind::CondNot { operand: inner }
            | NodeKind::CondParen { inner } => {
                reader.condition(inner);
            }
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                reader.condition(left);
                reader.condition(right);
            }
            // Quotes in a pattern or a regular expression need not come in pairs: look through all of them.
            NodeKind::CondTerm { value, .. } => reader.text(value, Place::Quoted),
            NodeKind::Word { .. } => drop(reader.words(std::slice::from_ref(node))),
            _ => reader.doubt("the script contains a test that cannot be read"),
        });
    }

    fn pipeline(&mut self, commands: &[Node], input: &Input) {
        let mut input = input.clone();
        for command in commands {
            if let NodeKind::Redirect { .. } = command.kind {
                // So the grammar writes the `|&` after a compound command.
                continue;
            }
            self.subshell(|reader| reader.node(command, &input));
            input = self.output(command, &input);
        }
        // Some shells run the last command themselves, so that its variables stay.
        self.variables.forget();
    }

    /// What a command writes, where that is certain without running it.
    fn output(&mut self, command: &Node, input: &Input) -> Input {
        let NodeKind::Command { words, redirects, .. } = &command.kind else {
            return Input::Computed;
        };
        let fields: Vec<Field> = self.peek(words);
        let Some((program, arguments)) = fields.split_first() else {
            return Input::Computed;
        };
        // Escapes and formats change what is written.
        let plain = |field: &Field| {
            field.certain && !field.text.contains(['\\', '%']) && !field.text.starts_with('-')
        };
        let text = || arguments.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
        match program.text.as_str() {
            "echo" if program.certain && arguments.iter().all(plain) => Input::Text(text()),
            "printf" if program.certain && arguments.len() == 1 && arguments.iter().all(plain) => {
                Input::Text(text())
            }
            "cat" if program.certain && arguments.is_empty() => match self.input_after(redirects, input) {
                Input::Given => Input::Computed,
                known => known,
            },
            _ => Input::Computed,
        }
    }

    fn command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node], input: &Input) {
        let fields = self.words(words);
        for assignment in assignments {
            let value = self.words(std::slice::from_ref(assignment));
            // With a program it holds for that program alone.
            if fields.is_empty() {
                self.assign(assignment, &value);
            }
        }
        let input = self.redirected(redirects, input);
        self.run(&fields, &input);
    }

    fn assign(&mut self, assignment: &Node, fields: &[Field]) {
        let NodeKind::Word { value: source, .. } = &assignment.kind else {
            return;
        };
        let name = source.split(['=', '[', '+']).next().unwrap_or_default();
        let value = match fields {
            [field]
                if field.certain && source.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) =>
            {
                field.text.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned)
            }
            _ => None,
        };
        self.variables.assign(name, value);
    }

    /// Reads what redirections run and gives the standard input they leave a command with.
    fn redirected(&mut self, redirects: &[Node], input: &Input) -> Input {
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { quoted: true, .. } => {}
                NodeKind::HereDoc { content, .. } => self.text(content, Place::Quoted),
                NodeKind::Redirect { target, .. } => drop(self.words(std::slice::from_ref(target))),
                _ => self.doubt("the script contains a redirection that cannot be read"),
            }
        }
        self.input_after(redirects, input)
    }

    fn input_after(&mut self, redirects: &[Node], input: &Input) -> Input {
        let mut input = input.clone();
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, fd: -1 | 0, .. } => {
                    let expands = !quoted && content.contains(['$', '`', '\\']);
                    input = if expands { Input::Computed } else { Input::Text(content.clone()) };
                }
                NodeKind::Redirect { op, target, fd: -1 | 0, .. } => {
                    let fields = self.peek(std::slice::from_ref(target));
                    match (op.as_str(), fields.as_slice()) {
                        ("<<<", [field]) if field.certain => input = Input::Text(field.text.clone()),
                        ("<", [field]) if field.certain && !field.text.starts_with("/dev/") => {
                            input = Input::Given;
                        }
                        ("<<<" | "<" | "<>" | "<&", _) => input = Input::Computed,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        input
    }

    /// Resolves words and reads what they run while they are expanded.
    fn words(&mut self, words: &[Node]) -> Vec<Field> {
        let mut inside = Vec::new();
        let fields = words.iter().flat_map(|word| resolve(word, &mut self.variables, &mut inside)).collect();
        self.inside(inside);
        fields
    }

    /// Resolves words that are read elsewhere.
    fn peek(&mut self, words: &[Node]) -> Vec<Field> {
        words.iter().flat_map(|word| resolve(word, &mut self.variables, &mut Vec::new())).collect()
    }

    fn text(&mut self, text: &str, place: Place) {
        if text.contains('=') {
            // It may assign, as `${x:=value}` does.
            self.variables.forget();
        }
        let mut inside = Vec::new();
        look_into(text, place, &mut inside);
        self.inside(inside);
    }

    fn inside(&mut self, inside: Vec<Inside<'_>>) {
        for inner in inside {
            match inner {
                Inside::Node(node) => self.subshell(|reader| reader.node(node, &Input::Computed)),
                Inside::Text(text) => self.subshell(|reader| reader.script(&text, &Input::Computed)),
                Inside::Unknown => self.doubt("the script contains a substitution that cannot be read"),
            }
        }
    }

    /// Lists what the words run: the program itself, or what it wraps.
    fn run(&mut self, words: &[Field], input: &Input) {
        let Some(first) = words.first() else { return };
        let program = first.text.rsplit('/').next().unwrap_or_default().to_owned();
        if !first.certain || program.starts_with('-') {
            let name: String = first.text.chars().take(NAME_CHARS_MAX).collect();
            self.doubt(&format!("the program `{name}` is known only when the script runs"));
            return self.list(words, None, true);
        }
        self.variables.after_running(&program);
        let Some(unwrapped) = unwrap(&program, words) else {
            return self.list(words, Some(program), false);
        };
        let mut opaque = false;
        let mut listed = unwrapped.own || unwrapped.inner.is_empty();
        let mut next = Vec::new();
        for inner in unwrapped.inner {
            match (inner, input) {
                (Inner::Words(inner), _) => next.push(Next::Words(inner)),
                (Inner::Script(script), _) if script.certain => next.push(Next::Script(script.text, input)),
                // Whoever reads on in the same input finds nothing that is not listed.
                (Inner::Input, Input::Text(text)) => next.push(Next::Script(text.clone(), &Input::Given)),
                (Inner::Input, Input::Given) => listed = true,
                (Inner::Script(_) | Inner::Unknown | Inner::Input, _) => opaque = true,
            }
        }
        if opaque {
            self.doubt(&format!("what `{program}` runs is known only when the script runs"));
        }
        if listed || opaque {
            self.list(words, Some(program), opaque);
        }
        for inner in next {
            match inner {
                Next::Words(words) => self.deeper(|reader| reader.run(&words, input)),
                Next::Script(script, input) => self.subshell(|reader| {
                    // A shell of its own knows nothing of our variables.
                    reader.variables.forget();
                    reader.script(&script, input);
                }),
            }
        }
    }

    fn list(&mut self, words: &[Field], program: Option<String>, opaque: bool) {
        if self.found.commands.len() >= COMMANDS_MAX {
            return self.doubt("the script has too many commands to be listed");
        }
        let shown = |word: &&Field| word.certain || !word.text.is_empty();
        let text_with_path =
            words.iter().filter(shown).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let folder = match (&program, words.first()) {
            (Some(program), Some(first)) => first.text.len().saturating_sub(program.len()),
            _ => 0,
        };
        let text = text_with_path.get(folder..).unwrap_or_default().to_owned();
        self.found.commands.push(Command { program, text, text_with_path, opaque, is_confirmed: false });
    }

    fn doubt(&mut self, why: &str) {
        self.found.opaque = true;
        if self.found.doubts.len() < DOUBTS_MAX && !self.found.doubts.iter().any(|doubt| doubt == why) {
            self.found.doubts.push(why.to_owned());
        }
    }
}

/// Whether a sum could be meant as a command: `rm -rf /x` is both.
fn looks_like_a_command(sum: &str) -> bool {
    let mut words = sum.split_whitespace();
    let is_name = |word: &str| !word.contains(|c: char| !c.is_ascii_alphanumeric() && !"_/.-".contains(c));
    let is_argument = |word: &str| {
        word.trim_start_matches(['-', '/']).starts_with(|c: char| c.is_alphabetic() || "_.~\"'$".contains(c))
    };
    words.next().is_some_and(|first| is_name(first) && !first.starts_with(|c: char| c.is_ascii_digit()))
        && words.next().is_none_or(is_argument)
}
