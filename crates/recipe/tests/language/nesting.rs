//! Recipes that run recipes: found, checked in turn, their names and limits known.

use recipe::{
    check::{Given, Grafted, Loader, graft},
    plan::{StepKind, Target},
};

use crate::shelf::{Shelf, check_files, expect_files, told, with_step};

fn main(steps: &str) -> String {
    format!("name: main\nsteps:\n{steps}")
}

#[test]
fn a_missing_recipe_is_an_error_in_its_file() {
    let yaml = main("  - {id: a, recipe: child}\n  - {id: b, recipe: nowhere}\n");
    let child = "name: child\nsteps:\n  - id: c\n    recipe: nothing\n";
    expect_files(
        &[("main.yaml", &yaml), ("child.yaml", child)],
        &[],
        &["error unknown-recipe 4:21", "error unknown-recipe child.yaml:4:13"],
    );
}

#[test]
fn problems_in_sub_recipes_are_reported_with_their_file() {
    let yaml = main("  - {id: a, recipe: one}\n  - {id: b, recipe: two}\n");
    let one = "name: one\nsteps:\n  - {id: c, comand: x}\n";
    let two = "name: two\nsteps:\n  - {id: c, command: x, condition: a is b}\n  - {id: c, command: y}\n";
    expect_files(
        &[("main.yaml", &yaml), ("one.yaml", one), ("two.yaml", two)],
        &[],
        &[
            "error field-typo one.yaml:3:13",
            "error condition-syntax two.yaml:3:38",
            "error duplicate-id two.yaml:4:10",
        ],
    );
}

#[test]
fn a_child_that_is_used_twice_is_checked_once() {
    let yaml = main("  - {id: a, recipe: child}\n  - {id: b, recipe: child}\n");
    expect_files(
        &[("main.yaml", &yaml), ("child.yaml", "name: child\nsteps: [{id: c, comand: x}]\n")],
        &[],
        &["error field-typo child.yaml:2:17"],
    );
}

#[test]
fn an_invalid_sub_recipe_does_not_hide_other_problems() {
    let yaml =
        main("  - {id: a, recipe: child}\n  - {id: b, comand: x}\n  - {id: c, command: \"{{anything}}\"}\n");
    expect_files(
        &[("main.yaml", &yaml), ("child.yaml", "name: [\n")],
        &[],
        &["error field-typo 4:13", "error yaml-syntax child.yaml:1:7"],
    );
}

#[test]
fn a_template_as_name_is_found_when_it_runs() {
    let yaml = with_step("recipe: \"{{which}}\"") + "context: {which: child}\n";
    let checked = check_files(&[("r.yaml", &yaml)], &[]);
    assert_eq!(told(&checked), Vec::<String>::new());
    let plan = checked.plan.expect("a plan");
    assert!(matches!(&plan.root().steps[0].kind, StepKind::Nested { target: Target::Dynamic { .. }, .. }));
}

#[test]
fn after_a_recipe_of_unknown_name_anything_may_be_defined() {
    let yaml = "name: r\ncontext: {which: x}\nsteps:\n  - {id: a, command: \"{{early}}\"}\n  - {id: b, recipe: \"{{which}}\"}\n  - {id: c, command: \"{{late}}\"}\n";
    expect_files(&[("r.yaml", yaml)], &[], &["warning undefined-variable 4:23"]);
}

#[test]
fn names_flow_down_and_back() {
    let yaml = "name: main\ncontext: {mine: 1}\nsteps:\n  - {id: a, recipe: child, context: {arg: 1, kept: 2}}\n  - {id: b, command: \"{{a}} {{a.version}} {{made}} {{c}} {{theirs}} {{kept}}\"}\n";
    let child = "name: child\ncontext: {theirs: 1}\nsteps:\n  - {id: c, command: \"{{mine}} {{arg}} {{theirs}}\"}\n  - {id: d, command: x, output: made}\n  - {id: e, command: x, output: kept}\n";
    expect_files(&[("main.yaml", yaml), ("child.yaml", child)], &[], &[]);
}

#[test]
fn names_that_are_only_passed_down_do_not_come_back() {
    let yaml = "name: main\nsteps:\n  - {id: a, recipe: child, context: {arg: 1}}\n  - {id: b, command: \"{{arg}}\"}\n";
    let child = "name: child\nsteps: [{id: c, command: \"{{arg}}\"}]\n";
    expect_files(&[("main.yaml", yaml), ("child.yaml", child)], &[], &["warning undefined-variable 4:23"]);
}

