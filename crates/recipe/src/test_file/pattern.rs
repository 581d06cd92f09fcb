//! Patterns of step paths: `review`, `review[1]`, `round[0]/fix`, `build/*`, `**`.

/// A path of a step, or a pattern of such paths. A step of a loop without a number stands for all its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPattern {
    text: String,
    segments: Vec<PatternPart>,
}

/// How precisely a pattern names a path; the largest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether it has no placeholder.
    is_exact: bool,
    /// Its characters that are no placeholder.
    literals: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    /// `**`: any number of segments.
    Any,
    /// One segment, with `*` for any characters in it.
    One(String),
}

impl StepPattern {
    /// The pattern of a text.
    pub fn new(text: &str) -> StepPattern {
        let segments = text.split('/').map(|segment| match segment {
            "**" => PatternPart::Any,
            one => PatternPart::One(one.to_owned()),
        });
        StepPattern { text: text.to_owned(), segments: segments.collect() }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names one path, or the instances of one step.
    pub fn is_exact(&self) -> bool {
        !self.text.contains('*')
    }

    /// How precisely it names a path.
    pub fn rank(&self) -> Rank {
        Rank { is_exact: self.is_exact(), literals: self.text.chars().filter(|c| *c != '*').count() }
    }

    /// Whether it names a path.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split('/').collect();
        segments_match(&self.segments, &path)
    }
}

/// Whether the segments of a pattern fit those of a path: the row of a table for each segment of the pattern, so that the
/// time is bounded by the product of the lengths.
fn segments_match(pattern: &[PatternPart], path: &[&str]) -> bool {
    let mut fits = vec![false; path.len() + 1];
    fits[0] = true;
    for segment in pattern {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            next[at] = match segment {
                PatternPart::Any => fits[at] || (at > 0 && next[at - 1]),
                PatternPart::One(one) => at > 0 && fits[at - 1] && segment_matches(one, path[at - 1]),
            };
        }
        fits = next;
    }
    fits[path.len()]
}

/// Whether one segment fits: as it is, or without the number of its instance.
fn segment_matches(pattern: &str, segment: &str) -> bool {
    let looped = segment.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')).map(|(name, _)| name);
    text_fits(pattern, segment) || looped.is_some_and(|name| text_fits(pattern, name))
}

/// Whether a text fits a pattern in which `*` stands for any characters.
pub fn text_fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(c) if *c == text[from] => (at, from) = (at + 1, from + 1),
            _ => match star {
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    (at, from) = (back + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_number_stands_for_all_instances() {
        for (pattern, path, expected) in [
            ("review", "review", true),
            ("review", "review[1]", true),
            ("review[1]", "review[1]", true),
            ("review[1]", "review[11]", false),
            ("round/fix", "round[0]/fix", true),
            ("round[0]/fix", "round[0]/fix[2]", true),
            ("round[0]/fix", "round[1]/fix", false),
            ("build/*", "build/test", true),
            ("build/*", "build/test/unit", false),
            ("**", "a/b/c", true),
            ("**/unit", "unit", true),
            ("**/unit", "build/test/unit", true),
            ("build/**", "build", true),
            ("*-review", "final-review", true),
            ("*-review", "final-reviews", false),
            ("re*w[1]", "review[1]", true),
            ("a", "b", false),
            ("", "a", false),
        ] {
            assert_eq!(StepPattern::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_more_a_pattern_says_the_more_precise_it_is() {
        let rank = |text| StepPattern::new(text).rank();
        assert!(rank("review[1]") > rank("review"));
        assert!(rank("a") > rank("long-name-*"));
        assert!(rank("build/*") > rank("**"));
        assert_eq!(rank("a*"), rank("*b"));
    }
}
