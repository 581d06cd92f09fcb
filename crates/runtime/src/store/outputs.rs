//! Following the output files of steps as they grow, without polling.
//!
//! One inotify instance serves all steps of a run. Without inotify a slow timer takes its place. While the sink cannot
//! take output it stays in the files, and no step waits for it.

mod rest;

use std::{
    collections::HashMap,
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

pub use rest::Rest;
pub(crate) use rest::ready;

/// The output stream of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
    /// An agent's standard output: its reader is woken, but the sink does not get it.
    Transcript,
}

/// The receiver of the output of steps.
pub trait Sink {
    /// Whether it can take more now.
    fn has_room(&self) -> bool;
    /// Takes output of a step.
    fn take(&mut self, step: &str, stream: Stream, bytes: &[u8]);
    /// Takes a part of a file, to be read when there is room: the step has ended, and no output follows.
    fn take_rest(&mut self, step: &str, stream: Stream, file: &Path, part: Range<u64>);
}

/// A followed file.
struct Followed {
    step: String,
    stream: Stream,
    path: PathBuf,
    file: Arc<File>,
    offset: u64,
    is_behind: bool,
    wake: Arc<Notify>,
    watch: KernelWatch,
}

/// Whether the kernel tells of what is written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelWatch {
    /// Not before this moment.
    From(Instant),
    /// It does, under this number.
    On(i32),
    /// It cannot.
    Never,
}

impl KernelWatch {
    fn number(self) -> Option<i32> {
        match self {
            KernelWatch::On(number) => Some(number),
            KernelWatch::From(_) | KernelWatch::Never => None,
        }
    }
}

/// The most bytes to read from one file at once: a step that never stops printing must not block the loop.
const PORTION: u64 = 1024 * 1024;
/// How long a step runs before its files are watched.
const LASTING: Duration = Duration::from_millis(50);
/// What is so short is taken at once when a step ends, room or no room.
const SHORT: u64 = 4096;
/// Shortest and longest pause between checks for room.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// All followed files.
pub struct Outputs {
    source: Source,
    files: Vec<Followed>,
    by_watch: HashMap<i32, usize>,
    held: Option<WaitForRoom>,
}

/// The sink has no room now.
#[derive(Clone, Copy)]
struct WaitForRoom {
    pause: Duration,
    until: Instant,
    /// The file that is next when there is room again.
    turn: usize,
}

enum Source {
    #[cfg(target_os = "linux")]
    Inotify(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    Timer,
}

impl Outputs {
    /// Follows nothing yet. Must be called inside a tokio runtime.
    pub fn new() -> Outputs {
        Outputs { source: Source::open(), files: Vec::new(), by_watch: HashMap::new(), held: None }
    }

    /// Follows a file; the returned [`Notify`] is woken whenever the file grows.
    pub fn follow(&mut self, step: &str, stream: Stream, path: &Path, file: Arc<File>) -> Arc<Notify> {
        let wake = Arc::new(Notify::new());
        let watch = match self.source {
            #[cfg(target_os = "linux")]
            Source::Inotify(_) => KernelWatch::From(Instant::now() + LASTING),
            Source::Timer => KernelWatch::Never,
        };
        self.files.push(Followed {
            step: step.to_owned(),
            stream,
            path: path.to_owned(),
            file,
            offset: 0,
            is_behind: false,
            wake: Arc::clone(&wake),
            watch,
        });
        wake
    }

    /// Stops following a step's files, after a last look at them; `ends` says how long they are, where that is known.
    pub fn forget(&mut self, step: &str, ends: &dyn Fn(Stream) -> Option<u64>, sink: &mut dyn Sink) {
        for followed in self.files.iter_mut().filter(|followed| followed.step == step) {
            // what a background process adds from now on is for the log only
            let end = ends(followed.stream);
            let end = end.unwrap_or_else(|| followed.file.metadata().map_or(0, |meta| meta.len()));
            while followed.offset < end && sink.has_room() && followed.drain(sink) {}
            followed.leave(end, sink);
            self.source.remove(followed.watch);
        }
        self.files.retain(|followed| followed.step != step);
        let numbers = self.files.iter().enumerate().filter_map(|(at, f)| Some((f.watch.number()?, at)));
        self.by_watch = numbers.collect();
    }

    /// Watches the files of steps that last, and says which these are.
    fn watch(&mut self) -> Vec<usize> {
        let now = Instant::now();
        let is_due =
            |followed: &Followed| matches!(followed.watch, KernelWatch::From(moment) if moment <= now);
        let due: Vec<usize> = (0..self.files.len()).filter(|at| is_due(&self.files[*at])).collect();
        for at in &due {
            let watch = self.source.add(&self.files[*at].path);
            self.files[*at].watch = watch;
            self.by_watch.extend(watch.number().map(|number| (number, *at)));
        }
        due
    }

