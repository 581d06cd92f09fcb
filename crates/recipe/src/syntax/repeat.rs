//! The fields of `repeat`.

use super::{Seconds, kinds::words, shape::shape};

shape! {
    /// A step that runs again until a condition holds.
    RepeatSyntax "`repeat` map" {
        /// Largest number of iterations, from 1 to 1000.
        "max" max: u64, required;
        /// Expression that ends the loop; without it there are exactly `max` iterations.
        "until" until: String;
        /// Time between two iterations, in seconds or with units as in `30s`; 0 unless set.
        "delay" delay: Seconds;
        /// What happens if `until` is still false after the last iteration; `fail` unless set.
        "on_exhausted" on_exhausted: OnExhausted;
    }
}

words! {
    /// What happens to a `repeat` step whose condition was not reached.
    OnExhausted {
        /// The step fails.
        Fail "fail",
        /// The step completes, with a note.
        Continue "continue",
    }
}
