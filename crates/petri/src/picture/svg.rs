//! Pictures as SVG, drawn by ourselves.
//!
//! One self-contained file without scripts, fonts or links, readable on light and dark ground. Places
//! are circles, transitions boxes; a line ends in an arrow at every node it brings tokens to or asks.

use std::fmt::{self, Write};

use super::{
    layout::{Extent, Layout, Point, Route, lay_out},
    net::{Link, Picture, Style},
    text::{DOTS_MAX, printable},
};
use crate::{
    id::{PlaceId, TransitionId},
    net::Firing,
};

const MARGIN: f64 = 28.0;
const TITLE_HEIGHT: f64 = 34.0;
const PLACE_RADIUS: f64 = 20.0;
const BOX_HALF_HEIGHT: f64 = 18.0;
const BOX_HALF_WIDTH_MIN: f64 = 30.0;
const BOX_PADDING: f64 = 14.0;
const LABEL_HEIGHT: f64 = 20.0;
/// Taller boxes are not rounder.
const CORNER_MAX: f64 = 24.0;
pub(super) const ARROW: f64 = 7.0;
/// The width of a letter at the size of a label, on average and with some air.
const LETTER_WIDTH: f64 = 6.9;
/// Longer labels are cut; the whole text shows when the pointer rests on the node.
const LABEL_LETTERS_MAX: usize = 28;

const CSS: &str = "\
.petri-net{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\
.petri-net text{text-anchor:middle;fill:#334155;stroke:none}\
.petri-net .ground{fill:#fff}\
.petri-net .heading{font-size:16px;font-weight:600;text-anchor:start;fill:#0f172a}\
.petri-net .label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.petri-net .caption{font-size:11px;fill:#64748b}\
.petri-net .line{fill:none;stroke:#94a3b8;stroke-width:1.6}\
.petri-net .arrow{fill:#94a3b8}\
.petri-net .weight{font-size:11px;font-weight:600;fill:#475569}\
.petri-net .place{fill:#f8fafc;stroke:#94a3b8;stroke-width:1.8}\
.petri-net .marked .place{fill:#dbeafe;stroke:#2563eb;stroke-width:2.4}\
.petri-net .token{fill:#1d4ed8}\
.petri-net .count{font-weight:700;fill:#1d4ed8}\
.petri-net .box{fill:#f1f5f9;stroke:#64748b;stroke-width:1.6}\
.petri-net .marked .box{fill:#dbeafe;stroke:#2563eb;stroke-width:2.4}\
.petri-net .human{fill:#b45309}\
.track .label,.states .label{font-size:12px}\
.petri-net .structural .box{fill:#e2e8f0;stroke:none}\
.petri-net .structural .name{font-style:italic}\
.petri-net .deferred .box{stroke-dasharray:5 3}\
.petri-net .rim{fill:none;stroke:#64748b;stroke-width:1.2}\
.petri-net .enabled .box{fill:#dcfce7;stroke:#16a34a;stroke-width:2.2}\
.petri-net .enabled .rim{stroke:#16a34a}\
.petri-net .enabled .name{fill:#14532d;font-weight:600}\
@media(prefers-color-scheme:dark){\
.petri-net text{fill:#cbd5e1}\
.petri-net .ground{fill:#0f172a}\
.petri-net .heading{fill:#f1f5f9}\
.petri-net .label{stroke:#0f172a}\
.petri-net .caption{fill:#94a3b8}\
.petri-net .line{stroke:#64748b}\
.petri-net .arrow{fill:#64748b}\
.petri-net .weight{fill:#cbd5e1}\
.petri-net .place{fill:#1e293b;stroke:#64748b}\
.petri-net .marked .place{fill:#172554;stroke:#60a5fa}\
.petri-net .token,.petri-net .count{fill:#93c5fd}\
.petri-net .box{fill:#1e293b;stroke:#94a3b8}\
.petri-net .marked .box{fill:#172554;stroke:#60a5fa}\
.petri-net .human{fill:#fbbf24}\
.petri-net .structural .box{fill:#334155}\
.petri-net .rim{stroke:#94a3b8}\
.petri-net .enabled .box{fill:#14532d;stroke:#4ade80}\
.petri-net .enabled .rim{stroke:#4ade80}\
.petri-net .enabled .name{fill:#dcfce7}}";

