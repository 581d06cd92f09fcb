//! Repairs, degenerate and honest: none of the former is accepted, all of the latter are.

#![expect(clippy::expect_used, reason = "a corpus that cannot be read is a failed test")]

use std::sync::Arc;

use engine::repair_review::{Regression, compare};
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    plan::Plan,
};

const SHIP: &str = include_str!("guard_corpus/ship.yaml");
const SMALL: &str = include_str!("guard_corpus/small.yaml");
const DEGENERATE: &str = include_str!("guard_corpus/degenerate.txt");
const HONEST: &str = include_str!("guard_corpus/honest.txt");
const WEAKER: &str = include_str!("guard_corpus/weaker.txt");
const REPAIRED: &str = include_str!("guard_corpus/repaired.txt");

/// Every nested recipe is the same small one.
struct Anything;

impl Loader for Anything {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        Ok(load(&format!("{name}.yaml"), "name: child\nsteps:\n  - id: only\n    command: ./work.sh\n"))
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn load(path: &str, text: &str) -> Loaded {
    Loaded { path: path.to_owned(), bytes: text.as_bytes().into() }
}

fn plan(text: &str) -> Option<Plan> {
    check(load("recipe.yaml", text), &Anything, &Given::default()).plan
}

struct Repair {
    failed: String,
    before: String,
    after: String,
    label: String,
}

/// Repairs: `### recipe | failed step`, then edits of the recipe's text.
fn repairs(text: &str) -> Vec<Repair> {
    text.split("### ").skip(1).map(repair).collect()
}

fn repair(text: &str) -> Repair {
    let (header, edits) = text.split_once('\n').expect("a header");
    let (base, failed) = header.split_once(" | ").expect("two fields");
    let before = if base == "ship" { SHIP } else { SMALL };
    let after = edits.split("<<<<\n").skip(1).fold(before.to_owned(), |after, edit| {
        let (old, new) = edit.split_once("====\n").expect("an edit");
        edited(&after, old, new.split(">>>>\n").next().unwrap_or_default())
    });
    assert_ne!(after, before, "{text}");
    Repair {
        failed: failed.trim().to_owned(),
        before: before.to_owned(),
        after,
        label: text.replace('\n', " ⏎ "),
    }
}

/// Small recipes: `### failed step`, then the steps before and after. A line is `id: command`, `id> prompt` or
/// `hook! command`; `\n` in it is the end of a line, `!effects` declares an effect. The first step is `p` unless
/// it is given.
fn small_repairs(text: &str) -> Vec<Repair> {
    let lines: String =
        text.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    lines.split("### ").skip(1).map(small_repair).collect()
}

fn small_repair(text: &str) -> Repair {
    let (failed, steps) = text.split_once('\n').expect("a failed step");
    let (before, after) = steps.split_once("====\n").expect("two recipes");
    let (before, after) = (small_recipe(before), small_recipe(after));
    assert_ne!(after, before, "{text}");
    Repair { failed: failed.to_owned(), before, after, label: text.replace('\n', " ⏎ ") }
}

fn small_recipe(lines: &str) -> String {
    let (mut hooks, mut steps) = (String::new(), String::new());
    if !lines.starts_with("p: ") && !lines.contains("\np: ") {
        steps.push_str("  - {id: p, command: echo x > out.txt}\n");
    }
    for line in lines.lines() {
        let mark = line.find([':', '>', '!']).expect("a mark");
        let (id, text) = (&line[..mark], line[mark + 1..].trim().replace("\\n", "\n"));
        let (text, effects) = match text.strip_suffix(" !effects") {
            Some(text) => (text.to_owned(), ", effects: [deploy]"),
            None => (text, ""),
        };
        match line.as_bytes()[mark] {
            b':' => steps.push_str(&format!("  - {{id: {id}, command: {text:?}{effects}}}\n")),
            b'>' => steps.push_str(&format!("  - {{id: {id}, prompt: {text:?}}}\n")),
            _ => hooks.push_str(&format!("  {id}: {text:?}\n")),
        }
    }
    let hooks = if hooks.is_empty() { hooks } else { format!("hooks:\n{hooks}") };
    format!("name: small\n{hooks}steps:\n{steps}")
}

/// Whole lines are replaced as such, parts of lines within their line.
fn edited(text: &str, old: &str, new: &str) -> String {
    if old == "@steps\n" {
        let head = text.split("steps:\n").next().unwrap_or_default();
        return format!("{head}steps:\n{new}");
    }
    if text.contains(&format!("\n{old}")) && (old.starts_with(' ') || old.starts_with("secrets")) {
        return text.replacen(old, new, 1);
    }
    let (old, new) = (old.trim_end_matches('\n'), new.trim_end_matches('\n'));
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

fn judge(repair: &Repair) -> Vec<Regression> {
    let before = plan(&repair.before).expect("a good recipe");
    match plan(&repair.after) {
        Some(after) => compare(&before, &after, &repair.failed),
        None => vec![Regression { code: "invalid".to_owned(), step: None, detail: String::new() }],
    }
}

#[test]
fn no_degenerate_repair_is_accepted_and_honest_ones_are() {
    let (mut degenerate, mut honest) = (repairs(DEGENERATE), repairs(HONEST));
    degenerate.extend(small_repairs(WEAKER));
    honest.extend(small_repairs(REPAIRED));
    let missed: Vec<&Repair> = degenerate.iter().filter(|repair| judge(repair).is_empty()).collect();
    let wronged: Vec<&Repair> = honest.iter().filter(|repair| !judge(repair).is_empty()).collect();
    let invalid = |repairs: &[Repair]| repairs.iter().filter(|repair| plan(&repair.after).is_none()).count();
    missed.iter().for_each(|repair| println!("accepted: {}", repair.label));
    wronged.iter().for_each(|repair| println!("refused: {} {:?}", repair.label, judge(repair)));
    let caught = degenerate.len() - missed.len();
    println!("degenerate {}, honest {}", degenerate.len(), honest.len());
    println!("precision {:.3}", caught as f64 / (caught + wronged.len()) as f64);
    println!("recall {:.3}", caught as f64 / degenerate.len() as f64);
    assert!(degenerate.len() >= 419 && honest.len() >= 166);
    assert_eq!(invalid(&honest), 0);
    assert!(invalid(&degenerate) <= 3, "the guard has to judge, not the checker");
    assert!(missed.is_empty());
    assert!(wronged.is_empty());
}

#[test]
fn the_same_recipe_has_no_regression() {
    for text in [SHIP, SMALL] {
        let (before, after) = (plan(text).expect("a plan"), plan(text).expect("a plan"));
        assert_eq!(compare(&before, &after, "gate"), []);
    }
}

#[test]
fn codes_say_what_was_lost() {
    for (failed, old, new, code) in [
        ("gate", "grep -q \"PASS\" review.txt", "'true'", "neutered"),
        ("gate", "grep -q \"PASS\" review.txt", "grep -q \"PASS\" review.txt || true", "failure_ignored"),
        ("gate", "review.txt\n    timeout: 30", "plan.md\n    timeout: 30", "expectation_changed"),
        ("gate", "    timeout: 30\n", "", "timeout_loosened"),
        ("build", "      gh pr create --fill\n", "", "effect_lost"),
        ("build", "model: opus", "model: haiku", "model_changed"),
        ("build", "recipe: child", "recipe: other", "recipe_changed"),
        ("build", "parse_json_required: true", "parse_json_required: false", "json_loosened"),
        ("build", "max_depth: 3", "max_depth: 4", "limit_loosened"),
        ("build", "pytest tests", "pytest tests -k x", "check_narrowed"),
    ] {
        let (before, after) = (plan(SHIP).expect("a plan"), plan(&SHIP.replacen(old, new, 1)).expect(new));
        let found = compare(&before, &after, failed);
        assert!(found.iter().any(|regression| regression.code == code), "{new}: {found:?}");
    }
}
