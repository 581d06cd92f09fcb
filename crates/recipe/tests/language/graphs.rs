//! What depends on what.

use recipe::graph::{edges, edges_in};

use crate::shelf::{check_files, unit};

/// The edges as `a>b value:x`.
fn shown(unit: &recipe::plan::Unit, edges: Vec<recipe::graph::Edge>) -> Vec<String> {
    let line = |edge: recipe::graph::Edge| {
        let what = edge.what.map_or_else(String::new, |what| format!(":{what}"));
        format!("{}>{} {}{what}", unit.steps[edge.from].id, unit.steps[edge.to].id, edge.link.as_str())
    };
    edges.into_iter().map(line).collect()
}

fn expect(steps: &str, expected: &[&str]) {
    let unit = unit(&format!("name: r\ncontext: {{q: 1}}\nsteps:\n{steps}"));
    assert_eq!(shown(&unit, edges(&unit)), expected, "{steps}");
}

#[test]
fn links_of_every_kind() {
    for (steps, expected) in [
        ("  - {id: a, command: x}\n", vec![]),
        ("  - {id: a, command: x}\n  - {id: b, command: y}\n", vec!["a>b order"]),
        ("  - {id: a, command: x}\n  - {id: b, command: \"{{a}}\"}\n", vec!["a>b value:a"]),
        (
            "  - {id: a, command: x}\n  - {id: b, command: y}\n  - {id: c, command: y, depends_on: [a]}\n",
            vec!["a>b order", "a>c depends_on"],
        ),
        (
            "  - {id: a, command: x, produces: [out/a.txt]}\n  - {id: b, command: y}\n  - {id: c, command: z, reads: [out/*.txt]}\n",
            vec!["a>b order", "a>c files:out/*.txt"],
        ),
        ("  - {id: a, command: x}\n  - {id: b, command: y, condition: a}\n", vec!["a>b value:a"]),
        ("  - {id: a, command: x}\n  - {id: b, command: y, env: {A: \"{{a.k}}\"}}\n", vec!["a>b value:a"]),
        ("  - {id: v1.2, command: x}\n  - {id: b, command: \"{{v1.2.z}}\"}\n", vec!["v1.2>b value:v1.2"]),
        ("  - {id: a, command: x}\n  - {id: b, command: y, working_dir: \"{{a}}\"}\n", vec!["a>b value:a"]),
        (
            "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: y, parallel_group: g}\n  - {id: c, command: z}\n",
            vec!["a>c order", "b>c order"],
        ),
        // members of a group do not see each other's values
        (
            "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: \"{{a}}\", parallel_group: g}\n",
            vec![],
        ),
        (
            "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: \"{{a}}\", parallel_group: h}\n",
            vec!["a>b value:a"],
        ),
        (
            "  - {id: z, command: x}\n  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: x, parallel_group: g}\n  - {id: c, command: x, parallel_group: h}\n",
            vec!["z>a order", "z>b order", "a>c order", "b>c order"],
        ),
        (
            "  - {id: a, command: x, output: v}\n  - {id: b, command: y, output: v}\n  - {id: c, command: \"{{v}}\"}\n",
            vec!["a>b order", "b>c value:v"],
        ),
    ] {
        expect(steps, &expected);
    }
}

#[test]
fn values_of_a_sub_recipe_come_from_its_step() {
    let main = "name: main\nsteps:\n  - {id: a, recipe: child}\n  - {id: b, command: x}\n  - {id: c, command: \"{{made}}\"}\n";
    let child =
        "name: child\nsteps: [{id: d, recipe: grandchild}, {id: e, recipe: child, condition: again}]\n";
    let grandchild = "name: grandchild\nsteps: [{id: f, command: x, output: made}]\n";
    let files = [("main.yaml", main), ("child.yaml", child), ("grandchild.yaml", grandchild)];
    let plan = check_files(&files, &[]).plan.expect("a plan");
    assert_eq!(shown(plan.root(), edges_in(&plan, plan.root())), ["a>b order", "a>c value:made"]);
    assert_eq!(shown(plan.root(), edges(plan.root())), ["a>b order", "b>c order"]);
}

