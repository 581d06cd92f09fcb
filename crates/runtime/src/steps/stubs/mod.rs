//! The stubs of a test case: which of them answers a call, and what it does. They stand in for programs: what follows
//! from their output and their end is decided by the code that reads real programs.

mod auto_value;
mod case_error;
mod effects;
mod script;
mod transcript;
mod used;
mod wording;

use std::{
    collections::BTreeSet,
    fmt,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use engine::knowledge::Knowledge;
use recipe::{
    plan::{Step, StepKind},
    syntax::StepType,
    test_file::{BashMode, Fault, RecipeReply, ReplyKind, Selected, Stub, StubCall, StubReply, select},
};

pub use case_error::CaseError;
pub(crate) use script::{Played, Script, change};
pub use used::StubCalled;
use used::Used;
use wording::{lines, suggestion, words};

use super::performer::StepCall;
use crate::os::files;

/// What stubs need to know about their case.
#[derive(Clone, Debug)]
pub(crate) struct StubSetup {
    pub(crate) stubs: Vec<Stub>,
    /// Programs that are replaced.
    pub(crate) programs: Vec<String>,
    pub(crate) bash: BashMode,
    pub(crate) knowledge: Knowledge,
    /// The file that keeps the calls of a runner that is killed.
    pub(crate) log: Option<PathBuf>,
}

/// The stubs of a test case, and which of them were used.
pub struct Stubs {
    setup: StubSetup,
    used: Mutex<Used>,
}

impl fmt::Debug for Stubs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stubs").finish_non_exhaustive()
    }
}

/// An answer of a stub to a call.
struct Reply<'a> {
    stub: &'a Stub,
    reply: &'a StubReply,
}

