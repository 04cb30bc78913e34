//! Many small rules together: what a session can do under all of them.
//!
//! A [`System`] is a list of [`Rule`]s over [`Label`]s. Each rule follows the labels it knows and refuses
//! some of them at some times; what it does not know it ignores. A session is a sequence of labels that no
//! rule refuses. [`System::step`] is that meaning, word for word; [`Prover`] answers questions about all
//! sessions at once, and every session it shows has been walked with the plain meaning first.
//!
//! ```
//! use lockgate_petri::prove::{Answer, Label, Prover, Rule, System};
//!
//! let (test, deploy, push) = (Label(0), Label(1), Label(2));
//! let require = |before: Label, then: Label| Rule::Require {
//!     before: before.into(),
//!     then: then.into(),
//!     latched: false,
//! };
//! let system = System::new(vec![require(test, deploy), require(deploy, push)]).unwrap();
//! let prover = Prover::new(&system);
//!
//! let Answer::Yes(trace) = prover.can_call(&push.into()) else { panic!("nothing is in its way") };
//! assert_eq!(trace.labels().collect::<Vec<_>>(), [test, deploy, push]);
//! assert!(trace.is_shortest());
//! ```
//!
//! Why few rules suffice for most questions: adding a rule only ever removes sessions. So what a few rules
//! rule out is ruled out by all of them, and a session of a few rules that all others let pass is a session
//! of all. The prover starts with the rules that a question cannot do without and takes in another only when
//! it refuses the session found so far.
//!
//! Where few rules have to do with each other, [`System::behaviour`] writes out every state they reach, to be
//! looked at.
//!
//! Nothing in here knows of tools, policies, time or humans: a rule that asks a human is asked about twice,
//! once left out and once as [`Rule::Block`].

mod answer;
mod behaviour;
mod better;
mod dense;
mod label;
mod rule;
mod state;
mod structure;
mod study;
mod waiting;

mod estimate;
mod gather;
mod happen;
mod problem;
mod question;
mod scratch;
mod search;
mod setting;
mod straight;

mod batch;
mod bounds;
mod climb;
mod lose;
mod losses;
mod prover;
mod pump;
mod tour;
mod verdict;

pub use answer::{Answer, Explored, Reason, Run, Trace};
pub use batch::Difference;
pub use behaviour::{Behaviour, Move, Standing, TooManyStates};
pub use bounds::{Bounds, LOSE_STATES_MAX, STATES_MAX};
pub use label::{Label, LabelSet};
pub use prover::{Onward, Prover};
pub use rule::{BadTable, Rule, TABLE_CELLS_MAX, TABLE_STATES_MAX, Table};
pub use state::State;
pub use structure::{Component, RULES_MAX, RuleId, System, TooManyRules};
pub use waiting::Cycle;
