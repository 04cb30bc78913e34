//! What a session has seen of values: who said which atoms, in order.
//!
//! Invariant: forgetting only ever closes. Results are forgotten first, the oldest before the others; what the user said and what
//! the agent brought in is never forgotten. Where there is no room left for what the agent brought in, no result counts any
//! more.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, LazyLock},
};

use lockgate_call::{Piece, scan_atoms};
use serde_json::{Map, Value};
use siphasher::sip::SipHasher13;

use super::{
    leaves::{each_leaf, each_name},
    parts::{each_part, is_joined},
    said::said_in,
    source::ResultSource,
};

/// The most hashes that a session keeps.
const HASHES_MAX: usize = 1 << 16;

/// The most addresses whose first sighting is kept, to explain refusals.
const SIGHTINGS_MAX: usize = 2048;

/// The longest text that is looked at: what stands behind has no origin.
const TEXT_MAX: usize = 1 << 20;

/// The hash of a break between two runs.
const BREAK: u64 = 0;

/// Who said something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The user, in a message or by agreeing to a call.
    User,
    /// The agent, in the input of a call that was let pass: each hash is a part of what it wrote, and they are sorted.
    Agent,
    /// A result, as running text: the key of its source.
    Text(Arc<str>),
    /// A field of a result: each hash is a whole value. The key of its source.
    Field(Arc<str>),
}

/// What one speaker said at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Utterance {
    by: Speaker,
    hashes: Vec<u64>,
}

/// Where an address first stood.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sighting {
    /// The hash of the address.
    pub hash: u64,
    /// The tool in whose result it stood.
    pub tool: Arc<str>,
    /// The id of that call.
    pub call: Arc<str>,
}

/// What a session has seen of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    key: Option<[u64; 2]>,
    utterances: Vec<Utterance>,
    sightings: Vec<Sighting>,
    /// The stems that the user has said.
    said: Vec<Arc<str>>,
    /// Whether something the agent brought in could not be kept: then no result counts.
    is_overfull: bool,
}

/// What was said at one moment, hashed; to be taken in by [`Origins::take`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOrigins {
    key: [u64; 2],
    utterances: Vec<Utterance>,
    sightings: Vec<Sighting>,
    said: Vec<Arc<str>>,
    is_overfull: bool,
}

/// A value with its hashes: its atoms in order, and all of it as one.
pub(crate) struct Hashed<'t> {
    text: &'t str,
    pub(crate) atoms: Vec<u64>,
    whole: u64,
}

/// The key of sessions that begin in this process. Without it an attacker cannot search offline for two texts with one hash.
static KEY: LazyLock<[u64; 2]> =
    LazyLock::new(|| [RandomState::new().hash_one(1_u8), RandomState::new().hash_one(2_u8)]);

impl Origins {
    /// Takes in what was said. Nothing else changes it.
    pub fn take(&mut self, new: &NewOrigins) {
        if *self.key.get_or_insert(new.key) != new.key {
            // Hashes of another key tell nothing, so it is not known what the agent brought in.
            self.is_overfull = true;
            return;
        }
        self.is_overfull |= new.is_overfull;
        for word in &new.said {
            if !self.said.contains(word) {
                self.said.push(word.clone());
            }
        }
        for sighting in &new.sightings {
            let is_known = |known: &Sighting| known.hash == sighting.hash;
            if self.sightings.len() < SIGHTINGS_MAX && !self.sightings.iter().any(is_known) {
                self.sightings.push(sighting.clone());
            }
        }
        new.utterances.iter().for_each(|utterance| self.push(utterance.clone()));
    }

    fn push(&mut self, utterance: Utterance) {
        if utterance.hashes.is_empty() {
            return;
        }
        let mut size: usize = self.utterances.iter().map(|it| it.hashes.len()).sum();
        let is_result = |by: &Speaker| matches!(by, Speaker::Text(_) | Speaker::Field(_));
        while size + utterance.hashes.len() > HASHES_MAX {
            let Some(oldest) = self.utterances.iter().position(|it| is_result(&it.by)) else { break };
            size -= self.utterances.remove(oldest).hashes.len();
        }
        if size + utterance.hashes.len() > HASHES_MAX {
            self.is_overfull |= utterance.by == Speaker::Agent;
            return;
        }
        self.utterances.push(utterance);
    }

    /// Whether the user has said a word that begins like this.
    pub fn has_said(&self, stem: &str) -> bool {
        self.said.iter().any(|said| **said == *stem)
    }

    /// Whether anything was kept yet.
    pub fn has_begun(&self) -> bool {
        self.key.is_some()
    }

    /// Whether nothing was ever said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The key for what is said next.
    fn key(&self) -> [u64; 2] {
        self.key.unwrap_or(*KEY)
    }

