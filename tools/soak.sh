#!/usr/bin/env bash
# Runs the simulation, the property and chaos from random seeds for MINUTES (30): batch by batch, always the one that had
# the least time so far. Prints the first seed of each batch, and stops at the first failure with the command that repeats it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset RECIPE_RUNNER_SEED

minutes=${1:-30}
names=(simulation property chaos)
filters=(stories undisturbed chaos)
variables=(RECIPE_RUNNER_SEEDS RECIPE_RUNNER_CASES RECIPE_RUNNER_ROUNDS)
# each takes about a minute on two cores
counts=(10000 500 200)
spent=(0 0 0)

tests=(cargo test --profile simulation -p runtime -p recipe-runner-rs --lib --test property)
"${tests[@]}" --no-run
log=$(mktemp)
trap 'rm -f "$log"' EXIT

end=$((SECONDS + minutes * 60))
while ((SECONDS < end)); do
    at=0
    for other in 1 2; do
        if ((spent[other] < spent[at])); then at=$other; fi
    done
    first=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
    batch=("RECIPE_RUNNER_FIRST_SEED=$first" "${variables[at]}=${counts[at]}")
    echo "==> ${names[at]}: ${batch[*]}"
    start=$SECONDS
    if ! env "${batch[@]}" "${tests[@]}" "${filters[at]}" -- --nocapture >"$log" 2>&1; then
        cat "$log"
        seed=$(grep -om1 'RECIPE_RUNNER_SEED=[0-9]*' "$log") || seed=${batch[*]}
        echo "error: ${names[at]} failed; repeat it: $seed ${tests[*]} ${filters[at]} -- --nocapture" >&2
        exit 1
    fi
    took=$((SECONDS - start))
    echo "==> done in $took s"
    spent[at]=$((spent[at] + took))
done
echo "==> no failure: ${spent[0]} s of ${names[0]}, ${spent[1]} s of ${names[1]}, ${spent[2]} s of ${names[2]}"
