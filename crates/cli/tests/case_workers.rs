//! Workers that perform test cases: killed runners, timeouts, the network, and parallel cases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world has failed")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use engine::Event;
use runtime::{
    os::guardian::Guardian,
    recipe_tests::{CaseEnd, CaseError, CaseOrder, CaseRun, CaseSession, Network, SessionSetup},
};
use serde_json::Value as Json;

struct Place {
    dir: tempfile::TempDir,
    session: CaseSession,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let program = PathBuf::from(env!("CARGO_BIN_EXE_recipe-runner-rs"));
        let worker = Guardian {
            program: program.clone(),
            name: "recipe-case".into(),
            args: vec!["__case".into(), "__case".into()],
        };
        let temporary = dir.path().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let session =
            CaseSession::start(SessionSetup { worker, path, temporary, program: Some(program) }).unwrap();
        Place { dir, session }
    }

    fn run(&self, number: usize) -> CaseRun {
        self.run_for(number, 60.0)
    }

    fn run_for(&self, number: usize, timeout: f64) -> CaseRun {
        let root = self.dir.path();
        self.session.run_case(&CaseOrder {
            test_file: root.join("r.test.yaml"),
            recipe: root.join("r.yaml"),
            number,
            timeout,
            recipe_dirs: Vec::new(),
        })
    }
}

fn ended(run: &CaseRun) -> &Json {
    match &run.ended {
        Some(CaseEnd::Result(result)) => result,
        other => panic!("{other:?} {:?}", run.errors),
    }
}

const SIX: &str = "name: r\nsteps:\n\
    - {id: a, command: 'echo a >> log; echo 1'}\n\
    - {id: b, prompt: 'use {{a}}'}\n\
    - {id: c, command: 'echo c >> log; echo {{b}}', effects: [push]}\n\
    - {id: d, for_each: [x, y], prompt: 'do {{item}}'}\n\
    - {id: e, command: 'echo e >> log; echo {{d}}'}\n\
    - {id: f, prompt: 'last {{e}}', retry: 2}\n";
const STUBS: &str = "    stubs:\n      b: {answer: two, files: {b.txt: b}}\n      c: {real: true}\n      d: [{answer: dx}, {answer: dy}]\n      f: [{fault: crash}, {answer: end}]\n";

#[test]
fn a_runner_that_is_killed_anywhere_comes_to_the_same_end() {
    let steps = ["a", "b", "c", "d[0]", "d[1]", "e", "f"];
    let mut cases = format!("cases:\n  - name: calm\n{STUBS}");
    for (step, moment) in steps.iter().flat_map(|step| [(step, "started"), (step, "finished")]) {
        cases.push_str(&format!(
            "  - name: {step} {moment}\n    kill: [{{at: \"{step}\", moment: {moment}}}]\n{STUBS}"
        ));
    }
    let all: Vec<String> = steps.iter().map(|step| format!("{{at: \"{step}\", moment: finished}}")).collect();
    cases.push_str(&format!("  - name: all\n    kill: [{}]\n{STUBS}", all.join(", ")));
    let place = Place::new(&[("r.yaml", SIX), ("r.test.yaml", &cases)]);
    let calm = place.run(0);
    assert_eq!(calm.errors, []);
    let log = |run: &CaseRun| std::fs::read_to_string(run.scratch.work().join("log")).unwrap();
    assert_eq!(log(&calm), "a\nc\ne\n");
    for number in 1..=2 * steps.len() + 1 {
        let run = place.run(number);
        assert_eq!(run.errors, [], "{number}");
        assert_eq!(ended(&run)["exit_code"], 0, "{number} {:#}", ended(&run));
        assert_eq!(ended(&run)["context"], ended(&calm)["context"], "{number}");
        assert_eq!(log(&run), log(&calm), "{number}: every effect once");
        let resumes = run.events.iter().filter(|record| matches!(record.event, Event::RunResumed(_))).count();
        assert_eq!(resumes, if number > 2 * steps.len() { steps.len() } else { 1 }, "{number}");
        assert_eq!(run.calls.len(), calm.calls.len(), "{number} {:?}", run.calls);
    }
}

