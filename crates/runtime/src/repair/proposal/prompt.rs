//! The prompt of the repair agent. Never starts the agent.

use super::{RepairReport, Repairer, Report, RunResult};

impl Repairer<'_> {
    /// The prompt: the recipe, the failure, and the earlier attempts.
    pub(super) fn prompt(
        &self,
        report: &Report,
        result: &RunResult,
        refused: Option<&RepairReport>,
        before: &[u8],
    ) -> String {
        let failure = result.failure.as_ref();
        let around = match self.subject.is_root() {
            true => String::new(),
            false => format!("It is run as a sub-recipe of: {}\n", self.recipe_file.display()),
        };
        let tried: Vec<String> = report.attempts.iter().map(crate::report::auto_fix::describe).collect();
        let refusal = refused.map(|refused| {
            let list: Vec<String> = refused
                .regressions
                .iter()
                .map(|found| {
                    format!(
                        "- {}{}: {}",
                        found.code,
                        found.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default(),
                        found.detail
                    )
                })
                .collect();
            format!("\nYour last proposal was refused:\n{}\n", list.join("\n"))
        });
        format!(
            "A workflow recipe failed, and its definition seems to be the reason. Correct the recipe.\n\n\
             Recipe file: {}\n{}{}Failed step: {}\nError: {}\nClassification: {}\nEvidence:\n{}\n\nTried so far:\n{}\n{}\n\
             Rules: keep every step that does real work; do not weaken checks, timeouts, limits or conditions; do not \
             let a failing command pass; change no other file; do not commit or push anything.\n\
             Answer with the whole corrected recipe as YAML in a ```yaml block, or edit the file in place.\n\n\
             The recipe:\n```yaml\n{}\n```\n{}",
            self.subject.file.display(),
            around,
            self.origin(),
            failure.map_or("", |failure| &failure.step),
            failure.map_or("", |failure| &failure.error),
            result.diagnosis.as_ref().map_or("unknown", |diagnosis| diagnosis.class.as_str()),
            evidence(result),
            tried.join("\n"),
            refusal.unwrap_or_default(),
            String::from_utf8_lossy(before),
            self.parents(),
        )
    }

    /// The file that defines the failed step, in a recipe that extends others.
    fn origin(&self) -> String {
        let Some(nearest) = self.subject.parents.first() else { return String::new() };
        let origin = match &self.subject.defined_in {
            Some(file) if *file != self.subject.path => format!(
                "The failed step is defined in {file}, which stays as it is: write a step with the same id into the \
                 recipe file, and it takes the place of that one.\n"
            ),
            Some(_) => "The failed step is defined in the recipe file itself.\n".to_owned(),
            None => String::new(),
        };
        format!(
            "It extends {}, which is shown below; keep its `extends`, its name and its own steps.\n{origin}",
            nearest.path
        )
    }

    /// The texts of the recipes that it extends.
    fn parents(&self) -> String {
        let parents = self.subject.parents.iter();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        parents
            .map(|parent| {
                format!("\nTo read only, {}:\n```yaml\n{}\n```\n", parent.path, text(&parent.bytes))
            })
            .collect()
    }
}

/// The signals of the diagnosis, and the place of everything else.
pub(in crate::repair) fn evidence(result: &RunResult) -> String {
    let signals = result.diagnosis.iter().flat_map(|found| &found.signals);
    let lines = signals.map(|signal| format!("- {}: {} ({})", signal.what, signal.quote, signal.at));
    let folder = result.run_dir.iter().map(|dir| format!("- everything that the run kept: {dir}"));
    lines.chain(folder).collect::<Vec<_>>().join("\n")
}
