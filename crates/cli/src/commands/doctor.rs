//! `doctor`: what this machine has for running recipes, what is missing, and the fix for each problem.
//!
//! Reports only what it has tried: it starts known programs with `--version` and writes files. Only `--agents` tries
//! logins, and starts programs that a configuration names.

mod agents;
mod probe;

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use anstyle::{AnsiColor, Color, Style};
use jiff::Timestamp;
use runtime::{
    machine::{
        local::{Allowance, SettingError},
        programs::{Presence, from_here, look_for},
    },
    os::clock,
    requests::AgentChoice,
};
use serde_json::{Value as Json, json};

use crate::{
    args::{DoctorArgs, options::OutputFormat},
    environment::Environment,
    exit::Exit,
    host,
    out::Out,
    report::failure::clean,
};

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shell that steps run in.
const SHELL: &str = "/bin/bash";

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// It works, as far as it was tried.
    Ok,
    /// It is missing, and only some recipes need it.
    Absent,
    /// It exists but does not work, and only some recipes need it.
    Unusable,
    /// An agent program that was not asked yet: whether it is logged in is unknown.
    Found,
    /// An agent program that answered when it was asked.
    Verified,
    /// An agent program that cannot work here, or did not answer when it was asked.
    Failed,
    /// No recipe can run.
    Broken,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Absent => "absent",
            Status::Unusable => "unusable",
            Status::Found => "found",
            Status::Verified => "verified",
            Status::Failed => "failed",
            Status::Broken => "broken",
        }
    }

    fn sign(self) -> (char, AnsiColor) {
        match self {
            Status::Ok | Status::Verified => ('✓', AnsiColor::Green),
            Status::Found => ('?', AnsiColor::Cyan),
            Status::Absent => ('–', AnsiColor::BrightBlack),
            Status::Unusable | Status::Failed => ('!', AnsiColor::Yellow),
            Status::Broken => ('✗', AnsiColor::BrightRed),
        }
    }
}

/// One checked item.
#[derive(Debug)]
struct Finding {
    name: String,
    kind: &'static str,
    status: Status,
    path: Option<PathBuf>,
    version: Option<String>,
    detail: Option<String>,
    fix: Option<String>,
    /// It is the agent that steps without a choice use.
    is_default: bool,
    /// When an agent program was last asked.
    checked: Option<Timestamp>,
    /// The answer of an agent program that was asked.
    asked: Option<probe::Probe>,
}

impl Finding {
    fn new(kind: &'static str, name: impl Into<String>, status: Status) -> Finding {
        let name = name.into();
        Finding {
            name,
            kind,
            status,
            path: None,
            version: None,
            detail: None,
            fix: None,
            is_default: false,
            checked: None,
            asked: None,
        }
    }

    fn problem(mut self, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
        (self.detail, self.fix) = (Some(detail.into()), Some(fix.into()));
        self
    }

    fn as_json(&self) -> Json {
        json!({
            "name": self.name,
            "kind": self.kind,
            "status": self.status.word(),
            "path": self.path.as_ref().map(|path| path.to_string_lossy()),
            "version": self.version,
            "detail": self.detail,
            "fix": self.fix,
            "checked_at": self.checked.map(|at| at.to_string()),
            "is_default": self.is_default,
            "asked": self.asked.as_ref().map(probe::Probe::as_json),
        })
    }

    fn as_text(&self) -> String {
        let (sign, colour) = self.status.sign();
        let style = Style::new().fg_color(Some(Color::Ansi(colour)));
        let facts = match self.agent_state() {
            Some(state) => {
                let detail = self.detail.clone().filter(|_| self.status == Status::Verified);
                [self.version.clone(), Some(state), detail]
            }
            None => [self.version.clone(), self.detail.clone(), self.path.as_deref().map(from_here)],
        };
        let default = self.is_default.then(|| "default agent".to_owned());
        let facts: Vec<String> =
            facts.into_iter().chain([default]).flatten().map(|fact| clean(&fact)).collect();
        let mut text = format!("{style}{sign}{style:#} {:<16} {}\n", self.name, facts.join(", "));
        if let Some(fix) = &self.fix {
            text.push_str(&format!("    fix: {}\n", clean(fix)));
        }
        text
    }
}

