//! How a rule names effects: `any deletion outside ./build`, `any upload except to api.example.com`.
//!
//! [`EffectPattern::parse`] reads the phrase, [`EffectPattern::fit`] compares it with an effect. Places are folders, globs
//! and the words `project`, `home`, `secrets`, `system`, `startup`, `temp`
//! and `artifacts`. A doubt about where something happens never opens.

use super::secrets::is_secret;
use super::{Effect, Target};
use crate::call::Call;
use crate::glob::fits;
use crate::places::hosts::HostPattern;
use crate::places::links::Links;
use crate::places::path::{lies_in, normalise};
use crate::places::paths::TouchedPath;
use crate::programs::effects::EffectKind;

/// The effects that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectPattern {
    /// What is done.
    pub kind: EffectKind,
    /// Where.
    pub places: EffectPlaces,
}

/// Where the effects happen that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectPlaces {
    /// Anywhere.
    Any,
    /// In one of these places.
    Inside(Vec<String>),
    /// In none of these places.
    Outside(Vec<String>),
    /// At one of these hosts.
    To(Vec<String>),
    /// At none of these hosts.
    ExceptTo(Vec<String>),
}

/// Whether an effect is what a rule speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceFit {
    /// It is not.
    No,
    /// Only the run will show where it happens.
    Unknown,
    /// It may be.
    Possible,
    /// It is.
    Certain,
}

impl EffectPattern {
    /// The start of every phrase that names effects.
    pub const START: &'static str = "any";

    /// Reads a phrase such as `any deletion outside ./build, temp`; none where it is something else.
    #[must_use]
    pub fn parse(phrase: &str) -> Option<Self> {
        let words: Vec<&str> = phrase.split_whitespace().collect();
        let [Self::START, rest @ ..] = words.as_slice() else { return None };
        let (kind, rest) = match rest {
            ["unreadable", "script" | "scripts", rest @ ..] => (EffectKind::UnreadableScript, rest),
            [word, rest @ ..] => (EffectKind::of_word(word)?, rest),
            [] => return None,
        };
        let list = |rest: &[&str]| {
            let joins = |word: &&&str| !matches!(**word, "or" | "and" | ",");
            let names: Vec<String> =
                rest.iter().filter(joins).map(|word| word.trim_end_matches(',').to_owned()).collect();
            (!names.is_empty() && names.iter().all(|name| !name.is_empty())).then_some(names)
        };
        let places = match rest {
            [] => EffectPlaces::Any,
            ["inside", places @ ..] => EffectPlaces::Inside(list(places)?),
            ["outside", places @ ..] => EffectPlaces::Outside(list(places)?),
            ["to", hosts @ ..] => EffectPlaces::To(list(hosts)?),
            ["except", "to", hosts @ ..] => EffectPlaces::ExceptTo(list(hosts)?),
            _ => return None,
        };
        Some(Self { kind, places })
    }

    /// Whether the hosts of the phrase can be read; the first that cannot.
    #[must_use]
    pub fn wrong_host(&self) -> Option<&str> {
        match &self.places {
            EffectPlaces::To(hosts) | EffectPlaces::ExceptTo(hosts) => {
                hosts.iter().map(String::as_str).find(|host| HostPattern::parse(host).is_err())
            }
            EffectPlaces::Any | EffectPlaces::Inside(_) | EffectPlaces::Outside(_) => None,
        }
    }

    /// Whether an effect of a call is one of these.
    #[must_use]
    pub fn fit(&self, effect: &Effect, call: &Call, links: Option<&Links>) -> PlaceFit {
        if effect.kind != self.kind {
            return PlaceFit::No;
        }
        match &self.places {
            EffectPlaces::Any => PlaceFit::Certain,
            EffectPlaces::Inside(places) => inside(&effect.target, places, call, links),
            EffectPlaces::Outside(places) => match inside(&effect.target, places, call, links) {
                PlaceFit::No => PlaceFit::Certain,
                PlaceFit::Unknown => PlaceFit::Unknown,
                PlaceFit::Possible => PlaceFit::Possible,
                PlaceFit::Certain => PlaceFit::No,
            },
            EffectPlaces::To(hosts) => at_host(&effect.target, hosts),
            EffectPlaces::ExceptTo(hosts) => match at_host(&effect.target, hosts) {
                PlaceFit::No => PlaceFit::Certain,
                PlaceFit::Certain => PlaceFit::No,
                doubt => doubt,
            },
        }
    }
}

fn at_host(target: &Target, hosts: &[String]) -> PlaceFit {
    let Target::Host(host) = target else {
        return if *target == Target::Unknown { PlaceFit::Unknown } else { PlaceFit::No };
    };
    let patterns: Vec<HostPattern> = hosts.iter().filter_map(|host| HostPattern::parse(host).ok()).collect();
    match &host.host {
        Err(_) => PlaceFit::Possible,
        Ok(_) if patterns.iter().any(|pattern| host.matches(pattern)) => PlaceFit::Certain,
        Ok(_) => PlaceFit::No,
    }
}

