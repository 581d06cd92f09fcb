//! What the tests of processes share: a private folder, shell steps, and looking at what is alive.
//! Never asserts anything about the subject.
#![allow(
    clippy::allow_attributes,
    clippy::unwrap_used,
    dead_code,
    reason = "each test program uses its own part of it"
)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use runtime::os::environment::Environment;
use runtime::os::process::{Launch, Marker, Running, Stdin, open_output, start};

pub(crate) const GRACE: Duration = Duration::from_millis(300);

/// A private folder and run id; the folder goes with it.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) run: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let run = format!("run-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(&run);
        fs::create_dir_all(&folder).unwrap();
        Self { folder, run }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn launch(&self, step: &str, program: &str, args: &[&str]) -> Launch {
        let output = |name: &str| open_output(&self.file(name)).unwrap();
        Launch {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            env: Arc::new(Environment::from(vec![
                ("PATH".into(), std::env::var_os("PATH").unwrap()),
                ("D".into(), self.folder.clone().into()),
            ])),
            cwd: self.folder.clone(),
            stdin: Stdin::Null,
            stdout: output("stdout"),
            stderr: output("stderr"),
            kept: ["stdout", "stderr"].map(|name| Arc::new(output(name))),
            marker: Marker { run: self.run.clone(), step: format!("{step}#1") },
        }
    }

    /// Starts a shell step; in the script, `$D` is the folder.
    pub(crate) fn shell(&self, step: &str, script: &str) -> Running {
        start(self.launch(step, "/bin/bash", &["-c", script])).unwrap()
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.file("stdout")).unwrap()
    }

    /// Waits for a process number in a file that a script writes.
    pub(crate) async fn pid(&self, name: &str) -> i32 {
        wait_for_pid(&self.file(name)).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) async fn wait_for_pid(file: &Path) -> i32 {
    let started = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse().ok()) {
            return pid;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "no process number in {}", file.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process of this number is alive; a zombie is not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The children of this test program, zombies included.
pub(crate) fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
