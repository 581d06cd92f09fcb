//! The rest of a recipe: names that steps share, and values that checks rely on.
//!
//! Distinguishes a corrected spelling from a moved goal: the corrected name is the one that another step writes.

use recipe::plan::{Step, StepKind, Unit};

use super::{
    Findings,
    flow::{Found, follow},
    steps::Role,
};

/// Whether other steps mention a text as a whole.
pub(super) fn mentions(unit: &Unit, except: &str, text: &str) -> bool {
    let text = text.trim_start_matches("./");
    // ignore words without letters or digits
    if !text.contains(char::is_alphanumeric) {
        return false;
    }
    unit.steps.iter().filter(|step| step.id != except).any(|step| {
        step.produces.iter().any(|name| name == text) || texts(step).iter().any(|said| stands_in(said, text))
    })
}

/// Whether another step declares that it produces this file, or an agent is told to write it.
pub(super) fn is_declared(unit: &Unit, except: &str, name: &str) -> bool {
    unit.steps.iter().filter(|step| step.id != except).any(|step| {
        let told = matches!(&step.kind, StepKind::Agent(agent) if stands_in(agent.prompt.text(), name));
        told || step.produces.iter().any(|produced| produced == name)
    })
}

/// Whether another step works in this directory.
pub(super) fn is_visited(unit: &Unit, except: &str, place: &str) -> bool {
    let place = place.trim_end_matches('/');
    unit.steps.iter().filter(|step| step.id != except).any(|step| {
        let dir = step.working_dir.as_ref().is_some_and(|dir| dir.text().trim_end_matches('/') == place);
        let goes = |found: &Found| {
            found.call.program == "cd" && found.call.operands().any(|to| to.trim_end_matches('/') == place)
        };
        let shell = matches!(&step.kind, StepKind::Shell { command } if follow(command.text()).found.iter().any(goes));
        dir || shell
    })
}

fn texts(step: &Step) -> Vec<&str> {
    match &step.kind {
        StepKind::Shell { command } => vec![command.text()],
        StepKind::Agent(agent) => vec![agent.prompt.text()],
        StepKind::Nested { .. } => Vec::new(),
    }
}

fn stands_in(said: &str, text: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    said.match_indices(text).any(|(at, _)| {
        let before = said[..at].chars().next_back();
        let mut after = said[at + text.len()..].chars();
        let next = after.next();
        // a full stop ends a sentence, or continues a file name
        let goes_on = next == Some('.') && after.next().is_some_and(part);
        !before.is_some_and(|c| part(c) || c == '.') && !next.is_some_and(part) && !goes_on
    })
}

/// Values of the context, or defaults of inputs, that a check or an effect reads and that changed.
pub(super) fn compare_values(old: &Unit, new: &Unit, roles: &[Role], findings: &mut Findings) {
    let (was, is) = (old.defaults(), new.defaults());
    for (step, _) in old.steps.iter().zip(roles).filter(|(_, role)| role.check || role.effect) {
        for name in names(step) {
            let before = was.get(&name);
            if before.is_some() && before != is.get(&name) {
                let detail = format!("`{}` relies on `{name}`, whose value is another one", step.id);
                findings.add("expectation_changed", Some(&step.id), detail);
            }
        }
    }
}

fn names(step: &Step) -> Vec<String> {
    let mut names: Vec<String> = match &step.kind {
        StepKind::Shell { command } => {
            command.names().into_iter().map(|(path, _)| path.root.clone()).collect()
        }
        _ => Vec::new(),
    };
    names.extend(step.condition.iter().flat_map(|condition| condition.names()).map(|(path, _)| path.root));
    names
}
