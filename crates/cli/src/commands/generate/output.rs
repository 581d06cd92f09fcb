//! What `generate` prints: the result, or the questions that are open.

use author::{
    brief::{AnsweredBy, Pattern},
    intake::{Question, Reading},
    record::{ProofRecord, SKILL_BOUNDARY},
};
use runtime::os::shell_word::quote;
use serde_json::{Value as Json, json};

use super::files::GeneratedFiles;
use crate::{
    args::{generate::GenerateArgs, options::OutputFormat},
    out::Out,
    report::hints::plain,
};

/// Says that nothing ran.
const NOTHING_RAN: &str = "Generating is the default: nothing was executed.";

/// The result of a generation.
pub(super) struct Report<'a> {
    pub(super) args: &'a GenerateArgs,
    pub(super) reading: &'a Reading,
    pub(super) record: &'a Json,
    pub(super) files: &'a GeneratedFiles,
    pub(super) proof: &'a ProofRecord,
    /// Agent programs that are not installed here.
    pub(super) missing: Vec<String>,
}

impl Report<'_> {
    /// Prints it.
    pub(super) fn print(&self, out: &mut Out) {
        match (self.args.format.output_format, self.runs()) {
            // the result of the run is the one JSON value
            (OutputFormat::Json, true) => out.notice(&self.text()),
            (OutputFormat::Json, false) => out.json(&self.json()),
            (OutputFormat::Text, _) => out.result(&self.text()),
        }
    }

    /// Whether the recipe runs after this report.
    fn runs(&self) -> bool {
        self.args.run && self.proof.ready
    }

    fn status(&self) -> &'static str {
        if self.proof.ready { "ready" } else { "draft" }
    }

    fn run_command(&self) -> String {
        let recipe = quote(&self.typed(&self.files.recipe()));
        plain(&format!("{recipe}{}", self.place()))
    }

    fn test_command(&self) -> Option<String> {
        let tests = self.files.tests()?;
        Some(plain(&format!("test {}", quote(&self.typed(&tests)))))
    }

    /// A shown path as it is typed in the current directory.
    fn typed(&self, shown: &str) -> String {
        let typed = match &self.args.working_dir {
            Some(dir) => dir.join(shown).to_string_lossy().into_owned(),
            None => shown.to_owned(),
        };
        // a path without a folder looks like a name
        if typed.contains('/') { typed } else { format!("./{typed}") }
    }

    fn place(&self) -> String {
        self.args
            .working_dir
            .as_ref()
            .map(|dir| format!(" -C {}", quote(&dir.to_string_lossy())))
            .unwrap_or_default()
    }

    fn json(&self) -> Json {
        let mut json = json!({
            "status": self.status(),
            "stage": "generate",
            "message": NOTHING_RAN,
            "path": self.files.recipe(),
            "record_path": self.files.record(),
            "files": self.files.all(),
            "needs": self.needs(),
            "run_command": self.run_command(),
            "test_command": self.test_command(),
        });
        let shared = [
            "id",
            "name",
            "spec",
            "pattern",
            "depth",
            "targets",
            "dropped",
            "criteria",
            "tools",
            "skills",
            "clarifications",
            "assumptions",
            "warnings",
            "proof",
            "author",
            "refined",
        ];
        for key in shared {
            if let Some(value) = self.record.get(key) {
                json[key] = value.clone();
            }
        }
        json
    }

    fn needs(&self) -> Json {
        let brief = &self.reading.brief;
        let tools = &brief.tools;
        let planner = (brief.pattern.name == Pattern::Supervisor).then_some(&tools.planner);
        let mut programs: Vec<Json> = Vec::new();
        for choice in [&tools.writer].into_iter().chain(planner).chain(&tools.reviewers) {
            let entry =
                json!({ "program": choice.program, "installed": !self.missing.contains(&choice.program) });
            if !programs.contains(&entry) {
                programs.push(entry);
            }
        }
        let variables: Vec<&str> = brief.environment.iter().map(|variable| variable.name.as_str()).collect();
        json!({ "programs": programs, "variables": variables })
    }

    fn text(&self) -> String {
        let brief = &self.reading.brief;
        let verb = if self.proof.ready { "Generated" } else { "Not ready: wrote a draft," };
        let next = if self.runs() { "It runs now." } else { NOTHING_RAN };
        let mut lines = vec![format!("{verb} {}. {next}", self.files.recipe()), String::new()];
        let mut row = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
        row("id", self.record["id"].as_str().unwrap_or_default().to_owned());
        row("spec", format!("{} (sha256 {})", brief.spec.path, brief.spec.sha256));
        row("pattern", format!("{}: {}", pattern(brief.pattern.name), brief.pattern.reason));
        if !brief.targets.paths.is_empty() {
            let paths: Vec<&str> = brief.targets.paths.iter().map(|target| target.path.as_str()).collect();
            row("targets", paths.join(", "));
        }
        row("criteria", self.criteria());
        row("agents", self.agents());
        row("skills", self.skills());
        row("proof", self.proved());
        row("needs", self.needed());
        row("files", self.files.all().join(", "));
        lines.extend(self.notes());
        lines.push(String::new());
        if self.proof.ready {
            lines.push(format!("Run it:   {}", self.run_command()));
        }
        lines.extend(
            self.test_command().filter(|_| self.proof.ready).map(|command| format!("Test it:  {command}")),
        );
        if !self.proof.ready {
            lines.push(format!("See why:  the failed checks are in {}", self.files.record()));
        }
        lines.join("\n")
    }

    fn criteria(&self) -> String {
        let all = &self.reading.brief.criteria;
        let by_person = all.iter().filter(|one| one.check == author::brief::Check::Person).count();
        match by_person {
            0 => format!("{} by command", all.len()),
            count if count == all.len() => format!("{count} by a person"),
            count => format!("{} by command, {count} by a person", all.len() - count),
        }
    }

    fn agents(&self) -> String {
        let tools = &self.reading.brief.tools;
        let reviewers: Vec<&str> = tools.reviewers.iter().map(|choice| choice.program.as_str()).collect();
        format!("{} writes; reviewed by {}", tools.writer.program, reviewers.join(", then "))
    }

    fn skills(&self) -> String {
        let names: Vec<String> = self
            .reading
            .brief
            .skills
            .iter()
            .map(|skill| format!("{} ({:.2})", skill.name, skill.confidence))
            .collect();
        match (names.is_empty(), self.reading.skill_files) {
            (true, 0) => "none found".to_owned(),
            (true, found) => format!("none of {found} fits"),
            (false, _) => format!("{}; see {}", names.join(", "), self.files.record()),
        }
    }

    fn proved(&self) -> String {
        let check = |passed: bool| {
            let names = self.proof.checks.iter().filter(move |check| check.passed == passed);
            names.map(|check| format!("{} ({})", check.name, check.detail)).collect::<Vec<_>>().join(", ")
        };
        match self.proof.ready {
            true => format!("ready: {}", check(true)),
            false => format!("failed: {}", check(false)),
        }
    }

    fn needed(&self) -> String {
        let brief = &self.reading.brief;
        let missing = self.missing.iter().map(|program| format!("{program} (not installed here)"));
        let variables = brief.environment.iter().map(|variable| format!("${}", variable.name));
        let all: Vec<String> = missing.chain(variables).collect();
        if all.is_empty() { "nothing that is missing here".to_owned() } else { all.join(", ") }
    }

    /// Answers of the generator, assumptions and warnings.
    fn notes(&self) -> Vec<String> {
        let brief = &self.reading.brief;
        let mut lines = Vec::new();
        for one in &brief.clarifications {
            let by = match one.answered_by {
                AnsweredBy::Spec => "spec",
                AnsweredBy::User => "user",
                AnsweredBy::Generator => "generator",
            };
            lines.push(format!("question: {}\n  answer: {} (answered_by: {by})", one.question, one.answer));
        }
        if !brief.skills.is_empty() {
            lines.push(format!("note: {SKILL_BOUNDARY}"));
        }
        lines.extend(brief.notes.assumptions.iter().map(|text| format!("assumption: {text}")));
        let line = |line: Option<usize>| line.map(|line| format!(" (line {line})")).unwrap_or_default();
        lines.extend(
            brief
                .notes
                .warnings
                .iter()
                .map(|one| format!("warning: {}: {}{}", one.code, one.message, line(one.line))),
        );
        if !lines.is_empty() {
            lines.insert(0, String::new());
        }
        lines
    }
}

