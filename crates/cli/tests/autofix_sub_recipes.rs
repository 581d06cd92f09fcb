//! Auto-fix with sub-recipes: the file of the failed step is repaired, and inner runs get the rest of the budget.

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv, is_alive, until};

const PARENT: &str = "name: parent
steps:
  - {id: before, command: echo before >> ledger}
  - {id: n, recipe: child}
  - {id: after, command: echo after >> ledger}
";
const CHILD: &str = "name: child
steps:
  - {id: one, command: echo one >> ledger}
  - {id: two, command: echo two >> ledger}
  - {id: three, command: echo three >> ledger}
  - {id: check, command: 'grep --quite one ledger'}
";

fn fixed() -> String {
    CHILD.replace("--quite", "--quiet")
}

/// A world with these two recipes and an agent that runs this script.
fn world(script: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
        .file("recipes/parent.yaml", PARENT)
        .file("recipes/child.yaml", CHILD)
}

fn answers(text: &str) -> String {
    format!("cat <<'EOF'\n{text}EOF")
}

fn fix(env: &TestEnv) -> Output {
    env.run(["recipes/parent.yaml", "--auto-fix=4", "--output-format", "json"])
}

fn repair(output: &Output) -> Json {
    output.json()["auto_fix"]["attempts"][0]["repair"].clone()
}

