//! The files that a repair may change: only the recipe; all other changes are undone and kept aside.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: check, command: 'grep --quite one ledger'}
";
const FIXED: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: check, command: 'grep --quiet one ledger'}
";

/// A world whose agent does this and answers that.
fn world(deed: &str, answer: &str) -> TestEnv {
    let script = format!("{deed}\ncat <<'EOF'\n{answer}EOF");
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &script)
}

fn fix(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--auto-fix=4", "--output-format", "json"]))
}

fn repair(output: &Output) -> Json {
    output.json()["auto_fix"]["attempts"][0]["repair"].clone()
}

fn codes(repair: &Json) -> Vec<String> {
    let found = repair["regressions"].as_array().cloned().unwrap_or_default();
    found.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
}

/// Everything in the world's working directory and beside it, with modes, links and contents.
fn listing(env: &TestEnv) -> String {
    let list = "find . ../recipes -name objects -prune -o -name index -prune -o -printf '%p %y %m %l\\n' | sort; \
                find . ../recipes -name objects -prune -o -name index -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; \
                git ls-files --stage";
    env.shell(list).stdout
}

/// A repair that does this besides a good proposal is refused, and undone.
fn refuses(deed: &str, named: &str) {
    let setup = "git init -qb main; git config user.name x; git config user.email x; touch ledger; chmod 644 ledger; \
                 mkdir ../recipes; git add .; git commit -qm first";
    // `../` is for recipes that are not where they work
    for (recipe, arguments) in
        [("r.yaml", vec!["r.yaml"]), ("../recipes/r.yaml", vec!["../recipes/r.yaml", "-C", "."])]
    {
        let env = world(deed, FIXED);
        assert_eq!(env.shell(setup).code, 0);
        env.write(recipe, BROKEN);
        env.write("../recipes/beside.yaml", BROKEN);
        env.write("ledger", "one\n");
        let before = listing(&env);
        let output = fix(&env, &arguments);
        assert_eq!(output.code, 6, "{deed}: {}", output.all());
        let repair = repair(&output);
        assert!(codes(&repair).contains(&"outside_surface".to_owned()), "{deed}: {repair}");
        assert!(repair["regressions"].to_string().contains(named), "{deed}: {repair}");
        assert!(env.path(".").join(repair["candidate"].as_str().unwrap()).is_file(), "{deed}");
        env.write("ledger", "one\n");
        assert_eq!(listing(&env), before, "{deed}");
    }
}

