//! `--refine` and `--author agent`: an agent may improve what was generated, within bounds, and the proof decides.
//!
//! Whatever an agent does or leaves undone, there is a generated recipe to fall back to, and a warning says why.

use std::{path::Path, thread};

use author::{
    Written,
    brief::{Brief, Warning},
    record::ProofRecord,
    refine::{self, Refined, RefinedField},
    rewrite,
};
use engine::{
    knowledge::Knowledge,
    repair_review::{self, ReviewVerdict},
};
use recipe::plan::Plan;

use super::{
    agent_call,
    files::{Destination, GeneratedFiles},
    proof, refused,
};
use crate::{
    args::generate::{AuthorArg, GenerateArgs},
    environment::Environment,
    exit::Exit,
    report::failure::Failure,
};

/// The longest time in which an agent writes a recipe, in seconds.
const LONGEST_WRITING: u32 = 900;

/// The files that are kept, their proof, and how they came about.
pub(super) struct Authored {
    pub(super) written: Written,
    pub(super) files: GeneratedFiles,
    pub(super) proof: ProofRecord,
    /// `generator` or `agent`.
    pub(super) author: &'static str,
    /// What an agent refined.
    pub(super) refined: Vec<RefinedField>,
    /// Why the work of an agent is not used.
    pub(super) warning: Option<Warning>,
}

/// What all ways of writing need.
pub(super) struct Writing<'a> {
    pub(super) args: &'a GenerateArgs,
    pub(super) brief: &'a Brief,
    pub(super) destination: &'a Destination,
    pub(super) environment: &'a Environment,
}

