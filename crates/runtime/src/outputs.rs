//! Following what steps write into their files, as it comes, without polling.
//!
//! One inotify instance serves all steps of a run. Where there is none, a slow timer takes its place.

use std::{collections::HashMap, fs::File, os::unix::fs::FileExt, path::Path, sync::Arc, time::Duration};

use tokio::sync::Notify;

/// Which of its outputs a step wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// An agent's standard output: somebody is woken who reads it, and it is handed on to nobody.
    Transcript,
}

/// A file that is followed.
struct Followed {
    step: String,
    stream: Stream,
    file: Arc<File>,
    offset: u64,
    is_behind: bool,
    wake: Arc<Notify>,
    watch: i32,
}

/// Most bytes that are read of one file in one go: a step that never stops printing must not keep the loop from
/// everything else.
const PORTION: u64 = 1024 * 1024;

/// All files that are followed.
pub struct Outputs {
    source: Source,
    files: Vec<Followed>,
    by_watch: HashMap<i32, usize>,
}

enum Source {
    #[cfg(target_os = "linux")]
    Inotify(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    Timer,
}

impl Outputs {
    /// Follows nothing yet. Must be called inside a tokio runtime.
    pub fn new() -> Outputs {
        Outputs { source: Source::open(), files: Vec::new(), by_watch: HashMap::new() }
    }

    /// Follows a file; the answer is woken whenever something is written to it.
    pub fn follow(&mut self, step: &str, stream: Stream, path: &Path, file: Arc<File>) -> Arc<Notify> {
        let watch = self.source.add(path);
        let wake = Arc::new(Notify::new());
        if watch >= 0 {
            self.by_watch.insert(watch, self.files.len());
        }
        self.files.push(Followed {
            step: step.to_owned(),
            stream,
            file,
            offset: 0,
            is_behind: false,
            wake: Arc::clone(&wake),
            watch,
        });
        wake
    }

    /// Stops following a step's files, after a last look at them.
    pub fn forget(&mut self, step: &str, sink: &mut dyn FnMut(&str, Stream, &[u8])) {
        for followed in self.files.iter_mut().filter(|followed| followed.step == step) {
            // what a background process adds from now on is for the log only
            let end = followed.file.metadata().map_or(0, |meta| meta.len());
            while followed.offset < end && followed.drain(sink) {}
            self.source.remove(followed.watch);
        }
        self.files.retain(|followed| followed.step != step);
        self.by_watch = self
            .files
            .iter()
            .enumerate()
            .filter(|(_, f)| f.watch >= 0)
            .map(|(at, f)| (f.watch, at))
            .collect();
    }

    /// Waits until something was written to a followed file.
    pub async fn changed(&self) {
        #[cfg(test)]
        if crate::fault::is_on() {
            return crate::simulation::something_was_printed().await;
        }
        if self.files.iter().any(|followed| followed.is_behind) {
            // others get their turn first
            return tokio::task::yield_now().await;
        }
        match &self.source {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) => {
                if self.files.is_empty() {
                    return std::future::pending().await;
                }
                match fd.readable().await {
                    // cleared before the events are read: what comes in between wakes us once more
                    Ok(mut guard) => guard.clear_ready(),
                    Err(_) => std::future::pending().await,
                }
            }
            Source::Timer if self.files.is_empty() => std::future::pending().await,
            Source::Timer => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }

    /// Hands on what was written since the last time.
    pub fn drain(&mut self, sink: &mut dyn FnMut(&str, Stream, &[u8])) {
        let changed = self.source.changed_watches();
        for (at, followed) in self.files.iter_mut().enumerate() {
            let is_changed = match &changed {
                _ if followed.is_behind => true,
                Some(watches) => watches.iter().any(|watch| self.by_watch.get(watch) == Some(&at)),
                None => true,
            };
            if is_changed {
                followed.wake.notify_one();
                let _ = followed.drain(sink);
            }
        }
    }
}

impl Default for Outputs {
    fn default() -> Outputs {
        Outputs::new()
    }
}

impl Followed {
    /// Hands on a portion of what is new; says whether there may be more.
    fn drain(&mut self, sink: &mut dyn FnMut(&str, Stream, &[u8])) -> bool {
        if self.stream == Stream::Transcript {
            return false;
        }
        let mut buffer = [0; 64 * 1024];
        let end = self.offset + PORTION;
        self.is_behind = false;
        while let Ok(count) = self.file.read_at(&mut buffer, self.offset) {
            if count == 0 {
                break;
            }
            self.offset += count as u64;
            sink(&self.step, self.stream, &buffer[..count]);
            if self.offset >= end {
                self.is_behind = true;
                break;
            }
        }
        self.is_behind
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
        if crate::fault::is_on() {
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

    /// The number of a new watch; negative if there is none.
    fn add(&self, path: &Path) -> i32 {
        match self {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) => {
                let flags = rustix::fs::inotify::WatchFlags::MODIFY;
                rustix::fs::inotify::add_watch(fd.get_ref(), path, flags).unwrap_or(-1)
            }
            Source::Timer => {
                let _ = path;
                -1
            }
        }
    }

    fn remove(&self, watch: i32) {
        match self {
            #[cfg(target_os = "linux")]
            Source::Inotify(fd) if watch >= 0 => {
                let _ = rustix::fs::inotify::remove_watch(fd.get_ref(), watch);
            }
            _ => {}
        }
    }

    /// The watches that something happened to; `None` if that is not known.
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
