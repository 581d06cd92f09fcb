//! How a task is split: the workstreams that an agent names, or one if it cannot be split.

use recipe::value::Value;

use super::{kinds::TaskType, result::RoutedWorkstream, task_type::read_task_type};

/// A workstream as the classifying agent names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidWorkstream {
    /// Its name; may be empty.
    pub name: String,
    /// What is to be done; may be empty.
    pub description: String,
    /// Its type in the agent's words.
    pub classification: String,
    /// Whether it depends on another one.
    pub depends: bool,
}

/// How far a task may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitLimits {
    /// Whether the user wants one workstream.
    pub force_single: bool,
    /// The most workstreams.
    pub most: usize,
    /// Whether there is git with a commit.
    pub has_git: bool,
}

/// The workflows that carry workstreams out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflows {
    /// For Development.
    pub development: String,
    /// For Investigation.
    pub investigation: String,
}

impl Default for Workflows {
    fn default() -> Workflows {
        Workflows {
            development: "default-workflow".to_owned(),
            investigation: "investigation-workflow".to_owned(),
        }
    }
}

impl Workflows {
    /// The workflow of a type. Q&A and Operations have none.
    pub fn of(&self, task_type: TaskType) -> Option<&str> {
        match task_type {
            TaskType::Development => Some(&self.development),
            TaskType::Investigation => Some(&self.investigation),
            TaskType::Question | TaskType::Operations => None,
        }
    }
}

/// A task as a whole, which one workstream does if the task is not split.
#[derive(Clone, Copy, Debug)]
pub struct WholeTask<'a> {
    /// Its type.
    pub task_type: TaskType,
    /// Its text.
    pub description: &'a str,
}

/// The workstreams of a task, and why they are not as named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitTask {
    /// The workstreams; at least one.
    pub workstreams: Vec<RoutedWorkstream>,
    /// Why they are not as named.
    pub notes: Vec<String>,
}

/// The workstreams in the answer of a classifying agent: a list, or an object that has one.
pub fn said_workstreams(answer: &Value) -> Vec<SaidWorkstream> {
    let items = match answer {
        Value::Map(members) => match members.get("workstreams") {
            Some(Value::List(items)) => items,
            _ => return Vec::new(),
        },
        Value::List(items) => items,
        _ => return Vec::new(),
    };
    items.iter().map(said_workstream).collect()
}

fn said_workstream(item: &Value) -> SaidWorkstream {
    let Value::Map(members) = item else {
        let text = if let Value::Text(text) = item { text.trim() } else { "" };
        return SaidWorkstream { name: text.to_owned(), ..SaidWorkstream::default() };
    };
    let text = |key: &str| match members.get(key) {
        Some(value @ (Value::Text(_) | Value::Number(_))) => value.render().trim().to_owned(),
        _ => String::new(),
    };
    let name = text("name");
    let depends = match members.get("depends_on") {
        Some(Value::List(items)) => items.iter().any(|item| {
            let other = item.render();
            !other.trim().is_empty() && other.trim() != name
        }),
        Some(Value::Text(other)) => !other.trim().is_empty() && other.trim() != name,
        _ => false,
    };
    SaidWorkstream { name, description: text("description"), classification: text("classification"), depends }
}

/// Splits a task.
pub fn split_task(
    whole: WholeTask<'_>,
    said: &[SaidWorkstream],
    limits: SplitLimits,
    workflows: &Workflows,
) -> SplitTask {
    let mut notes = Vec::new();
    let named = named_workstreams(said);
    if named.len() < said.len() {
        notes.push(format!(
            "workstreams without a name and a description are left out: {}",
            said.len() - named.len()
        ));
    }
    let reason = match named.len() {
        0 => Some("no workstream is named".to_owned()),
        1 => None,
        count => reason_for_one(whole.task_type, &named, limits, count),
    };
    let can_split = matches!(whole.task_type, TaskType::Development | TaskType::Investigation);
    if let Some(reason) = reason {
        notes.push(format!("{reason}: one workstream does the task"));
    } else if can_split {
        let routed = |stream: SaidWorkstream| route(stream, whole.task_type, workflows);
        return SplitTask { workstreams: named.into_iter().map(routed).collect(), notes };
    }
    let one = RoutedWorkstream {
        name: named.into_iter().next().filter(|_| said.len() == 1).map_or("task".to_owned(), |one| one.name),
        description: whole.description.to_owned(),
        classification: whole.task_type,
        recipe: workflows.of(whole.task_type).map(str::to_owned),
    };
    SplitTask { workstreams: vec![one], notes }
}

