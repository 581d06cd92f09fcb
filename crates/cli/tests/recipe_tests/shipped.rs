//! The recipes that come with the program: their test files pass, reach every branch, and notice every change of what
//! decides.

use std::{
    fs,
    path::{Path, PathBuf},
};

use recipe::{source::Sources, yaml};
use testkit::TestEnv;

/// The folder of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder with this ending.
fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn shipped_test_files_pass_with_full_coverage() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    for folder in ["examples", "recipes"] {
        let dir = project().join(folder);
        let mut tests = Vec::new();
        files(&dir, ".test.yaml", &mut tests);
        assert!(!tests.is_empty(), "{folder} has test files");
        for file in &tests {
            let text = fs::read_to_string(file).unwrap();
            assert!(text.contains("min: 100"), "{} demands full coverage", file.display());
        }
        let output = env.run(["test", "--coverage", &dir.to_string_lossy()]);
        assert_eq!(output.code, 0, "{}", output.all());
    }
}

#[test]
fn recipes_that_decide_something_have_a_test_file() {
    for folder in ["examples/tutorials", "examples/patterns"] {
        let mut recipes = Vec::new();
        files(&project().join(folder), ".yaml", &mut recipes);
        let is_test = |path: &&PathBuf| path.to_string_lossy().ends_with(".test.yaml");
        for recipe in recipes.iter().filter(|path| !is_test(path)) {
            let text = fs::read_to_string(recipe).unwrap();
            let decides = ["condition:", "when:", "retry:", "until:"];
            if decides.iter().any(|word| {
                text.lines()
                    .any(|line| line.trim_start().contains(word) && !line.trim_start().starts_with('#'))
            }) {
                assert!(
                    recipe.with_extension("test.yaml").is_file(),
                    "{} has no test file",
                    recipe.display()
                );
            }
        }
    }
}

/// A change of a recipe: what it says, and the text with it.
type Mutation = (String, String);

/// Every single change of a condition, `when`, `retry` or `until` in a recipe.
fn mutations(text: &str) -> Vec<Mutation> {
    let mut sources = Sources::default();
    let id = sources.add("r.yaml", text);
    let root = yaml::parse(&sources, id, &mut Vec::new()).unwrap();
    let steps = root.get("steps").unwrap();
    let yaml::NodeKind::List(steps) = &steps.value.kind else { panic!("steps are a list") };
    let mut found = Vec::new();
    for step in steps {
        let name = step.get("id").unwrap().value.to_value().render().into_owned();
        let mut change = |field: &str, node: &yaml::Node, values: Vec<String>| {
            let span = node.place.span.range();
            for value in values {
                let changed = format!("{}{value}{}", &text[..span.start], &text[span.end..]);
                found.push((format!("{name}.{field}: {value}"), changed));
            }
        };
        if let Some(condition) = step.get("condition") {
            change("condition", &condition.value, other_conditions(&condition.value));
        }
        if let Some(when) = step.get("when") {
            let own = when.value.to_value().render().into_owned();
            let others = ["ok", "failed", "always"].into_iter().filter(|word| *word != own);
            change("when", &when.value, others.map(str::to_owned).collect());
        }
        if let Some(until) = step.get("repeat").and_then(|repeat| repeat.value.get("until")) {
            change("until", &until.value, other_conditions(&until.value));
        }
        if let Some(retry) = step.get("retry") {
            let attempts = retry.value.get("max_attempts").map_or(&retry.value, |attempts| &attempts.value);
            let number: u32 = attempts.to_value().render().parse().unwrap();
            change(
                "retry",
                attempts,
                vec!["1".to_owned(), (number - 1).to_string(), (number + 1).to_string()],
            );
        }
    }
    found
}

/// Other conditions in place of one: its opposite, always, never, and each comparison changed.
fn other_conditions(node: &yaml::Node) -> Vec<String> {
    let text = node.to_value().render().into_owned();
    let mut found = vec![format!("not ({text})"), "true".to_owned(), "false".to_owned()];
    for (from, to) in [
        (" >= ", " > "),
        (" >= ", " < "),
        (" > ", " >= "),
        (" < ", " <= "),
        (" == ", " != "),
        (" != ", " == "),
        (" and ", " or "),
        (" or ", " and "),
    ] {
        found.extend(
            text.match_indices(from)
                .map(|(at, _)| format!("{}{to}{}", &text[..at], &text[at + from.len()..])),
        );
    }
    found.into_iter().map(|text| serde_json::Value::from(text).to_string()).collect()
}

#[test]
fn a16_every_change_of_what_decides_fails_a_shipped_case() {
    let mut tests = Vec::new();
    for folder in ["examples", "recipes"] {
        files(&project().join(folder), ".test.yaml", &mut tests);
    }
    let mut count = 0;
    let mut survivors = Vec::new();
    for test in &tests {
        let recipe = PathBuf::from(test.to_string_lossy().replace(".test.yaml", ".yaml"));
        let text = fs::read_to_string(&recipe).unwrap();
        let all = mutations(&text);
        if all.is_empty() {
            continue;
        }
        let name = recipe.file_name().unwrap().to_string_lossy().into_owned();
        // one copy of the folder for each change, tested together
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let mut beside = Vec::new();
        files(recipe.parent().unwrap(), ".yaml", &mut beside);
        for (number, (_, changed)) in all.iter().enumerate() {
            for file in beside.iter().filter(|file| !file.to_string_lossy().ends_with(".test.yaml")) {
                env.write(
                    &format!("{number}/{}", file.file_name().unwrap().to_string_lossy()),
                    fs::read(file).unwrap(),
                );
            }
            env.write(&format!("{number}/{name}"), changed);
            env.write(
                &format!("{number}/{}", test.file_name().unwrap().to_string_lossy()),
                fs::read(test).unwrap(),
            );
        }
        for (number, (what, _)) in all.iter().enumerate() {
            let output = env.run(["test", &number.to_string(), "--fail-fast", "--output-format", "json"]);
            assert!([0, 1, 2].contains(&output.code), "{name} {what}: {}", output.all());
            let is_noticed = output.code == 2
                || output.json()["cases"].as_array().unwrap().iter().any(|case| case["status"] != "passed");
            if !is_noticed {
                survivors.push(format!("{name}: {what}"));
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} changes were tried");
    assert_eq!(survivors, [""; 0], "{count} changes were tried");
}
