//! Calls that change whatever lies in a folder, without a word about each file.

use lockgate_call::{
    Links, Place, TouchedPath,
    path::{PathDoubt, is_under},
    visible,
};

use super::look::{Look, index_of};
use super::paths::Done;
use super::reach::Reach;
use super::tables::{HERE, TAKERS};
use super::wide;
use super::{Guarded, Protection};

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
            // What the door has seen is more exact than what the words tell.
            if let Some(paths) = look.foreseen(place) {
                match paths.iter().find_map(|path| Some((path, self.holds(path)?))) {
                    Some((path, held)) => return Some(told_change(&visible(&command.text), path, held)),
                    None => continue,
                }
            }
            let script = look.script_of(field);
            let code = command.code.as_deref().map(str::to_lowercase);
            let takes_here = code.is_some_and(|code| {
                TAKERS.iter().any(|taker| code.contains(taker)) && HERE.iter().any(|here| code.contains(here))
            });
            let reach = match wide::reach(command) {
                None if takes_here => Reach::Here("may move, link or fill all of"),
                None if script.is_some_and(|(_, script)| wide::is_listed_for_change(command, script)) => {
                    match wide::found(command) {
                        Some(reach) => reach,
                        None => continue,
                    }
                }
                None => continue,
                Some(reach) => reach,
            };
            let text = visible(&command.text);
            let here = || self.held(look, place);
            let (why, held) = match &reach {
                Reach::Here(why) | Reach::Anything(why) => (*why, here()),
                Reach::Tracked(why) => (*why, self.versioned(place, look.links)),
                // What a name of the settings means is known to a door that can look.
                Reach::Alias(why) => (*why, look.links.and_then(|links| self.versioned(place, Some(links)))),
                Reach::Elsewhere(why) => {
                    let is_its = |path: &&TouchedPath| match &path.place {
                        Place::Word { field: other, command, .. }
                        | Place::Around { field: other, command } => other == field && *command == index,
                        _ => false,
                    };
                    let named = touched.iter().filter(is_its).find_map(|path| self.held(look, path));
                    (*why, named.or_else(here))
                }
                Reach::Words(at, why) => {
                    let is_named = |path: &&TouchedPath| match &path.place {
                        Place::Word { field: other, command, word } => {
                            other == field && *command == index && at.contains(word)
                        }
                        _ => false,
                    };
                    (*why, touched.iter().filter(is_named).find_map(|path| self.held(look, path)))
                }
            };
            if let Some(held) = held {
                return Some(told_wide(&text, why, held));
            }
        }
        None
    }

    /// The protected place that is a folder, lies in it, or holds it.
    fn held(&self, look: &Look<'_>, path: &TouchedPath) -> Option<&str> {
        let done = Done { is_read: false, is_moved: true };
        let Ok(spots) = path.spots.as_ref() else {
            // Where a command stands in a folder that is computed, that may be any.
            let any = || self.unchanged.first().filter(|_| path.spots == Err(PathDoubt::Folder));
            let known = self.met_at_home(path, done).or_else(|| self.met_here(look, path, done));
            return known.or_else(|| any().map(|any| any.path.as_str()));
        };
        let known = spots.iter().filter(|spot| spot.path.starts_with('/'));
        known.into_iter().find_map(|spot| self.met(path, spot, look.links, done))
    }

    /// The protected place that an absolute path is, lies in or, where it is a folder, holds.
    fn holds(&self, path: &str) -> Option<&str> {
        let path = path.to_lowercase();
        let named = self.named.iter().find(|name| path.split('/').any(|part| part == name.as_str()));
        named.map(String::as_str).or_else(|| {
            let is_met = |it: &&Guarded| {
                is_under(&path, &it.folded, None)
                    || (path.ends_with('/') && is_under(&it.folded, &path, None))
            };
            self.unchanged.iter().chain(&self.untouched).find(is_met).map(|it| it.path.as_str())
        })
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

fn told_change(what: &str, path: &str, held: &str) -> String {
    let (path, held) = (visible(path), visible(held));
    format!(
        "`{what}` would change `{path}`: `{held}` is what an agent must leave alone. Name other files, or ask a human to \
         run it."
    )
}

fn told_wide(what: &str, why: &str, held: &str) -> String {
    let held = visible(held);
    format!(
        "`{what}` {why} the folder of `{held}`, which an agent must leave alone: name the files it is about, work in a \
         folder of its own, or ask a human."
    )
}
