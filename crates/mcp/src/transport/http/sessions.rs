//! Sessions over HTTP: many requests, one conversation.
//!
//! A session begins with `initialize` and is named by [`Session::id`]. What the gate says is routed to the stream it
//! belongs to: an answer to the request that waits for it, anything else to the stream the client holds open for that,
//! to the newest request that is still open, or to whichever stream comes next. An [`StreamReader`] hears one stream
//! for one connection; when that breaks, the call goes on and the client may come back for the rest (`resume.rs`).
//! Sessions are not kept over a restart.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::StatusCode;
use tokio::{
    sync::{Notify, mpsc},
    task::AbortHandle,
    time::{Instant as TokioInstant, timeout_at},
};

use super::{
    acceptor::{Acceptor, ConversationKind, Note},
    admission::Refusal,
    fields::answered,
    streams::{EventId, IdInUse, Placement, Resumption, StreamItem, StreamOpening, Streams},
};
use crate::{
    message::Id,
    transport::link::{Incoming, Outgoing, pipe},
};

/// How many sessions may be open at once.
pub(super) const SESSIONS_MAX: usize = 256;

/// A session that was not used for so long ends, unless one of its streams is open.
pub(super) const UNUSED_MAX: Duration = Duration::from_secs(60 * 60);

/// A stream whose client takes nothing for so long is closed: it would hold up all others of its session.
const STALLED_MAX: Duration = Duration::from_secs(60);

/// All sessions.
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    note: Note,
}

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) say: mpsc::Sender<Incoming>,
    state: Mutex<State>,
    /// Told whenever a message that waited for a reader may have found room.
    room: Notify,
    note: Note,
}

struct State {
    streams: Streams,
    used: Instant,
    router: Option<AbortHandle>,
}

/// Hears one stream of a session, for one connection.
pub(super) struct StreamReader {
    session: Arc<Session>,
    opening: StreamOpening,
    /// Its client knows the name of an event, and may come back with it.
    can_come_back: bool,
}

impl Sessions {
    pub(super) fn new(note: Note) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), note })
    }

    /// Begins a session.
    ///
    /// # Errors
    /// When there are too many, or the machine has no random numbers to name it with.
    pub(super) fn begin(self: &Arc<Self>, acceptor: &dyn Acceptor) -> Result<Arc<Session>, Refusal> {
        let unavailable = |sentence: &str| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence);
        let no_numbers = |_| unavailable("no random numbers to name the session with");
        let mut name = [0_u8; 16];
        getrandom::fill(&mut name).map_err(no_numbers)?;
        let (link, ends) = pipe();
        let state = State {
            streams: Streams::new(getrandom::u32().map_err(no_numbers)?),
            used: Instant::now(),
            router: None,
        };
        let session = Arc::new(Session {
            id: name.iter().map(|byte| format!("{byte:02x}")).collect(),
            say: ends.say,
            state: Mutex::new(state),
            room: Notify::new(),
            note: Arc::clone(&self.note),
        });
        {
            let mut open = locked(&self.open);
            if open.len() >= SESSIONS_MAX {
                return Err(unavailable("too many sessions are open: end some, or try again later"));
            }
            open.insert(session.id.clone(), Arc::clone(&session));
        }
        let router = tokio::spawn(route(ends.hear, Arc::clone(&session), Arc::downgrade(self)));
        locked(&session.state).router = Some(router.abort_handle());
        acceptor.begin(link, ConversationKind::Session(session.id.clone()));
        Ok(session)
    }

    /// A session that is open. To find it is to use it.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = locked(&self.open).get(id).cloned()?;
        locked(&session.state).used = Instant::now();
        Some(session)
    }

    /// Ends a session; false where there is none.
    pub(super) fn end(&self, id: &str, reason: &str) -> bool {
        let session = locked(&self.open).remove(id);
        session.inspect(|session| session.end(reason)).is_some()
    }

    /// Ends unused sessions, and forgets answers that were not fetched.
    pub(super) fn sweep(&self, now: Instant) {
        let sessions: Vec<Arc<Session>> = locked(&self.open).values().cloned().collect();
        for session in sessions {
            locked(&session.state).streams.forget_left(now);
            if session.is_unused(now) {
                self.end(&session.id, "the session was not used for a long time");
            }
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for session in locked(&self.open).values() {
            session.end("Lockgate stopped listening");
        }
    }
}

