//! Stories from seeds, and a death at every write. A failure prints its seed; `RECIPE_RUNNER_SEED=n` replays it.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{install, life::Story, with};

/// The real time that a story may take, which is usually a few milliseconds.
const MOST_TIME: Duration = Duration::from_secs(60);

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

/// Ends the whole test if a story goes round in circles: a loop that never waits cannot be interrupted.
fn stop_endless_story(playing: &Mutex<BTreeMap<u64, Instant>>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        let playing = playing.lock().unwrap();
        if let Some((seed, _)) = playing.iter().find(|(_, began)| began.elapsed() > MOST_TIME) {
            // not `eprintln`, whose text would be lost with the process
            let _ = writeln!(std::io::stderr(), "RECIPE_RUNNER_SEED={seed}\nit does not come to an end");
            std::process::abort();
        }
    }
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
    let began = Instant::now();
    let playing = Mutex::new(BTreeMap::new());
    let is_over = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        scope.spawn(|| stop_endless_story(&playing, &is_over));
        let players: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    while let seed = next.fetch_add(1, Ordering::Relaxed)
                        && seed < end
                    {
                        playing.lock().unwrap().insert(seed, Instant::now());
                        let played = std::panic::catch_unwind(|| play(seed, &base.0));
                        playing.lock().unwrap().remove(&seed);
                        let broken = played.unwrap_or_else(|_| vec!["it panics".to_owned()]);
                        let _ = install(None);
                        if !broken.is_empty() {
                            bad.lock().unwrap().push((seed, broken));
                        }
                    }
                })
            })
            .collect();
        players.into_iter().for_each(|player| drop(player.join()));
        is_over.store(true, Ordering::Relaxed);
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
