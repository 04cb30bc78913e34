//! Messages over a pair of byte streams, one a line.
//!
//! [`stdio`] is the client at this process's standard input and output. Line breaks inside a message become spaces on
//! the way out: to JSON they mean the same, but a reader of lines would take a nested object on a line of its own for a
//! message that was not judged. What a message says is not looked at here.

use std::{future::Future, io, pin::pin, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use super::link::{Incoming, Link, Outgoing, TransportEnd, pipe};
use crate::{
    message::{Id, MESSAGE_BYTES_MAX, Message},
    platform,
};

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// Messages that wait are written together until they have this many bytes.
const WRITE_BYTES: usize = 64 * 1024;

/// The client at this process's standard input and output.
///
/// Must be called within a tokio runtime. Pipes and sockets are read and written by the runtime itself; for anything
/// else (a terminal, a file) threads wait, which costs two changes of thread a message.
pub fn stdio() -> (Link, OutputDrain) {
    match (platform::input(), platform::output()) {
        (Some(reader), Some(writer)) => return over(reader, writer),
        (Some(reader), None) => return over(reader, tokio::io::stdout()),
        (None, Some(writer)) => return over(tokio::io::stdin(), writer),
        (None, None) => {}
    }
    over(tokio::io::stdin(), tokio::io::stdout())
}

/// A link to the other end of two streams.
pub(crate) fn over<R, W>(reader: R, writer: W) -> (Link, OutputDrain)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (link, TransportEnd { say, hear }) = pipe();
    tokio::spawn(async move {
        let end = read_lines(reader, &say, std::future::pending::<()>).await;
        let reason = match end {
            ReadEnd::Closed | ReadEnd::Cut => "the input was closed".to_owned(),
            ReadEnd::Failed(error) => format!("the input cannot be read: {error}"),
            ReadEnd::Unheard => return,
        };
        let _ = say.send(Incoming::Gone { reason, about: None }).await;
    });
    let written = tokio::spawn(async move {
        write_lines(writer, hear, std::future::pending()).await;
    });
    (link, OutputDrain(written))
}

/// The writing of what was said to the other side, which goes on after the link was dropped.
#[derive(Debug)]
pub struct OutputDrain(tokio::task::JoinHandle<()>);

impl OutputDrain {
    /// Waits until everything is written, for so long.
    pub async fn wait(self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.0).await;
    }
}

/// Why no more lines are read.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The other side has closed the stream.
    Closed,
    /// The stream cannot be read.
    Failed(io::Error),
    /// Nothing came although the other side is known to have ended.
    Cut,
    /// The receiver on our side is gone.
    Unheard,
}

/// Reads messages until the stream ends, or `cut` ends before another line has come.
pub(crate) async fn read_lines<R, C>(reader: R, say: &mpsc::Sender<Incoming>, cut: impl Fn() -> C) -> ReadEnd
where
    R: AsyncRead + Unpin,
    C: Future<Output = ()>,
{
    let mut reader = BufReader::with_capacity(READ_BYTES, reader);
    loop {
        let line = tokio::select! {
            biased;
            line = next_line(&mut reader) => line,
            () = cut() => return ReadEnd::Cut,
            () = say.closed() => return ReadEnd::Unheard,
        };
        let incoming = match line {
            Ok(Some(Line::Text(text))) if text.trim_ascii().is_empty() => continue,
            Ok(Some(Line::Text(text))) => Incoming::Message(text),
            Ok(Some(Line::TooLong(answered))) => {
                let reason = format!("a line was longer than {MESSAGE_BYTES_MAX} bytes");
                match answered {
                    // Only this request is lost.
                    Some(id) => Incoming::Gone { reason, about: Some(id) },
                    None => Incoming::Unreadable(reason),
                }
            }
            Ok(Some(Line::NotUtf8)) => Incoming::Unreadable("a line was not UTF-8".to_owned()),
            Ok(None) => return ReadEnd::Closed,
            Err(error) => return ReadEnd::Failed(error),
        };
        if say.send(incoming).await.is_err() {
            return ReadEnd::Unheard;
        }
    }
}

