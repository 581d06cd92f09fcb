//! The files that a command reads and writes through redirections.
//!
//! Never looks at the files themselves.

use super::{known::is_constant, script::Command};

/// The text of a heredoc that a command reads.
pub(super) fn program_text(command: &Command) -> Option<&str> {
    let text = command.redirects.iter().rev().find(|(operator, _)| operator.starts_with("<<"));
    text.map(|(_, text)| text.text.as_str())
}

/// Whether a command reads a text of the script.
pub(super) fn has_text(command: &Command) -> bool {
    let mut texts = command.redirects.iter().filter(|(operator, _)| operator.starts_with("<<"));
    texts.any(|(_, text)| is_constant(text))
}

/// The files that redirections write.
pub(super) fn written(command: &Command) -> impl Iterator<Item = String> + '_ {
    let is_written = |operator: &str| operator.contains('>') && !operator.ends_with('&');
    let targets = command.redirects.iter().filter(move |(operator, _)| is_written(operator));
    targets.map(|(_, target)| target.text.clone())
}

/// The sources that redirections read.
pub(super) fn read(command: &Command) -> impl Iterator<Item = String> + '_ {
    command.redirects.iter().filter_map(|(operator, target)| match operator.as_str() {
        "<" | "0<" | "<>" => Some(target.text.clone()),
        text if text.starts_with("<<") => Some(format!("<<{}", target.text)),
        _ => None,
    })
}
