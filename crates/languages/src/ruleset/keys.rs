//! Every key of a ruleset: where it stands, what it takes, whether it must be there.
//!
//! The reader refuses what these tables do not list, and the JSON schema is made from them, so the two cannot
//! drift apart. What a value means is not decided here.

/// A mapping of the file.
pub(super) struct Table {
    /// How messages call it.
    pub(super) what: &'static str,
    pub(super) keys: &'static [Key],
    /// What holds between its keys.
    pub(super) bonds: &'static [KeyRule],
}

/// A key of a mapping.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) shape: Shape,
}

/// What a key takes.
pub(super) enum Shape {
    /// This word and no other.
    Word(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a ruleset.
    Name,
    /// The id of a rule.
    Id,
    /// A text that is not empty.
    Text,
    /// A text or null.
    TextOrNull,
    /// A text for the agent.
    Message,
    Boolean,
    /// A whole number from 1.
    Whole,
    /// A mapping with whatever in it.
    Anything,
    /// A list of texts that are not empty.
    Texts {
        may_be_empty: bool,
    },
    /// A whole number from 1 for each tool; not empty.
    WholeByTool,
    /// A mapping.
    Table(&'static Table),
    /// A mapping for each tool.
    TableByTool(&'static Table),
    Expression,
    Rules,
}

/// What holds between the keys of a mapping.
pub(super) enum KeyRule {
    AtLeastOne(&'static [&'static str]),
    NotBoth(&'static str, &'static str),
    /// The first makes no sense without the second.
    Needs(&'static str, &'static str),
}

/// What a ruleset and a rule may be called, as regular expressions.
pub(super) const NAME_PATTERN: &str = "^[a-z0-9][a-z0-9._-]*$";
pub(super) const ID_PATTERN: &str = "^[a-z0-9][a-z0-9_-]*$";
/// The longest message, in characters.
pub(super) use lockgate_policy::MESSAGE_CHARS_MAX;
/// The longest time a human is waited for, in seconds: a year.
pub(super) const TIMEOUT_S_MAX: u64 = 31_536_000;

pub(super) const MODES: &[&str] = &["enforce", "observe"];
pub(super) const SIDE_EFFECTS: &[&str] = &["pure", "read", "write", "irreversible"];
pub(super) const TYPES: &[&str] = &["pre", "post", "session", "sandbox"];

const fn required(name: &'static str, shape: Shape) -> Key {
    Key { name, is_required: true, shape }
}

const fn optional(name: &'static str, shape: Shape) -> Key {
    Key { name, is_required: false, shape }
}

pub(super) static RULESET: Table = Table {
    what: "the ruleset",
    keys: &[
        required("apiVersion", Shape::Word("edictum/v1")),
        required("kind", Shape::Word("Ruleset")),
        required("metadata", Shape::Table(&METADATA)),
        required("defaults", Shape::Table(&DEFAULTS)),
        optional("extends", Shape::Text),
        optional("observe_alongside", Shape::Boolean),
        optional("tools", Shape::TableByTool(&TOOL)),
        optional("observability", Shape::Table(&OBSERVABILITY)),
        optional("rules", Shape::Rules),
        optional("claims", Shape::Texts { may_be_empty: true }),
        optional("examples", Shape::Texts { may_be_empty: true }),
    ],
    bonds: &[KeyRule::AtLeastOne(&["rules", "extends"])],
};

pub(super) static METADATA: Table = Table {
    what: "`metadata`",
    keys: &[required("name", Shape::Name), optional("description", Shape::TextOrNull)],
    bonds: &[],
};

pub(super) static DEFAULTS: Table =
    Table { what: "`defaults`", keys: &[required("mode", Shape::Choice(MODES))], bonds: &[] };

pub(super) static TOOL: Table = Table {
    what: "a tool in `tools`",
    keys: &[required("side_effect", Shape::Choice(SIDE_EFFECTS)), optional("idempotent", Shape::Boolean)],
    bonds: &[],
};

pub(super) static OBSERVABILITY: Table = Table {
    what: "`observability`",
    keys: &[
        optional("otel", Shape::Table(&OTEL)),
        optional("stdout", Shape::Boolean),
        optional("file", Shape::TextOrNull),
    ],
    bonds: &[],
};

pub(super) static OTEL: Table = Table {
    what: "`otel`",
    keys: &[
        optional("enabled", Shape::Boolean),
        optional("endpoint", Shape::Text),
        optional("protocol", Shape::Choice(&["grpc", "http"])),
        optional("service_name", Shape::Text),
        optional("insecure", Shape::Boolean),
        optional("resource_attributes", Shape::Anything),
    ],
    bonds: &[],
};

/// What is known of a rule whose type is not.
pub(super) static RULE: Table = Table {
    what: "a rule",
    keys: &[
        required("id", Shape::Id),
        required("type", Shape::Choice(TYPES)),
        optional("enabled", Shape::Boolean),
        optional("mode", Shape::Choice(MODES)),
        optional("locked", Shape::Boolean),
    ],
    bonds: &[],
};

pub(super) static PRE: Table = Table {
    what: "a pre rule",
    keys: &[
        required("id", Shape::Id),
        required("type", Shape::Word("pre")),
        optional("enabled", Shape::Boolean),
        optional("mode", Shape::Choice(MODES)),
        optional("locked", Shape::Boolean),
        required("tool", Shape::Text),
        required("when", Shape::Expression),
        required("then", Shape::Table(&PRE_THEN)),
    ],
    bonds: &[],
};

pub(super) static POST: Table = Table {
    what: "a post rule",
    keys: &[
        required("id", Shape::Id),
        required("type", Shape::Word("post")),
        optional("enabled", Shape::Boolean),
        optional("mode", Shape::Choice(MODES)),
        optional("locked", Shape::Boolean),
        required("tool", Shape::Text),
        required("when", Shape::Expression),
        required("then", Shape::Table(&POST_THEN)),
    ],
    bonds: &[],
};

pub(super) static SESSION: Table = Table {
    what: "a session rule",
    keys: &[
        required("id", Shape::Id),
        required("type", Shape::Word("session")),
        optional("enabled", Shape::Boolean),
        optional("mode", Shape::Choice(MODES)),
        optional("locked", Shape::Boolean),
        required("limits", Shape::Table(&LIMITS)),
        required("then", Shape::Table(&SESSION_THEN)),
    ],
    bonds: &[],
};

pub(super) static SANDBOX: Table = Table {
    what: "a sandbox rule",
    keys: &[
        required("id", Shape::Id),
        required("type", Shape::Word("sandbox")),
        optional("enabled", Shape::Boolean),
        optional("mode", Shape::Choice(MODES)),
        optional("locked", Shape::Boolean),
        optional("tool", Shape::Text),
        optional("tools", Shape::Texts { may_be_empty: false }),
        optional("within", Shape::Texts { may_be_empty: false }),
        optional("not_within", Shape::Texts { may_be_empty: true }),
        optional("allows", Shape::Table(&ALLOWS)),
        optional("not_allows", Shape::Table(&NOT_ALLOWS)),
        optional("outside", Shape::Choice(&["block", "ask", "approve"])),
        required("message", Shape::Message),
        optional("timeout", Shape::Whole),
        optional("timeout_action", Shape::Choice(TIMEOUT_ACTIONS)),
        optional("timeout_effect", Shape::Choice(TIMEOUT_ACTIONS)),
    ],
    bonds: &[
        KeyRule::AtLeastOne(&["tool", "tools"]),
        KeyRule::NotBoth("tool", "tools"),
        KeyRule::AtLeastOne(&["within", "allows"]),
        KeyRule::Needs("not_within", "within"),
        KeyRule::Needs("not_allows", "allows"),
        KeyRule::NotBoth("timeout_action", "timeout_effect"),
    ],
};

const TIMEOUT_ACTIONS: &[&str] = &["block", "allow"];

pub(super) static PRE_THEN: Table = Table {
    what: "`then`",
    keys: &[
        required("action", Shape::Choice(&["block", "ask"])),
        required("message", Shape::Message),
        optional("tags", Shape::Texts { may_be_empty: true }),
        optional("metadata", Shape::Anything),
        optional("timeout", Shape::Whole),
        optional("timeout_action", Shape::Choice(TIMEOUT_ACTIONS)),
        optional("timeout_effect", Shape::Choice(TIMEOUT_ACTIONS)),
    ],
    bonds: &[KeyRule::NotBoth("timeout_action", "timeout_effect")],
};

pub(super) static POST_THEN: Table = Table {
    what: "`then`",
    keys: &[
        required("action", Shape::Choice(&["warn", "redact", "block"])),
        required("message", Shape::Message),
        optional("tags", Shape::Texts { may_be_empty: true }),
        optional("metadata", Shape::Anything),
    ],
    bonds: &[],
};

pub(super) static SESSION_THEN: Table = Table {
    what: "`then`",
    keys: &[
        required("action", Shape::Choice(&["block"])),
        required("message", Shape::Message),
        optional("tags", Shape::Texts { may_be_empty: true }),
        optional("metadata", Shape::Anything),
    ],
    bonds: &[],
};

pub(super) static LIMITS: Table = Table {
    what: "`limits`",
    keys: &[
        optional("max_tool_calls", Shape::Whole),
        optional("max_attempts", Shape::Whole),
        optional("max_calls_per_tool", Shape::WholeByTool),
    ],
    bonds: &[KeyRule::AtLeastOne(&["max_tool_calls", "max_attempts", "max_calls_per_tool"])],
};

pub(super) static ALLOWS: Table = Table {
    what: "`allows`",
    keys: &[
        optional("commands", Shape::Texts { may_be_empty: false }),
        optional("domains", Shape::Texts { may_be_empty: false }),
    ],
    bonds: &[],
};

pub(super) static NOT_ALLOWS: Table = Table {
    what: "`not_allows`",
    keys: &[optional("domains", Shape::Texts { may_be_empty: false })],
    bonds: &[],
};

/// What an operator takes.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Boolean,
    Anything,
    /// A list with at least one of anything.
    Anythings,
    /// A text, which may be empty.
    Text,
    /// A list with at least one text.
    Texts,
    Expression,
    /// A list with at least one regular expression.
    Expressions,
    Number,
}

/// The operators of a test.
pub(super) const OPERATORS: [(&str, Operand); 15] = [
    ("exists", Operand::Boolean),
    ("equals", Operand::Anything),
    ("not_equals", Operand::Anything),
    ("in", Operand::Anythings),
    ("not_in", Operand::Anythings),
    ("contains", Operand::Text),
    ("contains_any", Operand::Texts),
    ("starts_with", Operand::Text),
    ("ends_with", Operand::Text),
    ("matches", Operand::Expression),
    ("matches_any", Operand::Expressions),
    ("gt", Operand::Number),
    ("gte", Operand::Number),
    ("lt", Operand::Number),
    ("lte", Operand::Number),
];

/// Words of the format's first version, and what to write instead.
pub(super) const OLD_WORDS: [(&str, &str); 6] = [
    ("contracts", "this is the old format: rename `contracts` to `rules`"),
    (
        "effect",
        "this is the old format: rename `effect` to `action`; `deny` is now `block`, `approve` is `ask`",
    ),
    ("deny", "this is the old format: `deny` is now `block`"),
    ("approve", "this is the old format: `approve` is now `ask`"),
    ("ContractBundle", "this is the old format: write `kind: Ruleset`, and rename `contracts` to `rules`"),
    ("limits", "write a rule with `type: session` and put `limits` into it"),
];

impl Table {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// The words a key takes, where it takes words.
    pub(super) fn choices(&self, name: &str) -> &'static [&'static str] {
        match self.keys.iter().find(|key| key.name == name).map(|key| &key.shape) {
            Some(Shape::Choice(choices)) => choices,
            _ => &[],
        }
    }
}
