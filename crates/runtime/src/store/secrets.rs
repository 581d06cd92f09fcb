//! Secrets: their values are masked in everything that leaves the private run folder.
//!
//! A value is secret if its name looks secret, or if the recipe declares it. Values shorter than four characters,
//! booleans and short numbers are masked by name only, otherwise half of all text would be masked. So are values that
//! are words of the run itself, such as the id of a step: the commands in a message must work as shown.

mod fingerprints;
mod members;
mod parts;
mod records;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::HashSet,
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

use aho_corasick::AhoCorasick;
use engine::run::{
    ensure::RuleCheck,
    event::{OutputRef, QuestionField},
    frame::Frame,
};
use recipe::{
    plan::Unit,
    secret_name::looks_secret,
    value::{Map, Value},
};

pub use fingerprints::Fingerprints;
pub use members::without_members;
use parts::without_parts;

use super::folder::FolderError;

/// The text in place of a secret.
pub const MASK: &str = "[REDACTED]";

/// The shortest value that is masked everywhere.
const SHORTEST: usize = 4;
/// The shortest number that is masked everywhere.
const SHORTEST_NUMBER: usize = 8;

/// The program's own words, which must stay readable in messages.
const OWN_WORDS: &[&str] = &[
    "agent",
    "ask",
    "bash",
    "completed",
    "degraded",
    "failed",
    "pending",
    "recipe",
    "running",
    "skipped",
    "step",
    "waiting",
];

/// The secrets of a run.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    names: HashSet<String>,
    /// The inputs among them.
    inputs: HashSet<String>,
    values: Vec<String>,
    /// Secrets of earlier processes of the run, whose values may be unknown now.
    kept: Arc<Fingerprints>,
    /// Finds all of them at once; built when needed, and `None` if it cannot be built.
    finder: OnceLock<Option<AhoCorasick>>,
    /// Words that are never secret: the names of steps and recipes.
    words: HashSet<String>,
    /// The id of the run; it may contain a secret of four digits.
    run_id: Option<String>,
}

impl Mask {
    /// A mask for these declared names.
    pub fn new(declared: impl IntoIterator<Item = String>) -> Mask {
        Mask { names: declared.into_iter().collect(), ..Mask::default() }
    }

