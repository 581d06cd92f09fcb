//! What the prompt of a recovery quotes: never more of the failed run's output than its limit, in all places together.

use testkit::TestEnv;

const PARENT: &str = "name: parent
steps:
- {id: sub, recipe: child, recovery_on_failure: true}
";

#[track_caller]
fn prompt(steps: &str) -> String {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .agent("claude", "result 'STATUS: COMPLETE'")
        .file("parent.yaml", PARENT)
        .file("child.yaml", format!("name: child\nsteps:\n{steps}"))
        .file(
            "grandchild.yaml",
            format!("name: grandchild\nsteps:\n- {{id: deep, command: \"{LOUD}; exit 9\"}}\n"),
        );
    let output = env.run(["parent.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    env.asked(1, "prompt")
}

const LOUD: &str = "head -c 3000 /dev/zero | tr '\\\\0' Q";

#[test]
fn the_prompt_has_at_most_500_characters_of_output() {
    let group: String = (0..6)
        .map(|n| format!("- {{id: k{n}, parallel_group: g, command: \"{LOUD}; exit 1{n}\"}}\n"))
        .collect();
    for (steps, words) in [
        (
            format!("- {{id: k, command: \"{LOUD}; exit 7\"}}\n"),
            vec!["Error: Sub-recipe 'child' failed at step 'k': [error] bash step failed: exit code 7"],
        ),
        (
            format!("- {{id: k, command: \"({LOUD}) >&2; {LOUD}; exit 7\"}}\n"),
            vec!["exit code 7\nlast on stdout:"],
        ),
        (
            format!("- {{id: m, command: \"{LOUD}\"}}\n- {{id: k, command: \"{LOUD}; exit 7\"}}\n"),
            vec!["bash step failed: exit code 7", "m: Q"],
        ),
        (
            group,
            vec![
                "at step 'k0': [error] bash step failed: exit code 10",
                "and at step 'k5': [error] bash step failed: exit code 15",
            ],
        ),
        (
            format!("- {{id: k, command: \"{LOUD}; echo; echo the last word; exit 7\"}}\n"),
            vec!["the last word"],
        ),
        (
            "- {id: n, recipe: grandchild}\n".to_owned(),
            vec![
                "at step 'n': [error] Sub-recipe 'grandchild' failed at step 'deep': [error] bash step failed: exit code 9",
            ],
        ),
    ] {
        let prompt = prompt(&steps);
        let count = prompt.matches('Q').count();
        assert!((100..=500).contains(&count), "{count}\n{prompt}");
        for part in words {
            assert!(prompt.contains(part), "{part}\n{prompt}");
        }
    }
}

#[test]
fn a_short_error_leaves_room_for_the_outputs() {
    for failure in ["exit 7", "'echo a short complaint >&2; exit 7'"] {
        let prompt = prompt(&format!("- {{id: m, command: \"{LOUD}\"}}\n- {{id: k, command: {failure}}}\n"));
        let count = prompt.matches('Q').count();
        assert_eq!(count, 500 - "m: ".len(), "{prompt}");
    }
}
