//! Inside a pid namespace, as containers and sandboxes make them: the process group and the session of the runner may
//! belong to somebody outside, and have no number there; or the runner is itself the first process.

use testkit::TestEnv;

const UNSHARE: &str = "unshare --map-root-user --pid --fork --mount-proc";
/// How the runner is started: as somebody's child, in a group of its own, and as the first process.
const PLACES: [&str; 3] = [r#""$@"; exit $?"#, r#"set -m; "$@"; exit $?"#, r#"exec "$@""#];

#[test]
fn what_steps_leave_behind_is_known_and_ended() {
    let is_alive = "command: pgrep -f 'sleep 300' >/dev/null && echo alive";
    for (steps, code, told) in [
        (format!("- {{id: s, command: sleep 300 &}}\n- {{id: v, {is_alive}}}"), 0, "sleep 300"),
        (format!("- {{id: s, command: setsid sleep 300 &}}\n- {{id: v, {is_alive}}}"), 0, "sleep 300"),
        ("- {id: v, command: 'exec > >(sleep 0.2; cat) 2>&1; echo alive'}".to_owned(), 0, ""),
        (
            "- {id: v, timeout: 1, command: '(setsid sleep 300 &); sleep 300 & wait'}".to_owned(),
            1,
            "after 1 s",
        ),
    ] {
        for place in PLACES {
            let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
                .file("r.yaml", format!("name: r\nsteps:\n{steps}\n"));
            if env.shell(&format!("{UNSHARE} true")).code != 0 {
                eprintln!("skipped: namespaces are not allowed here");
                return;
            }
            let runner = r#"bash "$RUNNER" r.yaml --output-format json"#;
            let output = env.shell(&format!("{UNSHARE} bash -c '{place}' {runner}"));
            assert_eq!(output.code, code, "{place} {steps} {}", output.all());
            assert!(code == 1 || output.value("v") == "alive", "{place} {steps} {}", output.all());
            let result = output.json();
            let said = format!("{} {}", result["ended_processes"], output.step("v")["error"]);
            assert!(said.contains(told), "{place} {steps} {}", output.all());
        }
    }
}
