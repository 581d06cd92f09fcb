//! `steps.ID.…`: conditions and templates that ask how other steps went.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// The codes of the errors of a recipe.
fn errors(recipe: &str) -> Vec<String> {
    let env = env().file("r.yaml", recipe);
    let output = env.run(["validate", "r.yaml", "--output-format", "json"]);
    let found = output.json()["diagnostics"].as_array().cloned().unwrap_or_default();
    let errors = found.iter().filter(|found| found["severity"] == "error");
    errors.map(|found| found["code"].as_str().unwrap_or_default().to_owned()).collect()
}

fn status(output: &Output, step: &str) -> String {
    output.step(step)["status"].as_str().unwrap_or_default().to_owned()
}

const ALL: &str = "status={{steps.X.status}} failed={{steps.X.failed}} completed={{steps.X.completed}} \
                   skipped={{steps.X.skipped}} exit_code={{steps.X.exit_code}} output={{steps.X.output}}";

fn all(step: &str) -> String {
    ALL.replace('X', step)
}

#[test]
fn every_property_has_a_value_for_every_end() {
    let recipe = format!(
        "name: r\nsteps:\n- {{id: fine, command: echo yes}}\n\
         - {{id: bad-one, command: 'echo half; exit 3', continue_on_error: true}}\n\
         - {{id: off, command: 'true', condition: '1 > 2'}}\n\
         - {{id: loose, command: echo text, parse_json: true}}\n\
         - {{id: see, command: 'printf \"%s\\n\" \"{}\" \"{}\" \"{}\" \"{}\" > seen; echo \"{{{{steps.bad-one.error}}}}\" > error; echo \"{{{{steps.fine.duration}}}}\" > took'}}\n",
        all("fine"),
        all("bad-one"),
        all("off"),
        all("loose"),
    );
    let env = env();
    let output = env.json(&recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let expected = "status=completed failed=false completed=true skipped=false exit_code=0 output=yes\n\
                    status=failed failed=true completed=false skipped=false exit_code=3 output=half\n\
                    status=skipped failed=false completed=false skipped=true exit_code= output=\n\
                    status=degraded failed=false completed=true skipped=false exit_code=0 output=text\n";
    assert_eq!(env.read("seen"), expected);
    assert!(env.read("error").starts_with("bash step failed: exit code 3"), "{}", env.read("error"));
    let took: f64 = env.read("took").trim().parse().unwrap_or(-1.0);
    assert!((0.0..60.0).contains(&took), "{}", env.read("took"));
}

#[test]
fn conditions_choose_by_the_end_of_a_step() {
    let env = env();
    let output = env.json(
        "name: r\nsteps:\n- {id: smoke, command: exit 4, continue_on_error: true}\n\
         - {id: rollback, command: 'true', condition: steps.smoke.failed}\n\
         - {id: publish, command: 'true', condition: steps.smoke.completed}\n\
         - {id: four, command: 'true', condition: \"steps.smoke.exit_code == 4 and steps.smoke.status == 'failed'\"}\n\
         - {id: brackets, command: 'true', condition: \"not steps['publish'].completed and steps.publish.skipped\"}\n\
         - {id: inner, command: 'echo \"{{#if steps.smoke.failed}}after a failure{{/if}}\"'}\n",
        &[],
    );
    assert_eq!(output.code, 0, "{}", output.all());
    for (step, expected) in
        [("rollback", "completed"), ("publish", "skipped"), ("four", "completed"), ("brackets", "completed")]
    {
        assert_eq!(status(&output, step), expected, "{step}");
    }
    assert_eq!(output.step("inner")["output"], "after a failure");
}

#[test]
fn cleanup_chooses_by_the_step_that_failed() {
    let env = env();
    let output = env.json(
        "name: r\nsteps:\n- {id: deploy, command: 'true'}\n- {id: smoke, command: exit 1}\n- {id: later, command: 'true'}\n\
         - {id: rollback, when: failed, condition: steps.smoke.failed, command: 'echo {{steps.deploy.status}} {{steps.later.status}} > log'}\n\
         - {id: other, when: failed, condition: steps.deploy.failed, command: 'true'}\n",
        &[],
    );
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(
        (status(&output, "rollback"), status(&output, "other")),
        ("completed".into(), "skipped".into())
    );
    assert_eq!(env.read("log"), "completed pending\n");
}

#[test]
fn loops_and_their_instances_can_be_asked_and_can_ask() {
    let env = env();
    let output = env.json(
        "name: r\nsteps:\n- {id: first, command: 'echo [1,2]', parse_json: true}\n\
         - {id: review, for_each: [a, b], keep_going: true, continue_on_error: true, command: 'test {{item}} = a'}\n\
         - {id: see, command: 'echo {{steps.review.status}} {{steps.review[0].status}} {{steps.review[1].exit_code}} {{steps.review[-1].failed}} [{{steps.review[9].status}}]'}\n\
         - {id: each, for_each: '{{steps.first.output}}', condition: steps.first.completed, command: 'echo {{item}}-{{steps.review[0].status}}'}\n\
         - {id: tries, repeat: {max: 3, until: \"steps.review.failed and iteration == 2\"}, command: 'echo {{iteration}}', ensure: [{condition: steps.first.completed}]}\n\
         - {id: end, command: 'echo {{steps.tries[-1].output}} {{steps.tries[1].status}}'}\n",
        &[],
    );
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("see")["output"], "failed completed 1 true []");
    assert_eq!(output.value("each"), serde_json::json!(["1-completed", "2-completed"]));
    assert_eq!(output.step("end")["output"], "2 completed");
}

