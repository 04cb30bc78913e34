//! Structural transitions: letting them fire by themselves, and knowing that they stop.
//!
//! [`Net::advance`] fires them round by round until nothing moves. The builder refuses nets in which
//! that might go on for ever, see [`never_rests`]. Among structural transitions that compete for
//! tokens none is preferred: they all wait, because a choice that no rule makes should not open anything.

use smallvec::SmallVec;

use crate::{
    error::NetError,
    id::{PlaceId, TransitionId},
    marking::Marking,
    net::{Firing, Net, Transition},
};

/// Most firings in one [`Net::advance`].
pub const ADVANCE_FIRINGS_MAX: usize = 10_000;

impl Net {
    /// Fires structural transitions until none of them can, and says whether that rest was reached.
    ///
    /// Each round looks at the enabled structural transitions. Any two of them that share an input
    /// place with too few tokens for both are in conflict, and both wait. The others fire once, in the
    /// order they were declared, as far as they are still enabled when their turn comes. The rounds
    /// end when nothing fires. One that would overflow a place waits too.
    ///
    /// The builder guarantees that this comes to rest, but not how soon: a structural transition on a
    /// place with billions of tokens fires billions of times. After [`ADVANCE_FIRINGS_MAX`] firings it
    /// stops and answers `false`; the marking is then one that firing led to, and advancing again goes on.
    pub fn advance(&self, marking: &mut Marking) -> bool {
        let mut firings_left = ADVANCE_FIRINGS_MAX;
        loop {
            let round = self.without_conflict(marking);
            let mut at_rest = true;
            for transition in round {
                if firings_left == 0 {
                    return false;
                }
                if self.fire(marking, transition).is_ok() {
                    firings_left -= 1;
                    at_rest = false;
                }
            }
            if at_rest {
                return true;
            }
        }
    }

    /// The enabled structural transitions that share no input place with another one unless there are
    /// tokens for both, in the order they were declared.
    fn without_conflict(&self, marking: &Marking) -> Few<TransitionId> {
        let is_enabled = |transition: &TransitionId| self.is_enabled(marking, *transition);
        let mut enabled: Few<_> = self.structural.iter().copied().filter(is_enabled).collect();
        if enabled.len() < 2 {
            return enabled;
        }
        let mut needs: Few<Need> = enabled.iter().flat_map(|transition| self.needs(*transition)).collect();
        // The greediest of each place come first: a transition that fits beside them fits beside all.
        needs.sort_unstable_by(|a, b| (a.place, b.tokens).cmp(&(b.place, a.tokens)));
        let mut waiting: Few<TransitionId> = Few::new();
        for sharing in needs.chunk_by(|a, b| a.place == b.place) {
            let [greediest, second, ..] = sharing else {
                continue;
            };
            let there = u128::from(marking.tokens(greediest.place));
            for need in sharing {
                let rival = if need.transition == greediest.transition { second } else { greediest };
                if u128::from(need.tokens) + u128::from(rival.tokens) > there {
                    waiting.push(need.transition);
                }
            }
        }
        waiting.sort_unstable();
        enabled.retain(|transition| waiting.binary_search(transition).is_err());
        enabled
    }

    fn needs(&self, transition: TransitionId) -> impl Iterator<Item = Need> + '_ {
        self.inputs(transition).iter().map(move |&(place, tokens)| Need { place, tokens, transition })
    }
}

type Few<T> = SmallVec<[T; 4]>;

/// What one transition wants from one place.
#[derive(Clone, Copy)]
struct Need {
    place: PlaceId,
    tokens: u64,
    transition: TransitionId,
}

/// The structural transitions that may fire for ever, if there are any.
///
/// Strike out a transition that uses up tokens of a place which no remaining one refills: it can fire
/// only as often as that place has tokens, plus the finitely many put there by those struck out before
/// it. Repeat. If all can be struck out, every run of structural transitions is finite, from every
/// marking, whatever the order. The rest is refused. Among it are all that truly never rest (those
/// without input, self-loops, cycles that regain what they used), and also cycles that lose tokens on
/// the way: they would stop, but none has been needed, and the shorter argument is easier to trust.
///
/// PetriFlow runs self-loops and cycles until a marking repeats, and hangs on a transition without
/// input. None of them can be built here, so there is no repetition to watch for.
pub(crate) fn never_rests(transitions: &[Transition], places: usize) -> Option<NetError> {
    let structural =
        || transitions.iter().enumerate().filter(|(_, transition)| transition.firing == Firing::Structural);
    let mut refills = vec![0_usize; places];
    let mut users = vec![Vec::new(); places];
    for (index, transition) in structural() {
        for (place, _) in &transition.gains {
            if let Some(count) = refills.get_mut(place.index()) {
                *count += 1;
            }
        }
        for (place, _) in &transition.losses {
            if let Some(users) = users.get_mut(place.index()) {
                users.push(index);
            }
        }
    }

    let mut struck_out = vec![false; transitions.len()];
    let mut dry: Vec<usize> = (0..places).filter(|place| refills.get(*place) == Some(&0)).collect();
    while let Some(place) = dry.pop() {
        for index in users.get_mut(place).map(std::mem::take).unwrap_or_default() {
            let Some(already @ false) = struck_out.get_mut(index) else {
                continue;
            };
            *already = true;
            for (place, _) in transitions.get(index).iter().flat_map(|transition| &transition.gains) {
                let Some(count) = refills.get_mut(place.index()) else {
                    continue;
                };
                *count -= 1;
                if *count == 0 {
                    dry.push(place.index());
                }
            }
        }
    }

    let restless: Vec<String> = structural()
        .filter(|(index, _)| struck_out.get(*index) == Some(&false))
        .map(|(_, transition)| transition.name.clone())
        .collect();
    (!restless.is_empty()).then_some(NetError::NeverRests { transitions: restless })
}
