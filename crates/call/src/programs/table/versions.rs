//! Version control.

use crate::programs::files::{FileUse, Spread};
use crate::programs::network::{Network, Words};
use crate::programs::program::{Grammar, Program, SettingsFiles, Verbs};
use crate::programs::wrappers::{Rest, Wrapper};

/// What git can be told to do without running anything but itself.
const GIT_OWN: &str = "add am apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit \
    commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree fast-export \
    fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck gc \
    get-tar-commit-id grep hash-object index-pack init interpret-trailers log ls-files ls-remote ls-tree \
    mailinfo mailsplit merge merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index mv \
    name-rev notes pack-objects pack-refs patch-id prune pull push range-diff read-tree rebase reflog \
    remote repack replace rerere reset restore rev-list rev-parse revert rm send-pack shortlog show \
    show-branch show-index show-ref sparse-checkout stash status stripspace submodule switch symbolic-ref \
    tag unpack-file unpack-objects update-index update-ref var verify-commit verify-pack verify-tag version \
    whatchanged worktree write-tree";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "git",
        is_only_a_program: true,
        grammar: Grammar::Git,
        wrappers: &[
            Wrapper {
                scripts: "--upload-pack --receive-pack --exec",
                settings: "-c --config",
                opaque: "--exec-path= --config-env",
                ..Wrapper::HOST
            },
            Wrapper { verb: "clone", scripts: "-u --upload-pack", settings: "-c --config", ..Wrapper::HOST },
            Wrapper { verb: "grep", scripts: "-O --open-files-in-pager", ..Wrapper::HOST },
            Wrapper { verb: "config --add", rest: Rest::Setting, ..Wrapper::HOST },
            Wrapper { verb: "config", rest: Rest::Setting, ..Wrapper::HOST },
            Wrapper { verb: "config set", rest: Rest::Setting, ..Wrapper::HOST },
            Wrapper { verb: "rebase", scripts: "-x --exec", ..Wrapper::HOST },
            Wrapper { verb: "difftool", scripts: "-x --extcmd", ..Wrapper::HOST },
            Wrapper { verb: "bisect run", ..Wrapper::RUNNER },
            Wrapper {
                verb: "submodule foreach",
                flags: "-q --quiet --recursive",
                rest: Rest::Script,
                ..Wrapper::RUNNER
            },
            Wrapper {
                verb: "filter-branch",
                scripts: "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter \
                    --commit-filter --tag-name-filter",
                ..Wrapper::HOST
            },
        ],
        settings: Some(&SettingsFiles {
            names: "config .gitconfig gitconfig config.worktree",
            scripts: "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg \
                commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive \
                post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite \
                sendemail-validate fsmonitor-watchman post-index-change",
            ..SettingsFiles::PLAIN
        }),
        files: FileUse { spread: Spread::Git, ..FileUse::KEEPER },
        verbs: Some(&Verbs {
            valued: "-C -c --git-dir --work-tree --namespace --super-prefix --attr-source --config-env \
                --exec-path",
            flags: "-p -P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs",
            own: GIT_OWN,
            remote: "clone fetch fetch-pack ls-remote pull push remote send-pack submodule",
            perhaps_remote: "archive",
            refs: "fetch pull push",
        }),
        network: Some(&Network {
            words: Words::Remotes,
            settings: "http. https. url. remote. core.gitproxy",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "hg svn",
        network: Some(&Network { words: Words::Remotes, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program { names: "gh glab", is_only_a_program: true, goes_unread: true, ..Program::PLAIN },
];
