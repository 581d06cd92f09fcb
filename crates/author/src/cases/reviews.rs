//! Cases about agents: findings, verdicts without JSON, reviewers that edit, edits that change nothing.

use super::{
    case::{Case, edit, verdict},
    ground::{Ground, Placed, edit_of, written},
    yaml::Yaml,
};
use crate::writing::step::Role;

/// All cases about agents.
pub(super) fn cases(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = vec![all_findings(ground), json_on_the_second_try(ground)];
    for placed in ground.with(|role| matches!(role, Role::Review { .. })) {
        let Role::Review { blocked, .. } = &placed.step.role else { continue };
        let before = |case: Case| reaching(ground, placed, case);
        let stops = |case: Case| case.never(&ground.ends());
        let path = &placed.path;
        cases.push(stops(
            before(Case::new(format!("{path} is blocked")))
                .stub(path.clone(), verdict("BLOCKED"))
                .exit(6)
                .steps(&[(placed.beside(blocked), "waiting")]),
        ));
        cases.push(stops(
            before(Case::new(format!("{path} never answers with JSON")))
                .stub(path.clone(), Yaml::map([("answer", Yaml::text("It looks good to me."))]))
                .exit(1)
                .steps(&[(path.clone(), "failed")]),
        ));
        cases.push(stops(
            before(Case::new(format!("{path} changes a file")))
                .stub(path.clone(), reviewer_that_edits(ground, placed))
                .exit(1)
                .steps(&[(path.clone(), "failed")]),
        ));
    }
    cases.extend(another_word(ground));
    cases.extend(confirm_finds_more(ground));
    cases.extend(idle_edits(ground));
    cases.extend(plans(ground));
    cases
}

/// A verdict that is none of the three words: all reviews have the same schema.
fn another_word(ground: &Ground<'_>) -> Option<Case> {
    let placed = ground.with(|role| matches!(role, Role::Review { .. })).next()?;
    let fine = Yaml::map([("verdict", Yaml::text("FINE")), ("findings", Yaml::List(Vec::new()))]);
    let case = Case::new(format!("{} answers with another word", placed.path))
        .stub(placed.path.clone(), Yaml::map([("json", fine)]))
        .exit(1)
        .steps(&[(placed.path.clone(), "failed")])
        .never(&ground.ends());
    Some(case)
}

/// A reviewer that says that all is well and changes a file that it must not change.
fn reviewer_that_edits(ground: &Ground<'_>, placed: &Placed<'_>) -> Yaml {
    let first =
        ground.steps.iter().find(|other| other.prefix == placed.prefix && edit_of(other.step).is_some());
    let path = first.and_then(|other| edit_of(other.step)).and_then(|edit| edit.writes.first().cloned());
    let Yaml::Map(mut entries) = verdict("NO_ISSUES_FOUND") else { return verdict("NO_ISSUES_FOUND") };
    let files = path.map(|path| (path, Yaml::text("changed by the reviewer\n")));
    entries.push(("files".to_owned(), Yaml::map(files)));
    Yaml::Map(entries)
}

/// The case with the findings that lead to a review: `confirm` comes only after a final fix.
fn reaching(ground: &Ground<'_>, placed: &Placed<'_>, case: Case) -> Case {
    if placed.step.id != "confirm" {
        return case;
    }
    let last = ground.with(|role| matches!(role, Role::Review { .. }));
    let last =
        last.filter(|other| other.prefix == placed.prefix && other.step.id.starts_with("final-review"));
    match last.last() {
        Some(review) => case.stub(review.path.clone(), verdict("FINDINGS")),
        None => case,
    }
}

/// Every reviewer finds something, twice; everything is fixed and confirmed.
fn all_findings(ground: &Ground<'_>) -> Case {
    let mut case = Case::new("findings are fixed, and the last fix is reviewed again");
    let mut order = Vec::new();
    let mut prompts = Vec::new();
    for placed in &ground.steps {
        match &placed.step.role {
            Role::Review { .. } if placed.step.id != "confirm" => {
                case = case.stub(placed.path.clone(), verdict("FINDINGS"));
            }
            Role::Edit(edit) if edit.after.is_some() => {
                let finding = Yaml::map([("contains", Yaml::text("the first finding"))]);
                prompts.push((placed.path.clone(), finding));
            }
            Role::Review { .. } | Role::Edit(_) | Role::Scope | Role::Pass => {}
            _ => continue,
        }
        let is_first_part =
            ground.steps.iter().all(|other| other.prefix.is_empty() || placed.prefix.is_empty());
        if is_first_part {
            order.push(placed.path.clone());
        }
    }
    case.exit(0)
        .expect("order", Yaml::texts(order))
        .expect("prompts", Yaml::map(prompts))
        .expect("output", Yaml::map([("contains", Yaml::text("SIGNED_OFF"))]))
}

