//! Programs that work on files.

use crate::programs::files::{Access, Change, FileUse, Output, Search, Shows, Spread, Walks};
use crate::programs::network::{Network, Words};
use crate::programs::program::{Grammar, Program};
use crate::programs::wrappers::Wrapper;

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "cat",
        is_only_a_program: true,
        files: FileUse {
            shows: Some(Shows { flags: "AbeEnstTuv", counts: false }),
            output: Output::Input,
            ..FileUse::READER
        },
        ..Program::PLAIN
    },
    Program {
        names: "nl",
        files: FileUse { shows: Some(Shows { flags: "", counts: false }), ..FileUse::READER },
        ..Program::PLAIN
    },
    Program {
        names: "tac stat cut paste join comm fold od hexdump strings readelf bzcat xzcat gzcat lzcat zstdcat rev expand \
            unexpand pr fmt tsort sha512sum sum b2sum shasum md5 df zipinfo getfacl lsattr ldd nm objdump size hexyl zcat zless \
            zmore zdiff zcmp zgrep zegrep zfgrep bzless bzmore bzgrep bzdiff xzless xzmore xzgrep xzdiff zstdgrep zstdless \
            who w last lastb lastlog uptime cloc tokei scc namei getcap getfattr modinfo lsmod lspci lsusb lscpu \
            ffprobe mediainfo soxi pdfinfo pdffonts vmstat iostat mpstat free dmidecode lshw getent",
        files: FileUse::READER,
        ..Program::PLAIN
    },
    Program { names: "wc", files: FileUse { lists: "--files0-from", ..FileUse::READER }, ..Program::PLAIN },
    Program {
        names: "gzip gunzip pigz bzip2 bunzip2 xz unxz lzma lz4 zstd unzstd brotli compress",
        files: FileUse {
            walks: Walks::IfRecursive,
            lists: "--filelist --files --files0",
            ..FileUse::UNKNOWN
        },
        ..Program::PLAIN
    },
    Program {
        names: "bat batcat",
        wrappers: &[Wrapper { scripts: "--pager", ..Wrapper::HOST }],
        files: FileUse {
            shows: Some(Shows { flags: "pn", counts: false }),
            is_pager: true,
            ..FileUse::READER
        },
        ..Program::PLAIN
    },
    Program {
        names: "less",
        files: FileUse {
            shows: Some(Shows { flags: "FNRSX", counts: false }),
            is_pager: true,
            ..FileUse::READER
        },
        ..Program::PLAIN
    },
    Program {
        names: "more",
        files: FileUse { shows: Some(Shows { flags: "", counts: false }), is_pager: true, ..FileUse::READER },
        ..Program::PLAIN
    },
    Program { names: "most", files: FileUse { is_pager: true, ..FileUse::UNKNOWN }, ..Program::PLAIN },
    Program {
        names: "head tail",
        files: FileUse { shows: Some(Shows { flags: "qv", counts: true }), ..FileUse::READER },
        ..Program::PLAIN
    },
    Program {
        names: "ls",
        is_only_a_program: true,
        files: FileUse { walks: Walks::IfListing, walks_here: true, ..FileUse::READER },
        ..Program::PLAIN
    },
    Program {
        names: "du",
        files: FileUse { walks: Walks::Always, walks_here: true, lists: "--files0-from", ..FileUse::READ },
        ..Program::PLAIN
    },
    Program {
        names: "tree",
        files: FileUse { walks: Walks::Always, walks_here: true, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "find",
        grammar: Grammar::Find,
        files: FileUse {
            walks: Walks::Always,
            walks_here: true,
            search: Search::Expression,
            spread: Spread::Find,
            ..FileUse::UNKNOWN
        },
        ..Program::PLAIN
    },
    Program {
        names: "fd fdfind",
        wrappers: &[
            Wrapper { scripts: "-x -X --exec --exec-batch", ..Wrapper::HOST },
            Wrapper { verb: "-x", repeats: true, ..Wrapper::RUNNER },
            Wrapper { verb: "-X", repeats: true, ..Wrapper::RUNNER },
            Wrapper { verb: "--exec", repeats: true, ..Wrapper::RUNNER },
            Wrapper { verb: "--exec-batch", repeats: true, ..Wrapper::RUNNER },
        ],
        files: FileUse { walks: Walks::Always, walks_here: true, search: Search::Names, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "grep egrep fgrep",
        files: FileUse {
            pattern_first: true,
            walks: Walks::IfRecursive,
            walks_here: true,
            search: Search::Contents,
            ..FileUse::READ
        },
        ..Program::PLAIN
    },
    Program {
        names: "rg",
        wrappers: &[Wrapper { scripts: "--pre --hostname-bin", ..Wrapper::HOST }],
        files: FileUse {
            pattern_first: true,
            walks: Walks::Always,
            walks_here: true,
            search: Search::Contents,
            ..FileUse::READ
        },
        ..Program::PLAIN
    },
    Program {
        names: "ag ack",
        files: FileUse {
            pattern_first: true,
            walks: Walks::Always,
            walks_here: true,
            search: Search::Contents,
            ..FileUse::UNKNOWN
        },
        ..Program::PLAIN
    },
    Program { names: "jq", files: FileUse { pattern_first: true, ..FileUse::READ }, ..Program::PLAIN },
    Program { names: "mount umount", files: FileUse::WRITER, ..Program::PLAIN },
    Program { names: "tr expr", files: FileUse::NONE, ..Program::PLAIN },
    Program { names: "yq", files: FileUse { pattern_first: true, ..FileUse::UNKNOWN }, ..Program::PLAIN },
    Program {
        names: "basename dirname readlink realpath cmp shellcheck",
        files: FileUse::READ,
        ..Program::PLAIN
    },
    Program { names: "file", files: FileUse { lists: "-f --files-from", ..FileUse::READ }, ..Program::PLAIN },
    Program {
        names: "md5sum sha1sum sha256sum cksum",
        files: FileUse { lists: "-c --check", ..FileUse::READ },
        ..Program::PLAIN
    },
    Program {
        names: "diff",
        files: FileUse { walks: Walks::IfRecursive, ..FileUse::READ },
        ..Program::PLAIN
    },
    Program {
        names: "sdiff diff3",
        wrappers: &[Wrapper { scripts: "--diff-program", ..Wrapper::HOST }],
        ..Program::PLAIN
    },
    Program {
        names: "sort gsort",
        wrappers: &[Wrapper { scripts: "--compress-program", ..Wrapper::HOST }],
        files: FileUse { lists: "--files0-from", ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "split csplit",
        wrappers: &[Wrapper { scripts: "--filter", ..Wrapper::HOST }],
        ..Program::PLAIN
    },
    Program {
        names: "delta",
        wrappers: &[Wrapper { scripts: "--pager", ..Wrapper::HOST }],
        ..Program::PLAIN
    },
    Program {
        names: "man",
        wrappers: &[Wrapper { scripts: "-P -H --pager --html", ..Wrapper::HOST }],
        ..Program::PLAIN
    },
    Program {
        names: "cp",
        is_only_a_program: true,
        files: FileUse {
            operands: Some(Access::Unknown),
            change: Change::Copies,
            walks: Walks::IfRecursive,
            spread: Spread::Copies,
            ..FileUse::UNKNOWN
        },
        ..Program::PLAIN
    },
    Program {
        names: "mv",
        is_only_a_program: true,
        files: FileUse {
            change: Change::Copies,
            walks: Walks::Always,
            spread: Spread::Moves,
            ..FileUse::WRITER
        },
        ..Program::PLAIN
    },
    Program {
        names: "ln",
        is_only_a_program: true,
        files: FileUse { change: Change::Copies, ..FileUse::WRITER },
        ..Program::PLAIN
    },
    Program {
        names: "install ginstall",
        wrappers: &[Wrapper { scripts: "--strip-program", ..Wrapper::HOST }],
        files: FileUse { change: Change::Copies, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "rm",
        is_only_a_program: true,
        files: FileUse {
            change: Change::Keeps,
            walks: Walks::IfRecursive,
            spread: Spread::Removes,
            ..FileUse::WRITER
        },
        ..Program::PLAIN
    },
    Program {
        names: "rmdir unlink",
        is_only_a_program: true,
        files: FileUse { change: Change::Keeps, ..FileUse::WRITER },
        ..Program::PLAIN
    },
    Program {
        names: "shred",
        is_only_a_program: true,
        files: FileUse { walks: Walks::IfRecursive, ..FileUse::WRITER },
        ..Program::PLAIN
    },
    Program { names: "truncate", files: FileUse::WRITER, ..Program::PLAIN },
    Program {
        names: "mkdir touch",
        is_only_a_program: true,
        files: FileUse { change: Change::Makes, ..FileUse::WRITER },
        ..Program::PLAIN
    },
    Program {
        names: "tee",
        is_only_a_program: true,
        files: FileUse { output: Output::Tee, ..FileUse::WRITER },
        ..Program::PLAIN
    },
    Program {
        names: "chmod chown chgrp",
        is_only_a_program: true,
        files: FileUse { walks: Walks::IfRecursive, ..FileUse::KEEPER },
        ..Program::PLAIN
    },
    Program {
        names: "dd",
        is_only_a_program: true,
        files: FileUse { assigned: &[("if", Access::Reads), ("of", Access::Writes)], ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program { names: "mkfs", is_only_a_program: true, ..Program::PLAIN },
    Program {
        names: "tar gtar bsdtar",
        is_only_a_program: true,
        grammar: Grammar::Letters,
        wrappers: &[Wrapper {
            scripts: "-I -F --to-command --use-compress-program --info-script --new-volume-script \
                --rsh-command --rmt-command",
            settings: "--checkpoint-action",
            ..Wrapper::HOST
        }],
        files: FileUse {
            walks: Walks::Always,
            spread: Spread::Extracts,
            lists: "-T --files-from",
            ..FileUse::UNKNOWN
        },
        network: Some(&Network { words: Words::Remotes, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "unzip",
        files: FileUse { spread: Spread::Unzips, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "7z 7za 7zz 7zr unrar",
        files: FileUse { spread: Spread::ExtractsByWord, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "cpio pax",
        files: FileUse {
            spread: Spread::Here,
            lists: "-o -p -w --create --pass-through",
            ..FileUse::UNKNOWN
        },
        ..Program::PLAIN
    },
    Program {
        names: "jar",
        files: FileUse { spread: Spread::ExtractsFirst, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "zip",
        is_only_a_program: true,
        wrappers: &[Wrapper { scripts: "-TT --unzip-command", ..Wrapper::HOST }],
        files: FileUse { walks: Walks::IfRecursive, lists: "-@ --names-stdin", ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "patch",
        files: FileUse { spread: Spread::Patches, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
];