/// Why several workstreams become one.
fn reason_for_one(
    task_type: TaskType,
    named: &[SaidWorkstream],
    limits: SplitLimits,
    count: usize,
) -> Option<String> {
    let dependent = named.iter().find(|stream| stream.depends);
    if !matches!(task_type, TaskType::Development | TaskType::Investigation) {
        Some(format!("a task of type {task_type} is not split"))
    } else if limits.force_single {
        Some("a single workstream is requested".to_owned())
    } else if let Some(stream) = dependent {
        Some(format!("`{}` depends on another workstream", stream.name))
    } else if count > limits.most {
        Some(format!("{count} workstreams are more than the limit of {}", limits.most))
    } else if !limits.has_git {
        Some("workstreams need git and a commit".to_owned())
    } else {
        None
    }
}

/// The workstreams with a name each, all different.
fn named_workstreams(said: &[SaidWorkstream]) -> Vec<SaidWorkstream> {
    let mut named: Vec<SaidWorkstream> = Vec::new();
    for stream in said {
        let mut stream = stream.clone();
        match (stream.name.is_empty(), stream.description.is_empty()) {
            (true, true) => continue,
            (true, false) => stream.name.clone_from(&stream.description),
            (false, true) => stream.description.clone_from(&stream.name),
            (false, false) => {}
        }
        let is_taken = |name: &str| named.iter().any(|other| other.name == name);
        let numbered = |number: usize| format!("{}-{number}", stream.name);
        if is_taken(&stream.name) {
            let free = (2..).map(numbered).find(|name| !is_taken(name));
            stream.name = free.unwrap_or_default();
        }
        named.push(stream);
    }
    named
}

fn route(stream: SaidWorkstream, task_type: TaskType, workflows: &Workflows) -> RoutedWorkstream {
    let classification = match read_task_type(&stream.classification).unwrap_or(task_type) {
        TaskType::Question | TaskType::Investigation => TaskType::Investigation,
        TaskType::Operations | TaskType::Development => TaskType::Development,
    };
    RoutedWorkstream {
        name: stream.name,
        description: stream.description,
        classification,
        recipe: workflows.of(classification).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SplitLimits = SplitLimits { force_single: false, most: 5, has_git: true };

    fn split(task_type: TaskType, answer: &str, limits: SplitLimits) -> SplitTask {
        let said = said_workstreams(&Value::from_json(answer).unwrap());
        split_task(WholeTask { task_type, description: "all" }, &said, limits, &Workflows::default())
    }

    fn names(split: &SplitTask) -> String {
        let shown = |stream: &RoutedWorkstream| format!("{}={}", stream.name, stream.description);
        split.workstreams.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn workstreams_get_names_and_recipes() {
        let answer = r#"{"workstreams":[{"name":"a","description":"x","classification":"Q&A","recipe":"evil"},
            {"name":"a"},{"description":"y","classification":"ops"},{"name":"a"},{},{"name":" "},7]}"#;
        let found = split(TaskType::Investigation, answer, LIMITS);
        assert_eq!(names(&found), "a=x a-2=a y=y a-3=a");
        let recipes: Vec<_> =
            found.workstreams.iter().map(|stream| stream.recipe.as_deref().unwrap()).collect();
        let (investigate, develop) = ("investigation-workflow", "default-workflow");
        assert_eq!(recipes, [investigate, investigate, develop, investigate]);
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    }

    #[test]
    fn one_is_left_where_a_task_cannot_be_split() {
        let three = r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#;
        let dependent = r#"[{"name":"a"},{"name":"b","depends_on":["a"]}]"#;
        let (development, question) = (TaskType::Development, TaskType::Question);
        for (task_type, answer, limits, note) in [
            (development, "[]", LIMITS, "no workstream"),
            (development, "{}", LIMITS, "no workstream"),
            (development, three, SplitLimits { force_single: true, ..LIMITS }, "requested"),
            (development, three, SplitLimits { most: 2, ..LIMITS }, "limit of 2"),
            (development, three, SplitLimits { has_git: false, ..LIMITS }, "git"),
            (development, dependent, LIMITS, "`b` depends"),
            (question, three, LIMITS, "Q&A"),
        ] {
            let found = split(task_type, answer, limits);
            assert_eq!(names(&found), "task=all", "{answer}");
            assert!(found.notes.iter().any(|text| text.contains(note)), "{note}: {:?}", found.notes);
        }
        assert_eq!(split(development, three, LIMITS).workstreams.len(), 3);
        assert_eq!(split(development, three, SplitLimits { most: 3, ..LIMITS }).notes.len(), 0);
        let own = r#"[{"name":"a","depends_on":["a",""]},{"name":"b","depends_on":[]}]"#;
        assert_eq!(split(development, own, LIMITS).workstreams.len(), 2);
    }

    #[test]
    fn a_single_workstream_needs_no_note() {
        let found = split(TaskType::Development, r#"[{"name":"a","description":"x"}]"#, LIMITS);
        assert_eq!((names(&found).as_str(), found.notes.len()), ("a=x", 0));
        let found = split(TaskType::Operations, r#"[{"name":"a","description":"x"}]"#, LIMITS);
        assert_eq!((names(&found).as_str(), found.workstreams[0].recipe.as_deref()), ("a=all", None));
    }
}
