//! What git does by which word: the table.

/// What git can be told to do without running anything but itself. Every other verb is an alias, a program of
/// that name, or runs what its settings say.
pub(crate) const GIT_VERBS: &str = "add am apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit \
    commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree fast-export \
    fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id \
    grep hash-object index-pack init interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit merge \
    merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index mv name-rev notes pack-objects \
    pack-refs patch-id prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset \
    restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref sparse-checkout \
    stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref \
    var verify-commit verify-pack verify-tag version whatchanged worktree write-tree";

/// Options of git before its verb whose value is the next word.
pub(crate) const GIT_VALUED: &str = "-C -c --git-dir --work-tree --namespace --super-prefix --attr-source";

/// Verbs of git that go to another machine.
pub(crate) const GIT_GOES: &str = "clone fetch fetch-pack ls-remote pull push remote send-pack submodule";
