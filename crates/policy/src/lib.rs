//! The rule languages of Lockgate and the one form they become.
//!
//! A front end turns a [`Source`] into a [`Draft`] and never fails: it collects [`Diagnostic`]s instead.
//! [`Policy::compile`] joins drafts into the one thing the gate and the prover read.

mod condition;
mod deed;
mod diagnostic;
mod draft;
mod hash;
mod javascript;
mod language;
mod lint;
mod names;
mod net;
mod net_file;
mod pattern;
mod policy;
mod render;
pub mod rules;
mod source;
mod verify;
mod yaml;

pub use condition::{Condition, Test};
pub use deed::{Deed, Deeds};
pub use diagnostic::{Diagnostic, Severity};
pub use draft::{
    Check, Draft, DraftNet, DraftRule, DraftTransition, LIMIT_MAX, Map, Mode, Scope, ScriptField, Statement,
    Takes,
};
pub use lint::lint;
pub use names::Watch;
pub use net::{Guard, GuardNet};
pub use pattern::{Match, Pattern, PatternError};
pub use policy::{Audience, Policy, PolicyHash, Rule, RuleId};
pub use render::render;
pub use source::{Place, Source, Span};
pub use verify::{NetReport, verify};
