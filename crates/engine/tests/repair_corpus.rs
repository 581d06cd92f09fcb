//! Repairs, weaker and honest: none of the former is accepted, and none of the latter is refused by a guess.

#![expect(clippy::expect_used, reason = "a corpus that cannot be read is a failed test")]

use std::sync::Arc;

use engine::{
    knowledge::Knowledge,
    lint::{LintLevels, LintSubject, lint},
    repair_review::{Change, ReviewRule, ReviewVerdict, review},
};
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    diagnostic::Severity,
    plan::Plan,
};

const SHIP: &str = include_str!("repair_corpus/ship.yaml");
const SMALL: &str = include_str!("repair_corpus/small.yaml");
const DEGENERATE: &str = include_str!("repair_corpus/degenerate.txt");
const HONEST: &str = include_str!("repair_corpus/honest.txt");
const WEAKER: &str = include_str!("repair_corpus/weaker.txt");
const REPAIRED: &str = include_str!("repair_corpus/repaired.txt");

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

/// The verdict about a repair, with the changes that lead to it.
fn judge(repair: &Repair) -> (ReviewVerdict, Vec<Change>) {
    let before = plan(&repair.before).expect("a good recipe");
    // a recipe that does not check is refused before it is reviewed
    let Some(after) = plan(&repair.after) else { return (ReviewVerdict::Refused, Vec::new()) };
    let changes = review(&Knowledge::built_in(), &before, &after, &repair.failed);
    let verdict = changes.iter().map(|change| change.verdict).max().unwrap_or(ReviewVerdict::Accepted);
    (verdict, changes)
}

#[test]
fn no_weaker_repair_is_accepted_and_no_honest_one_is_refused_by_a_guess() {
    let (mut weaker, mut honest) = (repairs(DEGENERATE), repairs(HONEST));
    weaker.extend(small_repairs(WEAKER));
    honest.extend(small_repairs(REPAIRED));
    let count =
        |repairs: &[Repair], verdict| repairs.iter().filter(|repair| judge(repair).0 == verdict).count();
    for (name, repairs) in [("weaker", &weaker), ("honest", &honest)] {
        let [accepted, asked, refused] =
            [ReviewVerdict::Accepted, ReviewVerdict::Ask, ReviewVerdict::Refused]
                .map(|verdict| count(repairs, verdict));
        println!("{name}: {} repairs, {accepted} accepted, {asked} asked, {refused} refused", repairs.len());
    }
    let accepted: Vec<String> = weaker
        .iter()
        .filter(|repair| judge(repair).0 == ReviewVerdict::Accepted)
        .map(|repair| format!("{} {:?}", repair.label, judge(repair).1))
        .collect();
    assert!(accepted.is_empty(), "weaker repairs are accepted: {accepted:#?}");
    let refused: Vec<String> = honest
        .iter()
        .filter(|repair| judge(repair).0 == ReviewVerdict::Refused)
        .map(|repair| {
            let refused = judge(repair).1.into_iter().find(|change| change.verdict == ReviewVerdict::Refused);
            let rule = refused.map_or("", |change| change.rule.code());
            format!("{rule}: {}", repair.label.split("====").nth(1).unwrap_or_default().replace(" ⏎ ", "|"))
        })
        .collect();
    assert_eq!(refused, REFUSED_BY_RULE);
    let invalid = |repairs: &[Repair]| repairs.iter().filter(|repair| plan(&repair.after).is_none()).count();
    assert_eq!((weaker.len(), honest.len(), invalid(&honest)), (461, 186, 0));
    assert!(invalid(&weaker) <= 3, "the review has to judge, not the checker");
}

/// Honest repairs that a declared rule refuses: a retry is looser, and hooks stay as they are.
const REFUSED_BY_RULE: [&str; 2] = [
    "loosened: |  - id: build|    retry: 2|>>>>|",
    "hooks_changed: |pre_step! echo \"{{step_id}} begins\" >> hooks.log|chk: grep -q OK out.txt|",
];

#[test]
fn the_same_recipe_has_no_change() {
    for text in [SHIP, SMALL] {
        let (before, after) = (plan(text).expect("a plan"), plan(text).expect("a plan"));
        assert_eq!(review(&Knowledge::built_in(), &before, &after, "gate"), []);
    }
}

