//! From what the files say to what the gate asks: clauses, windows and rules on results.
//!
//! Everything is understood and joined by now, so nothing can go wrong here. A clause that would open what the
//! default closes is a credit: its windows count successes, and nothing doubtful counts for it.

use std::sync::Arc;

use lockgate_call::sensitive::Detectors;
use lockgate_policy::{
    Builder, Counting, Decision, FoundBy, Head, HitAction, Mode, OutputRule, OutputSearch, Retention, Rule,
    RuleId, Source, Span, ToolName, Tools, Waiting, Watcher,
    clause::{Clause, Gravity, Rank, Standing},
    condition::{Attribute, Condition, Field, Operator, Schedule, Subject, Test},
    window::WindowId,
};

use crate::{
    draft::{
        Draft,
        when_then::{
            Chain, ChainStep, DraftClause, DraftOutput, Honeypot, RateLimit, Sanitizer, TaintChain, WhenThen,
        },
    },
    untrusted,
};

/// What is decided about calls that no rule speaks of.
pub(crate) struct DefaultVerdict {
    /// The strictest verdict of all files.
    pub(crate) verdict: Decision,
    /// Whether it acts: a default that only observes counts where no other is said.
    mode: Mode,
    /// The strictest of the trusted files: below it no untrusted rule speaks.
    pub(crate) floor: Decision,
}

impl DefaultVerdict {
    pub(crate) fn of(drafts: &[Draft]) -> Self {
        let strictest = |drafts: &mut dyn Iterator<Item = &Draft>| {
            let said = drafts.filter_map(|draft| {
                let (verdict, _) = draft.when_then.default_verdict?;
                Some((draft.when_then.mode, verdict))
            });
            said.max().unwrap_or_default()
        };
        let (mode, verdict) = strictest(&mut drafts.iter());
        let (_, floor) = strictest(&mut drafts.iter().filter(|draft| draft.source.is_trusted()));
        Self { verdict, mode, floor }
    }
}

/// Adds what one file says to a policy.
pub(crate) fn lower(when_then: WhenThen, source: &Source, default: &DefaultVerdict, policy: &mut Builder) {
    let WhenThen {
        zone, rules, honeypots, taint_chain, outputs, sanitizer, rate_limits, patterns, mask, ..
    } = when_then;
    let mode = when_then.mode;
    let floor = if source.is_trusted() { Decision::Allow } else { default.floor };
    let mut lowering = Lowering { policy, source, mode, default_verdict: default.verdict, floor };
    honeypots.iter().for_each(|honeypot| lowering.honeypot(honeypot));
    if let Some(sanitizer) = sanitizer {
        lowering.sanitizer(sanitizer);
    }
    rate_limits.iter().for_each(|limit| lowering.rate_limit(limit));
    if let Some(taint_chain) = taint_chain {
        lowering.taint_chain(&taint_chain);
    }
    rules.into_iter().for_each(|rule| lowering.rule(rule, zone.as_ref()));
    outputs.into_iter().for_each(|output| lowering.output(output));
    // Several files may state the strictest default; one of them speaks for it.
    let is_first = !lowering.policy.has_default();
    let is_it = |verdict: Decision| is_first && (mode, verdict) == (default.mode, default.verdict);
    let default = when_then.default_verdict.filter(|(verdict, _)| is_it(*verdict));
    if let Some((verdict, span)) = default {
        lowering.default(verdict, span);
    }
    policy.sensitive(patterns.into_iter().map(|pattern| (pattern.name, pattern.regex)));
    policy.mask(mask.unwrap_or_default());
}

struct Lowering<'a> {
    policy: &'a mut Builder,
    source: &'a Source,
    /// Whether the file's rules act, where they do not say so themselves.
    mode: Mode,
    default_verdict: Decision,
    /// A rule that wants less than this does not speak in the place of the default.
    floor: Decision,
}

/// What makes a clause beside its conditions.
struct ClauseTerms {
    wants: Decision,
    standing: Standing,
    rank: Rank,
    severity: Option<Gravity>,
    sentence: String,
    acts_always: bool,
}

impl ClauseTerms {
    fn block(sentence: String) -> Self {
        let (rank, severity) = (Rank::default(), None);
        Self {
            wants: Decision::Block,
            standing: Standing::Once,
            rank,
            severity,
            sentence,
            acts_always: false,
        }
    }
}

