//! The commands that a call runs, and the fields that say how they are run.

use lockgate_call::{Command, Program, Script, may_hold_a_script, program};
use serde_json::{Map, Value};

use super::look::Look;
use super::text::{fold, has_text, shown};
use super::variables::{may_change_programs, variables};

/// What stands around a command and is not a program.
const STRUCTURE: &[&str] = &[
    "(…)", "$(…)", "${…}", "<(…)", ">(…)", "if", "while", "until", "for", "select", "case", "coproc",
    "function",
];

/// Fields that set variables for what the call runs, without what stands between words.
const ENVIRONMENT_FIELDS: &[&str] =
    &["env", "envs", "environ", "environment", "envvars", "environmentvariables", "vars", "variables"];

impl Look<'_> {
    pub(super) fn at_commands(&mut self) {
        for (_, script) in self.reading.scripts() {
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
    pub(super) fn at_settings(&mut self, input: &Map<String, Value>) {
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
}

/// Whether a text names a shell as it stands in any system.
pub(super) fn is_plain_shell(text: &str) -> bool {
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|folder| text.strip_prefix(folder));
    program(name.unwrap_or(text)).is_some_and(Program::is_posix_shell)
}

fn is_list_of_words(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}
