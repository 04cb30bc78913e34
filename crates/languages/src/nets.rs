//! Hand-written nets: YAML or JSON files that say `kind: Net`.
//!
//! `parse` reads the shape of a file and the names in it, and reports every mistake at once. Whether the net
//! makes sense (can come to rest, can be left, can be reached) is asked later and elsewhere.

mod checks;
mod file;
mod maps;

use std::collections::BTreeMap;

use file::{NetFile, bare};
use lockgate_policy::{
    Decision, Diagnostic, DraftNet, DraftRule, DraftTransition, Mode, Source, Span, Statement, UnreadableLine,
};

use crate::{
    draft::Draft,
    listed::read_listed,
    yaml::{self, Fields, Node, Reader, Value, did_you_mean},
};

/// The largest weight of one arc. An arc is kept as that many names, so it must not be a way to fill the memory.
const ARC_WEIGHT_MAX: u64 = 1_000;
/// How many mistakes of a file get a guess at the name that was meant: guessing looks at every place.
const GUESSES_MAX: usize = 20;

const NET_KEYS: [&str; 16] = [
    "kind",
    "name",
    "mode",
    "places",
    "marking",
    "transitions",
    "free_tools",
    "terminal_places",
    "maps",
    "scripts",
    "unreadable_scripts",
    "claims",
    "examples",
    "initialMarking",
    "freeTools",
    "terminalPlaces",
];
const UNREADABLE: [&str; 5] = ["ask", "block", "allow", "ask except consoles", "block except consoles"];
const TRANSITION_KEYS: [&str; 7] = ["name", "type", "inputs", "outputs", "tools", "deferred", "checks"];

/// Reads a hand-written net and the maps that rename calls for it.
pub(crate) fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    let mut draft = Draft::of(source);
    let (root, diagnostics) = yaml::parse(source, yaml::Dialect::default());
    let mut file = NetFile { reader: Reader { source, diagnostics }, places: None };
    if let Some(root) = &root
        && let Some(fields) = file.reader.fields(root, "a net", &NET_KEYS)
    {
        let statement = Statement::Net(file.net(&fields));
        let mode = file.mode(&fields);
        draft.rules.push(DraftRule { statement, span: root.span, mode, tail: None });
        draft.maps = file.maps(&fields);
        draft.scripts = file.scripts(&fields);
        draft.unreadable = file.unreadable(&fields, mode);
        read_listed(&fields, &mut file.reader, &mut draft);
    }
    // The keys are asked for in our order, the author reads the file in theirs.
    let mut diagnostics = file.reader.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    (draft, diagnostics)
}

