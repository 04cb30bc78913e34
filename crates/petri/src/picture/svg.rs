//! Pictures as SVG, drawn by ourselves.
//!
//! One self-contained file without scripts, fonts or links, readable on light and dark ground. Places
//! are circles, transitions boxes; a line ends in an arrow at every node it brings tokens to or asks.

mod picture;
mod style;

use std::fmt::{self, Write};

use style::CSS;

pub use style::CSS as PICTURE_CSS;

use super::{layout::Route, text::printable};

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

/// A picture without its own style sheet, for a page that has [`PICTURE_CSS`] in a file: pages with a strict policy about
/// their content ignore what stands in the page itself.
pub fn without_style(picture: &str) -> String {
    // Names are escaped, so the first style sheet is ours.
    picture.replacen(&format!("<style>{CSS}</style>\n"), "", 1)
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
