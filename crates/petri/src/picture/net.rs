//! What a picture of a net shows, in whatever language it is drawn.

use std::collections::BTreeMap;

use crate::{
    id::{PlaceId, TransitionId},
    marking::Marking,
    net::{Net, weight_of},
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
    /// With a double border: a human is asked first.
    Manual,
}

/// All that runs between a place and a transition, in either direction; at least one way is not zero.
pub(super) struct Link {
    pub(super) place: PlaceId,
    pub(super) transition: TransitionId,
    pub(super) takes: u64,
    pub(super) puts: u64,
}

/// One line of a [`Link`] in the languages that can only draw an arrow with one weight.
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) both_ways: bool,
    pub(super) weight: u64,
}

impl Picture<'_> {
    pub(super) fn tokens(&self, place: PlaceId) -> u64 {
        self.marking.unwrap_or(self.net.initial()).tokens(place)
    }

    pub(super) fn is_enabled(&self, transition: TransitionId) -> bool {
        self.marking.is_some_and(|marking| self.net.is_enabled(marking, transition))
    }

    pub(super) fn style(&self, transition: TransitionId) -> Style {
        self.notes.get(&transition).map_or(Style::Plain, |note| note.style)
    }

    pub(super) fn caption(&self, transition: TransitionId) -> &str {
        self.notes.get(&transition).map_or("", |note| &note.caption)
    }

    /// One link for each place and transition that have to do with each other.
    pub(super) fn links(&self) -> Vec<Link> {
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
    pub(super) fn arrows(&self) -> Vec<Arrow> {
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
