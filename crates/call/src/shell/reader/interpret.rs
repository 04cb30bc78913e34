//! Code in another language: where it comes from, and what it hands on.

use super::{BROUGHT_BYTES_MAX, Input, Reader};
use crate::programs::inner::{Inner, Unwrapped};
use crate::programs::interpreters::Interpreter;
use crate::programs::word::{Field, Known, Word};
use crate::shell::written::Content;

impl Reader {
    /// Reads code in another language for what it runs.
    pub(super) fn interpret(
        &mut self,
        interpreter: &Interpreter,
        program: String,
        words: Vec<Field>,
        unwrapped: Unwrapped,
        input: &Input,
    ) {
        // Some run programs as well: `bun x jest`.
        let mut unwrapped = Unwrapped { own: true, ..unwrapped };
        let arguments = words.get(1..).unwrap_or_default();
        let sources = interpreter.sources(arguments);
        let mut code: Option<String> = None;
        let mut is_from_file = false;
        if !sources.inline.is_empty() {
            unwrapped.label = Some(sources.label);
            let is_known = interpreter.is_filter() || sources.inline.iter().all(Field::is_certain);
            unwrapped.inner.extend((!is_known).then_some(Inner::Unknown));
            let parts: Vec<&str> = sources.inline.iter().map(|part| part.text.as_str()).collect();
            code = Some(parts.join("\n"));
        }
        let mut others = Vec::new();
        if sources.input {
            let told = told(input);
            let is_passed_by = interpreter.trusts_input && matches!(told, Content::Unknown);
            if matches!(input, Input::Open) && !is_passed_by {
                unwrapped.inner.push(Inner::Typed);
            } else {
                others.extend((!is_passed_by).then_some(told));
            }
        }
        let makefile = sources.makefile.then(|| self.makefile()).flatten();
        for file in sources.files.iter().chain(&sources.loads).chain(&makefile) {
            others.push(match &file.text {
                text if text.contains("<(") || text.contains("/dev/") && text != "/dev/null" => {
                    Content::Unknown
                }
                _ => self.written.read(file, &self.found.commands, &self.open),
            });
        }
        for content in others {
            match content {
                Content::Text(text) => {
                    is_from_file = true;
                    code = Some(code.map_or(text.clone(), |code| format!("{code}\n{text}")));
                }
                Content::Unknown => unwrapped.inner.push(Inner::Unknown),
                Content::Foreign | Content::Read => {}
            }
        }
        unwrapped.inner.extend(sources.commands.into_iter().map(Inner::Script));
        if let Some((module, words)) = &sources.module {
            self.bring_in(interpreter, &module.text, &mut unwrapped, &mut code);
            let is_code = |word: &&Field| word.text.contains(['(', ';', '`', '\n']);
            let parts: Vec<&str> = words.iter().filter(is_code).map(|word| word.text.as_str()).collect();
            if module.text == "timeit" && !parts.is_empty() {
                code = Some(parts.join("\n"));
            } else if !parts.is_empty() {
                unwrapped.inner.extend(interpreter.handed_on(&parts.join("\n")));
            }
        }
        if let Some(code) = &code {
            unwrapped.inner.extend(interpreter.handed_on(code));
        }
        if !self.written.is_empty() && !interpreter.is_filter() {
            // A name may be glued to an option: `perl -Mq`.
            let glued = arguments.iter().filter_map(|word| word.text.strip_prefix('-')?.get(1..));
            let said =
                arguments.iter().map(|word| word.text.as_str()).chain(glued).collect::<Vec<_>>().join(" ");
            self.bring_in(interpreter, &said, &mut unwrapped, &mut code);
        }
        if is_from_file && let Some(code) = code.as_deref().filter(|_| interpreter.is_filter()) {
            // What such code opens is seen by those who look at words only where it is among them.
            let words = match interpreter.opens(code) {
                Some(files) => files
                    .into_iter()
                    .map(|file| Word { text: file.to_owned(), known: Known::Certain })
                    .collect(),
                None => vec![Word { text: code.to_owned(), known: Known::Unknown }],
            };
            self.attached.wrapper_places.extend(words);
        }
        if !sources.input && interpreter.goes_on(arguments, code.as_deref().unwrap_or_default()) {
            match told(input) {
                Content::Text(text) => unwrapped.inner.extend(interpreter.handed_on(&text)),
                Content::Unknown if matches!(input, Input::Open) => unwrapped.inner.push(Inner::Typed),
                Content::Unknown => unwrapped.inner.push(Inner::Unknown),
                Content::Foreign | Content::Read => {}
            }
        }
        // What `sed` runs is all listed; the rest of its code is text to look for and to put in.
        let code = code.filter(|_| !interpreter.is_text());
        self.hand_on(program, words, unwrapped, code, input);
    }

    /// The makefile that the script wrote under a usual name.
    fn makefile(&self) -> Option<Field> {
        let mut names = ["Makefile", "makefile", "GNUmakefile"].into_iter();
        names.find(|name| self.written.holds(name)).map(Field::certain)
    }

    /// Reads files that the script wrote and that code brings in by their name: `python -c 'import q'`.
    fn bring_in(
        &mut self,
        interpreter: &Interpreter,
        said: &str,
        unwrapped: &mut Unwrapped,
        code: &mut Option<String>,
    ) {
        let (texts, is_unknown) = self.written.brought_in(said);
        unwrapped.inner.extend(is_unknown.then_some(Inner::Unknown));
        let mut bytes = self.brought_bytes;
        for (text, is_code) in texts {
            bytes = bytes.saturating_add(text.len());
            if bytes > BROUGHT_BYTES_MAX {
                unwrapped.inner.push(Inner::Unknown);
                break;
            }
            unwrapped.inner.extend(interpreter.handed_on(text));
            // The name of a program in a file of data says nothing.
            if is_code && code.as_ref().is_none_or(|code| !code.contains(text)) {
                *code = Some(code.take().map_or(text.to_owned(), |code| format!("{code}\n{text}")));
            }
        }
        self.brought_bytes = bytes;
    }
}

/// What a program finds that reads its standard input.
fn told(input: &Input) -> Content {
    match input {
        Input::Text(text) => Content::Text(text.clone()),
        Input::Open | Input::Around | Input::Computed => Content::Unknown,
        Input::Given => Content::Foreign,
    }
}
