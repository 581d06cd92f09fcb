//! What a step's processes get to see of the context: environment variables, shell variables, the context file.
//!
//! Size never breaks a step: what does not fit in the environment is read by the script from private files, and
//! the whole context is always there as JSON.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use engine::frame::Frame;
use recipe::{env_name, scope::Scope, value::Value};

/// Most names that are exported without choosing.
const NAMES: usize = 256;
/// Most bytes that are exported together.
const BYTES: usize = 128 * 1024;
/// Largest `NAME=value` that the kernel takes, with the NUL at its end.
const STRING_BYTES: usize = 128 * 1024;

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
    let cap = max_value.map_or(STRING_BYTES, |bytes| (bytes as usize).min(STRING_BYTES));
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
    wanted: HashMap<String, Room>,
    large: Vec<(String, String)>,
}

/// Whether there is room for a value in the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Enough,
    None,
}

impl<'a> Chosen<'a> {
    fn add_wanted(&mut self, name: String, text: String) {
        if self.wanted.contains_key(&name) {
            return;
        }
        let room = self.take_room(&name, &text);
        self.wanted.insert(name.clone(), room);
        match room {
            Room::Enough => self.exact.push((name, text)),
            Room::None => self.large.push((name, text)),
        }
    }

    /// Takes the room of a value, if there is any. It counts once: its alias goes with it.
    fn take_room(&mut self, name: &str, text: &str) -> Room {
        if self.bytes + text.len() > BYTES {
            return Room::None;
        }
        let room = self.room_of_one(name, text);
        if room == Room::Enough {
            self.bytes += text.len();
        }
        room
    }

    fn room_of_one(&self, name: &str, text: &str) -> Room {
        let fits = text.len() <= self.cap && name.len() + text.len() + 2 <= STRING_BYTES;
        if fits { Room::Enough } else { Room::None }
    }

    fn add(&mut self, frame: &Frame, name: &'a str, mentions: &HashSet<&str>) {
        let Some(value) = frame.get(name) else { return };
        if !self.names.insert(name) {
            return;
        }
        self.add_value(name, &value, mentions, Level::Top);
    }

    fn add_value(&mut self, name: &str, value: &Value, mentions: &HashSet<&str>, level: Level) {
        if let Some(variable) = env_name::variable(name) {
            let text = value.render();
            let room = self.add_exact(variable, &text, mentions);
            if let Some(alias) = env_name::alias(name) {
                self.add_alias(alias, &text, mentions, level, room);
            }
        }
        if let Value::Map(members) = value {
            for (key, member) in members.iter() {
                self.add_value(&format!("{name}.{key}"), member, mentions, Level::Nested);
            }
        }
    }

    fn add_exact(&mut self, variable: String, text: &str, mentions: &HashSet<&str>) -> Room {
        if let Some(room) = self.wanted.get(&variable) {
            return *room;
        }
        if text.contains('\0') {
            return Room::None;
        }
        let room = self.take_room(&variable, text);
        match room {
            Room::Enough => self.exact.push((variable, text.to_owned())),
            Room::None => self.add_large(variable, text, mentions),
        }
        room
    }

    fn add_alias(&mut self, alias: String, text: &str, mentions: &HashSet<&str>, level: Level, room: Room) {
        if text.contains('\0') {
            return;
        }
        if room == Room::None || self.room_of_one(&alias, text) == Room::None {
            return self.add_large(alias, text, mentions);
        }
        match level {
            Level::Top => self.aliases.push((alias, text.to_owned())),
            Level::Nested => self.nested_aliases.push((alias, text.to_owned())),
        }
    }

    /// A value without room is read from a file by a script that mentions it.
    fn add_large(&mut self, variable: String, text: &str, mentions: &HashSet<&str>) {
        if mentions.contains(variable.as_str()) && !self.wanted.contains_key(&variable) {
            self.wanted.insert(variable.clone(), Room::None);
            self.large.push((variable, text.to_owned()));
        }
    }

    /// Where aliases collide the top-level name wins; between two top-level names neither is set.
    fn finish(mut self) -> Exports {
        let mut seen: HashSet<&str> = HashSet::new();
        let twice: HashSet<String> = self
            .aliases
            .iter()
            .filter(|(alias, _)| !seen.insert(alias))
            .map(|(alias, _)| alias.clone())
            .collect();
        let top: HashSet<String> = self.aliases.iter().map(|(alias, _)| alias.clone()).collect();
        self.aliases.retain(|(alias, _)| !twice.contains(alias));
        let mut nested: HashSet<String> = HashSet::new();
        self.nested_aliases.retain(|(alias, _)| !top.contains(alias) && nested.insert(alias.clone()));
        let mut env = self.nested_aliases;
        env.append(&mut self.aliases);
        env.append(&mut self.exact);
        Exports { env, large: self.large }
    }
}

/// Where a value stands in the context.
#[derive(Clone, Copy)]
enum Level {
    Top,
    Nested,
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
