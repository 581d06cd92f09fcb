//! Values as YAML: on one line if they are short, in blocks otherwise.

use crate::writing::text;

/// A value of a test file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Yaml {
    /// A number, a word of YAML or a JSON value.
    Raw(String),
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

/// The longest value on one line.
const LINE: usize = 110;

impl Yaml {
    pub(super) fn text(text: impl Into<String>) -> Yaml {
        Yaml::Text(text.into())
    }

    pub(super) fn raw(raw: impl ToString) -> Yaml {
        Yaml::Raw(raw.to_string())
    }

    pub(super) fn texts<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Yaml {
        Yaml::List(items.into_iter().map(|item| Yaml::text(item.as_ref())).collect())
    }

    pub(super) fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Yaml)>) -> Yaml {
        Yaml::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Whether a key or a text begins with this.
    pub(super) fn mentions(&self, start: &str) -> bool {
        match self {
            Yaml::Raw(_) => false,
            Yaml::Text(text) => text.starts_with(start),
            Yaml::List(items) => items.iter().any(|item| item.mentions(start)),
            Yaml::Map(entries) => {
                entries.iter().any(|(key, value)| key.starts_with(start) || value.mentions(start))
            }
        }
    }

    /// The value on one line, if it is short enough.
    fn line(&self) -> Option<String> {
        let line = match self {
            Yaml::Raw(raw) => raw.clone(),
            Yaml::Text(text) if text.trim_end_matches('\n').contains('\n') => return None,
            Yaml::Text(text) => text::flow_item(text),
            Yaml::List(items) => {
                format!("[{}]", items.iter().map(Yaml::line).collect::<Option<Vec<_>>>()?.join(", "))
            }
            Yaml::Map(entries) => {
                let entry = |(key, value): &(String, Yaml)| {
                    Some(format!("{}: {}", text::flow_item(key), value.line()?))
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Option<Vec<_>>>()?.join(", "))
            }
        };
        (line.len() <= LINE).then_some(line)
    }

    /// The value after `key:` or `-`, with its newline.
    fn after(&self, indent: usize) -> String {
        if let Some(line) = self.line() {
            return format!(" {line}\n");
        }
        match self {
            Yaml::Raw(raw) => format!(" {raw}\n"),
            Yaml::Text(text) => match text::block(indent + 2, text) {
                Some(block) => format!(" {block}"),
                None => format!(" {}\n", text::quoted(text)),
            },
            Yaml::List(_) | Yaml::Map(_) => format!("\n{}", self.block(indent + 2)),
        }
    }

    /// The value in blocks.
    pub(super) fn block(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        match self {
            Yaml::List(items) => items
                .iter()
                .map(|item| match item.line() {
                    Some(line) => format!("{pad}- {line}\n"),
                    None => format!("{pad}- {}", item.block(indent + 2).trim_start()),
                })
                .collect(),
            Yaml::Map(entries) => entries
                .iter()
                .map(|(key, value)| format!("{pad}{}:{}", text::flow_item(key), value.after(indent)))
                .collect(),
            Yaml::Raw(_) | Yaml::Text(_) => format!("{pad}{}", self.after(indent).trim_start()),
        }
    }
}
