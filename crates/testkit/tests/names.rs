//! Names and sizes in the code: a type name is unique in its crate, and functions stay short.

use std::collections::BTreeMap;

use testkit::project::sources;

/// The crates that keep these rules.
const CRATES: &[&str] = &["recipe", "engine", "runtime", "author", "cli"];
/// Most lines of a function.
const MOST_LINES: usize = 60;
/// Most parameters of a function, besides `self`.
const MOST_PARAMETERS: usize = 5;

/// Most fields of a struct.
const MOST_FIELDS: usize = 20;
/// Structs with more fields: what a step may say, results as they are printed, the state of a run, the flags of `run`.
const WIDER: &[&str] = &["Facts", "Frame", "RunOptions", "RunResult", "RunState", "Step", "StepResult"];

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

/// Name and number of fields of the structs of a file.
fn structs(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut structs = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = bare(line).strip_prefix("struct ").filter(|_| line.ends_with('{')) else { continue };
        let is_field =
            |line: &&&str| bare(line).split_once(": ").is_some_and(|(name, _)| first_name(name) == name);
        let body = lines[at + 1..].iter().take_while(|line| line.trim() != "}");
        structs.push((first_name(name), body.filter(is_field).count()));
    }
    structs
}

#[test]
fn structs_are_small() {
    let all: Vec<(String, usize)> = files().values().flat_map(|text| structs(text)).collect();
    let wide: Vec<_> = all.iter().filter(|(_, fields)| *fields > MOST_FIELDS).collect();
    let more: Vec<_> = wide.iter().filter(|(name, _)| !WIDER.contains(&name.as_str())).collect();
    assert!(more.is_empty(), "group fields that belong together: {more:#?}");
    for name in WIDER {
        assert!(wide.iter().any(|(known, _)| known == name), "`{name}` is small now");
    }
    assert_eq!(
        structs("pub struct A {\n    // b: c\n    pub(crate) bc: D,\n    e1: F,\n}"),
        [("A".to_owned(), 2)]
    );
}

/// The driver of a run carries out what the engine decides. If it grows, a decision or a type is missing elsewhere.
#[test]
fn the_driver_stays_small() {
    let (mut fields, mut methods) = (0, 0);
    for (_, text) in files().into_iter().filter(|(path, _)| path.starts_with("crates/runtime/src/run/")) {
        fields += structs(&text)
            .iter()
            .filter(|(name, _)| name == "Driver")
            .map(|(_, fields)| fields)
            .sum::<usize>();
        let blocks = text
            .split("\nimpl")
            .filter(|block| block.split('{').next().is_some_and(|head| head.contains(" Driver<")));
        methods +=
            blocks.map(|block| functions(block.split("\n}").next().unwrap_or_default()).len()).sum::<usize>();
    }
    assert!((1..=18).contains(&fields), "{fields} fields");
    assert!((1..=40).contains(&methods), "{methods} methods");
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

/// The public types, functions and constants of a file that have no doc comment. Fields and variants need one only where
/// it says more than their name.
fn without_docs(text: &str) -> Vec<&str> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let is_item = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub ").unwrap_or_default();
        let mut words = rest.split(' ').skip_while(|word| ["async", "unsafe"].contains(word));
        let items = ["fn", "const", "static", "struct", "enum", "union", "trait", "type"];
        words.next().is_some_and(|word| items.contains(&word))
    };
    // attributes of one or more lines come between the comment and the item
    let is_attribute = |line: &&&str| {
        let line = line.trim();
        line.starts_with("#[") || line.ends_with(")]") || line.ends_with("\",")
    };
    let has_docs = |at: usize| {
        let before = lines[..at].iter().rev().find(|line| !is_attribute(line));
        before.is_some_and(|line| line.trim_start().starts_with("///"))
    };
    let items = lines.iter().enumerate().filter(|(_, line)| is_item(line) && !line.contains('$'));
    items.filter(|(at, _)| !has_docs(*at)).map(|(_, line)| *line).collect()
}

#[test]
fn public_items_have_docs() {
    for (path, text) in files() {
        let silent = without_docs(&text);
        assert!(silent.is_empty(), "{path}: say what these are for: {silent:#?}");
    }
    let text =
        "/// Doc.\n#[must_use]\npub fn a() {}\n\npub struct B;\n    pub async fn c() {}\n    pub d: E,";
    assert_eq!(without_docs(text), ["pub struct B;", "    pub async fn c() {}"]);
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for (path, text) in files() {
        for (name, lines, parameters) in functions(&text) {
            if lines <= MOST_LINES && parameters <= MOST_PARAMETERS {
                continue;
            }
            long.push(format!("{path}: {name} has {lines} lines and {parameters} parameters"));
        }
    }
    assert!(long.is_empty(), "split these at a seam: {long:#?}");
    let text = "fn a(&self, b: Map<C, D>, (e, f): (G, H)) -> I {\n    j;\n}\nfn k<F: Fn(L, M)>(\n    n: &F,\n) {\n}\nfn o() {}";
    let read = functions(text);
    let read: Vec<_> = read.iter().map(|(name, lines, count)| (name.as_str(), *lines, *count)).collect();
    assert_eq!(read, [("a", 3, 2), ("k", 4, 1), ("o", 1, 0)]);
}
