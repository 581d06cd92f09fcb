//! Sub-recipes whose names are templates: their declarations and edits count like those of any other recipe.

use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A recipe that runs `c`, by its name or by a template that makes its name, and a step after it.
fn outer(name: &str, after: &str) -> String {
    format!(
        "name: r\nsteps:\n  - {{id: w, command: echo c, output: w}}\n  - {{id: s, recipe: '{name}'}}\n  - {{id: z, command: '{after}'}}\n"
    )
}

fn inner(first: &str, check: &str) -> String {
    format!(
        "name: c\nsteps:\n  - {{id: k0, command: echo {first}}}\n  - {{id: k, command: '{check}'}}\n  - {{id: k1, command: 'echo \"got {{{{k0}}}}\"', output: got}}\n"
    )
}

/// What ran again and what `z` printed when `c` is edited and the run goes on with the recipe as it is now.
fn edited(name: &str, (check, after): (&str, &str), inner_now: Option<&str>) -> (String, String) {
    let env = env()
        .file("r.yaml", outer(name, &format!("{after} && echo z {{{{got}}}}")))
        .file("c.yaml", inner("V0", check));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let _ = env.shell("touch go");
    match inner_now {
        Some(text) => env.write("c.yaml", text),
        None => drop(env.shell("rm c.yaml")),
    }
    let plan = env.run(["resume", "last", "--recipe", "r.yaml", "--plan", "--output-format", "json"]);
    let ended = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]).json();
    let rerun = plan.json()["rerun"].as_array().cloned().unwrap_or_default();
    let rerun: Vec<&str> = rerun.iter().filter_map(|step| step.as_str()).collect();
    let steps = ended["step_results"].as_array().cloned().unwrap_or_default();
    let last = steps.iter().find(|step| step["step_id"] == "z").map(|step| step["output"].clone());
    (rerun.join(" "), last.unwrap_or_default().as_str().unwrap_or_default().to_owned())
}

#[test]
fn edits_are_seen_however_the_recipe_is_named() {
    let (inside, behind) = (("test -e go", "true"), ("true", "test -e go"));
    for (at, now, rerun, printed) in [
        (inside, inner("V0", "test -e go"), "s s/k", "z got V0"),
        (inside, inner("V1", "test -e go"), "s s/k0 s/k", "z got V1"),
        (inside, inner("V0", "true"), "s s/k", "z got V0"),
        (behind, inner("V0", "true"), "z", "z got V0"),
        (behind, inner("V1", "true"), "s s/k0 s/k s/k1 z", "z got V1"),
    ] {
        for name in ["c", "{{w}}"] {
            let found = edited(name, at, Some(&now));
            assert_eq!(found, (rerun.to_owned(), printed.to_owned()), "{name} {at:?}\n{now}");
        }
    }
}

#[test]
fn a_recipe_that_is_gone_or_broken_is_not_kept() {
    for now in [None, Some("name: c\nsteps: [{id: k0, comand: x}]\n")] {
        let (rerun, printed) = edited("{{w}}", ("true", "test -e go"), now);
        assert_eq!((rerun.as_str(), printed.as_str()), ("s z", ""), "{now:?}");
    }
}

#[test]
fn a_plain_resume_tells_of_every_file_that_changed() {
    for name in ["c", "{{w}}"] {
        let env = env().file("r.yaml", outer(name, "true")).file("c.yaml", inner("V0", "test -e go"));
        assert_eq!(env.run(["r.yaml"]).code, 1);
        let said =
            |output: Output| output.all().lines().find(|line| line.contains("--recipe")).map(str::to_owned);
        assert_eq!(said(env.run(["resume", "last"])), None, "{name}");
        env.write("c.yaml", inner("V1", "test -e go"));
        for arguments in [vec!["resume", "last", "--plan"], vec!["resume", "last"]] {
            let told = said(env.run(arguments)).unwrap_or_default();
            assert!(told.contains("c.yaml` has changed") && told.contains("r.yaml"), "{name}: {told}");
        }
        env.write("r.yaml", outer(name, "echo"));
        let told = said(env.run(["resume", "last"])).unwrap_or_default();
        assert!(told.contains("r.yaml`, `") && told.contains("c.yaml` have changed"), "{name}: {told}");
    }
}

#[test]
fn a_plan_lists_the_steps_inside() {
    let env = env().file("r.yaml", outer("{{w}}", "true")).file("c.yaml", inner("V0", "test -e go"));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let plan = env.run(["resume", "last", "--plan"]);
    for line in ["keep     s/k0", "re-run   s/k ", "pending  s/k1", "resumes at `s/k`"] {
        assert!(plan.stdout.contains(line), "{line}\n{}", plan.all());
    }
}

/// A nested recipe in a directory of its own, named as it is or by a template; the output of its step, and everything said.
fn entered(declared: &str, command: &str, arguments: &[&str]) -> [(i32, String, String); 2] {
    ["sub/c.yaml", "{{w}}"].map(|name| {
        let recipe = format!(
            "name: r\nsteps:\n  - {{id: w, command: echo sub/c.yaml, output: w}}\n  - {{id: s, recipe: '{name}', output: o}}\n"
        );
        let env = env()
            .file("r.yaml", recipe)
            .file("sub/c.yaml", format!("name: c\n{declared}steps: [{{id: k, command: '{command}'}}]\n"))
            .file("sub/c.env", "QQ=from c.env\n")
            .file("sub/.env", "DD=from .env\nPATH_OF_C=x\n");
        let arguments = ["r.yaml", "--output-format", "json"].iter().chain(arguments).copied();
        let ran = env.run(arguments);
        let steps = ran.json()["step_results"].as_array().cloned().unwrap_or_default();
        let output = steps.last().and_then(|step| step["output"].as_str()).unwrap_or_default().to_owned();
        (ran.code, output, ran.all())
    })
}

