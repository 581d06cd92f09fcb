//! What is done with hostile bytes that a run reads back, or that an agent program prints.
//!
//! Every reader comes to an end without a panic, and keeps a promise besides. Shared by the fuzzer's targets and by
//! the bounded test that runs everywhere.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use engine::{Record, RunSettings, RunState, run::decide::decide};
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    plan::Plan,
};
use runtime::{
    agents::{AgentEvent, AgentOutcome, Configuration, Program, ProgramEnded, Reader, Request, Tools, User},
    repair,
    store::{
        folder::{Header, Recovery},
        journal,
        sources::Remembered,
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// The recipes whose journals the corpus holds.
struct Library;

const ROOT: &str = "name: r\nsteps:\n- {id: a, command: x}\n- {id: n, recipe: child}\n- {id: end, command: '{{a}} {{big}}'}\n\
    - {id: p, parallel_group: g, command: x, retry: 2}\n- {id: q, parallel_group: g, agent: x, prompt: x}\n";
const CHILD: &str = "name: c\nsteps:\n- {id: k, command: x}\n- {id: big, command: x}\n";

impl Loader for Library {
    fn recipe(&self, _: &str, _: &str) -> Result<Loaded, LoadError> {
        Ok(Loaded { path: "child.yaml".to_owned(), bytes: Arc::from(CHILD.as_bytes()) })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        Some("An agent.".into())
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let root = Loaded { path: "r.yaml".to_owned(), bytes: Arc::from(ROOT.as_bytes()) };
        let checked = check(root, &Library, &Given::default());
        checked.plan.unwrap_or_else(|| panic!("{:?}", checked.diagnostics))
    })
}

/// A number below `below` that depends on the data alone.
fn pick(data: &[u8], salt: u64, below: usize) -> usize {
    let hash =
        data.iter().fold(salt | 1, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    ((hash >> 17) % below.max(1) as u64) as usize
}

/// Reads a journal: the same records are read again from their bytes; a shortened one gives a prefix of its
/// records, and a changed one never gives other records.
pub(crate) fn journal(data: &[u8]) {
    let path = Path::new("events.jsonl");
    if let Ok((records, good)) = journal::parse(data, path) {
        assert_eq!(journal::parse(&data[..good], path).ok(), Some((records, good)));
    }
    let (records, lines) = sealed(data);
    let ends: Vec<usize> =
        lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    assert_eq!(journal::parse(&lines, path).ok(), Some((records.clone(), lines.len())));
    for salt in 0..8 {
        let cut = pick(data, salt, lines.len() + 1);
        let whole = ends.iter().filter(|end| **end < cut).count();
        let read = journal::parse(&lines[..cut], path).map(|(read, _)| read).ok();
        assert_eq!(read.as_deref(), Some(&records[..whole]), "cut at {cut}");
    }
    if !lines.is_empty() {
        let mut changed = lines.clone();
        let at = pick(data, 99, lines.len());
        changed[at] ^= 1 << pick(data, 98, 8);
        if let Ok((read, _)) = journal::parse(&changed, path) {
            assert!(read.len() < records.len() && records.starts_with(&read), "changed at {at}");
        }
    }
    fold(&records);
}

/// The records that a text holds, numbered and with checksums as the runner writes them.
fn sealed(data: &[u8]) -> (Vec<Record>, Vec<u8>) {
    let (mut records, mut lines) = (Vec::new(), Vec::new());
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(mut record) = serde_json::from_slice::<Record>(line) else { continue };
        record.seq = records.len() as u64 + 1;
        journal::write_line(&record, &mut lines);
        records.push(record);
    }
    (records, lines)
}

/// Whatever has happened in whatever order, there is a state, and something or nothing to do next.
fn fold(records: &[Record]) {
    let settings = RunSettings { max_parallel: 4, ..RunSettings::default() };
    let mut state = RunState::new(plan(), settings);
    for record in records {
        state.apply(plan(), record, None);
        drop(decide(&state, &|_| false));
        drop((state.root_cause(), state.running_steps()));
    }
}

/// Reads JSON that the runner wrote; writing it again changes nothing.
fn stable<T: DeserializeOwned + Serialize>(data: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(data).ok()?;
    let json = serde_json::to_vec(&read).ok()?;
    let again: T = serde_json::from_slice(&json).expect("what was written is read");
    assert_eq!(serde_json::to_vec(&again).ok(), Some(json));
    Some(read)
}

/// Reads `run.json` and `auto-fix.json`.
pub(crate) fn header(data: &[u8]) {
    if let Some(header) = stable::<Header>(data) {
        drop(header.given());
    }
    drop(stable::<repair::Report>(data));
}

/// Reads the index of a run's sources; it never leads out of its folder.
pub(crate) fn index(data: &[u8]) {
    static ROOM: OnceLock<PathBuf> = OnceLock::new();
    let dir = ROOM.get_or_init(|| {
        let room = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let dir = room.join("recipe-runner-fuzz");
        fs::create_dir_all(dir.join("sources/inner")).expect("a folder can be made");
        for (name, text) in
            [("outside", "OUTSIDE"), ("sources/00-r.yaml", ROOT), ("sources/inner/x", "OUTSIDE")]
        {
            fs::write(dir.join(name), text).expect("a file can be written");
        }
        dir.join("sources")
    });
    fs::write(dir.join("index.json"), data).expect("a file can be written");
    let Ok(remembered) = Remembered::open(dir, None) else { return };
    let reference = AgentRef::parse("a");
    let found = [
        remembered.root().ok(),
        remembered.by_path("r.yaml"),
        remembered.recipe("child", "r.yaml").ok(),
        reference
            .and_then(|reference| remembered.agent(&reference, "r.yaml"))
            .map(|text| Loaded { path: String::new(), bytes: Arc::from(text.as_bytes()) }),
    ];
    for loaded in found.into_iter().flatten() {
        assert_ne!(&*loaded.bytes, b"OUTSIDE", "{}", loaded.path);
    }
}

/// Everything that can be asked for what a program printed.
fn readers() -> Vec<(String, Box<dyn Fn() -> Reader>)> {
    let config = "agents:\n- {name: j, answer: {json: result.text}}\n\
        - {name: e, answer: {events: {match: {type: result}, path: result}}, rate_limit: [slow down]}\n";
    let custom = Configuration::read(config, Path::new("")).expect("it is valid").agents;
    let names = Program::known_names().chain(["j", "e"]);
    let mut readers: Vec<(String, Box<dyn Fn() -> Reader>)> = names
        .filter_map(|name| Program::named(name, &custom).map(|program| (name, program)))
        .map(|(name, program)| {
            (name.to_owned(), Box::new(move || program.reader()) as Box<dyn Fn() -> Reader>)
        })
        .collect();
    readers.push(("plain".to_owned(), Box::new(Reader::plain)));
    readers
}

fn read_pieces(mut reader: Reader, pieces: &[&[u8]], ended: ProgramEnded) -> (Vec<AgentEvent>, AgentOutcome) {
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut events);
    }
    (events, reader.finish(ended, "", None))
}

