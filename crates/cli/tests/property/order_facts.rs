//! The laws of cleanup and of answers, read from the journal: a cleanup step runs at most once for each end of its
//! recipe and only after a failure, a step that stays failed does not run, and no answer is lost.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// What happened to cleanup steps and questions so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderFacts {
    /// Recipes that have failed and clean up.
    cleaning: BTreeSet<String>,
    /// Cleanup steps that have ended, until a resume gives them up.
    cleaned: BTreeSet<String>,
    /// Steps that stay failed.
    stay_failed: BTreeSet<String>,
    /// Questions with an answer, until a resume gives up a result.
    answered: BTreeSet<String>,
    /// The set of sources in force.
    sources: u64,
    /// Laws that were broken.
    pub(crate) problems: Vec<String>,
}

impl OrderFacts {
    pub(crate) fn event(&mut self, event: &Json) {
        let path = |name: &str| event[name]["path"].as_str().map(str::to_owned);
        if let Some(path) = path("cleanup_began") {
            self.cleaning.insert(path);
        } else if let Some(path) = path("step_started") {
            self.start(&path);
        } else if let Some(path) = path("step_finished") {
            self.cleaning.remove(&path);
            if self.cleaning.contains(recipe_of(&path)) {
                self.cleaned.insert(path);
            }
        } else if let Some(path) = path("question_put") {
            if self.answered.contains(&path) {
                self.problems.push(format!("the answer to `{path}` is lost: the question is put again"));
            }
        } else if let Some(path) = path("answered") {
            if !self.answered.insert(path.clone()) {
                self.problems.push(format!("`{path}` is answered twice"));
            }
        } else if event["run_finished"]["status"] == "failed" {
            self.cleaning.clear();
        } else if event["run_resumed"].is_object() {
            self.resume(&event["run_resumed"]);
        }
    }

    fn start(&mut self, path: &str) {
        let is_cleaning = self.cleaning.contains(recipe_of(path));
        let id = path.rsplit('/').next().unwrap_or(path);
        if self.cleaned.contains(path) {
            self.problems.push(format!("`{path}` cleans up twice"));
        }
        if self.stay_failed.contains(path) {
            self.problems.push(format!("`{path}` starts, but its recipe only cleans up"));
        }
        if is_cleaning != id.starts_with('f') && !(is_cleaning && id.starts_with('w')) {
            self.problems.push(format!("`{path}` starts at the wrong time"));
        }
    }

    fn resume(&mut self, resumed: &Json) {
        let failed = names(&resumed["failed"]);
        let given_up = names(&resumed["rerun"]);
        let again: Vec<String> = given_up.iter().cloned().chain(names(&resumed["cleanup"])).collect();
        self.cleaned.retain(|path| !again.iter().any(|top| is_at_or_below(path, top)));
        self.cleaning = failed.iter().map(|path| recipe_of(path).to_owned()).collect();
        self.stay_failed = failed.into_iter().collect();
        // an edit may put another question
        let sources = resumed["sources"].as_u64().unwrap_or_default();
        if !given_up.is_empty() || sources != std::mem::replace(&mut self.sources, sources) {
            self.answered.clear();
        }
    }

    /// Cleanup steps that the next resume may run again: those of a recipe that has come to its end. An edit may
    /// give up the others too.
    pub(crate) fn may_clean_again(&self, is_edited: bool) -> impl Iterator<Item = String> {
        let is_over = move |path: &&String| is_edited || !self.cleaning.contains(recipe_of(path));
        let ids = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        self.cleaned.iter().filter(is_over).map(ids)
    }
}

fn recipe_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(recipe, _)| recipe)
}

/// The texts of a list.
pub(crate) fn names(list: &Json) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Whether a path is that of a step, or inside it.
pub(crate) fn is_at_or_below(path: &str, step: &str) -> bool {
    path == step || path.strip_prefix(step).is_some_and(|rest| rest.starts_with('/'))
}

#[test]
fn broken_laws_are_noticed() {
    let event = |word: &str| -> Json {
        let (name, path) = word.split_once(':').unwrap_or((word, ""));
        match name {
            "start" => serde_json::json!({"step_started": {"path": path}}),
            "end" => serde_json::json!({"step_finished": {"path": path, "status": "completed"}}),
            "clean" => serde_json::json!({"cleanup_began": {"path": path}}),
            "put" => serde_json::json!({"question_put": {"path": path}}),
            "answer" => serde_json::json!({"answered": {"path": path}}),
            "over" => serde_json::json!({"run_finished": {"status": "failed"}}),
            "resume" => serde_json::json!({"run_resumed": {"sources": 0, "rerun": [], "failed": [path]}}),
            "again" => serde_json::json!({"run_resumed": {"sources": 0, "rerun": [], "cleanup": [path]}}),
            "redo" => serde_json::json!({"run_resumed": {"sources": 0, "rerun": [path]}}),
            _ => panic!("{word}"),
        }
    };
    for (story, expected) in [
        ("start:a end:a clean start:f1 end:f1 over again:f1 start:a end:a clean start:f1", ""),
        ("clean start:f1 end:f1 resume:a clean start:f2", ""),
        ("clean start:f1 end:f1 resume:a clean start:f1", "`f1` cleans up twice"),
        ("clean start:f1 resume:a start:a", "`a` starts, but its recipe only cleans up"),
        ("start:n/f1", "`n/f1` starts at the wrong time"),
        ("clean start:b", "`b` starts at the wrong time"),
        ("clean:n start:n/w1 end:n/w1 end:n start:b", ""),
        ("put:q answer:q resume:a put:q", "the answer to `q` is lost"),
        ("put:q answer:q redo:a put:q answer:q", ""),
        ("put:q answer:q answer:q", "`q` is answered twice"),
    ] {
        let mut facts = OrderFacts::default();
        story.split(' ').for_each(|word| facts.event(&event(word)));
        let found = facts.problems.first().map_or("", String::as_str);
        let is_right = if expected.is_empty() { found.is_empty() } else { found.contains(expected) };
        assert!(is_right, "{story}: {found}");
    }
}
