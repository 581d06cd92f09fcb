//! Cases about gates: each failing alone, each with results that are right and wrong, and questions for people.

use super::{
    case::{Case, bash, edit},
    ground::{Ground, Placed, Repository, edit_of, replies_yaml},
    yaml::Yaml,
};
use crate::writing::{
    gates::{Scene, Trial},
    step::Role,
};

/// All cases about gates.
pub(super) fn cases(ground: &Ground<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for placed in ground.with(|role| matches!(role, Role::Gate(_))) {
        let Role::Gate(trial) = &placed.step.role else { continue };
        match trial {
            Trial::Person => continue,
            Trial::Whole => cases.push(alone(ground, placed)),
            Trial::Scenes { right, wrong } => {
                cases.push(alone(ground, placed));
                cases.push(passes(ground, placed, right));
                cases.extend(wrong.iter().map(|scene| refuses(ground, placed, scene)));
            }
        }
        cases.extend(no_json(ground, placed));
        cases.extend(no_file(ground, placed));
    }
    for path in ground.questions() {
        cases.extend(answers(ground, &path));
    }
    cases
}

/// The gate fails, and everything else is well.
fn alone(ground: &Ground<'_>, placed: &Placed<'_>) -> Case {
    let path = match placed.step.has("for_each:") {
        true => format!("{}[1]", placed.path),
        false => placed.path.clone(),
    };
    Case::new(format!("{} fails alone", placed.path))
        .stub(path.clone(), bash("", 1))
        .exit(1)
        .steps(&[(path, "failed")])
        .never(&ground.ends())
}

fn passes(ground: &Ground<'_>, placed: &Placed<'_>, scene: &Scene) -> Case {
    let case = staged(ground, placed, scene);
    case.exit(0).steps(&[(placed.path.clone(), "completed")])
}

fn refuses(ground: &Ground<'_>, placed: &Placed<'_>, scene: &Scene) -> Case {
    let case = staged(ground, placed, scene).exit(1);
    let case = match scene.fails_earlier {
        true => case,
        false => case.steps(&[(placed.path.clone(), "failed")]),
    };
    case.never(&ground.ends())
}

/// The gate runs for real in a scene.
fn staged(ground: &Ground<'_>, placed: &Placed<'_>, scene: &Scene) -> Case {
    let mut case = Case::new(format!("{}: {}", placed.path, scene.title));
    case.stubs.push((placed.path.clone(), Yaml::raw("null")));
    let mut written = Vec::new();
    for (path, text) in &scene.files {
        // a file that an agent writes is written by the first edit, so that it counts as a change
        match ground
            .steps
            .iter()
            .find(|other| edit_of(other.step).is_some_and(|edit| edit.writes.contains(path)))
        {
            Some(editor) => written.push((editor, path, text)),
            None if text.is_none() && !ground.has_file(path) => {}
            None => {
                let text = text.as_ref().map_or(Yaml::raw("null"), |text| Yaml::text(text.clone()));
                case.files.push((path.clone(), text));
            }
        }
    }
    for (editor, path, text) in written {
        let stub = match text {
            Some(text) => edit(&[(path.clone(), text.clone())]),
            None => Yaml::map([
                ("answer", Yaml::text("done")),
                ("files", Yaml::map([(path.clone(), Yaml::raw("null"))])),
            ]),
        };
        case = case.stub(editor.path.clone(), stub);
    }
    for program in &scene.programs {
        let known = ground.programs.iter().find(|(name, _)| *name == program.name);
        let mut replies = vec![program.reply.clone()];
        let others = known.map(|(_, replies)| replies.as_slice()).unwrap_or_default();
        replies.extend(others.iter().filter(|reply| reply.args != program.reply.args).cloned());
        case.programs.retain(|(name, _)| *name != program.name);
        case.programs.push((program.name.clone(), replies_yaml(&replies)));
    }
    let repository = match placed.step.text().contains("git ") {
        true => Repository::Committed,
        false => Repository::IfNeeded,
    };
    if !scene.executables.is_empty() || repository == Repository::Committed {
        case.setup = ground.setup(&scene.executables, repository);
    }
    case
}

/// A gate that needs JSON, without it.
fn no_json(ground: &Ground<'_>, placed: &Placed<'_>) -> Option<Case> {
    placed.step.has("parse_json:").then(|| {
        Case::new(format!("{} prints no JSON", placed.path))
            .stub(placed.path.clone(), bash("no JSON\n", 0))
            .exit(1)
            .steps(&[(placed.path.clone(), "failed")])
            .never(&ground.ends())
    })
}

/// A gate about a file, without the file.
fn no_file(ground: &Ground<'_>, placed: &Placed<'_>) -> Option<Case> {
    let Role::Gate(Trial::Scenes { right, .. }) = &placed.step.role else { return None };
    let (path, _) = right.files.first().filter(|_| placed.step.has("ensure:"))?;
    let gone = Yaml::map([("exit", Yaml::raw(0)), ("files", Yaml::map([(path.clone(), Yaml::raw("null"))]))]);
    Some(
        Case::new(format!("{}: the file is missing", placed.path))
            .stub(placed.path.clone(), gone)
            .exit(1)
            .steps(&[(placed.path.clone(), "failed")])
            .never(&ground.ends()),
    )
}

/// A question that is answered with no, and one that is not answered.
fn answers(ground: &Ground<'_>, path: &str) -> Vec<Case> {
    let ships: Vec<String> =
        ground.with(|role| *role == Role::Ship).map(|placed| placed.path.clone()).collect();
    let mut rejected = Case::new(format!("{path} is rejected"));
    rejected.answers.push((path.to_owned(), Yaml::map([("choice", Yaml::text("reject"))])));
    let mut open = Case::new(format!("{path} waits for a person"));
    open.answers.push((path.to_owned(), Yaml::raw("null")));
    vec![
        rejected.exit(1).steps(&[(path.to_owned(), "failed")]).never(&ships),
        open.exit(6).steps(&[(path.to_owned(), "waiting")]).never(&ships),
    ]
}
