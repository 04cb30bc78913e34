//! Petri nets: tokens, markings, firing, and what can be known about them before anything runs.
//!
//! A [`Net`] is built once and never changes; a [`Marking`] says where its tokens lie. Firing a
//! transition takes tokens from its input places and puts tokens into its output places, or changes
//! nothing and says why. [`Firing::Structural`] transitions fire by themselves in [`Net::advance`],
//! [`Firing::Called`] ones wait to be fired.
//!
//! ```
//! use lockgate_petri::{Firing, Net};
//!
//! let net = Net::builder()
//!     .place("idle", 1)
//!     .place("ready", 0)
//!     .place("budget", 1)
//!     .transition("start", Firing::Structural, &["idle"], &["ready"])
//!     .transition("send", Firing::Called, &["ready", "budget"], &["ready"])
//!     .build()
//!     .unwrap();
//! let send = net.transition("send").unwrap();
//!
//! let mut marking = net.initial().clone();
//! net.advance(&mut marking);
//! assert!(net.fire(&mut marking, send).is_ok());
//! assert!(net.fire(&mut marking, send).is_err(), "the budget is spent");
//! ```
//!
//! [`explore`] walks all markings a net can reach, within limits; [`growth`] finds what can be repeated for ever and
//! leaves more tokens each time.
//!
//! A [system](prove) is many small rules together: what sessions they allow, and which of them decide.
//!
//! A [`Picture`] shows a net as SVG, DOT or Mermaid, a [`Track`] a line of steps, a [`Chart`] states and the
//! ways between them; [`from_pnml`] and [`to_pnml`]
//! read and write what other tools for nets read and write.
//!
//! Nothing in here knows of tools, policies, sessions, files or clocks.

mod id;
mod marking;
mod net;

mod builder;
mod error;
mod rest;

mod growth;
mod space;

pub mod prove;

mod picture;
mod pnml;

pub use builder::{NetBuilder, PLACES_MAX, TRANSITIONS_MAX};
pub use error::NetError;
pub use growth::{GROWTH_STATES_MAX, Growth, growth};
pub use id::{PlaceId, TransitionId};
pub use marking::Marking;
pub use net::{CannotFire, Firing, Net};
pub use picture::{CHART_LINES_MAX, Chart, Passage, Spot};
pub use picture::{
    Need, Note, PICTURE_CSS, Picture, Shape, Station, Style, TRACK_LINES_MAX, Track, without_style,
};
pub use pnml::{
    PNML_ATTRIBUTES_MAX, PNML_BYTES_MAX, PNML_DEPTH_MAX, PNML_NAMESPACES_MAX, PNML_NODES_MAX, PnmlError,
    UnwritableName, from_pnml, to_pnml,
};
pub use rest::ADVANCE_FIRINGS_MAX;
pub use space::{
    EXPLORED_BYTES_MAX, Exploration, Limits, Progress, Reach, StateSpace, Stop, explore, explore_from,
};