#[test]
fn a_sub_recipe_checked_alone_has_no_caller() {
    let child = "name: child\nsteps: [{id: c, command: \"{{arg}}\"}]\n";
    expect_files(&[("child.yaml", child)], &[], &["warning undefined-variable 2:27"]);
}

#[test]
fn templates_in_passed_values_are_checked() {
    let yaml = main(
        "  - id: a\n    recipe: child\n    context:\n      x: \"{{nope}}\"\n      y: \"{{#if z\"\n      z: [1, {k: \"{{/if}}\"}]\n",
    );
    let child = "name: child\ncontext: {x: 0, y: 0, z: 0}\nsteps: [{id: c, command: x}]\n";
    expect_files(
        &[("main.yaml", &yaml), ("child.yaml", child)],
        &[],
        &["warning undefined-variable 6:11", "error template-syntax 7:11", "error template-syntax 8:19"],
    );
}

#[test]
fn recursion_is_allowed() {
    let guarded = "name: r\ncontext: {n: 1}\nsteps:\n  - {id: a, command: x}\n  - {id: b, recipe: r, condition: n < 3}\n";
    expect_files(&[("r.yaml", guarded)], &[], &[]);
    let a = "name: a\ncontext: {go: true}\nsteps: [{id: x, recipe: b, condition: go}]\n";
    let b = "name: b\nsteps: [{id: y, recipe: a}]\n";
    expect_files(&[("a.yaml", a), ("b.yaml", b)], &[], &[]);
}

#[test]
fn recursion_without_end_warns() {
    let yaml = "name: r\nsteps:\n  - {id: a, command: x}\n  - {id: b, recipe: r}\n";
    expect_files(&[("r.yaml", yaml)], &[], &["warning limit-exceeded 3:10"]);
}

#[test]
fn limits_that_cannot_be_kept_warn() {
    let steps = |n: usize| (0..n).map(|at| format!("  - {{id: s{at}, command: x}}\n")).collect::<String>();
    let limited = |limit: &str, steps: &str| format!("name: r\nrecursion: {limit}\nsteps:\n{steps}");
    let nested = "  - {id: a, recipe: child}\n  - {id: b, command: x}\n";
    let child = (
        "child.yaml",
        "name: child\nsteps: [{id: c, command: x}, {id: d, command: x, condition: '1 == 1'}]\n",
    );
    for (yaml, expected) in [
        (limited("{max_total_steps: 2}", &steps(3)), vec!["warning limit-exceeded 4:10"]),
        (limited("{max_total_steps: 3}", &steps(3)), vec![]),
        (format!("name: r\nsteps:\n{}", steps(200)), vec![]),
        (format!("name: r\nsteps:\n{}", steps(201)), vec!["warning limit-exceeded 3:10"]),
        (limited("{max_total_steps: 1}", nested), vec!["warning limit-exceeded 4:10"]),
        (limited("{max_total_steps: 2}", nested), vec![]),
        (limited("{max_depth: 0}", nested), vec!["warning limit-exceeded 4:10"]),
        (limited("{max_depth: 1}", nested), vec![]),
    ] {
        expect_files(&[("r.yaml", &yaml), child], &[], &expected);
    }
}

#[test]
fn limits_are_shown_as_numbers() {
    let child = ("child.yaml", "name: child\nrecursion: {max_depth: 1}\nsteps: [{id: c, recipe: leaf}]\n");
    let leaf = ("leaf.yaml", "name: leaf\nrecursion: {max_depth: 0}\nsteps: [{id: d, command: x}]\n");
    let deep = "the step that goes too deep will fail; raise `recursion.max_depth` or add a `condition`";
    let many = "the step over the limit will fail; raise `recursion.max_total_steps`";
    for (limits, steps, message, help) in [
        (
            "max_depth: 0",
            "recipe: leaf",
            "recipes nest 1 level deep below `r`, but at most 0 are allowed",
            deep,
        ),
        (
            "max_depth: 1",
            "recipe: child",
            "recipes nest 2 levels deep below `r`, but at most 1 is allowed",
            deep,
        ),
        (
            "max_depth: 1",
            "recipe: r",
            "circular: recipes below `r` call each other without end, but at most 1 level may nest",
            deep,
        ),
        (
            "max_depth: 0",
            "recipe: '{{x}}'",
            "recipes nest 1 level deep below `r`, but at most 0 are allowed",
            deep,
        ),
        ("max_total_steps: 0", "command: x", "at least 1 step runs in `r`, but at most 0 are allowed", many),
        (
            "max_total_steps: 1",
            "recipe: child}, {id: t, command: x",
            "at least 2 steps run in `r`, but at most 1 is allowed",
            many,
        ),
    ] {
        let yaml = format!(
            "name: r\ncontext: {{x: leaf}}\nrecursion: {{{limits}}}\nsteps: [{{id: s, {steps}}}, {{id: u, recipe: leaf, condition: x}}]\n"
        );
        let told = check_files(&[("r.yaml", &yaml), child, leaf], &[]).diagnostics;
        let found: Vec<(&str, Option<&str>)> =
            told.iter().map(|told| (told.message.as_str(), told.help.as_deref())).collect();
        assert_eq!(found, [(message, Some(help))], "{yaml}");
    }
}

