//! Variables by which other programs find what to run: the table.
//!
//! `EDITOR='rm x' git commit` runs `rm`. A variable in here is read wherever it is set, whether or not anything
//! asks for it later: telling which program looks at which variable is left out on purpose.

use crate::programs::names::has;

/// What the value of a variable does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is run as a command line.
    Script,
    /// It is expanded like a text in double quotes.
    Prompt,
    /// It names a file that is read as a script, after it is expanded.
    File,
    /// It brings in code of another kind.
    Code,
}

const SCRIPTS: &str = "EDITOR VISUAL FCEDIT SUDO_EDITOR SVN_EDITOR HGEDITOR PAGER MANPAGER GIT_PAGER GIT_EDITOR \
    GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS \
    SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH SYSTEMD_EDITOR KUBE_EDITOR \
    KUBECTL_EXTERNAL_DIFF DELTA_PAGER BAT_PAGER AWS_PAGER PSQL_PAGER GH_PAGER GH_EDITOR RUSTC_WRAPPER RUSTC \
    RUSTDOC CARGO_BUILD_RUSTC_WRAPPER";

const PROMPTS: &str = "PS0 PS1 PS2 PS4";

const FILES: &str = "BASH_ENV ENV";

const CODE: &str = "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PERL5OPT PERL5DB PYTHONINSPECT PYTHONSTARTUP";

/// What a variable's value does; none for an ordinary variable.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    if has(SCRIPTS, name) || name.starts_with("GIT_CONFIG_VALUE_") {
        Some(Meaning::Script)
    } else if has(PROMPTS, name) {
        Some(Meaning::Prompt)
    } else if has(FILES, name) {
        Some(Meaning::File)
    } else if has(CODE, name) || name.starts_with("BASH_FUNC_") {
        Some(Meaning::Code)
    } else {
        None
    }
}

/// Whether an assignment gives a name another meaning: bash and zsh keep their aliases, commands and functions in
/// variables. Where the name is an ordinary word, it is one only if its index is a name: `commands[q]=rm`.
pub(crate) fn is_table_of_commands(name: &str, index: Option<&str>) -> bool {
    let is_number = |index: &str| index.trim_start_matches('[').starts_with(|c: char| c.is_ascii_digit());
    let is_named = || index.is_some_and(|index| !is_number(index));
    has("BASH_ALIASES BASH_CMDS", name)
        || has("aliases galiases saliases commands functions builtins", name) && is_named()
}
