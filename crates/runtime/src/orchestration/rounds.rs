//! The rounds of an orchestrated run as its journal tells them: what was executed, for which workstream, with what end.

use engine::{
    RunState, StepStatus,
    orchestration::{Execution, TerminalState},
    run::frame::{Frame, FrameId, StepState},
};
use recipe::plan::StepKind;

use super::{
    caller::{step_in, value_in},
    finish::Ended,
    streams::RoundStreams,
};

/// The step of the orchestrator that repeats rounds.
const ROUND: &str = "round";
/// The step that executes workstreams.
const WORKSTREAMS: &str = "execute-workstreams";
/// The steps of a round that execute something, in their order.
const EXECUTING: [&str; 4] =
    ["execute-development", "execute-investigation", "execute-operations", WORKSTREAMS];
/// The steps of a round that try another way.
const ADAPTING: [&str; 2] = ["adapt", "adapt-operations"];

/// One round.
#[derive(Clone, Copy)]
pub(super) struct RoundView<'a> {
    pub(super) state: &'a RunState,
    pub(super) frame: &'a Frame,
    /// From 1.
    pub(super) number: u32,
}

/// Something that was executed in a round.
pub(super) struct Executed<'a> {
    pub(super) path: String,
    pub(super) recipe: String,
    /// The name of its workstream.
    pub(super) stream: String,
    pub(super) step: &'a StepState,
    /// Its recipe, if it has one.
    pub(super) frame: Option<FrameId>,
    /// Whether it was a second try.
    pub(super) is_adapted: bool,
}

/// The rounds that have begun. A recipe that executes workstreams itself is one round.
pub(super) fn rounds(state: &RunState) -> Vec<RoundView<'_>> {
    let root = state.root();
    if root.unit.steps.iter().any(|step| step.id == WORKSTREAMS) {
        return vec![RoundView { state, frame: root, number: 1 }];
    }
    let view = |index: usize| {
        let (frame, at) = state.locate(&format!("{ROUND}[{index}]"))?;
        let frame = &state.frames[state.frames[frame].steps[at].frame?];
        Some(RoundView { state, frame, number: u32::try_from(index + 1).unwrap_or(u32::MAX) })
    };
    (0..).map_while(view).collect()
}

impl<'a> RoundView<'a> {
    /// The workspaces of its workstreams.
    pub(super) fn streams(&self) -> RoundStreams {
        value_in(self.frame, "prepare").unwrap_or_default()
    }

    /// What was executed, in order; second tries come last.
    pub(super) fn executed(&self) -> Vec<Executed<'a>> {
        let streams = self.streams();
        let mut found = Vec::new();
        for id in EXECUTING.iter().chain(&ADAPTING) {
            let Some(step) = step_in(self.frame, id).filter(|step| has_run(step)) else { continue };
            let is_adapted = ADAPTING.contains(id);
            let path = self.path(id);
            let instances = self.instances(&path);
            if instances.is_empty() && !matches!(*id, WORKSTREAMS | "adapt") {
                let stream = streams.first.name.clone();
                found.push(self.one(path, stream, step, is_adapted));
                continue;
            }
            for (index, instance) in instances.into_iter().enumerate().filter(|(_, step)| has_run(step)) {
                let path = format!("{path}[{index}]");
                let stream = self.stream_of(instance);
                found.push(self.one(path, stream, instance, is_adapted));
            }
        }
        found
    }

    /// The path of a step of the round.
    fn path(&self, id: &str) -> String {
        let around = &self.frame.path;
        if around.is_empty() { id.to_owned() } else { format!("{around}/{id}") }
    }

    fn one(&self, path: String, stream: String, step: &'a StepState, is_adapted: bool) -> Executed<'a> {
        let recipe = step.frame.map(|id| self.state.frames[id].unit.name.clone()).unwrap_or_default();
        Executed { path, recipe, stream, step, frame: step.frame, is_adapted }
    }

    /// The instances of a step with a loop.
    fn instances(&self, path: &str) -> Vec<&'a StepState> {
        let instance = |index: usize| {
            let (frame, at) = self.state.locate(&format!("{path}[{index}]"))?;
            Some(&self.state.frames[frame].steps[at])
        };
        (0..).map_while(instance).collect()
    }

    /// The workstream whose directory an instance works in.
    fn stream_of(&self, instance: &StepState) -> String {
        let dir = instance.frame.and_then(|id| self.state.frames[id].context.get("repo_path"));
        let dir = dir.map(|dir| dir.render().into_owned()).unwrap_or_default();
        let streams = self.streams();
        let found = streams.streams.into_iter().find(|stream| stream.workspace.path == dir);
        found.map(|stream| stream.name).unwrap_or_default()
    }
}

