//! What is a spec, what is refused, and what is asked.

use super::*;

#[test]
fn a27_what_is_no_spec_is_refused_and_nothing_is_written() {
    let huge = "word ".repeat(60_000);
    let env = world(SPEC)
        .file("empty.md", "")
        .file("blank.md", " \n\n")
        .file("binary.md", b"a\0b")
        .file("latin.txt", b"\xff\xfe")
        .file("huge.md", &huge)
        .file("folder.md/x", "");
    let before = files(&env);
    for (spec, words) in [
        ("missing.md", "does not exist"),
        ("no/such", "does not exist"),
        ("empty.md", "is empty"),
        ("blank.md", "is empty"),
        ("binary.md", "is not text"),
        ("latin.txt", "is not UTF-8"),
        ("huge.md", "larger than 256 KiB"),
        ("folder.md", "is a directory"),
        ("src/", "is a directory"),
        (".", "is a directory"),
        ("", "is empty"),
    ] {
        let (output, json) = json(&env, &[spec]);
        assert_eq!((output.code, json["stage"].as_str()), (4, Some("generate")), "{spec}: {}", output.all());
        assert!(json["error"].as_str().unwrap().contains(words), "{spec}: {json}");
        let text = env.run(["generate", spec]);
        assert!(
            text.stderr.contains("stage: generate") && !text.stderr.contains("panicked"),
            "{}",
            text.all()
        );
        assert!(text.stderr.contains("recipe-runner-rs generate --help"), "{}", text.all());
    }
    assert_eq!(files(&env), before, "no file was written");
    assert_eq!(env.run(["generate", "--help"]).code, 0, "the suggested command works");
    let typo = env.run(["generate", "SPCE.md"]);
    assert!(typo.stderr.contains("did you mean `recipe-runner-rs generate SPEC.md`?"), "{}", typo.all());
    assert_eq!(env.run(["generate"]).code, 4);
}

#[test]
fn a_spec_comes_from_a_file_from_the_command_line_or_from_stdin() {
    let env = world(SPEC);
    let text = "Change `src/main.rs`. Done when `t` prints `x`.";
    let (output, made) = json(&env, &[text, "--name", "one"]);
    assert_eq!((output.code, made["path"].as_str()), (0, Some("recipes/one.yaml")), "{}", output.all());
    assert_eq!(std::fs::read_to_string(env.path("recipes/one.spec.md")).unwrap(), text);
    assert_eq!(made["spec"]["path"], "recipes/one.spec.md");
    let piped = env.shell("$RUNNER generate - --name two --output-format json < SPEC.md");
    assert_eq!((piped.code, piped.json()["spec"]["path"].as_str()), (0, Some("recipes/two.spec.md")));
    // a text that ends like a file is a path
    assert_eq!(env.run(["generate", "update README.md"]).code, 4);
}

#[test]
fn a31_a_vague_spec_is_asked_about_and_nothing_is_written() {
    let spec = "# Export\n\nExport the data.\n\n## Acceptance\n- `t export` prints `ok`\n\n## Open questions\n- CSV or JSON?\n- Where do the files go?\n";
    let env = world(spec);
    let before = files(&env);
    let (output, asked) = json(&env, &["SPEC.md"]);
    assert_eq!((output.code, asked["status"].as_str()), (6, Some("needs_clarification")), "{}", output.all());
    let questions = asked["questions"].as_array().unwrap();
    let seen: Vec<(&str, u64)> = questions
        .iter()
        .map(|one| (one["question"].as_str().unwrap(), one["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(seen, [("CSV or JSON?", 9), ("Where do the files go?", 10)]);
    let text = env.run(["generate", "SPEC.md"]);
    assert!(text.stdout.contains("status: needs_clarification"), "{}", text.all());
    assert!(text.stdout.contains("1. CSV or JSON? (line 9)"), "{}", text.all());
    assert_eq!(env.run(["generate", "make onboarding better"]).code, 6);
    assert_eq!(files(&env), before, "no file was written");
    assert_eq!(env.run(["generate", "SPEC.md", "--answer", "7=x"]).code, 4);
    assert_eq!(env.run(["generate", "SPEC.md", "--answer", "x"]).code, 4);
    assert_eq!(files(&env), before, "no file was written");
}

#[test]
fn questions_are_closed_by_the_spec_by_the_user_and_by_judgement() {
    let open = "# Export\n\nExport `src/main.rs`.\n\n## Acceptance\n- `t export` prints `ok`\n\n## Open questions\n1. CSV or JSON?\n2. Where do the files go?\n3. Who reads them?\n\n## Answers\n1. CSV\n";
    let env = world(open);
    let (output, made) = json(&env, &["SPEC.md", "--answer", "2=into out", "--best-judgement"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let answers: Vec<(&str, &str)> = made["clarifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["answer"].as_str().unwrap(), one["answered_by"].as_str().unwrap()))
        .collect();
    assert_eq!(answers[0], ("CSV", "spec"));
    assert_eq!(answers[1], ("into out", "user"));
    assert_eq!(answers[2].1, "generator");
    assert_eq!(record(&env, "export")["clarifications"], made["clarifications"]);
    let text = env.run(["generate", "SPEC.md", "--answer", "2=into out", "--best-judgement", "--force"]);
    assert!(text.stdout.contains("question: Who reads them?"), "{}", text.all());
    assert!(text.stdout.contains("(answered_by: generator)"), "{}", text.all());
    let recipe = std::fs::read_to_string(env.path("recipes/export.yaml")).unwrap();
    assert!(recipe.contains("Who reads them?") && recipe.contains("answered_by: generator"), "{recipe}");
}
