//! The rule languages of Lockgate: from text to the one form of a policy, with diagnostics.
//!
//! A front end turns a [`Source`](lockgate_policy::Source) into a [`Draft`] and never fails: it collects
//! diagnostics instead. [`load`] reads files of any language, joins them and lowers them into a policy. A language is one
//! folder: [`one_line`], [`when_then`], [`ruleset`], [`workflow`], and [`nets`] for hand-written nets.

mod accept;
mod data;
mod detect;
pub mod draft;
mod format;
mod hours;
mod includes;
mod lint;
mod linter;
mod listed;
mod load;
mod lost_words;
mod migrate;
pub mod nets;
pub mod one_line;
mod parse;
mod render;
mod renew;
pub mod ruleset;
mod sentences;
mod to_rules;
mod untrusted;
mod void;
pub mod when_then;
pub mod workflow;
mod yaml;

pub use accept::{AcceptedFinding, accept};
pub use data::data;
pub use draft::Draft;
pub use format::format;
pub use includes::included_name;
pub use lint::{KnownTools, ListedTool, ListedTools, check_names, lint};
pub use load::{Options, compile, load, read};
pub use migrate::{Migration, Rewrite, migrate};
pub use render::{render, render_linked};
pub use ruleset::CustomNames;
pub use to_rules::{RulesText, Unsaid, to_rules};
