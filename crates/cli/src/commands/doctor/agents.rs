//! The agent programs of this machine: absent, found, verified or failed.
//!
//! Only [`ask_all`] verifies a program.

use std::{
    path::{Path, PathBuf},
    thread,
};

use runtime::{
    agents::{AgentSettings, Program},
    machine::{
        local::LocalMachine,
        programs::{Presence, from_here, look_for, root_problem},
    },
    os::{clock, shell_word::quote},
    store::{
        agent_checks::{AgentCheck, AgentChecks},
        locked_json::LockedJsonError,
    },
};

use super::{Finding, Status, probe, tried};
use crate::environment::Environment;

/// The kind of these findings.
const KIND: &str = "agent";

/// The programs that steps can name, all started at once: some take a second to start.
pub(super) fn look(settings: &AgentSettings, environment: &Environment) -> Vec<Finding> {
    let mut names: Vec<String> = settings.custom.iter().map(|program| program.name.clone()).collect();
    names.extend(settings.launcher.clone());
    names.extend(Program::known_names().map(str::to_owned));
    names.extend(settings.programs.iter().cloned());
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    thread::scope(|scope| {
        let look = |name: String| scope.spawn(move || agent(&name, settings, environment));
        let tasks: Vec<_> = names.into_iter().map(look).collect();
        tasks.into_iter().filter_map(|task| task.join().ok()).collect()
    })
}

/// Asks every program that was found for one word, all at once.
pub(super) fn ask_all(findings: &mut [Finding], dir: &Path, environment: &Environment) {
    let machine = LocalMachine { cwd: dir.to_owned(), ..environment.machine.clone() };
    thread::scope(|scope| {
        for finding in findings.iter_mut().filter(|finding| finding.status == Status::Found) {
            let machine = &machine;
            scope.spawn(move || {
                let asked = probe::ask(&finding.name, machine);
                finding.detail = asked.error.is_none().then(|| asked.in_words());
                finding.checked = Some(clock::now());
                finding.judge(asked.error.as_deref());
                finding.asked = Some(asked);
            });
        }
    });
}

/// Stores what came of the questions.
pub(super) fn store(findings: &[Finding], home: &Path) -> Result<(), LockedJsonError> {
    let check = |finding: &Finding| {
        let asked = finding.asked.as_ref()?;
        let check = AgentCheck {
            path: finding.path.clone()?,
            version: finding.version.clone(),
            at: finding.checked?,
            error: asked.error.clone(),
        };
        Some((finding.name.clone(), check))
    };
    AgentChecks::of(home).store(findings.iter().filter_map(check).collect())
}

/// Adds what earlier questions to the same programs came to. A program that was replaced since is unknown again.
pub(super) fn recall(findings: &mut [Finding], home: &Path) {
    let checks = AgentChecks::of(home).look();
    for finding in findings.iter_mut().filter(|finding| finding.status == Status::Found) {
        let same = |check: &&AgentCheck| {
            Some(&check.path) == finding.path.as_ref() && check.version == finding.version
        };
        if let Some(check) = checks.get(&finding.name).filter(same) {
            finding.checked = Some(check.at);
            finding.judge(check.error.as_deref());
        }
    }
}

impl Finding {
    /// Sets the state of a program that was asked.
    fn judge(&mut self, error: Option<&str>) {
        self.status = if error.is_none() { Status::Verified } else { Status::Failed };
        if let Some(error) = error {
            self.detail = Some(format!("does not answer: {}", error.trim()));
            self.fix = Some("log in, or choose another one with `--agent-binary NAME`".to_owned());
        }
    }

    /// The state of an agent program in words.
    pub(super) fn agent_state(&self) -> Option<String> {
        let path = self.path.as_deref().map(from_here).unwrap_or_default();
        let time = self.checked.map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
        Some(match self.status {
            Status::Found => format!("found ({path}), login unknown"),
            Status::Verified => format!("verified ({})", time.unwrap_or_default()),
            Status::Failed => {
                let time = time.map_or_else(String::new, |time| format!("; {time}"));
                format!("failed ({}{time})", self.detail.as_deref().unwrap_or_default())
            }
            Status::Absent if self.kind == KIND => {
                format!("absent ({})", self.detail.as_deref().unwrap_or_default())
            }
            Status::Ok | Status::Absent | Status::Unusable | Status::Broken => return None,
        })
    }
}

fn agent(name: &str, settings: &AgentSettings, environment: &Environment) -> Finding {
    let is_default = name == settings.program();
    let binary = match Program::named(name, &settings.custom) {
        Some(program) if !name.contains('/') => program.binary().to_owned(),
        _ => name.to_owned(),
    };
    let choose = "choose another one with `--agent-binary NAME`";
    let mut finding = match look_for(&binary, &environment.machine.bare()) {
        Presence::Found(path) if is_trusted(name, settings) => {
            tried(KIND, name, &path, Status::Failed, &format!("reinstall it, or {choose}"))
        }
        Presence::Found(path) => untried(name, path),
        Presence::NotExecutable(path) => not_executable(name, path),
        Presence::Missing => {
            let mut finding = Finding::new(KIND, name, Status::Absent);
            finding.detail = Some(absence(&binary));
            let get = if binary.contains('/') { "correct the path" } else { "install it" };
            finding.fix = is_default.then(|| format!("{get}, or {choose}"));
            finding
        }
    };
    if finding.status == Status::Ok {
        finding.status = Status::Found;
    }
    finding.is_default = is_default;
    let refusal = root_problem(&[name.to_owned()], settings, &environment.machine.bare());
    if let Some((problem, fix)) = refusal.filter(|_| finding.status == Status::Found) {
        finding.status = Status::Failed;
        finding.detail = Some(problem.text);
        finding.fix = Some(fix);
    }
    finding
}

/// Whether a program may be started for a check: one that a project's configuration names may not.
fn is_trusted(name: &str, settings: &AgentSettings) -> bool {
    Program::known_names().any(|known| known == name)
        && !settings.custom.iter().any(|program| program.name == name)
}

/// A program that was found but not started.
fn untried(name: &str, path: PathBuf) -> Finding {
    let mut finding = Finding::new(KIND, name, Status::Found);
    finding.path = Some(path);
    finding
}

fn not_executable(name: &str, path: PathBuf) -> Finding {
    let shown = from_here(&path);
    let mut finding = Finding::new(KIND, name, Status::Failed)
        .problem(format!("`{shown}` is not executable"), format!("chmod +x {}", quote(&shown)));
    finding.path = Some(path);
    finding
}

fn absence(binary: &str) -> String {
    match binary.contains('/') {
        true => format!("`{}` does not exist", from_here(Path::new(binary))),
        false => "not found in PATH".to_owned(),
    }
}
