//! The controlling terminal, whatever stdin and stdout are: what is asked there, and what is typed.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
};

use lockgate::engine::call::visible;
use zeroize::Zeroizing;

use crate::platform;

/// How many bytes of an answer are read.
const ANSWER_BYTES_MAX: u64 = 1024;

/// The controlling terminal.
pub(crate) struct Terminal(File);

impl Terminal {
    /// Opens it.
    ///
    /// # Errors
    /// When the process has none.
    pub(super) fn open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Self(file))
    }

    /// Shows a text, with every character spelt out that a reader would not see.
    pub(crate) fn show(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            writeln!(self.0, "{}", visible(line))?;
        }
        Ok(())
    }

    /// Has a random word typed back.
    pub(crate) fn ask_word(&mut self, deed: &str) -> io::Result<bool> {
        let word = random_word()?;
        // What was typed before the question is not an answer to it.
        platform::forget_typed(&self.0)?;
        write!(self.0, "Type {word} to {}, or anything else to leave it: ", visible(deed))?;
        self.0.flush()?;
        Ok(self.line()?.trim() == word)
    }

    /// Has a passphrase typed, which is not shown; empty for none.
    pub(crate) fn ask_hidden(&mut self, prompt: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        platform::forget_typed(&self.0)?;
        let mut file = &self.0;
        let typed = {
            let _hidden = platform::HiddenTyping::begin(file)?;
            write!(file, "{}: ", visible(prompt))?;
            file.flush()?;
            hidden_line(file)
        };
        writeln!(file)?;
        typed
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        BufReader::new(Read::by_ref(&mut self.0).take(ANSWER_BYTES_MAX)).read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }
}

/// Reads byte by byte, because the terminal edits no line while typing is hidden.
fn hidden_line(mut terminal: &File) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(ANSWER_BYTES_MAX as usize));
    let mut byte = [0];
    loop {
        if terminal.read(&mut byte)? == 0 {
            return Ok(Zeroizing::default());
        }
        match byte {
            [b'\r' | b'\n'] => return Ok(line),
            // Control-C and Control-D leave it.
            [3 | 4] => return Ok(Zeroizing::default()),
            // Control-U.
            [21] => line.clear(),
            [8 | 127] => erase(&mut line),
            [byte] if (line.len() as u64) < ANSWER_BYTES_MAX => line.push(byte),
            _ => {}
        }
    }
}

/// Takes the last character away, of however many bytes.
fn erase(line: &mut Vec<u8>) {
    while let Some(byte) = line.pop() {
        if byte & 0b1100_0000 != 0b1000_0000 {
            break;
        }
    }
}

/// Six letters that can be read aloud.
fn random_word() -> io::Result<String> {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let letters = bytes.iter().enumerate().filter_map(|(at, byte)| {
        let all = if at % 2 == 0 { CONSONANTS } else { VOWELS };
        all.get(usize::from(*byte) % all.len()).map(|letter| char::from(*letter))
    });
    Ok(letters.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_can_be_typed() {
        let words: Vec<String> = (0..8).map(|_| random_word().unwrap()).collect();
        assert!(words.iter().all(|word| word.len() == 6 && word.chars().all(|it| it.is_ascii_lowercase())));
        assert!(words.iter().any(|word| *word != words[0]), "{words:?}");
    }

    #[test]
    fn a_character_is_erased_whole() {
        for (typed, left) in [("", ""), ("a", ""), ("aé", "a"), ("a€", "a"), ("😀", "")] {
            let mut line = typed.as_bytes().to_vec();
            erase(&mut line);
            assert_eq!(line, left.as_bytes(), "{typed}");
        }
    }
}