#[test]
fn a_sub_recipe_asks_its_own_steps() {
    let inner = "name: inner\nsteps:\n- {id: fine, command: exit 1, continue_on_error: true}\n\
                 - {id: tell, command: 'echo {{steps.fine.status}}'}\n";
    let env = env().file("inner.yaml", inner);
    let output = env.json(
        "name: r\nsteps:\n- {id: fine, command: 'true'}\n- {id: sub, recipe: inner, context: {seen: '{{steps.fine.status}}'}}\n\
         - {id: see, command: 'echo {{steps.sub.output}} {{steps.fine.status}} {{steps.sub.completed}}'}\n\
         - {id: nested, recipe: '{{steps.sub.output}}', condition: steps.sub.failed}\n",
        &[],
    );
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("see")["output"], "failed completed true");
    let outer = "name: r\nsteps:\n- {id: one, command: 'true'}\n- {id: sub, recipe: asks}\n";
    env.write("asks.yaml", "name: asks\nsteps:\n- {id: a, command: 'echo {{steps.one.status}}'}\n");
    let output = env.json(outer, &[]);
    assert_eq!(output.code, 2, "{}", output.all());
    assert!(output.stderr.contains("there is no step `one`"), "{}", output.stderr);
}

#[test]
fn questions_without_an_answer_are_errors() {
    let recipe = |steps: &str| format!("name: r\nsteps:\n- {{id: a, command: 'true'}}\n{steps}\n");
    for (steps, code) in [
        ("- {id: b, command: x, condition: steps.nosuch.failed}", "unknown-step"),
        ("- {id: b, command: 'echo {{steps.aa.status}}'}", "unknown-step"),
        ("- {id: b, command: 'echo {{steps}}'}", "unknown-step"),
        ("- {id: b, command: x, condition: steps.b.failed}", "later-step"),
        ("- {id: b, command: x, condition: steps.c.failed}\n- {id: c, command: x}", "later-step"),
        ("- {id: b, command: x, repeat: {max: 2, until: steps.b.completed}}", "later-step"),
        ("- {id: b, command: x, ensure: [{condition: steps.b.exit_code == 0}]}", "later-step"),
        ("- {id: b, command: x, for_each: '{{steps.c.output}}'}\n- {id: c, command: x}", "later-step"),
        (
            "- {id: b, command: x, parallel_group: g}\n- {id: c, command: 'echo {{steps.b.status}}', parallel_group: g}",
            "group-dependency",
        ),
        ("- {id: b, command: x, condition: steps.a.succeeded}", "unknown-property"),
        ("- {id: b, command: x, condition: steps.a}", "unknown-property"),
        ("- {id: b, command: 'echo {{steps.a[0].status}}'}", "unknown-property"),
        ("- {id: b, command: x, output: steps}", "reserved-name"),
        ("- {id: b, command: x, for_each: [1], as: steps}", "reserved-name"),
    ] {
        assert_eq!(errors(&recipe(steps)), [code], "{steps}");
    }
    let named = |field: &str| format!("name: r\n{field}\nsteps:\n- {{id: a, command: 'true'}}\n");
    assert_eq!(errors(&named("context: {steps: 3}")), ["reserved-name"]);
    assert_eq!(errors(&named("inputs: [{name: steps}]")), ["reserved-name"]);
    assert_eq!(
        errors("name: r\noutput: {template: '{{steps.a.status}}'}\nsteps:\n- {id: a, command: x}\n"),
        [""; 0]
    );
}