/// Checks everything.
pub(crate) fn doctor(args: &DoctorArgs, environment: &Environment, out: &mut Out) -> Exit {
    let dir = args
        .working_dir
        .as_deref()
        .map_or_else(|| environment.machine.cwd.clone(), |dir| environment.absolute(dir));
    let mut findings = vec![runner(environment), shell(), git(environment), state(args, environment)];
    findings.extend(processes());
    match environment.machine.agents(&AgentChoice::default(), Allowance::default(), &dir) {
        Ok(settings) => {
            let mut found = agents::look(&settings, environment);
            let home = host::state_dir(args.state_dir.as_deref(), environment).ok();
            if args.agents {
                out.notice("note: asking each agent program for one word, which may cost money");
                agents::ask_all(&mut found, &dir, environment);
                if let Some(Err(error)) = home.map(|home| agents::store(&found, &home)) {
                    out.notice(&format!("warning: these checks are not remembered: {error}"));
                }
            } else if let Some(home) = home {
                agents::recall(&mut found, &home);
            }
            findings.extend(found);
        }
        Err(error) => findings.push(configuration(&error)),
    }
    let broken = findings.iter().any(|finding| finding.status == Status::Broken);
    match args.format.output_format {
        OutputFormat::Json => {
            let checks: Vec<Json> = findings.iter().map(Finding::as_json).collect();
            out.json(&json!({ "ok": !broken, "checks": checks }));
        }
        OutputFormat::Text => {
            findings.iter().for_each(|finding| out.result(finding.as_text().trim_end()));
            out.result(match broken {
                true => "\nRecipes cannot run here until the problems marked ✗ are fixed.",
                false if args.agents => "\nRecipes can run here.",
                false => "\nRecipes can run here. Agent logins were not checked (`doctor --agents` does).",
            });
        }
    }
    if broken { Exit::Blocked } else { Exit::Success }
}

fn runner(environment: &Environment) -> Finding {
    let mut finding = Finding::new("runner", "recipe-runner-rs", Status::Ok);
    finding.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    finding.path.clone_from(&environment.machine.program);
    finding
}

fn shell() -> Finding {
    tried("shell", "bash", Path::new(SHELL), Status::Broken, "install bash, so that /bin/bash works")
}

fn processes() -> Option<Finding> {
    let detail = runtime::os::process::visibility_warning()?;
    let fix = "mount it: `mount -t proc proc /proc`, or `unshare --mount-proc`, `bwrap --proc /proc`";
    Some(Finding::new("processes", "/proc", Status::Unusable).problem(detail, fix))
}

fn git(environment: &Environment) -> Finding {
    let fix = "install git; recipes that work with repositories need it";
    match find(environment, "git") {
        Some(path) => tried("git", "git", &path, Status::Unusable, fix),
        None => Finding::new("git", "git", Status::Absent).problem("not found in PATH", fix),
    }
}

fn find(environment: &Environment, name: &str) -> Option<PathBuf> {
    match look_for(name, &environment.machine.bare()) {
        Presence::Found(path) => Some(path),
        Presence::NotExecutable(_) | Presence::Missing => None,
    }
}

/// A program that was found, with its version if it prints one.
fn tried(kind: &'static str, name: &str, path: &Path, otherwise: Status, fix: &str) -> Finding {
    let mut finding = match ask_version(path) {
        Ok(version) => {
            let mut finding = Finding::new(kind, name, Status::Ok);
            finding.version = Some(version);
            finding
        }
        Err(problem) => Finding::new(kind, name, otherwise).problem(problem, fix),
    };
    finding.path = Some(path.to_owned());
    finding
}

fn configuration(error: &SettingError) -> Finding {
    let fix = "correct that file; no run starts until then";
    Finding::new("configuration", "configuration", Status::Broken).problem(error.to_string(), fix)
}

/// Tries to write to the state directory, or to where it would be made.
fn state(args: &DoctorArgs, environment: &Environment) -> Finding {
    let fix = "make it writable, or choose another directory with `--state-dir DIR`";
    let dir = match host::state_dir(args.state_dir.as_deref(), environment) {
        Ok(dir) => dir,
        Err(failure) => {
            return Finding::new("state", "state directory", Status::Broken)
                .problem(failure.message, "set HOME, or choose a directory with `--state-dir DIR`");
        }
    };
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    let mut finding = match tempfile::tempfile_in(existing) {
        Ok(_) => Finding::new("state", "state directory", Status::Ok),
        Err(error) => {
            let problem = format!("`{}` is not writable: {error}", existing.display());
            Finding::new("state", "state directory", Status::Broken).problem(problem, fix)
        }
    };
    finding.path = Some(dir);
    finding
}

/// The first line of a program's version output.
fn ask_version(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("`--version` cannot be tried: {error}");
    let mut said = tempfile::tempfile().map_err(failed)?;
    let (status, said_file) = run(path, &said).map_err(failed).map(|status| (status, &mut said))?;
    let mut text = Vec::new();
    said_file.rewind().and_then(|()| said_file.take(4096).read_to_end(&mut text)).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    match status {
        None => Err(format!("`--version` did not end within {} s", PATIENCE.as_secs())),
        Some(status) if !status.success() => Err(format!("`--version` failed ({status}): {line}")),
        Some(_) if line.is_empty() => Err("`--version` printed nothing".to_owned()),
        Some(_) => Ok(line),
    }
}

/// Runs `PROGRAM --version`; `None` if it had to be ended.
fn run(path: &Path, output: &File) -> io::Result<Option<ExitStatus>> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).process_group(0);
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let mut child = command.spawn()?;
    let began = clock::instant();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.wait()?;
    Ok(None)
}
