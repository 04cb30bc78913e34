//! What is said on the streams of one session, and who may still want to hear it.
//!
//! [`Streams`] gives every message a stream and a place in it, which together are its [`EventId`]. A client whose
//! connection broke names the last one it saw and gets what came after it, on that stream and no other. Until then
//! messages are kept, within bounds; whether one of them was lost to these is told instead of hidden. Only one reader
//! hears a stream: whoever opens it again ends the one before. There is no waiting in here, and no I/O.

use std::{
    collections::VecDeque,
    fmt,
    sync::Arc,
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use crate::message::{Id, MESSAGE_BYTES_MAX};

/// How many messages are kept for a client that has no stream open. Of more the oldest are dropped.
pub(super) const KEPT_MAX: usize = 64;

/// How long they may be together, in bytes: as long as the longest message, so that each can be kept.
pub(super) const KEPT_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// How many messages of all streams of a session are kept for a client that may come back: what was told, and what
/// waits on streams that nobody reads. Of more the oldest are dropped, and what was told goes first.
pub(super) const LOGGED_MAX: usize = 1024;

/// How long they may be together, in bytes: as long as the longest message, so that each can be kept.
pub(super) const LOGGED_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// How many streams of requests that nobody reads are kept for each session.
pub(super) const LEFT_MAX: usize = 64;

/// How long an answer is kept that nobody comes back for.
pub(super) const LEFT_AGE_MAX: Duration = Duration::from_secs(15 * 60);

/// How many messages may wait for a reader.
pub(super) const WAITING_MAX: usize = 16;

/// Names a place in a stream: behind one of its messages, or at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    /// Tells ids of this session from those of others.
    session: u32,
    stream: u64,
    place: u64,
}

impl EventId {
    /// Reads an id as we write it, and in no other way.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let session = u32::from_str_radix(parts.next()?, 16).ok()?;
        let id = Self { session, stream: parts.next()?.parse().ok()?, place: parts.next()?.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}-{}-{}", self.session, self.stream, self.place)
    }
}

/// All streams of one session.
pub(super) struct Streams {
    session: u32,
    /// In the order in which they were opened first.
    streams: Vec<Stream>,
    /// What belongs to no stream and waits for whichever comes next.
    kept: VecDeque<Arc<String>>,
    /// How often a stream was opened. This numbers streams and readers.
    opened: u64,
    /// How many messages were said on streams.
    said: u64,
    /// How many messages were dropped that nobody had heard.
    dropped: u64,
    /// Nothing more will be said.
    over: bool,
}

struct Stream {
    number: u64,
    /// The request that it answers; none where the client opened it for whatever belongs to no request.
    request: Option<Id>,
    reader: Option<Reader>,
    /// What was said last, as far as it is kept, and the number of each among all that was said.
    log: VecDeque<(u64, Arc<String>)>,
    /// The place of what will be said next. The first message has the place 1.
    next: u64,
    /// The place of what will be told next.
    untold: u64,
    /// The last message is the answer.
    answered: bool,
    /// When something was said on it, or its reader left.
    changed: Instant,
}

struct Reader {
    number: u64,
    waker: Option<Waker>,
}

/// A stream as somebody reads it.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// Where the reader begins.
    pub(super) at: EventId,
    pub(super) request: Option<Id>,
    reader: u64,
}

/// What a reader hears next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Message {
        id: EventId,
        text: Arc<String>,
        is_answer: bool,
    },
    /// The stream is over, or somebody else reads it now.
    End,
    /// Whoever was to say more has ended.
    Lost,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is on its stream, or waits for one.
    Well,
    /// The reader of its stream has too much to hear already; the number of the reader.
    Full(u64),
    /// It is an answer that nobody can hear any more.
    Unwanted,
}

/// What becomes of a client that comes back.
#[derive(Clone, Debug)]
pub(super) enum Resumed {
    /// It hears what came after the event it named.
    Open(Opening),
    /// It has heard everything.
    Over,
    /// What came after that event is not kept, or there never was such an event.
    Unknown,
}

