//! The pages of the rules: the first recipe has the finding, the second has none.

use std::{fs, path::PathBuf};

use engine::lint::LintCode;
use recipe::diagnostic::Severity;

use crate::{env, findings};

fn reference() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "src", "reference"].iter().collect()
}

/// The files that a page shows.
fn shown_files(page: &str) -> Vec<(String, String)> {
    let blocks = page.split("```yaml ").skip(1);
    let file = |block: &str| {
        let (words, rest) = block.split_once('\n')?;
        let name = words.split(' ').find_map(|word| word.strip_prefix("file="))?;
        Some((name.to_owned(), rest.split("```").next()?.to_owned()))
    };
    blocks.filter_map(file).collect()
}

#[test]
fn a53_the_wrong_recipe_of_every_page_has_the_finding_and_the_right_one_has_not() {
    for code in LintCode::ALL {
        let word = code.as_str();
        let page = fs::read_to_string(reference().join(format!("lint/{word}.md"))).unwrap_or_default();
        let env = env();
        for (name, text) in shown_files(&page) {
            env.write(&name, &text);
        }
        let lint = |file: &str| env.run(["lint", file, "--deny", "note", "--output-format", "json"]);
        let codes = |file: &str| -> Vec<String> {
            let found = findings(&lint(file));
            found.iter().map(|finding| finding["code"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let is_usual = |found: &&String| *found == "no-budget" || *found == "untested";
        let wrong = codes("wrong.yaml");
        assert_eq!(lint("wrong.yaml").code, 1, "{word}");
        assert!(wrong.contains(&word.to_owned()), "{word}: {wrong:?}");
        assert!(wrong.iter().all(|found| found == word || is_usual(&found)), "{word}: {wrong:?}");
        let right = codes("fixed.yaml");
        assert!(right.iter().all(|found| found != word && is_usual(&found)), "{word}: {right:?}");
    }
}

#[test]
fn every_rule_has_a_page_and_a_row_in_the_index() {
    let index = fs::read_to_string(reference().join("lint.md")).unwrap_or_default();
    let pages = fs::read_dir(reference().join("lint")).into_iter().flatten().count();
    assert_eq!(pages, LintCode::ALL.len());
    for code in LintCode::ALL {
        let (word, summary) = (code.as_str(), code.summary());
        let (title, level) = match code.level() {
            Severity::Error => ("Error", "error"),
            Severity::Warning => ("Warning", "warning"),
            Severity::Note => ("Note", "note"),
        };
        let page = fs::read_to_string(reference().join(format!("lint/{word}.md"))).unwrap_or_default();
        assert!(page.starts_with(&format!("# `{word}`\n\n*{title}.* {summary}\n")), "{word}");
        let fixes = ["undeclared-effect", "repeatable-effect"].contains(&word);
        let mark = if fixes { " ✎" } else { "" };
        assert!(
            index.contains(&format!("| [`{word}`](lint/{word}.md){mark} | {level} | {summary} |")),
            "{word}"
        );
    }
}
