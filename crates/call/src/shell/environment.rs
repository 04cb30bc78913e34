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
    /// Its words are options of this program.
    Options(&'static str),
    /// It brings in code if one of its words begins so.
    Loading(&'static [&'static str]),
    /// It names a file with settings, some of which name programs.
    Settings,
}

const SCRIPTS: &str = "EDITOR VISUAL FCEDIT SUDO_EDITOR SVN_EDITOR HGEDITOR PAGER MANPAGER GIT_PAGER GIT_EDITOR \
    GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS \
    SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH SYSTEMD_EDITOR KUBE_EDITOR \
    KUBECTL_EXTERNAL_DIFF DELTA_PAGER BAT_PAGER AWS_PAGER PSQL_PAGER GH_PAGER GH_EDITOR RUSTC_WRAPPER RUSTC \
    RUSTDOC CARGO_BUILD_RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CC CXX CPP LD AR SYSTEMD_PAGER MANROFFOPT \
    FZF_DEFAULT_COMMAND TEXEDIT XEDITOR PERLDOC_PAGER RI_PAGER MYSQL_PAGER HGMERGE \
    CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER";

/// Options that a program takes before those of its command line, and the program.
const OPTIONS: [(&str, &str); 3] = [("TAR_OPTIONS", "tar"), ("MAKEFLAGS", "make"), ("GNUMAKEFLAGS", "make")];

/// Options that bring in code, in variables that otherwise hold harmless ones.
const LOADING: [(&str, &[&str]); 9] = [
    ("NODE_OPTIONS", &["-r", "--require", "--import", "--loader", "--experimental-loader", "--eval"]),
    ("RUBYOPT", &["-r"]),
    ("JAVA_TOOL_OPTIONS", &["-javaagent", "-agent"]),
    ("_JAVA_OPTIONS", &["-javaagent", "-agent"]),
    ("JDK_JAVA_OPTIONS", &["-javaagent", "-agent"]),
    ("GOFLAGS", &["-toolexec", "-exec", "--toolexec", "--exec"]),
    ("PHP_CLI_OPTIONS", &["-d", "-r"]),
    ("FZF_DEFAULT_OPTS", &["--bind", "--preview"]),
    ("LESS", &["+"]),
];

/// Files with settings of git.
const SETTINGS: &str = "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG";

/// Variables that lead programs to other files or hosts than their words name.
const ELSEWHERE: &str = "HOME XDG_CONFIG_HOME CURL_HOME WGETRC SYSTEM_WGETRC NETRC GIT_DIR GIT_WORK_TREE \
    GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG_GLOBAL \
    GIT_CONFIG_SYSTEM SSH_CONFIG RSYNC_PROXY RSYNC_CONNECT_PROG HOSTALIASES LOCALDOMAIN RES_OPTIONS OPENSSL_CONF \
    AWS_ENDPOINT_URL DOCKER_HOST KUBECONFIG PGHOST PGHOSTADDR PGSERVICEFILE MYSQL_HOST REDIS_URL";

/// Whether a variable leads programs to other files or hosts than their words name.
pub(crate) fn leads_elsewhere(name: &str) -> bool {
    has(ELSEWHERE, name) || is_proxy(name)
}

/// Whether a variable names a host that others are reached by.
pub(crate) fn is_proxy(name: &str) -> bool {
    name.len() > "_proxy".len() && name.to_ascii_lowercase().ends_with("_proxy") && !is_exception(name)
}

/// The hosts that need none.
fn is_exception(name: &str) -> bool {
    name.eq_ignore_ascii_case("no_proxy")
}

const PROMPTS: &str = "PS0 PS1 PS2 PS4";

const FILES: &str = "BASH_ENV ENV";

const CODE: &str = "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PERL5OPT PERL5DB PYTHONINSPECT PYTHONSTARTUP VIMINIT \
    EXINIT GVIMINIT LUA_INIT GIT_EXEC_PATH GIT_CONFIG_PARAMETERS GIT_TEMPLATE_DIR DOTNET_STARTUP_HOOKS ERL_FLAGS \
    PYTHONBREAKPOINT npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL NPM_CONFIG_NODE_OPTIONS GCONV_PATH ZDOTDIR \
    R_PROFILE R_PROFILE_USER PHPRC COR_PROFILER_PATH CORECLR_PROFILER_PATH";

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
    } else if has(SETTINGS, name) {
        Some(Meaning::Settings)
    } else if name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER")) {
        Some(Meaning::Script)
    } else {
        let options = OPTIONS.iter().find(|(known, _)| *known == name).map(|(_, it)| Meaning::Options(it));
        let loading = || LOADING.iter().find(|(known, _)| *known == name).map(|(_, it)| Meaning::Loading(it));
        options.or_else(loading)
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