fn pattern(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Pipeline => "pipeline",
        Pattern::Graph => "graph",
        Pattern::Supervisor => "supervisor",
    }
}

/// Prints the questions that are open.
pub(super) fn questions(questions: &[Question], args: &GenerateArgs, out: &mut Out) {
    let spec = args.spec.as_deref().unwrap_or("SPEC.md");
    let spec = quote(spec);
    let given: String = args.answers.iter().map(|answer| format!(" --answer {}", quote(answer))).collect();
    let open: String = questions.iter().map(|one| format!(" --answer '{}=TEXT'", one.number)).collect();
    let answer = plain(&format!("generate {spec}{given}{open}"));
    let judge = plain(&format!("generate {spec}{given} --best-judgement"));
    if args.format.output_format == OutputFormat::Json {
        out.json(&json!({
            "status": "needs_clarification",
            "stage": "generate",
            "questions": questions,
            "answer_command": answer,
            "best_judgement_command": judge,
        }));
        return;
    }
    let plural = if questions.len() == 1 { "question" } else { "questions" };
    let mut lines = vec![
        format!(
            "status: needs_clarification ({} {plural}). No file was written and nothing was executed.",
            questions.len()
        ),
        String::new(),
    ];
    for one in questions {
        let line = one.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        lines.push(format!("  {}. {}{line}", one.number, one.text));
    }
    lines.push(String::new());
    lines.push(format!("Answer in a section `Answers` of the spec, or:  {answer}"));
    lines.push(format!("Let the generator decide; it records that:    {judge}"));
    out.result(&lines.join("\n"));
}