impl Lowering<'_> {
    fn head(&mut self, name: &str, key: String, span: Span, mode: Mode) -> Rule {
        let head = Head { name: name.to_owned(), key, span, mode };
        self.policy.rule(head, self.source)
    }

    fn keep(
        &mut self,
        rule: Rule,
        wish: ClauseTerms,
        conditions: Vec<Condition>,
        windows: Vec<String>,
        found_by: FoundBy<'_>,
    ) {
        let ClauseTerms { wants, standing, rank, severity, sentence, acts_always } = wish;
        let is_credit = wants < self.default_verdict;
        let speaks_for_default = wants >= self.floor;
        if !speaks_for_default {
            let (source, span) = (rule.source.clone(), rule.span);
            self.policy.wait(Waiting { source, span, what: untrusted::CREDIT });
        }
        let tools = match found_by {
            FoundBy::Tools(Tools::Any(names)) => names.iter().map(ToString::to_string).collect(),
            // An agent that knows a trap does not step into it.
            FoundBy::Tools(Tools::Every) | FoundBy::Honeypot(_) | FoundBy::Default => Vec::new(),
        };
        let clause = Clause {
            standing,
            rank,
            severity,
            conditions,
            is_credit,
            acts_always,
            speaks_for_default,
            windows,
            tools,
            ..Clause::new(rule, wants, sentence)
        };
        self.policy.clause(clause, found_by);
    }

    fn honeypot(&mut self, honeypot: &Honeypot) {
        let Honeypot { name, alert, severity, span } = honeypot;
        let key = format!("honeypot {}", name.to_lowercase());
        let rule = self.head("__honeypot__", key, *span, Mode::Enforce);
        let sentence =
            alert.clone().unwrap_or_else(|| format!("{name} is a trap that no honest agent calls."));
        let rank = Rank { gravity: severity.unwrap_or(Gravity::Critical), ..Rank::default() };
        let severity = Some(rank.gravity);
        let wish = ClauseTerms { rank, severity, acts_always: true, ..ClauseTerms::block(sentence) };
        self.keep(rule, wish, Vec::new(), Vec::new(), FoundBy::Honeypot(name));
    }

    fn sanitizer(&mut self, sanitizer: Sanitizer) {
        let rule = self.head("__sanitizer__", "sanitizer".to_owned(), sanitizer.span, self.mode);
        let wish = ClauseTerms::block("the input looks like an attack:".to_owned());
        let conditions = vec![Condition::Attack(Box::new(sanitizer.attack))];
        self.keep(rule, wish, conditions, Vec::new(), FoundBy::Tools(&Tools::Every));
    }

    fn rate_limit(&mut self, limit: &RateLimit) {
        let RateLimit { text, tools, calls_max, window_ms, is_per_session, message, span } = limit;
        // What all sessions share must not be cut short by an untrusted project.
        let is_apart = !is_per_session && !self.source.is_trusted();
        let whose = if is_apart { "untrusted " } else { "" };
        let key = format!("{whose}rate limit {text} in {window_ms} ms");
        let rule = self.head("__rate_limit__", key, *span, self.mode);
        let window = WindowId { rule: rule.id, step: 0 };
        let sentence = message.clone().unwrap_or_else(|| {
            format!("{text} may be called {calls_max} times in {} seconds; wait.", seconds(*window_ms))
        });
        let watcher = Watcher {
            window,
            counts: Counting::Unless(rule.id),
            keeps: Retention::Last(calls_max.get()),
            is_shared: !is_per_session,
        };
        let condition = Condition::Called {
            window,
            count: calls_max.get(),
            within_ms: *window_ms,
            is_end_included: false,
            is_shared: !is_per_session,
        };
        self.policy.watch(tools, &watcher);
        self.keep(
            rule,
            ClauseTerms::block(sentence),
            vec![condition],
            vec![text.clone()],
            FoundBy::Tools(tools),
        );
    }

    fn taint_chain(&mut self, taint_chain: &TaintChain) {
        let rule = self.head("__pii_taint__", "taint chain".to_owned(), taint_chain.span, self.mode);
        let sentence = "this session has seen sensitive data, so nothing may be sent out any more.";
        let names = taint_chain.outgoing_tools.iter().map(|name| ToolName::Exact(name.clone()));
        let tools = Tools::Any(names.collect());
        self.keep(
            rule,
            ClauseTerms::block(sentence.to_owned()),
            vec![Condition::Tainted],
            Vec::new(),
            FoundBy::Tools(&tools),
        );
    }

    fn rule(&mut self, draft: DraftClause, zone: Option<&jiff::tz::TimeZone>) {
        let wants = draft.then.unwrap_or(Decision::Block);
        let mode = draft.mode.unwrap_or_default();
        let rule = self.head(&draft.id, format!("when {}", draft.id), draft.span, mode);
        let tools = draft.tools.unwrap_or(Tools::Every);
        let is_exact = matches!(&tools, Tools::Any(names) if names.iter().all(|name| matches!(name, ToolName::Exact(_))));
        let rank = Rank {
            priority: draft.priority.unwrap_or(i64::MAX),
            gravity: draft.severity.unwrap_or_default(),
            is_pattern: !is_exact,
            ..Rank::default()
        };
        let sentence = draft.message.unwrap_or_else(|| format!("Matched rule '{}'.", draft.id));
        let mut conditions = self.effects(draft.effects.unwrap_or_default(), wants);
        for (field, tests) in draft.args {
            let field = Field::new(&field);
            conditions
                .extend(tests.into_iter().map(|test| Condition::value(Subject::Input(field.clone()), test)));
        }
        for (name, tests) in draft.session {
            let of = attribute(&name);
            if let Attribute::CallsOf(tool) = &of {
                let tools = Tools::Any(vec![ToolName::Exact(tool.to_string())]);
                self.policy.count(&tools, tool);
            }
            conditions
                .extend(tests.into_iter().map(|test| Condition::value(Subject::Session(of.clone()), test)));
        }
        conditions.extend(draft.sender.into_iter().map(|(field, patterns)| {
            Condition::value(Subject::Sender(field), Test::text(Operator::Matches(patterns)))
        }));
        conditions.extend(
            draft.context.into_iter().map(|(key, test)| Condition::value(Subject::Context(key), test)),
        );
        if draft.time_of_day.is_some() || draft.day_of_week.is_some() {
            conditions.push(Condition::Schedule(Schedule {
                time: draft.time_of_day,
                days: draft.day_of_week,
                zone: zone.cloned(),
            }));
        }
        let mut windows = Vec::new();
        if let Some(chain) = draft.chain {
            let is_credit = wants < self.default_verdict;
            if is_credit && wants > Decision::Allow {
                // It opens what the default closes, and closes what another rule opens: what it earns is one
                // question, what it has to fear another.
                let decided = self.chain(&chain, rule.id, false, &mut windows);
                let earned = self.chain(&chain, rule.id, true, &mut windows);
                conditions.push(Condition::Earned { earned, decided });
            } else {
                conditions.extend(self.chain(&chain, rule.id, is_credit, &mut windows));
            }
        }
        let standing = draft.approval_strategy.unwrap_or_default();
        let severity = draft.severity;
        let wish = ClauseTerms { wants, standing, rank, severity, sentence, acts_always: false };
        self.keep(rule, wish, conditions, windows, FoundBy::Tools(&tools));
    }

    /// What the call must do. What opens a call must be all that it does.
    fn effects(&mut self, names: Vec<Arc<str>>, wants: Decision) -> Vec<Condition> {
        if names.is_empty() {
            return Vec::new();
        }
        names.iter().for_each(|name| self.policy.action(name));
        let file = self.policy.next_file();
        let mut conditions = vec![Condition::Deed { file, names: names.clone() }];
        if wants == Decision::Allow {
            conditions.push(Condition::Only { file, names: Vec::new(), phrases: names });
        }
        conditions
    }

    /// The conditions of a chain; the names of its windows are added to those there are.
    fn chain(
        &mut self,
        chain: &Chain,
        rule: RuleId,
        is_credit: bool,
        windows: &mut Vec<String>,
    ) -> Vec<Condition> {
        let begin = windows.len();
        let mut conditions = Vec::new();
        let mut within_ms = Vec::new();
        for step in &chain.steps {
            let copies = if chain.is_ordered { step.min_count.get() } else { 1 };
            for _ in 0..copies {
                let number = u16::try_from(windows.len()).unwrap_or(u16::MAX);
                let window = WindowId { rule, step: number };
                let position = u16::try_from(within_ms.len()).unwrap_or(u16::MAX);
                let keeps = if chain.is_ordered {
                    Retention::WayTo(position)
                } else {
                    Retention::Last(step.min_count.get())
                };
                let watcher = Watcher { window, counts: counting(step, is_credit), keeps, is_shared: false };
                self.policy.watch(&Tools::Any(vec![step.tools.clone()]), &watcher);
                let key = window_key(step, chain, position, windows.get(begin..).unwrap_or_default());
                windows.push(if begin > 0 { format!("{key} (succeeded)") } else { key });
                within_ms.push(step.within_ms);
                if !chain.is_ordered {
                    conditions.push(Condition::Called {
                        window,
                        count: step.min_count.get(),
                        within_ms: step.within_ms,
                        is_end_included: true,
                        is_shared: false,
                    });
                }
            }
        }
        let last = u16::try_from(windows.len()).ok().and_then(|len| len.checked_sub(1));
        if let (true, false, Some(step)) = (chain.is_ordered, within_ms.is_empty(), last) {
            conditions.push(Condition::CalledInOrder { window: WindowId { rule, step }, within_ms });
        }
        conditions
    }

    fn output(&mut self, draft: DraftOutput) {
        let DraftOutput { id, tools, bytes_max, severity, patterns, masks, message, span, .. } = draft;
        let rule = self.head(&id, format!("output {id}"), span, draft.mode.unwrap_or(self.mode));
        let sentence = message.unwrap_or_else(|| format!("the result was stopped by output rule '{id}'."));
        // What only the backtracking engine can find cannot be masked exactly: then the result is withheld.
        let masks = masks.then(|| {
            let regexes = patterns.iter().map(|it| regex::Regex::new(it.linear_source()?).ok());
            let regexes: Option<Vec<_>> = regexes.collect();
            regexes.map(|regexes| Detectors::with_patterns(regexes.into_iter().map(|it| (id.clone(), it))))
        });
        let on_hit = match masks.flatten() {
            Some(_) if !draft.kinds.is_empty() => {
                HitAction::MaskKinds(draft.kinds.iter().map(|kind| Arc::from(*kind)).collect())
            }
            masks => masks.map_or(HitAction::Withhold, HitAction::Mask),
        };
        let output = OutputRule {
            rule,
            looks_for: OutputSearch::Text { bytes_max, patterns },
            on_hit,
            spares_what_acted: false,
            sentence,
            template: None,
            tags: Vec::new(),
            severity,
        };
        self.policy.output(output, &tools);
    }

    fn default(&mut self, verdict: Decision, span: Span) {
        let rule = self.head("__default__", "default verdict".to_owned(), span, self.mode);
        let sentence = match verdict {
            Decision::Ask => "no rule is about this call, so a human must approve it.",
            _ => "no rule allows this call.",
        };
        let wish = ClauseTerms { wants: verdict, ..ClauseTerms::block(sentence.to_owned()) };
        self.keep(rule, wish, Vec::new(), Vec::new(), FoundBy::Default);
    }
}

