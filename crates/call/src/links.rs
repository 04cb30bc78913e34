//! Where the paths of one call really lead, as somebody with eyes saw it.
//!
//! Judging is pure, so a door on the same machine looks first and hands in [`Links`]: each path of the call as a
//! system walks it, and the file behind all links. Watching for links that change between the look and the
//! call is missing on purpose: whoever needs more than that needs the system's own sandbox.

use std::collections::BTreeMap;

use crate::call::Call;
use crate::path::normalise;
use crate::paths::Files;
use crate::reading::{Reading, may_hold_a_script};

/// The most paths of one call that are looked up. What comes after them cannot be told.
const LINKS_MAX: usize = 1_000;

/// Where paths really lead: the paths of one call, each with the place behind all links, or none where that
/// could not be told. A path that is not in here leads where its text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(BTreeMap<String, Option<String>>);

impl Links {
    /// Looks at every path of the call, up to a limit.
    #[must_use]
    pub fn look(call: &Call, files: &dyn Files) -> Self {
        let reading = Reading::with_script_fields(call, may_hold_a_script);
        let mut links = Self::default();
        // Where there are too many names to list, whoever judges the call has a doubt without us.
        let touched = reading.paths().touched.into_iter().chain(reading.names().unwrap_or_default());
        let touched = touched.chain(reading.standing());
        let walked = touched.filter_map(|path| path.spots.ok()).flatten().map(|spot| spot.walked);
        for path in call.about.cwd.clone().into_iter().chain(walked) {
            // A relative path would be looked up where the door runs, not where the call does.
            if path.starts_with('/') && !links.0.contains_key(&path) {
                let real = if links.0.len() < LINKS_MAX { files.canonical(&path) } else { None };
                links.0.insert(path, real);
            }
        }
        links
    }

    /// Whether there were more paths than are looked up, so that some were not.
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.0.len() > LINKS_MAX
    }

    /// Each path that was looked at, and where it leads.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(path, real)| (path.as_str(), real.as_deref()))
    }
}

impl FromIterator<(String, Option<String>)> for Links {
    fn from_iter<T: IntoIterator<Item = (String, Option<String>)>>(links: T) -> Self {
        Self(links.into_iter().collect())
    }
}

impl Files for Links {
    fn canonical(&self, path: &str) -> Option<String> {
        match self.0.get(path) {
            Some(real) => real.clone(),
            None => normalise(path, None).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::paths;

    /// A machine on which `/desk/link` leads to `/etc`.
    struct Linked;

    impl Files for Linked {
        fn canonical(&self, path: &str) -> Option<String> {
            let path = normalise(path, None).ok()?;
            Some(path.strip_prefix("/desk/link").map_or(path.clone(), |rest| format!("/etc{rest}")))
        }
    }

    fn call(input: &serde_json::Value) -> Call {
        let mut call = Call { input: input.as_object().cloned().unwrap_or_default(), ..Call::new("1", "t") };
        call.about.cwd = Some("/desk".into());
        call
    }

    #[test]
    fn what_was_looked_at_leads_where_it_did_then() {
        let rows = [
            (json!({ "path": "link/passwd" }), false),
            (json!({ "path": "/desk/x/../link/passwd" }), false),
            (json!({ "command": "cat link/passwd" }), false),
            (json!({ "options": [{ "path": "link" }] }), false),
            (json!({ "path": "a" }), true),
        ];
        for (input, is_inside) in rows {
            let call = call(&input);
            let links = Links::look(&call, &Linked);
            let touched = paths(&call).touched;
            assert!(touched.iter().all(|path| path.is_under("/desk", None)), "{input}");
            let all = touched.iter().all(|path| path.is_under("/desk", Some(&links)));
            assert_eq!(all, is_inside, "{input}");
        }
    }

    #[test]
    fn a_path_that_nobody_looked_at_leads_where_its_text_says() {
        let links: Links = [("/a".to_owned(), None)].into_iter().collect();
        assert_eq!(links.canonical("/a"), None);
        assert_eq!(links.canonical("/b/../c").as_deref(), Some("/c"));
    }

    #[test]
    fn what_is_past_the_limit_cannot_be_told() {
        let many = |n: usize| {
            let names: Vec<String> = (0..n).map(|i| format!("f{i}")).collect();
            let links = Links::look(&call(&json!({ "x": names, "path": "z" })), &Linked);
            links.iter().filter(|(_, real)| real.is_none()).count()
        };
        // The working folder and the path are looked at as well.
        assert_eq!((many(LINKS_MAX - 2), many(LINKS_MAX - 1)), (0, 1));
    }
}
