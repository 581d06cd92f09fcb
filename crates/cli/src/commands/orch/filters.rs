//! The filters of `orch`: text on stdin in, one JSON object out. Any text is a valid input.

use std::io::Read as _;

use engine::orchestration::{
    SeenWork, SplitLimits, TaskType, WholeTask, Workflows, failure_fingerprint, fallback_task_type,
    judge_hollow, promote, read_goal_status, read_intent, read_task_type, read_verdict, said_workstreams,
    split_task,
};
use recipe::value::Value;
use serde_json::json;

use crate::{
    args::orch::{FieldArgs, FilterFormat, HollowArgs, OrchFilter, TaskTypeArgs, WorkstreamsArgs, YesNo},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// The most input that is read, in bytes.
const MOST_INPUT: u64 = 64 << 20;

/// What a filter found: the object, and the bare word.
struct Found {
    object: serde_json::Value,
    word: String,
}

/// Reads stdin and prints what the filter finds.
pub(crate) fn filter(filter: &OrchFilter, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let text = input(environment)?;
    let (found, format) = match filter {
        OrchFilter::GoalStatus(format) => (goal_status(&text), format),
        OrchFilter::Hollow(args) => (hollow(args, &text), &args.format),
        OrchFilter::TaskType(args) => (task_type(args, &text), &args.format),
        OrchFilter::Intent(format) => (intent(&text), format),
        OrchFilter::Workstreams(args) => (workstreams(args, &text), &args.format),
        OrchFilter::Verdict(format) => (word("verdict", read_verdict(&text).to_owned()), format),
        OrchFilter::Json(format) => (object(&text), format),
        OrchFilter::Field(args) => (field(args, &text), &args.format),
        OrchFilter::Fingerprint(args) => {
            let name = failure_fingerprint(&args.mode, &args.recipe, &args.step, &text);
            (word("fingerprint", name), &args.format)
        }
    };
    print(&found, *format, out);
    Ok(Exit::Success)
}

fn print(found: &Found, format: FilterFormat, out: &mut Out) {
    let line = if format.text { found.word.clone() } else { found.object.to_string() };
    out.raw(format!("{line}\n").as_bytes());
}

fn input(environment: &Environment) -> Result<String, Failure> {
    if environment.stdin_is_terminal {
        return Err(Failure::new(Exit::Invalid, "no input: the text is read from stdin").hint("pipe it in"));
    }
    let mut bytes = Vec::new();
    match std::io::stdin().take(MOST_INPUT).read_to_end(&mut bytes) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(Failure::new(Exit::Broken, format!("stdin cannot be read: {error}"))),
    }
}

/// A filter with one word as its result.
fn word(name: &str, word: String) -> Found {
    Found { object: json!({ name: word }), word }
}

fn goal_status(text: &str) -> Found {
    let read = read_goal_status(text);
    Found {
        object: json!({ "status": read.status, "detail": read.detail }),
        word: read.status.as_str().to_owned(),
    }
}

fn hollow(args: &HollowArgs, text: &str) -> Found {
    let work = if args.work == YesNo::Yes { SeenWork::Seen } else { SeenWork::None };
    let judged = judge_hollow(args.task_type, work, text);
    let word = judged.verdict.as_str().to_owned();
    let object = json!({ "hollow": judged.hollow, "verdict": judged.verdict, "reasons": judged.reasons });
    Found { object, word }
}

fn task_type(args: &TaskTypeArgs, text: &str) -> Found {
    let said = read_task_type(&args.said).unwrap_or_else(|| fallback_task_type(text));
    let promoted = promote(said, text);
    Found {
        object: json!({ "task_type": promoted.task_type, "promoted_by": promoted.promoted_by }),
        word: promoted.task_type.as_str().to_owned(),
    }
}

fn intent(text: &str) -> Found {
    let read = read_intent(text);
    let object =
        json!({ "publish": read.publish, "no_merge": read.no_merge, "allow_no_op": read.allow_no_op });
    Found { object, word: read.publish.as_str().to_owned() }
}

fn workstreams(args: &WorkstreamsArgs, text: &str) -> Found {
    let list = || recipe::json::extract(text).filter(|value| matches!(value, Value::List(_)));
    let object = recipe::json::last_object(text);
    let has_list = object.as_ref().is_some_and(|object| object.has_member("workstreams"));
    let answer = if has_list { object } else { list().or(object) }.unwrap_or(Value::Null);
    let said = said_workstreams(&answer);
    let member = |name: &str| match &answer {
        Value::Map(members) => members.get(name).map(|value| value.render().trim().to_owned()),
        _ => None,
    };
    let task_type =
        member("task_type").and_then(|said| read_task_type(&said)).unwrap_or(TaskType::Development);
    let told = |name: &str| member(name).filter(|text| !text.is_empty());
    let parts = || said.iter().map(|stream| stream.description.as_str()).collect::<Vec<_>>().join("; ");
    let description = told("goal").unwrap_or_else(parts);
    let limits = SplitLimits { force_single: args.is_single(), most: args.max.max(1), has_git: !args.no_git };
    let whole = WholeTask { task_type, description: &description };
    let split = split_task(whole, &said, limits, &Workflows::default());
    Found {
        object: json!({ "workstreams": split.workstreams, "notes": split.notes }),
        word: split.workstreams.len().to_string(),
    }
}

fn object(text: &str) -> Found {
    let word = recipe::json::last_object(text).map_or("{}".to_owned(), |object| object.to_json());
    let object = serde_json::from_str(&word).unwrap_or_else(|_| json!({}));
    Found { object, word }
}

fn field(args: &FieldArgs, text: &str) -> Found {
    let member = match recipe::json::last_object(text) {
        Some(Value::Map(members)) => members.get(args.name.as_str()).cloned(),
        _ => None,
    };
    let value = match member {
        None => Value::text(args.default.as_str()),
        Some(Value::Null) => Value::text(""),
        Some(value) => value,
    };
    let word = match &value {
        Value::Text(text) => text.to_string(),
        other => other.to_json(),
    };
    Found { object: json!({ "value": value }), word }
}
