//! Rounds of chaos: signals to the runner and its children, full, slow and failing disks, few descriptors, a state
//! directory that cannot be written any more, a clock that is set. After each round nothing is alive, and the run goes
//! on to the result of a quiet one.
//!
//! Never touches the machine itself: disks and clocks are those of the runner alone.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Command,
    sync::Once,
    time::{Duration, Instant},
};

use serde_json::Value as Json;
use testkit::{Output, Started, TestEnv, until};

use crate::{
    answer::{REPEATS, answer},
    clock::{self, Moves},
    judge::{self, Verdict, must},
    links::{careful, failed},
    preload::{self, Control, Preload},
    property::Clean,
    random::Random,
    shape::{Care, Kind, Recipe},
    state_dir::{Small, set_modes},
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
    /// The disk is slow, and the runner may get a signal while it waits.
    SlowDisk(Control, Option<&'static str>),
    /// The disk fails.
    FailingDisk(Control),
    /// The clock is set while the run is on its way, and again before every resume; the runner may get a signal.
    Clock(Moves, Option<&'static str>),
}

impl Trouble {
    fn random(random: &mut Random) -> Trouble {
        match random.below(140) {
            0..15 => Trouble::Runner("KILL"),
            15..35 => Trouble::Runner(["TERM", "INT", "HUP"][random.below(3)]),
            35..45 => Trouble::Pause,
            45..62 => Trouble::Child(["KILL", "TERM", "STOP"][random.below(3)]),
            62..74 => Trouble::FileLimit(random.between(1, 12)),
            74..82 => Trouble::Descriptors(random.between(16, 40)),
            82..92 => Trouble::FullDisk(random.between(8, 120)),
            92..100 => Trouble::ReadOnly,
            100..112 => Trouble::SlowDisk(Control::slow(random), Trouble::signal(random)),
            112..126 => Trouble::FailingDisk(Control::failing(random)),
            _ => Trouble::Clock(Moves::random(random), Trouble::signal(random)),
        }
    }

    fn signal(random: &mut Random) -> Option<&'static str> {
        *random.pick(&[None, None, Some("TERM"), Some("KILL")])
    }

    /// What the preloaded library does at first.
    fn control(&self) -> Option<Control> {
        match self {
            Trouble::SlowDisk(control, _) | Trouble::FailingDisk(control) => Some(*control),
            Trouble::Clock(moves, _) => Some(Control::clock(moves.first)),
            _ => None,
        }
    }

    /// What it does in a resume: the clock is set back before each, and the disk fails once more.
    fn control_of_resume(&self, count: usize) -> Option<Control> {
        match self {
            Trouble::Clock(moves, _) => Some(Control::clock(moves.set_back(count))),
            // a resume has fewer calls before its first step
            Trouble::FailingDisk(control) if count == 1 => {
                Some(Control { fail_at: 1 + control.fail_at % 8, ..*control })
            }
            _ => None,
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
            Trouble::SlowDisk(_, Some(signal)) | Trouble::Clock(_, Some(signal)) => {
                Trouble::Runner(signal).codes()
            }
            Trouble::Pause | Trouble::SlowDisk(_, None) | Trouble::Clock(_, None) => &[],
            Trouble::Child(_) => &[1],
            Trouble::FileLimit(_)
            | Trouble::Descriptors(_)
            | Trouble::FullDisk(_)
            | Trouble::ReadOnly
            | Trouble::FailingDisk(_) => &[1, 8],
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
        trouble if trouble.control().is_some() && !preload::works() => Trouble::Runner("KILL"),
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
    let preload = trouble.control().and_then(|control| Preload::new(env, control));
    let began = Instant::now();
    let mut started = start(env, trouble, preload.as_ref());
    // most trouble comes while steps run, some before there is a run
    if random.chance(80) {
        until("a step begins", || !env.read("ledger").is_empty() || !started.is_running());
    }
    std::thread::sleep(Duration::from_micros(random.below(150_000) as u64));
    if let (Trouble::Clock(moves, _), Some(preload)) = (trouble, &preload) {
        moves.make(env, preload, &mut started, began)?;
    }
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
    if let (Trouble::FailingDisk(_), Some(preload)) = (trouble, &preload) {
        failure_is_told(env, &output, preload)?;
    }
    // one that was ended before it listened has no result
    if matches!(trouble, Trouble::Clock(..)) && !output.stdout.is_empty() {
        clock::times_are_sane(&output.json(), began.elapsed())?;
    }
    go_on(env, recipe, trouble, &expected, (began, said)).map(|()| output.code)
}

/// A run on a failing disk says which file it was and what to do next, and claims nothing that is not on disk.
fn failure_is_told(env: &TestEnv, output: &Output, preload: &Preload) -> Verdict {
    let state = env.state().display().to_string();
    must(output.code != 8 || output.stderr.contains(&state), || {
        format!("the disk is not named: {}", output.all())
    })?;
    let next = output.stderr.contains("recipe-runner-rs resume ") || output.stderr.contains("--state-dir");
    must(output.code != 8 || next, || format!("no command goes on: {}", output.all()))?;
    let claims = output.code == 0 || output.stderr.contains("[recipe r] completed");
    must(!claims || preload.failed_syncs() == 0, || {
        format!("success is claimed, but it is not on disk: {}", output.all())
    })
}

/// The program, in the circumstances of the trouble.
fn start(env: &TestEnv, trouble: &Trouble, preload: Option<&Preload>) -> Started {
    if let Some(preload) = preload {
        return preload.start(env, &["r.yaml", "--output-format", "json"]);
    }
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
        Trouble::Runner(signal) | Trouble::SlowDisk(_, Some(signal)) | Trouble::Clock(_, Some(signal)) => {
            send(signal, &pid)
        }
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
        _ => {}
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

/// Resumes the run until it is completed, and compares.
fn go_on(
    env: &TestEnv,
    recipe: &Recipe,
    trouble: &Trouble,
    expected: &Json,
    (began, said): (Instant, &mut Vec<String>),
) -> Verdict {
    let may_fail = trouble.codes().contains(&1);
    let (mut left_out, mut flags, mut repeats) = (BTreeSet::new(), Vec::new(), false);
    for count in 1..=PATIENCE {
        let before = Facts::read(env);
        let preload = trouble.control_of_resume(count).and_then(|control| Preload::new(env, control));
        let output = resume(env, &flags, preload.as_ref());
        said.push(format!("resume {flags:?} -> {} {}", output.code, output.stderr.trim()));
        flags.clear();
        let after = Facts::read(env);
        judge::ledger_and_journal_agree(&after, recipe)?;
        let may_give_up =
            before.failed.iter().flat_map(|path| failed(recipe, recipe, path, &before)).collect();
        judge::results_stay(&before, &after, (std::slice::from_ref(recipe), recipe), &may_give_up)?;
        must(env.survivors().is_empty() || output.code == 6, || format!("alive: {:?}", env.survivors()))?;
        match (&preload, trouble) {
            (Some(preload), Trouble::FailingDisk(_)) => failure_is_told(env, &output, preload)?,
            (Some(_), _) => clock::times_are_sane(&output.json(), began.elapsed())?,
            (None, _) => {}
        }
        match output.code {
            0 => {
                judge::success_is_true(expected, &after, recipe)?;
                judge::same_result(expected, &output.json(), &left_out)?;
                return once(&after, recipe, trouble, repeats);
            }
            6 if output.all().contains(REPEATS) && may_fail => {
                repeats = true;
                flags.push("--rerun-effects");
            }
            6 => {
                let answer = answer(env, recipe)?;
                left_out.extend(answer.left_out);
                repeats |= answer.repeats;
                flags.push(answer.flag);
            }
            code if preload.is_some() && trouble.codes().contains(&code) => {}
            code => return Err(format!("a resume ends with {code}: {}", output.all())),
        }
    }
    Err(format!("it does not come to an end in {PATIENCE} resumes"))
}

/// Goes on, or begins if the trouble came before there was a run.
fn resume(env: &TestEnv, flags: &[&str], preload: Option<&Preload>) -> Output {
    let words: &[&str] = if env.run_ids().is_empty() { &["r.yaml"] } else { &["resume", "last"] };
    let words: Vec<&str> = words.iter().chain(flags).chain(&["--output-format", "json"]).copied().collect();
    preload.map_or_else(|| env.run(&words), |preload| preload.start(env, &words).wait())
}

/// A step that is not idempotent ran once, unless its process was killed or a person allowed more.
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
