//! Server-sent events: messages in a stream of lines.
//!
//! [`Reader`] takes bytes in whatever pieces they come and gives whole events; it holds at most one message.
//! [`event`] writes one, and [`priming`] one without a message. Names of events are read and never written: MCP knows
//! only `message`.

use std::{fmt::Display, time::Duration};

use crate::message::MESSAGE_BYTES_MAX;

/// The longest name of an event that can be resumed from, in bytes: it travels back in a header.
const EVENT_ID_BYTES_MAX: usize = 1024;

/// What a line may have around its value: `data: ` is the longest that counts.
const FIELD_NAME_BYTES_MAX: usize = 6;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line that only keeps the connection open.
pub(super) const KEEP_ALIVE: &str = ": still here\n\n";

/// How long a client is asked to wait before it comes back to a stream that broke.
const RETRY: Duration = Duration::from_secs(1);

/// One message as an event, with the id it can be resumed from, if it has one. The text has no line breaks; if it had,
/// they could end the event, so they become spaces, which JSON allows wherever it allows them.
pub(super) fn event(id: Option<&dyn Display>, text: &str) -> String {
    let text = one_line(text);
    match id {
        Some(id) => format!("id: {id}\ndata: {text}\n\n"),
        None => format!("data: {text}\n\n"),
    }
}

/// An event that only says where a stream begins, and when to come back to it.
pub(super) fn priming(id: &dyn Display) -> String {
    format!("id: {id}\nretry: {}\ndata:\n\n", RETRY.as_millis())
}

/// JSON without line breaks. Inside of strings JSON has none, and elsewhere a space is as good.
pub(super) fn one_line(text: &str) -> String {
    // Hardly any message has line breaks, and to look for one character is far cheaper than to replace two.
    if text.contains('\n') || text.contains('\r') { text.replace(['\n', '\r'], " ") } else { text.to_owned() }
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name; empty where none was given.
    pub name: String,
    /// What it says, its lines joined with line breaks.
    pub data: Vec<u8>,
}

/// An event is longer than a message may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads events from pieces of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
    /// The first line was read; only there a byte order mark is left out.
    begun: bool,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The latest id of an event, which only counts once its event has ended.
    coming_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Reader {
    /// Takes a piece of the stream; the events that it completes are appended.
    ///
    /// # Errors
    /// When an event grows longer than a message may be. The stream is of no use then.
    pub(super) fn take(&mut self, piece: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (content, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), content)) => (content, Some(*end)),
                _ => (part, None),
            };
            let ends_last_line = self.after_return && content.is_empty() && end == Some(b'\n');
            self.after_return = end == Some(b'\r');
            if ends_last_line {
                continue;
            }
            let length = self.line.len() + content.len() + self.data.len();
            if length > MESSAGE_BYTES_MAX + FIELD_NAME_BYTES_MAX {
                return Err(TooLong);
            }
            self.line.extend_from_slice(content);
            if end.is_some() {
                self.end_line(events)?;
            }
        }
        Ok(())
    }

    /// The id of the last whole event, from which a stream can be resumed.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it comes back.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value_at = match line.get(colon + 1) {
            Some(b' ') => colon + 2,
            _ => (colon + 1).min(line.len()),
        };
        let value = line.get(value_at..).unwrap_or_default();
        match line.get(..colon).unwrap_or_default() {
            b"data" => self.add_data(value)?,
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.coming_id = event_id(value),
            b"retry" => self.retry = retry(value).or(self.retry),
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        if self.data.len() + value.len() > MESSAGE_BYTES_MAX {
            return Err(TooLong);
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        self.last_id.clone_from(&self.coming_id);
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            events.push(Event { name, data });
        }
    }
}

/// An id that can travel in a header. Without one the stream cannot be resumed, which is better than from elsewhere.
fn event_id(value: &[u8]) -> Option<String> {
    let plain = value.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let fits = !value.is_empty() && value.len() <= EVENT_ID_BYTES_MAX;
    (plain && fits).then(|| String::from_utf8_lossy(value).into_owned())
}