/// Reads the output of an agent program with the reader of every program: at any cut it gives the same events and the
/// same outcome, and the events are not longer than the output.
pub(crate) fn stream(data: &[u8]) {
    let ended =
        [ProgramEnded::Exit(0), ProgramEnded::Exit(1), ProgramEnded::Signal(9), ProgramEnded::AfterResult]
            [pick(data, 3, 4)];
    let chunk = match pick(data, 1, 2) {
        0 => 1 + pick(data, 2, 40),
        _ => 1 + pick(data, 2, data.len()),
    };
    let pieces: Vec<&[u8]> = data.chunks(chunk).collect();
    thread_local! {
        static READERS: Vec<(String, Box<dyn Fn() -> Reader>)> = readers();
    }
    READERS.with(|readers| {
        for (name, reader) in readers {
            let whole = read_pieces(reader(), &[data], ended);
            assert_eq!(read_pieces(reader(), &pieces, ended), whole, "{name}, in pieces of {chunk}");
            assert!(size(&whole) <= 3 * data.len() + 1000, "{name} gives {} of {}", size(&whole), data.len());
        }
    });
}

fn size((events, outcome): &(Vec<AgentEvent>, AgentOutcome)) -> usize {
    let event = |event: &AgentEvent| match event {
        AgentEvent::Tool { name, detail, id, .. } => {
            name.len() + detail.len() + id.as_ref().map_or(0, String::len)
        }
        AgentEvent::ToolEnded { id, gist, .. } => gist.len() + id.as_ref().map_or(0, String::len),
        AgentEvent::Text { text: said } | AgentEvent::Piece { text: said } => said.len(),
        AgentEvent::Retrying { message: said } => said.len(),
        AgentEvent::Model { name: said } | AgentEvent::Session { id: said } => said.len(),
    };
    events.iter().map(event).sum::<usize>() + outcome.result.as_ref().map_or(0, |said| said.len())
}

