//! Agent programs on this machine: which one a step uses, whether it exists, and what to do if it does not.
//!
//! Never starts one.

use std::path::{Path, PathBuf};

use crate::{
    agents::{AgentPrograms, AgentSettings, Program, unknown_program},
    machine::{
        host::Host,
        preflight::{Need, Problem},
    },
    os::shell_word::quote,
};

/// Where the choice of a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChosenBy {
    /// The command line, the environment or a configuration: `--agent-binary` changes it.
    ForTheRun,
    /// The step; nothing overrides it.
    ByTheStep,
    /// `--repair-agent`.
    ForRepairs,
    /// `--review-agent`.
    ForReviews,
}

/// The programs that a step uses, in the order in which they are tried; `named` are those that it names itself.
pub fn choices<'a>(named: &'a [String], settings: &'a AgentSettings) -> (&'a [String], ChosenBy) {
    match named.is_empty() {
        false => (named, ChosenBy::ByTheStep),
        true => (&settings.programs, ChosenBy::ForTheRun),
    }
}

/// Those of these programs that are installed; the first one if none is.
pub fn installed(names: &[String], settings: &AgentSettings, host: &Host) -> Vec<String> {
    let is_there = |name: &&String| problem(name, ChosenBy::ForTheRun, settings, host).is_none();
    let found: Vec<String> = match names.len() {
        0 | 1 => Vec::new(),
        _ => names.iter().filter(is_there).cloned().collect(),
    };
    match found.is_empty() {
        true => names.first().cloned().into_iter().collect(),
        false => found,
    }
}

/// The first program of a step that is installed, or the first one.
pub fn choice(named: &[String], settings: &AgentSettings, host: &Host) -> (String, ChosenBy) {
    let (names, chosen) = choices(named, settings);
    let first = installed(names, settings, host).into_iter().next();
    (first.unwrap_or_else(|| settings.program().to_owned()), chosen)
}

/// The reason why none of the programs of a step can be used, if there is one.
pub fn problem_of_all(named: &[String], settings: &AgentSettings, host: &Host) -> Option<Problem> {
    let (names, _) = choices(named, settings);
    let (name, chosen) = choice(named, settings, host);
    let found = problem(&name, chosen, settings, host)?;
    let others: Vec<String> =
        names.iter().filter(|other| **other != name).map(|other| format!("`{other}`")).collect();
    let text = match others.is_empty() {
        true => found.text,
        false => format!("{} (nor can {} be used)", found.text, others.join(", ")),
    };
    Some(Problem { text, ..found })
}

/// The reason why a program cannot be used, if there is one.
pub fn problem(name: &str, chosen: ChosenBy, settings: &AgentSettings, host: &Host) -> Option<Problem> {
    let binary = binary(name, settings);
    let look = |binary: &str| match &settings.presence {
        AgentPrograms::Installed => look_for(binary, host),
        AgentPrograms::Stubbed { missing } if missing.iter().any(|other| other == name) => Presence::Missing,
        AgentPrograms::Stubbed { .. } => Presence::Found(PathBuf::from(binary)),
    };
    let text = match binary.as_deref().map(|binary| (binary, look(binary))) {
        None => unknown_program(name),
        Some((_, Presence::Found(_))) => return None,
        Some((_, Presence::NotExecutable(path))) => not_executable(&path),
        Some((binary, Presence::Missing)) => {
            format!("{}: {}", missing_program(binary, settings), ways_out(binary, chosen, settings))
        }
    };
    let need = binary.map_or_else(|| Need::Agent(name.to_owned()), Need::Program);
    Some(Problem { need, text })
}

/// The reason why the programs of a step refuse to do everything as root, if there is one, and what to do about it. What
/// they need is set for them, unless the user has set it otherwise.
pub fn root_problem(named: &[String], settings: &AgentSettings, host: &Host) -> Option<(Problem, String)> {
    if !host.is_root || settings.launcher.is_some() {
        return None;
    }
    let (name, _) = choice(named, settings, host);
    let program = Program::named(&name, &settings.custom)?;
    let is_refused = |(variable, needed): &(&str, &str)| host.var(variable).is_some_and(|set| set != *needed);
    let (variable, needed) = program.needs_as_root().find(is_refused)?;
    let text = format!("`{name}` refuses to work as root unless `{variable}={needed}`");
    let fix = format!(
        "in a container or sandbox `export {variable}={needed}`; elsewhere work as another user, or limit the agents with `permissions`"
    );
    Some((Problem { need: Need::Variables(vec![variable.to_owned()]), text }, fix))
}

/// The reason why the program for repairs cannot be used, if there is one.
pub fn repairer(name: Option<&str>, settings: &AgentSettings, host: &Host) -> Option<Problem> {
    let found = problem(name?, ChosenBy::ForRepairs, settings, host)?;
    Some(Problem { text: format!("`--repair-agent`: {}", found.text), ..found })
}

/// The reason why the program for second opinions cannot be used, if there is one.
pub fn reviewer(name: Option<&str>, settings: &AgentSettings, host: &Host) -> Option<Problem> {
    let found = problem(name?, ChosenBy::ForReviews, settings, host)?;
    Some(Problem { text: format!("`--review-agent`: {}", found.text), ..found })
}

/// Whether two names lead to the same program. Links are not followed: one file may be many programs.
pub fn is_same(one: &str, other: &str, settings: &AgentSettings, host: &Host) -> bool {
    if one == other || settings.launcher.is_some() {
        return one == other;
    }
    let place = |name: &str| {
        let binary = binary(name, settings)?;
        let Presence::Found(path) = look_for(&binary, host) else { return Some(PathBuf::from(binary)) };
        let dir = path.parent().and_then(|dir| std::fs::canonicalize(dir).ok());
        Some(dir.zip(path.file_name()).map_or_else(|| path.clone(), |(dir, name)| dir.join(name)))
    };
    place(one).is_some_and(|path| place(other) == Some(path))
}

