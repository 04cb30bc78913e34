//! Sessions that were proved and played, as people read them.
//!
//! [`write_session`] writes the table of a spec page, so that a session can be pasted into one. What happens very often in
//! turn fits into no table: it is told once, between two of them.

use std::io;

use lockgate::engine::{
    call::visible,
    prover::{CallEnd, CallIds, Part, Piece, Step, about_fields, pieces},
};
use serde_json::{Map, Value};

/// Writes a session as the table of a spec page. The column `deeds` is there where a tool's name does not say what
/// its calls amount to.
pub(crate) fn write_session(out: &mut dyn io::Write, session: &[Part]) -> io::Result<()> {
    let has_deeds = session.iter().flat_map(|part| &part.steps).any(is_renamed);
    let mut table = SpecTable { out, has_deeds, is_open: false, title: None, ids: CallIds::default() };
    for piece in pieces(session) {
        match piece {
            Piece::Row(step, times) => table.step(step, times)?,
            Piece::Turns(steps, times) => {
                table.end()?;
                table.title = Some(format!("{times} times in turn:"));
                for step in steps {
                    table.step(step, 1)?;
                }
                table.end()?;
                table.title = Some("and then:".to_owned());
            }
        }
    }
    table.end()
}

/// Whether the rules know a call by another name than its tool's.
fn is_renamed(step: &Step) -> bool {
    *step.deed != *step.call.tool && step.ended != CallEnd::LateSuccess
}

struct SpecTable<'a> {
    out: &'a mut dyn io::Write,
    has_deeds: bool,
    is_open: bool,
    /// What is said above the next rows.
    title: Option<String>,
    ids: CallIds,
}

impl SpecTable<'_> {
    fn step(&mut self, step: &Step, times: u64) -> io::Result<()> {
        if step.waited_ms > 0 {
            self.row(&format!("wait {}", duration(step.waited_ms)), "", "")?;
        }
        if step.ended == CallEnd::LateSuccess {
            let id = self.ids.late(step);
            return self.row(&format!("result #{id} ok"), "settled", "");
        }
        let id = self.ids.next(step);
        let mut text = format!("`{}`", call_text(step));
        if times > 1 {
            text.push_str(&format!(" {times} times"));
        }
        let mut words = Vec::new();
        if step.ended == CallEnd::Open {
            words.push(format!("as #{id}"));
        }
        words.extend(said_about(step));
        words.extend(
            step.granted.map(|granted| if granted { "human grants" } else { "human refuses" }.into()),
        );
        match step.ended {
            CallEnd::Open => words.push("runs".to_owned()),
            CallEnd::Failure => words.push("fails".to_owned()),
            CallEnd::Success | CallEnd::Refused | CallEnd::LateSuccess => {}
        }
        if !words.is_empty() {
            text.push_str(if times > 1 { ", " } else { " " });
            text.push_str(&words.join(", "));
        }
        let deeds = if is_renamed(step) { deeds_text(step) } else { String::new() };
        self.row(&text, step.came.word(), &deeds)
    }

    fn row(&mut self, step: &str, verdict: &str, deeds: &str) -> io::Result<()> {
        if !self.is_open {
            self.begin()?;
        }
        let cell = |text: &str| match text {
            "" => " ".to_owned(),
            text => format!(" {} ", bars(&visible(text))),
        };
        write!(self.out, "|{}|{}|", cell(step), cell(verdict))?;
        if self.has_deeds {
            write!(self.out, "{}|", cell(deeds))?;
        }
        writeln!(self.out)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.is_open = true;
        if let Some(title) = self.title.take() {
            writeln!(self.out, "{title}\n")?;
        }
        let (deeds, line) = if self.has_deeds { (" deeds |", "---|") } else { ("", "") };
        writeln!(self.out, "| step | verdict |{deeds}\n|---|---|{line}")
    }

    fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) { writeln!(self.out) } else { Ok(()) }
    }
}

/// A bar in a cell would part it.
fn bars(text: &str) -> String {
    text.replace('|', "\\|")
}

/// All a call amounts to; what is only possible has a question mark.
fn deeds_text(step: &Step) -> String {
    let name = |certain: bool, name: &str| if certain { name.to_owned() } else { format!("{name}?") };
    step.deeds.iter().map(|deed| name(deed.certain, &deed.name)).collect::<Vec<_>>().join(", ")
}

/// A time in the largest unit that fits.
fn duration(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let fitting = units.into_iter().find(|(unit, _)| ms.is_multiple_of(*unit));
    let (unit, word) = fitting.unwrap_or((1, "ms"));
    format!("{} {word}", ms / unit)
}

/// A call as a spec page writes it.
fn call_text(step: &Step) -> String {
    let (tool, input) = (&step.call.tool, &step.call.input);
    let is_plain = |script: &str| !script.contains('`') && visible(script) == script;
    match input.get("command") {
        _ if input.is_empty() => tool.clone(),
        Some(Value::String(script)) if input.len() == 1 && is_plain(script) => format!("{tool} $ {script}"),
        _ => format!("{tool} {}", json_text(input)),
    }
}

