//! Contradictions in a spec, the questions about them, and what the answers decide.

use crate::{
    brief::{AnsweredBy, Constraints, Depth, DroppedPath, Pattern, TargetKind, TargetSource, Targets},
    intake::{
        Answered, Flags,
        question::{Cause, Question},
    },
    reading::pattern,
    spec::Spec,
    tools::{AgentRole, Contradiction, Hint},
    words,
};

fn question(text: String, line: Option<usize>, subject: String, judgement: String) -> Question {
    Question { number: 0, text, line, cause: Cause::Contradiction, judgement, subject, listed: None }
}

fn answer<'a>(subject: &str, answered: &'a [Answered]) -> Option<&'a Answered> {
    answered.iter().find(|one| one.question.cause == Cause::Contradiction && one.question.subject == subject)
}

fn words_of(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Targets that must not change, and more targets than files that may change.
pub(super) fn files(
    mut targets: Targets,
    mut constraints: Constraints,
    answered: &[Answered],
) -> (Targets, Constraints, Vec<Question>) {
    let mut questions = Vec::new();
    let both: Vec<(String, usize)> = constraints
        .unchanged
        .iter()
        .filter(|(path, _)| targets.paths.iter().any(|target| target.path == *path))
        .cloned()
        .collect();
    for (path, line) in both {
        if targets.source != TargetSource::Block {
            drop_target(&mut targets, &path, line);
            continue;
        }
        let text = format!("`{path}` is a target file and must not change: may it change?");
        let judgement = "No. It stays as it is, and it is not a target.".to_owned();
        let asked = question(text, Some(line), format!("target {path}"), judgement);
        let may_change = answer(&asked.subject, answered)
            .map(|one| words_of(&one.answer).first().is_some_and(|word| word == "yes"));
        match may_change {
            Some(true) => constraints.unchanged.retain(|(known, _)| *known != path),
            Some(false) => drop_target(&mut targets, &path, line),
            None => {}
        }
        questions.push(asked);
    }
    let files = targets
        .paths
        .iter()
        .filter(|target| !matches!(target.kind, TargetKind::Folder | TargetKind::Glob))
        .count() as u32;
    if let Some(most) =
        constraints.max_changed_files.filter(|most| targets.source == TargetSource::Block && files > *most)
    {
        let text = format!(
            "The spec has {files} target files and allows at most {most} changed files: how many may change?"
        );
        let asked =
            question(text, None, "max files".to_owned(), format!("{files}, one for each target file."));
        if let Some(one) = answer(&asked.subject, answered) {
            let number = words_of(&one.answer).iter().find_map(|word| word.parse().ok());
            constraints.max_changed_files = number.or(Some(files));
        }
        questions.push(asked);
    }
    (targets, constraints, questions)
}

fn drop_target(targets: &mut Targets, path: &str, line: usize) {
    targets.paths.retain(|target| target.path != path);
    let reason = "the spec says that it must not change".to_owned();
    targets.dropped.push(DroppedPath { text: path.to_owned(), line, reason });
}

/// The pattern and the depth that the spec names; two different ones are a question unless a flag decides.
pub(super) fn words(
    spec: &Spec,
    flags: &Flags,
    answered: &[Answered],
    questions: &mut Vec<Question>,
) -> (Option<(Pattern, usize)>, Option<Depth>) {
    let patterns = pattern::named(spec);
    let mut chosen = patterns.first().copied();
    if patterns.len() > 1 && flags.pattern.is_none() {
        let names: Vec<&str> = patterns.iter().map(|(one, _)| pattern::word(*one)).collect();
        let text = format!("The spec asks for the patterns {}: which one?", names.join(" and "));
        let asked = question(
            text,
            Some(patterns[1].1),
            "pattern".to_owned(),
            format!("{}, which comes first.", names[0]),
        );
        if let Some(one) = answer("pattern", answered) {
            let said = words_of(&one.answer);
            let first = patterns.iter().filter_map(|named| {
                Some((said.iter().position(|word| word == pattern::word(named.0))?, named))
            });
            chosen = first.min_by_key(|(at, _)| *at).map(|(_, named)| *named).or(chosen);
        }
        questions.push(asked);
    }
    let depths = pattern::named_depths(spec);
    let mut depth = depths.first().map(|(depth, _)| *depth);
    if depths.len() > 1 && flags.depth.is_none() {
        let text = "The spec asks for a light and for a full review: which one?".to_owned();
        let asked = question(text, Some(depths[1].1), "depth".to_owned(), "Full.".to_owned());
        if let Some(one) = answer("depth", answered) {
            let is_light = words_of(&one.answer).first().is_some_and(|word| word == "light");
            depth = Some(if is_light { Depth::Light } else { Depth::Full });
        }
        questions.push(asked);
    }
    (chosen, depth)
}

/// The question about programs that cannot all have a role.
pub(super) fn tool_question(found: &Contradiction) -> Question {
    let texts: Vec<String> = found.texts.iter().map(|text| format!("\"{text}\"")).collect();
    let verb = if found.role == "writer" { "writes the change" } else { "plans" };
    let text = format!("{} contradict each other: which program {verb}?", texts.join(" and "));
    let last = found.programs.last().map_or("", String::as_str);
    let judgement = format!("{last}, which the spec names last.");
    question(text, Some(found.line), format!("tool {}", found.role), judgement)
}

/// The hints, of which an answer leaves one program for a role.
pub(super) fn answered_hints(hints: Vec<Hint>, answered: &[Answered]) -> Vec<Hint> {
    let mut hints = hints;
    for (role, name) in [(AgentRole::Writer, "writer"), (AgentRole::Planner, "planner")] {
        let Some(one) = answer(&format!("tool {name}"), answered) else { continue };
        let Some(program) = program_of(&one.answer) else { continue };
        // a hint for every step yields to the answer
        let line = hints.iter().find(|hint| hint.role == role).map_or(1, |hint| hint.line);
        let by = if one.by == AnsweredBy::Generator { "best judgement" } else { "the answer" };
        for hint in hints.iter_mut().filter(|hint| hint.role == role) {
            hint.program = program.clone();
            hint.text = format!("{by}: {program}");
        }
        for hint in hints.iter_mut().filter(|hint| hint.role == AgentRole::Every && hint.program != program) {
            *hint = Hint { role: AgentRole::Reviewer, line, ..hint.clone() };
        }
    }
    hints
}

/// The program that a text names first.
fn program_of(text: &str) -> Option<String> {
    let said = words_of(text);
    (0..said.len()).find_map(|at| {
        let named = words::tools().programs.iter().find(|(_, names)| names.at(&said[at..]).is_some());
        named.map(|(name, _)| name.clone())
    })
}

/// The subjects of answers about programs that name none.
pub(super) fn unusable(answered: &[Answered]) -> Vec<String> {
    let about_tools = answered.iter().filter(|one| one.question.subject.starts_with("tool "));
    about_tools
        .filter(|one| program_of(&one.answer).is_none())
        .map(|one| one.question.subject.clone())
        .collect()
}
