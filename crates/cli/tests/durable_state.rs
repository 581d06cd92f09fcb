//! The folder of a run: private, refused when damaged, and honest about a full disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by panicking")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use testkit::TestEnv;

fn env(recipe: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("r.yaml", recipe)
}

const FAILING: &str = "name: r
steps:
  - id: a
    command: echo a >>ledger; echo va
  - id: b
    command: echo b >>ledger; [ -e go ] && echo '{{a}}b'
";

#[test]
fn everything_is_private() {
    let env = env(
        "name: r\nsteps:\n  - id: a\n    command: head -c 20000 /dev/zero | tr '\\0' x\n  - id: b\n    command: echo {{a}} | wc -c\n",
    );
    assert_eq!(env.shell("umask 000; $RUNNER r.yaml --audit-dir audit").code, 0);
    let inside = fs::read_dir(env.state()).unwrap().flatten().map(|entry| entry.path());
    let mut open: Vec<_> = inside.chain([env.path("audit")]).collect();
    assert_eq!(mode(&env.state().join("runs")), 0o700);
    while let Some(path) = open.pop() {
        let is_dir = path.is_dir();
        assert!(
            path.ends_with("audit") || mode(&path) == if is_dir { 0o700 } else { 0o600 },
            "{}",
            path.display()
        );
        if is_dir {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_unwritable_state_directory_is_reported() {
    for format in ["text", "json"] {
        let env = env(FAILING);
        env.write("file", "not a directory");
        let output = env.run(["r.yaml", "--state-dir", "file", "--output-format", format]);
        assert_eq!(output.code, 8, "{}", output.all());
        assert!(output.stderr.contains("file/runs"), "{}", output.all());
        assert!(env.read("ledger").is_empty());
        if format == "json" {
            assert_eq!(output.json()["exit_code"], 8);
        }
    }
}

#[test]
fn the_command_to_resume_works_for_runs_in_a_place_of_their_own() {
    let env = env(FAILING);
    let output = env.run(["r.yaml", "--state-dir", "a place", "--output-format", "json"]);
    assert_eq!(output.code, 1, "{}", output.all());
    env.write("go", "");
    let command = output.json()["resume_command"].as_str().unwrap().to_owned();
    let output = env.shell(&command.replacen("recipe-runner-rs", "$RUNNER", 1));
    assert_eq!(output.code, 0, "{command}: {}", output.all());
    assert_eq!(env.read("ledger"), "a\nb\nb\n");
}

#[test]
fn a_damaged_journal_is_refused_with_its_place() {
    let env = env(FAILING);
    env.run(["r.yaml"]);
    let journal = env.run_dir().join("events.jsonl");
    let good = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let last = lines.len();
    for (line, text) in [
        (2, "x".to_owned()),
        (2, lines[1].replace("\"a\"", "\"z\"")),
        (3, lines[1].to_owned()),
        (last, "x".to_owned()),
        (last, String::new()),
    ] {
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        changed[line - 1] = text;
        fs::write(&journal, format!("{}\n", changed.join("\n"))).unwrap();
        for verb in ["resume", "show"] {
            let output = env.run([verb, "last"]);
            assert_eq!(output.code, 8, "{}", output.all());
            let place = format!("{}` is damaged at line {line}", journal.display());
            assert!(output.stderr.contains(&place), "{}", output.all());
        }
    }
    assert_eq!(env.read("ledger"), "a\nb\n");
}

#[test]
fn a_journal_of_garbage_is_not_an_empty_one() {
    let env = env(FAILING);
    env.run(["r.yaml"]);
    let journal = env.run_dir().join("events.jsonl");
    for bytes in ["garbage\n", "garbage", "\0\0\0\0", "\n"] {
        fs::write(&journal, bytes).unwrap();
        for verb in ["resume", "show", "cancel"] {
            let output = env.run([verb, "last"]);
            assert_eq!(output.code, 8, "{verb} {bytes:?}: {}", output.all());
            assert!(output.stderr.contains("is damaged at line 1"), "{verb} {bytes:?}: {}", output.all());
        }
    }
    assert_eq!(env.read("ledger"), "a\nb\n");
}

#[test]
fn a_journal_without_its_beginning_is_refused() {
    let env = env(FAILING);
    env.run(["r.yaml"]);
    let journal = env.run_dir().join("events.jsonl");
    let good = fs::read_to_string(&journal).unwrap();
    let without_first = good.split_once('\n').map_or("", |(_, rest)| rest).to_owned();
    fs::write(&journal, without_first).unwrap();
    for verb in ["resume", "show"] {
        let output = env.run([verb, "last"]);
        assert_eq!(output.code, 8, "{verb}: {}", output.all());
        assert!(output.stderr.contains("is damaged at line 1"), "{verb}: {}", output.all());
        assert!(output.stderr.contains("start a new run: recipe-runner-rs /"), "{verb}: {}", output.all());
    }
    assert_eq!(env.read("ledger"), "a\nb\n");
}

#[test]
fn an_emptied_journal_is_damaged_once_a_step_has_begun() {
    let env = env(FAILING);
    env.run(["r.yaml"]);
    let journal = env.run_dir().join("events.jsonl");
    let good = fs::read_to_string(&journal).unwrap();
    let first = good.split_inclusive('\n').next().unwrap();
    for (bytes, line) in [("", 1), (&first[..40], 1), (first, 2)] {
        fs::write(&journal, bytes).unwrap();
        for arguments in ["resume last", "resume last --plan", "show last", "logs last", "cancel last"] {
            let output = env.run(arguments.split(' '));
            assert_eq!(output.code, 8, "{arguments} {bytes:?}: {}", output.all());
            let place = format!("{}` is damaged at line {line}", journal.display());
            assert!(output.stderr.contains(&place), "{arguments}: {}", output.all());
            assert!(output.stderr.contains("start a new run: "), "{arguments}: {}", output.all());
        }
        let listed = env.run(["runs", "--output-format", "json"]).json();
        let error = listed[0]["error"].as_str().unwrap_or_default();
        assert!(error.contains("is damaged at line"), "{listed}");
    }
    fs::remove_file(&journal).unwrap();
    assert_eq!(env.run(["resume", "last"]).code, 8);
    assert_eq!(env.read("ledger"), "a\nb\n");
}

#[test]
fn a_run_that_did_nothing_yet_is_resumed_with_an_empty_journal() {
    let env = env(FAILING);
    env.run(["r.yaml"]);
    fs::remove_dir_all(env.run_dir().join("steps")).unwrap();
    fs::create_dir(env.run_dir().join("steps")).unwrap();
    fs::write(env.run_dir().join("events.jsonl"), "").unwrap();
    env.write("go", "");
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["error"], serde_json::Value::Null);
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "a\nb\na\nb\n");
}

#[test]
fn a_torn_last_line_is_dropped() {
    for cut in [1, 5, 40] {
        let env = env(FAILING);
        env.run(["r.yaml"]);
        let journal = env.run_dir().join("events.jsonl");
        let mut good = fs::read(&journal).unwrap();
        good.truncate(good.len() - cut);
        fs::write(&journal, good).unwrap();
        assert_eq!(env.run(["show", "last"]).code, 0);
        env.write("go", "");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{cut}: {}", output.all());
        assert_eq!(env.read("ledger"), "a\nb\nb\n");
        assert_eq!(output.json()["context"]["b"], "vab");
    }
}

/// A directory on a small file system of its own; `None` where that is not allowed.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(dir: &'a Path, size: &str) -> Option<Small<'a>> {
        let options = format!("size={size},mode=700");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(dir)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Small(dir))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg("-l").arg(self.0).output());
    }
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    // the space that is left decides who notices first: the journal, a value, or the context of a step
    for (left, format) in [(0, "json"), (4, "text"), (12, "json"), (40, "text")] {
        let env = env("name: r
steps:
  - id: a
    command: echo a >>ledger; echo va
  - id: fill
    command: |
      echo fill >>ledger
      if [ ! -e go ]; then dd if=/dev/zero of=$STATE/filler bs=1k 2>dd.log; truncate -s -${LEFT}k $STATE/filler; fi
      echo vf
  - id: big
    command: |
      echo big >>ledger; head -c 60000 /dev/zero | tr '\\0' x
  - id: end
    command: printf %s '{{a}}{{fill}}{{big}}' | wc -c
");
        let state = env.state();
        let Some(_small) = Small::mount(&state, "600k") else { return };
        let mut command = env.runner();
        command
            .args(["r.yaml", "--output-format", format])
            .env("STATE", &state)
            .env("LEFT", left.to_string());
        let output = env.start(command).wait();
        assert_eq!(output.code, 8, "{left}: {}", output.all());
        if format == "json" {
            let result = output.json();
            assert_eq!(result["diagnosis"]["class"], "environment.disk", "{left}: {}", output.all());
            assert_eq!(result["exit_code"], 8, "{left}: {}", output.all());
            assert!(result["resume_command"].as_str().is_some_and(|command| command.contains("resume")));
            assert_eq!(result["run_id"], env.run_ids()[0].as_str());
            assert_eq!(result["step_results"][0]["status"], "completed", "{left}: {}", output.all());
        }
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(said.contains("No space left"), "{left}: {}", output.all());
        assert_eq!(env.survivors(), Vec::<String>::new());
        fs::remove_file(state.join("filler")).unwrap();
        env.write("go", "");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{left}: {}", output.all());
        assert_eq!(output.json()["context"]["end"], "60004", "{left}");
        assert_eq!(env.read("ledger").matches("a\n").count(), 1, "{left}");
    }
}

