//! Stories from seeds, and a death at every write. A failure prints its seed; `RECIPE_RUNNER_SEED=n` replays it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{install, life::Story, with};

/// A folder for stories, in memory if possible.
pub(super) struct Base(pub(super) PathBuf);

impl Base {
    pub(super) fn new(name: &str) -> Base {
        use std::os::unix::fs::PermissionsExt;
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let base = parent.join(format!("recipe-runner-{name}-{}", std::process::id()));
        std::fs::create_dir_all(base.join("bin")).unwrap();
        let program = base.join("bin/claude");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Base(base)
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays a story; returns the broken laws.
fn play(seed: u64, base: &Path) -> Vec<String> {
    tell(seed, base, None).0
}

/// The same, and returns its trace if `trace` is there to collect it.
fn tell(seed: u64, base: &Path, trace: Option<Vec<String>>) -> (Vec<String>, Vec<String>) {
    let mut story = Story::by_seed(seed, base);
    with(|world| world.trace = trace);
    for (name, text) in &story.shelf.0 {
        with(|world| world.tell(|| format!("{name}:\n{text}")));
    }
    story.play();
    drop(story);
    let world = install(None).expect("the world is still there");
    (world.broken, world.trace.unwrap_or_default())
}

#[test]
fn stories() {
    let base = Base::new("stories");
    if let Some(seed) = number("RECIPE_RUNNER_SEED") {
        let (broken, trace) = tell(seed, &base.0, Some(Vec::new()));
        println!("{}", trace.join("\n"));
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
        return;
    }
    let seeds = number("RECIPE_RUNNER_SEEDS").unwrap_or(1_000);
    let next = AtomicU64::new(number("RECIPE_RUNNER_FIRST_SEED").unwrap_or(0));
    let end = next.load(Ordering::Relaxed) + seeds;
    let bad = Mutex::new(Vec::new());
    let began = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < end
                {
                    let played = std::panic::catch_unwind(|| play(seed, &base.0));
                    let broken = played.unwrap_or_else(|_| vec!["it panics".to_owned()]);
                    let _ = install(None);
                    if !broken.is_empty() {
                        bad.lock().unwrap().push((seed, broken));
                    }
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    println!("{seeds} stories in {seconds:.1} s");
    let mut bad = bad.into_inner().unwrap();
    bad.sort();
    let show =
        |(seed, broken): &(u64, Vec<String>)| format!("RECIPE_RUNNER_SEED={seed}\n{}", broken.join("\n"));
    let shown: Vec<String> = bad.iter().take(60).map(show).collect();
    assert!(bad.is_empty(), "{} of {seeds} seeds break a law:\n{}", bad.len(), shown.join("\n\n"));
}

#[test]
fn the_same_seed_is_the_same_story() {
    let base = Base::new("same");
    for seed in 0..30 {
        let [first, second] = [(); 2].map(|()| tell(seed, &base.0, Some(Vec::new())));
        let differing = first.1.iter().zip(&second.1).find(|(one, other)| one != other);
        assert_eq!(differing, None, "seed {seed}");
        assert_eq!(first.1.len(), second.1.len(), "seed {seed}");
    }
}
