//! What an agent costs besides its own work: time for one, memory and idle time for many.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use crate::{
    program::{Bench, Used, bash, measure},
    recipes,
    table::Row,
    turns::Pair,
};

/// How many agents work at the same time.
const MANY: usize = 200;

/// Agents that do nothing but answer.
pub(crate) fn agents(bench: &Bench) -> Vec<Row> {
    let mut rows = vec![at_once(bench)];
    let (short, long) = (many(bench, 2), many(bench, 12));
    let shell = in_shell(bench, 2);
    let memory = Pair::once(long.megabytes, shell.megabytes);
    rows.push(Row::memory("peak memory: 200 agents in a group ÷ `bash` that starts them", memory, 50.0));
    // both start and end the same programs: the difference was used while idle
    let idle = (long.cpu - short.cpu).max(0.0) / (long.seconds - short.seconds);
    rows.push(Row::share("processor time while 200 agents are silent", idle, 0.02));
    rows
}

/// One that answers at once, against its program alone.
fn at_once(bench: &Bench) -> Row {
    let program = agent(bench, 0);
    let recipe = bench.file("agent.yaml", &recipes::of(["  - {id: ask, prompt: hello}\n".to_owned()]));
    let name = program.to_string_lossy().into_owned();
    let run = || bench.run(&recipe, &["--agent-binary", &name]).seconds;
    let pair = bench.compare(21, &run, &|| measure(&mut Command::new(&program)).seconds);
    Row::more("an agent that answers at once ÷ its program alone", pair, 0.05)
}

/// A group of them, each silent for so many seconds.
fn many(bench: &Bench, seconds: u32) -> Used {
    let name = agent(bench, seconds).to_string_lossy().into_owned();
    let steps = (1..=MANY).map(|n| format!("  - {{id: ask-{n}, prompt: hello, parallel_group: all}}\n"));
    let recipe = bench.file("agents.yaml", &recipes::of(steps));
    bench.run(&recipe, &["--agent-binary", &name, "--max-parallel", "200", "--max-agents", "200"])
}

/// The same programs, started by a shell.
fn in_shell(bench: &Bench, seconds: u32) -> Used {
    let program = agent(bench, seconds);
    measure(&mut bash(&format!("for ((i = 0; i < {MANY}; i++)); do '{}' & done; wait", program.display())))
}

/// A program in the place of `claude` that answers after so many seconds.
fn agent(bench: &Bench, seconds: u32) -> PathBuf {
    let wait = if seconds == 0 { String::new() } else { format!("sleep {seconds}\n") };
    let text = format!(
        "#!/bin/bash\nread -r _\n{wait}echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}}'\n"
    );
    let path = bench.file("claude", &text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made a program");
    path
}
