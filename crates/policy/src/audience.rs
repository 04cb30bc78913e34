//! For whose rules a deed has a name: maps rename calls only for the rules of their own file.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    decision::Truth,
    deed::{Deed, Deeds},
    names::FileId,
    phrase::is_phrase,
};

/// The rules a group of deeds concerns: those of one file whose maps renamed the call, or those of all
/// other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience(pub(crate) Option<FileId>);

impl Audience {
    /// Those of one file.
    pub fn of(file: FileId) -> Self {
        Self(Some(file))
    }

    /// Those of all files that have no map for the tool.
    pub fn everybody() -> Self {
        Self(None)
    }

    /// The file, if the rules of one are meant.
    pub fn file(self) -> Option<FileId> {
        self.0
    }

    /// Whether this is everybody whose file has no map for the tool.
    pub fn is_everybody(self) -> bool {
        self.0.is_none()
    }
}

/// What a call amounts to, and to whose rules.
pub type Groups = SmallVec<[(Audience, Deeds); 1]>;

/// The deeds of a call that one of these names means, to the rules of a file.
fn meant<'a>(groups: &'a Groups, file: FileId, names: &'a [Arc<str>]) -> impl Iterator<Item = &'a Deed> {
    let own = groups.iter().find(|(audience, _)| audience.file() == Some(file));
    let everybody = groups.iter().find(|(audience, _)| audience.is_everybody());
    // Effects are for every file's rules, whether or not its maps give the call a name.
    let effects = everybody.filter(|_| own.is_some()).into_iter().flat_map(|(_, deeds)| deeds);
    let effects = effects.filter(|deed| is_phrase(&deed.name));
    let seen = own.or(everybody);
    let is_meant = move |deed: &&Deed| {
        let is = |name: &Arc<str>| {
            // With an action the tool itself is meant too, unless the rule names actions of it.
            *deed.name == **name
                || deed.tool.is_some()
                    && deed.name.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.'))
                    && !names
                        .iter()
                        .any(|other| other.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.')))
        };
        names.iter().any(is)
    };
    seen.into_iter().flat_map(|(_, deeds)| deeds).chain(effects).filter(is_meant)
}

/// Whether a call amounts to one of these names: a doubt where it only may.
pub(crate) fn amounts_to(groups: &Groups, file: FileId, names: &[Arc<str>]) -> Truth {
    let truth = |deed: &Deed| if deed.certain { Truth::Yes } else { Truth::Doubt };
    meant(groups, file, names).map(truth).fold(Truth::No, Truth::or)
}

/// Whether everything that a call amounts to, to the rules of a file, certainly has one of these names.
pub(crate) fn amounts_only_to(groups: &Groups, file: FileId, names: &[Arc<str>]) -> bool {
    let own = groups.iter().find(|(audience, _)| audience.file() == Some(file));
    let seen = own.or_else(|| groups.iter().find(|(audience, _)| audience.is_everybody()));
    let mut deeds =
        seen.into_iter().flat_map(|(_, deeds)| deeds).filter(|deed| !is_phrase(&deed.name)).peekable();
    let is_action = |deed: &Deed, name: &Arc<str>| {
        deed.tool.is_some() && deed.name.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.'))
    };
    let is_named = |deed: &Deed| names.iter().any(|name| deed.name == *name || is_action(deed, name));
    deeds.peek().is_some() && deeds.all(|deed| deed.certain && is_named(deed))
}

/// Whether a success of a call is a success of one of these names.
pub(crate) fn earns(groups: &Groups, file: FileId, names: &[Arc<str>]) -> bool {
    meant(groups, file, names).any(Deed::earns)
}

/// Whether a call is taken for one of these names only because it has a script that cannot be read.
pub fn is_guessed(groups: &Groups, file: FileId, names: &[Arc<str>]) -> bool {
    let mut deeds = meant(groups, file, names).peekable();
    deeds.peek().is_some() && deeds.all(|deed| deed.basis.is_guess())
}
