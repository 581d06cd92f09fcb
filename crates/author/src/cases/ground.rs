//! What all cases of a test file share: the files, the programs and the answers with which everything goes well.

use super::{
    case::{Case, bash, edit, optional, verdict},
    yaml::Yaml,
};
use crate::{
    brief::{Brief, EffectKind},
    writing::{
        Outline,
        gates::{FakeReply, Scene, Trial, succeeding},
        loops, shell,
        step::{Edit, Role, StepDraft},
    },
};

/// A step with its path in the run.
pub(super) struct Placed<'a> {
    pub path: String,
    /// The path of its recipe with `/`; empty for the main recipe.
    pub prefix: String,
    pub step: &'a StepDraft,
}

impl Placed<'_> {
    /// The path of a step of the same recipe.
    pub(super) fn beside(&self, id: &str) -> String {
        format!("{}{id}", self.prefix)
    }
}

/// The repository of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repository {
    /// Only if a step that every case runs needs one.
    IfNeeded,
    /// With all files in one commit.
    Committed,
}

/// Steps around the work, which most cases replace.
pub(super) fn is_frame(role: &Role) -> bool {
    matches!(role, Role::ReadSpec | Role::Preflight | Role::Baseline | Role::Scope | Role::Diff | Role::Pass)
}

/// What all cases share.
pub(super) struct Ground<'a> {
    pub brief: &'a Brief,
    pub steps: Vec<Placed<'a>>,
    /// The programs that every case has.
    pub programs: Vec<(String, Vec<FakeReply>)>,
    files: Vec<(String, String)>,
    executables: Vec<String>,
}

/// The content of a target before the work.
const BEFORE: &str = "before\n";

