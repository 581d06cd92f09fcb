//! Recipes and agents of an installation: `AMPLIHACK_HOME`, `AMPLIHACK_PACKAGE_RECIPE_DIR`, the bundle of a repository.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn recipe(name: &str, text: &str) -> String {
    format!("name: {name}\nsteps: [{{id: a, command: echo {text}}}]\n")
}

/// A world whose home has an installation and a package.
fn installed() -> TestEnv {
    let env = env()
        .file("~/installed/amplifier-bundle/recipes/one.yaml", recipe("one", "installed"))
        .file("~/.amplihack/amplifier-bundle/recipes/two.yaml", recipe("two", "in home"))
        .file("~/package/three.yaml", recipe("three", "packaged"));
    let (home, package) = (env.home().join("installed"), env.home().join("package"));
    env.env("AMPLIHACK_HOME", &home.display().to_string())
        .env("AMPLIHACK_PACKAGE_RECIPE_DIR", &package.display().to_string())
}

#[test]
fn recipes_of_an_installation_are_listed_and_run_by_name() {
    let env = installed();
    let list = env.run(["list"]);
    for (name, said) in [("one", "installed"), ("two", "in home"), ("three", "packaged")] {
        assert!(list.stdout.lines().any(|line| line.starts_with(&format!("{name} "))), "{}", list.all());
        let output = env.run([name]);
        assert!(output.code == 0 && output.stdout.contains(said), "{}", output.all());
    }
}

#[test]
fn other_places_come_before_an_installation() {
    let env = installed().file(".claude/recipes/one.yaml", recipe("one", "of the project"));
    let output = env.run(["one"]);
    assert!(output.stdout.contains("of the project"), "{}", output.all());
    let list = env.run(["list"]);
    assert!(list.stdout.contains("not used: .claude/recipes/one.yaml has the same name"), "{}", list.all());
}

#[test]
fn a_step_finds_recipes_of_the_repository_around_its_recipe() {
    let env = env()
        .file("repo/.git/HEAD", "")
        .file("repo/amplifier-bundle/recipes/shared.yaml", recipe("shared", "from the top"))
        .file("repo/tools/r.yaml", "name: r\nsteps: [{id: s, recipe: shared}]\n");
    let output = env.run(["repo/tools/r.yaml"]);
    assert!(output.code == 0 && output.stdout.contains("from the top"), "{}", output.all());
    assert_eq!(env.run(["-C", "repo/tools", "shared"]).code, 3);
}

#[test]
fn a_resume_finds_an_installation_that_another_shell_does_not_know() {
    let env = env()
        .file("~/installed/amplifier-bundle/recipes/late.yaml", recipe("late", "found"))
        .file("r.yaml", "name: r\nsteps:\n  - {id: w, command: 'test -e go && echo late', output: w}\n  - {id: s, recipe: '{{w}}'}\n");
    let first = env.shell("cd ~ && AMPLIHACK_HOME=installed \"$RUNNER\" \"$OLDPWD/r.yaml\" --quiet");
    assert_eq!(first.code, 1, "{}", first.all());
    env.write("~/go", "");
    let output = env.run(["resume", "last"]);
    assert!(output.code == 0 && output.stdout.contains("found"), "{}", output.all());
}

#[test]
fn agents_of_an_installation_are_found() {
    let ask = |agent: &str| format!("name: r\nsteps: [{{id: a, agent: '{agent}', prompt: go}}]\n");
    for (reference, expected) in
        [("ns:builder", "You build."), ("writer", "You write."), ("ns:near", "You help.")]
    {
        let env = env()
            .agent("launch", "echo ok")
            .file("~/installed/amplifier-bundle/agents/ns/core/builder.md", "You build.")
            .file("~/installed/amplifier-bundle/agents/specialized/writer.md", "You write.")
            .file("agents/ns/specialized/near.md", "You help.")
            .file("recipes/r.yaml", ask(reference))
            .env("AMPLIHACK_LAUNCHER_BINARY", "launch");
        let home = env.home().join("installed").display().to_string();
        let env = env.env("AMPLIHACK_HOME", &home);
        let output = env.run(["recipes/r.yaml"]);
        assert_eq!(output.code, 0, "{}", output.all());
        let argv = env.asked(1, "argv");
        assert!(argv.contains(&format!("--system-prompt\n{expected}\n")), "{reference}: {argv}");
    }
}
