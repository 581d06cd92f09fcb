//! What a checked recipe holds: values, defaults, digests and places that others rely on.

use recipe::{
    plan::{StepKind, ValueTemplate},
    syntax::{self, ExitMeaning},
    value::Map,
};

use crate::shelf::{STEP, check_files, unit, unit_of, with_field, with_step};

#[test]
fn a_step_passes_each_value_once() {
    let yaml = with_step(
        "recipe: child\nsub_context: {a: 1, b: 'x {{a}}'}\ncontext: {a: [2, '{{b}}'], c: {d: '{{b}}', e: plain}}",
    );
    let files = [("r.yaml", yaml.as_str()), ("child.yaml", "name: child\nsteps: [{id: c, command: x}]\n")];
    let unit = unit_of(&files);
    let StepKind::Nested { overrides, .. } = &unit.steps[0].kind else { panic!("a recipe step") };
    let scope: Map = [("a", "A"), ("b", "B")].map(|(name, value)| (name.to_owned(), value.into())).into();
    let shown =
        |(name, value): &(String, ValueTemplate)| format!("{name}={}", value.render(&scope).to_json());
    let all: Vec<String> = overrides.iter().map(shown).collect();
    assert_eq!(all, [r#"b="x A""#, r#"a=[2,"B"]"#, r#"c={"d":"B","e":"plain"}"#]);
    let templates: Vec<usize> = overrides.iter().map(|(_, value)| value.templates().len()).collect();
    assert_eq!(templates, [1, 1, 2]);
}

#[test]
fn inputs_give_their_defaults_to_what_the_context_lacks() {
    let unit = unit(&with_field(
        "context: {a: 1}\ninputs: [{name: a, default: 2}, {name: b, default: 3}, {name: c, required: true}]",
    ));
    let defaults: Vec<String> =
        unit.defaults().iter().map(|(name, value)| format!("{name}={}", value.render())).collect();
    assert_eq!(defaults, ["a=1", "b=3"]);
    assert_eq!(unit.inputs.iter().map(|input| input.required).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn exit_codes_mean_what_the_step_says() {
    let unit = unit(&with_step("command: x\nexit_codes: {0: failed, 3: needs_human, 255: ok}"));
    let meaning = |code: i32| unit.steps[0].exit_meaning(code);
    assert_eq!([meaning(0), meaning(3)], [Some(ExitMeaning::Failed), Some(ExitMeaning::NeedsHuman)]);
    assert_eq!([meaning(255), meaning(1)], [Some(ExitMeaning::Ok), None]);
}

#[test]
fn name_and_order_do_not_change_a_definition() {
    let digest = |fields: &str| unit(&with_step(fields)).steps[0].digest.clone();
    let plain = digest("command: x\ntimeout: 5");
    assert_eq!(plain.len(), 64);
    for same in [
        "timeout: 5\ncommand: x",
        "name: Title\ncommand: x\ntimeout: 5",
        "command: x\ndescription: what for\ntimeout: 5",
        "command: 'x' # comment\ntimeout: 5",
    ] {
        assert_eq!(digest(same), plain, "{same}");
    }
    for other in
        ["command: x\ntimeout: 6", "command: y\ntimeout: 5", "command: x", "command: x\ntimeout: 5\nmode: m"]
    {
        assert_ne!(digest(other), plain, "{other}");
    }
    assert_ne!(unit(STEP).digest, unit(&with_field("author: me")).digest, "of the whole file");
}

#[test]
fn problems_of_a_whole_map_point_at_its_beginning() {
    for yaml in ["steps: [{id: s, command: x}]\n", "name: r\nsteps:\n  - command: x\n    timeout: 5\n"] {
        let told = check_files(&[("r.yaml", yaml)], &[]).diagnostics;
        let lengths: Vec<usize> =
            told.iter().filter_map(|told| told.place).map(|place| place.span.range().len()).collect();
        assert_eq!(lengths, [1], "{yaml}");
    }
}

#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let path = [env!("CARGO_MANIFEST_DIR"), "/../../schema/recipe.schema.json"].concat();
    let shipped = std::fs::read_to_string(path).unwrap_or_default();
    let shipped: serde_json::Value = serde_json::from_str(&shipped).unwrap_or_default();
    assert_eq!(syntax::schema(), shipped);
}

#[test]
fn suggestions_end_where_they_would_take_long() {
    let steps = |step: &dyn Fn(usize) -> String, count: usize| (0..count).map(step).collect::<String>();
    let depending = steps(&|at| format!("  - {{id: s{at}, command: x, depends_on: [frist_step]}}\n"), 400);
    let nested = steps(&|at| format!("  - {{id: s{at}, recipe: chidl}}\n"), 150);
    let mut first = Vec::new();
    for (code, steps) in [("unknown-step", depending), ("unknown-recipe", nested)] {
        let yaml = format!("name: r\nsteps:\n  - {{id: first_step, command: x}}\n{steps}");
        let mut told = check_files(&[("r.yaml", &yaml), ("child.yaml", STEP)], &[]).diagnostics;
        told.retain(|told| told.code.as_str() == code);
        let meant = told.iter().filter(|told| told.label.starts_with("did you mean")).count();
        assert!(0 < meant && meant < told.len(), "{code}: {meant} of {}", told.len());
        first.extend(told.first().and_then(|told| told.help.clone()));
    }
    let steps: Vec<String> = (0..11).map(|at| format!("`s{at}`")).collect();
    let listed = format!("the steps are `first_step`, {} and 389 more", steps.join(", "));
    assert_eq!(
        first,
        [
            format!("did you mean `first_step`? {listed}"),
            "did you mean `child`? looked in the shelf".to_owned()
        ]
    );
}

#[test]
fn commands_that_take_a_value_for_code_are_reported() {
    let text = "name: r\ncontext: {a: 1, my-b: 2}\nsteps:\n  - id: s\n    command: |\n      COMMAND\n";
    let variable = "write `\"$RECIPE_VAR_my_b\"` between single quotes: the shell reads the variable then";
    for (command, expected) in [
        ("echo {{a}} {{my-b}}", vec![]),
        // a value that is the whole script is meant to be code
        ("bash -c {{my-b}}", vec![]),
        ("bash -c {{my-b}}x", vec![("bash", "my-b", variable)]),
        (
            "echo {{a}}; eval {{my-b}} x",
            vec![(
                "eval",
                "my-b",
                "write the command without `eval`: a template is one word, whatever it contains",
            )],
        ),
        (
            "bash -c \"x {{a}} {{my-b}}\"",
            vec![
                (
                    "bash",
                    "a",
                    "write `\"$RECIPE_VAR_a\"` between single quotes: the shell reads the variable then",
                ),
                ("bash", "my-b", variable),
            ],
        ),
        ("{{#if a}}bash -c \"x {{my-b}}\"{{/if}}", vec![("bash", "my-b", variable)]),
    ] {
        let yaml = text.replace("COMMAND", command);
        let told = check_files(&[("r.yaml", &yaml)], &[]).diagnostics;
        let found: Vec<(String, &str, &str)> = told
            .iter()
            .map(|told| (told.message.clone(), told.label.as_str(), told.help.as_deref().unwrap_or_default()))
            .collect();
        let expected: Vec<(String, &str, &str)> = expected
            .into_iter()
            .map(|(by, name, help)| {
                let message = format!("`{by}` takes the value of `{{{{{name}}}}}` for code and executes it");
                (message, "becomes program text", help)
            })
            .collect();
        assert_eq!(found, expected, "{command}");
    }
}
