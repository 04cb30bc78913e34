//! The style, the script and the icon. They are part of the program, so the pages need no other server.

use lockgate::engine::petri::PICTURE_CSS;

use crate::http::{
    exchange::{Exchange, Reply},
    problem::Problem,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const ICON: &str = include_str!("icon.svg");

/// The style of the pages and of the pictures in them.
pub(in crate::http) fn style(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply { media_type: "text/css; charset=utf-8", ..Reply::text(format!("{STYLE}\n{PICTURE_CSS}\n")) })
}

pub(in crate::http) fn script(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply { media_type: "text/javascript; charset=utf-8", ..Reply::text(SCRIPT.to_owned()) })
}

pub(in crate::http) fn icon(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply { media_type: "image/svg+xml", ..Reply::text(ICON.to_owned()) })
}
