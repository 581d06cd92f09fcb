#!/usr/bin/env bash
# Makes a copy of this project in DIR, with a git history: bash setup.sh DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: setup.sh DIR}
if [ -e "$dir" ]; then echo "$dir exists" >&2; exit 1; fi

mkdir -p "$dir"
cp -R "$here"/{README.md,Makefile,.gitignore,src,tests,config} "$dir"
cd "$dir"
git init --quiet
git symbolic-ref HEAD refs/heads/main
git config user.name "Sample" && git config user.email "sample@example.com"
commit() { git commit --quiet --message "$1"; }
git add README.md .gitignore && commit "A project"
git add src Makefile && commit "Greet somebody"
git add tests config && commit "Test the greeting"
git checkout --quiet -b feature/shout
printf '%s\n' '# Greets loudly.' 'shout() { greet "$1" | upper; }' >> src/greet.sh
git add src && commit "Shout"

# the script that stands in for an agent; not part of the project
echo /.recipe-runner.yaml >> .git/info/exclude
printf '%s\n' "agent: scripted" "agents:" "  - name: scripted" "    command: \"$(cd "$here/../agents" && pwd)/scripted\"" > .recipe-runner.yaml
echo "$dir is on $(git branch --show-current), $(git rev-list --count HEAD) commits"
