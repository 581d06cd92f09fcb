//! Files that mean harm, and files that are merely large.

use std::fmt::Write;

use recipe::diagnostic::Severity;

use crate::shelf::{check_bytes, check_files, told, with_step};

fn first_code(bytes: &[u8]) -> String {
    let checked = check_bytes(bytes);
    assert!(checked.plan.is_none());
    told(&checked).first().cloned().unwrap_or_default()
}

#[test]
fn bombs_are_refused() {
    let mut laughs = "name: r\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..12 {
        let alias = format!("*a{}", at - 1);
        let list = vec![alias; 10].join(", ");
        let _ = writeln!(laughs, "a{at}: &a{at} [{list}]");
    }
    laughs.push_str("steps: [{id: s, command: x}]\n");
    assert!(first_code(laughs.as_bytes()).starts_with("error too-complex"));
    let nested = format!("name: {}", "[".repeat(100_000));
    assert!(first_code(nested.as_bytes()).starts_with("error too-complex"));
    let blocks = (0..2000).fold("name: r\n".to_owned(), |text, at| text + &" ".repeat(at) + "a:\n");
    assert!(check_bytes(&blocks.as_bytes()[..blocks.len().min(1_000_000)]).plan.is_none());
}

#[test]
fn large_files_and_foreign_bytes_are_refused() {
    let large = format!("name: r\ndescription: {}\n", "x".repeat(1_100_000));
    assert!(first_code(large.as_bytes()).starts_with("error too-large"));
    assert!(first_code(b"name: \xff\xfe\n").starts_with("error not-utf8"));
    assert!(first_code(b"name: a\0b\nsteps: []\n").starts_with("error"));
}

#[test]
fn an_alias_inside_itself_is_refused() {
    assert!(
        first_code(b"name: r\ncontext: &a {b: *a}\nsteps: [{id: s, command: x}]\n")
            .starts_with("error too-complex")
    );
}

#[test]
fn deep_templates_and_conditions_are_refused_not_crashed_on() {
    let template = "{{#if x}}".repeat(10_000);
    assert!(check_files(&[("r.yaml", &with_step(&format!("command: \"{template}\"")))], &[]).plan.is_none());
    let condition = "(".repeat(50_000);
    let yaml = with_step(&format!("command: x\ncondition: \"{condition}\""));
    assert!(check_files(&[("r.yaml", &yaml)], &[]).plan.is_none());
    let condition = "not ".repeat(50_000) + "x";
    let yaml = with_step(&format!("command: x\ncondition: \"{condition}\""));
    let _ = check_files(&[("r.yaml", &yaml)], &[]);
}

#[test]
fn two_thousand_steps_are_fine() {
    let mut yaml = "name: r\nrecursion: {max_total_steps: 5000}\nsteps:\n".to_owned();
    for at in 0..2000 {
        let before = if at == 0 { String::new() } else { format!("{{{{s{}}}}}", at - 1) };
        let _ = writeln!(yaml, "  - {{id: s{at}, command: \"echo {before}\", parallel_group: g{}}}", at / 7);
    }
    let yaml = yaml.replace(", parallel_group", ", mode");
    let checked = check_files(&[("r.yaml", &yaml)], &[]);
    assert_eq!(told(&checked), Vec::<String>::new());
    assert_eq!(checked.plan.map(|plan| plan.root().steps.len()), Some(2000));
}

#[test]
fn a_thousand_recipes_are_fine_and_one_more_is_not() {
    for (count, expected) in [(1_000, vec![]), (1_001, vec!["error deep-recipes r999.yaml:2:25"])] {
        let step = |at: usize| match at + 1 == count {
            true => "command: x".to_owned(),
            false => format!("recipe: r{}, condition: x", at + 1),
        };
        let text = |at: usize| format!("name: r{at}\nsteps: [{{id: s, {}}}]\n", step(at));
        let texts: Vec<(String, String)> = (0..count).map(|at| (format!("r{at}.yaml"), text(at))).collect();
        let files: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(told(&check_files(&files, &["x"])), expected);
    }
}

