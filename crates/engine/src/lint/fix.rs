//! Repairs as changes of the text: a field is added to a step, and every other byte stays.

use recipe::{
    field_places::FieldPlaces,
    plan::Step,
    source::{Place, Sources},
    value::{Map, Value},
    yaml::{self, Node, NodeKind},
};

/// A field to add to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The place of the step's id.
    pub step: Place,
    /// The name of the field.
    pub field: &'static str,
    /// Its value in YAML.
    pub value: String,
}

/// Why a file is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixRefusal {
    /// The step is not written in a way that a line can be added to.
    #[error("the step is not written in a way that a field can be added to")]
    Unsuitable,
    /// The recipe would mean something else.
    #[error("more than the added field would change")]
    OtherMeaning,
}

impl Fix {
    pub(super) fn new(step: &Step, field: &'static str, value: String) -> Fix {
        Fix { step: step.place, field, value }
    }
}

/// The text of a recipe with these repairs. The fixes must be about this text.
pub fn apply(text: &str, fixes: &[&Fix]) -> Result<String, FixRefusal> {
    let places = read(text).ok_or(FixRefusal::Unsuitable)?;
    let mut edits: Vec<(usize, String)> = Vec::new();
    for fix in fixes {
        let edit = edit(text, &places.1, fix).ok_or(FixRefusal::Unsuitable)?;
        edits.push(edit);
    }
    // from the end, so that the offsets before it stay; of two at one place the first stays first
    edits.sort_by_key(|(at, _)| *at);
    let mut fixed = text.to_owned();
    for (at, inserted) in edits.iter().rev() {
        fixed.insert_str(*at, inserted);
    }
    let expected = with_fields(&places.0, fixes).ok_or(FixRefusal::Unsuitable)?;
    let is_same = read(&fixed).is_some_and(|(root, _)| root.to_value() == expected);
    is_same.then_some(fixed).ok_or(FixRefusal::OtherMeaning)
}

/// The tree of a text, and the places in it.
fn read(text: &str) -> Option<(Node, FieldPlaces)> {
    let mut sources = Sources::default();
    let file = sources.add("recipe", text);
    let mut problems = Vec::new();
    let root = yaml::parse(&sources, file, &mut problems).filter(|_| problems.is_empty())?;
    Some((root, FieldPlaces::in_sources(&sources)))
}

/// The steps of a tree.
fn steps(root: &Node) -> &[Node] {
    match root.get("steps").map(|steps| &steps.value.kind) {
        Some(NodeKind::List(steps)) => steps,
        _ => &[],
    }
}

/// The step of a fix, by the place of its id.
fn step_of<'a>(root: &'a Node, fix: &Fix) -> Option<(usize, &'a Node)> {
    let has_id = |step: &&Node| step.get("id").is_some_and(|id| id.value.place.span == fix.step.span);
    let mut found = steps(root).iter().enumerate().filter(|(_, step)| has_id(step));
    // an alias makes several steps of one text
    found.next().filter(|_| found.next().is_none())
}

/// Where a text is inserted, and which.
fn edit(text: &str, places: &FieldPlaces, fix: &Fix) -> Option<(usize, String)> {
    let root = places.file(recipe::source::FileId(0))?;
    let (_, step) = step_of(root, fix)?;
    let id = step.get("id")?;
    let added = format!("{}: {}", fix.field, fix.value);
    let end = id.value.place.span.end as usize;
    if text[step.place.span.start as usize..].starts_with('{') {
        return Some((end, format!(", {added}")));
    }
    let key = id.key.place.span.start as usize;
    let line = text[..key].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..key].chars().map(|_| ' ').collect();
    let rest = &text[end..];
    let line_end = rest.find('\n').unwrap_or(rest.len());
    let after = rest[..line_end].trim_end_matches('\r');
    let is_free = after.trim().is_empty() || after.trim_start().starts_with('#');
    let newline = if rest[..line_end].ends_with('\r') { "\r\n" } else { "\n" };
    is_free.then(|| (end + after.len(), format!("{newline}{indent}{added}")))
}

/// The value of a tree with the added fields.
fn with_fields(root: &Node, fixes: &[&Fix]) -> Option<Value> {
    let Value::Map(recipe) = root.to_value() else { return None };
    let Some(Value::List(written)) = recipe.get("steps") else { return None };
    let mut steps: Vec<Value> = written.to_vec();
    for fix in fixes {
        let (at, _) = step_of(root, fix)?;
        let value = read(&format!("value: {}", fix.value))?.0.get("value")?.value.to_value();
        let Value::Map(fields) = &steps[at] else { return None };
        let added = [(fix.field.to_owned(), value)];
        steps[at] = Value::map(members(fields).chain(added).collect());
    }
    let steps = [("steps".to_owned(), Value::list(steps))];
    Some(Value::map(members(&recipe).chain(steps).collect()))
}

fn members(map: &Map) -> impl Iterator<Item = (String, Value)> {
    map.iter().map(|(name, value)| (name.clone(), value.clone()))
}
