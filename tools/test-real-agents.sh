#!/usr/bin/env bash
# The tests against the real agent programs, in both groups: called directly, and through the whole program.
# The programs are installed under target/ and reused. Where they cannot be had, one line says so and nothing fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

leave_out() {
    echo "warning: the real agent programs are not tested: $1" >&2
    exit 0
}

command -v npm >/dev/null || leave_out "npm is not installed"
mkdir -p target
log=target/real-agents.log
RECIPE_RUNNER_REAL_AGENTS=$(timeout 600 tools/real-agents.sh 2>"$log") ||
    leave_out "they cannot be installed, see $log: $(grep -i -m1 'error\|^no agent' "$log" || echo 'it took longer than 600 s')"
export RECIPE_RUNNER_REAL_AGENTS

# built first: what is bounded below is the tests alone
cargo test --no-run -p runtime -p recipe-runner-rs --test real_agents
timeout 900 cargo test -p runtime --test real_agents -- --ignored
timeout 900 cargo test -p recipe-runner-rs --test real_agents -- --ignored
