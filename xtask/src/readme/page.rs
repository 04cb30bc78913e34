//! The commands of a Markdown page, with what the page says of each.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A command that a page shows.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) command: String,
    pub(super) ending: Ending,
    /// What it prints, in this order.
    pub(super) shows: Vec<String>,
}

/// How a command ends.
#[derive(Debug, PartialEq)]
pub(super) enum Ending {
    Exit(i32),
    Interrupted,
}

impl Line {
    fn new(command: &str) -> Self {
        Self { command: command.trim().to_owned(), ending: Ending::Exit(0), shows: Vec::new() }
    }
}

/// All commands of a page, in its order.
pub(super) fn commands(text: &str) -> Vec<Line> {
    let mut reader = Reader::default();
    Parser::new_ext(text, Options::ENABLE_TABLES).for_each(|event| reader.read(&event));
    reader.lines
}

#[derive(Default)]
struct Reader {
    lines: Vec<Line>,
    /// The text since the last command or block, in which a command's ending may be said.
    said: String,
    /// Inside of a block of commands and what they print.
    in_console: bool,
    /// Inside of a table that shows what the command before it prints.
    in_shown_table: bool,
    in_head: bool,
    /// The last paragraph ended in `from` and a command.
    is_source: bool,
}

impl Reader {
    fn read(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                self.in_console = matches!(kind, CodeBlockKind::Fenced(name) if &**name == "console");
            }
            Event::End(TagEnd::CodeBlock) => self.in_console = false,
            Event::Start(Tag::Table(_)) => self.in_shown_table = std::mem::take(&mut self.is_source),
            Event::End(TagEnd::Table) => self.in_shown_table = false,
            Event::Start(Tag::TableHead) => self.in_head = true,
            Event::End(TagEnd::TableHead) => self.in_head = false,
            Event::Start(Tag::Paragraph) => {
                self.said.clear();
                self.is_source = false;
            }
            Event::End(TagEnd::TableCell) => self.said.clear(),
            Event::Text(text) if self.in_console => self.read_console(text),
            Event::Code(text) | Event::Text(text) if self.in_shown_table => self.read_shown(text),
            Event::Code(code) if is_command(code) => {
                self.is_source = self.said.trim_end().ends_with("from");
                self.said.clear();
                self.lines.push(Line::new(code));
            }
            Event::Text(text) | Event::Code(text) => {
                self.said.push_str(text);
                self.say_ending();
            }
            Event::SoftBreak | Event::HardBreak => {
                self.said.push(' ');
            }
            _ => {}
        }
    }

    fn read_console(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match line.strip_prefix("$ ") {
                Some(command) => self.lines.push(Line::new(command)),
                None => self.lines.last_mut().into_iter().for_each(|last| last.shows.push(line.to_owned())),
            }
        }
    }

    /// Takes in `(exit N)` and `(until Ctrl-C)` behind a command.
    fn say_ending(&mut self) {
        let Some(rest) = self.said.trim_start().strip_prefix('(') else { return };
        let Some(last) = self.lines.last_mut() else { return };
        if rest.starts_with("until Ctrl-C)") {
            last.ending = Ending::Interrupted;
        } else if let Some(code) =
            rest.strip_prefix("exit ").and_then(|it| it.split(')').next()?.parse().ok())
        {
            last.ending = Ending::Exit(code);
        }
    }

    /// What stands in a table below its command is something that the command prints; a remark in brackets is not.
    fn read_shown(&mut self, text: &str) {
        let text = text.trim();
        if !self.in_head && !text.is_empty() && !text.starts_with('(') {
            self.lines.last_mut().into_iter().for_each(|last| last.shows.push(text.to_owned()));
        }
    }
}

fn is_command(code: &str) -> bool {
    ["cargo ", "echo ", "./"].iter().any(|start| code.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_with_what_the_page_says_of_them() {
        let page = "\
Run `./test`, then see it from `cargo run -- explain a b`:

| the agent calls | verdict |
|---|---|
| `bash` `rm x` | block |
| `cargo build` | (a remark) |

| try |
|---|
| `cargo run -- check` (exit 1) |
| `cargo run -- watch` (until Ctrl-C), and `lockgate` alone is a name |

```console
$ cargo run -- demo
3 calls … a decision

$ ./other
```

```text
cargo run -- not-a-command
```
";
        let line = |command: &str, ending, shows: &[&str]| Line {
            command: command.to_owned(),
            ending,
            shows: shows.iter().map(|it| (*it).to_owned()).collect(),
        };
        assert_eq!(
            commands(page),
            [
                line("./test", Ending::Exit(0), &[]),
                line("cargo run -- explain a b", Ending::Exit(0), &["bash", "rm x", "block", "cargo build"]),
                line("cargo run -- check", Ending::Exit(1), &[]),
                line("cargo run -- watch", Ending::Interrupted, &[]),
                line("cargo run -- demo", Ending::Exit(0), &["3 calls … a decision"]),
                line("./other", Ending::Exit(0), &[]),
            ]
        );
    }
}
