//! Facts about a command that the scanner and the scanners of inner texts collect.
//!
//! Never looks at the command itself.

use std::collections::HashSet;

use super::{Quoting, misuse::Misuse};

/// Texts inside texts (heredocs in heredocs, backticks in backticks) that are looked into.
const MAX_TEXTS: usize = 24;

/// A hole that has been passed.
pub(super) struct FoundHole {
    pub(super) number: usize,
    pub(super) quoting: Quoting,
    pub(super) owner: usize,
    /// The owner of the word around the substitution that prints it; 0 if none does.
    pub(super) printed_into: usize,
}

impl FoundHole {
    /// Whether its value becomes a part of a word of this owner.
    pub(super) fn is_part_of(&self, owner: usize) -> bool {
        self.owner == owner || self.printed_into == owner
    }
}

/// Collected facts, also from the scanners of inner texts.
pub(super) struct ScanFacts<'a> {
    name: &'a dyn Fn(usize) -> String,
    pub(super) holes: Vec<FoundHole>,
    /// The holes that are not taken for values.
    pub(super) misuses: Vec<Misuse>,
    /// The names declared with `-A` so far, and the order in which they were.
    associative: HashSet<String>,
    declared: Vec<String>,
    /// The names declared with `-i`.
    pub(super) integers: HashSet<String>,
    /// The names declared with `-n` so far.
    pub(super) references: HashSet<String>,
    owners: usize,
    /// Symbols that may still be looked ahead at, so that the whole stays linear.
    pub(super) look_ahead: usize,
    texts: usize,
    /// Set once the nesting is too deep to follow.
    pub(super) lost: bool,
}

impl<'a> ScanFacts<'a> {
    pub(super) fn new(name: &'a dyn Fn(usize) -> String, length: usize) -> ScanFacts<'a> {
        ScanFacts {
            name,
            holes: Vec::new(),
            misuses: Vec::new(),
            associative: HashSet::new(),
            declared: Vec::new(),
            integers: HashSet::new(),
            references: HashSet::new(),
            owners: 0,
            look_ahead: 16 * length,
            texts: 0,
            lost: false,
        }
    }

    /// Scans an inner text, unless it is nested too deeply.
    pub(super) fn nest<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        self.texts += 1;
        self.lost |= self.texts > MAX_TEXTS;
        let result = look(self);
        self.texts -= 1;
        result
    }

    pub(super) fn declare_associative(&mut self, name: &str) {
        if self.associative.insert(name.to_owned()) {
            self.declared.push(name.to_owned());
        }
    }

    pub(super) fn is_associative(&self, name: &str) -> bool {
        self.associative.contains(name)
    }

    /// The associative arrays that have been declared.
    pub(super) fn known(&self) -> usize {
        self.declared.len()
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.associative.remove(name);
    }

    /// Forgets the arrays declared since then, because a subshell is over.
    pub(super) fn forget(&mut self, known: usize) {
        for name in self.declared.drain(known..) {
            self.associative.remove(&name);
        }
    }

    /// Whether bash evaluates values that are assigned to this name.
    pub(super) fn is_integer(&self, name: &str) -> bool {
        matches!(name, "RANDOM" | "SRANDOM" | "OPTIND" | "HISTCMD") || self.integers.contains(name)
    }

    /// The shell variable of a hole.
    pub(super) fn variable(&self, number: usize) -> String {
        (self.name)(number)
    }

    pub(super) fn new_owner(&mut self) -> usize {
        self.owners += 1;
        self.owners
    }
}
