//! Agents for tests: small real programs, good and faulty ones, that replace `claude` and others.
//!
//! Each is a shell script in its own directory. Its calls are recorded in `asked/` next to the working directory's
//! files, one folder per call: `prompt` (its stdin), `argv` (one argument per line), `env`, `cwd`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::TestEnv;

/// The first action of every agent: it records its call. `$CALL` is the folder of this call.
const HEAD: &str = r#"#!/bin/bash
ASKED="${ZOO_DIR:?}/asked"
mkdir -p "$ASKED"
n=$(($(ls "$ASKED" | wc -l) + 1)); until mkdir "$ASKED/$n" 2>/dev/null; do n=$((n+1)); done
CALL="$ASKED/$n"
for arg in "$@"; do printf '%s\n' "$arg"; done > "$CALL/argv"
env -0 | tr '\n\0' ' \n' | sort > "$CALL/env"
pwd > "$CALL/cwd"
[ -n "$ZOO_NO_STDIN" ] || cat > "$CALL/prompt"
# one event of `claude`'s stream: the final result
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-%s","total_cost_usd":%s,"num_turns":2,"usage":{"input_tokens":%s,"output_tokens":%s},"modelUsage":{"zoo-model":{}}}\n' "$1" "$n" "${2:-0.25}" "${3:-100}" "${4:-20}"; }
say() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}]},"session_id":"s"}\n' "$RANDOM$RANDOM" "$1"; }
tool() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"tool_use","name":"%s","input":{"file_path":"%s"}}]},"session_id":"s"}\n' "$RANDOM$RANDOM" "$1" "$2"; }
"#;

impl TestEnv {
    /// Puts an agent program of that name into the world; `body` is its script.
    #[must_use]
    pub fn agent(self, name: &str, body: &str) -> TestEnv {
        self.put_agent(name, body);
        let (bin, path) = (self.zoo().join("bin"), std::env::var("PATH").unwrap_or_default());
        let zoo = self.zoo().display().to_string();
        self.env("PATH", &format!("{}:{path}", bin.display())).env("ZOO_DIR", &zoo)
    }

    /// The same in a world that is already in use: the agent gets another script.
    pub fn put_agent(&self, name: &str, body: &str) {
        let bin = self.zoo().join("bin");
        let file = bin.join(name);
        // a new file: the old one may be running
        let _ = fs::remove_file(&file);
        let written = fs::create_dir_all(&bin)
            .and_then(|()| fs::write(&file, format!("{HEAD}{body}\n")))
            .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)));
        crate::world::must(written);
    }

    /// The folder of the agents and of their recorded calls.
    pub fn zoo(&self) -> PathBuf {
        self.tmp().join("zoo")
    }

    /// How often agents were called.
    pub fn calls(&self) -> usize {
        fs::read_dir(self.zoo().join("asked")).map_or(0, Iterator::count)
    }

    /// A recorded file of a call, counted from 1: `prompt`, `argv`, `env` or `cwd`.
    pub fn asked(&self, call: usize, what: &str) -> String {
        let file = self.zoo().join("asked").join(call.to_string()).join(what);
        fs::read_to_string(file).unwrap_or_default()
    }

    /// The value of an environment variable in a call.
    pub fn asked_env(&self, call: usize, name: &str) -> Option<String> {
        let env = self.asked(call, "env");
        let prefix = format!("{name}=");
        env.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    }
}