#[test]
fn steps_that_may_not_run_are_not_counted() {
    for fields in ["condition: '1 == 1'", "when_tags: [a]", "depends_on: [s]"] {
        let yaml = format!(
            "name: r\nrecursion: {{max_total_steps: 1, max_depth: 0}}\nsteps: [{{id: s, command: x}}, {{id: t, command: x, {fields}}}, {{id: u, recipe: r, {fields}}}]\n"
        );
        expect_files(&[("r.yaml", &yaml)], &[], &[]);
    }
}

#[test]
fn six_levels_are_the_default_depth() {
    for (levels, expected) in [(6, vec![]), (7, vec!["warning limit-exceeded 2:14"])] {
        let texts: Vec<(String, String)> = (0..=levels)
            .map(|at| {
                let step =
                    if at == levels { "command: x".to_owned() } else { format!("recipe: r{}", at + 1) };
                (format!("r{at}.yaml"), format!("name: r{at}\nsteps: [{{id: s{at}, {step}}}]\n"))
            })
            .collect();
        let files: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        expect_files(&files, &[], &expected);
    }
}

#[test]
fn names_that_collide_across_a_call_are_reported_once() {
    let leaf = "name: leaf\ncontext: {a-b: 1}\nsteps: [{id: l, command: x}]\n";
    let plain = "name: child\nsteps: [{id: c, command: x}]\n";
    let declares = "name: child\ncontext: {a_b: 1}\nsteps: [{id: c, command: x}]\n";
    let input = "name: child\ninputs: [{name: a_b}]\nsteps: [{id: c, command: x}]\n";
    let stores = "name: child\nsteps: [{id: c, command: x, output: a_b}]\n";
    let calls = "name: child\nsteps: [{id: c, recipe: leaf}]\n";
    let twice = "name: child\nsteps: [{id: c, recipe: leaf, context: {a_b: 1}}]\n";
    for (context, overrides, child, expected) in [
        ("{a-b: 1}", "{}", declares, &["error name-collision child.yaml:2:11"][..]),
        ("{a-b: 1}", "{}", input, &["error name-collision child.yaml:2:17"]),
        ("{a_b: 1}", "{a-b: 1}", plain, &["error name-collision 3:42"]),
        ("{x: 1}", "{a-b: 1}", declares, &["error name-collision 3:42"]),
        ("{x: 1}", "{a-b: 1, a_b: 2}", plain, &["error name-collision 3:50"]),
        ("{a_b: 1}", "{}", calls, &["error name-collision leaf.yaml:2:11"]),
        ("{x: 1}", "{a_b: 1}", calls, &["error name-collision leaf.yaml:2:11"]),
        ("{x: 1}", "{x: 1}", twice, &["error name-collision child.yaml:2:41"]),
        // whether a step has stored it by then is another question
        ("{a-b: 1}", "{}", stores, &["warning name-collision child.yaml:2:14"]),
        ("{a-b: 1}", "{a-b: 2}", plain, &[]),
        ("{a_b: 1}", "{}", declares, &[]),
    ] {
        let main = format!(
            "name: main\ncontext: {context}\nsteps: [{{id: s, recipe: child, context: {overrides}}}]\n"
        );
        let mut found =
            told(&check_files(&[("main.yaml", &main), ("child.yaml", child), ("leaf.yaml", leaf)], &[]));
        found.retain(|line| line.contains("name-collision"));
        assert_eq!(found, expected, "{main}{child}");
    }
}

#[test]
fn recipes_are_looked_for_beside_the_file_that_names_them() {
    let step = |id: &str, what: &str| format!("name: {id}\nsteps: [{{id: {id}, {what}}}]\n");
    let (main, base) = ("extends: lib/base\n", step("base", "recipe: helper"));
    let (beside, deeper) = (step("right", "recipe: deeper"), step("deep", "command: x"));
    let wrong = step("wrong", "recipe: nowhere");
    let files = [
        ("main.yaml", main),
        ("helper.yaml", &wrong),
        ("lib/base.yaml", &base),
        ("lib/helper.yaml", &beside),
        ("lib/deeper.yaml", &deeper),
    ];
    expect_files(&files, &[], &[]);
    let plan = check_files(&files, &[]).plan.expect("a plan");
    let paths: Vec<&str> = plan.units.iter().map(|unit| unit.path.as_str()).collect();
    assert_eq!(paths, ["main.yaml", "lib/helper.yaml", "lib/deeper.yaml"]);
}

