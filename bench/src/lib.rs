//! Policies and calls to measure on, shared by all benches.
//!
//! The rules are what people write: a fifth each of the five statements, over tools of their own, so that a
//! call touches one rule however many there are.

use lockgate::{Call, Source};

/// The text of a policy with `n_rules` rules; the first rule limits `push`.
pub fn rules(n_rules: usize) -> String {
    let mut text = String::from("limit push to 9223372036854775808 per session\n");
    for number in 1..n_rules {
        let statement = match number % 5 {
            0 => format!("limit push{number} to 3 per session\n"),
            1 => format!("require backup{number} before delete{number}\n"),
            2 => format!("require human-approval before deploy{number}\n"),
            3 => format!("block shell{number}\n"),
            _ => format!("limit send{number} to 5 per read{number}\n"),
        };
        text.push_str(&statement);
    }
    text
}

/// The same as a file.
pub fn source(n_rules: usize) -> Source {
    Source::new("bench.rules", rules(n_rules))
}

/// A call that touches exactly one rule of [`rules`].
pub fn call() -> Call {
    Call::new("call-1", "push").with("branch", "main")
}
