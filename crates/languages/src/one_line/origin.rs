//! Where a sentence says that values come from.

use lockgate_policy::provenance::ResultSource;

/// Where values may come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Whether the user may have said it.
    pub(super) from_user: bool,
    /// Results it may have stood in.
    pub(super) results: Vec<ResultSource>,
    /// Texts of the policy.
    pub(super) constants: Vec<String>,
    /// Attributes of the session.
    pub(super) attributes: Vec<String>,
}

impl Origin {
    pub(super) fn join(&mut self, other: Self) {
        self.from_user |= other.from_user;
        self.results.extend(other.results);
        self.constants.extend(other.constants);
        self.attributes.extend(other.attributes);
    }
}
