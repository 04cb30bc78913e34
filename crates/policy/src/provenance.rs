//! Where values come from: what a session has seen, and what a rule makes of it.
//!
//! [`Origins`] is the memory of a session: who said which atoms, in order, as keyed hashes. `OriginTest` (in `condition`) asks
//! it whether each value of a field was said by the user, or stood in a field that the policy trusts. A value that the agent brought in
//! itself, whole or in parts, gains nothing by coming back in a result. What cannot be traced has no origin. The texts themselves are not
//! kept here.

mod leaves;
mod origins;
mod parts;
mod said;
mod source;

pub(crate) use leaves::each_leaf;
pub(crate) use origins::Hashed;
pub use origins::{NewOrigins, Origins, Sighting, Speaker};
pub use said::{SaidWord, said_in};
pub use source::{ResultSource, TrustedSources};
