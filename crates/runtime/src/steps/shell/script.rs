//! From a command with templates to the script that bash gets, and the environment around it.
//!
//! Values never become program text: the script refers to shell variables.

use std::{borrow::Cow, collections::HashMap, path::Path, sync::Arc};

use engine::run::{
    cause::{Refusal, ValueProblem},
    frame::Frame,
};
use recipe::{
    env_name,
    scope::{Path as NamePath, Scope},
    shell::{Piece, assemble},
    syntax::Shell,
    template::Template,
    value::{Segment, Value},
};

use crate::{
    steps::shell::export::{Share, exports, prologue},
    store::{
        folder::{FolderError, make_dir, write_private},
        large::LargeFiles,
    },
};

/// Largest script that is passed as an argument.
const INLINE_SCRIPT: usize = 64 * 1024;

/// A script that is ready to run.
#[derive(Debug)]
pub struct Script {
    /// Arguments of bash.
    pub args: Vec<String>,
    /// Variables of the context.
    pub env: Vec<(String, String)>,
    /// How much of the context they cover.
    pub share: Share,
    /// Whether it needs files in the private folder of its attempt.
    pub has_files: bool,
}

/// Why the script cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A value cannot be used in the command.
    #[error("{0}")]
    Refused(Refusal),
    /// A private file could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// A command, and the values around it.
pub struct ScriptSource<'a> {
    /// The command.
    pub command: &'a Template,
    /// Resolves its names: the frame, or the frame with more.
    pub scope: &'a dyn Scope,
    /// The frame, and those around it.
    pub lineage: &'a [&'a Frame],
    /// The largest value in the environment, in bytes.
    pub max_value: Option<u64>,
    /// How bash runs it.
    pub shell: Shell,
    /// Variables of the step that are too large for an environment.
    pub own: Vec<(String, Arc<str>)>,
}

/// Makes the script of a command. Its files go into the folder `private`, unless `files` has them already.
pub fn prepare(source: ScriptSource<'_>, private: &Path, files: &LargeFiles) -> Result<Script, ScriptError> {
    let (pieces, paths) = source.command.pieces(source.scope);
    let (body, wanted) = resolve(&pieces, &paths, source.scope)?;
    let mut exports = exports(source.lineage, &body, wanted, source.max_value);
    exports.large.extend(source.own);
    let mut paths = Vec::with_capacity(exports.large.len());
    for (_, text) in &exports.large {
        paths.push(files.hold(text, private)?);
    }
    let body = match exports.large.is_empty() {
        true => body,
        false => Cow::Owned(prologue(&exports.large, &paths) + &body),
    };
    let has_files = !exports.large.is_empty() || body.len() > INLINE_SCRIPT;
    Ok(Script {
        args: bash_args(&body, source.shell, private)?,
        env: exports.env,
        share: exports.share,
        has_files,
    })
}

fn bash_args(body: &str, shell: Shell, private: &Path) -> Result<Vec<String>, ScriptError> {
    let mut args: Vec<String> = match shell {
        Shell::Bash => Vec::new(),
        Shell::Strict => ["-euo", "pipefail"].map(str::to_owned).into(),
    };
    if body.len() <= INLINE_SCRIPT {
        args.extend(["-c".to_owned(), body.to_owned()]);
        return Ok(args);
    }
    make_dir(private)?;
    let file = private.join("script.sh");
    write_private(&file, body.as_bytes())?;
    args.push(file.to_string_lossy().into_owned());
    Ok(args)
}

type Wanted = Vec<(String, Value)>;

fn resolve<'a>(
    pieces: &[Piece<'a>],
    paths: &[&NamePath],
    scope: &dyn Scope,
) -> Result<(Cow<'a, str>, Wanted), ScriptError> {
    if let [Piece::Text(text)] = pieces {
        return Ok((Cow::Borrowed(text), Vec::new()));
    }
    let names = variables(paths);
    let script = assemble(pieces, &|hole| names[hole].clone());
    let mut wanted = Vec::with_capacity(script.used.len());
    for hole in script.used {
        let value = paths[hole].resolve(scope);
        let refused = |why| ScriptError::Refused(Refusal::Value { name: paths[hole].to_string(), why });
        let shown = || value.render().chars().take(80).collect::<String>();
        if script.arithmetic.contains(&hole) && !is_whole_number(&value.render()) {
            return Err(refused(ValueProblem::NotANumber(shown())));
        }
        if script.names.contains(&hole) && has_subscript_to_evaluate(&value.render()) {
            return Err(refused(ValueProblem::NotAName(shown())));
        }
        if matches!(&value, Value::Text(text) if text.contains('\0')) {
            return Err(refused(ValueProblem::Nul));
        }
        wanted.push((names[hole].clone(), value));
    }
    Ok((Cow::Owned(script.body), wanted))
}

/// The shell variables of paths: the exported name, unless another path has the same (`a-b` and `a_b`).
fn variables(paths: &[&NamePath]) -> Vec<String> {
    let mut owners: HashMap<String, &NamePath> = HashMap::new();
    let mut variables = Vec::with_capacity(paths.len());
    for (at, path) in paths.iter().enumerate() {
        let plain = path.segments.iter().all(|segment| matches!(segment, Segment::Key(_)));
        let name = plain.then(|| env_name::variable(&path.to_string())).flatten();
        let own = name.filter(|name| *owners.entry(name.clone()).or_insert(path) == *path);
        variables.push(own.unwrap_or_else(|| format!("RECIPE_ARG_{at}")));
    }
    variables
}

/// Whether a text, used as the name of a variable, has a subscript that is more than a number.
fn has_subscript_to_evaluate(text: &str) -> bool {
    text.split('[').skip(1).any(|rest| {
        let inside = rest.split(']').next().unwrap_or_default();
        !matches!(inside, "@" | "*") && !is_whole_number(inside)
    })
}

fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
