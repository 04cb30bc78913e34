//! Pictures of states and of what leads from one to another.
//!
//! A [`Chart`] is given in words: what a state says and what happens on an arrow are lines of text, as hostile here as
//! anywhere in a picture. States stand from left to right in the order they are given, so the start comes first;
//! what leads back runs back. An arrow from a state to itself is left out: it changes nothing.

use super::{
    dot,
    layout::{Extent, Layout, Point, Route, lay_out},
    mermaid,
    svg::{self, Svg, cut, width_of},
};

/// How many lines a state or an arrow shows; of more, only how many there are.
pub const CHART_LINES_MAX: usize = 6;

/// Longer lines are cut; the whole text shows when the pointer rests on it.
const LINE_LETTERS_MAX: usize = 34;

/// States, and the arrows between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// The heading; may be empty.
    pub title: String,
    /// The states; the first one is the start.
    pub spots: Vec<Spot>,
    /// What leads from one to another.
    pub passages: Vec<Passage>,
}

/// One state of a [`Chart`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Its name.
    pub name: String,
    /// What to say below the name, line by line.
    pub lines: Vec<String>,
}

/// One arrow of a [`Chart`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The number of the state it leaves.
    pub from: usize,
    /// The number of the state it leads to.
    pub to: usize,
    /// What happens on the way, line by line.
    pub lines: Vec<String>,
}

/// At most so many lines, the last one telling how many more there are.
fn shortened(lines: &[String]) -> Vec<String> {
    if lines.len() <= CHART_LINES_MAX {
        return lines.to_vec();
    }
    let more = lines.len() - (CHART_LINES_MAX - 1);
    lines.iter().take(CHART_LINES_MAX - 1).cloned().chain([format!("and {more} more")]).collect()
}

impl Spot {
    fn all_lines(&self) -> Vec<String> {
        std::iter::once(self.name.clone()).chain(shortened(&self.lines)).collect()
    }
}