impl NetFile<'_> {
    fn net(&mut self, fields: &Fields<'_>) -> DraftNet {
        if let Some(kind) = fields.require(&mut self.reader, "kind") {
            self.reader.choice(kind, "`kind`", &["Net"]);
        }
        let name = self.required_text(fields, "name").unwrap_or_default();
        let (places, marking) = self.places_and_marking(fields);
        let transitions = self.transitions(fields);
        let free_tools = fields.either(&mut self.reader, "free_tools", "freeTools");
        let free_tools = self.names(free_tools, "`free_tools`");
        let terminal_places = fields.either(&mut self.reader, "terminal_places", "terminalPlaces");
        let terminal_places = self.names(terminal_places, "`terminal_places`");
        for (place, span) in &terminal_places {
            self.is_declared(place, *span);
        }
        let terminal_places = bare(terminal_places);
        DraftNet { name, places, marking, transitions, free_tools: bare(free_tools), terminal_places }
    }

    fn mode(&mut self, fields: &Fields<'_>) -> Mode {
        let modes = ["enforce", "observe"];
        match fields.get("mode").and_then(|node| self.reader.choice(node, "`mode`", &modes)) {
            Some("observe") => Mode::Observe,
            _ => Mode::Enforce,
        }
    }

    /// What happens to scripts that cannot be read.
    fn unreadable(&mut self, fields: &Fields<'_>, mode: Mode) -> Option<UnreadableLine> {
        let node = fields.get("unreadable_scripts")?;
        let said = self.reader.choice(node, "`unreadable_scripts`", &UNREADABLE)?;
        let except_consoles = said.ends_with("except consoles");
        let wants = match said.split(' ').next() {
            Some("allow") => Decision::Allow,
            Some("ask") => Decision::Ask,
            _ => Decision::Block,
        };
        Some(UnreadableLine { wants, except_consoles, span: node.span, mode })
    }

    /// The places in order, and the tokens they start with: given with the places, or as a marking, or both.
    fn places_and_marking(&mut self, fields: &Fields<'_>) -> (Vec<String>, Vec<(String, u64)>) {
        let (mut places, mut tokens) = (Vec::new(), BTreeMap::new());
        match fields.require(&mut self.reader, "places") {
            Some(node @ Node { value: Value::Map(entries), .. }) => {
                places = entries.iter().map(|entry| (entry.key.clone(), entry.key_span)).collect();
                tokens = self.tokens(node);
            }
            Some(node) => places = self.reader.names(node, "`places`"),
            None => {}
        }
        self.places = fields.get("places").map(|_| places.iter().map(|(name, _)| name.clone()).collect());

        if let Some(node) = fields.either(&mut self.reader, "marking", "initialMarking") {
            for (place, (count, span)) in self.tokens(node) {
                if !self.is_declared(&place, span) {
                    continue;
                }
                if let Some((_, first)) = tokens.insert(place.clone(), (count, span)) {
                    self.reader.twice("duplicate-name", &place, "`places` with its tokens", first, span);
                }
            }
        }
        (bare(places), tokens.into_iter().map(|(place, (count, _))| (place, count)).collect())
    }

    fn tokens(&mut self, node: &Node) -> BTreeMap<String, (u64, Span)> {
        let mut tokens = BTreeMap::new();
        for entry in self.reader.map(node, "the marking").unwrap_or_default() {
            if let Some(count) = self.reader.count(&entry.value, &format!("the tokens of `{}`", entry.key)) {
                tokens.insert(entry.key.clone(), (count, entry.key_span));
            }
        }
        tokens
    }

    fn transitions(&mut self, fields: &Fields<'_>) -> Vec<DraftTransition> {
        let Some(node) = fields.require(&mut self.reader, "transitions") else {
            return Vec::new();
        };
        let mut named: BTreeMap<String, Span> = BTreeMap::new();
        let mut transitions = Vec::new();
        for item in self.reader.list(node, "`transitions`").unwrap_or_default() {
            let Some(fields) = self.reader.fields(item, "a transition", &TRANSITION_KEYS) else {
                continue;
            };
            let transition = self.transition(&fields, item.span);
            let place = fields.get("name").map_or(item.span, |name| name.span);
            if let Some(first) = named.insert(transition.name.clone(), place)
                && !transition.name.is_empty()
            {
                self.reader.twice("duplicate-name", &transition.name, "`transitions`", first, place);
            }
            transitions.push(transition);
        }
        transitions
    }

    fn transition(&mut self, fields: &Fields<'_>, span: Span) -> DraftTransition {
        let name = self.required_text(fields, "name").unwrap_or_default();
        let kind =
            fields.get("type").and_then(|node| self.reader.choice(node, "`type`", &["auto", "manual"]));
        let inputs = self.arcs(fields.get("inputs"), "`inputs`");
        let outputs = self.arcs(fields.get("outputs"), "`outputs`");
        let tools = bare(self.names(fields.get("tools"), "`tools`"));
        let deferred = fields.get("deferred").and_then(|node| self.reader.boolean(node, "`deferred`"));
        let checks = self.checks(fields);
        if fields
            .get("tools")
            .is_none_or(|tools| matches!(&tools.value, Value::List(tools) if tools.is_empty()))
        {
            self.needs_tools(
                fields.get("deferred").filter(|_| deferred == Some(true)),
                "waits for the result",
            );
            self.needs_tools(fields.get("checks"), "looks at the input");
        }
        DraftTransition {
            name,
            manual: kind == Some("manual"),
            deferred: deferred == Some(true),
            inputs,
            outputs,
            tools,
            checks,
            span,
        }
    }

    /// Reports a key that means nothing on a transition that no tool fires.
    fn needs_tools(&mut self, node: Option<&Node>, does: &str) {
        if let Some(node) = node {
            let message = format!("this {does} of a tool, but no tool fires the transition");
            self.reader.error("needs-tools", node.span, message, "add `tools: […]`, or leave this out");
        }
    }

    /// The places of some arcs, each as often as its weight: `[a, a]` or `{a: 2}`.
    fn arcs(&mut self, node: Option<&Node>, what: &str) -> Vec<String> {
        let mut arcs = Vec::new();
        match node {
            Some(Node { value: Value::Map(entries), .. }) => {
                for entry in entries {
                    let weight = self.weight(&entry.key, &entry.value);
                    if self.is_declared(&entry.key, entry.key_span) {
                        arcs.extend(std::iter::repeat_n(entry.key.clone(), weight));
                    }
                }
            }
            Some(node) => {
                for item in self.reader.list(node, what).unwrap_or_default() {
                    let place = self.reader.text(item, &format!("a place in {what}"));
                    arcs.extend(place.filter(|place| self.is_declared(place, item.span)));
                }
            }
            None => {}
        }
        arcs
    }

    fn weight(&mut self, place: &str, node: &Node) -> usize {
        let Some(weight) = self.reader.count(node, &format!("the weight of `{place}`")) else {
            return 0;
        };
        if weight == 0 || weight > ARC_WEIGHT_MAX {
            let message = format!("the weight of `{place}` must be from 1 to {ARC_WEIGHT_MAX}, not {weight}");
            self.reader.error(
                "bad-weight",
                node.span,
                message,
                "leave the place out, or give a weight in that range",
            );
            return 0;
        }
        usize::try_from(weight).unwrap_or_default()
    }

    fn is_declared(&mut self, place: &str, span: Span) -> bool {
        let Some(places) = self.places.as_ref().filter(|places| !places.contains(place)) else {
            return true;
        };
        let may_guess = self.reader.diagnostics.len() < GUESSES_MAX;
        let guess = may_guess.then(|| did_you_mean(place, places.iter().map(String::as_str))).flatten();
        let remedy = guess.unwrap_or_else(|| format!("add `{place}` to `places`"));
        self.reader.error("undeclared-place", span, format!("the place `{place}` is not declared"), remedy);
        false
    }
}

