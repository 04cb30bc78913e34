//! Small random systems of every form of rule.

use std::{collections::BTreeMap, ops::RangeInclusive};

use lockgate_petri::prove::{Label, LabelSet, Rule};
use proptest::{collection::vec, prelude::*};

use super::brute::{Plain, PlainTable};

/// Rules over a few labels, and further rules to hold against them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) labels: Vec<Label>,
    pub(crate) rules: Vec<Plain>,
    pub(crate) further: Vec<Plain>,
}

impl World {
    pub(crate) fn rules(&self) -> Vec<Rule> {
        self.rules.iter().map(Plain::rule).collect()
    }
}

/// How labels are drawn: alone, in small sets, or as deeds that succeed or fail.
#[derive(Clone, Copy, Debug)]
enum Style {
    Single,
    Sets,
    Deeds,
}

/// Which forms of rules are drawn.
#[derive(Clone, Copy, Debug)]
enum Forms {
    All,
    WithoutTables,
    /// Tables among the others, and larger ones.
    Tables,
    /// Those that can be earned again and again, and clearers: where shortcuts go wrong.
    Earned,
}

pub(crate) fn worlds() -> impl Strategy<Value = World> {
    worlds_of(3..=10, 0..=3)
}

/// Few rules, with limits too large to be counted down one by one.
pub(crate) fn worlds_of_large_limits() -> impl Strategy<Value = World> {
    worlds_of(2..=5, 17..=40)
}

fn worlds_of(rules: RangeInclusive<usize>, counts: RangeInclusive<u64>) -> impl Strategy<Value = World> {
    let style = prop_oneof![Just(Style::Single), Just(Style::Sets), Just(Style::Deeds)];
    let forms = prop_oneof![
        2 => Just(Forms::All),
        3 => Just(Forms::WithoutTables),
        3 => Just(Forms::Tables),
        2 => Just(Forms::Earned)
    ];
    (style, forms, 4_u32..=8, rules).prop_flat_map(move |(style, forms, labels, rules)| {
        let labels = if matches!(style, Style::Deeds) { labels / 2 * 2 } else { labels };
        (
            vec(plain(style, forms, labels, counts.clone()), rules),
            vec(plain(style, forms, labels, counts.clone()), 2),
        )
            .prop_map(move |(rules, further)| World {
                labels: (0..labels).map(Label).collect(),
                rules,
                further,
            })
    })
}

fn plain(style: Style, forms: Forms, labels: u32, counts: RangeInclusive<u64>) -> BoxedStrategy<Plain> {
    let earns = move || set(style, labels, false);
    let spends = move || set(style, labels, true);
    let require = (earns(), spends(), prop::bool::weighted(0.3))
        .prop_map(|(before, then, latched)| Rule::Require { before, then, latched });
    let block = spends().prop_map(Rule::Block);
    let limit = (spends(), counts.clone()).prop_map(|(spend, count)| Rule::Limit { spend, count });
    let limit_per = (spends(), counts, earns()).prop_map(|(spend, count, refill)| Rule::LimitPer {
        spend,
        count,
        refill,
    });
    let never = (spends(), spends()).prop_map(|(after, then)| Rule::Never { after, then });
    let since =
        (earns(), spends(), spends()).prop_map(|(needs, clears, then)| Rule::Since { needs, clears, then });
    let [blocks, limits, pers, nevers, tables] = match forms {
        Forms::All => [1, 2, 2, 2, 3],
        Forms::WithoutTables => [1, 2, 2, 2, 0],
        Forms::Tables => [1, 2, 2, 2, 8],
        Forms::Earned => [0, 0, 3, 1, 0],
    };
    let states_max = if matches!(forms, Forms::Tables) { 6 } else { 3 };
    let rule = prop_oneof![
        6 => require,
        3 => since,
        blocks => block,
        limits => limit,
        pers => limit_per,
        nevers => never,
    ];
    prop_oneof![16 => rule.prop_map(Plain::Rule), tables => table(labels, states_max).prop_map(Plain::Table)]
        .boxed()
}

fn set(style: Style, labels: u32, with_failures: bool) -> BoxedStrategy<LabelSet> {
    match style {
        Style::Single => (0..labels).prop_map(|label| Label(label).into()).boxed(),
        Style::Sets => {
            vec(0..labels, 1..=2).prop_map(|labels| labels.into_iter().map(Label).collect()).boxed()
        }
        Style::Deeds => (0..labels / 2)
            .prop_map(move |deed| {
                let failure = with_failures.then_some(Label(deed * 2 + 1));
                std::iter::once(Label(deed * 2)).chain(failure).collect()
            })
            .boxed(),
    }
}

/// Random moves. Where it has a twin, the first label is refused where the last is, and often does the same.
fn table(labels: u32, states_max: u32) -> impl Strategy<Value = PlainTable> {
    let size = (1..=states_max, vec(0..labels, 1..=4), prop::bool::weighted(0.4));
    size.prop_flat_map(|(states, alphabet, has_twin)| {
        let alphabet: Vec<Label> = alphabet.into_iter().map(Label).collect();
        let pairs: Vec<(u32, Label)> =
            (0..states).flat_map(|state| alphabet.iter().map(move |label| (state, *label))).collect();
        let next = prop_oneof![1 => Just(None), 2 => (0..states).prop_map(Some)];
        let differs = vec(prop::bool::weighted(0.2), states as usize);
        (vec(next, pairs.len()), differs).prop_map(move |(nexts, differs)| {
            let moves = pairs.iter().zip(nexts).filter_map(|(pair, next)| Some((*pair, next?)));
            let mut moves: BTreeMap<(u32, Label), u32> = moves.collect();
            let (first, last) = (alphabet[0], alphabet[alphabet.len() - 1]);
            for state in (0..states).filter(|_| has_twin) {
                match moves.get(&(state, last)).copied() {
                    Some(next) => {
                        moves.insert((state, first), if differs[state as usize] { state } else { next });
                    }
                    None => drop(moves.remove(&(state, first))),
                }
            }
            PlainTable { states, alphabet: alphabet.clone(), moves }
        })
    })
}