/// Who stands behind a call and what the host says about it, as a spec page writes it.
fn said_about(step: &Step) -> Vec<String> {
    let about = &step.call.about;
    let mut said = Vec::new();
    said.extend(about.sender.as_ref().map(|sender| match sender {
        Value::String(name) if !name.contains('`') && visible(name) == *name => format!("from `{name}`"),
        sender => format!("from `{}`", value_text(sender)),
    }));
    said.extend(about.context.as_ref().map(|context| format!("with `{}`", value_text(context))));
    let others: Map<String, Value> =
        about_fields(step).into_iter().filter(|(key, _)| key != "sender" && key != "context").collect();
    said.extend((!others.is_empty()).then(|| format!("about `{}`", json_text(&others))));
    said
}

/// JSON without anything that ends a code span or that a terminal would not show.
fn json_text(input: &Map<String, Value>) -> String {
    value_text(&Value::Object(input.clone()))
}

fn value_text(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        if letter != '`' && visible(letter.encode_utf8(&mut [0; 4])) == letter.to_string() {
            text.push(letter);
        } else {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockgate::engine::{Call, Decision, policy::Deeds, prover::protocol_lines};
    use serde_json::json;

    use super::*;

    fn step(tool: &str, ended: CallEnd) -> Step {
        Step {
            call: Call::new("played", tool),
            deed: Arc::from(tool),
            deeds: Deeds::new(),
            waited_ms: 0,
            decision: Decision::Allow,
            granted: None,
            came: Decision::Allow,
            ended,
        }
    }

    fn table(session: &[Part]) -> String {
        let mut text = Vec::new();
        write_session(&mut text, session).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_said_about_a_call_is_told_with_it() {
        let mut pay = step("pay", CallEnd::Failure);
        pay.call.input.insert("amount".to_owned(), json!(5));
        pay.call.about.sender = Some(json!("ada"));
        pay.call.about.context = Some(json!({"risk": "low"}));
        pay.call.about.principal = Some(json!({"role": "clerk"}));
        pay.call.about.cwd = Some("/srv".to_owned());
        let session = [Part { steps: vec![pay], times: 1 }];
        insta::assert_snapshot!(table(&session), @r#"
        | step | verdict |
        |---|---|
        | `pay {"amount":5}` from `ada`, with `{"risk":"low"}`, about `{"principal":{"role":"clerk"},"cwd":"/srv"}`, fails | allow |
        "#);
        let told = protocol_lines(&session);
        let call = told.first().and_then(|line| line.get("call")).unwrap();
        let fields = ["sender", "context", "principal", "cwd"].map(|field| call.get(field).is_some());
        assert_eq!(fields, [true; 4], "{call}");
    }

    #[test]
    fn each_late_result_is_that_of_a_call_of_its_own() {
        let part = |tool: &str, ended, times| Part { steps: vec![step(tool, ended)], times };
        let session = [
            part("test", CallEnd::Open, 2),
            part("build", CallEnd::Open, 1),
            part("build", CallEnd::LateSuccess, 1),
            part("test", CallEnd::LateSuccess, 2),
        ];
        insta::assert_snapshot!(table(&session), @"
        | step | verdict |
        |---|---|
        | `test` as #1, runs | allow |
        | `test` as #2, runs | allow |
        | `build` as #3, runs | allow |
        | result #3 ok | settled |
        | result #1 ok | settled |
        | result #2 ok | settled |
        ");
        let ids: Vec<Value> = protocol_lines(&session)
            .iter()
            .map(|line| line.get("call").or_else(|| line.get("result")).unwrap()["id"].clone())
            .collect();
        assert_eq!(ids, ["1", "2", "3", "3", "1", "2"]);
    }

    #[test]
    fn a_wait_is_told_in_the_largest_unit() {
        for (ms, text) in [(3_660_000, "61 min"), (90_000_000, "25 h"), (1_001, "1001 ms"), (5_000, "5 s")] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn no_input_breaks_a_table() {
        for (input, text) in [
            (json!({"command": "ls | wc"}), "| `sh $ ls \\| wc` | allow |"),
            (json!({"command": "echo `id`"}), r#"| `sh {"command":"echo \u0060id\u0060"}` | allow |"#),
            (json!({"command": "a\nb"}), r#"| `sh {"command":"a\nb"}` | allow |"#),
            (json!({"command": "a\u{202e}b"}), r#"| `sh {"command":"a\u202eb"}` | allow |"#),
            (json!({"command": ["x|y"]}), r#"| `sh {"command":["x\|y"]}` | allow |"#),
        ] {
            let mut step = step("sh", CallEnd::Success);
            step.call.input = input.as_object().unwrap().clone();
            let table = table(&[Part { steps: vec![step], times: 1 }]);
            assert!(table.contains(text), "{input}\n{table}");
        }
    }
}
