//! The command line an agent runs for every event, and how it is recognised.
//!
//! [`HookCommand`] is always `PROGRAM hook AGENT`, and for some agents what a shell does if that fails. It never says a
//! version: some agents trust a command line letter by letter, and a new release must not lose that trust.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::mistake::Mistake;

/// The command line of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookCommand {
    program: String,
    agent: &'static str,
}

impl HookCommand {
    /// The program has to be named by its whole path, so that no other of its name is run instead.
    pub(crate) fn new(program: &Path, agent: &'static str) -> Result<Self, Mistake> {
        Ok(Self { program: program_text(program)?, agent })
    }

    /// The program alone.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The words behind the program.
    pub(crate) fn arguments(&self) -> [&'static str; 2] {
        ["hook", self.agent]
    }

    /// All of it, for a shell.
    pub(crate) fn line(&self) -> String {
        let [hook, agent] = self.arguments();
        format!("{} {hook} {agent}", quoted(&self.program))
    }

    /// All of it, for the shell of an agent that runs tools when a hook dies: then the shell refuses in its place.
    pub(crate) fn blocking_line(&self) -> String {
        format!("{}{OTHERWISE}", self.line())
    }

    /// All of it, for PowerShell.
    pub(crate) fn powershell_line(&self) -> String {
        let [hook, agent] = self.arguments();
        format!("& '{}' {hook} {agent}", self.program.replace('\'', "''"))
    }
}

/// The path of the program as it can stand in the files of agents.
pub(crate) fn program_text(program: &Path) -> Result<String, Mistake> {
    let remedy = "install `lockgate` in a folder with a plain name";
    let Some(text) = program.to_str() else {
        return Err(Mistake::new(0, format!("the path `{}` is not UTF-8", program.display()), remedy));
    };
    if !program.is_absolute() || text.contains(char::is_control) {
        let shown = lockgate::engine::call::visible(text);
        return Err(Mistake::new(0, format!("`{shown}` cannot be the program of a hook"), remedy));
    }
    // Under another name it could not be found again, so it could never be taken out.
    if !is_program(text) {
        let reason = format!("this program is called `{}`", lockgate::engine::call::visible(text));
        return Err(Mistake::new(
            0,
            reason,
            "call it `lockgate`, by a link perhaps, and start it by that name",
        ));
    }
    Ok(text.to_owned())
}

/// What a shell does when the hook does not end well. Where the hook itself has refused, this only repeats it.
const OTHERWISE: &str = " || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }";

fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+@%:,=".contains(sign);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether a handler is one that this or an earlier release has written for this agent.
pub(crate) fn is_ours(handler: &Value, agent: &str) -> bool {
    installed_command(handler, agent).is_some()
}

/// A command of ours as it stands in the files of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledCommand {
    /// The program of Lockgate.
    pub program: PathBuf,
    /// The words the agent runs, with its shell where it uses one.
    pub words: Vec<String>,
}

/// The command of a handler, if it is one that this or an earlier release has written for this agent.
pub(crate) fn installed_command(handler: &Value, agent: &str) -> Option<InstalledCommand> {
    let text = |key: &str| handler.get(key).and_then(Value::as_str);
    let line = text("command").or_else(|| text("bash")).or_else(|| text("exec"))?;
    let arguments = handler.get("args").and_then(Value::as_array);
    let words = match arguments {
        // Without a shell, the first word is the program as it stands.
        Some(arguments) => {
            let words = arguments.iter().map(|word| word.as_str().unwrap_or_default().to_owned());
            std::iter::once(line.to_owned()).chain(words).collect()
        }
        None => split(line.strip_suffix(OTHERWISE).unwrap_or(line)),
    };
    let [program, hook, name, options @ ..] = words.as_slice() else { return None };
    let is_ours = is_program(program)
        && hook == "hook"
        && name == agent
        && options.iter().all(|it| it.starts_with("--"));
    let program = PathBuf::from(program);
    let words = match arguments {
        Some(_) => words,
        None => ["sh", "-c", line].map(str::to_owned).to_vec(),
    };
    is_ours.then_some(InstalledCommand { program, words })
}

/// Whether a path names our program.
pub(crate) fn is_program(path: &str) -> bool {
    path.rsplit(['/', '\\']).next().is_some_and(|file| ["lockgate", "lockgate.exe"].contains(&file))
}

/// The words of a line as [`quoted`] writes them. A line that a shell would do more with is not ours.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            _ if is_quoted => word.get_or_insert_default().push(sign),
            ' ' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(signs.next()),
            '|' | '&' | ';' | '<' | '>' | '$' | '`' | '\n' => return Vec::new(),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    if is_quoted { Vec::new() } else { words }
}

/// The path of the running program as agents should name it.
///
/// # Errors
/// When the system does not say where the program is.
pub fn running_program() -> std::io::Result<PathBuf> {
    // Not resolved: package managers move a link from release to release, and trust in the line would be lost.
    let arguments_say = std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_absolute());
    let found = std::env::current_exe()?;
    let same = |path: &PathBuf| std::fs::canonicalize(path).ok() == std::fs::canonicalize(&found).ok();
    Ok(arguments_say.filter(same).unwrap_or(found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_command_lines_of_ours_are_known_as_ours() {
        let shell = |line: &str| json!({"type": "command", "command": line});
        for (handler, ours) in [
            (shell("/usr/bin/lockgate hook codex"), true),
            (shell("lockgate hook codex"), true),
            (shell("'/my tools/lockgate' hook codex"), true),
            (shell(&format!("/usr/bin/lockgate hook codex{OTHERWISE}")), true),
            (shell(&format!("/usr/bin/lockgate hook codex{OTHERWISE}; true")), false),
            (shell("/usr/bin/lockgate hook codex --strict"), true),
            (json!({"bash": "/usr/bin/lockgate hook codex"}), true),
            (json!({"command": "/a b/lockgate", "args": ["hook", "codex"]}), true),
            (json!({"command": "C:\\x\\lockgate.exe", "args": ["hook", "codex"]}), true),
            (shell("/usr/bin/lockgate hook cursor"), false),
            (shell("/usr/bin/lockgate gate codex"), false),
            (shell("/usr/bin/lockgate hook codex | tee log"), false),
            (shell("/usr/bin/lockgate hook codex && say done"), false),
            (shell("/usr/bin/lockgate hook codex mine"), false),
            (shell("/usr/bin/mylockgate hook codex"), false),
            (shell("echo lockgate hook codex"), false),
            (json!({"command": "lockgate", "args": ["hook", 1]}), false),
            (json!({"url": "lockgate hook codex"}), false),
            (json!("lockgate hook codex"), false),
        ] {
            assert_eq!(is_ours(&handler, "codex"), ours, "{handler}");
        }
    }

    #[test]
    fn a_program_is_named_by_its_whole_path() {
        for wrong in ["lockgate", "./lockgate", "/a\nb/lockgate", "/bin/gate"] {
            assert!(HookCommand::new(Path::new(wrong), "codex").is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_folder_it_lies_in_our_line_is_known_again(folder in "[^\\p{Cc}/]{1,20}") {
            let program = PathBuf::from("/").join(folder).join("lockgate");
            let command = HookCommand::new(&program, "codex").unwrap();
            let line = command.line();
            prop_assert!(is_ours(&json!({"command": line}), "codex"), "{}", line);
            let parted = json!({"command": command.program(), "args": command.arguments()});
            prop_assert!(is_ours(&parted, "codex"));
        }
    }
}