    /// A mask for everything that these recipes declare secret.
    pub fn declared<'u>(units: impl IntoIterator<Item = &'u Arc<Unit>>) -> Mask {
        let mut mask = Mask::default();
        units.into_iter().for_each(|unit| mask.learn_declared(unit));
        mask
    }

    fn learn_declared(&mut self, unit: &Unit) {
        self.names.extend(unit.secrets.iter().cloned());
        let inputs = unit.inputs.iter().filter(|input| input.is_secret());
        self.inputs.extend(inputs.map(|input| input.name.clone()));
    }

    /// Whether this is an input of the type `secret`.
    pub fn is_secret_input(&self, name: &str) -> bool {
        self.inputs.contains(name)
    }

    /// The same mask for a run: its id is always shown.
    #[must_use]
    pub fn of_run(self, run_id: &str) -> Mask {
        Mask { run_id: Some(run_id.to_owned()), ..self }
    }

    /// The same mask with the secrets of earlier processes of the run.
    #[must_use]
    pub fn with_kept(self, kept: Fingerprints) -> Mask {
        Mask { kept: Arc::new(kept), ..self }
    }

    /// Keeps fingerprints of all known secrets in the folder of the run, so that later readers mask them too.
    pub(crate) fn keep(&mut self, folder: &Path) -> Result<(), FolderError> {
        let kept = match self.values.as_slice() {
            [] => Fingerprints::load(folder)?,
            values => Fingerprints::keep(folder, values)?,
        };
        self.kept = Arc::new(kept);
        Ok(())
    }

    /// Learns the secrets that a recipe declares, and its own words.
    pub fn learn_unit(&mut self, unit: &Unit) {
        self.learn_declared(unit);
        self.words.insert(unit.name.clone());
        self.words.extend(unit.steps.iter().map(|step| step.id.clone()));
        for (step, ask) in unit.steps.iter().filter_map(|step| Some((step, step.kind.as_ask()?))) {
            let secret = ask.fields.iter().map(QuestionField::of).filter(QuestionField::is_secret);
            let holder = step.store.as_deref().unwrap_or_default();
            self.names.extend(secret.map(|field| format!("{holder}.{}", field.name)));
        }
    }

    /// Learns the secrets of a recipe that was entered.
    pub fn learn_frame(&mut self, frame: &Frame) {
        self.learn_unit(&frame.unit);
        self.learn(&frame.context);
    }

    /// Whether the value of this name is secret; dots lead into a value.
    pub fn is_secret(&self, name: &str) -> bool {
        looks_secret(name) || self.names.contains(name)
    }

    /// Learns the secret values of a context.
    pub fn learn(&mut self, context: &Map) {
        for (name, value) in context {
            self.learn_value(name, value);
        }
    }

    /// Learns the secret ones of these variables.
    pub fn learn_variables(&mut self, variables: &[(String, String)]) {
        variables.iter().for_each(|(name, value)| self.learn_value(name, &Value::from(value.as_str())));
    }

    /// Learns the secret members of a JSON text, even if it is not valid JSON.
    fn learn_members(&mut self, text: &str) {
        for place in members::members(text.as_bytes()) {
            let value = text.get(place).unwrap_or_default().to_owned();
            self.learn_text(&value);
        }
    }

    /// Learns a value and the values inside it. `name` is its path, with dots.
    pub fn learn_value(&mut self, name: &str, value: &Value) {
        if self.is_secret(name) {
            self.learn_all(value);
            return;
        }
        match value {
            Value::Map(members) => {
                members.iter().for_each(|(key, member)| self.learn_value(&format!("{name}.{key}"), member));
            }
            Value::List(items) => items.iter().for_each(|item| self.learn_value(name, item)),
            _ => {}
        }
    }

    fn learn_all(&mut self, value: &Value) {
        match value {
            Value::Map(members) => members.values().for_each(|member| self.learn_all(member)),
            Value::List(items) => items.iter().for_each(|item| self.learn_all(item)),
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) if number.as_str().chars().count() < SHORTEST_NUMBER => {}
            Value::Text(text) if matches!(text.trim(), "true" | "True" | "false" | "False") => {}
            scalar => self.learn_text(&scalar.render()),
        }
    }

    /// Learns a secret in every form in which it could appear: whole, by lines, and as JSON text.
    fn learn_text(&mut self, text: &str) {
        // a secret often loses its trailing newline
        let text = text.trim();
        if text.chars().count() < SHORTEST || self.words.contains(text) || OWN_WORDS.contains(&text) {
            return;
        }
        self.add(text);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        if lines.len() > 1 {
            lines.iter().filter(|line| line.chars().count() >= SHORTEST).for_each(|line| self.add(line));
        }
        // also as a text in JSON that is itself a text in JSON
        let mut forms = vec![text.to_owned()];
        for _ in 0..3 {
            forms = forms.iter().flat_map(|form| in_json(form)).collect();
            forms.sort_unstable();
            forms.dedup();
            forms.iter().for_each(|form| self.add(form));
        }
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    fn add(&mut self, text: &str) {
        if !self.values.iter().any(|known| known == text) {
            self.values.push(text.to_owned());
            self.finder = OnceLock::new();
        }
    }

    /// The number of known texts; grows when it learns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it knows no text.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.kept.is_empty()
    }

    /// The places of secret values; overlapping ones are merged.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let finder = self.finder.get_or_init(|| AhoCorasick::new(&self.values).ok());
        let mut found: Vec<Range<usize>> = match finder {
            // this search is several times faster, and most texts have no secret
            Some(finder) if !self.values.is_empty() && finder.is_match(bytes) => {
                finder.find_overlapping_iter(bytes).map(|found| found.range()).collect()
            }
            Some(_) => Vec::new(),
            // too many secrets to search for: nothing is shown
            None => std::iter::once(0..bytes.len()).collect(),
        };
        found.extend(self.kept.places(bytes));
        found.sort_unstable_by_key(|place| place.start);
        found.dedup_by(|next, place| {
            let is_inside = next.start < place.end;
            place.end = if is_inside { place.end.max(next.end) } else { place.end };
            is_inside
        });
        found
    }

    /// The bytes without secret values; bytes that are not text stay as they are.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let places = self.places(bytes);
        if places.is_empty() {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(replaced(bytes, places))
    }

    /// The text without secret values.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.beside_run_id(text, |part| self.without_values(part))
    }

    /// A text that the program may have cut, such as an error with the last output of a step: without secret values,
    /// and without the part of one that a cut leaves.
    pub fn quotation<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.beside_run_id(text, |part| self.without_cut_values(part))
    }

    /// Masks the text around the id of the run.
    fn beside_run_id<'a>(&self, text: &'a str, masked: impl Fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
        match self.run_id.as_deref().filter(|run_id| !self.is_empty() && text.contains(run_id)) {
            None => masked(text),
            Some(run_id) => Cow::Owned(text.split(run_id).map(masked).collect::<Vec<_>>().join(run_id)),
        }
    }

    fn without_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    fn without_cut_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = self.without_values(text);
        for value in &self.values {
            if let Some(whole) = without_parts(&masked, value) {
                masked = Cow::Owned(whole);
            }
        }
        masked
    }

    /// Declared files, with secrets in their names masked.
    pub fn files(&self, files: &[OutputRef]) -> Vec<OutputRef> {
        let masked =
            |file: &OutputRef| OutputRef { file: self.text(&file.file).into_owned(), ..file.clone() };
        files.iter().map(masked).collect()
    }

    /// Results of rules, without secret values.
    pub fn checks(&self, checks: &[RuleCheck]) -> Vec<RuleCheck> {
        let masked = |check: &RuleCheck| RuleCheck {
            expected: self.quotation(&check.expected).into_owned(),
            found: self.quotation(&check.found).into_owned(),
            ..check.clone()
        };
        checks.iter().map(masked).collect()
    }

    /// The value without secret values; `name` is its path, with dots.
    pub fn value(&self, name: &str, value: &Value) -> Value {
        match value {
            Value::Null => Value::Null,
            _ if self.is_secret(name) => Value::from(MASK),
            Value::Text(text) => match self.text(text) {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(masked) => Value::from(masked),
            },
            Value::List(items) => Value::list(items.iter().map(|item| self.value(name, item)).collect()),
            Value::Map(members) => {
                let member = |(key, item): (&String, &Value)| {
                    (key.clone(), self.value(&format!("{name}.{key}"), item))
                };
                Value::map(members.iter().map(member).collect())
            }
            Value::Number(number) if self.is_whole_secret(number.as_str()) => Value::from(MASK),
            other => other.clone(),
        }
    }

    fn is_whole_secret(&self, text: &str) -> bool {
        self.places(text.as_bytes()).first().is_some_and(|place| *place == (0..text.len()))
    }

    /// Length of the longest secret, so that a stream can be cut without leaking half of one.
    pub fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len).max(self.kept.longest())
    }
}

/// A text as programs write it in JSON: with or without escapes for slashes and for characters beyond ASCII.
fn in_json(text: &str) -> Vec<String> {
    let json = serde_json::Value::from(text).to_string();
    let plain = json[1..json.len() - 1].to_owned();
    let escaped = |unit: &u16| format!("\\u{unit:04x}");
    let ascii: String = plain
        .chars()
        .map(|c| match c.is_ascii() {
            true => c.to_string(),
            false => c.encode_utf16(&mut [0; 2]).iter().map(escaped).collect(),
        })
        .collect();
    let slashes = |form: &String| form.replace('/', "\\/");
    let forms = [plain, ascii];
    forms.iter().cloned().chain(forms.iter().map(slashes)).collect()
}

/// The bytes with the mask in these places.
fn replaced(bytes: &[u8], places: Vec<Range<usize>>) -> Vec<u8> {
    let (mut masked, mut from) = (Vec::with_capacity(bytes.len()), 0);
    for place in places {
        masked.extend_from_slice(&bytes[from..place.start]);
        masked.extend_from_slice(MASK.as_bytes());
        from = place.end;
    }
    masked.extend_from_slice(&bytes[from..]);
    masked
}
