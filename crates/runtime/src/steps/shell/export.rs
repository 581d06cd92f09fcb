//! The part of the context that a step's processes get: environment variables, shell variables, the context file.
//!
//! Size never breaks a step: the script reads values that do not fit into the environment from private files, and the
//! whole context is always available as JSON.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use engine::run::frame::Frame;
use recipe::{env_name, value::Value};

/// The most values to export besides those that the script mentions. A shell reads its environment in a time that grows
/// with the square of its size.
const VALUES: usize = 256;
/// The most bytes to export in total.
const BYTES: usize = 128 * 1024;
/// Largest `NAME=value` that the kernel takes, with the NUL at its end.
const STRING_BYTES: usize = 128 * 1024;

/// Exported values of a step.
#[derive(Debug, Default)]
pub struct Exports {
    /// Names and values for the environment.
    pub env: Vec<(String, String)>,
    /// Names and values that the script uses and that are too large for the environment.
    pub large: Vec<(String, Arc<str>)>,
    /// How much of the context they cover.
    pub share: Share,
}

/// How much of the context is in an environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Whether all of it is.
    pub is_whole: bool,
    /// How many values are exported.
    exported: usize,
}

impl Share {
    /// How many values of the context were left out. Checks all of them.
    pub fn left_out(&self, frame: &Frame) -> usize {
        let all: usize = frame.context.iter().map(|(name, value)| count(name, value)).sum();
        all.saturating_sub(self.exported)
    }
}

/// How many exportable values this one has: itself and its members.
fn count(name: &str, value: &Value) -> usize {
    let own = usize::from(env_name::variable(name).is_some());
    match value {
        Value::Map(members) => {
            own + members.iter().map(|(key, member)| count(&format!("{name}.{key}"), member)).sum::<usize>()
        }
        _ => own,
    }
}

/// Chooses the values to export. `lineage` is the frame of the step and those around it, the innermost first; `text` is
/// the script; `wanted` are variables that it needs in any case.
///
/// Everything is exported while there is room. Beyond that the order is: values that the recipe or one around it
/// declares, values that the script needs or mentions, other values of the context, and last the members of structures;
/// the newest first.
pub fn exports(
    lineage: &[&Frame],
    text: &str,
    wanted: Vec<(String, Value)>,
    max_value: Option<u64>,
) -> Exports {
    let Some(frame) = lineage.first() else { return Exports::default() };
    let cap = max_value.map_or(STRING_BYTES, |bytes| (bytes as usize).min(STRING_BYTES));
    let wanted_first: Vec<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
    let mut chosen = Chosen {
        cap,
        mentions: mentions(text),
        wanted: wanted.into_iter().collect(),
        is_whole: true,
        ..Chosen::default()
    };
    chosen.fill(frame, declared(lineage));
    wanted_first.iter().for_each(|variable| chosen.add_wanted(variable));
    for name in mentioned_names(frame, &chosen.mentions) {
        chosen.add(frame, name);
        chosen.add_mentioned_members(name, &frame.context[name]);
    }
    chosen.fill(frame, newest(lineage));
    // if top-level values were left out, there is no room for members
    let has_room = chosen.names.len() == frame.context.len();
    chosen.is_whole &= has_room
        && newest(lineage)
            .all(|name| frame.context.get(name).is_none_or(|value| chosen.add_members(name, value)));
    chosen.finish()
}

/// Names that the recipe and the recipes around it declare.
fn declared<'a>(lineage: &[&'a Frame]) -> impl Iterator<Item = &'a String> {
    lineage
        .iter()
        .flat_map(|frame| frame.unit.context.keys().chain(frame.unit.inputs.iter().map(|input| &input.name)))
}

/// Names of the context, the newest first. A name may be assigned many times, so only the last entries of a log are
/// read.
fn newest<'a>(lineage: &[&'a Frame]) -> impl Iterator<Item = &'a String> {
    let assigned = lineage.iter().flat_map(|frame| frame.log.iter().rev().take(4 * VALUES));
    let all = lineage.first().into_iter().flat_map(|frame| frame.context.keys().rev());
    assigned.chain(all)
}

