//! The one form of a policy and its evaluation: rules, conditions, nets, windows, sandboxes and workflows.
//!
//! A [`Builder`] puts a [`Policy`] together from what a front end understood; the gate and the prover read it. No file
//! format and no language is known here.

mod audience;
mod claim;
pub mod clause;
mod clauses;
pub mod condition;
mod decision;
mod deed;
mod diagnostic;
mod effects;
mod hash;
mod idle;
mod log;
mod maps;
mod names;
mod net;
pub mod past;
mod phrase;
mod policy;
pub mod provenance;
mod rule;
mod sandbox;
mod scripts;
mod source;
mod statement;
mod template;
pub mod tool_index;
mod tools;
pub mod view;
mod waiting;
pub mod window;
pub mod workflow;

pub use audience::{Audience, Groups, is_guessed};
pub use claim::{CLAIMS_MAX, Claim, EXAMPLES_MAX, Example, ExampleCall, ExampleStep, Property, STEPS_MAX};
pub use clause::{Applying, Clause, unreadable_sentence};
pub use clauses::{
    Counting, DecidedCall, HitAction, Masking, OutputRule, OutputSearch, Retention, Watcher, WindowMarks,
    mask_kinds,
};
pub use condition::{Condition, Operator, Subject, Test};
pub use decision::{Decision, Truth};
pub use deed::{Basis, Deed, Deeds};
pub use diagnostic::{Diagnostic, FINDINGS, Severity, closest, harmless};
pub use hash::{HashMap, HashSet};
pub use lockgate_pattern::{Match, PYTHON_CHARS_MAX, Pattern, PatternError, python_length, python_text};
pub use names::{FileId, Known, NameId, Watch};
pub use net::{Guard, GuardNet};
pub use phrase::{RunningPhrase, is_phrase, tool_and_action};
pub use policy::{Builder, FoundBy, MisnamedTool, NetRule, Policy, PolicyHash};
pub use rule::{Head, Mode, Rule, RuleId};
pub use sandbox::{Boundaries, Reached, Sandbox, SandboxError};
pub use scripts::{UnreadableTest, unreadable_scripts};
pub use source::{Layer, Place, Source, Span};
pub use statement::{
    Declared, DraftNet, DraftRule, DraftTransition, InputCheck, LIMIT_MAX, Map, Module, Scope, ScriptField,
    Statement, Tail, Takes, UnreadableLine, without_folder,
};
pub use template::{MESSAGE_CHARS_MAX, PLACEHOLDERS_MAX, Part, Template};
pub use tools::{ToolName, Tools};
pub use view::{Describe, Memory, Surroundings, View};
pub use waiting::Waiting;
pub use workflow::Workflow;