#[test]
fn long_names_and_many_names_do_not_stall_the_suggestions() {
    let long = "n".repeat(1_000);
    let yaml =
        with_step(&format!("command: \"{{{{{long}x}}}}\"\n{long}: 1")) + &format!("context: {{{long}: 1}}\n");
    let codes: Vec<&str> =
        check_files(&[("r.yaml", &yaml)], &[]).diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(codes, ["undefined-variable", "unknown-field"]);
    let mut yaml = "name: r\ncontext:\n".to_owned();
    for at in 0..20_000 {
        let _ = writeln!(yaml, "  name{at}: 1");
    }
    yaml.push_str("steps:\n  - id: s\n    command: |\n");
    for at in 0..20_000 {
        let _ = writeln!(yaml, "      {{{{nape{at}}}}}");
    }
    assert_eq!(check_files(&[("r.yaml", &yaml)], &[]).diagnostics.len(), 20_000);
}

#[test]
fn byte_order_marks_and_carriage_returns_do_not_shift_places() {
    let yaml = "\u{feff}name: r\r\nsteps:\r\n  - id: s\r\n    command: |\r\n      a\r\n      b {{nope}}\r\n    tiemout: 5\r\n";
    let all = told(&check_files(&[("r.yaml", yaml)], &[]));
    assert_eq!(all, ["note ignored-lines 4:14", "warning undefined-variable 6:9", "error field-typo 7:5"]);
}

#[test]
fn thousands_of_mistakes_are_reported_without_a_stall() {
    let mut yaml = "name: r\nsteps:\n".to_owned();
    for at in 0..4_000 {
        let _ = writeln!(
            yaml,
            "  - {{id: s{at}, command: x, depends_on: [t{at}], comandx{at}: 1, parallel_group: g}}"
        );
        let _ = writeln!(yaml, "  - {{id: r{at}, recipe: nowhere{at}, x{at}: 1, parallel_group: g}}");
    }
    let checked = check_files(&[("r.yaml", &yaml)], &[]);
    assert_eq!(told(&checked).len(), 4_000 * 4 + 1);
}

/// How long the check of a recipe with so many of these steps takes. `<n>` in a step is its number, `<p>` that of the
/// step before it.
fn seconds(step: &str, count: usize) -> f64 {
    let mut yaml = "name: r\nrecursion: {max_total_steps: 50000}\ncontext:\n  v0: go\n  map:\n".to_owned();
    for at in 0..count {
        let _ = writeln!(yaml, "    key{at}: 1");
    }
    yaml.push_str("steps:\n");
    for at in 1..=count {
        let step = step.replace("<n>", &at.to_string()).replace("<p>", &(at - 1).to_string());
        let _ = writeln!(yaml, "  - {{id: s{at}, {step}}}");
    }
    let child = "name: c\ncontext: {inner: x}\nsteps: [{id: one, command: x}]\n";
    let began = std::time::Instant::now();
    let checked = check_files(&[("r.yaml", &yaml), ("child.yaml", child)], &[]);
    let seconds = began.elapsed().as_secs_f64();
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert_eq!(errors, 0, "{step}: {:?}", told(&checked).first());
    seconds
}

#[test]
fn four_times_the_steps_take_about_four_times_as_long() {
    for step in [
        "command: x, condition: v0 == 'go'",
        "command: x, condition: v<p> != 'stop', output: v<n>",
        "command: x, condition: v<p>.a.b != 'stop', output: v<n>",
        "command: x, condition: wholly_unknown_<n>",
        "command: x, condition: map.kex<n> == 1",
        "command: 'echo {{v<p>}}', output: v<n>, depends_on: []",
        "command: x, env: {RECIPE_VAR_x<n>: a}, output: v<n>",
        "recipe: child, condition: v<p> != 'stop', output: v<n>",
        "recipe: child, condition: v<p>.inner != 'stop', output: v<n>",
        "recipe: child, context: {given<n>: '{{v<p>}}'}, output: v<n>",
    ] {
        // a busy machine may stretch one measurement, but not all of them
        let ratio = || seconds(step, 2_000) / seconds(step, 500);
        let is_linear = (0..5).any(|_| ratio() < 8.0);
        assert!(is_linear, "{step}: four times as many take {:.1} times as long", ratio());
    }
}
