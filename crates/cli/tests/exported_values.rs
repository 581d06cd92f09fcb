//! Which values reach the programs of a step when not all of them fit in an environment.

use serde_json::json;
use testkit::{Output, TestEnv};

/// A script that a command calls: it reads names from the environment that the command does not mention.
const HELPER: &str = "#!/bin/bash\nfor name in ISSUE_NUMBER RECIPE_VAR_issue_number TASK BRANCH OLDEST ANSWER_FIELD_7; do\n  echo \"$name=${!name-unset}\"\ndone\n";

fn env() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("helper.sh", HELPER);
    // an answer with 300 members, as agents give them
    let members: Vec<String> = (0..300).map(|at| format!("\"field_{at}\": \"value {at}\"")).collect();
    env.file("answer.json", format!("{{{}}}", members.join(", ")))
}

fn finished(output: Output) -> Output {
    assert_eq!(output.code, 0, "{}", output.all());
    output
}

const WORKFLOW: &str = "
name: workflow
context: {task: declared}
steps:
  - {id: oldest, command: echo first}
  - {id: issue, command: echo 4711, output: issue_number}
  - {id: answer, command: cat answer.json, parse_json: true}
  - {id: branch, command: echo feature}
  - {id: names, command: bash helper.sh}
";

#[test]
fn a_large_answer_takes_no_place_from_other_values() {
    let output = finished(env().json(WORKFLOW, &[]));
    let names = output.value("names");
    for line in [
        "ISSUE_NUMBER=4711",
        "RECIPE_VAR_issue_number=4711",
        "TASK=declared",
        "BRANCH=feature",
        "OLDEST=first",
    ] {
        assert!(names.as_str().is_some_and(|names| names.contains(line)), "{line}\n{names}");
    }
    assert!(names.as_str().is_some_and(|names| names.contains("ANSWER_FIELD_7=value 7")), "{names}");
}

#[test]
fn a_note_counts_the_omitted_values_once() {
    let output = finished(env().json(WORKFLOW, &[]));
    // five values and 300 members, of which 256 find room when `branch` starts, with four values and 300 members
    let notes = output.json()["evidence"]["notes"].clone();
    let said: Vec<&str> = notes
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|note| note["message"].as_str())
        .filter(|message| message.contains("not exported"))
        .collect();
    assert_eq!(said.len(), 1, "{notes}");
    assert!(said[0].contains("48 values"), "{notes}");
}

#[test]
fn declared_values_are_exported_before_step_values() {
    let child = "name: child\ncontext: {own: mine}\nsteps:\n  - {id: names, command: \"bash helper.sh; printenv OWN\"}\n";
    let steps: String = (0..300).map(|at| format!("  - {{id: made_{at}, command: echo {at}}}\n")).collect();
    let parent = format!(
        "name: parent\nrecursion: {{max_total_steps: 400}}\ncontext: {{task: declared, issue_number: 4711}}\nsteps:\n{steps}  - {{id: call, recipe: child}}\n"
    );
    let output = finished(env().file("child.yaml", child).json(&parent, &["--quiet"]));
    let names = output.value("call");
    for line in ["ISSUE_NUMBER=4711", "TASK=declared", "\nmine"] {
        assert!(names.as_str().is_some_and(|names| names.contains(line)), "{line}\n{names}");
    }
}

#[test]
fn a_large_value_that_a_command_uses_takes_no_place_from_declared_ones() {
    let recipe = "
name: r
context: {task: declared, issue_number: 4711}
steps:
  - {id: big, command: \"head -c 131000 /dev/zero | tr '\\\\0' x\"}
  - {id: names, command: \"printf %s {{big}} | wc -c; bash helper.sh\"}
";
    let output = finished(env().json(recipe, &[]));
    let names = output.value("names");
    for line in ["131000\n", "ISSUE_NUMBER=4711", "TASK=declared"] {
        assert!(names.as_str().is_some_and(|names| names.contains(line)), "{line}\n{names}");
    }
}

#[test]
fn every_top_level_value_has_its_alias() {
    let steps: String = (0..200).map(|at| format!("  - {{id: made_{at}, command: echo {at}}}\n")).collect();
    let recipe = format!(
        "name: r\nrecursion: {{max_total_steps: 400}}\nsteps:\n{steps}  - {{id: count, command: \"env | grep -c '^MADE_'\"}}\n"
    );
    assert_eq!(finished(env().json(&recipe, &["--quiet"])).value("count"), "200");
}

#[test]
fn mentioned_values_arrive_with_any_number_of_declared_names() {
    let names: String = (0..300).map(|at| format!("  k{at}: v{at}\n")).collect();
    for (command, printed) in [
        ("echo [$RECIPE_VAR_k299] [$K298]", "[v299] [v298]"),
        ("printenv RECIPE_VAR_k299", "v299"),
        ("env | grep -c ^RECIPE_VAR_k", "256"),
        ("env | grep -c '^K[0-9]*=v'", "256"),
    ] {
        let recipe = format!("name: r\ncontext:\n{names}steps:\n  - {{id: s, command: \"{command}\"}}\n");
        assert_eq!(finished(env().json(&recipe, &[])).value("s"), printed, "{command}");
    }
}

#[test]
fn an_object_of_any_size_does_not_break_a_step() {
    let command = "python3 -c 'import json; print(json.dumps({f\"field{n}\": \"\" for n in range(40000)}))' 2>/dev/null || awk 'BEGIN { printf \"{\"; for (n = 0; n < 40000; n++) printf \"%s\\\"field%d\\\":\\\"\\\"\", n ? \",\" : \"\", n; print \"}\" }'";
    let recipe = json!({"name": "r", "steps": [
        {"id": "o", "command": command, "parse_json": true},
        {"id": "s", "command": "echo ${O_FIELD39999+there} ${RECIPE_VAR_o__field39998+there}; env | grep -c ^O_FIELD"},
    ]});
    let value = finished(env().json(&recipe.to_string(), &[])).value("s").to_string();
    assert!(value.starts_with("\"there there\\n"), "{value}");
}
