//! The sockets of a server, and how it ends.
//!
//! With TLS, connections at the address begin with a handshake, and changed files of it count for the next connection.
//! Each connection has bounds: the size of its heads, the time in which a head must arrive, and how many there are at once.
//! When the server is told to end, it takes no further connection, lets requests that wait for a human go, and ends when the
//! others are answered, or after [`END_MAX`].

use std::{future::pending, io, net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
};

use super::{
    answering::router,
    deliveries::tell,
    door::Via,
    service::Service,
    tls::{Tls, TlsError, TlsFiles},
};
use crate::platform::{self, SocketListener};

/// How many connections are open at the same time; others wait.
const CONNECTIONS_MAX: usize = 1_024;
/// How long the head of a request may take to arrive, and how long a connection may be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// The largest head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long a handshake of TLS may take.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
/// How often the files of TLS are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long requests may go on after the server was told to end.
const END_MAX: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listeners {
    /// An address.
    pub tcp: Option<SocketAddr>,
    /// TLS for the address; none if it speaks HTTP as it is.
    pub tls: Option<TlsFiles>,
    /// A socket in the file system.
    pub socket: Option<PathBuf>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// An address or a socket cannot be had.
    #[error("cannot listen at {place}: {source}")]
    Place {
        /// Which one.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// TLS cannot be had.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What the operator is told while the server runs.
pub type Notice = dyn Fn(&str) + Send + Sync;

/// A server that listens, and answers as soon as it runs.
pub struct Server {
    service: Arc<Service>,
    tcp: Option<(TcpListener, SocketAddr)>,
    tls: Option<Arc<Tls>>,
    socket: Option<(SocketListener, PathBuf)>,
    notice: Arc<Notice>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When an address or a socket cannot be had.
    pub async fn bind(service: Service, listeners: &Listeners) -> Result<Self, ListenError> {
        let tls = listeners.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
        let failed = |place: String| move |source| ListenError::Place { place, source };
        let tcp = match listeners.tcp {
            Some(wanted) => {
                let listener = TcpListener::bind(wanted).await.map_err(failed(wanted.to_string()))?;
                let address = listener.local_addr().map_err(failed(wanted.to_string()))?;
                Some((listener, address))
            }
            None => None,
        };
        let socket = match &listeners.socket {
            Some(path) => {
                let listener = platform::listen(path).map_err(failed(path.display().to_string()))?;
                Some((listener, path.clone()))
            }
            None => None,
        };
        Ok(Self { service: Arc::new(service), tcp, tls, socket, notice: Arc::new(|_| ()) })
    }

    /// Tells the operator what happens while the server runs.
    #[must_use]
    pub fn on_notice(self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { notice: Arc::new(notice), ..self }
    }

    /// The address it listens at, if it listens at one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().map(|(_, address)| *address)
    }

    /// Answers requests until `end` is over.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Self { service, tcp, tls, socket, notice } = self;
        let watch = tls.clone().map(|tls| tokio::spawn(keep_current(tls, notice)));
        for webhook in service.outbox.webhooks.all.clone() {
            tokio::spawn(tell(Arc::clone(&service), webhook));
        }
        let router = router(&service);
        let at_address = tcp.as_ref().map(|(_, address)| router.clone().layer(Extension(Via::Tcp(*address))));
        let at_socket = router.layer(Extension(Via::Socket));
        let (graceful, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
        let mut end = pin!(end);
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&room).acquire_owned() => permit,
                () = &mut end => break,
            };
            tokio::select! {
                () = &mut end => break,
                accepted = next_tcp(tcp.as_ref()) => match (accepted, &at_address) {
                    (Ok(stream), Some(router)) => match &tls {
                        Some(tls) => answer_by_tls(stream, tls, router.clone(), graceful.watcher(), permit),
                        None => answer(stream, router.clone(), &graceful, permit),
                    },
                    _ => pause().await,
                },
                accepted = next_socket(socket.as_ref()) => match accepted {
                    Ok(stream) => answer(stream, at_socket.clone(), &graceful, permit),
                    Err(_) => pause().await,
                },
            }
        }
        drop(tcp);
        if let Some(watch) = watch {
            watch.abort();
        }
        let path = socket.as_ref().map(|(_, path)| path.clone());
        drop(socket);
        if let Some(path) = path {
            // It may be gone already, and then there is nothing to do.
            let _ = std::fs::remove_file(path);
        }
        service.end();
        // What still runs then is cut off: its client has not been told anything.
        let _ = tokio::time::timeout(END_MAX, graceful.shutdown()).await;
    }
}

/// Too many open files, for example: trying again at once would only burn time.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn next_tcp(listener: Option<&(TcpListener, SocketAddr)>) -> io::Result<tokio::net::TcpStream> {
    match listener {
        Some((listener, _)) => {
            let (stream, _) = listener.accept().await?;
            // Answers are small, and a client waits for each.
            stream.set_nodelay(true)?;
            Ok(stream)
        }
        None => pending().await,
    }
}

async fn next_socket(listener: Option<&(SocketListener, PathBuf)>) -> io::Result<platform::SocketStream> {
    match listener {
        Some((listener, _)) => platform::accept(listener).await,
        None => pending().await,
    }
}

/// Reads the files of TLS again whenever they have changed, or when it is told to.
async fn keep_current(tls: Arc<Tls>, notice: Arc<Notice>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = platform::told_to_reload() => {}
        }
        match tls.reload() {
            Ok(true) => notice("the certificate was read again"),
            Ok(false) => {}
            Err(error) => notice(&format!("the certificate stays as it was: {error}")),
        }
    }
}

/// Answers the requests of one connection behind its handshake.
fn answer_by_tls<P: Send + 'static>(
    stream: tokio::net::TcpStream,
    tls: &Tls,
    router: Router,
    watcher: Watcher,
    permit: P,
) {
    let handshake = tls.acceptor().accept(stream);
    tokio::spawn(async move {
        let _permit = permit;
        // Who does not speak TLS, or shows no certificate that is wanted, is gone.
        if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIME_MAX, handshake).await {
            let _ = watcher.watch(connection(stream, router)).await;
        }
    });
}

/// Answers the requests of one connection, as long as it is open.
fn answer<P: Send + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    graceful: &GracefulShutdown,
    permit: P,
) {
    let connection = graceful.watch(connection(stream, router));
    tokio::spawn(async move {
        let _permit = permit;
        // A connection that breaks is the client's affair.
        let _ = connection.await;
    });
}

fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
) -> http1::Connection<TokioIo<S>, TowerToHyperService<Router>> {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).max_buf_size(HEAD_BYTES_MAX);
    builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
}
