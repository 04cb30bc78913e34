//! `lockgate graph`: pictures of the nets.
//!
//! Each net is drawn where a session begins. Several nets become one document: graphs one after another in DOT,
//! fenced blocks of Markdown for Mermaid, one picture under the other in SVG.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lockgate::{
    Policy,
    petri::{Note, Picture, Style},
    policy::NetRule,
};
use serde::Serialize;

use crate::{
    args::{Format, GraphArguments},
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) fn run(
    arguments: &GraphArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = super::open(&arguments.policy.files)?.policy;
    let rules = chosen(&policy, arguments.net.as_deref())?;
    let without_net = policy.rules().count() - policy.nets().len();
    if without_net > 0 && arguments.net.is_none() {
        writeln!(console.err, "note: {without_net} rules look at calls and have no net to draw")?;
    }
    let format = format_of(arguments)?;
    let drawings: Vec<Drawing<'_>> = rules.into_iter().map(|rule| Drawing::new(rule, format)).collect();
    match &arguments.out {
        Some(out) if is_folder(out) => {
            let count = write_files(out, format, &drawings).map_err(|error| cannot_write(out, &error))?;
            writeln!(console.err, "{count} pictures in `{}`", out.display())?;
        }
        Some(out) => {
            fs::write(out, document(format, &drawings)).map_err(|error| cannot_write(out, &error))?;
        }
        None if json => {
            drawings.iter().try_for_each(|drawing| writeln!(console.out, "{}", encode(drawing)))?
        }
        None => console.out.write_all(document(format, &drawings).as_bytes())?,
    }
    Ok(Ending::Yes)
}

fn chosen<'a>(policy: &'a Policy, net: Option<&str>) -> Result<Vec<&'a NetRule>, CommandError> {
    let has_others = policy.rules().count() > policy.nets().len();
    if policy.nets().is_empty() && has_others {
        return Err(CommandError::Said(
            "this policy has nothing to draw: when/then rules look at calls and have no nets; try `lockgate explain`"
                .to_owned(),
        ));
    }
    let Some(net) = net else {
        return Ok(policy.nets().iter().collect());
    };
    let rules: Vec<&NetRule> = policy.nets().iter().filter(|rule| rule.name == net).collect();
    if rules.is_empty() {
        let names: Vec<&str> = policy.nets().iter().map(|rule| rule.name.as_str()).collect();
        let why = if policy.rules().any(|rule| rule.name == net) {
            format!("`{net}` is a when/then rule, which looks at calls and has no net")
        } else {
            format!("no net is called `{net}`")
        };
        return Err(CommandError::Said(format!("{why}; the policy has: {}", names.join(", "))));
    }
    Ok(rules)
}

fn format_of(arguments: &GraphArguments) -> Result<Format, CommandError> {
    let ending = arguments.out.as_ref().filter(|out| !is_folder(out)).and_then(|out| out.extension());
    match (arguments.format, ending.and_then(|ending| ending.to_str())) {
        (Some(format), _) => Ok(format),
        (None, None | Some("svg")) => Ok(Format::Svg),
        (None, Some("dot" | "gv")) => Ok(Format::Dot),
        (None, Some("mmd" | "md")) => Ok(Format::Mermaid),
        (None, Some(ending)) => Err(CommandError::Said(format!(
            "nothing is drawn as `.{ending}`; try `.svg`, `.dot`, `.mmd` or --format"
        ))),
    }
}

/// A folder, or what is written like one.
fn is_folder(out: &Path) -> bool {
    out.is_dir() || out.as_os_str().as_encoded_bytes().last().is_some_and(|last| b"/\\".contains(last))
}

/// One net, drawn.
#[derive(Debug, Serialize)]
struct Drawing<'a> {
    net: &'a str,
    picture: String,
}

impl<'a> Drawing<'a> {
    fn new(rule: &'a NetRule, format: Format) -> Self {
        let net = rule.net.net();
        let notes = net.transitions().map(|transition| {
            let guard = rule.net.guard(transition);
            let style = match (guard.is_manual, guard.is_deferred) {
                (true, _) => Style::Manual,
                (false, true) => Style::Deferred,
                (false, false) => Style::Plain,
            };
            (transition, Note { caption: guard.tools.join(", "), style })
        });
        let picture =
            Picture { net, marking: Some(rule.net.start()), title: &rule.name, notes: notes.collect() };
        let picture = match format {
            Format::Svg => picture.to_svg(),
            Format::Dot => picture.to_dot(),
            Format::Mermaid => picture.to_mermaid(),
        };
        Self { net: &rule.name, picture }
    }
}

fn document(format: Format, drawings: &[Drawing<'_>]) -> String {
    match (drawings, format) {
        ([only], _) => only.picture.clone(),
        (several, Format::Dot) => several.iter().map(|drawing| drawing.picture.as_str()).collect(),
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
