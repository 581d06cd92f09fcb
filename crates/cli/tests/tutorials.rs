//! Every example works as its comment says: tutorials, edge cases and patterns.

mod examples;

use examples::{check, recipes, world};

#[test]
fn tutorials_work_as_described() {
    for file in recipes("examples/tutorials") {
        check(&world(), &file);
    }
}

#[test]
fn the_demo_fails_and_is_resumed_as_described() {
    check(&world(), "examples/demo.yaml");
}

#[test]
fn the_first_command_of_the_readme_runs_the_demo() {
    let readme = std::fs::read_to_string(examples::root().join("README.md")).unwrap();
    let arguments = readme.lines().find_map(|line| line.strip_prefix("cargo run -- ")).unwrap();
    let output = world().run(arguments.split(' '));
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("3 titles became 3 names"), "{}", output.all());
}

#[test]
fn the_tutorials_are_numbered_without_gaps() {
    let files = recipes("examples/tutorials");
    for number in 1..=33 {
        let start = format!("examples/tutorials/{number:02}-");
        assert!(files.iter().any(|file| file.starts_with(&start)), "{start}");
    }
}

#[test]
fn the_first_tutorials_run_by_their_name_alone() {
    for file in recipes("examples/tutorials") {
        let number: u32 = file.rsplit('/').next().and_then(|name| name[..2].parse().ok()).unwrap_or_default();
        if number > 14 {
            continue;
        }
        let code = i32::from(file.contains("12-recursion-limits"));
        let output = world().run([&file]);
        assert_eq!(output.code, code, "{file}\n{}", output.all());
    }
}

#[test]
fn no_example_is_warned_about() {
    for dir in ["examples/tutorials", "examples/testing", "examples/patterns"] {
        for file in recipes(dir).iter().filter(|file| !file.contains("12-recursion-limits")) {
            let output = world().run(["validate", "--strict", file]);
            assert_eq!(output.code, 0, "{file}\n{}", output.all());
        }
    }
}

#[test]
fn edge_cases_hold() {
    for file in recipes("examples/testing") {
        check(&world(), &file);
    }
}

#[test]
fn patterns_work_as_described() {
    for file in recipes("examples/patterns") {
        check(&world(), &file);
    }
}

#[test]
fn the_verdict_of_the_pipeline_is_the_same_when_it_is_given_again() {
    let env = world();
    assert_eq!(env.shell("bash examples/sample-project/setup.sh demo").code, 0);
    // dies when its work is done and not yet recorded
    let spoil = "sed '$a\\      test -e ../go' examples/patterns/ci-pipeline.yaml > spoilt.yaml";
    assert_eq!(env.shell(spoil).code, 0);
    let first = env.run(["spoilt.yaml", "-C", "demo", "--output-format", "json"]);
    assert_eq!((first.code, &first.json()["failure"]["step"]), (1, &"verdict".into()), "{}", first.all());
    env.write("go", "");
    let again = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(again.code, 0, "{}", again.all());
    let commit = env.shell("git -C demo log -1 --format='PASS %h %s'").stdout;
    assert_eq!(again.value("verdict"), commit.trim_end(), "{}", again.all());
}
