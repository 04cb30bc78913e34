//! What a user and a project have decided about Lockgate: which policy, where sessions rest, how humans are asked.
//!
//! [`find()`] looks for the user's settings and for those of the project and joins them (`join`): a project can only be
//! stricter than the user, unless a human has trusted it ([`crate::trust`]). Where the user has no policy, the one that is
//! built in stands in. Settings that are found and cannot be used are an error: going on without them would swap a policy
//! for a weaker one because of a typing mistake. For the guardian, its clients look at a folder ([`look`]) and send what they
//! saw ([`FolderView`]), and [`find_in`] joins that. The policy itself is not read here, see [`Settings::sources`].

mod bound;
mod error;
mod file;
mod find;
mod join;
mod starter;
#[cfg(test)]
mod tests;
mod values;
mod view;
mod waiting;

pub use crate::approvals::Approvals;

pub use self::{
    bound::{FORGET_AFTER_MS, USER_SETTINGS, accepted_rulebook},
    error::SettingsError,
    find::{FILE, FOLDER, LookError, find, find_in, look, look_at_files, starter_place, user_folder},
    starter::{STARTER, starter_policy},
    values::{
        BUILT_IN, Elsewhere, Origin, ProjectPolicy, Registry, Settings, TeamServerSettings, UserPolicy,
    },
    view::{FolderView, ProjectView, repository_with_policy},
    waiting::{EXEC_GUARDED, EXEC_SETTING, exec_not_run, waiting_items, waiting_line, waiting_line_of_files},
};
