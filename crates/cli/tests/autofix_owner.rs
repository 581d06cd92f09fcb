//! While auto-fix waits or has a recipe repaired, the run has an owner: it can be seen, stopped, and put right.

use serde_json::Value as Json;
use testkit::{Output, Started, TestEnv, is_alive, until};

/// A world with an agent program that runs this script.
fn world(agent: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: two, command: echo two >> ledger}
  - {id: three, command: echo three >> ledger}
  - {id: check, command: 'grep --quite one ledger'}
";

/// A repair that writes into the recipe, leaves a child of its own, and then takes its time.
const SLOW_REPAIR: &str = "sed -i s/one/WEAKER/ r.yaml
sleep 300 & echo $! > \"$HOME/child\"
echo $$ > \"$HOME/agent\"
wait";

/// Starts a run whose repair agent is at work.
fn repairing(env: &TestEnv) -> Started {
    env.write("r.yaml", BROKEN);
    let started = env.spawn(["r.yaml", "--auto-fix", "--output-format", "json"]);
    env.wait_for("~/agent");
    started
}

/// Everything that the repair agent started is gone, and the recipe is as its user wrote it.
fn check_mended(env: &TestEnv) {
    for file in ["~/agent", "~/child"] {
        let pid = env.read(file);
        until("the repair agent is gone", || !is_alive(&pid));
    }
    assert_eq!(env.read("r.yaml"), BROKEN);
}

#[test]
fn a_signal_stops_a_repair_at_once_and_restores_the_recipe() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let env = world(SLOW_REPAIR);
        let started = repairing(&env);
        started.signal(signal);
        let output = started.wait();
        assert_eq!(output.code, code, "{}", output.all());
        let result = output.json();
        assert_eq!(result["status"], "interrupted", "{}", output.all());
        assert_eq!(result["outcome"], "interrupted");
        assert_eq!(result["auto_fix"]["outcome"], "interrupted");
        let repair = &result["auto_fix"]["attempts"][0]["repair"];
        assert_eq!(repair["accepted"], false);
        let candidate = std::fs::read_to_string(repair["candidate"].as_str().unwrap()).unwrap();
        assert!(candidate.contains("WEAKER"), "what it had written is kept");
        check_mended(&env);
        assert_eq!(env.survivors(), Vec::<String>::new());
        assert_eq!(json(&env, &["show", "last"]).json()["status"], "interrupted");
        env.write("r.yaml", BROKEN.replace("grep --quite one ledger", "grep --quiet one ledger"));
        let resumed = env.run(["resume", "last", "--recipe", "r.yaml"]);
        assert_eq!(resumed.code, 0, "{}", resumed.all());
    }
}

#[test]
fn a_loop_that_was_stopped_while_a_repair_was_made_asks_for_it_again() {
    let good = BROKEN.replace("grep --quite one ledger", "grep --quiet one ledger");
    for signal in ["INT", "KILL"] {
        let env = world(&format!("[ -e \"$HOME/slow\" ] && {{ {SLOW_REPAIR}; }}\ncat \"$HOME/good\""));
        env.write("~/good", &good);
        env.write("~/slow", "");
        let started = repairing(&env);
        started.signal(signal);
        started.wait();
        std::fs::remove_file(env.path("~/slow")).unwrap();
        let resumed = json(&env, &["resume", "last"]);
        assert_eq!(resumed.code, 0, "{signal} {}", resumed.all());
        assert_eq!(env.read("r.yaml"), good);
    }
}

#[test]
fn an_agent_that_does_not_listen_is_killed() {
    let env =
        world(&format!("trap '' TERM INT\n{}", SLOW_REPAIR.replace("\nwait", "\nwhile :; do sleep 1; done")));
    let started = repairing(&env);
    started.signal("INT");
    until("it says that it stops", || started.stderr().contains("interrupted: stopping"));
    started.signal("INT");
    let output = started.wait();
    assert_eq!(output.code, 130, "{}", output.all());
    check_mended(&env);
}

#[test]
fn a_repair_has_an_owner() {
    let env = world(SLOW_REPAIR);
    let started = repairing(&env);
    let runs = json(&env, &["runs"]).json();
    assert_eq!(runs[0]["status"], "running", "{runs}");
    assert_eq!(runs[0]["pid"], started.pid());
    assert_eq!(json(&env, &["show", "last"]).json()["status"], "running");
    for arguments in [vec!["resume", "last"], vec!["r.yaml"], vec!["resume", "last", "--auto-fix"]] {
        let beside = env.run(arguments.clone());
        assert_eq!(beside.code, 7, "{arguments:?}: {}", beside.all());
    }
    let cancelled = env.run(["cancel", "last"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.all());
    assert!(cancelled.stdout.contains(" cancelled; "), "{}", cancelled.all());
    assert!(!is_alive(&env.read("~/agent")), "it returns when nothing is alive");
    let output = started.wait();
    assert_eq!((output.code, &output.json()["status"]), (130, &Json::from("cancelled")), "{}", output.all());
    check_mended(&env);
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "cancelled");
}

