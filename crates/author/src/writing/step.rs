//! Steps and recipes before they are text: ordered fields, and the facts that the tests of the recipe need.

use super::{gates::Trial, text};

/// A recipe before it is text.
#[derive(Clone, Debug)]
pub(crate) struct RecipeDraft {
    /// Its name, which is also the stem of its file.
    pub name: String,
    /// Comments at the beginning of the file.
    pub head: String,
    /// Everything before `steps:`, as YAML.
    pub settings: String,
    pub steps: Vec<StepDraft>,
    /// Everything after the steps, as YAML.
    pub tail: String,
}

/// A step before it is text.
#[derive(Clone, Debug)]
pub(crate) struct StepDraft {
    pub id: String,
    pub role: Role,
    /// A line above the step.
    pub comment: Option<String>,
    /// What a test lets the step print in its place.
    pub sample: String,
    fields: String,
}

/// What a step is for. The tests of a recipe follow from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    ReadSpec,
    Preflight,
    Baseline,
    /// The read-only plan.
    Plan,
    /// The first edit, or a fix.
    Edit(Edit),
    /// A review; the last edit of these steps is what it looks at.
    Review {
        /// The step that stops for a person if the verdict is `BLOCKED`.
        blocked: String,
        /// It has a condition, so it may be skipped.
        is_conditional: bool,
    },
    /// Stops for a person.
    Blocked,
    Scope,
    /// Prints the whole change.
    Diff,
    /// Compiles before gates that measure time.
    Build,
    /// A gate of a criterion or an item.
    Gate(Trial),
    Pass,
    SignOff,
    Approve,
    /// The first effect, or a later one.
    Ship,
    /// What is left to do after a failure.
    Unfinished,
    /// A track: a sub-recipe.
    Track(String),
}

/// A step that edits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edit {
    /// The review that asks for it; none for the first edit.
    pub after: Option<String>,
    /// Files that a test writes in its place, one that counts as a change for each instance.
    pub writes: Vec<String>,
    /// Number of items of `for_each`; none without it.
    pub items: Option<usize>,
}

impl StepDraft {
    /// A step without fields but its id and description.
    pub(crate) fn new(id: impl Into<String>, role: Role, description: &str) -> StepDraft {
        let step =
            StepDraft { id: id.into(), role, comment: None, sample: String::new(), fields: String::new() };
        if description.is_empty() { step } else { step.field("description", description) }
    }

    /// A line above the step.
    pub(crate) fn comment(mut self, comment: impl Into<String>) -> StepDraft {
        self.comment = Some(comment.into());
        self
    }

    /// What a test lets the step print in its place.
    pub(crate) fn sample(mut self, sample: impl Into<String>) -> StepDraft {
        self.sample = sample.into();
        self
    }

    /// Whether the step has a field.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.lines().any(|line| line.strip_prefix("    ").is_some_and(|line| line.starts_with(key)))
    }

    /// A text field.
    pub(crate) fn field(mut self, key: &str, value: &str) -> StepDraft {
        self.fields.push_str(&text::entry(4, key, value));
        self
    }

    /// A field whose value is YAML already, on one line.
    pub(crate) fn yaml(mut self, key: &str, yaml: &str) -> StepDraft {
        self.fields.push_str(&format!("    {key}: {yaml}\n"));
        self
    }

    /// A field whose value is YAML already, on lines of its own; the key may have an anchor.
    pub(crate) fn lines(mut self, key: &str, lines: &str) -> StepDraft {
        self.fields.push_str(&format!("    {key}\n"));
        for line in lines.lines() {
            let pad = if line.is_empty() { "" } else { "      " };
            self.fields.push_str(&format!("{pad}{line}\n"));
        }
        self
    }

    /// A command or a prompt.
    pub(crate) fn body(mut self, key: &str, body: &str) -> StepDraft {
        self.fields.push_str(&text::body(4, key, body));
        self
    }

    /// The same field for several steps, if there is a value.
    pub(crate) fn optional(self, key: &str, value: Option<&str>) -> StepDraft {
        match value {
            Some(value) => self.yaml(key, &text::scalar(value)),
            None => self,
        }
    }

    /// More steps that must have completed.
    pub(crate) fn also_needs(mut self, ids: &[String]) -> StepDraft {
        let known = self.fields.lines().find_map(|line| line.strip_prefix("    depends_on: "));
        let Some(known) = known.map(str::to_owned) else {
            return self.yaml("depends_on", &text::flow(ids));
        };
        let listed = known.trim_matches(['[', ']']).split(", ").map(str::to_owned);
        let mut all: Vec<String> = listed.collect();
        all.extend(ids.iter().filter(|id| !known.contains(id.as_str())).cloned());
        self.fields = self.fields.replace(
            &format!("    depends_on: {known}\n"),
            &format!("    depends_on: {}\n", text::flow(&all)),
        );
        self
    }

    /// The lines of a field: from its key to the last line that is indented more.
    fn lines_of(&self, key: &str) -> Option<std::ops::Range<usize>> {
        let start = format!("    {key}:");
        let lines: Vec<&str> = self.fields.split_inclusive('\n').collect();
        let first = lines.iter().position(|line| line.starts_with(&start))?;
        let inside = |line: &&&str| line.starts_with("     ") || line.trim().is_empty();
        let last = first + 1 + lines[first + 1..].iter().take_while(inside).count();
        let begin: usize = lines[..first].iter().map(|line| line.len()).sum();
        let length: usize = lines[first..last].iter().map(|line| line.len()).sum();
        Some(begin..begin + length)
    }

    /// The value of a field as it is written, without its indentation.
    pub(crate) fn value(&self, key: &str) -> Option<String> {
        let text = &self.fields[self.lines_of(key)?];
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        let head = head.trim_start().strip_prefix(key)?.strip_prefix(':')?.trim();
        let lines: Vec<&str> = body.lines().map(|line| line.strip_prefix("      ").unwrap_or(line)).collect();
        match lines.is_empty() {
            true => Some(head.to_owned()),
            false => Some(format!("{}\n", lines.join("\n"))),
        }
    }

    /// Replaces a prompt or a description.
    pub(crate) fn replace(&mut self, key: &str, value: &str) {
        if let Some(range) = self.lines_of(key) {
            let text = match key {
                "prompt" => text::body(4, key, value),
                _ => text::entry(4, key, value),
            };
            self.fields.replace_range(range, &text);
        }
    }

    /// Adds rules to `ensure`.
    pub(crate) fn add_rules(&mut self, rules: &[String]) {
        let lines: String = rules.iter().map(|rule| format!("      - {rule}\n")).collect();
        match self.lines_of("ensure") {
            Some(range) => self.fields.insert_str(range.end, &lines),
            None => self.fields.push_str(&format!("    ensure:\n{lines}")),
        }
    }

    /// The step as YAML.
    pub(crate) fn text(&self) -> String {
        let comment = self.comment.as_deref().map(|comment| text::comment(2, comment)).unwrap_or_default();
        format!("{comment}  - id: {}\n{}", text::scalar(&self.id), self.fields)
    }
}

impl RecipeDraft {
    /// The recipe as YAML.
    pub(crate) fn text(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(StepDraft::text).collect();
        format!("{}{}\nsteps:\n{}{}", self.head, self.settings, steps.join("\n"), self.tail)
    }
}
