//! Commands that run somewhere else: in a container, a pod, another environment.
//!
//! Only finds the command that is run there; does not check that the command can get there.

use super::program::Call;

/// Options of programs that run something, which take a value.
const VALUED: [&str; 46] = [
    "-e",
    "--env",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "-v",
    "--volume",
    "-p",
    "--publish",
    "--name",
    "--entrypoint",
    "-l",
    "--label",
    "--network",
    "--net",
    "--platform",
    "--mount",
    "--env-file",
    "-f",
    "--file",
    "--project-name",
    "--profile",
    "--project-directory",
    "-m",
    "--memory",
    "--cpus",
    "--add-host",
    "--hostname",
    "-h",
    "--index",
    "-c",
    "--container",
    "-n",
    "--namespace",
    "--context",
    "--gpus",
    "--shm-size",
    "--pull",
    "--ulimit",
    "--cap-add",
    "--security-opt",
    "--device",
    "--tmpfs",
    "-H",
    "--host",
];

/// The command inside a container, as in `docker compose run --rm web pytest`.
pub(super) fn contained(call: &Call) -> Option<Call> {
    let words = &call.words;
    let at = match call.program.as_str() {
        "docker" | "podman" | "nerdctl" => {
            let at = skip_options(words, 1);
            let composes = words.get(at).is_some_and(|word| word == "compose");
            after_target(words, if composes { skip_options(words, at + 1) } else { at })?
        }
        "docker-compose" | "podman-compose" => after_target(words, skip_options(words, 1))?,
        "kubectl" | "oc" | "lxc" if call.has("exec") => words.iter().position(|word| word == "--")? + 1,
        "nix" if call.has("develop") || call.has("shell") => {
            words.iter().position(|word| matches!(word.as_str(), "-c" | "--command"))? + 1
        }
        _ => return None,
    };
    words.get(at..).filter(|rest| !rest.is_empty()).map(Call::of)
}

/// The place of the command after `run` or `exec`, their options, and the image or the service.
fn after_target(words: &[String], verb: usize) -> Option<usize> {
    words.get(verb).filter(|word| matches!(word.as_str(), "run" | "exec"))?;
    Some(skip_options(words, verb + 1) + 1)
}

fn skip_options(words: &[String], start: usize) -> usize {
    let mut at = start;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if VALUED.contains(&word.as_str()) { 2 } else { 1 };
    }
    at
}
