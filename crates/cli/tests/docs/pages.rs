//! Markdown pages and their code blocks.
//!
//! The words after the language of a block say what it is: `file=NAME` is written to a file, `fragment` is part of
//! a recipe, `config` is no recipe, `mistakes` is a recipe that must be refused, `run` is run and compared.

use std::{
    fs,
    path::{Path, PathBuf},
};

use testkit::TestEnv;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A Markdown page: its path from the root, and its text.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A code block.
pub(crate) struct Block {
    pub(crate) line: usize,
    pub(crate) language: String,
    words: Vec<String>,
    pub(crate) text: String,
}

impl Block {
    /// Whether it is marked with a word.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }

    /// The file that it is.
    pub(crate) fn file(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("file="))
    }
}

/// Every page that people read.
pub(crate) fn pages() -> Vec<Page> {
    let root = root();
    let mut files: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into();
    collect(&root.join("docs"), &mut files);
    files.sort();
    let page = |file: &PathBuf| Page {
        path: file.strip_prefix(&root).unwrap().to_string_lossy().into_owned(),
        text: fs::read_to_string(file).unwrap(),
    };
    files.iter().map(page).collect()
}

/// Pages whose recipes are meant to be right: those of diagnostics show mistakes, and have their own test.
pub(crate) fn pages_with_recipes() -> Vec<Page> {
    pages().into_iter().filter(|page| !page.path.starts_with("docs/src/reference/diagnostics/")).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
}

impl Page {
    /// Its code blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut inside = false;
        for (at, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), inside) {
                (Some(_), true) => inside = false,
                (Some(info), false) => {
                    let mut words = info.split_whitespace().map(str::to_owned);
                    let language = words.next().unwrap_or_default();
                    blocks.push(Block {
                        line: at + 1,
                        language,
                        words: words.collect(),
                        text: String::new(),
                    });
                    inside = true;
                }
                (None, true) => {
                    let block = blocks.last_mut().unwrap();
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, false) => {}
            }
        }
        assert!(!inside, "{}: a code block is not closed", self.path);
        blocks
    }

    /// The text without its code blocks.
    pub(crate) fn prose(&self) -> String {
        self.text.split("```").step_by(2).collect()
    }

    /// A world that has the files of the page.
    pub(crate) fn world(&self) -> TestEnv {
        use std::os::unix::fs::PermissionsExt as _;
        let env = crate::env();
        for block in self.blocks() {
            let Some(name) = block.file() else { continue };
            env.write(name, &block.text);
            if block.text.starts_with("#!") {
                fs::set_permissions(env.path(name), fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        env
    }
}
