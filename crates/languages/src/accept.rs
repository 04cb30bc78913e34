//! Findings that an author accepts, each with a reason: `# accept redundant: until the old file is gone`.
//!
//! An acceptance stands at the end of the line it is about, or by itself before it. A rule of several lines is accepted
//! in its first line or in that of its `id` or `name`. It takes away the findings of
//! its code there and nothing else; mistakes that keep a policy from loading cannot be accepted. One that
//! takes nothing away is a finding itself, so that none outlives what it was written for.

use lockgate_policy::{Diagnostic, Source, Span};

use crate::{detect::is_yaml, one_line::comment_start, yaml::comment_starts};

/// A finding that its author knows of.
#[derive(Clone, Debug)]
pub struct AcceptedFinding {
    /// The finding.
    pub finding: Diagnostic,
    /// Why it is accepted.
    pub reason: String,
}

struct Acceptance<'s> {
    source: &'s Source,
    code: &'s str,
    reason: &'s str,
    span: Span,
    /// The line it is about.
    line: usize,
}

/// Takes away what the authors of these files accept.
pub fn accept(findings: Vec<Diagnostic>, sources: &[Source]) -> (Vec<Diagnostic>, Vec<AcceptedFinding>) {
    let acceptances: Vec<Acceptance<'_>> = sources.iter().flat_map(acceptances).collect();
    if acceptances.is_empty() {
        return (findings, Vec::new());
    }
    let mut is_used = vec![false; acceptances.len()];
    let (mut kept, mut accepted) = (Vec::new(), Vec::new());
    for finding in findings {
        let lines = lines_of(&finding);
        let fits = |acceptance: &Acceptance<'_>| {
            acceptance.code == finding.code
                && lines.contains(&acceptance.line)
                && !acceptance.reason.is_empty()
                && *acceptance.source == finding.source
        };
        let mut reason = None;
        for (acceptance, is_used) in acceptances.iter().zip(&mut is_used) {
            if fits(acceptance) {
                *is_used = true;
                reason = Some(acceptance.reason.to_owned());
            }
        }
        match reason {
            Some(reason) => accepted.push(AcceptedFinding { finding, reason }),
            None => kept.push(finding),
        }
    }
    let idle = acceptances.iter().zip(is_used).filter(|(_, is_used)| !is_used);
    kept.extend(idle.map(|(acceptance, _)| acceptance.finding()));
    (kept, accepted)
}

impl Acceptance<'_> {
    fn finding(&self) -> Diagnostic {
        let Self { source, code, span, .. } = self;
        if self.reason.is_empty() {
            let message = format!("`{code}` is accepted without a reason, so it is not");
            return Diagnostic::warning("idle-acceptance", source, *span, message)
                .remedy(format!("write why: `# accept {code}: until v2`"));
        }
        let message = format!("nothing is found here that is called `{code}`");
        Diagnostic::warning("idle-acceptance", source, *span, message)
            .remedy("take the acceptance out; what it was written for is gone")
    }
}

/// The lines a finding is about: the one it starts in, and for a rule of several lines the one of its name.
fn lines_of(finding: &Diagnostic) -> [usize; 2] {
    let first = finding.source.place(finding.span).line;
    let before = finding.source.text().get(..finding.span.start).unwrap_or_default();
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
    let is_name = |line: &str| {
        let (indent, key) = line.split_at_checked(column).unwrap_or((line, ""));
        indent.bytes().all(|byte| byte == b' ')
            && key.split_once(':').is_some_and(|(key, _)| ["id", "name"].contains(&key.trim_end()))
    };
    let below = finding.source.slice(finding.span).split('\n').skip(1);
    let name = below.zip(first + 1..).find(|(line, _)| is_name(line)).map(|(_, number)| number);
    [first, name.unwrap_or(first)]
}

