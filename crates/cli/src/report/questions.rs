//! Questions as text: what they show, and the commands that answer them.

use std::path::Path;

use engine::run::next::Next;
use runtime::report::asks::Ask;

use super::hints::Hints;

/// The commands that answer a question, one for each choice.
pub(crate) fn commands(ask: &Ask, hints: &Hints) -> Vec<String> {
    if ask.choices.is_empty() {
        // a person acts, and then resumes the run
        return vec![hints.next(&Next::resume(&ask.run_id))];
    }
    let next = ask.advice().into_iter().filter_map(|advice| advice.next);
    next.map(|next| hints.next(&next)).collect()
}

/// Where the shown contents of a question are, one line for each.
pub(crate) fn shown(ask: &Ask, run_dir: &Path) -> Vec<String> {
    let line = |part: &runtime::report::asks::ShownContent| {
        let name = part.name.as_deref().unwrap_or("text");
        format!("shown: {name} ({} bytes): {}", part.bytes, run_dir.join(&part.file).display())
    };
    ask.show.iter().map(line).collect()
}

/// A question that waits, with its contents and the commands that answer it.
pub(crate) fn waiting(ask: &Ask, run_dir: Option<&str>, hints: &Hints) -> String {
    let question = ask.question.trim_end().replace('\n', "\n    ");
    let mut text = format!("⏸ {} is waiting for you: {question}\n", ask.step);
    for line in shown(ask, Path::new(run_dir.unwrap_or_default())) {
        text.push_str(&format!("  {line}\n"));
    }
    for (at, command) in commands(ask, hints).iter().enumerate() {
        text.push_str(&format!("  {:<8} {command}\n", if at == 0 { "answer:" } else { "" }));
    }
    text
}
