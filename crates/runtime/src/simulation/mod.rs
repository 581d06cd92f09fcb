//! A simulated world for the real loop: processes, clock, disk and death, all from one seed.
//!
//! Exists only in this crate's own tests. The loop, the journal, the readers of agent programs and the resume plan are
//! the real ones; only the outside is simulated. Without a [`World`] in the thread everything is real.

mod answers;
mod births;
mod chance;
mod child;
mod disk;
mod every_write;
mod found;
mod laws;
mod letters;
mod life;
mod manners;
mod order_laws;
mod picture;
pub(crate) mod process;
mod recipes;
mod tests;
mod watcher;
mod world;

use std::{cell::RefCell, fs::File, future::Future, io, time::Duration};

use jiff::{SignedDuration, Timestamp};

use crate::run::Halt;
use world::World;

/// The longest time that a run may take before it counts as hung.
const BOUND: Duration = Duration::from_secs(90 * 24 * 3600);

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Puts a world into this thread, or removes it.
fn install(world: Option<World>) -> Option<World> {
    WORLD.with(|cell| cell.replace(world))
}

/// Gives access to the world of this thread.
fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with(|cell| work(cell.borrow_mut().as_mut().expect("a world is installed")))
}

/// Whether this thread has a world.
pub(crate) fn is_on() -> bool {
    WORLD.with(|cell| cell.borrow().is_some())
}

/// See [`crate::os::files::point`].
pub(crate) fn point(name: &'static str) -> io::Result<()> {
    if is_on() { with(|world| world.point(name)) } else { Ok(()) }
}

/// Writes bytes as the world allows. A runner that dies here has written a part of them.
pub(crate) fn write(name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if is_on() { with(|world| world.write(name, file, bytes)) } else { Ok(()) }
}

/// Records that the current content of a file survives a power loss.
pub(crate) fn note_synced(file: &File) {
    if is_on() {
        with(|world| world.disk.note_synced(file));
    }
}

/// The simulated time.
pub(crate) fn now() -> Timestamp {
    let start = Timestamp::constant(1_767_225_600, 0);
    let passed = SignedDuration::try_from(with(World::now)).unwrap_or_default();
    start.checked_add(passed).unwrap_or(start)
}

/// An id that no other run of this world has.
pub(crate) fn new_id() -> String {
    with(|world| {
        world.ids += 1;
        format!("20260101-000000-000s{:03}", world.ids)
    })
}

/// The id of the boot of the simulated machine.
pub(crate) fn boot_id() -> String {
    with(|world| format!("boot-{}", world.boots))
}

/// The next signal that reaches the runner.
pub(crate) async fn next_halt() -> Halt {
    let at = |at: Option<tokio::time::Instant>| async move {
        match at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = at(with(|world| world.next_halt())) => with(World::take_halt),
        () = at(with(|world| world.next_visit())) => {
            letters::visit();
            Halt::Cancel
        }
    }
}

/// Returns when a process has printed something.
pub(crate) async fn something_was_printed() {
    let printed = with(|world| world.printed.clone());
    printed.notified().await;
}

/// Runs work to its end on an event loop whose clock advances only when every task waits, unless the runner dies first.
pub(crate) fn block_on<T>(
    event_loop: &mut tokio::runtime::Builder,
    work: impl Future<Output = T>,
) -> io::Result<T> {
    let event_loop = event_loop.start_paused(true).build()?;
    event_loop.block_on(async {
        let (died, killer) = with(World::begin_loop);
        let killed = async {
            match killer {
                Some((at, death)) => {
                    tokio::time::sleep_until(at).await;
                    with(|world| world.die(death));
                }
                None => std::future::pending().await,
            }
        };
        if with(|world| world.is_dead()) {
            return Err(world::dead());
        }
        tokio::select! {
            biased;
            () = died.notified() => Err(world::dead()),
            () = killed => Err(world::dead()),
            () = tokio::time::sleep(BOUND) => {
                with(|world| world.is_hung = true);
                Err(io::ErrorKind::TimedOut.into())
            }
            done = work => {
                with(World::now);
                if with(|world| world.is_dead()) { Err(world::dead()) } else { Ok(done) }
            }
        }
    })
}
