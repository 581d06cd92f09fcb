//! `compat`: does what recipes of other runners expect a program `amplihack` to do.

mod artifact_guard;
mod helper;
mod recipe_call;
mod workstreams;

use std::ffi::OsString;

use clap::Parser as _;
use runtime::{
    machine::compat_shims::{ForeignFile, ShimError, install, uninstall},
    os::exec::become_program,
};

use super::orch::{run_file, session};
use crate::{
    args::compat::{
        AmplihackCall, AmplihackCli, AmplihackOrchVerb, CompatArgs, CompatInstallArgs, CompatUninstallArgs,
        CompatVerb, HygieneCheck,
    },
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// The agent programs that a call can start.
const PROGRAMS: [&str; 5] = ["claude", "codex", "copilot", "gemini", "amplifier"];
/// The other calls.
const CALLS: [&str; 5] = ["orch helper", "orch run", "session-tree", "hygiene artifact-guard", "recipe"];

/// Works with recipes of other runners.
pub(crate) fn compat(args: CompatArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    match args.verb {
        CompatVerb::Install(args) => installed(&args, environment, out),
        CompatVerb::Uninstall(args) => uninstalled(&args, environment, out),
        CompatVerb::Amplihack(args) => amplihack(args.words, environment, out),
    }
}

fn installed(args: &CompatInstallArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let dir = environment.absolute(&args.dir);
    let Some(program) = &environment.machine.program else {
        return Err(Failure::new(Exit::Broken, "the path of this program is not known"));
    };
    let foreign = if args.force { ForeignFile::MovedAside } else { ForeignFile::Kept };
    let host = environment.machine.bare();
    let done = install(&dir, program, foreign, &host).map_err(|error| match error {
        ShimError::Foreign(_) => Failure::new(Exit::Conflict, error.to_string())
            .without_obstacle()
            .hint("`--force` moves it aside"),
        ShimError::Folder(error) => Failure::new(Exit::Broken, error.to_string()),
    })?;
    for (file, aside) in &done.moved {
        out.notice(&format!("moved {} to {}", file.display(), aside.display()));
    }
    let written: Vec<String> = done.written.iter().map(|file| file.display().to_string()).collect();
    out.result(&written.join("\n"));
    let path = host.var("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|known| known == dir) {
        out.notice(&format!("{} is not in PATH: add it, or run recipes with `--compat`", dir.display()));
    }
    Ok(Exit::Success)
}

fn uninstalled(
    args: &CompatUninstallArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let removed = uninstall(&environment.absolute(&args.dir))
        .map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
    match removed.is_empty() {
        true => out.notice("nothing to remove"),
        false => removed.iter().for_each(|file| out.result(&format!("removed {}", file.display()))),
    }
    Ok(Exit::Success)
}

/// Does what a call asks for.
fn amplihack(words: Vec<OsString>, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let arguments = std::iter::once(OsString::from("amplihack")).chain(words);
    let cli = match AmplihackCli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(usage) => return Ok(crate::explain_usage(&usage, Some(&known_calls()), out)),
    };
    match cli.call {
        AmplihackCall::Orch(args) => match args.verb {
            AmplihackOrchVerb::Helper(args) => helper::help(&args.helper, environment, out),
            AmplihackOrchVerb::Run(args) => run_file::run_file(*args, environment, out),
        },
        AmplihackCall::SessionTree(verb) => session::session(&verb, environment, out),
        AmplihackCall::Hygiene(args) => {
            let HygieneCheck::ArtifactGuard(args) = args.check;
            artifact_guard::guard(&args, environment, out)
        }
        AmplihackCall::Recipe(args) => recipe_call::recipe(args.verb, environment, out),
        AmplihackCall::Program(words) => program(&words, out),
    }
}

/// Becomes an agent program.
fn program(words: &[OsString], out: &mut Out) -> Result<Exit, Failure> {
    let Some((name, args)) = words.split_first() else { return Ok(Exit::Invalid) };
    let name = name.to_string_lossy();
    if !PROGRAMS.contains(&&*name) {
        return Err(Failure::new(Exit::Invalid, format!("unknown call `{name}`")).hint(known_calls()));
    }
    let args = match args {
        [first, rest @ ..] if first == "--" => rest,
        args => args,
    };
    out.flush();
    let error = become_program(&name, args);
    out.notice(&format!("{name}: {error}"));
    Ok(Exit::NoProgram)
}

fn known_calls() -> String {
    format!("known calls: {}, {}", CALLS.join(", "), PROGRAMS.join(", "))
}
