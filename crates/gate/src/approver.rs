//! Who is asked when a rule wants a human.
//!
//! An [`Approver`] answers a [`Question`] while the caller waits. Doors where the answer comes from elsewhere
//! (another process, a web page) do not use it: they pass the question on and call
//! [`Gate::answer`](crate::Gate::answer) later.

use std::{
    collections::VecDeque,
    io::{BufRead, Write},
};

use lockgate_call::{Call, canonical_json, visible};
use serde_json::{Map, Value};

use crate::{human::Answer, state::ApprovalId, verdict::Obstacle};

/// What a human is asked: one question for all rules that want an answer.
#[derive(Debug)]
pub struct Question<'a> {
    /// The name of the question.
    pub approval: &'a ApprovalId,
    /// The call; a grant is for exactly this.
    pub call: &'a Call,
    /// The input the tool would run with: the call's own, or without what rules want masked.
    pub input: &'a Map<String, Value>,
    /// The rules that want the human, and why.
    pub wanted_by: &'a [Obstacle],
}

/// A human, or a program, that can be asked.
pub trait Approver {
    /// Answers a question. Anything but a clear yes must not be a grant.
    fn ask(&mut self, question: &Question<'_>) -> Answer;
}

/// No human: every call that needs one is blocked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        Answer::Nobody
    }
}

/// Answers from a list, one for each question, then no answer: for tests and scripted sessions.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    answers: VecDeque<Answer>,
}

impl Scripted {
    /// Answers in this order.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: answers.into_iter().collect() }
    }
}

impl Approver for Scripted {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        self.answers.pop_front().unwrap_or(Answer::Nobody)
    }
}

/// Asks on a terminal, or on anything with lines in and text out.
#[derive(Debug)]
pub struct Prompt<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Prompt<R, W> {
    /// Asks on `output` and reads the answer from `input`.
    pub fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    fn try_ask(&mut self, question: &Question<'_>) -> std::io::Result<Answer> {
        writeln!(self.output, "{}", question_text(question))?;
        write!(self.output, "Allow? [y/N] ")?;
        self.output.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(Answer::Nobody);
        }
        let yes = ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str());
        Ok(if yes { Answer::Granted } else { Answer::Refused })
    }
}

impl<R: BufRead, W: Write> Approver for Prompt<R, W> {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        // A terminal that fails gives no answer, and no answer is not a grant.
        self.try_ask(question).unwrap_or(Answer::Nobody)
    }
}

/// What a human has to see before saying yes: the rules, the tool and the whole input.
pub fn question_text(question: &Question<'_>) -> String {
    let mut text =
        format!("Approve: {} ({})", visible(&question.call.tool), visible(&question.approval.to_string()));
    for obstacle in question.wanted_by {
        text.push_str(&format!("\n  {}  [{}]", visible(&obstacle.reason), visible(&obstacle.name)));
    }
    text.push_str(&format!("\n  input: {}", visible(&canonical_json(question.input))));
    text
}
