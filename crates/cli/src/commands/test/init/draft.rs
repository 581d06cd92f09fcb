//! The draft of a test file with one case: inputs, stubs and answers that its run needs, and what came of it.

use engine::expectations::CaseFacts;
use recipe::{
    input_type::InputType,
    plan::{Input, JsonMode, Plan, Step, StepKind, Target},
    syntax::Rule,
    value::Value,
};
use serde_json::{Value as Json, json};

use crate::report::hints::plain;

/// A test file with one case.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    is_repository: bool,
    inputs: Vec<(String, Json)>,
    env: Vec<(String, Json)>,
    stubs: Vec<(String, Json)>,
    answers: Vec<(String, Json)>,
    exit: i32,
    steps: Vec<(String, Json)>,
}

impl Draft {
    /// What the recipe demands before its first step.
    pub(super) fn for_recipe(plan: &Plan) -> Draft {
        let root = plan.root();
        let mut draft = Draft::default();
        for input in root.inputs.iter().filter(|input| input.required && input.default.is_none()) {
            draft.inputs.push((input.name.clone(), sample(input)));
        }
        for (name, rule) in &root.rules {
            let given = root.defaults();
            let has_value = given.get(name).is_some_and(|value| value.is_truthy());
            let is_given = draft.inputs.iter().any(|(known, _)| known == name);
            match rule {
                Rule::Optional => {}
                Rule::Nonempty if !has_value && !is_given => {
                    draft.inputs.push((name.clone(), json!("example")))
                }
                Rule::Path if !has_value && !is_given => draft.inputs.push((name.clone(), json!("."))),
                Rule::GitRepo => {
                    draft.is_repository = true;
                    draft.inputs.retain(|(known, _)| known != name);
                    draft.inputs.push((name.clone(), json!(".")));
                }
                Rule::Nonempty | Rule::Path => {}
            }
        }
        let needed = plan.units.iter().flat_map(|unit| &unit.env.required);
        for name in needed {
            if !draft.env.iter().any(|(known, _)| known == name) {
                draft.env.push((name.clone(), json!("example")));
            }
        }
        draft
    }

    /// Adds a stub for a step that needs one.
    pub(super) fn answer_for(&mut self, plan: &Plan, path: &str) -> bool {
        let path = without_numbers(path);
        let reply = match step_at(plan, &path) {
            Some(step) => match &step.kind {
                StepKind::Agent(_) if step.json_schema.is_some() => json!({ "auto": true }),
                StepKind::Agent(_) if step.json != JsonMode::Text => json!({ "json": {} }),
                StepKind::Agent(_) => json!({ "answer": "done" }),
                StepKind::Shell { .. } => command_reply(step),
                StepKind::Nested { .. } => json!({ "answer": "STATUS: COMPLETE" }),
                StepKind::Ask(_) => return false,
            },
            None => json!({ "answer": "done" }),
        };
        let is_recovery =
            matches!(step_at(plan, &path).map(|step| &step.kind), Some(StepKind::Nested { .. }));
        let key = if is_recovery { format!("recovery:{path}") } else { path };
        add(&mut self.stubs, key, reply)
    }

    /// Answers a question with its first choice.
    pub(super) fn decide(&mut self, plan: &Plan, path: &str) -> bool {
        let path = without_numbers(path);
        let Some(ask) = step_at(plan, &path).and_then(|step| step.kind.as_ask()) else { return false };
        let choice = ask.choices.first().cloned().unwrap_or_default();
        let fields: serde_json::Map<String, Json> = ask
            .fields
            .iter()
            .filter(|field| field.required && field.default.is_none())
            .map(|field| (field.name.clone(), sample(field)))
            .collect();
        let answer = match fields.is_empty() {
            true => json!(choice),
            false => json!({ "choice": choice, "fields": fields }),
        };
        add(&mut self.answers, path, answer)
    }

    /// Lets a command that failed in an empty folder succeed.
    pub(super) fn replace_command(&mut self, plan: &Plan, path: &str) -> bool {
        let path = without_numbers(path);
        match step_at(plan, &path) {
            Some(step) if matches!(step.kind, StepKind::Shell { .. }) => {
                add(&mut self.stubs, path, command_reply(step))
            }
            _ => false,
        }
    }

