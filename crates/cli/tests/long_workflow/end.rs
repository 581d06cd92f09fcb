//! How a run ended: its result, and the effects that it had. Two ends can be compared.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use testkit::Output;

use crate::world::{AGENTS, World};

/// The end of a run. The directory of its world is called `WORK`, so that ends of different worlds can be equal.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The JSON result.
    pub(crate) result: Json,
    /// The result text of the recipe.
    pub(crate) output: String,
    /// Agent calls: each with its step, and with the number of the issue that the agent found in its environment.
    pub(crate) calls: Vec<(String, String)>,
    /// What the agent of each step was asked last.
    pub(crate) prompts: BTreeMap<String, String>,
    /// Lines that the hooks wrote.
    pub(crate) hooks: Vec<String>,
    /// Calls of `gh`.
    pub(crate) gh_calls: Vec<String>,
    pub(crate) pushes: Vec<String>,
    pub(crate) announcements: Vec<String>,
    /// The branch and the commit at the remote.
    pub(crate) branch: String,
    pub(crate) commit: String,
    /// The status of each step.
    statuses: BTreeMap<String, String>,
    /// The issue, the pull request, the files of the commit, uncommitted changes in the repository.
    effects: Vec<String>,
}

impl End {
    /// The end of a run that was successful.
    #[track_caller]
    pub(crate) fn of(world: &World, output: &Output) -> End {
        assert_eq!(output.code, 0, "{}", output.stderr);
        let result = output.stdout.replace(&world.env.dir().display().to_string(), "WORK");
        let result: Json = serde_json::from_str(&result).unwrap();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let statuses =
            all_steps(&result).into_iter().map(|step| (text(&step["path"]), text(&step["status"])));
        let asked =
            AGENTS.iter().map(|step| ((*step).to_owned(), world.env.read(&format!("~/asked/{step}"))));
        let branches =
            "git -C remote.git for-each-ref --format='%(refname:short) %(objectname)' refs/heads/feat";
        let branches = world.shell(branches);
        let (branch, commit) = branches.split_once(' ').unwrap();
        let files = world.shell(&format!("git -C remote.git ls-tree -r {commit}"));
        let changes = world.shell("git -C repo status --porcelain");
        End {
            output: text(&result["output"]),
            calls: world.calls(),
            prompts: asked.collect(),
            hooks: world.lines("~/hooks.log"),
            gh_calls: world.lines("~/gh/calls"),
            pushes: world.lines("~/pushes"),
            announcements: world.lines("~/announcements"),
            branch: branch.to_owned(),
            commit: commit.to_owned(),
            statuses: statuses.collect(),
            effects: vec![world.env.read("~/gh/42"), world.env.read("~/gh/7"), files, changes],
            result,
        }
    }

    /// Takes a step out of the comparison; returns its status.
    pub(crate) fn take(&mut self, step: &str) -> String {
        self.result["context"].as_object_mut().unwrap().remove(step);
        self.statuses.remove(step).unwrap()
    }

    /// Every agent was called once, and those twice that are named.
    #[track_caller]
    pub(crate) fn check_calls(&self, twice: &[&str]) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.calls.iter().for_each(|(step, _)| *counts.entry(step).or_default() += 1);
        let times = |step: &str| if twice.contains(&step) { 2 } else { 1 };
        assert_eq!(counts, AGENTS.iter().map(|step| (*step, times(step))).collect());
    }

    /// Another run came to the same end, with the same effects, each of them once.
    #[track_caller]
    pub(crate) fn compare(&self, other: &End) {
        assert_eq!(other.statuses, self.statuses);
        let (mine, others) = (&self.result["context"], &other.result["context"]);
        for name in mine.as_object().unwrap().keys().chain(others.as_object().unwrap().keys()) {
            assert_eq!(others[name], mine[name], "{name}");
        }
        assert_eq!(other.output, self.output);
        let created = |end: &End| -> Vec<String> {
            end.gh_calls.iter().filter(|call| call.ends_with("create")).cloned().collect()
        };
        assert_eq!(created(other), created(self));
        assert_eq!((&other.pushes, &other.announcements), (&self.pushes, &self.announcements));
        assert_eq!(other.effects, self.effects);
    }
}

/// All steps of a result, with those of sub-recipes, in their order.
pub(crate) fn all_steps(result: &Json) -> Vec<Json> {
    fn collect(steps: &Json, all: &mut Vec<Json>) {
        for step in steps.as_array().into_iter().flatten() {
            all.push(step.clone());
            collect(&step["steps"], all);
        }
    }
    let mut all = Vec::new();
    collect(&result["step_results"], &mut all);
    all
}

/// `output` and `error` are texts in every step of a result, whatever became of it.
#[track_caller]
pub(crate) fn check_texts(result: &Json) {
    let is_wrong = |step: &&Json| !step["output"].is_string() || !step["error"].is_string();
    let steps = all_steps(result);
    let wrong: Vec<&Json> = steps.iter().filter(is_wrong).map(|step| &step["path"]).collect();
    assert!(wrong.is_empty(), "`output` or `error` is not a text: {wrong:?}");
}

/// What a script printed of its environment.
#[track_caller]
pub(crate) fn check_names(printed: &Json, expected: &[(&str, &str)]) {
    assert_eq!(expected.len(), 30);
    let expected: Vec<String> = expected.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let printed = printed.as_str().unwrap_or_default();
    let lost: Vec<&String> = expected.iter().filter(|line| !printed.contains(line.as_str())).collect();
    assert!(lost.is_empty(), "the script did not see: {lost:#?}");
    assert_eq!(printed, expected.join("\n"));
}
