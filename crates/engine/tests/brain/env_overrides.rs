//! What variables of the environment give to nested recipes.

use std::collections::BTreeMap;

use engine::{RunSettings, run::env_overrides};

use crate::run::{Run, plan};

const CHILD: &str = "name: leaf\ncontext: {text: '', number: 1, my-n: 1}\ninputs: [{name: asked}]\nsteps:\n- {id: k, command: x}\n";

fn variables(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(name, value)| (format!("RECIPE_VAR_{name}"), (*value).to_owned())).collect()
}

#[test]
fn only_what_recipes_below_declare_is_kept_for_them() {
    let all = [("own", "1"), ("text", "2"), ("my_n", "3"), ("my-n", "4"), ("asked", "5"), ("nobody", "6")];
    for (recipe, expected) in [
        ("leaf", &["asked", "my-n", "my_n", "text"][..]),
        ("'{{own}}'", &["asked", "my-n", "my_n", "nobody", "text"]),
    ] {
        let text = format!(
            "name: top\ncontext: {{own: leaf}}\nsteps:\n- {{id: n, recipe: {recipe}}}\n- {{id: z, command: x}}\n"
        );
        let kept = env_overrides::below(&plan(&text, CHILD), variables(&all));
        let names: Vec<&str> = kept.keys().filter_map(|name| name.strip_prefix("RECIPE_VAR_")).collect();
        // of a recipe that nobody knows yet, nobody knows what it declares
        assert_eq!(names, expected, "{recipe}");
    }
}

#[test]
fn a_nested_recipe_begins_with_them() {
    let given = [("text", "007"), ("number", "007"), ("my_n", "7"), ("asked", "true")];
    let settings = RunSettings { ambient: variables(&given), ..RunSettings::default() };
    let run = Run::new("name: top\nsteps:\n- {id: n, recipe: leaf}\n", CHILD, settings, &[]);
    let context = run.state.settings.own_context(&run.plan.units[1]);
    let json: Vec<String> =
        context.iter().map(|(name, value)| format!("{name}={}", value.to_json())).collect();
    assert_eq!(json.join(" "), r#"text="007" number=7 my-n=7 asked=true"#);
}
