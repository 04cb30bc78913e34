//! The paths of a call, by their texts and behind links.

use lockgate_call::{Access, Command, Files, Links, TouchedPath, Unseen};

use super::boundaries::Folder;
use super::commands::is_plain_shell;
use super::look::Look;
use super::text::{fold, shown};
use super::walks::{walks, walks_here};

/// Fields that say where a call runs, without what stands between words.
const FOLDER_FIELDS: &[&str] = &["cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory"];

impl<'l> Look<'l> {
    pub(super) fn at_paths(&mut self) {
        let reading = self.reading;
        let found = reading.paths();
        found.unseen.iter().for_each(|unseen| self.doubt(unseen.to_string()));
        if reading.scripts().any(|(_, script)| !script.commands.is_empty()) {
            self.at_start();
        }
        for path in &found.touched {
            let command = self.command_at(&path.place);
            let is_system_program = path.access == Access::Runs && command.is_some_and(Command::is_trusted);
            let is_shell = is_plain_shell(&path.text) && path.place.to_string().ends_with("shell");
            if !is_system_program && !is_shell {
                self.judged = true;
                self.at_path(path, command);
            }
        }
        match reading.names() {
            Ok(names) => names.iter().for_each(|name| self.at_name(name)),
            Err(unseen) => self.doubt(unseen.to_string()),
        }
        if self.call.links().is_some_and(Links::is_overfull) {
            self.doubt(Unseen::TooManyPlaces.to_string());
        }
    }

    /// The folder where scripts start: programs look around there without being told.
    fn at_start(&mut self) {
        self.judged = true;
        let call = self.call;
        if let Some(folder) = &call.about.cwd {
            let real = call.links().map(|links| links.canonical(folder));
            self.at_place(folder, folder, real, false);
        }
        // A field that says so is a path, and judged as one.
        let told = call.input.iter().filter(|(key, _)| FOLDER_FIELDS.contains(&fold(key).as_str()));
        let folders: Vec<&str> =
            told.filter_map(|(_, value)| value.as_str()).chain(call.about.cwd.as_deref()).collect();
        // Boundaries that start at the call's folder hold it, wherever it is.
        let holds_start =
            self.sandbox.has_places && self.sandbox.within.iter().any(|folder| folder.holds("."));
        if folders.is_empty() && !holds_start {
            self.doubt("the call's working folder is not known: hand in `cwd`".to_owned());
        }
        if let Some(command) = self.walker_here() {
            folders.iter().for_each(|folder| self.at_walk(folder, command));
        }
    }