fn ledger(env: &TestEnv) -> String {
    env.read("ledger").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_recipe_of_the_failed_step_is_repaired() {
    let in_place = "sed -i 's/--quite/--quiet/' recipes/child.yaml; echo done".to_owned();
    for script in [answers(&fixed()), in_place] {
        let env = world(&script);
        let output = fix(&env);
        assert_eq!(output.code, 0, "{}", output.all());
        let asked = env.read("~/asked-1");
        assert!(asked.contains("recipes/child.yaml") && asked.contains("--quite"), "{asked}");
        assert!(!asked.contains("echo after"), "it is not about the parent: {asked}");
        assert_eq!(
            (env.read("recipes/parent.yaml"), env.read("recipes/child.yaml")),
            (PARENT.into(), fixed())
        );
        assert_eq!(ledger(&env), "before one two three after", "what is done is kept");
        let repair = repair(&output);
        assert!(repair["summary"].as_str().is_some_and(|text| text.contains("child.yaml")), "{repair}");
        let plan = output.json()["auto_fix"]["attempts"][0]["plan"].clone();
        assert_eq!(
            (&plan["anchor"], &plan["rerun"]),
            (&json!("n/check"), &json!(["n", "n/check"])),
            "{plan}"
        );
        let again = env.run(["recipes/parent.yaml"]);
        assert_eq!(again.code, 0, "{}", again.all());
        assert_eq!(env.run(["show", "last"]).code, 0, "its sources are kept");
    }
}

#[test]
fn a_dynamic_recipe_is_repaired() {
    let env = world(&answers(&fixed()))
        .file("recipes/parent.yaml", PARENT.replace("recipe: child", "recipe: '{{which}}'"));
    let output =
        env.run(["recipes/parent.yaml", "--set", "which=child", "--auto-fix", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(
        (env.read("recipes/child.yaml"), ledger(&env)),
        (fixed(), "before one two three after".into())
    );
}

#[test]
fn the_review_covers_the_sub_recipe() {
    let stub = "name: child\nsteps:\n  - {id: check, command: 'true'}\n";
    for (script, code) in [
        (answers(stub), "steps_lost"),
        (answers(CHILD), "unchanged"),
        (
            answers(&CHILD.replace("name: child\n", "name: child\nhooks: {pre_step: echo x}\n")),
            "hooks_changed",
        ),
        (answers("name: child\nsteps: [\n"), "invalid"),
        (format!("echo >> recipes/parent.yaml\n{}", answers(&fixed())), "outside_surface"),
    ] {
        let env = world(&script);
        let output = fix(&env);
        assert_eq!(output.code, 6, "{code}: {}", output.all());
        let repair = repair(&output);
        assert!(repair["regressions"].to_string().contains(code), "{code}: {repair}");
        assert_eq!(
            (env.read("recipes/parent.yaml"), env.read("recipes/child.yaml")),
            (PARENT.into(), CHILD.into())
        );
    }
}

#[test]
fn a_sub_recipe_is_restored_after_a_kill() {
    let env = world("sed -i s/one/WEAKER/ recipes/child.yaml\necho $$ > \"$HOME/agent\"\nsleep 300");
    let started = env.spawn(["recipes/parent.yaml", "--auto-fix"]);
    let agent = env.wait_for("~/agent");
    started.kill();
    assert_ne!(env.read("recipes/child.yaml"), CHILD, "no process restored it yet");
    let resumed = env.run(["resume", "last", "--no-auto-fix"]);
    assert_eq!(resumed.code, 1, "{}", resumed.all());
    assert!(resumed.stderr.contains("the original recipe is restored"), "{}", resumed.all());
    until("the agent is gone", || !is_alive(&agent));
    assert_eq!((env.read("recipes/child.yaml"), ledger(&env)), (CHILD.into(), "before one two three".into()));
}

#[test]
fn a_sub_recipe_edited_meanwhile_is_left_alone() {
    let edited = CHILD.replace(
        "id: one, command: echo one >> ledger",
        "id: one, command: echo one >> ledger; echo '# mine' >> recipes/child.yaml",
    );
    let env = world(&answers(PARENT)).file("recipes/child.yaml", &edited);
    let output = fix(&env);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(env.read("~/asked-1").contains("parent.yaml"));
    assert!(env.read("recipes/child.yaml").ends_with("# mine\n"));
}

#[test]
fn an_inner_run_reports_its_inherited_budget() {
    for (outer, own, expected) in [(1, 5, 1), (2, 5, 2), (4, 2, 2)] {
        let restless = "name: inner\nsteps:\n  - {id: a, prompt: p, output: x}\n  - {id: g, command: 'tr -d 0-9- < /proc/sys/kernel/random/uuid >&2; grep -q PASS <<< \"{{x}}\"'}\n";
        let command =
            format!("\"$RECIPE_RUNNER_EXE\" inner.yaml --auto-fix={own} --output-format json > inner.json");
        let env = world("echo FAIL $N")
            .file(
                "outer.yaml",
                format!("name: outer\nsteps:\n  - {{id: n, command: '{command} || exit 9'}}\n"),
            )
            .file("inner.yaml", restless);
        let output = env.run(["outer.yaml", &format!("--auto-fix={outer}"), "--output-format", "json"]);
        assert_ne!(output.code, 0, "{}", output.all());
        let inner: Json = serde_json::from_str(&env.read("inner.json")).unwrap_or_default();
        if outer == 4 {
            // the outer loop has made it run again with less
            assert_eq!(env.script_calls(), 4, "{inner}");
            continue;
        }
        let fix = &inner["auto_fix"];
        assert_eq!(fix["max_attempts"], expected, "{fix}");
        assert_eq!(fix["attempts"].as_array().map(Vec::len), Some(expected), "{fix}");
        let runs = if expected == 1 { "1 run is" } else { "2 runs is" };
        let reason = fix["escalation"]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(&format!("the budget of {runs} used up")), "{reason}");
    }
}

const BASE: &str = "name: base
steps:
  - {id: a, command: git verzion}
  - {id: b, command: echo b >> ledger}
";
const HEIR: &str = "name: heir
extends: base
steps:
  - {id: c, command: echo c >> ledger}
";

fn heirs(script: &str, heir: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
        .file("recipes/base.yaml", BASE)
        .file("recipes/heir.yaml", heir)
}

fn fix_heir(env: &TestEnv) -> Output {
    env.run(["recipes/heir.yaml", "--auto-fix=4", "--output-format", "json"])
}

#[test]
fn a_step_of_an_extended_recipe_is_repaired_in_the_one_that_extends_it() {
    let overrides = HEIR.replace("steps:\n", "steps:\n  - {id: a, command: git version}\n");
    let composed = "name: heir\nsteps:\n  - {id: a, command: git version}\n  - {id: b, command: echo b >> ledger}\n  \
                    - {id: c, command: echo c >> ledger}\n";
    for answer in [overrides.as_str(), composed] {
        let env = heirs(&answers(answer), HEIR);
        let output = fix_heir(&env);
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(
            (env.read("recipes/base.yaml"), env.read("recipes/heir.yaml")),
            (BASE.into(), answer.into())
        );
        assert_eq!(ledger(&env), "b c");
        let asked = env.read("~/asked-1");
        assert!(asked.contains("git verzion") && asked.contains("extends: base"), "{asked}");
        assert!(asked.contains("The failed step is defined in recipes/base.yaml"), "{asked}");
    }
}

#[test]
fn an_extended_recipe_does_not_take_the_place_of_the_one_that_extends_it() {
    let base = BASE.replace("verzion", "version");
    let nameless =
        HEIR.replace("name: heir\n", "").replace("steps:\n", "steps:\n  - {id: a, command: git version}\n");
    let without_own = "name: heir\nextends: base\nsteps:\n  - {id: a, command: git version}\n";
    let without_parent =
        "name: heir\nsteps:\n  - {id: a, command: git version}\n  - {id: c, command: echo c >> ledger}\n";
    for (answer, expected) in [
        (base.as_str(), vec!["name_changed", "step_lost", "check_removed"]),
        (nameless.as_str(), vec!["name_changed"]),
        (without_own, vec!["step_lost", "check_removed"]),
        (without_parent, vec!["step_lost", "check_removed"]),
    ] {
        let env = heirs(&answers(answer), HEIR);
        let output = fix_heir(&env);
        assert_eq!(output.code, 6, "{}", output.all());
        let found = repair(&output);
        let codes: Vec<&str> = found["regressions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["code"].as_str().unwrap())
            .collect();
        assert_eq!(codes, expected, "{answer}\n{found}");
        assert_eq!(
            (env.read("recipes/base.yaml"), env.read("recipes/heir.yaml")),
            (BASE.into(), HEIR.into())
        );
    }
}

#[test]
fn an_own_step_of_an_extending_recipe_is_named_as_its_own() {
    let base = "name: base\nsteps:\n  - {id: b, command: echo b >> ledger}\n";
    let heir = HEIR.replace("echo c >> ledger", "git verzion");
    let env = heirs(&answers(&heir.replace("verzion", "version")), &heir).file("recipes/base.yaml", base);
    assert_eq!(fix_heir(&env).code, 0);
    let asked = env.read("~/asked-1");
    assert!(asked.contains("defined in the recipe file itself") && asked.contains("echo b"), "{asked}");
}
