//! Random policies of four shapes, as text and as systems of rules.
//!
//! [`Shape::statements`] draws statements in the shares people write them: requirements first, then limits,
//! clearers, kills and blocks. A [`Statement`] is told as a line of policy text or as a rule of the engine, so
//! that both are measured on the same. What policy text cannot say in one line is drawn for systems alone.

use lockgate::engine::petri::prove::{Label, LabelSet, Rule, Table};

/// Tools of one group, where tools come in groups.
const GROUP: u64 = 12;

/// Tools of one chain or one star.
const FAMILY: u64 = 100;

/// How the tools of one rule are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// From a group of twelve, and rarely from another one.
    Clustered,
    /// Any: nearly all rules hang together, the worst case.
    Random,
    /// Neighbours: each waits for the one before it.
    Chains,
    /// One in the middle that all others of its family wait for.
    Stars,
}

/// What a random policy looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many rules there are.
    pub rules: usize,
    /// How their tools are chosen.
    pub form: Form,
    /// Whether requirements mostly run one way; otherwise they run in circles too.
    pub is_dag: bool,
    /// The highest limit.
    pub count_max: u64,
    /// Whether a tool is two labels, one for each outcome.
    pub has_outcomes: bool,
    /// How many rules of a hundred are hand-written nets.
    pub nets: u64,
}

impl Shape {
    /// Its name: words to choose it by.
    pub fn name(self) -> String {
        let form = format!("{:?}", self.form).to_lowercase();
        let order = if self.is_dag { "" } else { " circles" };
        let outcomes = if self.has_outcomes { " outcomes" } else { "" };
        let nets = if self.nets > 0 { " nets" } else { "" };
        format!("{:>6} {form}{order} limits<={}{outcomes}{nets}", self.rules, self.count_max)
    }

    /// As many statements as it has rules.
    pub fn statements(self, dice: &mut Dice) -> Vec<Statement> {
        (0..self.rules).map(|_| self.statement(dice)).collect()
    }

    /// One more statement of its kind.
    pub fn statement(self, dice: &mut Dice) -> Statement {
        let [one, other, third] = self.tools(dice);
        let count = 1 + dice.below(self.count_max);
        if dice.below(100) < self.nets {
            return Statement::Net { tools: [one, other, third], rounds: 1 + dice.below(60) };
        }
        let (before, then) =
            if self.is_dag && dice.below(100) < 97 && one > other { (other, one) } else { (one, other) };
        match dice.below(100) {
            0..45 => Statement::Require { before, then, latched: dice.below(4) == 0 },
            45..60 => Statement::Limit { tool: one, count },
            60..70 => Statement::LimitPer { tool: one, count, refill: other },
            70..75 => Statement::Block { tool: one },
            75..82 => Statement::Never { after: one, then: other },
            82..90 => Statement::Since { needs: one, clears: third, then: other },
            _ => Statement::Approval { tool: one },
        }
    }

    /// Three different tools.
    fn tools(self, dice: &mut Dice) -> [u64; 3] {
        let tools = (self.rules as u64 * 6 / 10).max(4);
        let first = dice.below(tools);
        let mut taken = vec![first];
        while taken.len() < 3 {
            let tool = match self.form {
                Form::Random => dice.below(tools),
                Form::Clustered => {
                    let base = if dice.below(100) < 3 { dice.below(tools) } else { first };
                    base / GROUP * GROUP + dice.below(GROUP)
                }
                Form::Chains => first / FAMILY * FAMILY + (first % FAMILY + 1 + dice.below(3)) % FAMILY,
                Form::Stars if taken.len() == 1 => first / FAMILY * FAMILY,
                Form::Stars => first / FAMILY * FAMILY + dice.below(FAMILY),
            };
            let tool = tool.min(tools - 1);
            // Where a family is too small, a stranger has to do.
            let tool = if taken.contains(&tool) && dice.below(4) == 0 { dice.below(tools) } else { tool };
            if !taken.contains(&tool) {
                taken.push(tool);
            }
        }
        [taken.first(), taken.get(1), taken.get(2)].map(|tool| tool.copied().unwrap_or_default())
    }
}