/// A script that continues after a command that could not print still succeeds.
#[test]
fn a_step_whose_output_does_not_fit_on_disk_fails() {
    for size in (36..=72).step_by(4) {
        let env = env("name: r\nsteps:\n\
             - {id: a, command: echo A}\n\
             - {id: b, command: 'head -c 9000 /dev/zero | tr \"\\0\" x; true'}\n\
             - {id: c, command: 'x={{b}}; echo ${#x}'}\n");
        let state = env.state();
        let Some(_small) = Small::mount(&state, &format!("{size}k")) else { return };
        let output = env.run(["r.yaml"]);
        assert_eq!(env.shell(&format!("mount -o remount,size=30m '{}'", state.display())).code, 0);
        let output = match (output.code, env.run_ids().is_empty()) {
            (8, true) => continue,
            (8, false) => env.run(["resume", "last", "--output-format", "json"]),
            _ => env.run(["show", "last", "--output-format", "json"]),
        };
        assert_eq!(output.value("c"), "9000", "{size}k: {}", output.all());
    }
}

#[test]
fn a_file_size_limit_stops_the_run_and_loses_nothing() {
    let steps: String =
        (0..60).map(|n| format!("  - id: s{n}\n    command: echo s{n} >>ledger; echo v{n}\n")).collect();
    let env = env(&format!("name: r\nsteps:\n{steps}"));
    let output = env.shell("ulimit -f 16; exec $RUNNER r.yaml --output-format json");
    assert_eq!(output.code, 8, "{}", output.all());
    assert!(output.stderr.contains("events.jsonl"), "{}", output.all());
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let ledger = env.read("ledger");
    let twice =
        (0..60).filter(|n| ledger.lines().filter(|line| *line == format!("s{n}")).count() > 1).count();
    assert!(twice <= 1, "{ledger}");
    assert_eq!(output.json()["context"]["s59"], "v59");
}

