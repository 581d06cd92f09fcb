//! Whether a word is a path of the project, and if not, why.

use crate::{brief::TargetKind, project::ProjectFiles, words::targets};

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathShape {
    /// A path of the project, normalised.
    Path(String, TargetKind),
    /// It looks like a path and is none, with the reason.
    Noise(&'static str),
    /// It does not look like a path.
    Other,
}

/// Looks at a word. Files of the project decide about names without an ending.
pub(crate) fn shape(text: &str, files: &dyn ProjectFiles) -> PathShape {
    let text = text.trim();
    if let Some(reason) = noise(text) {
        return PathShape::Noise(reason);
    }
    if text.is_empty() || text.contains(char::is_whitespace) || text.contains(is_code_mark) {
        return PathShape::Other;
    }
    let path = text.strip_prefix("./").unwrap_or(text);
    if path.split('/').any(|part| part == "..") {
        return PathShape::Noise("it is outside the project");
    }
    match kind(path, files) {
        Some(kind) => {
            let path = path.trim_end_matches('/');
            let path = if kind == TargetKind::Folder { format!("{path}/") } else { path.to_owned() };
            PathShape::Path(path, kind)
        }
        None if path.contains('/') => {
            PathShape::Noise("it has no file name ending and is not in the project")
        }
        None => PathShape::Other,
    }
}

/// Whether a word is a path, for readers that need no reason.
pub(crate) fn path(text: &str, files: &dyn ProjectFiles) -> Option<String> {
    match shape(text, files) {
        PathShape::Path(path, _) => Some(path),
        PathShape::Noise(_) | PathShape::Other => None,
    }
}

fn is_code_mark(c: char) -> bool {
    "(){}<>|&;=,\"'`$#!?:@\\".contains(c)
}

/// Why a word that looks like a path is none.
fn noise(text: &str) -> Option<&'static str> {
    let known = targets();
    let lower = text.to_lowercase();
    let is_pair = known.pairs.has(&lower);
    let is_media_type = lower.split_once('/').is_some_and(|(kind, rest)| {
        known.media_types.has(kind)
            && !rest.contains('/')
            && ending(rest).is_none_or(|end| end_kind(end).is_none())
    });
    match text {
        _ if text.contains("://") || lower.starts_with("www.") || lower.starts_with("mailto:") => {
            Some("it is a URL")
        }
        _ if text.starts_with('-') => Some("it is an option"),
        _ if is_pair => Some("it is a pair of words"),
        _ if is_media_type => Some("it is a media type"),
        _ if text.starts_with('@') && text.contains('/') => Some("it is the name of a package"),
        _ if text.starts_with('/') && text.len() > 1 => Some("it is an absolute path or a route"),
        _ if text.starts_with("~/") => Some("it is outside the project"),
        _ => None,
    }
}

/// The ending of the last part of a path.
fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, end) = name.rsplit_once('.')?;
    (!stem.is_empty() && !end.is_empty()).then_some(end)
}

/// The kind of a file by its ending.
fn end_kind(end: &str) -> Option<TargetKind> {
    let end = end.to_lowercase();
    let known = &targets().endings;
    match () {
        () if known.code.has(&end) => Some(TargetKind::Code),
        () if known.document.has(&end) => Some(TargetKind::Document),
        () if known.other.has(&end) => Some(TargetKind::Other),
        () => None,
    }
}

fn kind(path: &str, files: &dyn ProjectFiles) -> Option<TargetKind> {
    let known = targets();
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    let first = parts.first().copied().unwrap_or_default();
    if name.is_empty() {
        return None;
    }
    let folders = &parts[..parts.len() - 1];
    let is_in = |list: &crate::words::PhraseList| folders.iter().any(|part| list.has(part));
    if path.contains('*') {
        let is_glob = path.contains('/') || ending(path).is_some_and(|end| end_kind(end).is_some());
        return is_glob.then_some(TargetKind::Glob);
    }
    let is_folder = path.ends_with('/') || files.is_folder(path.trim_end_matches('/'));
    if is_folder && (path.ends_with('/') || path.contains('/') || known.folders.has(path)) {
        return Some(TargetKind::Folder);
    }
    let by_end = ending(path).and_then(end_kind);
    let is_ambiguous = ending(path).is_some_and(|end| known.endings.ambiguous.has(&end.to_lowercase()));
    let stem = name.split('.').next().unwrap_or_default();
    let is_test = is_in(&known.test_folders)
        || name.contains("_test.")
        || name.contains(".test.")
        || name.starts_with("test_")
        || name.contains(".spec.");
    match by_end {
        Some(TargetKind::Code) if is_test => Some(TargetKind::Test),
        Some(kind) => Some(kind),
        None if known.document_names.has(stem) => Some(TargetKind::Document),
        None if known.plain_names.has(name) || files.is_file(path) => Some(TargetKind::Other),
        None if is_ambiguous && path.contains('/') => Some(TargetKind::Other),
        None if path.contains('/') && known.folders.has(first) && ending(path).is_none() => {
            Some(TargetKind::Folder)
        }
        None => None,
    }
}