#[test]
fn whatever_is_changed_besides_the_recipe_is_undone() {
    for (deed, named) in [
        ("ln -s /etc/passwd new", "new"),
        ("chmod 755 ledger", "ledger"),
        ("mkdir -p deep/er; echo x > deep/er/file", "deep"),
        ("git commit -qm evil --allow-empty", ".git/refs/heads/main"),
        ("git checkout -qb evil", ".git/HEAD"),
        ("echo 'exit 1' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("git config user.name evil", ".git/config"),
        ("git add ledger", ".git/index"),
        ("echo evil > ../recipes/beside.yaml", "beside.yaml"),
    ] {
        // the directory of the recipe is watched only where the recipe is in it
        match deed.contains("../recipes") {
            true => beside(deed, named),
            false => refuses(deed, named),
        }
    }
}

fn beside(deed: &str, named: &str) {
    let env = world(deed, FIXED).file("../recipes/r.yaml", BROKEN).file("../recipes/beside.yaml", BROKEN);
    let output = fix(&env, &["../recipes/r.yaml"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(repair(&output)["regressions"].to_string().contains(named), "{}", output.all());
    assert_eq!(
        (env.read("../recipes/beside.yaml"), env.read("../recipes/r.yaml")),
        (BROKEN.into(), BROKEN.into())
    );
}

#[test]
fn an_agent_that_looks_around_is_not_refused() {
    let looks = "touch r.yaml ledger; git status > /dev/null; git diff > /dev/null; git log > /dev/null";
    for deed in [looks, "sed -i 's/--quite/--quiet/' r.yaml; git status > /dev/null"] {
        let env = world(deed, FIXED).file("r.yaml", BROKEN);
        assert_eq!(
            env.shell("git init -qb main; git add .; git -c user.name=x -c user.email=x commit -qm first")
                .code,
            0
        );
        // the runs may be stored where the recipe works
        let output = fix(&env, &["r.yaml", "--state-dir", "state"]);
        assert_eq!(
            (output.code, &repair(&output)["accepted"]),
            (0, &json!(true)),
            "{deed}: {}",
            output.all()
        );
        assert_eq!(env.read("ledger"), "one\n");
    }
}

#[test]
fn whatever_was_proposed_is_kept() {
    let kept = |answer: &str| {
        let env = world("", answer).file("r.yaml", BROKEN);
        let output = fix(&env, &["r.yaml"]);
        assert_eq!(output.code, 6, "{answer}: {}", output.all());
        let repair = repair(&output);
        assert!(!codes(&repair).is_empty() && repair["accepted"] == false, "{repair}");
        assert_eq!(env.read("r.yaml"), BROKEN);
        repair["candidate"].as_str().map(|file| std::fs::read_to_string(file).unwrap())
    };
    assert_eq!(kept("I have no idea.\n").as_deref().map(str::trim_end), Some("I have no idea."));
    assert_eq!(kept("Here:\n```yaml\n{ : [ ]\n```\n").as_deref(), Some("{ : [ ]\n"));
    assert_eq!(kept("```yaml\nname: r\nsteps: [\n```\n").as_deref(), Some("name: r\nsteps: [\n"));
    assert_eq!(kept(""), None);
}

#[test]
fn another_default_or_environment_file_is_a_repair() {
    let head =
        "name: r\ninputs:\n  - {name: flag, default: --no-such-option}\nenv: {files: [wrong.env]}\nsteps:\n";
    let by_input = "  - {id: sorted, command: 'printf x | sort {{flag}}'}\n";
    let by_env = "  - {id: sorted, command: 'printf x | sort $SORTING'}\n";
    for (step, wrong, right) in
        [(by_input, "--no-such-option", "--reverse"), (by_env, "wrong.env", "right.env")]
    {
        let broken = format!("{head}{step}");
        let env = world("", &broken.replace(wrong, right))
            .file("r.yaml", &broken)
            .file("wrong.env", "SORTING=--no-such-option\n")
            .file("right.env", "SORTING=--reverse\n");
        let output = fix(&env, &["r.yaml"]);
        assert_eq!(
            (output.code, &repair(&output)["waiting"]),
            (6, &json!(true)),
            "{wrong}: {}",
            output.all()
        );
        let taken = env.run(["resume", "last", "--accept-repair"]);
        assert_eq!(taken.code, 0, "{wrong}: {}", taken.all());
        assert_eq!(env.read("r.yaml"), broken.replace(wrong, right));
    }
    // a check that is asked for something else is weaker, wherever its value comes from
    let judged = "name: r\ninputs:\n  - {name: word, default: two}\nsteps:\n  - {id: a, command: echo one > ledger}\n  - {id: check, command: 'grep --no-such-option {{word}} ledger'}\n";
    let env =
        world("", &judged.replace("two", "one").replace("--no-such-option", "-q")).file("r.yaml", judged);
    let output = fix(&env, &["r.yaml"]);
    assert_eq!((output.code, &repair(&output)["waiting"]), (6, &json!(true)), "{}", output.all());
}

#[test]
fn a_repair_hangs_on_the_step_that_failed() {
    let answer = FIXED.replace("  - {id: check", "  - {id: new, command: echo new >> other}\n  - {id: check");
    let env = world("", &answer).file("r.yaml", BROKEN);
    let output = fix(&env, &["r.yaml"]);
    assert_eq!((output.code, &repair(&output)["accepted"]), (0, &json!(true)), "{}", output.all());
    assert_eq!((env.read("ledger"), env.read("other")), ("one\n".into(), "new\n".into()));
}
