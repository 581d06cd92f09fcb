//! Snapshots: compared, never written by accident.

use crate::{is_absent, world};

const RECIPE: &str = "name: r\ncontext: {who: world}\nsteps:\n  - {id: a, prompt: 'greet {{who}}'}\n  - {id: b, command: 'echo {{who}} > out.txt; pwd'}\n";
const TESTS: &str = "cases:\n  - name: all/of it\n    stubs: {a: {answer: \"line 1\\nline 2\\n\"}}\n    expect: {snapshot: true}\n";

#[test]
fn a13_a_snapshot_is_written_only_on_request() {
    let env = world(RECIPE, TESTS);
    let missing = env.run(["test"]);
    assert_eq!(missing.code, 1, "{}", missing.all());
    assert!(
        missing.stdout.contains("snapshot") && missing.stdout.contains("test --update"),
        "{}",
        missing.stdout
    );
    assert!(is_absent(&env, "r.test.yaml.snap"));
    let refused = world(RECIPE, TESTS).env("CI", "true");
    let output = refused.run(["test", "--update"]);
    assert_eq!(output.code, 4, "{}", output.all());
    assert!(output.stderr.contains("CI") && is_absent(&refused, "r.test.yaml.snap"));
    let written = env.run(["test", "--update"]);
    assert_eq!(written.code, 0, "{}", written.all());
    let file = std::fs::read_dir(env.path("r.test.yaml.snap")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    for part in [
        "a: completed",
        "order:\n  - a\n  - b\n",
        "greet world",
        "out.txt: \"world\\n\"",
        "line 1",
        "{scratch}",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(env.run(["test", "--repeat", "3"]).code, 0);
    env.write("r.yaml", RECIPE.replace("who: world", "who: you"));
    let changed = env.run(["test"]);
    assert_eq!(changed.code, 1, "{}", changed.all());
    assert!(
        changed.stdout.contains("- ")
            && changed.stdout.contains("greet you")
            && changed.stdout.contains("greet world")
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "a comparison writes nothing");
}
