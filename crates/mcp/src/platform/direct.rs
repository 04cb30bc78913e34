//! Standard input and output as the runtime likes them best.
//!
//! They are made non-blocking, which is a property of the pipe's end and not of this process. Where standard error
//! shares that end, what others print there could get lost, so it is left alone.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, MetadataExt},
            net::UnixStream as StdUnixStream,
        },
    },
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{UnixStream, unix::pipe},
};

/// Where messages come from.
pub(crate) enum Input {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
}

/// Where messages go.
pub(crate) enum Output {
    Pipe(pipe::Sender),
    Socket(UnixStream),
}

enum Stream {
    Pipe(OwnedFd),
    Socket(UnixStream),
}

/// Standard input, if it is a pipe or a socket.
pub(crate) fn input() -> Option<Input> {
    input_at(io::stdin().as_fd())
}

/// Standard output, if it is a pipe or a socket.
pub(crate) fn output() -> Option<Output> {
    output_at(io::stdout().as_fd())
}

pub(crate) fn input_at(fd: BorrowedFd<'_>) -> Option<Input> {
    match stream(fd).ok()?? {
        Stream::Pipe(fd) => pipe::Receiver::from_owned_fd(fd).ok().map(Input::Pipe),
        Stream::Socket(socket) => Some(Input::Socket(socket)),
    }
}

pub(crate) fn output_at(fd: BorrowedFd<'_>) -> Option<Output> {
    match stream(fd).ok()?? {
        Stream::Pipe(fd) => pipe::Sender::from_owned_fd(fd).ok().map(Output::Pipe),
        Stream::Socket(socket) => Some(Output::Socket(socket)),
    }
}

fn stream(fd: BorrowedFd<'_>) -> io::Result<Option<Stream>> {
    let owned = fd.try_clone_to_owned()?;
    let place = |file: &File| file.metadata().map(|about| (about.dev(), about.ino()));
    let file = File::from(owned);
    let errors = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    if place(&file)? == place(&errors)? {
        return Ok(None);
    }
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() {
        return Ok(Some(Stream::Pipe(file.into())));
    }
    if kind.is_socket() {
        let socket = StdUnixStream::from(OwnedFd::from(file));
        // A socket of another family, such as TCP, has no such address.
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        return UnixStream::from_std(socket).map(|socket| Some(Stream::Socket(socket)));
    }
    Ok(None)
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            Self::Socket(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            Self::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_flush(context),
            Self::Socket(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_shutdown(context),
            Self::Socket(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
