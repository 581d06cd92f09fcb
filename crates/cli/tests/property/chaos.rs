//! Rounds of chaos: signals to the runner and its children, full disks, few descriptors, a state directory that
//! cannot be written any more. After each round nothing is alive, and the run goes on to the result of a quiet one.
//!
//! Never slows a disk or steps the clock: there is no honest way to do either to one program alone.

use std::{
    collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command, sync::Once,
    time::Duration,
};

use serde_json::Value as Json;
use testkit::{Output, Started, TestEnv, until};

use crate::{
    answer::answer,
    judge::{self, Verdict, must},
    links::{careful, failed},
    property::Clean,
    random::Random,
    shape::{Care, Kind, Recipe},
    world::{Facts, put, world},
};

/// Most resumes until a run must have come to its end.
const PATIENCE: usize = 12;

/// What happens in a round.
#[derive(Clone, Debug, PartialEq)]
enum Trouble {
    /// The runner gets a signal.
    Runner(&'static str),
    /// The runner is stopped for a while.
    Pause,
    /// A process of a step gets a signal.
    Child(&'static str),
    /// Files may have so many kilobytes.
    FileLimit(usize),
    /// So many files may be open.
    Descriptors(usize),
    /// The state directory has so many kilobytes.
    FullDisk(usize),
    /// The state directory becomes read-only.
    ReadOnly,
}

impl Trouble {
    fn random(random: &mut Random) -> Trouble {
        match random.below(100) {
            0..15 => Trouble::Runner("KILL"),
            15..35 => Trouble::Runner(["TERM", "INT", "HUP"][random.below(3)]),
            35..45 => Trouble::Pause,
            45..62 => Trouble::Child(["KILL", "TERM", "STOP"][random.below(3)]),
            62..74 => Trouble::FileLimit(random.between(1, 12)),
            74..82 => Trouble::Descriptors(random.between(16, 40)),
            82..92 => Trouble::FullDisk(random.between(8, 120)),
            _ => Trouble::ReadOnly,
        }
    }

    /// Exit codes that it explains, besides success.
    fn codes(&self) -> &'static [i32] {
        match self {
            Trouble::Runner("KILL") => &[137],
            Trouble::Runner("TERM") => &[143],
            Trouble::Runner("INT") => &[130],
            // 129 before the runner has begun to listen
            Trouble::Runner(_) => &[143, 129],
            Trouble::Pause => &[],
            Trouble::Child(_) => &[1],
            Trouble::FileLimit(_) | Trouble::Descriptors(_) | Trouble::FullDisk(_) | Trouble::ReadOnly => {
                &[1, 8]
            }
        }
    }
}

/// Runs the round of a seed; says what happened and how the runner ended.
pub(crate) fn round(seed: u64, clean: &mut Clean) -> Result<String, String> {
    let mut random = Random::new(seed ^ 0xC405_0000_0000);
    let mut recipe = Recipe::random(&mut Random::new(seed / 4));
    let trouble = available(Trouble::random(&mut random));
    if trouble.codes().contains(&1) {
        // a step that may fail would go on with half of its output
        tolerate_nothing(&mut recipe);
    }
    let env = world().env("PAUSE", "0.03");
    put(&env, &recipe, "");
    let mut said = Vec::new();
    let ended = disturbed(&env, &recipe, &trouble, &mut random, clean, &mut said);
    let word = format!("{trouble:?}").split(['(', ' ']).next().unwrap_or_default().to_owned();
    ended.map(|code| format!("{word} {code}")).map_err(|problem| {
        let files: String =
            recipe.files().iter().map(|(name, text)| format!("--- {name}\n{text}")).collect();
        let ledger = env.read("ledger").replace('\n', ", ");
        let journal = match env.run_ids().is_empty() {
            true => String::new(),
            false => fs::read_to_string(env.run_dir().join("events.jsonl")).unwrap_or_default(),
        };
        let said = said.join("\n");
        format!("{trouble:?}: {problem}\n=== recipe\n{files}=== commands\n{said}\n=== ledger\n{ledger}\n=== journal\n{journal}")
    })
}

fn tolerate_nothing(recipe: &mut Recipe) {
    for step in &mut recipe.steps {
        step.tolerated = false;
        if let Kind::Nested(child) = &mut step.kind {
            tolerate_nothing(child);
        }
    }
}

/// The same trouble, or another one where this machine does not allow it.
fn available(trouble: Trouble) -> Trouble {
    static NO_MOUNT: Once = Once::new();
    static NO_SETPRIV: Once = Once::new();
    let works = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    match trouble {
        Trouble::FullDisk(_) if !works("unshare", &["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]) => {
            NO_MOUNT.call_once(|| eprintln!("skipped: full disks, because mounting is not allowed here"));
            Trouble::Runner("KILL")
        }
        Trouble::ReadOnly
            if !works("setpriv", &["--bounding-set", "-dac_override,-dac_read_search", "true"]) =>
        {
            NO_SETPRIV
                .call_once(|| eprintln!("skipped: read-only state, because setpriv does not work here"));
            Trouble::Runner("KILL")
        }
        trouble => trouble,
    }
}

fn disturbed(
    env: &TestEnv,
    recipe: &Recipe,
    trouble: &Trouble,
    random: &mut Random,
    clean: &mut Clean,
    said: &mut Vec<String>,
) -> Result<i32, String> {
    let expected = clean.of(recipe)?;
    let state = env.state();
    let small = match trouble {
        Trouble::FullDisk(size) => Some(Small::mount(&state, *size)?),
        _ => None,
    };
    let mut started = start(env, trouble);
    // most trouble comes while steps run, some before there is a run
    if random.chance(80) {
        until("a step begins", || !env.read("ledger").is_empty() || !started.is_running());
    }
    std::thread::sleep(Duration::from_micros(random.below(150_000) as u64));
    disturb(env, &started, trouble, random);
    let output = started.wait();
    said.push(format!("r.yaml -> {} {}", output.code, output.stderr.trim()));
    restore(&state, small.as_ref(), trouble)?;
    let facts = Facts::read(env);
    judge::ledger_and_journal_agree(&facts, recipe)?;
    must(output.code == 0 || trouble.codes().contains(&output.code), || {
        format!("nothing explains exit code {}: {}", output.code, output.all())
    })?;
    if output.code != 137 {
        must(env.survivors().is_empty(), || format!("alive: {:?}", env.survivors()))?;
    }
    if output.code == 0 {
        // the limit holds for the file that takes the result too
        let is_whole = !matches!(trouble, Trouble::FileLimit(_));
        must(!is_whole || output.json()["status"] == "completed", || {
            format!("a false success: {}", output.all())
        })?;
        judge::success_is_true(&expected, &facts, recipe)?;
    }
    go_on(env, recipe, trouble, &expected, said).map(|()| output.code)
}

/// The program, in the circumstances of the trouble.
fn start(env: &TestEnv, trouble: &Trouble) -> Started {
    let around = match trouble {
        Trouble::FileLimit(size) => format!("trap '' XFSZ; ulimit -f {size}; exec"),
        Trouble::Descriptors(count) => format!("ulimit -n {count}; exec"),
        // the owner of everything may write everywhere, unless that is taken from it
        Trouble::ReadOnly => "exec setpriv --bounding-set -dac_override,-dac_read_search".to_owned(),
        _ => "exec".to_owned(),
    };
    let mut command = env.command(Path::new("/bin/bash"));
    command.args(["-c", &format!("{around} \"$RUNNER\" r.yaml --output-format json")]);
    env.start(command)
}

fn disturb(env: &TestEnv, started: &Started, trouble: &Trouble, random: &mut Random) {
    let pid = started.pid().to_string();
    let pause = Duration::from_millis(random.between(20, 120) as u64);
    match trouble {
        Trouble::Runner(signal) => send(signal, &pid),
        Trouble::Pause => {
            send("STOP", &pid);
            std::thread::sleep(pause);
            send("CONT", &pid);
        }
        Trouble::Child(signal) => {
            let children = env.pids();
            if children.is_empty() {
                return;
            }
            let child = random.pick(&children);
            send(signal, child);
            if *signal == "STOP" {
                std::thread::sleep(pause);
                send("CONT", child);
            }
        }
        Trouble::ReadOnly => set_modes(&env.state(), 0o500),
        Trouble::FileLimit(_) | Trouble::Descriptors(_) | Trouble::FullDisk(_) => {}
    }
}

/// Sends a signal to a process of this round; one that is gone needs none.
fn send(signal: &str, pid: &str) {
    drop(Command::new("kill").args([&format!("-{signal}"), pid]).output());
}

/// Makes everything as it was.
fn restore(state: &Path, small: Option<&Small<'_>>, trouble: &Trouble) -> Verdict {
    if *trouble == Trouble::ReadOnly {
        set_modes(state, 0o700);
    }
    small.map_or(Ok(()), Small::grow)
}

/// Sets the mode of a directory and of those below it.
fn set_modes(dir: &Path, mode: u32) {
    drop(fs::set_permissions(dir, fs::Permissions::from_mode(mode)));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            set_modes(&entry.path(), mode);
        }
    }
}