/// One line, without its end.
enum Line {
    Text(String),
    /// Longer than a message may be, and the request that it answers, if that is known.
    TooLong(Option<Id>),
    NotUtf8,
}

/// Reads the next line; none at the end. The last line counts without a line break as well.
async fn next_line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    if read_to_break(reader, &mut line, MESSAGE_BYTES_MAX + 1).await? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > MESSAGE_BYTES_MAX {
        let end = skip_to_break(reader).await?;
        return Ok(Some(Line::TooLong(Message::answered_by_ends(&line, &end))));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)))
}

/// Skips the rest of a line, with room for two pieces of it only; gives its end.
async fn skip_to_break<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Vec<u8>> {
    let (mut before, mut piece) = (Vec::new(), Vec::new());
    loop {
        if read_to_break(reader, &mut piece, READ_BYTES).await? == 0 || piece.last() == Some(&b'\n') {
            before.append(&mut piece);
            return Ok(before);
        }
        before = std::mem::take(&mut piece);
    }
}

/// Reads to the end of a line, its break included, or as many bytes as may be.
pub(crate) async fn read_to_break<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<usize> {
    reader.take(bytes_max as u64).read_until(b'\n', line).await
}

/// Writes messages until both the sender and the queue are gone, or the reader is. Once `closing` ends, only queued
/// messages are written.
pub(crate) async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut hear: mpsc::Receiver<Outgoing>,
    closing: impl Future<Output = ()>,
) {
    let mut closing = pin!(closing);
    let mut open = true;
    let mut lines = Vec::new();
    loop {
        let first = tokio::select! {
            biased;
            message = hear.recv() => message,
            () = &mut closing, if open => {
                open = false;
                hear.close();
                continue;
            }
        };
        let Some(first) = first else { break };
        lines.clear();
        lines.shrink_to(WRITE_BYTES);
        push_line(&mut lines, &first.text);
        while lines.len() < WRITE_BYTES
            && let Ok(next) = hear.try_recv()
        {
            push_line(&mut lines, &next.text);
        }
        if writer.write_all(&lines).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

/// Adds a message as one line.
fn push_line(lines: &mut Vec<u8>, text: &str) {
    let whole = |byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    lines.extend(text.bytes().map(whole));
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_line_is_a_message_and_what_is_none_is_told() {
        let told = |what: &str| Incoming::Unreadable(what.to_owned());
        let message = |text: &str| Incoming::Message(text.to_owned());
        let longest = "x".repeat(MESSAGE_BYTES_MAX);
        let too_long = format!("{longest}x\n{{}}\n");
        let far_too_long = format!("{longest}{longest}\n{{}}");
        let long_told = told("a line was longer than 16777216 bytes");
        let lost = |id: i64| Incoming::Gone {
            reason: "a line was longer than 16777216 bytes".to_owned(),
            about: Some(Id::Number(id)),
        };
        // A client must be told which of its requests is lost, wherever the id stands.
        let id_first = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{longest}\"}}\n{{}}\n");
        let id_last = format!("{{\"result\":\"{longest}\",\"jsonrpc\":\"2.0\", \"id\": 8}}\n{{}}\n");
        let request = format!("{{\"id\":7,\"method\":\"x\",\"params\":\"{longest}\"}}\n{{}}\n");
        let table: [(&[u8], Vec<Incoming>); 12] = [
            (id_first.as_bytes(), vec![lost(7), message("{}")]),
            (id_last.as_bytes(), vec![lost(8), message("{}")]),
            (request.as_bytes(), vec![long_told.clone(), message("{}")]),
            (b"", vec![]),
            (b"{}\n", vec![message("{}")]),
            (b"{}\r\n[1]\n", vec![message("{}"), message("[1]")]),
            (b"\n \n\r\n{}\n\n", vec![message("{}")]),
            (b"{}\n{\"last\":1}", vec![message("{}"), message("{\"last\":1}")]),
            (b"\xff{}\n{}\n", vec![told("a line was not UTF-8"), message("{}")]),
            (longest.as_bytes(), vec![message(&longest)]),
            (too_long.as_bytes(), vec![long_told.clone(), message("{}")]),
            (far_too_long.as_bytes(), vec![long_told, message("{}")]),
        ];
        for (bytes, expected) in table {
            let input: &'static [u8] = bytes.to_vec().leak();
            let (mut link, _) = over(input, tokio::io::sink());
            let mut heard = Vec::new();
            while let Some(incoming) = link.from.recv().await {
                heard.push(incoming);
            }
            let gone = Incoming::Gone { reason: "the input was closed".to_owned(), about: None };
            assert_eq!(heard.pop(), Some(gone));
            assert!(heard == expected, "{:.60?}", String::from_utf8_lossy(bytes));
        }
    }

    #[tokio::test]
    async fn a_message_stays_on_one_line_whatever_it_holds() {
        let (near, mut far) = tokio::io::duplex(1024);
        let (link, _) = over(tokio::io::empty(), near);
        let smuggled = "{\"a\":\n{\"method\":\"tools/call\"}\r\n}";
        for text in [smuggled, "{}"] {
            link.to.send(Outgoing { text: text.to_owned(), ..Outgoing::default() }).await.unwrap();
        }
        drop(link);
        let mut written = String::new();
        far.read_to_string(&mut written).await.unwrap();
        assert_eq!(written, "{\"a\": {\"method\":\"tools/call\"}  }\n{}\n");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn pipes_and_sockets_are_read_without_threads_and_files_are_not() {
        use std::os::fd::{AsFd, OwnedFd};

        let (far_in, near_in) = io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
        let (far_out, near_out) = io::pipe().unwrap();
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let both = || far.try_clone().unwrap();
        // Some hosts give one socket for both directions.
        let table: [[OwnedFd; 4]; 2] = [
            [near_in.into(), near_out.into(), far_in.into(), far_out.into()],
            [near.try_clone().unwrap().into(), near.into(), both().into(), both().into()],
        ];
        for [near_in, near_out, far_in, far_out] in table {
            let input = platform::input_at(near_in.as_fd()).unwrap();
            let (mut link, _) = over(input, platform::output_at(near_out.as_fd()).unwrap());
            let (mut far_in, far_out) = (std::fs::File::from(far_in), std::fs::File::from(far_out));
            io::Write::write_all(&mut far_in, b"{\"in\":1}\n").unwrap();
            assert_eq!(link.from.recv().await, Some(Incoming::Message("{\"in\":1}".to_owned())));
            link.to.send(Outgoing { text: "{\"out\":1}".to_owned(), ..Outgoing::default() }).await.unwrap();
            let read = move || {
                let mut line = String::new();
                io::BufRead::read_line(&mut io::BufReader::new(far_out), &mut line).map(|_| line)
            };
            assert_eq!(tokio::task::spawn_blocking(read).await.unwrap().unwrap(), "{\"out\":1}\n");
        }
        let file = tempfile::tempfile().unwrap();
        assert!(platform::input_at(file.as_fd()).is_none() && platform::output_at(file.as_fd()).is_none());
    }

    #[tokio::test]
    async fn who_reads_nothing_holds_up_who_writes() {
        let (near, _far) = tokio::io::duplex(16);
        let (link, _) = over(tokio::io::empty(), near);
        let long = Outgoing { text: "x".repeat(WRITE_BYTES), ..Outgoing::default() };
        let mut taken = 0;
        // The writer holds one batch; the rest waits in the channel.
        while link.to.try_send(long.clone()).is_ok() {
            taken += 1;
            tokio::task::yield_now().await;
        }
        assert_eq!(taken, crate::transport::link::WAITING_MAX + 1);
    }

    #[tokio::test]
    async fn once_closing_only_what_waits_is_written() {
        let (link, TransportEnd { hear, .. }) = pipe();
        link.to.send(Outgoing { text: "{}".to_owned(), ..Outgoing::default() }).await.unwrap();
        let mut written = Vec::new();
        write_lines(&mut written, hear, async {}).await;
        assert_eq!(written, b"{}\n");
        assert!(link.to.is_closed());
    }
}