    pub(crate) fn hashed<'t>(&self, text: &'t str) -> Hashed<'t> {
        hashed(self.key(), text)
    }

    pub(crate) fn hash_of_atom<'t>(&self, atom: &'t str) -> Hashed<'t> {
        let hash = hash_of(self.key(), atom);
        Hashed { text: atom, atoms: vec![hash], whole: whole(self.key(), &[hash]) }
    }

    /// Whether a trusted speaker said a value before the agent used it.
    ///
    /// Results that this rule does not trust give a value no origin: otherwise the agent could write it where trusted results
    /// are read from. What the user said before is not brought in by the agent.
    pub(crate) fn admits(&self, value: &Hashed<'_>, from_user: bool, sources: &[ResultSource]) -> bool {
        let mut is_users = false;
        for (number, Utterance { by, hashes }) in self.utterances.iter().enumerate() {
            let is_origin = match by {
                Speaker::Agent => false,
                Speaker::User => {
                    is_users |= contains(hashes, &value.atoms);
                    is_users && from_user
                }
                Speaker::Text(key) => {
                    sources.iter().any(|it| it.field.is_none() && it.key() == *key)
                        && contains(hashes, &value.atoms)
                }
                Speaker::Field(key) => {
                    sources.iter().any(|it| it.field.is_some() && it.key() == *key)
                        && hashes.contains(&value.whole)
                }
            };
            if is_origin && (is_users || !self.is_brought_in(value, number)) {
                return true;
            }
        }
        false
    }

    /// Whether the agent wrote all parts of a value before a moment.
    fn is_brought_in(&self, value: &Hashed<'_>, before: usize) -> bool {
        let written = || self.utterances.iter().take(before).filter(|it| it.by == Speaker::Agent);
        let has = |hash: u64| written().any(|it| it.hashes.binary_search(&hash).is_ok());
        self.is_overfull || is_joined(value.text, &|part| has(hash_of(self.key(), part)))
    }

    /// Where an address of a value first stood in a result.
    pub fn first_sighting(&self, text: &str) -> Option<&Sighting> {
        let mut hashes = Vec::new();
        scan_atoms(text, |piece| {
            if let Piece::Atom { text, .. } = piece {
                hashes.push(hash_of(self.key(), text));
            }
        });
        self.sightings.iter().find(|sighting| hashes.contains(&sighting.hash))
    }

    /// What the user said.
    pub fn heard(&self, text: &str, wanted: &[Arc<str>], traces: bool) -> NewOrigins {
        let text = bounded(text);
        let hashes = if traces { self.hashed(text).atoms } else { Vec::new() };
        NewOrigins {
            key: self.key(),
            utterances: vec![Utterance { by: Speaker::User, hashes }],
            said: said_in(text, wanted),
            ..NewOrigins::default()
        }
    }

    /// What a call that is let pass brings in: every part of what the agent wrote, names of fields included. Where a human agreed to
    /// the call, its values are the user's.
    pub fn brought_in(&self, (tool, input): (&str, &Map<String, Value>), is_agreed: bool) -> NewOrigins {
        let mut new = NewOrigins { key: self.key(), ..NewOrigins::default() };
        let mut values = Vec::new();
        if is_agreed {
            input.values().for_each(|value| {
                each_leaf(value, &mut |text| values.push(self.hashed(bounded(text)).atoms))
            });
            let by_user = values.into_iter().map(|hashes| Utterance { by: Speaker::User, hashes });
            new.utterances.extend(by_user.filter(|it| !it.hashes.is_empty()));
            return new;
        }
        let mut hashes = BTreeSet::new();
        let mut take = |text: &str| {
            // What stands behind the bound could come back without being known.
            new.is_overfull |= text.len() > TEXT_MAX;
            each_part(bounded(text), &mut |part| {
                hashes.insert(hash_of(new.key, part));
            });
        };
        for (name, value) in input {
            take(name);
            each_leaf(value, &mut take);
            each_name(value, &mut take);
        }
        // A tool that does not exist is named in what comes back.
        if has_address(tool) {
            take(tool);
        }
        let known = |hash: &u64| {
            self.utterances.iter().any(|it| it.by == Speaker::Agent && it.hashes.binary_search(hash).is_ok())
        };
        hashes.retain(|hash| !known(hash));
        new.utterances.push(Utterance { by: Speaker::Agent, hashes: hashes.into_iter().collect() });
        new
    }

    /// What a successful result shows: values of the sources it has, and addresses for explanations.
    pub fn shown<'s>(
        &self,
        (tool, call): (&str, &str),
        output: &Value,
        sources: impl Iterator<Item = &'s ResultSource>,
    ) -> NewOrigins {
        let key = self.key();
        let mut new = NewOrigins { key, ..NewOrigins::default() };
        for source in sources {
            let by = match source.field {
                Some(_) => Speaker::Field(source.key()),
                None => Speaker::Text(source.key()),
            };
            let mut hashes = Vec::new();
            source.each_value(output, &mut |text| {
                let value = self.hashed(bounded(text));
                match by {
                    _ if value.atoms.is_empty() => {}
                    Speaker::Field(_) => hashes.push(value.whole),
                    _ => {
                        hashes.extend(value.atoms);
                        hashes.push(BREAK);
                    }
                }
            });
            new.utterances.push(Utterance { by, hashes });
        }
        let (tool, call): (Arc<str>, Arc<str>) = (tool.into(), call.into());
        each_leaf(output, &mut |text| {
            scan_atoms(bounded(text), |piece| {
                let Piece::Atom { kind, text } = piece else { return };
                if kind.is_address() && new.sightings.len() < SIGHTINGS_MAX {
                    let hash = hash_of(key, text);
                    new.sightings.push(Sighting { hash, tool: tool.clone(), call: call.clone() });
                }
            });
        });
        let known = |sighting: &Sighting| self.sightings.iter().any(|it| it.hash == sighting.hash);
        new.sightings.retain(|sighting| !known(sighting));
        new
    }
}

