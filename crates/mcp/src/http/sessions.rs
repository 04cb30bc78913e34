//! Sessions over HTTP: many requests, one conversation.
//!
//! A session begins with `initialize` and is named by [`Session::id`]. What the gate says is routed to the stream it
//! belongs to: an answer to the request that waits for it, anything else to the stream the client holds open for that,
//! to the newest request that is still open, or to whichever stream comes next. Sessions are not kept over a restart,
//! and what was sent on a stream that broke is not sent again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use hyper::StatusCode;
use tokio::{sync::mpsc, task::AbortHandle, time::timeout};

use super::{
    doorkeeper::Refusal,
    server::{Board, Note, Talk},
    stream::answered,
};
use crate::{
    link::{Incoming, Outgoing, pipe},
    message::{Id, MESSAGE_BYTES_MAX},
};

/// How many sessions may be open at once.
pub(super) const SESSIONS_MAX: usize = 256;

/// How many messages are kept for a client that has no stream open. Of more the oldest are dropped.
const KEPT_MAX: usize = 64;

/// How long they may be together, in bytes: as long as the longest message, so that each can be kept.
const KEPT_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// How many messages may wait for one stream.
const STREAM_WAITING_MAX: usize = 16;

/// A session that nobody used for so long ends, unless one of its streams is open.
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
    streams: Mutex<Streams>,
    note: Note,
}

struct Streams {
    /// Requests that wait for an answer, oldest first.
    requests: Vec<(Id, mpsc::Sender<Outgoing>)>,
    /// The stream that the client opened for whatever belongs to no request.
    own: Option<mpsc::Sender<Outgoing>>,
    kept: VecDeque<Outgoing>,
    /// How many messages were dropped.
    dropped: u64,
    used: Instant,
    router: Option<AbortHandle>,
}

/// A stream as it is opened: what was kept for it, and what comes.
pub(super) type Opened = (VecDeque<Outgoing>, mpsc::Receiver<Outgoing>);

