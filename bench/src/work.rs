//! The work everybody is measured on: policies that mean the same in every language, and the calls that meet them.
//!
//! Texts are written for each language as its users would write them. Where a language cannot say a work, there is no
//! text, and the table says so.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::job::{Earlier, Request, Told};

/// What rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Each rule is about a tool of its own and a word in its command; the call is of a tool that no rule names.
    None,
    /// The same rules; the call is of the last rule's tool, and the word is not in it.
    One,
    /// Each rule is about every tool and a word in its command; none of the words is in the call.
    Contains,
    /// The same with a regular expression.
    Regex,
    /// Each rule wants a backup before a deletion of its own; the last rule's backup was made, and its deletion is
    /// called.
    Sequence,
}

/// A language that policies are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// One-line rules.
    Rules,
    /// When/then files.
    WhenThen,
    /// Rulesets.
    Ruleset,
    /// Cedar.
    Cedar,
    /// Dogwood.
    Dogwood,
    /// Invariant.
    Invariant,
}

impl Language {
    /// What a file of it is called.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Rules => "policy.rules",
            Self::WhenThen => "policy.yaml",
            Self::Ruleset => "ruleset.yaml",
            Self::Cedar => "policy.cedar",
            Self::Dogwood => "policy.dogwood",
            Self::Invariant => "policy.inv",
        }
    }
}

/// More would be too large a file.
const RULESET_RULES_MAX: usize = 5_000;

/// One of a work's rules, where the language can say it.
type WriteRule = fn(Work, usize) -> Option<String>;

/// An everyday command that no rule minds.
pub const COMMAND: &str =
    "cargo test --workspace --all-features -- --nocapture 2>&1 | tee target/test.log | tail -20";

/// Two lines of a build script, as agents write them: folders, a condition, a loop, substitution and redirection.
pub const SCRIPT_STEP: &str = "mkdir -p build/$n && cp -r src/*.rs build/ && if [ -f Makefile ]; then make -j4 2>&1 | tee log; fi\n\
    for f in $(ls src); do echo \"compiling $f\" >> log; rustc \"src/$f\" -o \"build/${f%.rs}\" || exit 1; done\n";

impl Work {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::None, Self::One, Self::Contains, Self::Regex, Self::Sequence];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "rules about other tools",
            Self::One => "one rule about this tool",
            Self::Contains => "every rule looks for a word",
            Self::Regex => "every rule has a regex",
            Self::Sequence => "one rule about what came before",
        }
    }

    /// Its policy of so many rules; none where the language cannot say it.
    pub fn policy(self, language: Language, n_rules: usize) -> Option<String> {
        self.part(language, 0..n_rules)
    }

    /// The same as files that its readers take: rulesets may have a megabyte each.
    pub fn files(self, language: Language, n_rules: usize) -> Option<Vec<(String, String)>> {
        let name = language.file_name();
        let most = if language == Language::Ruleset { RULESET_RULES_MAX } else { usize::MAX };
        if n_rules <= most {
            return Some(vec![(name.to_owned(), self.policy(language, n_rules)?)]);
        }
        let parts = (0..n_rules).step_by(most).enumerate();
        let file = |(number, start): (usize, usize)| {
            let text = self.part(language, start..n_rules.min(start + most))?;
            Some((format!("{number}-{name}"), text))
        };
        parts.map(file).collect()
    }

    fn part(self, language: Language, numbers: Range<usize>) -> Option<String> {
        let (head, rule): (&str, WriteRule) = match language {
            Language::Rules => ("", one_line),
            Language::WhenThen => ("rules:\n", when_then),
            Language::Ruleset => (
                "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: bench}\ndefaults: {mode: enforce}\nrules:\n",
                ruleset,
            ),
            Language::Cedar => ("permit(principal, action, resource);\n", cedar),
            Language::Dogwood => ("permit(principal, action, resource);\n", dogwood),
            Language::Invariant => ("from invariant import count\n\n", invariant),
        };
        let rules = numbers.map(|number| rule(self, number)).collect::<Option<String>>()?;
        Some(format!("{head}{rules}"))
    }

    /// What the language wants to be told about the tools of such a policy, as a file with its name.
    pub fn schema(self, language: Language, n_rules: usize) -> Option<(&'static str, String)> {
        (language == Language::Dogwood).then(|| ("tools.cedarschema", cedar_schema(self, n_rules)))
    }

    /// The call to decide under so many rules.
    pub fn call(self, n_rules: usize) -> Request {
        let last = n_rules.saturating_sub(1);
        match self {
            Self::None => request("read_file", "command", COMMAND),
            Self::One => request(&format!("tool_{last}"), "command", COMMAND),
            Self::Contains | Self::Regex => request("exec", "command", COMMAND),
            Self::Sequence => request(&format!("delete_{last}"), "path", "/srv/data/old.db"),
        }
    }

    /// What has to have happened before it.
    pub fn earlier(self, n_rules: usize) -> Vec<Earlier> {
        let last = n_rules.saturating_sub(1);
        match self {
            Self::Sequence => {
                vec![Earlier {
                    call: request(&format!("backup_{last}"), "path", "/srv/data/old.db"),
                    times: 1,
                }]
            }
            _ => Vec::new(),
        }
    }

    /// What has to come out.
    pub fn expect(self) -> Told {
        Told::Allow
    }
}

