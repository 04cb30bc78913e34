//! What some programs have in common where effects are looked for.

/// Short ones, by program.
pub(crate) const SHORT_VALUED: &[(&str, &str)] = &[
    ("gh", "-R"),
    ("glab", "-R"),
    ("heroku", "-a"),
    ("fly", "-a"),
    ("flyctl", "-a"),
    ("kubectl", "-n"),
    ("oc", "-n"),
    ("helm", "-n"),
    ("docker-compose", "-f"),
    ("docker-compose", "-p"),
    ("docker", "-H"),
    ("npm", "-C"),
    ("pnpm", "-C"),
    ("make", "-C"),
    ("yarn", "--cwd"),
];

/// Programs that name a file of secrets without showing what is in it.
pub(crate) const QUIET: &[&str] = &[
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "touch",
    "mkdir",
    "rmdir",
    "rm",
    "chmod",
    "chown",
    "chgrp",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "ssh",
    "ssh-keyscan",
    "scp",
    "sftp",
    "rsync",
    "realpath",
    "dirname",
    "basename",
    "readlink",
    "file",
    "echo",
    "printf",
    "find",
    "fd",
    "tree",
    "du",
    "which",
    "cd",
    "export",
    "gh",
    "glab",
    "mkcert",
    "certbot",
    "mosh",
    "autossh",
    "sshfs",
    "shred",
    "unlink",
    "ln",
    "direnv",
    "ansible-vault",
    "npm",
    "yarn",
    "pnpm",
    "keytool",
    "openvpn",
    "named-checkzone",
    "named-checkconf",
    "fstrim",
    "mount",
    "umount",
    "swapon",
    "findmnt",
    "blkid",
    "lsblk",
    "smartctl",
    "losetup",
    "diskutil",
    "fsck",
    "e2fsck",
    "dumpe2fs",
    "tune2fs",
    "resize2fs",
    "xfs_repair",
    "hdparm",
    "badblocks",
    "mdadm",
    "cryptsetup",
    "parted",
    "partprobe",
    "eject",
    "udevadm",
    "testdisk",
    "photorec",
    "fuser",
    "lsof",
];

/// Programs that read all their operands but the last, which they write.
pub(crate) const COPIES: &[&str] = &["cp", "mv", "install", "ln"];

/// Those of them that leave nothing behind.
pub(crate) const MOVES: &[&str] = &["mv"];

/// Programs that change what a folder shows, and nothing on the device that they are given.
pub(crate) const MOUNTS: &[&str] = &["mount", "umount"];

/// Programs that run commands in containers.
pub(crate) const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl", "kubectl"];

/// Programs whose first operand is a filter.
pub(crate) const FILTERS: &[&str] = &["jq", "yq", "gojq", "jaq", "xq", "dasel"];

/// The program with subcommands of which only some show what is in files.
pub(crate) const VERSIONS: &str = "git";

/// Words of scripts that may set variables, or hold scripts that do.
pub(crate) const SETTERS: &[&str] = &[
    "read",
    "eval",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "let",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "source",
    "trap",
    "alias",
    "function",
    "select",
    "coproc",
    "wait",
    "set",
    "shopt",
    "IFS",
    "while",
    "until",
];

/// Programs, what they are told, and the options whose value is a text that names no file; behind `--` stands what nobody
/// takes for a path that is only known when the script runs.
pub(crate) const TEXTS: &[(&str, &str, &str)] = &[
    ("git", "commit tag merge notes", "-m --message -am"),
    ("gh", "pr issue release", "-b --body -t --title -n --notes -m --message -d --description"),
    ("glab", "mr issue release", "-b --body -t --title -n --notes -m --message -d --description"),
    ("npm", "test t run run-script", "--"),
    ("pnpm", "test t run run-script", "--"),
    ("yarn", "test t run run-script", "--"),
];

/// Programs with which a console has more rights than its user.
pub(crate) const RAISING: &str = "sudo doas pkexec run0 su runuser nsenter";
