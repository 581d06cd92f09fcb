//! Every word of `expect`: it passes if it holds, and fails if it does not.

use crate::{case, run, status};

const RECIPE: &str = "\
name: r
output: {format: text, template: 'all {{word}}'}
steps:
  - {id: word, command: echo done}
  - {id: list, command: 'echo [1, 2, 3]', parse_json: true}
  - {id: think, prompt: 'think about {{word}}'}
  - {id: skipped, command: echo, condition: \"word == 'x'\"}
  - {id: file, command: 'printf content > made.txt'}
  - {id: end, command: 'echo broken >&2; exit 3'}
";

#[test]
fn every_word_passes_and_fails() {
    let words = [
        ("exit: 1", "exit: 0"),
        ("status: failed", "status: completed"),
        ("outcome: failed", "outcome: ok"),
        ("steps: {word: completed, skipped: skipped, end: failed}", "steps: {word: failed}"),
        ("steps: {'*': {one_of: [completed, skipped, failed]}}", "steps: {'*': completed}"),
        ("values: {word: done}", "values: {word: do}"),
        ("values: {list: [1, 2, 3], 'list[1]': 2}", "values: {list: [1, 2]}"),
        ("values: {word: {contains: on, not: {contains: x}}}", "values: {word: {contains: x}}"),
        ("values: {word: {matches: '^d.*e$'}}", "values: {word: {matches: ^x}}"),
        ("values: {list: {length: 3, contains: 2}}", "values: {list: {length: 2}}"),
        ("values: {skipped: {absent: true}}", "values: {word: {absent: true}}"),
        ("values: {word: {one_of: [a, done]}}", "values: {word: {one_of: [a, b]}}"),
        ("error: {contains: broken}", "error: {contains: fine}"),
        ("diagnosis: {not: environment.rate_limit}", "diagnosis: environment.rate_limit"),
        ("order: [word, think, file]", "order: [think, word]"),
        ("never: [skipped]", "never: [think]"),
        ("calls: {think: 1, skipped: 0}", "calls: {think: 2}"),
        ("prompts: {think: {contains: think about done}}", "prompts: {think: {contains: x}}"),
        ("files: {made.txt: content, none.txt: null}", "files: {made.txt: other}"),
        ("files: {made.txt: {contains: tent}}", "files: {made.txt: {absent: true}}"),
        ("changed: [made.txt]", "changed: []"),
        ("commands: {never: ['*'], length: 0}", "commands: {contains: ['*']}"),
    ];
    let mut tests = String::from("defaults: {stubs: {think: {answer: ok}}, expect: {exit: 1}}\ncases:\n");
    for (number, (good, bad)) in words.iter().enumerate() {
        tests.push_str(&format!(
            "  - {{name: good {number}, expect: {{{good}}}}}\n  - {{name: bad {number}, expect: {{{bad}}}}}\n"
        ));
    }
    let result = run(RECIPE, &tests);
    for (number, (good, bad)) in words.iter().enumerate() {
        let name = format!("good {number}");
        assert_eq!(status(&result, &name), "passed", "{good}: {:#}", case(&result, &name));
        let name = format!("bad {number}");
        assert_eq!(status(&result, &name), "failed", "{bad}: {:#}", case(&result, &name));
        let failures = case(&result, &name)["failures"].as_array().unwrap();
        let word = bad.split(':').next().unwrap();
        for failure in failures {
            assert!(failure["what"].as_str().unwrap().starts_with(word), "{failure}");
            assert!(
                failure["line"].is_u64() && failure["expected"].is_string() && failure["actual"].is_string()
            );
        }
    }
}

#[test]
fn the_default_is_exit_0_and_says_why_not() {
    let result =
        run("name: r\nsteps:\n  - {id: a, command: 'echo oops >&2; exit 4'}\n", "cases: [{name: a}]");
    assert_eq!(status(&result, "a"), "failed");
    let failure = &case(&result, "a")["failures"][0];
    assert_eq!((&failure["what"], &failure["expected"]), (&"exit".into(), &"0".into()));
    assert!(failure["actual"].as_str().unwrap().contains("bash step failed"), "{failure}");
}

#[test]
fn the_result_text_is_the_output() {
    let recipe = "name: r\noutput: {format: text, template: 'all {{word}}'}\nsteps:\n  - {id: word, command: echo done}\n";
    let result = run(
        recipe,
        "cases:\n  - {name: a, expect: {output: all done}}\n  - {name: b, expect: {output: none}}\n",
    );
    assert_eq!((status(&result, "a"), status(&result, "b")), ("passed".into(), "failed".into()));
}

#[test]
fn a_blocked_run_can_be_expected() {
    let recipe = "name: r\ninputs: [{name: who, required: true}]\nsteps:\n  - {id: a, command: echo}\n";
    let result = run(
        recipe,
        "cases: [{name: a, expect: {exit: 5, outcome: blocked, error: {contains: who}, never: [a]}}]",
    );
    assert_eq!(status(&result, "a"), "passed", "{result:#}");
}
