//! What a diagnosis says of other steps than the one that failed first.

use engine::{
    Outcome,
    failure::{Class, Facts, diagnose},
};

fn exit(command: &str, code: i32, stderr: &str) -> Facts {
    Facts {
        outcome: Some(Outcome::Exit(code)),
        command: command.to_owned(),
        stderr: stderr.to_owned(),
        ..Facts::default()
    }
}

#[test]
fn what_another_step_failed_of_stands_beside() {
    let first = diagnose(&exit("test -f a", 1, ""));
    let other = diagnose(&exit("nosuch", 127, "/bin/bash: line 1: nosuch: command not found"));
    let both = first.clone().with("b".to_owned(), other.clone());
    assert_eq!(both.class, first.class);
    assert_eq!(both.secondary.last(), Some(&Class::MissingBinary));
    let beside: Vec<_> = both.beside.iter().map(|beside| (beside.step.as_str(), beside.class)).collect();
    assert_eq!(beside, [("b", Class::MissingBinary)]);
    assert_eq!(both.beside[0].signals, other.signals);
}

#[test]
fn alternatives_and_evaluated_code_are_checks() {
    for (command, expected) in [
        ("test -e a || test -e b", "verification high"),
        ("test -e a || test -e b || [ -f c ]", "verification high"),
        ("grep -q x a || { test -e b; }", "verification high"),
        ("eval \"test -e a\"", "verification high"),
        ("eval test -e a", "verification high"),
        ("[[ -e a ]] > /dev/null", "verification high"),
        ("[[ -e a && -e b ]] >/dev/null 2>&1", "verification high"),
        ("./a || ./b", "unknown low"),
        ("eval ./a", "unknown low"),
        ("test -e a || ./b", "unknown low"),
    ] {
        let facts =
            Facts { outcome: Some(Outcome::Exit(1)), command: command.to_owned(), ..Facts::default() };
        let found = diagnose(&facts);
        let told = format!("{} {:?}", found.class.as_str(), found.confidence).to_lowercase();
        assert_eq!(told, expected, "{command}: {:?}", found.signals);
    }
}
