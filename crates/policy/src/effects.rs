//! The effects that the rules of a policy name, and which of them a call has.
//!
//! `any deletion outside ./build` is a name like another to nets, claims and the prover. [`EffectNames::deeds`] adds a
//! deed for each such name that the call's effects meet, beside the names that maps give. Where a script cannot be read,
//! every effect is guessed; a tool without a row in the tables has the effects that a file declares, and no others.

use std::sync::Arc;

use lockgate_call::{
    Effect, EffectKind, EffectPattern, EffectPlaces, Effects, PlaceFit, ScriptFields, SeenCall, Target,
};

use crate::{
    deed::{Basis, Deed, Deeds},
    hash::HashMap,
    maps::running,
    names::{NameId, Names},
    phrase::RunningPhrase,
    statement::Declared,
};

/// The effects that the rules of a policy name.
#[derive(Debug, Default)]
pub(crate) struct EffectNames {
    names: Vec<EffectName>,
    /// What scripts run, if rules name it.
    running: Vec<RunningName>,
    /// What tools do because a file says so, and whether that may earn something.
    declared: HashMap<Arc<str>, Vec<(EffectKind, bool)>>,
}

#[derive(Debug)]
struct EffectName {
    id: NameId,
    pattern: EffectPattern,
}

#[derive(Debug)]
struct RunningName {
    id: NameId,
    phrase: RunningPhrase,
}

impl EffectNames {
    /// Whether no rule names an effect.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.running.is_empty()
    }

    /// Takes a name in, where it names effects.
    pub(crate) fn add(&mut self, name: &str, id: NameId) {
        if let Some(pattern) = EffectPattern::parse(name)
            && !self.names.iter().any(|known| known.id == id)
        {
            self.names.push(EffectName { id, pattern });
        }
        if let Some(phrase) = RunningPhrase::parse(name)
            && !self.running.iter().any(|known| known.id == id)
        {
            self.running.push(RunningName { id, phrase });
        }
    }

    /// Takes in what a file says about a tool. What an untrusted file says restricts and earns nothing.
    pub(crate) fn declare(&mut self, declared: &Declared, is_trusted: bool) {
        let known = self.declared.entry(Arc::from(declared.tool.as_str())).or_default();
        known.extend(declared.effects.iter().map(|kind| (*kind, is_trusted)));
    }

    /// What files say that tools do.
    pub(crate) fn declared(&self) -> impl Iterator<Item = (&str, EffectKind)> {
        self.declared.iter().flat_map(|(tool, kinds)| kinds.iter().map(move |(kind, _)| (&**tool, *kind)))
    }

    /// What a call does, by the tables and by what files declare.
    pub(crate) fn seen(&self, call: &SeenCall, fields: &ScriptFields) -> Effects {
        let mut effects = call.reading(fields).effects().clone();
        for (kind, may_earn) in self.declared.get(&*call.tool).into_iter().flatten() {
            let is_confirmed = *may_earn;
            effects.found.push(Effect { kind: *kind, certain: true, is_confirmed, target: Target::Unknown });
        }
        effects
    }

    /// The deeds that the effects of a call add to it.
    pub(crate) fn deeds(&self, call: &SeenCall, fields: &ScriptFields, names: &Names) -> Deeds {
        let mut deeds = Deeds::new();
        for RunningName { id, phrase } in &self.running {
            if let Some(known) = names.get(*id).filter(|_| phrase.tools.contains(&call.tool)) {
                let deed = Deed::named(&known.name, names);
                deeds.extend(running(call, fields, phrase, &deed));
            }
        }
        if self.names.is_empty() {
            return deeds;
        }
        let effects = call.reading(fields).effects();
        let declared = self.declared.get(&*call.tool).map(Vec::as_slice).unwrap_or_default();
        for EffectName { id, pattern } in &self.names {
            let Some(deed) = names.get(*id).map(|known| Deed::named(&known.name, names)) else { continue };
            let mut found: Option<Deed> = None;
            let mut take = |deed: Deed| match &mut found {
                Some(known) => {
                    known.is_confirmed =
                        known.is_confirmed && known.certain || deed.is_confirmed && deed.certain;
                    known.certain |= deed.certain;
                    known.basis = known.basis.min(deed.basis);
                }
                None => found = Some(deed),
            };
            for effect in effects.found.iter().filter(|effect| effect.kind == pattern.kind) {
                match pattern.fit(effect, call, call.links()) {
                    PlaceFit::No => {}
                    PlaceFit::Unknown => take(deed.doubted_by(unknown_basis(&pattern.places))),
                    PlaceFit::Possible => take(deed.doubted()),
                    PlaceFit::Certain if effect.certain => {
                        take(Deed { is_confirmed: effect.is_confirmed, ..deed.clone() });
                    }
                    PlaceFit::Certain => take(deed.doubted()),
                }
            }
            for (_, may_earn) in declared.iter().filter(|(kind, _)| *kind == pattern.kind) {
                // Where a tool does it, its input need not say.
                match pattern.places {
                    EffectPlaces::Any if *may_earn => take(deed.clone()),
                    _ => take(deed.doubted()),
                }
            }
            if effects.is_open {
                take(deed.doubted_by(if effects.only_waits { Basis::Typed } else { Basis::Guessed }));
            }
            deeds.extend(found);
        }
        deeds
    }
}

/// Whether something that happens at an unknown place was seen to happen: outside of what a rule leaves open it was, but that
/// it happens right there is a guess.
fn unknown_basis(places: &EffectPlaces) -> Basis {
    match places {
        EffectPlaces::Inside(_) | EffectPlaces::To(_) => Basis::Guessed,
        EffectPlaces::Any | EffectPlaces::Outside(_) | EffectPlaces::ExceptTo(_) => Basis::Seen,
    }
}