#[test]
fn a_recipe_whose_name_becomes_known_later_joins_the_plan() {
    let main = "name: main\ncontext: {which: child}\nsteps: [{id: a, recipe: \"{{which}}\"}]\n";
    let child = "name: child\nsteps: [{id: c, recipe: main}, {id: d, command: \"{{which}}\"}]\n";
    let broken = "name: broken\nsteps: [{id: c, comand: x}]\n";
    let doubtful = "name: doubtful\nsteps: [{id: c, command: \"echo {{nowhere}}\"}]\n";
    let files =
        [("main.yaml", main), ("child.yaml", child), ("broken.yaml", broken), ("doubtful.yaml", doubtful)];
    let plan = check_files(&files, &[]).plan.expect("a plan");
    let shelf = Shelf::new(&files);
    let found = |name: &str| shelf.recipe(name, "main.yaml").expect("on the shelf");
    let Grafted { plan: grown, unit: id, warnings } =
        graft(&plan, found("child"), &shelf, &Given::default()).expect("a larger plan");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!((grown.unit(id).name.as_str(), grown.root().name.as_str()), ("child", "main"));
    assert_eq!(grown.units.len(), 2, "what is there already is not read again");
    let doubtful = graft(&plan, found("doubtful"), &shelf, &Given::default()).expect("a larger plan");
    let codes: Vec<&str> = doubtful.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["undefined-variable"]);
    let refused = graft(&plan, found("broken"), &shelf, &Given::default()).expect_err("a broken recipe");
    assert_eq!(told(&refused), ["error field-typo broken.yaml:2:17"]);
}

/// What the caller of such a recipe knows is compared with that recipe, not with those that were there before.
#[test]
fn a_recipe_that_joins_the_plan_is_not_refused_for_the_names_of_others() {
    let main = "name: main\nsteps: [{id: a, recipe: other}, {id: b, recipe: \"{{which}}\"}]\n";
    let other = "name: other\nsteps: [{id: c, command: x, output: item_id}]\n";
    let child = "name: child\nsteps: [{id: d, command: x, output: item_no}]\n";
    let files = [("main.yaml", main), ("other.yaml", other), ("child.yaml", child)];
    let plan = check_files(&files, &["which"]).plan.expect("a plan");
    let shelf = Shelf::new(&files);
    let graft_with = |names: &[&str]| {
        let child = shelf.recipe("child", "main.yaml").expect("on the shelf");
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        graft(&plan, child, &shelf, &Given { names, ..Given::default() })
    };
    graft_with(&["which", "item-id"]).expect("no step in it has this name");
    let refused = graft_with(&["which", "item-no"]).expect_err("two names, one variable");
    assert_eq!(told(&refused), ["error name-collision child.yaml:2:14"]);
}

#[test]
fn a_sub_recipe_sees_names_from_before_its_call() {
    let child = "name: c\nsteps: [{id: l, command: 'echo {{k}}'}, {id: k, command: x}]\n";
    let told = &["warning undefined-variable c.yaml:2:32"][..];
    for (steps, expected) in [
        ("{id: s, recipe: c}", told),
        ("{id: s, recipe: c}, {id: k, command: x}", told),
        ("{id: s, recipe: c, parallel_group: g}, {id: k, command: x, parallel_group: g}", told),
        ("{id: k, command: x}, {id: s, recipe: c}", &[]),
        ("{id: s, recipe: c, context: {k: v}}", &[]),
        // what the first call leaves is there for the second
        ("{id: s, recipe: c}, {id: t, recipe: c}", &[]),
        ("{id: s, recipe: d}, {id: k, command: x}", told),
        ("{id: k, command: x}, {id: s, recipe: d}", &[]),
    ] {
        let main = format!("name: main\nsteps: [{steps}]\n");
        let between = "name: d\nsteps: [{id: n, recipe: c}]\n";
        expect_files(&[("main.yaml", &main), ("c.yaml", child), ("d.yaml", between)], &[], expected);
    }
    let files =
        [("main.yaml", "name: main\ncontext: {k: v}\nsteps: [{id: s, recipe: c}]\n"), ("c.yaml", child)];
    expect_files(&files, &[], &[]);
    let files = [("main.yaml", "name: main\nsteps: [{id: s, recipe: c}]\n"), ("c.yaml", child)];
    expect_files(&files, &["k"], &[]);
}
