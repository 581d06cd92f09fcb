//! Every YAML block is a valid recipe, or a part of one.

use recipe::{source::Sources, yaml};

use crate::pages::{Block, Page, pages_with_recipes};

#[test]
fn every_yaml_block_matches_its_label() {
    let mut count = 0;
    for page in pages_with_recipes() {
        for block in page.blocks().iter().filter(|block| block.language == "yaml") {
            count += 1;
            if block.is("fragment") || block.is("config") {
                check_fragment(&page, block);
            } else {
                check_recipe(&page, block);
            }
        }
    }
    assert!(count >= 15, "{count} blocks were found");
}

fn check_recipe(page: &Page, block: &Block) {
    let world = page.world();
    let name = block.file().unwrap_or("recipe.yaml");
    world.write(name, &block.text);
    let output = world.run(["validate", "--strict", name]);
    let expected = if block.is("mistakes") { 2 } else { 0 };
    assert_eq!(output.code, expected, "{}:{}\n{}", page.path, block.line, output.all());
}

fn check_fragment(page: &Page, block: &Block) {
    let mut sources = Sources::default();
    // a part of a recipe may be a list or a map; below a key it is always a whole
    let indented: String = block.text.lines().map(|line| format!("  {line}\n")).collect();
    let file = sources.add("fragment", format!("part:\n{indented}"));
    let mut problems = Vec::new();
    yaml::parse(&sources, file, &mut problems);
    assert!(problems.is_empty(), "{}:{}: {problems:?}", page.path, block.line);
}
