//! `lockgate verify --watch`: verifies again whenever what it reads has changed.
//!
//! The policy is read again a few times a second, the way `verify` reads it, and what was read is compared with what
//! was verified last; so files in folders and included files count without a list of them, and what is told is always
//! about what was compared. There are no file events: they miss network drives and whatever an editor replaces.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lockgate::engine::{PolicyError, Source, call::visible, read_sources};
use serde::Serialize;

use super::{
    in_force,
    verify::{self, ReportFormat, VerifyArguments},
};
use crate::{
    console::{CommandError, Console, Ending, dim, wrong},
    pages::drawn,
    protocol::encode,
};

/// How long to wait between two looks at the files.
const PAUSE: Duration = Duration::from_millis(200);

/// A look that takes long is followed by a pause that many times as long, so that watching costs little.
const PAUSE_FACTOR: u32 = 10;

/// A change counts when so many looks in a row see the same: its author has probably finished.
const LOOKS_ALIKE: u32 = 2;

/// What cannot be read counts only after so many looks: editors take a file away before they put the new one there.
const LOOKS_UNREADABLE: u32 = 5;

/// Away with everything, also what was scrolled out, and to the top.
pub(super) const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

pub(crate) fn run(
    arguments: &VerifyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let wanted = verify::VerifyOptions::new(arguments, json)?;
    let interrupted = interruption()?;
    if arguments.policy.files.is_empty()
        && let Ok(settings) = in_force::settings_here()
    {
        in_force::say(&settings, console)?;
    }
    let mut watched = Watched::default();
    let mut ending = Ending::Yes;
    let mut rounds = 0;
    while !interrupted.load(Ordering::Relaxed) {
        let began = Instant::now();
        let seen = Seen::new(&arguments.policy.files);
        if let Some(seen) = watched.look(seen) {
            ending = round(seen, &wanted, console)?;
            rounds += 1;
            if arguments.rounds.is_some_and(|wanted| rounds >= wanted) {
                break;
            }
            continue;
        }
        thread::sleep(PAUSE.max(began.elapsed() * PAUSE_FACTOR));
    }
    Ok(ending)
}

/// Becomes true when the process is to end. A second signal ends it at once.
pub(super) fn interruption() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        flag,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let at_once = i32::from(Ending::CouldNotTell.code());
        flag::register_conditional_shutdown(signal, at_once, interrupted.clone())?;
        flag::register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}

/// What one look at the files saw.
enum Seen {
    Files(Vec<Source>),
    Unreadable(PolicyError),
    /// Which policy is in force is not known.
    NotFound(String),
}

impl Seen {
    /// Looks at files, or at the policy in force where none are named.
    fn new(files: &[PathBuf]) -> Self {
        let read = match files {
            [] => match in_force::settings_here() {
                Ok(settings) => settings.sources(),
                Err(error) => return Self::NotFound(error.to_string()),
            },
            files => read_sources(files),
        };
        match read {
            Ok(sources) => Self::Files(sources),
            Err(error) => Self::Unreadable(error),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Files(one), Self::Files(other)) => {
                let alike = |(one, other): (&Source, &Source)| {
                    one.name() == other.name() && one.text() == other.text()
                };
                one.len() == other.len() && one.iter().zip(other).all(alike)
            }
            (Self::Unreadable(one), Self::Unreadable(other)) => one.to_string() == other.to_string(),
            (Self::NotFound(one), Self::NotFound(other)) => one == other,
            (Self::Files(_) | Self::Unreadable(_) | Self::NotFound(_), _) => false,
        }
    }

    fn looks_wanted(&self) -> u32 {
        match self {
            Self::Files(_) => LOOKS_ALIKE,
            Self::Unreadable(_) | Self::NotFound(_) => LOOKS_UNREADABLE,
        }
    }
}

/// What was told last, and what seems to have changed since.
#[derive(Default)]
struct Watched {
    told: Option<Seen>,
    changed: Option<(Seen, u32)>,
}

impl Watched {
    /// Takes in a look, and gives what is to be told now, if anything. The first look is told at once.
    fn look(&mut self, seen: Seen) -> Option<&Seen> {
        let Some(told) = &self.told else { return Some(self.told.insert(seen)) };
        if told.is_like(&seen) {
            self.changed = None;
            return None;
        }
        let looks = match self.changed.take() {
            Some((before, looks)) if before.is_like(&seen) => looks + 1,
            _ => 1,
        };
        if looks < seen.looks_wanted() {
            self.changed = Some((seen, looks));
            return None;
        }
        Some(self.told.insert(seen))
    }
}

/// Verifies and tells. Only a console that fails is an error: the next change may put everything else right.
fn round(
    seen: &Seen,
    wanted: &verify::VerifyOptions,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let json = wanted.format == ReportFormat::Json;
    if wanted.format == ReportFormat::Text {
        if io::stdout().is_terminal() {
            write!(console.out, "{CLEAR}")?;
        }
        let now = jiff::Zoned::now();
        writeln!(console.out, "{}", dim(now.strftime("%H:%M:%S")))?;
    }
    let ending = match seen {
        Seen::Files(sources) => verify::round(sources, wanted, console)?,
        Seen::Unreadable(error) if json => {
            writeln!(console.out, "{}", encode(&Unreadable { error: error.to_string() }))?;
            Ending::CouldNotTell
        }
        Seen::NotFound(error) if json => {
            writeln!(console.out, "{}", encode(&Unreadable { error: error.clone() }))?;
            Ending::CouldNotTell
        }
        Seen::NotFound(error) => {
            writeln!(console.out, "{}: {}", wrong("error"), visible(error))?;
            Ending::CouldNotTell
        }
        Seen::Unreadable(error) => {
            match error {
                PolicyError::Mistaken(mistakes) => writeln!(console.out, "{}", drawn(mistakes))?,
                error => writeln!(console.out, "{}: {}", wrong("error"), visible(&error.to_string()))?,
            }
            Ending::CouldNotTell
        }
    };
    if !json {
        writeln!(console.out)?;
    }
    console.out.flush()?;
    Ok(ending)
}

/// What `verify --watch --json` prints when the files cannot be read.
#[derive(Debug, Serialize)]
struct Unreadable {
    error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a row of looks: a letter is what the files say, `-` that they cannot be read.
    fn told(looks: &str) -> String {
        let mut watched = Watched::default();
        let look = |letter: char| match letter {
            '-' => Seen::Unreadable(PolicyError::Empty("policies".into())),
            text => Seen::Files(vec![Source::new("a.rules", text.to_string())]),
        };
        looks.chars().map(|letter| if watched.look(look(letter)).is_some() { letter } else { '.' }).collect()
    }

    #[test]
    fn a_change_is_told_once_it_holds_still() {
        for (looks, rounds) in [
            ("aaaa", "a..."),
            ("abbbb", "a.b.."),
            ("abcbcc", "a....c"),
            ("abaaa", "a...."),
            ("abbaa", "a.b.a"),
            ("----", "-..."),
            ("-aa", "-.a"),
            ("a----a", "a....."),
            ("a-----", "a....-"),
            ("a-bb", "a..b"),
            ("a--a--aa", "a......."),
        ] {
            assert_eq!(told(looks), rounds, "{looks}");
        }
    }
}
