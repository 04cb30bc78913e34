//! Every host a call names.
//!
//! [`hosts`] finds URLs in any text and bare hosts where a field or a program expects one, reads them by the
//! rules that browsers and libraries share, and folds every spelling of a host into one. Asking a name server
//! is missing on purpose: a name that leads to a private address is still a name here.

mod address;
mod finder;
mod host;
mod tables;
mod touched;

use crate::call::Call;
use crate::contents::{Contents, Place};
use crate::fields::ScriptFields;
use crate::shell::cache::ScriptCache;
use crate::shell::environment::{is_proxy, leads_elsewhere};
use crate::shell::script::Script;

use finder::Finder;
pub use host::{Host, HostDoubt, HostPattern, Reach};
pub(crate) use tables::FIELDS;
pub use touched::{Hosts, TouchedHost};

/// Every host a call names.
#[must_use]
pub fn hosts(call: &Call) -> Hosts {
    find(&Contents::of(&call.input, &ScriptFields::Customary, &ScriptCache::default()))
}

/// Every host in an input.
pub(crate) fn find(contents: &Contents) -> Hosts {
    let mut finder = Finder::default();
    finder.found.unseen.clone_from(&contents.unseen);
    for text in &contents.texts {
        finder.field(text);
    }
    for script in &contents.scripts {
        let is_led = is_led(&script.script);
        for (i, command) in script.script.commands.iter().enumerate() {
            let place = |word| match word {
                Some(word) => Place::Word { field: script.selector.clone(), command: i, word },
                None => Place::Around { field: script.selector.clone(), command: i },
            };
            finder.command(command, is_led, &place);
        }
    }
    finder.found
}

/// Whether a script sets a variable by which programs are told where to go, and not by a value that is listed.
fn is_led(script: &Script) -> bool {
    let is_listed = |name: &String| {
        script.commands.iter().any(|command| command.assignments.iter().any(|(known, _)| known == name))
    };
    script.sets.iter().any(|name| {
        leads_elsewhere(name) && !name.starts_with("GIT_") && !(is_proxy(name) && is_listed(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::word::{Known, Word};
    use crate::shell::script::{Redirection, RedirectionKind};

    #[test]
    fn what_stands_around_a_command_may_name_a_host() {
        let word = |text: &str| Word { text: text.into(), known: Known::Certain };
        let mut command = crate::read_script("cat").commands.remove(0);
        command.redirections =
            vec![Redirection { kind: RedirectionKind::Reads, target: word("/dev/tcp/0x7f.1/80") }];
        command.assignments =
            vec![("HTTPS_PROXY".into(), word("evil.com:8080")), ("A".into(), word("http://b.com"))];
        let mut finder = Finder::default();
        finder.command(&command, false, &|_| Place::Field(crate::Selector::default()));
        let seen: Vec<_> =
            finder.found.touched.iter().map(|host| host.host.as_ref().unwrap().name()).collect();
        assert_eq!(seen, ["127.0.0.1", "evil.com", "b.com"]);
    }
}
