//! `lockgate graph`: pictures of the nets and the workflows.
//!
//! Each net is drawn where a session begins, a workflow as the line of its stages. Several nets become one document: graphs one after another in DOT,
//! fenced blocks of Markdown for Mermaid, one picture under the other in SVG.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use lockgate::Net;
use lockgate::engine::{
    Policy,
    petri::to_pnml,
    policy::{NetRule, Rule, RuleId, Workflow},
    track,
};
use serde::Serialize;

use super::in_force;
use crate::{
    arguments::PolicyArguments,
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) const GRAPH_EXAMPLES: &str = "\
Examples:
  lockgate graph --out policy.svg     the policy in force
  lockgate graph ops.rules --out ops.svg
  lockgate graph ops.rules --net limit-deploy-3 --format dot | dot -Tpng
  lockgate graph ops.rules --out pictures/    one file for each net
  lockgate graph ops.rules --out nets/ --format pnml    for other tools
  lockgate graph ops.rules --states --format mermaid
  lockgate graph ops.rules --states --about deploy --out deploy.svg

With --states, related rules share one picture. A state shows what is closed or
what is left, an arrow what happens. Lockgate leaves out calls that change
nothing, and groups with more than 60 states. A PNML file holds one net.";

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// The format [default: the ending of --out, or svg]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Draw only this net
    #[arg(long, value_name = "NAME")]
    pub(crate) net: Option<String>,
    /// Draw the states of related rules together instead of each net
    #[arg(long, conflicts_with = "net")]
    pub(crate) states: bool,
    /// With --states: only the rules about this name
    #[arg(long, value_name = "NAME", requires = "states")]
    pub(crate) about: Option<String>,
    /// Write to this file, or one file for each net into this folder
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// How a net is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Svg,
    Dot,
    Mermaid,
    /// The net itself, for other tools for Petri nets
    Pnml,
}

pub(crate) fn run(
    arguments: &GraphArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = in_force::open(&arguments.policy.files, console)?.compiled();
    let format = format_of(arguments)?;
    let mut drawn = chosen(&policy, arguments.net.as_deref())?;
    if format == Format::Pnml {
        drawn = nets_alone(drawn, arguments, json)?;
    }
    let without_net = policy.rules().count() - drawable(&policy).len();
    if without_net > 0 && arguments.net.is_none() {
        writeln!(console.err, "note: {without_net} rules look at calls and have no net to draw")?;
    }
    let drawings: Vec<Drawing<'_>> =
        drawn.into_iter().map(|rule| Drawing::new(rule, format)).collect::<Result<_, _>>()?;
    match &arguments.out {
        None if json => {
            drawings.iter().try_for_each(|drawing| writeln!(console.out, "{}", encode(drawing)))?
        }
        out => deliver(&drawings, format, out.as_deref(), console)?,
    }
    Ok(Ending::Yes)
}

/// Writes pictures where they are wanted.
pub(super) fn deliver(
    drawings: &[Drawing<'_>],
    format: Format,
    out: Option<&Path>,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    match out {
        Some(out) if is_folder(out) => {
            let count = write_files(out, format, drawings).map_err(|error| cannot_write(out, &error))?;
            writeln!(console.err, "{count} pictures in `{}`", out.display())?;
        }
        Some(out) => {
            fs::write(out, document(format, drawings)).map_err(|error| cannot_write(out, &error))?;
        }
        None => console.out.write_all(document(format, drawings).as_bytes())?,
    }
    Ok(())
}

/// A rule that can be drawn.
#[derive(Clone, Copy)]
enum Drawable<'a> {
    Net(&'a NetRule),
    Workflow(&'a Workflow),
}

impl<'a> Drawable<'a> {
    fn rule(self) -> &'a Rule {
        match self {
            Self::Net(net) => net,
            Self::Workflow(workflow) => workflow,
        }
    }

    fn id(&self) -> RuleId {
        self.rule().id
    }
}

/// All that can be drawn, in file order.
fn drawable(policy: &Policy) -> Vec<Drawable<'_>> {
    let nets = policy.nets().iter().map(Drawable::Net);
    let mut all: Vec<Drawable<'_>> = nets.chain(policy.workflows().iter().map(Drawable::Workflow)).collect();
    all.sort_by_key(Drawable::id);
    all
}

fn chosen<'a>(policy: &'a Policy, net: Option<&str>) -> Result<Vec<Drawable<'a>>, CommandError> {
    let all = drawable(policy);
    if all.is_empty() && policy.rules().next().is_some() {
        return Err(CommandError::Said(
            "this policy has nothing to draw: when/then rules look at calls and have no nets; try `lockgate explain`"
                .to_owned(),
        ));
    }
    let Some(net) = net else {
        return Ok(all);
    };
    let chosen: Vec<Drawable<'a>> = all.iter().copied().filter(|it| it.rule().name == net).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|it| it.rule().name.as_str()).collect();
        let why = if policy.rules().any(|rule| rule.name == net) {
            format!("`{net}` is a when/then rule, which looks at calls and has no net")
        } else {
            format!("no net is called `{net}`")
        };
        return Err(CommandError::Said(format!("{why}; the policy has: {}", names.join(", "))));
    }
    Ok(chosen)
}

/// The nets among what was chosen; workflows have no net of their own, and a PNML file has one net.
fn nets_alone<'a>(
    chosen: Vec<Drawable<'a>>,
    arguments: &GraphArguments,
    json: bool,
) -> Result<Vec<Drawable<'a>>, CommandError> {
    let nets: Vec<Drawable<'a>> =
        chosen.into_iter().filter(|rule| matches!(rule, Drawable::Net(_))).collect();
    let is_split = match &arguments.out {
        Some(out) => is_folder(out),
        None => json,
    };
    match nets.len() {
        0 => Err(CommandError::said("a workflow cannot be written as PNML; try `--format svg`")),
        2.. if !is_split => Err(CommandError::said(
            "a PNML file holds one net; choose it with `--net NAME`, or write one file for each with `--out DIR/`",
        )),
        _ => Ok(nets),
    }
}

