//! The thread that writes to stdout and stderr. Callers queue their text and continue at once.
//!
//! Never changes the order of the output, and never drops output that a reader may still read.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::io::Errno;

/// The most queued bytes before the output of steps stays in its files.
const ROOM: usize = 1024 * 1024;
/// The most bytes of one write, so that the progress of a slow reader is visible.
const PORTION: usize = 64 * 1024;
/// The pause before the next write to a non-blocking output without room.
const AGAIN: Duration = Duration::from_millis(5);

/// One of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Stdout,
    Stderr,
}

/// Bytes that are produced when it is their turn.
pub(crate) type Source = Box<dyn Iterator<Item = Vec<u8>> + Send>;

enum Piece {
    Bytes(Vec<u8>),
    Source(Source),
}

/// The queue and its writer.
pub(super) struct Writer {
    shared: Arc<Shared>,
    hand: Hand,
}

/// The writer of the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hand {
    /// No thread was started yet.
    Idle,
    Thread,
    /// The caller itself: no thread could be started.
    Own,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<(Target, Piece)>,
    /// Bytes of all pieces, including the current one.
    waiting: usize,
    is_writing: bool,
    written: u64,
    /// Whether the reader of stdout went away.
    is_closed: bool,
    /// Whether no caller waits for the rest any more.
    is_over: bool,
    lost: Option<io::Error>,
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer { shared: Arc::default(), hand: Hand::Idle }
    }

    /// Queues bytes.
    pub(super) fn push(&mut self, target: Target, bytes: Vec<u8>) {
        let mut queue = self.shared.lock();
        queue.waiting += bytes.len();
        match queue.pieces.back_mut() {
            Some((same, Piece::Bytes(before)))
                if *same == target && before.len() + bytes.len() <= PORTION =>
            {
                before.extend_from_slice(&bytes);
            }
            _ => queue.pieces.push_back((target, Piece::Bytes(bytes))),
        }
        drop(queue);
        self.wake();
    }

    /// Queues bytes that are produced later.
    pub(super) fn push_source(&mut self, target: Target, source: Source) {
        self.shared.lock().pieces.push_back((target, Piece::Source(source)));
        self.wake();
    }

    fn wake(&mut self) {
        if self.hand == Hand::Idle {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("output".to_owned()).spawn(move || shared.serve());
            self.hand = if thread.is_ok() { Hand::Thread } else { Hand::Own };
        }
        match self.hand {
            Hand::Own => self.shared.work_off(),
            _ => self.shared.changed.notify_all(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.shared.lock().waiting < ROOM
    }

    /// Waits until there is room.
    pub(super) fn wait_for_room(&self) {
        self.wait_while(|queue| queue.waiting >= ROOM);
    }

    /// Waits until everything is written.
    pub(super) fn wait(&self) {
        self.wait_while(|queue| !queue.is_done());
    }

    fn wait_while(&self, mut is_so: impl FnMut(&mut Queue) -> bool) {
        let queue = self.shared.changed.wait_while(self.shared.lock(), |queue| is_so(queue));
        drop(queue.unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether everything is written within this time.
    pub(super) fn is_done_within(&self, time: Duration) -> bool {
        let queue =
            self.shared.changed.wait_timeout_while(self.shared.lock(), time, |queue| !queue.is_done());
        queue.unwrap_or_else(PoisonError::into_inner).0.is_done()
    }

    /// How many bytes were written so far.
    pub(super) fn written(&self) -> u64 {
        self.shared.lock().written
    }

    /// Whether the reader of stdout went away.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().is_closed
    }

    /// The first error of stdout since the last call.
    pub(super) fn take_lost(&self) -> Option<io::Error> {
        self.shared.lock().lost.take()
    }

    /// Drops everything that is not written yet, and all later output.
    pub(super) fn abandon(&self) {
        let mut queue = self.shared.lock();
        queue.is_over = true;
        queue.pieces.clear();
        self.shared.changed.notify_all();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Queue {
    fn is_done(&self) -> bool {
        self.is_over || (self.pieces.is_empty() && !self.is_writing)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        loop {
            let idle = |queue: &mut Queue| queue.pieces.is_empty() && !queue.is_over;
            let queue = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            if queue.is_over {
                return;
            }
            drop(queue);
            self.work_off();
        }
    }

    /// Writes until the queue is empty.
    fn work_off(&self) {
        while let Some((target, piece)) = self.next() {
            let size = match piece {
                Piece::Bytes(bytes) => {
                    self.write(target, &bytes);
                    bytes.len()
                }
                Piece::Source(source) => {
                    source.take_while(|_| self.is_open(target)).for_each(|bytes| self.write(target, &bytes));
                    0
                }
            };
            let mut queue = self.lock();
            queue.waiting -= size;
            queue.is_writing = false;
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<(Target, Piece)> {
        let mut queue = self.lock();
        let next = queue.pieces.pop_front();
        queue.is_writing = next.is_some();
        next
    }

    fn is_open(&self, target: Target) -> bool {
        let queue = self.lock();
        let is_closed = target == Target::Stdout && queue.is_closed;
        !(queue.is_over || is_closed)
    }

    fn write(&self, target: Target, bytes: &[u8]) {
        let mut left = bytes;
        while !left.is_empty() && self.is_open(target) {
            let portion = &left[..left.len().min(PORTION)];
            // not through the buffers of the standard library: they are flushed at exit, with or without a reader
            let done = match target {
                Target::Stdout => rustix::io::write(io::stdout(), portion),
                Target::Stderr => rustix::io::write(io::stderr(), portion),
            };
            match done {
                Ok(0) => return self.fail(target, io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.lock().written += count as u64;
                    left = &left[count..];
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => thread::sleep(AGAIN),
                Err(error) => return self.fail(target, error.into()),
            }
        }
    }

    /// Only stdout errors are kept: an error on stderr has no place to be reported.
    fn fail(&self, target: Target, error: io::Error) {
        let mut queue = self.lock();
        match (target, error.kind()) {
            (Target::Stderr, _) => {}
            (Target::Stdout, io::ErrorKind::BrokenPipe) => queue.is_closed = true,
            // the kind has a text that does not depend on the system
            (Target::Stdout, kind) => {
                queue.lost.get_or_insert_with(|| kind.into());
            }
        }
    }
}
