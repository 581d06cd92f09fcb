//! Killed runners: the run is resumed, and nothing is done twice or lost.

use crate::passes;

#[test]
fn a7_a_kill_before_and_after_every_step_changes_nothing() {
    let recipe = "name: r\nsteps:\n\
        - {id: a, command: 'echo a >> log; echo 1'}\n\
        - {id: b, prompt: 'use {{a}}'}\n\
        - {id: c, command: 'echo effect >> log', effects: [push]}\n\
        - {id: d, for_each: [x, y], prompt: 'do {{item}}'}\n\
        - {id: e, command: 'echo e >> log; echo {{d}}'}\n\
        - {id: f, prompt: 'last {{e}}'}\n";
    let mut tests = String::from(
        "defaults:\n  stubs: {b: {answer: two}, c: {real: true}, d: [{answer: dx}, {answer: dy}], f: {answer: end}}\n  expect: {values: {a: 1, b: two, d: [dx, dy], f: end}, status: completed}\ncases:\n  - {name: calm, expect: {files: {log: \"a\\neffect\\ne\\n\"}}}\n",
    );
    for step in ["a", "b", "c", "d", "e", "f"] {
        tests.push_str(&format!(
            "  - {{name: after {step}, kill: [{{at: {step}, moment: finished}}], expect: {{files: {{log: \"a\\neffect\\ne\\n\"}}}}}}\n  - {{name: in {step}, kill: [{{at: {step}, moment: started}}]}}\n"
        ));
    }
    passes(recipe, &tests);
}
