//! Nets to test with.

use lockgate_petri::{Firing, Net, NetBuilder};

/// Reads places, then transitions: `a:1 b:0 | start: a -> b | send!: b b -> a`. An exclamation mark
/// after the name makes a called transition.
pub(crate) fn builder(text: &str) -> NetBuilder {
    let mut parts = text.split('|').map(str::trim);
    let places = parts.next().unwrap().split_whitespace().map(|place| place.split_once(':').unwrap());
    let builder =
        places.fold(Net::builder(), |builder, (name, tokens)| builder.place(name, tokens.parse().unwrap()));
    parts.fold(builder, |builder, transition| {
        let (name, arcs) = transition.split_once(':').unwrap();
        let (inputs, outputs) = arcs.split_once("->").unwrap();
        let firing = if name.ends_with('!') { Firing::Called } else { Firing::Structural };
        let inputs: Vec<_> = inputs.split_whitespace().collect();
        let outputs: Vec<_> = outputs.split_whitespace().collect();
        builder.transition(name.trim_end_matches('!'), firing, &inputs, &outputs)
    })
}

pub(crate) fn net(text: &str) -> Net {
    builder(text).build().unwrap()
}

pub(crate) const SEQUENCE: &str = "idle:1 ready:0 gate:0 | start: idle -> ready \
     | do-A!: ready -> gate | do-B!: gate -> ready | repeat!: gate -> gate";
pub(crate) const APPROVAL: &str = "idle:1 ready:0 | start: idle -> ready | approve!: ready -> ready";
pub(crate) const BLOCK: &str = "idle:1 ready:0 locked:0 | start: idle -> ready | do-A!: locked -> locked";

pub(crate) fn limit(n: u64) -> String {
    format!("idle:1 ready:0 budget:{n} | start: idle -> ready | do-A!: ready budget -> ready")
}

pub(crate) fn limit_per(n: u64) -> String {
    format!(
        "idle:1 ready:0 budget:{n} spent:0 | start: idle -> ready | do-A!: ready budget -> ready spent \
         | refill!: ready spent -> ready budget | repeat!: ready -> ready"
    )
}
