//! What a stub does in place of a program: it prints, changes files and ends, each at its time. Starts no program but
//! `git`, for patches.

use std::{
    fs::File,
    io::Write as _,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{Stubs, case_error::CaseError};
use crate::os::{
    environment::Environment,
    files,
    git::Git,
    process::{EndedProcess, Exit, Swept},
};

/// How long a stub that never ends is waited for on the test clock: no timeout of a recipe is longer.
const ENDLESS: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// What a stub does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// The step that it answers for.
    pub(crate) path: String,
    /// How long it takes.
    pub(crate) after: Duration,
    /// What it prints.
    pub(crate) stdout: Vec<u8>,
    /// What it prints on standard error.
    pub(crate) stderr: Vec<u8>,
    /// Files that it writes, or removes.
    pub(crate) files: Vec<(String, Option<String>)>,
    /// A patch that it applies.
    pub(crate) patch: Option<String>,
    /// How it ends; `None` if it does not.
    pub(crate) exit: Option<i32>,
    /// The signal that ends it.
    pub(crate) signal: Option<i32>,
    /// Whether it works all the time, and never looks idle.
    pub(crate) is_busy: bool,
}

impl Script {
    fn end(&self) -> Option<Exit> {
        self.signal.map(Exit::Signal).or(self.exit.map(Exit::Code))
    }
}

/// A stub at work.
#[derive(Debug)]
pub(crate) struct Played {
    stubs: Arc<Stubs>,
    script: Script,
    cwd: PathBuf,
    env: Arc<Environment>,
    /// Its output files; a sub-recipe has none.
    outputs: Option<[File; 2]>,
    began: Instant,
    has_acted: bool,
    printed: Arc<Notify>,
    exit: Option<Exit>,
}

impl Played {
    pub(crate) fn new(
        stubs: Arc<Stubs>,
        script: Script,
        (cwd, env): (PathBuf, Arc<Environment>),
        outputs: Option<[File; 2]>,
    ) -> Played {
        let (began, printed) = (Instant::now(), Arc::default());
        Played { stubs, script, cwd, env, outputs, began, has_acted: false, printed, exit: None }
    }

    /// The same, which begins now.
    pub(crate) fn begun(self) -> Played {
        Played { began: Instant::now(), ..self }
    }

    /// Does its work and ends. Safe to cancel and to repeat.
    pub(crate) async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        sleep_until(self.began + self.script.after).await;
        if !std::mem::replace(&mut self.has_acted, true) {
            self.act();
        }
        if let Some(patch) = self.script.patch.clone() {
            self.apply(&patch).await;
            self.script.patch = None;
        }
        let exit = match self.script.end() {
            Some(exit) => exit,
            None => {
                sleep_until(self.began + ENDLESS).await;
                self.stubs.complain(CaseError::NeverEnds { path: self.script.path.clone() });
                Exit::Signal(KILLED)
            }
        };
        *self.exit.insert(exit)
    }

    /// Changes files, and prints.
    fn act(&mut self) {
        for (file, content) in std::mem::take(&mut self.script.files) {
            if let Err(why) = change(&self.cwd, &file, content.as_deref()) {
                let path = self.script.path.clone();
                self.stubs.complain(CaseError::File { path, file, why });
            }
        }
        let (out, err) = (&self.script.stdout, &self.script.stderr);
        let write =
            |[stdout, stderr]: &mut [File; 2]| stdout.write_all(out).and_then(|()| stderr.write_all(err));
        if let Some(Err(error)) = self.outputs.as_mut().map(write) {
            let (path, why) = (self.script.path.clone(), error.to_string());
            self.stubs.complain(CaseError::File { path, file: "stdout".to_owned(), why });
        }
        self.printed.notify_one();
    }

    async fn apply(&self, patch: &str) {
        let git = Git::new(&self.cwd, &self.env).await;
        // outside of a repository, `git apply` works on plain files
        let applied = git.run_with(&["apply", "--whitespace=nowarn", "-"], patch.as_bytes().to_vec()).await;
        let why = match applied {
            Ok(output) if output.status.success() => return,
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error,
        };
        self.stubs.complain(CaseError::Patch { path: self.script.path.clone(), why });
    }

    /// Tells when it has printed.
    pub(crate) fn printed(&self) -> Arc<Notify> {
        Arc::clone(&self.printed)
    }

    /// Whether it works all the time.
    pub(crate) fn is_busy(&self) -> bool {
        self.script.is_busy
    }

    /// Ends it, as SIGTERM ends a program.
    pub(crate) fn end(&mut self) -> EndedProcess {
        let exit = *self.exit.get_or_insert(Exit::Signal(TERMINATED));
        EndedProcess { exit: Some(exit), swept: Swept::default() }
    }
}

const KILLED: i32 = 9;
const TERMINATED: i32 = 15;

/// Writes or removes a file below a directory.
pub(crate) fn change(dir: &Path, file: &str, content: Option<&str>) -> Result<(), String> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if file.is_empty() || !Path::new(file).components().all(is_plain) {
        return Err("its path must be relative, without `..`".to_owned());
    }
    let path = dir.join(file);
    let changed = match content {
        Some(content) => path
            .parent()
            .map_or(Ok(()), files::make_dirs)
            .and_then(|()| files::overwrite(&path, content.as_bytes())),
        None if path.is_dir() => files::remove_dir(&path),
        None => files::remove_file(&path),
    };
    changed.map_err(|error| error.to_string())
}
