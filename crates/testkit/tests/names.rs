//! Names and sizes in the code: a type name is unique in its crate, and functions stay short.

use std::collections::BTreeMap;

use testkit::project::sources;

/// The crates that keep these rules.
const CRATES: &[&str] = &["recipe", "engine", "runtime", "cli"];
/// Most lines of a function.
const MOST_LINES: usize = 60;
/// Most parameters of a function, besides `self`.
const MOST_PARAMETERS: usize = 5;

/// Functions that are longer, or take more: still to be split at a seam. A function that has become short leaves the list.
const LONGER: &[(&str, &str)] = &[
    ("cli/src/commands/explain/json.rs", "describe_step"),
    ("cli/src/commands/explain/text.rs", "step"),
    ("cli/src/commands/resume.rs", "refused"),
    ("cli/src/report/live/mod.rs", "event"),
    ("cli/src/report/progress.rs", "event"),
    ("engine/src/failure/advice.rs", "first_step"),
    ("engine/src/resume/changes.rs", "changes"),
    ("engine/src/run/recovery_answer.rs", "answers_are_judged"),
    ("engine/src/run/retry.rs", "of_recipe"),
    ("runtime/src/repair/agent_call.rs", "ask"),
    ("runtime/src/repair/proposal.rs", "repair"),
    ("runtime/src/report/diagnose.rs", "facts"),
    ("runtime/src/report/result.rs", "result"),
    ("runtime/src/requests/resume.rs", "with_ready"),
    ("runtime/src/run/start_step.rs", "start_shell"),
    ("runtime/src/runs/job.rs", "finished_result"),
    ("runtime/src/runs/resume.rs", "continue_run"),
    ("runtime/src/runs/start.rs", "start_held"),
    ("runtime/src/runs/start.rs", "claim"),
    ("runtime/src/steps/agent/attempt.rs", "ask_patiently"),
    ("runtime/src/steps/agent/attempt.rs", "read_answer"),
    ("runtime/src/steps/agent/call.rs", "start"),
    ("runtime/src/steps/shell/attempt/judge.rs", "judge"),
    ("runtime/src/steps/shell/script.rs", "prepare"),
];

/// The files below `src` of these crates, without those of tests.
fn files() -> BTreeMap<String, String> {
    let is_checked = |path: &str| {
        let of_crate = |name: &str| path.starts_with(&format!("crates/{name}/src/"));
        CRATES.iter().any(|name| of_crate(name)) && !path.contains("/tests") && !path.contains("/simulation/")
    };
    sources().into_iter().filter(|(path, _)| is_checked(path)).collect()
}

fn first_name(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The line without its visibility and qualifiers.
fn bare(line: &str) -> &str {
    let mut rest = line.trim_start();
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest
}

/// The types that a file declares. The macros `shape!` and `words!` declare one each, in the first line without a `#`
/// or `/`. Indented `type`s are associated types, which share their names by design.
fn types(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_in_macro = false;
    for line in text.lines() {
        let rest = bare(line);
        if is_in_macro && !rest.starts_with(['/', '#']) {
            names.push(first_name(rest));
            is_in_macro = false;
            continue;
        }
        is_in_macro |= matches!(line, "shape! {" | "words! {");
        let keywords = ["struct ", "enum ", "trait ", "union "];
        let declared = keywords.iter().find_map(|keyword| rest.strip_prefix(keyword));
        let alias = if line.starts_with(' ') { None } else { rest.strip_prefix("type ") };
        names.extend(declared.or(alias).map(first_name).filter(|name| !name.is_empty()));
    }
    names
}

/// Name, lines and parameters of the functions of a file, which rustfmt has formatted.
fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(signature) = bare(line).strip_prefix("fn ") else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| **line == format!("{indent}}}") || **line == format!("{indent}) -> Self;");
        let is_short = line.ends_with('}') || line.ends_with(';');
        let length = if is_short { 0 } else { lines[at..].iter().position(is_end).unwrap_or_default() };
        let text = format!("{signature} {}", lines[at + 1..].iter().take(20).copied().collect::<String>());
        functions.push((first_name(signature), length + 1, parameters(&text)));
    }
    functions
}

/// The parameters of a function whose name comes first, besides `self`.
fn parameters(signature: &str) -> usize {
    let (mut angles, mut brackets, mut list) = (0, 0, String::new());
    let mut previous = ' ';
    for c in signature.chars() {
        match c {
            '<' => angles += 1,
            '>' if !matches!(previous, '-' | '=') => angles -= 1,
            '(' | '[' | '{' if angles == 0 => brackets += 1,
            ')' | ']' | '}' if angles == 0 => brackets -= 1,
            _ => {}
        }
        if brackets == 0 && c == ')' && angles == 0 {
            break;
        }
        if brackets > 0 {
            // commas inside types and patterns do not count
            list.push(if c == ',' && (brackets > 1 || angles > 0) { ' ' } else { c });
        }
        previous = c;
    }
    let list = list.strip_prefix('(').unwrap_or(&list);
    list.split(',').map(str::trim).filter(|part| !part.is_empty() && !is_self(part)).count()
}

fn is_self(parameter: &str) -> bool {
    parameter.split([' ', '&', ':']).any(|word| word == "self")
}

#[test]
fn a_type_name_is_unique_in_its_crate() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, text) in files() {
        let krate = path.split('/').nth(1).unwrap_or_default().to_owned();
        for name in types(&text) {
            places.entry((krate.clone(), name)).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 100, "the types are read");
    places.retain(|_, paths| paths.len() > 1);
    assert!(places.is_empty(), "one name, one type: {places:#?}");
    let text =
        "pub struct A<T>;\n    enum B {\nshape! {\n    /// Doc.\n    C \"c\" {\ntype D = E;\n    type F = G;";
    assert_eq!(types(text), ["A", "B", "C", "D"]);
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    let mut known = LONGER.to_vec();
    for (path, text) in files() {
        for (name, lines, parameters) in functions(&text) {
            if lines <= MOST_LINES && parameters <= MOST_PARAMETERS {
                continue;
            }
            let place = (path.trim_start_matches("crates/"), name.as_str());
            if let Some(at) = known.iter().position(|known| *known == place) {
                known.remove(at);
            } else {
                long.push(format!("{path}: {name} has {lines} lines and {parameters} parameters"));
            }
        }
    }
    assert!(long.is_empty(), "split these at a seam: {long:#?}");
    assert!(known.is_empty(), "these are short now: {known:#?}");
    let text = "fn a(&self, b: Map<C, D>, (e, f): (G, H)) -> I {\n    j;\n}\nfn k<F: Fn(L, M)>(\n    n: &F,\n) {\n}\nfn o() {}";
    let read = functions(text);
    let read: Vec<_> = read.iter().map(|(name, lines, count)| (name.as_str(), *lines, *count)).collect();
    assert_eq!(read, [("a", 3, 2), ("k", 4, 1), ("o", 1, 0)]);
}