fn acceptances(source: &Source) -> Vec<Acceptance<'_>> {
    // Looking for the word first spares most files a second reading.
    if !source.text().contains("accept ") {
        return Vec::new();
    }
    let mut comments = comments(source).into_iter().peekable();
    let mut found = Vec::new();
    // Acceptances that stand by themselves wait for the next line that says something.
    let mut waiting: Vec<usize> = Vec::new();
    let mut start = 0;
    for (line, number) in source.text().split('\n').zip(1..) {
        let comment = comments.next_if(|at| *at <= start + line.len()).and_then(|at| at.checked_sub(start));
        let (said, comment) = comment.and_then(|at| line.split_at_checked(at)).unwrap_or((line, ""));
        let is_bare = said.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty();
        if let Some((code, reason)) = read(comment) {
            if is_bare {
                waiting.push(found.len());
            }
            let span = Span::new(start + said.len(), start + line.trim_end().len());
            found.push(Acceptance { source, code, reason, span, line: number });
        }
        if !is_bare {
            for index in waiting.drain(..) {
                if let Some(acceptance) = found.get_mut(index) {
                    acceptance.line = number;
                }
            }
        }
        start += line.len() + 1;
    }
    found
}

/// Where comments start, at most one a line, in order. What looks like one in a text or a pattern is none.
fn comments(source: &Source) -> Vec<usize> {
    if is_yaml(source) {
        return comment_starts(source);
    }
    let mut start = 0;
    let mut comments = Vec::new();
    for line in source.text().split('\n') {
        comments.extend(comment_start(line).map(|at| start + at));
        start += line.len() + 1;
    }
    comments
}

