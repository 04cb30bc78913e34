//! Pictures of a line of steps, one after another: boxes, and arrows that say what is needed to go on.
//!
//! A [`Track`] is what people want to see of a net that is such a line: its steps instead of its places. Texts are
//! as hostile here as anywhere in a picture. There are no branches and no way back.

use std::fmt::Write;

use super::{
    dot, mermaid,
    svg::{self, ARROW, Number, Svg, cut, width_of},
};

/// How many lines a step or an arrow shows; of more, only how many there are.
pub const TRACK_LINES_MAX: usize = 6;

/// Longer lines are cut; the whole text shows when the pointer rests on it.
const LINE_LETTERS_MAX: usize = 34;

/// A line of steps, from left to right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// The heading; may be empty.
    pub title: String,
    /// The steps, in order.
    pub stops: Vec<Station>,
}

/// One step of a [`Track`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// What to say below the name, line by line.
    pub lines: Vec<String>,
    /// How it is drawn.
    pub shape: Shape,
    /// Whether this is where things stand now.
    pub is_active: bool,
    /// What is needed to come here from the step before.
    pub needs: Vec<Need>,
}

/// How a step is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// As a box.
    #[default]
    Box,
    /// As a box with a double border: it is the last one.
    Last,
    /// As a dot: where the line begins or ends.
    Dot,
}

/// One thing that is needed to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// What, in short.
    pub text: String,
    /// Whether a human has to agree.
    pub is_human: bool,
}

/// What marks a human where nothing can be drawn.
const HUMAN: &str = "👤";

/// At most so many lines, the last one telling how many more there are.
fn shortened(lines: Vec<String>) -> Vec<String> {
    if lines.len() <= TRACK_LINES_MAX {
        return lines;
    }
    let more = lines.len() - (TRACK_LINES_MAX - 1);
    lines.into_iter().take(TRACK_LINES_MAX - 1).chain([format!("and {more} more")]).collect()
}

impl Need {
    fn marked(&self) -> String {
        if self.is_human { format!("{HUMAN} {}", self.text) } else { self.text.clone() }
    }
}

impl Station {
    fn all_lines(&self) -> Vec<String> {
        let lines = shortened(self.lines.clone());
        std::iter::once(self.name.clone()).chain(lines).collect()
    }

    fn marked_needs(&self) -> Vec<String> {
        shortened(self.needs.iter().map(Need::marked).collect())
    }
}

