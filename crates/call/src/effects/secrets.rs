//! Files with passwords and keys, by their names.

use crate::glob::fits;
use crate::places::paths::TouchedPath;

/// Whether a path is, or may lead to, a file of secrets.
pub(super) fn is_secret(path: &TouchedPath) -> bool {
    let by_spot = path.spots.as_ref().is_ok_and(|spots| spots.iter().any(|spot| is_name(&spot.path)));
    by_spot || is_name(&path.text)
}

/// Whether some name within a text is that of a file of secrets: `HEAD:.env`, `open('.env')`, `@server.pem`.
pub(super) fn names_secret(text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "'\"`=:,;@()<>|&{}".contains(c);
    text.split(is_end).any(is_name)
}

/// Whether a path is that of a file of secrets.
fn is_name(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    if name.is_empty() || name.len() > 200 || EXAMPLES.iter().any(|end| name.contains(end)) {
        return false;
    }
    let is_in = |folder: &&str| FOLDERS.contains(folder);
    let is_public = name.ends_with(".pub") || OPEN.contains(&name);
    if (parts.iter().any(is_in) || is_in(&name)) && !is_public {
        return true;
    }
    if ENDINGS.iter().any(|ending| path.ends_with(ending)) {
        return true;
    }
    if name.strip_suffix(".pem").is_some_and(is_certificate) {
        return false;
    }
    let has_folder = path.contains('/');
    let is_key = name.strip_suffix(".key").is_some_and(|stem| has_folder || KEYS.contains(&stem));
    let is_glob = name.contains(['*', '?', '[']);
    // What a glob spells out before its first star must say something.
    let start = name.split(['*', '?', '[']).next().unwrap_or_default();
    is_key
        || NAMES.iter().any(|known| match known.contains('*') {
            true => fits_exactly(known, name),
            false => *known == name || is_glob && start.len() > 1 && fits(name, known),
        })
}

/// Whether a name says that it is shown to everybody: `fullchain`, `cacert`.
fn is_certificate(stem: &str) -> bool {
    let says = |words: &[&str]| words.iter().any(|word| stem.contains(word));
    (stem == "ca" || says(&["cert", "chain", "pub", "crt", "csr"])) && !says(&["key", "priv", "*", "?"])
}

/// Whether a name fits `start*` or `*end`, letter by letter.
fn fits_exactly(glob: &str, name: &str) -> bool {
    let Some((start, end)) = glob.split_once('*') else { return glob == name };
    name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

/// Parts of names that are given away: `.env.example`.
const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist", "-example", "_example", ".schema"];

/// Folders in which everything is secret.
const FOLDERS: &[&str] = &[".aws", ".ssh", ".gnupg", ".kube", ".azure", ".password-store"];

/// Files in such folders that are not.
const OPEN: &[&str] = &["known_hosts", "authorized_keys"];

const ENDINGS: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/passwd",
    "/etc/master.passwd",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/run/secrets",
    "/environ",
    "/etc/sudoers",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".config/gcloud",
    "gcloud/credentials.db",
    "gcloud/application_default_credentials.json",
    "/Login Data",
    "/Default/Cookies",
    "/cookies.sqlite",
    "/logins.json",
    "/key4.db",
    ".m2/settings.xml",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/rclone/rclone.conf",
    ".terraform.d/credentials.tfrc.json",
    "/.bash_history",
    "/.zsh_history",
    "/.psql_history",
    "/.mysql_history",
    "/.python_history",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/github-copilot/hosts.json",
    "opencode/auth.json",
    ".fly/config.yml",
    ".config/doctl/config.yaml",
    ".config/netlify/config.json",
    ".terraformrc",
    ".config/hub",
    "Keychains/login.keychain-db",
    ".local/share/keyrings",
    ".electrum/wallets",
    "wallet.dat",
];

const NAMES: &[&str] = &[
    ".env",
    ".env.*",
    ".env-*",
    ".env_*",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".vault_pass",
    ".htpasswd",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    "secret.yml",
    "secret.yaml",
    "secret.json",
    "secret.toml",
    "secret.env",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "secrets.env",
    "secret.txt",
    "secrets.txt",
    "password.txt",
    "passwords.txt",
    "passwords.csv",
    "passwords.json",
    "api_key.txt",
    "api_keys.txt",
    ".secret",
    ".secrets",
    "credentials.txt",
    "credentials.csv",
    "credentials.xml",
    "client_secret*.json",
    "gha-creds-*.json",
    "*.ovpn",
    "credentials",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "service-account.json",
    "serviceAccountKey.json",
    "service-account-*.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.tfvars.secret",
    "master.key",
    "*_rsa",
    "*_ed25519",
    "*_ecdsa",
    "id_ed25519_sk",
    "id_ecdsa_sk",
    "*.asc.key",
];

/// The stems of keys that lie in no folder.
const KEYS: &[&str] =
    &["private", "server", "client", "tls", "ssl", "ca", "deploy", "signing", "master", "privkey", "id"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            ".env",
            "a/.env.local",
            "/home/a/.ssh/id_rsa",
            "server.pem",
            ".env*",
            ".e*",
            "certs/x.key",
            "/etc/shadow",
            "config/secrets.yml",
            "~/.aws/credentials",
            ".ssh",
            "*.pem",
            "~/.kube/config",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            ".env.example",
            "src/env.rs",
            "id_rsa.md",
            "*",
            "*.rs",
            ".gitignore",
            "a.key.md",
            "~/.ssh/id_rsa.pub",
            "event.key",
            "fullchain.pem",
            "/etc/ssl/cert.pem",
        ] {
            assert!(!is_name(name), "{name}");
        }
        assert!(
            names_secret("HEAD:.env")
                && names_secret("open('.env').read()")
                && !names_secret("process.env.X")
        );
    }
}