#[test]
fn a_recipe_step_reads_the_names_of_its_sub_recipes() {
    let main = "name: main\ncontext: {m: x, v: y}\nsteps:\n  - {id: a, recipe: child, model: '{{m}}', recovery_on_failure: true}\n";
    let child = "name: child\nsteps: [{id: d, recipe: grandchild}]\n";
    let grandchild = "name: grandchild\nsteps: [{id: f, command: 'x {{v}}'}]\n";
    let files = [("main.yaml", main), ("child.yaml", child), ("grandchild.yaml", grandchild)];
    let plan = check_files(&files, &[]).plan.expect("a plan");
    let step = &plan.root().steps[0];
    assert_eq!(recipe::graph::reads(step), ["m"]);
    let inputs = recipe::graph::inputs(&plan, step, std::iter::empty());
    assert_eq!(inputs.into_iter().collect::<Vec<_>>(), ["m", "v"]);
}

/// The edges of the graph `main` with the sub-recipe `child`.
fn graph_edges(steps: &str, child: &str) -> Vec<String> {
    let main = format!("name: main\nschedule: graph\nsteps:\n{steps}");
    let files = [("main.yaml", main.as_str()), ("child.yaml", child)];
    let Some(plan) = check_files(&files, &[]).plan else { return vec!["invalid".to_owned()] };
    shown(plan.root(), edges_in(&plan, plan.root()))
}

#[test]
fn a_sub_recipe_needs_only_what_it_reads_from_outside() {
    let child = |steps: &str| format!("name: child\nsteps:\n{steps}");
    let two = "  - {id: n, recipe: child}\n  - {id: p, command: x}\n";
    for (inside, expected) in [
        ("  - {id: k, command: \"{{p}}\"}\n", vec!["p>n value:p"]),
        ("  - {id: q, command: x, output: p}\n  - {id: k, command: \"{{p}}\"}\n", vec![]),
        // read before it is written
        ("  - {id: k, command: \"{{p}}\"}\n  - {id: q, command: x, output: p}\n", vec!["p>n value:p"]),
        (
            "  - {id: q, command: x, output: p, parallel_group: g}\n  - {id: k, command: \"{{p}}\", parallel_group: g}\n",
            vec!["p>n value:p"],
        ),
    ] {
        assert_eq!(graph_edges(two, &child(inside)), expected, "{inside}");
    }
    let given = "  - {id: n, recipe: child, context: {p: 1}}\n  - {id: p, command: x}\n";
    assert!(graph_edges(given, &child("  - {id: k, command: \"{{p}}\"}\n")).is_empty());
    let looped = "  - {id: n, recipe: child, for_each: [1], as: p}\n  - {id: p, command: x}\n";
    assert!(graph_edges(looped, &child("  - {id: k, command: \"{{p}}\"}\n")).is_empty());
    // the same recipe twice: neither needs the values of the other
    let twice = "  - {id: n, recipe: child}\n  - {id: m, recipe: child}\n";
    let inside = "  - {id: a, command: x}\n  - {id: b, command: \"{{a}}\"}\n";
    assert!(graph_edges(twice, &child(inside)).is_empty());
}

#[test]
fn words_of_a_command_are_not_needs() {
    for (command, is_need) in [
        ("echo RUNNING TEST", false),
        ("echo $TEST", true),
        ("echo ${TEST:-x}", true),
        ("echo ${#TEST}", true),
        ("python -c 'import os; os.environ[\\\"RECIPE_VAR_test\\\"]'", true),
        ("echo $TESTS MY$RECIPE_VAR_test_x", false),
    ] {
        let steps = format!("  - {{id: say, command: \"{command}\"}}\n  - {{id: test, command: x}}\n");
        let found = graph_edges(&steps, "name: child\nsteps: [{id: a, command: x}]\n");
        assert_eq!(!found.is_empty(), is_need, "{command}: {found:?}");
    }
}

#[test]
fn every_circle_is_reported() {
    let steps = "  - {id: a, command: \"{{b}}\"}\n  - {id: b, command: \"{{a}}\"}\n  - {id: c, command: \"{{d}}\"}\n  - {id: d, command: \"{{c}} {{a}}\"}\n";
    let found = check_files(&[("main.yaml", &format!("name: main\nschedule: graph\nsteps:\n{steps}"))], &[]);
    let is_circle =
        |problem: &&recipe::diagnostic::Diagnostic| problem.code == recipe::diagnostic::Code::CircularNeeds;
    assert_eq!(found.diagnostics.iter().filter(is_circle).count(), 2, "{:?}", found.diagnostics);
}
