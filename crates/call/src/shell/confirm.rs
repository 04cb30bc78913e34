//! Which commands of a script a success of the whole proves.
//!
//! `cp a b || true` succeeds although nothing was copied, and so do `false && cp a b; true`, `exit; cp a b` and a
//! script that first makes `cp` a function of its own. [`confirm`] therefore vouches for commands only where
//! nothing can come between: the script is a list of plain commands, and its last `a && b && c` proves those by a
//! bare name or in a folder of the system. Everything else may still have worked; it is just not proved.

use rable::{ListOperator, Node, NodeKind};

use crate::programs::launchers::launched_at;
use crate::programs::program::{Builtin, Program};
use crate::programs::table::program;
use crate::shell::script::{Command, Script};

/// The longest script that is vouched for, in commands.
const COMMANDS_MAX: usize = 32;

/// Marks the commands that must have succeeded if the script did; `nodes` is the script, `script` what was
/// seen in it.
pub(crate) fn confirm(script: &mut Script, nodes: &[Node]) {
    let Some(links) = plain_list(nodes) else { return };
    let heads = heads(script);
    // One listed command for each link: nothing hides in a substitution, and no wrapper runs several.
    if script.opaque || links.len() != heads.len() {
        return;
    }
    let listed = heads.iter().filter_map(|at| script.commands.get(*at));
    let is_spoilt = links.iter().zip(listed).enumerate().any(|(at, (link, command))| {
        // What the last command sets, nobody reads.
        let is_followed = at + 1 < links.len();
        // Of bash, or of another shell that may stand behind the tool.
        let spoils = |row: &Program| {
            let sets = row.is(Builtin::Sets) || row.is(Builtin::Names);
            row.is(Builtin::Spoils) || (is_followed && sets)
        };
        command.program.is_none()
            || command.row().is_some_and(spoils)
            || !is_direct(&link.written(), &command.text_with_path)
    });
    if is_spoilt {
        return;
    }
    // From the end: what is joined by `&&` up to whatever separates.
    let mut joined_by = None;
    for (link, at) in links.iter().zip(heads).rev() {
        match (joined_by, link.operator) {
            (None, None | Some(ListOperator::Semi)) | (Some(()), Some(ListOperator::And)) => {}
            (Some(()), Some(ListOperator::Or)) => {
                // The whole chain may have been passed by.
                script.commands.iter_mut().for_each(|command| command.is_confirmed = false);
                return;
            }
            _ => return,
        }
        joined_by = Some(());
        if let Some(command) = script.commands.get_mut(at) {
            command.is_confirmed = command.is_trusted();
        }
    }
}

/// Which of the listed commands stand for themselves. What a launcher starts is listed right after it, and is
/// proved only as the launcher's: `npx cp` may be any program.
fn heads(script: &Script) -> Vec<usize> {
    let before = std::iter::once(None).chain(script.commands.iter().map(Some));
    let pairs = script.commands.iter().zip(before).enumerate();
    let is_head = |(command, before): &(&Command, Option<&Command>)| {
        before.is_none_or(|before| !is_launched(command, before))
    };
    pairs.filter(|(_, pair)| is_head(pair)).map(|(at, _)| at).collect()
}

/// Whether a command is what the one listed before it starts, and nothing else.
fn is_launched(command: &Command, by: &Command) -> bool {
    let Some((around, outer)) = command.reached_by.split_last() else { return false };
    let started = launched_at(&by.words).and_then(|at| by.words.get(at..));
    Some(around) == by.program.as_ref()
        && outer == by.reached_by
        && started == Some(command.words.as_slice())
        && command.redirections.is_empty()
        && command.assignments.is_empty()
}

/// Marks a command that was given as words, and so without a shell that could come between.
pub(crate) fn confirm_words(script: &mut Script, words: &[String]) {
    let written: Vec<&str> = words.iter().map(String::as_str).collect();
    if script.opaque || heads(script).len() != 1 {
        return;
    }
    if let Some(command) = script.commands.first_mut() {
        command.is_confirmed = is_direct(&written, &command.text_with_path) && command.is_trusted();
    }
}

