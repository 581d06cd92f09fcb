//! The sources of a run: stored exactly, so that a resume compiles the same plan.
//!
//! Records every answer of the loader, also for recipes whose names became known only during the run.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use recipe::{
    agent_ref::AgentRef,
    check::{LoadError, Loaded, Loader},
};
use serde::{Deserialize, Serialize};

use crate::{
    os::files,
    store::folder::{Batch, FolderError, make_dir, to_json},
};

/// One recorded answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    /// `recipe`, `agent` or `root`.
    kind: String,
    /// The requested name.
    name: String,
    /// The file that requested it.
    from: String,
    /// The path of the file that was found; absent if there is no such file.
    path: Option<String>,
    /// The file in the sources folder that holds its bytes.
    file: Option<String>,
}

/// An answer and the bytes of its file.
type RecordedAnswer = (Answer, Option<Arc<[u8]>>);

/// A loader that records the answers of another one.
pub struct Recording<'a> {
    inner: &'a dyn Loader,
    memory: Mutex<Memory>,
}

/// The recorded answers, and how many of them are written. The folder may be moved meanwhile.
#[derive(Default)]
struct Memory {
    answers: Vec<RecordedAnswer>,
    /// How many answers are in the folder.
    written: usize,
    /// The files in it, by their content.
    files: HashMap<Arc<[u8]>, String>,
}

impl Memory {
    /// Writes the files of the answers that are not written yet, and returns these answers.
    fn take_new(&mut self, dir: &Path, files: &mut Batch) -> Result<Vec<Answer>, FolderError> {
        let mut new = Vec::new();
        for (answer, bytes) in &self.answers[self.written..] {
            let mut answer = answer.clone();
            if let Some(bytes) = bytes {
                if !self.files.contains_key(bytes) {
                    let file = source_name(self.files.len(), answer.path.as_deref().unwrap_or(&answer.name));
                    files.write(dir.join(&file), bytes)?;
                    self.files.insert(Arc::clone(bytes), file);
                }
                answer.file = self.files.get(bytes).cloned();
            }
            new.push(answer);
        }
        self.written = self.answers.len();
        Ok(new)
    }
}

impl<'a> Recording<'a> {
    /// Records the answers of `inner`.
    pub fn new(inner: &'a dyn Loader) -> Recording<'a> {
        Recording { inner, memory: Mutex::default() }
    }

    /// Records new answers of `remembered`, in addition to everything that it already has.
    pub fn going_on(remembered: &'a Remembered<'a>) -> Recording<'a> {
        let mut memory = Memory::default();
        for answer in &remembered.answers {
            let bytes = answer.file.as_ref().and_then(|file| remembered.bytes(file).ok());
            if let (Some(bytes), Some(file)) = (&bytes, &answer.file) {
                memory.files.insert(Arc::clone(bytes), file.clone());
            }
            memory.answers.push((answer.clone(), bytes));
        }
        memory.written = memory.answers.len();
        Recording { inner: remembered, memory: Mutex::new(memory) }
    }

    /// Records the main recipe.
    pub fn root(&self, root: &Loaded) {
        self.remember("root", "", "", Some(&root.path), Some(Arc::clone(&root.bytes)));
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, kind: &str, name: &str, from: &str, path: Option<&str>, bytes: Option<Arc<[u8]>>) {
        let answer = Answer {
            kind: kind.to_owned(),
            name: name.to_owned(),
            from: from.to_owned(),
            path: path.map(str::to_owned),
            file: None,
        };
        let mut memory = self.memory();
        let is_same = |(known, held): &RecordedAnswer| {
            (&known.kind, &known.name, &known.from, &known.path)
                == (&answer.kind, &answer.name, &answer.from, &answer.path)
                && *held == bytes
        };
        if !memory.answers.iter().any(is_same) {
            memory.answers.push((answer, bytes));
        }
    }

    /// Writes everything recorded into a folder. Existing files do not change: they may be read at any time, and the
    /// program may die at any time.
    pub fn save(&self, dir: &Path) -> Result<(), FolderError> {
        let mut files = Batch::default();
        if self.memory().written == 0 || !dir.join(INDEX).exists() {
            self.write(dir, &mut files)?;
            return files.sync();
        }
        let new = self.memory().take_new(dir, &mut files)?;
        files.sync()?;
        append(&dir.join(LATER), &new)
    }

    /// The same for a new folder, without waiting for the disk.
    pub(crate) fn write(&self, dir: &Path, files: &mut Batch) -> Result<(), FolderError> {
        make_dir(dir)?;
        let mut memory = self.memory();
        *memory = Memory { answers: std::mem::take(&mut memory.answers), ..Memory::default() };
        let index = memory.take_new(dir, files)?;
        let file = dir.join(INDEX);
        let json = to_json(&index).map_err(FolderError::at("write", &file))?;
        files.write(file, &json)
    }
}

