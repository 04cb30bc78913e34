//! The private module of the Node package: the public API of `lockgate`, translated.
//!
//! Nothing is decided here. Values cross the border as JSON text, in both directions, because that is the fastest way and
//! because the text that was judged is the text that the tool gets. Every function catches panics, which would end the
//! whole process otherwise; a test holds that. Functions of the host are called by `callbacks` alone.

mod callbacks;
mod clock;
mod error;
mod gate;
mod later;
mod policy;
mod ruling;
mod session;
