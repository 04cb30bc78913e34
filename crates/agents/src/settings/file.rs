//! A file of settings: what may be written in it.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use lockgate::engine::{Mode, PolicyChanges, call::plain_mistake};
use serde::Deserialize;
use toml::Spanned;

use super::error::SettingsError;
use crate::approvals::Approvals;
use crate::{event::Ask, text::duration};

/// The largest file of settings that is read, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 64 * 1024;

/// A file of settings that was read.
pub(super) struct File {
    path: PathBuf,
    text: String,
    pub(super) written: Written,
}

/// What may stand in it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    pub(super) policy: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) mode: Option<Mode>,
    pub(super) state: Option<Spanned<String>>,
    pub(super) anchor: Option<Spanned<String>>,
    pub(super) protect: Option<bool>,
    pub(super) exec: Option<bool>,
    pub(super) approvals: Option<Approvals>,
    pub(super) policy_changes: Option<PolicyChanges>,
    pub(super) hook: WrittenHook,
    pub(super) sessions: WrittenSessions,
    pub(super) registry: Option<WrittenRegistry>,
    pub(super) server: Option<WrittenServer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenHook {
    pub(super) ask: Option<Ask>,
    pub(super) deadline: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenRegistry {
    pub(super) names: BTreeMap<String, Vec<String>>,
    pub(super) active: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenServer {
    pub(super) url: Spanned<String>,
    pub(super) token_file: Spanned<String>,
    pub(super) ca: Option<String>,
    #[serde(default)]
    pub(super) session_prefix: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenSessions {
    pub(super) forget_after: Option<Spanned<String>>,
}

impl File {
    /// A file that is not there, of a folder that is.
    pub(super) fn empty(folder: &Path) -> Self {
        Self { path: folder.to_path_buf(), text: String::new(), written: Written::default() }
    }

    pub(super) fn read(path: &Path) -> Result<Self, SettingsError> {
        let data = fs::metadata(path).map_err(|error| SettingsError::io(path, &error))?;
        if !data.is_file() || data.len() > FILE_BYTES_MAX {
            let reason = format!("it is not a file of at most {FILE_BYTES_MAX} bytes");
            return Err(SettingsError::new(path, reason, "move it away, or shorten it"));
        }
        let text = fs::read_to_string(path).map_err(|error| SettingsError::io(path, &error))?;
        Self::parse(path, text)
    }

    /// A file whose text was read elsewhere.
    pub(super) fn parse(path: &Path, text: String) -> Result<Self, SettingsError> {
        let mut file = Self { path: path.to_path_buf(), text, written: Written::default() };
        file.written = toml::from_str(&file.text).map_err(|error| {
            let remedy = "docs/hooks.md lists what may stand in it";
            file.wrong(error.span().unwrap_or_default(), &plain_mistake(error.message()), remedy)
        })?;
        Ok(file)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    pub(super) fn wrong(&self, span: Range<usize>, reason: &str, remedy: &str) -> SettingsError {
        let line = self.text.get(..span.start).unwrap_or_default().matches('\n').count() + 1;
        // Parsers like to speak in several lines.
        let reason = reason.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        SettingsError { line, ..SettingsError::new(&self.path, reason, remedy) }
    }

    pub(super) fn duration(
        &self,
        said: &Spanned<String>,
        bounds: Range<Duration>,
    ) -> Result<Duration, SettingsError> {
        let text = said.get_ref();
        let Some(duration) = duration(text) else {
            let reason = format!("`{text}` is not a duration");
            return Err(self.wrong(
                said.span(),
                &reason,
                "write a whole number and ms, s, m, h or d, as in \"30s\"",
            ));
        };
        if bounds.contains(&duration) {
            return Ok(duration);
        }
        let (least, most) = (bounds.start, bounds.end);
        let remedy = match most {
            Duration::MAX => format!("write at least {}s", least.as_secs()),
            _ => format!(
                "write {}ms to {}s: the host stops waiting not long after",
                least.as_millis(),
                most.as_secs()
            ),
        };
        Err(self.wrong(said.span(), &format!("`{text}` is out of range"), &remedy))
    }
}
