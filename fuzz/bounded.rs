//! Changes kept corpora at random for a bounded time and gives every text to a reader. Shared by the tests.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// How long each reader is tried; `RECIPE_RUNNER_FUZZ_SECONDS` makes it longer.
fn time() -> Duration {
    let seconds = std::env::var("RECIPE_RUNNER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(2.0))
}

/// A small generator of random numbers (xorshift), so that a failure can be repeated from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn change(text: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let at = random.next(text.len() + 1);
    match random.next(5) {
        0 if !text.is_empty() => drop(text.remove(at.min(text.len() - 1))),
        1 => text.insert(at, random.next(256) as u8),
        2 => {
            let end = (at + random.next(40)).min(text.len());
            let copy = text[at..end].to_vec();
            text.splice(at..at, copy);
        }
        3 => {
            let end = (at + random.next(20)).min(text.len());
            text.drain(at..end);
        }
        _ => drop(text.splice(at..at, words[random.next(words.len())].bytes())),
    }
}

/// All kept texts of some folders, in the order of their names.
fn corpus(folders: &[&str]) -> Vec<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap().flatten());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there is a corpus");
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Tries a reader with what `folders` hold, and with what `words` make of it.
pub(crate) fn run(name: &str, folders: &[&str], words: &[&str], target: fn(&[u8])) {
    let corpus = corpus(folders);
    corpus.iter().for_each(|text| target(text));
    let end = Instant::now() + time();
    let mut seed = 0_u64;
    while Instant::now() < end {
        seed += 1;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut text = corpus[random.next(corpus.len())].clone();
        for _ in 0..=random.next(12) {
            change(&mut text, words, &mut random);
        }
        let tried = std::panic::catch_unwind(|| target(&text));
        assert!(tried.is_ok(), "{name}, seed {seed}: {:?}", String::from_utf8_lossy(&text));
    }
    println!("{name}: {seed} texts");
}