/// One command of a list, and what stands after it.
struct Link<'a> {
    words: &'a [Node],
    operator: Option<ListOperator>,
}

impl Link<'_> {
    fn written(&self) -> Vec<&str> {
        self.words.iter().filter_map(word_text).collect()
    }
}

/// The commands of a script that is nothing but a list of plain commands, in order.
fn plain_list(nodes: &[Node]) -> Option<Vec<Link<'_>>> {
    let mut links = Vec::new();
    // Lists nest to the left, so the walk goes from the end and keeps what is still to come.
    let mut rest: Vec<(&Node, Option<ListOperator>)> = nodes.iter().map(|node| (node, None)).collect();
    // A new line separates like a semicolon.
    let last = rest.len().saturating_sub(1);
    rest.iter_mut().take(last).for_each(|(_, operator)| *operator = Some(ListOperator::Semi));
    while let Some((node, operator)) = rest.pop() {
        match &node.kind {
            NodeKind::Comment { .. } | NodeKind::Empty => {}
            // `ls {PATH}> x` sets a variable as well.
            NodeKind::Command { assignments, words, redirects }
                if assignments.is_empty() && !redirects.iter().any(names_variable) =>
            {
                links.push(Link { words, operator });
            }
            NodeKind::List { items } => {
                let own = items.iter().map(|item| (&item.command, item.operator));
                rest.extend(own);
                // What stands after the list stands after its last command, unless that says so itself.
                if let Some((_, after)) = rest.last_mut().filter(|_| !items.is_empty()) {
                    *after = after.or(operator);
                }
            }
            _ => return None,
        }
        if links.len() + rest.len() > COMMANDS_MAX {
            return None;
        }
    }
    links.reverse();
    Some(links)
}

/// Whether the words name the program themselves, or right behind a wrapper that changes nothing about it. With an
/// option a wrapper may not run it at all (`sudo -l cp a b`) or not wait for it (`sudo -b`), and with a variable it
/// may run another (`sudo PATH=/tmp cp a b`).
fn is_direct(written: &[&str], text_with_path: &str) -> bool {
    let named = text_with_path.split(' ').next();
    let mut rest = written;
    while let [first, after @ ..] = rest
        && let Some(row) = program(first).filter(|row| row.keeps_status)
        && named != Some(*first)
    {
        let takes_limit = row.wrappers.iter().any(|wrapper| wrapper.operands > 0);
        rest = match after {
            [limit, after @ ..] if takes_limit && limit.starts_with(|c: char| c.is_ascii_digit()) => after,
            _ => after,
        };
    }
    rest.first().copied() == named
}

fn names_variable(redirect: &Node) -> bool {
    matches!(redirect.kind, NodeKind::Redirect { varfd: Some(_), .. })
}

