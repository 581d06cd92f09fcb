//! The fields of a test file, each with its place: one declaration for the reader, the JSON Schema and the reference.
//!
//! Never decides their meaning: `read` does.

mod matcher;
mod stub;

use serde_json::{Value as Json, json};

pub use matcher::{CommandsSyntax, MatcherSyntax, MatcherWordsSyntax};
pub use stub::{StubReplySyntax, StubSyntax, StubUsageSyntax};

use crate::{
    diagnostic::Diagnostic,
    syntax::{
        BudgetSyntax, Seconds, Texts,
        kinds::{Named, words},
        shape::{Decode, Field, Shape, Spanned, shape, shape_schema, wrong_type},
    },
    value::Value,
    yaml::{Node, NodeKind},
};

shape! {
    /// A test file as it is written.
    TestFileSyntax "test file" {
        /// The folder that every case starts with a copy of.
        "fixture" fixture: FixtureSyntax;
        /// How many branches of the recipe the cases must reach.
        "coverage" coverage: CoverageSyntax;
        /// Fields for all cases; the maps of a case are merged over them, and its other fields replace them.
        "defaults" defaults: CaseSyntax;
        /// The cases.
        "cases" cases: Vec<Spanned<CaseSyntax>>, required;
    }
}

shape! {
    /// The files that a case starts with.
    FixtureSyntax "`fixture` map" {
        /// Folder that is copied for each case, relative to the test file.
        "dir" dir: String;
        /// Make the copy a git repository with one commit, which has a fixed author and time; `false` unless set.
        "git" git: bool;
    }
}

shape! {
    /// How many branches of the recipe the cases must reach.
    CoverageSyntax "`coverage` map" {
        /// Least percentage of branches; without it, no percentage is too low.
        "min" min: f64;
        /// Branches that no case needs to reach, each with the reason.
        "allow" allow: Named<String>;
    }
}

shape! {
    /// A case as it is written.
    CaseSyntax "case" listed by "recipe-runner-rs schema --tests" {
        /// Name of the case, unique in the file.
        "name" name: String;
        /// Values for the recipe, as `--set` gives them.
        "inputs" inputs: Named<Value>;
        /// Environment variables; of the environment around the test only `PATH` remains.
        "env" env: Named<String>;
        /// Files that are written before the case, by their path in the scratch folder; `null` removes a file of the fixture.
        "files" files: Named<FileTextSyntax>;
        /// Script that runs in the scratch folder before the case, with `bash -euo pipefail`.
        "setup" setup: String;
        /// Which tagged steps run.
        "tags" tags: CaseTagsSyntax;
        /// Options of the run.
        "options" options: CaseOptionsSyntax;
        /// Answers for steps, by path: `review`, `review[1]`, `round[0]/fix`, patterns with `*` and `**`, `recovery:PATH`, `repair`. A
        /// map answers every call; each entry of a list answers one item, iteration or call.
        "stubs" stubs: Named<StubSyntax>;
        /// Programs that come first in `PATH`: each call is noted, and the first entry whose `args` fit answers it.
        "programs" programs: Named<ProgramRepliesSyntax>;
        /// Whether bash steps without a stub run: `real` or `forbid`; `real` unless set.
        "bash" bash: BashWord;
        /// Answers to questions, by the path of the step: a choice, `timeout`, or a map with `choice` and `fields`.
        "answers" answers: Named<AnswerSyntax>;
        /// Where the runner is killed; the run is then resumed.
        "kill" kill: Vec<Spanned<KillSyntax>>;
        /// Real time after which the case is ended, in seconds or with units; 60 seconds unless set.
        "timeout" timeout: Seconds;
        /// Reason for which the case is not run.
        "skip" skip: String;
        /// What must come of the case; exit code 0 unless set.
        "expect" expect: ExpectSyntax;
    }
}

shape! {
    /// Which tagged steps run.
    CaseTagsSyntax "`tags` map" {
        /// As `--include-tags`.
        "include" include: Texts;
        /// As `--exclude-tags`.
        "exclude" exclude: Texts;
    }
}