fn retry(value: &[u8]) -> Option<Duration> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let ms = digits.then(|| std::str::from_utf8(value).ok()?.parse().ok())??;
    Some(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<(Vec<Event>, Option<String>), TooLong> {
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        for piece in pieces {
            reader.take(piece, &mut events)?;
        }
        Ok((events, reader.last_id().map(str::to_owned)))
    }

    fn data_of(stream: &str) -> Vec<String> {
        let (events, _) = read(&[stream.as_bytes()]).unwrap();
        events.into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect()
    }

    #[test]
    fn events_are_read_however_their_lines_end() {
        for (stream, data) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            ("data: a\r\n\ndata: b\n\r\n", vec!["a", "b"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data: a\n\n\u{feff}data: b\n\n", vec!["a"]),
            (": a comment\n\ndata: a\n: another\n\n", vec!["a"]),
            ("data: {\ndata: }\n\n", vec!["{\n}"]),
            ("data:a\n\n", vec!["a"]),
            ("data:  a\n\n", vec![" a"]),
            ("data\n\n", vec![""]),
            ("data:\n\n", vec![""]),
            ("id: 7\n\n", vec![]),
            ("event: message\ndata: a\n\n", vec!["a"]),
            ("unknown: x\ndata: a\n\n", vec!["a"]),
            ("data: cut off\n", vec![]),
        ] {
            assert_eq!(data_of(stream), data, "{stream:?}");
        }
    }

    #[test]
    fn a_stream_resumes_from_its_last_whole_event() {
        for (stream, id) in [
            ("id: 7\ndata: a\n\n", Some("7")),
            ("id: 7\ndata: a\n\ndata: b\n\n", Some("7")),
            ("id: 7\n\n", Some("7")),
            ("id: 7\ndata: a\n\nid: 8\ndata: b\n", Some("7")),
            ("id: 7\n\nid: nul\0\n\n", Some("7")),
            ("id: 7\n\nid\n\n", None),
            ("id: \u{e9}\n\n", None),
        ] {
            assert_eq!(read(&[stream.as_bytes()]).unwrap().1.as_deref(), id, "{stream:?}");
        }
        let id = |length| format!("id: {}\n\n", "x".repeat(length));
        assert!(read(&[id(EVENT_ID_BYTES_MAX).as_bytes()]).unwrap().1.is_some());
        assert!(read(&[id(EVENT_ID_BYTES_MAX + 1).as_bytes()]).unwrap().1.is_none());
    }

    #[test]
    fn the_wait_before_coming_back_is_read() {
        for (stream, ms) in [("retry: 250\n", Some(250)), ("retry: +5\n", None), ("retry: soon\n", None)] {
            let mut reader = Reader::default();
            reader.take(stream.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(reader.retry(), ms.map(Duration::from_millis), "{stream:?}");
        }
    }

    #[test]
    fn an_event_is_as_long_as_a_message_and_no_longer() {
        let fits = format!("data: {}\n\n", "x".repeat(MESSAGE_BYTES_MAX));
        assert_eq!(read(&[fits.as_bytes()]).unwrap().0.len(), 1);
        let one_more = format!("data: {}\n\n", "x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(read(&[one_more.as_bytes()]), Err(TooLong));
        let tight = format!("data:{}\n\n", "x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(read(&[tight.as_bytes()]), Err(TooLong));
        let half = format!("data: {}\n", "x".repeat(MESSAGE_BYTES_MAX / 2));
        assert_eq!(read(&[half.as_bytes(), half.as_bytes()]), Err(TooLong), "the break between counts");
        let endless = vec![b'x'; MESSAGE_BYTES_MAX];
        assert_eq!(read(&[&endless, &endless]), Err(TooLong), "a line that never ends");
    }

    #[test]
    fn what_is_written_is_one_event_whatever_it_holds() {
        for text in ["{}", "{\n}", "{\r\n\r\n}", "{}\n\ndata: {\"forged\":1}"] {
            for id in [None, Some(&"7-1" as &dyn Display)] {
                let (events, last_id) = read(&[event(id, text).as_bytes()]).unwrap();
                let data: Vec<String> =
                    events.into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect();
                assert_eq!(data, [text.replace(['\n', '\r'], " ")]);
                assert_eq!(last_id, id.map(ToString::to_string));
            }
        }
        assert!(data_of(KEEP_ALIVE).is_empty());
    }

    #[test]
    fn a_priming_event_names_a_place_and_a_wait_and_says_nothing() {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        reader.take(priming(&"7-0").as_bytes(), &mut events).unwrap();
        assert_eq!((events, reader.last_id()), (vec![Event::default()], Some("7-0")));
        assert_eq!(reader.retry(), Some(RETRY));
    }

    proptest! {
        #[test]
        fn splitting_a_stream_anywhere_gives_the_same_events(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: a", "data:b", "data", "id: 1", "id", "event: x", ":c", "retry: 5", "\n", "\r", "\r\n",
                    "\n\n", "\r\n\r\n", "\u{feff}", "\u{e9}", "x", ":", " ",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let stream = parts.concat().into_bytes();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            places.extend([0, stream.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            assert_eq!(read(&pieces), read(&[&stream]));
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(read(&bytes), read(&[&stream]));
        }
    }
}
