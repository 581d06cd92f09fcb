//! The rules of `lint`: their names, levels and meanings.

use recipe::diagnostic::Severity;

macro_rules! lint_codes {
    ($($name:ident $level:ident $word:literal $summary:literal;)+) => {
        /// A rule. The words are stable: scripts may rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LintCode {
            $(#[doc = $summary] $name,)+
        }

        impl LintCode {
            /// Every rule, in the order of the reference.
            pub const ALL: &[LintCode] = &[$(LintCode::$name,)+];

            /// The stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(LintCode::$name => $word,)+ }
            }

            /// Its meaning, in one sentence.
            pub fn summary(self) -> &'static str {
                match self { $(LintCode::$name => $summary,)+ }
            }

            /// Its level unless a configuration sets another one.
            pub fn level(self) -> Severity {
                match self { $(LintCode::$name => Severity::$level,)+ }
            }
        }
    };
}

lint_codes! {
    UngatedEdit Warning "ungated-edit" "An agent edits files, and no check follows before the next effect or the end.";
    EditAfterGate Warning "edit-after-gate" "An agent edits files after the last check or review.";
    ReviewerIsWriter Warning "reviewer-is-writer" "The program that reviews the work is the one that did it.";
    ReviewerEdits Warning "reviewer-edits" "An agent that reviews may change what it reviews.";
    SelfSatisfying Error "self-satisfying" "A check looks at something that the recipe itself provides.";
    CannotFail Error "cannot-fail" "A check always succeeds.";
    ShapeOnly Warning "shape-only" "After an edit, only the form of the code is checked.";
    UnboundedAgent Warning "unbounded-agent" "An agent step has no time limit.";
    EndlessLoop Warning "endless-loop" "A `repeat` has no end to reach, or no step notices that it was not reached.";
    UndeclaredEffect Warning "undeclared-effect" "A command changes something outside, and the step does not declare it.";
    RepeatableEffect Warning "repeatable-effect" "A step with an effect may run twice.";
    UnguardedEffect Warning "unguarded-effect" "Nothing is checked before an effect, or no person is asked before a serious one.";
    AgentDoesEffect Warning "agent-does-effect" "A prompt tells an agent to change something outside.";
    SwallowedFailure Warning "swallowed-failure" "A check may fail, and no step reads its result.";
    UncheckedVerdict Warning "unchecked-verdict" "A condition reads JSON of an agent that may not exist.";
    ParallelWriters Warning "parallel-writers" "Agents edit at the same time in one directory.";
    SecretInRecipe Error "secret-in-recipe" "The recipe contains a credential.";
    SecretInArgument Warning "secret-in-argument" "A secret is an argument of a program, where every user of the machine can read it.";
    BadAllowance Warning "bad-allowance" "A `lint: allow` comment has no reason, or names no rule.";
    NoBudget Note "no-budget" "The agents of the recipe have no budget.";
    Unpinned Note "unpinned" "A command runs code whose version is not fixed.";
    UndeclaredEnv Note "undeclared-env" "A command uses an environment variable that nothing declares.";
    Placeholder Note "placeholder" "A text is still to be written.";
    Untested Note "untested" "The recipe has no test file.";
}

impl LintCode {
    /// The rule with this word.
    pub fn named(word: &str) -> Option<LintCode> {
        LintCode::ALL.iter().copied().find(|code| code.as_str() == word)
    }
}
