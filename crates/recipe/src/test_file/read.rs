//! From the text of a test file to its cases, or to all its problems.
//!
//! Never looks at the recipe: `check` compares the two.

mod expect;
mod stubs;

use super::{
    AllowedBranch, BashMode, CaseAnswer, CaseOptions, CaseReply, CaseTags, CoverageRule, Fixture, KillMoment,
    KillPoint, Program, ProgramReply, StepPattern, TestCase, TestFile, merge,
    syntax::{
        AnswerSyntax, BashWord, CaseSyntax, CoverageSyntax, FileTextSyntax, MomentWord, ProgramReplySyntax,
        TestFileSyntax,
    },
};
use crate::{
    diagnostic::{Code, Diagnostic, Severity},
    plan::Budget,
    source::{FileId, Place, Sources},
    syntax::{
        BudgetSyntax, Texts,
        kinds::Named,
        shape::{Decode as _, Optional, Spanned},
    },
    value::{Map, Value},
    yaml,
};

/// What was read.
#[derive(Debug)]
pub struct TestReading {
    /// The test file, if it can be checked further; with an error among the problems it cannot be run.
    pub file: Option<TestFile>,
    /// All problems, in order of their places.
    pub diagnostics: Vec<Diagnostic>,
}

/// The words about a file that is no map.
const WORDS: yaml::RootWords = yaml::RootWords {
    noun: "a test file",
    begin: "start the file with `cases:` and put a `- name: …` entry for each case below it",
    least: "write at least `cases:` with one `- name: …` entry",
};

/// Reads a test file.
pub fn read(sources: &Sources, file: FileId) -> TestReading {
    let mut reader = Reader { diagnostics: Vec::new() };
    let root = yaml::parse_as(WORDS, sources, file, &mut reader.diagnostics).map(merge::with_defaults);
    let syntax = root.and_then(|root| TestFileSyntax::decode(&root, "test file", &mut reader.diagnostics));
    let file = syntax.map(|syntax| reader.file(&syntax));
    TestReading { file, diagnostics: settled(reader.diagnostics) }
}

/// The problems in order, each once. A field without effect would make a test prove less than it says, so it is an error.
pub(super) fn settled(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let strict = |problem: Diagnostic| match problem.code {
        Code::UnknownField => problem.severity(Severity::Error).label("not a known field"),
        _ => problem,
    };
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().map(strict).map(Diagnostic::with_advice).collect();
    diagnostics.sort_by_key(|problem| problem.place);
    diagnostics.dedup();
    diagnostics
}

/// Collects the problems of a test file.
struct Reader {
    diagnostics: Vec<Diagnostic>,
}

impl Reader {
    fn report(&mut self, problem: Diagnostic) {
        self.diagnostics.push(problem);
    }

    fn file(&mut self, syntax: &TestFileSyntax) -> TestFile {
        let cases = match &syntax.cases {
            Some(cases) => self.cases(&cases.value, cases.place),
            None if syntax.unread.contains(&"cases") => Vec::new(),
            None => {
                let problem = Diagnostic::new(
                    Code::MissingField,
                    syntax.missing("cases"),
                    "the test file has no `cases`",
                );
                self.report(
                    problem
                        .label("`cases` is missing")
                        .help("add `cases:` with at least one `- name: …` entry"),
                );
                Vec::new()
            }
        };
        let fixture = syntax.fixture.as_deref().map(|fixture| Fixture {
            dir: self.relative(fixture.value.dir.as_deref()),
            git: fixture.value.git.as_deref().is_some_and(|git| git.value),
            place: fixture.value.dir.as_deref().map_or(fixture.place, |dir| dir.place),
        });
        let coverage = syntax.coverage.as_deref().map(|coverage| self.coverage(&coverage.value));
        TestFile { fixture, coverage: coverage.unwrap_or_default(), cases }
    }

    fn coverage(&mut self, syntax: &CoverageSyntax) -> CoverageRule {
        let min = syntax.min.as_deref();
        if let Some(min) = min.filter(|min| min.value > 100.0) {
            let problem = Diagnostic::new(Code::OutOfRange, min.place, "`min` is a percentage: at most 100");
            self.report(problem.label("too large"));
        }
        let mut allow = Vec::new();
        for (branch, reason) in syntax.allow.iter().flat_map(|allow| &allow.value.0) {
            if reason.value.trim().is_empty() {
                let message = format!("`{}` is allowed without a reason", branch.value);
                let problem = Diagnostic::new(Code::EmptyField, branch.place, message).label("why?");
                self.report(problem.help("write why no case reaches it: `NAME: reason`"));
            }
            let (branch, place) = (branch.value.clone(), branch.place);
            allow.push(AllowedBranch { branch, reason: reason.value.trim().to_owned(), place });
        }
        CoverageRule { min: min.map(|min| min.value), allow }
    }

