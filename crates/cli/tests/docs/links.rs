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

/// The anchors that the headings of a page get: small letters, hyphens for spaces, nothing else but letters and digits.
fn anchors(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let title = |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_owned());
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let slug =
        |title: String| title.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
    prose.lines().filter_map(title).map(slug).collect()
}

#[test]
fn anchors_lead_to_headings() {
    let mut count = 0;
    for page in pages() {
        let file = root().join(&page.path);
        for target in targets(&page) {
            let Some((path, anchor)) = target.split_once('#').filter(|(path, _)| !path.contains("://"))
            else {
                continue;
            };
            let text = match path {
                "" => page.text.clone(),
                path => std::fs::read_to_string(file.with_file_name(path)).unwrap(),
            };
            assert!(anchors(&text).iter().any(|known| known == anchor), "{} links to {target}", page.path);
            count += 1;
        }
    }
    assert!(count > 0, "no anchors were found");
    assert_eq!(anchors("# A `b`, c-d\n```sh\n# no\n```\n## E?\n"), ["a-b-c-d", "e"]);
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
