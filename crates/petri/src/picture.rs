//! Pictures of nets, for people: DOT, Mermaid, and an SVG drawn here.
//!
//! A [`Picture`] says what to show; the same one always gives the same text. Names and captions are
//! taken as hostile: whatever they contain, they stay labels, and ids are ours (`p0`, `t0`), so two
//! names can never become one node. A [`Track`] shows a net that is one line of steps by its steps,
//! a [`Chart`] states and what leads from one to another. There is no way to choose colours or sizes.

mod chart;
mod dot;
mod layout;
mod mermaid;
mod svg;
mod track;

use std::collections::BTreeMap;

pub use chart::{CHART_LINES_MAX, Chart, Passage, Spot};
pub use track::{Need, Shape, Station, TRACK_LINES_MAX, Track};

use crate::{
    marking::Marking,
    net::{Net, PlaceId, TransitionId, weight_of},
};

/// What a picture shows.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// The net.
    pub net: &'a Net,
    /// Where the tokens are now: they are shown, and what is enabled stands out. Without it the
    /// tokens of the start are shown and nothing stands out.
    pub marking: Option<&'a Marking>,
    /// The heading; may be empty.
    pub title: &'a str,
    /// What to say beside a transition.
    pub notes: BTreeMap<TransitionId, Note>,
}

/// What a picture says beside a transition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// A line of text; may be empty.
    pub caption: String,
    /// How the transition is drawn.
    pub style: Style,
}

/// How a transition is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// With a plain border.
    #[default]
    Plain,
    /// With a dashed border: it fires later than it is called.
    Deferred,
    /// With a double border: somebody is asked first.
    Manual,
}

/// All that runs between a place and a transition, in either direction; at least one way is not zero.
struct Link {
    place: PlaceId,
    transition: TransitionId,
    takes: u64,
    puts: u64,
}

/// One line of a [`Link`] in the languages that can only draw an arrow with one weight.
struct Arrow {
    from: String,
    to: String,
    both_ways: bool,
    weight: u64,
}

impl Picture<'_> {
    fn tokens(&self, place: PlaceId) -> u64 {
        self.marking.unwrap_or(self.net.initial()).tokens(place)
    }

    fn is_enabled(&self, transition: TransitionId) -> bool {
        self.marking.is_some_and(|marking| self.net.is_enabled(marking, transition))
    }

    fn style(&self, transition: TransitionId) -> Style {
        self.notes.get(&transition).map_or(Style::Plain, |note| note.style)
    }

    fn caption(&self, transition: TransitionId) -> &str {
        self.notes.get(&transition).map_or("", |note| &note.caption)
    }

    /// One link for each place and transition that have to do with each other.
    fn links(&self) -> Vec<Link> {
        let links_of = |transition| {
            let (inputs, outputs) = (self.net.inputs(transition), self.net.outputs(transition));
            let taking = inputs.iter().map(move |&(place, takes)| {
                let puts = weight_of(outputs, place);
                Link { place, transition, takes, puts }
            });
            let putting = outputs.iter().filter(move |(place, _)| weight_of(inputs, *place) == 0);
            taking.chain(putting.map(move |&(place, puts)| Link { place, transition, takes: 0, puts }))
        };
        self.net.transitions().flat_map(links_of).collect()
    }

    /// The links as single arrows; one that puts back exactly what it takes points both ways.
    fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        for link in self.links() {
            let place = format!("p{}", link.place.index());
            let transition = format!("t{}", link.transition.index());
            let both_ways = link.takes == link.puts;
            if link.takes > 0 {
                let (from, to) = (place.clone(), transition.clone());
                arrows.push(Arrow { from, to, both_ways, weight: link.takes });
            }
            if link.puts > 0 && !both_ways {
                arrows.push(Arrow { from: transition, to: place, both_ways, weight: link.puts });
            }
        }
        arrows
    }
}

/// Up to this many tokens are drawn one by one, more as a number.
const DOTS_MAX: u64 = 4;

/// Tokens as text: dots or a number, and nothing for none.
fn tokens_text(tokens: u64) -> String {
    match tokens {
        0..=DOTS_MAX => "●".repeat(tokens as usize),
        _ => tokens.to_string(),
    }
}

/// Text without characters that break a line, are not allowed in XML, or make a reader see letters in
/// another order than they are written.
fn printable(text: &str) -> impl Iterator<Item = char> + '_ {
    let misleads = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{FFFE}' | '\u{FFFF}')
    };
    text.chars().map(move |c| if misleads(c) { char::REPLACEMENT_CHARACTER } else { c })
}
