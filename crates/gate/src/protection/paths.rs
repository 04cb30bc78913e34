//! Whether a path leads to something protected.

use lockgate_call::{
    Access, Change, Command, FileUse, Links, Place, Program, Spot, TouchedPath, Word, fits_glob,
    path::{PathDoubt, is_under, normalise},
    visible,
};

use super::look::Look;
use super::tables::{COPIERS, LETTERS_MIN, MOVERS, OUTPUT_OPTIONS, PWD, TAKERS, WRITING_OPTIONS};
use super::{Guarded, Protection};

/// What a call does to one path.
#[derive(Clone, Copy)]
pub(super) struct Done {
    pub(super) is_read: bool,
    pub(super) is_moved: bool,
}

impl Protection {
    /// Whether it can be told where one path leads; the reason where it leads to something protected. `is_path` is
    /// false for a text that only a tool may take for one.
    pub(super) fn touched(&self, look: &Look<'_>, path: &TouchedPath, is_path: bool) -> Result<bool, String> {
        let is_field = matches!(path.place, Place::Field(_));
        // A text of several lines only looks like a path; tools that trim one take off what stands around it.
        if path.is_guess && is_field && path.text.trim().contains('\n') {
            return Ok(true);
        }
        let command = look.command_of(&path.place);
        let program = command.and_then(|command| command.program.as_deref());
        let files = command.and_then(Command::row).map(Program::files);
        let change = files.map_or(Change::Anything, FileUse::change);
        let has = |words: &[&str]| is_field && look.tool.iter().any(|word| words.contains(&word.as_str()));
        // What is harmless to run was looked at above; what it writes is named by an option.
        let is_ours = || {
            let writes = |word: &Word| WRITING_OPTIONS.iter().any(|option| word.text.starts_with(option));
            self.programs.iter().any(|(name, _)| program == Some(name))
                && !command.is_some_and(|command| {
                    command.words.iter().any(writes) || is_output(command, &path.place)
                })
        };
        let takes = command.and_then(|command| command.code.as_deref()).is_some_and(|code| {
            let code = code.to_lowercase();
            TAKERS.iter().any(|taker| code.contains(taker))
        });
        let is_read = match path.access {
            _ if look.reads_only => true,
            // A tool that is not known to copy or to read may move what it names its source.
            Access::Reads => (!is_field || has(COPIERS)) && !files.is_some_and(FileUse::moves_into),
            _ => change == Change::Reads || is_ours(),
        };
        let is_moved = (path.access == Access::Writes && change != Change::Makes) || has(MOVERS) || takes;
        let done = Done { is_read, is_moved };
        let refused = |protected: &str| {
            let (path, protected) = (visible(&path.text), visible(protected));
            Err(format!("`{path}` would reach `{protected}`, which an agent must leave alone."))
        };
        if is_path
            && !is_read
            && change != Change::Nothing
            && let Some(name) = self.own_name(path, look.links)
        {
            return refused(name);
        }
        let spots = match &path.spots {
            // Where a relative path starts from nowhere that is known, it may lead anywhere.
            Ok(spots) if spots.iter().all(|spot| spot.path.starts_with('/')) => spots,
            // `rm -rf .*` may climb to anything.
            Err(PathDoubt::Glob) if path.access == Access::Writes => {
                let path = visible(&path.text);
                return Err(format!("`{path}` may reach what an agent must leave alone: name the files."));
            }
            _ => {
                let met = self.met_at_home(path, done).or_else(|| self.met_here(look, path, done));
                if let Some(protected) = met {
                    return refused(protected);
                }
                let name = path.text.rsplit('/').next().unwrap_or_default().to_lowercase();
                if path.access == Access::Writes && (self.file_names.contains(&name) || self.is_state(&name))
                {
                    return refused(&name);
                }
                if path.access == Access::Writes
                    && let Some(folder) = self.settings_around(look, &path.place)
                {
                    return refused(folder);
                }
                return Ok(false);
            }
        };
        match spots.iter().find_map(|spot| self.met(path, spot, look.links, done)) {
            Some(protected) => refused(protected),
            None => Ok(true),
        }
    }

    /// The name in a path that is ours wherever it stands, in its text or behind links.
    fn own_name(&self, path: &TouchedPath, links: Option<&Links>) -> Option<&str> {
        let holds = |text: &str, name: &str| text.to_lowercase().split(['/', '\\']).any(|part| part == name);
        let real = |spot: &Spot| links.and_then(|links| spot.canonical(links));
        let name = self.named.iter().find(|name| {
            holds(&path.text, name)
                || path.spots.as_ref().is_ok_and(|spots| {
                    spots.iter().any(|spot| {
                        holds(&spot.path, name) || real(spot).is_some_and(|real| holds(&real, name))
                    })
                })
        });
        name.map(String::as_str)
    }

