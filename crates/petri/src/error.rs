//! What can be wrong with a net.

/// A mistake in a net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// An arc leads to a place that is not declared.
    #[error("transition `{transition}` names the place `{place}`, which is not declared{}", did_you_mean(.closest))]
    UndeclaredPlace {
        /// The transition with the arc.
        transition: String,
        /// The place as written.
        place: String,
        /// The declared place that looks most like it.
        closest: Option<String>,
    },
    /// Two places share a name.
    #[error("place `{place}` is declared twice; rename one of them")]
    DuplicatePlace {
        /// The shared name.
        place: String,
    },
    /// Two transitions share a name.
    #[error("transition `{transition}` is declared twice; rename one of them")]
    DuplicateTransition {
        /// The shared name.
        transition: String,
    },
    /// An arc that would move nothing.
    #[error("transition `{transition}` has an arc of weight 0 with `{place}`; remove it or give it a weight")]
    ZeroWeight {
        /// The transition with the arc.
        transition: String,
        /// The place at its other end.
        place: String,
    },
    /// Structural transitions that may go on firing for ever.
    #[error(
        "structural transitions may fire for ever: {}; \
         let each use up tokens that none of them puts back, or let one of them be called",
        quoted(.transitions)
    )]
    NeverRests {
        /// The transitions that can keep each other going, in the order they were declared.
        transitions: Vec<String>,
    },
    /// More of something than a net can hold.
    #[error("the net has more than {most} {what}; split it into several nets")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        most: u64,
    },
}

impl NetError {
    /// The transition that a mistake is about, if it is about one.
    pub(crate) fn transition(&self) -> Option<&str> {
        match self {
            Self::UndeclaredPlace { transition, .. }
            | Self::DuplicateTransition { transition }
            | Self::ZeroWeight { transition, .. } => Some(transition),
            Self::NeverRests { transitions } => transitions.first().map(String::as_str),
            Self::DuplicatePlace { .. } | Self::TooLarge { .. } => None,
        }
    }
}

fn did_you_mean(closest: &Option<String>) -> String {
    match closest {
        Some(place) => format!("; did you mean `{place}`?"),
        None => "; declare it".into(),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