/// How the workstream with this number among those of a round is.
pub(super) fn instance_status(round: &RoundView<'_>, at: usize) -> Option<StepStatus> {
    round.instances(&round.path(WORKSTREAMS)).get(at).map(|step| step.status)
}

fn has_run(step: &StepState) -> bool {
    !matches!(step.status, StepStatus::Pending | StepStatus::Skipped)
}

impl Executed<'_> {
    /// How its workflow ended, if it left that.
    pub(super) fn ended(&self, state: &RunState) -> Option<Ended> {
        value_in(&state.frames[self.frame?], "terminal")
    }

    pub(super) fn terminal_state(&self, state: &RunState) -> Option<TerminalState> {
        self.ended(state).map(|ended| ended.terminal.terminal_state)
    }

    /// The same as data.
    pub(super) fn summary(&self, state: &RunState) -> Execution {
        Execution {
            recipe: self.recipe.clone(),
            path: self.path.clone(),
            outcome: self.step.status,
            terminal_state: self.terminal_state(state),
        }
    }

    /// The failed step at the bottom of it, with the frame that it is in.
    pub(super) fn leaf(&self, state: &RunState) -> Option<(FrameId, usize)> {
        let mut place = state.locate(&self.path)?;
        loop {
            let (frame, at) = place;
            let Some(below) = state.frames[frame].steps[at].frame else { return Some(place) };
            match first_failed(&state.frames[below]) {
                Some(at) => place = (below, at),
                None => return Some(place),
            }
        }
    }

    /// Whether an agent in it failed only because it said nothing.
    pub(super) fn is_silent(&self, state: &RunState) -> bool {
        let Some((frame, at)) = self.leaf(state) else { return false };
        let frame = &state.frames[frame];
        let is_agent = matches!(frame.unit.steps[at].kind, StepKind::Agent(_));
        is_agent && frame.steps[at].ended.as_deref().is_some_and(|ended| ended.is_silent())
    }

    /// The answers of all agents in it.
    pub(super) fn answers(&self, state: &RunState) -> Vec<String> {
        let mut found = Vec::new();
        match self.frame {
            Some(frame) => collect_answers(state, frame, &mut found),
            None => found.extend(self.step.value.as_ref().map(|value| value.render().into_owned())),
        }
        found
    }
}

/// The first failed step of a recipe, also if it was tolerated; cleanup comes last.
fn first_failed(frame: &Frame) -> Option<usize> {
    let is_failed = |at: &usize| frame.steps[*at].status == StepStatus::Failed;
    let mut failed = (0..frame.steps.len()).filter(is_failed);
    let first = failed.clone().find(|at| !frame.steps[*at].is_cleanup);
    first.or_else(|| failed.next())
}

fn collect_answers(state: &RunState, frame: FrameId, found: &mut Vec<String>) {
    let frame = &state.frames[frame];
    for (at, step) in frame.steps.iter().enumerate() {
        if let Some(below) = step.frame {
            collect_answers(state, below, found);
        } else if matches!(frame.unit.steps[at].kind, StepKind::Agent(_)) {
            found.extend(step.value.as_ref().map(|value| value.render().into_owned()));
        }
    }
}
