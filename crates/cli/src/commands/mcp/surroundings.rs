//! What the proxy's process knows: the time, where links lead, what is proved, and what it learnt of a server before.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use lockgate::engine::{
    Call, LocalEyes, SeenCall, Source, Time,
    gate::Rulebook,
    languages::{KnownTools, check_names},
    policy::{CLAIMS_MAX, Property},
    prover::prove,
};
use lockgate_agents::now;
use lockgate_mcp::{Environment, Era};
use serde_json::{Value, json};

use super::say::say;

/// How long what was learnt of a server counts, in milliseconds: it may be another one tomorrow.
const ERA_MS: u64 = 24 * 60 * 60 * 1000;

/// The process around the proxy.
pub(super) struct Surroundings {
    /// The policy, to be asked again about tools it has not heard of.
    sources: Vec<Source>,
    /// Where it is kept which revisions the server speaks; none to keep nothing.
    era: Option<PathBuf>,
    /// Tools that were asked about, and why they are dead.
    dead: Mutex<BTreeMap<String, Option<String>>>,
    told: Mutex<BTreeSet<String>>,
}

impl Surroundings {
    pub(super) fn new(sources: Vec<Source>, era: Option<PathBuf>) -> Self {
        Self { sources, era, dead: Mutex::default(), told: Mutex::default() }
    }

    /// Which of these tools no session can ever call, and by which rules.
    fn proved(&self, tools: &[&String]) -> BTreeMap<String, Option<String>> {
        let mut found: BTreeMap<String, Option<String>> =
            tools.iter().map(|tool| ((*tool).clone(), None)).collect();
        let Some(first) = tools.first() else { return found };
        let claims: String = tools.iter().map(|tool| format!("claim {tool} impossible\n")).collect();
        // A file has to have a rule; one that only observes changes no proof.
        let claims = format!("observe block {first}\n{claims}");
        let sources: Vec<Source> =
            self.sources.iter().cloned().chain([Source::new("listed tools", claims)]).collect();
        let (Some(policy), _) = lockgate::engine::languages::read(&sources) else { return found };
        let proved = prove(&Rulebook::new(policy));
        for claim in proved.claims.iter().filter(|claim| claim.report.holds == Some(true)) {
            if let Property::Impossible(tool) = &claim.report.claim.property {
                found.insert(tool.to_string(), Some("no session can ever call it".to_owned()));
            }
        }
        found
    }
}

/// Whether a claim can speak of it.
fn is_plain(tool: &str) -> bool {
    !tool.is_empty() && tool.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it))
}

/// Looks at a call where this process runs.
pub(super) fn look(call: Call) -> SeenCall {
    SeenCall::look(call, Some(&LocalEyes))
}

impl Environment for Surroundings {
    fn now(&self) -> Time {
        now()
    }

    fn log(&self, line: &str) {
        say(line);
    }

    fn look(&self, call: Call) -> SeenCall {
        look(call)
    }

    fn dead(&self, tools: &[String]) -> Vec<Option<String>> {
        let mut known = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<&String> =
            tools.iter().filter(|tool| is_plain(tool) && !known.contains_key(*tool)).collect();
        // A policy has room for so many claims, its author's own among them.
        for some in new.chunks(CLAIMS_MAX / 2) {
            known.extend(self.proved(some));
        }
        tools.iter().map(|tool| known.get(tool).cloned().flatten()).collect()
    }

    /// Names in the policy that look like a misspelt tool are told, each once.
    fn listed(&self, tools: &[String]) {
        let known = KnownTools::named(tools.iter().cloned());
        let mut findings = Vec::new();
        check_names(&mut findings, &self.sources, &known, None);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for finding in findings.into_iter().filter(|finding| finding.code == "misspelt") {
            if told.insert(finding.message.clone()) {
                say(&format!("warning: {}", finding.message));
            }
        }
    }

    fn era(&self) -> Option<Era> {
        let text = fs::read_to_string(self.era.as_ref()?).ok()?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        let at = kept.get("at")?.as_u64()?;
        if now() > Time(at).after_ms(ERA_MS) {
            return None;
        }
        match kept.get("modern")? {
            Value::Null => Some(Era::Legacy),
            result => Some(Era::Modern(result.to_string())),
        }
    }

    fn learn(&self, era: &Era) {
        let Some(file) = &self.era else { return };
        let modern = match era {
            Era::Legacy => Value::Null,
            Era::Modern(result) => serde_json::from_str(result).unwrap_or_default(),
        };
        let text = json!({ "at": now().0, "modern": modern }).to_string();
        // Where it cannot be kept, the next process finds it out again.
        let draft = file.with_extension(std::process::id().to_string());
        let kept = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&draft, text));
        let _ = kept.and_then(|()| fs::rename(&draft, file));
    }
}
