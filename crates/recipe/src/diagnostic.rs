//! Problems of a recipe: typed, with a place, and with advice.
//!
//! Never prints; the door renders these.

use std::cmp::Reverse;

use crate::source::Place;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The recipe cannot run.
    Error,
    /// It runs, but probably not as intended.
    Warning,
    /// It runs; a remark that `--strict` leaves as it is.
    Note,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Which kind of problem: stable, documented.
    pub code: Code,
    /// The problem, in one line.
    pub message: String,
    /// Where; absent if the problem is not in a file, but for example on the command line.
    pub place: Option<Place>,
    /// A few words under the caret.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
    /// Whether it only warns about the recipe of a stored run: the run may have begun before there was this rule.
    pub is_recent: bool,
}

macro_rules! codes {
    ($($name:ident $severity:ident $word:literal $summary:literal => $advice:literal;)+) => {
        /// The kind of a problem. The words are stable: scripts may rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $summary] $name,)+
        }

        impl Code {
            /// Every code, in the order of the reference.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// The stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $word,)+ }
            }

            /// Its meaning, in one sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$name => $summary,)+ }
            }

            /// The advice if nothing more precise is known.
            pub fn advice(self) -> &'static str {
                match self { $(Code::$name => $advice,)+ }
            }

            /// Its severity without `--strict`.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    // reading
    NotUtf8 Error "not-utf8" "The file is not UTF-8 text."
        => "save the file as UTF-8";
    TooLarge Error "too-large" "The file is larger than 1 MB."
        => "split the file, or move large texts into files of their own";
    TooComplex Error "too-complex" "The file nests too deeply, has too many nodes, or expands too many aliases."
        => "flatten the structure, or write fewer aliases";
    YamlSyntax Error "yaml-syntax" "The file is not valid YAML."
        => "correct the YAML at this place; a text with special characters needs quotes";
    EmptyFile Error "empty-file" "The file holds no recipe."
        => "write at least `name:` and `steps:`";
    SeveralDocuments Error "several-documents" "The file holds more than one YAML document."
        => "keep one document, and move the others into files of their own";
    DuplicateKey Error "duplicate-key" "The same key appears twice in one map."
        => "remove one of them, or rename it";
    WrongType Error "wrong-type" "A value has the wrong type for its field."
        => "write a value of that type; `recipe-runner-rs schema` shows the type of every field";
    NulCharacter Error "nul-character" "A text contains a NUL character."
        => "remove `\\0` from the text: neither commands nor environment variables can hold it";
    // shape
    MissingField Error "missing-field" "A required field is missing."
        => "add the field";
    EmptyField Error "empty-field" "A required field is empty."
        => "write a value, or remove the field";
    FieldTypo Error "field-typo" "An unknown field looks like a misspelt known one."
        => "correct the spelling";
    UnknownField Warning "unknown-field" "A field is not known and has no effect."
        => "remove it, or check the spelling against `recipe-runner-rs schema`";
    ForeignField Error "foreign-field" "A field of another tool would change whether or how a step runs, but recipes do not have it."
        => "write the field that recipes have for it; `recipe-runner-rs schema` shows every field";
    UnknownWord Error "unknown-word" "A word is not valid for its field."
        => "use one of the valid words; `recipe-runner-rs schema` lists them";
    OutOfRange Error "out-of-range" "A number is outside the range of its field."
        => "write a number within the range";
    NoSteps Error "no-steps" "The recipe has no steps."
        => "add `steps:` with at least one `- id: …` entry";
    DuplicateId Error "duplicate-id" "Two steps have the same id."
        => "give one of them another id";
    BadId Error "bad-id" "A step id cannot be used as a name."
        => "use letters, digits, `_`, `-` and `.`, and at most 200 characters";
    NothingToDo Error "nothing-to-do" "A step has no command, agent, prompt, recipe or question."
        => "give it a `command:` to run, a `prompt:` for an agent, a `recipe:`, or a question under `ask:`";
    Contradiction Error "contradiction" "Fields of a step or of an input contradict its type or each other."
        => "remove one of the fields, or split the step in two";
    NoEffect Warning "no-effect" "A field has no effect on a step of this type."
        => "remove it, or change the type of the step";
    BadRegex Error "bad-regex" "A regular expression cannot be read."
        => "correct the expression; put `\\` before a character that is meant as it is";
    WrongDefault Error "wrong-default" "A default does not fit the type of its input."
        => "write a default of that type, or change the type";
    IgnoredLines Note "ignored-lines" "Only the last line of a command decides whether its step fails."
        => "write `shell: strict` at the top of the recipe";
    RetriedEffect Note "retried-effect" "A step that must not run twice has retries."
        => "remove `retry`, or let the command find out what is already done";
    // names
    UndefinedVariable Warning "undefined-variable" "A name is used that nothing defines."
        => "declare it under `context:`, or pass it with `--set NAME=…`";
    UnknownSetting Warning "unknown-setting" "A value is given to a name that the recipe does not know."
        => "correct the name, or declare it under `context:`";
    UnknownTag Warning "unknown-tag" "Steps are chosen by a tag that no step has."
        => "correct the tag, or add it to `when_tags` of a step";
    NameCollision Error "name-collision" "Two names become the same environment variable."
        => "rename one of them";
    AliasCollision Warning "alias-collision" "Two names have the same uppercase form, so neither is exported under it."
        => "rename one of them, or read them under their full names";
    IdNotStored Warning "id-not-stored" "A step's output is not stored, because its id is a declared context name."
        => "add `output:` to replace the context value, or rename the step";
    DuplicateName Error "duplicate-name" "Two inputs have the same name."
        => "remove one of them, or give it another name";
    BadName Error "bad-name" "A name has characters that names cannot have."
        => "use letters, digits and `_`; variables may also have `-` and `.`";
    ReservedName Error "reserved-name" "A name is one that the runner itself gives a value."
        => "choose another name";
    BadPattern Error "bad-pattern" "A file pattern cannot be read."
        => "write a path with `*`, `**` or `?` as placeholders";
    EnsureRule Error "ensure-rule" "A rule under `ensure` cannot be checked."
        => "write one rule for each item, such as `- file: report.md`";
    // expressions
    TemplateSyntax Error "template-syntax" "A template cannot be read."
        => "write `{{name}}`, `{{a.b[0]}}` or `{{#if name}}…{{else}}…{{/if}}`";
    ConditionSyntax Error "condition-syntax" "A condition cannot be read."
        => "write an expression such as `status == 'ok' and count > 3`";
    TemplateInCondition Warning "template-in-condition" "A quoted text in a condition has a template, which is not rendered."
        => "write the name alone, without quotes and braces";
    UnknownFunction Error "unknown-function" "A condition calls a function that does not exist."
        => "use one of the functions that conditions know, such as `len(x)`";
    UnknownMethod Error "unknown-method" "A condition calls a method that does not exist."
        => "use one of the methods that conditions know, such as `.strip()`";
    WrongArguments Error "wrong-arguments" "A function or method gets the wrong number of arguments."
        => "give it as many arguments as it takes";
    ForbiddenName Error "forbidden-name" "A condition contains a double underscore."
        => "use a name with single underscores";
    ValueAsCode Warning "value-as-code" "A command takes a value for code, or for the name of a variable."
        => "give it the value as data: as an argument, on its standard input, or in a file";
    // structure
    UnknownRecipe Error "unknown-recipe" "A recipe is not found."
        => "correct the name, or add its directory with `-R DIR`";
    CircularExtends Error "circular-extends" "Recipes extend each other in a circle."
        => "remove `extends` from one of the recipes";
    UnknownStep Error "unknown-step" "A step refers to a step id that does not exist."
        => "name a step that exists";
    UnknownProperty Error "unknown-property" "A path asks a step for something that steps do not have."
        => "ask for `status`, `failed`, `completed`, `skipped`, `exit_code`, `error`, `output` or `duration`";
    LaterStep Error "later-step" "A step depends on one that comes later, or on itself."
        => "move that step up: steps run in the order in which they are written";
    CircularNeeds Error "circular-needs" "Steps of a graph need each other in a circle."
        => "break the circle: remove one `depends_on`, or read the value elsewhere";
    UnorderedWriters Error "unordered-writers" "Two steps of a graph write the same variable, in no order."
        => "give one of them another `output`, or an order with `depends_on`";
    GroupReopened Warning "group-reopened" "A parallel group name is used again later: that is a new group."
        => "move the steps next to each other, or give the second group another name";
    GroupDependency Error "group-dependency" "A step depends on another member of its own parallel group."
        => "take one of the two out of the group";
    LimitExceeded Warning "limit-exceeded" "The recipe cannot finish within its own limits."
        => "raise the limit under `recursion:`, or let fewer steps run";
    NoPrompt Warning "no-prompt" "An agent step has no prompt."
        => "describe the agent's task under `prompt:`";
    UnresolvedAgent Warning "unresolved-agent" "The file of an agent is not found."
        => "put the agent's Markdown file into `agents/` beside the recipe";
    DeepRecipes Error "deep-recipes" "Recipes extend each other too deeply, or too many recipes take part."
        => "merge some of the recipes into one";
}

