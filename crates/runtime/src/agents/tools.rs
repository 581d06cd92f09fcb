//! Rules about the tools of an agent: what each use is about, what it changes, and how it ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentEvent,
    call_state::{detail, preview},
    path::{all, at, fits, words},
    transcript::gist,
};
use crate::store::line_diff::changed_lines;

/// The use of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRule {
    /// Where its name is.
    name: Option<String>,
    /// Its name otherwise.
    #[serde(rename = "default")]
    otherwise: Option<String>,
    /// Where its input is.
    input: Option<String>,
    /// Where the names of its targets are.
    targets: Option<String>,
    /// Where the id of this use is.
    id: Option<String>,
    /// How the input of a tool that changes files is read.
    edit: Option<EditRule>,
}

/// The input of a tool that changes a file. A tool without these members changes none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EditRule {
    /// Where the name of the file is: the first of these with a text.
    file: Vec<String>,
    /// Where the old text is. Without it, the number of old lines is unknown.
    old: Vec<String>,
    /// Where the new text is.
    new: Vec<String>,
    /// Where a list of changes is, each with an old and a new text.
    list: Option<String>,
}

/// The end of a use of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultRule {
    /// Where the id of the use is.
    id: Option<String>,
    /// Where its output is: the first of these with a text.
    output: Vec<String>,
    /// It failed if one of these fits.
    failed: BTreeMap<String, String>,
}

impl ToolRule {
    pub(super) fn event(&self, event: &Value) -> AgentEvent {
        let text = |path: &Option<String>| path.as_ref().and_then(|path| words(event, path));
        let name = text(&self.name);
        let name = preview(name.as_deref().or(self.otherwise.as_deref()).unwrap_or("tool"));
        let id = text(&self.id).map(|id| id.into_owned());
        if let Some(path) = &self.targets {
            let targets: Vec<&str> = all(event, path).into_iter().filter_map(Value::as_str).collect();
            return AgentEvent::Tool { name, detail: preview(&targets.join(", ")), id, is_edit: true };
        }
        let input = self.input.as_ref().and_then(|path| at(event, path));
        match input.and_then(|input| self.edit.as_ref()?.describe(input)) {
            Some(detail) => AgentEvent::Tool { name, detail, id, is_edit: true },
            None => {
                AgentEvent::Tool { name, detail: input.map(detail).unwrap_or_default(), id, is_edit: false }
            }
        }
    }
}

impl EditRule {
    /// The file and the numbers of its new and old lines: `src/main.rs +12 −3`.
    fn describe(&self, input: &Value) -> Option<String> {
        let first = |value: &Value, paths: &[String]| -> Option<String> {
            paths.iter().find_map(|path| words(value, path)).map(|text| text.into_owned())
        };
        let file = first(input, &self.file)?;
        let listed = self.list.as_ref().and_then(|path| at(input, path)?.as_array());
        let changes: Vec<&Value> = listed.map_or_else(|| vec![input], |list| list.iter().collect());
        let (mut added, mut removed, mut is_known) = (0, Some(0), false);
        for change in changes {
            let (old, new) = (first(change, &self.old), first(change, &self.new));
            is_known |= old.is_some() || new.is_some();
            let (more, fewer) =
                changed_lines(old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
            added += more;
            removed = old.and(removed).map(|sum| sum + fewer);
        }
        let removed = removed.map(|removed| format!(" −{removed}")).unwrap_or_default();
        is_known.then(|| format!("{} +{added}{removed}", preview(&file)))
    }
}

impl ResultRule {
    pub(super) fn event(&self, event: &Value) -> AgentEvent {
        let texts = |path: &String| -> Option<String> {
            let texts: Vec<&str> = all(event, path).into_iter().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        };
        let output = self.output.iter().find_map(texts).unwrap_or_default();
        AgentEvent::ToolEnded {
            id: self.id.as_ref().and_then(|path| words(event, path)).map(|id| id.into_owned()),
            gist: gist(&output),
            has_failed: self.failed.iter().any(|(path, wanted)| fits(at(event, path), wanted)),
        }
    }
}