/// Reads a `.env` file; a quoted value keeps every character.
pub(crate) fn dotenv(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = runtime::machine::dotenv::parse(&text);
    let named = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    assert!(found.iter().all(|(name, _)| named(name)), "{found:?}");
    assert!(found.len() <= text.matches('=').count());
    assert!(found.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= text.len());
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    let both = vec![("A".to_owned(), text.into_owned()), ("B".to_owned(), "2".to_owned())];
    assert_eq!(runtime::machine::dotenv::parse(&format!("A=\"{quoted}\" # x\nB=2\n")), both);
}

/// Reads a configuration with agent programs; every one that passes can be called and read.
pub(crate) fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(configuration) = Configuration::read(text, Path::new("/etc")) else { return };
    let request = Request {
        prompt: "do it".to_owned(),
        system_prompt: Some("you are".to_owned()),
        model: Some("m".to_owned()),
        cwd: PathBuf::from("/w"),
        session: Some("s".to_owned()),
        scratch: PathBuf::from("/s"),
        user: User::Ordinary,
        tools: Tools::All,
        permissions: recipe::syntax::PermissionLevel::ReadOnly,
        more_args: vec!["--more".to_owned()],
    };
    for program in configuration.agents {
        let program = Program::from(program);
        let call = program.invocation(&request);
        let arrives = call
            .stdin
            .iter()
            .chain(call.files.iter().map(|(_, text)| text))
            .any(|text| text.contains("do it"));
        let argument = call.args.iter().any(|arg| arg.to_string_lossy().contains("do it"));
        assert!(arrives || argument, "the prompt arrives: {call:?}");
        drop(read_pieces(program.reader(), &[data], ProgramEnded::Exit(0)));
    }
}

/// Looks for a recipe in an agent's answer; it has no line that the answer has not.
pub(crate) fn answer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(recipe) = repair::answer::recipe_in(&text) else { return };
    assert!(recipe.ends_with('\n') && recipe.len() <= text.len() + 1);
    assert!(recipe.lines().any(|line| line.starts_with("steps:") || line.starts_with("extends:")));
    let bare = recipe.trim();
    assert!(recipe.lines().all(|line| text.contains(line)) || text.contains(bare), "{recipe}");
}

/// Judges what an agent says about a recovery: a refusal is never a success, and the marker always counts.
pub(crate) fn verdict(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let recovered = |text: &str, mode| {
        matches!(
            engine::run::recovery_answer::judge(text, mode, "child"),
            engine::run::recovery_answer::RecoveryVerdict::Recovered(_)
        )
    };
    let (declared, always) = (recovered(&text, Recovery::Declared), recovered(&text, Recovery::Always));
    let refused = text.to_uppercase().contains("UNRECOVERABLE");
    assert!(!(refused || text.trim().is_empty()) || !always, "{text}");
    assert!(always || !declared, "{text}");
    assert_eq!(recovered(&format!("{text}\nSTATUS: COMPLETE\n"), Recovery::Declared), !refused, "{text}");
    assert!(!recovered("It could not be recovered", Recovery::Declared));
}