impl<'a> Ground<'a> {
    pub(super) fn of(brief: &'a Brief, outline: &'a Outline) -> Ground<'a> {
        let mut steps = Vec::new();
        for recipe in &outline.recipes {
            let prefix = match recipe.name == brief.name {
                true => String::new(),
                false => format!("track-{}/", &recipe.name[brief.name.len() + 1..]),
            };
            steps.extend(recipe.steps.iter().map(|step| Placed {
                path: format!("{prefix}{}", step.id),
                prefix: prefix.clone(),
                step,
            }));
        }
        let mut ground =
            Ground { brief, steps, programs: Vec::new(), files: Vec::new(), executables: Vec::new() };
        ground.furnish();
        ground
    }

    /// Adds the files and programs that every case needs.
    fn furnish(&mut self) {
        let mut scenes: Vec<Scene> = Vec::new();
        for command in loops::checks(self.brief) {
            scenes.extend(succeeding(self.brief, &command));
        }
        for placed in &self.steps {
            if let Role::Gate(Trial::Scenes { right, .. }) = &placed.step.role {
                scenes.push(Scene { programs: Vec::new(), executables: Vec::new(), ..right.clone() });
            }
        }
        for scene in scenes {
            for (path, text) in scene.files {
                if let Some(text) = text {
                    self.file(path, text);
                }
            }
            self.executables.extend(scene.executables);
            for program in scene.programs {
                self.program(program.name, program.reply);
            }
        }
        if self.brief.delivery.effects.iter().any(|effect| effect.kind == EffectKind::Pr) {
            self.program("gh".to_owned(), FakeReply::default());
        }
        let is_http = |step: &Placed<'_>| step.step.text().contains("curl ");
        if self.steps.iter().any(is_http) {
            self.program("curl".to_owned(), FakeReply { exit: 7, ..FakeReply::default() });
        }
        for edit in self.steps.iter().filter_map(|placed| edit_of(placed.step)).collect::<Vec<_>>() {
            for path in edit.writes {
                self.files.retain(|(known, _)| *known != path);
                self.files.push((path, BEFORE.to_owned()));
            }
        }
        if !is_outside(&self.brief.spec.path) {
            self.file(self.brief.spec.path.clone(), self.brief.spec.text.clone());
        }
    }

    /// Whether every case has a file.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.iter().any(|(known, _)| known == path)
    }

    fn file(&mut self, path: String, text: String) {
        match self.files.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) if !known.contains(&text) => known.push_str(&text),
            Some(_) => {}
            None => self.files.push((path, text)),
        }
    }

    fn program(&mut self, name: String, reply: FakeReply) {
        match self.programs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, replies)) if replies.contains(&reply) => {}
            Some((_, replies)) => replies.push(reply),
            None => self.programs.push((name, vec![reply])),
        }
    }

    /// The `defaults` of the test file.
    pub(super) fn defaults(&self) -> Yaml {
        let mut entries: Vec<(&str, Yaml)> = Vec::new();
        if !self.brief.environment.is_empty() {
            let value = |name: &String| (name.clone(), Yaml::text(format!("value of {name}")));
            entries.push(("env", Yaml::map(self.brief.environment.iter().map(|one| value(&one.name)))));
        }
        let files = self.files.iter().map(|(path, text)| (path.clone(), Yaml::text(text.clone())));
        entries.push(("files", Yaml::map(files)));
        if let Some(setup) = self.setup(&[], Repository::IfNeeded) {
            entries.push(("setup", Yaml::text(setup)));
        }
        if !self.programs.is_empty() {
            let programs = self.programs.iter().map(|(name, replies)| (name.clone(), replies_yaml(replies)));
            entries.push(("programs", Yaml::map(programs)));
        }
        entries.push(("stubs", Yaml::map(self.stubs())));
        let answers = self.questions().map(|path| (path, Yaml::map([("choice", Yaml::text("approve"))])));
        let answers: Vec<(String, Yaml)> = answers.collect();
        if !answers.is_empty() {
            entries.push(("answers", Yaml::map(answers)));
        }
        Yaml::map(entries)
    }

    /// Prepares the scratch folder: files that can be executed, and the repository.
    pub(super) fn setup(&self, more: &[String], repository: Repository) -> Option<String> {
        let mut executables: Vec<&String> = self.executables.iter().chain(more).collect();
        executables.sort();
        executables.dedup();
        let mut lines = String::new();
        if !executables.is_empty() {
            let paths: Vec<String> = executables.iter().map(|path| shell::quote(path)).collect();
            lines.push_str(&format!("chmod +x {}\n", paths.join(" ")));
        }
        let has_remote = self.brief.delivery.effects.iter().any(|effect| effect.kind == EffectKind::Pr);
        let is_committed = repository == Repository::Committed && self.brief.project.git;
        if has_remote || is_committed {
            lines.push_str("git init --quiet\n");
        }
        if is_committed {
            lines.push_str("git add -A\ngit commit --quiet --message base\n");
        }
        if has_remote {
            lines.push_str("git remote add origin https://github.com/owner/project.git\n");
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// The case in which the tracks that it is about are entered; the others are replaced as a whole.
    pub(super) fn entering(&self, mut case: Case) -> Case {
        for placed in self.with(|role| matches!(role, Role::Track(_))) {
            let inside = format!("{}/", placed.path);
            if case.clone().yaml().mentions(&inside) {
                case.stubs.insert(0, (placed.path.clone(), Yaml::raw("null")));
            }
        }
        case
    }

    /// Whether every case replaces a step, unless it says otherwise.
    pub(super) fn stubbed(&self, path: &str) -> bool {
        self.stubs().iter().any(|(known, _)| known == path)
    }

    /// A case in which the steps around the work run for real.
    pub(super) fn real(&self, mut case: Case) -> Case {
        let is_stubbed = |placed: &&Placed<'_>| self.stubbed(&placed.path);
        for placed in self.with(is_frame).filter(is_stubbed) {
            if case.stubs.iter().all(|(path, _)| *path != placed.path) {
                case.stubs.insert(0, (placed.path.clone(), Yaml::raw("null")));
            }
        }
        if case.setup.is_none() {
            case.setup = self.setup(&[], Repository::Committed);
        }
        case
    }

    /// An answer for every step that cannot or need not run for real, with which everything goes well.
    fn stubs(&self) -> Vec<(String, Yaml)> {
        let mut stubs = Vec::new();
        for Placed { path, step, .. } in &self.steps {
            let stub = match &step.role {
                Role::ReadSpec => bash("the spec\n", 0),
                Role::Preflight => bash("0123456789012345678901234567890123456789\n", 0),
                Role::Baseline => bash("passed\n", 0),
                Role::Scope => bash("the changed files\n", 0),
                Role::Diff => bash("the whole diff\n", 0),
                // it looks at the repository
                Role::Pass if step.text().contains("git status") => bash("passed\n", 0),
                Role::Plan => Yaml::map([(
                    "json",
                    Yaml::map([("steps", Yaml::texts(["do it"])), ("risks", Yaml::List(Vec::new()))]),
                )]),
                Role::Edit(edit_step) if edit_step.items.is_some() => {
                    stubs.extend(self.item_stubs(path, edit_step));
                    continue;
                }
                Role::Edit(edit_step) => edit(&written(edit_step, path)),
                Role::Review { .. } => verdict("NO_ISSUES_FOUND"),
                Role::Track(_) => Yaml::map([("value", Yaml::text("proved and reviewed"))]),
                Role::Gate(Trial::Person) => continue,
                Role::Gate(_) | Role::Build => bash(&step.sample, 0),
                Role::Ship if step.sample.is_empty() => bash("shipped\n", 0),
                Role::Ship => bash(&step.sample, 0),
                _ => continue,
            };
            stubs.push((path.clone(), optional(stub)));
        }
        stubs
    }

    fn item_stubs(&self, path: &str, step: &Edit) -> Vec<(String, Yaml)> {
        let one = |at: usize| {
            let write = step.writes.get(at).or(step.writes.first()).cloned().unwrap_or_default();
            (format!("{path}[{at}]"), optional(edit(&[(write, format!("after item {at}\n"))])))
        };
        (0..step.items.unwrap_or_default()).map(one).collect()
    }

    /// The questions for a person.
    pub(super) fn questions(&self) -> impl Iterator<Item = String> + '_ {
        let asked =
            |placed: &&Placed<'_>| matches!(placed.step.role, Role::Gate(Trial::Person) | Role::Approve);
        self.steps.iter().filter(asked).map(|placed| placed.path.clone())
    }

    /// The steps with a role.
    pub(super) fn with<'g>(
        &'g self,
        wanted: impl Fn(&Role) -> bool + 'g,
    ) -> impl Iterator<Item = &'g Placed<'a>> {
        self.steps.iter().filter(move |placed| wanted(&placed.step.role))
    }

    /// The steps that must not start when something before them has gone wrong.
    pub(super) fn ends(&self) -> Vec<String> {
        let is_end = |role: &Role| matches!(role, Role::SignOff | Role::Approve | Role::Ship);
        self.with(is_end)
            .filter(|placed| placed.prefix.is_empty())
            .map(|placed| placed.path.clone())
            .collect()
    }
}