/// A request with the same id still waits: nobody could tell their answers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InUse;

impl Streams {
    pub(super) fn new(session: u32) -> Self {
        Self {
            session,
            streams: Vec::new(),
            kept: VecDeque::new(),
            opened: 0,
            said: 0,
            dropped: 0,
            over: false,
        }
    }

    /// Opens the stream of a request.
    pub(super) fn open_request(&mut self, id: &Id) -> Result<Opening, InUse> {
        if self.streams.iter().any(|stream| stream.waits_for(id)) {
            return Err(InUse);
        }
        Ok(self.open(Some(id.clone())))
    }

    /// Opens the stream for whatever belongs to no request. One that was open ends: its client has come back, and
    /// does not ask for what it missed.
    pub(super) fn open_own(&mut self) -> Opening {
        self.forget_own();
        self.open(None)
    }

    /// What nobody heard of it waits for the next stream.
    fn forget_own(&mut self) {
        for mut own in self.streams.extract_if(.., |stream| stream.request.is_none()) {
            own.dismiss();
            let heard = own.untold.saturating_sub(own.first_kept());
            let heard = usize::try_from(heard).unwrap_or(usize::MAX);
            let unheard = own.log.into_iter().skip(heard).map(|(_, text)| text);
            self.kept = unheard.chain(std::mem::take(&mut self.kept)).collect();
        }
    }

    fn open(&mut self, request: Option<Id>) -> Opening {
        self.opened += 1;
        let number = self.opened;
        let reader = Reader { number, waker: None };
        self.streams.push(Stream {
            number,
            request: request.clone(),
            reader: Some(reader),
            log: VecDeque::new(),
            next: 1,
            untold: 1,
            answered: false,
            changed: Instant::now(),
        });
        self.move_kept_to(number);
        let at = EventId { session: self.session, stream: number, place: 0 };
        Opening { at, request, reader: number }
    }