/// A call with one argument.
pub fn request(tool: &str, name: &str, value: &str) -> Request {
    Request { tool: tool.to_owned(), input: Map::from_iter([(name.to_owned(), Value::from(value))]) }
}

fn one_line(work: Work, number: usize) -> Option<String> {
    (work == Work::Sequence).then(|| format!("require backup_{number} before delete_{number}\n"))
}

fn when_then(work: Work, number: usize) -> Option<String> {
    let when = match work {
        Work::None | Work::One => {
            format!("tool: tool_{number}, args: {{command: {{contains: 'drop table t{number};'}}}}")
        }
        Work::Contains => format!("args: {{command: {{contains: 'drop table t{number};'}}}}"),
        Work::Regex => format!("args: {{command: {{regex: 'rm +-rf +/x{number}\\b'}}}}"),
        Work::Sequence => return None,
    };
    Some(format!("  - {{id: r{number}, when: {{{when}}}, then: block}}\n"))
}

fn ruleset(work: Work, number: usize) -> Option<String> {
    let (tool, when) = match work {
        Work::None | Work::One => (format!("tool_{number}"), format!("contains: 'drop table t{number};'")),
        Work::Contains => ("'*'".to_owned(), format!("contains: 'drop table t{number};'")),
        Work::Regex => ("'*'".to_owned(), format!("matches: 'rm +-rf +/x{number}\\b'")),
        Work::Sequence => return None,
    };
    Some(format!(
        "  - {{id: r{number}, type: pre, tool: {tool}, when: {{args.command: {{{when}}}}}, then: {{action: block, message: 'no'}}}}\n"
    ))
}

fn invariant(work: Work, number: usize) -> Option<String> {
    (work == Work::Sequence).then(|| {
        format!(
            "raise \"no backup_{number} before delete_{number}\" if:
    (deletion: ToolCall)
    deletion is tool:delete_{number}
    not count(min=1):
        (backup: ToolCall)
        backup is tool:backup_{number}
        backup -> deletion

"
        )
    })
}

fn cedar(work: Work, number: usize) -> Option<String> {
    let action = match work {
        Work::None | Work::One => format!("action == Action::\"tool_{number}\""),
        Work::Contains => "action".to_owned(),
        // It compares texts with `*` alone, and knows nothing but the request.
        Work::Regex | Work::Sequence => return None,
    };
    Some(format!(
        "forbid(principal, {action}, resource) when {{ context.command like \"*drop table t{number};*\" }};\n"
    ))
}

fn dogwood(work: Work, number: usize) -> Option<String> {
    let (action, condition) = match work {
        Work::None | Work::One => (format!("action == Bench::Action::\"tool_{number}\""), looks_for(number)),
        Work::Contains => ("action".to_owned(), looks_for(number)),
        Work::Regex => return None,
        // Looking back needs an end: a day is longer than any session.
        Work::Sequence => (
            format!("action == Bench::Action::\"delete_{number}\""),
            format!(
                "unless temporal {{ formerly within 24h Bench::Action::\"backup_{number}\"::response{{}} }}"
            ),
        ),
    };
    Some(format!("forbid(principal, {action}, resource) {condition};\n"))
}

fn looks_for(number: usize) -> String {
    format!("when {{ context.input.command like \"*drop table t{number};*\" }}")
}

