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
    tools/picture.sh

# the same tests against real agent programs; needs npm and the network
real-agents:
    RECIPE_RUNNER_REAL_AGENTS=$(tools/real-agents.sh) cargo test -p runtime --test real_agents -- --ignored

# every promised figure against its floor, in one table; `just bench steps` measures one group
bench *groups:
    cargo build --release --workspace
    cargo run --release -p bench -- {{groups}}

# every reader of outside bytes for SECONDS each, from the kept corpora; a failure prints its seed
fuzz SECONDS="60":
    RECIPE_RUNNER_FUZZ_SECONDS={{SECONDS}} cargo test --release -p recipe -p runtime --test fuzz -- --nocapture

# the same with libFuzzer, guided by coverage; needs cargo-fuzz. TARGET: a name in fuzz/fuzz_targets
libfuzzer TARGET SECONDS="60":
    cargo fuzz run --sanitizer none {{TARGET}} -- -max_total_time={{SECONDS}}
