//! The tests of a generated recipe: everything well, each gate failing alone, every branch, kill and resume.
//!
//! Agents and effects are stubbed; the bash of the recipe runs for real in scratch folders.

mod case;
mod gates;
mod ground;
mod reviews;
mod yaml;

use case::{Case, bash, edit};
use ground::{Ground, Repository, edit_of, written};
use yaml::Yaml;

use crate::{
    brief::{Brief, TargetSource},
    writing::{Outline, step::Role, text::comment},
};

/// The test file.
pub(crate) fn text(brief: &Brief, outline: &Outline) -> String {
    let ground = Ground::of(brief, outline);
    let mut cases = frame(&ground);
    cases.extend(reviews::cases(&ground));
    cases.extend(gates::cases(&ground));
    cases.extend(interrupted(&ground));
    cases.extend(shipping(&ground));
    let name = &brief.name;
    let head = comment(
        0,
        &format!(
            "Tests of {name}.yaml, generated with it.\n\n  recipe-runner-rs test recipes/{name}.test.yaml\n"
        ),
    );
    let cases: Vec<String> =
        cases.into_iter().map(|case| Yaml::List(vec![ground.entering(case).yaml()]).block(2)).collect();
    format!(
        "{head}coverage: {{min: 100}}\ndefaults:\n{}cases:\n{}",
        ground.defaults().block(2),
        cases.join("\n")
    )
}

/// Cases about the steps around the work.
fn frame(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = vec![all_well(ground), changed_spec(ground)];
    cases.extend(failing_frame(ground));
    cases.extend(missing_variables(ground));
    let brief = ground.brief;
    let Some(editor) = ground.steps.iter().find(|placed| edit_of(placed.step).is_some()) else {
        return cases;
    };
    let Some(step) = edit_of(editor.step) else { return cases };
    let is_stated = brief.targets.source != TargetSource::Unstated && !brief.targets.paths.is_empty();
    if !is_stated {
        return cases;
    }
    let path = if step.items.is_some() { format!("{}[0]", editor.path) } else { editor.path.clone() };
    let outside = |title: &str, file: &str| {
        let mut files: Vec<(String, String)> = written(&step, "implement").into_iter().take(1).collect();
        files.push((file.to_owned(), "outside the targets\n".to_owned()));
        ground
            .real(Case::new(title))
            .stub(path.clone(), edit(&files))
            .exit(1)
            .steps(&[("scope".to_owned(), "failed")])
            .never(&ground.ends())
    };
    cases.push(outside("a new file outside the targets", "outside-the-targets.txt"));
    let mut tracked = outside("a known file outside the targets", "known-outside-the-targets.txt");
    tracked.files.push(("known-outside-the-targets.txt".to_owned(), Yaml::text("before\n")));
    cases.push(tracked);
    if brief.project.git {
        let target = step.writes.first().cloned().unwrap_or_default();
        let mut dirty = Case::new("a target has changes that are not committed");
        let add = format!("printf 'mine\\n' >> {}\n", crate::writing::shell::quote(&target));
        dirty.setup = Some(format!("{}{add}", ground.setup(&[], Repository::Committed).unwrap_or_default()));
        cases.push(
            ground
                .real(dirty)
                .exit(1)
                .steps(&[("preflight".to_owned(), "failed")])
                .never(std::slice::from_ref(&editor.path)),
        );
    }
    cases
}

fn all_well(ground: &Ground<'_>) -> Case {
    let mut steps = Vec::new();
    for placed in &ground.steps {
        match &placed.step.role {
            Role::Edit(edit) if edit.after.is_some() => steps.push((placed.path.clone(), "skipped")),
            Role::Blocked | Role::Unfinished => steps.push((placed.path.clone(), "skipped")),
            Role::Pass | Role::SignOff | Role::Ship => steps.push((placed.path.clone(), "completed")),
            _ => {}
        }
    }
    ground
        .real(Case::new("all goes well"))
        .exit(0)
        .steps(&steps)
        .expect("output", Yaml::map([("contains", Yaml::text("SIGNED_OFF"))]))
}

fn changed_spec(ground: &Ground<'_>) -> Case {
    let mut case = Case::new("the spec has changed");
    let path = &ground.brief.spec.path;
    if path.starts_with('/') || path.starts_with("..") {
        case = case.stub("read-spec", bash("", 1));
    } else {
        case.files.push((path.clone(), Yaml::text("another spec\n")));
        case = case.stub("read-spec", Yaml::raw("null"));
    }
    case.exit(1).steps(&[("read-spec".to_owned(), "failed")]).never(&["preflight".to_owned()])
}

/// The steps around the work fail on their own.
fn failing_frame(ground: &Ground<'_>) -> Vec<Case> {
    // the others fail for real in other cases
    let is_real =
        ground.brief.targets.source != TargetSource::Unstated && !ground.brief.targets.paths.is_empty();
    let fails = move |role: &Role| {
        matches!(role, Role::Build) || (!is_real && matches!(role, Role::Preflight | Role::Scope))
    };
    let one = |path: &String| {
        Case::new(format!("{path} fails"))
            .stub(path.clone(), bash("", 1))
            .exit(1)
            .steps(&[(path.clone(), "failed")])
            .never(&ground.ends())
    };
    ground.with(fails).map(|placed| one(&placed.path)).collect()
}

fn missing_variables(ground: &Ground<'_>) -> Vec<Case> {
    let one = |name: &String| {
        let mut case = Case::new(format!("the variable {name} is missing"));
        case.env.push((name.clone(), Yaml::raw("null")));
        case.exit(5).never(&["read-spec".to_owned()])
    };
    ground.brief.environment.iter().map(|variable| one(&variable.name)).collect()
}

/// The runner is killed, and the run resumed: no step that has ended is repeated.
fn interrupted(ground: &Ground<'_>) -> Vec<Case> {
    let mut points = Vec::new();
    for placed in &ground.steps {
        match placed.step.role {
            Role::Edit(ref edit) if edit.after.is_none() && edit.items.is_none() => {
                points.push((placed.path.clone(), "finished"));
            }
            Role::Scope => points.push((placed.path.clone(), "started")),
            Role::Ship => points.push((placed.path.clone(), "finished")),
            _ => {}
        }
    }
    let one = |(path, moment): (String, &str)| {
        let mut case = Case::new(format!("the runner is killed when {path} has {moment}"));
        case.kill.push(Yaml::map([("at", Yaml::text(path.clone())), ("moment", Yaml::text(moment))]));
        let case = case.exit(0).steps(&[("signoff".to_owned(), "completed")]);
        match moment {
            "finished" => case.expect("calls", Yaml::map([(path, Yaml::raw(1))])),
            _ => case,
        }
    };
    points.into_iter().map(one).collect()
}

/// Effects that fail, and a pull request without the address of this repository.
fn shipping(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for placed in ground.with(|role| *role == Role::Ship) {
        let path = &placed.path;
        let fails = |case: Case| case.exit(1).steps(&[(path.clone(), "failed")]);
        cases.push(fails(Case::new(format!("{path} fails")).stub(path.clone(), bash("", 1))));
        if placed.step.has("ensure:") {
            for (title, url) in [
                ("prints no address", "created\n"),
                ("prints the address of another repository", "https://github.com/other/project/pull/7\n"),
            ] {
                cases.push(fails(Case::new(format!("{path} {title}")).stub(path.clone(), bash(url, 0))));
            }
        }
    }
    cases
}
