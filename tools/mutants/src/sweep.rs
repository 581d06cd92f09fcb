//! Tries many mutants and counts what comes of them.

use std::{
    fmt, fs, io,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    mutant::Mutant,
    trial::{Tests, Verdict},
};

/// How often a long sweep says how far it is.
const NEWS_EVERY: usize = 100;

/// What came of some mutants.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Those that a test noticed, or that made the tests run on and on.
    pub(crate) noticed: Vec<String>,
    timed_out: usize,
    /// Those that no test noticed.
    pub(crate) left: Vec<String>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noticed, left) = (self.noticed.len(), self.left.len());
        let out = self.timed_out;
        write!(f, "{} tried, {noticed} noticed ({out} of them timed out), {left} left", noticed + left)
    }
}

impl Figures {
    fn add(&mut self, mutant: &Mutant, verdict: Verdict) {
        if verdict == Verdict::Left {
            println!("left  {}:{}  {} | {}", mutant.file, mutant.line, mutant.function, mutant.change);
            self.left.push(mutant.to_string());
        } else {
            self.timed_out += usize::from(verdict == Verdict::TimedOut);
            self.noticed.push(mutant.to_string());
        }
        if (self.noticed.len() + self.left.len()).is_multiple_of(NEWS_EVERY) {
            println!("… {self}");
        }
    }

    /// Writes the names of those that are left, ready for a list of explained ones.
    pub(crate) fn write_left(&self, path: &Path) -> io::Result<()> {
        let mut left = self.left.clone();
        left.sort();
        fs::write(path, left.iter().map(|name| format!("{name}\n")).collect::<String>())
    }
}

/// Tries these mutants, `jobs` at a time.
pub(crate) fn sweep(tests: &Tests, mutants: &[&Mutant], jobs: usize) -> io::Result<Figures> {
    let (figures, next) = (Mutex::new(Figures::default()), AtomicUsize::new(0));
    let work = || -> io::Result<()> {
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let verdict = tests.try_one(mutant)?;
            figures.lock().map_err(|_| io::Error::other("a job panicked"))?.add(mutant, verdict);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|job| job.join().map_err(|_| io::Error::other("a job panicked"))?)
    })?;
    figures.into_inner().map_err(|_| io::Error::other("a job panicked"))
}