#[cfg(test)]
mod tests {
    use lockgate_policy::Takes;

    use super::*;
    use crate::{
        detect::{Language, detect},
        yaml::told,
    };

    fn parse_text(text: &str) -> (Draft, Vec<Diagnostic>) {
        parse(&Source::new("n.yaml", text))
    }

    fn mistakes(text: &str) -> String {
        told(&parse_text(text).1)
    }

    fn told_of(takes: &Takes) -> String {
        match takes {
            Takes::Field { field, pattern } => format!("{field} {pattern}"),
            Takes::Running { program, words } => format!("running {program} {words:?}"),
        }
    }

    /// The net of a file without mistakes.
    #[track_caller]
    fn net(text: &str) -> DraftNet {
        let (mut draft, diagnostics) = parse_text(text);
        assert_eq!(told(&diagnostics), "");
        match draft.rules.remove(0).statement {
            Statement::Net(net) => net,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_examples_are_nets_without_mistakes() {
        let files = [
            ("write-path-guard", include_str!("../../../examples/nets/write-path-guard.yaml")),
            ("git-flow", include_str!("../../../examples/nets/git-flow.yaml")),
            ("tool-approval", include_str!("../../../examples/nets/tool-approval.json")),
        ];
        for (name, text) in files {
            assert_eq!(detect(&Source::new(name, text)), Language::Net, "{name}");
            assert_eq!(net(text).name, name);
            let (policy, diagnostics) = crate::read(&[Source::new(name, text)]);
            assert_eq!((policy.is_some(), told(&diagnostics)), (true, String::new()), "{name}");
        }
        let (git_flow, _) = parse_text(files[1].1);
        let maps: Vec<String> = git_flow
            .maps
            .iter()
            .map(|map| format!("{} {} as {}", map.tool, told_of(&map.takes), map.name))
            .collect();
        insta::assert_snapshot!(maps.join("\n"), @r"
        bash command /git\s+commit\b/ as git-commit
        bash command /git\b.*\spush\b/ as git-push
        ");
    }

    #[test]
    fn yaml_and_json_say_the_same_net() {
        let yaml = "
kind: Net
name: flow
mode: observe
places: [a, b]
marking: {a: 2}
transitions:
  - name: t
    type: manual
    inputs: [a, a]
    outputs: {b: 2}
    tools: [x]
    deferred: true
    checks:
      - {field: n, at_most: 10}
free_tools: [y]
terminal_places: [b]
";
        let json = r#"{"kind": "Net", "name": "flow", "mode": "observe", "places": {"a": 2, "b": 0},
            "transitions": [{"name": "t", "type": "manual", "inputs": {"a": 2}, "outputs": ["b", "b"],
                "tools": ["x"], "deferred": true, "checks": [{"field": "n", "at_most": 10}]}],
            "freeTools": ["y"], "terminalPlaces": ["b"]}"#;
        let (left, mut right) = (net(yaml), net(json));
        assert_eq!(right.marking.pop(), Some(("b".into(), 0)));
        right.transitions[0].span = left.transitions[0].span;
        assert_eq!(format!("{left:?}"), format!("{right:?}"));
        assert_eq!(left.transitions[0].inputs, ["a", "a"]);
        assert_eq!(left.transitions[0].checks[0].message, "`n` must be at most 10");
        assert_eq!(parse_text(yaml).0.rules[0].mode, Mode::Observe);
    }

    #[test]
    fn every_mistake_of_a_file_is_told_at_once() {
        let text = r#"kind: Nett
nmae: x
mode: observ
places: [ready, done, ready, 7]
initialMarking: {}
marking: {redy: 1, done: 1.5, ready: -1}
transitions:
  - name: go
    type: automatic
    inputs: [raedy]
    outputs: {done: 0, ready: 1001, gone: 1}
    tools: run
    deferred: yes
  - name: go
    deferred: true
    checks: []
  - inputs: [ready, ready]
    tools: [a, a]
    checks:
      - {field: path, under: ~/src}
      - {field: path, under: ["$HOME", a]}
      - {field: path, matches: "a(b"}
      - {field: path, matches: /etc/passwd}
      - {field: path, matches: /etc}
      - {field: path, equals: 0x10, exists: true}
      - {field: path}
      - {feild: path, one_of: []}
      - {field: path, equals: 0x10}
      - {field: path, at_most: "3"}
      - just a text
  - nothing
free_tools: {}
terminal_places: [end]
maps:
  - {tool: bash, field: command, word: rm, pattern: rm, as: delete}
  - {tool: bash, word: rm}
"#;
        insta::assert_snapshot!(mistakes(text), @r"
        1:1 missing-key a net has no `name` | add `name: …`
        1:7 unknown-value `kind` cannot be `Nett` | did you mean `Net`?
        2:1 unknown-key a net has no key `nmae` | did you mean `name`?
        3:7 unknown-value `mode` cannot be `observ` | did you mean `observe`?
        4:23 duplicate-name `ready` is already in `places`, in line 4 | leave one of the two out, or rename it
        4:30 wrong-type a name in `places` must be a text, not `7` | put it in quotes to make it a text
        5:1 duplicate-key `marking` and `initialMarking` are two spellings of one key | keep only `marking`
        6:11 undeclared-place the place `redy` is not declared | did you mean `ready`?
        6:26 wrong-type the tokens of `done` must be a whole number, not `1.5` | write 0, 1, 2 or more, in digits and without quotes
        6:38 wrong-type the tokens of `ready` must be a whole number, not `-1` | write 0, 1, 2 or more, in digits and without quotes
        9:11 unknown-value `type` cannot be `automatic` | write one of `auto`, `manual`
        10:14 undeclared-place the place `raedy` is not declared | did you mean `ready`?
        11:21 bad-weight the weight of `done` must be from 1 to 1000, not 0 | leave the place out, or give a weight in that range
        11:31 bad-weight the weight of `ready` must be from 1 to 1000, not 1001 | leave the place out, or give a weight in that range
        11:37 undeclared-place the place `gone` is not declared | did you mean `done`?
        12:12 wrong-type `tools` must be a list, not the text `run` | write `[a, b]`, or one `- a` a line
        13:15 wrong-type `deferred` must be `true` or `false`, not the text `yes` | write `true` or `false`, without quotes
        14:11 duplicate-name `go` is already in `transitions`, in line 8 | leave one of the two out, or rename it
        15:15 needs-tools this waits for the result of a tool, but no tool fires the transition | add `tools: […]`, or leave this out
        16:13 needs-tools this looks at the input of a tool, but no tool fires the transition | add `tools: […]`, or leave this out
        17:5 missing-key a transition has no `name` | add `name: …`
        18:16 duplicate-name `a` is already in `tools`, in line 18 | leave one of the two out, or rename it
        20:30 doubtful-folder nothing is certainly under `~/src` | write the folder out, with `/`, without `~`, variables and control characters
        21:31 doubtful-folder nothing is certainly under `$HOME` | write the folder out, with `/`, without `~`, variables and control characters
        22:34 bad-pattern `(` is never closed: write `\(` for the character | write a regular expression as JavaScript has it
        23:32 bad-pattern unknown flag `p`: the flags are `i`, `m` and `s` | a leading `/` opens `/expression/flags`: correct it, or write `\/` for a slash
        24:32 bad-pattern the expression is never closed | close it as `/etc/`, or write `\/etc` to match a leading slash
        25:45 one-of-keys a check cannot have both `equals` and `exists` | keep one, and give the other an entry of its own
        26:9 one-of-keys a check needs one of `under`, `equals`, `one_of`, `matches`, `not_matches`, `contains`, `exists`, `at_most`, `at_least` | add one of them
        27:9 missing-key a check has no `field` | add `field: …`
        27:10 unknown-key a check has no key `feild` | did you mean `field`?
        27:31 empty-list an empty list lets nothing pass | name at least one, or leave the check out
        28:31 wrong-type `equals` must be a plain value, not `0x10` | write the number in plain digits, or put it in quotes to make it a text
        29:32 wrong-type `at_most` must be a number, not the text `3` | write it in digits, without quotes
        30:9 wrong-type a check must be a mapping, not the text `just a text` | write `key: value` lines under it
        31:5 wrong-type a transition must be a mapping, not the text `nothing` | write `key: value` lines under it
        32:13 wrong-type `free_tools` must be a list, not a mapping | write `[a, b]`, or one `- a` a line
        33:19 undeclared-place the place `end` is not declared | add `end` to `places`
        35:40 one-of-keys a map cannot have both `pattern` and `word` | keep one, and give the other an entry of its own
        36:5 missing-key a map has no `field` | add `field: …`
        36:5 missing-key a map has no `as` | add `as: …`
        ");
    }

    #[test]
    fn maps_take_what_scripts_run_and_more_fields_may_be_scripts() {
        let net = "kind: Net\nname: n\nplaces: []\ntransitions: []\n";
        let (draft, diagnostics) = parse_text(&format!(
            "{net}maps:\n- {{tool: bash, running: [git, push, -v, -v], as: push}}\n- {{tool: py, field: code, word: rm, as: d}}\nscripts: [py.code, bash.a.b]"
        ));
        assert_eq!(told(&diagnostics), "");
        let maps: Vec<String> = draft.maps.iter().map(|map| told_of(&map.takes)).collect();
        assert_eq!(maps, ["running git [\"push\", \"-v\", \"-v\"]", "code rm"]);
        let scripts: Vec<_> = draft.scripts.iter().map(|script| (&*script.tool, &*script.field)).collect();
        assert_eq!(scripts, [("py", "code"), ("bash", "a.b")]);

        let wrong = "maps:
  - {tool: bash, running: git, as: a}
  - {tool: bash, running: [], as: a}
  - {tool: bash, running: [/bin/rm], as: a}
  - {tool: bash, running: [git, 7], as: a}
  - {tool: bash, running: [git], field: command, as: a}
  - {tool: bash, running: [git], word: git, as: a}
scripts: [bash, .code, py.code, py.code]";
        insta::assert_snapshot!(mistakes(&format!("{net}{wrong}")), @"
        6:27 wrong-type `running` must be a list, not the text `git` | write `[a, b]`, or one `- a` a line
        7:27 empty-list an empty list names no program | name the program, as in `[git, push]`
        8:28 program-with-folder a program is known by its name alone, not as `/bin/rm` | write `rm`; it is taken from every folder
        9:33 wrong-type a word in `running` must be a text, not `7` | put it in quotes to make it a text
        10:41 unexpected-field `running` looks at every script of the tool, not at one `field` | leave `field` out
        11:27 one-of-keys a map cannot have both `word` and `running` | keep one, and give the other an entry of its own
        12:11 missing-field `bash` does not say which field of which tool | write the tool, a dot and the field of its input, as in `bash.code`
        12:17 missing-field `.code` does not say which field of which tool | write the tool, a dot and the field of its input, as in `bash.code`
        12:33 duplicate-name `py.code` is already in `scripts`, in line 12 | leave one of the two out, or rename it
        ");
    }

    #[test]
    fn what_is_missing_is_told_once() {
        insta::assert_snapshot!(mistakes("kind: Net\n"), @"
        1:1 missing-key a net has no `name` | add `name: …`
        1:1 missing-key a net has no `places` | add `places: …`
        1:1 missing-key a net has no `transitions` | add `transitions: …`
        ");
        insta::assert_snapshot!(mistakes("kind: Net\nname: x\ntransitions: [{name: t, inputs: [a]}]"), @"
        1:1 missing-key a net has no `places` | add `places: …`
        ");
        insta::assert_snapshot!(mistakes("[kind, Net]"), @"
        1:1 wrong-type a net must be a mapping, not a list | write `key: value` lines under it
        ");
    }

    #[test]
    fn a_net_is_told_by_its_outermost_kind() {
        let rows = [
            ("kind: Net", true),
            ("# a comment\nname: x\nplaces: {kind: 1}\nkind: 'Net'", true),
            (r#"{"name": {"kind": "x"}, "kind": "Net"}"#, true),
            ("\u{feff}kind: Net", true),
            ("---\nkind: Net", true),
            ("kind: Net\nplaces: [a", true),
            ("places: [a\nkind: Net", true),
            ("{\"places\": [\"a\",\n \"kind\": \"Net\",", true),
            ("kind: Ruleset", false),
            ("kind: [Net]", false),
            ("x: {kind: Net}", false),
            ("x: kind\ny: Net", false),
            ("kind: kind\nNet: x", false),
            ("- kind: Net", false),
            ("require a before b\n# kind: Net", false),
            ("block kind: Net", false),
            ("", false),
        ];
        for (text, expected) in rows {
            assert_eq!(detect(&Source::new("x", text)) == Language::Net, expected, "{text:?}");
        }
    }

    #[test]
    fn a_weight_has_a_bound() {
        let with = |weight: u64| {
            format!("kind: Net\nname: x\nplaces: [a]\ntransitions: [{{name: t, inputs: {{a: {weight}}}}}]")
        };
        assert_eq!(net(&with(ARC_WEIGHT_MAX)).transitions[0].inputs.len(), 1000);
        assert!(mistakes(&with(ARC_WEIGHT_MAX + 1)).contains("bad-weight"));
    }

    #[test]
    fn guessing_stops_before_it_takes_long() {
        let file = |unknown: usize| {
            let marking =
                (0..unknown).map(|count| format!("started{count}: 1")).collect::<Vec<_>>().join(", ");
            mistakes(&format!(
                "kind: Net\nname: x\nplaces: [started]\ntransitions: []\nmarking: {{{marking}}}"
            ))
        };
        let guesses = |told: &str| told.matches("did you mean").count();
        assert_eq!(guesses(&file(GUESSES_MAX)), GUESSES_MAX);
        assert_eq!(guesses(&file(GUESSES_MAX + 1)), GUESSES_MAX);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"(kind: Net\n|name|places|marking|transitions|checks|matches|under|[a-z~$\[\]{}:,/()'\x22&*!|> -]|\n|  |é){0,60}") {
            let source = Source::new("x", text);
            detect(&source);
            for diagnostic in parse(&source).1 {
                proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
            }
        }
    }
}
