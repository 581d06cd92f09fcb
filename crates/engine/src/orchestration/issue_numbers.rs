//! The issues that a task mentions: `#12` outside code and quotations.

use super::prose::Prose;

/// The most issues that are looked at.
const MOST: usize = 5;

/// The numbers of the issues, each once, in order.
pub fn issue_numbers(task: &str) -> Vec<u64> {
    let text = Prose::new(task).text;
    let mut found = Vec::new();
    for (at, _) in text.match_indices('#') {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '&' | '/');
        let after = &text[at + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_part = text[..at].ends_with(is_name) || after[digits..].starts_with(is_name);
        let number = after[..digits].parse().ok().filter(|number| *number > 0 && !is_part);
        if let Some(number) = number.filter(|number| !found.contains(number)) {
            found.push(number);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_are_issues() {
        for (task, numbers) in [
            ("Fix #12 and #7, see (#12).", vec![12, 7]),
            ("Fix #12abc, a#3, ##4, #0, #x, C#, &#39; shop/web#5", vec![]),
            ("Explain `#3` and \"#4\"", vec![]),
            ("#1 #2 #3 #4 #5 #6", vec![1, 2, 3, 4, 5]),
            ("#99999999999999999999", vec![]),
            ("Fix #12's cause", vec![12]),
        ] {
            assert_eq!(issue_numbers(task), numbers, "{task}");
        }
    }
}