fn inside(target: &Target, places: &[String], call: &Call, links: Option<&Links>) -> PlaceFit {
    let best = |fits: &mut dyn Iterator<Item = PlaceFit>| fits.max().unwrap_or(PlaceFit::No);
    match target {
        Target::Nothing | Target::Host(_) | Target::Program(_) => PlaceFit::No,
        Target::Unknown => PlaceFit::Unknown,
        Target::At(path) => best(&mut named(places).map(|place| by_text(path, place, call))),
        Target::Path(path) => best(&mut named(places).map(|place| path_inside(path, place, call, links))),
    }
}

/// The places themselves, for words that stand for several.
fn named(places: &[String]) -> impl Iterator<Item = &str> {
    places.iter().flat_map(|place| {
        let (list, own): (&[&str], _) = match place.as_str() {
            "artifacts" => (ARTIFACTS, None),
            "startup" => (STARTUP, None),
            own => (&[], Some(own)),
        };
        list.iter().copied().chain(own)
    })
}

fn path_inside(path: &TouchedPath, place: &str, call: &Call, links: Option<&Links>) -> PlaceFit {
    if place == "secrets" {
        return if is_secret(path) { PlaceFit::Certain } else { PlaceFit::No };
    }
    let Ok(spots) = &path.spots else { return in_some_home(&path.text, place) };
    let mut worst = PlaceFit::Certain;
    let mut best = PlaceFit::No;
    for spot in spots {
        let by_text = by_text(&spot.path, place, call);
        // A link may lead out of a place or into it: where the door looked, both ends count.
        let fit = match links.map(|links| spot.canonical(links)) {
            Some(Some(really)) if really != spot.path && self::by_text(&really, place, call) != by_text => {
                PlaceFit::Possible
            }
            Some(None) if by_text == PlaceFit::Certain => PlaceFit::Possible,
            _ => by_text,
        };
        let fit = match fit {
            // Something below a folder is meant, and the place may be there.
            PlaceFit::No
                if spot.is_pattern
                    && folders(place, call).iter().any(|it| spot.may_match_in(&spot.path, it)) =>
            {
                PlaceFit::Possible
            }
            fit => fit,
        };
        worst = worst.min(fit);
        best = best.max(fit);
    }
    if worst == best { best } else { PlaceFit::Possible }
}

/// Whether a path that cannot be told lies in a place: both may lie in the same home, wherever that is.
fn in_some_home(path: &str, place: &str) -> PlaceFit {
    let (Some(path), Some(place)) = (path.strip_prefix("~/"), place.strip_prefix("~/")) else {
        return PlaceFit::Unknown;
    };
    let rest = path.strip_prefix(place.trim_end_matches('/'));
    match rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        true => PlaceFit::Possible,
        false => PlaceFit::Unknown,
    }
}

/// Whether a path lies in a place, by its text.
fn by_text(path: &str, place: &str, call: &Call) -> PlaceFit {
    if place.contains(['*', '?']) {
        return glob_fit(path, place, call);
    }
    let is_root = |place: &str| place == "system" && matches!(path, "/" | "" | "/home" | "/Users" | "/var");
    if is_root(place) {
        return PlaceFit::Certain;
    }
    let home = home(call);
    if matches!(place, "home" | "~") && home.is_none() && path.starts_with('~') {
        return PlaceFit::Certain;
    }
    if !path.starts_with('/') {
        // Nobody knows where the call runs: what leads nowhere else stays in the session's folder.
        let stays = !path.starts_with("..") && !path.starts_with('~');
        let relative = place.strip_prefix("./").unwrap_or(place).trim_end_matches('/');
        return match place {
            "project" | "." | "./" if stays => PlaceFit::Certain,
            "system" | "temp" | "home" if stays => PlaceFit::No,
            place if place.starts_with(['/', '~']) && stays => PlaceFit::No,
            _ if stays
                && (path == relative
                    || path.strip_prefix(relative).is_some_and(|rest| rest.starts_with('/'))) =>
            {
                PlaceFit::Certain
            }
            _ if stays => PlaceFit::No,
            _ => PlaceFit::Unknown,
        };
    }
    let known = folders(place, call);
    if known.is_empty() {
        // In whose home it lies is not known; a path without these names lies in none.
        let named = place.strip_prefix("~/").map(|rest| format!("/{}/", rest.trim_matches('/')));
        let may_lie = named.is_none_or(|named| format!("{path}/").contains(&named));
        return if may_lie { PlaceFit::Possible } else { PlaceFit::No };
    }
    match known.iter().any(|folder| lies_in(path, folder) == Some(true)) {
        true => PlaceFit::Certain,
        false => PlaceFit::No,
    }
}