pub(super) fn format_of(arguments: &GraphArguments) -> Result<Format, CommandError> {
    let ending = arguments.out.as_ref().filter(|out| !is_folder(out)).and_then(|out| out.extension());
    match (arguments.format, ending.and_then(|ending| ending.to_str())) {
        (Some(format), _) => Ok(format),
        (None, None | Some("svg")) => Ok(Format::Svg),
        (None, Some("dot" | "gv")) => Ok(Format::Dot),
        (None, Some("mmd" | "md")) => Ok(Format::Mermaid),
        (None, Some("pnml")) => Ok(Format::Pnml),
        (None, Some(ending)) => Err(CommandError::Said(format!(
            "nothing is drawn as `.{ending}`; try `.svg`, `.dot`, `.mmd`, `.pnml` or --format"
        ))),
    }
}

/// A folder, or what is written like one.
fn is_folder(out: &Path) -> bool {
    out.is_dir() || out.as_os_str().as_encoded_bytes().last().is_some_and(|last| b"/\\".contains(last))
}

/// One net, drawn.
#[derive(Debug, Serialize)]
pub(super) struct Drawing<'a> {
    pub(super) net: &'a str,
    pub(super) picture: String,
}

impl<'a> Drawing<'a> {
    fn new(rule: Drawable<'a>, format: Format) -> Result<Self, CommandError> {
        match rule {
            Drawable::Net(net) => Self::of_net(net, format),
            Drawable::Workflow(workflow) => {
                let track = track(workflow, None);
                let picture = match format {
                    Format::Svg => track.to_svg(),
                    Format::Dot => track.to_dot(),
                    Format::Mermaid => track.to_mermaid(),
                    Format::Pnml => return Err(CommandError::said("a workflow cannot be written as PNML")),
                };
                Ok(Self { net: &workflow.name, picture })
            }
        }
    }

    fn of_net(rule: &'a NetRule, format: Format) -> Result<Self, CommandError> {
        let net = Net::of(rule);
        let picture = match format {
            Format::Svg => net.to_svg(),
            Format::Dot => net.to_dot(),
            Format::Mermaid => net.to_mermaid(),
            Format::Pnml => to_pnml(rule.net.net()).map_err(CommandError::said)?,
        };
        Ok(Self { net: &rule.name, picture })
    }
}

fn document(format: Format, drawings: &[Drawing<'_>]) -> String {
    match (drawings, format) {
        ([only], _) => only.picture.clone(),
        (several, Format::Dot | Format::Pnml) => {
            several.iter().map(|drawing| drawing.picture.as_str()).collect()
        }
        (several, Format::Mermaid) => {
            let fenced = |drawing: &Drawing<'_>| format!("```mermaid\n{}```\n", drawing.picture);
            several.iter().map(fenced).collect::<Vec<_>>().join("\n")
        }
        (several, Format::Svg) => stacked(several),
    }
}

/// The gap between two pictures in one SVG.
const GAP: f64 = 16.0;

fn stacked(drawings: &[Drawing<'_>]) -> String {
    let (mut width, mut height, mut body) = (0.0_f64, 0.0_f64, String::new());
    for drawing in drawings {
        // A picture is an `svg` element that says how large it is; inside another it may also say where it is.
        body.push_str(&drawing.picture.replacen("<svg ", &format!("<svg y=\"{height:.2}\" "), 1));
        width = width.max(size_of(&drawing.picture, "width"));
        height += size_of(&drawing.picture, "height") + GAP;
    }
    let height = (height - GAP).max(0.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.2} {height:.2}\" \
         width=\"{width:.2}\" height=\"{height:.2}\">\n{body}</svg>\n"
    )
}

/// A size that the first tag of a picture says.
fn size_of(picture: &str, name: &str) -> f64 {
    let start = format!(" {name}=\"");
    let value = picture.split_once(&start).and_then(|(_, rest)| rest.split_once('"'));
    value.and_then(|(value, _)| value.parse().ok()).unwrap_or(0.0)
}

fn write_files(folder: &Path, format: Format, drawings: &[Drawing<'_>]) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let ending = match format {
        Format::Svg => "svg",
        Format::Dot => "dot",
        Format::Mermaid => "mmd",
        Format::Pnml => "pnml",
    };
    let mut written: Vec<PathBuf> = Vec::with_capacity(drawings.len());
    for drawing in drawings {
        let name = file_name(drawing.net);
        let mut file = folder.join(format!("{name}.{ending}"));
        // Two rules may have one name, and two names one file name.
        let mut number = 1;
        while written.contains(&file) {
            number += 1;
            file = folder.join(format!("{name}-{number}.{ending}"));
        }
        fs::write(&file, &drawing.picture)?;
        written.push(file);
    }
    Ok(written.len())
}

/// The longest name of a file before its ending.
const FILE_NAME_MAX: usize = 100;

/// A net's name as a file's name that stays in its folder.
fn file_name(net: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }
    };
    let name: String = net.chars().map(plain).take(FILE_NAME_MAX).collect();
    if name.starts_with('.') || name.is_empty() { format!("_{name}") } else { name }
}

fn cannot_write(out: &Path, error: &io::Error) -> CommandError {
    CommandError::Said(format!("cannot write `{}`: {error}", out.display()))
}
