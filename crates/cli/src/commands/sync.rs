//! `sync`: compares local recipes with those of a git remote.
//!
//! Never writes anything outside a private temporary directory: the user chooses what to take over. Only git uses the
//! network.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    path::Path,
    process::{Command, Stdio},
};

use runtime::os::environment::GIT_PLACES;
use serde_json::json;

use crate::{
    args::{SyncArgs, options::OutputFormat},
    commands::manifest::{Changes, is_recipe},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Directories with YAML files that are not recipes.
const SKIPPED_DIRS: &[&str] = &[".git", ".github", "node_modules", "target"];
/// The deepest local directories to look into.
const MAX_DEPTH: usize = 16;

/// Relative paths and contents of recipe files.
type Recipes = BTreeMap<String, Vec<u8>>;

/// Compares and prints what differs.
pub(crate) fn sync(args: &SyncArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let dir = environment.absolute(args.dir.as_deref().unwrap_or(Path::new("")));
    let local = local_recipes(&dir).map_err(|error| {
        Failure::new(Exit::BadArguments, format!("{} cannot be read: {error}", dir.display()))
    })?;
    let remote = Remote::fetch(args, &environment.machine.cwd)?.recipes(args.path.as_deref())?;
    let changes = Changes::between(&local, &remote);
    match args.format.output_format {
        OutputFormat::Json => out.json(&json!({
            "remote": args.remote,
            "branch": args.branch,
            "changed": changes.count() > 0,
            "new": changes.new,
            "modified": changes.modified,
            "deleted": changes.deleted,
        })),
        OutputFormat::Text => out.result(&summary(&changes, &args.remote, remote.len())),
    }
    Ok(Exit::Success)
}

fn summary(changes: &Changes, remote: &str, recipes: usize) -> String {
    if changes.count() == 0 {
        return format!("up to date with {remote}: {recipes} recipe files");
    }
    format!(
        "{}\n{} new, {} modified, {} deleted in {remote}; nothing was changed here",
        changes.lines(),
        changes.new.len(),
        changes.modified.len(),
        changes.deleted.len(),
    )
}

fn local_recipes(dir: &Path) -> io::Result<Recipes> {
    let mut recipes = Recipes::new();
    collect(dir, "", MAX_DEPTH, &mut recipes)?;
    Ok(recipes)
}

fn collect(dir: &Path, prefix: &str, depth: usize, recipes: &mut Recipes) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 && !SKIPPED_DIRS.contains(&name.as_str()) {
            // an unreadable directory does not stop the comparison
            drop(collect(&path, &format!("{prefix}{name}/"), depth - 1, recipes));
        } else if is_recipe(&path) && path.is_file() {
            recipes.insert(format!("{prefix}{name}"), fs::read(&path)?);
        }
    }
    Ok(())
}

/// A bare copy of the newest commit of a remote; removed with this value.
struct Remote {
    repository: tempfile::TempDir,
}

impl Remote {
    fn fetch(args: &SyncArgs, cwd: &Path) -> Result<Remote, Failure> {
        let repository =
            tempfile::Builder::new().prefix("recipe-runner-sync-").tempdir().map_err(|error| {
                Failure::new(Exit::Broken, format!("a temporary directory cannot be made: {error}"))
            })?;
        let mut clone = git(cwd);
        clone.args(["clone", "--quiet", "--bare", "--depth", "1", "--no-tags"]);
        if let Some(branch) = &args.branch {
            clone.arg(format!("--branch={branch}"));
        }
        clone.arg("--").arg(remote_address(&args.remote, cwd)).arg(repository.path());
        let what = match &args.branch {
            Some(branch) => format!("branch `{branch}` of `{}` cannot be fetched", args.remote),
            None => format!("`{}` cannot be fetched", args.remote),
        };
        output(clone, &what)?;
        Ok(Remote { repository })
    }

    fn recipes(&self, below: Option<&str>) -> Result<Recipes, Failure> {
        let below = below.map(|dir| format!("{}/", dir.trim_matches('/'))).unwrap_or_default();
        let mut list = git(self.repository.path());
        list.args(["ls-tree", "-r", "-z", "HEAD"]);
        let listing = output(list, "the files of the remote cannot be listed")?;
        let mut recipes = Recipes::new();
        for line in String::from_utf8_lossy(&listing).split('\0') {
            let Some((path, blob)) = recipe_entry(line) else { continue };
            let Some(path) = path.strip_prefix(&below) else { continue };
            let mut show = git(self.repository.path());
            show.args(["cat-file", "blob", blob]);
            recipes.insert(path.to_owned(), output(show, &format!("`{path}` cannot be read"))?);
        }
        Ok(recipes)
    }
}

/// Path and blob of a line of `git ls-tree`, if it is a recipe.
fn recipe_entry(line: &str) -> Option<(&str, &str)> {
    let (facts, path) = line.split_once('\t')?;
    let mut facts = facts.split(' ');
    let (mode, kind, blob) = (facts.next()?, facts.next()?, facts.next()?);
    let dirs = path.rsplit_once('/').map_or("", |(dirs, _)| dirs);
    let skipped = dirs.split('/').any(|dir| SKIPPED_DIRS.contains(&dir));
    (kind == "blob" && mode != "120000" && is_recipe(Path::new(path)) && !skipped).then_some((path, blob))
}

/// The address of a remote: a local path must not depend on git's directory, and shallow clones need a URL.
fn remote_address(remote: &str, cwd: &Path) -> String {
    let path = cwd.join(remote);
    if !remote.contains("://") && path.exists() {
        let path = path.canonicalize().unwrap_or(path);
        return format!("file://{}", path.display());
    }
    remote.to_owned()
}

fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).stdin(Stdio::null());
    // never asks a question, and never uses a repository around the current directory
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for name in GIT_PLACES {
        command.env_remove(name);
    }
    command
}

fn output(mut command: Command, what: &str) -> Result<Vec<u8>, Failure> {
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(Exit::Broken, "`git` is not installed, and `sync` needs it")
            .hint("install git, or make sure that it is in PATH"),
        _ => Failure::new(Exit::Broken, format!("`git` cannot be started: {error}")),
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let verb = command.get_args().next().unwrap_or(OsStr::new("")).to_string_lossy().into_owned();
    let failure = Failure::new(Exit::Broken, format!("{what}: `git {verb}` failed"));
    Err(said.into_iter().take(5).fold(failure, |failure, line| failure.hint(format!("git: {line}"))))
}
