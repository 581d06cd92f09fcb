//! The title and the goal of a spec.

use crate::{
    intake::{
        Answered,
        question::{Cause, Question},
    },
    reading::delivery::work_of_block,
    spec::{BlockKind, Section, SectionKind, Spec},
};

/// The text of a section without requests for effects.
fn text_of(section: &Section) -> String {
    let mut lines = Vec::new();
    for block in &section.blocks {
        let text = work_of_block(block);
        match block.kind {
            _ if text.is_empty() => {}
            BlockKind::Item { depth, .. } => lines.push(format!("{}- {text}", "  ".repeat(depth))),
            _ => lines.push(text),
        }
    }
    lines.join("\n")
}

/// The goal: its sections, else the prose before them, else the title.
pub(super) fn goal(spec: &Spec, answered: &[Answered], questions: &mut Vec<Question>) -> String {
    let of = |kind| {
        let texts: Vec<String> = spec
            .of(kind)
            .filter(|section| section.track.is_none())
            .map(text_of)
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n\n")
    };
    let found = [of(SectionKind::Goal), of(SectionKind::Prose)].into_iter().find(|text| !text.is_empty());
    let title = || spec.title.as_ref().map(|title| title.text.clone());
    if let Some(goal) = found.or_else(title) {
        return goal;
    }
    let question = Question {
        number: 0,
        text: "What is the goal? The spec has neither a title nor a goal.".to_owned(),
        line: None,
        cause: Cause::NoGoal,
        judgement: "Meet the acceptance criteria.".to_owned(),
        subject: "goal".to_owned(),
        listed: None,
    };
    let answer =
        answered.iter().find(|one| one.question.key() == question.key()).map(|one| one.answer.clone());
    questions.push(question);
    answer.unwrap_or_default()
}

/// Longest title that is taken from a sentence.
const LONGEST_TITLE: usize = 100;

/// The title: the first heading, else the first sentence.
pub(super) fn title(spec: &Spec, goal: &str) -> String {
    if let Some(title) = &spec.title {
        return title.text.replace('`', "");
    }
    let first =
        spec.sentences().find(|(section, _)| matches!(section.kind, SectionKind::Goal | SectionKind::Prose));
    let text = first.map_or_else(
        || goal.lines().next().unwrap_or_default().to_owned(),
        |(_, sentence)| sentence.text.clone(),
    );
    let text = text.replace('`', "");
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() && title.chars().count() + word.chars().count() >= LONGEST_TITLE {
            break;
        }
        title.push_str(if title.is_empty() { "" } else { " " });
        title.push_str(word);
    }
    title.trim_end_matches([',', ':', ';']).to_owned()
}
