//! Patterns of command lines, as `programs.yaml` writes them: `push`, `pr create`, `diff --exit-code`, `<any> deploy`.
//!
//! A pattern describes words only; it never looks at files.

use serde::{Deserialize, Deserializer, de::Error};

use super::names::Names;

/// One way to use a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    operands: Vec<OperandPattern>,
    options: Vec<OptionPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OperandPattern {
    /// This word; `*` matches any letters.
    Word(String),
    /// One word.
    Any,
    /// Any number of words.
    Many,
    /// The name of a target or a task that says what it does.
    Named(NameMeaning),
    /// The path of a script whose name says that it changes something outside.
    EffectFile,
    /// The last word, if it is on another machine.
    Remote,
}

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameMeaning {
    Effect,
    Test,
    Lint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OptionPattern {
    name: String,
    value: Option<String>,
}

/// The arguments of a program, taken apart.
pub(super) struct Arguments<'s, 'a> {
    /// All of them.
    pub(super) words: &'s [&'a str],
    /// The places of those that are neither options nor their values.
    pub(super) operands: Vec<usize>,
}

impl<'s, 'a> Arguments<'s, 'a> {
    /// `valued` are the options that take the next word as their value.
    pub(super) fn new(words: &'s [&'a str], valued: &[String]) -> Arguments<'s, 'a> {
        let mut operands = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            // `cargo +nightly test`
            let selects = word.starts_with('+') && operands.is_empty();
            if word.starts_with('-') && *word != "-" || selects {
                at += usize::from(valued.iter().any(|option| option == word));
            } else {
                operands.push(at);
            }
            at += 1;
        }
        Arguments { words, operands }
    }

    /// The operands from this one on.
    pub(super) fn operand_words(&self, from: usize) -> Vec<&'a str> {
        self.operands.iter().skip(from).map(|at| self.words[*at]).collect()
    }
}

impl Pattern {
    /// Reads a pattern.
    fn parse(text: &str) -> Result<Pattern, String> {
        let mut pattern = Pattern { operands: Vec::new(), options: Vec::new() };
        for word in text.split_whitespace() {
            if word.starts_with('-') && word != "--" {
                let (name, value) = match word.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (word, None),
                };
                pattern.options.push(OptionPattern { name: name.to_owned(), value });
                continue;
            }
            pattern.operands.push(match word {
                "<any>" => OperandPattern::Many,
                "<word>" => OperandPattern::Any,
                "<effect>" => OperandPattern::Named(NameMeaning::Effect),
                "<test>" => OperandPattern::Named(NameMeaning::Test),
                "<lint>" => OperandPattern::Named(NameMeaning::Lint),
                "<effect-file>" => OperandPattern::EffectFile,
                "<remote>" => OperandPattern::Remote,
                word if word.starts_with('<') => return Err(format!("`{word}` is not a known placeholder")),
                word => OperandPattern::Word(word.to_owned()),
            });
        }
        match pattern.operands.is_empty() && pattern.options.is_empty() {
            true => Err("a pattern needs a word".to_owned()),
            false => Ok(pattern),
        }
    }

    /// The number of operands that it takes from this one on, and the place of the last one; `None` if it does not fit.
    pub(super) fn matches(&self, arguments: &Arguments<'_, '_>, from: usize, names: &Names) -> Option<Match> {
        let operands = arguments.operand_words(from);
        let taken = take(&self.operands, &operands, names)?;
        let options: Option<Vec<usize>> =
            self.options.iter().map(|option| option.find(arguments.words)).collect();
        let options = options?;
        let word = match taken.checked_sub(1) {
            Some(last) => operands[last],
            None => options.first().map_or("", |at| arguments.words[*at]),
        };
        let verbs = operands[..taken].to_vec();
        let what = if verbs.is_empty() { word.to_owned() } else { verbs.join(" ") };
        Some(Match { taken, first_option: options.into_iter().min(), what })
    }

    /// The option of the command line that fits, if the pattern is one option.
    pub(super) fn option_in<'a>(&self, words: &[&'a str]) -> Option<&'a str> {
        match (self.operands.as_slice(), self.options.as_slice()) {
            ([], [option]) => option.find(words).map(|at| words[at]),
            _ => None,
        }
    }
}

