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
