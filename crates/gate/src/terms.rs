//! How rules are applied.

use lockgate_policy::Mode;

/// How the rules are applied.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// `Observe`: every rule only records what it would have done.
    pub mode: Mode,
    /// How long a result is waited for before the call counts as failed.
    pub lease_ms: u64,
    /// How long a human has to answer.
    pub approval_ms: u64,
    /// How long a human's answer stands, where a rule lets it stand.
    pub standing_ms: u64,
    /// How many calls of one session may be in flight.
    pub flights_max: usize,
    /// How many questions of one session may wait for a human.
    pub asked_max: usize,
    /// Whether conditions of workflows may have programs run; a judgement then says which one it waits for.
    pub runs_programs: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            mode: Mode::Enforce,
            lease_ms: 60 * 60 * 1000,
            approval_ms: 10 * 60 * 1000,
            standing_ms: 60 * 60 * 1000,
            flights_max: 10_000,
            asked_max: 100,
            runs_programs: false,
        }
    }
}
