//! The built-in knowledge can be read, and says what tests of commands expect.

mod commands;

use std::collections::BTreeSet;

use super::*;

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn user(yaml: &str) -> UserKnowledge {
    decode(yaml).expect("a user's knowledge")
}

#[test]
fn the_file_can_be_read_and_has_one_entry_for_each_program() {
    let file: ProgramsFile = decode(include_str!("programs.yaml")).expect("programs.yaml");
    let mut seen = BTreeSet::new();
    for name in file.programs.keys().flat_map(|key| key.split_whitespace()) {
        assert!(seen.insert(name.to_owned()), "`{name}` has two entries");
    }
    assert!(seen.len() > 400, "{}", seen.len());
}

#[test]
fn a_user_adds_programs_and_extends_known_ones() {
    let user = user(
        "
        programs:
          shipit ferry: {effects: always, dry_run: [-n]}
          mytool: {tests: [check], effects: [send <word>]}
          git: {effects: [flow release]}
        ",
    );
    let knowledge = Knowledge::extended(&user).expect("a user's knowledge");
    let effect = |text: &str| knowledge.use_of(&words(text)).effect;
    assert_eq!(effect("ferry x").as_deref(), Some("ferry"));
    assert_eq!(effect("sudo -u me mytool send it").as_deref(), Some("mytool send it"));
    assert_eq!(effect("git flow release").as_deref(), Some("git flow release"));
    assert_eq!(effect("git push").as_deref(), Some("git push"));
    assert_eq!(knowledge.use_of(&words("shipit -xn")).dry_run, Some("-xn"));
    assert_eq!(knowledge.use_of(&words("mytool check")).check, Some(CheckKind::Tests));
    assert_eq!(Knowledge::built_in().use_of(&words("shipit x")).effect, None);
}

#[test]
fn mistakes_in_an_entry_are_named() {
    let problem = |yaml: &str| decode::<UserKnowledge>(yaml).expect_err(yaml).to_string();
    assert!(problem("programs: {x: {efects: always}}").contains("unknown field `efects`"));
    assert!(problem("programs: {x: {effects: sometimes}}").contains("`always` or a list of patterns"));
    assert!(problem("programs: {x: {effects: [<thing>]}}").contains("`<thing>` is not a known placeholder"));
}

#[test]
fn the_program_behind_wrappers_does_the_work() {
    for (text, program, words_of_it) in [
        ("sudo -u me env A=1 timeout -k 5 10 npx jest@29 a", "jest@29", 2),
        ("docker run --rm -e A=1 image pytest -q", "pytest", 2),
        ("kubectl exec pod -n x -- psql -c x", "psql", 3),
        ("python3 -m http.server 80", "http.server", 2),
        ("command -v git", "command", 3),
        ("env", "env", 1),
        ("", "", 0),
    ] {
        let knowledge = Knowledge::built_in();
        let words = words(text);
        let found = knowledge.use_of(&words);
        assert_eq!((found.program, found.words.len()), (program, words_of_it), "{text}");
    }
    let knowledge = Knowledge::built_in();
    assert_eq!(knowledge.use_of(&["docker", "run", "x", "sh", "-ec", "make test"]).code, Some("make test"));
    assert_eq!(knowledge.use_of(&["bash", "-n", "-c", "make test"]).code, None);
}

#[test]
fn phrases_can_be_read_and_each_means_something() {
    let phrases: Phrases = decode(include_str!("phrases.yaml")).expect("phrases.yaml");
    assert!(phrases.causes.len() > 20);
    for cause in &phrases.causes {
        assert!(cause.class.is_some() || cause.agent.is_some(), "{cause:?}");
        assert!(!cause.any.is_empty() && cause.class.is_none() == cause.what.is_empty(), "{cause:?}");
        let written = cause.any.iter().chain(&cause.with).chain(&cause.without);
        assert!(written.into_iter().all(|phrase| *phrase == phrase.to_lowercase()), "{cause:?}");
    }
}

#[test]
fn a_phrase_of_a_user_needs_a_class_and_words() {
    let problem = |phrase: &str| {
        let user = user(&format!("phrases: [{phrase}]"));
        Knowledge::extended(&user).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(problem("{class: environment.network, any: [vpn is down]}"), "");
    assert_eq!(problem("{any: [vpn is down]}"), "phrase 1 of `phrases`: a phrase needs a `class`");
    assert!(problem("{class: environment.network}").contains("needs words in `any`"));
    assert!(problem("{class: environment.network, any: [VPN]}").contains("lower case"));
    assert!(problem("{class: environment.network, any: [a], agent: login}").contains("`agent`"));
}

#[test]
fn the_words_for_authors_can_be_read() {
    let words = super::Knowledge::built_in();
    let words = words.authoring();
    assert!(words.edits.verbs.iter().any(|verb| verb == "implement"), "{words:?}");
    for (effect, expected) in [
        ("git push", "push"),
        ("gh pr create", "pr"),
        ("npm publish", "publish"),
        ("kubectl delete", "delete"),
        ("terraform apply", "deploy"),
        ("shipit send", "outside"),
    ] {
        assert_eq!(words.effects.name_of(effect), expected, "{effect}");
    }
}
