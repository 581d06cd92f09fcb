//! `lint`: what is dubious about recipes that are valid.
//!
//! Never runs anything, and changes a recipe only with `--fix`.

use std::collections::BTreeSet;

use engine::{
    knowledge::Knowledge,
    lint::{Finding, Fix, LintLevels, LintSubject, apply},
};
use recipe::{check::Checked, plan::Plan, source::FileId};
use runtime::{machine::discovery::Library, os::files, requests::Inputs};
use serde::Serialize;

use crate::{
    args::{
        lint::{DeniedLevel, LintArgs},
        options::{OutputFormat, Strictness},
    },
    environment::Environment,
    exit::Exit,
    host::unusable,
    load_recipe,
    out::Out,
    report::{
        diagnostics::{self, Problem},
        failure::Failure,
        findings::{self, FindingJson},
        hints::plain,
    },
};

/// The result as JSON.
#[derive(Default, Serialize)]
struct LintResult {
    findings: Vec<FindingJson>,
    /// Fields that `--fix` added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixed: Vec<FixedField>,
    /// The problems of recipes that are not valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Problem>,
}

/// A field that was added to a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FixedField {
    file: String,
    line: usize,
    field: &'static str,
}

/// What the rules are applied with.
struct Rules {
    knowledge: Knowledge,
    levels: LintLevels,
}

/// Looks at recipes.
pub(crate) fn lint(args: &LintArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let library = load_recipe::library(&args.places, environment);
    let dir = args.places.working_dir.as_deref().map(|dir| environment.absolute(dir));
    let dir = dir.unwrap_or_else(|| environment.machine.cwd.clone());
    let machine = &environment.machine;
    let rules = machine
        .knowledge(&dir)
        .and_then(|knowledge| Ok(Rules { knowledge, levels: machine.lint_levels(&dir)? }));
    let rules = rules.map_err(|error| unusable(&error).announce(format, out))?;
    let asked = match args.files.is_empty() {
        true => library.project_files(),
        false => args.files.clone(),
    };
    if asked.is_empty() {
        let failure = Failure::new(Exit::NotFound, "no recipe in this directory or in `recipes`")
            .hint(format!("name one: `{}`", plain("lint FILE")));
        return Err(failure.announce(format, out));
    }
    load_recipe::note_namesake("lint", &library, out);
    let mut work =
        LintWork { args, environment, library, rules, result: LintResult::default(), exit: Exit::Success };
    for recipe in &asked {
        let exit = work.look_at(recipe, out);
        work.exit = worse(work.exit, exit);
    }
    Ok(work.finish(asked.len(), out))
}

struct LintWork<'a> {
    args: &'a LintArgs,
    environment: &'a Environment,
    library: Library,
    rules: Rules,
    result: LintResult,
    exit: Exit,
}