impl Chart {
    /// The picture as a Graphviz digraph.
    pub fn to_dot(&self) -> String {
        let mut dot = vec!["digraph states {".to_owned(), "  rankdir=LR;".to_owned()];
        if !self.title.is_empty() {
            dot.push(format!(r#"  label="{}"; labelloc=t;"#, dot::escaped(&self.title)));
        }
        dot.push(
            r#"  node [fontname="Helvetica", shape=box, style="rounded,filled", fillcolor=white];"#
                .to_owned(),
        );
        dot.push(r#"  edge [fontname="Helvetica", fontsize=11];"#.to_owned());
        let joined =
            |lines: &[String]| lines.iter().map(|line| dot::escaped(line)).collect::<Vec<_>>().join(r"\n");
        for (at, spot) in self.spots.iter().enumerate() {
            let color = if at == 0 { dot::MARKED } else { "" };
            dot.push(format!(r#"  s{at} [label="{}"{color}];"#, joined(&spot.all_lines())));
        }
        for passage in self.drawn() {
            let (from, to, label) = (passage.from, passage.to, joined(&shortened(&passage.lines)));
            dot.push(format!(r#"  s{from} -> s{to} [label="{label}"];"#));
        }
        dot.push("}\n".to_owned());
        dot.join("\n")
    }

    /// The picture as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        let mut mermaid = Vec::new();
        if !self.title.is_empty() {
            mermaid.push(format!("---\ntitle: \"{}\"\n---", mermaid::escaped(&self.title)));
        }
        mermaid.push("flowchart LR".to_owned());
        let joined = |lines: &[String]| {
            lines.iter().map(|line| mermaid::escaped(line)).collect::<Vec<_>>().join("<br/>")
        };
        for (at, spot) in self.spots.iter().enumerate() {
            let class = if at == 0 { ":::start" } else { "" };
            mermaid.push(format!(r#"  s{at}("{}"){class}"#, joined(&spot.all_lines())));
        }
        for passage in self.drawn() {
            let label = match passage.lines.as_slice() {
                [] => String::new(),
                lines => format!(r#"|"{}"|"#, joined(&shortened(lines))),
            };
            mermaid.push(format!("  s{} -->{label} s{}", passage.from, passage.to));
        }
        mermaid.push("  classDef start stroke:#2563eb,stroke-width:3px\n".to_owned());
        mermaid.join("\n")
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        let passages: Vec<&Passage> = self.drawn().collect();
        let layout = self.layout(&passages);
        let mut svg = Svg::default();
        let (spots, words) = layout.nodes.split_at_checked(self.spots.len()).unwrap_or_default();
        for ((passage, routes), centre) in passages.iter().zip(layout.routes.chunks(2)).zip(words) {
            self.draw_passage(&mut svg, passage, routes, *centre, &layout);
        }
        for ((at, spot), centre) in self.spots.iter().enumerate().zip(spots) {
            spot.draw(&mut svg, *centre, at == 0);
        }
        svg::document("petri-net states", &self.title, (layout.width, layout.height), &svg)
    }

    /// What leads from one state to another one.
    fn drawn(&self) -> impl Iterator<Item = &Passage> {
        let is_drawn = |passage: &&Passage| {
            passage.from != passage.to && passage.from.max(passage.to) < self.spots.len()
        };
        self.passages.iter().filter(is_drawn)
    }

    /// Lays out the states and after them the words of the arrows, each as a node of its own, so that they have room.
    /// Every line runs from the earlier state to the later one, whatever way it is walked: no circles are left.
    fn layout(&self, passages: &[&Passage]) -> Layout {
        let spots = self.spots.iter().map(|spot| Extent {
            half_width: spot.half_width(),
            above: spot.half_height(),
            below: spot.half_height(),
        });
        let words = passages.iter().map(|passage| Extent {
            half_width: passage.half_width(),
            above: passage.half_height(),
            below: passage.half_height(),
        });
        let extents: Vec<Extent> = spots.chain(words).collect();
        let lines = passages.iter().zip(self.spots.len()..).flat_map(|(passage, words)| {
            [(passage.from.min(passage.to), words), (words, passage.from.max(passage.to))]
        });
        lay_out(&extents, &lines.collect::<Vec<_>>(), &[])
    }

    fn draw_passage(
        &self,
        svg: &mut Svg,
        passage: &Passage,
        routes: &[Route],
        centre: Point,
        layout: &Layout,
    ) {
        let reach = |node: usize| match self.spots.get(node) {
            Some(spot) => spot.half_width() + 2.0,
            None => passage.half_width(),
        };
        let edge = |node: usize, direction: f64| {
            layout.nodes.get(node).copied().unwrap_or_default().x + direction * reach(node)
        };
        svg.group("");
        svg.title(&passage.lines.join(", "));
        for route in routes {
            let arrows = (route.left == passage.to, route.right == passage.to);
            svg.route(route, (edge(route.left, 1.0), edge(route.right, -1.0)), arrows);
        }
        let lines = passage.drawn_lines();
        let top = centre.y - LINE_HEIGHT * (lines.len() as f64 - 1.0) / 2.0 + 4.0;
        for (at, line) in lines.iter().enumerate() {
            svg.text("label", centre.x, top + LINE_HEIGHT * at as f64, line);
        }
        svg.line(format_args!("</g>"));
    }
}

const LINE_HEIGHT: f64 = 16.0;
const PADDING: f64 = 12.0;
const HALF_WIDTH_MIN: f64 = 30.0;

fn widest(lines: &[String]) -> f64 {
    lines.iter().map(|line| width_of(line)).fold(0.0, f64::max)
}

fn cut_lines(lines: &[String]) -> Vec<String> {
    shortened(lines).iter().map(|line| cut(line, LINE_LETTERS_MAX)).collect()
}

impl Spot {
    fn half_width(&self) -> f64 {
        let name = width_of(&cut(&self.name, LINE_LETTERS_MAX));
        (widest(&cut_lines(&self.lines)).max(name) / 2.0 + PADDING).max(HALF_WIDTH_MIN)
    }

    fn half_height(&self) -> f64 {
        LINE_HEIGHT * (cut_lines(&self.lines).len() + 1) as f64 / 2.0 + PADDING
    }

    fn draw(&self, svg: &mut Svg, Point { x, y }: Point, is_start: bool) {
        svg.group(if is_start { "marked" } else { "" });
        let told: Vec<&str> = std::iter::once(&self.name).chain(&self.lines).map(String::as_str).collect();
        svg.title(&told.join(", "));
        svg.rounded("box", x, y, self.half_width(), self.half_height());
        let lines = cut_lines(&self.lines);
        let top = y - LINE_HEIGHT * lines.len() as f64 / 2.0 + 4.5;
        svg.text("name", x, top, &cut(&self.name, LINE_LETTERS_MAX));
        for (at, line) in lines.iter().enumerate() {
            svg.text("caption", x, top + LINE_HEIGHT * (at + 1) as f64, line);
        }
        svg.line(format_args!("</g>"));
    }
}

impl Passage {
    fn drawn_lines(&self) -> Vec<String> {
        cut_lines(&self.lines)
    }

    fn half_width(&self) -> f64 {
        widest(&self.drawn_lines()) / 2.0 + 3.0
    }

    fn half_height(&self) -> f64 {
        LINE_HEIGHT * self.drawn_lines().len().max(1) as f64 / 2.0
    }
}