/// A rule over numbered tools.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each says what a line of policy text says")]
pub enum Statement {
    Require {
        before: u64,
        then: u64,
        latched: bool,
    },
    Limit {
        tool: u64,
        count: u64,
    },
    LimitPer {
        tool: u64,
        count: u64,
        refill: u64,
    },
    Block {
        tool: u64,
    },
    Never {
        after: u64,
        then: u64,
    },
    Since {
        needs: u64,
        clears: u64,
        then: u64,
    },
    Approval {
        tool: u64,
    },
    /// Stages one after the other, with some rounds to go before the first is open again for good.
    Net {
        tools: [u64; 3],
        rounds: u64,
    },
}

impl Statement {
    /// As a line of policy text; none for what takes more than a line.
    pub fn line(&self) -> Option<String> {
        Some(match self {
            Self::Require { before, then, .. } => format!("require tool{before} before tool{then}\n"),
            Self::Limit { tool, count } => format!("limit tool{tool} to {count} per session\n"),
            Self::LimitPer { tool, count, refill } => {
                format!("limit tool{tool} to {count} per tool{refill}\n")
            }
            Self::Block { tool } => format!("block tool{tool}\n"),
            Self::Approval { tool } => format!("require human-approval before tool{tool}\n"),
            Self::Never { .. } | Self::Since { .. } | Self::Net { .. } => return None,
        })
    }

    /// As a rule of the engine; none where a human is asked, which forbids nothing.
    pub fn rule(&self, has_outcomes: bool) -> Option<Rule> {
        let label = |number: u64| Label(u32::try_from(number).unwrap_or(u32::MAX));
        let done = |tool: &u64| LabelSet::from(label(tool * 2));
        let tried = |tool: &u64| {
            let failure = has_outcomes.then(|| label(tool * 2 + 1));
            std::iter::once(label(tool * 2)).chain(failure).collect::<LabelSet>()
        };
        Some(match self {
            Self::Require { before, then, latched } => {
                Rule::Require { before: done(before), then: tried(then), latched: *latched }
            }
            Self::Limit { tool, count } => Rule::Limit { spend: tried(tool), count: *count },
            Self::LimitPer { tool, count, refill } => {
                Rule::LimitPer { spend: tried(tool), count: *count, refill: done(refill) }
            }
            Self::Block { tool } => Rule::Block(tried(tool)),
            Self::Never { after, then } => Rule::Never { after: tried(after), then: tried(then) },
            Self::Since { needs, clears, then } => {
                Rule::Since { needs: done(needs), clears: tried(clears), then: tried(then) }
            }
            Self::Approval { .. } => return None,
            Self::Net { tools: [first, second, third], rounds } => {
                let alphabet = [first, second, third]
                    .into_iter()
                    .flat_map(|tool| tried(tool).iter().collect::<Vec<_>>());
                let alphabet: LabelSet = alphabet.collect();
                // Each round has three stages; after the last round only the second tool is left.
                let stages = u32::try_from(rounds * 3).unwrap_or(u32::MAX);
                let mut moves = Vec::new();
                for stage in 0..=stages {
                    let open = [first, second, third].into_iter().nth(stage as usize % 3);
                    let open = if stage == stages { Some(second) } else { open };
                    if let Some(tool) = open {
                        let next = if stage == stages { stage } else { stage + 1 };
                        moves.extend(
                            tried(tool)
                                .iter()
                                .map(|it| (stage, it, if it.0 % 2 == 0 { next } else { stage })),
                        );
                    }
                    if stage % 3 == 2 {
                        // A stage can be left for the one before.
                        moves.push((stage, label(second * 2), stage - 1));
                    }
                }
                Rule::Table(Table::new(stages + 1, 0, alphabet, moves).ok()?)
            }
        })
    }
}

/// The text of statements, as far as text can say them.
pub fn text(statements: &[Statement]) -> String {
    statements.iter().filter_map(Statement::line).collect()
}

/// The rules of statements.
pub fn rules(statements: &[Statement], shape: Shape) -> Vec<Rule> {
    statements.iter().filter_map(|statement| statement.rule(shape.has_outcomes)).collect()
}

/// Random numbers that are the same each time.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below another one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}
