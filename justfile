# The commands that people and CI use. `just` alone lists them.

default:
    @just --list

# build the program (target/release/recipe-runner-rs)
build:
    cargo build --release

# install it into ~/.cargo/bin
install:
    cargo install --locked --path crates/cli

# every test; needs Rust, git and bash
test:
    cargo test --workspace

# what CI runs
ci:
    .ci/run

fmt:
    cargo fmt --all

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# licences, banned crates and sources of the dependencies; needs cargo-deny
deny:
    cargo deny check licenses bans sources

# the API documentation of the crates
doc:
    cargo doc --workspace --no-deps

# the book, into target/book; needs mdbook
book:
    mdbook build docs

# write the generated texts again: schema, command and field reference, terminal picture
generate:
    cargo build
    target/debug/recipe-runner-rs schema > schema/recipe.schema.json
    UPDATE_DOCS=1 cargo test -p recipe-runner-rs --test docs

# the tests against real agent programs, both groups; needs npm and the network
real-agents:
    tools/test-real-agents.sh

# every promised figure against its floor, and other programs beside it; `just bench steps` measures one group
bench *groups:
    cargo build --release --workspace
    PATH="$PWD/target/bench-tools/bin:$PATH" target/release/bench {{groups}}

# install the programs that `just bench others` compares with, under target/; needs python3 with pip and the network
bench-tools:
    tools/bench-tools.sh

# every reader of outside bytes for SECONDS each, from the kept corpora; a failure prints its seed
fuzz SECONDS="60":
    RECIPE_RUNNER_FUZZ_SECONDS={{SECONDS}} cargo test --release -p recipe -p runtime --test fuzz -- --nocapture

# the real loop in a simulated world, by that many seeds; a failure prints its seed, RECIPE_RUNNER_SEED=n replays one
simulate SEEDS="100000":
    RECIPE_RUNNER_SEEDS={{SEEDS}} cargo test --profile simulation -p runtime --lib simulation -- --nocapture

# the same with libFuzzer, guided by coverage; needs cargo-fuzz, but no nightly Rust. TARGET: a name of `cargo fuzz list`
libfuzzer TARGET SECONDS="60":
    mkdir -p target/libfuzzer/{{TARGET}}
    cargo fuzz run --sanitizer none {{TARGET}} target/libfuzzer/{{TARGET}} fuzz/corpus/{{TARGET}} -- -max_total_time={{SECONDS}} -timeout=20

# random recipes, failures, kills and edits, from seeds that were not tried yet; RECIPE_RUNNER_SEED=N repeats one
property CASES="3000":
    RECIPE_RUNNER_CASES={{CASES}} cargo test --profile simulation -p recipe-runner-rs --test property undisturbed -- --nocapture

# signals, full, slow and failing disks, few descriptors, read-only state and set clocks while runs are on their way
chaos ROUNDS="500":
    RECIPE_RUNNER_ROUNDS={{ROUNDS}} cargo test --profile simulation -p recipe-runner-rs --test property chaos -- --nocapture

# the simulation, the property and chaos from random seeds for so many MINUTES; stops at the first failure with its seed
soak MINUTES="30":
    tools/soak.sh {{MINUTES}}

# changes of the language and the engine that no test of theirs notices; takes about an hour. `just mutants --file repair_review/` tries some
mutants *ARGS:
    cargo run --release --manifest-path tools/mutants/Cargo.toml -- {{ARGS}}
