//! What a policy has to be better than.

use std::fmt::Write as _;

use serde_json::Value;

use super::Tool;

/// A policy that needs no thought about a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Nothing is refused.
    None,
    /// Every tool that acts is blocked.
    BlocksActs,
    /// Every tool that acts is blocked once any other tool has shown something.
    SessionTaint,
    /// What tools that act are given must be said by the user, running text apart; otherwise a human is asked.
    OnlyUser,
}

/// The tools of each suite that act: they send, pay, change, delete or reserve.
const ACTS: [(&str, &str); 4] = [
    (
        "workspace",
        "send_email delete_email delete_file share_file create_calendar_event add_calendar_event_participants \
         cancel_calendar_event reschedule_calendar_event append_to_file create_file",
    ),
    (
        "travel",
        "send_email reserve_hotel reserve_restaurant reserve_car_rental create_calendar_event cancel_calendar_event",
    ),
    (
        "banking",
        "send_money schedule_transaction update_scheduled_transaction update_password update_user_info",
    ),
    (
        "slack",
        "send_direct_message send_channel_message add_user_to_channel invite_user_to_slack \
         remove_user_from_slack post_webpage",
    ),
];

/// Fields that the agent writes itself.
const RUNNING_TEXT: [&str; 5] = ["body", "content", "description", "subject", "title"];

impl Baseline {
    /// All of them, the most open first.
    pub const EACH: [Self; 4] = [Self::None, Self::BlocksActs, Self::SessionTaint, Self::OnlyUser];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BlocksActs => "blocks all that acts",
            Self::SessionTaint => "session taint",
            Self::OnlyUser => "only the user's values, else ask",
        }
    }

    /// Its rules for a suite with these tools.
    pub fn rules<'t>(self, suite: &str, tools: impl Iterator<Item = &'t Tool>) -> String {
        let acts: Vec<&str> = acts_of(suite).collect();
        // A policy must have a rule.
        let mut rules = String::from("block no_tool_has_this_name\n");
        for tool in tools {
            let (name, is_act) = (tool.name.as_str(), acts.contains(&tool.name.as_str()));
            // Writing to a text cannot fail.
            let _ = match self {
                Self::None => Ok(()),
                Self::BlocksActs if is_act => writeln!(rules, "block {name}"),
                Self::SessionTaint if !is_act => {
                    acts.iter().try_for_each(|act| writeln!(rules, "block {act} after {name} ok"))
                }
                Self::OnlyUser if is_act => traced(tool)
                    .try_for_each(|field| writeln!(rules, "{name}.{field} must come from user, else ask")),
                Self::BlocksActs | Self::SessionTaint | Self::OnlyUser => Ok(()),
            };
        }
        rules
    }
}

fn acts_of(suite: &str) -> impl Iterator<Item = &'static str> {
    let of_suite = ACTS.iter().filter(move |(name, _)| *name == suite);
    of_suite.flat_map(|(_, tools)| tools.split_whitespace())
}

fn traced(tool: &Tool) -> impl Iterator<Item = &str> {
    let fields = tool.input_schema.get("properties").and_then(Value::as_object);
    let names = fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str));
    names.filter(|name| !RUNNING_TEXT.contains(name))
}
