//! The runner's own words in the error of a failed sub-recipe, apart from the words of its steps.

use engine::{
    Outcome, StepStatus,
    run::{decide, event::Ended},
};

use crate::run::{Run, parallel};

/// The runner's own words in the error of `mid`, whose recipe `leaf` fails at `k` with this end; the rest is `…`.
fn own_words(outcome: Outcome, error: &str) -> String {
    let text = "name: top\nsteps:\n- {id: m, recipe: mid}\n";
    let below =
        "name: mid\nsteps:\n- {id: i, recipe: leaf}\n---\nname: leaf\nsteps:\n- {id: k, command: x}\n";
    let mut run = Run::new(text, below, parallel(4), &[]);
    run.begin("m", 1);
    run.enter("m", "mid");
    run.begin("m/i", 1);
    run.enter("m/i", "leaf");
    run.begin("m/i/k", 1);
    run.finish("m/i/k", StepStatus::Failed, Ended::new(outcome, Some(error.to_owned())));
    let inner = decide::nested_error(&run.state, 2);
    run.finish("m/i", StepStatus::Failed, Ended::new(Outcome::Nested, Some(inner)));
    decide::nested_error_with(&run.state, 1, |own, rest| {
        format!("{own}{}", if rest.is_empty() { "" } else { "…" })
    })
}

#[test]
fn the_words_of_a_step_are_told_from_the_runners() {
    let at = "Sub-recipe 'mid' failed at step 'i': [error] Sub-recipe 'leaf' failed at step 'k': [error] ";
    for (outcome, error, own) in [
        (
            Outcome::Exit(7),
            "bash step failed: exit code 7\nQ step failed: Q",
            "bash step failed: exit code 7…",
        ),
        (Outcome::Exit(7), "bash step failed: exit code 7", "bash step failed: exit code 7"),
        // the number is a word of the step here
        (Outcome::Signal(9), "bash step failed: exit code 7", "bash step failed: …"),
        (Outcome::TimedOut(1.0), "bash step failed: timed out\nQ", "bash step failed: …"),
    ] {
        assert_eq!(own_words(outcome, error), format!("{at}{own}"), "{error}");
    }
    assert_eq!(
        own_words(Outcome::Exit(7), "Q"),
        "Sub-recipe 'mid' failed at step 'i': [error] …",
        "an error that begins in another way has no words that are certain to be the runner's"
    );
}
