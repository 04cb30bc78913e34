//! Windows that count calls, and the calls that they count.

use lockgate_call::Time;

use crate::{
    decision::Decision,
    rule::RuleId,
    window::{Marks, WindowId},
};

/// A window that counts calls of some tools.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The window.
    pub window: WindowId,
    /// Which calls count.
    pub counts: Counting,
    /// How many moments are kept; of an ordered chain, how many calls come before this one.
    pub keeps: Retention,
    /// Whether all sessions share the window.
    pub is_shared: bool,
}

/// What a window keeps.
#[derive(Clone, Copy, Debug)]
pub enum Retention {
    /// So many of the last moments.
    Last(u32),
    /// The latest way through an ordered chain up to here.
    WayTo(u16),
}

/// Which calls count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Those that were decided, or only those that got this verdict.
    Decided(Option<Decision>),
    /// Those let pass, perhaps with this verdict, once their result says success: what opens a gate is earned.
    Succeeded(Option<Decision>),
    /// Those that were decided, unless this very rule refused them.
    Unless(RuleId),
}

impl Counting {
    pub(super) fn is_met(self, heard: &DecidedCall<'_>) -> bool {
        match self {
            Self::Decided(None) => !heard.succeeded && heard.decision != Decision::Ask,
            Self::Decided(Some(wanted)) => !heard.succeeded && heard.decision == wanted,
            Self::Succeeded(wanted) => {
                heard.succeeded && wanted.is_none_or(|wanted| heard.decision == wanted)
            }
            Self::Unless(rule) => {
                !heard.succeeded && heard.decision != Decision::Ask && !(heard.refused_by)(rule)
            }
        }
    }
}

/// A call that was decided, or succeeded.
#[derive(Clone, Copy)]
pub struct DecidedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What was decided about it.
    pub decision: Decision,
    /// Whether this is about its success.
    pub succeeded: bool,
    /// The rules that refused it.
    pub refused_by: &'a dyn Fn(RuleId) -> bool,
    /// When.
    pub at: Time,
}

/// The windows a call counts for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowMarks {
    /// Of its session.
    pub marks: Marks,
    /// Of all sessions together.
    pub shared: Marks,
}