#[test]
fn a_graph_waits_for_the_steps_that_are_asked() {
    let recipe = "name: r\nschedule: graph\nsteps:\n\
                  - {id: tell, command: 'echo {{steps.slow.status}} {{steps.off.skipped}} {{steps.bad.failed}}'}\n\
                  - {id: slow, command: sleep 0.3}\n\
                  - {id: bad, command: exit 1, continue_on_error: true}\n\
                  - {id: off, command: 'true', condition: '1 > 2'}\n";
    let env = env().file("r.yaml", recipe);
    let output = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("tell")["output"], "completed true true");
    let drawn = env.run(["explain", "r.yaml", "--graph", "mermaid"]);
    assert!(drawn.stdout.contains("steps.slow.status"), "{}", drawn.stdout);
    let circle = "name: r\nschedule: graph\nsteps:\n- {id: a, command: x, condition: steps.b.failed}\n\
                  - {id: b, command: x, depends_on: [a]}\n";
    assert_eq!(errors(circle), ["circular-needs"]);
    let cleanup = "name: r\nschedule: graph\nsteps:\n- {id: a, command: x, condition: steps.b.failed}\n\
                   - {id: b, when: always, command: x}\n";
    assert_eq!(errors(cleanup), ["later-step"]);
}

#[test]
fn a_step_that_asks_is_redone_with_the_step_that_it_asked() {
    let recipe = "name: r\nsteps:\n- {id: probe, command: 'echo 1 >> log; exit 1', continue_on_error: true}\n\
                  - {id: other, command: echo other >> log}\n\
                  - {id: react, condition: steps.probe.failed, command: echo react >> log}\n\
                  - {id: end, command: test -e go}\n";
    let env = env().file("r.yaml", recipe);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(env.read("log"), "1\nother\nreact\n");
    env.write("go", "");
    env.write("r.yaml", recipe.replace("echo 1 >> log; exit 1", "echo 2 >> log"));
    let output = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(status(&output, "react"), "skipped", "{}", output.all());
    assert!(env.read("log").contains('2'), "{}", env.read("log"));
}

#[test]
fn a_dry_run_leaves_open_what_only_a_run_knows() {
    let env = env();
    let recipe = "name: r\nsteps:\n- {id: a, command: 'true'}\n- {id: off, command: 'true', condition: '1 > 2'}\n\
                  - {id: b, command: 'echo {{steps.a.status}}', condition: steps.a.failed}\n\
                  - {id: c, command: 'echo {{steps.off.status}}', condition: not steps.off.skipped}\n";
    let output = env.json(recipe, &["--dry-run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let reason = |step: &str| output.step(step)["skip_reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason("b").contains("{{steps.a.status}}"), "{}", reason("b"));
    assert_eq!(reason("c"), "condition is false");
}

#[test]
fn hooks_may_ask_and_values_stay_data() {
    let env = env();
    let output = env.json(
        "name: r\nhooks: {post_step: 'echo \"{{step_id}} {{steps.a.status}}\" >> log'}\nsteps:\n\
         - {id: a, command: \"printf '%s' '$(touch hacked); x'\"}\n\
         - {id: b, command: \"echo {{steps.a.output}} '{{steps.a.output}}'; env | grep -c RECIPE_VAR_steps__a__status || true\"}\n",
        &[],
    );
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("b")["output"], "$(touch hacked); x $(touch hacked); x\n0");
    assert!(!env.path("hacked").exists());
    assert_eq!(env.read("log"), "a completed\nb completed\n");
}

#[test]
fn an_id_called_steps_runs_and_stores_nothing() {
    let env = env();
    let output = env.json("name: r\nsteps:\n- {id: steps, command: echo x}\n- {id: b, command: 'echo {{steps.steps.output}}'}\n", &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("b")["output"], "x");
    assert!(output.stderr.contains("is not stored"), "{}", output.stderr);
}