/// What a person can do about a missing program.
fn ways_out(binary: &str, chosen: ChosenBy, settings: &AgentSettings) -> String {
    if settings.launcher.is_some() {
        return "install it, or unset `AMPLIHACK_LAUNCHER_BINARY`".to_owned();
    }
    let get = if binary.contains('/') { "correct the path" } else { "install it" };
    let other = match chosen {
        ChosenBy::ForTheRun => "choose another one with `--agent-binary NAME`",
        ChosenBy::ForRepairs => "choose another one with `--repair-agent NAME`",
        ChosenBy::ForReviews => "choose another one with `--review-agent NAME`",
        ChosenBy::ByTheStep => "name another one in the step's `agent_binary`",
    };
    format!(
        "{get}, {other}, describe your own under `agents:` in `.recipe-runner.yaml`, \
         or let a script answer, without an account (`docs/src/agents.md` shows one)"
    )
}

/// The executable of a program; `None` if the program is unknown.
pub fn binary(name: &str, settings: &AgentSettings) -> Option<String> {
    match (&settings.launcher, Program::named(name, &settings.custom)) {
        (Some(launcher), _) => Some(launcher.clone()),
        (None, None) => None,
        (None, Some(_)) if name.contains('/') => Some(name.to_owned()),
        (None, Some(program)) => Some(program.binary().to_owned()),
    }
}

/// Whether a program exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It exists here.
    Found(PathBuf),
    /// It exists here, but is not executable.
    NotExecutable(PathBuf),
    /// It does not exist.
    Missing,
}

/// Searches for a program: a path is used as it is, a name is searched in `PATH`.
pub fn look_for(name: &str, host: &Host) -> Presence {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match path.is_file() {
            _ if is_program(&path) => Presence::Found(path),
            true => Presence::NotExecutable(path),
            false => Presence::Missing,
        };
    }
    let path = host.var("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join(name));
    places.find(|path| is_program(path)).map_or(Presence::Missing, Presence::Found)
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The message about a missing program.
pub fn missing_program(binary: &str, settings: &AgentSettings) -> String {
    let kind = if settings.launcher.is_some() { "launcher" } else { "agent program" };
    match binary.contains('/') {
        true => format!("{kind} `{}` does not exist", from_here(Path::new(binary))),
        false => format!("{kind} `{binary}` is not found in PATH"),
    }
}

/// The message about a program that exists but cannot be started.
pub fn not_executable(path: &Path) -> String {
    let path = from_here(path);
    format!("`{path}` is not executable: `chmod +x {}`", quote(&path))
}

/// A path as a user would type it in the current directory.
pub fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().ok().and_then(|dir| path.strip_prefix(dir).ok());
    match here.map(|below| Path::new(".").join(below)) {
        Some(below) => below.display().to_string(),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::CustomProgram;

    fn custom(command: &str) -> Vec<CustomProgram> {
        let json = serde_json::json!({ "name": "mine", "command": command });
        serde_json::from_value(json).into_iter().collect()
    }

    fn check(name: &str, chosen: ChosenBy, settings: &AgentSettings, words: &[&str], not: &[&str]) {
        let env = std::iter::once(("PATH".into(), "/nowhere".into())).collect();
        let host = Host {
            env,
            home: None,
            grace: std::time::Duration::ZERO,
            is_root: false,
            guardian: None,
            named: Vec::new(),
        };
        let found = problem(name, chosen, settings, &host).map_or_else(String::new, |problem| problem.text);
        for word in words {
            assert!(found.contains(word), "{name}: `{word}` is not in: {found}");
        }
        for word in not {
            assert!(!found.contains(word), "{name}: `{word}` is in: {found}");
        }
    }

    #[test]
    fn a_missing_program_comes_with_ways_out() {
        let usual = AgentSettings::default();
        let ways = ["`claude` is not found in PATH", "install it", "under `agents:`", "docs/src/agents.md"];
        check("claude", ChosenBy::ForTheRun, &usual, &ways, &["does not exist", "step's"]);
        check("claude", ChosenBy::ForTheRun, &usual, &["`--agent-binary NAME`"], &[]);
        check("claude", ChosenBy::ByTheStep, &usual, &["step's `agent_binary`"], &["--agent-binary"]);
        check("parrot", ChosenBy::ByTheStep, &usual, &["`parrot` is not known", "under `agents:`"], &[]);
        let launched = AgentSettings { launcher: Some("go".to_owned()), ..AgentSettings::default() };
        check("claude", ChosenBy::ForTheRun, &launched, &["`go`", "AMPLIHACK_LAUNCHER_BINARY"], &["account"]);
    }

    #[test]
    fn a_path_has_nothing_to_do_with_path() {
        let nowhere = AgentSettings { custom: custom("/no/such/program"), ..AgentSettings::default() };
        let words = ["`/no/such/program` does not exist", "correct the path"];
        check("mine", ChosenBy::ForTheRun, &nowhere, &words, &["PATH", "install it"]);
        check("/no/such/claude", ChosenBy::ByTheStep, &nowhere, &["does not exist"], &["PATH"]);
    }

    #[test]
    fn a_file_that_is_no_program_is_made_one() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let plain = AgentSettings { custom: custom(here), ..AgentSettings::default() };
        let words = ["`./Cargo.toml` is not executable: `chmod +x ./Cargo.toml`"];
        check("mine", ChosenBy::ForTheRun, &plain, &words, &["PATH"]);
        assert_eq!(not_executable(Path::new("/a b")), "`/a b` is not executable: `chmod +x '/a b'`");
    }
}
