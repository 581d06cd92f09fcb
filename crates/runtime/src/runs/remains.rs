//! Files that steps produced, compared with their current state. Never changes anything.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use engine::{
    Event,
    resume::Remains,
    run::event::{OutputRef, Spawned},
};

use super::OpenedRun;
use crate::store::values;

/// A declared file of a step.
struct Product<'a> {
    step: &'a str,
    file: &'a OutputRef,
}

impl OpenedRun {
    /// The files that are not as the steps left them.
    pub(super) fn remains(&self) -> Remains {
        let lost = self.lost.keys().cloned().collect();
        let mut remains = Remains { lost, ..Remains::default() };
        for (place, makers) in self.products() {
            match &*makers {
                [.., last] if place.is_file() || place.is_symlink() => {
                    // the last step that made the file counts
                    if is_altered(&place, last.file) {
                        let files = remains.altered.entry(last.step.to_owned()).or_default();
                        files.push(last.file.file.clone());
                    }
                }
                makers => makers.iter().for_each(|maker| {
                    let files = remains.missing.entry(maker.step.to_owned()).or_default();
                    files.push(maker.file.file.clone());
                }),
            }
        }
        remains
    }

    /// Declared files by their places, each with the steps that made it, in the order in which they ended.
    fn products(&self) -> BTreeMap<PathBuf, Vec<Product<'_>>> {
        let mut dirs: HashMap<&str, &Path> = HashMap::new();
        let mut ends: HashMap<&str, (usize, &Path, &[OutputRef])> = HashMap::new();
        for (number, record) in self.records.iter().enumerate() {
            match &record.event {
                Event::Spawned(Spawned { path, cwd, purpose: None, .. }) => {
                    dirs.insert(path, Path::new(cwd));
                }
                Event::StepFinished { path, ended, .. } => {
                    let dir = dirs.get(path.as_str()).copied().or_else(|| self.recipe_dir(path));
                    match dir {
                        Some(dir) => ends.insert(path, (number, dir, &ended.produced)),
                        None => ends.remove(path.as_str()),
                    };
                }
                _ => {}
            }
        }
        let mut ends: Vec<_> = ends.into_iter().collect();
        ends.sort_by_key(|(_, (number, ..))| *number);
        let mut products: BTreeMap<PathBuf, Vec<Product<'_>>> = BTreeMap::new();
        for (step, (_, dir, files)) in ends {
            for file in files {
                products.entry(dir.join(&file.file)).or_default().push(Product { step, file });
            }
        }
        products
    }

    /// The directory of a recipe step, which starts no process of its own: that of the run by default.
    fn recipe_dir(&self, path: &str) -> Option<&Path> {
        let mut here = Some(self.state.locate(path)?);
        while let Some((id, at)) = here {
            let frame = &self.state.frames[id];
            if frame.unit.steps[at].working_dir.is_some() {
                return None;
            }
            here = frame.parent;
        }
        Some(&self.header.working_dir)
    }
}

/// Whether a file differs from its record; an unreadable file is left to the step that needs it.
fn is_altered(place: &Path, known: &OutputRef) -> bool {
    // a file without a digest was too large, or was empty in an older journal
    let differs =
        |now: OutputRef| now.bytes != known.bytes || (known.sha256.is_some() && now.sha256 != known.sha256);
    values::produced_ref(Path::new(""), place).is_some_and(differs)
}