    fn cases(&mut self, cases: &[Spanned<CaseSyntax>], place: Place) -> Vec<TestCase> {
        if cases.is_empty() {
            let problem = Diagnostic::new(Code::EmptyField, place, "the test file has no cases");
            self.report(problem.label("empty").help("add at least one `- name: …` entry"));
        }
        let mut names = std::collections::HashSet::new();
        let mut found = Vec::with_capacity(cases.len());
        for case in cases {
            let name = case.value.name.as_deref();
            if let Some(name) = name.filter(|name| !names.insert(name.value.clone())) {
                let message = format!("two cases have the name `{}`", name.value);
                let problem = Diagnostic::new(Code::DuplicateName, name.place, message).label("used before");
                self.report(problem.help("give one of them another name"));
            }
            if name.is_none_or(|name| name.value.trim().is_empty()) && !case.value.unread.contains(&"name") {
                let place = name.map_or(case.value.missing("name"), |name| name.place);
                let problem = Diagnostic::new(Code::MissingField, place, "a case has no `name`");
                self.report(
                    problem.label("`name` is missing").help("say in a few words what the case shows"),
                );
            }
            found.push(self.case(&case.value));
        }
        found
    }

    fn case(&mut self, syntax: &CaseSyntax) -> TestCase {
        let place = syntax.name.as_deref().map_or(syntax.place.first_character(), |name| name.place);
        TestCase {
            name: text(&syntax.name).unwrap_or_default(),
            place,
            inputs: named_values(&syntax.inputs),
            input_places: places(&syntax.inputs),
            env: self.env(&syntax.env),
            files: self.files(&syntax.files),
            setup: text(&syntax.setup),
            tags: syntax.tags.as_deref().map_or_else(CaseTags::default, |tags| CaseTags {
                include: texts(&tags.value.include),
                exclude: texts(&tags.value.exclude),
            }),
            options: self.options(syntax),
            stubs: self.stubs(&syntax.stubs),
            programs: self.programs(syntax),
            bash: match syntax.bash.as_deref().map(|bash| bash.value) {
                Some(BashWord::Forbid) => BashMode::Forbid,
                Some(BashWord::Real) | None => BashMode::Real,
            },
            answers: self.answers(&syntax.answers),
            kill: syntax
                .kill
                .iter()
                .flat_map(|kill| &kill.value)
                .filter_map(|kill| self.kill(kill))
                .collect(),
            timeout: self.timeout(syntax),
            skip: self.skip(syntax),
            expect: self.expectations(syntax.expect.as_deref(), place),
        }
    }

    fn timeout(&mut self, syntax: &CaseSyntax) -> f64 {
        let Some(timeout) = syntax.timeout.as_deref() else { return TestCase::TIMEOUT };
        if timeout.value.0 <= 0.0 {
            let problem = Diagnostic::new(Code::OutOfRange, timeout.place, "`timeout` must be more than 0");
            self.report(problem.label("out of range"));
        }
        timeout.value.0
    }

    /// A reason; a flag alone does not say why.
    fn skip(&mut self, syntax: &CaseSyntax) -> Option<String> {
        let skip = syntax.skip.as_deref()?;
        let is_flag = skip.scalar.as_ref().is_some_and(|scalar| scalar.as_bool().is_some());
        if is_flag || skip.value.trim().is_empty() {
            let problem = Diagnostic::new(Code::WrongType, skip.place, "`skip` takes the reason as text");
            self.report(problem.label("why?").help("write `skip: REASON`, or remove the field"));
        }
        Some(skip.value.clone())
    }

