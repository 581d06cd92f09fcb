//! Repairs through the whole program: steps that change the world outside and scripts that check are kept, or the
//! recipe stays as it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

/// A recipe whose second step fails until it is repaired, with these steps after it.
fn recipe(repaired: bool, rest: &str) -> String {
    let command = if repaired { "git version" } else { "git verzion" };
    format!(
        "name: r\nsteps:\n  - {{id: a, command: echo a}}\n  - {{id: b, command: {command}}}\n  - {{id: c, command: echo c}}\n{rest}"
    )
}

/// Runs a recipe whose repair agent answers with another one.
fn fix(before: &str, after: &str) -> (TestEnv, Output) {
    let script = format!("cat <<'ANSWER'\n{after}ANSWER");
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &script).file("r.yaml", before);
    env.write("run-tests.sh", "exit 0\n");
    assert_eq!(env.shell("chmod +x run-tests.sh").code, 0);
    let output = env.run(["r.yaml", "--auto-fix=2", "--output-format", "json"]);
    (env, output)
}

fn repair(output: &Output) -> Json {
    output.json()["auto_fix"]["attempts"][0]["repair"].clone()
}

/// A repair that fixes `b` and does this to the steps after it is refused; the recipe stays unchanged.
fn refuses(old: &str, new: &str) {
    let before = recipe(false, old);
    let (env, output) = fix(&before, &recipe(true, new));
    assert_eq!(output.code, 6, "{new}: {}", output.all());
    let repair = repair(&output);
    assert_eq!(repair["accepted"], false, "{new}: {repair}");
    let is_refused = !repair["regressions"].as_array().unwrap().is_empty();
    assert!(is_refused || repair["waiting"] == true, "{new}: {repair}");
    assert_eq!(env.read("r.yaml"), before, "{new}");
    assert!(!env.path("ledger").exists(), "{new}");
}

fn accepts(old: &str, new: &str) -> TestEnv {
    let (env, output) = fix(&recipe(false, old), &recipe(true, new));
    assert_eq!((output.code, &repair(&output)["accepted"]), (0, &json!(true)), "{new}: {}", output.all());
    env
}

/// A repair that no rule decides waits for a person, who takes it.
fn asks(old: &str, new: &str) -> TestEnv {
    let (env, output) = fix(&recipe(false, old), &recipe(true, new));
    assert_eq!((output.code, &repair(&output)["waiting"]), (6, &json!(true)), "{new}: {}", output.all());
    let taken = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(taken.code, 0, "{new}: {}", taken.all());
    env
}

fn ship(command: &str, fields: &str) -> String {
    format!("  - {{id: ship, command: {command:?}, {fields}}}\n")
}

#[test]
fn a_declared_effect_is_not_neutered() {
    let old = ship("echo deployed >> ledger", "effects: [deploy]");
    for command in [
        "true",
        ":",
        "exit 0",
        "echo skipped",
        "echo deployed >> ledger || true",
        "# echo deployed >> ledger",
        "echo deployed > /dev/null",
    ] {
        refuses(&old, &ship(command, "effects: [deploy]"));
    }
    for fields in ["condition: 'false'", "continue_on_error: true", "when_tags: [never]"] {
        refuses(&old, &ship("echo deployed >> ledger", &format!("effects: [deploy], {fields}")));
    }
    refuses(&old, "");
    refuses(&ship("echo v1 >> ledger", "idempotent: false"), &ship("true", "idempotent: false"));
    refuses(&ship("echo dep", "effects: [deploy]"), &ship("true", "effects: [deploy]"));
}

#[test]
fn a_declared_effect_that_is_kept_happens() {
    let old = ship("echo deployed >> ledger", "effects: [deploy]");
    let env = accepts(&old, &ship("echo deployed >> ledger", "effects: [deploy]"));
    assert_eq!(env.read("ledger"), "deployed\n");
    let env = asks(&old, &ship("mkdir -p out && echo \"deployed\" >> ./ledger", "effects: [deploy]"));
    assert_eq!(env.read("ledger"), "deployed\n");
}

#[test]
fn scripts_that_ship_or_check_are_kept() {
    for command in ["npm run deploy", "./release.sh", "python3 deploy.py", "docker compose push"] {
        let old = format!("  - {{id: ship, command: {command}}}\n");
        refuses(&old, "");
        refuses(&old, "  - {id: ship, command: 'true'}\n");
    }
    let check = "  - {id: chk, command: ./run-tests.sh}\n";
    for new in ["", "  - {id: chk, command: 'true'}\n", "  - {id: chk, command: ./run-tests.sh || true}\n"] {
        refuses(check, new);
    }
    accepts(check, check);
    asks(check, "  - {id: chk, command: bash ./run-tests.sh}\n");
}

#[test]
fn a_failed_effect_is_repaired() {
    let recipe = |command: &str| {
        format!(
            "name: r\nsteps:\n  - {{id: a, command: echo a}}\n  - {{id: ship, command: {command:?}, effects: [deploy]}}\n"
        )
    };
    let broken = recipe("git frobnicate && echo deployed >> ledger");
    let (env, output) = fix(&broken, &recipe("git --version && echo deployed >> ledger"));
    let (kept, dropped) = (output.code, repair(&output));
    assert_eq!((kept, &dropped["accepted"]), (6, &json!(false)), "{}", output.all());
    assert_eq!(env.read("r.yaml"), broken);
    let (env, output) = fix(&broken, &recipe("git init -q . && echo deployed >> ledger"));
    assert_eq!((output.code, &repair(&output)["waiting"]), (6, &json!(true)), "{}", output.all());
    let taken = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(taken.code, 0, "{}", taken.all());
    assert_eq!(env.read("ledger"), "deployed\n");
}

#[test]
fn a_script_that_checks_and_fails_is_a_failed_check() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("r.yaml", "name: r\nsteps:\n  - {id: t, command: bash tests/run.sh}\n")
        .file("tests/run.sh", "echo one of two failed; exit 1\n");
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    let told = env.run(["show", "last", "--output-format", "json"]).all();
    assert!(told.contains("\"verification\""), "{told}");
}