/// Every agent with a verdict is asked for JSON once more.
fn json_on_the_second_try(ground: &Ground<'_>) -> Case {
    let mut case = Case::new("verdicts without JSON are asked for again");
    let text = Yaml::map([("answer", Yaml::text("I have looked at everything."))]);
    for placed in &ground.steps {
        let answer = match &placed.step.role {
            Role::Review { .. } if placed.step.id == "confirm" => verdict("NO_ISSUES_FOUND"),
            Role::Review { .. } => verdict("FINDINGS"),
            Role::Plan => Yaml::map([(
                "json",
                Yaml::map([("steps", Yaml::texts(["do it"])), ("risks", Yaml::List(Vec::new()))]),
            )]),
            _ => continue,
        };
        case = case.stub(placed.path.clone(), Yaml::List(vec![text.clone(), answer]));
    }
    case.exit(0)
}

/// Findings after the last fix never pass.
fn confirm_finds_more(ground: &Ground<'_>) -> Vec<Case> {
    let confirms =
        ground.with(|role| matches!(role, Role::Review { .. })).filter(|one| one.step.id == "confirm");
    confirms
        .map(|placed| {
            let pass = placed.beside("pass");
            let mut case = Case::new(format!("{} has findings", placed.path));
            case.stubs.extend(ground.stubbed(&pass).then(|| (pass, Yaml::raw("null"))));
            reaching(ground, placed, case)
                .stub(placed.path.clone(), verdict("FINDINGS"))
                .exit(1)
                .steps(&[(placed.beside("pass"), "failed")])
                .never(&ground.ends())
        })
        .collect()
}

/// Each edit that changes nothing is asked again, and fails.
fn idle_edits(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for placed in &ground.steps {
        let Some(step) = edit_of(placed.step) else { continue };
        let mut case = Case::new(format!("{} changes nothing", placed.path));
        if let Some(review) = &step.after {
            case = case.stub(placed.beside(review), verdict("FINDINGS"));
        }
        let path = match step.items {
            Some(_) => format!("{}[0]", placed.path),
            None => placed.path.clone(),
        };
        let idle = case
            .clone()
            .stub(path.clone(), edit(&[]))
            .exit(1)
            .steps(&[(path.clone(), "failed")])
            .never(&ground.ends());
        cases.push(idle);
        if step.after.is_some() {
            continue;
        }
        let mut late =
            case.stub(path.clone(), Yaml::List(vec![edit(&[]), edit(&written_once(&step, placed))]));
        late.name = format!("{} is asked again and does it", placed.path);
        cases.push(late.exit(0).expect("calls", Yaml::map([(path, Yaml::raw(2))])));
    }
    cases
}

fn written_once(step: &crate::writing::step::Edit, placed: &Placed<'_>) -> Vec<(String, String)> {
    written(step, &placed.path).into_iter().take(1).collect()
}

/// A plan without JSON, and a planner that edits.
fn plans(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for placed in ground.with(|role| *role == Role::Plan) {
        let path = &placed.path;
        let fails = |case: Case| case.exit(1).steps(&[(path.clone(), "failed")]).never(&ground.ends());
        cases.push(fails(
            Case::new("the plan is not JSON")
                .stub(path.clone(), Yaml::map([("answer", Yaml::text("First this, then that."))])),
        ));
        let plan = Yaml::map([
            ("json", Yaml::map([("steps", Yaml::texts(["do it"])), ("risks", Yaml::List(Vec::new()))])),
            ("files", Yaml::map([("changed-by-the-planner.txt", Yaml::text("no\n"))])),
        ]);
        cases.push(fails(Case::new("the planner changes a file").stub(path.clone(), plan)));
    }
    cases
}
