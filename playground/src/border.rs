//! How a page in JavaScript calls [`answer`](crate::answer).
//!
//! The page reserves room, writes its question there, asks, and reads the answer from where it is. Only addresses and lengths cross the
//! border, and no address is ever followed on this side.
#![expect(unsafe_code, reason = "exported names; nothing else in here is unsafe")]

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes of the question, and those of the answer.
static ROOM: Mutex<Room> = Mutex::new(Room { question: Vec::new(), answer: Vec::new() });

struct Room {
    question: Vec<u8>,
    answer: Vec<u8>,
}

fn room() -> MutexGuard<'static, Room> {
    ROOM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a question of this length: where it is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_reserve(length: usize) -> *mut u8 {
    let mut room = room();
    room.question = vec![0; length];
    room.question.as_mut_ptr()
}

/// Answers the question that was written: the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_ask() -> usize {
    let mut room = room();
    let question = std::mem::take(&mut room.question);
    room.answer = crate::answer(&String::from_utf8_lossy(&question)).into_bytes();
    room.answer.len()
}

/// Where the answer is, until the next question.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_answer() -> *const u8 {
    room().answer.as_ptr()
}
