//! What a command hands on to be run.

use super::word::Field;

/// Something a command runs.
pub(crate) enum Inner {
    /// A program and its arguments.
    Words(Vec<Field>),
    /// A script.
    Script(Field),
    /// A file, as a script.
    File(Field),
    /// A program and its arguments, unless the script wrote a file of that name.
    ProgramUnlessFile(Vec<Field>),
    /// A program and its arguments, if the command begins here: one reading among others.
    Perhaps(Vec<Field>),
    /// A file with settings of git or ssh, some of which name programs.
    Settings(Field),
    /// A table of times and scripts: a file, or standard input where there is none.
    Timetable(Option<Field>),
    /// Whatever comes on standard input, as a script.
    Input,
    /// Whatever is typed into it once it runs; what another command writes there does nothing more.
    Typed,
    /// Something unknown before the script runs.
    Unknown,
}

/// What a command hands on.
#[derive(Default)]
pub(crate) struct Unwrapped {
    pub(crate) inner: Vec<Inner>,
    /// Variables it sets for what it runs: `env A=1 make`.
    pub(crate) assignments: Vec<Field>,
    /// What to call it in [`crate::Command::reached_by`], where its name does not say enough.
    pub(crate) label: Option<&'static str>,
    /// Files that it writes beside.
    pub(crate) writes: Vec<Field>,
    /// Words of its own that may name a place.
    pub(crate) places: Vec<Field>,
    /// Whether it does something of its own beside.
    pub(crate) own: bool,
    /// Whether what it hands on may never run, or often.
    pub(crate) repeats: bool,
}
