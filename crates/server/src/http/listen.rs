//! The sockets of a server, and how it ends.
//!
//! Each connection has bounds: the size of its heads, the time in which a head must arrive, and how many there are at once.
//! When the server is told to end, it takes no further connection, lets requests that wait for a human go, and ends when the
//! others are answered, or after [`END_MAX`].

use std::{future::pending, io, net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
};

use super::{answering::router, door::Via, service::Service};
use crate::platform::{self, SocketListener};

/// How many connections are open at the same time; others wait.
const CONNECTIONS_MAX: usize = 1_024;
/// How long the head of a request may take to arrive, and how long a connection may be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// The largest head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long requests may go on after the server was told to end.
const END_MAX: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listeners {
    /// An address.
    pub tcp: Option<SocketAddr>,
    /// A socket in the file system.
    pub socket: Option<PathBuf>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {place}: {source}")]
pub struct ListenError {
    place: String,
    source: io::Error,
}

/// A server that listens, and answers as soon as it runs.
pub struct Server {
    service: Arc<Service>,
    tcp: Option<(TcpListener, SocketAddr)>,
    socket: Option<(SocketListener, PathBuf)>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When an address or a socket cannot be had.
    pub async fn bind(service: Service, listeners: &Listeners) -> Result<Self, ListenError> {
        let failed = |place: String| move |source| ListenError { place, source };
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
        Ok(Self { service: Arc::new(service), tcp, socket })
    }

    /// The address it listens at, if it listens at one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().map(|(_, address)| *address)
    }

    /// Answers requests until `end` is over.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Self { service, tcp, socket } = self;
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
                    (Ok(stream), Some(router)) => answer(stream, router.clone(), &graceful, permit),
                    _ => pause().await,
                },
                accepted = next_socket(socket.as_ref()) => match accepted {
                    Ok(stream) => answer(stream, at_socket.clone(), &graceful, permit),
                    Err(_) => pause().await,
                },
            }
        }
        drop(tcp);
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

/// Answers the requests of one connection, as long as it is open.
fn answer<P: Send + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    graceful: &GracefulShutdown,
    permit: P,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).max_buf_size(HEAD_BYTES_MAX);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        let _permit = permit;
        // A connection that breaks is the client's affair.
        let _ = connection.await;
    });
}
