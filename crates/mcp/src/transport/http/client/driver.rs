//! Begins a conversation with a server, and sends its messages.

use std::sync::Arc;

use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::timeout,
};

use super::{
    connection::Connection,
    outbound::{GOODBYE_TIMEOUT, Outbound},
    target::{BadTarget, HttpTarget, Target},
};
use crate::transport::link::{Link, Outgoing, pipe};

/// How many notices and answers may be under way at once; others wait.
pub(crate) const NOTES_MAX: usize = 16;

/// Begins a conversation with a server. Nothing is sent yet: whether the server is there shows with the first message.
///
/// # Errors
/// When the target cannot be spoken to whatever the server does.
pub fn connect(target: &HttpTarget) -> Result<Link, BadTarget> {
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| BadTarget::Runtime)?;
    let target = Target::read(target)?;
    let (link, ends) = pipe();
    let connection = Arc::new(Connection::new(target, ends.say));
    runtime.spawn(speak(ends.hear, connection));
    Ok(link)
}

/// Sends messages until the relay is gone.
async fn speak(mut hear: mpsc::Receiver<Outgoing>, connection: Arc<Connection>) {
    let mut requests = JoinSet::new();
    let mut notes = JoinSet::new();
    let mut own_stream = JoinSet::new();
    let notes_free = Arc::new(Semaphore::new(NOTES_MAX));
    loop {
        let outgoing = tokio::select! {
            outgoing = hear.recv() => outgoing,
            () = connection.say.closed() => None,
            Some(_) = requests.join_next() => continue,
            Some(_) = notes.join_next() => continue,
            Some(_) = own_stream.join_next() => continue,
        };
        let Some(outgoing) = outgoing else { break };
        match Outbound::read(outgoing) {
            Ok(Outbound::Request(mut asked, post)) => match connection.register(&mut asked) {
                Ok(stopped) => drop(requests.spawn(Arc::clone(&connection).ask(asked, post, stopped))),
                Err(reason) => connection.lose(Some(asked.id), reason).await,
            },
            Ok(Outbound::Cancel(id, _)) if connection.stop(&id) => {}
            Ok(Outbound::Cancel(_, note) | Outbound::Note(note)) => {
                let Ok(permit) = Arc::clone(&notes_free).acquire_owned().await else { break };
                notes.spawn(Arc::clone(&connection).note(note, Some(permit)));
            }
            Ok(Outbound::Initialized(note)) => {
                // What comes next may only come after this.
                Arc::clone(&connection).note(note, None).await;
                own_stream.abort_all();
                own_stream.spawn(Arc::clone(&connection).listen());
            }
            Err((id, reason)) => connection.lose(id, reason).await,
        }
    }
    drop((requests, own_stream));
    let goodbye = async {
        while notes.join_next().await.is_some() {}
        connection.end_session().await;
    };
    let _ = timeout(GOODBYE_TIMEOUT, goodbye).await;
}
