//! The verdict of a verifying agent, as one of three words.

use super::words::{has, words};

/// Turns one word of any spelling into `WORK_VERIFIED`, `HOLLOW_SUCCESS` or `INSUFFICIENT_EVIDENCE`.
pub fn read_verdict(text: &str) -> &'static str {
    let word = text.trim().to_lowercase();
    let known = &words().verdicts;
    if has(&known.verified, &word) {
        "WORK_VERIFIED"
    } else if has(&known.hollow, &word) {
        "HOLLOW_SUCCESS"
    } else {
        "INSUFFICIENT_EVIDENCE"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_word_counts() {
        for word in ["VERIFIED", "work_verified", " Success\n", "APPROVED", "pass", "PASSED"] {
            assert_eq!(read_verdict(word), "WORK_VERIFIED", "{word}");
        }
        for word in ["hollow", "HOLLOW_SUCCESS", "Failed", "FAIL", "no_work", "NO_ARTIFACTS", "empty"] {
            assert_eq!(read_verdict(word), "HOLLOW_SUCCESS", "{word}");
        }
        for word in
            ["", "not verified", "PASSED.", "hollow success", "\"PASS\"", "no", "work verified", "passing"]
        {
            assert_eq!(read_verdict(word), "INSUFFICIENT_EVIDENCE", "{word}");
        }
    }
}