fn attribute(name: &str) -> Attribute {
    match (name, name.strip_prefix("tool_count.")) {
        ("total_calls", _) => Attribute::Calls,
        ("taints", _) => Attribute::Taints,
        (_, Some(tool)) => Attribute::CallsOf(Arc::from(tool)),
        (name, None) => Attribute::Named(name.to_owned()),
    }
}

/// A restriction counts whatever was asked for, a credit only what succeeded.
fn counting(step: &ChainStep, is_credit: bool) -> Counting {
    match step.verdict {
        Some(Decision::Block | Decision::Ask) => Counting::Decided(step.verdict),
        verdict if is_credit => Counting::Succeeded(verdict),
        verdict => Counting::Decided(verdict),
    }
}

/// What a step's window is kept under: the same after its count or its time was edited.
fn window_key(step: &ChainStep, chain: &Chain, number: u16, taken: &[String]) -> String {
    let verdict = step.verdict.map(|verdict| format!(" {}", verdict.word())).unwrap_or_default();
    if chain.is_ordered {
        let way: Vec<&str> = chain.steps.iter().map(|step| step.text.as_str()).collect();
        return format!("{number} on {}{verdict}", way.join(" > "));
    }
    let key = format!("{}{verdict}", step.text);
    let uses = taken.iter().filter(|it| **it == key || it.starts_with(&format!("{key} #"))).count();
    if uses == 0 { key } else { format!("{key} #{}", uses + 1) }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
