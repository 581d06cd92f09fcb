//! The spec: a file, the text itself, or stdin.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use author::{
    digest::sha256,
    intake::{LARGEST_SPEC, SpecError, SpecPlace, spec_text},
};
use recipe::diagnostic::did_you_mean;
use runtime::os::shell_word::quote;

use super::{files::Destination, refused};
use crate::{
    args::generate::GenerateArgs,
    environment::Environment,
    report::{failure::Failure, hints::plain},
};

/// A spec that was read.
pub(super) struct GivenSpec {
    pub(super) text: String,
    /// Of its bytes.
    pub(super) sha256: String,
    /// Relative to the project, if it is a file.
    path: Option<String>,
}

impl GivenSpec {
    /// Where the spec is, or will be.
    pub(super) fn place(&self, destination: &Destination) -> SpecPlace {
        match &self.path {
            Some(path) => SpecPlace::File(path.clone()),
            None => SpecPlace::Beside { folder: destination.shown_folder(), stem: destination.stem() },
        }
    }
}

/// Reads the spec that the command line names.
pub(super) fn read(args: &GenerateArgs, environment: &Environment, dir: &Path) -> Result<GivenSpec, Failure> {
    let Some(given) = &args.spec else {
        return Err(refused("no spec given")
            .hint(format!("give a file or the text: `{}`", plain("generate SPEC.md"))));
    };
    if given == "-" {
        let bytes =
            bounded(io::stdin()).map_err(|error| refused(format!("stdin cannot be read: {error}")))?;
        return made(&bytes, None, "the spec on stdin");
    }
    if is_path(given) {
        return file(given, environment, dir);
    }
    let has_blank = given.contains(char::is_whitespace);
    if !given.is_empty() && !has_blank && environment.absolute(Path::new(given)).is_dir() {
        return Err(refused(format!("`{given}` is a directory, not a spec")));
    }
    made(given.as_bytes(), None, "the spec")
}

/// Whether an argument is a path.
fn is_path(given: &str) -> bool {
    let has_ending = given.ends_with(".md") || given.ends_with(".txt");
    has_ending || (given.contains('/') && !given.contains(char::is_whitespace))
}

fn bounded(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LARGEST_SPEC as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn file(given: &str, environment: &Environment, dir: &Path) -> Result<GivenSpec, Failure> {
    let path = environment.absolute(Path::new(given));
    let failure = |reason: &str| refused(format!("spec `{given}` {reason}"));
    match fs::metadata(&path) {
        Ok(facts) if facts.is_dir() => return Err(failure("is a directory, not a file")),
        Ok(facts) if facts.is_file() => {}
        Ok(_) => return Err(failure("is not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(given, &path)),
        Err(error) => return Err(failure(&format!("cannot be read: {error}"))),
    }
    let bytes = File::open(&path).and_then(bounded);
    let bytes = bytes.map_err(|error| failure(&format!("cannot be read: {error}")))?;
    made(&bytes, Some(relative(&path, dir)), &format!("spec `{given}`"))
}

/// A missing file, with one of a similar name or the way to give text.
fn missing(given: &str, path: &Path) -> Failure {
    let failure = refused(format!("spec `{given}` does not exist"));
    let names = path.parent().and_then(|parent| fs::read_dir(parent).ok()).into_iter().flatten();
    let names: Vec<String> = names
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") || name.ends_with(".txt"))
        .collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let meant = did_you_mean(&name, names.iter().map(String::as_str));
    if let Some(meant) = meant {
        let other = Path::new(given).with_file_name(meant);
        let command = plain(&format!("generate {}", quote(&other.to_string_lossy())));
        return failure.hint(format!("did you mean `{command}`?"));
    }
    match given.contains(char::is_whitespace) {
        true => {
            failure.hint(format!("if it is the text itself, give it on stdin: `{}`", plain("generate -")))
        }
        false => failure,
    }
}

fn made(bytes: &[u8], path: Option<String>, what: &str) -> Result<GivenSpec, Failure> {
    let text = spec_text(bytes).map_err(|error: SpecError| refused(format!("{what} {error}")))?;
    Ok(GivenSpec { text, sha256: sha256(bytes), path })
}

/// A path relative to the project, with `..` where it is outside.
fn relative(path: &Path, dir: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, dir) = (real(path), real(dir));
    let shared = path.components().zip(dir.components()).take_while(|(one, other)| one == other).count();
    let up = dir.components().skip(shared).map(|_| "..".to_owned());
    let down = path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}
