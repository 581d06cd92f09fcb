//! Prompts: the task, the targets, the rules of the project, and what is forbidden.

use super::loops::Part;
use crate::brief::{AnsweredBy, Brief, Check, Constraints, TargetSource};

/// A text of the spec in a field with templates: double braces come from a variable.
pub(crate) fn literal(text: &str) -> String {
    text.replace("{{", "{{braces}}")
}

/// The prompt of the first edit.
pub(super) fn implement(part: &Part<'_>) -> String {
    let brief = part.brief;
    let mut prompt = String::new();
    match (part.track, &brief.items) {
        (Some(track), _) => {
            prompt.push_str(&format!(
                "Implement one part of the spec below, in the current directory: {}\n",
                literal(&track.title)
            ));
            prompt.push_str(&format!("\n{}\n", literal(&track.goal)));
            if part.is_parallel {
                prompt.push_str(
                    "\nOther agents work on the other parts at the same time. Leave their files alone.\n",
                );
            }
        }
        (None, Some(items)) => {
            prompt.push_str("Do this part of the spec below for one item, in the current directory.\n");
            prompt.push_str(&format!("\nThe task: {}\n\nThe item: {{{{item}}}}\n", literal(&items.task)));
        }
        (None, None) => prompt.push_str("Implement the spec below in the current directory.\n"),
    }
    prompt.push_str(&rules(part));
    if part.has_plan() {
        prompt.push_str("\nThe plan:\n{{plan}}\n");
    }
    if part.has_tests() {
        prompt.push_str("\nThe tests before the change: {{tests_before}}\n");
    }
    prompt.push_str(&named_tests(part));
    prompt.push_str(NO_EFFECTS);
    prompt.push_str(SPEC);
    prompt
}

/// The prompt of a fix.
pub(super) fn fix(part: &Part<'_>, review: &str) -> String {
    let mut prompt = format!(
        "A reviewer has looked at the work on the spec below, in the current directory. Fix every finding, and write a test\n\
         for each finding that a test can show. Do not weaken a test or a check.\n\nThe findings:\n{{{{{review}.findings}}}}\n"
    );
    prompt.push_str(&rules(part));
    prompt.push_str(&named_tests(part));
    prompt.push_str(NO_EFFECTS);
    prompt.push_str(SPEC);
    prompt
}

/// The prompt of a review.
pub(super) fn review(part: &Part<'_>, look: &str) -> String {
    let see = match part.brief.project.git {
        true => "See the change with `git diff {{base_commit}}` and `git status`. ",
        false => "",
    };
    let mut prompt = format!("{look} {see}Read what you need, and change no file.\n");
    prompt.push_str(&rules(part));
    prompt.push_str(
        "\nLook for mistakes, for criteria of the spec that are not met, for missing tests and for changes that the spec does\n\
         not ask for.\n\n\
         Answer with JSON alone: {\"verdict\": …, \"findings\": [{\"file\": …, \"problem\": …}]}\n\
         - FINDINGS: something has to be fixed; each finding says what is wrong and where\n\
         - NO_ISSUES_FOUND: nothing has to be fixed; the list is empty\n\
         - BLOCKED: you cannot judge the work; the findings say why\n",
    );
    prompt.push_str(SPEC);
    prompt
}

/// The prompt of the plan.
pub(super) fn plan(part: &Part<'_>) -> String {
    let mut prompt = String::from(
        "Plan how to implement the spec below in the current directory. Read what you need, and change no file.\n",
    );
    prompt.push_str(&rules(part));
    prompt.push_str(
        "\nName the steps in order, the tests that prove each of them, and what can go wrong.\n\
         Answer with JSON alone: {\"steps\": [text, …], \"risks\": [text, …]}\n",
    );
    prompt.push_str(SPEC);
    prompt
}

const NO_EFFECTS: &str = "\nDo not commit, push, switch branches or open pull requests.\n";

const SPEC: &str = "\nThe spec:\n{{spec_text}}\n";

/// Targets, constraints, rule files, skills and answers.
fn rules(part: &Part<'_>) -> String {
    let brief = part.brief;
    let mut text = targets(part);
    text.push_str(&constraints(&brief.constraints));
    if !brief.project.rules.is_empty() {
        let names: Vec<&str> = brief.project.rules.iter().map(|file| file.path.as_str()).collect();
        text.push_str(&format!("\nFollow the rules of this project in {}.\n", names.join(", ")));
    }
    if !brief.skills.is_empty() {
        let names: Vec<String> = brief.skills.iter().map(|skill| literal(&skill.path)).collect();
        text.push_str(&format!(
            "\nThese files may help; they were selected for this spec: {}\n",
            names.join(", ")
        ));
    }
    text.push_str(&answers(brief));
    text
}

fn targets(part: &Part<'_>) -> String {
    if part.targets.is_empty() || part.brief.targets.source == TargetSource::Unstated {
        return "\nThe spec names no files. Change as few as the task needs.\n".to_owned();
    }
    let list: String = part.targets.iter().map(|target| format!("- {}\n", literal(&target.path))).collect();
    format!("\nThe only files that may change:\n{list}")
}

fn constraints(constraints: &Constraints) -> String {
    let lines: Vec<String> =
        constraints.texts.iter().map(|text| format!("- {}\n", literal(text.trim()))).collect();
    if lines.is_empty() { String::new() } else { format!("\nConstraints:\n{}", lines.concat()) }
}

fn answers(brief: &Brief) -> String {
    let given = brief.clarifications.iter().filter(|one| one.answered_by != AnsweredBy::Spec);
    let lines: Vec<String> = given
        .map(|one| format!("- {} {}\n", literal(one.question.trim()), literal(one.answer.trim())))
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\nAnswers to open questions of the spec:\n{}", lines.concat())
    }
}

/// The names of tests that a criterion asks for.
fn named_tests(part: &Part<'_>) -> String {
    let wanted = part.criteria().filter(|criterion| criterion.check == Check::CoveredByTests);
    let lines: Vec<String> = wanted
        .map(|criterion| {
            let text = literal(&super::gates::title(criterion));
            format!("- {text}: tests whose names contain `ac_{}`\n", criterion.number)
        })
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\nWrite tests for these criteria:\n{}", lines.concat())
    }
}
