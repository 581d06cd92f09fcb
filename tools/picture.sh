#!/usr/bin/env bash
# Runs the program on the recipes in tools/picture/ and makes the README's picture of what the terminal shows.
#
#   tools/picture.sh [PROGRAM] [FILE]     default: target/debug/recipe-runner-rs docs/src/images/terminal.svg
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${1:-$here/target/debug/recipe-runner-rs}
file=${2:-$here/docs/src/images/terminal.svg}

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir "$home/project"
cp "$here"/tools/picture/*.yaml "$home/project"
cd "$home/project"

# a program of that name, so that the commands are typed as a user types them
mkdir "$home/bin"
ln -s "$program" "$home/bin/recipe-runner-rs"

show() {
    printf '\033[32m$\033[0m \033[1m%s\033[0m\n' "$1"
    env -i HOME="$home" PATH="$home/bin:$PATH" TERM=xterm-256color CLICOLOR_FORCE=1 COLUMNS=100 LANG=C.UTF-8 \
        bash -c "$1" 2>&1 </dev/null || true
    echo
}

{
    show "recipe-runner-rs validate typo.yaml"
    show "recipe-runner-rs release.yaml --progress"
    show "touch credentials; recipe-runner-rs resume last --progress"
} | sed "s|$home|~|g" | awk -f "$here/tools/terminal-svg.awk" >"$home/picture.svg"
mv "$home/picture.svg" "$file"
chmod 644 "$file"