#[derive(Default)]
struct Chosen<'a> {
    cap: usize,
    bytes: usize,
    /// Words of the script that could be names of variables.
    mentions: HashSet<&'a str>,
    /// Variables that the script needs and that are not placed yet.
    wanted: HashMap<String, Value>,
    /// Such variables that are placed, and whether in the environment.
    served: HashMap<String, bool>,
    /// Top-level names that were considered.
    names: HashSet<&'a str>,
    /// Variables of members that were considered.
    members: HashSet<String>,
    /// Top-level names whose members were considered.
    opened: HashSet<&'a str>,
    /// How many values were considered.
    looked_at: usize,
    exported: usize,
    is_whole: bool,
    exact: Vec<(String, String)>,
    aliases: Vec<(String, String)>,
    member_aliases: Vec<(String, String)>,
    /// How many top-level names have an alias.
    alias_uses: HashMap<String, usize>,
    large: Vec<(String, Arc<str>)>,
}

/// The level of a value in the context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Member,
}

impl<'a> Chosen<'a> {
    /// Adds top-level values while there are few.
    fn fill(&mut self, frame: &'a Frame, names: impl Iterator<Item = &'a String>) {
        let mut names = names;
        while self.looked_at < VALUES
            && self.names.len() < frame.context.len()
            && let Some(name) = names.next()
        {
            self.add(frame, name);
        }
    }

    fn add(&mut self, frame: &'a Frame, name: &'a str) {
        let Some(value) = frame.context.get(name) else { return };
        if self.names.insert(name) {
            self.place(name, value, Level::Top);
        }
    }

    /// Adds a variable that the script needs, unless it is already placed.
    fn add_wanted(&mut self, variable: &str) {
        let Some(value) = self.wanted.remove(variable) else { return };
        let text = value.render();
        let has_room = self.takes(variable, &text);
        self.served.insert(variable.to_owned(), has_room);
        match has_room {
            true => self.exact.push((variable.to_owned(), text.into_owned())),
            false => self.large.push((variable.to_owned(), shared(&value))),
        }
    }

    /// Adds the members of a value that the script mentions.
    fn add_mentioned_members(&mut self, name: &str, value: &Value) {
        let Value::Map(members) = value else { return };
        for (key, member) in members.iter() {
            let name = format!("{name}.{key}");
            let is_mentioned = |variable: Option<String>| {
                variable.is_some_and(|variable| self.mentions.contains(variable.as_str()))
            };
            if is_mentioned(env_name::variable(&name)) || is_mentioned(env_name::alias(&name)) {
                self.place(&name, member, Level::Member);
            }
            self.add_mentioned_members(&name, member);
        }
    }

    /// Adds the members of a top-level value while there is room; returns whether all fitted.
    fn add_members(&mut self, name: &'a str, value: &Value) -> bool {
        let Value::Map(_) = value else { return true };
        !self.opened.insert(name) || self.add_below(name, value)
    }

    fn add_below(&mut self, name: &str, value: &Value) -> bool {
        let Value::Map(members) = value else { return true };
        members.iter().all(|(key, member)| {
            let name = format!("{name}.{key}");
            if self.looked_at >= VALUES {
                return false;
            }
            self.place(&name, member, Level::Member);
            self.add_below(&name, member)
        })
    }

