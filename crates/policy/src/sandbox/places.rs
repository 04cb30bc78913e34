//! Places of a call that are not one folder: `secrets`, `artifacts`, `**/dist`.
//!
//! What lies in them is decided where effects are, so that `keep bash out of secrets` and `block any read inside secrets` mean
//! the same paths.

use std::sync::Arc;

use lockgate_call::{
    Access, Call, Effect, EffectKind, EffectPattern, EffectPlaces, Place as Position, PlaceFit, SeenCall,
    Selector, Target, TouchedPath, path::normalise,
};

/// A place, and the call it is a place of.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pattern: Arc<EffectPattern>,
    call: Arc<Call>,
}

impl Place {
    pub(super) fn new(place: &str, call: &SeenCall) -> Self {
        let places = EffectPlaces::Inside(vec![place.to_owned()]);
        let call: &Call = call;
        // Only where it runs decides: its input may be long.
        let call = Call { about: call.about.clone(), ..Call::new(call.id.as_str(), call.tool.as_str()) };
        Self { pattern: Arc::new(EffectPattern { kind: EffectKind::Read, places }), call: Arc::new(call) }
    }

    /// The folders that a place is to a call; none where it is something else.
    pub(super) fn folders(place: &str, call: &SeenCall) -> Option<Vec<String>> {
        let call: &Call = call;
        let cwd = call.about.cwd.as_deref();
        let home = call.about.context.as_ref().and_then(|it| it.get("env")?.get("HOME")?.as_str());
        let below = |base: Option<&str>, rest: &str| match base {
            Some(base) => normalise(&format!("{base}/{rest}"), None).ok().into_iter().collect(),
            // It is not known where the call runs; relative paths can still be compared with each other.
            None if !rest.is_empty() => vec![rest.to_owned()],
            None => vec![".".to_owned()],
        };
        Some(match place {
            _ if place.contains(['*', '?']) => return None,
            "project" | "." | "./" => below(cwd, ""),
            "temp" => ["/tmp", "/var/tmp", "/private/tmp"].map(str::to_owned).to_vec(),
            "home" | "~" | "~/" => match home {
                Some(home) => vec![home.to_owned()],
                None => return None,
            },
            "system" | "secrets" | "startup" | "artifacts" => return None,
            place if place.starts_with('/') => vec![place.to_owned()],
            place => match (place.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => below(Some(home), rest),
                (Some(_), None) => return None,
                (None, _) => below(cwd, place.strip_prefix("./").unwrap_or(place)),
            },
        })
    }

    fn fit(&self, path: &str) -> PlaceFit {
        let target = match &self.pattern.places {
            EffectPlaces::Inside(places) if places.iter().any(|it| it == "secrets") => touched(path),
            _ => Target::At(path.to_owned()),
        };
        let effect = Effect { kind: self.pattern.kind, certain: true, is_confirmed: true, target };
        self.pattern.fit(&effect, &self.call, None)
    }

    /// Whether a path certainly lies in it.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.fit(path) == PlaceFit::Certain
    }

    /// Whether a path may lie in it.
    pub(super) fn may_hold(&self, path: &str) -> bool {
        self.fit(path) != PlaceFit::No
    }
}

/// A path whose name alone decides.
fn touched(path: &str) -> Target {
    let place = Selector::parse("path").map(Position::Field);
    match place {
        Ok(place) => Target::Path(TouchedPath {
            text: path.to_owned(),
            place,
            access: Access::Reads,
            is_guess: false,
            spots: Ok(Vec::new()),
        }),
        Err(_) => Target::Unknown,
    }
}
