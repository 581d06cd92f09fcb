//! The rules about tasks and answers, row by row. Rows with an id of a letter and a number (`C1`) are those of the rules;
//! the others (`C+…`) are variations.

mod decisions;

use engine::orchestration::{
    SeenWork, TaskType, judge_hollow, promote, read_goal_status, read_intent, read_task_type,
};
use serde::{Deserialize, de::DeserializeOwned};

fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let read: Result<Vec<T>, _> = text.lines().map(serde_json::from_str).collect();
    // every test counts its rows
    read.unwrap_or_default()
}

/// Shows every row that is not as expected, not only the first.
fn assert_rows(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[derive(Deserialize)]
struct TypeRow {
    id: String,
    said: String,
    text: String,
    becomes: TaskType,
    by: Option<String>,
}

#[test]
fn tasks_that_ask_for_changes_are_development() {
    let rows: Vec<TypeRow> = rows(include_str!("rows/task_types.jsonl"));
    assert!(rows.len() >= 45);
    let wrong = rows.iter().filter_map(|row| {
        let found = promote(read_task_type(&row.said).unwrap(), &row.text);
        let is_by = row.by.is_none() || found.promoted_by.map(str::to_owned) == row.by;
        let is_right = found.task_type == row.becomes && is_by;
        (!is_right).then(|| format!("{} {:?}: {found:?}", row.id, row.text))
    });
    assert_rows(wrong.collect());
}

#[derive(Deserialize)]
struct HollowRow {
    id: String,
    #[serde(rename = "type")]
    task_type: TaskType,
    work: String,
    text: String,
    hollow: bool,
    verdict: Option<String>,
}

#[test]
fn answers_without_work_are_hollow() {
    let rows: Vec<HollowRow> = rows(include_str!("rows/hollow.jsonl"));
    assert!(rows.len() >= 32);
    let wrong = rows.iter().filter_map(|row| {
        let work = if row.work == "yes" { SeenWork::Seen } else { SeenWork::None };
        let found = judge_hollow(row.task_type, work, &row.text);
        let is_verdict = row.verdict.as_deref().unwrap_or("UNKNOWN") == found.verdict.as_str();
        let is_right = found.hollow == row.hollow && is_verdict && !found.reasons.is_empty();
        (!is_right).then(|| format!("{} {:?}: {found:?}", row.id, row.text))
    });
    assert_rows(wrong.collect());
}

#[derive(Deserialize)]
struct StatusRow {
    id: String,
    text: String,
    status: String,
    detail: Option<String>,
}

#[test]
fn a_goal_status_is_read_from_json_and_lines() {
    let rows: Vec<StatusRow> = rows(include_str!("rows/goal_status.jsonl"));
    assert!(rows.len() >= 39);
    let wrong = rows.iter().filter_map(|row| {
        let found = read_goal_status(&row.text);
        let is_detail = row.detail.as_ref().is_none_or(|detail| *detail == found.detail);
        let is_right = found.status.as_str() == row.status && is_detail;
        (!is_right).then(|| format!("{} {:?}: {found:?}", row.id, row.text))
    });
    assert_rows(wrong.collect());
}

#[derive(Deserialize)]
struct IntentRow {
    id: String,
    text: String,
    publish: String,
    no_merge: bool,
    allow_no_op: bool,
}

#[test]
fn a_task_says_what_is_published_and_merged() {
    let rows: Vec<IntentRow> = rows(include_str!("rows/intent.jsonl"));
    assert!(rows.len() >= 25);
    let wrong = rows.iter().filter_map(|row| {
        let found = read_intent(&row.text);
        let is_right = found.publish.as_str() == row.publish
            && found.no_merge == row.no_merge
            && found.allow_no_op == row.allow_no_op;
        (!is_right).then(|| format!("{} {:?}: {found:?}", row.id, row.text))
    });
    assert_rows(wrong.collect());
}

#[test]
fn types_are_whole_words() {
    for (said, expected) in [
        ("Q&A", "Q&A"),
        ("qa", "Q&A"),
        ("QnA", "Q&A"),
        ("a question", "Q&A"),
        ("Questions", "Q&A"),
        ("answer", "Q&A"),
        ("OPS", "Operations"),
        ("dev_ops devops", "Development"),
        ("system-administration", "Operations"),
        ("admin_command", "Operations"),
        ("operation", "Operations"),
        ("code understanding", "Investigation"),
        ("root-cause_analysis", "Investigation"),
        ("Investigation or Operations", "Investigation"),
        ("bug fix", "Development"),
        ("feature-request", "Development"),
        ("Q&A, then Development", "Development"),
        ("**Development**", "Development"),
    ] {
        assert_eq!(read_task_type(said).map(TaskType::as_str), Some(expected), "{said}");
    }
    for said in
        ["props", "crops", "commandeer", "", " ", "prefix", "fixture", "devel", "q & a", "answers", "unknown"]
    {
        assert_eq!(read_task_type(said), None, "{said}");
    }
}
