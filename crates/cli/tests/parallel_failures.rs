//! Several steps of one parallel group fail: the producers of all of them are re-run, by a typed resume and by auto-fix.

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A world with an agent program that runs this script.
fn world(agent: &str) -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), agent)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

/// An agent that is right about each part from its second, or another, answer on.
fn right_from(answer: u32) -> String {
    format!(
        "W=$(grep -o 'part-[a-z0-9]*' <<< \"$P\" | head -1)\necho . >> \"$HOME/$W\"\n\
         case $W in part-late) T=3;; *) T={answer};; esac\n\
         [ $(wc -l < \"$HOME/$W\") -ge $T ] && echo good || echo bad"
    )
}

/// Every re-run step, the anchor and the kept agents.
fn again(plan: &Json) -> String {
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let paths = steps.iter().filter(|step| step["action"] == "rerun");
    let paths: Vec<&str> = paths.filter_map(|step| step["path"].as_str()).collect();
    let kept = plan["kept_producers"].as_array().cloned().unwrap_or_default();
    let kept: Vec<&str> = kept.iter().filter_map(Json::as_str).collect();
    format!("{} at {}; {}", paths.join(" "), plan["anchor"].as_str().unwrap_or("?"), kept.join(" "))
}

const TWO: &str = "  - {id: p1, prompt: part-a}\n  - {id: p2, prompt: part-b}\n";
const G: &str = "  - {id: g, command: 'test \"{{p1}}\" = good', parallel_group: x}\n";
const H: &str = "  - {id: h, command: 'test \"{{p2}}\" = good', parallel_group: x}\n";
const E: &str = "  - {id: e, command: 'no-such-tool-here \"{{p1}}\"', parallel_group: x}\n";
const CHECKED: &str = "name: c\ncontext: {n: ''}\nsteps:\n  - {id: p, prompt: 'part-{{n}}'}\n  - {id: t, command: 'test \"{{p}}\" = good'}\n";

fn stream(n: usize) -> String {
    format!("  - {{id: s{n}, recipe: c, context: {{n: '{n}'}}, parallel_group: x}}\n")
}

#[test]
fn a_typed_resume_reruns_the_producers_of_each_failed_step() {
    let streams: String = [1, 2].map(stream).concat();
    for (steps, expected) in [
        ([TWO, G, H].concat(), "p1 p2 g h at p2; "),
        ([TWO, H, G].concat(), "p1 p2 h g at p2; "),
        // each by its own diagnosis, in any order
        ([TWO, E, H].concat(), "p2 e h at p2; p1"),
        ([TWO, H, E].concat(), "p2 h e at p2; p1"),
        (streams, "s1 s1/p s1/t s2 s2/p s2/t at s2/p; "),
    ] {
        let env =
            world(&right_from(2)).file("c.yaml", CHECKED).file("r.yaml", format!("name: r\nsteps:\n{steps}"));
        assert_eq!(json(&env, &["r.yaml"]).code, 1, "{steps}");
        let plan = json(&env, &["resume", "last", "--plan"]);
        assert_eq!(again(&plan.json()), expected, "{}", plan.all());
        let resumed = json(&env, &["resume", "last"]);
        assert_eq!(resumed.code, i32::from(steps.contains("no-such-tool")), "{}", resumed.all());
    }
}

/// Runs with auto-fix: the exit code, and the steps that each attempt re-ran.
fn fixed(env: &TestEnv, steps: &str, most: &str) -> (i32, String) {
    env.write("c.yaml", CHECKED);
    env.write("r.yaml", format!("name: r\nsteps:\n{steps}"));
    let output = json(env, &["r.yaml", most]);
    let attempts = output.json()["auto_fix"]["attempts"].as_array().cloned().unwrap_or_default();
    let plan = |attempt: &Json| {
        let rerun = attempt["plan"]["rerun"].as_array().cloned().unwrap_or_default();
        rerun.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" ")
    };
    (output.code, attempts.iter().map(plan).collect::<Vec<_>>().join(" | "))
}

#[test]
fn auto_fix_reruns_all_producers_at_once() {
    let flat = fixed(&world(&right_from(2)), &[TWO, G, H].concat(), "--auto-fix=2");
    assert_eq!(flat, (0, "p1 p2 g h | ".to_owned()));
    let streams: String = (0..4).map(stream).collect();
    let again = "s0 s0/p s0/t s1 s1/p s1/t s2 s2/p s2/t s3 s3/p s3/t | ".to_owned();
    assert_eq!(fixed(&world(&right_from(2)), &streams, "--auto-fix=2"), (0, again));
}

#[test]
fn the_same_steps_failing_in_the_same_way_end_the_loop() {
    let env = world("echo bad");
    let (code, plans) = fixed(&env, &[TWO, G, H].concat(), "--auto-fix=9");
    // p1 comes before p2 and is re-run already: going further up would change nothing
    assert_eq!((code, plans.as_str()), (6, "p1 p2 g h | "));
    let shown = json(&env, &["show", "last"]).json();
    let reason = shown["auto_fix"]["escalation"]["reason"].to_string();
    assert!(reason.contains("the same failure came twice"), "{reason}");
}

#[test]
fn the_loop_continues_if_fewer_steps_fail_than_before() {
    for (name, late) in [("part-a", "p1 g"), ("part-b", "p2 h")] {
        let steps = [TWO, G, H].concat().replace(name, "part-late");
        let (code, plans) = fixed(&world(&right_from(2)), &steps, "--auto-fix");
        assert_eq!((code, plans), (0, format!("p1 p2 g h | {late} | ")));
    }
}

#[test]
fn tolerated_failures_stay_tolerated() {
    let env = world(&right_from(2));
    let steps = [TWO, &G.replace("x}", "x, continue_on_error: true}"), H].concat();
    env.write("r.yaml", format!("name: r\nsteps:\n{steps}"));
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    assert_eq!(again(&json(&env, &["resume", "last", "--plan"]).json()), "p2 h at p2; ");
}

/// A step without a further producer adds nothing to a second plan.
#[test]
fn auto_fix_does_not_pay_twice_for_the_same_plan() {
    let made = "  - {id: h, command: test -f made, parallel_group: x}\n";
    let env = world("echo bad").file("r.yaml", format!("name: r\nsteps:\n{TWO}{G}{made}"));
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!((output.code, env.script_calls()), (6, 4), "{}", output.all());
}