/// How a pattern fits.
pub(super) struct Match {
    /// How many operands it takes.
    pub(super) taken: usize,
    /// The place of its first option.
    pub(super) first_option: Option<usize>,
    /// The words that fit.
    pub(super) what: String,
}

fn take(pattern: &[OperandPattern], operands: &[&str], names: &Names) -> Option<usize> {
    let Some((first, rest)) = pattern.split_first() else { return Some(0) };
    if *first == OperandPattern::Many {
        return (0..=operands.len())
            .find_map(|skipped| take(rest, &operands[skipped..], names).map(|taken| skipped + taken));
    }
    let (word, after) = operands.split_first()?;
    let fits = match first {
        OperandPattern::Word(wanted) => glob(wanted, word),
        OperandPattern::Any | OperandPattern::Many => true,
        OperandPattern::Named(meaning) => !word.contains(['/', '.', ' ']) && names.says(word, *meaning),
        OperandPattern::EffectFile => names.says(word, NameMeaning::Effect),
        OperandPattern::Remote => after.is_empty() && word.contains(':'),
    };
    if fits { take(rest, after, names).map(|taken| taken + 1) } else { None }
}

impl OptionPattern {
    /// Its place among the words.
    fn find(&self, words: &[&str]) -> Option<usize> {
        match &self.value {
            None => words.iter().position(|word| self.is(word)),
            Some(value) => (0..words.len()).find(|at| {
                let next = words.get(at + 1).copied().unwrap_or_default();
                let joined = words[*at].strip_prefix(&self.name).unwrap_or_default();
                let joined = joined.strip_prefix('=').unwrap_or(joined);
                (words[*at] == self.name && glob(value, next)) || (!joined.is_empty() && glob(value, joined))
            }),
        }
    }

    fn is(&self, word: &str) -> bool {
        let with_value = || {
            let rest = word.strip_prefix(&self.name).unwrap_or_default();
            self.name.len() > 2 && rest.starts_with('=')
        };
        word == self.name || with_value() || self.is_in_cluster(word)
    }

    /// Whether it is one of several short options: `-n` in `-avn`.
    fn is_in_cluster(&self, word: &str) -> bool {
        let mut own = self.name.chars().skip(1);
        let (Some(letter), None) = (own.next(), own.next()) else { return false };
        let letters = word.strip_prefix('-').unwrap_or_default();
        letters.len() < 8 && letters.contains(letter) && letters.chars().all(|c| c.is_ascii_alphabetic())
    }
}

/// Whether a word fits a text in which `*` matches any letters.
fn glob(wanted: &str, word: &str) -> bool {
    let Some((start, rest)) = wanted.split_once('*') else { return wanted == word };
    let Some(word) = word.strip_prefix(start) else { return false };
    (0..=word.len()).filter(|at| word.is_char_boundary(*at)).any(|at| glob(rest, &word[at..]))
}

/// When a program is used in some way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Uses {
    /// Never.
    #[default]
    Never,
    /// Whatever its arguments are.
    Always,
    /// With these arguments.
    Patterns(Vec<Pattern>),
}

impl Uses {
    /// The words that make it this use, if it is one: empty for a program that always does it.
    pub(super) fn find(&self, arguments: &Arguments<'_, '_>, from: usize, names: &Names) -> Option<String> {
        match self {
            Uses::Never => None,
            Uses::Always => Some(String::new()),
            Uses::Patterns(patterns) => patterns
                .iter()
                .find_map(|pattern| pattern.matches(arguments, from, names))
                .map(|found| found.what),
        }
    }

    /// Adds more uses.
    pub(super) fn extend(&mut self, more: &Uses) {
        match (&mut *self, more) {
            (_, Uses::Never) | (Uses::Always, _) => {}
            (Uses::Patterns(own), Uses::Patterns(more)) => own.extend(more.iter().cloned()),
            (_, more) => *self = more.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        let text = String::deserialize(deserializer)?;
        Pattern::parse(&text).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Uses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Uses, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(word) if word == "always" => Ok(Uses::Always),
            list @ serde_json::Value::Array(_) => {
                serde_json::from_value(list).map(Uses::Patterns).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("expected `always` or a list of patterns")),
        }
    }
}
