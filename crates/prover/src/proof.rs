//! The whole policy together: what all its rules can and cannot let happen.
//!
//! [`Way`] is what rules can see in a call, [`Act`] one thing that can happen, [`Composed`] every rule as a
//! small automaton over it; the engine in `petri` answers questions about all sessions of that. It lets happen at
//! least what the gate lets happen, calls in flight included. So what is proved here to be impossible is, and every
//! session found here has to be played through the judge before it is believed: `lockgate-gate` does so.
//! `docs/proof.md` tells per construct what is exact.

mod act;
mod behaviour;
mod claims;
mod compose;
mod diff;
mod findings;
mod fingerprint;
mod labels;
mod literals;
mod one_value;
mod openers;
mod sample;
mod samples;
mod shown;
mod stages;
mod table;
mod together;
mod ways;

pub use act::{Act, End};
pub use behaviour::{Group, STATES_DRAWN_MAX, behaviours};
pub use claims::{ClaimReport, Moment, shows};
pub use compose::{Composed, LeftOut, LeftOutReason, Played};
pub use diff::{Approach, Change, Difference, Side, diff};
pub use findings::{Proof, ProofFinding, prove};
pub use openers::{OPENERS_MAX, openers};
pub use sample::{Calls, sample};
pub use samples::{BEFORE_MAX, Run, SAMPLES_MAX, Sample, Sampler, merged};
pub use ways::Way;