impl Picture<'_> {
    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        let links = self.links();
        let layout = self.layout(&links);
        let mut svg = Svg::default();
        for (link, route) in links.iter().zip(&layout.routes) {
            self.draw_link(&mut svg, link, route, &layout);
        }
        let mut centres = layout.nodes.iter().copied();
        for (place, centre) in self.net.places().zip(centres.by_ref()) {
            self.draw_place(&mut svg, place, centre);
        }
        for (transition, centre) in self.net.transitions().zip(centres) {
            self.draw_transition(&mut svg, transition, centre);
        }
        document("petri-net", self.title, (layout.width, layout.height), &svg)
    }

    /// Lays out the places and after them the transitions.
    fn layout(&self, links: &[Link]) -> Layout {
        let places = self.net.places().map(|place| Extent {
            half_width: PLACE_RADIUS.max(width_of(&label(self.net.place_name(place))) / 2.0),
            above: PLACE_RADIUS,
            below: PLACE_RADIUS + LABEL_HEIGHT,
        });
        let transitions = self.net.transitions().map(|transition| Extent {
            half_width: self.box_half_width(transition).max(width_of(&label(self.caption(transition))) / 2.0),
            above: BOX_HALF_HEIGHT,
            below: BOX_HALF_HEIGHT + if self.caption(transition).is_empty() { 0.0 } else { LABEL_HEIGHT },
        });
        let extents: Vec<Extent> = places.chain(transitions).collect();

        let node_of = |transition: TransitionId| self.net.places().len() + transition.index();
        let line = |link: &Link| match link.takes {
            0 => (node_of(link.transition), link.place.index()),
            _ => (link.place.index(), node_of(link.transition)),
        };
        let lines: Vec<_> = links.iter().map(line).collect();

        // Circles begin at the tokens of the start, not of now: a picture keeps its shape while a
        // marking moves on. Next come the nodes that nothing leads to.
        let mut is_led_to = vec![false; extents.len()];
        for (_, to) in &lines {
            if let Some(is_led_to) = is_led_to.get_mut(*to) {
                *is_led_to = true;
            }
        }
        let begins_marked = |place: &PlaceId| self.net.initial().tokens(*place) > 0;
        let marked = self.net.places().filter(begins_marked).map(PlaceId::index);
        let (later, sooner): (Vec<_>, Vec<_>) = marked.partition(|node| is_led_to.get(*node) == Some(&false));
        let beginnings =
            is_led_to.iter().enumerate().filter(|(_, is_led_to)| !**is_led_to).map(|(node, _)| node);
        let roots: Vec<usize> = sooner.into_iter().chain(later).chain(beginnings).collect();
        lay_out(&extents, &lines, &roots)
    }

    fn box_half_width(&self, transition: TransitionId) -> f64 {
        let name = label(self.net.transition_name(transition));
        (width_of(&name) / 2.0 + BOX_PADDING).max(BOX_HALF_WIDTH_MIN)
    }

    fn draw_link(&self, svg: &mut Svg, link: &Link, route: &Route, layout: &Layout) {
        let (Some((first, _)), Some((_, last))) = (route.curves.first(), route.curves.last()) else {
            return;
        };
        let place_is_left = route.left == link.place.index();
        let (arrow_left, arrow_right) =
            if place_is_left { (link.puts > 0, link.takes > 0) } else { (link.takes > 0, link.puts > 0) };
        // Where the line meets the circle or the box.
        let edge = |node: usize, y: f64, direction: f64| {
            let centre = layout.nodes.get(node).copied().unwrap_or_default();
            let reach = if node == link.place.index() {
                (PLACE_RADIUS * PLACE_RADIUS - (y - centre.y) * (y - centre.y)).max(0.0).sqrt()
            } else {
                self.box_half_width(link.transition)
            };
            centre.x + direction * (reach + 2.0)
        };
        let start = edge(route.left, first.y, 1.0);
        let end = edge(route.right, last.y, -1.0);

        svg.route(route, (start, end), (arrow_left, arrow_right));
        let weight = match (link.takes, link.puts) {
            (0 | 1, 0 | 1) => return,
            (0, weight) | (weight, 0) => weight.to_string(),
            (takes, puts) if takes == puts => takes.to_string(),
            (takes, puts) => format!("−{takes} +{puts}"),
        };
        if let Some((from, to)) = route.curves.get(route.curves.len() / 2) {
            svg.text("label weight", (from.x + to.x) / 2.0, (from.y + to.y) / 2.0 - 5.0, &weight);
        }
    }

    fn draw_place(&self, svg: &mut Svg, place: PlaceId, Point { x, y }: Point) {
        let name = self.net.place_name(place);
        let tokens = self.tokens(place);
        svg.group(if tokens > 0 { "marked" } else { "" });
        svg.line(format_args!(
            "<title>{}: {tokens} token{}</title>",
            Escaped(name),
            if tokens == 1 { "" } else { "s" }
        ));
        let radius = Number(PLACE_RADIUS);
        svg.line(format_args!(
            "<circle class=\"place\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"/>",
            Number(x),
            Number(y)
        ));
        if tokens > DOTS_MAX {
            svg.text("count", x, y + 4.5, &short_count(tokens));
        }
        for (right, down) in dots(tokens) {
            let (x, y) = (Number(x + right), Number(y + down));
            svg.line(format_args!("<circle class=\"token\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"));
        }
        svg.text("label", x, y + PLACE_RADIUS + 16.0, &label(name));
        svg.line(format_args!("</g>"));
    }

    fn draw_transition(&self, svg: &mut Svg, transition: TransitionId, Point { x, y }: Point) {
        let (name, caption) = (self.net.transition_name(transition), self.caption(transition));
        let traits = [
            (self.net.firing(transition) == Firing::Structural, "structural"),
            (self.style(transition) == Style::Deferred, "deferred"),
            (self.style(transition) == Style::Manual, "manual"),
            (self.is_enabled(transition), "enabled"),
        ];
        let traits: Vec<&str> =
            traits.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name).collect();
        svg.group(&traits.join(" "));
        let told: Vec<&str> =
            [name].into_iter().chain(traits).chain([caption]).filter(|text| !text.is_empty()).collect();
        svg.line(format_args!("<title>{}</title>", Escaped(&told.join(", "))));
        let half_width = self.box_half_width(transition);
        svg.rounded("box", x, y, half_width, BOX_HALF_HEIGHT);
        if self.style(transition) == Style::Manual {
            svg.rounded("rim", x, y, half_width - 4.0, BOX_HALF_HEIGHT - 4.0);
        }
        svg.text("name", x, y + 4.5, &label(name));
        if !caption.is_empty() {
            svg.text("label caption", x, y + BOX_HALF_HEIGHT + 15.0, &label(caption));
        }
        svg.line(format_args!("</g>"));
    }
}