impl Session {
    /// Opens the stream of a request.
    ///
    /// # Errors
    /// When a request with the same id still waits: their answers could not be distinguished.
    pub(super) fn open_request(self: &Arc<Self>, id: &Id) -> Result<StreamReader, Refusal> {
        let opened = locked(&self.state).streams.open_request(id);
        let opening = opened.map_err(|IdInUse| {
            let sentence = format!("a request with the id `{id}` is still open in this session");
            Refusal::new(StatusCode::BAD_REQUEST, sentence)
        })?;
        Ok(self.reader(opening))
    }

    /// Opens the stream for whatever belongs to no request. One that was open is closed: its client has come back.
    pub(super) fn open_own(self: &Arc<Self>) -> StreamReader {
        let opening = locked(&self.state).streams.open_own();
        self.reader(opening)
    }

    /// Opens a stream again behind the event that its client saw last; none where nothing more comes on it.
    ///
    /// # Errors
    /// When the events after that one are not kept.
    pub(super) fn resume(self: &Arc<Self>, last: &str) -> Result<Option<StreamReader>, Refusal> {
        let id = EventId::parse(last);
        match id.map_or(Resumption::Unknown, |id| locked(&self.state).streams.resume(id)) {
            Resumption::Open(opening) => {
                let mut reader = self.reader(opening);
                reader.can_come_back = true;
                Ok(Some(reader))
            }
            Resumption::Over => Ok(None),
            Resumption::Unknown => {
                let sentence = "what came after the event that `Last-Event-ID` names is not kept in this session: \
                                leave the header out to hear what comes from now on";
                Err(Refusal::new(StatusCode::BAD_REQUEST, sentence))
            }
        }
    }

    fn reader(self: &Arc<Self>, opening: StreamOpening) -> StreamReader {
        // What waited for another reader may go to this one.
        self.room.notify_one();
        StreamReader { session: Arc::clone(self), opening, can_come_back: false }
    }

    async fn deliver(&self, outgoing: Outgoing) {
        let answer = answered(&outgoing.text);
        let text = Arc::new(outgoing.text);
        let mut stalled: Option<(u64, TokioInstant)> = None;
        loop {
            let (placed, before, after) = {
                let streams = &mut locked(&self.state).streams;
                let before = streams.dropped();
                (streams.place(&text, outgoing.about.as_ref(), answer.as_ref()), before, streams.dropped())
            };
            let reader = match placed {
                Placement::Well => return self.note_dropped(before, after),
                Placement::Unwanted => return self.note_unwanted(answer.as_ref()),
                Placement::Full(reader) => reader,
            };
            let until = match stalled {
                Some((same, until)) if same == reader => until,
                _ => TokioInstant::now() + STALLED_MAX,
            };
            stalled = Some((reader, until));
            if timeout_at(until, self.room.notified()).await.is_err() {
                locked(&self.state).streams.end_reader(reader);
                (self.note)(
                    "an HTTP client took nothing from a stream for too long, so the stream was closed",
                );
            }
        }
    }

    fn note_unwanted(&self, answer: Option<&Id>) {
        if let Some(id) = answer {
            (self.note)(&format!(
                "an HTTP client left before request `{id}` was answered; the answer was dropped"
            ));
        }
    }

    fn note_dropped(&self, before: u64, after: u64) {
        // Not for each of them: a full log could hide something.
        if before.checked_ilog2() != after.checked_ilog2() {
            (self.note)(&format!(
                "an HTTP client has no stream open and too many messages wait for it; dropped {after} so far"
            ));
        }
    }

