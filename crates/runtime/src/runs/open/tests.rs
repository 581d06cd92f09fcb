//! A run that is taken after it was opened has its current state, whatever happened in between.

use std::{fs, sync::Arc};

use jiff::Timestamp;
use recipe::{
    agent_ref::AgentRef,
    check::{LoadError, Loaded, Loader},
};

use super::*;
use crate::store::{
    folder::{Batch, Options},
    sources::Recording,
};

/// A loader that finds nothing.
struct Nowhere;

impl Loader for Nowhere {
    fn recipe(&self, _: &str, _: &str) -> Result<Loaded, LoadError> {
        Err(LoadError::NotFound { searched: Vec::new() })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A run of two steps; the first has begun.
fn make(home: PathBuf) -> (Runs, RunFolder) {
    let header = Header {
        format: folder::FORMAT,
        run_id: "run".into(),
        tracking_id: "run".into(),
        recipe_name: "two".into(),
        recipe_path: "two.yaml".into(),
        recipe_file: None,
        recipe_digest: String::new(),
        working_dir: home.clone(),
        created_at: Timestamp::UNIX_EPOCH,
        boot_id: None,
        given: Vec::new(),
        options: Options::default(),
        request: None,
        origin: None,
    };
    let runs = Runs::at(home);
    let folder = RunFolder::create(runs.dir().join("run"), &header, &mut Batch::default()).unwrap();
    let text = "name: two\nsteps:\n  - id: a\n    command: 'true'\n  - id: b\n    command: 'true'\n";
    let recording = Recording::new(&Nowhere);
    recording.root(&Loaded { path: "two.yaml".into(), bytes: text.as_bytes().into() });
    recording.save(&folder.sources(0)).unwrap();
    drop(Journal::create(&folder.journal()).unwrap());
    write(&folder, Event::StepStarted { path: "a".into(), attempt: 1, inputs: None });
    (runs, folder)
}

fn write(folder: &RunFolder, event: Event) {
    let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
    journal.append(Timestamp::UNIX_EPOCH, event);
    journal.sync().unwrap();
}

fn add(folder: &RunFolder, bytes: &[u8]) {
    let journal = fs::read(folder.journal()).unwrap();
    fs::write(folder.journal(), [journal.as_slice(), bytes].concat()).unwrap();
}

/// Checks the number of records and the next number, if `meanwhile` happens between opening and locking.
fn check(meanwhile: fn(&RunFolder), expected: Result<(usize, u64), &str>) {
    let dir = tempfile::tempdir().unwrap();
    let (runs, folder) = make(dir.path().to_owned());
    let opened = runs.open(folder.clone()).unwrap();
    meanwhile(&folder);
    let found = runs.take_opened(opened).map(|(shown, mut journal)| {
        let next = journal
            .append(Timestamp::UNIX_EPOCH, Event::Noted { path: None, message: "on".into(), next: None });
        journal.sync().unwrap();
        (shown.records.len(), next.seq)
    });
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
        (found, expected) => panic!("{found:?} instead of {expected:?}"),
    }
    if let Ok((_, next)) = expected {
        assert_eq!(journal::read(&folder.journal()).unwrap().len() as u64, next);
    }
}

#[test]
fn nothing_happened() {
    check(|_| {}, Ok((1, 2)));
}

#[test]
fn somebody_wrote() {
    check(|folder| write(folder, Event::FixWaits { seconds: 1.0, reason: "x".into() }), Ok((2, 3)));
}

#[test]
fn its_end_is_torn_or_its_middle_damaged() {
    check(|folder| add(folder, b"{\"seq\":2,"), Ok((1, 2)));
    check(|folder| add(folder, b"garbage\n"), Err("damaged at line 2"));
}

#[test]
fn it_was_torn_when_it_was_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (runs, folder) = make(dir.path().to_owned());
    let whole = fs::read(folder.journal()).unwrap();
    add(&folder, b"{\"seq\":2,");
    let opened = runs.open(folder.clone()).unwrap();
    drop(runs.take_opened(opened).unwrap());
    assert_eq!(fs::read(folder.journal()).unwrap(), whole);
}

#[test]
fn the_journal_or_the_run_is_gone() {
    check(|folder| fs::remove_file(folder.journal()).unwrap(), Ok((0, 1)));
    check(|folder| fs::remove_dir_all(folder.path()).unwrap(), Err("cannot"));
}
