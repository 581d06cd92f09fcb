//! The reference of diagnostics: a page for every code, and examples that do what the page says.

use std::{collections::BTreeSet, fs, path::PathBuf};

use recipe::diagnostic::{Code, Severity};

use crate::shelf::check_files;

/// Codes that no text in a page can show: bad bytes, a huge file, a crowd of files, the command line.
const WITHOUT_EXAMPLE: &[Code] =
    &[Code::NotUtf8, Code::TooLarge, Code::DeepRecipes, Code::UnknownSetting, Code::UnknownTag];

fn reference() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "src", "reference"].iter().collect()
}

fn page(code: Code) -> String {
    let path = reference().join("diagnostics").join(format!("{}.md", code.as_str()));
    fs::read_to_string(path).unwrap_or_default()
}

/// The texts of the `yaml` blocks of a page.
fn examples(page: &str) -> Vec<String> {
    let blocks = page.split("```yaml\n").skip(1);
    blocks.filter_map(|block| block.split_once("```").map(|(text, _)| text.to_owned())).collect()
}

/// The codes of a text; one that is reported at several places counts once.
fn codes(yaml: &str) -> Vec<Code> {
    let checked = check_files(&[("recipe.yaml", yaml)], &[]);
    let mut codes: Vec<Code> = checked.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    codes.dedup();
    codes
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let pages: BTreeSet<String> = fs::read_dir(reference().join("diagnostics"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let wanted: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{}.md", code.as_str())).collect();
    assert_eq!(pages, wanted);
}

#[test]
fn pages_and_index_say_what_the_code_says() {
    let index = fs::read_to_string(reference().join("diagnostics.md")).unwrap_or_default();
    for code in Code::ALL {
        let (word, summary) = (code.as_str(), code.summary());
        let (title, small) = match code.severity() {
            Severity::Error => ("Error", "error"),
            Severity::Warning => ("Warning", "warning"),
            Severity::Note => ("Note", "note"),
        };
        assert!(page(*code).starts_with(&format!("# `{word}`\n\n*{title}.* {summary}\n")), "{word}");
        let row = format!("| [`{word}`](diagnostics/{word}.md) | {small} | {summary} |");
        assert!(index.contains(&row), "the index lacks: {row}");
    }
}

#[test]
fn the_first_example_has_the_problem_and_the_second_has_none() {
    for code in Code::ALL {
        let examples = examples(&page(*code));
        assert_eq!(examples.is_empty(), WITHOUT_EXAMPLE.contains(code), "{}", code.as_str());
        if let Some(problem) = examples.first() {
            assert_eq!(codes(problem), [*code], "{problem}");
        }
        if let Some(fixed) = examples.get(1) {
            assert_eq!(codes(fixed), [], "{fixed}");
        }
    }
}