    fn is_unused(&self, now: Instant) -> bool {
        let state = locked(&self.state);
        !state.streams.has_readers() && now.saturating_duration_since(state.used) > UNUSED_MAX
    }

    fn end(&self, reason: &str) {
        // If the queue is full, the end of the channel has to do.
        let _ = self.say.try_send(Incoming::Gone { reason: reason.to_owned(), about: None });
        let mut state = locked(&self.state);
        state.streams.end();
        if let Some(router) = &state.router {
            router.abort();
        }
    }
}

impl StreamReader {
    /// The request that the stream answers.
    pub(super) fn request(&self) -> Option<&Id> {
        self.opening.request.as_ref()
    }

    /// Where it begins. A client that knows this may come back to it.
    pub(super) fn begins_at(&mut self) -> EventId {
        self.can_come_back = true;
        self.opening.at
    }

    pub(super) fn poll_hear(&mut self, context: &mut Context<'_>) -> Poll<StreamItem> {
        let heard = locked(&self.session.state).streams.hear(&self.opening, context.waker());
        if let Poll::Ready(StreamItem::Message { .. }) = heard {
            self.can_come_back = true;
            self.session.room.notify_one();
        }
        heard
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        locked(&self.session.state).streams.leave(&self.opening, self.can_come_back);
        self.session.room.notify_one();
    }
}

/// Passes on what the gate says until it says no more.
async fn route(mut hear: mpsc::Receiver<Outgoing>, session: Arc<Session>, sessions: Weak<Sessions>) {
    while let Some(outgoing) = hear.recv().await {
        session.deliver(outgoing).await;
    }
    if let Some(sessions) = sessions.upgrade() {
        sessions.end(&session.id, "the conversation is over");
    }
}

