//! Lists the descriptions of agent programs: a new program is one file in `src/agents/programs`.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agents/programs");
    println!("cargo:rerun-if-changed={}", dir.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("agent_programs.rs");
    let mut list = fs::File::create(out)?;
    writeln!(list, "static KNOWN: [(&str, Description); {}] = [", files.len())?;
    for file in &files {
        let name = file.file_stem().unwrap_or_default();
        writeln!(list, "    ({name:?}, LazyLock::new(|| described(include_str!({file:?})))),")?;
    }
    writeln!(list, "];")
}