#[test]
fn env_files_count_however_the_recipe_is_named() {
    for (declared, command, expected) in [
        ("env: {files: [c.env]}\n", "echo \"$QQ\"", "from c.env"),
        ("", "echo \"$DD\"", "from .env"),
        ("env: {required: [DD]}\n", "echo \"$DD\"", "from .env"),
        ("env: {files: [c.env], required: [QQ]}\n", "echo \"$QQ\"", "from c.env"),
    ] {
        for (code, output, said) in entered(declared, command, &[]) {
            assert_eq!((code, output.as_str()), (0, expected), "{declared}{said}");
        }
    }
}

#[test]
fn warnings_are_shown_and_strict_makes_them_errors() {
    for (declared, command, expected) in
        [("colour: red\n", "echo", "colour"), ("", "echo {{nowhere}}", "nowhere")]
    {
        for (code, _, said) in entered(declared, command, &[]) {
            assert_eq!(code, 0, "{said}");
            assert!(
                said.contains("warning") && said.contains(expected) && said.contains("c.yaml:"),
                "{said}"
            );
        }
        let [known, late] = entered(declared, command, &["--strict"]);
        assert_eq!((known.0, late.0), (2, 1), "{}", late.2);
        assert!(late.2.contains("is invalid") && late.2.contains(expected), "{}", late.2);
    }
}

#[test]
fn a_resume_keeps_the_declarations_of_a_dynamic_recipe() {
    for arguments in [vec!["resume", "last"], vec!["resume", "last", "--recipe", "r.yaml"]] {
        let env = env()
            .file("r.yaml", outer("sub/{{w}}.yaml", "test -e go && echo \"<$QQ>\" > seen"))
            .file("sub/c.yaml", "name: c\nenv: {files: [c.env]}\nsteps: [{id: k, command: echo}]\n")
            .file("sub/c.env", "QQ=from c.env\n");
        assert_eq!(env.run(["r.yaml"]).code, 1);
        let _ = env.shell("touch go");
        let ended = env.run(arguments);
        assert_eq!(
            (ended.code, std::fs::read_to_string(env.path("seen")).unwrap_or_default().trim()),
            (0, "<from c.env>"),
            "{}",
            ended.all()
        );
    }
}

#[test]
fn the_sources_of_a_run_are_never_rewritten() {
    let env = env();
    env.write(
        "c.yaml",
        "name: c\nsteps: [{id: k, command: 'cp -r \"$RECIPE_RUNNER_HOME\"/runs/*/sources seen-{{n}}'}]\n",
    );
    env.write(
        "r.yaml",
        "name: r\ncontext: {w: c}\nsteps:\n- {id: a, recipe: '{{w}}', context: {n: 1}}\n- {id: b, recipe: '{{w}}', context: {n: 2}}\n",
    );
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let listed = env.shell(
        "ls seen-1; diff -r seen-1 seen-2; cat seen-2/index.json | tr -d ' \\n'; wc -l < seen-2/later.jsonl",
    );
    let expected = "00-r.yaml\n01-c.yaml\nindex.json\nlater.jsonl\n";
    assert!(listed.stdout.starts_with(expected), "{}", listed.all());
    assert!(!listed.stdout.contains("c.yaml\",\"file") && listed.stdout.ends_with("1\n"), "{}", listed.all());
}

#[test]
fn a_variable_that_a_late_recipe_misses_is_the_environments_fault() {
    let env = env().agent("claude", "result never");
    env.write("c.yaml", "name: c\nenv: {required: [NOPE_Q]}\nsteps: [{id: k, command: 'true'}]\n");
    env.write("r.yaml", "name: r\nsteps:\n- {id: p, command: echo c}\n- {id: s, recipe: '{{p}}'}\n");
    let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(output.json()["diagnosis"]["class"], "environment.missing_env", "{}", output.all());
    assert_eq!(env.calls(), 0);
}

#[test]
fn a_dynamic_recipe_gets_the_values_of_its_step() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("c.yaml", "name: c\nsteps: [{id: z, command: 'echo {{v}}', condition: \"2fa == 'on'\"}]\n");
    let recipe =
        "name: r\ncontext: {w: c}\nsteps: [{id: s, recipe: '{{w}}', context: {2fa: 'on', v: said}}]\n";
    let output = env.json(recipe, &["--strict"]);
    assert_eq!((output.code, &output.step("s")["output"]), (0, &"said".into()), "{}", output.all());
}

/// What its callers may define may be there, whether it is or not.
#[test]
fn a_dynamic_recipe_may_read_values_of_its_callers() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file(
        "c.yaml",
        "name: c\nsteps: [{id: z, command: 'echo \"[{{k}}]\"', condition: \"2fa != 'on'\"}]\n",
    );
    for (steps, arguments) in [
        (
            "{id: k, command: x, condition: 'false'}, {id: 2fa, command: x, condition: 'false'}",
            &["--strict"][..],
        ),
        ("{id: k, command: echo k}, {id: 2fa, command: echo off}", &["--strict", "--dry-run"]),
    ] {
        let recipe =
            format!("name: r\ncontext: {{w: c}}\nsteps: [{steps}, {{id: s, recipe: '{{{{w}}}}'}}]\n");
        let output = env.json(&recipe, arguments);
        assert_eq!(output.code, 0, "{arguments:?} {}", output.all());
    }
}
