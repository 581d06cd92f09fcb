//! What a step's processes get to see of the context: environment variables, shell variables, the context file.
//!
//! Size never breaks a step: what does not fit in the environment is read by the script from private files, and
//! the whole context is always there as JSON.

use std::{collections::HashSet, path::Path};

use engine::frame::Frame;
use recipe::{
    env_name,
    scope::Scope,
    value::{Map, Value},
};

/// Most names that are exported without choosing.
const NAMES: usize = 256;
/// Most bytes that are exported together.
const BYTES: usize = 128 * 1024;
/// Largest value that is exported unless the step says otherwise; the kernel takes 128 KiB with the name.
const VALUE_BYTES: usize = 100 * 1024;

/// Exported values of a step.
#[derive(Debug, Default)]
pub struct Exports {
    /// Names and values for the environment.
    pub env: Vec<(String, String)>,
    /// Names and values that are too large for it and that the script wants.
    pub large: Vec<(String, String)>,
}

/// Chooses what is exported. `text` is the script, whose mentions of exported names come first; `wanted` are
/// variables that it needs in any case.
pub fn exports(frame: &Frame, text: &str, wanted: Vec<(String, Value)>, max_value: Option<u64>) -> Exports {
    let cap = max_value.map_or(VALUE_BYTES, |bytes| (bytes as usize).min(VALUE_BYTES));
    let mut chosen = Chosen { cap, ..Chosen::default() };
    for (name, value) in wanted {
        chosen.add_wanted(name, value.render().into_owned());
    }
    let mentions = mentions(text);
    let declared = frame.unit.context.keys().chain(frame.unit.inputs.iter().map(|input| &input.name));
    if frame.context.len() <= NAMES {
        // all of it, the declared and mentioned ones first in case that bytes run out
        for name in declared.clone().chain(mentioned_names(frame, &mentions)).chain(frame.context.keys()) {
            chosen.add(frame, name, &mentions);
        }
    } else {
        for name in declared.chain(mentioned_names(frame, &mentions)).chain(frame.log.iter().rev()) {
            if chosen.names.len() >= NAMES {
                break;
            }
            chosen.add(frame, name, &mentions);
        }
    }
    chosen.finish(frame)
}

#[derive(Default)]
struct Chosen<'a> {
    cap: usize,
    bytes: usize,
    names: HashSet<&'a str>,
    exact: Vec<(String, String)>,
    aliases: Vec<(String, String)>,
    nested_aliases: Vec<(String, String)>,
    wanted: HashSet<String>,
    large: Vec<(String, String)>,
}

impl<'a> Chosen<'a> {
    fn add_wanted(&mut self, name: String, text: String) {
        if !self.wanted.insert(name.clone()) {
            return;
        }
        match self.fits(&name, &text) {
            true => self.exact.push((name, text)),
            false => self.large.push((name, text)),
        }
    }

    fn fits(&mut self, name: &str, text: &str) -> bool {
        let size = name.len() + text.len() + 2;
        let fits = text.len() <= self.cap && self.bytes + size <= BYTES;
        if fits {
            self.bytes += size;
        }
        fits
    }

    fn add(&mut self, frame: &Frame, name: &'a str, mentions: &HashSet<&str>) {
        let Some(value) = frame.get(name) else { return };
        if !self.names.insert(name) {
            return;
        }
        if let Some(variable) = env_name::variable(name) {
            let text = value.render();
            let alias = env_name::alias(name);
            self.add_text(variable, &text, mentions, Kind::Exact);
            if let Some(alias) = alias {
                self.add_text(alias, &text, mentions, Kind::Alias);
            }
        }
        if let Value::Map(members) = &value {
            self.add_members(name, members, mentions);
        }
    }

    fn add_members(&mut self, prefix: &str, members: &Map, mentions: &HashSet<&str>) {
        for (key, member) in members {
            let full = format!("{prefix}.{key}");
            if let Some(variable) = env_name::variable(&full) {
                let text = member.render();
                self.add_text(variable, &text, mentions, Kind::Exact);
                if let Some(alias) = env_name::alias(&full) {
                    self.add_text(alias, &text, mentions, Kind::NestedAlias);
                }
            }
            if let Value::Map(below) = member {
                self.add_members(&full, below, mentions);
            }
        }
    }

    fn add_text(&mut self, variable: String, text: &str, mentions: &HashSet<&str>, kind: Kind) {
        if self.wanted.contains(&variable) || text.contains('\0') {
            return;
        }
        if !self.fits(&variable, text) {
            if mentions.contains(variable.as_str()) {
                self.wanted.insert(variable.clone());
                self.large.push((variable, text.to_owned()));
            }
            return;
        }
        let list = match kind {
            Kind::Exact => &mut self.exact,
            Kind::Alias => &mut self.aliases,
            Kind::NestedAlias => &mut self.nested_aliases,
        };
        list.push((variable, text.to_owned()));
    }

    /// Where aliases collide the top-level name wins; between two top-level names neither is set.
    fn finish(mut self, frame: &Frame) -> Exports {
        let mut seen: HashSet<&str> = HashSet::new();
        let twice: HashSet<String> = self
            .aliases
            .iter()
            .filter(|(alias, _)| !seen.insert(alias))
            .map(|(alias, _)| alias.clone())
            .collect();
        let top: HashSet<String> = self.aliases.iter().map(|(alias, _)| alias.clone()).collect();
        let _ = frame;
        self.aliases.retain(|(alias, _)| !twice.contains(alias));
        let mut nested: HashSet<String> = HashSet::new();
        self.nested_aliases.retain(|(alias, _)| !top.contains(alias) && nested.insert(alias.clone()));
        let mut env = self.nested_aliases;
        env.append(&mut self.aliases);
        env.append(&mut self.exact);
        Exports { env, large: self.large }
    }
}

enum Kind {
    Exact,
    Alias,
    NestedAlias,
}

/// Words of a script that could be names of variables.
fn mentions(text: &str) -> HashSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

/// Context names whose variable or alias the script mentions.
fn mentioned_names<'a>(frame: &'a Frame, mentions: &HashSet<&str>) -> Vec<&'a String> {
    if mentions.is_empty() {
        return Vec::new();
    }
    let is_mentioned = |name: &&String| {
        let variable = env_name::variable(name);
        variable.is_some_and(|variable| mentions.iter().any(|word| word.starts_with(variable.as_str())))
            || env_name::alias(name)
                .is_some_and(|alias| mentions.iter().any(|word| word.starts_with(alias.as_str())))
    };
    frame.context.keys().filter(is_mentioned).collect()
}

/// The lines of shell that read large values from private files. `dir` holds one file for each, named after its
/// variable; a value that ends in a newline has one more character, which is taken off again.
pub fn prologue(large: &[(String, String)], dir: &Path) -> String {
    let mut lines = String::new();
    for (name, text) in large {
        let file = quote(&dir.join(name).to_string_lossy());
        lines.push_str(&format!("{name}=$(<{file}); "));
        if text.ends_with('\n') {
            lines.push_str(&format!("{name}=${{{name}%.}}; "));
        }
    }
    lines
}

/// What the file of a large value holds.
pub fn large_file(text: &str) -> std::borrow::Cow<'_, str> {
    match text.ends_with('\n') {
        true => format!("{text}.").into(),
        false => text.into(),
    }
}

/// A word in single quotes.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