    /// Opens a stream again behind an event that its client has seen.
    pub(super) fn resume(&mut self, at: EventId) -> Resumed {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.number == at.stream) else {
            return Resumed::Unknown;
        };
        let is_known = at.session == self.session && at.place < stream.next;
        if !is_known || at.place + 1 < stream.first_kept() {
            return Resumed::Unknown;
        }
        // What its client has seen nobody will ask for again.
        while stream.first_kept() <= at.place && stream.log.pop_front().is_some() {}
        stream.untold = at.place + 1;
        stream.dismiss();
        if stream.answered && stream.log.is_empty() {
            return Resumed::Over;
        }
        self.opened += 1;
        stream.reader = Some(Reader { number: self.opened, waker: None });
        let (request, answered) = (stream.request.clone(), stream.answered);
        if !answered {
            self.move_kept_to(at.stream);
        }
        Resumed::Open(Opening { at, request, reader: self.opened })
    }

    fn move_kept_to(&mut self, number: u64) {
        let kept = std::mem::take(&mut self.kept);
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.number == number) {
            for text in kept {
                self.said += 1;
                stream.push(self.said, text);
            }
        }
    }

    /// Puts a message on the stream it belongs to: an answer on that of its request, what is about a request on that
    /// one as well, anything else where somebody listens.
    pub(super) fn place(&mut self, text: &Arc<String>, about: Option<&Id>, answer: Option<&Id>) -> Placed {
        let Some(stream) = pick(&mut self.streams, about, answer) else {
            if answer.is_some() {
                return Placed::Unwanted;
            }
            self.keep(Arc::clone(text));
            return Placed::Well;
        };
        let waiting = stream.next - stream.untold;
        if let Some(reader) = stream.reader.as_ref().filter(|_| waiting >= WAITING_MAX as u64) {
            return Placed::Full(reader.number);
        }
        self.said += 1;
        stream.push(self.said, Arc::clone(text));
        stream.answered = answer.is_some();
        self.trim();
        Placed::Well
    }

    fn keep(&mut self, text: Arc<String>) {
        self.kept.push_back(text);
        let mut bytes: usize = self.kept.iter().map(|kept| kept.len()).sum();
        while self.kept.len() > KEPT_MAX || bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            bytes -= oldest.len();
            self.dropped += 1;
        }
    }

    /// The next message for a reader. Where there is none yet, the reader is woken once there is.
    pub(super) fn hear(&mut self, opening: &Opening, waker: &Waker) -> Poll<Heard> {
        let is_its = |stream: &&mut Stream| stream.number == opening.at.stream;
        let Some(stream) = self.streams.iter_mut().find(is_its) else { return Poll::Ready(Heard::End) };
        let place = stream.untold;
        let Some(reader) = stream.reader.as_mut().filter(|reader| reader.number == opening.reader) else {
            return Poll::Ready(Heard::End);
        };
        let ahead = usize::try_from(stream.next - place).unwrap_or(usize::MAX);
        let at = stream.log.len().checked_sub(ahead);
        if let Some((_, text)) = at.and_then(|at| stream.log.get(at)) {
            let text = Arc::clone(text);
            stream.untold = place + 1;
            let is_answer = stream.answered && stream.untold == stream.next;
            self.trim();
            return Poll::Ready(Heard::Message { id: EventId { place, ..opening.at }, text, is_answer });
        }
        match (stream.answered, self.over) {
            (true, _) => Poll::Ready(Heard::End),
            (false, true) => Poll::Ready(Heard::Lost),
            (false, false) => {
                reader.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// A reader is gone. That only means that it is gone: to cancel, a client says so. Where its client knows the name
    /// of no event, it cannot come back.
    pub(super) fn leave(&mut self, opening: &Opening, can_come_back: bool) {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.is_read_by(opening.reader)) else {
            return;
        };
        stream.dismiss();
        match (can_come_back, &opening.request) {
            (true, _) => self.trim(),
            (false, Some(_)) => self.streams.retain(|stream| stream.number != opening.at.stream),
            (false, None) => self.forget_own(),
        }
    }

    /// Ends a reader that hears nothing. Its client may come back for the stream.
    pub(super) fn end_reader(&mut self, number: u64) {
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.is_read_by(number)) {
            stream.dismiss();
        }
        self.trim();
    }

    /// Nothing more will be said. What was said can still be heard.
    pub(super) fn end(&mut self) {
        self.over = true;
        for stream in &mut self.streams {
            stream.wake();
        }
    }

    /// Whether anybody reads.
    pub(super) fn has_readers(&self) -> bool {
        self.streams.iter().any(|stream| stream.reader.is_some())
    }

    /// How many messages were dropped so far that nobody had heard.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Forgets answers that nobody came back for.
    pub(super) fn forget_left(&mut self, now: Instant) {
        let is_old = |stream: &Stream| now.saturating_duration_since(stream.changed) > LEFT_AGE_MAX;
        self.streams.retain(|stream| stream.reader.is_some() || !stream.answered || !is_old(stream));
    }

    /// Keeps all bounds on what is kept for clients that may come back.
    fn trim(&mut self) {
        let left = |stream: &Stream| stream.reader.is_none() && stream.request.is_some();
        while self.streams.iter().filter(|stream| left(stream)).count() > LEFT_MAX {
            // First what was heard to its end, which hardly anybody wants again.
            let key = |stream: &&Stream| (!stream.answered || stream.untold < stream.next, stream.number);
            let oldest = self.streams.iter().filter(|stream| left(stream)).min_by_key(key);
            let Some((number, unheard)) = oldest.map(|stream| (stream.number, stream.next - stream.untold))
            else {
                break;
            };
            self.streams.retain(|stream| stream.number != number);
            self.dropped += unheard;
        }
        let (mut count, mut bytes) = self.logged();
        while count > LOGGED_MAX || bytes > LOGGED_BYTES_MAX {
            let Some(stream) = self.streams.iter_mut().min_by_key(|stream| stream.first_to_go()) else {
                break;
            };
            let is_unheard = stream.first_kept() >= stream.untold;
            let Some((_, text)) = stream.log.pop_front() else { break };
            count -= 1;
            bytes -= text.len();
            self.dropped += u64::from(is_unheard);
        }
    }

    /// How many messages are kept for clients that may come back, and how long they are together.
    fn logged(&self) -> (usize, usize) {
        let texts = self.streams.iter().flat_map(Stream::spare);
        texts.fold((0, 0), |(count, bytes), text| (count + 1, bytes + text.len()))
    }
}

