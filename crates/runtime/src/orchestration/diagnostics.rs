//! The file about a failure: what failed, with which words, how often it was seen. Never holds a secret, a home
//! directory or the name of the machine.

use std::path::{Path, PathBuf};

use crate::{
    os::files,
    store::{
        folder::{FolderError, make_dir, write_private},
        secrets::Mask,
    },
};

/// The longest part of a task that is shown.
const TASK_CHARS: usize = 500;
/// The longest part of a quote that is shown.
const QUOTE_CHARS: usize = 2_000;

/// The facts of a failure.
#[derive(Clone, Debug, Default)]
pub struct TaskFailure {
    /// What went wrong, as one word.
    pub mode: String,
    pub class: Option<String>,
    pub recipe: String,
    pub step: Option<String>,
    /// What programs printed.
    pub quotes: Vec<String>,
    /// How the task was carried out.
    pub route: Option<String>,
    pub task: String,
    /// Names of programs with their versions.
    pub versions: Vec<(String, String)>,
}

/// What must not be shown.
#[derive(Clone, Debug)]
pub struct Confidential<'a> {
    pub mask: &'a Mask,
    pub home: Option<&'a Path>,
    pub host_name: Option<String>,
}

impl Confidential<'_> {
    /// The text without secrets, with the home directory as `~`, and without the name of the machine.
    fn hidden(&self, text: &str) -> String {
        let mut text = self.mask.quotation(text).into_owned();
        let home = self.home.map(|home| home.to_string_lossy().into_owned());
        if let Some(home) = home.filter(|home| home.len() > 1) {
            text = text.replace(&home, "~");
        }
        if let Some(name) = self.host_name.as_deref().filter(|name| !name.is_empty()) {
            text = without_word(&text, name);
        }
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
    }
}

/// The text with every occurrence of a word replaced.
fn without_word(text: &str, word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        out.push_str(before);
        out.push_str(if is_whole { "(host)" } else { word });
        rest = after;
    }
    out + rest
}

impl TaskFailure {
    /// A title of one line.
    pub(super) fn title(&self, shown: &Confidential<'_>) -> String {
        let place = match &self.step {
            Some(step) => format!("step `{step}` of `{}`", self.recipe),
            None => format!("`{}`", self.recipe),
        };
        first(&shown.hidden(&format!("{}: {place}", self.mode)).replace('\n', " "), 120)
    }

    /// The text about the failure, as Markdown.
    pub(super) fn text(&self, fingerprint: &str, seen: u64, shown: &Confidential<'_>) -> String {
        let mut lines = vec![format!("# {}", self.title(shown)), String::new()];
        let mut fact = |name: &str, value: &str| {
            if !value.trim().is_empty() {
                lines.push(format!("- {name}: {}", shown.hidden(value.trim()).replace('\n', " ")));
            }
        };
        fact("failure mode", &self.mode);
        fact("class", self.class.as_deref().unwrap_or_default());
        fact("recipe", &self.recipe);
        fact("step", self.step.as_deref().unwrap_or_default());
        fact("route", self.route.as_deref().unwrap_or_default());
        let times = if seen == 1 { "once".to_owned() } else { format!("{seen} times") };
        fact("seen here", &times);
        let versions: Vec<String> = self.versions.iter().map(|(name, it)| format!("{name} {it}")).collect();
        fact("versions", &versions.join(", "));
        fact("fingerprint", fingerprint);
        for quote in self.quotes.iter().filter(|quote| !quote.trim().is_empty()) {
            lines.push(format!("\n{}", fenced(&first(&shown.hidden(quote.trim_end()), QUOTE_CHARS))));
        }
        if !self.task.trim().is_empty() {
            let task = first(&shown.hidden(self.task.trim()), TASK_CHARS);
            lines.push(format!("\nTask:\n\n{}", fenced(&task)));
        }
        lines.join("\n") + "\n"
    }
}

/// The text in a fence that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// The first characters of a text.
fn first(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The folder of the files about failures.
pub(super) fn folder(run_dir: &Path) -> PathBuf {
    run_dir.join("diagnostics")
}

/// Writes the file about a failure, in place of an earlier one.
pub(super) fn write(run_dir: &Path, fingerprint: &str, text: &str) -> Result<PathBuf, FolderError> {
    let dir = folder(run_dir);
    make_dir(&dir)?;
    let (file, new) = (dir.join(format!("{fingerprint}.md")), dir.join(format!("{fingerprint}.new")));
    write_private(&new, text.as_bytes())?;
    files::rename(&new, &file).map_err(FolderError::at("replace", &file))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use recipe::value::Value;

    use super::*;

    #[test]
    fn nothing_confidential_is_shown() {
        let mut mask = Mask::default();
        mask.learn_value("api_token", &Value::from("s3cr3t-value-42"));
        let facts = TaskFailure {
            mode: "bash_failure".to_owned(),
            recipe: "r".to_owned(),
            step: Some("build".to_owned()),
            quotes: vec!["cannot read /users/ann/x on box7: token s3cr3t-value-42\n```\nbox71".to_owned()],
            task: "t".repeat(600),
            ..TaskFailure::default()
        };
        let home = Path::new("/users/ann");
        let shown = Confidential { mask: &mask, home: Some(home), host_name: Some("box7".to_owned()) };
        let text = facts.text("0123456789abcdef", 1, &shown);
        assert!(!text.contains("s3cr3t") && !text.contains("/users/ann"), "{text}");
        assert!(text.contains("~/x on (host)") && text.contains("box71"), "{text}");
        assert!(text.contains("- seen here: once") && text.contains("````text\n"), "{text}");
        assert!(text.contains(&"t".repeat(500)) && !text.contains(&"t".repeat(501)), "{text}");
        assert!(facts.text("0", 12, &shown).contains("- seen here: 12 times"));
    }
}
