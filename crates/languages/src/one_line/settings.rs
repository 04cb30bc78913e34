//! Sentences about the whole file: `mode`, and what happens to scripts that cannot be read.

use lockgate_policy::{Decision, Mode, UnreadableLine, closest};

use super::{
    meant::did_you_mean,
    parser::{Line, Parser},
    words::span_of,
};

pub(super) const MODE: &str = "mode <observe|enforce>";
pub(super) const UNREADABLE: &str = "unreadable scripts: <ask|block|allow>";

/// `mode observe` or `mode enforce`, once, anywhere in the file.
pub(super) fn mode<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    let Some([_, value]) = parser.shaped(line.words, MODE) else { return };
    let mode = match value.text {
        "observe" => Mode::Observe,
        "enforce" => Mode::Enforce,
        other => {
            let meant = closest(other, ["observe", "enforce"]);
            return parser.mistake(
                "unknown-mode",
                value.span(),
                format!("unknown mode '{other}'. Expected 'observe' or 'enforce'"),
                meant.map_or("not a mode".into(), did_you_mean),
                "write `mode observe` to only record what the rules would do, `mode enforce` to act",
            );
        }
    };
    let span = span_of(line.words);
    match parser.mode {
        None => parser.mode = Some((mode, span)),
        Some((_, first)) => {
            let label = format!("first set in line {}", parser.source.place(first).line);
            let remedy =
                "keep one `mode` line; to only observe some rules, write `observe` before each of them";
            parser.mistake("second-mode", span, "the mode of this file is set twice", label, remedy);
        }
    }
}

/// `unreadable scripts: ask`.
pub(super) fn unreadable<'t>(parser: &mut Parser<'t>, line: Line<'_, 't>) {
    // `ask except consoles`: under `allow` they pass like all others.
    let (words, except_consoles) = match line.words {
        [head @ .., verdict, except, consoles]
            if except.text == "except" && consoles.text == "consoles" && verdict.text != "allow" =>
        {
            (line.words.get(..head.len() + 1).unwrap_or_default(), true)
        }
        words => (words, false),
    };
    let Some([_, _, value]) = parser.shaped(words, UNREADABLE) else { return };
    let wants = match value.text {
        "ask" => Decision::Ask,
        "block" => Decision::Block,
        "allow" => Decision::Allow,
        other => {
            let meant = closest(other, ["ask", "block", "allow"]);
            return parser.mistake(
                "unknown-verdict",
                value.span(),
                format!("unknown verdict '{other}'. Expected 'ask', 'block' or 'allow'"),
                meant.map_or("not a verdict for scripts".into(), did_you_mean),
                "write `unreadable scripts: ask` to ask a human about them, `block` to refuse them, `allow` to let them pass",
            );
        }
    };
    set_unreadable(parser, line, wants, except_consoles);
}

/// `ask about any unreadable script`.
pub(super) fn ask_unreadable(parser: &mut Parser<'_>, line: Line<'_, '_>) {
    set_unreadable(parser, line, Decision::Ask, false);
}

/// `block any unreadable script`.
pub(super) fn block_unreadable(parser: &mut Parser<'_>, line: Line<'_, '_>) {
    set_unreadable(parser, line, Decision::Block, false);
}

/// `allow any unreadable script`.
pub(super) fn allow_unreadable(parser: &mut Parser<'_>, line: Line<'_, '_>) {
    set_unreadable(parser, line, Decision::Allow, false);
}

fn set_unreadable(parser: &mut Parser<'_>, line: Line<'_, '_>, wants: Decision, except_consoles: bool) {
    match &parser.draft.unreadable {
        None => {
            let Line { span, mode, .. } = line;
            parser.draft.unreadable = Some(UnreadableLine { wants, except_consoles, span, mode });
        }
        Some(first) => {
            let label = format!("first said in line {}", parser.source.place(first.span).line);
            let message = "this file says twice what happens to unreadable scripts";
            parser.mistake("second-unreadable", line.span, message, label, "keep one of the two lines");
        }
    }
}
