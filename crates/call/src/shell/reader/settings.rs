//! Files that tell a program what to run, where the script has written them.
//!
//! `printf '[alias]\nq=!rm x\n' > .git/config; git q` runs `rm`, and so do a `package.json`, the settings of ssh and a table
//! of cron. Files that the script did not write are left out on purpose: what is in them, no reader of a call can know.

use serde_json::Value;

use super::Reader;
use crate::programs::inner::Inner;
use crate::programs::names::has;
use crate::programs::program::{Program, SettingsFiles};
use crate::programs::word::Field;
use crate::programs::wrappers::script_of_setting;
use crate::shell::written::Content;

/// Scripts of a package that run when it is installed.
const LIFECYCLE: &str = "preinstall install postinstall prepare prepublish prepack postpack dependencies";

impl Reader {
    /// What a program runs because of files that the script has written.
    pub(super) fn settings_files(&mut self, row: &Program, arguments: &[Field]) -> Vec<Inner> {
        let Some(files) = row.settings else { return Vec::new() };
        if files.is_package {
            return self.package(files, arguments);
        }
        let mut names: Vec<String> = files.names.split_ascii_whitespace().map(str::to_owned).collect();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            for option in files.options.split_ascii_whitespace() {
                match word.text.strip_prefix(option) {
                    Some("") => names.extend(words.as_slice().first().map(|value| value.text.clone())),
                    Some(glued) => names.push(glued.to_owned()),
                    None => {}
                }
            }
        }
        let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
        let written = names.iter().map(last).filter(|name| self.written.holds(name));
        let mut found: Vec<Inner> = written.map(|name| Inner::Settings(Field::certain(name))).collect();
        let scripts = files.scripts.split_ascii_whitespace().filter(|name| self.written.holds(name));
        found.extend(scripts.map(Field::certain).map(Inner::File));
        found
    }

    /// What `npm` and its like run by a package that the script has written.
    fn package(&mut self, files: &SettingsFiles, arguments: &[Field]) -> Vec<Inner> {
        if !self.written.holds(files.names) {
            return Vec::new();
        }
        let text = match self.written.text(files.names) {
            Content::Text(text) => text,
            _ => return vec![Inner::Unknown],
        };
        let package: Option<Value> = serde_json::from_str(&text).ok();
        let Some(package) = package else { return vec![Inner::Unknown] };
        let scripts = package.get("scripts").and_then(Value::as_object);
        let says = |name: &str| {
            let bare = |start| name.strip_prefix(start).unwrap_or(name);
            let is_meant = |word: &Field| {
                !word.is_certain() || [name, bare("pre"), bare("post")].contains(&word.text.as_str())
            };
            // `npm t`, `npm i` and other short forms.
            let names = [name, bare("pre"), bare("post")];
            let is_short =
                |word: &Field| !word.text.is_empty() && names.iter().any(|name| name.starts_with(&word.text));
            has(LIFECYCLE, name) || arguments.iter().any(|word| is_meant(word) || is_short(word))
        };
        let run = |(name, script): (&String, &Value)| {
            says(name).then(|| match script.as_str() {
                Some(script) => Inner::Script(Field::certain(script)),
                None => Inner::Unknown,
            })
        };
        scripts.into_iter().flatten().filter_map(run).collect()
    }
}

/// The scripts that settings of git or ssh name, one setting a line.
pub(super) fn scripts_of_settings(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut section = String::new();
    text.lines().flat_map(move |line| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            let name: String = name.split(']').next().unwrap_or_default().replace('"', "");
            section = name.split_whitespace().collect::<Vec<_>>().join(".");
            // A setting may stand behind its section.
            let after = line.split_once(']').map_or("", |(_, after)| after);
            return script_in(&section, after);
        }
        script_in(&section, line)
    })
}

fn script_in(section: &str, line: &str) -> Option<String> {
    let line = line.trim();
    if let Some((_, script)) =
        line.split_once(" exec ").filter(|(it, _)| it.to_lowercase().starts_with("match"))
    {
        return Some(script.trim_matches('"').to_owned());
    }
    let (key, value) = line.split_once(['=', ' ', '\t'])?;
    let (key, value) = (key.trim(), value.trim().trim_start_matches('=').trim());
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let key = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
    if key.to_lowercase().starts_with("alias.") && !value.starts_with('!') {
        return Some(format!("git {value}"));
    }
    let script = script_of_setting(&key, value)?;
    Some(script.trim_start_matches('|').to_owned())
}

/// The scripts of a table of cron, one a line, without their times.
pub(super) fn scripts_of_table(text: &str) -> String {
    let mut scripts = String::new();
    for line in text.lines() {
        let mut rest = line.trim_start();
        let fields = if rest.starts_with('@') { 1 } else { 5 };
        let is_setting = rest.split_once('=').is_some_and(|(name, _)| !name.trim().contains([' ', '*']));
        if rest.is_empty() || rest.starts_with('#') || is_setting {
            continue;
        }
        for _ in 0..fields {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, after)| after.trim_start());
        }
        // From a percent sign on it is what the script reads.
        scripts.push_str(rest.split('%').next().unwrap_or_default());
        scripts.push('\n');
    }
    scripts
}
