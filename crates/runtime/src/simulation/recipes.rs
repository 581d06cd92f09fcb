//! Recipes from a seed: every kind of step, and every field of a step.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use recipe::{
    agent_ref::AgentRef,
    check::{LoadError, Loaded, Loader},
};

use super::chance::Chance;

/// Recipes in memory, by name. The first to run is `main`.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf(pub(super) BTreeMap<String, String>);

impl Loader for Shelf {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        let text =
            self.0.get(name).ok_or_else(|| LoadError::NotFound { searched: vec!["the shelf".into()] })?;
        Ok(Loaded { path: format!("{name}.yaml"), bytes: Arc::from(text.as_bytes()) })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl Shelf {
    /// One recipe alone.
    pub(super) fn of(recipes: &[(&str, &str)]) -> Shelf {
        Shelf(recipes.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    pub(super) fn by_seed(seed: u64) -> Shelf {
        let mut pen = Pen {
            chance: Chance::of(seed, "recipe"),
            loops: Chance::of(seed, "loops"),
            text: String::new(),
            ids: Vec::new(),
            earlier: Vec::new(),
            is_graph: false,
        };
        let mut shelf = Shelf::default();
        for (name, below) in [("leaf", &[][..]), ("branch", &["leaf"][..]), ("main", &["leaf", "branch"][..])]
        {
            shelf.0.insert(name.to_owned(), pen.recipe(name, below));
        }
        shelf
    }
}

struct Pen {
    chance: Chance,
    /// Chances of loops, so that the other parts of a recipe stay as they are.
    loops: Chance,
    text: String,
    ids: Vec<String>,
    /// The steps before the group that is being written.
    earlier: Vec<String>,
    is_graph: bool,
}

impl Pen {
    fn recipe(&mut self, name: &str, below: &[&str]) -> String {
        self.text = format!("name: {name}\ncontext: {{x: '1', token: hidden-value}}\n");
        self.ids.clear();
        self.earlier.clear();
        self.is_graph = self.chance.percent(20);
        if self.is_graph {
            self.text.push_str("schedule: graph\n");
        }
        self.sometimes(12, "recursion: {max_total_steps: 4, max_depth: 2}\n");
        self.sometimes(8, "hooks: {pre_step: 'note {{step_id}}'}\n");
        self.sometimes(8, "default_step_timeout: 600\n");
        self.sometimes(10, "output: {template: 'result {{x}}'}\n");
        if self.chance.percent(20) {
            let budget =
                self.chance.pick(&["agent_runs: 2", "agent_runs: 1", "usd: 0.4", "minutes: 5", "tokens: 20"]);
            let _ = writeln!(self.text, "budget: {{{budget}}}");
        }
        if !self.text.contains("hooks") && self.chance.percent(10) {
            self.text
                .push_str("hooks: {post_step: 'after {{step_status}}', on_error: 'sorry {{step_error}}'}\n");
        }
        self.text.push_str("steps:\n");
        let is_short = below.is_empty() && !self.is_graph;
        let steps = if is_short { 1 + self.chance.below(2) } else { 1 + self.chance.below(4) };
        let mut group = 0;
        for at in 0..steps {
            if self.chance.percent(40) {
                group += 1;
                self.earlier.clone_from(&self.ids);
            }
            self.step((name, at), below, group);
        }
        std::mem::take(&mut self.text)
    }

    fn sometimes(&mut self, percent: u64, line: &str) {
        if self.chance.percent(percent) {
            self.text.push_str(line);
        }
    }

    /// Sometimes a loop.
    fn repetition(&mut self) {
        match self.loops.below(100) {
            0..10 => {
                let list = self.loops.pick(&["[a, b, c]", "[a, '{{x}}']", "[]", "'{{x}}'"]);
                let _ = writeln!(self.text, "  for_each: {list}");
                let more = self.loops.pick(&["", "  max_parallel: 2\n", "  keep_going: true\n"]);
                self.text.push_str(more);
            }
            10..18 => {
                let fields =
                    self.loops.pick(&["", ", delay: 20", ", until: 'iteration == 2'", ", until: 'not x'"]);
                let _ = writeln!(self.text, "  repeat: {{max: 3{fields}}}");
            }
            _ => {}
        }
    }

    fn step(&mut self, (recipe, at): (&str, u64), below: &[&str], group: u64) {
        // names flow back from sub-recipes: no recipe writes those of another one
        let id = format!("{recipe}{at}");
        let _ = writeln!(self.text, "- id: {id}");
        let value = match self.earlier.last() {
            Some(id) if self.chance.percent(40) => format!("{{{{{id}}}}}"),
            _ => "{{x}}".to_owned(),
        };
        let kind = self.chance.below(100);
        match kind {
            0..25 if !below.is_empty() => {
                let _ = writeln!(self.text, "  recipe: {}", self.chance.pick(below));
                self.sometimes(20, "  recovery_on_failure: true\n");
                self.sometimes(20, "  context: {x: '2'}\n");
            }
            25..50 => {
                let _ = writeln!(self.text, "  prompt: 'think about {value}'");
                self.sometimes(20, "  idle_timeout: 40\n");
                if self.chance.percent(25) {
                    self.text.push_str("  parse_json: true\n");
                    self.sometimes(25, "  parse_json_required: true\n");
                }
            }
            50..60 => {
                let _ = writeln!(self.text, "  ask: 'is {value} fine?'\n  show: ['{value}']");
            }
            _ => {
                let what = self.chance.pick(&["work", "work", "work", "print-json", "print-much"]);
                let _ = writeln!(self.text, "  command: '{what} {value}'");
                if what == "print-json" && self.chance.percent(60) {
                    self.text.push_str("  parse_json: true\n");
                    self.sometimes(40, "  parse_json_required: true\n");
                }
                self.sometimes(10, "  exit_codes: {3: needs_human}\n");
            }
        }
        if group.is_multiple_of(2) && !self.is_graph {
            let _ = writeln!(self.text, "  parallel_group: g{group}");
        } else {
            self.earlier.clone_from(&self.ids);
        }
        let known = self.text.len();
        if at > 0 {
            let when = self.chance.pick(&["failed", "always"]);
            self.sometimes(18, &format!("  when: {when}\n"));
        }
        let cleans_up = self.text.len() > known;
        self.sometimes(15, "  timeout: 4\n");
        self.sometimes(15, "  continue_on_error: true\n");
        self.sometimes(10, "  idempotent: false\n");
        self.sometimes(6, "  effects: [push]\n");
        let retry = self.chance.pick(&["2", "3", "{max_attempts: 3, delay: 100, backoff: exponential}"]);
        self.sometimes(20, &format!("  retry: {retry}\n"));
        let before = self.earlier.first().cloned().unwrap_or_default();
        let condition = self.chance.pick(&["x == '1'", "x == '2'", "not x", before.as_str()]);
        if !condition.is_empty() {
            self.sometimes(15, &format!("  condition: \"{condition}\"\n"));
        }
        self.repetition();
        if let Some(needed) = self.earlier.last().cloned() {
            self.sometimes(12, &format!("  depends_on: [{needed}]\n"));
        }
        // in a graph, no step needs one that comes after all others
        if !(self.is_graph && cleans_up) {
            self.ids.push(id);
        }
    }
}