impl Sessions {
    pub(super) fn new(note: Note) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), note })
    }

    /// Begins a session.
    ///
    /// # Errors
    /// When there are too many, or the machine has no random numbers to name it with.
    pub(super) fn begin(self: &Arc<Self>, board: &dyn Board) -> Result<Arc<Session>, Refusal> {
        let unavailable = |sentence: &str| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence);
        let mut name = [0_u8; 16];
        getrandom::fill(&mut name).map_err(|_| unavailable("no random numbers to name the session with"))?;
        let (link, ends) = pipe();
        let session = Arc::new(Session {
            id: name.iter().map(|byte| format!("{byte:02x}")).collect(),
            say: ends.say,
            streams: Mutex::new(Streams::new()),
            note: Arc::clone(&self.note),
        });
        {
            let mut open = locked(&self.open);
            if open.len() >= SESSIONS_MAX {
                return Err(unavailable("too many sessions are open: end some, or come back later"));
            }
            open.insert(session.id.clone(), Arc::clone(&session));
        }
        let router = tokio::spawn(route(ends.hear, Arc::clone(&session), Arc::downgrade(self)));
        locked(&session.streams).router = Some(router.abort_handle());
        board.begin(link, Talk::Session(session.id.clone()));
        Ok(session)
    }

    /// A session that is open. To find it is to use it.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = locked(&self.open).get(id).cloned()?;
        locked(&session.streams).used = Instant::now();
        Some(session)
    }

    /// Ends a session; false where there is none.
    pub(super) fn end(&self, id: &str, reason: &str) -> bool {
        let session = locked(&self.open).remove(id);
        session.inspect(|session| session.end(reason)).is_some()
    }

    /// Ends what nobody used.
    pub(super) fn sweep(&self, now: Instant) {
        let unused: Vec<String> = {
            let open = locked(&self.open);
            open.values().filter(|session| session.is_unused(now)).map(|session| session.id.clone()).collect()
        };
        for id in unused {
            self.end(&id, "nobody used the session for a long time");
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
    /// When a request with the same id still waits: nobody could tell their answers apart.
    pub(super) fn open_request(&self, id: &Id) -> Result<Opened, Refusal> {
        let (to, from) = mpsc::channel(STREAM_WAITING_MAX);
        let mut streams = locked(&self.streams);
        streams.forget_closed();
        if streams.requests.iter().any(|(open, _)| open == id) {
            let sentence = format!("a request with the id `{id}` is still open in this session");
            return Err(Refusal::new(StatusCode::BAD_REQUEST, sentence));
        }
        streams.requests.push((id.clone(), to));
        Ok((std::mem::take(&mut streams.kept), from))
    }

    /// Opens the stream for whatever belongs to no request. One that was open is closed: its client has come back.
    pub(super) fn open_own(&self) -> Opened {
        let (to, from) = mpsc::channel(STREAM_WAITING_MAX);
        let mut streams = locked(&self.streams);
        streams.own = Some(to);
        (std::mem::take(&mut streams.kept), from)
    }

    async fn deliver(&self, outgoing: Outgoing) {
        let answer = answered(&outgoing.text);
        loop {
            let picked = locked(&self.streams).pick(&outgoing, answer.as_ref());
            let Some(stream) = picked else {
                return self.keep(outgoing, answer.as_ref());
            };
            match timeout(STALLED_MAX, stream.reserve()).await {
                Ok(Ok(place)) => {
                    place.send(outgoing);
                    if let Some(id) = &answer {
                        locked(&self.streams).requests.retain(|(open, _)| open != id);
                    }
                    return;
                }
                // It was closed meanwhile: the next turn does not pick it again.
                Ok(Err(_)) => {}
                Err(_) => {
                    locked(&self.streams).close(&stream);
                    (self.note)(
                        "an HTTP client took nothing from a stream for too long, so the stream was closed",
                    );
                }
            }
        }
    }

    fn keep(&self, outgoing: Outgoing, answer: Option<&Id>) {
        if let Some(id) = answer {
            (self.note)(&format!(
                "an HTTP client left before request `{id}` was answered; the answer was dropped"
            ));
            return;
        }
        let (before, after) = locked(&self.streams).keep(outgoing);
        // Not for each of them: whoever fills the log this way could hide something in it.
        if before.checked_ilog2() != after.checked_ilog2() {
            (self.note)(&format!(
                "an HTTP client has no stream open and too many messages wait for it; dropped {after} so far"
            ));
        }
    }

    fn is_unused(&self, now: Instant) -> bool {
        let mut streams = locked(&self.streams);
        streams.forget_closed();
        let open = streams.own.is_some() || !streams.requests.is_empty();
        !open && now.saturating_duration_since(streams.used) > UNUSED_MAX
    }

    fn end(&self, reason: &str) {
        // Where nobody has taken what was said before, the end of the channel has to do.
        let _ = self.say.try_send(Incoming::Gone { reason: reason.to_owned(), about: None });
        let mut streams = locked(&self.streams);
        streams.requests.clear();
        streams.own = None;
        if let Some(router) = &streams.router {
            router.abort();
        }
    }
}

impl Streams {
    fn new() -> Self {
        Self {
            requests: Vec::new(),
            own: None,
            kept: VecDeque::new(),
            dropped: 0,
            used: Instant::now(),
            router: None,
        }
    }

    /// The stream for a message; none where it has to be kept, or nobody waits for that answer any more.
    fn pick(&mut self, outgoing: &Outgoing, answer: Option<&Id>) -> Option<mpsc::Sender<Outgoing>> {
        self.forget_closed();
        let of = |id: &Id| self.requests.iter().find(|(open, _)| open == id).map(|(_, stream)| stream);
        if let Some(id) = answer {
            return of(id).cloned();
        }
        let about = outgoing.about.as_ref().and_then(of);
        let newest = self.requests.last().map(|(_, stream)| stream);
        about.or(self.own.as_ref()).or(newest).cloned()
    }

    /// Keeps a message for the next stream. Gives how many were dropped before, and how many now.
    fn keep(&mut self, outgoing: Outgoing) -> (u64, u64) {
        let before = self.dropped;
        self.kept.push_back(outgoing);
        let mut bytes: usize = self.kept.iter().map(|kept| kept.text.len()).sum();
        while self.kept.len() > KEPT_MAX || bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            bytes -= oldest.text.len();
            self.dropped += 1;
        }
        (before, self.dropped)
    }

    /// A client that is gone leaves its streams. That only means that it is gone: to cancel, it says so.
    fn forget_closed(&mut self) {
        self.requests.retain(|(_, stream)| !stream.is_closed());
        self.own.take_if(|stream| stream.is_closed());
    }

    fn close(&mut self, stalled: &mpsc::Sender<Outgoing>) {
        self.requests.retain(|(_, stream)| !stream.same_channel(stalled));
        self.own.take_if(|stream| stream.same_channel(stalled));
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
    use super::*;
    use crate::link::Link;

    /// Keeps the links, so that the conversations stay open.
    #[derive(Default)]
    struct Shelf(Mutex<Vec<Link>>);

    impl Board for Shelf {
        fn begin(&self, link: Link, _: Talk) {
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
        let (sessions, board) = (sessions(), Shelf::default());
        let first = sessions.begin(&board).unwrap().id.clone();
        for _ in 1..SESSIONS_MAX {
            sessions.begin(&board).unwrap();
        }
        assert_eq!(sessions.begin(&board).err().unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(sessions.end(&first, "test") && !sessions.end(&first, "test"));
        assert!(sessions.begin(&board).is_ok());
    }

    #[tokio::test]
    async fn a_session_that_nobody_uses_ends_unless_a_stream_is_open() {
        let (sessions, board) = (sessions(), Shelf::default());
        let (left, held) = (sessions.begin(&board).unwrap(), sessions.begin(&board).unwrap());
        let stream = held.open_own();
        let used = Instant::now();
        sessions.sweep(used + UNUSED_MAX - Duration::from_secs(1));
        assert!(sessions.find(&left.id).is_some());
        let late = Instant::now() + UNUSED_MAX + Duration::from_secs(1);
        sessions.sweep(late);
        assert!(sessions.find(&left.id).is_none() && sessions.find(&held.id).is_some());
        let told = locked(&board.0)[0].from.try_recv().ok();
        assert!(matches!(told, Some(Incoming::Gone { about: None, .. })));
        drop(stream);
        sessions.sweep(Instant::now() + UNUSED_MAX + Duration::from_secs(1));
        assert!(sessions.find(&held.id).is_none());
    }

    #[tokio::test]
    async fn of_too_many_kept_messages_the_oldest_are_dropped() {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&noted);
        let sessions = Sessions::new(Arc::new(move |sentence| locked(&notes).push(sentence.to_owned())));
        let board = Shelf::default();
        let session = sessions.begin(&board).unwrap();
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
        let (kept, stream) = session.open_own();
        assert_eq!((kept.len(), kept.front()), (KEPT_MAX, Some(&notice(3))));
        drop(stream);
        let long = |length| Outgoing { text: "x".repeat(length), ..Outgoing::default() };
        for length in [KEPT_BYTES_MAX - 1, 1] {
            session.deliver(long(length)).await;
        }
        let (kept, stream) = session.open_own();
        assert_eq!(kept.len(), 2);
        drop((kept, stream));
        for length in [KEPT_BYTES_MAX - 1, 2] {
            session.deliver(long(length)).await;
        }
        assert_eq!(session.open_own().0, [long(2)]);
    }

    #[tokio::test]
    async fn messages_go_to_the_stream_they_belong_to() {
        let (sessions, board) = (sessions(), Shelf::default());
        let session = sessions.begin(&board).unwrap();
        let (_, mut one) = session.open_request(&Id::Number(1)).unwrap();
        let (_, mut two) = session.open_request(&Id::Number(2)).unwrap();
        assert!(session.open_request(&Id::Number(2)).is_err(), "two open requests with one id");
        session.deliver(Outgoing { about: Some(Id::Number(1)), ..notice(1) }).await;
        session.deliver(notice(2)).await;
        let (_, mut own) = session.open_own();
        session.deliver(notice(3)).await;
        let answer =
            Outgoing { text: r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into(), ..Outgoing::default() };
        session.deliver(answer.clone()).await;
        assert_eq!(one.recv().await.map(|out| out.text), Some(notice(1).text));
        assert_eq!(one.recv().await, Some(answer));
        assert_eq!(one.recv().await, None, "a stream ends with its answer");
        assert_eq!(two.recv().await, Some(notice(2)), "the newest request that is open");
        assert_eq!(own.recv().await, Some(notice(3)));
    }
}