/// The stream that a message belongs to.
fn pick<'a>(streams: &'a mut [Stream], about: Option<&Id>, answer: Option<&Id>) -> Option<&'a mut Stream> {
    let waits_for =
        |id: Option<&Id>| streams.iter().position(|stream| id.is_some_and(|id| stream.waits_for(id)));
    let at = match answer {
        Some(_) => waits_for(answer),
        None => waits_for(about).or_else(|| {
            let listens = |stream: &Stream| stream.reader.is_some() && !stream.answered;
            let own = streams.iter().position(|stream| listens(stream) && stream.request.is_none());
            own.or_else(|| streams.iter().rposition(listens))
        }),
    };
    streams.get_mut(at?)
}

impl Stream {
    fn waits_for(&self, id: &Id) -> bool {
        !self.answered && self.request.as_ref() == Some(id)
    }

    fn is_read_by(&self, number: u64) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.number == number)
    }

    /// The place of the oldest message that is kept, or of the next one.
    fn first_kept(&self) -> u64 {
        self.next - self.log.len() as u64
    }

    fn push(&mut self, number: u64, text: Arc<String>) {
        self.log.push_back((number, text));
        self.next += 1;
        self.changed = Instant::now();
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.reader.as_mut().and_then(|reader| reader.waker.take()) {
            waker.wake();
        }
    }

    /// Ends whoever reads.
    fn dismiss(&mut self) {
        self.wake();
        self.reader = None;
        self.changed = Instant::now();
    }

    /// What is kept only for a client that may come back.
    fn spare(&self) -> impl Iterator<Item = &Arc<String>> {
        let waiting = if self.reader.is_some() { self.next - self.untold } else { 0 };
        let waiting = usize::try_from(waiting).unwrap_or(usize::MAX);
        self.log.iter().take(self.log.len().saturating_sub(waiting)).map(|(_, text)| text)
    }

    /// Sorts streams by whose oldest message is dropped first.
    fn first_to_go(&self) -> (bool, bool, u64) {
        let number = self.log.front().map_or(u64::MAX, |(number, _)| *number);
        (self.spare().next().is_none(), self.first_kept() >= self.untold, number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: u32 = 0xfeed;

    fn streams() -> Streams {
        Streams::new(SESSION)
    }

    fn text(text: impl Into<String>) -> Arc<String> {
        Arc::new(text.into())
    }

    fn id(stream: u64, place: u64) -> EventId {
        EventId { session: SESSION, stream, place }
    }

    /// Says something about a request.
    fn tell(streams: &mut Streams, request: i64, said: &str) {
        assert_eq!(streams.place(&text(said), Some(&Id::Number(request)), None), Placed::Well);
    }

    fn answer(streams: &mut Streams, request: i64, said: &str) -> Placed {
        streams.place(&text(said), None, Some(&Id::Number(request)))
    }

    /// All that a reader hears now, and what holds it up then; none where it has to wait.
    fn drain(streams: &mut Streams, opening: &Opening) -> (Vec<String>, Option<Heard>) {
        let mut heard = Vec::new();
        loop {
            match streams.hear(opening, Waker::noop()) {
                Poll::Ready(Heard::Message { text, .. }) => heard.push(text.to_string()),
                Poll::Ready(end) => return (heard, Some(end)),
                Poll::Pending => return (heard, None),
            }
        }
    }

    fn resumed(streams: &mut Streams, at: EventId) -> Opening {
        match streams.resume(at) {
            Resumed::Open(opening) => opening,
            other => panic!("not resumed: {other:?}"),
        }
    }

    #[test]
    fn a_stream_is_resumed_behind_any_event_that_was_told_and_not_outlived() {
        let mut streams = streams();
        let first = streams.open_request(&Id::Number(7)).unwrap();
        for said in ["a", "b", "c"] {
            tell(&mut streams, 7, said);
        }
        assert_eq!(drain(&mut streams, &first).0, ["a", "b", "c"]);
        streams.leave(&first, true);
        tell(&mut streams, 7, "d");
        for (place, rest) in [(0, vec!["a", "b", "c", "d"]), (2, vec!["c", "d"]), (2, vec!["c", "d"])] {
            let again = resumed(&mut streams, id(1, place));
            assert_eq!(drain(&mut streams, &again), (rest.into_iter().map(str::to_owned).collect(), None));
        }
        assert!(matches!(streams.resume(id(1, 1)), Resumed::Unknown), "its client has shown that it saw two");
        let last = resumed(&mut streams, id(1, 4));
        answer(&mut streams, 7, "the answer");
        assert_eq!(drain(&mut streams, &last), (vec!["the answer".to_owned()], Some(Heard::End)));
        streams.leave(&last, true);
        let again = resumed(&mut streams, id(1, 4));
        assert_eq!(drain(&mut streams, &again).0, ["the answer"], "nobody knows whether it arrived");
        assert!(matches!(streams.resume(id(1, 5)), Resumed::Over));
    }

    #[test]
    fn what_was_never_an_event_of_this_session_is_not_resumed() {
        let mut streams = streams();
        let _ = streams.open_request(&Id::Number(7)).unwrap();
        tell(&mut streams, 7, "a");
        let mut elsewhere = Streams::new(SESSION + 1);
        let other = elsewhere.open_request(&Id::Number(7)).unwrap();
        for at in [other.at, id(1, 2), id(1, u64::MAX), id(2, 0), id(0, 0), id(u64::MAX, u64::MAX)] {
            assert!(matches!(streams.resume(at), Resumed::Unknown), "{at}");
        }
        assert!(matches!(streams.resume(id(1, 1)), Resumed::Open(_)));
    }

    #[test]
    fn ids_are_read_as_they_are_written_and_in_no_other_way() {
        let fine = "0000feed-1-2";
        assert_eq!(EventId::parse(fine), Some(id(1, 2)));
        let endless = format!("0000feed-1-{}", "2".repeat(30_000));
        for odd in [
            "",
            "-",
            "--",
            "1-2",
            "feed-1-2",
            "0000FEED-1-2",
            "0000feed-01-2",
            "0000feed-1-+2",
            "0000feed-1-2 ",
            " 0000feed-1-2",
            "0000feed-1-2-3",
            "0000feed-1-",
            "0000feed--1-2",
            "10000feed-1-2",
            "0000feed-1-٢",
            "0000feed-1-18446744073709551616",
            "*",
            &endless,
        ] {
            assert_eq!(EventId::parse(odd), None, "{odd:.40}");
        }
    }

    #[test]
    fn whoever_opens_a_stream_again_ends_the_one_before() {
        let mut streams = streams();
        let first = streams.open_request(&Id::Number(7)).unwrap();
        tell(&mut streams, 7, "a");
        let (one, two) = (resumed(&mut streams, id(1, 0)), resumed(&mut streams, id(1, 0)));
        for late in [&first, &one] {
            assert_eq!(drain(&mut streams, late), (vec![], Some(Heard::End)));
            // That it leaves says nothing about its successor.
            streams.leave(late, false);
        }
        answer(&mut streams, 7, "b");
        assert_eq!(drain(&mut streams, &two), (vec!["a".to_owned(), "b".to_owned()], Some(Heard::End)));
    }

    #[test]
    fn messages_go_to_the_stream_they_belong_to_whether_it_is_read_or_not() {
        let mut streams = streams();
        let one = streams.open_request(&Id::Number(1)).unwrap();
        let two = streams.open_request(&Id::Number(2)).unwrap();
        assert_eq!(streams.open_request(&Id::Number(2)).err(), Some(InUse), "two open requests with one id");
        streams.leave(&one, true);
        tell(&mut streams, 1, "about one");
        streams.place(&text("about none"), None, None);
        let own = streams.open_own();
        streams.place(&text("about none"), None, None);
        assert_eq!(answer(&mut streams, 1, "answers one"), Placed::Well);
        assert_eq!(answer(&mut streams, 3, "answers three"), Placed::Unwanted);
        assert_eq!(drain(&mut streams, &two).0, ["about none"], "the newest request that is open");
        assert_eq!(drain(&mut streams, &own).0, ["about none"]);
        let one = resumed(&mut streams, id(1, 0));
        assert_eq!(drain(&mut streams, &one).0, ["about one", "answers one"]);
        assert!(streams.open_request(&Id::Number(1)).is_ok(), "it is answered");
    }

    #[test]
    fn what_nobody_heard_on_the_clients_own_stream_waits_for_the_next() {
        let mut streams = streams();
        let say = |streams: &mut Streams, said: &str| streams.place(&text(said), None, None);
        let first = streams.open_own();
        say(&mut streams, "heard");
        assert_eq!(drain(&mut streams, &first).0, ["heard"]);
        say(&mut streams, "unheard");
        streams.leave(&first, true);
        say(&mut streams, "late");
        let second = streams.open_own();
        assert_eq!(drain(&mut streams, &second), (vec!["unheard".to_owned(), "late".to_owned()], None));
        assert!(matches!(streams.resume(first.at), Resumed::Unknown), "the client has begun another");
        let third = resumed(&mut streams, EventId { place: 1, ..second.at });
        assert_eq!(drain(&mut streams, &third).0, ["late"]);
    }

    #[test]
    fn a_reader_that_is_lost_before_it_can_name_an_event_takes_its_stream_along() {
        let mut streams = streams();
        let opening = streams.open_request(&Id::Number(7)).unwrap();
        streams.leave(&opening, false);
        assert_eq!(answer(&mut streams, 7, "the answer"), Placed::Unwanted);
        assert!(matches!(streams.resume(opening.at), Resumed::Unknown));
    }

    #[test]
    fn after_the_end_of_a_session_readers_hear_what_was_said_and_then_that_it_is_lost() {
        let mut streams = streams();
        let answered = streams.open_request(&Id::Number(1)).unwrap();
        let open = streams.open_request(&Id::Number(2)).unwrap();
        answer(&mut streams, 1, "a");
        tell(&mut streams, 2, "b");
        streams.end();
        assert_eq!(drain(&mut streams, &answered), (vec!["a".to_owned()], Some(Heard::End)));
        assert_eq!(drain(&mut streams, &open), (vec!["b".to_owned()], Some(Heard::Lost)));
    }

    #[test]
    fn one_message_too_many_for_a_reader_has_to_wait() {
        let mut streams = streams();
        let opening = streams.open_request(&Id::Number(7)).unwrap();
        for _ in 0..WAITING_MAX {
            tell(&mut streams, 7, "x");
        }
        let one_more = |streams: &mut Streams| streams.place(&text("x"), Some(&Id::Number(7)), None);
        assert_eq!(one_more(&mut streams), Placed::Full(opening.reader));
        assert!(streams.hear(&opening, Waker::noop()).is_ready());
        assert_eq!(one_more(&mut streams), Placed::Well);
        assert_eq!(one_more(&mut streams), Placed::Full(opening.reader));
        streams.end_reader(opening.reader);
        assert_eq!(one_more(&mut streams), Placed::Well, "it waits for its client to come back");
        assert_eq!(drain(&mut streams, &opening), (vec![], Some(Heard::End)));
    }

    #[test]
    fn one_message_too_many_without_a_stream_drops_the_oldest() {
        let mut streams = streams();
        let say = |streams: &mut Streams, said: Arc<String>| streams.place(&said, None, None);
        for n in 0..=KEPT_MAX {
            assert_eq!(streams.dropped(), 0);
            say(&mut streams, text(n.to_string()));
        }
        assert_eq!((streams.dropped(), streams.kept.len()), (1, KEPT_MAX));
        let own = streams.open_own();
        assert_eq!(drain(&mut streams, &own).0.first().map(String::as_str), Some("1"));
        streams.leave(&own, true);
        for (length, kept) in [(KEPT_BYTES_MAX - 1, 1), (1, 2), (1, 2)] {
            say(&mut streams, text("x".repeat(length)));
            assert_eq!(streams.kept.len(), kept);
        }
    }

    /// Whether a stream is kept from its beginning.
    fn can_resume(streams: &Streams, number: u64) -> bool {
        streams.streams.iter().any(|stream| stream.number == number && stream.first_kept() == 1)
    }

    #[test]
    fn one_message_too_many_makes_the_oldest_stream_say_that_it_cannot_be_resumed() {
        for (count, last, fits) in [
            (LOGGED_MAX, 1, true),
            (LOGGED_MAX + 1, 1, false),
            (2, LOGGED_BYTES_MAX - 1, true),
            (2, LOGGED_BYTES_MAX, false),
        ] {
            let mut streams = streams();
            let opening = streams.open_request(&Id::Number(7)).unwrap();
            streams.leave(&opening, true);
            for _ in 1..count {
                tell(&mut streams, 7, "x");
            }
            tell(&mut streams, 7, &"x".repeat(last));
            assert_eq!(matches!(streams.resume(opening.at), Resumed::Open(_)), fits, "{count} {last}");
            assert_eq!(streams.dropped(), u64::from(!fits));
            let next = resumed(&mut streams, id(1, 1));
            assert_eq!(drain(&mut streams, &next).0.len(), count - 1, "what is there is told");
        }
    }

    #[test]
    fn what_was_told_is_dropped_before_what_waits() {
        let mut streams = streams();
        let waits = streams.open_request(&Id::Number(1)).unwrap();
        streams.leave(&waits, true);
        answer(&mut streams, 1, "waits");
        let chatty = streams.open_request(&Id::Number(2)).unwrap();
        for _ in 0..LOGGED_MAX * 2 {
            tell(&mut streams, 2, "x");
            assert!(streams.hear(&chatty, Waker::noop()).is_ready());
            assert!(streams.logged().0 <= LOGGED_MAX);
        }
        assert!(can_resume(&streams, 1) && !can_resume(&streams, 2));
        assert_eq!(streams.dropped(), 0, "nothing was lost that nobody had heard");
    }

    #[test]
    fn one_stream_too_many_that_nobody_reads_is_forgotten_and_one_that_was_heard_goes_first() {
        let mut streams = streams();
        let leave = |streams: &mut Streams, request: i64, is_answered: bool| {
            let opening = streams.open_request(&Id::Number(request)).unwrap();
            if is_answered {
                answer(streams, request, "x");
                drain(streams, &opening);
            }
            streams.leave(&opening, true);
        };
        let most = LEFT_MAX as i64;
        for request in 1..=most {
            leave(&mut streams, request, request == most);
        }
        assert_eq!(streams.streams.len(), LEFT_MAX);
        for (forgotten, request) in [(most, most + 1), (1, most + 2)] {
            leave(&mut streams, request, false);
            assert_eq!(streams.streams.len(), LEFT_MAX);
            assert!(!can_resume(&streams, forgotten as u64), "{forgotten}");
        }
        let own = streams.open_own();
        streams.leave(&own, true);
        leave(&mut streams, most + 3, false);
        assert!(matches!(streams.resume(own.at), Resumed::Open(_)), "there is only one of these");
    }

    #[test]
    fn coming_back_again_and_again_makes_nothing_grow() {
        let mut streams = streams();
        let _ = streams.open_request(&Id::Number(7)).unwrap();
        tell(&mut streams, 7, "a");
        for _ in 0..10_000 {
            resumed(&mut streams, id(1, 0));
        }
        assert_eq!((streams.streams.len(), streams.logged().0, streams.streams[0].log.len()), (1, 0, 1));
    }

    #[test]
    fn an_answer_that_nobody_comes_back_for_is_forgotten_after_a_while() {
        let mut streams = streams();
        let (read, left) =
            (streams.open_request(&Id::Number(1)).unwrap(), streams.open_request(&Id::Number(2)).unwrap());
        let open = streams.open_request(&Id::Number(3)).unwrap();
        answer(&mut streams, 1, "a");
        answer(&mut streams, 2, "a");
        streams.leave(&left, true);
        streams.leave(&open, true);
        let kept = |streams: &Streams| streams.streams.iter().map(|stream| stream.number).collect::<Vec<_>>();
        streams.forget_left(Instant::now() + LEFT_AGE_MAX - Duration::from_secs(1));
        assert_eq!(kept(&streams), [1, 2, 3]);
        streams.forget_left(Instant::now() + LEFT_AGE_MAX + Duration::from_secs(1));
        assert_eq!(kept(&streams), [1, 3], "one is read, and one is not answered yet");
        assert_eq!(drain(&mut streams, &read).0, ["a"]);
    }

    /// What can happen to a stream and its client.
    #[derive(Clone, Debug)]
    enum Step {
        Say,
        Hear,
        /// The connection breaks, and the last few events that were sent do not arrive.
        Cut(usize),
        Resume,
    }

    fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
        let step = prop_oneof![
            4 => Just(Step::Say),
            4 => Just(Step::Hear),
            1 => (0_usize..3).prop_map(Step::Cut),
            2 => Just(Step::Resume),
        ];
        prop::collection::vec((1_i64..4, step), 0..60)
    }

    proptest! {
        #[test]
        fn whatever_breaks_a_client_that_comes_back_hears_everything_once_and_in_order(steps in steps()) {
            let mut streams = streams();
            let mut said: Vec<Vec<String>> = vec![Vec::new(); 4];
            let mut seen: Vec<Vec<String>> = vec![Vec::new(); 4];
            let mut readers: Vec<Option<Opening>> = vec![None];
            for request in 1..4 {
                readers.push(Some(streams.open_request(&Id::Number(request)).unwrap()));
            }
            let resume = |streams: &mut Streams, at: usize, seen: &[Vec<String>]| {
                Some(resumed(streams, id(at as u64, seen[at].len() as u64)))
            };
            for (request, step) in steps {
                let at = request as usize;
                match step {
                    Step::Say => {
                        let message = format!("{request} {}", said[at].len());
                        if streams.place(&text(message.as_str()), Some(&Id::Number(request)), None) == Placed::Well {
                            said[at].push(message);
                        }
                    }
                    Step::Hear => {
                        let heard = readers[at].as_ref().map(|reader| streams.hear(reader, Waker::noop()));
                        if let Some(Poll::Ready(Heard::Message { id: event, text, is_answer })) = heard {
                            seen[at].push(text.to_string());
                            prop_assert_eq!((event, is_answer), (id(at as u64, seen[at].len() as u64), false));
                        }
                    }
                    Step::Cut(lost) => {
                        if let Some(reader) = readers[at].take() {
                            streams.leave(&reader, true);
                            // Only what came since the client named an event may have gone missing.
                            let known = reader.at.place as usize;
                            let arrived = seen[at].len().saturating_sub(lost).max(known);
                            seen[at].truncate(arrived);
                        }
                    }
                    Step::Resume => readers[at] = resume(&mut streams, at, &seen),
                }
            }
            for at in 1..4 {
                readers[at] = resume(&mut streams, at, &seen);
                let reader = readers[at].as_ref().unwrap();
                let (missed, _) = drain(&mut streams, reader);
                answer(&mut streams, at as i64, "answer");
                let (rest, end) = drain(&mut streams, reader);
                seen[at].extend(missed.into_iter().chain(rest));
                said[at].push("answer".to_owned());
                prop_assert_eq!((&seen[at], end), (&said[at], Some(Heard::End)));
            }
        }

        #[test]
        fn what_was_written_as_an_id_is_read_again(session: u32, stream: u64, place: u64) {
            let id = EventId { session, stream, place };
            prop_assert_eq!(EventId::parse(&id.to_string()), Some(id));
        }
    }
}
