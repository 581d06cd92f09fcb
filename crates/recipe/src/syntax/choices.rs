//! The words that fields take. Never decides their meaning.

use super::kinds::words;

words! {
    /// The kind of a step.
    StepType {
        /// A shell command.
        Bash "bash",
        /// A coding agent.
        Agent "agent",
        /// A sub-recipe.
        Recipe "recipe",
        /// A question to a person.
        Ask "ask",
    }
}

words! {
    /// How bash runs a command.
    Shell {
        /// As it is: a failure in the middle does not end it.
        Bash "bash",
        /// With `-euo pipefail`: the first failure, an unset variable and a failed part of a pipeline end it.
        Strict "strict",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro that declares the words derives no default")]
impl Default for Shell {
    fn default() -> Shell {
        Shell::Bash
    }
}

words! {
    /// The order of steps.
    Schedule {
        /// One after the other, as they are written.
        Sequence "sequence",
        /// Each as soon as the steps that it needs have completed.
        Graph "graph",
    }
}

words! {
    /// When a step runs.
    When {
        /// While no step of its recipe has failed.
        Ok "ok",
        /// After a step above it has failed and ended the recipe.
        Failed "failed",
        /// In both cases.
        Always "always",
    }
}

words! {
    /// The type of a given value.
    InputKind {
        /// Text.
        Text "text",
        /// A number.
        Number "number",
        /// A whole number.
        Integer "integer",
        /// True or false.
        Boolean "boolean",
        /// One of the `choices`.
        Choice "choice",
        /// A list.
        List "list",
        /// A path that exists.
        Path "path",
        /// Any JSON value.
        Json "json",
        /// Text that is never shown.
        Secret "secret",
    }
}

words! {
    /// What a context variable must be.
    Rule {
        /// Not empty.
        Nonempty "nonempty",
        /// A path that exists.
        Path "path",
        /// A git work tree.
        GitRepo "git_repo",
        /// Anything, also an empty value.
        Optional "optional",
    }
}

words! {
    /// How the delay between attempts grows.
    Backoff {
        /// Not at all.
        Fixed "fixed",
        /// It doubles.
        Exponential "exponential",
    }
}

words! {
    /// A failure that can be tried again.
    RetryOn {
        /// The program ended with another exit code than 0, or by a signal.
        Exit "exit",
        /// The step's timeout fired.
        Timeout "timeout",
        /// The agent's service asked to slow down.
        RateLimit "rate_limit",
        /// The output was not the required JSON.
        Json "json",
    }
}

words! {
    /// What an exit code means.
    ExitMeaning {
        /// The step waits for a person.
        NeedsHuman "needs_human",
        /// The step failed.
        Failed "failed",
        /// The step succeeded.
        Ok "ok",
    }
}

words! {
    /// What an agent may do.
    PermissionLevel {
        /// Read files, and change nothing.
        ReadOnly "read-only",
        /// Also change files of its directory.
        Edit "edit",
        /// Everything that the user may do.
        Full "full",
    }
}
