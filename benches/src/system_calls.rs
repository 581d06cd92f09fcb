//! System calls of the runner itself, as `strace` counts them. Calls of the programs that it starts are left out.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    program::{Bench, bash, measure},
    recipes,
    table::Row,
};

/// How many steps more the longer recipe has.
const MORE: usize = 100;

/// What one step more costs, against one turn more of a loop in `bash`.
pub(crate) fn of_a_step(bench: &Bench) -> Vec<Row> {
    let figure = "system calls of a plain step ÷ of a turn of a loop in `bash`";
    if measure(&mut bash("strace -o /dev/null true")).code != Some(0) {
        return vec![Row::unmeasured(figure, "`strace` is not installed, or may not be used here")];
    }
    let recipe = |count: usize| bench.file(&format!("true-{count}.yaml"), &recipes::repeat(count, "true"));
    let (one, many) = (recipe(1), recipe(1 + MORE));
    let run = |recipe: &Path| {
        bench.start_afresh();
        calls(bench, bench.runner([recipe.as_os_str()]).arg("--quiet"))
    };
    let turns = |count: usize| {
        calls(bench, &mut bash(&format!("for ((i = 0; i < {count}; i++)); do bash -c true; done")))
    };
    let each = |more: f64, one: f64| (more - one) / MORE as f64;
    let pair = bench.compare(3, &|| each(run(&many), run(&one)), &|| each(turns(1 + MORE), turns(1)));
    vec![Row::count(figure, pair, 45.0)]
}

/// How many system calls a program makes, in all its threads.
fn calls(bench: &Bench, command: &mut Command) -> f64 {
    let dir = tempfile::tempdir_in(bench.home()).expect("there is room for files");
    let mut strace = Command::new("strace");
    strace.args(["-ff", "-qq", "-o"]).arg(dir.path().join("calls")).arg(command.get_program());
    strace.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    if let Some(place) = command.get_current_dir() {
        strace.current_dir(place);
    }
    assert_eq!(measure(&mut strace).code, Some(0), "{command:?}");
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir.path()).expect("it is there").flatten().map(|entry| entry.path()).collect();
    // there is one file for each thread, with its number at the end: the program itself has the lowest
    files.sort_by_key(|file| file.extension().and_then(|number| number.to_str()?.parse::<u64>().ok()));
    let texts =
        files.iter().map(|file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned());
    let own = texts.enumerate().filter(|(at, text)| *at == 0 || !has_executed(text));
    own.map(|(_, text)| text.lines().filter(|line| is_call(line)).count()).sum::<usize>() as f64
}

/// Whether a process became another program: one that the first program started.
fn has_executed(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("execve("))
}

/// Signals and exits have lines, too.
fn is_call(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{has_executed, is_call};

    #[test]
    fn lines_of_strace() {
        assert!(is_call("openat(AT_FDCWD, \"x\", O_RDONLY) = 3") && is_call("exit_group(0) = ?"));
        assert!(!is_call("--- SIGCHLD {si_signo=SIGCHLD} ---") && !is_call("+++ exited with 0 +++"));
        assert!(has_executed("close(3) = 0\nexecve(\"/bin/bash\", [\"bash\"], 0x1) = 0\n"));
        assert!(!has_executed("write(1, \"execve(\", 7) = 7\n"));
    }
}
