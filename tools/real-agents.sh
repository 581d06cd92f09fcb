#!/bin/sh
# Installs the agent programs that the real-agents tests drive, pinned, unless they are there already,
# and prints the directory: RECIPE_RUNNER_REAL_AGENTS=$(tools/real-agents.sh) cargo test --test real_agents -- --ignored
# Some of them are proprietary: they are installed for tests and never become part of this project.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$here/target/real-agents}
versions='@anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 @google/gemini-cli@0.61.0 @github/copilot@1.0.102 opencode-ai@1.18.33'
stamp=$dir/installed

if [ "$(cat "$stamp" 2>/dev/null)" != "$versions" ]; then
    mkdir -p "$dir/bin"
    # shellcheck disable=SC2086 # one word per package
    npm install --no-audit --no-fund --no-update-notifier --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=60000 --prefix "$dir" $versions >&2
    modules=$dir/node_modules
    # The platform's own binary inside each package: the wrappers around them need install scripts.
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) platform=linux-x64 target=x86_64-unknown-linux-musl ;;
        Linux-aarch64) platform=linux-arm64 target=aarch64-unknown-linux-musl ;;
        Darwin-arm64) platform=darwin-arm64 target=aarch64-apple-darwin ;;
        *) echo "no agent programs for $(uname -s) $(uname -m)" >&2; exit 1 ;;
    esac
    ln -sf "$modules/@anthropic-ai/claude-code-$platform/claude" "$dir/bin/claude"
    ln -sf "$modules/@openai/codex-$platform/vendor/$target/bin/codex" "$dir/bin/codex"
    ln -sf "$modules/@github/copilot-$platform/copilot" "$dir/bin/copilot"
    ln -sf "$modules/.bin/gemini" "$dir/bin/gemini"
    ln -sf "$modules/opencode-$platform/bin/opencode" "$dir/bin/opencode"
    echo "$versions" >"$stamp"
fi
echo "$dir"
