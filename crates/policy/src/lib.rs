//! The rule languages of Lockgate and the one form they become.
//!
//! A front end turns a [`Source`] into a [`Draft`] and never fails: it collects [`Diagnostic`]s instead.
//! [`Policy::compile`] joins drafts into the one thing the gate and the prover read.

mod accept;
mod claim;
pub mod clause;
mod clauses;
pub mod condition;
mod decision;
mod deed;
mod diagnostic;
mod draft;

mod hash;
mod includes;
mod language;
mod lint;
mod names;
mod net;
mod net_file;
mod old_words;
mod policy;
pub mod proof;
mod render;
mod rule;
pub mod rules;
pub mod ruleset;
mod sandbox;
mod source;

mod template;
mod tool_index;
mod tools;
mod untrusted;
mod verify;
pub mod view;
mod void;
pub mod when_then;
pub mod window;
pub mod workflow;
mod yaml;

pub use accept::{Accepted, accept};
pub use claim::{CLAIMS_MAX, Claim, Claimed, EXAMPLES_MAX, Example, ExampleStep, STEPS_MAX};
pub use clause::{Applying, Clause, unreadable_sentence};
pub use clauses::{Counted, Heard, LooksFor, Masking, OnHit, OutputRule};
pub use condition::{Condition, Operator, Subject, Test};
pub use decision::{Decision, Truth};
pub use deed::{Basis, Deed, Deeds};
pub use diagnostic::{Diagnostic, FINDINGS, Severity, closest};
pub use draft::{
    Draft, DraftNet, DraftRule, DraftTransition, InputCheck, LIMIT_MAX, Map, Scope, ScriptField, Statement,
    Takes, UnreadableLine,
};
pub use includes::included_name;
pub use lint::{KnownTools, check_names, lint};
pub use lockgate_pattern::{Match, PYTHON_CHARS_MAX, Pattern, PatternError, python_length, python_text};
pub use names::Watch;
pub use net::{Guard, GuardNet};
pub use old_words::{Migration, Rewritten, migrate};
pub use policy::{Audience, Groups, NetRule, Policy, PolicyHash};
pub use render::render;
pub use rule::{Mode, Rule, RuleId};
pub use sandbox::{Boundaries, Reached, Sandbox, SandboxError};
pub use source::{Layer, Place, Source, Span};
pub use template::Template;
pub use tools::{ToolName, Tools};
pub use untrusted::Waiting;
pub use verify::{NetReport, verify};
pub use view::{Describe, Memory, Surroundings, View};
pub use workflow::Workflow;