/// The folders that a place stands for.
fn folders(place: &str, call: &Call) -> Vec<String> {
    let cwd = call.about.cwd.clone();
    let home = home(call);
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match place {
        "project" | "." | "./" => cwd.into_iter().collect(),
        "home" | "~" | "~/" => home.into_iter().collect(),
        "temp" => own(&["/tmp", "/var/tmp", "/private/tmp"]),
        "system" => own(SYSTEM),
        place if place.starts_with('/') => vec![place.trim_end_matches('/').to_owned()],
        place => {
            let under = |base: Option<String>, rest: &str| {
                base.and_then(|base| normalise(&format!("{base}/{rest}"), None).ok()).into_iter().collect()
            };
            match place.strip_prefix("~/") {
                Some(rest) => under(home, rest),
                None => under(cwd, place),
            }
        }
    }
}

/// `**/node_modules` is any folder of that name and what is in it; another glob is compared with the last name, or with the
/// path below the session's folder.
fn glob_fit(path: &str, place: &str, call: &Call) -> PlaceFit {
    let cwd = call.about.cwd.as_deref().unwrap_or_default();
    let below = path.strip_prefix(cwd).unwrap_or(path).trim_start_matches('/');
    let stays = !path.starts_with('/') && !path.starts_with("..")
        || (!cwd.is_empty() && lies_in(path, cwd) == Some(true));
    let named = place.strip_prefix("**/").unwrap_or(place);
    if named.contains('/') {
        return if stays && fits(named, below) { PlaceFit::Certain } else { PlaceFit::No };
    }
    let is_fit = |part: &str| !part.is_empty() && part != ".." && fits(named, part);
    // Outside of the project a name proves nothing about whose folder it is.
    match below.split('/').any(is_fit) {
        true if stays => PlaceFit::Certain,
        true => PlaceFit::Possible,
        false => PlaceFit::No,
    }
}

fn home(call: &Call) -> Option<String> {
    call.about.context.as_ref()?.get("env")?.get("HOME")?.as_str().map(str::to_owned)
}

/// Files that shells, sessions and git run at their start.
const STARTUP: &[&str] = &[
    "~/.bashrc",
    "~/.bash_profile",
    "~/.bash_login",
    "~/.bash_logout",
    "~/.bash_aliases",
    "~/.profile",
    "~/.zshrc",
    "~/.zshenv",
    "~/.zprofile",
    "~/.zlogin",
    "~/.zlogout",
    "~/.inputrc",
    "~/.xinitrc",
    "~/.xprofile",
    "~/.xsession",
    "~/.pam_environment",
    "~/.gitconfig",
    "~/.config/git",
    "~/.config/fish",
    "~/.config/autostart",
    "~/.config/systemd",
    "~/.config/environment.d",
    "~/Library/LaunchAgents",
    "./.git",
];

/// What tools make anew, wherever it lies in the session's folder.
const ARTIFACTS: &[&str] = &[
    "**/node_modules",
    "**/dist",
    "**/build",
    "**/target",
    "**/out",
    "**/coverage",
    "**/htmlcov",
    "**/__pycache__",
    "**/.pytest_cache",
    "**/.mypy_cache",
    "**/.ruff_cache",
    "**/.hypothesis",
    "**/.coverage",
    "**/.tox",
    "**/.nox",
    "**/.eggs",
    "**/*.egg-info",
    "**/*.pyc",
    "**/*.pyo",
    "**/.venv",
    "**/venv",
    "**/.next",
    "**/.nuxt",
    "**/.output",
    "**/.svelte-kit",
    "**/.astro",
    "**/.angular",
    "**/.vite",
    "**/.turbo",
    "**/.parcel-cache",
    "**/.eslintcache",
    "**/*.tsbuildinfo",
    "**/.nyc_output",
    "**/.cache",
    "**/.gradle",
    "**/.dart_tool",
    "**/.terraform",
    "**/DerivedData",
    "**/.build",
    "**/_build",
    "**/cmake-build-*",
    "**/CMakeFiles",
    "**/*.o",
    "**/*.obj",
    "**/*.class",
    "**/*.tmp",
    "**/*.swp",
    "**/.DS_Store",
    "**/package-lock.json",
    "**/yarn.lock",
    "**/pnpm-lock.yaml",
];

/// Folders that belong to the system.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/www",
    "/var/backups",
    "/var/run",
    "/System",
    "/Library",
    "/Applications",
    "/private/etc",
    "/private/var/log",
    "/selinux",
    "/snap",
    "/var/cache",
    "/var/mail",
];