    /// A command that goes through the folder it stands in.
    fn walker_here(&self) -> Option<&'l Command> {
        let reading = self.reading;
        reading.scripts().flat_map(|(_, script)| &script.commands).find(|command| walks_here(command))
    }

    fn at_path(&mut self, path: &TouchedPath, command: Option<&Command>) {
        let spots = match &path.spots {
            Ok(spots) => spots,
            Err(doubt) => return self.doubt(format!("`{}`: {doubt}", shown(&path.text))),
        };
        let mut path = path.clone();
        // Where only a field tells the folder, it is believed: there is no other.
        let believed: Vec<_> = spots.iter().filter(|spot| spot.path.starts_with('/')).cloned().collect();
        if self.call.about.cwd.is_none() && !believed.is_empty() {
            path.spots = Ok(believed);
        }
        let links = self.call.links();
        let files = links.map(|links| links as &dyn Files);
        let may_lie = |folder: &&Folder| match folder.place {
            // Files that a pattern may mean may lie in any such place.
            Some(_) => path.spots.iter().flatten().any(|it| it.is_pattern || folder.may_hold(&it.path)),
            None => path.may_be_under(&folder.text, files) || path.may_be_under(&folder.real, files),
        };
        let is_told = |path: &TouchedPath| {
            path.spots.as_ref().is_ok_and(|spots| spots.iter().all(|spot| spot.path.starts_with('/')))
        };
        let is_relative = |folder: &Folder| !folder.text.starts_with('/');
        let is_comparable = self.sandbox.has_places && self.sandbox.within.iter().any(is_relative);
        if !is_told(&path) && !is_comparable {
            return self.doubt(format!(
                "`{}` starts from a folder that is not known: hand in the call's working folder, `cwd`",
                shown(&path.text)
            ));
        }
        if let Some(folder) = self.sandbox.not_within.iter().find(may_lie) {
            let is_in = path.spots.iter().flatten().any(|spot| folder.may_hold(&spot.path));
            let lies = if is_in { "is in" } else { "may lead into" };
            return self.misses(
                format!("`{}` {lies} `{}`", shown(&path.text), folder.text),
                path.is_guess.then_some("a path"),
            );
        }
        for spot in path.spots.iter().flatten() {
            let real = links.map(|links| spot.canonical(links));
            self.at_place(&path.text, &spot.path, real, path.is_guess);
            if let Some(command) = command.filter(|command| walks(command)) {
                self.at_walk(&spot.path, command);
            }
            let moves = command.is_some_and(|command| {
                command.row().is_some_and(|row| row.files().moves_into())
                    || !command.wrapper_places.is_empty()
            });
            if let Some(walker) = self.walker_here().filter(|_| moves) {
                self.at_walk(&spot.path, walker);
            }
        }
    }

    /// One place, by its text and, if a door looked, behind its links.
    fn at_place(&mut self, text: &str, path: &str, real: Option<Option<String>>, is_guess: bool) {
        let real = match real {
            Some(None) => {
                return self.doubt(format!(
                    "the target of `{}` is not known: it could not be read, or its file has other names",
                    shown(text)
                ));
            }
            Some(real) => real,
            None => None,
        };
        let sandbox = self.sandbox;
        for place in std::iter::once(path).chain(real.as_deref()) {
            let leads =
                if place == path { String::new() } else { format!(" leads to `{}`, which", shown(place)) };
            let what = if let Some(folder) = sandbox.not_within.iter().find(|folder| folder.may_hold(place)) {
                format!("`{}`{leads} is in `{}`", shown(text), folder.text)
            } else if !sandbox.within.is_empty() && !sandbox.within.iter().any(|folder| folder.holds(place)) {
                let folders: Vec<String> =
                    sandbox.within.iter().map(|folder| format!("`{}`", folder.text)).collect();
                format!("`{}`{leads} is outside of {}", shown(text), folders.join(", "))
            } else {
                continue;
            };
            self.misses(what, is_guess.then_some("a path"));
        }
    }

    /// A program that goes into all that lies below a folder.
    fn at_walk(&mut self, path: &str, command: &Command) {
        if let Some(folder) = self.sandbox.not_within.iter().find(|folder| folder.lies_below(path)) {
            let what = format!("`{}` goes through `{}`", shown(&command.text), folder.text);
            self.doubt(what);
        }
    }

    /// A text that a tool may take for the name of a file: only what certainly leads where it must not counts.
    fn at_name(&mut self, name: &TouchedPath) {
        let links = self.call.links();
        for spot in name.spots.iter().flatten().filter(|spot| spot.path.starts_with('/')) {
            let real = links.and_then(|links| spot.canonical(links)).filter(|real| *real != spot.path);
            let sandbox = self.sandbox;
            let is_in = |place: &str| sandbox.not_within.iter().any(|folder| folder.may_hold(place));
            let is_out = |place: &str| {
                !sandbox.within.is_empty() && !sandbox.within.iter().any(|folder| folder.holds(place))
            };
            // Whatever the text says, a link is a file: a door has seen it.
            let leads_out =
                real.as_deref().is_some_and(|real| is_in(real) || is_out(real) && !is_out(&spot.path));
            if is_in(&spot.path) || leads_out {
                self.doubt(format!("`{}` may be a file that is not inside", shown(&name.text)));
            }
        }
    }
}