/// Resumes the run until it is completed, and compares.
fn go_on(
    env: &TestEnv,
    recipe: &Recipe,
    trouble: &Trouble,
    expected: &Json,
    said: &mut Vec<String>,
) -> Verdict {
    let may_fail = trouble.codes().contains(&1);
    let (mut left_out, mut flags, mut repeats) = (BTreeSet::new(), Vec::new(), false);
    for _ in 0..PATIENCE {
        let before = Facts::read(env);
        let output = resume(env, &flags);
        said.push(format!("resume {flags:?} -> {} {}", output.code, output.stderr.trim()));
        flags.clear();
        let after = Facts::read(env);
        judge::ledger_and_journal_agree(&after, recipe)?;
        let may_give_up =
            before.failed.iter().flat_map(|path| failed(recipe, recipe, path, &before)).collect();
        judge::results_stay(&before, &after, (std::slice::from_ref(recipe), recipe), &may_give_up)?;
        must(env.survivors().is_empty() || output.code == 6, || format!("alive: {:?}", env.survivors()))?;
        match output.code {
            0 => {
                judge::success_is_true(expected, &after, recipe)?;
                judge::same_result(expected, &output.json(), &left_out)?;
                return once(&after, recipe, trouble, repeats);
            }
            6 if output.all().contains("--rerun-effects") && may_fail => {
                repeats = true;
                flags.push("--rerun-effects");
            }
            6 => {
                let answer = answer(env, recipe)?;
                left_out.extend(answer.left_out);
                repeats |= answer.repeats;
                flags.push(answer.flag);
            }
            code => return Err(format!("a resume ends with {code}: {}", output.all())),
        }
    }
    Err(format!("it does not come to an end in {PATIENCE} resumes"))
}