    /// Waits until a followed file grows.
    pub async fn changed(&self) {
        #[cfg(test)]
        if crate::os::files::is_on() {
            return crate::simulation::something_was_printed().await;
        }
        if let Some(held) = self.held {
            return tokio::time::sleep_until(held.until).await;
        }
        if self.is_behind() {
            // lets other tasks run first
            return tokio::task::yield_now().await;
        }
        match &self.source {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) => {
                if self.files.is_empty() {
                    return std::future::pending().await;
                }
                let moments = self.files.iter().filter_map(|followed| match followed.watch {
                    KernelWatch::From(moment) => Some(moment),
                    KernelWatch::On(_) | KernelWatch::Never => None,
                });
                let due = async {
                    match moments.min() {
                        Some(moment) => tokio::time::sleep_until(moment).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    readable = fd.readable() => match readable {
                        // cleared before the events are read: what comes in between wakes us once more
                        Ok(mut guard) => guard.clear_ready(),
                        Err(_) => std::future::pending().await,
                    },
                    () = due => {}
                }
            }
            Source::Timer if self.files.is_empty() => std::future::pending().await,
            Source::Timer => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }

    fn is_behind(&self) -> bool {
        self.files.iter().any(|followed| followed.is_behind)
    }

    /// Passes on new output, as far as there is room.
    pub fn drain(&mut self, sink: &mut dyn Sink) {
        let changed = self.source.changed_watches();
        // a new watch reports no earlier write, so these files are read now
        let begun = self.watch();
        let (turn, count) = (self.held.map_or(0, |held| held.turn), self.files.len());
        for at in (0..count).map(|at| (at + turn) % count) {
            let followed = &mut self.files[at];
            let is_changed = match &changed {
                _ if followed.is_behind || begun.contains(&at) => true,
                Some(watches) => watches.iter().any(|watch| self.by_watch.get(watch) == Some(&at)),
                None => true,
            };
            if is_changed {
                followed.wake.notify_one();
                let _ = followed.drain(sink);
            }
        }
        self.hold(sink);
    }

    /// Without room, the pauses between checks become longer.
    fn hold(&mut self, sink: &dyn Sink) {
        let is_held = self.is_behind() && !sink.has_room();
        self.held = is_held.then(|| {
            let [shortest, longest] = PAUSES;
            let (pause, turn) =
                self.held.map_or((shortest, 0), |held| ((held.pause * 2).min(longest), held.turn));
            WaitForRoom { pause, until: Instant::now() + pause, turn: turn + 1 }
        });
    }
}

impl Default for Outputs {
    fn default() -> Outputs {
        Outputs::new()
    }
}

impl Followed {
    /// Passes on a portion of new output; returns whether there may be more.
    fn drain(&mut self, sink: &mut dyn Sink) -> bool {
        if self.stream == Stream::Transcript {
            return false;
        }
        let mut buffer = [0; 64 * 1024];
        let end = self.offset + PORTION;
        if !sink.has_room() {
            self.is_behind = true;
            return true;
        }
        self.is_behind = false;
        while let Ok(count) = self.file.read_at(&mut buffer, self.offset) {
            if count == 0 {
                break;
            }
            self.offset += count as u64;
            sink.take(&self.step, self.stream, &buffer[..count]);
            if self.offset >= end || !sink.has_room() {
                self.is_behind = true;
                break;
            }
        }
        self.is_behind
    }

    /// Leaves the output for which there was no room to the sink, up to this end.
    fn leave(&mut self, end: u64, sink: &mut dyn Sink) {
        let part = self.offset..end;
        if part.is_empty() || self.stream == Stream::Transcript {
            return;
        }
        if end - self.offset > SHORT {
            return sink.take_rest(&self.step, self.stream, &self.path, part);
        }
        let mut buffer = [0; SHORT as usize];
        if let Ok(count) = self.file.read_at(&mut buffer, self.offset) {
            sink.take(&self.step, self.stream, &buffer[..count]);
        }
    }
}

impl Source {
    #[cfg(target_os = "linux")]
    #[expect(
        deprecated,
        reason = "what replaces `AsyncFd::new` is unsafe and gains nothing for an owned descriptor"
    )]
    fn open() -> Source {
        use rustix::fs::inotify;
        #[cfg(test)]
        if crate::os::files::is_on() {
            return Source::Timer;
        }
        // stubs tell when they have printed
        if crate::os::stage::is_on() {
            return Source::Timer;
        }
        let fd = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC);
        match fd.map(tokio::io::unix::AsyncFd::new) {
            Ok(Ok(fd)) => Source::Inotify(fd),
            _ => Source::Timer,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open() -> Source {
        Source::Timer
    }

    /// A new watch, if there can be one.
    fn add(&self, path: &Path) -> KernelWatch {
        match self {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) => {
                let flags = rustix::fs::inotify::WatchFlags::MODIFY;
                rustix::fs::inotify::add_watch(fd.get_ref(), path, flags)
                    .map_or(KernelWatch::Never, KernelWatch::On)
            }
            Source::Timer => {
                let _ = path;
                KernelWatch::Never
            }
        }
    }

    fn remove(&self, watch: KernelWatch) {
        match (self, watch) {
            #[cfg(target_os = "linux")]
            (Source::Inotify(fd), KernelWatch::On(number)) => {
                let _ = rustix::fs::inotify::remove_watch(fd.get_ref(), number);
            }
            _ => {}
        }
    }

    /// The watches with events; `None` if that is unknown.
    fn changed_watches(&mut self) -> Option<Vec<i32>> {
        match self {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) => {
                let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
                let mut reader = rustix::fs::inotify::Reader::new(fd.get_ref(), &mut buffer);
                let mut watches = Vec::new();
                while let Ok(event) = reader.next() {
                    watches.push(event.wd());
                }
                Some(watches)
            }
            Source::Timer => None,
        }
    }
}
