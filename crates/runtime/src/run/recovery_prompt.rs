//! The prompt for an agent that recovers a failed sub-recipe. Quotes little of its output, which is untrusted.

use engine::{
    RunState,
    run::{decide, frame::FrameId, recipe_step::failed_steps},
};
use recipe::value::Map;

use crate::store::secrets::{MASK, Mask};

/// How much of the output of the failed run the agent gets, in the error and the partial outputs together: the text is
/// untrusted.
const PARTIAL_CHARS: usize = 500;
/// How much of that the error may quote.
const QUOTED_CHARS: usize = 200;
/// A reason of at most this many characters takes nothing from the partial outputs.
const SHORT_QUOTE: usize = 100;
/// How much of a quote is its beginning, with the exit code.
const QUOTE_START: usize = 40;
/// How many context names it gets.
const CONTEXT_NAMES: usize = 20;
/// How much of each value.
const VALUE_CHARS: usize = 80;

/// The prompt of a recovery.
pub(super) fn prompt(state: &RunState, id: FrameId, mask: &Mask) -> String {
    let frame = &state.frames[id];
    let outer = frame.parent.map_or(frame, |(parent, _)| &state.frames[parent]);
    let outputs: Vec<String> = frame
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, state)| {
            state.value.as_ref().map(|value| format!("{}: {}", frame.step_id(at), value.render()))
        })
        .collect();
    let (error, quoted) = reason(state, id, mask);
    let room = if quoted <= SHORT_QUOTE { PARTIAL_CHARS } else { PARTIAL_CHARS.saturating_sub(quoted) };
    let partial: String = mask.text(&outputs.join("\n")).chars().take(room).collect();
    format!(
        "A sub-recipe failed. Decide whether you can still do its work.\n\n\
         Sub-recipe: {}\n\
         Failed steps: {}\n\
         Error: {}\n\
         Partial outputs (first {PARTIAL_CHARS} chars):\n{partial}\n\n\
         Decide:\n\
         1. If you can do what the sub-recipe was meant to do, do it now, say what the result is, and end with the \
         line 'STATUS: COMPLETE'.\n\
         2. If it cannot be done (something is missing, or contradicts itself), answer 'UNRECOVERABLE: <reason>'.\n\n\
         Current context summary:\n{}",
        frame.unit.name,
        match failed_steps(frame) {
            steps if steps.is_empty() => "none had begun".to_owned(),
            steps => steps.join(", "),
        },
        error,
        summary(&outer.context, mask),
    )
}

/// Why a recipe failed, and how many characters of that may come from the failed step.
fn reason(state: &RunState, id: FrameId, mask: &Mask) -> (String, usize) {
    let mut quoted = 0;
    let error = decide::nested_error_with(state, id, |own, said| {
        let said = shortened(&mask.quotation(said), QUOTED_CHARS.saturating_sub(quoted));
        quoted += said.chars().count();
        format!("{}{said}", mask.quotation(own))
    });
    (error, quoted)
}

/// The beginning and the end of a long text: the end says the most.
fn shortened(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let start = QUOTE_START.min(room / 2);
    let end = room.saturating_sub(start + 1);
    let mut shown: String = text.chars().take(start).collect();
    if room > 0 {
        shown.push('…');
    }
    shown.extend(text.chars().skip(count - end));
    shown
}

/// Parts of names whose values no recovery agent gets: a wider rule than that of the mask.
const WITHHELD: &[&str] = &["token", "secret", "password", "key"];

/// The context in a few lines, without secrets.
fn summary(context: &Map, mask: &Mask) -> String {
    let is_withheld = |name: &str| {
        let lower = name.to_lowercase();
        mask.is_secret(name) || WITHHELD.iter().any(|part| lower.contains(part))
    };
    let line = |(name, value): (&String, &recipe::value::Value)| match is_withheld(name) {
        true => format!("  {name}: {MASK}"),
        false => {
            let text = value.render();
            let shown: String = mask.text(&text).chars().take(VALUE_CHARS).collect();
            format!("  {name}: {}", shown.replace('\n', " "))
        }
    };
    context.iter().take(CONTEXT_NAMES).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_quote_keeps_its_start_and_its_end() {
        for (text, room, expected) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcdef", 5, "ab…ef"),
            ("abcdef", 1, "…"),
            ("abcdef", 0, ""),
            ("äöüäöü", 4, "äö…ü"),
        ] {
            assert_eq!(shortened(text, room), expected, "{text} {room}");
        }
        let long = shortened(&format!("{}{}", "a".repeat(900), "z".repeat(900)), QUOTED_CHARS);
        assert_eq!(long.chars().count(), QUOTED_CHARS);
        assert_eq!(long.matches('a').count(), QUOTE_START);
    }
}
