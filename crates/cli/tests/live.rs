//! What is on the screen of a terminal while a recipe runs, and afterwards.

use testkit::{Screen, TestEnv};

const WIDTH: usize = 60;

fn world() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// Everything that a command line wrote to a terminal.
fn typed(world: &TestEnv, line: &str) -> String {
    world.terminal(WIDTH, 20, line).written()
}

/// The lines that are left after all that was written, without empty ones.
fn screen(written: &str) -> Vec<String> {
    Screen::of(WIDTH, written).lines().into_iter().filter(|line| !line.is_empty()).collect()
}

/// Times and ids are different each time.
fn stable(lines: &[String]) -> Vec<String> {
    let plain = |word: &str| match word {
        word if word.trim_end_matches(':').ends_with('s')
            && word.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            "T".to_owned()
        }
        word => word.to_owned(),
    };
    lines.iter().map(|line| line.split(' ').map(plain).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn only_finished_steps_stay_on_the_screen() {
    let world = world().file(
        "r.yaml",
        "name: r\nsteps:\n  - {id: a, command: 'echo one; sleep 0.3; printf two'}\n  - {id: b, command: 'true', condition: '1 == 2'}\n",
    );
    let written = typed(&world, "$RUNNER r.yaml");
    let left = stable(&screen(&written));
    assert!(written.contains("1/2  0s  one"), "{written:?}");
    assert!(left[0].starts_with("▶ r: 2 steps, run "), "{left:#?}");
    assert_eq!(
        left[1..5],
        ["one", "two", "✓ a (1/2) T", "⊘ b (2/2) skipped: condition is false"],
        "{left:#?}"
    );
    assert!(left[5].starts_with("recipe 'r': completed in T"), "{left:#?}");
}

#[test]
fn parallel_and_inner_steps_leave_no_trace() {
    let world = world()
        .file("inner.yaml", "name: inner\nsteps:\n  - {id: x, command: 'sleep 0.4; echo x'}\n")
        .file(
            "r.yaml",
            "name: r\nsteps:\n  - {id: n, recipe: ./inner.yaml, parallel_group: g}\n  - {id: p, command: 'for i in 1 2 3; do echo $i; sleep 0.15; done', parallel_group: g}\n",
        );
    let written = typed(&world, "$RUNNER r.yaml");
    assert!(written.contains("  ▶ x 1/1  0s"), "{written:?}");
    let mut left = stable(&screen(&written));
    left.truncate(left.len() - 2);
    left.remove(0);
    left.sort();
    let expected =
        ["n/x │ x", "p   │ 1", "p   │ 2", "p   │ 3", "✓ n (1/2) T", "✓ n/x (1/1) T", "✓ p (2/2) T"];
    assert_eq!(left, expected, "{written:?}");
}

#[test]
fn an_interrupted_run_leaves_a_clean_screen() {
    let world = world().file("r.yaml", "name: r\nsteps:\n  - {id: a, command: 'echo on; sleep 30'}\n");
    let written = typed(&world, "$RUNNER r.yaml & p=$!; sleep 0.7; kill -INT $p; wait $p");
    let left = screen(&written);
    assert!(left.iter().any(|line| line.contains("interrupted: stopping running steps")), "{left:#?}");
    assert!(!left.iter().any(|line| line.starts_with("▶ a") || line.contains(" done, ")), "{left:#?}");
    assert!(left.iter().any(|line| line.starts_with("■ a (1/1) interrupted after ")), "{left:#?}");
    assert!(left.last().unwrap().contains("recipe-runner-rs logs"), "{left:#?}");
}

#[test]
fn a_question_at_the_terminal_fails_and_does_not_hang() {
    let recipe = "name: r\nsteps:\n  - {id: a, timeout: 20, command: 'read x </dev/tty; echo asked=$?'}\n  - {id: b, timeout: 20, command: 'stty -echo </dev/tty; echo set=$?'}\n";
    let world = world().file("r.yaml", recipe);
    // once as the leader of the session, once as a command of a shell
    for line in ["exec $RUNNER r.yaml --progress", "$RUNNER r.yaml --progress; true"] {
        let written = typed(&world, line);
        for part in ["asked=1", "set=1"] {
            assert!(written.contains(part), "{line}: {written}");
        }
    }
}

#[test]
fn a_piped_result_does_not_meet_the_view() {
    let world =
        world().file("r.yaml", "name: r\nsteps:\n  - {id: a, command: 'printf \"no end\"; sleep 0.3'}\n");
    let left = stable(&screen(&typed(&world, "$RUNNER r.yaml > result")));
    assert_eq!(left[1..], ["✓ a (1/1) T", "✓ r completed in T 1 completed"], "{left:#?}");
    assert!(std::fs::read_to_string(world.path("result")).unwrap().starts_with("no end"));
}

#[test]
fn output_cannot_wipe_the_screen() {
    let world = world().file(
        "r.yaml",
        "name: r\nsteps:\n  - {id: a, command: 'printf \"\\033[2J\\033[5Bkept\\n\"; printf \"\\001%.0s\" {1..200}; sleep 0.2'}\n",
    );
    let left = stable(&screen(&typed(&world, "$RUNNER r.yaml")));
    assert!(left.contains(&"kept".to_owned()), "{left:#?}");
    assert!(left.contains(&"✓ a (1/1) T".to_owned()), "{left:#?}");
}

#[test]
fn lines_are_plain_where_nothing_can_be_redrawn() {
    let world = world().file("r.yaml", "name: r\nsteps:\n  - {id: a, command: 'echo one'}\n");
    for line in ["TERM=dumb $RUNNER r.yaml", "$RUNNER r.yaml --progress", "$RUNNER r.yaml --quiet"] {
        let written = typed(&world, line);
        assert!(!written.contains('\u{1b}'), "{line}: {written:?}");
    }
}
