//! Commands that people can copy: every one that is printed about a run works as it stands, wherever runs are kept.
//!
//! Never runs them.

/// How every printed command begins.
const PROGRAM: &str = "recipe-runner-rs ";
/// Commands that look for stored runs.
const VERBS: [&str; 7] = ["resume", "show", "logs", "cancel", "runs", "prune", "health"];

/// A text with the flag that leads to the runs in every command about runs; a command that has the flag keeps it.
pub fn with_place(text: &str, place: &str) -> String {
    if place.is_empty() {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, command) = rest.split_at(at);
        let next = command[PROGRAM.len()..].find(PROGRAM).map(|at| at + PROGRAM.len());
        let end = command.find(['`', '\n']).unwrap_or(command.len()).min(next.unwrap_or(command.len()));
        out.push_str(before);
        let is_wanting = !command[..end].contains(place.trim());
        let head = is_wanting.then(|| head_length(&command[..end])).flatten().unwrap_or(0);
        out.push_str(&command[..head]);
        if head > 0 {
            out.push_str(place);
        }
        let taken = head.max(PROGRAM.len());
        out.push_str(&command[head..taken]);
        rest = &command[taken..];
    }
    out + rest
}

/// Length of the program, the verb and the run of a command; nothing if it is not about stored runs.
fn head_length(command: &str) -> Option<usize> {
    let after = command.strip_prefix(PROGRAM)?;
    let verb = VERBS.iter().find(|verb| {
        after.strip_prefix(**verb).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';', ',']))
    })?;
    let head = PROGRAM.len() + verb.len();
    let is_run = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let run = command[head..].strip_prefix(' ').map(|rest| {
        let length = rest.find(|c| !is_run(c)).unwrap_or(rest.len());
        if rest.starts_with('-') { 0 } else { length }
    });
    match run {
        Some(length) if length > 0 && !matches!(*verb, "runs" | "prune" | "health") => {
            Some(head + 1 + length)
        }
        _ => Some(head),
    }
}

/// A directory as the flag that leads to it, as a shell reads it.
pub fn state_dir_flag(dir: &std::path::Path) -> String {
    format!(" --state-dir {}", quote(&dir.to_string_lossy()))
}

/// A word as a shell takes it.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_stands_behind_the_run() {
        for (text, expected) in [
            ("recipe-runner-rs resume r1", "recipe-runner-rs resume r1 --state-dir D"),
            ("recipe-runner-rs resume r1 --plan", "recipe-runner-rs resume r1 --state-dir D --plan"),
            (
                "see `recipe-runner-rs logs r1 a/b`, then",
                "see `recipe-runner-rs logs r1 --state-dir D a/b`, then",
            ),
            ("`recipe-runner-rs runs` shows", "`recipe-runner-rs runs --state-dir D` shows"),
            (
                "recipe-runner-rs show r1; recipe-runner-rs cancel r1",
                "recipe-runner-rs show r1 --state-dir D; recipe-runner-rs cancel r1 --state-dir D",
            ),
            ("recipe-runner-rs resume r1 --state-dir D", "recipe-runner-rs resume r1 --state-dir D"),
            ("recipe-runner-rs validate r.yaml", "recipe-runner-rs validate r.yaml"),
            ("recipe-runner-rs showcase", "recipe-runner-rs showcase"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(with_place(text, " --state-dir D"), expected, "{text}");
            assert_eq!(with_place(text, ""), text);
        }
    }
}
