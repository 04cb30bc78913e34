//! `lockgate graph --states`: pictures of what rules do together.
//!
//! Rules that have to do with each other are one picture. A group that has too many states to look at is named
//! and left out; that is not a failure. What the rules are about is the policy's secret, how it is drawn that of the nets.

use lockgate::engine::{
    Policy,
    call::visible,
    petri::Chart,
    prover::proof::{Composed, Group, STATES_DRAWN_MAX, behaviours},
};
use serde::Serialize;

use super::{
    graph::{Drawing, Format, GraphArguments, deliver, format_of},
    in_force,
};
use crate::{
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) fn run(
    arguments: &GraphArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = in_force::open(&arguments.policy.files, console)?.compiled();
    let format = format_of(arguments)?;
    let draw = drawer(format)?;
    let composed = Composed::new(&policy).map_err(CommandError::said)?;
    let about = arguments.about.as_deref();
    let groups = behaviours(&composed, about);
    if let (Some(name), []) = (about, groups.as_slice()) {
        return Err(CommandError::Said(format!(
            "no rule that remembers knows `{}`; try `lockgate graph --states` without --about",
            visible(name)
        )));
    }
    write_notes(&policy, &groups, about, console)?;
    if json && arguments.out.is_none() {
        for group in &groups {
            writeln!(console.out, "{}", encode(&GroupAnswer::new(&policy, group, draw)))?;
        }
        return Ok(Ending::Yes);
    }
    let drawn = groups.iter().filter_map(|group| {
        let picture = draw(group.chart.as_ref()?);
        Some(Drawing { net: &group.title, picture })
    });
    deliver(&drawn.collect::<Vec<_>>(), format, arguments.out.as_deref(), console)?;
    Ok(Ending::Yes)
}

/// How states are drawn.
fn drawer(format: Format) -> Result<fn(&Chart) -> String, CommandError> {
    match format {
        Format::Svg => Ok(Chart::to_svg),
        Format::Dot => Ok(Chart::to_dot),
        Format::Mermaid => Ok(Chart::to_mermaid),
        Format::Pnml => Err(CommandError::said("PNML is for nets, not for states; leave out `--states`")),
    }
}

/// What is not drawn, and why.
fn write_notes(
    policy: &Policy,
    groups: &[Group],
    about: Option<&str>,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    for group in groups {
        let title = visible(&group.title);
        let remedy = match about {
            None => "ask for one tool with `--about NAME`",
            Some(_) => "ask for another name, or look at the nets without --states",
        };
        match (&group.chart, group.without) {
            (None, _) => {
                writeln!(console.err, "note: {title}: more than {STATES_DRAWN_MAX} states; {remedy}")?
            }
            (Some(_), 0) => {}
            (Some(_), without) => {
                let rules = if without == 1 { "rule" } else { "rules" };
                writeln!(
                    console.err,
                    "note: {title}: drawn without {without} further {rules}, which may refuse some of this"
                )?;
            }
        }
    }
    let shown: usize = groups.iter().map(|group| group.rules.len()).sum();
    let others = policy.rules().count().saturating_sub(shown);
    if about.is_none() && others > 0 {
        let rules = if others == 1 { "1 rule has".to_owned() } else { format!("{others} rules have") };
        writeln!(console.err, "note: {rules} no states to draw")?;
    }
    Ok(())
}

/// What `graph --states --json` prints of each group.
#[derive(Debug, Serialize)]
struct GroupAnswer<'a> {
    group: &'a str,
    rules: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_than: Option<usize>,
    without: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
}

impl<'a> GroupAnswer<'a> {
    fn new(policy: &'a Policy, group: &'a Group, draw: fn(&Chart) -> String) -> Self {
        let rules = group.rules.iter().filter_map(|rule| policy.rule(*rule));
        Self {
            group: &group.title,
            rules: rules.map(|rule| rule.name.as_str()).collect(),
            states: group.chart.as_ref().map(|chart| chart.spots.len()),
            more_than: group.chart.is_none().then_some(STATES_DRAWN_MAX),
            without: group.without,
            picture: group.chart.as_ref().map(draw),
        }
    }
}
