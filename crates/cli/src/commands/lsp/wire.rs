//! Messages of the protocol: a header with their length, and JSON.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

use crate::console::CommandError;

/// The largest message, in bytes.
const MESSAGE_BYTES_MAX: u64 = 16 << 20;

/// The next message; none at the end of the input.
pub(super) fn read(mut input: &mut dyn BufRead) -> Result<Option<Value>, CommandError> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if Read::take(&mut input, 8_192).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            match length {
                Some(_) => break,
                None => continue,
            }
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok().filter(|length| *length <= MESSAGE_BYTES_MAX);
            if length.is_none() {
                return Err(CommandError::said("the length of a message is not a number, or too large"));
            }
        }
    }
    let mut body = Vec::new();
    Read::take(&mut input, length.unwrap_or_default()).read_to_end(&mut body)?;
    let message = serde_json::from_slice(&body)
        .map_err(|error| CommandError::Said(format!("a message is not JSON: {error}")))?;
    Ok(Some(message))
}

pub(super) fn write(out: &mut dyn Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(out, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    out.flush()
}