shape! {
    /// Options of the run.
    CaseOptionsSyntax "`options` map" {
        /// As `--recovery`: `declared`, `always` or `off`; `declared` unless set.
        "recovery" recovery: RecoveryWord;
        /// As `--auto-fix`: how often a repair is tried.
        "auto_fix" auto_fix: u64;
        /// As the `--budget-…` options.
        "budget" budget: BudgetSyntax;
    }
}

shape! {
    /// What a program answers to a call.
    ProgramReplySyntax "entry of `programs`" {
        /// A pattern for each argument, in which `*` stands for any text; `**` stands for any number of arguments. Without it,
        /// every call fits.
        "args" args: Texts;
        /// What it prints.
        "stdout" stdout: String;
        /// What it prints on stderr.
        "stderr" stderr: String;
        /// Its exit code; 0 unless set.
        "exit" exit: u64;
        /// Files that it writes, relative to the directory that it is called in; `null` removes a file.
        "files" files: Named<FileTextSyntax>;
    }
}

shape! {
    /// The answer to a question.
    AnswerFieldsSyntax "`answers` entry" {
        /// The choice.
        "choice" choice: String, required;
        /// The fields.
        "fields" fields: Named<Value>;
    }
}

shape! {
    /// A moment at which the runner is killed.
    KillSyntax "`kill` entry" {
        /// Path of the step.
        "at" at: String, required;
        /// Whether the start or the end of the step is the moment: `started` or `finished`; `started` unless set.
        "moment" moment: MomentWord;
    }
}

shape! {
    /// What must come of a case.
    ExpectSyntax "`expect` map" listed by "recipe-runner-rs schema --tests" {
        /// Exit code; 0 unless set.
        "exit" exit: MatcherSyntax;
        /// Status of the run: `completed`, `failed`, `waiting`, …
        "status" status: MatcherSyntax;
        /// Outcome of the run: `ok`, `failed`, `needs_human`, …
        "outcome" outcome: MatcherSyntax;
        /// How far the goal of a task is reached: `orchestration.goal_status`.
        "goal" goal: MatcherSyntax;
        /// Status of steps, by path; a path without a number counts for all instances.
        "steps" steps: Named<MatcherSyntax>;
        /// Values of the final context, by path, such as `review.verdict`.
        "values" values: Named<MatcherSyntax>;
        /// Result text of the recipe.
        "output" output: MatcherSyntax;
        /// Error of the run.
        "error" error: MatcherSyntax;
        /// Class of the failure.
        "diagnosis" diagnosis: MatcherSyntax;
        /// Steps that start in this order.
        "order" order: Texts;
        /// Steps that do not start.
        "never" never: Texts;
        /// How often steps are tried, by path.
        "calls" calls: Named<MatcherSyntax>;
        /// Calls of `programs`, each as one line of the name and the arguments.
        "commands" commands: CommandsSyntax;
        /// Prompts of agent steps, by path; one of the prompts of the step must fit.
        "prompts" prompts: Named<MatcherSyntax>;
        /// Contents of files, by path in the scratch folder; `null` means that there is no such file.
        "files" files: Named<MatcherSyntax>;
        /// All paths that differ from those before the case, sorted, deleted ones included.
        "changed" changed: MatcherSyntax;
        /// Compare the case with its snapshot.
        "snapshot" snapshot: bool;
    }
}

words! {
    /// Whether bash steps without a stub run.
    BashWord {
        /// They run in the scratch folder.
        Real "real",
        /// Each makes the case an error.
        Forbid "forbid",
    }
}

words! {
    /// When a failed sub-recipe is offered to an agent.
    RecoveryWord {
        /// As the recipe says.
        Declared "declared",
        /// Always.
        Always "always",
        /// Never.
        Off "off",
    }
}