impl Diagnostic {
    /// A diagnostic with the code's own severity.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { place: Some(place), ..Diagnostic::nowhere(code, message) }
    }

    /// A diagnostic about something that is in no file.
    pub fn nowhere(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: code.severity(),
            code,
            message: message.into(),
            place: None,
            label: String::new(),
            help: None,
            is_recent: false,
        }
    }

    /// Sets the words under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Sets the advice if there is none yet: a suggestion under the caret, otherwise the advice of the code.
    #[must_use]
    pub(crate) fn with_advice(mut self) -> Diagnostic {
        if self.help.is_none() {
            let suggested = self.label.starts_with("did you mean").then(|| self.label.clone());
            self.help = Some(suggested.unwrap_or_else(|| self.code.advice().to_owned()));
        }
        self
    }

    /// Marks it as a rule that stored runs may be older than.
    #[must_use]
    pub(crate) fn recent(mut self) -> Diagnostic {
        self.is_recent = true;
        self
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }
}

/// A part of a recipe's text in one line, and short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.replace(['\n', '\r'], " ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Longest word to compare: longer words are rarely misspelled, and comparing them is slow.
const MAX_WORD: usize = 64;

/// The known name that `word` was probably meant to be.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD {
        return None;
    }
    // a separator more or less for each part, as in `maxEnvValueBytes`
    let near = |candidate: &&str| candidate.len().abs_diff(word.len()) <= 4;
    known
        .into_iter()
        .filter(|candidate| *candidate != word && near(candidate))
        .map(|candidate| (slips(word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= typo_distance(candidate.len().min(word.len())))
        // of two that are as near, the one that begins alike
        .min_by_key(|(slips, candidate)| (*slips, Reverse(common_beginning(word, candidate)), *candidate))
        .map(|(_, candidate)| candidate)
}

/// Whether a word is a known one with one slip in it, and not just its plural.
pub(crate) fn is_one_slip(word: &str, known: &str) -> bool {
    slips(word, known) <= 1 && word.strip_suffix('s') != Some(known)
}

fn common_beginning(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
}

/// How far two words are apart; `max-total-steps` and `maxTotalSteps` are just other spellings.
fn slips(word: &str, candidate: &str) -> usize {
    if letters(word).eq(letters(candidate)) {
        return 0;
    }
    match have_other_letters(word, candidate) {
        true => usize::MAX,
        false => strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()),
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase)
}