    /// Puts a value and its alias into the environment if there is room; otherwise into the files that the script
    /// reads, if the script mentions it.
    fn place(&mut self, name: &str, value: &Value, level: Level) {
        let Some(variable) = env_name::variable(name) else { return };
        if level == Level::Member && !self.members.insert(variable.clone()) {
            return;
        }
        self.looked_at += 1;
        let alias = env_name::alias(name);
        if let (Level::Top, Some(alias)) = (level, &alias) {
            *self.alias_uses.entry(alias.clone()).or_default() += 1;
        }
        let wanted = self.wanted.remove(&variable);
        let exact = wanted.as_ref().unwrap_or(value);
        let (text, alias_text) = (exact.render(), value.render());
        if text.contains('\0') || alias_text.contains('\0') {
            return;
        }
        let served = self.served.get(&variable).copied();
        if served.unwrap_or_else(|| self.takes(&variable, &text)) {
            self.exported += 1;
            let aliases = if level == Level::Top { &mut self.aliases } else { &mut self.member_aliases };
            aliases.extend(alias.map(|alias| (alias, alias_text.into_owned())));
            self.exact.extend(served.is_none().then(|| (variable, text.into_owned())));
            return;
        }
        self.is_whole = false;
        let is_needed = wanted.is_some() || self.mentions.contains(variable.as_str());
        if is_needed && served.is_none() {
            self.large.push((variable, shared(exact)));
        }
        if let Some(alias) = alias.filter(|alias| self.mentions.contains(alias.as_str())) {
            self.large.push((alias, shared(value)));
        }
    }

    /// Reserves room for a value, if there is any. It counts once: its alias, which is shorter, is included.
    fn takes(&mut self, variable: &str, text: &str) -> bool {
        let fits = text.len() <= self.cap
            && variable.len() + text.len() + 2 <= STRING_BYTES
            && self.bytes + text.len() <= BYTES;
        self.bytes += if fits { text.len() } else { 0 };
        fits
    }

    /// If aliases collide, the top-level name wins; between two top-level names neither is set.
    fn finish(self) -> Exports {
        let uses = &self.alias_uses;
        let mut seen = HashSet::new();
        let member_aliases = self.member_aliases.into_iter();
        let mut env: Vec<(String, String)> = member_aliases
            .filter(|(alias, _)| !uses.contains_key(alias) && seen.insert(alias.clone()))
            .collect();
        env.extend(self.aliases.into_iter().filter(|(alias, _)| uses[alias] == 1));
        env.extend(self.exact);
        let share = Share { is_whole: self.is_whole, exported: self.exported };
        Exports { env, large: self.large, share }
    }
}

/// The text of a value, without a copy if it is already text.
fn shared(value: &Value) -> Arc<str> {
    match value {
        Value::Text(text) => Arc::clone(text),
        other => Arc::from(other.render()),
    }
}

/// Words of a script that could be names of variables.
fn mentions(text: &str) -> HashSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

/// Context names whose variable or alias the script mentions, directly or as the beginning of a member's.
fn mentioned_names<'a>(frame: &'a Frame, mentions: &HashSet<&str>) -> Vec<&'a String> {
    if mentions.is_empty() {
        return Vec::new();
    }
    // runs for every name of the context in every such step, so nothing is allocated here
    let is_mentioned = |name: &&String| mentions.iter().any(|word| mentions_name(word, name));
    frame.context.keys().filter(is_mentioned).collect()
}

/// Whether a word is the variable or the alias of a name, or of something below it.
pub(super) fn mentions_name(word: &str, name: &str) -> bool {
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

/// The variables of a step itself that fit into an environment, and those that its script has to read from files.
#[expect(clippy::type_complexity, reason = "two lists of names and values, as they are handed on")]
pub fn own_room(own: Vec<(String, String)>) -> (Vec<(String, String)>, Vec<(String, Arc<str>)>) {
    let (fitting, large): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|(name, value)| name.len() + value.len() + 2 <= STRING_BYTES);
    (fitting, large.into_iter().map(|(name, value)| (name, value.into())).collect())
}

/// The shell lines that read large values from private files, given with their variables. `$(<…)` is the fastest way
/// that every bash has. It drops trailing newlines, so such a value has one more character in its file, which is
/// removed again. A variable that is inherited, or set under `allexport`, would be exported, and then no program could
/// start. If a value cannot be read, the script ends.
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
