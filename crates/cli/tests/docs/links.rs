//! Links inside of the repository lead somewhere, and the book lists all of its pages.

use crate::pages::{Page, pages, root};

/// What the links of a page point to.
fn targets(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let file = root().join(&page.path);
        for target in targets(&page) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            assert!(file.with_file_name(path).exists(), "{} links to {target}", page.path);
        }
    }
}

#[test]
fn the_book_lists_all_of_its_pages() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.path == "docs/src/SUMMARY.md").unwrap();
    let listed = targets(summary);
    for page in &pages {
        let Some(path) = page.path.strip_prefix("docs/src/").filter(|path| *path != "SUMMARY.md") else {
            continue;
        };
        assert!(listed.iter().any(|known| known == path), "docs/src/SUMMARY.md lacks {path}");
    }
}
