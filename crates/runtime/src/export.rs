//! What a step's processes get to see of the context: environment variables, shell variables, the context file.
//!
//! Size never breaks a step: what does not fit in the environment is read by the script from private files, and
//! the whole context is always there as JSON.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use engine::frame::Frame;
use recipe::{
    env_name,
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
    pub large: Vec<(String, Arc<str>)>,
}

/// Chooses what is exported. `text` is the script, whose mentions of exported names come first; `wanted` are
/// variables that it needs in any case.
pub fn exports(frame: &Frame, text: &str, wanted: Vec<(String, Value)>, max_value: Option<u64>) -> Exports {
    let cap = max_value.map_or(VALUE_BYTES, |bytes| (bytes as usize).min(VALUE_BYTES));
    let mut chosen = Chosen { cap, ..Chosen::default() };
    for (name, value) in wanted {
        chosen.add_wanted(name, &value);
    }
    let mentions = mentions(text);
    let declared = frame.unit.context.keys().chain(frame.unit.inputs.iter().map(|input| &input.name));
    let first = declared.chain(mentioned_names(frame, &mentions));
    if frame.context.len() <= NAMES {
        // all of it, the declared and mentioned ones first in case that bytes run out
        first.chain(frame.context.keys()).for_each(|name| chosen.add(frame, name, &mentions));
    } else {
        first.take(NAMES).for_each(|name| chosen.add(frame, name, &mentions));
        // every variable makes every program of the step start more slowly: here aliases count, too
        let newest = frame.log.iter().rev();
        for name in newest {
            if chosen.variables() >= NAMES {
                break;
            }
            chosen.add(frame, name, &mentions);
        }
    }
    chosen.finish()
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
    large: Vec<(String, Arc<str>)>,
}

impl<'a> Chosen<'a> {
    /// How many variables the environment has so far.
    fn variables(&self) -> usize {
        self.exact.len() + self.aliases.len() + self.nested_aliases.len()
    }

    fn add_wanted(&mut self, name: String, value: &Value) {
        if !self.wanted.insert(name.clone()) {
            return;
        }
        let text = value.render();
        match self.fits(&name, &text) {
            true => self.exact.push((name, text.into_owned())),
            false => self.large.push((name, shared(value))),
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

    fn add(&mut self, frame: &'a Frame, name: &'a str, mentions: &HashSet<&str>) {
        let Some(value) = frame.context.get(name) else { return };
        if !self.names.insert(name) {
            return;
        }
        if let Some(variable) = env_name::variable(name) {
            self.add_value(variable, value, mentions, Kind::Exact);
            if let Some(alias) = env_name::alias(name) {
                self.add_value(alias, value, mentions, Kind::Alias);
            }
        }
        if let Value::Map(members) = value {
            self.add_members(name, members, mentions);
        }
    }

    fn add_members(&mut self, prefix: &str, members: &Map, mentions: &HashSet<&str>) {
        for (key, member) in members {
            let full = format!("{prefix}.{key}");
            if let Some(variable) = env_name::variable(&full) {
                self.add_value(variable, member, mentions, Kind::Exact);
                if let Some(alias) = env_name::alias(&full) {
                    self.add_value(alias, member, mentions, Kind::NestedAlias);
                }
            }
            if let Value::Map(below) = member {
                self.add_members(&full, below, mentions);
            }
        }
    }

    fn add_value(&mut self, variable: String, value: &Value, mentions: &HashSet<&str>, kind: Kind) {
        let text = value.render();
        if self.wanted.contains(&variable) || text.contains('\0') {
            return;
        }
        if !self.fits(&variable, &text) {
            if mentions.contains(variable.as_str()) {
                self.wanted.insert(variable.clone());
                self.large.push((variable, shared(value)));
            }
            return;
        }
        let list = match kind {
            Kind::Exact => &mut self.exact,
            Kind::Alias => &mut self.aliases,
            Kind::NestedAlias => &mut self.nested_aliases,
        };
        list.push((variable, text.into_owned()));
    }

    /// Where aliases collide the top-level name wins; between two top-level names neither is set.
    fn finish(mut self) -> Exports {
        let mut uses: HashMap<&str, usize> = HashMap::with_capacity(self.aliases.len());
        for (alias, _) in &self.aliases {
            *uses.entry(alias).or_default() += 1;
        }
        let mut nested: HashSet<&str> = HashSet::new();
        let is_free: Vec<bool> = (self.nested_aliases.iter())
            .map(|(alias, _)| !uses.contains_key(alias.as_str()) && nested.insert(alias))
            .collect();
        let is_single: Vec<bool> = self.aliases.iter().map(|(alias, _)| uses[alias.as_str()] == 1).collect();
        let mut env = keep(self.nested_aliases, &is_free);
        env.extend(keep(self.aliases, &is_single));
        env.append(&mut self.exact);
        Exports { env, large: self.large }
    }
}

fn keep(list: Vec<(String, String)>, kept: &[bool]) -> Vec<(String, String)> {
    list.into_iter().zip(kept).filter(|(_, kept)| **kept).map(|(entry, _)| entry).collect()
}

/// The text of a value, without a copy where it is text already.
fn shared(value: &Value) -> Arc<str> {
    match value {
        Value::Text(text) => Arc::clone(text),
        other => Arc::from(other.render()),
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

/// Context names whose variable or alias the script mentions, or begins a mentioned one of their members.
fn mentioned_names<'a>(frame: &'a Frame, mentions: &HashSet<&str>) -> Vec<&'a String> {
    if mentions.is_empty() {
        return Vec::new();
    }
    // every name of the context is looked at for every such step, so nothing is allocated here
    let is_mentioned = |name: &&String| mentions.iter().any(|word| mentions_name(word, name));
    frame.context.keys().filter(is_mentioned).collect()
}

/// Whether a word is the variable or the alias of a name, or of something below it.
fn mentions_name(word: &str, name: &str) -> bool {
    let is_variable =
        word.strip_prefix(env_name::PREFIX).is_some_and(|word| follows(word, name, "__", |byte| byte));
    is_variable || follows(word, name, "_", |byte| byte.to_ascii_uppercase())
}

/// Whether a word is a name with its dots replaced, alone or followed by `_`.
fn follows(word: &str, name: &str, dot: &str, letter: fn(u8) -> u8) -> bool {
    let mut rest = word.as_bytes();
    for byte in name.bytes() {
        let expected: &[u8] = match byte {
            b'.' => dot.as_bytes(),
            b'-' => b"_",
            other => &[letter(other)],
        };
        match rest.strip_prefix(expected) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    !name.is_empty() && rest.first().is_none_or(|byte| *byte == b'_')
}

/// The lines of shell that read large values from private files, given with their variables. `$(<…)` is the fastest
/// way that every bash has; it drops newlines at the end, so such a value has one more character in its file, which
/// is taken off again.
pub fn prologue(large: &[(String, Arc<str>)], files: &[PathBuf]) -> String {
    let mut lines = String::new();
    for ((name, text), file) in large.iter().zip(files) {
        let file = quote(&file.to_string_lossy());
        lines.push_str(&format!("{name}=$(<{file}); "));
        if text.ends_with('\n') {
            lines.push_str(&format!("{name}=${{{name}%.}}; "));
        }
    }
    lines
}

/// A word in single quotes.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
