//! Large values: no size breaks a step.

use super::*;

#[test]
fn size_never_breaks_a_step() {
    for size in [100_000, 131_000, 200_000, 1_000_000, 5_000_000] {
        let commands = [
            &format!("head -c {size} /dev/zero | tr '\\0' x") as &str,
            "printf %s {{s0}} | wc -c",
            "printf %s '{{s0}}' | wc -c",
            "printf %s \"$RECIPE_VAR_s0\" | wc -c",
            "printf %s \"$S0\" | wc -c",
            "cat <<'E' | wc -c\n{{s0}}\nE",
            "echo small; true",
            "python3 -c 'import json, os; print(len(json.load(open(os.environ[\"RECIPE_CONTEXT_FILE\"]))[\"s0\"]))'",
            "[[ {{s0}} == x*x ]] && echo {{s0.length}}",
        ];
        let output = finished(env().json(&recipe(&json!({}), &commands), &[]));
        let json = output.json();
        let size = size.to_string();
        let line = (size.parse().unwrap_or(0) + 1).to_string();
        for (at, expected) in
            [&size, &size, &size, &size, &line, &"small".to_owned(), &size, &size].into_iter().enumerate()
        {
            let name = format!("s{}", at + 1);
            assert_eq!(json["context"][&name], json!(expected), "{name} {size}");
        }
    }
}

#[test]
fn all_values_are_exported_if_they_fit_else_mentioned_and_new_ones() {
    // 120,000 bytes in one value are within the budget of all values together
    let big = json!({"big": "x".repeat(120_000)});
    let output =
        finished(env().json(&recipe(&big, &["a=RECIPE; b=VAR; printenv ${a}_${b}_big | wc -c"]), &[]));
    assert_eq!(output.value("s0"), "120001");
    // 300 names: the declared, the mentioned and the newest are there, an old one that is not mentioned is not
    let mut commands: Vec<String> = (0..300).map(|at| format!("echo value{at}")).collect();
    commands.push("printenv RECIPE_VAR_s3 RECIPE_VAR_s299 RECIPE_VAR_declared".to_owned());
    commands.push("env | grep -c '^RECIPE_VAR'".to_owned());
    commands.push(
        "jq -r .s7 \"$RECIPE_CONTEXT_FILE\" 2>/dev/null || grep -o '\"s7\":\"value7\"' $RECIPE_CONTEXT_FILE"
            .to_owned(),
    );
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let many = recipe(&json!({"declared": "yes"}), &commands).replacen(
        '{',
        "{\"recursion\": {\"max_total_steps\": 1000}, ",
        1,
    );
    let output = finished(env().json(&many, &["--quiet"]));
    assert_eq!(output.value("s300"), "value3\nvalue299\nyes");
    assert_eq!(output.value("s301"), "256");
    assert!(output.value("s302").as_str().is_some_and(|text| text.contains("value7")));
}

#[test]
fn a_value_that_is_not_exported_is_not_replaced_by_an_inherited_one() {
    let context = json!({"report": "new", "plan": {"risk": "low"}, "big": "x".repeat(200_000)});
    let names = "REPORT RECIPE_VAR_report PLAN_RISK RECIPE_VAR_plan__risk BIG OTHER";
    let seen = format!("for name in {names}; do echo $(printenv $name || echo unset); done | cut -c1-20");
    let called = format!("cat > seen.sh <<'END'\n{seen}\nEND\nbash seen.sh");
    let recipe = format!(
        "name: r\ncontext: {context}\nsteps:\n  - {{id: s, max_env_value_bytes: 2, command: {}}}\n",
        json!(called)
    );
    let mut env = env();
    for name in names.split(' ') {
        env = env.env(name, "old");
    }
    assert_eq!(finished(env.json(&recipe, &[])).value("s"), "unset\nunset\nunset\nunset\nunset\nold");
}

#[test]
fn a_step_can_limit_exported_values() {
    let recipe = "name: r\ncontext: {big: aaaaaaaaaaaaaaaaaaaa}\nsteps:\n  - {id: s, max_env_value_bytes: 10, command: 'a=BIG; b=${a}x; echo [$(printenv ${b%x})] {{big}}'}\n";
    assert_eq!(finished(env().json(recipe, &[])).value("s"), "[] aaaaaaaaaaaaaaaaaaaa");
}

#[test]
fn long_commands_run_from_a_file() {
    let body = format!("# {}\necho {{{{v}}}} done", "x".repeat(300_000));
    let output = finished(env().json(&recipe(&json!({"v": "it's"}), &[&body]), &[]));
    assert_eq!(output.value("s0"), "it's done");
}

#[test]
fn a_variable_of_a_step_may_have_any_size() {
    for size in [131_000, 131_072, 1_000_000] {
        let recipe = format!(
            "name: r\nsteps:\n  - {{id: big, command: \"head -c {size} /dev/zero | tr '\\\\0' x; echo; echo\"}}\n  - {{id: a, env: {{MINE: '{{{{big}}}}y', SMALL: s, INHERITED: '{{{{big}}}}'}}, command: 'echo ${{#MINE}} ${{MINE: -1}} $SMALL ${{#INHERITED}}; ls >/dev/null'}}\n"
        );
        let output = finished(env().env("INHERITED", "small").json(&recipe, &[]));
        assert_eq!(output.value("a"), json!(format!("{} y s {size}", size + 1)));
    }
}

#[test]
fn a_large_value_takes_the_place_of_an_inherited_one() {
    let recipe = "name: r\ncontext: {big: ''}\nsteps:\n  - {id: a, command: \"head -c 200000 /dev/zero | tr '\\\\0' x\", output: big}\n  - {id: b, command: 'echo $RECIPE_VAR_big | wc -c; ls >/dev/null && echo started'}\n";
    let output = finished(env().env("RECIPE_VAR_big", "small").json(recipe, &[]));
    assert_eq!(output.value("b"), json!("200001\nstarted"));
}
