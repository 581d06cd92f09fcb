//! The texts that a run was made from: kept exactly, so that a resume compiles the same plan.
//!
//! Remembers every answer of the loader, also for recipes whose names became known only while running.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use recipe::{
    agent_ref::AgentRef,
    check::{LoadError, Loaded, Loader},
};
use serde::{Deserialize, Serialize};

use crate::folder::{Batch, FolderError, make_dir, to_json};

/// One remembered answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    /// `recipe`, `agent` or `root`.
    kind: String,
    /// The name that was asked for.
    name: String,
    /// The file that asked.
    from: String,
    /// The path of what was found; absent if nothing was.
    path: Option<String>,
    /// The file in the sources folder that holds its bytes.
    file: Option<String>,
}

/// An answer and the bytes that it led to.
type Known = (Answer, Option<Arc<[u8]>>);

/// A loader that remembers what another one answers.
pub struct Recording<'a> {
    inner: &'a dyn Loader,
    answers: Mutex<Vec<Known>>,
}

impl<'a> Recording<'a> {
    /// Remembers what `inner` answers.
    pub fn new(inner: &'a dyn Loader) -> Recording<'a> {
        Recording { inner, answers: Mutex::new(Vec::new()) }
    }

    /// Remembers what `remembered` answers besides everything that it knows already.
    pub fn going_on(remembered: &'a Remembered<'a>) -> Recording<'a> {
        let known = remembered.answers.iter().map(|answer| {
            let bytes = answer.file.as_ref().and_then(|file| remembered.bytes(file).ok());
            (answer.clone(), bytes)
        });
        Recording { inner: remembered, answers: Mutex::new(known.collect()) }
    }

    /// Remembers the recipe that everything begins with.
    pub fn root(&self, root: &Loaded) {
        self.remember("root", "", "", Some(&root.path), Some(Arc::clone(&root.bytes)));
    }

    fn remember(&self, kind: &str, name: &str, from: &str, path: Option<&str>, bytes: Option<Arc<[u8]>>) {
        let answer = Answer {
            kind: kind.to_owned(),
            name: name.to_owned(),
            from: from.to_owned(),
            path: path.map(str::to_owned),
            file: None,
        };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push((answer, bytes));
    }

    /// Writes everything that was remembered into a folder.
    pub fn save(&self, dir: &Path) -> Result<(), FolderError> {
        let mut files = Batch::default();
        self.write(dir, &mut files)?;
        files.sync()
    }

    /// The same, without waiting for the disk.
    pub(crate) fn write(&self, dir: &Path, files: &mut Batch) -> Result<(), FolderError> {
        make_dir(dir)?;
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written: Vec<(Arc<[u8]>, String)> = Vec::new();
        let mut index = Vec::new();
        for (answer, bytes) in answers.iter() {
            let mut answer = answer.clone();
            if let Some(bytes) = bytes {
                let known = written.iter().find(|(other, _)| other == bytes).map(|(_, file)| file.clone());
                let file = match known {
                    Some(file) => file,
                    None => {
                        let file = source_name(written.len(), answer.path.as_deref().unwrap_or(&answer.name));
                        files.write(dir.join(&file), bytes)?;
                        written.push((Arc::clone(bytes), file.clone()));
                        file
                    }
                };
                answer.file = Some(file);
            }
            index.push(answer);
        }
        let file = dir.join("index.json");
        let json = to_json(&index).map_err(FolderError::at("write", &file))?;
        files.write(file, &json)
    }
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

    fn recipe_names(&self) -> Vec<String> {
        self.inner.recipe_names()
    }
}

/// A loader that answers as it was remembered, and asks another one only for what was never asked before.
pub struct Remembered<'a> {
    dir: PathBuf,
    answers: Vec<Answer>,
    beyond: Option<&'a dyn Loader>,
}

impl<'a> Remembered<'a> {
    /// Reads a folder that [`Recording::save`] wrote.
    pub fn open(dir: &Path, beyond: Option<&'a dyn Loader>) -> Result<Remembered<'a>, FolderError> {
        let path = dir.join("index.json");
        let text = std::fs::read(&path).map_err(FolderError::at("read", &path))?;
        let answers =
            serde_json::from_slice(&text).map_err(|error| FolderError::at("read", &path)(error.into()))?;
        Ok(Remembered { dir: dir.to_owned(), answers, beyond })
    }

    /// The recipe that everything begins with.
    pub fn root(&self) -> Result<Loaded, FolderError> {
        let missing =
            || FolderError::at("find the recipe in", &self.dir)(std::io::ErrorKind::NotFound.into());
        let answer = self.answers.iter().find(|answer| answer.kind == "root").ok_or_else(missing)?;
        let (Some(path), Some(file)) = (&answer.path, &answer.file) else { return Err(missing()) };
        Ok(Loaded { path: path.clone(), bytes: self.bytes(file)? })
    }

    fn bytes(&self, file: &str) -> Result<Arc<[u8]>, FolderError> {
        let path = self.dir.join(file);
        // a source stands in the folder itself, whatever the index says
        if Path::new(file).file_name() != Some(file.as_ref()) {
            return Err(FolderError::at("read", &path)(std::io::ErrorKind::InvalidInput.into()));
        }
        std::fs::read(&path).map(Arc::from).map_err(FolderError::at("read", &path))
    }

    fn answer(&self, kind: &str, name: &str, from: &str) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.kind == kind && answer.name == name && answer.from == from)
    }

    /// The name by which the recipe with this path was asked for.
    pub(crate) fn name_of(&self, path: &str) -> Option<&str> {
        let is_it = |answer: &&Answer| answer.kind == "recipe" && answer.path.as_deref() == Some(path);
        self.answers.iter().find(is_it).map(|answer| answer.name.as_str())
    }

    /// Every recipe besides the first that was ever brought, with its path.
    pub(crate) fn recipes(&self) -> Vec<(String, Arc<[u8]>)> {
        let found = self.answers.iter().filter(|answer| answer.kind == "recipe");
        found
            .filter_map(|answer| Some((answer.path.clone()?, self.bytes(answer.file.as_ref()?).ok()?)))
            .collect()
    }

    /// The recipe with this path, if it was ever brought.
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

    fn recipe_names(&self) -> Vec<String> {
        self.beyond.map(Loader::recipe_names).unwrap_or_default()
    }
}
