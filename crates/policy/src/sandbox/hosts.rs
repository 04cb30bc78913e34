//! The hosts that a call names.

use lockgate_call::{TouchedHost, TouchedPath};

use super::boundaries::Domain;
use super::look::Look;
use super::text::{fold, shown};

impl Look<'_> {
    pub(super) fn at_hosts(&mut self) {
        let reading = self.reading;
        let found = reading.hosts();
        found.unseen.iter().for_each(|unseen| self.doubt(unseen.to_string()));
        for host in &found.touched {
            self.judged = true;
            self.at_host(host);
        }
        for (_, script) in reading.scripts() {
            for command in script.commands.iter().filter(|command| command.goes_unread()) {
                let names_host = |host: &TouchedHost| {
                    self.command_at(&host.place).is_some_and(|named| std::ptr::eq(named, command))
                };
                if !found.touched.iter().any(names_host) {
                    self.doubt(format!("`{}` goes to a host that it does not name", shown(&command.text)));
                }
            }
        }
        if !self.sandbox.bounds_paths() {
            // A file's address is not a host, and there is no boundary that would judge the file.
            let paths = reading.paths();
            let is_address = |path: &&TouchedPath| fold(&path.text).starts_with("file:");
            if let Some(path) = paths.touched.iter().find(is_address) {
                self.doubt(format!("`{}` is a file, and the rule allows no folder", shown(&path.text)));
            }
        }
    }

    fn at_host(&mut self, host: &TouchedHost) {
        let text = shown(&host.text);
        if let Err(doubt) = &host.host {
            return self.doubt(format!("`{text}`: {doubt}"));
        }
        let fits = |domain: &&Domain| domain.fits(host);
        let what = if self.sandbox.not_domains.iter().any(|domain| fits(&domain)) {
            format!("`{text}` is a host that may not be reached")
        } else if self
            .sandbox
            .domains
            .as_ref()
            .is_some_and(|domains| !domains.iter().any(|domain| fits(&domain)))
        {
            format!("`{text}` is not among the hosts that may be reached")
        } else if has_two_readings(&host.text) {
            return self.doubt(format!("`{text}` leads to one host or another, depending on who reads it"));
        } else {
            return;
        };
        self.misses(what, host.is_guess.then_some("a host"));
    }
}

/// Whether programs disagree about the host of an address: to browsers a backslash ends it, to others it is part of
/// the name of a user.
fn has_two_readings(address: &str) -> bool {
    let authority = address.split_once("//").map_or(address, |(_, rest)| rest);
    authority.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('\\'))
}
