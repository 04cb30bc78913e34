//! What is said on the streams of one session, and who may still want to hear it.
//!
//! [`Streams`] gives every message a stream and a place in it, which together are its [`EventId`]. A client whose
//! connection broke names the last one it saw and gets what came after it, on that stream and no other. Until then
//! messages are kept, within bounds; a client that asks for a dropped message gets an error. A stream has only one
//! reader: opening it again ends the reader before. There is no waiting in here, and no I/O.

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

/// How many messages of all streams of a session are kept for a client that may come back: delivered messages, and
/// messages on streams without a reader. Of more the oldest are dropped, delivered ones first.
pub(super) const LOGGED_MAX: usize = 1024;

/// How long they may be together, in bytes: as long as the longest message, so that each can be kept.
pub(super) const LOGGED_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// How many request streams without a reader are kept for each session.
pub(super) const LEFT_MAX: usize = 64;

/// How long an answer is kept for a client to fetch.
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
    /// How many undelivered messages were dropped.
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
    /// The place of the next message to deliver.
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

/// A reader's view of a stream.
#[derive(Clone, Debug)]
pub(super) struct StreamOpening {
    /// Where the reader begins.
    pub(super) at: EventId,
    pub(super) request: Option<Id>,
    reader: u64,
}

/// What a reader hears next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StreamItem {
    Message {
        id: EventId,
        text: Arc<String>,
        is_answer: bool,
    },
    /// The stream is over, or has another reader now.
    End,
    /// The sender has ended.
    Lost,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// It is on its stream, or waits for one.
    Well,
    /// The reader of its stream has too much to hear already; the number of the reader.
    Full(u64),
    /// It is an answer without a stream.
    Unwanted,
}

/// What becomes of a client that comes back.
#[derive(Clone, Debug)]
pub(super) enum Resumption {
    /// It hears what came after the event it named.
    Open(StreamOpening),
    /// It has heard everything.
    Over,
    /// What came after that event is not kept, or there never was such an event.
    Unknown,
}

/// A request with the same id still waits: their answers could not be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdInUse;

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
    pub(super) fn open_request(&mut self, id: &Id) -> Result<StreamOpening, IdInUse> {
        if self.streams.iter().any(|stream| stream.waits_for(id)) {
            return Err(IdInUse);
        }
        Ok(self.open(Some(id.clone())))
    }

    /// Opens the stream for whatever belongs to no request. One that was open ends: its client has come back, and
    /// does not ask for what it missed.
    pub(super) fn open_own(&mut self) -> StreamOpening {
        self.forget_own();
        self.open(None)
    }

    /// Its undelivered messages wait for the next stream.
    fn forget_own(&mut self) {
        for mut own in self.streams.extract_if(.., |stream| stream.request.is_none()) {
            own.dismiss();
            let heard = own.untold.saturating_sub(own.first_kept());
            let heard = usize::try_from(heard).unwrap_or(usize::MAX);
            let unheard = own.log.into_iter().skip(heard).map(|(_, text)| text);
            self.kept = unheard.chain(std::mem::take(&mut self.kept)).collect();
        }
    }

    fn open(&mut self, request: Option<Id>) -> StreamOpening {
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
        StreamOpening { at, request, reader: number }
    }

    /// Opens a stream again behind an event that its client has seen.
    pub(super) fn resume(&mut self, at: EventId) -> Resumption {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.number == at.stream) else {
            return Resumption::Unknown;
        };
        let is_known = at.session == self.session && at.place < stream.next;
        if !is_known || at.place + 1 < stream.first_kept() {
            return Resumption::Unknown;
        }
        // The client will not ask again for what it has seen.
        while stream.first_kept() <= at.place && stream.log.pop_front().is_some() {}
        stream.untold = at.place + 1;
        stream.dismiss();
        if stream.answered && stream.log.is_empty() {
            return Resumption::Over;
        }
        self.opened += 1;
        stream.reader = Some(Reader { number: self.opened, waker: None });
        let (request, answered) = (stream.request.clone(), stream.answered);
        if !answered {
            self.move_kept_to(at.stream);
        }
        Resumption::Open(StreamOpening { at, request, reader: self.opened })
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
    /// one as well, anything else on a stream with a reader.
    pub(super) fn place(&mut self, text: &Arc<String>, about: Option<&Id>, answer: Option<&Id>) -> Placement {
        let Some(stream) = pick(&mut self.streams, about, answer) else {
            if answer.is_some() {
                return Placement::Unwanted;
            }
            self.keep(Arc::clone(text));
            return Placement::Well;
        };
        let waiting = stream.next - stream.untold;
        if let Some(reader) = stream.reader.as_ref().filter(|_| waiting >= WAITING_MAX as u64) {
            return Placement::Full(reader.number);
        }
        self.said += 1;
        stream.push(self.said, Arc::clone(text));
        stream.answered = answer.is_some();
        self.trim();
        Placement::Well
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
    pub(super) fn hear(&mut self, opening: &StreamOpening, waker: &Waker) -> Poll<StreamItem> {
        let is_its = |stream: &&mut Stream| stream.number == opening.at.stream;
        let Some(stream) = self.streams.iter_mut().find(is_its) else { return Poll::Ready(StreamItem::End) };
        let place = stream.untold;
        let Some(reader) = stream.reader.as_mut().filter(|reader| reader.number == opening.reader) else {
            return Poll::Ready(StreamItem::End);
        };
        let ahead = usize::try_from(stream.next - place).unwrap_or(usize::MAX);
        let at = stream.log.len().checked_sub(ahead);
        if let Some((_, text)) = at.and_then(|at| stream.log.get(at)) {
            let text = Arc::clone(text);
            stream.untold = place + 1;
            let is_answer = stream.answered && stream.untold == stream.next;
            self.trim();
            return Poll::Ready(StreamItem::Message { id: EventId { place, ..opening.at }, text, is_answer });
        }
        match (stream.answered, self.over) {
            (true, _) => Poll::Ready(StreamItem::End),
            (false, true) => Poll::Ready(StreamItem::Lost),
            (false, false) => {
                reader.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// A reader is gone. That only means that it is gone: to cancel, a client says so. Where its client knows the name
    /// of no event, it cannot come back.
    pub(super) fn leave(&mut self, opening: &StreamOpening, can_come_back: bool) {
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

    /// Whether there is a reader.
    pub(super) fn has_readers(&self) -> bool {
        self.streams.iter().any(|stream| stream.reader.is_some())
    }

    /// How many undelivered messages were dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Forgets answers that were not fetched.
    pub(super) fn forget_left(&mut self, now: Instant) {
        let is_old = |stream: &Stream| now.saturating_duration_since(stream.changed) > LEFT_AGE_MAX;
        self.streams.retain(|stream| stream.reader.is_some() || !stream.answered || !is_old(stream));
    }

    /// Keeps all bounds on what is kept for clients that may come back.
    fn trim(&mut self) {
        let left = |stream: &Stream| stream.reader.is_none() && stream.request.is_some();
        while self.streams.iter().filter(|stream| left(stream)).count() > LEFT_MAX {
            // First fully delivered streams, which are hardly needed again.
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

    /// Ends the reader.
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
mod tests;
