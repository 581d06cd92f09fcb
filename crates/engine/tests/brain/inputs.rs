//! Values of typed inputs: in the main recipe, below it, and when a run is planned again.

use engine::RunSettings;
use recipe::{
    typed::typed,
    value::{Map, Value},
};

use crate::{
    planning::{USUAL, asked},
    run::{LEAF, Run, plan},
};

const CHILD: &str = "name: leaf\ninputs: [{name: n, type: integer}, {name: on, type: boolean, default: no}, {name: xs, type: list}]\nsteps:\n- {id: k, command: x}\n";

fn given(values: &[(&str, &str)]) -> RunSettings {
    let given: Map = values.iter().map(|(name, text)| ((*name).to_owned(), typed(text))).collect();
    RunSettings { given, max_parallel: 4, ..RunSettings::default() }
}

fn json(run: &Run, path: &str, names: &[&str]) -> String {
    let frame = run.state.frames.iter().find(|frame| frame.path == path);
    let value = |name: &&str| frame.and_then(|frame| frame.context.get(*name)).map(Value::to_json);
    names.iter().filter_map(value).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_recipe_gives_its_inputs_their_types() {
    let top = "name: top\ninputs: [{name: n, type: text}, {name: on, type: integer}]\nsteps:\n- {id: s, recipe: leaf, context: {on: 'yes', xs: 'a,{{n}}'}}\n";
    let mut run = Run::new(top, CHILD, given(&[("n", "4.0"), ("on", "1.0")]), &[]);
    run.go();
    assert_eq!(json(&run, "", &["n", "on"]), r#""4.0" 1"#);
    assert_eq!(json(&run, "s", &["n", "on", "xs"]), r#"4 true ["a","4.0"]"#);
    // values of the recipe around stay as they were
    assert_eq!(run.value("n"), "4.0");
}

#[test]
fn a_step_is_out_of_date_if_its_input_gets_another_value_from_another_type() {
    let recipe = |kind: &str| {
        format!(
            "name: top\ninputs: [{{name: n, type: {kind}}}]\nsteps:\n- {{id: a, command: 'echo {{{{n}}}}'}}\n- {{id: b, command: x}}\n"
        )
    };
    let mut run = Run::new(&recipe("number"), LEAF, given(&[("n", "4.0")]), &["b"]);
    run.go();
    for (kind, expected) in [
        ("number", "it is done"),
        ("json", "it is done"),
        ("text", "it reads `n`, which changed"),
        ("list", "it reads `n`, which changed"),
    ] {
        let planned = asked(&run, &plan(&recipe(kind), LEAF), &USUAL);
        assert_eq!(planned.steps[0].reason, expected, "{kind}");
    }
}
