//! The difference between two texts, line by line, with a little of what is around it.

/// The most lines that are compared with each other; longer changes are shown as a whole.
const LONGEST: usize = 2000;
/// Unchanged lines that are shown around a change.
const AROUND: usize = 2;

/// A line of both texts, of the old one alone, or of the new one alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The difference: `-` marks old lines, `+` new ones, and `…` what is left out. Empty if nothing differs.
pub fn line_diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = aligned(&old, &new);
    let is_changed = |at: usize| !matches!(lines[at], DiffLine::Same(_));
    let is_shown = |at: usize| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        around.into_iter().any(is_changed)
    };
    let mut text = String::new();
    let mut is_cut = false;
    for (at, line) in lines.iter().enumerate() {
        if !is_shown(at) {
            is_cut = !text.is_empty();
            continue;
        }
        if std::mem::take(&mut is_cut) {
            text.push_str("…\n");
        }
        let (mark, line) = match line {
            DiffLine::Same(line) => (' ', line),
            DiffLine::Old(line) => ('-', line),
            DiffLine::New(line) => ('+', line),
        };
        text.push_str(&format!("{mark} {line}\n"));
    }
    text
}

/// How many lines are new and how many are gone.
pub fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = aligned(&old, &new);
    let added = lines.iter().filter(|line| matches!(line, DiffLine::New(_))).count();
    (added, lines.iter().filter(|line| matches!(line, DiffLine::Old(_))).count())
}

/// Both texts side by side: equal lines at the beginning and at the end, and the longest common part between them.
fn aligned<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (left, right) = (&old[head..], &new[head..]);
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let (left, right) = (&left[..left.len() - tail], &right[..right.len() - tail]);
    let mut lines: Vec<DiffLine<'a>> = old[..head].iter().map(|line| DiffLine::Same(line)).collect();
    lines.extend(middle(left, right));
    lines.extend(old[old.len() - tail..].iter().map(|line| DiffLine::Same(line)));
    lines
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let (rows, columns) = (old.len(), new.len());
    if rows > LONGEST || columns > LONGEST {
        let left = old.iter().map(|line| DiffLine::Old(line));
        return left.chain(new.iter().map(|line| DiffLine::New(line))).collect();
    }
    // how many lines the rest of both texts have in common
    let mut common = vec![vec![0_u16; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = match old[row] == new[column] {
                true => common[row + 1][column + 1] + 1,
                false => common[row + 1][column].max(common[row][column + 1]),
            };
        }
    }
    let (mut lines, mut row, mut column) = (Vec::new(), 0, 0);
    while row < rows || column < columns {
        if row < rows && column < columns && old[row] == new[column] {
            lines.push(DiffLine::Same(old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == columns || (row < rows && common[row + 1][column] >= common[row][column + 1]) {
            lines.push(DiffLine::Old(old[row]));
            row += 1;
        } else {
            lines.push(DiffLine::New(new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_what_is_around_them() {
        let numbers = |from: u32, to: u32| (from..=to).map(|n| format!("{n}\n")).collect::<String>();
        for (before, after, expected) in [
            ("a\nb\nc\n", "a\nx\nc\n", "  a\n- b\n+ x\n  c\n".to_owned()),
            ("a\n", "a\nb\n", "  a\n+ b\n".to_owned()),
            ("a\nb\n", "b\n", "- a\n  b\n".to_owned()),
            ("a\nb\nc\n", "b\nc\nd\n", "- a\n  b\n  c\n+ d\n".to_owned()),
            ("a\n", "a\n", String::new()),
            ("", "", String::new()),
            (&numbers(1, 9), &numbers(2, 10), "- 1\n  2\n  3\n…\n  8\n  9\n+ 10\n".to_owned()),
            (
                "x\n",
                &numbers(1, 3000),
                format!("- x\n{}", numbers(1, 3000).replace('\n', "\n+ ").trim_end_matches("+ "))
                    .replacen("- x\n1", "- x\n+ 1", 1),
            ),
        ] {
            assert_eq!(line_diff(before, after), expected);
        }
    }
}
