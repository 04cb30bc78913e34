//! Walks through the grammar's tree.

use std::mem::replace;

use rable::{ListOperator, Node, NodeKind};

use super::loops::Loop;
use super::names::short;
use super::sums::looks_like_a_command;
use super::{Input, Reader};
use crate::programs::files::Output;
use crate::programs::table;
use crate::programs::word::Field;
use crate::shell::scan::Place;
use crate::shell::words::without_quotes;

impl Reader {
    /// Reads a compound command: what runs whenever it does, then what may run never, once or often. No value
    /// from before or within is certain.
    pub(super) fn block(&mut self, around: &'static str, always: &[&Node], perhaps: &[&Node], input: &Input) {
        let read = |reader: &mut Self, node: &Node| {
            reader.variables.forget();
            let deeper = |reader: &mut Self| reader.deeper(|reader| reader.node(node, input));
            if around.is_empty() { deeper(reader) } else { reader.within(around, deeper) }
        };
        always.iter().for_each(|node| read(self, node));
        self.perhaps(|reader| perhaps.iter().for_each(|node| read(reader, node)));
        self.variables.forget();
    }

    /// Reads the body of a loop whose variable is bound.
    fn looped(&mut self, within: Loop, read: impl FnOnce(&mut Self)) {
        let freezes = self.variables.freezes();
        self.loops.push(within);
        read(self);
        let is_broken = |it: Loop| it.is_used && (it.is_broken || self.variables.freezes() > freezes);
        if self.loops.pop().is_some_and(is_broken) {
            self.doubt("the variable of a loop may be changed in the loop");
        }
    }

