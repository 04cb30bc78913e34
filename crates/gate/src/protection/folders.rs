//! Calls that change whatever lies in a folder, without a word about each file.

use lockgate_call::{
    Links, Place, TouchedPath,
    path::{PathDoubt, is_under},
    visible,
};

use super::Protection;
use super::look::{Look, index_of};
use super::paths::Done;
use super::tables::{HERE, TAKERS};
use super::wide::{self, Reach};

impl Protection {
    /// Commands and tools that change whatever lies in a folder, where something protected lies in it.
    pub(super) fn wide(&self, look: &Look<'_>) -> Option<String> {
        let touched = &look.reading.paths().touched;
        let words: Vec<&str> = look.tool.iter().map(String::as_str).collect();
        if wide::is_version_tool(&words) && !self.repositories.is_empty() {
            return Some(told_wide("the tool", "may bring back another version of", "the policy"));
        }
        for place in look.reading.standing() {
            let Some(command) = look.command_of(&place.place) else { continue };
            let Some((field, index)) = index_of(&place.place) else { continue };
            let code = command.code.as_deref().map(str::to_lowercase);
            let takes_here = code.is_some_and(|code| {
                TAKERS.iter().any(|taker| code.contains(taker)) && HERE.iter().any(|here| code.contains(here))
            });
            let reach = match wide::reach(command) {
                None if takes_here => Reach::Here("may move or link all of"),
                None => continue,
                Some(reach) => reach,
            };
            let text = visible(&command.text);
            let here = || self.held(place, look.links);
            let (why, held) = match &reach {
                Reach::Here(why) | Reach::Anything(why) => (*why, here()),
                Reach::Tracked(why) => (*why, self.versioned(place, look.links)),
                Reach::Words(at, why) => {
                    let is_named = |path: &&TouchedPath| match &path.place {
                        Place::Word { field: other, command, word } => {
                            other == field && *command == index && at.contains(word)
                        }
                        _ => false,
                    };
                    (*why, touched.iter().filter(is_named).find_map(|path| self.held(path, look.links)))
                }
            };
            if let Some(held) = held {
                return Some(told_wide(&text, why, held));
            }
        }
        None
    }

    /// The protected place that is a folder, lies in it, or holds it.
    fn held(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let done = Done { is_read: false, is_moved: true };
        let Ok(spots) = path.spots.as_ref() else {
            // Where a command stands in a folder that is computed, that may be any.
            let any = || self.unchanged.first().filter(|_| path.spots == Err(PathDoubt::Folder));
            return self.met_at_home(path, done).or_else(|| any().map(|any| any.path.as_str()));
        };
        let known = spots.iter().filter(|spot| spot.path.starts_with('/'));
        known.into_iter().find_map(|spot| self.met(path, spot, links, done))
    }

    /// The folder under version control that a place lies in or holds.
    fn versioned(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let Ok(spots) = path.spots.as_ref() else {
            return self.repositories.first().map(|repository| repository.path.as_str());
        };
        let overlaps = |one: &str, other: &str| is_under(one, other, None) || is_under(other, one, None);
        let found = self.repositories.iter().find(|repository| {
            spots.iter().any(|spot| {
                let real = links.and_then(|links| spot.canonical(links)).map(|real| real.to_lowercase());
                overlaps(&spot.path.to_lowercase(), &repository.folded)
                    || real.is_some_and(|real| overlaps(&real, &repository.folded))
            })
        });
        found.map(|repository| repository.path.as_str())
    }
}

fn told_wide(what: &str, why: &str, held: &str) -> String {
    let held = visible(held);
    format!(
        "`{what}` {why} the folder of `{held}`, which an agent must leave alone: name the files it is about, work in a \
         folder of its own, or ask a human."
    )
}