impl Stubs {
    /// The stubs of a case that begins, or that goes on after these calls.
    pub(crate) fn new(setup: StubSetup, before: Vec<StubCalled>) -> Stubs {
        let mut used = Used::default();
        before.into_iter().for_each(|call| used.note(&setup.stubs, call));
        Stubs { setup, used: Mutex::new(used) }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls so far, in their order.
    pub(crate) fn calls(&self) -> Vec<StubCalled> {
        self.used().calls.clone()
    }

    /// The mistakes of the case so far; with the stubs that were never used, if it is over.
    pub(crate) fn errors(&self) -> Vec<CaseError> {
        self.used().errors.clone()
    }

    /// The stubs that were not used and should have been.
    pub(crate) fn unused(&self) -> Vec<CaseError> {
        let answered: BTreeSet<usize> = self.used().calls.iter().filter_map(|call| call.stub).collect();
        let is_unused = |(number, stub): &(usize, &Stub)| !stub.optional && !answered.contains(number);
        let stubs = self.setup.stubs.iter().enumerate().filter(is_unused);
        stubs.map(|(number, stub)| CaseError::Unused { key: words(&stub.key), number }).collect()
    }

    /// Notes a mistake of the case, once.
    pub(crate) fn complain(&self, error: CaseError) {
        let mut used = self.used();
        if !used.errors.contains(&error) {
            used.errors.push(error);
        }
    }

    /// Notes a mistake of the case, and says what it is.
    fn refuse<T>(&self, error: CaseError) -> Result<T, String> {
        let words = error.to_string();
        self.complain(error);
        Err(words.lines().next().unwrap_or_default().to_owned())
    }

    /// What a bash step does instead of starting its process; `None` if it starts it.
    pub(super) fn shell(
        &self,
        call: &StepCall,
        step: &Step,
        command: &str,
    ) -> Result<Option<Script>, String> {
        let reply = self.reply(StubCall::Step(&call.path, StepType::Bash), call, None)?;
        let effect = effects::reason(&self.setup.knowledge, step, command);
        let path = || call.path.clone();
        match reply.as_ref().map(|found| (found, &found.reply.kind)) {
            Some((found, ReplyKind::Bash(said))) => Ok(Some(Script {
                path: path(),
                after: Duration::try_from_secs_f64(found.reply.after).unwrap_or_default(),
                stdout: said.stdout.clone().into_bytes(),
                stderr: said.stderr.clone().into_bytes(),
                files: found.reply.files.clone(),
                patch: found.reply.patch.clone(),
                exit: Some(said.exit),
                signal: said.signal.as_deref().and_then(signal_number),
                is_busy: false,
            })),
            Some((_, ReplyKind::Real)) => self.real(&call.path, "step", command, effect).map(|()| None),
            Some((found, _)) => {
                let (key, kind) = (words(&found.stub.key), "a bash step".to_owned());
                self.refuse(CaseError::Unfit { key, path: path(), kind })
            }
            None if self.setup.bash == BashMode::Forbid => {
                self.refuse(CaseError::BashForbidden { path: path(), what: "bash step".to_owned() })
            }
            None => match effect {
                Some(why) => {
                    let lines = lines(&call.path, "{stdout: \"\", exit: 0}");
                    self.refuse(CaseError::Effect { path: path(), why, lines })
                }
                None => {
                    self.note_real(call);
                    Ok(None)
                }
            },
        }
    }

    /// Whether a command around a step may start its process.
    pub(super) fn admit(&self, path: &str, what: &'static str, command: &str) -> Result<(), String> {
        if self.setup.bash == BashMode::Forbid {
            let (path, what) = (path.to_owned(), what.to_owned());
            return self.refuse(CaseError::BashForbidden { path, what });
        }
        self.real(path, what, command, effects::of_command(&self.setup.knowledge, command))
    }

    /// Whether a command may run for real.
    fn real(&self, path: &str, what: &str, command: &str, effect: Option<String>) -> Result<(), String> {
        let Some(why) = effect else { return Ok(()) };
        let Some(missing) = effects::unreplaced(&self.setup.knowledge, command, &self.setup.programs) else {
            return Ok(());
        };
        let (path, what) = (path.to_owned(), what.to_owned());
        self.refuse(CaseError::RealProgram { path, what, why, missing })
    }

    /// What stands in for an agent program. `prompt` is what it is asked.
    pub(crate) fn agent(
        &self,
        call: &StepCall,
        role: AgentRole,
        step: &Step,
        prompt: &str,
    ) -> Result<AgentPart, String> {
        let (asked, named) = match role {
            AgentRole::Step => (StubCall::Step(&call.path, StepType::Agent), call.path.clone()),
            AgentRole::Recovery => (StubCall::Recovery(&call.path), format!("recovery:{}", call.path)),
            AgentRole::Repair => (StubCall::Repair, "repair".to_owned()),
        };
        let called = StepCall { path: named.clone(), ..call.clone() };
        let Some(found) = self.reply(asked, &called, Some(prompt))? else {
            let what = match role {
                AgentRole::Step => "agent step",
                AgentRole::Recovery => "the recovery of",
                AgentRole::Repair => "the repair of",
            };
            let lines = lines(&named, suggestion(role, step));
            return self.refuse(CaseError::MissingStub {
                path: call.path.clone(),
                what: what.to_owned(),
                lines,
            });
        };
        if matches!(found.reply.kind, ReplyKind::Fault(Fault::Missing)) {
            return Ok(AgentPart::NotInstalled);
        }
        let is_agent =
            matches!(found.reply.kind, ReplyKind::Agent(_) | ReplyKind::Fault(_) | ReplyKind::Auto);
        if !is_agent {
            let (key, kind) = (words(&found.stub.key), "an agent step".to_owned());
            return self.refuse(CaseError::Unfit { key, path: call.path.clone(), kind });
        }
        match transcript::script(&call.path, found.reply, step) {
            Ok(script) => Ok(AgentPart::Script(script)),
            Err(why) => self.refuse(CaseError::Auto { path: call.path.clone(), why }),
        }
    }

    /// What stands in for a whole sub-recipe; `None` if it is entered.
    pub(crate) fn recipe(&self, call: &StepCall) -> Option<(RecipeReply, Script)> {
        let found = match self.reply(StubCall::Step(&call.path, StepType::Recipe), call, None) {
            // the mistake is noted; the recipe is not entered
            Err(why) => return Some((RecipeReply::Failed(why), Script::default())),
            Ok(found) => found?,
        };
        let ReplyKind::Recipe(said) = &found.reply.kind else {
            let (key, kind) = (words(&found.stub.key), "a recipe step".to_owned());
            let refused = self.refuse::<()>(CaseError::Unfit { key, path: call.path.clone(), kind });
            return Some((RecipeReply::Failed(refused.err().unwrap_or_default()), Script::default()));
        };
        let script = Script {
            path: call.path.clone(),
            after: Duration::try_from_secs_f64(found.reply.after).unwrap_or_default(),
            files: found.reply.files.clone(),
            patch: found.reply.patch.clone(),
            exit: Some(0),
            ..Script::default()
        };
        Some((said.clone(), script))
    }

    /// Whether a stub says that a program is not installed.
    pub(crate) fn may_lack_programs(&self) -> bool {
        let first = |stub: &Stub| stub.plan.replies().first().map(|reply| reply.kind.clone());
        self.setup.stubs.iter().any(|stub| first(stub) == Some(ReplyKind::Fault(Fault::Missing)))
    }

    /// Programs whose stub says that they are not installed, by the steps that use them.
    pub(crate) fn lacks_program(&self, path: &str) -> bool {
        let found = match select(&self.setup.stubs, StubCall::Step(path, StepType::Agent)) {
            Selected::One(at) => self.setup.stubs.get(at),
            _ => None,
        };
        let first = found.and_then(|stub| stub.plan.replies().first());
        first.is_some_and(|reply| matches!(reply.kind, ReplyKind::Fault(Fault::Missing)))
    }

    /// Notes a stub as used without a call.
    pub(crate) fn note_used(&self, path: &str) {
        if let Selected::One(stub) = select(&self.setup.stubs, StubCall::Step(path, StepType::Agent)) {
            let path = path.to_owned();
            self.note(StubCalled {
                path,
                attempt: 0,
                stub: Some(stub),
                entry: 0,
                before: 0,
                is_in_loop: true,
                prompt: None,
            });
        }
    }

    /// The answer to a call; `None` if no stub names it.
    fn reply(
        &self,
        asked: StubCall<'_>,
        call: &StepCall,
        prompt: Option<&str>,
    ) -> Result<Option<Reply<'_>>, String> {
        let number = match select(&self.setup.stubs, asked) {
            Selected::None => return Ok(None),
            Selected::One(number) => number,
            Selected::Tie(first, second) => {
                let key =
                    |at: usize| self.setup.stubs.get(at).map_or_else(String::new, |stub| words(&stub.key));
                let path = call.path.clone();
                return self.refuse(CaseError::Tie { path, first: key(first), second: key(second) });
            }
        };
        let Some(stub) = self.setup.stubs.get(number) else { return Ok(None) };
        let (entry, before) = self.used().place(number, stub, call);
        let Some(mut reply) = stub.plan.replies().get(entry) else {
            let (key, path) = (words(&stub.key), call.path.clone());
            return self.refuse(CaseError::UsedUp { key, path, entries: stub.plan.replies().len() });
        };
        for _ in 0..before {
            reply = reply.then.as_deref().unwrap_or(reply);
        }
        self.note(StubCalled {
            path: call.path.clone(),
            attempt: call.attempt,
            stub: Some(number),
            entry,
            before,
            is_in_loop: call.instance.is_some() && !used::names_instance(&stub.key),
            prompt: prompt.map(str::to_owned),
        });
        Ok(Some(Reply { stub, reply }))
    }