#[test]
fn every_change_names_its_part_and_its_rule() {
    for (failed, old, new, part, rule) in [
        ("gate", "grep -q \"PASS\" review.txt", "'true'", "Command", ReviewRule::AlwaysSucceeds),
        (
            "gate",
            "grep -q \"PASS\" review.txt",
            "grep -q PASS review.txt || true",
            "Command",
            ReviewRule::AlwaysSucceeds,
        ),
        ("build", "make all", "make all || true\n      make docs", "Command", ReviewRule::FailureIgnored),
        (
            "gate",
            "review.txt\n    timeout: 30",
            "plan.md\n    timeout: 30",
            "Command",
            ReviewRule::CheckChanged,
        ),
        (
            "gate",
            "review.txt\n    timeout: 30",
            "rewiev.txt\n    timeout: 30",
            "Command",
            ReviewRule::Correction,
        ),
        (
            "unit",
            "review.txt\n    timeout: 30",
            "rewiev.txt\n    timeout: 30",
            "Command",
            ReviewRule::CheckChanged,
        ),
        ("gate", "\"PASS\"", "'PASS'", "Command", ReviewRule::SameCommands),
        ("gate", "    timeout: 30\n", "", "Setting(\"timeout\")", ReviewRule::Loosened),
        ("gate", "    timeout: 30\n", "    timeout: 20\n", "Setting(\"timeout\")", ReviewRule::Stricter),
        (
            "gate",
            "    timeout: 30\n",
            "    timeout: 30\n    max_env_value_bytes: 9\n",
            "Setting(\"max_env_value_bytes\")",
            ReviewRule::CheckChanged,
        ),
        ("build", "      gh pr create --fill\n", "", "Command", ReviewRule::EffectLost),
        (
            "build",
            "gh pr create --fill",
            "[ -n \"$X\" ] || gh pr create --fill",
            "Command",
            ReviewRule::EffectConditional,
        ),
        ("publish", "gh pr create --fill", "gh pr create --draft", "Command", ReviewRule::EffectChanged),
        ("build", "model: opus", "model: haiku", "Setting(\"model\")", ReviewRule::NoRule),
        ("build", "recipe: child", "recipe: other", "Setting(\"recipe\")", ReviewRule::NoRule),
        (
            "build",
            "parse_json_required: true",
            "parse_json_required: false",
            "Setting(\"parse_json\")",
            ReviewRule::Loosened,
        ),
        ("build", "max_depth: 3", "max_depth: 4", "Setting(\"max_depth\")", ReviewRule::Loosened),
        ("build", "secrets: [api_key]", "secrets: []", "Setting(\"secrets\")", ReviewRule::SecretsChanged),
        ("build", "branch: main", "branch: other", "Value(\"branch\")", ReviewRule::NoRule),
        ("build", "and your verdict", "and the verdict", "Prompt", ReviewRule::PromptKept),
        (
            "build",
            "  - id: build",
            "  - id: look\n    command: mkdir -p made\n  - id: build",
            "AddedStep",
            ReviewRule::NoEffects,
        ),
        (
            "build",
            "  - id: build",
            "  - id: look\n    command: echo ok > tests/ok\n  - id: build",
            "AddedStep",
            ReviewRule::MayHaveEffects,
        ),
        ("build", "pytest tests", "pytest 'tests", "Command", ReviewRule::NotParsed),
    ] {
        let (before, after) = (plan(SHIP).expect("a plan"), plan(&SHIP.replacen(old, new, 1)).expect(new));
        let found = review(&Knowledge::built_in(), &before, &after, failed);
        let has = |change: &Change| format!("{:?}", change.what) == part && change.rule == rule;
        assert!(found.len() == 1 && found.iter().any(has), "{new}: {found:?}");
        assert_eq!(found[0].verdict, rule.verdict());
    }
}

#[test]
fn a54_an_honest_repair_has_no_lint_error() {
    let mut honest = repairs(HONEST);
    honest.extend(small_repairs(REPAIRED));
    let knowledge = Knowledge::built_in();
    let errors: Vec<String> = honest
        .iter()
        .flat_map(|repair| {
            let plan = plan(&repair.after).expect("a good recipe");
            let found = lint(&LintSubject {
                plan: &plan,
                knowledge: &knowledge,
                levels: &LintLevels::new(),
                has_tests: &|_| None,
            });
            let errors = found.into_iter().filter(|finding| finding.level == Severity::Error);
            errors
                .map(|finding| format!("{}: {} in {}", finding.code.as_str(), finding.message, repair.label))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
