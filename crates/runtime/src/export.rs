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
use recipe::{env_name, value::Value};

/// Most values that are exported besides those that the script mentions. A shell reads its environment in a time
/// that grows with the square of its size, so the aliases of mere outputs are dropped first.
const NAMES: usize = 256;
/// Most names that are exported of what stands inside objects.
const INNER_NAMES: usize = 1024;
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
    pub large: Vec<(String, Arc<str>)>,
}

/// Chooses what is exported. `text` is the script, whose mentions of exported names come first; `wanted` are
/// variables that it needs in any case.
pub fn exports(frame: &Frame, text: &str, wanted: Vec<(String, Value)>, max_value: Option<u64>) -> Exports {
    let cap = max_value.map_or(STRING_BYTES, |bytes| (bytes as usize).min(STRING_BYTES));
    let mut chosen = Chosen { cap, ..Chosen::default() };
    for (name, value) in wanted {
        chosen.add_wanted(name, &value);
    }
    let mentions = mentions(text);
    for name in mentioned_names(frame, &mentions) {
        chosen.add(frame, name, &mentions, Rank::First);
    }
    let declared = frame.unit.context.keys().chain(frame.unit.inputs.iter().map(|input| &input.name));
    chosen.fill(frame, declared, &mentions, Rank::First);
    // a name may stand in the log again and again: what is not among its last entries is old
    let newest = frame.log.iter().rev().take(4 * NAMES);
    chosen.fill(frame, newest.chain(frame.context.keys()), &mentions, Rank::Later);
    chosen.finish(frame)
}

/// How much a step wants a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// It is declared, or the script mentions it.
    First,
    /// It is there.
    Later,
}

#[derive(Default)]
struct Chosen<'a> {
    cap: usize,
    bytes: usize,
    names: HashSet<&'a str>,
    exact: Vec<(String, String)>,
    aliases: Vec<(String, String)>,
    /// Values that nobody asked for, the newest first; they have aliases as far as there is room.
    later: Vec<&'a str>,
    nested_aliases: Vec<(String, String)>,
    wanted: HashMap<String, Room>,
    large: Vec<(String, Arc<str>)>,
}

/// Whether there is room for a value in the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Enough,
    None,
}