/// The index of the first sources of a run.
const INDEX: &str = "index.json";
/// The index of later answers, one line each.
const LATER: &str = "later.jsonl";

/// Appends answers to the later ones.
fn append(path: &Path, answers: &[Answer]) -> Result<(), FolderError> {
    if answers.is_empty() {
        return Ok(());
    }
    let at = FolderError::at("write", path);
    let write = || {
        files::point("file.create")?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        drop_torn_line(&file)?;
        for answer in answers {
            let line = serde_json::to_string(answer)? + "\n";
            files::write_all("file.write", &mut file, line.as_bytes())?;
        }
        files::sync("file.sync", &file)
    };
    write().map_err(at)
}

/// Removes an incomplete last line, which remains if the program died while writing it.
fn drop_torn_line(file: &File) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    if last == [b'\n'] {
        return Ok(());
    }
    let mut text = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut text, 0)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    file.set_len(whole as u64)
}

/// The answers that came later. A last line without a newline was not used yet, and is ignored.
fn later(dir: &Path) -> Result<Vec<Answer>, FolderError> {
    let path = dir.join(LATER);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(FolderError::at("read", &path))?,
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().filter(|line| !line.is_empty()).map(serde_json::from_str);
    lines.collect::<Result<_, _>>().map_err(|error| FolderError::at("read", &path)(error.into()))
}

fn source_name(number: usize, path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    format!("{number:02}-{name}")
}

impl Loader for Recording<'_> {
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError> {
        let found = self.inner.recipe(name, from)?;
        self.remember("recipe", name, from, Some(&found.path), Some(Arc::clone(&found.bytes)));
        Ok(found)
    }

    fn agent(&self, reference: &AgentRef, from: &str) -> Option<Arc<str>> {
        let found = self.inner.agent(reference, from);
        let bytes = found.as_ref().map(|text| Arc::from(text.as_bytes()));
        self.remember("agent", &reference.to_string(), from, None, bytes);
        found
    }

    fn prompt_file(&self, path: &str, from: &str) -> Option<Arc<str>> {
        let found = self.inner.prompt_file(path, from);
        let bytes = found.as_ref().map(|text| Arc::from(text.as_bytes()));
        self.remember("prompt", path, from, None, bytes);
        found
    }

    fn recipe_names(&self) -> Vec<String> {
        self.inner.recipe_names()
    }
}

/// A loader that gives the recorded answers, and asks another loader only for new requests.
pub struct Remembered<'a> {
    dir: PathBuf,
    answers: Vec<Answer>,
    beyond: Option<&'a dyn Loader>,
}

impl<'a> Remembered<'a> {
    /// Reads a folder that [`Recording::save`] wrote.
    pub fn open(dir: &Path, beyond: Option<&'a dyn Loader>) -> Result<Remembered<'a>, FolderError> {
        let path = dir.join(INDEX);
        let text = std::fs::read(&path).map_err(FolderError::at("read", &path))?;
        let mut answers: Vec<Answer> =
            serde_json::from_slice(&text).map_err(|error| FolderError::at("read", &path)(error.into()))?;
        answers.extend(later(dir)?);
        Ok(Remembered { dir: dir.to_owned(), answers, beyond })
    }

    /// The main recipe.
    pub fn root(&self) -> Result<Loaded, FolderError> {
        let missing =
            || FolderError::at("find the recipe in", &self.dir)(std::io::ErrorKind::NotFound.into());
        let answer = self.answers.iter().find(|answer| answer.kind == "root").ok_or_else(missing)?;
        let (Some(path), Some(file)) = (&answer.path, &answer.file) else { return Err(missing()) };
        Ok(Loaded { path: path.clone(), bytes: self.bytes(file)? })
    }

    fn bytes(&self, file: &str) -> Result<Arc<[u8]>, FolderError> {
        let path = self.dir.join(file);
        // a source is always in the folder itself, whatever the index says
        if Path::new(file).file_name() != Some(file.as_ref()) {
            return Err(FolderError::at("read", &path)(std::io::ErrorKind::InvalidInput.into()));
        }
        std::fs::read(&path).map(Arc::from).map_err(FolderError::at("read", &path))
    }

    fn answer(&self, kind: &str, name: &str, from: &str) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.kind == kind && answer.name == name && answer.from == from)
    }

    /// The name that requested the recipe with this path.
    pub(crate) fn name_of(&self, path: &str) -> Option<&str> {
        let is_it = |answer: &&Answer| answer.kind == "recipe" && answer.path.as_deref() == Some(path);
        self.answers.iter().find(is_it).map(|answer| answer.name.as_str())
    }

    /// Every recipe that was ever loaded besides the main one, with its path.
    pub(crate) fn recipes(&self) -> Vec<(String, Arc<[u8]>)> {
        let found = self.answers.iter().filter(|answer| answer.kind == "recipe");
        found
            .filter_map(|answer| Some((answer.path.clone()?, self.bytes(answer.file.as_ref()?).ok()?)))
            .collect()
    }

    /// The recipe with this path, if it was ever loaded.
    pub fn by_path(&self, path: &str) -> Option<Loaded> {
        let answer = self.answers.iter().find(|answer| answer.path.as_deref() == Some(path))?;
        let bytes = self.bytes(answer.file.as_ref()?).ok()?;
        Some(Loaded { path: path.to_owned(), bytes })
    }
}

