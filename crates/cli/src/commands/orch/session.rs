//! `orch session`: registers, ends and lists the sessions of the tree that the environment names.

use std::collections::BTreeMap;

use engine::{
    orchestration::Guard,
    session_tree::{SessionKind, SessionTree},
};
use runtime::runs::SessionPlace;
use serde_json::json;

use crate::{
    args::session::{RegisterArgs, SessionVerb},
    environment::Environment,
    exit::Exit,
    host,
    out::Out,
    report::failure::Failure,
};

/// Works with the sessions of the tree.
pub(crate) fn session(verb: &SessionVerb, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let place = host::runs(None, environment)?.session_place(&environment.machine.bare());
    match verb {
        SessionVerb::Register(args) => register(args, &place, out),
        SessionVerb::Complete(args) => {
            place.complete(&args.id).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
            Ok(Exit::Success)
        }
        SessionVerb::Check => {
            let guard = place.guard();
            out.result(guard.as_str());
            Ok(if guard == Guard::Allowed { Exit::Success } else { Exit::Invalid })
        }
        SessionVerb::Status => {
            status(&place.status(), out);
            Ok(Exit::Success)
        }
    }
}

fn register(args: &RegisterArgs, place: &SessionPlace, out: &mut Out) -> Result<Exit, Failure> {
    let id = args.id.clone().unwrap_or_else(|| place.new_id());
    let registered = place.register(&id, args.parent.clone(), SessionKind::Foreign);
    let (tree_id, registered) = registered.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    if let Some(warning) = registered.warning {
        out.notice(&format!("warning: {warning}"));
    }
    let depth = registered.value;
    match args.json {
        true => out.result(&json!({ "tree_id": tree_id, "depth": depth }).to_string()),
        false => out.result(&format!("TREE_ID={tree_id} DEPTH={depth}")),
    }
    Ok(Exit::Success)
}

fn status(tree: &SessionTree, out: &mut Out) {
    let ids = |is_active: bool| -> Vec<&String> {
        let chosen = tree.sessions.iter().filter(|(_, session)| session.is_active() == is_active);
        chosen.map(|(id, _)| id).collect()
    };
    let depths: BTreeMap<&String, u64> =
        tree.sessions.iter().map(|(id, session)| (id, session.depth)).collect();
    out.json(&json!({
        "tree_id": tree.tree_id,
        "active": ids(true),
        "completed": ids(false),
        "depths": depths,
    }));
}