    fn note_real(&self, call: &StepCall) {
        let (path, attempt) = (call.path.clone(), call.attempt);
        self.note(StubCalled {
            path,
            attempt,
            stub: None,
            entry: 0,
            before: 0,
            is_in_loop: true,
            prompt: None,
        });
    }

    fn note(&self, call: StubCalled) {
        if let Some(log) = &self.setup.log {
            let line = serde_json::to_string(&call).unwrap_or_default() + "\n";
            if let Err(error) = files::append(log, line.as_bytes()) {
                self.complain(CaseError::Broken(format!("cannot keep the calls of the case: {error}")));
            }
        }
        self.used().note(&self.setup.stubs, call);
    }
}

/// Whom an agent works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentRole {
    /// A step.
    Step,
    /// A failed sub-recipe.
    Recovery,
    /// A recipe that is repaired.
    Repair,
}

impl AgentRole {
    /// Whom an agent works for that is asked for this purpose about this step.
    pub(crate) fn of(purpose: Option<&str>, step: &Step) -> AgentRole {
        match (purpose, &step.kind) {
            (Some(_), _) => AgentRole::Repair,
            (None, StepKind::Nested { .. }) => AgentRole::Recovery,
            (None, _) => AgentRole::Step,
        }
    }
}

/// What stands in for an agent program.
pub(crate) enum AgentPart {
    /// It does this.
    Script(Script),
    /// It is not installed.
    NotInstalled,
}

/// The number of a signal: `TERM`, `SIGTERM`.
fn signal_number(name: &str) -> Option<i32> {
    let name = name.trim().to_ascii_uppercase();
    let name = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    (1..=64).find(|number| crate::os::process::signal_name(*number) == name)
}