/// A whole document with a heading above a body of this size.
pub(super) fn document(class: &str, title: &str, size: (f64, f64), body: &Svg) -> String {
    let heading_height = if title.is_empty() { 0.0 } else { TITLE_HEIGHT };
    let heading = cut(title, 2 * LABEL_LETTERS_MAX);
    let width = size.0.max(width_of(&heading) * 1.3) + 2.0 * MARGIN;
    let height = size.1 + heading_height + 2.0 * MARGIN;

    let mut svg = Svg::default();
    svg.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" \
         viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">",
        Number(width),
        Number(height)
    ));
    svg.line(format_args!("<style>{CSS}</style>"));
    svg.line(format_args!("<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"12\"/>"));
    if !title.is_empty() {
        svg.title(title);
        svg.text("heading", MARGIN, MARGIN + 8.0, &heading);
    }
    svg.line(format_args!(
        "<g transform=\"translate({} {})\">",
        Number((width - size.0) / 2.0),
        Number(MARGIN + heading_height)
    ));
    svg.0.push_str(&body.0);
    svg.line(format_args!("</g>\n</svg>"));
    svg.0
}

/// Elements of a document.
#[derive(Default)]
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn line(&mut self, content: fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.0, "{content}");
    }

    /// A line from its left end to its right end, with an arrow at either, both or none.
    pub(super) fn route(&mut self, route: &Route, (start, end): (f64, f64), arrows: (bool, bool)) {
        let (Some((first, _)), Some((_, last))) = (route.curves.first(), route.curves.last()) else {
            return;
        };
        let shortened = |arrow: bool| if arrow { ARROW - 1.0 } else { 0.0 };
        let mut path = format!("M{} {}", Number(start + shortened(arrows.0)), Number(first.y));
        for (from, to) in &route.curves {
            let middle = Number((from.x + to.x) / 2.0);
            let (from, to) = ((Number(from.x), Number(from.y)), (Number(to.x), Number(to.y)));
            let _ = write!(path, "H{}C{middle} {} {middle} {} {} {}", from.0, from.1, to.1, to.0, to.1);
        }
        let _ = write!(path, "H{}", Number(end - shortened(arrows.1)));
        self.line(format_args!("<path class=\"line\" d=\"{path}\"/>"));
        if arrows.0 {
            self.arrow(start, first.y, 1.0);
        }
        if arrows.1 {
            self.arrow(end, last.y, -1.0);
        }
    }

    /// What shows when the pointer rests on the group it stands in.
    pub(super) fn title(&mut self, text: &str) {
        self.line(format_args!("<title>{}</title>", Escaped(text)));
    }

    pub(super) fn group(&mut self, class: &str) {
        match class {
            "" => self.line(format_args!("<g>")),
            class => self.line(format_args!("<g class=\"{class}\">")),
        }
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y, text) = (Number(x), Number(y), Escaped(text));
        self.line(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    pub(super) fn rounded(&mut self, class: &str, x: f64, y: f64, half_width: f64, half_height: f64) {
        self.line(format_args!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
            Number(x - half_width),
            Number(y - half_height),
            Number(2.0 * half_width),
            Number(2.0 * half_height),
            Number(half_height.min(CORNER_MAX) / 2.0)
        ));
    }

    /// A head whose point is here; the line leaves it to the right (`1.0`) or to the left (`-1.0`).
    pub(super) fn arrow(&mut self, x: f64, y: f64, direction: f64) {
        let back = Number(x + direction * ARROW);
        let (x, upper, lower, y) = (Number(x), Number(y - 4.0), Number(y + 4.0), Number(y));
        self.line(format_args!("<path class=\"arrow\" d=\"M{x} {y}L{back} {upper}V{lower}Z\"/>"));
    }

    /// The head and shoulders of a human, on the line of a text.
    pub(super) fn human(&mut self, x: f64, y: f64) {
        let (head, neck) = (Number(y - 8.0), Number(y - 4.5));
        let (left, right, y, x) = (Number(x - 5.0), Number(x + 5.0), Number(y), Number(x));
        self.line(format_args!("<circle class=\"human\" cx=\"{x}\" cy=\"{head}\" r=\"2.8\"/>"));
        self.line(format_args!(
            "<path class=\"human\" d=\"M{left} {y}C{left} {neck} {right} {neck} {right} {y}Z\"/>"
        ));
    }
}

