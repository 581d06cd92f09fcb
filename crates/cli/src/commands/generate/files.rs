//! The files of a generation: where they go, and that none is overwritten by accident.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use author::{Written, brief::Brief, name::is_name};
use runtime::os::shell_word::quote;
use serde_json::Value as Json;

use super::refused;
use crate::{
    args::generate::GenerateArgs,
    environment::Environment,
    exit::Exit,
    report::{failure::Failure, hints::plain},
};

/// The folder for recipes in a project.
const FOLDER: &str = "recipes";

/// Where the recipe goes.
pub(super) struct Destination {
    /// The project.
    dir: PathBuf,
    folder: PathBuf,
    /// The stem of the file, if `--out` names one.
    stem: Option<String>,
}

impl Destination {
    /// From `--out`: a file, or a folder.
    pub(super) fn new(
        args: &GenerateArgs,
        environment: &Environment,
        dir: &Path,
    ) -> Result<Destination, Failure> {
        let made = |folder: PathBuf, stem| Destination { dir: dir.to_owned(), folder, stem };
        let Some(out) = &args.out else { return Ok(made(dir.join(FOLDER), None)) };
        let path = if args.working_dir.is_some() { dir.join(out) } else { environment.absolute(out) };
        let is_folder = path.is_dir() || out.to_string_lossy().ends_with('/');
        if is_folder {
            return Ok(made(path, None));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
        match stem.filter(|stem| is_name(stem)) {
            Some(stem) => Ok(made(path.parent().unwrap_or(dir).to_owned(), Some(stem.to_owned()))),
            None => Err(refused(format!(
                "`--out {}` must be a folder, or a file that ends in .yaml",
                out.display()
            ))),
        }
    }

    /// The name of the recipe that the file suggests.
    pub(super) fn name(&self) -> Option<String> {
        self.stem.clone()
    }

    pub(super) fn stem(&self) -> Option<String> {
        self.stem.clone()
    }

    /// The folder relative to the project, if it is inside.
    pub(super) fn shown_folder(&self) -> String {
        let folder = self.folder.strip_prefix(&self.dir).unwrap_or(&self.folder);
        let shown = folder.to_string_lossy().into_owned();
        if shown.is_empty() { ".".to_owned() } else { shown }
    }

    /// The files of a recipe.
    pub(super) fn files(&self, brief: &Brief, written: &Written) -> GeneratedFiles {
        let stem = self.stem.clone().unwrap_or_else(|| brief.name.clone());
        let texts = written.files.iter().map(|file| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let name = match name.strip_prefix(&brief.name) {
                Some(rest) if rest.starts_with('.') => format!("{stem}{rest}"),
                _ => name.to_owned(),
            };
            (name, file.text.clone())
        });
        let mut texts: Vec<(String, String)> = texts.collect();
        if !brief.spec.is_file {
            texts.push((format!("{stem}.spec.md"), brief.spec.text.clone()));
        }
        let record = format!("{stem}.generation.json");
        GeneratedFiles { dir: self.dir.clone(), folder: self.folder.clone(), texts, record }
    }
}

/// The files that are written.
pub(super) struct GeneratedFiles {
    dir: PathBuf,
    pub(super) folder: PathBuf,
    /// Names and texts: the recipe first, then those of tracks, then the tests.
    pub(super) texts: Vec<(String, String)>,
    record: String,
}