impl<'a> Chosen<'a> {
    fn add_wanted(&mut self, name: String, value: &Value) {
        if self.wanted.contains_key(&name) {
            return;
        }
        let text = value.render();
        let room = self.take_room(&name, &text);
        self.wanted.insert(name.clone(), room);
        match room {
            Room::Enough => self.exact.push((name, text.into_owned())),
            Room::None => self.large.push((name, shared(value))),
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

    /// Adds values while there are few.
    fn fill(
        &mut self,
        frame: &Frame,
        names: impl Iterator<Item = &'a String>,
        mentions: &HashSet<&str>,
        rank: Rank,
    ) {
        let mut names = names;
        while self.names.len() < NAMES.min(frame.context.len())
            && let Some(name) = names.next()
        {
            self.add(frame, name, mentions, rank);
        }
    }

    fn add(&mut self, frame: &Frame, name: &'a str, mentions: &HashSet<&str>, rank: Rank) {
        let Some(value) = frame.context.get(name) else { return };
        if !self.names.insert(name) {
            return;
        }
        let level = if rank == Rank::First { Level::Top } else { Level::Later };
        if self.add_value(name, value, mentions, level) == Room::Enough && rank == Rank::Later {
            self.later.push(name);
        }
    }

    /// Adds a value and what stands inside of it; says whether there was room for itself.
    fn add_value(&mut self, name: &str, value: &Value, mentions: &HashSet<&str>, level: Level) -> Room {
        let mut room = Room::None;
        if let Some(variable) = env_name::variable(name) {
            let alias = if level == Level::Later { None } else { env_name::alias(name) };
            let is_mentioned = || {
                mentions.contains(variable.as_str())
                    || alias.as_deref().is_some_and(|alias| mentions.contains(alias))
            };
            if level != Level::Inner || self.exact.len() < INNER_NAMES || is_mentioned() {
                room = self.add_exact(variable, value, mentions);
                if let Some(alias) = alias {
                    self.add_alias(alias, value, mentions, level, room);
                }
            }
        }
        if let Value::Map(members) = value {
            for (key, member) in members.iter() {
                self.add_value(&format!("{name}.{key}"), member, mentions, Level::Inner);
            }
        }
        room
    }

    fn add_exact(&mut self, variable: String, value: &Value, mentions: &HashSet<&str>) -> Room {
        let text = value.render();
        if let Some(room) = self.wanted.get(&variable) {
            return *room;
        }
        if text.contains('\0') {
            return Room::None;
        }
        let room = self.take_room(&variable, &text);
        match room {
            Room::Enough => self.exact.push((variable, text.into_owned())),
            Room::None => self.add_large(variable, value, mentions),
        }
        room
    }

    fn add_alias(
        &mut self,
        alias: String,
        value: &Value,
        mentions: &HashSet<&str>,
        level: Level,
        room: Room,
    ) {
        let text = value.render();
        if text.contains('\0') {
            return;
        }
        if room == Room::None {
            return self.add_large(alias, value, mentions);
        }
        // an alias is shorter than the exact name: where that has room, it has room too
        let list = if level == Level::Inner { &mut self.nested_aliases } else { &mut self.aliases };
        list.push((alias, text.into_owned()));
    }

    /// A value without room is read from a file by a script that mentions it.
    fn add_large(&mut self, variable: String, value: &Value, mentions: &HashSet<&str>) {
        if mentions.contains(variable.as_str()) && !self.wanted.contains_key(&variable) {
            self.wanted.insert(variable.clone(), Room::None);
            self.large.push((variable, shared(value)));
        }
    }

    /// Where aliases collide the top-level name wins; between two top-level names neither is set.
    fn finish(mut self, frame: &Frame) -> Exports {
        let last = NAMES.saturating_sub(self.exact.len()).max(self.aliases.len());
        // without other aliases and without room for them nothing depends on those of mere outputs
        if last > 0 || !self.nested_aliases.is_empty() {
            for name in &self.later {
                let Some(alias) = env_name::alias(name) else { continue };
                let value = frame.context.get(*name).filter(|_| self.aliases.len() < last);
                self.aliases
                    .push((alias, value.map(|value| value.render().into_owned()).unwrap_or_default()));
            }
        }
        let mut uses: HashMap<&str, usize> = HashMap::with_capacity(self.aliases.len());
        for (alias, _) in &self.aliases {
            *uses.entry(alias).or_default() += 1;
        }
        let mut nested: HashSet<&str> = HashSet::new();
        let is_free: Vec<bool> = (self.nested_aliases.iter())
            .map(|(alias, _)| !uses.contains_key(alias.as_str()) && nested.insert(alias))
            .collect();
        let is_single: Vec<bool> = (self.aliases.iter().enumerate())
            .map(|(at, (alias, _))| at < last && uses[alias.as_str()] == 1)
            .collect();
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

/// Where a value stands in the context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// On top, and wanted.
    Top,
    /// On top.
    Later,
    /// Inside an object.
    Inner,
}

/// Words of a script that could be names of variables.
fn mentions(text: &str) -> HashSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
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

/// The variables of a step itself that fit in an environment, and those that its script has to read from files.
#[expect(clippy::type_complexity, reason = "two lists of names and values, as they are handed on")]
pub fn own_room(own: Vec<(String, String)>) -> (Vec<(String, String)>, Vec<(String, Arc<str>)>) {
    let (fitting, large): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|(name, value)| name.len() + value.len() + 2 <= STRING_BYTES);
    (fitting, large.into_iter().map(|(name, value)| (name, value.into())).collect())
}

/// The lines of shell that read large values from private files, given with their variables. `$(<…)` is the fastest
/// way that every bash has; it drops newlines at the end, so such a value has one more character in its file, which
/// is taken off again. A variable that was inherited, or under `allexport`, would be exported, and no program could be
/// started any more. A value that cannot be read is not an empty one: the script ends.
pub fn prologue(large: &[(String, Arc<str>)], files: &[PathBuf]) -> String {
    let mut lines = String::new();
    for ((name, text), file) in large.iter().zip(files) {
        let file = quote(&file.to_string_lossy());
        lines.push_str(&format!("unset -v {name}; {name}=$(<{file}) || exit; "));
        if text.ends_with('\n') {
            lines.push_str(&format!("{name}=${{{name}%.}}; "));
        }
        lines.push_str(&format!("export -n {name}; "));
    }
    lines
}

/// A word in single quotes.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_cannot_be_read_ends_the_script() {
        let dir = tempfile::tempdir().unwrap();
        let (here, gone) = (dir.path().join("here"), dir.path().join("gone"));
        std::fs::write(&here, "a'b\n\n.").unwrap();
        let large = [("V".to_owned(), Arc::from("a'b\n\n"))];
        for (file, said, code) in [(here, "a'b\n\n|unset", 0), (gone, "", 1)] {
            let script =
                prologue(&large, &[file]) + "printf '%s|' \"$V\"; bash -c 'printf %s \"${V-unset}\"'";
            let mut bash = std::process::Command::new("/bin/bash");
            let output = bash.args(["-a", "-c", &script]).env("V", "inherited").output().unwrap();
            let seen = (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code());
            assert_eq!(seen, (said.to_owned(), Some(code)), "{script}");
        }
    }
}
