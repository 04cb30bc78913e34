//! How a program of a condition ended, and the end of what it printed.

use lockgate_call::{
    sensitive::{Detectors, Mask},
    visible,
};

/// How much of each of a program's outputs is kept: its end. The rest is read and thrown away.
pub(crate) const OUTPUT_BYTES_MAX: usize = 4096;

/// How much of a program's last line is told.
pub(crate) const LINE_CHARACTERS_MAX: usize = 200;

/// How a program ended.
#[allow(dead_code, reason = "on some systems no program is ever run")]
pub(crate) enum Ended {
    Code(i32),
    /// By a signal, in words.
    Signal(String),
    TooLate,
    /// Too late, and it could not be ended either.
    Stuck,
    Unknown,
}

/// What a program printed last.
pub(crate) struct Output {
    pub(crate) prints: Tail,
    pub(crate) errors: Tail,
}

impl Output {
    /// The last line that says something, of the errors if there are any, with nothing sensitive in it.
    pub(crate) fn last_line(&self) -> Option<String> {
        [&self.errors, &self.prints].into_iter().find_map(Tail::last_line)
    }
}

/// The end of what a program printed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_cut: bool,
}

impl Tail {
    #[allow(dead_code, reason = "on some systems no program is ever run")]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(OUTPUT_BYTES_MAX);
        self.bytes.drain(..surplus);
        self.is_cut |= surplus > 0;
    }

    pub(crate) fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        // Half a secret is not recognized, so a line whose beginning was thrown away is not told. The others are
        // searched together, because a secret may have several lines.
        let whole = if self.is_cut { text.split_once('\n')?.1 } else { &text };
        let (masked, _) = Detectors::standard().mask_text(whole, Mask::Label);
        let line = masked.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(visible(line).chars().take(LINE_CHARACTERS_MAX).collect())
    }
}
