//! Outputs that are too much, too deep, or not what any program prints.

use proptest::prelude::*;

use super::*;

#[test]
fn deep_nesting_is_no_event() {
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    check("claude", &deep, 0, "", &deep);
}

#[test]
fn a_hundred_megabytes_are_not_kept() {
    let result = b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"small\"}\n";
    let block = vec![b'x'; 1 << 20];
    let mut reader = known("claude").reader();
    let mut events = Vec::new();
    reader.feed(b"{\"type\":\"user\",\"session_id\":\"s\"}\n{\"type\":\"user\",\"x\":\"", &mut events);
    for _ in 0..100 {
        reader.feed(&block, &mut events);
        assert!(reader.held() <= 17 << 20);
    }
    reader.feed(b"\"}\n", &mut events);
    assert!(reader.held() < 1 << 20);
    reader.feed(result, &mut events);
    assert_eq!(line(&reader.finish(Ended::Exit(0), "", None)), "small");
    assert!(events.is_empty());
}

#[test]
fn a_hundred_megabytes_of_text_are_no_answer() {
    let mut reader = known("claude").reader();
    let block = [b"word word word\n".repeat(1 << 14)].concat();
    for _ in 0..450 {
        reader.feed(&block, &mut Vec::new());
    }
    assert!(reader.held() <= 17 << 20);
    let outcome = reader.finish(Ended::Exit(0), "", None);
    assert_eq!(line(&outcome), "!the agent's answer is larger than 8388608 bytes");
}

#[test]
fn a_hundred_thousand_events() {
    let event =
        b"{\"type\":\"system\",\"subtype\":\"status\",\"session_id\":\"s\",\"text\":\"0123456789\"}\n";
    let block = event.repeat(1000);
    let mut reader = known("claude").reader();
    for _ in 0..100 {
        reader.feed(&block, &mut Vec::new());
        assert!(reader.held() < 1 << 20);
    }
    assert!(!reader.has_result());
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        Just(b"\n".to_vec()),
        Just(b"{\"type\":\"result\",\"result\":3,\"is_error\":null}\n".to_vec()),
        Just(b"{\"type\":\"item.completed\",\"item\":7}\n".to_vec()),
        Just(b"{\"type\":\"assistant.message\",\"data\":[]}\n".to_vec()),
        Just(b"{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{\"tokens\":{\"input\":-1},\"cost\":1e999}}\n".to_vec()),
        Just(b"{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"input\":18446744073709551615}}\n".to_vec()),
        Just(b"{\"status\":\"error\",\"error\":{}}\n".to_vec()),
    ]
}

proptest! {
    #[test]
    fn never_panics_and_never_depends_on_cuts(
        pieces in prop::collection::vec(fragment(), 0..20),
        exit in -1..3i32,
        program in prop::sample::select(Program::KNOWN.to_vec()),
    ) {
        let parts: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let whole = pieces.concat();
        let cut = read_in(&parts, program, Ended::Exit(exit), "");
        prop_assert_eq!(cut, read_in(&[&whole], program, Ended::Exit(exit), ""));
    }

    #[test]
    fn never_takes_part_of_a_number_for_a_status(before in "[0-9]{1,3}", after in "[0-9]{1,3}") {
        for number in [format!("{before}429"), format!("429{after}"), format!("{before}429{after}")] {
            let said = limits::from_text(&format!("HTTP error status {number}"));
            prop_assert!(!said.is_some_and(|failure| failure.is_rate_limit()));
        }
    }
}