fn word_text(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Word { value, .. } => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{read_script, read_words};

    /// The programs whose success is proved, in order.
    fn proved(text: &str) -> Vec<String> {
        let confirmed = |script: crate::Script| {
            let commands = script.commands.into_iter().filter(|command| command.is_confirmed);
            commands.filter_map(|command| command.program).collect()
        };
        confirmed(read_script(text))
    }

    #[test]
    fn only_a_plain_chain_proves_its_commands() {
        let table: &[(&str, &[&str])] = &[
            ("cp a b", &["cp"]),
            ("/usr/bin/cp a b", &["cp"]),
            ("sudo cp a b", &["cp"]),
            ("timeout 5 cp a b", &["cp"]),
            ("mkdir x && cp a x && ls x", &["mkdir", "cp", "ls"]),
            ("cp a b;", &["cp"]),
            ("# keep a copy\ncp a b", &["cp"]),
            ("cp a b > log 2>&1", &["cp"]),
            ("ls; cp a b", &["cp"]),
            ("ls\ncp a b", &["cp"]),
            ("ls || pwd; mkdir x && cp a x", &["mkdir", "cp"]),
            ("make & cp a b", &["cp"]),
            ("./build && cp a b", &["cp"]),
            // Success in spite of a failure, or without a run.
            ("cp a b || true", &[]),
            ("cp a b; true", &["true"]),
            ("cp a b\ntrue", &["true"]),
            ("cp a b &", &[]),
            ("cp a b | cat", &[]),
            ("false && cp a b || true", &[]),
            ("true || cp a b", &[]),
            ("ls; true || ls && cp a b", &[]),
            ("exit 0; cp a b", &[]),
            ("exec true; cp a b", &[]),
            ("command exit; cp a b", &[]),
            ("eval exit; cp a b", &[]),
            ("! cp a b", &[]),
            ("if false; then cp a b; fi", &[]),
            ("for f in; do cp a b; done", &[]),
            ("echo $(cp a b)", &[]),
            ("find . -exec cp a b ';'", &[]),
            ("xargs cp < list", &[]),
            ("trap 'cp a b' EXIT", &[]),
            // Wrappers that were told not to run it, or not to wait for it.
            ("sudo -l cp a b", &[]),
            ("sudo -b cp a b", &[]),
            ("nohup --version cp a b", &[]),
            ("timeout --help cp a b", &[]),
            ("nice sudo cp a b", &["cp"]),
            ("sudo dd if=a of=b", &["dd"]),
            // Launchers are proved, what they start is not.
            ("uv run pytest", &["uv"]),
            ("cd x && timeout 5 uv run npx jest -q && ls", &["cd", "uv", "ls"]),
            ("npx cp a b", &["npx"]),
            ("npx cp a b || true", &[]),
            ("npx -c 'cp a b'", &[]),
            ("uv run bash -c 'cp a b || true'", &[]),
            ("uv run find . -exec cp a b ';'", &[]),
            ("npx cp $(cp a b)", &[]),
            // Another program of that name.
            ("./cp a b", &[]),
            ("/tmp/bin/cp a b", &[]),
            ("PATH=/tmp cp a b", &[]),
            ("sudo PATH=/tmp cp a b", &[]),
            ("env PATH=/tmp cp a b", &[]),
            ("export PATH=/tmp && cp a b", &[]),
            ("alias cp=true && cp a b", &[]),
            ("hash -p /tmp/evil cp && cp a b", &[]),
            ("printf -v PATH /tmp; cp a b", &[]),
            ("read PATH < x; cp a b", &[]),
            ("ls {PATH}> x; cp a b", &[]),
            ("printf done", &["printf"]),
            ("cp() { true; }; cp a b", &[]),
            ("source ./x && cp a b", &[]),
            ("$x && cp a b", &[]),
        ];
        for (script, programs) in table {
            assert_eq!(proved(script), *programs, "{script}");
        }
    }

    #[test]
    fn words_without_a_shell_prove_their_command() {
        let proved = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            read_words(&words).commands.iter().filter(|command| command.is_confirmed).count()
        };
        assert_eq!(proved(&["cp", "a", "b"]), 1);
        assert_eq!(proved(&["bash", "-lc", "cp a b"]), 1);
        assert_eq!(proved(&["bash", "-lc", "cp a b || true"]), 0);
        assert_eq!(proved(&["./cp", "a", "b"]), 0);
        assert_eq!(proved(&["uv", "run", "cp", "a", "b"]), 1);
        assert_eq!(proved(&["uv", "run", "sh", "-c", "cp a b || true"]), 0);
    }

    #[test]
    fn a_script_past_the_limit_proves_nothing() {
        let chain = |links: usize| vec!["cp a b"; links].join(" && ");
        assert_eq!(proved(&chain(super::COMMANDS_MAX)).len(), super::COMMANDS_MAX);
        assert_eq!(proved(&chain(super::COMMANDS_MAX + 1)).len(), 0);
        assert_eq!(proved(&chain(1_500)).len(), 0);
    }
}
