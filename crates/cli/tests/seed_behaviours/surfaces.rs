//! All faces of the program show the same run.
//!
//! Does not apply: chat and web faces with their own formatting, because there are none. What counts for those
//! that there are (text, JSON, `show`, `runs`, `health`, the audit log) is checked here.

use serde_json::Value as Json;

use super::{env, json};

/// `surfaces-ingress.co-equal-surfaces`
#[test]
fn surfaces_ingress_co_equal_surfaces() {
    let recipe =
        "name: faces\nsteps:\n  - {id: a, command: echo hi}\n  - {id: b, command: test -e nothing}\n";
    let env = env().file("r.yaml", recipe);
    let printed = json(&env, &["r.yaml", "--audit-dir", "audit"]).json();
    let shown = json(&env, &["show", "last"]).json();
    for key in [
        "run_id",
        "status",
        "outcome",
        "exit_code",
        "step_results",
        "diagnosis",
        "fingerprint",
        "advice",
        "evidence",
        "resume_command",
    ] {
        assert_eq!(printed[key], shown[key], "{key}");
    }
    let class = printed["diagnosis"]["class"].as_str().unwrap();
    let listed = &json(&env, &["runs"]).json()[0];
    assert_eq!((&listed["run_id"], &listed["status"]), (&printed["run_id"], &printed["status"]));
    let health = &json(&env, &["health"]).json()["recipes"][0];
    assert_eq!(health["failures_by_class"][class], 1, "{health}");
    for output in [env.run(["show", "last"]), env.run(["r.yaml"])] {
        assert!(output.all().contains("found a real problem"), "{}", output.all());
        assert!(output.all().contains("resume"), "{}", output.all());
    }
    let file = std::fs::read_dir(env.path("audit")).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let audit: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, step) in audit.iter().zip(printed["step_results"].as_array().unwrap()) {
        assert_eq!((&line["step_id"], &line["status"]), (&step["step_id"], &step["status"]));
    }
}