/// Where the tokens of a place are drawn, from its centre.
fn dots(tokens: u64) -> &'static [(f64, f64)] {
    match tokens {
        1 => &[(0.0, 0.0)],
        2 => &[(-6.5, 0.0), (6.5, 0.0)],
        3 => &[(0.0, -6.5), (-6.5, 5.0), (6.5, 5.0)],
        4 => &[(-6.0, -6.0), (6.0, -6.0), (-6.0, 6.0), (6.0, 6.0)],
        _ => &[],
    }
}

/// A number that fits into a place: exact up to 9999, then in thousands, millions and so on.
fn short_count(tokens: u64) -> String {
    if tokens < 10_000 {
        return tokens.to_string();
    }
    let mut rest = tokens;
    let mut unit = ' ';
    for next in ['k', 'M', 'G', 'T', 'P', 'E'] {
        if rest < 1_000 {
            break;
        }
        (rest, unit) = (rest / 1_000, next);
    }
    format!("{rest}{unit}")
}

fn label(text: &str) -> String {
    cut(text, LABEL_LETTERS_MAX)
}

pub(super) fn cut(text: &str, letters_max: usize) -> String {
    if text.chars().count() <= letters_max {
        return text.to_owned();
    }
    text.chars().take(letters_max - 1).chain(['…']).collect()
}

/// About how wide a label is; letters from the scripts of East Asia and pictograms are twice as wide.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(|c| if u32::from(c) < 0x1100 { LETTER_WIDTH } else { 2.0 * LETTER_WIDTH }).sum()
}

/// A coordinate with one digit after the point, and only if it is not zero.
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round();
        if tenths % 10.0 == 0.0 {
            write!(f, "{}", (tenths / 10.0) as i64)
        } else {
            write!(f, "{:.1}", tenths / 10.0)
        }
    }
}

/// Text as XML reads it back.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable(self.0) {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