impl GeneratedFiles {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.texts.iter().map(|(name, _)| name).chain([&self.record])
    }

    /// The path of a file as it is shown: relative to the project.
    fn shown(&self, name: &str) -> String {
        let path = self.folder.join(name);
        path.strip_prefix(&self.dir).unwrap_or(&path).to_string_lossy().into_owned()
    }

    /// The recipe, as it is shown.
    pub(super) fn recipe(&self) -> String {
        self.texts.first().map(|(name, _)| self.shown(name)).unwrap_or_default()
    }

    /// The tests, as they are shown.
    pub(super) fn tests(&self) -> Option<String> {
        let is_test = |name: &&String| name.contains(".test.yaml");
        self.texts.iter().map(|(name, _)| name).find(is_test).map(|name| self.shown(name))
    }

    /// The record, as it is shown.
    pub(super) fn record(&self) -> String {
        self.shown(&self.record)
    }

    /// The file name of the recipe.
    pub(super) fn recipe_name(&self) -> String {
        self.texts.first().map(|(name, _)| name.clone()).unwrap_or_default()
    }

    /// The file names of all recipes, the main one first.
    pub(super) fn recipe_names(&self) -> Vec<String> {
        let is_recipe = |name: &&String| name.ends_with(".yaml") && !name.ends_with(".test.yaml");
        self.texts.iter().map(|(name, _)| name).filter(is_recipe).cloned().collect()
    }

    /// The file name of the tests.
    pub(super) fn tests_name(&self) -> String {
        let is_test = |name: &&String| name.ends_with(".test.yaml");
        self.texts.iter().map(|(name, _)| name).find(is_test).cloned().unwrap_or_default()
    }

    /// Writes copies of the texts into another folder.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), Failure> {
        for (name, text) in &self.texts {
            let path = folder.join(name);
            let written = fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| refused(format!("`{}` cannot be written: {error}", path.display())))?;
        }
        Ok(())
    }

    /// All files, as they are shown.
    pub(super) fn all(&self) -> Vec<String> {
        self.names().map(|name| self.shown(name)).collect()
    }

    /// The same files with `.draft` at the end of their names: they are no recipes and no tests.
    pub(super) fn into_drafts(mut self) -> GeneratedFiles {
        for (name, _) in &mut self.texts {
            name.push_str(".draft");
        }
        self.record.push_str(".draft");
        self
    }

    /// Refuses to overwrite.
    pub(super) fn check(&self, args: &GenerateArgs) -> Result<(), Failure> {
        let existing = self.names().find(|name| fs::symlink_metadata(self.folder.join(name)).is_ok());
        let Some(name) = existing.filter(|_| !args.force) else { return Ok(()) };
        let spec = quote(args.spec.as_deref().unwrap_or("SPEC.md"));
        let stem = self.recipe_name().split('.').next().unwrap_or_default().to_owned();
        let message = format!("`{}` exists and is not overwritten", self.shown(name));
        Err(Failure::new(Exit::Conflict, message)
            .without_obstacle()
            .fact("stage", "generate")
            .hint("stage: generate. No file was changed.")
            .hint(format!("overwrite it: `{}`", plain(&format!("generate {spec} --force"))))
            .hint(format!("or give another name: `{}`", plain(&format!("generate {spec} --name {stem}-2")))))
    }

    /// Writes everything; on a failure removes the files that it made.
    pub(super) fn write(&self, record: &Json, args: &GenerateArgs) -> Result<(), Failure> {
        self.check(args)?;
        let force = args.force;
        let record_text = serde_json::to_string_pretty(record).unwrap_or_default() + "\n";
        let failed = |path: &Path, error: io::Error| {
            refused(format!("`{}` cannot be written: {error}", path.display()))
        };
        fs::create_dir_all(&self.folder).map_err(|error| failed(&self.folder, error))?;
        let texts = self.texts.iter().map(|(name, text)| (name, text.as_str()));
        let mut made: Vec<PathBuf> = Vec::new();
        for (name, text) in texts.chain([(&self.record, record_text.as_str())]) {
            let path = self.folder.join(name);
            let mut options = fs::OpenOptions::new();
            options.write(true);
            if force {
                options.create(true).truncate(true)
            } else {
                options.create_new(true)
            };
            let result = options.open(&path).and_then(|mut file| {
                made.push(path.clone());
                file.write_all(text.as_bytes())
            });
            if let Err(error) = result {
                if !force {
                    made.iter().for_each(|path| runtime::os::files::discard_file(path));
                }
                return Err(failed(&path, error));
            }
        }
        Ok(())
    }
}