/// Whether so many letters differ that the words cannot be near: much cheaper than to compare them.
fn have_other_letters(a: &str, b: &str) -> bool {
    let mut counts = [0i16; 32];
    a.bytes().for_each(|byte| counts[usize::from(byte & 31)] += 1);
    b.bytes().for_each(|byte| counts[usize::from(byte & 31)] -= 1);
    // a slip changes two counts at most, in other alphabets those of several bytes
    let bytes = if a.is_ascii() && b.is_ascii() { 1 } else { 4 };
    let changed: usize = counts.iter().map(|count| usize::from(count.unsigned_abs())).sum();
    changed > 2 * typo_distance(a.len().min(b.len())) * bytes
}

/// How many slips still count as a typo in a word of this length.
fn typo_distance(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognised_and_foreign_words_are_not() {
        let known = [
            "command",
            "condition",
            "id",
            "env",
            "type",
            "timeout",
            "max_env_value_bytes",
            "inputs",
            "output",
        ];
        for (word, expected) in [
            ("comand", Some("command")),
            ("conditon", Some("condition")),
            ("Timeout", Some("timeout")),
            ("tpye", Some("type")),
            ("ouputs", Some("output")),
            ("max-env-value-bytes", Some("max_env_value_bytes")),
            ("maxEnvValueBytes", Some("max_env_value_bytes")),
            ("x-team", None),
            ("ip", None),
            ("owner", None),
            ("tipe", Some("type")),
            ("týpe", Some("type")),
            ("tmye", None),
            // a name that exists was not misspelt
            ("type", None),
        ] {
            assert_eq!(did_you_mean(word, known), expected, "{word}");
        }
        for (word, name, expected) in [
            ("a2b2c2d2e2", "a2_b2_c2_d2_e2", true),
            ("a2b2c2d2e2f2", "a2_b2_c2_d2_e2_f2", false),
            (&"x".repeat(64), &"x".repeat(65), true),
            (&"x".repeat(65), &"x".repeat(64), false),
        ] {
            assert_eq!(did_you_mean(word, [name]).is_some(), expected, "{word}");
        }
    }
}
