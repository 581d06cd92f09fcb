//! The whole context as JSON, for programs that want to read it: `$RECIPE_CONTEXT_FILE`.
//!
//! Every attempt has a file of its own name. Steps that run one after another share the bytes through a hard link, and
//! only changes are written, so that thousands of outputs do not make a run quadratic. Members of a parallel group get
//! real copies. A file that a step has modified is rewritten for the next one.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use engine::run::frame::Frame;
use recipe::value::Value;

use crate::os::files;

/// How much one attempt may share with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It runs alone: it may share the bytes.
    Alone,
    /// It runs in parallel with others: it gets its own copy.
    Beside,
}

/// The context of one frame as a file that grows with it.
#[derive(Debug)]
pub struct ContextFile {
    path: PathBuf,
    file: File,
    /// The place of the line of each name.
    lines: HashMap<String, (u64, usize)>,
    end: u64,
    /// How much of the frame's log is in the file.
    seen: usize,
    written: Option<(i64, i64, u64)>,
}

impl ContextFile {
    /// Writes the context of a frame.
    pub fn create(path: PathBuf, frame: &Frame) -> io::Result<ContextFile> {
        files::point("context.write")?;
        // an earlier process of the run may have left one
        let file = new_file(&path).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => files::remove_file(&path).and_then(|()| new_file(&path)),
            _ => Err(error),
        })?;
        let mut context = ContextFile { path, file, lines: HashMap::new(), end: 0, seen: 0, written: None };
        context.write(frame)?;
        Ok(context)
    }

    fn rewrite(&mut self, frame: &Frame) -> io::Result<()> {
        files::point("context.write")?;
        // a new file: a reader that still has the old one open keeps the old bytes
        files::discard_file(&self.path);
        self.file = new_file(&self.path)?;
        self.write(frame)
    }

    /// Writes everything into the new file.
    fn write(&mut self, frame: &Frame) -> io::Result<()> {
        self.lines.clear();
        let mut pen = Pen::at(&self.file, 0);
        pen.write_all(b"{\n")?;
        for (name, value) in &frame.context {
            let place = pen.line(name, value, self.lines.is_empty())?;
            self.lines.insert(name.clone(), place);
        }
        self.end = pen.finish()?;
        self.seen = frame.log.len();
        self.note()
    }

    /// Brings the file up to date with its frame.
    fn update(&mut self, frame: &Frame) -> io::Result<()> {
        if self.written != Some(self.stamp()?) || self.seen > frame.log.len() {
            return self.rewrite(frame);
        }
        if self.seen == frame.log.len() {
            return Ok(());
        }
        let mut names: Vec<&String> = frame.log[self.seen..].iter().rev().collect();
        let mut known = std::collections::HashSet::new();
        names.retain(|name| known.insert(name.as_str()));
        if names.iter().any(|name| self.lines.get(*name).is_some_and(|(at, _)| *at == FIRST)) {
            return self.rewrite(frame);
        }
        let mut pen = Pen::at(&self.file, self.end);
        for name in names.into_iter().rev() {
            let Some(value) = frame.context.get(name) else { continue };
            let place = pen.line(name, value, self.lines.is_empty())?;
            if let Some((at, length)) = self.lines.insert(name.clone(), place) {
                // spaces between two members are valid JSON
                self.file.write_all_at(&vec![b' '; length], at)?;
            }
        }
        self.end = pen.finish()?;
        self.seen = frame.log.len();
        self.note()
    }

    fn stamp(&self) -> io::Result<(i64, i64, u64)> {
        let meta = self.file.metadata()?;
        Ok((meta.mtime(), meta.mtime_nsec(), meta.len()))
    }

    fn note(&mut self) -> io::Result<()> {
        self.written = Some(self.stamp()?);
        Ok(())
    }

    /// Removes the file: no step gets it any more.
    pub fn discard(self) {
        // if this fails, the file only takes space
        files::discard_file(&self.path);
    }

    /// Gives an attempt its file.
    pub fn hand_out(&mut self, frame: &Frame, to: &Path, sharing: Sharing) -> io::Result<()> {
        self.update(frame)?;
        files::point("context.hand_out")?;
        match sharing {
            Sharing::Alone => fs::hard_link(&self.path, to).or_else(|_| self.copy(to)),
            Sharing::Beside => self.copy(to),
        }
    }

    fn copy(&self, to: &Path) -> io::Result<()> {
        // not `fs::copy`: it fails on file systems without permissions
        let mut copy = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
        io::copy(&mut File::open(&self.path)?, &mut copy).map(drop)
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Where the first member stands. It carries no comma, so it cannot be blanked out.
const FIRST: u64 = 2;
const END: &[u8] = b"}\n";

/// Writes members and tracks their places. A large value is streamed, not copied as a whole.
struct Pen<'a> {
    out: BufWriter<From<'a>>,
    at: u64,
}

/// Writes into a file from an offset on.
struct From<'a> {
    file: &'a File,
    offset: u64,
}

impl Write for From<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write_at(bytes, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pen<'_> {
    fn at(file: &File, at: u64) -> Pen<'_> {
        Pen { out: BufWriter::new(From { file, offset: at }), at }
    }

    /// Writes one member on its own line. The comma comes first, so that lines can be appended; the first line has no
    /// comma.
    fn line(&mut self, name: &str, value: &Value, is_first: bool) -> io::Result<(u64, usize)> {
        let start = self.at;
        self.write_all(if is_first { b" " } else { b"," })?;
        serde_json::to_writer(&mut *self, name)?;
        self.write_all(b":")?;
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")?;
        Ok((start, (self.at - start) as usize))
    }

    /// Ends the object; returns the place of the next member.
    fn finish(mut self) -> io::Result<u64> {
        let end = self.at;
        self.write_all(END)?;
        self.flush()?;
        Ok(end)
    }
}

impl Write for Pen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