words! {
    /// A moment of a step.
    MomentWord {
        /// Its start is recorded.
        Started "started",
        /// Its end is recorded.
        Finished "finished",
    }
}

/// The text of a file; `null` for no file.
#[derive(Clone, Debug)]
pub struct FileTextSyntax(pub Option<String>);

impl Decode for FileTextSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<FileTextSyntax> {
        match node.is_null() {
            true => Some(FileTextSyntax(None)),
            false => String::decode(node, name, diagnostics).map(Some).map(FileTextSyntax),
        }
    }

    fn schema() -> Json {
        json!({ "type": ["string", "number", "boolean", "null"] })
    }
}

/// The answers of a program: a list, or one for every call.
#[derive(Clone, Debug)]
pub struct ProgramRepliesSyntax(pub Vec<ProgramReplySyntax>);

impl Decode for ProgramRepliesSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<ProgramRepliesSyntax> {
        let replies = match &node.kind {
            NodeKind::List(items) => items.as_slice(),
            NodeKind::Map(_) => std::slice::from_ref(node),
            NodeKind::Scalar(_) => {
                let help = format!("write `{name}: [{{args: [\"**\"], stdout: …}}]`");
                diagnostics.push(wrong_type(node, name, "a list of answers").help(help));
                return None;
            }
        };
        let decode = |item| ProgramReplySyntax::decode(item, name, diagnostics);
        Some(ProgramRepliesSyntax(replies.iter().filter_map(decode).collect()))
    }

    fn schema() -> Json {
        let reply = ProgramReplySyntax::schema();
        json!({ "anyOf": [{ "type": "array", "items": reply }, reply] })
    }
}

/// The answer to a question: a choice, `timeout`, or a map.
#[derive(Clone, Debug)]
pub enum AnswerSyntax {
    /// A choice, or `timeout`.
    Word(String),
    /// A choice with fields.
    Fields(Box<AnswerFieldsSyntax>),
}

impl Decode for AnswerSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<AnswerSyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                AnswerFieldsSyntax::decode(node, name, diagnostics).map(Box::new).map(AnswerSyntax::Fields)
            }
            _ => String::decode(node, name, diagnostics).map(AnswerSyntax::Word),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), AnswerFieldsSyntax::schema()] })
    }
}

/// The JSON Schema of test files.
pub fn schema() -> Json {
    let mut schema = shape_schema::<TestFileSyntax>();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Test file of a recipe");
    schema["description"] =
        json!("Cases that `recipe-runner-rs test` runs, with answers for agents and commands.");
    schema["additionalProperties"] = json!(false);
    schema["$defs"] = json!({ "matcher": matcher::definition(), "stub": stub::definition() });
    schema
}

/// The fields of test files with their documentation, shape by shape.
pub fn reference() -> Vec<(&'static str, &'static [Field])> {
    vec![
        (TestFileSyntax::NAME, TestFileSyntax::FIELDS),
        (FixtureSyntax::NAME, FixtureSyntax::FIELDS),
        (CoverageSyntax::NAME, CoverageSyntax::FIELDS),
        (CaseSyntax::NAME, CaseSyntax::FIELDS),
        (StubReplySyntax::NAME, StubReplySyntax::FIELDS),
        (StubUsageSyntax::NAME, StubUsageSyntax::FIELDS),
        (ProgramReplySyntax::NAME, ProgramReplySyntax::FIELDS),
        (AnswerFieldsSyntax::NAME, AnswerFieldsSyntax::FIELDS),
        (CaseTagsSyntax::NAME, CaseTagsSyntax::FIELDS),
        (CaseOptionsSyntax::NAME, CaseOptionsSyntax::FIELDS),
        (KillSyntax::NAME, KillSyntax::FIELDS),
        (ExpectSyntax::NAME, ExpectSyntax::FIELDS),
        (CommandsSyntax::NAME, CommandsSyntax::FIELDS),
        (MatcherWordsSyntax::NAME, MatcherWordsSyntax::FIELDS),
    ]
}