    fn env(&mut self, env: &Optional<Named<String>>) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (name, value) in env.iter().flat_map(|env| &env.value.0) {
            if name.value.is_empty() || name.value.contains(['=', '\0']) {
                let message = format!("`{}` cannot be the name of a variable", name.value);
                self.report(Diagnostic::new(Code::BadName, name.place, message).label("not a name"));
            }
            found.push((name.value.clone(), value.value.clone()));
        }
        found
    }

    fn files(&mut self, files: &Optional<Named<FileTextSyntax>>) -> Vec<(String, Option<String>)> {
        let mut found = Vec::new();
        for (path, text) in files.iter().flat_map(|files| &files.value.0) {
            self.relative(Some(path));
            found.push((path.value.clone(), text.value.0.clone()));
        }
        found
    }

    /// A path that stays inside the folder that it starts from.
    fn relative(&mut self, path: Option<&Spanned<String>>) -> Option<String> {
        let path = path?;
        let leaves = path.value.starts_with('/') || path.value.split('/').any(|part| part == "..");
        if leaves || path.value.trim().is_empty() {
            let message = format!("`{}` is not a path inside the folder", path.value);
            let problem = Diagnostic::new(Code::BadPattern, path.place, message).label("leads outside");
            self.report(problem.help("write a relative path without `..`"));
        }
        Some(path.value.clone())
    }

    fn options(&mut self, syntax: &CaseSyntax) -> CaseOptions {
        let Some(options) = syntax.options.as_deref().map(|options| &options.value) else {
            return CaseOptions::default();
        };
        let auto_fix = options.auto_fix.as_deref();
        if let Some(rounds) = auto_fix.filter(|rounds| !(1..=10).contains(&rounds.value)) {
            let problem = Diagnostic::new(Code::OutOfRange, rounds.place, "`auto_fix` must be from 1 to 10");
            self.report(problem.label("out of range"));
        }
        CaseOptions {
            recovery: options.recovery.as_deref().map(|word| word.value.as_str().to_owned()),
            auto_fix: auto_fix.map(|rounds| rounds.value.min(10) as u32),
            budget: options.budget.as_deref().map(|budget| budget_of(&budget.value)).unwrap_or_default(),
        }
    }

    fn programs(&mut self, syntax: &CaseSyntax) -> Vec<Program> {
        let mut found = Vec::new();
        for (name, replies) in syntax.programs.iter().flat_map(|programs| &programs.value.0) {
            if name.value.is_empty() || name.value.contains(['/', '\0']) || name.value.starts_with('.') {
                let message = format!("`{}` cannot be the name of a program", name.value);
                let problem = Diagnostic::new(Code::BadName, name.place, message).label("not a name");
                self.report(problem.help("write the name as commands use it, without a path"));
            }
            let replies = replies.value.0.iter().map(|reply| self.program_reply(reply)).collect();
            found.push(Program { name: name.value.clone(), place: name.place, replies });
        }
        found
    }

    fn program_reply(&mut self, syntax: &ProgramReplySyntax) -> ProgramReply {
        ProgramReply {
            args: syntax.args.as_deref().map(|_| texts(&syntax.args)),
            stdout: text(&syntax.stdout).unwrap_or_default(),
            stderr: text(&syntax.stderr).unwrap_or_default(),
            exit: self.exit_code(&syntax.exit),
            files: self.files(&syntax.files),
        }
    }

    fn exit_code(&mut self, exit: &Optional<u64>) -> i32 {
        let Some(exit) = exit.as_deref() else { return 0 };
        if exit.value > 255 {
            let problem = Diagnostic::new(Code::OutOfRange, exit.place, "an exit code is at most 255");
            self.report(problem.label("too large"));
        }
        exit.value.min(255) as i32
    }

    fn answers(&mut self, answers: &Optional<Named<AnswerSyntax>>) -> Vec<CaseAnswer> {
        let mut found = Vec::new();
        for (path, answer) in answers.iter().flat_map(|answers| &answers.value.0) {
            let reply = match &answer.value {
                AnswerSyntax::Word(word) if word == "timeout" => CaseReply::Timeout,
                AnswerSyntax::Word(word) => CaseReply::Choice { choice: word.clone(), fields: Map::new() },
                AnswerSyntax::Fields(fields) => {
                    if fields.choice.is_none() && !fields.unread.contains(&"choice") {
                        let place = fields.missing("choice");
                        let problem = Diagnostic::new(Code::MissingField, place, "an answer has no `choice`");
                        self.report(problem.label("`choice` is missing").help("write `choice: WORD`"));
                        continue;
                    }
                    let choice = text(&fields.choice).unwrap_or_default();
                    CaseReply::Choice { choice, fields: named_values(&fields.fields) }
                }
            };
            found.push(CaseAnswer { path: StepPattern::new(&path.value), place: path.place, reply });
        }
        found
    }

    fn kill(&mut self, kill: &Spanned<super::syntax::KillSyntax>) -> Option<KillPoint> {
        let Some(at) = kill.value.at.as_deref() else {
            if !kill.value.unread.contains(&"at") {
                let place = kill.value.missing("at");
                let problem = Diagnostic::new(Code::MissingField, place, "an entry of `kill` has no `at`");
                self.report(problem.label("`at` is missing").help("write `{at: STEP, moment: started}`"));
            }
            return None;
        };
        let moment = match kill.value.moment.as_deref().map(|moment| moment.value) {
            Some(MomentWord::Finished) => KillMoment::Finished,
            Some(MomentWord::Started) | None => KillMoment::Started,
        };
        Some(KillPoint { at: at.value.clone(), moment, place: at.place })
    }
}

fn budget_of(syntax: &BudgetSyntax) -> Budget {
    Budget {
        usd: syntax.usd.as_deref().map(|usd| usd.value),
        tokens: syntax.tokens.as_deref().map(|tokens| tokens.value),
        agent_runs: syntax.agent_runs.as_deref().map(|runs| runs.value),
        minutes: syntax.minutes.as_deref().map(|minutes| minutes.value),
    }
}

fn text(field: &Optional<String>) -> Option<String> {
    field.as_deref().map(|field| field.value.clone())
}

fn texts(field: &Optional<Texts>) -> Vec<String> {
    field.iter().flat_map(|list| &list.value).map(|text| text.value.clone()).collect()
}

fn places(field: &Optional<Named<Value>>) -> Vec<(String, Place)> {
    field.iter().flat_map(|named| &named.value.0).map(|(name, _)| (name.value.clone(), name.place)).collect()
}

fn named_values(field: &Optional<Named<Value>>) -> Map {
    field.as_deref().map(|named| named.value.to_map()).unwrap_or_default()
}
