//! The filters of `orch` through the program: the rows of the rules, and inputs that are no text.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// Runs a filter; returns its exit code and what it printed.
fn filter(arguments: &[&str], input: &[u8]) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .arg("orch")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // a usage error ends the program before it reads
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn object(arguments: &[&str], input: &str) -> Value {
    let (code, printed) = filter(arguments, input.as_bytes());
    assert_eq!(code, 0, "{arguments:?} {input}");
    serde_json::from_str(&printed).unwrap()
}

/// The rows of the rules; their variations are tested without the program.
fn rows(text: &str) -> Vec<Value> {
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.filter(|row: &Value| row["id"].as_str().is_some_and(|id| !id.contains('+'))).collect()
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

#[test]
fn every_row_of_the_rules_holds() {
    for row in rows(include_str!("../../engine/tests/orchestration/rows/task_types.jsonl")) {
        let found = object(&["task-type", "--said", text(&row, "said")], text(&row, "text"));
        let expected = json!({ "task_type": row["becomes"], "promoted_by": row["by"] });
        assert_eq!(found, expected, "{row}");
    }
    for row in rows(include_str!("../../engine/tests/orchestration/rows/hollow.jsonl")) {
        let arguments = ["hollow", "--type", text(&row, "type"), "--work", text(&row, "work")];
        let found = object(&arguments, text(&row, "text"));
        let verdict = row["verdict"].as_str().unwrap_or("UNKNOWN");
        assert_eq!((&found["hollow"], &found["verdict"]), (&row["hollow"], &json!(verdict)), "{row}");
        assert!(found["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()), "{found}");
    }
    for row in rows(include_str!("../../engine/tests/orchestration/rows/goal_status.jsonl")) {
        let found = object(&["goal-status"], text(&row, "text"));
        assert_eq!(found["status"], row["status"], "{row}");
        assert!(row["detail"].is_null() || row["detail"] == found["detail"], "{row} {found}");
    }
    for row in rows(include_str!("../../engine/tests/orchestration/rows/intent.jsonl")) {
        let keys = ["publish", "no_merge", "allow_no_op"];
        let expected: Vec<&Value> = keys.iter().map(|key| &row[*key]).collect();
        let found = object(&["intent"], text(&row, "text"));
        assert_eq!(keys.iter().map(|key| &found[*key]).collect::<Vec<_>>(), expected, "{row}");
        assert_eq!(found.as_object().unwrap().len(), 3);
    }
}

#[test]
fn the_other_filters_print_one_object() {
    let answer = "text {\"a\":1}\n```json\n{\"b\":3.10,\"c\":null,\"d\":\"x y\",\"e\":[1]}\n```\n{\"f\":1}";
    assert_eq!(filter(&["json"], answer.as_bytes()).1, "{\"b\":3.10,\"c\":null,\"d\":\"x y\",\"e\":[1]}\n");
    assert_eq!(filter(&["json"], b"no object").1, "{}\n");
    for (name, value, bare) in [
        ("b", json!({ "value": serde_json::from_str::<Value>("3.10").unwrap() }), "3.10"),
        ("c", json!({ "value": "" }), ""),
        ("d", json!({ "value": "x y" }), "x y"),
        ("e", json!({ "value": [1] }), "[1]"),
        ("f", json!({ "value": "-" }), "-"),
    ] {
        assert_eq!(object(&["field", name, "--default", "-"], answer), value);
        let arguments = ["field", name, "--default", "-", "--text"];
        assert_eq!(filter(&arguments, answer.as_bytes()).1, format!("{bare}\n"));
    }
    assert_eq!(object(&["verdict"], "Passed\n"), json!({ "verdict": "WORK_VERIFIED" }));
    let streams = r#"{"task_type":"dev","goal":"g","workstreams":[{"name":"a"},{"name":"a"}]}"#;
    let found = object(&["workstreams"], streams);
    assert_eq!((&found["workstreams"][1]["name"], &found["notes"]), (&json!("a-2"), &json!([])));
    for more in [&["--force-single"][..], &["--force-single=yes"], &["--max", "1"], &["--no-git"]] {
        let found = object(&[&["workstreams"], more].concat(), streams);
        assert_eq!(found["workstreams"].as_array().unwrap().len(), 1, "{more:?}");
        assert_eq!(found["notes"].as_array().unwrap().len(), 1, "{more:?}");
    }
    assert_eq!(filter(&["workstreams", "--force-single=no", "--text"], streams.as_bytes()).1, "2\n");
    let name = |step: &str, error: &str| {
        let arguments = ["fingerprint", "--mode", "m", "--recipe", "r", "--step", step, "--text"];
        filter(&arguments, error.as_bytes()).1
    };
    assert_eq!(name("s", "failed after 3 s"), name("s", "failed after 14 s"));
    assert_ne!(name("s", "failed"), name("t", "failed"));
    assert_eq!(filter(&["goal-status", "--text"], b"PARTIAL -- x").1, "PARTIAL\n");
    assert_eq!(filter(&["task-type", "--said", "zzz", "--text"], b"What is it?").1, "Q&A\n");
}

#[test]
fn any_input_is_accepted_and_wrong_usage_is_not() {
    let filters: [&[&str]; 9] = [
        &["goal-status"],
        &["hollow", "--type", "dev"],
        &["task-type", "--said", "ops"],
        &["intent"],
        &["workstreams"],
        &["verdict"],
        &["json"],
        &["field", "a"],
        &["fingerprint"],
    ];
    let large = "Add `x` and \"y\" to the files. ".repeat(3_000);
    for arguments in filters {
        for input in [&b""[..], b"\0\0", b"\xff\xfe{\"a\":", large.as_bytes()] {
            let (code, printed) = filter(arguments, input);
            assert_eq!(code, 0, "{arguments:?}");
            assert!(
                serde_json::from_str::<Value>(&printed).is_ok_and(|value| value.is_object()),
                "{printed}"
            );
        }
    }
    for wrong in
        [&["hollow"][..], &["hollow", "--type", "props"], &["task-type"], &["field"], &["nonsense"], &[]]
    {
        assert_eq!(filter(wrong, b"x").0, 2, "{wrong:?}");
    }
    assert_eq!(filter(&["hollow", "--type", "dev", "--work", "maybe"], b"x").0, 2);
}
