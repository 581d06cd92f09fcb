//! What steps are prepared from. Writes the private files of steps; starts nothing and records nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

use engine::{RunState, run::frame::FrameId};
use recipe::{template::Template, value::Value};

use super::{RunSpec, run_store::RunStore};
use crate::{
    os::environment::Environment,
    steps::{
        agent::ledger::Ledger,
        shell::{context_file::Sharing, context_variables::ContextVariables, export::Share},
    },
    store::{folder::FolderError, secrets::Mask},
};

/// What steps are prepared from: what the run is, what is known now, and where files go.
pub(super) struct Preparer<'d, 'a> {
    pub(super) spec: &'d RunSpec<'a>,
    pub(super) state: &'d RunState,
    pub(super) store: &'d mut RunStore,
    /// Secrets of a step are masked as soon as it is prepared.
    pub(super) mask: &'d mut Mask,
    pub(super) environment: &'d mut BaseEnvironment,
    pub(super) ledger: &'d Arc<Ledger>,
    /// Warnings about the step.
    pub(super) notes: &'d mut Vec<(String, String)>,
}

/// The environment that all steps share.
pub(super) struct BaseEnvironment {
    pub(super) variables: Arc<BTreeMap<OsString, OsString>>,
    /// Variables among them that would hold context values, by the recipe in execution.
    of_context: HashMap<FrameId, ContextVariables>,
    /// The names in the environment of the last process, for the journal.
    pub(super) names: BTreeSet<String>,
    /// Whether the note about values that are not exported was written.
    noted_left_out: bool,
}

impl BaseEnvironment {
    /// The environment of a run that begins.
    pub(super) fn new(spec: &RunSpec<'_>, run_dir: Option<&Path>) -> BaseEnvironment {
        let (of_context, names) = (HashMap::new(), BTreeSet::new());
        BaseEnvironment { variables: variables(spec, run_dir), of_context, names, noted_left_out: false }
    }

    /// Takes over what the host says now.
    pub(super) fn renew(&mut self, spec: &RunSpec<'_>, run_dir: Option<&Path>) {
        self.variables = variables(spec, run_dir);
        self.of_context.clear();
    }

    /// An environment with these variables only.
    pub(super) fn shared(&self) -> Environment {
        Environment::shared(Arc::clone(&self.variables))
    }
}

fn variables(spec: &RunSpec<'_>, run_dir: Option<&Path>) -> Arc<BTreeMap<OsString, OsString>> {
    Arc::new(spec.host.step_env(&spec.host.tree(&spec.run_id), run_dir))
}

impl Preparer<'_, '_> {
    /// The environment of a step: the common variables, the exported values, and the step's own.
    pub(super) fn step_env(
        &mut self,
        frame: FrameId,
        at: usize,
        dir: &Path,
        (exported, share): (Vec<(String, String)>, Share),
        own: Vec<(String, String)>,
    ) -> Result<Environment, FolderError> {
        let file = self.store.dir().join(dir).join("context.json");
        let sharing = if self.state.runs_beside_others(frame, at) { Sharing::Beside } else { Sharing::Alone };
        self.store.hand_out_context(frame, &self.state.frames[frame], &file, sharing)?;
        let mut env = self.environment.shared();
        if !share.is_whole {
            // a value that does not fit must not be replaced by an inherited one
            let hidden = self.environment.of_context.entry(frame).or_default();
            env.hide(hidden.update(&self.state.frames[frame], &self.environment.variables).clone());
        }
        env.extend(exported);
        env.extend(context_names(&file));
        env.extend(own);
        Ok(env)
    }

    /// The `env` of a step and of the recipe steps around it. Its secrets are masked from now on.
    pub(super) fn own_env(&mut self, frame: FrameId, at: usize) -> Vec<(String, String)> {
        let own = declared_env(self.state, frame, at);
        for (name, value) in &own {
            self.mask.learn_value(name, &Value::from(value.as_str()));
        }
        own
    }

    /// Notes once that the context does not fit into an environment.
    pub(super) fn note_left_out(&mut self, path: &str, frame: FrameId, share: Share) {
        if share.is_whole || std::mem::replace(&mut self.environment.noted_left_out, true) {
            return;
        }
        let left_out = share.left_out(&self.state.frames[frame]);
        let message = format!(
            "the context is too large for an environment: {left_out} values are not exported to this step, except those that its command names; $RECIPE_CONTEXT_FILE has all of them"
        );
        self.notes.push((path.to_owned(), message));
    }
}

/// The `env` of a step, after that of its recipe and of the recipe steps around it.
pub(super) fn declared_env(state: &RunState, frame: FrameId, at: usize) -> Vec<(String, String)> {
    let mut env = recipe_env(state, frame, at);
    add_variables(&mut env, state, (frame, at), &state.frames[frame].unit.steps[at].env);
    env
}

/// The variables that a recipe sets for a step, after those of the recipe steps around it.
pub(super) fn recipe_env(state: &RunState, frame: FrameId, at: usize) -> Vec<(String, String)> {
    // every instance has the `env` of its step
    let (recipe, _) = state.in_recipe((frame, at));
    let mut env = match state.frames[recipe].parent {
        Some((parent, at)) => declared_env(state, parent, at),
        None => Vec::new(),
    };
    add_variables(&mut env, state, (frame, at), &state.frames[recipe].unit.env.set);
    env
}

fn add_variables(
    env: &mut Vec<(String, String)>,
    state: &RunState,
    (frame, at): (FrameId, usize),
    templates: &[(String, Template)],
) {
    for (name, template) in templates {
        let value = template.render(&state.frames[frame].scope(at)).replace('\0', "");
        set_variable(env, name.clone(), value);
    }
}

/// Sets a variable, instead of an earlier value that it may have.
pub(super) fn set_variable(env: &mut Vec<(String, String)>, name: String, value: String) {
    env.retain(|(known, _)| *known != name);
    env.push((name, value));
}

/// The variables that name the context file.
pub(super) fn context_names(file: &Path) -> [(&'static str, &OsStr); 2] {
    ["RECIPE_CONTEXT_FILE", "AMPLIHACK_CONTEXT_FILE"].map(|name| (name, file.as_os_str()))
}
