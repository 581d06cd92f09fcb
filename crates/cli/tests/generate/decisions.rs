//! What is decided: targets, programs, skills, flags.

use super::*;

#[test]
fn a33_flags_override_the_words_of_the_spec() {
    let env = world(&format!("{SPEC}\nUse Codex to implement. Open a PR.\n"));
    let flags = [
        "SPEC.md",
        "--writer",
        "gemini",
        "--reviewers",
        "claude,codex",
        "--pattern",
        "graph",
        "--depth",
        "light",
        "--no-pr",
    ];
    let (output, made) = json(&env, &flags);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((made["pattern"]["name"].as_str(), made["depth"].as_str()), (Some("graph"), Some("light")));
    let programs: Vec<&str> =
        made["tools"].as_array().unwrap().iter().map(|row| row["program"].as_str().unwrap()).collect();
    assert_eq!(programs, ["gemini", "claude", "codex"]);
    assert!(made["tools"].as_array().unwrap().iter().all(|row| row["rule"] == "flag"));
    let recipe = std::fs::read_to_string(env.path("recipes/add-a-json-flag.yaml")).unwrap();
    assert!(!recipe.contains("effects: ["), "no pull request: {recipe}");
    let unknown = env.run(["generate", "SPEC.md", "--writer", "nosuch"]);
    assert_eq!(unknown.code, 4);
    assert!(unknown.stderr.contains("`nosuch` is not known"), "{}", unknown.all());
}

#[test]
fn a34_targets_of_prose_and_of_a_block() {
    let prose = "# Diff\n\nChange `src/diff.rs` for base/head and/or application/json, see https://example.org/a and `--base`.\n\n## Acceptance\n- `t` prints `x`\n";
    let env = world(prose);
    let (_, made) = json(&env, &["SPEC.md"]);
    assert_eq!(made["targets"], serde_json::json!(["src/diff.rs"]));
    let dropped = made["dropped"].as_array().unwrap();
    for noise in ["base/head", "and/or", "application/json", "https://example.org/a", "--base"] {
        let found = dropped.iter().find(|one| one["text"] == noise);
        assert!(
            found.is_some_and(|one| one["reason"].as_str().is_some_and(|why| !why.is_empty())),
            "{noise}: {made}"
        );
    }
    env.write(
        "SPEC.md",
        prose.replace("## Acceptance", "## Target files\n* `src/a.rs`\n- src/b.rs\n\n## Acceptance"),
    );
    let (_, made) = json(&env, &["SPEC.md", "--force"]);
    assert_eq!(made["targets"], serde_json::json!(["src/a.rs", "src/b.rs"]), "only those of the block");
}

#[test]
fn a36_skills_of_the_project_and_of_the_user_are_ranked() {
    let env = world(
        "# Parser\n\nFix the grammar of the parser in `src/main.rs`.\n\n## Acceptance\n- `t` prints `x`\n",
    );
    let (output, made) = json(&env, &["SPEC.md"]);
    assert_eq!((output.code, made["skills"]["found"].as_u64()), (0, Some(0)), "{}", output.all());
    let skill =
        |name: &str| format!("---\nname: {name}\ndescription: about the grammar of a language\n---\n");
    env.write(".claude/skills/parser/SKILL.md", skill("parser"));
    env.write("~/.claude/skills/billing/SKILL.md", "---\nname: billing\ndescription: invoices\n---\n");
    let (_, made) = json(&env, &["SPEC.md", "--force"]);
    assert_eq!(made["skills"]["selected"], serde_json::json!(["parser"]), "{made}");
    let first = &made["skills"]["ranking"][0];
    assert_eq!(first["path"], ".claude/skills/parser/SKILL.md");
    assert!(first["confidence"].as_f64().unwrap() >= 0.4);
    let spec = std::fs::read_to_string(env.path("SPEC.md")).unwrap().to_lowercase();
    for term in first["evidence"].as_array().unwrap() {
        assert!(spec.contains(term["term"].as_str().unwrap()), "{term}");
    }
    // the boundary is stated, and no text says that an agent has a skill
    let text = env.run(["generate", "SPEC.md", "--force"]).stdout;
    assert!(text.contains("Skills were selected at generation"), "{text}");
    assert!(text.contains("recipes/parser.generation.json"), "{text}");
    assert_eq!(record(&env, "parser")["skills"], made["skills"]);
    std::fs::remove_dir_all(env.path(".claude")).unwrap();
    let (_, made) = json(&env, &["SPEC.md", "--force"]);
    assert_eq!(made["skills"]["selected"], serde_json::json!([]), "{made}");
}

#[test]
fn a38_programs_come_from_the_spec_with_and_without_quotation_marks() {
    let hint = "use Claude to review and Codex to implement";
    for text in [hint.to_owned(), format!("\"{hint}\"")] {
        let env = world(&format!("{SPEC}\n{text}\n"));
        let (output, made) = json(&env, &["SPEC.md"]);
        assert_eq!(output.code, 0, "{}", output.all());
        let rows = made["tools"].as_array().unwrap();
        let seen: Vec<(&str, &str, &str, u64)> = rows
            .iter()
            .map(|row| {
                let text = |key: &str| row[key].as_str().unwrap();
                (text("role"), text("program"), text("rule"), row["line"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(seen, [("writer", "codex", "spec", 9), ("reviewer-1", "claude", "spec", 9)]);
        assert!(rows.iter().all(|row| row["reason"].as_str().unwrap().contains("Claude to review")));
    }
}

#[test]
fn the_configuration_chooses_programs_and_depth() {
    let config = "generate: {writer: gemini, reviewers: [codex], depth: light}\n";
    let env = world(SPEC).file(".recipe-runner.yaml", config);
    let (output, made) = json(&env, &["SPEC.md"]);
    assert_eq!((output.code, made["depth"].as_str()), (0, Some("light")), "{}", output.all());
    assert_eq!(
        (&made["tools"][0]["program"], &made["tools"][0]["rule"]),
        (&"gemini".into(), &"configuration".into())
    );
    for (config, words) in [
        ("generate: {writter: codex}\n", "writter"),
        ("generate: {writer: nosuch}\n", "`nosuch` is not known"),
        ("generate: {depth: deep}\n", "depth"),
        ("generate: 5\n", "generate"),
    ] {
        env.write(".recipe-runner.yaml", config);
        let refused = env.run(["generate", "SPEC.md", "--force"]);
        assert_eq!(refused.code, 4, "{}", refused.all());
        assert!(refused.stderr.contains(words), "{}", refused.all());
    }
}
