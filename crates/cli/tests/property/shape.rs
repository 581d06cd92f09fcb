//! Random small recipes: their parts and their text.
//!
//! Every step appends to a ledger outside of the runner; its value names it and what it read. Never runs anything.

use std::fmt::Write as _;

use crate::{order_shape::When, random::Random};

/// A recipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) name: String,
    /// A variable with its default.
    pub(crate) context: Option<(String, String)>,
    pub(crate) hook: bool,
    /// `schedule: graph`. The steps are kept in an order in which they can run, and written in another one.
    pub(crate) is_graph: bool,
    pub(crate) result: Option<String>,
    pub(crate) steps: Vec<Step>,
}

/// A step; ids are unique over all recipes of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// A number in its value, so that an edit can change it.
    pub(crate) word: usize,
    /// Names that its value is made of.
    pub(crate) reads: Vec<Read>,
    pub(crate) group: Option<String>,
    pub(crate) when: Option<When>,
    pub(crate) condition: Option<Condition>,
    pub(crate) depends_on: Option<String>,
    pub(crate) retry: Option<usize>,
    pub(crate) care: Care,
    pub(crate) form: Form,
    /// It fails whenever it runs.
    pub(crate) broken: bool,
    /// It fails whenever it runs, after its work, and the recipe goes on.
    pub(crate) tolerated: bool,
    /// An `ensure` rule checks its work.
    pub(crate) is_proven: bool,
}

/// What a step runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Bash,
    Agent,
    /// A question; its id begins with `q`.
    Ask,
    Nested(Box<Recipe>),
}

/// What may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    Plain,
    NotIdempotent,
    Effect,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Small,
    /// Too large for the journal: it has a file of its own.
    Big,
    Json,
}

/// One use of a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) path: String,
    pub(crate) through: Through,
}

/// How a command uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    Template,
    Environment,
}

/// `'TEXT' in NAME`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Read {
    /// The name that a step has to write.
    pub(crate) fn name(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    fn text(&self) -> String {
        match self.through {
            Through::Template => format!("{{{{{}}}}}", self.path),
            Through::Environment => format!("$RECIPE_VAR_{}", self.path),
        }
    }
}

impl Recipe {
    /// A random recipe with everything that it names.
    pub(crate) fn random(random: &mut Random) -> Recipe {
        Maker { random, steps: 0, is_full: false }.recipe("r", &[], 0)
    }

    /// Its file and those of the recipes in it: name and text.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![(format!("{}.yaml", self.name), self.text())];
        for step in &self.steps {
            if let Kind::Nested(child) = &step.kind {
                files.extend(child.files());
            }
        }
        files
    }

    fn text(&self) -> String {
        let mut text = format!("name: {}\n", self.name);
        if let Some((name, value)) = &self.context {
            let _ = writeln!(text, "context: {{{name}: {value}}}");
        }
        if self.hook {
            text.push_str("hooks: {post_step: ':'}\n");
        }
        if let Some(result) = &self.result {
            let _ = writeln!(text, "output: {{format: text, template: 'result {{{{{result}}}}}'}}");
        }
        if self.is_graph {
            text.push_str("schedule: graph\n");
        }
        text.push_str("steps:\n");
        let (mut steps, last): (Vec<&Step>, Vec<&Step>) =
            self.steps.iter().partition(|step| step.when.is_none() || !self.is_graph);
        if self.is_graph {
            steps.reverse();
        }
        steps.into_iter().chain(last).for_each(|step| text.push_str(&step.text()));
        text
    }
}

impl Step {
    /// A step with nothing special about it.
    pub(crate) fn plain(id: String, kind: Kind, word: usize) -> Step {
        Step {
            id,
            kind,
            word,
            reads: Vec::new(),
            group: None,
            when: None,
            condition: None,
            depends_on: None,
            retry: None,
            care: Care::Plain,
            form: Form::Small,
            broken: false,
            tolerated: false,
            is_proven: false,
        }
    }

    /// The recipe that it runs.
    pub(crate) fn recipe(&self) -> Option<&Recipe> {
        match &self.kind {
            Kind::Nested(child) => Some(child),
            Kind::Bash | Kind::Agent | Kind::Ask => None,
        }
    }

