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
mod net;
mod svg;
mod text;
mod track;

pub use chart::{CHART_LINES_MAX, Chart, Passage, Spot};
pub use net::{Note, Picture, Style};
pub use svg::{PICTURE_CSS, without_style};
pub use track::{Need, Shape, Station, TRACK_LINES_MAX, Track};
