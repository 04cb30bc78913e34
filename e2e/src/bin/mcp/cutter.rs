//! A bad line: forwards TCP connections, and cuts all of them once, before something in particular is told.
//!
//! Whoever reads on the other side sees its connection break in the middle of a stream. What was to be told then is not
//! forwarded. Connections that are opened afterwards stay whole.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Forwards until it is dropped.
pub(crate) struct Cutter {
    port: u16,
    line: Arc<Line>,
}

struct Line {
    server_port: u16,
    cut_before: &'static str,
    has_cut: AtomicBool,
    is_over: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Cutter {
    /// Stands before a server; all connections are cut before this text would be told to a client.
    pub(crate) fn stand(server_port: u16, cut_before: &'static str) -> Result<Self, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let line = Arc::new(Line {
            server_port,
            cut_before,
            has_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let accepting = Arc::clone(&line);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A server that is gone is noticed by the client.
                let _ = accepting.connect(client);
            }
        });
        Ok(Self { port, line })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn has_cut(&self) -> bool {
        self.line.has_cut.load(Ordering::SeqCst)
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.line.is_over.store(true, Ordering::SeqCst);
        self.line.cut();
        // Whoever waits for the next connection gets one, and ends.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Line {
    fn connect(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.server_port))?;
        let (up, down) = (client.try_clone()?, server.try_clone()?);
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend([client.try_clone()?, server.try_clone()?]);
        thread::spawn(move || forward(up, server, |_| false));
        let line = Arc::clone(self);
        thread::spawn(move || forward(down, client, |seen| line.cut_at(seen)));
        Ok(())
    }

    /// Cuts all connections where what was seen holds the text for the first time.
    fn cut_at(&self, seen: &[u8]) -> bool {
        let text = self.cut_before.as_bytes();
        let holds = seen.windows(text.len()).any(|window| window == text);
        let is_first = holds && !self.has_cut.swap(true, Ordering::SeqCst);
        if is_first {
            self.cut();
        }
        is_first
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Copies until one side has ended, or what was read last makes an end of it.
fn forward(mut from: TcpStream, mut to: TcpStream, is_end: impl Fn(&[u8]) -> bool) {
    let mut piece = vec![0; 1 << 16];
    // The text may come in two pieces.
    let mut seen = Vec::new();
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let read = piece.get(..length).unwrap_or_default();
        seen.extend_from_slice(read);
        if is_end(&seen) || to.write_all(read).is_err() {
            break;
        }
        seen.drain(..seen.len().saturating_sub(1 << 10));
    }
    let _ = to.shutdown(Shutdown::Both);
}