    /// Expects what came of the run.
    pub(super) fn observe(&mut self, facts: Option<&CaseFacts>) {
        let Some(facts) = facts else { return };
        self.exit = facts.exit;
        let own = facts.steps.iter().filter(|step| !step.path.contains(['/', '[']));
        self.steps = own.map(|step| (step.path.clone(), json!(step.status))).collect();
    }

    fn name(&self) -> String {
        match self.exit {
            0 => "runs to its end".to_owned(),
            6 => "waits for a person".to_owned(),
            code => format!("ends with exit code {code}"),
        }
    }

    /// The text of the file.
    pub(super) fn text(&self, recipe: &str, shown: &str) -> String {
        let run = plain(&format!("test {shown}"));
        let mut text = format!(
            "# Cases of {recipe}. Run them:  {run}\n",
            recipe = recipe.replace(char::is_control, "?")
        );
        if self.is_repository {
            text.push_str("fixture: {git: true}\n");
        }
        text.push_str(&format!("cases:\n  - name: {}\n", self.name()));
        for (field, entries) in
            [("inputs", &self.inputs), ("env", &self.env), ("stubs", &self.stubs), ("answers", &self.answers)]
        {
            section(&mut text, "    ", field, entries);
        }
        text.push_str(&format!("    expect:\n      exit: {}\n", self.exit));
        section(&mut text, "      ", "steps", &self.steps);
        text
    }
}

fn section(text: &mut String, margin: &str, field: &str, entries: &[(String, Json)]) {
    if entries.is_empty() {
        return;
    }
    text.push_str(&format!("{margin}{field}:\n"));
    for (key, value) in entries {
        text.push_str(&format!("{margin}  {}: {}\n", word(key), flow(value)));
    }
}

/// A word as YAML: plain if that cannot be misread, otherwise in quotes.
fn word(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
        && !["true", "false", "null"].contains(&text.to_lowercase().as_str());
    if is_plain { text.to_owned() } else { json!(text).to_string() }
}

/// A value as YAML in one line.
fn flow(value: &Json) -> String {
    match value {
        Json::String(text) => word(text),
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", word(key), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn add(entries: &mut Vec<(String, Json)>, key: String, value: Json) -> bool {
    let is_new = !entries.iter().any(|(known, _)| *known == key);
    if is_new {
        entries.push((key, value));
    }
    is_new
}

fn command_reply(step: &Step) -> Json {
    match step.json {
        JsonMode::Text => json!({ "stdout": "" }),
        JsonMode::Wanted | JsonMode::Required => json!({ "stdout": "{}" }),
    }
}

/// A value that an input takes.
fn sample(input: &Input) -> Json {
    match &input.kind {
        Some(InputType::Number | InputType::Integer) => json!(1),
        Some(InputType::Boolean) => json!(true),
        Some(InputType::Choice(choices)) => json!(choices.first()),
        Some(InputType::List) => json!(["example"]),
        Some(InputType::Path) => json!("."),
        Some(InputType::Json) => json!({}),
        Some(kind) => {
            let tries = ["example", "1.2.3", "1", "main", "a/b", "2026-01-01", "user@example.org"];
            let fits = |text: &&&str| kind.fit(&Value::text(**text), &|_| true).is_ok();
            json!(tries.iter().find(fits).unwrap_or(&"example"))
        }
        None => json!("example"),
    }
}

fn without_numbers(path: &str) -> String {
    let plain = |segment: &str| segment.split('[').next().unwrap_or(segment).to_owned();
    path.split('/').map(plain).collect::<Vec<_>>().join("/")
}

/// The step at a path without numbers.
fn step_at<'a>(plan: &'a Plan, path: &str) -> Option<&'a Step> {
    let mut unit = plan.root();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let step = unit.steps.iter().find(|step| step.id == segment)?;
        if segments.peek().is_none() {
            return Some(step);
        }
        unit = match &step.kind {
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => plan.unit(*unit),
            _ => return None,
        };
    }
    None
}