impl NewOrigins {
    /// The same for a session that has let calls pass before its origins were kept: what they brought in is not known, so
    /// no result counts.
    #[must_use]
    pub fn begun_late(self, is_late: bool) -> Self {
        Self { is_overfull: self.is_overfull || is_late, ..self }
    }

    /// Whether there is nothing to take in.
    pub fn is_empty(&self) -> bool {
        let Self { utterances, sightings, said, is_overfull, .. } = self;
        utterances.iter().all(|it| it.hashes.is_empty())
            && sightings.is_empty()
            && said.is_empty()
            && !is_overfull
    }
}

/// As much of a text as is looked at.
fn bounded(text: &str) -> &str {
    let end = (0..=text.len().min(TEXT_MAX)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn has_address(text: &str) -> bool {
    let mut has_address = false;
    scan_atoms(bounded(text), |piece| {
        has_address |= matches!(piece, Piece::Atom { kind, .. } if kind.is_address())
    });
    has_address
}

fn hashed(key: [u64; 2], text: &str) -> Hashed<'_> {
    let mut atoms = Vec::new();
    scan_atoms(text, |piece| {
        atoms.push(match piece {
            Piece::Atom { text, .. } => hash_of(key, text),
            Piece::Break => BREAK,
        });
    });
    let whole = whole(key, &atoms);
    Hashed { text, atoms, whole }
}

fn hash_of([first, second]: [u64; 2], text: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(first, second);
    hasher.write(text.as_bytes());
    // The hash of a break stands for nothing else.
    hasher.finish().max(BREAK + 1)
}

fn whole([first, second]: [u64; 2], atoms: &[u64]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(first, !second);
    atoms.iter().for_each(|atom| hasher.write_u64(*atom));
    hasher.finish()
}

fn contains(text: &[u64], value: &[u64]) -> bool {
    match value {
        [] => false,
        [one] => text.contains(one),
        value => text.windows(value.len()).any(|window| window == value),
    }
}

/// As it is kept with a session: hashes as base-16 text, sixteen letters each.
#[derive(serde::Serialize, serde::Deserialize)]
struct Saved {
    key: Option<[u64; 2]>,
    utterances: Vec<(Speaker, String)>,
    #[serde(default)]
    sightings: Vec<Sighting>,
    #[serde(default)]
    said: Vec<Arc<str>>,
    #[serde(default)]
    is_overfull: bool,
}

impl serde::Serialize for Origins {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |hashes: &[u64]| {
            use std::fmt::Write as _;
            hashes.iter().fold(String::with_capacity(hashes.len() * 16), |mut text, hash| {
                // Writing to a text cannot fail.
                let _ = write!(text, "{hash:016x}");
                text
            })
        };
        let utterances = self.utterances.iter().map(|it| (it.by.clone(), text(&it.hashes)));
        Saved {
            key: self.key,
            utterances: utterances.collect(),
            sightings: self.sightings.clone(),
            said: self.said.clone(),
            is_overfull: self.is_overfull,
        }
        .serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Origins {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Saved { key, utterances, sightings, said, is_overfull } = Saved::deserialize(deserializer)?;
        let read = |text: &str| -> Option<Vec<u64>> {
            let groups = text.as_bytes().chunks(16).map(|group| std::str::from_utf8(group).ok());
            groups.map(|group| u64::from_str_radix(group?, 16).ok()).collect()
        };
        let utterances = utterances.into_iter().map(|(by, text)| {
            let hashes = read(&text).ok_or_else(|| serde::de::Error::custom("damaged hashes of origins"))?;
            Ok(Utterance { by, hashes })
        });
        Ok(Self {
            key,
            utterances: utterances.collect::<Result<_, D::Error>>()?,
            sightings,
            said,
            is_overfull,
        })
    }
}

#[cfg(test)]
mod tests;
