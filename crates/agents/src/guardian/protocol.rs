//! What clients and the guardian say to each other: frames of a length and a JSON object.
//!
//! A client sends one [`Request`]. The guardian may ask it to look at something ([`Response::Look`], answered by [`Looked`]),
//! may tell it to be patient, and ends with a reply, data or a refusal. Frames are bounded, and so is the time for each.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::{event::Message, platform::Connection, settings::FolderView};

/// What both sides must agree on: another version reads calls in another way.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/2");

/// The longest frame, in bytes: an event may have 16 MiB, and a policy as well.
pub(super) const FRAME_BYTES_MAX: usize = 48 * 1024 * 1024;

/// So much is read at a time, before more room is asked for.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a client wants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    pub(super) wants: Wants,
}

/// The kinds of requests.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Wants {
    /// The answer to an event of an agent.
    Hook(Box<HookRequest>),
    /// Something that a command wants.
    Errand(Errand),
    /// The answer to a line of the line protocol.
    Line(Box<LineRequest>),
}

/// An event, and what only the client can see.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HookRequest {
    /// The agent, by its name on the command line.
    pub(super) agent: String,
    pub(super) event: Message,
    /// The folder of the event: the one that it names, or the one that the hook was started in.
    pub(super) folder: PathBuf,
    /// Where the hook was started.
    pub(super) started_in: Option<String>,
    /// The variables that say where agents keep their settings.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) view: FolderView,
    /// What was seen in the call; none where the event is not one.
    pub(super) sight: Option<Sight>,
}

/// A line of the line protocol, and what only the client can see.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineRequest {
    pub(super) line: String,
    /// The session of lines that name none.
    pub(super) session: String,
    /// The folder that the client was started in.
    pub(super) folder: PathBuf,
    pub(super) view: FolderView,
    /// What was seen in the call; none where the line is not one.
    pub(super) sight: Option<Sight>,
}

/// Where paths of a call lead, and what version control would change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sight {
    pub(super) links: BTreeMap<String, Option<String>>,
    pub(super) versions: BTreeMap<String, Option<Vec<String>>>,
    /// Why the call could not be looked at.
    pub(super) objection: Option<String>,
}

/// What commands of the agent's user may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errand {
    /// Whether the guardian is there.
    Ping,
    /// The open questions.
    Pending,
    /// Answers questions: a yes needs the passphrase, a no needs nothing.
    Answer {
        /// Which, by short id or whole name.
        questions: Vec<String>,
        /// Yes or no.
        granted: bool,
        /// Who answers, for the audit log.
        by: String,
        /// What the human typed.
        passphrase: Option<String>,
    },
    /// Blocks every further call of a session, or of all.
    Halt {
        /// The session; none for all.
        session: Option<String>,
        /// What agents are told.
        reason: String,
    },
}

/// What the guardian says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Response {
    /// The client has to look first.
    Look {
        /// A folder to look at, in the place of the first one.
        folder: Option<PathBuf>,
        /// Settings of the agent to read.
        files: Vec<PathBuf>,
    },
    /// A human is asked; the answer takes up to so many milliseconds.
    Patience(u64),
    /// What the hook prints, and how it ends.
    Reply { stdout: String, stderr: String, code: u8 },
    /// The result of an errand.
    Data(Value),
    /// The line that answers a line.
    Line(String),
    /// Nothing was done: why.
    Refused(String),
}

/// What a client saw when it was asked to look.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looked {
    /// The folder; none where none was asked for, an error in words where it cannot be looked at.
    pub(super) view: Option<Result<FolderView, String>>,
    /// The files, or why they cannot be read.
    pub(super) files: BTreeMap<PathBuf, Result<String, String>>,
}

/// Writes a frame.
pub(super) fn write_frame(
    connection: &Connection,
    value: &impl Serialize,
    deadline: Instant,
) -> io::Result<()> {
    let mut frame = Zeroizing::new(Vec::from([0; 4]));
    serde_json::to_writer(&mut *frame, value).map_err(io::Error::other)?;
    let length = frame.len().saturating_sub(4);
    if length > FRAME_BYTES_MAX {
        let text = format!("the message is longer than {FRAME_BYTES_MAX} bytes");
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?.to_be_bytes();
    if let Some(head) = frame.first_chunk_mut() {
        *head = length;
    }
    let mut rest = frame.as_slice();
    let mut to = connection;
    while !rest.is_empty() {
        connection.set_write_timeout(Some(left(deadline)?))?;
        match to.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(timely(error)),
        }
    }
    Ok(())
}

/// Reads a frame. `reserve` is asked for room before bytes are kept, and says whether there is any.
pub(super) fn read_frame<T: DeserializeOwned>(
    connection: &Connection,
    deadline: &dyn Fn() -> Instant,
    reserve: &mut dyn FnMut(usize) -> bool,
) -> io::Result<T> {
    let mut head = [0; 4];
    read_exactly(connection, &mut head, deadline)?;
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    if length > FRAME_BYTES_MAX {
        let text = format!("a message of {length} bytes is too long");
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    let mut body = Zeroizing::new(Vec::new());
    while body.len() < length {
        let (start, more) = (body.len(), (length - body.len()).min(CHUNK_BYTES));
        if !reserve(more) {
            return Err(io::Error::new(ErrorKind::OutOfMemory, "too many large messages at once"));
        }
        body.resize(start + more, 0);
        read_exactly(connection, body.get_mut(start..).unwrap_or_default(), deadline)?;
    }
    serde_json::from_slice(&body).map_err(|_| {
        // What stands in it may be secret, and parsers like to cite.
        io::Error::new(ErrorKind::InvalidData, "a message that is not understood")
    })
}

fn read_exactly(
    connection: &Connection,
    mut room: &mut [u8],
    deadline: &dyn Fn() -> Instant,
) -> io::Result<()> {
    let mut from = connection;
    while !room.is_empty() {
        connection.set_read_timeout(Some(left(deadline())?))?;
        match from.read(room) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed")),
            Ok(count) => room = room.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(timely(error)),
        }
    }
    Ok(())
}

/// The time until the deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "no answer in time")
}

/// An error of a socket, in the same words for every system.
fn timely(error: io::Error) -> io::Error {
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) { late() } else { error }
}
