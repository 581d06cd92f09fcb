//! What a resume says about an edited recipe, which options it takes over, and how runs are named.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn an_edited_recipe_is_noticed_and_the_command_for_it_works() {
    let env = env().file("my r.yaml", "name: r\nsteps: [{id: a, command: exit 3}]\n");
    assert_eq!(env.run(["my r.yaml"]).code, 1);
    let same = env.run(["resume", "last"]);
    assert!(!same.all().contains("--recipe"), "{}", same.all());
    env.write("my r.yaml", "name: r\nsteps: [{id: a, command: touch edited}]\n");
    let plan = env.run(["resume", "last", "--plan"]);
    assert!(plan.stdout.contains("--recipe"), "{}", plan.all());
    let json = env.run(["resume", "last", "--plan", "--output-format", "json"]).json();
    assert!(json["changed_recipe"].as_str().unwrap().ends_with("my r.yaml"), "{json}");
    let old = env.run(["resume", "last"]);
    assert_eq!(old.code, 1, "it goes on with the recipe as it was");
    let said = old.stderr.lines().find(|line| line.contains("--recipe")).unwrap();
    let command =
        said[said.find("recipe-runner-rs").unwrap()..].replacen("recipe-runner-rs", "\"$RUNNER\"", 1);
    let edited = env.shell(&format!("cd / && {command}"));
    assert_eq!(edited.code, 0, "{command}\n{}", edited.all());
    assert!(env.path("edited").exists());
}

#[test]
fn max_parallel_of_a_resume_counts() {
    let member = |id: &str| {
        format!("  - {{id: {id}, parallel_group: g, command: 'echo + >> log; sleep 0.3; echo - >> log'}}\n")
    };
    let recipe = format!(
        "name: r\nsteps:\n  - {{id: first, command: '[ -e ok ]'}}\n{}{}{}",
        member("a"),
        member("b"),
        member("c")
    );
    for (first, second, expected) in [("1", None, 1), ("1", Some("64"), 3), ("64", Some("1"), 1)] {
        let env = env().file("r.yaml", &recipe);
        assert_eq!(env.run(["r.yaml", "--max-parallel", first]).code, 1);
        env.write("ok", "");
        let arguments =
            ["resume", "last"].into_iter().chain(second.into_iter().flat_map(|n| ["--max-parallel", n]));
        assert_eq!(env.run(arguments).code, 0);
        let log = std::fs::read_to_string(env.path("log")).unwrap();
        let (mut now, mut most) = (0, 0);
        for line in log.lines() {
            now += if line == "+" { 1 } else { -1 };
            most = most.max(now);
        }
        assert_eq!(most, expected, "{first} then {second:?}");
    }
}

#[test]
fn an_ambiguous_beginning_names_a_few_runs() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: a, command: 'true'}]\n");
    for _ in 0..6 {
        assert_eq!(env.run(["r.yaml"]).code, 0);
    }
    let ids = env.run_ids();
    let output = env.run(["show", "20"]);
    assert_eq!(output.code, 3, "{}", output.all());
    let named = ids.iter().filter(|id| output.stderr.contains(id.as_str())).count();
    assert!(
        named <= 3 && output.stderr.contains("6 in all") && output.stderr.contains("3 more"),
        "{}",
        output.all()
    );
}
