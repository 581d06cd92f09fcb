//! Outputs that are too long, too deep, or not what any program prints.

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
        assert!(reader.held() <= 25 << 20, "{}", reader.held());
    }
    reader.feed(b"\"}\n", &mut events);
    assert!(reader.held() < 1 << 20);
    reader.feed(result, &mut events);
    assert_eq!(line(&reader.finish(Ended::Exit(0), "", None)), "small");
    assert!(events.is_empty());
}

/// The shortened answer: its size, both of its ends, and whether the cut is reported and marked.
fn ends(said: &AgentText) -> (bool, &str, &str, bool) {
    let is_marked = said.cut.is_some_and(|cut| said.contains(&format!("[… {cut} bytes cut here")));
    assert_eq!(is_marked, said.cut.is_some());
    (said.len() as u64 <= crate::store::values::VALUE_CAP, &said[..5], &said[said.len() - 5..], is_marked)
}

#[test]
fn a_hundred_megabytes_of_text_are_an_answer_without_its_middle() {
    for block in [[b"word word word\n".repeat(1 << 14)].concat(), b"word ".repeat(50_000)] {
        let mut reader = known("claude").reader();
        for _ in 0..450 {
            reader.feed(&block, &mut Vec::new());
            assert!(reader.held() <= 25 << 20, "{}", reader.held());
        }
        reader.feed(b"at end\n", &mut Vec::new());
        let outcome = reader.finish(Ended::Exit(0), "", None);
        assert_eq!(ends(&outcome.result.unwrap()), (true, "word ", "t end", true));
    }
}

#[test]
fn an_answer_of_any_size_is_an_answer() {
    let text = |size: usize| format!("begin{}the end", "x".repeat(size));
    let claude = |text: &str| format!("{{\"type\":\"result\",\"is_error\":false,\"result\":\"{text}\"}}\n");
    let codex = |text: &str| {
        let item = format!("{{\"type\":\"agent_message\",\"text\":\"{text}\"}}");
        format!("{{\"type\":\"item.completed\",\"item\":{item}}}\n{{\"type\":\"turn.completed\"}}\n")
    };
    let gemini = |text: &str| {
        let pieces = text.as_bytes().chunks(1 << 20).map(|piece| String::from_utf8_lossy(piece).into_owned());
        let event = |piece| {
            format!(
                "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{piece}\",\"delta\":true}}\n"
            )
        };
        let pieces: String = pieces.map(event).collect();
        format!(
            "{{\"type\":\"init\",\"session_id\":\"s\"}}\n{pieces}{{\"type\":\"result\",\"status\":\"success\"}}\n"
        )
    };
    for (size, is_cut) in [(9_000_000, false), (9_999_000, false), (10_000_001, true), (30_000_000, true)] {
        let text = text(size);
        for (program, output) in
            [("claude", claude(&text)), ("codex", codex(&text)), ("gemini", gemini(&text))]
        {
            let pieces: Vec<&[u8]> = output.as_bytes().chunks(64 * 1024).collect();
            let said = read_in(&pieces, program, Ended::Exit(0), "").0.result.unwrap();
            assert_eq!(ends(&said), (true, "begin", "e end", is_cut), "{program} {size}");
            assert_eq!(*said == *text, !is_cut, "{program} {size}");
        }
    }
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
        program in prop::sample::select(Program::known_names().collect::<Vec<_>>()),
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
            let is_limited = matches!(said, Some(AgentFailure::RateLimited { .. }));
            prop_assert!(!is_limited);
        }
    }
}