/// Goes on, or begins if the trouble came before there was a run.
fn resume(env: &TestEnv, flags: &[&str]) -> Output {
    let words: &[&str] = if env.run_ids().is_empty() { &["r.yaml"] } else { &["resume", "last"] };
    env.run(words.iter().chain(flags).chain(&["--output-format", "json"]))
}

/// What is not idempotent was done once, unless its process was killed or somebody allowed more.
fn once(facts: &Facts, recipe: &Recipe, trouble: &Trouble, repeats: bool) -> Verdict {
    if repeats || trouble.codes().contains(&1) {
        return Ok(());
    }
    for id in careful(recipe, Care::NotIdempotent) {
        let count = facts.of(&id);
        must(count.done <= 1, || format!("`{id}` did its work twice: {count:?}"))?;
    }
    Ok(())
}

/// A directory on a small file system of its own.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(dir: &'a Path, size: usize) -> Result<Small<'a>, String> {
        let options = format!("size={size}k,mode=700");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir))?;
        Ok(Small(dir))
    }

    fn grow(&self) -> Verdict {
        run(Command::new("mount").args(["-o", "remount,size=50m"]).arg(self.0))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        drop(run(Command::new("umount").arg("-l").arg(self.0)));
    }
}

fn run(command: &mut Command) -> Verdict {
    let output = command.output().map_err(|error| error.to_string())?;
    must(output.status.success(), || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