#[test]
fn folders_that_are_not_runs_are_ignored() {
    let env = env("name: r\nsteps: [{id: s, command: echo mine}]\n");
    assert_eq!(env.run(["r.yaml"]).code, 0);
    let runs = env.state().join("runs");
    assert!(
        std::fs::write(runs.join("zzz-file"), "").is_ok()
            && std::fs::create_dir(runs.join("zzz-dir")).is_ok()
    );
    for verb in ["show", "logs"] {
        let output = env.run([verb, "last"]);
        let is_ours = output.all().contains("s completed") || output.all().contains("mine");
        assert!(output.code == 0 && is_ours, "{verb} {}", output.all());
    }
    assert_eq!(env.run(["runs", "--output-format", "json"]).json().as_array().map(Vec::len), Some(1));
    assert_eq!(env.run(["prune", "--keep", "0"]).code, 0);
    assert!(runs.join("zzz-file").exists());
}

#[test]
fn two_thousand_steps() {
    let steps: String = (0..2000).map(|n| format!("  - id: s{n}\n    command: echo {n}\n")).collect();
    let env = env(&format!("name: r\nrecursion: {{max_total_steps: 5000}}\nsteps:\n{steps}"));
    let output = env.run(["r.yaml", "--quiet", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(output.json()["context"]["s1999"], "1999");
}

#[test]
fn ten_thousand_runs_are_listed_quickly() {
    let env = env("name: r\nsteps:\n  - id: s\n    command: 'true'\n");
    env.run(["r.yaml"]);
    let (dir, runs) = (env.run_dir(), env.state().join("runs"));
    let files: Vec<_> = ["run.json", "events.jsonl", "lock"]
        .map(|name| (name, fs::read(dir.join(name)).unwrap()))
        .into_iter()
        .collect();
    for n in 0..10_000 {
        let copy = runs.join(format!("20200101-{n:06}-000abcd"));
        fs::create_dir(&copy).unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(copy.join(name), bytes).unwrap());
    }
    let start = Instant::now();
    let output = env.run(["runs", "--output-format", "json"]);
    let took = start.elapsed();
    assert_eq!(output.json().as_array().unwrap().len(), 10_001);
    assert!(took < Duration::from_secs(30), "{took:?} without optimization");
    assert_eq!(env.run(["prune", "--keep", "1"]).code, 0);
    assert_eq!(env.run_ids().len(), 1);
}
