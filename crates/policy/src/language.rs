//! Which language a policy file is written in.
//!
//! Told by content: a file with a top-level `kind: Net` is a hand-written net, anything else that is not
//! YAML or JSON by name is one statement a line. A file of a language we do not read is an error: a policy
//! that is not understood must never be taken for an empty one.

use crate::{
    diagnostic::{Diagnostic, Severity},
    draft::Draft,
    net_file, rules,
    source::{Source, Span},
};

/// Parses a file in whatever language it is written.
pub(crate) fn parse(source: &Source) -> (Draft, Vec<Diagnostic>) {
    // Looking for the word first spares long files of one-line rules a second reading.
    if source.text().contains("kind") && net_file::is_net(source) {
        return net_file::parse(source);
    }
    let extension = source.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    if ["yaml", "yml", "json"].contains(&extension) {
        let unknown = Diagnostic {
            code: "unknown-language",
            severity: Severity::Error,
            message: format!("`{}` is in no language this gate reads", source.name()),
            source: source.clone(),
            span: Span::new(0, source.text().find('\n').unwrap_or(source.text().len())),
            label: "a hand-written net says `kind: Net`".to_owned(),
            remedy: Some("add `kind: Net`, or give one-line rules the ending `.rules`".to_owned()),
        };
        return (Draft::of(source), vec![unknown]);
    }
    rules::parse(source)
}