/// What was locked when a thread died is still whole: every change here is one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;
    use crate::{
        transport::http::streams::{KEPT_MAX, LEFT_AGE_MAX, WAITING_MAX},
        transport::link::Link,
    };

    /// Keeps the links, so that the conversations stay open.
    #[derive(Default)]
    struct Backend(Mutex<Vec<Link>>);

    impl Acceptor for Backend {
        fn begin(&self, link: Link, _: ConversationKind) {
            locked(&self.0).push(link);
        }
    }

    fn sessions() -> Arc<Sessions> {
        Sessions::new(Arc::new(|_| {}))
    }

    fn notice(n: usize) -> Outgoing {
        Outgoing { text: format!(r#"{{"jsonrpc":"2.0","method":"n{n}"}}"#), ..Outgoing::default() }
    }

    #[tokio::test]
    async fn one_session_too_many_is_refused_until_another_ends() {
        let (sessions, acceptor) = (sessions(), Backend::default());
        let first = sessions.begin(&acceptor).unwrap().id.clone();
        for _ in 1..SESSIONS_MAX {
            sessions.begin(&acceptor).unwrap();
        }
        assert_eq!(sessions.begin(&acceptor).err().unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(sessions.end(&first, "test") && !sessions.end(&first, "test"));
        assert!(sessions.begin(&acceptor).is_ok());
    }

    #[tokio::test]
    async fn a_session_that_nobody_uses_ends_unless_a_stream_is_open() {
        let (sessions, acceptor) = (sessions(), Backend::default());
        let (left, held) = (sessions.begin(&acceptor).unwrap(), sessions.begin(&acceptor).unwrap());
        let stream = held.open_own();
        let used = Instant::now();
        sessions.sweep(used + UNUSED_MAX - Duration::from_secs(1));
        assert!(sessions.find(&left.id).is_some());
        let late = Instant::now() + UNUSED_MAX + Duration::from_secs(1);
        sessions.sweep(late);
        assert!(sessions.find(&left.id).is_none() && sessions.find(&held.id).is_some());
        let told = locked(&acceptor.0)[0].from.try_recv().ok();
        assert!(matches!(told, Some(Incoming::Gone { about: None, .. })));
        drop(stream);
        sessions.sweep(Instant::now() + UNUSED_MAX + Duration::from_secs(1));
        assert!(sessions.find(&held.id).is_none());
    }

    async fn hear(reader: &mut StreamReader) -> StreamItem {
        let heard = poll_fn(|context| reader.poll_hear(context));
        timeout(Duration::from_secs(60), heard).await.expect("nothing came")
    }

    #[tokio::test]
    async fn that_messages_are_dropped_is_said_and_not_for_each_of_them() {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&noted);
        let sessions = Sessions::new(Arc::new(move |sentence| locked(&notes).push(sentence.to_owned())));
        let acceptor = Backend::default();
        let session = sessions.begin(&acceptor).unwrap();
        for n in 0..KEPT_MAX {
            session.deliver(notice(n)).await;
        }
        assert!(locked(&noted).is_empty());
        for n in KEPT_MAX..KEPT_MAX + 3 {
            session.deliver(notice(n)).await;
        }
        let ends: Vec<bool> = ["1 so far", "2 so far"]
            .iter()
            .zip(&*locked(&noted))
            .map(|(end, note)| note.ends_with(end))
            .collect();
        assert_eq!((ends, locked(&noted).len()), (vec![true, true], 2));
        let heard = hear(&mut session.open_own()).await;
        assert!(matches!(heard, StreamItem::Message { text, .. } if *text == notice(3).text));
    }

    #[tokio::test]
    async fn a_reader_that_is_full_holds_up_who_speaks_until_it_hears_or_leaves() {
        let (sessions, acceptor) = (sessions(), Backend::default());
        let session = sessions.begin(&acceptor).unwrap();
        let mut reader = session.open_own();
        for n in 0..WAITING_MAX {
            session.deliver(notice(n)).await;
        }
        let is_held_up =
            async |n| timeout(Duration::from_millis(100), session.deliver(notice(n))).await.is_err();
        assert!(is_held_up(WAITING_MAX).await);
        hear(&mut reader).await;
        assert!(!is_held_up(WAITING_MAX).await);
        let last = notice(WAITING_MAX + 1);
        let (_, ()) = tokio::join!(session.deliver(last.clone()), async { drop(reader) });
        let mut next = session.open_own();
        for _ in 0..WAITING_MAX {
            hear(&mut next).await;
        }
        assert!(matches!(hear(&mut next).await, StreamItem::Message { text, .. } if *text == last.text));
    }

    #[tokio::test]
    async fn a_sweep_forgets_answers_that_nobody_came_back_for_and_leaves_their_session() {
        let (sessions, acceptor) = (sessions(), Backend::default());
        let session = sessions.begin(&acceptor).unwrap();
        let mut reader = session.open_request(&Id::Number(7)).unwrap();
        let at = reader.begins_at().to_string();
        drop(reader);
        let text = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#.to_owned();
        session.deliver(Outgoing { text, ..Outgoing::default() }).await;
        assert!(session.resume(&at).is_ok_and(|reader| reader.is_some()), "it waits");
        sessions.sweep(Instant::now() + LEFT_AGE_MAX + Duration::from_secs(1));
        assert!(sessions.find(&session.id).is_some());
        assert_eq!(session.resume(&at).err().map(|refusal| refusal.status), Some(StatusCode::BAD_REQUEST));
    }

    #[tokio::test]
    async fn a_reader_wakes_when_it_is_spoken_to_replaced_or_its_session_ends() {
        let (sessions, acceptor) = (sessions(), Backend::default());
        let session = sessions.begin(&acceptor).unwrap();
        let mut first = session.open_own();
        let (heard, ()) = tokio::join!(hear(&mut first), session.deliver(notice(1)));
        assert!(matches!(heard, StreamItem::Message { .. }));
        let (heard, mut second) = tokio::join!(hear(&mut first), async { session.open_own() });
        assert_eq!(heard, StreamItem::End);
        let (heard, ended) = tokio::join!(hear(&mut second), async { sessions.end(&session.id, "test") });
        assert_eq!((heard, ended), (StreamItem::Lost, true));
    }
}
