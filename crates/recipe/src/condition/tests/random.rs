//! Nothing that can be written makes the reader or the evaluation panic.

use proptest::prelude::*;

use super::*;

/// Reads and evaluates; places must lie on character boundaries of the text.
fn survive(text: &str) {
    match Condition::parse(text) {
        Ok(condition) => {
            if let Err(error) = condition.holds(&scope()) {
                assert!(text.get(error.at).is_some(), "{text}");
            }
            assert!(condition.names().into_iter().all(|(_, at)| text.get(at).is_some()), "{text}");
        }
        Err(errors) => {
            assert!(!errors.is_empty(), "{text}");
            assert!(errors.iter().all(|error| text.get(error.at.clone()).is_some()), "{text}: {errors:?}");
        }
    }
}

const SOUP: &[&str] = &[
    "a",
    "n",
    "list",
    "text",
    "object",
    "status",
    "and",
    "or",
    "not",
    "in",
    "&&",
    "||",
    "!",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "'",
    "\"",
    "\\",
    "\\'",
    "'x'",
    "\"y\"",
    "5",
    "-7",
    "3.14",
    ".5",
    "1e9",
    "true",
    "False",
    "len(",
    "str(",
    "int(",
    "min(",
    ".lower()",
    ".split(",
    ".join(",
    ".replace(",
    ".find(",
    " ",
    "\n",
    "-",
    "ä",
    "is",
    "AND",
    "_",
    "2fa",
    "[0]",
    "['k']",
    "[-1]",
    "{{",
    "=",
    "\u{feff}",
    "‘",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_characters(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn random_ascii(text in "[ -~\\n]{0,40}") {
        survive(&text);
    }

    #[test]
    fn token_soup(words in prop::collection::vec((prop::sample::select(SOUP), prop::sample::select(&["", " "][..])), 0..20)) {
        survive(&words.into_iter().flat_map(|(word, gap)| [word, gap]).collect::<String>());
    }
}
