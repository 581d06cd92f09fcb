//! Which scripts the parser gets: it needs exponential time and much stack for deep nesting, so that is left out.

/// The longest script, in bytes.
const LONGEST: usize = 64 * 1024;
/// The deepest nesting of one kind of bracket, and of compound commands.
const DEEPEST: usize = 8;
/// The deepest nesting of command substitutions.
pub(super) const DEEPEST_SUBSTITUTION: usize = 8;

/// Words that begin a compound command, and words that end one.
const OPENERS: [&str; 6] = ["case", "if", "while", "until", "for", "select"];
const CLOSERS: [&str; 3] = ["esac", "fi", "done"];
/// Words after which a command begins.
const LEADERS: [&str; 9] = ["then", "do", "else", "elif", "if", "while", "until", "!", "time"];

/// Whether the parser can handle the script in little time.
pub(super) fn is_parseable(text: &str) -> bool {
    let is_flat = |open, close| {
        let mut depth = 0usize;
        text.chars().all(|c| {
            if c == open {
                depth += 1;
            } else if c == close {
                depth = depth.saturating_sub(1);
            }
            depth <= DEEPEST
        })
    };
    text.len() <= LONGEST
        && is_flat('(', ')')
        && is_flat('{', '}')
        && is_flat('[', ']')
        && has_few_levels(text)
}

/// Whether compound commands are nested only a few levels deep. Counts generously: a word in a text may count.
fn has_few_levels(text: &str) -> bool {
    let (mut depth, mut begins) = (0usize, true);
    let is_end = |c: char| c.is_whitespace() || ";&|(){}`\"'".contains(c);
    for part in text.split_inclusive(is_end) {
        let word = part.trim_end_matches(is_end);
        if begins && OPENERS.contains(&word) {
            depth += 1;
        } else if CLOSERS.contains(&word) {
            depth = depth.saturating_sub(1);
        }
        if depth > DEEPEST {
            return false;
        }
        let is_separated = part.ends_with(['\n', ';', '&', '|', '(', ')', '{', '}', '`', '"', '\'']);
        begins = is_separated || LEADERS.contains(&word) || (word.is_empty() && begins);
    }
    true
}
