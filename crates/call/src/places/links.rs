//! Where the paths of one call really lead, as somebody with eyes saw it.
//!
//! Judging is pure, so a door on the same machine looks first and hands in [`Links`]: each path of the call as a
//! system walks it, and the file behind all links. Watching for links that change between the look and the
//! call is missing on purpose: whoever needs more than that needs the system's own sandbox.

use crate::call::{Call, LINKS_MAX, Links};
use crate::places::path::normalise;
use crate::places::paths::Files;
use crate::seen::{SeenCall, may_hold_a_script};

impl Links {
    /// Looks at every path of the call, up to a limit.
    #[must_use]
    pub fn look(call: &Call, files: &dyn Files) -> Self {
        let reading = SeenCall::with_script_fields(call, may_hold_a_script);
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
    use crate::places::paths::paths;

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
