//! Somebody at the other end of two pipes, spoken to in JSON lines.
//!
//! [`Pipes::say`] waits for an answer only so long: a gate that hangs has to fail a test, not stop it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::Value;

/// How long an answer may take, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Pipes {
    to: Box<dyn Write + Send>,
    from: Receiver<String>,
    patience: Duration,
}

impl Pipes {
    pub(crate) fn new(to: impl Write + Send + 'static, from: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        // Reading cannot be given up half-way, so somebody else does it; the thread ends with the pipe.
        thread::spawn(move || {
            let lines = BufReader::new(from).lines().map_while(Result::ok);
            lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
        });
        Self { to: Box::new(to), from: receiver, patience: PATIENCE }
    }

    /// Says one line and hears the answer.
    pub(crate) fn say(&mut self, line: &Value) -> Result<Value, String> {
        let said = writeln!(self.to, "{line}").and_then(|()| self.to.flush());
        said.map_err(|error| format!("nobody listens: {error}"))?;
        let answer = self.from.recv_timeout(self.patience);
        let answer = answer.map_err(|error| format!("no answer to {line}: {error}"))?;
        serde_json::from_str(&answer).map_err(|error| format!("no JSON ({error}): {answer}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeWriter, pipe};

    use serde_json::json;

    use super::*;

    /// Our end, and the writing end of whoever should answer.
    fn pipes() -> (Pipes, PipeWriter) {
        let (from, answers) = pipe().unwrap();
        let mut pipes = Pipes::new(std::io::sink(), from);
        pipes.patience = Duration::from_millis(20);
        (pipes, answers)
    }

    #[test]
    fn silence_an_end_and_noise_are_no_answers() {
        let (mut silent, _answers) = pipes();
        insta::assert_snapshot!(silent.say(&json!({})).unwrap_err(), @"no answer to {}: timed out waiting on channel");
        let (mut ended, answers) = pipes();
        drop(answers);
        insta::assert_snapshot!(ended.say(&json!({})).unwrap_err(), @"no answer to {}: channel is empty and sending half is closed");
        let (mut noisy, mut answers) = pipes();
        answers.write_all(b"oops\n").unwrap();
        insta::assert_snapshot!(noisy.say(&json!({})).unwrap_err(), @"no JSON (expected value at line 1 column 1): oops");
    }
}