impl Writing<'_> {
    /// Writes and proves the recipe, with the help of an agent if one is asked for.
    pub(super) fn write(&self) -> Result<Authored, Failure> {
        let written = author::write(self.brief);
        self.files(&written).check(self.args)?;
        match (self.args.author, self.args.refine) {
            (Some(AuthorArg::Agent), _) => self.by_agent(written),
            (_, true) => self.refined(written),
            _ => self.generated(written),
        }
    }

    fn files(&self, written: &Written) -> GeneratedFiles {
        self.destination.files(self.brief, written)
    }

    fn prove(&self, written: &Written) -> Result<ProofRecord, Failure> {
        proof::prove(&self.files(written), self.environment)
    }

    /// The generated recipe.
    fn generated(&self, written: Written) -> Result<Authored, Failure> {
        let proof = self.prove(&written)?;
        Ok(self.kept(written, proof, None))
    }

    fn kept(&self, written: Written, proof: ProofRecord, warning: Option<Warning>) -> Authored {
        let files = self.files(&written);
        Authored { written, files, proof, author: "generator", refined: Vec::new(), warning }
    }

    fn program(&self) -> Result<String, String> {
        agent_call::program(self.args.agent_binary.as_deref(), &self.environment.machine)
    }

    /// The generated recipe with better words, if an agent has some and they pass every check.
    fn refined(&self, written: Written) -> Result<Authored, Failure> {
        // the agent works while the recipe is proved without it
        let (proof, answer) = thread::scope(|scope| {
            let proof = scope.spawn(|| self.prove(&written));
            let answer = self.better_words(&written);
            (proof.join(), answer)
        });
        let proof = proof.unwrap_or_else(|_| Err(refused("the proof ended unexpectedly")))?;
        if !proof.ready {
            return Ok(self.kept(written, proof, None));
        }
        let accepted = match answer.and_then(|refined| self.accepted(&written, &refined).map(|()| refined)) {
            Ok(refined) => self.prove(&refined.written)?.checked().map(|proof| (refined, proof)),
            Err(reason) => Err(reason),
        };
        Ok(match accepted {
            Ok((refined, proof)) => {
                let kept = self.kept(refined.written, proof, None);
                Authored { refined: refined.diff, ..kept }
            }
            Err(reason) => {
                let message = format!("the recipe is as it is without --refine: {reason}");
                self.kept(written, proof, Some(Warning { code: "not-refined", message, line: None }))
            }
        })
    }

    /// Asks an agent once.
    fn better_words(&self, written: &Written) -> Result<Refined, String> {
        let program = self.program()?;
        let machine = &self.environment.machine;
        if !agent_call::is_installed(&program, machine) {
            return Err(format!("agent program `{program}` is not installed"));
        }
        let prompt = refine::request(written);
        let limit = |tokens: u64| match tokens > refine::MOST_TOKENS {
            true => Err(format!("{tokens} tokens are more than {}", refine::MOST_TOKENS)),
            false => Ok(()),
        };
        limit(agent_call::estimated_tokens(&[&prompt]))?;
        let answer = agent_call::ask(&program, &prompt, refine::LONGEST_SECONDS, machine)?;
        limit(answer.tokens)?;
        refine::refine(self.brief, &answer.text).map_err(|refusal| refusal.to_string())
    }

    /// Whether every change is one that an automatic repair may make.
    fn accepted(&self, before: &Written, refined: &Refined) -> Result<(), String> {
        let (old, new) = (self.plan(before)?, self.plan(&refined.written)?);
        let changes = repair_review::review(&Knowledge::default(), &old, &new, "");
        match changes.iter().find(|change| change.verdict != ReviewVerdict::Accepted) {
            None => Ok(()),
            Some(change) => {
                let step = change.step.as_deref().unwrap_or("the recipe");
                Err(format!("a change of `{step}` is not accepted"))
            }
        }
    }

    /// What written files mean.
    fn plan(&self, written: &Written) -> Result<Plan, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        self.plan_in(scratch.path(), written)
    }

    fn plan_in(&self, folder: &Path, written: &Written) -> Result<Plan, String> {
        let files = self.files(written);
        files.copy_to(folder).map_err(|failure| failure.message)?;
        let library = self.environment.machine.library(&[folder.to_owned()], folder);
        proof::plan(&folder.join(files.recipe_name()), &library).map_err(|problems| problems.join("; "))
    }

    /// A recipe that an agent wrote, if it is proved like a generated one.
    fn by_agent(&self, written: Written) -> Result<Authored, Failure> {
        let machine = &self.environment.machine;
        let program = self.program().map_err(refused)?;
        if !agent_call::is_installed(&program, machine) {
            let message = format!("agent program `{program}` is not installed; no other program was asked");
            return Err(Failure::new(Exit::Blocked, message)
                .fact("stage", "generate")
                .hint("stage: generate. No file was written and nothing was executed.")
                .hint("install it, name another one with `--agent-binary`, or leave out `--author agent`"));
        }
        let mut problems: Vec<String> = Vec::new();
        for _ in 0..2 {
            let prompt = rewrite::request(self.brief, &written, &problems);
            match self.proposal(&program, &prompt, &written)? {
                Ok((proposed, proof)) => {
                    let kept = self.kept(proposed, proof, None);
                    return Ok(Authored { author: "agent", ..kept });
                }
                Err(found) => problems = found,
            }
        }
        let message = format!("the recipe is the generated one: {}", problems.join("; "));
        let proof = self.prove(&written)?;
        Ok(self.kept(written, proof, Some(Warning { code: "not-by-agent", message, line: None })))
    }

    /// One recipe of an agent with its proof, or what is wrong with it.
    fn proposal(
        &self,
        program: &str,
        prompt: &str,
        written: &Written,
    ) -> Result<Result<(Written, ProofRecord), Vec<String>>, Failure> {
        let answer = agent_call::ask(program, prompt, LONGEST_WRITING, &self.environment.machine);
        let recipe = answer.and_then(|answer| rewrite::recipe_in(&answer.text));
        let proposed = match recipe {
            Ok(recipe) => rewrite::replaced(written, &recipe),
            Err(problem) => return Ok(Err(vec![problem])),
        };
        let plans = self.plan(written).and_then(|old| Ok((old, self.plan(&proposed)?)));
        let found = match plans {
            Ok((old, new)) => rewrite::shortcomings(&Knowledge::default(), &old, &new),
            Err(problem) => vec![problem],
        };
        if !found.is_empty() {
            return Ok(Err(found));
        }
        let checked = self.prove(&proposed)?.checked();
        Ok(checked.map(|proof| (proposed, proof)).map_err(|problem| vec![problem]))
    }
}

/// A proof, or why it failed.
trait Checked {
    fn checked(self) -> Result<ProofRecord, String>;
}

impl Checked for ProofRecord {
    fn checked(self) -> Result<ProofRecord, String> {
        match self.checks.iter().find(|check| !check.passed) {
            Some(check) => Err(format!("{}: {}", check.name, check.detail)),
            None => Ok(self),
        }
    }
}
