//! Questions in cases: answered, rejected, out of time, or waiting.

use crate::passes;

const RECIPE: &str = "\
name: r
steps:
  - id: approve
    ask: Ship it?
    timeout: 86400
    on_timeout: fail
    fields: [{name: note}]
  - id: ship
    command: echo shipped
  - id: undo
    when: failed
    command: echo undone
";

#[test]
fn a9_every_end_of_a_question_can_be_tested() {
    passes(
        RECIPE,
        "\
cases:
  - name: approve
    answers: {approve: {choice: approve, fields: {note: fine}}}
    expect: {steps: {ship: completed, undo: skipped}, values: {approve.note: fine, approve.choice: approve}}
  - name: reject
    answers: {approve: reject}
    expect: {exit: 1, steps: {approve: failed, undo: completed}, never: [ship]}
  - name: timeout
    answers: {approve: timeout}
    expect: {exit: 1, steps: {approve: failed}, never: [ship]}
  - name: no answer
    expect: {exit: 6, status: waiting, outcome: needs_human, steps: {approve: waiting}, never: [ship]}
",
    );
}