#[test]
fn a_killed_effect_waits_for_a_person() {
    let recipe = "name: r\nsteps:\n- {id: a, command: x, idempotent: false}\n";
    let cases = "cases:\n- {name: one, kill: [{at: a, moment: started}], stubs: {a: {exit: 0, optional: true}}}\n\
                 - {name: never, kill: [{at: a, moment: finished}], stubs: {a: {exit: 1, optional: true}}}\n";
    let place = Place::new(&[("r.yaml", recipe), ("r.test.yaml", cases)]);
    let run = place.run(0);
    assert_eq!(
        (run.errors.len(), ended(&run)["exit_code"].as_u64()),
        (0, Some(6)),
        "{:?} {:#}",
        run.errors,
        ended(&run)
    );
}

#[test]
fn a_case_that_takes_too_long_is_ended_with_everything_it_started() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'sleep 43219 & wait'}\n";
    let cases = "cases:\n- {name: one}\n- {name: two, stubs: {a: {exit: 0}}}\n";
    let place = Place::new(&[("r.yaml", recipe), ("r.test.yaml", cases)]);
    let began = Instant::now();
    let run = place.run_for(0, 0.5);
    assert_eq!(run.errors, [CaseError::TimedOut { seconds: "0.5".to_owned() }]);
    assert!(began.elapsed() < Duration::from_secs(10));
    let left = std::process::Command::new("pgrep").args(["-f", "^sleep 43219"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
    assert_eq!(place.run(1).errors, [], "the next case has a worker of its own");
}

#[test]
fn commands_reach_this_machine_and_nothing_else() {
    let recipe = "name: r\nsteps:\n\
        - {id: serve, command: 'python3 -c \"import socket; s=socket.socket(); s.bind((\\\"127.0.0.1\\\", 0)); print(s.getsockname()[1], flush=True); s.listen(); c=s.accept()[0]; c.send(b\\\"hello\\\")\" > port & while [ ! -s port ]; do sleep 0.01; done'}\n\
        - {id: ask, command: 'exec 3<>/dev/tcp/127.0.0.1/$(cat port); cat <&3'}\n\
        - {id: out, command: 'ls /sys/class/net | tr \"\\n\" \" \"; cat /proc/net/dev | grep -c :'}\n";
    let place = Place::new(&[("r.yaml", recipe), ("r.test.yaml", "cases:\n- {name: one}\n")]);
    let run = place.run(0);
    assert_eq!(run.network, place.session.network());
    assert_eq!(run.errors, []);
    assert_eq!(ended(&run)["step_results"][1]["output"], "hello", "{:#}", ended(&run));
    if run.network == Network::Isolated {
        let seen = ended(&run)["step_results"][2]["output"].as_str().unwrap();
        assert!(seen.ends_with('1'), "only `lo`: {seen}");
    }
}

#[test]
fn parallel_cases_do_not_touch_each_other() {
    let recipe =
        "name: r\nsteps:\n- {id: a, command: 'echo {{n}} > f; sleep 0.05; cat f'}\n- {id: b, prompt: 'p'}\n";
    let mut cases = "cases:\n".to_owned();
    for n in 0..12 {
        cases.push_str(&format!(
            "- {{name: case {n}, inputs: {{n: {n}}}, stubs: {{b: {{answer: b{n}, after: 3600}}}}}}\n"
        ));
    }
    let place = Place::new(&[("r.yaml", recipe), ("r.test.yaml", &cases)]);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for n in (thread..12).step_by(4) {
                    let run = place.run(n);
                    assert_eq!(run.errors, []);
                    assert_eq!(ended(&run)["step_results"][0]["output"], n.to_string());
                    assert_eq!(ended(&run)["step_results"][1]["output"], format!("b{n}"));
                    assert_eq!(ended(&run)["run_id"], "20260101-000000-000aaaa");
                }
            });
        }
    });
    assert!(began.elapsed() < Duration::from_secs(30));
    let tmp = place.dir.path().join("tmp");
    drop(place.session);
    assert_eq!(std::fs::read_dir(tmp).unwrap().count(), 0, "nothing stays");
}