impl Loader for Remembered<'_> {
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError> {
        let Some(answer) = self.answer("recipe", name, from) else {
            return match self.beyond {
                Some(beyond) => beyond.recipe(name, from),
                None => Err(LoadError::NotFound { searched: vec!["the sources of the run".to_owned()] }),
            };
        };
        let path = answer.path.clone().unwrap_or_default();
        let unreadable =
            |error: FolderError| LoadError::Unreadable { path: path.clone(), reason: error.to_string() };
        let bytes = self.bytes(answer.file.as_deref().unwrap_or_default()).map_err(unreadable)?;
        Ok(Loaded { path, bytes })
    }

    fn agent(&self, reference: &AgentRef, from: &str) -> Option<Arc<str>> {
        match self.answer("agent", &reference.to_string(), from) {
            Some(answer) => {
                let bytes = self.bytes(answer.file.as_ref()?).ok()?;
                std::str::from_utf8(&bytes).ok().map(Arc::from)
            }
            None => self.beyond.and_then(|beyond| beyond.agent(reference, from)),
        }
    }

    fn prompt_file(&self, path: &str, from: &str) -> Option<Arc<str>> {
        match self.answer("prompt", path, from) {
            Some(answer) => {
                let bytes = self.bytes(answer.file.as_ref()?).ok()?;
                std::str::from_utf8(&bytes).ok().map(Arc::from)
            }
            None => self.beyond.and_then(|beyond| beyond.prompt_file(path, from)),
        }
    }

    fn recipe_names(&self) -> Vec<String> {
        self.beyond.map(Loader::recipe_names).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loader that finds everything.
    struct Any;

    impl Loader for Any {
        fn recipe(&self, name: &str, _from: &str) -> Result<Loaded, LoadError> {
            Ok(Loaded { path: format!("{name}.yaml"), bytes: Arc::from(format!("name: {name}").as_bytes()) })
        }

        fn agent(&self, _reference: &AgentRef, _from: &str) -> Option<Arc<str>> {
            None
        }

        fn recipe_names(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn names(dir: &Path) -> Vec<String> {
        let remembered = Remembered::open(dir, None).unwrap();
        remembered.answers.iter().map(|answer| answer.name.clone()).collect()
    }

    #[test]
    fn what_is_asked_for_later_is_added_and_nothing_is_written_twice() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("sources");
        let recording = Recording::new(&Any);
        recording.root(&Any.recipe("root", "").unwrap());
        recording.save(&home.path().join("new")).unwrap();
        // the folder of a run gets its name only when it is complete
        std::fs::rename(home.path().join("new"), &dir).unwrap();
        let index = std::fs::read(dir.join(INDEX)).unwrap();
        for name in ["a", "b", "a", "a"] {
            recording.recipe(name, "root.yaml").unwrap();
            recording.save(&dir).unwrap();
        }
        assert_eq!(names(&dir), ["", "a", "b"]);
        assert_eq!(std::fs::read(dir.join(INDEX)).unwrap(), index);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 5);

        // a death in the middle of a line, and a process that continues after it
        let later = dir.join(LATER);
        let whole = std::fs::read(&later).unwrap();
        std::fs::write(&later, [&whole[..], b"{\"kind\": \"rec"].concat()).unwrap();
        assert_eq!(names(&dir), ["", "a", "b"]);
        let remembered = Remembered::open(&dir, Some(&Any)).unwrap();
        let continued = Recording::going_on(&remembered);
        for name in ["b", "c"] {
            continued.recipe(name, "root.yaml").unwrap();
            continued.save(&dir).unwrap();
        }
        assert_eq!(names(&dir), ["", "a", "b", "c"]);
        let again = Remembered::open(&dir, None).unwrap();
        assert_eq!(&*again.by_path("c.yaml").unwrap().bytes, b"name: c");
        assert_eq!(&*again.root().unwrap().bytes, b"name: root");
    }
}