    /// Whether a name or a pattern, in a folder that is not known, may be one of the state.
    fn is_state(&self, name: &str) -> bool {
        let letters = name.chars().filter(|c| c.is_alphanumeric()).count();
        let is_one = |it: &Guarded| it.folded.rsplit('/').next().is_some_and(|own| fits_glob(name, own));
        letters >= LETTERS_MIN && self.untouched.iter().any(is_one)
    }

    /// The folder of settings that a command may stand in: one that is hidden and holds a protected file. Where it stands in
    /// one that is not known, any that the call names may be it.
    fn settings_around(&self, look: &Look<'_>, place: &Place) -> Option<&str> {
        let spots = look.standing(place)?.spots.as_ref().ok();
        let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().map(str::to_lowercase);
        let is_named = |name: &str| {
            let mut touched = look.reading.paths().touched.iter();
            touched.any(|path| last(&path.text).is_some_and(|own| own == name))
        };
        let holds = |it: &&Guarded| {
            let Some((folder, _)) = it.folded.rsplit_once('/') else { return false };
            let name = folder.rsplit('/').next().filter(|name| name.starts_with('.'));
            name.is_some_and(|name| match spots {
                Some(spots) => spots.iter().any(|spot| spot.path.to_lowercase() == folder),
                None => is_named(name),
            })
        };
        self.unchanged.iter().find(holds).map(|it| it.path.as_str())
    }

    /// The protected place that a path below `$PWD` may reach.
    pub(super) fn met_here(&self, look: &Look<'_>, path: &TouchedPath, done: Done) -> Option<&str> {
        let rest = PWD.iter().find_map(|start| path.text.strip_prefix(start))?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let spots = look.standing(&path.place)?.spots.as_ref().ok()?;
        spots.iter().find_map(|spot| self.met_text(&format!("{}{rest}", spot.path), done))
    }

    /// The protected place that a path below `~` may reach, where the call does not say what `~` is.
    pub(super) fn met_at_home(&self, path: &TouchedPath, done: Done) -> Option<&str> {
        let home = self.home.as_deref()?;
        let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|start| path.text.strip_prefix(start))?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        self.met_text(&format!("{home}{rest}"), done)
    }

    /// The protected place that an absolute path reaches by its text.
    fn met_text(&self, path: &str, done: Done) -> Option<&str> {
        let text = normalise(path, None).ok()?.to_lowercase();
        let is_in = |it: &&Guarded| is_under(&text, &it.folded, None);
        let takes_along = |it: &&Guarded| done.is_moved && is_under(&it.folded, &text, None);
        let untouched = self.untouched.iter().find(is_in);
        let changed = || self.unchanged.iter().filter(|_| !done.is_read).find(is_in);
        let all = || self.untouched.iter().chain(&self.unchanged).find(takes_along);
        untouched.or_else(changed).or_else(all).map(|it| it.path.as_str())
    }

    /// The protected place that a path may reach; on systems that tell cases apart and on those that do not.
    pub(super) fn met(
        &self,
        path: &TouchedPath,
        spot: &Spot,
        links: Option<&Links>,
        done: Done,
    ) -> Option<&str> {
        let Done { is_read, is_moved } = done;
        let real = links.and_then(|links| spot.canonical(links)).map(|real| real.to_lowercase());
        let text = spot.path.to_lowercase();
        // A file that has another name too may be a protected one: its own name is all that can be compared.
        let name_of = |path: &str| path.rsplit('/').next().map(ToOwned::to_owned);
        let may_be_another = |protected: &&Guarded| {
            links.is_some() && real.is_none() && name_of(&text) == name_of(&protected.folded)
        };
        let is_in = |path: &str, folder: &str| is_under(path, folder, None);
        let may_be = |protected: &&Guarded| {
            path.may_be_under(&protected.path, None)
                || real.as_ref().is_some_and(|real| is_in(real, &protected.folded))
                || is_in(&text, &protected.folded)
                || may_be_another(protected)
        };
        // What removes or moves a folder does so to all that lies in it.
        let takes_along = |protected: &&Guarded| {
            is_moved
                && (is_in(&protected.folded, &text)
                    || real.as_ref().is_some_and(|real| is_in(&protected.folded, real)))
        };
        let untouched = self.untouched.iter().find(may_be);
        let changed = || self.unchanged.iter().filter(|_| !is_read).find(may_be);
        let all = || self.untouched.iter().chain(&self.unchanged).find(takes_along);
        untouched.or_else(changed).or_else(all).map(|protected| protected.path.as_str())
    }
}

/// Whether a word is the file that our own program writes its output to.
fn is_output(command: &Command, place: &Place) -> bool {
    let Place::Word { word, .. } = place else { return false };
    let is_option = |at: usize, is_whole: bool| {
        let text = command.words.get(at).map_or("", |word| word.text.as_str());
        OUTPUT_OPTIONS.iter().any(|option| if is_whole { text == *option } else { text.starts_with(option) })
    };
    is_option(*word, false) || word.checked_sub(1).is_some_and(|before| is_option(before, true))
}