impl Track {
    /// The picture as a Graphviz digraph.
    pub fn to_dot(&self) -> String {
        let mut lines = vec!["digraph track {".to_owned(), "  rankdir=LR;".to_owned()];
        if !self.title.is_empty() {
            lines.push(format!(r#"  label="{}"; labelloc=t;"#, dot::escaped(&self.title)));
        }
        lines.push(r#"  node [fontname="Helvetica", shape=box];"#.to_owned());
        lines.push(r#"  edge [fontname="Helvetica", fontsize=11];"#.to_owned());
        let joined =
            |parts: Vec<String>| parts.iter().map(|part| dot::escaped(part)).collect::<Vec<_>>().join(r"\n");
        for (at, stop) in self.stops.iter().enumerate() {
            let color = if stop.is_active { dot::MARKED } else { "" };
            lines.push(match stop.shape {
                Shape::Box => {
                    format!(r#"  s{at} [label="{}", style="rounded,filled", fillcolor=white{color}];"#, joined(stop.all_lines()))
                }
                Shape::Last => format!(
                    r#"  s{at} [label="{}", style="rounded,filled", fillcolor=white, peripheries=2{color}];"#,
                    joined(stop.all_lines())
                ),
                Shape::Dot => format!(
                    r#"  s{at} [shape=circle, style=filled, fillcolor=gray, width=0.2, label="", xlabel="{}"{color}];"#,
                    joined(stop.all_lines())
                ),
            });
        }
        for (at, stop) in self.stops.iter().enumerate().skip(1) {
            let label = match joined(stop.marked_needs()) {
                label if label.is_empty() => String::new(),
                label => format!(r#" [label="{label}"]"#),
            };
            lines.push(format!("  s{} -> s{at}{label};", at - 1));
        }
        lines.push("}\n".to_owned());
        lines.join("\n")
    }

    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            lines.push(format!("---\ntitle: \"{}\"\n---", mermaid::escaped(&self.title)));
        }
        lines.push("flowchart LR".to_owned());
        let joined = |parts: Vec<String>| {
            parts.iter().map(|part| mermaid::escaped(part)).collect::<Vec<_>>().join("<br/>")
        };
        for (at, stop) in self.stops.iter().enumerate() {
            let (label, class) = (joined(stop.all_lines()), if stop.is_active { ":::active" } else { "" });
            lines.push(match stop.shape {
                Shape::Box => format!(r#"  s{at}("{label}"){class}"#),
                Shape::Last => format!(r#"  s{at}[["{label}"]]{class}"#),
                Shape::Dot => format!(r#"  s{at}(("{label}")){class}"#),
            });
        }
        for (at, stop) in self.stops.iter().enumerate().skip(1) {
            let label = match stop.needs.as_slice() {
                [] => String::new(),
                _ => format!(r#"|"{}"|"#, joined(stop.marked_needs())),
            };
            lines.push(format!("  s{} -->{label} s{at}", at - 1));
        }
        lines.push("  classDef active stroke:#2563eb,stroke-width:3px\n".to_owned());
        lines.join("\n")
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        let tallest = self.stops.iter().map(Station::half_height).fold(0.0, f64::max);
        let needs_height = self.stops.iter().map(Station::needs_height).fold(0.0, f64::max);
        // What is needed stands above the arrows, which run through the middle.
        let middle = tallest.max(needs_height);
        let mut body = Svg::default();
        let mut x = 0.0;
        for (at, stop) in self.stops.iter().enumerate() {
            if at > 0 {
                let gap = stop.gap();
                stop.draw_needs(&mut body, x, gap, middle);
                x += gap;
            }
            stop.draw(&mut body, x + stop.half_width(), middle);
            x += 2.0 * stop.half_width();
        }
        svg::document("petri-net track", &self.title, (x, middle + tallest), &body)
    }
}

const LINE_HEIGHT: f64 = 16.0;
const PADDING: f64 = 12.0;
const DOT_RADIUS: f64 = 9.0;
const HALF_WIDTH_MIN: f64 = 40.0;
const GAP_MIN: f64 = 46.0;
/// The room of the figure that marks a human.
const FIGURE_WIDTH: f64 = 15.0;

impl Station {
    /// The lines as drawn, the name apart.
    fn drawn_lines(&self) -> Vec<String> {
        shortened(self.lines.clone()).iter().map(|line| cut(line, LINE_LETTERS_MAX)).collect()
    }

    fn half_width(&self) -> f64 {
        let name = width_of(&cut(&self.name, LINE_LETTERS_MAX));
        let text = self.drawn_lines().iter().map(|line| width_of(line)).fold(name, f64::max) / 2.0;
        if self.shape == Shape::Dot {
            // The name of a dot stands below it.
            return DOT_RADIUS.max(text);
        }
        (text + PADDING).max(HALF_WIDTH_MIN)
    }

    fn half_height(&self) -> f64 {
        if self.shape == Shape::Dot {
            return DOT_RADIUS + LINE_HEIGHT * (self.drawn_lines().len() + 1) as f64;
        }
        LINE_HEIGHT * (self.drawn_lines().len() + 1) as f64 / 2.0 + PADDING
    }

    fn drawn_needs(&self) -> Vec<Need> {
        if self.needs.len() <= TRACK_LINES_MAX {
            return self.needs.clone();
        }
        let more = self.needs.len() - (TRACK_LINES_MAX - 1);
        let rest = Need { text: format!("and {more} more"), is_human: false };
        self.needs.iter().take(TRACK_LINES_MAX - 1).cloned().chain([rest]).collect()
    }

    fn needs_height(&self) -> f64 {
        LINE_HEIGHT * self.drawn_needs().len() as f64 + 2.0
    }

    /// The room between this step and the one before.
    fn gap(&self) -> f64 {
        let width = |need: &Need| {
            let figure = if need.is_human { FIGURE_WIDTH } else { 0.0 };
            width_of(&cut(&need.text, LINE_LETTERS_MAX)) + figure
        };
        let widest = self.drawn_needs().iter().map(width).fold(0.0, f64::max);
        (widest + 2.0 * PADDING).max(GAP_MIN)
    }

    /// The arrow that leads here, and what is needed above it.
    fn draw_needs(&self, svg: &mut Svg, x: f64, gap: f64, y: f64) {
        svg.group("");
        let told: Vec<String> = self.needs.iter().map(Need::marked).collect();
        if !told.is_empty() {
            svg.title(&told.join(", "));
        }
        // The name of a dot is wider than the dot.
        let beside = if self.shape == Shape::Dot { self.half_width() - DOT_RADIUS } else { 0.0 };
        let point = x + gap + beside - 2.0;
        let (start, end) = (Number(x + 2.0), Number(point - ARROW + 1.0));
        svg.line(format_args!("<path class=\"line\" d=\"M{start} {0}H{end}\"/>", Number(y)));
        svg.arrow(point, y, -1.0);
        let (middle, needs) = (x + gap / 2.0, self.drawn_needs());
        for (at, need) in needs.iter().enumerate() {
            let line = y - 8.0 - LINE_HEIGHT * (needs.len() - 1 - at) as f64;
            let text = cut(&need.text, LINE_LETTERS_MAX);
            if need.is_human {
                svg.human(middle - width_of(&text) / 2.0, line);
                svg.text("label", middle + FIGURE_WIDTH / 2.0, line, &text);
            } else {
                svg.text("label", middle, line, &text);
            }
        }
        svg.line(format_args!("</g>"));
    }

    fn draw(&self, svg: &mut Svg, x: f64, y: f64) {
        svg.group(if self.is_active { "marked" } else { "" });
        let mut told = self.name.clone();
        for line in &self.lines {
            let _ = write!(told, ", {line}");
        }
        svg.title(&told);
        let lines = self.drawn_lines();
        let top = match self.shape {
            Shape::Dot => {
                let radius = Number(DOT_RADIUS);
                svg.line(format_args!(
                    "<circle class=\"place\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"/>",
                    Number(x),
                    Number(y)
                ));
                y + DOT_RADIUS + LINE_HEIGHT - 2.0
            }
            Shape::Box | Shape::Last => {
                let (width, height) = (self.half_width(), self.half_height());
                svg.rounded("box", x, y, width, height);
                if self.shape == Shape::Last {
                    svg.rounded("rim", x, y, width - 4.0, height - 4.0);
                }
                y - LINE_HEIGHT * lines.len() as f64 / 2.0 + 4.5
            }
        };
        svg.text("name", x, top, &cut(&self.name, LINE_LETTERS_MAX));
        for (at, line) in lines.iter().enumerate() {
            svg.text("caption", x, top + LINE_HEIGHT * (at + 1) as f64, line);
        }
        svg.line(format_args!("</g>"));
    }
}
