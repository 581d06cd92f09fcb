//! The world of the workflow: a repository with a remote, agents and `gh` that follow a script, and what they recorded.

use std::{fs, path::Path};

use serde_json::{Value as Json, json};
use testkit::{Output, Started, TestEnv, until};

/// The task, with everything that a shell would like to expand.
pub(crate) const TASK: &str = r#"Add a "dark" theme; it's $HOME at 100%"#;
pub(crate) const DEPLOY_TOKEN: &str = "tok-93af51c2e0";

/// The agent steps of the workflow, without those that are skipped. Their answers are in `world/answers`.
pub(crate) const AGENTS: [&str; 40] = [
    "clarify",
    "classify",
    "estimate",
    "look-code",
    "look-tests",
    "look-history",
    "look-docs",
    "look-api",
    "look-risks",
    "synthesize",
    "trace",
    "hypothesis-a",
    "hypothesis-b",
    "experiment",
    "judge",
    "option-simple",
    "option-fast",
    "option-safe",
    "choose",
    "design-review",
    "write-tests",
    "implement",
    "document",
    "simplify",
    "review-correctness",
    "review-style",
    "review-tests",
    "look-for-secrets",
    "look-for-inputs",
    "weigh-findings",
    "write-note",
    "decide",
    "fix",
    "commit-message",
    "describe",
    "pr-review-design",
    "pr-review-quality",
    "pr-review-risk",
    "address",
    "retrospective",
];

/// Agents that answer with many members, and with how many.
const LARGE: [(&str, usize); 4] =
    [("clarify", 320), ("look-code", 340), ("choose", 310), ("weigh-findings", 305)];

const SETUP: &str = r#"
set -eu
mkdir ~/gh ~/asked ~/answers
cp -R "$FIXTURES"/. .
printf '[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n' >~/.gitconfig
git init -q --bare remote.git
cd repo
git init -q
git add -A
git commit -qm "A theme"
git remote add origin "$PWD/../remote.git"
git push -q origin main
mv ../bin/post-receive ../remote.git/hooks/
"#;

pub(crate) struct World {
    pub(crate) env: TestEnv,
}

impl World {
    pub(crate) fn new() -> World {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/long_workflow/world");
        let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let path = format!("{}/bin:{}", env.dir().display(), std::env::var("PATH").unwrap_or_default());
        let env = env
            .env("PATH", &path)
            .env("FIXTURES", &fixtures.display().to_string())
            // the same commits in every world
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        let world = World { env };
        world.shell(SETUP);
        AGENTS.iter().for_each(|step| world.answer(step, &world.prepared_answer(step)));
        world
    }

    /// What an agent answers unless a test changes it.
    pub(crate) fn prepared_answer(&self, step: &str) -> String {
        let answer = self.env.read(&format!("answers/{step}"));
        let Some((_, members)) = LARGE.iter().find(|(large, _)| *large == step) else { return answer };
        let mut answer: serde_json::Map<String, Json> = serde_json::from_str(&answer).unwrap();
        for n in answer.len()..*members {
            answer.insert(format!("detail_{n:03}"), format!("detail {n} that `{step}` found").into());
        }
        Json::from(answer).to_string()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.env.write(path, text);
    }

    pub(crate) fn lines(&self, path: &str) -> Vec<String> {
        self.env.read(path).lines().map(str::to_owned).collect()
    }

    pub(crate) fn shell(&self, line: &str) -> String {
        let output = self.env.shell(line);
        assert_eq!(output.code, 0, "{line}\n{}", output.all());
        output.stdout.trim_end().to_owned()
    }

    /// Lets an agent answer this.
    pub(crate) fn answer(&self, step: &str, answer: &str) {
        let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": answer, "session_id": step});
        self.write(&format!("~/answers/{step}"), &format!("{result}\n"));
    }

    /// Replaces a text in a step of a recipe; returns the recipe as it was.
    pub(crate) fn edit(&self, file: &str, step: &str, from: &str, to: &str) -> String {
        let text = self.env.read(file);
        let (before, after) = text.split_once(step).unwrap();
        assert!(after.contains(from), "{file}: {step} has no `{from}`");
        self.write(file, &format!("{before}{step}{}", after.replacen(from, to, 1)));
        text
    }

    fn arguments() -> Vec<String> {
        let values = [format!("task_description={TASK}"), format!("deploy_token={DEPLOY_TOKEN}")];
        let fixed = ["recipes/develop.yaml", "-C", "repo", "--output-format", "json"].map(str::to_owned);
        fixed.into_iter().chain(values.into_iter().flat_map(|value| ["--set".to_owned(), value])).collect()
    }

    /// Runs the workflow.
    pub(crate) fn run(&self) -> Output {
        self.env.run(World::arguments())
    }

    /// Starts the workflow and does not wait for it.
    pub(crate) fn start(&self) -> Started {
        self.env.spawn(World::arguments())
    }

    pub(crate) fn start_resume(&self) -> Started {
        self.env.spawn(["resume", "last"])
    }

    pub(crate) fn resume(&self, more: &[&str]) -> Output {
        self.env.run(["resume", "last", "--output-format", "json"].iter().chain(more))
    }

    /// Steps that a resume would run again, with those in sub-recipes.
    pub(crate) fn reruns(&self, more: &[&str]) -> Vec<String> {
        let output = self.resume(&[&["--plan"], more].concat());
        assert_eq!(output.code, 0, "{}", output.all());
        let plan = output.json();
        let again = plan["steps"].as_array().into_iter().flatten().filter(|step| step["action"] == "rerun");
        again.filter_map(|step| step["path"].as_str()).map(str::to_owned).collect()
    }

    pub(crate) fn show(&self) -> Json {
        self.env.run(["show", "last", "--output-format", "json"]).json()
    }

    /// Lets the work wait at a point, once.
    pub(crate) fn stop_at(&self, point: &str) {
        drop(fs::remove_file(self.env.path("~/stopped")));
        self.write("~/stop-at", point);
    }

    /// Waits until the work has come to that point, and until other steps are finished.
    pub(crate) fn wait_for_stop(&self, point: &str, finished: &[&str]) {
        assert_eq!(self.env.wait_for("~/stopped").trim_end(), point);
        until("the others are finished", || {
            let steps = crate::end::all_steps(&self.show());
            let is_finished = |id: &&str| {
                steps.iter().any(|step| step["step_id"] == **id && !step["finished_at"].is_null())
            };
            finished.iter().all(is_finished)
        });
    }

    /// Agent calls: each with its step, and with the number of the issue that the agent found in its environment.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        let lines = self.lines("~/agent-calls");
        let calls = lines.iter().filter_map(|line| line.strip_prefix("begin ")?.split_once(' '));
        let id = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        calls.map(|(path, issue)| (id(path), issue.to_owned())).collect()
    }

    /// The agents among these steps.
    pub(crate) fn agents_of(&self, paths: &[String]) -> Vec<&'static str> {
        let is_there = |step: &&&str| paths.iter().any(|path| path.rsplit('/').next() == Some(**step));
        AGENTS.iter().filter(is_there).copied().collect()
    }
}