impl LintWork<'_> {
    fn is_json(&self) -> bool {
        self.args.format.output_format == OutputFormat::Json
    }

    /// Looks at one recipe, after its repairs if they are asked for.
    fn look_at(&mut self, asked: &str, out: &mut Out) -> Exit {
        let mut plan = match self.plan(asked, out) {
            Ok(plan) => plan,
            Err(exit) => return exit,
        };
        let mut found = self.findings(&plan);
        if self.args.fix && found.iter().any(|finding| finding.fix.is_some()) {
            let refused = self.repair(asked, &plan, &found, out).err();
            self.exit = refused.map_or(self.exit, |failure| worse(self.exit, failure.report(out)));
            plan = match self.plan(asked, out) {
                Ok(plan) => plan,
                Err(exit) => return exit,
            };
            found = self.findings(&plan);
        }
        let known: BTreeSet<String> = self.result.findings.iter().map(key).collect();
        let json = findings::as_json(&found, &plan.sources);
        let is_new: Vec<bool> = json.iter().map(|finding| !known.contains(&key(finding))).collect();
        let mut new = is_new.iter();
        found.retain(|_| new.next().copied().unwrap_or(true));
        let mut new = is_new.into_iter();
        self.result.findings.extend(json.into_iter().filter(|_| new.next().unwrap_or(true)));
        if !self.is_json() {
            let look = load_recipe::look(self.environment);
            let text = findings::as_text(&found, &plan.sources, look);
            if !text.is_empty() {
                out.result_as_is(&load_recipe::secrets_in(&plan.sources).text(&text));
            }
        }
        Exit::Success
    }

    /// The plan of a recipe; otherwise its problems are reported.
    fn plan(&mut self, asked: &str, out: &mut Out) -> Result<Plan, Exit> {
        let loaded = match load_recipe::find(&self.library, asked) {
            Ok(loaded) => loaded,
            Err(failure) => {
                let help = (!failure.hints.is_empty()).then(|| failure.hints.join("\n"));
                let problem = Problem::outside("unknown-recipe", failure.message.clone(), help);
                self.result.diagnostics.push(problem);
                return Err(failure.report(out));
            }
        };
        let (inputs, strictness) = (Inputs::default(), Strictness::default());
        let mut checked = load_recipe::examine(&self.library, loaded, &inputs, Vec::new(), &strictness);
        if let Some(plan) = checked.plan.take() {
            return Ok(plan);
        }
        self.invalid(&checked, out);
        Err(Exit::Invalid)
    }

    fn invalid(&mut self, checked: &Checked, out: &mut Out) {
        self.result.diagnostics.extend(diagnostics::problems(&checked.diagnostics, &checked.sources));
        match self.is_json() {
            true => out.notice(&diagnostics::summary(&checked.diagnostics, &checked.sources)),
            false => load_recipe::report(checked, self.environment, out),
        }
    }

    /// The findings in the recipe and its sub-recipes, without those that are part of the program.
    fn findings(&self, plan: &Plan) -> Vec<Finding> {
        let has_tests = |path: &str| {
            let file = self.library.absolute(path);
            let stem = file.file_stem()?.to_str()?.to_owned();
            (!is_built_in(path)).then(|| file.with_file_name(format!("{stem}.test.yaml")).is_file())
        };
        let subject = LintSubject {
            plan,
            knowledge: &self.rules.knowledge,
            levels: &self.rules.levels,
            has_tests: &has_tests,
        };
        let root = &plan.root().path;
        let is_ours = |finding: &Finding| {
            let path = &plan.sources.file(finding.place.file).path;
            path == root || !is_built_in(path)
        };
        let mut found = engine::lint::lint(&subject);
        found.retain(is_ours);
        found
    }

    /// Adds the fields of all repairs to the file of the recipe.
    fn repair(&mut self, asked: &str, plan: &Plan, found: &[Finding], out: &mut Out) -> Result<(), Failure> {
        let path = plan.root().path.clone();
        let Some((file, source)) = plan.sources.iter().find(|(_, file)| file.path == path) else {
            return Ok(());
        };
        let fixes: Vec<&Fix> = fixes_in(found, file);
        if fixes.is_empty() || is_built_in(&path) {
            return Ok(());
        }
        let refuse = |why: String| {
            Failure::new(Exit::Failed, format!("`{path}` is not changed: {why}"))
                .hint("add the fields by hand")
        };
        let fixed = match apply(&source.text, &fixes) {
            Ok(fixed) => fixed,
            Err(refusal) => return Err(refuse(refusal.to_string())),
        };
        let target = self.library.absolute(&path);
        let bytes = std::fs::read(&target).map_err(|error| refuse(error.to_string()))?;
        let mark: &[u8] = if bytes.starts_with(b"\xEF\xBB\xBF") { &bytes[..3] } else { b"" };
        if bytes[mark.len()..] != *source.text.as_bytes() {
            return Err(refuse("it was changed in the meantime".to_owned()));
        }
        let new = [mark, fixed.as_bytes()].concat();
        let target = target.canonicalize().unwrap_or(target);
        files::overwrite(&target, &new).map_err(|error| refuse(error.to_string()))?;
        let added = fixes.iter().map(|fix| FixedField {
            file: path.clone(),
            line: plan.sources.line_column(fix.step).line,
            field: fix.field,
        });
        let added: Vec<FixedField> = added.collect();
        if !self.is_json() {
            let words = added.iter().map(|fix| format!("line {}: `{}`", fix.line, fix.field));
            out.notice(&format!("{asked}: added {}", words.collect::<Vec<_>>().join(", ")));
        }
        self.result.fixed.extend(added);
        Ok(())
    }

    fn finish(mut self, recipes: usize, out: &mut Out) -> Exit {
        let denied = |level: &str| match self.args.deny {
            DeniedLevel::Error => level == "error",
            DeniedLevel::Warning => level != "note",
            DeniedLevel::Note => true,
        };
        let is_denied = self.result.findings.iter().any(|finding| denied(finding.level));
        let exit = worse(self.exit, if is_denied { Exit::Failed } else { Exit::Success });
        self.result.findings.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        if self.is_json() {
            out.json(&self.result);
            return exit;
        }
        let counted = findings::counts(&self.result.findings);
        let what = format!("{recipes} recipe{}", if recipes == 1 { "" } else { "s" });
        match counted.is_empty() {
            true if self.exit == Exit::Success => out.result(&format!("✓ no findings in {what}")),
            true => {}
            false => out.result(&format!("{counted} in {what}")),
        }
        exit
    }
}

/// The repairs in one file.
fn fixes_in(found: &[Finding], file: FileId) -> Vec<&Fix> {
    found.iter().filter_map(|finding| finding.fix.as_ref()).filter(|fix| fix.step.file == file).collect()
}

fn is_built_in(path: &str) -> bool {
    path.starts_with("built-in:")
}

/// What makes two findings the same, if two recipes use one file.
fn key(finding: &FindingJson) -> String {
    format!("{}:{}:{}:{}", finding.file, finding.line, finding.column, finding.code)
}

/// The worse of two exits: an invalid recipe, a missing one, a finding.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Success => 0,
        Exit::Failed => 1,
        Exit::NotFound => 2,
        Exit::Invalid => 3,
        _ => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}
