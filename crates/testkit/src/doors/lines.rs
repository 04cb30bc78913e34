//! The line protocol, served in this process by the code behind `lockgate gate`.

use std::{
    io::{BufReader, pipe},
    thread,
};

use lockgate_cli::{Clock, ServeOptions, serve};
use serde_json::Value;

use super::{library::build_gate, pipes::Pipes};
use crate::{Door, Options, PolicyFile};

/// Speaks to a server of the line protocol on a thread; dropping the door ends it.
#[derive(Default)]
pub struct LinesDoor {
    pipes: Option<Pipes>,
}

impl Door for LinesDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        let gate = build_gate(policy, options)?;
        let (input, to) = pipe().map_err(|error| error.to_string())?;
        let (from, output) = pipe().map_err(|error| error.to_string())?;
        thread::spawn(move || {
            let options = ServeOptions { clock: Clock::Lines, ..ServeOptions::default() };
            // A service that fails closes its pipe, and that is heard at the other end.
            let _ = serve(&gate, &options, BufReader::new(input), output);
        });
        self.pipes = Some(Pipes::new(to, from));
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        self.pipes.as_mut().ok_or("the door is not open")?.say(&line)
    }
}
