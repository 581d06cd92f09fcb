//! `manifest`: digests of recipe files, and changes since then.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("recipes/a.yaml", "name: a\n")
        .file("recipes/b.yml", "name: b\n")
        .file("recipes/notes.txt", "x")
        .file("recipes/sub/c.yaml", "name: c\n")
}

#[test]
fn a_manifest_holds_the_first_digits_of_every_digest() {
    let env = env();
    let output = env.run(["manifest", "write", "recipes"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let text = std::fs::read_to_string(env.path("recipes/_recipe_manifest.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = env.shell("cd recipes && sha256sum a.yaml b.yml | cut -c1-16").stdout;
    let mut expected = expected.lines();
    let wanted = serde_json::json!({ "a.yaml": expected.next(), "b.yml": expected.next() });
    assert_eq!(json, wanted);
}

#[test]
fn changes_are_found() {
    let env = env();
    env.run(["manifest", "write", "recipes"]);
    let same = env.run(["manifest", "check", "recipes"]);
    assert_eq!((same.code, same.stdout.as_str()), (0, "unchanged: 2 recipe files\n"));
    env.write("recipes/a.yaml", "name: changed\n");
    env.write("recipes/new.yaml", "name: new\n");
    std::fs::remove_file(env.path("recipes/b.yml")).unwrap();
    let output = env.run(["manifest", "check", "recipes"]);
    assert_eq!(output.stdout, "new       new.yaml\nmodified  a.yaml\ndeleted   b.yml\n");
    assert_eq!(output.code, 1);
    for line in ["manifest check recipes --output-format json", "--format json manifest check recipes"] {
        let output = env.run(line.split(' '));
        let expected = serde_json::json!({
            "changed": true, "new": ["new.yaml"], "modified": ["a.yaml"], "deleted": ["b.yml"],
        });
        assert_eq!((output.json(), output.code), (expected, 1), "{}", output.all());
    }
    env.run(["manifest", "write", "recipes"]);
    assert_eq!(env.run(["manifest", "check", "recipes"]).code, 0);
}

#[test]
fn incomparable_directories_are_reported() {
    let env = env().file("broken/_recipe_manifest.json", "[]");
    for (line, part) in [
        ("manifest check recipes", "manifest write recipes"),
        ("manifest check nowhere", "cannot be read"),
        ("manifest write nowhere", "cannot be read"),
        ("manifest check broken", "is not a manifest"),
    ] {
        let output = env.run(line.split(' '));
        assert_eq!(output.code, 4, "{line}\n{}", output.all());
        assert!(output.stderr.contains(part), "{line}: expected {part}\n{}", output.all());
    }
}
