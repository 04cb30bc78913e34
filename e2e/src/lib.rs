//! Lockgate between programs that others publish: what `./test hosts` and `./test mcp` have in common.
//!
//! Real coding agents talk to a [`StubModel`] that follows a [`Script`]; MCP clients and servers talk to each other. All of them
//! are a [`Package`], which npm fetches. `./test browser` opens the dashboard in Chromium. The runs themselves are the programs beside this library.

mod packages;
mod stub_model;

pub use packages::{NODE, Package, npm_is_here};
pub use stub_model::{Script, StubModel, Turn};
