//! `list` and finding by name: one order of directories for both.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// What `list` prints about everything that is not part of the program.
fn own(stdout: &str) -> String {
    let mut text = String::new();
    let mut built_in = false;
    for line in stdout.lines() {
        built_in = if line.starts_with(' ') { built_in } else { line.contains("built-in:") };
        if !built_in {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

fn recipe(name: &str) -> String {
    format!("name: {name}\nversion: '2.0'\ndescription: About {name}\nsteps: [{{id: a, command: x}}]\n")
}

#[test]
fn recipes_of_all_directories_are_listed() {
    let env = env()
        .file("~/.amplihack/.claude/recipes/a.yaml", recipe("in-home"))
        .file("amplifier-bundle/recipes/b.yaml", recipe("in-bundle"))
        .file("src/amplihack/amplifier-bundle/recipes/c.yaml", recipe("in-source"))
        .file(".claude/recipes/d.yml", recipe("in-claude"))
        .file("one/e.yaml", recipe("in-one"))
        .file("two/f.yaml", recipe("in-two"))
        .file("~/more/g.yaml", recipe("in-more"))
        .env("RECIPE_RUNNER_RECIPE_DIRS", "~/more:nowhere:");
    for arguments in [["list", "-R", "one", "--recipe-dir", "two"], ["-R", "one", "-R", "two", "list"]] {
        let output = env.run(arguments);
        assert_eq!(output.code, 0);
        for name in ["in-home", "in-bundle", "in-source", "in-claude", "in-one", "in-two", "in-more"] {
            assert!(output.stdout.contains(name), "{name}\n{}", output.all());
            let found = env.run(["validate", name, "-R", "one", "-R", "two"]);
            assert_eq!(found.code, 0, "{name}\n{}", found.all());
        }
    }
}

#[test]
fn the_first_directory_wins_and_the_other_one_is_shown() {
    let env = env().file("one/a.yaml", recipe("same")).file("two/a.yaml", recipe("same"));
    let output = env.run(["list", "-R", "one", "-R", "two"]);
    let expected = "\
same 2.0  one/a.yaml
    About same
same 2.0  two/a.yaml
    About same
    not used: one/a.yaml has the same name
";
    assert_eq!(own(&output.stdout), expected);
    for (dirs, winner) in [(["one", "two"], "one/a.yaml"), (["two", "one"], "two/a.yaml")] {
        let output = env.run(["validate", "same", "-R", dirs[0], "-R", dirs[1]]);
        assert!(output.stdout.contains(winner), "{}", output.all());
    }
}

#[test]
fn json_shows_the_same() {
    let env = env().file("one/a.yaml", recipe("same")).file("two/a.yaml", recipe("same"));
    let json = env.run(["list", "-R", "one", "-R", "two", "--output-format", "json"]).json();
    let mut json = json.as_array().unwrap().clone();
    json.retain(|found| !found["path"].as_str().unwrap().starts_with("built-in:"));
    assert_eq!(json[0]["name"], "same");
    assert_eq!(json[0]["version"], "2.0");
    assert_eq!(json[0]["description"], "About same");
    assert_eq!(json[0]["path"], "one/a.yaml");
    assert_eq!(json[0]["shadowed_by"], serde_json::Value::Null);
    assert_eq!(json[1]["shadowed_by"], "one/a.yaml");
    assert_eq!(json[0]["built_in"], false);
}

#[test]
fn built_in_recipes_say_so() {
    let found = env().run(["list", "--output-format", "json"]).json();
    let found = found.as_array().unwrap();
    let is_marked = |found: &&serde_json::Value| found["built_in"] == true;
    assert!(found.len() > 5 && found.iter().all(|found| is_marked(&found)), "{found:?}");
}

#[test]
fn names_are_found_where_people_put_them() {
    let says = |word: &str| format!("name: any\nsteps: [{{id: a, command: echo {word}}}]\n");
    let env = env()
        .file("build.yaml", says("here"))
        .file("recipes/build.yaml", says("below"))
        .file("recipes/test.yml", says("test"))
        .file("recipes/called.yaml", says("called").replace("any", "by-name"))
        .file(".claude/recipes/test.yaml", says("claude"))
        .file("k8s.yaml", "kind: Deployment\n")
        .file(".claude/recipes/k8s.yaml", says("recipe"))
        .file("broken.yaml", "name: [\n")
        .file("more/build.yaml", says("more"))
        .file("sub/x", "");
    for (line, expected) in [
        ("build", "here\n"),
        ("build -R more", "more\n"),
        ("run test", "test\n"),
        ("by-name", "called\n"),
        ("k8s", "recipe\n"),
        ("build -C sub", "here\n"),
    ] {
        let output = env.run(line.split(' ').chain(["--quiet"]));
        assert_eq!(output.code, 0, "{line}: {}", output.all());
        assert!(output.stdout.starts_with(expected), "{line}: {}", output.all());
    }
    let broken = env.run(["broken"]);
    assert_eq!(broken.code, 2, "{}", broken.all());
    let unknown = env.run(["nosuch"]);
    assert!(unknown.stderr.contains("recipes") && unknown.code == 3, "{}", unknown.all());
    let listed = own(&env.run(["list"]).stdout);
    assert!(listed.contains("recipes/build.yaml") && !listed.contains("k8s.yaml\n    broken"), "{listed}");
    assert!(!listed.contains("  build.yaml"), "{listed}");
}

#[test]
fn broken_files_do_not_hide_the_others() {
    let env =
        env().file("one/good.yaml", recipe("good")).file("one/bad.yaml", "name: [").file("one/x.txt", "");
    let output = env.run(["list", "-R", "one"]);
    assert_eq!(output.code, 0);
    assert!(
        output.stdout.contains("good 2.0") && output.stdout.contains("broken: line 1"),
        "{}",
        output.all()
    );
}

#[test]
fn an_empty_list_names_the_searched_directories() {
    let output = env().run(["list"]);
    assert_eq!(output.code, 0);
    assert!(
        output.stderr.contains(".claude/recipes") && output.stderr.contains("-R DIR"),
        "{}",
        output.all()
    );
    assert_eq!(own(&output.stdout), "");
}

#[test]
fn an_added_directory_does_not_hide_the_others() {
    let env = env().file("one/a.yaml", recipe("a")).file(".claude/recipes/b.yaml", recipe("b"));
    let main = "name: main\nsteps: [{id: x, recipe: a}, {id: y, recipe: b}]\n";
    let env = env.file("main.yaml", main);
    assert_eq!(env.run(["validate", "main.yaml", "-R", "one"]).code, 0);
    assert_eq!(env.run(["validate", "main.yaml"]).code, 2);
}