#[test]
fn a_repair_agent_whose_service_does_not_work_has_proposed_nothing() {
    let says = |status: u32| {
        format!(
            "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":{status},\"result\":\"refused\"}}'; exit 1"
        )
    };
    let good = "printf '```yaml\\nname: r\\nsteps:\\n  - {id: a, command: git version}\\n```\\n'";
    for (script, calls, code) in
        [(format!("[ $N = 1 ] && {{ {}; }}; {good}", says(429)), 2, 0), (says(401), 1, 6)]
    {
        let env = world(&script)
            .file("r.yaml", "name: r\nsteps:\n  - {id: a, command: git verzion}\n")
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "0");
        env.shell("git init -q");
        let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
        assert_eq!((output.code, env.script_calls()), (code, calls), "{}", output.all());
        if code == 6 {
            assert!(output.all().contains("the repair agent cannot work"), "{}", output.all());
        }
    }
}

const FAR: &str = "name: r\nsteps:\n  - {id: far, prompt: go}\n";
/// An agent whose service cannot be reached.
const UNREACHABLE: &str = "echo '{\"type\":\"result\",\"subtype\":\"error\",\"is_error\":true,\"result\":\"API Error: 429 rate_limit_error: slow down\"}'; exit 1";

#[test]
fn the_wait_before_another_attempt_is_announced_and_can_be_stopped() {
    for how in ["INT", "TERM", "cancel"] {
        let env = world(UNREACHABLE)
            .file("r.yaml", FAR)
            .env("AMPLIHACK_RATELIMIT_MAX_RETRIES", "0")
            .env("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", "55");
        let mut started = env.spawn(["r.yaml", "--auto-fix", "--output-format", "json"]);
        until("the wait is announced", || {
            started.stderr().contains("[auto-fix] waiting") || !started.is_running()
        });
        assert!(started.stderr().contains("trying again in 55"), "{}", started.stderr());
        assert_eq!(json(&env, &["runs"]).json()[0]["status"], "running");
        let expected = match how {
            "cancel" => {
                assert_eq!(env.run(["cancel", "last"]).code, 0);
                (130, "cancelled")
            }
            signal => {
                started.signal(signal);
                (if signal == "INT" { 130 } else { 143 }, "interrupted")
            }
        };
        let asked = std::time::Instant::now();
        let output = started.wait();
        assert!(asked.elapsed().as_secs() < 30, "the wait went on");
        assert_eq!((output.code, output.json()["status"].as_str().unwrap()), expected, "{}", output.all());
    }
}

#[test]
fn a_repair_whose_runner_was_killed_is_undone() {
    let env = world(SLOW_REPAIR);
    repairing(&env).kill();
    assert_ne!(env.read("r.yaml"), BROKEN, "no process restored it yet");
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "interrupted");
    let dead = env.run_ids().remove(0);

    let other = env.run(["r.yaml"]);
    assert!(other.stderr.contains(&dead) && other.stderr.contains("original"), "{}", other.all());
    assert_ne!(env.read("r.yaml"), BROKEN, "the next run names it and leaves it alone");

    let resumed = env.run(["resume", &dead, "--no-auto-fix"]);
    assert_eq!(resumed.code, 1, "{}", resumed.all());
    assert!(resumed.stderr.contains("the original recipe is restored"), "{}", resumed.all());
    check_mended(&env);
    let usage = json(&env, &["show", &dead]).json()["usage"].clone();
    assert_eq!((&usage["runs"], &usage["runs_without_cost"]), (&1.into(), &1.into()), "{usage}");
    let kept = env.state().join("runs").join(&dead).join("repairs/1/candidate.yaml");
    assert!(std::fs::read_to_string(kept).unwrap().contains("WEAKER"));
}

#[test]
fn a_cut_off_repair_is_undone_before_the_recipe_is_read_again() {
    let resume = vec!["resume", "last", "--recipe", "r.yaml", "--no-auto-fix"];
    for arguments in [resume, vec!["cancel", "last"]] {
        let env = world(SLOW_REPAIR);
        repairing(&env).kill();
        let output = env.run(arguments.clone());
        assert!(matches!(output.code, 0 | 1), "{arguments:?}: {}", output.all());
        assert!(output.stderr.contains("the original recipe is restored"), "{}", output.all());
        let shown = env.run(["show", "last"]);
        assert!(shown.stdout.contains("the original recipe is restored"), "{}", shown.all());
        check_mended(&env);
        assert!(!env.read("ledger").contains("WEAKER"), "the guard never saw it");
    }
}

#[test]
fn an_unfixed_run_waits_for_a_person() {
    let env = world("echo I cannot").file("r.yaml", BROKEN);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    let shown = json(&env, &["show", "last"]).json();
    assert_eq!((&shown["status"], &shown["outcome"]), (&"waiting".into(), &"needs_human".into()), "{shown}");
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "waiting");
}

#[test]
fn effects_that_stop_auto_fix_are_not_claimed_as_done() {
    let steps = "name: r\nsteps:\n  - {id: a, prompt: p, output: x}\n  - {id: push, command: 'echo push >> ledger; echo \"{{x}}\"', effects: [push], output: y}\n  - {id: g, command: 'grep -q PASS <<< \"{{y}}\"'}\n";
    let env = world("echo FAIL").file("r.yaml", steps);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    let escalation = output.json()["auto_fix"]["escalation"].clone();
    let attempted = escalation["attempted"].to_string();
    assert!(!attempted.contains("; re-run") && attempted.contains("not re-run"), "{attempted}");
    assert!(escalation["options"].to_string().contains("--rerun-effects"), "{escalation}");
    assert_eq!(env.read("ledger"), "push\n");
}