    /// Its part of the recipe's text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("  - id: {}\n", self.id);
        let mut field = |line: String| {
            let _ = writeln!(text, "    {line}");
        };
        let reads: String = self.reads.iter().map(|read| format!(" {}", read.text())).collect();
        let (id, word) = (&self.id, self.word);
        match &self.kind {
            Kind::Bash => {
                let stop = if self.broken { "exit 3; " } else { "" };
                let end = if self.tolerated { "; exit 4" } else { "" };
                let say = match self.form {
                    Form::Small => format!("echo \"{id}-{word}{reads}\""),
                    Form::Big => format!("printf '%020000d' {word}"),
                    Form::Json => format!("echo '{{\"v\": \"{id}-{word}\"}}'"),
                };
                field(format!("command: |\n      . ./lib; begin {id}; {stop}finish {id}; {say}{end}"));
            }
            Kind::Agent => {
                field(format!("prompt: '{id}: {id}-{word}{reads}'"));
                field("agent_binary: scripted".to_owned());
                field("auto_stage: false".to_owned());
            }
            Kind::Ask => field(format!("ask: 'is {word}{reads} fine?'")),
            Kind::Nested(child) => {
                field(format!("recipe: {}", child.name));
                field(format!("context: {{given_{id}: '{word}{reads}'}}"));
            }
        }
        if let Some(group) = &self.group {
            field(format!("parallel_group: {group}"));
        }
        if let Some(when) = self.when {
            field(format!("when: {}", if when == When::Failed { "failed" } else { "always" }));
        }
        if let Some(Condition { name, text }) = &self.condition {
            field(format!("condition: \"'{text}' in {name}\""));
        }
        if let Some(needed) = &self.depends_on {
            field(format!("depends_on: [{needed}]"));
        }
        if let Some(attempts) = self.retry {
            field(format!("retry: {{max_attempts: {attempts}, delay: 0.01}}"));
        }
        match self.care {
            Care::Plain => {}
            Care::NotIdempotent => field("idempotent: false".to_owned()),
            Care::Effect => field("effects: [push]".to_owned()),
        }
        if self.form == Form::Json {
            field("parse_json: true".to_owned());
        }
        self.rule().into_iter().for_each(&mut field);
        if self.tolerated {
            field("continue_on_error: true".to_owned());
        }
        text
    }
}

/// What later steps may use.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Paths for templates.
    pub(crate) paths: Vec<String>,
    /// Values that are certainly there, each with a text that is in it: conditions may ask for them.
    sure: Vec<(String, String)>,
    /// Steps of the same recipe.
    ids: Vec<String>,
}

pub(crate) struct Maker<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) steps: usize,
    /// Whether there are questions and steps that clean up.
    pub(crate) is_full: bool,
}