/// `# accept CODE: REASON`.
fn read(comment: &str) -> Option<(&str, &str)> {
    let said = comment.trim_start_matches('#').trim().strip_prefix("accept ")?;
    let (code, reason) = said.split_once(':').unwrap_or((said, ""));
    let is_code =
        |code: &str| !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_code(code.trim()).then(|| (code.trim(), reason.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> (Vec<&'static str>, usize) {
        let source = Source::new("a.rules", text);
        let (_, findings) = crate::read(std::slice::from_ref(&source));
        let (kept, accepted) = accept(findings, &[source]);
        (kept.iter().map(|finding| finding.code).collect(), accepted.len())
    }

    #[test]
    fn a_finding_is_accepted_on_its_line_with_a_reason() {
        let map = "map bash.command ls as look";
        let plain = codes(&format!("{map}\nblock x\n"));
        assert_eq!(plain, (vec!["unused-map"], 0), "what there is to accept");
        for (text, kept, accepted) in [
            (format!("{map} # accept unused-map: later\nblock x\n"), vec![], 1),
            (format!("# accept unused-map: later\n\n# more\n{map}\nblock x\n"), vec![], 1),
            (format!("{map} # accept unused-map\nblock x\n"), vec!["unused-map", "idle-acceptance"], 0),
            (format!("{map} # accept redundant: later\nblock x\n"), vec!["unused-map", "idle-acceptance"], 0),
            (format!("{map}\nblock x # accept unused-map: no\n"), vec!["unused-map", "idle-acceptance"], 0),
            (format!("{map} # we accept that: it is so\nblock x\n"), vec!["unused-map"], 0),
        ] {
            assert_eq!(codes(&text), (kept, accepted), "{text}");
        }
    }

    /// Whether an acceptance of `dead-tool` in a file takes away what the proof says about its first rule, which is
    /// said about all of the rule.
    fn is_accepted(name: &str, text: &str) -> bool {
        let source = Source::new(name, text);
        let (policy, diagnostics) = crate::read(std::slice::from_ref(&source));
        let policy = policy.unwrap_or_else(|| panic!("{text}: {diagnostics:?}"));
        let rule = policy.rules().next().unwrap_or_else(|| panic!("{text}"));
        let finding = Diagnostic::error("dead-tool", &rule.source, rule.span, "no session calls it");
        let (kept, accepted) = accept(vec![finding], &[source]);
        assert_eq!(
            kept.len(),
            usize::from(accepted.is_empty()) + kept.iter().filter(|it| it.code == "idle-acceptance").count()
        );
        !accepted.is_empty()
    }

    #[test]
    fn a_rule_in_yaml_is_accepted_where_it_begins_or_is_named() {
        let head = "apiVersion: edictum/v1\n";
        let accept = "# accept dead-tool: until v2";
        let rest = "    when: {tool: x}\n    then: block\n";
        let ruleset =
            format!("{head}kind: Ruleset\nmetadata: {{name: r}}\ndefaults: {{mode: enforce}}\nrules:\n");
        let ruleset_rule =
            "    type: session\n    limits: {max_attempts: 1}\n    then: {action: block, message: m}\n";
        let net = "places: {a: 1}\ntransitions:\n  - name: t\n    inputs: [a]\n    tools: [x]\n";
        for (text, is) in [
            (format!("rules:\n  - id: a {accept}\n{rest}"), true),
            (format!("rules:\n  {accept}\n  - id: a\n{rest}"), true),
            (format!("rules:\n  {accept}\n\n  # more\n  - id: a\n{rest}"), true),
            (format!("rules:\n  - then: block\n    when: {{tool: x}}\n    id: a {accept}\n"), true),
            (format!("rules:\n  - then: block {accept}\n    when: {{tool: x}}\n    id: a\n"), true),
            (format!("rules:\n  - {{id: a, when: {{tool: x}}, then: block}} {accept}\n"), true),
            (format!("rules:\n  - id: a\n{rest}{accept}\n"), false),
            (format!("rules: {accept}\n  - id: a\n{rest}"), false),
            (format!("rules:\n  - id: a\n    when: {{tool: x}} {accept}\n    then: block\n"), false),
            (format!("{ruleset}  - id: a {accept}\n{ruleset_rule}"), true),
            (format!("{ruleset}{accept}\n  - id: a\n{ruleset_rule}"), true),
            (format!("{accept}\nkind: Net\nname: n\n{net}"), true),
            (format!("kind: Net\nname: n {accept}\n{net}"), true),
            (format!("{net}kind: Net\nname: n {accept}\n"), true),
            // The name of something inside of the net is not that of the net.
            (format!("kind: Net\n{}name: n\n", net.replace("name: t", &format!("name: t {accept}"))), false),
            (format!("{head}kind: Workflow\nmetadata:\n  name: w {accept}\nstages: [{{id: s}}]\n"), true),
            (format!("{head}kind: Workflow\nmetadata:\n  {accept}\n  name: w\nstages: [{{id: s}}]\n"), true),
        ] {
            assert_eq!(is_accepted("a.yaml", &text), is, "{text}");
            assert_eq!(is_accepted("a.yaml", &text.replace('\n', "\r\n")), is, "{text}");
        }
    }

    #[test]
    fn what_is_said_in_a_text_accepts_nothing() {
        let rule = "when: {tool: x}, then: block";
        for text in [
            format!("rules:\n  - {{id: a, {rule}, message: \"no # accept dead-tool: why\"}}\n"),
            format!("rules:\n  - {{id: a, {rule}, message: 'it''s # accept dead-tool: why'}}\n"),
            format!("rules:\n  - {{id: a, {rule}, message: no# accept dead-tool why}}\n"),
            "rules:\n  - id: a\n    then: block\n    message: |\n      # accept dead-tool: why\n      no\n"
                .to_owned(),
            "rules:\n  - message: >\n      # accept dead-tool: why\n    id: a\n    then: block\n".to_owned(),
            "rules:\n  - message: \"x\n     # accept dead-tool: why\"\n    id: a\n    then: block\n"
                .to_owned(),
            r##"{"rules": [{"id": "# accept dead-tool: why", "then": "block"}]}"##.to_owned(),
        ] {
            assert!(!is_accepted("a.yaml", &text), "{text}");
        }
        // Behind such a text a comment is one.
        let text =
            format!("rules:\n  - {{id: a, {rule}, message: \"no # accept x: y\"}} # accept dead-tool: why\n");
        assert!(is_accepted("a.yaml", &text));
        for text in [
            "map bash.command /a#accept/ as look # accept unused-map: why\nblock x\n",
            "# accept unused-map: why\nmap bash.command /[#/]#/ as look # not this one\nblock x\n",
        ] {
            assert_eq!(codes(text), (vec![], 1), "{text}");
        }
    }
}