fn cedar_schema(work: Work, n_rules: usize) -> String {
    let numbers = 0..n_rules;
    let (tools, argument) = match work {
        Work::None | Work::One => {
            let own = numbers.map(|number| format!("\"tool_{number}\""));
            (own.chain(["\"read_file\"".to_owned()]).collect::<Vec<_>>(), "command")
        }
        Work::Contains | Work::Regex => (vec!["\"exec\"".to_owned()], "command"),
        Work::Sequence => {
            let own = numbers.map(|number| format!("\"backup_{number}\", \"delete_{number}\""));
            (own.chain(["\"read_file\"".to_owned()]).collect(), "path")
        }
    };
    let tools = tools.join(", ");
    format!(
        "namespace Bench {{\n  entity Agent;\n  entity Host;\n  type Input = {{ {argument}: String }};\n  \
         action {tools} appliesTo {{ principal: [Agent], resource: [Host], context: {{ input: Input }} }};\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use lockgate::engine::{Call, Gate, Outcome, Severity, Source};

    use super::*;

    const OURS: [Language; 3] = [Language::Rules, Language::WhenThen, Language::Ruleset];

    fn gate(work: Work, language: Language, n_rules: usize) -> Option<Gate> {
        let text = work.policy(language, n_rules)?;
        let (policy, findings) =
            lockgate::engine::languages::read(&[Source::new(language.file_name(), text)]);
        let errors = Vec::from_iter(findings.iter().filter(|finding| finding.severity == Severity::Error));
        assert!(errors.is_empty(), "{work:?} in {language:?}: {errors:?}");
        Some(Gate::new(policy.unwrap()))
    }

    fn decides(gate: &Gate, earlier: &[Earlier], call: &Request) -> Told {
        let call_of = |id: String, request: &Request| {
            let call = Call::new(&id, &request.tool);
            request.input.iter().fold(call, |call, (name, value)| call.with(name, value.clone()))
        };
        for (number, past) in earlier.iter().flat_map(|past| vec![past; past.times]).enumerate() {
            let call = call_of(format!("earlier-{number}"), &past.call);
            assert!(gate.call(&call).lets_pass(), "{}", past.call.tool);
            let (session, id) = (call.session.clone(), call.id.clone());
            gate.result(&Outcome { session, id, ok: true, ..Outcome::default() }).unwrap();
        }
        if gate.call(&call_of("asked".to_owned(), call)).lets_pass() { Told::Allow } else { Told::Block }
    }

    #[test]
    fn every_work_can_be_said_in_a_language_of_ours_and_is_decided_as_it_must_be() {
        for work in Work::ALL {
            let mut n_said = 0;
            for (language, n_rules) in OURS.into_iter().flat_map(|language| [(language, 1), (language, 10)]) {
                let Some(gate) = gate(work, language, n_rules) else { continue };
                let told = decides(&gate, &work.earlier(n_rules), &work.call(n_rules));
                assert_eq!(told, work.expect(), "{work:?} in {language:?} with {n_rules} rules");
                n_said += 1;
            }
            assert!(n_said > 0, "{work:?} has no text of ours");
        }
    }

    #[test]
    fn a_large_ruleset_is_several_files_with_all_its_rules() {
        let rules = |n_rules| -> Vec<usize> {
            let files = Work::One.files(Language::Ruleset, n_rules).unwrap();
            files.iter().map(|(_, text)| text.matches("{id: ").count()).collect()
        };
        assert_eq!(rules(RULESET_RULES_MAX), [RULESET_RULES_MAX]);
        assert_eq!(rules(RULESET_RULES_MAX + 1), [RULESET_RULES_MAX, 1]);
    }

    #[test]
    fn the_last_rule_of_every_work_can_block() {
        let run = |tool, command| (Vec::new(), request(tool, "command", command));
        let delete = |earlier| (earlier, Work::Sequence.call(10));
        let table = [
            (Work::None, run("tool_9", "x; drop table t9; y")),
            (Work::One, run("tool_9", "x; drop table t9; y")),
            (Work::Contains, run("exec", "x; drop table t9; y")),
            (Work::Regex, run("exec", "rm  -rf /x9 y")),
            (Work::Sequence, delete(Vec::new())),
            (Work::Sequence, delete(Work::Sequence.earlier(9))),
        ];
        for ((work, (earlier, call)), language) in
            table.iter().flat_map(|row| OURS.map(|language| (row, language)))
        {
            let Some(gate) = gate(*work, language, 10) else { continue };
            assert_eq!(decides(&gate, earlier, call), Told::Block, "{work:?} in {language:?}: {call:?}");
        }
    }
}