    pub(super) fn node(&mut self, node: &Node, input: &Input) {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.come_to(node);
                self.command(node, assignments, words, redirects, input);
            }
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands, input),
            NodeKind::List { .. } => self.list_of_commands(node, input),
            NodeKind::Negation { pipeline } => self.deeper(|reader| reader.node(pipeline, input)),
            NodeKind::Time { pipeline, .. } => {
                let before = replace(&mut self.is_timed, true);
                self.deeper(|reader| reader.node(pipeline, input));
                self.is_timed = before;
            }
            NodeKind::Subshell { body, redirects } => {
                let input = self.group_files(redirects, input);
                self.subshell(|reader| reader.within("(…)", |reader| reader.node(body, &input)));
            }
            NodeKind::Coproc { command, name } => {
                self.sets(name.as_deref().unwrap_or("COPROC"));
                let read = |reader: &mut Self| reader.node(command, &Input::Computed);
                self.subshell(|reader| reader.within("coproc", read));
            }
            NodeKind::BraceGroup { body, redirects } => {
                let input = self.group_files(redirects, input);
                self.block("", &[body], &[], &input);
            }
            NodeKind::If { condition, then_body, else_body, redirects } => {
                let input = self.group_files(redirects, input);
                let mut bodies: Vec<&Node> = vec![then_body];
                bodies.extend(else_body.as_deref());
                self.block("if", &[condition], &bodies, &input);
            }
            NodeKind::While { condition, body, redirects } => {
                let input = self.group_files(redirects, input);
                self.block("while", &[condition], &[body], &input);
            }
            NodeKind::Until { condition, body, redirects } => {
                let input = self.group_files(redirects, input);
                self.block("until", &[condition], &[body], &input);
            }
            NodeKind::For { var, words, body, redirects } => {
                self.sets(var);
                let words = self.words(words.as_deref().unwrap_or_default());
                self.list_patterns(&words);
                let input = self.group_files(redirects, input);
                let values = Loop::over(var, &words, &mut self.source);
                if values.is_empty() {
                    self.block("for", &[], &[body], &input);
                }
                for value in values {
                    self.looped(value, |reader| reader.block("for", &[], &[body], &input));
                }
            }
            NodeKind::Select { var, words, body, redirects } => {
                self.sets(var);
                let words = self.words(words.as_deref().unwrap_or_default());
                self.list_patterns(&words);
                let input = self.group_files(redirects, input);
                self.block("select", &[], &[body], &input);
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.quoted.computes();
                [init, cond, incr].into_iter().for_each(|text| self.text(text, Place::Quoted));
                let input = self.group_files(redirects, input);
                self.block("for", &[], &[body], &input);
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.words(std::slice::from_ref(word));
                let input = self.group_files(redirects, input);
                self.perhaps(|reader| patterns.iter().for_each(|case| drop(reader.words(&case.patterns))));
                let bodies: Vec<&Node> = patterns.iter().filter_map(|case| case.body.as_ref()).collect();
                self.block("case", &[], &bodies, &input);
            }
            NodeKind::Function { name, body } => {
                // From now on any command may be the function, with whatever it assigns and reads.
                self.variables.freeze();
                let around = format!("function {}", short(name));
                let read = |reader: &mut Self| reader.deeper(|reader| reader.node(body, &Input::Computed));
                self.perhaps(|reader| reader.within(around, read));
            }
            NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
                self.quoted.computes();
                self.text(raw_content, Place::Quoted);
                let input = self.group_files(redirects, input);
                self.variables.forget();
                if looks_like_a_command(raw_content) {
                    // Shells without arithmetic commands see two subshells.
                    let read = |reader: &mut Self| reader.apart(|reader| reader.script(raw_content, &input));
                    self.perhaps(|reader| reader.subshell(|reader| reader.within("(…)", read)));
                }
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.quoted.computes();
                self.condition(body);
                self.group_files(redirects, input);
                self.variables.forget();
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.doubt("the script contains something that cannot be read"),
        }
    }

    /// Reads `a; b; c`, which the grammar nests to the left: a long script is not a deep one.
    pub(super) fn list_of_commands(&mut self, list: &Node, input: &Input) {
        let mut spine = Vec::new();
        let mut first = list;
        while let NodeKind::List { items } = &first.kind {
            let Some((item, following)) = items.split_first() else {
                return;
            };
            spine.push((item.operator, following));
            first = &item.command;
        }
        self.deeper(|reader| reader.node(first, input));
        for (mut operator, following) in spine.into_iter().rev() {
            for item in following {
                self.after(operator);
                let read = |reader: &mut Self| reader.deeper(|reader| reader.node(&item.command, input));
                if matches!(operator, Some(ListOperator::And | ListOperator::Or)) {
                    self.perhaps(read);
                    // It may or may not have run.
                    self.variables.forget();
                } else {
                    read(self);
                }
                operator = item.operator;
            }
            self.after(operator);
        }
    }

    pub(super) fn after(&mut self, operator: Option<ListOperator>) {
        if operator == Some(ListOperator::Background) {
            // It ran in a shell of its own, so what it assigned does not hold here.
            self.variables.forget();
        }
    }

    pub(super) fn condition(&mut self, node: &Node) {
        self.deeper(|reader| match &node.kind {
            NodeKind::UnaryTest { operand: inner, .. }
            | NodeKind::CondNot { operand: inner }
            | NodeKind::CondParen { inner } => {
                reader.condition(inner);
            }
            NodeKind::BinaryTest { left, right, .. } => {
                reader.condition(left);
                reader.condition(right);
            }
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                reader.condition(left);
                reader.perhaps(|reader| reader.condition(right));
            }
            // Quotes in a pattern or a regular expression need not come in pairs: look through all of them.
            // What stands in single quotes is a script to `-v` all the same, and the second reading has passed over it.
            NodeKind::CondTerm { value, .. } if value.contains('\'') => {
                reader.apart(|reader| reader.text(value, Place::Quoted));
                // Quotes within go away before `-v` looks at it: `'b[$(<''x)]'`.
                let plain = without_quotes(value);
                if value.get(1..value.len().saturating_sub(1)) != Some(plain.as_str()) {
                    reader.perhaps(|reader| reader.apart(|reader| reader.text(&plain, Place::Quoted)));
                }
            }
            NodeKind::CondTerm { value, .. } => reader.text(value, Place::Quoted),
            NodeKind::Word { .. } => drop(reader.words(std::slice::from_ref(node))),
            _ => reader.doubt("the script contains a test that cannot be read"),
        });
    }

    pub(super) fn pipeline(&mut self, commands: &[Node], input: &Input) {
        let mut input = input.clone();
        for (at, command) in commands.iter().enumerate() {
            if let NodeKind::Redirect { .. } = command.kind {
                // So the grammar writes the `|&` after a compound command.
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| commands.get(before));
            self.is_fed_below = before.is_some_and(|before| self.lists_for(before, command));
            self.subshell(|reader| reader.node(command, &input));
            self.is_fed_below = false;
            if at.saturating_add(1) < commands.len() {
                input = self.output(command, &input);
            }
        }
        // Some shells run the last command themselves, so that its variables stay.
        self.variables.forget();
    }

    /// Whether a command lists files for the next one, and nothing else: `find src -name x | xargs cat`.
    fn lists_for(&mut self, lists: &Node, next: &Node) -> bool {
        let mut plain = |node: &Node| match &node.kind {
            NodeKind::Command { assignments, words, redirects }
                if assignments.is_empty() && redirects.is_empty() =>
            {
                Some(self.peek(words))
            }
            _ => None,
        };
        let (Some(lists), Some(next)) = (plain(lists), plain(next)) else { return false };
        let is_other = |field: &Field| field.text.starts_with("-a") || field.text.starts_with("--arg-file");
        next.first().is_some_and(|first| table::TAKES_LISTED.contains(&first.text.as_str()))
            && !next.iter().any(is_other)
            && table::lists_files(&lists)
    }

    /// What a command writes, where that is certain without running it.
    pub(super) fn output(&mut self, command: &Node, input: &Input) -> Input {
        let NodeKind::Command { words, redirects, .. } = &command.kind else {
            return Input::Computed;
        };
        let fields: Vec<Field> = self.peek(words);
        let Some((program, arguments)) = fields.split_first().filter(|(program, _)| program.is_certain())
        else {
            return Input::Computed;
        };
        // Escapes and formats change what is written.
        let plain = |field: &Field| {
            field.is_certain() && !field.text.contains(['\\', '%']) && !field.text.starts_with('-')
        };
        let text = || arguments.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
        match table::program(&program.text).map_or(Output::Unknown, |row| row.files.output) {
            Output::Words if arguments.iter().all(plain) => Input::Text(text() + "\n"),
            Output::Format if arguments.len() == 1 && arguments.iter().all(plain) => Input::Text(text()),
            Output::Input if arguments.is_empty() => self.passed_on(redirects, input),
            Output::Tee => self.passed_on(redirects, input),
            _ => Input::Computed,
        }
    }

    /// What a command writes that writes what it reads.
    pub(super) fn passed_on(&mut self, redirects: &[Node], input: &Input) -> Input {
        match self.input_after(redirects, input) {
            Input::Open | Input::Around | Input::Given => Input::Computed,
            known => known,
        }
    }
}
