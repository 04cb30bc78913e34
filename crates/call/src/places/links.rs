//! Where the paths of one call really lead, as a door on the same machine saw it.
//!
//! Judging is pure, so a door that can look at files does so first: [`Links`] has each path of the call as a
//! system walks it, and the file behind all links. Watching for links that change between the look and the
//! call is missing on purpose: that takes the system's own sandbox.

use std::collections::BTreeMap;

use crate::places::path::normalise;
use crate::places::paths::{Files, Spot, TouchedPath};

/// The most paths of one call that are looked up. What comes after them cannot be told.
const LINKS_MAX: usize = 1_000;

/// Where paths really lead: the paths of one call, each with the place behind all links, or none where that
/// could not be told. A path that is not in here leads where its text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(BTreeMap<String, Option<String>>);

impl Links {
    /// Looks up the folder a call runs in and its paths, up to a limit.
    pub(crate) fn look<'p>(
        folder: Option<&'p str>,
        touched: impl Iterator<Item = &'p TouchedPath>,
        files: &dyn Files,
    ) -> Self {
        let mut links = Self::default();
        let walked = touched.filter_map(|path| path.spots.as_ref().ok()).flatten();
        for path in folder.into_iter().chain(walked.map(|spot| spot.walked.as_str())) {
            // A relative path would be looked up where the door runs, not where the call does.
            if path.starts_with('/') && !links.0.contains_key(path) {
                let real = if links.0.len() < LINKS_MAX { files.canonical(path) } else { None };
                links.0.insert(path.to_owned(), real);
            }
        }
        links
    }

    /// Whether there were more paths than are looked up, so that some were not.
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.0.len() > LINKS_MAX
    }

    /// Whether a place was looked up: a credit must not rest on one that only reads like a path without links.
    #[must_use]
    pub fn has(&self, spot: &Spot) -> bool {
        self.0.contains_key(&spot.walked)
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
    use super::*;

    #[test]
    fn a_path_that_was_not_looked_up_leads_where_its_text_says() {
        let links: Links = [("/a".to_owned(), None)].into_iter().collect();
        assert_eq!(links.canonical("/a"), None);
        assert_eq!(links.canonical("/b/../c").as_deref(), Some("/c"));
    }
}
