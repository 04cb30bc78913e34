//! The outline of a script by the grammar's tree.

use rable::{ListOperator, Node, NodeKind, PipeSep};

use super::form::Outline;

pub(super) fn outline(nodes: &[Node]) -> String {
    let mut outline = Outline { text: String::with_capacity(64), ..Outline::default() };
    nodes.iter().for_each(|node| outline.node(node));
    outline.finish()
}

impl Outline {
    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.command(assignments, words, redirects);
            }
            NodeKind::Pipeline { commands, separators } => self.pipeline(commands, separators),
            NodeKind::List { .. } => self.list(node),
            NodeKind::Negation { pipeline } => {
                self.mark('!');
                self.node(pipeline);
            }
            NodeKind::Time { pipeline, posix } => {
                self.mark(if *posix { 'P' } else { 'T' });
                self.node(pipeline);
            }
            NodeKind::Subshell { body, redirects } => self.block('(', &[(body, ')')], redirects),
            NodeKind::BraceGroup { body, redirects } => self.block('{', &[(body, '}')], redirects),
            NodeKind::Coproc { command, name } => {
                self.mark('Q');
                self.write(name.as_deref().unwrap_or_default());
                self.node(command);
            }
            NodeKind::If { condition, then_body, else_body, redirects } => match else_body {
                Some(other) => {
                    self.block('I', &[(condition, 't'), (then_body, 'e'), (other, 'f')], redirects);
                }
                None => self.block('I', &[(condition, 't'), (then_body, 'f')], redirects),
            },
            NodeKind::While { condition, body, redirects } => {
                self.block('W', &[(condition, 'd'), (body, 'D')], redirects);
            }
            NodeKind::Until { condition, body, redirects } => {
                self.block('U', &[(condition, 'd'), (body, 'D')], redirects);
            }
            NodeKind::For { var, words, body, redirects } => self.loop_over('F', var, words, body, redirects),
            NodeKind::Select { var, words, body, redirects } => {
                self.loop_over('S', var, words, body, redirects)
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                for part in [init, cond, incr] {
                    self.write(part);
                    self.mark(';');
                }
                self.block('d', &[(body, 'D')], redirects);
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.mark('C');
                self.word(word, 'w');
                for case in patterns {
                    case.patterns.iter().for_each(|pattern| self.word(pattern, 'p'));
                    case.body.iter().for_each(|body| self.node(body));
                    self.write(&case.terminator);
                    self.mark(';');
                }
                self.mark('E');
                self.redirects(redirects);
            }
            NodeKind::Function { name, body } => {
                self.write(name);
                self.mark('N');
                self.node(body);
            }
            NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
                self.write(raw_content);
                self.mark('s');
                self.redirects(redirects);
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.mark('[');
                self.condition(body);
                self.mark(']');
                self.redirects(redirects);
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.mark('?'),
        }
    }

    fn command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        assignments.iter().for_each(|word| self.word(word, 'a'));
        words.iter().for_each(|word| self.word(word, 'w'));
        self.redirects(redirects);
        self.mark('.');
    }

    fn pipeline(&mut self, commands: &[Node], separators: &[PipeSep]) {
        // After `|&` the grammar adds a redirection, to the command or beside it.
        let commands = commands.iter().filter(|node| !matches!(node.kind, NodeKind::Redirect { .. }));
        let separators = separators.iter().map(Some).chain([None]);
        for (command, separator) in commands.zip(separators) {
            match (&command.kind, separator) {
                (NodeKind::Command { assignments, words, redirects }, Some(PipeSep::PipeBoth)) => {
                    let written = redirects.split_last().map_or(&[][..], |(_, written)| written);
                    self.command(assignments, words, written);
                }
                _ => self.node(command),
            }
            match separator {
                Some(PipeSep::PipeBoth) => self.mark('B'),
                Some(_) => self.mark('|'),
                None => {}
            }
        }
    }

    /// Writes `a; b; c`, which the grammar nests to the left: a long script is not a deep one.
    fn list(&mut self, list: &Node) {
        let mut spine = Vec::new();
        let mut first = list;
        while let NodeKind::List { items } = &first.kind {
            let Some((item, following)) = items.split_first() else { break };
            spine.push((item.operator, following));
            first = &item.command;
        }
        if !matches!(first.kind, NodeKind::List { .. }) {
            self.node(first);
        }
        for (operator, following) in spine.into_iter().rev() {
            self.operator(operator);
            for item in following {
                self.node(&item.command);
                self.operator(item.operator);
            }
        }
    }

    fn operator(&mut self, operator: Option<ListOperator>) {
        match operator {
            Some(ListOperator::And) => self.mark('A'),
            Some(ListOperator::Or) => self.mark('O'),
            Some(ListOperator::Background) => self.mark('&'),
            Some(ListOperator::Semi) | None => {}
        }
    }

    /// Writes parts, each with the mark that stands behind it.
    fn block(&mut self, start: char, parts: &[(&Node, char)], redirects: &[Node]) {
        self.mark(start);
        for (part, end) in parts {
            self.node(part);
            self.mark(*end);
        }
        self.redirects(redirects);
    }

    fn loop_over(
        &mut self,
        start: char,
        name: &str,
        words: &Option<Vec<Node>>,
        body: &Node,
        redirects: &[Node],
    ) {
        self.mark(start);
        self.write(name);
        self.mark('n');
        words.iter().flatten().for_each(|word| self.word(word, 'w'));
        self.block('d', &[(body, 'D')], redirects);
    }

    fn word(&mut self, word: &Node, kind: char) {
        match &word.kind {
            NodeKind::Word { value, .. } => self.write(value),
            _ => self.mark('?'),
        }
        self.mark(kind);
    }

    fn redirects(&mut self, redirects: &[Node]) {
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::Redirect { op, .. } if op == ">&-" => {
                    self.write("-");
                    self.mark('r');
                }
                NodeKind::Redirect { op, target, fd, varfd } => {
                    self.descriptor(*fd, varfd.as_deref());
                    self.write(op);
                    self.word(target, 'r');
                }
                NodeKind::HereDoc { content, strip_tabs, quoted, fd, .. } => {
                    self.descriptor(*fd, None);
                    self.mark(if *strip_tabs { '-' } else { '<' });
                    self.mark(if *quoted { '\'' } else { '$' });
                    self.write_body(content);
                }
                _ => self.mark('?'),
            }
        }
    }

    fn descriptor(&mut self, number: i32, name: Option<&str>) {
        if number >= 0 {
            self.write(&number.to_string());
        }
        if let Some(name) = name {
            self.write(name);
            self.mark('v');
        }
    }

    fn condition(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                self.term(op);
                self.condition(operand);
            }
            NodeKind::BinaryTest { op, left, right } => {
                self.condition(left);
                self.term(op);
                self.condition(right);
            }
            NodeKind::CondAnd { left, right } => {
                self.condition(left);
                self.term("&&");
                self.condition(right);
            }
            NodeKind::CondOr { left, right } => {
                self.condition(left);
                self.term("||");
                self.condition(right);
            }
            NodeKind::CondNot { operand } => {
                self.term("!");
                self.condition(operand);
            }
            NodeKind::CondParen { inner } => {
                self.term("(");
                self.condition(inner);
                self.term(")");
            }
            NodeKind::CondTerm { value, .. } | NodeKind::Word { value, .. } => self.term(value),
            _ => self.mark('?'),
        }
    }

    /// Writes one word of `[[ … ]]`. The grammar adds a `-n` where none is written.
    pub(super) fn term(&mut self, text: &str) {
        if text != "-n" {
            self.write(text);
            self.mark('k');
        }
    }
}