/// The files of an edit, with a content of its own.
pub(super) fn written(edit: &Edit, step: &str) -> Vec<(String, String)> {
    edit.writes.iter().map(|path| (path.clone(), format!("after {step}\n"))).collect()
}

pub(super) fn edit_of(step: &StepDraft) -> Option<Edit> {
    match &step.role {
        Role::Edit(edit) => Some(edit.clone()),
        _ => None,
    }
}

/// Whether a path is not inside the project.
fn is_outside(path: &str) -> bool {
    path.starts_with('/') || path.starts_with("..")
}

/// The replies of a program.
pub(super) fn replies_yaml(replies: &[FakeReply]) -> Yaml {
    let one = |reply: &FakeReply| {
        let mut entries: Vec<(&str, Yaml)> = Vec::new();
        entries.extend(reply.args.as_ref().map(|args| ("args", Yaml::texts(args))));
        if !reply.stdout.is_empty() {
            entries.push(("stdout", Yaml::text(reply.stdout.clone())));
        }
        if !reply.stderr.is_empty() {
            entries.push(("stderr", Yaml::text(reply.stderr.clone())));
        }
        if reply.exit != 0 || entries.is_empty() {
            entries.push(("exit", Yaml::raw(reply.exit)));
        }
        Yaml::map(entries)
    };
    Yaml::List(replies.iter().map(one).collect())
}
