//! The word lists of `words.yaml`, where they are explained. They are parsed when they are first needed.

use std::sync::LazyLock;

use recipe::document::decode;
use serde::Deserialize;

use super::kinds::GoalStatus;

static WORDS: LazyLock<Words> =
    // a test holds that the file can be read
    LazyLock::new(|| decode(include_str!("words.yaml")).unwrap_or_default());

/// The word lists.
pub(super) fn words() -> &'static Words {
    &WORDS
}

/// Everything in `words.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) types: TypeWords,
    pub(super) fillers: FillerWords,
    pub(super) object_ends: Vec<String>,
    pub(super) object_tails: Vec<String>,
    pub(super) promotion: PromotionWords,
    pub(super) not_paths: Vec<String>,
    pub(super) intent: IntentWords,
    pub(super) verdicts: VerdictWords,
    pub(super) statuses: Vec<StatusWords>,
    pub(super) status_labels: Vec<String>,
    pub(super) status_doubts: Vec<String>,
    pub(super) unreached: UnreachedWords,
    pub(super) results: ResultWords,
}

/// Words for the types of tasks.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeWords {
    pub(super) question: Vec<String>,
    pub(super) operations: Vec<String>,
    pub(super) investigation: Vec<String>,
    pub(super) development: Vec<String>,
}

/// Words before the verb of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FillerWords {
    pub(super) plain: Vec<String>,
    pub(super) asks: Vec<String>,
}

/// Words of requests that make a task Development.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromotionWords {
    pub(super) pr: PullRequestWords,
    pub(super) tests: TestWords,
    pub(super) then: ThenWords,
    pub(super) code: CodeWords,
}

/// Words of the rule `pr`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PullRequestWords {
    pub(super) verbs: Vec<String>,
    pub(super) determiners: Vec<String>,
    pub(super) nouns: Vec<String>,
}

/// Words of the rule `tests`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestWords {
    pub(super) verbs: Vec<String>,
    pub(super) endings: Vec<String>,
}

/// Words of the rule `then`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThenWords {
    pub(super) verbs: Vec<String>,
    pub(super) pronouns: Vec<String>,
}

/// Words of the rule `code`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeWords {
    pub(super) alone: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) making_verbs: Vec<String>,
    pub(super) making_words: Vec<String>,
    pub(super) nouns: Vec<String>,
    pub(super) other_ends: Vec<String>,
    pub(super) extensions: Vec<String>,
}

/// Words about publishing and merging.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IntentWords {
    pub(super) negations: Vec<String>,
    pub(super) between: Vec<String>,
    pub(super) pull_requests: Vec<String>,
    pub(super) pushes: Vec<String>,
    pub(super) merges: Vec<String>,
    pub(super) after_merge: Vec<String>,
    pub(super) merged_code: Vec<String>,
    pub(super) counts: Vec<String>,
    pub(super) merged_work: Vec<String>,
    pub(super) keeps: Vec<String>,
    pub(super) open: String,
    pub(super) kept_open: Vec<String>,
    pub(super) after_open: Vec<String>,
    pub(super) looks: Vec<String>,
}

/// Words of a verdict.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictWords {
    pub(super) verified: Vec<String>,
    pub(super) hollow: Vec<String>,
}

/// Words of a goal status.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusWords {
    pub(super) status: GoalStatus,
    pub(super) words: Vec<String>,
}

/// Words about work that an agent could not reach.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnreachedWords {
    pub(super) targets: Vec<String>,
    pub(super) cannot: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) also: Vec<String>,
    pub(super) does_not: Vec<String>,
    pub(super) searching: Vec<String>,
    pub(super) adverbs: Vec<String>,
    pub(super) no_access: Vec<String>,
    pub(super) denied: Vec<String>,
    pub(super) parts: Vec<String>,
    pub(super) tails: Vec<String>,
    pub(super) ends: Vec<String>,
    pub(super) determiners: Vec<String>,
    pub(super) sees: Vec<String>,
    pub(super) absent: Vec<String>,
    pub(super) exists: Vec<String>,
    pub(super) places: Vec<String>,
    pub(super) beyond: Vec<String>,
    pub(super) subject: SubjectWords,
}

/// Words around the subject of a sentence.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubjectWords {
    pub(super) own: Vec<String>,
    pub(super) own_places: Vec<String>,
    pub(super) owners: Vec<String>,
    pub(super) helpers: Vec<String>,
    pub(super) turns: Vec<String>,
    pub(super) others: Vec<String>,
}

/// Signs of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultWords {
    pub(super) findings: Vec<String>,
    pub(super) excuses: Vec<String>,
    pub(super) counted: Vec<String>,
    pub(super) tests: Vec<String>,
    pub(super) domains: Vec<String>,
    pub(super) slashed: Vec<String>,
}

/// Whether a list has a word.
pub(super) fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

/// How many words a phrase of the list takes at the beginning of these words; the longest counts.
pub(super) fn phrase_at(list: &[String], words: &[&str]) -> Option<usize> {
    let first = words.first()?;
    let taken = |phrase: &String| {
        if !phrase.starts_with(first) {
            return None;
        }
        let mut count = 0;
        let fits = phrase.split(' ').all(|part| {
            count += 1;
            words.get(count - 1) == Some(&part)
        });
        fits.then_some(count)
    };
    list.iter().filter_map(taken).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_read() {
        let read: Result<Words, _> = decode(include_str!("words.yaml"));
        assert!(read.is_ok(), "{:?}", read.err());
        assert!(
            has(&words().promotion.code.verbs, "refactor") || has(&words().promotion.code.alone, "refactor")
        );
    }

    #[test]
    fn the_longest_phrase_counts() {
        let list = ["a".to_owned(), "a b".to_owned(), "c d e".to_owned()];
        assert_eq!(phrase_at(&list, &["a", "b", "c"]), Some(2));
        assert_eq!(phrase_at(&list, &["c", "d"]), None);
    }
}