impl Maker<'_> {
    pub(crate) fn recipe(&mut self, name: &str, outside: &[String], depth: usize) -> Recipe {
        let mut known = Known { paths: outside.to_vec(), ..Known::default() };
        let context = self.random.chance(40).then(|| (format!("c_{name}"), "default".to_owned()));
        known.paths.extend(context.iter().map(|(name, _)| name.clone()));
        let count = if depth == 0 { self.random.between(2, 5) } else { self.random.between(1, 2) };
        let is_graph = self.random.chance(20);
        let mut steps: Vec<Step> = Vec::new();
        while steps.len() < count {
            let together = if self.random.chance(20) { self.random.between(2, 3) } else { 1 };
            let group = (together > 1 && !is_graph).then(|| format!("g{}", self.steps));
            // members of a group see what was there before it
            let before = known.clone();
            for _ in 0..together {
                let mut step = self.step(&before, &mut known, depth);
                step.group.clone_from(&group);
                steps.push(step);
            }
        }
        // the value of a recipe is that of its last step: it must not be one that a person may leave out
        let most = if is_graph { steps.len() } else { 3 };
        let last =
            steps.iter_mut().rev().take(most).filter(|step| depth > 0 && step.care == Care::NotIdempotent);
        last.for_each(|step| step.care = Care::Effect);
        let is_plain = steps[0].form == Form::Small && steps[0].kind != Kind::Ask;
        let can_show = is_plain && steps[0].care != Care::NotIdempotent;
        let result = (self.random.chance(20) && can_show).then(|| steps[0].id.clone());
        if depth > 0 && result.is_none() {
            // an answer says when it came, and must not be the value of a recipe
            let asks = steps.iter_mut().filter(|step| step.kind == Kind::Ask);
            asks.for_each(|step| step.kind = Kind::Bash);
        }
        if self.is_full && self.random.chance(40) {
            self.clean_up(&known, &mut steps);
        }
        Recipe { name: name.to_owned(), context, hook: self.random.chance(8), is_graph, result, steps }
    }

    fn step(&mut self, before: &Known, known: &mut Known, depth: usize) -> Step {
        self.steps += 1;
        let asks = self.is_full && self.random.chance(10);
        let id = format!("{}{}", if asks { 'q' } else { 's' }, self.steps);
        let kind = match self.random.below(100) {
            _ if asks => Kind::Ask,
            0..18 if depth < 2 => {
                let given = before.paths.iter().cloned().chain([format!("given_{id}")]).collect::<Vec<_>>();
                Kind::Nested(Box::new(self.recipe(&format!("child_{id}"), &given, depth + 1)))
            }
            // in nested recipes more of them, where they are easily forgotten
            18..30 => Kind::Agent,
            30..42 if depth > 0 => Kind::Agent,
            _ => Kind::Bash,
        };
        let word = self.random.between(10, 99);
        let retry = self.random.chance(20).then(|| self.random.between(2, 3));
        let mut step = Step { retry, ..Step::plain(id, kind, word) };
        self.connect(&mut step, before);
        self.flavour(&mut step);
        // no chance of its own, so that all other parts stay as they are
        step.is_proven = self.is_full && word.is_multiple_of(3);
        self.publish(&step, known);
        step
    }

    /// What it reads and waits for.
    fn connect(&mut self, step: &mut Step, before: &Known) {
        for _ in 0..self.random.below(3) {
            if before.paths.is_empty() {
                break;
            }
            let path = self.random.pick(&before.paths).clone();
            let plain = matches!(step.kind, Kind::Bash) && !path.contains('.');
            let through = match plain && self.random.chance(25) {
                true => Through::Environment,
                false => Through::Template,
            };
            step.reads.push(Read { path, through });
        }
        if self.random.chance(15) && !before.sure.is_empty() {
            let (name, text) = self.random.pick(&before.sure).clone();
            let text = if self.random.chance(70) { text } else { "something else".to_owned() };
            step.condition = Some(Condition { name, text });
        }
        if self.random.chance(8) && !before.ids.is_empty() {
            step.depends_on = Some(self.random.pick(&before.ids).clone());
        }
    }

    /// What is special about it.
    fn flavour(&mut self, step: &mut Step) {
        match (&step.kind, self.random.below(100)) {
            (Kind::Nested(_) | Kind::Ask, _) => step.retry = None,
            (_, 0..12) => (step.care, step.retry) = (Care::NotIdempotent, None),
            (_, 12..22) => step.care = Care::Effect,
            (Kind::Bash, 22..28) => (step.form, step.reads) = (Form::Big, Vec::new()),
            (Kind::Bash, 28..34) => (step.form, step.reads) = (Form::Json, Vec::new()),
            (Kind::Bash, 34..42) => (step.tolerated, step.retry) = (true, None),
            _ => {}
        }
    }

    /// Makes its names known to later steps.
    fn publish(&mut self, step: &Step, known: &mut Known) {
        // a person may skip a step that is not idempotent, so no step needs it
        if step.care == Care::NotIdempotent {
            return;
        }
        known.ids.push(step.id.clone());
        match (&step.kind, step.form) {
            (Kind::Nested(child), _) => {
                known.paths.push(step.id.clone());
                for inner in child.steps.iter().filter(|inner| inner.form == Form::Small) {
                    if inner.care != Care::NotIdempotent && inner.kind != Kind::Ask && inner.when.is_none() {
                        known.paths.push(inner.id.clone());
                        known.paths.push(format!("{}.{}", step.id, inner.id));
                    }
                }
            }
            (Kind::Ask, _) => known.paths.push(format!("{}.choice", step.id)),
            (_, Form::Small) => known.paths.push(step.id.clone()),
            (_, Form::Big) => known.paths.push(format!("{}.length", step.id)),
            (_, Form::Json) => known.paths.push(format!("{}.v", step.id)),
        }
        let is_sure = step.condition.is_none() && step.depends_on.is_none() && step.form == Form::Small;
        if is_sure && !matches!(step.kind, Kind::Nested(_) | Kind::Ask) {
            known.sure.push((step.id.clone(), format!("{}-{}", step.id, step.word)));
        }
    }
}
